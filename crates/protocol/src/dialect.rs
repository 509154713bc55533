//! The three naming profiles of one protocol. Layouts are byte-equal; only names differ, and names decide who hears whom.

use std::{fmt, str::FromStr};

/// A naming profile: message package, topics, type names and node names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// `mocap_control_msgs`, as the mocap_control document has it.
    #[default]
    Mocap,
    /// `device_control_msgs`, as the device_control document has it.
    Device,
    /// `mocap4r2_control_msgs`, what MOCAP4ROS2 users run today.
    Mocap4r2,
}

/// One row of the dialect table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// What the user writes to select the dialect.
    pub dialect: &'static str,
    /// ROS type of the control messages.
    pub control_type: &'static str,
    /// ROS type of the announcements.
    pub info_type: &'static str,
    /// Relative topic name of the control messages.
    pub control_topic: &'static str,
    /// Relative topic name of the announcements.
    pub environment_topic: &'static str,
    /// Node name of a controller.
    pub controller_node: &'static str,
    /// Node name, and so message source, of the command line.
    pub cli_node: &'static str,
    /// How the command line names the whole in its messages.
    pub title: &'static str,
}

const TABLE: [Names; 3] = [
    Names {
        dialect: "mocap",
        control_type: "mocap_control_msgs/msg/Control",
        info_type: "mocap_control_msgs/msg/MocapInfo",
        control_topic: "mocap_control",
        environment_topic: "mocap_environment",
        controller_node: "mocap_controller",
        cli_node: "mocap_cli",
        title: "Mocap Control System",
    },
    Names {
        dialect: "device",
        control_type: "device_control_msgs/msg/Control",
        info_type: "device_control_msgs/msg/DeviceInfo",
        control_topic: "device_control",
        environment_topic: "device_environment",
        controller_node: "device_controller",
        cli_node: "device_cli",
        title: "Device Control System",
    },
    Names {
        dialect: "mocap4r2",
        control_type: "mocap4r2_control_msgs/msg/Control",
        info_type: "mocap4r2_control_msgs/msg/MocapInfo",
        control_topic: "mocap4r2_control",
        environment_topic: "mocap4r2_environment",
        controller_node: "mocap4r2_controller",
        cli_node: "mocap4r2cli",
        title: "MOCAP4ROS2 Control System",
    },
];

impl Dialect {
    /// Every dialect, in the order of the table.
    pub const ALL: [Self; 3] = [Self::Mocap, Self::Device, Self::Mocap4r2];

    /// The names this dialect uses on the wire.
    pub fn names(self) -> &'static Names {
        &TABLE[self as usize]
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names().dialect)
    }
}

/// Where commands are heard: one dialect's control topic in one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// Whose names the topic has.
    pub dialect: Dialect,
    /// Where the topic is.
    pub namespace: String,
}

impl Channel {
    /// The control topic of `dialect` in `namespace`.
    pub fn new(dialect: Dialect, namespace: &str) -> Self {
        Self { dialect, namespace: namespace.to_owned() }
    }
}

impl From<&str> for Channel {
    /// The default dialect's in this namespace.
    fn from(namespace: &str) -> Self {
        Self::new(Dialect::default(), namespace)
    }
}

/// The dialect's name is not in the table.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no dialect {0:?}: choose mocap, device or mocap4r2")]
pub struct UnknownDialect(String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, UnknownDialect> {
        let known = Self::ALL.into_iter().find(|d| d.names().dialect == text);
        known.ok_or_else(|| UnknownDialect(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_is_found_by_its_name_and_differs_in_every_wire_name() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let (a, b) = (TABLE[a], TABLE[b]);
            assert!(a.control_type != b.control_type && a.info_type != b.info_type);
            assert!(a.control_topic != b.control_topic && a.environment_topic != b.environment_topic);
            assert!(a.controller_node != b.controller_node && a.cli_node != b.cli_node);
        }
        let error = "vicon".parse::<Dialect>().unwrap_err().to_string();
        assert!(error.contains("vicon") && error.contains("mocap4r2"), "{error}");
    }
}
