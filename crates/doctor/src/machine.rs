//! Checks of the machine: network, clock, limits.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    process::Command,
    time::Duration,
};

use rosless_graph::config::{DiscoveryRange, Environment, IpVersions};
use rustix::process::{Resource, getrlimit};
use socket2::{Domain, Protocol, Socket, Type};

use crate::Finding;

/// RTPS's multicast groups for discovery.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 0, 1);
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0xffff, 0xefff, 1);

/// The machine's IPv4 addresses, from the kernel's table of local routes.
fn addresses() -> Vec<Ipv4Addr> {
    local_addresses(&fs::read_to_string("/proc/net/fib_trie").unwrap_or_default())
}

fn local_addresses(trie: &str) -> Vec<Ipv4Addr> {
    let mut found = Vec::new();
    let mut last = None;
    for line in trie.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse().ok();
        } else if line.starts_with("/32 host LOCAL")
            && let Some(address) = last
            && !found.contains(&address)
        {
            found.push(address);
        }
    }
    found
}

/// The machine's IPv6 addresses that can be used, with the number of their interface.
fn v6_addresses(if_inet6: &str) -> Vec<(Ipv6Addr, u32)> {
    const TEMPORARY: u32 = 0x01;
    const DEPRECATED: u32 = 0x20;
    const TENTATIVE: u32 = 0x40;
    let parse = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let number = |word: &str| u32::from_str_radix(word, 16).ok();
        let address = Ipv6Addr::from(u128::from_str_radix(words.first()?, 16).ok()?);
        let is_used = number(words.get(4)?)? & (TEMPORARY | DEPRECATED | TENTATIVE) == 0;
        (is_used && !address.is_loopback()).then_some((address, number(words[1])?))
    };
    if_inet6.lines().filter_map(parse).collect()
}

/// Whether only this machine is talked to, which takes no multicast.
fn stays_here(range: DiscoveryRange) -> bool {
    matches!(range, DiscoveryRange::Localhost | DiscoveryRange::Off)
}

/// The addresses other participants are met at, with the number of the interface where that matters.
fn used_addresses(environment: &Environment) -> Vec<(IpAddr, u32)> {
    let here = stays_here(environment.discovery_range);
    let wants = |versions: &[IpVersions]| versions.contains(&environment.ip_versions);
    let v4 =
        addresses().into_iter().filter(|ip| if ip.is_loopback() { here } else { !wants(&[IpVersions::V6]) });
    let mut used: Vec<(IpAddr, u32)> = v4.map(|ip| (ip.into(), 0)).collect();
    // Which interface an IPv4 address is of does not show here: with the default, IPv6 counts if there is no other.
    let lonely = used.iter().all(|(ip, _)| ip.is_loopback());
    if wants(&[IpVersions::V6, IpVersions::Both]) || (wants(&[IpVersions::Auto]) && lonely) {
        let v6 = v6_addresses(&fs::read_to_string("/proc/net/if_inet6").unwrap_or_default());
        used.extend(v6.into_iter().map(|(ip, index)| (ip.into(), index)));
    }
    used
}

pub(crate) fn interfaces(environment: &Environment) -> Vec<Finding> {
    let used = used_addresses(environment);
    if used.is_empty() {
        let remedy =
            "bring an interface up, or work on this machine only: ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST";
        return vec![Finding::warn("interfaces", "no address other machines could reach", remedy)];
    }
    let list = used.iter().map(|(ip, _)| ip.to_string()).collect::<Vec<_>>().join(", ");
    vec![match used.len() {
        0..=3 => Finding::ok("interfaces", list),
        _ => Finding::warn(
            "interfaces",
            list,
            "peers try every address; shut down interfaces that lead nowhere",
        ),
    }]
}

/// Sends to the group from each address and listens for it there.
pub(crate) fn multicast(environment: &Environment) -> Vec<Finding> {
    if stays_here(environment.discovery_range) {
        return vec![Finding::ok("multicast", "not needed: only this machine is talked to")];
    }
    let check = |(address, index): (IpAddr, u32)| {
        let group = if address.is_ipv4() { IpAddr::from(GROUP) } else { GROUP_V6.into() };
        match multicast_to_self(address, index) {
            Ok(true) => Finding::ok("multicast", format!("{address} hears itself on {group}")),
            Ok(false) => Finding::fail(
                "multicast",
                format!("{address} does not hear what it sends to {group}"),
                "allow UDP multicast in the firewall, or name the peers: ROS_STATIC_PEERS=host1;host2",
            ),
            Err(error) => Finding::fail(
                "multicast",
                format!("{address} cannot use {group}: {error}"),
                "run `ip link set dev IF multicast on`, or name the peers: ROS_STATIC_PEERS=host1;host2",
            ),
        }
    };
    used_addresses(environment).into_iter().map(check).collect()
}

