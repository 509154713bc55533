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

/// The one that says more.
fn better(a: Option<ClockOffset>, b: Option<ClockOffset>) -> Option<ClockOffset> {
    a.into_iter().chain(b).min_by_key(|clock| clock.uncertainty)
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

impl SystemEntry {
    fn acknowledged(&mut self, start: bool, ack: (i64, i64), clock: Option<ClockOffset>) {
        match start {
            true => (self.ack_start, self.clock_at_start) = (Some(ack), better(clock, self.clock_at_start)),
            false => (self.ack_stop, self.clock_at_stop) = (Some(ack), better(clock, self.clock_at_stop)),
        }
    }

    /// As far as was seen.
    fn was_active(&self) -> bool {
        self.ack_start.is_some() || self.states.iter().any(|(_, state)| state == "active")
    }
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
    /// What earlier recorders of the same take had written down of the topics.
    #[serde(skip)]
    earlier: BTreeMap<String, TopicEntry>,
}

impl Manifest {
    /// The session an acknowledgement speaks of: most do not say.
    fn or_own(&self, told: &str) -> String {
        if told.is_empty() { &self.session } else { told }.to_owned()
    }

    /// Takes what became of the topics.
    pub fn set_topics(&mut self, reports: &[TopicReport]) {
        for report in reports {
            let earlier = self.earlier.get(&report.name).cloned().unwrap_or_default();
            let entry = TopicEntry {
                r#type: report.ty.clone(),
                messages: earlier.messages + report.messages,
                rate: if report.messages > 1 { report.rate() } else { earlier.rate },
                lost: earlier.lost + report.lost,
                dropped: earlier.dropped + report.dropped,
            };
            self.topics.insert(report.name.clone(), entry);
        }
    }
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are what the sentence above each speaks of")]
pub enum Input {
    /// START was heard; the systems it names, or nobody for all.
    Start { session: String, systems: Vec<String> },
    /// STOP was heard.
    Stop,
    /// An acknowledgement came, with the session and the stamp in it.
    Ack { system: String, start: bool, session: String, stamp: i64 },
    /// The systems as they are now.
    Systems(Vec<Seen>),
    /// Something went wrong.
    Failure(String),
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are what the sentence above each speaks of")]
pub enum Output {
    /// Begin to record this session.
    Open { session: String, resume: bool },
    /// End the recording.
    Close(Box<Manifest>),
    /// Say this: a system is active outside of any session.
    Outside(String),
}

/// An acknowledgement that came before its system was seen.
#[derive(Debug)]
struct Early {
    system: String,
    start: bool,
    session: String,
    ack: (i64, i64),
    clock: Option<ClockOffset>,
}

/// An acknowledgement this much older than its START belongs to another.
const RECENT: i64 = 10_000_000_000;
/// A START that is not heard so long after its acknowledgement was lost.
const UNHEARD: i64 = 1_000_000_000;
/// So many systems may be early.
const MOST_EARLY: usize = 1000;

fn is_meant(full: &str, name: &str) -> bool {
    full == name || full.rsplit('/').next() == Some(name.trim_start_matches('/'))
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
    /// Acknowledgements of systems that were not seen yet.
    early: Vec<Early>,
    /// When ACK_START came of a session whose START was not heard, what it is called, and who sent it.
    unannounced: Option<(i64, String, String)>,
    /// It goes on with the take of an earlier recorder, and may not have found all of its systems yet.
    resumed: bool,
    outside: Vec<String>,
    seen: Vec<Seen>,
    outputs: VecDeque<Output>,
}

impl Follower {
    /// Goes on with a take that an earlier recorder left open.
    pub fn resume(mut manifest: Manifest) -> Self {
        manifest.restarts += 1;
        manifest.earlier.clone_from(&manifest.topics);
        let session = manifest.session.clone();
        let joined = manifest.systems.values().any(|system| !system.outside_session && system.was_active());
        let mut this = Self { manifest: Some(manifest), joined, resumed: true, ..Self::default() };
        this.outputs.push_back(Output::Open { session, resume: true });
        this
    }

    /// Takes what happened.
    pub fn handle(&mut self, input: Input, now: Wall) {
        match input {
            Input::Start { session, systems } => self.start(session, systems, now),
            Input::Stop => self.asked = now.0,
            Input::Ack { system, start, session, stamp } => {
                if start && self.manifest.is_none() {
                    // Its controller has just come, and its START is not heard yet, or never will be.
                    self.unannounced.get_or_insert((now.0, session.clone(), system.clone()));
                }
                self.acknowledged(&system, start, session, stamp, now);
            }
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

    /// What an earlier recorder of the same take really left behind: killed, it had taken more than it had written.
    pub fn recount(&mut self, kept: &BTreeMap<String, u64>) {
        let Some(Manifest { earlier, topics, .. }) = &mut self.manifest else { return };
        for (name, entry) in earlier.iter_mut().chain(topics) {
            entry.messages = kept.get(name).copied().unwrap_or(0);
        }
    }

    /// Topics that the systems of the take announced.
    pub fn topics(&self) -> impl Iterator<Item = &str> {
        let systems = self.manifest.iter().flat_map(|manifest| manifest.systems.values());
        systems.filter(|system| !system.outside_session).flat_map(|system| &system.topics).map(String::as_str)
    }

    /// The system's clock said `stamp` at some instant between the question and now.
    fn acknowledged(&mut self, system: &str, start: bool, session: String, stamp: i64, now: Wall) {
        let span = now.0.saturating_sub(self.asked);
        let middle = self.asked.saturating_add(span / 2);
        let known = self.asked > 0 && span < 60_000_000_000 && self.manifest.is_some();
        let clock =
            known.then(|| ClockOffset { nanoseconds: stamp.saturating_sub(middle), uncertainty: span / 2 });
        let ack = (now.0, stamp);
        let session = self.manifest.as_ref().map_or(session.clone(), |manifest| manifest.or_own(&session));
        let mut systems = self.manifest.iter_mut().flat_map(|manifest| &mut manifest.systems);
        match systems.find(|(full, _)| is_meant(full, system)) {
            Some((_, entry)) => {
                entry.acknowledged(start, ack, clock);
                if start && entry.outside_session {
                    // It was seen active before its acknowledgement came.
                    (entry.session, entry.outside_session) = (Some(session), false);
                }
            }
            None if self.early.len() < MOST_EARLY => {
                self.early.push(Early { system: system.to_owned(), start, session, ack, clock });
            }
            None => {}
        }
    }

    fn start(&mut self, session: String, systems: Vec<String>, now: Wall) {
        // The list [""] means nobody.
        if !systems.is_empty() && systems.iter().all(String::is_empty) {
            return;
        }
        self.asked = now.0;
        self.unannounced = None;
        let goes_on = |seen: &Seen| {
            let member = self.manifest.as_ref().and_then(|manifest| manifest.systems.get(&seen.name));
            member.is_some_and(|entry| !entry.outside_session) && (seen.active || seen.session.is_some())
        };
        if self.resumed && !self.seen.iter().any(goes_on) {
            // Nobody is known to be in it any more: this is another session.
            self.close(now);
        }
        if self.manifest.is_none() {
            (self.joined, self.resumed, self.since) = (false, false, None);
            self.early.retain(|early| now.0 - early.ack.0 < RECENT);
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
            self.early.retain(|early| {
                let own = is_meant(&seen.name, &early.system);
                if own {
                    entry.acknowledged(early.start, early.ack, early.clock);
                }
                !own
            });
        }
        if session.is_some() {
            (entry.session, entry.outside_session) = (session, false);
        }
        entry.topics.clone_from(&seen.topics);
        if !seen.state.is_empty() && entry.states.last().is_none_or(|(_, last)| *last != seen.state) {
            entry.states.push((now.0, seen.state.clone()));
        }
        entry.clock_at_start = entry.clock_at_start.or(seen.offset);
        entry.clock_at_stop = seen.offset.or(entry.clock_at_stop);
    }

    fn look(&mut self, now: Wall) {
        for mut seen in self.seen.clone() {
            // Whoever acknowledges a START follows one, also where that START was not heard: the controller of
            // several dialects may not know yet of a recorder that it has met in one of them.
            let own = |early: &&Early| early.start && is_meant(&seen.name, &early.system);
            if seen.active
                && seen.session.is_none()
                && let Some(manifest) = &self.manifest
            {
                seen.session = self.early.iter().find(own).map(|early| manifest.or_own(&early.session));
            }
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
        if let Some((_, session, system)) = self.unannounced.take_if(|(at, ..)| now.0 - *at > UNHEARD)
            && self.manifest.is_none()
        {
            self.start(session, vec![system], now);
            // When it was said is not known.
            self.asked = 0;
        }
        let Some(manifest) = &self.manifest else { return };
        let patient = now.0 - *self.since.get_or_insert(now.0) <= NOBODY;
        let lives = |name: &str| match self.seen.iter().find(|seen| seen.name == name) {
            Some(seen) if seen.session.is_some() || seen.active => true,
            // What an earlier recorder knew holds until something else is known.
            Some(seen) => self.resumed && patient && seen.state.is_empty(),
            None => self.resumed && patient,
        };
        let members = manifest.systems.iter().filter(|(_, entry)| !entry.outside_session);
        let lives = members.map(|(name, _)| name).any(|name| lives(name));
        let given_up = !self.joined && !patient;
        if (self.joined && !lives) || given_up {
            if given_up {
                let what = "no system of the session became or was active".to_owned();
                self.handle(Input::Failure(what), now);
            }
            self.close(now);
        }
    }

    fn close(&mut self, now: Wall) {
        if let Some(mut manifest) = self.manifest.take() {
            manifest.stopped = Some(now.0);
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
        follower.handle(
            Input::Ack { system: "a".into(), start: true, session: String::new(), stamp: 2 },
            Wall(3),
        );
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
        let report = |messages| TopicReport { name: "/a/data".into(), messages, ..TopicReport::default() };
        let mut written = first.manifest().unwrap().clone();
        written.set_topics(&[report(5)]);
        let text = serde_json::to_string(&written).unwrap();
        let mut second = Follower::resume(serde_json::from_str(&text).unwrap());
        // Who has just come knows nobody, then somebody, then that it is active, and not of which session.
        second.handle(Input::Systems(vec![]), Wall(3));
        let nameless = Seen { state: String::new(), ..seen("/a", None, false) };
        second.handle(Input::Systems(vec![nameless]), Wall(3));
        second.handle(Input::Systems(vec![seen("/a", None, true)]), Wall(3));
        assert_eq!(drain(&mut second), [Output::Open { session: "t".into(), resume: true }]);
        second.handle(Input::Systems(vec![seen("/a", None, false)]), Wall(4));
        let [Output::Close(manifest)] = &mut drain(&mut second)[..] else { panic!("it ends") };
        manifest.set_topics(&[report(3)]);
        manifest.set_topics(&[report(4)]);
        assert_eq!((manifest.restarts, manifest.topics["/a/data"].messages), (1, 9));
    }

    #[test]
    fn a_restarted_recorder_closes_the_take_of_a_session_that_ended_meanwhile() {
        let mut first = Follower::default();
        first.handle(start("t", &["a"]), Wall(1));
        first.handle(Input::Systems(vec![seen("/a", Some("t"), true)]), Wall(2));
        for systems in [vec![seen("/a", None, false)], vec![]] {
            let mut second = Follower::resume(first.manifest().unwrap().clone());
            second.handle(Input::Systems(systems.clone()), Wall(3));
            second.handle(Input::Systems(systems), Wall(3 + NOBODY + 1));
            let outputs = drain(&mut second);
            assert!(
                matches!(&outputs[..], [Output::Open { .. }, Output::Close(m)] if m.failures.is_empty()),
                "{outputs:?}"
            );
        }
    }

    #[test]
    fn a_take_left_open_long_ago_is_closed_by_the_next_start() {
        let mut first = Follower::default();
        first.handle(start("t", &["a"]), Wall(1));
        first.handle(Input::Systems(vec![seen("/a", Some("t"), true)]), Wall(2));
        let mut second = Follower::resume(first.manifest().unwrap().clone());
        second.handle(Input::Systems(vec![seen("/a", None, false), seen("/b", None, false)]), Wall(3));
        second.handle(start("t", &["b"]), Wall(4));
        let outputs = drain(&mut second);
        let ends = |output: &Output| matches!(output, Output::Close(m) if m.stopped.is_some());
        assert!(ends(&outputs[1]), "{outputs:?}");
        assert_eq!(outputs[2..], [Output::Open { session: "t".into(), resume: false }]);
    }

    #[test]
    fn acknowledgements_that_come_before_their_start_or_their_system_are_kept() {
        let ack = || Input::Ack { system: "a".into(), start: true, session: String::new(), stamp: 2 };
        let mut follower = Follower::default();
        follower.handle(ack(), Wall(1));
        assert_eq!(drain(&mut follower), [], "it has no name yet");
        follower.handle(start("t", &["a"]), Wall(2));
        assert_eq!(drain(&mut follower), [Output::Open { session: "t".into(), resume: false }]);
        follower.handle(Input::Systems(vec![seen("/a", Some("t"), true)]), Wall(3));
        assert_eq!(drain(&mut follower), [], "one take");
        let entry = &follower.manifest().unwrap().systems["/a"];
        assert_eq!(entry.ack_start, Some((1, 2)));
        assert_eq!(
            entry.clock_at_start.map(|clock| clock.uncertainty),
            Some(2),
            "not from the acknowledgement"
        );
        // A START that never comes costs no more than a second.
        let mut follower = Follower::default();
        follower.handle(ack(), Wall(1));
        follower.handle(Input::Systems(vec![seen("/a", None, true)]), Wall(1));
        follower.handle(Input::Systems(vec![seen("/a", None, true)]), Wall(2 + UNHEARD));
        let opened = Output::Open { session: String::new(), resume: false };
        assert!(drain(&mut follower).contains(&opened));
        assert_eq!(follower.manifest().unwrap().systems["/a"].ack_start, Some((1, 2)));
    }

    #[test]
    fn who_acknowledges_a_start_that_was_not_heard_is_in_the_take_that_is_under_way() {
        let ack = |system: &str| Input::Ack {
            system: system.into(),
            start: true,
            session: String::new(),
            stamp: 2,
        };
        let now = || vec![seen("/a", Some("t"), true), seen("/b", None, true), seen("/lone", None, true)];
        // The acknowledgement comes before the take's START, after it, and after its system was seen active.
        for moment in 0..3 {
            let mut follower = Follower::default();
            follower.handle(Input::Systems(vec![seen("/lone", None, true)]), Wall(0));
            let acknowledge = |follower: &mut Follower, at| {
                if at == moment {
                    follower.handle(ack("b"), Wall(1));
                }
            };
            acknowledge(&mut follower, 0);
            follower.handle(start("t", &["a"]), Wall(1));
            acknowledge(&mut follower, 1);
            follower.handle(Input::Systems(now()), Wall(2));
            acknowledge(&mut follower, 2);
            follower.handle(Input::Systems(now()), Wall(3));
            assert_eq!(follower.topics().collect::<Vec<_>>(), ["/a/data", "/b/data"], "moment {moment}");
            let systems = &follower.manifest().unwrap().systems;
            assert_eq!(systems["/b"].session.as_deref(), Some("t"));
            assert!(systems["/b"].ack_start.is_some() && systems["/lone"].outside_session);
        }
    }
}
