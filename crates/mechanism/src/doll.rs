//! The doll mechanism ("hina"): a tray that tilts, on a lift, with guide servos and latches on the action-era robot.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Time,
    params::{Params, secs},
    profile::Profile,
    sequence::{Mechanism, Sequence, Step, View},
};

/// One valid sample of `/hina_state`; the tilt in degrees in the document's sense.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sensors {
    pub up: bool,
    pub down: bool,
    pub walls: [bool; 2],
    /// The switch at 180°.
    pub stowed: bool,
    pub tilt: f64,
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
    Up,
    Down,
    /// Stand still; the action-era hardware cannot.
    Hold,
}

/// The guide servos.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guide {
    Out,
    In,
}

/// All outputs of the doll mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    pub tilt: f64,
    pub lift: Lift,
    pub guide: Guide,
    pub latches: [bool; 2],
}

/// A tilt by name; its degrees are a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Angle {
    Upright,
    Deploy,
    Place,
    Stow,
    Carry,
    Take,
    Release,
    /// The release angle mirrored: the tray holds its dolls while it rises.
    Cradle,
    /// As it is, or the nearest angle at which the lift may travel.
    IntoTravel,
}

impl Angle {
    fn degrees(self, present: f64, params: &Params) -> f64 {
        match self {
            Self::Upright => params.upright_angle,
            Self::Deploy => params.deploy_angle,
            Self::Place => params.place_angle,
            Self::Stow => params.stow_angle,
            Self::Carry => params.carry_angle,
            Self::Take => params.take_angle,
            Self::Release => params.release_angle,
            Self::Cradle => -params.release_angle,
            Self::IntoTravel => present.max(params.travel_min).min(params.travel_max),
        }
    }
}

/// The outputs one step sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub tilt: Option<Angle>,
    pub lift: Option<Lift>,
    pub guide: Option<Guide>,
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
    /// The dolls had time to slide off.
    PlaceWait,
    /// The guide servos had time to move.
    GuideTime,
    /// These latches report fired.
    Fired([bool; 2]),
    /// Nothing to wait for.
    Now,
}

/// What was last sent, and which of it has arrived.
#[derive(Debug, Default)]
pub struct History {
    sent: Option<Command>,
    tilted: bool,
    lifted: bool,
}

/// The doll mechanism's vocabulary.
#[derive(Clone, Copy, Debug)]
pub struct Doll;

type Row = Step<Doll>;
const NONE: Change = Change { tilt: None, lift: None, guide: None, latches: None };

const fn tilt(what: &'static str, angle: Angle) -> Row {
    Step::new(what, Some(Change { tilt: Some(angle), ..NONE }), Until::Tilted)
}
const fn lift(what: &'static str, to: Lift) -> Row {
    Step::new(what, Some(Change { lift: Some(to), ..NONE }), Until::LiftAt(to))
}
const fn latch(what: &'static str, latches: [bool; 2]) -> Row {
    let change = Change { guide: Some(Guide::Out), latches: Some(latches), ..NONE };
    Step::new(what, Some(change), Until::Fired(latches))
}
const fn guide(what: &'static str, guide: Guide) -> Row {
    Step::new(what, Some(Change { guide: Some(guide), ..NONE }), Until::GuideTime)
}
/// The same row, with the guide set as well.
const fn with(guide: Guide, mut row: Row) -> Row {
    if let Some(change) = &mut row.change {
        change.guide = Some(guide);
    }
    row
}
const fn guard(what: &'static str, until: Until) -> Row {
    Step::new(what, None, until)
}
const fn sequence(name: &'static str, steps: &'static [Row]) -> Sequence<Doll> {
    Sequence { name, steps }
}

const UPRIGHT: Row = tilt("tilt upright", Angle::Upright);
const RAISE: Row = lift("raise until the upper switch", Lift::Up);
const LOWER: Row = lift("lower until the lower switch", Lift::Down);
const CARRY: Row = tilt("tilt to carry", Angle::Carry);
const TAKE: Row = tilt("tilt to take", Angle::Take);
const RELEASE: Row = tilt("tilt to place", Angle::Release);
const RELAX: Row =
    Step::new("relax the latches", Some(Change { latches: Some([false; 2]), ..NONE }), Until::Now);

/// Phase 0.
pub const PREPARE: Sequence<Doll> = sequence("prepare", &[UPRIGHT, LOWER]);
/// Phase 1.
pub const DEPLOY: Sequence<Doll> = sequence("deploy", &[SCOOP]);
/// Phase 2.
pub const COLLECT: Sequence<Doll> =
    sequence("collect", &[guard("wait for the wall", Until::WallsPressed), UPRIGHT, RAISE]);
/// Phase 3.
pub const PLACE: Sequence<Doll> = sequence(
    "place",
    &[
        AT_TOP,
        tilt("tilt to place", Angle::Place),
        guard("let the dolls slide off", Until::PlaceWait),
        UPRIGHT,
        guard("light the lantern", Until::Now).lights_lantern(),
    ],
);
const SCOOP: Row = tilt("tilt to scoop", Angle::Deploy);
const AT_TOP: Row = guard("look for the upper switch", Until::AtTop);
const FOLD: Row = Step::new("fold back", Some(Change { tilt: Some(Angle::Stow), ..NONE }), Until::Folded);

