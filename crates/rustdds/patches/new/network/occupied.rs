//! Where on this host somebody may listen.

use std::{
  collections::BTreeSet,
  fs,
  time::{Duration, Instant},
};

// The kernel goes through all of its table for each look.
const MOMENT: Duration = Duration::from_secs(5);

/// The UDP ports of this host that somebody had a moment ago; to speak to others is in vain.
#[derive(Default)]
pub(crate) struct Occupied {
  looked: Option<Instant>,
  // Nothing where that is not told.
  ports: Option<BTreeSet<u16>>,
}

impl Occupied {
  /// Looks again if it was not just done, or if what is known now matters. `own` is a port that is surely somebody's.
  pub fn look(&mut self, own: Option<u16>, matters: bool) {
    let now = Instant::now();
    if matters || self.looked.is_none_or(|looked| now >= looked + MOMENT) {
      self.looked = Some(now);
      // A table in which we are not ourselves is not that of this host.
      self.ports = udp_ports().filter(|ports| own.is_some_and(|own| ports.contains(&own)));
    }
  }

  pub fn may_hear(&self, port: u16) -> bool {
    self.ports.as_ref().is_none_or(|ports| ports.contains(&port))
  }
}

fn udp_ports() -> Option<BTreeSet<u16>> {
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
