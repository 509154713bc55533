//! Which messages and goals get in.

use std::{collections::VecDeque, time::Duration};

use super::{
    Goal, GoalId, GoalOutcome, MOST_OPEN, OpenSequence, PrimitiveId, QueueController, Queued, Source, Stop,
};
use crate::{
    handshake::ExecutionState,
    hardware::Hardware,
    primitive::{Checked, Command, Primitive, RawPrimitive, Refusal, check},
    report::{Event, Progress},
};

impl<H: Hardware> QueueController<H> {
    /// A message from the reference topic, sent by `source`.
    pub fn reference(&mut self, raw: &RawPrimitive, source: Source, now: Duration) {
        match self.admit(raw, source, now) {
            Ok(Some((id, warnings))) => self.event(Event::Accepted { id, warnings }),
            Ok(None) => {}
            Err(reason) => {
                // The markers themselves may be wrong without harm to what is between them, and what others send is no
                // part of this sequence.
                if let Some(open) = self.open.get_mut(&source)
                    && !matches!(reason, Refusal::SequenceOpen | Refusal::NoSequence)
                {
                    open.broken.get_or_insert_with(|| reason.clone());
                }
                self.event(Event::Refused { reason });
            }
        }
        self.report_depth();
    }

    /// A publisher has left: what it has begun and not ended is forgotten.
    pub fn publisher_left(&mut self, source: Source) {
        self.drop_open_sequence(source, "its publisher left before MOTION_SEQUENCE_END (101)");
        self.report_depth();
    }

