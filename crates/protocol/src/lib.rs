//! The START/ACK control protocol of mocap_control, device_control and mocap4r2.
//!
//! A controller publishes START or STOP with a list of systems; each system is a lifecycle node that activates or
//! deactivates and acknowledges with its own clock's stamp. The engines [`controlled::Controlled`] and
//! [`controller::Controller`] hold all decisions and know neither sockets nor clocks;
//! [`node`] puts them on a ROS 2 graph.

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
