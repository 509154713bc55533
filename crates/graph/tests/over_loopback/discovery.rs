//! Who sees whom: nodes, endpoints and their names, coming and going.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crate::side::{side, talk};
use rosless_graph::{
    Context, ContextOptions, EventLoop, Graph, Qos, TopicQos,
    config::Distro,
    graph::Role,
    qos::{Durability, Reliability},
};
use rosless_tests::{DomainLease, Rig};
use rosless_wire::{
    Message, example_interfaces::action::Fibonacci, rcl_interfaces::msg::Log, std_msgs::msg,
    std_srvs::srv::Trigger,
};

fn node_names(graph: &Graph) -> BTreeSet<String> {
    graph.nodes().iter().map(ToString::to_string).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| name.to_string()).collect()
}

#[test]
fn nodes_and_their_endpoints_are_seen_as_they_come_and_go() {
    let domain = DomainLease::acquire();
    let mut robot = side(&domain, "robot", ());
    let mut observer = side(&domain, "observer", ());
    let graph = |side: &Rig<()>| side.node.context().graph();

    let arm = robot.node.context().node_in("arm", "/left").unwrap();
    let publisher = arm.publisher::<msg::String>("state".latched()).unwrap();
    let server = robot.events.serve::<Trigger>(&arm, "~/home", |_, _, responder| {
        responder.reply(&Default::default());
    });
    talk("the arm with its endpoints", &mut robot, &mut observer, |_, observer| {
        // rosout, state and the service.
        graph(observer).endpoints_of("/left/arm").len() == 3
    });
    let seen = graph(&observer);
    assert_eq!(node_names(&seen), names(&["/left/arm", "/observer", "/robot"]));
    assert_eq!(
        seen.endpoints_of("/left/arm").into_iter().map(|(role, _)| role).collect::<Vec<_>>(),
        [
            Role::Publisher("/left/state".into()),
            Role::Publisher("/rosout".into()),
            Role::Server("/left/arm/home".into())
        ]
    );
    assert_eq!(seen.services()["/left/arm/home"], names(&["std_srvs/srv/Trigger"]));
    let endpoint = seen.publishers("/left/state")[0];
    assert_eq!(endpoint.gid, publisher.gid());
    assert_eq!(endpoint.type_name(), "std_msgs/msg/String");
    assert_eq!(endpoint.type_hash.as_deref(), Some(msg::String::TYPE_HASH));
    assert_eq!(
        (endpoint.qos.reliability, endpoint.qos.durability),
        (Reliability::Reliable, Durability::TransientLocal)
    );
    assert_eq!(seen.node_of(&endpoint.gid).unwrap().to_string(), "/left/arm");

    drop(publisher);
    talk("the publisher is gone", &mut robot, &mut observer, |_, observer| {
        graph(observer).publishers("/left/state").is_empty()
    });
    server.unwrap().close();
    drop(arm);
    talk("the node and its service are gone", &mut robot, &mut observer, |_, observer| {
        node_names(&graph(observer)) == names(&["/observer", "/robot"])
            && graph(observer).services().is_empty()
    });
}

#[test]
fn a_process_that_ends_vanishes_at_once() {
    let domain = DomainLease::acquire();
    let mut observer = side(&domain, "observer", 0u32);
    observer.events.on_graph_change(|changes, _| *changes += 1);
    let mut robot = side(&domain, "robot", ());
    let publisher = robot.node.publisher::<msg::String>("chatter").unwrap();
    observer.events.subscribe::<msg::String>(&observer.node, "chatter", |_, _| {}).unwrap();
    talk("the robot", &mut observer, &mut robot, |observer, _| {
        observer.node.context().graph().has_node("/robot") && publisher.matched() == 1
    });
    // What is asked and not answered must not keep the process on the network.
    let client = robot.events.client::<Trigger>(&robot.node, "nobody").unwrap();
    let own = client.clone();
    let patience = Duration::from_secs(60);
    client.call(&Default::default(), patience, move |_, _| drop(own));
    let action = robot.events.action_client::<Fibonacci>(&robot.node, "nothing").unwrap();
    let own = action.clone();
    action.send_goal(Default::default(), patience, patience, move |_, _| assert!(own.is_ready()));
    drop((publisher, client, action));
    drop(robot);
    let changes = observer.seen;
    let context = observer.node.context().clone();
    // Far below the lease of 10 s: it was told, not timed out.
    let gone = observer.events.run_until(&mut observer.seen, Duration::from_secs(4), |_| {
        let graph = context.graph();
        !graph.has_node("/robot") && graph.publishers("/chatter").is_empty()
    });
    assert!(gone.unwrap(), "the node is still there");
    assert!(observer.seen > changes);
}

