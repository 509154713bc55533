//! Who is there: systems that come, go, answer and say in which state they are.

use std::{collections::VecDeque, time::Duration};

use rosless_engine::{Now, Wall};

use super::{
    BOTH_ALIVE, Controller, Event, Hearing, LONGEST_LEASE, MAX_RIVALS, MAX_SYSTEMS, MAX_TOPICS, NoState,
    OVERTAKING, Output, Participant, SILENT_POLLS, Settings,
    deadlines::Timer,
    sessions::{Awaited, Membership, told},
};
use crate::{
    clock::{Band, Clocks, Learned, Offset, Reading, stamps::FORGOTTEN},
    dialect::{Channel, Dialect},
    message::{Announcement, Command, Control, State},
    name::SystemId,
};

/// Channels beside the first on which one process may announce one system.
const MAX_ALSO: usize = 8;

/// Lines of a system's log that are kept.
const MAX_LOG: usize = 16;

/// The latest acknowledgement of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it acknowledged.
    pub command: Command,
    /// When, on our monotonic clock.
    pub at: Duration,
    /// Receive time minus stamp in nanoseconds; nothing when the stamp is of simulated time.
    pub elapsed: Option<i64>,
    /// What its own clock said.
    pub stamp: Wall,
}

/// How a system is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// It was there and has left.
    #[default]
    Gone,
    /// Only its acknowledgement was heard: the name may be anybody's invention.
    Heard,
    /// Its node listens to commands and has lifecycle services, but nothing was announced: it is not configured yet.
    Listening,
    /// It announced itself.
    Announced,
}

/// Other processes of the same name.
#[derive(Clone, Debug, Default)]
struct Namesakes {
    /// They announced this name and have not left the graph, with the time of the next one: they live, or they died and
    /// their lease has not ended.
    others: Vec<(Participant, Duration)>,
    /// One of them is known to live.
    proven: bool,
}

/// A line of a system's own log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogLine {
    pub(super) error: bool,
    pub(super) text: String,
    pub(super) stamp: Wall,
}

/// What is known of one system.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// The name it goes by in messages, as it spells it.
    pub source: String,
    /// Where it is asked.
    pub channel: Channel,
    /// Where else it listens: a system may speak several dialects.
    pub(super) also: Vec<Channel>,
    /// What it announced to publish.
    pub topics: Vec<String>,
    /// 1 is ROS 1, behind a bridge.
    pub ros_version: i8,
    /// Whose announcement this is.
    pub participant: Option<Participant>,
    /// `Err` when asked in vain, `None` when never asked.
    pub state: Option<Result<State, NoState>>,
    /// The latest acknowledgement.
    pub last_answer: Option<Answer>,
    pub(super) presence: Presence,
    pub(super) matched: bool,
    pub(super) membership: Membership,
    /// When the state was learnt last.
    pub(super) state_at: Duration,
    /// The question under way, and when the latest was asked.
    pub(super) query: Option<u64>,
    asked_at: Duration,
    /// Commands sent and not yet acknowledged.
    pub(super) unanswered: Vec<(Command, Duration)>,
    /// What it complained of lately, oldest first.
    log: VecDeque<LogLine>,
    pub(super) clock: Clocks,
    /// What was said of its clock.
    clock_said: Band,
    silent_polls: u32,
    announced_at: Duration,
    namesakes: Namesakes,
    pub(super) awaited: Option<Awaited>,
}

impl System {
    /// The dialects it speaks.
    pub fn dialects(&self) -> impl Iterator<Item = Dialect> {
        std::iter::once(&self.channel).chain(&self.also).map(|channel| channel.dialect)
    }

    /// Whether it hears what is said there.
    pub(super) fn hears(&self, channel: &Channel) -> bool {
        self.channel == *channel || self.also.contains(channel)
    }

    /// How it is known.
    pub fn presence(&self) -> Presence {
        self.presence
    }

