//! The two ends of the protocol on a ROS 2 graph: [`ControlledNode`] for systems, [`ControllerNode`] for controllers.
//!
//! A controlled system in a few lines:
//! ```no_run
//! # fn main() -> rosless_graph::Result<()> {
//! use rosless_graph::{Context, EventLoop, config, lifecycle::CallbackReturn};
//! use rosless_protocol::node::{ControlledNode, Hook, Options};
//!
//! let (settings, _args) = config::settings_or_exit();
//! let context = Context::new(settings)?;
//! let event_loop = EventLoop::<()>::new(&context)?;
//! let camera = ControlledNode::new(&event_loop, &context.node("camera")?, Options::default(), |_, camera, hook| {
//!     if let Hook::Start(message) = hook {
//!         log::info!(target: camera.node().logger(), "session {:?}", message.session);
//!     }
//!     CallbackReturn::Success
//! })?;
//! camera.configure(&mut ());
//! event_loop.run(&mut ())
//! # }
//! ```

mod controlled;
mod controller;
mod state_file;
mod wire;

pub use controlled::{ControlledNode, Hook, Options};
pub use controller::{ControllerNode, Notice, Options as ControllerOptions};
use rosless_graph::Qos;
pub use state_file::StateFile;

/// Control messages that may wait, as in the originals.
const CONTROL_DEPTH: u32 = 100;

/// Control messages, both ways.
pub fn control_qos() -> Qos {
    Qos::default().depth(CONTROL_DEPTH)
}

/// Announcements, both ways.
pub fn environment_qos() -> Qos {
    Qos::default().transient_local().keep_all()
}
