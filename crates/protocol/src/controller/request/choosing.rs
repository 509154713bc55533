//! Who is meant, and what has to happen with each of them before the command goes out.

use std::{collections::BTreeSet, time::Duration};

use rosless_engine::Now;

use super::{Ask, Asked, Kind, Phase, Request, Stage};
use crate::{
    controller::{
        Controller, FRESH, NoState, System, Targets, clip,
        report::{Failure, Outcome},
    },
    message::{Command, State},
    name::{Listed, SystemId},
};

impl Controller {
    /// When gathering ends, if nobody else comes.
    pub(super) fn gathered_at(&self, request: &Request) -> Duration {
        let patience = request.begun + self.settings.discovery.min(self.settings.deadline);
        // Whoever has been found is to have at least half of the time.
        let half = request.until.saturating_sub(request.begun) / 2;
        let settled = (self.changed_at + self.settings.settle).min(request.begun + half);
        let present = |name: &String| {
            let mut meant = self.meant(name).peekable();
            meant.peek().is_some() && meant.all(|(_, s)| s.reachable())
        };
        let found = match &request.ask.targets {
            Targets::All => self.all_reachable() && request.ask.expect.iter().all(present),
            Targets::Named(names) => names.iter().chain(&request.ask.expect).all(present),
        };
        // A bare name may mean more than one, and the others may not have been heard of yet.
        let complete = match &request.ask.targets {
            Targets::All => false,
            Targets::Named(names) => names.iter().all(|name| name.contains('/')),
        };
        match (found, complete) {
            (true, true) => request.begun,
            (true, false) => patience.min(settled),
            (false, _) => patience,
        }
    }

