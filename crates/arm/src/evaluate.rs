//! Many throws in simulated time: what is caught, what is not, and why.

use std::{collections::BTreeMap, time::Duration};

use nalgebra::Vector3;

use crate::{
    ArmConfig, ArmController, ArmInput, ArmOutput, Ball, Catch, GRAVITY, Joints, Launcher, LetGo, Miss,
    NoCatch, Planner, PlannerConfig, Refusal, Scene, Unreachable, Verdict,
    layout::next_wire_time,
    planner::{Problem, Search},
    random::Seeded,
};

/// A launcher and a speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throw {
    pub launcher: Launcher,
    pub speed: f64,
}

impl Throw {
    /// A throw whose highest point is `apex`, from the floor at `x`, `z`.
    pub fn through(apex: &Vector3<f64>, x: f64, z: f64) -> Self {
        let rise = (2.0 * apex.y / GRAVITY).sqrt();
        let velocity = Vector3::new((apex.x - x) / rise, GRAVITY * rise, (apex.z - z) / rise);
        let launcher = Launcher {
            x,
            z,
            phi: velocity.x.atan2(velocity.z),
            psi: velocity.y.atan2(velocity.x.hypot(velocity.z)),
        };
        Self { launcher, speed: velocity.norm() }
    }

    /// A throw at the arm: the highest point somewhere in and around the workspace.
    pub fn random(random: &mut Seeded) -> Self {
        let apex = Vector3::new(random.range(-0.35, 0.35), random.range(0.1, 0.8), random.range(-0.5, 0.4));
        Self::through(&apex, random.range(-1.5, 1.5), random.range(-4.0, -0.7))
    }
}

/// Everything that decides how a throw ends.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Setup {
    pub arm: ArmConfig,
    pub planner: PlannerConfig,
    /// Seconds from the release until the planner and the arm know of it.
    pub latency: f64,
}

/// How one throw ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The hand closed and the catch was judged.
    Judged(Verdict),
    /// The planner let the ball go.
    LetGo(NoCatch),
    /// The arm refused the target.
    Refused(Refusal),
}

impl Outcome {
    pub fn caught(&self) -> bool {
        matches!(self, Self::Judged(verdict) if verdict.caught())
    }

    /// A short reason for a miss, to count by.
    fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::Judged(Verdict { miss: None, .. }) => return None,
            Self::Judged(Verdict { miss: Some(Miss::OutsideBox { .. }), .. }) => "hand not there yet",
            Self::Judged(Verdict { miss: Some(Miss::Across { .. }), .. }) => "ball across the hand",
            Self::Judged(Verdict { miss: Some(Miss::FromFingertips { .. }), .. }) => {
                "ball from the fingertips"
            }
            Self::LetGo(NoCatch::TooLate { .. }) => "no point in time",
            Self::LetGo(NoCatch::OutOfReach(_)) => "no point in reach",
            Self::Refused(Refusal::Unreachable(Unreachable::TooFar { .. })) => "apex too far",
            Self::Refused(Refusal::Unreachable(Unreachable::TooFarAside { .. })) => "apex too far aside",
            Self::Refused(Refusal::Unreachable(Unreachable::TooClose { .. })) => "apex too close",
            Self::Refused(_) | Self::LetGo(NoCatch::Malformed(_)) => "refused",
        })
    }
}

/// The nodes' state machines wired to each other, without a network. The arm keeps its posture between throws.
#[derive(Debug, Clone)]
pub struct Simulation {
    setup: Setup,
    arm: ArmController,
    planner: Planner,
    scene: Scene,
    /// Seconds since the arm's start.
    now: f64,
}

/// One throw as it happened, for tables and pictures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    pub ball: Ball,
    pub plan: Option<Catch>,
    pub outcome: Outcome,
    /// When the hand closed, if it did.
    pub closed_at: Option<f64>,
}

impl Simulation {
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            arm: ArmController::new(setup.arm),
            planner: Planner::new(setup.planner),
            scene: Scene::default(),
            now: 0.0,
        }
    }

    pub fn arm(&self) -> &ArmController {
        &self.arm
    }

    /// Lets `seconds` pass without a throw.
    pub fn wait(&mut self, seconds: f64) {
        self.run_until(self.now + seconds, |_, _| None::<()>);
    }

    /// Throws a ball now and runs until its fate is known.
    pub fn throw(&mut self, throw: &Throw) -> Record {
        let ball = throw.launcher.release(throw.speed, next_wire_time(self.now));
        let array = ball.to_array();
        let let_go = |reason| Record { ball, plan: None, outcome: Outcome::LetGo(reason), closed_at: None };
        if let Err(reason) = self.scene.ball_thrown(&array, Duration::from_secs_f64(self.now)) {
            return let_go(reason.into());
        }
        self.run_until(ball.released + self.setup.latency, |_, _| None::<()>);
        let now = Duration::from_secs_f64(self.now);

        let plan = match self.planner.throw(&array, now) {
            Ok(plan) => plan,
            Err(reason) => return let_go(reason),
        };
        self.run_until(self.now + self.setup.planner.delay(), |_, _| None::<()>);
        let now = Duration::from_secs_f64(self.now);
        self.arm.handle(ArmInput::CloseAt(plan.close_at as f32), now);
        self.arm.handle(ArmInput::Target(&plan.target().to_array()), now);
        let end = plan.close_at.max(self.now) + 0.1;
        let fate = self.run_until(end, |simulation, output| match output {
            ArmOutput::LetGo { reason: LetGo::Refused(refusal), .. } => {
                Some((Outcome::Refused(*refusal), None))
            }
            ArmOutput::Hand { closed: true, at } => {
                let hand = simulation.arm.hand_state(*at);
                let judged = simulation.scene.judge(at.as_secs_f32().into(), &hand)?;
                Some((Outcome::Judged(judged.verdict), Some(at.as_secs_f64())))
            }
            _ => None,
        });
        let Some((outcome, closed_at)) = fate else {
            // The arm neither refused nor closed: a newer throw took its place.
            return let_go(NoCatch::TooLate { short: 0.0 });
        };
        Record { ball, plan: Some(plan), outcome, closed_at }
    }

    /// Advances the arm from deadline to deadline, telling the planner what it reports.
    fn run_until<T>(
        &mut self,
        end: f64,
        mut watch: impl FnMut(&mut Self, &ArmOutput) -> Option<T>,
    ) -> Option<T> {
        let mut found = None;
        loop {
            while let Some(output) = self.arm.poll_output() {
                if let ArmOutput::State(state) = &output {
                    let _ = self.planner.arm_state(state, Duration::from_secs_f64(self.now));
                }
                if found.is_none() {
                    found = watch(self, &output);
                }
            }
            if found.is_some() {
                return found;
            }
            match self.arm.next_deadline().filter(|d| d.as_secs_f64() <= end) {
                Some(deadline) => {
                    self.now = deadline.as_secs_f64();
                    self.arm.advance(deadline);
                }
                None => {
                    self.now = self.now.max(end);
                    return None;
                }
            }
        }
    }
}

