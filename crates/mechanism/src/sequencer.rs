//! Runs step tables: one [`Sequencer`] per mechanism, none knows of the other.
//!
//! A step sets outputs (after the interlock agreed) and then waits for a condition. Every wait ends: by the condition,
//! by its timeout, by lost sensors, by a stop, or by a newer command.

use std::{collections::VecDeque, time::Duration};

use crate::{
    Time,
    sequence::{Activity, Event, Mechanism, Origin, Outcome, PREV_ACTION_ABORTED, STOPPING, Sequence, View},
    settings::{Settings, secs},
};

#[derive(Debug)]
struct Run<M: Mechanism> {
    origin: Origin,
    sequence: Sequence<M>,
    /// Index of the present step; `None` while waiting for sensors.
    step: Option<usize>,
    entered: Time,
    goal_deadline: Option<Time>,
}

/// Runs the sequences of one mechanism, one at a time.
#[derive(Debug)]
pub struct Sequencer<M: Mechanism> {
    sensors: Option<(M::Sensors, Time)>,
    /// What was last sent; during a run also what the mechanism was found at.
    command: Option<M::Command>,
    history: M::History,
    run: Option<Run<M>>,
    /// When a command was last sent, if ever.
    sent_at: Option<Time>,
    runs: u64,
    sequence: Option<&'static str>,
    last: Option<(Outcome, String)>,
    /// Why the last sample was not used, until a good one comes.
    refused: Option<String>,
    /// Why nothing may be begun.
    blocked: Option<String>,
    events: VecDeque<Event<M::Command>>,
}

impl<M: Mechanism> Default for Sequencer<M> {
    fn default() -> Self {
        Self {
            sensors: None,
            command: None,
            history: M::History::default(),
            run: None,
            sent_at: None,
            runs: 0,
            sequence: None,
            last: None,
            refused: None,
            blocked: None,
            events: VecDeque::new(),
        }
    }
}

impl<M: Mechanism> Sequencer<M> {
    /// What to do or tell next.
    pub fn poll_event(&mut self) -> Option<Event<M::Command>> {
        self.events.pop_front()
    }

    /// Who asked for what runs.
    pub fn running(&self) -> Option<Origin> {
        self.run.as_ref().map(|r| r.origin)
    }

    /// Whether the last sensor sample is young enough to be believed.
    pub fn senses(&self, settings: &Settings, now: Time) -> bool {
        self.sensors.as_ref().is_some_and(|(_, at)| fresh(*at, settings, now))
    }

    /// A sample came that cannot be used.
    pub fn refuse(&mut self, reason: String) {
        self.refused = Some(reason);
    }

    /// It is not known whose the last sample was: it is as good as none.
    pub fn contest(&mut self, settings: &Settings, now: Time) {
        if let Some((_, at)) = &mut self.sensors {
            *at = (*at).min(now.saturating_sub(secs(settings.sensor_timeout)));
        }
    }

    /// Nothing may be begun, and what runs ends, as long as there is a reason for that.
    pub fn block(&mut self, reason: Option<String>, settings: &Settings, now: Time) {
        if let Some(reason) = &reason {
            self.finish(Outcome::Refused, reason.clone(), settings, now);
        }
        self.blocked = reason;
    }

    /// Why nothing may be begun.
    pub fn blocked(&self) -> Option<&String> {
        self.blocked.as_ref()
    }

    /// The sensors are another mechanism's from now on: what was sensed and sent before says nothing of this one.
    pub fn change_source(&mut self, reason: String, settings: &Settings, now: Time) {
        self.finish(Outcome::SensorsLost, reason.clone(), settings, now);
        self.sensors = None;
        M::replaced(&mut self.history);
        self.doubt(reason);
    }

    /// A valid sensor sample arrived, so much later than it was taken.
    pub fn sense(&mut self, sensors: M::Sensors, settings: &Settings, late: Duration, now: Time) {
        self.refused = None;
        let taken = now.saturating_sub(late);
        let before = self.sensors.filter(|(_, at)| fresh(*at, settings, now)).map(|(s, _)| s);
        let silent_since = self.sensors.filter(|_| before.is_none()).map(|(_, at)| at);
        M::note_sensors(&mut self.history, before.as_ref(), &sensors, self.command.as_ref(), settings, taken);
        self.sensors = Some((sensors, now));
        if let Some(since) = silent_since {
            if self.run.as_ref().is_some_and(|run| run.step.is_some()) {
                self.finish(Outcome::SensorsLost, self.lost(settings), settings, now);
            }
            // What was under way may have been stopped by a restart; what stands where it was sent has lost nothing.
            if self.command.is_some_and(|c| !M::arrived(&sensors, &c, &self.history, settings)) {
                self.doubt(format!("{} was silent for {:.1} s", M::SENSOR_TOPIC, age(since, now)));
            }
        }
        if self.run.is_none() {
            self.compare(settings);
        }
        self.advance(settings, now);
    }

