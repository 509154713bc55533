//! The environment variables every ROS 2 process obeys.

use std::{net::IpAddr, str::FromStr, time::Duration};

use super::{IpVersions, UsageError, security::Security};

/// The ROS 2 release whose habits on the wire we follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "named as the releases are")]
pub enum Distro {
    Foxy,
    Galactic,
    Humble,
    Iron,
    #[default]
    Jazzy,
    Kilted,
    Lyrical,
    Rolling,
}

impl Distro {
    const NAMES: [(&'static str, Self); 8] = [
        ("foxy", Self::Foxy),
        ("galactic", Self::Galactic),
        ("humble", Self::Humble),
        ("iron", Self::Iron),
        ("jazzy", Self::Jazzy),
        ("kilted", Self::Kilted),
        ("lyrical", Self::Lyrical),
        ("rolling", Self::Rolling),
    ];

    /// As in `ROS_DISTRO`.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, distro)| *distro == self).map_or("jazzy", |(name, _)| name)
    }

    /// Bytes of a `rmw_dds_common/msg/Gid`: 24 up to Humble, 16 from Iron on.
    pub fn gid_len(self) -> usize {
        if self.has_type_hashes() { 16 } else { 24 }
    }

    /// Whether the endpoints of services announce the hash of the whole service's type, too: from Lyrical on.
    pub fn has_service_hashes(self) -> bool {
        matches!(self, Self::Lyrical | Self::Rolling)
    }

    /// Whether endpoints announce type hashes and nodes offer `get_type_description`: from Iron on.
    pub fn has_type_hashes(self) -> bool {
        !matches!(self, Self::Foxy | Self::Galactic | Self::Humble)
    }
}

impl FromStr for Distro {
    type Err = UsageError;

    fn from_str(name: &str) -> Result<Self, UsageError> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, d)| *d).ok_or_else(|| {
            let known = Self::NAMES.map(|(n, _)| n).join(", ");
            UsageError::new(format!("unknown ROS distribution '{name}': use one of {known}"))
        })
    }
}

/// How far discovery looks for peers by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiscoveryRange {
    /// Nobody, except the static peers of this very process' configuration.
    Off,
    /// This host.
    Localhost,
    /// Whoever hears multicast.
    #[default]
    Subnet,
    /// Whatever the DDS implementation does without being told.
    SystemDefault,
}

/// What is remembered of others at most; see docs/security.md. What is not set is left to RustDDS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// `ROSLESS_MAX_PARTICIPANTS`.
    pub participants: Option<usize>,
    /// `ROSLESS_MAX_ENDPOINTS`, of all participants.
    pub endpoints: Option<usize>,
    /// `ROSLESS_MAX_ENDPOINTS_PER_PARTICIPANT`.
    pub endpoints_per_participant: Option<usize>,
    /// `ROSLESS_MAX_MATCHES`, of one of our endpoints.
    pub matches: Option<usize>,
    /// `ROSLESS_MAX_USER_DATA`, in bytes.
    pub user_data: Option<usize>,
    /// `ROSLESS_MAX_NAME`, of topics and types, in bytes.
    pub name: Option<usize>,
    /// `ROSLESS_MAX_ASSEMBLY`, in bytes: samples that wait for fragments. Half of it is for one participant.
    pub assembly: Option<usize>,
}

impl Limits {
    fn parse(get: impl Fn(&str) -> Option<String>) -> Result<Self, UsageError> {
        let number = |name: &str| match get(name) {
            None => Ok(None),
            Some(text) => text.parse().ok().filter(|number| *number > 0).map(Some).ok_or_else(|| {
                UsageError::new(format!("{name}='{text}' is not usable: expected a whole number above 0"))
            }),
        };
        Ok(Self {
            participants: number("ROSLESS_MAX_PARTICIPANTS")?,
            endpoints: number("ROSLESS_MAX_ENDPOINTS")?,
            endpoints_per_participant: number("ROSLESS_MAX_ENDPOINTS_PER_PARTICIPANT")?,
            matches: number("ROSLESS_MAX_MATCHES")?,
            user_data: number("ROSLESS_MAX_USER_DATA")?,
            name: number("ROSLESS_MAX_NAME")?,
            assembly: number("ROSLESS_MAX_ASSEMBLY")?,
        })
    }
}

