//! The process's one `Poll`: DDS readiness, timers, signals and other descriptors, one callback at a time.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    ops::Deref,
    os::fd::{AsFd, AsRawFd},
    rc::{Rc, Weak},
    sync::OnceLock,
    time::{Duration, Instant, SystemTime},
};

use mio::{Events, Interest, Poll, Registry, Token, event, unix::SourceFd};
use rosless_engine::{Engine, Now};
use rustdds::{
    StatusEvented,
    driving::{self, Driver, EntityId},
};

use crate::{
    Context, Error, Gid, Graph, RawPublisher, Result,
    context::{DDS_TOKENS, IncompatibleQos},
    crash,
    supervision::Supervisor,
};

/// The monotonic clock engines are driven with: time since the process first asked.
pub fn monotonic() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// The present on both clocks.
pub fn now() -> Now {
    Now { mono: monotonic(), wall: SystemTime::now().into() }
}

/// Something that becomes ready. Callbacks run with the application's state.
pub(crate) trait Source<S> {
    /// `true`: there is more to do, come back without waiting.
    fn ready(&self, app: &mut S) -> bool;
    /// Called when the graph changed.
    fn graph_changed(&self, _app: &mut S, _graph: &Graph) {}
    fn deregister(&self, _registry: &Registry) -> io::Result<()> {
        Ok(())
    }
}

type Callback<S> = Rc<RefCell<dyn FnMut(&mut S)>>;
type GraphCallback<S> = Rc<RefCell<dyn FnMut(&mut S, &Graph)>>;
type QosCallback<S> = Rc<RefCell<dyn FnMut(&mut S, &IncompatibleQos)>>;

struct TimerEntry<S> {
    /// `None`: once.
    period: Option<Duration>,
    callback: Callback<S>,
}

type NextDeadline<S> = dyn FnMut(&mut S) -> Option<Duration>;
type FireDeadline<S> = dyn FnMut(&mut S, Duration);

struct EngineDeadline<S> {
    next: RefCell<Box<NextDeadline<S>>>,
    fire: RefCell<Box<FireDeadline<S>>>,
}

pub(crate) struct Core<S> {
    context: Context,
    poll: RefCell<Poll>,
    registry: Registry,
    driver: Rc<Driver>,
    /// The sources that are fed by readers of DDS.
    readers: RefCell<BTreeMap<EntityId, usize>>,
    sources: RefCell<BTreeMap<usize, Rc<dyn Source<S>>>>,
    /// Sources that stopped before they were empty.
    unfinished: RefCell<BTreeSet<usize>>,
    next_id: Cell<usize>,
    timers: RefCell<BTreeMap<(Duration, usize), TimerEntry<S>>>,
    /// When each timer is due, by its id: every service reply cancels one.
    due: RefCell<HashMap<usize, Duration>>,
    engines: RefCell<Vec<Rc<EngineDeadline<S>>>>,
    after_batch: RefCell<Vec<Callback<S>>>,
    on_graph_change: RefCell<Vec<GraphCallback<S>>>,
    on_incompatible_qos: RefCell<Vec<QosCallback<S>>>,
    seen_generation: Cell<u64>,
    stopping: Cell<bool>,
    /// Why the loop cannot go on.
    failure: RefCell<Option<Error>>,
}

const DISCOVERY: Token = Token(0);
const DISCOVERY_INFO: Token = Token(1);
const SIGNALS: Token = Token(2);
const INTERFACES: Token = Token(3);
const PEERS: Token = Token(4);
const FIRST_SOURCE: usize = DDS_TOKENS + driving::TOKENS;
/// How long a process lives whose test wants a fault in it.
const FAULT_DELAY: Duration = Duration::from_secs(1);
/// Participants answer a newcomer's announcement within this time, unless their host is very busy.
const FIRST_ANSWERS: Duration = Duration::from_millis(300);
/// The longest that [`EventLoop::settle`] waits for participants that never say what they have.
const SETTLING: Duration = Duration::from_secs(1);
/// How often it is looked whether everybody has been heard: silence brings no event.
const LOOKING: Duration = Duration::from_millis(20);

