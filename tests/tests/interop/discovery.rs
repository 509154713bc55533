//! What foreign stacks see of us, and we of them.

use std::time::Instant;

use rosless_graph::{Sample, TopicQos, discovery_info, qos::History};
use rosless_tests::{DomainLease, Rig, Vendor};
use rosless_wire::{
    Message, cdr,
    example_interfaces::srv::AddTwoInts,
    names,
    rmw_dds_common::{self, msg::ParticipantEntitiesInfo},
    std_msgs::msg::String as Text,
};

use crate::ours::{PATIENCE, typehash};

const INFO_TOPIC: &str = "ros_discovery_info";
const INFO_TYPE: &str = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_";
const INFO_QOS: &str = "reliable,transient_local,0";

#[test]
fn every_endpoint_has_its_type_hash_and_the_participant_its_enclave() {
    for (vendor, domain, peer) in Vendor::each() {
        let mut ours = Rig::beside(&domain, "clean", ());
        let _publisher = ours.node.publisher::<Text>("chatter").unwrap();
        let _server = ours.events.serve::<AddTwoInts>(&ours.node, "add", |(), _, _| {}).unwrap();
        let prefix = ours.node.context().gid().prefix().0;
        let seen = |topic: &str, is_writer: bool| {
            peer.endpoints()
                .into_iter()
                .find(|e| e.guid[..12] == prefix && e.topic == topic && e.is_writer == is_writer)
        };
        ours.until("participant, topic and service seen", |()| {
            peer.participant(prefix).is_some()
                && seen("rt/chatter", true).is_some()
                && seen("rq/addRequest", false).is_some()
                && seen("rr/addReply", true).is_some()
                && seen(INFO_TOPIC, true).is_some()
        });
        assert_eq!(peer.participant(prefix).unwrap(), b"enclave=/;", "{vendor:?}");
        let chatter = seen("rt/chatter", true).unwrap();
        assert_eq!(
            (chatter.type_name.as_str(), chatter.user_data),
            ("std_msgs::msg::dds_::String_", typehash(Text::TYPE_HASH))
        );
        // Fast DDS does not read the history of others.
        let qos = if vendor == Vendor::Cyclone { "reliable,volatile,10" } else { "reliable,volatile," };
        assert!(chatter.qos.starts_with(qos), "{}", chatter.qos);
        let request = seen("rq/addRequest", false).unwrap();
        assert_eq!(request.type_name, "example_interfaces::srv::dds_::AddTwoInts_Request_");
        for endpoint in peer.endpoints().iter().filter(|e| e.guid[..12] == prefix) {
            assert!(endpoint.user_data.starts_with(b"typehash=RIHS01_"), "{vendor:?} sees {endpoint:?}");
        }
    }
}

#[test]
fn ros_discovery_info_follows_nodes_and_endpoints() {
    for (_, domain, mut peer) in Vendor::each() {
        peer.reader("info", INFO_TOPIC, INFO_TYPE, INFO_QOS, b"");
        let mut ours = Rig::beside(&domain, "first", ());
        let context = ours.node.context().clone();
        let latest = || {
            let samples = peer.samples("info");
            samples.last().and_then(|s| discovery_info::decode(&s.payload))
        };
        let names = || latest().map(|info| info.nodes.iter().map(|n| n.name.clone()).collect::<Vec<_>>());
        ours.until("the first node", |()| names() == Some(vec!["first".into()]));
        let second = context.node_in("second", "/other").unwrap();
        let publisher = second.publisher::<Text>("chatter").unwrap();
        let gid = publisher.gid();
        ours.until("the second node with its writer", |()| {
            let info = latest().unwrap();
            info.nodes
                .iter()
                .any(|n| n.name == "second" && n.namespace == "/other" && n.writers.contains(&gid))
        });
        assert_eq!(latest().unwrap().participant.0[..12], ours.node.context().gid().prefix().0);
        drop(publisher);
        drop(second);
        ours.until("the second node gone", |()| names() == Some(vec!["first".into()]));
    }
}

#[test]
fn a_node_that_leaves_is_gone_at_once() {
    for (vendor, domain, peer) in Vendor::each() {
        let mut ours = Rig::beside(&domain, "leaver", ());
        let prefix = ours.node.context().gid().prefix().0;
        ours.until("seen", |()| peer.participant(prefix).is_some());
        let left = Instant::now();
        drop(ours);
        rosless_tests::eventually("the peer sees it go", PATIENCE, || peer.has_seen_go(prefix));
        // Without a farewell a peer would wait for the lease of ten seconds or more.
        assert!(left.elapsed().as_secs() < 8, "{vendor:?} noticed after {:?}", left.elapsed());
    }
}

