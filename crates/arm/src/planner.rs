//! Where and when to catch a thrown ball, and which of several balls.
//!
//! `Apex` is the documented rule: upright hand at the highest point, whatever happens. `Best` asks first whether the arm
//! can be there in time, and if not looks along the whole flight, hand turned and moving as needed. A catch that it has
//! decided on is never given up: a newer ball is caught after it or before it, or declined at once with the reason.

use std::{cell::Cell, collections::VecDeque, time::Duration};

use nalgebra::{Matrix3, Vector3};

use crate::{
    Ball, HandState, Joints, Malformed, Move, Robot, Unreachable,
    ballistics::upright_hand,
    layout::{arm_state_from_array, joint_target_from_array},
    search::{Problem, Search, Solution},
};

/// Which point of the flight to catch at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Always the highest point.
    #[default]
    Apex,
    /// The highest point if the arm can be there in time, else another one, with the hand moving if it must.
    Best,
}

/// A decision: close the hand at `close_at`, having it at the pose just then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Catch {
    /// Seconds since the arm's start; a value that float32 holds exactly.
    pub close_at: f64,
    /// Where the hand is then, and how it moves.
    pub hand: HandState,
    /// By when the arm has to be told: planning takes time.
    pub tell_by: f64,
    /// Seconds to spare before a resting hand closes, at the limits' fastest motion. Only `Best` looks, and a hand that
    /// passes has none.
    pub slack: Option<f64>,
}

impl Catch {
    fn at_rest(close_at: f64, position: Vector3<f64>, rotation: Matrix3<f64>) -> Self {
        let (velocity, rotation_rate) = (Vector3::zeros(), Matrix3::zeros());
        let hand = HandState { position, rotation, velocity, rotation_rate };
        Self { close_at, hand, tell_by: 0.0, slack: None }
    }
}

/// Why a throw is let go.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoCatch {
    /// The ball's array.
    #[error("malformed {0}")]
    Malformed(#[from] Malformed),
    /// The ball stays away from the arm.
    #[error("no point of the flight is within reach; the highest one is {0}")]
    OutOfReach(Unreachable),
    /// The arm is too slow.
    #[error(
        "no point of the flight can be reached in time: resting at the best one, the hand would be {short:.3} s too late"
    )]
    TooLate {
        /// By so many seconds.
        short: f64,
    },
    /// The flight passes where the arm can be, but the hand cannot take the ball there.
    #[error(
        "no posture in time takes the ball in: it comes in across the hand, or the arm would touch the floor or itself"
    )]
    NoPosture,
    /// Other balls come first.
    #[error(
        "the arm is committed to the ball it catches at {close_at:.3} s, and can be at this one neither before nor after it"
    )]
    Busy {
        /// When the hand closes around the other ball.
        close_at: f64,
    },
}

/// What can be set about the planner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannerSettings {
    /// The arm's links and limits.
    pub robot: Robot,
    /// Where to catch.
    pub strategy: Strategy,
    /// Seconds to spare that `Best` wants before it is content with the highest point.
    pub reserve: f64,
    /// Seconds that `Best` looks at the most before it lets a throw go.
    pub planning_time: f64,
    /// Seconds that `Best` takes for looking at one posture. It plans for an arm that sets off when it has found the
    /// catch, and most are found within a few hundred looks.
    pub pace: f64,
    /// Seconds from one catch until the hand can catch again: it holds the ball, lets go and opens.
    pub regrip: f64,
}

impl Default for PlannerSettings {
    fn default() -> Self {
        Self {
            robot: Robot::default(),
            strategy: Strategy::default(),
            reserve: 0.01,
            planning_time: 0.015,
            pace: 1e-6,
            regrip: crate::controller::REGRIP.as_secs_f64(),
        }
    }
}

/// A catch that the arm was told of.
#[derive(Debug, Clone, Copy)]
struct Commitment {
    ball: Ball,
    solution: Solution,
}

/// More balls are not waited for.
const MOST_COMMITTED: usize = 16;
/// A report farther than this (rad, and seconds of its motion) from what was planned says that the arm does something else.
const AS_PLANNED: (f64, f64) = (0.02, 0.03);

/// Decides about throws, given what it last heard of the arm.
#[derive(Debug, Clone)]
pub struct Planner {
    /// May be changed at any time.
    pub settings: PlannerSettings,
    angles: Joints,
    speeds: Joints,
    heard: Duration,
    goal: Joints,
    /// In the order of their instants; the first may be over.
    commitments: VecDeque<Commitment>,
}

