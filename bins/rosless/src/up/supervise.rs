//! The loop that starts daemons in their turn, watches them, and starts them again.

use std::{
    collections::BTreeSet,
    io::Read as _,
    os::{fd::AsFd as _, unix::net::UnixStream},
    process::ExitStatus,
    time::{Duration, Instant, SystemTime},
};

use rosless_graph::{
    Counters,
    lines::eprint_line,
    supervision::{Ear, Supervisor, Word},
};

use super::{
    lookout::{self, Lookout, Presence},
    report::{Board, Entry, State, unix_seconds},
};
use crate::{
    failure::{Failure, Result},
    fleet::{Child, Program, Restart, stop_all, wait},
};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Who ran this long did not die from starting.
const STABLE: Duration = Duration::from_secs(10);

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
    /// When it last said something; programs of others may never do.
    last_word: Option<Instant>,
    is_ready: bool,
    counters: Counters,
}

impl Watch {
    fn new(program: &Program) -> Result<Option<Self>> {
        if program.watchdog == 0 {
            return Ok(None);
        }
        let patience = Duration::from_secs(program.watchdog);
        let ear = Ear::new(patience)
            .map_err(|error| Failure::new(format!("cannot listen to {}: {error}", program.name)))?;
        Ok(Some(Self { ear, patience, last_word: None, is_ready: false, counters: Counters::default() }))
    }

    fn hear(&mut self, now: Instant) {
        let words = self.ear.listen();
        if !words.is_empty() {
            self.last_word = Some(now);
        }
        self.is_ready |= words.contains(&Word::Ready);
        for word in words {
            if let Word::Counted(counters) = word {
                self.counters = counters;
            }
        }
    }

    /// When its silence has lasted too long.
    fn deadline(&self) -> Option<Instant> {
        self.last_word.map(|last| last + self.patience)
    }
}

/// Where a daemon is on its way.
enum Stage {
    /// To be started at this time, when what it waits for is there.
    Due(Instant),
    Running(Box<Running>),
    /// For good; whether well.
    Ended {
        well: bool,
    },
}

/// One daemon: what is to be run, and how far it is.
struct Ward<'a> {
    program: &'a Program,
    stage: Stage,
    backoff: Backoff,
    restarts: u32,
    remark: Option<String>,
    /// What was said last that it waits for.
    said: Option<String>,
    changed: SystemTime,
}

impl Ward<'_> {
    fn running(&self) -> Option<&Running> {
        match &self.stage {
            Stage::Running(running) => Some(running),
            _ => None,
        }
    }

    /// Others may count on it.
    fn is_ready(&self, graph: Option<&BTreeSet<String>>) -> bool {
        match &self.stage {
            Stage::Running(running) => {
                let is_told = running.watch.as_ref().is_some_and(|watch| watch.is_ready);
                // Who does not speak to supervisors is ready when it is on the graph, as far as that is known.
                let nodes = self.program.expected_nodes();
                let is_silent = running.watch.as_ref().is_none_or(|watch| watch.last_word.is_none());
                let is_seen = match (nodes.is_empty(), graph) {
                    (true, _) => running.since.elapsed() >= FIRST_PAUSE,
                    (false, None) => false,
                    (false, Some(graph)) => nodes.iter().all(|node| graph.contains(node)),
                };
                is_told || (is_silent && is_seen)
            }
            Stage::Ended { well } => *well,
            Stage::Due(_) => false,
        }
    }

    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.changed = SystemTime::now();
    }

    fn entry(&self, graph: Option<&BTreeSet<String>>) -> Entry {
        let (state, pid) = match &self.stage {
            Stage::Due(_) if self.said.is_some() => (State::Waiting, None),
            Stage::Due(_) => (State::Pausing, None),
            Stage::Running(running) if self.is_ready(graph) => (State::Running, Some(running.child.pid())),
            Stage::Running(running) => (State::Starting, Some(running.child.pid())),
            Stage::Ended { well: true } => (State::Ended, None),
            Stage::Ended { well: false } => (State::Failed, None),
        };
        let remark = self.said.clone().or_else(|| self.remark.clone());
        let name = self.program.name.clone();
        let counters = match &self.stage {
            Stage::Running(running) => running.watch.as_ref().map(|watch| watch.counters),
            _ => None,
        };
        let counters = counters.filter(|counters| *counters != Counters::default());
        Entry {
            name,
            state,
            pid,
            since: unix_seconds(self.changed),
            restarts: self.restarts,
            remark,
            counters,
        }
    }
}

/// Everything that is kept running.
pub(super) struct Supervision<'a> {
    wards: Vec<Ward<'a>>,
    lookout: Option<Lookout>,
    board: Board,
}

impl<'a> Supervision<'a> {
    pub(super) fn new(programs: &'a [Program], lookout: Option<Lookout>, board: Board) -> Self {
        let now = Instant::now();
        let ward = |program| Ward {
            program,
            stage: Stage::Due(now),
            backoff: Backoff { pause: FIRST_PAUSE },
            restarts: 0,
            remark: None,
            said: None,
            changed: SystemTime::now(),
        };
        Self { wards: programs.iter().map(ward).collect(), lookout, board }
    }

