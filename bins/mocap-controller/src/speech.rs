//! Which dialects are spoken.

use std::{fmt, str::FromStr};

use rosless_protocol::{
    Dialect,
    dialect::{Names, UnknownDialect},
};

/// All dialects at once, or one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Speech {
    #[default]
    Auto,
    One(Dialect),
}

impl Speech {
    pub(crate) fn dialects(self) -> Vec<Dialect> {
        match self {
            Self::Auto => Dialect::ALL.to_vec(),
            Self::One(dialect) => vec![dialect],
        }
    }

    /// Nodes of a controller of all dialects have the names of the first.
    pub(crate) fn names(self) -> &'static Names {
        match self {
            Self::Auto => Dialect::default().names(),
            Self::One(dialect) => dialect.names(),
        }
    }

    /// How the command line names the whole in its messages.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Auto => "Control System",
            Self::One(dialect) => dialect.names().title,
        }
    }

    pub(crate) fn environment_topics(self) -> String {
        self.topics(|names| names.environment_topic)
    }

    pub(crate) fn control_topics(self) -> String {
        self.topics(|names| names.control_topic)
    }

    fn topics(self, topic: impl Fn(&Names) -> &'static str) -> String {
        let topics: Vec<_> = self.dialects().iter().map(|dialect| topic(dialect.names())).collect();
        match &topics[..] {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            _ => topics.concat(),
        }
    }
}

impl fmt::Display for Speech {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::One(dialect) => dialect.fmt(f),
        }
    }
}

impl FromStr for Speech {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        text.parse().map(Self::One).map_err(|error: UnknownDialect| format!("{error}, or auto for all"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_listed_as_people_do() {
        let auto: Speech = "auto".parse().unwrap();
        assert_eq!(auto.control_topics(), "mocap_control, device_control or mocap4r2_control");
        let device: Speech = "device".parse().unwrap();
        assert_eq!(
            (device.environment_topics().as_str(), device.to_string().as_str()),
            ("device_environment", "device")
        );
        assert!("vicon".parse::<Speech>().is_err());
    }
}
