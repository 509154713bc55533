//! How far a program on its way to a controller is: what was sent, what was answered, what the robot has done. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Origin, PrimitiveId, RawPrimitive, Refusal, Report,
    primitive::code,
    report::{Cause, Progress},
};

/// A program on its way. Its messages have places, from 0 in the order of the program.
#[derive(Debug)]
pub struct Sending {
    messages: Vec<RawPrimitive>,
    /// Which of them are behind the start of a sequence, its end included: they take no place of their own.
    inside: Vec<bool>,
    /// Primitives that may wait at the controller.
    size: usize,
    /// The place of the next message.
    next: usize,
    /// Places in the order of publication: samples are numbered from 1.
    published: Vec<usize>,
    answered: usize,
    /// Accepted, by id, and not known to be in the robot's hands.
    waiting: BTreeMap<u64, usize>,
    /// Moves that were accepted and have not ended.
    unfinished: BTreeSet<u64>,
    place: BTreeMap<u64, usize>,
    /// The first message that found the queue full, because others send as well.
    full: Option<usize>,
    finished: usize,
    problem: Option<String>,
}

impl Sending {
    /// Nothing is sent yet; the controller has `size` places in its queue.
    pub fn new(messages: Vec<RawPrimitive>, size: usize) -> Self {
        let mut open = false;
        let mark = |message: &RawPrimitive| {
            let inside = open;
            open = match message.kind {
                code::MOTION_SEQUENCE_START => true,
                code::MOTION_SEQUENCE_END => false,
                _ => open,
            };
            inside
        };
        Self {
            inside: messages.iter().map(mark).collect(),
            messages,
            size,
            next: 0,
            published: Vec::new(),
            answered: 0,
            waiting: BTreeMap::new(),
            unfinished: BTreeSet::new(),
            place: BTreeMap::new(),
            full: None,
            finished: 0,
            problem: None,
        }
    }

    /// Messages that were sent and not answered.
    pub fn unanswered(&self) -> usize {
        self.published.len() - self.answered
    }

    /// Moves the robot has done.
    pub fn finished(&self) -> usize {
        self.finished
    }

    /// The first thing that went wrong.
    pub fn into_problem(self) -> Option<String> {
        self.problem
    }

    /// The next message, if the queue has room for it, where `depth` primitives of whomever wait.
    pub fn next(&mut self, depth: usize) -> Option<&RawPrimitive> {
        if self.problem.is_some() {
            // What an open sequence has so far would wait for its end in vain.
            self.next = self.open_end()?;
        } else if let Some(place) = self.full {
            // The order is lost if anything behind it is accepted.
            if self.unanswered() > 0 {
                return None;
            }
            self.next = place;
            self.full = None;
        }
        let message = self.messages.get(self.next)?;
        // What follows a start that is refused would be singles.
        let last = self.published.last().map(|place| self.messages[*place].kind);
        if last == Some(code::MOTION_SEQUENCE_START) && self.unanswered() > 0 {
            return None;
        }
        // A sequence takes one place, however long it is, from its start on.
        let need = usize::from(!self.inside[self.next]);
        let takes_place = |place: &&usize| !self.inside[**place];
        let waiting = self.waiting.values().filter(takes_place).count();
        let unanswered = self.published[self.answered..].iter().filter(takes_place).count();
        let taken = waiting.max(depth) + unanswered;
        if need > 0 && taken + need > self.size {
            return None;
        }
        self.published.push(self.next);
        self.next += 1;
        Some(message)
    }

