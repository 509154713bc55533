//! One primitive planned from where it starts: geometry and speed, inside every limit of the robot.

use nalgebra::{Isometry3, Rotation3, Translation3, Unit, UnitQuaternion, Vector3};
use rosless_arm::{Joints, LimitViolation, Robot, Unreachable};

use crate::{
    path::{JointPath, NO_WAY},
    primitive::{LONGEST, Motion, Primitive, Timing, spans_circle},
    profile::{Profile, Ramp},
};

/// Way of the hand between two exact solutions of the inverse kinematics.
const KNOT_SPACING: f64 = 0.004;
/// Turn of the hand between two exact solutions.
const KNOT_ANGLE: f64 = 0.03;
const KNOTS: std::ops::RangeInclusive<usize> = 16..=600;
/// A joint that turns more than this between two knots has changed to another posture.
const POSTURE_JUMP: f64 = 0.35;
/// Metres that one radian of turning counts for, so that a pure rotation has a length.
const TURN_RADIUS: f64 = 0.2;
/// A hand slowed to less than this share of what was asked for is at a singularity.
const SLOWEST_SHARE: f64 = 0.02;
/// Share of a timed move that each ramp takes.
const TIMED_RAMP: f64 = 0.25;
/// Planning keeps this distance from the limits, so that rounding never breaks one.
const MARGIN: f64 = 0.999;

/// What the hand may do, beside the limits of the joints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MotionLimits {
    /// m/s.
    pub velocity: f64,
    /// m/s².
    pub acceleration: f64,
}

impl Default for MotionLimits {
    fn default() -> Self {
        Self { velocity: 1.0, acceleration: 5.0 }
    }
}

/// Why a primitive cannot be executed from where the robot is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    #[error("the target is outside the joint limits: {0}")]
    Target(#[from] LimitViolation),
    #[error("the path cannot be reached at {percent:.0} % of its length: {reason}")]
    Unreachable { percent: f64, reason: Unreachable },
    #[error("the path passes a singularity at {percent:.0} % of its length; use PTP or another posture")]
    Singular { percent: f64 },
    #[error(
        "the path leads so close to a singularity that {share:.1} % of the wanted speed is possible; use PTP or another posture"
    )]
    TooSlow { share: f64 },
    #[error("start, via and goal are on one line: there is no circle through them")]
    Collinear,
    #[error("move_time {asked:.3} s is too short: this robot needs at least {needed:.3} s")]
    MoveTime { asked: f64, needed: f64 },
    #[error("the move would take {0:.0} s, longer than a day; check velocity, acceleration and move_time")]
    TooLong(f64),
    #[error(
        "blend_radius {radius} m is too large: with the blend before it, it exceeds the {length:.4} m of this move"
    )]
    BlendBefore { radius: f64, length: f64 },
    #[error("blend_radius {radius} m is too large: the next move has only {length:.4} m")]
    BlendAfter { radius: f64, length: f64 },
}

/// The radii, in metres of the hand, within which a segment may overlap with its neighbours (0 for not at all). There
/// it has half the acceleration, so that the sum of two overlapping motions stays inside the limits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Blended {
    pub start: f64,
    pub end: f64,
}

/// A planned primitive.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    path: JointPath,
    profile: Profile,
    cartesian: bool,
    hand_length: f64,
    /// Below 1 where the joints do not allow the wanted speed.
    speed_share: f64,
    blend_radius: f64,
}

/// Joint angles, speeds and accelerations at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointState {
    pub position: Joints,
    pub velocity: Joints,
    pub acceleration: Joints,
}

impl JointState {
    pub fn resting(position: Joints) -> Self {
        Self { position, velocity: Joints::zeros(), acceleration: Joints::zeros() }
    }
}

