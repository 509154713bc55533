//! A controller on the graph: the engine of [`crate::controller`] with topics, state clients and discovery.
//!
//! `presence` compares the graph with what the engine knows; `asking` has the services and topics of single systems.

mod asking;
mod presence;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};

use rosless_engine::Engine as _;
use rosless_graph::{Client, Gid, Handle, Node, RawPublisher, Result, SampleInfo, Subscription, now};
use rosless_wire::lifecycle_msgs::srv::GetState;

use super::wire::{self, Part};
use crate::{
    controller::{
        Ask, Controller, Event, Hearing, Input, Memory, Output, Participant, Report, Settings, Speaker,
        System, Targets,
    },
    dialect::{Channel, Dialect},
    message::{Command, Control},
    name::{NameError, SystemId},
};

/// What a controller tells its owner.
#[derive(Debug)]
pub enum Notice<'a> {
    /// Every control message heard, the controller's own included.
    Message(&'a Control),
    /// Something was noticed beside the requests.
    Event(&'a Event),
    /// A request came to its end.
    Finished(&'a Report),
    /// Which system is in which session has changed: to be kept for a later controller.
    Remember(&'a Memory),
}

/// What a controller is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// The dialects it speaks, all at once.
    pub dialects: Vec<Dialect>,
    /// It keeps to its node's namespace, as the originals do, instead of following the topics wherever they show up.
    pub confined: bool,
    /// How patient it is.
    pub settings: Settings,
    /// What an earlier controller knew.
    pub memory: Memory,
}

impl Options {
    /// A controller of one dialect.
    pub fn of(dialect: Dialect) -> Self {
        Self { dialects: vec![dialect], ..Self::default() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dialects: Dialect::ALL.to_vec(),
            confined: false,
            settings: Settings::default(),
            memory: Memory::default(),
        }
    }
}

const MAX_ANNOUNCERS: usize = 4096;
/// Systems enter their session one by one; what is kept of it goes to a disk, which takes its time for each writing.
const KEEPING: Duration = Duration::from_millis(100);

type NoticeFn<S> = Box<dyn FnMut(&mut S, Notice<'_>)>;

struct Inner<S> {
    handle: Handle<S>,
    node: Node,
    dialects: Vec<Dialect>,
    confined: bool,
    state_timeout: Duration,
    engine: RefCell<Controller>,
    channels: RefCell<BTreeMap<Channel, RawPublisher>>,
    /// Subscriptions to announcements.
    environments: RefCell<Vec<Gid>>,
    /// Publishers of announcements that were heard.
    announcers: RefCell<BTreeSet<Gid>>,
    clients: RefCell<BTreeMap<SystemId, Client<GetState, S>>>,
    /// `/rosout`, while somebody is asked why it failed.
    logs: RefCell<Option<Subscription<S>>>,
    /// The transition events of systems that did not do as they were told.
    watches: RefCell<BTreeMap<SystemId, Subscription<S>>>,
    /// Whether a system keeps its last transitions for late joiners, once that is known.
    keeps: RefCell<BTreeMap<SystemId, bool>>,
    /// Systems whose nodes were seen on the graph, and in which process: only those can be missed.
    seen: RefCell<BTreeSet<(String, Option<Participant>)>>,
    notice: RefCell<NoticeFn<S>>,
    look: Look,
    keeping: Keeping,
}

/// Whether there is something to be remembered, and whether it is arranged that it is.
#[derive(Default)]
struct Keeping {
    changed: Cell<bool>,
    planned: Cell<bool>,
}

/// When the graph may be looked at again, and whether that is arranged.
#[derive(Default)]
struct Look {
    due: Cell<Duration>,
    planned: Cell<bool>,
}

/// A controller. Cheap to clone.
pub struct ControllerNode<S>(Rc<Inner<S>>);

impl<S> Clone for ControllerNode<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> std::fmt::Debug for ControllerNode<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControllerNode").field("node", &self.0.node).finish_non_exhaustive()
    }
}

impl<S: 'static> ControllerNode<S> {
    /// Makes `node` a controller. Unless it is confined, it listens in the node's namespace and in every other in which
    /// a control topic of its dialects shows up.
    pub fn new(
        handle: &Handle<S>,
        node: &Node,
        options: Options,
        notice: impl FnMut(&mut S, Notice<'_>) + 'static,
    ) -> Result<Self> {
        let Options { dialects, confined, settings, memory } = options;
        let state_timeout = settings.state_timeout;
        let home = node.namespace().to_owned();
        let speaker = Speaker { dialects: &dialects, source: node.name(), home: &home };
        let mut engine = Controller::speaking(speaker, settings, now());
        engine.recall_all(memory, confined, now());
        let this = Self(Rc::new(Inner {
            handle: handle.clone(),
            node: node.clone(),
            dialects: dialects.clone(),
            confined,
            state_timeout,
            engine: RefCell::new(engine),
            channels: RefCell::default(),
            environments: RefCell::default(),
            announcers: RefCell::default(),
            clients: RefCell::default(),
            watches: RefCell::default(),
            keeps: RefCell::default(),
            logs: RefCell::default(),
            seen: RefCell::default(),
            notice: RefCell::new(Box::new(notice)),
            look: Look::default(),
            keeping: Keeping::default(),
        }));
        for dialect in dialects {
            let names = dialect.names();
            this.open(&Channel::new(dialect, &home), names.control_topic, names.environment_topic)?;
        }
        let me = this.clone();
        handle.on_graph_change(move |_, _| me.look_soon());
        let (engine, me) = (this.clone(), this.clone());
        handle.drive(
            move |_, with: &mut dyn FnMut(&mut Controller)| with(&mut engine.0.engine.borrow_mut()),
            move |app, output| me.act(app, output),
        );
        Ok(this)
    }

    /// The node that speaks, for endpoints beside those of the protocol.
    pub fn node(&self) -> &Node {
        &self.0.node
    }

    /// Starts systems; the [`Report`] comes as [`Notice::Finished`].
    pub fn start(&self, session: &str, targets: Targets) -> Result<u64, NameError> {
        self.request(Command::Start, session, targets)
    }

    /// Stops systems; the [`Report`] comes as [`Notice::Finished`].
    pub fn stop(&self, targets: Targets) -> Result<u64, NameError> {
        self.request(Command::Stop, "", targets)
    }

    /// Either of the two.
    pub fn request(&self, command: Command, session: &str, targets: Targets) -> Result<u64, NameError> {
        self.ask(Ask::new(command, session, targets))
    }

    /// Either of the two, with all that can be asked for. May be called from any callback.
    pub fn ask(&self, ask: Ask) -> Result<u64, NameError> {
        self.0.engine.borrow_mut().ask(ask, now())
    }

    /// Ends a request; its [`Report`] says what was known by then.
    pub fn cancel(&self, number: u64) {
        self.0.engine.borrow_mut().cancel(number, now());
    }

    /// What a later controller should know.
    pub fn memory(&self) -> Memory {
        self.0.engine.borrow().memory().clone()
    }

    /// Looks at what is known without copying it.
    pub fn with_systems<T>(&self, look: impl FnOnce(&BTreeMap<SystemId, System>) -> T) -> T {
        look(self.0.engine.borrow().systems())
    }

    /// Asks every system for its state.
    pub fn refresh(&self) {
        self.0.engine.borrow_mut().refresh(now());
    }

    /// The running session, as far as this controller heard of it.
    pub fn session(&self) -> Option<String> {
        self.0.engine.borrow().session().map(str::to_owned)
    }

    /// When a system came, left or changed its reachability last, on the monotonic clock.
    pub fn changed_at(&self) -> Duration {
        self.0.engine.borrow().changed_at()
    }

    /// Whether a request is under way.
    pub fn is_busy(&self) -> bool {
        self.0.engine.borrow().is_busy()
    }

    fn open(&self, channel: &Channel, control: &str, environment: &str) -> Result<()> {
        let Inner { handle, node, .. } = &*self.0;
        let dialect = channel.dialect;
        let publisher = wire::control_publisher(node, dialect, control, Part::All)?;
        self.0.channels.borrow_mut().insert(channel.clone(), publisher);
        let (me, on) = (self.clone(), channel.clone());
        wire::subscribe_control(handle, node, dialect, (control, Part::All), move |app, message, info| {
            me.notice(app, Notice::Message(&message));
            let (sender, participant) = me.sender(&info);
            me.heard((sender.clone(), participant), &info, Hearing::Sample);
            me.put(Input::Control { channel: on.clone(), sender, participant, message });
        })?;
        let (me, on) = (self.clone(), channel.clone());
        let subscription =
            wire::subscribe_environment(handle, node, dialect, environment, move |_, announcement, info| {
                let mut announcers = me.0.announcers.borrow_mut();
                // Publishers come and go, and nobody may ever ask.
                if announcers.len() >= MAX_ANNOUNCERS {
                    announcers.clear();
                }
                announcers.insert(info.publisher);
                drop(announcers);
                let (sender, participant) = me.sender(&info);
                let from = (sender.clone(), participant);
                me.put(Input::Announced { channel: on.clone(), sender, participant, announcement });
                me.heard(from, &info, Hearing::Latched);
                me.look_soon();
            })?;
        self.0.environments.borrow_mut().push(subscription.gid());
        Ok(())
    }

    /// Whether a command published now reaches everybody who listens: systems, and other controllers.
    pub fn reaches_everyone(&self) -> bool {
        self.0.channels.borrow().values().all(RawPublisher::reaches_everyone)
    }

    /// Any sample of a system tells of its clock: for owners that listen to its data, too.
    pub fn note_sample(&self, info: &SampleInfo) {
        self.heard(self.sender(info), info, Hearing::Sample);
    }

    fn heard(&self, from: (Option<String>, Option<Participant>), info: &SampleInfo, how: Hearing) {
        let (Some(node), participant) = from else { return };
        if let Some(stamp) = info.source_stamp {
            self.put(Input::Heard { node, participant, stamp: stamp.into(), how });
        }
    }

    /// The full name of the publishing node, and its process.
    fn sender(&self, info: &SampleInfo) -> (Option<String>, Option<Participant>) {
        let node = self.0.node.context().graph().node_of(&info.publisher);
        (node.map(|node| node.to_string()), Some(Participant(info.publisher.prefix().0)))
    }

    fn put(&self, input: Input) {
        self.0.engine.borrow_mut().handle(input, now());
    }

    fn notice(&self, app: &mut S, notice: Notice<'_>) {
        (self.0.notice.borrow_mut())(app, notice);
    }

    /// Does what the engine wants done.
    fn act(&self, app: &mut S, output: Output) {
        match output {
            Output::Publish { channel, message } => {
                if let Some(publisher) = self.0.channels.borrow().get(&channel) {
                    publisher.publish(wire::control_payload(&message));
                }
            }
            Output::QueryState { system, query } => {
                if self.is_busy()
                    && self.keeps_transitions(&system) == Some(false)
                    && let Err(error) = self.watch(&system)
                {
                    log::error!(target: self.0.node.logger(), "cannot watch {system}: {error}");
                }
                self.query(system, query);
            }
            Output::Arm { request, system, session, at } => {
                if let Err(error) = self.arm(request, &system, session, at) {
                    log::error!(target: self.0.node.logger(), "cannot arm {system}: {error}");
                }
            }
            Output::WatchTransitions { system } => {
                if let Err(error) = self.watch(&system) {
                    log::error!(target: self.0.node.logger(), "cannot watch {system}: {error}");
                }
            }
            Output::Event(event) => {
                if let Event::Joined { system, .. } | Event::Listening { system } = &event
                    && let Err(error) = self.client(system)
                {
                    log::error!(target: self.0.node.logger(), "cannot ask {system} for its state: {error}");
                }
                self.notice(app, Notice::Event(&event));
            }
            Output::ReadLogs => {
                if let Err(error) = self.read_logs() {
                    log::error!(target: self.0.node.logger(), "cannot read /rosout: {error}");
                }
            }
            Output::Remember => {
                self.0.keeping.changed.set(true);
                if !self.0.keeping.planned.replace(true) {
                    let me = self.clone();
                    self.0.handle.once(KEEPING, move |app| {
                        me.0.keeping.planned.set(false);
                        me.keep(app);
                    });
                }
            }
            Output::Finished(report) => {
                if !self.is_busy() {
                    self.listen_no_longer();
                }
                // Whoever is told of the end may leave at once.
                self.keep(app);
                self.notice(app, Notice::Finished(&report));
            }
        }
    }

    /// Has what changed remembered; for owners that end, too.
    pub fn keep(&self, app: &mut S) {
        if self.0.keeping.changed.take() {
            let memory = self.memory();
            self.notice(app, Notice::Remember(&memory));
        }
    }
}
