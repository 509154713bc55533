//! Our graph layer against DDS implementations we did not write. What the peers do on the wire is what rmw_cyclonedds
//! and rmw_fastrtps do there; `docs/interop.md` has the matrix.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

mod actions;
mod discovery;
mod first_contact;
mod foreign_client;
mod foreign_peers;
mod large_samples;
mod late_listeners;
mod lifecycle;
mod ours;
#[cfg(feature = "security")]
mod security;
mod services;
mod topics;
