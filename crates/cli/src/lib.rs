//! What every command line of this project shares, so that a program is only what it does.
//!
//! ```no_run
//! use rosless_cli::{Result, Session, out};
//! use rosless_graph::config::Settings;
//!
//! /// Lists the nodes on the graph.
//! #[derive(Debug, clap::Parser)]
//! #[command(after_help = rosless_cli::EXIT_CODES)]
//! struct Nodes {}
//!
//! fn run(_: Nodes, settings: Settings) -> Result<()> {
//!     let session = Session::join(&settings, "_nodes", ())?;
//!     session.whole_graph()?.nodes().iter().for_each(|node| out!("{node}"));
//!     Ok(())
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     rosless_cli::main(run)
//! }
//! ```
//!
//! | want | use |
//! |---|---|
//! | `main` with ROS arguments, `--json`, completion and exit codes | [`main()`] |
//! | a place on the graph for one command | [`Session`] |
//! | say why it did not work | [`Failure`] |
//! | print | [`out!`], [`err!`], [`output`] |
//! | tables, live or not | [`table`] |
//! | durations, rates and numbers with a range | [`args`] |
//! | names of the graph behind the Tab key | [`completion`] |
//! | manual pages | [`manual`] |
#![forbid(unsafe_code)]

pub mod args;
pub mod completion;
pub mod failure;
pub mod manual;
pub mod output;
mod program;
pub mod session;
pub mod table;

pub use failure::{EXIT_CODES, Failure, Result, exit};
pub use program::{command, main};
pub use session::Session;
