//! The clock of a system's machine, by the time stamps that DDS puts on whatever it publishes.
//!
//! A sample was stamped before it came: that bounds its clock on one side. The answer to a question was also stamped
//! after the question went out: that bounds it on both. All of them must hold at once, so their intersection does.

use std::time::Duration;

use rosless_engine::{Now, Wall};

use super::{Bounds, Learned, Offset};

/// Older knowledge does not vouch for a stamp made now: the clock may have been set.
const FRESH: Duration = Duration::from_secs(3);

/// What is known of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineClock {
    known: Option<Bounds>,
    /// It comes from a sample that may be old, and the clock may have been set since.
    doubtful: bool,
}

impl MachineClock {
    pub(super) fn known(&self) -> Option<Bounds> {
        self.known
    }

    /// How far ahead it is, if it was heard of just now.
    pub fn fresh_offset(&self, now: Duration) -> Option<Offset> {
        self.known.filter(|known| now.saturating_sub(known.at) < FRESH)?.widened(now).offset()
    }

    /// Takes the stamp of an answer to what was sent then.
    pub fn replied(&mut self, sent: Duration, received: Now, stamp: Wall) -> Learned {
        self.learn(Bounds::between(sent, received, stamp))
    }

    /// Takes the stamp of a sample that was written lately.
    pub fn heard(&mut self, received: Now, stamp: Wall) -> Learned {
        self.learn(Bounds::before(received, stamp))
    }

    /// Takes the stamp of a sample that was kept for late joiners, for want of a better one.
    pub fn latched(&mut self, received: Now, stamp: Wall) {
        if self.known.is_none() {
            self.known = Some(Bounds::before(received, stamp));
            self.doubtful = true;
        }
    }

    fn learn(&mut self, new: Bounds) -> Learned {
        let doubtful = std::mem::take(&mut self.doubtful);
        let Some(old) = self.known.filter(|_| !doubtful) else {
            self.known = Some(new);
            return Learned::Agrees;
        };
        match old.narrowed(new) {
            Some(both) => {
                self.known = Some(both);
                Learned::Agrees
            }
            None => {
                self.known = Some(new);
                old.step_to(new)
            }
        }
    }
}
