//! Forward kinematics and the geometric Jacobian.

use nalgebra::{Isometry3, Matrix3, Matrix6, Rotation3, Translation3, UnitQuaternion, Vector3, Vector6};

use crate::Limits;

/// Six joint angles (or speeds, or accelerations), joint_1 first.
pub type Joints = Vector6<f64>;

/// Maps joint speeds to the hand's linear (rows 0–2) and angular (rows 3–5) velocity in the world.
pub type Jacobian = Matrix6<f64>;

/// Link lengths along y with all joints at zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Links {
    /// Floor to joint_1.
    pub base: f64,
    /// joint_1 to joint_3.
    pub upper: f64,
    /// joint_3 to the wrist, where the axes of joints 4, 5 and 6 meet.
    pub fore: f64,
    /// Wrist to the centre of the hand.
    pub hand: f64,
}

impl Default for Links {
    fn default() -> Self {
        Self { base: 0.1, upper: 0.3, fore: 0.25, hand: 0.1 }
    }
}

/// The arm: joint axes x, y, x, y, x, z from the base to the hand, straight up at zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Robot {
    /// How long its links are.
    pub links: Links,
    /// What its joints may do.
    pub limits: Limits,
}

/// Where the hand is and how it moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HandState {
    /// The hand's centre, m.
    pub position: Vector3<f64>,
    /// Columns are the hand's axes in the world: x closes, y along the fingers, z is the approach direction.
    pub rotation: Matrix3<f64>,
    /// Of the centre, m/s.
    pub velocity: Vector3<f64>,
    /// Time derivative of `rotation`.
    pub rotation_rate: Matrix3<f64>,
}

pub(crate) fn rot_x(angle: f64) -> Matrix3<f64> {
    let (s, c) = angle.sin_cos();
    Matrix3::new(1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c)
}

pub(crate) fn rot_y(angle: f64) -> Matrix3<f64> {
    let (s, c) = angle.sin_cos();
    Matrix3::new(c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c)
}

pub(crate) fn rot_z(angle: f64) -> Matrix3<f64> {
    let (s, c) = angle.sin_cos();
    Matrix3::new(c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)
}

/// Everything the joint angles say about the chain: the hand's frame, and each joint's axis and a point on it.
pub(crate) struct Chain {
    pub(crate) position: Vector3<f64>,
    pub(crate) rotation: Matrix3<f64>,
    pub(crate) axes: [Vector3<f64>; 6],
    /// Shoulder, shoulder, elbow, and three times the wrist.
    pub(crate) origins: [Vector3<f64>; 6],
}

impl Chain {
    /// How the hand's centre moves with each joint, m/rad.
    pub(crate) fn levers(&self) -> [Vector3<f64>; 6] {
        std::array::from_fn(|i| self.axes[i].cross(&(self.position - self.origins[i])))
    }
}

impl Robot {
    /// The hand's pose for the given joint angles.
    pub fn forward(&self, joints: &Joints) -> Isometry3<f64> {
        let (position, rotation) = self.hand_frame(joints);
        Isometry3::from_parts(
            Translation3::from(position),
            UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(rotation)),
        )
    }

    /// The hand's position and attitude as a matrix, without the detour over a quaternion.
    pub fn hand_frame(&self, joints: &Joints) -> (Vector3<f64>, Matrix3<f64>) {
        let chain = self.chain(joints);
        (chain.position, chain.rotation)
    }

    /// Floor, joint_1, elbow, wrist and centre of the hand, to draw the arm.
    pub fn link_points(&self, joints: &Joints) -> [Vector3<f64>; 5] {
        let chain = self.chain(joints);
        [Vector3::zeros(), chain.origins[0], chain.origins[2], chain.origins[3], chain.position]
    }

    /// The geometric Jacobian at the centre of the hand.
    pub fn jacobian(&self, joints: &Joints) -> Jacobian {
        let chain = self.chain(joints);
        let mut jacobian = Jacobian::zeros();
        for (i, (axis, lever)) in chain.axes.iter().zip(&chain.levers()).enumerate() {
            jacobian.fixed_view_mut::<3, 1>(0, i).copy_from(lever);
            jacobian.fixed_view_mut::<3, 1>(3, i).copy_from(axis);
        }
        jacobian
    }

    /// The hand's pose and motion for the given joint angles and speeds.
    pub fn hand_state(&self, joints: &Joints, speeds: &Joints) -> HandState {
        let (position, rotation) = self.hand_frame(joints);
        let twist = self.jacobian(joints) * speeds;
        let spin = twist.fixed_rows::<3>(3).into_owned();
        HandState {
            position,
            rotation,
            velocity: twist.fixed_rows::<3>(0).into_owned(),
            rotation_rate: spin.cross_matrix() * rotation,
        }
    }

    /// The joint speeds that give the hand the linear and angular velocity `twist` (as the Jacobian's rows),
    /// or `None` where the arm is singular and some direction is lost.
    pub fn joint_speeds(&self, joints: &Joints, twist: &Vector6<f64>) -> Option<Joints> {
        let jacobian = self.jacobian(joints);
        // Below this the answer would be speeds thousands of times the hand's: singular for every practical use.
        let svd = jacobian.svd(true, true);
        (svd.singular_values.min() > 1e-4).then(|| svd.solve(twist, 0.0).ok()).flatten()
    }

    pub(crate) fn chain(&self, q: &Joints) -> Chain {
        let Links { base, upper, fore, hand } = self.links;
        let up = |length: f64| Vector3::new(0.0, length, 0.0);
        let shoulder = up(base);
        let r1 = rot_x(q[0]);
        let r2 = r1 * rot_y(q[1]);
        let elbow = shoulder + r1 * up(upper);
        let r3 = r2 * rot_x(q[2]);
        let wrist = elbow + r3 * up(fore);
        let r4 = r3 * rot_y(q[3]);
        let r5 = r4 * rot_x(q[4]);
        let rotation = r5 * rot_z(q[5]);
        let column = |m: &Matrix3<f64>, i: usize| m.column(i).into_owned();
        Chain {
            position: wrist + rotation * up(hand),
            axes: [
                Vector3::x(),
                column(&r1, 1),
                column(&r2, 0),
                column(&r3, 1),
                column(&r4, 0),
                column(&r5, 2),
            ],
            origins: [shoulder, shoulder, elbow, wrist, wrist, wrist],
            rotation,
        }
    }
}