    /// True when the report is about this program, whose publisher is `own`.
    pub fn hear(&mut self, report: &Report, own: &str) -> bool {
        if let Some(origin) = report.origin().filter(|origin| origin.publisher == own) {
            let Some(place) = self.place_of_sample(origin) else { return false };
            self.answered += 1;
            match report {
                Report::Accepted { id, .. } => self.accepted(*id, place),
                Report::Refused { cause, reason, .. } => self.refused(place, *cause, reason),
                _ => self.refused(place, Cause::Other, "it was obeyed at once, so it is no motion"),
            }
            return true;
        }
        let Some(id) = report.id().filter(|id| self.place.contains_key(id)) else { return false };
        let place = self.place[&id];
        match report {
            Report::Progress(Progress::Started { .. }) => self.taken_through(place),
            Report::Progress(Progress::Blended { next, .. }) => {
                self.taken_through(self.place.get(next).copied().unwrap_or(place));
            }
            Report::Progress(Progress::Finished { .. }) => {
                self.taken_through(place);
                self.unfinished.remove(&id);
                self.finished += 1;
            }
            Report::Progress(Progress::Failed { reason, .. }) => {
                self.unfinished.remove(&id);
                self.fail(format!("primitive {} failed: {reason}", place + 1));
            }
            Report::Progress(Progress::Discarded { reason, .. }) => {
                self.unfinished.remove(&id);
                self.fail(format!("primitive {} was discarded: {reason}", place + 1));
            }
            _ => {}
        }
        true
    }

    fn place_of_sample(&self, origin: &Origin) -> Option<usize> {
        let index = usize::try_from(origin.sequence.checked_sub(1)?).ok()?;
        self.published.get(index).copied()
    }

    fn accepted(&mut self, id: PrimitiveId, place: usize) {
        if let Some(full) = self.full {
            self.fail(format!("primitive {} was refused: {}", full + 1, Refusal::QueueFull(self.size)));
        }
        self.waiting.insert(id, place);
        self.place.insert(id, place);
        if !is_marker(&self.messages[place]) {
            self.unfinished.insert(id);
        }
    }

    fn refused(&mut self, place: usize, cause: Cause, reason: &str) {
        let is_full = cause == Cause::QueueFull;
        let is_start = self.messages[place].kind == code::MOTION_SEQUENCE_START;
        if is_full && (is_start || self.end_of(place) == place) {
            self.full.get_or_insert(place);
        } else {
            self.fail(format!("primitive {} was refused: {reason}", place + 1));
        }
    }

    /// The robot has what is at `place`. Of a sequence it has all before it begins any.
    fn taken_through(&mut self, place: usize) {
        let last = self.end_of(place);
        self.waiting.retain(|_, place| *place > last);
    }

    /// The place of the end of the sequence that `place` is in; `place` itself for a single.
    fn end_of(&self, place: usize) -> usize {
        let marker = self.messages[place..].iter().position(is_marker).map(|ahead| place + ahead);
        let is_inside =
            |marker: usize| marker == place || self.messages[marker].kind == code::MOTION_SEQUENCE_END;
        match marker.filter(|marker| is_inside(*marker)) {
            Some(start) if self.messages[start].kind == code::MOTION_SEQUENCE_START => {
                let end = self.messages[start + 1..].iter().position(is_marker);
                end.map_or(start, |ahead| start + 1 + ahead)
            }
            Some(end) => end,
            None => place,
        }
    }

    /// The place of the end that an accepted start still waits for.
    fn open_end(&self) -> Option<usize> {
        let start = self.messages[..self.next].iter().rposition(is_marker)?;
        let is_open = self.messages[start].kind == code::MOTION_SEQUENCE_START
            && self.place.values().any(|place| *place == start);
        is_open.then(|| self.end_of(start))
    }

