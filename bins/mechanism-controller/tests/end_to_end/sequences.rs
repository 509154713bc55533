//! What the commands do, by themselves and beside others.

use std::{io::Write, time::Duration};

use crate::rig::{self, Rig};
use rosless_graph::action::{GoalState, GoalUpdate};
use rosless_mechanism::messages::{Document, Nucleo};
use rosless_tests::{Vendor, eventually};
use rosless_wire::mecha_control::{
    action::{HinaCmd, HinaCmdGoal, HinaCmdResult},
    msg::{MechaState, SensorStates},
};

const LEAVE_ALONE: u8 = 255;

fn waiting_for<'a>(status: &'a serde_json::Value, mechanism: &str) -> &'a str {
    status[mechanism]["waiting_for"].as_str().unwrap_or_default()
}

fn deployed_on_the_pedestal(status: &serde_json::Value) -> bool {
    status["sensed"]["daiza"] == serde_json::json!({"pedestal": true, "cylinders": [true, true, true, true]})
}

#[test]
fn full_cycle_of_both_mechanisms_in_the_automatic_scene() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&["--auto"], &[]);
    rig.run(&["prepare"]).ok();
    assert_eq!(rig.seen.positions(), [[0.5, 90.0], [0.0, 90.0], [0.5, 90.0]], "held when the switch is hit");
    assert!(rig.seen.cylinders().is_empty(), "prepare is the doll's alone");

    rig.run(&["deploy"]).ok();
    assert_eq!(rig.seen.cylinders(), ["0001", "1111"]);
    assert_eq!(rig.seen.positions().last(), Some(&vec![0.5, -10.0]));

    rig.until_status("the robot stands at the pedestal", deployed_on_the_pedestal);
    rig.run(&["collect"]).ok();
    assert_eq!(rig.seen.cylinders()[2..], ["1101", "0001", "0000"]);
    assert_eq!(rig.seen.positions().last(), Some(&vec![0.5, 90.0]));

    assert!(rig.seen.lantern.is_empty());
    rig.run(&["place"]).ok();
    assert_eq!(rig.seen.cylinders()[5..], ["0001", "1111"]);
    assert_eq!(rig.seen.lantern, [true], "place ends with the lantern");

    rig.run(&["stow"]).ok();
    assert_eq!(rig.seen.cylinders().last().map(String::as_str), Some("0010"));
    let again = rig.run(&["stow", "daiza"]).ok();
    assert!(again.contains("daiza: stow: already there"), "{again}");
    assert!(!controller.output().contains("[ERROR]"), "{}", controller.output());
}

#[test]
fn collect_without_the_pedestal_switch_moves_nothing_and_says_why() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Document>(&[], &[]);
    rig.run(&["deploy", "daiza"]).ok();
    let before = rig.seen.pedestal.len();
    rig.run(&["collect", "daiza"])
        .fails(1, "daiza: collect refused: needs the pedestal switch to be pressed");
    assert_eq!(rig.seen.pedestal.len(), before, "no output");

    rig.hand(&["press", "pedestal"]).ok();
    rig.until_status("the controller sees the switch", deployed_on_the_pedestal);
    rig.run(&["collect", "daiza"]).ok();
    assert_eq!(rig.seen.cylinders()[2..], ["1101", "0001", "0000"]);
}

#[test]
fn walls_are_waited_for_one_by_one_and_a_clamp_that_is_not_confirmed_is_not_lifted() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Document>(&[], &[]);
    rig.run(&["prepare"]).ok();
    rig.run(&["deploy"]).ok();
    let before = rig.seen.positions().len();
    let collect = rig.start(&["collect", "hina"]);
    rig.until_status("both walls are waited for", |s| waiting_for(s, "hina") == "wall switches 1 and 2");
    rig.hand(&["press", "wall1"]).ok();
    rig.until_status("wall 2 is waited for", |s| waiting_for(s, "hina") == "wall switch 2");
    assert_eq!(rig.seen.positions().len(), before, "nothing moves before both are pressed");
    rig.hand(&["press", "wall2"]).ok();
    rig.finish(collect).ok();
    assert_eq!(rig.seen.positions()[before..], [[0.5, 90.0], [1.0, 90.0], [0.5, 90.0]]);

    rig.hand(&["press", "pedestal"]).ok();
    rig.hand(&["fault", "dead-sensor:2"]).ok();
    rig.until_status("the controller sees the switch", deployed_on_the_pedestal);
    rig.run(&["collect", "daiza"]).fails(1, "waited 3.0 s for cylinder 2 in");
    assert_eq!(rig.seen.cylinders().last().map(String::as_str), Some("0001"), "clamped, but not lifted");
}