/// Settings from the environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// `ROS_DOMAIN_ID`.
    pub domain_id: u16,
    /// `ROS_AUTOMATIC_DISCOVERY_RANGE`, or localhost when `ROS_LOCALHOST_ONLY=1`.
    pub discovery_range: DiscoveryRange,
    /// `ROS_STATIC_PEERS`: addresses or host names, not resolved yet.
    pub static_peers: Vec<String>,
    /// `ROS_DISTRO`, or `--ros-distro`; without either the peers decide.
    pub distro: Option<Distro>,
    /// `ROSLESS_IP`: ROS leaves this to its middleware's settings.
    pub ip_versions: IpVersions,
    /// `ROSLESS_MAX_…`.
    pub limits: Limits,
    /// `ROSLESS_SPIN_US`: how long the event loop asks for events again and again before it sleeps.
    pub spin: Duration,
    /// `ROS_SECURITY_ENABLE=true`, and the variables that go with it.
    pub security: Option<Security>,
}

impl Environment {
    /// Ports of higher domain ids do not fit into 16 bits.
    pub const MAX_DOMAIN_ID: u16 = 232;

    /// Reads the settings through `variable`; an empty variable counts as unset, as in ROS.
    pub fn parse(variable: impl Fn(&str) -> Option<String>) -> Result<Self, UsageError> {
        let get = |name: &str| variable(name).filter(|value| !value.is_empty());
        let bad = |name: &str, value: &str, expected: &str| {
            Err(UsageError::new(format!("{name}='{value}' is not usable: expected {expected}")))
        };

        let domain_id = match get("ROS_DOMAIN_ID") {
            None => 0,
            Some(text) => match text.parse() {
                Ok(id) if id <= Self::MAX_DOMAIN_ID => id,
                _ => return bad("ROS_DOMAIN_ID", &text, "a whole number from 0 to 232"),
            },
        };
        let mut discovery_range = match get("ROS_AUTOMATIC_DISCOVERY_RANGE").as_deref() {
            None | Some("SUBNET") => DiscoveryRange::Subnet,
            Some("LOCALHOST") => DiscoveryRange::Localhost,
            Some("OFF") => DiscoveryRange::Off,
            Some("SYSTEM_DEFAULT") => DiscoveryRange::SystemDefault,
            Some(text) => {
                let expected = "SUBNET, LOCALHOST, OFF or SYSTEM_DEFAULT";
                return bad("ROS_AUTOMATIC_DISCOVERY_RANGE", text, expected);
            }
        };
        let mut static_peers = Vec::new();
        if let Some(text) = get("ROS_STATIC_PEERS") {
            for peer in text.split(';').map(str::trim).filter(|peer| !peer.is_empty()) {
                if !is_host(peer) {
                    let expected = "IP addresses or host names separated by ';'";
                    return bad("ROS_STATIC_PEERS", peer, expected);
                }
                static_peers.push(peer.to_owned());
            }
        }
        match get("ROS_LOCALHOST_ONLY").as_deref() {
            None | Some("0") => {}
            // The older variable wins over the two newer ones when it is switched on, as in rcl.
            Some("1") => {
                discovery_range = DiscoveryRange::Localhost;
                static_peers.clear();
            }
            Some(text) => return bad("ROS_LOCALHOST_ONLY", text, "0 or 1"),
        }
        let parse =
            |name: String| name.parse().map_err(|error| UsageError::new(format!("ROS_DISTRO: {error}")));
        let distro = get("ROS_DISTRO").map(parse).transpose()?;
        let ip_versions = match get("ROSLESS_IP").as_deref() {
            None | Some("auto") => IpVersions::Auto,
            Some("4") => IpVersions::V4,
            Some("6") => IpVersions::V6,
            Some("both") => IpVersions::Both,
            Some(text) => return bad("ROSLESS_IP", text, "auto, 4, 6 or both"),
        };
        let limits = Limits::parse(get)?;
        let spin = match get("ROSLESS_SPIN_US") {
            None => Duration::ZERO,
            Some(text) => match text.parse() {
                Ok(micros) => Duration::from_micros(micros),
                Err(_) => return bad("ROSLESS_SPIN_US", &text, "a whole number of microseconds"),
            },
        };
        let security = Security::parse(get)?;
        Ok(Self { domain_id, discovery_range, static_peers, distro, ip_versions, limits, spin, security })
    }
}

fn is_interface(name: &str) -> bool {
    !name.is_empty()
        && name.len() < 16
        && name.bytes().all(|b| b.is_ascii_graphic() && b != b'/' && b != b'%')
}

