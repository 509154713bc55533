//! Connections: to the controller's three ports, and back from the program.

use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use rosless_engine::Wall;
use rosless_kinematics::Joints;
use rosless_motion::{ExecutionState, Fault, FaultKind, JointState};

use super::{Driver, GRACE, Output, PROGRAM_TIMEOUT, Program, RETRY, SETTLED, Sample, Settings};
use crate::{
    lines::Lines,
    modes::{RobotMode, RuntimeState, SafetyMode},
    pose,
    program::{self, Control, NUMBERS, Setup, Word},
    rtde::{self, Packages, Reply, Request, SoftwareVersion, Type, Value},
};

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Link {
    /// To the real-time port.
    Rtde,
    /// To the dashboard.
    Dashboard,
    /// To the script port.
    Script,
    /// From the program on the robot.
    Caller(u32),
}

/// Time for a connection, and for each answer.
const ANSWER: Duration = Duration::from_secs(3);
/// The controller tells its state many times a second; this much silence is a broken line.
const SILENCE: Duration = Duration::from_secs(1);
/// The dashboard is asked so often whether control is with us.
const LOOK: Duration = Duration::from_secs(1);
/// Commands for power and brakes are repeated so often.
const POWER: Duration = Duration::from_secs(5);
/// Callers that have not said who they are.
const MOST_CALLERS: usize = 8;
/// The oldest software with this protocol.
const OLDEST: SoftwareVersion = SoftwareVersion { major: 3, minor: 4, bugfix: 0, build: 0 };
/// PolyScope X, which has no dashboard.
const POLYSCOPE_X: u32 = 10;

const FIELDS: [(&str, Type); 8] = [
    ("actual_q", Type::Vector6d),
    ("actual_qd", Type::Vector6d),
    ("actual_TCP_pose", Type::Vector6d),
    ("robot_mode", Type::Int32),
    ("safety_mode", Type::Int32),
    ("runtime_state", Type::Uint32),
    ("speed_scaling", Type::Double),
    ("target_speed_fraction", Type::Double),
];
const SPEED_INPUTS: [&str; 2] = ["speed_slider_mask", "speed_slider_fraction"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Down { retry: Duration },
    Connecting { since: Duration },
    Up,
}

/// A connection that we make.
#[derive(Debug)]
pub(super) struct Dial {
    state: State,
    /// Why it was down last.
    pub(super) reason: String,
}

impl Default for Dial {
    fn default() -> Self {
        Self { state: State::Down { retry: Duration::ZERO }, reason: "connecting".into() }
    }
}

impl Dial {
    pub(super) fn is_up(&self) -> bool {
        self.state == State::Up
    }

