//! What clients listen to: one subscription for all who want the same topic.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rosless_graph::{
    Gid, Graph, Qos, Sample, Subscription, monotonic,
    qos::{Durability, History, Reliability},
};
use rosless_schema::DynamicMessage;
use rosless_web::ClientId;
use serde_json::{Map, Value, json};

use crate::{
    app::{App, Speech},
    types::{Known, Missing},
};

/// Messages beyond this size are not shown as values: nobody reads them.
const MOST_SHOWN: usize = 64 * 1024;
/// What is latched is said once, and a robot's description may be long.
const MOST_SHOWN_LATCHED: usize = 512 * 1024;
/// What latched publishers said last is kept for so many of them, and so much of each.
const MOST_LATCHED: usize = 64;
const DEEPEST_LATCHED: usize = 8;
/// The past of so many topics is kept for pages that ask for it, so many samples of each and none that is larger.
const MOST_KEPT_TOPICS: usize = 32;
const MOST_KEPT: usize = 500;
const LARGEST_KEPT: usize = 4 * 1024;
/// A listener paces so many publishers each for itself.
const MOST_PACED: usize = 64;

/// Somebody who listens.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) client: ClientId,
    pub(crate) kind: Kind,
}

/// In which form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As values, of each publisher no more often than `period`; the last `keep` of them also from before it listened.
    Page { sub: u32, period: Duration, keep: usize, pace: Pace },
    /// The bytes.
    Foxglove { channel: u32 },
    /// Only how many there are.
    Rate,
}

/// When the next sample of each publisher may go out, and whether there is one that came too early. Each for itself, because one
/// that publishes often must not push out another one: robots share `/tf` and `/joint_states`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace(BTreeMap<Gid, (Duration, bool)>);

impl Pace {
    /// Whether a sample goes out now; if not, it is owed.
    fn passes(&mut self, publisher: Gid, period: Duration, now: Duration) -> bool {
        if self.0.len() >= MOST_PACED && !self.0.contains_key(&publisher) {
            // Who is not owed anything is paced anew.
            self.0.retain(|_, (_, late)| *late);
            if self.0.len() >= MOST_PACED {
                return true;
            }
        }
        let (due, late) = self.0.entry(publisher).or_default();
        *late = *due > now;
        if !*late {
            *due = now + period;
        }
        !*late
    }

    fn owed(&self) -> impl Iterator<Item = (Gid, Duration)> {
        self.0.iter().filter(|(_, (_, late))| *late).map(|(publisher, (due, _))| (*publisher, *due))
    }

    fn forgive(&mut self, publisher: &Gid) {
        self.0.remove(publisher);
    }
}

/// One topic.
pub(crate) struct Topic {
    subscription: Subscription<App>,
    known: std::rc::Rc<Known>,
    qos: Qos,
    pub(crate) listeners: Vec<Listener>,
    /// Samples that somebody is owed.
    last: BTreeMap<Gid, Sample<Vec<u8>>>,
    /// What latched publishers said last, for whoever listens later.
    latched: BTreeMap<Gid, VecDeque<Sample<Vec<u8>>>>,
    /// The past, for pages that want it, and how much of it.
    kept: VecDeque<Sample<Vec<u8>>>,
    keep: usize,
    count: u64,
    bytes: u64,
    measured: Duration,
}

/// The most that can be asked for and still hear every publisher.
fn adapted(graph: &Graph, topic: &str) -> Qos {
    let publishers = graph.publishers(topic);
    let mut qos = Qos::default();
    if publishers.iter().any(|p| p.qos.reliability == Reliability::BestEffort) {
        qos = qos.best_effort();
    }
    if !publishers.is_empty() && publishers.iter().all(|p| p.qos.durability == Durability::TransientLocal) {
        qos = qos.transient_local();
    }
    qos
}

pub(crate) fn milliseconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e3
}

