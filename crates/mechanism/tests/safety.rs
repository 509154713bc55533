//! Nothing moves that nobody asked for, and everything stops when asked: each of these was a fault once.

mod world;

use std::time::Duration;

use rosless_mechanism::{
    Input, Outcome, Output, Profile, Settings, Time,
    doll::{self, Lift},
    engine::{LEAVE_ALONE, Level, Which},
    model::{Fault, Switch},
    pedestal,
    sources::{Kind, Source, Stamps},
};
use world::World;

const DEPLOY: u8 = 1;
const PLACE: u8 = 3;
const STOW: u8 = 4;
const STOP: u8 = 0;

fn document() -> World {
    World::settled(Profile::Document, false)
}

fn source(id: u8, name: &str, kind: Kind) -> Source {
    Source { id: [id; 16], name: name.to_owned(), kind }
}

/// The reason of the last failure of a mechanism.
fn ended(world: &World, which: Which) -> (Outcome, String) {
    let status = world.engine.status(world.now);
    let part = if which == Which::Pedestal { status.pedestal } else { status.doll };
    part.activity.last.expect("something has ended")
}

#[test]
fn a_sensor_that_did_not_follow_confirms_no_interlock_until_it_is_seen_to_move() {
    // The clamp opens, but the sensor of cylinder 2 goes on saying "in".
    let mut world = document();
    world.model.add_fault(Fault::DeadCylinderSensor(1));
    world.play(DEPLOY, LEAVE_ALONE);
    assert_eq!(ended(&world, Which::Pedestal).0, Outcome::TimedOut);
    // Now its valve is stuck, too: the clamp stays open, and the sensor says what it is asked for.
    world.model.add_fault(Fault::StuckCylinder(1));
    world.clear();
    world.play(STOW, LEAVE_ALONE);
    assert_eq!(world.pedestal_commands(), ["0011"], "the arm is not lifted with the clamp open");
    let (outcome, reason) = ended(&world, Which::Pedestal);
    assert_eq!(outcome, Outcome::TimedOut);
    assert!(reason.contains("the sensor of cylinder 2 did not follow it"), "{reason}");
    // Lifting alone is refused as well.
    world.goal(Which::Pedestal, 1, 3);
    world.assert_ended(1, Outcome::Refused, "is not believed until it is seen to move");
    // Repaired, and seen to move: believed again.
    world.model.clear_faults();
    world.run(1.5);
    for phase in [DEPLOY, STOW] {
        world.play(phase, LEAVE_ALONE);
        assert_eq!(world.reached().0, Some(phase));
    }
}

/// "Switch it off and on again" must not make a dead sensor a witness.
#[test]
fn a_restarted_controller_lifts_nothing_on_a_sensor_that_it_has_not_seen_move() {
    let mut world = document();
    world.model.add_fault(Fault::DeadCylinderSensor(1));
    world.play(DEPLOY, LEAVE_ALONE);
    world.model.add_fault(Fault::StuckCylinder(1));
    world.restart_controller();
    world.play(STOW, LEAVE_ALONE);
    assert_eq!(world.model.cylinder_positions()[3], 1.0, "not lifted with the clamp half open");
    let (outcome, reason) = ended(&world, Which::Pedestal);
    assert_eq!(outcome, Outcome::Refused);
    let unseen = "the sensor of cylinder 2 has not been seen to move since the controller began";
    assert!(reason.contains(unseen), "{reason}");
    // The way out is to see it move.
    world.model.clear_faults();
    world.run(1.5);
    for phase in [DEPLOY, STOW] {
        world.play(phase, LEAVE_ALONE);
        assert_eq!(world.reached().0, Some(phase));
    }
}

#[test]
fn a_restarted_controller_lowers_and_places_what_is_carried_and_stays_where_nothing_is_lifted() {
    let mut world = document();
    for code in [1, 4] {
        // READY and CLAMP: the arm is up already.
        world.perform(Which::Pedestal, code, code);
        assert_eq!(world.ended(code).map(|(outcome, _)| outcome), Some(Outcome::Done));
    }
    world.play(STOW, LEAVE_ALONE);
    assert_eq!(world.reached().0, Some(STOW));
    world.restart_controller();
    world.play(PLACE, LEAVE_ALONE);
    assert_eq!(world.reached().0, Some(PLACE));
    assert_eq!(world.model.cylinder_positions(), [1.0; 4]);
}

