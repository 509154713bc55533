//! Answers to askers that do not listen yet.

use std::{collections::VecDeque, time::Duration};

use crate::{Gid, GidPrefix, monotonic};

/// How long an asker may take until it listens: creating the subscription and discovering it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long everybody else waits for an asker whose subscription is known and not matched yet.
const HELD: Duration = Duration::from_millis(500);
/// Whoever asks and never listens must not fill the memory.
const MAX_ANSWERS: usize = 256;
const MAX_ANSWERS_PER_ASKER: usize = 32;
const MAX_BYTES: usize = 4 << 20;

/// Who has got an answer already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Everybody but the asker, whose subscription is not known.
    Others,
    /// Nobody: the asker's subscription is known, and might hear at once what goes to everybody, or might not.
    Nobody,
}

pub(crate) struct Answer {
    writer: Gid,
    asker: GidPrefix,
    payload: Vec<u8>,
    until: Duration,
    told: Told,
    /// Sends it to this reader, or to everybody.
    send: Box<dyn FnOnce(Option<Gid>, Vec<u8>)>,
}

impl Answer {
    fn is_forgotten(&self, now: Duration) -> bool {
        self.told == Told::Others && self.until <= now
    }

    fn send(self, asker: Gid) {
        let to = (self.told == Told::Others).then_some(asker);
        (self.send)(to, self.payload);
    }

    /// It is too late for the asker, not for others.
    pub(crate) fn give_up(self) {
        if self.told == Told::Nobody {
            (self.send)(None, self.payload);
        }
    }
}

/// What is to be sent once an asker's reader is matched; the oldest goes first when there is too much.
#[derive(Default)]
pub(crate) struct Owed(VecDeque<Answer>);

impl Owed {
    /// Returns those that have to make room, to be given up.
    #[must_use]
    pub(crate) fn add(
        &mut self,
        writer: Gid,
        asker: GidPrefix,
        payload: Vec<u8>,
        told: Told,
        send: impl FnOnce(Option<Gid>, Vec<u8>) + 'static,
    ) -> Vec<Answer> {
        let now = monotonic();
        let until = now + if told == Told::Nobody { HELD } else { PATIENCE };
        self.0.retain(|answer| !answer.is_forgotten(now));
        self.0.push_back(Answer { writer, asker, payload, until, told, send: Box::new(send) });
        let mut evicted = Vec::new();
        while self.0.iter().filter(|answer| answer.asker == asker).count() > MAX_ANSWERS_PER_ASKER {
            let oldest = self.0.iter().position(|answer| answer.asker == asker);
            evicted.extend(oldest.and_then(|oldest| self.0.remove(oldest)));
        }
        while self.0.len() > MAX_ANSWERS
            || self.0.iter().map(|answer| answer.payload.len()).sum::<usize>() > MAX_BYTES
        {
            evicted.extend(self.0.pop_front());
        }
        evicted
    }

    /// What is to be sent now that the writer is matched with the reader, in the order it was said.
    pub(crate) fn due(&mut self, writer: Gid, reader: Gid) -> Vec<impl FnOnce() + use<>> {
        let now = monotonic();
        let (due, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.0)
            .into_iter()
            .filter(|answer| !answer.is_forgotten(now))
            .partition(|answer| answer.writer == writer && answer.asker == reader.prefix());
        self.0 = waiting.into();
        due.into_iter().map(|answer| move || answer.send(reader)).collect()
    }

    /// When the first answer is due that was kept from everybody for too long.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.0.iter().filter(|answer| answer.told == Told::Nobody).map(|answer| answer.until).min()
    }

    /// What was kept from everybody for too long.
    pub(crate) fn overdue(&mut self) -> Vec<Answer> {
        let now = monotonic();
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return Vec::new();
        }
        let (late, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|answer| answer.told == Told::Nobody && answer.until <= now);
        self.0 = waiting.into();
        late
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use super::*;
    use crate::gid::example as gid;

    #[test]
    fn answers_wait_for_the_asker_and_only_for_it() {
        let sent = Rc::new(RefCell::new(Vec::new()));
        let mut owed = Owed::default();
        for (text, told) in [(b"one", Told::Others), (b"two", Told::Nobody)] {
            let sent = sent.clone();
            let evicted = owed.add(gid(1, 3), gid(2, 0).prefix(), text.to_vec(), told, move |to, payload| {
                sent.borrow_mut().push((to, payload));
            });
            assert_eq!(evicted.len(), 0);
        }
        owed.due(gid(1, 3), gid(3, 4)).into_iter().for_each(|send| send());
        owed.due(gid(1, 5), gid(2, 4)).into_iter().for_each(|send| send());
        assert!(sent.borrow().is_empty(), "another participant, another writer");
        owed.due(gid(1, 3), gid(2, 4)).into_iter().for_each(|send| send());
        // What others have heard goes to the asker alone, the rest to everybody.
        assert_eq!(*sent.borrow(), [(Some(gid(2, 4)), b"one".to_vec()), (None, b"two".to_vec())]);
        assert!(owed.0.is_empty());
    }

    #[test]
    fn others_do_not_wait_for_long() {
        let sent = Rc::new(RefCell::new(0));
        let mut owed = Owed::default();
        for told in [Told::Others, Told::Nobody] {
            let sent = sent.clone();
            let _ = owed.add(gid(1, 3), gid(2, 0).prefix(), vec![], told, move |to, _| {
                assert_eq!(to, None);
                *sent.borrow_mut() += 1;
            });
        }
        assert!(owed.deadline().is_some_and(|deadline| deadline > monotonic()));
        owed.0.iter_mut().for_each(|answer| answer.until = Duration::ZERO);
        owed.overdue().into_iter().for_each(Answer::give_up);
        assert_eq!((*sent.borrow(), owed.deadline()), (1, None));
        owed.due(gid(1, 3), gid(2, 4)).into_iter().for_each(|send| send());
        assert_eq!(*sent.borrow(), 1, "too late for the other");
    }

    #[test]
    fn who_never_listens_does_not_fill_the_memory() {
        let sent = Rc::new(RefCell::new(0));
        let mut owed = Owed::default();
        for asker in 0..=255 {
            for _ in 0..100 {
                let sent = sent.clone();
                let count = move |_, _| *sent.borrow_mut() += 1;
                let evicted = owed.add(gid(1, 3), gid(asker, 0).prefix(), vec![0; 1000], Told::Nobody, count);
                evicted.into_iter().for_each(Answer::give_up);
            }
        }
        assert!(owed.0.len() <= MAX_ANSWERS);
        assert_eq!(*sent.borrow() + owed.0.len(), 25_600, "others get all of it");
        let _ = owed.add(gid(1, 3), gid(7, 0).prefix(), vec![0; 2 * MAX_BYTES], Told::Others, |_, _| ());
        assert!(owed.0.is_empty());
    }
}
