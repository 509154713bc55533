//! The end of a request: what is reported, and why something failed.

use std::{collections::BTreeMap, time::Duration};

use rosless_engine::{Now, Wall};

use super::{Ask, Asked, Request, Stage, Wake};
use crate::{
    clock::Offset,
    controller::{
        Controller, Output, System, Targets,
        deadlines::Timer,
        report::{Failure, Outcome, Reason, Report, SystemResult},
        sessions::GivenUp,
    },
    message::Command,
    name::SystemId,
};

impl Controller {
    /// Everybody is resolved: takes back what an all-or-none start began, and looks for reasons.
    pub(super) fn conclude(&mut self, request: &mut Request, now: Now) -> Option<Wake> {
        let failed = request.asked.values().any(|a| matches!(a.resolved(), Some(Outcome::Failed(_))));
        // Who was asked and has not told that it failed may start yet.
        let may_run = |a: &Asked| match a.resolved() {
            Some(Outcome::Done(_)) => true,
            Some(Outcome::Failed(
                Failure::Refused(_) | Failure::NoAnswer | Failure::Unconfirmed | Failure::Slow(_),
            )) => a.attempts > 0,
            _ => false,
        };
        if request.ask.atomic && request.ask.command == Command::Start && failed {
            let started: Vec<_> = request
                .asked
                .iter()
                .filter(|(_, a)| may_run(a))
                .map(|(id, _)| id.as_str().to_owned())
                .collect();
            if !started.is_empty() {
                let undo = Ask {
                    deadline: request.ask.deadline,
                    ..Ask::new(Command::Stop, "", Targets::Named(started))
                };
                request.stage = Stage::Undoing(self.open(undo, Some(request.number), now));
                return Some(Wake::ByOthers);
            }
        }
        if request.asked.values().any(wants_reason) && request.parent.is_none() && now.mono < request.until {
            self.outputs.push_back(Output::ReadLogs);
            request.stage = Stage::Explaining;
            let patience = Timer::Silence(request.number, explaining());
            let until = request.until.min(now.mono + self.settings.log_patience);
            self.deadlines.set(patience, until);
            return self.step(request, now);
        }
        None
    }

    pub(super) fn end(&mut self, request: Request, now: Now) {
        self.deadlines.clear(Timer::Request(request.number));
        self.deadlines.clear(Timer::Silence(request.number, explaining()));
        match request.parent {
            Some(parent) => {
                self.note_given_up(&request, now);
                self.child_ended(parent, &request, now);
            }
            None => self.report(request, now),
        }
    }

    pub(super) fn note_given_up(&mut self, request: &Request, now: Now) {
        for (id, asked) in request.asked.iter() {
            self.deadlines.clear(Timer::Silence(request.number, id.clone()));
            let unconfirmed =
                matches!(asked.resolved(), Some(Outcome::Failed(Failure::Unconfirmed | Failure::Cancelled)));
            if unconfirmed && asked.acked.is_some() && request.ask.command == Command::Start {
                // By its own word it is in it, and its state will tell when it comes.
                self.enter(id, Some(request.ask.session.clone()), now);
            }
            let already = matches!(asked.resolved(), Some(Outcome::Already(_)));
            if asked.attempts > 0 && asked.acked.is_none() && !already {
                let process = self.systems.get(id).and_then(|system| system.participant);
                let session = request.ask.session.clone();
                let given_up = GivenUp { session, process, at: now.mono, refuted: false };
                self.given_up.insert((id.clone(), request.ask.command), given_up);
            }
        }
        // Bounded like the systems themselves, whatever happens for months.
        while self.given_up.len() > 2 * super::super::MAX_SYSTEMS {
            self.given_up.pop_first();
        }
        while self.lost.len() > super::super::MAX_SYSTEMS {
            self.lost.pop_first();
        }
    }

    pub(super) fn report(&mut self, request: Request, now: Now) {
        self.note_given_up(&request, now);
        let command = request.ask.command;
        let mut results = BTreeMap::new();
        let mut activations = Vec::new();
        for (id, asked) in request.asked {
            let system = self.systems.get(&id);
            let Some(mut outcome) = asked.resolved().cloned() else { continue };
            if outcome.is_success() && system.is_some_and(System::ambiguous) {
                outcome = Outcome::Failed(Failure::Ambiguous);
            }
            let wants = matches!(&outcome, Outcome::Failed(failure) if failure.has_reason());
            let result = SystemResult {
                outcome,
                dialect: system.map(|s| s.channel.dialect),
                session: system.and_then(System::session).map(str::to_owned),
                reason: system.filter(|_| wants).and_then(|s| reason(s, &asked, now)),
                attempts: asked.attempts,
                answered_after: asked
                    .acked
                    .zip(asked.first_sent)
                    .map(|(a, sent)| a.at.saturating_sub(sent.mono)),
                elapsed: asked.acked.and_then(|a| a.elapsed),
                clock: system.map(|s| s.clock_at(now.mono)).unwrap_or_default(),
                armed: asked.armed,
                duplicates: asked.duplicates,
            };
            if let (Some(answer), Some(offset)) =
                (asked.acked, result.clock.offset.filter(|_| !result.clock.simulated))
                && result.outcome.is_success()
            {
                activations.push((answer.stamp.0.saturating_sub(offset.nanos), offset.uncertainty));
            }
            results.insert(id, result);
        }
        let last_answer_after = request.last_answer.zip(request.first_sent).map(|(a, s)| a.saturating_sub(s));
        self.outputs.push_back(Output::Finished(Report {
            request: request.number,
            command,
            session: request.ask.session,
            results,
            messages: request.messages,
            took: now.mono.saturating_sub(request.begun),
            last_answer_after,
            spread: spread(&activations),
        }));
    }
}

/// How far the first and the last of these times are apart.
pub(super) fn spread(times: &[(i64, i64)]) -> Option<Offset> {
    let (first, last) = (times.iter().min()?, times.iter().max()?);
    let uncertainty = first.1.saturating_add(last.1);
    (times.len() > 1).then(|| Offset { nanos: last.0.saturating_sub(first.0), uncertainty })
}

/// The name under which a request itself waits for logs; no system has it.
pub(super) fn explaining() -> SystemId {
    SystemId::nobody()
}

pub(super) fn wants_reason(asked: &Asked) -> bool {
    matches!(asked.resolved(), Some(Outcome::Failed(failure)) if failure.has_reason())
}

/// What the system's own log says about its failure.
pub(super) fn reason(system: &System, asked: &Asked, now: Now) -> Option<Reason> {
    let sent = asked.first_sent.map_or(Wall(0), |sent| sent.wall);
    let (line, at) = system.complaint(sent, asked.failed_at, now)?;
    let before = u64::try_from(now.wall.0.saturating_sub(at.0)).unwrap_or(0);
    Some(Reason { text: line.text.clone(), before: Duration::from_nanos(before) })
}
