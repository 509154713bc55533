//! The doll's step tables: phases, goals and the words of the earlier microcontroller.

use super::{Angle, Change, Doll, Guide, Lift, Row, Until};
use crate::{
    profile::Profile,
    sequence::{Sequence, Step},
};

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
        "push" => sequence("push", &[TIPPED, PUSH, PULL]),
        "0degree" => sequence("0degree", &[PUSH]),
        "90degree" => sequence("90degree", &[PULL]),
        _ => return None,
    })
}

// The earlier microcontroller's pushing servos are the guide servos of the action-era robot.
const TIPPED: Row = guard("look at the tilt", Until::Tipped);
const PUSH: Row = guide("servos to 0°: expand the guide", Guide::Out);
const PULL: Row = guide("servos to 90°: contract the guide", Guide::In);

/// Why the profile's hardware cannot do a word of the earlier microcontroller, if it cannot.
pub fn unsupported_word(word: &str, profile: Profile) -> Option<String> {
    let lacking = profile != Profile::Nucleo && matches!(word, "push" | "0degree" | "90degree");
    lacking.then(|| format!("{word} moves servos that the profile \"{}\" does not have", profile.name()))
}

/// Why the profile's hardware cannot do a goal, if it cannot.
pub fn unsupported(command: u8, profile: Profile) -> Option<String> {
    let lacking = profile != Profile::Nucleo && (7..=11).contains(&command);
    lacking.then(|| {
        let (goal, profile) = (GOALS[usize::from(command)].name, profile.name());
        format!("{goal} moves hardware that the profile \"{profile}\" does not have")
    })
}
