//! What the tests of this crate share: a robot, a posture, and moves.

use nalgebra::{Isometry3, Translation3};
use rosless_kinematics::{Joints, builtin};

use crate::{
    plan::{MotionLimits, Planner},
    primitive::{Motion, Primitive, Timing},
};

pub(crate) fn planner() -> Planner {
    Planner::new(builtin::robot("sim_arm").unwrap(), MotionLimits::default())
}

/// Elbow and wrist bent: far from every singularity.
pub(crate) fn ready() -> Joints {
    planner().robot.home
}

pub(crate) fn limits(velocity: f64, acceleration: f64) -> Timing {
    Timing::Limits { velocity, acceleration }
}

pub(crate) fn ptp(target: Joints, timing: Timing) -> Primitive {
    Primitive { motion: Motion::Joint { target }, timing, blend_radius: 0.0 }
}

pub(crate) fn lin(goal: Isometry3<f64>, timing: Timing) -> Primitive {
    Primitive { motion: Motion::Linear { goal }, timing, blend_radius: 0.0 }
}

pub(crate) fn moved(pose: &Isometry3<f64>, by: [f64; 3]) -> Isometry3<f64> {
    Translation3::new(by[0], by[1], by[2]) * pose
}
