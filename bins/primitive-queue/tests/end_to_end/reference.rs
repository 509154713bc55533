//! Commands on the topics: none lost, none twice, none wrong.

use rosless_graph::TopicQos;
use rosless_motion::messages::{to_control, to_industrial};
use rosless_motion::{Program, RawPrimitive, primitive::code};
use rosless_wire::{Message, cdr, control_msgs, industrial_robot_motion_interfaces::msg::MotionPrimitive};

use crate::rig::{NODE, Rig, blended, circ, hand, helper, home, lin, long_ptp, ptp, robot};

/// What the original's example client sends, one message after the other: J, J, L, L, C, START, J, J, L, L, C, END, START, J,
/// J, END, J, J, where the last J of the second sequence has a blend radius.
fn original_example() -> Vec<RawPrimitive> {
    Program::parse(include_str!("../../examples/original.yaml")).unwrap().messages()
}

#[test]
fn the_burst_of_the_originals_client_is_executed_in_order_and_nothing_is_lost() {
    let mut rig = Rig::new(&[]);
    let messages = original_example();
    assert_eq!(messages.len(), 18);
    messages.iter().for_each(|message| rig.send(message));
    rig.until("all 14 moves are finished", |seen| seen.count("finished") == 14);
    assert_eq!(rig.seen.sequence_numbers("accepted"), (1..=18).collect::<Vec<_>>());
    let moves: Vec<u64> = (0..18).filter(|id| ![5, 11, 12, 15].contains(id)).collect();
    assert_eq!(rig.seen.begun(), moves);
    let warned = rig
        .seen
        .named("accepted")
        .filter(|event| event["warnings"][0].as_str().is_some_and(|text| text.contains("taken as 0")));
    assert_eq!(warned.count(), 1);
    rig.until("the robot says so", |seen| seen.states.last() == Some(&2) && seen.depth() == 0);
    assert_eq!(rig.seen.states[..2], [0, 1]);
}

#[test]
fn best_effort_publishers_are_served_and_heard_once() {
    let mut rig = Rig::new(&[]);
    let topic = format!("{NODE}/reference");
    let publisher = rig.node.publisher::<MotionPrimitive>(topic.best_effort()).unwrap();
    rig.wait("the best-effort reader listens", |_| publisher.matched() == 1);
    // Best effort means that what is sent before the other side knows the publisher is lost: knock until it answers.
    let knock = to_industrial(&helper(code::RESET_STOP));
    rig.wait("the controller knows the publisher", |rig| {
        publisher.publish(&knock);
        rig.seen.count("obeyed") > 0
    });
    for n in 1..=4 {
        publisher.publish(&to_industrial(&ptp(0.02 * n as f64)));
        rig.until("it is answered", |seen| seen.count("accepted") == n);
    }
    rig.until("all are done", |seen| seen.count("finished") == 4);
    let answered = [rig.seen.sequence_numbers("obeyed"), rig.seen.sequence_numbers("accepted")].concat();
    assert!(answered.windows(2).all(|pair| pair[1] == pair[0] + 1), "each once, in order: {answered:?}");
}

#[test]
fn control_msgs_are_taken_on_their_own_topic() {
    let mut rig = Rig::new(&[]);
    let topic = format!("{NODE}/reference_control_msgs");
    let publisher = rig.node.publisher::<control_msgs::msg::MotionPrimitive>(&topic).unwrap();
    rig.wait("its reader listens", |_| publisher.matched() == 1);
    let raw = RawPrimitive { kind: code::LINEAR_JOINT, ..ptp(0.1) };
    publisher.publish(&to_control(&raw));
    rig.until("it is done", |seen| seen.count("finished") == 1);
}

#[test]
fn a_linear_move_ends_exactly_where_it_was_asked_to() {
    let mut rig = Rig::new(&[]);
    let mut goal = lin([0.05, 0.02, -0.03]);
    // A slightly unnormalised quaternion.
    goal.poses[0].orientation = [1.01, 0.0, 0.0, 0.0];
    rig.send(&goal);
    rig.until("it is done", |seen| seen.count("finished") == 1);
    let before = rig.seen.joints.len();
    rig.until("joint states follow", |seen| seen.joints.len() > before + 2);
    let pose = robot().forward(&rig.seen.position().unwrap());
    let position = pose.translation.vector.as_slice().iter().zip(goal.poses[0].position);
    assert!(position.map(|(is, should)| (is - should).abs()).fold(0.0, f64::max) < 1e-6, "{pose}");
    assert!((pose.rotation.angle() - std::f64::consts::PI).abs() < 1e-6, "{pose}");
    let last = rig.seen.joints.last().unwrap();
    assert_eq!(last.name, robot().joint_names);
}

