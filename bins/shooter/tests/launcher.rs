//! The launcher over DDS, and its commands.

use std::{
    process::{Command, Output, Stdio},
    time::Duration,
};

use rosless_graph::{Context, ContextOptions, EventLoop, Publisher, TopicQos};
use rosless_tests::{Daemon, DomainLease};
use rosless_wire::{
    sensor_msgs::msg::JointState,
    std_msgs::msg::{Bool, Float32, Float32MultiArray, String as Text},
};

const PATIENCE: Duration = rosless_tests::Rig::<()>::PATIENCE;

fn shooter(domain: &DomainLease, args: &[&str]) -> Command {
    domain.command(env!("CARGO_BIN_EXE_shooter"), args)
}

fn run(domain: &DomainLease, args: &[&str]) -> (Output, String, String) {
    let output = shooter(domain, args).output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout).into(), String::from_utf8_lossy(&output.stderr).into());
    (output, out, err)
}

#[derive(Debug, Default)]
struct Heard {
    states: Vec<Vec<f32>>,
    balls: Vec<Vec<f32>>,
}

struct Rig {
    rig: rosless_tests::Rig<Heard>,
    input: Publisher<Float32MultiArray>,
    speed: Publisher<Float32>,
    default_speed: Publisher<Bool>,
}

impl Rig {
    fn new(domain: &DomainLease) -> Self {
        let rig = rosless_tests::Rig::<Heard>::on(domain.clone(), "probe");
        let (events, node) = (&rig.events, &rig.node);
        events
            .subscribe::<Float32MultiArray>(node, "shooter_state".latched(), |h, s| {
                h.states.push(s.message.data);
            })
            .unwrap();
        let balls = events
            .subscribe::<Float32MultiArray>(node, "ball_initial_state", |h, s| {
                h.balls.push(s.message.data);
            })
            .unwrap();
        let input = node.publisher("shooter_state_input").unwrap();
        let speed = node.publisher("shoot_value").unwrap();
        let default_speed = node.publisher("shoot_bool").unwrap();
        let mut rig = Self { rig, input, speed, default_speed };
        let (a, b, c) = (rig.input.clone(), rig.speed.clone(), rig.default_speed.clone());
        rig.until("the launcher is there", |h| {
            let listening = a.matched() > 0 && b.matched() > 0 && c.matched() > 0;
            listening && balls.matched() > 0 && !h.states.is_empty()
        });
        rig
    }

    fn aim(&self, data: &[f32]) {
        self.input.publish(&Float32MultiArray { data: data.to_vec(), ..Default::default() });
    }
}

rosless_tests::extends_rig!(Rig, Heard);

#[test]
fn the_launcher_clamps_refuses_and_throws() {
    let domain = DomainLease::acquire();
    let daemon = Daemon::spawn(shooter(&domain, &["run"]));
    let mut rig = Rig::new(&domain);
    assert_eq!(rig.seen.states.last().unwrap(), &[0.0, -1.0, 0.0, 0.0], "latched for late joiners");

    rig.aim(&[20.0, 5.0, 9.0, 9.0]);
    rig.until("the clamped state", |h| h.states.last().unwrap() == &[10.0, 0.0, 2.0, 1.55]);

    let states = rig.seen.states.len();
    rig.aim(&[1.0, 2.0, 3.0]);
    daemon.wait_for_line("3 values, at least 4 are needed", PATIENCE);
    rig.aim(&[f32::NAN, 0.0, 0.0, 0.0]);
    daemon.wait_for_line("value 0 is NaN", PATIENCE);
    for speed in [f32::NAN, -2.0, 0.0, 1e6] {
        rig.speed.publish(&Float32 { data: speed });
    }
    for reason in ["NaN m/s is not a finite", "-2 m/s is not above 0", "speed 0 m/s", "above 100 m/s"] {
        daemon.wait_for_line(reason, PATIENCE);
    }
    rig.default_speed.publish(&Bool { data: false });

    rig.aim(&[0.0, -1.0, 0.0, 0.9]);
    rig.until("the new state", |h| h.states.len() > states);
    assert_eq!(rig.seen.states.len(), states + 1, "bad input changed nothing");
    assert!(rig.seen.balls.is_empty(), "refused throws threw nothing");
    rig.speed.publish(&Float32 { data: 4.0 });
    rig.until("the ball", |h| !h.balls.is_empty());
    let row = [0.0, 0.0, -1.0, 0.0, 3.133308, 2.48644];
    let ball = rig.seen.balls[0].clone();
    assert_eq!(ball.len(), 7);
    assert!(ball[1..].iter().zip(row).all(|(got, want)| (got - want).abs() < 1e-4), "{ball:?}");

    rig.default_speed.publish(&Bool { data: true });
    rig.until("the second ball", |h| h.balls.len() == 2);
    let speed = rig.seen.balls[1][4..].iter().map(|v| v * v).sum::<f32>().sqrt();
    assert!((speed - 5.0).abs() < 1e-4, "the default speed");
    assert!(rig.seen.balls[1][0] > ball[0], "later than the first");
}

