//! Who an endpoint is: the 16 bytes that DDS calls GUID and ROS calls gid.

use std::fmt;

/// The global identity of a reader, writer or participant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid(pub [u8; 16]);

/// The part of a [`Gid`] that all endpoints of one participant share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GidPrefix(pub [u8; 12]);

/// The DDS implementation behind a gid. It decides how service requests are identified on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vendor {
    /// Eclipse Cyclone DDS, `rmw_cyclonedds_cpp`.
    Cyclone,
    /// eProsima Fast DDS, `rmw_fastrtps_cpp`.
    FastDds,
    /// RustDDS: ourselves, and others built on it.
    RustDds,
    /// Another, by its number.
    Other([u8; 2]),
}

impl From<[u8; 2]> for Vendor {
    fn from(id: [u8; 2]) -> Self {
        match id {
            [0x01, 0x10] => Self::Cyclone,
            [0x01, 0x0f] => Self::FastDds,
            [0x01, 0x12] => Self::RustDds,
            other => Self::Other(other),
        }
    }
}

impl Gid {
    /// The participant this endpoint belongs to.
    pub fn prefix(&self) -> GidPrefix {
        let mut prefix = [0; 12];
        prefix.copy_from_slice(&self.0[..12]);
        GidPrefix(prefix)
    }

    /// Whose middleware it is, unless DDS Security made it up: [`Graph::vendor`](crate::Graph::vendor) knows.
    pub fn vendor(&self) -> Vendor {
        self.prefix().vendor()
    }

    /// Bounds of the gids of a participant's endpoints.
    pub(crate) fn first_of(prefix: GidPrefix) -> Self {
        Self::in_participant(prefix, 0)
    }

    pub(crate) fn last_of(prefix: GidPrefix) -> Self {
        Self::in_participant(prefix, u8::MAX)
    }

    fn in_participant(prefix: GidPrefix, entity: u8) -> Self {
        let mut bytes = [entity; 16];
        bytes[..12].copy_from_slice(&prefix.0);
        Self(bytes)
    }

    pub(crate) fn guid(&self) -> rustdds::GUID {
        rustdds::GUID::from_bytes(self.0)
    }
}

impl GidPrefix {
    /// Whose middleware it is.
    pub fn vendor(&self) -> Vendor {
        [self.0[0], self.0[1]].into()
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cyclone => f.write_str("Cyclone DDS"),
            Self::FastDds => f.write_str("Fast DDS"),
            Self::RustDds => f.write_str("RustDDS (rosless)"),
            Self::Other([a, b]) => write!(f, "vendor {a:02x}.{b:02x}"),
        }
    }
}

impl From<rustdds::GUID> for Gid {
    fn from(guid: rustdds::GUID) -> Self {
        Self(guid.to_bytes())
    }
}

fn dotted(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (index, byte) in bytes.iter().enumerate() {
        let separator = if index == 0 { "" } else { "." };
        write!(f, "{separator}{byte:02x}")?;
    }
    Ok(())
}

/// As `ros2 topic info -v` prints it: hexadecimal bytes separated by dots.
impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(&self.0, f)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(&self.0, f)
    }
}

impl fmt::Debug for GidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(&self.0, f)
    }
}

/// A gid for tests: its participant and its entity are one number each.
#[cfg(test)]
pub(crate) fn example(participant: u8, entity: u8) -> Gid {
    let mut bytes = [participant; 16];
    bytes[15] = entity;
    Gid(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendor_is_read_from_the_first_two_bytes() {
        let gid = |a, b| {
            let mut bytes = [0; 16];
            (bytes[0], bytes[1]) = (a, b);
            Gid(bytes)
        };
        assert_eq!(gid(0x01, 0x10).vendor(), Vendor::Cyclone);
        assert_eq!(gid(0x01, 0x0f).vendor(), Vendor::FastDds);
        assert_eq!(gid(0x01, 0x12).vendor(), Vendor::RustDds);
        assert_eq!(gid(0x02, 0x12).vendor(), Vendor::Other([0x02, 0x12]));
    }

    #[test]
    fn prints_like_the_ros_command_line() {
        assert_eq!(
            Gid(*b"\x01\x12abcdefghij\x00\x00\x01\x03").to_string(),
            "01.12.61.62.63.64.65.66.67.68.69.6a.00.00.01.03"
        );
    }
}
