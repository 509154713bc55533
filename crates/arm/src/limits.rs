//! What the joints may do: angle, speed and acceleration.

use crate::Joints;
use std::f64::consts::TAU;

/// The range of one joint. Speeds and accelerations are magnitudes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointLimit {
    /// Smallest angle, rad.
    pub min: f64,
    /// Largest angle, rad.
    pub max: f64,
    /// Greatest speed, rad/s.
    pub velocity: f64,
    /// Greatest acceleration, rad/s².
    pub acceleration: f64,
}

/// The limits of all six joints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits(pub [JointLimit; 6]);

/// A joint angle outside its range. `joint` counts from 1, as the joints are named.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("joint_{joint} would have to be at {angle:.4} rad, outside its range {min}…{max} rad")]
pub struct LimitViolation {
    /// Which one, from 1.
    pub joint: usize,
    /// Where it would be, rad.
    pub angle: f64,
    /// Smallest angle, rad.
    pub min: f64,
    /// Largest angle, rad.
    pub max: f64,
}

impl Default for Limits {
    /// ±4 rad as the arm is specified. The specification names no speed or acceleration limit; 10 rad/s and
    /// 100 rad/s² are what fast industrial arms of this size do.
    fn default() -> Self {
        Self::uniform(4.0, 10.0, 100.0)
    }
}

impl Limits {
    /// The same symmetric range, speed and acceleration for every joint.
    pub fn uniform(angle: f64, velocity: f64, acceleration: f64) -> Self {
        Self([JointLimit { min: -angle, max: angle, velocity, acceleration }; 6])
    }

    /// Ok when every angle is inside its range, else the first joint that is not (NaN is outside).
    pub fn check(&self, joints: &Joints) -> Result<(), LimitViolation> {
        for (index, (limit, &angle)) in self.0.iter().zip(joints.iter()).enumerate() {
            if !(limit.min..=limit.max).contains(&angle) {
                return Err(LimitViolation { joint: index + 1, angle, min: limit.min, max: limit.max });
            }
        }
        Ok(())
    }

    /// Every joint angle moved into its range.
    pub fn clamp(&self, joints: &Joints) -> Joints {
        Joints::from_fn(|i, _| joints[i].clamp(self.0[i].min, self.0[i].max))
    }

    /// Turns of 2π that mean the same pose: of those inside the range, the one nearest to `seed`.
    /// Without one inside the range, the angle within half a turn of zero is kept.
    pub(crate) fn nearest_turn(&self, joint: usize, angle: f64, seed: f64) -> f64 {
        let limit = &self.0[joint];
        let wrapped = angle - TAU * (angle / TAU).round();
        turns(wrapped)
            .filter(|a| (limit.min..=limit.max).contains(a))
            .min_by(|a, b| (a - seed).abs().total_cmp(&(b - seed).abs()))
            .unwrap_or(wrapped)
    }
}

/// The angle itself and one turn either way. Ranges wider than ±3π are not this arm's.
pub(crate) fn turns(angle: f64) -> impl Iterator<Item = f64> {
    [angle, angle - TAU, angle + TAU].into_iter()
}
