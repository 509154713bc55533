//! Whether data flows: every announced topic is listened to for a while.

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    time::Duration,
};

use rosless_cli::{Result, Session, err, out};
use rosless_graph::{Gid, Graph, Sample, Subscription, TopicQos, monotonic};
use rosless_protocol::{controller::System, name::SystemId, node::ControllerNode};
use rosless_wire::rosless_msgs::msg::SystemStatus;
use serde_json::{Value, json};

/// How long topics are listened to.
const LISTENING: Duration = Duration::from_secs(2);
/// Announcements are foreign: nobody makes us listen to more than this.
const MOST_TOPICS: usize = 256;

/// One topic's rate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flow {
    pub(crate) topic: String,
    /// Samples per second; `None` when nobody publishes it.
    pub(crate) hertz: Option<f64>,
    pub(crate) least: f64,
}

impl Flow {
    /// Something comes, and as often as it must.
    pub(crate) fn is_enough(&self) -> bool {
        self.hertz.is_some_and(|hertz| hertz > 0.0 && hertz >= self.least)
    }

    pub(crate) fn json(&self) -> Value {
        json!({ "topic": self.topic, "hertz": self.hertz, "least": self.least, "enough": self.is_enough() })
    }

    pub(crate) fn print(&self) {
        let Self { topic, least, .. } = self;
        match self.hertz {
            None => err!("{topic}: nobody publishes it"),
            Some(hertz) if self.is_enough() => out!("{topic}: {hertz:.1} Hz"),
            Some(hertz) => {
                err!("{topic}: {hertz:.1} Hz, at least {:.1} Hz are needed", least.max(f64::MIN_POSITIVE))
            }
        }
    }
}

/// The full name of a topic that the system of this full name announced.
fn resolve(system: &str, topic: &str) -> String {
    let namespace = system.rsplit_once('/').map_or("", |(namespace, _)| namespace);
    if topic.starts_with('/') { topic.to_owned() } else { format!("{namespace}/{topic}") }
}

/// The full names of what these systems announced.
pub(crate) fn announced<'a>(systems: impl Iterator<Item = (&'a SystemId, &'a System)>) -> Vec<String> {
    let of = |(id, system): (&'a SystemId, &'a System)| {
        system.topics.iter().map(move |topic| resolve(id.as_str(), topic))
    };
    let mut topics: Vec<_> = systems.flat_map(of).collect();
    topics.sort_unstable();
    topics.dedup();
    topics
}

/// How often the data of systems comes, for as long as it is watched.
pub(crate) struct Rates<'a, S: 'static> {
    session: &'a Session<S>,
    controller: &'a ControllerNode<S>,
    subscriptions: BTreeMap<String, Subscription<S>>,
    counts: Rc<RefCell<Counts>>,
    /// What was counted until when, the oldest first.
    past: VecDeque<(Duration, Counts)>,
}

/// Samples by topic and publisher: two systems may publish on one topic.
type Counts = BTreeMap<(String, Gid), u64>;