fn is_host(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    // Addresses of a link may say on which one: fe80::1%eth0.
    let (address, link) = text.split_once('%').map_or((text, None), |(address, link)| (address, Some(link)));
    address.parse::<IpAddr>().is_ok_and(|ip| link.is_none_or(|link| ip.is_ipv6() && is_interface(link)))
        || (text.len() <= 253
            && text.split('.').all(is_label)
            // Only digits and dots, but no address: a mistyped address rather than a name.
            && text.bytes().any(|b| b.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(vars: &[(&str, &str)]) -> Result<Environment, UsageError> {
        Environment::parse(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn nothing_set_means_the_ros_defaults() {
        let env = parse(&[]).unwrap();
        assert_eq!(env.domain_id, 0);
        assert_eq!(env.discovery_range, DiscoveryRange::Subnet);
        assert_eq!(env.distro, None);
        assert_eq!(parse(&[("ROS_DOMAIN_ID", ""), ("ROS_DISTRO", "")]).unwrap(), env);
    }

    #[test]
    fn every_variable_is_read() {
        let env = parse(&[
            ("ROS_DOMAIN_ID", "232"),
            ("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF"),
            ("ROS_STATIC_PEERS", "10.0.0.1; robot.local;;fe80::1%eth0.2"),
            ("ROS_LOCALHOST_ONLY", "0"),
            ("ROS_DISTRO", "humble"),
            ("ROSLESS_IP", "both"),
            ("ROSLESS_SPIN_US", "50"),
            ("ROSLESS_MAX_PARTICIPANTS", "7"),
        ])
        .unwrap();
        assert_eq!(env.ip_versions, IpVersions::Both);
        assert_eq!(env.spin, Duration::from_micros(50));
        assert_eq!(env.domain_id, 232);
        assert_eq!(env.discovery_range, DiscoveryRange::Off);
        assert_eq!(env.static_peers, ["10.0.0.1", "robot.local", "fe80::1%eth0.2"]);
        assert_eq!(env.distro.map(Distro::gid_len), Some(24));
        assert_eq!(Distro::Iron.gid_len(), 16);
        assert_eq!((env.limits.participants, env.limits.endpoints), (Some(7), None));
    }

    #[test]
    fn localhost_only_overrides_range_and_peers() {
        let env = parse(&[
            ("ROS_LOCALHOST_ONLY", "1"),
            ("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET"),
            ("ROS_STATIC_PEERS", "10.0.0.1"),
        ])
        .unwrap();
        assert_eq!((env.discovery_range, env.static_peers.len()), (DiscoveryRange::Localhost, 0));
    }

    #[test]
    fn bad_values_are_named_with_what_is_expected() {
        for (name, value, expected) in [
            ("ROS_DOMAIN_ID", "233", "0 to 232"),
            ("ROS_DOMAIN_ID", "-1", "0 to 232"),
            ("ROSLESS_MAX_NAME", "0", "above 0"),
            ("ROS_DOMAIN_ID", "one", "0 to 232"),
            ("ROS_AUTOMATIC_DISCOVERY_RANGE", "subnet", "SUBNET"),
            ("ROS_STATIC_PEERS", "10.0.0.256", "IP addresses"),
            ("ROS_STATIC_PEERS", "a b", "IP addresses"),
            ("ROS_STATIC_PEERS", "10.0.0.1%eth0", "IP addresses"),
            ("ROS_STATIC_PEERS", "fe80::1%", "IP addresses"),
            ("ROSLESS_IP", "5", "auto, 4, 6 or both"),
            ("ROSLESS_SPIN_US", "1.5", "microseconds"),
            ("ROS_LOCALHOST_ONLY", "yes", "0 or 1"),
            ("ROS_DISTRO", "melodic", "jazzy"),
        ] {
            let error = parse(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value) && error.contains(expected), "{error}");
            assert!(!error.contains('\n'));
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_value_or_one_line(value in "\\PC*") {
            for name in ["ROS_DOMAIN_ID", "ROS_STATIC_PEERS", "ROS_DISTRO", "ROS_LOCALHOST_ONLY"] {
                match parse(&[(name, &value)]) {
                    Ok(env) => prop_assert!(env.domain_id <= Environment::MAX_DOMAIN_ID),
                    Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
                }
            }
        }
    }
}
