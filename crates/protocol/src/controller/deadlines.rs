//! All that an engine waits for, in one table: what it is and when it is due.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{message::Command, name::SystemId};

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The next look at a system's state.
    Poll(SystemId),
    /// An acknowledgement whose question may still come.
    Orphan(SystemId, Command),
    /// A system left its session, and the STOP that explains it may still come.
    Dropped(SystemId),
    /// A namesake outlives every lease.
    Twins(SystemId),
    /// Another controller's command is to be answered.
    Foreign(SystemId),
    /// Systems remembered from before are to have shown up.
    Remembered,
    /// The next stage of a request, or its end.
    Request(u64),
    /// The silence of one asked system.
    Silence(u64, SystemId),
}

#[derive(Debug, Default)]
pub(super) struct Deadlines {
    due: BTreeMap<Timer, Duration>,
    order: BTreeSet<(Duration, Timer)>,
}

impl Deadlines {
    /// Sets or moves.
    pub(super) fn set(&mut self, timer: Timer, at: Duration) {
        match self.due.get(&timer) {
            Some(before) if *before == at => return,
            Some(before) => {
                let before = *before;
                self.order.remove(&(before, timer.clone()));
            }
            None => {}
        }
        self.due.insert(timer.clone(), at);
        self.order.insert((at, timer));
    }

    pub(super) fn clear(&mut self, timer: Timer) {
        if let Some(at) = self.due.remove(&timer) {
            self.order.remove(&(at, timer));
        }
    }

    pub(super) fn is_set(&self, timer: &Timer) -> bool {
        self.due.contains_key(timer)
    }

    /// What is due and not yet taken, the earliest first.
    pub(super) fn pop(&mut self, now: Duration) -> Option<Timer> {
        if self.order.first()?.0 > now {
            return None;
        }
        let (_, timer) = self.order.pop_first()?;
        self.due.remove(&timer);
        Some(timer)
    }

    pub(super) fn next(&self) -> Option<Duration> {
        self.order.first().map(|(at, _)| *at)
    }

    /// How many are set; for tests of bounded memory.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        debug_assert_eq!(self.due.len(), self.order.len());
        self.due.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_a_moved_one_once() {
        let mut table = Deadlines::default();
        let at = Duration::from_secs;
        table.set(Timer::Request(1), at(5));
        table.set(Timer::Request(2), at(3));
        table.set(Timer::Request(1), at(1));
        table.set(Timer::Remembered, at(2));
        table.clear(Timer::Remembered);
        assert_eq!((table.next(), table.len()), (Some(at(1)), 2));
        assert_eq!(table.pop(at(0)), None);
        assert_eq!(table.pop(at(9)), Some(Timer::Request(1)));
        assert_eq!(table.pop(at(9)), Some(Timer::Request(2)));
        assert_eq!((table.pop(at(9)), table.next()), (None, None));
    }
}