#[test]
fn the_eleventh_waiting_primitive_is_refused_by_name() {
    let mut rig = Rig::new(&[]);
    rig.send(&long_ptp());
    rig.until("it moves and takes no more", |seen| {
        seen.count("started") == 1
            && seen.queue.as_ref().is_some_and(|queue| queue.depth == 0 && !queue.ready)
    });
    (0..11).for_each(|n| rig.send(&ptp(0.01 * f64::from(n))));
    rig.until("all are answered", |seen| seen.count("accepted") + seen.count("refused") == 12);
    assert_eq!(rig.seen.reasons("refused"), ["the queue is full (10 primitives)"]);
    assert_eq!(rig.seen.sequence_numbers("refused"), [12]);
    rig.daemon.wait_for_line("refused: the queue is full", crate::rig::PATIENCE);
}

#[test]
fn stop_in_a_blended_sequence_brakes_within_the_limits_and_nothing_follows() {
    let mut rig = Rig::new(&["joint_state_rate:=250.0"]);
    rig.send(&helper(code::MOTION_SEQUENCE_START));
    rig.send(&blended(ptp(0.8), 0.02));
    rig.send(&blended(ptp(-0.4), 0.02));
    rig.send(&ptp(0.5));
    rig.send(&helper(code::MOTION_SEQUENCE_END));
    rig.send(&ptp(0.0));
    rig.send(&ptp(0.1));
    rig.until("it is fast", |seen| {
        seen.joints.last().is_some_and(|joints| joints.velocity.iter().any(|v| v.abs() > 1.0))
    });
    let before = rig.seen.joints.len();
    rig.send(&helper(code::STOP_MOTION));
    rig.until("it stands", |seen| seen.states.last() == Some(&5));
    assert_eq!(rig.seen.depth(), 0, "the queue is empty");
    assert_eq!(rig.seen.count("obeyed"), 1);

    let braking = &rig.seen.joints[before.saturating_sub(2)..];
    let time =
        |s: &rosless_wire::builtin_interfaces::msg::Time| f64::from(s.sec) + f64::from(s.nanosec) * 1e-9;
    for pair in braking.windows(2) {
        let dt = time(&pair[1].header.stamp) - time(&pair[0].header.stamp);
        for (v0, v1) in pair[0].velocity.iter().zip(&pair[1].velocity) {
            // The stamp is taken a moment after the joints; half a millisecond of that is normal, five on a busy machine.
            assert!((v1 - v0).abs() <= 15.0 * (dt + 5e-3), "{v0} to {v1} rad/s within {dt} s");
        }
    }
    rig.until("its joints say so", |seen| {
        seen.joints.last().is_some_and(|joints| joints.velocity.iter().all(|v| *v == 0.0))
    });
    let at_rest = rig.seen.position().unwrap();
    let begun = rig.seen.begun().len();

    rig.send(&ptp(0.0));
    rig.until("commands are refused", |seen| seen.count("refused") == 1);
    assert_eq!(rig.seen.reasons("refused"), ["the robot is stopped: send RESET_STOP (67) first"]);
    rig.send(&helper(code::RESET_STOP));
    rig.until("it is ready", |seen| seen.states.last() == Some(&0));
    let later = rig.seen.joints.len() + 20;
    rig.until("time passes", |seen| seen.joints.len() > later);
    assert_eq!(rig.seen.begun().len(), begun, "nothing of the old queue is begun");
    assert_eq!(rig.seen.position().unwrap(), at_rest);
    rig.send(&ptp(0.0));
    rig.until("new commands work", |seen| seen.count("finished") == 1);
    assert!((rig.seen.position().unwrap() - home()).amax() < 0.1);
}

#[test]
fn error_is_recoverable_and_the_first_generation_has_its_own_numbers() {
    let mut rig = Rig::new(&["profile:=first_generation"]);
    rig.send(&crate::rig::unreachable());
    rig.until("it is an error", |seen| seen.states.last() == Some(&3) && seen.count("failed") == 1);
    assert!(rig.seen.reasons("failed")[0].contains("cannot be followed beyond"), "{:?}", rig.seen.events);
    rig.send(&ptp(0.1));
    rig.send(&helper(code::RESET_STOP));
    rig.until("nothing goes before STOP", |seen| seen.count("refused") == 2);
    let reason = "the robot is in ERROR: send STOP_MOTION (66), then RESET_STOP (67)";
    assert_eq!(rig.seen.reasons("refused"), [reason; 2]);
    rig.send(&helper(code::STOP_MOTION));
    rig.until("STOPPED is 4 here, and nobody has to reset it", |seen| {
        seen.states.contains(&4) && seen.states.last() == Some(&0)
    });
    rig.send(&ptp(0.1));
    rig.until("it works again", |seen| seen.count("finished") == 1 && seen.states.last() == Some(&2));
    assert!(rig.seen.states.iter().all(|state| *state != 5));
}

