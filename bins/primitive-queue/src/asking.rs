//! What can be asked beside moving: a look at a plan, a pause, another speed, a trajectory.

use std::{cell::RefCell, rc::Rc};

use rosless_graph::{
    Result,
    action::{GoalId, GoalResponse},
    monotonic,
};
use rosless_kinematics::{JOINTS, Joints};
use rosless_motion::{
    Hardware as _, RawPrimitive, Report,
    messages::{from_control, to_control},
    outlook,
};
use rosless_wire::{
    builtin_interfaces::msg::Duration as DurationMsg,
    control_msgs::{action::FollowJointTrajectoryGoal, msg::MotionPrimitiveSequence},
    geometry_msgs::msg::PoseArray,
    rosless_msgs::srv::{PlanMotionRequest, PlanMotionResponse},
    std_msgs::msg::Header,
    trajectory_msgs::msg::{JointTrajectory, JointTrajectoryPoint},
};

use crate::{follow::Followed, running::Running, view::pose};

impl Running {
    /// A trajectory: it becomes primitives, and they a goal.
    pub(crate) fn follow(&mut self, id: GoalId, goal: &FollowJointTrajectoryGoal) -> GoalResponse {
        let now = monotonic();
        let here =
            self.controller.hardware().joints(now).map_or(self.planner.robot.home, |state| state.position);
        let mut followed = match Followed::new(goal, &self.planner.robot, &self.joint_names, &here) {
            Ok(followed) => followed,
            Err(error) => {
                log::warn!(target: self.node.logger(), "trajectory {id} rejected: {error}");
                self.tell(&Report::GoalRejected { goal: id.to_string(), reason: error.to_string() });
                return GoalResponse::Reject;
            }
        };
        let primitives = followed.primitives(&self.settings);
        let response = self.offer(id, &primitives);
        if matches!(response, GoalResponse::Execute) {
            self.topics.planned_trajectory.publish(&goal.trajectory);
            let motions = primitives.iter().map(to_control).collect();
            self.topics.approximated.publish(&MotionPrimitiveSequence { motions });
            self.followed = Some(Rc::new(RefCell::new(followed)));
        }
        response
    }

    /// `~/plan`.
    pub(crate) fn plan(&mut self, request: &PlanMotionRequest) -> PlanMotionResponse {
        let here = self.controller.hardware().joints(monotonic());
        let start = match request.start.len() {
            0 => here.map_or(self.planner.robot.home, |state| state.position),
            JOINTS => Joints::from_column_slice(&request.start),
            other => {
                let reason = format!("start has {other} values, it needs {JOINTS} or none");
                return PlanMotionResponse { impossible: -1, reason, ..PlanMotionResponse::default() };
            }
        };
        if let Err(violation) = self.planner.robot.limits.check(&start) {
            let reason = format!("start: {violation}");
            return PlanMotionResponse { impossible: -1, reason, ..PlanMotionResponse::default() };
        }
        let primitives: Vec<RawPrimitive> = request.motions.iter().cloned().map(from_control).collect();
        let seen = outlook::look(&self.planner, self.controller.frames_mut(), &start, &primitives);
        let header = Header { stamp: self.node.now(), frame_id: self.view.base_frame() };
        let values = |joints: &Joints| joints.as_slice().to_vec();
        let points = seen.samples.iter().map(|(time, state, _)| JointTrajectoryPoint {
            positions: values(&state.position),
            velocities: values(&state.velocity),
            accelerations: values(&state.acceleration),
            effort: Vec::new(),
            time_from_start: DurationMsg { sec: *time as i32, nanosec: (time.fract() * 1e9) as u32 },
        });
        PlanMotionResponse {
            feasible: seen.impossible.is_none(),
            impossible: seen
                .impossible
                .as_ref()
                .map_or(-1, |(index, _)| i32::try_from(*index).unwrap_or(i32::MAX)),
            reason: seen.impossible.map(|(_, reason)| reason).unwrap_or_default(),
            notes: seen.notes,
            duration: seen.duration,
            length: seen.length,
            top_speed: seen.top_speed,
            starts: seen.times.iter().map(|(start, _)| *start).collect(),
            ends: seen.times.iter().map(|(_, end)| *end).collect(),
            trajectory: JointTrajectory {
                header: header.clone(),
                joint_names: self.joint_names.clone(),
                points: points.collect(),
            },
            path: PoseArray { header, poses: seen.samples.iter().map(|(_, _, hand)| pose(hand)).collect() },
        }
    }

    pub(crate) fn pause(&mut self) -> Result<String, String> {
        if !self.controller.hardware_mut().pause(monotonic()) {
            return Err("this robot cannot pause".into());
        }
        self.paused = true;
        self.publish_changes();
        Ok("held on its path until ~/resume".into())
    }

    pub(crate) fn resume(&mut self) -> Result<String, String> {
        if !self.controller.hardware_mut().resume(monotonic()) {
            return Err("this robot cannot pause".into());
        }
        self.paused = false;
        self.cycle();
        Ok("goes on".into())
    }

    /// The share of the speed, 0 to 1.
    pub(crate) fn set_speed(&mut self, share: f64) {
        let logger = self.node.logger();
        if !(0.0..=1.0).contains(&share) {
            log::warn!(target: logger, "a speed scaling factor of {share} is outside 0…1, it is ignored");
        } else if !self.controller.hardware_mut().set_speed(share, monotonic()) {
            log::warn!(target: logger, "this robot cannot change its speed");
        } else {
            log::info!(target: logger, "speed {:.0} %", 100.0 * share);
            self.speed = share;
            self.cycle();
        }
    }
}
