//! The addresses that this host has now, as the kernel tells them. A participant asks when it starts.

use std::{
  collections::{BTreeMap, BTreeSet},
  fs, io,
  net::{IpAddr, Ipv6Addr},
  os::{fd::AsRawFd, unix::net::UnixDatagram},
  path::Path,
};

use nix::{
  ifaddrs::{getifaddrs, InterfaceAddress},
  libc,
  net::if_::{if_nametoindex, InterfaceFlags},
  sys::socket::SockaddrStorage,
};

use super::util::IfAddr;

/// Flags of an address of IPv6 that is not there yet, not for long, or not any more (`linux/if_addr.h`).
const TEMPORARY: u32 = 0x01;
const DEPRECATED: u32 = 0x20;
const TENTATIVE: u32 = 0x40;

/// What all addresses of an interface have in common.
struct Interface {
  index: u32,
  mtu: Option<u32>,
  /// Of a bridge: its addresses are of no use.
  is_port: bool,
}

impl Interface {
  fn named(name: &str) -> Self {
    Self {
      index: if_nametoindex(name).unwrap_or(0),
      mtu: mtu(name),
      is_port: Path::new("/sys/class/net").join(name).join("master").exists(),
    }
  }
}

/// Those of one interface after those of the other, and of IPv4 first.
pub(crate) fn addresses() -> io::Result<Vec<IfAddr>> {
  let passing = fs::read_to_string("/proc/thread-self/net/if_inet6").map(|table| passing(&table)).unwrap_or_default();
  let mut interfaces = BTreeMap::new();
  let mut addresses = Vec::new();
  for entry in getifaddrs().map_err(io::Error::from)? {
    let Some(ip) = entry.address.as_ref().and_then(ip) else {
      continue;
    };
    let name = &entry.interface_name;
    let interface = interfaces.entry(name.clone()).or_insert_with(|| Interface::named(name));
    let is_of_use = match ip {
      IpAddr::V4(_) => true,
      IpAddr::V6(ip) => !interface.is_port && !passing.contains(&(ip, interface.index)),
    };
    if is_of_use {
      addresses.push(address(ip, interface, &entry));
    }
  }
  addresses.sort_by_key(|address| (address.index, address.ip.is_ipv6()));
  Ok(addresses)
}

fn address(ip: IpAddr, interface: &Interface, entry: &InterfaceAddress) -> IfAddr {
  let netmask = entry.netmask.as_ref().filter(|_| ip.is_ipv4());
  IfAddr {
    ip,
    index: interface.index,
    is_loopback: entry.flags.contains(InterfaceFlags::IFF_LOOPBACK),
    is_multicast: entry.flags.contains(InterfaceFlags::IFF_MULTICAST),
    netmask: netmask.and_then(SockaddrStorage::as_sockaddr_in).map(|mask| mask.ip()),
    mtu: interface.mtu,
    is_running: entry.flags.contains(InterfaceFlags::IFF_RUNNING),
  }
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
  let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
  v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
}

/// Addresses that must not be told to others, with the index of their interface. A line is
/// `fe800000000000000000000000000001 02 40 20 80     eth0`: address, index, prefix, scope and flags.
fn passing(table: &str) -> BTreeSet<(Ipv6Addr, u32)> {
  let passing = |line: &str| {
    let mut words = line.split_ascii_whitespace();
    let ip = u128::from_str_radix(words.next()?, 16).ok()?;
    let index = u32::from_str_radix(words.next()?, 16).ok()?;
    let flags = u32::from_str_radix(words.nth(2)?, 16).ok()?;
    (flags & (TEMPORARY | DEPRECATED | TENTATIVE) != 0).then_some((Ipv6Addr::from(ip), index))
  };
  table.lines().filter_map(passing).collect()
}

fn mtu(interface: &str) -> Option<u32> {
  let any = UnixDatagram::unbound().ok()?;
  // SAFETY: zeros are a valid `ifreq`.
  let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
  // Its last byte stays zero, whatever the name.
  for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
    *to = from as libc::c_char;
  }
  // SAFETY: the descriptor is open, the request is as long as the kernel expects, and the field is the one it has written.
  let mtu = unsafe {
    let done = libc::ioctl(any.as_raw_fd(), libc::SIOCGIFMTU as _, &mut request);
    (done == 0).then_some(request.ifr_ifru.ifru_mtu)
  };
  mtu.and_then(|mtu| u32::try_from(mtu).ok())
}
