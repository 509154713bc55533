//! Announcements that say nothing new.
//!
//! Participants announce themselves again and again, so that others know that they live. Whoever looked at each of them as
//! if it were the first would have more to do with every participant that is there, while nothing happens.

use std::{
    hash::{BuildHasher, Hash, RandomState},
    time::{Duration, Instant},
};

/// What is new is looked at again for so long: what came of it the first time may have been refused.
const NEWS: Duration = Duration::from_secs(1);

/// What a participant announced last, and how it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    hash: u64,
    since: Instant,
    looked_at: Instant,
}

/// Tells what was said before. Nobody knows the hash's key, so nobody can invent something else that looks the same.
#[derive(Debug, Default)]
pub(crate) struct Repetitions {
    key: RandomState,
}

impl Repetitions {
    /// Whether this was announced before, and looked at for long enough; if not, it is taken as looked at now.
    pub fn is_repeated(&self, last: &mut Option<Announced>, said: impl Hash, now: Instant) -> bool {
        let hash = self.key.hash_one(said);
        match last {
            Some(same) if same.hash == hash => {
                let is_old = same.looked_at.duration_since(same.since) >= NEWS;
                if !is_old {
                    same.looked_at = now;
                }
                is_old
            }
            _ => {
                *last = Some(Announced { hash, since: now, looked_at: now });
                false
            }
        }
    }
}
