//! What exists from configure to cleanup: the engine, its topics, and who is told what.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    rc::Rc,
    sync::Arc,
    task::Wake,
    time::Duration,
};

use rosless_engine::Engine as _;
use rosless_graph::{
    Gid, Graph, Handle, Node, Publisher, Result, SampleInfo, Server, Subscription, Timer, TopicQos,
    action::{ActionServer, CancelResponse, GoalId, GoalResponse},
    monotonic, now,
    qos::Reliability,
};
use rosless_motion::{
    Event, ExecutionState, Fault, GoalOutcome, Hardware as _, Origin, Output, Paced, Planner, Progress,
    QueueController, QueueStatus, RawPrimitive, Report, StateCodes,
    intake::{self, Intake},
    messages::{from_control, from_industrial},
};
use rosless_wire::{
    control_msgs::{
        action::{ExecuteMotionPrimitiveSequence, FollowJointTrajectory},
        msg::{MotionPrimitiveSequence, SpeedScalingFactor},
    },
    industrial_robot_motion_interfaces::action::ExecuteMotion,
    rosless_msgs::srv::PlanMotion,
    sensor_msgs::msg::JointState,
    std_msgs::msg::{self, Float64MultiArray, Header, Int8, MultiArrayDimension, MultiArrayLayout},
    trajectory_msgs::msg::JointTrajectory,
};

use crate::{
    daemon::{ActiveGoal, App},
    endpoints::{action, follow, frames, reference, trigger},
    follow::Followed,
    settings::{Driver, Settings},
    ur::Wires,
    view::View,
};

/// Samples of one burst that may wait for the event loop.
pub(crate) const BURST: u32 = 1000;
/// Refusals shown per second; a client gone wild must not fill the log.
const REFUSALS_SHOWN: u32 = 10;

pub(crate) struct Topics {
    pub(crate) state: Publisher<Int8>,
    pub(crate) queue: Publisher<msg::String>,
    pub(crate) events: Publisher<msg::String>,
    pub(crate) interfaces: Publisher<Float64MultiArray>,
    pub(crate) joint_states: Publisher<JointState>,
    pub(crate) approximated: Publisher<MotionPrimitiveSequence>,
    pub(crate) planned_trajectory: Publisher<JointTrajectory>,
}

/// Makes the event loop read the driver: one end of a pair of sockets, whose other end is watched.
struct Wakes(UnixStream);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        // A pair that is full has been written to already.
        let _ = (&self.0).write(&[1]);
    }
}

/// What exists from configure to cleanup.
pub(crate) struct Running {
    pub(crate) node: Node,
    pub(crate) controller: Paced<Driver>,
    /// The sockets of a driver that has some.
    pub(crate) ur: Option<Wires>,
    pub(crate) settings: Settings,
    pub(crate) codes: StateCodes,
    pub(crate) active: bool,
    pub(crate) goal: Option<Box<dyn ActiveGoal>>,
    /// What a goal with a trajectory is measured against.
    pub(crate) followed: Option<Rc<RefCell<Followed>>>,
    pub(crate) planner: Planner,
    /// The joints' names as they are published.
    pub(crate) joint_names: Vec<String>,
    pub(crate) view: View,
    /// How many commands the robot had when its path was shown.
    pub(crate) shown: Option<u64>,
    pub(crate) paused: bool,
    pub(crate) speed: f64,
    pub(crate) intake: Intake<Gid>,
    /// Topics with a second reader.
    pub(crate) best_effort: BTreeSet<String>,
    /// The name of `~/reference`.
    pub(crate) reference: String,
    pub(crate) topics: Topics,
    pub(crate) subscriptions: Vec<Subscription<App>>,
    pub(crate) actions: (ActionServer<ExecuteMotionPrimitiveSequence, App>, ActionServer<ExecuteMotion, App>),
    pub(crate) follow: ActionServer<FollowJointTrajectory, App>,
    pub(crate) services: Vec<Server<App>>,
    pub(crate) timers: Vec<Timer<App>>,
    pub(crate) told_queue: Option<(ExecutionState, usize, bool, bool, bool, f64)>,
    pub(crate) told_interfaces: Option<(u64, ExecutionState, bool)>,
    /// The layout of `~/interfaces`, which never changes.
    pub(crate) layout: MultiArrayLayout,
    refusals: Refusals,
}

