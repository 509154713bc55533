//! A DDS domain nobody else uses.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};

use crate::failure::{Failure, Result};

/// Ports of higher domains meet those the system hands out; 0 is where people live.
const DOMAINS: std::ops::RangeInclusive<u16> = 1..=101;
/// One TCP port per domain marks it as taken; the kernel frees it however the process ends.
const LOCK_PORT_BASE: u16 = 17_000;
/// So many participants' ports must be free.
const PARTICIPANTS: u16 = 12;

/// The right to use a domain on this machine until dropped.
#[derive(Debug)]
pub(crate) struct DomainLease {
    pub(crate) id: u16,
    _lock: TcpListener,
}

impl DomainLease {
    pub(crate) fn acquire() -> Result<Self> {
        let count = DOMAINS.end() - DOMAINS.start() + 1;
        // Two at the same time should not race for the same ids.
        let offset = rand::random::<u16>() % count;
        let lease = |id: u16| {
            let lock = TcpListener::bind((Ipv4Addr::LOCALHOST, LOCK_PORT_BASE + id)).ok()?;
            is_quiet(id).then_some(Self { id, _lock: lock })
        };
        DOMAINS.cycle().skip(offset.into()).take(count.into()).find_map(lease).ok_or_else(|| {
            Failure::new(
                "no free DDS domain on this machine; end some ROS processes, or name one with --domain",
            )
        })
    }
}

/// RTPS 2.5, 9.6.2.3: where the first participants of a domain listen.
fn is_quiet(id: u16) -> bool {
    (0..PARTICIPANTS).all(|participant| {
        let port = 7410 + 250 * id + 2 * participant;
        UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_differ_while_they_are_held() {
        let (first, second) = (DomainLease::acquire().unwrap(), DomainLease::acquire().unwrap());
        assert_ne!(first.id, second.id);
    }
}
