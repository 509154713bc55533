//! The controller's state as `diagnostic_msgs`, and read back from it by the commands.

use std::time::{Duration, SystemTime};

use rosless_mechanism::{
    Outcome, Time,
    doll::{self, Guide, Lift},
    engine::{Engine, MechanismStatus, Which},
    pedestal::Cylinders,
    sequence::Activity,
};
use rosless_wire::{
    builtin_interfaces,
    diagnostic_msgs::msg::{DiagnosticArray, DiagnosticStatus, KeyValue},
    std_msgs::msg::Header,
};

use crate::NODE;

/// The topic below the node's name; latched, so that a command sees the state at once.
pub(crate) const TOPIC: &str = "status";

const PHASES: [&str; 5] = ["prepare", "deploy", "collect", "place", "stow"];

pub(crate) fn phase_name(code: u8) -> String {
    PHASES.get(usize::from(code)).map_or_else(|| code.to_string(), |name| (*name).to_owned())
}

fn digits(bits: &[bool]) -> String {
    bits.iter().map(|bit| if *bit { '1' } else { '0' }).collect()
}

fn bits<const N: usize>(digits: &str) -> Option<[bool; N]> {
    let bits: Option<Vec<bool>> = digits.chars().map(|c| c.to_digit(2).map(|d| d == 1)).collect();
    bits?.try_into().ok()
}

fn pedestal_outputs(command: &Cylinders) -> String {
    format!("cylinders {}", digits(command))
}

/// The other way round.
pub(crate) fn read_pedestal_outputs(text: &str) -> Option<Cylinders> {
    bits(text.strip_prefix("cylinders ")?)
}

fn doll_outputs(command: &doll::Command) -> String {
    let lift = match command.lift {
        Lift::Up => "up",
        Lift::Down => "down",
        Lift::Hold => "hold",
    };
    let guide = if command.guide == Guide::Out { "out" } else { "in" };
    // Exact enough to be sent again without moving anything.
    let tilt = (command.tilt * 1000.0).round() / 1000.0;
    format!("tilt {tilt:?} lift {lift} guide {guide} latches {}", digits(&command.latches))
}

/// The other way round.
pub(crate) fn read_doll_outputs(text: &str) -> Option<doll::Command> {
    let words: Vec<_> = text.split(' ').collect();
    let ["tilt", tilt, "lift", lift, "guide", guide, "latches", latches] = words[..] else { return None };
    Some(doll::Command {
        tilt: tilt.parse().ok().filter(|tilt: &f64| tilt.is_finite())?,
        lift: match lift {
            "up" => Lift::Up,
            "down" => Lift::Down,
            "hold" => Lift::Hold,
            _ => return None,
        },
        guide: if guide == "out" { Guide::Out } else { Guide::In },
        latches: bits(latches)?,
    })
}

