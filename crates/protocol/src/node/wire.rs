//! Between the engines' messages and the three packages on the wire.

use rosless_graph::{Handle, Node, RawPublisher, Result, SampleInfo, Subscription, Topic, TopicQos};
use rosless_wire::{
    Message, builtin_interfaces::msg::Time, cdr, device_control_msgs::msg as device,
    mocap_control_msgs::msg as mocap, mocap4r2_control_msgs::msg as mocap4r2,
};

use super::{control_qos, environment_qos};
use rosless_engine::Wall;

use crate::{
    dialect::Dialect,
    message::{Announcement, Control},
};

/// All systems answer at once, on the topic on which they are told: neither an answer nor a command is to be pushed out by
/// the answers that come after it.
const ROOM: u32 = 2048;

/// What an end of the control topic speaks or hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Whoever wants to know of everything.
    All,
    /// START and STOP: what a system obeys.
    Commands,
    /// What a system says. Other systems are not sent it: a hundred of them would throw away ten thousand answers.
    Answers,
}

fn control_topic(topic: &str, part: Part) -> Topic<'_> {
    let topic = Topic::from((topic, control_qos()));
    match part {
        Part::All => topic,
        Part::Commands => topic.part("commands"),
        Part::Answers => topic.part("answers"),
    }
}

macro_rules! dialect_messages {
    ($package:ident, $info:ident: $source:ident, $session:ident, $systems:ident) => {
        impl From<$package::Control> for Control {
            fn from(message: $package::Control) -> Self {
                Self {
                    kind: message.control_type.into(),
                    stamp: Wall::from_stamp(message.stamp.sec, message.stamp.nanosec),
                    source: message.$source,
                    session: message.$session,
                    systems: message.$systems,
                }
            }
        }

        impl From<Control> for $package::Control {
            fn from(message: Control) -> Self {
                let (sec, nanosec) = message.stamp.to_stamp();
                Self {
                    control_type: message.kind.into(),
                    stamp: Time { sec, nanosec },
                    $source: message.source,
                    $session: message.session,
                    $systems: message.systems,
                }
            }
        }

        impl From<$package::$info> for Announcement {
            fn from(info: $package::$info) -> Self {
                Self { source: info.$source, ros_version: info.ros_version_source, topics: info.topics }
            }
        }

        impl From<Announcement> for $package::$info {
            fn from(announcement: Announcement) -> Self {
                Self {
                    $source: announcement.source,
                    ros_version_source: announcement.ros_version,
                    topics: announcement.topics,
                }
            }
        }
    };
}

dialect_messages!(mocap, MocapInfo: system_source, capture_session_id, capture_systems);
dialect_messages!(device, DeviceInfo: device_source, session_id, device_systems);
dialect_messages!(mocap4r2, MocapInfo: mocap4r2_source, session_id, mocap4r2_systems);

pub(super) fn control_publisher(
    node: &Node,
    dialect: Dialect,
    topic: &str,
    part: Part,
) -> Result<RawPublisher> {
    let topic = control_topic(topic, part);
    match dialect {
        Dialect::Mocap => publisher::<mocap::Control>(node, topic),
        Dialect::Device => publisher::<device::Control>(node, topic),
        Dialect::Mocap4r2 => publisher::<mocap4r2::Control>(node, topic),
    }
}

pub(super) fn environment_publisher(node: &Node, dialect: Dialect, topic: &str) -> Result<RawPublisher> {
    let topic = (topic, environment_qos()).into();
    match dialect {
        Dialect::Mocap => publisher::<mocap::MocapInfo>(node, topic),
        Dialect::Device => publisher::<device::DeviceInfo>(node, topic),
        Dialect::Mocap4r2 => publisher::<mocap4r2::MocapInfo>(node, topic),
    }
}

fn publisher<M: Message>(node: &Node, topic: Topic<'_>) -> Result<RawPublisher> {
    node.raw_publisher(topic, (M::TYPE_NAME, M::TYPE_HASH))
}

/// The layouts are byte-equal, so one encoding serves all dialects.
pub(super) fn control_payload(message: &Control) -> Vec<u8> {
    cdr::to_payload(&mocap::Control::from(message.clone()))
}

pub(super) fn announcement_payload(announcement: &Announcement) -> Vec<u8> {
    cdr::to_payload(&mocap::MocapInfo::from(announcement.clone()))
}

