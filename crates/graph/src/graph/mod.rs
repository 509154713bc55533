//! Who is out there: nodes, topics, services and actions, put together from DDS discovery and `ros_discovery_info`.
//!
//! Pure bookkeeping. The event loop feeds it; everything else only looks.

mod endpoint;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet, VecDeque},
    hash::Hash,
    sync::Arc,
};

pub(crate) use endpoint::ros_name;
pub use endpoint::{Endpoint, EndpointKind, Role, UserData};

use crate::{
    Gid, GidPrefix, Qos, Vendor,
    discovery_info::{self, NodeEntities, ParticipantEntities},
};

/// Goodbyes that are remembered: a sample is overtaken by few.
const MAX_LEFT: usize = 64;
/// What one participant may say of its nodes, and all of them together, in bytes of memory: anybody can say anything.
const MAX_ENTITIES: usize = 1 << 20;
const MAX_ENTITIES_OF_ALL: usize = 16 << 20;

/// A node's full name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName {
    /// `/` or `/a/b`.
    pub namespace: String,
    /// Without its namespace.
    pub name: String,
}

impl std::fmt::Display for NodeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace.trim_end_matches('/'), self.name)
    }
}

/// What a participant announces of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Whose middleware it is.
    pub vendor: Vendor,
    /// The enclave it says it is in, as ROS does with and without DDS Security.
    pub enclave: Option<String>,
    /// It wants to be authenticated. Never known without the feature `security`.
    pub is_secured: bool,
}

impl From<Vendor> for Peer {
    fn from(vendor: Vendor) -> Self {
        Self { vendor, enclave: None, is_secured: false }
    }
}

/// What many endpoints say takes memory once.
fn share<T: ?Sized + Eq + Hash>(known: &mut HashSet<Arc<T>>, said: &mut Arc<T>, most: usize) {
    // Anybody can invent types; those that no endpoint has any more are forgotten.
    if known.len() > most {
        known.retain(|shared| Arc::strong_count(shared) > 1);
    }
    match known.get(said) {
        Some(shared) => *said = Arc::clone(shared),
        None => drop(known.insert(Arc::clone(said))),
    }
}

/// The graph as this participant knows it. A snapshot: ask the context again for a newer one.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Everyone discovery has found, whether or not more is known of them.
    participants: BTreeMap<GidPrefix, Peer>,
    /// Those who said goodbye lately.
    left: VecDeque<GidPrefix>,
    /// Those all of whose endpoints have been found.
    complete: BTreeSet<GidPrefix>,
    /// What the participants said of themselves.
    nodes: BTreeMap<GidPrefix, Vec<NodeEntities>>,
    /// How much memory that takes.
    entities_size: usize,
    endpoints: BTreeMap<Gid, Arc<Endpoint>>,
    /// Names of types, and their hashes: every node has endpoints of the same few.
    types: HashSet<Arc<str>>,
    /// What they offer or request: likewise.
    qualities: HashSet<Arc<Qos>>,
    /// Local endpoint to the endpoints it exchanges samples with.
    matches: BTreeMap<Gid, BTreeSet<Gid>>,
    /// Matched writers that had no history to give.
    empty: BTreeSet<Gid>,
    generation: u64,
}

impl Graph {
    /// Whose middleware an endpoint is of. With DDS Security a gid does not tell, its participant's announcement does.
    pub fn vendor(&self, gid: &Gid) -> Vendor {
        self.participants.get(&gid.prefix()).map_or_else(|| gid.vendor(), |peer| peer.vendor)
    }

    /// Everyone discovery has found.
    pub fn peers(&self) -> impl Iterator<Item = (GidPrefix, &Peer)> {
        self.participants.iter().map(|(prefix, peer)| (*prefix, peer))
    }

    /// Grows with every change; equal numbers mean equal graphs.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// All nodes, sorted. Two nodes with the same name appear twice, as in `ros2 node list`.
    pub fn nodes(&self) -> Vec<NodeName> {
        let mut nodes: Vec<_> = self.nodes.values().flatten().map(NodeEntities::full_name).collect();
        nodes.sort();
        nodes
    }

