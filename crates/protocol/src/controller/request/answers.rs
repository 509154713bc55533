//! What comes back: acknowledgements, states, departures, and what each says about the command.

use rosless_engine::{Now, Wall};

use super::{Asked, Phase, Request, Stage};
use crate::{
    controller::{
        Answer, Controller, Event, NoState, Output, Settings, System,
        deadlines::Timer,
        report::{Failure, Outcome, Proof},
    },
    message::{Command, State},
    name::SystemId,
};

/// What an acknowledgement is to the request that it answers.
#[derive(PartialEq)]
enum Heard {
    First,
    Again,
    /// It was waited for no longer, because its state had told the same.
    AfterItsState,
    Late,
}

impl Controller {
    /// Whether an acknowledgement answers one of our requests.
    pub(in crate::controller) fn acknowledged_to_us(
        &mut self,
        id: &SystemId,
        command: Command,
        answer: Answer,
        now: Now,
    ) -> bool {
        // Who has not been asked yet answers somebody else.
        let asked = |r: &Request| {
            !r.asked.get(id).is_some_and(|a| {
                matches!(a.phase, Phase::Queued | Phase::Before | Phase::Running | Phase::Arming)
            })
        };
        let mine = |r: &&mut Request| {
            r.ask.command == command
                && r.first_sent.is_some()
                && (r.asked.contains_key(id) || r.means(id))
                && asked(r)
        };
        let open = |r: &Request| r.asked.get(id).is_some_and(|a| a.resolved().is_none());
        // Two may mean it; the one that waits for it gets it.
        let Some(request) = self.requests.values_mut().filter(mine).min_by_key(|r| !open(r)) else {
            return false;
        };
        if !request.asked.contains_key(id) {
            // A name nobody had announced may turn out to live in another namespace.
            let known = &self.systems;
            let elsewhere = |other: &SystemId| !known.contains_key(other) && other.bare() == id.bare();
            let mistaken =
                request.asked.iter().map(|(other, _)| other).find(|other| elsewhere(other)).cloned();
            if let Some(mistaken) = mistaken {
                request.asked.remove(&mistaken);
            }
            // It was asked by a message to all.
            let sent = request.first_sent.map(|mono| Now { mono, wall: now.wall });
            let asked = Asked { first_sent: sent, phase: Phase::Waiting, ..Asked::new() };
            request.asked.insert(id.clone(), asked);
        }
        let heard = request.asked.edit(id, |asked| {
            if asked.acked.is_some() {
                asked.duplicates += 1;
                return Heard::Again;
            }
            asked.acked = Some(answer);
            match &mut asked.phase {
                // Its state was quicker, and the report is not made yet.
                Phase::Resolved(Outcome::Done(proof)) => {
                    *proof = Proof::Acknowledged;
                    Heard::AfterItsState
                }
                Phase::Resolved(_) => Heard::Late,
                phase => {
                    *phase = Phase::Confirming;
                    Heard::First
                }
            }
        });
        if heard != Some(Heard::Again) {
            request.last_answer = Some(answer.at);
        }
        match heard {
            Some(Heard::Again) => self.event(Event::Duplicate { system: id.clone(), command }),
            Some(Heard::Late) => self.event(Event::Late { system: id.clone(), command }),
            Some(Heard::First) => self.query(id, now),
            Some(Heard::AfterItsState) | None => {}
        }
        true
    }

    /// A system left: also what was confirmed is not true any more.
    pub(in crate::controller) fn left_requests(&mut self, id: &SystemId) {
        for request in self.requests.values_mut() {
            request.asked.edit(id, |asked| {
                if !matches!(asked.resolved(), Some(Outcome::Failed(_))) {
                    asked.fail(Failure::Gone);
                }
            });
        }
    }

    /// What a state means for those who wait for it.
    pub(in crate::controller) fn state_for_requests(
        &mut self,
        id: &SystemId,
        result: Result<State, NoState>,
        now: Now,
    ) {
        let waits = |r: &Request| {
            r.asked.get(id).is_some_and(|a| matches!(a.phase, Phase::Before | Phase::Confirming))
        };
        let numbers: Vec<_> = self.requests.iter().filter(|(_, r)| waits(r)).map(|(n, _)| *n).collect();
        for number in numbers {
            let Some(mut request) = self.requests.remove(&number) else { continue };
            if let Some(mut asked) = request.asked.remove(id) {
                asked.state_seen |= result.is_ok();
                match asked.phase {
                    Phase::Before => asked.phase = self.before(&request, id, result, now),
                    _ => self.after(&mut request, &mut asked, id, result, now),
                }
                let already = matches!(asked.phase, Phase::Resolved(Outcome::Already(_)));
                request.asked.insert(id.clone(), asked);
                // It waited for its turn; the STOP goes to it as to the others, whatever its state is.
                if already && request.ask.command == Command::Stop && request.stage == Stage::Asking {
                    self.send(&mut request, now);
                }
            }
            self.requests.insert(number, request);
        }
    }

