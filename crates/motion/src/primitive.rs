//! A primitive as a client sent it, and the checks that make a [`Command`] of it.

use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion, Vector3};
use rosless_kinematics::Joints;

use crate::frames::Frames;

pub use rosless_kinematics::JOINTS;

/// Type codes on the wire. The signed and the unsigned message agree on all of them.
pub mod code {
    /// PTP: straight for the joints.
    pub const LINEAR_JOINT: i16 = 0;
    /// The code of the first generation, where 0 meant "not set".
    pub const LINEAR_JOINT_FIRST_GENERATION: i16 = 10;
    /// LIN: a straight line of the hand.
    pub const LINEAR_CARTESIAN: i16 = 50;
    /// CIRC: an arc of the hand.
    pub const CIRCULAR_CARTESIAN: i16 = 51;
    /// Straight lines of the hand through all poses; not known to the originals.
    pub const POLYLINE: i16 = 52;
    /// Stop at once and forget what waits.
    pub const STOP_MOTION: i16 = 66;
    /// Make a stopped robot ready again.
    pub const RESET_STOP: i16 = 67;
    /// Moves from here on are one blended motion.
    pub const MOTION_SEQUENCE_START: i16 = 100;
    /// The blended motion is complete.
    pub const MOTION_SEQUENCE_END: i16 = 101;
}

/// Below this length a quaternion says nothing about an orientation.
const MIN_QUATERNION_NORM: f64 = 1e-3;
/// Further from 1 than this, a quaternion is more likely a mistake than rounding.
const QUATERNION_NORM_TOLERANCE: f64 = 0.05;
/// A radius or speed beyond this is a unit mistake on any arm.
const ABSURD: f64 = 1e4;
/// A speed or time below this is one as well, and near zero its arithmetic underflows.
const TINY: f64 = 1e-6;
/// No move takes longer than a day; the unit of a speed was mistaken.
pub(crate) const LONGEST: f64 = 86_400.0;
/// CIRC points nearer to one line than this share of the chord make no circle worth the name.
const MIN_ARC_HEIGHT: f64 = 1e-4;

/// A pose with its frame, orientation as x, y, z, w.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawPose {
    /// The frame it is given in; empty for the robot's base.
    pub frame_id: String,
    /// m.
    pub position: [f64; 3],
    /// Quaternion.
    pub orientation: [f64; 4],
}

/// What came from the client, nothing checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawPrimitive {
    /// One of [`code`].
    pub kind: i16,
    /// m.
    pub blend_radius: f64,
    /// Named figures, as `velocity`.
    pub arguments: Vec<(String, f64)>,
    /// Targets of the hand; of CIRC the goal, then via.
    pub poses: Vec<RawPose>,
    /// Targets of the joints, rad.
    pub joint_positions: Vec<f64>,
}

/// How fast a primitive goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Timing {
    /// rad/s and rad/s² of the leading joint for PTP, m/s and m/s² of the hand otherwise.
    Limits {
        /// Greatest speed.
        velocity: f64,
        /// Greatest acceleration, of the hand in all directions together.
        acceleration: f64,
    },
    /// From standstill to standstill in this many seconds.
    MoveTime(f64),
}

/// The shape of a move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Motion {
    /// Straight in joint space (PTP).
    Joint {
        /// Joint angles to go to.
        target: Joints,
    },
    /// Straight in joint space to the nearest joint angles for a pose.
    JointPose {
        /// Pose to go to, in the base frame.
        goal: Isometry3<f64>,
    },
    /// Straight line of the hand (LIN).
    Linear {
        /// Pose to go to, in the base frame.
        goal: Isometry3<f64>,
    },
    /// Straight line of the hand that ends with these joint angles.
    LinearJoints {
        /// Joint angles to go to.
        target: Joints,
    },
    /// Arc of the hand through `via` (CIRC).
    Circular {
        /// Pose to go to, in the base frame.
        goal: Isometry3<f64>,
        /// A place on the arc.
        via: Isometry3<f64>,
    },
}

/// A checked move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Primitive {
    /// Where and how.
    pub motion: Motion,
    /// How fast.
    pub timing: Timing,
    /// Metres of the hand around the target within which the next move may begin.
    pub blend_radius: f64,
}