    /// It has not left.
    pub fn present(&self) -> bool {
        self.presence != Presence::Gone
    }

    /// It announced itself and has not left.
    pub fn announced(&self) -> bool {
        self.presence == Presence::Announced
    }

    /// Its control subscription is matched with our publisher.
    pub fn reachable(&self) -> bool {
        self.present() && self.matched
    }

    /// More than one living process goes by this name.
    pub fn ambiguous(&self) -> bool {
        self.namesakes.proven
    }

    /// It was answering, and no longer does.
    pub fn unresponsive(&self) -> bool {
        self.present() && self.silent_polls >= SILENT_POLLS
    }

    /// Its standing towards sessions.
    pub fn membership(&self) -> &Membership {
        &self.membership
    }

    /// The session it is in, as far as we heard it start.
    pub fn session(&self) -> Option<&str> {
        self.membership.session()
    }

    /// Other processes that announced this name and are not known to have left.
    pub fn rivals(&self) -> impl Iterator<Item = Participant> {
        self.namesakes.others.iter().map(|(participant, _)| *participant)
    }

    /// What is known of its clock at this time.
    pub fn clock_at(&self, now: Duration) -> Reading {
        self.clock.reading(now)
    }

    /// It was armed for a start that it will acknowledge, and told its time.
    pub(super) fn note_armed(&mut self, sent: Duration, stamp: Wall, now: Now) {
        if !self.clock.note_stamp(stamp, now.wall) {
            self.clock.stamps.observed(sent, now, stamp);
        }
        self.note_sent(Command::Start, now.mono);
    }

    /// How far its clock is from ours at this time.
    pub fn offset_at(&self, now: Duration) -> Option<Offset> {
        self.clock_at(now).offset
    }

    /// An instant of its clock on ours, and how far that may be wrong. Of an unknown clock nothing better can be assumed
    /// than that it is about right.
    pub(super) fn on_our_clock(&self, stamp: Wall, now: Duration) -> (Wall, i64) {
        let offset = self.offset_at(now);
        let slack = offset.map_or(1_000_000_000, |o| o.uncertainty.saturating_add(1_000_000));
        (Wall(stamp.0.saturating_sub(offset.map_or(0, |o| o.nanos))), slack)
    }

    /// Only the oldest message without an answer matters, and none that nobody will answer any more.
    pub(super) fn note_sent(&mut self, command: Command, now: Duration) {
        self.unanswered.retain(|(_, sent)| now.saturating_sub(*sent) < FORGOTTEN);
        if !self.unanswered.iter().any(|(c, _)| *c == command) {
            self.unanswered.push((command, now));
        }
    }

    /// The opposite command went out not long ago, and what came of it is not known.
    pub(super) fn awaits_opposite(&self, command: Command, now: Now, settings: &Settings) -> bool {
        // A little less than a request may take, so that one that follows at once can still tell.
        let long = settings.deadline.saturating_sub(settings.state_timeout);
        let recent = |sent: Duration| now.mono.saturating_sub(sent) < long;
        let ours = self.unanswered.iter().any(|(other, sent)| *other != command && recent(*sent));
        ours || self.awaited.as_ref().is_some_and(|theirs| theirs.command != command)
    }

    /// What its own log says it stumbled over between `sent` and `failed`, and when on our clock.
    pub(super) fn complaint(&self, sent: Wall, failed: Option<Wall>, now: Now) -> Option<(&LogLine, Wall)> {
        let until = failed.unwrap_or(now.wall);
        let lines = self.log.iter().map(|line| (line, self.on_our_clock(line.stamp, now.mono)));
        let mut between = lines.filter(|(_, (at, slack))| {
            at.0 >= sent.0.saturating_sub(*slack) && at.0 <= until.0.saturating_add(*slack)
        });
        // The first error is the cause, later ones are its consequences.
        let (line, (at, _)) = between.clone().find(|(line, _)| line.error).or_else(|| between.next_back())?;
        Some((line, at))
    }
}

