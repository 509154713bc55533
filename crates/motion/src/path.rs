//! The way through several moves: their bodies, and blends that join them without a stop.
//!
//! Between two lines of the hand a blend is a curve in space ([`Corner`]). Everywhere else it is made in the joints: the
//! end of one move and the beginning of the next are added, the one fading out while the other fades in. Both leave and
//! join the moves with equal slope and bend, so neither speed nor acceleration jumps.

use std::sync::Arc;

use nalgebra::{Vector3, Vector6};
use rosless_kinematics::{Joints, Robot};

use crate::{
    carrier::{Carrier, NO_WAY, Point},
    hand::{CORNER_STEPS, Corner, HandPath, fade},
    limits::Bounds,
    plan::{MotionLimits, PlanError},
    primitive::{Motion, Primitive, Timing},
};

/// Way of the hand between two exact solutions of the inverse kinematics.
const KNOT_SPACING: f64 = 0.004;
/// Turn of the hand between two exact solutions.
const KNOT_ANGLE: f64 = 0.03;
const KNOTS: std::ops::RangeInclusive<usize> = 16..=2400;
/// A joint that turns more than this between two knots has changed to another posture.
const POSTURE_JUMP: f64 = 0.35;
/// Metres that a hand may leave its line between two knots, with a lever of a metre and a half.
const OFF_LINE: f64 = 3e-7;
const LEVER: f64 = 1.5;
/// A blend takes no more than this share of a move that has another one at its other end, or none.
const SHARED: f64 = 0.49;
const ALONE: f64 = 0.9;
/// Blends shorter than this are not worth the name.
const SHORTEST_BLEND: f64 = 1e-4;
/// Both sides of a blend in the joints differ by no more than this factor, or one of them would have to turn back.
const EVEN_SIDES: f64 = 1.5;

/// What a client wants of a piece, in the units of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Nominal {
    pub(crate) velocity: f64,
    /// Along the path.
    pub(crate) acceleration: f64,
    /// Of the hand in all directions; infinite where the client spoke of joints.
    pub(crate) hand_acceleration: f64,
}

impl Nominal {
    fn both(&self, other: &Self) -> Self {
        Self {
            velocity: self.velocity.min(other.velocity),
            acceleration: self.acceleration.min(other.acceleration),
            hand_acceleration: self.hand_acceleration.min(other.hand_acceleration),
        }
    }
}

/// The derivatives of joints and hand at one place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) s: f64,
    pub(crate) slope: Joints,
    pub(crate) bend: Joints,
    pub(crate) twist: Joints,
    /// Lengths of the first three derivatives of the hand's place.
    pub(crate) hand: [f64; 3],
    /// What the limits allow here; see [`Bounds::ratios`].
    pub(crate) least: [f64; 3],
}

#[derive(Debug, Clone)]
enum Shape {
    Along { carrier: Arc<Carrier>, from: f64 },
    Overlay { carriers: [Arc<Carrier>; 2], reach: [f64; 2], corner: Joints },
}

/// How the hand moves on a piece.
#[derive(Debug, Clone)]
enum Hand {
    /// As the joints make it.
    Joints,
    /// Along its own path, the second derivative at right angles to the first.
    Path(HandPath),
    Corner(Box<Corner>),
}

/// A part of the way with one geometry.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// The primitive it belongs to; of a blend the one it leads into.
    pub(crate) id: u64,
    pub(crate) is_blend: bool,
    pub(crate) start: f64,
    pub(crate) length: f64,
    pub(crate) nominal: Nominal,
    /// Seconds the client wants it to take.
    pub(crate) move_time: Option<f64>,
    shape: Shape,
    hand: Hand,
    /// Empty until somebody needs them.
    pub(crate) samples: Vec<Sample>,
}

impl Piece {
    fn at(&self, s: f64) -> Point {
        match &self.shape {
            Shape::Along { carrier, from } => carrier.at(from + s - self.start),
            Shape::Overlay { carriers: [a, b], reach, corner } => {
                let u = ((s - self.start) / self.length).clamp(0.0, 1.0);
                let per = 1.0 / self.length;
                let out = fade(u, self.length / reach[0]).map(|x| x * reach[0]);
                let into = fade(1.0 - u, self.length / reach[1]).map(|x| x * reach[1]);
                let leaving = a.at(a.length() - out[0]);
                let coming = b.at(into[0]);
                let mut sum =
                    composed(&leaving, [-out[1] * per, -out[2] * per * per, -out[3] * per * per * per]);
                let other =
                    composed(&coming, [-into[1] * per, into[2] * per * per, -into[3] * per * per * per]);
                sum.joints += other.joints - corner;
                sum.slope += other.slope;
                sum.bend += other.bend;
                sum.twist += other.twist;
                sum
            }
        }
    }