impl Planner {
    /// Assumes the arm at home until it hears otherwise.
    pub fn new(settings: PlannerSettings) -> Self {
        let home = Joints::zeros();
        let commitments = VecDeque::with_capacity(MOST_COMMITTED);
        Self { settings, angles: home, speeds: home, heard: Duration::ZERO, goal: home, commitments }
    }

    /// Takes the arm's reported angles and speeds.
    pub fn arm_state(&mut self, data: &[f32], now: Duration) -> Result<(), Malformed> {
        (self.angles, self.speeds) = arm_state_from_array(data)?;
        self.heard = now;
        if self.speeds.amax() == 0.0 {
            self.goal = self.angles;
        }
        // It may have taken another way, or somebody else may have moved it.
        let (now, robot) = (now.as_secs_f64(), &self.settings.robot);
        if let Some((angles, _)) = self.planned(now)
            && (angles - self.angles).amax() > AS_PLANNED.0 + AS_PLANNED.1 * self.speeds.amax()
        {
            self.commitments.retain(|c| c.solution.close_at > now);
            if let Some(Commitment { solution, .. }) = self.commitments.front_mut()
                && let Ok(course) =
                    robot.course(&solution.hand, &self.angles, &self.speeds, solution.close_at - now)
            {
                (solution.starts, solution.course) = (now, course);
            }
        }
        Ok(())
    }

    /// Takes joint angles that somebody sent the arm to: it is on its way there.
    pub fn angles(&mut self, data: &[f32], now: Duration) -> Result<(), Malformed> {
        let (goal, _) = joint_target_from_array(data)?;
        let limits = &self.settings.robot.limits;
        if limits.check(&goal).is_ok() && self.settings.robot.clearance(&goal).is_ok() {
            (self.angles, self.speeds) = self.state_at(now.as_secs_f64());
            (self.heard, self.goal) = (now, goal);
            self.commitments.clear();
        }
        Ok(())
    }

    /// Angles and speeds by the plan, if the arm is carrying one out.
    fn planned(&self, at: f64) -> Option<(Joints, Joints)> {
        let under_way = self.commitments.iter().rev().find(|c| c.solution.starts <= at)?;
        Some(under_way.solution.course.at(at - under_way.solution.starts))
    }

    /// Angles and speeds then, as far as can be known.
    fn state_at(&self, at: f64) -> (Joints, Joints) {
        self.planned(at).unwrap_or_else(|| {
            // The report may be a control period old: go on from it to where the arm was heading.
            let since = (at - self.heard.as_secs_f64()).max(0.0);
            Move::new(&self.angles, &self.speeds, &self.goal, &self.settings.robot.limits).at(since)
        })
    }

    /// Decides about a throw. Times are since the arm's start.
    pub fn throw(&mut self, data: &[f32], now: Duration) -> Result<Catch, NoCatch> {
        let (ball, now) = (Ball::from_array(data)?, now.as_secs_f64());
        if self.settings.strategy == Strategy::Apex {
            return Ok(Catch { tell_by: now, ..apex_catch(&ball) });
        }
        // Of what is over only the last move still says where the arm is.
        while self.commitments.get(1).is_some_and(|next| next.solution.starts <= now) {
            self.commitments.pop_front();
        }
        let Some(last) = self.commitments.back().map(|c| c.solution.close_at).filter(|at| *at > now) else {
            let caught = self.commitments.back().map(|c| c.solution.close_at);
            let earliest = caught.map_or(now, |at| at + self.settings.regrip);
            let (solution, slack) = self.plan(&ball, now, now, earliest, f64::INFINITY)?;
            return Ok(self.commit(self.commitments.len(), ball, solution, slack));
        };
        // After the last ball that is waited for …
        if self.commitments.len() < MOST_COMMITTED
            && let Ok((solution, slack)) =
                self.plan(&ball, now, last, last + self.settings.regrip, f64::INFINITY)
        {
            return Ok(self.commit(self.commitments.len(), ball, solution, slack));
        }
        // … or before the next one, if that can be caught afterwards as it was promised.
        let next = self.commitments.iter().position(|c| c.solution.close_at > now).unwrap_or(0);
        let promised = self.commitments[next];
        let close_at = promised.solution.close_at;
        let before = self.plan(&ball, now, now, now, close_at - self.settings.regrip);
        let (solution, slack) = before.map_err(|_| NoCatch::Busy { close_at })?;
        match self.keeps(&promised, &solution) {
            Some(kept) if self.commitments.len() == next + 1 || same_end(&kept, &promised.solution) => {
                self.commitments[next].solution = kept;
                Ok(self.commit(next, ball, solution, slack))
            }
            _ => Err(NoCatch::Busy { close_at }),
        }
    }