/// Owns every callback of the process and runs them, one at a time, with the application's state `S`.
///
/// All registering methods are those of [`Handle`], which callbacks may capture to register more.
pub struct EventLoop<S> {
    core: Rc<Core<S>>,
    handle: Handle<S>,
}

/// A way to an event loop that may be cloned into callbacks. It does not keep the loop alive.
pub struct Handle<S> {
    core: Weak<Core<S>>,
}

impl<S> Clone for Handle<S> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone() }
    }
}

impl<S> std::fmt::Debug for Handle<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handle")
    }
}

impl<S> std::fmt::Debug for EventLoop<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventLoop").field("context", &self.core.context).finish_non_exhaustive()
    }
}

impl<S> Deref for EventLoop<S> {
    type Target = Handle<S>;

    fn deref(&self) -> &Handle<S> {
        &self.handle
    }
}

impl<S: 'static> EventLoop<S> {
    /// # Errors
    /// When descriptors run out, or when the context has an event loop already.
    pub fn new(context: &Context) -> Result<Self> {
        let poll = context.0.dds.poll.take().ok_or(Error::LoopExists)?;
        let registry = poll.registry().try_clone().map_err(Error::io("cannot create the event loop"))?;
        let inner = &context.0;
        let register = |source: &mut dyn event::Source, token| {
            // SourceRef below exists because `Registry::register` wants a sized source.
            registry
                .register(&mut SourceRef(source), token, Interest::READABLE)
                .map_err(Error::io("cannot watch DDS"))
        };
        register(inner.dds.dds.status_listener().as_status_source_mio1(), DISCOVERY)?;
        let info_reader = inner.info_reader.borrow();
        let readers = info_reader.iter().map(|reader| (entity(&reader.gid), DISCOVERY_INFO.0)).collect();
        if let Some(signals) = inner.signals.borrow_mut().as_mut() {
            register(signals, SIGNALS)?;
        }
        if let Some(interfaces) = &inner.interfaces {
            register(&mut SourceFd(&interfaces.as_fd().as_raw_fd()), INTERFACES)?;
        }
        if let Some(answered) = inner.peers.borrow().answered() {
            register(&mut SourceFd(&answered.as_raw_fd()), PEERS)?;
        }
        let core = Rc::new(Core {
            context: context.clone(),
            poll: RefCell::new(poll),
            registry,
            driver: inner.dds.driver.clone(),
            readers: RefCell::new(readers),
            sources: RefCell::default(),
            unfinished: RefCell::default(),
            next_id: Cell::new(FIRST_SOURCE),
            timers: RefCell::default(),
            due: RefCell::default(),
            engines: RefCell::default(),
            after_batch: RefCell::default(),
            on_graph_change: RefCell::default(),
            on_incompatible_qos: RefCell::default(),
            seen_generation: Cell::new(0),
            stopping: Cell::new(false),
            failure: RefCell::default(),
        });
        let handle = Handle { core: Rc::downgrade(&core) };
        handle.tend_nodes();
        Ok(Self { core, handle })
    }

    /// What callbacks clone and keep to register more from inside; it does not keep the loop alive.
    pub fn handle(&self) -> Handle<S> {
        self.handle.clone()
    }

    /// Runs until SIGINT, SIGTERM, SIGHUP or [`Handle::stop`]. A supervisor that speaks systemd's protocol is told when
    /// the process is ready, and as long as it turns.
    pub fn run(&self, app: &mut S) -> Result<()> {
        let dds = self.core.context.0.dds.dds.liveness();
        if let Some((thread, fault)) = crash::fault_for_test() {
            let thread = thread.map(|thread| dds[thread].clone());
            self.once(FAULT_DELAY, move |_| {
                thread.unwrap_or_else(|| panic!("a test asked the event loop to panic")).inject(fault);
            });
        }
        let _supervised = Supervisor::find().map(|supervisor| self.report_to(supervisor, dds));
        match self.core.run(app, None, &mut |_| false) {
            Err(Error::Interrupted) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Runs until `done`, at most for `timeout`. `Ok(false)` when the time was up first.
    ///
    /// # Errors
    /// [`Error::Interrupted`] on a signal or [`Handle::stop`].
    pub fn run_until(
        &self,
        app: &mut S,
        timeout: Duration,
        mut done: impl FnMut(&mut S) -> bool,
    ) -> Result<bool> {
        self.core.run(app, Some(monotonic() + timeout), &mut done)
    }

    /// Gives discovery a moment to finish, so that a sample published next reaches everyone who listens now: for commands
    /// that publish once and leave.
    pub fn settle(&self, app: &mut S, publisher: &RawPublisher) -> Result<()> {
        let joined = self.core.context.0.joined;
        self.run_for(app, (joined + FIRST_ANSWERS).saturating_sub(monotonic()))?;
        self.run_until(app, SETTLING, |_| publisher.reaches_everyone()).map(drop)
    }

    /// Runs until everybody who is there has been heard and `also` holds, at most for `patience`: for commands that act on
    /// all there are. `false` when something is outstanding still.
    pub fn hear_everybody(
        &self,
        app: &mut S,
        patience: Duration,
        mut also: impl FnMut(&mut S) -> bool,
    ) -> Result<bool> {
        let mut completeness = self.core.context.completeness();
        let deadline = monotonic() + patience;
        while monotonic() < deadline {
            self.run_for(app, LOOKING)?;
            if completeness.is_complete() && also(app) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs for a while.
    pub fn run_for(&self, app: &mut S, duration: Duration) -> Result<()> {
        self.run_until(app, duration, |_| false).map(drop)
    }
}

/// A timer that can be stopped.
pub struct Timer<S> {
    handle: Handle<S>,
    id: usize,
}

impl<S> std::fmt::Debug for Timer<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timer").field("id", &self.id).finish()
    }
}

impl<S> Timer<S> {
    /// It will not fire again.
    pub fn cancel(self) {
        if let Some(core) = self.handle.core.upgrade() {
            let due = core.due.borrow_mut().remove(&self.id);
            let entry = due.and_then(|due| core.timers.borrow_mut().remove(&(due, self.id)));
            // Whatever the callback owns may cancel timers of its own.
            drop(entry);
        }
    }
}

impl<S: 'static> Handle<S> {
    pub(crate) fn core(&self) -> Result<Rc<Core<S>>> {
        self.core.upgrade().ok_or(Error::LoopEnded)
    }

    /// Calls back every `period`. A callback that was late is not repeated for the periods it missed.
    pub fn timer(&self, period: Duration, callback: impl FnMut(&mut S) + 'static) -> Timer<S> {
        let period = period.max(Duration::from_nanos(1));
        self.add_timer(monotonic() + period, Some(period), Rc::new(RefCell::new(callback)))
    }

    /// Calls back once, after `delay`.
    pub fn once(&self, delay: Duration, callback: impl FnOnce(&mut S) + 'static) -> Timer<S> {
        let mut callback = Some(callback);
        let once = move |app: &mut S| {
            if let Some(callback) = callback.take() {
                callback(app);
            }
        };
        self.add_timer(monotonic() + delay, None, Rc::new(RefCell::new(once)))
    }

    fn add_timer(&self, due: Duration, period: Option<Duration>, callback: Callback<S>) -> Timer<S> {
        let id = self.core.upgrade().map_or(0, |core| {
            let id = core.new_id();
            core.due.borrow_mut().insert(id, due);
            core.timers.borrow_mut().insert((due, id), TimerEntry { period, callback });
            id
        });
        Timer { handle: self.clone(), id }
    }

    /// Drives an engine: `next` tells its deadline on the [`monotonic`] clock, `fire` is called once it has passed.
    pub fn engine_deadline(
        &self,
        next: impl FnMut(&mut S) -> Option<Duration> + 'static,
        fire: impl FnMut(&mut S, Duration) + 'static,
    ) {
        if let Some(core) = self.core.upgrade() {
            let engine =
                EngineDeadline { next: RefCell::new(Box::new(next)), fire: RefCell::new(Box::new(fire)) };
            core.engines.borrow_mut().push(Rc::new(engine));
        }
    }

    /// Runs an engine: wakes it at its deadline, and after every batch of events hands all that it wants done to `act`, one
    /// by one. This is the one place where it is drained: callbacks only tell it what happened.
    ///
    /// `engine` calls what it is given with the engine, wherever that is, if it is there.
    pub fn drive<E: Engine + 'static>(
        &self,
        engine: impl Fn(&mut S, &mut dyn FnMut(&mut E)) + Clone + 'static,
        mut act: impl FnMut(&mut S, E::Output) + 'static,
    ) {
        let (asked, woken) = (engine.clone(), engine.clone());
        self.engine_deadline(
            move |app| {
                let mut deadline = None;
                asked(app, &mut |engine| deadline = engine.next_deadline());
                deadline
            },
            move |app, _| woken(app, &mut |engine| engine.wake(now())),
        );
        self.after_batch(move |app| {
            loop {
                let mut output = None;
                engine(app, &mut |engine| output = engine.poll_output());
                match output {
                    Some(output) => act(app, output),
                    None => return,
                }
            }
        });
    }

    /// Calls back after every batch of events, before the loop waits again: the place to drain engines' outputs.
    pub fn after_batch(&self, callback: impl FnMut(&mut S) + 'static) {
        if let Some(core) = self.core.upgrade() {
            core.after_batch.borrow_mut().push(Rc::new(RefCell::new(callback)));
        }
    }

    /// Calls back once per batch in which anything about the graph changed.
    pub fn on_graph_change(&self, callback: impl FnMut(&mut S, &Graph) + 'static) {
        if let Some(core) = self.core.upgrade() {
            core.on_graph_change.borrow_mut().push(Rc::new(RefCell::new(callback)));
        }
    }

    /// Calls back for every endpoint that would match one of ours if its quality of service fitted. It is logged anyway.
    pub fn on_incompatible_qos(&self, callback: impl FnMut(&mut S, &IncompatibleQos) + 'static) {
        if let Some(core) = self.core.upgrade() {
            core.on_incompatible_qos.borrow_mut().push(Rc::new(RefCell::new(callback)));
        }
    }

    /// Calls back when a descriptor (stdin, a socket) can be read. It is watched until the callback returns `false`.
    ///
    /// Readiness is reported on change only: read until `WouldBlock`, or read what is there once for a terminal.
    pub fn watch<F: AsFd + 'static>(
        &self,
        fd: F,
        callback: impl FnMut(&mut S, &mut F) -> bool + 'static,
    ) -> Result<()> {
        self.watch_for(fd, Interest::READABLE, callback)
    }

    /// Like [`watch`](Self::watch), also when the descriptor can be written to again.
    pub fn watch_both_ways<F: AsFd + 'static>(
        &self,
        fd: F,
        callback: impl FnMut(&mut S, &mut F) -> bool + 'static,
    ) -> Result<()> {
        self.watch_for(fd, Interest::READABLE | Interest::WRITABLE, callback)
    }

    fn watch_for<F: AsFd + 'static>(
        &self,
        fd: F,
        interest: Interest,
        callback: impl FnMut(&mut S, &mut F) -> bool + 'static,
    ) -> Result<()> {
        let core = self.core()?;
        let token = core.new_id();
        core.registry
            .register(&mut SourceFd(&fd.as_fd().as_raw_fd()), Token(token), interest)
            .map_err(Error::io("cannot watch the descriptor"))?;
        let source =
            FdSource { handle: self.clone(), token, fd: RefCell::new(fd), callback: RefCell::new(callback) };
        core.sources.borrow_mut().insert(token, Rc::new(source));
        Ok(())
    }

    /// Makes [`EventLoop::run`] return after the current batch.
    pub fn stop(&self) {
        if let Some(core) = self.core.upgrade() {
            core.stopping.set(true);
        }
    }

    /// The context the loop serves; `None` when the loop has ended.
    pub fn context(&self) -> Option<Context> {
        Some(self.core.upgrade()?.context.clone())
    }
}

