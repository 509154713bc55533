//! ROS 2 interfaces at run time: definitions, type hashes and messages without a Rust type.
//!
//! A [`Registry`] knows definitions: all of `idl/` ([`Registry::embedded`]), directories of the user
//! ([`Registry::load_dir`]) and descriptions received from other nodes ([`Registry::add_description`]).
//! From a definition it makes
//!
//! - the [`TypeDescription`] and its RIHS01 hash, exactly as rosidl computes them;
//! - the text `ros2 interface show` prints;
//! - a [`MessageType`], with which a [`DynamicMessage`] is decoded from CDR, read from YAML or JSON, and
//!   written back as any of them;
//! - Rust types, for crates with definitions of their own: [`build`].
//!
//! ```
//! use rosless_schema::{DynamicMessage, Registry, YamlStyle};
//!
//! let registry = Registry::embedded();
//! let ty = registry.message_type("std_msgs/msg/String").unwrap();
//! let message = DynamicMessage::from_yaml(&ty, "data: hello", None).unwrap();
//! let heard = DynamicMessage::from_payload(&ty, &message.to_payload()).unwrap();
//! assert_eq!(heard.to_yaml(YamlStyle::default()), message.to_yaml(YamlStyle::default()));
//! assert!(registry.type_hash("std_msgs/msg/String").unwrap().starts_with("RIHS01_"));
//! ```
//!
//! Bytes and descriptions from the network are hostile until parsed: every function here returns an error for
//! what it cannot read, never panics, and allocates no more than a small multiple of its input.

#![forbid(unsafe_code)]

pub mod build;
mod cdr;
mod csv;
mod definition;
mod description;
mod filter;
mod input;
mod layout;
mod numpy;
mod parse;
pub mod python;
pub mod pyyaml;
mod registry;
mod rust;
mod show;
mod value;
mod yaml;

pub use cdr::DecodeError;
pub use definition::{
    Arity, BaseType, Constant, Definition, Field, FieldType, Kind, Literal, Primitive, Structure,
};
pub use description::{FieldDescription, FieldTypeDescription, IndividualTypeDescription, TypeDescription};
pub use filter::Filter;
pub use input::{InputError, Stamp};
pub use layout::{Element, MessageType, TypedField, ValueType};
pub use parse::{ParseError, Source, parse};
pub use registry::{Registry, SchemaError};
pub use rust::{generate, is_keyword};
pub use show::{Comments, RULE, short_name};
pub use value::{DynamicMessage, Value};
pub use yaml::{YamlStyle, yaml_float, yaml_text};
