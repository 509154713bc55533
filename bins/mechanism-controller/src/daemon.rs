//! The daemon: a thin driver of the engine.

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    time::{Duration, SystemTime},
};

use rosless_cli::Result;
use rosless_graph::{
    Context, EventLoop, Node, Publisher, Qos,
    action::{CancelResponse, GoalHandle, GoalId, GoalResponse},
    config::Settings,
    monotonic,
    parameters::{Descriptor, ParameterValue},
};
use rosless_mechanism::{
    Engine, Input, Outcome, Output, Params, Profile, Time,
    engine::{Level, Which},
    messages::{Dialect, Document, Nucleo},
    status::{NODE, Status, TOPIC},
};
use rosless_wire::{
    Action,
    diagnostic_msgs::msg::DiagnosticArray,
    mecha_control::{
        action::{DaizaCmd, DaizaCmdFeedback, DaizaCmdResult, HinaCmd, HinaCmdFeedback, HinaCmdResult},
        msg::MechaState,
    },
    std_msgs::msg::{Bool, String as Text},
    std_srvs::srv::{SetBool, SetBoolResponse},
};

/// What a stream of messages causes is not logged again within this time: a stream that fails fails loudly once.
const QUIET: Duration = Duration::from_secs(5);
/// How long the last outputs may take to leave when the controller ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// Statuses closer than this are told as one, the last.
const STATUS_GAP: Duration = Duration::from_millis(20);
/// A goal's result follows its last feedback after this time: they travel separately, and a client that has the result
/// does not listen for feedback any more.
const FEEDBACK_LEAD: Duration = Duration::from_millis(50);

/// The end of a goal, held back until its last feedback had time to arrive.
struct Ending {
    due: Time,
    id: GoalId,
    outcome: Outcome,
}

struct Controller<D: Dialect> {
    engine: Engine,
    node: Node,
    pedestal: Publisher<D::Actuators>,
    doll: Publisher<D::Actuators>,
    lantern: Publisher<Bool>,
    state: Publisher<Text>,
    status: Publisher<DiagnosticArray>,
    diagnostics: Publisher<DiagnosticArray>,
    pedestal_goals: BTreeMap<GoalId, GoalHandle<DaizaCmd>>,
    doll_goals: BTreeMap<GoalId, GoalHandle<HinaCmd>>,
    last_feedback: BTreeMap<GoalId, Time>,
    ending: VecDeque<Ending>,
    said: VecDeque<(String, Time)>,
    /// Another controller is there.
    rival: bool,
    /// There is something to tell on `~/state` and `~/status`, and when that was last done.
    news: bool,
    told_at: Time,
}

pub(crate) fn run(settings: Settings, profile: Profile) -> Result<()> {
    match profile {
        Profile::Document => run_as::<Document>(settings),
        Profile::Nucleo => run_as::<Nucleo>(settings),
    }
}

