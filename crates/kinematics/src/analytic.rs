//! All joint angles for a pose, in closed form, where the geometry of the arm allows it.
//!
//! Everything is put together from two questions about one turning vector: which angle turns `p` onto `q` (`onto`), and
//! which angles give the turned `p` a wanted component along `h` (`component`). The axes may stand anywhere in space: no
//! table of link lengths is needed, only that some axes are parallel or meet.

use nalgebra::{Isometry3, Matrix3, Vector3};

use crate::chain::{Axis, Chain, Joints, Rigid};

/// Axes are parallel, meet or stand at right angles when they miss it by less than this (m or sine).
const EXACT: f64 = 1e-7;
/// How far beyond ±1 a cosine may come by rounding; at the edge of the reach the answer is the edge.
const ROUNDING: f64 = 1e-9;

/// Postures of one pose: at most eight.
#[derive(Debug, Clone, Copy)]
pub struct Postures {
    found: [Joints; 8],
    count: usize,
}

impl Postures {
    fn none() -> Self {
        Self { found: [Joints::zeros(); 8], count: 0 }
    }

    fn push(&mut self, joints: Joints) {
        if let Some(slot) = self.found.get_mut(self.count) {
            *slot = joints;
            self.count += 1;
        }
    }

    /// The joint angles found, each within one turn of zero.
    pub fn as_slice(&self) -> &[Joints] {
        &self.found[..self.count]
    }
}

/// The joint angles that are looked for, and how far from them others may be.
struct Near<'a> {
    joints: &'a Joints,
    within: f64,
}

impl Near<'_> {
    /// Branches that lead elsewhere are left at their first angle.
    fn has(&self, joint: usize, angle: f64) -> bool {
        within_turn(angle - self.joints[joint]).abs() <= self.within
    }
}

/// The geometry of an arm for which there is a closed form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Solver {
    /// Axes 2, 3 and 4 parallel, axes 5 and 6 meet: Universal Robots and the like.
    ParallelThree {
        /// Where axes 5 and 6 meet with the joints at zero.
        wrist: Vector3<f64>,
    },
    /// Axes 4, 5 and 6 meet, axes 2 and 3 are parallel: most industrial arms.
    SphericalWristParallel {
        /// Where axes 4, 5 and 6 meet with the joints at zero.
        wrist: Vector3<f64>,
    },
    /// Axes 4, 5 and 6 meet, axes 1 and 2 meet.
    SphericalWristShoulder {
        /// Where axes 4, 5 and 6 meet with the joints at zero.
        wrist: Vector3<f64>,
        /// Where axes 1 and 2 meet.
        shoulder: Vector3<f64>,
    },
}

impl Solver {
    /// The closed form for this arm, if there is one.
    pub fn for_chain(chain: &Chain) -> Option<Self> {
        let a = &chain.axes;
        let wrist = meet(&a[4], &a[5])?;
        if parallel(&a[1], &a[2]) && parallel(&a[2], &a[3]) {
            return Some(Self::ParallelThree { wrist });
        }
        if distance(&a[3], &wrist) > EXACT {
            return None;
        }
        if parallel(&a[1], &a[2]) {
            return Some(Self::SphericalWristParallel { wrist });
        }
        let shoulder = meet(&a[0], &a[1])?;
        Some(Self::SphericalWristShoulder { wrist, shoulder })
    }