impl Running {
    pub(crate) fn new(handle: &Handle<App>, node: &Node) -> Result<Self, String> {
        let settings = Settings::read(node).map_err(|error| error.to_string())?;
        let planner = settings.planner()?;
        let (driver, ur) = match settings.hardware.as_str() {
            "ur" => {
                let (shared, driver) = settings.shared_ur()?;
                (driver, Some(Wires::open(handle, node, shared)?))
            }
            _ => (settings.driver()?, None),
        };
        let controller = settings.controller(driver)?;
        let wakes = UnixStream::pair().and_then(|(ours, theirs)| {
            ours.set_nonblocking(true)?;
            theirs.set_nonblocking(true)?;
            Ok((ours, theirs))
        });
        let wakes = wakes.map_err(|error| error.to_string())?;
        let mut running = Self::open(handle, node, settings, planner, controller, wakes)
            .map_err(|error| error.to_string())?;
        running.ur = ur;
        Ok(running)
    }

    pub(crate) fn open(
        handle: &Handle<App>,
        node: &Node,
        settings: Settings,
        planner: Planner,
        mut controller: QueueController<Driver>,
        (ours, theirs): (UnixStream, UnixStream),
    ) -> Result<Self> {
        let codes = settings.state_codes().unwrap_or_default();
        let topics = Topics {
            state: node.publisher("~/state")?,
            queue: node.publisher("~/queue".latched())?,
            events: node.publisher("~/events".keep_last(BURST))?,
            interfaces: node.publisher("~/interfaces".latched())?,
            joint_states: node.publisher("joint_states")?,
            approximated: node.publisher("~/approximated_motion_primitives".latched())?,
            planned_trajectory: node.publisher("~/planned_trajectory".latched())?,
        };
        let view = View::new(node, planner.robot.clone(), &settings.tf_prefix)?;
        controller.hardware_mut().set_waker(Arc::new(Wakes(theirs)).into());
        handle.watch(ours, |app: &mut App, end| {
            let mut news = [0; 64];
            while end.read(&mut news).is_ok_and(|count| count > 0) {}
            app.running.as_mut().map(Self::cycle);
            app.running.is_some()
        })?;
        let through = Reliability::Reliable;
        let subscriptions = vec![
            reference(handle, node, "~/reference", through, from_industrial)?,
            reference(handle, node, "~/reference_control_msgs", through, from_control)?,
            frames(handle, node, "/tf".keep_last(100))?,
            frames(handle, node, "/tf_static".latched().keep_last(100))?,
            handle.subscribe::<SpeedScalingFactor>(node, "~/speed_scaling_factor", |app, sample| {
                if let Some(running) = &mut app.running {
                    running.set_speed(sample.message.factor);
                }
            })?,
        ];
        let actions = (action(handle, node, "~/motion_sequence")?, action(handle, node, "~/execute_motion")?);
        let follow = follow(handle, node)?;
        let services = vec![
            trigger(handle, node, "~/pause", Self::pause)?,
            trigger(handle, node, "~/resume", Self::resume)?,
            handle.serve::<PlanMotion>(node, "~/plan", |app, request, responder| {
                if let Some(running) = &mut app.running {
                    responder.reply(&running.plan(&request));
                }
            })?,
        ];
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
            ur: None,
            codes,
            active: false,
            goal: None,
            followed: None,
            joint_names: planner
                .robot
                .joint_names
                .iter()
                .map(|name| format!("{}{name}", settings.tf_prefix))
                .collect(),
            planner,
            view,
            shown: None,
            paused: false,
            speed: 1.0,
            intake: Intake::default(),
            best_effort: BTreeSet::new(),
            reference: node.resolve_topic("~/reference")?,
            topics,
            subscriptions,
            actions,
            follow,
            services,
            timers,
            settings,
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
    pub(crate) fn hear_best_effort(&mut self, handle: &Handle<App>, topic: &str) -> Result<()> {
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

    pub(crate) fn close(mut self) {
        if let Some(goal) = self.goal.take() {
            self.end_goal(&*goal, &GoalOutcome::Aborted("the controller was shut down".into()));
        }
        if let Some(ur) = self.ur.take() {
            ur.close();
        }
        self.subscriptions.into_iter().for_each(Subscription::close);
        self.timers.into_iter().for_each(Timer::cancel);
        self.actions.0.close();
        self.actions.1.close();
        self.follow.close();
        self.services.into_iter().for_each(Server::close);
    }

    pub(crate) fn activate(&mut self, now: Duration) -> Result<(), Fault> {
        self.controller.activate(now)?;
        self.active = true;
        self.cycle();
        let Settings { queue_size, control_rate, .. } = self.settings;
        log::info!(
            target: self.node.logger(),
            "active: {} takes up to {queue_size} primitives for {}, {control_rate} control cycles per second",
            self.reference,
            self.planner.robot.name,
        );
        Ok(())
    }

    pub(crate) fn deactivate(&mut self, now: Duration) {
        self.active = false;
        self.controller.deactivate(now);
        self.drain(None);
        log::info!(target: self.node.logger(), "inactive: the robot stops and the queue is empty");
    }

    pub(crate) fn cycle(&mut self) {
        self.controller.wake(now());
        self.drain(None);
    }

    /// A sample of a reference topic.
    pub(crate) fn reference(&mut self, raw: &RawPrimitive, through: Reliability, info: &SampleInfo) {
        let graph = self.node.context().graph();
        let offered = graph.endpoint(&info.publisher).map(|endpoint| as_intake(endpoint.qos.reliability));
        if !self.intake.takes(info.publisher, info.sequence_number, as_intake(through), offered) {
            return;
        }
        let origin = Origin { publisher: info.publisher.to_string(), sequence: info.sequence_number };
        // What happened before has its own origin.
        self.drain(None);
        self.controller.reference(raw, u128::from_be_bytes(info.publisher.0), monotonic());
        if !self.drain(Some(&origin)) {
            self.tell(&Report::Obeyed { origin: Some(origin) });
        }
    }

    pub(crate) fn offer(&mut self, id: GoalId, primitives: &[RawPrimitive]) -> GoalResponse {
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

    /// Publishers that are gone leave no sequence open.
    pub(crate) fn forget_left(&mut self, graph: &Graph) {
        let is_gone = |source: &u128| graph.endpoint(&Gid(source.to_be_bytes())).is_none();
        let gone: Vec<u128> = self.controller.open_sources().filter(is_gone).collect();
        for source in gone {
            self.controller.publisher_left(source);
            self.drain(None);
        }
    }

    pub(crate) fn cancel(&mut self, id: GoalId) -> CancelResponse {
        // The goal is canceling once this has returned; its end is drained after that.
        if self.controller.cancel_goal(id.0, monotonic()) {
            CancelResponse::Accept
        } else {
            CancelResponse::Reject
        }
    }

    /// Carries out what the engine wants. True when it answered a command.
    pub(crate) fn drain(&mut self, origin: Option<&Origin>) -> bool {
        let mut answered = false;
        while let Some(output) = self.controller.poll_output() {
            answered |= self.act(output, origin);
        }
        self.publish_changes();
        answered
    }

    pub(crate) fn publish_changes(&mut self) {
        self.publish_queue();
        self.publish_interfaces();
        self.publish_path();
    }

    /// Shows the path when the robot has taken something new, or has nothing left to do.
    pub(crate) fn publish_path(&mut self) {
        let rests = !matches!(self.controller.state(), ExecutionState::Executing);
        // While a sequence is handed over, there is nothing to see yet.
        let now = if rests { u64::MAX } else { self.controller.commands() };
        if self.shown.replace(now) != Some(now) {
            self.view.publish_path(&self.controller.hardware().preview(), self.node.now());
        }
    }

    /// Does one thing that the engine wants done. True when it answers a command.
    pub(crate) fn act(&mut self, output: Output, origin: Option<&Origin>) -> bool {
        let mut answered = false;
        match output {
            Output::State(state) => {
                self.log_state(state);
                self.publish_state(state);
            }
            Output::QueueDepth(_) => {}
            Output::Fault(fault) => {
                match &fault {
                    Some(fault) => log::error!(target: self.node.logger(), "the robot has a fault: {fault}"),
                    None => log::info!(target: self.node.logger(), "the robot has no fault any more"),
                }
                self.tell(&Report::Fault { fault });
                self.told_queue = None;
            }
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

    pub(crate) fn end_goal(&self, goal: &dyn ActiveGoal, outcome: &GoalOutcome) {
        if let GoalOutcome::Aborted(reason) = outcome {
            log::warn!(target: self.node.logger(), "goal {} aborted: {reason}", goal.id());
        }
        self.tell(&Report::goal_ended(goal.id().to_string(), outcome));
        if let Err(error) = goal.end(outcome) {
            log::error!(target: self.node.logger(), "goal {}: {error}", goal.id());
        }
    }

    pub(crate) fn tell(&self, report: &Report) {
        self.topics.events.publish(&msg::String { data: report.to_json() });
    }

    pub(crate) fn log_state(&self, state: ExecutionState) {
        let level = match state {
            ExecutionState::Error => log::Level::Error,
            ExecutionState::Stopping | ExecutionState::Stopped => log::Level::Info,
            _ => log::Level::Debug,
        };
        log::log!(target: self.node.logger(), level, "robot: {}", state.name());
    }

    pub(crate) fn log_event(&mut self, event: &Event) {
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
            Event::Progress(Progress::Failed { id, reason }) => {
                // After a goal the robot goes on by itself.
                let advice = match self.goal {
                    Some(_) => "",
                    None => ". Send STOP_MOTION (66), then RESET_STOP (67) to go on",
                };
                log::error!(target: logger, "primitive {id} cannot be executed: {reason}{advice}");
            }
            Event::Progress(Progress::Discarded { id, reason }) => {
                log::info!(target: logger, "primitive {id} discarded: {reason}")
            }
            Event::Progress(Progress::Note { id, text }) => {
                log::info!(target: logger, "primitive {id}: {text}")
            }
            Event::Progress(_) => {}
        }
    }

    pub(crate) fn publish_state(&self, state: ExecutionState) {
        self.topics.state.publish(&Int8 { data: state.code(self.codes) });
    }

    pub(crate) fn publish_queue(&mut self) {
        let (state, depth) = (self.controller.state(), self.controller.queue_depth());
        let now = (state, depth, self.controller.is_ready(), self.active, self.paused, self.speed);
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
            paused: self.paused,
            speed: self.speed,
            fault: self.controller.fault().cloned(),
        };
        let data = serde_json::to_string(&status).unwrap_or_default();
        self.topics.queue.publish(&msg::String { data });
    }

    pub(crate) fn publish_interfaces(&mut self) {
        let (state, ready) = (self.controller.state(), self.controller.is_ready());
        let now = (self.controller.commands(), state, ready);
        if self.told_interfaces.replace(now) == Some(now) {
            return;
        }
        let state = [f64::from(state.code(self.codes)), f64::from(u8::from(ready))];
        let data = self.controller.last_command().0.into_iter().chain(state).collect();
        self.topics.interfaces.publish(&Float64MultiArray { layout: self.layout.clone(), data });
    }

    pub(crate) fn publish_joints(&mut self) {
        let Some(joints) = self.controller.hardware().joints(monotonic()) else { return };
        if let Some(followed) = self.followed.as_ref().filter(|_| self.goal.is_some()) {
            followed.borrow_mut().seen(&joints.position);
        }
        let stamp = self.node.now();
        self.view.publish_frames(&joints.position, &stamp);
        self.topics.joint_states.publish(&JointState {
            header: Header { stamp, frame_id: String::new() },
            name: self.joint_names.clone(),
            position: joints.position.as_slice().to_vec(),
            velocity: joints.velocity.as_slice().to_vec(),
            effort: Vec::new(),
        });
    }
}

pub(crate) fn as_intake(reliability: Reliability) -> intake::Reliability {
    match reliability {
        Reliability::Reliable => intake::Reliability::Reliable,
        Reliability::BestEffort => intake::Reliability::BestEffort,
    }
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
