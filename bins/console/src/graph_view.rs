//! The graph as pages show it.

use std::collections::BTreeMap;

use rosless_graph::{
    Graph,
    graph::{Endpoint, Role},
};
use serde_json::{Value, json};

fn end(graph: &Graph, endpoint: &Endpoint) -> Value {
    let node = graph.node_of(&endpoint.gid).map_or_else(|| endpoint.gid.to_string(), |node| node.to_string());
    json!({"node": node, "qos": endpoint.qos.to_string(), "hash": endpoint.type_hash.as_deref()})
}

/// Everybody and everything; `own` is the console's own node.
pub(crate) fn snapshot(graph: &Graph, own: &str) -> Value {
    let nodes: Vec<_> = graph
        .nodes()
        .iter()
        .map(|node| {
            let name = node.to_string();
            let (mut publishes, mut subscribes, mut serves, mut calls) = (vec![], vec![], vec![], vec![]);
            for (role, _) in graph.endpoints_of(&name) {
                match role {
                    Role::Publisher(topic) => publishes.push(topic),
                    Role::Subscription(topic) => subscribes.push(topic),
                    Role::Server(service) => serves.push(service),
                    Role::Client(service) => calls.push(service),
                }
            }
            json!({"name": name, "publishes": publishes, "subscribes": subscribes, "serves": serves, "calls": calls})
        })
        .collect();
    let mut ends = BTreeMap::<String, (Vec<Value>, Vec<Value>)>::new();
    let mut servers = BTreeMap::<String, Vec<String>>::new();
    for endpoint in graph.endpoints() {
        match endpoint.role() {
            Some(Role::Publisher(topic)) => ends.entry(topic).or_default().0.push(end(graph, endpoint)),
            Some(Role::Subscription(topic)) => ends.entry(topic).or_default().1.push(end(graph, endpoint)),
            Some(Role::Server(service)) => {
                let node = graph.node_of(&endpoint.gid).map_or_else(String::new, |node| node.to_string());
                servers.entry(service).or_default().push(node);
            }
            _ => {}
        }
    }
    let topics: Vec<_> = graph
        .topics()
        .into_iter()
        .map(|(name, types)| {
            let (publishers, subscriptions) = ends.remove(&name).unwrap_or_default();
            json!({"name": name, "types": types, "publishers": publishers, "subscriptions": subscriptions})
        })
        .collect();
    let services: Vec<_> = graph
        .services()
        .into_iter()
        .map(|(name, types)| {
            let nodes = servers.remove(&name).unwrap_or_default();
            json!({"name": name, "types": types, "nodes": nodes})
        })
        .collect();
    let actions: Vec<_> =
        graph.actions().into_iter().map(|(name, types)| json!({"name": name, "types": types})).collect();
    json!({"op": "graph", "own": own, "nodes": nodes, "topics": topics, "services": services, "actions": actions})
}
