//! How far a system's clock is from ours, from the only stamp the wire gives: the one in its ACK.
//!
//! The system stamps its ACK somewhere between our sending and our receiving. So `remote − local` lies between
//! `stamp − received` and `stamp − sent`: the midpoint is Cristian's estimate, half the round trip its uncertainty.
//! Every further ACK gives another such interval; they must all contain the truth, so their intersection does too and
//! is never wider than the shortest round trip allows. An empty intersection means that a clock was set meanwhile.

use std::time::Duration;

use crate::time::{Now, Wall};

/// Quartz clocks part at some ten parts per million; older knowledge is widened by this much per elapsed time.
const DRIFT_PPM: u128 = 100;
const MILLI: i64 = 1_000_000;

/// An offset `remote − local` in nanoseconds: positive when the system's clock is ahead of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    pub nanos: i64,
    /// The truth lies within `nanos ± uncertainty`.
    pub uncertainty: i64,
}

/// How seriously a deviation is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// Under 1 ms, or not distinguishable from zero.
    Good,
    /// From 1 ms.
    Deviating,
    /// From 200 ms.
    Wrong,
}

impl Band {
    /// The originals' bands, on the absolute value so that clocks ahead count like clocks behind.
    pub fn of(nanos: i64) -> Self {
        match nanos.unsigned_abs() {
            n if n < MILLI.unsigned_abs() => Self::Good,
            n if n < (200 * MILLI).unsigned_abs() => Self::Deviating,
            _ => Self::Wrong,
        }
    }
}

impl Offset {
    /// A slow activation makes the estimate coarse, not the clock wrong: what may be zero is not reported as deviating.
    pub fn band(self) -> Band {
        if self.nanos.saturating_abs() <= self.uncertainty { Band::Good } else { Band::of(self.nanos) }
    }
}

impl std::fmt::Display for Offset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = |nanos: i64| nanos as f64 / MILLI as f64;
        write!(f, "{:+.3} ms ± {:.3} ms", ms(self.nanos), ms(self.uncertainty))
    }
}

/// What a new ACK did to the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// It agrees with what was known.
    Agrees,
    /// It contradicts what was known: one of the two clocks was set by about this many nanoseconds.
    Stepped(i64),
}

/// The running estimate for one system.
#[derive(Clone, Debug, Default)]
pub struct ClockEstimate {
    /// Bounds on the offset and when they held.
    known: Option<(i64, i64, Duration)>,
}

impl ClockEstimate {
    /// Adds an ACK stamped `stamp` that answers something sent not before `sent` and was received at `received`.
    pub fn add(&mut self, sent: Duration, received: Now, stamp: Wall) -> Learned {
        // Our own clock may be set while we wait, so the time of sending is reckoned back on the monotonic one.
        let round_trip = nanos(received.mono.saturating_sub(sent));
        let low = stamp.since(received.wall);
        let high = low.saturating_add(round_trip);
        let old = self.known;
        self.known = Some((low, high, received.mono));
        let Some((old_low, old_high, at)) = old else { return Learned::Agrees };
        let drift = nanos(received.mono.saturating_sub(at)) as u128 * DRIFT_PPM / 1_000_000;
        let drift = i64::try_from(drift).unwrap_or(i64::MAX);
        let both = (low.max(old_low.saturating_sub(drift)), high.min(old_high.saturating_add(drift)));
        if both.0 > both.1 {
            let gap =
                if low > old_high { low.saturating_sub(old_high) } else { high.saturating_sub(old_low) };
            return Learned::Stepped(gap);
        }
        self.known = Some((both.0, both.1, received.mono));
        Learned::Agrees
    }

    /// The best estimate so far.
    pub fn offset(&self) -> Option<Offset> {
        let (low, high, _) = self.known?;
        let uncertainty = high.saturating_sub(low) / 2;
        Some(Offset { nanos: low.saturating_add(uncertainty), uncertainty })
    }

    /// Forgets everything, for a system that was started anew, perhaps on another machine.
    pub fn reset(&mut self) {
        self.known = None;
    }
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn ms(n: i64) -> i64 {
        n * MILLI
    }

    fn at(mono_ms: i64, wall_ms: i64) -> Now {
        Now { mono: Duration::from_millis(mono_ms as u64), wall: Wall(ms(wall_ms)) }
    }

    #[test]
    fn midpoint_and_half_the_round_trip() {
        let mut clock = ClockEstimate::default();
        // Sent at 100, received at 110 of our clock; the system stamped 1605 halfway: it is 1500 ms ahead.
        clock.add(Duration::from_millis(100), at(110, 110), Wall(ms(1605)));
        assert_eq!(clock.offset(), Some(Offset { nanos: ms(1500), uncertainty: ms(5) }));
    }

