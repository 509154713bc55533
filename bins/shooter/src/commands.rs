//! Commands that talk to a running launcher: wait until it is there, send, wait for its answer.

use std::time::Duration;

use rosless_arm::{Launcher, Shooter, ThrowWatch, verdict::Outcome};
use rosless_cli::{Failure, Result, Session, out, output};
use rosless_graph::{Publisher, TopicQos, config::Settings};
use rosless_wire::{
    Message,
    std_msgs::msg::{Float32, Float32MultiArray, String as Text},
};
use serde_json::json;

use crate::ClientArguments;

/// What has been heard so far.
#[derive(Default)]
struct Heard {
    state: Option<Vec<f32>>,
    throw: ThrowWatch,
}

/// `shooter aim`
pub(crate) fn aim(settings: &Settings, wanted: [f32; 4], args: &ClientArguments) -> Result<()> {
    let expected = Launcher::from_array(&wanted).map_err(Failure::usage)?.to_array();
    let session = Session::join_as(settings, "shooter_command", Heard::default())?;
    let (node, event_loop) = (&session.node, &session.event_loop);
    let input = node.publisher::<Float32MultiArray>("shooter_state_input")?;
    let answers =
        event_loop.subscribe::<Float32MultiArray>(node, "shooter_state".latched(), |heard, s| {
            heard.state = Some(s.message.data);
        })?;
    wait_for_launcher(&session, &input, args, || (answers.matched() == 0).then_some(LAUNCHER))?;
    session.publish_once(&input, &Float32MultiArray { data: wanted.to_vec(), ..Default::default() })?;
    if !session.wait(args.timeout, |heard| heard.state.as_deref() == Some(&expected[..]))? {
        return Err(Failure::new(format!(
            "the launcher did not move to {expected:?} within {:?}; it reports {:?}",
            args.timeout,
            session.with(|heard| heard.state.clone()),
        )));
    }
    let [x, z, phi, psi] = expected;
    output::answer(&json!({"x": x, "z": z, "phi": phi, "psi": psi, "clamped": expected != wanted}), || {
        let note = if expected == wanted { "" } else { " (moved into range)" };
        format!("launcher at x {x} m, z {z} m, heading {phi} rad, elevation {psi} rad{note}")
    });
    Ok(())
}

/// `shooter fire`
pub(crate) fn fire(settings: &Settings, speed: f32, verdict: bool, args: &ClientArguments) -> Result<()> {
    Shooter::default().fire(speed, Duration::ZERO).map_err(Failure::usage)?;
    let session = Session::join_as(settings, "shooter_command", Heard::default())?;
    let (node, event_loop) = (&session.node, &session.event_loop);
    let trigger = node.publisher::<Float32>("shoot_value")?;
    let balls = event_loop.subscribe::<Float32MultiArray>(node, "ball_initial_state", |heard, s| {
        heard.throw.hear_ball(&s.message.data)
    })?;
    let verdicts = event_loop.subscribe::<Text>(node, "catch_verdict", |heard, s| {
        heard.throw.hear_verdict(&s.message.data);
    })?;
    wait_for_launcher(&session, &trigger, args, || {
        if balls.matched() == 0 {
            Some(LAUNCHER)
        } else {
            (verdict && verdicts.matched() == 0).then_some(ARM)
        }
    })?;
    session.with(|heard| heard.throw.ask(speed));
    trigger.publish(&Float32 { data: speed });
    session.wait(args.timeout, |heard| heard.throw.ball().is_some())?;
    let Some(ball) = session.with(|heard| heard.throw.ball()) else {
        let timeout = args.timeout;
        return Err(Failure::new(format!("the launcher did not throw at {speed} m/s within {timeout:?}")));
    };
    let (position, velocity): ([f64; 3], [f64; 3]) = (ball.position.into(), ball.velocity.into());
    let mut report = json!({"released": ball.released, "position": position, "velocity": velocity});
    if !output::is_json() {
        let ([vx, vy, vz], t) = (velocity, ball.released);
        out!("thrown at t = {t:.3} s with velocity ({vx:.3}, {vy:.3}, {vz:.3}) m/s");
    }
    if !verdict {
        if output::is_json() {
            output::json_line(&report);
        }
        return Ok(());
    }
    session.wait(args.timeout, |heard| heard.throw.verdict().is_some())?;
    let Some(verdict) = session.with(|heard| heard.throw.verdict().cloned()) else {
        return Err(Failure::new(format!(
            "no verdict on this throw within {:?}: is `sim-arm run` still running? --timeout waits longer",
            args.timeout
        )));
    };
    report["verdict"] = json!(verdict);
    let outcome = verdict.outcome();
    if outcome == Outcome::Unknown && !output::is_json() {
        // The hand closed, but nobody could say whether around the ball.
        return Err(Failure::new(verdict.reason.unwrap_or_default()));
    }
    output::answer(&report, || {
        let reason = verdict.reason.map(|reason| format!(" ({reason})"));
        format!("{}{}", outcome.word(), reason.unwrap_or_default())
    });
    if outcome == Outcome::Caught { Ok(()) } else { Err(Failure::told()) }
}

/// Who may be missing, as far as a command can tell.
const LAUNCHER: (&str, &str) = ("nobody will answer a message on", "shooter run");
const ARM: (&str, &str) = ("nobody will judge the catch after a message on", "sim-arm run");

/// Nothing is published before somebody listens: a message into the void would look like a launcher that refuses.
/// `missing` says who is not there yet to answer.
fn wait_for_launcher<M: Message>(
    session: &Session<Heard>,
    publisher: &Publisher<M>,
    args: &ClientArguments,
    missing: impl Fn() -> Option<(&'static str, &'static str)>,
) -> Result<()> {
    let missing = || {
        if publisher.matched() == 0 { Some(("nobody listens on", LAUNCHER.1)) } else { missing() }
    };
    session.run_until(args.timeout, || missing().is_none())?;
    match missing() {
        None => session.settle(publisher.raw()),
        Some((what, command)) => Err(Failure::nobody(format!(
            "{what} {} (waited {:?}): is `{command}` running, with the same ROS_DOMAIN_ID?",
            publisher.topic(),
            args.timeout,
        ))),
    }
}
