//! The arrays on the topics: their order, checked reading, and times that survive being a float32.
//!
//! | array | values |
//! |---|---|
//! | launcher state | x, z, phi, psi |
//! | ball | release time, position 3, velocity 3 |
//! | hand state or target | position 3, rotation 9 row by row, velocity 3, rotation derivative 9 |
//! | arm state | angles 6, speeds 6 |

use nalgebra::{Matrix3, Rotation3, Vector3};

use crate::{Ball, HandState, Joints, Launcher};

/// Why an array was not taken.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Malformed {
    /// Values are missing.
    #[error("{what}: {got} values, at least {needed} are needed")]
    TooShort {
        /// What the array should be.
        what: &'static str,
        /// How many there are.
        got: usize,
        /// How many there should be.
        needed: usize,
    },
    /// A value is none.
    #[error("{what}: value {index} is {value}, not a finite number")]
    NotFinite {
        /// What the array should be.
        what: &'static str,
        /// Which value, from 0.
        index: usize,
        /// The value.
        value: f32,
    },
    /// Nine values that should be a rotation are none.
    #[error("{what}: the 9 rotation values are not a rotation matrix")]
    NotARotation {
        /// What the array should be.
        what: &'static str,
    },
    /// The values are in the order of the original code, which is not the one its document tells.
    #[error("{what}: the values look like the original code's order ({code}); send the document's order")]
    CodeOrder {
        /// What the array should be.
        what: &'static str,
        /// The order it has.
        code: &'static str,
    },
}

/// The first `N` values, all finite. More values are ignored, as the original nodes do.
fn take<const N: usize>(what: &'static str, data: &[f32]) -> Result<[f64; N], Malformed> {
    let Some(head) = data.first_chunk::<N>() else {
        return Err(Malformed::TooShort { what, got: data.len(), needed: N });
    };
    match head.iter().position(|v| !v.is_finite()) {
        Some(index) => Err(Malformed::NotFinite { what, index, value: head[index] }),
        None => Ok(head.map(f64::from)),
    }
}

impl Launcher {
    /// Reads x, z, phi, psi and moves each into its range.
    pub fn from_array(data: &[f32]) -> Result<Self, Malformed> {
        let values = take::<4>("launcher state (x, z, phi, psi)", data)?;
        let [x, z, phi, psi] = std::array::from_fn(|i| values[i].clamp(Self::RANGES[i].0, Self::RANGES[i].1));
        Ok(Self { x, z, phi, psi })
    }

    /// As it is sent.
    pub fn to_array(&self) -> [f32; 4] {
        [self.x as f32, self.z as f32, self.phi as f32, self.psi as f32]
    }
}

impl Ball {
    /// Reads release time, position, velocity.
    pub fn from_array(data: &[f32]) -> Result<Self, Malformed> {
        let what = "ball (t, position 3, velocity 3)";
        let [released, px, py, pz, vx, vy, vz] = take(what, data)?;
        // Launchers stand at y = 0 and z ≤ 0: in the code's order those are the values 1 and 2. Nobody throws from below.
        if px == 0.0 && py < 0.0 {
            return Err(Malformed::CodeOrder { what, code: "position 3, velocity 3, t" });
        }
        Ok(Self { released, position: Vector3::new(px, py, pz), velocity: Vector3::new(vx, vy, vz) })
    }

    /// As it is sent.
    pub fn to_array(&self) -> [f32; 7] {
        let ([px, py, pz], [vx, vy, vz]) = (self.position.into(), self.velocity.into());
        [self.released, px, py, pz, vx, vy, vz].map(|v| v as f32)
    }
}

impl HandState {
    /// Reads position, rotation, velocity, rotation derivative. The rotation is made exact again.
    pub fn from_array(data: &[f32]) -> Result<Self, Malformed> {
        let what = "hand state (position 3, rotation 9, velocity 3, rotation derivative 9)";
        let values = take::<24>(what, data)?;
        let given = Matrix3::from_row_slice(&values[3..12]);
        if !is_rotation(&given) {
            return Err(match is_rotation(&Matrix3::from_row_slice(&values[6..15])) {
                true => {
                    Malformed::CodeOrder { what, code: "position 3, velocity 3, rotation 9, derivative 9" }
                }
                false => Malformed::NotARotation { what },
            });
        }
        Ok(Self {
            position: Vector3::from_column_slice(&values[0..3]),
            rotation: Rotation3::from_matrix_eps(&given, 1e-15, 100, Rotation3::identity()).into_inner(),
            velocity: Vector3::from_column_slice(&values[12..15]),
            rotation_rate: Matrix3::from_row_slice(&values[15..24]),
        })
    }

    /// As it is sent.
    pub fn to_array(&self) -> [f32; 24] {
        let (rotation, rate) = (self.rotation.transpose(), self.rotation_rate.transpose());
        let values = self.position.iter().chain(&rotation).chain(&self.velocity).chain(&rate);
        let mut array = [0.0; 24];
        array.iter_mut().zip(values).for_each(|(a, v)| *a = *v as f32);
        array
    }
}

