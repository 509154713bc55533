//! Which session a system is in, what is remembered of it when the controller is not running, and how takes are numbered.

use std::{collections::BTreeMap, time::Duration};

use rosless_engine::{Now, Wall};
use serde::{Deserialize, Serialize};

use super::{Controller, Event, Output, Participant, System, deadlines::Timer};
use crate::{
    dialect::{Channel, Dialect},
    message::{Command, Control, State},
    name::{Listed, SystemId},
};

/// A number beyond this is not one that counting has come to: whoever says it does not end the counting.
const MAX_TAKE: u64 = 999_999_999;

/// Sessions remembered at most; more come only from a flood.
const MAX_REMEMBERED: usize = 4096;

/// What another controller asked of a system.
#[derive(Clone, Debug)]
pub(super) struct Awaited {
    pub(super) command: Command,
    pub(super) session: String,
    pub(super) source: String,
    /// Its time is up: the next state decides.
    pub(super) overdue: bool,
}

/// A command of ours whose request ended before it was acknowledged.
#[derive(Clone, Debug)]
pub(super) struct GivenUp {
    pub(super) session: String,
    /// Who was asked.
    pub(super) process: Option<Participant>,
    /// When it was given up; it was sent before.
    pub(super) at: Duration,
    /// Asked long enough after that, the system had not begun: an acknowledgement is rather of another controller's command.
    pub(super) refuted: bool,
}

/// A system's standing towards sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what the sentence above each speaks of")]
pub enum Membership {
    /// In none that we know of.
    #[default]
    Idle,
    /// Started in it.
    In(Taking),
    /// It left it for this state, and the STOP that explains it may still be on its way to us.
    Dropped { session: String, state: State },
}

/// One system's part in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taking {
    /// What the session is called.
    pub session: String,
    /// When the system entered it, on our clock.
    pub since: Wall,
    /// Its state was seen to be active.
    pub active: bool,
    /// A STOP was sent to it, by whomever.
    pub told_to_stop: bool,
    /// Known from before this controller began, and its state has not been seen since.
    pub recalled: bool,
}

impl Membership {
    /// The session it is in.
    pub fn session(&self) -> Option<&str> {
        match self {
            Self::In(taking) => Some(&taking.session),
            _ => None,
        }
    }

    /// The session whose loss would have to be told.
    pub(super) fn take(&mut self) -> Option<String> {
        match std::mem::take(self) {
            Self::Idle => None,
            Self::In(taking) => Some(taking.session),
            Self::Dropped { session, .. } => Some(session),
        }
    }
}

/// What a controller knows of sessions beyond its own life. Goes into a file as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// By the full name of the system.
    #[serde(default)]
    pub systems: BTreeMap<String, Remembered>,
    /// The number of the latest take, by what comes before it.
    #[serde(default)]
    pub takes: BTreeMap<String, u64>,
    /// Which numbers were given is not known any more; one that is named says where to go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_lost: bool,
}

/// One system's line of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// What the session is called.
    pub session: String,
    /// When the system entered it, in nanoseconds since 1970.
    pub since: i64,
    /// The process, as the hexadecimal digits of its participant.
    pub process: String,
    /// Where it is asked; nothing in files of before this was kept.
    #[serde(default)]
    pub dialect: String,
    /// The namespace of that topic.
    #[serde(default)]
    pub namespace: String,
}

impl Remembered {
    /// Whether a controller that listens there, or with `None` wherever the dialect is spoken, can miss it.
    fn concerns(&self, dialects: &[Dialect], namespace: Option<&str>) -> bool {
        let spoken = self.dialect.is_empty() || dialects.iter().any(|d| d.to_string() == self.dialect);
        spoken && namespace.is_none_or(|namespace| self.namespace == namespace)
    }
}

impl Memory {
    /// The line of `id`, if it is about this process.
    pub fn of(&self, id: &SystemId, process: Option<Participant>) -> Option<&Remembered> {
        self.systems.get(id.as_str()).filter(|line| process.is_some_and(|p| p.to_string() == line.process))
    }

    pub(crate) fn note(&mut self, id: &SystemId, line: Option<Remembered>) -> bool {
        match line {
            None => self.systems.remove(id.as_str()).is_some(),
            Some(line) if self.systems.get(id.as_str()) == Some(&line) => false,
            Some(_) if self.systems.len() >= MAX_REMEMBERED => false,
            Some(line) => {
                // A take that was named by hand is not given again either.
                self.count(&line.session);
                self.systems.insert(id.as_str().to_owned(), line);
                true
            }
        }
    }

