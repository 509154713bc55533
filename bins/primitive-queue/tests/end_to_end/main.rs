//! The controller as a process, seen by a participant of its own and by its command line.

mod actions;
mod commands;
mod foreign;
mod lifecycle;
mod reference;
mod rig;
mod robot;
mod streaming;
mod ur;
