//! Commands that talk to a running launcher: wait until it is there, send, wait for its answer.

use std::{process::ExitCode, time::Duration};

use anyhow::{Result, anyhow, ensure};
use rosless_arm::{Ball, Launcher, Shooter};
use rosless_graph::{
    Context, EventLoop, Node, Publisher, Qos,
    config::{Settings, UsageError},
};
use rosless_wire::{
    Message,
    std_msgs::msg::{Float32, Float32MultiArray, String as Text},
};
use serde_json::json;

use crate::ClientArgs;

const VERDICT_PATIENCE: Duration = Duration::from_secs(10);
const MISSED: u8 = 3;

/// What has been heard so far.
#[derive(Default)]
struct Heard {
    state: Option<Vec<f32>>,
    ball: Option<Vec<f32>>,
    verdict: Option<String>,
}

/// `shooter aim`
pub(crate) fn aim(settings: Settings, wanted: [f32; 4], args: &ClientArgs) -> Result<ExitCode> {
    let expected = Launcher::from_array(&wanted).map_err(usage)?.to_array();
    let (node, event_loop) = client(settings)?;
    let input = node.publisher::<Float32MultiArray>("shooter_state_input", Qos::default())?;
    let answers =
        event_loop.subscribe::<Float32MultiArray>(&node, "shooter_state", Qos::latched(), |heard, s| {
            heard.state = Some(s.message.data);
        })?;
    let mut heard = Heard::default();
    wait_for_launcher(&event_loop, &mut heard, &input, args, || answers.matched())?;
    input.publish(&Float32MultiArray { data: wanted.to_vec(), ..Default::default() });
    let is_there = |heard: &mut Heard| heard.state.as_deref() == Some(&expected[..]);
    ensure!(
        event_loop.run_until(&mut heard, args.timeout, is_there)?,
        "the launcher did not move to {expected:?} within {:?}; it reports {:?}",
        args.timeout,
        heard.state,
    );
    let [x, z, phi, psi] = expected;
    if args.json {
        println!("{}", json!({"x": x, "z": z, "phi": phi, "psi": psi, "clamped": expected != wanted}));
    } else {
        let note = if expected == wanted { "" } else { " (moved into range)" };
        println!("launcher at x {x} m, z {z} m, heading {phi} rad, elevation {psi} rad{note}");
    }
    Ok(ExitCode::SUCCESS)
}

/// `shooter fire`
pub(crate) fn fire(settings: Settings, speed: f32, verdict: bool, args: &ClientArgs) -> Result<ExitCode> {
    Shooter::default().fire(speed, Duration::ZERO).map_err(usage)?;
    let (node, event_loop) = client(settings)?;
    let trigger = node.publisher::<Float32>("shoot_value", Qos::default())?;
    let balls = event_loop.subscribe::<Float32MultiArray>(
        &node,
        "ball_initial_state",
        Qos::default(),
        |heard, s| {
            heard.ball = Some(s.message.data);
        },
    )?;
    let verdicts = event_loop.subscribe::<Text>(&node, "catch_verdict", Qos::default(), |heard, s| {
        heard.verdict = Some(s.message.data);
    })?;
    let mut heard = Heard::default();
    wait_for_launcher(&event_loop, &mut heard, &trigger, args, || {
        // Without a judge on the network there will be no verdict.
        balls.matched().min(if verdict { verdicts.matched() } else { 1 })
    })?;
    trigger.publish(&Float32 { data: speed });
    ensure!(
        event_loop.run_until(&mut heard, args.timeout, |heard| heard.ball.is_some())?,
        "the launcher did not throw within {:?}",
        args.timeout,
    );
    let ball = Ball::from_array(heard.ball.as_deref().unwrap_or_default())?;
    let mut report = json!({"released": ball.released, "position": as_array(&ball.position), "velocity": as_array(&ball.velocity)});
    if !args.json {
        let [vx, vy, vz] = as_array(&ball.velocity);
        println!("thrown at t = {:.3} s with velocity ({vx:.3}, {vy:.3}, {vz:.3}) m/s", ball.released);
    }
    let mut code = ExitCode::SUCCESS;
    if verdict {
        ensure!(
            event_loop.run_until(&mut heard, VERDICT_PATIENCE, |heard| heard.verdict.is_some())?,
            "no verdict within {VERDICT_PATIENCE:?}",
        );
        let text = heard.verdict.unwrap_or_default();
        let verdict: serde_json::Value = serde_json::from_str(&text)?;
        if verdict["caught"] != true {
            code = ExitCode::from(MISSED);
        }
        if !args.json {
            let reason = verdict["reason"].as_str().map(|r| format!(" ({r})")).unwrap_or_default();
            let outcome = match (verdict["caught"] == true, verdict["attempted"] == true) {
                (true, _) => "caught",
                (false, true) => "missed",
                (false, false) => "not attempted",
            };
            println!("{outcome}{reason}");
        }
        report["verdict"] = verdict;
    }
    if args.json {
        println!("{report}");
    }
    Ok(code)
}

fn as_array(vector: &rosless_arm::Vector3<f64>) -> [f64; 3] {
    (*vector).into()
}

fn usage(reason: impl std::fmt::Display) -> anyhow::Error {
    UsageError::new(reason.to_string()).exit()
}

fn client(settings: Settings) -> Result<(Node, EventLoop<Heard>)> {
    let context = Context::new(settings)?;
    // Two people may aim at the same time; nodes should not share a name.
    let node = context.node(&format!("shooter_command_{}", std::process::id()))?;
    Ok((node, EventLoop::new(&context)?))
}

/// Nothing is published before somebody listens: a message into the void would look like a launcher that refuses.
fn wait_for_launcher<M: Message>(
    event_loop: &EventLoop<Heard>,
    heard: &mut Heard,
    publisher: &Publisher<M>,
    args: &ClientArgs,
    answers: impl Fn() -> usize,
) -> Result<()> {
    let ready = event_loop.run_until(heard, args.timeout, |_| publisher.matched() > 0 && answers() > 0)?;
    if ready {
        return Ok(event_loop.settle(heard, publisher.raw())?);
    }
    let missing =
        if publisher.matched() == 0 { "nobody listens on" } else { "nobody will answer a message on" };
    Err(anyhow!(
        "{missing} {} (waited {:?}): is `shooter run` running, with the same ROS_DOMAIN_ID?",
        publisher.topic(),
        args.timeout,
    ))
}