    /// All postures that put the tool at `pose` with no joint further than `within` from `near`, up to full turns. Where an
    /// angle is free, it is that of `near`.
    pub fn solve(&self, chain: &Chain, pose: &Isometry3<f64>, near: &Joints, within: f64) -> Postures {
        let near = &Near { joints: near, within };
        let goal = Rigid::of(pose).then(&Rigid::of(&chain.tool).inverse());
        let mut postures = Postures::none();
        match self {
            Self::ParallelThree { wrist } => parallel_three(chain, wrist, &goal, near, &mut postures),
            Self::SphericalWristParallel { wrist } => {
                let a = &chain.axes;
                let n = a[1].direction.into_inner();
                let place = goal.apply(wrist);
                let height = n.dot(&(wrist - a[0].point));
                let first = component(&a[0], &(place - a[0].point), &n, height);
                for q1 in first.into_iter().flatten().map(|q| -q).filter(|q| near.has(0, *q)) {
                    let seen = Rigid::about(&a[0], q1).inverse().apply(&place);
                    for (q2, q3) in planar(&a[1], &a[2], wrist, &seen).into_iter().flatten() {
                        spherical(chain, [q1, q2, q3], &goal, near, &mut postures);
                    }
                }
            }
            Self::SphericalWristShoulder { wrist, shoulder } => {
                let a = &chain.axes;
                let place = goal.apply(wrist);
                let reach = (place - shoulder).norm();
                let third = at_distance(&a[2], wrist, shoulder, reach);
                for q3 in third.into_iter().flatten().filter(|q| near.has(2, *q)) {
                    let bent = Rigid::about(&a[2], q3).apply(wrist) - shoulder;
                    let two = both(&a[0], &a[1], &bent, &(place - shoulder), near.joints[0]);
                    for (q1, q2) in two.into_iter().flatten().filter(|(_, q)| near.has(1, *q)) {
                        spherical(chain, [q1, q2, q3], &goal, near, &mut postures);
                    }
                }
            }
        }
        postures
    }
}

/// The wrist of an arm whose first three joints are known.
fn spherical(chain: &Chain, first: [f64; 3], goal: &Rigid, near: &Near<'_>, postures: &mut Postures) {
    let a = &chain.axes;
    let mut moved = Rigid::identity();
    for (axis, angle) in a.iter().zip(first) {
        moved = moved.then(&Rigid::about(axis, angle));
    }
    let left: Matrix3<f64> = moved.turn.transpose() * goal.turn;
    let last = a[5].direction.into_inner();
    let two = both(&a[3], &a[4], &last, &(left * last), near.joints[3]);
    for (q4, q5) in two.into_iter().flatten().filter(|(_, q)| near.has(4, *q)) {
        let rest = (a[3].rotation(q4) * a[4].rotation(q5)).transpose() * left;
        let across = any_across(&last);
        let q6 = onto(&a[5], &across, &(rest * across)).unwrap_or(near.joints[5]);
        postures.push(Joints::new(first[0], first[1], first[2], q4, q5, q6));
    }
}

fn parallel_three(
    chain: &Chain,
    wrist: &Vector3<f64>,
    goal: &Rigid,
    near: &Near<'_>,
    postures: &mut Postures,
) {
    let a = &chain.axes;
    let n = a[1].direction.into_inner();
    let last = a[5].direction.into_inner();
    let place = goal.apply(wrist);
    let height = n.dot(&(wrist - a[0].point));
    let first = component(&a[0], &(place - a[0].point), &n, height);
    for q1 in first.into_iter().flatten().map(|q| -q).filter(|q| near.has(0, *q)) {
        let first = Rigid::about(&a[0], q1).inverse().then(goal);
        // Turning around n changes no component along n: the tool's axis tells joint 5.
        let fifth = component(&a[4], &last, &n, n.dot(&(first.turn * last)));
        for q5 in fifth.into_iter().flatten().filter(|q| near.has(4, *q)) {
            let q6 = onto(&a[5], &(first.turn.transpose() * n), &(a[4].rotation(q5).transpose() * n))
                .unwrap_or(near.joints[5]);
            let back = Rigid::about(&a[4], q5).then(&Rigid::about(&a[5], q6)).inverse();
            let middle = first.then(&back);
            let across = any_across(&n);
            let Some(total) = onto(&a[1], &across, &(middle.turn * across)) else { continue };
            let seen = middle.apply(&a[3].point);
            for (q2, q3) in planar(&a[1], &a[2], &a[3].point, &seen).into_iter().flatten() {
                let sign = |axis: &Axis| axis.direction.dot(&n).signum();
                let q4 = (total - q2 - sign(&a[2]) * q3) * sign(&a[3]);
                postures.push(Joints::new(q1, q2, q3, within_turn(q4), q5, q6));
            }
        }
    }
}

