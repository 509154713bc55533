//! Quality of service in ROS terms, with ROS's own profiles.

use std::{fmt, time::Duration};

use rustdds::{
    QosPolicies,
    policy::{self, ResourceLimits},
};

use crate::graph::EndpointKind;

/// How hard a publisher tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reliability {
    /// What is lost is sent again.
    Reliable,
    /// What is lost is lost.
    BestEffort,
}

/// Whether late joiners get earlier samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Durability {
    /// They get what comes next.
    Volatile,
    /// They get what the publisher still keeps.
    TransientLocal,
}

/// How many samples are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum History {
    /// The newest so many.
    KeepLast(u32),
    /// Everything, within limits; a reliable publisher waits when a reader is full.
    KeepAll,
    /// A remote endpoint did not say (DDS discovery need not carry the history).
    Unknown,
}

/// Who asserts that a publisher is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Liveliness {
    /// The DDS implementation, as long as the process lives.
    Automatic,
    /// The publisher itself, by publishing.
    ManualByTopic,
}

/// The quality of service of one endpoint. Start from a profile and change what differs:
///
/// ```
/// use rosless_graph::Qos;
/// let qos = Qos::default().keep_last(1).transient_local();
/// assert_eq!(qos, Qos::latched());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Qos {
    /// Whether what is lost is sent again.
    pub reliability: Reliability,
    /// Whether late joiners get what was sent before.
    pub durability: Durability,
    /// How much is kept.
    pub history: History,
    /// Samples older than this are not delivered; `None` means that they never expire.
    pub lifespan: Option<Duration>,
    /// Longest pause between two samples that is promised or expected.
    pub deadline: Option<Duration>,
    /// Who says that a publisher lives.
    pub liveliness: Liveliness,
    /// After how long without a sign it counts as dead.
    pub liveliness_lease: Option<Duration>,
}

impl Default for Qos {
    /// ROS's default profile: reliable, volatile, the last 10 samples.
    fn default() -> Self {
        Self {
            reliability: Reliability::Reliable,
            durability: Durability::Volatile,
            history: History::KeepLast(10),
            lifespan: None,
            deadline: None,
            liveliness: Liveliness::Automatic,
            liveliness_lease: None,
        }
    }
}

impl Qos {
    /// Best effort, last 5: for data where the newest sample is all that counts.
    pub fn sensor_data() -> Self {
        Self::default().best_effort().keep_last(5)
    }

    /// Service requests and replies.
    pub fn services() -> Self {
        Self::default()
    }

    /// Parameter services.
    pub fn parameters() -> Self {
        Self::default().keep_last(1000)
    }

    /// The `/parameter_events` topic.
    pub fn parameter_events() -> Self {
        Self::default().keep_last(1000)
    }

    /// The `/rosout` topic.
    pub fn rosout() -> Self {
        Self { lifespan: Some(Duration::from_secs(10)), ..Self::default().transient_local().keep_last(1000) }
    }

    /// One sample kept for late joiners ("latched" in ROS 1).
    pub fn latched() -> Self {
        Self::default().transient_local().keep_last(1)
    }

    /// Subscriptions to `/clock`.
    pub fn clock() -> Self {
        Self::default().best_effort().keep_last(1)
    }

    /// The status topic of an action.
    pub fn action_status() -> Self {
        Self::latched()
    }

    /// Keeps the last `depth` samples.
    #[must_use]
    pub fn keep_last(self, depth: u32) -> Self {
        Self { history: History::KeepLast(depth.max(1)), ..self }
    }

    /// Keeps everything, within limits.
    #[must_use]
    pub fn keep_all(self) -> Self {
        Self { history: History::KeepAll, ..self }
    }

    /// What is lost is sent again.
    #[must_use]
    pub fn reliable(self) -> Self {
        Self { reliability: Reliability::Reliable, ..self }
    }

    /// What is lost is lost.
    #[must_use]
    pub fn best_effort(self) -> Self {
        Self { reliability: Reliability::BestEffort, ..self }
    }

    /// Late joiners get what comes next.
    #[must_use]
    pub fn volatile(self) -> Self {
        Self { durability: Durability::Volatile, ..self }
    }

    /// Late joiners get what is kept.
    #[must_use]
    pub fn transient_local(self) -> Self {
        Self { durability: Durability::TransientLocal, ..self }
    }

