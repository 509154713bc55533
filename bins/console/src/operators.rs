//! One operator at a time for each machine.

use std::collections::BTreeMap;

use rosless_graph::Graph;
use rosless_web::ClientId;

/// Who operates what.
#[derive(Debug, Default)]
pub(crate) struct Operators(BTreeMap<String, ClientId>);

impl Operators {
    /// Lets `client` operate these systems if nobody else does, or if it takes over; else who does.
    pub(crate) fn claim(
        &mut self,
        systems: &[String],
        client: ClientId,
        take: bool,
    ) -> Result<bool, (String, ClientId)> {
        let other = systems.iter().find_map(|s| {
            self.0.get(s).filter(|holder| **holder != client).map(|holder| (s.clone(), *holder))
        });
        if let Some(other) = other.filter(|_| !take) {
            return Err(other);
        }
        let mut changed = false;
        for system in systems {
            changed |= self.0.insert(system.clone(), client) != Some(client);
        }
        Ok(changed)
    }

    /// It operates this no more, or nothing if no system is named; whether that changed anything.
    pub(crate) fn release(&mut self, client: ClientId, system: Option<&str>) -> bool {
        let before = self.0.len();
        self.0.retain(|name, holder| *holder != client || system.is_some_and(|system| system != name));
        before != self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, ClientId)> {
        self.0.iter().map(|(system, holder)| (system.as_str(), *holder))
    }
}

/// The machines that are more than one node, by the bare names of their nodes.
const MACHINES: [(&str, &[&str]); 4] = [
    ("mechanism", &["sequence_controller", "dummy_mechanism"]),
    ("motion", &["motion_primitive_controller"]),
    ("arm", &["arm_controller", "ball_initial_to_arm_target", "visualizer", "shooter_controller_simple"]),
    ("capture", &["mocap_controller", "device_controller", "mocap4r2_controller", "session_recorder"]),
];

/// Topics on which systems are started and stopped: whoever listens, it is one machine.
const CONTROL: [&str; 3] = ["mocap_control", "device_control", "mocap4r2_control"];

/// The machine that a node belongs to.
pub(crate) fn system_of_node(node: &str) -> String {
    let (namespace, name) = node.rsplit_once('/').unwrap_or(("", node));
    match MACHINES.iter().find(|(_, nodes)| nodes.contains(&name)) {
        Some((machine, _)) if namespace.is_empty() => (*machine).to_owned(),
        Some((machine, _)) => format!("{namespace}/{machine}"),
        None => node.to_owned(),
    }
}

/// The machines that hear what is published on a topic, ours left out.
pub(crate) fn systems_of_topic(graph: &Graph, own: &str, topic: &str) -> Vec<String> {
    if CONTROL.contains(&topic.rsplit('/').next().unwrap_or_default()) {
        return vec!["capture".to_owned()];
    }
    let nodes =
        graph.subscriptions(topic).into_iter().filter_map(|s| graph.node_of(&s.gid)).map(|n| n.to_string());
    let mut systems: Vec<_> = nodes.filter(|node| node != own).map(|node| system_of_node(&node)).collect();
    systems.sort();
    systems.dedup();
    systems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_operates_until_another_takes_over_or_it_leaves() {
        let mut operators = Operators::default();
        let (one, two) = (ClientId(1), ClientId(2));
        let systems = ["mechanism".to_owned(), "motion".to_owned()];
        assert_eq!(operators.claim(&systems, one, false), Ok(true));
        assert_eq!(operators.claim(&systems, one, false), Ok(false));
        assert_eq!(operators.claim(&systems[..1], two, false), Err(("mechanism".to_owned(), one)));
        assert_eq!(operators.claim(&systems[..1], two, true), Ok(true));
        assert_eq!(operators.claim(&systems, one, false), Err(("mechanism".to_owned(), two)));
        assert!(operators.release(two, None) && !operators.release(two, None));
        assert_eq!(operators.iter().collect::<Vec<_>>(), [("motion", one)]);
    }

    #[test]
    fn nodes_of_one_machine_are_one_machine() {
        for (node, system) in [
            ("/sequence_controller", "mechanism"),
            ("/dummy_mechanism", "mechanism"),
            ("/lab/arm_controller", "/lab/arm"),
            ("/talker", "/talker"),
        ] {
            assert_eq!(system_of_node(node), system);
        }
    }
}