fn is_rotation(given: &Matrix3<f64>) -> bool {
    // Sine of about 0.1°: float32 rounding is far below, a wrong order of values far above.
    (given * given.transpose() - Matrix3::identity()).amax() <= 2e-3 && given.determinant() > 0.0
}

/// Reads angles and speeds of the six joints.
pub fn arm_state_from_array(data: &[f32]) -> Result<(Joints, Joints), Malformed> {
    let values = take::<12>("arm state (angles 6, speeds 6)", data)?;
    Ok((Joints::from_column_slice(&values[..6]), Joints::from_column_slice(&values[6..])))
}

/// Reads the six angles of a joint target, and its six speeds if there are that many values.
pub fn joint_target_from_array(data: &[f32]) -> Result<(Joints, Joints), Malformed> {
    if data.len() >= 12 {
        return arm_state_from_array(data);
    }
    let angles = take::<6>("joint target (angles 6)", data)?;
    Ok((Joints::from(angles), Joints::zeros()))
}

/// Angles and speeds as they are sent.
pub fn arm_state_to_array(angles: &Joints, speeds: &Joints) -> [f32; 12] {
    std::array::from_fn(|i| if i < 6 { angles[i] } else { speeds[i - 6] } as f32)
}

/// The first instant at or after `time` that a float32 can say exactly.
///
/// After three days a float32 of seconds moves in steps of 1/64 s or more. Releasing balls and closing the hand only
/// at instants it can say keeps every process of the same opinion to the last bit.
pub fn next_wire_time(time: f64) -> f64 {
    let rounded = time as f32;
    f64::from(if f64::from(rounded) < time { rounded.next_up() } else { rounded })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Robot;
    use proptest::prelude::*;

    #[test]
    fn launcher_input_is_clamped() {
        let far = Launcher::from_array(&[20.0, 5.0, 9.0, 9.0]).unwrap();
        assert_eq!(far.to_array(), [10.0, 0.0, 2.0, 1.55]);
        let near = Launcher::from_array(&[-20.0, -50.0, -9.0, -9.0, 7.0]).unwrap();
        assert_eq!(near.to_array(), [-10.0, -10.0, -2.0, 0.0]);
    }

    #[test]
    fn short_and_not_finite_arrays_are_refused_with_the_reason() {
        let text = |r: Result<Launcher, Malformed>| r.unwrap_err().to_string();
        assert!(text(Launcher::from_array(&[0.0, 1.0, 2.0])).contains("3 values, at least 4"));
        assert!(text(Launcher::from_array(&[0.0, f32::NAN, 2.0, 0.0])).contains("value 1 is NaN"));
        assert!(Ball::from_array(&[0.0; 6]).is_err() && Ball::from_array(&[f32::INFINITY; 7]).is_err());
        assert!(HandState::from_array(&[0.0; 23]).is_err());
        assert!(matches!(HandState::from_array(&[0.0; 24]), Err(Malformed::NotARotation { .. })));
        assert!(joint_target_from_array(&[0.0; 5]).is_err() && joint_target_from_array(&[0.0; 7]).is_ok());
    }

    #[test]
    fn arrays_in_the_order_of_the_original_code_are_refused_with_a_hint() {
        // As its launcher sends them: position, velocity, time.
        for (x, t) in [(0.0, 12.5), (0.5, 3.25), (-1.0, 0.75)] {
            let code = [x, 0.0, -1.0, 0.3, 3.1, 2.4, t];
            let told = Ball::from_array(&code).unwrap_err().to_string();
            assert!(told.contains("original code's order"), "{told}");
        }
        let state = Robot::default().hand_state(&Joints::repeat(0.3), &Joints::zeros()).to_array();
        let code = [&state[..3], &state[12..15], &state[3..12], &state[15..]].concat();
        assert!(HandState::from_array(&code).unwrap_err().to_string().contains("original code's order"));
    }

    #[test]
    fn the_hand_state_array_has_the_documented_order() {
        let state = Robot::default().hand_state(&Joints::repeat(0.3), &Joints::repeat(0.7));
        let array = state.to_array();
        assert_eq!(array[3 + 1], state.rotation[(0, 1)] as f32, "row by row");
        assert_eq!(array[12], state.velocity.x as f32);
        assert_eq!(array[15 + 3], state.rotation_rate[(1, 0)] as f32);
        let back = HandState::from_array(&array).unwrap();
        assert!(
            (back.rotation - state.rotation).amax() < 1e-7 && (back.velocity - state.velocity).amax() < 1e-7
        );
        assert!((back.rotation * back.rotation.transpose() - Matrix3::identity()).amax() < 1e-12);
    }

    proptest! {
        #[test]
        fn wire_times_are_exact_and_never_early(time in 0.0f64..1e6) {
            let wire = next_wire_time(time);
            prop_assert_eq!(f64::from(wire as f32), wire);
            prop_assert!(wire >= time && wire - time < 0.07);
        }
    }
}
