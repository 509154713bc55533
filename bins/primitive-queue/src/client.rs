//! The commands that talk to a running controller.
//!
//! Every command waits until the controller is there, publishes, and then waits for the answer on `~/events`, which names
//! the publisher and the number of the sample it answers. Nothing is ever published into the void.

use std::{
    collections::{BTreeSet, VecDeque},
    fmt,
    time::{Duration, Instant},
};

use rosless_graph::{
    Context, ContextOptions, Error, EventLoop, Gid, Node, Publisher, Qos,
    action::{GoalState, GoalUpdate},
    config,
    console::{answer, eprint_line, stdout_pipe},
    lifecycle::State,
    qos::Reliability,
};
use rosless_motion::{ExecutionState, RawPrimitive, primitive::code};
use rosless_wire::{
    control_msgs::{
        action::{ExecuteMotionPrimitiveSequence, ExecuteMotionPrimitiveSequenceGoal},
        msg::MotionPrimitiveSequence,
    },
    industrial_robot_motion_interfaces::msg::MotionPrimitive,
    lifecycle_msgs::srv::{GetState, GetStateRequest},
    std_msgs::msg::{self, Float64MultiArray},
};
use serde_json::{Value, json};

use crate::{
    messages::{to_control, to_industrial},
    program::Program,
    report::{QueueStatus, describe, reason_of},
    sending::Sending,
};

/// Why a command did not do what it was asked for, with the exit code for scripts.
#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    pub message: String,
}

impl Failure {
    /// The controller refused, or the robot could not do it.
    const REFUSED: u8 = 1;
    /// There is no controller, or it does not answer.
    const ABSENT: u8 = 3;

    fn refused(message: impl Into<String>) -> Self {
        Self { code: Self::REFUSED, message: message.into() }
    }

    fn absent(message: impl Into<String>) -> Self {
        Self { code: Self::ABSENT, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { code: error.exit_code(), message: error.to_string() }
    }
}

pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// The writers of one controller's life: ids begin again with the next one.
#[derive(Debug, Clone, Copy)]
struct Writers {
    queue: Gid,
    events: Gid,
}

/// What has arrived.
#[derive(Debug, Default)]
struct Inbox {
    /// Who is listened to; everybody while there is none.
    only: Option<Writers>,
    status: Option<(Gid, QueueStatus)>,
    events: VecDeque<Value>,
    interfaces: Option<Float64MultiArray>,
    goal: VecDeque<GoalUpdate<ExecuteMotionPrimitiveSequence>>,
    lifecycle: Option<u8>,
    reader_left: bool,
}

/// A connection to one controller.
#[derive(Debug)]
pub struct Client {
    // Fields are dropped in this order; the loop must go before what it serves.
    events: EventLoop<Inbox>,
    inbox: Inbox,
    node: Node,
    context: Context,
    controller: String,
    /// Writers of `~/events` that were there at the beginning; one of a controller that was killed may be among them.
    known: BTreeSet<Gid>,
    timeout: Duration,
    json: bool,
    /// Whether anybody reads what is printed.
    heard: bool,
}

/// Longest wait between two looks at the clock.
const SLICE: Duration = Duration::from_millis(100);
/// Events that may arrive in one burst.
const BURST: u32 = 1000;

impl Client {
    /// Joins the domain and waits for the controller.
    ///
    /// # Errors
    /// When there is none within `timeout`; the message says what there is instead.
    pub fn connect(
        settings: config::Settings,
        controller: &str,
        timeout: Duration,
        json: bool,
    ) -> Result<Self> {
        let context = Context::new(ContextOptions { node_services: false, ..settings.into() })?;
        let node = context.node(&format!("primitive_queue_client_{}", std::process::id()))?;
        let controller = format!("/{}", controller.trim_start_matches('/'));
        let events = EventLoop::new(&context)?;
        let prefix = controller.clone();
        let topic = |name: &str| format!("{prefix}/{name}");
        events.subscribe::<msg::String>(
            &node,
            &topic("queue"),
            Qos::latched(),
            |inbox: &mut Inbox, sample| {
                let writer = sample.info.publisher;
                if inbox.only.is_some_and(|only| only.queue != writer) {
                    return;
                }
                match serde_json::from_str(&sample.message.data) {
                    Ok(status) => inbox.status = Some((writer, status)),
                    Err(error) => log::warn!("a queue status that cannot be read: {error}"),
                }
            },
        )?;
        let burst = Qos::default().depth(BURST);
        events.subscribe::<msg::String>(&node, &topic("events"), burst, |inbox, sample| {
            if inbox.only.is_some_and(|only| only.events != sample.info.publisher) {
                return;
            }
            match serde_json::from_str(&sample.message.data) {
                Ok(event) => inbox.events.push_back(event),
                Err(error) => log::warn!("an event that cannot be read: {error}"),
            }
        })?;
        events.subscribe::<Float64MultiArray>(
            &node,
            &topic("interfaces"),
            Qos::latched(),
            |inbox, sample| {
                inbox.interfaces = Some(sample.message);
            },
        )?;
        let mut client = Self {
            events,
            inbox: Inbox::default(),
            node,
            context,
            controller,
            known: BTreeSet::new(),
            timeout,
            json,
            heard: true,
        };
        let only = client.wait(|client| {
            let queue = client.inbox.status.as_ref()?.0;
            client.known = client.events_writers();
            let events = *client.known.iter().find(|writer| writer.prefix() == queue.prefix())?;
            Some(Writers { queue, events })
        })?;
        client.inbox.only = Some(only);
        Ok(client)
    }

