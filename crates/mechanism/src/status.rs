//! What a controller tells of itself: one type for both sides of `~/state`, and its picture as diagnostics.

use rosless_wire::{
    builtin_interfaces,
    diagnostic_msgs::msg::{DiagnosticArray, DiagnosticStatus, KeyValue},
    std_msgs::msg::Header,
};
use serde::{Deserialize, Serialize};

use crate::{
    Engine, Outcome, Profile, Time,
    doll::{self, Guide, Lift},
    engine::{MechanismStatus, Which},
    pedestal::{self, Cylinders},
};

/// The node whose parts the diagnostics name.
pub const NODE: &str = "sequence_controller";
/// The typed topic below the node's name: JSON of a [`Status`], latched, so that a command sees the state at once.
pub const TOPIC: &str = "state";

/// The phases' names, by their codes.
pub const PHASES: [&str; 5] = ["prepare", "deploy", "collect", "place", "stow"];

/// A phase's name for people.
pub fn phase_name(code: u8) -> String {
    PHASES.get(usize::from(code)).map_or_else(|| code.to_string(), |name| (*name).to_owned())
}

/// The controller at a glance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The hardware it drives.
    pub profile: Profile,
    /// Repeats of a phase closer than this, in seconds, are one command.
    pub command_gap: f64,
    /// MechaState messages so far.
    pub messages: u64,
    /// The lantern.
    pub bonbori: Lantern,
    /// The pedestal.
    pub daiza: Part,
    /// The doll.
    pub hina: Part,
    /// What the actuators were told last.
    pub outputs: Outputs,
    /// What the sensors told last.
    pub sensed: Sensed,
    /// How far they are believed.
    #[serde(default)]
    pub trust: Trust,
}

/// The lantern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lantern {
    /// Whether it shines.
    pub lit: bool,
    /// `bonbori_state` of the last MechaState.
    pub flag: bool,
}

/// What the actuators were told last; nothing when that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outputs {
    /// The pedestal's cylinders.
    pub daiza: Option<Cylinders>,
    /// The doll.
    pub hina: Option<doll::Command>,
}

/// What the sensors told last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sensed {
    /// The pedestal's.
    pub daiza: Option<pedestal::Sensors>,
    /// The doll's.
    pub hina: Option<doll::Sensors>,
}

/// How far the sensors are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// The pedestal's.
    pub daiza: pedestal::Trust,
    /// The doll's.
    pub hina: doll::Trust,
}

impl Trust {
    /// The sensors that did not follow and confirm nothing until they are seen to move, for people.
    pub fn caught(&self, which: Which) -> Vec<String> {
        match which {
            Which::Pedestal => {
                let caught = (0..4).filter(|i| self.daiza.caught[*i]);
                caught.map(|i| format!("cylinder {}", i + 1)).collect()
            }
            Which::Doll => {
                let tilt = self.hina.caught_tilt.map(|_| "potentiometer".to_owned());
                tilt.into_iter().chain(self.hina.caught_ends.map(|_| "end switches".to_owned())).collect()
            }
        }
    }
}

/// One mechanism.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The phase that was last asked for.
    pub desired: Option<u8>,
    /// The phase the mechanism is in, if any.
    pub reached: Option<u8>,
    /// The running sequence, or the last one.
    pub sequence: Option<String>,
    /// Whether it runs.
    pub running: bool,
    /// Where it is.
    pub step: Option<Step>,
    /// What that waits for.
    pub waiting_for: Option<String>,
    /// When the present wait began, in seconds since the Unix epoch.
    pub since: Option<f64>,
    /// How the last sequence ended.
    pub ended: Option<Ended>,
    /// Sequences begun so far.
    pub runs: u64,
    /// Whether valid sensor data was ever seen.
    pub sensors_seen: bool,
    /// Whether it is young enough to be believed.
    pub sensors_valid: bool,
    /// Samples that were refused so far.
    pub bad_samples: u64,
    /// Why the last sample was refused, until a good one comes.
    #[serde(default)]
    pub refused_sample: Option<String>,
    /// What moves although it was told to hold, because the hardware cannot stop it.
    #[serde(default)]
    pub goes_on: Option<String>,
    /// Why nothing may be begun.
    #[serde(default)]
    pub blocked: Option<String>,
}

