//! A ROS 2 node over RustDDS, without ROS.
//!
//! # A first node
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
//! It takes what every ROS node takes (`--ros-args -r echo:=said -p rate:=5.0`, `ROS_DOMAIN_ID`), and has the parameter and
//! type description services of one. `rosless new my_node` makes a crate like this with interfaces of its own and a test.
//!
//! # A value that others may change
//!
//! ```no_run
//! # use rosless_graph::{EventLoop, Node, Result, parameters::Descriptor};
//! # struct App { rate: f64 }
//! # fn part(node: &Node, event_loop: &EventLoop<App>) -> Result<()> {
//! let rate = Descriptor::new("rate").description("per second").double_range(0.1, 100.0, 0.0);
//! let first: f64 = node.declare_parameter(rate, 10.0)?; // or what the command line or a file says
//! let this = node.clone();
//! event_loop.on_parameter_change(node, move |app, _| app.rate = this.parameter("rate").unwrap_or(first));
//! # Ok(()) }
//! ```
//!
//! Many of them, judged together, are a struct: [`parameters::Table`].
//!
//! # Asking somebody
//!
//! ```no_run
//! # use std::time::Duration;
//! # use rosless_graph::{EventLoop, Node, Result};
//! # use rosless_wire::example_interfaces::srv;
//! # fn part(node: &Node, event_loop: &EventLoop<Option<i64>>) -> Result<()> {
//! let client = event_loop.client::<srv::AddTwoInts>(node, "add")?;
//! let request = srv::AddTwoIntsRequest { a: 2, b: 40 };
//! // A server that is not there yet is waited for; whatever happens, the callback hears of it once.
//! client.call(&request, Duration::from_secs(5), |sum, answer| match answer {
//!     Ok(answer) => *sum = Some(answer.sum),
//!     Err(error) => log::error!("{error}"),
//! });
//! let mut sum = None;
//! event_loop.run_until(&mut sum, Duration::from_secs(6), |sum| sum.is_some())?;
//! # Ok(()) }
//! ```
//!
//! # Something that takes a while
//!
//! An action server keeps a [`GoalHandle`](action::GoalHandle) per goal, tells how far it is and ends it:
//!
//! ```no_run
//! # use std::time::Duration;
//! # use rosless_graph::{EventLoop, Node, Result, action::{CancelResponse, GoalHandle, GoalResponse}};
//! # use rosless_wire::example_interfaces::action::{Fibonacci, FibonacciResult};
//! # fn part(node: &Node, event_loop: &EventLoop<Vec<GoalHandle<Fibonacci>>>) -> Result<()> {
//! event_loop.action_server::<Fibonacci>(
//!     node,
//!     "fibonacci",
//!     |_, _, goal| if goal.order < 47 { GoalResponse::Execute } else { GoalResponse::Reject },
//!     |goals, goal| goals.push(goal),
//!     |_, _| CancelResponse::Accept,
//! )?;
//! event_loop.timer(Duration::from_millis(100), |goals| {
//!     for goal in goals.drain(..) {
//!         let result = FibonacciResult { sequence: vec![0, 1] };
//!         let ended = if goal.is_canceling() { goal.canceled(result) } else { goal.succeed(result) };
//!         ended.unwrap_or_else(|error| log::warn!("{error}"));
//!     }
//! });
//! # Ok(()) }
//! ```
//!
//! # A life that others manage
//!
//! ```no_run
//! # use rosless_graph::{EventLoop, Node, Result, lifecycle::{CallbackReturn, Step}};
//! # use rosless_wire::std_msgs::msg;
//! # fn part(node: &Node, event_loop: &EventLoop<()>) -> Result<()> {
//! let lifecycle = event_loop.lifecycle(node, |_, step| {
//!     log::info!("{step:?}");
//!     CallbackReturn::Success
//! })?;
//! let readings = lifecycle.publisher::<msg::Float64>("reading")?; // silent unless the node is active
//! # Ok(()) }
//! ```
//!
//! # What else there is
//!
//! | want | use |
//! |---|---|
//! | publish | [`Node::publisher`], then [`Publisher::publish`]; it never waits |
//! | another quality of service than the default | [`TopicQos`]: `"~/status".latched()`, `"joints".keep_last(1)`; or `(name, qos)` |
//! | subscribe | [`Handle::subscribe`]; undecoded for tools: [`Handle::subscribe_raw`] |
//! | serve, also answering later | [`Handle::serve`] with a [`Responder`] that may be kept |
//! | call | [`Handle::client`], then [`Client::call`] with a timeout; undecoded for tools: [`Handle::raw_client`] |
//! | tell of calls (`ros2 service echo`) | [`Server::configure_introspection`], [`Client::configure_introspection`] |
//! | types of your own | `rosless_schema::build`, in a build script |
//! | goals of others' actions | [`Handle::action_client`], then [`ActionClient::send_goal`](action::ActionClient::send_goal) |
//! | parameters of another node | [`Handle::parameters_of`] |
//! | timers | [`Handle::timer`], [`Handle::once`] |
//! | drive an engine | [`Handle::drive`] |
//! | who is there | [`Context::graph`], [`Handle::on_graph_change`], [`Publisher::matched`], [`Client::is_ready`] |
//! | a command that does one thing | [`EventLoop::run_until`] with a condition and a timeout |
//! | register from inside a callback | clone the loop's [`Handle`] into it |
//! | read stdin or a socket, serve a socket | [`Handle::watch`], [`Handle::watch_both_ways`] |
//!
//! `crates/graph/examples` has a program for each: `talker`, `listener`, `add_two_ints` (service, client, introspection),
//! `fibonacci` (action server and client), `parameters` (own and another node's), `lifecycle`, `watch` (graph, undecoded
//! samples, latched topics, standard input), `engine`.
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
