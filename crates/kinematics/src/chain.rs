//! Six axes one after the other, and where they carry the tool.

use nalgebra::{
    Isometry3, Matrix3, Matrix6, Rotation3, Translation3, Unit, UnitQuaternion, Vector3, Vector6,
};

use crate::JOINTS;

/// Six joint angles (or speeds, or accelerations), the joint next to the base first.
pub type Joints = Vector6<f64>;

/// Maps joint speeds to the tool's linear (rows 0–2) and angular (rows 3–5) velocity in the base frame.
pub type Jacobian = Matrix6<f64>;

/// The axis of a joint with all joints at zero, in the base frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    /// Positive turns are right-handed around it.
    pub direction: Unit<Vector3<f64>>,
    /// Any point on it.
    pub point: Vector3<f64>,
}

impl Axis {
    /// The rotation matrix of `angle` around the direction.
    pub(crate) fn rotation(&self, angle: f64) -> Matrix3<f64> {
        let (s, c) = angle.sin_cos();
        let (x, y, z) = (self.direction.x, self.direction.y, self.direction.z);
        let k = 1.0 - c;
        Matrix3::new(
            c + x * x * k,
            x * y * k - z * s,
            x * z * k + y * s,
            y * x * k + z * s,
            c + y * y * k,
            y * z * k - x * s,
            z * x * k - y * s,
            z * y * k + x * s,
            c + z * z * k,
        )
    }
}

/// A rigid motion as matrix and offset: `x` goes to `turn * x + shift`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rigid {
    pub(crate) turn: Matrix3<f64>,
    pub(crate) shift: Vector3<f64>,
}

impl Rigid {
    pub(crate) fn identity() -> Self {
        Self { turn: Matrix3::identity(), shift: Vector3::zeros() }
    }

    pub(crate) fn of(pose: &Isometry3<f64>) -> Self {
        Self { turn: *pose.rotation.to_rotation_matrix().matrix(), shift: pose.translation.vector }
    }

    pub(crate) fn about(axis: &Axis, angle: f64) -> Self {
        let turn = axis.rotation(angle);
        Self { turn, shift: axis.point - turn * axis.point }
    }

    pub(crate) fn then(&self, next: &Self) -> Self {
        Self { turn: self.turn * next.turn, shift: self.turn * next.shift + self.shift }
    }

    pub(crate) fn apply(&self, point: &Vector3<f64>) -> Vector3<f64> {
        self.turn * point + self.shift
    }

    pub(crate) fn inverse(&self) -> Self {
        let turn = self.turn.transpose();
        Self { turn, shift: -(turn * self.shift) }
    }

    pub(crate) fn pose(&self) -> Isometry3<f64> {
        let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(self.turn));
        Isometry3::from_parts(Translation3::from(self.shift), rotation)
    }
}

/// The tool's place and its first two derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolMotion {
    /// Of the tool's origin.
    pub position: Vector3<f64>,
    /// Its first derivative.
    pub velocity: Vector3<f64>,
    /// Its second derivative.
    pub acceleration: Vector3<f64>,
    /// How fast the tool turns, around which axis.
    pub spin: Vector3<f64>,
}

/// Directions of axes, and a point on each.
type WorldAxes = [(Vector3<f64>, Vector3<f64>); JOINTS];

/// Six axes, the frames of the links and the tool, all with the joints at zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// From the base to the tool.
    pub axes: [Axis; JOINTS],
    /// The frame of the link behind each joint.
    pub links: [Isometry3<f64>; JOINTS],
    /// The tool's frame.
    pub tool: Isometry3<f64>,
}

impl Chain {
    /// What the joints have done to everything behind the last one.
    pub(crate) fn carried(&self, joints: &Joints) -> Rigid {
        let mut moved = Rigid::identity();
        for (axis, angle) in self.axes.iter().zip(joints.iter()) {
            moved = moved.then(&Rigid::about(axis, *angle));
        }
        moved
    }

    /// The tool's pose.
    pub fn forward(&self, joints: &Joints) -> Isometry3<f64> {
        self.carried(joints).then(&Rigid::of(&self.tool)).pose()
    }

    /// The tool's origin.
    pub fn place(&self, joints: &Joints) -> Vector3<f64> {
        self.carried(joints).apply(&self.tool.translation.vector)
    }

