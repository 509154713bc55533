//! The controller's side: asks systems to start or stop and keeps the books: who was asked, who answered when, who is
//! missing, late, in the wrong state, failed, duplicated or unknown.
//!
//! The driver feeds inputs, drains [`Controller::poll_output`] until it is empty and comes back with [`Input::Wake`] at
//! [`Controller::next_deadline`]. An acknowledgement alone never counts as success where the lifecycle state can be
//! asked, because the original systems acknowledge failed activations too.
//!
//! One request goes through three stages, each bounded in time:
//! gathering (are those meant known and matched?) → checking (which state are they in?) → asking (one message to all at
//! once, then per system: acknowledgement → state confirms it; no acknowledgement → state decides whether to ask again).

mod event;
mod report;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

pub use event::{Event, Level};
pub use report::{Failure, Outcome, Proof, Report, SystemResult};

use rosless_engine::{Engine, Now, Wall};

use crate::{
    clock::{ClockEstimate, FORGOTTEN, Learned, Offset},
    message::{Announcement, Command, Control, Kind, State},
    name::{self, NameError, SystemId},
};

/// More systems than any stage has; beyond it the ones that left are forgotten, then newcomers are refused.
const MAX_SYSTEMS: usize = 1024;
const MAX_TOPICS: usize = 1024;
/// Sent stamps remembered to tell our own echo from another controller with our name.
const REMEMBERED_STAMPS: usize = 32;
/// Polls in a row without an answer until a system counts as unresponsive.
const SILENT_POLLS: u32 = 3;

/// By how much an acknowledgement may arrive before the message it answers: they come from different publishers.
const OVERTAKING: Duration = Duration::from_secs(1);

/// Two announcements of one name so close together come from two living processes rather than from one restarted.
const BOTH_ALIVE: Duration = Duration::from_secs(2);
/// No process that died stays in the graph longer: the longest lease in use is 20 s.
const LONGEST_LEASE: Duration = Duration::from_secs(30);
/// Processes of one name that are kept apart.
const MAX_RIVALS: usize = 8;

/// How patient a controller is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long named systems may take to appear and match.
    pub discovery: Duration,
    /// All systems, or all of one bare name, are taken to be known when nobody new appeared for this long.
    pub settle: Duration,
    /// How long a lifecycle state may take to come.
    pub state_timeout: Duration,
    /// Silence after which a system is asked again.
    pub retry_period: Duration,
    /// How often a system is asked again.
    pub retries: u32,
    /// The end of all patience, from the request on.
    pub deadline: Duration,
    /// Lifecycle states are refreshed this often; `None` asks only when a request needs it.
    pub poll_period: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            discovery: Duration::from_secs(2),
            settle: Duration::from_millis(500),
            state_timeout: Duration::from_secs(1),
            retry_period: Duration::from_millis(500),
            retries: 3,
            deadline: Duration::from_secs(10),
            poll_period: None,
        }
    }
}

/// Whom a request means. "Nobody selected" is an empty `Named`, never to be confused with all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    All,
    Named(Vec<String>),
}

/// Why a state could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoState {
    /// The system offers no such service.
    NoService,
    /// The service did not answer in time.
    NoAnswer,
}

/// The process that published something: a DDS participant by its gid prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Participant(pub [u8; 12]);

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// Time went by.
    Wake,
    /// A control topic exists in this namespace.
    Channel(String),
    /// An announcement was heard in namespace `channel`; `sender` is the full name of the publishing node, if known.
    Announced {
        channel: String,
        sender: Option<String>,
        participant: Option<Participant>,
        announcement: Announcement,
    },
    /// A control message was heard, possibly our own.
    Control { channel: String, sender: Option<String>, participant: Option<Participant>, message: Control },
    /// Whether the control subscription of the node with this full name is matched with our publisher.
    Reachable { node: String, reachable: bool },
    /// The node with this full name left the graph, or just the one of this participant.
    Gone { node: String, participant: Option<Participant> },
    /// The answer to [`Output::QueryState`].
    State { system: SystemId, query: u64, result: Result<State, NoState> },
    /// A watched system said that it went from one state to another.
    Transition { system: SystemId, from: State, to: State },
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Publish on the control topic of this namespace.
    Publish { channel: String, message: Control },
    /// Ask `<system>/get_state` and come back with [`Input::State`].
    QueryState { system: SystemId, query: u64 },
    /// Listen to `<system>/transition_event` from now on and pass it on as [`Input::Transition`]: it tells a transition
    /// that failed from one that has not begun, which the state alone does not.
    WatchTransitions { system: SystemId },
    /// Tell the user.
    Event(Event),
    /// A request has ended.
    Finished(Report),
}

/// The latest acknowledgement of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub command: Command,
    pub at: Duration,
    /// Receive time minus stamp in nanoseconds.
    pub elapsed: i64,
}

/// What is known of one system.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// The name it goes by in messages, as it spells it.
    pub source: String,
    /// Namespace of its control topic.
    pub channel: String,
    pub topics: Vec<String>,
    pub ros_version: i8,
    pub announced: bool,
    pub present: bool,
    pub reachable: bool,
    /// Whose announcement this is.
    pub participant: Option<Participant>,
    /// More than one living process goes by this name.
    pub ambiguous: bool,
    /// `Err` when asked in vain, `None` when never asked.
    pub state: Option<Result<State, NoState>>,
    /// The session it is active in, as far as we heard it start.
    pub session: Option<String>,
    pub last_answer: Option<Answer>,
    clock: ClockEstimate,
    query: Option<(u64, Duration)>,
    silent_polls: u32,
    next_poll: Duration,
    /// Commands sent and not yet acknowledged.
    unanswered: Vec<(Command, Duration)>,
    announced_at: Duration,
    /// Other processes that announced this name and have not left the graph, with the time of the next one: they are
    /// namesakes, or they died and their lease has not ended.
    rivals: Vec<(Participant, Duration)>,
    was_active: bool,
    /// The latest command to it, whoever sent it, was a STOP.
    told_to_stop: bool,
    /// It left this session for this state then; the STOP that explains it may still be on its way to us.
    dropped: Option<(String, State, Duration)>,
}

