//! Both mechanisms and the lantern behind one sans-IO engine.

use std::collections::VecDeque;

use rosless_engine::Now;

use crate::{
    GoalId, Time,
    doll::{self, Doll},
    params::{Params, secs},
    pedestal::{self, Pedestal},
    profile::BadSample,
    sequence::{Activity, Event, Mechanism, Origin, Outcome, STOPPING, Sequence, Sequencer},
};

/// `daiza_state` or `hina_state` of a MechaState that leaves that mechanism alone.
pub const LEAVE_ALONE: u8 = 255;

/// One of the two mechanisms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    Pedestal,
    Doll,
}

impl Which {
    /// The name used in topics and parameters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pedestal => Pedestal::NAME,
            Self::Doll => Doll::NAME,
        }
    }
}

/// What happens to the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A MechaState message: the desired phases. The lantern acts when the flag differs from the last message's, so that a
    /// phase message does not switch off the light that place has just lit; and when it is a new wish for light in the dark.
    MechaState {
        pedestal: u8,
        doll: u8,
        lantern: bool,
    },
    /// An accepted action goal.
    Goal {
        which: Which,
        id: GoalId,
        command: u8,
    },
    /// A goal's client wants it cancelled.
    Cancel {
        id: GoalId,
    },
    /// Ends both running sequences and holds.
    Stop,
    /// The lantern alone.
    Lantern(bool),
    /// A word of the earlier microcontroller, such as `armClose` or `bonboriOff`.
    Direct(String),
    PedestalSensors(Result<pedestal::Sensors, BadSample>),
    DollSensors(Result<doll::Sensors, BadSample>),
    /// Another node published these pedestal outputs.
    OthersPedestalCommand(pedestal::Cylinders),
    /// Another node published these doll outputs.
    OthersDollCommand(doll::Command),
    /// Time has passed.
    Tick,
}

/// What the driver must do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    PedestalCommand(pedestal::Cylinders),
    DollCommand(doll::Command),
    Lantern(bool),
    GoalFeedback {
        id: GoalId,
        code: u8,
    },
    GoalEnded {
        id: GoalId,
        outcome: Outcome,
        reason: String,
    },
    /// Something people want to know.
    Report {
        level: Level,
        text: String,
        /// A stream of messages may cause it many times per second: the same text soon again tells nothing new.
        streamed: bool,
    },
}

/// How urgent a report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// One mechanism's part of a [`Status`].
#[derive(Clone, Debug, PartialEq)]
pub struct MechanismStatus {
    pub activity: Activity,
    /// The phase that was last asked for.
    pub desired: Option<u8>,
    /// The phase the mechanism is in, if any.
    pub reached: Option<u8>,
    pub bad_samples: u64,
}

/// The whole engine at a glance.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub pedestal: MechanismStatus,
    pub doll: MechanismStatus,
    pub lantern: bool,
    /// `bonbori_state` of the last MechaState.
    pub lantern_flag: bool,
    /// MechaState messages so far.
    pub messages: u64,
}

/// Why a desired phase needs no action, or does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Running,
    Reached,
    /// Ended by itself without success: the next repeat tries again.
    Failed,
    /// Ended by someone's newer wish: a repeat is not a new wish.
    Superseded,
}

#[derive(Debug)]
struct Part<M: Mechanism> {
    which: Which,
    sequencer: Sequencer<M>,
    desired: Option<(u8, Verdict)>,
    /// When a phase was last asked for, repeats included.
    asked_at: Option<Time>,
    bad_samples: u64,
    last_sample_bad: bool,
    /// The running sequence is another try of a phase that failed, by a stream's next message.
    retries: bool,
    /// The report that such a try begins; told when it comes to something.
    held_report: Option<Output>,
}

impl<M: Mechanism> Part<M> {
    fn new(which: Which) -> Self {
        Self {
            which,
            sequencer: Sequencer::default(),
            desired: None,
            asked_at: None,
            bad_samples: 0,
            last_sample_bad: false,
            retries: false,
            held_report: None,
        }
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        if let Some((_, v)) = &mut self.desired {
            *v = verdict;
        }
    }

    /// What a phase code asks of this mechanism now: a sequence, nothing, or a complaint.
    fn wish(
        &mut self,
        code: u8,
        sequence: Option<Sequence<M>>,
        params: &Params,
        now: Time,
    ) -> Result<Option<Sequence<M>>, String> {
        let gap = secs(params.command_gap);
        let renewed = self.asked_at.replace(now).is_none_or(|at| now.saturating_sub(at) > gap);
        let before = self.desired.filter(|(c, _)| *c == code).map(|(_, v)| v);
        let Some(sequence) = sequence else {
            // Complaining once per wish is enough; a stream of repeats is one wish.
            self.desired = Some((code, Verdict::Superseded));
            return if before.is_none() || renewed {
                Err(format!("{}: there is no phase {code}", self.which.name()))
            } else {
                Ok(None)
            };
        };
        let start = match before {
            Some(Verdict::Running) => false,
            Some(Verdict::Reached) => renewed && !self.sequencer.senses(params, now),
            Some(Verdict::Superseded) => renewed,
            Some(Verdict::Failed) | None => true,
        };
        if start {
            self.retries = before == Some(Verdict::Failed) && !renewed;
        }
        Ok(start.then_some(sequence))
    }