/// A viewer goes on showing the launcher that was killed; the new one stands where that one stood.
#[test]
fn a_restarted_launcher_keeps_its_aim() {
    let domain = DomainLease::acquire();
    let viewer = rosless_tests::Rig::<()>::on(domain.clone(), "viewer");
    let joints = viewer.node.publisher::<JointState>("joint_states").unwrap();
    let told = JointState {
        name: ["shooter_x", "shooter_z", "shooter_roll", "shooter_pitch"].map(String::from).to_vec(),
        position: vec![0.5, -2.0, 0.25, 0.75],
        ..Default::default()
    };
    let daemon = Daemon::spawn(shooter(&domain, &["run"]));
    let mut rig = rosless_tests::Rig::<Heard>::on(domain.clone(), "probe");
    rig.events
        .subscribe::<Float32MultiArray>(&rig.node, "shooter_state".latched(), |h, s| {
            h.states.push(s.message.data)
        })
        .unwrap();
    // The viewer tells at its own pace, again and again.
    rig.until("a state", |h| {
        joints.publish(&told);
        !h.states.is_empty()
    });
    assert_eq!(rig.seen.states[0], [0.5, -2.0, 0.25, 0.75]);
    daemon.wait_for_line("keeps the aim of the launcher that was here before", PATIENCE);
}

#[test]
fn commands_aim_and_fire_for_people_without_ros() {
    let domain = DomainLease::acquire();
    let _daemon = Daemon::spawn(shooter(&domain, &["run"]));
    let (output, out, err) = run(&domain, &["aim", "0", "-1", "0", "0.9", "--timeout", "30"]);
    assert!(output.status.success(), "{err}");
    assert!(out.contains("launcher at x 0 m, z -1 m, heading 0 rad, elevation 0.9 rad"), "{out}");
    let (output, out, err) = run(&domain, &["fire", "4.0", "--json", "--timeout", "30"]);
    assert!(output.status.success(), "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!((report["velocity"][1].as_f64().unwrap() - 3.133308).abs() < 1e-4, "{report}");
    rosless_tests::assert_documented("shooter fire", &report);
}

/// Others throw and are judged at the same time.
#[test]
fn fire_reports_its_own_ball_and_the_verdict_on_it() {
    let domain = DomainLease::acquire();
    let _daemon = Daemon::spawn(shooter(&domain, &["run"]));
    let mut rig = Rig::new(&domain);
    let context = Context::new(ContextOptions::for_domain(domain.id())).unwrap();
    let arm = context.node("arm").unwrap();
    let _loop = EventLoop::<()>::new(&context).unwrap();
    let verdicts = arm.publisher::<Text>("catch_verdict").unwrap();
    let balls = arm.publisher::<Float32MultiArray>("ball_initial_state").unwrap();
    for (ours, code) in [("true", 0), ("false", 1), ("null", 1)] {
        let mut command = shooter(&domain, &["fire", "4", "--verdict", "--json", "--timeout", "30"]);
        let fire = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let thrown = rig.seen.balls.len();
        let other = [7.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0];
        let judge = |released: f32, caught: &str| {
            let data = format!(
                r#"{{"released": {released}, "caught": {caught}, "attempted": true, "reason": "because"}}"#
            );
            verdicts.publish(&Text { data });
        };
        let ours_of = |h: &Heard| {
            h.balls[thrown..].iter().find(|b| b[4..].iter().map(|v| v * v).sum::<f32>() > 15.0).cloned()
        };
        let next = std::cell::Cell::new(std::time::Instant::now());
        rig.until("the throw", |h| {
            // Somebody else's throws and verdicts, before and after the trigger.
            if next.get() <= std::time::Instant::now() {
                next.set(std::time::Instant::now() + Duration::from_millis(5));
                balls.publish(&Float32MultiArray { data: other.to_vec(), ..Default::default() });
                judge(7.0, if ours == "true" { "false" } else { "true" });
            }
            ours_of(h).is_some()
        });
        let ball = ours_of(&rig.seen).unwrap();
        verdicts.publish(&Text { data: "not JSON".into() });
        judge(ball[0], ours);
        let output = fire.wait_with_output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{out}{err}");
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["released"].as_f64(), Some(ball[0].into()), "{report}");
        assert_eq!(report["verdict"]["caught"].to_string(), ours, "{report}");
    }
}

