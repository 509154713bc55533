//! A YAML file of moves, written by people.
//!
//! ```yaml
//! - ptp: [0.0, -1.2, 1.0, 0.0, 0.5, 0.0]     # six joint angles, rad
//!   velocity: 1.0                            # rad/s
//!   acceleration: 3.0                        # rad/s²
//! - lin: {position: [0.3, 0.4, 0.1], orientation: [0, 0, 0, 1]}   # metres; quaternion x, y, z, w
//!   velocity: 0.2                            # m/s
//!   acceleration: 1.0
//! - ptp: {position: [0.3, 0.4, 0.1], orientation: [0, 0, 0, 1]}   # to a pose, the shortest way for the joints
//!   move_time: 2.0
//! - polyline: [{…}, {…}, {…}]                # lines through all of them
//!   velocity: 0.2
//!   acceleration: 1.0
//!   blend_radius: 0.01                       # at each corner
//! - sequence:                                # one blended motion
//!     - {ptp: […], move_time: 2.0, blend_radius: 0.02}
//!     - {circ: {via: {…}, goal: {…}}, velocity: 0.2, acceleration: 1.0}
//! ```

use serde::Deserialize;

use crate::{Frames, RawPose, RawPrimitive, check, primitive::code};

/// The primitives of a file, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Program(pub Vec<Step>);

/// What stands at the top level of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// One move with a stop at its end.
    Single(RawPrimitive),
    /// Moves that are one blended motion.
    Sequence(Vec<RawPrimitive>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    ptp: Option<Target>,
    lin: Option<Target>,
    circ: Option<Arc>,
    polyline: Option<Vec<Pose>>,
    sequence: Option<Vec<Entry>>,
    velocity: Option<f64>,
    acceleration: Option<f64>,
    move_time: Option<f64>,
    blend_radius: Option<f64>,
}

/// Where a move goes.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "give six joint angles, or a pose {position: [x, y, z], orientation: [x, y, z, w]}"
)]
enum Target {
    Joints(Vec<f64>),
    Pose(Pose),
}

