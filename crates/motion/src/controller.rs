//! The queue between clients and the robot: who may add what, what goes next, and who is told.

use std::{collections::VecDeque, time::Duration};

use rosless_engine::{Engine, Now};

use crate::{
    handshake::{CommandInterfaces, ExecutionState, Hardware, RobotEvent, StateInterfaces},
    primitive::{Checked, Command, Frames, RawPrimitive, Refusal, check},
};

/// A primitive's number, given when it is accepted.
pub type PrimitiveId = u64;
/// An action goal's id, as the action protocol has it.
pub type GoalId = [u8; 16];

/// What can be set from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Primitives from the reference topic that may wait.
    pub queue_size: usize,
    /// Primitives one goal may have.
    pub goal_size: usize,
    /// An open sequence that gets nothing for this long is given up.
    pub sequence_timeout: Duration,
    pub frames: Frames,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            queue_size: 10,
            goal_size: 1024,
            sequence_timeout: Duration::from_secs(30),
            frames: Frames::default(),
        }
    }
}

/// The life of primitives, for those who stream them.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Accepted {
        id: PrimitiveId,
        warnings: Vec<String>,
    },
    Refused {
        reason: Refusal,
    },
    Started {
        id: PrimitiveId,
    },
    /// `next` began before `id` was at its target.
    Blended {
        id: PrimitiveId,
        next: PrimitiveId,
    },
    Finished {
        id: PrimitiveId,
    },
    /// The robot could not do it and is in ERROR.
    Failed {
        id: PrimitiveId,
        reason: String,
    },
    /// Accepted, but will not be executed.
    Discarded {
        id: PrimitiveId,
        reason: String,
    },
    Note {
        id: PrimitiveId,
        text: String,
    },
}

/// How a goal ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalOutcome {
    Succeeded,
    Aborted(String),
    Canceled,
}

/// What the engine wants done or known.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    State(ExecutionState),
    /// Primitives that wait for the robot.
    QueueDepth(usize),
    Event(Event),
    Feedback {
        goal: GoalId,
        index: u8,
    },
    GoalDone {
        goal: GoalId,
        outcome: GoalOutcome,
    },
}

#[derive(Debug, Clone, Copy)]
struct Queued {
    id: PrimitiveId,
    command: Command,
}

/// The tail of the queue since SEQUENCE_START.
#[derive(Debug)]
struct OpenSequence {
    length: usize,
    last_addition: Duration,
    /// A sequence with a hole in it is not the motion the client wanted.
    broken: Option<Refusal>,
}

#[derive(Debug)]
struct Goal {
    id: GoalId,
    /// The first primitive; the others follow without a gap.
    first: PrimitiveId,
    last: PrimitiveId,
    ending: Option<GoalOutcome>,
    seen_executing: bool,
}

/// Why the robot is being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    No,
    /// Stays stopped until RESET_STOP.
    UntilReset,
    /// RESET_STOP follows as soon as the robot stands.
    ThenReset,
}

/// The engine. Inputs are the methods, outputs come from [`QueueController::poll_output`], [`QueueController::update`]
/// is the control cycle.
#[derive(Debug)]
pub struct QueueController<H> {
    config: Config,
    hardware: H,
    interfaces: CommandInterfaces,
    /// What was written last, which the robot has taken since.
    last_command: CommandInterfaces,
    commands: u64,
    state: StateInterfaces,
    active: bool,
    queue: VecDeque<Queued>,
    open: Option<OpenSequence>,
    /// Ids of the commands the robot has taken, and the robot's number of the first of them.
    in_robot: VecDeque<Option<PrimitiveId>>,
    first_in_robot: u64,
    next_id: PrimitiveId,
    goal: Option<Goal>,
    stop: Stop,
    outputs: VecDeque<Output>,
    reported_depth: usize,
}

impl<H: Hardware> QueueController<H> {
    /// `None` for a queue that can hold nothing.
    pub fn new(config: Config, hardware: H) -> Option<Self> {
        (config.queue_size > 0).then(|| Self {
            config,
            hardware,
            interfaces: CommandInterfaces::default(),
            last_command: CommandInterfaces::default(),
            commands: 0,
            state: StateInterfaces { status: ExecutionState::Idle, ready: false },
            active: false,
            queue: VecDeque::new(),
            open: None,
            in_robot: VecDeque::new(),
            first_in_robot: 0,
            next_id: 0,
            goal: None,
            stop: Stop::No,
            outputs: VecDeque::new(),
            reported_depth: 0,
        })
    }