impl App {
    /// The topic's type, if it has just one.
    pub(crate) fn type_of_topic(&self, topic: &str) -> Result<String, String> {
        let types = self.graph().topics().remove(topic).unwrap_or_default();
        match types.len() {
            0 => Err(format!("nobody has a topic {topic}")),
            1 => Ok(types.into_iter().next().unwrap_or_default()),
            _ => Err(format!("{topic} has more than one type: say which")),
        }
    }

    /// The type of a topic in the version that its publishers announce.
    pub(crate) fn topic_type(&self, topic: &str, name: &str) -> Result<std::rc::Rc<Known>, Missing> {
        let graph = self.graph();
        let endpoints: Vec<_> =
            graph.endpoints().filter(|e| e.ros_name() == topic && e.type_name() == name).collect();
        self.types.find(&graph, name, &endpoints)
    }

    /// Lets somebody listen.
    pub(crate) fn listen(&mut self, topic: &str, type_name: &str, listener: Listener) -> Result<(), Missing> {
        let key = (topic.to_owned(), type_name.to_owned());
        if !self.topics.contains_key(&key) {
            let known = self.topic_type(topic, type_name)?;
            let qos = adapted(&self.graph(), topic);
            let subscription =
                self.subscription(&key, &known, qos).map_err(|e| Missing::Unknown(e.to_string()))?;
            let topic = Topic {
                subscription,
                known,
                qos,
                listeners: Vec::new(),
                last: BTreeMap::new(),
                latched: BTreeMap::new(),
                kept: VecDeque::new(),
                keep: 0,
                count: 0,
                bytes: 0,
                measured: monotonic(),
            };
            self.topics.insert(key.clone(), topic);
        }
        let client = listener.client;
        let has_room = self.topics.values().filter(|topic| topic.keep > 0).count() < MOST_KEPT_TOPICS;
        let earlier: Vec<_> = self.topics.get_mut(&key).map_or_else(Vec::new, |topic| {
            let keep = match listener.kind {
                Kind::Page { keep, .. } if topic.keep > 0 || has_room => keep.min(MOST_KEPT),
                _ => 0,
            };
            topic.keep = topic.keep.max(keep);
            topic.listeners.push(listener);
            match keep {
                0 => topic.latched.values().flatten().cloned().collect(),
                _ => topic.kept.iter().skip(topic.kept.len().saturating_sub(keep)).cloned().collect(),
            }
        });
        for sample in earlier {
            self.deliver(&key, &sample, Some(client));
        }
        Ok(())
    }

    fn subscription(
        &self,
        key: &(String, String),
        known: &Known,
        qos: Qos,
    ) -> rosless_graph::Result<Subscription<App>> {
        let heard = key.clone();
        self.handle.subscribe_raw(
            &self.node,
            (&key.0, qos),
            (&known.name, &known.hash),
            move |app: &mut App, sample| {
                app.heard(&heard, sample);
            },
        )
    }

    fn heard(&mut self, key: &(String, String), sample: Sample<Vec<u8>>) {
        let graph = self.graph();
        let Some(topic) = self.topics.get_mut(key) else { return };
        let publisher = sample.info.publisher;
        topic.count += 1;
        topic.bytes += sample.message.len() as u64;
        if topic.qos.durability == Durability::TransientLocal {
            let depth = match graph.endpoint(&publisher).map(|endpoint| endpoint.qos.history) {
                Some(History::KeepLast(depth)) => (depth as usize).clamp(1, DEEPEST_LATCHED),
                _ => 1,
            };
            let last = topic.latched.entry(publisher).or_default();
            last.push_back(sample.clone());
            last.drain(..last.len().saturating_sub(depth));
            while topic.latched.len() > MOST_LATCHED {
                topic.latched.pop_first();
            }
        }
        if topic.keep > 0 && sample.message.len() <= LARGEST_KEPT {
            topic.kept.push_back(sample.clone());
            topic.kept.drain(..topic.kept.len().saturating_sub(topic.keep));
        }
        self.deliver(key, &sample, None);
        if let Some(topic) = self.topics.get_mut(key) {
            let is_owed = |l: &Listener| matches!(&l.kind, Kind::Page { pace, .. } if pace.owed().any(|(owed, _)| owed == publisher));
            if topic.listeners.iter().any(is_owed) {
                topic.last.insert(publisher, sample);
            } else {
                topic.last.remove(&publisher);
            }
        }
    }

