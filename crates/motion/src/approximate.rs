//! A joint trajectory, as planners make them, becomes a few motion primitives: the points that a straight line between
//! their neighbours does not stand for (Ramer, Douglas and Peucker).

use nalgebra::{Isometry3, Vector3};
use rosless_kinematics::{Joints, Robot};

use crate::primitive::{RawPose, RawPrimitive, code};

/// What the primitives are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// PTP: straight for the joints.
    Ptp,
    /// LIN: straight for the hand.
    Lin,
}

/// How much may be left away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// What to make.
    pub mode: Mode,
    /// Of a joint, for PTP, rad.
    pub joint_angle: f64,
    /// Of the hand, for LIN, m.
    pub position: f64,
    /// Of the hand, for LIN, rad.
    pub angle: f64,
    /// Greatest blend radius between the primitives, m.
    pub blend_radius: f64,
}

/// A trajectory with more points is refused: the worst ones take the square of their number.
pub const MOST_POINTS: usize = 5_000;
/// The robot may be this far from where a trajectory begins, rad.
const START_TOLERANCE: f64 = 0.05;
/// Speeds and accelerations below this are not worth asking for.
const SLOWEST: f64 = 1e-3;

/// A trajectory in the robot's own order of joints.
#[derive(Debug, Clone, PartialEq)]
pub struct Trajectory {
    /// Seconds from the start and joint angles; the first is where the robot is.
    points: Vec<(f64, Joints)>,
}

/// Why a trajectory cannot be followed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TrajectoryError {
    /// Not these joints.
    #[error("the trajectory is for the joints {0}, not for those of this robot")]
    Joints(String),
    /// Not usable.
    #[error("{0}")]
    Points(String),
}

