//! The controller's side: asks systems to start or stop and keeps the books: who was asked, who answered when, who is
//! missing, late, in the wrong state, failed, duplicated or unknown.
//!
//! The driver feeds inputs, drains [`Controller::poll_output`] until it is empty and comes back with [`Input::Wake`] at
//! [`Controller::next_deadline`]. An acknowledgement alone never counts as success where the lifecycle state can be
//! asked, because the original systems acknowledge failed activations too.
//!
//! Where things are: [`systems`] who is there and in which state, [`sessions`] which session each is in and what of that
//! outlives the controller, [`request`] what is asked of them, `deadlines` all that is waited for, in one table.

mod deadlines;
mod event;
mod report;
pub mod request;
pub mod sessions;
pub mod systems;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    time::Duration,
};

use deadlines::{Deadlines, Timer};
pub use event::{Event, Level};
pub use report::{Failure, Outcome, Proof, Reason, Report, SystemResult};
pub use request::Ask;
use request::Request;
use sessions::{GivenUp, Taking};
pub use sessions::{Membership, Memory};
pub use systems::{Answer, Presence, System};

use rosless_engine::{Engine, Now, Wall};

use crate::{
    dialect::{Channel, Dialect},
    message::{Announcement, Command, Control, Kind, State},
    name::SystemId,
};

/// More systems than any stage has; beyond it the ones that left are forgotten, then newcomers are refused.
const MAX_SYSTEMS: usize = 1024;
const MAX_TOPICS: usize = 1024;
/// Sent stamps remembered to tell our own echo from another controller with our name.
const REMEMBERED_STAMPS: usize = 32;
/// Polls in a row without an answer until a system counts as unresponsive.
const SILENT_POLLS: u32 = 3;
/// A state learnt so recently need not be asked for again before a command that it allows.
const FRESH: Duration = Duration::from_secs(2);

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
    /// How long a lifecycle state may take to come. The driver keeps this time: it answers every question by then.
    pub state_timeout: Duration,
    /// Silence after which a system is asked again.
    pub retry_period: Duration,
    /// How often a system is asked again.
    pub retries: u32,
    /// The end of all patience, from the request on.
    pub deadline: Duration,
    /// Lifecycle states are refreshed this often; `None` asks only when a request needs it, and leaves other controllers'
    /// sessions alone.
    pub poll_period: Option<Duration>,
    /// How long a system may take to answer another controller.
    pub foreign: Duration,
    /// How long systems that failed may take to tell why.
    pub log_patience: Duration,
    /// How long systems remembered from before may take to show up.
    pub absence: Duration,
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
            foreign: Duration::from_secs(5),
            log_patience: Duration::from_millis(300),
            absence: Duration::from_secs(15),
        }
    }
}

/// Whom a request means. "Nobody selected" is an empty `Named`, never to be confused with all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Targets {
    /// Everybody.
    All,
    /// These, by bare or full name.
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

impl fmt::Display for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What is known of the time at which a sample was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what the sentence above each speaks of")]
pub enum Hearing {
    /// In answer to what we sent then.
    Reply { sent: Duration },
    /// Before it came.
    Sample,
    /// Before it came, perhaps long before.
    Latched,
}

