//! The controller as a lifecycle node.
//!
//! Topics and actions are there from configure to cleanup; commands are obeyed while the node is active. The engine
//! turns at the control rate while there is something to do, and not at all otherwise.

use std::{cell::Cell, collections::BTreeSet, rc::Rc, time::Duration};

use rosless_cli::Failure;
use rosless_engine::Engine as _;
use rosless_graph::{
    Context, EventLoop, Gid, Handle, Node, Publisher, Qos, Result, SampleInfo, Subscription, Timer,
    action::{ActionServer, CancelResponse, GoalError, GoalHandle, GoalId, GoalResponse},
    config,
    lifecycle::{CallbackReturn, LifecycleNode, Request, Step},
    monotonic, now,
    qos::Reliability,
};
use rosless_motion::{
    Event, ExecutionState, GoalOutcome, Origin, Output, Paced, QueueController, QueueStatus, RawPrimitive,
    Report, SimulatedRobot, StateCodes,
    intake::{self, Intake},
    messages::{SequenceAction, from_control, from_industrial},
};
use rosless_wire::{
    Message,
    control_msgs::action::{ExecuteMotionPrimitiveSequence, ExecuteMotionPrimitiveSequenceResult},
    industrial_robot_motion_interfaces::action::ExecuteMotion,
    sensor_msgs::msg::JointState,
    std_msgs::msg::{self, Float64MultiArray, Header, Int8, MultiArrayDimension, MultiArrayLayout},
};

use crate::{NODE_NAME, settings::Settings};

/// Samples of one burst that may wait for the event loop.
const BURST: u32 = 1000;
/// Refusals shown per second; a client gone wild must not fill the log.
const REFUSALS_SHOWN: u32 = 10;

/// The process.
struct App {
    running: Option<Running>,
    /// Shared with the judge of new parameter values.
    configured: Rc<Cell<bool>>,
}

/// Runs the node until a signal ends it.
///
/// # Errors
/// When the domain cannot be joined or a parameter's type is wrong. Parameters that make no controller end the process
/// with exit code 1, unless `autostart` is off: then configuring fails as often as somebody asks for it.
pub fn run(settings: config::Settings, autostart: bool) -> Result<(), Failure> {
    let context = Context::new(settings)?;
    let node = context.node(NODE_NAME)?;
    Settings::default().declare(&node)?;
    let configured = Rc::new(Cell::new(false));
    let mut app = App { running: None, configured: configured.clone() };
    node.validate_parameters(move |values| match values.iter().find(|(name, _)| Settings::has(name)) {
        Some((name, _)) if configured.get() => {
            Err(format!("{name} is read when the node is configured: deactivate and clean up first"))
        }
        _ => Ok(()),
    });

    let events = EventLoop::new(&context)?;
    let (handle, owner) = (events.handle(), node.clone());
    let lifecycle = events.lifecycle(&node, move |app: &mut App, step| app.step(step, &handle, &owner))?;
    events.drive(
        |app: &mut App, with: &mut dyn FnMut(&mut Paced<SimulatedRobot>)| {
            if let Some(running) = &mut app.running {
                with(&mut running.controller);
            }
        },
        |app, output| {
            if let Some(running) = &mut app.running {
                running.act(output, None);
            }
        },
    );
    events.after_batch(|app: &mut App| {
        if let Some(running) = &mut app.running {
            running.publish_changes();
        }
    });
    let handle = events.handle();
    events.on_incompatible_qos(move |app: &mut App, problem| {
        if let Some(running) = &mut app.running
            && let Err(error) = running.hear_best_effort(&handle, &problem.topic)
        {
            log::error!(target: running.node.logger(), "{}: {error}", problem.topic);
        }
    });
    if autostart {
        for request in [Request::CONFIGURE, Request::ACTIVATE] {
            if lifecycle.trigger(&mut app, request) != Ok(CallbackReturn::Success) {
                // The log says why.
                return Err(Failure::told());
            }
        }
    } else {
        log::info!(target: node.logger(), "unconfigured: waits for the lifecycle transition 'configure'");
    }
    events.run(&mut app)?;
    leave(&lifecycle, &mut app);
    Ok(())
}