impl Trajectory {
    /// From a message: `names` in its order, `points` with seconds from the start. `here` is where the robot is, `own` the
    /// names of its joints.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn new(
        names: &[String],
        points: &[(f64, Vec<f64>)],
        own: &[String],
        here: &Joints,
    ) -> Result<Self, TrajectoryError> {
        let wrong = |text: String| Err(TrajectoryError::Points(text));
        let order: Option<Vec<usize>> =
            own.iter().map(|own| names.iter().position(|name| name == own)).collect();
        let Some(order) = order.filter(|_| names.len() == own.len()) else {
            let shown = names.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
            return Err(TrajectoryError::Joints(shown.chars().take(300).collect()));
        };
        if points.is_empty() || points.len() > MOST_POINTS {
            return wrong(format!("a trajectory has 1 to {MOST_POINTS} points, this one {}", points.len()));
        }
        let mut kept = vec![(0.0, *here)];
        for (i, (time, positions)) in points.iter().enumerate() {
            if positions.len() != names.len()
                || !positions.iter().chain([time]).all(|value| value.is_finite())
            {
                return wrong(format!("point {i} has no finite position for every joint"));
            }
            let joints = Joints::from_fn(|joint, _| positions[order[joint]]);
            if i == 0 && *time <= 0.0 {
                let off = (joints - here).amax();
                if off > START_TOLERANCE {
                    return wrong(format!("it begins {off:.3} rad from where the robot is"));
                }
                continue;
            }
            if *time <= kept[kept.len() - 1].0 {
                return wrong(format!("point {i} is not later than the one before it"));
            }
            kept.push((*time, joints));
        }
        Ok(Self { points: kept })
    }

    /// Where the trajectory ends.
    pub fn end(&self) -> Joints {
        self.points[self.points.len() - 1].1
    }

    /// The primitives that stand for it. None for a trajectory that goes nowhere.
    pub fn primitives(&self, robot: &Robot, tolerance: &Tolerance) -> Vec<RawPrimitive> {
        let hands: Vec<Isometry3<f64>> = match tolerance.mode {
            Mode::Ptp => Vec::new(),
            Mode::Lin => self.points.iter().map(|(_, joints)| robot.forward(joints)).collect(),
        };
        let kept = kept(self.points.len(), |from, to, i| match tolerance.mode {
            Mode::Ptp => {
                off_chord(&self.points[from].1, &self.points[to].1, &self.points[i].1)
                    / tolerance.joint_angle.max(1e-9)
            }
            Mode::Lin => {
                let (share, off) = off_line(&hands[from], &hands[to], &hands[i]);
                let turned = hands[from].rotation.try_slerp(&hands[to].rotation, share, 1e-9);
                let angle = turned.map_or(0.0, |turned| turned.angle_to(&hands[i].rotation));
                (off / tolerance.position.max(1e-9)).max(angle / tolerance.angle.max(1e-9))
            }
        });
        let places: Vec<Vector3<f64>> = kept.iter().map(|i| robot.chain.place(&self.points[*i].1)).collect();
        let acceleration = self.acceleration(robot, &hands);
        let mut primitives = Vec::with_capacity(kept.len());
        for k in 1..kept.len() {
            let (from, to) = (kept[k - 1], kept[k]);
            let joints = &self.points[to].1;
            let near = |other: usize| (places[k] - places[other]).norm();
            let radius = if k + 1 < kept.len() {
                tolerance.blend_radius.min(0.4 * near(k - 1).min(near(k + 1)))
            } else {
                0.0
            };
            let velocity = (from..to).map(|i| self.speed(i, &hands)).fold(SLOWEST, f64::max);
            let (kind, poses, joint_positions) = match tolerance.mode {
                Mode::Ptp => (code::LINEAR_JOINT, vec![], joints.as_slice().to_vec()),
                Mode::Lin => {
                    let (t, q) = (hands[to].translation.vector, hands[to].rotation.coords);
                    let pose = RawPose {
                        frame_id: String::new(),
                        position: [t.x, t.y, t.z],
                        orientation: [q.x, q.y, q.z, q.w],
                    };
                    (code::LINEAR_CARTESIAN, vec![pose], vec![])
                }
            };
            let arguments =
                vec![("velocity".to_owned(), velocity), ("acceleration".to_owned(), acceleration)];
            primitives.push(RawPrimitive { kind, blend_radius: radius, arguments, poses, joint_positions });
        }
        primitives
    }

    /// Speed between point `i` and the next: of the leading joint, or of the hand where there are hands.
    fn speed(&self, i: usize, hands: &[Isometry3<f64>]) -> f64 {
        let seconds = self.points[i + 1].0 - self.points[i].0;
        match (hands.get(i), hands.get(i + 1)) {
            (Some(a), Some(b)) => (b.translation.vector - a.translation.vector).norm() / seconds,
            _ => (self.points[i + 1].1 - self.points[i].1).amax() / seconds,
        }
    }

    /// The greatest change of speed there is, and no less than half of what the robot can do: ramps must not be slower
    /// than those of the trajectory.
    fn acceleration(&self, robot: &Robot, hands: &[Isometry3<f64>]) -> f64 {
        let own = robot.limits.0.iter().map(|limit| limit.acceleration).fold(f64::INFINITY, f64::min) / 2.0;
        let changes = (1..self.points.len().saturating_sub(1)).map(|i| {
            let seconds = (self.points[i + 1].0 - self.points[i - 1].0) / 2.0;
            (self.speed(i, hands) - self.speed(i - 1, hands)).abs() / seconds
        });
        changes.fold(own, f64::max).clamp(SLOWEST, 1e3)
    }

    /// How far `joints` are from the trajectory's way: the greatest joint (rad), and the hand (m).
    pub fn deviation(&self, robot: &Robot, joints: &Joints) -> (f64, f64) {
        let mut nearest = (f64::INFINITY, *joints);
        for pair in self.points.windows(2) {
            let (from, way) = (pair[0].1, pair[1].1 - pair[0].1);
            let share = ((joints - from).dot(&way) / way.norm_squared().max(1e-18)).clamp(0.0, 1.0);
            let place = from + way * share;
            let off = (joints - place).norm();
            if off < nearest.0 {
                nearest = (off, place);
            }
        }
        let place = robot.chain.place(joints) - robot.chain.place(&nearest.1);
        ((joints - nearest.1).amax(), place.norm())
    }
}

/// Distance of `p` from the straight line between `a` and `b`.
fn off_chord(a: &Joints, b: &Joints, p: &Joints) -> f64 {
    let way = b - a;
    let share = ((p - a).dot(&way) / way.norm_squared().max(1e-18)).clamp(0.0, 1.0);
    (p - a - way * share).norm()
}

/// Where on the line between two places the third is nearest, as a share, and how far from it.
fn off_line(a: &Isometry3<f64>, b: &Isometry3<f64>, p: &Isometry3<f64>) -> (f64, f64) {
    let (a, b, p) = (a.translation.vector, b.translation.vector, p.translation.vector);
    let way = b - a;
    let share = ((p - a).dot(&way) / way.norm_squared().max(1e-18)).clamp(0.0, 1.0);
    (share, (p - a - way * share).norm())
}