/// What happened.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are what the sentence above each speaks of")]
pub enum Input {
    /// Time went by.
    Wake,
    /// This control topic exists.
    Channel(Channel),
    /// An announcement was heard on the environment topic beside `channel`; `sender` is the full name of the publishing node, if known.
    Announced {
        channel: Channel,
        sender: Option<String>,
        participant: Option<Participant>,
        announcement: Announcement,
    },
    /// The node with this full name has lifecycle services and listens to the commands on this channel.
    Listening { node: String, channel: Channel, participant: Option<Participant> },
    /// A control message was heard, possibly our own.
    Control { channel: Channel, sender: Option<String>, participant: Option<Participant>, message: Control },
    /// Whether the control subscription of the node with this full name is matched with our publisher.
    Reachable { node: String, reachable: bool },
    /// The node with this full name left the graph, or just the one of this participant.
    Gone { node: String, participant: Option<Participant> },
    /// The answer to [`Output::QueryState`].
    State { system: SystemId, query: u64, result: Result<State, NoState> },
    /// A watched system said that it went from one state to another, when its machine's clock showed `stamp`: perhaps
    /// long ago, because some keep this for late joiners.
    Transition { system: SystemId, from: State, to: State, stamp: Option<Wall> },
    /// The node with this full name, of this process, wrote something when its machine's clock showed `stamp`.
    Heard { node: String, participant: Option<Participant>, stamp: Wall, how: Hearing },
    /// The answer to [`Output::Arm`], which went out at `sent`: what the system's clock says, if it is armed.
    Armed { request: u64, system: SystemId, sent: Duration, clock: Option<Wall> },
    /// A warning or an error in somebody's log.
    Log { logger: String, error: bool, text: String, stamp: Wall },
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are what the sentence above each speaks of")]
pub enum Output {
    /// Publish on this control topic.
    Publish { channel: Channel, message: Control },
    /// Ask `<system>/get_state` and come back with [`Input::State`] within [`Settings::state_timeout`], whatever happens.
    QueryState { system: SystemId, query: u64 },
    /// Ask `<system>/arm` for a start at this instant and come back with [`Input::Armed`] when it is known whether it is.
    Arm { request: u64, system: SystemId, session: String, at: Wall },
    /// Listen to `<system>/transition_event` from now on, what it keeps for late joiners included, and pass it on as
    /// [`Input::Transition`]: it tells a transition that failed from one that has not begun, which the state alone does
    /// not, and nor does an error in the log, which may be about anything.
    WatchTransitions { system: SystemId },
    /// Listen to `/rosout`, its last seconds included, while a request is under way, and pass it on as [`Input::Log`].
    ReadLogs,
    /// [`Controller::memory`] has changed: keep it.
    Remember,
    /// Tell the user.
    Event(Event),
    /// A request has ended.
    Finished(Report),
}

/// The protocol engine of a controller.
#[derive(Debug)]
pub struct Controller {
    settings: Settings,
    source: String,
    home: String,
    channels: BTreeSet<Channel>,
    systems: BTreeMap<SystemId, System>,
    requests: BTreeMap<u64, Request>,
    deadlines: Deadlines,
    /// Whom the previous requests asked and who has not acknowledged: their acknowledgements are late, not unexpected.
    given_up: BTreeMap<(SystemId, Command), GivenUp>,
    /// What another controller said last and when, for systems that acknowledge to it.
    foreign: Option<(Control, Duration)>,
    /// Who was in a session when its lease ended, should it turn out to live.
    lost: BTreeMap<SystemId, (Participant, Taking)>,
    /// Systems of an earlier life of this controller that have not shown up yet.
    remembered: Memory,
    memory: Memory,
    /// That the memory has changed is among the outputs.
    memory_said: bool,
    /// What one request did concerns another one.
    stirred: bool,
    stamps: VecDeque<Wall>,
    changed_at: Duration,
    counter: u64,
    outputs: VecDeque<Output>,
}

/// Who a controller is to others.
#[derive(Clone, Copy, Debug)]
pub struct Speaker<'a> {
    /// What it speaks, all at once.
    pub dialects: &'a [Dialect],
    /// What it signs its messages with: its node's name.
    pub source: &'a str,
    /// The namespace in which systems not heard of are looked for.
    pub home: &'a str,
}

impl Controller {
    /// A controller of one dialect; see [`Speaker`] for `source` and `home`.
    pub fn new(settings: Settings, source: &str, home: &str, now: Now) -> Self {
        Self::speaking(Speaker { dialects: &[Dialect::default()], source, home }, settings, now)
    }

    /// A controller of several dialects at once.
    pub fn speaking(speaker: Speaker<'_>, settings: Settings, now: Now) -> Self {
        let Speaker { dialects, source, home } = speaker;
        Self {
            settings,
            source: source.to_owned(),
            home: home.to_owned(),
            channels: dialects.iter().map(|dialect| Channel::new(*dialect, home)).collect(),
            systems: BTreeMap::new(),
            requests: BTreeMap::new(),
            deadlines: Deadlines::default(),
            given_up: BTreeMap::new(),
            foreign: None,
            lost: BTreeMap::new(),
            remembered: Memory::default(),
            memory: Memory::default(),
            memory_said: false,
            stirred: false,
            stamps: VecDeque::new(),
            changed_at: now.mono,
            counter: 0,
            outputs: VecDeque::new(),
        }
    }

