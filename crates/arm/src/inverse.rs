//! Closed-form inverse kinematics: every branch, in the whole workspace, with the reason where there is none.
//!
//! The last three axes meet in the wrist, so position and attitude separate: joints 1–3 place the wrist,
//! joints 4–6 turn the hand. The wrist, seen from joint_1, is
//! `Rx(q1) · (s·sin q2, upper + fore·cos q3, s·cos q2)` with `s = fore·sin q3`:
//! its distance gives q3 (two signs), its x gives q2 (two sides), what is left gives q1.

use std::f64::consts::PI;

use nalgebra::{Isometry3, Matrix3, Vector3};

use crate::{
    Joints, LimitViolation, Robot,
    kinematics::{rot_x, rot_y},
};

/// Rounding may leave a pose on the workspace's edge this far outside, in metres; it counts as reachable.
const EDGE: f64 = 1e-9;

/// Below this sine two axes count as parallel, and one of the two joints is free.
const SINGULAR: f64 = 1e-10;

/// Why no joint angles put the hand at a pose. Distances are the wrist's, from joint_1, in metres.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Unreachable {
    /// A component is no number.
    #[error("the pose has a component that is not a number")]
    NotFinite,
    /// Beyond the straight arm.
    #[error("too far: the wrist would be {distance:.4} m from joint_1, and the arm reaches {max:.4} m")]
    TooFar {
        /// How far it would be.
        distance: f64,
        /// How far the arm reaches.
        max: f64,
    },
    /// Within the folded arm.
    #[error("too close: the wrist would be {distance:.4} m from joint_1, and the arm folds to {min:.4} m")]
    TooClose {
        /// How far it would be.
        distance: f64,
        /// How far the arm folds.
        min: f64,
    },
    /// The upper arm stays in its plane, and the forearm does not reach that far beside it.
    #[error(
        "too far aside: the wrist would be {offset:.4} m beside the arm's plane, \
         and at {distance:.4} m from joint_1 the arm reaches {max:.4} m"
    )]
    TooFarAside {
        /// How far beside the plane it would be.
        offset: f64,
        /// How far from joint_1.
        distance: f64,
        /// How far beside the plane the arm reaches there.
        max: f64,
    },
    /// Only beyond a joint's range.
    #[error("every posture breaks a joint limit; the best one: {0}")]
    OutsideLimits(LimitViolation),
}

impl Unreachable {
    /// By how much: metres, or radians for joint limits.
    pub fn missing(&self) -> f64 {
        match self {
            Self::NotFinite => f64::INFINITY,
            Self::TooFar { distance, max } => distance - max,
            Self::TooClose { distance, min } => min - distance,
            Self::TooFarAside { offset, max, .. } => offset - max,
            Self::OutsideLimits(violation) => {
                (violation.min - violation.angle).max(violation.angle - violation.max)
            }
        }
    }
}

/// One way to reach a pose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Branch {
    /// Angles, each turned by full turns into its range if possible.
    pub joints: Joints,
    /// Whether all joints are inside their ranges.
    pub limits: Result<(), LimitViolation>,
}

/// All branches of one pose: 8, or fewer where branches coincide. Never empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solutions {
    branches: [Branch; 8],
    count: usize,
}

impl std::ops::Deref for Solutions {
    type Target = [Branch];
    fn deref(&self) -> &[Branch] {
        &self.branches[..self.count]
    }
}

impl Robot {
    /// Every branch that puts the hand at `pose`, each with its limits verdict.
    /// Where the arm is singular and a joint is free, that joint stays at zero.
    pub fn inverse_all(&self, pose: &Isometry3<f64>) -> Result<Solutions, Unreachable> {
        let rotation = pose.rotation.to_rotation_matrix().into_inner();
        self.inverse_frame(&pose.translation.vector, &rotation, &Joints::zeros())
    }

    /// The branch inside the limits whose largest joint move from `seed` is the smallest.
    /// Free joints of a singular pose stay where `seed` has them.
    pub fn inverse_nearest(&self, pose: &Isometry3<f64>, seed: &Joints) -> Result<Joints, Unreachable> {
        let rotation = pose.rotation.to_rotation_matrix().into_inner();
        let solutions = self.inverse_frame(&pose.translation.vector, &rotation, seed)?;
        solutions.best_by(|joints| (joints - seed).amax())
    }

