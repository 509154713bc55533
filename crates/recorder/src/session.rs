//! Which session is under way, who is in it, and what is written down of it. No I/O, no clock.

use std::collections::{BTreeMap, VecDeque};

use rosless_engine::Wall;
use serde::{Deserialize, Serialize};

use crate::TopicReport;

/// A START that nobody follows is given up after so long.
const NOBODY: i64 = 15_000_000_000;
/// Failures beyond this are counted only.
const MOST_FAILURES: usize = 1000;

/// A clock's distance from the recorder's, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// Positive: the system's clock is ahead.
    pub nanoseconds: i64,
    /// Plus or minus.
    pub uncertainty: i64,
}

/// One system as it is seen now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Full name.
    pub name: String,
    /// Lifecycle state in words.
    pub state: String,
    /// It is active.
    pub active: bool,
    /// The session it is in, if it was started by the protocol.
    pub session: Option<String>,
    /// What it announced, as full names.
    pub topics: Vec<String>,
    /// Its clock.
    pub offset: Option<ClockOffset>,
}

/// What is written down of one system.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemEntry {
    /// The session it was in; nothing: it was active outside of any.
    pub session: Option<String>,
    /// `lifecycle set` or something else than START has activated it.
    pub outside_session: bool,
    /// What it announced.
    pub topics: Vec<String>,
    /// Lifecycle states with their times.
    pub states: Vec<(i64, String)>,
    /// When ACK_START came, and the stamp in it.
    pub ack_start: Option<(i64, i64)>,
    /// When ACK_STOP came, and the stamp in it.
    pub ack_stop: Option<(i64, i64)>,
    /// At the start.
    pub clock_at_start: Option<ClockOffset>,
    /// At the end.
    pub clock_at_stop: Option<ClockOffset>,
}

/// What is written down of one topic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopicEntry {
    /// `pkg/msg/Type`.
    pub r#type: String,
    /// Recorded.
    pub messages: u64,
    /// Per second.
    pub rate: f64,
    /// Never came.
    pub lost: u64,
    /// Came and found no room.
    pub dropped: u64,
}

/// What is written beside the recording, and into it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// What the START said.
    pub session: String,
    /// Nanoseconds since 1970.
    pub started: i64,
    /// Nothing while it is under way.
    pub stopped: Option<i64>,
    /// How often a recorder began in the middle: each time is a part of its own.
    pub restarts: u32,
    /// Who was in it.
    pub systems: BTreeMap<String, SystemEntry>,
    /// What was recorded.
    pub topics: BTreeMap<String, TopicEntry>,
    /// What went wrong, with its time.
    pub failures: Vec<(i64, String)>,
}

impl Manifest {
    /// Takes what became of the topics.
    pub fn set_topics(&mut self, reports: &[TopicReport]) {
        for report in reports {
            let entry = self.topics.entry(report.name.clone()).or_default();
            *entry = TopicEntry {
                r#type: report.ty.clone(),
                messages: report.messages,
                rate: report.rate(),
                lost: report.lost,
                dropped: report.dropped,
            };
        }
    }
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// START was heard; the systems it names, or nobody for all.
    Start { session: String, systems: Vec<String> },
    /// STOP was heard.
    Stop,
    /// An acknowledgement came, with the stamp in it.
    Ack { system: String, start: bool, stamp: i64 },
    /// The systems as they are now.
    Systems(Vec<Seen>),
    /// Something went wrong.
    Failure(String),
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Begin to record this session.
    Open { session: String, resume: bool },
    /// End the recording.
    Close(Box<Manifest>),
    /// Say this: a system is active outside of any session.
    Outside(String),
}

/// Follows sessions. One take at a time: it lasts from the first START to the STOP of the last system.
#[derive(Debug, Default)]
pub struct Follower {
    manifest: Option<Manifest>,
    /// Since when somebody is waited for.
    since: Option<i64>,
    /// Somebody was in the session.
    joined: bool,
    /// When START or STOP was heard last: acknowledgements came between then and now.
    asked: i64,
    outside: Vec<String>,
    seen: Vec<Seen>,
    outputs: VecDeque<Output>,
}

impl Follower {
    /// Goes on with a take that an earlier recorder left open.
    pub fn resume(mut manifest: Manifest) -> Self {
        manifest.restarts += 1;
        let session = manifest.session.clone();
        // Its systems may not have been found yet.
        let mut this = Self { manifest: Some(manifest), ..Self::default() };
        this.outputs.push_back(Output::Open { session, resume: true });
        this
    }

