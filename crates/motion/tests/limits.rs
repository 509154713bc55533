//! Every kind of program, sampled at 1 kHz: positions only, from which speed, acceleration and jerk follow by differences,
//! and a forward kinematics of its own. What the planner believes is not asked.

use std::time::Duration;

use nalgebra::{Isometry3, Matrix4, Translation3, UnitQuaternion, Vector3};
use proptest::prelude::*;
use rosless_kinematics::{Joints, Robot, builtin};
use rosless_motion::{
    Command, CommandInterfaces, ExecutionState, Hardware as _, Motion, MotionLimits, Planned, Planner,
    Primitive, Program, RawPrimitive, SimulatedRobot, Timing,
};

const DT: f64 = 1e-3;

fn planner(name: &str) -> Planner {
    Planner::new(builtin::robot(name).unwrap(), MotionLimits::default())
}

/// The hand of a UR5e from its data sheet, by the textbook's matrices.
fn ur5e_hand(q: &Joints) -> Vector3<f64> {
    let half = std::f64::consts::FRAC_PI_2;
    let rows = [
        (0.0, half, 0.1625),
        (-0.425, 0.0, 0.0),
        (-0.3922, 0.0, 0.0),
        (0.0, half, 0.1333),
        (0.0, -half, 0.0997),
        (0.0, 0.0, 0.0996),
    ];
    let mut frame = Matrix4::<f64>::identity();
    for ((a, alpha, d), angle) in rows.into_iter().zip(q.iter()) {
        let ((st, ct), (sa, ca)) = (angle.sin_cos(), f64::sin_cos(alpha));
        #[rustfmt::skip]
        let step = Matrix4::new(
            ct, -st * ca, st * sa, a * ct,
            st, ct * ca, -ct * sa, a * st,
            0.0, sa, ca, d,
            0.0, 0.0, 0.0, 1.0,
        );
        frame *= step;
    }
    Vector3::new(frame[(0, 3)], frame[(1, 3)], frame[(2, 3)])
}

fn limits(velocity: f64, acceleration: f64) -> Timing {
    Timing::Limits { velocity, acceleration }
}

fn ptp(target: Joints, timing: Timing, blend_radius: f64) -> Primitive {
    Primitive { motion: Motion::Joint { target }, timing, blend_radius }
}

fn lin(goal: Isometry3<f64>, timing: Timing, blend_radius: f64) -> Primitive {
    Primitive { motion: Motion::Linear { goal }, timing, blend_radius }
}

fn moved(pose: &Isometry3<f64>, by: [f64; 3]) -> Isometry3<f64> {
    Translation3::new(by[0], by[1], by[2]) * pose
}

fn plan(planner: &Planner, start: &Joints, moves: &[Primitive]) -> Planned {
    let moves: Vec<(u64, Primitive)> = moves.iter().enumerate().map(|(i, one)| (i as u64, *one)).collect();
    planner.plan(start, &moves, 1.0).unwrap()
}

/// The greatest share of each limit that is used.
#[derive(Debug, Default)]
struct Used {
    joint: [f64; 3],
    hand: [f64; 3],
}

fn shares<const N: usize>(
    places: &[nalgebra::SVector<f64, N>],
    each: impl Fn(usize, &nalgebra::SVector<f64, N>),
) {
    // Differences of order 1, 2 and 3: by the mean value theorem never more than the greatest derivative.
    let mut now = places.to_vec();
    for order in 0..3 {
        now = now.windows(2).map(|pair| (pair[1] - pair[0]) / DT).collect();
        now.iter().for_each(|value| each(order, value));
    }
}

/// Samples a plan at 1 kHz.
fn sampled(planned: &Planned) -> Vec<Joints> {
    let steps = (planned.duration() / DT).ceil() as usize;
    // A little rest before and behind: a jump into motion would be seen.
    let at = |i: usize| planned.at((i as f64 - 3.0).clamp(0.0, steps as f64) * DT).unwrap().position;
    (0..steps + 8).map(at).collect()
}

fn used(planner: &Planner, planned: &Planned, hand_of: impl Fn(&Joints) -> Vector3<f64>) -> Used {
    used_by(planner, &sampled(planned), hand_of)
}

