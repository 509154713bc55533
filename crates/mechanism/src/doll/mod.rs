//! The doll mechanism ("hina"): a tray that tilts, on a lift, with guide servos and latches on the action-era robot.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Time,
    sequence::{Mechanism, Step, View},
    settings::{Settings, secs},
};

mod tables;

pub use tables::{
    COLLECT, DEPLOY, GOALS, PLACE, PREPARE, STOW, direct, phase, unsupported, unsupported_word,
};

/// One valid sample of `/hina_state`; the tilt in degrees in the document's sense.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sensors {
    /// The switch at the top of the lift.
    pub up: bool,
    /// The switch at its bottom.
    pub down: bool,
    /// The two switches that touch the wall.
    pub walls: [bool; 2],
    /// The switch at 180°.
    pub stowed: bool,
    /// The potentiometer.
    pub tilt: f64,
    /// Which latches have fired.
    pub latches: [bool; 2],
}

impl Sensors {
    /// The end at which the lift stands; both switches pressed is a contradiction and so neither.
    pub fn end(&self) -> Option<Lift> {
        match (self.up, self.down) {
            (true, false) => Some(Lift::Up),
            (false, true) => Some(Lift::Down),
            _ => None,
        }
    }
}

/// Where the lift is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lift {
    /// Until the upper switch.
    Up,
    /// Until the lower switch.
    Down,
    /// Stand still; the action-era hardware cannot.
    Hold,
}

/// The guide servos.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guide {
    /// Expanded.
    Out,
    /// Contracted.
    In,
}

/// All outputs of the doll mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Degrees.
    pub tilt: f64,
    /// Where the lift goes.
    pub lift: Lift,
    /// Where the guide goes.
    pub guide: Guide,
    /// Which latches' solenoids are under current.
    pub latches: [bool; 2],
}

/// A tilt by name; its degrees are a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Angle {
    /// `hina.upright_angle`.
    Upright,
    /// `hina.deploy_angle`.
    Deploy,
    /// `hina.place_angle`.
    Place,
    /// `hina.stow_angle`.
    Stow,
    /// `hina.carry_angle`.
    Carry,
    /// `hina.take_angle`.
    Take,
    /// `hina.release_angle`.
    Release,
    /// The release angle mirrored: the tray holds its dolls while it rises.
    Cradle,
    /// As it is, or the nearest angle at which the lift may travel.
    IntoTravel,
}

impl Angle {
    fn degrees(self, present: f64, settings: &Settings) -> f64 {
        match self {
            Self::Upright => settings.upright_angle,
            Self::Deploy => settings.deploy_angle,
            Self::Place => settings.place_angle,
            Self::Stow => settings.stow_angle,
            Self::Carry => settings.carry_angle,
            Self::Take => settings.take_angle,
            Self::Release => settings.release_angle,
            Self::Cradle => -settings.release_angle,
            Self::IntoTravel => present.max(settings.travel_min).min(settings.travel_max),
        }
    }
}

/// The outputs one step sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Tilt to.
    pub tilt: Option<Angle>,
    /// Lift to.
    pub lift: Option<Lift>,
    /// Guide to.
    pub guide: Option<Guide>,
    /// Latches to fire; all relax when a step does not say.
    pub latches: Option<[bool; 2]>,
}

/// What a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The potentiometer shows the commanded tilt, within the tolerance on both sides.
    Tilted,
    /// The tilt, and the switch at 180°.
    Folded,
    /// The switch of that end, and not the other one.
    LiftAt(Lift),
    /// Both wall switches are pressed.
    WallsPressed,
    /// The lift is at the top now.
    AtTop,
    /// The tray is tilted below the horizontal now.
    Tipped,
    /// The dolls had time to slide off.
    PlaceWait,
    /// The guide servos had time to move.
    GuideTime,
    /// These latches report fired.
    Fired([bool; 2]),
    /// Nothing to wait for.
    Now,
}

