//! The arm's controller: targets in, joint states and hand commands out, in simulated or real time.

use std::{collections::VecDeque, time::Duration};

use rosless_engine::{Engine, Now};

use crate::{
    Ball, Gains, HandState, Joints, LimitViolation, Malformed, Move, Robot, Unreachable,
    clearance::Touch,
    flights::Flights,
    layout::{arm_state_to_array, joint_target_from_array},
    pd::PdStep,
};

/// Nearer than this to its goal (rad and rad/s) a joint has arrived.
const ARRIVED: f64 = 1e-4;
/// How far apart the closing time and the target of one throw may arrive.
const PAIRING: Duration = Duration::from_millis(250);
/// A closing time that is over on arrival waits this long for its target, which may turn out unreachable.
const GRACE: Duration = Duration::from_millis(20);
/// A caught ball is held at least this long before the hand opens for the next one.
const GRIP: Duration = Duration::from_millis(100);
/// From one catch until the hand can catch again.
pub(crate) const REGRIP: Duration = Duration::from_millis(150);
/// A PD move is looked ahead at for this long at the most.
const FORESIGHT: Duration = Duration::from_secs(10);
/// Closing times older or farther ahead than these come from another clock.
const OLDEST: Duration = Duration::from_secs(1);
const FARTHEST: Duration = Duration::from_secs(30);

/// How the arm moves to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Control {
    /// PD control with switched gains, one choice of gains per period.
    #[default]
    Pd,
    /// The fastest move the limits allow, to rest at the target; or through a moving target just when the hand closes.
    Timed,
}

/// What can be set about the controller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmSettings {
    /// Links and limits.
    pub robot: Robot,
    /// How it moves.
    pub control: Control,
    /// For PD control.
    pub gains: Gains,
    /// Control period, and the period of reported states.
    pub period: Duration,
    /// How long the hand stays closed.
    pub hold: Duration,
}

impl Default for ArmSettings {
    fn default() -> Self {
        Self {
            robot: Robot::default(),
            control: Control::default(),
            gains: Gains::default(),
            period: Duration::from_millis(100),
            hold: Duration::from_secs(3),
        }
    }
}

/// What the controller is told. Arrays are as they arrive, unchecked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ArmInput<'a> {
    /// A ball was thrown. The arm only remembers it, to say later which ball it lets go.
    Ball(&'a [f32]),
    /// When to close the hand, seconds since the arm's start.
    CloseAt(f32),
    /// A hand pose to move to. Its throw's closing time arrives before or after it.
    Target(&'a [f32]),
    /// Joint angles to move to.
    Angles(&'a [f32]),
}

/// What the controller wants done or known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ArmOutput {
    /// Angles and speeds, to be published. The last one before a closing hand is of that very instant.
    State([f32; 12]),
    /// The hand closed or opened at this instant.
    Hand {
        /// Closed, or opened.
        closed: bool,
        /// When.
        at: Duration,
    },
    /// A target was taken.
    Accepted {
        /// Seconds that the fastest move to rest there would take.
        needs: f64,
    },
    /// An input had more values than it needs; they were ignored.
    Surplus {
        /// How many.
        values: usize,
    },
    /// An input was not taken.
    Refused(Refusal),
    /// The hand will not close for a throw.
    LetGo {
        /// The throw's release time, where the arm knows of its ball.
        released: Option<f64>,
        /// Why.
        reason: LetGo,
    },
}

/// Why the hand does not close for a throw.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LetGo {
    /// Its target or closing time was refused.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The hand catches another ball at nearly the same time.
    #[error("the hand closes for another ball at {:.3} s and cannot open and close again by then", close_at.as_secs_f64())]
    HandBusy {
        /// When.
        close_at: Duration,
    },
    /// Too many are waited for.
    #[error("the catch planned for {:.3} s is given up: too many throws are waiting", close_at.as_secs_f64())]
    Superseded {
        /// When the hand would have closed.
        close_at: Duration,
    },
}