    /// Takes what happened.
    pub fn handle(&mut self, input: Input, now: Wall) {
        match input {
            Input::Start { session, systems } => self.start(session, systems, now),
            Input::Stop => self.asked = now.0,
            Input::Ack { system, start, stamp } => self.acknowledged(&system, start, stamp, now),
            Input::Systems(seen) => {
                self.seen = seen;
                self.look(now);
            }
            Input::Failure(what) => {
                if let Some(manifest) = &mut self.manifest
                    && manifest.failures.len() < MOST_FAILURES
                {
                    manifest.failures.push((now.0, what));
                }
            }
        }
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Whether there is something to do.
    pub fn has_output(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// The take under way.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Topics that the systems of the take announced.
    pub fn topics(&self) -> impl Iterator<Item = &str> {
        self.manifest.iter().flat_map(|m| m.systems.values()).flat_map(|s| &s.topics).map(String::as_str)
    }

    /// Which of the names that a message may use is this system's.
    fn entry(&mut self, name: &str) -> Option<&mut SystemEntry> {
        let systems = &mut self.manifest.as_mut()?.systems;
        let is_meant =
            |full: &&String| *full == name || full.rsplit('/').next() == Some(name.trim_start_matches('/'));
        let full = systems.keys().find(is_meant)?.clone();
        systems.get_mut(&full)
    }

    /// The system's clock said `stamp` at some instant between the question and now.
    fn acknowledged(&mut self, system: &str, start: bool, stamp: i64, now: Wall) {
        let span = now.0.saturating_sub(self.asked);
        let middle = self.asked.saturating_add(span / 2);
        let known = self.asked > 0 && span < 60_000_000_000;
        let clock =
            known.then(|| ClockOffset { nanoseconds: stamp.saturating_sub(middle), uncertainty: span / 2 });
        let Some(entry) = self.entry(system) else { return };
        let ack = Some((now.0, stamp));
        match start {
            true => (entry.ack_start, entry.clock_at_start) = (ack, clock.or(entry.clock_at_start)),
            false => (entry.ack_stop, entry.clock_at_stop) = (ack, clock.or(entry.clock_at_stop)),
        }
    }

    fn start(&mut self, session: String, systems: Vec<String>, now: Wall) {
        // The list [""] means nobody.
        if !systems.is_empty() && systems.iter().all(String::is_empty) {
            return;
        }
        self.asked = now.0;
        if self.manifest.is_none() {
            self.joined = false;
            self.manifest =
                Some(Manifest { session: session.clone(), started: now.0, ..Manifest::default() });
            self.outputs.push_back(Output::Open { session: session.clone(), resume: false });
        }
        let meant = |seen: &&Seen| {
            let last = seen.name.rsplit('/').next().unwrap_or_default();
            systems.is_empty()
                || systems.iter().any(|name| *name == seen.name || name.trim_start_matches('/') == last)
        };
        for seen in self.seen.clone().iter().filter(meant) {
            self.note(seen, Some(session.clone()), now);
        }
    }

    fn note(&mut self, seen: &Seen, session: Option<String>, now: Wall) {
        let Some(manifest) = &mut self.manifest else { return };
        let is_new = !manifest.systems.contains_key(&seen.name);
        let entry = manifest.systems.entry(seen.name.clone()).or_default();
        if is_new {
            entry.clock_at_start = seen.offset;
        }
        if session.is_some() {
            entry.session = session;
        }
        entry.topics.clone_from(&seen.topics);
        if !seen.state.is_empty() && entry.states.last().is_none_or(|(_, last)| *last != seen.state) {
            entry.states.push((now.0, seen.state.clone()));
        }
        entry.clock_at_start = entry.clock_at_start.or(seen.offset);
        entry.clock_at_stop = seen.offset.or(entry.clock_at_stop);
    }

    fn look(&mut self, now: Wall) {
        for seen in self.seen.clone() {
            let known = self.manifest.as_ref().is_some_and(|m| m.systems.contains_key(&seen.name));
            let in_session = seen.session.is_some();
            self.joined |= in_session || known && seen.active;
            if known || in_session && self.manifest.is_some() {
                self.note(&seen, seen.session.clone(), now);
            }
            let is_outside = seen.active && !in_session;
            if is_outside && !known && !self.outside.contains(&seen.name) {
                self.outside.push(seen.name.clone());
                self.outputs.push_back(Output::Outside(seen.name.clone()));
            }
            if is_outside
                && !known
                && let Some(manifest) = &mut self.manifest
            {
                manifest.systems.entry(seen.name.clone()).or_default().outside_session = true;
            }
            if !seen.active {
                self.outside.retain(|name| *name != seen.name);
            }
        }
        let Some(manifest) = &self.manifest else { return };
        let members =
            |seen: &&Seen| manifest.systems.get(&seen.name).is_some_and(|entry| !entry.outside_session);
        let lives = self.seen.iter().filter(members).any(|seen| seen.session.is_some() || seen.active);
        let given_up = !self.joined && now.0 - *self.since.get_or_insert(now.0) > NOBODY;
        if (self.joined && !lives) || given_up {
            let mut manifest = self.manifest.take().unwrap_or_default();
            manifest.stopped = Some(now.0);
            if given_up {
                manifest.failures.push((now.0, "no system of the session became or was active".to_owned()));
            }
            self.outputs.push_back(Output::Close(Box::new(manifest)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(name: &str, session: Option<&str>, active: bool) -> Seen {
        Seen {
            name: name.into(),
            state: if active { "active" } else { "inactive" }.into(),
            active,
            session: session.map(str::to_owned),
            topics: vec![format!("{name}/data")],
            offset: Some(ClockOffset { nanoseconds: 5, uncertainty: 2 }),
        }
    }

    fn drain(follower: &mut Follower) -> Vec<Output> {
        std::iter::from_fn(|| follower.poll_output()).collect()
    }

    fn start(session: &str, systems: &[&str]) -> Input {
        Input::Start { session: session.into(), systems: systems.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn a_take_lasts_from_the_start_to_the_stop_of_the_last_system() {
        let mut follower = Follower::default();
        let idle = || vec![seen("/a", None, false), seen("/b", None, false)];
        follower.handle(Input::Systems(idle()), Wall(0));
        follower.handle(start("take_1", &[]), Wall(1));
        assert_eq!(drain(&mut follower), [Output::Open { session: "take_1".into(), resume: false }]);
        let both = vec![seen("/a", Some("take_1"), true), seen("/b", Some("take_1"), true)];
        follower.handle(Input::Ack { system: "a".into(), start: true, stamp: 2 }, Wall(3));
        follower.handle(Input::Systems(both), Wall(4));
        assert_eq!(follower.topics().collect::<Vec<_>>(), ["/a/data", "/b/data"]);
        let one = vec![seen("/a", None, false), seen("/b", Some("take_1"), true)];
        follower.handle(Input::Systems(one), Wall(5));
        follower.handle(Input::Failure("b coughs".into()), Wall(6));
        assert_eq!(drain(&mut follower), []);
        follower.handle(Input::Systems(idle()), Wall(7));
        let [Output::Close(manifest)] = &drain(&mut follower)[..] else { panic!("it ends") };
        assert_eq!((manifest.started, manifest.stopped), (1, Some(7)));
        let a = &manifest.systems["/a"];
        assert_eq!((a.ack_start, a.session.as_deref()), (Some((3, 2)), Some("take_1")));
        assert_eq!(
            a.states.iter().map(|s| s.1.as_str()).collect::<Vec<_>>(),
            ["inactive", "active", "inactive"]
        );
        assert_eq!(
            a.clock_at_start,
            Some(ClockOffset { nanoseconds: 0, uncertainty: 1 }),
            "2 between 1 and 3"
        );
        assert_eq!(a.clock_at_stop, Some(ClockOffset { nanoseconds: 5, uncertainty: 2 }));
        assert_eq!(manifest.failures, [(6, "b coughs".to_owned())]);
    }

    #[test]
    fn a_start_for_nobody_opens_nothing_and_one_that_nobody_follows_is_given_up() {
        let mut follower = Follower::default();
        follower.handle(start("x", &[""]), Wall(0));
        assert_eq!(drain(&mut follower), []);
        follower.handle(start("x", &["ghost"]), Wall(0));
        follower.handle(Input::Systems(vec![]), Wall(0));
        follower.handle(Input::Systems(vec![]), Wall(NOBODY + 1));
        assert!(
            matches!(&drain(&mut follower)[..], [Output::Open { .. }, Output::Close(m)] if m.failures.len() == 1)
        );
    }

    #[test]
    fn a_system_activated_otherwise_is_outside_and_keeps_no_take_open() {
        let mut follower = Follower::default();
        follower.handle(Input::Systems(vec![seen("/lone", None, true)]), Wall(0));
        assert_eq!(drain(&mut follower), [Output::Outside("/lone".into())]);
        follower.handle(start("t", &["a"]), Wall(1));
        follower
            .handle(Input::Systems(vec![seen("/lone", None, true), seen("/a", Some("t"), true)]), Wall(2));
        drain(&mut follower);
        follower.handle(Input::Systems(vec![seen("/lone", None, true), seen("/a", None, false)]), Wall(3));
        let [Output::Close(manifest)] = &drain(&mut follower)[..] else { panic!("it ends") };
        assert!(manifest.systems["/lone"].outside_session);
    }

    #[test]
    fn a_restarted_recorder_goes_on_while_its_systems_are_active() {
        let mut first = Follower::default();
        first.handle(start("t", &["a"]), Wall(1));
        first.handle(Input::Systems(vec![seen("/a", Some("t"), true)]), Wall(2));
        let text = serde_json::to_string(first.manifest().unwrap()).unwrap();
        let mut second = Follower::resume(serde_json::from_str(&text).unwrap());
        // Who has just come knows that it is active, and not of which session.
        second.handle(Input::Systems(vec![]), Wall(3));
        second.handle(Input::Systems(vec![seen("/a", None, true)]), Wall(3));
        assert_eq!(drain(&mut second), [Output::Open { session: "t".into(), resume: true }]);
        second.handle(Input::Systems(vec![seen("/a", None, false)]), Wall(4));
        assert!(matches!(&drain(&mut second)[..], [Output::Close(m)] if m.restarts == 1));
    }
}
