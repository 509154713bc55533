//! Moves planned from where the robot is: geometry and time, inside every limit of the robot.

use rosless_kinematics::{Joints, LimitViolation, Robot, Unreachable};

use crate::{
    carrier::NO_WAY,
    law::{Law, Section},
    limits::{Bounds, SHARES, is_bent},
    path::{Body, Joined, Path},
    primitive::{Motion, Primitive, Timing},
    zones::Zones,
};

pub use crate::run::{Passed, Run};

/// What the hand may do, beside the limits of the joints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MotionLimits {
    /// m/s.
    pub velocity: f64,
    /// m/s², in all directions together.
    pub acceleration: f64,
    /// m/s³.
    pub jerk: f64,
}

impl Default for MotionLimits {
    fn default() -> Self {
        Self { velocity: 1.0, acceleration: 5.0, jerk: 100.0 }
    }
}

/// Why a primitive cannot be executed from where the robot is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// Joint angles that the robot cannot have.
    #[error("the target is outside the joint limits: {0}")]
    Target(#[from] LimitViolation),
    /// A pose on the way that the robot cannot have.
    #[error("the path cannot be followed beyond {percent:.0} % of its length: {reason}")]
    Unreachable {
        /// How far it can be followed.
        percent: f64,
        /// What is in the way.
        reason: Unreachable,
    },
    /// Two neighbouring poses need postures that are far apart.
    #[error(
        "the path passes a singularity at {percent:.0} % of its length: joint {} would have to jump by {jump:.1} rad; use PTP or another posture", .joint + 1
    )]
    Singular {
        /// Where on the path.
        percent: f64,
        /// The joint that would have to turn fastest, from 0.
        joint: usize,
        /// How far.
        jump: f64,
    },
    /// Possible, but nearly standing.
    #[error(
        "the path leads so close to a singularity that {share:.1} % of the wanted speed is possible; use PTP or another posture"
    )]
    TooSlow {
        /// Percent of the speed.
        share: f64,
    },
    /// CIRC that is none.
    #[error("start, via and goal are on one line: there is no circle through them")]
    Collinear,
    /// LIN to joints ends in the right place with other angles.
    #[error("a straight line leads to that place in another posture than the joint angles ask for; use PTP")]
    OtherPosture,
    /// Faster than the robot.
    #[error("move_time {asked:.3} s is too short: this robot needs at least {needed:.3} s")]
    MoveTime {
        /// What was asked for.
        asked: f64,
        /// What is possible.
        needed: f64,
    },
    /// Slower than anybody means.
    #[error("the move would take {0:.0} s, longer than a day; check velocity, acceleration and move_time")]
    TooLong(f64),
    /// Somewhere it must not go.
    #[error("at {percent:.0} % of its length the arm would enter {zone}")]
    Zone {
        /// Which.
        zone: String,
        /// Where on the path.
        percent: f64,
    },
}

/// Joint angles, speeds and accelerations at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointState {
    /// rad.
    pub position: Joints,
    /// rad/s.
    pub velocity: Joints,
    /// rad/s².
    pub acceleration: Joints,
}

impl JointState {
    /// Standing there.
    pub fn resting(position: Joints) -> Self {
        Self { position, velocity: Joints::zeros(), acceleration: Joints::zeros() }
    }
}

/// A robot and everything that limits its motion.
#[derive(Debug, Clone, PartialEq)]
pub struct Planner {
    /// Its geometry and joints.
    pub robot: Robot,
    /// What the hand may do.
    pub hand: MotionLimits,
    /// Where no part of it may go.
    pub zones: Zones,
}

/// Motions that follow each other with a stop between them.
#[derive(Debug, Clone, Default)]
pub struct Planned {
    /// In order.
    pub runs: Vec<Run>,
    /// What the client should know about a move.
    pub notes: Vec<(u64, String)>,
}

impl Planned {
    /// Seconds of all of it.
    pub fn duration(&self) -> f64 {
        self.runs.iter().map(Run::duration).sum()
    }