    /// Publishers of open sequences.
    pub fn open_sources(&self) -> impl Iterator<Item = Source> + '_ {
        self.open.keys().copied()
    }

    fn admit(
        &mut self,
        raw: &RawPrimitive,
        source: Source,
        now: Duration,
    ) -> Result<Option<(PrimitiveId, Vec<String>)>, Refusal> {
        if !self.active {
            return Err(Refusal::NotActive);
        }
        let Checked { command, before, mut warnings } = check(raw, &self.settings.frames)?;
        match command {
            Command::Stop => {
                self.end_goal_with(GoalOutcome::Aborted("stopped by STOP_MOTION".into()));
                let stop = if self.settings.latching_stop { Stop::UntilReset } else { Stop::ThenReset };
                self.stop(stop, "STOP_MOTION", now);
                return Ok(None);
            }
            // There is nothing to lift, and ERROR itself needs STOP first.
            Command::ResetStop if self.state.status == ExecutionState::Error && self.stop == Stop::No => {
                return Err(Refusal::RobotError);
            }
            Command::ResetStop => {
                self.reset(now);
                return Ok(None);
            }
            _ => self.may_move()?,
        }
        if self.goal.is_some() {
            return Err(Refusal::GoalActive);
        }
        let id = match command {
            Command::SequenceStart => self.open_sequence(source, now)?,
            Command::SequenceEnd => self.close_sequence(source, &mut warnings)?,
            Command::Move(primitive) => self.add(source, before, primitive, now)?,
            Command::Stop | Command::ResetStop => return Ok(None),
        };
        Ok(Some((id, warnings)))
    }

    pub(super) fn may_move(&self) -> Result<(), Refusal> {
        if !self.active {
            Err(Refusal::NotActive)
        } else if let Some(fault) = &self.fault {
            Err(Refusal::Fault(fault.to_string()))
        } else if self.state.status == ExecutionState::Error {
            Err(Refusal::RobotError)
        } else if self.stop != Stop::No {
            Err(Refusal::Stopped)
        } else {
            Ok(())
        }
    }

    fn has_room(&self) -> Result<(), Refusal> {
        let size = self.settings.queue_size;
        if self.queue_depth() < size { Ok(()) } else { Err(Refusal::QueueFull(size)) }
    }

    fn next_id(&mut self) -> PrimitiveId {
        self.next_id += 1;
        self.next_id - 1
    }

    fn open_sequence(&mut self, source: Source, now: Duration) -> Result<PrimitiveId, Refusal> {
        if self.open.contains_key(&source) {
            return Err(Refusal::SequenceOpen);
        }
        if self.open.len() >= MOST_OPEN {
            return Err(Refusal::TooManySequences(MOST_OPEN));
        }
        self.has_room()?;
        let start = self.next_id();
        self.open.insert(source, OpenSequence { start, moves: Vec::new(), last_addition: now, broken: None });
        Ok(start)
    }

    /// A move, with those that come before it in the same message.
    fn add(
        &mut self,
        source: Source,
        before: Vec<Primitive>,
        last: Primitive,
        now: Duration,
    ) -> Result<PrimitiveId, Refusal> {
        let count = before.len() + 1;
        let limit = self.settings.goal_size;
        let all = before.into_iter().chain([last]);
        if let Some(open) = self.open.get_mut(&source) {
            if open.moves.len() + count > limit {
                return Err(Refusal::SequenceTooLong(open.moves.len()));
            }
            for primitive in all {
                open.moves.push((self.next_id, primitive));
                self.next_id += 1;
            }
            open.last_addition = now;
            return Ok(self.next_id - 1);
        }
        self.has_room()?;
        if count == 1 {
            let id = self.next_id();
            self.queue.push_back(Queued { id, command: Command::Move(last), is_last: true });
            self.units += 1;
            return Ok(id);
        }
        if count > limit {
            return Err(Refusal::SequenceTooLong(limit));
        }
        let start = self.next_id();
        let moves = all.map(|primitive| (self.next_id(), primitive)).collect();
        let (_, last) = self.enqueue_sequence(start, moves);
        Ok(last)
    }

    /// Ends the open sequence; if it cannot be executed as it is, it is gone.
    fn close_sequence(&mut self, source: Source, warnings: &mut Vec<String>) -> Result<PrimitiveId, Refusal> {
        let open = self.open.get(&source).ok_or(Refusal::NoSequence)?;
        let fault = match &open.broken {
            Some(reason) => Some(reason.clone()),
            None if open.moves.is_empty() => Some(Refusal::EmptySequence),
            None => None,
        };
        if let Some(reason) = fault {
            self.drop_open_sequence(source, &format!("its sequence was refused: {reason}"));
            return Err(reason);
        }
        let Some(mut open) = self.open.remove(&source) else { return Err(Refusal::NoSequence) };
        warnings.extend(open.moves.last_mut().and_then(|(_, last)| without_last_blend(last)));
        let (end, _) = self.enqueue_sequence(open.start, open.moves);
        Ok(end)
    }

    /// Puts a sequence between its markers; returns the numbers of the end marker and of the last move.
    fn enqueue_sequence(
        &mut self,
        start: PrimitiveId,
        moves: Vec<(PrimitiveId, Primitive)>,
    ) -> (PrimitiveId, PrimitiveId) {
        let last = moves.last().map_or(start, |(id, _)| *id);
        let end = self.next_id();
        self.units += 1;
        self.queue.push_back(Queued { id: start, command: Command::SequenceStart, is_last: false });
        self.queue.extend(moves.into_iter().map(|(id, primitive)| Queued {
            id,
            command: Command::Move(primitive),
            is_last: false,
        }));
        self.queue.push_back(Queued { id: end, command: Command::SequenceEnd, is_last: true });
        (end, last)
    }

    pub(super) fn drop_open_sequence(&mut self, source: Source, why: &str) {
        if let Some(open) = self.open.remove(&source) {
            let ids = [open.start].into_iter().chain(open.moves.iter().map(|(id, _)| *id));
            for id in ids {
                self.progress(Progress::Discarded { id, reason: why.to_owned() });
            }
        }
    }

    /// An action goal: several primitives are one blended sequence. Accepted, or why not.
    ///
    /// # Errors
    /// Nothing of it has been taken then.
    pub fn offer_goal(&mut self, goal: GoalId, primitives: &[RawPrimitive]) -> Result<(), Refusal> {
        self.may_take_goal(primitives.len())?;
        let mut checked: Vec<(usize, Primitive, Vec<String>)> = Vec::with_capacity(primitives.len());
        for (index, raw) in primitives.iter().enumerate() {
            let one = check(raw, &self.settings.frames).map_err(|reason| reason.at(index))?;
            let Command::Move(primitive) = one.command else {
                return Err(Refusal::HelperInGoal(raw.kind).at(index));
            };
            checked.extend(one.before.into_iter().map(|primitive| (index, primitive, Vec::new())));
            checked.push((index, primitive, one.warnings));
        }
        if checked.len() > self.settings.goal_size {
            return Err(Refusal::GoalTooLong { count: checked.len(), limit: self.settings.goal_size });
        }
        let is_sequence = checked.len() > 1;
        if let Some((_, last, warnings)) = checked.last_mut().filter(|_| is_sequence) {
            warnings.extend(without_last_blend(last));
        }
        let start = if is_sequence { self.next_id() } else { self.next_id };
        let mut moves = Vec::with_capacity(checked.len());
        let mut places = VecDeque::with_capacity(checked.len());
        for (index, primitive, warnings) in checked {
            let id = self.next_id();
            moves.push((id, primitive));
            places.push_back((id, index));
            self.event(Event::Accepted { id, warnings });
        }
        let last = self.next_id - 1;
        if is_sequence {
            self.enqueue_sequence(start, moves);
        } else {
            self.units += 1;
            self.queue.extend(moves.into_iter().map(|(id, primitive)| Queued {
                id,
                command: Command::Move(primitive),
                is_last: true,
            }));
        }
        self.goal = Some(Goal { id: goal, moves: places, last, ending: None });
        self.report_depth();
        Ok(())
    }

    fn may_take_goal(&self, count: usize) -> Result<(), Refusal> {
        self.may_move()?;
        if self.goal.is_some() {
            return Err(Refusal::GoalActive);
        }
        if !self.queue.is_empty() || self.state.status == ExecutionState::Executing {
            return Err(Refusal::ReferenceActive);
        }
        if count == 0 {
            return Err(Refusal::EmptySequence);
        }
        if count > self.settings.goal_size {
            return Err(Refusal::GoalTooLong { count, limit: self.settings.goal_size });
        }
        Ok(())
    }

    /// Cancels the goal: STOP now, CANCELED when the robot stands, then ready again. False if it is not this goal.
    pub fn cancel_goal(&mut self, goal: GoalId, now: Duration) -> bool {
        let known = self.goal.as_ref().is_some_and(|active| active.id == goal && active.ending.is_none());
        if known {
            self.end_goal_with(GoalOutcome::Canceled);
            self.stop(Stop::ThenReset, "its goal was canceled", now);
        }
        known
    }
}

/// Takes the radius from the last move of a sequence, as there is nothing to blend with, and says so.
fn without_last_blend(last: &mut Primitive) -> Option<String> {
    let radius = std::mem::take(&mut last.blend_radius);
    (radius > 0.0).then(|| {
        format!("blend_radius {radius} m of the last primitive is taken as 0: there is nothing to blend with")
    })
}
