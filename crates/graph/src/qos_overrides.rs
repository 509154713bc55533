//! Quality of service from outside, as in rclcpp: `qos_overrides./chatter.publisher.depth` and the like are read-only
//! parameters that a publisher or subscription declares when it is made, and whose values win over the program's.

use std::time::Duration;

use crate::{
    Error, Node, Qos, Result,
    parameters::{Descriptor, ParameterValue},
    qos::{Durability, History, Liveliness, Reliability},
};

/// What all these parameters begin with.
pub(crate) const PREFIX: &str = "qos_overrides.";

/// Which end of a topic is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Publisher,
    Subscription,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Publisher => "publisher",
            Self::Subscription => "subscription",
        }
    }
}

/// The policies in rclcpp's order. The first four it declares for topics of its own, and so do we for all; the others are
/// declared when they are given.
const POLICIES: [(&str, bool); 8] = [
    ("durability", true),
    ("history", true),
    ("depth", true),
    ("reliability", true),
    ("deadline", false),
    ("lifespan", false),
    ("liveliness", false),
    ("liveliness_lease_duration", false),
];

/// Whether this end of the topic has such parameters: those that the middleware makes for itself have none in rclcpp.
fn is_overridable(topic: &str, side: Side) -> bool {
    let hidden = topic.split('/').any(|part| part.starts_with('_'));
    let own = topic == "/rosout"
        || topic.ends_with("/transition_event")
        || topic == "/parameter_events" && side == Side::Subscription;
    !hidden && !own
}

/// A policy as a parameter has it.
fn value(qos: &Qos, policy: &str) -> ParameterValue {
    let nanos = |duration: Option<Duration>| {
        ParameterValue::Integer(
            duration.map_or(i64::MAX, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)),
        )
    };
    match policy {
        "durability" => match qos.durability {
            Durability::Volatile => "volatile".into(),
            Durability::TransientLocal => "transient_local".into(),
        },
        "history" => match qos.history {
            History::KeepLast(_) => "keep_last".into(),
            History::KeepAll | History::Unknown => "keep_all".into(),
        },
        "depth" => match qos.history {
            History::KeepLast(depth) => ParameterValue::Integer(depth.into()),
            History::KeepAll | History::Unknown => ParameterValue::Integer(0),
        },
        "reliability" => match qos.reliability {
            Reliability::Reliable => "reliable".into(),
            Reliability::BestEffort => "best_effort".into(),
        },
        "liveliness" => match qos.liveliness {
            Liveliness::Automatic => "automatic".into(),
            Liveliness::ManualByTopic => "manual_by_topic".into(),
        },
        "deadline" => nanos(qos.deadline),
        "lifespan" => nanos(qos.lifespan),
        _ => nanos(qos.liveliness_lease),
    }
}

/// Changes one policy, or says what it may be.
fn apply(qos: &mut Qos, policy: &str, value: &ParameterValue) -> Result<(), &'static str> {
    let text = if let ParameterValue::String(text) = value { text.as_str() } else { "" };
    let number = if let ParameterValue::Integer(number) = value { *number } else { -1 };
    let duration = || match u64::try_from(number) {
        Ok(0) => Ok(None),
        Ok(nanos) => Ok(Some(Duration::from_nanos(nanos)).filter(|_| number != i64::MAX)),
        Err(_) => Err("nanoseconds, 0 or more"),
    };
    match (policy, text) {
        ("durability", "volatile") => qos.durability = Durability::Volatile,
        ("durability", "transient_local") => qos.durability = Durability::TransientLocal,
        ("durability", _) => return Err("volatile or transient_local"),
        ("history", "keep_all") => qos.history = History::KeepAll,
        // The depth follows, in a parameter of its own.
        ("history", "keep_last") => {
            if !matches!(qos.history, History::KeepLast(_)) {
                *qos = qos.keep_last(1);
            }
        }
        ("history", _) => return Err("keep_last or keep_all"),
        ("depth", _) => match u32::try_from(number) {
            // As in rclcpp, all are kept whatever the depth is.
            Ok(_) if qos.history == History::KeepAll => {}
            Ok(depth @ 1..) => *qos = qos.keep_last(depth),
            _ => return Err("a number of samples from 1"),
        },
        ("reliability", "reliable") => qos.reliability = Reliability::Reliable,
        ("reliability", "best_effort") => qos.reliability = Reliability::BestEffort,
        ("reliability", _) => return Err("reliable or best_effort"),
        ("liveliness", "automatic") => qos.liveliness = Liveliness::Automatic,
        ("liveliness", "manual_by_topic") => qos.liveliness = Liveliness::ManualByTopic,
        ("liveliness", _) => return Err("automatic or manual_by_topic"),
        ("deadline", _) => qos.deadline = duration()?,
        ("lifespan", _) => qos.lifespan = duration()?,
        _ => qos.liveliness_lease = duration()?,
    }
    Ok(())
}

