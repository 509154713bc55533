//! The scene as robot-model tools see it: one table of joints, from which the URDF and the transforms both come.
//!
//! Model axes are X = z, Y = x, Z = y of the world used elsewhere in this crate, so that Z is up as ROS has it.

use std::fmt::Write;

use nalgebra::{Isometry3, Translation3, Unit, UnitQuaternion, Vector3};

use crate::JOINT_NAMES;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Fixed,
    Turns { min: f64, max: f64 },
    Slides { min: f64, max: f64 },
}

/// Shape of a link: size of a box, radius and length of a cylinder, radius of a ball; centre; colour.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    None,
    Box([f64; 3]),
    Cylinder(f64, f64),
    Ball(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Joint {
    name: &'static str,
    kind: Kind,
    parent: &'static str,
    child: &'static str,
    origin: [f64; 3],
    axis: [f64; 3],
    shape: Shape,
    centre: [f64; 3],
    colour: &'static str,
}

const ARM: Kind = Kind::Turns { min: -4.0, max: 4.0 };
const FINGER: Kind = Kind::Turns { min: -1.5, max: 1.5 };
const SLIDE: Kind = Kind::Slides { min: -10.0, max: 10.0 };
const X: [f64; 3] = [1.0, 0.0, 0.0];
const Y: [f64; 3] = [0.0, 1.0, 0.0];
const Z: [f64; 3] = [0.0, 0.0, 1.0];

#[rustfmt::skip]
const JOINTS: [Joint; 18] = [
    joint("base", Kind::Fixed, "world", "base_link", [0.0; 3], Z, Shape::None, [0.0; 3], "blue"),
    joint("joint_0", Kind::Fixed, "base_link", "link_0", [0.0; 3], Z, Shape::Cylinder(0.05, 0.1), [0.0, 0.0, 0.05], "blue"),
    joint("joint_1", ARM, "link_0", "link_1", [0.0, 0.0, 0.1], Y, Shape::Cylinder(0.05, 0.2), [0.0, 0.0, 0.1], "red"),
    joint("joint_2", ARM, "link_1", "link_2", [0.0, 0.0, 0.2], Z, Shape::Box([0.1; 3]), [0.0, 0.0, 0.05], "blue"),
    joint("joint_3", ARM, "link_2", "link_3", [0.0, 0.0, 0.1], Y, Shape::Cylinder(0.05, 0.15), [0.0, 0.0, 0.075], "red"),
    joint("joint_4", ARM, "link_3", "link_4", [0.0, 0.0, 0.15], Z, Shape::Box([0.1; 3]), [0.0, 0.0, 0.05], "blue"),
    joint("joint_5", ARM, "link_4", "link_5", [0.0, 0.0, 0.1], Y, Shape::Cylinder(0.025, 0.02), [0.0, 0.0, 0.01], "red"),
    joint("joint_6", ARM, "link_5", "link_6", [0.0; 3], X, Shape::None, [0.0; 3], "red"),
    joint("hand", Kind::Fixed, "link_6", "hand_centre", [0.0, 0.0, 0.1], Z, Shape::None, [0.0; 3], "yellow"),
    joint("hand_1", FINGER, "link_6", "finger_1", [0.0, 0.01, 0.02], [-1.0, 0.0, 0.0], Shape::Box([0.1, 0.03, 0.15]), [0.0, 0.015, 0.075], "yellow"),
    joint("hand_2", FINGER, "link_6", "finger_2", [0.0, -0.01, 0.02], X, Shape::Box([0.1, 0.03, 0.15]), [0.0, -0.015, 0.075], "yellow"),
    joint("shooter_x", SLIDE, "world", "shooter_x_slide", [0.0; 3], Y, Shape::None, [0.0; 3], "blue"),
    joint("shooter_z", SLIDE, "shooter_x_slide", "shooter_base", [0.0; 3], X, Shape::Box([0.2, 0.1, 0.04]), [0.0; 3], "blue"),
    joint("shooter_roll", Kind::Turns { min: -3.0, max: 3.0 }, "shooter_base", "shooter_turntable", [0.0; 3], Z, Shape::None, [0.0; 3], "blue"),
    joint("shooter_pitch", Kind::Turns { min: -1.0, max: 3.0 }, "shooter_turntable", "shooter_slope", [0.0; 3], [0.0, -1.0, 0.0], Shape::Box([0.1, 0.1, 0.04]), [0.0; 3], "red"),
    joint("ball_x", SLIDE, "world", "ball_x_slide", [0.0; 3], Y, Shape::None, [0.0; 3], "yellow"),
    joint("ball_y", SLIDE, "ball_x_slide", "ball_y_slide", [0.0; 3], Z, Shape::None, [0.0; 3], "yellow"),
    joint("ball_z", SLIDE, "ball_y_slide", "ball", [0.0; 3], X, Shape::Ball(0.03), [0.0; 3], "yellow"),
];

#[expect(clippy::too_many_arguments, reason = "it makes the table above a table")]
const fn joint(
    name: &'static str,
    kind: Kind,
    parent: &'static str,
    child: &'static str,
    origin: [f64; 3],
    axis: [f64; 3],
    shape: Shape,
    centre: [f64; 3],
    colour: &'static str,
) -> Joint {
    Joint { name, kind, parent, child, origin, axis, shape, centre, colour }
}

/// A frame relative to its parent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Where it hangs.
    pub parent: &'static str,
    /// Its name.
    pub child: &'static str,
    /// Where that is, seen from the parent.
    pub pose: Isometry3<f64>,
}

