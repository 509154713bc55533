//! What clients say.

use serde::Deserialize;
use serde_json::Value;

/// One message of a client.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "fields are named as in the protocol")]
pub enum Request {
    /// Wants messages of channels.
    Subscribe(Vec<Subscription>),
    /// Wants no more messages of these subscriptions.
    Unsubscribe(Vec<u32>),
    /// Will publish.
    Advertise(Vec<Advertised>),
    /// Will publish no more on these channels of its own.
    Unadvertise(Vec<u32>),
    /// Publishes a payload on a channel of its own.
    Publish { channel: u32, payload: Vec<u8> },
    /// Calls a service.
    Call { service: u32, call: u32, encoding: String, payload: Vec<u8> },
    /// Wants values of parameters, or of all if none is named.
    GetParameters { names: Vec<String>, id: Option<String> },
    /// Sets parameters; each is an object with `name`, `value` and perhaps `type`.
    SetParameters { parameters: Vec<Value>, id: Option<String> },
    /// Wants to hear of changes of these parameters.
    SubscribeParameters(Vec<String>),
    /// Or no longer.
    UnsubscribeParameters(Vec<String>),
    /// Wants to know who publishes and subscribes what.
    SubscribeGraph,
    /// Or no longer.
    UnsubscribeGraph,
    /// Wants a file by its address.
    FetchAsset { uri: String, id: u32 },
}

/// A number that the client chose for messages of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    /// The client's number.
    pub id: u32,
    /// Ours.
    pub channel_id: u32,
}

/// A channel on which a client will publish.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Advertised {
    /// The client's number.
    pub id: u32,
    /// The topic.
    pub topic: String,
    /// Such as `cdr` or `json`.
    pub encoding: String,
    /// The type.
    #[serde(default)]
    pub schema_name: String,
}

/// Why a message was not understood, in words for its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong(pub String);

/// What is taken of one message: more items than this are no honest wish.
const MOST: usize = 4096;

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Text {
    Subscribe { subscriptions: Vec<Subscription> },
    Unsubscribe { subscription_ids: Vec<u32> },
    Advertise { channels: Vec<Advertised> },
    Unadvertise { channel_ids: Vec<u32> },
    GetParameters { parameter_names: Vec<String>, id: Option<String> },
    SetParameters { parameters: Vec<Value>, id: Option<String> },
    SubscribeParameterUpdates { parameter_names: Vec<String> },
    UnsubscribeParameterUpdates { parameter_names: Vec<String> },
    SubscribeConnectionGraph {},
    UnsubscribeConnectionGraph {},
    FetchAsset { uri: String, request_id: u32 },
}

