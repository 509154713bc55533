//! Robots that need no file.
//!
//! Link lengths and joint speeds are the manufacturer's public figures. Acceleration and jerk of the joints are not
//! published: those here are cautious, and parameters change them.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

use crate::{
    JOINTS,
    analytic::Solver,
    chain::{Axis, Chain, Joints},
    dh::{self, DhRow},
    limits::{JointLimit, Limits},
    robot::Robot,
};

/// Names that [`robot`] knows.
pub const NAMES: [&str; 9] = ["ur3e", "ur5e", "ur10e", "ur16e", "ur20", "ur3", "ur5", "ur10", "sim_arm"];

/// rad/s² and rad/s³ of every joint.
const ACCELERATION: f64 = 15.0;
const JERK: f64 = 500.0;

struct Ur {
    name: &'static str,
    d1: f64,
    a2: f64,
    a3: f64,
    d4: f64,
    d5: f64,
    d6: f64,
    /// Greatest joint speeds, degrees per second.
    speeds: [f64; JOINTS],
}

#[rustfmt::skip]
const URS: [Ur; 8] = [
    Ur { name: "ur3e", d1: 0.15185, a2: -0.24355, a3: -0.2132, d4: 0.13105, d5: 0.08535, d6: 0.0921, speeds: [180.0, 180.0, 180.0, 360.0, 360.0, 360.0] },
    Ur { name: "ur5e", d1: 0.1625, a2: -0.425, a3: -0.3922, d4: 0.1333, d5: 0.0997, d6: 0.0996, speeds: [180.0; JOINTS] },
    Ur { name: "ur10e", d1: 0.1807, a2: -0.6127, a3: -0.57155, d4: 0.17415, d5: 0.11985, d6: 0.11655, speeds: [120.0, 120.0, 180.0, 180.0, 180.0, 180.0] },
    Ur { name: "ur16e", d1: 0.1807, a2: -0.4784, a3: -0.36, d4: 0.17415, d5: 0.11985, d6: 0.11655, speeds: [120.0, 120.0, 180.0, 180.0, 180.0, 180.0] },
    Ur { name: "ur20", d1: 0.2363, a2: -0.8620, a3: -0.7287, d4: 0.2010, d5: 0.1593, d6: 0.1543, speeds: [120.0, 120.0, 150.0, 210.0, 210.0, 210.0] },
    // CB3
    Ur { name: "ur3", d1: 0.1519, a2: -0.24365, a3: -0.21325, d4: 0.11235, d5: 0.08535, d6: 0.0819, speeds: [180.0, 180.0, 180.0, 360.0, 360.0, 360.0] },
    Ur { name: "ur5", d1: 0.089159, a2: -0.425, a3: -0.39225, d4: 0.10915, d5: 0.09465, d6: 0.0823, speeds: [180.0; JOINTS] },
    Ur { name: "ur10", d1: 0.1273, a2: -0.612, a3: -0.5723, d4: 0.163941, d5: 0.1157, d6: 0.0922, speeds: [120.0, 120.0, 180.0, 180.0, 180.0, 180.0] },
];

/// The robot of that name.
pub fn robot(name: &str) -> Option<Robot> {
    if name == "sim_arm" {
        return Some(sim_arm());
    }
    URS.iter().find(|ur| ur.name == name).map(universal)
}

fn universal(ur: &Ur) -> Robot {
    let row = |a, alpha, d| DhRow { a, alpha, d, theta: 0.0 };
    let chain = dh::chain(&[
        row(0.0, FRAC_PI_2, ur.d1),
        row(ur.a2, 0.0, 0.0),
        row(ur.a3, 0.0, 0.0),
        row(0.0, FRAC_PI_2, ur.d4),
        row(0.0, -FRAC_PI_2, ur.d5),
        row(0.0, 0.0, ur.d6),
    ]);
    let limits = std::array::from_fn(|i| {
        // Behind the elbow the arm would go through itself long before a full turn.
        let range = if i == 2 { PI } else { TAU };
        let velocity = ur.speeds[i].to_radians();
        JointLimit { lower: -range, upper: range, velocity, acceleration: ACCELERATION, jerk: JERK }
    });
    let joints = ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"];
    let links = ["shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "wrist_3"];
    Robot {
        name: ur.name.to_owned(),
        solver: Solver::for_chain(&chain),
        chain,
        limits: Limits(limits),
        joint_names: joints.map(|name| format!("{name}_joint")),
        link_names: links.map(|name| format!("{name}_link")),
        root_frame: "base_link".to_owned(),
        base_frame: "base".to_owned(),
        // The controller's own base looks the other way than what ROS calls base_link.
        base_in_root: turned(Vector3::z() * PI),
        tool_frame: "tool0".to_owned(),
        home: Joints::new(-FRAC_PI_2, -1.6, 1.6, -1.3, -1.3, 0.2),
        urdf: None,
    }
}

/// The arm that catches balls (`sim-arm`), standing on a z-up base.
fn sim_arm() -> Robot {
    let (x, z) = (Vector3::x_axis(), Vector3::z_axis());
    let at = |direction, height| Axis { direction, point: Vector3::new(0.0, 0.0, height) };
    let axes = [at(x, 0.1), at(z, 0.1), at(x, 0.4), at(z, 0.65), at(x, 0.65), at(-Vector3::y_axis(), 0.65)];
    // Its own axes have y up.
    let upright = turned(Vector3::x() * FRAC_PI_2);
    let link = |height| Translation3::new(0.0, 0.0, height) * upright;
    let chain = Chain { links: axes.map(|axis| link(axis.point.z)), tool: link(0.75), axes };
    let number = |what: &str| std::array::from_fn(|i| format!("sim_arm_{what}_{}", i + 1));
    Robot {
        name: "sim_arm".to_owned(),
        solver: Solver::for_chain(&chain),
        chain,
        limits: Limits::uniform(4.0, 3.0, ACCELERATION, JERK),
        joint_names: number("joint"),
        link_names: number("link"),
        root_frame: "base_link".to_owned(),
        base_frame: "base".to_owned(),
        base_in_root: Isometry3::identity(),
        tool_frame: "tool0".to_owned(),
        home: Joints::new(-0.6, 0.0, 1.4, 0.0, 0.6, 0.0),
        urdf: None,
    }
}

fn turned(axis_angle: Vector3<f64>) -> Isometry3<f64> {
    Isometry3::from_parts(Translation3::identity(), UnitQuaternion::from_scaled_axis(axis_angle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_robot_whose_home_is_well_inside() {
        for name in NAMES {
            let found = robot(name).expect(name);
            assert_eq!(found.name, name);
            assert!(found.solver.is_some(), "{name} has no closed form");
            found.limits.check(&found.home).expect(name);
            assert!(
                found.manipulability(&found.home) > 0.03,
                "{name}: {}",
                found.manipulability(&found.home)
            );
        }
        assert!(robot("ur7").is_none());
    }

    /// Stretched out along −x with all joints at zero: the figures add up, and z is up.
    #[test]
    fn the_published_figures_of_a_ur5e_at_zero() {
        let place = robot("ur5e").unwrap().forward(&Joints::zeros()).translation.vector;
        let expected = Vector3::new(-0.425 - 0.3922, -0.1333 - 0.0996, 0.1625 - 0.0997);
        assert!((place - expected).norm() < 1e-12, "{place:?}");
    }
}
