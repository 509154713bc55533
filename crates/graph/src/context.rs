//! The process's DDS participant and the nodes that live in it.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::{IpAddr, Ipv4Addr},
    rc::{Rc, Weak},
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use rosless_wire::{Message, cdr, rcl_interfaces::msg::Log};
use rustdds::{
    DiscoveryLimits, DomainParticipant, DomainParticipantBuilder, DomainParticipantStatusEvent as Event,
    DomainParticipantStatusListener, EndpointDescription, LostReason, QosPolicies, RTPSEntity, StatusEvented,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook_mio::v1_0::Signals;

use crate::{
    Error, Gid, GidPrefix, Node, Qos, Result,
    config::{DiscoveryRange, IpVersions, Limits, Settings},
    crash,
    discovery_info::{self, GidSize, NodeEntities, ParticipantEntities, SpokenSizes},
    graph::{Endpoint, EndpointKind, Graph, UserData},
    logging, monotonic,
    names::NodeIdentity,
    network::{InterfaceWatch, StaticPeers},
    node::{NodeId, NodeInner},
    owed::Owed,
    qos::policy_name,
    raw::{Addressing, RawReader, RawWriter, TopicSpec},
};

/// What a [`Context`] is made from: the [`Settings`] of the process, usually, and nothing else.
#[derive(Clone, Debug)]
pub struct ContextOptions {
    pub settings: Settings,
    /// The process is ours: SIGINT, SIGTERM and SIGHUP stop the event loop, a second signal ends the process at once, and
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

/// The DDS side. Fields are dropped in this order.
pub(crate) struct Participant {
    pub(crate) listener: DomainParticipantStatusListener,
    pub(crate) publisher: rustdds::Publisher,
    pub(crate) subscriber: rustdds::Subscriber,
    pub(crate) dds: DomainParticipant,
}

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
    /// Answers to askers that do not listen yet.
    pub(crate) owed: RefCell<Owed>,
    /// Participants that fell silent for longer than their lease and may come back.
    silent: RefCell<BTreeSet<GidPrefix>>,
    nodes_changed: Cell<bool>,
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

/// Knows when the graph is complete: everybody had the time to answer our arrival, everything has come that discovery
/// says must come, and it has been calm for a moment.
#[derive(Debug)]
pub struct Completeness {
    context: Context,
    /// Generation of the graph, and since when it is that.
    last_change: (u64, Duration),
}

impl Completeness {
    pub fn is_complete(&mut self) -> bool {
        let (now, graph) = (monotonic(), self.context.graph());
        if graph.generation() != self.last_change.0 {
            self.last_change = (graph.generation(), now);
        }
        now >= self.context.0.joined + FIRST_ANSWERS && now >= self.last_change.1 + CALM && graph.is_settled()
    }

    /// How many participants have not told all they have.
    pub fn outstanding(&self) -> usize {
        self.context.graph().outstanding().count()
    }
}

/// Two endpoints that would exchange samples if it were not for one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncompatibleQos {
    /// The ROS name of the topic or service.
    pub topic: String,
    /// The policy that does not fit, as ROS spells it: `RELIABILITY`, `DURABILITY`, …
    pub policy: &'static str,
    /// Our endpoint.
    pub local: Gid,
    /// Theirs.
    pub remote: Gid,
    pub offered: Qos,
    pub requested: Qos,
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
        check_descriptors(raise_file_limit())?;
        check_memory()?;
        let signals = handle_signals.then(take_over_signals).transpose()?;
        let peers = StaticPeers::new(&settings.environment.static_peers)
            .map_err(Error::io("cannot resolve ROS_STATIC_PEERS"))?;
        // Before the interfaces are listed, so that no change is missed.
        let interfaces = InterfaceWatch::new()
            .inspect_err(|error| log::debug!("changes of the network will not be followed: {error}"))
            .ok()
            .filter(|_| settings.environment.discovery_range != DiscoveryRange::Off);
        let dds = join(&settings, &peers)?;
        let spec = TopicSpec {
            dds_topic: discovery_info::TOPIC.to_owned(),
            dds_type: discovery_info::TYPE.to_owned(),
            type_hash: discovery_info::TYPE_HASH.to_owned(),
            service_hash: None,
            qos: Qos::latched(),
            burst: 0,
        };
        let info_writer = RawWriter::unlisted(&dds, spec.clone())?;
        let info_reader = RawReader::unlisted(&dds, TopicSpec { qos: spec.qos.depth(INFO_DEPTH), ..spec })?;
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
            owed: RefCell::default(),
            silent: RefCell::default(),
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

    /// To be asked, again and again, whether everybody who is there has been heard.
    pub fn completeness(&self) -> Completeness {
        Completeness { context: self.clone(), last_change: (self.graph().generation(), monotonic()) }
    }

    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

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
            rosout.write(cdr::to_payload(&Log::from(record)), Addressing::default());
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

    fn gid_size(&self) -> GidSize {
        match self.settings.environment.distro {
            Some(distro) if distro.gid_len() == 24 => GidSize::Bytes24,
            Some(_) => GidSize::Bytes16,
            None => self.spoken_sizes.borrow().wanted(),
        }
    }

    /// Says everything again where the peers turn out to expect another size of gid.
    fn learn_gid_size(&self, news: impl FnOnce(&mut SpokenSizes)) {
        let before = self.gid_size();
        news(&mut self.spoken_sizes.borrow_mut());
        let now = self.gid_size();
        if now != before {
            log::info!("the peers write gids of {now:?}; our nodes are announced likewise");
            self.nodes_changed.set(true);
        }
    }

    pub(crate) fn take_discovery_info(&self, reader: &RawReader) {
        reader.drain_notifications();
        loop {
            match reader.take() {
                Ok(None) => return,
                Ok(Some(sample)) => match discovery_info::decode_with_size(&sample.payload()) {
                    Some((entities, size)) => {
                        self.learn_gid_size(|sizes| sizes.heard(&sample.info.publisher, size));
                        self.change_graph(|graph| graph.set_entities(&sample.info.publisher, entities));
                    }
                    None => log::warn!(
                        "participant {} published a ros_discovery_info that cannot be read; its nodes stay unknown",
                        sample.info.publisher
                    ),
                },
                Err(reason) => log::warn!("a ros_discovery_info sample cannot be read: {reason}"),
            }
        }
    }

    pub(crate) fn network_deadline(&self) -> Option<Duration> {
        let interfaces = self.interfaces.as_ref().and_then(InterfaceWatch::deadline);
        interfaces.into_iter().chain(self.peers.borrow().deadline()).min()
    }

    /// Follows the network where it is time to.
    pub(crate) fn follow_network(&self) {
        let mut peers = self.peers.borrow_mut();
        if self.interfaces.as_ref().is_some_and(InterfaceWatch::is_due) {
            self.dds.dds.networks_changed();
            peers.ask_soon();
        }
        peers.ask_if_due();
    }

    pub(crate) fn take_peer_addresses(&self) {
        let mut peers = self.peers.borrow_mut();
        if peers.take_answers() && self.settings.environment.discovery_range != DiscoveryRange::Off {
            self.dds.dds.set_initial_peers(peers.participants(self.settings.environment.domain_id));
        }
    }

    /// Moves what discovery found into the graph; returns the endpoints that do not fit ours.
    pub(crate) fn take_discovery_events(&self) -> Vec<IncompatibleQos> {
        let mut incompatible = Vec::new();
        let mut taken = 0;
        while let Some(event) = self.dds.listener.try_recv_status() {
            taken += 1;
            self.handle_discovery_event(event, &mut incompatible);
        }
        if taken >= EVENT_QUEUE_DANGER {
            self.resynchronize();
        }
        incompatible
    }

    fn handle_discovery_event(&self, event: Event, incompatible: &mut Vec<IncompatibleQos>) {
        match event {
            Event::ReaderDetected { reader } => self.detected(reader, EndpointKind::Reader),
            Event::WriterDetected { writer } => self.detected(writer, EndpointKind::Writer),
            Event::ReaderLost { guid, .. } | Event::WriterLost { guid, .. } => {
                self.complaints.borrow_mut().retain(|(_, remote)| *remote != guid.into());
                self.change_graph(|graph| graph.remove_endpoint(&guid.into()));
            }
            Event::ParticipantDiscovered { dpd } => {
                self.change_graph(|graph| graph.add_participant(Gid::from(dpd.guid).prefix()));
            }
            Event::EndpointsComplete { participant } => {
                let mut prefix = [0; 12];
                prefix.copy_from_slice(participant.as_ref());
                self.change_graph(|graph| graph.endpoints_complete(GidPrefix(prefix)));
            }
            Event::ParticipantLost { id, reason } => {
                let mut prefix = [0; 12];
                prefix.copy_from_slice(id.as_ref());
                if matches!(reason, LostReason::Timeout { .. }) {
                    let mut silent = self.silent.borrow_mut();
                    silent.insert(GidPrefix(prefix));
                    if silent.len() > MAX_SILENT {
                        silent.pop_first();
                    }
                } else if let Some(reader) = self.info_reader.borrow().as_ref() {
                    reader.dds.discard_from_participant(id);
                }
                self.complaints.borrow_mut().retain(|(_, remote)| remote.prefix() != GidPrefix(prefix));
                self.learn_gid_size(|sizes| sizes.left(GidPrefix(prefix)));
                self.change_graph(|graph| graph.remove_participant(GidPrefix(prefix)));
            }
            Event::RemoteReaderMatched { local_writer: local, remote_reader: remote }
            | Event::RemoteWriterMatched { local_reader: local, remote_writer: remote } => {
                self.change_graph(|graph| graph.add_match(local.into(), remote.into()));
                self.matched(local.into(), remote.into());
                let due = self.owed.borrow_mut().due(local.into(), remote.into());
                due.into_iter().for_each(|send| send());
            }
            Event::RemoteWriterEmpty { remote_writer, .. } => {
                self.change_graph(|graph| graph.add_empty_writer(remote_writer.into()));
            }
            Event::RemoteReaderQosIncompatible {
                local_writer: local,
                remote_reader: remote,
                requested_qos,
                offered_qos,
            }
            | Event::RemoteWriterQosIncompatible {
                local_reader: local,
                remote_writer: remote,
                requested_qos,
                offered_qos,
            } => incompatible.extend(self.incompatible(
                local.into(),
                remote.into(),
                &offered_qos,
                &requested_qos,
            )),
            _ => {}
        }
    }

    /// What a returned participant had said of its nodes went with it; it does not say it again by itself.
    fn matched(&self, local: Gid, remote: Gid) {
        let reader = self.info_reader.borrow();
        if let Some(reader) = reader.as_ref().filter(|reader| reader.gid == local)
            && self.silent.borrow_mut().remove(&remote.prefix())
        {
            reader.take_again(&remote);
            self.take_discovery_info(reader);
        }
    }

    fn incompatible(
        &self,
        local: Gid,
        remote: Gid,
        offered: &QosPolicies,
        requested: &QosPolicies,
    ) -> Option<IncompatibleQos> {
        if !self.complaints.borrow_mut().insert((local, remote)) {
            return None;
        }
        let graph = self.graph.borrow();
        let ours = graph.endpoint(&local)?;
        let (offered_by, requested_by) = match ours.kind {
            EndpointKind::Writer => (ours.qos, Qos::from_policies(requested)),
            EndpointKind::Reader => (Qos::from_policies(offered), ours.qos),
        };
        Some(IncompatibleQos {
            topic: ours.ros_name(),
            policy: offered.compliance_failure_wrt(requested).map_or("unknown", policy_name),
            local,
            remote,
            offered: offered_by,
            requested: requested_by,
        })
    }

    fn detected(&self, found: EndpointDescription, kind: EndpointKind) {
        // Our own endpoints were listed, with more detail, when they were made.
        if Gid::from(found.guid).prefix() == self.gid.prefix() {
            return;
        }
        let UserData { type_hash, service_tag } = UserData::parse(&found.user_data);
        let endpoint = Endpoint {
            gid: found.guid.into(),
            kind,
            dds_topic: found.topic_name,
            dds_type: found.type_name,
            type_hash,
            qos: Qos::from_policies(&found.qos),
            service_tag,
        };
        self.change_graph(|graph| graph.add_endpoint(endpoint));
    }

    /// After a flood of events some may be missing: compare with what RustDDS itself knows.
    fn resynchronize(&self) {
        log::warn!("discovery brought more news than its queue holds; comparing with the whole");
        let (readers, writers) = (self.dds.dds.discovered_readers(), self.dds.dds.discovered_writers());
        let known: BTreeSet<Gid> = readers
            .iter()
            .map(|reader| reader.reader_proxy.remote_reader_guid.into())
            .chain(writers.iter().map(|writer| writer.writer_proxy.remote_writer_guid.into()))
            .collect();
        self.change_graph(|graph| {
            graph.retain_endpoints(|gid| gid.prefix() == self.gid.prefix() || known.contains(gid));
        });
        for reader in readers {
            let data = reader.subscription_topic_data;
            self.detected(
                EndpointDescription {
                    updated_time: Default::default(),
                    guid: reader.reader_proxy.remote_reader_guid,
                    topic_name: data.topic_name().clone(),
                    type_name: data.type_name().clone(),
                    qos: data.qos(),
                    user_data: reader.user_data,
                },
                EndpointKind::Reader,
            );
        }
        for writer in writers {
            let data = writer.publication_topic_data;
            self.detected(
                EndpointDescription {
                    updated_time: Default::default(),
                    guid: writer.writer_proxy.remote_writer_guid,
                    topic_name: data.topic_name.clone(),
                    type_name: data.type_name.clone(),
                    qos: data.qos(),
                    user_data: writer.user_data,
                },
                EndpointKind::Writer,
            );
        }
        // RustDDS does not tell afterwards which of them it has matched, so its rule is applied once more.
        self.change_graph(|graph| graph.infer_matches(self.gid.prefix()));
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

/// RustDDS queues 2048 events and drops what does not fit.
const EVENT_QUEUE_DANGER: usize = 2000;
/// More participants than this are not expected back.
const MAX_SILENT: usize = 1000;
/// Participants answer a newcomer's announcement within this time, unless their host is very busy.
const FIRST_ANSWERS: Duration = Duration::from_millis(400);
/// Whatever changes the graph may bring more of it.
const CALM: Duration = Duration::from_millis(150);
const FAREWELL: Duration = Duration::from_millis(50);
/// Sockets, polls and wakers of a participant and an event loop, with some to spare for further interfaces.
const DESCRIPTORS_TO_JOIN: u64 = 24;
/// Stacks, buffers and caches of a node that has something to do. Rust aborts where an allocation fails, so it is asked
/// before.
const MEMORY_TO_JOIN: u64 = 32 << 20;
/// RustDDS keeps what was taken, too, up to this many samples of all participants together; they are up to some kB each.
const INFO_DEPTH: u32 = 500;

fn discovery_limits(set: &Limits) -> DiscoveryLimits {
    let defaults = DiscoveryLimits::default();
    let per_participant = set.endpoints_per_participant;
    DiscoveryLimits {
        participants: set.participants.unwrap_or(defaults.participants),
        endpoints: set.endpoints.unwrap_or(defaults.endpoints),
        endpoints_per_participant: per_participant.unwrap_or(defaults.endpoints_per_participant),
        matches_per_endpoint: set.matches.unwrap_or(defaults.matches_per_endpoint),
        user_data: set.user_data.unwrap_or(defaults.user_data),
        name: set.name.unwrap_or(defaults.name),
    }
}

fn join(settings: &Settings, peers: &StaticPeers) -> Result<Participant> {
    let environment = &settings.environment;
    let participants = peers.participants(environment.domain_id);
    let mut builder = DomainParticipantBuilder::new(environment.domain_id)
        .ip_versions(match environment.ip_versions {
            IpVersions::Auto => rustdds::IpVersions::Auto,
            IpVersions::V4 => rustdds::IpVersions::V4,
            IpVersions::V6 => rustdds::IpVersions::V6,
            IpVersions::Both => rustdds::IpVersions::Both,
        })
        .user_data(format!("enclave={};", settings.arguments.enclave))
        .discovery_limits(discovery_limits(&environment.limits));
    if let Some(bytes) = environment.limits.assembly {
        builder = builder.max_assembly(bytes.div_ceil(2), bytes);
    }
    builder = match environment.discovery_range {
        // Static peers are reached whatever the range, except when discovery is off.
        DiscoveryRange::Off => {
            builder.with_only_networks([IpAddr::V4(Ipv4Addr::LOCALHOST)]).same_host_loopback(false)
        }
        // Not bound to loopback: ROS peers of this range are at the host's own addresses.
        DiscoveryRange::Localhost => builder.initial_peers(participants).with_this_host_and(peers.hosts()),
        DiscoveryRange::Subnet | DiscoveryRange::SystemDefault => builder.initial_peers(participants),
    };
    let dds = builder.build().map_err(Error::dds(format!("join DDS domain {}", environment.domain_id)))?;
    let qos = QosPolicies::qos_none();
    Ok(Participant {
        listener: dds.status_listener(),
        publisher: dds.create_publisher(&qos).map_err(Error::dds("create a DDS publisher"))?,
        subscriber: dds.create_subscriber(&qos).map_err(Error::dds("create a DDS subscriber"))?,
        dds,
    })
}

fn take_over_signals() -> Result<Signals> {
    let forced = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Registered before the flag is set by the first signal: so only the second one ends the process.
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, forced.clone())
            .and_then(|_| signal_hook::flag::register(signal, forced.clone()))
            .map_err(Error::io("cannot handle signals"))?;
    }
    Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Error::io("cannot handle signals"))
}

