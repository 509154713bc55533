//! Both mechanisms and the lantern behind one sans-IO engine.

use std::{collections::VecDeque, time::Duration};

use rosless_engine::Now;

use crate::{
    GoalId, Time,
    doll::{self, Doll},
    part::{Part, Verdict, accept, ask, block, report, settle, streamed},
    pedestal::{self, Pedestal},
    profile::BadSample,
    sequence::{Activity, Event, Mechanism, Origin, Outcome, STOPPING},
    settings::{Settings, secs},
    sources::{Arrival, Source, Sources, Stamps},
    status::Trust,
};

/// `daiza_state` or `hina_state` of a MechaState that leaves that mechanism alone.
pub const LEAVE_ALONE: u8 = 255;

/// One of the two mechanisms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// Daiza.
    Pedestal,
    /// Hina.
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
        /// `daiza_state`.
        pedestal: u8,
        /// `hina_state`.
        doll: u8,
        /// `bonbori_state`.
        lantern: bool,
    },
    /// An accepted action goal.
    Goal {
        /// Whose.
        which: Which,
        /// Which one.
        id: GoalId,
        /// What it wants done.
        command: u8,
    },
    /// A goal's client wants it cancelled.
    Cancel {
        /// Which one.
        id: GoalId,
    },
    /// The phase that was reached shall be run again when it is asked for.
    Forget(Which),
    /// Nodes that publish the mechanism's outputs, too: nothing is begun while there are any, and what runs ends.
    Rivals {
        /// Whose outputs.
        which: Which,
        /// Their names.
        names: Vec<String>,
    },
    /// Ends both running sequences and holds.
    Stop,
    /// The lantern alone.
    Lantern(bool),
    /// A word of the earlier microcontroller, such as `armClose` or `bonboriOff`.
    Direct(String),
    /// A sample of the pedestal's sensors that counts, or why it does not; see [`Engine::admit`].
    PedestalSensors(Result<pedestal::Sensors, BadSample>),
    /// The same for the doll's.
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
    /// Send these to the pedestal.
    PedestalCommand(pedestal::Cylinders),
    /// Send these to the doll.
    DollCommand(doll::Command),
    /// Switch the lantern.
    Lantern(bool),
    /// Tell a goal's client.
    GoalFeedback {
        /// Which goal.
        id: GoalId,
        /// The code of its action.
        code: u8,
    },
    /// A goal is over.
    GoalEnded {
        /// Which one.
        id: GoalId,
        /// How.
        outcome: Outcome,
        /// Why, unless it is done.
        reason: String,
    },
    /// Something people want to know.
    Report {
        /// How urgent it is.
        level: Level,
        /// What it is.
        text: String,
        /// A stream of messages may cause it many times per second: the same text soon again tells nothing new.
        streamed: bool,
    },
}

/// How urgent a report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For those who look for a fault.
    Debug,
    /// All is well.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something that was asked for does not happen.
    Error,
}

/// One mechanism's part of a [`Status`].
#[derive(Clone, Debug, PartialEq)]
pub struct MechanismStatus {
    /// What it does.
    pub activity: Activity,
    /// The phase that was last asked for.
    pub desired: Option<u8>,
    /// The phase the mechanism is in, if any.
    pub reached: Option<u8>,
    /// Samples that were refused so far.
    pub bad_samples: u64,
}

/// The whole engine at a glance.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Daiza.
    pub pedestal: MechanismStatus,
    /// Hina.
    pub doll: MechanismStatus,
    /// Whether it shines.
    pub lantern: bool,
    /// `bonbori_state` of the last MechaState.
    pub lantern_flag: bool,
    /// MechaState messages so far.
    pub messages: u64,
}