#[test]
fn sensors_lost_in_mid_sequence_stop_it_and_it_recovers_when_they_return() {
    let (mut rig, dummy, _controller) = Rig::whole::<Document>(&["--fault", "stuck-lift"], &[]);
    let prepare = rig.start(&["prepare"]);
    rig.until("the lift is told to go down", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.0));
    dummy.signal("STOP");
    rig.finish(prepare).fails(1, "hina: prepare sensors lost: no valid sensor data on hina_state for 0.5 s");
    assert_eq!(rig.seen.doll.last().map(|a| a.positions[0]), Some(0.5), "the lift is told to stand still");

    dummy.signal("CONT");
    rig.hand(&["repair"]).ok();
    rig.run(&["prepare"]).ok();
}

#[test]
fn a_killed_controller_comes_up_safe_and_goes_on_when_asked() {
    let (mut rig, _dummy) = Rig::with_dummy::<Document>(&["--fault", "slow-cylinder:4=5"]);
    let first = rig.controller(&[]);
    let deploy = rig.start(&["deploy", "daiza", "--timeout", "1"]);
    rig.until("the arm is on its way", |seen| !seen.pedestal.is_empty());
    first.signal("KILL");
    drop(first);
    rig.finish(deploy).fails(1, "no outcome in time");

    let commands = rig.seen.pedestal.len();
    let _second = rig.controller(&[]);
    rig.observe(Duration::from_millis(1500));
    assert_eq!(rig.seen.pedestal.len(), commands, "nothing is sent before the first command");
    rig.run(&["deploy", "daiza"]).ok();
    assert_eq!(rig.seen.cylinders(), ["0001", "1111"], "the arm never turns back");
}

#[test]
fn a_mechanism_that_was_restarted_is_deployed_again_and_never_opened_while_the_arm_is_up() {
    let mut rig = Rig::new::<Document>();
    let first = rig.dummy(&[]);
    let controller = rig.controller(&[]);
    rig.run(&["deploy"]).ok();
    let before = rig.seen.pedestal.len();
    first.signal("KILL");
    drop(first);
    let _second = rig.dummy(&[]);
    for mechanism in ["daiza", "hina"] {
        let doubts = |line: &str| {
            let doubts = line.contains("is not relied on any more") && line.contains(mechanism);
            doubts.then_some(())
        };
        eventually("the controller notices", rig::PATIENCE, || !controller.filter_map(doubts).is_empty());
    }
    rig.run(&["place", "daiza"]).ok();
    rig.seen.pedestal.drain(..before);
    assert_eq!(rig.seen.cylinders(), ["0001", "1111"]);
    let deployed = rig.run(&["deploy"]).ok();
    assert!(deployed.contains("hina: deploy done in"), "not there any more: {deployed}");
    rig.run(&["stow", "daiza"]).ok();
}