impl Target {
    fn into_parts(self) -> (Vec<f64>, Vec<RawPose>) {
        match self {
            Self::Joints(joints) => (joints, vec![]),
            Self::Pose(pose) => (vec![], vec![pose.into()]),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pose {
    position: [f64; 3],
    orientation: [f64; 4],
    #[serde(default)]
    frame: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arc {
    via: Pose,
    goal: Pose,
}

impl From<Pose> for RawPose {
    fn from(pose: Pose) -> Self {
        Self { frame_id: pose.frame, position: pose.position, orientation: pose.orientation }
    }
}

impl Entry {
    fn into_step(self, place: &str) -> Result<Step, String> {
        let has_figures =
            [self.velocity, self.acceleration, self.move_time, self.blend_radius].iter().any(Option::is_some);
        match self.sequence {
            Some(entries)
                if self.ptp.is_none()
                    && self.lin.is_none()
                    && self.circ.is_none()
                    && self.polyline.is_none()
                    && !has_figures =>
            {
                let place_of = |i: usize| format!("{place}, move {} of the sequence", i + 1);
                let moves = entries.into_iter().enumerate().map(|(i, entry)| match entry.sequence {
                    None => entry.into_move(&place_of(i)),
                    Some(_) => Err(format!("{}: a sequence inside a sequence", place_of(i))),
                });
                let moves = moves.collect::<Result<Vec<_>, _>>()?;
                if moves.is_empty() {
                    return Err(format!("{place}: the sequence is empty"));
                }
                Ok(Step::Sequence(moves))
            }
            Some(_) => Err(format!("{place}: a sequence has its figures in its moves")),
            None => self.into_move(place).map(Step::Single),
        }
    }

    fn into_move(self, place: &str) -> Result<RawPrimitive, String> {
        let (kind, (joint_positions, poses)) = match (self.ptp, self.lin, self.circ, self.polyline) {
            (Some(target), None, None, None) => (code::LINEAR_JOINT, target.into_parts()),
            (None, Some(target), None, None) => (code::LINEAR_CARTESIAN, target.into_parts()),
            (None, None, Some(arc), None) => {
                (code::CIRCULAR_CARTESIAN, (vec![], vec![arc.goal.into(), arc.via.into()]))
            }
            (None, None, None, Some(poses)) => {
                (code::POLYLINE, (vec![], poses.into_iter().map(RawPose::from).collect()))
            }
            _ => return Err(format!("{place}: give exactly one of ptp, lin, circ, polyline and sequence")),
        };
        let figures =
            [("velocity", self.velocity), ("acceleration", self.acceleration), ("move_time", self.move_time)];
        let raw = RawPrimitive {
            kind,
            blend_radius: self.blend_radius.unwrap_or(0.0),
            arguments: figures
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                .collect(),
            poses,
            joint_positions,
        };
        // A controller would refuse it as well, but only after the moves before it. Which frames it knows is its own matter.
        let mut anywhere = raw.clone();
        anywhere.poses.iter_mut().for_each(|pose| pose.frame_id.clear());
        check(&anywhere, &Frames::default()).map_err(|reason| format!("{place}: {reason}"))?;
        Ok(raw)
    }
}

impl Program {
    /// Reads a file's text. The error says which move is wrong and why.
    pub fn parse(yaml: &str) -> Result<Self, String> {
        let entries: Vec<Entry> = serde_yaml_ng::from_str(yaml).map_err(|error| error.to_string())?;
        if entries.is_empty() {
            return Err("the file has no moves".into());
        }
        let steps =
            entries.into_iter().enumerate().map(|(i, entry)| entry.into_step(&format!("step {}", i + 1)));
        steps.collect::<Result<_, _>>().map(Self)
    }

    /// As the reference topic wants it: sequences between their markers.
    pub fn messages(&self) -> Vec<RawPrimitive> {
        let marker = |kind| RawPrimitive { kind, ..RawPrimitive::default() };
        let mut messages = Vec::new();
        for step in &self.0 {
            match step {
                Step::Single(one) => messages.push(one.clone()),
                Step::Sequence(moves) => {
                    messages.push(marker(code::MOTION_SEQUENCE_START));
                    messages.extend(moves.iter().cloned());
                    messages.push(marker(code::MOTION_SEQUENCE_END));
                }
            }
        }
        messages
    }

    /// As an action wants it: moves only, one blended motion.
    pub fn moves(&self) -> Vec<RawPrimitive> {
        let moves = |step: &Step| match step {
            Step::Single(one) => vec![one.clone()],
            Step::Sequence(moves) => moves.clone(),
        };
        self.0.iter().flat_map(moves).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(yaml: &str) -> Result<Program, String> {
        Program::parse(yaml)
    }

    #[test]
    fn a_file_becomes_messages_in_order() {
        let program = parse(
            "- ptp: [0, 0, 0, 0, 0, 0]\n  velocity: 1\n  acceleration: 2\n\
             - sequence:\n  - {lin: {position: [0.1, 0.2, 0.3], orientation: [0, 0, 0, 1]}, move_time: 2, blend_radius: 0.01}\n  - circ:\n      via: {position: [1, 0, 0], orientation: [0, 0, 0, 1]}\n      goal: {position: [0, 1, 0], orientation: [0, 0, 0, 1], frame: base}\n    velocity: 0.1\n    acceleration: 1\n",
        )
        .unwrap();
        let messages = program.messages();
        assert_eq!(messages.iter().map(|m| m.kind).collect::<Vec<_>>(), [0, 100, 50, 51, 101]);
        assert_eq!(messages[3].poses[0].position, [0.0, 1.0, 0.0], "the goal comes first, then via");
        assert_eq!(messages[2].arguments, [("move_time".to_owned(), 2.0)]);
        assert_eq!(program.moves().len(), 3);
    }

    #[test]
    fn ptp_to_a_pose_lin_to_joints_and_a_polyline() {
        let program = parse(
            "- {ptp: {position: [0.1, 0.2, 0.3], orientation: [0, 0, 0, 1]}, move_time: 1}\n\
             - {lin: [0, 0, 0, 0, 0, 0], move_time: 1}\n\
             - {polyline: [{position: [0.1, 0.2, 0.3], orientation: [0, 0, 0, 1]}, {position: [0.1, 0.2, 0.4], orientation: [0, 0, 0, 1]}], velocity: 1, acceleration: 1, blend_radius: 0.01}",
        )
        .unwrap();
        let shapes: Vec<_> =
            program.moves().iter().map(|m| (m.kind, m.poses.len(), m.joint_positions.len())).collect();
        assert_eq!(shapes, [(0, 1, 0), (50, 0, 6), (52, 2, 0)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let table = [
            ("[]", "no moves"),
            ("- {velocity: 1, acceleration: 1}", "step 1: give exactly one of ptp"),
            (
                "- {ptp: [0, 0, 0, 0, 0, 0], lin: {position: [0, 0, 0], orientation: [0, 0, 0, 1]}}",
                "step 1: give exactly one",
            ),
            (
                "- {ptp: [0, 0], velocity: 1, acceleration: 1}",
                "step 1: PTP and LIN to joints need exactly 6 joint_positions, got 2",
            ),
            ("- {ptp: [0, 0, 0, 0, 0, 0]}", "step 1: timing is missing"),
            (
                "- sequence: [{ptp: [0, 0, 0, 0, 0, 0], move_time: -1}]",
                "step 1, move 1 of the sequence: move_time is -1",
            ),
            ("- sequence: []", "step 1: the sequence is empty"),
            ("- sequence: [{sequence: []}]", "a sequence inside a sequence"),
            ("- {sequence: [], velocity: 1}", "figures in its moves"),
            ("- {pttp: [0]}", "unknown field `pttp`"),
            ("- {lin: {position: [0, 0], orientation: [0, 0, 0, 1]}}", "give six joint angles, or a pose"),
            ("ptp", "expected a sequence"),
        ];
        for (yaml, expected) in table {
            let reason = parse(yaml).map(drop).expect_err(expected);
            assert!(reason.contains(expected), "{reason:?} should contain {expected:?}");
        }
    }
}
