//! Nothing moves that nobody asked for, and everything stops when asked.

use std::{io::Write, time::Duration};

use rosless_graph::TopicQos;
use rosless_mechanism::messages::{Document, Nucleo};
use rosless_wire::{
    diagnostic_msgs::msg::DiagnosticArray,
    mecha_control::msg::{MechaState, SensorStates},
    std_msgs::msg::String as Text,
};

use crate::rig::{self, Rig};

/// The sensors of a mechanism as the document says that it starts.
fn pedestal_at_rest() -> SensorStates {
    SensorStates { limit_switch_states: vec![false], cylinder_states: vec![false; 4], ..Default::default() }
}

fn doll_at_rest() -> SensorStates {
    SensorStates {
        potentiometer_angles: vec![180.0],
        limit_switch_states: vec![true, false, false, false, true],
        ..Default::default()
    }
}

#[test]
fn a_command_that_is_interrupted_or_out_of_time_stops_what_it_began_unless_told_otherwise() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&["--fault", "stuck-lift"], &[]);
    let lowers = |seen: &rig::Observed| seen.doll.last().is_some_and(|a| a.positions[0] == 0.0);
    let holds = |seen: &rig::Observed| seen.doll.last().is_some_and(|a| a.positions[0] == 0.5);

    let prepare = rig.start(&["prepare"]);
    rig.until("the lift is told to go down", lowers);
    prepare.signal("INT");
    rig.finish(prepare).fails(130, "hina: prepare stopped: the command was interrupted");
    rig.until("the lift is held", holds);
    rig.until_line(&controller, "hina: prepare stopped: a STOP goal");

    rig.run(&["prepare", "--timeout", "3"]).fails(1, "hina: prepare stopped: no outcome within 3 s");
    rig.until("the lift is held again", holds);

    rig.observe(Duration::from_millis(2200));
    rig.run(&["prepare", "--timeout", "2", "--keep-going"])
        .fails(1, "hina: prepare goes on: no outcome within 2 s");
    assert!(lowers(&rig.seen), "it was asked to go on");

    rig.run(&["goal", "hina", "DOWN", "--timeout", "1.5"]).fails(1, "the goal is cancelled");
    rig.until("the lift is held once more", holds);

    let lift = rig.start(&["actuate", "lift", "down", "--timeout", "30"]);
    rig.until("the lift is told to go down", lowers);
    lift.signal("INT");
    rig.finish(lift).fails(130, "interrupted: held");
    rig.until("the lift is held at the end", holds);

    rig.run(&["actuate", "lift", "down", "--timeout", "2"]).fails(1, "not arrived within 2 s: held");
    rig.until("the lift is held when the time is over", holds);
    rig.run(&["actuate", "lift", "down", "--timeout", "2", "--keep-going"])
        .fails(1, "not arrived within 2 s: it goes on");
    assert!(lowers(&rig.seen), "it was asked to go on");
}

#[test]
fn a_dead_sensor_lifts_nothing_by_hand_nor_after_a_restart() {
    let (mut rig, _dummy) = Rig::with_dummy::<Document>(&["--fault", "dead-sensor:2"]);
    let first = rig.controller(&["--ros-args", "-p", "daiza.cylinder_timeout:=1.0"]);
    rig.run(&["deploy", "daiza"]).fails(1, "cylinder 2 out");
    let watched = rig.run(&["watch", "--once"]).ok();
    assert!(watched.contains("not believed until seen to move: cylinder 2"), "{watched}");
    rig.run(&["actuate", "cylinder", "2", "in"]).ok();
    rig.run(&["actuate", "cylinder", "1", "in"]).ok();
    rig.run(&["actuate", "cylinder", "4", "in"]).fails(1, "the sensor of cylinder 2 did not follow it");
    drop(first);

    // Nobody knows any more what was caught: nothing is lifted on what was not seen to move since.
    let _second = rig.controller(&[]);
    let unseen = "the sensors of cylinders 1 and 2 have not been seen to move since the controller began";
    rig.run(&["stow", "daiza"]).fails(1, unseen);
    rig.run(&["actuate", "cylinder", "4", "in"]).fails(1, unseen);
    rig.run(&["goal", "daiza", "CONTRACT"]).fails(1, unseen);
    assert!(rig.seen.pedestal.iter().all(|outputs| outputs.cylinders[3]), "the arm stays down");
    rig.hand(&["repair"]).ok();
    rig.run(&["goal", "daiza", "UNCLAMP"]).ok();
    rig.run(&["stow", "daiza"]).ok();
}

