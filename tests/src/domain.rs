//! One DDS domain per test, also between test binaries that run at the same time.

use std::{
    ffi::OsStr,
    net::{Ipv4Addr, TcpListener},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};

/// Domain ids above 101 meet the ephemeral port range, 0 is where people live.
const DOMAINS: std::ops::RangeInclusive<u16> = 1..=101;
/// Below the ephemeral range and above what services on a developer's machine use.
const LOCK_PORT_BASE: u16 = 17_000;

/// The right to use one DDS domain id on this host until the last clone is dropped.
///
/// The lock is a listening TCP port, because the kernel releases it however the process ends.
#[derive(Clone, Debug)]
pub struct DomainLease {
    id: u16,
    _lock: Arc<TcpListener>,
}

impl DomainLease {
    /// Takes a free domain id.
    ///
    /// # Panics
    /// When all ids are taken: a test cannot go on without one.
    pub fn acquire() -> Self {
        let count = DOMAINS.end() - DOMAINS.start() + 1;
        // Starting at a place of this process, and behind the last one taken, keeps ids that were just released quiet for a
        // while: who left in a hurry is believed to be there until its lease ends.
        static TAKEN: AtomicU16 = AtomicU16::new(0);
        let taken = TAKEN.fetch_add(1, Ordering::Relaxed);
        let offset = (std::process::id() as u16).wrapping_mul(7).wrapping_add(taken) % count;
        DOMAINS
            .cycle()
            .skip(offset.into())
            .take(count.into())
            .find_map(|id| {
                let lock = TcpListener::bind((Ipv4Addr::LOCALHOST, LOCK_PORT_BASE + id)).ok()?;
                Some(Self { id, _lock: Arc::new(lock) })
            })
            .expect("all DDS domain ids of this host are taken by running tests")
    }

    pub fn id(&self) -> u16 {
        self.id
    }

    /// A program on this domain of this host, in a clean environment: nothing that the developer's shell has set for ROS or
    /// for us reaches it.
    pub fn command(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["ROS_", "ROSLESS_", "RMW_", "RCUTILS_", "NOTIFY_SOCKET", "WATCHDOG_"]
                .iter()
                .any(|ours| text.starts_with(ours))
            {
                command.env_remove(&name);
            }
        }
        command.args(arguments).env("ROS_DOMAIN_ID", self.id.to_string());
        command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_distinct_while_held() {
        let leases: Vec<_> = (0..5).map(|_| DomainLease::acquire()).collect();
        let ids: std::collections::BTreeSet<_> = leases.iter().map(DomainLease::id).collect();
        assert_eq!(ids.len(), leases.len());
    }
}
