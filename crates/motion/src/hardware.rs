//! What a robot driver is: something that takes 25 command values, reports 2 state values, and may tell more.
//!
//! A driver that knows nothing but its status and whether it is ready is enough: the controller derives the progress of
//! each primitive from them. Everything else has a default.

use std::{cell::RefCell, collections::BTreeMap, fmt, rc::Rc, task::Waker, time::Duration};

use rosless_kinematics::Joints;
use serde::{Deserialize, Serialize};

use crate::{
    handshake::{CommandInterfaces, StateInterfaces},
    plan::JointState,
};

/// What a driver may tell beyond its state. Commands are numbered from 0 in the order it took them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RobotEvent {
    /// It moves.
    Started(u64),
    /// The motion went over from the first to the second without a stop.
    Blended(u64, u64),
    /// It is at its target.
    Finished(u64),
    /// This command put the robot into ERROR.
    Failed(u64, String),
    /// Something worth knowing about a command that goes on all the same.
    Note(u64, String),
}

/// Why a robot does not do what it is told, as far as people must act differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// It felt a collision or a limit: acknowledge it.
    ProtectiveStop,
    /// Somebody pressed the button: release it.
    EmergencyStop,
    /// It is under the command of its own panel.
    NotInRemoteControl,
    /// Nobody answers.
    Disconnected,
    /// Something else; the text says what.
    Other,
}

impl FaultKind {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::ProtectiveStop => "protective stop",
            Self::EmergencyStop => "emergency stop",
            Self::NotInRemoteControl => "not in remote control",
            Self::Disconnected => "disconnected",
            Self::Other => "fault",
        }
    }
}

/// A fault of the robot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Of which kind.
    pub kind: FaultKind,
    /// In the driver's words.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.text)
    }
}

impl std::error::Error for Fault {}

/// What a driver can do beyond the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// It tells of each command by [`Hardware::poll_event`]; the controller need not guess.
    pub events: bool,
    /// It knows where its joints are.
    pub joints: bool,
    /// It can pause and go on.
    pub pause: bool,
    /// It can change its speed while it moves.
    pub speed: bool,
}

/// When a driver that moves nothing has something to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// Never by itself.
    Never,
    /// It must be read this often.
    Poll(Duration),
    /// It calls the waker that it was given.
    Waker,
}

/// A robot driver.
pub trait Hardware {
    /// Reaches for the robot, with the driver's own parameters.
    ///
    /// # Errors
    /// When there is no robot, or it does not want to.
    fn connect(&mut self, parameters: &BTreeMap<String, String>) -> Result<(), Fault> {
        match parameters.keys().next() {
            Some(name) => Err(Fault {
                kind: FaultKind::Other,
                text: format!("this driver has no parameter \"{name}\""),
            }),
            None => Ok(()),
        }
    }

    /// Makes the robot ready to move.
    ///
    /// # Errors
    /// When it cannot be.
    fn activate(&mut self, _now: Duration) -> Result<(), Fault> {
        Ok(())
    }

    /// Leaves the robot alone; it stands already or stops by itself.
    fn deactivate(&mut self, _now: Duration) {}

    /// What it can do.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// How news is heard while nothing moves: a fault may come at any time.
    fn watch(&self) -> Watch {
        Watch::Never
    }

    /// Takes the waker to be called when there is news; may be called from any thread.
    fn set_waker(&mut self, _waker: Waker) {}

    /// Takes the command that may be set, and clears it.
    fn write(&mut self, commands: &mut CommandInterfaces, now: Duration);

    /// The state at `now`.
    fn read(&mut self, now: Duration) -> StateInterfaces;

    /// The oldest event not yet told. A driver that has none is followed by its state alone.
    fn poll_event(&mut self) -> Option<RobotEvent> {
        None
    }

    /// What is wrong, while something is.
    fn fault(&self) -> Option<Fault> {
        None
    }

    /// Where the joints are at `now`, if the driver knows.
    fn joints(&self, _now: Duration) -> Option<JointState> {
        None
    }

    /// What it is going to drive, if it has planned that: joint angles along the way, and whether they are in a blend.
    fn preview(&self) -> Vec<(Joints, bool)> {
        Vec::new()
    }

    /// Stops on the path, to go on later. False if it cannot.
    fn pause(&mut self, _now: Duration) -> bool {
        false
    }

    /// Goes on after a pause. False if it cannot.
    fn resume(&mut self, _now: Duration) -> bool {
        false
    }

    /// Moves with this share of the speed, 0 to 1, from now on. False if it cannot.
    fn set_speed(&mut self, _share: f64, _now: Duration) -> bool {
        false
    }
}

/// A driver behind something that leads to it.
macro_rules! leads_to_a_driver {
    ($kind:ty, $self:ident, $read:expr, $write:expr) => {
        impl<H: Hardware + ?Sized> Hardware for $kind {
            fn connect(&mut $self, parameters: &BTreeMap<String, String>) -> Result<(), Fault> {
                $write.connect(parameters)
            }

            fn activate(&mut $self, now: Duration) -> Result<(), Fault> {
                $write.activate(now)
            }

            fn deactivate(&mut $self, now: Duration) {
                $write.deactivate(now);
            }

            fn capabilities(&$self) -> Capabilities {
                $read.capabilities()
            }

            fn watch(&$self) -> Watch {
                $read.watch()
            }

            fn set_waker(&mut $self, waker: Waker) {
                $write.set_waker(waker);
            }

            fn write(&mut $self, commands: &mut CommandInterfaces, now: Duration) {
                $write.write(commands, now);
            }

            fn read(&mut $self, now: Duration) -> StateInterfaces {
                $write.read(now)
            }

            fn poll_event(&mut $self) -> Option<RobotEvent> {
                $write.poll_event()
            }

            fn fault(&$self) -> Option<Fault> {
                $read.fault()
            }

            fn joints(&$self, now: Duration) -> Option<JointState> {
                $read.joints(now)
            }

            fn preview(&$self) -> Vec<(Joints, bool)> {
                $read.preview()
            }

            fn pause(&mut $self, now: Duration) -> bool {
                $write.pause(now)
            }

            fn resume(&mut $self, now: Duration) -> bool {
                $write.resume(now)
            }

            fn set_speed(&mut $self, share: f64, now: Duration) -> bool {
                $write.set_speed(share, now)
            }
        }
    };
}

leads_to_a_driver!(Box<H>, self, (**self), (**self));
// For a driver whose sockets belong to somebody else.
leads_to_a_driver!(Rc<RefCell<H>>, self, self.borrow(), self.borrow_mut());
