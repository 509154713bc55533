//! Who may be heard, and who may be answered.
//!
//! Announcements cost their sender nothing: anybody can invent participants by the thousand, or name somebody else's
//! address as theirs. So participants that we have not heard of are let in at a bounded rate, and until a participant
//! has shown that it hears us, by addressing us by our GUID prefix, it gets at most as many bytes as came from it.

use std::{
  collections::{BTreeMap, BTreeSet, VecDeque},
  net::{IpAddr, SocketAddr},
  time::{Duration, Instant},
};

use log::warn;

use crate::structure::guid::GuidPrefix;

/// More participants than start at the same time.
const NEWCOMERS_AT_ONCE: f64 = 256.0;
const NEWCOMERS_PER_SECOND: f64 = 128.0;
/// Whoever discovery has not confirmed by then is forgotten.
const MAX_UNCONFIRMED: usize = 512;
const UNCONFIRMED_TIME: Duration = Duration::from_secs(10);
/// What endpoints a participant may tell of before it is confirmed; a large ROS node needs a quarter of it.
const UNCONFIRMED_BYTES: usize = 128 * 1024;
/// What we ask a newcomer: one acknowledgement for each of its built-in writers.
const QUESTIONS: usize = 200;
/// Announcements of a participant that come faster than this are repetitions.
const REPETITION: Duration = Duration::from_millis(50);
/// One announcement about an endpoint or a participant is not longer than this.
const MAX_ANNOUNCEMENT: usize = 32 * 1024;
/// Longer ones than usual are not for everybody at the same time: bytes of all, and how fast there is room again.
const USUAL_ANNOUNCEMENT: usize = 2 * 1024;
const LARGE_ANNOUNCEMENTS: f64 = 8.0 * 1024.0 * 1024.0;
const LARGE_ANNOUNCEMENTS_PER_SECOND: f64 = 64.0 * 1024.0;

/// Fills up at a steady rate, and gives what is in it.
#[derive(Debug)]
struct Bucket {
  content: f64,
  capacity: f64,
  per_second: f64,
  filled: Instant,
}

impl Bucket {
  fn new(capacity: f64, per_second: f64) -> Self {
    Self {
      content: capacity,
      capacity,
      per_second,
      filled: Instant::now(),
    }
  }

  fn take(&mut self, amount: f64, now: Instant) -> bool {
    let since = now.duration_since(self.filled).as_secs_f64();
    self.filled = now;
    self.content = (self.content + since * self.per_second).min(self.capacity);
    let has = self.content >= amount;
    if has {
      self.content -= amount;
    }
    has
  }
}

#[derive(Debug)]
struct Peer {
  since: Instant,
  /// Discovery knows it.
  confirmed: bool,
  /// It has addressed us.
  proven: bool,
  announced: Option<Instant>,
  /// Bytes about endpoints, while it is not confirmed.
  told: usize,
  received: usize,
  sent: usize,
  /// It was sent our announcement.
  is_told: bool,
}

#[derive(Debug)]
pub(crate) struct Peers {
  own: GuidPrefix,
  /// Where our own datagrams come from.
  own_addresses: BTreeSet<IpAddr>,
  own_ports: BTreeSet<u16>,
  by_prefix: BTreeMap<GuidPrefix, Peer>,
  /// Those that are not confirmed, and some that are; the longest known first.
  unconfirmed: VecDeque<GuidPrefix>,
  newcomers: Bucket,
  large_announcements: Bucket,
  warned_of_newcomers: bool,
  warned_of_size: bool,
  /// Have just addressed us for the first time.
  just_proven: Vec<GuidPrefix>,
}

impl Default for Peers {
  fn default() -> Self {
    Self {
      own: GuidPrefix::UNKNOWN,
      own_addresses: BTreeSet::new(),
      own_ports: BTreeSet::new(),
      by_prefix: BTreeMap::new(),
      unconfirmed: VecDeque::new(),
      newcomers: Bucket::new(NEWCOMERS_AT_ONCE, NEWCOMERS_PER_SECOND),
      large_announcements: Bucket::new(LARGE_ANNOUNCEMENTS, LARGE_ANNOUNCEMENTS_PER_SECOND),
      warned_of_newcomers: false,
      warned_of_size: false,
      just_proven: Vec::new(),
    }
  }
}

impl Peers {
  pub fn set_own(&mut self, own: GuidPrefix) {
    self.own = own;
  }

  pub fn set_own_sockets(
    &mut self,
    addresses: impl Iterator<Item = IpAddr>,
    ports: impl Iterator<Item = u16>,
  ) {
    self.own_addresses = addresses.collect();
    self.own_ports = ports.collect();
  }

  /// Whether to read a datagram with this GUID prefix. Anybody can write ours into it, but only we send from our
  /// sockets.
  pub fn admits_source(&self, prefix: GuidPrefix, source: Option<SocketAddr>) -> bool {
    prefix != GuidPrefix::UNKNOWN
      && (prefix != self.own
        || source.is_none_or(|source| {
          self.own_ports.contains(&source.port())
            && (source.ip().is_loopback() || self.own_addresses.contains(&source.ip()))
        }))
  }

  /// A datagram came.
  pub fn received(&mut self, from: GuidPrefix, bytes: usize) {
    if let Some(peer) = self.by_prefix.get_mut(&from) {
      peer.received = peer.received.saturating_add(bytes);
    }
  }

