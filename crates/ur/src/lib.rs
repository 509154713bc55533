//! Universal Robots e-series and CB3: what they say on their ports, a driver for the motion primitive queue, and a
//! simulated controller. No sockets, no clock: bytes and time come in, bytes go out.
//!
//! ```text
//!  Hardware (25 values) ─► Driver ── RTDE 30004 ──────────► joints, modes, speed slider
//!                            │ ───── dashboard 29999 ─────► remote control, power, brakes, stop
//!                            │ ───── script port 30002 ───► the program of `program`, once
//!                            └◄──── two connections back ── that program fetches moves and tells how far it is
//! ```
//!
//! | module | question it answers |
//! |---|---|
//! | [`rtde`], [`fields`] | which bytes go over the real-time port, and which fields are there? |
//! | [`lines`] | where does a line of the dashboard end? |
//! | [`modes`] | what do the numbers of robot, safety and program mean? |
//! | [`pose`] | how does a rotation vector become a quaternion? |
//! | [`program`] | what runs on the robot, and what do we say to each other? |
//! | [`driver`] | when may the robot move, and what is wrong if it may not? |
//! | [`sim`] | what would a controller do? |

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod driver;
pub mod fields;
pub mod lines;
pub mod modes;
pub mod pose;
pub mod program;
pub mod rtde;
pub mod sim;

pub use driver::Driver;