    /// The base, the origins of the links and the tool: the corners of the arm's skeleton.
    pub fn skeleton(&self, joints: &Joints) -> [Vector3<f64>; JOINTS + 2] {
        let mut points = [Vector3::zeros(); JOINTS + 2];
        let mut moved = Rigid::identity();
        for i in 0..JOINTS {
            moved = moved.then(&Rigid::about(&self.axes[i], joints[i]));
            points[i + 1] = moved.apply(&self.links[i].translation.vector);
        }
        points[JOINTS + 1] = moved.apply(&self.tool.translation.vector);
        points
    }

    /// Each joint's axis where the joints have brought it, as direction and point, and the tool's origin.
    fn world_axes(&self, joints: &Joints) -> (WorldAxes, Rigid) {
        let mut moved = Rigid::identity();
        let axes = std::array::from_fn(|i| {
            let axis = &self.axes[i];
            let world = (moved.turn * axis.direction.into_inner(), moved.apply(&axis.point));
            moved = moved.then(&Rigid::about(axis, joints[i]));
            world
        });
        (axes, moved)
    }

    /// The geometric Jacobian at the tool's origin.
    pub fn jacobian(&self, joints: &Joints) -> Jacobian {
        let (axes, moved) = self.world_axes(joints);
        let tool = moved.apply(&self.tool.translation.vector);
        let mut jacobian = Jacobian::zeros();
        for (i, (direction, point)) in axes.iter().enumerate() {
            jacobian.fixed_view_mut::<3, 1>(0, i).copy_from(&direction.cross(&(tool - point)));
            jacobian.fixed_view_mut::<3, 1>(3, i).copy_from(direction);
        }
        jacobian
    }

    /// How the tool moves when the joints have these speeds and accelerations (by time, or by any other parameter).
    pub fn motion(&self, joints: &Joints, speeds: &Joints, accelerations: &Joints) -> ToolMotion {
        let (axes, moved) = self.world_axes(joints);
        let position = moved.apply(&self.tool.translation.vector);
        // Every point x of the link before a joint moves with `spin × x + drift`.
        let (mut spin, mut drift) = (Vector3::zeros(), Vector3::zeros());
        let mut velocity = Vector3::zeros();
        for (i, (direction, point)) in axes.iter().enumerate() {
            velocity += direction.cross(&(position - point)) * speeds[i];
        }
        let mut acceleration = Vector3::zeros();
        for (i, (direction, point)) in axes.iter().enumerate() {
            let arm = position - point;
            let point_velocity = spin.cross(point) + drift;
            let direction_rate = spin.cross(direction);
            acceleration += direction.cross(&arm) * accelerations[i]
                + (direction_rate.cross(&arm) + direction.cross(&(velocity - point_velocity))) * speeds[i];
            spin += direction * speeds[i];
            drift -= direction.cross(point) * speeds[i];
        }
        ToolMotion { position, velocity, acceleration, spin }
    }

    /// The same arm with its tool moved by `offset` in the tool's own frame.
    #[must_use]
    pub fn with_tool(&self, offset: &Isometry3<f64>) -> Self {
        Self { tool: self.tool * offset, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn jacobian_and_motion_are_the_derivatives_of_the_place(
            q in prop::array::uniform6(-3.0f64..3.0), v in prop::array::uniform6(-1.0f64..1.0), a in prop::array::uniform6(-1.0f64..1.0)) {
            let chain = builtin::robot("ur5e").unwrap().chain;
            let [q, v, a] = [q, v, a].map(|x| Joints::from_column_slice(&x));
            let h = 1e-4;
            let at = |t: f64| chain.place(&(q + v * t + a * (t * t / 2.0)));
            let speed = (at(h) - at(-h)) / (2.0 * h);
            let change = (at(h) - at(0.0) * 2.0 + at(-h)) / (h * h);
            let motion = chain.motion(&q, &v, &a);
            prop_assert!((motion.velocity - speed).norm() < 1e-6);
            prop_assert!((motion.acceleration - change).norm() < 1e-5);
            let twist = chain.jacobian(&q) * v;
            prop_assert!((twist.fixed_rows::<3>(0) - motion.velocity).norm() < 1e-12);
            prop_assert!((twist.fixed_rows::<3>(3) - motion.spin).norm() < 1e-12);
        }
    }
}
