//! Datagrams of endpoints that discovery has not brought yet.
//!
//! A peer that knows our endpoints may send before what it says of its own has
//! arrived here. Reliable samples would have to be asked for, which a process that
//! publishes and leaves does not wait for; samples of best effort would be lost.
//! So a few of the datagrams are kept until their endpoint is known.
//!
//! Anybody can send anything in any name: what is kept is bounded for each name
//! and in total, and the oldest goes first.

use std::{
  collections::{BTreeSet, VecDeque},
  time::{Duration, Instant},
};

use bytes::Bytes;

use crate::structure::guid::{EntityId, GuidPrefix, GUID};

const MAX_DATAGRAMS_PER_PARTICIPANT: usize = 32;
const MAX_BYTES_PER_PARTICIPANT: usize = 128 * 1024;
const MAX_DATAGRAMS: usize = 512;
const MAX_BYTES: usize = 1024 * 1024;
/// Discovery of an endpoint does not take longer, or something is wrong with it.
const MAX_AGE: Duration = Duration::from_secs(2);
/// A datagram speaks for at most this many endpoints that are not known.
const MAX_STRANGERS: usize = 64;

/// Endpoints of a participant that are known when the participant is.
pub(crate) const DISCOVERY_ENDPOINTS: [EntityId; 4] = [
  EntityId::SEDP_BUILTIN_PUBLICATIONS_WRITER,
  EntityId::SEDP_BUILTIN_PUBLICATIONS_READER,
  EntityId::SEDP_BUILTIN_SUBSCRIPTIONS_WRITER,
  EntityId::SEDP_BUILTIN_SUBSCRIPTIONS_READER,
];

struct Kept {
  from: GuidPrefix,
  strangers: Vec<GUID>,
  datagram: Bytes,
  since: Instant,
}

#[derive(Default)]
pub(crate) struct WaitingRoom {
  known: BTreeSet<GUID>,
  // Endpoints that spoke in the datagram that is being handled.
  strangers: Vec<GUID>,
  kept: VecDeque<Kept>, // oldest first
}

impl WaitingRoom {
  /// An endpoint speaks in the datagram that is being handled.
  pub fn heard(&mut self, endpoint: GUID) {
    if (endpoint.entity_id.entity_kind.is_user_defined()
      || DISCOVERY_ENDPOINTS.contains(&endpoint.entity_id))
      && self.strangers.len() < MAX_STRANGERS
      && !self.known.contains(&endpoint)
      && !self.strangers.contains(&endpoint)
    {
      self.strangers.push(endpoint);
    }
  }

  /// The datagram has been handled: keeps a copy if strangers spoke in it.
  pub fn keep(&mut self, from: GuidPrefix, datagram: &Bytes) {
    if self.strangers.is_empty() {
      return;
    }
    let strangers = std::mem::take(&mut self.strangers);
    let now = Instant::now();
    self.kept.push_back(Kept {
      from,
      strangers,
      // Not a slice of the receive buffer, which would stay as a whole.
      datagram: Bytes::copy_from_slice(datagram),
      since: now,
    });
    self
      .kept
      .retain(|kept| now.duration_since(kept.since) <= MAX_AGE);
    while self.exceeds(Some(from), MAX_DATAGRAMS_PER_PARTICIPANT, MAX_BYTES_PER_PARTICIPANT) {
      let oldest = self.kept.iter().position(|kept| kept.from == from);
      oldest.and_then(|oldest| self.kept.remove(oldest));
    }
    while self.exceeds(None, MAX_DATAGRAMS, MAX_BYTES) {
      self.kept.pop_front();
    }
  }

  fn exceeds(&self, from: Option<GuidPrefix>, datagrams: usize, bytes: usize) -> bool {
    let counted = || {
      self
        .kept
        .iter()
        .filter(|kept| from.is_none_or(|from| kept.from == from))
    };
    counted().count() > datagrams || counted().map(|kept| kept.datagram.len()).sum::<usize>() > bytes
  }

  /// Whoever spoke in a datagram that is handled for the second time is not kept again.
  pub fn forget_strangers(&mut self) {
    self.strangers.clear();
  }

  /// The endpoint is known from now on. What it said before is to be handled now.
  pub fn welcome(&mut self, endpoint: GUID) -> Vec<Bytes> {
    let mut said = Vec::new();
    if self.known.insert(endpoint) && !self.kept.is_empty() {
      let now = Instant::now();
      self.kept.retain_mut(|kept| {
        let before = kept.strangers.len();
        kept.strangers.retain(|stranger| *stranger != endpoint);
        if kept.strangers.len() < before && now.duration_since(kept.since) <= MAX_AGE {
          said.push(kept.datagram.clone());
        }
        !kept.strangers.is_empty()
      });
    }
    said
  }

  pub fn endpoint_lost(&mut self, endpoint: GUID) {
    self.known.remove(&endpoint);
  }

  pub fn participant_lost(&mut self, participant: GuidPrefix) {
    self.known.retain(|endpoint| endpoint.prefix != participant);
    self.kept.retain(|kept| kept.from != participant);
  }
}
