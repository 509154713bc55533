//! The arm's geometry against reference values, against itself, and against the edges of its workspace.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::f64::consts::{FRAC_PI_2, PI};

use nalgebra::{Isometry3, Matrix3, Rotation3, UnitQuaternion, Vector3};
use proptest::prelude::*;
use rosless_arm::{Joints, Limits, Robot, Seeded, Unreachable};

fn any_joints(random: &mut Seeded) -> Joints {
    Joints::from_fn(|_, _| random.range(-4.0, 4.0))
}

fn any_rotation(random: &mut Seeded) -> Matrix3<f64> {
    let mut angle = |limit: f64| random.range(-limit, limit);
    Rotation3::from_euler_angles(angle(PI), angle(1.5), angle(PI)).into_inner()
}

fn upright(heading: f64) -> Matrix3<f64> {
    Rotation3::from_axis_angle(&Vector3::y_axis(), heading).into_inner()
}

fn pose(position: Vector3<f64>, rotation: Matrix3<f64>) -> Isometry3<f64> {
    let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(rotation));
    Isometry3::from_parts(position.into(), rotation)
}

#[test]
fn forward_kinematics_match_the_reference() {
    let robot = Robot::default();
    let table: [([f64; 6], [f64; 3]); 5] = [
        ([0.0; 6], [0.0, 0.75, 0.0]),
        ([0.5, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.670428665, 0.3116266]),
        ([0.0, 0.5, 0.5, 0.0, 0.0, 0.0], [0.080447096, 0.707153897, 0.147257422]),
        ([0.0, 0.0, FRAC_PI_2, 0.0, 0.0, 0.0], [0.0, 0.4, 0.35]),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [-0.005848158, 0.672298747, 0.213568478]),
    ];
    for (joints, position) in table {
        let got = robot.forward(&Joints::from(joints)).translation.vector;
        assert!((got - Vector3::from(position)).amax() < 1e-8, "{joints:?}: {got}");
    }
}

#[test]
fn hand_motion_matches_the_reference() {
    let state = Robot::default()
        .hand_state(&Joints::new(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), &Joints::new(1.0, -1.0, 0.5, 0.2, -0.3, 0.7));
    let rotation = Matrix3::new(
        0.863761725,
        -0.205258583,
        0.460200604, //
        0.501790894,
        0.433852264,
        -0.748316853, //
        -0.046060617,
        0.877291928,
        0.477741868,
    );
    assert!((state.rotation - rotation).amax() < 1e-8);
    assert!((state.velocity - Vector3::new(-0.185499304, -0.321587453, 0.696395976)).amax() < 1e-8);
}

#[test]
fn inverse_kinematics_contain_the_reference_branch() {
    let robot = Robot::default();
    let table = [
        ([0.0, 0.5, 0.2], 0.0, [-0.167329367, 0.0, 1.7213646, 0.0, -1.554035233, 0.0]),
        ([0.0, 0.5, -0.2], 0.0, [-1.343334574, 0.0, 1.7213646, 0.0, -0.378030026, 0.0]),
        (
            [0.1, 0.5, 0.2],
            0.0,
            [-0.097234488, 0.413040694, 1.654226413, -1.518831117, -1.159235663, 1.556626627],
        ),
        (
            [-0.1, 0.4, 0.3],
            -0.7,
            [0.297556632, -0.413040694, 1.654226413, 0.778212403, -2.006888352, -0.605659157],
        ),
    ];
    for (position, heading, joints) in table {
        let joints = Joints::from(joints);
        let solutions = robot.inverse_all(&pose(Vector3::from(position), upright(heading))).unwrap();
        assert!(
            solutions.iter().any(|b| b.limits.is_ok() && (b.joints - joints).amax() < 1e-8),
            "{position:?}: {solutions:#?}"
        );
    }
}

#[test]
fn home_and_low_targets_are_reachable() {
    let robot = Robot::default();
    for (position, rotation) in [
        (Vector3::new(0.0, 0.75, 0.0), Matrix3::identity()),
        (Vector3::new(-0.1, 0.0, 0.2), Matrix3::identity()),
        // Straight up and folded back onto itself, hand upside down: every singular posture at once.
        (Vector3::new(0.0, 0.05, 0.0), Rotation3::from_axis_angle(&Vector3::x_axis(), PI).into_inner()),
    ] {
        let solutions = robot.inverse_frame(&position, &rotation, &Joints::zeros()).unwrap();
        for branch in solutions.iter() {
            let (p, r) = robot.hand_frame(&branch.joints);
            assert!((p - position).amax() < 1e-9 && (r - rotation).amax() < 1e-9, "{branch:?}");
        }
    }
    let home = robot.inverse_nearest(&robot.forward(&Joints::zeros()), &Joints::zeros()).unwrap();
    assert!(home.amax() < 1e-7, "home is reached by staying home, not {home}");
}

#[test]
fn unreachable_poses_say_which_limit() {
    let robot = Robot::default();
    let reason = |x, y, z| robot.inverse_all(&pose(Vector3::new(x, y, z), Matrix3::identity())).unwrap_err();
    assert!(matches!(reason(0.3, 0.5, 0.0), Unreachable::TooFarAside { .. }));
    assert!(matches!(reason(0.0, 1.0, 0.0), Unreachable::TooFar { .. }));
    assert!(matches!(reason(0.0, 0.21, 0.0), Unreachable::TooClose { .. }));
    assert!(matches!(reason(f64::NAN, 0.5, 0.0), Unreachable::NotFinite));
    assert!(
        reason(0.0, 1.0, 0.0).to_string().contains("0.8000 m from joint_1, and the arm reaches 0.5500 m")
    );

    let tight = Robot { limits: Limits::uniform(0.5, 10.0, 100.0), ..robot };
    let low = pose(Vector3::new(0.0, 0.4, 0.35), upright(0.0));
    let error = tight.inverse_nearest(&low, &Joints::zeros()).unwrap_err();
    assert!(matches!(error, Unreachable::OutsideLimits(v) if v.angle.abs() > 0.5), "{error}");
}

