//! What a viewer needs to draw a robot: a URDF with simple shapes for those that did not come from one.

use std::fmt::Write;

use nalgebra::{Isometry3, Unit, UnitQuaternion, Vector3};

use crate::{JOINTS, Joints, limits::JointLimit, robot::Robot};

/// The robot's URDF: the one it came from, or one with a tube between each two joints. `prefix` goes before every name of
/// a link and a joint.
pub fn urdf(robot: &Robot, prefix: &str) -> String {
    match &robot.urdf {
        Some(text) if prefix.is_empty() => text.clone(),
        _ => drawn(robot, prefix),
    }
}

fn origin(pose: &Isometry3<f64>) -> String {
    let (t, (roll, pitch, yaw)) = (pose.translation.vector, pose.rotation.euler_angles());
    // A rounded right angle is read as one.
    format!(r#"<origin xyz="{:.9} {:.9} {:.9}" rpy="{roll:.12} {pitch:.12} {yaw:.12}"/>"#, t.x, t.y, t.z)
}

/// The turn that brings z onto `direction`.
fn from_z(direction: &Vector3<f64>) -> UnitQuaternion<f64> {
    let half_turn = || UnitQuaternion::from_scaled_axis(Vector3::x() * std::f64::consts::PI);
    UnitQuaternion::rotation_between(&Vector3::z(), direction).unwrap_or_else(half_turn)
}

/// A frame on each joint's axis with z along it: what a URDF calls the joint's origin.
fn joint_frames(robot: &Robot) -> [Isometry3<f64>; JOINTS] {
    std::array::from_fn(|i| {
        let axis = &robot.chain.axes[i];
        Isometry3::from_parts(axis.point.into(), from_z(&axis.direction))
    })
}

/// A tube from the link's origin to `end`, which is given in its frame.
fn tube(end: &Vector3<f64>, radius: f64) -> String {
    let length = end.norm();
    if length < 1e-3 {
        return String::new();
    }
    let along = from_z(end);
    let shape = format!(
        r#"{}<geometry><cylinder radius="{radius:.4}" length="{length:.6}"/></geometry>"#,
        origin(&Isometry3::from_parts((end / 2.0).into(), along))
    );
    format!(r#"<visual>{shape}<material name="steel"/></visual><collision>{shape}</collision>"#)
}

fn drawn(robot: &Robot, prefix: &str) -> String {
    let chain = &robot.chain;
    let joints = joint_frames(robot);
    let reach: f64 =
        joints.windows(2).map(|pair| (pair[1].translation.vector - pair[0].translation.vector).norm()).sum();
    let radius = (reach / 20.0).clamp(0.01, 0.1);
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n<robot name=\"{}\">\n<material name=\"steel\"><color rgba=\"0.6 0.65 0.7 1\"/></material>\n",
        robot.name
    );
    let name = |link: &str| format!("{prefix}{link}");
    let first = joints[0].translation.vector;
    let _ = writeln!(text, r#"<link name="{}"/>"#, name(&robot.root_frame));
    let base_is_root = robot.base_frame == robot.root_frame;
    let base = tube(&first, radius);
    if !base_is_root {
        let _ = writeln!(text, r#"<link name="{}">{base}</link>"#, name(&robot.base_frame));
        let _ = writeln!(
            text,
            r#"<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/>{}</joint>"#,
            name("base_fixed_joint"),
            name(&robot.root_frame),
            name(&robot.base_frame),
            origin(&robot.base_in_root)
        );
    }
    let mut parent = (name(&robot.base_frame), Isometry3::identity());
    for (i, joint) in joints.iter().enumerate() {
        let JointLimit { lower, upper, velocity, .. } = robot.limits.0[i];
        let child = name(&robot.link_names[i]);
        let end = joints.get(i + 1).unwrap_or(&chain.tool).translation.vector;
        let end = joint.inverse_transform_point(&end.into()).coords;
        let _ = writeln!(text, r#"<link name="{child}">{}</link>"#, tube(&end, radius));
        let _ = writeln!(
            text,
            r#"<joint name="{}" type="revolute"><parent link="{}"/><child link="{child}"/>{}<axis xyz="0 0 1"/><limit lower="{lower:.6}" upper="{upper:.6}" velocity="{velocity:.6}" effort="100"/></joint>"#,
            name(&robot.joint_names[i]),
            parent.0,
            origin(&(parent.1.inverse() * joint))
        );
        parent = (child, *joint);
    }
    let tool = name(&robot.tool_frame);
    let _ = writeln!(text, r#"<link name="{tool}"/>"#);
    let _ = writeln!(
        text,
        r#"<joint name="{tool}_joint" type="fixed"><parent link="{}"/><child link="{tool}"/>{}</joint>"#,
        parent.0,
        origin(&(parent.1.inverse() * chain.tool))
    );
    text + "</robot>\n"
}

/// The robot's frames with their parents at the given joint angles, as its [`urdf`] has them: for `/tf`.
pub fn frames(robot: &Robot, joints: &Joints, prefix: &str) -> Vec<(String, String, Isometry3<f64>)> {
    let name = |link: &str| format!("{prefix}{link}");
    let mut frames = Vec::with_capacity(JOINTS + 2);
    if robot.base_frame != robot.root_frame {
        frames.push((name(&robot.root_frame), name(&robot.base_frame), robot.base_in_root));
    }
    let zero: [Isometry3<f64>; JOINTS] = match &robot.urdf {
        // Its own file says where the frames are.
        Some(_) if prefix.is_empty() => robot.chain.links,
        _ => joint_frames(robot),
    };
    let mut parent = (name(&robot.base_frame), Isometry3::identity());
    for i in 0..JOINTS {
        let axis =
            Unit::new_normalize(zero[i].rotation.inverse() * robot.chain.axes[i].direction.into_inner());
        let turned = zero[i] * UnitQuaternion::from_axis_angle(&axis, joints[i]);
        let child = name(&robot.link_names[i]);
        frames.push((parent.0, child.clone(), parent.1.inverse() * turned));
        parent = (child, zero[i]);
    }
    frames.push((parent.0, name(&robot.tool_frame), parent.1.inverse() * robot.chain.tool));
    frames
}
