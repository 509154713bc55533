//! The controller's ports, its arm and its safety system.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use nalgebra::{Isometry3, Vector3};
use rosless_engine::{Engine, Now};
use rosless_kinematics::Joints;
use rosless_motion::{
    Command, CommandInterfaces, ExecutionState, Hardware as _, JointState, Motion, Planner, Primitive,
    RobotEvent, SimulatedRobot, Timing,
};

use super::{
    machine::{Arguments, Host, Machine, Outcome, Value as Variable},
    script,
};
use crate::{
    fields,
    lines::Lines,
    modes::{RobotMode, RuntimeState, SafetyMode},
    pose,
    rtde::{self, Packages, Reply, Request, SoftwareVersion, Type, Value},
};

/// The time of one control cycle.
pub const CYCLE: Duration = Duration::from_millis(2);
/// Clients of all ports together.
const MOST_CLIENTS: usize = 64;
/// Sockets of one program.
const MOST_SOCKETS: usize = 8;
/// What may wait to be read from one of them.
const MOST_UNREAD: usize = 1 << 20;
/// The script port tells its state so often.
const STATE_PERIOD: Duration = Duration::from_millis(100);

/// A port of the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// 30004.
    Rtde,
    /// 29999.
    Dashboard,
    /// 30001 and 30002.
    Script,
}

/// What happens to the controller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Input<'a> {
    /// A client has come, or a connection that the program asked for is there.
    Opened {
        /// Its number.
        client: u32,
        /// The port it came to; `None` for one that the program asked for.
        port: Option<Port>,
    },
    /// Bytes have come.
    Received {
        /// From whom.
        client: u32,
        /// What.
        bytes: &'a [u8],
    },
    /// A client has left, or cannot be reached.
    Closed {
        /// Which.
        client: u32,
    },
    /// Somebody does something at the robot; see [`COMMANDS`].
    Said(&'a str),
}

/// What the controller wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Bytes for a client.
    Send {
        /// Whom.
        client: u32,
        /// What.
        bytes: Vec<u8>,
    },
    /// The connection ends.
    Close {
        /// Whose.
        client: u32,
    },
    /// The program wants a connection.
    Connect {
        /// Its number from now on.
        client: u32,
        /// Where to.
        host: String,
        /// And which port.
        port: u16,
    },
    /// Something worth telling people.
    Log(String),
}

/// What can be said to the controller, and what it means.
pub const COMMANDS: [(&str, &str); 19] = [
    ("protective stop", "the arm has felt a collision"),
    ("unlock", "the protective stop is acknowledged"),
    ("emergency stop", "somebody presses the button"),
    ("release", "and releases it; the arm is without power then"),
    ("safeguard stop", "somebody opens the fence"),
    ("safeguard reset", "and closes it"),
    ("power off", "the arm loses its power"),
    ("power on", "it has power, its brakes are on"),
    ("brake release", "its brakes are off"),
    ("local", "control is at the pendant"),
    ("remote", "control is with the network"),
    ("stop", "the program is stopped at the pendant"),
    ("external IP PORT", "a program with External Control is started at the pendant"),
    ("slider SHARE", "the speed slider is moved, 0 to 1"),
    ("slow SHARE", "the arm is slower than it says, above 0 to 1"),
    ("cut", "all connections break"),
    ("silence", "the cable is pulled: nothing comes and nothing goes"),
    ("listen", "the cable is back"),
    ("garbage PORT", "nonsense is sent to all clients of rtde, dashboard, script or program"),
];

/// What can be set from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The arm.
    pub planner: Planner,
    /// Where it stands.
    pub joints: Joints,
    /// Its software.
    pub version: SoftwareVersion,
    /// Whether control is with the network.
    pub remote: bool,
    /// Whether the arm has power and its brakes are off.
    pub powered: bool,
}

#[derive(Debug)]
enum Client {
    Rtde(RtdeClient),
    Dashboard(Lines),
    Script { lines: Lines, program: Option<String>, next: Duration },
}

#[derive(Debug, Default)]
struct RtdeClient {
    packages: Packages,
    recipe: Option<Vec<(String, Type)>>,
    inputs: Vec<Vec<(String, Type)>>,
    period: Duration,
    next: Duration,
    streaming: bool,
}

/// A socket of the program.
#[derive(Debug)]
struct Socket {
    client: u32,
    /// `None` until it is decided.
    open: Option<bool>,
    unread: VecDeque<u8>,
}

#[derive(Debug, Clone, PartialEq)]
enum Wait {
    Until(Duration),
    Open(String),
    Read { socket: String, count: usize, until: Option<Duration> },
    Move { number: u64, radius: f64, from: Vector3<f64>, to: Option<Vector3<f64>> },
    Stop,
}