fn part(
    which: Which,
    status: &MechanismStatus,
    details: [(&str, String); 2],
    now: Time,
    wall: SystemTime,
) -> DiagnosticStatus {
    let Activity { sequence, running, step, waiting_for, since, last, runs, sensor_age, sensors_valid } =
        &status.activity;
    let failed = last.as_ref().filter(|(outcome, _)| {
        !running
            && !matches!(outcome, Outcome::Done | Outcome::Stopped | Outcome::Canceled | Outcome::Preempted)
    });
    let sequence = sequence.unwrap_or("");
    let (level, message) = match (running, failed, sensor_age) {
        (true, ..) => {
            let (number, of, what) = step.unwrap_or_default();
            let waiting = waiting_for.as_deref().unwrap_or("nothing");
            (DiagnosticStatus::OK, format!("{sequence} {number}/{of}: {what}, waits for {waiting}"))
        }
        (_, Some((outcome, reason)), _) => {
            (DiagnosticStatus::ERROR, format!("{sequence} {}: {reason}", outcome.word()))
        }
        (_, _, None) => (DiagnosticStatus::STALE, "no valid sensor data was ever seen".to_owned()),
        _ if !sensors_valid => (DiagnosticStatus::WARN, "the sensor data is stale".to_owned()),
        _ => (
            DiagnosticStatus::OK,
            format!(
                "idle{}",
                status.reached.map_or_else(String::new, |code| format!(", in phase {}", phase_name(code)))
            ),
        ),
    };
    let since = since.and_then(|since| wall.checked_sub(now.saturating_sub(since)));
    let since = since.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    let (outcome, reason) = last.as_ref().map_or(("", ""), |(outcome, reason)| (outcome.word(), reason));
    let mut values = vec![
        ("desired", status.desired.map_or_else(String::new, |code| code.to_string())),
        ("reached", status.reached.map_or_else(String::new, |code| code.to_string())),
        ("sequence", sequence.to_owned()),
        ("running", running.to_string()),
        ("step", step.map_or_else(String::new, |(number, of, _)| format!("{number}/{of}"))),
        ("what", step.map_or_else(String::new, |(.., what)| what.to_owned())),
        ("waiting_for", waiting_for.clone().unwrap_or_default()),
        ("since", since.map_or_else(String::new, |at| format!("{:.3}", at.as_secs_f64()))),
        ("outcome", outcome.to_owned()),
        ("reason", reason.to_owned()),
        ("runs", runs.to_string()),
        ("sensors_valid", sensors_valid.to_string()),
        ("sensor_age", sensor_age.map_or_else(String::new, |age| format!("{:.3}", age.as_secs_f64()))),
        ("bad_samples", status.bad_samples.to_string()),
    ];
    values.extend(details);
    diagnostic(which.name(), level, message, values)
}

fn diagnostic<'a>(
    name: &str,
    level: u8,
    message: String,
    values: impl IntoIterator<Item = (&'a str, String)>,
) -> DiagnosticStatus {
    DiagnosticStatus {
        level,
        name: format!("{NODE}: {name}"),
        message,
        hardware_id: "mechanism".to_owned(),
        values: values.into_iter().map(|(key, value)| KeyValue { key: key.to_owned(), value }).collect(),
    }
}

/// Everything there is to know, for `~/status` and `/diagnostics`.
pub(crate) fn message(engine: &Engine, stamp: builtin_interfaces::msg::Time, now: Time) -> DiagnosticArray {
    let wall = SystemTime::now();
    let status = engine.status(now);
    let (told, sensed) = engine.pedestal();
    let pedestal = [
        ("outputs", told.map_or_else(String::new, pedestal_outputs)),
        (
            "sensed",
            sensed.map_or_else(String::new, |s| {
                format!("cylinders {} pedestal {}", digits(&s.cylinders), u8::from(s.pedestal))
            }),
        ),
    ];
    let (told, sensed) = engine.doll();
    let doll = [
        ("outputs", told.map_or_else(String::new, doll_outputs)),
        (
            "sensed",
            sensed.map_or_else(String::new, |s| {
                let switches = digits(&[s.up, s.down, s.walls[0], s.walls[1], s.stowed]);
                format!(
                    "tilt {:.1} switches up,down,wall1,wall2,stowed {switches} latches {}",
                    s.tilt,
                    digits(&s.latches)
                )
            }),
        ),
    ];
    let light = if status.lantern { "on" } else { "off" };
    let lantern = diagnostic(
        "bonbori",
        DiagnosticStatus::OK,
        light.to_owned(),
        [
            ("light", light.to_owned()),
            ("flag", status.lantern_flag.to_string()),
            ("messages", status.messages.to_string()),
            ("profile", engine.params().profile.name().to_owned()),
        ],
    );
    DiagnosticArray {
        header: Header { stamp, ..Header::default() },
        status: vec![
            part(Which::Pedestal, &status.pedestal, pedestal, now, wall),
            part(Which::Doll, &status.doll, doll, now, wall),
            lantern,
        ],
    }
}

/// One mechanism as a command sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SeenPart {
    pub(crate) reached: Option<u8>,
    pub(crate) sequence: String,
    pub(crate) running: bool,
    pub(crate) step: String,
    pub(crate) what: String,
    pub(crate) waiting_for: String,
    pub(crate) since: Option<Duration>,
    pub(crate) outcome: String,
    pub(crate) reason: String,
    pub(crate) runs: u64,
    pub(crate) message: String,
    pub(crate) outputs: String,
    pub(crate) sensed: String,
}

