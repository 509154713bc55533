//! What is kept of the endpoints of others.
//!
//! A node has dozens of endpoints, and a hundred nodes of one kind have the same ones under other names. So what many have in
//! common, type, quality of service and USER_DATA, is kept once, and where an endpoint lives only if it is not where its
//! participant does.

use std::{collections::BTreeMap, sync::Arc};

use crate::structure::{guid::GUID, locator::Locator};

/// Endpoints of one type are of few kinds. Whoever invents more gets no discount.
const MAX_KINDS_OF_TYPE: usize = 16;

/// Addresses and multicast groups.
pub(crate) type Places<'a> = [&'a [Locator]; 2];

/// An endpoint as it is announced.
pub(crate) trait Announced: Clone {
  /// Whose announcement it is; also in the key, and in that of its participant.
  fn set_guid(&mut self, guid: GUID);
  fn topic_name(&mut self) -> &mut String;
  fn places(&mut self) -> [&mut Vec<Locator>; 2];
  fn type_name(&self) -> &str;
  fn user_data(&self) -> &[u8];
  /// Whether nothing differs that was announced.
  fn is_like(&self, other: &Self) -> bool;
}

/// What endpoints have in common.
#[derive(Debug)]
pub(crate) struct Kinds<D>(BTreeMap<String, Vec<Arc<D>>>);

impl<D> Default for Kinds<D> {
  fn default() -> Self {
    Self(BTreeMap::new())
  }
}

impl<D: Announced> Kinds<D> {
  fn share(&mut self, kind: D) -> Arc<D> {
    let of_type = match self.0.get_mut(kind.type_name()) {
      Some(of_type) => of_type,
      None => self.0.entry(kind.type_name().to_owned()).or_default(),
    };
    if let Some(known) = of_type.iter().find(|known| known.is_like(&kind)) {
      return Arc::clone(known);
    }
    let kind = Arc::new(kind);
    of_type.retain(|kind| Arc::strong_count(kind) > 1);
    if of_type.len() < MAX_KINDS_OF_TYPE {
      of_type.push(Arc::clone(&kind));
    }
    kind
  }

  /// Forgets what no endpoint is like any more.
  pub fn sweep(&mut self) {
    self.0.retain(|_, of_type| {
      of_type.retain(|kind| Arc::strong_count(kind) > 1);
      !of_type.is_empty()
    });
  }
}

/// An endpoint that was announced.
#[derive(Debug)]
pub(crate) struct Known<D> {
  topic: Box<str>,
  kind: Arc<D>,
  /// Where it lives, if not where its participant does.
  places: Option<Box<[Vec<Locator>; 2]>>,
}

fn are_same(some: &[Locator], others: &[Locator]) -> bool {
  some.len() == others.len() && some.iter().all(|place| others.contains(place))
}

impl<D: Announced> Known<D> {
  pub fn new(mut announced: D, of_participant: Places, kinds: &mut Kinds<D>) -> Self {
    announced.set_guid(GUID::GUID_UNKNOWN);
    let topic = std::mem::take(announced.topic_name()).into_boxed_str();
    let mut places = announced.places().map(std::mem::take);
    for (places, of_participant) in places.iter_mut().zip(of_participant) {
      if are_same(places, of_participant) {
        places.clear();
      }
    }
    Self {
      topic,
      kind: kinds.share(announced),
      places: places.iter().any(|places| !places.is_empty()).then(|| Box::new(places)),
    }
  }

  pub fn topic_name(&self) -> &str {
    &self.topic
  }

  /// How long what it says is.
  pub fn text(&self) -> usize {
    self.topic.len() + self.kind.type_name().len() + self.kind.user_data().len()
  }

  /// Whether it lives, or lived, where its participant does.
  pub fn lives_with(&mut self, participant: Places) -> bool {
    if self.places.as_ref().is_some_and(|own| are_same(&own[0], participant[0])) {
      self.places = None;
    }
    self.places.as_ref().is_none_or(|own| own[0].is_empty())
  }

  /// All of it.
  pub fn whole(&self, guid: GUID, of_participant: Places) -> D {
    let mut announced = D::clone(&self.kind);
    announced.set_guid(guid);
    *announced.topic_name() = self.topic.to_string();
    for (index, places) in announced.places().into_iter().enumerate() {
      let own = self.places.as_ref().map_or(&[][..], |own| &own[index]);
      *places = if own.is_empty() { of_participant[index].to_vec() } else { own.to_vec() };
    }
    announced
  }
}