#[test]
fn a_command_whose_controller_is_restarted_says_so_and_does_not_ask_again() {
    let (mut rig, _dummy) = Rig::with_dummy::<Document>(&["--fault", "stuck-cylinder:4"]);
    let first = rig.controller(&[]);
    let deploy = rig.start(&["deploy", "daiza"]);
    rig.until("the arm is told to go down", |seen| !seen.pedestal.is_empty());
    first.signal("KILL");
    drop(first);
    let second = rig.controller(&[]);
    rig.finish(deploy).fails(1, "daiza: deploy no outcome: the controller was restarted");
    assert!(!second.output().contains("deploy begins"), "{}", second.output());

    let (keys, mut typed) = rig.start_with_stdin(&["keys"]);
    keys.wait_for_line("Space or Esc: STOP", rig::PATIENCE);
    let told = rig.seen.pedestal.len();
    typed.write_all(b"q").expect("the command reads");
    rig.until("the arm is told to go down", |seen| seen.pedestal.len() > told);
    second.signal("KILL");
    drop(second);
    let second = rig.controller(&[]);
    rig.until_line(&keys, "daiza: deploy no outcome: the controller was restarted");
    drop((keys, typed));

    let third = rig.controller(&[]);
    let refused =
        "daiza: nothing is begun: daiza_clamp is also published by /sequence_controller; stop one of them";
    third.wait_for_line(refused, rig::PATIENCE);
    second.wait_for_line(refused, rig::PATIENCE);
    rig.run(&["stow", "daiza"]).fails(1, "");
    drop(second);
    third.wait_for_line("daiza: nobody else publishes daiza_clamp any more", rig::PATIENCE);
}

#[test]
fn a_preempted_command_ends_with_what_took_its_place() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Document>(&["--fault", "slow-cylinder:4=10"], &[]);
    let deploy = rig.start(&["deploy", "daiza"]);
    deploy.wait_for_line("daiza: deploy 1/2", rig::PATIENCE);
    rig.run(&["collect", "daiza"]).fails(1, "daiza: collect refused: needs the pedestal switch");
    rig.finish(deploy).fails(1, "daiza: deploy pre-empted: collect was asked for");
}

#[test]
fn a_goal_ends_with_the_command_that_sent_it() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&["--fault", "stuck-lift"], &[]);
    rig.run(&["goal", "hina", "POS_CARRY"]).ok();
    let down = rig.start(&["goal", "hina", "DOWN"]);
    rig.until("DOWN runs", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.0));
    down.signal("INT");
    rig.finish(down).fails(130, "canceled: ABORTED");
    controller.wait_for_line("hina: DOWN canceled", rig::PATIENCE);
    rig.until("the lift is held", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.5));
}

#[test]
fn events_are_always_logged_and_a_failing_stream_only_now_and_then() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&[], &[]);
    for light in ["on", "off", "on", "off"] {
        rig.run(&["bonbori", light]).ok();
    }
    rig.until_status("the mechanism is sensed", |s| s["sensed"]["daiza"]["pedestal"] == false);
    let state = MechaState { daiza_state: 2, hina_state: LEAVE_ALONE, bonbori_state: false };
    for _ in 0..10 {
        rig.mecha_state.publish(&state);
        rig.observe(Duration::from_millis(50));
    }
    let count = |text: &str| controller.filter_map(|line| line.contains(text).then_some(())).len();
    rig.until("all messages have been seen", |_| count("collect 1/4") == 10);
    assert_eq!((count("bonbori: on"), count("bonbori: off")), (2, 2));
    assert_eq!((count("collect begins"), count("collect refused")), (1, 1), "{}", controller.output());
}

#[test]
fn other_actuators_keep_what_they_were_told() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Document>(
        &["--fault", "slow-cylinder:1=20"],
        &["--ros-args", "-p", "daiza.cylinder_timeout:=30.0"],
    );
    let deploy = rig.start(&["deploy", "daiza"]);
    deploy.wait_for_line("daiza: deploy 2/2", rig::PATIENCE);
    rig.run(&["actuate", "cylinder", "3", "in"]).fails(1, "the controller runs deploy on daiza");
    rig.finish(deploy).ok();
    // Cylinder 1 is under way, and sensed at its old place, when the next ones are moved.
    rig.run(&["actuate", "cylinder", "1", "in", "--timeout", "0.1"]).fails(1, "not arrived within 0.1 s");
    rig.run(&["actuate", "cylinder", "2", "in"]).ok();
    assert_eq!(rig.seen.cylinders()[2..], ["0111", "0011"]);
    rig.run(&["actuate", "cylinder", "4", "in"]).fails(1, "interlock: the clamp must be confirmed");

    rig.run(&["goal", "hina", "POS_CARRY"]).ok();
    rig.run(&["actuate", "lift", "down"]).ok();
    assert_eq!(rig.seen.positions().last(), Some(&vec![0.5, 97.5]), "held at its end");
}