fn run_as<D: Dialect>(settings: Settings) -> Result<()> {
    let context = Context::new(settings)?;
    let node = context.node(NODE)?;
    let event_loop = EventLoop::<Controller<D>>::new(&context)?;
    let params = declare_parameters(&node, D::PROFILE)?;
    let mut controller = Controller::<D> {
        engine: Engine::new(params.borrow().clone()),
        pedestal: node.publisher("daiza_clamp", Qos::default())?,
        doll: node.publisher("hina_dastpan", Qos::default())?,
        // Latched: a lamp that joins late learns whether it should shine. Deeper than the one sample it needs, because one
        // batch of events may switch more than once.
        lantern: node.publisher("bonbori_msg", Qos::latched().depth(8))?,
        state: node.publisher(&format!("~/{TOPIC}"), Qos::latched())?,
        status: node.publisher("~/status", Qos::latched())?,
        diagnostics: node.publisher("/diagnostics", Qos::default())?,
        node: node.clone(),
        pedestal_goals: BTreeMap::new(),
        doll_goals: BTreeMap::new(),
        last_feedback: BTreeMap::new(),
        ending: VecDeque::new(),
        said: VecDeque::new(),
        rival: false,
        news: true,
        told_at: Time::ZERO,
    };
    event_loop.on_parameter_change(&node, move |controller: &mut Controller<D>, _| {
        controller.engine.set_params(params.borrow().clone());
    });

    event_loop.subscribe::<D::Sensors>(&node, "daiza_state", Qos::default(), |controller, sample| {
        let sensors = D::PROFILE.read_pedestal_sensors(&sample.message.into());
        controller.engine.handle(Input::PedestalSensors(sensors), monotonic());
    })?;
    event_loop.subscribe::<D::Sensors>(&node, "hina_state", Qos::default(), |controller, sample| {
        let sensors = D::PROFILE.read_doll_sensors(&sample.message.into());
        controller.engine.handle(Input::DollSensors(sensors), monotonic());
    })?;
    event_loop.subscribe::<MechaState>(&node, "mecha_state", Qos::default(), |controller, sample| {
        let MechaState { daiza_state: pedestal, hina_state: doll, bonbori_state: lantern } = sample.message;
        controller.engine.handle(Input::MechaState { pedestal, doll, lantern }, monotonic());
    })?;
    event_loop.subscribe::<Text>(&node, "direct_mecha_command", Qos::default(), |controller, sample| {
        controller.engine.handle(Input::Direct(sample.message.data), monotonic());
    })?;
    // Whoever else moves the actuators is listened to, so that "keep" never means "move back".
    event_loop.subscribe::<D::Actuators>(&node, "daiza_clamp", Qos::default(), |controller, sample| {
        if sample.info.publisher != controller.pedestal.gid()
            && let Ok(command) = D::PROFILE.read_pedestal_command(&sample.message.into())
        {
            controller.engine.handle(Input::OthersPedestalCommand(command), monotonic());
            // The next command of a debug controller is based on it.
            controller.news = true;
        }
    })?;
    event_loop.subscribe::<D::Actuators>(&node, "hina_dastpan", Qos::default(), |controller, sample| {
        if sample.info.publisher != controller.doll.gid()
            && let Ok(command) =
                D::PROFILE.read_doll_command(&sample.message.into(), controller.engine.params())
        {
            controller.engine.handle(Input::OthersDollCommand(command), monotonic());
            controller.news = true;
        }
    })?;
    event_loop.serve::<SetBool>(&node, "set_bonbori", |controller, request, responder| {
        controller.engine.handle(Input::Lantern(request.data), monotonic());
        let message = format!("bonbori {}", if request.data { "on" } else { "off" });
        responder.reply(&SetBoolResponse { success: true, message });
    })?;
    // Every goal is taken: what is wrong with it is said in its result.
    event_loop.action_server::<DaizaCmd>(
        &node,
        "daiza_cmd",
        |_, _, _| GoalResponse::Execute,
        |controller, goal| {
            let input = Input::Goal { which: Which::Pedestal, id: goal.id().0, command: goal.goal().command };
            controller.pedestal_goals.insert(goal.id(), goal);
            controller.engine.handle(input, monotonic());
        },
        Controller::cancel,
    )?;
    event_loop.action_server::<HinaCmd>(
        &node,
        "hina_cmd",
        |_, _, _| GoalResponse::Execute,
        |controller, goal| {
            let input = Input::Goal { which: Which::Doll, id: goal.id().0, command: goal.goal().command };
            controller.doll_goals.insert(goal.id(), goal);
            controller.engine.handle(input, monotonic());
        },
        Controller::cancel,
    )?;

    event_loop.drive(
        |controller: &mut Controller<D>, with: &mut dyn FnMut(&mut Engine)| with(&mut controller.engine),
        Controller::act,
    );
    event_loop.engine_deadline(
        |controller| controller.ending.front().map(|ending| ending.due),
        |controller, now| controller.end_goals(now),
    );
    event_loop.after_batch(|controller| controller.tell(monotonic()));
    event_loop.engine_deadline(
        |controller| controller.news.then_some(controller.told_at + STATUS_GAP),
        |controller, now| controller.tell(now),
    );
    event_loop.on_graph_change(|controller, graph| {
        let (topic, own) = (controller.status.topic(), controller.status.gid());
        let rival = graph.publishers(topic).iter().any(|publisher| publisher.gid != own);
        if rival && !controller.rival {
            log::warn!(target: controller.node.logger(), "another {NODE} is running: both move the actuators; stop one of them");
        }
        controller.rival = rival;
    });
    event_loop.timer(Duration::from_millis(200), |controller| controller.news = true);
    event_loop.timer(Duration::from_secs(1), |controller| {
        let diagnostics = controller.status().diagnostics(controller.node.now());
        controller.diagnostics.publish(&diagnostics);
    });
    log::info!(target: node.logger(), "ready: profile {}; nothing moves before the first command", D::PROFILE.name());
    event_loop.run(&mut controller)?;

    controller.engine.handle(Input::Stop, monotonic());
    while let Some(output) = controller.engine.poll_output() {
        controller.act(output);
    }
    controller.end_goals(Time::MAX);
    // Peers that do not listen any more must not keep the process; what left is what could leave.
    let _ = controller.pedestal.wait_acknowledged(FAREWELL) && controller.doll.wait_acknowledged(FAREWELL);
    Ok(())
}

