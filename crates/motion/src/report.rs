//! What the controller tells about itself on topics of its own, as one JSON object per sample.

use rosless_graph::{Gid, SampleInfo, action::GoalId};
use rosless_motion::{Event, ExecutionState, GoalOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The command on a reference topic that an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    pub publisher: Gid,
    pub sequence: i64,
}

impl From<&SampleInfo> for Origin {
    fn from(info: &SampleInfo) -> Self {
        Self { publisher: info.publisher, sequence: info.sequence_number }
    }
}

impl Origin {
    fn add_to(self, mut event: Value) -> Value {
        event["publisher"] = self.publisher.to_string().into();
        event["sequence"] = self.sequence.into();
        event
    }
}

/// The event as it goes out; `origin` is named in the answers to commands.
pub fn event(event: &Event, origin: Option<Origin>) -> Value {
    let answer = |value: Value| match origin {
        Some(origin) => origin.add_to(value),
        None => value,
    };
    match event {
        Event::Accepted { id, warnings } if warnings.is_empty() => {
            answer(json!({"event": "accepted", "id": id}))
        }
        Event::Accepted { id, warnings } => {
            answer(json!({"event": "accepted", "id": id, "warnings": warnings}))
        }
        Event::Refused { reason } => answer(json!({"event": "refused", "reason": reason.to_string()})),
        Event::Started { id } => json!({"event": "started", "id": id}),
        Event::Blended { id, next } => json!({"event": "blended", "id": id, "next": next}),
        Event::Finished { id } => json!({"event": "finished", "id": id}),
        Event::Failed { id, reason } => json!({"event": "failed", "id": id, "reason": reason}),
        Event::Discarded { id, reason } => json!({"event": "discarded", "id": id, "reason": reason}),
        Event::Note { id, text } => json!({"event": "note", "id": id, "text": text}),
    }
}

/// STOP or RESET_STOP was carried out: they have no id, because they do not wait in the queue.
pub fn obeyed(origin: Origin) -> Value {
    origin.add_to(json!({"event": "obeyed"}))
}

pub fn goal_accepted(goal: GoalId, primitives: usize) -> Value {
    json!({"event": "goal_accepted", "goal": goal.to_string(), "primitives": primitives})
}

pub fn goal_rejected(goal: GoalId, reason: &str) -> Value {
    json!({"event": "goal_rejected", "goal": goal.to_string(), "reason": reason})
}

pub fn goal_ended(goal: GoalId, outcome: &GoalOutcome) -> Value {
    let goal = goal.to_string();
    match outcome {
        GoalOutcome::Succeeded => json!({"event": "goal_succeeded", "goal": goal}),
        GoalOutcome::Canceled => json!({"event": "goal_canceled", "goal": goal}),
        GoalOutcome::Aborted(reason) => json!({"event": "goal_aborted", "goal": goal, "reason": reason}),
    }
}

/// Why an event says that something did not go well.
pub fn reason_of(event: &Value) -> String {
    event["reason"].as_str().unwrap_or("no reason given").to_owned()
}

/// An event for people.
pub fn describe(event: &Value) -> String {
    let name = event["event"].as_str().unwrap_or("?");
    let mut text = match (event["id"].as_u64(), event["next"].as_u64()) {
        (None, _) => format!("{name:<10}"),
        (Some(id), None) => format!("{name:<10} {id:>3}"),
        (Some(id), Some(next)) => format!("{name:<10} {id:>3} into {next}"),
    };
    for key in ["reason", "text", "goal"] {
        if let Some(detail) = event[key].as_str() {
            text.push_str(&format!("  {detail}"));
        }
    }
    for warning in event["warnings"].as_array().into_iter().flatten() {
        text.push_str(&format!("  warning: {}", warning.as_str().unwrap_or_default()));
    }
    text.trim_end().to_owned()
}

/// `~/queue`: all one must know before sending the next primitive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueStatus {
    /// The robot's state by name.
    pub state: String,
    /// Primitives that wait.
    pub depth: usize,
    /// Primitives that may wait.
    pub size: usize,
    /// Whether the robot takes the next primitive.
    pub ready: bool,
    /// Whether the controller takes commands.
    pub active: bool,
}

impl QueueStatus {
    /// Something waits or the robot moves.
    pub fn is_busy(&self) -> bool {
        let moves = [ExecutionState::Executing, ExecutionState::Stopping];
        self.depth > 0 || moves.iter().any(|state| state.name() == self.state)
    }

    /// The robot needs STOP and RESET_STOP, or RESET_STOP, before it moves again.
    pub fn is_halted(&self) -> bool {
        [ExecutionState::Error, ExecutionState::Stopping, ExecutionState::Stopped]
            .iter()
            .any(|state| state.name() == self.state)
    }
}
