//! Services that Cyclone, Fast DDS and RustDDS peers can use at the same time: which words a vendor uses (`matching`), and
//! the two ends that speak them.

mod client;
mod matching;
mod server;

use rosless_wire::{Message, names};

use crate::{
    Error, Node, Qos, Result,
    introspection::{self, Introspection},
    parameters::ParameterValue,
    raw::TopicSpec,
};

pub use client::{CallError, Client, RawClient, Reply};
pub use server::{Responder, Server};

/// Requests and replies that may wait for the event loop.
const BURST: u32 = 1000;

/// Name and hash of a service's request or response type; an empty hash announces none.
pub type TypeAndHash<'a> = (&'a str, &'a str);

/// Name and hash of a message type.
fn type_of<M: Message>() -> TypeAndHash<'static> {
    (M::TYPE_NAME, M::TYPE_HASH)
}

fn specs(
    node: &Node,
    service: &str,
    request: TypeAndHash<'_>,
    response: TypeAndHash<'_>,
    whole: Option<&'static str>,
    qos: Qos,
) -> Result<(TopicSpec, TopicSpec)> {
    let name = node.resolve_service(service)?;
    let request_topic = names::service_request_topic(&name).map_err(Error::name)?;
    let reply_topic = names::service_reply_topic(&name).map_err(Error::name)?;
    let distro = node.context().settings().environment.distro.unwrap_or_default();
    let service_hash = whole.filter(|_| distro.has_service_hashes());
    let spec = |topic, (name, hash): TypeAndHash<'_>| {
        Ok(TopicSpec { service_hash, ..TopicSpec::new(topic, name, hash, qos, BURST)? })
    };
    Ok((spec(request_topic, request)?, spec(reply_topic, response)?))
}
impl Node {
    /// What the parameters given from outside say about introspection.
    fn introspection(&self) -> Result<Introspection> {
        let given = self.context().settings().arguments.parameters.for_node(&self.full_name());
        match given.get(introspection::PARAMETER) {
            // `off` is a boolean to YAML.
            None | Some(ParameterValue::Bool(false)) => Ok(Introspection::Off),
            Some(ParameterValue::String(text)) => text.parse().map_err(Error::name),
            Some(other) => Err(Error::name(format!("{}: {other:?} is no text", introspection::PARAMETER))),
        }
    }
}
