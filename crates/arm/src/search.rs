//! Looks for a catch: when, and with which joint angles and speeds.
//!
//! At every instant the joints can have certain angles by then; from several starts the angles are pulled, within those,
//! to where the ball is in the hand and comes in the right way (damped least squares). The hand may be moving: each
//! joint is as slow as it can be at that place and instant.

use std::{cell::Cell, f64::consts::PI};

use nalgebra::{Matrix3, SMatrix, SVector, Vector3};

use crate::{
    Ball, HandState, Joints, Limits, Move, Robot,
    ballistics::upright_hand,
    clearance::Gaps,
    judge::{ALONG_APPROACH, ALONG_FINGERS, CATCH_BOX, judge},
    kinematics::{rot_y, rot_z},
    profile::Reach,
};

/// A throw, and what the arm can do about it.
pub(crate) struct Search<'a> {
    pub(crate) robot: &'a Robot,
    pub(crate) ball: Ball,
    /// The arm's angles and speeds at an instant, as long as nobody tells it anything.
    pub(crate) state_at: &'a dyn Fn(f64) -> (Joints, Joints),
    /// When the search began.
    pub(crate) begun: f64,
    /// Seconds that one look takes, and that all may take.
    pub(crate) pace: f64,
    pub(crate) budget: f64,
    /// The arm sets off from here on …
    pub(crate) free: f64,
    /// … its hand is open from here on …
    pub(crate) earliest: f64,
    /// … and has to be closed by then.
    pub(crate) latest: f64,
    /// Postures looked at so far.
    pub(crate) looks: Cell<u32>,
}

/// A way to catch: the pose the arm is told, and the move it will make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Solution {
    /// When the arm sets off.
    pub(crate) starts: f64,
    pub(crate) close_at: f64,
    pub(crate) hand: HandState,
    pub(crate) course: Move,
}

/// How sure a catch has to be.
#[derive(Debug, Clone, Copy)]
struct Margins {
    /// Seconds to spare.
    time: f64,
    /// Share of the catch box that is kept free.
    place: f64,
    /// Share of the ball's speed.
    way: f64,
}

/// With these the arm uses a little less than its limits, so that rounding does not decide.
const NEARLY: f64 = 0.999;
/// Between two instants that are looked at the ball flies this far, m: less than half the depth of the catch box.
const STEP: f64 = 0.04;
/// And the arm gains this much time at the most, s.
const LONGEST_STEP: f64 = 0.008;
/// Every so many instants are looked at first.
const COARSE: usize = 3;
/// Starts that are pulled at, per instant: first, and when nothing was found.
const STARTS: [usize; 2] = [3, 10];
/// A ball that comes in by these shares worse than allowed weighs as much as one this many metres off.
const WEIGHT: f64 = 0.15;
const ITERATIONS: u32 = 14;
/// An attempt to catch at one instant looks at so many postures at the most.
const ATTEMPT: u32 = 500;
/// Checking a move all along its way costs as much as so many looks.
const CHECK: u32 = 30;
/// Links that would come nearer than this to anything are pulled away, m.
const ROOM: f64 = 0.002;

type Residual = SVector<f64, 6>;
type Slopes = SMatrix<f64, 6, 6>;

/// What came of pulling at one instant without a catch: how far off, and where.
#[derive(Debug, Clone)]
struct Attempt {
    close_at: f64,
    off: f64,
    ends: Vec<Joints>,
}