/// The arm and everything that a program can touch.
#[derive(Debug)]
struct Body {
    planner: Planner,
    arm: SimulatedRobot,
    now: Duration,
    /// The number of the arm's next command.
    commands: u64,
    /// Moves that have ended.
    finished: u64,
    failed: Option<String>,
    /// What a program left behind comes to a stand before anything else moves.
    halting: bool,
    tool: Isometry3<f64>,
    payload: (f64, [f64; 3]),
    sockets: BTreeMap<String, Socket>,
    next_client: u32,
    outputs: VecDeque<Output>,
}

/// A controller with its arm.
#[derive(Debug)]
pub struct Controller {
    body: Body,
    version: SoftwareVersion,
    mode: RobotMode,
    safety: SafetyMode,
    remote: bool,
    slider: f64,
    slow: f64,
    machine: Option<Machine<Wait>>,
    paused: bool,
    silent: bool,
    clients: BTreeMap<u32, Client>,
    /// The connection over which External Control fetches its program, and what has come.
    external: Option<(u32, Vec<u8>)>,
    next_cycle: Duration,
}

impl Body {
    fn command(&mut self, command: &Command) -> u64 {
        let mut interfaces = CommandInterfaces::default();
        interfaces.set(command);
        self.arm.write(&mut interfaces, self.now);
        self.commands += 1;
        self.commands - 1
    }

    /// Brings the arm to a stand, whatever it does.
    fn stop(&mut self) {
        self.command(&Command::Stop);
    }

    fn state(&self) -> JointState {
        self.arm.state_at(self.now)
    }

    fn hand(&self, joints: &Joints) -> Isometry3<f64> {
        self.planner.robot.forward(joints) * self.tool
    }

    /// Looks at the arm: what has ended, and whether a stop has.
    fn look(&mut self) -> ExecutionState {
        let status = self.arm.read(self.now).status;
        while let Some(event) = self.arm.poll_event() {
            match event {
                RobotEvent::Finished(number) => self.finished = self.finished.max(number + 1),
                RobotEvent::Failed(_, reason) => self.failed = Some(reason),
                RobotEvent::Started(_) | RobotEvent::Blended(..) | RobotEvent::Note(..) => {}
            }
        }
        status
    }

    /// A pose of the tool as one of the flange, which is what the arm knows.
    fn flange(&self, numbers: [f64; 6]) -> Isometry3<f64> {
        pose::from_numbers(numbers) * self.tool.inverse()
    }

    fn motion(&mut self, name: &str, arguments: &Arguments) -> Result<Wait, String> {
        let six = |values: &[f64]| -> Result<Joints, String> {
            if values.len() == 6 && values.iter().all(|value| value.is_finite()) {
                Ok(Joints::from_column_slice(values))
            } else {
                Err(format!("{name}: six numbers are needed"))
            }
        };
        let target = |place: usize, argument: &str| {
            arguments.get(place, argument).ok_or_else(|| format!("{name}: {argument} is missing"))
        };
        let (motion, next) = match (name, target(0, if name == "movec" { "pose_via" } else { "pose" })?) {
            ("movej", Variable::List(joints)) => (Motion::Joint { target: six(joints)? }, 1),
            ("movej", Variable::Pose(numbers)) => (Motion::JointPose { goal: self.flange(*numbers) }, 1),
            ("movel", Variable::List(joints)) => (Motion::LinearJoints { target: six(joints)? }, 1),
            ("movel", Variable::Pose(numbers)) => (Motion::Linear { goal: self.flange(*numbers) }, 1),
            ("movec", Variable::Pose(via)) => match target(1, "pose_to")? {
                Variable::Pose(to) => {
                    (Motion::Circular { goal: self.flange(*to), via: self.flange(*via) }, 2)
                }
                other => return Err(format!("movec: {other:?} is no pose")),
            },
            (_, other) => return Err(format!("{name}: {other:?} is no target")),
        };
        let acceleration = arguments.number(next, "a", if name == "movej" { 1.4 } else { 1.2 })?;
        let velocity = arguments.number(next + 1, "v", if name == "movej" { 1.05 } else { 0.25 })?;
        let (seconds, radius) = match name {
            "movec" => (0.0, arguments.number(4, "r", 0.0)?),
            _ => (arguments.number(3, "t", 0.0)?, arguments.number(4, "r", 0.0)?),
        };
        let timing = if seconds > 0.0 {
            Timing::MoveTime(seconds)
        } else if velocity > 0.0 && acceleration > 0.0 {
            Timing::Limits { velocity, acceleration }
        } else {
            return Err(format!("{name}: a speed of {velocity} with an acceleration of {acceleration}"));
        };
        let from = self.hand(&self.state().position).translation.vector;
        let to = match &motion {
            Motion::Joint { target } | Motion::LinearJoints { target } => {
                Some(self.hand(target).translation.vector)
            }
            Motion::JointPose { goal } | Motion::Linear { goal } | Motion::Circular { goal, .. } => {
                Some((goal * self.tool).translation.vector)
            }
        };
        let primitive = Primitive { motion, timing, blend_radius: radius.max(0.0) };
        let number = self.command(&Command::Move(primitive));
        Ok(Wait::Move { number, radius, from, to })
    }

