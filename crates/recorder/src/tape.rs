//! Subscriptions that feed a recorder.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rosless_bag::{Message, Recorder, Topic};
use rosless_graph::{
    Graph, Handle, Node, Qos, Sample, Subscription, descriptions,
    graph::Endpoint,
    monotonic,
    qos::{Durability, Reliability, to_hear_all},
};

use crate::{Known, Question, Types, offered};

/// What may come at once before the loop looks again: one turn takes thousands of samples of 1 kB from a busy publisher.
const AT_ONCE: u32 = 10_000;
/// Messages of a latched topic that are repeated in every part.
const LATCHED: u32 = 1000;
/// A type that nobody describes within this is recorded without its definition.
const DESCRIPTION: Duration = Duration::from_secs(6);
/// Messages that wait for the definition of their type, or of latched topics for a recording.
const WAITING: usize = 16 << 20;

/// What is dropped is told again after this.
const AGAIN: Duration = Duration::from_secs(5);

/// What became of one topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicReport {
    /// Full name.
    pub name: String,
    /// `pkg/msg/Type`.
    pub ty: String,
    /// Messages handed to the recorder.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Gaps in the numbers of its publishers.
    pub lost: u64,
    /// Found no room.
    pub dropped: u64,
    /// First and last log time.
    pub times: Option<(u64, u64)>,
}

impl TopicReport {
    /// The same topic, later on.
    fn add(&mut self, later: Self) {
        let times = [self.times, later.times].into_iter().flatten();
        *self = Self {
            messages: self.messages + later.messages,
            bytes: self.bytes + later.bytes,
            lost: self.lost + later.lost,
            dropped: self.dropped + later.dropped,
            times: times.reduce(|(first, _), (_, last)| (first, last)),
            ..later
        };
    }

    /// Messages per second; 0 where a few came too close to each other to tell.
    pub fn rate(&self) -> f64 {
        let seconds = self.times.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9);
        if seconds > 0.1 { (self.messages.saturating_sub(1)) as f64 / seconds } else { 0.0 }
    }
}

/// What the callback of a topic shares with the tape.
#[derive(Debug, Default)]
struct Track {
    /// Where messages go; nothing while nothing is recorded.
    sink: RefCell<Option<(Rc<Recorder>, usize)>>,
    paused: Rc<Cell<bool>>,
    /// What came before its definition was known, or, of latched topics, before a recording.
    waiting: RefCell<VecDeque<Message>>,
    keep: Cell<Keep>,
    messages: Cell<u64>,
    bytes: Cell<u64>,
    dropped: Cell<u64>,
    times: Cell<Option<(u64, u64)>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Keep {
    /// What comes while nothing is recorded is let by.
    #[default]
    Nothing,
    /// The last so many: late joiners would get them.
    Last(usize),
    /// Everything, for a recording that waits for the definition.
    All,
}

impl Track {
    fn take(&self, message: Message) {
        match &*self.sink.borrow() {
            Some((recorder, topic)) if !self.paused.get() => self.push(recorder, *topic, message),
            Some(_) => {}
            None => {
                let most = match self.keep.get() {
                    Keep::Nothing => return,
                    Keep::Last(most) => most,
                    Keep::All => usize::MAX,
                };
                let mut waiting = self.waiting.borrow_mut();
                waiting.push_back(message);
                let mut held: usize = waiting.iter().map(|message| message.data.len()).sum();
                while waiting.len() > most || held > WAITING {
                    held -= waiting.pop_front().map_or(held, |message| message.data.len());
                }
            }
        }
    }

