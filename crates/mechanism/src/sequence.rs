//! What sequences are made of: the vocabulary of a mechanism, steps, and how a sequence ends.

use std::{fmt::Debug, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{GoalId, Time, settings::Settings};

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
    /// How far its sensors are believed.
    type Trust: Copy + Debug;

    /// Its name in topics and parameters.
    const NAME: &'static str;
    /// Outputs to compare sequences on: what a step does not set is as here.
    const NEUTRAL: Self::Command;
    /// The topic its sensors come from, for messages to people.
    const SENSOR_TOPIC: &'static str;
    /// The topic its outputs go to.
    const OUTPUT_TOPIC: &'static str;

    /// A sample has come that was `taken` then; `before` is the one before it, unless it is too old to be compared with.
    fn note_sensors(
        history: &mut Self::History,
        before: Option<&Self::Sensors>,
        after: &Self::Sensors,
        command: Option<&Self::Command>,
        settings: &Settings,
        taken: Time,
    );
    /// These outputs are sent.
    fn note_command(
        history: &mut Self::History,
        before: Option<&Self::Command>,
        after: &Self::Command,
        now: Time,
    );
    /// Something is about to be sent: what the last sample shows where it was sent, and long enough ago, has arrived. The next
    /// sample may be of a mechanism that has restarted.
    fn note_arrivals(
        _history: &mut Self::History,
        _sensors: &Self::Sensors,
        _command: &Self::Command,
        _settings: &Settings,
        _now: Time,
    ) {
    }
    /// A wait has timed out: sensors that have not followed their actuators confirm nothing until they are seen to move.
    fn caught(
        history: &mut Self::History,
        sensors: &Self::Sensors,
        command: &Self::Command,
        settings: &Settings,
    );
    /// What was sent says no longer where anything stands.
    fn doubted(history: &mut Self::History);
    /// The sensors are others than before: none of them was seen to move yet.
    fn replaced(history: &mut Self::History);
    /// How far the sensors are believed.
    fn trust(history: &Self::History) -> Self::Trust;
    /// What had arrived where it was sent and is elsewhere now, although nobody sent it there.
    fn contradiction(
        sensors: &Self::Sensors,
        command: &Self::Command,
        history: &Self::History,
        settings: &Settings,
    ) -> Option<String>;
    /// Whether every output that has a sensor is where it was sent.
    fn arrived(
        sensors: &Self::Sensors,
        command: &Self::Command,
        history: &Self::History,
        settings: &Settings,
    ) -> bool;
    /// The outputs that move nothing: the last command, or where the sensors say that things stand. While something is
    /// under way: when it should have arrived.
    fn resting(
        sensors: &Self::Sensors,
        command: Option<&Self::Command>,
        history: &Self::History,
        settings: &Settings,
        now: Time,
    ) -> Result<Self::Command, Time>;
    /// The longest that takes.
    fn rest_time(settings: &Settings) -> Duration;
    /// `command` with the outputs of a step.
    fn apply(change: &Self::Change, command: Self::Command, settings: &Settings) -> Self::Command;
    /// The outputs that stop all motion that can be stopped.
    fn hold(command: Self::Command, sensors: &Self::Sensors, settings: &Settings) -> Self::Command;
    /// What moves on although these outputs, which hold, were sent; in words.
    fn goes_on(held: &Self::Command, sensors: &Self::Sensors, settings: &Settings) -> Option<String>;
    /// The outputs once a step's condition holds: what ran until a switch stands still then.
    fn reached(until: Self::Until, command: Self::Command, settings: &Settings) -> Self::Command;
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
    fn limit(until: Self::Until, settings: &Settings) -> Duration;
    /// How long the condition takes when it only waits: a parameter of the sequence, like its angles.
    fn pause(until: Self::Until, settings: &Settings) -> Duration;
    /// How long a goal may take.
    fn goal_timeout(settings: &Settings) -> Duration;
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
    /// As people and actions call it.
    pub name: &'static str,
    /// What it does, in this order.
    pub steps: &'static [Step<M>],
}

/// What parameters make of a sequence: the outputs of its steps, and how long those take that only wait.
pub(crate) type Shape<M> = Vec<(Option<<M as Mechanism>::Command>, Duration)>;

impl<M: Mechanism> Sequence<M> {
    /// Two shapes that differ mean that the sequence would lead elsewhere now.
    pub(crate) fn shape(&self, settings: &Settings) -> Shape<M> {
        let outputs = |step: &Step<M>| step.change.map(|change| M::apply(&change, M::NEUTRAL, settings));
        self.steps.iter().map(|step| (outputs(step), M::pause(step.until, settings))).collect()
    }
}

/// What conditions and interlocks look at.
#[derive(Debug)]
pub struct View<'a, M: Mechanism> {
    /// The last valid sample.
    pub sensors: &'a M::Sensors,
    /// The outputs that count.
    pub command: &'a M::Command,
    /// What happened before.
    pub history: &'a M::History,
    /// The parameters that count.
    pub settings: &'a Settings,
    /// The present.
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
    /// A sequence begins.
    Began {
        /// Who asked for it.
        origin: Origin,
        /// Its name.
        name: &'static str,
    },
    /// A step begins.
    Stepped {
        /// The sequence's name.
        name: &'static str,
        /// From 1.
        number: usize,
        /// How many steps there are.
        of: usize,
        /// What it does.
        what: &'static str,
    },
    /// A goal's client is to be told.
    Feedback {
        /// Which goal.
        goal: GoalId,
        /// The code of the action.
        code: u8,
    },
    /// The lantern shall shine.
    LightLantern,
    /// What was last sent says no longer where the mechanism stands.
    Doubted {
        /// Why.
        reason: String,
    },
    /// A sequence has ended.
    Ended {
        /// Who asked for it.
        origin: Origin,
        /// Its name.
        name: &'static str,
        /// How.
        outcome: Outcome,
        /// Why, unless it is done.
        reason: String,
    },
}

/// What a mechanism is doing, for diagnostics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// The running sequence, or the last one.
    pub sequence: Option<&'static str>,
    /// Whether it runs.
    pub running: bool,
    /// Number, count and text of the running step; number 0 waits for sensor data.
    pub step: Option<(usize, usize, &'static str)>,
    /// What the present step waits for.
    pub waiting_for: Option<String>,
    /// When the present wait began.
    pub since: Option<Time>,
    /// How the last sequence ended and why.
    pub last: Option<(Outcome, String)>,
    /// Sequences begun so far.
    pub runs: u64,
    /// Age of the last valid sensor sample.
    pub sensor_age: Option<Duration>,
    /// Whether that is young enough to be believed.
    pub sensors_valid: bool,
    /// Why the last sample was not used, until a good one comes.
    pub refused: Option<String>,
    /// What moves although it was told to hold, because the hardware cannot stop it.
    pub goes_on: Option<String>,
    /// Why nothing may be begun.
    pub blocked: Option<String>,
}

/// Feedback codes that both actions share.
pub(crate) const STOPPING: u8 = 0;
pub(crate) const PREV_ACTION_ABORTED: u8 = 1;