    /// Whether the hand's second derivative is at right angles to its first.
    pub(crate) fn is_cartesian(&self) -> bool {
        !matches!(self.hand, Hand::Joints)
    }

    /// Fills `samples`.
    fn sample(&mut self, robot: &Robot, bounds: &Bounds<'_>) {
        let count = match (&self.hand, &self.shape) {
            (Hand::Corner(_), _) => CORNER_STEPS,
            (Hand::Path(_), Shape::Along { carrier, .. }) => match &**carrier {
                Carrier::Curve { length, knots, .. } => {
                    ((self.length / length * (knots.len() - 1) as f64).ceil() as usize).max(2)
                }
                Carrier::Straight { .. } => 4,
            },
            (_, Shape::Along { carrier, .. }) => match &**carrier {
                Carrier::Straight { slope, .. } => {
                    ((slope.amax() * self.length / 0.12).ceil() as usize).clamp(6, 60)
                }
                Carrier::Curve { .. } => 16,
            },
            (_, Shape::Overlay { .. }) => 16,
        };
        self.samples.reserve(count + 1);
        let mut last = None;
        for i in 0..=count {
            let s = self.start + self.length * i as f64 / count as f64;
            let Point { joints, slope, bend, twist } = self.at(s);
            let hand = match &self.hand {
                Hand::Path(path) => path.bends(),
                Hand::Corner(corner) => corner.bends(i),
                Hand::Joints => {
                    let motion = robot.chain.motion(&joints, &slope, &bend);
                    let step = self.length / count as f64;
                    let change =
                        last.map_or(0.0, |last: Vector3<f64>| (motion.acceleration - last).norm() / step);
                    last = Some(motion.acceleration);
                    // The third derivative lies between two samples: both get it.
                    if let Some(before) = self.samples.last_mut() {
                        before.hand[2] = before.hand[2].max(change);
                    }
                    [motion.velocity.norm(), motion.acceleration.norm(), change]
                }
            };
            self.samples.push(Sample { s, slope, bend, twist, hand, least: [0.0; 3] });
        }
        for sample in &mut self.samples {
            sample.least = bounds.ratios(sample, &self.nominal);
        }
    }
}

fn composed(point: &Point, [s1, s2, s3]: [f64; 3]) -> Point {
    Point {
        joints: point.joints,
        slope: point.slope * s1,
        bend: point.bend * (s1 * s1) + point.slope * s2,
        twist: point.twist * (s1 * s1 * s1) + point.bend * (3.0 * s1 * s2) + point.slope * s3,
    }
}

/// What became of the blend before a move.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Joined {
    /// The path goes on without a stop.
    Smoothly {
        /// The radius that is used, when the wanted one does not fit.
        reduced: Option<f64>,
    },
    /// There is nothing to blend with, or no room: the robot stops between the two.
    Stop,
}

/// A move whose geometry is known, before it is joined to a path.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    carrier: Arc<Carrier>,
    hand: Hand,
    nominal: Nominal,
    move_time: Option<f64>,
}

impl Body {
    pub(crate) fn length(&self) -> f64 {
        self.carrier.length()
    }

    /// The geometry of `primitive` from `start`. `pace` is the speed of the hand around a move of the joints, so that both
    /// are measured alike.
    pub(crate) fn new(
        robot: &Robot,
        start: &Joints,
        primitive: &Primitive,
        pace: Option<f64>,
    ) -> Result<Self, PlanError> {
        let here = || robot.forward(start);
        let unreachable = |reason| PlanError::Unreachable { percent: 100.0, reason };
        let path = match primitive.motion {
            Motion::Joint { target } => {
                robot.limits.check(&target)?;
                return Ok(Self::joint(start, target, primitive, pace));
            }
            Motion::JointPose { goal } => {
                let target = robot.inverse(&goal, start).map_err(unreachable)?;
                return Ok(Self::joint(start, target, primitive, pace));
            }
            Motion::Linear { goal } => HandPath::line(&here(), &goal),
            Motion::LinearJoints { target } => {
                robot.limits.check(&target)?;
                HandPath::line(&here(), &robot.forward(&target))
            }
            Motion::Circular { goal, via } => {
                HandPath::arc(&here(), &via, &goal).ok_or(PlanError::Collinear)?
            }
        };
        let carrier = curve(robot, start, &path)?;
        if let Motion::LinearJoints { target } = primitive.motion
            && (carrier.end() - target).amax() > 1e-3
        {
            return Err(PlanError::OtherPosture);
        }
        let length = carrier.length();
        let nominal = match primitive.timing {
            Timing::Limits { velocity, acceleration } => {
                Nominal { velocity, acceleration, hand_acceleration: acceleration }
            }
            Timing::MoveTime(seconds) => timed(length, seconds),
        };
        Ok(Self {
            carrier: Arc::new(carrier),
            hand: Hand::Path(path),
            nominal,
            move_time: move_time(primitive),
        })
    }

