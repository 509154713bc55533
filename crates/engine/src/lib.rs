//! The contract between an engine and its driver.
//!
//! An engine decides; it has no socket, no clock, no thread. A driver has them and decides nothing. Between the two goes
//! what [`Engine`] says, always in this order:
//!
//! 1. **mutate**: [`Engine::handle`] with what happened, or [`Engine::wake`] because time has passed;
//! 2. **drain**: [`Engine::poll_output`] until it gives nothing, and do each thing in its order;
//! 3. **wait** until something happens, at most until [`Engine::next_deadline`].
//!
//! An engine may be mutated several times before it is drained, and doing an output may mutate it again: then draining goes
//! on. It must be drained before its driver waits. `Handle::drive` of the graph crate does 2 and 3 for any engine, in one
//! place; tests do it by hand:
//!
//! ```
//! use std::time::Duration;
//! use rosless_engine::{Engine, Now};
//!
//! /// Says so when nothing came for a second.
//! #[derive(Default)]
//! struct Watchdog {
//!     due: Option<Duration>,
//!     bark: bool,
//! }
//!
//! impl Engine for Watchdog {
//!     type Input<'a> = ();
//!     type Output = &'static str;
//!
//!     fn handle(&mut self, (): (), now: Now) {
//!         self.due = Some(now.mono + Duration::from_secs(1));
//!     }
//!
//!     fn wake(&mut self, now: Now) {
//!         self.bark = self.due.take_if(|due| *due <= now.mono).is_some();
//!     }
//!
//!     fn poll_output(&mut self) -> Option<&'static str> {
//!         std::mem::take(&mut self.bark).then_some("silence")
//!     }
//!
//!     fn next_deadline(&self) -> Option<Duration> {
//!         self.due
//!     }
//! }
//!
//! let mut dog = Watchdog::default();
//! dog.handle((), Now::after(Duration::ZERO));
//! assert_eq!(dog.next_deadline(), Some(Duration::from_secs(1)));
//! dog.wake(Now::after(Duration::from_secs(1)));
//! assert_eq!((dog.poll_output(), dog.poll_output()), (Some("silence"), None));
//! ```
//!
//! The same inputs at the same times give the same outputs, so races, time-outs and clock steps are tables in a test.
#![forbid(unsafe_code)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Something that decides. The crate's page says how it is driven.
pub trait Engine {
    /// What happens to it.
    type Input<'a>;
    /// What it wants done.
    type Output;

    /// Takes what happened. Outputs wait until they are polled.
    fn handle(&mut self, input: Self::Input<'_>, now: Now);

    /// Time has passed; called at the deadline at the latest, and at any other time without harm.
    fn wake(&mut self, now: Now);

    /// The next thing to do, in order; nothing when all has been said.
    fn poll_output(&mut self) -> Option<Self::Output>;

    /// When to wake it, on the monotonic clock; `None`: only an input matters.
    fn next_deadline(&self) -> Option<Duration>;
}

/// An engine whose time counts from its own start.
#[derive(Debug)]
pub struct Since<E> {
    /// The engine, in its own time.
    pub engine: E,
    /// Its zero on the driver's monotonic clock.
    pub start: Duration,
}

impl<E: Engine> Engine for Since<E> {
    type Input<'a> = E::Input<'a>;
    type Output = E::Output;

    fn handle(&mut self, input: Self::Input<'_>, now: Now) {
        self.engine.handle(input, Now { mono: now.mono.saturating_sub(self.start), ..now });
    }

    fn wake(&mut self, now: Now) {
        self.engine.wake(Now { mono: now.mono.saturating_sub(self.start), ..now });
    }

    fn poll_output(&mut self) -> Option<E::Output> {
        self.engine.poll_output()
    }

    fn next_deadline(&self) -> Option<Duration> {
        Some(self.engine.next_deadline()?.saturating_add(self.start))
    }
}

/// Wall clock time in nanoseconds since 1970; what `builtin_interfaces/Time` carries. For stamps, never for deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wall(pub i64);

const NANOS: i64 = 1_000_000_000;

impl Wall {
    /// From the two fields on the wire; an out-of-range `nanosec` just carries over.
    pub fn from_stamp(sec: i32, nanosec: u32) -> Self {
        Self(i64::from(sec) * NANOS + i64::from(nanosec))
    }

    /// The two fields on the wire; times they cannot express become the nearest they can.
    pub fn to_stamp(self) -> (i32, u32) {
        let sec = self.0.div_euclid(NANOS).clamp(i32::MIN.into(), i32::MAX.into());
        (sec as i32, self.0.rem_euclid(NANOS) as u32)
    }

    /// Nanoseconds from `earlier` to here, negative when `earlier` is later.
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time since 1970; zero before it.
    pub fn since_epoch(self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }
}

impl From<SystemTime> for Wall {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(i64::try_from(after.as_nanos()).unwrap_or(i64::MAX)),
            Err(before) => Self(i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |n| -n)),
        }
    }
}

/// One instant on both clocks, which must not be mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time since any fixed start: for deadlines.
    pub mono: Duration,
    /// For stamps.
    pub wall: Wall,
}

impl Now {
    /// An instant for engines, and tests, that stamp nothing.
    pub fn after(mono: Duration) -> Self {
        Self { mono, wall: Wall::default() }
    }
}

impl From<Duration> for Now {
    fn from(mono: Duration) -> Self {
        Self::after(mono)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_survive_the_wire_and_hostile_ones_do_not_overflow() {
        for (sec, nanosec) in [(1_700_000_000, 500_000_000), (0, 0), (-1, 999_999_999), (i32::MIN, 0)] {
            assert_eq!(Wall::from_stamp(sec, nanosec).to_stamp(), (sec, nanosec));
        }
        assert_eq!(Wall::from_stamp(1, u32::MAX).to_stamp(), (5, 294_967_295));
        assert_eq!(Wall(i64::MAX).to_stamp().0, i32::MAX);
        let (low, high) = (Wall::from_stamp(i32::MIN, 0), Wall::from_stamp(i32::MAX, u32::MAX));
        assert!(high.since(low) > 0 && low.since(high) < 0);
        assert_eq!(Wall(-5).since_epoch(), Duration::ZERO);
    }
}
