//! The commands that talk to a running controller.
//!
//! Every command waits until the controller is there, publishes, and then waits for the answer on `~/events`, which names
//! the publisher and the number of the sample it answers. Nothing is ever published into the void.

use std::{
    collections::{BTreeSet, VecDeque},
    time::{Duration, Instant},
};

use rosless_cli::{Failure, Result, Session, err, exit, output};
use rosless_graph::{
    Gid, Publisher, TopicQos,
    action::{GoalState, GoalUpdate},
    config,
    lifecycle::State,
    qos::Reliability,
};
use rosless_motion::{
    ExecutionState, Program, QueueStatus, RawPrimitive, Report, Sending,
    messages::{to_control, to_industrial},
    primitive::code,
};
use rosless_wire::{
    control_msgs::{
        action::{ExecuteMotionPrimitiveSequence, ExecuteMotionPrimitiveSequenceGoal},
        msg::{MotionPrimitiveSequence, SpeedScalingFactor},
    },
    industrial_robot_motion_interfaces::msg::MotionPrimitive,
    lifecycle_msgs::srv::{GetState, GetStateRequest},
    rosless_msgs::srv::{PlanMotion, PlanMotionRequest},
    std_msgs::msg::{self, Float64MultiArray},
    std_srvs::srv::{Trigger, TriggerRequest},
};
use serde_json::{Value, json};

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
    events: VecDeque<Report>,
    interfaces: Option<Float64MultiArray>,
    goal: VecDeque<GoalUpdate<ExecuteMotionPrimitiveSequence>>,
}

/// A connection to one controller.
#[derive(Debug)]
pub struct Client {
    session: Session<Inbox>,
    controller: String,
    /// Writers of `~/events` that were there at the beginning; one of a controller that was killed may be among them.
    known: BTreeSet<Gid>,
    timeout: Duration,
}

/// Events that may arrive in one burst.
const BURST: u32 = 1000;
/// For an answer that only improves a message.
const MOMENT: Duration = Duration::from_secs(1);

impl Client {
    /// Joins the domain and waits for the controller.
    ///
    /// # Errors
    /// When there is none within `timeout`; the message says what there is instead.
    pub fn connect(settings: &config::Settings, controller: &str, timeout: Duration) -> Result<Self> {
        let session = Session::join_as(settings, "primitive_queue_client", Inbox::default())?;
        let controller = format!("/{}", controller.trim_start_matches('/'));
        let (events, node) = (&session.event_loop, &session.node);
        let topic = |name: &str| format!("{controller}/{name}");
        events.subscribe::<msg::String>(node, topic("queue").latched(), |inbox: &mut Inbox, sample| {
            let writer = sample.info.publisher;
            if inbox.only.is_some_and(|only| only.queue != writer) {
                return;
            }
            match serde_json::from_str(&sample.message.data) {
                Ok(status) => inbox.status = Some((writer, status)),
                Err(error) => log::warn!("a queue status that cannot be read: {error}"),
            }
        })?;
        events.subscribe::<msg::String>(node, topic("events").keep_last(BURST), |inbox, sample| {
            if inbox.only.is_some_and(|only| only.events != sample.info.publisher) {
                return;
            }
            match Report::from_json(&sample.message.data) {
                Ok(report) => inbox.events.push_back(report),
                Err(error) => log::warn!("an event that cannot be read: {error}"),
            }
        })?;
        events.subscribe::<Float64MultiArray>(node, topic("interfaces").latched(), |inbox, sample| {
            inbox.interfaces = Some(sample.message);
        })?;
        let mut client = Self { session, controller, known: BTreeSet::new(), timeout };
        let only = client.wait(|client, inbox| {
            let queue = inbox.status.as_ref()?.0;
            let known = client.events_writers();
            let events = *known.iter().find(|writer| writer.prefix() == queue.prefix())?;
            Some((known, Writers { queue, events }))
        })?;
        client.known = only.0;
        client.session.with(|inbox| inbox.only = Some(only.1));
        Ok(client)
    }

    fn events_writers(&self) -> BTreeSet<Gid> {
        let (graph, topic) = (self.session.graph(), format!("{}/events", self.controller));
        graph.publishers(&topic).iter().map(|writer| writer.gid).collect()
    }

    /// An error once the controller has gone, or another one has taken its place and counts from 0 again.
    fn still_there(&self, inbox: &Inbox) -> Result<()> {
        let Self { controller, known, .. } = self;
        let (graph, writers) = (self.session.graph(), self.events_writers());
        let is_controllers =
            |writer: &&Gid| graph.node_of(writer).is_some_and(|node| node.to_string() == *controller);
        if writers.difference(known).any(|writer| is_controllers(&writer)) {
            return Err(Failure::nobody(format!("{controller} was restarted; what it had to do is lost")));
        }
        if inbox.only.is_some_and(|only| !writers.contains(&only.events)) {
            return Err(Failure::nobody(format!("{controller} is gone")));
        }
        Ok(())
    }

