//! The driver: it connects, starts the program on the robot, gives it moves, and says in words what is wrong.
//!
//! | module | question it answers |
//! |---|---|
//! | `settings` | what can be set, and is it sensible? |
//! | `links` | who is connected, who answers, and what do they say? |
//! | `moves` | what does a primitive become, and how far is it? |
//! | `faults` | may the arm move, and why not? |
//!
//! Nothing here moves the arm by itself: power, brakes and an unlocked protective stop need a parameter each. A
//! motion that was interrupted by anything but a STOP is a fault that stays until STOP_MOTION and RESET_STOP.

mod faults;
mod links;
mod moves;
mod settings;

use std::{
    collections::{BTreeMap, VecDeque},
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use nalgebra::Isometry3;
use rosless_engine::{Engine, Now};
use rosless_kinematics::Joints;
use rosless_motion::{
    Capabilities, Command, CommandInterfaces, ExecutionState, Fault, FaultKind, Hardware, JointState,
    Planner, Primitive, RobotEvent, StateInterfaces, Watch,
};

use crate::{
    modes::{RobotMode, RuntimeState, SafetyMode},
    pose,
    program::Control,
};

pub use links::Link;
pub use settings::{Settings, StopAlong};

use links::{Callers, Dashboard, Dial, Rtde};
use moves::{Moves, Planned};

/// What happens to the driver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Input<'a> {
    /// A connection that was asked for is there; `local` is our own address in it.
    Connected {
        /// Which.
        link: Link,
        /// Ours.
        local: IpAddr,
    },
    /// The robot's program calls.
    Called {
        /// Its number from now on.
        link: Link,
    },
    /// Bytes have come.
    Received {
        /// From where.
        link: Link,
        /// What.
        bytes: &'a [u8],
    },
    /// A connection has ended, or could not be made.
    Closed {
        /// Which.
        link: Link,
        /// In the system's words.
        reason: &'a str,
    },
    /// The port at which the robot's program is awaited.
    Listening(u16),
}

/// What the driver wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A connection.
    Connect {
        /// Its name.
        link: Link,
        /// Where to.
        to: SocketAddr,
    },
    /// Bytes to be sent.
    Send {
        /// Where to.
        link: Link,
        /// What.
        bytes: Vec<u8>,
    },
    /// The end of a connection.
    Close {
        /// Which.
        link: Link,
    },
    /// Something worth telling people.
    Log(log::Level, String),
}

/// What the controller said last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When it came.
    pub at: Duration,
    /// Joint angles, speeds; accelerations are not measured.
    pub joints: JointState,
    /// The tool, by the controller's own kinematics.
    pub hand: Isometry3<f64>,
    /// Power and brakes.
    pub mode: RobotMode,
    /// What the safety system allows.
    pub safety: SafetyMode,
    /// Whether a program runs.
    pub runtime: RuntimeState,
    /// The share of the speed that is driven, slider and limits together.
    pub scaling: f64,
    /// The speed slider.
    pub slider: f64,
}

/// The program on the robot.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Program {
    /// None of ours; not before this time.
    Off(Duration),
    /// It was sent.
    Sent(Duration),
    /// It has called back.
    Up(Duration),
    /// It stands where our model says it stands.
    Proved,
}

/// Joints slower than this stand, rad/s.
const STANDING: f64 = 0.005;
/// Time for the program to call back.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(5);
/// The controller's own measurements have the new tool by then.
const SETTLED: Duration = Duration::from_millis(150);
/// Time for the program to answer a STOP before the controller itself is asked.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);
/// A program that ends by itself while the network is up was ended by somebody; the network has this long to be down.
const GRACE: Duration = Duration::from_millis(300);
/// Between two attempts of anything.
const RETRY: Duration = Duration::from_secs(1);

