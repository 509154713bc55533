//! One actuator at a time: which outputs move it and keep the others where they are. No I/O, no clock.

use serde::{Deserialize, Serialize};

use crate::{
    Profile, Settings, Time,
    doll::{self, Doll, Guide, Lift},
    engine::Which,
    pedestal::{self, Cylinders, Pedestal},
    sequence::{Mechanism, View},
    status::{self, digits},
};

/// What one actuator is to do, and what is known of the others.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Which one, and where it shall go.
    pub actuator: Actuator,
    /// What was told last keeps the others where they are, or on their way.
    pub told: &'a status::Outputs,
    /// The controller's trust in the sensors is the bench's; without a controller a sensor is trusted that was seen to
    /// move here.
    pub trust: Option<&'a status::Trust>,
    /// An interlock that says no is obeyed unless this is set.
    pub force: bool,
}

/// One actuator and where it shall go.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actuator {
    /// A cylinder of the pedestal.
    Cylinder {
        /// From 1.
        number: u8,
        /// Out or in.
        out: bool,
    },
    /// The tray's tilt.
    Tilt {
        /// In the document's sense.
        degrees: f64,
    },
    /// The lift.
    Lift(Lift),
    /// The guide servos.
    Guide(Guide),
    /// A latch, which fires.
    Latch {
        /// From 1.
        number: u8,
    },
}

impl Actuator {
    /// The mechanism it belongs to.
    pub fn which(&self) -> Which {
        if matches!(self, Self::Cylinder { .. }) { Which::Pedestal } else { Which::Doll }
    }

    /// The outputs `command` with this actuator moved.
    fn apply(&self, mut command: doll::Command, profile: Profile) -> Result<doll::Command, Refusal> {
        let no = |reason: &str| Err(Refusal::Hardware(reason.to_owned()));
        match *self {
            Self::Cylinder { .. } => {}
            Self::Tilt { degrees } => command.tilt = degrees,
            Self::Lift(Lift::Hold) if !profile.lift_holds() => {
                return no("this hardware's lift cannot stop half-way");
            }
            Self::Lift(to) => command.lift = to,
            Self::Guide(_) if profile != Profile::Nucleo => {
                return no("only the profile nucleo has guide servos");
            }
            Self::Guide(to) => command.guide = to,
            Self::Latch { .. } if profile != Profile::Nucleo => {
                return no("only the profile nucleo has latches");
            }
            Self::Latch { number } => match command.latches.get_mut(usize::from(number.wrapping_sub(1))) {
                Some(latch) => *latch = true,
                None => return no("there are two latches"),
            },
        }
        Ok(command)
    }
}

/// Why an actuator is not moved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An interlock says no.
    #[error("interlock: {0}; --force moves anyway")]
    Interlock(String),
    /// The profile's hardware cannot do it.
    #[error("{0}")]
    Hardware(String),
    /// Nothing is known of the mechanism.
    #[error("the mechanism's sensors are gone")]
    NoSensors,
    /// It is on its way.
    #[error("the doll does not rest")]
    NoRest,
}

/// Outputs ready to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outputs {
    /// For the pedestal.
    Pedestal(Cylinders),
    /// For the doll.
    Doll(doll::Command),
}

/// What to send, and what to look for.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    actuator: Actuator,
    /// To be sent.
    pub outputs: Outputs,
    /// An interlock that was overridden.
    pub overridden: Option<String>,
    tolerance: f64,
}

/// A tilt that changes less, in degrees, stands.
const STILL: f64 = 1.0;

/// What the mechanism told, and what others told it.
#[derive(Debug, Default)]
pub struct Bench {
    /// What the pedestal told last.
    pub pedestal: Option<pedestal::Sensors>,
    pedestal_told: Option<Cylinders>,
    pedestal_history: pedestal::History,
    /// What the doll told last.
    pub doll: Option<doll::Sensors>,
    doll_told: Option<doll::Command>,
    /// Where the doll has stood, and since when.
    doll_stands: Option<(doll::Sensors, Time)>,
    /// Where its potentiometer was at first, and whether it was seen to move since.
    doll_first_tilt: Option<f64>,
    doll_trust: doll::Trust,
}

impl Bench {
    /// The pedestal told its sensors.
    pub fn sense_pedestal(&mut self, sensors: pedestal::Sensors, settings: &Settings, now: Time) {
        let (before, told) = (self.pedestal.replace(sensors), self.pedestal_told);
        let history = &mut self.pedestal_history;
        Pedestal::note_sensors(history, before.as_ref(), &sensors, told.as_ref(), settings, now);
    }

