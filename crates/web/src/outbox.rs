//! What waits for one client.

use std::collections::VecDeque;

use bytes::Bytes;

/// One message for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// The oldest of these are dropped when the client is slow.
    Data(Bytes),
    /// The same as text.
    DataText(String),
    /// Never dropped.
    Answer(Bytes),
    /// The same as text.
    AnswerText(String),
}

impl Outgoing {
    fn len(&self) -> usize {
        match self {
            Self::Data(bytes) | Self::Answer(bytes) => bytes.len(),
            Self::DataText(text) | Self::AnswerText(text) => text.len(),
        }
    }

    fn is_data(&self) -> bool {
        matches!(self, Self::Data(_) | Self::DataText(_))
    }
}

/// A queue in order, in which data makes room for newer data.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<Outgoing>,
    data: usize,
    answers: usize,
    pub(crate) dropped: u64,
}

impl Outbox {
    /// `false`: answers are not taken, and this is one too many.
    pub(crate) fn push(&mut self, message: Outgoing, data_limit: usize, answer_limit: usize) -> bool {
        let length = message.len();
        if !message.is_data() {
            self.answers += length;
            self.queue.push_back(message);
            return self.answers <= answer_limit;
        }
        self.data += length;
        self.queue.push_back(message);
        while self.data > data_limit {
            let Some(oldest) = self.queue.iter().position(Outgoing::is_data) else { break };
            if let Some(message) = self.queue.remove(oldest) {
                self.data -= message.len();
                self.dropped += 1;
            }
        }
        true
    }

    pub(crate) fn pop(&mut self) -> Option<Outgoing> {
        let message = self.queue.pop_front()?;
        let side = if message.is_data() { &mut self.data } else { &mut self.answers };
        *side -= message.len();
        Some(message)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_data_goes_and_answers_stay_in_their_place() {
        let mut outbox = Outbox::default();
        let data = |n: u8| Outgoing::Data(Bytes::from(vec![n; 10]));
        let answer = |n: u8| Outgoing::Answer(Bytes::from(vec![n; 10]));
        for message in [data(1), answer(2), data(3), data(4), data(5)] {
            assert!(outbox.push(message, 25, 25));
        }
        assert_eq!(outbox.dropped, 2);
        assert_eq!([(); 3].map(|()| outbox.pop().unwrap()), [answer(2), data(4), data(5)]);
        assert!(outbox.is_empty() && outbox.data == 0 && outbox.answers == 0);
        assert!(outbox.push(answer(1), 25, 25) && outbox.push(answer(2), 25, 25));
        assert!(!outbox.push(answer(3), 25, 25), "30 bytes of answers wait");
        assert!(
            outbox.push(data(1), 5, 25) && outbox.dropped == 3,
            "one that is larger than all is dropped, too"
        );
    }
}