/// A driver for one robot.
#[derive(Debug)]
pub struct Driver {
    planner: Planner,
    tool: Isometry3<f64>,
    settings: Option<Settings>,
    now: Duration,
    outputs: VecDeque<Output>,
    /// Something has changed that whoever reads the driver should see.
    news: bool,
    active: bool,
    rtde: Rtde,
    dashboard: Dashboard,
    script: Dial,
    callers: Callers,
    listening: Option<u16>,
    local: Option<IpAddr>,
    /// The number of the program that is awaited.
    number: u32,
    program: Program,
    ended: Option<Duration>,
    sample: Option<Sample>,
    status: ExecutionState,
    /// Stays until STOP and RESET.
    latched: Option<Fault>,
    /// A STOP has been seen since.
    acknowledged: bool,
    /// What is wrong with the robot as such.
    unfit: Option<Fault>,
    /// Why the program does not start.
    refused: Option<String>,
    /// The STOP that is not yet answered: since when, and whether the controller was asked.
    stopping: Option<(Duration, bool)>,
    epoch: i32,
    next_alive: Duration,
    moves: Moves,
    taken: u64,
    building: Option<Vec<(u64, Primitive)>>,
    failed: Option<(u64, String)>,
    events: VecDeque<RobotEvent>,
    paused: bool,
    preview: Vec<(Joints, bool)>,
}

impl Driver {
    /// A driver for a robot like `planner.robot`, whose tool is `tool` seen from the flange.
    pub fn new(planner: Planner, tool: Isometry3<f64>) -> Self {
        Self {
            planner,
            tool,
            settings: None,
            now: Duration::ZERO,
            outputs: VecDeque::new(),
            news: false,
            active: false,
            rtde: Rtde::default(),
            dashboard: Dashboard::default(),
            script: Dial::default(),
            callers: Callers::default(),
            listening: None,
            local: None,
            number: 0,
            program: Program::Off(Duration::ZERO),
            ended: None,
            sample: None,
            status: ExecutionState::Idle,
            latched: None,
            acknowledged: false,
            unfit: None,
            refused: None,
            stopping: None,
            epoch: 0,
            next_alive: Duration::ZERO,
            moves: Moves::default(),
            taken: 0,
            building: None,
            failed: None,
            events: VecDeque::new(),
            paused: false,
            preview: Vec::new(),
        }
    }

    /// The parameters, once it has them.
    pub fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    /// What the controller said last.
    pub fn sample(&self) -> Option<&Sample> {
        self.sample.as_ref()
    }

    /// Whether something has changed since this was asked last.
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    fn log(&mut self, level: log::Level, text: impl Into<String>) {
        self.outputs.push_back(Output::Log(level, text.into()));
    }

    fn send(&mut self, link: Link, bytes: Vec<u8>) {
        self.outputs.push_back(Output::Send { link, bytes });
    }

    fn close(&mut self, link: Link) {
        self.outputs.push_back(Output::Close { link });
    }

    /// Whether the arm may be in motion because of us.
    fn in_motion(&self) -> bool {
        matches!(self.status, ExecutionState::Executing | ExecutionState::Stopping)
    }

    fn stands(&self) -> bool {
        self.sample.is_some_and(|sample| sample.joints.velocity.amax() < STANDING)
    }

    fn set_status(&mut self, status: ExecutionState) {
        self.news |= self.status != status;
        self.status = status;
    }

    fn control(&mut self, control: Control) {
        if let Some(link) = self.callers.control {
            self.send(link, control.encode());
        }
    }

    /// STOP: the program is told, and nothing that waits will be driven.
    fn stop(&mut self) {
        self.epoch = (self.epoch + 1) & 0x00ff_ffff;
        self.moves.clear();
        self.building = None;
        self.failed = None;
        self.preview.clear();
        self.acknowledged = true;
        let Some(settings) = self.settings.clone() else { return };
        let (epoch, along) = (self.epoch, settings.stop_along);
        if matches!(self.program, Program::Up(_) | Program::Proved) {
            self.control(match along {
                StopAlong::Joints => Control::StopJoints { epoch, deceleration: settings.stop_deceleration },
                StopAlong::Path => Control::StopPath { epoch, deceleration: settings.stop_deceleration_path },
            });
            // A second STOP does not give the first more time.
            self.stopping.get_or_insert((self.now, false));
            // A program that is held does not read.
            if self.paused {
                self.ask_controller_to_stop();
            }
        }
        if settings.unlock && self.sample.is_some_and(|sample| sample.safety == SafetyMode::ProtectiveStop) {
            self.dashboard_say("close safety popup");
            self.dashboard_say("unlock protective stop");
        }
        self.set_status(ExecutionState::Stopping);
        self.settle_stop();
    }

