//! Which frames came, which did not, and which came late.

/// Frames since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Taken.
    pub frames: u64,
    /// Never came, as far as is known.
    pub lost: u64,
    /// Came after a newer one, and were dropped: time does not go back.
    pub late: u64,
    /// Came once more, and were dropped.
    pub repeated: u64,
    /// The numbers began anew: the server did, or a recording is played again.
    pub restarts: u64,
}

/// A gap this large is no loss: the numbers are others.
const LARGEST_GAP: i64 = 1_000_000;
/// So many frames back are remembered one by one.
const REMEMBERED: i64 = 64;
/// So many consecutive frames in the past are no delay: the numbers began anew.
const NEW_RUN: u8 = 4;

#[derive(Clone, Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) counts: Counts,
    last: Option<i32>,
    /// Bit n: `last - n` was here.
    seen: u64,
    /// The frame in the past that would continue a run, and how long that is.
    run: (i32, u8),
}

impl Sequence {
    /// What comes next is not compared with what was.
    pub(crate) fn restart(&mut self) {
        self.counts.restarts += u64::from(self.last.take().is_some());
    }

    /// Whether the frame is newer than all before.
    pub(crate) fn arrive(&mut self, number: i32) -> bool {
        if let Some(last) = self.last {
            let ahead = i64::from(number) - i64::from(last);
            if (-REMEMBERED + 1..=0).contains(&ahead) {
                self.run = if number == self.run.0 {
                    (number.wrapping_add(1), self.run.1 + 1)
                } else {
                    (number.wrapping_add(1), 1)
                };
                if self.run.1 < NEW_RUN {
                    self.past(ahead.unsigned_abs());
                    return false;
                }
                self.restart();
            } else if !(1..=LARGEST_GAP).contains(&ahead) {
                self.restart();
            } else {
                self.counts.lost += ahead.unsigned_abs() - 1;
                self.seen =
                    u32::try_from(ahead).ok().and_then(|ahead| self.seen.checked_shl(ahead)).unwrap_or(0);
            }
        }
        if self.last.is_none() {
            // Of what was before the first nothing is known, so nothing of it is late.
            self.seen = u64::MAX;
        }
        self.seen |= 1;
        self.last = Some(number);
        self.run = (0, 0);
        self.counts.frames += 1;
        true
    }

    fn past(&mut self, back: u64) {
        let bit = 1 << back;
        if self.seen & bit == 0 {
            self.seen |= bit;
            self.counts.late += 1;
            self.counts.lost = self.counts.lost.saturating_sub(1);
        } else {
            self.counts.repeated += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts(numbers: &[i32]) -> Counts {
        let mut sequence = Sequence::default();
        for number in numbers {
            sequence.arrive(*number);
        }
        sequence.counts
    }

    #[test]
    fn frames_are_counted_as_what_they_are() {
        let none = Counts::default();
        for (numbers, expected) in [
            (&[5, 6, 7][..], Counts { frames: 3, ..none }),
            (&[5, 8, 9], Counts { frames: 3, lost: 2, ..none }),
            (&[5, 7, 6, 8], Counts { frames: 3, late: 1, ..none }),
            (&[5, 6, 6, 7], Counts { frames: 3, repeated: 1, ..none }),
            (&[5, 8, 6, 6, 9], Counts { frames: 3, lost: 1, late: 1, repeated: 1, ..none }),
            (&[90_000, 1, 2], Counts { frames: 3, restarts: 1, ..none }),
            (&[i32::MAX, i32::MIN, -1], Counts { frames: 3, restarts: 2, ..none }),
            (&[30, 1, 2, 3, 4, 5], Counts { frames: 3, repeated: 3, restarts: 1, ..none }),
        ] {
            assert_eq!(counts(numbers), expected, "{numbers:?}");
        }
    }

    proptest! {
        /// Whatever is dropped and exchanged with its neighbours, every frame of the stream is in one count.
        #[test]
        fn nothing_is_counted_twice(fates in prop::collection::vec(0_u8..10, 2..500)) {
            let mut numbers = vec![0];
            for (number, fate) in (1..).zip(&fates) {
                match fate {
                    0 => {}
                    1 => numbers.insert(numbers.len() - 1, number),
                    2 => numbers.extend([number, number]),
                    _ => numbers.push(number),
                }
            }
            let counts = counts(&numbers);
            // A first frame that was overtaken is not known to have been sent.
            let from = i64::from(numbers[0]);
            let sent = i64::from(*numbers.iter().max().unwrap()) - from + 1;
            prop_assert_eq!(counts.restarts, 0);
            let known = i64::try_from(counts.frames + counts.lost + counts.late).unwrap();
            prop_assert_eq!(known, sent);
        }
    }
}