#[test]
fn another_publisher_has_to_show_its_sensors_moving_anew() {
    let mut world = document();
    for phase in [DEPLOY, STOW, DEPLOY] {
        world.play(phase, LEAVE_ALONE);
    }
    world.perform(Which::Pedestal, 1, 4);
    assert_eq!(world.engine.trust().daiza.moved[..2], [true, true]);
    for id in [1, 2] {
        let admitted =
            world.engine.admit(Which::Pedestal, &source(id, "/agent", Kind::Hardware), None, world.now);
        assert!(admitted.is_ok() || id == 2);
        world.run(3.0);
    }
    assert!(
        world.engine.admit(Which::Pedestal, &source(2, "/agent", Kind::Hardware), None, world.now).is_ok()
    );
    world.run(1.5);
    assert_eq!(world.engine.trust().daiza.moved[..2], [false, false]);
    world.perform(Which::Pedestal, 2, 3);
    world.assert_ended(2, Outcome::Refused, "cylinders 1 and 2 have not been seen to move");
}

#[test]
fn a_restarted_controller_sends_no_lift_off_on_a_potentiometer_that_it_has_not_seen_move() {
    for profile in [Profile::Document, Profile::Nucleo] {
        let mut world = World::settled(profile, false);
        world.perform(Which::Doll, 1, 4);
        // The tray is folded back, and the potentiometer stays at 90°.
        world.model.hold_potentiometer(Some(90.0));
        world.restart_controller();
        world.perform(Which::Doll, 2, 3);
        world.assert_ended(2, Outcome::Refused, "the potentiometer has not been seen to move");
        assert_eq!(world.model.height(), 1.0);
        world.model.hold_potentiometer(None);
        for (id, goal) in [(3, 4), (4, 3)] {
            world.perform(Which::Doll, id, goal);
            assert_eq!(world.ended(id).map(|(outcome, _)| outcome), Some(Outcome::Done), "{profile:?}");
        }
    }
}

#[test]
fn a_sensor_is_caught_although_its_goal_was_pre_empted_meanwhile() {
    let mut world = document();
    world.model.add_fault(Fault::DeadCylinderSensor(0));
    world.set("daiza.cylinder_timeout", 30.0);
    world.phases(DEPLOY, LEAVE_ALONE);
    world.run(2.5);
    world.set("daiza.cylinder_timeout", 1.0);
    world.run(0.1);
    world.clear();
    world.play(STOW, LEAVE_ALONE);
    assert_eq!(world.pedestal_commands(), ["0011"]);
}

#[test]
fn a_dead_potentiometer_lets_no_lift_travel() {
    let mut world = document();
    world.play(LEAVE_ALONE, 0);
    // The tray goes to -10°, and the potentiometer stays at 90°.
    world.model.hold_potentiometer(Some(90.0));
    world.play(LEAVE_ALONE, DEPLOY);
    assert_eq!(ended(&world, Which::Doll).0, Outcome::TimedOut);
    world.clear();
    world.perform(Which::Doll, 1, 2);
    world.assert_ended(1, Outcome::Refused, "the potentiometer did not follow the tilt");
    assert_eq!(world.doll_commands(), []);
    world.model.hold_potentiometer(None);
    world.perform(Which::Doll, 2, 4);
    world.perform(Which::Doll, 3, 2);
    assert_eq!(world.ended(3).map(|(outcome, _)| outcome), Some(Outcome::Done));
}

#[test]
fn an_end_switch_that_did_not_let_go_is_no_end() {
    let mut world = document();
    world.perform(Which::Doll, 1, 4);
    // The lift goes down, and both switches say otherwise.
    world.model.add_fault(Fault::StuckSwitch(Switch::Up, true));
    world.model.add_fault(Fault::StuckSwitch(Switch::Down, false));
    world.perform(Which::Doll, 2, 3);
    assert_eq!(world.ended(2).map(|(outcome, _)| outcome), Some(Outcome::TimedOut));
    world.clear();
    for phase in [PLACE, STOW] {
        world.play(LEAVE_ALONE, phase);
        let (outcome, reason) = ended(&world, Which::Doll);
        assert!(outcome.is_failure());
        assert!(reason.contains("the end switches did not follow the lift"), "{reason}");
    }
    assert!(world.doll_commands().iter().all(|(tilt, _)| *tilt <= 120.0 && *tilt >= 0.0));
}