    /// Sends a sample to all who listen, or to one.
    fn deliver(&mut self, key: &(String, String), sample: &Sample<Vec<u8>>, only: Option<ClientId>) {
        let Some(mut topic) = self.topics.remove(key) else { return };
        let now = monotonic();
        let mut value = None;
        for listener in &mut topic.listeners {
            if only.is_some_and(|only| only != listener.client) {
                continue;
            }
            match &mut listener.kind {
                Kind::Page { sub, period, pace, .. } => {
                    if !period.is_zero() && !pace.passes(sample.info.publisher, *period, now) {
                        continue;
                    }
                    let most = if topic.latched.is_empty() { MOST_SHOWN } else { MOST_SHOWN_LATCHED };
                    let value = value.get_or_insert_with(|| shown(&topic.known, sample, most));
                    self.data(listener.client, format!("{{\"op\":\"message\",\"sub\":{sub},{value}}}"));
                }
                Kind::Foxglove { channel } => {
                    let stamp = sample.info.source_stamp.unwrap_or(sample.info.reception_stamp);
                    let nanoseconds = stamp.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
                    let Some(peer) = self.peers.get(&listener.client) else { continue };
                    let Speech::Foxglove(session) = &peer.speech else { continue };
                    for id in session.subscriptions_of(*channel).collect::<Vec<_>>() {
                        let bytes = rosless_foxglove::message::data(id, nanoseconds, &sample.message);
                        self.data_bytes(listener.client, bytes);
                    }
                }
                Kind::Rate => {}
            }
        }
        self.topics.insert(key.clone(), topic);
    }

    /// When somebody is owed a sample that came too early.
    pub(crate) fn topics_deadline(&self) -> Option<Duration> {
        let listeners = self.topics.values().flat_map(|topic| &topic.listeners);
        let owed = listeners.filter_map(|listener| match &listener.kind {
            Kind::Page { pace, .. } => pace.owed().map(|(_, due)| due).min(),
            _ => None,
        });
        owed.min()
    }

    pub(crate) fn send_late(&mut self, now: Duration) {
        let mut owed = Vec::new();
        for (key, topic) in &self.topics {
            for listener in &topic.listeners {
                if let Kind::Page { pace, .. } = &listener.kind {
                    let due = pace.owed().filter(|(_, due)| *due <= now);
                    owed.extend(due.map(|(publisher, _)| (key.clone(), listener.client, publisher)));
                }
            }
        }
        for (key, client, publisher) in owed {
            let Some(topic) = self.topics.get_mut(&key) else { continue };
            match topic.last.get(&publisher).cloned() {
                Some(sample) => self.deliver(&key, &sample, Some(client)),
                None => {
                    for listener in &mut topic.listeners {
                        if let Kind::Page { pace, .. } = &mut listener.kind {
                            pace.forgive(&publisher);
                        }
                    }
                }
            }
        }
    }