    /// A name that no session before had: `take_001`, `take_002`, …; nothing where that is not known.
    pub fn next_take(&mut self) -> Option<String> {
        let number = self.takes.entry("take_".into()).or_default();
        if self.takes_lost || *number >= MAX_TAKE {
            return None;
        }
        *number += 1;
        Some(format!("take_{number:03}"))
    }

    /// Numbers that were given by another memory are not given again by this one.
    pub(crate) fn count_all(&mut self, other: &Self) {
        for (prefix, number) in &other.takes {
            let highest = self.takes.entry(prefix.clone()).or_default();
            *highest = (*highest).max(*number);
        }
    }

    fn count(&mut self, session: &str) {
        let number = session.strip_prefix("take_").and_then(|digits| digits.parse().ok());
        let Some(number) = number.filter(|number| *number <= MAX_TAKE) else { return };
        let highest = self.takes.entry("take_".into()).or_default();
        *highest = (*highest).max(number);
    }

    /// Does to this memory what was done between `before` and `after`: others may have written to it meanwhile.
    pub fn apply(&mut self, before: &Self, after: &Self) {
        for system in before.systems.keys().filter(|system| !after.systems.contains_key(*system)) {
            self.systems.remove(system);
        }
        for (system, line) in
            after.systems.iter().filter(|(system, line)| before.systems.get(*system) != Some(*line))
        {
            if self.systems.len() < MAX_REMEMBERED {
                self.systems.insert(system.clone(), line.clone());
            }
        }
        self.takes_lost &= before.takes == after.takes;
        self.count_all(after);
    }
}

impl Controller {
    /// Takes up what was known when a controller last looked. The memory is shared with controllers of other dialects and
    /// namespaces, and one that is `confined` to its own, or does not speak a dialect, misses nobody there.
    pub fn recall_all(&mut self, memory: Memory, confined: bool, now: Now) {
        self.memory = memory.clone();
        self.remembered = memory;
        let dialects: Vec<_> = self.channels.iter().map(|channel| channel.dialect).collect();
        let namespace = confined.then_some(&*self.home);
        self.remembered.systems.retain(|_, line| line.concerns(&dialects, namespace));
        if self.settings.poll_period.is_some() {
            self.deadlines.set(Timer::Remembered, now.mono + self.settings.absence);
        }
    }

    /// Compares a system that came with what was remembered of its name.
    pub(super) fn recall(&mut self, id: &SystemId, now: Now) {
        let Some(system) = self.systems.get(id) else { return };
        let Some(line) = self.remembered.systems.remove(id.as_str()) else { return };
        if system.participant.is_none_or(|p| p.to_string() != line.process) {
            self.remember(id);
            return self.event(Event::Left { system: id.clone(), session: Some(line.session) });
        }
        let taking = Taking {
            session: line.session,
            since: Wall(line.since),
            active: true,
            told_to_stop: false,
            recalled: true,
        };
        if let Some(system) = self.systems.get_mut(id) {
            system.membership = Membership::In(taking);
        }
        self.query(id, now);
    }

    /// What was true of one process is not of another by the same name.
    pub(super) fn forget_other_lives(&mut self, id: &SystemId, process: Option<Participant>) {
        if self.lost.get(id).is_some_and(|(lost, _)| Some(*lost) != process) {
            self.lost.remove(id);
        }
        for command in [Command::Start, Command::Stop] {
            let key = (id.clone(), command);
            if self.given_up.get(&key).is_some_and(|g| g.process.is_some() && g.process != process) {
                self.given_up.remove(&key);
            }
        }
    }

    /// A process that was taken for dead is there again, and in its session unless its state says otherwise.
    pub(super) fn found_again(&mut self, id: &SystemId, now: Now) {
        let Some((_, taking)) = self.lost.remove(id) else { return };
        if let Some(system) = self.systems.get_mut(id)
            && system.membership == Membership::Idle
        {
            system.membership = Membership::In(Taking { active: true, recalled: true, ..taking });
            self.remember(id);
            self.query(id, now);
        }
    }

    /// The session a system is in has changed: puts it down.
    pub(super) fn remember(&mut self, id: &SystemId) {
        let line = self.systems.get(id).and_then(|system| match &system.membership {
            Membership::In(taking) => Some(Remembered {
                session: taking.session.clone(),
                since: taking.since.0,
                process: system.participant.map(|p| p.to_string()).unwrap_or_default(),
                dialect: system.channel.dialect.to_string(),
                namespace: system.channel.namespace.clone(),
            }),
            _ => None,
        });
        if self.memory.note(id, line) {
            self.say_memory();
        }
    }

    /// Once is enough until somebody listens: with many systems the memory is long.
    fn say_memory(&mut self) {
        if !std::mem::replace(&mut self.memory_said, true) {
            self.outputs.push_back(Output::Remember);
        }
    }