/// A checked message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command {
    /// Go somewhere.
    Move(Primitive),
    /// What follows is one motion.
    SequenceStart,
    /// That motion is complete.
    SequenceEnd,
    /// Stop at once.
    Stop,
    /// Lift a stop.
    ResetStop,
}

/// A message that makes sense, and what the client should know about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// What it asks for.
    pub command: Command,
    /// The moves before `command` of a message that means several.
    pub before: Vec<Primitive>,
    /// Oddities that do no harm.
    pub warnings: Vec<String>,
}

/// Why a message does not move the robot. The text of each says what it means.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the text of each says what it means")]
pub enum Refusal {
    #[error(
        "unknown motion type {0}: use 0 or 10 (PTP), 50 (LIN), 51 (CIRC), 52 (POLYLINE), 66 (STOP), 67 (RESET_STOP), 100 and 101 (sequence start and end)"
    )]
    UnknownType(i16),
    #[error("PTP and LIN to joints need exactly {JOINTS} joint_positions, got {0}")]
    JointCount(usize),
    #[error("LIN needs a pose (or {JOINTS} joint_positions), got none")]
    NoPose,
    #[error("POLYLINE needs poses, got none")]
    NoPoses,
    #[error("PTP takes joint_positions or one pose, got both")]
    JointsAndPose,
    #[error("CIRC needs exactly 2 poses (goal, via), got {0}")]
    CircPoses(usize),
    #[error("{what} is {value}, which is not a finite number")]
    NotFinite { what: String, value: f64 },
    #[error("{what} is {value:?}: beyond any robot, check the unit")]
    Absurd { what: &'static str, value: f64 },
    #[error("{what} is {value}, which must not be negative")]
    Negative { what: String, value: f64 },
    #[error("{0} is given twice")]
    GivenTwice(String),
    #[error("timing is missing: give velocity and acceleration above 0, or move_time above 0")]
    NoTiming,
    #[error("CIRC is timed by velocity and acceleration, both above 0; move_time alone is not enough")]
    CircTiming,
    #[error("pose {index}: the orientation quaternion has length {norm:.4}, it must be 1")]
    Quaternion { index: usize, norm: f64 },
    #[error("pose {index} is in frame \"{frame}\", and {reason}")]
    Frame { index: usize, frame: String, reason: String },
    #[error("CIRC goal and via are the same point")]
    CircSamePoint,
    #[error("CIRC start, via and goal are on one line: there is no circle through them")]
    CircCollinear,
    #[error("the queue is full ({0} primitives)")]
    QueueFull(usize),
    #[error("the controller is not active: activate it first")]
    NotActive,
    #[error("the robot is stopped: send RESET_STOP (67) first")]
    Stopped,
    #[error("the robot is in ERROR: send STOP_MOTION (66), then RESET_STOP (67)")]
    RobotError,
    #[error("a sequence is open already: send MOTION_SEQUENCE_END (101) first")]
    SequenceOpen,
    #[error("no sequence is open: send MOTION_SEQUENCE_START (100) first")]
    NoSequence,
    #[error("the sequence is empty")]
    EmptySequence,
    #[error("{0} sequences are open already: close one first")]
    TooManySequences(usize),
    #[error("the sequence has {0} primitives already, which is the most one may have")]
    SequenceTooLong(usize),
    #[error("the robot has a fault: {0}")]
    Fault(String),
    #[error("an action goal is being executed")]
    GoalActive,
    #[error("primitives from the reference topic are being executed")]
    ReferenceActive,
    #[error("primitive {index}: {reason}")]
    InSequence { index: usize, reason: Box<Refusal> },
    #[error("a goal takes PTP, LIN and CIRC only, not helper type {0}")]
    HelperInGoal(i16),
    #[error("{count} primitives are more than a goal may have ({limit})")]
    GoalTooLong { count: usize, limit: usize },
}

impl Refusal {
    /// The reason with the place in the sequence it concerns.
    pub(crate) fn at(self, index: usize) -> Self {
        Self::InSequence { index, reason: Box::new(self) }
    }
}

