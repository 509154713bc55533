//! What `rosless up` tells about itself in a file, and `rosless status` and `rosless logs`, which read it.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use clap::Args;
use rosless_cli::table;
use rosless_doctor::daemons;
use rosless_graph::Counters;
use serde::{Deserialize, Serialize};

use super::{mark, stop_signals};
use crate::{
    Environment,
    failure::{Failure, Result},
    fleet::wait,
    output::{self, out},
};

/// What one daemon does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// For others to be ready, or for nodes to come.
    Waiting,
    /// Started, and has not said that it is ready.
    Starting,
    Running,
    /// It has ended, and is started again soon.
    Pausing,
    /// For good, and well.
    Ended,
    /// For good, and not well.
    Failed,
}

/// One daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) state: State,
    pub(super) pid: Option<u32>,
    /// Unix time, in seconds, at which it got into this state.
    pub(super) since: u64,
    pub(super) restarts: u32,
    /// What it waits for, or how it ended last.
    pub(super) remark: Option<String>,
    /// Where not all that came could be used, or it had to be said more than once.
    #[serde(default)]
    pub(super) counters: Option<Counters>,
}

/// What is the same for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) domain: u16,
    pub(super) range: String,
    pub(super) logs: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Report {
    #[serde(flatten)]
    head: Head,
    daemons: Vec<Entry>,
}

/// The file, kept true as long as the daemons are up.
#[derive(Debug)]
pub(super) struct Board {
    path: PathBuf,
    head: Head,
    told: Vec<Entry>,
}

pub(super) fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

pub(super) fn log_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.log"))
}

impl Board {
    pub(super) fn new(mark: &mark::Mark, head: Head) -> Self {
        Self { path: daemons::report(mark.path()), head, told: Vec::new() }
    }

    /// Writes it down if it is news. Who cannot write goes on: the daemons matter more.
    pub(super) fn tell(&mut self, daemons: Vec<Entry>) {
        if daemons == self.told {
            return;
        }
        let report = Report { head: self.head.clone(), daemons };
        let new = self.path.with_extension("new");
        let text = serde_json::to_vec(&report).unwrap_or_default();
        // One that lies there already may be a stranger's, or lead elsewhere.
        let _ = fs::remove_file(&new);
        let written = File::create_new(&new).and_then(|mut file| file.write_all(&text));
        if let Err(error) = written.and_then(|()| fs::rename(&new, &self.path)) {
            log::warn!("`rosless status` will not know: {}: {error}", self.path.display());
        }
        self.told = report.daemons;
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn read(environment: &Environment) -> Result<Report> {
    let (_, mark) = mark::find(environment.settings.environment.domain_id)?;
    let path = daemons::report(&mark);
    let text = daemons::read_report(&mark).map_err(|error| mark::wrong(&path, &error))?;
    serde_json::from_slice(&text).map_err(|error| mark::wrong(&path, &error))
}

/// What `rosless up` runs in this domain. Exit code 1 when a daemon does not run that should, 3 when nothing is up.
#[derive(Args, Debug)]
pub(crate) struct Status {}

impl Status {
    #[expect(clippy::unused_self, reason = "like every command")]
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let report = read(environment)?;
        let now = unix_seconds(SystemTime::now());
        let row = |entry: &Entry| {
            let state = format!("{:?}", entry.state).to_lowercase();
            let age = table::rough(Duration::from_secs(now.saturating_sub(entry.since)));
            let pid = entry.pid.map(|pid| pid.to_string()).unwrap_or_default();
            let counted = entry.counters.map(|counters| counters.to_string());
            let remark = [entry.remark.clone(), counted].into_iter().flatten().collect::<Vec<_>>().join("; ");
            [entry.name.clone(), state, age, pid, entry.restarts.to_string(), remark]
        };
        if environment.json() {
            output::json(&report);
        } else {
            let titles = ["NAME", "STATE", "FOR", "PID", "RESTARTS", "REMARK"];
            output::raw(&table::columns(&titles, report.daemons.iter().map(row)));
        }
        let is_well = |entry: &Entry| matches!(entry.state, State::Running | State::Ended);
        if report.daemons.iter().all(is_well) { Ok(()) } else { Err(Failure::told()) }
    }
}

/// What the daemons of `rosless up` said; also those of the last time, as long as nothing else is up.
#[derive(Args, Debug)]
pub(crate) struct Logs {
    /// Only of these; without a name, of all
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// So many lines of each; 0 for all that is in its newest file
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
    lines: usize,
    /// Go on with what they say from now on, until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// Folder of the logs, where `up` was given one
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
}

/// How soon a line that was written is shown.
const LOOK: Duration = Duration::from_millis(200);

/// One file, read as it grows.
#[derive(Debug)]
struct Tail {
    name: String,
    path: PathBuf,
    read: u64,
}

impl Tail {
    /// Whole lines that were not read yet.
    fn news(&mut self) -> Vec<String> {
        let Ok(mut file) = File::open(&self.path) else { return Vec::new() };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        if length < self.read {
            // The old one was put aside; what is missed of it stands there.
            self.read = 0;
        }
        if file.seek(SeekFrom::Start(self.read)).is_err() {
            return Vec::new();
        }
        let mut lines = Vec::new();
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) && line.ends_with(b"\n") {
            self.read += line.len() as u64;
            lines.push(String::from_utf8_lossy(&line[..line.len() - 1]).into_owned());
            line.clear();
        }
        lines
    }
}