impl Segment {
    /// Plans `primitive` from the joint angles `start`.
    pub fn plan(
        robot: &Robot,
        hand: &MotionLimits,
        start: &Joints,
        primitive: &Primitive,
        blended: Blended,
    ) -> Result<Self, PlanError> {
        let (path, cartesian, curve) = match primitive.motion {
            Motion::Joint { target } => {
                robot.limits.check(&target)?;
                (JointPath::straight(*start, target), false, f64::INFINITY)
            }
            Motion::Linear { goal } => {
                let path = cartesian_path(robot, start, &Line::new(&robot.forward(start), &goal))?;
                (path, true, f64::INFINITY)
            }
            Motion::Circular { goal, via } => {
                let arc = Arc::new(&robot.forward(start), &via, &goal).ok_or(PlanError::Collinear)?;
                let radius = arc.radius;
                (cartesian_path(robot, start, &arc)?, true, radius)
            }
        };
        let hand_length = if cartesian { path.length() } else { hand_way(robot, &path) };
        let (profile, speed_share) = speed(
            robot,
            hand,
            &path,
            cartesian.then_some(curve),
            primitive.timing,
            soft_lengths(robot, &path, blended),
        )?;
        // Written so that NaN is too long as well.
        if !(0.0..=LONGEST).contains(&profile.duration()) {
            return Err(PlanError::TooLong(profile.duration()));
        }
        Ok(Self { path, profile, cartesian, hand_length, speed_share, blend_radius: primitive.blend_radius })
    }

    pub fn duration(&self) -> f64 {
        self.profile.duration()
    }

    pub fn start(&self) -> Joints {
        self.path.start()
    }

    pub fn end(&self) -> Joints {
        self.path.end()
    }

    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Whether the speed is that of the hand (LIN, CIRC) or of the leading joint (PTP).
    pub fn is_cartesian(&self) -> bool {
        self.cartesian
    }

    /// Metres the hand travels.
    pub fn hand_length(&self) -> f64 {
        self.hand_length
    }

    /// The part of the wanted speed that the joints allow.
    pub fn speed_share(&self) -> f64 {
        self.speed_share
    }

    pub fn blend_radius(&self) -> f64 {
        self.blend_radius
    }

    /// The joints `t` seconds after this segment's start.
    pub fn at(&self, t: f64) -> JointState {
        let along = self.profile.at(t);
        let point = self.path.at(along.s);
        JointState {
            position: point.joints,
            velocity: point.slope * along.speed,
            acceleration: point.curvature * (along.speed * along.speed) + point.slope * along.acceleration,
        }
    }
}

/// Length of the hand's way along a path that is straight for the joints only.
fn hand_way(robot: &Robot, path: &JointPath) -> f64 {
    const PIECES: usize = 32;
    let place = |i: usize| robot.hand_frame(&path.at(path.length() * i as f64 / PIECES as f64).joints).0;
    (0..PIECES).map(|i| (place(i + 1) - place(i)).norm()).sum()
}

/// Path length at both ends during which the hand is inside the blend radii.
fn soft_lengths(robot: &Robot, path: &JointPath, blended: Blended) -> (f64, f64) {
    const PIECES: u32 = 64;
    let length = path.length();
    let place = |s: f64| robot.hand_frame(&path.at(s).joints).0;
    let inside = |corner: f64, inwards: f64, radius: f64| {
        let centre = place(corner);
        let share = |i: u32| length * f64::from(i) / f64::from(PIECES);
        let last = (0..=PIECES)
            .take_while(|&i| (place(corner + inwards * share(i)) - centre).norm() <= radius)
            .last();
        last.map_or(0.0, share)
    };
    let start = if blended.start > 0.0 { inside(0.0, 1.0, blended.start) } else { 0.0 };
    let end = if blended.end > 0.0 { inside(length, -1.0, blended.end) } else { 0.0 };
    // Two large radii share a short path.
    let shrink = (length / (start + end)).min(1.0);
    (start * shrink, end * shrink)
}

/// Where the hand goes.
trait HandPath {
    /// Metres (a pure rotation counts [`TURN_RADIUS`] per radian).
    fn length(&self) -> f64;
    /// Radians the hand turns.
    fn turn(&self) -> f64;
    /// Pose at a share `0..=1` of the way.
    fn pose(&self, share: f64) -> Isometry3<f64>;
}

/// Turns from one orientation to another at a constant rate on the shortest way.
struct Turn {
    start: UnitQuaternion<f64>,
    /// Axis times angle in the world.
    rotation: Vector3<f64>,
}