/// Makes a command of a client's message, or says why not. Reachability is the robot's to judge, not the message's.
pub fn check(raw: &RawPrimitive, frames: &Frames) -> Result<Checked, Refusal> {
    let helper = match raw.kind {
        code::STOP_MOTION => Some(Command::Stop),
        code::RESET_STOP => Some(Command::ResetStop),
        code::MOTION_SEQUENCE_START => Some(Command::SequenceStart),
        code::MOTION_SEQUENCE_END => Some(Command::SequenceEnd),
        _ => None,
    };
    if let Some(command) = helper {
        return Ok(Checked { command, before: Vec::new(), warnings: Vec::new() });
    }
    let mut before = Vec::new();
    let motion = match raw.kind {
        code::LINEAR_JOINT | code::LINEAR_JOINT_FIRST_GENERATION => match &raw.poses[..] {
            [] => Motion::Joint { target: joints(raw)? },
            [_, ..] if !raw.joint_positions.is_empty() => return Err(Refusal::JointsAndPose),
            [goal, ..] => Motion::JointPose { goal: pose(0, goal, frames)? },
        },
        code::LINEAR_CARTESIAN => match raw.poses.first() {
            Some(goal) => Motion::Linear { goal: pose(0, goal, frames)? },
            None if raw.joint_positions.is_empty() => return Err(Refusal::NoPose),
            None => Motion::LinearJoints { target: joints(raw)? },
        },
        code::CIRCULAR_CARTESIAN => circular(raw, frames)?,
        code::POLYLINE => {
            let goals = raw.poses.iter().enumerate().map(|(i, raw)| pose(i, raw, frames));
            let mut goals = goals.collect::<Result<Vec<_>, _>>()?;
            let last = goals.pop().ok_or(Refusal::NoPoses)?;
            before = goals;
            Motion::Linear { goal: last }
        }
        unknown => return Err(Refusal::UnknownType(unknown)),
    };
    let mut warnings = Vec::new();
    let extra = raw.poses.len().saturating_sub(1);
    if extra > 0
        && matches!(motion, Motion::Linear { .. } | Motion::JointPose { .. })
        && raw.kind != code::POLYLINE
    {
        warnings.push(format!("only the first of {} poses is used; POLYLINE (52) uses all", raw.poses.len()));
    }
    let timing = timing(raw, matches!(motion, Motion::Circular { .. }), &mut warnings)?;
    not_negative("blend_radius", raw.blend_radius)?;
    if raw.blend_radius > ABSURD {
        return Err(Refusal::Absurd { what: "blend_radius", value: raw.blend_radius });
    }
    let blend_radius = raw.blend_radius;
    // The time of a polyline is that of all of it: every line gets the same share.
    let timing = match timing {
        Timing::MoveTime(seconds) => Timing::MoveTime(seconds / (before.len() + 1) as f64),
        limits => limits,
    };
    let line = |goal| Primitive { motion: Motion::Linear { goal }, timing, blend_radius };
    Ok(Checked {
        command: Command::Move(Primitive { motion, timing, blend_radius }),
        before: before.into_iter().map(line).collect(),
        warnings,
    })
}

fn finite(what: impl Into<String>, value: f64) -> Result<f64, Refusal> {
    if value.is_finite() { Ok(value) } else { Err(Refusal::NotFinite { what: what.into(), value }) }
}

fn not_negative(what: &str, value: f64) -> Result<f64, Refusal> {
    finite(what, value)?;
    if value < 0.0 { Err(Refusal::Negative { what: what.into(), value }) } else { Ok(value) }
}

fn joints(raw: &RawPrimitive) -> Result<Joints, Refusal> {
    if raw.joint_positions.len() != JOINTS {
        return Err(Refusal::JointCount(raw.joint_positions.len()));
    }
    for (i, &angle) in raw.joint_positions.iter().enumerate() {
        finite(format!("joint_positions[{i}]"), angle)?;
    }
    Ok(Joints::from_column_slice(&raw.joint_positions))
}