impl Request {
    /// A text message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn text(text: &str) -> Result<Self, Wrong> {
        let parsed = serde_json::from_str(text).map_err(|error| Wrong(format!("not understood: {error}")))?;
        let (request, items) = match parsed {
            Text::Subscribe { subscriptions } => {
                let items = subscriptions.len();
                (Self::Subscribe(subscriptions), items)
            }
            Text::Unsubscribe { subscription_ids } => (Self::Unsubscribe(subscription_ids), 0),
            Text::Advertise { channels } => {
                let items = channels.len();
                (Self::Advertise(channels), items)
            }
            Text::Unadvertise { channel_ids } => (Self::Unadvertise(channel_ids), 0),
            Text::GetParameters { parameter_names: names, id } => {
                let items = names.len();
                (Self::GetParameters { names, id }, items)
            }
            Text::SetParameters { parameters, id } => {
                let items = parameters.len();
                (Self::SetParameters { parameters, id }, items)
            }
            Text::SubscribeParameterUpdates { parameter_names } => {
                let items = parameter_names.len();
                (Self::SubscribeParameters(parameter_names), items)
            }
            Text::UnsubscribeParameterUpdates { parameter_names } => {
                (Self::UnsubscribeParameters(parameter_names), 0)
            }
            Text::SubscribeConnectionGraph {} => (Self::SubscribeGraph, 0),
            Text::UnsubscribeConnectionGraph {} => (Self::UnsubscribeGraph, 0),
            Text::FetchAsset { uri, request_id } => (Self::FetchAsset { uri, id: request_id }, 0),
        };
        if items > MOST {
            return Err(Wrong(format!("{items} items in one message; {MOST} are taken")));
        }
        Ok(request)
    }

    /// A binary message.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn binary(bytes: &[u8]) -> Result<Self, Wrong> {
        let short = || Wrong("a binary message is too short".to_owned());
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 4).ok_or_else(short)?;
            Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        match bytes.first() {
            Some(1) => Ok(Self::Publish { channel: number(1)?, payload: bytes[5..].to_vec() }),
            Some(2) => {
                let (service, call, length) = (number(1)?, number(5)?, number(9)? as usize);
                let rest = &bytes[13..];
                let encoding = rest.get(..length).ok_or_else(short)?;
                let encoding = std::str::from_utf8(encoding)
                    .map_err(|_| Wrong("the encoding's name is not text".to_owned()))?;
                Ok(Self::Call {
                    service,
                    call,
                    encoding: encoding.to_owned(),
                    payload: rest[length..].to_vec(),
                })
            }
            Some(other) => Err(Wrong(format!("binary messages of kind {other} are not known here"))),
            None => Err(Wrong("an empty message".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_text_of_the_protocol_is_read() {
        for (text, expected) in [
            (
                r#"{"op":"subscribe","subscriptions":[{"id":3,"channelId":7}]}"#,
                Request::Subscribe(vec![Subscription { id: 3, channel_id: 7 }]),
            ),
            (r#"{"op":"unsubscribe","subscriptionIds":[3]}"#, Request::Unsubscribe(vec![3])),
            (
                r#"{"op":"advertise","channels":[{"id":1,"topic":"/t","encoding":"cdr","schemaName":"std_msgs/msg/String","schema":"x"}]}"#,
                Request::Advertise(vec![Advertised {
                    id: 1,
                    topic: "/t".into(),
                    encoding: "cdr".into(),
                    schema_name: "std_msgs/msg/String".into(),
                }]),
            ),
            (r#"{"op":"unadvertise","channelIds":[1,2]}"#, Request::Unadvertise(vec![1, 2])),
            (
                r#"{"op":"getParameters","parameterNames":[],"id":"q"}"#,
                Request::GetParameters { names: vec![], id: Some("q".into()) },
            ),
            (
                r#"{"op":"setParameters","parameters":[{"name":"/n.p","value":1}]}"#,
                Request::SetParameters {
                    parameters: vec![serde_json::json!({"name": "/n.p", "value": 1})],
                    id: None,
                },
            ),
            (
                r#"{"op":"subscribeParameterUpdates","parameterNames":["a"]}"#,
                Request::SubscribeParameters(vec!["a".into()]),
            ),
            (
                r#"{"op":"unsubscribeParameterUpdates","parameterNames":["a"]}"#,
                Request::UnsubscribeParameters(vec!["a".into()]),
            ),
            (r#"{"op":"subscribeConnectionGraph"}"#, Request::SubscribeGraph),
            (r#"{"op":"unsubscribeConnectionGraph"}"#, Request::UnsubscribeGraph),
            (
                r#"{"op":"fetchAsset","uri":"package://a/b","requestId":9}"#,
                Request::FetchAsset { uri: "package://a/b".into(), id: 9 },
            ),
        ] {
            assert_eq!(Request::text(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "{",
            "[]",
            r#"{"op":"fly"}"#,
            r#"{"op":"subscribe"}"#,
            r#"{"op":"unsubscribe","subscriptionIds":[-1]}"#,
        ] {
            assert!(Request::text(text).is_err(), "{text}");
        }
        let many = format!(
            r#"{{"op":"subscribe","subscriptions":[{}]}}"#,
            vec![r#"{"id":1,"channelId":1}"#; 5000].join(",")
        );
        assert!(Request::text(&many).unwrap_err().0.contains("4096"));
    }

    #[test]
    fn bytes_are_published_and_called() {
        assert_eq!(
            Request::binary(&[1, 5, 0, 0, 0, 9]),
            Ok(Request::Publish { channel: 5, payload: vec![9] })
        );
        let call = [&[2, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0][..], b"cdr", &[7]].concat();
        let expected = Request::Call { service: 1, call: 2, encoding: "cdr".into(), payload: vec![7] };
        assert_eq!(Request::binary(&call), Ok(expected));
        for end in 0..call.len() - 1 {
            assert!(Request::binary(&call[..end]).is_err(), "{end}");
        }
        let huge = [&[2, 1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255][..], b"cdr"].concat();
        assert!(Request::binary(&huge).is_err() && Request::binary(&[3]).is_err());
    }

    proptest! {
        #[test]
        fn nothing_that_is_sent_breaks_it(bytes in prop::collection::vec(any::<u8>(), 0..64), text in ".{0,80}") {
            let _ = Request::binary(&bytes);
            let _ = Request::text(&text);
        }
    }
}