    fn socket(&mut self, name: &str) -> Option<&mut Socket> {
        self.sockets.get_mut(name).filter(|socket| socket.open == Some(true))
    }
}

impl Host for Body {
    type Wait = Wait;

    fn call(&mut self, name: &str, arguments: &Arguments) -> Result<Outcome<Wait>, String> {
        let done = |yes: bool| Ok(Outcome::Done(Variable::Truth(yes)));
        match name {
            "movej" | "movel" | "movec" => Ok(Outcome::Wait(self.motion(name, arguments)?)),
            "stopj" | "stopl" => {
                self.stop();
                Ok(Outcome::Wait(Wait::Stop))
            }
            "sleep" => {
                let seconds = arguments.number(0, "t", 0.0)?.clamp(0.0, 1e6);
                Ok(Outcome::Wait(Wait::Until(self.now + Duration::from_secs_f64(seconds))))
            }
            "sync" => Ok(Outcome::Wait(Wait::Until(self.now + CYCLE))),
            "set_tcp" => match arguments.get(0, "pose") {
                Some(Variable::Pose(numbers)) => {
                    self.tool = pose::from_numbers(*numbers);
                    done(true)
                }
                other => Err(format!("set_tcp: {other:?} is no pose")),
            },
            "set_payload" => {
                self.payload.0 = arguments.number(0, "m", 0.0)?;
                if let Some(Variable::List(centre)) = arguments.get(1, "cog")
                    && let [x, y, z] = centre[..]
                {
                    self.payload.1 = [x, y, z];
                }
                done(true)
            }
            "textmsg" => {
                let text = arguments.text(0, "s1", "")?;
                self.outputs.push_back(Output::Log(format!("program: {text}")));
                done(true)
            }
            "get_inverse_kin" => {
                let here = self.state().position;
                let near = match arguments.get(1, "qnear") {
                    Some(Variable::List(near)) if near.len() == 6 => Joints::from_column_slice(near),
                    _ => here,
                };
                let Some(Variable::Pose(numbers)) = arguments.get(0, "x") else {
                    return Err("get_inverse_kin: a pose is needed".into());
                };
                let found = self.planner.robot.inverse(&self.flange(*numbers), &near);
                let joints = found.map_err(|error| format!("get_inverse_kin: {error}"))?;
                Ok(Outcome::Done(Variable::List(joints.as_slice().to_vec())))
            }
            "socket_open" => {
                let host = arguments.text(0, "address", "")?;
                let port = arguments.number(1, "port", 0.0)?;
                let name = arguments.text(2, "socket_name", "socket_0")?;
                if self.sockets.len() >= MOST_SOCKETS {
                    return done(false);
                }
                let client = self.next_client;
                self.next_client += 1;
                if let Some(old) = self.sockets.remove(&name) {
                    self.outputs.push_back(Output::Close { client: old.client });
                }
                self.sockets.insert(name.clone(), Socket { client, open: None, unread: VecDeque::new() });
                self.outputs.push_back(Output::Connect { client, host, port: port as u16 });
                Ok(Outcome::Wait(Wait::Open(name)))
            }
            "socket_close" => {
                let name = arguments.text(0, "socket_name", "socket_0")?;
                if let Some(old) = self.sockets.remove(&name) {
                    self.outputs.push_back(Output::Close { client: old.client });
                }
                done(true)
            }
            "socket_send_int" => {
                let (value, name) =
                    (arguments.number(0, "value", 0.0)?, arguments.text(1, "socket_name", "socket_0")?);
                let Some(client) = self.socket(&name).map(|socket| socket.client) else { return done(false) };
                let bytes = (value as i32).to_be_bytes().to_vec();
                self.outputs.push_back(Output::Send { client, bytes });
                done(true)
            }
            "socket_read_binary_integer" => {
                let count = arguments.number(0, "number", 1.0)?.clamp(1.0, 30.0) as usize;
                let socket = arguments.text(1, "socket_name", "socket_0")?;
                let timeout = arguments.number(2, "timeout", 2.0)?;
                let until = (timeout > 0.0).then(|| self.now + Duration::from_secs_f64(timeout.min(1e6)));
                Ok(Outcome::Wait(Wait::Read { socket, count, until }))
            }
            other => Err(format!("there is no function {other} here")),
        }
    }

