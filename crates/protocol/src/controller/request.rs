//! One command to several systems, from asking who is there to the report.
//!
//! A request goes through stages, each bounded in time: gathering (are those meant known and matched?) → checking (which
//! state are they in?) → asking (one message to all at once, then per system: acknowledgement → state confirms it; no
//! acknowledgement → state decides whether to ask again). A restart stops first, and an atomic start that fails stops
//! again: both by a request of their own, on which the first one waits.
//!
//! Several requests may be under way. On one system the order is this: the opposite command takes it over from the older
//! request, which says so in its report; the same command waits until the older request is done with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use rosless_engine::{Now, Wall};

use super::{
    Answer, Controller, Event, FRESH, NoState, Output, REMEMBERED_STAMPS, Settings, System, Targets, clip,
    deadlines::Timer,
    report::{Failure, Outcome, Proof, Reason, Report, SystemResult},
};
use crate::{
    clock::Offset,
    dialect::Channel,
    message::{Command, Control, State},
    name::{self, NameError, SystemId},
};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// START or STOP.
    pub command: Command,
    /// What the session is called; a STOP has none.
    pub session: String,
    /// Who is meant.
    pub targets: Targets,
    /// Who must be there: without one of them nothing is started.
    pub expect: Vec<String>,
    /// All or none: nothing is started unless everybody is ready, and if one fails the others are stopped again.
    pub atomic: bool,
    /// Systems that are active are stopped first and then started anew.
    pub restart: bool,
    /// The end of all patience, if it is not that of the settings.
    pub deadline: Option<Duration>,
    /// A start at this instant of our clock: those that can are armed beforehand, the others get their START then.
    pub at: Option<Wall>,
}

impl Ask {
    /// With nothing special about it.
    pub fn new(command: Command, session: &str, targets: Targets) -> Self {
        Self {
            command,
            session: session.to_owned(),
            targets,
            expect: Vec::new(),
            atomic: false,
            restart: false,
            deadline: None,
            at: None,
        }
    }

    /// How long it is until the instant agreed on.
    fn ahead(&self, now: Now) -> Duration {
        let ahead = self.at.and_then(|at| u64::try_from(at.since(now.wall)).ok());
        ahead.map_or(Duration::ZERO, Duration::from_nanos)
    }
}

/// When a request is looked at again.
#[derive(Debug)]
enum Wake {
    At(Duration),
    /// Only what happens to another request, or another timer, matters.
    ByOthers,
}

#[derive(Debug, PartialEq)]
enum Stage {
    Gathering,
    Checking,
    /// Until the request that stops those to be started anew has ended.
    Stopping(u64),
    /// Until the instant agreed on.
    Arming(Duration),
    Asking,
    /// Until the request that stops those started in vain has ended.
    Undoing(u64),
    /// Until the logs of those that failed have been read.
    Explaining,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    /// Another request with the same command has it.
    Queued,
    /// Before the command goes out.
    Before,
    /// To be stopped before it is started.
    Running,
    /// To be asked at the instant agreed on, unless it can be armed.
    Arming,
    /// To be asked in the next message.
    Again,
    /// For an acknowledgement, until [`Timer::Silence`].
    Waiting,
    /// For the lifecycle state.
    Confirming,
    Resolved(Outcome),
}

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) phase: Phase,
    attempts: u32,
    first_sent: Option<Now>,
    /// The system answered a state query at least once during this request.
    state_seen: bool,
    /// The transition was seen to begin, so a system that is where it was has failed.
    begun: bool,
    acked: Option<Answer>,
    armed: bool,
    /// Acknowledgements that the lifecycle state refuted.
    refuted: u32,
    duplicates: u32,
}

impl Asked {
    fn new() -> Self {
        Self {
            phase: Phase::Before,
            attempts: 0,
            first_sent: None,
            state_seen: false,
            begun: false,
            acked: None,
            armed: false,
            refuted: 0,
            duplicates: 0,
        }
    }

    fn resolved(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Resolved(outcome) => Some(outcome),
            _ => None,
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.phase = Phase::Resolved(Outcome::Failed(failure));
    }
}

#[derive(Debug)]
pub(super) struct Request {
    number: u64,
    ask: Ask,
    /// The request that waits for this one.
    parent: Option<u64>,
    begun: Duration,
    until: Duration,
    stage: Stage,
    pub(super) asked: BTreeMap<SystemId, Asked>,
    messages: u32,
    first_sent: Option<Duration>,
    last_answer: Option<Duration>,
}