struct FdSource<S, F, C> {
    handle: Handle<S>,
    token: usize,
    fd: RefCell<F>,
    callback: RefCell<C>,
}

impl<S: 'static, F: AsFd + 'static, C: FnMut(&mut S, &mut F) -> bool> Source<S> for FdSource<S, F, C> {
    fn ready(&self, app: &mut S) -> bool {
        let go_on = (self.callback.borrow_mut())(app, &mut self.fd.borrow_mut());
        if !go_on && let Ok(core) = self.handle.core() {
            core.remove_source(self.token);
        }
        false
    }

    fn deregister(&self, registry: &Registry) -> io::Result<()> {
        registry.deregister(&mut SourceFd(&self.fd.borrow().as_fd().as_raw_fd()))
    }
}

/// `Registry::register` wants a sized source.
struct SourceRef<'a>(&'a mut dyn event::Source);

impl event::Source for SourceRef<'_> {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.0.register(registry, token, interests)
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        self.0.reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        self.0.deregister(registry)
    }
}

impl<S: 'static> Core<S> {
    fn new_id(&self) -> usize {
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

    fn run(
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
            let now = monotonic();
            if turned && limit.is_some_and(|limit| limit <= now) {
                return Ok(false);
            }
            turned = true;
            let timeout = self.next_deadline(app, limit).map(|deadline| deadline.saturating_sub(now));
            self.wait(&mut events, timeout, &mut readers)?;
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
        timeout: Option<Duration>,
        readers: &mut Vec<EntityId>,
    ) -> Result<()> {
        let due = self.driver.before_wait(readers);
        let timeout = if readers.is_empty() {
            [timeout, due].into_iter().flatten().min()
        } else {
            Some(Duration::ZERO)
        };
        let polled = self.poll(events, timeout);
        self.driver.after_wait(events.iter().map(event::Event::token), readers);
        match polled {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            result => result.map_err(Error::io("cannot wait for events")),
        }
    }

    fn poll(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let mut poll = self.poll.borrow_mut();
        let spin = self.context.0.settings.environment.spin;
        if spin.is_zero() {
            return poll.poll(events, timeout);
        }
        let start = Instant::now();
        while start.elapsed() < timeout.map_or(spin, |timeout| timeout.min(spin)) {
            poll.poll(events, Some(Duration::ZERO))?;
            if !events.is_empty() {
                return Ok(());
            }
        }
        poll.poll(events, timeout.map(|timeout| timeout.saturating_sub(start.elapsed())))
    }

    /// What must be true before the loop waits: hooks have run and the graph's followers know what changed.
    fn settle(&self, app: &mut S) {
        for callback in snapshot(&self.after_batch) {
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
        for callback in snapshot(&self.on_graph_change) {
            (callback.borrow_mut())(app, &graph);
        }
        // The followers may have had something to say or to create.
        for callback in snapshot(&self.after_batch) {
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
        let engines = snapshot(&self.engines);
        let engine = engines.iter().filter_map(|engine| (engine.next.borrow_mut())(app)).min();
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
        for callback in snapshot(&self.on_incompatible_qos) {
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
        for engine in snapshot(&self.engines) {
            let now = monotonic();
            let due = (engine.next.borrow_mut())(app).is_some_and(|deadline| deadline <= now);
            if due {
                (engine.fire.borrow_mut())(app, now);
            }
        }
    }
}

fn entity(gid: &Gid) -> EntityId {
    gid.guid().entity_id
}

/// Callbacks may register more callbacks, so the list must not stay borrowed while they run.
fn snapshot<T: ?Sized>(list: &RefCell<Vec<Rc<T>>>) -> Vec<Rc<T>> {
    list.borrow().clone()
}
