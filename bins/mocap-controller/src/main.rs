//! Starts, stops and watches systems over the START/STOP control protocol.

#![forbid(unsafe_code)]

mod commands;
mod daemon;
mod data;
mod output;
mod recorder;
mod roster;
mod running;
mod speech;
mod watch;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use rosless_cli::{Failure, Result, args::seconds, completion::from_graph, out};
use rosless_graph::config;
use rosless_protocol::{
    controller::{Ask, Settings, Targets},
    message,
    node::StateFile,
};
use roster::Roster;
use speech::Speech;

/// Starts, stops and watches lifecycle systems over the START/STOP control protocol, without ROS.
#[derive(Debug, Parser)]
#[command(
    name = "mocap-controller",
    version,
    after_help = rosless_cli::EXIT_CODES
)]
struct Arguments {
    #[command(flatten)]
    scope: Scope,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Which systems there are for a command, and what it remembers of them.
#[derive(Clone, Debug, Args)]
pub(crate) struct Scope {
    /// Names on the wire: mocap, device or mocap4r2; auto speaks all three
    #[arg(long, global = true, default_value_t, env = "ROSLESS_DIALECT")]
    pub(crate) dialect: Speech,
    /// Keep to the systems of this namespace, as the original controllers do
    #[arg(long, global = true, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Folder in which sessions are remembered [default: $XDG_STATE_HOME/rosless]
    #[arg(long, global = true, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Ask the systems themselves, also if a controller is running
    #[arg(long, global = true)]
    pub(crate) direct: bool,
}

impl Scope {
    /// What is remembered of sessions in this domain; nothing, with a warning, where it cannot be kept.
    pub(crate) fn state_file(&self, domain: u16) -> Option<StateFile> {
        let Some(folder) = self.state.clone().or_else(config::state_folder) else {
            log::warn!("sessions are not remembered: say where with --state, or set HOME");
            return None;
        };
        let opened = StateFile::open(&folder, domain);
        opened
            .inspect_err(|error| log::warn!("sessions are not remembered in {}: {error}", folder.display()))
            .ok()
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Stay and keep the books: who comes, goes, answers, deviates; services ~/start and ~/stop, topic ~/status
    Run,
    /// Show every system and its state
    Status {
        /// Seconds to look for systems
        #[arg(long, default_value = "3", value_parser = seconds, value_name = "SECONDS")]
        wait: Duration,
    },
    /// Start systems
    Start(Start),
    /// Stop systems
    Stop {
        /// Which ones; all when none is named
        #[arg(value_name = "SYSTEM", conflicts_with = "all", add = from_graph(commands::system_names))]
        systems: Vec<String>,
        /// All of them, which is also what no name means
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        patience: Patience,
    },
    /// Show a live table of systems, states, sessions, clocks and data
    Watch {
        /// Do not listen to the data of the systems, for a network that has no room for it
        #[arg(long)]
        no_data: bool,
        /// End after so many seconds
        #[arg(long = "for", value_parser = seconds, value_name = "SECONDS")]
        duration: Option<Duration>,
    },
}

#[derive(Clone, Debug, Args)]
struct Start {
    /// Which ones, by name, with or without namespace
    #[arg(value_name = "SYSTEM", conflicts_with = "all", add = from_graph(commands::system_names))]
    systems: Vec<String>,
    /// All of them
    #[arg(long)]
    all: bool,
    /// What the session is called; auto numbers takes: take_001, take_002, …
    #[arg(long, default_value = "cli_session", value_name = "ID")]
    session: String,
    /// Stop what is active first, then start it anew
    #[arg(long)]
    restart: bool,
    /// Start all or none: nobody unless everybody is ready, and stop the others again if one fails
    #[arg(long)]
    atomic: bool,
    /// Start nobody unless these are there: names with commas, or a roster file (systems, topics, timeout)
    #[arg(long, value_name = "FILE|NAMES")]
    expect: Option<String>,
    /// Start everybody at one instant, so long after all are known, such as +2s
    #[arg(long, value_parser = ahead, value_name = "+SECONDS")]
    at: Option<Duration>,
    /// Look whether the announced topics flow once all are started
    #[arg(long)]
    check_data: bool,
    #[command(flatten)]
    patience: Patience,
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

/// From now on: `+2s`, `+0.5`.
fn ahead(text: &str) -> Result<Duration, String> {
    let number = text.strip_prefix('+').map(|text| text.strip_suffix('s').unwrap_or(text));
    let ahead = number.and_then(|number| seconds(number).ok()).filter(|ahead| ahead.as_secs() < 3600);
    ahead.ok_or_else(|| "expected how long from now, below an hour, such as +2s or +0.5".to_owned())
}

fn main() -> ExitCode {
    rosless_cli::main(run)
}

fn run(Arguments { scope, command, .. }: Arguments, mut settings: config::Settings) -> Result<()> {
    if let Some(namespace) = &scope.namespace {
        rosless_protocol::name::check(namespace).map_err(Failure::usage)?;
        let rule = format!("__ns:={}", rosless_cli::session::absolute(namespace));
        settings.arguments.remaps.push(rule.parse().map_err(Failure::usage)?);
    }
    match command {
        // As the original command line does.
        None => {
            out!("{}", Arguments::command().render_help());
            Ok(())
        }
        Some(Command::Run) => daemon::run(settings, &scope),
        Some(Command::Status { wait }) => commands::status(&settings, &scope, wait),
        Some(Command::Start(start)) => begin(&settings, &scope, start),
        Some(Command::Stop { systems, patience, .. }) => {
            let targets = if systems.is_empty() { Targets::All } else { named(systems)? };
            let ask = Ask::new(message::Command::Stop, "", targets);
            commands::act(&settings, &scope, ask, patience.settings(), None, None)
        }
        Some(Command::Watch { duration, no_data }) => watch::watch(&settings, &scope, duration, !no_data),
    }
}

fn begin(settings: &config::Settings, scope: &Scope, start: Start) -> Result<()> {
    if start.session.is_empty() {
        return Err(Failure::usage("the session has no name: leave out --session, name one, or say auto"));
    }
    let roster = start.expect.as_deref().map(Roster::read).transpose()?.unwrap_or_default();
    let targets = match (start.all, start.systems.is_empty()) {
        (true, _) => Targets::All,
        (false, false) => named(start.systems)?,
        (false, true) if !roster.systems.is_empty() => named(roster.systems.clone())?,
        _ => return Err(Failure::usage("name the systems to start, or say --all")),
    };
    let mut patience = start.patience.settings();
    if let Some(timeout) = roster.timeout() {
        patience.deadline = timeout;
    }
    let ask = Ask {
        expect: roster.systems.clone(),
        atomic: start.atomic,
        restart: start.restart,
        ..Ask::new(message::Command::Start, &start.session, targets)
    };
    let flows = (start.check_data || !roster.topics.is_empty())
        .then_some(commands::Flows { announced: start.check_data, least: roster.topics });
    commands::act(settings, scope, ask, patience, flows, start.at)
}

/// An empty name would mean "nobody" on the wire; typed by a person it is a mistake.
fn named(systems: Vec<String>) -> Result<Targets> {
    systems.iter().try_for_each(|name| rosless_protocol::name::check(name)).map_err(Failure::usage)?;
    Ok(Targets::Named(systems))
}