/// Every parameter of the engine, with its range; the shared copy always holds values that fit together.
fn declare_parameters(node: &Node, profile: Profile) -> Result<Rc<RefCell<Params>>> {
    let params = Rc::new(RefCell::new(Params::defaults(profile)));
    let text = "The hardware that is driven; chosen with --profile";
    node.declare_parameter(
        Descriptor::new("profile").description(text).read_only(),
        profile.name().to_owned(),
    )?;
    let shared = params.clone();
    node.validate_parameters(move |values| {
        let known = values.iter().filter_map(|(name, value)| match value {
            ParameterValue::Double(value) => Some((name.as_str(), *value)),
            _ => None,
        });
        // The store takes over what is judged good here, so the copy does, too.
        shared.borrow_mut().set_all(known).map_err(|error| error.to_string())
    });
    let defaults = params.borrow().clone();
    for spec in Params::TABLE {
        let text = if spec.unit.is_empty() {
            spec.description.to_owned()
        } else {
            format!("{} ({})", spec.description, spec.unit)
        };
        let descriptor = Descriptor::new(spec.name).description(text).double_range(spec.min, spec.max, 0.0);
        node.declare_parameter(descriptor, defaults.get(spec.name).unwrap_or(spec.default))?;
    }
    Ok(params)
}

impl<D: Dialect> Controller<D> {
    fn status(&self) -> Status {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Status::new(&self.engine, monotonic(), wall)
    }

    /// Does what the engine wants done.
    fn act(&mut self, output: Output) {
        match output {
            Output::PedestalCommand(command) => {
                self.pedestal.publish(&D::PROFILE.pedestal_command(&command).into());
            }
            Output::DollCommand(command) => {
                self.doll.publish(&D::PROFILE.doll_command(&command, self.engine.params()).into());
            }
            Output::Lantern(data) => {
                self.lantern.publish(&Bool { data });
            }
            Output::GoalFeedback { id, code } => self.feedback(GoalId(id), code),
            Output::GoalEnded { id, outcome, .. } => self.end_goal(GoalId(id), outcome),
            Output::Report { level, text, streamed } => {
                self.news = true;
                self.say(level, text, streamed);
            }
        }
    }

    /// Publishes the status if there is news, but not too often.
    fn tell(&mut self, now: Time) {
        if self.news && now >= self.told_at + STATUS_GAP {
            self.told_at = now;
            let status = self.status();
            let told = self.status.publish(&status.diagnostics(self.node.now()));
            self.news = !(self.state.publish(&Text { data: status.to_json() }) && told);
        }
    }

    fn say(&mut self, level: Level, text: String, streamed: bool) {
        let now = monotonic();
        self.said.retain(|(_, at)| now - *at < QUIET);
        let said = self.said.iter().any(|(said, _)| *said == text);
        if said && streamed {
            return;
        }
        if !said && level >= Level::Warn {
            self.said.push_back((text.clone(), now));
        }
        let logger = self.node.logger();
        match level {
            Level::Debug => log::debug!(target: logger, "{text}"),
            Level::Info => log::info!(target: logger, "{text}"),
            Level::Warn => log::warn!(target: logger, "{text}"),
            Level::Error => log::error!(target: logger, "{text}"),
        }
    }

    /// The goal's end follows with the engine's outputs, after the client was told that it is being cancelled.
    fn cancel<A: Action>(&mut self, goal: &GoalHandle<A>) -> CancelResponse {
        self.engine.handle(Input::Cancel { id: goal.id().0 }, monotonic());
        CancelResponse::Accept
    }

    fn feedback(&mut self, id: GoalId, feedback: u8) {
        self.last_feedback.insert(id, monotonic());
        if let Some(goal) = self.pedestal_goals.get(&id) {
            goal.publish_feedback(DaizaCmdFeedback { feedback });
        } else if let Some(goal) = self.doll_goals.get(&id) {
            goal.publish_feedback(HinaCmdFeedback { feedback });
        }
    }

    fn end_goal(&mut self, id: GoalId, outcome: Outcome) {
        let now = monotonic();
        let due = self.last_feedback.remove(&id).map_or(now, |at| at + FEEDBACK_LEAD).max(now);
        let behind = self.ending.partition_point(|ending| ending.due <= due);
        self.ending.insert(behind, Ending { due, id, outcome });
        self.end_goals(now);
    }

    fn end_goals(&mut self, now: Time) {
        while self.ending.front().is_some_and(|ending| ending.due <= now)
            && let Some(Ending { id, outcome, .. }) = self.ending.pop_front()
        {
            let result = outcome.result_code();
            if let Some(goal) = self.pedestal_goals.remove(&id) {
                end(&goal, outcome, DaizaCmdResult { result });
            } else if let Some(goal) = self.doll_goals.remove(&id) {
                end(&goal, outcome, HinaCmdResult { result });
            }
        }
    }
}

/// An error is an aborted goal, not a successful one with an error inside.
fn end<A: Action>(goal: &GoalHandle<A>, outcome: Outcome, result: A::Result) {
    let ended = match outcome {
        Outcome::Done => goal.succeed(result),
        Outcome::Canceled => goal.canceled(result),
        _ => goal.abort(result),
    };
    if let Err(error) = ended {
        log::error!("{error}");
    }
}
