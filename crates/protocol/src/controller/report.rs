//! What a request came to, system by system, in words a person can act on.

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::{
    clock::{Offset, Reading},
    dialect::Dialect,
    message::{Command, State},
    name::SystemId,
};

/// How a system is known to be in the asked state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It acknowledged, and its lifecycle state agrees.
    Acknowledged,
    /// No acknowledgement was heard, but its lifecycle state says so.
    StateOnly,
    /// It acknowledged and has no lifecycle services that could be asked (ROS 1 behind a bridge).
    AckOnly,
}

/// Why a system is not in the asked state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what the sentence above each speaks of")]
pub enum Failure {
    /// Nobody announced this name.
    Unknown,
    /// Announced, but its control subscription never matched our publisher.
    Unreachable,
    /// The time was up before the command could be sent.
    NotAsked,
    /// Neither an acknowledgement nor a lifecycle state came back.
    NoAnswer,
    /// It acknowledged, and does not tell its state.
    Unconfirmed,
    /// Its state is the one asked for, but the opposite command, sent a moment before, is not answered.
    InDoubt,
    /// It is in a state from which the command is not possible, so it was not sent.
    WrongState(State),
    /// It was sent the command, yet stays where it was until the deadline.
    Refused(State),
    /// It began the transition and fell back to where it was.
    Aborted(State),
    /// It acknowledged, yet its lifecycle state did not follow.
    FalseAck(State),
    /// It was still on the way at the deadline.
    Slow(State),
    /// It left while the command was under way.
    Gone,
    /// More than one living process goes by this name, so whose answers and states these are is not known.
    Ambiguous,
    /// A newer command replaced this one.
    Superseded,
    /// It is active in another session, this one.
    OtherSession(String),
    /// It is ready, but was not started because others are not.
    Withheld,
    /// It was started and, because another one failed, stopped again, or was to be.
    Undone { stopped: bool },
    /// It was to be stopped before it is started, and was not.
    NotStopped,
    /// It is expected to take part and was not asked to.
    NotMeant,
    /// Another request had it until the time was up.
    Busy,
    /// The request was ended before it was known.
    Cancelled,
}

/// What a system's own log says about its failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The line.
    pub text: String,
    /// How long before the report.
    pub before: Duration,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' (its log, {:.0} ms before)",
            self.text.escape_debug(),
            self.before.as_secs_f64() * 1e3
        )
    }
}

/// The end of one command for one system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the asked state, and this is how that is known.
    Done(Proof),
    /// It was in the asked state before it was asked, or, for a stop, in this one that needs none.
    Already(State),
    /// It is not, or nobody knows.
    Failed(Failure),
}

impl Outcome {
    /// Whether the system is in the asked state.
    pub fn is_success(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

/// One system's line of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemResult {
    /// How it ended.
    pub outcome: Outcome,
    /// What it speaks, if it is known.
    pub dialect: Option<Dialect>,
    /// The session it is in now, as far as is known.
    pub session: Option<String>,
    /// Why it failed, in its own words.
    pub reason: Option<Reason>,
    /// How often it was asked.
    pub attempts: u32,
    /// From first asking to its acknowledgement.
    pub answered_after: Option<Duration>,
    /// The originals' measure, receive time minus stamp, in nanoseconds: offset and latency in one.
    pub elapsed: Option<i64>,
    /// What is known of its clock.
    pub clock: Reading,
    /// It started by itself at the instant agreed on.
    pub armed: bool,
    /// Acknowledgements beyond the first.
    pub duplicates: u32,
}

/// The end of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Number that [`Controller::request`](super::Controller::request) gave.
    pub request: u64,
    /// What was asked.
    pub command: Command,
    /// The session it was asked for.
    pub session: String,
    /// Every asked system, by name.
    pub results: BTreeMap<SystemId, SystemResult>,
    /// Control messages published.
    pub messages: u32,
    /// From the request to its end.
    pub took: Duration,
    /// From the first control message, or the instant agreed on, to the last acknowledgement counted.
    pub last_answer_after: Option<Duration>,
    /// How far apart the stamps of the acknowledgements are, each reckoned to our clock, and how sure that is.
    pub spread: Option<Offset>,
}

impl Report {
    /// Every asked system is in the asked state, and at least one was asked.
    pub fn is_success(&self) -> bool {
        !self.results.is_empty() && self.results.values().all(|r| r.outcome.is_success())
    }

    /// The systems that are not in the asked state.
    pub fn failures(&self) -> impl Iterator<Item = (&SystemId, &Failure)> {
        self.results.iter().filter_map(|(id, r)| match &r.outcome {
            Outcome::Failed(failure) => Some((id, failure)),
            _ => None,
        })
    }
}