/// Phase 4.
pub const STOW: Sequence<Doll> =
    sequence("stow", &[tilt("tilt clear of the lift", Angle::IntoTravel), RAISE, FOLD]);

/// The sequences of the action `hina_cmd`, indexed by command; 0 is STOP.
pub const GOALS: [Sequence<Doll>; 15] = [
    sequence("STOP", &[]),
    sequence("READY", &[with(Guide::Out, CARRY), LOWER]),
    sequence("UP", &[with(Guide::Out, RAISE)]),
    sequence("DOWN", &[with(Guide::In, LOWER)]),
    sequence("POS_CARRY", &[with(Guide::In, CARRY)]),
    sequence("POS_TAKE", &[with(Guide::In, TAKE)]),
    sequence("POS_PLACE", &[with(Guide::Out, RELEASE)]),
    sequence("GUIDE_EXPAND", &[guide("expand the guide", Guide::Out)]),
    sequence("GUIDE_CONTRACT", &[guide("contract the guide", Guide::In)]),
    sequence("LATCH_UNLOCK", &[latch("unlock both latches", [true, true]), RELAX]),
    sequence("LATCH_UNLOCK_1", &[latch("unlock latch 1", [true, false]), RELAX]),
    sequence("LATCH_UNLOCK_2", &[latch("unlock latch 2", [false, true]), RELAX]),
    sequence(
        "DOWN_AND_TAKE",
        &[with(Guide::In, tilt("tilt clear of the lift", Angle::IntoTravel)), LOWER.feedback(2), TAKE],
    ),
    sequence("UP_AND_CARRY", &[with(Guide::In, CARRY).feedback(3), with(Guide::Out, RAISE)]),
    sequence(
        "UP_AND_PLACE",
        &[with(Guide::Out, tilt("cradle the dolls", Angle::Cradle)), RAISE.feedback(4), RELEASE],
    ),
];

/// The sequence of a phase code.
pub fn phase(code: u8) -> Option<Sequence<Doll>> {
    match code {
        0 => Some(PREPARE),
        1 => Some(DEPLOY),
        2 => Some(COLLECT),
        3 => Some(PLACE),
        4 => Some(STOW),
        _ => None,
    }
}

/// The sequence of a word that the earlier microcontroller understood.
pub fn direct(word: &str) -> Option<Sequence<Doll>> {
    Some(match word {
        "moveUp" => sequence("moveUp", &[RAISE]),
        "moveDown" => sequence("moveDown", &[LOWER]),
        "expandArm" => sequence("expandArm", &[SCOOP]),
        "contractArm" => sequence("contractArm", &[UPRIGHT]),
        "resetArm" => sequence("resetArm", &[AT_TOP, FOLD]),
        _ => return None,
    })
}

/// Why the profile's hardware cannot do a goal, if it cannot.
pub fn unsupported(command: u8, profile: Profile) -> Option<String> {
    let lacking = profile != Profile::Nucleo && (7..=11).contains(&command);
    lacking.then(|| {
        let (goal, profile) = (GOALS[usize::from(command)].name, profile.name());
        format!("{goal} moves hardware that the profile \"{profile}\" does not have")
    })
}

fn travels(lift: Lift, sensors: &Sensors) -> bool {
    lift != Lift::Hold && sensors.end() != Some(lift)
}

impl Mechanism for Doll {
    type Sensors = Sensors;
    type Command = Command;
    type Change = Change;
    type Until = Until;
    type History = History;

    const NAME: &'static str = "hina";
    const SENSOR_TOPIC: &'static str = "hina_state";

    fn note_sensors(
        history: &mut History,
        _: Option<&Sensors>,
        after: &Sensors,
        command: Option<&Command>,
        params: &Params,
        _: Time,
    ) {
        if let Some(command) = command {
            history.tilted |= (after.tilt - command.tilt).abs() <= params.tolerance;
            history.lifted |= after.end() == Some(command.lift);
        }
    }

    fn note_command(history: &mut History, before: Option<&Command>, after: &Command, _: Time) {
        history.tilted &= before.is_some_and(|b| b.tilt == after.tilt);
        history.lifted &= before.is_some_and(|b| b.lift == after.lift);
        history.sent = Some(*after);
    }

    /// A tray that sags or swings past its angle has not left it: twice the tolerance has.
    fn contradiction(
        sensors: &Sensors,
        command: &Command,
        history: &History,
        params: &Params,
    ) -> Option<String> {
        if history.tilted && (sensors.tilt - command.tilt).abs() > 2.0 * params.tolerance {
            return Some(format!(
                "the tilt is {:.1}° and no longer {:.1}°, although nobody moved it",
                sensors.tilt, command.tilt
            ));
        }
        let left = history.lifted
            && command.lift != Lift::Hold
            && sensors.end().is_some_and(|end| end != command.lift);
        left.then(|| "the lift is at its other end, although nobody moved it".to_owned())
    }

