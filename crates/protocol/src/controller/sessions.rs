//! Which session a system is in, what is remembered of it when the controller is not running, and how takes are numbered.

use std::collections::BTreeMap;

use rosless_engine::Wall;
use serde::{Deserialize, Serialize};

use super::Participant;
use crate::{message::State, name::SystemId};

/// Sessions remembered at most; more come only from a flood.
const MAX_REMEMBERED: usize = 4096;

/// A system's standing towards sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
}

impl Memory {
    /// The line of `id`, if it is about this process.
    pub fn of(&self, id: &SystemId, process: Option<Participant>) -> Option<&Remembered> {
        self.systems.get(id.as_str()).filter(|line| process.is_some_and(|p| p.to_string() == line.process))
    }

    pub(super) fn note(&mut self, id: &SystemId, line: Option<Remembered>) -> bool {
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

    /// A name that no session before had: `take_001`, `take_002`, …
    pub fn next_take(&mut self) -> String {
        let number = self.takes.entry("take_".into()).or_default();
        *number = number.saturating_add(1);
        format!("take_{number:03}")
    }

    fn count(&mut self, session: &str) {
        let Some(number) = session.strip_prefix("take_").and_then(|digits| digits.parse().ok()) else {
            return;
        };
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
        for (prefix, number) in &after.takes {
            let highest = self.takes.entry(prefix.clone()).or_default();
            *highest = (*highest).max(*number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(session: &str) -> Remembered {
        Remembered { session: session.into(), since: 1, process: Participant([1; 12]).to_string() }
    }

    #[test]
    fn takes_are_numbered_and_never_given_twice() {
        let id = SystemId::resolve("/", "a").unwrap();
        let mut memory = Memory::default();
        assert_eq!((memory.next_take(), memory.next_take()), ("take_001".into(), "take_002".into()));
        memory.note(&id, Some(line("take_041")));
        memory.note(&id, None);
        assert_eq!(memory.next_take(), "take_042");
        let mut other = Memory::default();
        other.apply(&Memory::default(), &memory);
        assert_eq!(other.next_take(), "take_043");
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
