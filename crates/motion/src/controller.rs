//! The queue between clients and the robot: who may add what, what goes next, and who is told.
//!
//! | module | question it answers |
//! |---|---|
//! | `admission` | which messages and goals get in, and as what? |
//! | `cycle` | what does the robot do, and what does it get next? |

mod admission;
mod cycle;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use rosless_engine::{Engine, Now};

use crate::{
    frames::Frames,
    handshake::{CommandInterfaces, ExecutionState, StateInterfaces},
    hardware::{Fault, Hardware, Watch},
    primitive::{Command, Primitive, RawPrimitive, Refusal},
    report::{Event, Progress},
};

/// A primitive's number, given when it is accepted.
pub type PrimitiveId = u64;
/// An action goal's id, as the action protocol has it.
pub type GoalId = [u8; 16];
/// Who sent a message: any number that tells publishers apart.
pub type Source = u128;

/// Sequences that may be open at a time, one per publisher.
const MOST_OPEN: usize = 64;
/// A driver that is followed by its state and has not moved for this long after a command has nothing to do for it.
const UNSEEN: Duration = Duration::from_millis(500);

/// What can be set from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueSettings {
    /// Primitives from the reference topic that may wait; a sequence counts as one.
    pub queue_size: usize,
    /// Primitives one goal or one sequence may have.
    pub goal_size: usize,
    /// An open sequence that gets nothing for this long is given up.
    pub sequence_timeout: Duration,
    /// Whether a STOP holds until RESET_STOP, or the robot is ready again as soon as it stands.
    pub latching_stop: bool,
    /// A robot that executes for longer than this without finishing anything has failed.
    pub execution_timeout: Duration,
    /// A robot that needs longer than this to stop has failed.
    pub stop_timeout: Duration,
    /// The frames that poses may be given in.
    pub frames: Frames,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            queue_size: 10,
            goal_size: 1024,
            sequence_timeout: Duration::from_secs(30),
            latching_stop: true,
            execution_timeout: Duration::from_secs(86_400),
            stop_timeout: Duration::from_secs(10),
            frames: Frames::default(),
        }
    }
}

/// How a goal ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalOutcome {
    /// All of it was done.
    Succeeded,
    /// It was not, because of this.
    Aborted(String),
    /// Its client took it back.
    Canceled,
}

/// What the engine wants done or known.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// The robot's state has changed.
    State(ExecutionState),
    /// Primitives that wait for the robot; a sequence counts as one.
    QueueDepth(usize),
    /// Something happened to a primitive.
    Event(Event),
    /// The robot has a fault, or has none any more.
    Fault(Option<Fault>),
    /// A goal is this far.
    Feedback {
        /// Which goal.
        goal: GoalId,
        /// The primitive that runs, from 0.
        index: u8,
    },
    /// A goal has ended.
    GoalDone {
        /// Which goal.
        goal: GoalId,
        /// How.
        outcome: GoalOutcome,
    },
}

#[derive(Debug, Clone, Copy)]
struct Queued {
    id: PrimitiveId,
    command: Command,
    /// Whether a single or a sequence is complete with it.
    is_last: bool,
}

/// What a publisher has sent since its SEQUENCE_START.
#[derive(Debug)]
struct OpenSequence {
    /// The marker's number.
    start: PrimitiveId,
    moves: Vec<(PrimitiveId, Primitive)>,
    last_addition: Duration,
    /// A sequence with a hole in it is not the motion the client wanted.
    broken: Option<Refusal>,
}

#[derive(Debug)]
struct Goal {
    id: GoalId,
    /// The numbers of the moves, each with the place of its primitive in the goal.
    moves: VecDeque<(PrimitiveId, usize)>,
    last: PrimitiveId,
    ending: Option<GoalOutcome>,
}

/// Why the robot is being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    No,
    /// Stays stopped until RESET_STOP.
    UntilReset,
    /// Stays stopped until the controller is activated.
    UntilActive,
    /// RESET_STOP follows as soon as the robot stands.
    ThenReset,
}

/// How far a driver that tells nothing but its state is with what it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    Nothing,
    /// A command is with it since then; it has not been seen to move.
    Given(Duration),
    Moving,
}

