//! The submessages that most datagrams are made of, read and written without ceremony.

use bytes::Bytes;
use enumflags2::BitFlags;

use crate::{
  dds::ddsdata::DDSData,
  messages::{
    header::Header,
    protocol_id::ProtocolId,
    protocol_version::ProtocolVersion,
    submessages::{
      heartbeat::Heartbeat, info_destination::InfoDestination, info_timestamp::InfoTimestamp,
      submessage::{ReaderSubmessage, WriterSubmessage}, submessage_header::SubmessageHeader,
      submessage_kind::SubmessageKind,
      submessages::{AckNack, DATA_Flags, Data, HEARTBEAT_Flags, InterpreterSubmessage},
    },
    validity_trait::Validity,
    vendor_id::VendorId,
  },
  rtps::submessage::{Submessage, SubmessageBody},
  structure::{
    cache_change::CacheChange,
    guid::{EntityId, GuidPrefix, GUID},
    sequence_number::{SequenceNumber, SequenceNumberSet},
  },
  Timestamp,
};
#[cfg(debug_assertions)]
use crate::rtps::{Message, MessageBuilder};

const LITTLE_ENDIAN: u8 = 1;
const FINAL: u8 = 2;
const WITH_DATA: u8 = 4;

/// Takes the next submessage off, if it is a little-endian one of the usual length: a
/// sample without inline QoS, a HEARTBEAT, an ACKNACK that asks for nothing, a time stamp or a destination. Else nothing
/// has happened, and [`Submessage::read_from_buffer`] reads it.
pub(crate) fn read(buffer: &mut Bytes) -> Option<Submessage> {
  let &[id, flags, low, high] = buffer.first_chunk()?;
  let content_length = u16::from_le_bytes([low, high]);
  let end = 4 + usize::from(content_length);
  let body = buffer.get(4..end)?;
  let bytes = |at: usize| [body[at], body[at + 1], body[at + 2], body[at + 3]];
  let word = |at: usize| u32::from_le_bytes(bytes(at));
  // Those that nobody reaches by counting are put right the long way.
  let number = |at: usize| {
    let (high, low) = (word(at), word(at + 4));
    let number = SequenceNumber::new((i64::from(high) << 32) + i64::from(low));
    (high < 0x4000_0000).then_some(number)
  };
  let (kind, body) = match (id, flags, content_length) {
    (0x09, LITTLE_ENDIAN, 8) => {
      let ticks = (u64::from(word(0)) << 32) + u64::from(word(4));
      let timestamp = Some(Timestamp::from_ticks(ticks));
      let read = InterpreterSubmessage::InfoTimestamp(
        InfoTimestamp { timestamp },
        BitFlags::from_bits_truncate(flags),
      );
      (SubmessageKind::INFO_TS, SubmessageBody::Interpreter(read))
    }
    (0x0e, LITTLE_ENDIAN, 12) => {
      let guid_prefix = GuidPrefix { bytes: *body.first_chunk()? };
      let read = InterpreterSubmessage::InfoDestination(
        InfoDestination { guid_prefix },
        BitFlags::from_bits_truncate(flags),
      );
      (SubmessageKind::INFO_DST, SubmessageBody::Interpreter(read))
    }
    (0x07, _, 28) if flags & !FINAL == LITTLE_ENDIAN => {
      let heartbeat = Heartbeat {
        reader_id: EntityId::from_slice(bytes(0)),
        writer_id: EntityId::from_slice(bytes(4)),
        first_sn: number(8)?,
        last_sn: number(16)?,
        count: word(24) as i32,
      };
      let read = WriterSubmessage::Heartbeat(heartbeat, BitFlags::from_bits_truncate(flags));
      (SubmessageKind::HEARTBEAT, SubmessageBody::Writer(read))
    }
    // Numbers before the first one are put right the long way.
    (0x06, _, 24) if flags & !FINAL == LITTLE_ENDIAN && word(16) == 0 => {
      let acknack = AckNack {
        reader_id: EntityId::from_slice(bytes(0)),
        writer_id: EntityId::from_slice(bytes(4)),
        reader_sn_state: SequenceNumberSet::new_empty(number(8)?),
        count: word(20) as i32,
      };
      let read = ReaderSubmessage::AckNack(acknack, BitFlags::from_bits_truncate(flags));
      (SubmessageKind::ACKNACK, SubmessageBody::Reader(read))
    }
    (0x15, _, 20..) if flags == LITTLE_ENDIAN | WITH_DATA && body[2..4] == [16, 0] => {
      let data = Data {
        reader_id: EntityId::from_slice(bytes(4)),
        writer_id: EntityId::from_slice(bytes(8)),
        writer_sn: number(12)?,
        inline_qos: None,
        serialized_payload: Some(buffer.slice(24..end)),
      };
      let read = WriterSubmessage::Data(data, BitFlags::from_bits_truncate(flags));
      (SubmessageKind::DATA, SubmessageBody::Writer(read))
    }
    _ => return None,
  };
  let header = SubmessageHeader {
    kind,
    flags,
    content_length,
  };
  // In tests, fuzzing included, whatever is read here is read twice.
  #[cfg(debug_assertions)]
  let the_long_way = Submessage::read_from_buffer(&mut buffer.clone());
  let submessage = Submessage {
    header,
    body,
    original_bytes: Some(buffer.split_to(end)),
  };
  #[cfg(debug_assertions)]
  assert_eq!(the_long_way.ok().flatten().as_ref(), Some(&submessage));
  Some(submessage)
}

