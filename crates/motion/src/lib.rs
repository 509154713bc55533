//! Motion primitives for a six-axis robot: what a client sent, checked; a queue that feeds them to the robot; and a
//! simulated robot that plans and executes them. No I/O, no clock: time comes in as an argument.
//!
//! ```text
//!  client bytes ─ RawPrimitive ─ check() ─► Command ─► QueueController ─ 25 command values ─► Hardware
//!                                   │                        ▲  ▲                              │
//!                                   └─ Refusal (why)         │  └── status, ready, events ◄────┘
//!                                                    STOP / goal / cancel          SimulatedRobot: Planner + Run
//! ```
//!
//! | module | question it answers |
//! |---|---|
//! | [`primitive`] | is this message a motion, and if not, why? |
//! | [`handshake`] | how does a command reach a robot driver? |
//! | [`controller`] | which primitive goes next, and who is told? |
//! | [`paced`] | when does it turn? |
//! | [`hardware`] | what must a robot driver be able to do? |
//! | [`frames`] | where is a pose that is given in another frame? |
//! | [`plan`] | where is the robot at time t, within all limits, blends included? |
//! | [`law`] | place over time with limited jerk |
//! | [`outlook`] | how long and where, before it runs? |
//! | [`approximate`] | which primitives stand for a trajectory? |
//! | [`zones`] | where must no part of the robot go? |
//! | [`simulated`], [`state_only`] | what would a robot do with the commands? |
//! | [`messages`] | how do the two message packages map to primitives? |
//! | [`intake`] | has this sample been seen through the other reader? |
//! | [`report`] | what does a controller tell, and what does a client understand? |
//! | [`program`] | what does a YAML file of moves mean? |
//! | [`sending`] | which message of a program goes next, and what became of the others? |

#![forbid(unsafe_code)]

pub mod approximate;
mod carrier;
pub mod controller;
pub mod frames;
mod hand;
pub mod handshake;
pub mod hardware;
pub mod intake;
pub mod law;
mod limits;
pub mod messages;
pub mod outlook;
pub mod paced;
mod path;
pub mod plan;
pub mod primitive;
pub mod program;
pub mod report;
mod run;
pub mod sending;
pub mod simulated;
pub mod state_only;
#[cfg(test)]
mod testing;
pub mod zones;

pub use controller::{GoalId, GoalOutcome, Output, PrimitiveId, QueueController, QueueSettings, Source};
pub use frames::Frames;
pub use handshake::{CommandInterfaces, ExecutionState, StateCodes, StateInterfaces};
pub use hardware::{Capabilities, Fault, FaultKind, Hardware, RobotEvent, Watch};
pub use paced::Paced;
pub use plan::{JointState, MotionLimits, PlanError, Planned, Planner, Run};
pub use primitive::{Checked, Command, Motion, Primitive, RawPose, RawPrimitive, Refusal, Timing, check};
pub use program::Program;
pub use report::{Event, Origin, Progress, QueueStatus, Report};
pub use sending::Sending;
pub use simulated::SimulatedRobot;
pub use state_only::StateOnly;
pub use zones::{Zone, Zones};