#[test]
fn the_lift_is_told_to_stand_still_when_its_switch_ends_the_move() {
    let mut world = document();
    world.play(LEAVE_ALONE, 0);
    let down =
        world.outputs.iter().position(|(_, o)| matches!(o, Output::DollCommand(c) if c.lift == Lift::Down));
    let held =
        world.outputs.iter().rposition(|(_, o)| matches!(o, Output::DollCommand(c) if c.lift == Lift::Hold));
    assert!(down.is_some() && held > down, "{:?}", world.doll_commands());
    assert_eq!(world.model.height(), 0.0);
}

#[test]
fn a_tuned_angle_is_gone_to_when_the_phase_is_asked_for_again() {
    let mut world = document();
    world.play(LEAVE_ALONE, DEPLOY);
    world.phases(LEAVE_ALONE, DEPLOY);
    assert_eq!(world.reached().1, Some(DEPLOY));
    world.set("hina.deploy_angle", -20.0);
    assert_eq!(world.reached().1, None, "not there any more");
    world.clear();
    world.run(1.0);
    world.phases(LEAVE_ALONE, DEPLOY);
    world.run(0.5);
    assert_eq!(world.doll_commands(), [], "a stream's repeat asks for nothing new");
    world.run(3.0);
    assert_eq!(world.doll_commands(), [], "nothing moves by a parameter alone");
    world.play(LEAVE_ALONE, DEPLOY);
    assert_eq!(world.doll_commands(), [(-20.0, Lift::Hold)]);
    // What does not change where the phase leads does not run it again.
    world.set("hina.tilt_timeout", 9.0);
    world.clear();
    world.run(3.0);
    world.phases(LEAVE_ALONE, DEPLOY);
    world.run(0.5);
    assert_eq!(world.doll_commands(), []);
    assert_eq!(world.reached().1, Some(DEPLOY));
}

#[test]
fn a_phase_is_run_again_on_request() {
    let mut world = document();
    world.play(LEAVE_ALONE, PLACE);
    world.clear();
    world.input(Input::Forget(Which::Doll));
    world.run(1.0);
    assert_eq!(world.doll_commands(), [], "only when it is asked for");
    world.play(LEAVE_ALONE, PLACE);
    assert_eq!(world.doll_commands(), [(-10.0, Lift::Hold), (90.0, Lift::Hold)]);
}

#[test]
fn a_stop_that_the_hardware_cannot_do_is_not_called_stopped() {
    let mut world = World::settled(Profile::Nucleo, false);
    world.perform(Which::Doll, 1, 4);
    world.goal(Which::Doll, 2, 3);
    world.run(0.5);
    world.goal(Which::Doll, 3, STOP);
    let goes_on = "the lift goes on down to its lower switch: this hardware cannot stop it half-way";
    assert_eq!(world.ended(3), Some((Outcome::Refused, goes_on.to_owned())));
    let (outcome, reason) = world.ended(2).expect("stopped");
    assert_eq!((outcome, reason), (Outcome::Stopped, format!("a STOP goal; {goes_on}")));
    assert_eq!(world.engine.status(world.now).doll.activity.goes_on.as_deref(), Some(goes_on));
    world.run(3.0);
    assert_eq!(world.engine.status(world.now).doll.activity.goes_on, None, "it has arrived");
    world.goal(Which::Doll, 4, STOP);
    assert_eq!(world.ended(4), Some((Outcome::Done, String::new())));

    let mut world = document();
    world.perform(Which::Doll, 1, 4);
    world.goal(Which::Doll, 2, 3);
    world.run(0.5);
    world.goal(Which::Doll, 3, STOP);
    assert_eq!(world.ended(3), Some((Outcome::Done, String::new())));
    let height = world.model.height();
    world.run(2.0);
    assert_eq!(world.model.height(), height, "the document's lift stands still");
}

