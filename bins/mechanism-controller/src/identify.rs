//! Who publishes the sensors: the name of the node, and whether it is a stand-in.

use std::{collections::BTreeMap, time::Duration};

use rosless_graph::{Gid, Graph};
use rosless_mechanism::{
    Time,
    sources::{Kind, STAND_IN_NODE, Source},
};

/// A publisher whose node is not found by then has none, as one of plain DDS.
const FIND_NODE: Duration = Duration::from_secs(2);
/// A node that has offered no parameters by then offers none.
const FIND_PARAMETERS: Duration = Duration::from_millis(500);
/// A node that does not answer by then says nothing of itself.
pub(crate) const ANSWER: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Entry {
    name: String,
    kind: Kind,
    first_seen: Time,
    asked: bool,
}

/// The publishers whose samples came.
#[derive(Debug, Default)]
pub(crate) struct Publishers(BTreeMap<Gid, Entry>);

impl Publishers {
    /// Who it is, as far as that is known; and its node, if it must be asked whether it is a stand-in.
    pub(crate) fn identify(&mut self, gid: Gid, graph: &Graph, now: Time) -> (Source, Option<String>) {
        let entry = self.0.entry(gid).or_insert_with(|| Entry {
            name: gid.to_string(),
            kind: Kind::Unknown,
            first_seen: now,
            asked: false,
        });
        let waited = now.saturating_sub(entry.first_seen);
        let mut ask = None;
        if entry.kind == Kind::Unknown && !entry.asked {
            match graph.node_of(&gid) {
                Some(node) if node.name == STAND_IN_NODE => {
                    (entry.name, entry.kind) = (node.to_string(), Kind::StandIn);
                }
                Some(node) => {
                    entry.name = node.to_string();
                    let offers = graph.services().contains_key(&format!("{}/get_parameters", entry.name));
                    if offers {
                        entry.asked = true;
                        ask = Some(entry.name.clone());
                    } else if waited > FIND_PARAMETERS {
                        entry.kind = Kind::Hardware;
                    }
                }
                None if waited > FIND_NODE => {
                    (entry.name, entry.kind) = (format!("publisher {gid}"), Kind::Hardware);
                }
                None => {}
            }
        }
        (Source { id: gid.0, name: entry.name.clone(), kind: entry.kind }, ask)
    }

    /// Its node has answered, or has not.
    pub(crate) fn answered(&mut self, gid: Gid, stand_in: bool) {
        if let Some(entry) = self.0.get_mut(&gid) {
            entry.kind = if stand_in { Kind::StandIn } else { Kind::Hardware };
        }
    }

    /// Forgets those that have left.
    pub(crate) fn retain(&mut self, graph: &Graph) {
        self.0.retain(|gid, _| graph.endpoint(gid).is_some());
    }
}