    fn events_writers(&self) -> BTreeSet<Gid> {
        let (graph, topic) = (self.context.graph(), format!("{}/events", self.controller));
        graph.publishers(&topic).iter().map(|writer| writer.gid).collect()
    }

    /// An error once the controller has gone, or another one has taken its place and counts from 0 again.
    fn still_there(&self) -> Result<()> {
        let Self { controller, known, .. } = self;
        let (graph, writers) = (self.context.graph(), self.events_writers());
        let is_controllers =
            |writer: &&Gid| graph.node_of(writer).is_some_and(|node| node.to_string() == *controller);
        if writers.difference(known).any(|writer| is_controllers(&writer)) {
            return Err(Failure::absent(format!("{controller} was restarted; what it had to do is lost")));
        }
        if self.inbox.only.is_some_and(|only| !writers.contains(&only.events)) {
            return Err(Failure::absent(format!("{controller} is gone")));
        }
        Ok(())
    }

    /// Runs until `ready` gives a value, at most for the timeout.
    fn wait<T>(&mut self, mut ready: impl FnMut(&mut Self) -> Option<T>) -> Result<T> {
        let deadline = Instant::now() + self.timeout;
        loop {
            if let Some(value) = ready(self) {
                return Ok(value);
            }
            if Instant::now() >= deadline {
                return Err(self.nobody());
            }
            self.turn()?;
        }
    }

    /// One batch of events, or a short wait.
    fn turn(&mut self) -> Result<(), Error> {
        let mut first = true;
        self.events.run_until(&mut self.inbox, SLICE, |_| !std::mem::take(&mut first)).map(drop)
    }

    fn nobody(&mut self) -> Failure {
        let (controller, timeout) = (self.controller.clone(), self.timeout);
        if self.inbox.status.is_some() {
            return Failure::absent(format!("{controller} is there but did not answer within {timeout:?}"));
        }
        if self.context.graph().has_node(&controller) {
            return Failure::absent(if self.lifecycle_state() == Some(State::Finalized.id()) {
                format!(
                    "{controller} was shut down for good; end it and start another with 'primitive-queue run'"
                )
            } else {
                format!(
                    "{controller} is there but not configured; configure and activate it: \
                     rosless lifecycle set {controller} configure"
                )
            });
        }
        let domain = self.context.settings().environment.domain_id;
        Failure::absent(format!(
            "no controller {controller} in domain {domain} within {timeout:?}; start one with 'primitive-queue run', \
             or check ROS_DOMAIN_ID and --controller"
        ))
    }

    /// The number of the node's lifecycle state, if it tells.
    fn lifecycle_state(&mut self) -> Option<u8> {
        let service = format!("{}/get_state", self.controller);
        let client = self.events.client::<GetState>(&self.node, &service).ok()?;
        client.call(&GetStateRequest::default(), Duration::from_secs(1), |inbox: &mut Inbox, response| {
            inbox.lifecycle = response.ok().map(|response| response.current_state.id);
        });
        while client.pending() > 0 {
            self.turn().ok()?;
        }
        client.close();
        self.inbox.lifecycle
    }

    fn status(&mut self) -> Result<QueueStatus> {
        let status = self.inbox.status.clone().map(|(_, status)| status);
        status.ok_or_else(|| self.nobody())
    }

    fn print(&mut self, json: &Value, text: impl FnOnce() -> String) -> Result<()> {
        let line = if self.json { json.to_string() } else { text() };
        self.heard &= answer(&format!("{line}\n"))?;
        Ok(())
    }

    /// `state`: the robot and the queue.
    pub fn state(&mut self) -> Result<()> {
        let status = self.status()?;
        let controller = self.controller.clone();
        self.print(&json!(status), || {
            let QueueStatus { state, depth, size, ready, active } = &status;
            let yes = |yes: &bool| if *yes { "yes" } else { "no" };
            format!(
                "controller  {controller} ({})\nrobot       {state}\nready       {}\nqueue       {depth} of {size}",
                if *active { "active" } else { "inactive" },
                yes(ready)
            )
        })
    }

