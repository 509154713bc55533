//! The small program that the robot runs, and what we and it say to each other.
//!
//! The program calls back twice: on the connection `control` it hears from us that we are there, and STOP; on `moves` it
//! fetches one move after the other and tells when it begins and has ended each. If `control` is silent for the time of
//! the watchdog, is closed, or brings something else than a frame, the program stops the arm and ends.
//!
//! | direction | frame, as 32-bit integers, big endian |
//! |---|---|
//! | to the robot, `control` | kind, epoch, deceleration |
//! | to the robot, `moves` | magic, epoch, id, kind, six numbers, six numbers, speed, acceleration, seconds, radius |
//! | from the robot, both | one integer: kind × 2²⁴ + number |
//!
//! One integer is written at once, so that a thread that is killed leaves no half message. A STOP carries the next epoch;
//! moves of an older epoch that are still under way are not executed.

use std::{fmt::Write as _, net::IpAddr, time::Duration};

use nalgebra::Isometry3;

use crate::pose;

/// Integers of a move.
pub const MOVE_LENGTH: usize = 20;
/// Integers of a control frame.
pub const CONTROL_LENGTH: usize = 3;
/// The first integer of every move.
pub const MAGIC: i32 = 0x0052_4c31;
/// Numbers that go into one integer beside its kind.
pub const NUMBERS: u64 = 1 << 24;

/// Metres, radians and radii: a hundred millionth of them is one.
const PLACE: f64 = 1e8;
/// Speeds and accelerations.
const RATE: f64 = 1e6;
/// Seconds.
const TIME: f64 = 1e4;

/// The shape of a move, in the robot's words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// `movej` to joint angles.
    Joints([f64; 6]),
    /// `movel` to a pose.
    Line(pose::Numbers),
    /// `movec` through the first to the second.
    Arc(pose::Numbers, pose::Numbers),
    /// `movej` to the joint angles for a pose that are nearest to the second.
    JointsFor(pose::Numbers, [f64; 6]),
    /// `movel` to where these joint angles put the hand.
    LineToJoints([f64; 6]),
    /// Stays where it is.
    Stay,
}

/// One move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Move {
    /// Which, modulo [`NUMBERS`].
    pub id: u32,
    /// Moves of another epoch than the program's are not executed.
    pub epoch: i32,
    /// Where and how.
    pub shape: Shape,
    /// rad/s or m/s.
    pub speed: f64,
    /// rad/s² or m/s².
    pub acceleration: f64,
    /// Seconds from standstill to standstill; 0 for speed and acceleration.
    pub seconds: f64,
    /// Metres around the target within which the next move may begin.
    pub radius: f64,
}

fn scaled(value: f64, scale: f64) -> i32 {
    // `as` saturates, and NaN becomes 0.
    (value * scale).round() as i32
}

fn bytes(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

impl Move {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let nothing = [0.0; 6];
        let (kind, first, second) = match self.shape {
            Shape::Joints(target) => (1, target, nothing),
            Shape::Line(target) => (2, target, nothing),
            Shape::Arc(via, target) => (3, via, target),
            Shape::JointsFor(target, near) => (4, target, near),
            Shape::LineToJoints(target) => (5, target, nothing),
            Shape::Stay => (6, nothing, nothing),
        };
        let mut numbers = vec![MAGIC, self.epoch, self.id as i32, kind];
        numbers.extend(first.iter().chain(&second).map(|value| scaled(*value, PLACE)));
        numbers.extend([
            scaled(self.speed, RATE),
            scaled(self.acceleration, RATE),
            scaled(self.seconds, TIME),
            scaled(self.radius, PLACE),
        ]);
        bytes(&numbers)
    }
}

/// What the program hears on `control`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Control {
    /// We are there.
    Alive,
    /// Stop, each joint by itself, and forget moves before this epoch.
    StopJoints {
        /// The epoch that begins.
        epoch: i32,
        /// rad/s².
        deceleration: f64,
    },
    /// Stop along the line of the hand.
    StopPath {
        /// The epoch that begins.
        epoch: i32,
        /// m/s².
        deceleration: f64,
    },
    /// Stop and end.
    End,
}

