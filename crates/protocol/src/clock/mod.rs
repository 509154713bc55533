//! How far a system's clock is from ours.
//!
//! Two kinds of stamps tell of it. [`stamps`]: the one in an acknowledgement, made by the clock that also stamps the
//! system's data (ROS time). [`machine`]: the one that DDS puts on every sample, made by the clock of the machine: in
//! answers about the lifecycle state, in log lines, in data. Where time is not simulated the two are one clock, and
//! [`Clocks`] intersects what is known of both; where they contradict each other it says how far they are apart.

pub mod machine;
pub mod stamps;

use std::time::Duration;

pub use machine::MachineClock;
use rosless_engine::{Now, Wall};
pub use stamps::ClockEstimate;

/// Quartz clocks part at some ten parts per million; older knowledge is widened by this much per elapsed time.
const DRIFT_PPM: u128 = 100;
const MILLI: i64 = 1_000_000;
/// Less than this is a clock that is being slewed faster than clocks drift, not one that was set.
const STEP: i64 = MILLI;

/// An offset `remote − local` in nanoseconds: positive when the system's clock is ahead of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The middle of what is possible.
    pub nanos: i64,
    /// The truth lies within `nanos ± uncertainty`.
    pub uncertainty: i64,
}

/// How seriously a deviation is to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// Under 1 ms, or perhaps so.
    #[default]
    Good,
    /// Certainly 1 ms or more.
    Deviating,
    /// Certainly 200 ms or more.
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

    /// One word for tables and scripts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Deviating => "deviating",
            Self::Wrong => "wrong",
        }
    }
}

impl Offset {
    /// By the whole interval: a slow activation makes the estimate coarse, not the clock wrong. Only what is certain counts.
    pub fn band(self) -> Band {
        Band::of(self.nanos.saturating_abs().saturating_sub(self.uncertainty).max(0))
    }

    /// The band in which it certainly is; `None` when it cannot be told which of two.
    pub fn certain_band(self) -> Option<Band> {
        let farthest = Band::of(self.nanos.saturating_abs().saturating_add(self.uncertainty));
        (self.band() == farthest).then_some(farthest)
    }
}

impl std::fmt::Display for Offset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = |nanos: i64| nanos as f64 / MILLI as f64;
        write!(f, "{:+.3} ms ± {:.3} ms", ms(self.nanos), ms(self.uncertainty))
    }
}

/// What a new stamp did to the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// It agrees with what was known.
    Agrees,
    /// It contradicts what was known: one of the two clocks was set by about this many nanoseconds.
    Stepped(i64),
}

/// Where an offset lies, and when that was so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    low: i64,
    /// `i64::MAX` where nothing is known.
    high: i64,
    at: Duration,
}

impl Bounds {
    /// By a stamp that was made between sending and receiving.
    fn between(sent: Duration, received: Now, stamp: Wall) -> Self {
        // Our own clock may be set while we wait, so the time of sending is reckoned back on the monotonic one.
        let round_trip = nanos(received.mono.saturating_sub(sent));
        let low = stamp.since(received.wall);
        Self { low, high: low.saturating_add(round_trip), at: received.mono }
    }

    /// By a stamp that was made before it was received: the offset cannot be smaller.
    fn before(received: Now, stamp: Wall) -> Self {
        Self { low: stamp.since(received.wall), high: i64::MAX, at: received.mono }
    }

    /// What is left of them later: clocks drift apart.
    fn widened(self, at: Duration) -> Self {
        let drift = drift(at.saturating_sub(self.at));
        Self {
            low: self.low.saturating_sub(drift),
            high: self.high.saturating_add(drift),
            at: self.at.max(at),
        }
    }

    /// What is left inside `new`; `None` when nothing is.
    fn narrowed(self, new: Self) -> Option<Self> {
        let old = self.widened(new.at);
        let both = Self { low: new.low.max(old.low), high: new.high.min(old.high), at: new.at };
        (both.low <= both.high).then_some(both)
    }

