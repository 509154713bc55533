//! One mechanism of the engine: its sequencer, and what phase was asked of it and became of that.

use std::{collections::VecDeque, time::Duration};

use crate::{
    Time,
    engine::{Level, MechanismStatus, Output, Which},
    profile::BadSample,
    sequence::{Event, Mechanism, Origin, Outcome, Sequence, Shape},
    sequencer::Sequencer,
    settings::{Settings, secs},
};

/// Repeats closer than this are a program's stream, and not a person's who tries again.
const STREAM: Duration = Duration::from_millis(300);

/// Why a desired phase needs no action, or does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Running,
    Reached,
    /// Ended by itself without success: the next repeat tries again.
    Failed,
    /// Ended by someone's newer wish: a repeat is not a new wish.
    Superseded,
    /// Shall be run again when it is asked for, reached or not.
    Forgotten,
}

#[derive(Debug)]
pub(crate) struct Part<M: Mechanism> {
    pub(crate) which: Which,
    pub(crate) sequencer: Sequencer<M>,
    pub(crate) desired: Option<(u8, Verdict)>,
    /// The sequence of that phase, as the parameters had it when it began.
    begun: Option<(Sequence<M>, Shape<M>)>,
    /// When a phase was last asked for, repeats included.
    asked_at: Option<Time>,
    bad_samples: u64,
    /// The last sample, if it was refused.
    bad_sample: Option<BadSample>,
    /// The running sequence is another try of a phase that failed, by a stream's next message.
    retries: bool,
    /// The report that such a try begins; told when it comes to something.
    held_report: Option<Output>,
}

impl<M: Mechanism> Part<M> {
    pub(crate) fn new(which: Which) -> Self {
        Self {
            which,
            sequencer: Sequencer::default(),
            desired: None,
            begun: None,
            asked_at: None,
            bad_samples: 0,
            bad_sample: None,
            retries: false,
            held_report: None,
        }
    }

    pub(crate) fn forget(&mut self) {
        if self.desired.is_some_and(|(_, verdict)| verdict == Verdict::Reached) {
            self.set_verdict(Verdict::Forgotten);
        }
    }

    pub(crate) fn set_verdict(&mut self, verdict: Verdict) {
        if let Some((_, v)) = &mut self.desired {
            *v = verdict;
        }
    }

    /// What a phase code asks of this mechanism now: a sequence, nothing, or a complaint.
    fn wish(
        &mut self,
        code: u8,
        sequence: Option<Sequence<M>>,
        settings: &Settings,
        now: Time,
    ) -> Result<Option<Sequence<M>>, String> {
        let gap = secs(settings.command_gap);
        let since = self.asked_at.replace(now).map(|at| now.saturating_sub(at));
        let renewed = since.is_none_or(|since| since > gap);
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
            Some(Verdict::Reached) => {
                renewed && (!self.sequencer.senses(settings, now) || self.leads_elsewhere(settings))
            }
            Some(Verdict::Superseded) => renewed,
            Some(Verdict::Failed | Verdict::Forgotten) | None => true,
        };
        if start {
            self.retries = before == Some(Verdict::Failed) && since.is_some_and(|since| since < STREAM);
        }
        Ok(start.then_some(sequence))
    }

    /// Whether the phase that was reached would lead elsewhere with the parameters of today.
    fn leads_elsewhere(&self, settings: &Settings) -> bool {
        self.begun.as_ref().is_some_and(|(sequence, shape)| sequence.shape(settings) != *shape)
    }

    pub(crate) fn status(&self, settings: &Settings, now: Time) -> MechanismStatus {
        let senses = self.sequencer.senses(settings, now);
        let there = senses && !self.leads_elsewhere(settings);
        let reached = self.desired.filter(|(_, verdict)| *verdict == Verdict::Reached && there);
        MechanismStatus {
            activity: self.sequencer.activity(settings, now),
            desired: self.desired.map(|(code, _)| code),
            reached: reached.map(|(code, _)| code),
            bad_samples: self.bad_samples,
        }
    }
}

/// Something that happened once.
pub(crate) fn report(level: Level, text: String) -> Output {
    Output::Report { level, text, streamed: false }
}

/// Something that every message of a stream may cause.
pub(crate) fn streamed(level: Level, text: String) -> Output {
    Output::Report { level, text, streamed: true }
}

/// Begins a desired phase if it is a new wish; gives the complaint if there is no such phase.
pub(crate) fn ask<M: Mechanism>(
    part: &mut Part<M>,
    code: u8,
    sequence: Option<Sequence<M>>,
    settings: &Settings,
    now: Time,
) -> Option<String> {
    match part.wish(code, sequence, settings, now) {
        Ok(Some(sequence)) => {
            part.begun = Some((sequence, sequence.shape(settings)));
            // Noted first, because a sequence that is refused ends at once.
            part.desired = Some((code, Verdict::Running));
            part.sequencer.begin(sequence, Origin::Phase(code), settings, now);
            None
        }
        Ok(None) => None,
        Err(complaint) => Some(complaint),
    }
}

/// Counts a bad sample and complains when its reason is a new one.
pub(crate) fn accept<M: Mechanism>(
    part: &mut Part<M>,
    sample: Result<M::Sensors, BadSample>,
    outputs: &mut VecDeque<Output>,
    (settings, now): (&Settings, Time),
) -> Option<M::Sensors> {
    match sample {
        Ok(sensors) => {
            part.bad_sample = None;
            Some(sensors)
        }
        Err(bad) => {
            part.bad_samples += 1;
            part.sequencer.refuse(bad.to_string());
            if matches!(bad, BadSample::TwoSources { .. }) {
                part.sequencer.contest(settings, now);
            }
            // How late a sample comes is another number each time, and no other reason.
            let same = |last: &BadSample| match (last, &bad) {
                (BadSample::Late { .. }, BadSample::Late { .. }) => true,
                _ => *last == bad,
            };
            if !part.bad_sample.as_ref().is_some_and(same) {
                let text = format!("{}: sample on {} refused: {bad}", part.which.name(), M::SENSOR_TOPIC);
                // Everybody is unknown for a moment at first.
                let level = match bad {
                    BadSample::Unidentified { .. } => Level::Debug,
                    _ => Level::Error,
                };
                outputs.push_back(streamed(level, text));
            }
            part.bad_sample = Some(bad);
            None
        }
    }
}

/// Turns a sequencer's event into outputs; a command is handed back to the caller, who knows its type.
pub(crate) fn settle<M: Mechanism>(
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

/// Lets nothing begin while others publish the outputs; what there is to say of that.
pub(crate) fn block<M: Mechanism>(
    part: &mut Part<M>,
    rivals: &[String],
    settings: &Settings,
    now: Time,
) -> Option<Output> {
    let (name, topic, rivals) = (part.which.name(), M::OUTPUT_TOPIC, rivals.join(" and "));
    let reason =
        (!rivals.is_empty()).then(|| format!("{topic} is also published by {rivals}; stop one of them"));
    let news = match (part.sequencer.blocked(), &reason) {
        (before, Some(reason)) if before != Some(reason) => {
            Some(report(Level::Warn, format!("{name}: nothing is begun: {reason}")))
        }
        (Some(_), None) => {
            Some(report(Level::Info, format!("{name}: nobody else publishes {topic} any more")))
        }
        _ => None,
    };
    part.sequencer.block(reason, settings, now);
    news
}
