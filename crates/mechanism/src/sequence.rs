//! Runs step tables: one [`Sequencer`] per mechanism, none knows of the other.
//!
//! A step sets outputs (after the interlock agreed) and then waits for a condition. Every wait ends: by the condition,
//! by its timeout, by lost sensors, by a stop, or by a newer command.

use std::{collections::VecDeque, fmt::Debug, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    GoalId, Time,
    params::{Params, secs},
};

/// A mechanism's vocabulary: what it senses, what it is told, what its steps wait for.
pub trait Mechanism: Copy + Debug + 'static {
    /// One valid sensor sample.
    type Sensors: Copy + Debug;
    /// All outputs at once.
    type Command: Copy + PartialEq + Debug;
    /// The outputs that one step sets; the others stay.
    type Change: Copy + Debug + 'static;
    /// What a step waits for.
    type Until: Copy + Debug + 'static;
    /// When things last changed, and what has arrived, for conditions that need it.
    type History: Debug + Default;

    const NAME: &'static str;
    /// The topic its sensors come from, for messages to people.
    const SENSOR_TOPIC: &'static str;

    fn note_sensors(
        history: &mut Self::History,
        before: Option<&Self::Sensors>,
        after: &Self::Sensors,
        command: Option<&Self::Command>,
        params: &Params,
        now: Time,
    );
    fn note_command(
        history: &mut Self::History,
        before: Option<&Self::Command>,
        after: &Self::Command,
        now: Time,
    );
    /// What had arrived where it was sent and is elsewhere now, although nobody sent it there.
    fn contradiction(
        sensors: &Self::Sensors,
        command: &Self::Command,
        history: &Self::History,
        params: &Params,
    ) -> Option<String>;
    /// Whether every output that has a sensor is where it was sent.
    fn arrived(
        sensors: &Self::Sensors,
        command: &Self::Command,
        history: &Self::History,
        params: &Params,
    ) -> bool;
    /// The outputs that move nothing: the last command, or where the sensors say that things stand. While something is
    /// under way: when it should have arrived.
    fn resting(
        sensors: &Self::Sensors,
        command: Option<&Self::Command>,
        history: &Self::History,
        params: &Params,
        now: Time,
    ) -> Result<Self::Command, Time>;
    /// The longest that takes.
    fn rest_time(params: &Params) -> Duration;
    /// `command` with the outputs of a step.
    fn apply(change: &Self::Change, command: Self::Command, params: &Params) -> Self::Command;
    /// The outputs that stop all motion that can be stopped.
    fn hold(command: Self::Command, sensors: &Self::Sensors, params: &Params) -> Self::Command;
    /// May `next` be sent now? The reason if not.
    fn interlock(view: &View<'_, Self>, next: &Self::Command) -> Result<(), String>;
    /// Does the condition hold? If not: when time alone may change that.
    fn check(
        view: &View<'_, Self>,
        step: &Step<Self>,
        until: Self::Until,
        entered: Time,
    ) -> Result<(), Option<Time>>;
    /// The condition in words, with the values that matter.
    fn describe(view: Option<&View<'_, Self>>, step: &Step<Self>, until: Self::Until) -> String;
    /// How long a phase waits for it.
    fn limit(until: Self::Until, params: &Params) -> Duration;
    fn goal_timeout(params: &Params) -> Duration;
}

/// One row of a step table.
#[derive(Clone, Copy, Debug)]
pub struct Step<M: Mechanism> {
    /// What happens, for people.
    pub what: &'static str,
    /// Interlock of this step, beyond those of the mechanism.
    pub needs: Option<M::Until>,
    /// Outputs; `None` for a guard, which only waits.
    pub change: Option<M::Change>,
    /// The step is over when this holds.
    pub until: M::Until,
    /// Action feedback when the step is over.
    pub feedback: Option<u8>,
    /// The lantern is lit when the step begins.
    pub lights_lantern: bool,
}

impl<M: Mechanism> Step<M> {
    pub(crate) const fn new(what: &'static str, change: Option<M::Change>, until: M::Until) -> Self {
        Self { what, needs: None, change, until, feedback: None, lights_lantern: false }
    }

    pub(crate) const fn needs(mut self, needs: M::Until) -> Self {
        self.needs = Some(needs);
        self
    }

    pub(crate) const fn feedback(mut self, code: u8) -> Self {
        self.feedback = Some(code);
        self
    }

    pub(crate) const fn lights_lantern(mut self) -> Self {
        self.lights_lantern = true;
        self
    }
}

/// A named step table.
#[derive(Clone, Copy, Debug)]
pub struct Sequence<M: Mechanism> {
    pub name: &'static str,
    pub steps: &'static [Step<M>],
}

/// What conditions and interlocks look at.
#[derive(Debug)]
pub struct View<'a, M: Mechanism> {
    pub sensors: &'a M::Sensors,
    pub command: &'a M::Command,
    pub history: &'a M::History,
    pub params: &'a Params,
    pub now: Time,
}

