//! Where and when to catch a thrown ball.
//!
//! `Apex` is the documented rule: upright hand at the highest point, whatever happens. `Best` asks first whether
//! the arm can be there in time, and if not looks along the whole flight, hand turned as needed, for the catch
//! with the most time to spare.

use std::{f64::consts::PI, time::Duration};

use nalgebra::{Matrix3, Vector3};

use crate::{
    Ball, HandState, Joints, Malformed, Move, Robot, Seeded, Unreachable,
    ballistics::upright_hand,
    judge::{ALONG_APPROACH, ALONG_FINGERS},
    kinematics::{rot_x, rot_y, rot_z},
    layout::arm_state_from_array,
};

/// Which point of the flight to catch at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Always the highest point.
    #[default]
    Apex,
    /// The highest point if the arm can be there in time, else the point with the most time to spare.
    Best,
}

/// A decision: close the hand at `close_at`, having it rest at the pose by then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Catch {
    /// Seconds since the arm's start; a value that float32 holds exactly.
    pub close_at: f64,
    pub position: Vector3<f64>,
    pub rotation: Matrix3<f64>,
    /// Seconds to spare at the limits' fastest motion; negative is too late. Only `Best` looks.
    pub slack: Option<f64>,
}

impl Catch {
    /// As a target for the arm: the pose, at rest.
    pub fn target(&self) -> HandState {
        HandState {
            position: self.position,
            rotation: self.rotation,
            velocity: Vector3::zeros(),
            rotation_rate: Matrix3::zeros(),
        }
    }
}

/// Why a throw is let go.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoCatch {
    #[error("malformed {0}")]
    Malformed(#[from] Malformed),
    #[error("no point of the flight is within reach; the highest one is {0}")]
    OutOfReach(Unreachable),
    #[error("no point of the flight can be reached in time: the best one is {short:.3} s too late")]
    TooLate { short: f64 },
}

/// Scores from here down belong to catches that cannot be made at all.
const IMPOSSIBLE: f64 = -1e3;

/// How finely the flight and the hand's attitudes are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// Within milliseconds, for planning while the ball flies.
    Online,
    /// Many times finer, to check that `Online` overlooks nothing.
    Exhaustive,
}

/// What can be set about the planner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannerConfig {
    pub robot: Robot,
    pub strategy: Strategy,
    /// Seconds to spare that `Best` wants before it is content with the highest point.
    pub reserve: f64,
    /// Seconds that `Best` allows itself for looking: it plans for an arm that sets off that much later.
    pub planning_time: f64,
}

impl PlannerConfig {
    /// Seconds from hearing of a throw until the arm is told: the documented rule needs no time to speak of.
    pub(crate) fn delay(&self) -> f64 {
        match self.strategy {
            Strategy::Apex => 0.0,
            Strategy::Best => self.planning_time,
        }
    }
}

impl Default for PlannerConfig {
    fn default() -> Self {
        Self { robot: Robot::default(), strategy: Strategy::default(), reserve: 0.01, planning_time: 0.015 }
    }
}

/// Decides about throws, given what it last heard of the arm.
#[derive(Debug, Clone)]
pub struct Planner {
    pub config: PlannerConfig,
    angles: Joints,
    speeds: Joints,
    heard: Duration,
    goal: Joints,
}

impl Planner {
    /// Assumes the arm at home until it hears otherwise.
    pub fn new(config: PlannerConfig) -> Self {
        let home = Joints::zeros();
        Self { config, angles: home, speeds: home, heard: Duration::ZERO, goal: home }
    }

    /// Takes the arm's reported angles and speeds.
    pub fn arm_state(&mut self, data: &[f32], now: Duration) -> Result<(), Malformed> {
        (self.angles, self.speeds) = arm_state_from_array(data)?;
        self.heard = now;
        if self.speeds.amax() == 0.0 {
            self.goal = self.angles;
        }
        Ok(())
    }

