//! `--qos-…` as ros2 has them, and the profile that reaches every publisher.

use std::time::Duration;

use clap::{Args, ValueEnum};
use rosless_graph::{
    Qos,
    qos::{History, Liveliness},
};

pub(crate) use rosless_graph::qos::to_hear_all;

use crate::cli::seconds;

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ProfileName {
    Default,
    SystemDefault,
    SensorData,
    ServicesDefault,
    Parameters,
    ParameterEvents,
    ActionStatusDefault,
    BestAvailable,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum ReliabilityName {
    Reliable,
    BestEffort,
    SystemDefault,
    BestAvailable,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum DurabilityName {
    Volatile,
    TransientLocal,
    SystemDefault,
    BestAvailable,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum HistoryName {
    KeepLast,
    KeepAll,
    SystemDefault,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum LivelinessName {
    Automatic,
    ManualByTopic,
    SystemDefault,
    BestAvailable,
}

/// Quality of service; what is not given is taken from the other side where that is known, else from ROS's default.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Quality of service")]
pub(crate) struct QosArguments {
    /// Start from this profile
    #[arg(long, value_name = "PROFILE")]
    qos_profile: Option<ProfileName>,
    /// Queue size
    #[arg(long, value_name = "N")]
    qos_depth: Option<u32>,
    /// Keep the last N samples or all
    #[arg(long, value_name = "HISTORY")]
    qos_history: Option<HistoryName>,
    /// Repeat lost samples or not
    #[arg(long, value_name = "RELIABILITY")]
    qos_reliability: Option<ReliabilityName>,
    /// Keep samples for late joiners or not
    #[arg(long, value_name = "DURABILITY")]
    qos_durability: Option<DurabilityName>,
    /// Who asserts that the publisher is alive
    #[arg(long, value_name = "LIVELINESS")]
    qos_liveliness: Option<LivelinessName>,
    /// Seconds between assertions of liveliness
    #[arg(long, alias = "qos-liveliness-lease-duration", value_name = "SECONDS", value_parser = seconds)]
    #[arg(allow_negative_numbers = true)]
    qos_liveliness_lease_duration_seconds: Option<Duration>,
}

impl QosArguments {
    /// The user's wishes on top of the profile named, or of `base`.
    pub(crate) fn apply(&self, base: Qos) -> Qos {
        let mut qos = match self.qos_profile {
            Some(ProfileName::SensorData) => Qos::sensor_data(),
            Some(ProfileName::Parameters) => Qos::parameters(),
            Some(ProfileName::ParameterEvents) => Qos::parameter_events(),
            Some(ProfileName::ActionStatusDefault) => Qos::action_status(),
            Some(ProfileName::Default | ProfileName::SystemDefault | ProfileName::ServicesDefault) => {
                Qos::default()
            }
            Some(ProfileName::BestAvailable) | None => base,
        };
        if let Some(depth) = self.qos_depth {
            qos = qos.keep_last(depth);
        }
        match self.qos_history {
            Some(HistoryName::KeepAll) => qos = qos.keep_all(),
            Some(HistoryName::KeepLast) if qos.history == History::KeepAll => qos = qos.keep_last(10),
            _ => {}
        }
        match self.qos_reliability {
            Some(ReliabilityName::Reliable) => qos = qos.reliable(),
            Some(ReliabilityName::BestEffort) => qos = qos.best_effort(),
            _ => {}
        }
        match self.qos_durability {
            Some(DurabilityName::Volatile) => qos = qos.volatile(),
            Some(DurabilityName::TransientLocal) => qos = qos.transient_local(),
            _ => {}
        }
        match self.qos_liveliness {
            Some(LivelinessName::Automatic) => qos.liveliness = Liveliness::Automatic,
            Some(LivelinessName::ManualByTopic) => qos.liveliness = Liveliness::ManualByTopic,
            _ => {}
        }
        if self.qos_liveliness_lease_duration_seconds.is_some() {
            qos.liveliness_lease = self.qos_liveliness_lease_duration_seconds;
        }
        qos
    }
}

#[cfg(test)]
mod tests {
    use rosless_graph::{
        Gid,
        graph::{Endpoint, EndpointKind},
        qos::incompatibility,
    };

    use super::*;

    fn publisher(qos: Qos) -> Endpoint {
        Endpoint {
            gid: Gid([0; 16]),
            kind: EndpointKind::Writer,
            dds_topic: "rt/a".into(),
            dds_type: "".into(),
            type_hash: None,
            qos: qos.into(),
            service_tag: None,
            part: None,
        }
    }

    #[test]
    fn a_subscription_asks_for_what_all_publishers_offer() {
        let (reliable, latched) = (publisher(Qos::default()), publisher(Qos::latched()));
        let sensor = publisher(Qos::sensor_data());
        let ask = |publishers: &[&Endpoint]| {
            let (qos, remarks) = to_hear_all(publishers);
            assert!(publishers.iter().all(|p| incompatibility(&p.qos, &qos).is_none()));
            (qos, remarks.len())
        };
        assert_eq!(ask(&[]), (Qos::default(), 0));
        assert_eq!(ask(&[&latched]), (Qos::default().transient_local(), 0));
        assert_eq!(ask(&[&reliable, &latched]), (Qos::default(), 1));
        assert_eq!(ask(&[&sensor]), (Qos::default().best_effort(), 0));
        assert_eq!(ask(&[&sensor, &latched]), (Qos::default().best_effort(), 2));
    }
}
