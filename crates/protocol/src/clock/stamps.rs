//! The clock that stamps a system's data, by the stamps of its acknowledgements.
//!
//! The system stamps its ACK somewhere between our sending and our receiving. So `remote − local` lies between
//! `stamp − received` and `stamp − sent`: the midpoint is Cristian's estimate, half the round trip its uncertainty.
//! Every further ACK gives another such interval; they must all contain the truth, so their intersection does too and
//! is never wider than the shortest round trip allows. An empty intersection means that a clock was set meanwhile.

use std::{collections::VecDeque, time::Duration};

use rosless_engine::{Now, Wall};

use super::{Bounds, Learned, Offset};
use crate::message::Command;

/// No acknowledgement is later than this.
pub(crate) const FORGOTTEN: Duration = Duration::from_secs(60);
/// Questions and answers remembered per command; more of them come only from a flood.
const REMEMBERED: usize = 256;

/// The running estimate for one system.
#[derive(Clone, Debug, Default)]
pub struct ClockEstimate {
    known: Option<Bounds>,
    starts: Dialogue,
    stops: Dialogue,
}

impl ClockEstimate {
    /// The system was sent `command`, by us or by another controller.
    pub fn asked(&mut self, command: Command, at: Duration, ours: bool) {
        self.dialogue(command).ask(Question { at, ours });
    }

    /// What was asked then is known not to have been heard.
    pub(crate) fn withdrawn(&mut self, command: Command, at: Duration) {
        let Dialogue { questions, used, .. } = self.dialogue(command);
        if let Some(index) = (*used..questions.len()).rev().find(|index| questions[*index].at == at) {
            questions.remove(index);
        }
    }

    /// Takes an ACK. `None` when it tells nothing of the offset: repeated, or perhaps an answer to somebody else.
    pub fn answered(&mut self, command: Command, received: Now, stamp: Wall) -> Option<Learned> {
        let answered = match self.dialogue(command).answer(received.mono, stamp) {
            Heard::Answer(answered) => answered,
            Heard::Other => return self.bounded_below(received, stamp),
            // Its stamp is of the clock of long ago, which may have been set since.
            Heard::Repeated => return None,
        };
        let mut bounds = Bounds::between(answered.earliest, received, stamp);
        if answered.in_order || self.narrowed(bounds).is_none() {
            // Not even the oldest question explains a stamp before an earlier one: then a clock was set.
            bounds = Bounds::between(answered.open, received, stamp);
            self.dialogue(command).newest = Some(stamp);
        }
        Some(self.learn(bounds))
    }

    /// Takes a stamp that was surely made between sending and receiving.
    pub fn observed(&mut self, sent: Duration, received: Now, stamp: Wall) {
        self.learn(Bounds::between(sent, received, stamp));
    }

    fn learn(&mut self, bounds: Bounds) -> Learned {
        let narrowed = self.narrowed(bounds);
        match self.known.replace(narrowed.unwrap_or(bounds)) {
            Some(before) if narrowed.is_none() => before.step_to(bounds),
            _ => Learned::Agrees,
        }
    }

    /// Whoever was answered, the stamp was made before it was received: the offset cannot be smaller.
    fn bounded_below(&mut self, received: Now, stamp: Wall) -> Option<Learned> {
        let (known, bounds) = (self.known?, Bounds::before(received, stamp));
        self.known = known.narrowed(bounds);
        self.known.is_none().then(|| Learned::Stepped(bounds.low.saturating_sub(known.high)))
    }

    fn narrowed(&self, new: Bounds) -> Option<Bounds> {
        self.known.map_or(Some(new), |known| known.narrowed(new))
    }

    fn dialogue(&mut self, command: Command) -> &mut Dialogue {
        match command {
            Command::Start => &mut self.starts,
            Command::Stop => &mut self.stops,
        }
    }

    pub(super) fn known(&self) -> Option<Bounds> {
        self.known
    }

    /// The best estimate so far.
    pub fn offset(&self) -> Option<Offset> {
        self.known?.offset()
    }

    /// What is left of it at this time: clocks drift apart.
    pub fn offset_at(&self, now: Duration) -> Option<Offset> {
        self.known?.widened(now).offset()
    }

    /// Forgets the offset, but not what was asked.
    pub fn unlearn(&mut self) {
        self.known = None;
    }
}

#[derive(Clone, Copy, Debug)]
struct Question {
    at: Duration,
    ours: bool,
}

/// Which question an ACK may answer: nothing in it says so, and messages get lost.
///
/// A question gets one answer at most. So the ACK that is the k-th by its stamp was stamped after k questions, and the
/// k-th question bounds its time whichever of them it answers.
#[derive(Clone, Debug, Default)]
struct Dialogue {
    /// The questions of the last minute, oldest first.
    questions: VecDeque<Question>,
    /// How many of those, from the front, the answers so far have used up.
    used: usize,
    newest: Option<Wall>,
    /// The stamps of the latest answers, by which a repeated one is known.
    stamps: VecDeque<Wall>,
}