fn pose(index: usize, raw: &RawPose, frames: &Frames) -> Result<Isometry3<f64>, Refusal> {
    let to_base = frames.to_base(&raw.frame_id).map_err(|reason| Refusal::Frame {
        index,
        frame: raw.frame_id.chars().take(80).collect(),
        reason,
    })?;
    for value in raw.position {
        finite(format!("pose {index} position"), value)?;
        if value.abs() > ABSURD {
            return Err(Refusal::Absurd { what: "position", value });
        }
    }
    for value in raw.orientation {
        finite(format!("pose {index} orientation"), value)?;
    }
    let [x, y, z, w] = raw.orientation;
    let quaternion = Quaternion::new(w, x, y, z);
    let norm = quaternion.norm();
    if norm < MIN_QUATERNION_NORM || (norm - 1.0).abs() > QUATERNION_NORM_TOLERANCE {
        return Err(Refusal::Quaternion { index, norm });
    }
    let [x, y, z] = raw.position;
    let given =
        Isometry3::from_parts(Translation3::new(x, y, z), UnitQuaternion::from_quaternion(quaternion));
    Ok(to_base * given)
}

fn circular(raw: &RawPrimitive, frames: &Frames) -> Result<Motion, Refusal> {
    let [goal, via] = &raw.poses[..] else { return Err(Refusal::CircPoses(raw.poses.len())) };
    let (goal, via) = (pose(0, goal, frames)?, pose(1, via, frames)?);
    if (goal.translation.vector - via.translation.vector).norm() < 1e-6 {
        return Err(Refusal::CircSamePoint);
    }
    Ok(Motion::Circular { goal, via })
}

/// Whether three points make a circle; the start is known only when the robot gets there.
pub(crate) fn spans_circle(start: &Vector3<f64>, via: &Vector3<f64>, goal: &Vector3<f64>) -> bool {
    let (a, b) = (via - start, goal - start);
    let longest = a.norm().max(b.norm()).max((goal - via).norm());
    // The cross product is the longest side times the height over it.
    a.cross(&b).norm() > MIN_ARC_HEIGHT * longest * longest
}