/// How far the doll's sensors are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// The potentiometer did not follow the tilt and has not moved since from here: it confirms nothing.
    pub caught_tilt: Option<f64>,
    /// The lift's switches (upper, lower) did not follow it and have not changed since from these: they confirm nothing.
    pub caught_ends: Option<(bool, bool)>,
    /// The potentiometer was seen to move since the controller began: the lift is not sent off on one that was not.
    pub tilt_moved: bool,
}

/// What was last sent, which of it has arrived, and which sensors are believed.
#[derive(Debug, Default)]
pub struct History {
    sent: Option<Command>,
    /// Where tilt and switches were sensed when each was last told to move.
    tilt_from: Option<f64>,
    ends_from: Option<(bool, bool)>,
    /// When each was last told to move, and whether a sample was taken since: one that comes late tells of before.
    tilt_told: Time,
    tilt_seen: bool,
    lift_told: Time,
    lift_seen: bool,
    /// The tilt was sensed where it was sent.
    tilted: bool,
    /// The end where the lift was sent, and sensed.
    lifted: Option<Lift>,
    pub(crate) trust: Trust,
    /// What the potentiometer said first.
    first_tilt: Option<f64>,
    last: Option<Sensors>,
}

impl History {
    /// The end at which the lift stands, if its switches are believed.
    fn end(&self, sensors: &Sensors) -> Option<Lift> {
        sensors.end().filter(|_| self.trust.caught_ends.is_none())
    }

    /// Nothing was told to move since the last sample was taken.
    fn is_up_to_date(&self) -> bool {
        self.sent.is_none() || self.tilt_seen && self.lift_seen
    }
}

impl View<'_, Doll> {
    fn end(&self) -> Option<Lift> {
        self.history.end(self.sensors)
    }

    fn tilted(&self) -> bool {
        let away = (self.sensors.tilt - self.command.tilt).abs();
        let caught = self.history.trust.caught_tilt.is_some();
        away <= self.settings.tolerance && !caught && self.history.is_up_to_date()
    }

    /// The sensors that are not believed, for people.
    fn disbelieved(&self) -> &'static str {
        match (self.history.trust.caught_tilt, self.history.trust.caught_ends) {
            (Some(_), _) => {
                " (the potentiometer did not follow the tilt and is not believed until it is seen to move)"
            }
            (None, Some(_)) => {
                " (the end switches did not follow the lift and are not believed until they are seen to move)"
            }
            (None, None) => "",
        }
    }
}

/// The doll mechanism's vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct Doll;

type Row = Step<Doll>;

/// A potentiometer that has changed by so many degrees lives, however wide the tolerance is.
pub(crate) const MOVED: f64 = 5.0;

fn travels(lift: Lift, end: Option<Lift>) -> bool {
    lift != Lift::Hold && end != Some(lift)
}

impl Mechanism for Doll {
    type Sensors = Sensors;
    type Command = Command;
    type Change = Change;
    type Until = Until;
    type History = History;
    type Trust = Trust;

    const NAME: &'static str = "hina";
    const NEUTRAL: Command = Command { tilt: 90.0, lift: Lift::Hold, guide: Guide::Out, latches: [false; 2] };
    const SENSOR_TOPIC: &'static str = "hina_state";
    const OUTPUT_TOPIC: &'static str = "hina_dastpan";