    pub fn hardware(&self) -> &H {
        &self.hardware
    }

    pub fn hardware_mut(&mut self) -> &mut H {
        &mut self.hardware
    }

    pub fn state(&self) -> ExecutionState {
        self.state.status
    }

    pub fn is_ready(&self) -> bool {
        self.state.ready
    }

    pub fn queue_depth(&self) -> usize {
        self.queue.len()
    }

    /// The command the robot was given last, for inspection; the robot itself clears its values when it takes them.
    pub fn last_command(&self) -> &CommandInterfaces {
        &self.last_command
    }

    /// How many commands the robot was given.
    pub fn commands(&self) -> u64 {
        self.commands
    }

    /// Whether [`QueueController::update`] has something to do: the robot moves, or a primitive can be handed over.
    pub fn is_busy(&self) -> bool {
        matches!(self.state.status, ExecutionState::Executing | ExecutionState::Stopping)
            || self.waiting() > 0
            || self.goal_has_failed()
    }

    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Lets commands in.
    pub fn activate(&mut self, now: Duration) {
        self.active = true;
        if self.stop == Stop::UntilReset {
            self.reset(now);
        }
    }

    /// Stops the robot and forgets everything that waits.
    pub fn deactivate(&mut self, now: Duration) {
        if self.active {
            self.end_goal_with(GoalOutcome::Aborted("the controller was deactivated".into()));
            self.stop(Stop::UntilReset, "the controller was deactivated", now);
            self.active = false;
        }
    }

    /// A message from the reference topic.
    pub fn reference(&mut self, raw: &RawPrimitive, now: Duration) {
        match self.admit(raw, now) {
            Ok(Some((id, warnings))) => self.event(Event::Accepted { id, warnings }),
            Ok(None) => {}
            Err(reason) => {
                if let Some(open) = &mut self.open {
                    // The markers themselves may be wrong without harm to what is between them.
                    if !matches!(reason, Refusal::SequenceOpen | Refusal::NoSequence) {
                        open.broken.get_or_insert_with(|| reason.clone());
                    }
                }
                self.event(Event::Refused { reason });
            }
        }
        self.report_depth();
    }

    fn admit(
        &mut self,
        raw: &RawPrimitive,
        now: Duration,
    ) -> Result<Option<(PrimitiveId, Vec<String>)>, Refusal> {
        if !self.active {
            return Err(Refusal::NotActive);
        }
        let Checked { command, warnings } = check(raw, &self.config.frames)?;
        match command {
            Command::Stop => {
                self.end_goal_with(GoalOutcome::Aborted("stopped by STOP_MOTION".into()));
                self.stop(Stop::UntilReset, "STOP_MOTION", now);
                return Ok(None);
            }
            // There is nothing to lift, and ERROR itself needs STOP first.
            Command::ResetStop if self.state.status == ExecutionState::Error && self.stop == Stop::No => {
                return Err(Refusal::RobotError);
            }
            Command::ResetStop => {
                self.reset(now);
                return Ok(None);
            }
            _ => self.may_move()?,
        }
        if self.goal.is_some() {
            return Err(Refusal::GoalActive);
        }
        match command {
            Command::SequenceStart if self.open.is_some() => return Err(Refusal::SequenceOpen),
            Command::SequenceEnd if self.open.is_none() => return Err(Refusal::NoSequence),
            Command::SequenceEnd => self.may_close()?,
            _ => {}
        }
        // The end of a sequence always fits: without it the queue would be stuck.
        if self.queue.len() >= self.config.queue_size && command != Command::SequenceEnd {
            return Err(Refusal::QueueFull(self.config.queue_size));
        }
        let id = self.enqueue(command);
        match command {
            Command::SequenceStart => {
                self.open = Some(OpenSequence { length: 1, last_addition: now, broken: None });
            }
            Command::SequenceEnd => self.open = None,
            _ => {
                if let Some(open) = &mut self.open {
                    open.length += 1;
                    open.last_addition = now;
                }
            }
        }
        Ok(Some((id, warnings)))
    }

