//! Whether the two threads of a participant still turn.

use std::{
  sync::{
    atomic::{AtomicU64, AtomicU8, Ordering},
    Arc,
  },
  time::{Duration, Instant},
};

/// The life of one thread: both turn at least every five seconds while they are well.
#[derive(Clone, Debug)]
pub struct Liveness(Arc<Inner>);

#[derive(Debug)]
struct Inner {
  made: Instant,
  /// Milliseconds after `made`.
  last_turn: AtomicU64,
  fault: AtomicU8,
}

/// What a test does to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
  Panic = 1,
  Hang = 2,
}

impl Default for Liveness {
  fn default() -> Self {
    Self(Arc::new(Inner {
      made: Instant::now(),
      last_turn: AtomicU64::new(0),
      fault: AtomicU8::new(0),
    }))
  }
}

impl Liveness {
  pub(crate) fn turn(&self) {
    self.turn_at(Instant::now());
  }

  pub(crate) fn turn_at(&self, now: Instant) {
    let now = now.saturating_duration_since(self.0.made).as_millis();
    self.0.last_turn.store(u64::try_from(now).unwrap_or(u64::MAX), Ordering::Relaxed);
    if cfg!(debug_assertions) {
      match self.0.fault.load(Ordering::Relaxed) {
        0 => {}
        1 => panic!("a test asked this thread to panic"),
        _ => loop {
          std::thread::park();
        },
      }
    }
  }

  /// How long ago the thread turned last.
  pub fn idle(&self) -> Duration {
    let last_turn = Duration::from_millis(self.0.last_turn.load(Ordering::Relaxed));
    self.0.made.elapsed().saturating_sub(last_turn)
  }

  /// For tests of what happens then: the thread fails when it turns next. Only
  /// builds with debug assertions obey.
  pub fn inject(&self, fault: Fault) {
    self.0.fault.store(fault as u8, Ordering::Relaxed);
  }
}
