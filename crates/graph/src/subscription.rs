//! Subscriptions: samples taken from DDS, checked, decoded and handed to a callback.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use rosless_wire::{Message, cdr};

use crate::{
    Counters, Gid, Graph, Node, Result, SampleInfo, Topic, TypeAndHash,
    counters::Throttle,
    event_loop::{Handle, Source},
    qos::{Durability, History},
    qos_overrides::Side,
    raw::{RawReader, RawSample, TopicSpec},
};

/// A message and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample<M> {
    /// What was sent.
    pub message: M,
    /// By whom and when.
    pub info: SampleInfo,
}

/// How many samples one reader may deliver before others get their turn, and how many if that is quickly done.
const BATCH: usize = 128;
const QUICK_BATCH: usize = 2048;
/// After a callback that took longer, what came meanwhile may have made waiting samples too old.
const SLOW: Duration = Duration::from_millis(1);
/// How many samples may be looked at, at once, to find the newest: others must get their turn during a flood.
const LOOK_AHEAD: usize = 10_000;

/// A reader with its bookkeeping: the common part of subscriptions, servers and clients.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) reader: RefCell<RawReader>,
    /// What waits for the callback: the newest `depth` samples; nothing when all are kept, they wait in DDS.
    waiting: RefCell<VecDeque<RawSample>>,
    depth: Option<usize>,
    pub(crate) gid: Gid,
    pub(crate) name: String,
    node: Node,
    dds_type: String,
    counters: Cell<Counters>,
    complaint: Throttle,
    writers: RefCell<Writers>,
    /// Replies and requests go to one of many, so their gaps mean nothing.
    count_gaps: bool,
    /// Of a subscription for late joiners: its publishers, and those that it had before.
    publishers: RefCell<(BTreeSet<Gid>, BTreeSet<Gid>)>,
}

impl Inbox {
    pub(crate) fn new(node: &Node, spec: TopicSpec, count_gaps: bool) -> Result<Self> {
        let (name, dds_type) = (spec.ros_name(), spec.dds_type.clone());
        let depth = match spec.qos.history {
            History::KeepLast(depth) => Some(depth.max(spec.burst) as usize),
            History::KeepAll | History::Unknown => None,
        };
        let reader = RawReader::new(node, spec)?;
        Ok(Self {
            gid: reader.gid,
            reader: RefCell::new(reader),
            waiting: RefCell::default(),
            depth,
            name,
            node: node.clone(),
            dds_type,
            counters: Cell::default(),
            complaint: Throttle::default(),
            writers: RefCell::default(),
            count_gaps,
            publishers: RefCell::default(),
        })
    }

    /// Whether publishers came back that were lost. What they keep for late joiners is taken once more, because whoever
    /// saw them go may have forgotten it.
    fn publishers_returned(&self, graph: &Graph) -> bool {
        let reader = self.reader.borrow();
        if reader.spec.qos.durability != Durability::TransientLocal {
            return false;
        }
        let mut publishers = self.publishers.borrow_mut();
        let (present, absent) = &mut *publishers;
        let before = std::mem::replace(present, graph.matched(&self.gid).copied().collect());
        absent.extend(before.difference(present));
        let returned: Vec<_> = absent.intersection(present).copied().collect();
        returned.iter().for_each(|publisher| reader.take_again(publisher));
        absent.retain(|publisher| !present.contains(publisher));
        while absent.len() > MAX_KNOWN_WRITERS {
            absent.pop_first();
        }
        !returned.is_empty()
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters.get()
    }

    pub(crate) fn matched(&self) -> usize {
        self.node.context().graph().matched(&self.gid).count()
    }

    fn count(&self, change: impl Fn(&mut Counters)) {
        for counted in [&self.counters, &self.node.context().0.counters] {
            let mut counters = counted.get();
            change(&mut counters);
            counted.set(counters);
        }
    }

    pub(crate) fn undecodable(&self, publisher: Option<Gid>, reason: &dyn std::fmt::Display) {
        self.count(|counters| counters.undecodable += 1);
        if self.complaint.may_speak() {
            let from = publisher.map_or_else(|| "somebody".to_owned(), |gid| gid.to_string());
            log::warn!(
                target: self.node.logger(),
                "{}: dropped what {from} sent: {reason} ({} such samples so far)",
                self.name,
                self.counters.get().undecodable,
            );
        }
    }