    /// By how much a clock must have been set for both to be true, the older one first.
    fn step_to(self, new: Self) -> Learned {
        let by = if new.low > self.high {
            new.low.saturating_sub(self.high)
        } else {
            new.high.saturating_sub(self.low)
        };
        if by.unsigned_abs() < STEP.unsigned_abs() { Learned::Agrees } else { Learned::Stepped(by) }
    }

    /// `None` when only one side is known.
    fn offset(self) -> Option<Offset> {
        if self.high == i64::MAX {
            return None;
        }
        let uncertainty = self.high.saturating_sub(self.low) / 2;
        Some(Offset { nanos: self.low.saturating_add(uncertainty), uncertainty })
    }
}

/// All that is known of a system's time.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    /// What acknowledgements tell.
    pub stamps: ClockEstimate,
    /// What DDS tells.
    pub machine: MachineClock,
    /// Its stamps are of simulated time.
    simulated: bool,
}

/// What can be said of a system's clock at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// How far the clock is ahead that stamps its data; of its machine's where time is simulated.
    pub offset: Option<Offset>,
    /// It is so many nanoseconds ahead at least; said where no more than that is known.
    pub at_least: Option<i64>,
    /// Its stamps are of simulated time.
    pub simulated: bool,
    /// How far its stamps are ahead of its machine's clock; nothing where they are one clock, as they should be.
    pub apart: Option<Offset>,
}

impl Clocks {
    /// Notes whether a stamp is of simulated time.
    pub fn note_stamp(&mut self, stamp: Wall, now: Wall) -> bool {
        self.simulated = is_simulated(stamp, now);
        self.simulated
    }

    /// Takes the time stamp of a sample that its machine wrote; `sent`: in answer to what we sent then.
    pub fn heard(&mut self, sent: Option<Duration>, received: Now, stamp: Wall) -> Learned {
        if is_simulated(stamp, received.wall) {
            // No time at all.
            return Learned::Agrees;
        }
        let learned = match sent {
            Some(sent) => self.machine.replied(sent, received, stamp),
            None => self.machine.heard(received, stamp),
        };
        if matches!(learned, Learned::Stepped(_)) {
            // Whatever was set, the stamps of before tell nothing of it.
            self.stamps.unlearn();
        }
        learned
    }

    /// What is known now.
    pub fn reading(&self, now: Duration) -> Reading {
        let stamps = self.stamps.known().filter(|_| !self.simulated).map(|known| known.widened(now));
        let machine = self.machine.known().map(|known| known.widened(now));
        let (both, apart) = match (stamps, machine) {
            (Some(stamps), Some(machine)) => match stamps.narrowed(machine) {
                Some(both) => (Some(both), None),
                None => (Some(stamps), stamps.offset().zip(machine.offset())),
            },
            (one, other) => (one.or(other), None),
        };
        let apart = apart.map(|(stamps, machine)| Offset {
            nanos: stamps.nanos.saturating_sub(machine.nanos),
            uncertainty: stamps.uncertainty.saturating_add(machine.uncertainty),
        });
        let offset = both.and_then(Bounds::offset);
        let at_least = both.filter(|_| offset.is_none()).map(|both| both.low);
        Reading { offset, at_least, simulated: self.simulated, apart }
    }

    /// Forgets everything, for a system that was started anew, perhaps on another machine.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

/// By how much two clocks may have parted.
fn drift(elapsed: Duration) -> i64 {
    i64::try_from(elapsed.as_nanos().saturating_mul(DRIFT_PPM) / 1_000_000).unwrap_or(i64::MAX)
}

/// Whether a stamp is of simulated time, which begins near zero, while ours is of this century.
pub fn is_simulated(stamp: Wall, now: Wall) -> bool {
    const YEAR: i64 = 365 * 86_400 * 1_000_000_000;
    stamp.0 < YEAR && now.0 > 30 * YEAR
}

fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Command;

