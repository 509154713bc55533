//! The arm's controller: targets in, joint states and hand commands out, in simulated or real time.

use std::{collections::VecDeque, time::Duration};

use nalgebra::{Matrix3, Vector3};

use crate::{
    Gains, HandState, Joints, LimitViolation, Malformed, Move, Robot, Unreachable,
    layout::{arm_state_to_array, joint_target_from_array},
    pd::PdStep,
};

/// Nearer than this to its goal (rad and rad/s) a joint has arrived.
const ARRIVED: f64 = 1e-4;
/// How far apart the closing time and the target of one throw may arrive.
const PAIRING: Duration = Duration::from_millis(250);
/// A closing time that is over on arrival waits this long for its target, which may turn out unreachable.
const GRACE: Duration = Duration::from_millis(20);
/// Closing times older or farther ahead than these come from another clock.
const OLDEST: Duration = Duration::from_secs(1);
const FARTHEST: Duration = Duration::from_secs(30);

/// How the arm moves to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Control {
    /// PD control with switched gains, one choice of gains per period.
    #[default]
    Pd,
    /// The fastest move the limits allow, to rest at the target.
    Timed,
}

/// What can be set about the controller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmConfig {
    pub robot: Robot,
    pub control: Control,
    pub gains: Gains,
    /// Control period, and the period of reported states.
    pub period: Duration,
    /// How long the hand stays closed.
    pub hold: Duration,
}

impl Default for ArmConfig {
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
    /// A hand pose to move to.
    Target(&'a [f32]),
    /// When to close the hand, seconds since the arm's start.
    CloseAt(f32),
    /// Joint angles to move to.
    Angles(&'a [f32]),
}

/// What the controller wants done or known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ArmOutput {
    /// Angles and speeds, to be published.
    State([f32; 12]),
    /// The hand closed or opened at this instant.
    Hand { closed: bool, at: Duration },
    /// A target was taken; the fastest move there would take this many seconds.
    Accepted { needs: f64 },
    /// An input was not taken. If it was a throw's target, the hand will not close for that throw.
    Refused(Refusal),
    /// An earlier throw will not be caught, because a newer one replaced its closing time.
    Superseded { close_at: Duration },
}

/// Why the controller did not take an input.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("malformed {0}")]
    Malformed(#[from] Malformed),
    #[error("unreachable target: {0}")]
    Unreachable(#[from] Unreachable),
    #[error("{0}")]
    Limit(#[from] LimitViolation),
    #[error("a target with speeds is refused: the arm comes to rest at its target, send zeros")]
    MovingTarget,
    #[error("closing time {0} is not a finite number")]
    CloseTimeNotFinite(f32),
    #[error(
        "closing time {close_at} s, but now is {now:.3} s: is the sender using this arm's clock (get_init_time)?"
    )]
    CloseTimeOutOfRange { close_at: f32, now: f64 },
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
    /// When to act on it: `at`, or a little later for one that was over on arrival.
    due: Duration,
    received: Duration,
    /// Its throw's target has been taken.
    paired: bool,
}

/// The controller's state machine. Times are since the arm's start.
#[derive(Debug, Clone)]
pub struct ArmController {
    config: ArmConfig,
    motion: Motion,
    next_report: Option<Duration>,
    reservation: Option<Reservation>,
    /// The reservation that a newer, not yet paired one replaced.
    shadowed: Option<Reservation>,
    /// Until then a closing time without a target belongs to a throw already refused.
    refuse_close_until: Option<Duration>,
    opens: Option<Duration>,
    outputs: VecDeque<ArmOutput>,
}

impl ArmController {
    /// An arm at rest, straight up, hand open.
    pub fn new(config: ArmConfig) -> Self {
        let mut outputs = VecDeque::with_capacity(16);
        outputs.push_back(ArmOutput::State([0.0; 12]));
        Self {
            config,
            motion: Motion::Rest(Joints::zeros()),
            next_report: None,
            reservation: None,
            shadowed: None,
            refuse_close_until: None,
            opens: None,
            outputs,
        }
    }

