//! One turn of the loop after the other: settle, wait, dispatch, timers, engines.

use std::{
    cell::RefCell,
    io,
    rc::Rc,
    time::{Duration, Instant},
};

use mio::{Events, Token, event};
use rustdds::driving::EntityId;

use super::{
    ALARM, Core, DISCOVERY, DISCOVERY_INFO, FIRST_SOURCE, INTERFACES, PEERS, SIGNALS, Source, entity,
    monotonic, monotonic_at,
};
use crate::{
    Error, Gid, Result,
    context::{DDS_TOKENS, IncompatibleQos},
};

/// What is due in DDS is looked for so much later, by a clock that was read earlier: not a moment before its time.
const GRACE: Duration = Duration::from_micros(20);

impl<S: 'static> Core<S> {
    pub(super) fn new_id(&self) -> usize {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        id
    }

    /// Adds a source that is ready when the reader `gid` has something.
    pub(crate) fn add_source(&self, gid: &Gid, source: Rc<dyn Source<S>>) -> usize {
        let token = self.new_id();
        self.readers.borrow_mut().insert(entity(gid), token);
        self.sources.borrow_mut().insert(token, source);
        token
    }

    /// Makes whatever runs the loop return with this error.
    pub(crate) fn fail(&self, error: Error) {
        self.failure.borrow_mut().get_or_insert(error);
    }

    pub(crate) fn remove_source(&self, token: usize) {
        let removed = self.sources.borrow_mut().remove(&token);
        self.unfinished.borrow_mut().remove(&token);
        self.readers.borrow_mut().retain(|_, fed| *fed != token);
        if let Some(source) = removed
            && let Err(error) = source.deregister(&self.registry)
        {
            log::debug!("a removed source was not registered: {error}");
        }
    }

    pub(super) fn run(
        &self,
        app: &mut S,
        limit: Option<Duration>,
        done: &mut dyn FnMut(&mut S) -> bool,
    ) -> Result<bool> {
        let mut events = Events::with_capacity(256);
        let (mut readers, mut ready) = (Vec::new(), Vec::new());
        // At least once: whoever has no time to wait still wants what has come.
        let mut turned = false;
        loop {
            self.settle(app);
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
            if done(app) {
                self.flush();
                return Ok(true);
            }
            self.flush();
            if self.stopping.replace(false) {
                return Err(Error::Interrupted);
            }
            let instant = Instant::now();
            let now = monotonic_at(instant);
            if turned && limit.is_some_and(|limit| limit <= now) {
                return Ok(false);
            }
            turned = true;
            let deadline = self.next_deadline(app, limit);
            self.wait(&mut events, deadline, instant, &mut readers)?;
            let left_over = std::mem::take(&mut *self.unfinished.borrow_mut());
            let fed = readers.drain(..).filter_map(|reader| self.readers.borrow().get(&reader).copied());
            ready.extend(events.iter().map(|event| event.token().0).chain(fed).chain(left_over));
            ready.sort_unstable();
            ready.dedup();
            for token in ready.drain(..) {
                self.dispatch(token, app);
            }
            for problem in self.context.0.incompatible.take() {
                self.report(app, &problem);
            }
            self.context.0.follow_network();
            self.fire_timers(app);
            self.fire_engines(app);
        }
    }

    /// Waits for an event, and does the work of DDS before and after. Collects the readers that have something.
    fn wait(
        &self,
        events: &mut Events,
        deadline: Option<Duration>,
        now: Instant,
        readers: &mut Vec<EntityId>,
    ) -> Result<()> {
        let due = self.driver.before_wait(readers, now);
        let now = monotonic_at(now);
        let due = due.map(|due| if due.is_zero() { now } else { now + due + GRACE });
        let deadline =
            if readers.is_empty() { [deadline, due].into_iter().flatten().min() } else { Some(now) };
        let polled = self.poll(events, deadline, now);
        self.driver.after_wait(events.iter().map(event::Event::token), readers);
        match polled {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            result => result.map_err(Error::io("cannot wait for events")),
        }
    }

    fn poll(&self, events: &mut Events, deadline: Option<Duration>, now: Duration) -> io::Result<()> {
        let mut poll = self.poll.borrow_mut();
        if deadline.is_some_and(|deadline| deadline <= now) {
            return poll.poll(events, Some(Duration::ZERO));
        }
        let spin = self.context.0.settings.environment.spin;
        if !spin.is_zero() {
            let end = deadline.map_or(now + spin, |deadline| deadline.min(now + spin));
            while monotonic() < end {
                poll.poll(events, Some(Duration::ZERO))?;
                if !events.is_empty() {
                    return Ok(());
                }
            }
        }
        if let Some(deadline) = deadline {
            self.alarm.borrow_mut().set(deadline, now)?;
        }
        poll.poll(events, None)
    }

    /// What must be true before the loop waits: hooks have run and the graph's followers know what changed.
    fn settle(&self, app: &mut S) {
        for callback in each(&self.after_batch) {
            (callback.borrow_mut())(app);
        }
        self.context.0.publish_nodes();
        let graph = self.context.graph();
        if self.seen_generation.replace(graph.generation()) == graph.generation() {
            return;
        }
        let sources: Vec<_> = self.sources.borrow().values().cloned().collect();
        for source in sources {
            source.graph_changed(app, &graph);
        }
        for callback in each(&self.on_graph_change) {
            (callback.borrow_mut())(app, &graph);
        }
        // The followers may have had something to say or to create.
        for callback in each(&self.after_batch) {
            (callback.borrow_mut())(app);
        }
    }

    fn flush(&self) {
        self.context.0.publish_nodes();
        self.context.0.publish_logs();
    }

    fn next_deadline(&self, app: &mut S, limit: Option<Duration>) -> Option<Duration> {
        if !self.unfinished.borrow().is_empty()
            || self.seen_generation.get() != self.context.graph().generation()
        {
            return Some(Duration::ZERO);
        }
        let timer = self.timers.borrow().keys().next().map(|(due, _)| *due);
        let engine = each(&self.engines).filter_map(|engine| (engine.next.borrow_mut())(app)).min();
        [limit, timer, engine, self.context.0.network_deadline()].into_iter().flatten().min()
    }

    fn dispatch(&self, token: usize, app: &mut S) {
        let inner = &self.context.0;
        match Token(token) {
            DISCOVERY => inner.take_discovery_events(),
            DISCOVERY_INFO => {
                if let Some(reader) = inner.info_reader.borrow().as_ref() {
                    inner.take_discovery_info(reader);
                }
            }
            SIGNALS => {
                if let Some(signals) = inner.signals.borrow_mut().as_mut()
                    && signals.pending().next().is_some()
                {
                    self.stopping.set(true);
                }
            }
            INTERFACES => {
                if let Some(interfaces) = &inner.interfaces {
                    interfaces.ready();
                }
            }
            PEERS => inner.take_peer_addresses(),
            ALARM => {}                           // timers are looked at in every turn
            Token(DDS_TOKENS..FIRST_SOURCE) => {} // the driver has seen to it
            _ => {
                let source = self.sources.borrow().get(&token).cloned();
                if source.is_some_and(|source| source.ready(app))
                    && self.sources.borrow().contains_key(&token)
                {
                    self.unfinished.borrow_mut().insert(token);
                }
            }
        }
    }

    fn report(&self, app: &mut S, problem: &IncompatibleQos) {
        let graph = self.context.graph();
        let whom = graph
            .node_of(&problem.remote)
            .map_or_else(|| problem.remote.to_string(), |node| node.to_string());
        log::warn!(
            "{}: no samples will flow to or from {whom}: incompatible {} (offered {}; requested {})",
            problem.topic,
            problem.policy,
            problem.offered,
            problem.requested,
        );
        for callback in each(&self.on_incompatible_qos) {
            (callback.borrow_mut())(app, problem);
        }
    }

    fn fire_timers(&self, app: &mut S) {
        if self.timers.borrow().is_empty() {
            return;
        }
        let now = monotonic();
        // Timers set by these callbacks wait for the next turn, even when they are due at once.
        let due: Vec<_> = self.timers.borrow().range(..=(now, usize::MAX)).map(|(key, _)| *key).collect();
        for key in due {
            let Some(entry) = self.timers.borrow_mut().remove(&key) else { continue };
            let callback = entry.callback.clone();
            if let Some(period) = entry.period {
                let next = key.0 + period;
                let next = if next > now { next } else { now + period };
                self.due.borrow_mut().insert(key.1, next);
                self.timers.borrow_mut().insert((next, key.1), entry);
            } else {
                self.due.borrow_mut().remove(&key.1);
            }
            (callback.borrow_mut())(app);
        }
    }

    fn fire_engines(&self, app: &mut S) {
        if self.engines.borrow().is_empty() {
            return;
        }
        let mut now = monotonic();
        for engine in each(&self.engines) {
            let due = (engine.next.borrow_mut())(app).is_some_and(|deadline| deadline <= now);
            if due {
                (engine.fire.borrow_mut())(app, now);
                now = monotonic();
            }
        }
    }
}

/// Those that there are now. Callbacks may register more of them, so the list does not stay borrowed while they run.
fn each<T: ?Sized>(list: &RefCell<Vec<Rc<T>>>) -> impl Iterator<Item = Rc<T>> {
    let count = list.borrow().len();
    (0..count).map_while(move |index| list.borrow().get(index).cloned())
}