    /// Takes samples and hands the good ones on; `true` when there may be more.
    pub(crate) fn take(&self, mut deliver: impl FnMut(RawSample)) -> bool {
        let mut looked: Option<Instant> = None;
        let mut may_be_more = true;
        let mut began: Option<Instant> = None;
        for number in 1..=QUICK_BATCH {
            if number % BATCH == 0 && began.get_or_insert_with(Instant::now).elapsed() > SLOW {
                return true;
            }
            let is_late = || self.depth.is_some() && looked.is_none_or(|looked| looked.elapsed() > SLOW);
            let is_empty = self.waiting.borrow().is_empty();
            if is_empty && !may_be_more {
                return false;
            }
            if is_empty || is_late() {
                may_be_more = self.look();
                if self.waiting.borrow().is_empty() {
                    return false;
                }
                // With one there is nothing that may become too old while others are handled.
                looked = (self.waiting.borrow().len() > 1).then(Instant::now);
            }
            let next = self.waiting.borrow_mut().pop_front();
            match next {
                None => return false,
                Some(sample) if self.is_expected(&sample.info) => deliver(sample),
                Some(_) => {}
            }
        }
        true
    }

    /// Moves what has come to the waiting samples and drops those beyond the depth, the oldest first. Whether there may be
    /// more to take.
    fn look(&self) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        // What must all be kept is taken one by one, so that DDS knows how much still waits.
        let mut more = self.depth.map_or(1, |depth| depth.max(LOOK_AHEAD));
        while more > 0 {
            match self.reader.borrow().take() {
                Ok(None) => return false,
                Ok(Some(sample)) => {
                    more -= 1;
                    // Those that keep all have to say that there is room again.
                    let is_last = sample.is_last && self.depth.is_some();
                    waiting.push_back(sample);
                    if self.depth.is_some_and(|depth| waiting.len() > depth) {
                        waiting.pop_front();
                    }
                    if is_last {
                        return false;
                    }
                }
                Err(reason) => self.undecodable(None, &reason),
            }
        }
        true
    }

    /// Counts gaps, and refuses writers that announced another type.
    fn is_expected(&self, info: &SampleInfo) -> bool {
        let context = self.node.context();
        let announced = || Some(context.graph().endpoint(&info.publisher)?.dds_type.clone());
        match self.writers.borrow_mut().judge(info, &self.dds_type, announced) {
            Ok(gap) => {
                if self.count_gaps && gap > 0 {
                    self.count(|counters| counters.lost += gap);
                }
                true
            }
            Err(announced) => {
                self.count(|counters| counters.wrong_type += 1);
                if self.complaint.may_speak() {
                    log::warn!(
                        target: self.node.logger(),
                        "{}: ignored {}, which publishes {announced} instead of {}",
                        self.name,
                        info.publisher,
                        self.dds_type,
                    );
                }
                false
            }
        }
    }

    pub(crate) fn delivered(&self) {
        self.count(|counters| counters.received += 1);
    }
}

const MAX_KNOWN_WRITERS: usize = 1000;

/// What is known of those whose samples came: the last sequence number, and whether the type they announced was checked.
#[derive(Debug, Default)]
struct Writers(BTreeMap<Gid, (i64, bool)>);

impl Writers {
    /// How many samples are missing before this one, or the wrong type that its writer announced. A sample may come before
    /// its writer's announcement: it counts, and the writer is looked at again with the next one.
    fn judge(
        &mut self,
        info: &SampleInfo,
        expected: &str,
        announced: impl FnOnce() -> Option<Arc<str>>,
    ) -> Result<u64, Arc<str>> {
        let is_right = || match announced() {
            Some(announced) if *announced != *expected => Err(announced),
            announced => Ok(announced.is_some()),
        };
        let Some((last, checked)) = self.0.get_mut(&info.publisher) else {
            let checked = is_right()?;
            if self.0.len() >= MAX_KNOWN_WRITERS {
                self.0.clear();
            }
            self.0.insert(info.publisher, (info.sequence_number, checked));
            return Ok(0);
        };
        *checked = *checked || is_right()?;
        let gap = info.sequence_number.saturating_sub(*last).saturating_sub(1);
        *last = info.sequence_number;
        Ok(u64::try_from(gap).unwrap_or(0))
    }
}