    /// Whoever this is about does not listen any more.
    pub(crate) fn forget_listener(&mut self, mut which: impl FnMut(&Listener) -> bool) {
        for topic in self.topics.values_mut() {
            topic.listeners.retain(|listener| !which(listener));
        }
        let (kept, gone): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.topics)
            .into_iter()
            .partition(|(_, topic)| !topic.listeners.is_empty() || topic.keep > 0);
        self.topics = kept;
        self.finished.extend(gone.into_values().map(|topic| topic.subscription));
    }

    /// Publishers came or went: a subscription that does not hear all of them is made anew.
    pub(crate) fn adapt_topics(&mut self) {
        let graph = self.graph();
        let changed: Vec<_> = self
            .topics
            .iter()
            .map(|(key, topic)| (key.clone(), topic.qos, adapted(&graph, &key.0)))
            .filter(|(key, now, better)| now != better && !graph.publishers(&key.0).is_empty())
            .collect();
        for (key, _, qos) in changed {
            let Some(known) = self.topics.get(&key).map(|topic| topic.known.clone()) else { continue };
            match self.subscription(&key, &known, qos) {
                Ok(subscription) => {
                    if let Some(topic) = self.topics.get_mut(&key) {
                        self.finished.push(std::mem::replace(&mut topic.subscription, subscription));
                        topic.qos = qos;
                    }
                }
                Err(error) => log::warn!(target: self.node.logger(), "{}: {error}", key.0),
            }
        }
    }

    /// Tells pages how often topics are published.
    pub(crate) fn tell_rates(&mut self, now: Duration) {
        let mut rates = BTreeMap::new();
        for (key, topic) in &mut self.topics {
            let seconds = now.saturating_sub(topic.measured).as_secs_f64();
            if seconds > 0.5 {
                rates.insert(key.clone(), (topic.count as f64 / seconds, topic.bytes as f64 / seconds));
                (topic.count, topic.bytes, topic.measured) = (0, 0, now);
            }
        }
        let pages: Vec<_> = self
            .peers
            .iter()
            .filter_map(|(id, peer)| match &peer.speech {
                Speech::Page { measured, .. } if !measured.is_empty() => Some((*id, measured.clone())),
                _ => None,
            })
            .collect();
        for (id, measured) in pages {
            let of =
                |key: &(String, String)| rates.get(key).map(|(hz, bytes)| json!({"hz": hz, "bytes": bytes}));
            let topics: Map<String, Value> =
                measured.iter().filter_map(|key| Some((key.0.clone(), of(key)?))).collect();
            self.data(id, json!({"op": "rates", "topics": topics}).to_string());
        }
    }
}

/// When it came and was sent, by whom, and what it says.
fn shown(known: &Known, sample: &Sample<Vec<u8>>, most: usize) -> String {
    let came = milliseconds(sample.info.reception_stamp);
    let sent = sample.info.source_stamp.map_or(Value::Null, |stamp| milliseconds(stamp).into());
    let size = sample.message.len();
    let (from, number) = (sample.info.publisher, sample.info.sequence_number);
    let head =
        format!("\"t\":{came},\"sent\":{sent},\"size\":{size},\"from\":\"{from}\",\"sequence\":{number}");
    if size > most {
        return format!("{head},\"note\":\"too large to be shown\"");
    }
    match DynamicMessage::from_payload(&known.ty, &sample.message) {
        Ok(message) => format!("{head},\"value\":{}", serde_json::to_string(&message).unwrap_or_default()),
        Err(error) => format!("{head},\"note\":{}", json!(format!("cannot be decoded: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_publisher_does_not_push_out_a_quiet_one() {
        let ms = Duration::from_millis;
        let (busy, quiet) = (Gid([1; 16]), Gid([2; 16]));
        let mut pace = Pace::default();
        assert!(pace.passes(busy, ms(50), ms(0)) && !pace.passes(busy, ms(50), ms(10)));
        assert!(pace.passes(quiet, ms(50), ms(11)), "it has not said anything yet");
        assert_eq!(pace.owed().collect::<Vec<_>>(), [(busy, ms(50))]);
        assert!(pace.passes(busy, ms(50), ms(50)) && pace.owed().next().is_none());
        for n in 0..1000_u16 {
            pace.passes(Gid([(n % 251) as u8 + 3; 16]), ms(50), ms(60));
        }
        assert!(pace.0.len() <= MOST_PACED);
    }
}
