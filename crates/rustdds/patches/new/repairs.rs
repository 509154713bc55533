//! What it takes that reliable samples arrive.

use std::sync::{
  atomic::{AtomicU64, Ordering},
  Arc,
};

/// Counted since a participant was made, of all endpoints of the application
/// together: what discovery repeats, and what late joiners get, is left out.
#[derive(Clone, Debug, Default)]
pub struct Repairs(Arc<[AtomicU64; 2]>);

impl Repairs {
  /// Samples, and fragments of samples, that were sent to a reader once more
  /// because it asked for them.
  pub fn sent_again(&self) -> u64 {
    self.0[0].load(Ordering::Relaxed)
  }

  /// Samples that a reader asked for because they had not come; each time.
  pub fn asked(&self) -> u64 {
    self.0[1].load(Ordering::Relaxed)
  }

  pub(crate) fn count_sent_again(&self) {
    self.0[0].fetch_add(1, Ordering::Relaxed);
  }

  pub(crate) fn count_asked(&self, samples: usize) {
    self.0[1].fetch_add(samples as u64, Ordering::Relaxed);
  }
}
