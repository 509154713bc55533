//! A controller on the graph: the engine of [`crate::controller`] with topics, state clients and discovery.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};

use rosless_engine::{Engine as _, Wall};
use rosless_graph::{
    CallError, Client, Error, Gid, Graph, Handle, Node, Qos, RawPublisher, Reply, Result, SampleInfo,
    Subscription,
    graph::{Endpoint, EndpointKind},
    monotonic, now,
    qos::Durability,
};
use rosless_wire::{
    builtin_interfaces::msg::Time,
    lifecycle_msgs::{
        msg::TransitionEvent,
        srv::{GetState, GetStateRequest},
    },
    rcl_interfaces::msg::Log,
    rosless_msgs::srv::{ArmStart, ArmStartRequest},
};

use super::wire;
use crate::{
    controller::{
        Ask, Controller, Event, Hearing, Input, Memory, NoState, Output, Participant, Report, Settings,
        Speaker, System, Targets,
    },
    dialect::{Channel, Dialect},
    message::{Command, Control, State},
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
        let publisher = wire::control_publisher(node, dialect, control)?;
        self.0.channels.borrow_mut().insert(channel.clone(), publisher);
        let (me, on) = (self.clone(), channel.clone());
        wire::subscribe_control(handle, node, dialect, control, move |app, message, info| {
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

    /// How many publishers of announcements there are from which one is still to come. A system of others that is not
    /// configured has such a publisher, too, but nothing to announce, and says so.
    pub fn silent_announcers(&self) -> usize {
        let graph = self.0.node.context().graph();
        let environments = self.0.environments.borrow();
        let publishers: BTreeSet<Gid> =
            environments.iter().flat_map(|gid| graph.matched(gid)).copied().collect();
        let mut announcers = self.0.announcers.borrow_mut();
        announcers.retain(|gid| publishers.contains(gid));
        publishers.iter().filter(|gid| !announcers.contains(gid) && !graph.is_empty_writer(gid)).count()
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

    /// Looks at the graph now; or, where that takes long and changes come one upon another, when ten times as long as it
    /// took has passed: a large graph is not to take all of our time.
    fn look_soon(&self) {
        let (due, now) = (self.0.look.due.get(), monotonic());
        if now >= due {
            let graph = self.0.node.context().graph();
            self.graph_changed(&graph);
            self.0.look.due.set(monotonic() + (monotonic() - now) * 10);
        } else if !self.0.look.planned.replace(true) {
            let me = self.clone();
            self.0.handle.once(due - now, move |_| {
                me.0.look.planned.set(false);
                me.look_soon();
            });
        }
    }

    fn graph_changed(&self, graph: &Graph) {
        for (channel, control, environment) in self.new_channels(graph) {
            match self.open(&channel, &control, &environment) {
                Ok(()) => self.put(Input::Channel(channel)),
                Err(error) => {
                    log::error!(target: self.0.node.logger(), "cannot listen on {control}: {error}")
                }
            }
        }
        let ourselves = self.0.node.full_name();
        // Who listens to us where, by node: those without a name are behind a bridge, or no ROS nodes at all.
        let mut listeners: BTreeMap<Channel, BTreeSet<(String, Participant)>> = BTreeMap::new();
        for (channel, publisher) in &*self.0.channels.borrow() {
            let gid = publisher.gid();
            let matched = graph.matched(&gid).map(|gid| {
                let node = graph.node_of(gid).map_or_else(String::new, |node| node.to_string());
                (node, Participant(gid.prefix().0))
            });
            listeners.insert(channel.clone(), matched.filter(|(node, _)| *node != ourselves).collect());
        }
        self.put_listening(graph, &listeners);
        let participants: BTreeSet<Participant> =
            graph.endpoints().map(|endpoint| Participant(endpoint.gid.prefix().0)).collect();
        let processes: BTreeSet<_> = graph.processes().map(|(node, p)| (node, Participant(p.0))).collect();
        for known in self.known() {
            let node = known.id.as_str().to_owned();
            let there = is_there(&processes, &node, known.participant);
            if there {
                self.0.seen.borrow_mut().insert((node.clone(), known.participant));
            } else if known.present {
                // Who never was a node of the graph is there as long as its process is.
                let was_a_node = self.0.seen.borrow_mut().remove(&(node.clone(), known.participant));
                let has_left = was_a_node || known.participant.is_some_and(|p| !participants.contains(&p));
                if has_left {
                    self.forget(&known.id);
                    self.put(Input::Gone { node, participant: known.participant });
                    continue;
                }
            }
            for rival in known.rivals {
                let participant = Some(rival);
                let was_there = self.0.seen.borrow().contains(&(node.clone(), participant));
                if !participants.contains(&rival) || was_there && !is_there(&processes, &node, participant) {
                    self.0.seen.borrow_mut().remove(&(node.clone(), participant));
                    self.put(Input::Gone { node: node.clone(), participant });
                }
            }
            let Some(listeners) = listeners.get(&known.channel) else { continue };
            let reachable = match known.participant {
                Some(process) if there => listeners.contains(&(node.clone(), process)),
                _ if there => listeners.iter().any(|(name, _)| *name == node),
                // Behind a bridge there is no node of that name: then any listener of its process will do, or, where
                // announcements and commands go through two processes, any at all.
                Some(process) if listeners.iter().any(|(_, p)| *p == process) => true,
                _ => !listeners.is_empty(),
            };
            if reachable != known.reachable {
                self.put(Input::Reachable { node, reachable });
            }
        }
    }

    /// Nodes that can be controlled and have announced nothing.
    fn put_listening(&self, graph: &Graph, listeners: &BTreeMap<Channel, BTreeSet<(String, Participant)>>) {
        for (channel, listeners) in listeners {
            for (node, participant) in listeners.iter().filter(|(node, _)| !node.is_empty()) {
                let known = SystemId::resolve("", node)
                    .is_ok_and(|id| self.0.engine.borrow().systems().get(&id).is_some_and(System::present));
                if !known && has_lifecycle(graph, node, *participant) {
                    let (node, channel) = (node.clone(), channel.clone());
                    self.put(Input::Listening { node, channel, participant: Some(*participant) });
                }
            }
        }
    }

    /// What the graph is compared with.
    fn known(&self) -> Vec<Known> {
        let engine = self.0.engine.borrow();
        let known = engine.systems().iter().map(|(id, system)| Known {
            id: id.clone(),
            participant: system.participant,
            rivals: system.rivals().collect(),
            channel: system.channel.clone(),
            present: system.present(),
            reachable: system.reachable(),
        });
        known.collect()
    }

    /// Ends what was opened for one system.
    fn forget(&self, system: &SystemId) {
        let client = self.0.clients.borrow_mut().remove(system);
        if let Some(client) = client {
            client.close();
        }
        self.0.keeps.borrow_mut().remove(system);
        let watch = self.0.watches.borrow_mut().remove(system);
        if let Some(watch) = watch {
            watch.close();
        }
    }

    /// Namespaces in which a dialect's topics showed up, with the two topics.
    fn new_channels(&self, graph: &Graph) -> Vec<(Channel, String, String)> {
        if self.0.confined {
            return Vec::new();
        }
        let channels = self.0.channels.borrow();
        let known: BTreeSet<_> = channels.values().map(|publisher| publisher.topic().to_owned()).collect();
        let mut new = Vec::new();
        for (topic, types) in graph.topics() {
            for dialect in &self.0.dialects {
                let names = dialect.names();
                if !types.contains(names.control_type) || known.contains(&topic) {
                    continue;
                }
                let Some(prefix) = topic.strip_suffix(names.control_topic).and_then(|p| p.strip_suffix('/'))
                else {
                    continue;
                };
                let channel = Channel::new(*dialect, if prefix.is_empty() { "/" } else { prefix });
                if !channels.contains_key(&channel) {
                    let environment = format!("{prefix}/{}", names.environment_topic);
                    new.push((channel, topic.clone(), environment));
                }
            }
        }
        new
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

    /// Nobody is asked any more: logs are of no interest, nor are the transitions that are kept for late joiners anyway.
    fn listen_no_longer(&self) {
        let logs = self.0.logs.borrow_mut().take();
        let watches = self.0.watches.take();
        let keeps = self.0.keeps.borrow();
        let (foreign, kept): (BTreeMap<_, _>, BTreeMap<_, _>) =
            watches.into_iter().partition(|(system, _)| keeps.get(system) == Some(&false));
        self.0.watches.replace(foreign);
        drop(keeps);
        logs.into_iter().chain(kept.into_values()).for_each(Subscription::close);
    }

    /// Whether the process of a system has not told all that it has.
    fn is_outstanding(&self, system: &SystemId) -> bool {
        let participant = self.with_systems(|systems| systems.get(system).and_then(|s| s.participant));
        let graph = self.0.node.context().graph();
        participant.is_some_and(|participant| graph.outstanding().any(|prefix| prefix.0 == participant.0))
    }

    /// Made when the system is first heard of, so that it is matched when its state matters.
    fn client(&self, system: &SystemId) -> Result<Client<GetState, S>, Error> {
        if let Some(client) = self.0.clients.borrow().get(system) {
            return Ok(client.clone());
        }
        // The engine forgets systems when there are too many.
        let known = |id: &SystemId| self.0.engine.borrow().systems().contains_key(id);
        let forgotten: Vec<_> = self.0.clients.borrow().keys().filter(|id| !known(id)).cloned().collect();
        forgotten.iter().for_each(|id| self.forget(id));
        let client =
            self.0.handle.client::<GetState>(&self.0.node, &format!("{}/get_state", system.as_str()))?;
        self.0.clients.borrow_mut().insert(system.clone(), client.clone());
        Ok(client)
    }

    /// `/rosout` keeps what was said in the last seconds for those who come late.
    fn read_logs(&self) -> Result<()> {
        if self.0.logs.borrow().is_some() {
            return Ok(());
        }
        let me = self.clone();
        let logs =
            self.0.handle.subscribe::<Log>(&self.0.node, ("/rosout", Qos::rosout()), move |_, sample| {
                let Log { stamp, level, name, msg, .. } = sample.message;
                if level >= Log::WARN {
                    let stamp = Wall::from_stamp(stamp.sec, stamp.nanosec);
                    me.put(Input::Log { logger: name, error: level >= Log::ERROR, text: msg, stamp });
                }
            })?;
        self.0.logs.replace(Some(logs));
        Ok(())
    }

    fn watch(&self, system: &SystemId) -> Result<()> {
        if self.0.watches.borrow().contains_key(system) {
            return Ok(());
        }
        let (me, id) = (self.clone(), system.clone());
        let topic = format!("{}/transition_event", system.as_str());
        let kept = self.keeps_transitions(system) == Some(true);
        let qos = if kept { Qos::default().transient_local() } else { Qos::default() };
        let watch =
            self.0.handle.subscribe::<TransitionEvent>(&self.0.node, (&topic, qos), move |_, sample| {
                let TransitionEvent { start_state, goal_state, .. } = sample.message;
                let (from, to) = (start_state.id.into(), goal_state.id.into());
                let stamp = sample.info.source_stamp.map(Wall::from);
                me.put(Input::Transition { system: id.clone(), from, to, stamp });
            })?;
        self.0.watches.borrow_mut().insert(system.clone(), watch);
        Ok(())
    }

    /// Whether the last transitions of a system are kept for late joiners, as those of our systems are; whoever keeps none
    /// does not serve a listener that asks for them, and is to be listened to before it is told anything.
    fn keeps_transitions(&self, system: &SystemId) -> Option<bool> {
        if let Some(keeps) = self.0.keeps.borrow().get(system) {
            return Some(*keeps);
        }
        let graph = self.0.node.context().graph();
        let events = |endpoint: &Endpoint| {
            let topic = endpoint.dds_topic.strip_suffix("/transition_event");
            endpoint.kind == EndpointKind::Writer
                && topic.and_then(|t| t.strip_prefix("rt")) == Some(system.as_str())
        };
        let endpoints = graph.endpoints_of(system.as_str());
        let mut publishers =
            endpoints.iter().map(|(_, endpoint)| endpoint).filter(|endpoint| events(endpoint));
        let keeps = publishers.next()?.qos.durability == Durability::TransientLocal;
        self.0.keeps.borrow_mut().insert(system.clone(), keeps);
        Some(keeps)
    }

    /// Systems of others do not know of appointments, and none is made with them.
    fn arm(&self, request: u64, system: &SystemId, session: String, at: Wall) -> Result<()> {
        let service = format!("{}/arm", system.as_str());
        let client = self.0.handle.client::<ArmStart>(&self.0.node, &service)?;
        let (sec, nanosec) = at.to_stamp();
        let source = self.0.node.name().to_owned();
        let (me, system, sent) = (self.clone(), system.clone(), now().mono);
        let closing = client.clone();
        let question = ArmStartRequest { at: Time { sec, nanosec }, session, source };
        client.call(&question, self.0.state_timeout, move |_, answer| {
            let clock = match answer {
                Ok(answer) if answer.success => {
                    Some(Some(Wall::from_stamp(answer.stamp.sec, answer.stamp.nanosec)))
                }
                Ok(_) | Err(CallError::NoServer(_)) => Some(None),
                // It may have heard it.
                Err(_) => None,
            };
            if let Some(clock) = clock {
                me.put(Input::Armed { request, system, sent, clock });
            }
            closing.close();
        });
        Ok(())
    }

    fn query(&self, system: SystemId, query: u64) {
        match self.client(&system) {
            Ok(client) => {
                let me = self.clone();
                client.ask(&GetStateRequest::default(), self.0.state_timeout, move |_, answer| {
                    let result = match answer {
                        Ok(Reply { message, info, sent }) => {
                            me.heard(me.sender(&info), &info, Hearing::Reply { sent });
                            Ok(State::from(message.current_state.id))
                        }
                        // Who has not told yet all that it has may have one.
                        Err(CallError::NoServer(_)) if !me.is_outstanding(&system) => Err(NoState::NoService),
                        Err(_) => Err(NoState::NoAnswer),
                    };
                    me.put(Input::State { system, query, result });
                });
            }
            Err(error) => {
                log::error!(target: self.0.node.logger(), "cannot ask {system} for its state: {error}");
                self.put(Input::State { system, query, result: Err(NoState::NoAnswer) });
            }
        }
    }
}

/// A node that can be asked for its lifecycle state.
fn has_lifecycle(graph: &Graph, node: &str, participant: Participant) -> bool {
    graph.endpoints_of(node).iter().any(|(_, endpoint)| {
        endpoint.gid.prefix().0 == participant.0
            && endpoint.kind == EndpointKind::Reader
            && endpoint
                .dds_topic
                .strip_suffix("/get_stateRequest")
                .is_some_and(|t| t.strip_prefix("rq") == Some(node))
    })
}

struct Known {
    id: SystemId,
    participant: Option<Participant>,
    rivals: Vec<Participant>,
    channel: Channel,
    present: bool,
    reachable: bool,
}

/// Whether the graph has the node, in this process if one is given.
fn is_there(
    processes: &BTreeSet<(String, Participant)>,
    node: &str,
    participant: Option<Participant>,
) -> bool {
    match participant {
        None => processes.iter().any(|(name, _)| name == node),
        Some(participant) => processes.contains(&(node.to_owned(), participant)),
    }
}