/// Every subscription, server and client costs two descriptors: 1024 would end at some 70 nodes.
fn raise_file_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum || limit.maximum.is_none() {
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            log::debug!("the limit for open files stays as it is: {error}");
        }
    }
    getrlimit(Resource::Nofile).current
}

/// RustDDS does not take it well when descriptors run out on the way in.
fn check_descriptors(limit: Option<u64>) -> Result<()> {
    let (Some(limit), Ok(open)) = (limit, std::fs::read_dir("/proc/self/fd")) else { return Ok(()) };
    let left = limit.saturating_sub(open.count() as u64);
    if left >= DESCRIPTORS_TO_JOIN {
        return Ok(());
    }
    let reason =
        format!("Too many open files: {left} of {limit} are left, and this takes {DESCRIPTORS_TO_JOIN}");
    Err(Error::Dds { what: "join the DDS domain".to_owned(), reason })
}

fn check_memory() -> Result<()> {
    use rustix::process::{Resource, getrlimit};
    let pages = |statm: String| statm.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    let taken = std::fs::read_to_string("/proc/self/statm").ok().and_then(pages);
    let (Some(limit), Some(pages)) = (getrlimit(Resource::As).current, taken) else { return Ok(()) };
    let left = limit.saturating_sub(pages * rustix::param::page_size() as u64);
    if left >= MEMORY_TO_JOIN {
        return Ok(());
    }
    let reason = format!(
        "{} MiB of address space are left, and this takes {} MiB; raise the limit with `ulimit -v`, or LimitAS= under \
         systemd",
        left >> 20,
        MEMORY_TO_JOIN >> 20
    );
    Err(Error::Dds { what: "join the DDS domain".to_owned(), reason })
}