impl Search<'_> {
    /// When the arm can set off if the next attempt succeeds.
    pub(crate) fn sets_off(&self) -> f64 {
        self.free.max(self.begun + f64::from(self.looks.get() + ATTEMPT) * self.pace)
    }

    pub(crate) fn problem(&self) -> Problem<'_> {
        let now = self.sets_off();
        let (angles, speeds) = (self.state_at)(now);
        Problem { robot: self.robot, ball: self.ball, angles, speeds, now, looks: &self.looks }
    }

    /// A catch that is as sure as can be.
    pub(crate) fn catch(&self, reserve: f64) -> Option<Solution> {
        let sure = Margins { time: reserve, place: 0.3, way: 0.05 };
        let barely = Margins { time: 0.0, place: 0.01, way: 0.002 };
        let instants = self.instants();
        // Where the hand would have to be least fast comes first.
        let hand = self.robot.hand_frame(&(self.state_at)(self.free.max(self.begun)).0).0;
        let haste = |at: f64| {
            let way = (self.ball.at(at - self.ball.released).0 - hand).norm();
            way / (at - self.free.max(self.begun)).max(1e-3)
        };
        let mut coarse: Vec<f64> = instants.iter().step_by(COARSE).copied().collect();
        coarse.sort_by(|a, b| haste(*a).total_cmp(&haste(*b)));
        let mut attempts = Vec::with_capacity(coarse.len());
        for close_at in coarse {
            match self.attempt(close_at, &[], STARTS[0], &sure)? {
                Ok(solution) => return Some(solution),
                Err(attempt) => attempts.push(attempt),
            }
        }
        // Nothing to spare, then: from where those attempts ended, at their instants and at the ones between.
        attempts.sort_by(|a, b| a.off.total_cmp(&b.off));
        for attempt in &mut attempts {
            match self.attempt(attempt.close_at, &attempt.ends, 0, &barely)? {
                Ok(solution) => return Some(solution),
                Err(better) => *attempt = better,
            }
        }
        attempts.sort_by(|a, b| a.off.total_cmp(&b.off));
        let reach = LONGEST_STEP * COARSE as f64;
        for near in &attempts {
            let beside = |at: &&f64| **at != near.close_at && (*at - near.close_at).abs() < reach;
            for close_at in instants.iter().filter(beside) {
                if let Ok(solution) = self.attempt(*close_at, &near.ends, 0, &barely)? {
                    return Some(solution);
                }
            }
        }
        for near in &attempts {
            if let Ok(solution) = self.attempt(near.close_at, &near.ends, STARTS[1], &barely)? {
                return Some(solution);
            }
        }
        None
    }

    /// Instants at which the ball is near enough and the hand free; only such as float32 holds exactly.
    fn instants(&self) -> Vec<f64> {
        let links = &self.robot.links;
        let reach = links.upper + links.fore + links.hand + 0.06;
        let shoulder = Vector3::new(0.0, links.base, 0.0);
        let first = self.earliest.max(self.begun).max(self.ball.released);
        let last = self.latest.min(self.ball.released + self.ball.landing_time());
        let step = LONGEST_STEP.min(STEP / self.ball.velocity.norm().max(1e-3));
        let steps = ((last - first) / step).ceil().clamp(0.0, 4000.0) as u32;
        let at = |k: u32| first + (last - first).max(0.0) * f64::from(k) / f64::from(steps.max(1));
        let near = |at: &f64| (self.ball.at(at - self.ball.released).0 - shoulder).norm() <= reach;
        let wire = (0..=steps).map(|k| f64::from(at(k) as f32));
        let mut instants: Vec<f64> = wire.filter(|at| (first..=last).contains(at)).filter(near).collect();
        instants.dedup();
        instants
    }

    /// Tries to catch at one instant, from given postures and from so many of those that hold the hand around the ball.
    /// `None`: the time is up.
    fn attempt(
        &self,
        close_at: f64,
        given: &[Joints],
        more: usize,
        margins: &Margins,
    ) -> Option<Result<Solution, Attempt>> {
        if f64::from(self.looks.get()) * self.pace > self.budget {
            return None;
        }
        let mut failed = Attempt { close_at, off: f64::INFINITY, ends: Vec::new() };
        let problem = self.problem();
        let Some(instant) = problem.instant(close_at, margins) else { return Some(Err(failed)) };
        let mut starts: Vec<Joints> = given.iter().map(|start| instant.clamp(start)).collect();
        if more > 0 {
            starts.extend(problem.starts(&instant, more, margins));
        }
        let before = self.looks.get();
        for start in starts {
            if self.looks.get() > before + ATTEMPT {
                break;
            }
            let (off, angles, speeds) = problem.pull(&instant, start, margins);
            if off == 0.0
                && let Some(solution) = problem.check(close_at, &angles, &speeds)
            {
                return Some(Ok(solution));
            }
            if off < failed.off {
                failed.off = off;
                failed.ends.insert(0, angles);
            } else {
                failed.ends.push(angles);
            }
        }
        failed.ends.truncate(2);
        Some(Err(failed))
    }
}

/// One throw against one arm state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Problem<'a> {
    pub(crate) robot: &'a Robot,
    pub(crate) ball: Ball,
    pub(crate) angles: Joints,
    pub(crate) speeds: Joints,
    /// When the arm sets off.
    pub(crate) now: f64,
    pub(crate) looks: &'a Cell<u32>,
}

/// One instant of the flight: the ball, and what the joints can have done by then.
struct Instant {
    position: Vector3<f64>,
    velocity: Vector3<f64>,
    reach: [Reach; 6],
    low: Joints,
    high: Joints,
}