impl Request {
    fn means(&self, id: &SystemId) -> bool {
        match &self.ask.targets {
            Targets::All => true,
            Targets::Named(names) => names.iter().any(|n| id.is_meant_by(n)),
        }
    }

    /// Settles everything that is still open.
    fn give_up(&mut self, why: impl Fn(&SystemId, &Asked) -> Failure) {
        for (id, asked) in &mut self.asked {
            if asked.resolved().is_none() {
                let failure = why(id, asked);
                asked.fail(failure);
            }
        }
    }

    fn all_resolved(&self) -> bool {
        self.asked.values().all(|a| a.resolved().is_some())
    }
}

impl Controller {
    /// Starts or stops systems. Returns the number its [`Report`] will carry.
    ///
    /// # Errors
    /// When one of the names cannot be the name of a system; then nothing is sent. Empty names are left out: lists with
    /// an empty name in them are how some controllers say "nobody".
    pub fn ask(&mut self, mut ask: Ask, now: Now) -> Result<u64, NameError> {
        if let Targets::Named(names) = &mut ask.targets {
            names.retain(|n| !n.is_empty());
            names.iter().try_for_each(|n| name::check(n))?;
        }
        ask.expect.iter().try_for_each(|n| name::check(n))?;
        let number = self.open(ask, None, now);
        self.advance(now);
        Ok(number)
    }

    /// [`ask`](Self::ask) with nothing special about it.
    pub fn request(
        &mut self,
        command: Command,
        session: &str,
        targets: Targets,
        now: Now,
    ) -> Result<u64, NameError> {
        self.ask(Ask::new(command, session, targets), now)
    }

    /// Ends a request now; what is not known yet counts as failed.
    pub fn cancel(&mut self, number: u64, now: Now) {
        let Some(mut request) = self.requests.remove(&number) else { return };
        if let Stage::Stopping(child) | Stage::Undoing(child) = request.stage {
            self.requests.remove(&child);
        }
        let armed = request.asked.iter().filter(|(_, a)| a.armed && a.resolved().is_none());
        let armed: Vec<_> = armed.map(|(id, _)| id.as_str().to_owned()).collect();
        let arming = matches!(request.stage, Stage::Arming(_)) && !armed.is_empty();
        request.give_up(|_, _| Failure::Cancelled);
        self.report(request, now);
        if arming {
            // Only a STOP disarms those who would start by themselves.
            self.open(Ask::new(Command::Stop, "", Targets::Named(armed)), None, now);
            self.advance(now);
        }
    }

    fn open(&mut self, ask: Ask, parent: Option<u64>, now: Now) -> u64 {
        self.counter += 1;
        let until = now.mono + ask.ahead(now) + ask.deadline.unwrap_or(self.settings.deadline);
        let request = Request {
            number: self.counter,
            ask,
            parent,
            begun: now.mono,
            until,
            stage: Stage::Gathering,
            asked: BTreeMap::new(),
            messages: 0,
            first_sent: None,
            last_answer: None,
        };
        self.requests.insert(self.counter, request);
        self.stirred = true;
        self.counter
    }

    /// Moves every request as far as it can go.
    pub(super) fn advance_requests(&mut self, now: Now) {
        loop {
            let numbers: Vec<_> = self.requests.keys().copied().collect();
            let mut ended = false;
            for number in numbers {
                // Out of the table while it is worked on, so that the others can be looked at.
                let Some(mut request) = self.requests.remove(&number) else { continue };
                match self.step(&mut request, now) {
                    Some(wake) => {
                        match wake {
                            Wake::At(at) => self.deadlines.set(Timer::Request(number), at),
                            Wake::ByOthers => self.deadlines.clear(Timer::Request(number)),
                        }
                        self.requests.insert(number, request);
                    }
                    None => {
                        ended = true;
                        self.end(request, now);
                    }
                }
            }
            // The end of one may be what another waited for, one may have opened another, or taken all from an older one.
            if !ended && !std::mem::take(&mut self.stirred) {
                return;
            }
        }
    }

