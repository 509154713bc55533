//! `rosless up` and `rosless down`: the daemons kept running.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, IsTerminal as _, Read as _, Seek as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use clap::Args;
use rosless_graph::{
    config::DiscoveryRange,
    lines::{eprint_line, print_line},
    supervision::{Ear, Supervisor, Word},
};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::Deserialize;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    low_level::pipe,
};

use crate::{
    Environment,
    failure::{Failure, Result},
    fleet::{self, Child, Executables, LineSink, Program, stop_all, wait, wait_any},
    lookout::{self, Lookout, Presence},
    output::out,
};

/// Runs the daemons until Ctrl-C or `rosless down`. One that dies or hangs is started again, after a pause that doubles with
/// every death up to half a minute. Domain and discovery range are those of the environment.
#[derive(Args, Debug)]
#[command(after_help = "\
FILE.yaml lists what to run instead of everything:
  daemons:
    - {name: arm, run: sim-arm, args: [run, --strategy, best]}
    - {name: shooter, run: shooter, args: [run]}
`run` is one of our programs, or any other by its name in PATH or by its path. `watchdog: 5` gives up on one that shows no
sign of life for 5 s (as with systemd: sd_notify(3)) although it runs; 0 never does, and 20 is the default.
`nodes: [/name]` also gives up on one whose node is not on the graph although it runs and others are.")]
pub(crate) struct Up {
    /// Only these, by name: controller, mocap, imu, arm, shooter, motion, mechanism, stand-in, console
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// What to run
    #[arg(long, value_name = "FILE.yaml")]
    config: Option<PathBuf>,
}

/// Ends what `rosless up` runs in this domain, and waits until it has ended.
#[derive(Args, Debug)]
pub(crate) struct Down {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    daemons: Vec<Program>,
}

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Who ran this long did not die from starting.
const STABLE: Duration = Duration::from_secs(10);
/// How long `up` may take to end everything.
const LONGEST_END: Duration = Duration::from_secs(10);

impl Up {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let programs = self.programs()?;
        let executables = Executables::find(&programs)?;
        let settings = &environment.settings.environment;
        let _mark = Mark::take(settings.domain_id)?;
        let stop = stop_signals().map_err(|error| Failure::new(format!("cannot handle signals: {error}")))?;
        let range = match settings.discovery_range {
            DiscoveryRange::Off => "OFF",
            DiscoveryRange::Localhost => "LOCALHOST",
            DiscoveryRange::Subnet => "SUBNET",
            DiscoveryRange::SystemDefault => "SYSTEM_DEFAULT",
        };
        let width = programs.iter().map(|program| program.name.len()).max().unwrap_or_default();
        let coloured = io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none();
        let start = |index: usize, program: &Program, ear: Option<&Ear>| {
            let label = label(index, &program.name, width, coloured);
            let sink: LineSink = Arc::new(move |line| print_line(&format!("{label} {line}")));
            executables.start(program, settings.domain_id, range, ear, sink)
        };
        let can_look = settings.discovery_range != DiscoveryRange::Off;
        let is_looked_for = |program: &Program| program.watchdog > 0 && !program.nodes.is_empty();
        let lookout = (can_look && programs.iter().any(is_looked_for))
            .then(|| Lookout::new(settings.domain_id, range))
            .transpose()?;
        supervise(&programs, start, lookout, &stop)
    }

    fn programs(&self) -> Result<Vec<Program>> {
        let mut programs = match &self.config {
            None => fleet::everything(),
            Some(path) => {
                let wrong =
                    |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
                let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
                serde_yaml_ng::from_str::<Config>(&text).map_err(|error| wrong(&error))?.daemons
            }
        };
        if let Some(stranger) = self.only.iter().find(|name| programs.iter().all(|p| p.name != **name)) {
            let known: Vec<_> = programs.iter().map(|p| p.name.as_str()).collect();
            return Err(Failure::usage(format!(
                "no daemon is called '{stranger}': there are {}",
                known.join(", ")
            )));
        }
        programs.retain(|program| self.only.is_empty() || self.only.contains(&program.name));
        Ok(programs)
    }
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

/// When a daemon that died is started again.
#[derive(Debug, PartialEq)]
struct Backoff {
    pause: Duration,
}