/// The running step; number 0 waits for sensor data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// From 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    /// What it does.
    pub what: String,
}

/// How a sequence ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// In a word.
    pub outcome: Outcome,
    /// Why; empty when it is done.
    pub reason: String,
}

impl Part {
    fn new(status: &MechanismStatus, now: Time, wall: Time) -> Self {
        let activity = &status.activity;
        let ended =
            |(outcome, reason): &(Outcome, String)| Ended { outcome: *outcome, reason: reason.clone() };
        Self {
            desired: status.desired,
            reached: status.reached,
            sequence: activity.sequence.map(str::to_owned),
            running: activity.running,
            step: activity.step.map(|(number, of, what)| Step { number, of, what: what.to_owned() }),
            waiting_for: activity.waiting_for.clone(),
            since: activity.since.map(|since| wall.saturating_sub(now.saturating_sub(since)).as_secs_f64()),
            ended: activity.last.as_ref().map(ended),
            runs: activity.runs,
            sensors_seen: activity.sensor_age.is_some(),
            sensors_valid: activity.sensors_valid,
            bad_samples: status.bad_samples,
            refused_sample: activity.refused.clone(),
            goes_on: activity.goes_on.clone(),
            blocked: activity.blocked.clone(),
        }
    }

    /// The sequence's name; empty before the first.
    pub fn sequence(&self) -> &str {
        self.sequence.as_deref().unwrap_or_default()
    }

    /// What it does, or why it does nothing, in a line.
    pub fn summary(&self) -> (Health, String) {
        let sequence = self.sequence();
        let failed = self.ended.as_ref().filter(|ended| !self.running && ended.outcome.is_failure());
        match (self.running, failed) {
            (true, _) => {
                let Step { number, of, what } = self.step.clone().unwrap_or_default();
                let waiting = self.waiting_for.as_deref().unwrap_or("nothing");
                (Health::Ok, format!("{sequence} {number}/{of}: {what}, waits for {waiting}"))
            }
            (_, Some(Ended { outcome, reason })) => {
                (Health::Error, format!("{sequence} {}: {reason}", outcome.word()))
            }
            _ if let Some(reason) = &self.blocked => (Health::Error, format!("nothing is begun: {reason}")),
            _ if !self.sensors_valid
                && let Some(reason) = &self.refused_sample =>
            {
                (Health::Error, format!("the sensors' samples are refused: {reason}"))
            }
            _ if !self.sensors_seen => (Health::Stale, "no valid sensor data was ever seen".to_owned()),
            _ if !self.sensors_valid => (Health::Warn, "the sensor data is stale".to_owned()),
            _ if let Some(what) = &self.goes_on => (Health::Warn, format!("idle, but {what}")),
            _ => {
                let phase = self.reached.map(|code| format!(", in phase {}", phase_name(code)));
                (Health::Ok, format!("idle{}", phase.unwrap_or_default()))
            }
        }
    }

    fn diagnostic(&self, which: Which, outputs: String, sensed: String) -> DiagnosticStatus {
        let text = |value: Option<String>| value.unwrap_or_default();
        let step = self.step.as_ref();
        let (outcome, reason) =
            self.ended.as_ref().map_or(("", ""), |ended| (ended.outcome.word(), ended.reason.as_str()));
        let (health, message) = self.summary();
        let values = [
            ("desired", text(self.desired.map(|code| code.to_string()))),
            ("reached", text(self.reached.map(|code| code.to_string()))),
            ("sequence", self.sequence().to_owned()),
            ("running", self.running.to_string()),
            ("step", text(step.map(|step| format!("{}/{}", step.number, step.of)))),
            ("what", text(step.map(|step| step.what.clone()))),
            ("waiting_for", text(self.waiting_for.clone())),
            ("since", text(self.since.map(|at| format!("{at:.3}")))),
            ("outcome", outcome.to_owned()),
            ("reason", reason.to_owned()),
            ("runs", self.runs.to_string()),
            ("sensors_valid", self.sensors_valid.to_string()),
            ("bad_samples", self.bad_samples.to_string()),
            ("refused_sample", text(self.refused_sample.clone())),
            ("goes_on", text(self.goes_on.clone())),
            ("blocked", text(self.blocked.clone())),
            ("outputs", outputs),
            ("sensed", sensed),
        ];
        diagnostic(which.name(), health, message, values)
    }
}