/// Ends goals with a reason before the node vanishes.
fn leave(lifecycle: &LifecycleNode<App>, app: &mut App) {
    if let Err(error) = lifecycle.trigger(app, Request::SHUTDOWN) {
        log::debug!(target: lifecycle.node().logger(), "{error}");
    }
}

impl App {
    fn step(&mut self, step: Step, handle: &Handle<Self>, node: &Node) -> CallbackReturn {
        let now = monotonic();
        match (step, &mut self.running) {
            (Step::Configure, _) => match Running::new(handle, node) {
                Ok(running) => self.running = Some(running),
                Err(reason) => {
                    log::error!(target: node.logger(), "cannot be configured: {reason}");
                    return CallbackReturn::Failure;
                }
            },
            (Step::Activate, Some(running)) => running.activate(now),
            (Step::Deactivate, Some(running)) => running.deactivate(now),
            (Step::CleanUp | Step::Shutdown(_) | Step::Error(_), _) => {
                if let Some(running) = self.running.take() {
                    running.close();
                }
            }
            (Step::Activate | Step::Deactivate, None) => return CallbackReturn::Error,
        }
        self.configured.set(self.running.is_some());
        CallbackReturn::Success
    }
}

/// A goal of either action.
trait ActiveGoal {
    fn id(&self) -> GoalId;
    fn feedback(&self, index: u8);
    fn end(&self, outcome: &GoalOutcome) -> Result<(), GoalError>;
}

impl<A: SequenceAction> ActiveGoal for GoalHandle<A> {
    fn id(&self) -> GoalId {
        self.id()
    }

    fn feedback(&self, index: u8) {
        self.publish_feedback(A::feedback(index));
    }

    fn end(&self, outcome: &GoalOutcome) -> Result<(), GoalError> {
        use ExecuteMotionPrimitiveSequenceResult as Code;
        match outcome {
            GoalOutcome::Succeeded => {
                self.succeed(A::result(Code::SUCCESSFUL, "Motion primitives executed successfully".into()))
            }
            GoalOutcome::Aborted(reason) => self.abort(A::result(Code::INVALID_GOAL, reason.clone())),
            GoalOutcome::Canceled => self.canceled(A::Result::default()),
        }
    }
}

struct Topics {
    state: Publisher<Int8>,
    queue: Publisher<msg::String>,
    events: Publisher<msg::String>,
    interfaces: Publisher<Float64MultiArray>,
    joint_states: Publisher<JointState>,
}

/// What exists from configure to cleanup.
struct Running {
    node: Node,
    controller: Paced<SimulatedRobot>,
    settings: Settings,
    codes: StateCodes,
    active: bool,
    goal: Option<Box<dyn ActiveGoal>>,
    intake: Intake<Gid>,
    /// Topics with a second reader.
    best_effort: BTreeSet<String>,
    /// The name of `~/reference`.
    reference: String,
    topics: Topics,
    subscriptions: Vec<Subscription<App>>,
    actions: (ActionServer<ExecuteMotionPrimitiveSequence, App>, ActionServer<ExecuteMotion, App>),
    timers: Vec<Timer<App>>,
    told_queue: Option<(ExecutionState, usize, bool, bool)>,
    told_interfaces: Option<(u64, ExecutionState, bool)>,
    /// The layout of `~/interfaces`, which never changes.
    layout: MultiArrayLayout,
    refusals: Refusals,
}

impl Running {
    fn new(handle: &Handle<App>, node: &Node) -> Result<Self, String> {
        let settings = Settings::read(node).map_err(|error| error.to_string())?;
        let controller = settings.controller()?;
        let codes = settings.state_codes()?;
        Self::open(handle, node, settings, controller, codes).map_err(|error| error.to_string())
    }

