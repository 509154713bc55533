//! The real binaries over DDS: controller, stand-in and commands.

mod rig;
mod routes;
mod safety;
mod sequences;
