//! Poses as the robot writes them: a place in metres and a rotation vector, whose length is the angle in radians.

use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

/// Three metres and a rotation vector.
pub type Numbers = [f64; 6];

/// As the robot writes it; the angle is between 0 and π.
pub fn to_numbers(pose: &Isometry3<f64>) -> Numbers {
    let (place, turn) = (pose.translation.vector, pose.rotation.scaled_axis());
    [place.x, place.y, place.z, turn.x, turn.y, turn.z]
}

/// From what the robot wrote.
pub fn from_numbers([x, y, z, rx, ry, rz]: Numbers) -> Isometry3<f64> {
    Isometry3::from_parts(
        Translation3::new(x, y, z),
        UnitQuaternion::from_scaled_axis(Vector3::new(rx, ry, rz)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::{FRAC_PI_2, PI};

    #[test]
    fn known_rotations() {
        // A quarter turn about z; hand pointing down, as every UR user has seen it.
        let quarter = from_numbers([0.0, 0.0, 0.0, 0.0, 0.0, FRAC_PI_2]);
        assert!((quarter * Vector3::x() - Vector3::y()).norm() < 1e-12);
        let down = from_numbers([0.1, 0.2, 0.3, PI, 0.0, 0.0]);
        assert!((down * Vector3::z() + Vector3::z()).norm() < 1e-12);
        assert!((to_numbers(&down)[3].abs() - PI).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn a_quaternion_survives_the_rotation_vector(v in prop::array::uniform3(-1.0f64..1.0), angle in 0.0f64..7.0) {
            let axis = Vector3::from(v);
            prop_assume!(axis.norm() > 1e-3);
            let turn = UnitQuaternion::from_scaled_axis(axis.normalize() * angle);
            let pose = Isometry3::from_parts(Translation3::new(1.0, -2.0, 3.0), turn);
            let numbers = to_numbers(&pose);
            prop_assert!(Vector3::new(numbers[3], numbers[4], numbers[5]).norm() <= PI + 1e-9);
            let again = from_numbers(numbers);
            prop_assert!(again.rotation.angle_to(&pose.rotation) < 1e-7);
            prop_assert!((again.translation.vector - pose.translation.vector).norm() < 1e-12);
        }
    }
}