    fn poll(&mut self, wait: &mut Wait) -> Result<Option<Variable>, String> {
        Ok(match wait {
            Wait::Until(time) => (self.now >= *time).then_some(Variable::Truth(true)),
            Wait::Open(name) => {
                let Some(socket) = self.sockets.get(name) else { return Ok(Some(Variable::Truth(false))) };
                let open = socket.open;
                if open == Some(false) {
                    self.sockets.remove(name);
                }
                open.map(Variable::Truth)
            }
            Wait::Read { socket, count, until } => {
                let late = until.is_some_and(|until| self.now >= until);
                let nothing = |count: usize| {
                    let mut values = vec![0.0];
                    values.resize(count + 1, 0.0);
                    Variable::List(values)
                };
                let Some(found) = self.sockets.get_mut(socket.as_str()) else {
                    return Ok(Some(nothing(*count)));
                };
                if found.unread.len() >= 4 * *count {
                    let mut values = vec![*count as f64];
                    for _ in 0..*count {
                        let four: [u8; 4] = std::array::from_fn(|_| found.unread.pop_front().unwrap_or(0));
                        values.push(f64::from(i32::from_be_bytes(four)));
                    }
                    return Ok(Some(Variable::List(values)));
                }
                (late || found.open == Some(false)).then(|| nothing(*count))
            }
            Wait::Move { number, radius, from, to } => {
                if let Some(reason) = self.failed.take() {
                    return Err(format!("the arm cannot do that: {reason}"));
                }
                // A move that blends gives the word to the next one on its way.
                let is_on_its_way = to.is_some_and(|to| {
                    let here = self.hand(&self.state().position).translation.vector;
                    let left = (to - here).norm();
                    *radius > 0.0 && left < (0.6 * (to - *from).norm()).max(3.0 * *radius)
                });
                let ended = self.finished > *number || is_on_its_way;
                ended.then_some(Variable::Truth(true))
            }
            Wait::Stop => match self.look() {
                ExecutionState::Stopped => {
                    self.command(&Command::ResetStop);
                    self.look();
                    Some(Variable::Truth(true))
                }
                ExecutionState::Stopping => None,
                _ => Some(Variable::Truth(true)),
            },
        })
    }
}

impl Controller {
    /// Switched on.
    pub fn new(options: Options) -> Self {
        let Options { planner, joints, version, remote, powered } = options;
        let arm = SimulatedRobot::new(planner.clone(), joints);
        let body = Body {
            planner,
            arm,
            now: Duration::ZERO,
            commands: 0,
            finished: 0,
            failed: None,
            halting: false,
            tool: Isometry3::identity(),
            payload: (0.0, [0.0; 3]),
            sockets: BTreeMap::new(),
            // Those that the program asks for are told apart from those that come.
            next_client: 1 << 31,
            outputs: VecDeque::new(),
        };
        Self {
            body,
            version,
            mode: if powered { RobotMode::Running } else { RobotMode::PowerOff },
            safety: SafetyMode::Normal,
            remote,
            slider: 1.0,
            slow: 1.0,
            machine: None,
            paused: false,
            silent: false,
            clients: BTreeMap::new(),
            external: None,
            next_cycle: Duration::ZERO,
        }
    }

    /// Where the joints are.
    pub fn joints(&self) -> Joints {
        self.body.state().position
    }

    fn log(&mut self, text: impl Into<String>) {
        self.body.outputs.push_back(Output::Log(text.into()));
    }

    fn send(&mut self, client: u32, bytes: Vec<u8>) {
        self.body.outputs.push_back(Output::Send { client, bytes });
    }

    fn runtime(&self) -> RuntimeState {
        match (&self.machine, self.paused) {
            (None, _) => RuntimeState::Stopped,
            (Some(_), true) => RuntimeState::Paused,
            (Some(_), false) => RuntimeState::Playing,
        }
    }

    fn may_move(&self) -> bool {
        self.mode == RobotMode::Running && self.safety.allows_motion()
    }

    /// Ends the program, and the motion with it.
    fn end_program(&mut self) {
        if self.machine.take().is_some() {
            self.paused = false;
            for (_, socket) in std::mem::take(&mut self.body.sockets) {
                self.body.outputs.push_back(Output::Close { client: socket.client });
            }
        }
        self.body.stop();
        self.body.halting = true;
    }

    /// A program from the network.
    fn start(&mut self, text: &str) {
        if self.version.major >= 5 && !self.remote {
            return self.log("a program came, but control is at the pendant: it is ignored");
        }
        self.run(text);
    }

