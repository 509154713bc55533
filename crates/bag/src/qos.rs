//! The quality of service a publisher offered, as rosbag2 writes it down.

use serde::{Deserialize, Serialize};
use serde_yaml_ng::Value;

/// A span in rosbag2's files; one without end is the largest that nanoseconds can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Whole seconds.
    pub sec: u64,
    /// The rest.
    pub nsec: u64,
}

impl Span {
    /// Without end.
    pub const INFINITE: Self = Self { sec: 9_223_372_036, nsec: 854_775_807 };

    /// `None` is without end.
    pub fn new(span: Option<std::time::Duration>) -> Self {
        span.map_or(Self::INFINITE, |span| Self { sec: span.as_secs(), nsec: span.subsec_nanos().into() })
    }

    /// `None` is without end; zero is how some middleware says so.
    pub fn duration(self) -> Option<std::time::Duration> {
        let nsec = u32::try_from(self.nsec).ok().filter(|nsec| *nsec < 1_000_000_000)?;
        (self.sec < Self::INFINITE.sec && (self.sec, nsec) != (0, 0))
            .then(|| std::time::Duration::new(self.sec, nsec))
    }
}

/// One publisher's offer, with rosbag2's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QosProfile {
    /// `keep_last`, `keep_all` or `unknown`.
    pub history: String,
    /// How many are kept.
    pub depth: u64,
    /// `reliable` or `best_effort`.
    pub reliability: String,
    /// `volatile` or `transient_local`.
    pub durability: String,
    /// Longest pause between two messages.
    pub deadline: Span,
    /// How long a message is worth sending.
    pub lifespan: Span,
    /// `automatic` or `manual_by_topic`.
    pub liveliness: String,
    /// After how long without a sign the publisher counts as dead.
    pub liveliness_lease_duration: Span,
    /// Always false here.
    pub avoid_ros_namespace_conventions: bool,
}

impl Default for QosProfile {
    fn default() -> Self {
        Self {
            history: "keep_last".into(),
            depth: 10,
            reliability: "reliable".into(),
            durability: "volatile".into(),
            deadline: Span::INFINITE,
            lifespan: Span::INFINITE,
            liveliness: "automatic".into(),
            liveliness_lease_duration: Span::INFINITE,
            avoid_ros_namespace_conventions: false,
        }
    }
}

/// The words of version 9, by the numbers of the versions before.
const HISTORY: [&str; 4] = ["system_default", "keep_last", "keep_all", "unknown"];
const RELIABILITY: [&str; 5] = ["system_default", "reliable", "best_effort", "unknown", "best_available"];
const DURABILITY: [&str; 5] = ["system_default", "transient_local", "volatile", "unknown", "best_available"];
const LIVELINESS: [&str; 6] =
    ["system_default", "automatic", "manual_by_node", "manual_by_topic", "unknown", "best_available"];

impl QosProfile {
    /// Whether late joiners get what was sent before: such messages are repeated in every part of a recording.
    pub fn is_latched(&self) -> bool {
        self.durability == "transient_local"
    }

    fn read(value: &Value) -> Self {
        let word = |key: &str, words: &[&str]| match value.get(key) {
            Some(Value::String(word)) => word.to_lowercase(),
            Some(number) => {
                let index = number.as_u64().and_then(|index| usize::try_from(index).ok());
                index.and_then(|index| words.get(index)).unwrap_or(&"unknown").to_string()
            }
            None => "unknown".to_owned(),
        };
        let span = |key: &str| {
            let part = |name: &str| value.get(key).and_then(|span| span.get(name)).and_then(Value::as_u64);
            part("sec").zip(part("nsec")).map_or(Span::INFINITE, |(sec, nsec)| Span { sec, nsec })
        };
        Self {
            history: word("history", &HISTORY),
            depth: value.get("depth").and_then(Value::as_u64).unwrap_or(0),
            reliability: word("reliability", &RELIABILITY),
            durability: word("durability", &DURABILITY),
            deadline: span("deadline"),
            lifespan: span("lifespan"),
            liveliness: word("liveliness", &LIVELINESS),
            liveliness_lease_duration: span("liveliness_lease_duration"),
            avoid_ros_namespace_conventions: false,
        }
    }
}

/// The offers in the words of version 9, for a channel's metadata.
pub(crate) fn to_text(profiles: &[QosProfile]) -> String {
    match profiles.is_empty() {
        true => String::new(),
        false => serde_yaml_ng::to_string(profiles).unwrap_or_default().trim_end().to_owned(),
    }
}

/// Reads a list, or the text of one: each version of rosbag2 has its own form.
pub(crate) fn from_value(value: &Value) -> Vec<QosProfile> {
    match value {
        Value::String(text) => from_text(text),
        Value::Sequence(list) => list.iter().map(QosProfile::read).collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn from_text(text: &str) -> Vec<QosProfile> {
    match serde_yaml_ng::from_str::<Value>(text) {
        Ok(value @ Value::Sequence(_)) => from_value(&value),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_survive_as_text_and_the_numbers_of_older_versions_are_understood() {
        let latched = QosProfile { durability: "transient_local".into(), depth: 1, ..Default::default() };
        assert_eq!(from_text(&to_text(&[latched.clone(), QosProfile::default()])).len(), 2);
        assert_eq!(from_text(&to_text(std::slice::from_ref(&latched))).first(), Some(&latched));
        let old = "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n  deadline:\n    sec: 9223372036\n    nsec: \
                   854775807\n  lifespan:\n    sec: 9223372036\n    nsec: 854775807\n  liveliness: 1\n  \
                   liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n  \
                   avoid_ros_namespace_conventions: false";
        assert_eq!(from_text(old), [latched]);
        assert_eq!(from_text("- {history: 77, depth: x}")[0].history, "unknown");
        assert!(from_text("\"").is_empty() && from_text("3").is_empty());
    }

    #[test]
    fn spans_without_end_are_none() {
        let second = Some(std::time::Duration::from_millis(1500));
        assert_eq!((Span::new(second).duration(), Span::new(None).duration()), (second, None));
        assert_eq!(Span { sec: 1, nsec: u64::MAX }.duration(), None);
    }
}
