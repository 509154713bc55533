//! Joint angles for a pose by damped least squares: for any geometry, one posture at a time.

use nalgebra::{Isometry3, Matrix6, Vector6};

use crate::chain::{Chain, Joints};

const STEPS: usize = 80;
/// Metres and radians within which a pose is reached.
const CLOSE: f64 = 1e-10;
/// Starting points that are tried when the first leads nowhere, as offsets of all joints.
const RETRIES: [f64; 5] = [0.0, 0.4, -0.4, 1.1, -1.1];

/// What is missing from `now` to `goal`, as a twist in the base frame.
fn missing(now: &Isometry3<f64>, goal: &Isometry3<f64>) -> Vector6<f64> {
    let shift = goal.translation.vector - now.translation.vector;
    let turn = (goal.rotation * now.rotation.inverse()).scaled_axis();
    Vector6::new(shift.x, shift.y, shift.z, turn.x, turn.y, turn.z)
}

/// Joint angles that put the tool at `pose`, found from `near`; `None` when the search ends elsewhere.
pub fn solve(chain: &Chain, pose: &Isometry3<f64>, near: &Joints) -> Option<Joints> {
    RETRIES.iter().enumerate().find_map(|(i, offset)| {
        // Not the same for every joint: some arms are symmetric under that.
        let start = Joints::from_fn(|joint, _| near[joint] + offset * (1.0 + 0.3 * ((joint + i) % 3) as f64));
        descend(chain, pose, start)
    })
}

fn descend(chain: &Chain, pose: &Isometry3<f64>, mut joints: Joints) -> Option<Joints> {
    let mut damping = 1e-3;
    let mut error = missing(&chain.forward(&joints), pose);
    for _ in 0..STEPS {
        if error.amax() < CLOSE {
            return Some(joints);
        }
        let jacobian = chain.jacobian(&joints);
        let normal = jacobian * jacobian.transpose() + Matrix6::identity() * damping;
        let step = jacobian.transpose() * normal.cholesky()?.solve(&error);
        // A long step leaves the region in which the Jacobian means something.
        let step = step * (0.7 / step.amax()).min(1.0);
        let candidate = joints + step;
        let after = missing(&chain.forward(&candidate), pose);
        if after.norm() < error.norm() {
            (joints, error) = (candidate, after);
            damping = (damping * 0.2).max(1e-14);
        } else {
            damping *= 10.0;
            if damping > 1e3 {
                return None;
            }
        }
    }
    None
}