    fn run(&mut self, text: &str) {
        if !self.may_move() {
            return self.log("a program came, but the arm cannot move: it is ignored");
        }
        match script::parse(text) {
            Ok(program) => {
                self.end_program();
                self.log(format!("runs the program {}", program.name));
                self.machine = Some(Machine::new(program));
            }
            Err(wrong) => self.log(format!("a program that is not understood: {wrong}")),
        }
    }

    fn set_speed(&mut self) {
        let share = self.slider * self.slow;
        let now = self.body.now;
        self.body.arm.set_speed(share, now);
    }

    fn safety_stop(&mut self, safety: SafetyMode) {
        self.safety = safety;
        self.end_program();
    }

    /// Somebody does something at the robot. False if that is not understood.
    fn said(&mut self, text: &str) -> bool {
        let words: Vec<&str> = text.split_whitespace().collect();
        let share = |word: &str| word.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        match words[..] {
            ["protective", "stop"] => self.safety_stop(SafetyMode::ProtectiveStop),
            ["unlock"] if self.safety == SafetyMode::ProtectiveStop => self.safety = SafetyMode::Normal,
            ["emergency", "stop"] => {
                self.safety_stop(SafetyMode::RobotEmergencyStop);
                self.mode = RobotMode::PowerOff;
            }
            ["release"] if self.safety == SafetyMode::RobotEmergencyStop => self.safety = SafetyMode::Normal,
            ["safeguard", "stop"] => self.safety_stop(SafetyMode::SafeguardStop),
            ["safeguard", "reset"] if self.safety == SafetyMode::SafeguardStop => {
                self.safety = SafetyMode::Normal;
            }
            ["power", "off"] => {
                self.end_program();
                self.mode = RobotMode::PowerOff;
            }
            ["power", "on"] if self.mode == RobotMode::PowerOff => self.mode = RobotMode::Idle,
            ["brake", "release"] => self.mode = RobotMode::Running,
            ["local"] => {
                self.remote = false;
                self.end_program();
            }
            ["remote"] => self.remote = true,
            ["stop"] => self.end_program(),
            ["slider", word] if share(word).is_some() => {
                self.slider = share(word).unwrap_or(1.0);
                self.set_speed();
            }
            ["slow", word] if share(word).is_some_and(|share| share > 0.0) => {
                self.slow = share(word).unwrap_or(1.0);
                self.set_speed();
            }
            ["external", host, port] => {
                let Ok(port) = port.parse() else { return false };
                let client = self.body.next_client;
                self.body.next_client += 1;
                self.external = Some((client, Vec::new()));
                self.body.outputs.push_back(Output::Connect { client, host: host.to_owned(), port });
            }
            ["cut"] => self.cut(),
            ["silence"] => self.silent = true,
            ["listen"] => {
                // What was under way when the cable was pulled does not come back.
                self.silent = false;
                self.cut();
            }
            ["garbage", port] => {
                let fits = |client: &Client| match port {
                    "rtde" => matches!(client, Client::Rtde(_)),
                    "dashboard" => matches!(client, Client::Dashboard(_)),
                    "script" => matches!(client, Client::Script { .. }),
                    _ => false,
                };
                let mut to: Vec<u32> =
                    self.clients.iter().filter(|(_, client)| fits(client)).map(|(id, _)| *id).collect();
                if port == "program" {
                    to.extend(self.body.sockets.values().map(|socket| socket.client));
                }
                for client in to {
                    self.send(client, b"\x00\x00garbage\xff\xfe\n\x00\x01".repeat(50));
                }
            }
            _ => return false,
        }
        true
    }

    /// All connections break.
    fn cut(&mut self) {
        let clients: Vec<u32> = self.clients.keys().copied().collect();
        self.clients.clear();
        let sockets = self.body.sockets.values_mut().map(|socket| {
            socket.open = Some(false);
            socket.client
        });
        let all: Vec<u32> = clients.into_iter().chain(sockets).collect();
        self.body.outputs.extend(all.into_iter().map(|client| Output::Close { client }));
    }

