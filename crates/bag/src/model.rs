//! What a recording consists of.

use crate::{Definition, QosProfile};

/// A topic as it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topic {
    /// Full name.
    pub name: String,
    /// `pkg/msg/Type`.
    pub ty: String,
    /// How messages are encoded: `cdr`.
    pub encoding: String,
    /// How messages look; without text when nobody knew.
    pub definition: Definition,
    /// RIHS01 hash, or nothing.
    pub type_hash: String,
    /// What each publisher offered.
    pub qos: Vec<QosProfile>,
}

impl Topic {
    /// Whether late joiners of it get what was sent before.
    pub fn is_latched(&self) -> bool {
        self.qos.iter().any(QosProfile::is_latched)
    }
}

/// A recorded message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// When it came, in nanoseconds since 1970.
    pub log_time: u64,
    /// When its publisher sent it, by the publisher's clock.
    pub publish_time: u64,
    /// Its number among those of its publisher.
    pub sequence: u32,
    /// As it was on the wire, with the four bytes of encapsulation in front.
    pub data: Vec<u8>,
}