fn timing(raw: &RawPrimitive, circular: bool, warnings: &mut Vec<String>) -> Result<Timing, Refusal> {
    let (mut velocity, mut acceleration, mut move_time) = (None, None, None);
    for (name, value) in &raw.arguments {
        let (slot, what, most) = match name.as_str() {
            "velocity" => (&mut velocity, "velocity", ABSURD),
            "acceleration" => (&mut acceleration, "acceleration", ABSURD),
            "move_time" => (&mut move_time, "move_time", LONGEST),
            other => {
                let shown: String = other.chars().take(40).collect();
                warnings.push(format!("unknown additional argument \"{shown}\" is ignored"));
                continue;
            }
        };
        let value = not_negative(what, *value)?;
        // Zero is the same as not given.
        if value != 0.0 && !(TINY..=most).contains(&value) {
            return Err(Refusal::Absurd { what, value });
        }
        if slot.replace(value).is_some() {
            return Err(Refusal::GivenTwice(name.clone()));
        }
    }
    let limits = match (velocity, acceleration) {
        (Some(velocity), Some(acceleration)) if velocity > 0.0 && acceleration > 0.0 => {
            Some(Timing::Limits { velocity, acceleration })
        }
        _ => None,
    };
    match move_time {
        Some(seconds) if seconds > 0.0 && !circular => Ok(Timing::MoveTime(seconds)),
        _ if circular => limits.ok_or(Refusal::CircTiming),
        _ => limits.ok_or(Refusal::NoTiming),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arguments(list: &[(&str, f64)]) -> Vec<(String, f64)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    fn limits() -> Vec<(String, f64)> {
        arguments(&[("velocity", 1.0), ("acceleration", 2.0)])
    }

    fn ptp() -> RawPrimitive {
        RawPrimitive { kind: 0, arguments: limits(), joint_positions: vec![0.1; 6], ..Default::default() }
    }

    fn at(x: f64) -> RawPose {
        RawPose { frame_id: String::new(), position: [x, 0.3, 0.2], orientation: [0.0, 0.0, 0.0, 1.0] }
    }

    fn lin() -> RawPrimitive {
        RawPrimitive { kind: 50, arguments: limits(), poses: vec![at(0.1)], ..Default::default() }
    }

    fn circ() -> RawPrimitive {
        RawPrimitive { kind: 51, arguments: limits(), poses: vec![at(0.1), at(0.05)], ..Default::default() }
    }

    fn verdict(raw: &RawPrimitive) -> Result<Checked, Refusal> {
        check(raw, &Frames::default())
    }

    #[test]
    fn both_codes_of_ptp_mean_the_same() {
        let first = RawPrimitive { kind: 10, ..ptp() };
        assert_eq!(verdict(&ptp()).unwrap(), verdict(&first).unwrap());
    }

    #[test]
    fn move_time_overrides_velocity_for_ptp_and_lin_but_not_circ() {
        let both = arguments(&[("velocity", 1.0), ("acceleration", 2.0), ("move_time", 3.0)]);
        let timing = |raw: RawPrimitive| match verdict(&RawPrimitive { arguments: both.clone(), ..raw })
            .unwrap()
            .command
        {
            Command::Move(primitive) => primitive.timing,
            other => panic!("{other:?}"),
        };
        assert_eq!(timing(ptp()), Timing::MoveTime(3.0));
        assert_eq!(timing(lin()), Timing::MoveTime(3.0));
        assert_eq!(timing(circ()), Timing::Limits { velocity: 1.0, acceleration: 2.0 });
    }

    #[test]
    fn ptp_takes_a_pose_lin_takes_joints_and_a_polyline_takes_several_poses() {
        let motion = |raw: &RawPrimitive| match verdict(raw).unwrap() {
            Checked { command: Command::Move(primitive), before, .. } => (primitive.motion, before.len()),
            other => panic!("{other:?}"),
        };
        let to_pose = RawPrimitive { joint_positions: vec![], poses: vec![at(0.2)], ..ptp() };
        assert!(matches!(motion(&to_pose), (Motion::JointPose { .. }, 0)));
        let to_joints = RawPrimitive { poses: vec![], joint_positions: vec![0.1; 6], ..lin() };
        assert!(matches!(motion(&to_joints), (Motion::LinearJoints { .. }, 0)));
        let polyline =
            RawPrimitive { kind: 52, poses: vec![at(0.1), at(0.2), at(0.3)], blend_radius: 0.01, ..lin() };
        let (last, before) = motion(&polyline);
        assert!(matches!(last, Motion::Linear { goal } if goal.translation.x == 0.3) && before == 2);
    }

    #[test]
    fn unknown_arguments_warn_and_are_ignored() {
        let mut raw = ptp();
        raw.arguments.push(("foo".into(), f64::NAN));
        assert_eq!(verdict(&raw).unwrap().warnings, ["unknown additional argument \"foo\" is ignored"]);
    }

    #[test]
    fn each_defect_is_refused_with_its_reason() {
        let pose_with = |change: fn(&mut RawPose)| {
            let mut raw = lin();
            change(&mut raw.poses[0]);
            raw
        };
        let table = [
            (RawPrimitive { kind: 7, ..ptp() }, "unknown motion type 7"),
            (RawPrimitive { kind: -1, ..ptp() }, "unknown motion type -1"),
            (RawPrimitive { joint_positions: vec![], ..ptp() }, "got 0"),
            (RawPrimitive { joint_positions: vec![0.0; 7], ..ptp() }, "got 7"),
            (
                RawPrimitive { joint_positions: vec![0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0], ..ptp() },
                "joint_positions[2] is NaN",
            ),
            (RawPrimitive { poses: vec![], ..lin() }, "needs a pose"),
            (RawPrimitive { poses: vec![at(0.0)], ..circ() }, "got 1"),
            (RawPrimitive { poses: vec![at(0.0), at(0.1), at(0.2)], ..circ() }, "got 3"),
            (RawPrimitive { poses: vec![at(0.1), at(0.1)], ..circ() }, "same point"),
            (RawPrimitive { arguments: vec![], ..ptp() }, "timing is missing"),
            (RawPrimitive { arguments: arguments(&[("velocity", 1.0)]), ..lin() }, "timing is missing"),
            (
                RawPrimitive { arguments: arguments(&[("velocity", 0.0), ("acceleration", 1.0)]), ..lin() },
                "timing is missing",
            ),
            (RawPrimitive { arguments: arguments(&[("move_time", 1.0)]), ..circ() }, "CIRC is timed by"),
            (
                RawPrimitive { arguments: arguments(&[("velocity", -1.0), ("acceleration", 1.0)]), ..lin() },
                "negative",
            ),
            (
                RawPrimitive { arguments: arguments(&[("move_time", f64::INFINITY)]), ..ptp() },
                "move_time is inf",
            ),
            (
                RawPrimitive { arguments: arguments(&[("velocity", 1.0), ("velocity", 2.0)]), ..ptp() },
                "given twice",
            ),
            (RawPrimitive { blend_radius: -0.1, ..ptp() }, "blend_radius is -0.1"),
            (RawPrimitive { blend_radius: f64::NAN, ..ptp() }, "blend_radius is NaN"),
            (RawPrimitive { blend_radius: 1e9, ..ptp() }, "check the unit"),
            (
                RawPrimitive {
                    arguments: arguments(&[("velocity", 1.0), ("acceleration", 5e-324)]),
                    ..ptp()
                },
                "acceleration is 5e-324: beyond any robot",
            ),
            (
                RawPrimitive { arguments: arguments(&[("velocity", 1e5), ("acceleration", 1.0)]), ..lin() },
                "velocity is 100000.0: beyond any robot, check the unit",
            ),
            (RawPrimitive { arguments: arguments(&[("move_time", 1e-7)]), ..ptp() }, "check the unit"),
            (RawPrimitive { arguments: arguments(&[("move_time", 1e5)]), ..ptp() }, "move_time is 100000"),
            (pose_with(|p| p.orientation = [0.0; 4]), "length 0.0000"),
            (pose_with(|p| p.orientation = [0.0, 0.0, 0.0, 2.0]), "length 2.0000"),
            (pose_with(|p| p.position[1] = f64::INFINITY), "position is inf"),
            (pose_with(|p| p.frame_id = "camera".into()), "in frame \"camera\", and nothing"),
            (RawPrimitive { poses: vec![at(0.1)], ..ptp() }, "got both"),
            (RawPrimitive { kind: 52, poses: vec![], ..lin() }, "POLYLINE needs poses"),
            (RawPrimitive { poses: vec![], joint_positions: vec![0.0; 5], ..lin() }, "got 5"),
        ];
        for (raw, expected) in table {
            let reason = verdict(&raw).expect_err(expected).to_string();
            assert!(reason.contains(expected), "{reason:?} should mention {expected:?}");
        }
    }

    #[test]
    fn an_almost_unit_quaternion_is_normalised() {
        let mut raw = lin();
        raw.poses[0].orientation = [0.0, 0.0, 0.0, 1.01];
        let Command::Move(Primitive { motion: Motion::Linear { goal }, .. }) = verdict(&raw).unwrap().command
        else {
            panic!("LIN expected");
        };
        assert!((goal.rotation.quaternion().norm() - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn whatever_passes_is_finite(kind in prop::sample::select(vec![0i16, 10, 50, 51, 52, 66, 7]),
                                     numbers in prop::collection::vec(any::<f64>(), 18), count in 0usize..9) {
            let pose = |n: &[f64]| RawPose { frame_id: String::new(), position: [n[0], n[1], n[2]], orientation: [0.0, 0.0, 0.0, n[3]] };
            let raw = RawPrimitive {
                kind,
                blend_radius: numbers[0],
                arguments: arguments(&[("velocity", numbers[1]), ("acceleration", numbers[2])]),
                poses: (0..count.min(3)).map(|i| pose(&numbers[3 + i..])).collect(),
                joint_positions: if count % 2 == 0 { numbers[9..9 + count].to_vec() } else { vec![] },
            };
            if let Ok(Checked { command: Command::Move(primitive), .. }) = verdict(&raw) {
                prop_assert!(primitive.blend_radius.is_finite() && primitive.blend_radius >= 0.0);
                let finite = match primitive.motion {
                    Motion::Joint { target } | Motion::LinearJoints { target } => target.iter().all(|v| v.is_finite()),
                    Motion::Linear { goal } | Motion::JointPose { goal } => goal.translation.vector.iter().all(|v| v.is_finite()),
                    Motion::Circular { goal, via } => (goal.translation.vector + via.translation.vector).iter().all(|v| v.is_finite()),
                };
                prop_assert!(finite);
            }
        }
    }
}