/// A datagram with one sample for all readers of its writer, as a burst of one makes it.
#[derive(Debug)]
pub(crate) struct Sample {
  pub header: Header,
  pub timestamp: Option<Timestamp>,
  pub data: Data,
  pub data_flags: BitFlags<DATA_Flags>,
  pub heartbeat: Option<(Heartbeat, BitFlags<HEARTBEAT_Flags>)>,
}

/// Reads such a datagram. None if it is, or may be, anything else: [`Message::read_from_buffer`] knows.
pub(crate) fn sample(datagram: &Bytes) -> Option<Sample> {
  let bytes = |at: usize| datagram.get(at..)?.first_chunk::<4>().copied();
  let word = |at: usize| bytes(at).map(u32::from_le_bytes);
  // Those that nobody reaches by counting are put right the long way.
  let number = |at: usize| {
    let high = word(at).filter(|high| *high < 0x4000_0000)?;
    Some(SequenceNumber::new((i64::from(high) << 32) + i64::from(word(at + 4)?)))
  };
  let [major, minor, vendor_0, vendor_1] = bytes(4)?;
  let header = Header {
    protocol_id: ProtocolId::PROTOCOL_RTPS,
    protocol_version: ProtocolVersion { major, minor },
    vendor_id: VendorId {
      vendor_id: [vendor_0, vendor_1],
    },
    guid_prefix: GuidPrefix { bytes: *datagram.get(8..)?.first_chunk()? },
  };
  if bytes(0)? != *b"RTPS" || !header.valid() {
    return None;
  }
  let mut at = 20;
  let mut timestamp = None;
  if bytes(at)? == [0x09, LITTLE_ENDIAN, 8, 0] {
    let ticks = (u64::from(word(at + 4)?) << 32) + u64::from(word(at + 8)?);
    timestamp = Some(Timestamp::from_ticks(ticks));
    at += 12;
  }
  let [0x15, flags, low, high] = bytes(at)? else {
    return None;
  };
  let end = at + 4 + usize::from(u16::from_le_bytes([low, high]));
  let reader_id = [0; 4];
  let is_plain = flags == LITTLE_ENDIAN | WITH_DATA
    && datagram.get(at + 6..at + 8)? == [16, 0]
    && bytes(at + 8)? == reader_id
    && (at + 24..=datagram.len()).contains(&end);
  if !is_plain {
    return None;
  }
  let reader_id = EntityId::from_slice(reader_id);
  let writer = bytes(at + 12)?;
  let writer_id = EntityId::from_slice(writer);
  let data = Data {
    reader_id,
    writer_id,
    writer_sn: number(at + 16)?,
    inline_qos: None,
    serialized_payload: Some(datagram.slice(at + 24..end)),
  };
  let data_flags = BitFlags::from_bits_truncate(flags);
  let heartbeat = if end == datagram.len() {
    None
  } else {
    let [0x07, flags, 28, 0] = bytes(end)? else {
      return None;
    };
    let is_plain = flags & !FINAL == LITTLE_ENDIAN
      && datagram.len() == end + 32
      && bytes(end + 4)? == [0; 4]
      && bytes(end + 8)? == writer;
    if !is_plain {
      return None;
    }
    let heartbeat = Heartbeat {
      reader_id,
      writer_id,
      first_sn: number(end + 12)?,
      last_sn: number(end + 20)?,
      count: word(end + 28)? as i32,
    };
    Some((heartbeat, BitFlags::from_bits_truncate(flags)))
  };
  let sample = Sample {
    header,
    timestamp,
    data,
    data_flags,
    heartbeat,
  };
  // In tests, fuzzing included, whatever is read here is read twice.
  #[cfg(debug_assertions)]
  assert_eq!(sample.as_bodies(), bodies_the_long_way(datagram), "{datagram:?}");
  Some(sample)
}

#[cfg(debug_assertions)]
impl Sample {
  fn as_bodies(&self) -> Option<(Header, Vec<SubmessageBody>)> {
    let flags = BitFlags::from_bits_truncate(LITTLE_ENDIAN);
    let timestamp = self.timestamp.map(|timestamp| {
      let timestamp = Some(timestamp);
      let read = InterpreterSubmessage::InfoTimestamp(InfoTimestamp { timestamp }, flags);
      SubmessageBody::Interpreter(read)
    });
    let data = WriterSubmessage::Data(self.data.clone(), self.data_flags);
    let heartbeat = self.heartbeat.as_ref().map(|(heartbeat, flags)| {
      SubmessageBody::Writer(WriterSubmessage::Heartbeat(heartbeat.clone(), *flags))
    });
    let bodies = timestamp.into_iter().chain([SubmessageBody::Writer(data)]).chain(heartbeat);
    Some((self.header, bodies.collect()))
  }
}

