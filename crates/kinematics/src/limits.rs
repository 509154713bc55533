//! What each joint may do.

use crate::{JOINTS, chain::Joints};

/// One joint's range and the greatest speed, acceleration and jerk it may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointLimit {
    /// Smallest angle, rad.
    pub lower: f64,
    /// Largest angle, rad.
    pub upper: f64,
    /// rad/s.
    pub velocity: f64,
    /// rad/s².
    pub acceleration: f64,
    /// rad/s³.
    pub jerk: f64,
}

/// The limits of all joints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits(pub [JointLimit; JOINTS]);

/// An angle outside its joint's range.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("joint {} would be at {angle:.3} rad, it must stay within {lower:.3} … {upper:.3} rad", .joint + 1)]
pub struct LimitViolation {
    /// From 0.
    pub joint: usize,
    /// The angle it would have.
    pub angle: f64,
    /// The smallest it may have.
    pub lower: f64,
    /// The largest it may have.
    pub upper: f64,
}

impl Limits {
    /// The same for every joint, its range being ±`range`.
    pub fn uniform(range: f64, velocity: f64, acceleration: f64, jerk: f64) -> Self {
        Self([JointLimit { lower: -range, upper: range, velocity, acceleration, jerk }; JOINTS])
    }

    /// Whether all angles are in range, and if not, the first that is not.
    ///
    /// # Errors
    /// Names that joint.
    pub fn check(&self, joints: &Joints) -> Result<(), LimitViolation> {
        for (joint, (limit, angle)) in self.0.iter().zip(joints.iter()).enumerate() {
            // Written so that NaN is outside.
            if !(limit.lower..=limit.upper).contains(angle) {
                let JointLimit { lower, upper, .. } = *limit;
                return Err(LimitViolation { joint, angle: *angle, lower, upper });
            }
        }
        Ok(())
    }
}