    fn open(
        handle: &Handle<App>,
        node: &Node,
        settings: Settings,
        controller: QueueController<SimulatedRobot>,
        codes: StateCodes,
    ) -> Result<Self> {
        let topics = Topics {
            state: node.publisher("~/state", Qos::default())?,
            queue: node.publisher("~/queue", Qos::latched())?,
            events: node.publisher("~/events", Qos::default().depth(BURST))?,
            interfaces: node.publisher("~/interfaces", Qos::latched())?,
            joint_states: node.publisher("/joint_states", Qos::default())?,
        };
        let through = Reliability::Reliable;
        let subscriptions = vec![
            reference(handle, node, "~/reference", through, from_industrial)?,
            reference(handle, node, "~/reference_control_msgs", through, from_control)?,
        ];
        let actions = (action(handle, node, "~/motion_sequence")?, action(handle, node, "~/execute_motion")?);
        let mut timers = Vec::new();
        let mut repeat = |rate: f64, act: fn(&mut Self)| {
            if rate > 0.0 {
                timers.push(handle.timer(Duration::from_secs_f64(1.0 / rate), move |app: &mut App| {
                    app.running.as_mut().map(act);
                }));
            }
        };
        repeat(settings.state_rate, |running| running.publish_state(running.controller.state()));
        repeat(settings.joint_state_rate, Self::publish_joints);
        let names: Vec<&str> = settings
            .command_interfaces
            .iter()
            .chain(&settings.state_interfaces)
            .map(String::as_str)
            .collect();
        let size = names.len() as u32;
        let layout = MultiArrayLayout {
            dim: vec![MultiArrayDimension { label: names.join(","), size, stride: size }],
            data_offset: 0,
        };
        let mut running = Self {
            node: node.clone(),
            controller: Paced::new(controller, settings.control_period()),
            settings,
            codes,
            active: false,
            goal: None,
            intake: Intake::default(),
            best_effort: BTreeSet::new(),
            reference: node.resolve_topic("~/reference")?,
            topics,
            subscriptions,
            actions,
            timers,
            told_queue: None,
            told_interfaces: None,
            layout,
            refusals: Refusals::default(),
        };
        // The engine does not know the robot's state before it has asked once.
        running.cycle();
        running.publish_state(running.controller.state());
        Ok(running)
    }

    /// Opens a second reader where a publisher turns out to be best effort. It must not be the only one: a command of a
    /// reliable publisher that the network loses has to be repeated.
    fn hear_best_effort(&mut self, handle: &Handle<App>, topic: &str) -> Result<()> {
        let is_reference = topic == self.reference;
        if (is_reference || topic == self.node.resolve_topic("~/reference_control_msgs")?)
            && self.best_effort.insert(topic.to_owned())
        {
            let through = Reliability::BestEffort;
            self.subscriptions.push(match is_reference {
                true => reference(handle, &self.node, "~/reference", through, from_industrial)?,
                false => reference(handle, &self.node, "~/reference_control_msgs", through, from_control)?,
            });
            log::info!(target: self.node.logger(), "{topic}: that publisher is heard through a best-effort reader");
        }
        Ok(())
    }

    fn close(mut self) {
        if let Some(goal) = self.goal.take() {
            self.end_goal(&*goal, &GoalOutcome::Aborted("the controller was shut down".into()));
        }
        self.subscriptions.into_iter().for_each(Subscription::close);
        self.timers.into_iter().for_each(Timer::cancel);
        self.actions.0.close();
        self.actions.1.close();
    }

    fn activate(&mut self, now: Duration) {
        self.active = true;
        self.controller.activate(now);
        self.cycle();
        let Settings { queue_size, control_rate, .. } = self.settings;
        log::info!(
            target: self.node.logger(),
            "active: {} takes up to {queue_size} primitives, {control_rate} control cycles per second",
            self.reference,
        );
    }

    fn deactivate(&mut self, now: Duration) {
        self.active = false;
        self.controller.deactivate(now);
        self.drain(None);
        log::info!(target: self.node.logger(), "inactive: the robot stops and the queue is empty");
    }

    fn cycle(&mut self) {
        self.controller.wake(now());
        self.drain(None);
    }

    /// A sample of a reference topic.
    fn reference(&mut self, raw: &RawPrimitive, through: Reliability, info: &SampleInfo) {
        let graph = self.node.context().graph();
        let offered = graph.endpoint(&info.publisher).map(|endpoint| as_intake(endpoint.qos.reliability));
        if !self.intake.takes(info.publisher, info.sequence_number, as_intake(through), offered) {
            return;
        }
        let origin = Origin { publisher: info.publisher.to_string(), sequence: info.sequence_number };
        // What happened before has its own origin.
        self.drain(None);
        self.controller.reference(raw, monotonic());
        if !self.drain(Some(&origin)) {
            self.tell(&Report::Obeyed { origin: Some(origin) });
        }
    }