    pub fn config(&self) -> &ArmConfig {
        &self.config
    }

    /// Changes the settings; a move under way goes on from where it is.
    pub fn configure(&mut self, config: ArmConfig, now: Duration) {
        self.advance(now);
        let goal = self.goal();
        let (angles, speeds) = self.state_at(now);
        self.config = config;
        if !matches!(self.motion, Motion::Rest(_)) {
            let goal = self.config.robot.limits.clamp(&goal);
            self.start(angles, speeds, goal, now);
        }
    }

    /// Angles and speeds at `now`. Also between two control periods: the motion is continuous.
    pub fn state_at(&self, now: Duration) -> (Joints, Joints) {
        match &self.motion {
            Motion::Rest(angles) => (*angles, Joints::zeros()),
            Motion::Pd { since, step } => {
                step.at(now.saturating_sub(*since).as_secs_f64(), &self.config.robot.limits)
            }
            Motion::Timed { since, course } => {
                let (angles, speeds) = course.at(now.saturating_sub(*since).as_secs_f64());
                // Braking from a motion begun under wider limits may need more room than there is.
                (self.config.robot.limits.clamp(&angles), speeds)
            }
        }
    }

    /// Pose and motion of the hand at `now`.
    pub fn hand_state(&self, now: Duration) -> HandState {
        let (angles, speeds) = self.state_at(now);
        self.config.robot.hand_state(&angles, &speeds)
    }

    /// Is the hand closed?
    pub fn closed(&self) -> bool {
        self.opens.is_some()
    }

    /// When [`ArmController::advance`] next has something to do.
    pub fn next_deadline(&self) -> Option<Duration> {
        [self.next_report, self.reservation.map(|r| r.due), self.opens].into_iter().flatten().min()
    }

    /// The next thing to do or to tell.
    pub fn poll_output(&mut self) -> Option<ArmOutput> {
        self.outputs.pop_front()
    }

    /// Takes an input.
    pub fn handle(&mut self, input: ArmInput<'_>, now: Duration) {
        self.advance(now);
        let result = match input {
            ArmInput::Target(data) => self.target(data, now),
            ArmInput::CloseAt(time) => self.close_at(time, now),
            ArmInput::Angles(data) => self.angles(data, now),
        };
        if let Err(refusal) = result {
            self.outputs.push_back(ArmOutput::Refused(refusal));
        }
    }

    /// Does everything that is due until `now`.
    pub fn advance(&mut self, now: Duration) {
        while let Some(deadline) = self.next_deadline().filter(|d| *d <= now) {
            if self.reservation.is_some_and(|r| r.due == deadline) {
                self.close();
            } else if self.opens == Some(deadline) {
                self.open(deadline);
            } else {
                self.control(deadline);
            }
        }
    }

    fn target(&mut self, data: &[f32], now: Duration) -> Result<(), Refusal> {
        let planned = HandState::from_array(data).map_err(Refusal::from).and_then(|hand| {
            if hand.velocity.amax() > 5e-4 || hand.rotation_rate.amax() > 5e-4 {
                return Err(Refusal::MovingTarget);
            }
            let (angles, speeds) = self.state_at(now);
            let course = self.config.robot.fastest_move(&hand.position, &hand.rotation, &angles, &speeds)?;
            Ok((angles, speeds, course))
        });
        // The closing time that arrived with this target, if it came first.
        let own = self.reservation.filter(|r| !r.paired && now.saturating_sub(r.received) < PAIRING);
        match planned {
            Ok((angles, speeds, course)) => {
                if let Some(reservation) = &mut self.reservation {
                    reservation.paired = true;
                }
                if let Some(old) = self.shadowed.take() {
                    self.outputs.push_back(ArmOutput::Superseded { close_at: old.at });
                }
                self.outputs.push_back(ArmOutput::Accepted { needs: course.duration() });
                self.start(angles, speeds, course.goal(), now);
                Ok(())
            }
            Err(refusal) => {
                if own.is_some() {
                    // The throw before this one may still be caught.
                    self.reservation = self.shadowed.take().filter(|old| old.due > now);
                } else {
                    self.refuse_close_until = Some(now + PAIRING);
                }
                Err(refusal)
            }
        }
    }

