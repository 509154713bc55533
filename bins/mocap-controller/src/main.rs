//! Starts, stops and watches systems over the START/STOP control protocol.

#![forbid(unsafe_code)]

mod commands;
mod daemon;
mod output;

use std::{process::ExitCode, time::Duration};

use clap::{Args, CommandFactory, Parser, Subcommand};
use rosless_graph::{Error, Result, config};
use rosless_protocol::{Dialect, controller::Settings};

/// Starts, stops and watches lifecycle systems over the START/STOP control protocol, without ROS.
#[derive(Debug, Parser)]
#[command(
    name = "mocap-controller",
    version,
    after_help = "Exit codes: 0 every asked system is in the asked state; 1 at least one is not; 2 wrong usage; \
                  130 interrupted.\nAlso understands --ros-args and the ROS_* environment (ROS_DOMAIN_ID, \
                  ROS_STATIC_PEERS, …)."
)]
struct Arguments {
    /// Names on the wire: mocap, device or mocap4r2
    #[arg(long, global = true, default_value_t, env = "ROSLESS_DIALECT")]
    dialect: Dialect,
    /// For scripts: JSON on stdout
    #[arg(long, global = true)]
    json: bool,
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
        #[arg(long, default_value_t = 3.0, value_parser = seconds, value_name = "SECONDS")]
        wait: f64,
    },
    /// Start systems
    Start {
        /// Which ones, by name, with or without namespace
        #[arg(value_name = "SYSTEM", conflicts_with = "all")]
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
        #[arg(value_name = "SYSTEM")]
        systems: Vec<String>,
        #[command(flatten)]
        patience: Patience,
    },
    /// Show a live table of systems, states, sessions and clocks
    Watch {
        /// End after so many seconds
        #[arg(long = "for", value_parser = seconds, value_name = "SECONDS")]
        duration: Option<f64>,
    },
}

#[derive(Clone, Debug, Args)]
struct Patience {
    /// Seconds until a system that is not in the asked state counts as failed
    #[arg(long, default_value_t = 10.0, value_parser = seconds, value_name = "SECONDS")]
    timeout: f64,
    /// How often a silent system is asked again
    #[arg(long, default_value_t = 3)]
    retries: u32,
    /// Seconds of silence before a system is asked again
    #[arg(long, default_value_t = 0.5, value_parser = seconds, value_name = "SECONDS")]
    retry_period: f64,
    /// Seconds to wait for named systems to appear
    #[arg(long, default_value_t = 3.0, value_parser = seconds, value_name = "SECONDS")]
    discovery: f64,
}

impl Patience {
    fn settings(&self) -> Settings {
        Settings {
            deadline: Duration::from_secs_f64(self.timeout),
            retries: self.retries,
            retry_period: Duration::from_secs_f64(self.retry_period),
            discovery: Duration::from_secs_f64(self.discovery),
            ..commands::settings()
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if (0.01..=86_400.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("between 0.01 and 86400, please".to_owned())
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(Error::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if matches!(error, Error::Usage(_)) { 2 } else { 1 })
        }
    }
}

fn run() -> Result<ExitCode> {
    let (settings, rest) = config::settings_or_exit();
    let Arguments { dialect, json, command } = Arguments::parse_from(rest);
    let Some(command) = command else {
        // As the original command line does.
        output::answer(&Arguments::command().render_help().to_string())?;
        return Ok(ExitCode::SUCCESS);
    };
    match command {
        Command::Run => daemon::run(settings, dialect),
        Command::Status { wait } => commands::status(settings, dialect, json, Duration::from_secs_f64(wait)),
        Command::Start { systems, all, session, patience } => {
            commands::start(settings, dialect, json, systems, all, &session, patience.settings())
        }
        Command::Stop { systems, patience } => {
            commands::stop(settings, dialect, json, systems, patience.settings())
        }
        Command::Watch { duration } => {
            commands::watch(settings, dialect, json, duration.map(Duration::from_secs_f64))
        }
    }
}