#[test]
fn an_actuator_can_be_moved_without_a_controller() {
    let (mut rig, _dummy) = Rig::with_dummy::<Document>(&[]);
    rig.run(&["actuate", "cylinder", "4", "out"]).ok();
    rig.run(&["actuate", "cylinder", "1", "out"]).ok();
    rig.run(&["actuate", "tilt", "90"]).ok();
    assert_eq!(rig.seen.cylinders(), ["0001", "1001"]);
    assert_eq!(rig.seen.positions(), [[0.5, 90.0]]);
}

#[test]
fn a_watch_tells_when_the_controller_goes_and_ends_with_its_reader() {
    let mut rig = Rig::new::<Document>();
    let controller = rig.controller(&[]);
    let (mut shell, mut typed) = rig.terminal();
    // One line is read, and nothing changes after it.
    typed.write_all(b"$CONTROLLER watch | head -1; echo en\"\"ded; exit\n").expect("the shell reads");
    shell.wait_for_line("ended", rig::PATIENCE);
    shell.wait(rig::PATIENCE);

    let watch = rig.start(&["watch"]);
    watch.wait_for_line("bonbori  off", rig::PATIENCE);
    controller.signal("KILL");
    drop(controller);
    watch.wait_for_line("controller gone", rig::PATIENCE);
    let _again = rig.controller(&[]);
    let shows = |line: &str| line.contains("bonbori  off").then_some(());
    rig.until("it is back", |_| watch.filter_map(shows).len() >= 2);
}

#[test]
fn the_stand_in_runs_in_the_background_and_takes_keys_in_the_foreground() {
    let mut rig = Rig::new::<Document>();
    let (mut shell, mut typed) = rig.terminal();
    let mut enter = |line: &str| typed.write_all(line.as_bytes()).expect("the shell reads");
    enter("$DUMMY run &\n");
    shell.wait_for_line("simulating the mechanism", rig::PATIENCE);
    enter("echo one; jobs\n");
    shell.wait_for_line("Running", rig::PATIENCE);
    rig.hand(&["press", "wall1"]).ok();
    enter("echo two; jobs | sed s/Running/at_work/\n");
    shell.wait_for_line("at_work", rig::PATIENCE);
    assert!(!shell.output().contains("Stopped"), "{}", shell.output());
    enter("fg\n");
    // Until the shell has handed over the terminal, keys are the shell's: '?' would be no command there.
    eventually("the stand-in takes a key", rig::PATIENCE, || {
        enter("?\n");
        shell.output().contains("pressed: up, wall1, stowed")
    });
    for (keys, line) in [
        ("p\n", "pedestal: pressed"),
        ("-\n", "potentiometer: 170.0°"),
        ("--\n", "potentiometer: 150.0°"),
        ("+\n", "potentiometer: 160.0°"),
        ("g\n", "scene: on"),
        ("g\n", "scene: off"),
        ("a\n", "potentiometer: auto"),
    ] {
        enter(keys);
        shell.wait_for_line(line, rig::PATIENCE);
    }
    enter("\x03");
    // What is typed before the stand-in has ended is still its.
    eventually("the shell has ended", rig::PATIENCE, || {
        let _ = typed.write_all(b"exit\n");
        shell.try_wait().is_some()
    });
}

#[test]
fn faults_add_up_until_they_are_repaired() {
    let mut rig = Rig::new::<Document>();
    let dummy = rig.dummy(&["--fault", "stuck-tilt"]);
    rig.hand(&["fault", "stuck-lift"]).ok();
    rig.hand(&["fault", "dead-sensor:2"]).ok();
    rig.hand(&["fault", "stuck-lift"]).ok();
    dummy.wait_for_line("faults: stuck-tilt, stuck-lift, dead-sensor:2", rig::PATIENCE);
    rig.hand(&["repair"]).ok();
    dummy.wait_for_line("faults: none", rig::PATIENCE);
}

