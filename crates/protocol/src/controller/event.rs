//! What a controller notices beside the requests it was given.

use std::fmt;

use crate::{
    clock::{Band, Offset},
    message::{Command, State},
    name::SystemId,
};

/// How loud an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Info,
    /// Somebody should know, nothing is lost.
    Warn,
    /// A session is in danger.
    Error,
}

/// Something worth a log line.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are what the sentence above each speaks of")]
pub enum Event {
    /// A system announced itself for the first time, or again after it had left.
    Joined { system: SystemId, topics: Vec<String>, running_session: Option<String> },
    /// A node that can be controlled is there and has announced nothing: it is not configured yet.
    Listening { system: SystemId },
    /// A system is no longer in the session that it was in when it was last watched.
    Ended { system: SystemId, session: String },
    /// A system did not do what another controller told it to.
    Unanswered { system: SystemId, command: Command, source: String, session: String, state: Option<State> },
    /// A system left the graph; `session` is the one it was active in.
    Left { system: SystemId, session: Option<String> },
    /// A system announced other topics than before.
    Topics { system: SystemId, topics: Vec<String> },
    /// Two living processes go by one name.
    Twins { system: SystemId },
    /// A system left the session it was active in, and nobody had told it to stop.
    Dropped { system: SystemId, session: String, state: State },
    /// The lifecycle service of a system that should be there does not answer.
    Unresponsive { system: SystemId, session: Option<String> },
    /// A lifecycle state was learnt.
    State { system: SystemId, from: Option<State>, to: State },
    /// An acknowledgement arrived.
    Answered { system: SystemId, command: Command, elapsed: i64, offset: Option<Offset> },
    /// An acknowledgement arrived whose stamp is of simulated time, so that clocks cannot be compared.
    Simulated { system: SystemId, command: Command },
    /// An acknowledgement arrived after its request had been given up or settled otherwise.
    Late { system: SystemId, command: Command },
    /// A second acknowledgement for one request.
    Duplicate { system: SystemId, command: Command },
    /// An acknowledgement nobody asked for.
    Unexpected { system: SystemId, command: Command },
    /// A system's clock is certainly in another band than was said of it before.
    Clock { system: SystemId, offset: Offset },
    /// One of the two clocks was set.
    ClockStepped { system: SystemId, nanos: i64 },
    /// Another controller spoke.
    Foreign { source: String, command: Command, session: String, systems: Vec<String> },
    /// Systems are asked again.
    Retry { command: Command, systems: Vec<SystemId> },
    /// A message that makes no sense was dropped.
    Malformed(String),
}

impl Event {
    /// How loud it is to be said; of an answer, by how far the clocks are apart.
    pub fn level(&self) -> Level {
        match self {
            Self::Answered { elapsed, offset, .. } => {
                level_of(offset.map_or_else(|| Band::of(*elapsed), Offset::band))
            }
            Self::Clock { offset, .. } => level_of(offset.band()),
            Self::Left { session: Some(_), .. }
            | Self::Unanswered { .. }
            | Self::Dropped { .. }
            | Self::Unresponsive { session: Some(_), .. } => Level::Error,
            Self::Joined { running_session: None, .. }
            | Self::Left { .. }
            | Self::Listening { .. }
            | Self::Simulated { .. }
            | Self::Topics { .. }
            | Self::State { .. }
            | Self::Foreign { .. } => Level::Info,
            _ => Level::Warn,
        }
    }
}

fn level_of(band: Band) -> Level {
    match band {
        Band::Good => Level::Info,
        Band::Deviating => Level::Warn,
        Band::Wrong => Level::Error,
    }
}

fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined { system, topics, running_session } => {
                write!(f, "[{system}] joined with topics {topics:?}")?;
                match running_session {
                    Some(session) => write!(f, "; session {session:?} runs without it"),
                    None => Ok(()),
                }
            }
            Self::Listening { system } => write!(f, "[{system}] is there, but not configured"),
            Self::Ended { system, session } => {
                write!(f, "[{system}] is no longer in session {session:?}, which ended while nobody watched")
            }
            Self::Unanswered { system, command, source, session, state } => {
                let verb = command.verb().to_uppercase();
                write!(f, "[{system}] did not answer the {verb} of {source:?}")?;
                if *command == Command::Start {
                    write!(f, " for session {session:?}")?;
                }
                match state {
                    Some(state) => write!(f, ": it is {}", state.label()),
                    None => f.write_str(", nor does it tell its state"),
                }
            }
            Self::Left { system, session: Some(session) } => {
                write!(f, "[{system}] left while session {session:?} was running")
            }
            Self::Left { system, session: None } => write!(f, "[{system}] left"),
            Self::Topics { system, topics } => write!(f, "[{system}] has other topics now: {topics:?}"),
            Self::Twins { system } => {
                write!(
                    f,
                    "two systems are called {}: their answers cannot be told apart, rename one",
                    system.as_str()
                )
            }
            Self::Dropped { system, session, state } => {
                write!(
                    f,
                    "[{system}] left session {session:?} without being told to: it is {}",
                    state.label()
                )
            }
            Self::Unresponsive { system, session } => {
                write!(f, "[{system}] does not answer on {}/get_state", system.as_str())?;
                match session {
                    Some(session) => write!(f, " while session {session:?} is running"),
                    None => Ok(()),
                }
            }
            Self::State { system, from: Some(from), to } => {
                write!(f, "[{system}] {} -> {}", from.label(), to.label())
            }
            Self::State { system, from: None, to } => write!(f, "[{system}] is {}", to.label()),
            Self::Answered { system, command, elapsed, offset } => {
                write!(f, "[{system}] {} elapsed = {:.6} secs", command.verb(), seconds(*elapsed))?;
                match offset {
                    Some(offset) if offset.certain_band().is_none() && offset.band() > Band::Good => {
                        write!(f, ", clock offset {offset}, whether that is 200 ms or more cannot be told")
                    }
                    Some(offset) => write!(f, ", clock offset {offset}"),
                    None => Ok(()),
                }
            }
            Self::Simulated { system, command } => {
                let verb = command.verb();
                write!(
                    f,
                    "[{system}] {verb} acknowledged on simulated time: its clock cannot be compared with ours"
                )
            }
            Self::Late { system, command } => {
                write!(f, "[{system}] late acknowledgement of {}", command.verb())
            }
            Self::Duplicate { system, command } => {
                write!(f, "[{system}] repeated its acknowledgement of {}", command.verb())
            }
            Self::Unexpected { system, command } => {
                write!(f, "[{system}] acknowledged a {} that nobody sent", command.verb())
            }
            Self::Clock { system, offset } if offset.band() == Band::Good => {
                write!(f, "[{system}] its clock is right again: offset {offset}")
            }
            Self::Clock { system, offset } => write!(f, "[{system}] its clock deviates: offset {offset}"),
            Self::ClockStepped { system, nanos } => {
                write!(f, "[{system}] its clock or ours was set by {:+.3} secs", seconds(*nanos))
            }
            Self::Foreign { source, command, session, systems } => {
                write!(f, "{source:?} sends {} session {session:?} to ", command.verb().to_uppercase())?;
                if systems.is_empty() { f.write_str("all") } else { write!(f, "{systems:?}") }
            }
            Self::Retry { command, systems } => {
                write!(f, "no answer yet, sending {} again to", command.verb().to_uppercase())?;
                systems.iter().try_for_each(|s| write!(f, " {s}"))
            }
            Self::Malformed(what) => write!(f, "dropped a message: {what}"),
        }
    }
}
