//! Whether what `rosless up` runs is on the graph.
//!
//! A process of its own looks, so that nothing that comes over the network can end the supervisor.

use std::{
    collections::BTreeSet,
    env,
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use clap::Args;

use crate::{
    Environment,
    failure::{Failure, Result},
    fleet::Child,
    output::out,
};

/// What starts the process that looks; for `rosless up` only.
pub(crate) const LOOK: &str = "__look";
/// How often it tells what it sees.
pub(crate) const PERIOD: Duration = Duration::from_secs(1);
/// What was told is believed for this long.
const FRESH: Duration = Duration::from_secs(5);
/// When the process that looks has ended, another one is started after this.
const PAUSE: Duration = Duration::from_secs(5);
/// DDS forgets peers it does not hear after 10 s, not all in the same moment: who has become blind sees nobody by then.
const SHORTEST_ABSENCE: Duration = Duration::from_secs(15);

/// Prints the names of all other nodes on one line, once a second.
#[derive(Args, Debug)]
pub(crate) struct Look {}

impl Look {
    #[expect(clippy::unused_self, reason = "like every command")]
    pub(crate) fn run(&self, environment: &Environment) -> Result<()> {
        let session = environment.join()?;
        let own = session.node.full_name();
        let mut next = Instant::now();
        session.watch(None, |()| {
            let now = Instant::now();
            if next <= now {
                next = now + PERIOD;
                let nodes = session.graph().nodes().into_iter().map(|node| node.to_string());
                out!("{}", nodes.filter(|node| *node != own).collect::<Vec<_>>().join(" "));
            }
            false
        })
    }
}

type Sight = Option<(Instant, BTreeSet<String>)>;

/// The process that looks, and what it told last.
pub(crate) struct Lookout {
    command: Command,
    child: Option<Child>,
    again: Instant,
    sight: Arc<Mutex<Sight>>,
}

fn lock(sight: &Mutex<Sight>) -> MutexGuard<'_, Sight> {
    sight.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lookout {
    pub(crate) fn new(domain: u16, range: &str) -> Result<Self> {
        let failed = |error| Failure::new(format!("cannot find this program's own file: {error}"));
        let mut command = Command::new(env::current_exe().map_err(failed)?);
        command
            .arg(LOOK)
            .env("ROS_DOMAIN_ID", domain.to_string())
            .env("ROS_AUTOMATIC_DISCOVERY_RANGE", range);
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            command.env_remove(name);
        }
        Ok(Self { command, child: None, again: Instant::now(), sight: Arc::default() })
    }

    /// The nodes of others on the graph; nothing if nobody looks.
    pub(crate) fn nodes(&mut self, now: Instant) -> Option<BTreeSet<String>> {
        if self.child.as_mut().is_some_and(|child| child.ended().is_some()) {
            self.child = None;
            *lock(&self.sight) = None;
            self.again = now + PAUSE;
        }
        if self.child.is_none() && self.again <= now {
            let sight = self.sight.clone();
            let note = move |line: &str| {
                // Errors are on the same pipe's twin; names begin with a slash.
                if line.split(' ').all(|word| word.is_empty() || word.starts_with('/')) {
                    let nodes = line.split_whitespace().map(str::to_owned).collect();
                    *lock(&sight) = Some((Instant::now(), nodes));
                }
            };
            self.child = Child::start("the look at the graph", &self.command, Arc::new(note)).ok();
            self.again = now + PAUSE;
        }
        let sight = lock(&self.sight);
        sight
            .as_ref()
            .filter(|(at, _)| now.saturating_duration_since(*at) < FRESH)
            .map(|(_, nodes)| nodes.clone())
    }
}

/// Whether the nodes of a daemon that runs are on the graph.
#[derive(Debug)]
pub(crate) struct Presence {
    nodes: Vec<Expected>,
    patience: Duration,
}

#[derive(Debug)]
struct Expected {
    name: String,
    was_seen: bool,
    /// Since when it could have been seen, and was not.
    absent_since: Instant,
}

impl Presence {
    pub(crate) fn new(nodes: &[String], watchdog: Duration, now: Instant) -> Self {
        let expected = |name: &String| Expected { name: name.clone(), was_seen: false, absent_since: now };
        Self { nodes: nodes.iter().map(expected).collect(), patience: watchdog.max(SHORTEST_ABSENCE) }
    }

    /// What is wrong, if something is. Who sees nobody at all may be blind, and judges nobody.
    pub(crate) fn complaint(&mut self, graph: Option<&BTreeSet<String>>, now: Instant) -> Option<String> {
        let graph = graph.filter(|graph| !graph.is_empty());
        let mut complaint = None;
        for node in &mut self.nodes {
            let is_there = graph.is_some_and(|graph| graph.contains(&node.name));
            node.was_seen |= is_there;
            if is_there || graph.is_none() {
                node.absent_since = now;
            }
            let absence = now.saturating_duration_since(node.absent_since);
            if node.was_seen && absence >= self.patience {
                complaint =
                    Some(format!("runs but its node {} is gone from the graph, and was killed", node.name));
            } else if absence >= self.patience * 2 {
                let seconds = absence.as_secs();
                complaint = Some(format!(
                    "runs but its node {} has not come to the graph for {seconds} s, and was killed",
                    node.name
                ));
            }
        }
        complaint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(names: &[&str]) -> Option<BTreeSet<String>> {
        Some(names.iter().map(ToString::to_string).collect())
    }

    /// What is said in each second in which something is, of a daemon with `/a` and `/b` that may be silent for 20 s.
    fn complaints(sights: impl Iterator<Item = Option<BTreeSet<String>>>) -> Vec<(u64, String)> {
        let start = Instant::now();
        let nodes = ["/a".to_owned(), "/b".to_owned()];
        let mut presence = Presence::new(&nodes, Duration::from_secs(20), start);
        let mut said = Vec::new();
        for (second, sight) in (0..).zip(sights) {
            let complaint = presence.complaint(sight.as_ref(), start + Duration::from_secs(second));
            said.extend(complaint.map(|complaint| (second, complaint)));
        }
        said
    }

    #[test]
    fn a_node_that_left_is_missed_after_a_while_and_one_that_never_came_after_twice_that() {
        let left = (0..25).map(|second| graph(if second < 3 { &["/a", "/b", "/x"] } else { &["/b", "/x"] }));
        let said = complaints(left);
        assert_eq!(said[0], (22, "runs but its node /a is gone from the graph, and was killed".to_owned()));
        let never = complaints((0..41).map(|_| graph(&["/a", "/x"])));
        let expected = "runs but its node /b has not come to the graph for 40 s, and was killed";
        assert_eq!(never, [(40, expected.to_owned())]);
        let away_for_a_moment =
            (0..60).map(|second| graph(if second % 19 > 0 { &["/a"] } else { &["/a", "/b"] }));
        assert_eq!(complaints(away_for_a_moment), []);
    }

    #[test]
    fn who_sees_nobody_blames_nobody() {
        let seen = || std::iter::once(graph(&["/a", "/b"]));
        assert_eq!(complaints(seen().chain((0..100).map(|_| graph(&[])))), []);
        assert_eq!(complaints(seen().chain((0..100).map(|_| None))), []);
        // Nor for the time in which it saw nobody.
        let sight = |second| if second < 90 { graph(&[]) } else { graph(&["/x"]) };
        assert_eq!(complaints(seen().chain((0..105).map(sight))), []);
    }
}
