//! The command on its way: one message to all, again to those who may not have heard it.

use std::{collections::BTreeMap, time::Duration};

use rosless_engine::{Now, Wall};

use super::{Asked, Kind, Phase, Request, Stage};
use crate::{
    controller::{
        Controller, Event, Output, REMEMBERED_STAMPS, System, Targets,
        deadlines::Timer,
        report::{Failure, Outcome},
    },
    dialect::Channel,
    message::{Command, Control},
    name::SystemId,
};

impl Controller {
    /// Sends the first message, or makes an appointment.
    pub(super) fn send_first(&mut self, request: &mut Request, now: Now) {
        let Some(at) = request.ask.at.filter(|_| request.ask.command == Command::Start) else {
            return self.send_to_all(request, now);
        };
        let instant = now.mono + request.ask.ahead(now);
        request.stage = Stage::Arming(instant);
        request.first_sent = Some(instant);
        request.arming_at = Some(now.mono);
        let (number, session) = (request.number, &request.ask.session);
        request.asked.each(|id, asked| {
            if !matches!(asked.phase, Phase::Before | Phase::Again) {
                return;
            }
            asked.phase = Phase::Arming;
            if let Some(system) = self.systems.get_mut(id).filter(|system| system.present()) {
                // Its answer to this may get lost, and it starts all the same.
                system.clock.stamps.asked(Command::Start, now.mono, true);
                let (system, session) = (id.clone(), session.clone());
                self.outputs.push_back(Output::Arm { request: number, system, session, at });
            }
        });
    }

    /// What came of an appointment.
    pub(in crate::controller) fn armed(
        &mut self,
        number: u64,
        id: &SystemId,
        sent: Duration,
        clock: Option<Wall>,
        now: Now,
    ) {
        let Some(request) = self.requests.get_mut(&number) else { return };
        let Some(clock) = clock else {
            // It will not start by itself, so nothing it says answers this.
            if let (Some(at), Some(system)) = (request.arming_at, self.systems.get_mut(id)) {
                system.clock.stamps.withdrawn(Command::Start, at);
            }
            return;
        };
        if let (Stage::Arming(instant), Some(at)) = (&request.stage, request.ask.at)
            && request.asked.get(id).is_some_and(|asked| asked.phase == Phase::Arming)
            && let Some(system) = self.systems.get_mut(id)
        {
            system.note_armed(sent, clock, now);
            request.asked.edit(id, |asked| {
                (asked.armed, asked.attempts, asked.phase) = (true, 1, Phase::Waiting);
                asked.first_sent = Some(Now { mono: *instant, wall: at });
            });
            let silence = Timer::Silence(number, id.clone());
            self.deadlines.set(silence, *instant + self.settings.retry_period);
        }
    }

    /// The first message goes to all at once: that is what starts a session synchronously.
    pub(super) fn send_to_all(&mut self, request: &mut Request, now: Now) {
        request.asked.each(|_, asked| {
            if asked.phase == Phase::Before {
                asked.phase = Phase::Again;
            }
        });
        let start = request.ask.command == Command::Start;
        let included = |a: &Asked| match &a.phase {
            Phase::Again => true,
            // Who is active need not be warned of a second START; a STOP is for everybody.
            Phase::Resolved(Outcome::Already(_)) => !start,
            _ => false,
        };
        if request.ask.targets == Targets::All && request.asked.values().all(included) {
            let asked = request.asked.iter().filter(|(_, a)| a.phase == Phase::Again);
            let asked: Vec<_> = asked.map(|(id, _)| id.clone()).collect();
            self.mark_sent(request, &asked, now);
            for channel in self.channels.clone() {
                self.publish(request, channel, Vec::new(), now);
            }
            return;
        }
        // A volatile message to somebody who is not matched is lost: such a one is asked when it is matched.
        let deaf = |id: &SystemId| self.systems.get(id).is_some_and(|s| s.present() && !s.reachable());
        let deaf: Vec<_> =
            request.asked.iter().filter(|(id, a)| a.phase == Phase::Again && deaf(id)).collect();
        let deaf: Vec<_> = deaf.into_iter().map(|(id, _)| id.clone()).collect();
        for id in deaf {
            self.wait(request, &id, now);
        }
        self.send(request, now);
    }

    /// Waits for an acknowledgement, so long.
    pub(super) fn wait(&mut self, request: &mut Request, id: &SystemId, now: Now) {
        if request.asked.edit(id, |asked| asked.phase = Phase::Waiting).is_some() {
            let silence = Timer::Silence(request.number, id.clone());
            self.deadlines.set(silence, now.mono + self.settings.retry_period);
        }
    }

