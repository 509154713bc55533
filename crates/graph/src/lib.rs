//! A ROS 2 node over RustDDS, without ROS.
//!
//! A process has one [`Context`] (a DDS participant) with one or more [`Node`]s, and one [`EventLoop`] that owns every
//! callback and runs them one at a time with the application's state. No other thread of ours, no lock, no sleep:
//! a callback does its work and returns.
//!
//! ```no_run
//! use std::time::Duration;
//! use rosless_graph::{Context, EventLoop, Publisher, Result, config};
//! use rosless_wire::{example_interfaces::srv, std_msgs::msg};
//!
//! struct App {
//!     heard: u32,
//!     echo: Publisher<msg::String>,
//! }
//!
//! fn main() -> Result<()> {
//!     // ROS arguments and environment; what is left belongs to the program's own command line.
//!     let (settings, _args) = config::settings_or_exit();
//!     let context = Context::new(settings)?;
//!     let node = context.node("parrot")?;
//!     let mut app = App { heard: 0, echo: node.publisher("echo")? };
//!
//!     let event_loop = EventLoop::<App>::new(&context)?;
//!     event_loop.subscribe::<msg::String>(&node, "chatter", |app, sample| {
//!         app.heard += 1;
//!         app.echo.publish(&sample.message);
//!     })?;
//!     event_loop.timer(Duration::from_secs(1), |app| log::info!("{} messages so far", app.heard));
//!     event_loop.serve::<srv::AddTwoInts>(&node, "add", |_, request, responder| {
//!         responder.reply(&srv::AddTwoIntsResponse { sum: request.a + request.b });
//!     })?;
//!     event_loop.run(&mut app) // until SIGINT, SIGTERM, SIGHUP or Handle::stop
//! }
//! ```
//!
//! | want | use |
//! |---|---|
//! | publish | [`Node::publisher`], then [`Publisher::publish`]; it never waits |
//! | another quality of service than the default | [`TopicQos`]: `"~/status".latched()`, `"joints".keep_last(1)`; or `(name, qos)` |
//! | subscribe | [`Handle::subscribe`]; undecoded for tools: [`Handle::subscribe_raw`] |
//! | serve, also answering later | [`Handle::serve`] with a [`Responder`] that may be kept |
//! | call | [`Handle::client`], then [`Client::call`] with a timeout; undecoded for tools: [`Handle::raw_client`] |
//! | tell of calls (`ros2 service echo`) | [`Server::configure_introspection`], [`Client::configure_introspection`] |
//! | timers | [`Handle::timer`], [`Handle::once`] |
//! | drive an engine | [`Handle::drive`] |
//! | who is there | [`Context::graph`], [`Handle::on_graph_change`], [`Publisher::matched`], [`Client::is_ready`] |
//! | a command that does one thing | [`EventLoop::run_until`] with a condition and a timeout |
//! | register from inside a callback | clone the loop's [`Handle`] into it |
//! | read stdin or a socket, serve a socket | [`Handle::watch`], [`Handle::watch_both_ways`] |
//!
//! Engines (sans-IO state machines, [`rosless_engine`]) are plain fields of the application's state:
//!
//! ```no_run
//! # use std::time::Duration;
//! # use rosless_engine::{Engine, Now};
//! # use rosless_graph::EventLoop;
//! # struct Brain;
//! # impl Engine for Brain {
//! #     type Input<'a> = ();
//! #     type Output = String;
//! #     fn handle(&mut self, (): (), _: Now) {}
//! #     fn wake(&mut self, _: Now) {}
//! #     fn poll_output(&mut self) -> Option<String> { None }
//! #     fn next_deadline(&self) -> Option<Duration> { None }
//! # }
//! # struct App { brain: Brain }
//! # fn wire(event_loop: &EventLoop<App>) {
//! // Callbacks say `app.brain.handle(input, now())`; the loop wakes and drains it.
//! event_loop.drive(|app, with: &mut dyn FnMut(&mut Brain)| with(&mut app.brain), |_, output| log::info!("{output}"));
//! # }
//! ```
//!
//! Everything from the network is checked: samples that do not decode, come from a writer of another type or got lost
//! are counted ([`Counters`]) and logged at most every five seconds; endpoints whose quality of service does not fit are
//! reported by topic and policy.
#![forbid(unsafe_code)]

pub mod action;
pub mod config;
pub mod console;
mod context;
mod counters;
mod crash;
pub mod descriptions;
pub mod discovery_info;
mod error;
mod event_loop;
mod gid;
pub mod graph;
mod introspection;
pub mod lifecycle;
pub mod lines;
mod logging;
pub mod names;
mod network;
mod node;
mod node_services;
mod owed;
pub mod parameters;
mod publisher;
pub mod qos;
mod qos_overrides;
mod raw;
mod service;
mod subscription;
pub mod supervision;
mod topic;

pub use context::{Completeness, Context, ContextOptions, IncompatibleQos};
pub use counters::{Counters, Throttle};
pub use crash::CRASHED;
pub use error::{Error, Result};
pub use event_loop::{EventLoop, Handle, Timer, monotonic, now};
pub use gid::{Gid, GidPrefix, Vendor};
pub use graph::Graph;
pub use introspection::Introspection;
pub use node::Node;
pub use publisher::{Publisher, RawPublisher};
pub use qos::Qos;
pub use raw::SampleInfo;
pub use service::{CallError, Client, RawClient, Reply, Responder, Server, TypeAndHash};
pub use subscription::{Sample, Subscription};
pub use topic::{Topic, TopicQos};
