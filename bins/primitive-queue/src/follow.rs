//! Trajectories as MoveIt sends them, executed as motion primitives.

use std::{cell::RefCell, rc::Rc};

use rosless_graph::action::{GoalError, GoalHandle, GoalId};
use rosless_kinematics::{Joints, Robot};
use rosless_motion::{
    GoalOutcome,
    approximate::{Mode, Tolerance, Trajectory, TrajectoryError},
};
use rosless_wire::{
    control_msgs::action::{
        FollowJointTrajectory, FollowJointTrajectoryFeedback, FollowJointTrajectoryGoal,
        FollowJointTrajectoryResult,
    },
    trajectory_msgs::msg::JointTrajectoryPoint,
};

use crate::{daemon::ActiveGoal, settings::Settings};

/// A trajectory under way, and how far the robot has left it so far.
#[derive(Debug)]
pub(crate) struct Followed {
    trajectory: Trajectory,
    robot: Robot,
    names: Vec<String>,
    /// The primitives that stand for it.
    primitives: usize,
    /// What the client allows each joint, rad; not above 0 for anything.
    allowed: Vec<f64>,
    /// The greatest joint, rad, and the hand, m.
    worst: (f64, f64),
    now: Joints,
}

impl Followed {
    /// Reads a goal, with the robot at `here`.
    pub(crate) fn new(
        goal: &FollowJointTrajectoryGoal,
        robot: &Robot,
        names: &[String],
        here: &Joints,
    ) -> Result<Self, TrajectoryError> {
        let seconds = |point: &JointTrajectoryPoint| {
            f64::from(point.time_from_start.sec) + f64::from(point.time_from_start.nanosec) * 1e-9
        };
        let points: Vec<(f64, Vec<f64>)> =
            goal.trajectory.points.iter().map(|point| (seconds(point), point.positions.clone())).collect();
        let trajectory = Trajectory::new(&goal.trajectory.joint_names, &points, names, here)?;
        let allowed = names
            .iter()
            .map(|name| {
                goal.path_tolerance.iter().find(|one| one.name == *name).map_or(0.0, |one| one.position)
            })
            .collect();
        Ok(Self {
            trajectory,
            robot: robot.clone(),
            names: names.to_vec(),
            primitives: 0,
            allowed,
            worst: (0.0, 0.0),
            now: *here,
        })
    }

    /// The primitives that stand for it.
    pub(crate) fn primitives(&mut self, settings: &Settings) -> Vec<rosless_motion::RawPrimitive> {
        let tolerance = Tolerance {
            mode: if settings.approximate_mode == "RDP_LIN" { Mode::Lin } else { Mode::Ptp },
            joint_angle: settings.epsilon_joint_angle,
            position: settings.epsilon_cart_position,
            angle: settings.epsilon_cart_angle,
            blend_radius: settings.trajectory_blend_radius,
        };
        let primitives = self.trajectory.primitives(&self.robot, &tolerance);
        self.primitives = primitives.len();
        primitives
    }

    /// The robot is here.
    pub(crate) fn seen(&mut self, joints: &Joints) {
        let (joint, hand) = self.trajectory.deviation(&self.robot, joints);
        self.worst = (self.worst.0.max(joint), self.worst.1.max(hand));
        self.now = *joints;
    }

    fn summary(&self) -> String {
        let (joint, hand) = self.worst;
        let count = self.primitives;
        format!(
            "{count} primitives; greatest deviation {joint:.4} rad of a joint, {:.2} mm of the hand",
            1e3 * hand
        )
    }

    fn is_too_far(&self) -> bool {
        let strictest =
            self.allowed.iter().copied().filter(|allowed| *allowed > 0.0).fold(f64::INFINITY, f64::min);
        self.worst.0 > strictest
    }
}

/// A goal of the action, with what is measured on the way.
pub(crate) struct FollowGoal {
    pub(crate) handle: GoalHandle<FollowJointTrajectory>,
    pub(crate) followed: Rc<RefCell<Followed>>,
}

impl ActiveGoal for FollowGoal {
    fn id(&self) -> GoalId {
        self.handle.id()
    }

    fn feedback(&self, _index: u8) {
        let followed = self.followed.borrow();
        let actual = JointTrajectoryPoint {
            positions: followed.now.as_slice().to_vec(),
            ..JointTrajectoryPoint::default()
        };
        self.handle.publish_feedback(FollowJointTrajectoryFeedback {
            joint_names: followed.names.clone(),
            actual,
            ..FollowJointTrajectoryFeedback::default()
        });
    }

    fn end(&self, outcome: &GoalOutcome) -> Result<(), GoalError> {
        use FollowJointTrajectoryResult as Code;
        let followed = self.followed.borrow();
        let result = |error_code, error_string| FollowJointTrajectoryResult { error_code, error_string };
        match outcome {
            GoalOutcome::Succeeded if followed.is_too_far() => {
                self.handle.abort(result(Code::PATH_TOLERANCE_VIOLATED, followed.summary()))
            }
            GoalOutcome::Succeeded => self.handle.succeed(result(Code::SUCCESSFUL, followed.summary())),
            GoalOutcome::Aborted(reason) => self.handle.abort(result(Code::INVALID_GOAL, reason.clone())),
            GoalOutcome::Canceled => self.handle.canceled(result(Code::SUCCESSFUL, followed.summary())),
        }
    }
}
