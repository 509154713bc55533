//! Publishing and subscribing, ours to ours.

use std::time::Duration;

use crate::side::{Side, talk};
use rosless_graph::{Qos, Sample};
use rosless_tests::DomainLease;
use rosless_wire::std_msgs::msg;
use rustdds::{DomainParticipantBuilder, Keyed, QosPolicyBuilder, TopicKind, policy};
use serde::{Deserialize, Serialize};

fn text(data: impl Into<String>) -> msg::String {
    msg::String { data: data.into() }
}

type Heard = Vec<String>;

#[test]
fn samples_arrive_in_order_with_their_origin() {
    let domain = DomainLease::acquire();
    let mut talker = Side::new(&domain, "talker", ());
    let mut listener = Side::new(&domain, "listener", Heard::new());
    let publisher = talker.node.publisher::<msg::String>("chatter", Qos::default()).unwrap();
    let gid = publisher.gid();
    let subscription = listener
        .event_loop
        .subscribe::<msg::String>(
            &listener.node,
            "chatter",
            Qos::default(),
            move |heard: &mut Heard, sample| {
                assert_eq!(sample.info.publisher, gid);
                assert_eq!(sample.info.sequence_number, heard.len() as i64 + 1);
                let age = sample.info.reception_stamp.duration_since(sample.info.source_stamp.unwrap());
                assert!(age.unwrap_or_default().as_secs() < 20);
                heard.push(sample.message.data);
            },
        )
        .unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1 && subscription.matched() == 1);
    let sent: Heard = (0..50).map(|i| format!("text {i}")).collect();
    for line in &sent {
        assert!(publisher.publish(&text(line)));
    }
    talk("50 samples", &mut talker, &mut listener, |_, listener| listener.state.len() == 50);
    assert_eq!(listener.state, sent);
    assert_eq!(subscription.counters().received, 50);
    assert_eq!(subscription.counters().lost, 0);
}

#[test]
fn a_late_joiner_gets_the_last_sample_only() {
    let domain = DomainLease::acquire();
    let mut talker = Side::new(&domain, "talker", ());
    let publisher = talker.node.publisher::<msg::String>("map", Qos::latched()).unwrap();
    for i in 0..5 {
        publisher.publish(&text(format!("map {i}")));
    }
    let mut listener = Side::new(&domain, "listener", Heard::new());
    listener
        .event_loop
        .subscribe::<msg::String>(&listener.node, "map", Qos::latched(), |heard: &mut Heard, sample| {
            heard.push(sample.message.data);
        })
        .unwrap();
    talk("the latched sample", &mut talker, &mut listener, |_, listener| !listener.state.is_empty());
    publisher.publish(&text("map 5"));
    talk("the next sample", &mut talker, &mut listener, |_, listener| {
        listener.state.last().is_some_and(|last| last == "map 5")
    });
    assert_eq!(listener.state, ["map 4", "map 5"]);
}

#[test]
fn a_volatile_subscription_hears_nothing_from_before_its_time() {
    let domain = DomainLease::acquire();
    let mut talker = Side::new(&domain, "talker", ());
    let publisher = talker.node.publisher::<msg::String>("map", Qos::latched().depth(8)).unwrap();
    publisher.publish(&text("old"));
    let mut listener = Side::new(&domain, "listener", Heard::new());
    let subscription = listener
        .event_loop
        .subscribe::<msg::String>(&listener.node, "map", Qos::default(), |heard: &mut Heard, sample| {
            heard.push(sample.message.data);
        })
        .unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1 && subscription.matched() == 1);
    publisher.publish(&text("new"));
    talk("the new sample", &mut talker, &mut listener, |_, listener| {
        listener.state.last().is_some_and(|last| last == "new")
    });
    assert_eq!(listener.state, ["new"]);
}

#[test]
fn nodes_of_one_context_hear_each_other() {
    let domain = DomainLease::acquire();
    let mut side = Side::new(&domain, "talker", Heard::new());
    let other = side.node.context().node_in("listener", "/elsewhere").unwrap();
    let publisher = side.node.publisher::<msg::String>("/chatter", Qos::default()).unwrap();
    side.event_loop
        .subscribe::<msg::String>(&other, "/chatter", Qos::default(), |heard: &mut Heard, sample| {
            heard.push(sample.message.data);
        })
        .unwrap();
    let mut idle = Side::new(&domain, "idle", ());
    talk("match", &mut side, &mut idle, |_, _| publisher.matched() == 1);
    publisher.publish(&text("inside"));
    talk("the sample", &mut side, &mut idle, |side, _| !side.state.is_empty());
    assert_eq!(side.state, ["inside"]);
}

#[test]
fn a_megabyte_arrives_whole() {
    let domain = DomainLease::acquire();
    let mut talker = Side::new(&domain, "talker", ());
    let mut listener = Side::new(&domain, "listener", Vec::<Vec<u8>>::new());
    let publisher = talker.node.publisher::<msg::UInt8MultiArray>("image", Qos::default()).unwrap();
    listener
        .event_loop
        .subscribe::<msg::UInt8MultiArray>(
            &listener.node,
            "image",
            Qos::default(),
            |got: &mut Vec<Vec<u8>>, sample| {
                got.push(sample.message.data);
            },
        )
        .unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1);
    let data: Vec<u8> = (0..1_000_003u32).map(|i| ((i * 31) >> 3) as u8).collect();
    publisher.publish(&msg::UInt8MultiArray { data: data.clone(), ..Default::default() });
    talk("1 MB", &mut talker, &mut listener, |_, listener| !listener.state.is_empty());
    assert!(listener.state[0] == data, "1 MB arrived changed");
}