impl Failure {
    /// One word for tables and scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Unreachable => "unreachable",
            Self::NotAsked => "not_asked",
            Self::NoAnswer => "no_answer",
            Self::Unconfirmed => "unconfirmed",
            Self::InDoubt => "in_doubt",
            Self::WrongState(_) => "wrong_state",
            Self::Refused(_) => "refused",
            Self::Aborted(_) => "transition_failed",
            Self::FalseAck(_) => "false_ack",
            Self::Slow(_) => "slow",
            Self::Gone => "gone",
            Self::Ambiguous => "ambiguous",
            Self::Superseded => "superseded",
            Self::OtherSession(_) => "other_session",
            Self::Withheld => "withheld",
            Self::Undone { .. } => "undone",
            Self::NotStopped => "not_stopped",
            Self::NotMeant => "not_meant",
            Self::Busy => "busy",
            Self::Cancelled => "cancelled",
        }
    }

    /// The system itself may have said why.
    pub fn has_reason(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Aborted(_) | Self::FalseAck(_))
    }

    /// What is wrong and what to do about it.
    ///
    /// `environment` and `control` are the topics on which the system was looked for.
    pub fn explain(&self, system: &SystemId, command: Command, environment: &str, control: &str) -> String {
        let (verb, full) = (command.verb(), system.as_str());
        let transition = if command == Command::Start { "activation" } else { "deactivation" };
        match self {
            Self::Unknown => format!(
                "not announced on {environment}: is it running, configured, and in this ROS_DOMAIN_ID?"
            ),
            Self::Unreachable => format!(
                "announced, but its {control} subscription is not matched: check QoS, remapping and the network"
            ),
            Self::NotAsked => {
                format!("the time was up before {verb} could be sent: allow more with --timeout")
            }
            Self::NoAnswer => format!(
                "no acknowledgement and no answer from {full}/get_state: is the process stuck or its machine gone?"
            ),
            Self::Unconfirmed => format!(
                "acknowledged, but {full}/get_state does not answer, so whether it did is not known: ask for its status"
            ),
            Self::InDoubt => format!(
                "its state is as asked for, but it has not answered the opposite command of a moment ago and may follow \
                 it yet: {verb} it again"
            ),
            Self::WrongState(State::Unconfigured) => {
                format!("not configured yet: run `ros2 lifecycle set {full} configure`, then {verb} again")
            }
            Self::WrongState(State::Finalized) => "shut down (finalized): restart its process".to_owned(),
            Self::WrongState(state) => format!("cannot {verb} in state {}", state.label()),
            Self::Refused(state) => format!(
                "still {} and no acknowledgement: its {transition} failed or takes longer; see its own log, or allow \
                 more time with --timeout",
                state.label()
            ),
            Self::Aborted(State::Inactive) => {
                "configured but not active: its activation failed; its own log says why".to_owned()
            }
            Self::Aborted(state) => {
                format!("still {}: its {transition} failed; its own log says why", state.label())
            }
            Self::FalseAck(state) => {
                format!(
                    "acknowledged, but its state is {}: the transition failed; see its own log",
                    state.label()
                )
            }
            Self::Slow(state) => {
                format!("still {} at the deadline: allow more time with --timeout", state.label())
            }
            Self::Gone => "left the network while it was asked: restart it".to_owned(),
            Self::Ambiguous => format!(
                "two systems are called {full}, and which of them answers is not known: rename one with --ros-args -r \
                 __node:=NAME; if one has just been killed, try again in 10 s"
            ),
            Self::Superseded => format!("a newer command replaced this {verb}"),
            Self::OtherSession(running) => format!(
                "it is in session {running:?}: stop it first, or start it anew with --restart; nobody was started"
            ),
            Self::Withheld => "not started, because others are missing or not ready".to_owned(),
            Self::Undone { stopped: true } => "started, and stopped again because others failed".to_owned(),
            Self::Undone { stopped: false } => {
                "started; it was to be stopped again because others failed, and did not stop: stop it by hand"
                    .to_owned()
            }
            Self::NotStopped => "it could not be stopped, so it was not started anew".to_owned(),
            Self::NotMeant => "expected to take part, but not among those to be started".to_owned(),
            Self::Busy => format!("another {verb} of it was under way until the time was up"),
            Self::Cancelled => format!("the {verb} was given up before its answer was known"),
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Acknowledged => "acknowledged",
            Self::StateOnly => "confirmed by its state, no acknowledgement heard",
            Self::AckOnly => "acknowledged, no lifecycle service to confirm",
        })
    }
}
