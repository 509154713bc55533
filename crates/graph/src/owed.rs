//! Answers to askers that do not listen yet.

use std::{collections::VecDeque, time::Duration};

use crate::{Gid, GidPrefix, monotonic};

/// How long an asker may take until it listens: creating the subscription and discovering it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Whoever asks and never listens must not fill the memory.
const MAX_ANSWERS: usize = 256;
const MAX_ANSWERS_PER_ASKER: usize = 32;
const MAX_BYTES: usize = 4 << 20;

struct Answer {
    writer: Gid,
    asker: GidPrefix,
    payload: Vec<u8>,
    until: Duration,
    /// Sends it to this reader.
    send: Box<dyn FnOnce(Gid, Vec<u8>)>,
}

/// What everybody but its asker has heard, and its asker is to hear once its reader is matched; the oldest goes first
/// when there is too much.
#[derive(Default)]
pub(crate) struct Owed(VecDeque<Answer>);

impl Owed {
    pub(crate) fn add(
        &mut self,
        writer: Gid,
        asker: GidPrefix,
        payload: Vec<u8>,
        send: impl FnOnce(Gid, Vec<u8>) + 'static,
    ) {
        let now = monotonic();
        self.0.retain(|answer| answer.until > now);
        self.0.push_back(Answer { writer, asker, payload, until: now + PATIENCE, send: Box::new(send) });
        if self.0.iter().filter(|answer| answer.asker == asker).count() > MAX_ANSWERS_PER_ASKER
            && let Some(oldest) = self.0.iter().position(|answer| answer.asker == asker)
        {
            self.0.remove(oldest);
        }
        while self.0.len() > MAX_ANSWERS
            || self.0.iter().map(|answer| answer.payload.len()).sum::<usize>() > MAX_BYTES
        {
            self.0.pop_front();
        }
    }

    /// What is to be sent now that the writer is matched with the reader, in the order it was said.
    pub(crate) fn due(&mut self, writer: Gid, reader: Gid) -> Vec<impl FnOnce() + use<>> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let now = monotonic();
        let (due, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.0)
            .into_iter()
            .filter(|answer| answer.until > now)
            .partition(|answer| answer.writer == writer && answer.asker == reader.prefix());
        self.0 = waiting.into();
        due.into_iter().map(|answer| move || (answer.send)(reader, answer.payload)).collect()
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
        for text in [b"one", b"two"] {
            let sent = sent.clone();
            owed.add(gid(1, 3), gid(2, 0).prefix(), text.to_vec(), move |to, payload| {
                sent.borrow_mut().push((to, payload));
            });
        }
        owed.due(gid(1, 3), gid(3, 4)).into_iter().for_each(|send| send());
        owed.due(gid(1, 5), gid(2, 4)).into_iter().for_each(|send| send());
        assert!(sent.borrow().is_empty(), "another participant, another writer");
        for _ in 0..2 {
            owed.due(gid(1, 3), gid(2, 4)).into_iter().for_each(|send| send());
            assert_eq!(*sent.borrow(), [(gid(2, 4), b"one".to_vec()), (gid(2, 4), b"two".to_vec())]);
        }
    }

    #[test]
    fn nobody_is_answered_after_a_long_time() {
        let mut owed = Owed::default();
        owed.add(gid(1, 3), gid(2, 0).prefix(), vec![], |_, _| panic!("too late"));
        owed.0.iter_mut().for_each(|answer| answer.until = Duration::ZERO);
        owed.due(gid(1, 3), gid(2, 4)).into_iter().for_each(|send| send());
        assert!(owed.0.is_empty());
    }

    #[test]
    fn who_never_listens_does_not_fill_the_memory() {
        let mut owed = Owed::default();
        for asker in 0..=255 {
            for _ in 0..100 {
                owed.add(gid(1, 3), gid(asker, 0).prefix(), vec![0; 1000], |_, _| ());
            }
        }
        assert_eq!(owed.0.len(), MAX_ANSWERS);
        assert_eq!(owed.due(gid(1, 3), gid(255, 4)).len(), MAX_ANSWERS_PER_ASKER);
        owed.add(gid(1, 3), gid(7, 0).prefix(), vec![0; 2 * MAX_BYTES], |_, _| ());
        assert!(owed.0.is_empty());
    }
}