#[test]
fn one_actuator_moves_by_the_controllers_parameters() {
    let (mut rig, _dummy) = Rig::with_dummy::<Document>(&[]);
    let _controller =
        rig.controller(&["--ros-args", "-p", "hina.lift_hold:=0.3", "-p", "hina.travel_max:=100.0"]);
    rig.run(&["actuate", "tilt", "110"]).ok();
    assert_eq!(rig.seen.positions().last(), Some(&vec![0.3, 110.0]), "its value for a lift at rest");
    rig.run(&["actuate", "lift", "down"]).fails(1, "the tilt must stay within 0° … 100°");
}

#[test]
fn single_keys_preempt_and_stop_and_a_lost_terminal_stops() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&["--fault", "stuck-lift"], &[]);
    let (mut shell, mut typed) = rig.terminal();
    let mut key = |key: &str| typed.write_all(key.as_bytes()).expect("the terminal takes it");
    key("$CONTROLLER keys; echo le\"\"ft\n");
    shell.wait_for_line("Space or Esc: STOP", rig::PATIENCE);
    // No Enter: a key acts by itself.
    key("p");
    shell.wait_for_line("hina: prepare 2/2", rig::PATIENCE);
    key("d");
    shell.wait_for_line("hina: prepare pre-empted: place was asked for", rig::PATIENCE);
    key("p");
    rig.until("the lift is told to go down", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.0));
    key(" ");
    shell.wait_for_line("hina: stopped", rig::PATIENCE);
    rig.until("the lift is held", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.5));
    key("f");
    shell.wait_for_line("hina: stow", rig::PATIENCE);
    key("\x1b[A");
    let stops = |line: &str| line.contains("hina: stopped").then_some(());
    rig.until("an arrow is an escape, and stops", |_| shell.filter_map(stops).len() >= 2);
    key("x");
    shell.wait_for_line("left", rig::PATIENCE);

    // The terminal goes while something runs.
    rig.observe(Duration::from_millis(2200));
    key("$CONTROLLER keys\n");
    let helps = |line: &str| line.contains("Space or Esc: STOP").then_some(());
    rig.until("it runs again", |_| shell.filter_map(helps).len() >= 2);
    key("p");
    rig.until("the lift goes down", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.0));
    shell.signal("KILL");
    rig.until("the lift is held", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.5));
    let stopped = |line: &str| line.contains("prepare stopped: a STOP goal").then_some(());
    rig.until("the controller says so", |_| controller.filter_map(stopped).len() >= 2);
    let _ = shell.try_wait();
}

/// The kernel and the shell both tell of a terminal that is gone; the second word must not end the process before its STOP is out.
#[test]
fn a_hang_up_that_comes_twice_stops_what_runs() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&["--fault", "stuck-lift"], &[]);
    let (keys, mut typed) = rig.start_with_stdin(&["keys"]);
    keys.wait_for_line("Space or Esc: STOP", rig::PATIENCE);
    typed.write_all(b"p").expect("the command reads");
    rig.until("the lift goes down", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.0));
    for signal in ["STOP", "HUP", "TERM", "CONT"] {
        keys.signal(signal);
    }
    rig.until("the lift is held", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.5));
    rig.until_line(&controller, "prepare stopped: a STOP goal");
    assert!(!rig.finish(keys).status.success());
}

#[test]
fn a_lift_that_cannot_be_stopped_is_not_called_stopped() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Nucleo>(
        &["--profile", "nucleo", "--lift-time", "20"],
        &["--profile", "nucleo", "--ros-args", "-p", "hina.goal_timeout:=60.0"],
    );
    rig.run(&["goal", "hina", "POS_CARRY"]).ok();
    let down = rig.start(&["goal", "hina", "DOWN"]);
    rig.until("DOWN runs", |seen| seen.doll.last().is_some_and(|a| a.expand == [false]));
    rig.until_status("the lift has left its end", |s| s["sensed"]["hina"]["up"] == false);
    let goes_on = "the lift goes on down to its lower switch: this hardware cannot stop it half-way";
    rig.run(&["stop"]).fails(1, &format!("hina: the sequence is stopped; {goes_on}"));
    rig.finish(down).fails(1, goes_on);
    rig.run(&["goal", "hina", "STOP"]).fails(1, &format!("ERR_CANNOT_PROCESS ({goes_on})"));
    assert_eq!(rig.status()["hina"]["goes_on"], goes_on);
}