    fn dashboard(&mut self, line: &str) -> String {
        let refused = |command: &str| format!("Failed to execute: {command}");
        let controls = self.version.major < 5 || self.remote;
        let name = |name: &str| name.to_owned();
        match line {
            "robotmode" => format!("Robotmode: {}", self.mode.name()),
            "safetymode" => format!("Safetymode: {}", self.safety.name()),
            "safetystatus" if self.version.major >= 5 => format!("Safetystatus: {}", self.safety.name()),
            "is in remote control"
                if self.version >= (SoftwareVersion { major: 5, minor: 6, ..Default::default() }) =>
            {
                self.remote.to_string()
            }
            "get robot model" => self.body.planner.robot.name.trim_end_matches('e').to_uppercase(),
            "get serial number" => name("20260000000"),
            "PolyscopeVersion" => format!("URSoftware {} (simulated)", self.version),
            "running" => format!("Program running: {}", self.machine.is_some()),
            "programState" => match self.runtime() {
                RuntimeState::Playing => name("PLAYING rosless"),
                RuntimeState::Paused => name("PAUSED rosless"),
                _ => name("STOPPED <unnamed>"),
            },
            "quit" => name("Disconnected"),
            "power on"
            | "power off"
            | "brake release"
            | "unlock protective stop"
            | "stop"
            | "pause"
            | "play"
            | "close safety popup"
                if !controls =>
            {
                refused(line)
            }
            "power on" | "brake release" if self.safety != SafetyMode::Normal => refused(line),
            "power on" => {
                self.said("power on");
                name("Powering on")
            }
            "power off" => {
                self.said("power off");
                name("Powering off")
            }
            "brake release" => {
                self.said("brake release");
                name("Brake releasing")
            }
            "unlock protective stop" => {
                self.said("unlock");
                name("Protective stop releasing")
            }
            "close safety popup" => name("closing safety popup"),
            "stop" if self.machine.is_some() => {
                self.end_program();
                name("Stopped")
            }
            "pause" if self.machine.is_some() => {
                self.paused = true;
                let now = self.body.now;
                self.body.arm.pause(now);
                name("Pausing program")
            }
            "play" if self.paused => {
                self.paused = false;
                let now = self.body.now;
                self.body.arm.resume(now);
                name("Starting program")
            }
            "stop" | "pause" | "play" => refused(line),
            other => format!("could not understand: {other}"),
        }
    }

    fn received(&mut self, id: u32, bytes: &[u8]) {
        if let Some((_, text)) = self.external.as_mut().filter(|(client, _)| *client == id) {
            if text.len() + bytes.len() <= script::LONGEST {
                text.extend(bytes);
            }
            return;
        }
        if let Some(socket) = self.body.sockets.values_mut().find(|socket| socket.client == id) {
            if socket.unread.len() + bytes.len() <= MOST_UNREAD {
                socket.unread.extend(bytes);
            }
            return;
        }
        let Some(mut client) = self.clients.remove(&id) else { return };
        let stays = match &mut client {
            Client::Rtde(rtde) => self.rtde(id, rtde, bytes),
            Client::Dashboard(lines) => {
                lines.push(bytes);
                loop {
                    match lines.next_line() {
                        Ok(Some(line)) => {
                            let answer = self.dashboard(line.trim());
                            self.send(id, format!("{answer}\n").into_bytes());
                            if line.trim() == "quit" {
                                break false;
                            }
                        }
                        Ok(None) => break true,
                        Err(_) => break false,
                    }
                }
            }
            Client::Script { lines, program, .. } => {
                lines.push(bytes);
                loop {
                    match lines.next_line() {
                        Ok(Some(line)) => {
                            let begins = line.starts_with("def ");
                            if !begins && program.is_none() {
                                if !line.trim().is_empty() {
                                    self.start(&line);
                                }
                                continue;
                            }
                            let text = program.get_or_insert_default();
                            text.push_str(&line);
                            text.push('\n');
                            if line == "end" {
                                let text = program.take().unwrap_or_default();
                                self.start(&text);
                            } else if text.len() > script::LONGEST {
                                break false;
                            }
                        }
                        Ok(None) => break true,
                        Err(_) => break false,
                    }
                }
            }
        };
        if stays {
            self.clients.insert(id, client);
        } else {
            self.body.outputs.push_back(Output::Close { client: id });
        }
    }

