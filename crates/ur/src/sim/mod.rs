//! A simulated controller: its three ports, the programs that it is sent, and an arm with our kinematics.
//!
//! | module | question it answers |
//! |---|---|
//! | [`script`] | what does a program say? |
//! | [`machine`] | what does it do next? |
//! | [`controller`] | who is answered what, and where is the arm? |

pub mod controller;
pub mod machine;
pub mod script;

pub use controller::{Controller, Input, Options, Output, Port};
