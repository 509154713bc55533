//! What a participant says to itself does not go through the network: its endpoints that
//! match each other are served in the next turn.

use bytes::Bytes;

use crate::network::udp_listener::PacketOrigin;

/// As much as the kernel would keep for us. What is more gets lost as it would there, and is
/// repaired if somebody relies on it.
const MOST: usize = 4 * 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct ToSelf {
  datagrams: Vec<(Bytes, PacketOrigin)>,
  bytes: usize,
}

impl ToSelf {
  pub fn add(&mut self, datagram: &[u8]) {
    if self.bytes + datagram.len() <= MOST {
      self.bytes += datagram.len();
      self.datagrams.push((Bytes::copy_from_slice(datagram), PacketOrigin::UNKNOWN));
    }
  }

  pub fn is_empty(&self) -> bool {
    self.datagrams.is_empty()
  }

  /// All of it, in exchange for room for what comes next.
  pub fn take(&mut self, room: Vec<(Bytes, PacketOrigin)>) -> Vec<(Bytes, PacketOrigin)> {
    self.bytes = 0;
    std::mem::replace(&mut self.datagrams, room)
  }
}
