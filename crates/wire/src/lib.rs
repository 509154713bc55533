//! The bytes: message, service and action types, their CDR form, their hashes, and how ROS names become DDS names.
//! No I/O and no clock.
//!
//! ```
//! use rosless_wire::{Message, cdr, std_msgs::msg::String as Text};
//!
//! let text = Text { data: "hello".into() };
//! let payload = cdr::to_payload(&text);
//! assert_eq!(cdr::from_payload::<Text>(&payload), Ok(text));
//! assert_eq!(Text::TYPE_NAME, "std_msgs/msg/String");
//! ```
#![forbid(unsafe_code)]

// What the macros write names this crate as others do.
extern crate self as rosless_wire;

pub mod action;
pub mod cdr;
mod interface;
pub mod lifecycle;
#[doc(hidden)]
pub mod macros;
pub mod names;
mod packages;
pub mod registry;
pub mod service;

pub use interface::{Action, Definitions, Message, Service, TypeInfo};
pub use packages::*;
#[doc(hidden)]
pub use serde;
