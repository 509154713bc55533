//! Why a command did not do what it was asked, and the exit code that tells scripts.

use std::{fmt::Display, process::ExitCode};

use rosless_graph::console::eprint_line;

/// One line for people and a code for scripts: 1 it did not work, 2 it was asked the wrong way, 130 it was interrupted.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// It did not work.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { code: 1, message: message.into() }
    }

    /// Tells people; the exit code that tells scripts.
    pub(crate) fn report(&self) -> ExitCode {
        if self.code != 130 {
            eprint_line(&self.message);
        }
        ExitCode::from(self.code)
    }

    /// What the user typed cannot be done.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { code: 2, message: message.to_string() }
    }

    /// Something the user named is not there; the nearest names that are may be what was meant.
    pub(crate) fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let near = nearest(name, known);
        let remedy = if near.is_empty() {
            format!("; see `rosless {} list`", what.split(' ').next_back().unwrap_or(what))
        } else {
            format!("; did you mean {}?", near.join(" or "))
        };
        Self::new(format!("Unknown {what} '{name}'{remedy}"))
    }
}

impl From<rosless_graph::Error> for Failure {
    fn from(error: rosless_graph::Error) -> Self {
        Self { code: error.exit_code(), message: error.to_string() }
    }
}

impl From<rosless_schema::SchemaError> for Failure {
    fn from(error: rosless_schema::SchemaError) -> Self {
        Self::new(format!("{error} (types come from the built-in definitions and --idl DIR)"))
    }
}

impl From<rosless_graph::CallError> for Failure {
    fn from(error: rosless_graph::CallError) -> Self {
        Self::new(error.to_string())
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
}