    fn fail(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    /// Whether nothing more will happen.
    pub fn is_over(&self) -> bool {
        let all_sent = (self.next == self.messages.len() && self.full.is_none()) || self.problem.is_some();
        all_sent && self.unanswered() == 0 && self.unfinished.is_empty()
    }

    /// A report that was heard, for people.
    pub fn describe(&self, report: &Report) -> String {
        let known = report.id().and_then(|id| self.place.get(&id).copied());
        let place = known.or_else(|| self.place_of_sample(report.origin()?)).unwrap_or(0);
        let kind = self.messages.get(place).map_or("", |message| kind_name(message.kind));
        format!("{:>4}/{} {kind:<5} {report}", place + 1, self.messages.len())
    }
}

fn is_marker(message: &RawPrimitive) -> bool {
    matches!(message.kind, code::MOTION_SEQUENCE_START | code::MOTION_SEQUENCE_END)
}

/// A primitive's type for people.
pub fn kind_name(kind: i16) -> &'static str {
    match kind {
        code::LINEAR_JOINT | code::LINEAR_JOINT_FIRST_GENERATION => "PTP",
        code::LINEAR_CARTESIAN => "LIN",
        code::CIRCULAR_CARTESIAN => "CIRC",
        code::POLYLINE => "POLY",
        code::STOP_MOTION => "STOP",
        code::RESET_STOP => "RESET",
        code::MOTION_SEQUENCE_START => "START",
        code::MOTION_SEQUENCE_END => "END",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(kinds: &[i16]) -> Vec<RawPrimitive> {
        kinds.iter().map(|kind| RawPrimitive { kind: *kind, ..Default::default() }).collect()
    }

    fn origin(sequence: u64) -> Option<Origin> {
        Some(Origin { publisher: "me".into(), sequence: sequence as i64 })
    }

    fn accepted(sequence: u64, id: u64) -> Report {
        Report::Accepted { id, warnings: vec![], origin: origin(sequence) }
    }

    fn full(sequence: u64) -> Report {
        let cause = Cause::QueueFull;
        Report::Refused { cause, reason: "in words that may change".into(), origin: origin(sequence) }
    }

    fn refused(sequence: u64, reason: &str) -> Report {
        Report::Refused { cause: Cause::Other, reason: reason.into(), origin: origin(sequence) }
    }

    fn event(name: &str, id: u64) -> Report {
        match name {
            "started" => Report::Progress(Progress::Started { id }),
            "finished" => Report::Progress(Progress::Finished { id }),
            _ => Report::Progress(Progress::Discarded { id, reason: "because".into() }),
        }
    }

    /// Everything that may be sent now, as kinds.
    fn sent(sending: &mut Sending, depth: usize) -> Vec<i16> {
        std::iter::from_fn(|| sending.next(depth).map(|message| message.kind)).collect()
    }

    #[test]
    fn never_more_is_under_way_than_the_queue_holds() {
        let mut sending = Sending::new(kinds(&[0; 20]), 3);
        assert_eq!(sent(&mut sending, 0), [0; 3]);
        assert_eq!(sending.unanswered(), 3);
        for n in 1..=3 {
            assert!(sending.hear(&accepted(n, 10 + n), "me"));
        }
        assert_eq!(sent(&mut sending, 3), [0; 0], "all three wait");
        assert!(sending.hear(&event("started", 11), "me"));
        assert_eq!(sent(&mut sending, 2), [0]);
        assert!(!sending.hear(&event("started", 99), "me"), "somebody else's");
    }

    #[test]
    fn what_others_have_queued_counts() {
        let mut sending = Sending::new(kinds(&[0; 20]), 3);
        assert_eq!(sent(&mut sending, 3), [0; 0]);
        assert_eq!(sent(&mut sending, 1), [0; 2]);
    }

    #[test]
    fn a_sequence_takes_one_place_and_goes_on_when_its_start_is_accepted() {
        let mut sending = Sending::new(kinds(&[0, 100, 0, 0, 101, 0]), 2);
        assert_eq!(sent(&mut sending, 0), [0, 100]);
        sending.hear(&accepted(1, 0), "me");
        assert_eq!(sent(&mut sending, 1), [0; 0], "the start is not answered");
        sending.hear(&accepted(2, 1), "me");
        assert_eq!(sent(&mut sending, 2), [0, 0, 101]);
        for n in 3..=5 {
            sending.hear(&accepted(n, n - 1), "me");
        }
        assert_eq!(sent(&mut sending, 5), [0; 0]);
        sending.hear(&event("started", 2), "me");
        assert_eq!(sent(&mut sending, 0), [0], "with the first of a sequence the robot has all of it");

        let mut sending = Sending::new(kinds(&[100, 0, 0, 0, 0, 0, 101]), 2);
        assert_eq!(sent(&mut sending, 2), [0; 0], "there is no place");
        assert_eq!(sent(&mut sending, 1), [100]);
        sending.hear(&accepted(1, 0), "me");
        assert_eq!(sent(&mut sending, 2), [0, 0, 0, 0, 0, 101], "a sequence may be longer than the queue");
    }

    #[test]
    fn markers_do_not_block_a_small_queue_for_good() {
        let mut sending = Sending::new(kinds(&[100, 0, 101, 0]), 1);
        assert_eq!(sent(&mut sending, 0), [100]);
        sending.hear(&accepted(1, 0), "me");
        assert_eq!(sent(&mut sending, 1), [0, 101]);
        sending.hear(&accepted(2, 1), "me");
        sending.hear(&accepted(3, 2), "me");
        sending.hear(&event("started", 1), "me");
        sending.hear(&event("finished", 1), "me");
        assert_eq!(sent(&mut sending, 0), [0]);
        sending.hear(&accepted(4, 3), "me");
        assert!(!sending.is_over());
        sending.hear(&event("finished", 3), "me");
        assert!(sending.is_over());
        assert_eq!((sending.finished(), sending.into_problem()), (2, None));
    }

    #[test]
    fn who_finds_the_queue_full_comes_again() {
        let mut sending = Sending::new(kinds(&[0, 50, 100, 0, 101]), 2);
        assert_eq!(sent(&mut sending, 0), [0, 50]);
        sending.hear(&accepted(1, 0), "me");
        sending.hear(&full(2), "me");
        assert!(!sending.is_over());
        assert_eq!(sent(&mut sending, 3), [0; 0]);
        assert_eq!(sent(&mut sending, 1), [50]);
        sending.hear(&accepted(3, 7), "me");
        sending.hear(&event("started", 7), "me");
        assert_eq!(sent(&mut sending, 0), [100]);
        sending.hear(&full(4), "me");
        assert_eq!(sent(&mut sending, 1), [100]);
        sending.hear(&accepted(5, 9), "me");
        assert_eq!(sent(&mut sending, 1), [0, 101]);
        sending.hear(&accepted(6, 10), "me");
        sending.hear(&accepted(7, 11), "me");
        for id in [0, 7, 10] {
            sending.hear(&event("finished", id), "me");
        }
        assert!(sending.is_over());
        assert_eq!((sending.finished(), sending.into_problem()), (3, None));
    }

    #[test]
    fn a_refusal_that_would_change_the_order_is_a_problem() {
        let mut sending = Sending::new(kinds(&[0, 0, 0]), 2);
        assert_eq!(sent(&mut sending, 0), [0, 0]);
        sending.hear(&full(1), "me");
        assert_eq!(sent(&mut sending, 0), [0; 0], "the second is not answered");
        sending.hear(&accepted(2, 5), "me");
        assert_eq!(sent(&mut sending, 0), [0; 0]);
        sending.hear(&event("finished", 5), "me");
        assert!(sending.is_over());
        let problem = sending.into_problem();
        assert_eq!(problem.as_deref(), Some("primitive 1 was refused: the queue is full (2 primitives)"));
    }

    #[test]
    fn a_refusal_ends_the_sending_but_not_the_waiting() {
        let mut sending = Sending::new(kinds(&[0, 0, 0]), 2);
        assert_eq!(sent(&mut sending, 0), [0, 0]);
        sending.hear(&accepted(1, 0), "me");
        sending.hear(&refused(2, "the robot is stopped"), "me");
        assert!(sent(&mut sending, 0).is_empty() && !sending.is_over(), "the first one still moves");
        sending.hear(&event("discarded", 0), "me");
        assert!(sending.is_over());
        assert_eq!(sending.into_problem().as_deref(), Some("primitive 2 was refused: the robot is stopped"));
    }

    #[test]
    fn a_sequence_with_a_hole_is_closed_at_once() {
        let mut sending = Sending::new(kinds(&[100, 0, 0, 101, 0]), 4);
        assert_eq!(sent(&mut sending, 0), [100]);
        sending.hear(&accepted(1, 0), "me");
        assert!(sending.next(1).is_some());
        sending.hear(&refused(2, "its frame is not known"), "me");
        assert_eq!(sent(&mut sending, 1), [101]);
        sending.hear(&refused(3, "its frame is not known"), "me");
        assert!(sent(&mut sending, 0).is_empty() && sending.is_over());
    }
}