#[test]
fn both_sizes_of_gid_are_understood() {
    let domain = DomainLease::acquire();
    let mut options = ContextOptions { node_services: false, ..ContextOptions::for_domain(domain.id()) };
    options.settings.environment.distro = Some(Distro::Humble);
    let old = Context::new(options).unwrap();
    let node = old.node("from_humble").unwrap();
    let mut old = Rig { seen: (), events: EventLoop::new(&old).unwrap(), node, domain: domain.clone() };
    let mut new = side(&domain, "from_jazzy", ());
    talk("both nodes on both sides", &mut old, &mut new, |old, new| {
        [old, new]
            .iter()
            .all(|side| node_names(&side.node.context().graph()) == names(&["/from_humble", "/from_jazzy"]))
    });
    let graph = new.node.context().graph();
    assert_eq!(graph.endpoints_of("/from_humble").len(), 1, "the gids of 24 bytes were read");
}

#[test]
fn log_records_reach_rosout_in_the_name_of_their_node() {
    let domain = DomainLease::acquire();
    let mut robot = side(&domain, "robot", ());
    let arm = robot.node.context().node_in("arm", "/left").unwrap();
    log::warn!(target: arm.logger(), "the elbow is warm");
    log::info!("nobody in particular");
    let mut observer = side(&domain, "observer", Vec::<Log>::new());
    observer
        .events
        .subscribe::<Log>(&observer.node, ("/rosout", Qos::rosout()), |records: &mut Vec<Log>, sample| {
            if sample.message.msg.contains("elbow") || sample.message.msg.contains("particular") {
                records.push(sample.message);
            }
        })
        .unwrap();
    talk("two records", &mut robot, &mut observer, |_, observer| observer.seen.len() == 2);
    let mut records: Vec<_> =
        observer.seen.iter().map(|r| (r.name.as_str(), r.level, r.msg.as_str())).collect();
    records.sort();
    assert_eq!(
        records,
        [("left.arm", Log::WARN, "the elbow is warm"), ("robot", Log::INFO, "nobody in particular")]
    );
    assert!(observer.seen.iter().all(|record| record.file.ends_with("discovery.rs") && record.stamp.sec > 0));
}

#[test]
fn more_news_than_the_queue_holds_is_made_up_for() {
    const PUBLISHERS: usize = 2300;
    let domain = DomainLease::acquire();
    let mut observer = side(&domain, "observer", ());
    let mut robot = side(&domain, "robot", ());
    talk("the robot", &mut observer, &mut robot, |observer, _| {
        observer.node.context().graph().has_node("/robot")
    });
    // The observer does not look while these come.
    let make = |n| robot.node.publisher::<msg::String>(&format!("topic_{n}")).unwrap();
    let publishers: Vec<_> = (0..PUBLISHERS).map(make).collect();
    let mut watcher = side(&domain, "watcher", ());
    let seen = |side: &Rig<()>| {
        let graph = side.node.context().graph();
        publishers.iter().filter(|publisher| graph.endpoint(&publisher.gid()).is_some()).count()
    };
    talk("all of it by somebody who looks", &mut robot, &mut watcher, |_, watcher| {
        seen(watcher) == PUBLISHERS
    });
    talk("all of it by the observer", &mut robot, &mut observer, |_, observer| seen(observer) == PUBLISHERS);
}

#[test]
fn a_newcomer_knows_when_it_has_heard_everybody() {
    let domain = DomainLease::acquire();
    let sides: Vec<_> = (0..3).map(|i| side(&domain, &format!("resident_{i}"), ())).collect();
    let done = Arc::new(AtomicBool::new(false));
    // The residents run while the newcomer, in a thread of its own, looks around.
    let (id, finished) = (domain.id(), done.clone());
    let newcomer = std::thread::spawn(move || {
        let context = Context::new(ContextOptions::for_domain(id)).unwrap();
        let event_loop = EventLoop::<()>::new(&context).unwrap();
        let heard = event_loop.hear_everybody(&mut (), Duration::from_secs(30), |()| true).unwrap();
        let nodes: Vec<_> = context.graph().nodes().iter().map(ToString::to_string).collect();
        finished.store(true, Ordering::SeqCst);
        (heard, nodes)
    });
    while !done.load(Ordering::SeqCst) {
        for side in &sides {
            side.events.run_for(&mut (), Duration::from_millis(2)).unwrap();
        }
    }
    let (heard, nodes) = newcomer.join().unwrap();
    assert!(heard);
    assert_eq!(nodes, ["/resident_0", "/resident_1", "/resident_2"]);
}
