//! The process's one `Poll`: DDS readiness, timers, signals and other descriptors, one callback at a time.
//!
//! `handle` is how callbacks get in, `turning` how they are called.

mod alarm;
mod handle;
mod turning;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    ops::Deref,
    os::fd::{AsFd, AsRawFd},
    rc::Rc,
    sync::OnceLock,
    time::{Duration, Instant, SystemTime},
};

use mio::{Interest, Poll, Registry, Token, event, unix::SourceFd};
use rosless_engine::Now;
use rustdds::{
    StatusEvented,
    driving::{self, Driver, EntityId},
};

use self::alarm::Alarm;
pub use self::handle::{Handle, Timer};
use crate::{
    Context, Error, Gid, Graph, RawPublisher, Result,
    context::{DDS_TOKENS, IncompatibleQos},
    crash,
    supervision::Supervisor,
};

/// The monotonic clock engines are driven with: time since the process first asked.
pub fn monotonic() -> Duration {
    monotonic_at(Instant::now())
}

/// What that clock showed then.
fn monotonic_at(instant: Instant) -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    instant.saturating_duration_since(*START.get_or_init(|| instant))
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
    alarm: RefCell<Alarm>,
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
const ALARM: Token = Token(5);
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
        let mut alarm = Alarm::new().map_err(Error::io("cannot create the event loop"))?;
        register(&mut alarm, ALARM)?;
        let core = Rc::new(Core {
            context: context.clone(),
            poll: RefCell::new(poll),
            alarm: RefCell::new(alarm),
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

fn entity(gid: &Gid) -> EntityId {
    gid.guid().entity_id
}
