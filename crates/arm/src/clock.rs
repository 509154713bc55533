//! The arm's clock: all times on the wire count from the arm's start, so that float32 can hold them.

use std::time::Duration;

/// The arm's start (seconds since the Unix epoch) taken apart as its service tells it: years of 12 months of 30 days.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct InitTime {
    /// Years of 360 days.
    pub year: i32,
    /// Months of 30 days, from 0.
    pub month: i32,
    /// Days, from 0.
    pub day: i32,
    /// Hours.
    pub hour: i32,
    /// Minutes.
    pub minute: i32,
    /// Whole seconds.
    pub second: i32,
    /// The fraction of a second.
    pub lower: f32,
}

const UNITS: [u64; 6] = [12 * 30 * 86_400, 30 * 86_400, 86_400, 3600, 60, 1];

impl InitTime {
    /// Takes a time since the Unix epoch apart.
    pub fn new(start: Duration) -> Self {
        let mut rest = start.as_secs();
        let [year, month, day, hour, minute, second] = UNITS.map(|unit| {
            let count = rest / unit;
            rest %= unit;
            i32::try_from(count).unwrap_or(i32::MAX)
        });
        let lower = f64::from(start.subsec_nanos()) / 1e9;
        Self { year, month, day, hour, minute, second, lower: lower as f32 }
    }

    /// The time since the Unix epoch, or `None` for values no clock gives. The fraction may be negative: the original
    /// rounds up.
    pub fn start(&self) -> Option<Duration> {
        let Self { year, month, day, hour, minute, second, lower } = *self;
        let whole: i64 = [year, month, day, hour, minute, second]
            .into_iter()
            .zip(UNITS)
            .map(|(count, unit)| i64::from(count) * unit as i64)
            .sum();
        if !(-1.0..=1.0).contains(&lower) {
            return None;
        }
        let nanos = i128::from(whole) * 1_000_000_000 + (f64::from(lower) * 1e9) as i128;
        u64::try_from(nanos).ok().map(Duration::from_nanos)
    }
}

/// A process's idea of the arm's clock, kept on its own monotonic clock: steps of the wall clock do not move it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ArmClock {
    /// Arm time minus monotonic time, seconds, once known.
    offset: Option<f64>,
}

/// What a new answer about the arm's start meant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClockNews {
    /// The first answer.
    Found,
    /// As before.
    Same,
    /// Another arm, or the same one started again.
    Restarted,
}

/// Wall clock and network together wander less than this between two answers.
const TOLERANCE: f64 = 0.25;

impl ArmClock {
    /// Takes the arm's start, as told at the instant that is `wall` (since the Unix epoch) and `monotonic` here.
    pub fn learn(&mut self, start: Duration, wall: Duration, monotonic: Duration) -> ClockNews {
        let age = if wall >= start { (wall - start).as_secs_f64() } else { -(start - wall).as_secs_f64() };
        let offset = age - monotonic.as_secs_f64();
        match self.offset.replace(offset) {
            None => ClockNews::Found,
            Some(old) if (old - offset).abs() < TOLERANCE => ClockNews::Same,
            Some(_) => ClockNews::Restarted,
        }
    }

    /// Has the arm said when it started?
    pub fn is_known(&self) -> bool {
        self.offset.is_some()
    }

    /// Arm time at `monotonic` in seconds, negative before the arm's start.
    pub fn seconds(&self, monotonic: Duration) -> f64 {
        monotonic.as_secs_f64() + self.offset.unwrap_or(0.0)
    }

    /// Arm time at `monotonic`; before the arm is known, simply `monotonic`.
    pub fn now(&self, monotonic: Duration) -> Duration {
        Duration::from_secs_f64(self.seconds(monotonic).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_parts_have_the_documented_weights() {
        let parts =
            InitTime::new(Duration::from_millis(31_104_000_000 + 2_592_000_000 + 86_400_000 + 3_661_500));
        assert_eq!((parts.year, parts.month, parts.day), (1, 1, 1));
        assert_eq!((parts.hour, parts.minute, parts.second, parts.lower), (1, 1, 1, 0.5));
    }

    #[test]
    fn a_rounded_up_second_with_negative_fraction_is_understood() {
        let parts = InitTime { second: 11, lower: -0.25, ..Default::default() };
        assert_eq!(parts.start(), Some(Duration::from_millis(10_750)));
        assert_eq!(InitTime { lower: f32::NAN, ..parts }.start(), None);
        assert_eq!(InitTime { year: -1, ..parts }.start(), None);
    }

    proptest! {
        #[test]
        fn put_together_again_it_is_the_start(nanos in 0u64..4_000_000_000_000_000_000) {
            let start = Duration::from_nanos(nanos);
            let back = InitTime::new(start).start().unwrap();
            prop_assert!(back.abs_diff(start) < Duration::from_micros(1));
        }

        #[test]
        fn wrong_answers_do_not_panic(parts in prop::array::uniform6(any::<i32>()), lower in any::<f32>()) {
            let [year, month, day, hour, minute, second] = parts;
            let _ = InitTime { year, month, day, hour, minute, second, lower }.start();
        }
    }

    #[test]
    fn arm_time_follows_the_monotonic_clock() {
        let mut clock = ArmClock::default();
        let at = Duration::from_secs;
        assert_eq!(clock.now(at(7)), at(7));
        assert_eq!(clock.learn(at(1000), at(1030), at(10)), ClockNews::Found);
        assert_eq!(clock.now(at(12)), at(32));
        assert_eq!(clock.learn(at(1000), at(1032), at(12)), ClockNews::Same);
        assert_eq!(clock.learn(at(1040), at(1041), at(21)), ClockNews::Restarted);
        assert_eq!(clock.now(at(22)), at(2));
    }
}