    /// `inspect`: the 25 command values given last and the 2 state values.
    pub fn inspect(&mut self) -> Result<()> {
        let interfaces = self.wait(|client| client.inbox.interfaces.clone())?;
        let label = interfaces.layout.dim.first().map_or("", |dim| dim.label.as_str());
        let values: Vec<(&str, f64)> = label.split(',').zip(interfaces.data.iter().copied()).collect();
        let json = values.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        self.print(&Value::Object(json), || {
            let line = |(name, value): &(&str, f64)| {
                let value = if value.is_nan() { "-".to_owned() } else { value.to_string() };
                format!("{name:<46} {value}")
            };
            values.iter().map(line).collect::<Vec<_>>().join("\n")
        })
    }

    /// `watch`: every event, until interrupted or for `duration`.
    pub fn watch(&mut self, duration: Option<Duration>) -> Result<()> {
        // A controller that is restarted is watched on.
        self.inbox.only = None;
        // `head` may have enough long before there is something to print.
        if let Some(pipe) = stdout_pipe() {
            self.events.watch(pipe, |inbox, _| {
                inbox.reader_left = true;
                false
            })?;
        }
        let end = duration.map(|duration| Instant::now() + duration);
        let mut told = None;
        loop {
            while let Some(event) = self.inbox.events.pop_front() {
                self.print(&event, || describe(&event))?;
            }
            if self.inbox.status != told {
                told = self.inbox.status.clone();
                if let Some((_, status)) = &told {
                    self.print(&json!({"event": "queue", "status": status}), || {
                        format!("queue      {:>3} of {}, {}", status.depth, status.size, status.state)
                    })?;
                }
            }
            if !self.heard || self.inbox.reader_left || end.is_some_and(|end| Instant::now() >= end) {
                return Ok(());
            }
            match self.turn() {
                Err(Error::Interrupted) => return Ok(()),
                other => other?,
            }
        }
    }

    /// `stop`: halts the robot and empties the queue; returns when the robot stands.
    pub fn stop(&mut self) -> Result<()> {
        self.helper(code::STOP_MOTION, |status| status.state == ExecutionState::Stopped.name())?;
        self.print(&json!({"stopped": true}), || {
            "stopped; the queue is empty. 'primitive-queue reset' makes the robot ready again".into()
        })
    }

    /// `reset`: lifts a stop.
    pub fn reset(&mut self) -> Result<()> {
        if self.status()?.state == ExecutionState::Error.name() {
            return Err(Failure::refused("the robot is in ERROR: run 'primitive-queue stop' first"));
        }
        self.helper(code::RESET_STOP, |status| !status.is_halted())?;
        self.print(&json!({"ready": true}), || "ready".into())
    }

    /// Sends one helper command, waits for the answer and then for the state it leads to.
    fn helper(&mut self, kind: i16, reached: impl Fn(&QueueStatus) -> bool) -> Result<()> {
        let publisher = self.reference()?;
        publisher.publish(&to_industrial(&RawPrimitive { kind, ..RawPrimitive::default() }));
        let own = publisher.gid().to_string();
        let answer = self.wait(|client| {
            std::iter::from_fn(|| client.inbox.events.pop_front()).find(|event| event["publisher"] == *own)
        })?;
        if answer["event"] == "refused" {
            return Err(Failure::refused(reason_of(&answer)));
        }
        self.wait(|client| client.inbox.status.as_ref().filter(|(_, status)| reached(status)).map(drop))
    }

    /// A publisher on `~/reference` that the controller's reliable reader listens to.
    fn reference(&mut self) -> Result<Publisher<MotionPrimitive>> {
        let topic = format!("{}/reference", self.controller);
        let publisher = self.node.publisher::<MotionPrimitive>(&topic, Qos::default().depth(BURST))?;
        self.wait(|client| {
            let (graph, own) = (client.context.graph(), publisher.gid());
            let mut readers = graph.matched(&own).filter_map(|gid| graph.endpoint(gid));
            // Somebody else may listen, too, and be there earlier.
            let only = client.inbox.only.map(|only| only.queue.prefix());
            readers
                .any(|reader| {
                    reader.qos.reliability == Reliability::Reliable && Some(reader.gid.prefix()) == only
                })
                .then_some(())
        })?;
        Ok(publisher)
    }

