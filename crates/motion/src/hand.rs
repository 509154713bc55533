//! Where the hand goes: lines, arcs, and corners that are cut.

use nalgebra::{Isometry3, Rotation3, Translation3, Unit, UnitQuaternion, Vector3};

use crate::primitive::spans_circle;

/// Metres that one radian of turning counts for, so that a pure rotation has a length.
const TURN_RADIUS: f64 = 0.2;

/// Turns from one orientation to another at a constant rate on the shortest way.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Turn {
    start: UnitQuaternion<f64>,
    /// Axis times angle in the base frame.
    rotation: Vector3<f64>,
}

impl Turn {
    fn new(start: &Isometry3<f64>, goal: &Isometry3<f64>) -> Self {
        Self { start: start.rotation, rotation: (goal.rotation * start.rotation.inverse()).scaled_axis() }
    }

    fn at(&self, share: f64) -> UnitQuaternion<f64> {
        UnitQuaternion::from_scaled_axis(self.rotation * share) * self.start
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Line { start: Vector3<f64>, way: Vector3<f64> },
    Arc { centre: Vector3<f64>, axis: Unit<Vector3<f64>>, spoke: Vector3<f64>, angle: f64 },
}

/// The way of the hand in one move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HandPath {
    form: Form,
    turn: Turn,
}

impl HandPath {
    pub(crate) fn line(start: &Isometry3<f64>, goal: &Isometry3<f64>) -> Self {
        let from = start.translation.vector;
        let form = Form::Line { start: from, way: goal.translation.vector - from };
        Self { form, turn: Turn::new(start, goal) }
    }

    /// `None` when the three places are on one line.
    pub(crate) fn arc(start: &Isometry3<f64>, via: &Isometry3<f64>, goal: &Isometry3<f64>) -> Option<Self> {
        let (p, q, r) = (start.translation.vector, via.translation.vector, goal.translation.vector);
        if !spans_circle(&p, &q, &r) {
            return None;
        }
        let (a, b) = (q - p, r - p);
        let normal = a.cross(&b);
        // The circumcentre, seen from the start.
        let to_centre = (b.norm_squared() * normal.cross(&a) + a.norm_squared() * b.cross(&normal))
            / (2.0 * normal.norm_squared());
        let centre = p + to_centre;
        let axis = Unit::new_normalize(normal);
        let spoke = p - centre;
        // Around the axis of (via − start) × (goal − start) the goal comes after via, so the angle is positive.
        let to_goal = r - centre;
        let angle =
            axis.dot(&spoke.cross(&to_goal)).atan2(spoke.dot(&to_goal)).rem_euclid(std::f64::consts::TAU);
        Some(Self { form: Form::Arc { centre, axis, spoke, angle }, turn: Turn::new(start, goal) })
    }

    /// Metres of the hand's origin.
    fn way(&self) -> f64 {
        match &self.form {
            Form::Line { way, .. } => way.norm(),
            Form::Arc { spoke, angle, .. } => spoke.norm() * angle,
        }
    }

    /// Metres; a pure rotation counts [`TURN_RADIUS`] per radian.
    pub(crate) fn length(&self) -> f64 {
        self.way().max(self.turn() * TURN_RADIUS)
    }

    /// Radians the hand turns.
    pub(crate) fn turn(&self) -> f64 {
        self.turn.rotation.norm()
    }

    /// Pose at a share `0..=1` of the way.
    pub(crate) fn pose(&self, share: f64) -> Isometry3<f64> {
        let place = match &self.form {
            Form::Line { start, way } => start + way * share,
            Form::Arc { centre, axis, spoke, angle } => {
                centre + Rotation3::from_axis_angle(axis, angle * share) * spoke
            }
        };
        Isometry3::from_parts(Translation3::from(place), self.turn.at(share))
    }

    /// First derivative by length: velocity and spin, at a share of the way.
    pub(crate) fn twist(&self, share: f64) -> (Vector3<f64>, Vector3<f64>) {
        let length = self.length();
        let velocity = match &self.form {
            Form::Line { way, .. } => way / length,
            Form::Arc { axis, spoke, angle, .. } => {
                let out = Rotation3::from_axis_angle(axis, angle * share) * spoke;
                axis.cross(&out) * (angle / length)
            }
        };
        (velocity, self.turn.rotation / length)
    }