    /// False when the client is not understood.
    fn rtde(&mut self, id: u32, client: &mut RtdeClient, bytes: &[u8]) -> bool {
        client.packages.push(bytes);
        loop {
            let request = match client.packages.next_package() {
                Ok(None) => return true,
                Ok(Some((kind, content))) => Request::decode(kind, content),
                Err(_) => return false,
            };
            let Ok(request) = request else { return false };
            let reply = match request {
                Request::Version(version) => Reply::Version(version == rtde::VERSION),
                Request::Controller => Reply::Controller(self.version),
                Request::Outputs { frequency, names } => {
                    let kinds: Vec<Option<Type>> = names.iter().map(|name| fields::output(name)).collect();
                    let found: Option<Vec<Type>> = kinds.iter().copied().collect();
                    client.recipe = found.map(|kinds| names.into_iter().zip(kinds).collect());
                    let frequency = if frequency.is_finite() { frequency.clamp(1.0, 500.0) } else { 500.0 };
                    client.period = Duration::from_secs_f64(1.0 / frequency);
                    let name = |kind: &Option<Type>| kind.map_or("NOT_FOUND", Type::name).to_owned();
                    Reply::Outputs {
                        recipe: u8::from(client.recipe.is_some()),
                        types: kinds.iter().map(name).collect(),
                    }
                }
                Request::Inputs(names) => {
                    let kinds: Vec<Option<Type>> = names.iter().map(|name| fields::input(name)).collect();
                    let found: Option<Vec<Type>> = kinds.iter().copied().collect();
                    let recipe = match found {
                        Some(kinds) if client.inputs.len() < 100 => {
                            client.inputs.push(names.into_iter().zip(kinds).collect());
                            client.inputs.len() as u8
                        }
                        _ => 0,
                    };
                    let name = |kind: &Option<Type>| kind.map_or("NOT_FOUND", Type::name).to_owned();
                    Reply::Inputs { recipe, types: kinds.iter().map(name).collect() }
                }
                Request::Start => {
                    client.streaming = client.recipe.is_some();
                    client.next = self.body.now;
                    Reply::Start(client.streaming)
                }
                Request::Pause => {
                    client.streaming = false;
                    Reply::Pause(true)
                }
                Request::Data { recipe, payload } => {
                    let Some(recipe) = usize::from(recipe).checked_sub(1).and_then(|i| client.inputs.get(i))
                    else {
                        return false;
                    };
                    let kinds: Vec<Type> = recipe.iter().map(|(_, kind)| *kind).collect();
                    let Ok(values) = rtde::values(&kinds, &payload) else { return false };
                    let value = |wanted: &str| {
                        recipe
                            .iter()
                            .zip(&values)
                            .find(|((name, _), _)| name == wanted)
                            .map(|(_, value)| *value)
                    };
                    if let (Some(Value::Uint32(1..)), Some(Value::Double(share))) =
                        (value("speed_slider_mask"), value("speed_slider_fraction"))
                        && share.is_finite()
                    {
                        self.slider = share.clamp(0.0, 1.0);
                        self.set_speed();
                    }
                    continue;
                }
                Request::Text(_) => continue,
            };
            self.send(id, reply.encode());
        }
    }

    fn value(&self, name: &str, kind: Type) -> Value {
        let state = self.body.state();
        let six = |joints: &Joints| Value::Vector6d(std::array::from_fn(|i| joints[i]));
        let moving = self.may_move();
        let speed = || {
            let jacobian = self.body.planner.robot.chain.jacobian(&state.position);
            let twist = jacobian * state.velocity;
            Value::Vector6d(std::array::from_fn(|i| twist[i]))
        };
        match name {
            "timestamp" => Value::Double(self.body.now.as_secs_f64()),
            "actual_q" | "target_q" => six(&state.position),
            "actual_qd" | "target_qd" => six(&state.velocity),
            "target_qdd" => six(&state.acceleration),
            "actual_TCP_pose" | "target_TCP_pose" => {
                Value::Vector6d(pose::to_numbers(&self.body.hand(&state.position)))
            }
            "actual_TCP_speed" | "target_TCP_speed" => speed(),
            "tcp_offset" => Value::Vector6d(pose::to_numbers(&self.body.tool)),
            "robot_mode" => Value::Int32(self.mode.number()),
            "joint_mode" => Value::Vector6Int32([if moving { 253 } else { 239 }; 6]),
            "safety_mode" | "safety_status" => Value::Int32(self.safety.number()),
            "runtime_state" => Value::Uint32(self.runtime().number()),
            "speed_scaling" => Value::Double(if moving { self.slider } else { 0.0 }),
            "target_speed_fraction" => Value::Double(self.slider),
            "joint_temperatures" => Value::Vector6d([28.0; 6]),
            "actual_main_voltage" | "actual_robot_voltage" => Value::Double(48.0),
            "actual_joint_voltage" => Value::Vector6d([48.0; 6]),
            "actual_tool_accelerometer" => Value::Vector3d([0.0, 0.0, -9.81]),
            "payload" => Value::Double(self.body.payload.0),
            "payload_cog" => Value::Vector3d(self.body.payload.1),
            "robot_status_bits" => {
                let powered = !matches!(self.mode, RobotMode::PowerOff);
                Value::Uint32(u32::from(powered) | u32::from(self.machine.is_some()) << 1 | 1 << 3)
            }
            "safety_status_bits" => {
                let stopped = !self.safety.allows_motion();
                let emergency = self.safety == SafetyMode::RobotEmergencyStop;
                Value::Uint32(
                    u32::from(self.safety == SafetyMode::Normal)
                        | u32::from(self.safety == SafetyMode::Reduced) << 1
                        | u32::from(self.safety == SafetyMode::ProtectiveStop) << 2
                        | u32::from(self.safety == SafetyMode::SafeguardStop) << 4
                        | u32::from(emergency) << 6
                        | u32::from(emergency) << 7
                        | u32::from(stopped) << 10,
                )
            }
            _ => Value::zero(kind),
        }
    }