    fn down(&mut self, reason: &str, now: Duration) {
        self.reason = reason.to_owned();
        self.state = State::Down { retry: now + RETRY };
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Step {
    #[default]
    Version,
    Controller,
    Outputs,
    Inputs,
    Start,
    Streaming,
}

#[derive(Debug, Default)]
pub(super) struct Rtde {
    pub(super) dial: Dial,
    packages: Packages,
    step: Step,
    heard: Duration,
    pub(super) version: Option<SoftwareVersion>,
    /// The recipe with the speed slider, if we may have it.
    slider: Option<u8>,
}

impl Rtde {
    pub(super) fn is_streaming(&self) -> bool {
        self.dial.is_up() && self.step == Step::Streaming
    }
}

#[derive(Debug, Default)]
pub(super) struct Dashboard {
    pub(super) dial: Dial,
    lines: Lines,
    greeted: bool,
    /// What is to be said, the first of it being answered if there is a time.
    questions: VecDeque<&'static str>,
    asked: Option<Duration>,
    next_look: Duration,
    next_power: Duration,
    /// `None` until it has answered; `Some(None)`: it does not know such a thing.
    pub(super) remote: Option<Option<bool>>,
    /// Empty if it does not tell.
    pub(super) model: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Callers {
    /// Who has called and when, with bytes that are no whole word yet.
    unread: BTreeMap<Link, (Duration, Vec<u8>)>,
    pub(super) control: Option<Link>,
    pub(super) moves: Option<Link>,
}

impl Driver {
    fn dial(&mut self, link: Link) -> Option<&mut Dial> {
        match link {
            Link::Rtde => Some(&mut self.rtde.dial),
            Link::Dashboard => Some(&mut self.dashboard.dial),
            Link::Script => Some(&mut self.script),
            Link::Caller(_) => None,
        }
    }

    fn call(&mut self, link: Link, settings: &Settings) {
        let port = match link {
            Link::Rtde => settings.rtde_port,
            Link::Dashboard => settings.dashboard_port,
            _ => settings.script_port,
        };
        let now = self.now;
        if let Some(dial) = self.dial(link)
            && let State::Down { retry } = dial.state
            && retry <= now
        {
            dial.state = State::Connecting { since: now };
            let to = SocketAddr::new(settings.address, port);
            self.outputs.push_back(Output::Connect { link, to });
        }
    }

    /// Gives up a connection.
    fn drop_link(&mut self, link: Link, reason: &str) {
        self.close(link);
        self.closed(link, reason);
    }

    pub(super) fn connected(&mut self, link: Link, local: IpAddr) {
        if let Some(dial) = self.dial(link) {
            dial.state = State::Up;
        }
        match link {
            Link::Rtde => {
                self.local = Some(local);
                self.rtde.packages = Packages::default();
                self.rtde_ask(Step::Version);
            }
            Link::Dashboard => {
                self.dashboard.lines = Lines::default();
                self.dashboard.greeted = false;
                self.dashboard.questions.clear();
                self.dashboard.asked = Some(self.now);
                (self.dashboard.model, self.dashboard.remote) = (None, None);
                self.dashboard.next_look = self.now;
            }
            Link::Script | Link::Caller(_) => {}
        }
    }

    pub(super) fn called(&mut self, link: Link) {
        if self.callers.unread.len() >= MOST_CALLERS {
            return self.close(link);
        }
        self.callers.unread.insert(link, (self.now, Vec::new()));
    }

    pub(super) fn closed(&mut self, link: Link, reason: &str) {
        let now = self.now;
        let was_streaming = self.rtde.is_streaming();
        if let Some(dial) = self.dial(link) {
            dial.down(reason, now);
        }
        match link {
            Link::Rtde if was_streaming => self.lost(reason),
            Link::Rtde | Link::Script => {}
            Link::Dashboard => {
                self.dashboard.asked = None;
                self.dashboard.questions.clear();
            }
            Link::Caller(_) => {
                self.callers.unread.remove(&link);
                if self.callers.control == Some(link) || self.callers.moves == Some(link) {
                    self.program_ended();
                }
            }
        }
        self.news = true;
    }

    /// The controller's own voice is gone.
    fn lost(&mut self, reason: &str) {
        let address = self.settings.as_ref().map(|settings| settings.address.to_string()).unwrap_or_default();
        self.log(log::Level::Warn, format!("the connection to {address} is lost: {reason}"));
        if self.in_motion() {
            let seconds = self.settings.as_ref().map_or(0.5, |settings| settings.watchdog.as_secs_f64());
            self.latch(
                FaultKind::Disconnected,
                &format!(
                    "the connection was lost in motion ({reason}): where the arm is and whether it stands is not known; \
                     the program on the robot stops it by itself {seconds} s after it heard from us last. Look at the robot"
                ),
            );
        }
        self.forget_program();
    }

    /// The program and its connections are no more.
    pub(super) fn forget_program(&mut self) {
        for link in self.callers.control.take().into_iter().chain(self.callers.moves.take()) {
            self.callers.unread.remove(&link);
            self.close(link);
        }
        if !matches!(self.program, Program::Off(_)) {
            self.program = Program::Off(self.now + RETRY);
        }
        self.paused = false;
    }

    /// The program has hung up. Why, the next moment shows.
    fn program_ended(&mut self) {
        self.forget_program();
        if self.status == ExecutionState::Stopping {
            self.stopping = None;
        } else if self.active {
            self.ended = Some(self.now);
        }
    }

    pub(super) fn received(&mut self, link: Link, bytes: &[u8], wall: Wall) {
        // Programs are told apart by the time at which they were made.
        if self.number == 0 {
            self.number = (wall.0.unsigned_abs() / 1_000_000 % NUMBERS) as u32;
        }
        match link {
            Link::Rtde => self.rtde_received(bytes),
            Link::Dashboard => self.dashboard_received(bytes),
            // The controller tells its state there, too; we have it from elsewhere.
            Link::Script => {}
            Link::Caller(_) => self.caller_received(link, bytes),
        }
    }

    fn rtde_ask(&mut self, step: Step) {
        self.rtde.step = step;
        self.rtde.heard = self.now;
        let frequency = self.settings.as_ref().map_or(125.0, |settings| settings.frequency);
        let request = match step {
            Step::Version => Request::Version(rtde::VERSION),
            Step::Controller => Request::Controller,
            Step::Outputs => Request::Outputs {
                frequency,
                names: FIELDS.iter().map(|(name, _)| (*name).to_owned()).collect(),
            },
            Step::Inputs => Request::Inputs(SPEED_INPUTS.map(str::to_owned).to_vec()),
            Step::Start => Request::Start,
            Step::Streaming => return,
        };
        self.send(Link::Rtde, request.encode());
    }

    fn rtde_received(&mut self, bytes: &[u8]) {
        if !self.rtde.dial.is_up() {
            return;
        }
        self.rtde.packages.push(bytes);
        loop {
            let reply = match self.rtde.packages.next_package() {
                Ok(None) => return,
                Ok(Some((kind, content))) => Reply::decode(kind, content),
                Err(wrong) => Err(wrong),
            };
            match reply {
                Ok(reply) => {
                    if let Err(reason) = self.rtde_says(reply) {
                        return self.drop_link(Link::Rtde, &reason);
                    }
                }
                Err(wrong) => {
                    return self
                        .drop_link(Link::Rtde, &format!("what came on the RTDE port is not RTDE: {wrong}"));
                }
            }
        }
    }

    fn rtde_says(&mut self, reply: Reply) -> Result<(), String> {
        let unfit = |kind, text: String| Some(Fault { kind, text });
        match (self.rtde.step, reply) {
            (_, Reply::Text { message, source, level }) => {
                let level = if level <= 1 { log::Level::Warn } else { log::Level::Info };
                self.log(level, format!("the controller says: {message} ({source})"));
            }
            (Step::Version, Reply::Version(true)) => self.rtde_ask(Step::Controller),
            (Step::Version, Reply::Version(false)) => {
                self.unfit = unfit(
                    FaultKind::Other,
                    "version too old: the controller does not speak version 2 of RTDE; update its software"
                        .into(),
                );
                return Err("the controller does not speak RTDE version 2".into());
            }
            (Step::Controller, Reply::Controller(version)) => {
                self.rtde.version = Some(version);
                self.unfit = self.judge_version(version);
                // Which questions make sense depends on it.
                self.dashboard.next_look = self.now;
                self.rtde_ask(Step::Outputs);
            }
            (Step::Outputs, Reply::Outputs { types, .. }) => {
                let expected: Vec<&str> = FIELDS.iter().map(|(_, kind)| kind.name()).collect();
                if types != expected {
                    let names: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
                    let missing =
                        names.iter().zip(&types).zip(&expected).find(|((_, found), kind)| found != *kind);
                    let what = missing.map_or("fields are missing".to_owned(), |((name, found), _)| {
                        format!("{name} is {found}")
                    });
                    self.unfit = unfit(
                        FaultKind::Other,
                        format!("version too old: the controller does not tell all that is needed ({what})"),
                    );
                    return Err(format!("the controller's answer to the recipe is {types:?}"));
                }
                self.rtde_ask(Step::Inputs);
            }
            (Step::Inputs, Reply::Inputs { recipe, .. }) => {
                self.rtde.slider = (recipe != 0).then_some(recipe);
                self.rtde_ask(Step::Start);
            }
            (Step::Start, Reply::Start(true)) => {
                self.rtde.step = Step::Streaming;
                let version = self.rtde.version.unwrap_or_default();
                let address = self.settings.as_ref().map(|settings| settings.address);
                self.log(
                    log::Level::Info,
                    format!(
                        "connected to {}, software {version}",
                        address.map(|a| a.to_string()).unwrap_or_default()
                    ),
                );
            }
            (Step::Streaming, Reply::Data { payload, .. }) => self.told(&payload)?,
            // A data package may come before the answer to something later.
            (_, Reply::Data { .. }) => {}
            (step, reply) => return Err(format!("an answer out of turn: {reply:?} in {step:?}")),
        }
        self.rtde.heard = self.now;
        Ok(())
    }

    fn judge_version(&self, version: SoftwareVersion) -> Option<Fault> {
        let robot = &self.planner.robot.name;
        let other = |text: String| Some(Fault { kind: FaultKind::Other, text });
        if version < OLDEST {
            return other(format!(
                "version too old: the controller runs {version}, it needs 3.4 or later; update its software"
            ));
        }
        if version.major >= POLYSCOPE_X {
            return other(format!(
                "the controller runs {version} (PolyScope X), which has no dashboard; this driver is for CB3 and e-series"
            ));
        }
        let cb3 = ["ur3", "ur5", "ur10"].contains(&robot.as_str());
        let e_series = robot.starts_with("ur") && !cb3;
        if (version.major < 5 && e_series) || (version.major >= 5 && cb3) {
            let series = if version.major < 5 { "CB3" } else { "e-series" };
            return other(format!(
                "wrong model: the controller is one of the {series} (software {version}), --robot is {robot}"
            ));
        }
        None
    }

    /// The controller's state.
    fn told(&mut self, payload: &[u8]) -> Result<(), String> {
        let types = FIELDS.map(|(_, kind)| kind);
        let values = rtde::values(&types, payload).map_err(|wrong| wrong.to_string())?;
        let [
            Value::Vector6d(q),
            Value::Vector6d(qd),
            Value::Vector6d(hand),
            Value::Int32(mode),
            Value::Int32(safety),
            Value::Uint32(runtime),
            Value::Double(scaling),
            Value::Double(slider),
        ] = values[..]
        else {
            return Err("values of other types than the recipe's".into());
        };
        if !q.iter().chain(&qd).chain(&hand).chain([&scaling, &slider]).all(|value| value.is_finite()) {
            return Err("joint angles that are no numbers".into());
        }
        let before = self.sample;
        let joints = JointState {
            position: Joints::from_column_slice(&q),
            velocity: Joints::from_column_slice(&qd),
            acceleration: Joints::zeros(),
        };
        let sample = Sample {
            at: self.now,
            joints,
            hand: pose::from_numbers(hand),
            mode: RobotMode::from_number(mode),
            safety: SafetyMode::from_number(safety),
            runtime: RuntimeState::from_number(runtime),
            scaling,
            slider,
        };
        self.news |= before.is_none_or(|before| (before.mode, before.safety) != (sample.mode, sample.safety));
        self.sample = Some(sample);
        let elapsed = before.map_or(0.0, |before| self.now.saturating_sub(before.at).as_secs_f64());
        // A program that is held does not work, whatever the slider says.
        let share = if sample.runtime == RuntimeState::Paused { 0.0 } else { scaling.clamp(0.0, 1.0) };
        self.worked(elapsed.min(SILENCE.as_secs_f64()) * share);
        Ok(())
    }

    /// True if the controller lets us.
    pub(super) fn say_speed(&mut self, share: f64) -> bool {
        let Some(recipe) = self.rtde.slider.filter(|_| self.rtde.is_streaming()) else { return false };
        let mut payload = Vec::new();
        Value::Uint32(1).put(&mut payload);
        Value::Double(share).put(&mut payload);
        self.send(Link::Rtde, Request::Data { recipe, payload }.encode());
        true
    }

    /// Says something to the dashboard before all questions.
    pub(super) fn dashboard_say(&mut self, command: &'static str) {
        if !self.dashboard.dial.is_up() {
            let text = format!("\"{command}\" cannot be said: there is no connection to the dashboard");
            return self.log(log::Level::Error, text);
        }
        let place = usize::from(self.dashboard.asked.is_some() && !self.dashboard.questions.is_empty());
        let commands =
            self.dashboard.questions.iter().skip(place).take_while(|said| !is_question(said)).count();
        self.dashboard.questions.insert(place + commands, command);
        self.dashboard_go_on();
    }

    fn dashboard_go_on(&mut self) {
        if self.dashboard.greeted
            && self.dashboard.asked.is_none()
            && let Some(question) = self.dashboard.questions.front()
        {
            let line = format!("{question}\n").into_bytes();
            self.dashboard.asked = Some(self.now);
            self.send(Link::Dashboard, line);
        }
    }

    fn dashboard_received(&mut self, bytes: &[u8]) {
        if !self.dashboard.dial.is_up() {
            return;
        }
        self.dashboard.lines.push(bytes);
        loop {
            match self.dashboard.lines.next_line() {
                Ok(None) => return,
                Ok(Some(line)) => {
                    if !self.dashboard_says(line.trim()) {
                        let text =
                            format!("what came on the dashboard port is no answer: {:?}", short(&line));
                        return self.drop_link(Link::Dashboard, &text);
                    }
                }
                Err(wrong) => return self.drop_link(Link::Dashboard, &wrong.to_string()),
            }
        }
    }

    /// False for an answer that nobody asked for.
    fn dashboard_says(&mut self, line: &str) -> bool {
        let was_asked = self.dashboard.asked.take().is_some();
        if !self.dashboard.greeted {
            self.dashboard.greeted = line.starts_with("Connected");
            return self.dashboard.greeted;
        }
        let Some(question) = self.dashboard.questions.pop_front().filter(|_| was_asked) else { return false };
        match question {
            "is in remote control" => {
                self.dashboard.remote = Some(match line {
                    "true" => Some(true),
                    "false" => Some(false),
                    other if other.contains("could not understand") => None,
                    _ => return false,
                });
                self.news = true;
            }
            "get robot model" => {
                let known = !line.contains("could not understand");
                self.dashboard.model = Some(if known { short(line) } else { String::new() });
                self.news = true;
            }
            command if line.starts_with("Failed") || line.contains("could not understand") => {
                self.log(log::Level::Warn, format!("the controller refuses \"{command}\": {}", short(line)));
            }
            command => self.log(log::Level::Info, format!("{command}: {}", short(line))),
        }
        self.dashboard_go_on();
        true
    }

    /// The dashboard's word for its robot is not ours; it has no e for the e-series.
    pub(super) fn other_model(&self) -> Option<Fault> {
        let plain = |name: &str| name.trim().to_uppercase().trim_end_matches('E').to_owned();
        let (model, robot) = (self.dashboard.model.as_ref()?, &self.planner.robot.name);
        let differs = robot.starts_with("ur") && !model.is_empty() && plain(model) != plain(robot);
        differs.then(|| Fault {
            kind: FaultKind::Other,
            text: format!("wrong model: the robot says it is a {model}, --robot is {robot}"),
        })
    }

    fn caller_received(&mut self, link: Link, bytes: &[u8]) {
        let Some((_, unread)) = self.callers.unread.get_mut(&link) else { return };
        unread.extend(bytes);
        let known = self.callers.control == Some(link) || self.callers.moves == Some(link);
        if !known && self.settings.as_ref().is_some_and(|settings| settings.external) {
            if unread.starts_with(program::REQUEST) {
                return self.program_fetched(link);
            }
            if program::REQUEST.starts_with(unread) {
                return;
            }
        }
        let whole = unread.len() / 4 * 4;
        let words: Vec<u8> = unread.drain(..whole).collect();
        for four in words.chunks_exact(4) {
            let word = four.try_into().ok().and_then(Word::decode);
            let understood = word.is_some_and(|word| self.program_says(link, word));
            if !understood {
                self.log(
                    log::Level::Warn,
                    format!("the program on the robot says {four:?}, which is not understood"),
                );
                return self.drop_link(link, "not understood");
            }
        }
    }

    /// The External Control of a program that a person has started wants ours.
    fn program_fetched(&mut self, link: Link) {
        if matches!(self.program, Program::Off(_))
            && self.may_start()
            && let Some(setup) = self.setup()
        {
            self.send(link, setup.text_inside().into_bytes());
            self.program = Program::Sent(self.now);
        } else {
            self.log(
                log::Level::Warn,
                "a program was started at the pendant, but the robot may not move: it gets nothing",
            );
        }
        self.callers.unread.remove(&link);
        self.close(link);
    }

    /// False for what makes no sense.
    fn program_says(&mut self, link: Link, word: Word) -> bool {
        let is_control = self.callers.control == Some(link);
        let is_moves = self.callers.moves == Some(link);
        match word {
            Word::HelloControl(number)
                if number == self.number && self.callers.control.is_none() && !is_moves =>
            {
                self.callers.control = Some(link);
                self.next_alive = self.now;
                self.greeted();
            }
            Word::HelloMoves(number)
                if number == self.number && self.callers.moves.is_none() && !is_control =>
            {
                self.callers.moves = Some(link);
                self.greeted();
            }
            Word::Started(id) if is_moves => {
                // After a STOP something of the old epoch may still be under way.
                let known = self.moves.started(id, &mut self.events);
                self.news |= known;
            }
            Word::Done(id) if is_moves => {
                let known = self.moves.done(id, &mut self.events);
                self.news |= known;
            }
            Word::Stopped(epoch) if is_control => {
                if i64::from(epoch) == i64::from(self.epoch) {
                    self.stopping = None;
                    self.news = true;
                }
            }
            Word::Broken(_) if is_control => {
                self.log(
                    log::Level::Error,
                    "the program on the robot got a move that it does not understand",
                );
            }
            _ => return false,
        }
        true
    }

    fn greeted(&mut self) {
        if self.callers.control.is_some() && self.callers.moves.is_some() {
            self.program = Program::Up(self.now);
            // A STOP before this had nobody to hear it.
            self.epoch = 0;
            self.refused = None;
            // It has done its work; the next program gets a new connection.
            self.close(Link::Script);
            self.script.down("", self.now);
        }
    }

    pub(super) fn tick_links(&mut self, settings: &Settings) {
        let now = self.now;
        self.call(Link::Rtde, settings);
        self.call(Link::Dashboard, settings);
        for link in [Link::Rtde, Link::Dashboard, Link::Script] {
            if let Some(dial) = self.dial(link)
                && let State::Connecting { since } = dial.state
                && now.saturating_sub(since) >= ANSWER
            {
                self.drop_link(link, "no answer");
            }
        }
        let patience = if self.rtde.step == Step::Streaming { SILENCE } else { ANSWER };
        if self.rtde.dial.is_up() && now.saturating_sub(self.rtde.heard) >= patience {
            self.drop_link(Link::Rtde, "the controller is silent");
        }
        if self.dashboard.dial.is_up() {
            if self.dashboard.asked.is_some_and(|asked| now.saturating_sub(asked) >= ANSWER) {
                self.drop_link(Link::Dashboard, "the dashboard does not answer");
            } else if self.dashboard.next_look <= now {
                self.dashboard.next_look = now + LOOK;
                if self.dashboard.model.is_none() {
                    self.ask("get robot model");
                }
                // CB3 has no such mode.
                if self.rtde.version.is_some_and(|version| version.major >= 5) {
                    self.ask("is in remote control");
                }
                self.dashboard_go_on();
            }
        }
        self.callers.unread.retain(|link, (since, _)| {
            let known = self.callers.control == Some(*link) || self.callers.moves == Some(*link);
            let stays = known || now.saturating_sub(*since) < ANSWER;
            if !stays {
                self.outputs.push_back(Output::Close { link: *link });
            }
            stays
        });
        if self.next_alive <= now {
            self.next_alive = now + settings.watchdog / 5;
            self.control(Control::Alive);
        }
    }

    fn ask(&mut self, question: &'static str) {
        if !self.dashboard.questions.contains(&question) {
            self.dashboard.questions.push_back(question);
        }
    }

    /// Power and brakes, only if they were asked for.
    fn tick_power(&mut self, settings: &Settings) {
        let Some(sample) = self.sample.filter(|sample| sample.safety.allows_motion()) else { return };
        let command = match sample.mode {
            RobotMode::PowerOff if settings.power_on => "power on",
            RobotMode::PowerOn | RobotMode::Idle if settings.brake_release => "brake release",
            _ => return,
        };
        if self.active && self.dashboard.dial.is_up() && self.dashboard.next_power <= self.now {
            self.dashboard.next_power = self.now + POWER;
            self.dashboard_say(command);
        }
    }

    /// Whether a program may be started.
    fn may_start(&self) -> bool {
        self.active
            && self.latched.is_none()
            && self.obstacle().is_none()
            && !matches!(self.status, ExecutionState::Stopping | ExecutionState::Stopped)
    }

    /// What the next program has to know.
    fn setup(&mut self) -> Option<Setup> {
        let (settings, port, local) = (self.settings.as_ref()?, self.listening?, self.local?);
        self.number = (self.number + 1) % NUMBERS as u32;
        Some(Setup {
            address: settings.reverse_address.unwrap_or(local),
            port,
            number: self.number,
            watchdog: settings.watchdog,
            deceleration: settings.stop_deceleration,
            tool: self.tool,
            payload: settings.payload,
        })
    }

    pub(super) fn tick_program(&mut self, settings: &Settings) {
        self.tick_power(settings);
        self.judge_end();
        match self.program {
            Program::Off(not_before) => {
                if settings.external || self.now < not_before || !self.may_start() {
                    return;
                }
                self.call(Link::Script, settings);
                if self.script.is_up()
                    && let Some(setup) = self.setup()
                {
                    self.send(Link::Script, setup.text().into_bytes());
                    self.program = Program::Sent(self.now);
                }
            }
            Program::Sent(since) if self.now.saturating_sub(since) >= PROGRAM_TIMEOUT => {
                let port = self.listening.unwrap_or(0);
                let address =
                    settings.reverse_address.or(self.local).map(|a| a.to_string()).unwrap_or_default();
                self.refused = Some(format!(
                    "the program was sent to the robot, and nobody called back to {address}:{port} within {} s: a firewall, \
                     another address of this computer (reverse_address), or a robot that is not in remote control",
                    PROGRAM_TIMEOUT.as_secs()
                ));
                self.news = true;
                self.drop_link(Link::Script, "the program did not call back");
                self.forget_program();
            }
            Program::Up(since) => {
                let settled = since + SETTLED;
                let Some(sample) = self.sample.filter(|sample| sample.at >= settled) else { return };
                let apart = self.apart(&sample);
                if apart > settings.model_tolerance {
                    let robot = &self.planner.robot.name;
                    let ours = self.planner.robot.forward(&sample.joints.position);
                    let text = format!(
                        "wrong model: the controller has the tool at {}, a {robot} with this tool_offset would have it at {}, \
                         {:.0} mm away; check --robot and tool_offset",
                        Self::place(&sample.hand),
                        Self::place(&ours),
                        1000.0 * apart
                    );
                    self.unfit = Some(Fault { kind: FaultKind::Other, text });
                    self.control(Control::End);
                    self.forget_program();
                } else {
                    self.program = Program::Proved;
                    self.log(log::Level::Info, "the program runs on the robot: it takes moves");
                }
                self.news = true;
            }
            Program::Sent(_) | Program::Proved => {}
        }
    }

    /// Somebody has ended the program while the network is up, or it has not.
    fn judge_end(&mut self) {
        if self.ended.is_some_and(|ended| self.now.saturating_sub(ended) >= GRACE) {
            self.ended = None;
            if self.rtde.is_streaming() && self.latched.is_none() {
                let moved =
                    if self.status == ExecutionState::Executing { " while the arm moved" } else { "" };
                self.latch(
                    FaultKind::Other,
                    &format!(
                        "the program on the robot was stopped{moved}, at the pendant or by another client, or it lost its \
                         connection to us"
                    ),
                );
            }
        }
    }
}

fn is_question(said: &str) -> bool {
    matches!(said, "is in remote control" | "get robot model")
}

/// Words of others, no longer than a line.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}