impl<'a, S: 'static> Rates<'a, S> {
    pub(crate) fn new(session: &'a Session<S>, controller: &'a ControllerNode<S>) -> Self {
        let (subscriptions, counts, past) = Default::default();
        Self { session, controller, subscriptions, counts, past }
    }

    /// Listens to what is announced by now, and notes what has come.
    pub(crate) fn follow(&mut self) {
        let announced =
            self.controller.with_systems(|systems| announced(systems.iter().filter(|(_, s)| s.present())));
        let graph = self.session.graph();
        for topic in announced {
            if self.subscriptions.contains_key(&topic) || self.subscriptions.len() >= MOST_TOPICS {
                continue;
            }
            if let Some(subscription) = self.listen(&graph, &topic) {
                self.subscriptions.insert(topic, subscription);
            }
        }
        self.past.push_back((monotonic(), self.counts.borrow().clone()));
        while self.past.get(1).is_some_and(|(at, _)| monotonic().saturating_sub(*at) >= LISTENING) {
            self.past.pop_front();
        }
    }

    fn listen(&self, graph: &Graph, topic: &str) -> Option<Subscription<S>> {
        let type_name = graph.publishers(topic).first()?.type_name();
        let (counts, controller, name) = (self.counts.clone(), self.controller.clone(), topic.to_owned());
        let count = move |_: &mut S, sample: Sample<Vec<u8>>| {
            *counts.borrow_mut().entry((name.clone(), sample.info.publisher)).or_default() += 1;
            controller.note_sample(&sample.info);
        };
        let Session { event_loop, node, .. } = self.session;
        // Best effort hears everybody.
        let subscription =
            event_loop.subscribe_raw(node, topic.sensor_data().keep_last(1000), (&type_name, ""), count);
        subscription.inspect_err(|error| log::warn!("cannot listen to {topic}: {error}")).ok()
    }

    /// Samples per second of each topic that a system announced, by its own publishers; `None` where it has none.
    pub(crate) fn of(&self, system: &SystemStatus) -> Vec<(String, Option<f64>)> {
        let graph = self.session.graph();
        let theirs = |gid: &Gid| graph.node_of(gid).is_some_and(|node| node.to_string() == system.name);
        let rate = |topic: &String| {
            let full = resolve(&system.name, topic);
            let (began, before) = self.past.front()?;
            let (ended, after) = self.past.back()?;
            let publishers = graph.publishers(&full);
            let own = publishers.iter().filter(|endpoint| theirs(&endpoint.gid));
            let mut own = own.map(|endpoint| (full.clone(), endpoint.gid)).peekable();
            own.peek()?;
            let count = |counts: &Counts, key: &(String, Gid)| counts.get(key).copied().unwrap_or_default();
            let samples: u64 = own.map(|key| count(after, &key) - count(before, &key)).sum();
            let seconds = ended.saturating_sub(*began).as_secs_f64();
            (seconds > 0.0).then(|| samples as f64 / seconds)
        };
        system.topics.iter().map(|topic| (topic.clone(), rate(topic))).collect()
    }
}

/// Listens to `topics` and to those that must have a rate.
pub(crate) fn check<S>(
    session: &Session<S>,
    topics: Vec<String>,
    least: &BTreeMap<String, f64>,
) -> Result<Vec<Flow>> {
    let mut wanted: BTreeMap<String, f64> = topics.into_iter().map(|topic| (topic, 0.0)).collect();
    wanted.extend(least.iter().map(|(topic, hertz)| (rosless_cli::session::absolute(topic), *hertz)));
    let counts = Rc::new(RefCell::new(BTreeMap::<String, u32>::new()));
    let graph = session.graph();
    let types = graph.topics();
    let mut subscriptions = Vec::new();
    for topic in wanted.keys() {
        let published = graph.publishers(topic).first().map(|endpoint| endpoint.type_name());
        if let Some(type_name) = published.or_else(|| types.get(topic)?.first().cloned()) {
            let (counts, name) = (counts.clone(), topic.clone());
            // Best effort hears everybody.
            let count = move |_: &mut S, _| *counts.borrow_mut().entry(name.clone()).or_default() += 1;
            subscriptions.push(session.event_loop.subscribe_raw(
                &session.node,
                topic.sensor_data().keep_last(1000),
                (&type_name, ""),
                count,
            )?);
        }
    }
    // Publishers that look for listeners first begin when they have found us.
    session.run_until(LISTENING, || subscriptions.iter().all(|s| s.matched() > 0))?;
    counts.borrow_mut().clear();
    let began = monotonic();
    session.run_until(LISTENING, || false)?;
    let seconds = (monotonic() - began).as_secs_f64();
    let counts = counts.borrow();
    let flow = |(topic, least): (String, f64)| {
        let listened = subscriptions.iter().any(|s| s.topic() == topic && s.matched() > 0);
        let hertz = listened.then(|| f64::from(counts.get(&topic).copied().unwrap_or_default()) / seconds);
        Flow { topic, hertz, least }
    };
    Ok(wanted.into_iter().map(flow).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_never_enough() {
        let flow = |hertz, least| Flow { topic: "/t".into(), hertz, least }.is_enough();
        assert!(flow(Some(30.0), 20.0) && flow(Some(0.5), 0.0));
        assert!(!flow(Some(0.0), 0.0) && !flow(None, 0.0) && !flow(Some(19.0), 20.0));
    }

    #[test]
    fn topics_are_where_their_system_is() {
        let id = SystemId::resolve("/lab", "cam").unwrap();
        let mut system = System::default();
        system.topics = vec!["markers".into(), "/tf".into(), "markers".into()];
        assert_eq!(announced([(&id, &system)].into_iter()), ["/lab/markers", "/tf"]);
    }
}