#[test]
fn a_forgotten_stand_in_beside_real_hardware_is_not_listened_to_and_two_of_a_kind_are_refused_by_name() {
    let mut rig = Rig::new::<Document>();
    let controller = rig.controller(&[]);
    let dummy = rig.dummy(&[]);
    rig.until_status("the stand-in is sensed", |s| s["sensed"]["daiza"]["pedestal"] == false);
    let agent = rig.node.context().node("nucleo_agent").expect("a node");
    let pedestal = agent.publisher::<SensorStates>("daiza_state").expect("publisher");
    let doll = agent.publisher::<SensorStates>("hina_state").expect("publisher");
    let stream = rig.events.timer(Duration::from_millis(50), move |_| {
        let sample = SensorStates { limit_switch_states: vec![true], ..pedestal_at_rest() };
        pedestal.publish(&sample);
        doll.publish(&doll_at_rest());
    });
    rig.until_line(&controller, "the sensors come from another publisher now: /nucleo_agent");
    let ignored =
        "/dummy_mechanism is a stand-in, and real hardware was seen: /nucleo_agent; stop the stand-in";
    rig.until_line(&controller, ignored);
    rig.until_status("the hardware's sensors are the ones that count", |s| {
        s["sensed"]["daiza"]["pedestal"] == true && s["daiza"]["sensors_valid"] == true
    });

    // A stand-in by another name says so by its parameter.
    drop(dummy);
    let renamed = rig.dummy(&["--ros-args", "-r", "__node:=agent2"]);
    rig.until_line(&controller, "/agent2 is a stand-in, and real hardware was seen");
    drop(renamed);

    let other = rig.node.context().node("second_agent").expect("a node");
    let second = other.publisher::<SensorStates>("daiza_state").expect("publisher");
    let rival = rig.events.timer(Duration::from_millis(50), move |_| {
        second.publish(&pedestal_at_rest());
    });
    let refused = "two publish it: /nucleo_agent and /second_agent; stop one of them";
    rig.until_line(&controller, refused);
    rig.run(&["deploy", "daiza"]).fails(1, refused);
    assert!(rig.seen.pedestal.is_empty(), "nothing moves");
    assert_eq!(rig.status()["daiza"]["refused_sample"], refused);
    rival.cancel();
    rig.until_status("one is left", |s| s["daiza"]["sensors_valid"] == true);
    stream.cancel();
}

#[test]
fn nothing_is_begun_while_another_node_publishes_the_outputs() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&[], &[]);
    rig.run(&["deploy", "daiza"]).ok();
    let before = rig.seen.pedestal.len();
    let second = {
        let node = rig.node.context().node("second_controller").expect("a node");
        node.publisher::<rosless_wire::mecha_control::msg::ActuatorCommands>("daiza_clamp")
            .expect("publisher")
    };
    rig.until_line(
        &controller,
        "daiza: nothing is begun: daiza_clamp is also published by /second_controller",
    );
    rig.run(&["stow", "daiza"])
        .fails(1, "daiza: stow refused: daiza_clamp is also published by /second_controller");
    assert_eq!(rig.seen.pedestal.len(), before);
    drop(second);
    rig.until_line(&controller, "daiza: nobody else publishes daiza_clamp any more");
    rig.run(&["stow", "daiza"]).ok();
}

#[test]
fn sensors_published_best_effort_are_heard() {
    let mut rig = Rig::new::<Document>();
    let _controller = rig.controller(&[]);
    let pedestal = rig.node.publisher::<SensorStates>("daiza_state".sensor_data()).expect("publisher");
    rig.events.timer(Duration::from_millis(50), move |_| {
        pedestal.publish(&pedestal_at_rest());
    });
    rig.until_status("they are", |s| s["daiza"]["sensors_valid"] == true);
}

#[test]
fn a_refused_samples_cause_is_where_people_look() {
    let mut rig = Rig::new::<Document>();
    let controller = rig.controller(&[]);
    let doll = rig.node.publisher::<SensorStates>("hina_state").expect("publisher");
    let short = SensorStates { limit_switch_states: vec![true, false], ..doll_at_rest() };
    rig.events.timer(Duration::from_millis(50), move |_| {
        doll.publish(&short);
    });
    let cause = "limit_switch_states has 2 elements, 5 are needed";
    rig.until_line(&controller, cause);
    rig.events
        .subscribe::<DiagnosticArray>(&rig.node, "/diagnostics", |seen, sample| {
            seen.notes.extend(sample.message.status.into_iter().map(|status| status.message));
        })
        .expect("subscription");
    rig.until("/diagnostics says it", |seen| seen.notes.iter().any(|note| note.contains(cause)));
    rig.until_status("watch says it", |s| s["hina"]["refused_sample"] == cause);
    assert!(rig.run(&["watch", "--once"]).ok().contains(cause));
    rig.run(&["prepare", "hina"]).fails(1, cause);
}