    /// The joints `t` seconds after the beginning.
    pub fn at(&self, t: f64) -> Option<JointState> {
        let mut left = t;
        for run in &self.runs {
            if left <= run.duration() {
                return Some(run.at(left));
            }
            left -= run.duration();
        }
        self.runs.last().map(|last| last.at(last.duration()))
    }
}

impl Planner {
    /// A robot that keeps out of nothing.
    pub fn new(robot: Robot, hand: MotionLimits) -> Self {
        Self { robot, hand, zones: Zones::default() }
    }

    pub(crate) fn bounds(&self) -> Bounds<'_> {
        Bounds { joints: &self.robot.limits, hand: &self.hand }
    }

    /// Plans moves from the joint angles `start`; the radius of each is where it blends into the next. `pace` is the share
    /// of the speed, above 0 and up to 1.
    ///
    /// # Errors
    /// Names the first move that is impossible, and why.
    pub fn plan(
        &self,
        start: &Joints,
        moves: &[(u64, Primitive)],
        pace: f64,
    ) -> Result<Planned, (usize, PlanError)> {
        let mut planned = Planned::default();
        let mut path = Path::from(*start);
        let mut here = *start;
        for (i, (id, primitive)) in moves.iter().enumerate() {
            let around = path.pace().or_else(|| hand_pace(moves.get(i + 1).map(|(_, next)| next)));
            let body = Body::new(&self.robot, &here, primitive, around).map_err(|error| (i, error))?;
            if body.length() < NO_WAY {
                self.flush(&mut path, here, pace, &mut planned).map_err(|error| (i, error))?;
                planned.runs.push(Run::dwell(here, *id, primitive));
                continue;
            }
            let radius = if path.pieces.is_empty() { 0.0 } else { moves[i - 1].1.blend_radius };
            if radius == 0.0 {
                self.flush(&mut path, here, pace, &mut planned)
                    .map_err(|error| (i.saturating_sub(1), error))?;
            }
            match path.join(&self.robot, &self.hand, *id, body.clone(), radius, 0.0) {
                Joined::Smoothly { reduced: Some(used) } => planned.notes.push((
                    moves[i - 1].0,
                    format!(
                        "blend_radius {radius} m is more than the moves have room for: {used:.4} m is used"
                    ),
                )),
                Joined::Stop if radius > 0.0 => {
                    let note =
                        format!("there is no room for a blend_radius of {radius} m: the robot stops there");
                    planned.notes.push((moves[i - 1].0, note));
                    self.flush(&mut path, here, pace, &mut planned).map_err(|error| (i - 1, error))?;
                    path.join(&self.robot, &self.hand, *id, body, 0.0, 0.0);
                }
                _ => {}
            }
            here = path.end_joints();
        }
        let last = moves.len().saturating_sub(1);
        self.flush(&mut path, here, pace, &mut planned).map_err(|error| (last, error))?;
        if let (Some(run), Some((_, primitive))) = (planned.runs.last_mut(), moves.last()) {
            run.set_radius(primitive.blend_radius);
        }
        Ok(planned)
    }

    /// Ends the motion so far; the next path begins `here`.
    fn flush(
        &self,
        path: &mut Path,
        here: Joints,
        pace: f64,
        planned: &mut Planned,
    ) -> Result<(), PlanError> {
        let path = std::mem::replace(path, Path::from(here));
        if !path.pieces.is_empty() {
            planned.runs.push(Run::new(self, path, pace, &mut planned.notes)?);
        }
        Ok(())
    }

    pub(crate) fn keeps_out(&self, path: &Path, from: f64) -> Result<(), PlanError> {
        if self.zones.is_empty() {
            return Ok(());
        }
        for piece in path.pieces.iter().filter(|piece| piece.start + piece.length > from) {
            let steps = (piece.length / 0.01).ceil().clamp(8.0, 1000.0) as usize;
            for i in 0..=steps {
                let share = i as f64 / steps as f64;
                let joints = path.at(piece.start + piece.length * share).joints;
                if let Some(zone) = self.zones.entered(&self.robot, &joints) {
                    return Err(PlanError::Zone { zone: zone.to_owned(), percent: 100.0 * share });
                }
            }
        }
        Ok(())
    }

    /// Whether every joint keeps its limits from `t` on: a motion that is changed while it is driven is looked at once more.
    pub(crate) fn allows(&self, path: &Path, law: &Law, t: f64) -> bool {
        const LOOKS: u32 = 300;
        let step = (law.end() - t) / f64::from(LOOKS);
        (0..=LOOKS).all(|i| {
            let along = law.at(t + step * f64::from(i));
            let point = path.at(along.s);
            let accelerations = point.bend * (along.speed * along.speed) + point.slope * along.acceleration;
            self.robot.limits.0.iter().enumerate().all(|(joint, limit)| {
                (point.slope[joint] * along.speed).abs() <= limit.velocity
                    && accelerations[joint].abs() <= limit.acceleration
            })
        })
    }

    /// The fastest law on `path` from `from`, where the speed is `speed`.
    pub(crate) fn law(&self, path: &Path, from: f64, speed: f64, pace: f64) -> Option<(Law, Vec<Section>)> {
        let mut best: Option<(Law, Vec<Section>)> = None;
        let tried = if is_bent(path) { SHARES.len() } else { 1 };
        for shares in SHARES.into_iter().take(tried) {
            let full = self.bounds().sections(path, from, shares);
            let mut sections = full.clone();
            sections.iter_mut().for_each(|section| section.velocity *= pace);
            if let Some(law) = slowed_to(from, speed, &sections, &full)
                && best.as_ref().is_none_or(|(fastest, _)| law.end() < fastest.end())
            {
                best = Some((law, sections));
            }
        }
        best
    }
}