fn used_by(planner: &Planner, joints: &[Joints], hand_of: impl Fn(&Joints) -> Vector3<f64>) -> Used {
    let limits = planner.robot.limits.0;
    for (i, q) in joints.iter().enumerate() {
        planner.robot.limits.check(q).unwrap_or_else(|error| panic!("at {i} ms: {error}"));
    }
    let used = std::cell::RefCell::new(Used::default());
    shares(joints, |order, value| {
        for (limit, value) in limits.iter().zip(value.iter()) {
            let most = [limit.velocity, limit.acceleration, limit.jerk][order];
            let share = &mut used.borrow_mut().joint[order];
            *share = share.max(value.abs() / most);
        }
    });
    let places: Vec<_> = joints.iter().map(hand_of).collect();
    let most = [planner.hand.velocity, planner.hand.acceleration, planner.hand.jerk];
    shares(&places, |order, value| {
        let share = &mut used.borrow_mut().hand[order];
        *share = share.max(value.norm() / most[order]);
    });
    used.into_inner()
}

/// Rounding of a thousand differences per second, three times over.
const ROUNDING: f64 = 1.0 + 2e-3;

fn inside(used: &Used) {
    assert!(used.joint.iter().chain(&used.hand).all(|share| *share <= ROUNDING), "{used:?}");
}

fn off_line(place: &Vector3<f64>, from: &Vector3<f64>, to: &Vector3<f64>) -> f64 {
    let way = to - from;
    let share = ((place - from).dot(&way) / way.norm_squared()).clamp(0.0, 1.0);
    (place - from - way * share).norm()
}

/// A robot that takes half as much again of one limit is found out, by that limit and no other.
#[test]
fn a_limit_that_is_overstepped_is_seen() {
    let careful = || {
        let mut planner = planner("ur5e");
        planner.hand = MotionLimits { velocity: 0.3, acceleration: 2.0, jerk: 40.0 };
        planner
    };
    let honest = careful();
    let home = honest.robot.home;
    // The last joint turns the hand on the spot; a line across moves the hand and strains no joint.
    let turn = ptp(home + Joints::new(0.0, 0.0, 0.0, 0.0, 0.0, 3.0), limits(100.0, 1000.0), 0.0);
    let across = lin(moved(&honest.robot.forward(&home), [0.25, 0.0, 0.0]), limits(1.0, 20.0), 0.0);
    for which in 0..6 {
        let mut greedy = careful();
        let joint = &mut greedy.robot.limits.0[5];
        let hand = &mut greedy.hand;
        let limit = [
            &mut joint.velocity,
            &mut joint.acceleration,
            &mut joint.jerk,
            &mut hand.velocity,
            &mut hand.acceleration,
            &mut hand.jerk,
        ];
        *limit.into_iter().nth(which).unwrap() *= 1.5;
        let program = if which < 3 { turn } else { across };
        let used = used(&honest, &plan(&greedy, &home, &[program]), ur5e_hand);
        for (i, share) in used.joint.iter().chain(&used.hand).enumerate() {
            assert_eq!(*share > 1.2, i == which, "limit {which}: {used:?}");
            assert!(i == which || *share <= ROUNDING, "limit {which}: {used:?}");
        }
    }
    let mut beyond = honest.robot.limits;
    beyond.0[5].upper = home[5] + 2.0;
    assert!(sampled(&plan(&honest, &home, &[turn])).iter().any(|q| beyond.check(q).is_err()));
}