    fn offer(&mut self, id: GoalId, primitives: &[RawPrimitive]) -> GoalResponse {
        match self.controller.offer_goal(id.0, primitives) {
            Ok(()) => {
                self.tell(&Report::GoalAccepted { goal: id.to_string(), primitives: primitives.len() });
                GoalResponse::Execute
            }
            Err(reason) => {
                log::warn!(target: self.node.logger(), "goal {id} rejected: {reason}");
                self.tell(&Report::GoalRejected { goal: id.to_string(), reason: reason.to_string() });
                GoalResponse::Reject
            }
        }
    }

    fn cancel(&mut self, id: GoalId) -> CancelResponse {
        // The goal is canceling once this has returned; its end is drained after that.
        if self.controller.cancel_goal(id.0, monotonic()) {
            CancelResponse::Accept
        } else {
            CancelResponse::Reject
        }
    }

    /// Carries out what the engine wants. True when it answered a command.
    fn drain(&mut self, origin: Option<&Origin>) -> bool {
        let mut answered = false;
        while let Some(output) = self.controller.poll_output() {
            answered |= self.act(output, origin);
        }
        self.publish_changes();
        answered
    }

    fn publish_changes(&mut self) {
        self.publish_queue();
        self.publish_interfaces();
    }

    /// Does one thing that the engine wants done. True when it answers a command.
    fn act(&mut self, output: Output, origin: Option<&Origin>) -> bool {
        let mut answered = false;
        match output {
            Output::State(state) => {
                self.log_state(state);
                self.publish_state(state);
            }
            Output::QueueDepth(_) => {}
            Output::Event(event) => {
                if matches!(event, Event::Accepted { .. } | Event::Refused { .. }) {
                    answered = true;
                    // Whoever has an answer should know by then how much room is left.
                    self.publish_queue();
                }
                self.log_event(&event);
                self.tell(&Report::new(&event, origin.cloned()));
            }
            Output::Feedback { goal, index } => {
                if let Some(active) = self.goal.as_ref().filter(|active| active.id().0 == goal) {
                    active.feedback(index);
                }
            }
            Output::GoalDone { goal, outcome } => {
                if let Some(active) = self.goal.take_if(|active| active.id().0 == goal) {
                    self.end_goal(&*active, &outcome);
                }
            }
        }
        answered
    }

    fn end_goal(&self, goal: &dyn ActiveGoal, outcome: &GoalOutcome) {
        if let GoalOutcome::Aborted(reason) = outcome {
            log::warn!(target: self.node.logger(), "goal {} aborted: {reason}", goal.id());
        }
        self.tell(&Report::goal_ended(goal.id().to_string(), outcome));
        if let Err(error) = goal.end(outcome) {
            log::error!(target: self.node.logger(), "goal {}: {error}", goal.id());
        }
    }

    fn tell(&self, report: &Report) {
        self.topics.events.publish(&msg::String { data: report.to_json() });
    }

    fn log_state(&self, state: ExecutionState) {
        let level = match state {
            ExecutionState::Error => log::Level::Error,
            ExecutionState::Stopping | ExecutionState::Stopped => log::Level::Info,
            _ => log::Level::Debug,
        };
        log::log!(target: self.node.logger(), level, "robot: {}", state.name());
    }

    fn log_event(&mut self, event: &Event) {
        let logger = self.node.logger();
        match event {
            Event::Refused { reason } => match self.refusals.next(monotonic()) {
                Some(0) => log::warn!(target: logger, "refused: {reason}"),
                Some(hidden) => log::warn!(target: logger, "refused: {reason} (and {hidden} more)"),
                None => {}
            },
            Event::Accepted { id, warnings } => {
                warnings.iter().for_each(|text| log::warn!(target: logger, "primitive {id}: {text}"));
            }
            Event::Failed { id, reason } => {
                // After a goal the robot goes on by itself.
                let advice = match self.goal {
                    Some(_) => "",
                    None => ". Send STOP_MOTION (66), then RESET_STOP (67) to go on",
                };
                log::error!(target: logger, "primitive {id} cannot be executed: {reason}{advice}");
            }
            Event::Discarded { id, reason } => {
                log::info!(target: logger, "primitive {id} discarded: {reason}")
            }
            Event::Note { id, text } => log::info!(target: logger, "primitive {id}: {text}"),
            Event::Started { .. } | Event::Blended { .. } | Event::Finished { .. } => {}
        }
    }

