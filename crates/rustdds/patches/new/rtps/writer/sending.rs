//! One datagram to many readers: to each destination once, by the way that is known to
//! reach it.

use std::collections::BTreeSet;

use log::warn;

use super::{DeliveryMode, Writer};
use crate::{
  network::udp_sender::UDPSender,
  rtps::{
    outbound::{SocketId, TrafficClass},
    rtps_reader_proxy::RtpsReaderProxy,
    transmit::InterfaceSelector,
  },
  structure::{guid::EntityId, locator::Locator},
};

struct Datagram<'a> {
  sender: &'a UDPSender,
  bytes: &'a [u8],
  class: TrafficClass,
  // Where it went: first, and then, sorted. Without an interface: by unicast, or on all of
  // them.
  first: Option<(Locator, Option<InterfaceSelector>)>,
  others: Vec<(Locator, Option<InterfaceSelector>)>,
  blocked: BTreeSet<SocketId>,
}

impl Datagram<'_> {
  fn send(&mut self, to: Locator, interface: Option<InterfaceSelector>) {
    let destination = (to, interface);
    match self.first {
      None => self.first = Some(destination),
      Some(first) if first == destination => return,
      Some(_) => match self.others.binary_search(&destination) {
        Ok(_) => return,
        Err(place) => self.others.insert(place, destination),
      },
    }
    let Self { sender, bytes, .. } = self;
    match (self.class, &interface) {
      (TrafficClass::Control, None) => sender.send_to_locator(bytes, &to),
      (TrafficClass::Control, Some(via)) => sender.send_to_multicast_locator_via(bytes, &to, via),
      (TrafficClass::Bulk, None) => self.blocked.extend(sender.try_send_to_locator(bytes, &to)),
      (TrafficClass::Bulk, Some(via)) => {
        self.blocked.extend(sender.try_send_to_multicast_locator_via(bytes, &to, via));
      }
    }
  }

  fn send_to_all(&mut self, locators: &[Locator]) {
    for locator in locators {
      self.send(*locator, None);
    }
  }
}

impl Writer {
  /// Returns the sockets that had no room, if it is not `Control`, for which there always
  /// is.
  pub(super) fn send_datagram_to_readers(
    &self,
    preferred_mode: DeliveryMode,
    bytes: &[u8],
    readers: &mut dyn Iterator<Item = &RtpsReaderProxy>,
    class: TrafficClass,
  ) -> BTreeSet<SocketId> {
    let is_announcement = self.my_guid.entity_id == EntityId::SPDP_BUILTIN_PARTICIPANT_WRITER;
    let to_one = self.has_one_destination();
    let prefers_multicast = preferred_mode == DeliveryMode::Multicast && !self.avoid_multicast;
    let mut datagram = Datagram {
      sender: &self.udp_sender,
      bytes,
      class,
      first: None,
      others: Vec::new(),
      blocked: BTreeSet::new(),
    };

    for reader in readers {
      let route = reader.send_route();
      let (unicast, multicast) = (&reader.unicast_locator_list, &reader.multicast_locator_list);
      // Whoever has not shown that it hears us gets no more than it gave.
      let copies = if route.fallback { unicast.len().max(1) } else { 1 };
      let prefix = reader.remote_reader_guid.prefix;
      if !self.udp_sender.peers.borrow_mut().may_send(prefix, copies * bytes.len(), is_announcement) {
        continue;
      }
      if route.fallback {
        // The way is not known: all that it announced, by one means.
        let can = |locators: &[Locator]| locators.iter().any(Locator::is_udp);
        match (can(multicast), can(unicast)) {
          (true, has_unicast) if prefers_multicast || !has_unicast => datagram.send_to_all(multicast),
          (_, true) => datagram.send_to_all(unicast),
          _ => warn!("send_datagram_to_readers: No locators for {reader:?}"),
        }
        continue;
      }
      match (route.multicast, route.unicast) {
        (Some((locator, via)), at) if at.is_none() || (prefers_multicast && !to_one) => {
          datagram.send(locator, Some(via));
        }
        (_, Some(locator)) => datagram.send(locator, None),
        _ => warn!("send_datagram_to_readers: no destination for {reader:?}"),
      }
    }

    // Where participants may be that have not been heard.
    datagram.send_to_all(&self.extra_unicast_destinations);
    if !self.first_contact_destinations.is_empty() {
      let round = self.first_contact_round.get();
      self.first_contact_round.set(round.wrapping_add(1));
      if round < 3 || round % 10 == 0 {
        datagram.send_to_all(&self.first_contact_destinations);
      }
    }
    datagram.blocked
  }
}