    fn close_at(&mut self, time: f32, now: Duration) -> Result<(), Refusal> {
        if !time.is_finite() {
            return Err(Refusal::CloseTimeNotFinite(time));
        }
        if self.refuse_close_until.take().is_some_and(|until| now <= until) {
            return Ok(());
        }
        let ahead = f64::from(time) - now.as_secs_f64();
        if time < 0.0 || ahead < -OLDEST.as_secs_f64() || ahead > FARTHEST.as_secs_f64() {
            return Err(Refusal::CloseTimeOutOfRange { close_at: time, now: now.as_secs_f64() });
        }
        let at = Duration::from_secs_f64(time.into());
        let due = if at <= now { now + GRACE } else { at };
        self.shadowed = self.reservation.replace(Reservation { at, due, received: now, paired: false });
        // A hand still closed from the last catch has to let go before it can catch again.
        if self.opens.is_some() {
            self.open(now);
        }
        Ok(())
    }

    fn angles(&mut self, data: &[f32], now: Duration) -> Result<(), Refusal> {
        let (goal, goal_speeds) = joint_target_from_array(data)?;
        if goal_speeds.amax() > 5e-4 {
            return Err(Refusal::MovingTarget);
        }
        self.config.robot.limits.check(&goal)?;
        let (angles, speeds) = self.state_at(now);
        let needs = Move::new(&angles, &speeds, &goal, &self.config.robot.limits).duration();
        self.outputs.push_back(ArmOutput::Accepted { needs });
        self.start(angles, speeds, goal, now);
        Ok(())
    }

    fn start(&mut self, angles: Joints, speeds: Joints, goal: Joints, now: Duration) {
        self.motion = match self.config.control {
            Control::Pd => Motion::Pd { since: now, step: self.pd_step(angles, speeds, goal) },
            Control::Timed => Motion::Timed {
                since: now,
                course: Move::new(&angles, &speeds, &goal, &self.config.robot.limits),
            },
        };
        self.next_report = Some(now + self.config.period);
    }

    fn pd_step(&self, angles: Joints, speeds: Joints, goal: Joints) -> PdStep {
        PdStep::new(angles, speeds, goal, &self.config.gains, self.config.period.as_secs_f64())
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
            self.next_report = Some(at + self.config.period);
        }
        self.outputs.push_back(ArmOutput::State(arm_state_to_array(&angles, &speeds)));
    }

    /// The simulated hand closes at the planned instant, however late the process woke up.
    fn close(&mut self) {
        let Some(Reservation { due: at, .. }) = self.reservation.take() else { return };
        self.shadowed = None;
        self.outputs.push_back(ArmOutput::Hand { closed: true, at });
        self.opens = Some(at + self.config.hold);
    }

    fn open(&mut self, at: Duration) {
        self.opens = None;
        self.outputs.push_back(ArmOutput::Hand { closed: false, at });
    }
}

impl Robot {
    /// Of all postures that put the hand at a pose, the move to the one reached soonest from a moving start.
    pub fn fastest_move(
        &self,
        position: &Vector3<f64>,
        rotation: &Matrix3<f64>,
        angles: &Joints,
        speeds: &Joints,
    ) -> Result<Move, Unreachable> {
        let solutions = self.inverse_frame(position, rotation, angles)?;
        let course = |goal: &Joints| Move::shortest(angles, speeds, goal, &self.limits);
        let goal = solutions.best_by(|goal| course(goal).duration())?;
        Ok(course(&goal))
    }
}
