//! The control cycle: what the robot does, and what it gets next.

use std::time::Duration;

use super::{GoalOutcome, Output, PrimitiveId, QueueController, Stop, UNSEEN, Watched};
use crate::{
    handshake::ExecutionState,
    hardware::{Fault, FaultKind, Hardware, RobotEvent},
    primitive::Command,
    report::Progress,
};

impl<H: Hardware> QueueController<H> {
    /// The control cycle: reads the robot, feeds it, reports.
    pub fn update(&mut self, now: Duration) {
        if self.goal_has_failed() {
            self.recover(now);
        }
        self.refresh(now);
        while let Some(source) = self
            .open
            .iter()
            .find(|(_, open)| open.last_addition + self.settings.sequence_timeout <= now)
            .map(|(source, _)| *source)
        {
            self.drop_open_sequence(
                source,
                "its sequence was not closed in time: MOTION_SEQUENCE_END (101) did not come",
            );
            self.report_depth();
        }
        self.feed(now);
    }

    pub(super) fn stop(&mut self, stop: Stop, why: &str, now: Duration) {
        self.discard_waiting(why);
        for id in self.forget_all() {
            self.progress(Progress::Discarded { id, reason: why.to_owned() });
        }
        // A user's STOP is not undone by the end of a cancel that was under way, nor by deactivation.
        if self.stop != Stop::UntilReset {
            self.stop = stop;
        }
        self.forward(&Command::Stop, now);
        self.report_depth();
    }

    pub(super) fn reset(&mut self, now: Duration) {
        match self.state.status {
            ExecutionState::Stopped => {
                self.forward(&Command::ResetStop, now);
                self.stop = Stop::No;
            }
            // It takes effect when the robot stands.
            _ if self.stop != Stop::No => self.stop = Stop::ThenReset,
            _ => {}
        }
    }

    /// Hands a command to the robot past the queue.
    fn forward(&mut self, command: &Command, now: Duration) {
        self.inside_sequence = false;
        self.watched = Watched::Nothing;
        self.write(command, now);
        self.in_robot.push_back(None);
        self.refresh(now);
    }

    fn write(&mut self, command: &Command, now: Duration) {
        self.interfaces.set(command);
        self.last_command = self.interfaces;
        self.commands += 1;
        self.progress = now;
        self.hardware.write(&mut self.interfaces, now);
    }

    fn feed(&mut self, now: Duration) {
        let watched = self.inside_sequence || self.watched == Watched::Nothing;
        if self.queue.is_empty() || !self.state.ready || self.stop != Stop::No || !watched {
            return;
        }
        let Some(queued) = self.queue.pop_front() else { return };
        self.units -= usize::from(queued.is_last);
        let is_move = matches!(queued.command, Command::Move(_));
        self.write(&queued.command, now);
        self.in_robot.push_back(is_move.then_some(queued.id));
        self.inside_sequence = match queued.command {
            Command::SequenceStart => true,
            Command::SequenceEnd => false,
            _ => self.inside_sequence,
        };
        // A driver that tells only its state gets one thing at a time, so that its state can be understood.
        if !self.inside_sequence && !self.hardware.capabilities().events {
            self.watched = Watched::Given(now);
        }
        self.report_depth();
        self.refresh(now);
    }

    fn refresh(&mut self, now: Duration) {
        let before = self.state.status;
        self.state = self.hardware.read(now);
        self.find_faults(now);
        let status = self.state.status;
        if status != before {
            self.progress = now;
            self.outputs.push_back(Output::State(status));
        }
        while let Some(event) = self.hardware.poll_event() {
            self.progress = now;
            self.robot_event(event);
        }
        self.derive(now);
        match status {
            ExecutionState::Stopped => self.standing(now),
            ExecutionState::Error if before != ExecutionState::Error => {
                let reason =
                    self.fault.as_ref().map_or("the robot reports ERROR".to_owned(), Fault::to_string);
                self.robot_failed(&reason);
            }
            // A driver may become ready again without having stood for anybody to see.
            ExecutionState::Idle if self.state.ready && self.stop == Stop::ThenReset => {
                self.stop = Stop::No;
                self.end_goal("the robot stopped by itself");
            }
            _ => {}
        }
    }

    /// Asks the driver for a fault, and finds one itself when the robot takes too long.
    fn find_faults(&mut self, now: Duration) {
        let status = self.state.status;
        let limit = match status {
            ExecutionState::Executing => self.settings.execution_timeout,
            ExecutionState::Stopping => self.settings.stop_timeout,
            _ => Duration::MAX,
        };
        // What it does now has its own time.
        self.overdue.take_if(|(state, _)| *state != status);
        if self.overdue.is_none() && now.saturating_sub(self.progress) > limit {
            let seconds = limit.as_secs_f64();
            let text = match status {
                ExecutionState::Stopping => format!("it was told to stop and still moves after {seconds} s"),
                _ => format!("it says it executes, but has finished nothing for {seconds} s"),
            };
            self.overdue = Some((status, Fault { kind: FaultKind::Other, text }));
        }
        let fault = self.hardware.fault().or_else(|| self.overdue.as_ref().map(|(_, fault)| fault.clone()));
        if fault.is_some() {
            self.state.status = ExecutionState::Error;
            self.state.ready = false;
        }
        if fault != self.fault {
            self.fault.clone_from(&fault);
            self.outputs.push_back(Output::Fault(fault));
        }
    }