/// The levels of a DiagnosticStatus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Health {
    /// All is well.
    Ok = DiagnosticStatus::OK,
    /// Something is not as it should be.
    Warn = DiagnosticStatus::WARN,
    /// Something that was asked for did not happen, or cannot.
    Error = DiagnosticStatus::ERROR,
    /// Nothing was heard.
    Stale = DiagnosticStatus::STALE,
}

impl Status {
    /// The engine now; `wall` is the time since the Unix epoch.
    pub fn new(engine: &Engine, now: Time, wall: Time) -> Self {
        let status = engine.status(now);
        let ((daiza_told, daiza_sensed), (hina_told, hina_sensed)) = (engine.pedestal(), engine.doll());
        Self {
            profile: engine.settings().profile,
            command_gap: engine.settings().command_gap,
            messages: status.messages,
            bonbori: Lantern { lit: status.lantern, flag: status.lantern_flag },
            daiza: Part::new(&status.pedestal, now, wall),
            hina: Part::new(&status.doll, now, wall),
            outputs: Outputs { daiza: daiza_told.copied(), hina: hina_told.copied() },
            sensed: Sensed { daiza: daiza_sensed.copied(), hina: hina_sensed.copied() },
            trust: engine.trust(),
        }
    }

    /// One of the mechanisms.
    pub fn part(&self, which: Which) -> &Part {
        match which {
            Which::Pedestal => &self.daiza,
            Which::Doll => &self.hina,
        }
    }

    /// As it travels.
    pub fn to_json(&self) -> String {
        // Every value of this type has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// As it arrives.
    ///
    /// # Errors
    /// When it is no status.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let status: Self = serde_json::from_str(text)?;
        let finite = status.command_gap.is_finite() && status.outputs.hina.is_none_or(|c| c.tilt.is_finite());
        if finite { Ok(status) } else { Err(serde::de::Error::custom("a number is not finite")) }
    }

    /// What the outputs of a mechanism are, for people.
    pub fn told(&self, which: Which) -> Option<String> {
        match which {
            Which::Pedestal => {
                self.outputs.daiza.map(|cylinders| format!("cylinders {}", digits(&cylinders)))
            }
            Which::Doll => self.outputs.hina.map(|command| {
                let lift = match command.lift {
                    Lift::Up => "up",
                    Lift::Down => "down",
                    Lift::Hold => "hold",
                };
                let guide = if command.guide == Guide::Out { "out" } else { "in" };
                let latches = digits(&command.latches);
                format!("tilt {:.1} lift {lift} guide {guide} latches {latches}", command.tilt)
            }),
        }
    }

    /// What a mechanism senses, for people.
    pub fn senses(&self, which: Which) -> Option<String> {
        match which {
            Which::Pedestal => self
                .sensed
                .daiza
                .map(|s| format!("cylinders {} pedestal {}", digits(&s.cylinders), u8::from(s.pedestal))),
            Which::Doll => self.sensed.hina.map(|s| {
                let switches = digits(&[s.up, s.down, s.walls[0], s.walls[1], s.stowed]);
                let latches = digits(&s.latches);
                format!("tilt {:.1} switches up,down,wall1,wall2,stowed {switches} latches {latches}", s.tilt)
            }),
        }
    }

