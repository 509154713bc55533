//! The networks that a participant uses. They may change while it lives: it is told by
//! `DomainParticipant::networks_changed`, looks again and tells its peers.

use std::{
  collections::{BTreeMap, BTreeSet, HashMap},
  net::{IpAddr, SocketAddr},
  sync::{Arc, RwLock},
};

use log::{error, warn};
use mio1::Token;
use socket2::{InterfaceIndexOrAddress, SockRef};

use crate::{
  network::{
    udp_listener::UDPListener,
    util::{listed_hosts_only, this_host_and, IfAddr},
  },
  rtps::constant::USER_TRAFFIC_MUL_LISTENER_TOKEN,
  structure::locator::Locator,
};

/// The locators at which a participant listens, by listener.
pub(crate) type SelfLocators = BTreeMap<Token, Vec<Locator>>;

/// The same for everyone who announces them.
pub(crate) type SharedLocators = Arc<RwLock<SelfLocators>>;

/// Where the listeners can be reached. Data comes by unicast only where there are
/// initial peers, because multicast may not reach them.
pub(crate) fn self_locators(
  listeners: &HashMap<Token, UDPListener>,
  interfaces: &[IfAddr],
  only_networks: Option<&[IpAddr]>,
  has_initial_peers: bool,
) -> SelfLocators {
  let mut locators = SelfLocators::new();
  for (token, listener) in listeners {
    let found = listener
      .locators(interfaces, only_networks)
      .unwrap_or_else(|e| {
        error!("No local network address for token {token:?}: {e:?}");
        vec![]
      });
    locators.entry(*token).or_default().extend(found);
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