    /// Decides about a throw. Times are since the arm's start.
    pub fn throw(&mut self, data: &[f32], now: Duration) -> Result<Catch, NoCatch> {
        let ball = Ball::from_array(data)?;
        if self.config.strategy == Strategy::Apex {
            return Ok(apex_catch(&ball));
        }
        // The report may be a control period old: go on from it to where the arm was heading.
        let delay = self.config.delay();
        let since = now.saturating_sub(self.heard).as_secs_f64() + delay;
        let limits = &self.config.robot.limits;
        let (angles, speeds) = Move::new(&self.angles, &self.speeds, &self.goal, limits).at(since);
        let now = now.as_secs_f64() + delay;
        let problem = Problem { robot: &self.config.robot, ball, angles, speeds, now };
        let catch = problem.solve(self.config.reserve, Search::Online)?;
        if let Ok(course) = problem.course(&catch.position, &catch.rotation) {
            self.goal = course.goal();
        }
        Ok(catch)
    }
}

/// The documented catch: upright hand at the highest point.
pub fn apex_catch(ball: &Ball) -> Catch {
    let exact = ball.released + ball.rise_time();
    let close_at = f64::from(exact as f32);
    // Where float32 cannot say the instant well enough, the hand goes where the ball is at the instant it can say.
    let flight = if (close_at - exact).abs() < 5e-4 { ball.rise_time() } else { close_at - ball.released };
    let (position, velocity) = ball.at(flight);
    Catch { close_at, position, rotation: upright_hand(&velocity), slack: None }
}

/// One throw against one arm state.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    pub robot: &'a Robot,
    pub ball: Ball,
    pub angles: Joints,
    pub speeds: Joints,
    /// When the arm can set off.
    pub now: f64,
}

/// A point of the search: when, and how the hand is turned against the ball's way.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    /// Seconds after the release.
    flight: f64,
    /// About the hand's y, x and z axes; all 0 is z along the ball's velocity, y as upright as can be.
    turn: [f64; 3],
}