    fn joint(start: &Joints, target: Joints, primitive: &Primitive, pace: Option<f64>) -> Self {
        let way = (target - start).amax();
        let (scale, nominal) = match primitive.timing {
            Timing::Limits { velocity, acceleration } => {
                let scale = pace.map_or(1.0, |pace| pace / velocity).clamp(1e-3, 1e3);
                let nominal = Nominal {
                    velocity: velocity * scale,
                    acceleration: acceleration * scale,
                    hand_acceleration: f64::INFINITY,
                };
                (scale, nominal)
            }
            Timing::MoveTime(seconds) => (1.0, timed(way, seconds)),
        };
        Self {
            carrier: Arc::new(Carrier::straight(*start, target, scale)),
            hand: Hand::Joints,
            nominal,
            move_time: move_time(primitive),
        }
    }
}

fn move_time(primitive: &Primitive) -> Option<f64> {
    match primitive.timing {
        Timing::MoveTime(seconds) => Some(seconds),
        Timing::Limits { .. } => None,
    }
}

/// Only the robot limits the acceleration of a move that is given its time; a quarter of it goes into each ramp.
fn timed(length: f64, seconds: f64) -> Nominal {
    let velocity = (4.0 / 3.0 * length / seconds).max(f64::MIN_POSITIVE);
    Nominal { velocity, acceleration: f64::INFINITY, hand_acceleration: f64::INFINITY }
}

/// Joint angles along the hand's path.
fn curve(robot: &Robot, start: &Joints, path: &HandPath) -> Result<Carrier, PlanError> {
    let length = path.length();
    if length < NO_WAY {
        return Ok(Carrier::straight(*start, *start, 1.0));
    }
    let wanted = (length / KNOT_SPACING).max(path.turn() / KNOT_ANGLE).ceil() as usize + 1;
    let mut count = wanted.clamp(*KNOTS.start(), *KNOTS.end());
    loop {
        let mut knots = Vec::with_capacity(count);
        knots.push(*start);
        for i in 1..count {
            let share = i as f64 / (count - 1) as f64;
            let percent = 100.0 * share;
            let last = knots[i - 1];
            // The motion so far is the best guess which of the postures is meant.
            let near = if i > 1 { last * 2.0 - knots[i - 2] } else { last };
            let joints = robot
                .inverse_along(&path.pose(share), &near)
                .map_err(|reason| PlanError::Unreachable { percent, reason })?;
            let joint = (joints - last).iamax();
            let jump = (joints[joint] - last[joint]).abs();
            if jump > POSTURE_JUMP {
                return Err(PlanError::Singular { percent, joint, jump });
            }
            knots.push(joints);
        }
        let slopes = [0.0, 1.0].map(|share| {
            let (velocity, spin) = path.twist(share);
            let twist = Vector6::new(velocity.x, velocity.y, velocity.z, spin.x, spin.y, spin.z);
            let joints = if share == 0.0 { start } else { &knots[count - 1] };
            robot.chain.jacobian(joints).lu().solve(&twist)
        });
        let step = length / (count - 1) as f64;
        let chord = |a: usize, b: usize| (knots[b] - knots[a]) / step;
        let first = slopes[0].unwrap_or_else(|| chord(0, 1));
        let last = slopes[1].unwrap_or_else(|| chord(count - 2, count - 1));
        let carrier = Carrier::through(length, knots, first, last);
        if off_line(&carrier) < OFF_LINE || count * 2 > *KNOTS.end() {
            return Ok(carrier);
        }
        count *= 2;
    }
}