#[test]
fn two_clients_that_fight_end_with_the_latest_new_wish() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&[], &[]);
    // A clamp whose sensors were seen to move may be lifted.
    rig.run(&["goal", "daiza", "UNCLAMP"]).ok();
    rig.run(&["goal", "daiza", "CLAMP"]).ok();
    rig.seen.pedestal.clear();
    // The first client repeats its wish ten times per second.
    let publisher = rig.mecha_state.clone();
    let stream = rig.events.timer(Duration::from_millis(100), move |_| {
        publisher.publish(&MechaState { daiza_state: 1, hina_state: LEAVE_ALONE, bonbori_state: false });
    });
    rig.until("deploy has begun", |seen| !seen.pedestal.is_empty());
    // The second one sends a goal.
    let goal = rig.run(&["goal", "daiza", "READY"]).ok();
    assert!(goal.contains("succeeded: OK"), "{goal}");
    rig.observe(Duration::from_secs(1));
    stream.cancel();
    assert_eq!(
        rig.seen.cylinders().last().map(String::as_str),
        Some("0000"),
        "the stream does not win it back"
    );
    let begins = controller.filter_map(|line| line.contains("deploy begins").then_some(()));
    assert_eq!(begins.len(), 1);
}

#[test]
fn nonsense_is_refused_with_a_reason_and_changes_nothing() {
    let mut rig = Rig::new::<Document>();
    let controller = rig.controller(&[]);
    let pedestal = rig.node.publisher::<SensorStates>("daiza_state").expect("publisher");
    let doll = rig.node.publisher::<SensorStates>("hina_state").expect("publisher");
    let (p, d) = (pedestal.clone(), doll.clone());
    rig.until("the sensors are matched", move |_| p.matched() > 0 && d.matched() > 0);
    pedestal.publish(&SensorStates {
        cylinder_states: vec![true; 3],
        limit_switch_states: vec![true],
        ..Default::default()
    });
    doll.publish(&SensorStates {
        potentiometer_angles: vec![f64::NAN],
        limit_switch_states: vec![true; 5],
        ..Default::default()
    });
    rig.mecha_state.publish(&MechaState { daiza_state: 77, hina_state: 9, bonbori_state: false });
    for reason in [
        "daiza: sample on daiza_state refused: cylinder_states has 3 elements, 4 are needed",
        "hina: sample on hina_state refused: potentiometer_angles has the unusable value NaN",
        "daiza: there is no phase 77",
        "hina: there is no phase 9",
    ] {
        controller.wait_for_line(reason, rig::PATIENCE);
    }
    // Bad samples are no samples: nothing moves, and the goal times out.
    let begin = std::time::Instant::now();
    rig.run(&["goal", "hina", "POS_CARRY"])
        .fails(1, "ERR_TIMEOUT (no valid sensor data on hina_state was ever seen: the last sample was refused: potentiometer_angles has the unusable value NaN)");
    assert!(begin.elapsed() >= Duration::from_secs(5), "a hina goal has five seconds");
    rig.run(&["goal", "daiza", "42"]).fails(1, "ERR_UNEXPECTED_ARG (there is no command 42)");
    rig.run(&["goal", "hina", "LATCH_UNLOCK"]).fails(
        1,
        "ERR_CANNOT_PROCESS (LATCH_UNLOCK moves hardware that the profile \"document\" does not have)",
    );
    assert!(rig.seen.pedestal.is_empty() && rig.seen.doll.is_empty());
}