/// The engine. Inputs are the methods, outputs come from [`QueueController::poll_output`], [`QueueController::update`]
/// is the control cycle.
#[derive(Debug)]
pub struct QueueController<H> {
    settings: QueueSettings,
    hardware: H,
    interfaces: CommandInterfaces,
    /// What was written last, which the robot has taken since.
    last_command: CommandInterfaces,
    commands: u64,
    state: StateInterfaces,
    fault: Option<Fault>,
    /// A fault that the controller itself found, and the state that lasts too long.
    overdue: Option<(ExecutionState, Fault)>,
    /// When the robot last did something new.
    progress: Duration,
    watched: Watched,
    /// Between the markers of a sequence that is being handed over.
    inside_sequence: bool,
    active: bool,
    queue: VecDeque<Queued>,
    /// Singles and sequences in `queue`.
    units: usize,
    open: BTreeMap<Source, OpenSequence>,
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
    pub fn new(settings: QueueSettings, hardware: H) -> Option<Self> {
        (settings.queue_size > 0).then(|| Self {
            settings,
            hardware,
            interfaces: CommandInterfaces::default(),
            last_command: CommandInterfaces::default(),
            commands: 0,
            state: StateInterfaces { status: ExecutionState::Idle, ready: false },
            fault: None,
            overdue: None,
            progress: Duration::ZERO,
            watched: Watched::Nothing,
            inside_sequence: false,
            active: false,
            queue: VecDeque::new(),
            units: 0,
            open: BTreeMap::new(),
            in_robot: VecDeque::new(),
            first_in_robot: 0,
            next_id: 0,
            goal: None,
            stop: Stop::No,
            outputs: VecDeque::new(),
            reported_depth: 0,
        })
    }

    /// The driver.
    pub fn hardware(&self) -> &H {
        &self.hardware
    }

    /// The driver.
    pub fn hardware_mut(&mut self) -> &mut H {
        &mut self.hardware
    }

    /// The frames that poses may be given in.
    pub fn frames_mut(&mut self) -> &mut Frames {
        &mut self.settings.frames
    }

    /// What the robot does.
    pub fn state(&self) -> ExecutionState {
        self.state.status
    }

    /// What is wrong with the robot, if something is.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Whether the robot takes another command.
    pub fn is_ready(&self) -> bool {
        self.state.ready
    }

    /// Primitives that wait; a sequence counts as one, open or closed.
    pub fn queue_depth(&self) -> usize {
        self.units + self.open.len()
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
            || !self.queue.is_empty()
            || self.watched != Watched::Nothing
            || self.goal_has_failed()
    }

    /// What the engine wants done, the oldest first.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Lets commands in.
    ///
    /// # Errors
    /// When the robot cannot be made ready.
    pub fn activate(&mut self, now: Duration) -> Result<(), Fault> {
        self.hardware.activate(now)?;
        self.active = true;
        // A stop by somebody who meant it is not lifted by this.
        if self.stop == Stop::UntilActive {
            self.reset(now);
        }
        Ok(())
    }

    /// Stops the robot and forgets everything that waits.
    pub fn deactivate(&mut self, now: Duration) {
        if self.active {
            self.end_goal_with(GoalOutcome::Aborted("the controller was deactivated".into()));
            self.stop(Stop::UntilActive, "the controller was deactivated", now);
            self.active = false;
            self.hardware.deactivate(now);
        }
    }

    /// When `update` must be called even if nobody else has a reason to.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.open.values().map(|open| open.last_addition + self.settings.sequence_timeout).min()
    }

    /// How often the driver must be read while nothing moves.
    pub fn idle_poll(&self) -> Option<Duration> {
        match self.hardware.watch() {
            Watch::Poll(period) => Some(period),
            Watch::Never | Watch::Waker => None,
        }
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

    fn goal_has_failed(&self) -> bool {
        self.state.status == ExecutionState::Error && self.goal.is_some()
    }

    /// Forgets everything that waits.
    fn discard_waiting(&mut self, why: &str) {
        let sources: Vec<Source> = self.open.keys().copied().collect();
        for source in sources {
            self.drop_open_sequence(source, why);
        }
        self.units = 0;
        let waiting = std::mem::take(&mut self.queue);
        for id in waiting.iter().map(|queued| queued.id) {
            self.progress(Progress::Discarded { id, reason: why.to_owned() });
        }
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn progress(&mut self, progress: Progress) {
        self.event(Event::Progress(progress));
    }

    fn report_depth(&mut self) {
        let depth = self.queue_depth();
        if depth != self.reported_depth {
            self.reported_depth = depth;
            self.outputs.push_back(Output::QueueDepth(depth));
        }
    }
}

/// Primitives come in; goals, which are answered at once, have methods of their own.
impl<H: Hardware> Engine for QueueController<H> {
    type Input<'a> = (&'a RawPrimitive, Source);
    type Output = Output;

    fn handle(&mut self, (raw, source): (&RawPrimitive, Source), now: Now) {
        self.reference(raw, source, now.mono);
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
