//! The closed forms, the numeric inverse and URDFs, checked against each other.

use nalgebra::Isometry3;
use proptest::prelude::*;
use rosless_kinematics::{
    DhRow, Joints, Limits, Robot, analytic::Solver, builtin, describe, dh, numeric, urdf,
};

fn off(a: &Isometry3<f64>, b: &Isometry3<f64>) -> f64 {
    (a.to_homogeneous() - b.to_homogeneous()).amax()
}

/// An arm as most factories have them: shoulder beside the base's axis, elbow offset, spherical wrist.
fn factory_arm() -> Robot {
    let row = |a, alpha, d| DhRow { a, alpha, d, theta: 0.0 };
    let half = std::f64::consts::FRAC_PI_2;
    let rows = [
        row(0.15, -half, 0.45),
        row(0.6, 0.0, 0.0),
        row(0.1, -half, 0.0),
        row(0.0, half, 0.62),
        row(0.0, -half, 0.0),
        row(0.0, 0.0, 0.1),
    ];
    let ur = builtin::robot("ur5e").unwrap();
    let chain = dh::chain(&rows);
    Robot {
        name: "factory".into(),
        solver: Solver::for_chain(&chain),
        chain,
        limits: Limits::uniform(6.0, 3.0, 10.0, 100.0),
        joint_names: ur.joint_names,
        link_names: ur.link_names,
        root_frame: "base".into(),
        base_frame: "base".into(),
        base_in_root: Isometry3::identity(),
        tool_frame: "tool0".into(),
        home: Joints::new(0.1, -0.7, 0.9, 0.4, 0.8, 0.3),
        urdf: None,
    }
}

