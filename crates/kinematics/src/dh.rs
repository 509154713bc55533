//! Robots from Denavit-Hartenberg figures.

use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

use crate::{
    JOINTS,
    chain::{Axis, Chain},
};

/// One row of a table in the classic (distal) form: turn and shift along z, then shift and turn along x.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DhRow {
    /// Length along x, m.
    pub a: f64,
    /// Twist around x, rad.
    pub alpha: f64,
    /// Offset along z, m.
    pub d: f64,
    /// What the joint's zero adds to its angle, rad.
    pub theta: f64,
}

impl DhRow {
    fn at_zero(&self) -> Isometry3<f64> {
        let along_z = Isometry3::from_parts(
            Translation3::new(0.0, 0.0, self.d),
            UnitQuaternion::from_axis_angle(&Vector3::z_axis(), self.theta),
        );
        let along_x = Isometry3::from_parts(
            Translation3::new(self.a, 0.0, 0.0),
            UnitQuaternion::from_axis_angle(&Vector3::x_axis(), self.alpha),
        );
        along_z * along_x
    }
}

/// The chain of a table. The tool is the flange, the frame behind the last row.
pub fn chain(rows: &[DhRow; JOINTS]) -> Chain {
    let mut frame = Isometry3::identity();
    let mut links = [Isometry3::identity(); JOINTS];
    let axes = std::array::from_fn(|i| {
        let axis = Axis { direction: frame.rotation * Vector3::z_axis(), point: frame.translation.vector };
        frame *= rows[i].at_zero();
        links[i] = frame;
        axis
    });
    Chain { axes, links, tool: frame }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Joints;

    /// The textbook product of the rows' matrices, which the axes must agree with.
    #[test]
    fn the_chain_is_the_product_of_the_rows() {
        let row = |a, alpha, d, theta| DhRow { a, alpha, d, theta };
        let rows = [
            row(0.1, 1.5, 0.4, 0.2),
            row(-0.4, 0.0, 0.0, 0.0),
            row(-0.3, 0.3, 0.1, -1.0),
            row(0.0, 1.2, 0.13, 0.0),
            row(0.02, -1.5, 0.1, 0.0),
            row(0.0, 0.0, 0.09, 3.0),
        ];
        let joints = Joints::new(0.3, -1.0, 2.0, 0.7, -0.4, 1.1);
        let product = rows.iter().zip(joints.iter()).fold(Isometry3::identity(), |frame, (row, angle)| {
            frame * DhRow { theta: row.theta + angle, ..*row }.at_zero()
        });
        let tool = chain(&rows).forward(&joints);
        assert!((tool.to_homogeneous() - product.to_homogeneous()).amax() < 1e-12);
    }
}
