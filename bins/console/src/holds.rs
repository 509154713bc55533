//! What goes on only as long as somebody holds a button: it ends when the button is let go, and when nothing is heard of whoever
//! holds it.

use std::{collections::BTreeMap, time::Duration};

use rosless_web::ClientId;

/// Nothing heard for this long means: let go.
pub(crate) const PATIENCE: Duration = Duration::from_millis(600);

/// Everything that is held. `A` is what ends it.
#[derive(Debug)]
pub(crate) struct Holds<A>(BTreeMap<(ClientId, String), (Duration, A)>);

impl<A> Default for Holds<A> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<A> Holds<A> {
    /// Holds, or goes on holding; `true` if it begins with this.
    pub(crate) fn hold(&mut self, client: ClientId, key: &str, release: A, now: Duration) -> bool {
        self.0.insert((client, key.to_owned()), (now + PATIENCE, release)).is_none()
    }

    /// Lets go.
    pub(crate) fn release(&mut self, client: ClientId, key: &str) -> Option<A> {
        self.0.remove(&(client, key.to_owned())).map(|(_, release)| release)
    }

    /// Everything of a client, or of everybody.
    pub(crate) fn release_all(&mut self, of: Option<ClientId>) -> Vec<A> {
        self.take(|client, _| of.is_none_or(|of| client == of))
    }

    /// Whatever nobody has said anything about for too long.
    pub(crate) fn expired(&mut self, now: Duration) -> Vec<A> {
        self.take(|_, until| until <= now)
    }

    fn take(&mut self, mut which: impl FnMut(ClientId, Duration) -> bool) -> Vec<A> {
        let (gone, kept): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|((client, _), (until, _))| which(*client, *until));
        self.0 = kept;
        gone.into_values().map(|(_, release)| release).collect()
    }

    /// When somebody must be heard again.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        self.0.values().map(|(until, _)| *until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_is_let_go_by_word_by_silence_and_by_leaving() {
        let ms = Duration::from_millis;
        let (one, two) = (ClientId(1), ClientId(2));
        let mut holds = Holds::default();
        assert!(holds.hold(one, "up", 'a', ms(0)) && !holds.hold(one, "up", 'a', ms(100)));
        assert!(holds.hold(two, "up", 'b', ms(300)));
        assert_eq!((holds.next_deadline(), holds.expired(ms(699))), (Some(ms(700)), vec![]));
        assert_eq!((holds.expired(ms(700)), holds.release(one, "up")), (vec!['a'], None));
        assert!(holds.hold(one, "down", 'c', ms(700)));
        assert_eq!((holds.release_all(Some(two)), holds.release(one, "down")), (vec!['b'], Some('c')));
        assert_eq!(holds.next_deadline(), None);
    }
}
