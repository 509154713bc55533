//! The two message packages that carry primitives, and what they mean.

use rosless_wire::{
    Action,
    control_msgs::{
        action::{
            ExecuteMotionPrimitiveSequence, ExecuteMotionPrimitiveSequenceFeedback,
            ExecuteMotionPrimitiveSequenceResult,
        },
        msg as control,
    },
    geometry_msgs::msg::{Point, Pose, PoseStamped, Quaternion},
    industrial_robot_motion_interfaces::{
        action::{ExecuteMotion, ExecuteMotionFeedback, ExecuteMotionResult},
        msg as industrial,
    },
    std_msgs::msg::Header,
};

use crate::{RawPose, RawPrimitive};

fn raw_pose(stamped: PoseStamped) -> RawPose {
    let Pose { position: p, orientation: q } = stamped.pose;
    RawPose {
        frame_id: stamped.header.frame_id,
        position: [p.x, p.y, p.z],
        orientation: [q.x, q.y, q.z, q.w],
    }
}

fn pose_stamped(pose: &RawPose) -> PoseStamped {
    let ([x, y, z], [qx, qy, qz, qw]) = (pose.position, pose.orientation);
    PoseStamped {
        header: Header { frame_id: pose.frame_id.clone(), ..Header::default() },
        pose: Pose { position: Point { x, y, z }, orientation: Quaternion { x: qx, y: qy, z: qz, w: qw } },
    }
}

/// The primitive in a message of `industrial_robot_motion_interfaces`.
pub fn from_industrial(message: industrial::MotionPrimitive) -> RawPrimitive {
    let arguments = message.additional_arguments.into_iter();
    RawPrimitive {
        kind: message.r#type.into(),
        blend_radius: message.blend_radius,
        arguments: arguments.map(|a| (a.argument_name, a.argument_value)).collect(),
        poses: message.poses.into_iter().map(raw_pose).collect(),
        joint_positions: message.joint_positions,
    }
}

/// The primitive in a message of `control_msgs`.
pub fn from_control(message: control::MotionPrimitive) -> RawPrimitive {
    let arguments = message.additional_arguments.into_iter();
    RawPrimitive {
        kind: message.r#type.into(),
        blend_radius: message.blend_radius,
        arguments: arguments.map(|a| (a.name, a.value)).collect(),
        poses: message.poses.into_iter().map(raw_pose).collect(),
        joint_positions: message.joint_positions,
    }
}

/// The message of `industrial_robot_motion_interfaces` for a primitive. A type beyond a byte has no message and becomes 255,
/// which every controller refuses.
pub fn to_industrial(raw: &RawPrimitive) -> industrial::MotionPrimitive {
    let argument = |(name, value): &(String, f64)| industrial::MotionArgument {
        argument_name: name.clone(),
        argument_value: *value,
    };
    industrial::MotionPrimitive {
        r#type: u8::try_from(raw.kind).unwrap_or(u8::MAX),
        blend_radius: raw.blend_radius,
        additional_arguments: raw.arguments.iter().map(argument).collect(),
        poses: raw.poses.iter().map(pose_stamped).collect(),
        joint_positions: raw.joint_positions.clone(),
    }
}

/// The message of `control_msgs` for a primitive; see [`to_industrial`] for types it has no room for (here −1).
pub fn to_control(raw: &RawPrimitive) -> control::MotionPrimitive {
    let argument =
        |(name, value): &(String, f64)| control::MotionArgument { name: name.clone(), value: *value };
    control::MotionPrimitive {
        r#type: i8::try_from(raw.kind).unwrap_or(control::MotionPrimitive::UNKNOWN),
        blend_radius: raw.blend_radius,
        additional_arguments: raw.arguments.iter().map(argument).collect(),
        poses: raw.poses.iter().map(pose_stamped).collect(),
        joint_positions: raw.joint_positions.clone(),
    }
}

/// An action that runs a sequence of primitives: both packages have one, of the same shape.
pub trait SequenceAction: Action {
    /// What a goal asks for.
    fn primitives(goal: &Self::Goal) -> Vec<RawPrimitive>;
    /// The primitive at this place runs.
    fn feedback(index: u8) -> Self::Feedback;
    /// How it ended, in the codes of the action.
    fn result(error_code: i32, error_string: String) -> Self::Result;
}

impl SequenceAction for ExecuteMotionPrimitiveSequence {
    fn primitives(goal: &Self::Goal) -> Vec<RawPrimitive> {
        goal.trajectory.motions.iter().cloned().map(from_control).collect()
    }

    fn feedback(current_primitive_index: u8) -> Self::Feedback {
        ExecuteMotionPrimitiveSequenceFeedback { current_primitive_index }
    }

    fn result(error_code: i32, error_string: String) -> Self::Result {
        ExecuteMotionPrimitiveSequenceResult { error_code, error_string }
    }
}

impl SequenceAction for ExecuteMotion {
    fn primitives(goal: &Self::Goal) -> Vec<RawPrimitive> {
        goal.trajectory.motions.iter().cloned().map(from_industrial).collect()
    }

    fn feedback(current_primitive_index: u8) -> Self::Feedback {
        ExecuteMotionFeedback { current_primitive_index }
    }

    fn result(error_code: i32, error_string: String) -> Self::Result {
        ExecuteMotionResult { error_code, error_string }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_packages_carry_a_primitive_unchanged() {
        let raw = RawPrimitive {
            kind: 51,
            blend_radius: 0.1,
            arguments: vec![("velocity".into(), 1.0)],
            poses: vec![RawPose {
                frame_id: "base".into(),
                position: [1.0, 2.0, 3.0],
                orientation: [0.1, 0.2, 0.3, 0.4],
            }],
            joint_positions: vec![0.5, 0.6],
        };
        assert_eq!(from_industrial(to_industrial(&raw)), raw);
        assert_eq!(from_control(to_control(&raw)), raw);
    }

    #[test]
    fn a_type_without_a_place_in_the_message_stays_unknown() {
        let raw = RawPrimitive { kind: 300, ..Default::default() };
        assert_eq!((to_industrial(&raw).r#type, to_control(&raw).r#type), (255, -1));
    }
}
