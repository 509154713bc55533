//! Every type of this crate, for code that must treat them all: tests, benchmarks, tools.

use crate::action::{FeedbackMessage, GetResult, SendGoal};
use crate::interface::{Action, Message, Service};
use crate::service::Event;

/// Called once for each type. A service brings its request, response and event along, an action all it implies.
pub trait Visitor {
    /// A message or a part of a service or action.
    fn message<M: Message>(&mut self);

    /// A service.
    fn service<S: Service>(&mut self) {
        self.service_parts::<S>();
    }

    /// An action.
    fn action<A: Action>(&mut self) {
        self.action_parts::<A>();
    }

    /// The messages of a service.
    fn service_parts<S: Service>(&mut self) {
        self.message::<S::Request>();
        self.message::<S::Response>();
        self.message::<Event<S>>();
    }

    /// The messages and services of an action.
    fn action_parts<A: Action>(&mut self) {
        self.message::<A::Goal>();
        self.message::<A::Result>();
        self.message::<A::Feedback>();
        self.message::<FeedbackMessage<A>>();
        self.service::<SendGoal<A>>();
        self.service::<GetResult<A>>();
    }
}

/// Shows every type to the visitor.
pub fn visit_all(visitor: &mut impl Visitor) {
    crate::packages::visit_packages(visitor);
}
