//! The commands that talk to a running controller.
//!
//! Every command waits until the controller is there, publishes, and then waits for the answer on `~/events`, which names
//! the publisher and the number of the sample it answers. Nothing is ever published into the void.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    time::{Duration, Instant},
};

use rosless_graph::{
    Context, ContextOptions, Error, EventLoop, Node, Publisher, Qos,
    action::{GoalState, GoalUpdate},
    config,
    graph::Endpoint,
    qos::Reliability,
};
use rosless_motion::{ExecutionState, RawPrimitive, primitive::code};
use rosless_wire::{
    control_msgs::{
        action::{ExecuteMotionPrimitiveSequence, ExecuteMotionPrimitiveSequenceGoal},
        msg::MotionPrimitiveSequence,
    },
    industrial_robot_motion_interfaces::msg::MotionPrimitive,
    std_msgs::msg::{self, Float64MultiArray},
};
use serde_json::{Value, json};

use crate::{
    messages::{to_control, to_industrial},
    program::Program,
    report::QueueStatus,
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

/// What has arrived.
#[derive(Debug, Default)]
struct Inbox {
    status: Option<QueueStatus>,
    events: VecDeque<Value>,
    interfaces: Option<Float64MultiArray>,
    goal: VecDeque<GoalUpdate<ExecuteMotionPrimitiveSequence>>,
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
    timeout: Duration,
    json: bool,
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
            |inbox: &mut Inbox, sample| match serde_json::from_str(&sample.message.data) {
                Ok(status) => inbox.status = Some(status),
                Err(error) => log::warn!("a queue status that cannot be read: {error}"),
            },
        )?;
        let burst = Qos::default().depth(BURST);
        events.subscribe::<msg::String>(&node, &topic("events"), burst, |inbox, sample| {
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
        let mut client = Self { events, inbox: Inbox::default(), node, context, controller, timeout, json };
        let topic = topic("events");
        client.wait(|client| {
            let heard = client.context.graph().publishers(&topic).len();
            (heard > 0).then(|| client.inbox.status.clone()).flatten()
        })?;
        Ok(client)
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

    fn nobody(&self) -> Failure {
        let Self { controller, timeout, .. } = self;
        let domain = self.context.settings().environment.domain_id;
        let graph = self.context.graph();
        if self.inbox.status.is_some() {
            return Failure::absent(format!("{controller} is there but did not answer within {timeout:?}"));
        }
        if graph.has_node(controller) {
            return Failure::absent(format!(
                "{controller} is there but not configured; configure and activate it: \
                 ros2 lifecycle set {controller} configure"
            ));
        }
        Failure::absent(format!(
            "no controller {controller} in domain {domain} within {timeout:?}; start one with 'primitive-queue run', \
             or check ROS_DOMAIN_ID and --controller"
        ))
    }

    fn status(&self) -> Result<&QueueStatus> {
        self.inbox.status.as_ref().ok_or_else(|| self.nobody())
    }

    fn print(&self, json: &Value, text: impl FnOnce() -> String) {
        if self.json { println!("{json}") } else { println!("{}", text()) }
    }

    /// `state`: the robot and the queue.
    pub fn state(&self) -> Result<()> {
        let status = self.status()?;
        self.print(&json!(status), || {
            let QueueStatus { state, depth, size, ready, active } = status;
            let yes = |yes: &bool| if *yes { "yes" } else { "no" };
            format!(
                "controller  {} ({})\nrobot       {state}\nready       {}\nqueue       {depth} of {size}",
                self.controller,
                if *active { "active" } else { "inactive" },
                yes(ready)
            )
        });
        Ok(())
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
        });
        Ok(())
    }

    /// `watch`: every event, until interrupted or for `duration`.
    pub fn watch(&mut self, duration: Option<Duration>) -> Result<()> {
        let end = duration.map(|duration| Instant::now() + duration);
        let mut told = None;
        loop {
            while let Some(event) = self.inbox.events.pop_front() {
                self.print(&event, || describe(&event));
            }
            if self.inbox.status != told {
                told = self.inbox.status.clone();
                if let Some(status) = &told {
                    self.print(&json!({"event": "queue", "status": status}), || {
                        format!("queue      {:>3} of {}, {}", status.depth, status.size, status.state)
                    });
                }
            }
            if end.is_some_and(|end| Instant::now() >= end) {
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
        });
        Ok(())
    }

    /// `reset`: lifts a stop.
    pub fn reset(&mut self) -> Result<()> {
        if self.status()?.state == ExecutionState::Error.name() {
            return Err(Failure::refused("the robot is in ERROR: run 'primitive-queue stop' first"));
        }
        self.helper(code::RESET_STOP, |status| !status.is_halted())?;
        self.print(&json!({"ready": true}), || "ready".into());
        Ok(())
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
        self.wait(|client| client.inbox.status.as_ref().filter(|status| reached(status)).map(drop))
    }

    /// A publisher on `~/reference` that the controller's reliable reader listens to.
    fn reference(&mut self) -> Result<Publisher<MotionPrimitive>> {
        let topic = format!("{}/reference", self.controller);
        let publisher = self.node.publisher::<MotionPrimitive>(&topic, Qos::default().depth(BURST))?;
        self.wait(|client| {
            let (graph, own) = (client.context.graph(), publisher.gid());
            let mut readers = graph.matched(&own).filter_map(|gid| graph.endpoint(gid));
            // Somebody else may listen, too, and be there earlier.
            let is_controllers = |reader: &Endpoint| {
                graph.node_of(&reader.gid).is_some_and(|node| node.to_string() == client.controller)
            };
            readers
                .any(|reader| reader.qos.reliability == Reliability::Reliable && is_controllers(reader))
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
        let mut sending = Sending::new(program.messages(), self.status()?.size);
        let begin = Instant::now();
        let mut last_answer = Instant::now();
        loop {
            while let Some(event) = self.inbox.events.pop_front() {
                if sending.hear(&event, &own) {
                    last_answer = Instant::now();
                    self.print(&event, || sending.describe(&event));
                }
            }
            let idle = self.status()?.depth == 0 && self.status()?.state != ExecutionState::Executing.name();
            while let Some(message) = sending.next(idle) {
                last_answer = Instant::now();
                publisher.publish(&to_industrial(message));
            }
            if sending.is_over() {
                break;
            }
            if sending.unanswered() > 0 && last_answer.elapsed() > self.timeout {
                return Err(self.nobody());
            }
            if publisher.matched() == 0 {
                return Err(Failure::absent(format!("{} is gone", self.controller)));
            }
            self.turn().map_err(|error| match error {
                Error::Interrupted => Failure {
                    code: error.exit_code(),
                    message: "interrupted; what was sent goes on. 'primitive-queue stop' stops it".into(),
                },
                other => other.into(),
            })?;
        }
        let seconds = begin.elapsed().as_secs_f64();
        let summary = json!({"executed": sending.finished, "seconds": seconds});
        self.print(&summary, || format!("{} primitives executed in {seconds:.1} s", sending.finished));
        match sending.problem {
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
                        });
                    }
                    GoalUpdate::Rejected => return Err(Failure::refused(self.rejection(&id.to_string()))),
                    GoalUpdate::Feedback(feedback) => {
                        let index = feedback.current_primitive_index;
                        self.print(&json!({"current_primitive_index": index}), || {
                            format!("primitive {} of {count}", u32::from(index) + 1)
                        });
                    }
                    GoalUpdate::Status(_) => {}
                    GoalUpdate::Ended(state, result) => {
                        let json = json!({"status": state.to_string(), "error_code": result.error_code, "error_string": result.error_string});
                        self.print(&json, || format!("{state}: {}", result.error_string));
                        return match state {
                            GoalState::Succeeded => Ok(()),
                            GoalState::Canceled => Err(Failure { code: 130, message: "canceled".into() }),
                            _ => Err(Failure::refused(result.error_string)),
                        };
                    }
                    GoalUpdate::Failed(error) => return Err(Failure::absent(format!("{name}: {error}"))),
                }
            }
            match self.turn() {
                Err(Error::Interrupted) if !canceled => {
                    canceled = true;
                    eprintln!("interrupted: cancels the goal and waits for the robot to stand");
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

fn reason_of(event: &Value) -> String {
    event["reason"].as_str().unwrap_or("no reason given").to_owned()
}

/// An event for people.
fn describe(event: &Value) -> String {
    let name = event["event"].as_str().unwrap_or("?");
    let mut text = match (event["id"].as_u64(), event["next"].as_u64()) {
        (None, _) => format!("{name:<10}"),
        (Some(id), None) => format!("{name:<10} {id:>3}"),
        (Some(id), Some(next)) => format!("{name:<10} {id:>3} into {next}"),
    };
    for key in ["reason", "text", "goal"] {
        if let Some(detail) = event[key].as_str() {
            text.push_str(&format!("  {detail}"));
        }
    }
    for warning in event["warnings"].as_array().into_iter().flatten() {
        text.push_str(&format!("  warning: {}", warning.as_str().unwrap_or_default()));
    }
    text.trim_end().to_owned()
}

/// How far a program is: what was sent, what was answered, what the robot has done. No I/O.
#[derive(Debug)]
struct Sending {
    messages: Vec<RawPrimitive>,
    size: usize,
    sent: usize,
    answered: usize,
    /// Accepted, by id, with the place in the program; markers count until something behind them starts.
    waiting: BTreeMap<u64, usize>,
    /// Moves that were accepted and have not ended.
    unfinished: BTreeSet<u64>,
    place: BTreeMap<u64, usize>,
    finished: usize,
    problem: Option<String>,
}

impl Sending {
    fn new(messages: Vec<RawPrimitive>, size: usize) -> Self {
        Self {
            messages,
            size,
            sent: 0,
            answered: 0,
            waiting: BTreeMap::new(),
            unfinished: BTreeSet::new(),
            place: BTreeMap::new(),
            finished: 0,
            problem: None,
        }
    }

    fn unanswered(&self) -> usize {
        self.sent - self.answered
    }

    /// The next message, if the queue has room for sure. `idle`: nothing waits and nothing moves.
    fn next(&mut self, idle: bool) -> Option<&RawPrimitive> {
        if self.problem.is_some() {
            return None;
        }
        let open = self.messages[..self.sent].iter().rev().find_map(|message| match message.kind {
            code::MOTION_SEQUENCE_START => Some(true),
            code::MOTION_SEQUENCE_END => Some(false),
            _ => None,
        });
        if idle && self.unanswered() == 0 && open != Some(true) && self.unfinished.is_empty() {
            self.waiting.clear();
        }
        let message = self.messages.get(self.sent)?;
        let room = self.waiting.len() + self.unanswered() < self.size;
        // The end of a sequence always fits.
        (room || message.kind == code::MOTION_SEQUENCE_END).then(|| {
            self.sent += 1;
            message
        })
    }

    /// True when the event is about this program.
    fn hear(&mut self, event: &Value, own: &str) -> bool {
        let id = event["id"].as_u64();
        let name = event["event"].as_str().unwrap_or_default();
        if event["publisher"] == *own {
            let place = event["sequence"].as_u64().map_or(0, |n| n as usize).saturating_sub(1);
            self.answered += 1;
            match id {
                Some(id) if name == "accepted" => {
                    self.waiting.insert(id, place);
                    self.place.insert(id, place);
                    if self.messages.get(place).is_some_and(|m| !is_marker(m)) {
                        self.unfinished.insert(id);
                    }
                }
                _ => self.fail(format!("primitive {} was refused: {}", place + 1, reason_of(event))),
            }
            return true;
        }
        let Some(id) = id.filter(|id| self.place.contains_key(id)) else { return false };
        let place = self.place[&id] + 1;
        match name {
            "started" => self.waiting = self.waiting.split_off(&(id + 1)),
            "blended" => {
                let next = event["next"].as_u64().unwrap_or(id);
                self.waiting = self.waiting.split_off(&(next + 1));
            }
            "finished" => {
                self.unfinished.remove(&id);
                self.finished += 1;
            }
            "failed" | "discarded" => {
                self.unfinished.remove(&id);
                let what = if name == "failed" { "failed" } else { "was discarded" };
                self.fail(format!("primitive {place} {what}: {}", reason_of(event)));
            }
            _ => {}
        }
        true
    }

    fn fail(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    fn is_over(&self) -> bool {
        let all_sent = self.sent == self.messages.len() || self.problem.is_some();
        all_sent && self.unanswered() == 0 && self.unfinished.is_empty()
    }

    fn describe(&self, event: &Value) -> String {
        let place = match event["id"].as_u64().and_then(|id| self.place.get(&id)) {
            Some(place) => *place,
            None => event["sequence"].as_u64().map_or(0, |n| n as usize).saturating_sub(1),
        };
        let kind = self.messages.get(place).map_or("", |message| kind_name(message.kind));
        format!("{:>4}/{} {kind:<5} {}", place + 1, self.messages.len(), describe(event))
    }
}

fn is_marker(message: &RawPrimitive) -> bool {
    matches!(message.kind, code::MOTION_SEQUENCE_START | code::MOTION_SEQUENCE_END)
}

/// A primitive's type for people.
pub fn kind_name(kind: i16) -> &'static str {
    match kind {
        code::LINEAR_JOINT | code::LINEAR_JOINT_FIRST_GENERATION => "PTP",
        code::LINEAR_CARTESIAN => "LIN",
        code::CIRCULAR_CARTESIAN => "CIRC",
        code::STOP_MOTION => "STOP",
        code::RESET_STOP => "RESET",
        code::MOTION_SEQUENCE_START => "START",
        code::MOTION_SEQUENCE_END => "END",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(kinds: &[i16]) -> Vec<RawPrimitive> {
        kinds.iter().map(|kind| RawPrimitive { kind: *kind, ..Default::default() }).collect()
    }

    fn accepted(sequence: u64, id: u64) -> Value {
        json!({"event": "accepted", "id": id, "publisher": "me", "sequence": sequence})
    }

    #[test]
    fn never_more_is_under_way_than_the_queue_holds() {
        let mut sending = Sending::new(kinds(&[0; 20]), 3);
        for expected in 1..=3 {
            assert!(sending.next(false).is_some());
            assert_eq!(sending.unanswered(), expected);
        }
        assert!(sending.next(false).is_none());
        for n in 1..=3 {
            assert!(sending.hear(&accepted(n, 10 + n), "me"));
        }
        assert!(sending.next(false).is_none(), "all three wait");
        assert!(sending.hear(&json!({"event": "started", "id": 11}), "me"));
        assert!(sending.next(false).is_some());
        assert!(sending.next(false).is_none());
        assert!(!sending.hear(&json!({"event": "started", "id": 99}), "me"), "somebody else's");
    }

    #[test]
    fn markers_do_not_block_a_small_queue_for_good() {
        let mut sending = Sending::new(kinds(&[100, 0, 101, 0]), 2);
        assert_eq!(
            std::iter::from_fn(|| sending.next(true).map(|m| m.kind)).collect::<Vec<_>>(),
            [100, 0, 101]
        );
        for n in 0..3 {
            sending.hear(&accepted(n + 1, n), "me");
        }
        sending.hear(&json!({"event": "started", "id": 1}), "me");
        sending.hear(&json!({"event": "finished", "id": 1}), "me");
        assert_eq!(sending.next(true).map(|m| m.kind), Some(0));
        sending.hear(&accepted(4, 3), "me");
        assert!(!sending.is_over());
        sending.hear(&json!({"event": "finished", "id": 3}), "me");
        assert!(sending.is_over() && sending.problem.is_none());
    }

    #[test]
    fn a_refusal_ends_the_sending_but_not_the_waiting() {
        let mut sending = Sending::new(kinds(&[0, 0, 0]), 2);
        while sending.next(false).is_some() {}
        sending.hear(&accepted(1, 0), "me");
        let refused =
            json!({"event": "refused", "reason": "the queue is full", "publisher": "me", "sequence": 2});
        sending.hear(&refused, "me");
        assert!(sending.next(false).is_none() && !sending.is_over(), "the first one still moves");
        sending.hear(&json!({"event": "discarded", "id": 0, "reason": "STOP_MOTION"}), "me");
        assert!(sending.is_over());
        assert_eq!(sending.problem.as_deref(), Some("primitive 2 was refused: the queue is full"));
    }
}
