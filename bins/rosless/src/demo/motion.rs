//! A robot moves along a square without stopping at its corners: one blended sequence.

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, Instant},
};

use rosless_graph::action::{GoalState, GoalUpdate};
use rosless_wire::{
    control_msgs::{
        action::{ExecuteMotionPrimitiveSequence, ExecuteMotionPrimitiveSequenceGoal},
        msg::MotionPrimitiveSequence,
    },
    sensor_msgs::msg::JointState,
};
use serde_json::json;

use super::{Row, stage::Stage};
use crate::failure::{Failure, Result};

const CONTROLLER: &str = "/motion_primitive_controller";
/// To its first corner and around it, each corner blended with the next: the tests' scenarios have the same one.
const SQUARE: &str = include_str!("../../square.json");
const ANSWER: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
struct Heard {
    primitive: u8,
    end: Option<Result<(GoalState, i32), String>>,
    joint_states: u32,
    /// The slowest the robot was between two corners, as the length of its joint speeds.
    slowest: Option<f64>,
}

pub(super) fn sequence(stage: &Stage, rows: &mut Vec<Row>) -> Result<()> {
    let (events, node) = (&stage.session.event_loop, &stage.session.node);
    let trajectory: MotionPrimitiveSequence =
        serde_json::from_str(SQUARE).map_err(|error| Failure::new(format!("square.json: {error}")))?;
    let primitives = trajectory.motions.len();
    let heard = Rc::new(RefCell::new(Heard::default()));
    let (state, context) = (heard.clone(), stage.session.context.clone());
    events.subscribe::<JointState>(node, "/joint_states", move |(), sample| {
        // The arm publishes its joints here too.
        let publisher = context.graph().node_of(&sample.info.publisher);
        if publisher.is_none_or(|node| node.to_string() != CONTROLLER) {
            return;
        }
        let mut heard = state.borrow_mut();
        heard.joint_states += 1;
        if (2..primitives as u8 - 1).contains(&heard.primitive) && heard.end.is_none() {
            let speed = sample.message.velocity.iter().map(|v| v * v).sum::<f64>().sqrt();
            heard.slowest = Some(heard.slowest.map_or(speed, |slowest| slowest.min(speed)));
        }
    })?;
    let action = format!("{CONTROLLER}/motion_sequence");
    let client = events.action_client::<ExecuteMotionPrimitiveSequence>(node, &action)?;
    stage.wait("the motion controller", ANSWER, || client.is_ready())?;
    let state = heard.clone();
    let began = Instant::now();
    client.send_goal(
        ExecuteMotionPrimitiveSequenceGoal { trajectory },
        ANSWER,
        LONGEST,
        move |(), update| {
            let mut heard = state.borrow_mut();
            match update {
                GoalUpdate::Feedback(feedback) => heard.primitive = feedback.current_primitive_index,
                GoalUpdate::Ended(state, result) => heard.end = Some(Ok((state, result.error_code))),
                GoalUpdate::Rejected => heard.end = Some(Err("the sequence was refused".to_owned())),
                GoalUpdate::Failed(error) => heard.end = Some(Err(error.to_string())),
                GoalUpdate::Accepted(_) | GoalUpdate::Status(_) => {}
            }
        },
    );
    stage.wait("the end of the sequence", ANSWER + LONGEST, || heard.borrow().end.is_some())?;
    let heard = heard.borrow();
    match &heard.end {
        Some(Ok((GoalState::Succeeded, 0))) => {}
        other => return Err(Failure::new(format!("the sequence did not succeed: {other:?}"))),
    }
    let slowest = heard.slowest.unwrap_or_default();
    if slowest < 1e-3 {
        return Err(Failure::new("the robot stopped at a corner: the sequence was not blended"));
    }
    let (seconds, samples) = (began.elapsed().as_secs_f64(), heard.joint_states);
    let figure = format!(
        "{primitives} primitives in {seconds:.1} s, never below {slowest:.2} rad/s at a corner ({samples} joint states)"
    );
    stage.done("blended sequence", &figure);
    let facts =
        json!({"primitives": primitives, "seconds": seconds, "slowest": slowest, "joint_states": samples});
    rows.push(Row { what: "motion", figure, facts });
    Ok(())
}