    /// Until `stop` is readable, or all have ended for good.
    pub(super) fn run(
        mut self,
        start: impl Fn(usize, &Program, Option<&Ear>) -> Result<Child>,
        mut stop: &UnixStream,
    ) -> Result<()> {
        let mut reporter = Reporter::find(Instant::now());
        reporter.iter().for_each(|reporter| reporter.supervisor.say(Word::Ready));
        while stop.read(&mut [0]).is_err() {
            let now = Instant::now();
            self.hear(now);
            let graph = self.lookout.as_mut().and_then(|lookout| lookout.nodes(now));
            self.start_what_is_due(&start, graph.as_ref(), now)?;
            self.bury(graph.as_ref(), now);
            self.board.tell(self.wards.iter().map(|ward| ward.entry(graph.as_ref())).collect());
            if !self.goes_on() {
                break;
            }
            let next = self.next_look(now, reporter.as_mut().and_then(|reporter| reporter.report(now)));
            let running = self.wards.iter().filter_map(Ward::running);
            let signs = running.flat_map(|running| {
                let ear = running.watch.as_ref().map(|watch| watch.ear.as_fd());
                [Some(running.child.end()), ear]
            });
            wait(signs.flatten().chain([stop.as_fd()]), next);
        }
        drop(reporter);
        drop(self.lookout);
        let failed = self.wards.iter().filter(|ward| matches!(ward.stage, Stage::Ended { well: false }));
        let failed: Vec<_> = failed.map(|ward| ward.program.name.clone()).collect();
        let children = self.wards.into_iter().filter_map(|ward| match ward.stage {
            Stage::Running(running) => Some(running.child),
            _ => None,
        });
        match stop_all(children.collect()) {
            0 if failed.is_empty() => Ok(()),
            0 => Err(Failure::new(format!("ended in failure: {}", failed.join(", ")))),
            forced => Err(Failure::new(format!("{forced} daemons did not end when asked and were killed"))),
        }
    }

    fn goes_on(&self) -> bool {
        self.wards.iter().any(|ward| !matches!(ward.stage, Stage::Ended { .. }))
    }

    fn hear(&mut self, now: Instant) {
        for ward in &mut self.wards {
            if let Stage::Running(running) = &mut ward.stage
                && let Some(watch) = &mut running.watch
            {
                watch.hear(now);
            }
        }
    }

    /// What the daemon has to wait for.
    fn obstacle(&self, program: &Program, graph: Option<&BTreeSet<String>>) -> Option<String> {
        let ready = |name: &&String| {
            let other = self.wards.iter().find(|ward| ward.program.name == **name);
            other.is_none_or(|ward| ward.is_ready(graph))
        };
        let seen = |node: &&String| graph.is_some_and(|graph| graph.contains(*node));
        let others = program.after.iter().filter(|name| !ready(name)).cloned();
        let nodes = program.wait_for.iter().filter(|node| !seen(node)).map(|node| format!("node {node}"));
        let missing: Vec<_> = others.chain(nodes).collect();
        (!missing.is_empty()).then(|| format!("waits for {}", missing.join(", ")))
    }

    fn start_what_is_due(
        &mut self,
        start: impl Fn(usize, &Program, Option<&Ear>) -> Result<Child>,
        graph: Option<&BTreeSet<String>>,
        now: Instant,
    ) -> Result<()> {
        for index in 0..self.wards.len() {
            let program = self.wards[index].program;
            if !matches!(self.wards[index].stage, Stage::Due(at) if at <= now) {
                continue;
            }
            let obstacle = self.obstacle(program, graph);
            let ward = &mut self.wards[index];
            if obstacle != ward.said {
                obstacle.iter().for_each(|obstacle| eprint_line(&format!("{} {obstacle}", program.name)));
                ward.said = obstacle.clone();
            }
            if obstacle.is_some() {
                continue;
            }
            let watch = Watch::new(program)?;
            let child = start(index, program, watch.as_ref().map(|watch| &watch.ear))?;
            let nodes = if program.is_looked_for() { program.expected_nodes() } else { Vec::new() };
            let presence = Presence::new(&nodes, Duration::from_secs(program.watchdog), now);
            ward.enter(Stage::Running(Box::new(Running { child, since: now, watch, presence })));
        }
        Ok(())
    }

    /// Sees who has ended or hangs, and what becomes of it.
    fn bury(&mut self, graph: Option<&BTreeSet<String>>, now: Instant) {
        let can_look = self.lookout.is_some();
        for ward in &mut self.wards {
            let Stage::Running(running) = &mut ward.stage else { continue };
            let status = running.child.ended();
            let is_hung =
                running.watch.as_ref().and_then(Watch::deadline).is_some_and(|deadline| deadline <= now);
            let end = match status {
                Some(status) => format!("ended ({status})"),
                None if is_hung => "runs but shows no sign of life, and was killed".to_owned(),
                None => match running.presence.complaint(graph, now).filter(|_| can_look) {
                    Some(complaint) => complaint,
                    None => continue,
                },
            };
            let life = running.since.elapsed();
            let well = status.as_ref().is_some_and(ExitStatus::success);
            let again = match ward.program.restart {
                Restart::Always => true,
                Restart::OnFailure => !well,
                Restart::Never => false,
            };
            let name = &ward.program.name;
            if again {
                let pause = ward.backoff.after(life);
                eprint_line(&format!("{name} {end}; starting it again in {:.1} s", pause.as_secs_f64()));
                ward.restarts += 1;
                ward.enter(Stage::Due(now + pause));
            } else {
                eprint_line(&format!("{name} {end}; it is not started again"));
                ward.enter(Stage::Ended { well });
            }
            ward.remark = Some(end);
        }
    }

    fn next_look(&self, now: Instant, report: Option<Instant>) -> Option<Instant> {
        let due = |ward: &Ward<'_>| match &ward.stage {
            // What it waits for tells of itself, or is looked for.
            Stage::Due(at) => Some(if ward.said.is_some() { now + FIRST_PAUSE } else { *at }),
            Stage::Running(running) => running.watch.as_ref().and_then(Watch::deadline),
            Stage::Ended { .. } => None,
        };
        let looks = self.wards.iter().filter_map(due);
        looks.chain(self.lookout.as_ref().map(|_| now + lookout::PERIOD)).chain(report).min()
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