impl Turn {
    fn new(start: &Isometry3<f64>, goal: &Isometry3<f64>) -> Self {
        Self { start: start.rotation, rotation: (goal.rotation * start.rotation.inverse()).scaled_axis() }
    }

    fn angle(&self) -> f64 {
        self.rotation.norm()
    }

    fn at(&self, share: f64) -> UnitQuaternion<f64> {
        UnitQuaternion::from_scaled_axis(self.rotation * share) * self.start
    }
}

struct Line {
    start: Vector3<f64>,
    way: Vector3<f64>,
    turn: Turn,
}

impl Line {
    fn new(start: &Isometry3<f64>, goal: &Isometry3<f64>) -> Self {
        let from = start.translation.vector;
        Self { start: from, way: goal.translation.vector - from, turn: Turn::new(start, goal) }
    }
}

impl HandPath for Line {
    fn length(&self) -> f64 {
        self.way.norm().max(self.turn.angle() * TURN_RADIUS)
    }

    fn turn(&self) -> f64 {
        self.turn.angle()
    }

    fn pose(&self, share: f64) -> Isometry3<f64> {
        Isometry3::from_parts(Translation3::from(self.start + self.way * share), self.turn.at(share))
    }
}

struct Arc {
    centre: Vector3<f64>,
    axis: Unit<Vector3<f64>>,
    /// From the centre to the start.
    spoke: Vector3<f64>,
    angle: f64,
    radius: f64,
    turn: Turn,
}

impl Arc {
    fn new(start: &Isometry3<f64>, via: &Isometry3<f64>, goal: &Isometry3<f64>) -> Option<Self> {
        let (p, q, r) = (start.translation.vector, via.translation.vector, goal.translation.vector);
        if !spans_circle(&p, &q, &r) {
            return None;
        }
        let (a, b) = (q - p, r - p);
        let normal = a.cross(&b);
        // The circumcentre, seen from the start.
        let to_centre = (b.norm_squared() * normal.cross(&a) + a.norm_squared() * b.cross(&normal))
            / (2.0 * normal.norm_squared());
        let centre = p + to_centre;
        let axis = Unit::new_normalize(normal);
        let spoke = p - centre;
        // Around the axis of (via − start) × (goal − start) the goal comes after via, so the angle is positive.
        let to_goal = r - centre;
        let angle =
            axis.dot(&spoke.cross(&to_goal)).atan2(spoke.dot(&to_goal)).rem_euclid(std::f64::consts::TAU);
        Some(Self { centre, axis, spoke, angle, radius: spoke.norm(), turn: Turn::new(start, goal) })
    }
}

impl HandPath for Arc {
    fn length(&self) -> f64 {
        (self.radius * self.angle).max(self.turn.angle() * TURN_RADIUS)
    }

    fn turn(&self) -> f64 {
        self.turn.angle()
    }

    fn pose(&self, share: f64) -> Isometry3<f64> {
        let place = self.centre + Rotation3::from_axis_angle(&self.axis, self.angle * share) * self.spoke;
        Isometry3::from_parts(Translation3::from(place), self.turn.at(share))
    }
}

fn cartesian_path(robot: &Robot, start: &Joints, hand: &impl HandPath) -> Result<JointPath, PlanError> {
    let length = hand.length();
    if length < NO_WAY {
        return Ok(JointPath::straight(*start, *start));
    }
    let wanted = (length / KNOT_SPACING).max(hand.turn() / KNOT_ANGLE).ceil() as usize + 1;
    let count = wanted.clamp(*KNOTS.start(), *KNOTS.end());
    let mut knots = Vec::with_capacity(count);
    knots.push(*start);
    for i in 1..count {
        let share = i as f64 / (count - 1) as f64;
        let percent = 100.0 * share;
        let last = knots[i - 1];
        let joints = robot
            .inverse_nearest(&hand.pose(share), &last)
            .map_err(|reason| PlanError::Unreachable { percent, reason })?;
        if (joints - last).amax() > POSTURE_JUMP {
            return Err(PlanError::Singular { percent });
        }
        knots.push(joints);
    }
    Ok(JointPath::through(length, knots))
}

