//! Counting what went wrong, and saying so without flooding the log.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// What happened to the samples of a subscription or the requests of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Delivered to the callback.
    pub received: u64,
    /// Bytes that are not a value of the type.
    pub undecodable: u64,
    /// From a writer that announced another type.
    pub wrong_type: u64,
    /// Gaps in the writers' sequence numbers.
    pub lost: u64,
    /// Replies that were dropped: their asker had no reader for them, or did not read.
    pub unanswered: u64,
}

/// At most one complaint per period.
#[derive(Debug, Default)]
pub(crate) struct RateLimit {
    last: Cell<Option<Instant>>,
}

impl RateLimit {
    const PERIOD: Duration = Duration::from_secs(5);

    pub(crate) fn may_speak(&self) -> bool {
        let now = Instant::now();
        let may = self.last.get().is_none_or(|last| now.duration_since(last) >= Self::PERIOD);
        if may {
            self.last.set(Some(now));
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_one_complaint() {
        let limit = RateLimit::default();
        assert_eq!((0..1000).filter(|_| limit.may_speak()).count(), 1);
    }
}
