//! Checks of the graph: who is there, and which endpoints do not fit together.

use std::collections::{BTreeMap, BTreeSet};

use rosless_graph::{
    GidPrefix, Graph, Vendor,
    graph::{Endpoint, EndpointKind},
    qos::incompatibility,
};

use crate::Finding;

pub(crate) fn participants(graph: &Graph, own: GidPrefix) -> Vec<Finding> {
    let mut others = BTreeMap::<GidPrefix, Vendor>::new();
    for endpoint in graph.endpoints().filter(|endpoint| endpoint.gid.prefix() != own) {
        others.insert(endpoint.gid.prefix(), graph.vendor(&endpoint.gid));
    }
    if others.is_empty() {
        let remedy = "fine if nothing runs; else compare ROS_DOMAIN_ID, ROS_AUTOMATIC_DISCOVERY_RANGE and the firewalls";
        return vec![Finding::warn("participants", "nobody else is on this domain", remedy)];
    }
    let mut vendors = BTreeMap::<Vendor, usize>::new();
    others.values().for_each(|vendor| *vendors.entry(*vendor).or_default() += 1);
    let list: Vec<_> = vendors.iter().map(|(vendor, count)| format!("{count} {vendor}")).collect();
    vec![Finding::ok("participants", format!("{} others: {}", others.len(), list.join(", ")))]
}

pub(crate) fn names(graph: &Graph) -> Vec<Finding> {
    let nodes: Vec<_> = graph.nodes().iter().map(ToString::to_string).collect();
    let doubles: BTreeSet<_> =
        nodes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    match doubles.is_empty() {
        true => vec![Finding::ok("nodes", format!("{} nodes, no name twice", nodes.len().saturating_sub(1)))],
        false => doubles
            .into_iter()
            .map(|node| {
                let remedy = "start one of them with `--ros-args -r __node:=other_name`";
                Finding::fail("nodes", format!("{node} is there more than once"), remedy)
            })
            .collect(),
    }
}

/// Endpoints by DDS topic.
fn by_topic(graph: &Graph) -> BTreeMap<&str, Vec<&Endpoint>> {
    let mut topics = BTreeMap::<_, Vec<_>>::new();
    for endpoint in graph.endpoints() {
        topics.entry(&*endpoint.dds_topic).or_default().push(endpoint);
    }
    topics
}

fn owner(graph: &Graph, endpoint: &Endpoint) -> String {
    graph.node_of(&endpoint.gid).map_or_else(|| endpoint.gid.to_string(), |node| node.to_string())
}

pub(crate) fn types(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for endpoints in by_topic(graph).into_values() {
        let first = endpoints[0];
        let other_type = endpoints.iter().find(|e| e.dds_type != first.dds_type);
        let hash = endpoints.iter().find_map(|e| e.type_hash.as_ref());
        let other_hash = endpoints.iter().find(|e| e.type_hash.is_some() && e.type_hash.as_ref() != hash);
        let topic = first.ros_name();
        if let Some(other) = other_type {
            findings.push(Finding::fail(
                "types",
                format!(
                    "{topic}: {} uses {}, {} uses {}",
                    owner(graph, first),
                    first.type_name(),
                    owner(graph, other),
                    other.type_name()
                ),
                "they never hear each other: remap one of them to another name",
            ));
        } else if let Some(other) = other_hash {
            findings.push(Finding::fail(
                "types",
                format!(
                    "{topic}: {} and {} use different definitions of {}",
                    owner(graph, first),
                    owner(graph, other),
                    first.type_name()
                ),
                "build both sides from the same version of the package",
            ));
        }
    }
    let silent = graph.endpoints().filter(|e| e.role().is_some() && e.type_hash.is_none()).count();
    if findings.is_empty() {
        let note = if silent > 0 { format!(" ({silent} endpoints announce no hash)") } else { String::new() };
        findings.push(Finding::ok("types", format!("every topic and service has one type{note}")));
    }
    findings
}

