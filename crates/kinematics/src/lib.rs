//! Six-axis robots as data: where the tool is, which joint angles put it there, and what each joint may do.
//!
//! A robot comes from a table of Denavit-Hartenberg figures ([`DhRow`]), from a URDF ([`urdf`]) or from the list of those
//! built in ([`builtin`]). Either way it becomes a [`Chain`]: six axes in the base frame with all joints at zero. The base
//! is **z-up**; metres, radians, seconds.
//!
//! ```text
//!  DH table ─┐                                      ┌─ forward, Jacobian, motion of the tool
//!  URDF ─────┼─► Chain (six axes, tool) ─► Robot ───┼─ inverse: closed form where the geometry allows it
//!  built in ─┘                             limits   └─           damped least squares otherwise
//! ```
//!
//! | module | question it answers |
//! |---|---|
//! | [`chain`] | where are tool and links, and how do they move? |
//! | [`analytic`] | all joint angles for a pose, for UR-type arms and arms with a spherical wrist |
//! | [`numeric`] | one of them, for any geometry |
//! | [`limits`] | what may each joint do? |
//! | [`robot`] | the nearest joint angles inside the limits, or why there are none |
//! | [`builtin`], [`dh`], [`urdf`] | where does a robot come from? |
//! | [`describe`] | what does a viewer need to draw it? |

#![forbid(unsafe_code)]

pub mod analytic;
pub mod builtin;
pub mod chain;
pub mod describe;
pub mod dh;
pub mod limits;
pub mod numeric;
pub mod robot;
pub mod urdf;

pub use chain::{Axis, Chain, Jacobian, Joints, ToolMotion};
pub use dh::DhRow;
pub use limits::{JointLimit, LimitViolation, Limits};
pub use robot::{Robot, Unreachable};

/// Joints of the robots this crate knows.
pub const JOINTS: usize = 6;