impl Logs {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let domain = environment.settings.environment.domain_id;
        // Who runs may not have said anything yet.
        let (folder, running) = match (&self.logs, read(environment)) {
            (Some(folder), _) => (Some(folder.clone()), Vec::new()),
            (None, Ok(report)) => (report.head.logs, report.daemons),
            (None, Err(_)) => (super::default_logs(domain), Vec::new()),
        };
        let folder =
            folder.ok_or_else(|| Failure::new("logs are not kept; `rosless up --logs DIR` keeps them"))?;
        let mut tails = self.tails(&folder, running.into_iter().map(|entry| entry.name))?;
        let width = tails.iter().map(|tail| tail.name.len()).max().unwrap_or_default();
        let print = |name: &str, line: &str| match environment.json() {
            true => output::json_line(&serde_json::json!({"name": name, "line": line})),
            false => out!("{name:>width$} | {line}"),
        };
        for tail in &mut tails {
            let all = tail.news();
            let skip = if self.lines == 0 { 0 } else { all.len().saturating_sub(self.lines) };
            all.iter().skip(skip).for_each(|line| print(&tail.name, line));
        }
        if !self.follow {
            return Ok(());
        }
        let stop = stop_signals().map_err(|error| Failure::new(format!("cannot handle signals: {error}")))?;
        while std::io::Read::read(&mut &stop, &mut [0]).is_err() && !output::closed() {
            for tail in &mut tails {
                tail.news().iter().for_each(|line| print(&tail.name, line));
            }
            wait([std::os::fd::AsFd::as_fd(&stop)].into_iter(), Some(Instant::now() + LOOK));
        }
        Ok(())
    }

    fn tails(&self, folder: &Path, running: impl Iterator<Item = String>) -> Result<Vec<Tail>> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let name = |path: PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".log")?.to_owned());
        let mut known: Vec<_> = entries.filter_map(|entry| name(entry.path())).chain(running).collect();
        known.sort();
        known.dedup();
        if known.is_empty() {
            return Err(Failure::nobody(format!(
                "{} has no logs: `rosless up` writes them",
                folder.display()
            )));
        }
        if let Some(stranger) = self.names.iter().find(|name| !known.contains(name)) {
            let known = known.join(", ");
            return Err(Failure::nobody(format!(
                "no daemon called '{stranger}' has a log: there are {known}"
            )));
        }
        known.retain(|name| self.names.is_empty() || self.names.contains(name));
        let tail = |name: String| Tail { path: log_path(folder, &name), name, read: 0 };
        Ok(known.into_iter().map(tail).collect())
    }
}