    fn may_move(&self) -> Result<(), Refusal> {
        if !self.active {
            Err(Refusal::NotActive)
        } else if self.state.status == ExecutionState::Error {
            Err(Refusal::RobotError)
        } else if self.stop != Stop::No {
            Err(Refusal::Stopped)
        } else {
            Ok(())
        }
    }

    /// Whether the open sequence can be executed as it is; if not, it is gone.
    fn may_close(&mut self) -> Result<(), Refusal> {
        let Some(open) = &self.open else { return Err(Refusal::NoSequence) };
        let last = self.queue.back().map(|queued| queued.command);
        let fault = match (&open.broken, last) {
            (Some(reason), _) => Some(reason.clone()),
            (None, Some(Command::Move(primitive))) if primitive.blend_radius > 0.0 => {
                Some(Refusal::LastBlend(primitive.blend_radius))
            }
            (None, Some(Command::Move(_))) => None,
            (None, _) => Some(Refusal::EmptySequence),
        };
        match fault {
            Some(reason) => {
                self.drop_open_sequence(&format!("its sequence was refused: {reason}"));
                Err(reason)
            }
            None => Ok(()),
        }
    }

    fn drop_open_sequence(&mut self, why: &str) {
        if let Some(open) = self.open.take() {
            let keep = self.queue.len().saturating_sub(open.length);
            for queued in self.queue.split_off(keep) {
                self.event(Event::Discarded { id: queued.id, reason: why.to_owned() });
            }
        }
    }

    fn enqueue(&mut self, command: Command) -> PrimitiveId {
        let id = self.next_id;
        self.next_id += 1;
        self.queue.push_back(Queued { id, command });
        id
    }

    /// An action goal: several primitives are one blended sequence. Accepted, or why not.
    pub fn offer_goal(&mut self, goal: GoalId, primitives: &[RawPrimitive]) -> Result<(), Refusal> {
        self.may_move()?;
        if self.goal.is_some() {
            return Err(Refusal::GoalActive);
        }
        if !self.queue.is_empty() || self.state.status == ExecutionState::Executing {
            return Err(Refusal::ReferenceActive);
        }
        if primitives.is_empty() {
            return Err(Refusal::EmptySequence);
        }
        if primitives.len() > self.config.goal_size {
            return Err(Refusal::GoalTooLong { count: primitives.len(), limit: self.config.goal_size });
        }
        let mut checked = Vec::with_capacity(primitives.len());
        for (index, raw) in primitives.iter().enumerate() {
            let one = check(raw, &self.config.frames).map_err(|reason| reason.at(index))?;
            match one.command {
                Command::Move(primitive) => checked.push((primitive, one.warnings)),
                _ => return Err(Refusal::HelperInGoal(raw.kind).at(index)),
            }
        }
        let blend = checked[checked.len() - 1].0.blend_radius;
        if blend > 0.0 && checked.len() > 1 {
            return Err(Refusal::LastBlend(blend));
        }
        let sequence = checked.len() > 1;
        if sequence {
            self.enqueue(Command::SequenceStart);
        }
        let first = self.next_id;
        for (primitive, warnings) in checked {
            let id = self.enqueue(Command::Move(primitive));
            self.event(Event::Accepted { id, warnings });
        }
        let last = self.next_id - 1;
        if sequence {
            self.enqueue(Command::SequenceEnd);
        }
        self.goal = Some(Goal { id: goal, first, last, ending: None, seen_executing: false });
        self.report_depth();
        Ok(())
    }

    /// Cancels the goal: STOP now, CANCELED when the robot stands, then ready again. False if it is not this goal.
    pub fn cancel_goal(&mut self, goal: GoalId, now: Duration) -> bool {
        let known = self.goal.as_ref().is_some_and(|active| active.id == goal && active.ending.is_none());
        if known {
            self.end_goal_with(GoalOutcome::Canceled);
            self.stop(Stop::ThenReset, "its goal was canceled", now);
        }
        known
    }

    /// The goal ends this way when the robot stands.
    fn end_goal_with(&mut self, outcome: GoalOutcome) {
        if let Some(goal) = &mut self.goal {
            goal.ending.get_or_insert(outcome);
        }
    }

