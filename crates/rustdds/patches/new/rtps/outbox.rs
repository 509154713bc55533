//! What is said about samples, as opposed to the samples themselves, goes to one place in one datagram per turn.

use std::{
  collections::{btree_map::Entry, BTreeMap},
  net::SocketAddr,
};

use crate::structure::guid::GuidPrefix;

/// Longer ones are worth a system call of their own.
const SMALL: usize = 4 * 1024;
/// As long as a datagram gets, if the way to its destination takes it.
const LARGEST: usize = 16 * 1024;

const HEADER: usize = 20;
const INFO_TS: u8 = 0x09;
const DATA: u8 = 0x15;
const DATA_FRAG: u8 = 0x16;
/// From here on submessages are protected ones and those of other makes.
const FIRST_PROTECTED: u8 = 0x30;

/// What a datagram to which others may be added says of the time of their samples.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
  /// It has samples for which it gives none.
  expects_none: bool,
  /// It gives one that is valid to its end.
  leaves_one: bool,
}

/// None if nothing can follow, or go before.
fn times(datagram: &[u8]) -> Option<Times> {
  let mut times = Times::default();
  let mut rest = datagram.get(HEADER..)?;
  while let Some(&[id, flags, a, b]) = rest.first_chunk() {
    let length = if flags & 1 == 1 { u16::from_le_bytes([a, b]) } else { u16::from_be_bytes([a, b]) };
    match id {
      INFO_TS => times.leaves_one = flags & 2 == 0,
      FIRST_PROTECTED.. => return None,
      _ if length == 0 => return None, // it reaches to the end of the datagram
      DATA | DATA_FRAG if !times.leaves_one => times.expects_none = true,
      _ => {}
    }
    rest = rest.get(4 + usize::from(length)..)?;
  }
  rest.is_empty().then_some(times)
}

/// Who is somewhere may change.
pub(crate) type Place = (SocketAddr, GuidPrefix);

#[derive(Debug)]
pub(crate) struct Waiting {
  pub datagram: Vec<u8>,
  leaves_time: bool,
}

/// Gathers while the event loop turns.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
  is_open: bool,
  waiting: BTreeMap<Place, Waiting>,
}

impl Outbox {
  pub fn open(&mut self) {
    self.is_open = true;
  }

  /// Everything, to be sent, if there is anything. Gathers no more.
  pub fn close(&mut self) -> Option<BTreeMap<Place, Waiting>> {
    self.is_open = false;
    (!self.waiting.is_empty()).then(|| std::mem::take(&mut self.waiting))
  }

  /// Takes a datagram of ours, which is to be `limit` long at most with all that goes along. Returns what has to be sent
  /// now, in this order: it may be what waited, because there is no room beside it, or the datagram itself.
  pub fn add<'a>(
    &mut self,
    to: Place,
    datagram: &'a [u8],
    limit: usize,
  ) -> (Option<Vec<u8>>, Option<&'a [u8]>) {
    let small = Some(datagram).filter(|datagram| self.is_open && datagram.len() <= SMALL);
    let Some(times) = small.and_then(times) else {
      let waited = self.waiting.remove(&to).map(|waiting| waiting.datagram);
      return (waited, Some(datagram));
    };
    match self.waiting.entry(to) {
      Entry::Vacant(entry) => {
        entry.insert(Waiting {
          datagram: datagram.to_vec(),
          leaves_time: times.leaves_one,
        });
        (None, None)
      }
      Entry::Occupied(mut entry) => {
        let waiting = entry.get_mut();
        let length = waiting.datagram.len() + datagram.len() - HEADER;
        if length <= limit.min(LARGEST) && !(waiting.leaves_time && times.expects_none) {
          waiting.datagram.extend_from_slice(&datagram[HEADER..]);
          waiting.leaves_time |= times.leaves_one;
          (None, None)
        } else {
          waiting.leaves_time = times.leaves_one;
          (Some(std::mem::replace(&mut waiting.datagram, datagram.to_vec())), None)
        }
      }
    }
  }
}
