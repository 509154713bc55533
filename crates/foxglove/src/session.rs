//! What one client listens to and publishes.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Advertised, Subscription, Told, Wrong};

/// More subscriptions or channels than this no client has.
const MOST: usize = 2048;

/// One client.
#[derive(Debug, Default)]
pub struct Session {
    /// The client's number of a subscription, and our channel.
    subscriptions: BTreeMap<u32, u32>,
    channels: BTreeMap<u32, Advertised>,
    /// Parameters whose changes it hears of.
    pub parameters: BTreeSet<String>,
    /// The topics and services it was told of last, if it wants to know who is connected to what.
    pub graph: Option<(BTreeSet<String>, BTreeSet<String>)>,
    by_table: bool,
}

impl Session {
    /// Of a client that speaks this subprotocol.
    pub fn new(subprotocol: &str) -> Self {
        Self { by_table: subprotocol == crate::BY_TABLE, ..Self::default() }
    }

    /// What it is told, in its words.
    pub fn words<'a>(&self, told: &'a Told) -> &'a str {
        told.text(self.by_table)
    }

    /// Subscribes; `true` if the channel was not listened to before.
    ///
    /// # Errors
    /// Why not.
    pub fn subscribe(&mut self, subscription: Subscription) -> Result<bool, Wrong> {
        if self.subscriptions.len() >= MOST {
            return Err(Wrong(format!("{MOST} subscriptions are all that one client gets")));
        }
        if self.subscriptions.contains_key(&subscription.id) {
            return Err(Wrong(format!("subscription {} is there already", subscription.id)));
        }
        let new = !self.listens_to(subscription.channel_id);
        self.subscriptions.insert(subscription.id, subscription.channel_id);
        Ok(new)
    }

    /// Unsubscribes; the channel, if nothing listens to it any more.
    pub fn unsubscribe(&mut self, id: u32) -> Option<u32> {
        let channel = self.subscriptions.remove(&id)?;
        (!self.listens_to(channel)).then_some(channel)
    }

    fn listens_to(&self, channel: u32) -> bool {
        self.subscriptions.values().any(|listened| *listened == channel)
    }

    /// The client's numbers for a channel.
    pub fn subscriptions_of(&self, channel: u32) -> impl Iterator<Item = u32> {
        self.subscriptions.iter().filter(move |(_, listened)| **listened == channel).map(|(id, _)| *id)
    }

    /// All channels that it listens to.
    pub fn listened(&self) -> BTreeSet<u32> {
        self.subscriptions.values().copied().collect()
    }

    /// A channel on which it will publish.
    ///
    /// # Errors
    /// Why not.
    pub fn advertise(&mut self, channel: Advertised) -> Result<(), Wrong> {
        if self.channels.len() >= MOST {
            return Err(Wrong(format!("{MOST} channels are all that one client gets")));
        }
        self.channels.insert(channel.id, channel);
        Ok(())
    }

    /// It will publish there no more.
    pub fn unadvertise(&mut self, id: u32) -> Option<Advertised> {
        self.channels.remove(&id)
    }

    /// A channel of its own.
    pub fn advertised(&self, id: u32) -> Option<&Advertised> {
        self.channels.get(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_listened_to_as_long_as_a_subscription_lives() {
        let mut session = Session::default();
        let subscription = |id| Subscription { id, channel_id: 9 };
        assert_eq!(
            (session.subscribe(subscription(1)), session.subscribe(subscription(2))),
            (Ok(true), Ok(false))
        );
        assert!(session.subscribe(subscription(2)).is_err());
        assert_eq!(session.subscriptions_of(9).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(
            (session.unsubscribe(1), session.unsubscribe(1), session.unsubscribe(2)),
            (None, None, Some(9))
        );
        for id in 0..MOST as u32 {
            session.subscribe(Subscription { id, channel_id: id }).unwrap();
        }
        assert!(session.subscribe(subscription(9999)).is_err(), "there is an end to it");
    }
}