    /// Runs until `ready` gives a value, at most for the timeout.
    fn wait<T>(&self, mut ready: impl FnMut(&Self, &mut Inbox) -> Option<T>) -> Result<T> {
        let mut value = None;
        self.session.wait(self.timeout, |inbox| {
            value = ready(self, inbox);
            value.is_some()
        })?;
        value.ok_or_else(|| self.nobody())
    }

    /// Runs until `end` gives one, however long that takes.
    fn run<T>(&self, mut end: impl FnMut(&mut Inbox) -> Option<T>) -> Result<T> {
        let mut value = None;
        self.session.wait(rosless_cli::session::FOREVER, |inbox| {
            value = end(inbox);
            value.is_some()
        })?;
        value.ok_or_else(|| self.nobody())
    }

    fn nobody(&self) -> Failure {
        let Self { controller, timeout, .. } = self;
        if self.session.with(|inbox| inbox.status.is_some()) {
            return Failure::nobody(format!("{controller} is there but did not answer within {timeout:?}"));
        }
        if self.session.graph().has_node(controller) {
            let service = format!("{controller}/get_state");
            let state = self.session.call::<GetState>(&service, &GetStateRequest::default(), MOMENT);
            let finalized = state.is_ok_and(|state| state.current_state.id == State::Finalized.id());
            return Failure::nobody(if finalized {
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
        let domain = self.session.domain();
        Failure::nobody(format!(
            "no controller {controller} in domain {domain} within {timeout:?}; start one with 'primitive-queue run', \
             or check ROS_DOMAIN_ID and --controller"
        ))
    }

    fn status(&self) -> Result<QueueStatus> {
        let status = self.session.with(|inbox| inbox.status.clone()).map(|(_, status)| status);
        status.ok_or_else(|| self.nobody())
    }

    /// `state`: the robot and the queue.
    pub fn state(&self) -> Result<()> {
        let status = self.status()?;
        let (controller, name) = (&self.controller, status.state.name());
        output::answer(&status, || {
            let QueueStatus { depth, size, ready, active, paused, speed, fault, .. } = &status;
            let yes = |yes: &bool| if *yes { "yes" } else { "no" };
            format!(
                "controller  {controller} ({})\nrobot       {name}{}\nready       {}\nqueue       {depth} of {size}\nspeed       {:.0} %{}",
                if *active { "active" } else { "inactive" },
                if *paused { ", paused" } else { "" },
                yes(ready),
                100.0 * speed,
                fault.as_ref().map(|fault| format!("\nfault       {fault}")).unwrap_or_default()
            )
        });
        Ok(())
    }

    /// `inspect`: the 25 command values given last and the 2 state values.
    pub fn inspect(&self) -> Result<()> {
        let interfaces = self.wait(|_, inbox| inbox.interfaces.clone())?;
        let label = interfaces.layout.dim.first().map_or("", |dim| dim.label.as_str());
        let values: Vec<(&str, f64)> = label.split(',').zip(interfaces.data.iter().copied()).collect();
        let json = values.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        output::answer(&Value::Object(json), || {
            let line = |(name, value): &(&str, f64)| {
                let value = if value.is_nan() { "-".to_owned() } else { value.to_string() };
                format!("{name:<46} {value}")
            };
            values.iter().map(line).collect::<Vec<_>>().join("\n")
        });
        Ok(())
    }

    /// `watch`: every event, until interrupted or for `duration`.
    pub fn watch(&self, duration: Option<Duration>) -> Result<()> {
        // A controller that is restarted is watched on.
        self.session.with(|inbox| inbox.only = None);
        let mut told = None;
        self.session.watch(duration, |inbox| {
            while let Some(report) = inbox.events.pop_front() {
                output::answer(&report, || report.to_string());
            }
            if inbox.status != told {
                told = inbox.status.clone();
                if let Some((_, status)) = &told {
                    output::answer(&json!({"event": "queue", "status": status}), || {
                        format!("queue      {:>3} of {}, {}", status.depth, status.size, status.state.name())
                    });
                }
            }
            false
        })
    }

    /// `stop`: halts the robot and empties the queue; returns when the robot stands.
    pub fn stop(&self) -> Result<()> {
        self.helper(code::STOP_MOTION, |status| status.state == ExecutionState::Stopped)?;
        output::answer(&json!({"stopped": true}), || {
            "stopped; the queue is empty. 'primitive-queue reset' makes the robot ready again".into()
        });
        Ok(())
    }

    /// `reset`: lifts a stop.
    pub fn reset(&self) -> Result<()> {
        if self.status()?.state == ExecutionState::Error {
            return Err(Failure::new("the robot is in ERROR: run 'primitive-queue stop' first"));
        }
        self.helper(code::RESET_STOP, |status| !status.is_halted())?;
        output::answer(&json!({"ready": true}), || "ready".into());
        Ok(())
    }

    /// `plan`: how long it would take and what speaks against it.
    pub fn plan(&self, program: &Program) -> Result<()> {
        let name = format!("{}/plan", self.controller);
        let request =
            PlanMotionRequest { motions: program.moves().iter().map(to_control).collect(), start: vec![] };
        let answer = self.session.call::<PlanMotion>(&name, &request, self.timeout)?;
        let json = json!({
            "feasible": answer.feasible,
            "reason": answer.reason,
            "impossible": answer.impossible,
            "notes": answer.notes,
            "seconds": answer.duration,
            "metres": answer.length,
            "fastest": answer.top_speed,
        });
        output::answer(&json, || {
            let mut lines: Vec<String> = answer.notes.clone();
            if answer.feasible {
                let times = answer.starts.iter().zip(&answer.ends).enumerate();
                lines.extend(
                    times.map(|(i, (start, end))| format!("primitive {i}: {start:.3} s to {end:.3} s")),
                );
                lines.push(format!(
                    "{:.3} m in {:.3} s, at most {:.3} m/s",
                    answer.length, answer.duration, answer.top_speed
                ));
            }
            lines.join("\n")
        });
        if answer.feasible {
            return Ok(());
        }
        Err(Failure::new(match answer.impossible {
            -1 => answer.reason,
            index => format!("primitive {index}: {}", answer.reason),
        }))
    }

    /// `pause`, `resume`.
    pub fn hold(&self, verb: &str) -> Result<()> {
        let name = format!("{}/{verb}", self.controller);
        let answer = self.session.call::<Trigger>(&name, &TriggerRequest::default(), self.timeout)?;
        if !answer.success {
            return Err(Failure::new(answer.message));
        }
        output::answer(&json!({"success": true, "message": answer.message}), || answer.message.clone());
        Ok(())
    }

    /// `speed`: sets the share of the speed and waits until the controller says so.
    pub fn speed(&self, share: f64) -> Result<()> {
        let topic = format!("{}/speed_scaling_factor", self.controller);
        let publisher = self.session.node.publisher::<SpeedScalingFactor>(&topic)?;
        self.wait(|_, _| (publisher.matched() > 0).then_some(()))?;
        publisher.publish(&SpeedScalingFactor { factor: share });
        self.wait(|_, inbox| {
            inbox.status.as_ref().filter(|(_, status)| (status.speed - share).abs() < 1e-9).map(drop)
        })?;
        output::answer(&json!({"speed": share}), || format!("speed {:.0} %", 100.0 * share));
        Ok(())
    }

    /// Sends one helper command, waits for the answer and then for the state it leads to.
    fn helper(&self, kind: i16, reached: impl Fn(&QueueStatus) -> bool) -> Result<()> {
        let publisher = self.reference()?;
        publisher.publish(&to_industrial(&RawPrimitive { kind, ..RawPrimitive::default() }));
        let own = publisher.gid().to_string();
        let answer = self.wait(|_, inbox| {
            let mut reports = std::iter::from_fn(|| inbox.events.pop_front());
            reports.find(|report| report.origin().is_some_and(|origin| origin.publisher == own))
        })?;
        if let Report::Refused { reason, .. } = answer {
            return Err(Failure::new(reason));
        }
        self.wait(|_, inbox| inbox.status.as_ref().filter(|(_, status)| reached(status)).map(drop))
    }

    /// A publisher on `~/reference` that the controller's reliable reader listens to.
    fn reference(&self) -> Result<Publisher<MotionPrimitive>> {
        let topic = format!("{}/reference", self.controller);
        let publisher = self.session.node.publisher::<MotionPrimitive>(topic.keep_last(BURST))?;
        self.wait(|client, inbox| {
            let (graph, own) = (client.session.graph(), publisher.gid());
            let mut readers = graph.matched(&own).filter_map(|gid| graph.endpoint(gid));
            // Somebody else may listen, too, and be there earlier.
            let only = inbox.only.map(|only| only.queue.prefix());
            readers
                .any(|reader| {
                    reader.qos.reliability == Reliability::Reliable && Some(reader.gid.prefix()) == only
                })
                .then_some(())
        })?;
        Ok(publisher)
    }

    /// `send`: streams a program, as fast as the queue takes it, and returns when the robot has done all of it.
    pub fn send(&self, program: &Program) -> Result<()> {
        let size = self.status()?.size;
        let publisher = self.reference()?;
        let own = publisher.gid().to_string();
        let mut sending = Sending::new(program.messages(), size);
        let begin = Instant::now();
        let (mut last_answer, mut last_motion) = (begin, begin);
        let ended = self.run(|inbox| {
            while let Some(report) = inbox.events.pop_front() {
                if sending.hear(&report, &own) {
                    last_answer = Instant::now();
                    output::answer(&report, || sending.describe(&report));
                }
            }
            let (_, status) = inbox.status.clone()?;
            while let Some(message) = sending.next(status.depth) {
                last_answer = Instant::now();
                publisher.publish(&to_industrial(message));
            }
            if sending.is_over() {
                return Some(Ok(()));
            }
            if sending.unanswered() > 0 && last_answer.elapsed() > self.timeout {
                let (controller, timeout) = (&self.controller, self.timeout);
                let text = format!("{controller} is there but did not answer within {timeout:?}");
                return Some(Err(Failure::nobody(text)));
            }
            if sending.unanswered() > 0 || status.is_busy() {
                last_motion = Instant::now();
            } else if last_motion.elapsed() > self.timeout {
                return Some(Err(Failure::nobody(format!(
                    "{} has nothing to do, but has not told how all primitives ended",
                    self.controller
                ))));
            }
            self.still_there(inbox).err().map(Err)
        });
        match ended {
            Err(failure) if failure.is_interruption() => {
                let message = "interrupted; what was sent goes on. 'primitive-queue stop' stops it".into();
                return Err(Failure { message, ..failure });
            }
            other => other??,
        }
        let seconds = begin.elapsed().as_secs_f64();
        let executed = sending.finished();
        output::answer(&json!({"executed": executed, "seconds": seconds}), || {
            format!("{executed} primitives executed in {seconds:.1} s")
        });
        match sending.into_problem() {
            Some(problem) => Err(Failure::new(problem)),
            None => Ok(()),
        }
    }

    /// `send --action`: the whole program as one goal, one blended motion.
    pub fn send_goal(&self, program: &Program) -> Result<()> {
        let moves = program.moves();
        let count = moves.len();
        let name = format!("{}/motion_sequence", self.controller);
        let events = &self.session.event_loop;
        let action = events.action_client::<ExecuteMotionPrimitiveSequence>(&self.session.node, &name)?;
        self.wait(|_, _| action.is_ready().then_some(()))?;
        let trajectory = MotionPrimitiveSequence { motions: moves.iter().map(to_control).collect() };
        let goal = ExecuteMotionPrimitiveSequenceGoal { trajectory };
        let id =
            action.send_goal(goal, self.timeout, Duration::from_secs(86_400), |inbox: &mut Inbox, update| {
                inbox.goal.push_back(update);
            });
        let mut canceled = false;
        loop {
            let next = self.run(|inbox| match inbox.goal.pop_front() {
                Some(update) => Some(Ok(update)),
                None => self.still_there(inbox).err().map(Err),
            });
            let update = match next {
                Err(failure) if failure.is_interruption() && !canceled => {
                    canceled = true;
                    err!("interrupted: cancels the goal and waits for the robot to stand");
                    action.cancel(id, self.timeout, |_, _| {});
                    continue;
                }
                other => other??,
            };
            match update {
                GoalUpdate::Accepted(_) => {
                    output::answer(&json!({"goal": id.to_string(), "accepted": true}), || {
                        format!("goal accepted: {count} primitives")
                    });
                }
                GoalUpdate::Rejected => return Err(Failure::new(self.rejection(&id.to_string()))),
                GoalUpdate::Feedback(feedback) => {
                    let index = feedback.current_primitive_index;
                    output::answer(&json!({"current_primitive_index": index}), || {
                        format!("primitive {} of {count}", u32::from(index) + 1)
                    });
                }
                GoalUpdate::Status(_) => {}
                GoalUpdate::Ended(state, result) => {
                    let json = json!({"status": state.to_string(), "error_code": result.error_code, "error_string": result.error_string});
                    output::answer(&json, || format!("{state}: {}", result.error_string));
                    return match state {
                        GoalState::Succeeded => Ok(()),
                        GoalState::Canceled => {
                            Err(Failure { code: exit::INTERRUPTED, message: "canceled".into() })
                        }
                        _ => Err(Failure::new(result.error_string)),
                    };
                }
                GoalUpdate::Failed(error) => return Err(Failure::nobody(format!("{name}: {error}"))),
            }
        }
    }

    /// A rejected goal has no reason in the action protocol; the controller tells it among its events.
    fn rejection(&self, wanted: &str) -> String {
        let reason = self.wait(|_, inbox| {
            let mut reports = std::iter::from_fn(|| inbox.events.pop_front());
            reports.find_map(|report| match report {
                Report::GoalRejected { goal, reason } if goal == wanted => Some(reason),
                _ => None,
            })
        });
        reason.unwrap_or_else(|_| "the goal was rejected".into())
    }
}
