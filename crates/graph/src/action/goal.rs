//! The life of one goal.

use std::fmt;

/// The number a client gives its goal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GoalId(pub [u8; 16]);

impl GoalId {
    /// In a cancel request: no particular goal.
    pub const ZERO: Self = Self([0; 16]);

    /// A new random UUID (version 4).
    pub fn random() -> Self {
        let mut bytes: [u8; 16] = rand::random();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }
}

impl fmt::Display for GoalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let dash = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for GoalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where a goal stands, numbered as in `action_msgs/msg/GoalStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(i8)]
pub enum GoalState {
    #[default]
    Unknown = 0,
    Accepted = 1,
    Executing = 2,
    Canceling = 3,
    Succeeded = 4,
    Canceled = 5,
    Aborted = 6,
}

impl GoalState {
    /// Its number on the wire.
    pub fn id(self) -> i8 {
        self as i8
    }

    /// The state with this number; a number nobody defined is [`GoalState::Unknown`].
    pub fn from_id(id: i8) -> Self {
        match id {
            1 => Self::Accepted,
            2 => Self::Executing,
            3 => Self::Canceling,
            4 => Self::Succeeded,
            5 => Self::Canceled,
            6 => Self::Aborted,
            _ => Self::Unknown,
        }
    }

    /// Nothing happens to the goal any more.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Canceled | Self::Aborted)
    }

    /// The server still works on it, or will.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Accepted | Self::Executing | Self::Canceling)
    }

    /// The state after `event`, where the event is possible.
    pub fn after(self, event: GoalEvent) -> Option<Self> {
        match (self, event) {
            (Self::Accepted, GoalEvent::Execute) => Some(Self::Executing),
            (Self::Accepted | Self::Executing, GoalEvent::Cancel) => Some(Self::Canceling),
            (Self::Executing | Self::Canceling, GoalEvent::Succeed) => Some(Self::Succeeded),
            (Self::Executing | Self::Canceling, GoalEvent::Abort) => Some(Self::Aborted),
            (Self::Canceling, GoalEvent::Canceled) => Some(Self::Canceled),
            _ => None,
        }
    }
}

impl fmt::Display for GoalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown",
            Self::Accepted => "accepted",
            Self::Executing => "executing",
            Self::Canceling => "canceling",
            Self::Succeeded => "succeeded",
            Self::Canceled => "canceled",
            Self::Aborted => "aborted",
        })
    }
}

/// What moves a goal on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalEvent {
    Execute,
    Cancel,
    Succeed,
    Abort,
    Canceled,
}