#[test]
fn a_square_with_blends_keeps_every_limit_uses_its_radius_and_is_straight_between() {
    let planner = planner("ur5e");
    let home = planner.robot.home;
    let start = planner.robot.forward(&home);
    let by = [[0.16, 0.0, 0.0], [0.16, 0.16, 0.0], [0.0, 0.16, 0.0], [0.0, 0.0, 0.0]];
    let radius = 0.02;
    let corners: Vec<Vector3<f64>> = by.iter().map(|by| moved(&start, *by).translation.vector).collect();
    let moves: Vec<_> = by
        .iter()
        .enumerate()
        .map(|(i, by)| lin(moved(&start, *by), limits(0.2, 2.0), if i < 3 { radius } else { 0.0 }))
        .collect();
    let planned = plan(&planner, &home, &moves);
    let used = used(&planner, &planned, ur5e_hand);
    inside(&used);
    let places: Vec<_> = sampled(&planned).iter().map(ur5e_hand).collect();
    let speeds: Vec<f64> = places.windows(2).map(|pair| (pair[1] - pair[0]).norm() / DT).collect();
    let accelerations: Vec<Vector3<f64>> =
        places.windows(3).map(|three| (three[2] - three[1] * 2.0 + three[0]) / (DT * DT)).collect();
    let hardest = accelerations.iter().map(Vector3::norm).fold(0.0, f64::max);
    assert!(hardest <= 2.0 * ROUNDING, "{hardest} m/s² where 2 were asked for");
    for corner in &corners[..3] {
        let (nearest, i) = places
            .iter()
            .enumerate()
            .map(|(i, place)| ((place - corner).norm(), i))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap();
        // An arc of this radius would cut a right angle by 41 % of it.
        assert!((0.3 * radius..=0.45 * radius).contains(&nearest), "cut by {nearest}");
        assert!(speeds[i] > 0.85 * 0.2, "{} m/s at the corner", speeds[i]);
    }
    // Outside the radii the hand is on its lines.
    let lines: Vec<(Vector3<f64>, Vector3<f64>)> =
        [start.translation.vector].iter().chain(&corners).copied().zip(corners.clone()).collect();
    for place in &places {
        if corners[..3].iter().all(|corner| (place - corner).norm() > radius) {
            let off = lines.iter().map(|(from, to)| off_line(place, from, to)).fold(f64::INFINITY, f64::min);
            assert!(off <= 1e-6, "{off} m off its line");
        }
    }
}

#[test]
fn a_circle_keeps_the_acceleration_in_all_directions_together() {
    let planner = planner("ur5e");
    let home = planner.robot.home;
    let start = planner.robot.forward(&home);
    let circ = Primitive {
        motion: Motion::Circular {
            goal: moved(&start, [0.2, 0.0, 0.0]),
            via: moved(&start, [0.1, 0.1, 0.0]),
        },
        timing: limits(0.5, 1.0),
        blend_radius: 0.0,
    };
    let planned = plan(&planner, &home, &[circ]);
    inside(&used(&planner, &planned, ur5e_hand));
    let places: Vec<_> = sampled(&planned).iter().map(ur5e_hand).collect();
    let centre = start.translation.vector + Vector3::new(0.1, 0.0, 0.0);
    for three in places.windows(3) {
        assert!(((three[0] - centre).norm() - 0.1).abs() < 1e-6);
        let acceleration = (three[2] - three[1] * 2.0 + three[0]) / (DT * DT);
        assert!(acceleration.norm() <= 1.0 * ROUNDING, "{} m/s²", acceleration.norm());
    }
    // As fast as the bend allows, and not much slower.
    let fastest = places.windows(2).map(|pair| (pair[1] - pair[0]).norm() / DT).fold(0.0, f64::max);
    assert!(fastest > 0.75 * 0.1_f64.sqrt(), "{fastest} m/s");
}

#[test]
fn ptp_keeps_the_limits_of_the_hand_as_well() {
    let planner = planner("ur5e");
    let home = planner.robot.home;
    let target = home + Joints::new(2.5, 0.3, -0.5, 0.0, 0.0, 0.0);
    let planned = plan(&planner, &home, &[ptp(target, limits(3.0, 14.0), 0.0)]);
    let used = used(&planner, &planned, ur5e_hand);
    inside(&used);
    // The joint alone would move the hand at more than 1 m/s: the limit is met, not far undercut.
    assert!(used.hand[0] > 0.9, "{used:?}");
}

#[test]
fn near_a_singularity_only_that_part_is_slow() {
    let planner = planner("ur5e");
    // The wrist passes close to its singularity in the middle of the line.
    let home = Joints::new(-1.57, -1.6, 1.6, -1.57, -0.25, 0.2);
    let start = planner.robot.forward(&home);
    let goal = moved(&start, [0.5, -0.05, 0.0]);
    let moves = [(0, lin(goal, limits(0.8, 4.0), 0.0))];
    let planned = match planner.plan(&home, &moves, 1.0) {
        Ok(planned) => planned,
        Err((_, error)) => panic!("{error}"),
    };
    let used = used(&planner, &planned, ur5e_hand);
    inside(&used);
    let places: Vec<_> = sampled(&planned).iter().map(ur5e_hand).collect();
    for place in &places {
        let off = off_line(place, &start.translation.vector, &goal.translation.vector);
        assert!(off <= 1e-6, "{off} m off its line");
    }
}