    /// What a later controller should know.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Everything known, by full name.
    pub fn systems(&self) -> &BTreeMap<SystemId, System> {
        &self.systems
    }

    /// A session that is running as far as we know.
    pub fn session(&self) -> Option<&str> {
        self.systems.values().find_map(System::session)
    }

    /// Whether a request is under way.
    pub fn is_busy(&self) -> bool {
        !self.requests.is_empty()
    }

    /// When the set of known systems or their reachability changed last.
    pub fn changed_at(&self) -> Duration {
        self.changed_at
    }

    /// Asks for the lifecycle state of every present system now.
    pub fn refresh(&mut self, now: Now) {
        let present = self.systems.iter().filter(|(_, s)| s.present());
        let present: Vec<_> = present.map(|(id, _)| id.clone()).collect();
        for id in present {
            self.query(&id, now);
        }
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn control(
        &mut self,
        channel: &Channel,
        sender: Option<&str>,
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
                let message = Control {
                    source: clip(&message.source),
                    session: clip(&message.session),
                    systems: message.systems.iter().take(MAX_SYSTEMS).map(|s| clip(s)).collect(),
                    ..message
                };
                self.event(Event::Foreign {
                    source: message.source.clone(),
                    command,
                    session: message.session.clone(),
                    systems: message.systems.clone(),
                });
                // Before it is noted: it matters whether a STOP was the last that they were told.
                self.await_foreign(channel, command, &message, now);
                self.note_asked(command, channel, &message.systems, now, false);
                return self.adopt(message, command, now);
            }
            Kind::AckStart => Command::Start,
            Kind::AckStop => Command::Stop,
            Kind::Other(value) => {
                return self.event(Event::Malformed(format!("control_type {value} is not defined")));
            }
        };
        let Some(id) = self.identify(channel, sender, &message.source) else { return };
        self.acknowledged(&id, channel, &message, command, now);
        let rival = |s: &System| s.rivals().any(|rival| Some(rival) == participant);
        if self.systems.get(&id).is_some_and(rival) {
            self.twins(&id);
        }
    }

    fn advance(&mut self, now: Now) {
        while let Some(timer) = self.deadlines.pop(now.mono) {
            match timer {
                Timer::Poll(id) => {
                    if self.systems.get(&id).is_some_and(System::present) {
                        self.query(&id, now);
                    }
                }
                Timer::Orphan(id, command) => self.orphaned(&id, command, now),
                Timer::Dropped(id) => self.unexplained(&id),
                Timer::Twins(id) => self.outlived(&id),
                Timer::Foreign(id) => self.overdue(&id, now),
                Timer::Remembered => self.never_came(),
                // Every request is looked at below.
                Timer::Request(_) => {}
                Timer::Silence(number, id) => self.silent(number, &id, now),
            }
        }
        self.advance_requests(now);
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
            Input::Listening { node, channel, participant } => {
                self.listening(&node, &channel, participant, now)
            }
            Input::Control { channel, sender, participant, message } => {
                self.control(&channel, sender.as_deref(), participant, message, now)
            }
            Input::Reachable { node, reachable } => {
                if let Ok(id) = SystemId::resolve("", &node)
                    && let Some(system) = self.systems.get_mut(&id)
                    && system.matched != reachable
                {
                    system.matched = reachable;
                    self.changed_at = now.mono;
                }
            }
            Input::Gone { node, participant } => self.gone(&node, participant, now),
            Input::Armed { request, system, sent, clock } => self.armed(request, &system, sent, clock, now),
            Input::State { system, query, result } => {
                if self.systems.get(&system).is_some_and(|s| s.query == Some(query)) {
                    self.state(&system, result, now);
                }
            }
            Input::Transition { system, from, to, stamp } => self.transition(&system, from, to, stamp, now),
            // No request waits for this.
            Input::Heard { node, participant, stamp, how } => {
                return self.heard(&node, participant, stamp, how, now);
            }
            Input::Log { logger, error, text, stamp } => self.logged(&logger, error, &text, stamp),
        }
        self.advance(now);
    }

    fn wake(&mut self, now: Now) {
        self.handle(Input::Wake, now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front();
        if output == Some(Output::Remember) {
            self.memory_said = false;
        }
        output
    }

    fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.next()
    }
}

/// Foreign text is kept and shown only so far.
fn clip(text: &str) -> String {
    text.chars().take(128).collect()
}
