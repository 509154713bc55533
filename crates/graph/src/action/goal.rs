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
    /// The server does not know it, or said a number that is none of these.
    #[default]
    Unknown = 0,
    /// Taken, and waiting for its turn.
    Accepted = 1,
    /// Worked on.
    Executing = 2,
    /// To be ended early; the server is about it.
    Canceling = 3,
    /// Reached.
    Succeeded = 4,
    /// Ended early because somebody asked for it.
    Canceled = 5,
    /// Given up by the server.
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
    /// The server begins.
    Execute,
    /// A client asks for an early end.
    Cancel,
    /// It is reached.
    Succeed,
    /// The server gives up.
    Abort,
    /// The early end is reached.
    Canceled,
}