#[test]
fn goals_are_cancelled_stopped_and_preempted_honestly() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Document>(&["--fault", "stuck-lift"], &[]);
    rig.run(&["goal", "hina", "POS_CARRY"]).ok();

    // A lift that never arrives gives time for everything else.
    let down = rig.start(&["goal", "hina", "DOWN"]);
    rig.until("DOWN runs", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.0));
    let up = rig.run(&["goal", "hina", "UP"]).ok();
    assert!(up.contains("feedback: PREV_ACTION_ABORTED"), "{up}");
    rig.finish(down).fails(1, "aborted: ABORTED (UP was asked for)");

    let down = rig.start(&["goal", "hina", "DOWN"]);
    rig.until("DOWN runs", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.0));
    rig.run(&["stop"]).ok();
    let stopped = rig.finish(down);
    assert!(stopped.output.contains("feedback: STOPPING"), "{}", stopped.output);
    stopped.fails(1, "aborted: ABORTED (a STOP goal)");

    let client = rig.events.action_client::<HinaCmd>(&rig.node, "hina_cmd").expect("client");
    let (patience, goal) = (rig::PATIENCE, HinaCmdGoal { command: HinaCmdGoal::DOWN });
    let id = client.send_goal(goal, patience, patience, |seen, update| match update {
        GoalUpdate::Accepted(_) => seen.notes.push("accepted".to_owned()),
        GoalUpdate::Ended(GoalState::Canceled, HinaCmdResult { result: HinaCmdResult::ABORTED }) => {
            seen.notes.push("canceled".to_owned());
        }
        GoalUpdate::Ended(..) | GoalUpdate::Rejected | GoalUpdate::Failed(_) => {
            seen.notes.push(format!("{update:?}"))
        }
        _ => {}
    });
    rig.until("the goal is accepted", |seen| seen.notes == ["accepted"]);
    client.cancel(id, patience, |_, _| {});
    rig.until("the goal ended", |seen| seen.notes.len() == 2);
    assert_eq!(rig.seen.notes, ["accepted", "canceled"]);

    rig.run(&["goal", "hina", "DOWN"]).fails(1, "ERR_TIMEOUT");
}

#[test]
fn the_action_era_robot_gets_its_own_arrays_polarity_and_radians() {
    let (mut rig, _dummy, _controller) =
        Rig::whole::<Nucleo>(&["--profile", "nucleo"], &["--profile", "nucleo"]);
    let goal = rig.run(&["goal", "daiza", "EXPAND_AND_UNCLAMP"]).ok();
    assert!(goal.contains("feedback: EXPANDED_AT_EXPAND_AND_UNCLAMP"), "{goal}");
    assert_eq!(rig.seen.cylinders(), ["1111", "0001"], "1 is clamped");
    let goal = rig.run(&["goal", "daiza", "CLAMP_AND_CONTRACT"]).ok();
    assert!(goal.contains("feedback: CLAMPED_AT_CLAMP_AND_CONTRACT"), "{goal}");
    assert_eq!(rig.seen.cylinders()[2..], ["0011", "1111", "1110"]);
    assert!(rig.seen.pedestal.iter().all(|a| a.positions.is_empty() && a.expand.is_empty()));

    rig.run(&["goal", "hina", "READY"]).ok();
    let carry = -1.701_696_038_246_154_8;
    assert_eq!(rig.seen.positions(), [[carry, 0.2, 0.0]]);
    let goal = rig.run(&["goal", "hina", "DOWN_AND_TAKE"]).ok();
    assert!(goal.contains("feedback: DOWN_AT_DOWN_AND_TAKE"), "{goal}");
    rig.run(&["goal", "hina", "UP_AND_CARRY"]).ok();
    rig.run(&["goal", "hina", "LATCH_UNLOCK"]).ok();
    let latches: Vec<_> =
        rig.seen.doll.iter().map(|a| a.cylinders.clone()).filter(|c| c != &[false; 2]).collect();
    assert_eq!(latches.first(), Some(&vec![true, true]));
    assert_eq!(rig.seen.doll.last().map(|a| a.cylinders.clone()), Some(vec![false; 2]), "relaxed afterwards");
    assert!(
        rig.seen.doll.iter().all(|a| (a.positions.len(), a.expand.len(), a.cylinders.len()) == (3, 1, 2))
    );

    rig.run(&["prepare"]).fails(1, "use `mechanism-controller goal hina READY`");
    // The controller's profile is the default, and the guide stays where it was sent.
    rig.run(&["actuate", "guide", "in"]).ok();
    rig.run(&["actuate", "tilt", "90"]).ok();
    let guide_in = [-std::f64::consts::FRAC_PI_4, std::f64::consts::FRAC_PI_4];
    assert_eq!(rig.seen.positions().last().map(|p| p[1..].to_vec()), Some(guide_in.to_vec()));
}

