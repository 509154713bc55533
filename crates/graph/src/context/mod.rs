//! The process's DDS participant and the nodes that live in it.

mod discovery;
mod join;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    fmt,
    rc::{Rc, Weak},
    time::Duration,
};

use rosless_engine::Wall;
use rosless_wire::{Message, cdr, rcl_interfaces::msg::Log};
use rustdds::RTPSEntity;
use signal_hook_mio::v1_0::Signals;

use crate::{
    Counters, Error, Gid, GidPrefix, Node, Qos, Result,
    config::{DiscoveryRange, Settings},
    crash,
    discovery_info::{self, NodeEntities, ParticipantEntities, SpokenSizes},
    graph::{Endpoint, EndpointKind, Graph},
    logging, monotonic,
    names::NodeIdentity,
    network::{InterfaceWatch, StaticPeers},
    node::{NodeId, NodeInner},
    owed::Owed,
    raw::{Addressing, RawReader, RawWriter, TopicSpec},
};

pub use discovery::{Completeness, IncompatibleQos};
pub(crate) use join::{DDS_TOKENS, Participant};

const FAREWELL: Duration = Duration::from_millis(50);
/// RustDDS keeps what was taken, too, up to this many samples of all participants together; they are up to some kB each.
const INFO_DEPTH: u32 = 500;

/// What a [`Context`] is made from: the [`Settings`] of the process, usually, and nothing else.
#[derive(Clone, Debug)]
pub struct ContextOptions {
    /// Command line and environment.
    pub settings: Settings,
    /// The process is ours: SIGINT, SIGTERM and SIGHUP stop the event loop, a second SIGINT or SIGTERM ends the process at once, and
    /// so does a panic in any thread, with code [`CRASHED`](crate::CRASHED). Without it only a panic in a thread of RustDDS
    /// does.
    pub handle_signals: bool,
    /// Give every node the services for parameters and type descriptions. Short-lived tools do without.
    pub node_services: bool,
}

impl From<Settings> for ContextOptions {
    fn from(settings: Settings) -> Self {
        Self { settings, handle_signals: true, node_services: true }
    }
}

impl ContextOptions {
    /// Options for a given domain, without signals and without arguments: for tests and embedding.
    pub fn for_domain(domain_id: u16) -> Self {
        let mut settings = Settings::default();
        settings.environment.domain_id = domain_id;
        settings.environment.discovery_range = DiscoveryRange::Localhost;
        Self { settings, handle_signals: false, node_services: true }
    }
}

/// One DDS participant with many nodes. Cheap to clone.
///
/// The participant leaves the network when the last clone, node, publisher and event loop are gone; peers are told, so
/// they see its nodes vanish at once.
#[derive(Clone, Debug)]
pub struct Context(pub(crate) Rc<ContextInner>);
pub(crate) struct ContextInner {
    pub(crate) settings: Settings,
    pub(crate) node_services: bool,
    graph: RefCell<Rc<Graph>>,
    nodes: RefCell<BTreeMap<NodeId, NodeEntities>>,
    /// Logger name and `/rosout` writer of every node.
    rosouts: RefCell<BTreeMap<NodeId, (String, RawWriter)>>,
    next_node: Cell<NodeId>,
    /// Pairs that were complained about; discovery repeats itself.
    complaints: RefCell<BTreeSet<(Gid, Gid)>>,
    /// Endpoints that do not fit ours, of which the application has not been told.
    pub(crate) incompatible: RefCell<Vec<IncompatibleQos>>,
    /// Answers to askers that do not listen yet.
    pub(crate) owed: RefCell<Owed>,
    /// Participants that fell silent for longer than their lease and may come back.
    silent: RefCell<BTreeSet<GidPrefix>>,
    nodes_changed: Cell<bool>,
    /// Of all subscriptions and services together.
    pub(crate) counters: Cell<Counters>,
    spoken_sizes: RefCell<SpokenSizes>,
    /// Nodes that have no services of their own yet.
    pub(crate) new_nodes: RefCell<Vec<Weak<NodeInner>>>,
    /// Nodes came, went or changed their clock since the event loop looked last.
    pub(crate) nodes_want_attention: Cell<bool>,
    pub(crate) signals: RefCell<Option<Signals>>,
    /// Nothing where the kernel does not tell, or where nothing beyond this host is used.
    pub(crate) interfaces: Option<InterfaceWatch>,
    pub(crate) peers: RefCell<StaticPeers>,
    /// Owned by the event loop while there is one.
    pub(crate) info_reader: RefCell<Option<RawReader>>,
    info_writer: RawWriter,
    pub(crate) dds: Participant,
    gid: Gid,
    /// When the domain was joined.
    pub(crate) joined: Duration,
}