    fn push(&self, recorder: &Recorder, topic: usize, message: Message) {
        let (size, time) = (message.data.len() as u64, message.log_time);
        if recorder.push(topic, message) {
            self.messages.set(self.messages.get() + 1);
            self.bytes.set(self.bytes.get() + size);
            let (first, last) = self.times.get().unwrap_or((time, time));
            self.times.set(Some((first.min(time), last.max(time))));
        } else {
            self.dropped.set(self.dropped.get() + 1);
        }
    }
}

struct Reel<S> {
    ty: String,
    hash: Option<String>,
    qos: Qos,
    offers: Vec<Qos>,
    subscription: Subscription<S>,
    track: Rc<Track>,
    known: Option<Known>,
    /// Asked, and by when it is done without.
    asked: bool,
    until: Duration,
    lost: Cell<u64>,
    /// How many were told to be dropped, and when.
    told: Cell<(u64, Duration)>,
}

type Override = Rc<dyn Fn(&str, Qos) -> Qos>;
type Chosen = Rc<dyn Fn(&str) -> bool>;

/// Subscriptions to topics as they come and go. While no recorder is attached they are kept warm: what is recorded next
/// begins with the first message after that.
pub struct Tape<S: 'static>(Rc<Inner<S>>);

impl<S: 'static> Clone for Tape<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Inner<S: 'static> {
    handle: Handle<S>,
    node: Node,
    types: Types,
    reels: RefCell<BTreeMap<String, Reel<S>>>,
    recorder: RefCell<Option<(Rc<Recorder>, Chosen)>>,
    /// What became of topics that were left while they were recorded.
    left: RefCell<BTreeMap<String, TopicReport>>,
    paused: Rc<Cell<bool>>,
    adapt: Override,
    /// Names complained of once.
    refused: RefCell<BTreeSet<String>>,
}

impl<S: 'static> std::fmt::Debug for Tape<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tape").field(&self.0.reels.borrow().keys().collect::<Vec<_>>()).finish()
    }
}

