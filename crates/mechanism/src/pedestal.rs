//! The pedestal mechanism ("daiza"): four cylinders and the pedestal switch.
//!
//! | cylinder | extended | contracted |
//! |---|---|---|
//! | 1 right, 2 left | clamp open | clamp closed |
//! | 3 | small pedestal stands, guide open | small pedestal tilted, guide closed |
//! | 4 | arm down | arm up: lifted |

use std::{fmt::Write, ops::Range, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Time,
    sequence::{Mechanism, Sequence, Step, View},
    settings::{Settings, secs},
};

/// Cylinders 1 to 4; `true` is extended.
pub type Cylinders = [bool; 4];

/// One valid sample of `/daiza_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sensors {
    /// The pedestal switch is pressed.
    pub pedestal: bool,
    /// Where the cylinders are.
    pub cylinders: Cylinders,
}

/// What a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The step's cylinders are sensed where they were sent.
    Arrived,
    /// The pedestal switch is pressed.
    PedestalPressed,
    /// Both clamp cylinders are sensed closed and have settled.
    ClampConfirmed,
    /// Both clamp cylinders are sensed open and have settled.
    OpenConfirmed,
}

/// How far the cylinders' sensors are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// The sensor did not follow its cylinder, and has not been seen to move since: it confirms nothing.
    pub caught: [bool; 4],
    /// The sensor was seen to move since the controller began: nothing is lifted on one that was not.
    pub moved: [bool; 4],
}

/// When each cylinder was last told, and last seen, to change.
#[derive(Clone, Debug, Default)]
pub struct History {
    told: [Option<Time>; 4],
    seen: [Time; 4],
    /// The cylinder was confirmed where it was last sent.
    arrived: [bool; 4],
    /// What was last sent, whether it is still believed or not.
    sent: Option<Cylinders>,
    pub(crate) trust: Trust,
}

/// The pedestal mechanism's vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct Pedestal;

type Row = Step<Pedestal>;
const OUT: Option<bool> = Some(true);
const IN: Option<bool> = Some(false);
const KEEP: Option<bool> = None;

const fn move_to(what: &'static str, cylinders: [Option<bool>; 4]) -> Row {
    Step::new(what, Some(cylinders), Until::Arrived)
}

const LOWER: Row = move_to("lower the arm", [KEEP, KEEP, KEEP, OUT]);
const OPEN_ALL: Row = move_to("open clamp and guide", [OUT, OUT, OUT, KEEP]);
const UNCLAMP: Row = move_to("open the clamp", [OUT, OUT, KEEP, KEEP]);
const TILT_SMALL: Row = move_to("tilt the small pedestal", [KEEP, KEEP, IN, KEEP]);
const CLAMP: Row = move_to("close the clamp", [IN, IN, KEEP, KEEP]);
const LIFT: Row = move_to("lift", [KEEP, KEEP, KEEP, IN]);
const LIFT_CLAMPED: Row = LIFT.needs(Until::ClampConfirmed);

const fn sequence(name: &'static str, steps: &'static [Row]) -> Sequence<Pedestal> {
    Sequence { name, steps }
}

/// Phase 1.
pub const DEPLOY: Sequence<Pedestal> = sequence("deploy", &[LOWER, OPEN_ALL]);
/// Phase 2.
pub const COLLECT: Sequence<Pedestal> = sequence(
    "collect",
    &[Step::new("look for the pedestal", None, Until::PedestalPressed), TILT_SMALL, CLAMP, LIFT_CLAMPED],
);
/// Phase 3.
pub const PLACE: Sequence<Pedestal> = sequence("place", &[LOWER, OPEN_ALL]);
/// Phase 4.
pub const STOW: Sequence<Pedestal> = sequence("stow", &[CLAMP, LIFT_CLAMPED]);