    fn publish_state(&self, state: ExecutionState) {
        self.topics.state.publish(&Int8 { data: state.code(self.codes) });
    }

    fn publish_queue(&mut self) {
        let (state, depth) = (self.controller.state(), self.controller.queue_depth());
        let now = (state, depth, self.controller.is_ready(), self.active);
        // Compared before anything is built: most cycles change nothing.
        if self.told_queue.replace(now) == Some(now) {
            return;
        }
        let status = QueueStatus {
            state,
            depth,
            size: usize::try_from(self.settings.queue_size).unwrap_or(0),
            ready: self.controller.is_ready(),
            active: self.active,
        };
        let data = serde_json::to_string(&status).unwrap_or_default();
        self.topics.queue.publish(&msg::String { data });
    }

    fn publish_interfaces(&mut self) {
        let (state, ready) = (self.controller.state(), self.controller.is_ready());
        let now = (self.controller.commands(), state, ready);
        if self.told_interfaces.replace(now) == Some(now) {
            return;
        }
        let state = [f64::from(state.code(self.codes)), f64::from(u8::from(ready))];
        let data = self.controller.last_command().0.into_iter().chain(state).collect();
        self.topics.interfaces.publish(&Float64MultiArray { layout: self.layout.clone(), data });
    }

    fn publish_joints(&mut self) {
        let joints = self.controller.hardware().joints(monotonic());
        self.topics.joint_states.publish(&JointState {
            header: Header { stamp: self.node.now(), frame_id: String::new() },
            name: self.settings.joint_names.clone(),
            position: joints.position.as_slice().to_vec(),
            velocity: joints.velocity.as_slice().to_vec(),
            effort: Vec::new(),
        });
    }
}

fn as_intake(reliability: Reliability) -> intake::Reliability {
    match reliability {
        Reliability::Reliable => intake::Reliability::Reliable,
        Reliability::BestEffort => intake::Reliability::BestEffort,
    }
}

fn reference<M: Message>(
    handle: &Handle<App>,
    node: &Node,
    topic: &str,
    through: Reliability,
    decode: fn(M) -> RawPrimitive,
) -> Result<Subscription<App>> {
    let qos = Qos { reliability: through, ..Qos::default().depth(BURST) };
    handle.subscribe::<M>(node, topic, qos, move |app, sample| {
        if let Some(running) = &mut app.running {
            running.reference(&decode(sample.message), through, &sample.info);
        }
    })
}

fn action<A: SequenceAction>(handle: &Handle<App>, node: &Node, name: &str) -> Result<ActionServer<A, App>> {
    handle.action_server::<A>(
        node,
        name,
        |app, id, goal| match &mut app.running {
            Some(running) => running.offer(id, &A::primitives(goal)),
            None => GoalResponse::Reject,
        },
        |app, goal| {
            if let Some(running) = &mut app.running {
                running.goal = Some(Box::new(goal));
            }
        },
        |app, goal| app.running.as_mut().map_or(CancelResponse::Reject, |running| running.cancel(goal.id())),
    )
}

/// Shows so many refusals per second and counts the rest.
#[derive(Debug, Default)]
struct Refusals {
    since: Duration,
    shown: u32,
    hidden: u32,
}

impl Refusals {
    /// `Some` when this one is shown, with the number of those before it that were not.
    fn next(&mut self, now: Duration) -> Option<u32> {
        if now.saturating_sub(self.since) >= Duration::from_secs(1) {
            (self.since, self.shown) = (now, 0);
        }
        if self.shown >= REFUSALS_SHOWN {
            self.hidden += 1;
            return None;
        }
        self.shown += 1;
        Some(std::mem::take(&mut self.hidden))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_shown_in_part_and_counted() {
        let mut refusals = Refusals::default();
        let at = Duration::from_millis;
        let shown = (0..500).filter(|_| refusals.next(at(1500)).is_some()).count();
        assert_eq!(shown, 10);
        assert_eq!(refusals.next(at(2600)), Some(490));
        assert_eq!(refusals.next(at(2601)), Some(0));
    }
}