    fn policies(&self, user_data: &str, limits: Option<i32>) -> QosPolicies {
        let lease = dds_duration(self.liveliness_lease);
        let mut builder = QosPolicies::builder()
            .reliability(match self.reliability {
                // As ROS announces it; nothing here ever waits.
                Reliability::Reliable => {
                    policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) }
                }
                Reliability::BestEffort => policy::Reliability::BestEffort,
            })
            .durability(match self.durability {
                Durability::Volatile => policy::Durability::Volatile,
                Durability::TransientLocal => policy::Durability::TransientLocal,
            })
            .history(match self.history {
                History::KeepLast(depth) => {
                    policy::History::KeepLast { depth: depth.try_into().unwrap_or(i32::MAX) }
                }
                History::KeepAll | History::Unknown => policy::History::KeepAll,
            })
            .liveliness(match self.liveliness {
                Liveliness::Automatic => policy::Liveliness::Automatic { lease_duration: lease },
                Liveliness::ManualByTopic => policy::Liveliness::ManualByTopic { lease_duration: lease },
            });
        if self.deadline.is_some() {
            builder = builder.deadline(policy::Deadline(dds_duration(self.deadline)));
        }
        if self.lifespan.is_some() {
            builder = builder.lifespan(policy::Lifespan { duration: dds_duration(self.lifespan) });
        }
        if let Some(max_samples) = limits {
            builder = builder.resource_limits(ResourceLimits {
                max_samples,
                max_instances: 1,
                max_samples_per_instance: max_samples,
            });
        }
        builder.build().with_user_data(user_data)
    }

    pub(crate) fn writer_policies(&self, user_data: &str) -> QosPolicies {
        self.policies(user_data, None)
    }

    /// `burst`: how many samples may wait for the event loop before the oldest are overwritten.
    pub(crate) fn reader_policies(&self, user_data: &str, burst: u32) -> QosPolicies {
        let depth = match self.history {
            History::KeepLast(depth) => depth.max(burst),
            // A reliable writer keeps what is beyond this (or 64 MiB) until there is room again.
            History::KeepAll | History::Unknown => KEEP_ALL_LIMIT.max(burst),
        };
        self.policies(user_data, Some(depth.try_into().unwrap_or(i32::MAX)))
    }

    /// Whether a writer of this quality may serve a reader that requests `requested`.
    pub(crate) fn satisfies(&self, requested: &Self) -> bool {
        let requested = requested.reader_policies("", 0);
        self.writer_policies("").compliance_failure_wrt(&requested).is_none()
    }

    pub(crate) fn from_policies(kind: EndpointKind, qos: &QosPolicies) -> Self {
        let (liveliness, lease) = match qos.liveliness() {
            Some(policy::Liveliness::ManualByTopic { lease_duration }) => {
                (Liveliness::ManualByTopic, std_duration(lease_duration))
            }
            Some(
                policy::Liveliness::Automatic { lease_duration }
                | policy::Liveliness::ManualByParticipant { lease_duration },
            ) => (Liveliness::Automatic, std_duration(lease_duration)),
            None => (Liveliness::Automatic, None),
        };
        Self {
            reliability: match qos.reliability() {
                Some(policy::Reliability::Reliable { .. }) => Reliability::Reliable,
                Some(policy::Reliability::BestEffort) => Reliability::BestEffort,
                // What is not said is the default of DDS, which is not the same for both; new Cyclone leaves it out.
                None if kind == EndpointKind::Writer => Reliability::Reliable,
                None => Reliability::BestEffort,
            },
            durability: match qos.durability() {
                None | Some(policy::Durability::Volatile) => Durability::Volatile,
                Some(_) => Durability::TransientLocal,
            },
            history: match qos.history() {
                Some(policy::History::KeepLast { depth }) => History::KeepLast(depth.try_into().unwrap_or(0)),
                Some(policy::History::KeepAll) => History::KeepAll,
                None => History::Unknown,
            },
            lifespan: qos.lifespan().and_then(|l| std_duration(l.duration)),
            deadline: qos.deadline().and_then(|d| std_duration(d.0)),
            liveliness,
            liveliness_lease: lease,
        }
    }
}

/// One line as people compare it: `reliable, transient_local, keep_last 10`.
impl fmt::Display for Qos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.reliability {
            Reliability::Reliable => "reliable, ",
            Reliability::BestEffort => "best_effort, ",
        })?;
        f.write_str(match self.durability {
            Durability::Volatile => "volatile, ",
            Durability::TransientLocal => "transient_local, ",
        })?;
        match self.history {
            History::KeepLast(depth) => write!(f, "keep_last {depth}"),
            History::KeepAll => f.write_str("keep_all"),
            History::Unknown => f.write_str("history unknown"),
        }
    }
}

/// The most a subscription can ask for and still hear every publisher; and a remark where that is less than some offer.
pub fn to_hear_all(publishers: &[&crate::graph::Endpoint]) -> (Qos, Vec<String>) {
    let (mut qos, mut remarks) = (Qos::default(), Vec::new());
    let count = |pick: fn(&Qos) -> bool| publishers.iter().filter(|p| pick(&p.qos)).count();
    let mut fall_back = |offered: usize, policy: &str, rich: &str, poor: &str| {
        if offered > 0 && offered < publishers.len() {
            remarks.push(format!(
                "Some, but not all, publishers are offering {policy}.{rich}. Falling back to {policy}.{poor} \
                 as it will connect to all publishers"
            ));
        }
        offered > 0 && offered == publishers.len()
    };
    let reliable = count(|qos| qos.reliability == Reliability::Reliable);
    if !fall_back(reliable, "ReliabilityPolicy", "RELIABLE", "BEST_EFFORT") && !publishers.is_empty() {
        qos = qos.best_effort();
    }
    let latched = count(|qos| qos.durability == Durability::TransientLocal);
    if fall_back(latched, "DurabilityPolicy", "TRANSIENT_LOCAL", "VOLATILE") {
        qos = qos.transient_local();
    }
    (qos, remarks)
}