impl<S: 'static> Tape<S> {
    /// `adapt` may change the quality of service that is asked of a topic.
    pub fn new(
        handle: &Handle<S>,
        node: &Node,
        types: Types,
        adapt: impl Fn(&str, Qos) -> Qos + 'static,
    ) -> Self {
        Self(Rc::new(Inner {
            handle: handle.clone(),
            node: node.clone(),
            types,
            reels: RefCell::default(),
            recorder: RefCell::default(),
            left: RefCell::default(),
            paused: Rc::default(),
            adapt: Rc::new(adapt),
            refused: RefCell::default(),
        }))
    }

    /// Subscribes to what is wanted and published, and leaves what is not wanted any more. To be called when the graph
    /// changes, and now and then.
    pub fn follow(&self, graph: &Graph, wants: impl Fn(&str) -> bool) {
        let own = self.0.node.context().gid().prefix();
        for (topic, types) in graph.topics() {
            let known = self.0.reels.borrow().contains_key(&topic);
            if !wants(&topic) {
                if known {
                    self.leave(&topic);
                }
                continue;
            }
            let mut publishers = graph.publishers(&topic);
            publishers.retain(|publisher| publisher.gid.prefix() != own);
            if known {
                self.renew(graph, &topic, &publishers);
            } else if let Some(first) = publishers.first() {
                if types.len() > 1 && self.0.refused.borrow_mut().insert(topic.clone()) {
                    let types = types.into_iter().collect::<Vec<_>>().join(", ");
                    log::warn!(target: self.0.node.logger(), "{topic} carries {types}; only {} is recorded", first.type_name());
                }
                self.join(&topic, &publishers);
            }
        }
        self.resolve(graph);
    }

    fn join(&self, topic: &str, publishers: &[&Endpoint]) {
        let ty = publishers[0].type_name();
        let same: Vec<&Endpoint> = publishers.iter().copied().filter(|p| p.type_name() == ty).collect();
        let hash = same.iter().find_map(|publisher| publisher.type_hash.as_deref()).map(str::to_owned);
        let offers: Vec<Qos> = same.iter().map(|publisher| *publisher.qos).collect();
        let qos = self.qos(topic, &same);
        let track = Rc::new(Track { paused: self.0.paused.clone(), ..Track::default() });
        match self.subscribe(topic, &ty, hash.as_deref(), qos, &track) {
            Ok(subscription) => {
                log::info!(target: self.0.node.logger(), "Subscribed to topic '{topic}'");
                let known = self.0.types.known(&ty, hash.as_deref());
                let until = monotonic() + DESCRIPTION;
                let (lost, told) = (Cell::new(0), Cell::default());
                let reel = Reel {
                    ty,
                    hash,
                    qos,
                    offers,
                    subscription,
                    track,
                    known,
                    asked: false,
                    until,
                    lost,
                    told,
                };
                reel.track.keep.set(reel.keep(self.0.recorder.borrow().is_some()));
                self.0.reels.borrow_mut().insert(topic.to_owned(), reel);
                self.connect(topic);
            }
            Err(error) => {
                if self.0.refused.borrow_mut().insert(topic.to_owned()) {
                    log::warn!(target: self.0.node.logger(), "{topic} is not recorded: {error}");
                }
            }
        }
    }

    /// What all publishers can serve, and more depth than any.
    fn qos(&self, topic: &str, publishers: &[&Endpoint]) -> Qos {
        (self.0.adapt)(topic, to_hear_all(publishers).0.keep_last(AT_ONCE))
    }

    fn subscribe(
        &self,
        topic: &str,
        ty: &str,
        hash: Option<&str>,
        qos: Qos,
        track: &Rc<Track>,
    ) -> rosless_graph::Result<Subscription<S>> {
        let track = track.clone();
        self.0.handle.subscribe_raw(
            &self.0.node,
            (topic, qos),
            (ty, hash.unwrap_or_default()),
            move |_, sample| {
                track.take(message(sample));
            },
        )
    }

    /// A publisher that came later may offer less than was asked for so far.
    fn renew(&self, graph: &Graph, topic: &str, publishers: &[&Endpoint]) {
        let mut reels = self.0.reels.borrow_mut();
        let Some(reel) = reels.get_mut(topic) else { return };
        let same: Vec<&Endpoint> = publishers.iter().copied().filter(|p| p.type_name() == reel.ty).collect();
        if same.is_empty() {
            return;
        }
        for publisher in &same {
            if !reel.offers.contains(&publisher.qos) {
                reel.offers.push(*publisher.qos);
            }
        }
        let qos = self.qos(topic, &same);
        // Never more than before: what is kept for late joiners would come a second time.
        let less = (reel.qos.reliability == Reliability::Reliable
            && qos.reliability == Reliability::BestEffort)
            || (reel.qos.durability == Durability::TransientLocal && qos.durability == Durability::Volatile);
        let unheard = same.iter().any(|p| !graph.is_matched(&reel.subscription.gid(), &p.gid));
        if less && unheard {
            match self.subscribe(topic, &reel.ty, reel.hash.as_deref(), qos, &reel.track) {
                Ok(subscription) => {
                    log::info!(target: self.0.node.logger(), "{topic}: a publisher offers less; now subscribed {qos}");
                    std::mem::replace(&mut reel.subscription, subscription).close();
                    reel.qos = qos;
                }
                Err(error) => log::warn!(target: self.0.node.logger(), "{topic}: {error}"),
            }
        }
    }

    fn leave(&self, topic: &str) {
        if let Some(reel) = self.0.reels.borrow_mut().remove(topic) {
            if reel.track.sink.borrow().is_some() {
                self.0.left.borrow_mut().entry(topic.to_owned()).or_default().add(reel.report(topic));
            }
            reel.subscription.close();
        }
    }

    /// Asks for the definitions that are missing; those that nobody gives are done without.
    fn resolve(&self, graph: &Graph) {
        let mut ready = Vec::new();
        let mut questions = Vec::new();
        for (topic, reel) in self.0.reels.borrow_mut().iter_mut().filter(|(_, reel)| reel.known.is_none()) {
            if let Some(known) = self.0.types.known(&reel.ty, reel.hash.as_deref()) {
                reel.known = Some(known);
                ready.push(topic.clone());
                continue;
            }
            let publishers = graph.publishers(topic);
            let service = publishers.iter().find_map(|publisher| descriptions::service(graph, publisher));
            match (service, reel.hash.clone()) {
                (Some(service), Some(hash)) if !reel.asked => {
                    reel.asked = true;
                    questions.push((topic.clone(), service, reel.ty.clone(), hash));
                }
                _ if reel.until <= monotonic() => {
                    reel.do_without(self.0.node.logger(), topic);
                    ready.push(topic.clone());
                }
                _ => {}
            }
        }
        for (topic, service, ty, hash) in questions {
            let (tape, name) = (Rc::downgrade(&self.0), ty.clone());
            let question = Question { service: &service, name: &ty, hash: &hash };
            let asked = Types::ask(&self.0.handle, &self.0.node, question, move |_, answer| {
                let Some(tape) = tape.upgrade().map(Tape) else { return };
                match answer {
                    Ok(known) => {
                        tape.0.types.learn(&name, &known);
                        if let Some(reel) = tape.0.reels.borrow_mut().get_mut(&topic) {
                            reel.known = Some(known);
                        }
                        tape.connect(&topic);
                    }
                    Err(why) => log::warn!(target: tape.0.node.logger(), "{topic}: {why}"),
                }
            });
            if let Err(error) = asked {
                log::warn!(target: self.0.node.logger(), "{service}: {error}");
            }
        }
        ready.iter().for_each(|topic| self.connect(topic));
    }

    /// Waits for no definition any more: what came of types that nobody described is recorded without.
    pub fn settle(&self) {
        let Some((_, selects)) = self.0.recorder.borrow().clone() else { return };
        let mut ready = Vec::new();
        for (topic, reel) in self.0.reels.borrow_mut().iter_mut().filter(|(_, reel)| reel.known.is_none()) {
            if reel.track.waiting.borrow().is_empty() || !selects(topic) {
                continue;
            }
            reel.do_without(self.0.node.logger(), topic);
            ready.push(topic.clone());
        }
        ready.iter().for_each(|topic| self.connect(topic));
    }

    /// Lets a topic's messages go to the recorder, those that waited first.
    fn connect(&self, topic: &str) {
        let recorder = self.0.recorder.borrow().clone();
        let reels = self.0.reels.borrow();
        let Some((reel, (recorder, selects))) = reels.get(topic).zip(recorder) else { return };
        if reel.track.sink.borrow().is_some() || !selects(topic) {
            return;
        }
        let Some(known) = reel.known.clone() else { return };
        let index = recorder.add_topic(Topic {
            name: topic.to_owned(),
            ty: reel.ty.clone(),
            encoding: "cdr".to_owned(),
            definition: known.definition,
            type_hash: known.hash,
            qos: reel.offers.iter().map(offered).collect(),
        });
        let keep = reel.keep(false);
        let waiting: Vec<Message> = match keep {
            Keep::Last(_) => reel.track.waiting.borrow().iter().cloned().collect(),
            _ => reel.track.waiting.borrow_mut().drain(..).collect(),
        };
        waiting.into_iter().for_each(|message| reel.track.push(&recorder, index, message));
        reel.track.sink.replace(Some((recorder, index)));
    }

    /// From now on what comes on the topics that `selects` names is recorded; latched topics begin with what they had.
    pub fn attach(&self, recorder: &Rc<Recorder>, selects: impl Fn(&str) -> bool + 'static) {
        self.detach();
        self.0.recorder.replace(Some((recorder.clone(), Rc::new(selects))));
        for reel in self.0.reels.borrow().values() {
            reel.track.keep.set(reel.keep(true));
            reel.track.messages.set(0);
            reel.track.bytes.set(0);
            reel.track.dropped.set(0);
            reel.track.times.set(None);
            reel.told.set(Default::default());
            reel.lost.set(reel.subscription.counters().lost);
        }
        self.refresh();
    }

    /// Looks again which topics are selected: more of them may be.
    pub fn refresh(&self) {
        let topics: Vec<String> = self.0.reels.borrow().keys().cloned().collect();
        topics.iter().for_each(|topic| self.connect(topic));
    }

    /// Nothing is recorded any more; subscriptions stay.
    pub fn detach(&self) {
        self.0.recorder.replace(None);
        self.0.left.take();
        for reel in self.0.reels.borrow().values() {
            reel.track.sink.replace(None);
            reel.track.keep.set(reel.keep(false));
        }
    }

    /// While it is paused what comes is let by.
    pub fn set_paused(&self, paused: bool) {
        self.0.paused.set(paused);
    }

    /// See [`set_paused`](Self::set_paused).
    pub fn is_paused(&self) -> bool {
        self.0.paused.get()
    }

    /// Tells the recorder what never came.
    pub fn report_losses(&self) {
        // Of a disk that takes nothing any more something else is said.
        let over = |(recorder, _): &(Rc<Recorder>, Chosen)| recorder.status().failure.is_some();
        let over = self.0.recorder.borrow().as_ref().is_some_and(over);
        for (name, reel) in &*self.0.reels.borrow() {
            if let Some((recorder, topic)) = &*reel.track.sink.borrow() {
                recorder.set_lost(*topic, reel.lost_since());
            }
            let (dropped, told) = (reel.track.dropped.get(), reel.told.get());
            let is_due = monotonic() >= told.1 + AGAIN || told.0 == 0;
            if dropped > told.0 && is_due && !over {
                reel.told.set((dropped, monotonic()));
                log::warn!(
                    target: self.0.node.logger(),
                    "{name}: {dropped} messages dropped so far, because the disk does not take them as fast as they come"
                );
            }
        }
    }

    /// What became of each topic since the recorder was attached.
    pub fn reports(&self) -> Vec<TopicReport> {
        let mut reports = self.0.left.borrow().clone();
        for (name, reel) in &*self.0.reels.borrow() {
            if reel.track.sink.borrow().is_some() {
                reports.entry(name.clone()).or_default().add(reel.report(name));
            }
        }
        reports.into_values().collect()
    }

    /// Names of the topics subscribed to.
    pub fn topics(&self) -> Vec<String> {
        self.0.reels.borrow().keys().cloned().collect()
    }

    /// Whether the topic's type has its definition.
    pub fn is_ready(&self, topic: &str) -> bool {
        self.0.reels.borrow().get(topic).is_some_and(|reel| reel.known.is_some())
    }
}