    /// The second way to stop, beside the program.
    fn ask_controller_to_stop(&mut self) {
        if let Some((_, asked)) = &mut self.stopping
            && !std::mem::replace(asked, true)
        {
            self.log(
                log::Level::Warn,
                "the program on the robot does not answer STOP: the controller is asked to stop it",
            );
            self.dashboard_say("stop");
        }
    }

    /// STOPPING becomes STOPPED when the program has said so, or is gone, and the joints stand.
    fn settle_stop(&mut self) {
        if self.status != ExecutionState::Stopping {
            return;
        }
        let program_is_off = matches!(self.program, Program::Off(_) | Program::Sent(_));
        if (self.stopping.is_none() || program_is_off) && self.stands() && self.obstacle().is_none() {
            self.stopping = None;
            if self.acknowledged {
                self.latched = None;
            }
            self.paused = false;
            self.set_status(ExecutionState::Stopped);
        }
    }

    /// Everything that time or news may have changed.
    fn tick(&mut self) {
        let Some(settings) = self.settings.clone() else { return };
        self.tick_links(&settings);
        self.watch_safety();
        self.tick_program(&settings);
        self.watch_motion();
        if self.stopping.is_some_and(|(since, _)| self.now.saturating_sub(since) >= STOP_TIMEOUT) {
            self.ask_controller_to_stop();
        }
        self.settle_stop();
        self.release_held(false);
        self.finish();
    }

    /// The end of all moves, or of those before one that cannot be driven.
    fn finish(&mut self) {
        if !self.moves.is_empty() || matches!(self.status, ExecutionState::Stopping | ExecutionState::Stopped)
        {
            return;
        }
        if let Some((number, reason)) = self.failed.take() {
            self.events.push_back(RobotEvent::Failed(number, reason));
            self.set_status(ExecutionState::Error);
        } else if self.status == ExecutionState::Executing {
            self.set_status(ExecutionState::Success);
        }
    }

    fn take(&mut self, number: u64, command: Result<Command, &'static str>) {
        let halted =
            matches!(self.status, ExecutionState::Error | ExecutionState::Stopping | ExecutionState::Stopped);
        match command {
            Ok(Command::Stop) => self.stop(),
            Ok(Command::ResetStop) => {
                if self.status == ExecutionState::Stopped {
                    self.acknowledged = false;
                    self.set_status(ExecutionState::Idle);
                }
            }
            _ if halted => {}
            Ok(Command::SequenceStart) => self.building = Some(Vec::new()),
            Ok(Command::SequenceEnd) => match self.building.take() {
                Some(primitives) if primitives.is_empty() => {
                    self.failed = Some((number, "the sequence is empty".into()));
                }
                Some(primitives) => self.accept(&primitives, true),
                None => self.failed = Some((number, "sequence end without a start".into())),
            },
            Ok(Command::Move(primitive)) => match &mut self.building {
                Some(primitives) => primitives.push((number, primitive)),
                None => self.accept(&[(number, primitive)], false),
            },
            Err(missing) => self.failed = Some((number, format!("command value {missing} is missing"))),
        }
    }

    /// Plans moves from where the last one ends, and gives them to the robot.
    fn accept(&mut self, primitives: &[(u64, Primitive)], is_sequence: bool) {
        let here = self.sample.map(|sample| sample.joints.position);
        let Some(start) = self.moves.end().or(here) else {
            self.failed = Some((primitives[0].0, "nobody knows where the robot is".into()));
            return;
        };
        match Planned::new(&self.planner, &start, primitives) {
            Ok(planned) => {
                for (number, note) in planned.notes {
                    self.events.push_back(RobotEvent::Note(number, note));
                }
                if self.moves.is_empty() {
                    self.preview.clear();
                }
                self.preview.extend(planned.preview);
                self.moves.add(planned.moves, planned.end, self.now);
                self.set_status(ExecutionState::Executing);
                // The last of a sequence has nothing to blend into.
                self.release_held(is_sequence);
            }
            Err((index, error)) => {
                let text = match primitives.len() {
                    1 => error.to_string(),
                    _ => format!("primitive {index} of the sequence: {error}"),
                };
                self.failed = Some((primitives[index.min(primitives.len() - 1)].0, text));
            }
        }
    }

