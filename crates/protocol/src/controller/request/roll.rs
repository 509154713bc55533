//! Who is asked by a request, and how many are how far: every event asks that, so it is counted and not looked for.

use std::collections::{BTreeMap, btree_map};

use super::{Asked, Phase};
use crate::name::SystemId;

/// How far somebody is, as far as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Queued,
    Before,
    Running,
    Again,
    /// Arming, waiting or confirming: something outside has to happen.
    Pending,
    Resolved,
}

const KINDS: usize = 6;

impl Phase {
    fn kind(&self) -> Kind {
        match self {
            Self::Queued => Kind::Queued,
            Self::Before => Kind::Before,
            Self::Running => Kind::Running,
            Self::Again => Kind::Again,
            Self::Arming | Self::Waiting | Self::Confirming => Kind::Pending,
            Self::Resolved(_) => Kind::Resolved,
        }
    }
}

/// All that are asked, by name. Whoever changes one does so through here, so that the counts stay true.
#[derive(Debug, Default)]
pub(in crate::controller) struct Roll {
    asked: BTreeMap<SystemId, Asked>,
    counts: [usize; KINDS],
}

impl Roll {
    pub(super) fn count(&self, kind: Kind) -> usize {
        self.counts[kind as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    pub(super) fn contains_key(&self, id: &SystemId) -> bool {
        self.asked.contains_key(id)
    }

    pub(super) fn get(&self, id: &SystemId) -> Option<&Asked> {
        self.asked.get(id)
    }

    /// Looks at everybody: not for what happens with every event.
    pub(super) fn iter(&self) -> btree_map::Iter<'_, SystemId, Asked> {
        #[cfg(test)]
        walked::note(self.asked.len());
        self.asked.iter()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Asked> {
        self.iter().map(|(_, asked)| asked)
    }

    /// Looks at everybody, and may change them.
    pub(super) fn each(&mut self, mut change: impl FnMut(&SystemId, &mut Asked)) {
        #[cfg(test)]
        walked::note(self.asked.len());
        self.counts = [0; KINDS];
        for (id, asked) in &mut self.asked {
            change(id, asked);
            self.counts[asked.phase.kind() as usize] += 1;
        }
    }

    /// Changes one, if it is among them.
    pub(in crate::controller) fn edit<T>(
        &mut self,
        id: &SystemId,
        change: impl FnOnce(&mut Asked) -> T,
    ) -> Option<T> {
        let asked = self.asked.get_mut(id)?;
        self.counts[asked.phase.kind() as usize] -= 1;
        let result = change(asked);
        self.counts[asked.phase.kind() as usize] += 1;
        Some(result)
    }

    pub(super) fn insert(&mut self, id: SystemId, asked: Asked) {
        self.counts[asked.phase.kind() as usize] += 1;
        if let Some(before) = self.asked.insert(id, asked) {
            self.counts[before.phase.kind() as usize] -= 1;
        }
    }

    pub(super) fn remove(&mut self, id: &SystemId) -> Option<Asked> {
        let asked = self.asked.remove(id)?;
        self.counts[asked.phase.kind() as usize] -= 1;
        Some(asked)
    }
}

impl IntoIterator for Roll {
    type Item = (SystemId, Asked);
    type IntoIter = btree_map::IntoIter<SystemId, Asked>;

    fn into_iter(self) -> Self::IntoIter {
        self.asked.into_iter()
    }
}

/// Records looked at by walks over everybody: what grows with the square of the systems shows here, on any machine.
#[cfg(test)]
pub(in crate::controller) mod walked {
    use std::cell::Cell;

    thread_local!(static WALKED: Cell<usize> = const { Cell::new(0) });

    pub(super) fn note(records: usize) {
        WALKED.set(WALKED.get() + records);
    }

    /// Since the last time this was asked.
    pub(in crate::controller) fn take() -> usize {
        WALKED.take()
    }
}