impl Problem<'_> {
    /// The catch to make, or why there is none.
    pub fn solve(&self, reserve: f64, search: Search) -> Result<Catch, NoCatch> {
        let mut apex = apex_catch(&self.ball);
        let apex_course = self.course(&apex.position, &apex.rotation);
        if let Ok(course) = &apex_course {
            let slack = apex.close_at - self.now - course.duration();
            apex.slack = Some(slack);
            if slack >= reserve {
                return Ok(apex);
            }
        }
        match self.most_slack(search, 2.0 * reserve) {
            Some((candidate, slack)) if slack >= 0.0 && apex.slack.is_none_or(|s| s < slack) => {
                let (position, rotation) = self.pose(&candidate);
                Ok(Catch { close_at: self.instant(&candidate), position, rotation, slack: Some(slack) })
            }
            _ if apex.slack.is_some_and(|s| s >= 0.0) => Ok(apex),
            Some((_, slack)) => Err(NoCatch::TooLate { short: -slack }),
            None => match apex_course {
                Ok(_) => Err(NoCatch::TooLate { short: -apex.slack.unwrap_or(0.0) }),
                Err(reason) => Err(NoCatch::OutOfReach(reason)),
            },
        }
    }

    fn course(&self, position: &Vector3<f64>, rotation: &Matrix3<f64>) -> Result<Move, Unreachable> {
        self.robot.fastest_move(position, rotation, &self.angles, &self.speeds)
    }

    /// When the candidate closes the hand: an instant that float32 holds exactly.
    fn instant(&self, candidate: &Candidate) -> f64 {
        f64::from((self.ball.released + candidate.flight) as f32)
    }

    fn pose(&self, candidate: &Candidate) -> (Vector3<f64>, Matrix3<f64>) {
        let (position, velocity) = self.ball.at(self.instant(candidate) - self.ball.released);
        let z = velocity.try_normalize(0.0).unwrap_or_else(Vector3::z);
        let upright = upright_hand(&velocity);
        let x = upright.column(0).into_owned();
        let along = Matrix3::from_columns(&[x, z.cross(&x), z]);
        let [y, x, z] = candidate.turn;
        (position, along * rot_y(y) * rot_x(x) * rot_z(z))
    }

    /// Seconds to spare. A pose that is out of reach or would not be judged a catch scores below every real one,
    /// the lower the farther it is from being possible, so that a search can find its way in.
    fn score(&self, candidate: &Candidate) -> f64 {
        let (position, rotation) = self.pose(candidate);
        let velocity = self.ball.at(candidate.flight).1;
        let seen = rotation.tr_mul(&velocity).try_normalize(0.0).unwrap_or_else(Vector3::z);
        // Well inside the judge's cone, so that a few milliseconds more or less do not matter.
        let across = ALONG_APPROACH + 0.03 - seen.z.abs();
        let fingertips = ALONG_FINGERS + 0.03 - seen.y;
        if across.max(fingertips) > 0.0 {
            return IMPOSSIBLE * (2.0 + across.max(fingertips));
        }
        match self.course(&position, &rotation) {
            Ok(course) => self.instant(candidate) - self.now - course.duration(),
            Err(reason) => IMPOSSIBLE * (1.0 + reason.missing().min(1.0)),
        }
    }

    /// The candidate with the most time to spare: a few steps from every cell of a coarse grid, then many from the
    /// best of those.
    fn most_slack(&self, search: Search, content: f64) -> Option<(Candidate, f64)> {
        let (instants, rolls, tries, finalists, final_tries): (u32, u32, u32, usize, u32) = match search {
            Search::Online => (12, 8, 10, 12, 120),
            Search::Exhaustive => (24, 12, 60, 64, 300),
        };
        let (first, last) = self.within_reach()?;
        let mut found = Vec::with_capacity(((instants + 1) * rolls * 2) as usize);
        for k in 0..=instants {
            let flight = first + (last - first) * f64::from(k) / f64::from(instants);
            for roll in (0..rolls).map(|r| 2.0 * PI * f64::from(r) / f64::from(rolls)) {
                for face in [0.0, PI] {
                    let start = Candidate { flight, turn: [face, 0.0, roll] };
                    found.push(self.climb(start, first..=last, tries));
                }
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        // Time spent on looking for more would be time lost for moving.
        if let Some(good) = found.first().filter(|(_, slack)| search == Search::Online && *slack > content) {
            return Some(*good);
        }
        found.truncate(finalists);
        let refined = found.into_iter().map(|(start, _)| self.climb(start, first..=last, final_tries));
        refined.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, score)| *score > IMPOSSIBLE)
    }

    /// From when to when of the flight the hand's centre could be at the ball in any attitude. A fast ball is there
    /// for a few hundredths of a second only.
    fn within_reach(&self) -> Option<(f64, f64)> {
        let links = &self.robot.links;
        let reach = links.upper + links.fore + links.hand;
        let shoulder = Vector3::new(0.0, links.base, 0.0);
        let first = (self.now - self.ball.released).max(0.0);
        let step = (self.ball.landing_time() - first) / 256.0;
        let instants = (0..=256).map(|k| first + step * f64::from(k));
        let mut near = instants.filter(|t| (self.ball.at(*t).0 - shoulder).norm() <= reach);
        let entry = near.next().filter(|_| step >= 0.0)?;
        Some((entry, near.next_back().unwrap_or(entry)))
    }

    /// Climbs by random steps, longer after a success and shorter after a failure: the fastest joint changes
    /// from one to another along the way, and searches along fixed axes get stuck on such ridges.
    fn climb(
        &self,
        start: Candidate,
        flights: std::ops::RangeInclusive<f64>,
        tries: u32,
    ) -> (Candidate, f64) {
        let mut random = Seeded((start.flight * 1e6) as u64);
        let (mut at, mut best, mut step) = (start, self.score(&start), 0.4);
        for _ in 0..tries {
            let mut jump = || random.range(-step, step) + random.range(-step, step);
            let flight = (at.flight + 0.1 * jump()).clamp(*flights.start(), *flights.end());
            let next = Candidate { flight, turn: at.turn.map(|angle| angle + jump()) };
            let score = self.score(&next);
            if score > best {
                (at, best) = (next, score);
                step *= 1.5;
            } else {
                step *= 0.93;
            }
        }
        (at, best)
    }
}