    fn note_sensors(
        history: &mut History,
        _: Option<&Sensors>,
        after: &Sensors,
        command: Option<&Command>,
        settings: &Settings,
        taken: Time,
    ) {
        let trust = &mut history.trust;
        trust.caught_tilt = trust.caught_tilt.filter(|from| (after.tilt - from).abs() <= settings.tolerance);
        trust.caught_ends = trust.caught_ends.filter(|from| (after.up, after.down) == *from);
        let first = *history.first_tilt.get_or_insert(after.tilt);
        trust.tilt_moved |= (after.tilt - first).abs() > settings.tolerance.min(MOVED);
        history.last = Some(*after);
        history.tilt_seen |= taken >= history.tilt_told;
        history.lift_seen |= taken >= history.lift_told;
        let Some(command) = command else { return };
        history.tilted |= history.tilt_seen && (after.tilt - command.tilt).abs() <= settings.tolerance;
        // A lift that is held stands at the end it was sent to, or found at, before.
        let stands = match command.lift {
            Lift::Hold => history.lifted.is_none(),
            end => after.end() == Some(end),
        };
        if history.lift_seen && stands {
            history.lifted = after.end();
        }
    }

    fn note_command(history: &mut History, before: Option<&Command>, after: &Command, now: Time) {
        if before.is_none_or(|b| b.tilt != after.tilt) {
            (history.tilted, history.tilt_seen, history.tilt_told) = (false, false, now);
            history.tilt_from = history.last.map(|last| last.tilt);
        }
        if before.is_none_or(|b| b.lift != after.lift) && after.lift != Lift::Hold {
            (history.lifted, history.lift_seen, history.lift_told) = (None, false, now);
            history.ends_from = history.last.map(|last| (last.up, last.down));
        }
        history.sent = Some(*after);
    }

    /// A tilt that stops half-way has a living sensor and so have switches that were left: only what shows no change at
    /// all is doubted.
    fn caught(history: &mut History, sensors: &Sensors, command: &Command, settings: &Settings) {
        let away = |from: f64| (sensors.tilt - from).abs() > settings.tolerance;
        if away(command.tilt) && history.tilt_from.is_some_and(|from| !away(from)) {
            history.trust.caught_tilt = Some(sensors.tilt);
        }
        let ends = (sensors.up, sensors.down);
        if travels(command.lift, sensors.end()) && ends != (false, false) && history.ends_from == Some(ends) {
            history.trust.caught_ends = Some(ends);
        }
    }

    fn doubted(history: &mut History) {
        (history.tilted, history.lifted) = (false, None);
    }

    fn replaced(history: &mut History) {
        (history.trust.tilt_moved, history.first_tilt) = (false, None);
    }

    fn trust(history: &History) -> Trust {
        history.trust
    }

    /// A tray that sags or swings past its angle has not left it: twice the tolerance has.
    fn contradiction(
        sensors: &Sensors,
        command: &Command,
        history: &History,
        settings: &Settings,
    ) -> Option<String> {
        if history.tilted && (sensors.tilt - command.tilt).abs() > 2.0 * settings.tolerance {
            return Some(format!(
                "the tilt is {:.1}° and no longer {:.1}°, although nobody moved it",
                sensors.tilt, command.tilt
            ));
        }
        // A mechanism that restarted in the moment its lift was sent stands with its tray wherever that comes up.
        let slack = 2.0 * settings.tolerance;
        let band = settings.travel_min - slack..=settings.travel_max + slack;
        if history.is_up_to_date() && travels(command.lift, sensors.end()) && !band.contains(&sensors.tilt) {
            return Some(format!("the lift is under way and the tilt is {:.1}°", sensors.tilt));
        }
        let left = sensors.end().zip(history.lifted).is_some_and(|(end, stood)| end != stood);
        left.then(|| "the lift is at its other end, although nobody moved it".to_owned())
    }

    fn arrived(sensors: &Sensors, command: &Command, history: &History, settings: &Settings) -> bool {
        let sent_to = if command.lift == Lift::Hold { history.lifted } else { Some(command.lift) };
        (sensors.tilt - command.tilt).abs() <= settings.tolerance
            && sensors.end().is_some()
            && sensors.end() == sent_to
    }