/// All frames of the scene for the positions of [`JOINT_NAMES`].
pub fn frames(positions: &[f64; 15]) -> [Frame; 18] {
    JOINTS.map(|joint| {
        let index = JOINT_NAMES.iter().position(|name| *name == joint.name);
        let position = index.map_or(0.0, |i| positions[i]);
        let axis = Vector3::from(joint.axis);
        let moved = match joint.kind {
            Kind::Fixed => Isometry3::identity(),
            Kind::Turns { .. } => Isometry3::from_parts(
                Translation3::identity(),
                UnitQuaternion::from_axis_angle(&Unit::new_unchecked(axis), position),
            ),
            Kind::Slides { .. } => {
                Isometry3::translation(axis.x * position, axis.y * position, axis.z * position)
            }
        };
        let [x, y, z] = joint.origin;
        Frame { parent: joint.parent, child: joint.child, pose: Isometry3::translation(x, y, z) * moved }
    })
}

/// The scene's URDF.
pub fn urdf() -> String {
    let mut text = String::from("<?xml version=\"1.0\"?>\n<robot name=\"ball_catching_arm\">\n");
    for (name, rgb) in [("red", "0.8 0.1 0.1"), ("blue", "0.1 0.2 0.8"), ("yellow", "0.9 0.8 0.1")] {
        let _ = writeln!(text, "  <material name=\"{name}\"><color rgba=\"{rgb} 1\"/></material>");
    }
    text.push_str("  <link name=\"world\"/>\n");
    for joint in &JOINTS {
        joint.write_urdf(&mut text);
    }
    text.push_str("</robot>\n");
    text
}

impl Joint {
    fn write_urdf(&self, text: &mut String) {
        let triple = |[x, y, z]: [f64; 3]| format!("{x} {y} {z}");
        let shape = match self.shape {
            Shape::None => None,
            Shape::Box(size) => Some(format!("<box size=\"{}\"/>", triple(size))),
            Shape::Cylinder(radius, length) => {
                Some(format!("<cylinder radius=\"{radius}\" length=\"{length}\"/>"))
            }
            Shape::Ball(radius) => Some(format!("<sphere radius=\"{radius}\"/>")),
        };
        let _ = match shape {
            None => writeln!(text, "  <link name=\"{}\"/>", self.child),
            Some(shape) => writeln!(
                text,
                "  <link name=\"{}\"><visual><origin xyz=\"{centre}\"/><geometry>{shape}</geometry>\
                 <material name=\"{}\"/></visual>\
                 <collision><origin xyz=\"{centre}\"/><geometry>{shape}</geometry></collision></link>",
                self.child,
                self.colour,
                centre = triple(self.centre),
            ),
        };
        let (kind, limit) = match self.kind {
            Kind::Fixed => ("fixed", None),
            Kind::Turns { min, max } => ("revolute", Some((min, max))),
            Kind::Slides { min, max } => ("prismatic", Some((min, max))),
        };
        let _ = write!(
            text,
            "  <joint name=\"{}\" type=\"{kind}\"><parent link=\"{}\"/><child link=\"{}\"/><origin xyz=\"{}\"/>",
            self.name,
            self.parent,
            self.child,
            triple(self.origin),
        );
        if let Some((min, max)) = limit {
            // Nothing here has a mass, so any effort will do; a speed of 0 would mean that nothing moves.
            let velocity = crate::Limits::default().0[0].velocity;
            let _ = write!(
                text,
                "<axis xyz=\"{}\"/><limit lower=\"{min}\" upper=\"{max}\" effort=\"100\" velocity=\"{velocity}\"/>",
                triple(self.axis),
            );
        }
        text.push_str("</joint>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Joints, Robot, Seeded};

    /// Pose of a link in the model's world.
    fn pose_of(frames: &[Frame], link: &str) -> Isometry3<f64> {
        match frames.iter().find(|f| f.child == link) {
            Some(frame) => pose_of(frames, frame.parent) * frame.pose,
            None => Isometry3::identity(),
        }
    }

    #[test]
    fn the_model_moves_as_the_kinematics_say() {
        let mut random = Seeded(5);
        for _ in 0..100 {
            let mut positions = [0.0; 15];
            positions.iter_mut().for_each(|p| *p = random.range(-3.0, 3.0));
            let frames = frames(&positions);
            let hand = pose_of(&frames, "hand_centre") * nalgebra::Point3::origin();
            let expected =
                Robot::default().forward(&Joints::from_column_slice(&positions[9..])).translation.vector;
            // X = z, Y = x, Z = y
            assert!((hand.coords - Vector3::new(expected.z, expected.x, expected.y)).amax() < 1e-12);
            let ball = pose_of(&frames, "ball").translation.vector;
            assert_eq!(ball, Vector3::new(positions[8], positions[6], positions[7]));
        }
    }

    #[test]
    fn every_published_joint_is_in_the_model() {
        let text = urdf();
        for name in JOINT_NAMES {
            assert!(text.contains(&format!("<joint name=\"{name}\" type=")), "{name}");
        }
        assert!(text.contains("<link name=\"base_link\"/>") && text.contains("<collision>"));
        assert!(text.contains("velocity=\"10\"") && !text.contains("velocity=\"0\""));
        assert_eq!(text.matches("<joint ").count(), text.matches("</joint>").count());
    }
}
