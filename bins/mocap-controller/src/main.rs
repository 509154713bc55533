//! Starts, stops and watches systems over the START/STOP control protocol.

#![forbid(unsafe_code)]

mod commands;
mod daemon;
mod output;

use std::{process::ExitCode, time::Duration};

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use rosless_cli::{Result, args::seconds, completion::from_graph, out};
use rosless_graph::config;
use rosless_protocol::{Dialect, controller::Settings};

/// Starts, stops and watches lifecycle systems over the START/STOP control protocol, without ROS.
#[derive(Debug, Parser)]
#[command(
    name = "mocap-controller",
    version,
    after_help = rosless_cli::EXIT_CODES
)]
struct Arguments {
    /// Names on the wire: mocap, device or mocap4r2
    #[arg(long, global = true, default_value_t, env = "ROSLESS_DIALECT")]
    dialect: Dialect,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Stay and keep the books: who comes, goes, answers, deviates; services ~/start and ~/stop for all systems
    Run,
    /// Show every system and its state
    Status {
        /// Seconds to look for systems
        #[arg(long, default_value = "3", value_parser = seconds, value_name = "SECONDS")]
        wait: Duration,
    },
    /// Start systems
    Start {
        /// Which ones, by name, with or without namespace
        #[arg(value_name = "SYSTEM", conflicts_with = "all", add = from_graph(commands::system_names))]
        systems: Vec<String>,
        /// All of them
        #[arg(long)]
        all: bool,
        /// What the session is called
        #[arg(long, default_value = "cli_session", value_name = "ID")]
        session: String,
        #[command(flatten)]
        patience: Patience,
    },
    /// Stop systems
    Stop {
        /// Which ones; all when none is named
        #[arg(value_name = "SYSTEM", add = from_graph(commands::system_names))]
        systems: Vec<String>,
        #[command(flatten)]
        patience: Patience,
    },
    /// Show a live table of systems, states, sessions and clocks
    Watch {
        /// End after so many seconds
        #[arg(long = "for", value_parser = seconds, value_name = "SECONDS")]
        duration: Option<Duration>,
    },
}

#[derive(Clone, Debug, Args)]
struct Patience {
    /// Seconds until a system that is not in the asked state counts as failed
    #[arg(long, default_value = "10", value_parser = seconds, value_name = "SECONDS")]
    timeout: Duration,
    /// How often a silent system is asked again
    #[arg(long, default_value_t = 3)]
    retries: u32,
    /// Seconds of silence before a system is asked again
    #[arg(long, default_value = "0.5", value_parser = seconds, value_name = "SECONDS")]
    retry_period: Duration,
    /// Seconds to wait for named systems to appear
    #[arg(long, default_value = "3", value_parser = seconds, value_name = "SECONDS")]
    discovery: Duration,
}

impl Patience {
    fn settings(&self) -> Settings {
        Settings {
            deadline: self.timeout,
            retries: self.retries,
            retry_period: self.retry_period.max(Duration::from_millis(10)),
            discovery: self.discovery,
            ..commands::settings()
        }
    }
}

fn main() -> ExitCode {
    rosless_cli::main(run)
}

fn run(Arguments { dialect, command, .. }: Arguments, settings: config::Settings) -> Result<()> {
    match command {
        // As the original command line does.
        None => {
            out!("{}", Arguments::command().render_help());
            Ok(())
        }
        Some(Command::Run) => daemon::run(settings, dialect),
        Some(Command::Status { wait }) => commands::status(&settings, dialect, wait),
        Some(Command::Start { systems, all, session, patience }) => {
            commands::start(&settings, dialect, systems, all, &session, patience.settings())
        }
        Some(Command::Stop { systems, patience }) => {
            commands::stop(&settings, dialect, systems, patience.settings())
        }
        Some(Command::Watch { duration }) => commands::watch(&settings, dialect, duration),
    }
}
