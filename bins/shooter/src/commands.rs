//! Commands that talk to a running launcher: wait until it is there, send, wait for its answer.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use rosless_arm::{Ball, Launcher, Shooter};
use rosless_graph::{
    Context, EventLoop, Node, Publisher, Qos,
    config::{Settings, UsageError},
    console::answer,
};
use rosless_wire::{
    Message,
    std_msgs::msg::{Float32, Float32MultiArray, String as Text},
};
use serde_json::{Value, json};

use crate::ClientArgs;

const VERDICT_PATIENCE: Duration = Duration::from_secs(10);
const MISSED: u8 = 3;

/// More verdicts than this do not arrive while one ball flies.
const MOST_VERDICTS: usize = 1000;

/// What has been heard so far.
#[derive(Default)]
struct Heard {
    state: Option<Vec<f32>>,
    /// The speed asked for, once it was.
    asked: Option<f32>,
    /// The first ball with that speed.
    ball: Option<Ball>,
    /// All that were heard since, because ours may arrive before its ball.
    verdicts: Vec<Value>,
}

impl Heard {
    /// Others may throw too: ours is the ball with the speed that was asked for.
    fn hear_ball(&mut self, data: &[f32]) {
        if let (Some(speed), None, Ok(ball)) = (self.asked, self.ball, Ball::from_array(data))
            && (ball.velocity.norm() / f64::from(speed) - 1.0).abs() < 1e-5
        {
            self.ball = Some(ball);
        }
    }

    fn hear_verdict(&mut self, text: &str) {
        if let (Some(_), Ok(verdict)) = (self.asked, serde_json::from_str(text))
            && self.verdicts.len() < MOST_VERDICTS
        {
            self.verdicts.push(verdict);
        }
    }

    /// The verdict on our ball.
    fn verdict(&self) -> Option<&Value> {
        let released = self.ball?.released as f32;
        self.verdicts.iter().find(|verdict| verdict["released"].as_f64().map(|t| t as f32) == Some(released))
    }
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
    wait_for_launcher(&event_loop, &mut heard, &input, args, || {
        (answers.matched() == 0).then_some(LAUNCHER)
    })?;
    input.publish(&Float32MultiArray { data: wanted.to_vec(), ..Default::default() });
    let is_there = |heard: &mut Heard| heard.state.as_deref() == Some(&expected[..]);
    ensure!(
        event_loop.run_until(&mut heard, args.timeout, is_there)?,
        "the launcher did not move to {expected:?} within {:?}; it reports {:?}",
        args.timeout,
        heard.state,
    );
    let [x, z, phi, psi] = expected;
    answer(&if args.json {
        format!("{}\n", json!({"x": x, "z": z, "phi": phi, "psi": psi, "clamped": expected != wanted}))
    } else {
        let note = if expected == wanted { "" } else { " (moved into range)" };
        format!("launcher at x {x} m, z {z} m, heading {phi} rad, elevation {psi} rad{note}\n")
    })?;
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
        |heard, s| heard.hear_ball(&s.message.data),
    )?;
    let verdicts = event_loop.subscribe::<Text>(&node, "catch_verdict", Qos::default(), |heard, s| {
        heard.hear_verdict(&s.message.data);
    })?;
    let mut heard = Heard::default();
    wait_for_launcher(&event_loop, &mut heard, &trigger, args, || {
        if balls.matched() == 0 {
            Some(LAUNCHER)
        } else {
            (verdict && verdicts.matched() == 0).then_some(ARM)
        }
    })?;
    heard.asked = Some(speed);
    trigger.publish(&Float32 { data: speed });
    ensure!(
        event_loop.run_until(&mut heard, args.timeout, |heard| heard.ball.is_some())?,
        "the launcher did not throw at {speed} m/s within {:?}",
        args.timeout,
    );
    let ball = heard.ball.context("a ball was thrown")?;
    let mut report = json!({"released": ball.released, "position": as_array(&ball.position), "velocity": as_array(&ball.velocity)});
    if !args.json {
        let [vx, vy, vz] = as_array(&ball.velocity);
        let t = ball.released;
        answer(&format!("thrown at t = {t:.3} s with velocity ({vx:.3}, {vy:.3}, {vz:.3}) m/s\n"))?;
    }
    let mut code = ExitCode::SUCCESS;
    if verdict {
        event_loop.run_until(&mut heard, VERDICT_PATIENCE, |heard| heard.verdict().is_some())?;
        let Some(verdict) = heard.verdict() else {
            bail!("no verdict on this throw within {VERDICT_PATIENCE:?}: is `sim-arm run` still running?");
        };
        let reason = verdict["reason"].as_str().unwrap_or_default();
        let outcome = match (verdict["caught"].as_bool(), verdict["attempted"] == true) {
            (Some(true), _) => "caught",
            (Some(false), true) => "missed",
            (Some(false), false) => "not attempted",
            // The hand closed, but nobody could say whether around the ball.
            (None, _) => bail!("{reason}"),
        };
        if outcome != "caught" {
            code = ExitCode::from(MISSED);
        }
        if !args.json {
            let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
            answer(&format!("{outcome}{reason}\n"))?;
        }
        report["verdict"] = verdict.clone();
    }
    if args.json {
        answer(&format!("{report}\n"))?;
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

/// Who may be missing, as far as a command can tell.
const LAUNCHER: (&str, &str) = ("nobody will answer a message on", "shooter run");
const ARM: (&str, &str) = ("nobody will judge the catch after a message on", "sim-arm run");

/// Nothing is published before somebody listens: a message into the void would look like a launcher that refuses.
/// `missing` says who is not there yet to answer.
fn wait_for_launcher<M: Message>(
    event_loop: &EventLoop<Heard>,
    heard: &mut Heard,
    publisher: &Publisher<M>,
    args: &ClientArgs,
    missing: impl Fn() -> Option<(&'static str, &'static str)>,
) -> Result<()> {
    let missing = || {
        if publisher.matched() == 0 { Some(("nobody listens on", LAUNCHER.1)) } else { missing() }
    };
    event_loop.run_until(heard, args.timeout, |_| missing().is_none())?;
    let Some((what, command)) = missing() else {
        return Ok(event_loop.settle(heard, publisher.raw())?);
    };
    bail!(
        "{what} {} (waited {:?}): is `{command}` running, with the same ROS_DOMAIN_ID?",
        publisher.topic(),
        args.timeout,
    )
}
