//! The controller: its programs, its safety system and its cycles.
//!
//! | module | question it answers |
//! |---|---|
//! | `ports` | who is connected, and what does the dashboard answer? |
//! | `telemetry` | what is told over RTDE? |
//! | `body` | where is the arm, and what does a program do to it? |
//! | [`pendant`] | what can people do at the robot? |

mod body;
pub mod pendant;
mod ports;
mod telemetry;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use nalgebra::Isometry3;
use rosless_engine::{Engine, Now};
use rosless_kinematics::Joints;
use rosless_motion::{Command, ExecutionState, Hardware as _, Planner, SimulatedRobot};

use self::{
    body::{Body, Wait},
    ports::{Client, RtdeClient},
};
use super::{machine::Machine, script};
use crate::{
    lines::Lines,
    modes::{RobotMode, RuntimeState, SafetyMode},
    rtde::{Reply, SoftwareVersion},
};

/// The time of one control cycle.
pub const CYCLE: Duration = Duration::from_millis(2);
/// Clients of all ports together.
const MOST_CLIENTS: usize = 64;
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
    /// Somebody does something at the robot; see [`pendant::COMMANDS`].
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
