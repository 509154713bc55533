//! The geometry of one move as joint angles over path length: a cubic spline through exact joint angles.
//!
//! The spline is made once, at planning time, so that a control cycle needs no inverse kinematics and no memory.

use rosless_arm::Joints;

/// Ways shorter than this (rad or m) are none: no encoder sees them, and their arithmetic underflows.
pub(crate) const NO_WAY: f64 = 1e-9;

/// Joint angles over `0..=length`, twice continuously differentiable.
#[derive(Debug, Clone, PartialEq)]
pub struct JointPath {
    length: f64,
    knots: Vec<Joints>,
    /// Second derivative at each knot.
    curvature: Vec<Joints>,
}

/// Joint angles and their first two derivatives by path length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub joints: Joints,
    pub slope: Joints,
    pub curvature: Joints,
}

impl JointPath {
    /// Straight from `start` to `end` in joint space; the length is the leading joint's way.
    pub fn straight(start: Joints, end: Joints) -> Self {
        let way = (end - start).amax();
        let length = if way < NO_WAY { 0.0 } else { way };
        Self { length, knots: vec![start, end], curvature: vec![Joints::zeros(); 2] }
    }

    /// Through `knots`, evenly spaced over `length`.
    ///
    /// # Panics
    /// With fewer than four knots: the end slopes are taken from four.
    pub fn through(length: f64, knots: Vec<Joints>) -> Self {
        assert!(knots.len() >= 4, "a spline needs four knots");
        let step = length / (knots.len() - 1) as f64;
        let curvature = clamped_spline(&knots, step);
        Self { length, knots, curvature }
    }

    pub fn length(&self) -> f64 {
        self.length
    }

    pub fn start(&self) -> Joints {
        self.knots[0]
    }

    pub fn end(&self) -> Joints {
        self.knots[self.knots.len() - 1]
    }

    /// The point at path length `s`, held at the ends.
    pub fn at(&self, s: f64) -> Point {
        if self.length <= 0.0 {
            return Point { joints: self.end(), slope: Joints::zeros(), curvature: Joints::zeros() };
        }
        let intervals = self.knots.len() - 1;
        let step = self.length / intervals as f64;
        let s = s.clamp(0.0, self.length);
        let i = ((s / step) as usize).min(intervals - 1);
        self.within(i, (s / step - i as f64).min(1.0), step)
    }

    /// The point at share `b` of interval `i`.
    fn within(&self, i: usize, b: f64, step: f64) -> Point {
        let (k0, k1) = (&self.knots[i], &self.knots[i + 1]);
        let (m0, m1) = (&self.curvature[i], &self.curvature[i + 1]);
        let a = 1.0 - b;
        let bend = step * step / 6.0;
        Point {
            joints: k0 * a + k1 * b + m0 * (bend * (a * a * a - a)) + m1 * (bend * (b * b * b - b)),
            slope: (k1 - k0) / step + m1 * (step / 6.0 * (3.0 * b * b - 1.0))
                - m0 * (step / 6.0 * (3.0 * a * a - 1.0)),
            curvature: m0 * a + m1 * b,
        }
    }

    /// The largest slope and curvature of each joint anywhere on the path.
    pub fn extremes(&self) -> (Joints, Joints) {
        let intervals = self.knots.len() - 1;
        let step = self.length / intervals as f64;
        let curvature = self.curvature.iter().fold(Joints::zeros(), |worst, m| worst.sup(&m.abs()));
        let mut slope = Joints::zeros();
        for i in 0..intervals {
            slope =
                slope.sup(&self.within(i, 0.0, step).slope.abs()).sup(&self.within(i, 1.0, step).slope.abs());
            // Slope is a parabola over each interval: its turning point is where the curvature is zero.
            for joint in 0..slope.len() {
                let (m0, m1) = (self.curvature[i][joint], self.curvature[i + 1][joint]);
                if m0 * m1 < 0.0 {
                    let turning = self.within(i, m0 / (m0 - m1), step).slope[joint].abs();
                    slope[joint] = slope[joint].max(turning);
                }
            }
        }
        (slope, curvature)
    }
}

/// Second derivatives of the cubic spline with end slopes from four knots each.
fn clamped_spline(knots: &[Joints], h: f64) -> Vec<Joints> {
    let n = knots.len();
    let end_slope = |k: [&Joints; 4]| (k[0] * -11.0 + k[1] * 18.0 - k[2] * 9.0 + k[3] * 2.0) / (6.0 * h);
    let first = end_slope([&knots[0], &knots[1], &knots[2], &knots[3]]);
    let last = -end_slope([&knots[n - 1], &knots[n - 2], &knots[n - 3], &knots[n - 4]]);
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

    fn sampled(f: impl Fn(f64) -> f64, length: f64, count: usize) -> JointPath {
        let knots =
            (0..count).map(|i| Joints::from_element(f(length * i as f64 / (count - 1) as f64))).collect();
        JointPath::through(length, knots)
    }

    #[test]
    fn a_spline_follows_a_smooth_function() {
        let path = sampled(f64::sin, 2.0, 60);
        for i in 0..=1000 {
            let s = 2.0 * f64::from(i) / 1000.0;
            let point = path.at(s);
            assert!((point.joints[0] - s.sin()).abs() < 1e-7, "{s}");
            assert!((point.slope[3] - s.cos()).abs() < 1e-4, "{s}");
            assert!((point.curvature[5] + s.sin()).abs() < 2e-2, "{s}");
        }
    }

    #[test]
    fn extremes_bound_every_sample() {
        let path = sampled(|s| (3.0 * s).sin() + s * s, 2.0, 12);
        let (slope, curvature) = path.extremes();
        for i in 0..=5000 {
            let point = path.at(2.0 * f64::from(i) / 5000.0);
            assert!(
                point.slope[0].abs() <= slope[0] + 1e-12 && point.curvature[0].abs() <= curvature[0] + 1e-12
            );
        }
    }

    #[test]
    fn a_straight_path_is_measured_by_its_leading_joint() {
        let path = JointPath::straight(Joints::zeros(), Joints::new(1.0, -2.0, 0.0, 0.5, 0.0, 0.0));
        assert_eq!(path.length(), 2.0);
        assert_eq!(path.at(1.0).joints, Joints::new(0.5, -1.0, 0.0, 0.25, 0.0, 0.0));
        assert_eq!(path.extremes().0[1], 1.0);
    }

    #[test]
    fn no_way_to_go_is_a_point() {
        let here = Joints::from_element(0.3);
        assert_eq!(JointPath::straight(here, here).at(0.0).joints, here);
    }
}
