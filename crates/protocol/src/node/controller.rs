//! A controller on the graph: the engine of [`crate::controller`] with topics, state clients and discovery.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};

use rosless_engine::Engine as _;
use rosless_graph::{
    CallError, Client, Error, Gid, GidPrefix, Graph, Handle, Node, Qos, RawPublisher, Result, SampleInfo,
    Subscription, now,
};
use rosless_wire::lifecycle_msgs::{
    msg::TransitionEvent,
    srv::{GetState, GetStateRequest},
};

use super::wire;
use crate::{
    controller::{Controller, Event, Input, NoState, Output, Participant, Report, Settings, System, Targets},
    dialect::Dialect,
    message::{Command, Control, State},
    name::{NameError, SystemId},
};

/// What a controller tells its owner.
#[derive(Debug)]
pub enum Notice<'a> {
    /// Every control message heard, the controller's own included.
    Message(&'a Control),
    Event(&'a Event),
    Finished(&'a Report),
}

const MAX_ANNOUNCERS: usize = 4096;

type NoticeFn<S> = Box<dyn FnMut(&mut S, Notice<'_>)>;

struct Inner<S> {
    handle: Handle<S>,
    node: Node,
    dialect: Dialect,
    state_timeout: Duration,
    engine: RefCell<Controller>,
    /// Control publisher by namespace.
    channels: RefCell<BTreeMap<String, RawPublisher>>,
    /// Subscriptions to announcements.
    environments: RefCell<Vec<Gid>>,
    /// Publishers of announcements that were heard.
    announcers: RefCell<BTreeSet<Gid>>,
    clients: RefCell<BTreeMap<SystemId, Client<GetState, S>>>,
    /// The transition events of systems that did not do as they were told.
    watches: RefCell<BTreeMap<SystemId, Subscription<S>>>,
    /// Systems whose nodes were seen on the graph, and in which process: only those can be missed.
    seen: RefCell<BTreeSet<(String, Option<Participant>)>>,
    notice: RefCell<NoticeFn<S>>,
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
    /// Makes `node` a controller of `dialect`. It listens in the node's namespace and in every other in which the
    /// dialect's control topic shows up.
    pub fn new(
        handle: &Handle<S>,
        node: &Node,
        dialect: Dialect,
        settings: Settings,
        notice: impl FnMut(&mut S, Notice<'_>) + 'static,
    ) -> Result<Self> {
        let state_timeout = settings.state_timeout;
        let home = node.namespace().to_owned();
        let this = Self(Rc::new(Inner {
            handle: handle.clone(),
            node: node.clone(),
            dialect,
            state_timeout,
            engine: RefCell::new(Controller::new(settings, node.name(), &home, now())),
            channels: RefCell::default(),
            environments: RefCell::default(),
            announcers: RefCell::default(),
            clients: RefCell::default(),
            watches: RefCell::default(),
            seen: RefCell::default(),
            notice: RefCell::new(Box::new(notice)),
        }));
        let names = dialect.names();
        this.open(&home, names.control_topic, names.environment_topic)?;
        let me = this.clone();
        handle.on_graph_change(move |_, graph| me.graph_changed(graph));
        let (engine, me) = (this.clone(), this.clone());
        handle.drive(
            move |_, with: &mut dyn FnMut(&mut Controller)| with(&mut engine.0.engine.borrow_mut()),
            move |app, output| me.act(app, output),
        );
        Ok(this)
    }

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
        self.0.engine.borrow_mut().request(command, session, targets, now())
    }

    /// Asks every system for its state.
    pub fn refresh(&self) {
        self.0.engine.borrow_mut().refresh(now());
    }

    /// Everything known, by full name.
    pub fn systems(&self) -> BTreeMap<SystemId, System> {
        self.0.engine.borrow().systems().clone()
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

    fn open(&self, namespace: &str, control: &str, environment: &str) -> Result<()> {
        let Inner { handle, node, dialect, .. } = &*self.0;
        let publisher = wire::control_publisher(node, *dialect, control)?;
        self.0.channels.borrow_mut().insert(namespace.to_owned(), publisher);
        let (me, channel) = (self.clone(), namespace.to_owned());
        wire::subscribe_control(handle, node, *dialect, control, move |app, message, info| {
            me.notice(app, Notice::Message(&message));
            let (sender, participant) = me.sender(&info);
            me.put(Input::Control { channel: channel.clone(), sender, participant, message });
        })?;
        let (me, channel) = (self.clone(), namespace.to_owned());
        let subscription = wire::subscribe_environment(
            handle,
            node,
            *dialect,
            environment,
            move |_, announcement, info| {
                let mut announcers = me.0.announcers.borrow_mut();
                // Publishers come and go, and nobody may ever ask.
                if announcers.len() >= MAX_ANNOUNCERS {
                    announcers.clear();
                }
                announcers.insert(info.publisher);
                drop(announcers);
                let (sender, participant) = me.sender(&info);
                me.put(Input::Announced { channel: channel.clone(), sender, participant, announcement });
                let graph = me.0.node.context().graph();
                me.graph_changed(&graph);
            },
        )?;
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

    /// The full name of the publishing node, and its process.
    fn sender(&self, info: &SampleInfo) -> (Option<String>, Option<Participant>) {
        let node = self.0.node.context().graph().node_of(&info.publisher);
        (node.map(|node| node.to_string()), Some(Participant(info.publisher.prefix().0)))
    }

    fn graph_changed(&self, graph: &Graph) {
        for (namespace, control, environment) in self.new_channels(graph) {
            match self.open(&namespace, &control, &environment) {
                Ok(()) => self.put(Input::Channel(namespace)),
                Err(error) => {
                    log::error!(target: self.0.node.logger(), "cannot listen on {control}: {error}")
                }
            }
        }
        let ourselves = self.0.node.full_name();
        let matched: BTreeMap<String, Vec<(GidPrefix, String)>> = self
            .0
            .channels
            .borrow()
            .iter()
            .map(|(namespace, publisher)| {
                let gid = publisher.gid();
                let matched = graph.matched(&gid).map(|gid| {
                    (gid.prefix(), graph.node_of(gid).map_or_else(String::new, |node| node.to_string()))
                });
                (namespace.clone(), matched.filter(|(_, node)| *node != ourselves).collect())
            })
            .collect();
        for (id, system) in self.systems() {
            let node = id.as_str().to_owned();
            let there = is_there(graph, &node, system.participant);
            let seen = (node.clone(), system.participant);
            if there {
                self.0.seen.borrow_mut().insert(seen);
            } else if system.present && self.0.seen.borrow_mut().remove(&seen) {
                self.forget(&id);
                self.put(Input::Gone { node, participant: system.participant });
                continue;
            }
            for rival in system.rivals() {
                let participant = Some(rival);
                let left = !graph.endpoints().any(|endpoint| endpoint.gid.prefix().0 == rival.0);
                let was_there = self.0.seen.borrow().contains(&(node.clone(), participant));
                if left || was_there && !is_there(graph, &node, participant) {
                    self.0.seen.borrow_mut().remove(&(node.clone(), participant));
                    self.put(Input::Gone { node: node.clone(), participant });
                }
            }
            // Behind a bridge there is no node of that name: then any listener will do.
            let its_own = |(prefix, name): &(GidPrefix, String)| {
                *name == node && system.participant.is_none_or(|participant| participant.0 == prefix.0)
            };
            let reachable = matched
                .get(&system.channel)
                .is_some_and(|nodes| if there { nodes.iter().any(its_own) } else { !nodes.is_empty() });
            if reachable != system.reachable {
                self.put(Input::Reachable { node, reachable });
            }
        }
    }

    /// Ends what was opened for one system.
    fn forget(&self, system: &SystemId) {
        let client = self.0.clients.borrow_mut().remove(system);
        if let Some(client) = client {
            client.close();
        }
        let watch = self.0.watches.borrow_mut().remove(system);
        if let Some(watch) = watch {
            watch.close();
        }
    }

    /// Namespaces in which the dialect's topics showed up, with the two topics.
    fn new_channels(&self, graph: &Graph) -> Vec<(String, String, String)> {
        let names = self.0.dialect.names();
        let channels = self.0.channels.borrow();
        let known: BTreeSet<_> = channels.values().map(|publisher| publisher.topic().to_owned()).collect();
        let suffix = format!("/{}", names.control_topic);
        let topics = graph
            .topics()
            .into_iter()
            .filter(|(topic, types)| types.contains(names.control_type) && !known.contains(topic));
        topics
            .filter_map(|(topic, _)| {
                let prefix = topic.strip_suffix(&suffix)?;
                let namespace = if prefix.is_empty() { "/" } else { prefix };
                let environment = format!("{prefix}/{}", names.environment_topic);
                (!channels.contains_key(namespace))
                    .then(|| (namespace.to_owned(), topic.clone(), environment))
            })
            .collect()
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
            Output::QueryState { system, query } => self.query(system, query),
            Output::WatchTransitions { system } => {
                if let Err(error) = self.watch(&system) {
                    log::error!(target: self.0.node.logger(), "cannot watch {system}: {error}");
                }
            }
            Output::Event(event) => {
                if let Event::Joined { system, .. } = &event
                    && let Err(error) = self.client(system)
                {
                    log::error!(target: self.0.node.logger(), "cannot ask {system} for its state: {error}");
                }
                self.notice(app, Notice::Event(&event));
            }
            Output::Finished(report) => self.notice(app, Notice::Finished(&report)),
        }
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

    fn watch(&self, system: &SystemId) -> Result<()> {
        if self.0.watches.borrow().contains_key(system) {
            return Ok(());
        }
        let (me, id) = (self.clone(), system.clone());
        let topic = format!("{}/transition_event", system.as_str());
        let watch = self.0.handle.subscribe::<TransitionEvent>(
            &self.0.node,
            &topic,
            Qos::default(),
            move |_, sample| {
                let TransitionEvent { start_state, goal_state, .. } = sample.message;
                let (from, to) = (start_state.id.into(), goal_state.id.into());
                me.put(Input::Transition { system: id.clone(), from, to });
            },
        )?;
        self.0.watches.borrow_mut().insert(system.clone(), watch);
        Ok(())
    }

    fn query(&self, system: SystemId, query: u64) {
        match self.client(&system) {
            Ok(client) => {
                let me = self.clone();
                client.call(&GetStateRequest::default(), self.0.state_timeout, move |_, answer| {
                    let result = match answer {
                        Ok(response) => Ok(State::from(response.current_state.id)),
                        Err(CallError::NoServer(_)) => Err(NoState::NoService),
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

/// Whether the graph has the node, in this process if one is given.
fn is_there(graph: &Graph, node: &str, participant: Option<Participant>) -> bool {
    match participant {
        None => graph.has_node(node),
        Some(Participant(prefix)) => {
            graph.endpoints_of(node).iter().any(|(_, endpoint)| endpoint.gid.prefix().0 == prefix)
        }
    }
}
