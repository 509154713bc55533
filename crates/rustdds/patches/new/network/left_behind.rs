//! Who knows us only at an address that we have lost.

use std::collections::BTreeMap;

/// Participants that do not follow us to another address. They are told goodbye, but without any address nobody hears
/// it: then it is said again when one has come, whatever was heard of them in between. What they send to all
/// arrives from the moment on at which the operating system has the new address, which is before we are told of it.
#[derive(Default)]
pub(crate) struct LeftBehind<P> {
    /// With whether a goodbye could have been heard.
    strangers: BTreeMap<P, bool>,
}

impl<P: Copy + Ord> LeftBehind<P> {
    pub fn retain(&mut self, is_there: impl Fn(&P) -> bool) {
        self.strangers.retain(|stranger, _| is_there(stranger));
    }

    /// The network has changed. Who is to be told goodbye, now?
    pub fn to_be_told(
        &mut self,
        lost: impl Iterator<Item = P>,
        has_come: bool,
        is_heard: impl Fn(P) -> bool,
    ) -> Vec<P> {
        self.strangers.retain(|stranger, was_told| !(*was_told && is_heard(*stranger)));
        self.strangers.extend(lost.map(|stranger| (stranger, false)));
        for (stranger, was_told) in &mut self.strangers {
            *was_told |= has_come || is_heard(*stranger);
        }
        self.strangers.keys().copied().collect()
    }
}