    /// Somebody moved the pedestal.
    pub fn tell_pedestal(&mut self, command: Cylinders, now: Time) {
        let before = self.pedestal_told.replace(command);
        Pedestal::note_command(&mut self.pedestal_history, before.as_ref(), &command, now);
    }

    /// The doll told its sensors.
    pub fn sense_doll(&mut self, sensors: doll::Sensors, now: Time) {
        self.doll = Some(sensors);
        let first = *self.doll_first_tilt.get_or_insert(sensors.tilt);
        self.doll_trust.tilt_moved |= (sensors.tilt - first).abs() > doll::MOVED;
        let stands = self.doll_stands.is_some_and(|(stood, _)| {
            (stood.tilt - sensors.tilt).abs() < STILL && stood.end() == sensors.end()
        });
        if !stands {
            self.doll_stands = Some((sensors, now));
        }
    }

    /// Somebody moved the doll.
    pub fn tell_doll(&mut self, command: doll::Command) {
        self.doll_told = Some(command);
    }

    /// What it was told does not hold it where it stands: it was restarted, or moved by hand.
    pub fn forget_told(&mut self, which: Which) {
        match which {
            Which::Pedestal => self.pedestal_told = None,
            Which::Doll => self.doll_told = None,
        }
    }

    /// Whether the mechanism has told its sensors.
    pub fn senses(&self, which: Which) -> bool {
        match which {
            Which::Pedestal => self.pedestal.is_some(),
            Which::Doll => self.doll.is_some(),
        }
    }

    /// Outputs that move no cylinder, once it is known that none is under way.
    fn pedestal_rest(&self, settings: &Settings, now: Time) -> Option<Cylinders> {
        let (sensors, told) = (self.pedestal.as_ref()?, self.pedestal_told.as_ref());
        Pedestal::resting(sensors, told, &self.pedestal_history, settings, now).ok()
    }

    fn doll_rest(&self, settings: &Settings, now: Time) -> Option<doll::Command> {
        let (sensors, (_, since)) = (self.doll.as_ref()?, self.doll_stands?);
        let quiet = now.saturating_sub(since).as_secs_f64() >= settings.settle;
        let rest = || Doll::resting(sensors, None, &doll::History::default(), settings, now).ok();
        self.doll_told.or_else(|| if quiet { rest() } else { None })
    }

    /// Whether it is known which outputs move nothing.
    pub fn rests(&self, which: Which, settings: &Settings, now: Time) -> bool {
        match which {
            Which::Pedestal => self.pedestal_rest(settings, now).is_some(),
            Which::Doll => self.doll_rest(settings, now).is_some(),
        }
    }

    /// Whether nobody told where the guide was sent: a doll at rest is then given one that is out.
    pub fn guesses_guide(&self) -> bool {
        self.doll_told.is_none()
    }

    /// The outputs that move the wished actuator.
    ///
    /// # Errors
    /// Why it is not moved.
    pub fn plan(&self, wish: &Wish<'_>, settings: &Settings, now: Time) -> Result<Move, Refusal> {
        let Wish { actuator, told, trust, force } = *wish;
        let (outputs, interlock) = match actuator {
            Actuator::Cylinder { number, out } => {
                let sensors = self.pedestal.ok_or(Refusal::NoSensors)?;
                let rest = || self.pedestal_rest(settings, now).unwrap_or(sensors.cylinders);
                let told = told.daiza.unwrap_or_else(rest);
                let mut next = told;
                let no = || Refusal::Hardware("there are four cylinders".to_owned());
                *next.get_mut(usize::from(number.wrapping_sub(1))).ok_or_else(no)? = out;
                let mut history = self.pedestal_history.clone();
                history.trust = trust.map_or(history.trust, |trust| trust.daiza);
                let history = &history;
                let view = View::<Pedestal> { sensors: &sensors, command: &told, history, settings, now };
                (Outputs::Pedestal(next), Pedestal::interlock(&view, &next))
            }
            _ => {
                let sensors = self.doll.ok_or(Refusal::NoSensors)?;
                let mut history = doll::History::default();
                history.trust = trust.map_or(self.doll_trust, |trust| trust.hina);
                let told = told.hina.or_else(|| self.doll_rest(settings, now));
                let told = told.or_else(|| Doll::resting(&sensors, None, &history, settings, now).ok());
                let told = told.ok_or(Refusal::NoRest)?;
                let next = actuator.apply(told, settings.profile)?;
                let view =
                    View::<Doll> { sensors: &sensors, command: &told, history: &history, settings, now };
                (Outputs::Doll(next), Doll::interlock(&view, &next))
            }
        };
        let overridden = match interlock {
            Err(reason) if !force => return Err(Refusal::Interlock(reason)),
            other => other.err(),
        };
        Ok(Move { actuator, outputs, overridden, tolerance: settings.tolerance })
    }

