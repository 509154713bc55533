//! The arm, and everything that a program can touch: moves, its sockets, its tool.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use nalgebra::{Isometry3, Vector3};
use rosless_kinematics::Joints;
use rosless_motion::{
    Command, CommandInterfaces, ExecutionState, Hardware as _, JointState, Motion, Planner, Primitive,
    RobotEvent, SimulatedRobot, Timing,
};

use super::{CYCLE, Output};
use crate::{
    pose,
    sim::machine::{Arguments, Host, Outcome, Value as Variable},
};

/// Sockets of one program.
const MOST_SOCKETS: usize = 8;

/// A socket of the program.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) client: u32,
    /// `None` until it is decided.
    pub(super) open: Option<bool>,
    pub(super) unread: VecDeque<u8>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wait {
    Until(Duration),
    Open(String),
    Read { socket: String, count: usize, until: Option<Duration> },
    Move { number: u64, radius: f64, from: Vector3<f64>, to: Option<Vector3<f64>> },
    Stop,
}

/// The arm and everything that a program can touch.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) planner: Planner,
    pub(super) arm: SimulatedRobot,
    pub(super) now: Duration,
    /// The number of the arm's next command.
    pub(super) commands: u64,
    /// Moves that have ended.
    pub(super) finished: u64,
    pub(super) failed: Option<String>,
    /// What a program left behind comes to a stand before anything else moves.
    pub(super) halting: bool,
    pub(super) tool: Isometry3<f64>,
    pub(super) payload: (f64, [f64; 3]),
    pub(super) sockets: BTreeMap<String, Socket>,
    pub(super) next_client: u32,
    pub(super) outputs: VecDeque<Output>,
}

impl Body {
    pub(super) fn command(&mut self, command: &Command) -> u64 {
        let mut interfaces = CommandInterfaces::default();
        interfaces.set(command);
        self.arm.write(&mut interfaces, self.now);
        self.commands += 1;
        self.commands - 1
    }

    /// Brings the arm to a stand, whatever it does.
    pub(super) fn stop(&mut self) {
        self.command(&Command::Stop);
    }

    pub(super) fn state(&self) -> JointState {
        self.arm.state_at(self.now)
    }

    pub(super) fn hand(&self, joints: &Joints) -> Isometry3<f64> {
        self.planner.robot.forward(joints) * self.tool
    }

    /// Looks at the arm: what has ended, and whether a stop has.
    pub(super) fn look(&mut self) -> ExecutionState {
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
