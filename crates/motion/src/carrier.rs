//! The geometry of one move as joint angles over path length.
//!
//! Curves are made once, at planning time, so that a control cycle needs no inverse kinematics and no memory.

use rosless_kinematics::Joints;

/// Ways shorter than this (rad or m) are none: no encoder sees them, and their arithmetic underflows.
pub(crate) const NO_WAY: f64 = 1e-9;

/// Joint angles and their first three derivatives by path length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) joints: Joints,
    pub(crate) slope: Joints,
    pub(crate) bend: Joints,
    pub(crate) twist: Joints,
}

/// Joint angles over `0..=length`, twice continuously differentiable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Carrier {
    /// Straight for the joints.
    Straight { start: Joints, slope: Joints, length: f64 },
    /// A cubic spline through exact joint angles.
    Curve { length: f64, knots: Vec<Joints>, bends: Vec<Joints> },
}

impl Carrier {
    /// Straight from `start` to `end`; the length is the leading joint's way times `scale`.
    pub(crate) fn straight(start: Joints, end: Joints, scale: f64) -> Self {
        let way = (end - start).amax();
        if way < NO_WAY {
            return Self::Straight { start, slope: Joints::zeros(), length: 0.0 };
        }
        let length = way * scale;
        Self::Straight { start, slope: (end - start) / length, length }
    }

    /// Through `knots`, evenly spaced over `length`, with the slopes `first` and `last` at its ends.
    pub(crate) fn through(length: f64, knots: Vec<Joints>, first: Joints, last: Joints) -> Self {
        let bends = clamped(&knots, length / (knots.len() - 1) as f64, first, last);
        Self::Curve { length, knots, bends }
    }

    pub(crate) fn length(&self) -> f64 {
        match self {
            Self::Straight { length, .. } | Self::Curve { length, .. } => *length,
        }
    }

    pub(crate) fn end(&self) -> Joints {
        match self {
            Self::Straight { start, slope, length } => start + slope * *length,
            Self::Curve { knots, .. } => knots[knots.len() - 1],
        }
    }

    /// The point at path length `s`, held at the ends.
    pub(crate) fn at(&self, s: f64) -> Point {
        match self {
            Self::Straight { start, slope, length } => Point {
                joints: start + slope * s.clamp(0.0, *length),
                slope: *slope,
                bend: Joints::zeros(),
                twist: Joints::zeros(),
            },
            Self::Curve { length, knots, bends } => {
                let intervals = knots.len() - 1;
                let step = length / intervals as f64;
                let s = s.clamp(0.0, *length);
                let i = ((s / step) as usize).min(intervals - 1);
                within(
                    [&knots[i], &knots[i + 1]],
                    [&bends[i], &bends[i + 1]],
                    (s / step - i as f64).min(1.0),
                    step,
                )
            }
        }
    }
}

/// The point at share `b` of an interval.
fn within(knots: [&Joints; 2], bends: [&Joints; 2], b: f64, step: f64) -> Point {
    let ([k0, k1], [m0, m1]) = (knots, bends);
    let a = 1.0 - b;
    let bend = step * step / 6.0;
    Point {
        joints: k0 * a + k1 * b + m0 * (bend * (a * a * a - a)) + m1 * (bend * (b * b * b - b)),
        slope: (k1 - k0) / step + m1 * (step / 6.0 * (3.0 * b * b - 1.0))
            - m0 * (step / 6.0 * (3.0 * a * a - 1.0)),
        bend: m0 * a + m1 * b,
        twist: (m1 - m0) / step,
    }
}

/// Second derivatives of the cubic spline with these end slopes.
fn clamped(knots: &[Joints], h: f64, first: Joints, last: Joints) -> Vec<Joints> {
    let n = knots.len();
    // Thomas' algorithm on the symmetric system with rows (2 1), (1 4 1)…, (1 2).
    let mut upper = vec![0.0; n];
    let mut m = vec![Joints::zeros(); n];
    upper[0] = 0.5;
    m[0] = ((knots[1] - knots[0]) / h - first) * (6.0 / h) / 2.0;
    for i in 1..n {
        let (diagonal, right) = if i == n - 1 {
            (2.0, (last - (knots[i] - knots[i - 1]) / h) * (6.0 / h))
        } else {
            (4.0, (knots[i + 1] - knots[i] * 2.0 + knots[i - 1]) * (6.0 / (h * h)))
        };
        let pivot = diagonal - upper[i - 1];
        upper[i] = 1.0 / pivot;
        m[i] = (right - m[i - 1]) / pivot;
    }
    for i in (0..n - 1).rev() {
        m[i] = m[i] - m[i + 1] * upper[i];
    }
    m
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spline_follows_a_smooth_function() {
        let length = 2.0_f64;
        let knots = (0..60).map(|i| Joints::from_element((length * f64::from(i) / 59.0).sin())).collect();
        let path =
            Carrier::through(length, knots, Joints::from_element(1.0), Joints::from_element(length.cos()));
        for i in 0..=1000 {
            let s = 2.0 * f64::from(i) / 1000.0;
            let point = path.at(s);
            assert!((point.joints[0] - s.sin()).abs() < 1e-8, "{s}");
            assert!((point.slope[3] - s.cos()).abs() < 1e-5, "{s}");
            assert!((point.bend[5] + s.sin()).abs() < 2e-3, "{s}");
            assert!((point.twist[2] + s.cos()).abs() < 5e-2, "{s}");
        }
    }

    #[test]
    fn a_straight_path_is_measured_by_its_leading_joint() {
        let path = Carrier::straight(Joints::zeros(), Joints::new(1.0, -2.0, 0.0, 0.5, 0.0, 0.0), 0.5);
        assert_eq!(path.length(), 1.0);
        assert_eq!(path.at(0.5).joints, Joints::new(0.5, -1.0, 0.0, 0.25, 0.0, 0.0));
        assert_eq!(path.at(0.5).slope[1], -2.0);
    }

    #[test]
    fn no_way_to_go_is_a_point() {
        let here = Joints::from_element(0.3);
        assert_eq!(Carrier::straight(here, here, 1.0).at(0.0).joints, here);
    }
}
