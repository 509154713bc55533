//! The networks that a participant uses. They may change while it lives: it is told by
//! `DomainParticipant::networks_changed`, looks again and tells its peers.

use std::{
  collections::{BTreeMap, BTreeSet},
  net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
  sync::{Arc, RwLock},
};

use log::{error, warn};
use mio1::Token;
use socket2::{InterfaceIndexOrAddress, SockRef};

use crate::{
  network::{
    udp_listener::UDPListener,
    util::{listed_hosts_only, local_interface_table, this_host_and, IfAddr},
  },
  rtps::{constant::*, transmit::InterfaceSelector},
  structure::locator::Locator,
};

/// Where RTPS multicast goes (RTPS v2.5 9.6.2.3).
pub(crate) const GROUP_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 255, 0, 1));
/// The specification names no group for IPv6. Cyclone's is the one of IPv4 in a group of the link.
pub(crate) const GROUP_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0xffff, 0xefff, 1));
/// Where Fast DDS looks for participants.
pub(crate) const FAST_GROUP_V6: IpAddr =
  IpAddr::V6(Ipv6Addr::new(0xff1e, 0, 0, 0, 0, 0xffff, 0xefff, 1));

/// More addresses than this would make announcements long; hosts of many containers have hundreds.
const MAX_V6_ADDRESSES: usize = 8;

/// The versions of IP that a participant uses to reach other hosts. On its own host it uses the loopback address of IPv4
/// in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersions {
  /// IPv4, and IPv6 on interfaces that have no address of IPv4.
  #[default]
  Auto,
  V4,
  V6,
  Both,
}

/// The interfaces, with their addresses, that a participant may use now.
pub(crate) fn usable_interfaces(versions: IpVersions) -> Vec<IfAddr> {
  let all = local_interface_table();
  let has_v4 = |index| all.iter().any(|ifa| ifa.index == index && ifa.ip.is_ipv4());
  let mut v6 = 0;
  let usable = |ifa: &&IfAddr| match (ifa.ip, versions) {
    (IpAddr::V4(ip), IpVersions::V6) => ip.is_loopback(),
    (IpAddr::V4(_), _) => true,
    (IpAddr::V6(_), IpVersions::V4) => false,
    (IpAddr::V6(_), IpVersions::Auto) if has_v4(ifa.index) => false,
    (IpAddr::V6(ip), _) => {
      v6 += usize::from(!ip.is_loopback());
      !ip.is_loopback() && v6 <= MAX_V6_ADDRESSES
    }
  };
  all.iter().filter(usable).cloned().collect()
}

/// What is not there any more. Interfaces of IPv6 are known by their first address.
pub(crate) fn gone_interfaces(before: &[IfAddr], now: &[IfAddr]) -> Vec<InterfaceSelector> {
  let known_as = |ifa: &IfAddr| match ifa.ip {
    IpAddr::V4(_) => ifa.ip,
    IpAddr::V6(_) => before
      .iter()
      .find(|other| other.index == ifa.index && other.ip.is_ipv6())
      .map_or(ifa.ip, |first| first.ip),
  };
  before
    .iter()
    .filter(|ifa| !now.iter().any(|other| other.ip == ifa.ip && other.index == ifa.index))
    .map(|ifa| InterfaceSelector::Ip(known_as(ifa)))
    .collect()
}

/// An address of IPv6 that says nothing without the interface.
pub(crate) fn needs_scope(address: &SocketAddr) -> bool {
  matches!(address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() == 0)
}

/// The locators at which a participant listens, by listener.
pub(crate) type SelfLocators = BTreeMap<Token, Vec<Locator>>;

/// The same for everyone who announces them.
pub(crate) type SharedLocators = Arc<RwLock<SelfLocators>>;

/// Where the listeners can be reached. Data comes by unicast only where there are
/// initial peers, because multicast may not reach them.
pub(crate) fn self_locators(
  listeners: &BTreeMap<Token, UDPListener>,
  interfaces: &[IfAddr],
  only_networks: Option<&[IpAddr]>,
  has_initial_peers: bool,
) -> SelfLocators {
  let mut locators = SelfLocators::new();
  // IPv4 first, because its tokens are.
  for (token, listener) in listeners {
    let found = listener
      .locators(interfaces, only_networks)
      .unwrap_or_else(|e| {
        error!("No local network address for token {token:?}: {e:?}");
        vec![]
      });
    let announced_as = match *token {
      DISCOVERY_LISTENER_V6_TOKEN => DISCOVERY_LISTENER_TOKEN,
      DISCOVERY_MUL_LISTENER_V6_TOKEN => DISCOVERY_MUL_LISTENER_TOKEN,
      USER_TRAFFIC_LISTENER_V6_TOKEN => USER_TRAFFIC_LISTENER_TOKEN,
      USER_TRAFFIC_MUL_LISTENER_V6_TOKEN => USER_TRAFFIC_MUL_LISTENER_TOKEN,
      other => other,
    };
    locators.entry(announced_as).or_default().extend(found);
  }
  if has_initial_peers {
    locators.insert(USER_TRAFFIC_MUL_LISTENER_TOKEN, vec![]);
  }
  locators
}

/// A list of networks made by `with_this_host_and`, and the initial peers that go with
/// it, for the addresses that this host has now.
pub(crate) fn follow_own_addresses(
  only_networks: &[IpAddr],
  initial_peers: &mut Vec<SocketAddr>,
  before: &[IfAddr],
  now: &[IfAddr],
) -> Vec<IpAddr> {
  if !listed_hosts_only(only_networks) {
    return only_networks.to_vec();
  }
  let was_own = |ip: &IpAddr| before.iter().any(|interface| interface.ip == *ip);
  let others = only_networks
    .iter()
    .copied()
    .filter(|ip| !ip.is_unspecified() && !was_own(ip));
  initial_peers.retain(|peer| !was_own(&peer.ip()));
  let own = now.iter().filter(|interface| !interface.is_loopback);
  initial_peers.extend(
    own
      .filter(|interface| interface.ip.is_ipv4())
      .map(|interface| SocketAddr::new(interface.ip, 0)),
  );
  this_host_and(now, others)
}

/// Joins `group` on these interfaces and leaves it on those that it was joined on
/// before, also where they are gone: the kernel would count them for ever.
pub(crate) fn join_on(
  socket: &mio1::net::UdpSocket,
  group: IpAddr,
  joined: &mut BTreeSet<u32>,
  wanted: &BTreeSet<u32>,
) {
  let socket = SockRef::from(socket);
  for index in joined.difference(wanted) {
    // It may be gone, and the membership with it.
    let _ = match group {
      IpAddr::V4(group) => {
        socket.leave_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(*index))
      }
      IpAddr::V6(group) => socket.leave_multicast_v6(&group, *index),
    };
  }
  joined.clear();
  for index in wanted {
    let result = match group {
      IpAddr::V4(group) => {
        socket.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(*index))
      }
      IpAddr::V6(group) => socket.join_multicast_v6(&group, *index),
    };
    match result {
      Ok(()) => {
        joined.insert(*index);
      }
      Err(e) if e.kind() == std::io::ErrorKind::AddrInUse => {
        joined.insert(*index); // it was joined before
      }
      Err(e) => warn!("Cannot join multicast group {group} on interface {index}: {e}"),
    }
  }
}