impl Instant {
    /// The damped step against `push`, with the joints that it would push beyond their edge left where they are: the
    /// others have to do it without them.
    fn step(&self, at: &Joints, normal: &Slopes, push: &Residual, damping: f64) -> Option<Joints> {
        let mut held = [false; 6];
        loop {
            let (mut normal, mut push) = (normal + SMatrix::identity() * damping, *push);
            for i in (0..6).filter(|i| held[*i]) {
                normal.row_mut(i).fill(0.0);
                normal.column_mut(i).fill(0.0);
                (normal[(i, i)], push[i]) = (1.0, 0.0);
            }
            let step = normal.cholesky()?.solve(&push);
            let beyond = |i: usize| {
                (step[i] < 0.0 && at[i] >= self.high[i]) || (step[i] > 0.0 && at[i] <= self.low[i])
            };
            let more = std::array::from_fn(|i| held[i] || beyond(i));
            if more == held {
                return Some(step);
            }
            held = more;
        }
    }

    fn clamp(&self, joints: &Joints) -> Joints {
        Joints::from_fn(|i, _| joints[i].clamp(self.low[i], self.high[i]))
    }
}

impl Problem<'_> {
    fn instant(&self, close_at: f64, margins: &Margins) -> Option<Instant> {
        let time = close_at - self.now - margins.time;
        if time <= 0.0 {
            return None;
        }
        let (position, velocity) = self.ball.at(close_at - self.ball.released);
        let limits = self.nearly();
        let reach: [Reach; 6] = std::array::from_fn(|i| Reach::new(self.speeds[i], time, &limits.0[i]));
        let low = Joints::from_fn(|i, _| (self.angles[i] + reach[i].ways.0).max(limits.0[i].min));
        let high = Joints::from_fn(|i, _| (self.angles[i] + reach[i].ways.1).min(limits.0[i].max));
        (0..6).all(|i| low[i] <= high[i]).then_some(Instant { position, velocity, reach, low, high })
    }

    fn nearly(&self) -> Limits {
        Limits(self.robot.limits.0.map(|mut limit| {
            limit.velocity *= NEARLY;
            limit.acceleration *= NEARLY;
            limit
        }))
    }

    /// Postures to begin with: as near as can be to having the ball in the hand, turned in many ways.
    fn starts(&self, instant: &Instant, most: usize, margins: &Margins) -> impl Iterator<Item = Joints> {
        let near = instant.clamp(&self.angles);
        let along = along(&instant.velocity);
        let shoulder = Vector3::new(0.0, self.robot.links.base, 0.0);
        let mut found: Vec<(f64, Joints)> = Vec::with_capacity(130);
        for roll in 0..8 {
            for face in [0.0, PI] {
                let rotation = along * rot_y(face) * rot_z(f64::from(roll) * PI / 4.0);
                // Where the ball is just out of reach, the hand is a little before it.
                let places = [1.0, 0.9, 0.8].map(|share| shoulder + (instant.position - shoulder) * share);
                let reachable =
                    places.iter().find_map(|place| self.robot.inverse_frame(place, &rotation, &near).ok());
                for branch in reachable.iter().flat_map(|branches| branches.iter()) {
                    let inside = instant.clamp(&branch.joints);
                    found.push(((branch.joints - inside).norm_squared(), inside));
                }
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.truncate(4 * most);
        found.push((0.0, near));
        for (weight, start) in &mut found {
            *weight = self.residual(instant, start, margins).0.norm_squared();
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.dedup_by(|a, b| (a.1 - b.1).amax() < 0.05);
        found.into_iter().take(most).map(|(_, start)| start)
    }

    /// From `start` to angles, and the speeds there, that make a catch; with how far off that still is.
    fn pull(&self, instant: &Instant, start: Joints, margins: &Margins) -> (f64, Joints, Joints) {
        const NUDGE: f64 = 1e-6;
        let mut at = start;
        let (mut residual, mut speeds) = self.residual(instant, &at, margins);
        let mut damping = 1e-3;
        for _ in 0..ITERATIONS {
            let off = residual.norm_squared();
            if off == 0.0 {
                break;
            }
            let mut slopes = Slopes::zeros();
            for i in 0..6 {
                let mut beside = at;
                let nudge = if at[i] + NUDGE <= instant.high[i] { NUDGE } else { -NUDGE };
                beside[i] += nudge;
                slopes.set_column(i, &((self.residual(instant, &beside, margins).0 - residual) / nudge));
            }
            let (normal, push) = (slopes.tr_mul(&slopes), slopes.tr_mul(&residual));
            let mut gained = 0.0;
            for _ in 0..3 {
                let Some(step) = instant.step(&at, &normal, &push, damping) else { break };
                // A little farther than to the edge of what is allowed.
                let place = instant.clamp(&(at - step * 1.05));
                let (next, moving) = self.residual(instant, &place, margins);
                if next.norm_squared() < off {
                    gained = off - next.norm_squared();
                    (at, residual, speeds) = (place, next, moving);
                    damping = (damping * 0.2).max(1e-6);
                    break;
                }
                damping *= 10.0;
            }
            if gained <= 1e-3 * off {
                break;
            }
        }
        (residual.norm(), at, speeds)
    }

    /// How far the hand is from a catch in each respect, and the joints' speeds there.
    fn residual(&self, instant: &Instant, angles: &Joints, margins: &Margins) -> (Residual, Joints) {
        self.looks.set(self.looks.get() + 1);
        let chain = self.robot.chain(angles);
        let seen = chain.rotation.tr_mul(&(instant.position - chain.position));
        let ranges: [(f64, f64); 6] = std::array::from_fn(|i| {
            let (slowest, fastest) = instant.reach[i].speeds(angles[i] - self.angles[i]);
            (slowest.min(fastest), fastest.max(slowest))
        });
        let mut speeds = Joints::from_fn(|i, _| 0.0_f64.clamp(ranges[i].0, ranges[i].1));
        let levers = chain.levers().map(|lever| chain.rotation.tr_mul(&lever));
        let mut way = chain.rotation.tr_mul(&instant.velocity);
        (0..6).for_each(|i| way -= levers[i] * speeds[i]);
        let enters = |way: &Vector3<f64>| {
            let way = way.try_normalize(1e-9).unwrap_or_else(Vector3::z);
            (ALONG_APPROACH + margins.way - way.z.abs(), ALONG_FINGERS + margins.way - way.y)
        };
        if enters(&way).0.max(enters(&way).1) > 0.0 {
            // Across the hand: it moves along with the ball sideways, as far as it can.
            for i in [0, 1, 2, 3, 4, 5, 0, 1, 2] {
                let aside = Vector3::new(levers[i].x, levers[i].y, 0.0);
                let change = way.dot(&aside) / aside.norm_squared().max(1e-9);
                let speed = (speeds[i] + change).clamp(ranges[i].0, ranges[i].1);
                way -= levers[i] * (speed - speeds[i]);
                speeds[i] = speed;
            }
        }
        let (across, from_fingertips) = enters(&way);
        let beyond = |value: f64, most: f64| value - value.clamp(-most, most);
        // There must be room where it catches and where it comes to rest afterwards.
        let room = |gaps: Gaps| gaps.into_iter().fold(f64::INFINITY, f64::min);
        let mut room_left = room(chain.gaps(angles));
        if speeds.amax() > 0.0 {
            let brakes =
                |i: usize| speeds[i] * speeds[i].abs() / (2.0 * NEARLY * self.robot.limits.0[i].acceleration);
            let stop = Joints::from_fn(|i, _| angles[i] + brakes(i));
            room_left = room_left.min(room(self.robot.chain(&stop).gaps(&stop)));
        }
        let residual = Residual::new(
            beyond(seen.x, CATCH_BOX[0] * (1.0 - margins.place)),
            beyond(seen.y, CATCH_BOX[1] * (1.0 - margins.place)),
            beyond(seen.z, CATCH_BOX[2] * (1.0 - margins.place)),
            WEIGHT * across.max(0.0),
            WEIGHT * from_fingertips.max(0.0),
            (ROOM - room_left).max(0.0),
        );
        (residual, speeds)
    }

    /// What the arm will make of it, told in float32, is a catch, and clear of everything on the way.
    fn check(&self, close_at: f64, angles: &Joints, speeds: &Joints) -> Option<Solution> {
        self.looks.set(self.looks.get() + CHECK);
        let hand = HandState::from_array(&self.robot.hand_state(angles, speeds).to_array()).ok()?;
        let course = self.robot.course(&hand, &self.angles, &self.speeds, close_at - self.now).ok()?;
        let solution = Solution { starts: self.now, close_at, hand, course };
        self.holds(&solution).then_some(solution)
    }

    /// Does this solution catch the ball, starting from here?
    pub(crate) fn holds(&self, solution: &Solution) -> bool {
        let (angles, speeds) = solution.course.at(solution.close_at - self.now);
        let (position, velocity) = self.ball.at(solution.close_at - self.ball.released);
        judge(&self.robot.hand_state(&angles, &speeds), &position, &velocity).caught()
            && self.robot.way_is_clear(&solution.course).is_ok()
    }
}

/// The hand that a ball with this velocity enters straight: z along its way, y as upright as can be.
fn along(velocity: &Vector3<f64>) -> Matrix3<f64> {
    let z = velocity.try_normalize(0.0).unwrap_or_else(Vector3::z);
    let x = upright_hand(velocity).column(0).into_owned();
    Matrix3::from_columns(&[x, z.cross(&x), z])
}
