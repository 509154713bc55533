//! The states of a managed node.

use std::fmt;

use crate::lifecycle_msgs::msg;

/// A state of a managed node, numbered as in `lifecycle_msgs/msg/State`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum State {
    /// Not known, or not a state of rcl.
    #[default]
    Unknown = 0,
    /// Made, and nothing more.
    Unconfigured = 1,
    /// Configured, and at rest.
    Inactive = 2,
    /// At work.
    Active = 3,
    /// At its end; it can only be destroyed.
    Finalized = 4,
    /// On the way to inactive.
    Configuring = 10,
    /// On the way to unconfigured.
    CleaningUp = 11,
    /// On the way to finalized.
    ShuttingDown = 12,
    /// On the way to active.
    Activating = 13,
    /// On the way back to inactive.
    Deactivating = 14,
    /// After a transition that went wrong.
    ErrorProcessing = 15,
}

impl State {
    /// In the order rcl registers and reports them.
    pub const ALL: [Self; 11] = [
        Self::Unknown,
        Self::Unconfigured,
        Self::Inactive,
        Self::Active,
        Self::Finalized,
        Self::Configuring,
        Self::CleaningUp,
        Self::ShuttingDown,
        Self::Activating,
        Self::Deactivating,
        Self::ErrorProcessing,
    ];

    /// Its number on the wire.
    pub fn id(self) -> u8 {
        self as u8
    }

    /// The label `ros2 lifecycle get` prints.
    pub fn label(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Unconfigured => "unconfigured",
            Self::Inactive => "inactive",
            Self::Active => "active",
            Self::Finalized => "finalized",
            Self::Configuring => "configuring",
            Self::CleaningUp => "cleaningup",
            Self::ShuttingDown => "shuttingdown",
            Self::Activating => "activating",
            Self::Deactivating => "deactivating",
            Self::ErrorProcessing => "errorprocessing",
        }
    }

    /// On the way between two states in which a node rests until somebody asks for a transition.
    pub fn is_transition(self) -> bool {
        self >= Self::Configuring
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl From<u8> for State {
    fn from(id: u8) -> Self {
        Self::ALL.into_iter().find(|state| state.id() == id).unwrap_or_default()
    }
}

impl From<State> for msg::State {
    fn from(state: State) -> Self {
        Self { id: state.id(), label: state.label().to_owned() }
    }
}