#[test]
fn answers_nobody_takes_are_no_panic() {
    let domain = DomainLease::acquire();
    let _daemon = Daemon::spawn(shooter(&domain, &["run"]));
    let commands: [&[&str]; 2] = [&["aim", "0", "-1", "0", "0.9"], &["fire", "4"]];
    for args in commands {
        let run = |stdout: Stdio| {
            let mut command = shooter(&domain, &[args, &["--timeout", "30"]].concat());
            let output = command.stdout(stdout).stderr(Stdio::piped()).output().unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(run(writer.into()), (Some(0), String::new()), "{args:?}");
        let (code, errors) = run(std::fs::File::options().write(true).open("/dev/full").unwrap().into());
        assert!(
            code == Some(1) && errors.starts_with("error: cannot write to stdout: "),
            "{args:?}: {errors}"
        );
    }
}

#[test]
fn commands_say_what_is_wrong() {
    let domain = DomainLease::acquire();
    {
        let _daemon = Daemon::spawn(shooter(&domain, &["run"]));
        let (output, _, err) = run(&domain, &["fire", "4", "--verdict", "--timeout", "3"]);
        assert_eq!(output.status.code(), Some(3));
        assert!(err.contains("nobody will judge the catch") && err.contains("sim-arm run"), "{err}");
        // Somebody who could judge, but does not.
        let judge = rosless_tests::Rig::<()>::on(domain.clone(), "silent_judge");
        let _verdicts = judge.node.publisher::<Text>("catch_verdict").unwrap();
        let (output, _, err) = run(&domain, &["fire", "4", "--verdict", "--timeout", "4"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(err.contains("no verdict on this throw within 4s"), "{err}");
    }
    let domain = DomainLease::acquire();
    let (output, _, err) = run(&domain, &["fire", "4", "--timeout", "0.3"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(err.contains("nobody listens on /shoot_value") && err.contains("shooter run"), "{err}");
    for (args, reason) in [
        (&["fire", "-3"][..], "not above 0"),
        (&["fire", "NaN"], "not a finite number"),
        (&["aim", "0", "0", "0", "inf"], "value 3 is inf"),
        (&["aim", "0", "0"], "required arguments"),
        (&["fire", "4", "--timeout", "1.8e19"], "expected seconds from 0 to 31536000"),
        (&["fire", "4", "--timeout", "nan"], "expected seconds from 0 to 31536000"),
    ] {
        let (output, _, err) = run(&domain, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(err.contains(reason), "{args:?}: {err}");
    }
}