#[test]
fn we_see_their_nodes_in_both_gid_sizes_and_answer_in_theirs() {
    for (vendor, size) in [
        (Vendor::Cyclone, discovery_info::GidSize::Bytes16),
        (Vendor::FastDds, discovery_info::GidSize::Bytes24),
    ] {
        let domain = DomainLease::acquire();
        let Some(mut peer) = vendor.start(domain.id()) else { return };
        peer.writer("info", INFO_TOPIC, INFO_TYPE, "reliable,transient_local,1", b"");
        let writer = peer.writer(
            "w",
            "rt/chatter",
            "std_msgs::msg::dds_::String_",
            "best_effort,volatile,5",
            &typehash(Text::TYPE_HASH),
        );
        let node = discovery_info::NodeEntities {
            namespace: "/lab".into(),
            name: "talker".into(),
            readers: vec![],
            writers: vec![rosless_graph::Gid(writer)],
        };
        let entities = discovery_info::ParticipantEntities {
            participant: rosless_graph::Gid(peer.guid()),
            nodes: vec![node],
        };
        peer.write("info", &discovery_info::encode(&entities, size));
        peer.reader("ours", INFO_TOPIC, INFO_TYPE, INFO_QOS, b"");
        let mut ours = Rig::beside(&domain, "looker", ());
        let context = ours.node.context().clone();
        ours.until("their node and its publisher", |()| {
            let graph = context.graph();
            graph.has_node("/lab/talker") && !graph.publishers("/chatter").is_empty()
        });
        let graph = context.graph();
        let publisher = graph.publishers("/chatter")[0];
        assert_eq!(publisher.type_name(), "std_msgs/msg/String");
        assert_eq!(publisher.type_hash.as_deref(), Some(Text::TYPE_HASH), "{vendor:?}");
        let history = if vendor == Vendor::Cyclone { History::KeepLast(5) } else { History::Unknown };
        assert_eq!(publisher.qos.history, history, "{vendor:?}");
        assert_eq!(graph.node_of(&publisher.gid).map(|n| n.to_string()).as_deref(), Some("/lab/talker"));
        ours.until("our nodes in their size", |()| {
            // The peer hears its own words, too.
            let samples = peer.samples("ours");
            let sizes =
                samples.iter().filter_map(|s| rmw_dds_common::decode_participant_info(&s.payload).ok());
            let ours = |(info, _): &(ParticipantEntitiesInfo, _)| info.gid.data == context.gid().0;
            sizes.rev().find(ours).is_some_and(|(_, written)| written == size)
        });
    }
}

#[test]
fn a_newcomer_knows_when_it_has_heard_everybody_of_either_vendor() {
    let domain = DomainLease::acquire();
    let mut peers = Vec::new();
    for vendor in Vendor::ALL {
        let Some(mut peer) = vendor.start(domain.id()) else { return };
        peer.writer("info", INFO_TOPIC, INFO_TYPE, "reliable,transient_local,1", b"");
        let name = format!("{vendor:?}").to_lowercase();
        let node = discovery_info::NodeEntities { namespace: "/".into(), name, ..Default::default() };
        let participant = rosless_graph::Gid(peer.guid());
        let entities = discovery_info::ParticipantEntities { participant, nodes: vec![node] };
        peer.write("info", &discovery_info::encode(&entities, discovery_info::GidSize::Bytes16));
        peers.push(peer);
    }
    // One that is not of ROS has nothing to tell of nodes, and is not waited for.
    let Some(_plain) = Vendor::FastDds.start(domain.id()) else { return };
    let mut ours = Rig::beside(&domain, "looker", ());
    let heard = ours.events.hear_everybody(&mut ours.seen, PATIENCE, |()| true).unwrap();
    assert!(heard);
    let graph = ours.node.context().graph();
    let nodes: Vec<_> = graph.nodes().iter().map(ToString::to_string).collect();
    assert_eq!(nodes, ["/cyclone", "/fastdds", "/looker"]);
}

#[test]
fn a_publisher_without_history_is_told_from_one_that_is_slow() {
    for (vendor, domain, mut peer) in Vendor::each() {
        let dds_type = names::type_to_dds(Text::TYPE_NAME).expect("a valid name");
        let mut writer = |id| {
            let qos = "reliable,transient_local,1";
            rosless_graph::Gid(peer.writer(id, "rt/latched", &dds_type, qos, &typehash(Text::TYPE_HASH)))
        };
        let (silent, told) = (writer("silent"), writer("told"));
        peer.write("told", &cdr::to_payload(&Text { data: "once".into() }));
        let mut ours = Rig::beside(&domain, "listener", Vec::new());
        let heard = |heard: &mut Vec<String>, sample: Sample<Text>| heard.push(sample.message.data);
        ours.events.subscribe(&ours.node, "latched".transient_local(), heard).unwrap();
        let context = ours.node.context().clone();
        ours.until("both have been heard", |heard| {
            context.graph().is_empty_writer(&silent) && *heard == ["once"]
        });
        assert!(!context.graph().is_empty_writer(&told), "{vendor:?}");
    }
}
