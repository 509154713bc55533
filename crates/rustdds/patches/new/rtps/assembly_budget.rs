//! How much memory fragments that wait for the rest of their sample may take: so much per remote participant, and so
//! much in the whole process.

use std::{
  collections::BTreeMap,
  sync::{
    atomic::{AtomicUsize, Ordering},
    Mutex, MutexGuard, PoisonError,
  },
};

use crate::structure::guid::GuidPrefix;

static PER_PARTICIPANT: AtomicUsize = AtomicUsize::new(128 * 1024 * 1024);
static PER_PROCESS: AtomicUsize = AtomicUsize::new(256 * 1024 * 1024);
static LEDGER: Mutex<Ledger> = Mutex::new(Ledger {
  total: 0,
  by_participant: BTreeMap::new(),
});

#[derive(Debug)]
struct Ledger {
  total: usize,
  by_participant: BTreeMap<GuidPrefix, usize>,
}

fn ledger() -> MutexGuard<'static, Ledger> {
  // Numbers are never half written, so a panic elsewhere leaves them as good as they were.
  LEDGER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets both limits, in bytes. The last call in the process counts.
pub(crate) fn set_limits(per_participant: usize, per_process: usize) {
  PER_PARTICIPANT.store(per_participant, Ordering::Relaxed);
  PER_PROCESS.store(per_process, Ordering::Relaxed);
}

/// Bytes that are spoken for, until this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
  participant: GuidPrefix,
  bytes: usize,
}

impl Reservation {
  /// None if the participant, or all of them together, would have too much.
  pub fn new(participant: GuidPrefix, bytes: usize) -> Option<Self> {
    let mut ledger = ledger();
    let of_participant = ledger.by_participant.get(&participant).copied().unwrap_or(0);
    if of_participant + bytes > PER_PARTICIPANT.load(Ordering::Relaxed)
      || ledger.total + bytes > PER_PROCESS.load(Ordering::Relaxed)
    {
      return None;
    }
    ledger.total += bytes;
    ledger.by_participant.insert(participant, of_participant + bytes);
    Some(Self { participant, bytes })
  }
}

impl Drop for Reservation {
  fn drop(&mut self) {
    let mut ledger = ledger();
    ledger.total -= self.bytes;
    if let Some(of_participant) = ledger.by_participant.get_mut(&self.participant) {
      *of_participant -= self.bytes;
      if *of_participant == 0 {
        ledger.by_participant.remove(&self.participant);
      }
    }
  }
}
