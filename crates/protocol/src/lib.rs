//! The START/ACK control protocol of mocap_control, device_control and mocap4r2.
//!
//! A controller publishes START or STOP with a list of systems; each system is a lifecycle node that activates or
//! deactivates and acknowledges with its own clock's stamp. The engines [`controlled::Controlled`] and
//! [`controller::Controller`] hold all decisions and know neither sockets nor clocks;
//! [`node`] puts them on a ROS 2 graph.
//!
//! ```
//! use rosless_engine::Engine as _;
//! use rosless_protocol::{
//!     Dialect, Now, Wall,
//!     controlled::{Controlled, Input, Output},
//!     message::{Command, Control, Kind, State},
//!     name::SystemId,
//! };
//!
//! let mut camera = Controlled::new(SystemId::resolve("/", "camera").unwrap());
//! camera.handle(Input::State(State::Inactive), Now::default());
//! let start = Control {
//!     kind: Kind::Start,
//!     stamp: Wall(0),
//!     source: "boss".into(),
//!     session: "take_1".into(),
//!     systems: vec!["camera".into()],
//! };
//! camera.handle(Input::Control(Dialect::default(), start), Now::default());
//! assert_eq!(camera.poll_output(), Some(Output::Transition(Command::Start)));
//! ```

#![forbid(unsafe_code)]

pub mod clock;
pub mod controlled;
pub mod controller;
pub mod dialect;
pub mod message;
pub mod name;
pub mod node;

pub use dialect::{Channel, Dialect};
pub use rosless_engine::{Now, Wall};
