//! DDS readers and writers of undecoded payloads: the only place where samples cross between RustDDS and this crate.

use std::{
    cell::Cell,
    convert::Infallible,
    rc::Rc,
    time::{Duration, SystemTime},
};

use rosless_wire::{cdr::ByteOrder, names};
use rustdds::{
    RTPSEntity, RepresentationIdentifier, SampleIdentity, SequenceNumber, Timestamp, TopicKind,
    WriteOptionsBuilder,
    bytes::Bytes,
    driving::Driver,
    no_key::{DataWriter, DeserializerAdapter, SerializerAdapter, SimpleDataReader},
};

use crate::{
    Error, Gid, GidPrefix, Node, Qos, Result,
    context::Participant,
    graph::{Endpoint, EndpointKind, ros_name},
    qos::History,
};

/// How many samples RustDDS buffers at least: it drops the oldest in steps, and `Inbox` picks the newest `depth` of them.
const TOPIC_BURST: u32 = 64;

/// What an endpoint is about, in DDS names.
#[derive(Clone, Debug)]
pub(crate) struct TopicSpec {
    pub(crate) dds_topic: String,
    pub(crate) dds_type: String,
    pub(crate) type_hash: String,
    /// The hash of the whole service's type, where the distribution announces it.
    pub(crate) service_hash: Option<&'static str>,
    pub(crate) qos: Qos,
    /// Zero for topics; services may have many requests under way.
    pub(crate) burst: u32,
    /// Of the topic, if this end is not about all of it.
    pub(crate) part: Option<&'static str>,
}

impl TopicSpec {
    /// `topic` is the full ROS name.
    pub(crate) fn topic(topic: &str, type_name: &str, type_hash: &str, qos: Qos) -> Result<Self> {
        let dds_topic = names::topic_to_dds(topic).map_err(Error::name)?;
        Self::new(dds_topic, type_name, type_hash, qos, 0)
    }

    pub(crate) fn new(
        dds_topic: String,
        type_name: &str,
        type_hash: &str,
        qos: Qos,
        burst: u32,
    ) -> Result<Self> {
        let dds_type = names::type_to_dds(type_name).map_err(Error::name)?;
        Ok(Self {
            dds_topic,
            dds_type,
            type_hash: type_hash.to_owned(),
            service_hash: None,
            qos,
            burst,
            part: None,
        })
    }

    fn user_data(&self) -> String {
        let pair = |key: &str, hash: &str| format!("{key}={hash};");
        let own = if self.type_hash.is_empty() { String::new() } else { pair("typehash", &self.type_hash) };
        let service = self.service_hash.map_or_else(String::new, |hash| pair("sertypehash", hash));
        own + &service + &self.part.map_or_else(String::new, |part| pair("part", part))
    }

    pub(crate) fn ros_name(&self) -> String {
        ros_name(&self.dds_topic)
    }

    pub(crate) fn endpoint(&self, gid: Gid, kind: EndpointKind) -> Endpoint {
        Endpoint {
            gid,
            kind,
            dds_topic: self.dds_topic.as_str().into(),
            dds_type: self.dds_type.as_str().into(),
            type_hash: Some(self.type_hash.as_str().into()).filter(|_| !self.type_hash.is_empty()),
            qos: self.qos.into(),
            service_tag: None,
            part: self.part.map(Into::into),
        }
    }
}

/// Passes bytes through RustDDS unchanged.
#[derive(Debug)]
pub(crate) struct RawAdapter;

/// Samples are taken undecoded, so this is never asked; RustDDS wants it to make a reader.
impl DeserializerAdapter<()> for RawAdapter {
    type Error = Infallible;
    type Decoded = ();

    fn supported_encodings() -> &'static [RepresentationIdentifier] {
        &[]
    }

    fn transform_decoded((): ()) {}
}

impl SerializerAdapter<Bytes> for RawAdapter {
    type Error = Infallible;

    fn output_encoding() -> RepresentationIdentifier {
        RepresentationIdentifier::CDR_LE
    }

    fn to_bytes(body: &Bytes) -> Result<Bytes, Infallible> {
        Ok(body.clone())
    }
}

/// Keeps graph and `ros_discovery_info` true: the endpoint is listed exactly as long as this lives.
#[derive(Debug)]
struct Listing {
    node: Node,
    gid: Gid,
}

impl Listing {
    fn new(node: &Node, endpoint: Endpoint) -> Self {
        let listing = Self { node: node.clone(), gid: endpoint.gid };
        node.endpoint_added(endpoint);
        listing
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        self.node.endpoint_removed(&self.gid);
    }
}