/// Why the controller did not take an input.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The array.
    #[error("malformed {0}")]
    Malformed(#[from] Malformed),
    /// No posture puts the hand there.
    #[error("unreachable target: {0}")]
    Unreachable(#[from] Unreachable),
    /// A joint would leave its range.
    #[error("{0}")]
    Limit(#[from] LimitViolation),
    /// The posture, or the way there, is not free.
    #[error("blocked target: {0}")]
    Blocked(#[from] Touch),
    /// Speeds are for timed control.
    #[error(
        "a target with speeds is refused under pd control: the arm comes to rest at its target, send zeros or set control to timed"
    )]
    MovingTarget,
    /// Speeds are for hand poses.
    #[error(
        "a target with speeds is refused here: the arm comes to rest at the angles, send six values or zero speeds"
    )]
    MovingAngles,
    /// Not a number.
    #[error("closing time {0} is not a finite number")]
    CloseTimeNotFinite(f32),
    /// Another clock's.
    #[error(
        "closing time {close_at} s, but now is {now:.3} s: is the sender using this arm's clock (get_init_time)?"
    )]
    CloseTimeOutOfRange {
        /// As it was sent.
        close_at: f32,
        /// When it arrived.
        now: f64,
    },
}

#[expect(clippy::large_enum_variant, reason = "there is one, and a box would allocate while controlling")]
#[derive(Debug, Clone, Copy, PartialEq)]
enum Motion {
    Rest(Joints),
    Pd { since: Duration, step: PdStep },
    Timed { since: Duration, course: Move },
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Reservation {
    /// The instant the hand is to close.
    at: Duration,
    /// When to act on it: `at`, or a little later for one that was over on arrival. Never for a refused one, which only
    /// waits for its target.
    due: Option<Duration>,
    received: Duration,
    /// Its throw's target, once that has been taken.
    hand: Option<HandState>,
}

/// A target whose closing time has not arrived yet.
#[derive(Debug, Clone, Copy, PartialEq)]
struct EarlyTarget {
    received: Duration,
    /// `None`: it was refused, and its closing time will be ignored.
    taken: Option<HandState>,
}

/// Closing times and targets that wait for each other; more are a flood.
const MOST_WAITING: usize = 16;

/// What an arm does at its deadlines.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// The hand closes for this reservation.
    Close(usize),
    Open,
    Control,
}

/// The controller's state machine. Times are since the arm's start.
#[derive(Debug, Clone)]
pub struct ArmController {
    settings: ArmSettings,
    motion: Motion,
    next_report: Option<Duration>,
    /// In order of arrival. Closing times and targets come on two topics, each in order: the first of one kind belongs
    /// to the first of the other.
    reservations: VecDeque<Reservation>,
    early_targets: VecDeque<EarlyTarget>,
    flights: Flights,
    closed: Option<Duration>,
    opens: Option<Duration>,
    outputs: VecDeque<ArmOutput>,
}

impl ArmController {
    /// An arm at rest, straight up, hand open.
    pub fn new(settings: ArmSettings) -> Self {
        let mut outputs = VecDeque::with_capacity(16);
        outputs.push_back(ArmOutput::State([0.0; 12]));
        Self {
            settings,
            motion: Motion::Rest(Joints::zeros()),
            next_report: None,
            reservations: VecDeque::with_capacity(MOST_WAITING),
            early_targets: VecDeque::with_capacity(MOST_WAITING),
            flights: Flights::default(),
            closed: None,
            opens: None,
            outputs,
        }
    }

    /// The settings in force.
    pub fn settings(&self) -> &ArmSettings {
        &self.settings
    }

    /// Changes the settings; a move under way goes on from where it is.
    pub fn configure(&mut self, settings: ArmSettings, now: Duration) {
        self.advance(now);
        let goal = self.goal();
        let (angles, speeds) = self.state_at(now);
        self.settings = settings;
        if !matches!(self.motion, Motion::Rest(_)) {
            let goal = self.settings.robot.limits.clamp(&goal);
            self.start(angles, speeds, goal, now);
        }
    }

