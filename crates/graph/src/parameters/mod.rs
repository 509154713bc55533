//! Parameters: named, typed values of a node that others may read and set.

mod client;
mod messages;
mod node;
mod store;
mod value;

pub use client::ParameterClient;
pub(crate) use node::{NodeParameters, START_TYPE_DESCRIPTION_SERVICE};
pub use store::{Change, Descriptor, NamedValue, ParameterError, ParameterStore, Range};
pub use value::{ParameterKind, ParameterType, ParameterValue};
