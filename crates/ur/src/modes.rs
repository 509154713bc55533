//! What the numbers mean that a controller sends for robot, safety and program.

/// Whether the arm has power and its brakes are off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the manufacturer's names")]
pub enum RobotMode {
    NoController,
    Disconnected,
    ConfirmSafety,
    Booting,
    PowerOff,
    PowerOn,
    Idle,
    Backdrive,
    Running,
    UpdatingFirmware,
    Unknown(i32),
}

impl RobotMode {
    const NAMES: [(Self, i32, &'static str); 10] = [
        (Self::NoController, -1, "NO_CONTROLLER"),
        (Self::Disconnected, 0, "DISCONNECTED"),
        (Self::ConfirmSafety, 1, "CONFIRM_SAFETY"),
        (Self::Booting, 2, "BOOTING"),
        (Self::PowerOff, 3, "POWER_OFF"),
        (Self::PowerOn, 4, "POWER_ON"),
        (Self::Idle, 5, "IDLE"),
        (Self::Backdrive, 6, "BACKDRIVE"),
        (Self::Running, 7, "RUNNING"),
        (Self::UpdatingFirmware, 8, "UPDATING_FIRMWARE"),
    ];

    /// From RTDE.
    pub fn from_number(number: i32) -> Self {
        Self::NAMES.iter().find(|row| row.1 == number).map_or(Self::Unknown(number), |row| row.0)
    }

    /// For RTDE.
    pub fn number(self) -> i32 {
        match self {
            Self::Unknown(number) => number,
            known => Self::NAMES.iter().find(|row| row.0 == known).map_or(-1, |row| row.1),
        }
    }

    /// As the dashboard says it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.0 == self).map_or("UNKNOWN", |row| row.2)
    }

    /// Why the arm cannot move in this mode, and what to do; `None` in RUNNING.
    pub fn obstacle(self) -> Option<String> {
        Some(match self {
            Self::Running => return None,
            Self::PowerOff => {
                "the arm is not powered: switch it on at the pendant, or set power_on=true".to_owned()
            }
            Self::PowerOn | Self::Idle => {
                "the brakes are on: release them at the pendant, or set brake_release=true".to_owned()
            }
            Self::Backdrive => "the arm is being moved by hand (backdrive)".to_owned(),
            Self::Booting => "the controller is booting".to_owned(),
            Self::ConfirmSafety => "the safety configuration must be confirmed at the pendant".to_owned(),
            Self::UpdatingFirmware => "the firmware is being updated".to_owned(),
            Self::NoController | Self::Disconnected => {
                "the controller has no connection to its arm".to_owned()
            }
            Self::Unknown(number) => format!("the robot is in mode {number}, which is not known here"),
        })
    }
}

/// What the safety system allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the manufacturer's names")]
pub enum SafetyMode {
    Normal,
    Reduced,
    ProtectiveStop,
    Recovery,
    SafeguardStop,
    SystemEmergencyStop,
    RobotEmergencyStop,
    Violation,
    Fault,
    ValidateJointId,
    Undefined,
    AutomaticModeSafeguardStop,
    ThreePositionEnablingStop,
    Unknown(i32),
}

impl SafetyMode {
    const NAMES: [(Self, i32, &'static str); 13] = [
        (Self::Normal, 1, "NORMAL"),
        (Self::Reduced, 2, "REDUCED"),
        (Self::ProtectiveStop, 3, "PROTECTIVE_STOP"),
        (Self::Recovery, 4, "RECOVERY"),
        (Self::SafeguardStop, 5, "SAFEGUARD_STOP"),
        (Self::SystemEmergencyStop, 6, "SYSTEM_EMERGENCY_STOP"),
        (Self::RobotEmergencyStop, 7, "ROBOT_EMERGENCY_STOP"),
        (Self::Violation, 8, "VIOLATION"),
        (Self::Fault, 9, "FAULT"),
        (Self::ValidateJointId, 10, "VALIDATE_JOINT_ID"),
        (Self::Undefined, 11, "UNDEFINED_SAFETY_MODE"),
        (Self::AutomaticModeSafeguardStop, 12, "AUTOMATIC_MODE_SAFEGUARD_STOP"),
        (Self::ThreePositionEnablingStop, 13, "SYSTEM_THREE_POSITION_ENABLING_STOP"),
    ];

    /// From RTDE.
    pub fn from_number(number: i32) -> Self {
        Self::NAMES.iter().find(|row| row.1 == number).map_or(Self::Unknown(number), |row| row.0)
    }

    /// For RTDE.
    pub fn number(self) -> i32 {
        match self {
            Self::Unknown(number) => number,
            known => Self::NAMES.iter().find(|row| row.0 == known).map_or(11, |row| row.1),
        }
    }

    /// As the dashboard says it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.0 == self).map_or("UNKNOWN", |row| row.2)
    }

    /// Whether the arm may move.
    pub fn allows_motion(self) -> bool {
        matches!(self, Self::Normal | Self::Reduced)
    }
}

/// Whether a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the manufacturer's names")]
pub enum RuntimeState {
    Stopping,
    Stopped,
    Playing,
    Pausing,
    Paused,
    Resuming,
    Unknown(u32),
}

impl RuntimeState {
    /// From RTDE.
    pub fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Stopping,
            1 => Self::Stopped,
            2 => Self::Playing,
            3 => Self::Pausing,
            4 => Self::Paused,
            5 => Self::Resuming,
            other => Self::Unknown(other),
        }
    }

    /// For RTDE.
    pub fn number(self) -> u32 {
        match self {
            Self::Stopping => 0,
            Self::Stopped => 1,
            Self::Playing => 2,
            Self::Pausing => 3,
            Self::Paused => 4,
            Self::Resuming => 5,
            Self::Unknown(number) => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_modes_are_the_same_thing() {
        for number in -3..20 {
            assert_eq!(RobotMode::from_number(number).number(), number);
            assert_eq!(SafetyMode::from_number(number).number(), number);
            assert_eq!(RuntimeState::from_number(number as u32).number(), number as u32);
        }
        let moving: Vec<i32> = (-3..20).filter(|n| RobotMode::from_number(*n).obstacle().is_none()).collect();
        let safe: Vec<i32> = (-3..20).filter(|n| SafetyMode::from_number(*n).allows_motion()).collect();
        assert_eq!((moving, safe), (vec![7], vec![1, 2]));
    }
}