/// The speed profile, and the share of the wanted speed that the joints allow. `curve` is the radius of a hand's path.
fn speed(
    robot: &Robot,
    hand: &MotionLimits,
    path: &JointPath,
    curve: Option<f64>,
    timing: Timing,
    soft: (f64, f64),
) -> Result<(Profile, f64), PlanError> {
    let length = path.length();
    if length <= 0.0 {
        let rest = match timing {
            Timing::MoveTime(asked) => asked,
            Timing::Limits { .. } => 0.0,
        };
        return Ok((Profile::standstill(rest), 1.0));
    }
    let (slope, curvature) = path.extremes();
    let smallest = |f: &dyn Fn(usize) -> f64| (0..slope.len()).map(f).fold(f64::INFINITY, f64::min);
    // A quarter of the acceleration is for the bends of the path, what is left of it for the ramps.
    let joint_speed = smallest(&|i| {
        let limit = &robot.limits.0[i];
        let bend = (limit.acceleration / (4.0 * curvature[i].max(1e-12))).sqrt();
        (limit.velocity / slope[i].max(1e-12)).min(bend)
    }) * MARGIN;
    let joint_ramp = |speed: f64, share: f64| {
        smallest(&|i| {
            let spare = robot.limits.0[i].acceleration * share - curvature[i] * speed * speed;
            spare / slope[i].max(1e-12)
        }) * MARGIN
    };
    let (hand_speed, hand_ramp) = match curve {
        // Going round a bend accelerates the hand, too.
        Some(radius) => (hand.velocity.min((hand.acceleration * radius).sqrt()), hand.acceleration),
        None => (f64::INFINITY, f64::INFINITY),
    };
    match timing {
        Timing::Limits { velocity, acceleration } => {
            let wanted =
                velocity.min(hand_speed).min(curve.map_or(f64::INFINITY, |r| (acceleration * r).sqrt()));
            let speed = wanted.min(joint_speed);
            if curve.is_some() && speed < SLOWEST_SHARE * wanted {
                return Err(PlanError::TooSlow { share: 100.0 * speed / wanted });
            }
            let limit = |share: f64| joint_ramp(speed, share).min(acceleration.min(hand_ramp) * share);
            let ramp = |soft_length: f64| Ramp { soft: limit(0.5), soft_length, full: limit(1.0) };
            Ok((Profile::fastest(length, speed, ramp(soft.0), ramp(soft.1)), speed / wanted))
        }
        Timing::MoveTime(asked) => {
            let share = if soft.0.max(soft.1) > 0.0 { 0.5 } else { 1.0 };
            let allowed = |seconds: f64| {
                let profile = Profile::timed(length, seconds, TIMED_RAMP);
                let ramp = profile.speed() / (seconds * TIMED_RAMP);
                profile.speed() <= joint_speed.min(hand_speed)
                    && ramp <= joint_ramp(profile.speed(), share).min(hand_ramp * share)
            };
            if allowed(asked) {
                return Ok((Profile::timed(length, asked, TIMED_RAMP), 1.0));
            }
            // Slower is always possible, so the shortest allowed time is found by halving the interval.
            let (mut short, mut long) = (asked, asked.max(1e-3));
            while !allowed(long) {
                short = long;
                long *= 2.0;
            }
            for _ in 0..40 {
                let middle = (short + long) / 2.0;
                if allowed(middle) { long = middle } else { short = middle }
            }
            Err(PlanError::MoveTime { asked, needed: long })
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::{num, prelude::*};
    use rosless_arm::Limits;

    pub(crate) fn robot() -> Robot {
        Robot { limits: Limits::uniform(4.0, 3.0, 15.0), ..Default::default() }
    }

    /// Elbow and wrist bent: far from every singularity.
    pub(crate) fn ready() -> Joints {
        Joints::new(-0.6, 0.0, 1.4, 0.0, 0.6, 0.0)
    }

    pub(crate) fn limits(velocity: f64, acceleration: f64) -> Timing {
        Timing::Limits { velocity, acceleration }
    }

    pub(crate) fn ptp(target: Joints, timing: Timing) -> Primitive {
        Primitive { motion: Motion::Joint { target }, timing, blend_radius: 0.0 }
    }

    pub(crate) fn lin(goal: Isometry3<f64>, timing: Timing) -> Primitive {
        Primitive { motion: Motion::Linear { goal }, timing, blend_radius: 0.0 }
    }

    pub(crate) fn moved(pose: &Isometry3<f64>, by: [f64; 3]) -> Isometry3<f64> {
        Translation3::new(by[0], by[1], by[2]) * pose
    }

    fn plan(primitive: &Primitive) -> Result<Segment, PlanError> {
        Segment::plan(&robot(), &MotionLimits::default(), &ready(), primitive, Blended::default())
    }

    fn assert_inside_limits(segment: &Segment) {
        let steps = 2000;
        let limits = robot().limits.0;
        for i in 0..=steps {
            let state = segment.at(segment.duration() * f64::from(i) / f64::from(steps));
            for (joint, limit) in limits.iter().enumerate() {
                assert!(state.velocity[joint].abs() <= limit.velocity, "joint {joint} at {i}: {state:?}");
                assert!(
                    state.acceleration[joint].abs() <= limit.acceleration,
                    "joint {joint} at {i}: {state:?}"
                );
            }
        }
    }

    #[test]
    fn ptp_takes_the_time_of_the_trapezoid_of_its_leading_joint() {
        let target = ready() + Joints::new(1.0, -0.5, 0.2, 0.0, 0.0, 0.0);
        let segment = plan(&ptp(target, limits(0.5, 1.0))).unwrap();
        assert!((segment.duration() - (1.0 / 0.5 + 0.5 / 1.0)).abs() < 1e-9);
        assert!((segment.at(segment.duration()).position - target).amax() < 1e-12);
        assert_inside_limits(&segment);
    }

    #[test]
    fn move_time_is_kept_or_the_shortest_possible_is_named() {
        let target = ready() + Joints::new(1.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        assert!((plan(&ptp(target, Timing::MoveTime(2.5))).unwrap().duration() - 2.5).abs() < 1e-9);
        let Err(PlanError::MoveTime { needed, .. }) = plan(&ptp(target, Timing::MoveTime(0.01))) else {
            panic!("1 rad in 10 ms")
        };
        let segment = plan(&ptp(target, Timing::MoveTime(needed))).unwrap();
        assert_inside_limits(&segment);
        assert!(plan(&ptp(target, Timing::MoveTime(needed * 0.99))).is_err());
    }

    #[test]
    fn lin_is_straight_at_constant_speed_and_turns_evenly() {
        let start = robot().forward(&ready());
        let mut goal = moved(&start, [-0.03, -0.05, 0.04]);
        goal.rotation = UnitQuaternion::from_euler_angles(0.1, 0.2, -0.1) * goal.rotation;
        let segment = plan(&lin(goal, limits(0.1, 0.5))).unwrap();
        assert!((segment.speed_share() - 1.0).abs() < 1e-12, "slowed to {}", segment.speed_share());
        let direction = (goal.translation.vector - start.translation.vector).normalize();
        let mut cruise_seen = 0;
        for i in 0..=1000 {
            let t = segment.duration() * f64::from(i) / 1000.0;
            let state = segment.at(t);
            let hand = robot().hand_state(&state.position, &state.velocity);
            let from_start = hand.position - start.translation.vector;
            let off_line = (from_start - direction * from_start.dot(&direction)).norm();
            assert!(off_line < 1e-6, "{off_line} m off the line");
            if segment.profile().cruise().contains(&t) {
                cruise_seen += 1;
                assert!((hand.velocity.norm() - 0.1).abs() < 1e-4);
            }
        }
        assert!(cruise_seen > 100);
        let arrived = robot().forward(&segment.end());
        assert!((arrived.translation.vector - goal.translation.vector).norm() < 1e-9);
        assert!(arrived.rotation.angle_to(&goal.rotation) < 1e-7);
    }

    #[test]
    fn circ_passes_via_and_stays_on_the_circle() {
        let start = robot().forward(&ready());
        let via = moved(&start, [0.04, 0.04, 0.0]);
        let goal = moved(&start, [0.08, 0.0, 0.0]);
        let circ =
            Primitive { motion: Motion::Circular { goal, via }, timing: limits(0.1, 0.5), blend_radius: 0.0 };
        let segment = plan(&circ).unwrap();
        let centre = start.translation.vector + Vector3::new(0.04, 0.0, 0.0);
        let mut nearest_to_via = f64::INFINITY;
        for i in 0..=1000 {
            let joints = segment.at(segment.duration() * f64::from(i) / 1000.0).position;
            let place = robot().forward(&joints).translation.vector;
            assert!(((place - centre).norm() - 0.04).abs() < 1e-6);
            nearest_to_via = nearest_to_via.min((place - via.translation.vector).norm());
        }
        assert!(nearest_to_via < 2e-4);
        assert!((segment.hand_length() - std::f64::consts::PI * 0.04).abs() < 1e-9);
        assert_inside_limits(&segment);
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let start = robot().forward(&ready());
        let far = plan(&lin(moved(&start, [0.0, 5.0, 0.0]), limits(0.1, 0.5))).unwrap_err();
        assert!(matches!(far, PlanError::Unreachable { .. }), "{far}");
        let outside = plan(&ptp(Joints::from_element(4.5), limits(1.0, 1.0))).unwrap_err();
        assert!(matches!(outside, PlanError::Target(_)), "{outside}");
        let collinear = Primitive {
            motion: Motion::Circular {
                goal: moved(&start, [0.08, 0.0, 0.0]),
                via: moved(&start, [0.04, 0.0, 0.0]),
            },
            timing: limits(0.1, 0.5),
            blend_radius: 0.0,
        };
        assert_eq!(plan(&collinear).unwrap_err(), PlanError::Collinear);
        let crawl = plan(&ptp(Joints::zeros(), limits(1e-300, 1.0))).unwrap_err();
        assert!(matches!(crawl, PlanError::TooLong(_)), "{crawl}");
    }

    #[test]
    fn a_move_to_where_it_is_takes_no_time_unless_it_is_asked_to() {
        let here = robot().forward(&ready());
        for (timing, seconds) in [(limits(1.0, 1.0), 0.0), (Timing::MoveTime(2.0), 2.0)] {
            for primitive in [ptp(ready(), timing), lin(here, timing)] {
                let segment = plan(&primitive).unwrap();
                assert_eq!(segment.duration(), seconds);
                for t in [0.0, 1.0, 2.0] {
                    assert_eq!(segment.at(t), JointState::resting(ready()));
                }
            }
        }
        let endless = plan(&ptp(ready(), Timing::MoveTime(f64::INFINITY))).unwrap_err();
        assert!(matches!(endless, PlanError::TooLong(_)), "{endless}");
    }

    /// Any positive number, now and then the smallest there is: half of it is 0.
    fn any_positive() -> impl Strategy<Value = f64> {
        prop_oneof![9 => num::f64::POSITIVE | num::f64::SUBNORMAL, 1 => Just(f64::from_bits(1))]
    }

    proptest! {
        #[test]
        fn no_timing_makes_a_plan_that_never_ends(
            a in any_positive(), b in any_positive()) {
            let target = ready() + Joints::repeat(0.3);
            let goal = moved(&robot().forward(&ready()), [0.02, 0.01, 0.0]);
            for timing in [limits(a, b), limits(1.0, b), limits(a, 1.0), Timing::MoveTime(a)] {
                for primitive in [ptp(target, timing), lin(goal, timing)] {
                    if let Ok(segment) = plan(&primitive) {
                        prop_assert!((0.0..=LONGEST).contains(&segment.duration()), "{timing:?}");
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_plan_keeps_the_limits(target in prop::array::uniform6(-1.5f64..1.5), by in prop::array::uniform3(-0.1f64..0.1),
                                       velocity in 0.05f64..20.0, acceleration in 0.1f64..100.0) {
            let target = Joints::from_column_slice(&target);
            assert_inside_limits(&plan(&ptp(target, limits(velocity, acceleration))).unwrap());
            let goal = moved(&robot().forward(&ready()), by);
            if let Ok(segment) = plan(&lin(goal, limits(velocity, acceleration))) {
                assert_inside_limits(&segment);
            }
        }
    }
}
