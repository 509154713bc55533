//! Small samples that are written one after the other go in one datagram.

use super::{BatchOutcome, DeliveryMode, SampleCursor, Writer};
use crate::{
  rtps::{
    constant::HEARTBEAT_SUBMESSAGE_SERIALIZED_SIZE, outbound::TrafficClass, plain,
  },
  structure::{cache_change::CacheChange, guid::EntityId, sequence_number::SequenceNumber},
};

/// As long as a datagram of them gets, if the way to all readers takes it: a loss is that of so much.
const LARGEST: usize = 16 * 1024;
const HEADER: usize = 20;
/// So many are sent one by one in any case: whoever writes a few wants them to be there at once, and is perhaps busy for a
/// while before it waits again.
pub(crate) const FEW: usize = 8;

/// What an application that drives its participant has written since it waited last, with nothing of another writer between.
#[derive(Debug, Default)]
pub(crate) struct Burst {
  pub writer: Option<EntityId>,
  pub written: usize,
  /// Some of it has not been sent.
  pub waits: bool,
}

impl Writer {
  // Without a HEARTBEAT it can be as long as this.
  fn room_for_samples(&self) -> usize {
    let heartbeat = if self.tells_with_samples() { HEARTBEAT_SUBMESSAGE_SERIALIZED_SIZE } else { 0 };
    self.min_datagram_payload.min(LARGEST).saturating_sub(heartbeat)
  }

  fn tells_with_samples(&self) -> bool {
    self.is_reliable() && !self.like_stateless
  }

  fn is_plain(&self, change: &CacheChange) -> bool {
    self.is_aggregatable(change) && plain::is_plain(change)
  }

  /// Whether what was written and not sent may wait for more: one more of its length fits in the same datagram, and pushes
  /// none of it out.
  pub fn gathers(&self) -> bool {
    let can_gather = self.push_mode
      && self.sample_cursor == SampleCursor::Fresh
      && self.security_plugins.is_none()
      && !self.paced;
    let has_room = |change: &CacheChange, unsent: usize, limit: usize| {
      let with_one_more = HEADER + (unsent + 1) * plain::length(change);
      unsent < limit && with_one_more <= self.room_for_samples() && self.is_plain(change)
    };
    can_gather && self.send_buffer.look_at_unsent(self.last_sent, has_room).unwrap_or(false)
  }

  /// Sends as many of the samples from `first` to `last` as fit in a datagram. None if the first one needs more ceremony.
  pub(super) fn send_burst(&self, first: SequenceNumber, last: SequenceNumber) -> Option<BatchOutcome> {
    let room = self.room_for_samples();
    let mut datagram = self.udp_sender.datagram.take();
    plain::begin(self.my_guid.prefix, &mut datagram);
    let mut last_seq = None;
    let mut may_block = self.is_reliable();
    let mut is_stamped = false;
    #[cfg(debug_assertions)]
    let mut changes = Vec::new();
    let oldest = self.send_buffer.look_through((first, last), |change| {
      let has_stamp = change.write_options.source_timestamp().is_some();
      let follows =
        last_seq.is_none() || (datagram.len() + plain::length(change) <= room && (has_stamp || !is_stamped));
      let fits = follows && self.is_plain(change);
      if fits {
        plain::add_sample(change, &mut datagram);
        last_seq = Some(change.sequence_number);
        is_stamped |= has_stamp;
        may_block |= change.write_options.best_effort_may_block();
        #[cfg(debug_assertions)]
        changes.push(change.clone());
      }
      fits
    });
    let Some(last_seq) = last_seq else {
      self.udp_sender.datagram.replace(datagram);
      return None;
    };
    let heartbeat = self
      .tells_with_samples()
      .then(|| (oldest, last_seq, self.next_heartbeat_count(), !self.ask_for_ack));
    if let Some(heartbeat) = heartbeat {
      plain::add_heartbeat(self.my_guid.entity_id, heartbeat, &mut datagram);
    }
    #[cfg(debug_assertions)]
    assert_eq!(datagram, plain::the_long_way(&changes, self.my_guid, heartbeat));
    let blocked = self.send_datagram_to_readers(
      DeliveryMode::Multicast,
      (&datagram, &[]),
      &mut self.readers.values(),
      TrafficClass::Bulk,
    );
    self.udp_sender.datagram.replace(datagram);
    Some(match (blocked.is_empty(), may_block) {
      (false, true) => BatchOutcome::Blocked { blocked },
      (false, false) => BatchOutcome::Dropped { last_seq },
      (true, _) => BatchOutcome::Sent { last_seq },
    })
  }
}
