//! The arm's processes over DDS, with the test as launcher.

mod common;

use std::time::Duration;

use common::{Rig, sim_arm, wall};
use rosless_arm::{
    JOINT_NAMES, Launcher, Limits, Strategy,
    evaluate::{Setup, Simulation, Throw},
};
use rosless_graph::{Context, ContextOptions, EventLoop};
use rosless_tests::{Daemon, DomainLease, sibling_binary, words};
use rosless_wire::{
    robot3_18c1054::msg::HandClose, sensor_msgs::msg::JointState, std_msgs::msg::Float32MultiArray,
};

fn throw(x: f64, z: f64, phi: f64, psi: f64, speed: f64) -> Throw {
    Throw { launcher: Launcher { x, z, phi, psi }, speed }
}

fn reachable() -> Throw {
    throw(0.0, -1.0, 0.0, 0.9, 4.0)
}

/// So fast that a busy machine's delays do not decide a verdict.
const FAST: [&str; 8] =
    ["--strategy", "best", "--ros-args", "-p", "max_velocity:=40.0", "-p", "max_acceleration:=800.0", "--"];

fn fast_setup() -> Setup {
    let mut setup = Setup::default();
    setup.planner.strategy = Strategy::Best;
    setup.arm.control = rosless_arm::Control::Timed;
    let limits = Limits::uniform(4.0, 40.0, 800.0);
    (setup.arm.robot.limits, setup.planner.robot.limits) = (limits, limits);
    setup
}