    /// One request's next steps; `None` when it has ended, else when to look again.
    fn step(&mut self, request: &mut Request, now: Now) -> Option<Wake> {
        if request.stage == Stage::Gathering {
            let gathered = self.gathered_at(request).min(request.until);
            if now.mono < gathered {
                return Some(Wake::At(gathered));
            }
            request.stage = Stage::Checking;
            self.check(request, now);
        }
        if request.stage == Stage::Checking {
            let checking = |(id, a): (&SystemId, &Asked)| {
                a.phase == Phase::Before && self.systems.get(id).is_some_and(|s| s.query.is_some())
            };
            if !request.asked.iter().any(checking) {
                self.decide(request, now);
            } else if now.mono < request.until {
                return Some(Wake::At(request.until));
            }
        }
        if let Stage::Arming(instant) = request.stage {
            if now.mono < instant {
                return Some(Wake::At(instant));
            }
            request.stage = Stage::Asking;
            for asked in request.asked.values_mut().filter(|a| a.phase == Phase::Arming) {
                asked.phase = Phase::Again;
            }
            self.send_to_all(request, now);
        }
        if request.stage == Stage::Asking {
            self.unqueue(request, now);
            if self.stop_first(request, now) {
                return Some(Wake::ByOthers);
            }
            self.chase(request, now);
            let lingers = request.asked.is_empty().then_some(request.first_sent).flatten();
            let lingers =
                lingers.map(|sent| sent + self.settings.retry_period).filter(|until| now.mono < *until);
            if let Some(until) = lingers {
                return Some(Wake::At(until.min(request.until)));
            }
            if request.all_resolved() {
                return self.conclude(request, now);
            }
        }
        match request.stage {
            // These are bounded by the request they wait for.
            Stage::Stopping(_) | Stage::Undoing(_) => return Some(Wake::ByOthers),
            Stage::Explaining => {
                let told = |(id, a): (&SystemId, &Asked)| {
                    !wants_reason(a) || self.systems.get(id).is_none_or(|s| reason(s, a, now).is_some())
                };
                let patience = self.deadlines.is_set(&Timer::Silence(request.number, explaining()));
                return (patience && !request.asked.iter().all(told)).then_some(Wake::ByOthers);
            }
            _ => {}
        }
        if now.mono >= request.until {
            let command = request.ask.command;
            request.give_up(|id, asked| at_deadline(self.systems.get(id), asked, command));
            request.stage = Stage::Asking;
            return self.conclude(request, now);
        }
        Some(Wake::At(request.until))
    }