#[test]
fn a_stroke_that_a_stop_cannot_end_is_named() {
    let mut world = document();
    world.goal(Which::Pedestal, 1, 2);
    world.run(0.3);
    world.goal(Which::Pedestal, 2, STOP);
    let goes_on = "cylinder 4 goes on out (a valve has no middle)";
    assert_eq!(world.ended(2), Some((Outcome::Done, goes_on.to_owned())));
    assert_eq!(world.ended(1).map(|(_, reason)| reason), Some(format!("a STOP goal; {goes_on}")));
}

#[test]
fn two_publishers_of_a_sensor_topic_are_refused_and_what_runs_ends() {
    let mut world = document();
    let (agent, other) = (source(1, "/agent", Kind::Hardware), source(2, "/other", Kind::Hardware));
    let sense = |world: &mut World, from: &Source| {
        let sample = pedestal::Sensors { pedestal: false, cylinders: [false; 4] };
        let admitted = world.engine.admit(Which::Pedestal, from, None, world.now);
        world.input(Input::PedestalSensors(admitted.map(|()| sample)));
    };
    world.model.add_fault(Fault::LostSensors(Which::Pedestal));
    sense(&mut world, &agent);
    world.phases(DEPLOY, LEAVE_ALONE);
    for _ in 0..12 {
        sense(&mut world, &agent);
        sense(&mut world, &other);
        world.run(0.05);
    }
    let (outcome, reason) = ended(&world, Which::Pedestal);
    assert_eq!(outcome, Outcome::SensorsLost);
    assert!(reason.ends_with("two publish it: /agent and /other; stop one of them"), "{reason}");
    // What was sensed a moment before is not relied on either.
    world.run(3.0);
    sense(&mut world, &agent);
    sense(&mut world, &other);
    world.clear();
    world.phases(STOW, LEAVE_ALONE);
    world.run(0.1);
    assert_eq!(world.pedestal_commands(), Vec::<String>::new());
    let refused = world.engine.status(world.now).pedestal.activity.refused;
    assert!(refused.is_some_and(|reason| reason.contains("/other")));
}

#[test]
fn another_mechanism_than_before_is_looked_at_anew() {
    let mut world = document();
    let sense = |world: &mut World, from: &Source| {
        let sample = doll::Sensors { tilt: 90.0, up: true, ..Default::default() };
        let admitted = world.engine.admit(Which::Doll, from, None, world.now);
        world.input(Input::DollSensors(admitted.map(|()| sample)));
    };
    world.model.add_fault(Fault::LostSensors(Which::Doll));
    sense(&mut world, &source(1, "/dummy_mechanism", Kind::StandIn));
    world.phases(LEAVE_ALONE, DEPLOY);
    sense(&mut world, &source(2, "/agent", Kind::Hardware));
    let (outcome, reason) = ended(&world, Which::Doll);
    assert_eq!(
        (outcome, reason.as_str()),
        (Outcome::SensorsLost, "the sensors come from another publisher now: /agent")
    );
}

#[test]
fn nothing_is_begun_while_others_publish_the_outputs() {
    let mut world = document();
    world.phases(DEPLOY, DEPLOY);
    world.run(0.3);
    world.clear();
    world.input(Input::Rivals { which: Which::Pedestal, names: vec!["/second".to_owned()] });
    let reason = "daiza_clamp is also published by /second; stop one of them";
    assert_eq!(ended(&world, Which::Pedestal), (Outcome::Refused, reason.to_owned()));
    assert!(world.engine.status(world.now).doll.activity.running, "the doll has no rival");
    for _ in 0..3 {
        world.run(1.0);
        world.clear();
        world.phases(STOW, LEAVE_ALONE);
        world.run(0.1);
        assert_eq!(world.pedestal_commands(), Vec::<String>::new());
        assert_eq!(world.reports(Level::Error), [format!("daiza: stow refused: {reason}")], "each time");
    }
    world.input(Input::Rivals { which: Which::Pedestal, names: vec![] });
    world.run(3.0);
    world.play(DEPLOY, LEAVE_ALONE);
    assert_eq!(world.reached().0, Some(DEPLOY));
}

