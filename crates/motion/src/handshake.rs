//! The contract between the queue and a robot driver: 25 command values, 2 state values.
//!
//! A command exists when `motion_type` is not NaN. The driver copies it, sets all values back to NaN and reports itself
//! ready again when it can take another one. The layout is that of ros2_control's motion primitive drivers.

use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion};
use rosless_kinematics::Joints;

use serde::{Deserialize, Serialize};

use crate::primitive::{Command, Motion, Primitive, Timing, code};

/// Names of the command values, in order, without the `motion_primitive/` before them.
pub const COMMAND_NAMES: [&str; 25] = [
    "motion_type",
    "q1",
    "q2",
    "q3",
    "q4",
    "q5",
    "q6",
    "pos_x",
    "pos_y",
    "pos_z",
    "pos_qx",
    "pos_qy",
    "pos_qz",
    "pos_qw",
    "pos_via_x",
    "pos_via_y",
    "pos_via_z",
    "pos_via_qx",
    "pos_via_qy",
    "pos_via_qz",
    "pos_via_qw",
    "blend_radius",
    "velocity",
    "acceleration",
    "move_time",
];
/// Names of the state values.
pub const STATE_NAMES: [&str; 2] = ["execution_status", "ready_for_new_primitive"];

const JOINTS_AT: usize = 1;
const GOAL_AT: usize = 7;
const VIA_AT: usize = 14;
const BLEND_RADIUS_AT: usize = 21;
const VELOCITY_AT: usize = 22;
const ACCELERATION_AT: usize = 23;
const MOVE_TIME_AT: usize = 24;

/// The 25 command values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommandInterfaces(pub [f64; 25]);

impl Default for CommandInterfaces {
    fn default() -> Self {
        Self([f64::NAN; 25])
    }
}

impl CommandInterfaces {
    /// Whether a command waits to be taken.
    pub fn is_set(&self) -> bool {
        !self.0[0].is_nan()
    }

    /// No command.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Writes a command; values it does not use stay NaN.
    pub fn set(&mut self, command: &Command) {
        self.clear();
        let values = &mut self.0;
        let kind = match command {
            Command::Stop => code::STOP_MOTION,
            Command::ResetStop => code::RESET_STOP,
            Command::SequenceStart => code::MOTION_SEQUENCE_START,
            Command::SequenceEnd => code::MOTION_SEQUENCE_END,
            Command::Move(primitive) => {
                values[BLEND_RADIUS_AT] = primitive.blend_radius;
                match primitive.timing {
                    Timing::Limits { velocity, acceleration } => {
                        values[VELOCITY_AT] = velocity;
                        values[ACCELERATION_AT] = acceleration;
                    }
                    Timing::MoveTime(seconds) => values[MOVE_TIME_AT] = seconds,
                }
                match &primitive.motion {
                    Motion::Joint { target } => {
                        values[JOINTS_AT..GOAL_AT].copy_from_slice(target.as_slice());
                        code::LINEAR_JOINT
                    }
                    Motion::JointPose { goal } => {
                        values[GOAL_AT..VIA_AT].copy_from_slice(&pose_values(goal));
                        code::LINEAR_JOINT
                    }
                    Motion::Linear { goal } => {
                        values[GOAL_AT..VIA_AT].copy_from_slice(&pose_values(goal));
                        code::LINEAR_CARTESIAN
                    }
                    Motion::LinearJoints { target } => {
                        values[JOINTS_AT..GOAL_AT].copy_from_slice(target.as_slice());
                        code::LINEAR_CARTESIAN
                    }
                    Motion::Circular { goal, via } => {
                        values[GOAL_AT..VIA_AT].copy_from_slice(&pose_values(goal));
                        values[VIA_AT..BLEND_RADIUS_AT].copy_from_slice(&pose_values(via));
                        code::CIRCULAR_CARTESIAN
                    }
                }
            }
        };
        values[0] = f64::from(kind);
    }

    /// Takes the command out, if there is one: the driver's side of the handshake. `Err` names the missing value.
    pub fn take(&mut self) -> Option<Result<Command, &'static str>> {
        let values = self.0;
        self.is_set().then(|| {
            self.clear();
            command_of(&values)
        })
    }
}

fn pose_values(pose: &Isometry3<f64>) -> [f64; 7] {
    let (t, q) = (pose.translation.vector, pose.rotation.coords);
    [t.x, t.y, t.z, q.x, q.y, q.z, q.w]
}

