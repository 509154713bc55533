//! Two clocks that must not be mixed: the monotonic one for deadlines, the wall clock for stamps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Wall clock time in nanoseconds since 1970; what `builtin_interfaces/Time` carries.
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
}

impl From<SystemTime> for Wall {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(i64::try_from(after.as_nanos()).unwrap_or(i64::MAX)),
            Err(before) => Self(i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |n| -n)),
        }
    }
}

/// One instant on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic time since any fixed start.
    pub mono: Duration,
    pub wall: Wall,
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
    }
}
