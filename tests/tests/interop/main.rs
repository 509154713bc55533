//! Our graph layer against DDS implementations we did not write. What the peers do on the wire is what rmw_cyclonedds
//! and rmw_fastrtps do there; `docs/interop.md` has the matrix.

mod actions;
mod discovery;
mod foreign_client;
mod foreign_peers;
mod lifecycle;
mod ours;
mod services;
mod topics;