    /// A system entered this session, or with `None` left its own.
    pub(super) fn enter(&mut self, id: &SystemId, session: Option<String>, now: Now) {
        let Some(system) = self.systems.get_mut(id) else { return };
        system.membership = match session {
            None => Membership::Idle,
            Some(session) => {
                let active = system.state == Some(Ok(State::Active));
                Membership::In(Taking {
                    session,
                    since: now.wall,
                    active,
                    told_to_stop: false,
                    recalled: false,
                })
            }
        };
        self.deadlines.clear(Timer::Dropped(id.clone()));
        self.remember(id);
    }

    /// It did after all what it had been asked for and not been heard to do.
    fn entered_late(&mut self, id: &SystemId, command: Command, given_up: GivenUp, now: Now) {
        let Some(system) = self.systems.get(id) else { return };
        let GivenUp { session, at, .. } = given_up;
        // Whoever was told to stop since then is about to.
        let stop = self.given_up.get(&(id.clone(), Command::Stop));
        let stopping = system.unanswered.iter().any(|(other, sent)| *other == Command::Stop && *sent >= at)
            || stop.is_some_and(|stop| stop.at >= at);
        if command == Command::Start && system.session() != Some(&*session) && !stopping {
            self.enter(id, Some(session), now);
        }
    }

    /// Everybody meant by a message may answer it, also those who were not expected to.
    pub(super) fn note_asked(
        &mut self,
        command: Command,
        channel: &Channel,
        names: &[String],
        now: Now,
        ours: bool,
    ) {
        let listed = Listed::new(names);
        for (id, system) in self.systems.iter_mut().filter(|(_, s)| s.hears(channel)) {
            if names.is_empty() || listed.means(id) {
                system.clock.stamps.asked(command, now.mono, ours);
                told(system, command);
            }
        }
    }

    /// Another controller spoke: what it asked is to be answered to it as it would be to us.
    pub(super) fn await_foreign(&mut self, channel: &Channel, command: Command, message: &Control, now: Now) {
        if self.settings.poll_period.is_none() {
            return;
        }
        let listed = Listed::new(&message.systems);
        let meant = |id: &SystemId| message.systems.is_empty() || listed.means(id);
        for (id, system) in &mut self.systems {
            // Who is there already owes no answer; and who is in a session ignores a START, whatever state it tells.
            let ignores = matches!(&system.membership, Membership::In(taking)
                if command == Command::Start && !taking.told_to_stop);
            let there = ignores || system.state == Some(Ok(command.wanted()));
            let owes = system.announced() && system.hears(channel) && !there;
            if owes && meant(id) {
                system.awaited = Some(Awaited {
                    command,
                    session: message.session.clone(),
                    source: message.source.clone(),
                    overdue: false,
                });
                self.deadlines.set(Timer::Foreign(id.clone()), now.mono + self.settings.foreign);
            }
        }
    }

    /// The time for an answer to another controller is up: the state decides what is said.
    pub(super) fn overdue(&mut self, id: &SystemId, now: Now) {
        if let Some(awaited) = self.systems.get_mut(id).and_then(|s| s.awaited.as_mut()) {
            awaited.overdue = true;
            self.query(id, now);
        }
    }

    /// Another controller opened or closed a session. Acknowledgements may have overtaken the message they answer.
    pub(super) fn adopt(&mut self, foreign: Control, command: Command, now: Now) {
        let listed = Listed::new(&foreign.systems);
        let meant = |id: &SystemId| foreign.systems.is_empty() || listed.means(id);
        let orphan =
            |id: &&SystemId| meant(id) && self.deadlines.is_set(&Timer::Orphan((*id).clone(), command));
        let orphans: Vec<_> = self.systems.keys().filter(orphan).cloned().collect();
        for id in orphans {
            self.deadlines.clear(Timer::Orphan(id.clone(), command));
            self.given_up.remove(&(id.clone(), command));
            if let Some(system) = self.systems.get_mut(&id) {
                system.awaited = None;
            }
            self.enter(&id, (command == Command::Start).then(|| foreign.session.clone()), now);
        }
        self.foreign = Some((foreign, now.mono));
    }

    /// The session that another controller's command opened or closed which this system may have acknowledged, said after
    /// `since`.
    pub(super) fn foreign_session(
        &self,
        id: &SystemId,
        command: Command,
        since: Option<Duration>,
    ) -> Option<String> {
        let (message, at) = self.foreign.as_ref()?;
        let meant = message.systems.is_empty() || message.systems.iter().any(|name| id.is_meant_by(name));
        let theirs = message.kind == command.ask() && meant && since.is_none_or(|since| *at > since);
        theirs.then(|| message.session.clone())
    }