impl System {
    /// Other processes that announced this name and are not known to have left.
    pub fn rivals(&self) -> impl Iterator<Item = Participant> {
        self.rivals.iter().map(|(participant, _)| *participant)
    }

    /// How far its clock is from ours.
    pub fn offset(&self) -> Option<Offset> {
        self.clock.offset()
    }

    /// When a rival has outlived every lease.
    fn twins_at(&self) -> Option<Duration> {
        let (_, since) = self.rivals.first().filter(|_| !self.ambiguous)?;
        Some(*since + LONGEST_LEASE)
    }

    /// Only the oldest message without an answer matters, and none that nobody will answer any more.
    fn note_sent(&mut self, command: Command, now: Duration) {
        self.unanswered.retain(|(_, sent)| now.saturating_sub(*sent) < FORGOTTEN);
        if !self.unanswered.iter().any(|(c, _)| *c == command) {
            self.unanswered.push((command, now));
        }
    }
}

#[derive(Debug)]
enum Stage {
    Gathering,
    Checking,
    Asking,
}

#[derive(Debug, PartialEq)]
enum Phase {
    /// Before the command goes out.
    Before,
    /// For an acknowledgement, until then.
    Waiting(Duration),
    /// For the lifecycle state.
    Asked,
    /// To be asked again in the next message.
    Again,
    Resolved(Outcome),
}

#[derive(Debug)]
struct Asked {
    phase: Phase,
    attempts: u32,
    first_sent: Option<Duration>,
    /// The system answered a state query at least once during this request.
    state_seen: bool,
    /// The transition was seen to begin, so a system that is where it was has failed.
    begun: bool,
    acked: Option<Answer>,
    /// Acknowledgements that the lifecycle state refuted.
    refuted: u32,
    duplicates: u32,
}

impl Asked {
    fn new() -> Self {
        Self {
            phase: Phase::Before,
            attempts: 0,
            first_sent: None,
            state_seen: false,
            begun: false,
            acked: None,
            refuted: 0,
            duplicates: 0,
        }
    }
}

#[derive(Debug)]
struct Request {
    number: u64,
    command: Command,
    session: String,
    targets: Targets,
    begun: Duration,
    stage: Stage,
    asked: BTreeMap<SystemId, Asked>,
    messages: u32,
    first_sent: Option<Duration>,
    last_answer: Option<Duration>,
}

/// The protocol engine of a controller.
#[derive(Debug)]
pub struct Controller {
    settings: Settings,
    source: String,
    home: String,
    channels: BTreeSet<String>,
    systems: BTreeMap<SystemId, System>,
    request: Option<Request>,
    /// Whom the previous requests asked and who has not acknowledged: their acknowledgements are late, not unexpected.
    given_up: BTreeSet<(SystemId, bool)>,
    /// The session another controller opened last, for systems that acknowledge to it.
    foreign: Option<Control>,
    /// Acknowledgements whose question was not heard, yet.
    orphans: Vec<(SystemId, Command, Duration)>,
    stamps: VecDeque<Wall>,
    changed_at: Duration,
    counter: u64,
    outputs: VecDeque<Output>,
}

impl Controller {
    /// A controller that signs as `source`; `home` is the namespace in which systems not heard of are looked for.
    pub fn new(settings: Settings, source: &str, home: &str, now: Now) -> Self {
        Self {
            settings,
            source: source.to_owned(),
            home: home.to_owned(),
            channels: BTreeSet::from([home.to_owned()]),
            systems: BTreeMap::new(),
            request: None,
            given_up: BTreeSet::new(),
            foreign: None,
            orphans: Vec::new(),
            stamps: VecDeque::new(),
            changed_at: now.mono,
            counter: 0,
            outputs: VecDeque::new(),
        }
    }

    /// Everything known, by full name.
    pub fn systems(&self) -> &BTreeMap<SystemId, System> {
        &self.systems
    }

    /// The session that is running as far as we know.
    pub fn session(&self) -> Option<&str> {
        self.systems.values().find_map(|s| s.session.as_deref())
    }

    /// Whether a request is under way.
    pub fn is_busy(&self) -> bool {
        self.request.is_some()
    }

    /// When the set of known systems or their reachability changed last.
    pub fn changed_at(&self) -> Duration {
        self.changed_at
    }