    /// The present systems that a name means. A full name is looked up, a bare one may be in any namespace.
    pub(super) fn meant<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a SystemId, &'a System)> {
        let full = name.contains('/').then(|| SystemId::resolve("", name).ok()).flatten();
        let one = full.as_ref().and_then(|id| self.systems.get_key_value(id));
        let many = full.is_none().then_some(&self.systems).into_iter().flatten();
        one.into_iter().chain(many).filter(move |(id, s)| s.present() && id.is_meant_by(name))
    }

    /// Everybody who announced is reachable, and there is somebody.
    pub(super) fn all_reachable(&self) -> bool {
        let mut announced = self.systems.values().filter(|s| s.announced()).peekable();
        announced.peek().is_some() && announced.all(System::reachable)
    }

    /// Settles who is asked, and asks for their states.
    pub(super) fn check(&mut self, request: &mut Request, now: Now) {
        let mut asked: BTreeSet<SystemId> = match &request.ask.targets {
            Targets::All => {
                self.systems.iter().filter(|(_, s)| s.announced()).map(|(id, _)| id.clone()).collect()
            }
            Targets::Named(names) => {
                names.iter().flat_map(|name| self.meant(name)).map(|(id, _)| id.clone()).collect()
            }
        };
        for id in &asked {
            let mut mine = Asked::new();
            if self.taken(request, id) {
                mine.phase = Phase::Queued;
            } else {
                self.look(request, id, &mut mine, now);
            }
            request.asked.insert(id.clone(), mine);
        }
        if let Targets::Named(names) = &request.ask.targets {
            let unknown = names.iter().filter(|n| self.meant(n).next().is_none());
            let unknown: Vec<_> = unknown.filter_map(|n| SystemId::resolve(&self.home, n).ok()).collect();
            asked.extend(unknown.iter().cloned());
            for id in unknown {
                request.asked.insert(id, Asked { phase: Phase::Again, ..Asked::new() });
            }
        }
        let missing = request.ask.expect.iter().filter(|n| !asked.iter().any(|id| id.is_meant_by(n)));
        let missing: Vec<_> = missing.filter_map(|n| SystemId::resolve(&self.home, n).ok()).collect();
        for id in missing {
            let mut absent = Asked::new();
            // Who is there and was not meant is expected to take part all the same.
            let there = self.systems.get(&id).is_some_and(System::present);
            absent.fail(if there { Failure::NotMeant } else { Failure::Unknown });
            request.asked.insert(id, absent);
        }
    }

    /// Whether an older request with the same command has this system; one with the opposite command loses it.
    pub(super) fn taken(&mut self, request: &Request, id: &SystemId) -> bool {
        let mut taken = false;
        for other in self.requests.values_mut().filter(|other| other.rank() < request.rank()) {
            if other.asked.get(id).is_none_or(|a| a.resolved().is_some()) {
                continue;
            }
            // What a start does on its way, stopping included, is not to be taken from it by another start.
            if other.ask.command == request.ask.command || other.parent.is_some() {
                taken = true;
            } else {
                other.asked.edit(id, |asked| asked.fail(Failure::Superseded));
                self.stirred = true;
            }
        }
        taken
    }

    /// Looks at the state of a system before it is asked, unless what is needed is known already.
    pub(super) fn look(&mut self, request: &Request, id: &SystemId, asked: &mut Asked, now: Now) {
        let Some(system) = self.systems.get(id) else {
            asked.phase = Phase::Again;
            return;
        };
        asked.phase = Phase::Before;
        let needed = Ok(request.ask.command.needed());
        let fresh = system.state == Some(needed) && now.mono.saturating_sub(system.state_at) < FRESH;
        if fresh && system.query.is_none() && system.unanswered.is_empty() && system.rivals().next().is_none()
        {
            asked.phase = Phase::Again;
        } else {
            self.query(id, now);
        }
    }

    /// Those that waited for another request come to their turn.
    pub(super) fn unqueue(&mut self, request: &mut Request, now: Now) {
        if request.asked.count(Kind::Queued) == 0 {
            return;
        }
        let queued = request.asked.iter().filter(|(_, a)| a.phase == Phase::Queued);
        let queued: Vec<_> = queued.map(|(id, _)| id.clone()).collect();
        for id in queued {
            if self.taken(request, &id) {
                continue;
            }
            if let Some(mut asked) = request.asked.remove(&id) {
                self.look(request, &id, &mut asked, now);
                request.asked.insert(id, asked);
            }
        }
    }

    /// All states are known: starts, stops first what must be stopped, or does nothing at all.
    pub(super) fn decide(&mut self, request: &mut Request, now: Now) {
        request.stage = Stage::Asking;
        if request.ask.command == Command::Start {
            let deaf = |id: &SystemId| self.systems.get(id).is_none_or(|s| !s.reachable());
            let expect = Listed::new(&request.ask.expect);
            let expected = |id: &SystemId| expect.means(id);
            let atomic = request.ask.atomic;
            request.asked.each(|id, asked| match asked.phase {
                Phase::Resolved(_) => {}
                _ if expected(id) && !self.systems.get(id).is_some_and(System::present) => {
                    asked.fail(Failure::Unknown);
                }
                Phase::Queued if atomic => asked.fail(Failure::Busy),
                _ if atomic && !self.systems.contains_key(id) => asked.fail(Failure::Unknown),
                _ if atomic && deaf(id) => asked.fail(Failure::Unreachable),
                _ => {}
            });
            let blocks = |a: &Asked| match a.resolved() {
                Some(Outcome::Failed(Failure::OtherSession(_) | Failure::NotMeant)) => true,
                Some(Outcome::Failed(_)) => request.ask.atomic,
                _ => false,
            };
            let absent = |(id, a): (&SystemId, &Asked)| {
                matches!(a.resolved(), Some(Outcome::Failed(Failure::Unknown))) && expected(id)
            };
            if request.asked.values().any(blocks) || request.asked.iter().any(absent) {
                return request.give_up(|_, _| Failure::Withheld);
            }
        }
        if !self.stop_first(request, now) {
            self.send_first(request, now);
        }
    }

    /// Stops those that are to be started anew, if there are any.
    pub(super) fn stop_first(&mut self, request: &mut Request, now: Now) -> bool {
        if request.asked.count(Kind::Running) == 0 {
            return false;
        }
        let running = request.asked.iter().filter(|(_, a)| a.phase == Phase::Running);
        let running: Vec<_> = running.map(|(id, _)| id.as_str().to_owned()).collect();
        // The first of them prolongs the request; who comes to his turn later is stopped in what is left of its time.
        let left = request.prolonged.then(|| request.until.saturating_sub(now.mono));
        let deadline = left.or(request.ask.deadline);
        let stop = Ask { deadline, ..Ask::new(Command::Stop, "", Targets::Named(running)) };
        request.stage = Stage::Stopping(self.open(stop, Some(request.number), now));
        true
    }

    /// What the state before asking means for a system.
    pub(super) fn before(
        &self,
        request: &Request,
        id: &SystemId,
        result: Result<State, NoState>,
        now: Now,
    ) -> Phase {
        let Ask { command, targets, session, restart, .. } = &request.ask;
        let Some(system) = self.systems.get(id) else { return Phase::Again };
        // An opposite command may still be on its way to the system: then its state may be about to change. And who knows
        // which of two namesakes answered.
        let in_doubt =
            system.awaits_opposite(*command, now, &self.settings) || system.rivals().next().is_some();
        let failed = |failure| Phase::Resolved(Outcome::Failed(failure));
        match (command, result) {
            _ if in_doubt => Phase::Again,
            (Command::Start, Ok(State::Active | State::Activating)) if *restart => Phase::Running,
            (Command::Start, Ok(State::Active)) => match system.session() {
                Some(running) if running != session => failed(Failure::OtherSession(clip(running))),
                _ => Phase::Resolved(Outcome::Already(State::Active)),
            },
            (Command::Stop, Ok(State::Inactive)) => Phase::Resolved(Outcome::Already(State::Inactive)),
            (_, Ok(state)) if state == command.needed() || state.is_transition() => Phase::Again,
            // What is not even configured needs no stopping when everybody is told to stop.
            (Command::Stop, Ok(state)) if *targets == Targets::All => {
                Phase::Resolved(Outcome::Already(state))
            }
            (_, Ok(state)) => failed(Failure::WrongState(state)),
            // It does not tell now, and is known to be in a session, in which it would ignore a START.
            (Command::Start, Err(_)) => match system.session() {
                Some(_) if *restart => Phase::Running,
                Some(running) if running != session => failed(Failure::OtherSession(clip(running))),
                _ => Phase::Again,
            },
            (Command::Stop, Err(_)) => Phase::Again,
        }
    }
}