#[test]
fn the_example_programs_keep_every_limit() {
    for (robot, file) in [("ur5e", "original"), ("ur5e", "demo"), ("ur5e", "square")] {
        let text = std::fs::read_to_string(format!(
            "{}/../../bins/primitive-queue/examples/{file}.yaml",
            env!("CARGO_MANIFEST_DIR")
        ))
        .unwrap();
        let planner = planner(robot);
        let program = Program::parse(&text).unwrap();
        let mut start = planner.robot.home;
        let check = |raw: &RawPrimitive| match rosless_motion::check(raw, &rosless_motion::Frames::default())
            .unwrap()
            .command
        {
            Command::Move(primitive) => primitive,
            other => panic!("{other:?}"),
        };
        for step in &program.0 {
            let moves: Vec<Primitive> = match step {
                rosless_motion::program::Step::Single(one) => vec![check(one)],
                rosless_motion::program::Step::Sequence(all) => all.iter().map(check).collect(),
            };
            let planned = plan(&planner, &start, &moves);
            inside(&used(&planner, &planned, ur5e_hand));
            start = planned.at(f64::INFINITY).unwrap().position;
        }
    }
}

#[test]
fn move_time_is_kept_or_the_shortest_possible_is_named() {
    let planner = planner("ur5e");
    let home = planner.robot.home;
    let target = home + Joints::new(1.0, 0.0, 0.2, 0.0, 0.0, 0.0);
    let timed = |seconds| planner.plan(&home, &[(0, ptp(target, Timing::MoveTime(seconds), 0.0))], 1.0);
    assert!((timed(2.5).unwrap().duration() - 2.5).abs() < 1e-9);
    let Err((0, rosless_motion::PlanError::MoveTime { needed, .. })) = timed(0.01) else {
        panic!("1 rad in 10 ms")
    };
    let fastest = timed(needed * 1.000001).unwrap();
    inside(&used(&planner, &fastest, ur5e_hand));
    assert!(timed(needed * 0.99).is_err());
    // In a blended motion as well, to within a few thousandths.
    let moves = [
        ptp(target, Timing::MoveTime(1.5), 0.05),
        ptp(home, Timing::MoveTime(1.0), 0.05),
        ptp(target, Timing::MoveTime(2.0), 0.0),
    ];
    let planned = plan(&planner, &home, &moves);
    for ((_, begin, end), asked) in planned.runs[0].times().into_iter().zip([1.5, 1.0, 2.0]) {
        assert!((end - begin - asked).abs() < 0.01, "{} s instead of {asked} s", end - begin);
    }
}

#[test]
fn ptp_to_a_pose_and_lin_to_joints_arrive() {
    let planner = planner("ur10e");
    let home = planner.robot.home;
    let target = home + Joints::repeat(0.1);
    let timing = limits(0.5, 2.0);
    let to_pose = Primitive {
        motion: Motion::JointPose { goal: planner.robot.forward(&target) },
        timing,
        blend_radius: 0.0,
    };
    let to_joints = Primitive { motion: Motion::LinearJoints { target }, timing, blend_radius: 0.0 };
    for motion in [to_pose, to_joints] {
        let end = plan(&planner, &home, &[motion]).at(f64::INFINITY).unwrap().position;
        assert!((end - target).amax() < 1e-6, "{end:?}");
    }
    let turned = Primitive {
        motion: Motion::LinearJoints {
            target: target + Joints::new(0.0, 0.0, 0.0, 0.0, 0.0, -std::f64::consts::TAU),
        },
        timing,
        blend_radius: 0.0,
    };
    let error = planner.plan(&home, &[(0, turned)], 1.0).unwrap_err().1.to_string();
    assert!(error.contains("another posture"), "{error}");
}

