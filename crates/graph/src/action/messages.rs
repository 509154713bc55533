//! Goals as `action_msgs` carries them.

use rosless_wire::{action_msgs::msg, builtin_interfaces::msg::Time, unique_identifier_msgs::msg::UUID};

use super::{GoalId, GoalInfo};

const SECOND: i64 = 1_000_000_000;

impl From<GoalId> for UUID {
    fn from(id: GoalId) -> Self {
        Self { uuid: id.0 }
    }
}

impl From<UUID> for GoalId {
    fn from(id: UUID) -> Self {
        Self(id.uuid)
    }
}

pub(crate) fn nanoseconds(time: Time) -> i64 {
    i64::from(time.sec) * SECOND + i64::from(time.nanosec)
}

pub(crate) fn time(nanoseconds: i64) -> Time {
    // Both fit for every stamp that was made from a Time.
    let sec = i32::try_from(nanoseconds.div_euclid(SECOND)).unwrap_or(i32::MAX);
    Time { sec, nanosec: nanoseconds.rem_euclid(SECOND) as u32 }
}

impl From<GoalInfo> for msg::GoalInfo {
    fn from(info: GoalInfo) -> Self {
        Self { goal_id: info.id.into(), stamp: time(info.stamp) }
    }
}

impl From<msg::GoalInfo> for GoalInfo {
    fn from(message: msg::GoalInfo) -> Self {
        Self { id: message.goal_id.into(), stamp: nanoseconds(message.stamp) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stamps_survive_the_way_through_nanoseconds(sec in any::<i32>(), nanosec in 0u32..1_000_000_000) {
            let stamp = Time { sec, nanosec };
            prop_assert_eq!(time(nanoseconds(stamp.clone())), stamp);
        }
    }
}
