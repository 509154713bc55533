//! The daemon: a thin driver of the engine.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, SystemTime},
};

use rosless_cli::Result;
use rosless_graph::{
    Context, EventLoop, Gid, GidPrefix, Handle, Node, Publisher, SampleInfo, TopicQos,
    action::{CancelResponse, GoalHandle, GoalId, GoalResponse},
    config::Settings,
    monotonic,
    parameters::{Descriptor, NamedValue, ParameterValue, Table},
};
use rosless_mechanism::{
    self as mechanism, Engine, Input, Outcome, Output, Profile, Time,
    engine::{Level, Which},
    following::BOTH,
    messages::{Dialect, Document, Nucleo},
    profile::BadSample,
    settings::Spec,
    sources::{STAND_IN_PARAMETER, Stamps},
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
    std_srvs::srv::{SetBool, SetBoolResponse, Trigger, TriggerResponse},
};

use crate::identify::{ANSWER, Publishers};

/// What a stream of messages causes is not logged again within this time: a stream that fails fails loudly once.
const QUIET: Duration = Duration::from_secs(5);
/// So many texts are remembered for that.
const MOST_SAID: usize = 64;
/// How long the last outputs may take to leave when the controller ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// Statuses closer than this are told as one, the last.
const STATUS_GAP: Duration = Duration::from_millis(20);
/// A goal's result follows its last feedback after this time: they travel separately, and a client that has the result
/// does not listen for feedback any more.
const FEEDBACK_LEAD: Duration = Duration::from_millis(50);

/// A controller that has told no status for this long is dead, whatever discovery still says of it.
const DEAD: Duration = Duration::from_secs(3);

/// The end of a goal, held back until its last feedback had time to arrive.
struct Ending {
    due: Time,
    id: GoalId,
    outcome: Outcome,
}

/// A warning that a stream may cause again.
struct Said {
    text: String,
    at: Time,
    /// How often it was not said since.
    kept_back: u64,
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
    said: VecDeque<Said>,
    handle: Handle<Self>,
    /// Who publishes the sensors.
    publishers: Publishers,
    /// When other controllers last told their status.
    controllers: BTreeMap<GidPrefix, Time>,
    /// Who else publishes the outputs, and how they are called.
    rivals: [Vec<String>; 2],
    names: BTreeMap<Gid, String>,
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
    let text = "The hardware that is driven; chosen with --profile";
    let profile = Descriptor::new("profile").description(text).read_only();
    node.declare_parameter(profile, D::PROFILE.name().to_owned())?;
    let params = node.declare_table(Tuned(mechanism::Settings::defaults(D::PROFILE)))?;
    let mut controller = Controller::<D> {
        engine: Engine::new(params.read().0),
        pedestal: node.publisher("daiza_clamp")?,
        doll: node.publisher("hina_dastpan")?,
        // Latched: a lamp that joins late learns whether it should shine. Deeper than the one sample it needs, because one
        // batch of events may switch more than once.
        lantern: node.publisher("bonbori_msg".latched().keep_last(8))?,
        state: node.publisher(format!("~/{TOPIC}").latched())?,
        status: node.publisher("~/status".latched())?,
        diagnostics: node.publisher("/diagnostics")?,
        node: node.clone(),
        pedestal_goals: BTreeMap::new(),
        doll_goals: BTreeMap::new(),
        last_feedback: BTreeMap::new(),
        ending: VecDeque::new(),
        said: VecDeque::new(),
        handle: event_loop.handle(),
        publishers: Publishers::default(),
        controllers: BTreeMap::new(),
        rivals: [vec![], vec![]],
        names: BTreeMap::new(),
        news: true,
        told_at: Time::ZERO,
    };
    event_loop.on_parameter_change(&node, move |controller: &mut Controller<D>, _| {
        controller.engine.set_settings(params.read().0);
    });