  /// A submessage came that names us as its destination: its sender hears us.
  pub fn addressed_us(&mut self, from: GuidPrefix) {
    if from == self.own {
      return;
    }
    let peer = self.entry(from);
    if !peer.proven {
      peer.proven = true;
      self.just_proven.push(from);
    }
  }

  /// Those that have shown for the first time that they hear us.
  pub fn take_just_proven(&mut self) -> Vec<GuidPrefix> {
    std::mem::take(&mut self.just_proven)
  }

  pub fn is_proven(&self, prefix: GuidPrefix) -> bool {
    prefix == self.own || self.by_prefix.get(&prefix).is_some_and(|peer| peer.proven)
  }

  /// Whether to look at what a participant says of itself, in a datagram of `bytes`.
  pub fn admits_announcement(&mut self, from: GuidPrefix, bytes: usize) -> bool {
    if from == self.own {
      return true;
    }
    if !self.admits_size(bytes) {
      return false;
    }
    let now = Instant::now();
    if let Some(Peer { announced: Some(announced), .. }) = self.by_prefix.get_mut(&from) {
      let admits = now.duration_since(*announced) >= REPETITION;
      if admits {
        *announced = now;
      }
      return admits;
    }
    if !self.is_proven(from) && !self.admits_newcomer(now) {
      return false;
    }
    let peer = self.entry(from);
    peer.announced = Some(now);
    peer.received = peer.received.max(bytes);
    true
  }

  /// Whether to look at what a participant says of its endpoints, or of its departure.
  pub fn admits(&mut self, from: GuidPrefix, bytes: usize) -> bool {
    if from == self.own {
      return true;
    }
    if !self.admits_size(bytes) {
      return false;
    }
    // Whoever hears us before we hear of it, begins with its endpoints.
    if !self.by_prefix.contains_key(&from) && !self.admits_newcomer(Instant::now()) {
      return false;
    }
    let peer = self.entry(from);
    if !peer.confirmed {
      peer.told = peer.told.saturating_add(bytes);
    }
    peer.confirmed || peer.told <= UNCONFIRMED_BYTES
  }

  fn admits_size(&mut self, bytes: usize) -> bool {
    if bytes > MAX_ANNOUNCEMENT && !std::mem::replace(&mut self.warned_of_size, true) {
      warn!("Announcements of more than {MAX_ANNOUNCEMENT} bytes are ignored. This is said once.");
    }
    bytes <= USUAL_ANNOUNCEMENT
      || (bytes <= MAX_ANNOUNCEMENT && self.large_announcements.take(bytes as f64, Instant::now()))
  }

  fn admits_newcomer(&mut self, now: Instant) -> bool {
    let admits = self.newcomers.take(1.0, now);
    if !admits && !std::mem::replace(&mut self.warned_of_newcomers, true) {
      warn!(
        "More than {NEWCOMERS_PER_SECOND} participants per second announce themselves; some have to wait. This is said \
         once."
      );
    }
    admits
  }

  fn entry(&mut self, prefix: GuidPrefix) -> &mut Peer {
    if !self.by_prefix.contains_key(&prefix) {
      while self.unconfirmed.len() >= MAX_UNCONFIRMED {
        self.forget_longest_unconfirmed();
      }
      self.unconfirmed.push_back(prefix);
    }
    self.by_prefix.entry(prefix).or_insert_with(|| Peer {
      since: Instant::now(),
      confirmed: false,
      proven: false,
      announced: None,
      told: 0,
      received: 0,
      sent: 0,
      is_told: false,
    })
  }

  fn forget_longest_unconfirmed(&mut self) {
    if let Some(prefix) = self.unconfirmed.pop_front() {
      if self.by_prefix.get(&prefix).is_some_and(|peer| !peer.confirmed) {
        self.by_prefix.remove(&prefix);
      }
    }
  }

  /// Forgets those that discovery has not confirmed in time.
  pub fn sweep(&mut self) {
    while let Some(first) = self.unconfirmed.front() {
      let waits = self
        .by_prefix
        .get(first)
        .is_some_and(|peer| !peer.confirmed && peer.since.elapsed() < UNCONFIRMED_TIME);
      if waits {
        break;
      }
      self.forget_longest_unconfirmed();
    }
  }

  /// Discovery knows this participant from now on.
  pub fn confirm(&mut self, prefix: GuidPrefix) {
    if prefix != self.own {
      self.entry(prefix).confirmed = true;
    }
  }

  pub fn lost(&mut self, prefix: GuidPrefix) {
    self.by_prefix.remove(&prefix);
    self.unconfirmed.retain(|unconfirmed| *unconfirmed != prefix);
  }

  /// Whether this many bytes may go to a participant; if so, they are taken as sent. Our announcement goes first: who
  /// does not know us cannot answer.
  pub fn may_send(&mut self, to: GuidPrefix, bytes: usize, is_announcement: bool) -> bool {
    match self.by_prefix.get_mut(&to) {
      Some(peer) if !peer.proven => {
        let is_told = peer.is_told || is_announcement;
        // Announcements that are repeated leave room for the first questions.
        let room = if peer.is_told && is_announcement { QUESTIONS } else { 0 };
        let may = is_told && peer.sent + bytes + room <= peer.received;
        if may {
          peer.is_told = true;
          peer.sent += bytes;
        }
        may
      }
      _ => true,
    }
  }

  /// Whether anything may go to a participant.
  pub fn may_be_told(&self, prefix: GuidPrefix) -> bool {
    self
      .by_prefix
      .get(&prefix)
      .is_none_or(|peer| peer.proven || (peer.is_told && peer.sent < peer.received))
  }
}