    /// As [`Robot::inverse_all`] for a position and a rotation matrix, with turns and free joints near `seed`.
    pub fn inverse_frame(
        &self,
        position: &Vector3<f64>,
        rotation: &Matrix3<f64>,
        seed: &Joints,
    ) -> Result<Solutions, Unreachable> {
        if !position.iter().chain(rotation.iter()).chain(seed.iter()).all(|v| v.is_finite()) {
            return Err(Unreachable::NotFinite);
        }
        let links = &self.links;
        let shoulder = Vector3::new(0.0, links.base, 0.0);
        let wrist = position - rotation.column(1) * links.hand - shoulder;
        let elbow = self.elbow(&wrist)?;
        let straight = elbow.aside_max < SINGULAR;

        let none = Branch { joints: *seed, limits: Ok(()) };
        let mut solutions = Solutions { branches: [none; 8], count: 0 };
        for q3_sign in [1.0, -1.0] {
            let q3 = q3_sign * elbow.bend;
            let s = links.fore * q3.sin();
            for side in [1.0, -1.0] {
                // Straight or folded, joint_2 turns in place of joint_4 and is free.
                let q2 = if straight { seed[1] } else { (wrist.x * q3_sign).atan2(side * elbow.forward) };
                let planar_y = links.upper + links.fore * q3.cos();
                let q1 = wrist.z.atan2(wrist.y) - (s * q2.cos()).atan2(planar_y);
                let turned = (rot_x(q1) * rot_y(q2) * rot_x(q3)).transpose() * rotation;
                for [q4, q5, q6] in wrist_angles(&turned, seed[5]) {
                    solutions.push(self, Joints::new(q1, q2, q3, q4, q5, q6), seed);
                }
                // With nothing left sideways both sides are the same posture.
                if straight || elbow.forward < SINGULAR {
                    break;
                }
            }
            // Straight and folded the two bends are the same posture.
            if straight {
                break;
            }
        }
        Ok(solutions)
    }

    /// Bend of the elbow for a wrist position relative to joint_1, or why there is none.
    fn elbow(&self, wrist: &Vector3<f64>) -> Result<Elbow, Unreachable> {
        let (upper, fore) = (self.links.upper, self.links.fore);
        let (distance, max, min) = (wrist.norm(), upper + fore, (upper - fore).abs());
        if distance > max + EDGE {
            return Err(Unreachable::TooFar { distance, max });
        }
        if distance < min - EDGE {
            return Err(Unreachable::TooClose { distance, min });
        }
        // Heron's form of the triangle keeps its digits where the arm is nearly straight or folded.
        let product =
            ((max + distance) * (max - distance)).max(0.0) * ((distance + min) * (distance - min)).max(0.0);
        let mut aside_max = product.sqrt() / (2.0 * upper);
        let along = (distance * distance - upper * upper - fore * fore) / (2.0 * upper);
        let offset = wrist.x.abs();
        if offset > aside_max {
            // The wrist misses by this with the bend kept, or with the bend opened until the offset fits.
            let beside = offset - aside_max;
            let short = beside * (offset + aside_max) * upper / (distance * 2.0 * along.abs());
            if beside.min(short) > EDGE {
                return Err(Unreachable::TooFarAside { offset, distance, max: aside_max });
            }
            if short < beside {
                aside_max = offset;
            }
        }
        let forward = ((aside_max - offset) * (aside_max + offset)).max(0.0).sqrt();
        Ok(Elbow { bend: aside_max.atan2(along), aside_max, forward })
    }
}

struct Elbow {
    /// |q3|
    bend: f64,
    /// `fore·sin|q3|`: how far beside joint_1's plane this bend can bring the wrist.
    aside_max: f64,
    /// What remains of that along the plane.
    forward: f64,
}

/// Joints 4, 5, 6 for the hand's attitude seen from the forearm, `Ry(q4)·Rx(q5)·Rz(q6)`: both solutions.
fn wrist_angles(m: &Matrix3<f64>, q6_if_free: f64) -> impl Iterator<Item = [f64; 3]> {
    let cos_q5 = m[(1, 0)].hypot(m[(1, 1)]);
    let gimbal = cos_q5 < SINGULAR;
    let first = if gimbal { q6_if_free } else { m[(1, 0)].atan2(m[(1, 1)]) };
    let m = *m;
    [first, first + PI].into_iter().take(if gimbal { 1 } else { 2 }).map(move |q6| {
        // q4 and q5 follow from q6, so that an ill-defined q6 near the gimbal costs no accuracy.
        let (s6, c6) = q6.sin_cos();
        let q4 = (m[(2, 1)] * s6 - m[(2, 0)] * c6).atan2(m[(0, 0)] * c6 - m[(0, 1)] * s6);
        let q5 = (-m[(1, 2)]).atan2(m[(1, 0)] * s6 + m[(1, 1)] * c6);
        [q4, q5, q6]
    })
}

impl Solutions {
    fn push(&mut self, robot: &Robot, joints: Joints, seed: &Joints) {
        let joints = Joints::from_fn(|i, _| robot.limits.nearest_turn(i, joints[i], seed[i]));
        self.branches[self.count] = Branch { joints, limits: robot.limits.check(&joints) };
        self.count += 1;
    }

    /// The branch inside the limits with the smallest `cost`.
    pub fn best_by(&self, cost: impl Fn(&Joints) -> f64) -> Result<Joints, Unreachable> {
        let allowed = self.iter().filter(|b| b.limits.is_ok()).map(|b| (cost(&b.joints), b.joints));
        if let Some((_, joints)) = allowed.min_by(|a, b| a.0.total_cmp(&b.0)) {
            return Ok(joints);
        }
        let excess = |v: &LimitViolation| (v.min - v.angle).max(v.angle - v.max);
        let violations = self.iter().filter_map(|b| b.limits.err());
        let best = violations.min_by(|a, b| excess(a).total_cmp(&excess(b)));
        Err(best.map_or(Unreachable::NotFinite, Unreachable::OutsideLimits))
    }
}