/// An estimate how far a spline leaves the curve between its knots, from how its third derivative changes.
fn off_line(carrier: &Carrier) -> f64 {
    let Carrier::Curve { length, knots, bends } = carrier else { return 0.0 };
    let step = length / (knots.len() - 1) as f64;
    let change = bends.windows(3).map(|b| (b[2] - b[1] * 2.0 + b[0]).amax()).fold(0.0, f64::max);
    change * step * step / 384.0 * LEVER * 6.0_f64.sqrt()
}

/// Several moves, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) pieces: Vec<Piece>,
    rest: Joints,
}

impl Path {
    pub(crate) fn from(joints: Joints) -> Self {
        Self { pieces: Vec::new(), rest: joints }
    }

    pub(crate) fn end(&self) -> f64 {
        self.pieces.last().map_or(0.0, |last| last.start + last.length)
    }

    pub(crate) fn end_joints(&self) -> Joints {
        self.pieces.last().map_or(self.rest, |last| match &last.shape {
            Shape::Along { carrier, .. } => carrier.end(),
            Shape::Overlay { .. } => last.at(last.start + last.length).joints,
        })
    }

    pub(crate) fn piece_at(&self, s: f64) -> Option<&Piece> {
        let behind = self.pieces.partition_point(|piece| piece.start <= s);
        self.pieces.get(behind.saturating_sub(1))
    }

    pub(crate) fn at(&self, s: f64) -> Point {
        match self.piece_at(s) {
            Some(piece) => piece.at(s),
            None => Point {
                joints: self.rest,
                slope: Joints::zeros(),
                bend: Joints::zeros(),
                twist: Joints::zeros(),
            },
        }
    }

    /// Speed of the hand on the last piece, if the hand is what it is measured by.
    pub(crate) fn pace(&self) -> Option<f64> {
        self.pieces.last().filter(|last| last.is_cartesian()).map(|last| last.nominal.velocity)
    }

    /// Joins `body` to the end. `radius` is that of the move before it; no part of the path before `fixed` may change.
    pub(crate) fn join(
        &mut self,
        robot: &Robot,
        hand: &MotionLimits,
        id: u64,
        body: Body,
        radius: f64,
        fixed: f64,
    ) -> Joined {
        let mut cut = 0.0;
        let mut joined = Joined::Stop;
        if radius > 0.0 && !self.pieces.is_empty() {
            if let Some((blend, reach, used)) = self.blend(robot, hand, id, &body, radius, fixed)
                && let Some(last) = self.pieces.last_mut()
            {
                last.length -= reach[0];
                last.samples.clear();
                self.pieces.push(blend);
                cut = reach[1];
                joined = Joined::Smoothly { reduced: (used < radius * 0.999).then_some(used) };
            } else {
                return Joined::Stop;
            }
        }
        let Body { carrier, hand, nominal, move_time } = body;
        let (start, length) = (self.end(), carrier.length() - cut);
        let shape = Shape::Along { carrier, from: cut };
        self.pieces.push(Piece {
            id,
            is_blend: false,
            start,
            length,
            nominal,
            move_time,
            shape,
            hand,
            samples: Vec::new(),
        });
        joined
    }