#[cfg(debug_assertions)]
fn bodies_the_long_way(datagram: &Bytes) -> Option<(Header, Vec<SubmessageBody>)> {
  let message = Message::read_from_buffer(datagram).ok()?;
  let bodies = message.submessages.into_iter().map(|submessage| submessage.body);
  Some((message.header, bodies.collect()))
}

/// Whether a sample needs no inline QoS, and ends where a submessage may.
pub(crate) fn is_plain(change: &CacheChange) -> bool {
  let DDSData::Data { serialized_payload } = &change.data_value else {
    return false;
  };
  let length = serialized_payload.len_serialized();
  change.write_options.related_sample_identity().is_none()
    && length.is_multiple_of(4)
    && length <= usize::from(u16::MAX) - 20
}

/// A HEARTBEAT that goes with samples: the first number there is, the last, its own count and whether it is final.
pub(crate) type Told = (SequenceNumber, SequenceNumber, i32, bool);

/// Puts the beginning of a datagram in the place of what was there.
pub(crate) fn begin(from: GuidPrefix, datagram: &mut Vec<u8>) {
  datagram.clear();
  let version = ProtocolVersion::THIS_IMPLEMENTATION;
  let [vendor_0, vendor_1] = VendorId::THIS_IMPLEMENTATION.as_bytes();
  datagram.extend_from_slice(&[b'R', b'T', b'P', b'S', version.major, version.minor, vendor_0, vendor_1]);
  datagram.extend_from_slice(&from.bytes);
}

/// How much a sample, with its time, adds to a datagram.
pub(crate) fn length(change: &CacheChange) -> usize {
  12 + 24 + change.data_value.payload_size()
}

fn add_number(datagram: &mut Vec<u8>, number: SequenceNumber) {
  let number = i64::from(number);
  datagram.extend_from_slice(&((number >> 32) as i32).to_le_bytes());
  datagram.extend_from_slice(&(number as u32).to_le_bytes());
}

fn add_from_writer_to_all(datagram: &mut Vec<u8>, writer: EntityId) {
  datagram.extend_from_slice(&[0; 4]);
  datagram.extend_from_slice(&writer.entity_key);
  datagram.push(writer.entity_kind.into());
}

/// Adds a sample, which [is plain](is_plain), for all readers of its writer.
pub(crate) fn add_sample(change: &CacheChange, datagram: &mut Vec<u8>) {
  let DDSData::Data { serialized_payload } = &change.data_value else {
    return;
  };
  let length = serialized_payload.len_serialized();
  // With room for a HEARTBEAT.
  datagram.reserve(12 + 24 + length + 32);
  if let Some(timestamp) = change.write_options.source_timestamp() {
    let ticks = timestamp.to_ticks();
    datagram.extend_from_slice(&[0x09, LITTLE_ENDIAN, 8, 0]);
    datagram.extend_from_slice(&((ticks >> 32) as u32).to_le_bytes());
    datagram.extend_from_slice(&(ticks as u32).to_le_bytes());
  }
  let [low, high] = (20 + length as u16).to_le_bytes();
  datagram.extend_from_slice(&[0x15, LITTLE_ENDIAN | WITH_DATA, low, high, 0, 0, 16, 0]);
  add_from_writer_to_all(datagram, change.writer_guid.entity_id);
  add_number(datagram, change.sequence_number);
  datagram.extend_from_slice(&serialized_payload.representation_identifier.bytes);
  datagram.extend_from_slice(&serialized_payload.representation_options);
  datagram.extend_from_slice(&serialized_payload.value);
}

pub(crate) fn add_heartbeat(writer: EntityId, (first, last, count, is_final): Told, datagram: &mut Vec<u8>) {
  let flags = if is_final { LITTLE_ENDIAN | FINAL } else { LITTLE_ENDIAN };
  datagram.extend_from_slice(&[0x07, flags, 28, 0]);
  add_from_writer_to_all(datagram, writer);
  add_number(datagram, first);
  add_number(datagram, last);
  datagram.extend_from_slice(&count.to_le_bytes());
}

/// In tests whatever is written here is written twice.
#[cfg(debug_assertions)]
pub(crate) fn the_long_way(changes: &[CacheChange], writer: GUID, heartbeat: Option<Told>) -> Vec<u8> {
  let endianness = speedy::Endianness::LittleEndian;
  let mut builder = MessageBuilder::new();
  for change in changes {
    if let Some(timestamp) = change.write_options.source_timestamp() {
      builder = builder.ts_msg(endianness, Some(timestamp));
    }
    builder = builder.data_msg(change, EntityId::UNKNOWN, writer, endianness, None);
  }
  if let Some((first, last, count, is_final)) = heartbeat {
    builder = builder.heartbeat_msg(
      writer.entity_id, first, last, count, endianness, EntityId::UNKNOWN, is_final, false,
    );
  }
  let message = builder.add_header_and_build(writer.prefix);
  message.write_to_vec_fast(endianness).unwrap_or_default()
}