impl Controller {
    /// The system behind `source`. A sender of the same name tells the namespace; any other is a bridge.
    pub(super) fn identify(
        &mut self,
        channel: &Channel,
        sender: Option<&str>,
        source: &str,
    ) -> Option<SystemId> {
        let by_source = match SystemId::resolve(&channel.namespace, source) {
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
    pub(super) fn record(&mut self, id: &SystemId, channel: &Channel, source: &str) -> Option<&mut System> {
        if !self.systems.contains_key(id) {
            if self.systems.len() >= MAX_SYSTEMS {
                self.systems.retain(|_, s| s.present());
            }
            if self.systems.len() >= MAX_SYSTEMS {
                let shy = self.systems.iter().filter(|(_, s)| s.presence == Presence::Heard);
                let oldest = shy.min_by_key(|(_, s)| s.last_answer.map(|a| a.at)).map(|(id, _)| id.clone());
                if let Some(oldest) = oldest {
                    self.systems.remove(&oldest);
                    self.deadlines.clear(Timer::Poll(oldest));
                }
            }
            if self.systems.len() >= MAX_SYSTEMS {
                self.event(Event::Malformed(format!(
                    "[{id}] is one system too many ({MAX_SYSTEMS} are known)"
                )));
                return None;
            }
            let system = System { source: source.to_owned(), channel: channel.clone(), ..System::default() };
            self.systems.insert(id.clone(), system);
        }
        self.systems.get_mut(id)
    }

    /// Polls a system from now on.
    fn follow(&mut self, id: &SystemId, now: Now) {
        if self.settings.poll_period.is_some() {
            self.deadlines.set(Timer::Poll(id.clone()), now.mono);
        }
    }

    pub(super) fn announced(
        &mut self,
        channel: Channel,
        sender: Option<String>,
        participant: Option<Participant>,
        announcement: Announcement,
        now: Now,
    ) {
        let Some(id) = self.identify(&channel, sender.as_deref(), &announcement.source) else { return };
        self.channels.insert(channel.clone());
        let Some(system) = self.record(&id, &channel, &announcement.source) else { return };
        let other = system.participant.zip(participant).filter(|(old, new)| system.present() && old != new);
        if let Some((old, new)) = other {
            if system.rivals().any(|rival| rival == new) {
                return self.twins(&id);
            }
            system.namesakes.others.truncate(MAX_RIVALS - 1);
            if system.session().is_none() && now.mono.saturating_sub(system.announced_at) < BOTH_ALIVE {
                system.namesakes.others.push((new, now.mono));
                return self.twins(&id);
            }
            system.namesakes.others.push((old, now.mono));
            self.deadlines.set(Timer::Twins(id.clone()), now.mono + LONGEST_LEASE);
            self.leave(&id, now);
        }
        self.forget_other_lives(&id, participant);
        // Who is remembered to be in it does not miss it.
        let remembered = self.remembered.systems.contains_key(id.as_str()) || self.lost.contains_key(&id);
        let running_session = self.session().filter(|_| !remembered).map(str::to_owned);
        let Some(system) = self.systems.get_mut(&id) else { return };
        let joined = !system.announced();
        let came = !system.present();
        if came {
            // Perhaps another machine by the same name.
            (system.clock, system.clock_said) = Default::default();
        }
        system.presence = Presence::Announced;
        system.announced_at = now.mono;
        system.participant = participant;
        system.source = announcement.source;
        if !came && !joined && system.channel != channel {
            // One process, several dialects: the first one heard stays the one it is asked in.
            if !system.also.contains(&channel) && system.also.len() < MAX_ALSO {
                system.also.push(channel);
            }
        } else if system.channel != channel {
            system.channel = channel;
            system.also.clear();
        }
        system.ros_version = announcement.ros_version;
        let mut topics = announcement.topics;
        topics.truncate(MAX_TOPICS);
        let changed = system.topics != topics;
        system.topics.clone_from(&topics);
        if joined {
            self.changed_at = now.mono;
            self.event(Event::Joined { system: id.clone(), topics, running_session });
            self.recall(&id, now);
            self.found_again(&id, now);
            self.follow(&id, now);
        } else if changed {
            self.event(Event::Topics { system: id, topics });
        }
    }

    /// A node with lifecycle services listens to commands and has announced nothing.
    pub(super) fn listening(
        &mut self,
        node: &str,
        channel: &Channel,
        participant: Option<Participant>,
        now: Now,
    ) {
        let Ok(id) = SystemId::resolve("", node) else { return };
        let bare = id.bare().to_owned();
        let Some(system) = self.record(&id, channel, &bare) else { return };
        if system.presence >= Presence::Listening {
            return;
        }
        if !system.present() {
            (system.clock, system.clock_said) = Default::default();
        }
        system.presence = Presence::Listening;
        system.participant = participant;
        self.changed_at = now.mono;
        self.event(Event::Listening { system: id.clone() });
        self.recall(&id, now);
        self.follow(&id, now);
    }

    /// Two living processes go by this name.
    pub(super) fn twins(&mut self, id: &SystemId) {
        if let Some(system) = self.systems.get_mut(id)
            && !std::mem::replace(&mut system.namesakes.proven, true)
        {
            self.deadlines.clear(Timer::Twins(id.clone()));
            self.event(Event::Twins { system: id.clone() });
        }
    }

    /// An older process of this name outlived every lease, or its lease ended meanwhile.
    pub(super) fn outlived(&mut self, id: &SystemId) {
        if self.systems.get(id).is_some_and(|s| !s.namesakes.others.is_empty()) {
            self.twins(id);
        }
    }

    pub(super) fn gone(&mut self, node: &str, participant: Option<Participant>, now: Now) {
        let Ok(id) = SystemId::resolve("", node) else { return };
        let Some(system) = self.systems.get_mut(&id).filter(|s| s.present()) else { return };
        if participant.is_some() && participant != system.participant {
            let namesakes = &mut system.namesakes;
            namesakes.others.retain(|(rival, _)| Some(*rival) != participant);
            namesakes.proven &= !namesakes.others.is_empty();
            return;
        }
        let heir = if system.namesakes.proven { system.namesakes.others.pop() } else { None };
        self.leave(&id, now);
        let Some(system) = self.systems.get_mut(&id) else { return };
        system.namesakes.proven &= !system.namesakes.others.is_empty();
        if let Some((namesake, _)) = heir {
            system.presence = Presence::Announced;
            system.participant = Some(namesake);
            (system.clock, system.clock_said) = Default::default();
            let topics = system.topics.clone();
            self.event(Event::Joined { system: id.clone(), topics, running_session: None });
            self.follow(&id, now);
        } else {
            system.namesakes.others.clear();
        }
    }

    /// Nothing that was true of a system outlives it.
    fn leave(&mut self, id: &SystemId, now: Now) {
        let Some(system) = self.systems.get_mut(id) else { return };
        if let Membership::In(taking) = &system.membership
            && let Some(process) = system.participant
        {
            self.lost.insert(id.clone(), (process, taking.clone()));
        }
        let session = system.membership.take();
        let namesakes = std::mem::take(&mut system.namesakes);
        *system = System {
            source: std::mem::take(&mut system.source),
            channel: std::mem::take(&mut system.channel),
            also: std::mem::take(&mut system.also),
            topics: std::mem::take(&mut system.topics),
            ros_version: system.ros_version,
            participant: system.participant,
            announced_at: system.announced_at,
            namesakes,
            ..System::default()
        };
        self.changed_at = now.mono;
        for timer in [Timer::Poll(id.clone()), Timer::Dropped(id.clone()), Timer::Foreign(id.clone())] {
            self.deadlines.clear(timer);
        }
        for command in [Command::Start, Command::Stop] {
            self.deadlines.clear(Timer::Orphan(id.clone(), command));
        }
        self.remember(id);
        self.event(Event::Left { system: id.clone(), session });
        self.left_requests(id);
    }

    pub(super) fn acknowledged(
        &mut self,
        id: &SystemId,
        channel: &Channel,
        message: &Control,
        command: Command,
        now: Now,
    ) {
        let Some(system) = self.record(id, channel, &message.source) else { return };
        let heard_first = !system.present();
        if heard_first {
            system.presence = Presence::Heard;
        }
        let elapsed =
            (!system.clock.note_stamp(message.stamp, now.wall)).then(|| now.wall.since(message.stamp));
        let answer = Answer { command, at: now.mono, elapsed, stamp: message.stamp };
        system.last_answer = Some(answer);
        system.unanswered.retain(|(c, _)| *c != command);
        if command == Command::Stop {
            told(system, command);
        }
        if system.awaited.as_ref().is_some_and(|a| a.command == command) {
            system.awaited = None;
        }
        let learned = elapsed.and_then(|_| system.clock.stamps.answered(command, now, message.stamp));
        // Of an answer to somebody else only the machine's clock tells; a stamp from beyond it is not of that clock.
        let possible = |o: &Offset| o.nanos.saturating_add(o.uncertainty) >= message.stamp.since(now.wall);
        let offset = match learned {
            Some(_) => system.offset_at(now.mono),
            None => system.clock.machine.fresh_offset(now.mono).filter(possible),
        };
        if let Some(band) = offset.and_then(Offset::certain_band) {
            system.clock_said = band;
        }
        self.event(match elapsed {
            Some(elapsed) => Event::Answered { system: id.clone(), command, elapsed, offset },
            None => Event::Simulated { system: id.clone(), command },
        });
        if let Some(Learned::Stepped(nanos)) = learned {
            self.event(Event::ClockStepped { system: id.clone(), nanos });
        }
        if heard_first {
            self.follow(id, now);
        }
        let key = (id.clone(), command);
        if self.acknowledged_to_us(id, command, answer, now) {
            self.given_up.remove(&key);
            return;
        }
        let late = self.given_up.get(&key);
        let foreign = self.foreign_session(id, command, late.map(|given_up| given_up.at));
        let entered = |session: String| (command == Command::Start).then_some(session);
        match (late.map(|given_up| given_up.refuted), foreign) {
            (Some(false), _) => self.orphaned(id, command, now),
            (_, Some(session)) => {
                self.given_up.remove(&key);
                self.enter(id, entered(session), now);
            }
            // One of a kind per system is enough, so a flood of them does not grow the memory.
            (_, None) => {
                let timer = Timer::Orphan(id.clone(), command);
                if !self.deadlines.is_set(&timer) {
                    self.deadlines.set(timer, now.mono + OVERTAKING);
                }
            }
        }
        self.query(id, now);
    }

    /// A sample tells what its machine's clock showed.
    pub(super) fn heard(
        &mut self,
        node: &str,
        participant: Option<Participant>,
        stamp: Wall,
        how: Hearing,
        now: Now,
    ) {
        let Ok(id) = SystemId::resolve("", node) else { return };
        let Some(system) = self.systems.get_mut(&id) else { return };
        // A namesake has a clock of its own, and a bridge's clock is not that of a system behind it.
        if !system.present() || system.participant != participant || system.ambiguous() {
            return;
        }
        let learned = match how {
            Hearing::Reply { sent } => system.clock.heard(Some(sent), now, stamp),
            Hearing::Sample => system.clock.heard(None, now, stamp),
            Hearing::Latched => {
                system.clock.machine.latched(now, stamp);
                Learned::Agrees
            }
        };
        // Only what is certain is said, and only when it was not before.
        let offset = system.offset_at(now.mono);
        let band = offset.and_then(Offset::certain_band).unwrap_or(system.clock_said);
        let said = std::mem::replace(&mut system.clock_said, band);
        if let Learned::Stepped(nanos) = learned {
            self.event(Event::ClockStepped { system: id.clone(), nanos });
        }
        if let Some(offset) = offset.filter(|_| band != said) {
            self.event(Event::Clock { system: id, offset });
        }
    }

    /// Asks for a state; an older question is forgotten, because its answer may be older than what made us ask.
    pub(super) fn query(&mut self, id: &SystemId, now: Now) {
        let Some(system) = self.systems.get_mut(id) else { return };
        self.counter += 1;
        (system.query, system.asked_at) = (Some(self.counter), now.mono);
        if let Some(period) = self.settings.poll_period.filter(|_| system.present()) {
            self.deadlines.set(Timer::Poll(id.clone()), now.mono + self.settings.state_timeout + period);
        }
        self.outputs.push_back(Output::QueryState { system: id.clone(), query: self.counter });
    }

    pub(super) fn state(&mut self, id: &SystemId, result: Result<State, NoState>, now: Now) {
        let Some(system) = self.systems.get_mut(id) else { return };
        system.query = None;
        if let Some(period) = self.settings.poll_period.filter(|_| system.present()) {
            self.deadlines.set(Timer::Poll(id.clone()), now.mono + period);
        }
        match result {
            Ok(state) => self.learnt(id, state, now),
            Err(_) => {
                system.silent_polls = system.silent_polls.saturating_add(1);
                let (silent, known) = (system.silent_polls, matches!(system.state, Some(Ok(_))));
                if silent >= SILENT_POLLS || !known {
                    system.state = Some(result);
                }
                if silent == SILENT_POLLS && known {
                    let session = system.session().map(str::to_owned);
                    self.event(Event::Unresponsive { system: id.clone(), session });
                }
                self.answered_foreign(id, None, now);
            }
        }
        self.state_for_requests(id, result, now);
    }

    fn learnt(&mut self, id: &SystemId, state: State, now: Now) {
        let Some(system) = self.systems.get_mut(id) else { return };
        system.silent_polls = 0;
        system.state_at = now.mono;
        let asked_at = system.asked_at;
        for command in [Command::Start, Command::Stop] {
            if state == command.needed()
                && let Some(given_up) = self.given_up.get_mut(&(id.clone(), command))
            {
                given_up.refuted |= asked_at >= given_up.at + OVERTAKING;
            }
        }
        let from = system.state.replace(Ok(state)).and_then(Result::ok);
        if matches!(state, State::Inactive | State::Unconfigured | State::Finalized)
            && let Membership::In(taking) = &system.membership
        {
            let unasked = taking.active && !taking.told_to_stop;
            let (session, recalled) = (taking.session.clone(), taking.recalled);
            if unasked && recalled {
                // Who ended it, and when, nobody watched.
                system.membership = Membership::Idle;
                self.event(Event::Ended { system: id.clone(), session });
            } else if unasked {
                system.membership = Membership::Dropped { session, state };
                self.deadlines.set(Timer::Dropped(id.clone()), now.mono + OVERTAKING);
            } else {
                system.membership = Membership::Idle;
            }
            self.remember(id);
        } else if let Membership::In(taking) = &mut system.membership {
            taking.active |= state == State::Active;
            taking.recalled = false;
        }
        if from != Some(state) {
            self.event(Event::State { system: id.clone(), from, to: state });
        }
        self.answered_foreign(id, Some(state), now);
    }

    /// A line of a system's own log. Loggers are named after their nodes, with dots.
    pub(super) fn logged(&mut self, logger: &str, error: bool, text: &str, stamp: Wall) {
        let Ok(id) = SystemId::resolve("", &logger.replace('.', "/")) else { return };
        let Some(system) = self.systems.get_mut(&id) else { return };
        if system.log.len() == MAX_LOG {
            system.log.pop_front();
        }
        system.log.push_back(LogLine { error, text: super::clip(text), stamp });
    }
}