/// The places that stay, the first and the last among them; `off(from, to, i)` above 1 keeps the worst between two.
fn kept(count: usize, off: impl Fn(usize, usize, usize) -> f64) -> Vec<usize> {
    let mut keep = vec![false; count];
    (keep[0], keep[count - 1]) = (true, true);
    // A stack instead of recursion: a hostile trajectory must not reach the end of ours.
    let mut ranges = vec![(0, count - 1)];
    while let Some((from, to)) = ranges.pop() {
        let worst = (from + 1..to).map(|i| (off(from, to, i), i)).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, i)) = worst.filter(|(off, _)| *off > 1.0) {
            keep[i] = true;
            ranges.extend([(from, i), (i, to)]);
        }
    }
    (0..count).filter(|i| keep[*i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{planner, ready};
    use proptest::prelude::*;

    fn names() -> Vec<String> {
        planner().robot.joint_names.to_vec()
    }

    fn tolerance(mode: Mode) -> Tolerance {
        Tolerance { mode, joint_angle: 0.001, position: 0.0005, angle: 0.005, blend_radius: 0.01 }
    }

    /// A curve of the joints in so many points.
    fn wave(count: usize) -> Vec<(f64, Vec<f64>)> {
        (1..=count)
            .map(|i| {
                let t = i as f64 / count as f64;
                let joints =
                    ready() + Joints::new(0.4 * t, 0.2 * (3.0 * t).sin(), -0.3 * t * t, 0.0, 0.1 * t, 0.0);
                (2.0 * t, joints.as_slice().to_vec())
            })
            .collect()
    }

    #[test]
    fn few_primitives_stand_for_many_points_and_stay_near_them() {
        let robot = planner().robot;
        let trajectory = Trajectory::new(&names(), &wave(200), &names(), &ready()).unwrap();
        for mode in [Mode::Ptp, Mode::Lin] {
            let primitives = trajectory.primitives(&robot, &tolerance(mode));
            assert!((3..60).contains(&primitives.len()), "{mode:?}: {}", primitives.len());
            assert_eq!(primitives.last().unwrap().blend_radius, 0.0);
            let moves: Vec<_> = primitives
                .iter()
                .enumerate()
                .map(|(i, raw)| match crate::check(raw, &crate::Frames::default()).unwrap().command {
                    crate::Command::Move(primitive) => (i as u64, primitive),
                    other => panic!("{other:?}"),
                })
                .collect();
            let planned = planner().plan(&ready(), &moves, 1.0).unwrap();
            let (mut joint, mut hand) = (0.0_f64, 0.0_f64);
            for i in 0..=500 {
                let state = planned.at(planned.duration() * f64::from(i) / 500.0).unwrap();
                let off = trajectory.deviation(&robot, &state.position);
                (joint, hand) = (joint.max(off.0), hand.max(off.1));
            }
            assert!(joint < 0.01 && hand < 0.003, "{mode:?}: {joint} rad, {hand} m");
            assert!((planned.at(f64::INFINITY).unwrap().position - trajectory.end()).amax() < 1e-6);
        }
    }

    #[test]
    fn joints_come_in_any_order_and_wrong_ones_are_refused() {
        let mut reversed = names();
        reversed.reverse();
        let points: Vec<_> = wave(5)
            .into_iter()
            .map(|(t, mut q)| {
                q.reverse();
                (t, q)
            })
            .collect();
        let a = Trajectory::new(&reversed, &points, &names(), &ready()).unwrap();
        assert_eq!(a, Trajectory::new(&names(), &wave(5), &names(), &ready()).unwrap());
        let other = Trajectory::new(&["x".into()], &points, &names(), &ready()).unwrap_err();
        assert!(matches!(other, TrajectoryError::Joints(_)), "{other}");
    }

    #[test]
    fn what_is_wrong_with_the_points_is_said() {
        let judge = |points: &[(f64, Vec<f64>)]| {
            Trajectory::new(&names(), points, &names(), &ready()).unwrap_err().to_string()
        };
        assert!(judge(&[]).contains("has 1 to"));
        assert!(judge(&[(1.0, vec![0.0; 5])]).contains("point 0 has no finite position"));
        assert!(judge(&[(1.0, vec![f64::NAN; 6])]).contains("point 0"));
        assert!(judge(&[(0.0, vec![3.0; 6])]).contains("rad from where the robot is"));
        assert!(judge(&[(1.0, vec![0.0; 6]), (1.0, vec![0.1; 6])]).contains("point 1 is not later"));
    }

    proptest! {
        #[test]
        fn every_point_left_away_is_within_the_tolerance(values in prop::collection::vec(prop::array::uniform6(-1.0f64..1.0), 1..40)) {
            let points: Vec<_> = values.iter().enumerate().map(|(i, q)| (i as f64 + 1.0, (ready() + Joints::from_column_slice(q)).as_slice().to_vec())).collect();
            let trajectory = Trajectory::new(&names(), &points, &names(), &ready()).unwrap();
            let wide = Tolerance { joint_angle: 0.3, ..tolerance(Mode::Ptp) };
            let primitives = trajectory.primitives(&planner().robot, &wide);
            let mut corners = vec![ready()];
            corners.extend(primitives.iter().map(|raw| Joints::from_column_slice(&raw.joint_positions)));
            for (_, point) in &trajectory.points {
                let off = corners.windows(2).map(|pair| off_chord(&pair[0], &pair[1], point)).fold(f64::INFINITY, f64::min);
                prop_assert!(off <= 0.3 + 1e-9);
            }
        }
    }
}
