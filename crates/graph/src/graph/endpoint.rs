//! The ends of topics and services as DDS announces them, in ROS's words.

use std::sync::Arc;

use rosless_wire::names::{self, RosTopic};

use crate::{Gid, Qos};

/// Which end of a topic an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndpointKind {
    /// It hears.
    Reader,
    /// It speaks.
    Writer,
}

/// A DDS reader or writer, ours or somebody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Which endpoint it is.
    pub gid: Gid,
    /// Whether it reads or writes.
    pub kind: EndpointKind,
    /// The DDS topic name (`rt/chatter`).
    pub dds_topic: Box<str>,
    /// The DDS type name (`std_msgs::msg::dds_::String_`).
    pub dds_type: Arc<str>,
    /// `RIHS01_…` when the endpoint announced it.
    pub type_hash: Option<Arc<str>>,
    /// What it offers or requests.
    pub qos: Arc<Qos>,
    /// Cyclone's `clientid=…` or `serviceid=…`: the same for both endpoints of one client or server.
    pub service_tag: Option<Box<str>>,
    /// Of the topic, if the endpoint speaks or hears only one kind of what is said there.
    pub part: Option<Arc<str>>,
}

impl Endpoint {
    /// The ROS type (`std_msgs/msg/String`); DDS types that are not ROS's keep their name.
    pub fn type_name(&self) -> String {
        names::type_from_dds(&self.dds_type).unwrap_or_else(|| self.dds_type.to_string())
    }

    /// What the endpoint is in ROS terms; `None` for DDS topics that ROS tools do not show.
    pub fn role(&self) -> Option<Role> {
        Some(match (names::topic_from_dds(&self.dds_topic)?, self.kind) {
            (RosTopic::Topic(name), EndpointKind::Writer) => Role::Publisher(name.to_owned()),
            (RosTopic::Topic(name), EndpointKind::Reader) => Role::Subscription(name.to_owned()),
            (RosTopic::Request(name), EndpointKind::Reader) => Role::Server(name.to_owned()),
            (RosTopic::Request(name), EndpointKind::Writer) => Role::Client(name.to_owned()),
            // The other half of a server or client says nothing new.
            (RosTopic::Reply(_), _) => return None,
        })
    }

    /// Whether samples of this writer go to `reader`: topic, type, part and quality of service fit.
    pub(super) fn feeds(&self, reader: &Endpoint) -> bool {
        (self.kind, reader.kind) == (EndpointKind::Writer, EndpointKind::Reader)
            && self.dds_topic == reader.dds_topic
            && self.dds_type == reader.dds_type
            && self.part.iter().zip(&reader.part).all(|(said, heard)| said == heard)
            && self.qos.satisfies(&reader.qos)
    }

    /// The ROS name of the topic or service, for messages to people.
    pub fn ros_name(&self) -> String {
        ros_name(&self.dds_topic)
    }
}

pub(crate) fn ros_name(dds_topic: &str) -> String {
    match names::topic_from_dds(dds_topic) {
        Some(RosTopic::Topic(name) | RosTopic::Request(name) | RosTopic::Reply(name)) => name.to_owned(),
        None => dds_topic.to_owned(),
    }
}

/// What an endpoint does, with the ROS name of its topic or service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Speaks on a topic.
    Publisher(String),
    /// Hears a topic.
    Subscription(String),
    /// Answers requests; a service has two endpoints on each side.
    Server(String),
    /// Sends requests.
    Client(String),
}

/// What a DDS endpoint or participant says about itself in USER_DATA.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserData {
    /// The RIHS01 hash of its type.
    pub type_hash: Option<String>,
    /// What the two endpoints of a client or server have in common.
    pub service_tag: Option<Box<str>>,
    /// The enclave that a participant is in.
    pub enclave: Option<String>,
    /// The part of a topic that an endpoint is about.
    pub part: Option<String>,
}

impl UserData {
    /// Finds `key=value;` pairs, of which newer distributions have more (`sertypehash`, `bufbe`) than are used here.
    pub fn parse(bytes: &[u8]) -> Self {
        // What follows the last semicolon is padding, or unfinished.
        let end = bytes.iter().rposition(|byte| *byte == b';').unwrap_or(0);
        let mut pairs = Self::default();
        for pair in bytes[..end].split(|byte| *byte == b';') {
            match std::str::from_utf8(pair).ok().and_then(|pair| pair.split_once('=')) {
                Some(("typehash", hash)) => pairs.type_hash = Some(hash.to_owned()),
                Some(("clientid" | "serviceid", tag)) => pairs.service_tag = Some(tag.into()),
                Some(("enclave", name)) => pairs.enclave = Some(name.to_owned()),
                Some(("part", part)) => pairs.part = Some(part.to_owned()),
                _ => {}
            }
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_data_is_read_by_whole_keys() {
        let parsed = UserData::parse(b"clientid= 1.10.2;typehash=RIHS01_ab;\0\0\0");
        assert_eq!(parsed.type_hash.as_deref(), Some("RIHS01_ab"));
        assert_eq!(parsed.service_tag.as_deref(), Some(" 1.10.2"));
        assert_eq!(UserData::parse(b"\xff=1;enclave=/lab/arm;\0").enclave.as_deref(), Some("/lab/arm"));
        // Lyrical's services and byte arrays.
        for lyrical in [
            "sertypehash=RIHS01_cd;typehash=RIHS01_ab;",
            "bufbe=cpu:;typehash=RIHS01_ab;sertypehash=RIHS01_cd;",
        ] {
            assert_eq!(
                UserData::parse(lyrical.as_bytes()).type_hash.as_deref(),
                Some("RIHS01_ab"),
                "{lyrical}"
            );
        }
        assert_eq!(UserData::parse(b"sertypehash=RIHS01_cd;"), UserData::default());
        assert_eq!(UserData::parse(b"typehash=\xff;"), UserData::default());
        assert_eq!(UserData::parse(b"typehash=unfinished"), UserData::default());
        assert_eq!(UserData::parse(b"typehash=RIHS01_ab;part=answers;").part.as_deref(), Some("answers"));
    }
}