    /// The progress of primitives in a driver that tells nothing but its state.
    fn derive(&mut self, now: Duration) {
        let (status, ready) = (self.state.status, self.state.ready);
        let rests = ready && matches!(status, ExecutionState::Success | ExecutionState::Idle);
        match self.watched {
            Watched::Nothing => {}
            Watched::Given(_) if status == ExecutionState::Executing => {
                self.watched = Watched::Moving;
                if let Some(id) = self.in_robot.iter().flatten().copied().next() {
                    self.started(id);
                    self.progress(Progress::Started { id });
                }
            }
            Watched::Given(since) if rests && now.saturating_sub(since) >= UNSEEN => self.all_done(true),
            Watched::Moving if rests || status == ExecutionState::Success => self.all_done(false),
            Watched::Given(_) | Watched::Moving => {
                if matches!(status, ExecutionState::Stopped | ExecutionState::Error) {
                    self.watched = Watched::Nothing;
                }
            }
        }
    }

    /// The driver has done all it was given.
    fn all_done(&mut self, unseen: bool) {
        self.watched = Watched::Nothing;
        let done = self.forget_all();
        for (i, id) in done.iter().copied().enumerate() {
            if i > 0 || unseen {
                self.started(id);
                self.progress(Progress::Started { id });
            }
            self.finished(id);
        }
    }

    fn finished(&mut self, id: PrimitiveId) {
        self.progress(Progress::Finished { id });
        if self.goal.as_ref().is_some_and(|goal| goal.last == id && goal.ending.is_none()) {
            self.finish_goal(GoalOutcome::Succeeded);
        }
    }

    /// The robot has stopped: goals end, and a stop that nobody else has to lift is lifted.
    fn standing(&mut self, now: Duration) {
        self.end_goal("the robot stopped by itself");
        if self.stop == Stop::ThenReset {
            self.stop = Stop::No;
            self.forward(&Command::ResetStop, now);
        }
    }

    fn robot_event(&mut self, event: RobotEvent) {
        match event {
            RobotEvent::Started(number) => {
                if let Some(id) = self.id_of(number) {
                    self.started(id);
                    self.progress(Progress::Started { id });
                }
            }
            RobotEvent::Blended(from, to) => {
                if let (Some(id), Some(next)) = (self.id_of(from), self.id_of(to)) {
                    self.started(next);
                    self.progress(Progress::Blended { id, next });
                }
            }
            RobotEvent::Finished(number) => {
                let id = self.id_of(number);
                self.forget_through(number);
                if let Some(id) = id {
                    self.finished(id);
                }
            }
            RobotEvent::Failed(number, reason) => {
                let slot = self.index_of(number).and_then(|index| self.in_robot.get_mut(index));
                if let Some(id) = slot.and_then(Option::take) {
                    self.progress(Progress::Failed { id, reason: reason.clone() });
                }
                self.robot_failed(&reason);
            }
            RobotEvent::Note(number, text) => {
                if let Some(id) = self.id_of(number) {
                    self.progress(Progress::Note { id, text });
                }
            }
        }
    }

    fn started(&mut self, id: PrimitiveId) {
        let Some(goal) = &mut self.goal else { return };
        // Moves begin in order: those before this one are done with.
        while goal.moves.front().is_some_and(|(first, _)| *first < id) {
            goal.moves.pop_front();
        }
        let feedback = goal.moves.front().filter(|(first, _)| *first == id).map(|(_, index)| {
            // The wire has one byte for the index; beyond it the last value stands.
            Output::Feedback { goal: goal.id, index: u8::try_from(*index).unwrap_or(u8::MAX) }
        });
        self.outputs.extend(feedback);
    }

    fn robot_failed(&mut self, reason: &str) {
        self.end_goal_with(GoalOutcome::Aborted(reason.to_owned()));
        self.watched = Watched::Nothing;
        self.inside_sequence = false;
        for id in self.forget_all() {
            self.progress(Progress::Discarded { id, reason: "the robot is in ERROR".into() });
        }
        self.discard_waiting("the robot is in ERROR");
        self.report_depth();
    }

    /// An action client has no RESET_STOP to send, so the next goal must find the robot usable. This is done a cycle
    /// after the failure, so that ERROR is told before it is over. A fault of the robot itself is for people to look at.
    fn recover(&mut self, now: Duration) {
        self.end_goal("the robot reports ERROR");
        if self.stop != Stop::UntilReset && self.hardware.fault().is_none() {
            self.stop = Stop::ThenReset;
            self.forward(&Command::Stop, now);
        }
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first_in_robot)?).ok()
    }

    fn id_of(&self, number: u64) -> Option<PrimitiveId> {
        self.in_robot.get(self.index_of(number)?).copied().flatten()
    }

    /// The primitives the robot has taken and will not finish.
    fn forget_all(&mut self) -> Vec<PrimitiveId> {
        self.first_in_robot += self.in_robot.len() as u64;
        self.in_robot.drain(..).flatten().collect()
    }

    fn forget_through(&mut self, number: u64) {
        while self.first_in_robot <= number && self.in_robot.pop_front().is_some() {
            self.first_in_robot += 1;
        }
    }
}