#[test]
fn the_lantern_has_a_flag_a_service_and_a_command() {
    let mut rig = Rig::new::<Document>();
    let _controller = rig.controller(&[]);
    rig.run(&["bonbori", "on"]).ok();
    rig.run(&["bonbori", "off"]).ok();
    let state =
        |bonbori_state| MechaState { daiza_state: LEAVE_ALONE, hina_state: LEAVE_ALONE, bonbori_state };
    rig.mecha_state.publish(&state(true));
    rig.mecha_state.publish(&state(true));
    rig.mecha_state.publish(&state(false));
    rig.until("the lantern has followed", |seen| seen.lantern.len() >= 4);
    assert_eq!(rig.seen.lantern, [true, false, true, false]);
}

#[test]
fn a_new_wish_lights_the_lantern_again_and_a_phase_command_does_not() {
    let (mut rig, _dummy, _controller) =
        Rig::whole::<Document>(&[], &["--ros-args", "-p", "command_gap:=0.1"]);
    let wish = MechaState { daiza_state: LEAVE_ALONE, hina_state: LEAVE_ALONE, bonbori_state: true };
    for round in 1..=2 {
        rig.mecha_state.publish(&wish);
        rig.until("it shines", |seen| seen.lantern.len() == 2 * round - 1);
        rig.run(&["bonbori", "off"]).ok();
        // The pause that makes the next wish a new one.
        rig.observe(Duration::from_millis(200));
    }
    assert_eq!(rig.seen.lantern, [true, false, true, false]);
    rig.run(&["deploy", "daiza"]).ok();
    assert_eq!(rig.seen.lantern.last(), Some(&false), "{:?}", rig.seen.lantern);
}

#[test]
fn angles_are_parameters_and_each_actuator_can_be_moved_alone() {
    let (mut rig, _dummy, controller) = Rig::whole::<Document>(&[], &[]);
    let values = [("hina.deploy_angle", -20.0), ("hina.place_angle", f64::NAN)];
    let values = values.map(|(name, value)| (name.to_owned(), value.into()));
    let results = rig.set_parameters("sequence_controller", &values);
    assert_eq!([results[0].successful, results[1].successful], [true, false], "NaN is refused: {results:?}");
    rig.run(&["deploy", "hina"]).ok();
    assert_eq!(rig.seen.positions(), [[0.5, -20.0]]);

    rig.run(&["actuate", "lift", "down"])
        .fails(1, "interlock: while the lift travels the tilt must stay within");
    rig.run(&["actuate", "tilt", "60"]).ok();
    rig.run(&["actuate", "lift", "down"]).ok();
    assert!(rig.run(&["actuate", "cylinder", "3", "out"]).ok().contains("0010"), "the sensors show it");
    // The controller knows what others did: keeping means keeping their outputs.
    rig.run(&["goal", "daiza", "EXPAND"]).ok();
    assert_eq!(rig.seen.cylinders().last().map(String::as_str), Some("0011"));
    assert!(controller.output().contains("EXPAND begins"));
}

#[test]
fn phases_are_typed_and_one_interrupt_is_enough_while_nothing_is_typed() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Document>(&[], &[]);
    let (mut keys, mut typed) = rig.start_with_stdin(&["keys"]);
    typed.write_all(b"qb\n").expect("the command reads");
    rig.until("the pedestal is deployed and the lantern is lit", |seen| {
        seen.cylinders() == ["0001", "1111"] && seen.lantern == [true]
    });
    rig.until("the last key is reported", |_| keys.output().contains("bonbori: on"));
    keys.signal("INT");
    assert_eq!(keys.wait(rig::PATIENCE).code(), Some(130), "{}", keys.output());

    let (mut keys, typed) = rig.start_with_stdin(&["keys"]);
    drop(typed);
    assert!(keys.wait(rig::PATIENCE).success(), "nothing more can be typed: {}", keys.output());
}