/// Who asked for a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A desired phase from `/mecha_state`.
    Phase(u8),
    /// An action goal.
    Goal(GoalId),
    /// A word from `/direct_mecha_command`.
    Direct,
}

/// How a sequence ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every step's condition was met.
    Done,
    /// STOP.
    Stopped,
    /// The action client cancelled.
    Canceled,
    /// A newer command took over.
    Preempted,
    /// A guard or an interlock said no.
    Refused,
    /// A wait took too long.
    TimedOut,
    /// The sensors fell silent.
    SensorsLost,
    /// There is no such command.
    UnknownCommand,
}

impl Outcome {
    /// The `result` code of DaizaCmd and HinaCmd.
    pub fn result_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Stopped | Self::Canceled | Self::Preempted => 1,
            Self::UnknownCommand => 2,
            Self::Refused | Self::SensorsLost => 3,
            Self::TimedOut => 4,
        }
    }

    /// Whether it ended against everybody's wish.
    pub fn is_failure(self) -> bool {
        !matches!(self, Self::Done | Self::Stopped | Self::Canceled | Self::Preempted)
    }

    /// One word for people and logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Stopped => "stopped",
            Self::Canceled => "canceled",
            Self::Preempted => "pre-empted",
            Self::Refused => "refused",
            Self::TimedOut => "timed out",
            Self::SensorsLost => "sensors lost",
            Self::UnknownCommand => "unknown command",
        }
    }
}

/// What a sequencer tells its owner.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<C> {
    /// Send these outputs.
    Command(C),
    Began {
        origin: Origin,
        name: &'static str,
    },
    Stepped {
        name: &'static str,
        number: usize,
        of: usize,
        what: &'static str,
    },
    Feedback {
        goal: GoalId,
        code: u8,
    },
    LightLantern,
    /// What was last sent says no longer where the mechanism stands.
    Doubted {
        reason: String,
    },
    Ended {
        origin: Origin,
        name: &'static str,
        outcome: Outcome,
        reason: String,
    },
}

/// What a mechanism is doing, for diagnostics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// The running sequence, or the last one.
    pub sequence: Option<&'static str>,
    pub running: bool,
    /// Number, count and text of the running step; number 0 waits for sensor data.
    pub step: Option<(usize, usize, &'static str)>,
    pub waiting_for: Option<String>,
    /// When the present wait began.
    pub since: Option<Time>,
    /// How the last sequence ended and why.
    pub last: Option<(Outcome, String)>,
    /// Sequences begun so far.
    pub runs: u64,
    /// Age of the last valid sensor sample.
    pub sensor_age: Option<Duration>,
    pub sensors_valid: bool,
}

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
            events: VecDeque::new(),
        }
    }
}

impl<M: Mechanism> Sequencer<M> {
    pub fn poll_event(&mut self) -> Option<Event<M::Command>> {
        self.events.pop_front()
    }

    pub fn running(&self) -> Option<Origin> {
        self.run.as_ref().map(|r| r.origin)
    }

    /// Whether the last sensor sample is young enough to be believed.
    pub fn senses(&self, params: &Params, now: Time) -> bool {
        self.sensors.as_ref().is_some_and(|(_, at)| fresh(*at, params, now))
    }

    /// A valid sensor sample arrived.
    pub fn sense(&mut self, sensors: M::Sensors, params: &Params, now: Time) {
        let before = self.sensors.filter(|(_, at)| fresh(*at, params, now)).map(|(s, _)| s);
        let silent_since = self.sensors.filter(|_| before.is_none()).map(|(_, at)| at);
        M::note_sensors(&mut self.history, before.as_ref(), &sensors, self.command.as_ref(), params, now);
        self.sensors = Some((sensors, now));
        if let Some(since) = silent_since {
            if self.run.as_ref().is_some_and(|run| run.step.is_some()) {
                self.finish(Outcome::SensorsLost, Self::lost(params), params, now);
            }
            // What was under way may have been stopped by a restart; what stands where it was sent has lost nothing.
            if self.command.is_some_and(|c| !M::arrived(&sensors, &c, &self.history, params)) {
                self.doubt(format!("{} was silent for {:.1} s", M::SENSOR_TOPIC, age(since, now)));
            }
        }
        if self.run.is_none() {
            self.compare(params);
        }
        self.advance(params, now);
    }

