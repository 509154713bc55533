//! The submessages that most datagrams are made of, read without ceremony.

use bytes::Bytes;
use enumflags2::BitFlags;

use crate::{
  messages::submessages::{
    heartbeat::Heartbeat, info_destination::InfoDestination, info_timestamp::InfoTimestamp,
    submessage::WriterSubmessage, submessage_header::SubmessageHeader,
    submessage_kind::SubmessageKind,
    submessages::{Data, InterpreterSubmessage},
  },
  rtps::submessage::{Submessage, SubmessageBody},
  structure::{
    guid::{EntityId, GuidPrefix},
    sequence_number::SequenceNumber,
  },
  Timestamp,
};

const LITTLE_ENDIAN: u8 = 1;
const FINAL: u8 = 2;
const WITH_DATA: u8 = 4;

/// Takes the next submessage off, if it is a little-endian one of the usual length: a
/// sample without inline QoS, a HEARTBEAT, a time stamp or a destination. Else nothing
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
