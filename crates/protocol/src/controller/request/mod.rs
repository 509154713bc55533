//! One command to several systems, from asking who is there to the report.
//!
//! A request goes through stages, each bounded in time: gathering (are those meant known and matched?) → checking (which
//! state are they in?) → asking (one message to all at once, then per system: acknowledgement → state confirms it; no
//! acknowledgement → state decides whether to ask again). A restart stops first, and an atomic start that fails stops
//! again: both by a request of their own, on which the first one waits.
//!
//! Several requests may be under way. On one system the order is this: the opposite command takes it over from the older
//! request, which says so in its report; the same command waits until the older request is done with it.

mod answers;
mod choosing;
mod ending;
pub(super) mod roll;
mod sending;

use std::time::Duration;

use rosless_engine::{Now, Wall};

use self::{
    answers::at_deadline,
    ending::{explaining, reason, wants_reason},
    roll::{Kind, Roll},
};
use super::{
    Answer, Controller, Targets,
    deadlines::Timer,
    report::{Failure, Outcome},
};
use crate::{
    message::Command,
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
    /// When it was seen to fail, on our clock.
    failed_at: Option<Wall>,
    /// Its transitions are listened to, and it had its time to tell of one that failed.
    looked_into: bool,
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
            failed_at: None,
            looked_into: false,
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
    /// It was given time again after those to be started anew had been stopped, which happens once.
    prolonged: bool,
    stage: Stage,
    pub(super) asked: Roll,
    messages: u32,
    first_sent: Option<Duration>,
    /// When appointments were made.
    arming_at: Option<Duration>,
    last_answer: Option<Duration>,
}

impl Request {
    fn means(&self, id: &SystemId) -> bool {
        match &self.ask.targets {
            Targets::All => true,
            Targets::Named(names) => names.iter().any(|n| id.is_meant_by(n)),
        }
    }

    /// The request in whose name this one is made: a STOP that belongs to a restart has that one's place in the order.
    fn rank(&self) -> u64 {
        self.parent.unwrap_or(self.number)
    }

    /// Settles everything that is still open.
    fn give_up(&mut self, why: impl Fn(&SystemId, &Asked) -> Failure) {
        self.asked.each(|id, asked| {
            if asked.resolved().is_none() {
                let failure = why(id, asked);
                asked.fail(failure);
            }
        });
    }

    fn all_resolved(&self) -> bool {
        self.asked.count(Kind::Resolved) == self.asked.len()
    }
}

impl Controller {
    /// Starts or stops systems. Returns the number its report will carry.
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
        // Also those whose word that they are armed is still on its way.
        let appointed = |a: &Asked| a.resolved().is_none() && (a.armed || a.phase == Phase::Arming);
        let armed = request.asked.iter().filter(|(_, a)| appointed(a));
        let armed: Vec<_> = armed.map(|(id, _)| id.as_str().to_owned()).collect();
        let arming = matches!(request.stage, Stage::Arming(_)) && !armed.is_empty();
        request.give_up(|_, _| Failure::Cancelled);
        self.deadlines.clear(Timer::Request(number));
        self.report(request, now);
        if arming {
            // Only a STOP disarms those who would start by themselves; nobody asked for its report.
            self.open(Ask::new(Command::Stop, "", Targets::Named(armed)), Some(number), now);
        }
        // Others may have waited for it.
        self.advance(now);
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
            prolonged: false,
            stage: Stage::Gathering,
            asked: Roll::default(),
            messages: 0,
            first_sent: None,
            arming_at: None,
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
            // Nobody is to start after it was reported that he did not; a STOP is sent all the same.
            let in_time = now.mono < request.until || request.ask.command == Command::Stop;
            if request.asked.count(Kind::Before) == 0 && in_time {
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
            request.asked.each(|_, asked| {
                if asked.phase == Phase::Arming {
                    asked.phase = Phase::Again;
                }
            });
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
            self.give_up(request);
            request.stage = Stage::Asking;
            return self.conclude(request, now);
        }
        Some(Wake::At(request.until))
    }

    /// Its time is up: what is open is settled by what is known of each.
    fn give_up(&self, request: &mut Request) {
        let command = request.ask.command;
        request.give_up(|id, asked| at_deadline(self.systems.get(id), asked, command));
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
                request.asked.each(|id, asked| match asked.phase {
                    // It came to its turn meanwhile and is stopped next.
                    Phase::Running if !child.asked.contains_key(id) => {}
                    Phase::Running if stopped(id) => asked.phase = Phase::Again,
                    Phase::Running => asked.fail(Failure::NotStopped),
                    _ => {}
                });
                request.stage = Stage::Asking;
                if !std::mem::replace(&mut request.prolonged, true) {
                    let patience = request.ask.deadline.unwrap_or(self.settings.deadline);
                    let until = now.mono + request.ask.ahead(now) + patience;
                    request.until = request.until.max(until);
                }
                if request.ask.atomic && request.asked.values().any(|a| a.resolved().is_some()) {
                    request.give_up(|_, _| Failure::Withheld);
                } else if now.mono >= request.until {
                    // Nobody is to start after it was reported that he did not.
                    self.give_up(&mut request);
                } else {
                    self.send_first(&mut request, now);
                }
            }
            Stage::Undoing(number) if number == child.number => {
                request.asked.each(|id, asked| {
                    if matches!(asked.resolved(), Some(Outcome::Done(_))) {
                        asked.fail(Failure::Undone { stopped: stopped(id) });
                    }
                });
                request.ask.atomic = false;
                request.stage = Stage::Asking;
            }
            _ => {}
        }
        self.requests.insert(parent, request);
    }
}