    /// No command was heard that this acknowledgement answers: it is late, or nobody knows whose it is.
    pub(super) fn orphaned(&mut self, id: &SystemId, command: Command, now: Now) {
        let system = id.clone();
        match self.given_up.remove(&(system.clone(), command)) {
            Some(given_up) => {
                self.event(Event::Late { system, command });
                self.entered_late(id, command, given_up, now);
            }
            None => self.event(Event::Unexpected { system, command }),
        }
    }

    /// What the state says of another controller's command that was not acknowledged.
    pub(super) fn answered_foreign(&mut self, id: &SystemId, state: Option<State>, now: Now) {
        let Some(system) = self.systems.get_mut(id) else { return };
        let Some(awaited) = system.awaited.take_if(|a| a.overdue) else { return };
        match state {
            Some(state) if state == awaited.command.wanted() => {
                self.enter(id, (awaited.command == Command::Start).then_some(awaited.session), now);
            }
            // It may take its time.
            Some(state) if state.is_transition() => {
                system.awaited = Some(Awaited { overdue: false, ..awaited });
                self.deadlines.set(Timer::Foreign(id.clone()), now.mono + self.settings.foreign);
            }
            state => {
                let Awaited { command, session, source, .. } = awaited;
                self.event(Event::Unanswered { system: id.clone(), command, source, session, state });
            }
        }
    }

    /// Nothing explained why it left its session.
    pub(super) fn unexplained(&mut self, id: &SystemId) {
        if let Some(system) = self.systems.get_mut(id)
            && let Membership::Dropped { session, state } = std::mem::take(&mut system.membership)
        {
            self.event(Event::Dropped { system: id.clone(), session, state });
        }
    }

    /// Those remembered who did not show up.
    pub(super) fn never_came(&mut self) {
        for (name, line) in std::mem::take(&mut self.remembered.systems) {
            if let Ok(system) = SystemId::resolve("", &name) {
                self.memory.systems.remove(&name);
                self.say_memory();
                self.event(Event::Left { system, session: Some(line.session) });
            }
        }
    }
}

/// A command was sent to the system, whoever sent it.
pub(super) fn told(system: &mut System, command: Command) {
    match &mut system.membership {
        Membership::In(taking) => taking.told_to_stop = command == Command::Stop,
        Membership::Dropped { .. } if command == Command::Stop => system.membership = Membership::Idle,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(session: &str) -> Remembered {
        Remembered {
            session: session.into(),
            since: 1,
            process: Participant([1; 12]).to_string(),
            dialect: "mocap".into(),
            namespace: "/".into(),
        }
    }

    #[test]
    fn takes_are_numbered_and_never_given_twice() {
        let id = SystemId::resolve("/", "a").unwrap();
        let mut memory = Memory::default();
        let mut next = || memory.next_take().unwrap();
        assert_eq!((next(), next()), ("take_001".into(), "take_002".into()));
        memory.note(&id, Some(line("take_041")));
        memory.note(&id, None);
        assert_eq!(memory.next_take().unwrap(), "take_042");
        let mut other = Memory::default();
        other.apply(&Memory::default(), &memory);
        assert_eq!(other.next_take().unwrap(), "take_043");
        memory.note(&id, Some(line("take_18446744073709551615")));
        assert_eq!(memory.next_take().unwrap(), "take_043", "nobody ends the counting with a number");
        memory.takes.insert("take_".into(), u64::MAX);
        assert_eq!(memory.next_take(), None, "the last number is not given again and again");
    }

    #[test]
    fn two_controllers_write_what_they_know_and_keep_what_the_other_knows() {
        let (a, b) = (SystemId::resolve("/", "a").unwrap(), SystemId::resolve("/", "b").unwrap());
        let mut file = Memory::default();
        let (mut ours, mut theirs) = (file.clone(), file.clone());
        ours.note(&a, Some(line("ours")));
        file.apply(&Memory::default(), &ours);
        theirs.note(&b, Some(line("theirs")));
        file.apply(&Memory::default(), &theirs);
        assert_eq!(file.systems.keys().collect::<Vec<_>>(), ["/a", "/b"]);
        let before = ours.clone();
        ours.note(&a, None);
        file.apply(&before, &ours);
        assert_eq!(file.systems.keys().collect::<Vec<_>>(), ["/b"]);
    }

    #[test]
    fn a_line_is_about_one_process() {
        let id = SystemId::resolve("/", "a").unwrap();
        let mut memory = Memory::default();
        assert!(memory.note(&id, Some(line("s"))) && !memory.note(&id, Some(line("s"))));
        assert!(memory.of(&id, Some(Participant([1; 12]))).is_some());
        assert!(memory.of(&id, Some(Participant([2; 12]))).is_none() && memory.of(&id, None).is_none());
    }
}