    fn finish_goal(&mut self, outcome: GoalOutcome) {
        if let Some(goal) = self.goal.take() {
            self.outputs.push_back(Output::GoalDone { goal: goal.id, outcome });
        }
    }

    /// The goal ends as it was meant to, or aborted because of `unasked`.
    fn end_goal(&mut self, unasked: &str) {
        if let Some(goal) = &mut self.goal {
            let outcome = goal.ending.take().unwrap_or_else(|| GoalOutcome::Aborted(unasked.to_owned()));
            self.finish_goal(outcome);
        }
    }

    fn stop(&mut self, stop: Stop, why: &str, now: Duration) {
        self.open = None;
        let waiting = std::mem::take(&mut self.queue);
        for id in waiting.iter().map(|queued| queued.id) {
            self.event(Event::Discarded { id, reason: why.to_owned() });
        }
        for id in self.forget_all() {
            self.event(Event::Discarded { id, reason: why.to_owned() });
        }
        // A user's STOP is not undone by the end of a cancel that was under way.
        if self.stop != Stop::UntilReset {
            self.stop = stop;
        }
        self.forward(&Command::Stop, now);
        self.report_depth();
    }

    fn reset(&mut self, now: Duration) {
        match self.state.status {
            ExecutionState::Stopped => {
                self.forward(&Command::ResetStop, now);
                self.stop = Stop::No;
            }
            // It takes effect when the robot stands.
            _ if self.stop != Stop::No => self.stop = Stop::ThenReset,
            _ => {}
        }
    }

    /// Hands a command to the robot past the queue.
    fn forward(&mut self, command: &Command, now: Duration) {
        self.write(command, now);
        self.in_robot.push_back(None);
        self.refresh(now);
    }

    fn write(&mut self, command: &Command, now: Duration) {
        self.interfaces.set(command);
        self.last_command = self.interfaces;
        self.commands += 1;
        self.hardware.write(&mut self.interfaces, now);
    }