    /// A mechanism that was restarted does not stand where it was sent: then the sensors are believed instead.
    fn compare(&mut self, settings: &Settings) {
        if let (Some((sensors, _)), Some(command)) = (&self.sensors, &self.command)
            && let Some(reason) = M::contradiction(sensors, command, &self.history, settings)
        {
            self.doubt(reason);
        }
    }

    fn doubt(&mut self, reason: String) {
        if self.command.take().is_some() {
            self.sent_at = None;
            M::doubted(&mut self.history);
            self.events.push_back(Event::Doubted { reason });
        }
    }

    fn lost(&self, settings: &Settings) -> String {
        let why = self.why_refused();
        format!("no valid sensor data on {} for {} s{why}", M::SENSOR_TOPIC, settings.sensor_timeout)
    }

    /// Samples that come and are refused are told from samples that do not come.
    fn why_refused(&self) -> String {
        self.refused
            .as_ref()
            .map(|reason| format!(": the last sample was refused: {reason}"))
            .unwrap_or_default()
    }

    /// Begins `sequence`; whatever ran is pre-empted. Returns whether something was.
    pub fn begin(&mut self, sequence: Sequence<M>, origin: Origin, settings: &Settings, now: Time) -> bool {
        let preempted = self.running().is_some();
        self.finish(Outcome::Preempted, format!("{} was asked for", sequence.name), settings, now);
        self.runs += 1;
        self.sequence = Some(sequence.name);
        let goal_deadline = matches!(origin, Origin::Goal(_)).then(|| now + M::goal_timeout(settings));
        self.run = Some(Run { origin, sequence, step: None, entered: now, goal_deadline });
        self.events.push_back(Event::Began { origin, name: sequence.name });
        if let (Origin::Goal(goal), true) = (origin, preempted) {
            self.events.push_back(Event::Feedback { goal, code: PREV_ACTION_ABORTED });
        }
        if let Some(reason) = self.blocked.clone() {
            self.finish(Outcome::Refused, reason, settings, now);
        }
        self.advance(settings, now);
        preempted
    }

    /// Ends the running sequence, if any, and holds what moves.
    pub fn finish(&mut self, outcome: Outcome, mut reason: String, settings: &Settings, now: Time) {
        let Some(run) = self.run.take() else { return };
        if outcome == Outcome::Stopped
            && let Origin::Goal(goal) = run.origin
        {
            self.events.push_back(Event::Feedback { goal, code: STOPPING });
        }
        if self.sent_at.is_none() {
            // Found, but never sent: the next run looks again.
            self.command = None;
        } else if outcome != Outcome::Done
            && let (Some(command), Some((sensors, _))) = (self.command, &self.sensors)
        {
            let held = M::hold(command, sensors, settings);
            let goes_on = M::goes_on(&held, sensors, settings);
            if held != command {
                self.send(held, now);
            }
            // Whoever asked for a stop must know what it does not stop.
            let asked = matches!(outcome, Outcome::Stopped | Outcome::Canceled);
            reason.extend(goes_on.filter(|_| asked).map(|what| format!("; {what}")));
        }
        self.ended(run, outcome, reason);
    }

    /// Somebody else commands the actuators: what ran here gives way, and what they sent is where things go now.
    pub fn adopt(&mut self, command: M::Command, now: Time) {
        let reason = "another node commands the actuators".to_owned();
        if let Some(run) = self.run.take() {
            self.ended(run, Outcome::Preempted, reason);
        }
        M::note_command(&mut self.history, self.command.as_ref(), &command, now);
        self.command = Some(command);
        self.sent_at = Some(now);
    }

    fn ended(&mut self, run: Run<M>, outcome: Outcome, reason: String) {
        self.last = Some((outcome, reason.clone()));
        self.events.push_back(Event::Ended { origin: run.origin, name: run.sequence.name, outcome, reason });
    }

    fn send(&mut self, command: M::Command, now: Time) {
        M::note_command(&mut self.history, self.command.as_ref(), &command, now);
        self.command = Some(command);
        self.sent_at = Some(now);
        self.events.push_back(Event::Command(command));
    }