    const fn ms(n: i64) -> i64 {
        n * MILLI
    }

    /// Some day of this century.
    const TODAY: i64 = 1_790_000_000_000;

    fn at(mono_ms: u64) -> Now {
        Now { mono: Duration::from_millis(mono_ms), wall: Wall(ms(TODAY + mono_ms as i64)) }
    }

    fn stamp(millis: i64) -> Wall {
        Wall(ms(TODAY + millis))
    }

    fn sent(millis: u64) -> Option<Duration> {
        Some(Duration::from_millis(millis))
    }

    /// START and its acknowledgement.
    fn acknowledged(clocks: &mut Clocks, asked: u64, received: u64, stamped: Wall) {
        clocks.stamps.asked(Command::Start, Duration::from_millis(asked), true);
        clocks.stamps.answered(Command::Start, at(received), stamped);
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
    fn bands_are_decided_on_the_whole_interval() {
        let offset = |nanos, uncertainty| Offset { nanos: ms(nanos), uncertainty: ms(uncertainty) };
        let band = |nanos, uncertainty| offset(nanos, uncertainty).band();
        assert_eq!(band(250, 200), Band::Deviating, "it may be 50 ms");
        assert_eq!((band(250, 50), band(-250, 50)), (Band::Wrong, Band::Wrong));
        assert_eq!((band(2, 1), band(2, 2), band(-5, 5)), (Band::Deviating, Band::Good, Band::Good));
        assert_eq!(offset(250, 200).certain_band(), None, "it cannot be told");
        assert_eq!((offset(0, 2).certain_band(), offset(-190, 20).certain_band()), (None, None));
        assert_eq!(offset(-250, 40).certain_band(), Some(Band::Wrong));
        assert_eq!(
            (offset(5, 3).certain_band(), offset(0, 0).certain_band()),
            (Some(Band::Deviating), Some(Band::Good))
        );
    }

    #[test]
    fn simulated_time_is_told_from_a_wrong_clock() {
        let now = Wall::from_stamp(1_790_000_000, 0);
        assert!(
            is_simulated(Wall::from_stamp(12, 0), now)
                && !is_simulated(Wall::from_stamp(1_500_000_000, 0), now)
        );
        assert!(!is_simulated(Wall::from_stamp(12, 0), Wall::from_stamp(20, 0)), "we may be simulated, too");
    }

    #[test]
    fn a_state_answer_gives_a_figure_before_any_start() {
        let mut clocks = Clocks::default();
        assert_eq!(clocks.reading(Duration::ZERO), Reading::default());
        // Asked at 100, answered at 104, stamped halfway by a clock that is 300 ms behind.
        assert_eq!(clocks.heard(sent(100), at(104), stamp(102 - 300)), Learned::Agrees);
        let reading = clocks.reading(at(104).mono);
        assert_eq!(reading.offset, Some(Offset { nanos: ms(-300), uncertainty: ms(2) }));
        let later = clocks.reading(at(10_104).mono).offset.unwrap();
        assert_eq!(
            later,
            Offset { nanos: ms(-300), uncertainty: ms(3) },
            "ten seconds later it is less certain"
        );
    }

    #[test]
    fn what_is_published_bounds_one_side_and_narrows_both() {
        let mut clocks = Clocks::default();
        clocks.heard(None, at(100), stamp(90));
        let reading = clocks.reading(at(100).mono);
        assert_eq!((reading.offset, reading.at_least), (None, Some(ms(-10))));
        clocks.heard(sent(200), at(220), stamp(205));
        // Between 15 ms behind and 5 ms ahead; now a sample that was only 1 ms on its way.
        clocks.heard(None, at(300), stamp(299));
        let offset = clocks.reading(at(300).mono).offset.unwrap();
        assert!(offset.nanos - offset.uncertainty >= ms(-1) - 20_000, "{offset}");
        assert!(offset.nanos + offset.uncertainty <= ms(5) + 20_000, "{offset}");
    }

    #[test]
    fn acknowledgements_and_dds_narrow_each_other() {
        let mut clocks = Clocks::default();
        acknowledged(&mut clocks, 0, 2000, stamp(1990 + 7));
        assert_eq!(clocks.reading(at(2000).mono).offset.unwrap().uncertainty, ms(1000));
        clocks.heard(sent(2000), at(2002), stamp(2001 + 7));
        let reading = clocks.reading(at(2002).mono);
        assert_eq!(
            (reading.offset, reading.apart),
            (Some(Offset { nanos: ms(7), uncertainty: ms(1) }), None)
        );
    }

    #[test]
    fn stamps_that_are_not_of_the_machines_clock_are_said_to_be_apart() {
        let mut clocks = Clocks::default();
        clocks.heard(sent(0), at(2), stamp(1));
        acknowledged(&mut clocks, 100, 102, stamp(101 - 300));
        let Reading { offset, apart, .. } = clocks.reading(at(102).mono);
        assert_eq!(
            offset,
            Some(Offset { nanos: ms(-300), uncertainty: ms(1) }),
            "what stamps the data counts"
        );
        assert!((apart.unwrap().nanos + ms(300)).abs() <= apart.unwrap().uncertainty, "{apart:?}");
    }

    #[test]
    fn simulated_time_leaves_the_machines_clock() {
        let mut clocks = Clocks::default();
        clocks.heard(sent(0), at(2), stamp(1 + 40));
        assert!(clocks.note_stamp(Wall::from_stamp(12, 0), at(3).wall));
        let reading = clocks.reading(at(2).mono);
        assert!(reading.simulated);
        assert_eq!(reading.offset, Some(Offset { nanos: ms(40), uncertainty: ms(1) }));
        assert_eq!(
            clocks.heard(None, at(4), Wall(0)),
            Learned::Agrees,
            "no time stamp is no clock that was set"
        );
    }

    #[test]
    fn a_machine_whose_clock_is_set_is_noticed_without_a_start() {
        let mut clocks = Clocks::default();
        acknowledged(&mut clocks, 0, 2, stamp(1));
        clocks.heard(sent(1000), at(1002), stamp(1001));
        let learned = clocks.heard(sent(2000), at(2002), stamp(2001 - 5000));
        assert!(matches!(learned, Learned::Stepped(by) if (by + ms(5000)).abs() < ms(3)), "{learned:?}");
        let Reading { offset, apart, .. } = clocks.reading(at(2002).mono);
        assert_eq!((offset, apart), (Some(Offset { nanos: ms(-5000), uncertainty: ms(1) }), None));
        // A slew is followed without a word.
        let mut clocks = Clocks::default();
        clocks.heard(sent(0), at(0), stamp(0));
        assert_eq!(clocks.heard(sent(1000), at(1000), Wall(stamp(1000).0 + 500_000)), Learned::Agrees);
        assert_eq!(clocks.reading(at(1000).mono).offset, Some(Offset { nanos: 500_000, uncertainty: 0 }));
    }

    #[test]
    fn an_old_sample_is_no_evidence_against_a_new_one() {
        let mut clocks = Clocks::default();
        // Announced when the clock was an hour ahead, which has been set right since.
        clocks.machine.latched(at(0), stamp(3_600_000));
        assert_eq!(clocks.reading(at(0).mono).at_least, Some(ms(3_600_000)));
        assert_eq!(clocks.heard(sent(0), at(2), stamp(1)), Learned::Agrees);
        clocks.machine.latched(at(3), stamp(3_600_000));
        assert_eq!(clocks.reading(at(2).mono).offset, Some(Offset { nanos: 0, uncertainty: ms(1) }));
    }
}
