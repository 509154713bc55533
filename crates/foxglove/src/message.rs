//! What is said to clients: text as JSON, the rest as bytes.

use serde_json::{Value, json};

use crate::{Channel, Service};

/// What this server can do, in the protocol's words.
pub const CAPABILITIES: [&str; 7] =
    ["clientPublish", "parameters", "parametersSubscribe", "services", "connectionGraph", "time", "assets"];

/// The first message: who speaks. A new `session` tells clients that what they knew counts no more.
pub fn server_info(name: &str, session: &str, capabilities: &[&str], metadata: &Value) -> String {
    json!({
        "op": "serverInfo", "name": name, "capabilities": capabilities, "supportedEncodings": ["cdr", "json"],
        "metadata": metadata, "sessionId": session,
    })
    .to_string()
}

/// How grave a status is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For whoever reads along.
    Info = 0,
    /// Something is lost or late.
    Warning = 1,
    /// Something asked for cannot be had.
    Error = 2,
}

/// A remark to be shown to people; one with an id takes the place of the last with the same.
pub fn status(level: Level, text: &str, id: Option<&str>) -> String {
    let mut message = json!({"op": "status", "level": level as u8, "message": text});
    if let Some(id) = id {
        message["id"] = id.into();
    }
    message.to_string()
}

/// New channels.
pub fn advertise<'a>(channels: impl Iterator<Item = &'a Channel>) -> String {
    let channels: Vec<_> = channels
        .map(|c| {
            json!({
                "id": c.id, "topic": c.topic, "encoding": "cdr", "schemaName": c.schema_name, "schema": c.schema,
                "schemaEncoding": "ros2msg",
            })
        })
        .collect();
    json!({"op": "advertise", "channels": channels}).to_string()
}

/// New channels for clients that know definitions by their numbers, and the definitions they do not know yet.
pub(crate) fn advertise_by_table<'a>(
    schemas: impl Iterator<Item = &'a Channel>,
    channels: impl Iterator<Item = &'a Channel>,
) -> String {
    let schema = |c: &Channel| json!({"id": c.schema_id, "name": c.schema_name, "encoding": "ros2msg", "data": c.schema});
    let channel =
        |c: &Channel| json!({"id": c.id, "topic": c.topic, "encoding": "cdr", "schemaId": c.schema_id});
    let (schemas, channels) = (schemas.map(schema).collect(), channels.map(channel).collect());
    json!({"op": "advertise", "schemas": Value::Array(schemas), "channels": Value::Array(channels)})
        .to_string()
}

/// Channels that are no more.
pub fn unadvertise(ids: &[u32]) -> String {
    json!({"op": "unadvertise", "channelIds": ids}).to_string()
}

/// New services.
pub fn advertise_services<'a>(services: impl Iterator<Item = &'a Service>) -> String {
    let services: Vec<_> = services
        .map(|s| {
            let part = |name: &str, schema: &str| {
                json!({"encoding": "cdr", "schemaName": name, "schemaEncoding": "ros2msg", "schema": schema})
            };
            // The older generation reads the two schemas, the newer the two objects.
            json!({
                "id": s.id, "name": s.name, "type": s.ty.name,
                "request": part(&format!("{}_Request", s.ty.name), &s.ty.request),
                "response": part(&format!("{}_Response", s.ty.name), &s.ty.response),
                "requestSchema": s.ty.request, "responseSchema": s.ty.response,
            })
        })
        .collect();
    json!({"op": "advertiseServices", "services": services}).to_string()
}

/// Services that are no more.
pub fn unadvertise_services(ids: &[u32]) -> String {
    json!({"op": "unadvertiseServices", "serviceIds": ids}).to_string()
}

/// Values of parameters: objects with `name`, `value` and perhaps `type`.
pub fn parameter_values(parameters: &[Value], id: Option<&str>) -> String {
    let mut message = json!({"op": "parameterValues", "parameters": parameters});
    if let Some(id) = id {
        message["id"] = id.into();
    }
    message.to_string()
}

/// A call that brought no answer.
pub fn call_failure(service: u32, call: u32, why: &str) -> String {
    json!({"op": "serviceCallFailure", "serviceId": service, "callId": call, "message": why}).to_string()
}

/// The names that others use on the graph, and who they are.
pub type Uses = Vec<(String, Vec<String>)>;

/// Who publishes, subscribes and serves what, whole, and what is gone since the last time.
pub fn graph_update(
    published: &Uses,
    subscribed: &Uses,
    served: &Uses,
    removed: (&[String], &[String]),
) -> String {
    let list = |uses: &Uses, key: &str| -> Vec<Value> {
        uses.iter().map(|(name, ids)| json!({"name": name, key: ids})).collect()
    };
    json!({
        "op": "connectionGraphUpdate",
        "publishedTopics": list(published, "publisherIds"),
        "subscribedTopics": list(subscribed, "subscriberIds"),
        "advertisedServices": list(served, "providerIds"),
        "removedTopics": removed.0, "removedServices": removed.1,
    })
    .to_string()
}

/// A sample: its bytes as they came, after the client's number and the time it was published, in nanoseconds.
pub fn data(subscription: u32, nanoseconds: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(13 + payload.len());
    bytes.push(1);
    bytes.extend(subscription.to_le_bytes());
    bytes.extend(nanoseconds.to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// What time it is.
pub fn time(nanoseconds: u64) -> Vec<u8> {
    let mut bytes = vec![2];
    bytes.extend(nanoseconds.to_le_bytes());
    bytes
}

/// The answer of a service.
pub fn call_response(service: u32, call: u32, encoding: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![3];
    for number in [service, call, encoding.len() as u32] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend_from_slice(encoding.as_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A file, or why there is none.
pub fn asset(id: u32, file: Result<&[u8], &str>) -> Vec<u8> {
    let mut bytes = vec![4];
    bytes.extend(id.to_le_bytes());
    let (status, error, data): (u8, &str, &[u8]) = match file {
        Ok(data) => (0, "", data),
        Err(error) => (1, error, &[]),
    };
    bytes.push(status);
    bytes.extend((error.len() as u32).to_le_bytes());
    bytes.extend_from_slice(error.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_laid_out_as_the_protocol_says() {
        assert_eq!(data(5, 258, &[9, 8]), [1, 5, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 9, 8]);
        assert_eq!(time(1), [2, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            call_response(1, 2, "cdr", &[7]),
            [3, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, b'c', b'd', b'r', 7]
        );
        assert_eq!(asset(3, Ok(&[1])), [4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(asset(3, Err("no")), [4, 3, 0, 0, 0, 1, 2, 0, 0, 0, b'n', b'o']);
    }

    #[test]
    fn texts_have_the_names_of_the_protocol() {
        let info = server_info("n", "s", &CAPABILITIES, &json!({"d": "1"}));
        assert!(
            info.starts_with(r#"{"op":"serverInfo","name":"n","capabilities":["clientPublish""#),
            "{info}"
        );
        assert_eq!(
            status(Level::Error, "x", Some("i")),
            r#"{"op":"status","level":2,"message":"x","id":"i"}"#
        );
        assert_eq!(
            call_failure(1, 2, "x"),
            r#"{"op":"serviceCallFailure","serviceId":1,"callId":2,"message":"x"}"#
        );
        let graph = graph_update(&vec![("/t".into(), vec!["/n".into()])], &vec![], &vec![], (&[], &[]));
        assert!(graph.contains(r#""publishedTopics":[{"name":"/t","publisherIds":["/n"]}]"#), "{graph}");
    }
}
