//! Datagrams without a network, for tests that need millions of them.

use std::{
  collections::BTreeMap,
  net::{Ipv4Addr, SocketAddr},
  sync::{
    atomic::{AtomicBool, Ordering},
    mpsc, Mutex, PoisonError,
  },
};

use bytes::Bytes;

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