#[test]
fn a_path_through_a_zone_is_refused_with_its_name() {
    let mut planner = planner("ur5e");
    let home = planner.robot.home;
    let start = planner.robot.forward(&home);
    let goal = moved(&start, [0.2, 0.0, 0.0]);
    let place = start.translation.vector + Vector3::new(0.1, 0.0, 0.0);
    let zone = format!(
        "the camera: {} {} {} {} {} {}",
        place.x - 0.01,
        place.y - 0.01,
        place.z - 0.01,
        place.x + 0.01,
        place.y + 0.01,
        place.z + 0.01
    );
    planner.zones.boxes.push(rosless_motion::Zone::parse(&zone).unwrap());
    let error = planner.plan(&home, &[(0, lin(goal, limits(0.2, 1.0), 0.0))], 1.0).unwrap_err().1.to_string();
    assert!(error.contains("would enter the camera"), "{error}");
    planner.zones.boxes.clear();
    planner.zones.floor = Some(0.0);
    let below = moved(&start, [0.0, 0.0, -start.translation.z - 0.05]);
    let error = planner.plan(&home, &[(0, ptp_pose(below))], 1.0).unwrap_err().1.to_string();
    assert!(error.contains("would enter the floor"), "{error}");
}

fn ptp_pose(goal: Isometry3<f64>) -> Primitive {
    Primitive { motion: Motion::JointPose { goal }, timing: limits(1.0, 2.0), blend_radius: 0.0 }
}

#[derive(Debug, Clone)]
enum Kind {
    Ptp([f64; 6]),
    Lin([f64; 3], [f64; 3]),
    Circ([f64; 3]),
}

fn any_move() -> impl Strategy<Value = (Kind, f64)> {
    let kind = prop_oneof![
        prop::array::uniform6(-0.5f64..0.5).prop_map(Kind::Ptp),
        (prop::array::uniform3(-0.15f64..0.15), prop::array::uniform3(-0.3f64..0.3))
            .prop_map(|(by, turn)| Kind::Lin(by, turn)),
        prop::array::uniform3(-0.1f64..0.1).prop_map(Kind::Circ),
    ];
    (kind, prop_oneof![Just(0.0), 0.001f64..0.08])
}