    fn status(&self, params: &Params, now: Time) -> MechanismStatus {
        let senses = self.sequencer.senses(params, now);
        let reached = self.desired.filter(|(_, verdict)| *verdict == Verdict::Reached && senses);
        MechanismStatus {
            activity: self.sequencer.activity(params, now),
            desired: self.desired.map(|(code, _)| code),
            reached: reached.map(|(code, _)| code),
            bad_samples: self.bad_samples,
        }
    }
}

/// Decides what pedestal, doll and lantern do.
///
/// The latest wish wins: a new phase or goal pre-empts what runs on the same mechanism and says so. Outputs appear only
/// after the first command.
#[derive(Debug)]
pub struct Engine {
    params: Params,
    pedestal: Part<Pedestal>,
    doll: Part<Doll>,
    lantern: bool,
    lantern_flag: bool,
    /// When a MechaState last came.
    message_at: Option<Time>,
    messages: u64,
    outputs: VecDeque<Output>,
    /// When something last happened: conditions of steps are looked at from there.
    seen: Time,
}

impl Engine {
    pub fn new(params: Params) -> Self {
        Self {
            params,
            pedestal: Part::new(Which::Pedestal),
            doll: Part::new(Which::Doll),
            lantern: false,
            lantern_flag: false,
            message_at: None,
            messages: 0,
            outputs: VecDeque::new(),
            seen: Time::ZERO,
        }
    }

    pub fn params(&self) -> &Params {
        &self.params
    }

    /// New parameters count from the next step on; tolerances and timeouts at once.
    pub fn set_params(&mut self, params: Params) {
        self.params = params;
    }

    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    pub fn next_deadline(&self, now: Time) -> Option<Time> {
        let pedestal = self.pedestal.sequencer.next_deadline(&self.params, now);
        let doll = self.doll.sequencer.next_deadline(&self.params, now);
        pedestal.into_iter().chain(doll).min()
    }

    pub fn handle(&mut self, input: Input, now: Time) {
        self.seen = now;
        match input {
            Input::MechaState { pedestal, doll, lantern } => self.mecha_state(pedestal, doll, lantern, now),
            Input::Goal { which, id, command } => self.goal(which, id, command, now),
            Input::Cancel { id } => {
                let reason = || "its client cancelled it".to_owned();
                if self.pedestal.sequencer.running() == Some(Origin::Goal(id)) {
                    self.pedestal.sequencer.finish(Outcome::Canceled, reason(), &self.params, now);
                } else if self.doll.sequencer.running() == Some(Origin::Goal(id)) {
                    self.doll.sequencer.finish(Outcome::Canceled, reason(), &self.params, now);
                }
            }
            Input::Stop => {
                self.stop(Which::Pedestal, "stop was asked for", now);
                self.stop(Which::Doll, "stop was asked for", now);
            }
            Input::Lantern(on) => self.light(on),
            Input::Direct(word) => self.direct(&word, now),
            Input::PedestalSensors(sample) => {
                if let Some(sensors) = accept(&mut self.pedestal, sample, &mut self.outputs) {
                    self.pedestal.sequencer.sense(sensors, &self.params, now);
                }
            }
            Input::DollSensors(sample) => {
                if let Some(sensors) = accept(&mut self.doll, sample, &mut self.outputs) {
                    self.doll.sequencer.sense(sensors, &self.params, now);
                }
            }
            Input::OthersPedestalCommand(command) => {
                self.pedestal.sequencer.adopt(command, now);
                self.pedestal.set_verdict(Verdict::Superseded);
            }
            Input::OthersDollCommand(command) => {
                self.doll.sequencer.adopt(command, now);
                self.doll.set_verdict(Verdict::Superseded);
            }
            Input::Tick => {}
        }
        self.pedestal.sequencer.advance(&self.params, now);
        self.doll.sequencer.advance(&self.params, now);
        self.collect_events();
    }

