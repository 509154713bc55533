//! What discovery brings, moved into the graph.

use std::{collections::BTreeSet, time::Duration};

use rustdds::{
    DomainParticipantStatusEvent as Event, EndpointDescription, LostReason, QosPolicies, StatusEvented,
};

use super::{Context, ContextInner};
use crate::{
    Gid, GidPrefix, Qos,
    config::DiscoveryRange,
    discovery_info::{self, GidSize, SpokenSizes},
    graph::{Endpoint, EndpointKind, Peer, UserData},
    monotonic,
    network::InterfaceWatch,
    qos::{Durability, policy_name},
    raw::RawReader,
};

/// RustDDS queues 2048 events and drops what does not fit.
const EVENT_QUEUE_DANGER: usize = 2000;
/// More participants than this are not expected back.
const MAX_SILENT: usize = 1000;
/// Participants answer a newcomer's announcement within this time, unless their host is very busy.
const FIRST_ANSWERS: Duration = Duration::from_millis(400);
/// Whatever changes the graph may bring more of it.
const CALM: Duration = Duration::from_millis(150);

/// Knows when the graph is complete: everybody had the time to answer our arrival, everything has come that discovery
/// says must come, and it has been calm for a moment.
#[derive(Debug)]
pub struct Completeness {
    context: Context,
    /// Generation of the graph, and since when it is that.
    last_change: (u64, Duration),
}

impl Completeness {
    /// Whether everybody has been heard; to be asked again and again.
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
    /// What the publishing side offers.
    pub offered: Qos,
    /// What the subscribing side asks for.
    pub requested: Qos,
}

impl Context {
    /// To be asked, again and again, whether everybody who is there has been heard.
    pub fn completeness(&self) -> Completeness {
        Completeness { context: self.clone(), last_change: (self.graph().generation(), monotonic()) }
    }
}

impl ContextInner {
    pub(super) fn gid_size(&self) -> GidSize {
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
        loop {
            match reader.take() {
                Ok(None) => return,
                Ok(Some(sample)) => match discovery_info::decode_with_size(&sample.payload()) {
                    Some((entities, size)) => {
                        let publisher = &sample.info.publisher;
                        let vendor = self.graph.borrow().vendor(publisher);
                        self.learn_gid_size(|sizes| sizes.heard(publisher, vendor, size));
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

    /// Moves what discovery found into the graph, and endpoints that do not fit ours into `incompatible`.
    pub(crate) fn take_discovery_events(&self) {
        let mut taken = 0;
        while let Some(event) = self.dds.listener.try_recv_status() {
            taken += 1;
            self.handle_discovery_event(event);
        }
        if taken >= EVENT_QUEUE_DANGER {
            self.resynchronize();
        }
    }

    fn handle_discovery_event(&self, event: Event) {
        match event {
            Event::ReaderDetected { reader } => self.detected(reader, EndpointKind::Reader),
            Event::WriterDetected { writer } => self.detected(writer, EndpointKind::Writer),
            Event::ReaderLost { guid, .. } | Event::WriterLost { guid, .. } => {
                self.complaints.borrow_mut().retain(|(_, remote)| *remote != guid.into());
                self.change_graph(|graph| graph.remove_endpoint(&guid.into()));
            }
            Event::ParticipantDiscovered { dpd } => {
                let peer = Peer {
                    vendor: dpd.vendor_id.as_bytes().into(),
                    enclave: UserData::parse(&dpd.user_data).enclave,
                    #[cfg(feature = "security")]
                    is_secured: dpd.supports_security,
                    #[cfg(not(feature = "security"))]
                    is_secured: false,
                };
                self.change_graph(|graph| graph.add_participant(Gid::from(dpd.guid).prefix(), peer));
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
                    self.change_graph(|graph| graph.said_goodbye(GidPrefix(prefix)));
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
            } => {
                let problem = self.problem(local.into(), remote.into(), &offered_qos, &requested_qos);
                self.incompatible.borrow_mut().extend(problem);
            }
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

    fn problem(
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
            EndpointKind::Writer => (*ours.qos, Qos::from_policies(EndpointKind::Reader, requested)),
            EndpointKind::Reader => (Qos::from_policies(EndpointKind::Writer, offered), *ours.qos),
        };
        // Whoever listens twice, to publishers that keep old samples and to those that do not, hears this one anyway.
        let listens_anyway = |other: &Endpoint| {
            let same = other.kind == ours.kind && other.ros_name() == ours.ros_name();
            let own = other.gid != ours.gid && other.gid.prefix() == ours.gid.prefix();
            same && own && other.qos.durability == Durability::Volatile
        };
        let policy = offered.compliance_failure_wrt(requested).map_or("unknown", policy_name);
        if ours.kind == EndpointKind::Reader
            && policy == "DURABILITY"
            && graph.endpoints().any(listens_anyway)
        {
            return None;
        }
        Some(IncompatibleQos {
            topic: ours.ros_name(),
            policy,
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
        let UserData { type_hash, service_tag, part, .. } = UserData::parse(&found.user_data);
        let endpoint = Endpoint {
            gid: found.guid.into(),
            kind,
            dds_topic: found.topic_name.into(),
            dds_type: found.type_name.into(),
            type_hash: type_hash.map(Into::into),
            qos: Qos::from_policies(kind, &found.qos).into(),
            service_tag,
            part: part.map(Into::into),
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