impl fmt::Debug for ContextInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("gid", &self.gid).field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl Context {
    /// Joins the domain. Signals are taken over first, so that no thread of the DDS stack ever handles one.
    ///
    /// # Errors
    /// When sockets cannot be opened.
    pub fn new(options: impl Into<ContextOptions>) -> Result<Self> {
        let ContextOptions { settings, handle_signals, node_services } = options.into();
        crash::end_on_panic(handle_signals);
        logging::install(&settings.arguments).map_err(|error| Error::Usage(error.to_string()))?;
        logging::dds_is_joining();
        join::check_room()?;
        let signals = handle_signals.then(join::take_over_signals).transpose()?;
        let peers = StaticPeers::new(&settings.environment.static_peers)
            .map_err(Error::io("cannot resolve ROS_STATIC_PEERS"))?;
        // Before the interfaces are listed, so that no change is missed.
        let interfaces = InterfaceWatch::new()
            .inspect_err(|error| log::debug!("changes of the network will not be followed: {error}"))
            .ok()
            .filter(|_| settings.environment.discovery_range != DiscoveryRange::Off);
        let dds = join::join(&settings, &peers)?;
        let spec = TopicSpec {
            dds_topic: discovery_info::TOPIC.to_owned(),
            dds_type: discovery_info::TYPE.to_owned(),
            type_hash: discovery_info::TYPE_HASH.to_owned(),
            service_hash: None,
            qos: Qos::latched(),
            burst: 0,
            part: None,
        };
        let info_writer = RawWriter::unlisted(&dds, spec.clone())?;
        let info_reader =
            RawReader::unlisted(&dds, TopicSpec { qos: spec.qos.keep_last(INFO_DEPTH), ..spec })?;
        Ok(Self(Rc::new(ContextInner {
            gid: dds.dds.guid().into(),
            joined: monotonic(),
            settings,
            node_services,
            graph: RefCell::default(),
            nodes: RefCell::default(),
            rosouts: RefCell::default(),
            next_node: Cell::new(0),
            complaints: RefCell::default(),
            incompatible: RefCell::default(),
            owed: RefCell::default(),
            silent: RefCell::default(),
            counters: Cell::default(),
            nodes_changed: Cell::new(true),
            spoken_sizes: RefCell::default(),
            new_nodes: RefCell::default(),
            nodes_want_attention: Cell::new(false),
            signals: RefCell::new(signals),
            interfaces,
            peers: RefCell::new(peers),
            info_reader: RefCell::new(Some(info_reader)),
            info_writer,
            dds,
        })))
    }

    /// A node in the root namespace, unless remapped.
    pub fn node(&self, name: &str) -> Result<Node> {
        self.node_in(name, "/")
    }

    /// A node in `namespace`, unless remapped.
    pub fn node_in(&self, name: &str, namespace: &str) -> Result<Node> {
        let identity = NodeIdentity::new(name, namespace, &self.0.settings.arguments.remaps)
            .map_err(|error| Error::Usage(error.to_string()))?;
        Node::new(self, identity)
    }

    /// The graph as known now. The snapshot does not change; ask again for news.
    pub fn graph(&self) -> Rc<Graph> {
        self.0.graph.borrow().clone()
    }

    /// What happened to the samples and requests of all its subscriptions and services so far, and what it took.
    pub fn counters(&self) -> Counters {
        let repairs = self.0.dds.dds.repairs();
        Counters { sent_again: repairs.sent_again(), asked_again: repairs.asked(), ..self.0.counters.get() }
    }

    /// What it was made with.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The participant on the wire.
    pub fn gid(&self) -> Gid {
        self.0.gid
    }
}

impl ContextInner {
    pub(crate) fn change_graph(&self, change: impl FnOnce(&mut Graph)) {
        change(Rc::make_mut(&mut self.graph.borrow_mut()));
    }