    /// Whether a node of this full name is there.
    pub fn has_node(&self, full_name: &str) -> bool {
        self.nodes.values().flatten().any(|node| node.full_name().to_string() == full_name)
    }

    /// The full name of every node that has something on the wire, with the process it lives in.
    pub fn processes(&self) -> impl Iterator<Item = (String, GidPrefix)> {
        let nodes = self.nodes.iter().flat_map(|(process, nodes)| nodes.iter().map(|node| (node, *process)));
        let present = |node: &NodeEntities| {
            node.readers.iter().chain(&node.writers).any(|gid| self.endpoints.contains_key(gid))
        };
        nodes
            .filter(move |(node, _)| present(node))
            .map(|(node, process)| (node.full_name().to_string(), process))
    }

    /// The node that owns an endpoint, once its participant has said so.
    pub fn node_of(&self, gid: &Gid) -> Option<NodeName> {
        let nodes = self.nodes.get(&gid.prefix())?;
        let owner = nodes.iter().find(|node| node.readers.contains(gid) || node.writers.contains(gid))?;
        Some(owner.full_name())
    }

    /// All endpoints, ours too.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.values().map(AsRef::as_ref)
    }

    /// One endpoint.
    pub fn endpoint(&self, gid: &Gid) -> Option<&Endpoint> {
        self.endpoints.get(gid).map(AsRef::as_ref)
    }

    /// The endpoints of one node with what they are.
    pub fn endpoints_of(&self, full_name: &str) -> Vec<(Role, &Endpoint)> {
        let mut found: Vec<_> = self
            .nodes
            .values()
            .flatten()
            .filter(|node| node.full_name().to_string() == full_name)
            .flat_map(|node| node.readers.iter().chain(&node.writers))
            .filter_map(|gid| self.endpoint(gid))
            .filter_map(|endpoint| Some((endpoint.role()?, endpoint)))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    /// Topic names with the types seen on each.
    pub fn topics(&self) -> BTreeMap<String, BTreeSet<String>> {
        self.named(|role| match role {
            Role::Publisher(name) | Role::Subscription(name) => Some(name),
            _ => None,
        })
    }

    /// Service names that have a server, with their types (`std_srvs/srv/Trigger`).
    pub fn services(&self) -> BTreeMap<String, BTreeSet<String>> {
        let without_suffix = |types: BTreeSet<String>| {
            types.into_iter().map(|t| t.strip_suffix("_Request").unwrap_or(&t).to_owned()).collect()
        };
        let services = self.named(|role| match role {
            Role::Server(name) => Some(name),
            _ => None,
        });
        services.into_iter().map(|(name, types)| (name, without_suffix(types))).collect()
    }

    /// Action names that have a server, with their types (`control_msgs/action/FollowJointTrajectory`).
    pub fn actions(&self) -> BTreeMap<String, BTreeSet<String>> {
        self.services()
            .into_iter()
            .filter_map(|(name, types)| {
                let action = name.strip_suffix("/_action/send_goal")?.to_owned();
                let types =
                    types.iter().filter_map(|t| t.strip_suffix("_SendGoal")).map(str::to_owned).collect();
                Some((action, types))
            })
            .collect()
    }

    fn named(&self, pick: impl Fn(Role) -> Option<String>) -> BTreeMap<String, BTreeSet<String>> {
        let mut named = BTreeMap::<_, BTreeSet<_>>::new();
        for endpoint in self.endpoints.values() {
            if let Some(name) = endpoint.role().and_then(&pick) {
                named.entry(name).or_default().insert(endpoint.type_name());
            }
        }
        named
    }

    /// Publishers of a ROS topic.
    pub fn publishers(&self, topic: &str) -> Vec<&Endpoint> {
        self.on_topic(topic, EndpointKind::Writer)
    }

    /// Subscriptions to a ROS topic.
    pub fn subscriptions(&self, topic: &str) -> Vec<&Endpoint> {
        self.on_topic(topic, EndpointKind::Reader)
    }

    fn on_topic(&self, topic: &str, kind: EndpointKind) -> Vec<&Endpoint> {
        // Names are compared as DDS has them: taking each apart costs a recorder a fifth of a core.
        let Ok(dds_topic) = rosless_wire::names::topic_to_dds(topic) else { return Vec::new() };
        self.endpoints().filter(|it| it.kind == kind && *it.dds_topic == *dds_topic).collect()
    }

    /// The endpoints a local endpoint exchanges samples with.
    pub fn matched(&self, local: &Gid) -> impl Iterator<Item = &Gid> {
        self.matches.get(local).into_iter().flatten()
    }

    /// Whether samples go from one to the other.
    pub fn is_matched(&self, local: &Gid, remote: &Gid) -> bool {
        self.matches.get(local).is_some_and(|remotes| remotes.contains(remote))
    }

    /// Whether a matched writer has said that it had written nothing that late joiners get.
    pub fn is_empty_writer(&self, remote: &Gid) -> bool {
        self.empty.contains(remote)
    }

    /// Participants that discovery has found and that have not told all they have: their endpoints are outstanding, or
    /// what they say of their nodes. Those that are not of ROS have no nodes to tell of.
    pub fn outstanding(&self) -> impl Iterator<Item = GidPrefix> {
        self.participants.keys().copied().filter(|prefix| match self.nodes.get(prefix) {
            Some(nodes) => {
                let mut all = nodes.iter().flat_map(|node| node.readers.iter().chain(&node.writers));
                !all.all(|gid| self.endpoints.contains_key(gid))
            }
            None => !self.complete.contains(prefix) || self.tells_of_nodes(prefix),
        })
    }

    fn tells_of_nodes(&self, prefix: &GidPrefix) -> bool {
        let (first, last) = (Gid::first_of(*prefix), Gid::last_of(*prefix));
        self.endpoints.range(first..=last).any(|(_, endpoint)| {
            endpoint.kind == EndpointKind::Writer && *endpoint.dds_topic == *discovery_info::TOPIC
        })
    }

    /// Whether nothing is [`outstanding`](Self::outstanding).
    pub fn is_settled(&self) -> bool {
        self.outstanding().next().is_none()
    }

    /// Whether a local writer is matched with every reader there is for it, and more are not to be expected.
    pub fn reaches_everyone(&self, local: &Gid) -> bool {
        self.is_settled()
            && self.endpoint(local).is_some_and(|writer| {
                self.endpoints()
                    .filter(|reader| writer.feeds(reader))
                    .all(|reader| self.is_matched(local, &reader.gid))
            })
    }

    /// A participant was discovered.
    pub fn add_participant(&mut self, prefix: GidPrefix, peer: impl Into<Peer>) {
        let peer = peer.into();
        self.left.retain(|left| *left != prefix);
        if self.participants.get(&prefix) != Some(&peer) {
            self.participants.insert(prefix, peer);
            self.generation += 1;
        }
    }

    /// The participant has said goodbye: what it said of its nodes before and comes to us only now is not believed.
    pub fn said_goodbye(&mut self, prefix: GidPrefix) {
        self.left.push_back(prefix);
        if self.left.len() > MAX_LEFT {
            self.left.pop_front();
        }
    }

    /// All endpoints that the participant had when it was found are known.
    pub fn endpoints_complete(&mut self, prefix: GidPrefix) {
        if self.complete.insert(prefix) {
            self.generation += 1;
        }
    }

    /// A participant said which nodes it has. `from` is the writer that said it: nobody speaks for another.
    pub fn set_entities(&mut self, from: &Gid, entities: ParticipantEntities) {
        let prefix = entities.participant.prefix();
        let known = self.nodes.get(&prefix) == Some(&entities.nodes) || self.left.contains(&prefix);
        if from.prefix() != prefix || known {
            return;
        }
        let size = |nodes: &[NodeEntities]| nodes.iter().map(NodeEntities::size).sum::<usize>();
        let before = self.nodes.get(&prefix).map_or(0, |nodes| size(nodes));
        let now = size(&entities.nodes);
        if now > MAX_ENTITIES || self.entities_size - before + now > MAX_ENTITIES_OF_ALL {
            log::warn!("participant {from} has more nodes than there is room for: they stay unknown");
            return;
        }
        self.entities_size = self.entities_size - before + now;
        self.nodes.insert(prefix, entities.nodes);
        self.generation += 1;
    }

    /// An endpoint was discovered, or made.
    pub fn add_endpoint(&mut self, mut endpoint: Endpoint) {
        if self.endpoint(&endpoint.gid) != Some(&endpoint) {
            // More than all of them say, so that tidying up finds something.
            let most = 4 * self.endpoints.len() + 64;
            let texts = [Some(&mut endpoint.dds_type), endpoint.type_hash.as_mut(), endpoint.part.as_mut()];
            texts.into_iter().flatten().for_each(|text| share(&mut self.types, text, most));
            share(&mut self.qualities, &mut endpoint.qos, most);
            self.endpoints.insert(endpoint.gid, Arc::new(endpoint));
            self.generation += 1;
        }
    }

    /// A matched writer has no history.
    pub fn add_empty_writer(&mut self, remote: Gid) {
        if self.empty.insert(remote) {
            self.generation += 1;
        }
    }

    /// An endpoint is gone.
    pub fn remove_endpoint(&mut self, gid: &Gid) {
        self.empty.remove(gid);
        let known = self.endpoints.remove(gid).is_some();
        let was_local = self.matches.remove(gid).is_some();
        let unmatched =
            self.matches.values_mut().filter_map(|remotes| remotes.remove(gid).then_some(())).count();
        if known || was_local || unmatched > 0 {
            self.generation += 1;
        }
    }

    /// A participant left: its nodes and endpoints go with it.
    pub fn remove_participant(&mut self, prefix: GidPrefix) {
        self.complete.remove(&prefix);
        self.empty.retain(|gid| gid.prefix() != prefix);
        let nodes = self.nodes.remove(&prefix);
        self.entities_size -= nodes.iter().flatten().map(NodeEntities::size).sum::<usize>();
        let mut changed = self.participants.remove(&prefix).is_some() | nodes.is_some();
        let mut stays = |gid: &Gid| {
            let stays = gid.prefix() != prefix;
            changed |= !stays;
            stays
        };
        self.endpoints.retain(|gid, _| stays(gid));
        self.matches.values_mut().for_each(|remotes| remotes.retain(&mut stays));
        if changed {
            self.generation += 1;
        }
    }

    /// Two endpoints have found each other.
    pub fn add_match(&mut self, local: Gid, remote: Gid) {
        if self.matches.entry(local).or_default().insert(remote) {
            self.generation += 1;
        }
    }

    /// Adds the matches that local endpoints must have by topic, type and quality of service, after events may have been
    /// missed.
    pub fn infer_matches(&mut self, local: GidPrefix) {
        let mut by_topic = BTreeMap::<&str, Vec<&Endpoint>>::new();
        for endpoint in self.endpoints().filter(|endpoint| endpoint.gid.prefix() == local) {
            by_topic.entry(&endpoint.dds_topic).or_default().push(endpoint);
        }
        let mut found = Vec::new();
        for remote in self.endpoints() {
            for ours in by_topic.get(&*remote.dds_topic).into_iter().flatten() {
                if ours.feeds(remote) || remote.feeds(ours) {
                    found.push((ours.gid, remote.gid));
                }
            }
        }
        found.into_iter().for_each(|(ours, remote)| self.add_match(ours, remote));
    }

    /// Forgets remote endpoints that discovery no longer knows, after events may have been missed.
    pub fn retain_endpoints(&mut self, keep: impl Fn(&Gid) -> bool) {
        let gone: Vec<_> = self.endpoints.keys().filter(|gid| !keep(gid)).copied().collect();
        gone.iter().for_each(|gid| self.remove_endpoint(gid));
    }
}