/// Bytes as a ROS 2 node with the original message definitions would exchange them.
#[test]
fn other_vendors_command_the_pedestal_with_the_original_bytes() {
    for vendor in Vendor::ALL {
        let mut rig = Rig::new::<Document>();
        let Some(mut peer) = vendor.start(rig.domain.id()) else { continue };
        let _dummy = rig.dummy(&[]);
        let _controller = rig.controller(&[]);
        let qos = "reliable,volatile,10";
        peer.reader("clamp", "rt/daiza_clamp", "mecha_control::msg::dds_::ActuatorCommands_", qos, b"");
        peer.reader("state", "rt/daiza_state", "mecha_control::msg::dds_::SensorStates_", qos, b"");
        peer.writer("phase", "rt/mecha_state", "mecha_control::msg::dds_::MechaState_", qos, b"");
        peer.wait_matched("phase", 1);
        peer.wait_matched("clamp", 1);
        // Phase 1 for the pedestal; the doll is left alone.
        peer.write("phase", b"\x00\x01\x00\x00\x01\xff\x00\x00");
        let deployed = b"\x00\x01\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x01\x01\x01\x01".as_slice();
        eventually("the pedestal is deployed", rig::PATIENCE, || {
            peer.samples("clamp").last().is_some_and(|sample| sample.payload == deployed)
        });
        let sensed =
            b"\x00\x01\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\0\0\0\x04\x00\x00\x00\x01\x01\x01\x01";
        eventually("the stand-in shows it", rig::PATIENCE, || {
            peer.samples("state").last().is_some_and(|sample| sample.payload == sensed)
        });
    }
}

#[test]
fn a_reader_that_has_left_is_no_panic_and_a_full_disk_is_an_error() {
    let sequences = |stdout: std::process::Stdio, json: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mechanism-controller"));
        let output = command.arg("sequences").args(json).stdout(stdout).output().expect("it can be run");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for json in [&[][..], &["--json"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        assert_eq!(sequences(writer.into(), json), (Some(0), String::new()));
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
        let (code, errors) = sequences(full.into(), json);
        assert_eq!(code, Some(1), "{errors}");
        assert!(errors.starts_with("error: cannot write to stdout: "), "{errors}");
    }
}

#[test]
fn commands_say_when_nobody_is_there_or_the_usage_is_wrong() {
    let mut rig = Rig::new::<Document>();
    rig.run(&["deploy", "--find", "0.5"]).fails(3, "start one with `mechanism-controller run`");
    rig.run(&["actuate", "cylinder", "1", "in", "--timeout", "0.5"])
        .fails(3, "no valid sensor data was seen");
    rig.hand(&["press", "nose"]).fails(2, "unknown switch");
    rig.run(&["goal", "daiza", "FLY"]).fails(2, "use a number up to 255 or one of STOP, READY");
    rig.run(&["goal", "daiza", "256"]).fails(2, "use a number up to 255");
    rig.run(&["prepare", "daiza"]).fails(2, "`prepare hina` prepares the doll");
    for (option, value) in [("rate", "0"), ("rate", "1e-300"), ("stroke", "nan"), ("lift-time", "-1")] {
        rig.hand(&["run", &format!("--{option}={value}")]).fails(2, "must be a number from");
    }
    rig.run(&["actuate", "tilt", "NaN"]).fails(2, "must be a number from -45 to 185");
    rig.run(&["run", "--profile", "tea"]).fails(2, "unknown profile");
    rig.run(&["run", "--ros-args", "-p", "hina.tolerance:=900.0"]).fails(2, "hina.tolerance");
    let tables = rig.run(&["sequences"]).ok();
    assert!(tables.contains("CLAMP_AND_CONTRACT"), "{tables}");
}