fn robots() -> Vec<Robot> {
    builtin::NAMES.iter().map(|name| builtin::robot(name).unwrap()).chain([factory_arm()]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_posture_found_puts_the_tool_there_and_the_one_that_was_is_among_them(q in prop::array::uniform6(-3.0f64..3.0)) {
        let joints = Joints::from_column_slice(&q);
        for robot in robots() {
            prop_assert!(robot.solver.is_some(), "{} has no closed form", robot.name);
            let pose = robot.forward(&joints);
            let postures = robot.postures(&pose, &joints);
            for posture in &postures {
                prop_assert!(off(&robot.forward(posture), &pose) < 1e-6, "{}: {posture:?}", robot.name);
            }
            if robot.manipulability(&joints) > 1e-3 {
                let turn = std::f64::consts::TAU;
                let same = |a: &Joints| (a - joints).map(|x| x - turn * (x / turn).round()).amax() < 1e-5;
                prop_assert!(postures.iter().any(same), "{}: {joints:?} is not among {postures:?}", robot.name);
            }
        }
    }

    #[test]
    fn closed_form_and_numeric_inverse_agree(q in prop::array::uniform6(-1.0f64..1.0), by in prop::array::uniform6(-0.05f64..0.05)) {
        for robot in robots() {
            let joints = robot.home + Joints::from_column_slice(&q) * 0.3;
            if robot.manipulability(&joints) < 0.02 {
                continue;
            }
            let pose = robot.forward(&joints);
            let near = joints + Joints::from_column_slice(&by);
            let closed = robot.inverse(&pose, &near).unwrap();
            let searched = numeric::solve(&robot.chain, &pose, &near).expect("a search from nearby finds it");
            prop_assert!((closed - searched).amax() < 1e-6, "{}: {closed:?} {searched:?}", robot.name);
        }
    }

    #[test]
    fn a_pose_anywhere_is_an_answer_or_a_reason(x in -3.0f64..3.0, y in -3.0f64..3.0, z in -3.0f64..3.0, r in -3.0f64..3.0) {
        for robot in robots() {
            let pose = Isometry3::new([x, y, z].into(), [r, 0.3, 0.1].into());
            match robot.inverse(&pose, &robot.home) {
                Ok(joints) => {
                    robot.limits.check(&joints).unwrap();
                    prop_assert!(off(&robot.forward(&joints), &pose) < 1e-6);
                }
                Err(reason) => prop_assert!(!reason.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn a_robot_survives_its_own_urdf(q in prop::array::uniform6(-3.0f64..3.0)) {
        let joints = Joints::from_column_slice(&q);
        for robot in robots() {
            let text = describe::urdf(&robot, "left_");
            let ask = urdf::Ask { base: Some(&format!("left_{}", robot.base_frame)), tool: None, acceleration: 1.0, jerk: 1.0 };
            let read = urdf::robot(&text, &ask).unwrap();
            prop_assert!(off(&read.forward(&joints), &robot.forward(&joints)) < 1e-7, "{}", robot.name);
            prop_assert_eq!(&read.joint_names[0], &format!("left_{}", robot.joint_names[0]));
            prop_assert!((read.limits.0[3].velocity - robot.limits.0[3].velocity).abs() < 1e-5);
            prop_assert!(read.solver.is_some(), "{}: the closed form is lost", robot.name);
            // What goes to /tf is what a viewer computes from the URDF.
            for (robot, prefix) in [(&robot, "left_"), (&read, "")] {
                let frames = describe::frames(robot, &joints, prefix);
                let mut tool = Isometry3::identity();
                for (_, _, pose) in frames.iter().skip(usize::from(robot.base_frame != robot.root_frame)) {
                    tool *= pose;
                }
                prop_assert!(off(&tool, &robot.forward(&joints)) < 1e-7);
            }
        }
    }
}

#[test]
fn a_full_turn_is_used_where_it_is_nearer() {
    let robot = builtin::robot("ur5e").unwrap();
    let joints = robot.home + Joints::new(0.0, 0.0, 0.0, 0.0, 0.0, 5.5);
    let found = robot.inverse(&robot.forward(&joints), &joints).unwrap();
    assert!((found - joints).amax() < 1e-9, "{found:?}");
}

#[test]
fn what_is_out_of_reach_or_outside_the_limits_is_said_in_words() {
    let mut robot = builtin::robot("ur5e").unwrap();
    let far = robot.inverse(&Isometry3::translation(2.0, 0.0, 0.5), &robot.home).unwrap_err().to_string();
    assert!(far.contains("out of reach: it is 2.0"), "{far}");
    let pose = robot.forward(&robot.home);
    robot.limits.0[0].lower = 3.0;
    robot.limits.0[0].upper = 3.1;
    let limited = robot.inverse(&pose, &robot.home).unwrap_err().to_string();
    assert!(limited.contains("joint 1 would be at"), "{limited}");
}

#[test]
fn an_arm_without_a_closed_form_is_searched() {
    let mut robot = factory_arm();
    // The wrist's axes miss each other.
    robot.chain.axes[4].point.x += 0.05;
    robot.solver = Solver::for_chain(&robot.chain);
    assert!(robot.solver.is_none());
    let goal = robot.home + Joints::repeat(0.2);
    let found = robot.inverse(&robot.forward(&goal), &robot.home).unwrap();
    assert!(off(&robot.forward(&found), &robot.forward(&goal)) < 1e-8);
}

#[test]
fn what_is_wrong_with_a_urdf_is_said() {
    let ask = urdf::Ask { base: None, tool: None, acceleration: 1.0, jerk: 1.0 };
    let reason = |text: &str, ask: &urdf::Ask<'_>| urdf::robot(text, ask).map(drop).unwrap_err().to_string();
    assert!(reason("<nothing", &ask).contains("no URDF"));
    let empty = r#"<robot name="x"><link name="a"/></robot>"#;
    assert!(reason(empty, &ask).contains("0 links end a chain"));
    assert!(
        reason(empty, &urdf::Ask { tool: Some("b"), ..ask.clone() })
            .contains("from link \"a\" to link \"b\"")
    );
    let one = r#"<robot name="x"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/><child link="b"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"#;
    assert!(reason(one, &urdf::Ask { tool: Some("b"), ..ask }).contains("there are 1 turning joints"));
}
