//! How fast large samples go out.
//!
//! A receive socket holds some 200 kB by default, and nobody tells the sender that
//! it is full: what is sent faster than the peer's process gets to run is lost, and
//! has to be asked for and sent once more. So the participant sends the fragments of
//! its large samples, and their repairs, in small portions. The portion shrinks when
//! fragments are asked for again, and grows while none are: by a share of itself until
//! that happens for the first time, then by and by.

use std::time::{Duration, Instant};

/// Larger datagrams than this are counted.
pub(crate) const SMALL: usize = 8 * 1024;

const INTERVAL: Duration = Duration::from_millis(1);
const SMALLEST_PORTION: usize = 32 * 1024;
const FIRST_PORTION: usize = 128 * 1024;
/// More than a socket holds: a peer that runs meanwhile takes it.
const LARGEST_PORTION: usize = 1024 * 1024;
/// What the portion grows by with each one that is sent.
const GROWTH: usize = 512;
/// That part of it instead, while nothing has been lost.
const FIRST_GROWTH: usize = 16;
/// Requests within this time are about the same loss.
const REACTION_TIME: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct Pacer {
  portion: usize,
  left: usize,
  refilled: Instant,
  shrunk: Instant,
  has_lost: bool,
}

impl Default for Pacer {
  fn default() -> Self {
    let now = Instant::now();
    Self {
      portion: FIRST_PORTION,
      left: FIRST_PORTION,
      refilled: now,
      shrunk: now,
      has_lost: false,
    }
  }
}

impl Pacer {
  /// Whether a datagram of that size may go out now; otherwise how long to wait.
  pub fn admit(&mut self, bytes: usize, now: Instant) -> Result<(), Duration> {
    let since = now.saturating_duration_since(self.refilled);
    if since >= INTERVAL {
      if self.left < self.portion {
        let growth = if self.has_lost { GROWTH } else { self.portion / FIRST_GROWTH };
        self.portion = (self.portion + growth).min(LARGEST_PORTION);
      }
      self.left = self.portion;
      self.refilled = now;
    }
    // A datagram goes out with whatever is left, so that one of any size passes.
    if self.left == 0 {
      return Err(INTERVAL.saturating_sub(now.saturating_duration_since(self.refilled)));
    }
    self.left = self.left.saturating_sub(bytes);
    Ok(())
  }

  /// Fragments were asked for that had been sent.
  pub fn lost(&mut self, now: Instant) {
    self.has_lost = true;
    if now.saturating_duration_since(self.shrunk) >= REACTION_TIME {
      self.shrunk = now;
      self.portion = (self.portion * 3 / 4).max(SMALLEST_PORTION);
      self.left = self.left.min(self.portion);
    }
  }
}