    // Microcontrollers publish best effort; whoever publishes reliably is heard as well.
    event_loop.subscribe::<D::Sensors>(&node, "daiza_state".best_effort(), |controller, sample| {
        let admitted = controller.admit(Which::Pedestal, &sample.info);
        let sensors = D::PROFILE.read_pedestal_sensors(&sample.message.into());
        let sensors = sensors.and_then(|sensors| admitted.map(|()| sensors));
        controller.engine.handle(Input::PedestalSensors(sensors), monotonic());
    })?;
    event_loop.subscribe::<D::Sensors>(&node, "hina_state".best_effort(), |controller, sample| {
        let admitted = controller.admit(Which::Doll, &sample.info);
        let sensors = D::PROFILE.read_doll_sensors(&sample.message.into());
        let sensors = sensors.and_then(|sensors| admitted.map(|()| sensors));
        controller.engine.handle(Input::DollSensors(sensors), monotonic());
    })?;
    event_loop.subscribe::<MechaState>(&node, "mecha_state", |controller, sample| {
        let MechaState { daiza_state: pedestal, hina_state: doll, bonbori_state: lantern } = sample.message;
        controller.engine.handle(Input::MechaState { pedestal, doll, lantern }, monotonic());
    })?;
    event_loop.subscribe::<Text>(&node, "direct_mecha_command", |controller, sample| {
        controller.engine.handle(Input::Direct(sample.message.data), monotonic());
    })?;
    // Whoever else moves the actuators is listened to, so that "keep" never means "move back".
    event_loop.subscribe::<D::Actuators>(&node, "daiza_clamp".best_effort(), |controller, sample| {
        if sample.info.publisher != controller.pedestal.gid()
            && let Ok(command) = D::PROFILE.read_pedestal_command(&sample.message.into())
        {
            controller.engine.handle(Input::OthersPedestalCommand(command), monotonic());
            // The next command of a debug controller is based on it.
            controller.news = true;
        }
    })?;
    event_loop.subscribe::<D::Actuators>(&node, "hina_dastpan".best_effort(), |controller, sample| {
        if sample.info.publisher != controller.doll.gid()
            && let Ok(command) =
                D::PROFILE.read_doll_command(&sample.message.into(), controller.engine.settings())
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
    for which in BOTH {
        let service = format!("~/forget_{}", which.name());
        event_loop.serve::<Trigger>(&node, &service, move |controller, _, responder| {
            controller.engine.handle(Input::Forget(which), monotonic());
            let message = format!("{}: the next wish for a phase begins it, reached or not", which.name());
            responder.reply(&TriggerResponse { success: true, message });
        })?;
    }
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
    let own_state = format!("~/{TOPIC}");
    event_loop.subscribe::<Text>(&node, &own_state, |controller, sample| {
        if sample.info.publisher != controller.state.gid() {
            controller.controllers.insert(sample.info.publisher.prefix(), monotonic());
            controller.look_for_rivals();
        }
    })?;
    event_loop.on_graph_change(|controller, graph| {
        controller.publishers.retain(graph);
        controller.look_for_rivals();
    });
    event_loop.timer(Duration::from_millis(200), |controller| {
        controller.news = true;
        controller.look_for_rivals();
    });
    event_loop.timer(Duration::from_secs(1), |controller| {
        let diagnostics = controller.status().diagnostics(controller.node.now());
        controller.diagnostics.publish(&diagnostics);
    });
    let profile = D::PROFILE.name();
    event_loop.announce(&node, format!("ready: profile {profile}; nothing moves before the first command"));
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

/// Every parameter of the engine, with its range.
#[derive(Clone)]
struct Tuned(mechanism::Settings);

impl Table for Tuned {
    fn rows(&self) -> Vec<(Descriptor, ParameterValue)> {
        let row = |spec: &Spec| {
            let unit = if spec.unit.is_empty() { String::new() } else { format!(" ({})", spec.unit) };
            let descriptor = Descriptor::new(spec.name)
                .description(format!("{}{unit}", spec.description))
                .double_range(spec.min, spec.max, 0.0);
            (descriptor, self.0.get(spec.name).unwrap_or(spec.default).into())
        };
        mechanism::Settings::TABLE.iter().map(row).collect()
    }

    fn take(&mut self, values: &[NamedValue]) -> Result<(), String> {
        let known = values.iter().filter_map(|(name, value)| match value {
            ParameterValue::Double(value) if self.0.get(name).is_some() => Some((name.clone(), *value)),
            _ => None,
        });
        let known: Vec<_> = known.collect();
        let known = known.iter().map(|(name, value)| (name.as_str(), *value));
        self.0.set_all(known).map_err(|error| error.to_string())
    }
}

impl<D: Dialect> Controller<D> {
    /// Whether a sensor sample counts. A node that is not known to be a stand-in is asked whether it is one.
    fn admit(&mut self, which: Which, info: &SampleInfo) -> Result<(), BadSample> {
        let (gid, now) = (info.publisher, monotonic());
        let graph = self.node.context().graph();
        let (source, ask) = self.publishers.identify(gid, &graph, now);
        if let Some(node) = ask {
            let parameters = self.handle.parameters_of(&self.node, &node);
            let asked =
                parameters.get(vec![STAND_IN_PARAMETER.to_owned()], ANSWER, move |controller, answer| {
                    let says_so = |values: &Vec<_>| values.contains(&ParameterValue::Bool(true));
                    controller.publishers.answered(gid, answer.is_ok_and(|values| says_so(&values)));
                });
            if asked.is_err() {
                self.publishers.answered(gid, false);
            }
        }
        let since_epoch = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).ok();
        let published = info.source_stamp.and_then(since_epoch);
        let stamps = published.zip(since_epoch(info.reception_stamp));
        let stamps = stamps.map(|(published, received)| Stamps { published, received });
        self.engine.admit(which, &source, stamps, now)
    }

    /// Tells the engine who else publishes the outputs. A controller that was killed stays in the graph for a while: it
    /// counts as long as it tells its status.
    fn look_for_rivals(&mut self) {
        let (now, graph) = (monotonic(), self.node.context().graph());
        self.controllers.retain(|_, at| now.saturating_sub(*at) < DEAD);
        self.names.retain(|gid, _| graph.endpoint(gid).is_some());
        for which in BOTH {
            let (topic, own) = match which {
                Which::Pedestal => (self.pedestal.topic(), self.pedestal.gid()),
                Which::Doll => (self.doll.topic(), self.doll.gid()),
            };
            let state = graph.publishers(self.state.topic());
            let counts = |gid: &Gid| {
                let is_controller = state.iter().any(|publisher| publisher.gid.prefix() == gid.prefix());
                !is_controller || self.controllers.contains_key(&gid.prefix())
            };
            let rivals = graph.publishers(topic).into_iter().map(|publisher| publisher.gid);
            let rivals: Vec<_> = rivals.filter(|gid| *gid != own && counts(gid)).collect();
            // A node that leaves is forgotten before its publishers are.
            for gid in &rivals {
                if let Some(node) = graph.node_of(gid) {
                    self.names.insert(*gid, node.to_string());
                }
            }
            let name = |gid: &Gid| self.names.get(gid).cloned().unwrap_or_else(|| format!("publisher {gid}"));
            let mut names: Vec<_> = rivals.iter().map(name).collect();
            names.sort();
            if self.rivals[which as usize] != names {
                self.rivals[which as usize].clone_from(&names);
                self.engine.handle(Input::Rivals { which, names }, now);
            }
        }
    }

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
                self.doll.publish(&D::PROFILE.doll_command(&command, self.engine.settings()).into());
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
        self.said.retain(|said| now - said.at < QUIET || said.kept_back > 0);
        let said = self.said.iter_mut().find(|said| said.text == text);
        let mut more = String::new();
        match said {
            Some(said) if streamed && now - said.at < QUIET => {
                said.kept_back += 1;
                return;
            }
            Some(said) => {
                if said.kept_back > 0 {
                    more = format!(" ({} times more since)", said.kept_back);
                }
                (said.at, said.kept_back) = (now, 0);
            }
            None if level >= Level::Warn => {
                self.said.truncate(MOST_SAID);
                self.said.push_front(Said { text: text.clone(), at: now, kept_back: 0 });
            }
            None => {}
        }
        let text = text + &more;
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