pub(crate) fn quality_of_service(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for endpoints in by_topic(graph).into_values() {
        let of = |kind| endpoints.iter().filter(move |e| e.kind == kind);
        for (writer, reader) in
            of(EndpointKind::Writer).flat_map(|w| of(EndpointKind::Reader).map(move |r| (w, r)))
        {
            let Some(policy) = incompatibility(&writer.qos, &reader.qos) else { continue };
            findings.push(Finding::fail(
                "qos",
                format!(
                    "{}: {} gets nothing from {}: {policy} (offered {}; requested {})",
                    writer.ros_name(),
                    owner(graph, reader),
                    owner(graph, writer),
                    writer.qos,
                    reader.qos
                ),
                match policy {
                    "RELIABILITY" => "publish reliable, or subscribe best effort",
                    "DURABILITY" => "publish transient local, or subscribe volatile",
                    _ => "offer at least what is requested",
                },
            ));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("qos", "every publisher fits every subscription"));
    }
    findings
}

/// Topics of which two publishers contradict each other, by the end of their names.
const SINGLE_SOURCES: [&str; 8] = [
    "/clock",
    "/robot_description",
    "/map",
    "/arm_ang_angv",
    "/shooter_state",
    "/daiza_state",
    "/hina_state",
    "/motion_primitive_controller/state",
];

pub(crate) fn single_sources(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for endpoints in by_topic(graph).into_values() {
        let topic = endpoints[0].ros_name();
        let writers = endpoints.iter().filter(|e| e.kind == EndpointKind::Writer);
        let nodes: BTreeSet<_> = writers.map(|writer| owner(graph, writer)).collect();
        if nodes.len() > 1 && SINGLE_SOURCES.iter().any(|end| topic.ends_with(end)) {
            let nodes = nodes.into_iter().collect::<Vec<_>>().join(" and ");
            let remedy = "end one of them, or give it a namespace: `--ros-args -r __ns:=/second`";
            findings.push(Finding::warn("sources", format!("{topic} is published by {nodes}"), remedy));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok("sources", "no topic that can have one source has two"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use rosless_graph::{Gid, Qos};

    use super::*;
    use crate::Level;

    fn endpoint(id: u8, kind: EndpointKind, ty: &str, hash: &str, qos: Qos) -> Endpoint {
        Endpoint {
            gid: Gid([id; 16]),
            kind,
            dds_topic: "rt/scan".into(),
            dds_type: ty.into(),
            type_hash: Some(hash.into()),
            qos: qos.into(),
            service_tag: None,
            part: None,
        }
    }

    #[test]
    fn endpoints_that_do_not_fit_are_found() {
        let mut graph = Graph::default();
        let ty = "a::msg::dds_::B_";
        let levels = |findings: Vec<Finding>| findings.iter().map(|f| f.level).collect::<Vec<_>>();
        graph.add_endpoint(endpoint(1, EndpointKind::Writer, ty, "RIHS01_1", Qos::sensor_data()));
        assert_eq!(levels(quality_of_service(&graph)), [Level::Ok]);
        graph.add_endpoint(endpoint(2, EndpointKind::Reader, ty, "RIHS01_1", Qos::default()));
        assert!(quality_of_service(&graph)[0].found.contains("RELIABILITY"));
        assert_eq!(levels(types(&graph)), [Level::Ok]);
        graph.add_endpoint(endpoint(3, EndpointKind::Reader, ty, "RIHS01_2", Qos::sensor_data()));
        assert!(types(&graph)[0].found.contains("different definitions of a/msg/B"));
        graph.add_endpoint(endpoint(
            4,
            EndpointKind::Reader,
            "a::msg::dds_::C_",
            "RIHS01_3",
            Qos::sensor_data(),
        ));
        assert!(types(&graph)[0].found.contains("a/msg/C"));
        assert_eq!(participants(&graph, Gid([1; 16]).prefix())[0].level, Level::Ok);
    }

    #[test]
    fn two_sources_of_what_can_have_one_are_found() {
        let mut graph = Graph::default();
        let clock = |id| Endpoint {
            dds_topic: "rt/left/clock".into(),
            ..endpoint(id, EndpointKind::Writer, "a::msg::dds_::B_", "RIHS01_1", Qos::default())
        };
        graph.add_endpoint(clock(1));
        assert_eq!(single_sources(&graph)[0].level, Level::Ok);
        graph.add_endpoint(clock(2));
        let findings = single_sources(&graph);
        assert_eq!(findings[0].level, Level::Warn);
        assert!(findings[0].found.starts_with("/left/clock is published by "), "{findings:?}");
    }
}