/// The sequences of the action `daiza_cmd`, indexed by command; 0 is STOP.
pub const GOALS: [Sequence<Pedestal>; 10] = [
    sequence("STOP", &[]),
    sequence("READY", &[move_to("close clamp and guide", [IN, IN, IN, KEEP]), LIFT_CLAMPED]),
    sequence("EXPAND", &[LOWER]),
    sequence("CONTRACT", &[LIFT]),
    sequence("CLAMP", &[CLAMP]),
    sequence("UNCLAMP", &[UNCLAMP]),
    sequence("EXPAND_AND_UNCLAMP", &[LOWER.feedback(2), OPEN_ALL]),
    sequence("CLAMP_AND_CONTRACT", &[TILT_SMALL, CLAMP.feedback(3), LIFT_CLAMPED]),
    sequence("EXPAND_AND_PLACE", &[LOWER.feedback(4), UNCLAMP]),
    sequence(
        "EXPAND_AND_PLACE_AND_CONTRACT",
        &[LOWER.feedback(5), UNCLAMP.feedback(6), LIFT.needs(Until::OpenConfirmed)],
    ),
];

/// The sequence of a phase code.
pub fn phase(code: u8) -> Option<Sequence<Pedestal>> {
    match code {
        1 => Some(DEPLOY),
        2 => Some(COLLECT),
        3 => Some(PLACE),
        4 => Some(STOW),
        _ => None,
    }
}

/// The sequence of a word that the earlier microcontroller understood.
pub fn direct(word: &str) -> Option<Sequence<Pedestal>> {
    const OPEN_GUIDE: Row = move_to("stand the small pedestal up", [KEEP, KEEP, OUT, KEEP]);
    Some(match word {
        "mechaExpand" => sequence("mechaExpand", &[LOWER]),
        "mechaRetract" => sequence("mechaRetract", &[LIFT]),
        "armOpen" => sequence("armOpen", &[UNCLAMP]),
        "armClose" => sequence("armClose", &[CLAMP]),
        "boxArmExpand" => sequence("boxArmExpand", &[OPEN_GUIDE]),
        "boxArmRetract" => sequence("boxArmRetract", &[TILT_SMALL]),
        _ => return None,
    })
}

impl View<'_, Pedestal> {
    /// Sensed where it was sent, and sent long enough ago: an early echo of the old position is not believed, nor a sensor
    /// that was caught not following.
    fn confirmed(&self, cylinder: usize, extended: bool) -> Result<(), Option<Time>> {
        if self.command[cylinder] != extended
            || self.sensors.cylinders[cylinder] != extended
            || self.history.trust.caught[cylinder]
        {
            return Err(None);
        }
        match self.history.told[cylinder].map(|at| at + secs(self.settings.settle)) {
            Some(settled) if self.now < settled => Err(Some(settled)),
            _ => Ok(()),
        }
    }

    fn clamp_confirmed(&self, open: bool) -> Result<(), Option<Time>> {
        self.confirmed(0, open).and(self.confirmed(1, open))
    }

    /// The sensors of these cylinders that are not believed, for people.
    fn disbelieved(&self, cylinders: Range<usize>) -> String {
        let caught = cylinders.filter(|i| self.history.trust.caught[*i]);
        let text = |i| {
            format!(
                " (the sensor of cylinder {} did not follow it and is not believed until it is seen to move)",
                i + 1
            )
        };
        caught.map(text).collect()
    }

    /// Clamp sensors that may be dead for all that is known, for people.
    fn unproven(&self) -> String {
        let numbers: Vec<_> =
            (0..2).filter(|i| !self.history.trust.moved[*i]).map(|i| (i + 1).to_string()).collect();
        match numbers.len() {
            0 => String::new(),
            count => {
                let (s, have) = if count == 1 { ("", "has") } else { ("s", "have") };
                let numbers = numbers.join(" and ");
                format!(
                    " (the sensor{s} of cylinder{s} {numbers} {have} not been seen to move since the controller began: \
                     open and close the clamp first)"
                )
            }
        }
    }
}

impl Mechanism for Pedestal {
    type Sensors = Sensors;
    type Command = Cylinders;
    type Change = [Option<bool>; 4];
    type Until = Until;
    type History = History;
    type Trust = Trust;

    const NAME: &'static str = "daiza";
    const NEUTRAL: Cylinders = [false; 4];
    const SENSOR_TOPIC: &'static str = "daiza_state";
    const OUTPUT_TOPIC: &'static str = "daiza_clamp";

