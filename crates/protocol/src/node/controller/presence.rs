//! Who is there, by the graph: systems that came, left, listen, or can be reached.

use std::collections::{BTreeMap, BTreeSet};

use rosless_graph::{Gid, GidPrefix, Graph, graph::EndpointKind, monotonic};

use super::ControllerNode;
use crate::{
    controller::{Input, Participant, System},
    dialect::Channel,
    name::SystemId,
};

/// Names in one sentence.
const MOST_NAMED: usize = 6;

impl<S: 'static> ControllerNode<S> {
    /// Whether nobody who announces, or listens to commands, can have been missed.
    pub fn all_heard(&self) -> bool {
        self.silent_announcers().is_empty() && self.reaches_everyone()
    }

    /// Publishers of announcements from which one is still to come. A system of others that is not configured has such a
    /// publisher, too, but nothing to announce, and says so.
    fn silent_announcers(&self) -> BTreeSet<Gid> {
        let graph = self.0.node.context().graph();
        let environments = self.0.environments.borrow();
        let mut publishers: BTreeSet<Gid> =
            environments.iter().flat_map(|gid| graph.matched(gid)).copied().collect();
        let mut announcers = self.0.announcers.borrow_mut();
        announcers.retain(|gid| publishers.contains(gid));
        publishers.retain(|gid| !announcers.contains(gid) && !graph.is_empty_writer(gid));
        publishers
    }

    /// Who has not been heard, in words for whoever wants to start or stop all.
    pub fn unheard(&self) -> String {
        let graph = self.0.node.context().graph();
        let process = |prefix: GidPrefix| {
            let nodes = graph.processes().filter(|(_, process)| *process == prefix).map(|(node, _)| node);
            let mut nodes: Vec<_> = nodes.collect();
            nodes.truncate(MOST_NAMED);
            let nodes = if nodes.is_empty() { "a process".to_owned() } else { nodes.join(", ") };
            format!("{nodes} ({}, participant {})", prefix.vendor(), Participant(prefix.0))
        };
        let silent = self.silent_announcers();
        let mut who: Vec<_> = graph
            .outstanding()
            .map(|prefix| format!("{} has not told all it has", process(prefix)))
            .collect();
        who.extend(silent.iter().map(|gid| {
            let node = graph.node_of(gid).map_or_else(|| process(gid.prefix()), |node| node.to_string());
            format!("{node} has announced nothing that can be read")
        }));
        let more = who.len().saturating_sub(MOST_NAMED);
        who.truncate(MOST_NAMED);
        if more > 0 {
            who.push(format!("{more} more"));
        }
        match who.is_empty() {
            true => "somebody who listens does not hear us yet".to_owned(),
            false => who.join("; "),
        }
    }

    /// Looks at the graph now; or, where that takes long and changes come one upon another, when ten times as long as it
    /// took has passed: a large graph is not to take all of our time.
    pub(super) fn look_soon(&self) {
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
    pub(super) fn forget(&self, system: &SystemId) {
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
