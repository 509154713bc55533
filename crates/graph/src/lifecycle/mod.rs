//! Managed nodes: a life in states that others may look at and change.

mod machine;
mod node;

pub use machine::{CallbackReturn, NotAvailable, Request, State, StateMachine, TRANSITIONS, Transition};
pub use node::{LifecycleNode, LifecyclePublisher, Step};
