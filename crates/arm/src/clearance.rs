//! Links stay above the floor and off each other. Every link counts as a capsule around its centre line.

use nalgebra::Vector3;

use crate::{Joints, Robot, kinematics::Chain};

/// Half the thickness of every link, m.
pub const THICKNESS: f64 = 0.05;
/// How far the fingers stick out beyond the hand's centre, m.
pub const FINGERTIPS: f64 = 0.07;
/// Farther than this (rad) the elbow or the wrist would fold a link into its neighbour.
const MOST_FOLDED: [f64; 2] = [2.73, 2.5];

/// What a posture would touch.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Touch {
    /// A part of the arm below the floor.
    #[error("the {part} would be {depth:.3} m too low: it would touch the floor")]
    Floor {
        /// Which part.
        part: &'static str,
        /// By how much, m.
        depth: f64,
    },
    /// Two links in the same place.
    #[error("the {part} would touch the {other}")]
    Itself {
        /// One of them.
        part: &'static str,
        /// The other one.
        other: &'static str,
    },
}

/// How much room there is in each respect, m; negative: none. In the order of `touch` below.
pub(crate) type Gaps = [f64; 8];

impl Chain {
    /// The fingers' ends.
    pub(crate) fn fingertips(&self) -> Vector3<f64> {
        self.position + self.rotation.column(1) * FINGERTIPS
    }

    /// How much room the posture leaves.
    pub(crate) fn gaps(&self, joints: &Joints) -> Gaps {
        let [shoulder, _, elbow, wrist, ..] = self.origins;
        let tips = self.fingertips();
        let bend = self.axes[3].dot(&self.rotation.column(1)).clamp(-1.0, 1.0).acos();
        let apart = |a: [&Vector3<f64>; 2], b: [&Vector3<f64>; 2]| distance(a, b) - 2.0 * THICKNESS;
        let floor = Vector3::zeros();
        [
            elbow.y - THICKNESS,
            wrist.y - THICKNESS,
            tips.y - THICKNESS,
            (MOST_FOLDED[0] - joints[2].abs()) * 0.25,
            (MOST_FOLDED[1] - bend) * 0.17,
            apart([&wrist, &tips], [&shoulder, &elbow]),
            apart([&wrist, &tips], [&floor, &shoulder]),
            apart([&elbow, &wrist], [&floor, &shoulder]),
        ]
    }
}

fn touch(gaps: &Gaps) -> Result<(), Touch> {
    let (worst, gap) =
        gaps.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).unwrap_or((0, &f64::INFINITY));
    if *gap >= 0.0 {
        return Ok(());
    }
    let floor = |part| Touch::Floor { part, depth: -gap };
    let itself = |part, other| Touch::Itself { part, other };
    Err(match worst {
        0 => floor("elbow"),
        1 => floor("wrist"),
        2 => floor("hand"),
        3 => itself("forearm", "upper arm"),
        4 => itself("hand", "forearm"),
        5 => itself("hand", "upper arm"),
        6 => itself("hand", "base"),
        _ => itself("forearm", "base"),
    })
}

impl Robot {
    /// Ok when the posture touches neither the floor nor itself.
    ///
    /// # Errors
    /// With what it would touch most.
    pub fn clearance(&self, joints: &Joints) -> Result<(), Touch> {
        touch(&self.chain(joints).gaps(joints))
    }
}

/// Least distance between two line segments.
fn distance([a, b]: [&Vector3<f64>; 2], [c, d]: [&Vector3<f64>; 2]) -> f64 {
    let (u, v, w) = (b - a, d - c, a - c);
    let (uu, uv, vv, uw, vw) = (u.dot(&u), u.dot(&v), v.dot(&v), u.dot(&w), v.dot(&w));
    let share = |part: f64, whole: f64| if whole > 1e-12 { (part / whole).clamp(0.0, 1.0) } else { 0.0 };
    let s = share(uv * vw - vv * uw, uu * vv - uv * uv);
    let t = share(uv * s + vw, vv);
    let s = share(uv * t - uw, uu);
    (w + u * s - v * t).norm()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn posture(q: [f64; 6]) -> Result<(), String> {
        Robot::default().clearance(&Joints::from(q)).map_err(|touch| touch.to_string())
    }

    #[test]
    fn postures_in_the_floor_or_in_the_arm_itself_are_told() {
        assert_eq!(posture([0.0; 6]), Ok(()));
        assert_eq!(posture([-1.346590, 0.0, 1.704028, 0.0, -0.357438, 0.0]), Ok(()), "a documented catch");
        for (q, reason) in [
            ([2.0, 0.0, 0.0, 0.0, 0.0, 0.0], "floor"),
            ([0.0, 0.0, 3.0, 0.0, 0.0, 0.0], "forearm would touch the upper arm"),
            ([0.0, 0.0, 0.0, 0.0, 3.0, 0.0], "hand would touch the forearm"),
            ([0.0, 0.0, 2.6, 0.0, 1.6, 0.0], "hand would touch the upper arm"),
        ] {
            assert!(posture(q).unwrap_err().contains(reason), "{q:?}: {:?}", posture(q));
        }
    }

    proptest! {
        #[test]
        fn no_two_points_of_the_segments_are_nearer(
            points in prop::array::uniform4(prop::array::uniform3(-1.0f64..1.0)),
            s in 0.0f64..1.0, t in 0.0f64..1.0,
        ) {
            let [a, b, c, d] = points.map(Vector3::from);
            let between = (a + (b - a) * s - c - (d - c) * t).norm();
            prop_assert!(distance([&a, &b], [&c, &d]) <= between + 1e-9);
        }
    }
}
