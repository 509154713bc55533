//! What a controller tells about itself on topics of its own, and what a client understands: one JSON object per sample, one
//! type for both sides.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Event, ExecutionState, GoalOutcome, PrimitiveId, Refusal};

/// The command on a reference topic that an answer is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The publisher's gid as text.
    pub publisher: String,
    /// The number of its sample, from 1.
    pub sequence: i64,
}

/// Why a primitive was refused, as far as a client can do something about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The same primitive may be taken later.
    QueueFull,
    #[default]
    Other,
}

/// `~/events`: what happened to a primitive or a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Report {
    Accepted {
        id: PrimitiveId,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
        #[serde(flatten)]
        origin: Option<Origin>,
    },
    Refused {
        #[serde(default)]
        cause: Cause,
        reason: String,
        #[serde(flatten)]
        origin: Option<Origin>,
    },
    /// STOP or RESET_STOP was carried out: they have no id, because they do not wait in the queue.
    Obeyed {
        #[serde(flatten)]
        origin: Option<Origin>,
    },
    Started {
        id: PrimitiveId,
    },
    /// `next` began before `id` was at its target.
    Blended {
        id: PrimitiveId,
        next: PrimitiveId,
    },
    Finished {
        id: PrimitiveId,
    },
    Failed {
        id: PrimitiveId,
        reason: String,
    },
    Discarded {
        id: PrimitiveId,
        reason: String,
    },
    Note {
        id: PrimitiveId,
        text: String,
    },
    GoalAccepted {
        goal: String,
        primitives: usize,
    },
    GoalRejected {
        goal: String,
        reason: String,
    },
    GoalSucceeded {
        goal: String,
    },
    GoalCanceled {
        goal: String,
    },
    GoalAborted {
        goal: String,
        reason: String,
    },
}

impl Report {
    /// The engine's event as it goes out; `origin` is named in the answers to commands.
    pub fn new(event: &Event, origin: Option<Origin>) -> Self {
        match event.clone() {
            Event::Accepted { id, warnings } => Self::Accepted { id, warnings, origin },
            Event::Refused { reason } => {
                let cause =
                    if matches!(reason, Refusal::QueueFull(_)) { Cause::QueueFull } else { Cause::Other };
                Self::Refused { cause, reason: reason.to_string(), origin }
            }
            Event::Started { id } => Self::Started { id },
            Event::Blended { id, next } => Self::Blended { id, next },
            Event::Finished { id } => Self::Finished { id },
            Event::Failed { id, reason } => Self::Failed { id, reason },
            Event::Discarded { id, reason } => Self::Discarded { id, reason },
            Event::Note { id, text } => Self::Note { id, text },
        }
    }

    /// A goal's end.
    pub fn goal_ended(goal: String, outcome: &GoalOutcome) -> Self {
        match outcome.clone() {
            GoalOutcome::Succeeded => Self::GoalSucceeded { goal },
            GoalOutcome::Canceled => Self::GoalCanceled { goal },
            GoalOutcome::Aborted(reason) => Self::GoalAborted { goal, reason },
        }
    }

    /// The command that it answers.
    pub fn origin(&self) -> Option<&Origin> {
        match self {
            Self::Accepted { origin, .. } | Self::Refused { origin, .. } | Self::Obeyed { origin } => {
                origin.as_ref()
            }
            _ => None,
        }
    }

    /// The primitive that it is about.
    pub fn id(&self) -> Option<PrimitiveId> {
        match self {
            Self::Accepted { id, .. }
            | Self::Started { id }
            | Self::Blended { id, .. }
            | Self::Finished { id }
            | Self::Failed { id, .. }
            | Self::Discarded { id, .. }
            | Self::Note { id, .. } => Some(*id),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Accepted { .. } => "accepted",
            Self::Refused { .. } => "refused",
            Self::Obeyed { .. } => "obeyed",
            Self::Started { .. } => "started",
            Self::Blended { .. } => "blended",
            Self::Finished { .. } => "finished",
            Self::Failed { .. } => "failed",
            Self::Discarded { .. } => "discarded",
            Self::Note { .. } => "note",
            Self::GoalAccepted { .. } => "goal_accepted",
            Self::GoalRejected { .. } => "goal_rejected",
            Self::GoalSucceeded { .. } => "goal_succeeded",
            Self::GoalCanceled { .. } => "goal_canceled",
            Self::GoalAborted { .. } => "goal_aborted",
        }
    }