/// The fastest law over `sections`; a speed that is too high for the first ones is brought down as soon as possible. It is
/// never higher than what a section allows in `full`, for which its acceleration and jerk are meant.
fn slowed_to(s: f64, speed: f64, sections: &[Section], full: &[Section]) -> Option<Law> {
    let first = sections.first()?;
    let fits = |i: usize| speed <= full[i].velocity * (1.0 + 1e-6);
    if !fits(0) {
        return None;
    }
    if speed <= first.velocity {
        return Law::fastest(s, speed, sections);
    }
    // The ramp down may reach into further sections: it keeps the limits of all it touches.
    let mut ramp = Section { velocity: speed, length: 0.0, ..*first };
    let mut target = first.velocity;
    let (mut covered, mut end) = (1, first.length);
    loop {
        let change = speed - target;
        let Section { acceleration: a, jerk: j, .. } = ramp;
        let time = if change * j >= a * a { change / a + a / j } else { 2.0 * (change / j).sqrt() };
        ramp.length = (speed + target) / 2.0 * time;
        if ramp.length <= end {
            break;
        }
        let next = sections.get(covered).filter(|_| fits(covered))?;
        ramp.acceleration = ramp.acceleration.min(next.acceleration);
        ramp.jerk = ramp.jerk.min(next.jerk);
        target = target.min(next.velocity);
        end += next.length;
        covered += 1;
    }
    let rest = Section { length: end - ramp.length, ..sections[covered - 1] };
    let mut slower = vec![ramp];
    slower.extend((rest.length > 0.0).then_some(rest));
    slower.extend(&sections[covered..]);
    Law::fastest(s, speed, &slower)
}

/// The speed of the hand that a move asks for.
fn hand_pace(primitive: Option<&Primitive>) -> Option<f64> {
    match primitive? {
        Primitive { motion: Motion::Joint { .. } | Motion::JointPose { .. }, .. } => None,
        Primitive { timing: Timing::Limits { velocity, .. }, .. } => Some(*velocity),
        Primitive { timing: Timing::MoveTime(_), .. } => None,
    }
}
