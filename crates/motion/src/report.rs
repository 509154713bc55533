//! What a controller tells about itself on topics of its own, and what a client understands: one JSON object per sample, one
//! type for both sides.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ExecutionState, Fault, GoalOutcome, PrimitiveId, Refusal};

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
    /// It never will be, as it is.
    #[default]
    Other,
}

/// What becomes of a primitive that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Progress {
    /// The robot begins it.
    Started {
        /// Which primitive.
        id: PrimitiveId,
    },
    /// `next` began before `id` was at its target.
    Blended {
        /// Which primitive.
        id: PrimitiveId,
        /// The one it goes over into.
        next: PrimitiveId,
    },
    /// The robot is at its target, or past the blend that stands for it.
    Finished {
        /// Which primitive.
        id: PrimitiveId,
    },
    /// The robot could not do it and is in ERROR.
    Failed {
        /// Which primitive.
        id: PrimitiveId,
        /// Why.
        reason: String,
    },
    /// Accepted, but will not be executed.
    Discarded {
        /// Which primitive.
        id: PrimitiveId,
        /// Why.
        reason: String,
    },
    /// Something worth knowing.
    Note {
        /// Which primitive.
        id: PrimitiveId,
        /// What.
        text: String,
    },
}

impl Progress {
    /// The primitive that it is about.
    pub fn id(&self) -> PrimitiveId {
        match self {
            Self::Started { id }
            | Self::Blended { id, .. }
            | Self::Finished { id }
            | Self::Failed { id, .. }
            | Self::Discarded { id, .. }
            | Self::Note { id, .. } => *id,
        }
    }
}

/// The life of primitives as the engine tells it: the answer to each message, then its progress.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It will be executed.
    Accepted {
        /// Its number from now on.
        id: PrimitiveId,
        /// What its sender should know.
        warnings: Vec<String>,
    },
    /// It will not.
    Refused {
        /// Why.
        reason: Refusal,
    },
    /// What became of one that was accepted.
    Progress(Progress),
}

/// `~/events`: what happened to a primitive or a goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Report {
    /// A message was accepted.
    Accepted {
        /// Its number from now on.
        id: PrimitiveId,
        /// What its sender should know.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
        /// The message.
        #[serde(flatten)]
        origin: Option<Origin>,
    },
    /// A message was refused.
    Refused {
        /// What can be done about it.
        #[serde(default)]
        cause: Cause,
        /// In words.
        reason: String,
        /// The message.
        #[serde(flatten)]
        origin: Option<Origin>,
    },
    /// STOP or RESET_STOP was carried out: they have no id, because they do not wait in the queue.
    Obeyed {
        /// The message.
        #[serde(flatten)]
        origin: Option<Origin>,
    },
    /// The robot has a fault, or none any more.
    Fault {
        /// What is wrong.
        fault: Option<Fault>,
    },
    /// A goal was accepted.
    GoalAccepted {
        /// Its id.
        goal: String,
        /// How many it has.
        primitives: usize,
    },
    /// A goal was rejected.
    GoalRejected {
        /// Its id.
        goal: String,
        /// Why.
        reason: String,
    },
    /// All of a goal was done.
    GoalSucceeded {
        /// Its id.
        goal: String,
    },
    /// A goal was taken back, and the robot stands.
    GoalCanceled {
        /// Its id.
        goal: String,
    },
    /// A goal failed.
    GoalAborted {
        /// Its id.
        goal: String,
        /// Why.
        reason: String,
    },
    /// What became of a primitive that was accepted.
    #[serde(untagged)]
    Progress(Progress),
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
            Event::Progress(progress) => Self::Progress(progress),
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
            Self::Accepted { id, .. } => Some(*id),
            Self::Progress(progress) => Some(progress.id()),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Accepted { .. } => "accepted",
            Self::Refused { .. } => "refused",
            Self::Obeyed { .. } => "obeyed",
            Self::Fault { .. } => "fault",
            Self::Progress(progress) => match progress {
                Progress::Started { .. } => "started",
                Progress::Blended { .. } => "blended",
                Progress::Finished { .. } => "finished",
                Progress::Failed { .. } => "failed",
                Progress::Discarded { .. } => "discarded",
                Progress::Note { .. } => "note",
            },
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
            (Some(id), Self::Progress(Progress::Blended { next, .. })) => {
                write!(f, "{name:<10} {id:>3} into {next}")?
            }
            (Some(id), _) => write!(f, "{name:<10} {id:>3}")?,
        }
        match self {
            Self::Refused { reason, .. }
            | Self::Progress(Progress::Failed { reason, .. } | Progress::Discarded { reason, .. }) => {
                write!(f, "  {reason}")
            }
            Self::Progress(Progress::Note { text, .. }) => write!(f, "  {text}"),
            Self::Fault { fault: Some(fault) } => write!(f, "  {fault}"),
            Self::Fault { fault: None } => f.write_str("  none any more"),
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Whether the robot is held on its path until somebody resumes.
    #[serde(default)]
    pub paused: bool,
    /// The share of the speed it moves with, 0 to 1.
    #[serde(default = "full_speed")]
    pub speed: f64,
    /// Why the robot does not move, if it has a fault: for whoever comes after it was told on `~/events`.
    #[serde(default)]
    pub fault: Option<Fault>,
}

fn full_speed() -> f64 {
    1.0
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
            (
                Report::Progress(Progress::Blended { id: 1, next: 2 }),
                r#"{"event":"blended","id":1,"next":2}"#,
            ),
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
            (Report::Progress(Progress::Blended { id: 1, next: 2 }), "blended      1 into 2"),
            (
                Report::Progress(Progress::Failed { id: 12, reason: "joint 1".into() }),
                "failed      12  joint 1",
            ),
            (Report::Obeyed { origin: None }, "obeyed"),
        ] {
            assert_eq!(report.to_string(), line);
        }
    }
}