    fn note_sensors(
        history: &mut History,
        before: Option<&Sensors>,
        after: &Sensors,
        command: Option<&Cylinders>,
        settings: &Settings,
        taken: Time,
    ) {
        let now = taken;
        if let Some(command) = command {
            Self::note_arrivals(history, after, command, settings, now);
        }
        for i in 0..4 {
            if before.is_none_or(|b| b.cylinders[i] != after.cylinders[i]) {
                history.seen[i] = now;
            }
            let moved = before.is_some_and(|b| b.cylinders[i] != after.cylinders[i]);
            history.arrived[i] |= moved && command.is_some_and(|command| command[i] == after.cylinders[i]);
            history.trust.moved[i] |= moved;
            history.trust.caught[i] &= !moved;
            // Whoever waited may have given up earlier: the sensor is caught nevertheless.
            let late = |told: Time| now >= told + secs(settings.cylinder_timeout);
            history.trust.caught[i] |= !history.arrived[i]
                && command.is_some_and(|command| command[i] != after.cylinders[i])
                && history.told[i].is_some_and(late);
        }
    }

    fn note_command(history: &mut History, before: Option<&Cylinders>, after: &Cylinders, now: Time) {
        for i in 0..4 {
            if before.is_none_or(|b| b[i] != after[i]) {
                history.told[i] = Some(now);
                history.arrived[i] = false;
            }
        }
        history.sent = Some(*after);
    }

    fn note_arrivals(
        history: &mut History,
        sensors: &Sensors,
        command: &Cylinders,
        settings: &Settings,
        now: Time,
    ) {
        let view = View::<Self> { sensors, command, history, settings, now };
        let confirmed: [bool; 4] = std::array::from_fn(|i| view.confirmed(i, command[i]).is_ok());
        (0..4).for_each(|i| history.arrived[i] |= confirmed[i]);
    }

    fn caught(history: &mut History, sensors: &Sensors, command: &Cylinders, _: &Settings) {
        (0..4).for_each(|i| history.trust.caught[i] |= sensors.cylinders[i] != command[i]);
    }

    fn replaced(history: &mut History) {
        history.trust.moved = [false; 4];
    }

    fn trust(history: &History) -> Trust {
        history.trust
    }

    fn doubted(history: &mut History) {
        history.arrived = [false; 4];
    }

    fn contradiction(
        sensors: &Sensors,
        command: &Cylinders,
        history: &History,
        _: &Settings,
    ) -> Option<String> {
        let left = (0..4).find(|&i| history.arrived[i] && sensors.cylinders[i] != command[i])?;
        let place = if command[left] { "out" } else { "in" };
        Some(format!("cylinder {} is no longer {place}, although nobody moved it", left + 1))
    }

    fn arrived(sensors: &Sensors, command: &Cylinders, history: &History, _: &Settings) -> bool {
        history.arrived == [true; 4] && sensors.cylinders == *command
    }

    /// A cylinder under way is reported at its old place until it arrives: only a quiet while tells that none moves.
    fn resting(
        sensors: &Sensors,
        command: Option<&Cylinders>,
        history: &History,
        settings: &Settings,
        now: Time,
    ) -> Result<Cylinders, Time> {
        let last = match command {
            Some(_) => history.told.iter().flatten().max(),
            None => history.seen.iter().max(),
        };
        match last.map(|at| *at + secs(settings.settle)) {
            Some(quiet_from) if now < quiet_from => Err(quiet_from),
            _ => Ok(command.copied().unwrap_or(sensors.cylinders)),
        }
    }

    fn rest_time(settings: &Settings) -> Duration {
        secs(settings.settle)
    }

    fn apply(change: &[Option<bool>; 4], command: Cylinders, _: &Settings) -> Cylinders {
        std::array::from_fn(|i| change[i].unwrap_or(command[i]))
    }

    /// A valve has no middle: the safest output is the one that is already there.
    fn hold(command: Cylinders, _: &Sensors, _: &Settings) -> Cylinders {
        command
    }

    fn goes_on(held: &Cylinders, sensors: &Sensors, _: &Settings) -> Option<String> {
        let moving = (0..4).filter(|i| sensors.cylinders[*i] != held[*i]);
        let text = |i: usize| format!("cylinder {} goes on {}", i + 1, if held[i] { "out" } else { "in" });
        let moving: Vec<_> = moving.map(text).collect();
        (!moving.is_empty()).then(|| format!("{} (a valve has no middle)", moving.join(", ")))
    }