/// A burst of samples that waited somewhere: the tray is held where it was, and has moved on since.
#[test]
fn late_samples_accuse_nobody_of_having_moved_the_tray() {
    let mut world = document();
    let agent = source(1, "/agent", Kind::Hardware);
    world.model.add_fault(Fault::LostSensors(Which::Doll));
    let start = Duration::from_secs(1_000_000);
    let sense = |world: &mut World, tilt: f64, late: f64| {
        let received = start + world.now;
        let stamps = Stamps { published: received - Duration::from_secs_f64(late), received };
        let sample = doll::Sensors { tilt, up: true, ..Default::default() };
        let admitted = world.engine.admit(Which::Doll, &agent, Some(stamps), world.now);
        world.input(Input::DollSensors(admitted.map(|()| sample)));
    };
    sense(&mut world, 90.0, 0.01);
    world.phases(LEAVE_ALONE, DEPLOY);
    world.run(0.2);
    sense(&mut world, 40.0, 0.01);
    // Nothing for a while, then what has waited, all at once.
    world.run(0.45);
    world.input(Input::Stop);
    for (tilt, late) in [(20.0, 0.44), (18.0, 0.42), (2.0, 0.2), (-9.0, 0.05)] {
        sense(&mut world, tilt, late);
    }
    world.run(0.03);
    sense(&mut world, -10.0, 0.01);
    let told: Vec<_> =
        world.reports(Level::Warn).into_iter().filter(|r| r.contains("nobody moved")).collect();
    assert_eq!(told, Vec::<&str>::new());
    // What is later than the watchdog allows is refused, with how late it is.
    sense(&mut world, 90.0, 1.4);
    let refused = world.engine.status(world.now).doll.activity.refused;
    assert_eq!(refused.as_deref(), Some("it came 1.4 s late"));
}

#[test]
fn each_failure_leaves_a_line_and_only_a_stream_is_told_now_and_then() {
    let mut world = document();
    world.play(DEPLOY, LEAVE_ALONE);
    world.clear();
    for _ in 0..4 {
        world.phases(2, LEAVE_ALONE);
        world.run(0.5);
    }
    let lines = |world: &World| {
        let each = |(_, o): &&(Time, Output)| matches!(o, Output::Report { text, streamed: false, .. } if text.contains("collect refused"));
        world.outputs.iter().filter(each).count()
    };
    assert_eq!(lines(&world), 4);
    world.clear();
    world.run(1.0);
    for _ in 0..20 {
        world.phases(2, LEAVE_ALONE);
        world.run(0.05);
    }
    assert_eq!(lines(&world), 1);
}

#[test]
fn every_word_of_the_earlier_firmware_is_known() {
    for word in ["push", "0degree", "90degree"] {
        let mut world = document();
        world.input(Input::Direct(word.to_owned()));
        let reason = format!("hina: {word} moves servos that the profile \"document\" does not have");
        assert_eq!(world.reports(Level::Error), [reason]);
    }
    let mut world = World::settled(Profile::Nucleo, false);
    world.input(Input::Direct("push\n".to_owned()));
    assert_eq!(world.reports(Level::Error), ["hina: push refused: needs the tray tilted below 0°"]);
    world.perform(Which::Doll, 1, 5);
    // Within the tolerance is not there yet.
    world.run(0.5);
    world.clear();
    world.input(Input::Direct("push".to_owned()));
    world.finish();
    let guides: Vec<_> = world
        .outputs
        .iter()
        .filter_map(|(_, o)| match o {
            Output::DollCommand(command) => Some(command.guide),
            _ => None,
        })
        .collect();
    assert_eq!(world.reports(Level::Warn), Vec::<&str>::new());
    assert!(guides.contains(&doll::Guide::Out) && guides.last() == Some(&doll::Guide::In), "{guides:?}");
    let words =
        ["mechaExpand", "mechaRetract", "armOpen", "armClose", "boxArmExpand", "boxArmRetract", "moveUp"];
    let more =
        ["moveDown", "expandArm", "contractArm", "resetArm", "0degree", "90degree", "bonbori", "bonboriOff"];
    for word in words.iter().chain(&more) {
        world.clear();
        world.input(Input::Direct((*word).to_owned()));
        let unknown = world.reports(Level::Error).iter().any(|r| r.contains("there is no direct command"));
        assert!(!unknown, "{word}");
        world.finish();
    }
}

#[test]
fn out_of_range_values_are_told_with_their_range() {
    let error = Settings::defaults(Profile::Document).set("hina.tolerance", 900.0).unwrap_err();
    assert_eq!(error.to_string(), "hina.tolerance = 900 deg is outside 0.1 … 30");
}