    /// A mechanism that was restarted does not stand where it was sent: then the sensors are believed instead.
    fn compare(&mut self, params: &Params) {
        if let (Some((sensors, _)), Some(command)) = (&self.sensors, &self.command)
            && let Some(reason) = M::contradiction(sensors, command, &self.history, params)
        {
            self.doubt(reason);
        }
    }

    fn doubt(&mut self, reason: String) {
        if self.command.take().is_some() {
            self.sent_at = None;
            self.events.push_back(Event::Doubted { reason });
        }
    }

    fn lost(params: &Params) -> String {
        format!("no valid sensor data on {} for {} s", M::SENSOR_TOPIC, params.sensor_timeout)
    }

    /// Begins `sequence`; whatever ran is pre-empted. Returns whether something was.
    pub fn begin(&mut self, sequence: Sequence<M>, origin: Origin, params: &Params, now: Time) -> bool {
        let preempted = self.running().is_some();
        self.finish(Outcome::Preempted, format!("{} was asked for", sequence.name), params, now);
        self.runs += 1;
        self.sequence = Some(sequence.name);
        let goal_deadline = matches!(origin, Origin::Goal(_)).then(|| now + M::goal_timeout(params));
        self.run = Some(Run { origin, sequence, step: None, entered: now, goal_deadline });
        self.events.push_back(Event::Began { origin, name: sequence.name });
        if let (Origin::Goal(goal), true) = (origin, preempted) {
            self.events.push_back(Event::Feedback { goal, code: PREV_ACTION_ABORTED });
        }
        self.advance(params, now);
        preempted
    }