/// Three processes, documented behaviour: the second of two equal throws is caught, and every topic says what it should.
#[test]
fn a_repeated_throw_is_caught() {
    let domain = DomainLease::acquire();
    let _arm = sim_arm(&domain, &["--nodes", "arm_controller"]);
    let target_node = sim_arm(&domain, &["--nodes", "ball_initial_to_arm_target"]);
    let visualizer = sim_arm(&domain, &["--nodes", "visualizer"]);
    let mut rig = Rig::among(&domain, 3);
    // Who begin at the same time may meet later than the rig meets each of them.
    target_node.wait_for_line("using the arm's clock", common::PATIENCE);

    let ball = rig.throw(&reachable());
    let released = ball[0];
    rig.until("target and closing time", |h| !h.targets.is_empty() && !h.reserves.is_empty());
    let target = rig.seen.targets[0].clone();
    assert_eq!(target.len(), 24);
    let upright_at_apex = [0.0, 0.500899, -0.205022, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    for (got, want) in target.iter().zip(upright_at_apex) {
        assert!((got - want).abs() < 1e-4, "{target:?}");
    }
    assert!(target[12..].iter().all(|v| *v == 0.0), "velocities are 0");
    let close_at = rig.seen.reserves[0];
    assert!((close_at - released - 0.319725).abs() < 1e-4);

    rig.until("the hand closes and the throw is judged", |h| !h.verdicts.is_empty() && h.hands.len() == 1);
    assert!(rig.seen.hands[0].close);
    assert!((rig.seen.hands[0].time_stamp - close_at).abs() <= 1e-3);
    rig.until("the hand opens again", |h| h.hands.len() == 2);
    let open = &rig.seen.hands[1];
    assert!(!open.close && (open.time_stamp - close_at - 3.0).abs() <= 1e-3);
    rig.until_at_rest();

    let verdict = rig.throw_and_judge(&reachable());
    assert_eq!(verdict["caught"], true, "{verdict}");
    visualizer.wait_for_line("ball catch : success", common::PATIENCE);
    visualizer.wait_for_line("ball's relative position from hand :", common::PATIENCE);

    // The fingers are closed and the ball stays where it was caught.
    let seen = rig.seen.joint_samples;
    rig.until("joint states after the catch", |h| h.joint_samples > seen + 1);
    let ball_at = |p: &Rig| ["ball_x", "ball_y", "ball_z"].map(|n| p.joint(n).unwrap());
    let (first, seen) = (ball_at(&rig), rig.seen.joint_samples);
    assert!((first[1] - 0.5009).abs() < 0.05 && (first[2] + 0.205).abs() < 0.05, "{first:?}");
    assert_eq!(rig.joint("hand_1"), Some(0.0));
    rig.until("more joint states", |h| h.joint_samples > seen + 2);
    assert_eq!(ball_at(&rig), first);
}

#[test]
fn verdicts_equal_those_of_the_pure_simulation() {
    let domain = DomainLease::acquire();
    let _arm = sim_arm(&domain, &FAST);
    let mut rig = Rig::among(&domain, 3);
    let table = [
        reachable(),
        throw(0.0, -1.0, 0.0, 0.85, 4.4),
        throw(0.1, -1.0, 0.0, 0.9, 4.2),
        throw(-0.2, -1.2, 0.2, 0.9, 4.6),
        // Out of reach at its highest point, not elsewhere.
        throw(0.0, -2.0, 0.1, 0.6, 6.0),
        throw(0.0, -4.0, 0.0, 0.35, 11.0),
        // Out of reach all the way.
        throw(0.0, -1.0, 0.0, 0.0, 5.0),
        throw(2.0, -1.0, 0.0, 0.9, 4.0),
        throw(0.0, -5.0, 0.0, 0.9, 4.0),
    ];
    let mut caught = 0;
    for throw in table {
        let mut simulation = Simulation::new(fast_setup());
        simulation.wait(1.0);
        let expected = simulation.throw(&throw).outcome.caught();
        rig.move_arm([0.0; 6]);
        let verdict = rig.throw_and_judge(&throw);
        assert_eq!(verdict["caught"], expected, "{throw:?}: {verdict}");
        assert_eq!(verdict["attempted"], expected, "{throw:?}: {verdict}");
        caught += u32::from(expected);
    }
    assert_eq!(caught, 6, "the table must hold both kinds");
}

#[test]
fn an_unreachable_throw_is_reported_and_the_hand_stays_open() {
    let domain = DomainLease::acquire();
    let arm = sim_arm(&domain, &[]);
    let mut rig = Rig::among(&domain, 3);
    let verdict = rig.throw_and_judge(&throw(0.0, -1.0, 0.0, 1.2, 3.4));
    assert_eq!(verdict["attempted"], false);
    assert!(verdict["reason"].as_str().unwrap().contains("too far"), "{verdict}");
    arm.wait_for_line("/target_arm_state refused: unreachable target", common::PATIENCE);
    // The instant passes.
    let close_at = *rig.seen.reserves.last().unwrap();
    let start = rig.arm_start();
    rig.until("the closing time is over", |_| {
        wall().saturating_sub(start) > Duration::from_secs_f32(close_at) + Duration::from_millis(300)
    });
    assert!(rig.seen.hands.is_empty(), "{:?}", rig.seen.hands);
    // The missed ball falls on.
    let before = rig.joint("ball_y").unwrap();
    let seen = rig.seen.joint_samples;
    rig.until("the ball falls", |h| h.joint_samples > seen + 1);
    assert!(rig.joint("ball_y").unwrap() < before.max(-9.999));
}

#[test]
fn a_second_throw_finds_the_hand_open() {
    let domain = DomainLease::acquire();
    let _arm = sim_arm(&domain, &FAST);
    let mut rig = Rig::among(&domain, 3);
    assert_eq!(rig.throw_and_judge(&reachable())["caught"], true);
    rig.observe(Duration::from_millis(600));
    assert_eq!(rig.throw_and_judge(&throw(0.0, -1.0, 0.0, 0.85, 4.4))["caught"], true);
    let moves: Vec<bool> = rig.seen.hands.iter().map(|h| h.close).collect();
    assert_eq!(moves, [true, false, true], "{:?}", rig.seen.hands);
    let times: Vec<f32> = rig.seen.hands.iter().map(|h| h.time_stamp).collect();
    assert!(times.is_sorted() && times[2] - times[0] < 3.0, "opened early: {times:?}");
}

#[test]
fn a_late_visualizer_shows_the_scene_as_it_is() {
    let domain = DomainLease::acquire();
    let _arm = sim_arm(&domain, &["--nodes", "arm_controller"]);
    let mut rig = Rig::among(&domain, 1);
    rig.move_launcher([2.0, -3.0, 0.1, 0.2]);
    rig.move_arm([0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let _visualizer = sim_arm(&domain, &["--nodes", "visualizer"]);
    let near = |joints: &JointState, name: &str, want: f64| {
        let index = joints.name.iter().position(|n| n == name).unwrap();
        (joints.position[index] - want).abs() < 1e-3
    };
    rig.until("launcher, ball and arm are where they are", |h| {
        h.joints.as_ref().is_some_and(|j| {
            let launcher =
                [("shooter_x", 2.0), ("shooter_z", -3.0), ("shooter_roll", 0.1), ("shooter_pitch", 0.2)];
            let rest =
                [("ball_x", 2.0), ("ball_y", 0.0), ("ball_z", -3.0), ("joint_1", 0.5), ("hand_1", 0.8)];
            launcher.iter().chain(&rest).all(|(name, want)| near(j, name, *want))
        })
    });
    let joints = rig.seen.joints.as_ref().unwrap();
    assert_eq!(joints.name, JOINT_NAMES);
    assert!(joints.velocity.is_empty() && joints.effort.is_empty());
    // The ball follows the launcher until it is thrown.
    rig.move_launcher([-1.0, -2.0, 0.0, 0.0]);
    rig.until("the ball follows", |h| {
        h.joints.as_ref().is_some_and(|j| near(j, "ball_x", -1.0) && near(j, "ball_z", -2.0))
    });
}

#[test]
fn a_killed_arm_comes_back_and_catches() {
    let domain = DomainLease::acquire();
    let arm = sim_arm(&domain, &[&["--nodes", "arm_controller"], &FAST[..]].concat());
    let others =
        sim_arm(&domain, &[&["--nodes", "ball_initial_to_arm_target,visualizer"], &FAST[..]].concat());
    let mut rig = Rig::among(&domain, 3);
    others.wait_for_line("using the arm's clock", common::PATIENCE);
    assert_eq!(rig.throw_and_judge(&reachable())["caught"], true);
    let first_start = rig.arm_start();
    arm.signal("KILL");
    drop(arm);
    rig.seen.arm_states.clear();
    let _arm = sim_arm(&domain, &[&["--nodes", "arm_controller"], &FAST[..]].concat());
    rig.wait_for_nodes(3);
    // The dead one may still be believed alive; its clock must not be used any more.
    rig.until("the new arm's state", |h| h.arm_states.last().is_some_and(|s| s.iter().all(|v| *v == 0.0)));
    let second_start = rig.arm_start();
    assert!(second_start > first_start + Duration::from_millis(100), "{first_start:?} {second_start:?}");
    // The planner knows the new clock at once: no need to wait before the next throw.
    assert_eq!(rig.throw_and_judge(&reachable())["caught"], true);
}

/// The first throw misses because the arm is slow; a few seconds later it would stand in the right place.
#[test]
fn a_viewer_that_was_stopped_judges_the_hand_where_it_was() {
    let domain = DomainLease::acquire();
    let _arm = sim_arm(
        &domain,
        &words("--nodes arm_controller,ball_initial_to_arm_target --ros-args -p max_velocity:=1.0 --"),
    );
    let visualizer = sim_arm(&domain, &["--nodes", "visualizer"]);
    let mut rig = Rig::among(&domain, 3);
    let mut slow = Setup::default();
    slow.arm.robot.limits = Limits::uniform(4.0, 1.0, 100.0);
    assert!(
        !Simulation::new(slow).throw(&reachable()).outcome.caught(),
        "this throw must be one that misses"
    );
    visualizer.signal("STOP");
    let [released, ..] = rig.throw(&reachable());
    rig.until("the hand closes", |h| !h.hands.is_empty());
    let closed = rig.seen.arm_states.len();
    rig.until("the arm has gone on", |h| h.arm_states.len() >= closed + 8);
    visualizer.signal("CONT");
    let verdict = rig.verdict_on(released);
    assert_eq!(verdict["caught"], false, "{verdict}");
    assert_eq!(verdict["attempted"], true, "{verdict}");
}

#[test]
fn two_throws_at_once_get_a_verdict_each() {
    let domain = DomainLease::acquire();
    let _arm = sim_arm(
        &domain,
        &words("--ros-args -p max_velocity:=40.0 -p max_acceleration:=800.0 -p control:=timed --"),
    );
    let mut rig = Rig::among(&domain, 3);
    let (far, near) = (throw(0.0, -1.0, 0.0, 1.2, 3.4), throw(0.0, -1.0, 0.0, 0.85, 4.4));
    // An unreachable throw leaves the one before it alone.
    let (first, second) = (rig.throw(&reachable()), rig.throw(&far));
    let verdict = rig.verdict_on(second[0]);
    assert_eq!(verdict["attempted"], false, "{verdict}");
    let verdict = rig.verdict_on(first[0]);
    assert_eq!(verdict["caught"], true, "{verdict}");
    // A reachable one at the same time is declined at once: the hand can close for one of them only.
    let (first, second) = (rig.throw(&reachable()), rig.throw(&near));
    let verdict = rig.verdict_on(second[0]);
    assert_eq!(verdict["attempted"], false, "{verdict}");
    assert!(verdict["reason"].as_str().unwrap().contains("closes for another ball"), "{verdict}");
    let verdict = rig.verdict_on(first[0]);
    assert_eq!(verdict["caught"], true, "{verdict}");
}

#[test]
fn a_throw_on_another_clock_is_let_go_with_the_reason() {
    let domain = DomainLease::acquire();
    let _arm = sim_arm(&domain, &[]);
    let mut rig = Rig::among(&domain, 3);
    let throw = reachable();
    let ball = throw.launcher.release(throw.speed, 9000.0).to_array();
    rig.throw_ball(&ball);
    let verdict = rig.verdict_on(9000.0);
    assert_eq!(verdict["attempted"], false, "{verdict}");
    assert!(
        verdict["reason"].as_str().unwrap().contains("is the sender using this arm's clock"),
        "{verdict}"
    );
}

#[test]
fn a_new_viewer_sees_the_closed_hand_and_a_new_arm_lets_go_of_the_ball() {
    let domain = DomainLease::acquire();
    let arm = sim_arm(&domain, &["--nodes", "arm_controller"]);
    let visualizer = sim_arm(&domain, &["--nodes", "visualizer"]);
    let mut rig = Rig::among(&domain, 2);
    assert!(rig.set_parameter("hold", 60.0).successful);
    rig.close_hand();
    rig.until("the hand closes", |h| h.hands.iter().any(|hand| hand.close));
    drop(visualizer);
    rig.seen.joints = None;
    let _visualizer = sim_arm(&domain, &["--nodes", "visualizer"]);
    let finger = |h: &common::Heard, want: f64| h.joints.as_ref().is_some_and(|j| j.position[0] == want);
    rig.until("the new viewer shows a closed hand", |h| finger(h, 0.0));

    rig.wait_for_nodes(2);
    rig.throw(&throw(5.0, -5.0, 0.0, 0.9, 4.0));
    let ball_z = |h: &common::Heard| h.joints.as_ref().map(|j| j.position[8]);
    rig.until("the ball flies", |h| ball_z(h).is_some_and(|z| z > -5.0 && z != -1.0));
    arm.signal("KILL");
    drop(arm);
    let _arm = sim_arm(&domain, &["--nodes", "arm_controller"]);
    rig.until("the hand is open and the ball on the launcher", |h| finger(h, 0.8) && ball_z(h) == Some(-1.0));
    let seen = rig.seen.joint_samples;
    rig.until("more joint states", |h| h.joint_samples > seen + 5);
    assert_eq!(rig.joint("ball_z"), Some(-1.0), "it does not fly again");
}

#[test]
fn a_second_arm_is_warned_of_and_logs_say_full_names() {
    let domain = DomainLease::acquire();
    let in_namespace = |nodes| sim_arm(&domain, &["--nodes", nodes, "--ros-args", "-r", "__ns:=/left", "--"]);
    let first = in_namespace("arm_controller,ball_initial_to_arm_target");
    let context = Context::new(ContextOptions::for_domain(domain.id())).unwrap();
    let node = context.node("probe").unwrap();
    let event_loop = EventLoop::<()>::new(&context).unwrap();
    let target = node.publisher::<Float32MultiArray>("/left/target_arm_state").unwrap();
    assert!(event_loop.run_until(&mut (), common::PATIENCE, |()| target.matched() > 0).unwrap());
    target.publish(&Float32MultiArray::default());
    first.wait_for_line("/left/target_arm_state refused: malformed", common::PATIENCE);
    let _second = in_namespace("arm_controller");
    first.wait_for_line("2 arms serve /left/get_init_time", common::PATIENCE);
}

/// As the original's arm does, which keeps nothing for latecomers.
#[test]
fn an_arm_that_does_not_latch_is_heard_and_nobody_warns_of_it() {
    let mut rig = rosless_tests::Rig::<(usize, Option<f64>)>::new();
    let viewer = sim_arm(&rig.domain, &["--nodes", "ball_initial_to_arm_target,visualizer"]);
    rig.events.on_incompatible_qos(|(problems, _), _| *problems += 1);
    let (state, hand) = (
        rig.node.publisher::<Float32MultiArray>("arm_ang_angv").unwrap(),
        rig.node.publisher::<HandClose>("hand_close").unwrap(),
    );
    rig.events
        .subscribe::<JointState>(&rig.node, "joint_states", |(_, joint_1), s| {
            *joint_1 = s.message.position.get(9).copied();
        })
        .unwrap();
    rig.until("planner and viewer listen", |_| state.matched() == 2 && hand.matched() == 1);
    let mut posture = vec![0.0; 12];
    posture[0] = 0.5;
    state.publish(&Float32MultiArray { data: posture, ..Default::default() });
    rig.until("the viewer shows it", |(_, joint_1)| *joint_1 == Some(0.5));
    assert_eq!(rig.seen.0, 0, "endpoints that do not fit");
    let warned = viewer.filter_map(|line| line.contains("incompatible").then(|| line.to_owned()));
    assert!(warned.is_empty(), "{warned:?}");
}

/// An arm that reports every second: between two reports the planner knows what it was told on /ang_debug.
#[test]
fn the_planner_knows_where_the_arm_was_sent() {
    let domain = DomainLease::acquire();
    let arm = sim_arm(&domain, &[&FAST[..2], &["--ros-args", "-p", "period:=1.0", "--"]].concat());
    let mut rig = Rig::among(&domain, 3);
    // To where this throw is caught upright at its highest point; from home that is 0.05 s before it, from there 0.3 s.
    let spare =
        |line: &str| -> Option<f64> { line.split_once(" m, ")?.1.strip_suffix(" s to spare")?.parse().ok() };
    rig.send_angles(&[-1.346_59, 0.0, 1.704028, 0.0, -0.357438, 0.0]);
    arm.wait_for_line("moving to /ang_debug", common::PATIENCE);
    rig.observe(Duration::from_millis(400));
    rig.throw(&reachable());
    let line = arm.wait_for_line("catch at", common::PATIENCE);
    assert!(spare(&line).is_some_and(|spare| spare > 0.15), "{line}");
}

#[test]
fn long_control_periods_come_to_rest() {
    let domain = DomainLease::acquire();
    let _arm = sim_arm(&domain, &["--nodes", "arm_controller"]);
    let mut rig = Rig::among(&domain, 1);
    assert!(rig.set_parameter("period", 0.4).successful);
    let refused = rig.set_parameter("d_gain", 1.0);
    assert!(!refused.successful && refused.reason.contains("swing for ever"), "{refused:?}");
    rig.move_arm([1.2, 0.0, -1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn the_arm_answers_and_obeys_joint_targets() {
    let domain = DomainLease::acquire();
    let arm = sim_arm(&domain, &["--nodes", "arm_controller"]);
    let mut rig = Rig::among(&domain, 1);
    let (array, hand) = rig.hand_state();
    assert_eq!(array.len(), 24);
    assert!((hand.position - rosless_arm::Vector3::new(0.0, 0.75, 0.0)).amax() < 1e-6);
    assert_eq!(array[3..12], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    let age = wall().saturating_sub(rig.arm_start());
    assert!(age < Duration::from_secs(60), "the arm says it started {age:?} ago");

    rig.seen.arm_states.clear();
    rig.move_arm([0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let angles: Vec<f32> = rig.seen.arm_states.iter().map(|s| s[0]).collect();
    assert!(angles.is_sorted() && angles.len() > 5, "monotone approach: {angles:?}");
    let (_, hand) = rig.hand_state();
    assert!((hand.position - rosless_arm::Vector3::new(0.0, 0.670428, 0.311627)).amax() < 1e-3);

    rig.send_angles(&[10.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    arm.wait_for_line("/ang_debug refused: joint_1 would have to be at 10.0000 rad", common::PATIENCE);
    rig.send_angles(&[0.1; 12]);
    arm.wait_for_line("/ang_debug refused: a target with speeds", common::PATIENCE);
    rig.send_angles(&[0.0; 3]);
    arm.wait_for_line("3 values, at least 6", common::PATIENCE);
    rig.send_angles(&[2.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    arm.wait_for_line("/ang_debug refused: blocked target: the hand would be", common::PATIENCE);
    assert_eq!(rig.hand_state().1.position, hand.position, "nothing moved");
    // Seven to eleven values: six angles, and what is no set of speeds is ignored, as the original does.
    rig.send_angles(&[0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0, 9.0]);
    arm.wait_for_line("/ang_debug: 2 values after the six angles ignored", common::PATIENCE);
    rig.until("the arm is there", |h| h.arm_states.last().is_some_and(|s| (s[0] - 0.25).abs() < 1e-3));
}

#[test]
fn parameters_change_the_running_arm_and_bad_ones_are_refused() {
    let domain = DomainLease::acquire();
    let _arm = sim_arm(&domain, &FAST);
    let mut rig = Rig::among(&domain, 3);
    let refused = rig.set_parameter("control", "warp");
    assert!(!refused.successful && refused.reason.contains("pd, timed"), "{refused:?}");
    assert!(!rig.set_parameter("period", -1.0).successful);
    assert!(rig.set_parameter("hold", 0.5).successful);
    assert_eq!(rig.throw_and_judge(&reachable())["caught"], true);
    rig.until("the hand opens", |h| h.hands.len() == 2);
    let [close, open] = &rig.seen.hands[..] else { panic!("{:?}", rig.seen.hands) };
    assert!((open.time_stamp - close.time_stamp - 0.5).abs() <= 1e-3, "{close:?} {open:?}");
}

/// The whole system as people use it, with a launcher that is killed and started again in between.
#[test]
fn a_thrown_ball_is_caught_on_the_command_line() {
    let domain = DomainLease::acquire();
    let shooter = sibling_binary(env!("CARGO_BIN_EXE_sim-arm"), "shooter");
    let shooter = |args: &[&str]| domain.command(&shooter, args);
    let _arm = sim_arm(&domain, &FAST);
    let launcher = Daemon::spawn(shooter(&["run"]));
    let exit_code = |args: &[&str]| {
        let output = shooter(&[args, &["--timeout", "30"]].concat()).output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    };
    let (code, text) = exit_code(&["aim", "0", "-1", "0", "0.9"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = exit_code(&["fire", "4", "--verdict"]);
    assert!(code == Some(0) && text.contains("caught"), "{text}");
    // The verdict on a throw just before is not taken for this one's.
    let (code, text) = exit_code(&["fire", "4"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = exit_code(&["fire", "1", "--verdict", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &report["verdict"]["attempted"]), (Some(1), &false.into()), "{report}");
    assert_eq!(report["verdict"]["released"], report["released"]);
    launcher.signal("KILL");
    drop(launcher);
    let _launcher = Daemon::spawn(shooter(&["run"]));
    let (code, text) = exit_code(&["aim", "5", "-1", "0", "0.9"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = exit_code(&["fire", "4", "--verdict"]);
    assert!(
        code == Some(1) && text.contains("not attempted (no point of the flight is within reach"),
        "{text}"
    );
}