    /// Starts or stops systems. Returns the number its [`Report`] will carry. A request under way is given up.
    ///
    /// # Errors
    /// When one of the names cannot be the name of a system; then nothing is sent. Empty names are left out: lists with
    /// an empty name in them are how some controllers say "nobody".
    pub fn request(
        &mut self,
        command: Command,
        session: &str,
        targets: Targets,
        now: Now,
    ) -> Result<u64, NameError> {
        let targets = match targets {
            Targets::All => Targets::All,
            Targets::Named(names) => {
                let names: Vec<_> = names.into_iter().filter(|n| !n.is_empty()).collect();
                names.iter().try_for_each(|n| name::check(n))?;
                Targets::Named(names)
            }
        };
        if let Some(mut old) = self.request.take() {
            old.give_up(|_, _| Failure::Superseded);
            self.finish(old, now);
        }
        self.counter += 1;
        self.request = Some(Request {
            number: self.counter,
            command,
            session: session.to_owned(),
            targets,
            begun: now.mono,
            stage: Stage::Gathering,
            asked: BTreeMap::new(),
            messages: 0,
            first_sent: None,
            last_answer: None,
        });
        let number = self.counter;
        self.advance(now);
        Ok(number)
    }

    /// Asks for the lifecycle state of every present system now.
    pub fn refresh(&mut self, now: Now) {
        let present: Vec<_> =
            self.systems.iter().filter(|(_, s)| s.present).map(|(id, _)| id.clone()).collect();
        for id in present {
            self.query(&id, now);
        }
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    /// The system behind `source`. A sender of the same name tells the namespace; any other is a bridge.
    fn identify(&mut self, channel: &str, sender: Option<&str>, source: &str) -> Option<SystemId> {
        let by_source = match SystemId::resolve(channel, source) {
            Ok(id) => id,
            Err(error) => {
                self.event(Event::Malformed(format!("bad source: {error}")));
                return None;
            }
        };
        let by_sender = sender.and_then(|s| SystemId::resolve("", s).ok());
        Some(by_sender.filter(|s| s.bare() == by_source.bare()).unwrap_or(by_source))
    }

    /// The record of `id`, made if there is room.
    fn record(&mut self, id: &SystemId, channel: &str, source: &str) -> Option<&mut System> {
        if !self.systems.contains_key(id) {
            if self.systems.len() >= MAX_SYSTEMS {
                self.systems.retain(|_, s| s.present);
            }
            if self.systems.len() >= MAX_SYSTEMS {
                // A name that only an acknowledgement bore may be anybody's invention.
                let shy = self.systems.iter().filter(|(_, s)| !s.announced);
                let oldest = shy.min_by_key(|(_, s)| s.last_answer.map(|a| a.at)).map(|(id, _)| id.clone());
                oldest.and_then(|id| self.systems.remove(&id));
            }
            if self.systems.len() >= MAX_SYSTEMS {
                self.event(Event::Malformed(format!(
                    "[{id}] is one system too many ({MAX_SYSTEMS} are known)"
                )));
                return None;
            }
            let system = System {
                source: source.to_owned(),
                channel: channel.to_owned(),
                present: true,
                ..System::default()
            };
            self.systems.insert(id.clone(), system);
        }
        self.systems.get_mut(id)
    }

    fn announced(
        &mut self,
        channel: String,
        sender: Option<String>,
        participant: Option<Participant>,
        announcement: Announcement,
        now: Now,
    ) {
        let Some(id) = self.identify(&channel, sender.as_deref(), &announcement.source) else { return };
        self.channels.insert(channel.clone());
        let Some(system) = self.record(&id, &channel, &announcement.source) else { return };
        let other = system.participant.zip(participant).filter(|(old, new)| system.present && old != new);
        if let Some((old, new)) = other {
            if system.rivals().any(|rival| rival == new) {
                return self.twins(&id);
            }
            system.rivals.truncate(MAX_RIVALS - 1);
            if system.session.is_none() && now.mono.saturating_sub(system.announced_at) < BOTH_ALIVE {
                system.rivals.push((new, now.mono));
                return self.twins(&id);
            }
            system.rivals.push((old, now.mono));
            self.leave(&id, now);
        }
        let running_session = self.session().map(str::to_owned);
        let Some(system) = self.systems.get_mut(&id) else { return };
        let joined = !system.present || !system.announced;
        if !system.present {
            // Perhaps another machine by the same name.
            system.clock.reset();
            system.next_poll = now.mono;
        }
        system.present = true;
        system.announced = true;
        system.announced_at = now.mono;
        system.participant = participant;
        system.source = announcement.source;
        system.channel = channel;
        system.ros_version = announcement.ros_version;
        let mut topics = announcement.topics;
        topics.truncate(MAX_TOPICS);
        let changed = system.topics != topics;
        system.topics.clone_from(&topics);
        if joined {
            self.changed_at = now.mono;
            self.event(Event::Joined { system: id, topics, running_session });
        } else if changed {
            self.event(Event::Topics { system: id, topics });
        }
    }

    /// Two living processes go by this name.
    fn twins(&mut self, id: &SystemId) {
        if let Some(system) = self.systems.get_mut(id)
            && !std::mem::replace(&mut system.ambiguous, true)
        {
            self.event(Event::Twins { system: id.clone() });
        }
    }

    fn gone(&mut self, node: &str, participant: Option<Participant>, now: Now) {
        let Some((id, system)) = self.systems.iter_mut().find(|(id, s)| id.as_str() == node && s.present)
        else {
            return;
        };
        let id = id.clone();
        if participant.is_some() && participant != system.participant {
            system.rivals.retain(|(rival, _)| Some(*rival) != participant);
            system.ambiguous &= !system.rivals.is_empty();
            return;
        }
        let heir = if system.ambiguous { system.rivals.pop() } else { None };
        self.leave(&id, now);
        let Some(system) = self.systems.get_mut(&id) else { return };
        system.ambiguous &= !system.rivals.is_empty();
        if let Some((namesake, _)) = heir {
            system.present = true;
            system.participant = Some(namesake);
            system.clock.reset();
            system.next_poll = now.mono;
            let topics = system.topics.clone();
            self.event(Event::Joined { system: id, topics, running_session: None });
        } else {
            system.rivals.clear();
        }
    }

    fn leave(&mut self, id: &SystemId, now: Now) {
        let Some(system) = self.systems.get_mut(id) else { return };
        system.present = false;
        system.reachable = false;
        system.state = None;
        system.was_active = false;
        system.query = None;
        system.unanswered.clear();
        let dropped = system.dropped.take().map(|(session, ..)| session);
        let session = system.session.take().or(dropped);
        self.changed_at = now.mono;
        self.event(Event::Left { system: id.clone(), session });
        if let Some(asked) = self.request.as_mut().and_then(|r| r.asked.get_mut(id))
            && !matches!(asked.phase, Phase::Resolved(Outcome::Failed(_)))
        {
            // Also what was confirmed is not true any more.
            asked.phase = Phase::Resolved(Outcome::Failed(Failure::Gone));
        }
    }

    fn control(
        &mut self,
        channel: String,
        sender: Option<String>,
        participant: Option<Participant>,
        message: Control,
        now: Now,
    ) {
        let command = match message.kind {
            Kind::Start | Kind::Stop => {
                if message.source == self.source && self.stamps.contains(&message.stamp) {
                    return;
                }
                let command = if message.kind == Kind::Start { Command::Start } else { Command::Stop };
                self.event(Event::Foreign {
                    source: clip(&message.source),
                    command,
                    session: clip(&message.session),
                    systems: message.systems.iter().take(MAX_SYSTEMS).map(|s| clip(s)).collect(),
                });
                self.note_asked(command, &channel, &message.systems, now, false);
                self.adopt(Control { session: clip(&message.session), ..message });
                return;
            }
            Kind::AckStart => Command::Start,
            Kind::AckStop => Command::Stop,
            Kind::Other(value) => {
                return self.event(Event::Malformed(format!("control_type {value} is not defined")));
            }
        };
        let Some(id) = self.identify(&channel, sender.as_deref(), &message.source) else { return };
        self.acknowledged(&id, &channel, &message, command, now);
        let rival = |s: &System| s.rivals().any(|rival| Some(rival) == participant);
        if self.systems.get(&id).is_some_and(rival) {
            self.twins(&id);
        }
    }

    fn acknowledged(&mut self, id: &SystemId, channel: &str, message: &Control, command: Command, now: Now) {
        let elapsed = now.wall.since(message.stamp);
        let answer = Answer { command, at: now.mono, elapsed };
        let foreign = self.foreign.clone().filter(|f| {
            f.kind == command.ask() && (f.systems.is_empty() || f.systems.iter().any(|s| id.is_meant_by(s)))
        });
        let Some(system) = self.record(id, channel, &message.source) else { return };
        system.last_answer = Some(answer);
        system.told_to_stop = command == Command::Stop;
        system.unanswered.retain(|(c, _)| *c != command);
        let learned = system.clock.answered(command, now, message.stamp);
        // What was known before says nothing about the stamp of this one.
        let offset = learned.and_then(|_| system.offset());
        self.event(Event::Answered { system: id.clone(), command, elapsed, offset });
        if let Some(Learned::Stepped(nanos)) = learned {
            self.event(Event::ClockStepped { system: id.clone(), nanos });
        }

        let late = self.given_up.remove(&(id.clone(), command == Command::Start));
        let request = self.request.as_mut().filter(|r| r.command == command && r.first_sent.is_some());
        let Some(request) = request.filter(|r| r.means(id)) else {
            let system = id.clone();
            match foreign {
                _ if late => self.event(Event::Late { system, command }),
                Some(foreign) => {
                    let session = (command == Command::Start).then_some(foreign.session);
                    if let Some(system) = self.systems.get_mut(id) {
                        system.session = session;
                    }
                }
                // One of a kind per system is enough, so a flood of them does not grow the memory.
                None if self.orphans.iter().any(|(s, c, _)| (s, *c) == (id, command)) => {}
                None => self.orphans.push((system, command, now.mono)),
            }
            return self.query(id, now);
        };
        // A name nobody had announced may turn out to live in another namespace.
        if !request.asked.contains_key(id) {
            let known = &self.systems;
            request.asked.retain(|other, _| known.contains_key(other) || other.bare() != id.bare());
        }
        let first_sent = request.first_sent;
        let asked = request.asked.entry(id.clone()).or_insert_with(Asked::new);
        asked.first_sent = asked.first_sent.or(first_sent);
        if asked.acked.is_some() {
            asked.duplicates += 1;
            return self.event(Event::Duplicate { system: id.clone(), command });
        }
        asked.acked = Some(answer);
        request.last_answer = Some(now.mono);
        if matches!(asked.phase, Phase::Resolved(_)) {
            return self.event(Event::Late { system: id.clone(), command });
        }
        asked.phase = Phase::Asked;
        self.query(id, now);
    }

    /// Another controller opened or closed a session. Acknowledgements may have overtaken the message they answer.
    fn adopt(&mut self, foreign: Control) {
        for (id, command, at) in std::mem::take(&mut self.orphans) {
            let meant = foreign.systems.is_empty() || foreign.systems.iter().any(|s| id.is_meant_by(s));
            if foreign.kind != command.ask() || !meant {
                self.orphans.push((id, command, at));
            } else if let Some(system) = self.systems.get_mut(&id) {
                system.session = (command == Command::Start).then(|| foreign.session.clone());
            }
        }
        self.foreign = Some(foreign);
    }

    /// Asks for a state; an older question is forgotten, because its answer may be older than what made us ask.
    fn query(&mut self, id: &SystemId, now: Now) {
        let Some(system) = self.systems.get_mut(id) else { return };
        self.counter += 1;
        system.query = Some((self.counter, now.mono));
        self.outputs.push_back(Output::QueryState { system: id.clone(), query: self.counter });
    }

    fn state(&mut self, id: &SystemId, result: Result<State, NoState>, now: Now) {
        let Some(system) = self.systems.get_mut(id) else { return };
        system.query = None;
        system.next_poll = now.mono + self.settings.poll_period.unwrap_or_default();
        match result {
            Ok(state) => {
                system.silent_polls = 0;
                let from = system.state.and_then(Result::ok);
                system.state = Some(result);
                if matches!(state, State::Inactive | State::Unconfigured | State::Finalized) {
                    let session = system.session.take().filter(|_| system.was_active && !system.told_to_stop);
                    if let Some(session) = session {
                        system.dropped = Some((session, state, now.mono));
                    }
                    system.was_active = false;
                }
                system.was_active |= state == State::Active;
                if from != Some(state) {
                    self.event(Event::State { system: id.clone(), from, to: state });
                }
            }
            Err(_) => {
                system.silent_polls += 1;
                let silent = system.silent_polls;
                if silent == SILENT_POLLS && matches!(system.state, Some(Ok(_))) {
                    let session = system.session.clone();
                    self.event(Event::Unresponsive { system: id.clone(), session });
                }
                if let Some(system) = self.systems.get_mut(id)
                    && (silent >= SILENT_POLLS || !matches!(system.state, Some(Ok(_))))
                {
                    system.state = Some(result);
                }
            }
        }
        let settings = &self.settings;
        let Some(request) = &mut self.request else { return };
        let command = request.command;
        let Some(asked) = request.asked.get_mut(id) else { return };
        asked.state_seen |= result.is_ok();
        match asked.phase {
            Phase::Before => {
                // An opposite command may still be on its way to the system: then its state may be about to change.
                let recent = |sent: Duration| now.mono.saturating_sub(sent) < settings.deadline;
                // And who knows which of two namesakes answered.
                let in_doubt = self.systems.get(id).is_some_and(|s| {
                    s.unanswered.iter().any(|(other, sent)| *other != command && recent(*sent))
                        || !s.rivals.is_empty()
                });
                asked.phase = if in_doubt { Phase::Again } else { before(command, &request.targets, result) };
            }
            Phase::Asked => {
                let reachable = self.systems.get(id).is_some_and(|s| s.reachable);
                asked.phase = after(asked, command, result, reachable, settings, now);
                if matches!(asked.phase, Phase::Resolved(Outcome::Done(_))) {
                    let session = (command == Command::Start).then(|| request.session.clone());
                    if let Some(system) = self.systems.get_mut(id) {
                        system.session = session;
                    }
                }
            }
            _ => {}
        }
    }

    /// Only a failure is news: success is acknowledged.
    fn transition(&mut self, id: &SystemId, from: State, to: State, now: Now) {
        let Some(request) = &mut self.request else { return };
        let command = request.command;
        if let Some(asked) = request.asked.get_mut(id)
            && matches!(asked.phase, Phase::Waiting(_) | Phase::Asked)
            && asked.attempts > 0
            && (from, to) == (command.under_way(), command.needed())
        {
            asked.begun = true;
            asked.phase = Phase::Asked;
            self.query(id, now);
        }
    }

    /// Everybody who announced is reachable, and there is somebody.
    fn all_reachable(&self) -> bool {
        let mut announced = self.systems.values().filter(|s| s.present && s.announced).peekable();
        announced.peek().is_some() && announced.all(|s| s.reachable)
    }

    fn advance(&mut self, now: Now) {
        let timed_out: Vec<_> = self
            .systems
            .iter()
            .filter(|(_, s)| {
                s.query.is_some_and(|(_, since)| now.mono >= since + self.settings.state_timeout)
            })
            .map(|(id, _)| id.clone())
            .collect();
        for id in timed_out {
            self.state(&id, Err(NoState::NoAnswer), now);
        }
        let (hopeless, waiting) = std::mem::take(&mut self.orphans)
            .into_iter()
            .partition(|(_, _, at)| now.mono >= *at + OVERTAKING);
        self.orphans = waiting;
        let hopeless: Vec<_> = hopeless;
        for (system, command, _) in hopeless {
            self.event(Event::Unexpected { system, command });
        }
        for (id, system) in &mut self.systems {
            if let Some((session, state, at)) = system.dropped.take() {
                if now.mono < at + OVERTAKING {
                    system.dropped = Some((session, state, at));
                } else if !system.told_to_stop {
                    let event = Event::Dropped { system: id.clone(), session, state };
                    self.outputs.push_back(Output::Event(event));
                }
            }
        }
        let twins = |s: &System| s.twins_at().is_some_and(|at| now.mono >= at);
        let twins: Vec<_> = self.systems.iter().filter(|(_, s)| twins(s)).map(|(id, _)| id.clone()).collect();
        for id in twins {
            self.twins(&id);
        }
        if self.settings.poll_period.is_some() {
            let due = |s: &System| s.present && s.query.is_none() && now.mono >= s.next_poll;
            let due: Vec<_> = self.systems.iter().filter(|(_, s)| due(s)).map(|(id, _)| id.clone()).collect();
            for id in due {
                self.query(&id, now);
            }
        }
        let Some(mut request) = self.request.take() else { return };
        if matches!(request.stage, Stage::Gathering) && now.mono >= self.gathered_at(&request) {
            request.stage = Stage::Checking;
            self.check(&mut request, now);
        }
        if matches!(request.stage, Stage::Checking) {
            let checking = |(id, a): (&SystemId, &Asked)| {
                a.phase == Phase::Before && self.systems.get(id).is_some_and(|s| s.query.is_some())
            };
            if !request.asked.iter().any(checking) {
                request.stage = Stage::Asking;
                self.ask(&mut request, now);
            }
        }
        if matches!(request.stage, Stage::Asking) {
            self.chase(&mut request, now);
            let lingering = request.asked.is_empty()
                && request.first_sent.is_some_and(|sent| now.mono < sent + self.settings.retry_period);
            if !lingering && request.asked.values().all(|a| matches!(a.phase, Phase::Resolved(_))) {
                return self.finish(request, now);
            }
        }
        if now.mono >= request.begun + self.settings.deadline {
            let command = request.command;
            request.give_up(|id, asked| at_deadline(self.systems.get(id), asked, command));
            return self.finish(request, now);
        }
        self.request = Some(request);
    }

    /// When gathering ends, if nobody else comes.
    fn gathered_at(&self, request: &Request) -> Duration {
        let patience = request.begun + self.settings.discovery.min(self.settings.deadline);
        // Whoever has been found is to have at least half of the time.
        let settled = self.changed_at + self.settings.settle;
        let settled = settled.min(request.begun + self.settings.deadline / 2);
        let found = match &request.targets {
            Targets::All => self.all_reachable(),
            Targets::Named(names) => names.iter().all(|name| {
                let mut meant =
                    self.systems.iter().filter(|(id, s)| s.present && id.is_meant_by(name)).peekable();
                meant.peek().is_some() && meant.all(|(_, s)| s.reachable)
            }),
        };
        // A bare name may mean more than one, and the others may not have been heard of yet.
        let complete = match &request.targets {
            Targets::All => false,
            Targets::Named(names) => names.iter().all(|name| name.contains('/')),
        };
        match (found, complete) {
            (true, true) => request.begun,
            (true, false) => patience.min(settled),
            (false, _) => patience,
        }
    }

    /// Settles who is asked, and asks for their states.
    fn check(&mut self, request: &mut Request, now: Now) {
        let present = self.systems.iter().filter(|(_, s)| s.present);
        let mut asked: BTreeSet<SystemId> = match &request.targets {
            Targets::All => present.filter(|(_, s)| s.announced).map(|(id, _)| id.clone()).collect(),
            Targets::Named(names) => present
                .filter(|(id, _)| names.iter().any(|n| id.is_meant_by(n)))
                .map(|(id, _)| id.clone())
                .collect(),
        };
        for id in &asked {
            self.query(id, now);
        }
        if let Targets::Named(names) = &request.targets {
            let unknown = names.iter().filter(|n| !asked.iter().any(|id| id.is_meant_by(n)));
            let unknown: Vec<_> = unknown.filter_map(|n| SystemId::resolve(&self.home, n).ok()).collect();
            asked.extend(unknown);
        }
        request.asked = asked.into_iter().map(|id| (id, Asked::new())).collect();
    }

    /// The first message goes to all at once: that is what starts a session synchronously.
    fn ask(&mut self, request: &mut Request, now: Now) {
        let to_all = request.targets == Targets::All;
        for asked in request.asked.values_mut().filter(|a| a.phase == Phase::Before) {
            asked.phase = Phase::Again;
        }
        // A volatile message to somebody who is not matched is lost: such a one is asked when it is matched.
        for (id, asked) in request.asked.iter_mut().filter(|(_, a)| a.phase == Phase::Again && !to_all) {
            if self.systems.get(id).is_some_and(|s| s.present && !s.reachable) {
                asked.phase = Phase::Waiting(now.mono + self.settings.retry_period);
            }
        }
        if to_all {
            request.mark_sent(now, self.settings.retry_period);
            for id in request.asked.iter().filter(|(_, a)| a.attempts > 0).map(|(id, _)| id) {
                if let Some(system) = self.systems.get_mut(id) {
                    system.note_sent(request.command, now.mono);
                }
            }
            for channel in self.channels.clone() {
                self.publish(request, channel, Vec::new(), now);
            }
        } else {
            self.send(request, now);
        }
    }

    /// Sends to everybody marked [`Phase::Again`]: one message per channel with the list of those meant.
    fn send(&mut self, request: &mut Request, now: Now) {
        let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let again: Vec<_> =
            request.asked.iter().filter(|(_, a)| a.phase == Phase::Again).map(|(id, _)| id).collect();
        for id in again {
            let (channel, name) = match self.systems.get(id) {
                Some(system) => (system.channel.clone(), self.wire_name(id, system)),
                None => (self.home.clone(), id.short().to_owned()),
            };
            lists.entry(channel).or_default().push(name);
            if let Some(system) = self.systems.get_mut(id) {
                system.note_sent(request.command, now.mono);
            }
        }
        request.mark_sent(now, self.settings.retry_period);
        for (channel, list) in lists {
            self.publish(request, channel, list, now);
        }
    }

    /// The spelling a system answers to; the full name only where two on one topic share the short one.
    fn wire_name(&self, id: &SystemId, system: &System) -> String {
        let twin = |(other, s): (&SystemId, &System)| {
            other != id && s.present && s.channel == system.channel && other.bare() == id.bare()
        };
        if self.systems.iter().any(twin) { id.as_str().to_owned() } else { system.source.clone() }
    }

    /// Everybody meant by a message may answer it, also those who were not expected to.
    fn note_asked(&mut self, command: Command, channel: &str, names: &[String], now: Now, ours: bool) {
        for (id, system) in self.systems.iter_mut().filter(|(_, s)| s.channel == channel) {
            if names.is_empty() || names.iter().any(|name| id.is_meant_by(name)) {
                system.clock.asked(command, now.mono, ours);
                system.told_to_stop = command == Command::Stop;
            }
        }
    }

    fn publish(&mut self, request: &mut Request, channel: String, systems: Vec<String>, now: Now) {
        request.messages += 1;
        request.first_sent.get_or_insert(now.mono);
        if self.stamps.len() == REMEMBERED_STAMPS {
            self.stamps.pop_front();
        }
        self.stamps.push_back(now.wall);
        self.note_asked(request.command, &channel, &systems, now, true);
        // Library STOPs of the originals carry no session either.
        let session = if request.command == Command::Start { request.session.clone() } else { String::new() };
        let message = Control {
            kind: request.command.ask(),
            stamp: now.wall,
            source: self.source.clone(),
            session,
            systems,
        };
        self.outputs.push_back(Output::Publish { channel, message });
    }

    /// Looks after those who are silent.
    fn chase(&mut self, request: &mut Request, now: Now) {
        let due = |a: &Asked| matches!(a.phase, Phase::Waiting(until) if now.mono >= until);
        let silent: Vec<_> = request.asked.iter().filter(|(_, a)| due(a)).map(|(id, _)| id.clone()).collect();
        for id in silent {
            let Some(asked) = request.asked.get_mut(&id) else { continue };
            if self.systems.get(&id).is_some_and(|s| s.present) {
                asked.phase = Phase::Asked;
                self.outputs.push_back(Output::WatchTransitions { system: id.clone() });
                self.query(&id, now);
            } else if asked.attempts > self.settings.retries {
                asked.phase = Phase::Resolved(Outcome::Failed(Failure::Unknown));
            } else {
                asked.phase = Phase::Again;
            }
        }
        let due = request.asked.iter().filter(|(_, a)| a.phase == Phase::Again);
        let (again, first): (Vec<_>, Vec<_>) = due.partition(|(_, a)| a.attempts > 0);
        let systems: Vec<_> = again.into_iter().map(|(id, _)| id.clone()).collect();
        if !first.is_empty() || !systems.is_empty() {
            self.send(request, now);
        }
        if !systems.is_empty() {
            self.event(Event::Retry { command: request.command, systems });
        }
    }

    fn finish(&mut self, request: Request, now: Now) {
        let command = request.command;
        let mut results = BTreeMap::new();
        for (id, asked) in request.asked {
            let Phase::Resolved(mut outcome) = asked.phase else { continue };
            if outcome.is_success() && self.systems.get(&id).is_some_and(|s| s.ambiguous) {
                outcome = Outcome::Failed(Failure::Ambiguous);
            }
            if asked.attempts > 0 && asked.acked.is_none() {
                self.given_up.insert((id.clone(), command == Command::Start));
            }
            let answered_after = asked.acked.zip(asked.first_sent).map(|(a, sent)| a.at.saturating_sub(sent));
            let result = SystemResult {
                outcome,
                attempts: asked.attempts,
                answered_after,
                elapsed: asked.acked.map(|a| a.elapsed),
                offset: self.systems.get(&id).and_then(System::offset),
                duplicates: asked.duplicates,
            };
            results.insert(id, result);
        }
        // Bounded like the systems themselves, whatever happens for months.
        while self.given_up.len() > 2 * MAX_SYSTEMS {
            self.given_up.pop_first();
        }
        let last_answer_after = request.last_answer.zip(request.first_sent).map(|(a, s)| a.saturating_sub(s));
        self.outputs.push_back(Output::Finished(Report {
            request: request.number,
            command,
            session: request.session,
            results,
            messages: request.messages,
            took: now.mono.saturating_sub(request.begun),
            last_answer_after,
        }));
    }
}

impl Engine for Controller {
    type Input<'a> = Input;
    type Output = Output;