    fn mecha_state(&mut self, pedestal: u8, doll: u8, lantern: bool, now: Time) {
        self.messages += 1;
        // The document gives the pedestal no phase 0: it is its initial state, which no command leads to.
        let wishes_pedestal = pedestal != LEAVE_ALONE && pedestal != 0;
        let wishes_doll = doll != LEAVE_ALONE && (doll != 0 || !self.params.profile.zero_is_no_phase());
        let mut complaints = Vec::new();
        if wishes_pedestal {
            complaints.extend(ask(
                &mut self.pedestal,
                pedestal,
                pedestal::phase(pedestal),
                &self.params,
                now,
            ));
        }
        if wishes_doll {
            complaints.extend(ask(&mut self.doll, doll, doll::phase(doll), &self.params, now));
        }
        self.outputs.extend(complaints.into_iter().map(|text| streamed(Level::Error, text)));
        let gap = secs(self.params.command_gap);
        let renewed = self.message_at.replace(now).is_none_or(|at| now.saturating_sub(at) > gap);
        if lantern != self.lantern_flag || (lantern && !self.lantern && renewed) {
            self.lantern_flag = lantern;
            self.light(lantern);
        }
    }

    fn goal(&mut self, which: Which, id: GoalId, command: u8, now: Time) {
        let refuse = |outcome, reason: String| Output::GoalEnded { id, outcome, reason };
        let origin = Origin::Goal(id);
        match (which, command) {
            (_, 0) => {
                self.outputs.push_back(Output::GoalFeedback { id, code: STOPPING });
                self.stop(which, "a STOP goal", now);
                self.collect_events();
                self.outputs.push_back(Output::GoalEnded {
                    id,
                    outcome: Outcome::Done,
                    reason: String::new(),
                });
            }
            (Which::Pedestal, c) if usize::from(c) < pedestal::GOALS.len() => {
                let sequence = pedestal::GOALS[usize::from(c)];
                self.pedestal.sequencer.begin(sequence, origin, &self.params, now);
            }
            (Which::Doll, c) if usize::from(c) < doll::GOALS.len() => {
                let sequence = doll::GOALS[usize::from(c)];
                match doll::unsupported(c, self.params.profile) {
                    None => {
                        self.doll.sequencer.begin(sequence, origin, &self.params, now);
                    }
                    Some(reason) => {
                        self.report(Level::Error, format!("hina: {reason}"));
                        self.outputs.push_back(refuse(Outcome::Refused, reason));
                    }
                }
            }
            (which, command) => {
                let reason = format!("there is no command {command}");
                self.report(Level::Error, format!("{}: {reason}", which.name()));
                self.outputs.push_back(refuse(Outcome::UnknownCommand, reason));
            }
        }
    }

    fn direct(&mut self, word: &str, now: Time) {
        match word {
            "bonbori" => self.light(true),
            "bonboriOff" => self.light(false),
            _ => {
                if let Some(sequence) = pedestal::direct(word) {
                    self.pedestal.sequencer.begin(sequence, Origin::Direct, &self.params, now);
                } else if let Some(sequence) = doll::direct(word) {
                    self.doll.sequencer.begin(sequence, Origin::Direct, &self.params, now);
                } else {
                    let text = format!("there is no direct command {word:?}");
                    self.outputs.push_back(streamed(Level::Error, text));
                }
            }
        }
    }

    fn stop(&mut self, which: Which, reason: &str, now: Time) {
        match which {
            Which::Pedestal => {
                self.pedestal.sequencer.finish(Outcome::Stopped, reason.to_owned(), &self.params, now);
            }
            Which::Doll => self.doll.sequencer.finish(Outcome::Stopped, reason.to_owned(), &self.params, now),
        }
    }

    fn light(&mut self, on: bool) {
        self.lantern = on;
        self.outputs.push_back(Output::Lantern(on));
        self.report(Level::Info, format!("bonbori: {}", if on { "on" } else { "off" }));
    }

    fn report(&mut self, level: Level, text: String) {
        self.outputs.push_back(report(level, text));
    }

    fn collect_events(&mut self) {
        while let Some(event) = self.pedestal.sequencer.poll_event() {
            if let Some(command) = settle(&mut self.pedestal, event, &mut self.outputs) {
                self.outputs.push_back(Output::PedestalCommand(command));
            }
        }
        while let Some(event) = self.doll.sequencer.poll_event() {
            if event == Event::LightLantern {
                self.light(true);
            } else if let Some(command) = settle(&mut self.doll, event, &mut self.outputs) {
                self.outputs.push_back(Output::DollCommand(command));
            }
        }
    }

    pub fn status(&self, now: Time) -> Status {
        Status {
            pedestal: self.pedestal.status(&self.params, now),
            doll: self.doll.status(&self.params, now),
            lantern: self.lantern,
            lantern_flag: self.lantern_flag,
            messages: self.messages,
        }
    }

    /// The last pedestal outputs and sensor values.
    pub fn pedestal(&self) -> (Option<&pedestal::Cylinders>, Option<&pedestal::Sensors>) {
        (self.pedestal.sequencer.command(), self.pedestal.sequencer.sensors())
    }