    /// Lengths of the first three derivatives of the place; they are the same all along.
    pub(crate) fn bends(&self) -> [f64; 3] {
        let rate = self.way() / self.length().max(f64::MIN_POSITIVE);
        match &self.form {
            Form::Line { .. } => [rate, 0.0, 0.0],
            Form::Arc { spoke, .. } => {
                let radius = spoke.norm();
                [rate, rate * rate / radius, rate * rate * rate / (radius * radius)]
            }
        }
    }

    /// The direction of a line that is measured by its way.
    fn straight(&self) -> Option<Vector3<f64>> {
        match &self.form {
            Form::Line { way, .. } if way.norm() >= self.length() => Some(way.normalize()),
            _ => None,
        }
    }
}

/// From 1 to 0 while `u` goes from 0 to 1, beginning with slope `-m` and ending with none, with no bend at either end:
/// the value and its first three derivatives.
pub(crate) fn fade(u: f64, m: f64) -> [f64; 4] {
    let (u2, u3) = (u * u, u * u * u);
    let (u4, u5) = (u2 * u2, u2 * u3);
    [
        1.0 - 10.0 * u3 + 15.0 * u4 - 6.0 * u5 - m * (u - 6.0 * u3 + 8.0 * u4 - 3.0 * u5),
        -30.0 * u2 + 60.0 * u3 - 30.0 * u4 - m * (1.0 - 18.0 * u2 + 32.0 * u3 - 15.0 * u4),
        -60.0 * u + 180.0 * u2 - 120.0 * u3 - m * (-36.0 * u + 96.0 * u2 - 60.0 * u3),
        -60.0 + 360.0 * u - 360.0 * u2 - m * (-36.0 + 192.0 * u - 180.0 * u2),
    ]
}

/// A corner between two lines, cut by a curve whose bend grows evenly, stays, and falls evenly: clothoid, arc, clothoid.
#[derive(Debug, Clone)]
pub(crate) struct Corner {
    /// Where the lines meet.
    corner: Vector3<f64>,
    rotation: UnitQuaternion<f64>,
    /// Along the first line, and across it towards the second.
    axes: [Vector3<f64>; 2],
    /// How fast each line turns the hand, by length.
    turns: [Vector3<f64>; 2],
    /// Where the curve begins and ends, from the corner.
    reach: f64,
    /// Of the curve.
    pub(crate) length: f64,
    angle: f64,
    /// Share of the curve on which the bend grows, and on which it falls.
    growth: f64,
    /// Places of the curve of length 1 in its own plane, evenly spaced.
    places: Vec<[f64; 2]>,
}

/// Places of a corner's curve.
pub(crate) const CORNER_STEPS: usize = 24;
/// Lines that meet at less or more than this need no such curve, or have no room for it, rad.
const CORNER_ANGLES: std::ops::Range<f64> = 0.02..2.6;

impl Corner {
    /// Between two lines, from `reach` before the corner to `reach` behind it. `growth` is the share of the curve on which
    /// the bend grows. `None` when the lines make no corner of this kind.
    pub(crate) fn new(before: &HandPath, behind: &HandPath, reach: f64, growth: f64) -> Option<Self> {
        let (t1, t2) = (before.straight()?, behind.straight()?);
        let angle = t1.cross(&t2).norm().atan2(t1.dot(&t2));
        if !CORNER_ANGLES.contains(&angle) {
            return None;
        }
        let across = (t2 - t1 * t1.dot(&t2)).normalize();
        let bend = angle / (1.0 - growth);
        let heading = |x: f64| {
            let from_end = 1.0 - x;
            if x < growth {
                bend * x * x / (2.0 * growth)
            } else if from_end < growth {
                angle - bend * from_end * from_end / (2.0 * growth)
            } else {
                bend * (x - growth / 2.0)
            }
        };
        // Simpson's rule, twice per step, is exact to far below a micrometre.
        const SUB: usize = 2;
        let mut at = [0.0, 0.0];
        let mut places = vec![at];
        for step in 0..CORNER_STEPS {
            for sub in 0..SUB {
                let h = 1.0 / (CORNER_STEPS * SUB) as f64;
                let x = (step * SUB + sub) as f64 * h;
                let turns = [heading(x), heading(x + h / 2.0), heading(x + h)].map(f64::sin_cos);
                at[0] += h / 6.0 * (turns[0].1 + 4.0 * turns[1].1 + turns[2].1);
                at[1] += h / 6.0 * (turns[0].0 + 4.0 * turns[1].0 + turns[2].0);
            }
            places.push(at);
        }
        // Seen from its beginning, the curve of length 1 ends at (1 + cos, sin) times its own reach.
        let own_reach = at[0] / (1.0 + angle.cos());
        let corner = before.pose(1.0);
        Some(Self {
            corner: corner.translation.vector,
            rotation: corner.rotation,
            axes: [t1, across],
            turns: [before.twist(1.0).1, behind.twist(0.0).1],
            reach,
            length: reach / own_reach,
            angle,
            growth,
            places,
        })
    }