    /// `send`: streams a program, as fast as the queue takes it, and returns when the robot has done all of it.
    pub fn send(&mut self, program: &Program) -> Result<()> {
        let size = self.status()?.size;
        if program.longest() > size {
            return Err(Failure::refused(format!(
                "a sequence of the file needs {} places, but the queue has {size}; send it with --action, or raise \
                 queue_size",
                program.longest()
            )));
        }
        let publisher = self.reference()?;
        let own = publisher.gid().to_string();
        let mut sending = Sending::new(program.messages(), size);
        let begin = Instant::now();
        let (mut last_answer, mut last_motion) = (begin, begin);
        loop {
            while let Some(event) = self.inbox.events.pop_front() {
                if sending.hear(&event, &own) {
                    last_answer = Instant::now();
                    self.print(&event, || sending.describe(&event))?;
                }
            }
            let status = self.status()?;
            while let Some(message) = sending.next(status.depth) {
                last_answer = Instant::now();
                publisher.publish(&to_industrial(message));
            }
            if sending.is_over() {
                break;
            }
            if sending.unanswered() > 0 && last_answer.elapsed() > self.timeout {
                return Err(self.nobody());
            }
            if sending.unanswered() > 0 || status.is_busy() {
                last_motion = Instant::now();
            } else if last_motion.elapsed() > self.timeout {
                return Err(Failure::absent(format!(
                    "{} has nothing to do, but has not told how all primitives ended",
                    self.controller
                )));
            }
            self.still_there()?;
            self.turn().map_err(|error| match error {
                Error::Interrupted => Failure {
                    code: error.exit_code(),
                    message: "interrupted; what was sent goes on. 'primitive-queue stop' stops it".into(),
                },
                other => other.into(),
            })?;
        }
        let seconds = begin.elapsed().as_secs_f64();
        let executed = sending.finished();
        let summary = json!({"executed": executed, "seconds": seconds});
        self.print(&summary, || format!("{executed} primitives executed in {seconds:.1} s"))?;
        match sending.into_problem() {
            Some(problem) => Err(Failure::refused(problem)),
            None => Ok(()),
        }
    }

    /// `send --action`: the whole program as one goal, one blended motion.
    pub fn send_goal(&mut self, program: &Program) -> Result<()> {
        let moves = program.moves();
        let count = moves.len();
        let name = format!("{}/motion_sequence", self.controller);
        let action = self
            .events
            .action_client::<ExecuteMotionPrimitiveSequence>(&self.node, &name)
            .map_err(Failure::from)?;
        self.wait(|_| action.is_ready().then_some(()))?;
        let trajectory = MotionPrimitiveSequence { motions: moves.iter().map(to_control).collect() };
        let goal = ExecuteMotionPrimitiveSequenceGoal { trajectory };
        let id =
            action.send_goal(goal, self.timeout, Duration::from_secs(86_400), |inbox: &mut Inbox, update| {
                inbox.goal.push_back(update);
            });
        let mut canceled = false;
        loop {
            while let Some(update) = self.inbox.goal.pop_front() {
                match update {
                    GoalUpdate::Accepted(_) => {
                        self.print(&json!({"goal": id.to_string(), "accepted": true}), || {
                            format!("goal accepted: {count} primitives")
                        })?;
                    }
                    GoalUpdate::Rejected => return Err(Failure::refused(self.rejection(&id.to_string()))),
                    GoalUpdate::Feedback(feedback) => {
                        let index = feedback.current_primitive_index;
                        self.print(&json!({"current_primitive_index": index}), || {
                            format!("primitive {} of {count}", u32::from(index) + 1)
                        })?;
                    }
                    GoalUpdate::Status(_) => {}
                    GoalUpdate::Ended(state, result) => {
                        let json = json!({"status": state.to_string(), "error_code": result.error_code, "error_string": result.error_string});
                        self.print(&json, || format!("{state}: {}", result.error_string))?;
                        return match state {
                            GoalState::Succeeded => Ok(()),
                            GoalState::Canceled => Err(Failure { code: 130, message: "canceled".into() }),
                            _ => Err(Failure::refused(result.error_string)),
                        };
                    }
                    GoalUpdate::Failed(error) => return Err(Failure::absent(format!("{name}: {error}"))),
                }
            }
            self.still_there()?;
            match self.turn() {
                Err(Error::Interrupted) if !canceled => {
                    canceled = true;
                    eprint_line("interrupted: cancels the goal and waits for the robot to stand");
                    action.cancel(id, self.timeout, |_, _| {});
                }
                other => other?,
            }
        }
    }

    /// A rejected goal has no reason in the action protocol; the controller tells it among its events.
    fn rejection(&mut self, goal: &str) -> String {
        let reason = self.wait(|client| {
            let mut events = std::iter::from_fn(|| client.inbox.events.pop_front());
            events.find(|event| event["event"] == "goal_rejected" && event["goal"] == goal)
        });
        reason.map_or_else(|_| "the goal was rejected".into(), |event| reason_of(&event))
    }
}
