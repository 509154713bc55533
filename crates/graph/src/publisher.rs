//! Publishing: typed for nodes, raw for tools.

use std::{marker::PhantomData, rc::Rc, time::Duration};

use rosless_wire::{Message, cdr};

use crate::{
    Gid, GidPrefix, Node, Result, Topic,
    counters::Throttle,
    qos::Durability,
    qos_overrides::Side,
    raw::{Addressing, RawWriter, TopicSpec},
};

/// Publishes messages of one type on one topic. Cheap to clone.
pub struct Publisher<M> {
    raw: RawPublisher,
    message: PhantomData<fn(M)>,
}

impl<M> Clone for Publisher<M> {
    fn clone(&self) -> Self {
        Self { raw: self.raw.clone(), message: PhantomData }
    }
}

impl<M> std::fmt::Debug for Publisher<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Publisher").field(&self.raw).finish()
    }
}

impl<M: Message> Publisher<M> {
    pub(crate) fn new(node: &Node, topic: Topic<'_>) -> Result<Self> {
        let spec = node.topic_spec(Side::Publisher, topic, (M::TYPE_NAME, M::TYPE_HASH))?;
        node.know(M::DEFINITIONS);
        let raw = RawPublisher::new(node, spec)?;
        Ok(Self { raw, message: PhantomData })
    }

    /// Hands the message to DDS and returns; never waits for the network. `false` when there was no room (counted in
    /// [`dropped`](Self::dropped)).
    pub fn publish(&self, message: &M) -> bool {
        self.raw.0.admits() && self.raw.publish(cdr::to_payload(message))
    }

    /// Publishes an answer to somebody who may have asked before it listens; see [`RawPublisher::publish_for`].
    pub fn publish_for(&self, asker: GidPrefix, message: &M) -> bool {
        self.raw.publish_for(asker, cdr::to_payload(message))
    }

    /// How many subscriptions get the samples.
    pub fn matched(&self) -> usize {
        self.raw.matched()
    }

    /// See [`RawPublisher::reaches_everyone`].
    pub fn reaches_everyone(&self) -> bool {
        self.raw.reaches_everyone()
    }

    /// Samples that found no room in the send queue.
    pub fn dropped(&self) -> u64 {
        self.raw.dropped()
    }

    /// Blocks until every reliable subscription has everything: for commands that publish and leave.
    pub fn wait_acknowledged(&self, timeout: Duration) -> bool {
        self.raw.wait_acknowledged(timeout)
    }

    /// The publisher on the wire.
    pub fn gid(&self) -> Gid {
        self.raw.gid()
    }

    /// The full name of the topic.
    pub fn topic(&self) -> &str {
        self.raw.topic()
    }

    /// Without its type.
    pub fn raw(&self) -> &RawPublisher {
        &self.raw
    }
}

/// Publishes payloads that are encoded already (encapsulation header first, little-endian). Cheap to clone.
#[derive(Clone, Debug)]
pub struct RawPublisher(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    writer: RawWriter,
    node: Node,
    topic: String,
    complaint: Throttle,
}

impl Inner {
    /// To be asked before a sample is encoded.
    fn admits(&self) -> bool {
        self.told(self.writer.admits())
    }

    fn write(&self, mut payload: Vec<u8>, to: Addressing) -> bool {
        payload.resize(payload.len().max(4).next_multiple_of(4), 0);
        self.told(self.writer.write(payload, to).is_some())
    }

    fn told(&self, accepted: bool) -> bool {
        let Self { writer, node, topic, complaint } = self;
        if !accepted && complaint.may_speak() {
            log::warn!(target: node.logger(), "{topic}: {} samples dropped because subscriptions are too slow", writer.dropped());
        }
        accepted
    }
}

impl RawPublisher {
    pub(crate) fn new(node: &Node, spec: TopicSpec) -> Result<Self> {
        let topic = spec.ros_name();
        let writer = RawWriter::new(node, spec)?;
        Ok(Self(Rc::new(Inner { writer, node: node.clone(), topic, complaint: Throttle::default() })))
    }

    /// See [`Publisher::publish`]. The payload is padded to four bytes, because Cyclone refuses fragments that are not.
    pub fn publish(&self, payload: Vec<u8>) -> bool {
        self.0.write(payload, Addressing::default())
    }

    /// Publishes an answer. The participant that asked may not be listening yet, because real clients ask first and make
    /// the subscription for the answer afterwards: then others get the answer at once, and the asker when it does, within
    /// five seconds, once, and in the order in which it was answered. A latched topic serves latecomers by itself.
    pub fn publish_for(&self, asker: GidPrefix, payload: Vec<u8>) -> bool {
        let Inner { writer, node, .. } = &*self.0;
        let listens = node.context().graph().matched(&writer.gid).any(|reader| reader.prefix() == asker);
        if writer.spec.qos.durability != Durability::Volatile || listens {
            return self.publish(payload);
        }
        // DDS may have met the asker's subscription already, without our knowing: it must not hear the answer now and
        // once more when we know.
        let owed = Rc::downgrade(&self.0);
        let send = move |reader, payload| {
            if let Some(inner) = owed.upgrade() {
                inner.write(payload, Addressing { only: Some(reader), ..Addressing::default() });
            }
        };
        node.context().0.owed.borrow_mut().add(writer.gid, asker, payload.clone(), send);
        self.0.write(payload, Addressing { except: Some(asker), ..Addressing::default() })
    }

    /// How many subscriptions it sends to.
    pub fn matched(&self) -> usize {
        self.0.node.context().graph().matched(&self.0.writer.gid).count()
    }

    /// Whether everybody who listens now gets the samples: nobody found so far is still telling what it has. Stays
    /// `false` beside DDS participants that are not of ROS; see [`EventLoop::settle`](crate::EventLoop::settle).
    pub fn reaches_everyone(&self) -> bool {
        self.0.node.context().graph().reaches_everyone(&self.0.writer.gid)
    }

    /// Samples that found no room in the send queue.
    pub fn dropped(&self) -> u64 {
        self.0.writer.dropped()
    }

    /// Waits until all reliable subscriptions have everything; `false` when they do not in time.
    pub fn wait_acknowledged(&self, timeout: Duration) -> bool {
        self.0.writer.wait_acknowledged(timeout)
    }

    /// The publisher on the wire.
    pub fn gid(&self) -> Gid {
        self.0.writer.gid
    }

    /// The full name of the topic.
    pub fn topic(&self) -> &str {
        &self.0.topic
    }
}