impl<S: 'static> Reel<S> {
    fn do_without(&mut self, logger: &str, topic: &str) {
        log::warn!(
            target: logger,
            "{topic}: {} is not known here and its publisher does not describe it: recorded without its definition; give \
             one with --idl DIR",
            self.ty
        );
        self.known = Some(Known { hash: self.hash.clone().unwrap_or_default(), ..Known::default() });
    }

    fn keep(&self, recording: bool) -> Keep {
        let latched = self.offers.iter().filter(|qos| qos.durability == Durability::TransientLocal);
        let depth = latched.map(|qos| match qos.history {
            rosless_graph::qos::History::KeepLast(depth) => depth.min(LATCHED) as usize,
            _ => LATCHED as usize,
        });
        match depth.max() {
            Some(depth) => Keep::Last(depth.max(1)),
            None if recording && self.known.is_none() => Keep::All,
            None => Keep::Nothing,
        }
    }

    fn report(&self, topic: &str) -> TopicReport {
        TopicReport {
            name: topic.to_owned(),
            ty: self.ty.clone(),
            messages: self.track.messages.get(),
            bytes: self.track.bytes.get(),
            lost: self.lost_since(),
            dropped: self.track.dropped.get(),
            times: self.track.times.get(),
        }
    }

    fn lost_since(&self) -> u64 {
        self.subscription.counters().lost.saturating_sub(self.lost.get())
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

fn message(sample: Sample<Vec<u8>>) -> Message {
    let log_time = nanoseconds(sample.info.reception_stamp);
    Message {
        log_time,
        publish_time: sample.info.source_stamp.map_or(log_time, nanoseconds),
        // The format has 32 bits for it; the lower ones tell gaps.
        sequence: sample.info.sequence_number as u32,
        data: sample.message,
    }
}