    /// The last doll outputs and sensor values.
    pub fn doll(&self) -> (Option<&doll::Command>, Option<&doll::Sensors>) {
        (self.doll.sequencer.command(), self.doll.sequencer.sensors())
    }
}

impl rosless_engine::Engine for Engine {
    type Input<'a> = Input;
    type Output = Output;

    fn handle(&mut self, input: Input, now: Now) {
        self.handle(input, now.mono);
    }

    fn wake(&mut self, now: Now) {
        self.handle(Input::Tick, now.mono);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.poll_output()
    }

    fn next_deadline(&self) -> Option<Time> {
        self.next_deadline(self.seen)
    }
}

/// Something that happened once.
fn report(level: Level, text: String) -> Output {
    Output::Report { level, text, streamed: false }
}

/// Something that every message of a stream may cause.
fn streamed(level: Level, text: String) -> Output {
    Output::Report { level, text, streamed: true }
}

/// Begins a desired phase if it is a new wish; gives the complaint if there is no such phase.
fn ask<M: Mechanism>(
    part: &mut Part<M>,
    code: u8,
    sequence: Option<Sequence<M>>,
    params: &Params,
    now: Time,
) -> Option<String> {
    match part.wish(code, sequence, params, now) {
        Ok(Some(sequence)) => {
            part.sequencer.begin(sequence, Origin::Phase(code), params, now);
            part.desired = Some((code, Verdict::Running));
            None
        }
        Ok(None) => None,
        Err(complaint) => Some(complaint),
    }
}

/// Counts a bad sample and complains once until a good one comes.
fn accept<M: Mechanism>(
    part: &mut Part<M>,
    sample: Result<M::Sensors, BadSample>,
    outputs: &mut VecDeque<Output>,
) -> Option<M::Sensors> {
    match sample {
        Ok(sensors) => {
            part.last_sample_bad = false;
            Some(sensors)
        }
        Err(reason) => {
            part.bad_samples += 1;
            if !std::mem::replace(&mut part.last_sample_bad, true) {
                let text = format!("{}: sample on {} refused: {reason}", part.which.name(), M::SENSOR_TOPIC);
                outputs.push_back(streamed(Level::Error, text));
            }
            None
        }
    }
}

/// Turns a sequencer's event into outputs; a command is handed back to the caller, who knows its type.
fn settle<M: Mechanism>(
    part: &mut Part<M>,
    event: Event<M::Command>,
    outputs: &mut VecDeque<Output>,
) -> Option<M::Command> {
    let name_of_part = part.which.name();
    match event {
        Event::Command(command) => {
            outputs.extend(part.held_report.take());
            return Some(command);
        }
        Event::Began { origin, name } => {
            if !matches!(origin, Origin::Phase(_)) {
                part.set_verdict(Verdict::Superseded);
            }
            let begins = report(Level::Info, format!("{name_of_part}: {name} begins"));
            part.retries &= matches!(origin, Origin::Phase(_));
            part.held_report = None;
            if part.retries {
                part.held_report = Some(begins);
            } else {
                outputs.push_back(begins);
            }
        }
        Event::Doubted { reason } => {
            if part.desired.is_some_and(|(_, verdict)| verdict == Verdict::Reached) {
                part.set_verdict(Verdict::Superseded);
            }
            let text = format!("{name_of_part}: {reason}: what was sent before is not relied on any more");
            outputs.push_back(report(Level::Warn, text));
        }
        Event::Stepped { name, number, of, what } => {
            outputs.push_back(report(Level::Debug, format!("{name_of_part}: {name} {number}/{of}: {what}")));
        }
        Event::Feedback { goal, code } => outputs.push_back(Output::GoalFeedback { id: goal, code }),
        Event::LightLantern => {}
        Event::Ended { origin, name, outcome, reason } => {
            let (level, verdict) = match outcome {
                Outcome::Done => (Level::Info, Verdict::Reached),
                Outcome::Stopped | Outcome::Canceled | Outcome::Preempted => {
                    (Level::Warn, Verdict::Superseded)
                }
                _ => (Level::Error, Verdict::Failed),
            };
            let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            let text = format!("{name_of_part}: {name} {}{why}", outcome.word());
            let again = part.retries && verdict == Verdict::Failed;
            outputs.extend(part.held_report.take().filter(|_| !again));
            outputs.push_back(if again { streamed(level, text) } else { report(level, text) });
            match origin {
                // A pre-empted phase may end after its successor was noted: only its own verdict is its business.
                Origin::Phase(code) if part.desired.is_some_and(|(c, _)| c == code) => {
                    part.set_verdict(verdict)
                }
                Origin::Phase(_) | Origin::Direct => {}
                Origin::Goal(id) => outputs.push_back(Output::GoalEnded { id, outcome, reason }),
            }
        }
    }
    None
}