    /// The guide has no sensor: where it was last sent is where it is. A tray that was told to stop is where the next sample
    /// shows it, and may have gone on since the last one.
    fn resting(
        sensors: &Sensors,
        command: Option<&Command>,
        history: &History,
        settings: &Settings,
        now: Time,
    ) -> Result<Command, Time> {
        if let Some(command) = command {
            return if history.is_up_to_date() { Ok(*command) } else { Err(now) };
        }
        let sent = history.sent.as_ref();
        let lift = match sensors.end() {
            _ if settings.profile.lift_holds() => Lift::Hold,
            Some(end) => end,
            // As the original does: without the lower switch the lift is taken to be up.
            None => sent.map_or(Lift::Up, |sent| sent.lift),
        };
        let guide = sent.map_or(Guide::Out, |sent| sent.guide);
        Ok(Command { tilt: sensors.tilt, lift, guide, latches: [false; 2] })
    }

    fn rest_time(_: &Settings) -> Duration {
        Duration::ZERO
    }

    fn apply(change: &Change, command: Command, settings: &Settings) -> Command {
        Command {
            tilt: change.tilt.map_or(command.tilt, |angle| angle.degrees(command.tilt, settings)),
            lift: change.lift.unwrap_or(command.lift),
            guide: change.guide.unwrap_or(command.guide),
            latches: change.latches.unwrap_or([false; 2]),
        }
    }

    /// The tilt stays where it is, the lift stands still where it can and else stays at an end that it has not left, the
    /// latches' solenoids cool down.
    fn hold(command: Command, sensors: &Sensors, settings: &Settings) -> Command {
        let arrived = (sensors.tilt - command.tilt).abs() <= settings.tolerance;
        Command {
            tilt: if arrived { command.tilt } else { sensors.tilt },
            lift: match settings.profile.lift_holds() {
                true => Lift::Hold,
                false => sensors.end().unwrap_or(command.lift),
            },
            latches: [false; 2],
            ..command
        }
    }

    fn goes_on(held: &Command, sensors: &Sensors, settings: &Settings) -> Option<String> {
        (!settings.profile.lift_holds() && travels(held.lift, sensors.end())).then(|| {
            let (way, end) = if held.lift == Lift::Up { ("up", "upper") } else { ("down", "lower") };
            format!("the lift goes on {way} to its {end} switch: this hardware cannot stop it half-way")
        })
    }

    /// The motor of the lift is told to run until a switch: the switch ends that, where it can be told.
    fn reached(until: Until, command: Command, settings: &Settings) -> Command {
        match until {
            Until::LiftAt(_) if settings.profile.lift_holds() => Command { lift: Lift::Hold, ..command },
            _ => command,
        }
    }

    /// Between the ends the tray stays in its travel band, by a potentiometer that lives; below it only at an end, folded
    /// back only at the top.
    fn interlock(view: &View<'_, Self>, next: &Command) -> Result<(), String> {
        let Settings { travel_min, travel_max, tolerance, .. } = *view.settings;
        let (sensors, end, why) = (view.sensors, view.end(), view.disbelieved());
        if travels(next.lift, end) {
            let sensed_in_band = view.history.trust.caught_tilt.is_none()
                && (travel_min - tolerance..=travel_max + tolerance).contains(&sensors.tilt);
            if !sensed_in_band || !(travel_min..=travel_max).contains(&next.tilt) {
                return Err(format!(
                    "while the lift travels the tilt must stay within {travel_min}° … {travel_max}° (sensed {:.1}°, commanded {:.1}°){why}",
                    sensors.tilt, next.tilt
                ));
            }
            if next.lift != view.command.lift && !view.history.trust.tilt_moved {
                let why = "the potentiometer has not been seen to move since the controller began";
                return Err(format!("{why}: tilt the tray first"));
            }
        } else if next.tilt != view.command.tilt {
            if next.tilt < travel_min && end.is_none() {
                return Err(format!(
                    "tilting to {:.1}° needs the lift at its upper or lower switch{why}",
                    next.tilt
                ));
            }
            if next.tilt > travel_max && end != Some(Lift::Up) {
                return Err(format!("tilting to {:.1}° needs the lift at its upper switch{why}", next.tilt));
            }
        }
        Ok(())
    }