#[test]
fn a_move_to_where_the_robot_is_is_executed_like_any_other() {
    let mut rig = Rig::new(&[]);
    rig.send(&ptp(0.0));
    rig.until("it is done", |seen| seen.states.last() == Some(&2));
    assert_eq!(rig.seen.states, [0, 1, 2]);
    let begin = std::time::Instant::now();
    rig.send(&RawPrimitive { arguments: vec![("move_time".into(), 0.5)], ..ptp(0.0) });
    rig.until("it is done, too", |seen| seen.count("finished") == 2);
    assert!(begin.elapsed().as_secs_f64() >= 0.5, "{:?}", begin.elapsed());
}

#[test]
fn garbage_never_moves_the_robot() {
    let mut rig = Rig::new(&["queue_size:=100"]);
    let raw =
        rig.node.raw_publisher(format!("{NODE}/reference").keep_last(100), (MotionPrimitive::TYPE_NAME, ""));
    let raw = raw.unwrap();
    rig.wait("the reader listens", |_| raw.matched() == 1);
    let whole = cdr::to_payload(&to_industrial(&ptp(0.5)));
    // The publisher pads to four bytes with zeros; what is cut off here is more than that.
    for length in (4..whole.len() - 4).step_by(5) {
        raw.publish(whole[..length].to_vec());
    }
    let mut huge = whole.clone();
    huge[20..24].fill(0xff);
    raw.publish(huge);
    rig.daemon.wait_for_line("dropped what", crate::rig::PATIENCE);

    let spoilt = |spoil: fn(&mut RawPrimitive)| {
        let mut raw = ptp(0.5);
        spoil(&mut raw);
        raw
    };
    let garbage = [
        spoilt(|p| p.kind = 7),
        spoilt(|p| p.joint_positions.clear()),
        spoilt(|p| p.joint_positions.push(0.0)),
        spoilt(|p| p.joint_positions[3] = f64::NAN),
        spoilt(|p| p.arguments.clear()),
        spoilt(|p| p.arguments[0].1 = f64::INFINITY),
        spoilt(|p| p.arguments[1].1 = -1.0),
        spoilt(|p| p.arguments[1].1 = 5e-324),
        spoilt(|p| p.blend_radius = f64::NAN),
        spoilt(|p| {
            p.kind = code::LINEAR_CARTESIAN;
            p.joint_positions.clear();
        }),
        spoilt(|p| {
            p.kind = code::CIRCULAR_CARTESIAN;
            p.poses = vec![hand([0.1, 0.0, 0.0])];
        }),
        RawPrimitive {
            arguments: vec![("move_time".into(), 1.0)],
            ..circ([0.04, 0.0, 0.0], [0.0, 0.03, 0.0])
        },
        RawPrimitive {
            poses: vec![rosless_motion::RawPose { orientation: [0.0; 4], ..hand([0.0; 3]) }],
            ..lin([0.0; 3])
        },
        RawPrimitive {
            poses: vec![rosless_motion::RawPose { frame_id: "camera".into(), ..hand([0.0; 3]) }],
            ..lin([0.0; 3])
        },
        helper(code::MOTION_SEQUENCE_END),
    ];
    garbage.iter().for_each(|message| rig.send(message));
    rig.until("each is refused", |seen| seen.sequence_numbers("refused").len() == garbage.len());
    assert_eq!((rig.seen.count("accepted"), rig.seen.count("started")), (0, 0));
    assert!(rig.seen.joints.iter().all(|joints| joints.position == home().as_slice()), "it has not moved");
    assert!(rig.seen.state_is("IDLE"));
    // An unknown argument is a warning, not a refusal.
    rig.send(&spoilt(|p| p.arguments.push(("foo".into(), 1.0))));
    rig.until("the controller still works", |seen| seen.count("finished") == 1);
    let warnings = &rig.seen.named("accepted").next().unwrap()["warnings"];
    assert_eq!(warnings[0], "unknown additional argument \"foo\" is ignored");
}

#[test]
fn the_command_values_can_be_inspected() {
    let mut rig = Rig::new(&[]);
    rig.send(&ptp(0.1));
    rig.until("it is done", |seen| seen.count("finished") == 1);
    let output = rig.cli(&["inspect", "--json"]);
    let values: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(values.as_object().unwrap().len(), 27);
    let joints: Vec<f64> =
        (1..=6).map(|i| values[format!("motion_primitive/q{i}")].as_f64().unwrap()).collect();
    assert_eq!(joints, ptp(0.1).joint_positions);
    assert_eq!(values["motion_primitive/velocity"], 2.0);
    assert!(values["motion_primitive/pos_x"].is_null(), "not used by PTP");
    assert_eq!(values["motion_primitive/execution_status"], 2.0);
    assert_eq!(values["motion_primitive/ready_for_new_primitive"], 1.0);
}