    /// The same for `~/status` and `/diagnostics`.
    pub fn diagnostics(&self, stamp: builtin_interfaces::msg::Time) -> DiagnosticArray {
        let part = |which| {
            let (told, senses) = (self.told(which), self.senses(which));
            let mut status =
                self.part(which).diagnostic(which, told.unwrap_or_default(), senses.unwrap_or_default());
            let value = self.trust.caught(which).join(", ");
            status.values.push(KeyValue { key: "not_believed".to_owned(), value });
            status
        };
        let light = if self.bonbori.lit { "on" } else { "off" };
        let values = [
            ("light", light.to_owned()),
            ("flag", self.bonbori.flag.to_string()),
            ("messages", self.messages.to_string()),
            ("profile", self.profile.name().to_owned()),
        ];
        DiagnosticArray {
            header: Header { stamp, ..Header::default() },
            status: vec![
                part(Which::Pedestal),
                part(Which::Doll),
                diagnostic("bonbori", Health::Ok, light.to_owned(), values),
            ],
        }
    }
}

/// Bits as digits.
pub fn digits(bits: &[bool]) -> String {
    bits.iter().map(|bit| if *bit { '1' } else { '0' }).collect()
}

fn diagnostic<'a>(
    name: &str,
    health: Health,
    message: String,
    values: impl IntoIterator<Item = (&'a str, String)>,
) -> DiagnosticStatus {
    DiagnosticStatus {
        level: health as u8,
        name: format!("{NODE}: {name}"),
        message,
        hardware_id: "mechanism".to_owned(),
        values: values.into_iter().map(|(key, value)| KeyValue { key: key.to_owned(), value }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Input, Settings};

    #[test]
    fn what_is_told_is_understood() {
        let mut engine = Engine::new(Settings::defaults(Profile::Document));
        let sample = pedestal::Sensors { pedestal: true, cylinders: [false; 4] };
        for millis in (0..1500).step_by(100) {
            engine.handle(Input::PedestalSensors(Ok(sample)), Time::from_millis(millis));
        }
        let now = Time::from_millis(1450);
        engine.handle(Input::MechaState { pedestal: 1, doll: 255, lantern: true }, now);
        let told = Status::new(&engine, now, Time::from_secs(1_700_000_000));
        let seen = Status::from_json(&told.to_json()).expect("a status");
        assert_eq!(seen, told);
        assert_eq!((seen.messages, seen.bonbori), (1, Lantern { lit: true, flag: true }));
        assert_eq!(seen.outputs.daiza, Some([false, false, false, true]));
        assert_eq!(seen.sensed.daiza, Some(sample));
        assert_eq!(seen.command_gap, 2.0);
        assert!(seen.daiza.running);
        let message = "deploy 1/2: lower the arm, waits for cylinder 4 out".to_owned();
        assert_eq!(seen.daiza.summary(), (Health::Ok, message));
        assert_eq!(seen.hina.summary(), (Health::Stale, "no valid sensor data was ever seen".to_owned()));
        let diagnostics = seen.diagnostics(Default::default());
        assert_eq!(diagnostics.status.len(), 3);
        assert_eq!(diagnostics.status[0].name, "sequence_controller: daiza");
        assert!(
            diagnostics.status[0]
                .values
                .contains(&KeyValue { key: "outputs".into(), value: "cylinders 0001".into() })
        );
    }

    #[test]
    fn outputs_survive_the_way_exactly() {
        let command = doll::Command {
            tilt: 17.123_456_789,
            lift: Lift::Hold,
            guide: Guide::Out,
            latches: [true, false],
        };
        let status = Status { outputs: Outputs { hina: Some(command), daiza: None }, ..Status::default() };
        assert_eq!(Status::from_json(&status.to_json()).unwrap().outputs.hina, Some(command));
    }

    #[test]
    fn hostile_text_is_an_error() {
        for text in ["", "{}", "[]", "null", r#"{"profile": 7}"#] {
            assert!(Status::from_json(text).is_err(), "{text}");
        }
        let good = Status::default().to_json();
        for end in 0..good.len() {
            assert!(Status::from_json(&good[..end]).is_err(), "{}", &good[..end]);
        }
    }
}
