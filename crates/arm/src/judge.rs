//! Was the ball caught? Three rules about the ball, seen from the hand at the instant it closes.

use nalgebra::Vector3;

use crate::HandState;

/// Half the width, height and depth of the space between the fingers, in the hand's frame.
pub const CATCH_BOX: [f64; 3] = [0.02, 0.05, 0.05];
/// Least share of the relative speed along the hand's z axis, either way.
pub const ALONG_APPROACH: f64 = 0.75;
/// Least share of the relative speed along the hand's y axis: not out of the fingertips' side.
pub const ALONG_FINGERS: f64 = -0.5;

/// What the judgement found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Ball minus hand, in the hand's frame.
    pub relative_position: Vector3<f64>,
    /// Likewise for the velocities.
    pub relative_velocity: Vector3<f64>,
    /// Why not; `None` is a catch.
    pub miss: Option<Miss>,
}

impl Verdict {
    /// Was it a catch?
    pub fn caught(&self) -> bool {
        self.miss.is_none()
    }
}

/// The first rule a miss broke.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Miss {
    /// The ball was not between the fingers.
    #[error("the ball was {distance:.3} m off along the hand's {axis} axis (allowed: less than {allowed} m)")]
    OutsideBox {
        /// Of the hand.
        axis: char,
        /// How far off, m.
        distance: f64,
        /// How far is allowed, m.
        allowed: f64,
    },
    /// Not along the approach axis.
    #[error("the ball came across the hand: {share:.2} of its speed along z (needed: {ALONG_APPROACH})")]
    Across {
        /// Of its speed, along z.
        share: f64,
    },
    /// From the side of the fingertips.
    #[error(
        "the ball came down between the fingertips: {share:.2} of its speed along y (least: {ALONG_FINGERS})"
    )]
    FromFingertips {
        /// Of its speed, along y.
        share: f64,
    },
}

/// Judges a hand that closes now around a ball at `position` with `velocity`.
pub fn judge(hand: &HandState, position: &Vector3<f64>, velocity: &Vector3<f64>) -> Verdict {
    let relative_position = hand.rotation.tr_mul(&(position - hand.position));
    let relative_velocity = hand.rotation.tr_mul(&(velocity - hand.velocity));
    Verdict {
        relative_position,
        relative_velocity,
        miss: outside_box(&relative_position).or_else(|| wrong_way(&relative_velocity)),
    }
}

fn outside_box(position: &Vector3<f64>) -> Option<Miss> {
    let axes = ['x', 'y', 'z'].into_iter().zip(position.iter()).zip(CATCH_BOX);
    axes.map(|((axis, p), allowed)| (axis, p.abs(), allowed))
        .find(|(_, distance, allowed)| distance >= allowed || distance.is_nan())
        .map(|(axis, distance, allowed)| Miss::OutsideBox { axis, distance, allowed })
}

fn wrong_way(velocity: &Vector3<f64>) -> Option<Miss> {
    let speed = velocity.norm();
    if velocity.z.abs() < ALONG_APPROACH * speed {
        Some(Miss::Across { share: velocity.z.abs() / speed })
    } else if velocity.y < ALONG_FINGERS * speed {
        Some(Miss::FromFingertips { share: velocity.y / speed })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Joints, Robot};

    fn at_home(offset: [f64; 3], velocity: [f64; 3]) -> Option<Miss> {
        let hand = Robot::default().hand_state(&Joints::zeros(), &Joints::zeros());
        judge(&hand, &(hand.position + Vector3::from(offset)), &Vector3::from(velocity)).miss
    }

    #[test]
    fn the_box_is_open_at_its_faces() {
        let forward = [0.0, 0.0, 3.0];
        assert_eq!(at_home([0.0199, -0.0499, 0.0499], forward), None);
        for (offset, axis) in
            [([0.0201, 0.0, 0.0], 'x'), ([0.0, -0.0501, 0.0], 'y'), ([0.0, 0.0, 0.0501], 'z')]
        {
            assert!(matches!(at_home(offset, forward), Some(Miss::OutsideBox { axis: a, .. }) if a == axis));
        }
        assert!(at_home([f64::NAN, 0.0, 0.0], forward).is_some());
    }

    #[test]
    fn the_ball_must_come_along_the_approach_axis() {
        assert_eq!(at_home([0.0; 3], [0.66, 0.0, 0.7513]), None);
        assert_eq!(at_home([0.0; 3], [0.0, 0.0, -3.0]), None, "from either side");
        assert!(matches!(at_home([0.0; 3], [0.67, 0.0, 0.7424]), Some(Miss::Across { .. })));
    }

    #[test]
    fn the_ball_must_not_come_from_the_fingertips() {
        assert_eq!(at_home([0.0; 3], [0.0, -0.49, 0.872]), None);
        assert_eq!(at_home([0.0; 3], [0.0, 0.6, 0.8]), None, "upwards is fine");
        assert!(matches!(at_home([0.0; 3], [0.0, -0.51, 0.86]), Some(Miss::FromFingertips { .. })));
    }

    #[test]
    fn a_ball_at_rest_in_the_hand_is_caught() {
        assert_eq!(at_home([0.0; 3], [0.0; 3]), None);
    }

    #[test]
    fn velocities_are_relative_to_a_moving_hand() {
        let robot = Robot::default();
        let hand = robot.hand_state(&Joints::zeros(), &Joints::new(2.0, 0.0, 0.0, 0.0, 0.0, 0.0));
        // The hand swings forward at 1.3 m/s, faster than the ball: it meets the ball from behind.
        let verdict = judge(&hand, &hand.position, &Vector3::new(0.0, 0.0, 1.0));
        assert!(verdict.caught() && (verdict.relative_velocity.z + 0.3).abs() < 1e-9);
    }
}