/// A sample as it came, with where it came from. The body shares RustDDS's receive buffer.
#[derive(Clone, Debug)]
pub(crate) struct RawSample {
    pub(crate) body: Bytes,
    pub(crate) order: ByteOrder,
    pub(crate) info: SampleInfo,
    /// DDS-RPC: which request this answers, or to whom the answer goes.
    pub(crate) related: Option<(Gid, i64)>,
    /// There was no other when it was taken.
    pub(crate) is_last: bool,
}

impl RawSample {
    /// The body with its encapsulation header in front.
    pub(crate) fn payload(&self) -> Vec<u8> {
        [&[0, u8::from(self.order == ByteOrder::Little), 0, 0], &self.body[..]].concat()
    }
}

/// Where a sample came from and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleInfo {
    /// The publisher's clock when it published; `None` when it did not say.
    pub source_stamp: Option<SystemTime>,
    /// Our clock when the sample was taken from the middleware.
    pub reception_stamp: SystemTime,
    /// Who sent it.
    pub publisher: Gid,
    /// Its number among the samples of its publisher, from 1.
    pub sequence_number: i64,
}

pub(crate) fn system_time(stamp: Timestamp) -> SystemTime {
    let ticks = stamp.to_ticks();
    let nanos = ((ticks & 0xffff_ffff) * 1_000_000_000) >> 32;
    SystemTime::UNIX_EPOCH + Duration::new(ticks >> 32, nanos as u32)
}

/// What a clock shows that is so many nanoseconds ahead; within what the wire can say.
fn shifted(stamp: Timestamp, ahead: i64) -> Timestamp {
    if ahead == 0 {
        return stamp;
    }
    let ticks = i128::from(stamp.to_ticks()) + (i128::from(ahead) << 32) / 1_000_000_000;
    // The last values mean that there is no time stamp.
    Timestamp::from_ticks(ticks.clamp(1, i128::from(u64::MAX - (1 << 32))) as u64)
}

/// A reader of undecoded samples.
pub(crate) struct RawReader {
    pub(crate) dds: SimpleDataReader<(), RawAdapter>,
    listing: Option<Listing>,
    pub(crate) gid: Gid,
    pub(crate) spec: TopicSpec,
}

impl std::fmt::Debug for RawReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawReader").field("gid", &self.gid).field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl RawReader {
    pub(crate) fn new(node: &Node, spec: TopicSpec) -> Result<Self> {
        let mut reader = Self::unlisted(&node.context().0.dds, spec)?;
        reader.listing = Some(Listing::new(node, reader.spec.endpoint(reader.gid, EndpointKind::Reader)));
        Ok(reader)
    }

    /// A reader that belongs to no node.
    pub(crate) fn unlisted(participant: &Participant, spec: TopicSpec) -> Result<Self> {
        let what = format!("read topic {}", spec.dds_topic);
        let policies = spec.qos.reader_policies(&spec.user_data(), spec.burst.max(TOPIC_BURST));
        let topic = participant
            .dds
            .create_topic(spec.dds_topic.clone(), spec.dds_type.clone(), &policies, TopicKind::NoKey)
            .map_err(Error::dds(&*what))?;
        let dds = participant
            .subscriber
            .create_simple_datareader_no_key::<(), RawAdapter>(&topic, Some(policies))
            .map_err(Error::dds(what))?;
        if spec.qos.durability == crate::qos::Durability::Volatile {
            // Readers of one topic share RustDDS's cache: what an older reader received is history to this one.
            while dds.try_take_raw().is_some() {}
        }
        Ok(Self { gid: dds.guid().into(), dds, listing: None, spec })
    }

    /// Takes what a writer that was lost and has come back keeps for late joiners once more.
    pub(crate) fn take_again(&self, writer: &Gid) {
        let samples = match self.spec.qos.history {
            History::KeepLast(depth) => depth.into(),
            History::KeepAll | History::Unknown => i64::MAX,
        };
        self.dds.take_again(writer.guid(), samples);
    }

    /// The next sample; `Err` says why one could not be taken apart (it is gone, go on).
    pub(crate) fn take(&self) -> Result<Option<RawSample>, String> {
        let Some(sample) = self.dds.try_take_raw() else { return Ok(None) };
        let identity = |id: SampleIdentity| (id.writer_guid.into(), id.sequence_number.into());
        let (publisher, sequence_number) = identity(sample.identity);
        let order = match sample.payload.representation_identifier {
            RepresentationIdentifier::CDR_LE => ByteOrder::Little,
            RepresentationIdentifier::CDR_BE => ByteOrder::Big,
            other => return Err(format!("{publisher} encodes as {other:?} instead of plain CDR")),
        };
        Ok(Some(RawSample {
            body: sample.payload.value,
            order,
            info: SampleInfo {
                source_stamp: sample.source_timestamp.map(system_time),
                reception_stamp: SystemTime::now(),
                publisher,
                sequence_number,
            },
            related: sample.related_sample_identity.map(identity),
            is_last: sample.is_last,
        }))
    }
}