    /// Everybody is resolved: takes back what an all-or-none start began, and looks for reasons.
    fn conclude(&mut self, request: &mut Request, now: Now) -> Option<Wake> {
        let failed = request.asked.values().any(|a| matches!(a.resolved(), Some(Outcome::Failed(_))));
        let done = |a: &Asked| matches!(a.resolved(), Some(Outcome::Done(_)));
        if request.ask.atomic && request.ask.command == Command::Start && failed {
            let started: Vec<_> =
                request.asked.iter().filter(|(_, a)| done(a)).map(|(id, _)| id.as_str().to_owned()).collect();
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

    /// When gathering ends, if nobody else comes.
    fn gathered_at(&self, request: &Request) -> Duration {
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
    fn meant<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a SystemId, &'a System)> {
        let full = name.contains('/').then(|| SystemId::resolve("", name).ok()).flatten();
        let one = full.as_ref().and_then(|id| self.systems.get_key_value(id));
        let many = full.is_none().then_some(&self.systems).into_iter().flatten();
        one.into_iter().chain(many).filter(move |(id, s)| s.present() && id.is_meant_by(name))
    }

    /// Everybody who announced is reachable, and there is somebody.
    fn all_reachable(&self) -> bool {
        let mut announced = self.systems.values().filter(|s| s.announced()).peekable();
        announced.peek().is_some() && announced.all(System::reachable)
    }

    /// Settles who is asked, and asks for their states.
    fn check(&mut self, request: &mut Request, now: Now) {
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
            let unknown = names.iter().filter(|n| !asked.iter().any(|id| id.is_meant_by(n)));
            let unknown: Vec<_> = unknown.filter_map(|n| SystemId::resolve(&self.home, n).ok()).collect();
            asked.extend(unknown.iter().cloned());
            request.asked.extend(unknown.into_iter().map(|id| (id, Asked::new())));
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
    fn taken(&mut self, request: &Request, id: &SystemId) -> bool {
        let mut taken = false;
        for (number, other) in &mut self.requests {
            let Some(asked) = other.asked.get_mut(id).filter(|a| a.resolved().is_none()) else { continue };
            if Some(*number) == request.parent {
                continue;
            }
            if other.ask.command == request.ask.command {
                taken |= *number < request.number;
            } else if *number < request.number {
                asked.fail(Failure::Superseded);
                self.stirred = true;
            }
        }
        taken
    }

    /// Looks at the state of a system before it is asked, unless what is needed is known already.
    fn look(&mut self, request: &Request, id: &SystemId, asked: &mut Asked, now: Now) {
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
    fn unqueue(&mut self, request: &mut Request, now: Now) {
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
    fn decide(&mut self, request: &mut Request, now: Now) {
        request.stage = Stage::Asking;
        if request.ask.command == Command::Start {
            let deaf = |id: &SystemId| self.systems.get(id).is_none_or(|s| !s.reachable());
            let expected = |id: &SystemId| request.ask.expect.iter().any(|n| id.is_meant_by(n));
            for (id, asked) in request.asked.iter_mut().filter(|(id, _)| expected(id)) {
                if asked.resolved().is_none() && !self.systems.get(id).is_some_and(System::present) {
                    asked.fail(Failure::Unknown);
                }
            }
            if request.ask.atomic {
                for (id, asked) in request.asked.iter_mut().filter(|(_, a)| a.resolved().is_none()) {
                    match asked.phase {
                        Phase::Queued => asked.fail(Failure::Busy),
                        _ if !self.systems.contains_key(id) => asked.fail(Failure::Unknown),
                        _ if deaf(id) => asked.fail(Failure::Unreachable),
                        _ => {}
                    }
                }
            }
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
    fn stop_first(&mut self, request: &mut Request, now: Now) -> bool {
        let running = request.asked.iter().filter(|(_, a)| a.phase == Phase::Running);
        let running: Vec<_> = running.map(|(id, _)| id.as_str().to_owned()).collect();
        if running.is_empty() {
            return false;
        }
        let stop =
            Ask { deadline: request.ask.deadline, ..Ask::new(Command::Stop, "", Targets::Named(running)) };
        request.stage = Stage::Stopping(self.open(stop, Some(request.number), now));
        true
    }

    /// The request that was waited for has ended.
    fn child_ended(&mut self, parent: u64, child: &Request, now: Now) {
        let Some(mut request) = self.requests.remove(&parent) else { return };
        request.messages += child.messages;
        let stopped = |id: &SystemId| {
            let outcome = child.asked.get(id).and_then(Asked::resolved);
            outcome.is_some_and(Outcome::is_success)
        };
        match request.stage {
            Stage::Stopping(number) if number == child.number => {
                for (id, asked) in request.asked.iter_mut().filter(|(_, a)| a.phase == Phase::Running) {
                    if stopped(id) { asked.phase = Phase::Again } else { asked.fail(Failure::NotStopped) }
                }
                request.stage = Stage::Asking;
                let patience = request.ask.deadline.unwrap_or(self.settings.deadline);
                let until = now.mono + request.ask.ahead(now) + patience;
                request.until = request.until.max(until);
                if request.ask.atomic && request.asked.values().any(|a| a.resolved().is_some()) {
                    request.give_up(|_, _| Failure::Withheld);
                } else {
                    self.send_first(&mut request, now);
                }
            }
            Stage::Undoing(number) if number == child.number => {
                for (id, asked) in &mut request.asked {
                    if matches!(asked.resolved(), Some(Outcome::Done(_))) {
                        asked.fail(Failure::Undone { stopped: stopped(id) });
                    }
                }
                request.ask.atomic = false;
                request.stage = Stage::Asking;
            }
            _ => {}
        }
        self.requests.insert(parent, request);
    }

    /// Sends the first message, or makes an appointment.
    fn send_first(&mut self, request: &mut Request, now: Now) {
        let Some(at) = request.ask.at.filter(|_| request.ask.command == Command::Start) else {
            return self.send_to_all(request, now);
        };
        let instant = now.mono + request.ask.ahead(now);
        request.stage = Stage::Arming(instant);
        request.first_sent = Some(instant);
        for (id, asked) in &mut request.asked {
            if !matches!(asked.phase, Phase::Before | Phase::Again) {
                continue;
            }
            asked.phase = Phase::Arming;
            if self.systems.get(id).is_some_and(System::present) {
                let (system, session) = (id.clone(), request.ask.session.clone());
                self.outputs.push_back(Output::Arm { request: request.number, system, session, at });
            }
        }
    }

    /// What came of an appointment.
    pub(super) fn armed(
        &mut self,
        number: u64,
        id: &SystemId,
        sent: Duration,
        clock: Option<Wall>,
        now: Now,
    ) {
        let Some(clock) = clock else { return };
        let Some(request) = self.requests.get_mut(&number) else { return };
        let (stage, at) = (&request.stage, request.ask.at);
        if let (Stage::Arming(instant), Some(at)) = (stage, at)
            && let Some(asked) = request.asked.get_mut(id)
            && asked.phase == Phase::Arming
            && let Some(system) = self.systems.get_mut(id)
        {
            system.note_armed(sent, clock, now);
            (asked.armed, asked.attempts, asked.phase) = (true, 1, Phase::Waiting);
            asked.first_sent = Some(Now { mono: *instant, wall: at });
            let silence = Timer::Silence(number, id.clone());
            self.deadlines.set(silence, *instant + self.settings.retry_period);
        }
    }

    /// The first message goes to all at once: that is what starts a session synchronously.
    fn send_to_all(&mut self, request: &mut Request, now: Now) {
        for asked in request.asked.values_mut().filter(|a| a.phase == Phase::Before) {
            asked.phase = Phase::Again;
        }
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
    fn wait(&mut self, request: &mut Request, id: &SystemId, now: Now) {
        if let Some(asked) = request.asked.get_mut(id) {
            asked.phase = Phase::Waiting;
            let silence = Timer::Silence(request.number, id.clone());
            self.deadlines.set(silence, now.mono + self.settings.retry_period);
        }
    }

    fn mark_sent(&mut self, request: &mut Request, ids: &[SystemId], now: Now) {
        for id in ids {
            if let Some(asked) = request.asked.get_mut(id) {
                asked.attempts += 1;
                asked.first_sent.get_or_insert(now);
            }
            if let Some(system) = self.systems.get_mut(id) {
                system.note_sent(request.ask.command, now.mono);
            }
            self.wait(request, id, now);
        }
    }

    /// Sends to everybody marked [`Phase::Again`]: one message per channel with the list of those meant.
    fn send(&mut self, request: &mut Request, now: Now) {
        let again = request.asked.iter().filter(|(_, a)| a.phase == Phase::Again);
        let mut again: Vec<_> = again.map(|(id, _)| id.clone()).collect();
        self.mark_sent(request, &again, now);
        if request.ask.command == Command::Stop {
            // Also to those that seem to be stopped: an activation may be under way that no state tells of.
            let already = |a: &Asked| a.attempts == 0 && matches!(a.resolved(), Some(Outcome::Already(_)));
            for (id, asked) in request.asked.iter_mut().filter(|(_, a)| already(a)) {
                asked.attempts = 1;
                again.push(id.clone());
            }
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
    fn bare_names(&self) -> BTreeMap<(&Channel, &str), usize> {
        let mut names = BTreeMap::new();
        for (id, system) in self.systems.iter().filter(|(_, s)| s.present()) {
            *names.entry((&system.channel, id.bare())).or_default() += 1;
        }
        names
    }

    fn publish(&mut self, request: &mut Request, channel: Channel, systems: Vec<String>, now: Now) {
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
    pub(super) fn silent(&mut self, number: u64, id: &SystemId, now: Now) {
        let present = self.systems.get(id).is_some_and(System::present);
        let retries = self.settings.retries;
        let Some(asked) = self.asked_mut(number, id).filter(|a| a.phase == Phase::Waiting) else { return };
        if present {
            asked.phase = Phase::Confirming;
            self.outputs.push_back(Output::WatchTransitions { system: id.clone() });
            self.query(id, now);
        } else if asked.attempts > retries {
            asked.fail(Failure::Unknown);
        } else {
            asked.phase = Phase::Again;
        }
    }

    /// Sends to those who are to be asked.
    fn chase(&mut self, request: &mut Request, now: Now) {
        let due = request.asked.iter().filter(|(_, a)| a.phase == Phase::Again);
        let (again, first): (Vec<_>, Vec<_>) = due.partition(|(_, a)| a.attempts > 0);
        let systems: Vec<_> = again.into_iter().map(|(id, _)| id.clone()).collect();
        if !first.is_empty() || !systems.is_empty() {
            self.send(request, now);
        }
        if !systems.is_empty() {
            self.event(Event::Retry { command: request.ask.command, systems });
        }
    }

    /// Whether an acknowledgement answers one of our requests.
    pub(super) fn acknowledged_to_us(
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
        let mine =
            |r: &&mut Request| r.ask.command == command && r.first_sent.is_some() && r.means(id) && asked(r);
        let open = |r: &Request| r.asked.get(id).is_some_and(|a| a.resolved().is_none());
        // Two may mean it; the one that waits for it gets it.
        let mut requests: Vec<_> = self.requests.values_mut().filter(mine).collect();
        requests.sort_by_key(|r| !open(r));
        let Some(request) = requests.into_iter().next() else { return false };
        // A name nobody had announced may turn out to live in another namespace.
        if !request.asked.contains_key(id) {
            let known = &self.systems;
            request.asked.retain(|other, _| known.contains_key(other) || other.bare() != id.bare());
        }
        let first_sent = request.first_sent;
        let asked = request.asked.entry(id.clone()).or_insert_with(|| {
            // It was asked by a message to all.
            let sent = first_sent.map(|mono| Now { mono, wall: now.wall });
            Asked { first_sent: sent, phase: Phase::Waiting, ..Asked::new() }
        });
        if asked.acked.is_some() {
            asked.duplicates += 1;
            self.event(Event::Duplicate { system: id.clone(), command });
            return true;
        }
        asked.acked = Some(answer);
        request.last_answer = Some(answer.at);
        if asked.resolved().is_some() {
            self.event(Event::Late { system: id.clone(), command });
            return true;
        }
        asked.phase = Phase::Confirming;
        self.query(id, now);
        true
    }

    /// A system left: also what was confirmed is not true any more.
    pub(super) fn left_requests(&mut self, id: &SystemId) {
        for asked in self.requests.values_mut().filter_map(|r| r.asked.get_mut(id)) {
            if !matches!(asked.resolved(), Some(Outcome::Failed(_))) {
                asked.fail(Failure::Gone);
            }
        }
    }

    /// What a state means for those who wait for it.
    pub(super) fn state_for_requests(&mut self, id: &SystemId, result: Result<State, NoState>, now: Now) {
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
                request.asked.insert(id.clone(), asked);
            }
            self.requests.insert(number, request);
        }
    }

    /// What the state before asking means for a system.
    fn before(&self, request: &Request, id: &SystemId, result: Result<State, NoState>, now: Now) -> Phase {
        let Ask { command, targets, session, restart, .. } = &request.ask;
        let Some(system) = self.systems.get(id) else { return Phase::Again };
        // An opposite command may still be on its way to the system: then its state may be about to change. And who knows
        // which of two namesakes answered.
        let recent = |sent: Duration| now.mono.saturating_sub(sent) < self.settings.deadline;
        let in_doubt = system.unanswered.iter().any(|(other, sent)| other != command && recent(*sent))
            || system.rivals().next().is_some();
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
            (_, Err(_)) => Phase::Again,
        }
    }

    /// What the state after asking means for a system.
    fn after(
        &mut self,
        request: &mut Request,
        asked: &mut Asked,
        id: &SystemId,
        result: Result<State, NoState>,
        now: Now,
    ) {
        let command = request.ask.command;
        let system = self.systems.get(id);
        if let (Some(system), Some(sent)) = (system, asked.first_sent) {
            // An error in its own log: it heard the command and stumbled over it.
            asked.begun |= system.complaint_since(sent.wall).is_some_and(|(line, _)| line.error);
        }
        let reachable = system.is_some_and(System::reachable);
        let was_known = asked.begun;
        asked.phase = after(asked, command, result, reachable, &self.settings);
        match asked.phase {
            Phase::Waiting => {
                let silence = Timer::Silence(request.number, id.clone());
                self.deadlines.set(silence, now.mono + self.settings.retry_period);
            }
            // Whether the command was lost or its transition failed, the system's log may tell: that is not to be done to
            // a device again blindly.
            Phase::Again if asked.attempts == 1 && !was_known && result.is_ok() && !self.reading_logs => {
                self.reading_logs = true;
                self.outputs.push_back(Output::ReadLogs);
                asked.phase = Phase::Waiting;
                let silence = Timer::Silence(request.number, id.clone());
                self.deadlines.set(silence, now.mono + self.settings.log_patience);
            }
            Phase::Resolved(Outcome::Done(_)) => {
                let session = (command == Command::Start).then(|| request.ask.session.clone());
                self.enter(id, session, now);
            }
            _ => {}
        }
    }

    /// Only a failure is news: success is acknowledged.
    pub(super) fn transition(&mut self, id: &SystemId, from: State, to: State, now: Now) {
        let mut news = false;
        for request in self.requests.values_mut() {
            let command = request.ask.command;
            if let Some(asked) = request.asked.get_mut(id)
                && matches!(asked.phase, Phase::Waiting | Phase::Confirming)
                && asked.attempts > 0
                && (from, to) == (command.under_way(), command.needed())
            {
                asked.begun = true;
                asked.phase = Phase::Confirming;
                news = true;
            }
        }
        if news {
            self.query(id, now);
        }
    }

    fn end(&mut self, request: Request, now: Now) {
        self.deadlines.clear(Timer::Request(request.number));
        self.deadlines.clear(Timer::Silence(request.number, explaining()));
        match request.parent {
            Some(parent) => {
                self.note_given_up(&request);
                self.child_ended(parent, &request, now);
            }
            None => self.report(request, now),
        }
        self.reading_logs &= !self.requests.is_empty();
    }

    fn note_given_up(&mut self, request: &Request) {
        for (id, asked) in &request.asked {
            self.deadlines.clear(Timer::Silence(request.number, id.clone()));
            let already = matches!(asked.resolved(), Some(Outcome::Already(_)));
            if asked.attempts > 0 && asked.acked.is_none() && !already {
                self.given_up.insert((id.clone(), request.ask.command));
            }
        }
        // Bounded like the systems themselves, whatever happens for months.
        while self.given_up.len() > 2 * super::MAX_SYSTEMS {
            self.given_up.pop_first();
        }
    }

    fn report(&mut self, request: Request, now: Now) {
        self.note_given_up(&request);
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
                offset: system.and_then(|s| s.offset_at(now.mono)),
                armed: asked.armed,
                duplicates: asked.duplicates,
            };
            if let (Some(answer), Some(offset)) = (asked.acked, result.offset)
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
fn spread(times: &[(i64, i64)]) -> Option<Offset> {
    let (first, last) = (times.iter().min()?, times.iter().max()?);
    let uncertainty = first.1.saturating_add(last.1);
    (times.len() > 1).then(|| Offset { nanos: last.0.saturating_sub(first.0), uncertainty })
}

/// The name under which a request itself waits for logs; no system has it.
fn explaining() -> SystemId {
    SystemId::nobody()
}

fn wants_reason(asked: &Asked) -> bool {
    matches!(asked.resolved(), Some(Outcome::Failed(failure)) if failure.has_reason())
}

/// What the system's own log says about its failure.
fn reason(system: &System, asked: &Asked, now: Now) -> Option<Reason> {
    let (line, at) = system.complaint_since(asked.first_sent.map_or(Wall(0), |sent| sent.wall))?;
    let before = u64::try_from(now.wall.0.saturating_sub(at)).unwrap_or(0);
    Some(Reason { text: line.text.clone(), before: Duration::from_nanos(before) })
}

fn after(
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

fn at_deadline(system: Option<&System>, asked: &Asked, command: Command) -> Failure {
    match system {
        None => Failure::Unknown,
        Some(system) if !system.present() => Failure::Gone,
        Some(system) => match system.state {
            Some(Ok(state)) if state.is_transition() => Failure::Slow(state),
            _ if asked.phase == Phase::Queued => Failure::Busy,
            _ if !system.reachable() => Failure::Unreachable,
            _ if asked.attempts == 0 => Failure::NotAsked,
            Some(Ok(state)) if state == command.needed() => Failure::Refused(state),
            Some(Ok(state)) if state != command.wanted() => Failure::WrongState(state),
            _ => Failure::NoAnswer,
        },
    }
}