    /// The piece that leads from the last one into `body`, what it takes of both, and the radius it uses.
    fn blend(
        &self,
        robot: &Robot,
        hand: &MotionLimits,
        id: u64,
        body: &Body,
        radius: f64,
        fixed: f64,
    ) -> Option<(Piece, [f64; 2], f64)> {
        let last = self.pieces.last()?;
        let Shape::Along { carrier: before, from } = &last.shape else { return None };
        let behind = &body.carrier;
        // What the blend before it has taken is gone, and what has been driven stays as it was.
        let free = (if *from > 0.0 { SHARED } else { ALONE } * before.length())
            .min(self.end() - fixed)
            .min(last.length * 0.98);
        let room = [free, SHARED * behind.length()];
        let nominal = last.nominal.both(&body.nominal);
        let start_of = |reach: f64| self.end() - reach;
        if let (Hand::Path(a), Hand::Path(b)) = (&last.hand, &body.hand) {
            let reach = radius.min(room[0]).min(room[1]);
            if reach > SHORTEST_BLEND
                && let Some((carrier, corner)) =
                    corner(robot, hand, [before, behind], [a, b], reach, &nominal)
            {
                let piece = Piece {
                    id,
                    is_blend: true,
                    start: start_of(reach),
                    length: carrier.length(),
                    nominal,
                    move_time: None,
                    shape: Shape::Along { carrier: Arc::new(carrier), from: 0.0 },
                    hand: Hand::Corner(Box::new(corner)),
                    samples: Vec::new(),
                };
                return Some((piece, [reach; 2], reach));
            }
        }
        let corner = before.end();
        let centre = robot.chain.place(&corner);
        let off = |joints: &Joints| (robot.chain.place(joints) - centre).norm();
        let reach_of = |carrier: &Carrier, room: f64, at: &dyn Fn(f64) -> f64| {
            let inside = |reach: f64| off(&carrier.at(at(reach)).joints) <= radius;
            if inside(room) {
                return room;
            }
            let (mut near, mut far) = (0.0, room);
            for _ in 0..10 {
                let middle = (near + far) / 2.0;
                if inside(middle) { near = middle } else { far = middle }
            }
            near
        };
        let mut reach = [
            reach_of(before, room[0], &|reach| before.length() - reach),
            reach_of(behind, room[1], &|reach| reach),
        ];
        let full = reach;
        for _ in 0..8 {
            reach = [reach[0].min(reach[1] * EVEN_SIDES), reach[1].min(reach[0] * EVEN_SIDES)];
            if reach[0].min(reach[1]) < SHORTEST_BLEND {
                return None;
            }
            let piece = Piece {
                id,
                is_blend: true,
                start: start_of(reach[0]),
                length: reach[0] + reach[1],
                nominal,
                move_time: None,
                shape: Shape::Overlay { carriers: [before.clone(), behind.clone()], reach, corner },
                hand: Hand::Joints,
                samples: Vec::new(),
            };
            let fits = (1..8).all(|i| {
                let joints = piece.at(piece.start + piece.length * f64::from(i) / 8.0).joints;
                off(&joints) <= radius && robot.limits.check(&joints).is_ok()
            });
            if fits {
                // A radius that was not reached on either side for lack of room is less than the one asked for.
                let cramped = full[0] >= room[0] || full[1] >= room[1];
                let used = off(&before.at(before.length() - reach[0]).joints)
                    .max(off(&behind.at(reach[1]).joints))
                    .min(radius);
                return Some((piece, reach, if cramped { used } else { radius }));
            }
            reach = reach.map(|reach| reach * 0.7);
        }
        None
    }

    /// Makes sure that every piece has its samples.
    pub(crate) fn sample(&mut self, robot: &Robot, bounds: &Bounds<'_>) {
        for piece in self.pieces.iter_mut().filter(|piece| piece.samples.is_empty()) {
            piece.sample(robot, bounds);
        }
    }

    /// Forgets pieces that end before `s`, except the last.
    pub(crate) fn forget_before(&mut self, s: f64) {
        let gone = self.pieces.iter().take_while(|piece| piece.start + piece.length < s).count();
        self.pieces.drain(..gone.min(self.pieces.len().saturating_sub(1)));
    }
}

/// A curve in space between two lines of the hand.
fn corner(
    robot: &Robot,
    hand: &MotionLimits,
    carriers: [&Arc<Carrier>; 2],
    paths: [&HandPath; 2],
    reach: f64,
    nominal: &Nominal,
) -> Option<(Carrier, Corner)> {
    const USUAL: f64 = 0.25;
    let mut corner = Corner::new(paths[0], paths[1], reach, USUAL)?;
    // The bend grows as slowly as the jerk demands at the speed that the bend allows, and no slower.
    let acceleration = hand.acceleration.min(nominal.hand_acceleration);
    let bend = corner.most_bend();
    let speed = (0.95 * acceleration / bend).sqrt().min(nominal.velocity).min(hand.velocity);
    let growth = (speed * speed * speed * bend / (0.8 * hand.jerk) / corner.length).clamp(0.12, 0.5);
    if (growth - USUAL).abs() > 0.03 {
        corner = Corner::new(paths[0], paths[1], reach, growth)?;
    }
    let (first, last) = (carriers[0].at(carriers[0].length() - reach), carriers[1].at(reach));
    let mut knots = Vec::with_capacity(CORNER_STEPS + 1);
    knots.push(first.joints);
    for i in 1..CORNER_STEPS {
        let near = knots[i - 1];
        let joints = robot.inverse_along(&corner.pose(i), &near).ok()?;
        if (joints - near).amax() > POSTURE_JUMP {
            return None;
        }
        knots.push(joints);
    }
    knots.push(last.joints);
    Some((Carrier::through(corner.length, knots, first.slope, last.slope), corner))
}