#[test]
fn a_restart_in_the_moment_in_which_the_lift_is_sent_does_not_move_it_with_the_tray_out() {
    let mut world = World::new(Settings::defaults(Profile::Document), false);
    world.run(2.5);
    world.model.add_fault(Fault::StuckSwitch(Switch::ALL[0].0, false));
    world.phases(STOP, STOP);
    world.run(0.661);
    world.input(Input::Direct("moveDown".to_owned()));
    world.power_cycle(0.0);
    let height = world.model.height();
    world.run(0.5);
    assert_eq!(world.model.height(), height, "the tray is at {}°", world.model.tilt());
    let (outcome, reason) = ended(&world, Which::Doll);
    assert_eq!(outcome, Outcome::Refused, "{reason}");
}

/// Asks for a goal, restarts the mechanism in the moment in which the pedestal is told, and sees that arm and clamp do not move at
/// once.
#[track_caller]
fn restarts_as_the_pedestal_is_told(world: &mut World, goal: u8, why: &str) {
    world.clear();
    world.goal(Which::Pedestal, 9, goal);
    let end = world.now + Duration::from_secs(5);
    while world.pedestal_commands().is_empty() {
        assert!(world.now < end, "nothing was sent: {:?}", ended(world, Which::Pedestal));
        world.step();
    }
    world.power_cycle(0.0);
    let end = world.now + Duration::from_secs(3);
    while world.now < end {
        let before = world.model.cylinder_positions();
        world.step();
        let after = world.model.cylinder_positions();
        assert!(
            after[3] == before[3] || after[..2] == before[..2],
            "clamp and arm move at the same time: {before:?} {after:?}"
        );
    }
    let (outcome, reason) = ended(world, Which::Pedestal);
    assert_eq!((outcome, reason.as_str()), (Outcome::Refused, why));
}

const EXPAND: u8 = 2;
const UNCLAMP: u8 = 5;

#[test]
fn a_restart_in_the_moment_in_which_the_clamp_is_sent_does_not_move_it_with_the_arm() {
    let lost = "interlock: cylinder 4 is no longer out, although nobody moved it";
    // The sensors are gone for a while as the arm goes down: where it is found then is where it stands.
    let mut world = document();
    world.model.add_fault(Fault::LostSensors(Which::Pedestal));
    world.phases(DEPLOY, LEAVE_ALONE);
    world.run(0.8);
    world.model.clear_faults();
    restarts_as_the_pedestal_is_told(&mut world, UNCLAMP, lost);

    // Another node says again where everything stands: nothing is seen to arrive, and the time for it ends between two samples.
    let mut world = document();
    world.perform(Which::Pedestal, 1, EXPAND);
    world.restart_controller();
    world.input(Input::OthersPedestalCommand([false, false, false, true]));
    restarts_as_the_pedestal_is_told(&mut world, UNCLAMP, lost);
}

#[test]
fn a_restart_in_the_moment_in_which_the_arm_is_sent_does_not_move_it_with_the_clamp() {
    let mut world = document();
    world.perform(Which::Pedestal, 1, UNCLAMP);
    world.restart_controller();
    let lost = "interlock: cylinder 1 is no longer out, although nobody moved it";
    restarts_as_the_pedestal_is_told(&mut world, EXPAND, lost);
}

/// A sample may be half a second old, and a tray under way leaves its band in less.
#[test]
fn the_lift_is_not_sent_off_by_where_a_moving_tray_was_seen_last() {
    let mut world = document();
    world.phases(LEAVE_ALONE, DEPLOY);
    while world.model.tilt() > 15.0 {
        world.step();
    }
    world.model.add_fault(Fault::LostSensors(Which::Doll));
    world.run(0.3);
    assert!(world.model.tilt() < -5.0, "{}", world.model.tilt());
    world.clear();
    let height = world.model.height();
    world.input(Input::Direct("moveDown".to_owned()));
    world.run(0.3);
    assert_eq!(world.model.height(), height, "the tray is at {}°", world.model.tilt());
    // It goes down when it is known where the tray is.
    world.model.clear_faults();
    world.finish();
    assert_eq!((ended(&world, Which::Doll).0, world.model.height()), (Outcome::Done, 0.0));
}