pub(super) fn subscribe_control<S: 'static>(
    handle: &Handle<S>,
    node: &Node,
    dialect: Dialect,
    (topic, part): (&str, Part),
    callback: impl FnMut(&mut S, Control, SampleInfo) + 'static,
) -> Result<Subscription<S>> {
    let topic = control_topic(topic, part).room(ROOM);
    match dialect {
        Dialect::Mocap => subscribe::<mocap::Control, _, _>(handle, node, topic, callback),
        Dialect::Device => subscribe::<device::Control, _, _>(handle, node, topic, callback),
        Dialect::Mocap4r2 => subscribe::<mocap4r2::Control, _, _>(handle, node, topic, callback),
    }
}

pub(super) fn subscribe_environment<S: 'static>(
    handle: &Handle<S>,
    node: &Node,
    dialect: Dialect,
    topic: &str,
    callback: impl FnMut(&mut S, Announcement, SampleInfo) + 'static,
) -> Result<Subscription<S>> {
    let topic = (topic, environment_qos()).into();
    match dialect {
        Dialect::Mocap => subscribe::<mocap::MocapInfo, _, _>(handle, node, topic, callback),
        Dialect::Device => subscribe::<device::DeviceInfo, _, _>(handle, node, topic, callback),
        Dialect::Mocap4r2 => subscribe::<mocap4r2::MocapInfo, _, _>(handle, node, topic, callback),
    }
}

fn subscribe<M: Message, T: From<M> + 'static, S: 'static>(
    handle: &Handle<S>,
    node: &Node,
    topic: Topic<'_>,
    mut callback: impl FnMut(&mut S, T, SampleInfo) + 'static,
) -> Result<Subscription<S>> {
    handle.subscribe::<M>(node, topic, move |app, sample| callback(app, sample.message.into(), sample.info))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Kind;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn without_padding(payload: Vec<u8>, length: usize) -> String {
        assert!(payload.len() - length < 4 && payload[length..].iter().all(|byte| *byte == 0));
        hex(&payload[..length])
    }

    #[test]
    fn messages_are_byte_for_byte_those_of_the_originals() {
        let start = Control {
            kind: Kind::Start,
            stamp: Wall::from_stamp(1_700_000_000, 500_000_000),
            source: "mocap_controller".into(),
            session: "session_1".into(),
            systems: vec![],
        };
        assert_eq!(
            without_padding(control_payload(&start), 60),
            "000100000000000000f153650065cd1d110000006d6f6361705f636f6e74726f6c6c6572000000000a00000073657373696f6e5f3100000000000000"
        );
        let ack = Control {
            kind: Kind::AckStart,
            stamp: Wall::from_stamp(1, 2),
            source: "mocap_system_1".into(),
            session: String::new(),
            systems: vec![],
        };
        assert_eq!(
            without_padding(control_payload(&ack), 48),
            "000100000100000001000000020000000f0000006d6f6361705f73797374656d5f310000010000000000000000000000"
        );
        let info =
            Announcement { source: "mocap_system_1".into(), ros_version: 0, topics: vec!["data".into()] };
        assert_eq!(
            without_padding(announcement_payload(&info), 37),
            "000100000f0000006d6f6361705f73797374656d5f31000001000000050000006461746100"
        );
    }

    #[test]
    fn all_dialects_have_the_same_bytes_and_read_each_other() {
        let message = Control {
            kind: Kind::Stop,
            stamp: Wall::from_stamp(-3, 7),
            source: "a".into(),
            session: "s".into(),
            systems: vec!["x".into(), String::new()],
        };
        let payload = control_payload(&message);
        assert_eq!(cdr::to_payload(&device::Control::from(message.clone())), payload);
        assert_eq!(cdr::to_payload(&mocap4r2::Control::from(message.clone())), payload);
        let read: device::Control = cdr::from_payload(&payload).unwrap();
        assert_eq!(Control::from(read), message);
        let info = Announcement { source: "a".into(), ros_version: 1, topics: vec!["t".into()] };
        let payload = announcement_payload(&info);
        assert_eq!(cdr::to_payload(&device::DeviceInfo::from(info.clone())), payload);
        let read: mocap4r2::MocapInfo = cdr::from_payload(&payload).unwrap();
        assert_eq!(Announcement::from(read), info);
    }

    #[test]
    fn type_names_in_the_table_are_those_of_the_wire_types() {
        let wire = [
            (mocap::Control::TYPE_NAME, mocap::MocapInfo::TYPE_NAME),
            (device::Control::TYPE_NAME, device::DeviceInfo::TYPE_NAME),
            (mocap4r2::Control::TYPE_NAME, mocap4r2::MocapInfo::TYPE_NAME),
        ];
        let table = Dialect::ALL.map(|d| (d.names().control_type, d.names().info_type));
        assert_eq!(table, wire);
    }
}