    /// What to send when the move is over, arrived or not: a lift stands still where it can, a solenoid must not stay under
    /// current, and a tilt that has not arrived stays where it is.
    pub fn rest(&self, moved: &Move, settings: &Settings) -> Option<Outputs> {
        let (Outputs::Doll(sent), Some(sensors)) = (moved.outputs, &self.doll) else { return None };
        let held = Doll::hold(sent, sensors, settings);
        // An actuator that keeps what it was told is not this move's to stop.
        let tilts = matches!(moved.actuator, Actuator::Tilt { .. });
        let held = doll::Command { tilt: if tilts { held.tilt } else { sent.tilt }, ..held };
        (held != sent).then_some(Outputs::Doll(held))
    }

    /// What moves on although its rest was sent.
    pub fn goes_on(&self, moved: &Move, settings: &Settings) -> Option<String> {
        match (moved.outputs, &self.pedestal, &self.doll) {
            (Outputs::Pedestal(sent), Some(sensors), _) => Pedestal::goes_on(&sent, sensors, settings),
            (Outputs::Doll(sent), _, Some(sensors)) => {
                Doll::goes_on(&Doll::hold(sent, sensors, settings), sensors, settings)
            }
            _ => None,
        }
    }

    /// Whether what was moved is where it was sent, as far as its sensors tell.
    pub fn arrived(&self, moved: &Move) -> bool {
        match (moved.actuator, moved.outputs, self.pedestal, self.doll) {
            (Actuator::Cylinder { number, out }, _, Some(sensors), _) => {
                sensors.cylinders.get(usize::from(number.wrapping_sub(1))) == Some(&out)
            }
            (Actuator::Tilt { degrees }, .., Some(sensors)) => {
                (sensors.tilt - degrees).abs() <= moved.tolerance
            }
            (Actuator::Lift(to), .., Some(sensors)) => to == Lift::Hold || sensors.end() == Some(to),
            (Actuator::Latch { .. }, Outputs::Doll(next), _, Some(sensors)) => {
                (0..2).all(|i| !next.latches[i] || sensors.latches[i])
            }
            // The guide has no sensor.
            (Actuator::Guide(_), .., Some(_)) => true,
            _ => false,
        }
    }