/// To whom and in answer to what a sample is written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Addressing {
    pub(crate) only: Option<Gid>,
    /// All but this one, whether its readers are matched yet or not.
    pub(crate) except: Option<GidPrefix>,
    pub(crate) related: Option<(Gid, i64)>,
}

/// A writer of encoded payloads. Never blocks: what does not fit is refused and counted.
pub(crate) struct RawWriter {
    dds: DataWriter<Bytes, RawAdapter>,
    listing: Option<Listing>,
    pub(crate) gid: Gid,
    pub(crate) spec: TopicSpec,
    dropped: Cell<u64>,
    driver: Rc<Driver>,
    /// By how many nanoseconds the clock of its node is ahead of the machine's.
    pub(crate) ahead: Rc<Cell<i64>>,
}

impl std::fmt::Debug for RawWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawWriter").field("gid", &self.gid).field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl RawWriter {
    pub(crate) fn new(node: &Node, spec: TopicSpec) -> Result<Self> {
        let mut writer = Self::unlisted(&node.context().0.dds, spec)?;
        writer.ahead = node.ahead().clone();
        writer.listing = Some(Listing::new(node, writer.spec.endpoint(writer.gid, EndpointKind::Writer)));
        Ok(writer)
    }

    /// A writer that belongs to no node.
    pub(crate) fn unlisted(participant: &Participant, spec: TopicSpec) -> Result<Self> {
        let what = format!("write topic {}", spec.dds_topic);
        let policies = spec.qos.writer_policies(&spec.user_data());
        let topic = participant
            .dds
            .create_topic(spec.dds_topic.clone(), spec.dds_type.clone(), &policies, TopicKind::NoKey)
            .map_err(Error::dds(&*what))?;
        let dds = participant
            .publisher
            .create_datawriter_no_key::<Bytes, RawAdapter>(&topic, Some(policies))
            .map_err(Error::dds(what))?;
        let driver = participant.driver.clone();
        let (gid, ahead) = (dds.guid().into(), Rc::default());
        Ok(Self { gid, dds, listing: None, spec, dropped: Cell::new(0), driver, ahead })
    }

    /// Samples that found no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.get()
    }

    /// Whether a sample would be taken now; if not, it counts as refused. Who keeps only the last samples always takes another.
    pub(crate) fn admits(&self) -> bool {
        let has_room = !matches!(self.spec.qos.history, History::KeepAll) || self.dds.has_room();
        self.dropped.set(self.dropped.get() + u64::from(!has_room));
        has_room
    }

    /// Writes a payload with its little-endian encapsulation header; the sequence number, or `None` when refused.
    pub(crate) fn write(&self, payload: Vec<u8>, to: Addressing) -> Option<i64> {
        let body = Bytes::from(payload).split_off(4);
        let mut options =
            WriteOptionsBuilder::new().source_timestamp(shifted(Timestamp::now(), self.ahead.get()));
        if let Some((gid, sequence)) = to.related {
            options = options.related_sample_identity(SampleIdentity {
                writer_guid: gid.guid(),
                sequence_number: SequenceNumber::new(sequence),
            });
        }
        if let Some(reader) = to.only {
            options = options.to_single_reader(reader.guid());
        }
        if let Some(participant) = to.except {
            options = options.not_to(Gid::first_of(participant).guid().prefix);
        }
        match self.dds.try_write_driven(body, options.build(), &self.driver) {
            Ok(identity) => Some(identity.sequence_number.into()),
            Err(_) => {
                self.dropped.set(self.dropped.get() + 1);
                None
            }
        }
    }

    /// Blocks until every reliable reader has everything; for commands that publish and leave.
    pub(crate) fn wait_acknowledged(&self, timeout: Duration) -> bool {
        self.driver.hand_over();
        self.dds.wait_for_acknowledgments(timeout).unwrap_or(false)
    }
}
