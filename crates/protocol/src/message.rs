//! What is said on the wire, without a dialect: the three packages' messages carry exactly these fields in this order.

use rosless_engine::Wall;
pub use rosless_wire::lifecycle::State;

/// What a control message asks or answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Begin the session; the receiver activates itself.
    Start,
    /// I am active.
    AckStart,
    /// End the session; the receiver deactivates itself.
    Stop,
    /// I am no longer active.
    AckStop,
    /// A value the protocol does not define; carried on so that observers see it.
    Other(i8),
}

impl From<i8> for Kind {
    fn from(value: i8) -> Self {
        match value {
            0 => Self::Start,
            1 => Self::AckStart,
            2 => Self::Stop,
            3 => Self::AckStop,
            other => Self::Other(other),
        }
    }
}

impl From<Kind> for i8 {
    fn from(kind: Kind) -> i8 {
        match kind {
            Kind::Start => 0,
            Kind::AckStart => 1,
            Kind::Stop => 2,
            Kind::AckStop => 3,
            Kind::Other(other) => other,
        }
    }
}

/// The control message of all dialects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// What is asked or answered.
    pub kind: Kind,
    /// When it was said, by the clock of whoever said it.
    pub stamp: Wall,
    /// Who says it: a controller that asks, or a system that answers.
    pub source: String,
    /// The capture session; the name may be empty.
    pub session: String,
    /// Who is meant; empty means everybody.
    pub systems: Vec<String>,
}

/// The announcement (`MocapInfo`, `DeviceInfo`) of all dialects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    /// The system that tells of itself.
    pub source: String,
    /// 0 is ROS 2, 1 is ROS 1.
    pub ros_version: i8,
    /// The topics it publishes its data on.
    pub topics: Vec<String>,
}

/// What a controller wants of its systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Command {
    /// To be active.
    Start,
    /// To be inactive.
    Stop,
}

impl Command {
    /// The message that asks for it.
    pub fn ask(self) -> Kind {
        match self {
            Self::Start => Kind::Start,
            Self::Stop => Kind::Stop,
        }
    }

    pub(crate) fn ack(self) -> Kind {
        match self {
            Self::Start => Kind::AckStart,
            Self::Stop => Kind::AckStop,
        }
    }

    /// `start` or `stop`.
    pub fn verb(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
        }
    }

    pub(crate) fn wanted(self) -> State {
        match self {
            Self::Start => State::Active,
            Self::Stop => State::Inactive,
        }
    }

    /// The state on the way.
    pub(crate) fn under_way(self) -> State {
        match self {
            Self::Start => State::Activating,
            Self::Stop => State::Deactivating,
        }
    }

    pub(crate) fn needed(self) -> State {
        match self {
            Self::Start => State::Inactive,
            Self::Stop => State::Active,
        }
    }
}

/// The word `ros2 mocap4r2 status` uses for a state.
pub fn status_word(state: State) -> &'static str {
    match state {
        State::Unknown | State::Finalized => "NOT READY",
        State::Unconfigured => "NOT YET AVAILABLE",
        State::Inactive => "READY",
        State::Active => "ACTIVE",
        _ => "UNKNOWN",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_types_keep_their_numbers_and_unknown_ones_survive() {
        assert_eq!([0, 1, 2, 3].map(Kind::from), [Kind::Start, Kind::AckStart, Kind::Stop, Kind::AckStop]);
        for value in i8::MIN..=i8::MAX {
            assert_eq!(i8::from(Kind::from(value)), value);
        }
    }

    #[test]
    fn status_words_are_those_of_the_original_command_line() {
        let words = [0, 1, 2, 3, 4, 13].map(|id| status_word(State::from(id)));
        assert_eq!(words, ["NOT READY", "NOT YET AVAILABLE", "READY", "ACTIVE", "NOT READY", "UNKNOWN"]);
    }
}