impl Control {
    /// As bytes.
    pub fn encode(self) -> Vec<u8> {
        bytes(&match self {
            Self::Alive => [1, 0, 0],
            Self::StopJoints { epoch, deceleration } => [2, epoch, scaled(deceleration, RATE)],
            Self::StopPath { epoch, deceleration } => [3, epoch, scaled(deceleration, RATE)],
            Self::End => [4, 0, 0],
        })
    }
}

/// What the program says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// This connection is `control` of the program with that number.
    HelloControl(u32),
    /// This connection is `moves` of the program with that number.
    HelloMoves(u32),
    /// It begins this move.
    Started(u32),
    /// It has driven this move, or as far as the blend into the next.
    Done(u32),
    /// It stands; this epoch has begun.
    Stopped(u32),
    /// What came on `moves` was no move.
    Broken(u32),
}

impl Word {
    /// As bytes; what the simulated robot's program writes itself is read with [`Word::decode`].
    pub fn encode(self) -> [u8; 4] {
        let (kind, number) = match self {
            Self::HelloControl(number) => (1, number),
            Self::HelloMoves(number) => (2, number),
            Self::Started(number) => (3, number),
            Self::Done(number) => (4, number),
            Self::Stopped(number) => (5, number),
            Self::Broken(number) => (6, number),
        };
        ((kind << 24) | (number & 0x00ff_ffff)).to_be_bytes()
    }

    /// `None` for an integer that the program does not send.
    pub fn decode(bytes: [u8; 4]) -> Option<Self> {
        let number = u32::from_be_bytes(bytes) & 0x00ff_ffff;
        Some(match bytes[0] {
            1 => Self::HelloControl(number),
            2 => Self::HelloMoves(number),
            3 => Self::Started(number),
            4 => Self::Done(number),
            5 => Self::Stopped(number),
            6 => Self::Broken(number),
            _ => return None,
        })
    }
}

/// What is written into the program.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Where we listen.
    pub address: IpAddr,
    /// And on which port.
    pub port: u16,
    /// Tells programs apart, so that an old one is not taken for this one.
    pub number: u32,
    /// The program stops the arm when it has heard nothing for this long.
    pub watchdog: Duration,
    /// rad/s² of that stop.
    pub deceleration: f64,
    /// The tool, seen from the flange.
    pub tool: Isometry3<f64>,
    /// Mass in kg and centre of gravity in m, if it is to be set.
    pub payload: Option<(f64, [f64; 3])>,
}

fn numbers(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:.9}")).collect::<Vec<_>>().join(", ")
}

impl Setup {
    /// The program as a part of another, as External Control wants it.
    pub fn text_inside(&self) -> String {
        format!("{}rosless_queue()\n", self.text())
    }