#[test]
fn undecodable_samples_are_counted_and_dropped() {
    let domain = DomainLease::acquire();
    let mut talker = Side::new(&domain, "talker", ());
    let mut listener = Side::new(&domain, "listener", Heard::new());
    let publisher = talker.node.raw_publisher("chatter", "std_msgs/msg/String", "", Qos::default()).unwrap();
    let subscription = listener
        .event_loop
        .subscribe::<msg::String>(&listener.node, "chatter", Qos::default(), |heard: &mut Heard, sample| {
            heard.push(sample.message.data);
        })
        .unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1);
    publisher.publish(vec![0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, b'x']);
    publisher.publish(vec![0, 1, 0, 0, 3, 0, 0, 0, 0xff, 0xfe, 0]);
    publisher.publish(rosless_wire::cdr::to_payload(&text("good")));
    talk("the good sample", &mut talker, &mut listener, |_, listener| !listener.state.is_empty());
    assert_eq!(listener.state, ["good"]);
    assert_eq!(subscription.counters().undecodable, 2);
    assert_eq!(subscription.counters().received, 1);
}

#[test]
fn incompatible_quality_of_service_is_reported_by_topic_and_policy() {
    type Problems = Vec<(String, &'static str)>;
    let domain = DomainLease::acquire();
    let mut talker = Side::new(&domain, "talker", Problems::new());
    let mut listener = Side::new(&domain, "listener", Problems::new());
    for side in [&talker, &listener] {
        side.event_loop.on_incompatible_qos(|problems: &mut Problems, problem| {
            problems.push((problem.topic.clone(), problem.policy));
        });
    }
    let publisher = talker.node.publisher::<msg::String>("scan", Qos::sensor_data()).unwrap();
    listener.event_loop.subscribe::<msg::String>(&listener.node, "scan", Qos::default(), |_, _| {}).unwrap();
    talk("both complaints", &mut talker, &mut listener, |talker, listener| {
        !talker.state.is_empty() && !listener.state.is_empty()
    });
    assert_eq!(talker.state[0], ("/scan".to_owned(), "RELIABILITY"));
    assert_eq!(listener.state[0], ("/scan".to_owned(), "RELIABILITY"));
    assert_eq!(publisher.matched(), 0);
}

#[test]
fn samples_that_found_no_room_are_counted() {
    const SENT: usize = 1000;
    let domain = DomainLease::acquire();
    let mut talker = Side::new(&domain, "talker", ());
    let mut listener = Side::new(&domain, "listener", Heard::new());
    let publisher = talker.node.publisher::<msg::String>("chatter", Qos::default().depth(1000)).unwrap();
    let keep = |heard: &mut Heard, sample: Sample<msg::String>| heard.push(sample.message.data);
    let subscription =
        listener.event_loop.subscribe(&listener.node, "chatter", Qos::default(), keep).unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1 && subscription.matched() == 1);
    publisher.publish(&text("first"));
    talk("the first", &mut talker, &mut listener, |_, listener| !listener.state.is_empty());
    // The listener does not look while these come.
    for number in 1..SENT {
        publisher.publish(&text(format!("{number}")));
    }
    assert!(publisher.wait_acknowledged(Duration::from_secs(20)));
    let last = format!("{}", SENT - 1);
    talk("the last", &mut talker, &mut listener, |_, listener| listener.state.last() == Some(&last));
    let (heard, lost) = (listener.state.len(), subscription.counters().lost as usize);
    assert!(lost > 0, "all {heard} found room");
    assert_eq!(heard + lost, SENT);
}

/// A type with a key, as newer distributions allow.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Number {
    data: i32,
}

impl Keyed for Number {
    type K = i32;

    fn key(&self) -> i32 {
        self.data
    }
}

#[test]
fn keyed_publishers_are_heard_and_what_they_dispose_of_is_no_sample() {
    let domain = DomainLease::acquire();
    let mut listener = Side::new(&domain, "listener", Vec::new());
    let subscription = listener
        .event_loop
        .subscribe::<msg::Int32>(&listener.node, "keyed", Qos::default(), |heard: &mut Vec<_>, sample| {
            heard.push(sample.message.data);
        })
        .unwrap();
    let speaker = DomainParticipantBuilder::new(domain.id()).with_this_host_and([]).build().unwrap();
    let qos = QosPolicyBuilder::new()
        .reliability(policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) })
        .history(policy::History::KeepLast { depth: 10 })
        .build();
    let dds_type = "std_msgs::msg::dds_::Int32_".to_owned();
    let topic = speaker.create_topic("rt/keyed".into(), dds_type, &qos, TopicKind::WithKey).unwrap();
    let publisher = speaker.create_publisher(&qos).unwrap();
    let writer = publisher.create_datawriter_cdr::<Number>(&topic, Some(qos)).unwrap();
    let patience = Duration::from_secs(20);
    let matched =
        listener.event_loop.run_until(&mut listener.state, patience, |_| subscription.matched() == 1);
    assert!(matched.unwrap(), "the keyed writer is not matched");
    writer.write(Number { data: 1 }, None).unwrap();
    writer.dispose(&1, None).unwrap();
    writer.write(Number { data: 2 }, None).unwrap();
    let heard = listener.event_loop.run_until(&mut listener.state, patience, |heard| heard.ends_with(&[2]));
    assert!(heard.unwrap(), "{:?}", listener.state);
    assert_eq!(listener.state, [1, 2]);
    assert_eq!(subscription.counters().undecodable, 0);
}
