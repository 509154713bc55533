//! NatNet, the protocol of OptiTrack's Motive, in its versions 3 and 4. No socket, no clock, nothing of the vendor's.
//!
//! - [`Message`]: one datagram, read and written. Reading is total: any bytes give a message or [`Malformed`], and never
//!   take more memory than a small multiple of their length.
//! - [`Client`]: connects, stays connected, relates the server's clock to ours, counts what is lost, gives commands.
//! - [`Server`]: a synthetic server for tests and for people without cameras.
//!
//! The layouts are those that public depacketizers agree on; `docs/decisions/0010-own-natnet.md` says which, and who judges.
//! ```
//! use rosless_natnet::{Message, Version};
//!
//! let echo = Message::EchoRequest { sent: 7 };
//! let datagram = echo.encode(Version::V4_1);
//! assert_eq!(datagram, [12, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
//! assert_eq!(Message::decode(&datagram, Version::V4_1), Ok(echo));
//! ```
#![forbid(unsafe_code)]

mod bytes;
mod client;
mod clock;
mod frame;
mod message;
mod model;
mod sequence;
mod server;

pub use bytes::Malformed;
pub use client::{Client, Input, Link, Output, Settings, Status, Take};
pub use clock::{Clock, Relation};
pub use frame::{Analog, Asset, Body, Frame, LabeledMarker, MarkerSet, Skeleton};
pub use message::{Hello, Message, Reply, ServerInfo, Stream, Version};
pub use model::{BodyDescription, Description, Model};
pub use sequence::Counts;
pub use server::{Scene, Server, ServerInput, ServerOutput};
