//! A UR robot behind the controller: the simulated controller in a process of its own, on the ports of a real one.

use std::{cell::RefCell, rc::Rc};

use rosless_graph::TopicQos as _;
use rosless_kinematics::{Joints, urdf};
use rosless_motion::primitive::code;
use rosless_tests::{SimUr, ur_rtde_reads};
use rosless_wire::std_msgs::msg;

use crate::rig::{PROGRAM, Rig, blended, circ, helper, home, lin, long_ptp, ptp};

/// A controller with such a robot, which takes moves.
fn ready(parameters: &[&str]) -> (Rig, SimUr) {
    let robot = SimUr::start(PROGRAM, &[]);
    let address = format!("address:={}", robot.address);
    let mut all = vec!["hardware:=ur", &address];
    all.extend(parameters);
    let mut rig = Rig::new(&all);
    rig.until("the robot takes moves", |seen| seen.queue.as_ref().is_some_and(|queue| queue.ready));
    (rig, robot)
}

fn near(seen: &crate::rig::Seen, target: &Joints) -> bool {
    seen.position().is_some_and(|joints| (joints - target).amax() < 1e-3)
}

fn faults(rig: &Rig) -> Vec<String> {
    rig.seen.named("fault").map(|event| event["fault"].to_string()).collect()
}

#[test]
fn all_kinds_of_moves_a_blended_sequence_and_the_description() {
    let (mut rig, _robot) = ready(&[]);
    let description = Rc::new(RefCell::new(String::new()));
    let heard = description.clone();
    let on_description = move |_: &mut _, sample: rosless_graph::Sample<msg::String>| {
        heard.replace(sample.message.data);
    };
    rig.events.subscribe(&rig.node, "/robot_description".latched(), on_description).unwrap();
    for raw in [ptp(0.2), lin([0.05, 0.0, 0.0]), circ([0.05, 0.1, 0.0], [0.1, 0.05, 0.0])] {
        let done = rig.seen.count("finished");
        rig.send(&raw);
        rig.until("it is driven", |seen| seen.count("finished") > done && seen.state_is("SUCCESS"));
    }
    rig.send(&helper(code::MOTION_SEQUENCE_START));
    rig.send(&blended(lin([0.1, 0.1, 0.0]), 0.02));
    rig.send(&blended(lin([0.1, 0.0, 0.0]), 0.02));
    rig.send(&ptp(0.0));
    rig.send(&helper(code::MOTION_SEQUENCE_END));
    rig.until("the sequence is driven", |seen| seen.count("finished") == 6 && seen.state_is("SUCCESS"));
    assert_eq!(rig.seen.count("blended"), 2, "{:?}", rig.seen.events);
    rig.until("the joints are told", |seen| near(seen, &home()));
    rig.until("the description is there", |_| !description.borrow().is_empty());
    let ask = urdf::Ask { base: Some("base"), tool: None, acceleration: 1.0, jerk: 1.0 };
    let read = urdf::robot(&description.borrow(), &ask).unwrap();
    assert_eq!(rig.seen.joints.last().unwrap().name, read.joint_names);
    assert_eq!(rig.seen.count("failed") + rig.seen.count("discarded"), 0, "{:?}", rig.seen.events);
}

