//! Where on this host somebody may listen.

use std::{collections::BTreeSet, fs};

/// The UDP ports of this host that somebody has; for others to speak to them is in vain. None where that is not told.
pub(crate) fn udp_ports() -> Option<BTreeSet<u16>> {
  let v4 = fs::read_to_string("/proc/thread-self/net/udp").ok()?;
  // What has a port of IPv6 may hear IPv4 as well. Without IPv6 there is no such table.
  let v6 = fs::read_to_string("/proc/thread-self/net/udp6").unwrap_or_default();
  Some(ports(&v4).chain(ports(&v6)).collect())
}

// A line is `  12: 0100007F:1D0A 00000000:0000 07 …`: number, own address and port in hexadecimal, those of the other end.
fn ports(table: &str) -> impl Iterator<Item = u16> + '_ {
  let port = |line: &str| u16::from_str_radix(line.split_ascii_whitespace().nth(1)?.rsplit(':').next()?, 16).ok();
  table.lines().filter_map(port)
}