/// Two parallel axes that bring the point `from` over `to`, whatever their components along the axes.
fn planar(first: &Axis, second: &Axis, from: &Vector3<f64>, to: &Vector3<f64>) -> [Option<(f64, f64)>; 2] {
    let n = first.direction.into_inner();
    let flat = |v: Vector3<f64>| v - n * n.dot(&v);
    let reach = flat(to - first.point).norm();
    let lever = Axis { point: flat(second.point - first.point) + first.point, ..*second };
    let from = flat(from - first.point) + first.point;
    at_distance(&lever, &from, &first.point, reach).map(|q3| {
        let q3 = q3?;
        let bent = Rigid::about(&lever, q3).apply(&from) - first.point;
        Some((onto(first, &bent, &(to - first.point))?, q3))
    })
}

/// Two axes that meet (vectors are seen from there) and turn `p` onto `q`. `free` is the first angle where any would do.
fn both(
    first: &Axis,
    second: &Axis,
    p: &Vector3<f64>,
    q: &Vector3<f64>,
    free: f64,
) -> [Option<(f64, f64)>; 2] {
    let w = first.direction.into_inner();
    component(second, p, &w, w.dot(q)).map(|angle| {
        let angle = angle?;
        let turned = second.rotation(angle) * p;
        Some((onto(first, &turned, q).unwrap_or(free), angle))
    })
}

/// Angles around `axis` that bring the point `p` to the distance `reach` from the point `c`.
fn at_distance(axis: &Axis, p: &Vector3<f64>, c: &Vector3<f64>, reach: f64) -> [Option<f64>; 2] {
    let (p, c) = (p - axis.point, c - axis.point);
    component(axis, &p, &c, (p.norm_squared() + c.norm_squared() - reach * reach) / 2.0)
}

/// The angle around `axis` that turns the vector `p` onto `q`; `None` where there is nothing to turn.
fn onto(axis: &Axis, p: &Vector3<f64>, q: &Vector3<f64>) -> Option<f64> {
    let w = axis.direction.into_inner();
    let (p, q) = (p - w * w.dot(p), q - w * w.dot(q));
    let (sine, cosine) = (w.dot(&p.cross(&q)), p.dot(&q));
    (p.norm().min(q.norm()) > EXACT).then(|| sine.atan2(cosine))
}

/// Angles around `axis` after which the vector `p` has the scalar product `wanted` with `h`.
fn component(axis: &Axis, p: &Vector3<f64>, h: &Vector3<f64>, wanted: f64) -> [Option<f64>; 2] {
    let w = axis.direction.into_inner();
    let along = w * w.dot(p);
    let (c, s) = (h.dot(&(p - along)), h.dot(&w.cross(p)));
    let size = c.hypot(s);
    let share = (wanted - h.dot(&along)) / size;
    if share.is_nan() || share.abs() > 1.0 + ROUNDING {
        return [None; 2];
    }
    let (middle, spread) = (s.atan2(c), share.clamp(-1.0, 1.0).acos());
    [Some(within_turn(middle + spread)), Some(within_turn(middle - spread))]
}

fn within_turn(angle: f64) -> f64 {
    let turn = std::f64::consts::TAU;
    angle - turn * (angle / turn).round()
}

fn any_across(w: &Vector3<f64>) -> Vector3<f64> {
    let least = if w.x.abs() < 0.6 { Vector3::x() } else { Vector3::y() };
    (least - w * w.dot(&least)).normalize()
}

fn parallel(a: &Axis, b: &Axis) -> bool {
    a.direction.cross(&b.direction).norm() < EXACT
}

fn distance(axis: &Axis, point: &Vector3<f64>) -> f64 {
    axis.direction.cross(&(point - axis.point)).norm()
}

/// Where two axes meet; `None` when they miss each other or are parallel.
fn meet(a: &Axis, b: &Axis) -> Option<Vector3<f64>> {
    let across = a.direction.cross(&b.direction);
    let size = across.norm_squared();
    if size < EXACT {
        return None;
    }
    let apart = b.point - a.point;
    let t = apart.cross(&b.direction).dot(&across) / size;
    let point = a.point + a.direction.into_inner() * t;
    (distance(b, &point) < EXACT).then_some(point)
}