/// A subscription on an event loop. Dropping this handle changes nothing; [`close`](Self::close) ends the subscription.
pub struct Subscription<S> {
    inbox: Rc<Inbox>,
    handle: Handle<S>,
    token: usize,
}

impl<S> std::fmt::Debug for Subscription<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Subscription").field(&self.inbox).finish()
    }
}

impl<S: 'static> Subscription<S> {
    /// How many publishers send to it.
    pub fn matched(&self) -> usize {
        self.inbox.matched()
    }

    /// What became of the samples.
    pub fn counters(&self) -> Counters {
        self.inbox.counters()
    }

    /// The full name of the topic.
    pub fn topic(&self) -> &str {
        &self.inbox.name
    }

    /// The subscription on the wire.
    pub fn gid(&self) -> Gid {
        self.inbox.gid
    }

    /// Ends the subscription; peers see it vanish.
    pub fn close(self) {
        if let Ok(core) = self.handle.core() {
            core.remove_source(self.token);
        }
    }
}

struct TopicSource<F> {
    inbox: Rc<Inbox>,
    callback: RefCell<F>,
}

impl<S, F: FnMut(&mut S, RawSample, &Inbox)> Source<S> for TopicSource<F> {
    fn ready(&self, app: &mut S) -> bool {
        self.inbox.take(|sample| (self.callback.borrow_mut())(app, sample, &self.inbox))
    }

    fn graph_changed(&self, app: &mut S, graph: &Graph) {
        if self.inbox.publishers_returned(graph) {
            while self.ready(app) {}
        }
    }
}

impl<S: 'static> Handle<S> {
    /// Subscribes to `topic`. Samples that do not decode are counted and logged, and the callback never sees them.
    pub fn subscribe<'t, M: Message>(
        &self,
        node: &Node,
        topic: impl Into<Topic<'t>>,
        mut callback: impl FnMut(&mut S, Sample<M>) + 'static,
    ) -> Result<Subscription<S>> {
        let spec = node.topic_spec(Side::Subscription, topic.into(), (M::TYPE_NAME, M::TYPE_HASH))?;
        node.know(M::DEFINITIONS);
        self.add_subscription(node, spec, move |app, sample, inbox| {
            match cdr::from_body(&sample.body, sample.order) {
                Ok(message) => {
                    inbox.delivered();
                    callback(app, Sample { message, info: sample.info });
                }
                Err(error) => inbox.undecodable(Some(sample.info.publisher), &error),
            }
        })
    }

    /// Subscribes without decoding: the callback gets payloads, encapsulation header first. An empty hash announces none.
    pub fn subscribe_raw<'t>(
        &self,
        node: &Node,
        topic: impl Into<Topic<'t>>,
        ty: TypeAndHash<'_>,
        mut callback: impl FnMut(&mut S, Sample<Vec<u8>>) + 'static,
    ) -> Result<Subscription<S>> {
        let spec = node.topic_spec(Side::Subscription, topic.into(), ty)?;
        self.add_subscription(node, spec, move |app, sample, inbox| {
            inbox.delivered();
            callback(app, Sample { message: sample.payload(), info: sample.info });
        })
    }

    fn add_subscription(
        &self,
        node: &Node,
        spec: TopicSpec,
        callback: impl FnMut(&mut S, RawSample, &Inbox) + 'static,
    ) -> Result<Subscription<S>> {
        let inbox = Rc::new(Inbox::new(node, spec, true)?);
        let source = Rc::new(TopicSource { inbox: inbox.clone(), callback: RefCell::new(callback) });
        let token = self.core()?.add_source(&inbox.gid, source);
        Ok(Subscription { inbox, handle: self.clone(), token })
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_writer_that_announces_itself_late_is_checked_then() {
        let mut writers = Writers::default();
        let mut judge = |sequence_number, announced: Option<&str>| {
            let info = SampleInfo {
                source_stamp: None,
                reception_stamp: SystemTime::UNIX_EPOCH,
                publisher: Gid([1; 16]),
                sequence_number,
            };
            writers.judge(&info, "right", || announced.map(Into::into))
        };
        assert_eq!(judge(1, None), Ok(0));
        assert_eq!(judge(4, None), Ok(2));
        assert_eq!(judge(5, Some("wrong")), Err("wrong".into()));
        assert_eq!(judge(6, Some("right")), Ok(1));
        assert_eq!(judge(7, Some("nobody looks any more")), Ok(0));
    }
}