    /// As it travels.
    pub fn to_json(&self) -> String {
        // Every value of this type has a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// As it arrives.
    ///
    /// # Errors
    /// When it is no report.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// For people.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match (self.id(), self) {
            (None, Self::Obeyed { .. }) => f.write_str(name)?,
            (None, _) => write!(f, "{name:<10}")?,
            (Some(id), Self::Blended { next, .. }) => write!(f, "{name:<10} {id:>3} into {next}")?,
            (Some(id), _) => write!(f, "{name:<10} {id:>3}")?,
        }
        match self {
            Self::Refused { reason, .. } | Self::Failed { reason, .. } | Self::Discarded { reason, .. } => {
                write!(f, "  {reason}")
            }
            Self::Note { text, .. } => write!(f, "  {text}"),
            Self::GoalRejected { goal, reason } | Self::GoalAborted { goal, reason } => {
                write!(f, "  {reason}  {goal}")
            }
            Self::GoalAccepted { goal, .. } | Self::GoalSucceeded { goal } | Self::GoalCanceled { goal } => {
                write!(f, "  {goal}")
            }
            Self::Accepted { warnings, .. } => {
                warnings.iter().try_for_each(|warning| write!(f, "  warning: {warning}"))
            }
            _ => Ok(()),
        }
    }
}

/// `~/queue`: all one must know before sending the next primitive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueStatus {
    /// What the robot does.
    pub state: ExecutionState,
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
        self.depth > 0 || matches!(self.state, ExecutionState::Executing | ExecutionState::Stopping)
    }

    /// The robot needs STOP and RESET_STOP, or RESET_STOP, before it moves again.
    pub fn is_halted(&self) -> bool {
        matches!(self.state, ExecutionState::Error | ExecutionState::Stopping | ExecutionState::Stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Option<Origin> {
        Some(Origin { publisher: "01.0f".into(), sequence: 3 })
    }

    #[test]
    fn every_report_survives_the_way_and_keeps_its_form() {
        let goal = || "0a".to_owned();
        for (report, json) in [
            (
                Report::new(&Event::Accepted { id: 7, warnings: vec![] }, origin()),
                r#"{"event":"accepted","id":7,"publisher":"01.0f","sequence":3}"#,
            ),
            (
                Report::new(&Event::Accepted { id: 7, warnings: vec!["slow".into()] }, None),
                r#"{"event":"accepted","id":7,"warnings":["slow"]}"#,
            ),
            (
                Report::new(&Event::Refused { reason: Refusal::QueueFull(2) }, origin()),
                r#"{"event":"refused","cause":"queue_full","reason":"the queue is full (2 primitives)","publisher":"01.0f","sequence":3}"#,
            ),
            (Report::Obeyed { origin: origin() }, r#"{"event":"obeyed","publisher":"01.0f","sequence":3}"#),
            (Report::new(&Event::Blended { id: 1, next: 2 }, None), r#"{"event":"blended","id":1,"next":2}"#),
            (
                Report::goal_ended(goal(), &GoalOutcome::Aborted("why".into())),
                r#"{"event":"goal_aborted","goal":"0a","reason":"why"}"#,
            ),
            (Report::goal_ended(goal(), &GoalOutcome::Canceled), r#"{"event":"goal_canceled","goal":"0a"}"#),
        ] {
            assert_eq!(report.to_json(), json);
            assert_eq!(Report::from_json(json).unwrap(), report);
        }
    }

    #[test]
    fn hostile_text_is_an_error_and_old_controllers_are_understood() {
        for text in ["", "{}", "[]", r#"{"event":"flown"}"#, r#"{"event":"started","id":-1}"#] {
            assert!(Report::from_json(text).is_err(), "{text}");
        }
        let old = Report::from_json(r#"{"event":"refused","reason":"no"}"#).unwrap();
        assert_eq!(old, Report::Refused { cause: Cause::Other, reason: "no".into(), origin: None });
    }

    #[test]
    fn people_read_lines() {
        for (report, line) in [
            (
                Report::Accepted { id: 0, warnings: vec!["x".into()], origin: None },
                "accepted     0  warning: x",
            ),
            (Report::Blended { id: 1, next: 2 }, "blended      1 into 2"),
            (Report::Failed { id: 12, reason: "joint 1".into() }, "failed      12  joint 1"),
            (Report::Obeyed { origin: None }, "obeyed"),
        ] {
            assert_eq!(report.to_string(), line);
        }
    }
}