impl NodeEntities {
    fn size(&self) -> usize {
        let gids = self.readers.len() + self.writers.len();
        size_of::<Self>() + self.namespace.len() + self.name.len() + gids * size_of::<Gid>()
    }

    /// Namespace and name.
    pub fn full_name(&self) -> NodeName {
        NodeName { namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Qos, gid::example as gid};

    #[test]
    fn what_comes_after_a_goodbye_was_said_before_it() {
        let mut graph = Graph::default();
        let writer = gid(1, 3);
        let said = || ParticipantEntities { participant: writer, nodes: vec![node("late", &[], &[])] };
        graph.add_participant(writer.prefix(), writer.vendor());
        graph.remove_participant(writer.prefix());
        graph.said_goodbye(writer.prefix());
        graph.set_entities(&writer, said());
        assert!(!graph.has_node("/ns/late"));
        graph.add_participant(writer.prefix(), writer.vendor());
        graph.set_entities(&writer, said());
        assert!(graph.has_node("/ns/late"));
    }

    fn endpoint(gid: Gid, kind: EndpointKind, topic: &str, dds_type: &str) -> Endpoint {
        Endpoint {
            gid,
            kind,
            dds_topic: topic.into(),
            dds_type: dds_type.into(),
            type_hash: None,
            qos: Qos::default().into(),
            service_tag: None,
            part: None,
        }
    }

    fn node(name: &str, readers: &[Gid], writers: &[Gid]) -> NodeEntities {
        NodeEntities {
            namespace: "/ns".into(),
            name: name.into(),
            readers: readers.to_vec(),
            writers: writers.to_vec(),
        }
    }

    #[test]
    fn who_claims_to_have_endless_nodes_is_not_believed() {
        let mut graph = Graph::default();
        let claim = |participant: u8, nodes: usize| ParticipantEntities {
            participant: gid(participant, 0xc1),
            nodes: (0..nodes).map(|number| node(&number.to_string(), &[], &[])).collect(),
        };
        graph.set_entities(&gid(1, 1), claim(1, 100_000));
        assert_eq!(graph.nodes(), []);
        // Each of them within its own limit.
        (1..=100).for_each(|participant| graph.set_entities(&gid(participant, 1), claim(participant, 5000)));
        let many = graph.nodes().len();
        assert!((50_000..200_000).contains(&many), "{many}");
        // Whoever goes makes room, and who says less does.
        graph.set_entities(&gid(101, 1), claim(101, 5000));
        assert_eq!(graph.nodes().len(), many);
        graph.remove_participant(gid(1, 1).prefix());
        graph.set_entities(&gid(2, 1), claim(2, 1));
        graph.set_entities(&gid(101, 1), claim(101, 5000));
        assert_eq!(graph.nodes().len(), many - 5000 + 1);
        (1..=101).for_each(|participant| graph.remove_participant(gid(participant, 1).prefix()));
        assert_eq!(graph.entities_size, 0);
    }

    fn busy_graph() -> Graph {
        let mut graph = Graph::default();
        use EndpointKind::{Reader, Writer};
        graph.add_endpoint(endpoint(gid(1, 1), Writer, "rt/chatter", "std_msgs::msg::dds_::String_"));
        graph.add_endpoint(endpoint(gid(2, 1), Reader, "rt/chatter", "std_msgs::msg::dds_::String_"));
        graph.add_endpoint(endpoint(gid(1, 2), Reader, "rq/ns/addRequest", "pkg::srv::dds_::Add_Request_"));
        graph.add_endpoint(endpoint(gid(1, 3), Writer, "rr/ns/addReply", "pkg::srv::dds_::Add_Response_"));
        graph.add_endpoint(endpoint(
            gid(1, 4),
            Reader,
            "rq/move/_action/send_goalRequest",
            "pkg::action::dds_::Move_SendGoal_Request_",
        ));
        graph.add_endpoint(endpoint(gid(2, 9), Writer, "plain_dds_topic", "Anything"));
        graph.set_entities(
            &gid(1, 0),
            ParticipantEntities {
                participant: gid(1, 0xc1),
                nodes: vec![node("talker", &[gid(1, 2), gid(1, 4)], &[gid(1, 1), gid(1, 3)])],
            },
        );
        graph
    }

    #[test]
    fn names_and_types_are_shown_as_ros_shows_them() {
        let graph = busy_graph();
        let set = |text: &str| BTreeSet::from([text.to_owned()]);
        assert_eq!(graph.topics(), BTreeMap::from([("/chatter".into(), set("std_msgs/msg/String"))]));
        assert_eq!(graph.services()["/ns/add"], set("pkg/srv/Add"));
        assert_eq!(graph.actions(), BTreeMap::from([("/move".into(), set("pkg/action/Move"))]));
        assert_eq!(graph.nodes()[0].to_string(), "/ns/talker");
        assert_eq!(graph.node_of(&gid(1, 1)).unwrap().name, "talker");
        assert_eq!(graph.node_of(&gid(2, 1)), None);
        let roles: Vec<_> = graph.endpoints_of("/ns/talker").into_iter().map(|(role, _)| role).collect();
        assert_eq!(
            roles,
            [
                Role::Publisher("/chatter".into()),
                Role::Server("/move/_action/send_goal".into()),
                Role::Server("/ns/add".into())
            ]
        );
    }

    #[test]
    fn nobody_speaks_for_another_participant() {
        let mut graph = busy_graph();
        graph.set_entities(&gid(2, 0), ParticipantEntities { participant: gid(1, 0xc1), nodes: vec![] });
        assert!(graph.has_node("/ns/talker"));
    }

    #[test]
    fn a_leaving_participant_takes_everything_along() {
        let mut graph = busy_graph();
        graph.add_match(gid(2, 1), gid(1, 1));
        graph.remove_participant(gid(1, 0).prefix());
        assert!(graph.nodes().is_empty());
        assert!(graph.publishers("/chatter").is_empty());
        assert_eq!(graph.subscriptions("/chatter").len(), 1);
        assert_eq!(graph.matched(&gid(2, 1)).count(), 0);
    }

    #[test]
    fn matches_follow_from_topic_type_and_quality() {
        use EndpointKind::{Reader, Writer};
        let text = "std_msgs::msg::dds_::String_";
        let mut graph = Graph::default();
        graph.add_endpoint(endpoint(gid(1, 1), Reader, "rt/chatter", text));
        graph.add_endpoint(endpoint(gid(2, 1), Writer, "rt/chatter", text));
        graph.add_endpoint(endpoint(gid(2, 2), Writer, "rt/chatter", "std_msgs::msg::dds_::Bool_"));
        graph.add_endpoint(endpoint(gid(2, 3), Reader, "rt/chatter", text));
        graph.add_endpoint(endpoint(gid(2, 4), Writer, "rt/other", text));
        let best_effort = Arc::new(Qos::default().best_effort());
        graph.add_endpoint(Endpoint { qos: best_effort, ..endpoint(gid(2, 5), Writer, "rt/chatter", text) });
        graph.infer_matches(gid(1, 0).prefix());
        assert_eq!(graph.matched(&gid(1, 1)).collect::<Vec<_>>(), [&gid(2, 1)]);
        assert_eq!(graph.matched(&gid(2, 1)).count(), 0, "only ours are kept");
    }

    #[test]
    fn a_writer_reaches_everyone_when_nobody_is_half_known() {
        use EndpointKind::{Reader, Writer};
        let text = "std_msgs::msg::dds_::String_";
        let mut graph = Graph::default();
        let (ours, theirs) = (gid(1, 1), gid(2, 1));
        graph.add_endpoint(endpoint(ours, Writer, "rt/chatter", text));
        assert!(graph.reaches_everyone(&ours), "nobody is there");
        graph.add_participant(theirs.prefix(), theirs.vendor());
        assert!(!graph.reaches_everyone(&ours), "somebody is there and has said nothing");
        let says = |readers: &[Gid]| ParticipantEntities {
            participant: gid(2, 0xc1),
            nodes: vec![node("listener", readers, &[])],
        };
        graph.set_entities(&gid(2, 0), says(&[theirs, gid(2, 2)]));
        graph.add_endpoint(endpoint(theirs, Reader, "rt/chatter", text));
        graph.add_match(ours, theirs);
        assert!(!graph.reaches_everyone(&ours), "one of the endpoints is not known yet");
        graph.add_endpoint(endpoint(gid(2, 2), Reader, "rt/chatter", text));
        assert!(!graph.reaches_everyone(&ours), "one of the readers is not matched yet");
        graph.add_match(ours, gid(2, 2));
        assert!(graph.reaches_everyone(&ours));
        graph.add_endpoint(endpoint(gid(2, 3), Reader, "rt/chatter", "std_msgs::msg::dds_::Bool_"));
        assert!(graph.reaches_everyone(&ours), "another type is nothing to wait for");
        graph.set_entities(&gid(2, 0), ParticipantEntities { participant: gid(2, 0xc1), nodes: vec![] });
        assert!(graph.is_settled(), "a participant without nodes has said so");
    }

    #[test]
    fn what_discovery_says_must_come_is_outstanding() {
        use EndpointKind::Writer;
        let mut graph = Graph::default();
        let (plain, ros) = (gid(1, 1).prefix(), gid(2, 1).prefix());
        graph.add_participant(plain, Vendor::Cyclone);
        graph.add_participant(ros, Vendor::Cyclone);
        assert_eq!(graph.outstanding().collect::<Vec<_>>(), [plain, ros]);
        graph.endpoints_complete(plain);
        assert_eq!(
            graph.outstanding().collect::<Vec<_>>(),
            [ros],
            "who has no nodes to tell of has told all"
        );
        let topic = discovery_info::TOPIC;
        graph.add_endpoint(endpoint(gid(2, 9), Writer, topic, discovery_info::TYPE));
        graph.endpoints_complete(ros);
        assert_eq!(graph.outstanding().collect::<Vec<_>>(), [ros], "its nodes are still to come");
        graph.set_entities(&gid(2, 9), ParticipantEntities { participant: gid(2, 0xc1), nodes: vec![] });
        assert!(graph.is_settled());
        graph.remove_participant(ros);
        graph.add_participant(ros, Vendor::Cyclone);
        assert!(!graph.is_settled(), "who comes back tells anew");
    }

    #[derive(Clone, Debug)]
    enum Step {
        Add(u8, u8),
        Remove(u8, u8),
        Leave(u8),
        Match(u8, u8),
    }

    proptest! {
        /// Whatever the order of events, matches never point at endpoints of a participant that left after them.
        #[test]
        fn no_ghosts(steps in prop::collection::vec(
            prop_oneof![
                (0u8..4, 0u8..4).prop_map(|(p, e)| Step::Add(p, e)),
                (0u8..4, 0u8..4).prop_map(|(p, e)| Step::Remove(p, e)),
                (0u8..4).prop_map(Step::Leave),
                (1u8..4, 0u8..4).prop_map(|(p, e)| Step::Match(p, e)),
            ], 0..60)) {
            let mut graph = Graph::default();
            let mut alive = BTreeSet::new();
            let mut matched = BTreeSet::new();
            for step in steps {
                let before = (graph.endpoints.clone(), graph.matches.clone(), graph.generation);
                match step {
                    Step::Add(p, e) => {
                        graph.add_endpoint(endpoint(gid(p, e), EndpointKind::Writer, "rt/x", "t"));
                        alive.insert(gid(p, e));
                    }
                    Step::Remove(p, e) => {
                        graph.remove_endpoint(&gid(p, e));
                        alive.remove(&gid(p, e));
                        matched.remove(&gid(p, e));
                    }
                    Step::Leave(p) => {
                        graph.remove_participant(gid(p, 0).prefix());
                        alive.retain(|gid| gid.prefix() != Gid([p; 16]).prefix());
                        matched.retain(|gid: &Gid| gid.prefix() != Gid([p; 16]).prefix());
                    }
                    Step::Match(p, e) => {
                        graph.add_match(gid(200, 1), gid(p, e));
                        matched.insert(gid(p, e));
                    }
                }
                prop_assert_eq!(graph.endpoints.keys().copied().collect::<BTreeSet<_>>(), alive.clone());
                prop_assert_eq!(graph.matched(&gid(200, 1)).copied().collect::<BTreeSet<_>>(), matched.clone());
                if before.2 == graph.generation {
                    prop_assert_eq!(before.0, graph.endpoints.clone());
                }
            }
        }
    }
}