    pub(super) fn mark_sent(&mut self, request: &mut Request, ids: &[SystemId], now: Now) {
        for id in ids {
            request.asked.edit(id, |asked| {
                asked.attempts += 1;
                asked.first_sent.get_or_insert(now);
            });
            if let Some(system) = self.systems.get_mut(id) {
                system.note_sent(request.ask.command, now.mono);
            }
            self.wait(request, id, now);
        }
    }

    /// Sends to everybody marked [`Phase::Again`]: one message per channel with the list of those meant.
    pub(super) fn send(&mut self, request: &mut Request, now: Now) {
        let again = request.asked.iter().filter(|(_, a)| a.phase == Phase::Again);
        let mut again: Vec<_> = again.map(|(id, _)| id.clone()).collect();
        self.mark_sent(request, &again, now);
        if request.ask.command == Command::Stop {
            // Also to those that seem to be stopped: an activation may be under way that no state tells of.
            let already = |a: &Asked| a.attempts == 0 && matches!(a.resolved(), Some(Outcome::Already(_)));
            request.asked.each(|id, asked| {
                if already(asked) {
                    asked.attempts = 1;
                    again.push(id.clone());
                }
            });
        }
        let names = self.bare_names();
        let mut lists: BTreeMap<Channel, Vec<String>> = BTreeMap::new();
        for id in again {
            let Some(system) = self.systems.get(&id) else {
                // Nobody knows which dialect it would speak.
                for channel in self.channels.iter().filter(|c| c.namespace == self.home) {
                    lists.entry(channel.clone()).or_default().push(id.short().to_owned());
                }
                continue;
            };
            // The spelling it answers to; the full name only where two on one topic share the short one.
            let shared = names.get(&(&system.channel, id.bare())).is_some_and(|n| *n > 1);
            let name = if shared { id.as_str().to_owned() } else { system.source.clone() };
            lists.entry(system.channel.clone()).or_default().push(name);
        }
        for (channel, list) in lists {
            self.publish(request, channel, list, now);
        }
    }

    /// How many present systems on each channel share a bare name.
    pub(super) fn bare_names(&self) -> BTreeMap<(&Channel, &str), usize> {
        let mut names = BTreeMap::new();
        for (id, system) in self.systems.iter().filter(|(_, s)| s.present()) {
            *names.entry((&system.channel, id.bare())).or_default() += 1;
        }
        names
    }

    pub(super) fn publish(
        &mut self,
        request: &mut Request,
        channel: Channel,
        systems: Vec<String>,
        now: Now,
    ) {
        let command = request.ask.command;
        request.messages += 1;
        request.first_sent.get_or_insert(now.mono);
        if self.stamps.len() == REMEMBERED_STAMPS {
            self.stamps.pop_front();
        }
        self.stamps.push_back(now.wall);
        self.note_asked(command, &channel, &systems, now, true);
        // Library STOPs of the originals carry no session either.
        let session = if command == Command::Start { request.ask.session.clone() } else { String::new() };
        let message =
            Control { kind: command.ask(), stamp: now.wall, source: self.source.clone(), session, systems };
        self.outputs.push_back(Output::Publish { channel, message });
    }

    /// The silence of an asked system has lasted long enough.
    pub(in crate::controller) fn silent(&mut self, number: u64, id: &SystemId, now: Now) {
        let present = self.systems.get(id).is_some_and(System::present);
        let retries = self.settings.retries;
        let Some(request) = self.requests.get_mut(&number) else { return };
        let confirms = request.asked.edit(id, |asked| {
            match asked.phase {
                Phase::Waiting if present => asked.phase = Phase::Confirming,
                Phase::Waiting if asked.attempts > retries => asked.fail(Failure::Unknown),
                Phase::Waiting => asked.phase = Phase::Again,
                _ => return false,
            }
            present
        });
        if confirms == Some(true) {
            self.query(id, now);
        }
    }

    /// Sends to those who are to be asked.
    pub(super) fn chase(&mut self, request: &mut Request, now: Now) {
        if request.asked.count(Kind::Again) == 0 {
            return;
        }
        let due = request.asked.iter().filter(|(_, a)| a.phase == Phase::Again);
        let systems: Vec<_> = due.filter(|(_, a)| a.attempts > 0).map(|(id, _)| id.clone()).collect();
        self.send(request, now);
        if !systems.is_empty() {
            self.event(Event::Retry { command: request.ask.command, systems });
        }
    }
}