fn command_of(values: &[f64; 25]) -> Result<Command, &'static str> {
    let present = |range: std::ops::Range<usize>| {
        range
            .clone()
            .find(|&i| values[i].is_nan())
            .map_or(Ok(()), |i| Err(COMMAND_NAMES[i]))
            .map(|()| &values[range])
    };
    let pose = |at: usize| {
        present(at..at + 7).map(|v| {
            let rotation = UnitQuaternion::from_quaternion(Quaternion::new(v[6], v[3], v[4], v[5]));
            Isometry3::from_parts(Translation3::new(v[0], v[1], v[2]), rotation)
        })
    };
    let motion = match values[0] as i16 {
        code::STOP_MOTION => return Ok(Command::Stop),
        code::RESET_STOP => return Ok(Command::ResetStop),
        code::MOTION_SEQUENCE_START => return Ok(Command::SequenceStart),
        code::MOTION_SEQUENCE_END => return Ok(Command::SequenceEnd),
        // Joints and pose exclude each other; a pose alone leaves the kinematics to the robot.
        code::LINEAR_JOINT | code::LINEAR_JOINT_FIRST_GENERATION
            if values[JOINTS_AT].is_nan() && !values[GOAL_AT].is_nan() =>
        {
            Motion::JointPose { goal: pose(GOAL_AT)? }
        }
        code::LINEAR_JOINT | code::LINEAR_JOINT_FIRST_GENERATION => {
            Motion::Joint { target: Joints::from_column_slice(present(JOINTS_AT..GOAL_AT)?) }
        }
        code::LINEAR_CARTESIAN if values[GOAL_AT].is_nan() && !values[JOINTS_AT].is_nan() => {
            Motion::LinearJoints { target: Joints::from_column_slice(present(JOINTS_AT..GOAL_AT)?) }
        }
        code::LINEAR_CARTESIAN => Motion::Linear { goal: pose(GOAL_AT)? },
        code::CIRCULAR_CARTESIAN => Motion::Circular { goal: pose(GOAL_AT)?, via: pose(VIA_AT)? },
        _ => return Err("motion_type"),
    };
    let timing = if values[MOVE_TIME_AT] > 0.0 {
        Timing::MoveTime(values[MOVE_TIME_AT])
    } else {
        let limits = present(VELOCITY_AT..MOVE_TIME_AT)?;
        Timing::Limits { velocity: limits[0], acceleration: limits[1] }
    };
    let blend_radius = if values[BLEND_RADIUS_AT].is_nan() { 0.0 } else { values[BLEND_RADIUS_AT] };
    Ok(Command::Move(Primitive { motion, timing, blend_radius }))
}

/// What the robot does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ExecutionState {
    /// It stands and has done nothing since it became ready.
    Idle,
    /// It moves, or is about to.
    Executing,
    /// It stands where it was told to go.
    Success,
    /// It could not do what it was told, and does nothing until it is stopped and reset.
    Error,
    /// It brakes.
    Stopping,
    /// It stands because it was stopped.
    Stopped,
}

/// The numbers that stand for the states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StateCodes {
    /// STOPPING 4, STOPPED 5.
    #[default]
    Current,
    /// STOPPED 4; a robot that is still stopping counts as executing.
    FirstGeneration,
}

impl ExecutionState {
    /// Its number on `~/state`.
    pub fn code(self, codes: StateCodes) -> i8 {
        match (self, codes) {
            (Self::Idle, _) => 0,
            (Self::Executing, _) | (Self::Stopping, StateCodes::FirstGeneration) => 1,
            (Self::Success, _) => 2,
            (Self::Error, _) => 3,
            (Self::Stopping, StateCodes::Current) | (Self::Stopped, StateCodes::FirstGeneration) => 4,
            (Self::Stopped, StateCodes::Current) => 5,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "IDLE",
            Self::Executing => "EXECUTING",
            Self::Success => "SUCCESS",
            Self::Error => "ERROR",
            Self::Stopping => "STOPPING",
            Self::Stopped => "STOPPED",
        }
    }
}

/// The 2 state values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateInterfaces {
    /// What the robot does.
    pub status: ExecutionState,
    /// Whether it takes another command.
    pub ready: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_survives_the_handshake() {
        let pose = |x| {
            Isometry3::from_parts(
                Translation3::new(x, 0.2, 0.3),
                UnitQuaternion::from_euler_angles(0.1, x, 0.3),
            )
        };
        let timed = |motion, timing| Command::Move(Primitive { motion, timing, blend_radius: 0.1 });
        let limits = Timing::Limits { velocity: 1.0, acceleration: 2.0 };
        let commands = [
            Command::Stop,
            Command::ResetStop,
            Command::SequenceStart,
            Command::SequenceEnd,
            timed(Motion::Joint { target: Joints::new(0.1, 0.2, 0.3, 0.4, 0.5, 0.6) }, Timing::MoveTime(2.0)),
            timed(Motion::Joint { target: Joints::zeros() }, limits),
            timed(Motion::LinearJoints { target: Joints::repeat(0.3) }, limits),
        ];
        let mut interfaces = CommandInterfaces::default();
        assert!(interfaces.take().is_none());
        for command in commands {
            interfaces.set(&command);
            assert_eq!(interfaces.take(), Some(Ok(command)));
            assert!(interfaces.0.iter().all(|v| v.is_nan()));
        }
        interfaces.set(&timed(Motion::Circular { goal: pose(0.5), via: pose(0.4) }, limits));
        assert_eq!(
            (interfaces.0[0], interfaces.0[7], interfaces.0[14], interfaces.0[24].is_nan()),
            (51.0, 0.5, 0.4, true)
        );
        let Some(Ok(Command::Move(Primitive { motion: Motion::Circular { goal, via }, .. }))) =
            interfaces.take()
        else {
            panic!("CIRC expected");
        };
        assert!((goal.to_homogeneous() - pose(0.5).to_homogeneous()).amax() < 1e-12);
        assert!((via.to_homogeneous() - pose(0.4).to_homogeneous()).amax() < 1e-12);
    }

    #[test]
    fn a_missing_value_is_named() {
        let mut interfaces = CommandInterfaces::default();
        interfaces.0[0] = 0.0;
        interfaces.0[1..6].fill(0.5);
        assert_eq!(interfaces.take(), Some(Err("q6")));
    }

    #[test]
    fn state_codes_of_both_generations() {
        use ExecutionState as S;
        let all = [S::Idle, S::Executing, S::Success, S::Error, S::Stopping, S::Stopped];
        assert_eq!(all.map(|s| s.code(StateCodes::Current)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(all.map(|s| s.code(StateCodes::FirstGeneration)), [0, 1, 2, 3, 1, 4]);
    }
}
