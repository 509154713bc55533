//! What the tests share.

use std::path::Path;

use rosless_bag::{Bag, Definition, Filter, Message, QosProfile, Topic};
use rosless_schema::{DynamicMessage, Registry};

pub(crate) fn topic(name: &str, ty: &str) -> Topic {
    let registry = Registry::embedded();
    Topic {
        name: name.into(),
        ty: ty.into(),
        encoding: "cdr".into(),
        definition: Definition::of(&registry, ty).unwrap(),
        type_hash: registry.type_hash(ty).unwrap(),
        qos: vec![QosProfile::default()],
    }
}

pub(crate) fn latched(name: &str) -> Topic {
    let qos = QosProfile { durability: "transient_local".into(), depth: 1, ..Default::default() };
    Topic { qos: vec![qos], ..topic(name, "std_msgs/msg/String") }
}

pub(crate) fn text(data: &str) -> Vec<u8> {
    let ty = Registry::embedded().message_type("std_msgs/msg/String").unwrap();
    DynamicMessage::from_yaml(&ty, &format!("{{data: {data:?}}}"), None).unwrap().to_payload()
}

/// Message `n` of a stream, a millisecond after the one before.
pub(crate) fn message(n: u64, data: Vec<u8>) -> Message {
    let log_time = 1_700_000_000_000_000_000 + n * 1_000_000;
    Message { log_time, publish_time: log_time - 1000, sequence: n as u32, data }
}

/// Topic and text of everything in a bag.
pub(crate) fn texts(path: &Path) -> Vec<(String, String)> {
    let bag = Bag::open(path).unwrap();
    bag.messages(&Filter::default())
        .map(|item| {
            let (topic, message) = item.unwrap();
            let topic = &bag.topics[topic];
            let ty = topic.definition.message_type(&topic.ty).unwrap();
            let value = DynamicMessage::from_payload(&ty, &message.data).unwrap();
            let text = serde_json::to_value(&value).unwrap()["data"].as_str().unwrap_or_default().to_owned();
            (topic.name.clone(), text)
        })
        .collect()
}