#[test]
fn a_tuned_phase_is_run_again_and_again_on_request() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Document>(&[], &[]);
    rig.run(&["deploy", "hina"]).ok();
    rig.set_parameters("sequence_controller", &[("hina.deploy_angle".to_owned(), (-20.0).into())]);
    let tuned = rig.run(&["deploy", "hina"]).ok();
    assert!(tuned.contains("hina: deploy done in"), "{tuned}");
    assert_eq!(rig.seen.positions(), [[0.5, -10.0], [0.5, -20.0]]);
    assert!(rig.run(&["deploy", "hina"]).ok().contains("already there; --again runs it again"));
    let again = rig.run(&["deploy", "hina", "--again"]).ok();
    assert!(again.contains("hina: deploy done in"), "{again}");
}

#[test]
fn a_robot_in_a_namespace_is_hinted_at_and_found() {
    let (mut rig, _dummy) = Rig::with_dummy::<Document>(&["--namespace", "r1"]);
    let controller = rig.start(&["run", "--namespace", "/r1"]);
    rig.until_line(&controller, "ready: profile");
    rig.run(&["deploy", "--find", "2"])
        .fails(3, "in namespace / within 2 s; start one with `mechanism-controller run`; there is one elsewhere: --namespace /r1");
    rig.run(&["deploy", "daiza", "--namespace", "/r1"]).ok();
    rig.hand(&["press", "pedestal"]).fails(3, "there is one elsewhere: --namespace /r1");
    rig.hand(&["press", "pedestal", "--namespace", "/r1"]).ok();
    rig.run(&["stop", "--namespace", "r1"]).ok();
    rig.run(&["stop", "--namespace", "r-1"]).fails(2, "remapping rule");
}

#[test]
fn potentiometer_and_scene_of_the_stand_in_are_switched_while_it_runs() {
    let (mut rig, dummy, _controller) = Rig::whole::<Document>(&[], &[]);
    rig.hand(&["pot", "-45.5"]).ok();
    rig.until_status("the potentiometer is held", |s| s["sensed"]["hina"]["tilt"] == -45.5);
    rig.hand(&["pot", "auto"]).ok();
    rig.until_status("it follows the tray", |s| s["sensed"]["hina"]["tilt"] == 180.0);
    rig.hand(&["pot", "400"]).fails(2, "auto, or must be a number from -360 to 360");
    let values = [("potentiometer".to_owned(), 12.into()), ("potentiometer".to_owned(), "north".into())];
    let results = rig.set_parameters("dummy_mechanism", &values);
    assert_eq!([results[0].successful, results[1].successful], [true, false], "{results:?}");
    rig.hand(&["pot", "auto"]).ok();

    rig.run(&["deploy", "daiza"]).ok();
    rig.run(&["collect", "daiza"]).fails(1, "needs the pedestal switch");
    rig.hand(&["scene", "on"]).ok();
    dummy.wait_for_line("automatic scene", rig::PATIENCE);
    rig.until_status("the robot drives to the pedestal", |s| s["sensed"]["daiza"]["pedestal"] == true);
    rig.hand(&["scene", "off"]).ok();
    rig.until_status("it is as it was", |s| s["sensed"]["daiza"]["pedestal"] == false);
}

#[test]
fn every_failure_of_a_person_leaves_a_line() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&[], &[]);
    rig.until_status("the mechanism is sensed", |s| s["daiza"]["sensors_valid"] == true);
    for _ in 0..3 {
        rig.mecha_state.publish(&MechaState { daiza_state: 2, hina_state: 255, bonbori_state: false });
        rig.observe(Duration::from_millis(700));
    }
    let refused = |line: &str| line.contains("collect refused").then_some(());
    rig.until("three lines", |_| controller.filter_map(refused).len() == 3);
}

#[test]
fn words_of_the_earlier_firmware_work_or_say_why_not() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&[], &[]);
    let words = rig.node.publisher::<Text>("direct_mecha_command").expect("publisher");
    let matched = words.clone();
    rig.until("the controller listens", move |_| matched.matched() > 0);
    rig.until_status("the mechanism is sensed", |s| s["hina"]["sensors_valid"] == true);
    words.publish(&Text { data: "bonbori\n".to_owned() });
    words.publish(&Text { data: "bonboriOff".to_owned() });
    rig.until("the lantern has followed", |seen| seen.lantern == [true, false]);
    words.publish(&Text { data: "push".to_owned() });
    rig.until_line(&controller, "push moves servos that the profile \"document\" does not have");
    words.publish(&Text { data: "contractArm".to_owned() });
    rig.until("the tray is upright", |seen| seen.positions().last() == Some(&vec![0.5, 90.0]));
}

#[test]
fn out_of_range_values_are_refused_with_value_and_range() {
    let mut rig = Rig::new::<Document>();
    let _controller = rig.controller(&[]);
    let results = rig.set_parameters("sequence_controller", &[("hina.tolerance".to_owned(), 900.0.into())]);
    let reason = &results[0].reason;
    assert!(reason.contains("900") && reason.contains("0.1") && reason.contains("30"), "{reason}");
}