    /// What the state after asking means for a system.
    pub(super) fn after(
        &mut self,
        request: &mut Request,
        asked: &mut Asked,
        id: &SystemId,
        result: Result<State, NoState>,
        now: Now,
    ) {
        let command = request.ask.command;
        let system = self.systems.get(id);
        let reachable = system.is_some_and(System::reachable);
        // Its START may still be on its way through the system, and then the state of before says nothing.
        let starting = command == Command::Stop
            && asked.acked.is_none()
            && result == Ok(State::Inactive)
            && system.is_some_and(|s| s.awaits_opposite(command, now, &self.settings));
        asked.phase = match starting {
            true if asked.attempts <= self.settings.retries && reachable => Phase::Again,
            true => Phase::Waiting,
            false => after(asked, command, result, reachable, &self.settings),
        };
        match &asked.phase {
            Phase::Waiting => {
                let silence = Timer::Silence(request.number, id.clone());
                self.deadlines.set(silence, now.mono + self.settings.retry_period);
            }
            // Whether the command was lost or its transition failed, the system's transitions may tell: that is not to be
            // done to a device again blindly.
            Phase::Again if asked.attempts == 1 && result.is_ok() && !asked.looked_into => {
                asked.looked_into = true;
                asked.phase = Phase::Waiting;
                self.outputs.push_back(Output::WatchTransitions { system: id.clone() });
                let silence = Timer::Silence(request.number, id.clone());
                self.deadlines.set(silence, now.mono + self.settings.log_patience);
            }
            Phase::Resolved(Outcome::Failed(failure)) if failure.has_reason() => {
                // What failed is not under way any more; and its log is best read at once.
                if let Some(system) = self.systems.get_mut(id) {
                    system.unanswered.retain(|(sent, _)| *sent != command);
                }
                self.outputs.push_back(Output::ReadLogs);
            }
            Phase::Resolved(Outcome::Done(_)) => {
                let session = (command == Command::Start).then(|| request.ask.session.clone());
                self.enter(id, session, now);
            }
            _ => {}
        }
    }

    /// Only a failure is news: success is acknowledged.
    pub(in crate::controller) fn transition(
        &mut self,
        id: &SystemId,
        from: State,
        to: State,
        stamp: Option<Wall>,
        now: Now,
    ) {
        let Some(system) = self.systems.get(id) else { return };
        let happened = stamp.map(|stamp| system.on_our_clock(stamp, now.mono));
        let mut news = false;
        for request in self.requests.values_mut() {
            let command = request.ask.command;
            if (from, to) != (command.under_way(), command.needed()) {
                continue;
            }
            request.asked.edit(id, |asked| {
                // What is kept for late joiners may be from before the command.
                let since = happened.zip(asked.first_sent);
                let after = since.is_none_or(|((at, slack), sent)| at.0.saturating_add(slack) >= sent.wall.0);
                if matches!(asked.phase, Phase::Waiting | Phase::Confirming) && asked.attempts > 0 && after {
                    asked.begun = true;
                    asked.failed_at = Some(happened.map_or(now.wall, |(at, _)| at));
                    asked.phase = Phase::Confirming;
                    news = true;
                }
            });
        }
        if news {
            self.query(id, now);
        }
    }
}

pub(super) fn after(
    asked: &mut Asked,
    command: Command,
    result: Result<State, NoState>,
    reachable: bool,
    settings: &Settings,
) -> Phase {
    // Who cannot hear us has not refused anything.
    let deaf = asked.acked.is_none() && !reachable;
    let again_possible = asked.attempts <= settings.retries;
    let failed = |failure| Phase::Resolved(Outcome::Failed(failure));
    match result {
        Ok(state) if state == command.wanted() => {
            let proof = if asked.acked.is_some() { Proof::Acknowledged } else { Proof::StateOnly };
            Phase::Resolved(Outcome::Done(proof))
        }
        Ok(state) if state.is_transition() => {
            asked.begun |= state == command.under_way();
            Phase::Waiting
        }
        Ok(state) if state == command.needed() && deaf => Phase::Waiting,
        Ok(state) if state == command.needed() && asked.begun => failed(match asked.acked {
            Some(_) => Failure::FalseAck(state),
            None => Failure::Aborted(state),
        }),
        Ok(state) if state == command.needed() => {
            if asked.acked.take().is_some() {
                // It may have been the late acknowledgement of an earlier request: ours gets its time to come.
                asked.refuted += 1;
                return Phase::Waiting;
            }
            match (again_possible, asked.refuted) {
                (true, _) => Phase::Again,
                // It may take its time before it begins.
                (false, 0) => Phase::Waiting,
                (false, _) => failed(Failure::FalseAck(state)),
            }
        }
        Ok(state) => failed(Failure::WrongState(state)),
        Err(NoState::NoService) if asked.acked.is_some() && !asked.state_seen => {
            Phase::Resolved(Outcome::Done(Proof::AckOnly))
        }
        Err(_) if asked.acked.is_none() && again_possible && !deaf => Phase::Again,
        Err(_) => Phase::Waiting,
    }
}

/// Whether its state was learnt after it was asked.
fn told_since(system: &System, asked: &Asked) -> bool {
    asked.first_sent.is_some_and(|sent| system.state_at >= sent.mono)
}

pub(super) fn at_deadline(system: Option<&System>, asked: &Asked, command: Command) -> Failure {
    match system {
        None => Failure::Unknown,
        Some(system) if !system.present() => Failure::Gone,
        Some(system) => match system.state {
            Some(Ok(state)) if state.is_transition() => Failure::Slow(state),
            _ if asked.phase == Phase::Queued => Failure::Busy,
            _ if !system.reachable() => Failure::Unreachable,
            _ if asked.attempts == 0 => Failure::NotAsked,
            Some(Ok(state)) if told_since(system, asked) && state == command.needed() => {
                Failure::Refused(state)
            }
            Some(Ok(state)) if told_since(system, asked) && state != command.wanted() => {
                Failure::WrongState(state)
            }
            _ if asked.acked.is_some() => Failure::Unconfirmed,
            Some(Ok(state)) if told_since(system, asked) && state == command.wanted() => Failure::InDoubt,
            _ => Failure::NoAnswer,
        },
    }
}