/// The catch with which an arm at rest at home has the most time to spare (or the highest point, if that leaves the
/// planner's reserve), after the time that `Best` needs for planning. Looks at catches at the hand's centre, with the
/// hand at rest.
pub fn best_catch(setup: &Setup, ball: &Ball, search: Search) -> Result<Catch, NoCatch> {
    let problem = Problem {
        robot: &setup.planner.robot,
        ball: *ball,
        angles: Joints::zeros(),
        speeds: Joints::zeros(),
        now: ball.released + setup.latency + setup.planner.planning_time,
    };
    problem.solve(setup.planner.reserve, search)
}

/// Throws that belong together, counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    pub throws: u32,
    /// Of those, how many some catch exists for that leaves the planner's reserve.
    pub feasible: u32,
    pub caught: u32,
    pub caught_of_feasible: u32,
    /// Why the others were not caught.
    pub reasons: BTreeMap<&'static str, u32>,
}

/// The result of [`evaluate`].
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub regions: BTreeMap<Region, Tally>,
    pub total: Tally,
    /// Greatest distance between planned and actual closing, seconds.
    pub worst_close_error: f64,
}

/// Part of space a throw's highest point lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    LowCentre,
    LowSide,
    MiddleCentre,
    MiddleSide,
    HighCentre,
    HighSide,
}

impl Region {
    pub fn of(apex: &Vector3<f64>) -> Self {
        match (apex.y, apex.x.abs() < 0.1) {
            (..0.3, true) => Self::LowCentre,
            (..0.3, false) => Self::LowSide,
            (..0.55, true) => Self::MiddleCentre,
            (..0.55, false) => Self::MiddleSide,
            (_, true) => Self::HighCentre,
            (_, false) => Self::HighSide,
        }
    }

    /// For scripts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::LowCentre => "low_centre",
            Self::LowSide => "low_side",
            Self::MiddleCentre => "middle_centre",
            Self::MiddleSide => "middle_side",
            Self::HighCentre => "high_centre",
            Self::HighSide => "high_side",
        }
    }

    /// For people: where that is.
    pub fn label(&self) -> &'static str {
        match self {
            Self::LowCentre => "low centre   (y < 0.3, |x| < 0.1)",
            Self::LowSide => "low side     (y < 0.3)",
            Self::MiddleCentre => "middle centre (y < 0.55, |x| < 0.1)",
            Self::MiddleSide => "middle side  (y < 0.55)",
            Self::HighCentre => "high centre  (y ≥ 0.55, |x| < 0.1)",
            Self::HighSide => "high side    (y ≥ 0.55)",
        }
    }
}

/// Throws `count` random balls one by one at an arm that stands at home, and counts. `see` is shown every throw.
pub fn evaluate(setup: &Setup, count: u32, seed: u64, search: Search, mut see: impl FnMut(Record)) -> Report {
    let mut random = Seeded(seed);
    let mut report = Report { regions: BTreeMap::new(), total: Tally::default(), worst_close_error: 0.0 };
    for _ in 0..count {
        let throw = Throw::random(&mut random);
        let mut simulation = Simulation::new(*setup);
        simulation.wait(random.range(0.0, 10.0));
        let record = simulation.throw(&throw);
        let best = best_catch(setup, &record.ball, search);
        let feasible = best.is_ok_and(|c| c.slack.is_some_and(|s| s >= setup.planner.reserve));
        let apex = record.ball.at(record.ball.rise_time()).0;
        for tally in [report.regions.entry(Region::of(&apex)).or_default(), &mut report.total] {
            let caught = record.outcome.caught();
            tally.throws += 1;
            tally.feasible += u32::from(feasible);
            tally.caught += u32::from(caught);
            tally.caught_of_feasible += u32::from(caught && feasible);
            if let Some(reason) = record.outcome.reason() {
                *tally.reasons.entry(reason).or_default() += 1;
            }
        }
        if let (Some(plan), Some(closed)) = (&record.plan, record.closed_at) {
            report.worst_close_error = report.worst_close_error.max((closed - plan.close_at).abs());
        }
        see(record);
    }
    report
}
