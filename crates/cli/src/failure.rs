//! Why a command did not do what it was asked, and the exit code that tells scripts.

use std::{fmt, process::ExitCode};

use serde_json::json;

use crate::output;

/// The exit codes of every program, and nobody has others.
pub mod exit {
    /// What was asked for is done.
    pub const DONE: u8 = 0;
    /// It was asked for and did not happen.
    pub const FAILED: u8 = 1;
    /// It was asked for the wrong way.
    pub const USAGE: u8 = 2;
    /// Nobody is there to ask.
    pub const NOBODY: u8 = 3;
    /// The program itself broke: restart it.
    pub const INTERNAL: u8 = 70;
    /// A signal ended it before it was done.
    pub const INTERRUPTED: u8 = 130;
}

/// The table for `--help`.
pub const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 asked for and did not happen, 2 wrong usage, 3 nobody there to ask, 70 internal failure, \
130 interrupted.
With --json a failure is an object, too: {\"error\": {\"code\": 3, \"kind\": \"nobody\", \"message\": \"…\"}}.
ROS arguments (--ros-args …) and variables (ROS_DOMAIN_ID, …) work as everywhere.";

/// One line for people and a code of [`exit`] for scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One of [`exit`].
    pub code: u8,
    /// Empty when it has been told already.
    pub message: String,
}

/// What commands return.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// It was asked for and did not happen.
    pub fn new(message: impl Into<String>) -> Self {
        Self { code: exit::FAILED, message: message.into() }
    }

    /// What the user typed cannot be done.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { code: exit::USAGE, message: message.to_string() }
    }

    /// Nobody is there to ask.
    pub fn nobody(message: impl Into<String>) -> Self {
        Self { code: exit::NOBODY, message: message.into() }
    }

    /// It did not happen, and what was printed says so.
    pub fn told() -> Self {
        Self::new("")
    }

    /// The same failure, once what was printed as JSON says so, too.
    #[must_use]
    pub fn told_in_json(mut self) -> Self {
        if output::is_json() {
            self.message.clear();
        }
        self
    }

    /// What the user named is not there; the nearest names that are may be what was meant.
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let near = nearest(name, known);
        let remedy = if near.is_empty() {
            format!("; see `rosless {} list`", what.split(' ').next_back().unwrap_or(what))
        } else {
            format!("; did you mean {}?", near.join(" or "))
        };
        Self::nobody(format!("Unknown {what} '{name}'{remedy}"))
    }

    /// Whether a signal was the reason.
    pub fn is_interruption(&self) -> bool {
        self.code == exit::INTERRUPTED
    }

    /// The word for the code.
    pub fn kind(&self) -> &'static str {
        match self.code {
            exit::USAGE => "usage",
            exit::NOBODY => "nobody",
            exit::INTERNAL => "internal",
            exit::INTERRUPTED => "interrupted",
            _ => "failed",
        }
    }

    /// Tells people, or programs where they asked for JSON; the exit code that tells scripts.
    pub fn report(&self) -> ExitCode {
        if self.message.is_empty() {
        } else if output::is_json() {
            let (code, kind, message) = (self.code, self.kind(), &self.message);
            output::json_line(&json!({"error": {"code": code, "kind": kind, "message": message}}));
        } else if self.message != INTERRUPTED {
            output::error(&format!("error: {}", self.message));
        }
        ExitCode::from(self.code)
    }
}

/// What an interrupted event loop says: whoever pressed Ctrl-C knows it.
const INTERRUPTED: &str = "interrupted";

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<rosless_graph::Error> for Failure {
    fn from(error: rosless_graph::Error) -> Self {
        let code = match error {
            rosless_graph::Error::Usage(_) => exit::USAGE,
            rosless_graph::Error::Interrupted => exit::INTERRUPTED,
            _ => exit::FAILED,
        };
        Self { code, message: error.to_string() }
    }
}

impl From<rosless_graph::config::UsageError> for Failure {
    fn from(error: rosless_graph::config::UsageError) -> Self {
        Self::usage(error)
    }
}

impl From<rosless_graph::CallError> for Failure {
    fn from(error: rosless_graph::CallError) -> Self {
        match error {
            rosless_graph::CallError::NoServer(_) => Self::nobody(error.to_string()),
            other => Self::new(other.to_string()),
        }
    }
}

impl From<rosless_schema::SchemaError> for Failure {
    fn from(error: rosless_schema::SchemaError) -> Self {
        Self::new(format!("{error} (types come from the built-in definitions and --idl DIR)"))
    }
}

/// At most three names that look like `name`, best first.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut scored: Vec<_> = known
        .into_iter()
        .map(|known| {
            // The right name in another namespace is the likeliest mistake.
            let score = if last(known) == last(name) { 1.0 } else { strsim::jaro_winkler(name, known) };
            (score, known)
        })
        .filter(|(score, _)| *score > 0.85)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(3).map(|(_, known)| format!("'{known}'")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let known = ["/chatter", "/cheater", "/rosout", "/robot/chatter"];
        assert_eq!(nearest("/chater", known)[0], "'/chatter'");
        assert!(nearest("chatter", known).contains(&"'/robot/chatter'".to_owned()));
        assert!(nearest("/parameter_events", known).is_empty());
    }

    #[test]
    fn every_failure_has_a_code_of_the_table() {
        let interrupted = Failure::from(rosless_graph::Error::Interrupted);
        assert!(interrupted.is_interruption());
        for (failure, code, kind) in [
            (Failure::new("x"), 1, "failed"),
            (Failure::usage("x"), 2, "usage"),
            (Failure::unknown("node", "/x", []), 3, "nobody"),
            (rosless_graph::CallError::NoServer("/s".into()).into(), 3, "nobody"),
            (rosless_graph::CallError::Timeout("/s".into()).into(), 1, "failed"),
            (rosless_graph::Error::Usage("x".into()).into(), 2, "usage"),
            (interrupted, 130, "interrupted"),
        ] {
            assert_eq!((failure.code, failure.kind()), (code, kind), "{failure}");
            assert!(EXIT_CODES.contains(&format!("{code} ")), "{code} is in the help");
        }
    }
}