    fn reached(_: Until, command: Cylinders, _: &Settings) -> Cylinders {
        command
    }

    /// Never lift while the clamp is on its way or unknown, nor on a clamp sensor that may be dead, nor lower while the clamp
    /// is on its way; never move the clamp while the arm is.
    fn interlock(view: &View<'_, Self>, next: &Cylinders) -> Result<(), String> {
        if next == view.command {
            return Ok(());
        }
        let lifts = view.command[3] && !next[3];
        let lowers = !view.command[3] && next[3];
        // A mechanism that has restarted since does not have what was sent to it.
        let clamp_told =
            view.command[..2] != next[..2] || view.history.sent.is_some_and(|s| s[..2] != next[..2]);
        // What the sensors do not show may be under way, or set out now.
        let clamp_off =
            view.sensors.cylinders[..2] != next[..2] || view.history.trust.caught[..2] != [false, false];
        let clamp_stands = view.clamp_confirmed(false).is_ok() || view.clamp_confirmed(true).is_ok();
        let unproven = if lifts { view.unproven() } else { String::new() };
        if lifts && (clamp_told || !clamp_stands || !unproven.is_empty()) || lowers && clamp_off {
            let why = Some(view.disbelieved(0..2)).filter(|why| !why.is_empty()).unwrap_or(unproven);
            return Err(format!(
                "the clamp must be confirmed, open or closed, by both cylinder sensors{why}"
            ));
        }
        if (clamp_told || clamp_off) && view.confirmed(3, view.command[3]).is_err() {
            let why = view.disbelieved(3..4);
            return Err(format!("the arm must be confirmed, up or down, by the sensor of cylinder 4{why}"));
        }
        Ok(())
    }

    fn check(view: &View<'_, Self>, step: &Row, until: Until, _: Time) -> Result<(), Option<Time>> {
        match until {
            Until::Arrived => {
                let targets = step.change.iter().flatten().enumerate().filter_map(|(i, &t)| Some((i, t?)));
                let mut result = Ok(());
                for (i, target) in targets {
                    match (view.confirmed(i, target), &mut result) {
                        (Ok(()), _) => {}
                        (Err(None), _) => return Err(None),
                        (Err(Some(at)), Err(Some(latest))) => *latest = at.max(*latest),
                        (Err(Some(at)), result) => *result = Err(Some(at)),
                    }
                }
                result
            }
            Until::PedestalPressed => view.sensors.pedestal.then_some(()).ok_or(None),
            Until::ClampConfirmed => view.clamp_confirmed(false),
            Until::OpenConfirmed => view.clamp_confirmed(true),
        }
    }

    fn describe(view: Option<&View<'_, Self>>, step: &Row, until: Until) -> String {
        match until {
            Until::PedestalPressed => "the pedestal switch to be pressed".to_owned(),
            Until::ClampConfirmed | Until::OpenConfirmed => {
                let place = if until == Until::OpenConfirmed { "open" } else { "closed" };
                let why = view.map(|view| view.disbelieved(0..2)).unwrap_or_default();
                format!("the clamp confirmed {place} by both cylinder sensors{why}")
            }
            Until::Arrived => {
                let mut text = String::new();
                for (i, target) in
                    step.change.iter().flatten().enumerate().filter_map(|(i, &t)| Some((i, t?)))
                {
                    if view.is_none_or(|v| v.confirmed(i, target).is_err()) {
                        let separator = if text.is_empty() { "" } else { ", " };
                        let place = if target { "out" } else { "in" };
                        let why = view.map(|view| view.disbelieved(i..i + 1)).unwrap_or_default();
                        write!(text, "{separator}cylinder {} {place}{why}", i + 1)
                            .expect("a String takes all");
                    }
                }
                text
            }
        }
    }

    fn limit(until: Until, settings: &Settings) -> Duration {
        secs(if until == Until::PedestalPressed { settings.pedestal_wait } else { settings.cylinder_timeout })
    }

    fn pause(_: Until, _: &Settings) -> Duration {
        Duration::ZERO
    }

    fn goal_timeout(settings: &Settings) -> Duration {
        secs(settings.daiza_goal_timeout)
    }
}
