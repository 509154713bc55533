//! Parameters: named, typed values of a node that others may read and set.

mod client;
mod descriptor;
mod messages;
mod node;
mod store;
mod table;
mod value;

pub use client::ParameterClient;
pub use descriptor::{Descriptor, Range};
pub(crate) use node::{NodeParameters, START_TYPE_DESCRIPTION_SERVICE};
pub use store::{Change, NamedValue, ParameterError, ParameterStore};
pub use table::{Declared, Table};
pub use value::{ParameterKind, ParameterType, ParameterValue};
