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
//!
//! And a controller that starts everybody, hears every message, and stops everybody when the report is there:
//! ```no_run
//! # fn main() -> rosless_graph::Result<()> {
//! use rosless_graph::{Context, EventLoop, config};
//! use rosless_protocol::{Dialect, controller::Targets, message::Command, node::{ControllerNode, ControllerOptions, Notice}};
//!
//! #[derive(Default)]
//! struct App {
//!     controller: Option<ControllerNode<App>>,
//! }
//!
//! let (settings, _args) = config::settings_or_exit();
//! let context = Context::new(settings)?;
//! let event_loop = EventLoop::<App>::new(&context)?;
//! let node = context.node(Dialect::Device.names().controller_node)?;
//! let controller =
//!     ControllerNode::new(&event_loop, &node, ControllerOptions::of(Dialect::Device), |app: &mut App, notice| match notice {
//!         Notice::Message(message) => log::info!("{:?} from {}", message.kind, message.source),
//!         Notice::Finished(report) if report.command == Command::Start => {
//!             report.failures().for_each(|(system, why)| log::error!("{system}: {}", why.word()));
//!             if let Some(controller) = &app.controller {
//!                 controller.stop(Targets::All).expect("no name, no wrong name");
//!             }
//!         }
//!         _ => {}
//!     })?;
//! controller.start("session_1", Targets::All).expect("no name, no wrong name");
//! event_loop.run(&mut App { controller: Some(controller) })
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
    Qos::default().keep_last(CONTROL_DEPTH)
}

/// Announcements, both ways.
pub fn environment_qos() -> Qos {
    Qos::default().transient_local().keep_all()
}