    /// The program.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |depth: usize, line: &str| {
            let _ = writeln!(text, "{:1$}{line}", "", 2 * depth);
        };
        let sixes = |from: usize| {
            let item = |i| format!("m[{i}] / 100000000.0");
            (from..from + 6).map(item).collect::<Vec<_>>().join(", ")
        };
        let (first, second) = (sixes(5), sixes(11));
        let say = |word: Word, number: &str| {
            let kind = u32::from_be_bytes(word.encode());
            format!("socket_send_int({kind} + {number}, ")
        };
        line(0, "def rosless_queue():");
        line(1, &format!("set_tcp(p[{}])", numbers(&pose::to_numbers(&self.tool))));
        if let Some((mass, centre)) = self.payload {
            line(1, &format!("set_payload({mass:.6}, [{}])", numbers(&centre)));
        }
        line(1, "global epoch = 0");
        line(1, "global broken = False");
        line(1, "thread mover():");
        line(2, "while not broken:");
        line(3, &format!("m = socket_read_binary_integer({MOVE_LENGTH}, \"moves\", 0.1)"));
        line(3, &format!("if m[0] == {MOVE_LENGTH}:"));
        line(4, &format!("if m[1] != {MAGIC}:"));
        line(5, "broken = True");
        line(4, "elif m[2] == epoch:");
        line(5, "v = m[17] / 1000000.0");
        line(5, "a = m[18] / 1000000.0");
        line(5, "t = m[19] / 10000.0");
        line(5, "r = m[20] / 100000000.0");
        line(5, &format!("{}\"moves\")", say(Word::Started(0), "m[3]")));
        line(5, "if m[4] == 1:");
        line(6, &format!("movej([{first}], a, v, t, r)"));
        line(5, "elif m[4] == 2:");
        line(6, &format!("movel(p[{first}], a, v, t, r)"));
        line(5, "elif m[4] == 3:");
        line(6, &format!("movec(p[{first}], p[{second}], a, v, r)"));
        line(5, "elif m[4] == 4:");
        line(6, &format!("movej(get_inverse_kin(p[{first}], [{second}]), a, v, t, r)"));
        line(5, "elif m[4] == 5:");
        line(6, &format!("movel([{first}], a, v, t, r)"));
        line(5, "elif m[4] == 6:");
        line(6, "sleep(t)");
        line(5, "else:");
        line(6, "broken = True");
        line(5, "end");
        line(5, &format!("{}\"moves\")", say(Word::Done(0), "m[3]")));
        line(4, "end");
        line(3, "elif m[0] != 0:");
        line(4, "broken = True");
        line(3, "else:");
        line(4, "sync()");
        line(3, "end");
        line(2, "end");
        line(1, "end");
        for (name, hello) in
            [("control", Word::HelloControl(self.number)), ("moves", Word::HelloMoves(self.number))]
        {
            let (address, port) = (self.address, self.port);
            line(1, &format!("socket_open(\"{address}\", {port}, \"{name}\")"));
            line(1, &format!("{}\"{name}\")", say(hello, "0")));
        }
        line(1, "handle = run mover()");
        line(1, "alive = True");
        line(1, "while alive:");
        let watchdog = self.watchdog.as_secs_f64();
        line(2, &format!("c = socket_read_binary_integer({CONTROL_LENGTH}, \"control\", {watchdog:.3})"));
        line(2, &format!("if c[0] != {CONTROL_LENGTH}:"));
        line(3, "alive = False");
        line(2, "elif c[1] == 1:");
        line(3, "if broken:");
        line(4, &format!("{}\"control\")", say(Word::Broken(0), "0")));
        line(4, "alive = False");
        line(3, "end");
        line(2, "elif c[1] == 2 or c[1] == 3:");
        line(3, "epoch = c[2]");
        line(3, "kill handle");
        line(3, "if c[1] == 2:");
        line(4, "stopj(c[3] / 1000000.0)");
        line(3, "else:");
        line(4, "stopl(c[3] / 1000000.0)");
        line(3, "end");
        line(3, &format!("{}\"control\")", say(Word::Stopped(0), "epoch")));
        line(3, "handle = run mover()");
        line(2, "else:");
        line(3, "alive = False");
        line(2, "end");
        line(1, "end");
        line(1, "kill handle");
        line(1, &format!("stopj({:.6})", self.deceleration));
        line(1, "socket_close(\"moves\")");
        line(1, "socket_close(\"control\")");
        line(0, "end");
        text
    }
}

/// What External Control says to get a program.
pub const REQUEST: &[u8] = b"request_program";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_has_its_bytes() {
        let one = Move {
            id: 7,
            epoch: 3,
            shape: Shape::Joints([1.0, -1.0, 0.5, 0.0, 0.0, 2.0]),
            speed: 0.5,
            acceleration: 2.0,
            seconds: 1.5,
            radius: 0.01,
        };
        let bytes = one.encode();
        assert_eq!(bytes.len(), 4 * MOVE_LENGTH);
        let numbers: Vec<i32> =
            bytes.chunks_exact(4).map(|four| i32::from_be_bytes(four.try_into().unwrap())).collect();
        assert_eq!(numbers[..6], [MAGIC, 3, 7, 1, 100_000_000, -100_000_000]);
        assert_eq!(numbers[16..], [500_000, 2_000_000, 15_000, 1_000_000]);
    }

    #[test]
    fn every_word_survives_its_bytes_and_others_are_none() {
        for word in [
            Word::HelloControl(9),
            Word::HelloMoves(0xff_ffff),
            Word::Started(1),
            Word::Done(2),
            Word::Stopped(3),
            Word::Broken(0),
        ] {
            assert_eq!(Word::decode(word.encode()), Some(word));
        }
        assert_eq!(Word::decode([0, 1, 2, 3]), None);
        assert_eq!(Word::decode(*b"GET "), None);
    }
}