const KEEP_ALL_LIMIT: u32 = 10_000;

fn dds_duration(duration: Option<Duration>) -> rustdds::Duration {
    duration.map_or(rustdds::Duration::INFINITE, rustdds::Duration::from_std)
}

fn std_duration(duration: rustdds::Duration) -> Option<Duration> {
    (duration < rustdds::Duration::INFINITE && duration >= rustdds::Duration::ZERO).then(|| duration.to_std())
}

/// The ROS name of a DDS policy, as rclcpp prints it in its incompatible-QoS warnings.
pub(crate) fn policy_name(policy: rustdds::qos::QosPolicyId) -> &'static str {
    use rustdds::qos::QosPolicyId as Id;
    match policy {
        Id::Durability => "DURABILITY",
        Id::Presentation => "PRESENTATION",
        Id::Deadline => "DEADLINE",
        Id::LatencyBudget => "LATENCY_BUDGET",
        Id::Ownership => "OWNERSHIP",
        Id::Liveliness => "LIVELINESS",
        Id::TimeBasedFilter => "TIME_BASED_FILTER",
        Id::Reliability => "RELIABILITY",
        Id::DestinationOrder => "DESTINATION_ORDER",
        Id::History => "HISTORY",
        Id::ResourceLimits => "RESOURCE_LIMITS",
        Id::Lifespan => "LIFESPAN",
        Id::Representation => "DATA_REPRESENTATION",
        Id::Property => "PROPERTY",
    }
}

/// Why a subscription that asks for `requested` gets nothing from a publisher that offers `offered`.
pub fn incompatibility(offered: &Qos, requested: &Qos) -> Option<&'static str> {
    // A duration that is not given is infinite.
    let longer = |offered: Option<Duration>, requested: Option<Duration>| {
        requested.is_some_and(|requested| offered.is_none_or(|offered| offered > requested))
    };
    if offered.reliability == Reliability::BestEffort && requested.reliability == Reliability::Reliable {
        Some("RELIABILITY")
    } else if offered.durability == Durability::Volatile && requested.durability == Durability::TransientLocal
    {
        Some("DURABILITY")
    } else if longer(offered.deadline, requested.deadline) {
        Some("DEADLINE")
    } else if (offered.liveliness == Liveliness::Automatic
        && requested.liveliness == Liveliness::ManualByTopic)
        || longer(offered.liveliness_lease, requested.liveliness_lease)
    {
        Some("LIVELINESS")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_survive_the_way_to_dds_and_back() {
        for qos in [
            Qos::default(),
            Qos::sensor_data(),
            Qos::rosout(),
            Qos::latched(),
            Qos::clock(),
            Qos::parameters(),
            Qos::default().keep_all(),
            Qos { deadline: Some(Duration::from_millis(250)), ..Qos::default() },
        ] {
            assert_eq!(Qos::from_policies(EndpointKind::Writer, &qos.writer_policies("")), qos);
            assert_eq!(Qos::from_policies(EndpointKind::Reader, &qos.reader_policies("", 64)), qos);
        }
    }

    #[test]
    fn what_is_not_said_is_the_default_of_dds() {
        let silent = QosPolicies::default();
        assert_eq!(Qos::from_policies(EndpointKind::Writer, &silent).reliability, Reliability::Reliable);
        assert_eq!(Qos::from_policies(EndpointKind::Reader, &silent).reliability, Reliability::BestEffort);
    }

    #[test]
    fn readers_may_buffer_a_burst_beyond_their_depth() {
        let limit = |qos: Qos, burst| qos.reader_policies("", burst).resource_limits().unwrap().max_samples;
        assert_eq!(limit(Qos::default(), 64), 64);
        assert_eq!(limit(Qos::default().keep_last(500), 64), 500);
        assert_eq!(limit(Qos::default().keep_all(), 64), KEEP_ALL_LIMIT as i32);
    }

    #[test]
    fn incompatible_pairs_are_named_by_policy() {
        let second = Some(Duration::from_secs(1));
        let table = [
            (Qos::default(), Qos::default(), None),
            (Qos::sensor_data(), Qos::default(), Some("RELIABILITY")),
            (Qos::default(), Qos::latched(), Some("DURABILITY")),
            (Qos::latched(), Qos::sensor_data(), None),
            (Qos::default(), Qos { deadline: second, ..Qos::default() }, Some("DEADLINE")),
            (Qos { deadline: second, ..Qos::default() }, Qos::default(), None),
            (Qos::default(), Qos { liveliness_lease: second, ..Qos::default() }, Some("LIVELINESS")),
        ];
        for (offered, requested, expected) in table {
            assert_eq!(incompatibility(&offered, &requested), expected, "{offered} / {requested}");
        }
    }
}