    /// Does all that can be done now.
    pub fn advance(&mut self, settings: &Settings, now: Time) {
        while self.run.is_some() {
            match self.progress(settings, now) {
                Progress::Advanced => {}
                Progress::Waiting => break,
                Progress::Ended(outcome, reason) => self.finish(outcome, reason, settings, now),
            }
        }
    }

    /// One attempt to get on: the wait's end is looked at before its timeout, so that what came in time counts.
    fn progress(&mut self, settings: &Settings, now: Time) -> Progress {
        if self.run.as_ref().is_some_and(|run| run.step.is_none()) {
            self.compare(settings);
        }
        let Some(run) = &mut self.run else { return Progress::Waiting };
        let valid = self.sensors.as_ref().filter(|(_, at)| fresh(*at, settings, now)).map(|(s, _)| s);
        let Some(index) = run.step else {
            let resting =
                valid.map(|sensors| M::resting(sensors, self.command.as_ref(), &self.history, settings, now));
            if let Some(Ok(resting)) = resting {
                // Adopted without being sent: it describes where the mechanism already stands.
                self.command.get_or_insert(resting);
                return self.enter(0, settings, now);
            }
            if now >= Self::step_deadline(run, settings) {
                let reason = match (valid, &self.sensors) {
                    (None, None) => {
                        let why = self.why_refused();
                        format!("no valid sensor data on {} was ever seen{why}", M::SENSOR_TOPIC)
                    }
                    (None, Some((_, at))) => {
                        let (age, why) = (age(*at, now), self.why_refused());
                        format!("the last valid sensor data on {} is {age:.1} s old{why}", M::SENSOR_TOPIC)
                    }
                    (Some(_), _) => format!("{} does not come to rest", M::NAME),
                };
                return Progress::Ended(Outcome::TimedOut, reason);
            }
            return Progress::Waiting;
        };
        let (Some(sensors), Some(command)) = (valid, &self.command) else {
            return Progress::Ended(Outcome::SensorsLost, self.lost(settings));
        };
        if let Some(reason) = M::contradiction(sensors, command, &self.history, settings) {
            return Progress::Ended(Outcome::Refused, format!("interlock: {reason}"));
        }
        let step = run.sequence.steps[index];
        let view = View { sensors, command, history: &self.history, settings, now };
        if M::check(&view, &step, step.until, run.entered).is_ok() {
            if let (Some(code), Origin::Goal(goal)) = (step.feedback, run.origin) {
                self.events.push_back(Event::Feedback { goal, code });
            }
            let (command, reached) = (*command, M::reached(step.until, *command, settings));
            if reached != command {
                self.send(reached, now);
            }
            return self.enter(index + 1, settings, now);
        }
        if now >= Self::step_deadline(run, settings) {
            let missing = M::describe(Some(&view), &step, step.until);
            if step.change.is_some() {
                M::caught(&mut self.history, sensors, command, settings);
            }
            return if step.change.is_none() && M::limit(step.until, settings).is_zero() {
                Progress::Ended(Outcome::Refused, format!("needs {missing}"))
            } else {
                let waited = now.saturating_sub(run.entered).as_secs_f64();
                Progress::Ended(
                    Outcome::TimedOut,
                    format!("{}: waited {waited:.1} s for {missing}", step.what),
                )
            };
        }
        if step.change.is_some() && self.repeat_at(settings).is_some_and(|at| now >= at) {
            self.sent_at = Some(now);
            self.events.push_back(Event::Command(*command));
        }
        Progress::Waiting
    }

    /// Begins a step: interlock first, then the outputs.
    fn enter(&mut self, index: usize, settings: &Settings, now: Time) -> Progress {
        let (Some(run), Some((sensors, _)), Some(command)) = (&mut self.run, &self.sensors, self.command)
        else {
            return Progress::Waiting;
        };
        let Some(step) = run.sequence.steps.get(index).copied() else {
            return Progress::Ended(Outcome::Done, String::new());
        };
        let next = step.change.as_ref().map(|change| M::apply(change, command, settings));
        if let Some(next) = &next {
            M::note_arrivals(&mut self.history, sensors, &command, settings, now);
            let view = View { sensors, command: &command, history: &self.history, settings, now };
            if let Some(needs) = step.needs
                && M::check(&view, &step, needs, now).is_err()
            {
                let missing = M::describe(Some(&view), &step, needs);
                return Progress::Ended(
                    Outcome::Refused,
                    format!("interlock: {} needs {missing}", step.what),
                );
            }
            if let Err(reason) = M::interlock(&view, next) {
                return Progress::Ended(Outcome::Refused, format!("interlock: {}: {reason}", step.what));
            }
        }
        run.step = Some(index);
        run.entered = now;
        self.events.push_back(Event::Stepped {
            name: run.sequence.name,
            number: index + 1,
            of: run.sequence.steps.len(),
            what: step.what,
        });
        if step.lights_lantern {
            self.events.push_back(Event::LightLantern);
        }
        if let Some(next) = next {
            self.send(next, now);
        }
        Progress::Advanced
    }