    fn cycle(&mut self) {
        if self.body.look() == ExecutionState::Stopped && std::mem::take(&mut self.body.halting) {
            self.body.command(&Command::ResetStop);
            self.body.failed = None;
            self.body.look();
        }
        let held = self.paused || self.body.halting;
        if let Some(machine) = self.machine.as_mut().filter(|_| !held) {
            let turned = machine.turn(&mut self.body);
            let over = machine.is_over();
            if let Err(reason) = &turned {
                self.log(format!("the program fails: {reason}"));
            }
            if over {
                self.log("the program is over");
                self.end_program();
            }
        }
        let due: Vec<u32> = self
            .clients
            .iter()
            .filter(|(_, client)| client.is_due(self.body.now))
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            let Some(mut client) = self.clients.remove(&id) else { continue };
            match &mut client {
                Client::Rtde(rtde) => {
                    let mut payload = Vec::new();
                    for (name, kind) in rtde.recipe.iter().flatten() {
                        self.value(name, *kind).put(&mut payload);
                    }
                    self.send(id, Reply::Data { recipe: 1, payload }.encode());
                    rtde.next = (rtde.next + rtde.period).max(self.body.now);
                }
                // An empty message of the robot's state: five bytes of length and type.
                Client::Script { next, .. } => {
                    self.send(id, vec![0, 0, 0, 5, 16]);
                    *next = self.body.now + STATE_PERIOD;
                }
                Client::Dashboard(_) => {}
            }
            self.clients.insert(id, client);
        }
    }

    /// Whether there is anything that needs cycles.
    fn is_busy(&self) -> bool {
        self.machine.is_some()
            || self.clients.values().any(|client| !matches!(client, Client::Dashboard(_)))
            || !matches!(self.body.arm.state_at(self.body.now).velocity.amax(), 0.0)
    }
}

impl Client {
    fn is_due(&self, now: Duration) -> bool {
        match self {
            Self::Rtde(rtde) => rtde.streaming && rtde.next <= now,
            Self::Script { next, .. } => *next <= now,
            Self::Dashboard(_) => false,
        }
    }
}

impl Engine for Controller {
    type Input<'a> = Input<'a>;
    type Output = Output;

    fn handle(&mut self, input: Input<'_>, now: Now) {
        self.body.now = self.body.now.max(now.mono);
        match input {
            Input::Said(text) => {
                if !self.said(text) {
                    self.log(format!("\"{text}\" is not understood here and now"));
                }
            }
            Input::Closed { client } => {
                if let Some((_, text)) = self.external.take_if(|(fetching, _)| *fetching == client) {
                    match text.is_empty() {
                        true => self.log("External Control gets no program"),
                        false => self.run(&String::from_utf8_lossy(&text)),
                    }
                }
                self.clients.remove(&client);
                for socket in self.body.sockets.values_mut().filter(|socket| socket.client == client) {
                    socket.open = Some(false);
                }
            }
            _ if self.silent => {}
            Input::Received { client, bytes } => self.received(client, bytes),
            Input::Opened { client, port: None } => {
                if self.external.as_ref().is_some_and(|(fetching, _)| *fetching == client) {
                    self.send(client, b"request_program\n".to_vec());
                }
                for socket in self.body.sockets.values_mut().filter(|socket| socket.client == client) {
                    socket.open = Some(true);
                }
            }
            Input::Opened { client, port: Some(port) } => {
                if self.clients.len() >= MOST_CLIENTS {
                    return self.body.outputs.push_back(Output::Close { client });
                }
                let now = self.body.now;
                let came = match port {
                    Port::Rtde => Client::Rtde(RtdeClient::default()),
                    Port::Dashboard => {
                        self.send(client, b"Connected: Universal Robots Dashboard Server\n".to_vec());
                        Client::Dashboard(Lines::default())
                    }
                    Port::Script => Client::Script { lines: Lines::default(), program: None, next: now },
                };
                self.clients.insert(client, came);
            }
        }
    }

    fn wake(&mut self, now: Now) {
        self.body.now = self.body.now.max(now.mono);
        if self.body.now < self.next_cycle {
            return;
        }
        // A late cycle is not repeated.
        self.next_cycle += CYCLE;
        if self.next_cycle <= self.body.now {
            self.next_cycle = self.body.now + CYCLE;
        }
        self.cycle();
    }

    fn poll_output(&mut self) -> Option<Output> {
        loop {
            let output = self.body.outputs.pop_front()?;
            let is_heard = !self.silent || matches!(output, Output::Log(_));
            if is_heard {
                return Some(output);
            }
        }
    }

    fn next_deadline(&self) -> Option<Duration> {
        self.is_busy().then_some(self.next_cycle)
    }
}