impl Backoff {
    /// The pause after a life of this length.
    fn after(&mut self, life: Duration) -> Duration {
        if life >= STABLE {
            self.pause = FIRST_PAUSE;
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

/// A daemon that was started.
struct Running {
    child: Child,
    since: Instant,
    watch: Option<Watch>,
    presence: Presence,
}

/// Whether a daemon that runs still turns.
struct Watch {
    ear: Ear,
    patience: Duration,
    /// Programs of others may never say anything.
    speaks: bool,
    next_look: Instant,
}

impl Watch {
    fn new(program: &Program, now: Instant) -> Result<Option<Self>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if program.watchdog == 0 {
            return Ok(None);
        }
        let patience = Duration::from_secs(program.watchdog);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let ear = Ear::new(&format!("rosless-up-{}-{number}", std::process::id()), patience)
            .map_err(|error| Failure::new(format!("cannot listen to {}: {error}", program.name)))?;
        Ok(Some(Self { ear, patience, speaks: false, next_look: now + patience }))
    }

    fn is_hung(&mut self, now: Instant) -> bool {
        if now < self.next_look {
            return false;
        }
        self.next_look = now + self.patience;
        let silent = self.ear.listen().is_empty();
        self.speaks |= !silent;
        silent && self.speaks
    }
}

fn supervise(
    programs: &[Program],
    start: impl Fn(usize, &Program, Option<&Ear>) -> Result<Child>,
    mut lookout: Option<Lookout>,
    mut stop: &UnixStream,
) -> Result<()> {
    let mut children = BTreeMap::<usize, Running>::new();
    let mut due: BTreeMap<usize, Instant> =
        (0..programs.len()).map(|index| (index, Instant::now())).collect();
    let mut backoffs: Vec<_> = programs.iter().map(|_| Backoff { pause: FIRST_PAUSE }).collect();
    let mut reporter = Reporter::find(Instant::now());
    reporter.iter().for_each(|reporter| reporter.supervisor.say(Word::Ready));
    while stop.read(&mut [0]).is_err() {
        let now = Instant::now();
        let ready: Vec<_> = due.iter().filter(|(_, at)| **at <= now).map(|(index, _)| *index).collect();
        for index in ready {
            due.remove(&index);
            let watch = Watch::new(&programs[index], now)?;
            let child = start(index, &programs[index], watch.as_ref().map(|watch| &watch.ear))?;
            let Program { nodes, watchdog, .. } = &programs[index];
            let nodes = if *watchdog > 0 { nodes.as_slice() } else { &[] };
            let presence = Presence::new(nodes, Duration::from_secs(*watchdog), now);
            children.insert(index, Running { child, since: now, watch, presence });
        }
        let graph = lookout.as_mut().and_then(|lookout| lookout.nodes(now));
        let how_it_ended = |running: &mut Running| match running.child.ended() {
            Some(status) => Some(format!("ended ({status})")),
            None if running.watch.as_mut().is_some_and(|watch| watch.is_hung(now)) => {
                Some("runs but shows no sign of life, and was killed".to_owned())
            }
            None => running.presence.complaint(graph.as_ref(), now).filter(|_| lookout.is_some()),
        };
        let dead: Vec<_> = children
            .iter_mut()
            .filter_map(|(index, running)| Some((*index, how_it_ended(running)?, running.since.elapsed())))
            .collect();
        for (index, end, life) in dead {
            children.remove(&index);
            let pause = backoffs[index].after(life);
            eprint_line(&format!(
                "{} {end}; starting it again in {:.1} s",
                programs[index].name,
                pause.as_secs_f64()
            ));
            due.insert(index, now + pause);
        }
        let looks = children.values().filter_map(|running| Some(running.watch.as_ref()?.next_look));
        let next = due
            .values()
            .copied()
            .chain(looks)
            .chain(lookout.as_ref().map(|_| now + lookout::PERIOD))
            .chain(reporter.as_mut().and_then(|reporter| reporter.report(now)))
            .min();
        wait_any(children.values().map(|running| &running.child), stop.as_fd(), next);
    }
    drop(reporter);
    drop(lookout);
    let forced = stop_all(children.into_values().map(|running| running.child).collect());
    match forced {
        0 => Ok(()),
        _ => Err(Failure::new(format!("{forced} daemons did not end when asked and were killed"))),
    }
}

/// What our own supervisor is told.
struct Reporter {
    supervisor: Supervisor,
    next: Instant,
}

impl Reporter {
    fn find(now: Instant) -> Option<Self> {
        Supervisor::find().map(|supervisor| Self { supervisor, next: now })
    }

    /// Says what is due; when to come back.
    fn report(&mut self, now: Instant) -> Option<Instant> {
        let period = self.supervisor.watchdog()? / 2;
        if self.next <= now {
            self.supervisor.say(Word::Alive);
            self.next = now + period;
        }
        Some(self.next)
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.supervisor.say(Word::Stopping);
    }
}

/// A locked file with our process id: says that this domain's daemons are up, and whom to tell to end them.
#[derive(Debug)]
struct Mark {
    file: fs::File,
    path: PathBuf,
}

fn mark_path(domain: u16) -> PathBuf {
    let folder = env::var_os("XDG_RUNTIME_DIR").map_or_else(env::temp_dir, PathBuf::from);
    folder.join(format!("rosless-up-{domain}.pid"))
}

impl Mark {
    fn take(domain: u16) -> Result<Self> {
        let path = mark_path(domain);
        let failed = |error: io::Error| Failure::new(format!("{}: {error}", path.display()));
        let mut file = fs::File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        file.try_lock().map_err(|_| {
            Failure::new(format!(
                "the daemons of domain {domain} are up already; end them with `rosless down`"
            ))
        })?;
        file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(failed)?;
        Ok(Self { file, path })
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

impl Down {
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let domain = environment.settings.environment.domain_id;
        let path = mark_path(domain);
        let nothing =
            || Failure::new(format!("nothing is up in domain {domain}; see ROS_DOMAIN_ID and --domain"));
        let mut file = fs::File::options().read(true).write(true).open(&path).map_err(|_| nothing())?;
        if file.try_lock().is_ok() {
            // Nobody holds it: what was up did not end by itself.
            let _ = fs::remove_file(&path);
            return Err(nothing());
        }
        let mut text = String::new();
        let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
        let pid = read.ok().and_then(|_| text.trim().parse().ok()).and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Failure::new(format!("{} does not name a process", path.display())))?;
        let number = pid.as_raw_nonzero();
        let cannot = |error| Failure::new(format!("cannot end process {number}: {error}"));
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(cannot)?;
        pidfd_send_signal(&process, Signal::TERM).map_err(cannot)?;
        wait([process.as_fd()].into_iter(), Some(Instant::now() + LONGEST_END));
        if file.try_lock().is_err() {
            return Err(Failure::new(format!("process {number} does not end")));
        }
        out!("down");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_until_a_life_was_long() {
        let mut backoff = Backoff { pause: FIRST_PAUSE };
        let short = Duration::from_secs(1);
        let pauses: Vec<_> = (0..8).map(|_| backoff.after(short).as_secs_f64()).collect();
        assert_eq!(pauses, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]);
        assert_eq!(backoff.after(STABLE), FIRST_PAUSE);
    }
}