    /// The sensors in a line; empty before the first.
    pub fn line(&self, which: Which) -> String {
        let bit = |bit: bool| if bit { '1' } else { '0' };
        match (which, self.pedestal, self.doll) {
            (Which::Pedestal, Some(s), _) => {
                format!("cylinders {}  pedestal {}", digits(&s.cylinders), bit(s.pedestal))
            }
            (Which::Doll, _, Some(s)) => format!(
                "tilt {:6.1}°  up {} down {} walls {} stowed {}  latches {}",
                s.tilt,
                bit(s.up),
                bit(s.down),
                digits(&s.walls),
                bit(s.stowed),
                digits(&s.latches)
            ),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{Status, Trust};

    fn plan(
        bench: &Bench,
        actuator: Actuator,
        controller: Option<&Status>,
        force: bool,
        settings: &Settings,
        now: Time,
    ) -> Result<Move, Refusal> {
        let told = controller.map(|seen| seen.outputs).unwrap_or_default();
        bench.plan(
            &Wish { actuator, told: &told, trust: controller.map(|seen| &seen.trust), force },
            settings,
            now,
        )
    }

    /// A controller that told this and has seen all sensors move.
    fn controller(daiza: Option<Cylinders>) -> Status {
        let outputs = status::Outputs { daiza, hina: None };
        let daiza = pedestal::Trust { moved: [true; 4], ..pedestal::Trust::default() };
        let hina = doll::Trust { tilt_moved: true, ..doll::Trust::default() };
        Status { outputs, trust: Trust { daiza, hina }, ..Status::default() }
    }

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn doll_bench(sensors: doll::Sensors, settings: &Settings) -> Bench {
        let mut bench = Bench::default();
        bench.sense_doll(sensors, at(0));
        assert!(!bench.rests(Which::Doll, settings, at(100)), "it may be on its way");
        bench.sense_doll(sensors, at(2000));
        assert!(bench.rests(Which::Doll, settings, at(2000)));
        bench
    }

    #[test]
    fn one_cylinder_moves_and_the_others_keep_what_they_were_told() {
        let settings = Settings::defaults(Profile::Document);
        let mut bench = Bench::default();
        let out = Actuator::Cylinder { number: 4, out: true };
        let seen = controller(Some([true, true, false, false]));
        let told = Some(&seen);
        assert_eq!(plan(&bench, out, told, false, &settings, at(0)), Err(Refusal::NoSensors));
        let sensors = pedestal::Sensors { pedestal: false, cylinders: [true, true, false, false] };
        bench.sense_pedestal(sensors, &settings, at(0));
        let moved = plan(&bench, out, told, true, &settings, at(10)).unwrap();
        assert_eq!(moved.outputs, Outputs::Pedestal([true, true, false, true]));
        assert!(!bench.arrived(&moved));
        let sensors = pedestal::Sensors { pedestal: false, cylinders: [true, true, false, true] };
        bench.sense_pedestal(sensors, &settings, at(1000));
        assert!(bench.arrived(&moved));
        let fifth = Actuator::Cylinder { number: 5, out: true };
        assert!(matches!(plan(&bench, fifth, told, true, &settings, at(0)), Err(Refusal::Hardware(_))));
    }

    #[test]
    fn an_interlock_is_obeyed_or_named() {
        let settings = Settings::defaults(Profile::Document);
        // Upright and down: folding back is for the top only.
        let sensors = doll::Sensors { tilt: 90.0, down: true, ..doll::Sensors::default() };
        let bench = doll_bench(sensors, &settings);
        let fold = Actuator::Tilt { degrees: 180.0 };
        let refused = plan(&bench, fold, None, false, &settings, at(2000)).unwrap_err();
        assert!(refused.to_string().ends_with("; --force moves anyway"), "{refused}");
        let moved = plan(&bench, fold, None, true, &settings, at(2000)).unwrap();
        assert!(moved.overridden.is_some());
        let Outputs::Doll(next) = moved.outputs else { panic!("{moved:?}") };
        assert_eq!((next.tilt, next.lift), (180.0, Lift::Hold), "the lift stays where it is");
    }

    #[test]
    fn hardware_that_lacks_an_actuator_says_so() {
        let settings = Settings::defaults(Profile::Document);
        let bench = doll_bench(doll::Sensors { tilt: 90.0, down: true, ..Default::default() }, &settings);
        for actuator in [Actuator::Guide(Guide::Out), Actuator::Latch { number: 1 }] {
            let refused = plan(&bench, actuator, None, true, &settings, at(2000));
            assert!(matches!(refused, Err(Refusal::Hardware(_))), "{actuator:?}");
        }
    }

    #[test]
    fn a_fired_latch_is_relaxed_again() {
        let settings = Settings::defaults(Profile::Nucleo);
        let bench = doll_bench(doll::Sensors { tilt: 90.0, down: true, ..Default::default() }, &settings);
        let moved = plan(&bench, Actuator::Latch { number: 2 }, None, true, &settings, at(2000)).unwrap();
        let rest = bench.rest(&moved, &settings);
        let (Outputs::Doll(fired), Some(Outputs::Doll(relaxed))) = (moved.outputs, rest) else {
            panic!("{moved:?}")
        };
        assert_eq!((fired.latches, relaxed.latches), ([false, true], [false, false]));
        assert!(!bench.arrived(&moved), "latch 2 has not moved");
    }

    #[test]
    fn nothing_is_lifted_by_hand_on_a_sensor_that_the_controller_does_not_believe_or_nobody_has_seen_move() {
        let settings = Settings::defaults(Profile::Document);
        let mut bench = Bench::default();
        let sensors = pedestal::Sensors { pedestal: false, cylinders: [false, false, true, true] };
        bench.sense_pedestal(sensors, &settings, at(0));
        bench.sense_pedestal(sensors, &settings, at(2000));
        let lift = Actuator::Cylinder { number: 4, out: false };
        let lifts = |seen: Option<&Status>| plan(&bench, lift, seen, false, &settings, at(2000));
        let refused = lifts(None).unwrap_err().to_string();
        assert!(refused.contains("cylinders 1 and 2 have not been seen to move"), "{refused}");
        let mut seen = controller(Some(sensors.cylinders));
        assert!(lifts(Some(&seen)).is_ok());
        seen.trust.daiza.caught[1] = true;
        let refused = lifts(Some(&seen)).unwrap_err().to_string();
        assert!(refused.contains("the sensor of cylinder 2 did not follow it"), "{refused}");
        assert!(plan(&bench, lift, Some(&seen), true, &settings, at(2000)).is_ok(), "--force");

        let bench = doll_bench(doll::Sensors { tilt: 90.0, down: true, ..Default::default() }, &settings);
        let up = Actuator::Lift(Lift::Up);
        let refused = plan(&bench, up, None, false, &settings, at(2000)).unwrap_err().to_string();
        assert!(refused.contains("the potentiometer has not been seen to move"), "{refused}");
        assert!(plan(&bench, up, Some(&controller(None)), false, &settings, at(2000)).is_ok());
    }
}
