//! Many throws in simulated time: what is caught, what is not, and why.

use std::{collections::BTreeMap, time::Duration};

use nalgebra::Vector3;

use crate::{
    ArmController, ArmInput, ArmOutput, ArmSettings, Ball, Catch, Control, GRAVITY, Joints, Launcher, LetGo,
    Miss, NoCatch, Planner, PlannerSettings, Refusal, Scene, Strategy, Unreachable, Verdict,
    bound::{Feasibility, Question},
    layout::next_wire_time,
    random::Seeded,
};

/// A launcher and a speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throw {
    /// From where, and which way.
    pub launcher: Launcher,
    /// How fast, m/s.
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
    /// The arm.
    pub arm: ArmSettings,
    /// Who tells it what to do.
    pub planner: PlannerSettings,
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
    /// The arm did not take the catch.
    Refused(LetGo),
}

impl Outcome {
    /// Was it a catch?
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
            Self::LetGo(NoCatch::NoPosture) => "no posture takes it in",
            Self::LetGo(NoCatch::Busy { .. }) | Self::Refused(LetGo::HandBusy { .. }) => {
                "busy with another ball"
            }
            Self::Refused(LetGo::Refused(Refusal::Unreachable(unreachable))) => match unreachable {
                Unreachable::TooFar { .. } => "apex too far",
                Unreachable::TooFarAside { .. } => "apex too far aside",
                Unreachable::TooClose { .. } => "apex too close",
                _ => "refused",
            },
            Self::Refused(LetGo::Refused(Refusal::Blocked(_))) => "arm would touch the floor or itself",
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
    /// As it was thrown.
    pub ball: Ball,
    /// What was planned.
    pub plan: Option<Catch>,
    /// What became of it.
    pub outcome: Outcome,
    /// When the hand closed, if it did.
    pub closed_at: Option<f64>,
}

/// What happens next to a throw.
#[expect(clippy::large_enum_variant, reason = "a handful at a time")]
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The planner hears of it.
    Hear,
    /// The arm is told.
    Tell(Catch),
}

impl Simulation {
    /// An arm at home, time 0.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            arm: ArmController::new(setup.arm),
            planner: Planner::new(setup.planner),
            scene: Scene::default(),
            now: 0.0,
        }
    }

    /// The arm as it is now.
    pub fn arm(&self) -> &ArmController {
        &self.arm
    }

    /// Lets `seconds` pass without a throw.
    pub fn wait(&mut self, seconds: f64) {
        self.run_until(self.now + seconds, |_, _| {});
    }

    /// Throws a ball now and runs until its fate is known.
    pub fn throw(&mut self, throw: &Throw) -> Record {
        self.volley(&[(0.0, *throw)]).remove(0)
    }

    /// Throws several balls, each so many seconds from now, and runs until the fate of all is known. In the order given.
    pub fn volley(&mut self, throws: &[(f64, Throw)]) -> Vec<Record> {
        let start = self.now;
        // The arm neither refused nor closed: nothing became of it.
        let nothing = Outcome::LetGo(NoCatch::NoPosture);
        let record = |(after, throw): &(f64, Throw)| {
            let ball = throw.launcher.release(throw.speed, next_wire_time(start + after));
            (Record { ball, plan: None, outcome: nothing, closed_at: None }, false)
        };
        // Each with whether its fate is known.
        let mut records: Vec<(Record, bool)> = throws.iter().map(record).collect();
        let mut steps: Vec<(f64, usize, Step)> = (0..records.len())
            .map(|i| (records[i].0.ball.released + self.setup.latency, i, Step::Hear))
            .collect();
        let mut end = start;
        while let Some(next) = (0..steps.len()).min_by(|a, b| steps[*a].0.total_cmp(&steps[*b].0)) {
            let (at, index, step) = steps.swap_remove(next);
            self.run_until(at, |simulation, output| simulation.learn(output, &mut records));
            let now = Duration::from_secs_f64(self.now);
            match step {
                Step::Hear => {
                    let array = records[index].0.ball.to_array();
                    let heard = self.scene.ball_thrown(&array, now).map_err(NoCatch::from);
                    self.arm.handle(ArmInput::Ball(&array), now);
                    match heard.and_then(|()| self.planner.throw(&array, now)) {
                        Ok(catch) => steps.push((
                            catch.tell_by.clamp(at, at + self.setup.planner.planning_time),
                            index,
                            Step::Tell(catch),
                        )),
                        Err(reason) => {
                            records[index].0.outcome = Outcome::LetGo(reason);
                            records[index].1 = true;
                        }
                    }
                }
                Step::Tell(catch) => {
                    records[index].0.plan = Some(catch);
                    self.arm.handle(ArmInput::CloseAt(catch.close_at as f32), now);
                    self.arm.handle(ArmInput::Target(&catch.hand.to_array()), now);
                    end = end.max(catch.close_at.max(self.now) + 0.1);
                }
            }
        }
        self.run_until(end, |simulation, output| simulation.learn(output, &mut records));
        records.into_iter().map(|(record, _)| record).collect()
    }

    /// What an output of the arm says about the throws.
    fn learn(&mut self, output: &ArmOutput, records: &mut [(Record, bool)]) {
        let (released, outcome, closed_at) = match output {
            ArmOutput::LetGo { released, reason } => (*released, Outcome::Refused(*reason), None),
            ArmOutput::Hand { closed: true, at } => {
                let hand = self.arm.hand_state(*at);
                let Some(judged) = self.scene.judge(at.as_secs_f32().into(), &hand) else { return };
                (Some(judged.ball.released), Outcome::Judged(judged.verdict), Some(at.as_secs_f64()))
            }
            _ => return,
        };
        // Without a release time it is the one the arm was told of last.
        let mut open = records.iter_mut().filter(|(record, known)| record.plan.is_some() && !known);
        let found = match released {
            Some(released) => open.find(|(record, _)| record.ball.released == released),
            None => open.next_back(),
        };
        if let Some((record, known)) = found {
            (record.outcome, record.closed_at, *known) = (outcome, closed_at, true);
        }
    }

    /// Advances the arm from deadline to deadline, telling the planner what it reports.
    fn run_until(&mut self, end: f64, mut watch: impl FnMut(&mut Self, &ArmOutput)) {
        loop {
            while let Some(output) = self.arm.poll_output() {
                if let ArmOutput::State(state) = &output {
                    let _ = self.planner.arm_state(state, Duration::from_secs_f64(self.now));
                }
                watch(self, &output);
            }
            match self.arm.next_deadline().filter(|d| d.as_secs_f64() <= end) {
                Some(deadline) => {
                    self.now = deadline.as_secs_f64();
                    self.arm.advance(deadline);
                }
                None => {
                    self.now = self.now.max(end);
                    return;
                }
            }
        }
    }
}