    /// Angles and speeds at `now`. Also between two control periods: the motion is continuous.
    pub fn state_at(&self, now: Duration) -> (Joints, Joints) {
        match &self.motion {
            Motion::Rest(angles) => (*angles, Joints::zeros()),
            Motion::Pd { since, step } => {
                step.at(now.saturating_sub(*since).as_secs_f64(), &self.settings.robot.limits)
            }
            Motion::Timed { since, course } => {
                let (angles, speeds) = course.at(now.saturating_sub(*since).as_secs_f64());
                // Braking from a motion begun under wider limits may need more room than there is.
                (self.settings.robot.limits.clamp(&angles), speeds)
            }
        }
    }

    /// Pose and motion of the hand at `now`.
    pub fn hand_state(&self, now: Duration) -> HandState {
        let (angles, speeds) = self.state_at(now);
        self.settings.robot.hand_state(&angles, &speeds)
    }

    /// Is the hand closed?
    pub fn closed(&self) -> bool {
        self.opens.is_some()
    }

    /// When [`ArmController::advance`] next has something to do.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.next_due().map(|(deadline, _)| deadline)
    }

    /// What is due next, and when; of what is due at once the hand comes first.
    fn next_due(&self) -> Option<(Duration, Due)> {
        let closings = self.reservations.iter().enumerate();
        closings
            .filter_map(|(index, reservation)| Some((reservation.due?, Due::Close(index))))
            .chain(self.opens.map(|at| (at, Due::Open)))
            .chain(self.next_report.map(|at| (at, Due::Control)))
            .min_by_key(|(at, _)| *at)
    }

    /// The next thing to do or to tell.
    pub fn poll_output(&mut self) -> Option<ArmOutput> {
        self.outputs.pop_front()
    }

    /// Takes an input.
    pub fn handle(&mut self, input: ArmInput<'_>, now: Duration) {
        self.advance(now);
        let recent = |received: Duration| now.saturating_sub(received) < PAIRING;
        self.early_targets.retain(|target| recent(target.received));
        self.reservations.retain(|r| r.due.is_some() || recent(r.received));
        match input {
            ArmInput::Target(data) => self.target(data, now),
            ArmInput::CloseAt(time) => self.close_at(time, now),
            ArmInput::Angles(data) => {
                if let Err(refusal) = self.angles(data, now) {
                    self.outputs.push_back(ArmOutput::Refused(refusal));
                }
            }
            ArmInput::Ball(data) => {
                // Whoever plans the catch says what is wrong with a malformed one.
                if let Ok(ball) = Ball::from_array(data) {
                    self.flights.thrown(ball, now);
                }
            }
        }
    }

    /// Does everything that is due until `now`.
    pub fn advance(&mut self, now: Duration) {
        while let Some((deadline, due)) = self.next_due().filter(|(deadline, _)| *deadline <= now) {
            match due {
                Due::Close(index) => self.close(index, deadline),
                Due::Open => self.open(deadline),
                Due::Control => self.control(deadline),
            }
        }
    }

    fn target(&mut self, data: &[f32], now: Duration) {
        let pose = HandState::from_array(data);
        let planned = pose.map_err(Refusal::from).and_then(|hand| Ok((hand, self.check(&hand, now)?)));
        // The closing time that arrived with this target, if it came first.
        let waits = |r: &Reservation| r.hand.is_none() && now.saturating_sub(r.received) < PAIRING;
        let own = self.reservations.iter().position(waits);
        match (planned, own) {
            (Ok((hand, needs)), own) => {
                self.outputs.push_back(ArmOutput::Accepted { needs });
                let own = own.filter(|index| {
                    let refused = self.reservations[*index].due.is_none();
                    if refused {
                        self.reservations.remove(*index);
                    }
                    !refused
                });
                match own {
                    Some(index) => {
                        self.reservations[index].hand = Some(hand);
                        self.commit(index, now);
                    }
                    None => {
                        // Nothing says when: a hand that rests there can only be early.
                        if hand.rests() && self.next_catch().is_none() {
                            self.go(&hand, now, now);
                        }
                        self.remember(EarlyTarget { received: now, taken: Some(hand) });
                    }
                }
            }
            (Err(refusal), Some(index)) => match self.reservations.remove(index) {
                Some(Reservation { at, due: Some(_), .. }) => {
                    self.let_go(pose.ok().as_ref(), Some(at.as_secs_f64()), refusal.into());
                }
                // What becomes of the throw was decided with its closing time.
                _ => self.outputs.push_back(ArmOutput::Refused(refusal)),
            },
            (Err(refusal), None) => {
                self.remember(EarlyTarget { received: now, taken: None });
                self.let_go(pose.ok().as_ref(), None, refusal.into());
            }
        }
    }

    /// Seconds that the fastest move to a hand's pose takes, if the arm may go there.
    fn check(&self, hand: &HandState, now: Duration) -> Result<f64, Refusal> {
        let robot = &self.settings.robot;
        if !hand.rests() && self.settings.control == Control::Pd {
            return Err(Refusal::MovingTarget);
        }
        let (angles, speeds) = self.state_at(now);
        let course = robot.fastest_move(&hand.position, &hand.rotation, &angles, &speeds)?;
        robot.clearance(&course.goal())?;
        if hand.rests() && self.next_catch().is_none() {
            self.way_is_clear(&self.motion_to(angles, speeds, course.goal(), now))?;
        }
        Ok(course.duration())
    }

    /// Looks ahead along a motion for what it would touch.
    fn way_is_clear(&self, motion: &Motion) -> Result<(), Touch> {
        let robot = &self.settings.robot;
        match motion {
            Motion::Rest(_) => Ok(()),
            Motion::Timed { course, .. } => robot.way_is_clear(course),
            Motion::Pd { step, .. } => {
                let period = self.settings.period.as_secs_f64();
                let (mut step, goal) = (*step, step.goal());
                for _ in 0..(FORESIGHT.as_secs_f64() / period) as u32 {
                    let looks = (period / 0.02).ceil().max(1.0);
                    for k in 1..=looks as u32 {
                        robot.clearance(&step.at(period * f64::from(k) / looks, &robot.limits).0)?;
                    }
                    let (angles, speeds) = step.at(period, &robot.limits);
                    if (angles - goal).amax() <= ARRIVED && speeds.amax() <= ARRIVED {
                        break;
                    }
                    step = self.pd_step(angles, speeds, goal);
                }
                Ok(())
            }
        }
    }

    /// The catch that comes first of those whose target and closing time are both known.
    fn next_catch(&self) -> Option<usize> {
        let known = self.reservations.iter().enumerate().filter(|(_, r)| r.hand.is_some() && r.due.is_some());
        known.min_by_key(|(_, r)| r.at).map(|(index, _)| index)
    }

    /// The throw at `index` is one to catch: now, or after those that come before it.
    fn commit(&mut self, index: usize, now: Duration) {
        let at = self.reservations[index].at;
        let others = self.reservations.iter().filter(|r| r.hand.is_some() && r.due.is_some()).map(|r| r.at);
        let near = |other: &Duration| *other != at && other.abs_diff(at) < REGRIP;
        if let Some(close_at) = others.chain(self.closed).find(near) {
            let Some(Reservation { hand, .. }) = self.reservations.remove(index) else { return };
            return self.let_go(hand.as_ref(), Some(at.as_secs_f64()), LetGo::HandBusy { close_at });
        }
        if self.next_catch() == Some(index) {
            self.go_to_next(now);
        }
        self.let_loose(now);
    }

    fn go_to_next(&mut self, now: Duration) {
        if let Some(Reservation { at, hand: Some(hand), .. }) =
            self.next_catch().map(|i| self.reservations[i])
        {
            self.go(&hand, at, now);
        }
    }

    /// Sets off for a hand's pose, to be there at `at` if it is a moving one.
    fn go(&mut self, hand: &HandState, at: Duration, now: Duration) {
        let (angles, speeds) = self.state_at(now);
        let time = at.saturating_sub(now).as_secs_f64();
        // Whether it can be reached was asked when it arrived.
        let Ok(course) = self.settings.robot.course(hand, &angles, &speeds, time) else { return };
        match self.settings.control {
            Control::Pd => self.start(angles, speeds, course.goal(), now),
            Control::Timed => self.set_off(Motion::Timed { since: now, course }, now),
        }
    }

    fn remember(&mut self, target: EarlyTarget) {
        if self.early_targets.len() == MOST_WAITING {
            self.early_targets.pop_front();
        }
        self.early_targets.push_back(target);
    }

    fn close_at(&mut self, time: f32, now: Duration) {
        let hand = match self.early_targets.pop_front() {
            Some(EarlyTarget { taken: None, .. }) => return,
            Some(EarlyTarget { taken, .. }) => taken,
            None => None,
        };
        if self.reservations.len() == MOST_WAITING {
            self.supersede_oldest();
        }
        match instant(time, now) {
            Ok(at) => {
                let due = Some(if at <= now { now + GRACE } else { at });
                self.reservations.push_back(Reservation { at, due, received: now, hand });
                match hand {
                    Some(_) => self.commit(self.reservations.len() - 1, now),
                    None => self.let_loose(now),
                }
            }
            Err(refusal) => {
                if hand.is_none() {
                    let refused = Reservation { at: now, due: None, received: now, hand: None };
                    self.reservations.push_back(refused);
                }
                let at = Some(f64::from(time)).filter(|time| time.is_finite());
                self.outputs.push_back(
                    match self.flights.lose(hand.map(|hand| hand.position).as_ref(), at) {
                        Some(ball) => {
                            ArmOutput::LetGo { released: Some(ball.released), reason: refusal.into() }
                        }
                        // A closing time without a ball was no throw.
                        None => ArmOutput::Refused(refusal),
                    },
                );
            }
        }
    }

    fn supersede_oldest(&mut self) {
        if let Some(Reservation { at, hand: Some(hand), .. }) = self.reservations.pop_front() {
            self.let_go(Some(&hand), Some(at.as_secs_f64()), LetGo::Superseded { close_at: at });
        }
    }

    /// A hand still closed from the last catch has to let go before it can catch again.
    fn let_loose(&mut self, now: Duration) {
        let (Some(closed), Some(opens)) = (self.closed, self.opens) else { return };
        let at = opens.min(closed + GRIP);
        if at <= now {
            self.open(now);
        } else {
            self.opens = Some(at);
        }
    }

    fn let_go(&mut self, hand: Option<&HandState>, at: Option<f64>, reason: LetGo) {
        let released =
            self.flights.lose(hand.map(|hand| hand.position).as_ref(), at).map(|ball| ball.released);
        self.outputs.push_back(ArmOutput::LetGo { released, reason });
    }

    fn angles(&mut self, data: &[f32], now: Duration) -> Result<(), Refusal> {
        let (goal, goal_speeds) = joint_target_from_array(data)?;
        if goal_speeds.amax() > 5e-4 {
            return Err(Refusal::MovingAngles);
        }
        let robot = &self.settings.robot;
        robot.limits.check(&goal)?;
        robot.clearance(&goal)?;
        let (angles, speeds) = self.state_at(now);
        let motion = self.motion_to(angles, speeds, goal, now);
        self.way_is_clear(&motion)?;
        let needs = Move::new(&angles, &speeds, &goal, &robot.limits).duration();
        if (7..12).contains(&data.len()) {
            self.outputs.push_back(ArmOutput::Surplus { values: data.len() - 6 });
        }
        self.outputs.push_back(ArmOutput::Accepted { needs });
        self.set_off(motion, now);
        Ok(())
    }

    fn motion_to(&self, angles: Joints, speeds: Joints, goal: Joints, now: Duration) -> Motion {
        match self.settings.control {
            Control::Pd => Motion::Pd { since: now, step: self.pd_step(angles, speeds, goal) },
            Control::Timed => Motion::Timed {
                since: now,
                course: Move::new(&angles, &speeds, &goal, &self.settings.robot.limits),
            },
        }
    }

    fn start(&mut self, angles: Joints, speeds: Joints, goal: Joints, now: Duration) {
        self.set_off(self.motion_to(angles, speeds, goal, now), now);
    }

    fn set_off(&mut self, motion: Motion, now: Duration) {
        self.motion = motion;
        self.next_report = Some(now + self.settings.period);
    }

    fn pd_step(&self, angles: Joints, speeds: Joints, goal: Joints) -> PdStep {
        PdStep::new(angles, speeds, goal, &self.settings.gains, self.settings.period.as_secs_f64())
    }

    fn goal(&self) -> Joints {
        match &self.motion {
            Motion::Rest(angles) => *angles,
            Motion::Pd { step, .. } => step.goal(),
            Motion::Timed { course, .. } => course.goal(),
        }
    }

    /// One control period ends at `at`.
    fn control(&mut self, at: Duration) {
        let (mut angles, mut speeds) = self.state_at(at);
        let goal = self.goal();
        if (angles - goal).amax() <= ARRIVED && speeds.amax() <= ARRIVED {
            (angles, speeds) = (goal, Joints::zeros());
            self.motion = Motion::Rest(goal);
            self.next_report = None;
        } else {
            if let Motion::Pd { .. } = self.motion {
                let step = self.pd_step(angles, speeds, goal);
                self.motion = Motion::Pd { since: at, step };
            }
            self.next_report = Some(at + self.settings.period);
        }
        self.outputs.push_back(ArmOutput::State(arm_state_to_array(&angles, &speeds)));
    }

    /// The simulated hand closes at the planned instant, however late the process woke up.
    fn close(&mut self, index: usize, at: Duration) {
        let reservation = self.reservations[index];
        // Of several for the same instant one is enough; one without a target goes on waiting for it.
        self.reservations.retain_mut(|r| {
            let over = r.due == Some(at);
            if over {
                r.due = None;
            }
            !over || (r.hand.is_none() && at.saturating_sub(r.received) < PAIRING)
        });
        if let Some(hand) = reservation.hand {
            self.flights.lose(Some(&hand.position), Some(reservation.at.as_secs_f64()));
        }
        if self.opens.is_some() {
            self.open(at);
        }
        let (angles, speeds) = self.state_at(at);
        self.outputs.push_back(ArmOutput::State(arm_state_to_array(&angles, &speeds)));
        self.outputs.push_back(ArmOutput::Hand { closed: true, at });
        self.closed = Some(at);
        self.opens = Some(at + self.settings.hold);
        if self.next_catch().is_some() {
            self.go_to_next(at);
            self.let_loose(at);
        }
    }

    fn open(&mut self, at: Duration) {
        self.opens = None;
        self.outputs.push_back(ArmOutput::Hand { closed: false, at });
    }
}

impl Engine for ArmController {
    type Input<'a> = ArmInput<'a>;
    type Output = ArmOutput;

    fn handle(&mut self, input: ArmInput<'_>, now: Now) {
        self.handle(input, now.mono);
    }

    fn wake(&mut self, now: Now) {
        self.advance(now.mono);
    }

    fn poll_output(&mut self) -> Option<ArmOutput> {
        self.poll_output()
    }

    fn next_deadline(&self) -> Option<Duration> {
        self.next_deadline()
    }
}

/// When a closing time is, if that can be meant.
fn instant(time: f32, now: Duration) -> Result<Duration, Refusal> {
    let ahead = f64::from(time) - now.as_secs_f64();
    if !time.is_finite() {
        Err(Refusal::CloseTimeNotFinite(time))
    } else if time < 0.0 || ahead < -OLDEST.as_secs_f64() || ahead > FARTHEST.as_secs_f64() {
        Err(Refusal::CloseTimeOutOfRange { close_at: time, now: now.as_secs_f64() })
    } else {
        Ok(Duration::from_secs_f64(time.into()))
    }
}