    /// Sends what may be sent.
    fn release_held(&mut self, all: bool) {
        let Some(link) = self.callers.moves.filter(|_| self.program == Program::Proved) else { return };
        while let Some(next) = self.moves.next_to_send(self.now, all, self.epoch) {
            self.send(link, next.encode());
        }
    }

    fn is_ready(&self) -> bool {
        let halted =
            matches!(self.status, ExecutionState::Error | ExecutionState::Stopping | ExecutionState::Stopped);
        !halted
            && self.active
            && self.program == Program::Proved
            && self.failed.is_none()
            && !self.paused
            && self.moves.has_room()
    }
}

impl Engine for Driver {
    type Input<'a> = Input<'a>;
    type Output = Output;

    fn handle(&mut self, input: Input<'_>, now: Now) {
        self.now = self.now.max(now.mono);
        match input {
            Input::Listening(port) => self.listening = Some(port),
            Input::Connected { link, local } => self.connected(link, local),
            Input::Called { link } => self.called(link),
            Input::Received { link, bytes } => self.received(link, bytes, now.wall),
            Input::Closed { link, reason } => self.closed(link, reason),
        }
        self.tick();
    }

    fn wake(&mut self, now: Now) {
        self.now = self.now.max(now.mono);
        self.tick();
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn next_deadline(&self) -> Option<Duration> {
        self.settings.as_ref()?;
        // Everything here is watched with the patience of a heartbeat.
        Some(self.next_alive)
    }
}

impl Hardware for Driver {
    fn connect(&mut self, parameters: &BTreeMap<String, String>) -> Result<(), Fault> {
        let settings = Settings::read(parameters);
        self.settings = Some(settings.map_err(|text| Fault { kind: FaultKind::Other, text })?);
        Ok(())
    }

    fn activate(&mut self, now: Duration) -> Result<(), Fault> {
        self.now = self.now.max(now);
        self.active = true;
        self.tick();
        Ok(())
    }

    fn deactivate(&mut self, now: Duration) {
        self.now = self.now.max(now);
        self.active = false;
        self.control(Control::End);
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { events: true, joints: true, pause: true, speed: true }
    }

    fn watch(&self) -> Watch {
        Watch::Waker
    }

    fn write(&mut self, commands: &mut CommandInterfaces, now: Duration) {
        self.now = self.now.max(now);
        let Some(command) = commands.take() else { return };
        let number = self.taken;
        self.taken += 1;
        self.take(number, command);
        self.finish();
    }

    fn read(&mut self, now: Duration) -> StateInterfaces {
        self.now = self.now.max(now);
        self.release_held(false);
        StateInterfaces { status: self.status, ready: self.is_ready() }
    }

    fn poll_event(&mut self) -> Option<RobotEvent> {
        self.events.pop_front()
    }

    fn fault(&self) -> Option<Fault> {
        self.whole_fault()
    }

    fn joints(&self, now: Duration) -> Option<JointState> {
        // What is old is not where the joints are.
        self.sample.filter(|sample| now.saturating_sub(sample.at) < RETRY).map(|sample| sample.joints)
    }

    fn preview(&self) -> Vec<(Joints, bool)> {
        self.preview.clone()
    }

    fn pause(&mut self, now: Duration) -> bool {
        self.now = self.now.max(now);
        if self.program == Program::Proved && !std::mem::replace(&mut self.paused, true) {
            self.dashboard_say("pause");
        }
        self.paused
    }

    fn resume(&mut self, now: Duration) -> bool {
        self.now = self.now.max(now);
        if std::mem::take(&mut self.paused) {
            self.dashboard_say("play");
        }
        true
    }

    fn set_speed(&mut self, share: f64, now: Duration) -> bool {
        self.now = self.now.max(now);
        self.say_speed(share.clamp(0.0, 1.0))
    }
}

impl Driver {
    /// How far the model's tool is from the controller's, m.
    fn apart(&self, sample: &Sample) -> f64 {
        let ours = self.planner.robot.forward(&sample.joints.position);
        (ours.translation.vector - sample.hand.translation.vector).norm()
    }

    /// The driver's own words for poses in logs.
    fn place(hand: &Isometry3<f64>) -> String {
        let [x, y, z, ..] = pose::to_numbers(hand);
        format!("{x:.3} {y:.3} {z:.3}")
    }
}