/// Can this ball be caught by an arm at home? The bound knows nothing of planners; but a catch that a planner with all
/// the time in the world makes needs no further proof.
pub fn feasibility(setup: &Setup, throw: &Throw, effort: u32) -> Feasibility {
    let mut ideal = *setup;
    (ideal.arm.control, ideal.planner.strategy, ideal.planner.pace) = (Control::Timed, Strategy::Best, 0.0);
    let record = Simulation::new(ideal).throw(throw);
    let home = Joints::zeros();
    if let (true, Some(catch)) = (record.outcome.caught(), record.plan) {
        return Feasibility::Possible {
            flight: catch.close_at - record.ball.released,
            angles: home,
            speeds: home,
        };
    }
    let (robot, ball) = (&setup.planner.robot, record.ball);
    Question { robot, angles: home, sets_off: setup.latency, ball }.decide(effort)
}

/// Throws that belong together, counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// How many were thrown.
    pub throws: u32,
    /// Of those, how many are not proven impossible.
    pub possible: u32,
    /// Of those again, how many for which neither a catch nor a proof was found.
    pub open: u32,
    /// How many were caught.
    pub caught: u32,
    /// Why the others were not.
    pub reasons: BTreeMap<&'static str, u32>,
    /// Why the impossible ones are.
    pub impossible: BTreeMap<&'static str, u32>,
}

/// The result of [`evaluate`].
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// By where the highest point is.
    pub regions: BTreeMap<Region, Tally>,
    /// All together.
    pub total: Tally,
    /// Greatest distance between planned and actual closing, seconds.
    pub worst_close_error: f64,
}

/// Part of space a throw's highest point lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// Below 0.3 m, straight ahead.
    LowCentre,
    /// Below 0.3 m, aside.
    LowSide,
    /// Below 0.55 m, straight ahead.
    MiddleCentre,
    /// Below 0.55 m, aside.
    MiddleSide,
    /// Higher, straight ahead.
    HighCentre,
    /// Higher, aside.
    HighSide,
}

impl Region {
    /// Where a highest point is.
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

/// How much is thrown and thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Balls thrown.
    pub throws: u32,
    /// What the random throws begin with: the same seed throws the same balls.
    pub seed: u64,
    /// Bounds the search for a proof that a ball which was not caught cannot be caught.
    pub effort: u32,
}

/// Throws random balls one by one at an arm that stands at home, and counts. `see` is shown every throw.
pub fn evaluate(setup: &Setup, trial: Trial, mut see: impl FnMut(Record)) -> Report {
    let Trial { throws, seed, effort } = trial;
    let mut random = Seeded(seed);
    let mut report = Report { regions: BTreeMap::new(), total: Tally::default(), worst_close_error: 0.0 };
    for _ in 0..throws {
        let throw = Throw::random(&mut random);
        let mut simulation = Simulation::new(*setup);
        simulation.wait(random.range(0.0, 10.0));
        let record = simulation.throw(&throw);
        let caught = record.outcome.caught();
        let feasibility = (!caught).then(|| feasibility(setup, &throw, effort));
        let apex = record.ball.at(record.ball.rise_time()).0;
        for tally in [report.regions.entry(Region::of(&apex)).or_default(), &mut report.total] {
            tally.throws += 1;
            tally.caught += u32::from(caught);
            tally.possible += u32::from(feasibility.is_none_or(|f| f.possible()));
            tally.open += u32::from(feasibility == Some(Feasibility::Open));
            if let Some(Feasibility::Impossible(obstacle)) = feasibility {
                *tally.impossible.entry(obstacle.name()).or_default() += 1;
            }
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
