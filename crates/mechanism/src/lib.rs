//! The mechanism controller's mind: sequences of pedestal, doll and lantern, and a model of the mechanism to try them on.
//!
//! Nothing here does I/O or reads a clock. A driver feeds [`Engine::handle`] with inputs and the time, drains
//! [`Engine::poll_output`], and calls again no later than [`Engine::next_deadline`].
//!
//! ```
//! use std::time::Duration;
//! use rosless_mechanism::{Engine, Input, Output, Settings, Profile};
//!
//! let mut engine = Engine::new(Settings::defaults(Profile::Document));
//! engine.handle(Input::Lantern(true), Duration::ZERO);
//! assert_eq!(engine.poll_output(), Some(Output::Lantern(true)));
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`pedestal`], [`doll`] | step tables, conditions and interlocks of the two mechanisms |
//! | [`sequence`], [`sequencer`] | what step tables are made of, and their runner |
//! | [`sources`] | whose sensor samples count |
//! | [`engine`] | both runners, the lantern, and what a command means |
//! | [`settings`] | every angle, wait, tolerance and timeout |
//! | [`profile`] | how all that lies in the messages of the two hardware generations |
//! | [`messages`] | the ROS messages of the two generations |
//! | [`status`] | what a controller tells of itself, as a type that both sides share |
//! | [`following`] | how a command follows the phase it asked for to its end |
//! | [`route`] | points on the field, and whose phases run as they are reached |
//! | [`single`] | which outputs move one actuator and keep the others where they are |
//! | [`workbench`] | the same as something that stays open, with what was told and sensed side by side |
//! | [`model`] | a simulated mechanism with manual switches, an automatic scene and faults |

#![forbid(unsafe_code)]

pub mod doll;
pub mod engine;
pub mod following;
pub mod messages;
pub mod model;
mod part;
pub mod pedestal;
pub mod profile;
pub mod route;
pub mod sequence;
pub mod sequencer;
pub mod settings;
pub mod single;
pub mod sources;
pub mod status;
pub mod workbench;

pub use engine::{Engine, Input, Output};
pub use profile::Profile;
pub use sequence::Outcome;
pub use settings::Settings;
pub use status::Status;

/// Monotonic time since an arbitrary start.
pub type Time = std::time::Duration;

/// The id of an action goal.
pub type GoalId = [u8; 16];