impl Node {
    /// The quality of service of an end of a topic (its full name), with what was given from outside.
    ///
    /// # Errors
    /// When that is no such policy.
    pub(crate) fn override_qos(&self, topic: &str, side: Side, mut qos: Qos) -> Result<Qos> {
        let parameters = self.parameters();
        // Nobody can ask a node without services what it has.
        let visible = self.context().0.node_services;
        if !is_overridable(topic, side) || !visible && !parameters.is_given(PREFIX) {
            return Ok(qos);
        }
        let side_name = side.name();
        let prefix = format!("{PREFIX}{topic}.{side_name}.");
        let default = qos;
        let mut declared = Vec::new();
        for (policy, always) in POLICIES {
            let name = format!("{prefix}{policy}");
            if policy == "lifespan" && side == Side::Subscription || !always && !parameters.is_given(&name) {
                continue;
            }
            let descriptor = Descriptor::new(name.clone())
                .description(format!("qos policy {{{policy}}} for {side_name} {{{topic}}}"))
                .read_only();
            declared.push((policy, descriptor, value(&default, policy)));
        }
        let names: Vec<_> = declared.iter().map(|(policy, d, _)| (*policy, d.name.clone())).collect();
        let wrong = |reason: String| Error::Usage(format!("node {}: {reason}", self.full_name()));
        let descriptors = declared.into_iter().map(|(_, descriptor, value)| (descriptor, value));
        parameters.declare_missing(self, descriptors).map_err(|error| wrong(error.to_string()))?;
        for (policy, name) in names {
            let value = self.parameter_value(&name).map_err(|error| wrong(error.to_string()))?;
            // Another end of this node on this topic may have declared it with a default of its own.
            if !parameters.is_given(&name) {
                continue;
            }
            // A depth of 0 is what a declaration that keeps all says.
            if policy != "depth" || value != ParameterValue::Integer(0) || default.history != History::KeepAll
            {
                apply(&mut qos, policy, &value)
                    .map_err(|allowed| wrong(format!("{name} must be {allowed}")))?;
            }
        }
        Ok(qos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_goes_to_a_parameter_and_back() {
        for qos in [
            Qos::default(),
            Qos::latched(),
            Qos::sensor_data(),
            Qos::rosout(),
            Qos { deadline: Some(Duration::from_millis(3)), ..Qos::default() },
            Qos { liveliness: Liveliness::ManualByTopic, ..Qos::default() },
        ] {
            let mut back = Qos::sensor_data().keep_last(77);
            for (policy, _) in POLICIES {
                apply(&mut back, policy, &value(&qos, policy)).unwrap();
            }
            assert_eq!(back, qos);
        }
        let mut all = Qos::default();
        apply(&mut all, "history", &"keep_all".into()).unwrap();
        apply(&mut all, "depth", &ParameterValue::Integer(10)).unwrap();
        assert_eq!(all.history, History::KeepAll);
        apply(&mut all, "history", &"keep_last".into()).unwrap();
        apply(&mut all, "depth", &ParameterValue::Integer(3)).unwrap();
        assert_eq!(all.history, History::KeepLast(3));
    }

    #[test]
    fn what_is_no_policy_is_told_with_what_would_be() {
        for (policy, given, allowed) in [
            ("reliability", ParameterValue::from("perfect"), "reliable or best_effort"),
            ("depth", ParameterValue::Integer(0), "a number of samples from 1"),
            ("depth", ParameterValue::Integer(i64::MAX), "a number of samples from 1"),
            ("deadline", ParameterValue::Integer(-1), "nanoseconds, 0 or more"),
            ("history", ParameterValue::from(""), "keep_last or keep_all"),
        ] {
            assert_eq!(apply(&mut Qos::default(), policy, &given), Err(allowed));
        }
    }

    #[test]
    fn topics_of_the_middleware_itself_have_none() {
        for (topic, publisher, subscription) in [
            ("/chatter", true, true),
            ("/parameter_events", true, false),
            ("/rosout", false, false),
            ("/fibonacci/_action/feedback", false, false),
            ("/add/_service_event", false, false),
            ("/cam/transition_event", false, false),
            ("/clock", true, true),
        ] {
            let got = [Side::Publisher, Side::Subscription].map(|side| is_overridable(topic, side));
            assert_eq!(got, [publisher, subscription], "{topic}");
        }
    }
}