    /// Ends the running sequence, if any, and holds what moves.
    pub fn finish(&mut self, outcome: Outcome, reason: String, params: &Params, now: Time) {
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
            let held = M::hold(command, sensors, params);
            if held != command {
                self.send(held, now);
            }
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
    pub fn advance(&mut self, params: &Params, now: Time) {
        while self.run.is_some() {
            match self.progress(params, now) {
                Progress::Advanced => {}
                Progress::Waiting => break,
                Progress::Ended(outcome, reason) => self.finish(outcome, reason, params, now),
            }
        }
    }

    /// One attempt to get on: the wait's end is looked at before its timeout, so that what came in time counts.
    fn progress(&mut self, params: &Params, now: Time) -> Progress {
        if self.run.as_ref().is_some_and(|run| run.step.is_none()) {
            self.compare(params);
        }
        let Some(run) = &mut self.run else { return Progress::Waiting };
        let valid = self.sensors.as_ref().filter(|(_, at)| fresh(*at, params, now)).map(|(s, _)| s);
        let Some(index) = run.step else {
            let resting =
                valid.map(|sensors| M::resting(sensors, self.command.as_ref(), &self.history, params, now));
            if let Some(Ok(resting)) = resting {
                // Adopted without being sent: it describes where the mechanism already stands.
                self.command.get_or_insert(resting);
                return self.enter(0, params, now);
            }
            if now >= Self::step_deadline(run, params) {
                let reason = match (valid, &self.sensors) {
                    (None, None) => format!("no valid sensor data on {} was ever seen", M::SENSOR_TOPIC),
                    (None, Some((_, at))) => {
                        format!(
                            "the last valid sensor data on {} is {:.1} s old",
                            M::SENSOR_TOPIC,
                            age(*at, now)
                        )
                    }
                    (Some(_), _) => format!("{} does not come to rest", M::NAME),
                };
                return Progress::Ended(Outcome::TimedOut, reason);
            }
            return Progress::Waiting;
        };
        let (Some(sensors), Some(command)) = (valid, &self.command) else {
            return Progress::Ended(Outcome::SensorsLost, Self::lost(params));
        };
        if let Some(reason) = M::contradiction(sensors, command, &self.history, params) {
            return Progress::Ended(Outcome::Refused, format!("interlock: {reason}"));
        }
        let step = run.sequence.steps[index];
        let view = View { sensors, command, history: &self.history, params, now };
        if M::check(&view, &step, step.until, run.entered).is_ok() {
            if let (Some(code), Origin::Goal(goal)) = (step.feedback, run.origin) {
                self.events.push_back(Event::Feedback { goal, code });
            }
            return self.enter(index + 1, params, now);
        }
        if now >= Self::step_deadline(run, params) {
            let missing = M::describe(Some(&view), &step, step.until);
            return if step.change.is_none() && M::limit(step.until, params).is_zero() {
                Progress::Ended(Outcome::Refused, format!("needs {missing}"))
            } else {
                let waited = now.saturating_sub(run.entered).as_secs_f64();
                Progress::Ended(
                    Outcome::TimedOut,
                    format!("{}: waited {waited:.1} s for {missing}", step.what),
                )
            };
        }
        if step.change.is_some() && self.repeat_at(params).is_some_and(|at| now >= at) {
            self.sent_at = Some(now);
            self.events.push_back(Event::Command(*command));
        }
        Progress::Waiting
    }

    /// Begins a step: interlock first, then the outputs.
    fn enter(&mut self, index: usize, params: &Params, now: Time) -> Progress {
        let (Some(run), Some((sensors, _)), Some(command)) = (&mut self.run, &self.sensors, self.command)
        else {
            return Progress::Waiting;
        };
        let Some(step) = run.sequence.steps.get(index).copied() else {
            return Progress::Ended(Outcome::Done, String::new());
        };
        let next = step.change.as_ref().map(|change| M::apply(change, command, params));
        if let Some(next) = &next {
            let view = View { sensors, command: &command, history: &self.history, params, now };
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

    fn repeat_at(&self, params: &Params) -> Option<Time> {
        self.sent_at.map(|at| at + secs(params.republish_period))
    }

    fn step_deadline(run: &Run<M>, params: &Params) -> Time {
        run.goal_deadline.unwrap_or_else(|| {
            run.entered
                + match run.step {
                    None => secs(params.sensor_wait) + M::rest_time(params),
                    Some(index) => M::limit(run.sequence.steps[index].until, params),
                }
        })
    }

    /// When [`advance`](Self::advance) must be called again even if nothing arrives.
    pub fn next_deadline(&self, params: &Params, now: Time) -> Option<Time> {
        let run = self.run.as_ref()?;
        let mut deadline = Self::step_deadline(run, params);
        let Some((sensors, at)) = &self.sensors else { return Some(deadline) };
        let Some(index) = run.step else {
            if let Err(ready) = M::resting(sensors, self.command.as_ref(), &self.history, params, now)
                && ready > now
            {
                deadline = deadline.min(ready);
            }
            return Some(deadline);
        };
        deadline = deadline.min(stale_from(*at, params));
        let step = run.sequence.steps[index];
        if let (Some(at), Some(_)) = (self.repeat_at(params), step.change) {
            deadline = deadline.min(at);
        }
        if let Some(command) = &self.command {
            let view = View { sensors, command, history: &self.history, params, now };
            if let Err(Some(retry)) = M::check(&view, &step, step.until, run.entered) {
                deadline = deadline.min(retry);
            }
        }
        Some(deadline)
    }

    pub fn activity(&self, params: &Params, now: Time) -> Activity {
        let sensor_age = self.sensors.as_ref().map(|(_, at)| now.saturating_sub(*at));
        let mut activity = Activity {
            sequence: self.sequence,
            running: self.run.is_some(),
            last: self.last.clone(),
            runs: self.runs,
            sensor_age,
            sensors_valid: self.senses(params, now),
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
                            Some(View { sensors, command, history: &self.history, params, now })
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

    pub fn command(&self) -> Option<&M::Command> {
        self.command.as_ref()
    }

    pub fn sensors(&self) -> Option<&M::Sensors> {
        self.sensors.as_ref().map(|(s, _)| s)
    }
}

/// Feedback codes that both actions share.
pub(crate) const STOPPING: u8 = 0;
pub(crate) const PREV_ACTION_ABORTED: u8 = 1;

enum Progress {
    Advanced,
    Waiting,
    Ended(Outcome, String),
}

fn stale_from(at: Time, params: &Params) -> Time {
    at + secs(params.sensor_timeout)
}

fn fresh(at: Time, params: &Params, now: Time) -> bool {
    now < stale_from(at, params)
}

fn age(at: Time, now: Time) -> f64 {
    now.saturating_sub(at).as_secs_f64()
}