/// What an ACK is to us.
enum Heard {
    Answer(Answered),
    /// Perhaps an answer to another controller.
    Other,
    Repeated,
}

/// When the message that an ACK answers was sent at the earliest.
struct Answered {
    /// If stamps came in their order.
    open: Duration,
    in_order: bool,
    /// In any case.
    earliest: Duration,
}

impl Dialogue {
    fn ask(&mut self, question: Question) {
        self.forget(question.at);
        if self.questions.len() == REMEMBERED {
            if self.used == 0 {
                return;
            }
            self.questions.pop_front();
            self.used -= 1;
        }
        self.questions.push_back(question);
    }

    fn answer(&mut self, now: Duration, stamp: Wall) -> Heard {
        if self.stamps.contains(&stamp) {
            return Heard::Repeated;
        }
        if self.stamps.len() == REMEMBERED {
            self.stamps.pop_front();
        }
        self.stamps.push_back(stamp);
        self.forget(now);
        let Some(open) = self.questions.get(self.used).copied() else { return Heard::Other };
        self.used += 1;
        let in_order = self.newest.is_none_or(|newest| stamp > newest);
        if in_order {
            self.newest = Some(stamp);
        }
        // When another controller's message was sent is not known.
        let ours = if in_order { open.ours } else { self.questions.iter().all(|q| q.ours) };
        if !ours {
            return Heard::Other;
        }
        Heard::Answer(Answered { open: open.at, in_order, earliest: self.questions[0].at })
    }

