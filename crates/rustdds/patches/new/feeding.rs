//! Datagrams without a network, for tests that need millions of them, and networks worse than
//! the one at hand.

use std::{
  cell::RefCell,
  collections::BTreeMap,
  net::{Ipv4Addr, SocketAddr},
  sync::{
    atomic::{AtomicBool, AtomicU64, Ordering},
    mpsc, Mutex, PoisonError,
  },
};

use bytes::Bytes;

#[cfg(feature = "security")]
use crate::structure::guid::GUID;
use crate::{
  network::udp_listener::PacketOrigin, polling::LoopWaker, structure::guid::GuidPrefix, DomainParticipant,
  RTPSEntity,
};

static ENABLED: AtomicBool = AtomicBool::new(false);
static FEEDERS: Mutex<BTreeMap<GuidPrefix, Feeder>> = Mutex::new(BTreeMap::new());

struct Feeder {
  datagrams: mpsc::Sender<Vec<Bytes>>,
  handled: mpsc::Receiver<()>,
  waker: LoopWaker,
}

/// The event loop's end.
pub(crate) struct Feed {
  datagrams: mpsc::Receiver<Vec<Bytes>>,
  handled: mpsc::Sender<()>,
}

impl Feed {
  /// None unless somebody called [`enable`].
  pub fn of(participant: GuidPrefix, waker: &LoopWaker) -> Option<Self> {
    if !ENABLED.load(Ordering::Relaxed) {
      return None;
    }
    let (datagram_sender, datagrams) = mpsc::channel();
    let (handled, handled_receiver) = mpsc::channel();
    let feeder = Feeder {
      datagrams: datagram_sender,
      handled: handled_receiver,
      waker: waker.clone(),
    };
    FEEDERS.lock().unwrap_or_else(PoisonError::into_inner).insert(participant, feeder);
    Some(Self { datagrams, handled })
  }

  pub fn take(&self) -> Option<Vec<(Bytes, PacketOrigin)>> {
    let origin = || PacketOrigin {
      local_if: None,
      source: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 9))),
    };
    let datagrams = self.datagrams.try_recv().ok()?;
    Some(datagrams.into_iter().map(|datagram| (datagram, origin())).collect())
  }

  pub fn handled(&self) {
    let _ = self.handled.send(());
  }
}

/// Participants that are built from now on can be fed.
pub fn enable() {
  ENABLED.store(true, Ordering::Relaxed);
}

/// Gives these datagrams to the participant as if they had come from the network, and waits until they have been
/// handled. False if its event loop has ended.
pub fn feed(participant: &DomainParticipant, datagrams: Vec<Bytes>) -> bool {
  let feeders = FEEDERS.lock().unwrap_or_else(PoisonError::into_inner);
  let Some(feeder) = feeders.get(&participant.guid().prefix) else {
    return false;
  };
  if feeder.datagrams.send(datagrams).is_err() {
    return false;
  }
  feeder.waker.wake();
  feeder.handled.recv().is_ok()
}

/// What happens to datagrams between the socket and whoever reads it, in all participants
/// of the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disturbance {
  /// Of a hundred datagrams so many get lost.
  pub lost: u64,
  /// So many come twice, the second time after others.
  pub doubled: u64,
  /// So many come after others that were sent later.
  pub late: u64,
}

static DISTURBED: AtomicBool = AtomicBool::new(false);
static DISTURBANCE: Mutex<Disturbance> = Mutex::new(Disturbance { lost: 0, doubled: 0, late: 0 });
static RANDOM: AtomicU64 = AtomicU64::new(0x2545_f491_4f6c_dd1d);

/// From now on this happens to all datagrams that are received.
pub fn disturb(disturbance: Disturbance) {
  *DISTURBANCE.lock().unwrap_or_else(PoisonError::into_inner) = disturbance;
  DISTURBED.store(true, Ordering::Relaxed);
}

fn happens(percent: u64) -> bool {
  let step = |mut x: u64| {
    x ^= x << 13;
    x ^= x >> 7;
    x ^ (x << 17)
  };
  let before = RANDOM.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |x| Some(step(x)));
  step(before.unwrap_or(1)) % 100 < percent
}

struct Kept {
  datagram: (Bytes, PacketOrigin),
  // Its first copy has come in time.
  is_double: bool,
}

thread_local! {
  // Most datagrams come alone, so that these wait for the next that is read. By thread, because most often that is
  // by participant: whoever drives two of them must not do so on one thread.
  static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}
static REORDERED: AtomicU64 = AtomicU64::new(0);

/// How many datagrams have come after another that their sender has sent later.
pub fn reordered() -> u64 {
  REORDERED.load(Ordering::Relaxed)
}

pub(crate) fn disturb_these(datagrams: &mut Vec<(Bytes, PacketOrigin)>) {
  if DISTURBED.load(Ordering::Relaxed) {
    let Disturbance { lost, doubled, late } = *DISTURBANCE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut kept = Vec::new();
    datagrams.retain(|datagram| {
      if happens(lost) {
        return false;
      }
      let is_late = happens(late);
      if is_late || happens(doubled) {
        kept.push(Kept { datagram: datagram.clone(), is_double: !is_late });
      }
      !is_late
    });
    if datagrams.is_empty() {
      // Nobody has overtaken those that wait.
      KEPT.with_borrow_mut(|waiting| waiting.append(&mut kept));
      return;
    }
    let sender = |datagram: &(Bytes, PacketOrigin)| datagram.0.get(8..20).map(GuidPrefix::new);
    let in_time = datagrams.len();
    for Kept { datagram, is_double } in KEPT.replace(kept) {
      let is_overtaken = datagrams[..in_time].iter().any(|other| sender(other) == sender(&datagram));
      if is_overtaken && !is_double {
        REORDERED.fetch_add(1, Ordering::Relaxed);
      }
      datagrams.push(datagram);
    }
  }
}

#[cfg(feature = "security")]
static IMPOSTORS: Mutex<BTreeMap<GUID, GUID>> = Mutex::new(BTreeMap::new());

/// When this endpoint goes, its participant says under protection that the other one went.
#[cfg(feature = "security")]
pub fn dispose_in_the_name_of(endpoint: GUID, other: GUID) {
  IMPOSTORS.lock().unwrap_or_else(PoisonError::into_inner).insert(endpoint, other);
}

#[cfg(feature = "security")]
pub(crate) fn disposed_as(endpoint: GUID) -> GUID {
  let impostors = IMPOSTORS.lock().unwrap_or_else(PoisonError::into_inner);
  impostors.get(&endpoint).copied().unwrap_or(endpoint)
}
