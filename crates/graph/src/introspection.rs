//! Service introspection: what a service or a client tells of its calls on `<service>/_service_event`, when asked to.

use std::{
    cell::{Cell, RefCell},
    str::FromStr,
};

use rosless_wire::{Service, service::Event, service_msgs::msg::ServiceEventInfo};

use crate::{Node, Publisher, Result, config::UsageError};

/// The parameter that switches introspection on for the services and actions of a node from outside
/// (`-p service_introspection:=contents`). It is not declared: nodes of rclcpp do not have it.
pub(crate) const PARAMETER: &str = "service_introspection";

/// How much is told of each call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Introspection {
    /// Nothing.
    #[default]
    Off,
    /// Who asked whom when.
    Metadata,
    /// Requests and responses, too.
    Contents,
}

impl FromStr for Introspection {
    type Err = UsageError;

    fn from_str(name: &str) -> Result<Self, UsageError> {
        match name {
            "off" | "disabled" => Ok(Self::Off),
            "metadata" => Ok(Self::Metadata),
            "contents" => Ok(Self::Contents),
            _ => Err(UsageError::new(format!("{PARAMETER}: '{name}' is none of off, metadata, contents"))),
        }
    }
}

/// One step of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a, T: Service> {
    RequestSent(&'a T::Request),
    RequestReceived(&'a T::Request),
    ResponseSent(&'a T::Response),
    ResponseReceived(&'a T::Response),
}

/// Which call, as its client numbers them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallId {
    pub(crate) client: [u8; 16],
    pub(crate) sequence: i64,
}

/// The events of one service or client.
#[derive(Debug)]
pub(crate) struct Introspector<T: Service> {
    node: Node,
    topic: String,
    state: Cell<Introspection>,
    /// There while introspection is on.
    events: RefCell<Option<Publisher<Event<T>>>>,
}

/// An [`Introspector`], whatever the service's type.
pub(crate) trait Introspect {
    fn configure(&self, state: Introspection) -> Result<()>;
}

impl<T: Service> Introspector<T> {
    /// `service` is the full name.
    pub(crate) fn new(node: &Node, service: &str) -> Self {
        Self {
            node: node.clone(),
            topic: format!("{service}/_service_event"),
            state: Cell::default(),
            events: RefCell::default(),
        }
    }

    pub(crate) fn tell(&self, step: Step<'_, T>, call: CallId) {
        let events = self.events.borrow();
        let Some(events) = events.as_ref() else { return };
        let event_type = match step {
            Step::RequestSent(_) => ServiceEventInfo::REQUEST_SENT,
            Step::RequestReceived(_) => ServiceEventInfo::REQUEST_RECEIVED,
            Step::ResponseSent(_) => ServiceEventInfo::RESPONSE_SENT,
            Step::ResponseReceived(_) => ServiceEventInfo::RESPONSE_RECEIVED,
        };
        let info = ServiceEventInfo {
            event_type,
            stamp: self.node.now(),
            client_gid: call.client,
            sequence_number: call.sequence,
        };
        let mut event = Event::<T> { info, ..Event::default() };
        if self.state.get() == Introspection::Contents {
            // One fits into both.
            match step {
                Step::RequestSent(request) | Step::RequestReceived(request) => {
                    event.request = vec![request.clone()].try_into().unwrap_or_default();
                }
                Step::ResponseSent(response) | Step::ResponseReceived(response) => {
                    event.response = vec![response.clone()].try_into().unwrap_or_default();
                }
            }
        }
        events.publish(&event);
    }
}

impl<T: Service> Introspect for Introspector<T> {
    fn configure(&self, state: Introspection) -> Result<()> {
        self.state.set(state);
        let mut events = self.events.borrow_mut();
        match (state, events.is_some()) {
            (Introspection::Off, _) => *events = None,
            (_, false) => *events = Some(self.node.publisher(&self.topic)?),
            (_, true) => {}
        }
        Ok(())
    }
}