#[test]
fn commands_and_the_action_work_unchanged() {
    let (rig, _robot) = ready(&[]);
    for (arguments, expected) in [
        (vec!["send", "examples/demo.yaml"], "5 primitives executed"),
        (vec!["send", "--action", "examples/square.yaml"], "executed"),
        (vec!["speed", "50"], "50"),
        (vec!["state"], "SUCCESS"),
    ] {
        let output = rig.cli(&arguments);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
}

#[test]
fn a_stop_in_motion_holds_until_reset() {
    let (mut rig, _robot) = ready(&[]);
    rig.send(&long_ptp());
    rig.until("it moves", |seen| seen.count("started") == 1);
    rig.until("well on its way", |seen| {
        seen.position().is_some_and(|joints| (joints - home()).amax() > 0.05)
    });
    rig.send(&helper(code::STOP_MOTION));
    rig.until("it stands", |seen| seen.state_is("STOPPED"));
    rig.send(&ptp(0.0));
    rig.until("it is refused", |seen| seen.count("refused") == 1);
    rig.send(&helper(code::RESET_STOP));
    rig.until("it takes moves", |seen| seen.queue.as_ref().is_some_and(|queue| queue.ready));
    rig.send(&ptp(0.0));
    rig.until("it is driven", |seen| seen.count("finished") == 1 && near(seen, &home()));
}

#[test]
fn a_protective_stop_and_a_cut_in_motion_drop_what_waits_and_need_a_reset() {
    let (mut rig, mut robot) = ready(&[]);
    for (trouble, kind, text, cure) in [
        ("protective stop", "protective_stop", "collision", "unlock"),
        ("cut", "disconnected", "lost in motion", "remote"),
        ("silence", "disconnected", "lost in motion", "listen"),
    ] {
        let (started, discarded) = (rig.seen.count("started"), rig.seen.count("discarded"));
        rig.send(&long_ptp());
        rig.send(&ptp(0.0));
        rig.until("it moves", |seen| {
            seen.count("started") > started
                && seen.joints.last().is_some_and(|joints| joints.velocity.iter().any(|v| v.abs() > 0.05))
        });
        robot.say(trouble);
        rig.until("the fault is told", |seen| {
            seen.named("fault").any(|event| {
                event["fault"]["kind"] == kind
                    && event["fault"]["text"].as_str().is_some_and(|t| t.contains(text))
            })
        });
        rig.until("ERROR, and nothing waits", |seen| {
            seen.state_is("ERROR") && seen.depth() == 0 && seen.count("discarded") == discarded + 2
        });
        robot.say(cure);
        let refused = rig.seen.count("refused");
        rig.send(&ptp(0.0));
        rig.until("nothing is taken before a reset", |seen| seen.count("refused") > refused);
        rig.send(&helper(code::STOP_MOTION));
        rig.send(&helper(code::RESET_STOP));
        rig.until("it takes moves", |seen| seen.queue.as_ref().is_some_and(|queue| queue.ready));
        let finished = rig.seen.count("finished");
        rig.send(&ptp(0.0));
        rig.until("it goes home", |seen| seen.count("finished") > finished && near(seen, &home()));
    }
}

#[test]
fn garbage_on_each_port_is_survived_and_obstacles_are_named() {
    let mut robot = SimUr::start(PROGRAM, &["--power-off", "--local"]);
    let address = format!("address:={}", robot.address);
    let mut rig = Rig::new(&["hardware:=ur", &address]);
    let named = |text: &'static str| {
        move |seen: &crate::rig::Seen| {
            let told = seen.named("fault").last();
            told.is_some_and(|event| event["fault"]["text"].as_str().is_some_and(|told| told.contains(text)))
        }
    };
    // Whoever listens only now is told, too.
    rig.until("not powered", |seen| {
        let fault = seen.queue.as_ref().and_then(|queue| queue.fault.as_ref());
        fault.is_some_and(|fault| fault.text.contains("not powered"))
    });
    let state = rig.cli(&["state"]);
    assert!(String::from_utf8_lossy(&state.stdout).contains("not powered"), "{state:?}");
    robot.say("power on");
    rig.until("brakes", named("brakes are on"));
    robot.say("brake release");
    rig.until("not in remote control", named("pendant"));
    robot.say("remote");
    rig.until("it takes moves", |seen| seen.queue.as_ref().is_some_and(|queue| queue.ready));
    for port in ["rtde", "dashboard", "script", "program"] {
        let told = faults(&rig).len();
        robot.say(&format!("garbage {port}"));
        // Nobody is on the script port when a program runs.
        if port != "script" {
            rig.until("it is noticed", |seen| seen.count("fault") > told);
        }
        if port == "program" {
            rig.until("the program is gone", named("was stopped"));
            rig.send(&helper(code::STOP_MOTION));
            rig.send(&helper(code::RESET_STOP));
        }
        rig.until("it takes moves", |seen| seen.queue.as_ref().is_some_and(|queue| queue.ready));
    }
    rig.send(&ptp(0.1));
    rig.until("it is driven", |seen| seen.count("finished") == 1);
}

#[test]
fn a_foreign_client_reads_the_simulated_controller_in_all_its_fields() {
    let joints = [0.1, -1.2, 1.3, -1.4, -1.5, 0.6];
    let list = joints.map(|joint: f64| joint.to_string()).join(",");
    let robot = SimUr::start(PROGRAM, &["--joints", &list]);
    let Some(told) = ur_rtde_reads(&robot.address) else { return };
    assert_eq!(told["goes_on"], true, "{told}");
    assert_eq!(told["getActualQ"], serde_json::json!(joints), "{told}");
    let hand = rosless_kinematics::builtin::robot("ur5e").unwrap().forward(&Joints::from(joints));
    let place: Vec<f64> = serde_json::from_value(told["getActualTCPPose"].clone()).unwrap();
    let turn = hand.rotation.scaled_axis();
    let expected = [hand.translation.x, hand.translation.y, hand.translation.z, turn.x, turn.y, turn.z];
    assert!(place.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{place:?} {expected:?}");
    let whole = |name: &str| told[name].as_i64().unwrap_or_else(|| panic!("{name}: {told}"));
    // RUNNING, NORMAL, stopped program, power on and power button; six joints that run.
    assert_eq!(
        [
            whole("getRobotMode"),
            whole("getSafetyMode"),
            whole("getRuntimeState"),
            whole("getRobotStatus"),
            whole("getSafetyStatusBits")
        ],
        [7, 1, 1, 9, 1]
    );
    assert_eq!(told["getJointMode"], serde_json::json!([253, 253, 253, 253, 253, 253]));
    assert_eq!(
        (told["getTargetSpeedFraction"].as_f64(), told["isConnected"].as_bool()),
        (Some(1.0), Some(true))
    );
    assert_eq!(
        (told["isProtectiveStopped"].as_bool(), told["isEmergencyStopped"].as_bool()),
        (Some(false), Some(false))
    );
}