    fn check(view: &View<'_, Self>, _: &Row, until: Until, entered: Time) -> Result<(), Option<Time>> {
        let sensors = view.sensors;
        let after = |wait: f64| {
            let end = entered + secs(wait);
            if view.now >= end { Ok(()) } else { Err(Some(end)) }
        };
        let holds = match until {
            Until::Tilted => view.tilted(),
            Until::Folded => view.tilted() && sensors.stowed,
            Until::Tipped => sensors.tilt < 0.0 && view.history.trust.caught_tilt.is_none(),
            Until::LiftAt(end) => view.end() == Some(end) && view.history.is_up_to_date(),
            Until::WallsPressed => sensors.walls == [true, true],
            Until::AtTop => view.end() == Some(Lift::Up),
            Until::PlaceWait => return after(view.settings.place_wait),
            Until::GuideTime => return after(view.settings.guide_time),
            Until::Fired(latches) => (0..2).all(|i| !latches[i] || sensors.latches[i]),
            Until::Now => true,
        };
        holds.then_some(()).ok_or(None)
    }

    fn describe(view: Option<&View<'_, Self>>, _: &Row, until: Until) -> String {
        let tilt = || match view {
            Some(v) => format!(
                "tilt {:.1}° ±{:.1}° (now {:.1}°)",
                v.command.tilt, v.settings.tolerance, v.sensors.tilt
            ),
            None => "the commanded tilt".to_owned(),
        };
        let missing = match until {
            Until::Tilted => tilt(),
            Until::Folded => format!("{} and the switch at 180°", tilt()),
            Until::Tipped => "the tray tilted below 0°".to_owned(),
            Until::LiftAt(Lift::Down) => "the lower switch".to_owned(),
            Until::LiftAt(_) | Until::AtTop => "the upper switch".to_owned(),
            Until::WallsPressed => match view.map(|v| v.sensors.walls) {
                Some([false, true]) => "wall switch 1".to_owned(),
                Some([true, false]) => "wall switch 2".to_owned(),
                _ => "wall switches 1 and 2".to_owned(),
            },
            Until::PlaceWait => "the dolls to slide off".to_owned(),
            Until::GuideTime => "the guide servos' travel time".to_owned(),
            Until::Fired([true, true]) => "both latches to report fired".to_owned(),
            Until::Fired([first, _]) => format!("latch {} to report fired", if first { 1 } else { 2 }),
            Until::Now => "nothing".to_owned(),
        };
        let sensed =
            matches!(until, Until::Tilted | Until::Folded | Until::Tipped | Until::LiftAt(_) | Until::AtTop);
        missing + view.filter(|_| sensed).map_or("", View::disbelieved)
    }

    fn limit(until: Until, settings: &Settings) -> Duration {
        match until {
            Until::Tilted | Until::Folded => secs(settings.tilt_timeout),
            Until::LiftAt(_) => secs(settings.lift_timeout),
            Until::WallsPressed => secs(settings.wall_wait),
            Until::AtTop | Until::Tipped | Until::Now => Duration::ZERO,
            // These end by themselves; the margin only orders the end before the timeout.
            Until::PlaceWait => secs(settings.place_wait) + Duration::from_secs(1),
            Until::GuideTime => secs(settings.guide_time) + Duration::from_secs(1),
            Until::Fired(_) => secs(settings.latch_timeout),
        }
    }

    fn pause(until: Until, settings: &Settings) -> Duration {
        match until {
            Until::PlaceWait => secs(settings.place_wait),
            Until::GuideTime => secs(settings.guide_time),
            _ => Duration::ZERO,
        }
    }

    fn goal_timeout(settings: &Settings) -> Duration {
        secs(settings.hina_goal_timeout)
    }
}