fn multicast_to_self(address: IpAddr, index: u32) -> std::io::Result<bool> {
    let sender =
        Socket::new(Domain::for_address(SocketAddr::new(address, 0)), Type::DGRAM, Some(Protocol::UDP))?;
    let (receiver, group): (_, IpAddr) = match address {
        IpAddr::V4(address) => {
            let receiver = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            receiver.join_multicast_v4(&GROUP, &address)?;
            sender.set_multicast_if_v4(&address)?;
            sender.set_multicast_loop_v4(true)?;
            (receiver, GROUP.into())
        }
        IpAddr::V6(_) => {
            let receiver = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?;
            receiver.join_multicast_v6(&GROUP_V6, index)?;
            sender.set_multicast_if_v6(index)?;
            sender.set_multicast_loop_v6(true)?;
            (receiver, GROUP_V6.into())
        }
    };
    receiver.set_read_timeout(Some(Duration::from_millis(300)))?;
    let probe: [u8; 16] = rand::random();
    let target = SocketAddr::new(group, receiver.local_addr()?.port());
    let mut buffer = [0; 64];
    // One datagram may get lost; three do not.
    for _ in 0..3 {
        sender.send_to(&probe, &target.into())?;
        if let Ok((length, _)) = receiver.recv_from(&mut buffer)
            && buffer[..length] == probe
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// RTPS 2.5, 9.6.2.3: participants of a domain take two ports each, from 7410 + 250 * domain.
pub(crate) fn ports(domain: u16) -> Vec<Finding> {
    let mut findings = Vec::new();
    let first = 7400 + 250 * u32::from(domain);
    let taken = (0..MOST_PARTICIPANTS)
        .filter(|id| {
            let port = u16::try_from(first + 10 + 2 * id).unwrap_or(u16::MAX);
            UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).is_err()
        })
        .count();
    let found = format!(
        "{taken} of {MOST_PARTICIPANTS} participant ports of domain {domain} in use (from {})",
        first + 10
    );
    findings.push(match taken as u32 {
        MOST_PARTICIPANTS => Finding::fail(
            "ports",
            found,
            "end some ROS processes, or choose another domain with ROS_DOMAIN_ID",
        ),
        _ => Finding::ok("ports", found),
    });
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    if let Some(ephemeral) = range.split_whitespace().next().and_then(|text| text.parse::<u32>().ok())
        && first + 250 > ephemeral
    {
        findings.push(Finding::warn(
            "ports",
            format!("domain {domain} uses ports from {first}, which the system hands out to others from {ephemeral}"),
            "use a domain from 0 to 101",
        ));
    }
    findings
}

const MOST_PARTICIPANTS: u32 = 120;

/// Whether somebody disciplines the clock: stamps of several machines are compared.
pub(crate) fn clock() -> Vec<Finding> {
    let remedy =
        "enable it: `timedatectl set-ntp true`, or install chrony; stamps of other machines differ otherwise";
    let answer = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    if let Some(tracking) = answer("chronyc", &["-n", "tracking"]) {
        let line = |key: &str| {
            let line = tracking.lines().find(|line| line.starts_with(key)).unwrap_or_default();
            line.split_once(':').map_or("", |(_, value)| value.trim()).to_owned()
        };
        return vec![match line("Leap status").as_str() {
            "Normal" => Finding::ok("clock", format!("synchronised by chrony, {}", line("System time"))),
            other => Finding::warn("clock", format!("chrony runs, but its state is '{other}'"), remedy),
        }];
    }
    let synchronized = answer("timedatectl", &["show", "--property=NTPSynchronized", "--value"]);
    vec![match synchronized.as_deref().map(str::trim) {
        Some("yes") => Finding::ok("clock", "synchronised (timedatectl)"),
        Some("no") => Finding::warn("clock", "not synchronised (timedatectl)", remedy),
        _ if fs::exists("/run/systemd/timesync/synchronized").unwrap_or(false) => {
            Finding::ok("clock", "synchronised (systemd-timesyncd)")
        }
        _ => Finding::warn("clock", "cannot tell whether the clock is synchronised", remedy),
    }]
}

pub(crate) fn limits() -> Vec<Finding> {
    let files = getrlimit(Resource::Nofile);
    let show = |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    let found = format!("{} open files, up to {}", show(files.current), show(files.maximum));
    let mut findings = vec![match files.maximum {
        Some(most) if most < ENOUGH_FILES => Finding::warn(
            "files",
            found,
            "raise it: `ulimit -Hn 4096` or LimitNOFILE=4096; a node takes some 30",
        ),
        _ => Finding::ok("files", found),
    }];
    let buffer = fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap_or_default();
    if let Ok(bytes) = buffer.trim().parse::<u64>() {
        let found = format!("receive buffers up to {} KiB", bytes / 1024);
        findings.push(match bytes >= ENOUGH_BUFFER {
            true => Finding::ok("buffers", found),
            false => Finding::warn(
                "buffers",
                found,
                "for messages above 100 KiB: `sysctl -w net.core.rmem_max=2147483` on every machine",
            ),
        });
    }
    findings
}

/// What ROS on this machine is told that hides its nodes from us, or that we do not read.
pub(crate) fn surroundings(variable: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let bridge = "start ROS without it, or join the two with a bridge (docs/beyond-one-lan.md)";
    let unread = "what it says of interfaces, peers and transports does not hold here; say it with ROS_STATIC_PEERS and ROS_AUTOMATIC_DISCOVERY_RANGE";
    let rules = [
        (
            "RMW_IMPLEMENTATION",
            "zenoh",
            "nodes with that middleware do not speak DDS and are not seen here",
            "use rmw_cyclonedds_cpp or rmw_fastrtps_cpp, or join the two with a bridge (docs/beyond-one-lan.md)",
        ),
        (
            "ROS_DISCOVERY_SERVER",
            "",
            "nodes that meet through a discovery server of Fast DDS are not seen here",
            bridge,
        ),
        (
            "ROS2_EASY_MODE",
            "",
            "nodes in easy mode meet through a discovery server of Fast DDS and are not seen here",
            bridge,
        ),
        ("CYCLONEDDS_URI", "", "only Cyclone DDS reads it", unread),
        ("FASTRTPS_DEFAULT_PROFILES_FILE", "", "only Fast DDS reads it", unread),
        ("FASTDDS_DEFAULT_PROFILES_FILE", "", "only Fast DDS reads it", unread),
    ];
    let set = |(name, part, meaning, remedy): (&str, &str, &str, &str)| {
        let value = variable(name).filter(|value| !value.is_empty() && value.contains(part))?;
        Some(Finding::warn("environment", format!("{name}={value}: {meaning}"), remedy))
    };
    let findings: Vec<_> = rules.into_iter().filter_map(set).collect();
    match findings.is_empty() {
        true => vec![Finding::ok("environment", "nothing that hides ROS nodes from us")],
        false => findings,
    }
}

/// Datagrams that came and found no room, by the kernel's count for each socket.
pub(crate) fn drops(domain: u16) -> Vec<Finding> {
    let tables = ["/proc/net/udp", "/proc/net/udp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let (sockets, lost) = dropped(&tables.concat(), domain);
    vec![match lost {
        0 => Finding::ok("drops", format!("{sockets} sockets of domain {domain} have dropped nothing")),
        _ => Finding::warn(
            "drops",
            format!(
                "{lost} datagrams were dropped by sockets of domain {domain}, because their buffers were full"
            ),
            "raise net.core.rmem_max, send less at a time, or give the daemons more of the processor",
        ),
    }]
}

/// How many sockets of the domain there are in the kernel's table, and how much they have dropped.
fn dropped(table: &str, domain: u16) -> (usize, u64) {
    let first = 7400 + 250 * u32::from(domain);
    let entry = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let port = u32::from_str_radix(words.get(1)?.rsplit_once(':')?.1, 16).ok()?;
        let drops = words.last()?.parse::<u64>().ok()?;
        (first..first + 250).contains(&port).then_some(drops)
    };
    let drops: Vec<_> = table.lines().filter_map(entry).collect();
    (drops.len(), drops.iter().sum())
}

const ENOUGH_FILES: u64 = 1024;
const ENOUGH_BUFFER: u64 = 2_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ipv6_that_can_be_used_are_read_with_their_interface() {
        let table = "00000000000000000000000000000001 01 80 10 80       lo\n\
                     fd000211000000000000000000000001 1f 40 00 80     eth0\n\
                     fd000211000000000000000000000bad 1f 40 00 01     eth0\n\
                     fe80000000000000a8bbccfffe0000ff 02 40 20 c0     eth1\nnonsense\n\n";
        assert_eq!(v6_addresses(table), [("fd00:211::1".parse().unwrap(), 31)]);
    }

    #[test]
    fn what_hides_nodes_is_named() {
        let find = |set: &'static [(&str, &str)]| {
            surroundings(move |name| {
                set.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let quiet = find(&[("RMW_IMPLEMENTATION", "rmw_cyclonedds_cpp"), ("ROS_DISCOVERY_SERVER", "")]);
        assert_eq!(quiet, [Finding::ok("environment", "nothing that hides ROS nodes from us")]);
        let found = find(&[("RMW_IMPLEMENTATION", "rmw_zenoh_cpp"), ("ROS2_EASY_MODE", "10.0.0.1")]);
        assert_eq!(found.len(), 2);
        assert!(found[0].found.starts_with("RMW_IMPLEMENTATION=rmw_zenoh_cpp: nodes with that middleware"));
    }

    #[test]
    fn drops_are_those_of_the_domains_ports() {
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n\
                     73: 00000000:1CE8 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 123 2 0 0\n\
                     74: 00000000:1CF3 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 124 2 0 17\n\
                     75: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 125 2 0 99\n";
        assert_eq!(dropped(table, 0), (2, 17));
        assert_eq!(dropped(table, 1), (0, 0));
        assert_eq!(dropped("nonsense\n", 0), (0, 0));
    }

    #[test]
    fn local_addresses_are_read_from_the_kernels_table() {
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     +-- 127.0.0.0/8 2 0 2\n        \
                    |-- 127.0.0.0\n           /8 host LOCAL\n        |-- 127.0.0.1\n           /32 host LOCAL\n     \
                    |-- 172.17.0.255\n           /32 link BROADCAST\nLocal:\n     |-- 127.0.0.1\n        /32 host LOCAL\n";
        assert_eq!(local_addresses(trie), [Ipv4Addr::LOCALHOST]);
    }
}