    #[test]
    fn a_short_round_trip_narrows_and_a_long_one_does_not_widen() {
        let mut clock = ClockEstimate::default();
        clock.add(Duration::from_millis(0), at(2000, 2000), Wall(ms(1990)));
        assert_eq!(clock.offset().unwrap().uncertainty, ms(1000));
        clock.add(Duration::from_millis(3000), at(3002, 3002), Wall(ms(3001)));
        let narrow = clock.offset().unwrap();
        assert_eq!(narrow, Offset { nanos: 0, uncertainty: ms(1) });
        clock.add(Duration::from_millis(4000), at(6000, 6000), Wall(ms(5000)));
        let after = clock.offset().unwrap();
        assert!(after.uncertainty < ms(2) && after.nanos.abs() < ms(1), "{after}");
    }

    #[test]
    fn bands_hold_for_both_signs() {
        for (offset, band) in [(0, Band::Good), (999_999, Band::Good), (MILLI, Band::Deviating)] {
            assert_eq!((Band::of(offset), Band::of(-offset)), (band, band));
        }
        for (offset, band) in [(ms(200) - 1, Band::Deviating), (ms(200), Band::Wrong), (ms(500), Band::Wrong)]
        {
            assert_eq!((Band::of(offset), Band::of(-offset)), (band, band));
        }
        assert_eq!(Band::of(i64::MIN), Band::Wrong);
    }

    #[test]
    fn a_slow_activation_is_not_a_wrong_clock() {
        let mut clock = ClockEstimate::default();
        clock.add(Duration::ZERO, at(3000, 3000), Wall(ms(2999)));
        let offset = clock.offset().unwrap();
        assert!(offset.nanos > ms(1400), "the midpoint alone looks wrong: {offset}");
        assert_eq!(offset.band(), Band::Good);
    }

    #[test]
    fn a_clock_that_was_set_is_noticed_and_followed() {
        let mut clock = ClockEstimate::default();
        clock.add(Duration::from_millis(0), at(2, 2), Wall(ms(1)));
        // The remote clock jumps 5 s back.
        let learned = clock.add(Duration::from_millis(1000), at(1002, 1002), Wall(ms(1001 - 5000)));
        assert!(matches!(learned, Learned::Stepped(by) if (by + ms(5000)).abs() < ms(3)), "{learned:?}");
        assert_eq!(clock.offset().unwrap().nanos, ms(-5000));
        // Our own clock jumps an hour forward between sending and receiving.
        let hour = 3_600_000;
        let learned = clock.add(Duration::from_millis(2000), at(2002, 2002 + hour), Wall(ms(2001 - 5000)));
        assert!(matches!(learned, Learned::Stepped(by) if by < 0));
        assert_eq!(clock.offset().unwrap(), Offset { nanos: ms(-5000 - hour), uncertainty: ms(1) });
    }

    proptest! {
        #[test]
        fn the_truth_is_always_inside(
            offset in -ms(10_000)..ms(10_000),
            trips in prop::collection::vec((0..ms(500), 0..ms(500), 1..ms(5000)), 1..30),
        ) {
            let mut clock = ClockEstimate::default();
            let (mut now, mut shortest) = (ms(1_000_000), i64::MAX);
            for (there, back, pause) in trips {
                let sent = Duration::from_nanos(now as u64);
                let stamp = Wall(now + there + offset);
                now += there + back;
                let received = Now { mono: Duration::from_nanos(now as u64), wall: Wall(now) };
                prop_assert_eq!(clock.add(sent, received, stamp), Learned::Agrees);
                shortest = shortest.min(there + back);
                let got = clock.offset().unwrap();
                // One nanosecond for the halves.
                prop_assert!((got.nanos - offset).abs() <= got.uncertainty + 1, "{got:?} is not around {offset}");
                prop_assert!(got.uncertainty <= shortest / 2 + ms(20));
                now += pause;
            }
        }

        #[test]
        fn hostile_stamps_never_panic(stamps in prop::collection::vec(any::<(i64, i64, u64)>(), 1..20)) {
            let mut clock = ClockEstimate::default();
            for (stamp, wall, mono) in stamps {
                let received = Now { mono: Duration::from_nanos(mono), wall: Wall(wall) };
                clock.add(Duration::from_nanos(mono / 2), received, Wall(stamp));
                prop_assert!(clock.offset().is_some_and(|o| o.band() >= Band::Good));
            }
        }
    }
}
