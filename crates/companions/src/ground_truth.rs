//! Where a robot truly is, from the rigid body that it carries.

use nalgebra::Isometry3;
use rosless_wire::{
    geometry_msgs::msg::{Pose, TransformStamped},
    mocap4r2_msgs::msg::RigidBodies,
    std_msgs::msg::Header,
    tf2_msgs::msg::TFMessage,
};

use crate::frames::{Frames, from_pose, from_xyzrpy, to_transform};

/// Turns the first rigid body into the transform `root_frame` → `<robot_frame>_gt`.
#[derive(Debug)]
pub struct GroundTruth {
    root_frame: String,
    robot_frame: String,
    mocap_frame: String,
    frames: Frames,
    /// Looked up once: the body does not move on the robot.
    body_to_robot: Option<Isometry3<f64>>,
    /// The robot as the cameras last saw it.
    seen: Option<Isometry3<f64>>,
    offset: Isometry3<f64>,
}

impl GroundTruth {
    /// `mocap_in_root`: x, y, z, roll, pitch, yaw of the cameras' origin in the root frame.
    pub fn new(root_frame: &str, robot_frame: &str, mocap_frame: &str, mocap_in_root: [f64; 6]) -> Self {
        Self {
            root_frame: root_frame.to_owned(),
            robot_frame: robot_frame.to_owned(),
            mocap_frame: mocap_frame.to_owned(),
            frames: Frames::default(),
            body_to_robot: None,
            seen: None,
            offset: from_xyzrpy(mocap_in_root),
        }
    }

    /// Whether it is known where on the robot the body sits.
    pub fn is_valid(&self) -> bool {
        self.body_to_robot.is_some()
    }

    /// Takes transforms until the body's place on the robot is known.
    pub fn transforms(&mut self, message: &TFMessage) {
        if self.body_to_robot.is_none() {
            self.frames.learn(message);
            self.body_to_robot = self.frames.lookup(&self.mocap_frame, &self.robot_frame);
            if self.body_to_robot.is_some() {
                self.frames = Frames::default();
            }
        }
    }

    /// What to broadcast for a frame of the cameras; None while nothing is known, and for a frame without a usable body.
    pub fn bodies(&mut self, message: &RigidBodies) -> Option<TransformStamped> {
        let robot = from_pose(&message.rigidbodies.first()?.pose)? * self.body_to_robot?;
        self.seen = Some(robot);
        Some(TransformStamped {
            header: Header { stamp: message.header.stamp.clone(), frame_id: self.root_frame.clone() },
            child_frame_id: format!("{}_gt", self.robot_frame),
            transform: to_transform(&(self.offset * robot)),
        })
    }

    /// Says where in the root frame the robot is now; None: at the origin.
    pub fn set_origin(&mut self, robot: Option<&Pose>) -> Result<(), &'static str> {
        let seen = self.seen.ok_or("Pose still not valid setting origin")?;
        let wanted = match robot {
            None => Isometry3::identity(),
            Some(pose) => from_pose(pose).ok_or(
                "origin_pose is not a pose: its quaternion must not be zero, nor any value infinite",
            )?,
        };
        self.offset = wanted * seen.inverse();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use rosless_wire::mocap4r2_msgs::msg::RigidBody;

    use super::*;
    use crate::frames::{pose_from, told};

    fn seen(place: [f64; 6]) -> RigidBodies {
        RigidBodies {
            rigidbodies: vec![RigidBody { pose: pose_from(place), ..RigidBody::default() }],
            ..RigidBodies::default()
        }
    }

    fn truth(mocap_in_root: [f64; 6]) -> GroundTruth {
        let mut truth = GroundTruth::new("odom", "base_footprint", "base_mocap", mocap_in_root);
        truth.transforms(&told("base_footprint", "base_mocap", [0.0, 0.0, 0.5, 0.0, 0.0, 0.0]));
        truth
    }

    #[track_caller]
    fn assert_at(transform: Option<TransformStamped>, place: [f64; 6]) {
        let (wanted, found) = (to_transform(&from_xyzrpy(place)), transform.unwrap().transform);
        let (t, r) = (&found.translation, &found.rotation);
        let found = [t.x, t.y, t.z, r.x, r.y, r.z, r.w];
        let (t, r) = (&wanted.translation, &wanted.rotation);
        let close = found.iter().zip([t.x, t.y, t.z, r.x, r.y, r.z, r.w]).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(close, "{found:?} is not {wanted:?}");
    }

    #[test]
    fn the_robot_is_where_its_body_is_less_where_the_body_sits() {
        let mut truth = truth([1.0, 0.0, 0.0, 0.0, 0.0, FRAC_PI_2]);
        let told = truth.bodies(&seen([2.0, 0.0, 0.5, 0.0, 0.0, 0.0])).unwrap();
        assert_eq!(
            (told.header.frame_id.as_str(), told.child_frame_id.as_str()),
            ("odom", "base_footprint_gt")
        );
        assert_at(Some(told), [1.0, 2.0, 0.0, 0.0, 0.0, FRAC_PI_2]);
    }

    #[test]
    fn the_origin_is_where_the_robot_is_or_where_it_is_said_to_be() {
        let mut truth = truth([0.0; 6]);
        let place = seen([2.0, 3.0, 0.5, 0.0, 0.0, FRAC_PI_2]);
        truth.bodies(&place);
        truth.set_origin(None).unwrap();
        assert_at(truth.bodies(&place), [0.0; 6]);
        let wanted = [5.0, -1.0, 0.0, 0.0, 0.0, 0.3];
        truth.set_origin(Some(&pose_from(wanted))).unwrap();
        assert_at(truth.bodies(&place), wanted);
    }

    #[test]
    fn nothing_is_told_before_the_robot_is_known_and_empty_frames_do_no_harm() {
        let mut early = GroundTruth::new("odom", "base_footprint", "base_mocap", [0.0; 6]);
        assert!(early.bodies(&seen([0.0; 6])).is_none() && !early.is_valid());
        assert_eq!(early.set_origin(None), Err("Pose still not valid setting origin"));
        let mut truth = truth([0.0; 6]);
        assert!(truth.bodies(&RigidBodies::default()).is_none(), "no body in the frame");
        let mut hostile = seen([0.0; 6]);
        hostile.rigidbodies[0].pose.orientation = Default::default();
        hostile.rigidbodies[0].pose.orientation.w = 0.0;
        assert!(truth.bodies(&hostile).is_none(), "no rotation");
        truth.bodies(&seen([0.0; 6])).unwrap();
        assert!(truth.set_origin(Some(&hostile.rigidbodies[0].pose)).is_err());
    }
}
