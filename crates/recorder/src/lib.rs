//! From the graph into a recording.
//!
//! | want | use |
//! |---|---|
//! | say which topics, services and actions | [`Selection`] |
//! | subscribe to them as they come, and hand what they bring to a [`Recorder`](rosless_bag::Recorder) | [`Tape`] |
//! | the definitions of types, also of those that only their publishers know | [`Types`] |
//! | follow sessions of the START/STOP protocol | [`session`] |
//!
//! ```
//! use rosless_recorder::{Names, Selection};
//!
//! let all = Selection { topics: Names::All, excluded: ["/camera".to_owned()].into(), ..Selection::default() };
//! assert!(all.wants("/joint_states") && !all.wants("/camera"));
//! assert!(!all.wants("/move/_action/feedback"), "actions are asked for by their own name");
//! ```
#![forbid(unsafe_code)]

mod overrides;
mod selection;
pub mod session;
mod tape;
mod types;

pub use overrides::{offered, read_overrides, requested};
pub use selection::{Names, Selection, Subject};
pub use tape::{Tape, TopicReport};
pub use types::{Known, Question, Types};