    fn arrived(sensors: &Sensors, command: &Command, _: &History, params: &Params) -> bool {
        (sensors.tilt - command.tilt).abs() <= params.tolerance && sensors.end() == Some(command.lift)
    }

    /// The guide has no sensor: where it was last sent is where it is.
    fn resting(
        sensors: &Sensors,
        command: Option<&Command>,
        history: &History,
        params: &Params,
        _: Time,
    ) -> Result<Command, Time> {
        if let Some(command) = command {
            return Ok(*command);
        }
        let sent = history.sent.as_ref();
        let lift = match sensors.end() {
            Some(end) => end,
            None if params.profile.lift_holds() => Lift::Hold,
            // As the original does: without the lower switch the lift is taken to be up.
            None => sent.map_or(Lift::Up, |sent| sent.lift),
        };
        let guide = sent.map_or(Guide::Out, |sent| sent.guide);
        Ok(Command { tilt: sensors.tilt, lift, guide, latches: [false; 2] })
    }

    fn rest_time(_: &Params) -> Duration {
        Duration::ZERO
    }

    fn apply(change: &Change, command: Command, params: &Params) -> Command {
        Command {
            tilt: change.tilt.map_or(command.tilt, |angle| angle.degrees(command.tilt, params)),
            lift: change.lift.unwrap_or(command.lift),
            guide: change.guide.unwrap_or(command.guide),
            latches: change.latches.unwrap_or([false; 2]),
        }
    }

    /// The tilt stays where it is, the lift stands still where it can and stays at an end that it has not left, the latches'
    /// solenoids cool down.
    fn hold(command: Command, sensors: &Sensors, params: &Params) -> Command {
        let arrived = (sensors.tilt - command.tilt).abs() <= params.tolerance;
        Command {
            tilt: if arrived { command.tilt } else { sensors.tilt },
            lift: if params.profile.lift_holds() && travels(command.lift, sensors) {
                Lift::Hold
            } else {
                sensors.end().unwrap_or(command.lift)
            },
            latches: [false; 2],
            ..command
        }
    }

    /// Between the ends the tray stays in its travel band; below it only at an end, folded back only at the top.
    fn interlock(view: &View<'_, Self>, next: &Command) -> Result<(), String> {
        let Params { travel_min, travel_max, tolerance, .. } = *view.params;
        let sensors = view.sensors;
        if travels(next.lift, sensors) {
            let sensed_in_band = (travel_min - tolerance..=travel_max + tolerance).contains(&sensors.tilt);
            if !sensed_in_band || !(travel_min..=travel_max).contains(&next.tilt) {
                return Err(format!(
                    "while the lift travels the tilt must stay within {travel_min}° … {travel_max}° (sensed {:.1}°, commanded {:.1}°)",
                    sensors.tilt, next.tilt
                ));
            }
        } else if next.tilt != view.command.tilt {
            if next.tilt < travel_min && sensors.end().is_none() {
                return Err(format!(
                    "tilting to {:.1}° needs the lift at its upper or lower switch",
                    next.tilt
                ));
            }
            if next.tilt > travel_max && sensors.end() != Some(Lift::Up) {
                return Err(format!("tilting to {:.1}° needs the lift at its upper switch", next.tilt));
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
        let tilted = || (sensors.tilt - view.command.tilt).abs() <= view.params.tolerance;
        let holds = match until {
            Until::Tilted => tilted(),
            Until::Folded => tilted() && sensors.stowed,
            Until::LiftAt(end) => sensors.end() == Some(end),
            Until::WallsPressed => sensors.walls == [true, true],
            Until::AtTop => sensors.end() == Some(Lift::Up),
            Until::PlaceWait => return after(view.params.place_wait),
            Until::GuideTime => return after(view.params.guide_time),
            Until::Fired(latches) => (0..2).all(|i| !latches[i] || sensors.latches[i]),
            Until::Now => true,
        };
        holds.then_some(()).ok_or(None)
    }

    fn describe(view: Option<&View<'_, Self>>, _: &Row, until: Until) -> String {
        let tilt = || match view {
            Some(v) => format!(
                "tilt {:.1}° ±{:.1}° (now {:.1}°)",
                v.command.tilt, v.params.tolerance, v.sensors.tilt
            ),
            None => "the commanded tilt".to_owned(),
        };
        match until {
            Until::Tilted => tilt(),
            Until::Folded => format!("{} and the switch at 180°", tilt()),
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
        }
    }

    fn limit(until: Until, params: &Params) -> Duration {
        match until {
            Until::Tilted | Until::Folded => secs(params.tilt_timeout),
            Until::LiftAt(_) => secs(params.lift_timeout),
            Until::WallsPressed => secs(params.wall_wait),
            Until::AtTop | Until::Now => Duration::ZERO,
            // These end by themselves; the margin only orders the end before the timeout.
            Until::PlaceWait => secs(params.place_wait) + Duration::from_secs(1),
            Until::GuideTime => secs(params.guide_time) + Duration::from_secs(1),
            Until::Fired(_) => secs(params.latch_timeout),
        }
    }

    fn goal_timeout(params: &Params) -> Duration {
        secs(params.hina_goal_timeout)
    }
}