    fn handle(&mut self, input: Input, now: Now) {
        match input {
            Input::Wake => {}
            Input::Channel(channel) => {
                if self.channels.insert(channel) {
                    self.changed_at = now.mono;
                }
            }
            Input::Announced { channel, sender, participant, announcement } => {
                self.announced(channel, sender, participant, announcement, now)
            }
            Input::Control { channel, sender, participant, message } => {
                self.control(channel, sender, participant, message, now)
            }
            Input::Reachable { node, reachable } => {
                if let Some((_, system)) = self.systems.iter_mut().find(|(id, _)| id.as_str() == node)
                    && system.reachable != reachable
                {
                    system.reachable = reachable;
                    self.changed_at = now.mono;
                }
            }
            Input::Gone { node, participant } => self.gone(&node, participant, now),
            Input::State { system, query, result } => {
                let current = self.systems.get(&system).and_then(|s| s.query).map(|(number, _)| number);
                if current == Some(query) {
                    self.state(&system, result, now);
                }
            }
            Input::Transition { system, from, to } => self.transition(&system, from, to, now),
        }
        self.advance(now);
    }

    fn wake(&mut self, now: Now) {
        self.handle(Input::Wake, now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn next_deadline(&self) -> Option<Duration> {
        let queries = self.systems.values().filter_map(|s| Some(s.query?.1 + self.settings.state_timeout));
        let polls = self.systems.values().filter(|s| self.settings.poll_period.is_some() && s.present);
        let polls = polls.filter(|s| s.query.is_none()).map(|s| s.next_poll);
        let request = self.request.iter().flat_map(|request| {
            let stage = match request.stage {
                Stage::Gathering => self.gathered_at(request),
                Stage::Checking | Stage::Asking => request.begun + self.settings.deadline,
            };
            let waits = request.asked.values().filter_map(|a| match a.phase {
                Phase::Waiting(until) => Some(until),
                _ => None,
            });
            let empty = request.first_sent.filter(|_| request.asked.is_empty());
            let linger = empty.map(|sent| sent + self.settings.retry_period);
            waits.chain(linger).chain([stage.min(request.begun + self.settings.deadline)])
        });
        let orphans = self.orphans.iter().map(|(_, _, at)| *at + OVERTAKING);
        let dropped = self.systems.values().filter_map(|s| Some(s.dropped.as_ref()?.2 + OVERTAKING));
        let rivals = self.systems.values().filter_map(System::twins_at);
        queries.chain(polls).chain(request).chain(orphans).chain(dropped).chain(rivals).min()
    }
}

impl Request {
    fn means(&self, id: &SystemId) -> bool {
        match &self.targets {
            Targets::All => true,
            Targets::Named(names) => names.iter().any(|n| id.is_meant_by(n)),
        }
    }

    /// Settles everything that is still open.
    fn give_up(&mut self, why: impl Fn(&SystemId, &Asked) -> Failure) {
        for (id, asked) in &mut self.asked {
            if !matches!(asked.phase, Phase::Resolved(_)) {
                asked.phase = Phase::Resolved(Outcome::Failed(why(id, asked)));
            }
        }
    }

    fn mark_sent(&mut self, now: Now, patience: Duration) {
        for asked in self.asked.values_mut().filter(|a| a.phase == Phase::Again) {
            asked.attempts += 1;
            asked.first_sent.get_or_insert(now.mono);
            asked.phase = Phase::Waiting(now.mono + patience);
        }
    }
}

/// What the state before asking means for a system.
fn before(command: Command, targets: &Targets, result: Result<State, NoState>) -> Phase {
    match result {
        Ok(state) if state == command.wanted() => Phase::Resolved(Outcome::Already(state)),
        Ok(state) if state == command.needed() || state.is_transition() => Phase::Again,
        // What is not even configured needs no stopping when everybody is told to stop.
        Ok(state) if command == Command::Stop && *targets == Targets::All => {
            Phase::Resolved(Outcome::Already(state))
        }
        Ok(state) => Phase::Resolved(Outcome::Failed(Failure::WrongState(state))),
        Err(_) => Phase::Again,
    }
}

/// What the state after asking means for a system.
fn after(
    asked: &mut Asked,
    command: Command,
    result: Result<State, NoState>,
    reachable: bool,
    settings: &Settings,
    now: Now,
) -> Phase {
    // Who cannot hear us has not refused anything.
    let deaf = asked.acked.is_none() && !reachable;
    let again_possible = asked.attempts <= settings.retries;
    let wait = Phase::Waiting(now.mono + settings.retry_period);
    let failed = |failure| Phase::Resolved(Outcome::Failed(failure));
    match result {
        Ok(state) if state == command.wanted() => {
            let proof = if asked.acked.is_some() { Proof::Acknowledged } else { Proof::StateOnly };
            Phase::Resolved(Outcome::Done(proof))
        }
        Ok(state) if state.is_transition() => {
            asked.begun |= state == command.under_way();
            wait
        }
        Ok(state) if state == command.needed() && deaf => wait,
        Ok(state) if state == command.needed() && asked.begun => failed(match asked.acked {
            Some(_) => Failure::FalseAck(state),
            None => Failure::Aborted(state),
        }),
        Ok(state) if state == command.needed() => {
            if asked.acked.take().is_some() {
                // It may have been the late acknowledgement of an earlier request: ours gets its time to come.
                asked.refuted += 1;
                return wait;
            }
            match (again_possible, asked.refuted) {
                (true, _) => Phase::Again,
                // It may take its time before it begins.
                (false, 0) => wait,
                (false, _) => failed(Failure::FalseAck(state)),
            }
        }
        Ok(state) => failed(Failure::WrongState(state)),
        Err(NoState::NoService) if asked.acked.is_some() && !asked.state_seen => {
            Phase::Resolved(Outcome::Done(Proof::AckOnly))
        }
        Err(_) if asked.acked.is_none() && again_possible && !deaf => Phase::Again,
        Err(_) => wait,
    }
}

fn at_deadline(system: Option<&System>, asked: &Asked, command: Command) -> Failure {
    match system {
        None => Failure::Unknown,
        Some(system) if !system.present => Failure::Gone,
        Some(system) => match system.state {
            Some(Ok(state)) if state.is_transition() => Failure::Slow(state),
            _ if !system.reachable => Failure::Unreachable,
            _ if asked.attempts == 0 => Failure::NotAsked,
            Some(Ok(state)) if state == command.needed() => Failure::Refused(state),
            Some(Ok(state)) if state != command.wanted() => Failure::WrongState(state),
            _ => Failure::NoAnswer,
        },
    }
}

/// Foreign text is kept and shown only so far.
fn clip(text: &str) -> String {
    text.chars().take(128).collect()
}