    pub(crate) fn add_node(&self, identity: &NodeIdentity) -> Result<NodeId> {
        let rosout = self.settings.arguments.rosout_logs.then(|| {
            let spec = TopicSpec::topic("/rosout", Log::TYPE_NAME, Log::TYPE_HASH, Qos::rosout())?;
            RawWriter::unlisted(&self.dds, spec)
        });
        let rosout = rosout.transpose()?;
        let id = self.next_node.get();
        self.next_node.set(id + 1);
        let entities = NodeEntities {
            namespace: identity.namespace().to_owned(),
            name: identity.name().to_owned(),
            ..NodeEntities::default()
        };
        self.nodes.borrow_mut().insert(id, entities);
        self.nodes_changed.set(true);
        if let Some(rosout) = rosout {
            self.endpoint_added(id, rosout.spec.endpoint(rosout.gid, EndpointKind::Writer));
            self.rosouts.borrow_mut().insert(id, (identity.logger(), rosout));
        }
        Ok(id)
    }

    /// The deviation of a node's clock, which it shares with what speaks for it.
    pub(crate) fn ahead_of(&self, id: NodeId) -> Rc<Cell<i64>> {
        self.rosouts.borrow().get(&id).map(|(_, rosout)| rosout.ahead.clone()).unwrap_or_default()
    }

    pub(crate) fn remove_node(&self, id: NodeId) {
        let rosout = self.rosouts.borrow_mut().remove(&id);
        if let Some((_, rosout)) = rosout {
            self.endpoint_removed(id, &rosout.gid);
        }
        self.nodes.borrow_mut().remove(&id);
        self.nodes_changed.set(true);
    }

    /// Publishes what was logged on this thread since the last time, each record in the name of its node.
    pub(crate) fn publish_logs(&self) {
        let rosouts = self.rosouts.borrow();
        for record in logging::take_records() {
            let own = rosouts.values().find(|(logger, _)| *logger == record.logger);
            let Some((_, rosout)) = own.or_else(|| rosouts.values().next()) else { continue };
            let mut log = Log::from(record);
            let stamp =
                Wall::from_stamp(log.stamp.sec, log.stamp.nanosec).0.saturating_add(rosout.ahead.get());
            (log.stamp.sec, log.stamp.nanosec) = Wall(stamp).to_stamp();
            rosout.write(cdr::to_payload(&log), Addressing::default());
        }
    }

    pub(crate) fn endpoint_added(&self, node: NodeId, endpoint: Endpoint) {
        if let Some(entities) = self.nodes.borrow_mut().get_mut(&node) {
            entities.endpoints(endpoint.kind).push(endpoint.gid);
        }
        self.nodes_changed.set(true);
        self.change_graph(|graph| graph.add_endpoint(endpoint));
    }

    pub(crate) fn endpoint_removed(&self, node: NodeId, gid: &Gid) {
        if let Some(entities) = self.nodes.borrow_mut().get_mut(&node) {
            for kind in [EndpointKind::Reader, EndpointKind::Writer] {
                entities.endpoints(kind).retain(|known| known != gid);
            }
        }
        self.nodes_changed.set(true);
        self.complaints.borrow_mut().retain(|(local, remote)| local != gid && remote != gid);
        self.change_graph(|graph| graph.remove_endpoint(gid));
    }

    /// Tells the network about our nodes if anything changed since the last time.
    pub(crate) fn publish_nodes(&self) {
        if !self.nodes_changed.replace(false) {
            return;
        }
        let entities = ParticipantEntities {
            participant: self.gid,
            nodes: self.nodes.borrow().values().cloned().collect(),
        };
        let payload = discovery_info::encode(&entities, self.gid_size());
        if self.info_writer.write(payload, Addressing::default()).is_none() {
            self.nodes_changed.set(true);
        }
        self.change_graph(|graph| graph.set_entities(&self.gid, entities));
    }
}

impl Drop for ContextInner {
    fn drop(&mut self) {
        logging::dds_is_leaving();
        self.nodes.borrow_mut().clear();
        self.nodes_changed.set(true);
        self.publish_nodes();
        // Leaving the domain removes everything anyway; this only lets a peer that is there hear the empty list first.
        self.info_writer.wait_acknowledged(FAREWELL);
    }
}

impl NodeEntities {
    fn endpoints(&mut self, kind: EndpointKind) -> &mut Vec<Gid> {
        match kind {
            EndpointKind::Reader => &mut self.readers,
            EndpointKind::Writer => &mut self.writers,
        }
    }
}