    /// The control cycle: reads the robot, feeds it, reports.
    pub fn update(&mut self, now: Duration) {
        if self.goal_has_failed() {
            self.recover(now);
        }
        self.refresh(now);
        if self.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.drop_open_sequence(
                "its sequence was not closed in time: MOTION_SEQUENCE_END (101) did not come",
            );
            self.report_depth();
        }
        self.feed(now);
    }

    /// When `update` must be called even if nobody else has a reason to.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.open.as_ref().map(|open| open.last_addition + self.config.sequence_timeout)
    }

    /// Primitives that may be handed over; what an open sequence has so far waits for its end.
    fn waiting(&self) -> usize {
        self.queue.len() - self.open.as_ref().map_or(0, |open| open.length)
    }

    fn feed(&mut self, now: Duration) {
        if self.waiting() == 0 || !self.state.ready || self.stop != Stop::No {
            return;
        }
        let Some(queued) = self.queue.pop_front() else { return };
        let is_move = matches!(queued.command, Command::Move(_));
        self.write(&queued.command, now);
        self.in_robot.push_back(is_move.then_some(queued.id));
        self.report_depth();
        self.refresh(now);
    }

    fn refresh(&mut self, now: Duration) {
        let before = self.state.status;
        self.state = self.hardware.read(now);
        let status = self.state.status;
        if status != before {
            self.outputs.push_back(Output::State(status));
        }
        while let Some(event) = self.hardware.poll_event() {
            self.robot_event(event);
        }
        if let Some(goal) = &mut self.goal {
            goal.seen_executing |= status == ExecutionState::Executing;
        }
        match status {
            ExecutionState::Stopped => self.standing(now),
            ExecutionState::Error if before != ExecutionState::Error => {
                self.robot_failed("the robot reports ERROR")
            }
            ExecutionState::Success => self.goal_done_by_state(),
            _ => {}
        }
    }

    /// The robot has stopped: goals end, and a stop that nobody else has to lift is lifted.
    fn standing(&mut self, now: Duration) {
        self.end_goal("the robot stopped by itself");
        if self.stop == Stop::ThenReset {
            self.stop = Stop::No;
            self.forward(&Command::ResetStop, now);
        }
    }

    /// For drivers that tell nothing but their state.
    fn goal_done_by_state(&mut self) {
        let done = self.goal.as_ref().is_some_and(|goal| goal.seen_executing && goal.ending.is_none());
        if done && self.queue.is_empty() {
            self.finish_goal(GoalOutcome::Succeeded);
        }
    }

    fn robot_event(&mut self, event: RobotEvent) {
        match event {
            RobotEvent::Started(number) => {
                if let Some(id) = self.id_of(number) {
                    self.started(id);
                    self.event(Event::Started { id });
                }
            }
            RobotEvent::Blended(from, to) => {
                if let (Some(id), Some(next)) = (self.id_of(from), self.id_of(to)) {
                    self.started(next);
                    self.event(Event::Blended { id, next });
                }
            }
            RobotEvent::Finished(number) => {
                let id = self.id_of(number);
                self.forget_through(number);
                if let Some(id) = id {
                    self.event(Event::Finished { id });
                    if self.goal.as_ref().is_some_and(|goal| goal.last == id && goal.ending.is_none()) {
                        self.finish_goal(GoalOutcome::Succeeded);
                    }
                }
            }
            RobotEvent::Failed(number, reason) => {
                let slot = self.index_of(number).and_then(|index| self.in_robot.get_mut(index));
                if let Some(id) = slot.and_then(Option::take) {
                    self.event(Event::Failed { id, reason: reason.clone() });
                }
                self.robot_failed(&reason);
            }
            RobotEvent::Note(number, text) => {
                if let Some(id) = self.id_of(number) {
                    self.event(Event::Note { id, text });
                }
            }
        }
    }

    fn started(&mut self, id: PrimitiveId) {
        let feedback = self.goal.as_ref().filter(|goal| (goal.first..=goal.last).contains(&id)).map(|goal| {
            // The wire has one byte for the index; beyond it the last value stands.
            Output::Feedback { goal: goal.id, index: u8::try_from(id - goal.first).unwrap_or(u8::MAX) }
        });
        self.outputs.extend(feedback);
    }

    fn robot_failed(&mut self, reason: &str) {
        self.end_goal_with(GoalOutcome::Aborted(reason.to_owned()));
        self.open = None;
        let waiting = std::mem::take(&mut self.queue);
        for id in self.forget_all().into_iter().chain(waiting.iter().map(|queued| queued.id)) {
            self.event(Event::Discarded { id, reason: "the robot is in ERROR".into() });
        }
        self.report_depth();
    }

    fn goal_has_failed(&self) -> bool {
        self.state.status == ExecutionState::Error && self.goal.is_some()
    }

    /// An action client has no RESET_STOP to send, so the next goal must find the robot usable. This is done a cycle
    /// after the failure, so that ERROR is told before it is over.
    fn recover(&mut self, now: Duration) {
        self.end_goal("the robot reports ERROR");
        if self.stop != Stop::UntilReset {
            self.stop = Stop::ThenReset;
            self.forward(&Command::Stop, now);
        }
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first_in_robot)?).ok()
    }

    fn id_of(&self, number: u64) -> Option<PrimitiveId> {
        self.in_robot.get(self.index_of(number)?).copied().flatten()
    }

    /// The primitives the robot has taken and will not finish.
    fn forget_all(&mut self) -> Vec<PrimitiveId> {
        self.first_in_robot += self.in_robot.len() as u64;
        self.in_robot.drain(..).flatten().collect()
    }

    fn forget_through(&mut self, number: u64) {
        while self.first_in_robot <= number && self.in_robot.pop_front().is_some() {
            self.first_in_robot += 1;
        }
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn report_depth(&mut self) {
        if self.queue.len() != self.reported_depth {
            self.reported_depth = self.queue.len();
            self.outputs.push_back(Output::QueueDepth(self.reported_depth));
        }
    }
}

/// Primitives come in; goals, which are answered at once, have methods of their own.
impl<H: Hardware> Engine for QueueController<H> {
    type Input<'a> = &'a RawPrimitive;
    type Output = Output;

    fn handle(&mut self, input: &RawPrimitive, now: Now) {
        self.reference(input, now.mono);
    }

    fn wake(&mut self, now: Now) {
        self.update(now.mono);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.poll_output()
    }

    fn next_deadline(&self) -> Option<Duration> {
        self.next_deadline()
    }
}
