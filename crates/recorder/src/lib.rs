//! From the graph into a recording.
//!
//! | want | use |
//! |---|---|
//! | say which topics, services and actions | [`Selection`] |
//! | subscribe to them as they come, and hand what they bring to a [`Recorder`](rosless_bag::Recorder) | [`Tape`] |
//! | the definitions of types, also of those that only their publishers know | [`Types`] |
//! | follow sessions of the START/STOP protocol | [`session`] |
#![forbid(unsafe_code)]

mod overrides;
mod selection;
pub mod session;
mod tape;
mod types;

pub use overrides::{offered, read_overrides, requested};
pub use selection::{Names, Selection, Subject};
pub use tape::{Tape, TopicReport};
pub use types::{Known, Types};