#[test]
fn every_branch_of_100_000_random_poses_leads_back() {
    let robot = Robot::default();
    let mut random = Seeded(1);
    let mut worst: f64 = 0.0;
    for _ in 0..100_000 {
        let joints = any_joints(&mut random);
        let (position, rotation) = robot.hand_frame(&joints);
        let solutions = robot.inverse_frame(&position, &rotation, &joints).unwrap();
        let mut has_original = false;
        for branch in solutions.iter() {
            assert_eq!(branch.limits, Ok(()), "±4 rad holds a full turn");
            let (p, r) = robot.hand_frame(&branch.joints);
            worst = worst.max((p - position).amax()).max((r - rotation).amax());
            // Near a singular posture the angles, not the pose, lose digits.
            has_original |= (branch.joints - joints).amax() < 1e-3;
        }
        assert!(worst < 1e-9, "off by {worst:e} at {joints}");
        assert!(has_original, "{joints} is not among its own solutions {solutions:?}");
        let nearest = robot.inverse_nearest(&robot.forward(&joints), &joints).unwrap();
        assert!((nearest - joints).amax() < 1e-3);
    }
    println!("worst FK(IK(x)) − x: {worst:e}");
}

#[test]
fn poses_near_singular_postures_lead_back_too() {
    let robot = Robot::default();
    let mut random = Seeded(2);
    for _ in 0..20_000 {
        let special = [0.0, FRAC_PI_2, -FRAC_PI_2, PI, -PI];
        let joints = Joints::from_fn(|_, _| {
            let at = special[(random.range(0.0, 5.0)) as usize];
            at + random.range(-1.0, 1.0) * 10f64.powf(random.range(-17.0, 0.0))
        });
        let (position, rotation) = robot.hand_frame(&joints);
        let solutions = robot.inverse_frame(&position, &rotation, &joints).unwrap();
        for branch in solutions.iter() {
            let (p, r) = robot.hand_frame(&branch.joints);
            let error = (p - position).amax().max((r - rotation).amax());
            assert!(error < 1e-9, "off by {error:e} at {joints}");
        }
    }
}

/// The named distance must really be out of bounds, with the bound worked out another way than in the solver.
#[test]
fn every_pose_called_unreachable_is_proved_so() {
    let robot = Robot::default();
    let mut random = Seeded(3);
    let mut unreachable = 0;
    for _ in 0..100_000 {
        let position =
            Vector3::new(random.range(-0.7, 0.7), random.range(-0.7, 0.9), random.range(-0.7, 0.7));
        let rotation = any_rotation(&mut random);
        let Err(reason) = robot.inverse_frame(&position, &rotation, &Joints::zeros()) else { continue };
        unreachable += 1;
        let wrist = position - rotation * Vector3::new(0.0, 0.1, 0.0) - Vector3::new(0.0, 0.1, 0.0);
        match reason {
            Unreachable::TooFar { distance, max } => {
                assert!((distance - wrist.norm()).abs() < 1e-12 && max == 0.55 && distance > max)
            }
            Unreachable::TooClose { distance, min } => {
                assert!(
                    (distance - wrist.norm()).abs() < 1e-12 && (min - 0.05).abs() < 1e-12 && distance < min
                )
            }
            Unreachable::TooFarAside { offset, max, .. } => {
                // The bend that gives the wrist's distance, by the law of cosines.
                let bend = PI - ((0.09 + 0.0625 - wrist.norm_squared()) / 0.15).acos();
                assert!((max - 0.25 * bend.sin()).abs() < 1e-9 && (offset - wrist.x.abs()).abs() < 1e-12);
                assert!(offset > max, "{reason}");
            }
            other => panic!("not a geometric reason: {other}"),
        }
    }
    assert!(unreachable > 30_000, "only {unreachable} poses tested the proof");
}

proptest! {
    #[test]
    fn jacobian_is_the_derivative_of_forward_kinematics(
        q in prop::array::uniform6(-4.0f64..4.0),
        v in prop::array::uniform6(-3.0f64..3.0),
    ) {
        let (robot, q, v) = (Robot::default(), Joints::from(q), Joints::from(v));
        let h = 1e-6;
        let (p0, r0) = robot.hand_frame(&(q - v * h));
        let (p1, r1) = robot.hand_frame(&(q + v * h));
        let state = robot.hand_state(&q, &v);
        prop_assert!((state.velocity - (p1 - p0) / (2.0 * h)).amax() < 1e-7);
        prop_assert!((state.rotation_rate - (r1 - r0) / (2.0 * h)).amax() < 1e-6);
        if let Some(speeds) = robot.joint_speeds(&q, &(robot.jacobian(&q) * v)) {
            prop_assert!((speeds - v).amax() < 1e-8);
        }
    }
}

#[test]
fn singular_postures_have_no_joint_speeds() {
    let up = nalgebra::Vector6::new(0.0, 1.0, 0.0, 0.0, 0.0, 0.0);
    assert_eq!(Robot::default().joint_speeds(&Joints::zeros(), &up), None);
}