    /// The pose at step `i` of [`CORNER_STEPS`].
    pub(crate) fn pose(&self, i: usize) -> Isometry3<f64> {
        let [x, y] = self.places[i];
        let place =
            self.corner + self.axes[0] * (x * self.length - self.reach) + self.axes[1] * (y * self.length);
        let u = i as f64 / CORNER_STEPS as f64;
        let m = self.length / self.reach;
        let before = UnitQuaternion::from_scaled_axis(self.turns[0] * -(self.reach * fade(u, m)[0]));
        let behind = UnitQuaternion::from_scaled_axis(self.turns[1] * (self.reach * fade(1.0 - u, m)[0]));
        Isometry3::from_parts(Translation3::from(place), behind * before * self.rotation)
    }

    /// Lengths of the first three derivatives of the place at step `i`.
    pub(crate) fn bends(&self, i: usize) -> [f64; 3] {
        let x = i as f64 / CORNER_STEPS as f64;
        let most = self.most_bend();
        let from_end = x.min(1.0 - x);
        let bend = most * (from_end / self.growth).min(1.0);
        // Where the bend changes, the derivative on the steeper side counts.
        let steep = if from_end <= self.growth { most / (self.growth * self.length) } else { 0.0 };
        [1.0, bend, steep.hypot(bend * bend)]
    }

    /// The greatest bend, 1/m.
    pub(crate) fn most_bend(&self) -> f64 {
        self.angle / ((1.0 - self.growth) * self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corner_joins_both_lines_and_stays_inside_its_reach() {
        for degrees in [2.0_f64, 30.0, 90.0, 140.0] {
            let start = Isometry3::new(Vector3::new(0.1, 0.2, 0.3), Vector3::new(0.2, 0.0, 0.1));
            let middle = Isometry3::new(Vector3::new(0.3, 0.2, 0.3), Vector3::new(0.3, 0.1, 0.1));
            let (sine, cosine) = degrees.to_radians().sin_cos();
            let end = Isometry3::new(
                middle.translation.vector + Vector3::new(cosine, 0.0, sine) * 0.2,
                Vector3::new(0.3, 0.2, 0.4),
            );
            let (a, b) = (HandPath::line(&start, &middle), HandPath::line(&middle, &end));
            let corner = Corner::new(&a, &b, 0.02, 0.25).unwrap();
            let (first, last) = (corner.pose(0), corner.pose(CORNER_STEPS));
            assert!((first.to_homogeneous() - a.pose(0.9).to_homogeneous()).amax() < 1e-9, "{degrees}");
            let share = 0.02 / b.length();
            assert!((last.to_homogeneous() - b.pose(share).to_homogeneous()).amax() < 1e-7, "{degrees}");
            for i in 0..=CORNER_STEPS {
                let off = (corner.pose(i).translation.vector - middle.translation.vector).norm();
                assert!(off <= 0.02 + 1e-9, "{degrees}° at {i}: {off}");
            }
        }
    }

    #[test]
    fn a_right_angle_uses_most_of_its_radius() {
        let at = |x: f64, y: f64| Isometry3::translation(x, y, 0.0);
        let (a, b) =
            (HandPath::line(&at(0.0, 0.0), &at(0.1, 0.0)), HandPath::line(&at(0.1, 0.0), &at(0.1, 0.1)));
        let corner = Corner::new(&a, &b, 0.02, 0.2).unwrap();
        // An arc of 20 mm would bend by 50 per metre.
        assert!(corner.most_bend() < 62.0, "{}", corner.most_bend());
    }

    #[test]
    fn fading_has_the_slopes_it_promises() {
        for m in [0.7, 1.6, 2.0, 2.5] {
            assert_eq!(fade(0.0, m)[..3], [1.0, -m, 0.0]);
            assert!(fade(1.0, m)[..3].iter().all(|x| x.abs() < 1e-12));
            let (u, h) = (0.37, 1e-5);
            for order in 0..3 {
                let slope = (fade(u + h, m)[order] - fade(u - h, m)[order]) / (2.0 * h);
                assert!((slope - fade(u, m)[order + 1]).abs() < 1e-5);
            }
        }
    }
}