    fn forget(&mut self, now: Duration) {
        while self.questions.front().is_some_and(|q| now.saturating_sub(q.at) >= FORGOTTEN) {
            self.questions.pop_front();
            self.used = self.used.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::{Band, MILLI};

    const fn ms(n: i64) -> i64 {
        n * MILLI
    }

    fn at(mono_ms: i64, wall_ms: i64) -> Now {
        Now { mono: Duration::from_millis(mono_ms as u64), wall: Wall(ms(wall_ms)) }
    }

    /// One START and its ACK.
    fn ack(clock: &mut ClockEstimate, sent_ms: u64, received: Now, stamp: Wall) -> Option<Learned> {
        clock.asked(Command::Start, Duration::from_millis(sent_ms), true);
        clock.answered(Command::Start, received, stamp)
    }

    #[test]
    fn midpoint_and_half_the_round_trip() {
        let mut clock = ClockEstimate::default();
        // Sent at 100, received at 110 of our clock; the system stamped 1605 halfway: it is 1500 ms ahead.
        ack(&mut clock, 100, at(110, 110), Wall(ms(1605)));
        assert_eq!(clock.offset(), Some(Offset { nanos: ms(1500), uncertainty: ms(5) }));
    }

    #[test]
    fn a_short_round_trip_narrows_and_a_long_one_does_not_widen() {
        let mut clock = ClockEstimate::default();
        ack(&mut clock, 0, at(2000, 2000), Wall(ms(1990)));
        assert_eq!(clock.offset().unwrap().uncertainty, ms(1000));
        ack(&mut clock, 3000, at(3002, 3002), Wall(ms(3001)));
        let narrow = clock.offset().unwrap();
        assert_eq!(narrow, Offset { nanos: 0, uncertainty: ms(1) });
        ack(&mut clock, 4000, at(6000, 6000), Wall(ms(5000)));
        let after = clock.offset().unwrap();
        assert!(after.uncertainty < ms(2) && after.nanos.abs() < ms(1), "{after}");
    }

    #[test]
    fn an_estimate_gets_wider_with_time() {
        let mut clock = ClockEstimate::default();
        ack(&mut clock, 100, at(110, 110), Wall(ms(1605)));
        let later = clock.offset_at(Duration::from_millis(110) + Duration::from_secs(1000)).unwrap();
        assert_eq!(later, Offset { nanos: ms(1500), uncertainty: ms(5) + ms(100) });
    }

    #[test]
    fn a_slow_activation_is_not_a_wrong_clock() {
        let mut clock = ClockEstimate::default();
        ack(&mut clock, 0, at(3000, 3000), Wall(ms(2999)));
        let offset = clock.offset().unwrap();
        assert!(offset.nanos > ms(1400), "the midpoint alone looks wrong: {offset}");
        assert_eq!(offset.band(), Band::Good);
    }

    #[test]
    fn a_clock_that_was_set_is_noticed_and_followed() {
        let mut clock = ClockEstimate::default();
        ack(&mut clock, 0, at(2, 2), Wall(ms(1)));
        // The remote clock jumps 5 s back.
        let learned = ack(&mut clock, 1000, at(1002, 1002), Wall(ms(1001 - 5000)));
        assert!(
            matches!(learned, Some(Learned::Stepped(by)) if (by + ms(5000)).abs() < ms(3)),
            "{learned:?}"
        );
        assert_eq!(clock.offset().unwrap().nanos, ms(-5000));
        // Our own clock jumps an hour forward between sending and receiving.
        let hour = 3_600_000;
        let learned = ack(&mut clock, 2000, at(2002, 2002 + hour), Wall(ms(2001 - 5000)));
        assert!(matches!(learned, Some(Learned::Stepped(by)) if by < 0));
        assert_eq!(clock.offset().unwrap(), Offset { nanos: ms(-5000 - hour), uncertainty: ms(1) });
    }

    #[test]
    fn a_repeated_ack_is_no_answer_to_a_later_question() {
        let mut clock = ClockEstimate::default();
        ack(&mut clock, 0, at(2, 2), Wall(ms(1)));
        let known = clock.offset();
        assert_eq!(ack(&mut clock, 700, at(701, 701), Wall(ms(1))), None);
        assert_eq!(clock.offset(), known);
    }

    #[test]
    fn an_ack_after_a_lost_one_is_bounded_by_the_older_question() {
        let mut clock = ClockEstimate::default();
        clock.asked(Command::Start, Duration::from_millis(0), true);
        // The second question's ACK may as well be the late one of the first, and the third's that of the second.
        ack(&mut clock, 500, at(510, 510), Wall(ms(1)));
        assert_eq!(clock.offset(), Some(Offset { nanos: ms(-254), uncertainty: ms(255) }));
        let mut clock = ClockEstimate::default();
        clock.asked(Command::Start, Duration::from_millis(0), true);
        clock.asked(Command::Start, Duration::from_millis(500), true);
        clock.answered(Command::Start, at(510, 510), Wall(ms(505)));
        clock.answered(Command::Start, at(600, 600), Wall(ms(1)));
        let offset = clock.offset().unwrap();
        assert!(offset.nanos.abs() <= offset.uncertainty, "{offset} after answers in the wrong order");
    }

    #[test]
    fn another_controllers_answer_teaches_nothing() {
        let mut clock = ClockEstimate::default();
        clock.asked(Command::Start, Duration::from_millis(0), false);
        assert_eq!(ack(&mut clock, 100, at(101, 101), Wall(ms(50))), None);
        assert_eq!(clock.offset(), None);
    }

    #[test]
    fn another_controllers_answer_from_the_future_shows_that_a_clock_was_set() {
        let mut clock = ClockEstimate::default();
        ack(&mut clock, 0, at(2, 2), Wall(ms(1)));
        // Behind may be on the way for long, ahead cannot be.
        assert_eq!(clock.answered(Command::Stop, at(1000, 1000), Wall(ms(500))), None);
        assert_eq!(clock.offset().unwrap().nanos.abs() / ms(1), 0);
        let learned = clock.answered(Command::Stop, at(2000, 2000), Wall(ms(2500)));
        assert!(matches!(learned, Some(Learned::Stepped(by)) if (by - ms(500)).abs() < ms(3)), "{learned:?}");
        assert_eq!(clock.offset(), None, "only a lower bound is left");
        // An old one heard again has a stamp of the clock before it was set back.
        let mut clock = ClockEstimate::default();
        ack(&mut clock, 0, at(2, 2), Wall(ms(1)));
        ack(&mut clock, 1000, at(1002, 1002), Wall(ms(1001 - 5000)));
        assert_eq!(clock.answered(Command::Start, at(1003, 1003), Wall(ms(1))), None);
        assert_eq!(clock.offset().unwrap().nanos, ms(-5000));
    }

    proptest! {
        #[test]
        fn the_truth_is_always_inside(
            offset in -ms(10_000)..ms(10_000),
            trips in prop::collection::vec((0..ms(500), 0..ms(500), 1..ms(5000)), 1..30),
        ) {
            let mut clock = ClockEstimate::default();
            let (mut now, mut shortest) = (ms(1_000_000), i64::MAX);
            for (there, back, pause) in trips {
                let sent = Duration::from_nanos(now as u64);
                let stamp = Wall(now + there + offset);
                now += there + back;
                let received = Now { mono: Duration::from_nanos(now as u64), wall: Wall(now) };
                clock.asked(Command::Start, sent, true);
                prop_assert_eq!(clock.answered(Command::Start, received, stamp), Some(Learned::Agrees));
                shortest = shortest.min(there + back);
                let got = clock.offset().unwrap();
                // One nanosecond for the halves.
                prop_assert!((got.nanos - offset).abs() <= got.uncertainty + 1, "{got:?} is not around {offset}");
                prop_assert!(got.uncertainty <= shortest / 2 + ms(20));
                now += pause;
            }
        }

        #[test]
        fn hostile_stamps_never_panic(stamps in prop::collection::vec(any::<(i64, i64, u64)>(), 1..20)) {
            let mut clock = ClockEstimate::default();
            for (stamp, wall, mono) in stamps {
                let received = Now { mono: Duration::from_nanos(mono), wall: Wall(wall) };
                clock.asked(Command::Stop, Duration::from_nanos(mono / 2), mono % 7 > 0);
                if clock.answered(Command::Stop, received, Wall(stamp)).is_some() {
                    prop_assert!(clock.offset().is_some_and(|o| o.band() >= Band::Good));
                }
            }
        }
    }
}