    /// How a promised catch is still made after another one, if it can be.
    fn keeps(&self, promised: &Commitment, before: &Solution) -> Option<Solution> {
        let (starts, robot) = (before.close_at, &self.settings.robot);
        let (angles, speeds) = before.course.at(starts - before.starts);
        let Solution { close_at, hand, .. } = promised.solution;
        let course = robot.course(&hand, &angles, &speeds, close_at - starts).ok()?;
        let solution = Solution { starts, course, ..promised.solution };
        let problem =
            Problem { robot, ball: promised.ball, angles, speeds, now: starts, looks: &Cell::new(0) };
        problem.holds(&solution).then_some(solution)
    }

    /// Searches from `now`, for an arm that can set off at `free`.
    fn plan(
        &self,
        ball: &Ball,
        now: f64,
        free: f64,
        earliest: f64,
        latest: f64,
    ) -> Result<(Solution, Option<f64>), NoCatch> {
        let PlannerSettings { robot, reserve, pace, planning_time, .. } = &self.settings;
        let (state_at, looks) = (|at| self.state_at(at), Cell::new(0));
        let (pace, budget) = (*pace, *planning_time);
        Search {
            robot,
            ball: *ball,
            state_at: &state_at,
            begun: now,
            pace,
            budget,
            free,
            earliest,
            latest,
            looks,
        }
        .solve(*reserve)
    }

    fn commit(&mut self, index: usize, ball: Ball, solution: Solution, slack: Option<f64>) -> Catch {
        let Solution { starts, close_at, hand, course } = solution;
        self.commitments.insert(index, Commitment { ball, solution });
        self.goal = course.goal();
        // A ball that is waited for after others is told of at once, too.
        Catch { close_at, hand, tell_by: starts, slack }
    }
}

/// Do two ways to make a catch leave the arm in the same state when the hand closes?
fn same_end(a: &Solution, b: &Solution) -> bool {
    let end = |s: &Solution| s.course.at(s.close_at - s.starts);
    let ((qa, va), (qb, vb)) = (end(a), end(b));
    (qa - qb).amax() < 1e-3 && (va - vb).amax() < 1e-2
}

/// The documented catch: upright hand at the highest point.
pub fn apex_catch(ball: &Ball) -> Catch {
    let exact = ball.released + ball.rise_time();
    let close_at = f64::from(exact as f32);
    // Where float32 cannot say the instant well enough, the hand goes where the ball is at the instant it can say.
    let flight = if (close_at - exact).abs() < 5e-4 { ball.rise_time() } else { close_at - ball.released };
    let (position, velocity) = ball.at(flight);
    Catch::at_rest(close_at, position, upright_hand(&velocity))
}

impl Search<'_> {
    /// The catch to make, with the seconds to spare of a resting hand, or why there is none.
    fn solve(&self, reserve: f64) -> Result<(Solution, Option<f64>), NoCatch> {
        let apex = apex_catch(&self.ball);
        let (close_at, problem) = (apex.close_at, self.problem());
        let Problem { angles, speeds, now, .. } = problem;
        // As the arm will be told, or it might choose another of two postures that are equally far.
        let hand = HandState::from_array(&apex.hand.to_array())?;
        let resting = self.robot.fastest_move(&hand.position, &hand.rotation, &angles, &speeds);
        let slack = |starts: f64, course: &Move| close_at - starts - course.duration();
        if let Ok(course) = &resting
            && (self.earliest..=self.latest).contains(&close_at)
            && slack(now, course) >= reserve
        {
            let solution = Solution { starts: now, close_at, hand, course: *course };
            if problem.holds(&solution) {
                return Ok((solution, Some(slack(now, course))));
            }
        }
        if let Some(solution) = self.catch(reserve) {
            let spare = || solution.close_at - solution.starts - solution.course.duration();
            return Ok((solution, solution.hand.rests().then(spare)));
        }
        Err(match resting {
            Ok(course) if slack(now, &course) < 0.0 => NoCatch::TooLate { short: -slack(now, &course) },
            Ok(_) => NoCatch::NoPosture,
            Err(reason) => NoCatch::OutOfReach(reason),
        })
    }
}
