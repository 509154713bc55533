//! What every service implies.

use crate::cdr::BoundedVec;
use crate::interface::{Definitions, Message, Service};
use crate::macros::cdr_struct;
use crate::service_msgs::msg::ServiceEventInfo;
use serde::{Deserialize, Serialize};

/// One step of a service call, as service introspection publishes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Event<S: Service> {
    /// Which step of which call.
    pub info: ServiceEventInfo,
    /// The request, if this step carries it.
    pub request: BoundedVec<S::Request, 1>,
    /// The response, if this step carries it.
    pub response: BoundedVec<S::Response, 1>,
}

cdr_struct!(Event<S> where S: Service {
    info: ServiceEventInfo,
    request: BoundedVec<S::Request, 1>,
    response: BoundedVec<S::Response, 1>,
});

impl<S: Service> Message for Event<S> {
    const TYPE_NAME: &'static str = S::EVENT.name;
    const TYPE_HASH: &'static str = S::EVENT.hash;
    const DEFINITIONS: Definitions = S::Request::DEFINITIONS;
}