/// The controller as a command sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) pedestal: SeenPart,
    pub(crate) doll: SeenPart,
    pub(crate) light: String,
    pub(crate) flag: bool,
    pub(crate) messages: u64,
    pub(crate) profile: String,
}

impl Seen {
    /// `None` when the message is not a controller's status.
    pub(crate) fn read(message: &DiagnosticArray) -> Option<Self> {
        let find = |name: &str| message.status.iter().find(|s| s.name == format!("{NODE}: {name}"));
        let value = |status: &DiagnosticStatus, key: &str| {
            status
                .values
                .iter()
                .find(|pair| pair.key == key)
                .map(|pair| pair.value.clone())
                .unwrap_or_default()
        };
        let part = |which: Which| {
            let status = find(which.name())?;
            let text = |key| value(status, key);
            Some(SeenPart {
                reached: text("reached").parse().ok(),
                sequence: text("sequence"),
                running: text("running") == "true",
                step: text("step"),
                what: text("what"),
                waiting_for: text("waiting_for"),
                since: text("since").parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok()),
                outcome: text("outcome"),
                reason: text("reason"),
                runs: text("runs").parse().unwrap_or_default(),
                message: status.message.clone(),
                outputs: text("outputs"),
                sensed: text("sensed"),
            })
        };
        let lantern = find("bonbori")?;
        Some(Self {
            pedestal: part(Which::Pedestal)?,
            doll: part(Which::Doll)?,
            light: value(lantern, "light"),
            flag: value(lantern, "flag") == "true",
            messages: value(lantern, "messages").parse().ok()?,
            profile: value(lantern, "profile"),
        })
    }

    pub(crate) fn part(&self, which: Which) -> &SeenPart {
        match which {
            Which::Pedestal => &self.pedestal,
            Which::Doll => &self.doll,
        }
    }
}

#[cfg(test)]
mod tests {
    use rosless_mechanism::{Input, Params, Profile, pedestal};

    use super::*;

    #[test]
    fn what_is_published_can_be_read_back() {
        let mut engine = Engine::new(Params::defaults(Profile::Document));
        let sample = pedestal::Sensors { pedestal: true, cylinders: [false; 4] };
        for millis in (0..1500).step_by(100) {
            engine.handle(Input::PedestalSensors(Ok(sample)), Time::from_millis(millis));
        }
        let now = Time::from_millis(1450);
        engine.handle(Input::MechaState { pedestal: 1, doll: 255, lantern: true }, now);
        let message = message(&engine, Default::default(), now);
        let seen = Seen::read(&message).expect("a status");
        assert_eq!((seen.messages, seen.flag, seen.light.as_str()), (1, true, "on"));
        assert!(seen.pedestal.running);
        assert_eq!(seen.pedestal.message, "deploy 1/2: lower the arm, waits for cylinder 4 out");
        assert_eq!(seen.pedestal.outputs, "cylinders 0001");
        assert_eq!(read_pedestal_outputs(&seen.pedestal.outputs), Some([false, false, false, true]));
        assert_eq!(seen.doll.message, "no valid sensor data was ever seen");
        assert_eq!(Seen::read(&DiagnosticArray::default()), None);
    }

    #[test]
    fn outputs_are_read_back_as_they_were_sent() {
        for (tilt, lift, guide) in
            [(97.5, Lift::Up, Guide::In), (-10.0, Lift::Hold, Guide::Out), (17.123, Lift::Down, Guide::In)]
        {
            let command = doll::Command { tilt, lift, guide, latches: [true, false] };
            assert_eq!(read_doll_outputs(&doll_outputs(&command)), Some(command));
        }
        for text in ["", "tilt NaN lift up guide in latches 00", "tilt 1.0 lift up guide in latches 0"] {
            assert_eq!(read_doll_outputs(text), None, "{text}");
        }
        for text in ["", "cylinders 000", "cylinders 00000", "cylinders 0002"] {
            assert_eq!(read_pedestal_outputs(text), None, "{text}");
        }
    }
}
