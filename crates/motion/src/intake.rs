//! One topic, two readers: reliable publishers are served by the reliable one, the others by the best-effort one.
//!
//! A reliable reader does not match a best-effort publisher, and a best-effort reader gets what a reliable publisher
//! sends, too, but not in order and not all of it. So each publisher is heard through one of them only.

use std::{collections::HashMap, hash::Hash};

/// Publishers remembered; the memory of the rest is dropped rather than grown.
const MAX_PUBLISHERS: usize = 1000;

/// What a reader asks for and a publisher offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reliability {
    /// Nothing is lost.
    Reliable,
    /// What the network loses is lost.
    BestEffort,
}

/// Which samples of whom have been taken; `P` names a publisher.
#[derive(Debug)]
pub struct Intake<P> {
    last: HashMap<P, i64>,
}

impl<P> Default for Intake<P> {
    fn default() -> Self {
        Self { last: HashMap::new() }
    }
}

impl<P: Eq + Hash> Intake<P> {
    /// Whether to take the sample number `sequence` of `publisher`, which came through a reader of quality `through`.
    /// `offered` is what the publisher announced; `None` when it is not known.
    pub fn takes(
        &mut self,
        publisher: P,
        sequence: i64,
        through: Reliability,
        offered: Option<Reliability>,
    ) -> bool {
        if offered == Some(Reliability::Reliable) && through == Reliability::BestEffort {
            return false;
        }
        if self.last.len() >= MAX_PUBLISHERS && !self.last.contains_key(&publisher) {
            self.last.clear();
        }
        let last = self.last.entry(publisher).or_insert(i64::MIN);
        let is_new = sequence > *last;
        *last = sequence.max(*last);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Reliability::{BestEffort, Reliable};

    const A: u128 = 1;
    const B: u128 = 2;

    #[test]
    fn a_reliable_publisher_is_heard_in_order_although_the_other_reader_is_ahead() {
        let mut intake = Intake::default();
        let order = [(1, BestEffort), (3, BestEffort), (1, Reliable), (2, Reliable), (3, Reliable)];
        let taken: Vec<i64> = order
            .into_iter()
            .filter(|(n, through)| intake.takes(A, *n, *through, Some(Reliable)))
            .map(|(n, _)| n)
            .collect();
        assert_eq!(taken, [1, 2, 3]);
    }

    #[test]
    fn a_best_effort_publisher_is_heard_once_and_never_backwards() {
        let mut intake = Intake::default();
        let order = [(1, BestEffort), (1, Reliable), (3, BestEffort), (2, BestEffort), (3, Reliable)];
        let taken: Vec<i64> = order
            .into_iter()
            .filter(|(n, through)| intake.takes(A, *n, *through, Some(BestEffort)))
            .map(|(n, _)| n)
            .collect();
        assert_eq!(taken, [1, 3]);
        assert!(intake.takes(B, 1, BestEffort, None), "publishers do not disturb each other");
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut intake = Intake::default();
        for n in 0..3 * MAX_PUBLISHERS as u128 {
            intake.takes(n, 1, BestEffort, None);
        }
        assert!(intake.last.len() <= MAX_PUBLISHERS);
    }
}