fn any_program(robot: &Robot, moves: Vec<(Kind, f64)>, timing: Timing, cartesian: Timing) -> Vec<Primitive> {
    let home = robot.forward(&robot.home);
    moves
        .into_iter()
        .map(|(kind, blend_radius)| match kind {
            Kind::Ptp(by) => ptp(robot.home + Joints::from_column_slice(&by), timing, blend_radius),
            Kind::Lin(by, turn) => {
                let mut goal = moved(&home, by);
                goal.rotation = UnitQuaternion::from_scaled_axis(Vector3::from(turn)) * goal.rotation;
                lin(goal, cartesian, blend_radius)
            }
            Kind::Circ(by) => {
                let (goal, via) = (moved(&home, by), moved(&home, [by[1], by[2] + 0.03, by[0]]));
                Primitive { motion: Motion::Circular { goal, via }, timing: cartesian, blend_radius }
            }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 2000 }))]
    #[test]
    fn any_program_keeps_every_limit_and_the_radius(
        moves in prop::collection::vec(any_move(), 1..6),
        velocity in 0.1f64..5.0, acceleration in 0.5f64..30.0, hand_velocity in 0.02f64..2.0, hand_acceleration in 0.2f64..10.0) {
        let planner = planner("ur5e");
        let program = any_program(&planner.robot, moves, limits(velocity, acceleration), limits(hand_velocity, hand_acceleration));
        // What cannot be done is left out; what can is planned as one motion.
        let mut start = planner.robot.home;
        let mut possible = Vec::new();
        for one in program {
            if let Ok(planned) = planner.plan(&start, &[(0, one)], 1.0) {
                start = planned.at(f64::INFINITY).unwrap().position;
                possible.push(one);
            }
        }
        prop_assume!(!possible.is_empty());
        let numbered: Vec<(u64, Primitive)> = possible.iter().enumerate().map(|(i, one)| (i as u64, *one)).collect();
        let Ok(planned) = planner.plan(&planner.robot.home, &numbered, 1.0) else { return Err(TestCaseError::reject("as a whole it cannot be done")) };
        prop_assume!(planned.duration() < 60.0);
        let used = used(&planner, &planned, ur5e_hand);
        prop_assert!(used.joint.iter().chain(&used.hand).all(|share| *share <= ROUNDING), "{used:?}");
        // Every target is passed within its radius, and outside of the radii the hand is where it would be without blends.
        let places: Vec<_> = sampled(&planned).iter().map(ur5e_hand).collect();
        let mut here = planner.robot.home;
        let (mut way, mut corners) = (Way::default(), Vec::new());
        for one in &possible {
            let alone = planner.plan(&here, &[(0, *one)], 1.0).unwrap();
            way.add(one, &here, &alone);
            here = alone.at(f64::INFINITY).unwrap().position;
            let target = ur5e_hand(&here);
            corners.push((target, one.blend_radius));
            let nearest = places.iter().map(|place| (place - target).norm()).fold(f64::INFINITY, f64::min);
            // One sample per millisecond may step over a target.
            prop_assert!(nearest <= one.blend_radius + 1e-3, "{nearest} m from a target with radius {} m", one.blend_radius);
        }
        for place in places.iter().step_by(10) {
            if corners.iter().all(|(corner, radius)| (place - corner).norm() > *radius) {
                let off = way.off(place);
                prop_assert!(off <= 1.0, "off its path by {off} of what is allowed");
            }
        }
    }

    /// Pauses, other speeds and stops at any instant of a blended motion.
    #[test]
    fn what_happens_on_the_way_keeps_every_limit(
        at in 0usize..2500, then in 1usize..800, what in prop_oneof![Just(Act::Pause), Just(Act::Slow), Just(Act::Stop)]) {
        let planner = planner("ur5e");
        let (home, start) = (planner.robot.home, planner.robot.forward(&planner.robot.home));
        let mut robot = SimulatedRobot::new(planner.clone(), home);
        let mut now = Duration::ZERO;
        let by = [[0.16, 0.0, 0.0], [0.16, 0.16, 0.0], [0.0, 0.16, 0.0]];
        let mut program = vec![Command::SequenceStart];
        program.extend(by.map(|by| Command::Move(lin(moved(&start, by), limits(0.4, 3.0), 0.03))));
        program.extend([Command::Move(ptp(home, limits(2.0, 10.0), 0.0)), Command::SequenceEnd]);
        for command in program {
            tell(&mut robot, &command, now);
        }
        let mut joints = vec![home; 4];
        let rested = |state| matches!(state, ExecutionState::Success | ExecutionState::Stopped);
        for i in 0.. {
            prop_assert!(i < 20_000, "it never ends");
            match what {
                Act::Pause if i == at => drop(robot.pause(now)),
                Act::Pause if i == at + then => drop(robot.resume(now)),
                Act::Slow if i == at => drop(robot.set_speed(0.3, now)),
                Act::Slow if i == at + then => drop(robot.set_speed(1.0, now)),
                Act::Stop if i == at => tell(&mut robot, &Command::Stop, now),
                _ => {}
            }
            now += Duration::from_millis(1);
            let status = robot.read(now).status;
            joints.push(robot.state_at(now).position);
            if rested(status) && i > at {
                break;
            }
        }
        joints.extend([*joints.last().unwrap(); 4]);
        let used = used_by(&planner, &joints, ur5e_hand);
        prop_assert!(used.joint.iter().chain(&used.hand).all(|share| *share <= ROUNDING), "{used:?}");
    }
}

fn tell(robot: &mut SimulatedRobot, command: &Command, now: Duration) {
    let mut interfaces = CommandInterfaces::default();
    interfaces.set(command);
    robot.write(&mut interfaces, now);
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Pause,
    Slow,
    Stop,
}

/// Where a program would lead the hand without blends: lines as they are, all else as short pieces. With how far off it is
/// still on it, in metres: pieces of a bend are not the bend.
#[derive(Default)]
struct Way(Vec<(Vector3<f64>, Vector3<f64>, f64)>);

impl Way {
    fn add(&mut self, one: &Primitive, from: &Joints, alone: &Planned) {
        let places: Vec<_> = sampled(alone).iter().map(ur5e_hand).collect();
        match one.motion {
            Motion::Linear { .. } => self.0.push((ur5e_hand(from), *places.last().unwrap(), 1e-6)),
            _ => self.0.extend(
                places.windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| (pair[0], pair[1], 1e-5)),
            ),
        }
    }

    /// How far off, as a share of what is allowed.
    fn off(&self, place: &Vector3<f64>) -> f64 {
        let shares = self.0.iter().map(|(from, to, allowed)| off_line(place, from, to) / allowed);
        shares.fold(f64::INFINITY, f64::min)
    }
}
