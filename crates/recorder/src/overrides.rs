//! Between quality of service on the graph and in a recording.

use std::collections::BTreeMap;

use rosless_bag::{QosProfile, Span};
use rosless_graph::{
    Qos,
    qos::{Durability, History, Liveliness, Reliability},
};
use serde_yaml_ng::Value;

/// What a publisher offers, in rosbag2's words.
pub fn offered(qos: &Qos) -> QosProfile {
    let (history, depth) = match qos.history {
        History::KeepLast(depth) => ("keep_last", depth),
        History::KeepAll => ("keep_all", 0),
        History::Unknown => ("unknown", 0),
    };
    QosProfile {
        history: history.into(),
        depth: depth.into(),
        reliability: match qos.reliability {
            Reliability::Reliable => "reliable",
            Reliability::BestEffort => "best_effort",
        }
        .into(),
        durability: match qos.durability {
            Durability::Volatile => "volatile",
            Durability::TransientLocal => "transient_local",
        }
        .into(),
        deadline: Span::new(qos.deadline),
        lifespan: Span::new(qos.lifespan),
        liveliness: match qos.liveliness {
            Liveliness::Automatic => "automatic",
            Liveliness::ManualByTopic => "manual_by_topic",
        }
        .into(),
        liveliness_lease_duration: Span::new(qos.liveliness_lease),
        avoid_ros_namespace_conventions: false,
    }
}

/// The quality in which a recorded topic is published again: what serves all that listened to its publishers.
pub fn requested(profiles: &[QosProfile]) -> Qos {
    let all = |test: fn(&QosProfile) -> bool| !profiles.is_empty() && profiles.iter().all(test);
    let any = |test: fn(&QosProfile) -> bool| profiles.iter().any(test);
    let mut qos = Qos::default();
    if all(|profile| profile.reliability == "best_effort") {
        qos = qos.best_effort();
    }
    if any(QosProfile::is_latched) {
        qos = qos.transient_local();
    }
    let depth =
        profiles.iter().filter(|profile| profile.history == "keep_last").map(|profile| profile.depth).max();
    if any(|profile| profile.history == "keep_all") {
        qos = qos.keep_all();
    } else if let Some(depth) = depth.filter(|depth| *depth > 0) {
        qos = qos.keep_last(u32::try_from(depth).unwrap_or(u32::MAX).max(10));
    }
    if let [only] = profiles {
        qos.deadline = only.deadline.duration();
        qos.lifespan = only.lifespan.duration();
    }
    qos
}

/// A file of `--qos-profile-overrides-path`: what is to differ, per topic.
///
/// # Errors
/// When it is not YAML of that form, with the place.
pub fn read_overrides(text: &str) -> Result<BTreeMap<String, impl Fn(Qos) -> Qos + Clone + use<>>, String> {
    let file: BTreeMap<String, BTreeMap<String, Value>> =
        serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
    let mut overrides = BTreeMap::new();
    for (topic, policies) in file {
        // Tried once, so that what is wrong is told now.
        apply(&policies, Qos::default()).map_err(|what| format!("{topic}: {what}"))?;
        overrides.insert(topic, move |qos| apply(&policies, qos).unwrap_or(qos));
    }
    Ok(overrides)
}

fn apply(policies: &BTreeMap<String, Value>, mut qos: Qos) -> Result<Qos, String> {
    let depth =
        policies.get("depth").and_then(Value::as_u64).map(|depth| u32::try_from(depth).unwrap_or(u32::MAX));
    for (policy, value) in policies {
        let span = || {
            let part = |name: &str| value.get(name).and_then(Value::as_u64);
            part("sec").zip(part("nsec")).map(|(sec, nsec)| Span { sec, nsec }.duration())
        };
        let word = value.as_str().unwrap_or_default();
        let known = match (policy.as_str(), word) {
            ("history", "keep_last") => Some(qos.keep_last(depth.unwrap_or(10))),
            ("history", "keep_all") => Some(qos.keep_all()),
            ("depth", _) => depth.map(|depth| match policies.get("history").and_then(Value::as_str) {
                Some("keep_all") => qos,
                _ => qos.keep_last(depth),
            }),
            ("reliability", "reliable") => Some(qos.reliable()),
            ("reliability", "best_effort") => Some(qos.best_effort()),
            ("durability", "volatile") => Some(qos.volatile()),
            ("durability", "transient_local") => Some(qos.transient_local()),
            ("liveliness", "automatic") => Some(Qos { liveliness: Liveliness::Automatic, ..qos }),
            ("liveliness", "manual_by_topic") => Some(Qos { liveliness: Liveliness::ManualByTopic, ..qos }),
            ("deadline", _) => span().map(|deadline| Qos { deadline, ..qos }),
            ("lifespan", _) => span().map(|lifespan| Qos { lifespan, ..qos }),
            ("liveliness_lease_duration", _) => span().map(|lease| Qos { liveliness_lease: lease, ..qos }),
            ("avoid_ros_namespace_conventions", _) | (_, "system_default") => Some(qos),
            _ => None,
        };
        let shown = serde_yaml_ng::to_string(value).unwrap_or_default();
        qos = known.ok_or_else(|| format!("no quality of service: {policy}: {}", shown.trim()))?;
    }
    Ok(qos)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_was_offered_is_offered_again() {
        for qos in [
            Qos::default(),
            Qos::latched().keep_last(10),
            Qos::default().best_effort(),
            Qos::default().keep_all(),
            Qos { deadline: Some(Duration::from_millis(100)), ..Qos::default().keep_last(77) },
        ] {
            assert_eq!(requested(&[offered(&qos)]), qos);
        }
        let mixed = [offered(&Qos::sensor_data()), offered(&Qos::latched())];
        assert_eq!(requested(&mixed), Qos::latched().keep_last(10));
        assert_eq!(requested(&[]), Qos::default());
    }

    #[test]
    fn overrides_change_what_they_name_and_nonsense_is_told_with_its_place() {
        let text = "/a:\n  reliability: best_effort\n  depth: 3\n  deadline: {sec: 1, nsec: 0}\n/b: {history: keep_all}\n";
        let overrides = read_overrides(text).unwrap();
        let changed = overrides["/a"](Qos::default());
        assert_eq!(
            changed,
            Qos { deadline: Some(Duration::from_secs(1)), ..Qos::default().best_effort().keep_last(3) }
        );
        assert_eq!(overrides["/b"](Qos::latched()), Qos::latched().keep_all());
        for wrong in ["/a: {reliability: maybe}", "/a: {hist: keep_all}", "- 3", "/a: {depth: -1}"] {
            assert!(read_overrides(wrong).is_err(), "{wrong}");
        }
    }
}