/// Decides what pedestal, doll and lantern do.
///
/// The latest wish wins: a new phase or goal pre-empts what runs on the same mechanism and says so. Outputs appear only
/// after the first command.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    pedestal: Part<Pedestal>,
    doll: Part<Doll>,
    sources: Sources,
    /// How late the sample came that was admitted last.
    late: [Duration; 2],
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
    /// An engine that knows nothing of the mechanism yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            pedestal: Part::new(Which::Pedestal),
            doll: Part::new(Which::Doll),
            sources: Sources::default(),
            late: [Duration::ZERO; 2],
            lantern: false,
            lantern_flag: false,
            message_at: None,
            messages: 0,
            outputs: VecDeque::new(),
            seen: Time::ZERO,
        }
    }

    /// The parameters that count.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// New parameters count from the next step on; tolerances and timeouts at once.
    pub fn set_settings(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// What to do next.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call again although nothing happens.
    pub fn next_deadline(&self, now: Time) -> Option<Time> {
        let pedestal = self.pedestal.sequencer.next_deadline(&self.settings, now);
        let doll = self.doll.sequencer.next_deadline(&self.settings, now);
        pedestal.into_iter().chain(doll).min()
    }

    /// Whether a sample of this publisher counts; what it says, or why not, is the input that follows. When the sensors
    /// are another mechanism's than before, nothing of what was known counts any more.
    ///
    /// # Errors
    /// Why it does not count.
    pub fn admit(
        &mut self,
        which: Which,
        source: &Source,
        stamps: Option<Stamps>,
        now: Time,
    ) -> Result<(), BadSample> {
        let late = secs(self.settings.sensor_timeout);
        let admitted = self.sources.judge(Arrival { which, source, stamps }, late, now)?;
        self.late[which as usize] = admitted.late;
        if admitted.changed {
            let reason = format!("the sensors come from another publisher now: {}", source.name);
            self.report(Level::Warn, format!("{}: {reason}", which.name()));
            match which {
                Which::Pedestal => self.pedestal.sequencer.change_source(reason, &self.settings, now),
                Which::Doll => self.doll.sequencer.change_source(reason, &self.settings, now),
            }
        }
        Ok(())
    }

    /// Something has happened.
    pub fn handle(&mut self, input: Input, now: Time) {
        self.seen = now;
        match input {
            Input::MechaState { pedestal, doll, lantern } => self.mecha_state(pedestal, doll, lantern, now),
            Input::Goal { which, id, command } => self.goal(which, id, command, now),
            Input::Cancel { id } => {
                let reason = || "its client cancelled it".to_owned();
                if self.pedestal.sequencer.running() == Some(Origin::Goal(id)) {
                    self.pedestal.sequencer.finish(Outcome::Canceled, reason(), &self.settings, now);
                } else if self.doll.sequencer.running() == Some(Origin::Goal(id)) {
                    self.doll.sequencer.finish(Outcome::Canceled, reason(), &self.settings, now);
                }
            }
            Input::Stop => {
                let _ = self.stop(Which::Pedestal, "stop was asked for", now);
                let _ = self.stop(Which::Doll, "stop was asked for", now);
            }
            Input::Forget(Which::Pedestal) => self.pedestal.forget(),
            Input::Forget(Which::Doll) => self.doll.forget(),
            Input::Rivals { which: Which::Pedestal, names } => {
                self.outputs.extend(block(&mut self.pedestal, &names, &self.settings, now));
            }
            Input::Rivals { which: Which::Doll, names } => {
                self.outputs.extend(block(&mut self.doll, &names, &self.settings, now));
            }
            Input::Lantern(on) => self.light(on),
            Input::Direct(word) => self.direct(&word, now),
            Input::PedestalSensors(sample) => {
                if let Some(sensors) =
                    accept(&mut self.pedestal, sample, &mut self.outputs, (&self.settings, now))
                {
                    let late = std::mem::take(&mut self.late[Which::Pedestal as usize]);
                    self.pedestal.sequencer.sense(sensors, &self.settings, late, now);
                }
            }
            Input::DollSensors(sample) => {
                if let Some(sensors) =
                    accept(&mut self.doll, sample, &mut self.outputs, (&self.settings, now))
                {
                    let late = std::mem::take(&mut self.late[Which::Doll as usize]);
                    self.doll.sequencer.sense(sensors, &self.settings, late, now);
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
        self.pedestal.sequencer.advance(&self.settings, now);
        self.doll.sequencer.advance(&self.settings, now);
        self.collect_events();
    }

    fn mecha_state(&mut self, pedestal: u8, doll: u8, lantern: bool, now: Time) {
        self.messages += 1;
        // The document gives the pedestal no phase 0: it is its initial state, which no command leads to.
        let wishes_pedestal = pedestal != LEAVE_ALONE && pedestal != 0;
        let wishes_doll = doll != LEAVE_ALONE && (doll != 0 || !self.settings.profile.zero_is_no_phase());
        let mut complaints = Vec::new();
        if wishes_pedestal {
            complaints.extend(ask(
                &mut self.pedestal,
                pedestal,
                pedestal::phase(pedestal),
                &self.settings,
                now,
            ));
        }
        if wishes_doll {
            complaints.extend(ask(&mut self.doll, doll, doll::phase(doll), &self.settings, now));
        }
        self.outputs.extend(complaints.into_iter().map(|text| streamed(Level::Error, text)));
        let gap = secs(self.settings.command_gap);
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
                let goes_on = self.stop(which, "a STOP goal", now);
                self.collect_events();
                // A lift that nobody can stop is not stopped; a stroke that ends by itself is as good as that.
                let outcome = match goes_on {
                    Some(_) if which == Which::Doll => Outcome::Refused,
                    _ => Outcome::Done,
                };
                let reason = goes_on.unwrap_or_default();
                self.outputs.push_back(Output::GoalEnded { id, outcome, reason });
            }
            (Which::Pedestal, c) if usize::from(c) < pedestal::GOALS.len() => {
                let sequence = pedestal::GOALS[usize::from(c)];
                self.pedestal.sequencer.begin(sequence, origin, &self.settings, now);
            }
            (Which::Doll, c) if usize::from(c) < doll::GOALS.len() => {
                let sequence = doll::GOALS[usize::from(c)];
                match doll::unsupported(c, self.settings.profile) {
                    None => {
                        self.doll.sequencer.begin(sequence, origin, &self.settings, now);
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
        // What a program sent down a serial line ends with a newline.
        match word.trim() {
            "bonbori" => self.light(true),
            "bonboriOff" => self.light(false),
            word => {
                if let Some(reason) = doll::unsupported_word(word, self.settings.profile) {
                    self.outputs.push_back(streamed(Level::Error, format!("hina: {reason}")));
                } else if let Some(sequence) = pedestal::direct(word) {
                    self.pedestal.sequencer.begin(sequence, Origin::Direct, &self.settings, now);
                } else if let Some(sequence) = doll::direct(word) {
                    self.doll.sequencer.begin(sequence, Origin::Direct, &self.settings, now);
                } else {
                    let text = format!("there is no direct command {word:?}");
                    self.outputs.push_back(streamed(Level::Error, text));
                }
            }
        }
    }

    /// Ends what runs; what moves on nevertheless.
    fn stop(&mut self, which: Which, reason: &str, now: Time) -> Option<String> {
        match which {
            Which::Pedestal => {
                self.pedestal.sequencer.finish(Outcome::Stopped, reason.to_owned(), &self.settings, now);
                self.pedestal.sequencer.goes_on(&self.settings)
            }
            Which::Doll => {
                self.doll.sequencer.finish(Outcome::Stopped, reason.to_owned(), &self.settings, now);
                self.doll.sequencer.goes_on(&self.settings)
            }
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

    /// What both mechanisms do.
    pub fn status(&self, now: Time) -> Status {
        Status {
            pedestal: self.pedestal.status(&self.settings, now),
            doll: self.doll.status(&self.settings, now),
            lantern: self.lantern,
            lantern_flag: self.lantern_flag,
            messages: self.messages,
        }
    }

    /// The last pedestal outputs and sensor values.
    pub fn pedestal(&self) -> (Option<&pedestal::Cylinders>, Option<&pedestal::Sensors>) {
        (self.pedestal.sequencer.command(), self.pedestal.sequencer.sensors())
    }

    /// How far the sensors are believed.
    pub fn trust(&self) -> Trust {
        Trust { daiza: self.pedestal.sequencer.trust(), hina: self.doll.sequencer.trust() }
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
