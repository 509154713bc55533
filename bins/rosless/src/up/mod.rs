//! `rosless up`, `down`, `status` and `logs`: the daemons kept running, and what they say.

mod lookout;
mod mark;
mod report;
mod supervise;

use std::{
    env,
    io::{self, IsTerminal as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use clap::Args;
use rosless_graph::{
    config::{DiscoveryRange, state_folder},
    lines::{eprint_line, print_line},
    supervision::Ear,
};
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    low_level::pipe,
};

pub(crate) use lookout::{LOOK, Look};
pub(crate) use mark::Down;
pub(crate) use report::{Logs, Status};

use crate::{
    Environment,
    failure::{Failure, Result},
    fleet::{self, Executables, LineSink, LogSettings, Place, Program, Rotating},
};

/// Runs the daemons until Ctrl-C or `rosless down`. One that dies or hangs is started again, after a pause that doubles with
/// every death up to half a minute. They keep to this machine unless `--lan` says otherwise; the domain is that of the
/// environment. What they say is printed, and kept in files that `rosless logs` shows.
#[derive(Args, Debug)]
#[command(after_help = "\
FILE.yaml lists what to run instead of everything:
  lan: false                                # true: as --lan
  logs: {folder: /var/log/lab, megabytes: 10, files: 4}
  daemons:
    - {name: arm, run: sim-arm, args: [run, --strategy, best], namespace: /left}
    - {name: shooter, run: shooter, args: [run], namespace: /left, after: [arm]}
    - {name: camera, run: /opt/camera/driver, environment: {MODE: fast}, restart: on-failure}
`run` is one of our programs, or any other by its name in PATH or by its path. Of a daemon there may be, beside name, run and args:
  namespace: /left       where its nodes and topics are
  params_file: a.yaml    its nodes' parameters; relative to this file
  environment: {A: b}    variables of its own
  after: [arm]           started when these are ready
  wait_for: [/node]      started when these nodes, of anybody, are on the graph
  restart: always        or on-failure, or never
  watchdog: 20           seconds without a sign of life (sd_notify(3)) after which it is killed, once it gave one; 0 for never
  nodes: [/name]         killed when these are gone from the graph although it runs and others are there")]
pub(crate) struct Up {
    /// Only these, by name: controller, mocap, imu, arm, shooter, motion, mechanism, stand-in, console
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// What to run
    #[arg(long, value_name = "FILE.yaml")]
    config: Option<PathBuf>,
    /// Talk to other machines, too
    #[arg(long)]
    lan: bool,
    /// Folder for what the daemons say [default: $XDG_STATE_HOME/rosless/logs/DOMAIN]
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
}

impl Up {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let mut config = match &self.config {
            None => {
                fleet::Settings { lan: false, logs: LogSettings::default(), daemons: fleet::everything() }
            }
            Some(path) => fleet::Settings::read(path)?,
        };
        config.keep_only(&self.only)?;
        let programs = config.daemons;
        let executables = Executables::find(&programs)?;
        let settings = &environment.settings.environment;
        let domain = settings.domain_id;
        let mark = mark::Mark::take(domain)?;
        let stop = stop_signals().map_err(|error| Failure::new(format!("cannot handle signals: {error}")))?;
        let range = range(settings.discovery_range, self.lan || config.lan);
        let logs = match config.logs.files {
            0 => None,
            _ => self.logs.clone().or(config.logs.folder.clone()).or_else(|| default_logs(domain)),
        };
        let width = programs.iter().map(|program| program.name.len()).max().unwrap_or_default();
        let coloured = io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none();
        let sinks: Vec<_> = programs
            .iter()
            .enumerate()
            .map(|(index, program)| {
                let label = label(index, &program.name, width, coloured);
                sink(label, logs.as_deref().map(|folder| log_file(folder, program, &config.logs)))
            })
            .collect();
        let start = |index: usize, program: &Program, ear: Option<&Ear>| {
            executables.start(program, &Place { domain, range, ear }, sinks[index].clone())
        };
        let needs_look = |program: &Program| program.is_looked_for() || !program.wait_for.is_empty();
        let lookout = (range != "OFF" && programs.iter().any(needs_look))
            .then(|| lookout::Lookout::new(domain, range))
            .transpose()?;
        let board = report::Board::new(&mark, report::Head { domain, range: range.to_owned(), logs });
        supervise::Supervision::new(&programs, lookout, board).run(start, &stop)
    }
}

/// This machine only, unless asked for more: simulators and controllers of a laptop do not belong on everybody's graph.
fn range(environment: DiscoveryRange, lan: bool) -> &'static str {
    match (environment, lan) {
        (DiscoveryRange::Off, _) => "OFF",
        (DiscoveryRange::SystemDefault, true) => "SYSTEM_DEFAULT",
        (_, true) => "SUBNET",
        (DiscoveryRange::Localhost, false) => "LOCALHOST",
        (_, false) => {
            eprint_line("this machine only; `--lan` lets other machines see and use the daemons");
            "LOCALHOST"
        }
    }
}

fn default_logs(domain: u16) -> Option<PathBuf> {
    let folder = state_folder().map(|folder| folder.join("logs").join(domain.to_string()));
    if folder.is_none() {
        eprint_line("logs are not kept: neither XDG_STATE_HOME nor HOME says where; `--logs DIR` does");
    }
    folder
}

fn log_file(folder: &Path, program: &Program, settings: &LogSettings) -> Rotating {
    let megabyte = 1 << 20;
    Rotating::new(report::log_path(folder, &program.name), settings.megabytes * megabyte, settings.files)
}

/// Where the lines of one daemon go, both its outputs together.
fn sink(label: String, log: Option<Rotating>) -> LineSink {
    let log = log.map(Mutex::new);
    let complained = AtomicBool::new(false);
    Arc::new(move |line| {
        print_line(&format!("{label} {line}"));
        let Some(log) = &log else { return };
        // A disk that is full must not end the daemon, nor be told with every line.
        if let Err(error) = log.lock().unwrap_or_else(PoisonError::into_inner).line(line)
            && !complained.swap(true, Ordering::Relaxed)
        {
            eprint_line(&format!("{label} its log cannot be written: {error}"));
        }
    })
}

/// A byte comes out of it when the user wants an end.
fn stop_signals() -> io::Result<UnixStream> {
    let (stop, sender) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        pipe::register(signal, sender.try_clone()?)?;
    }
    stop.set_nonblocking(true)?;
    Ok(stop)
}

fn label(index: usize, name: &str, width: usize, coloured: bool) -> String {
    // Six colours that are readable on black and white.
    let colour = [36, 33, 35, 32, 34, 31][index % 6];
    if coloured { format!("\x1b[{colour}m{name:>width$} |\x1b[0m") } else { format!("{name:>width$} |") }
}
