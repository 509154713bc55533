//! Counting what went wrong, and saying so without flooding the log.

use std::{
    cell::Cell,
    fmt,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

/// What happened to the samples of a subscription or the requests of a service, or to all of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Of a process: samples, or fragments of them, that were sent once more because a subscriber asked for them.
    #[serde(default)]
    pub sent_again: u64,
    /// Of a process: samples that it asked for because they had not come; each time that it asked.
    #[serde(default)]
    pub asked_again: u64,
}

impl Counters {
    /// Whether all that came could be used, and all that was asked was answered; however often it was said.
    pub fn is_clean(&self) -> bool {
        let Self { received, sent_again, asked_again, .. } = *self;
        *self == Self { received, sent_again, asked_again, ..Self::default() }
    }

    /// Whether more than one of a hundred samples had to be asked for.
    pub fn is_laboured(&self) -> bool {
        self.asked_again > 10 + self.received / 100
    }

    pub(crate) fn to_numbers(self) -> [u64; 7] {
        let Self { received, undecodable, wrong_type, lost, unanswered, sent_again, asked_again } = self;
        [received, undecodable, wrong_type, lost, unanswered, sent_again, asked_again]
    }

    pub(crate) fn from_numbers(numbers: [u64; 7]) -> Self {
        let [received, undecodable, wrong_type, lost, unanswered, sent_again, asked_again] = numbers;
        Self { received, undecodable, wrong_type, lost, unanswered, sent_again, asked_again }
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} samples received", self.received)?;
        let faults = [
            (self.lost, "lost"),
            (self.undecodable, "not decodable"),
            (self.wrong_type, "of another type"),
            (self.unanswered, "replies dropped"),
            (self.sent_again, "sent again"),
            (self.asked_again, "asked for again"),
        ];
        faults
            .iter()
            .filter(|(count, _)| *count > 0)
            .try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

/// Lets a burst pass, and then one per interval: what strangers cause must fill neither logs nor disks.
#[derive(Debug)]
pub struct Throttle {
    interval: Duration,
    burst: u32,
    /// When it would be done if one passed per interval.
    busy_until: Cell<Option<Instant>>,
    left_out: Cell<u64>,
}

impl Default for Throttle {
    /// One complaint every five seconds.
    fn default() -> Self {
        Self::new(Duration::from_secs(5), 1)
    }
}

impl Throttle {
    /// `burst` at once, then one per `interval`.
    pub fn new(interval: Duration, burst: u32) -> Self {
        Self { interval, burst, busy_until: Cell::new(None), left_out: Cell::new(0) }
    }

    /// Whether one may pass at `now`, with how many were left out since the last one.
    pub fn admit(&self, now: Instant) -> Option<u64> {
        let busy_until = self.busy_until.get().map_or(now, |until| until.max(now));
        if busy_until.duration_since(now) > self.interval * (self.burst - 1) {
            self.left_out.set(self.left_out.get() + 1);
            return None;
        }
        self.busy_until.set(Some(busy_until + self.interval));
        Some(self.left_out.take())
    }

    /// Whether one may pass now.
    pub fn may_speak(&self) -> bool {
        self.admit(Instant::now()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_one_complaint() {
        let limit = Throttle::default();
        assert_eq!((0..1000).filter(|_| limit.may_speak()).count(), 1);
    }

    #[test]
    fn a_burst_passes_and_what_follows_is_cut_and_counted() {
        let start = Instant::now();
        let limit = Throttle::new(Duration::from_millis(50), 200);
        // 20 000 goals a second.
        let flood = (0..20_000).filter_map(|i| limit.admit(start + Duration::from_micros(50 * i)));
        let (shown, told) = flood.fold((0, 0), |(shown, told), left_out| (shown + 1, told + left_out));
        assert!((200..=222).contains(&shown), "{shown}");
        let later = start + Duration::from_secs(60);
        assert_eq!(limit.admit(later).map(|left_out| shown + told + left_out), Some(20_000));
        assert_eq!(limit.admit(later), Some(0));
    }
}
