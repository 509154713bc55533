//! Motion primitives for a six-axis robot: what a client sent, checked; a queue that feeds them to the robot; and a
//! simulated robot that plans and executes them. No I/O, no clock: time comes in as an argument.
//!
//! ```text
//!  client bytes ─ RawPrimitive ─ check() ─► Command ─► QueueController ─ 25 command values ─► Hardware
//!                                   │                        ▲  ▲                              │
//!                                   └─ Refusal (why)         │  └── status, ready, events ◄────┘
//!                                                    STOP / goal / cancel          SimulatedRobot: Segment + Timeline
//! ```
//!
//! | module | question it answers |
//! |---|---|
//! | [`primitive`] | is this message a motion, and if not, why? |
//! | [`handshake`] | how does a command reach a robot driver? |
//! | [`controller`] | which primitive goes next, and who is told? |
//! | [`paced`] | when does it turn? |
//! | [`profile`], [`path`], [`segment`] | where is one primitive at time t, within all limits? |
//! | [`timeline`] | how do several segments blend into one motion? |
//! | [`simulated`] | what would a robot do with the commands? |
//! | [`messages`] | how do the two message packages map to primitives? |
//! | [`intake`] | has this sample been seen through the other reader? |
//! | [`report`] | what does a controller tell, and what does a client understand? |
//! | [`program`] | what does a YAML file of moves mean? |
//! | [`sending`] | which message of a program goes next, and what became of the others? |

#![forbid(unsafe_code)]

pub mod controller;
pub mod handshake;
pub mod intake;
pub mod messages;
pub mod paced;
pub mod path;
pub mod primitive;
pub mod profile;
pub mod program;
pub mod report;
pub mod segment;
pub mod sending;
pub mod simulated;
pub mod timeline;

pub use controller::{Config, Event, GoalId, GoalOutcome, Output, PrimitiveId, QueueController};
pub use handshake::{CommandInterfaces, ExecutionState, Hardware, RobotEvent, StateCodes, StateInterfaces};
pub use paced::Paced;
pub use primitive::{
    Checked, Command, Frames, Motion, Primitive, RawPose, RawPrimitive, Refusal, Timing, check,
};
pub use program::Program;
pub use report::{Origin, QueueStatus, Report};
pub use segment::{MotionLimits, PlanError, Segment};
pub use sending::Sending;
pub use simulated::SimulatedRobot;
pub use timeline::Timeline;