    fn repeat_at(&self, settings: &Settings) -> Option<Time> {
        self.sent_at.map(|at| at + secs(settings.republish_period))
    }

    fn step_deadline(run: &Run<M>, settings: &Settings) -> Time {
        run.goal_deadline.unwrap_or_else(|| {
            run.entered
                + match run.step {
                    None => secs(settings.sensor_wait) + M::rest_time(settings),
                    Some(index) => M::limit(run.sequence.steps[index].until, settings),
                }
        })
    }

    /// When [`advance`](Self::advance) must be called again even if nothing arrives.
    pub fn next_deadline(&self, settings: &Settings, now: Time) -> Option<Time> {
        let run = self.run.as_ref()?;
        let mut deadline = Self::step_deadline(run, settings);
        let Some((sensors, at)) = &self.sensors else { return Some(deadline) };
        let Some(index) = run.step else {
            if let Err(ready) = M::resting(sensors, self.command.as_ref(), &self.history, settings, now)
                && ready > now
            {
                deadline = deadline.min(ready);
            }
            return Some(deadline);
        };
        deadline = deadline.min(stale_from(*at, settings));
        let step = run.sequence.steps[index];
        if let (Some(at), Some(_)) = (self.repeat_at(settings), step.change) {
            deadline = deadline.min(at);
        }
        if let Some(command) = &self.command {
            let view = View { sensors, command, history: &self.history, settings, now };
            if let Err(Some(retry)) = M::check(&view, &step, step.until, run.entered) {
                deadline = deadline.min(retry);
            }
        }
        Some(deadline)
    }

    /// What it does, for diagnostics.
    pub fn activity(&self, settings: &Settings, now: Time) -> Activity {
        let sensor_age = self.sensors.as_ref().map(|(_, at)| now.saturating_sub(*at));
        let mut activity = Activity {
            sequence: self.sequence,
            running: self.run.is_some(),
            last: self.last.clone(),
            runs: self.runs,
            sensor_age,
            sensors_valid: self.senses(settings, now),
            refused: self.refused.clone(),
            goes_on: self.goes_on(settings),
            blocked: self.blocked.clone(),
            ..Activity::default()
        };
        if let Some(run) = &self.run {
            let of = run.sequence.steps.len();
            activity.since = Some(run.entered);
            match run.step {
                None => {
                    activity.step = Some((0, of, "look where the mechanism stands"));
                    activity.waiting_for = Some(if activity.sensors_valid {
                        "what is under way to arrive".to_owned()
                    } else {
                        format!("valid sensor data on {}", M::SENSOR_TOPIC)
                    });
                }
                Some(index) => {
                    let step = run.sequence.steps[index];
                    let view = match (&self.sensors, &self.command) {
                        (Some((sensors, _)), Some(command)) => {
                            Some(View { sensors, command, history: &self.history, settings, now })
                        }
                        _ => None,
                    };
                    activity.step = Some((index + 1, of, step.what));
                    activity.waiting_for = Some(M::describe(view.as_ref(), &step, step.until));
                }
            }
        }
        activity
    }

    /// What moves although nothing runs, because the hardware cannot stop it.
    pub fn goes_on(&self, settings: &Settings) -> Option<String> {
        match (&self.run, &self.command, &self.sensors) {
            (None, Some(command), Some((sensors, _))) => M::goes_on(command, sensors, settings),
            _ => None,
        }
    }

    /// The outputs that count.
    pub fn command(&self) -> Option<&M::Command> {
        self.command.as_ref()
    }

    /// How far the sensors are believed.
    pub fn trust(&self) -> M::Trust {
        M::trust(&self.history)
    }

    /// The last valid sample.
    pub fn sensors(&self) -> Option<&M::Sensors> {
        self.sensors.as_ref().map(|(s, _)| s)
    }
}

enum Progress {
    Advanced,
    Waiting,
    Ended(Outcome, String),
}

fn stale_from(at: Time, settings: &Settings) -> Time {
    at + secs(settings.sensor_timeout)
}

fn fresh(at: Time, settings: &Settings, now: Time) -> bool {
    now < stale_from(at, settings)
}

fn age(at: Time, now: Time) -> f64 {
    now.saturating_sub(at).as_secs_f64()
}
