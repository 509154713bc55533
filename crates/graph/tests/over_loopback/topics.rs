//! Publishing and subscribing, ours to ours.

use std::time::Duration;

use crate::side::{MOMENT, side, talk};
use rosless_graph::{Qos, Sample, TopicQos};
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
    let mut talker = side(&domain, "talker", ());
    let mut listener = side(&domain, "listener", Heard::new());
    let publisher = talker.node.publisher::<msg::String>("chatter".keep_last(50)).unwrap();
    let gid = publisher.gid();
    let subscription = listener
        .events
        .subscribe::<msg::String>(
            &listener.node,
            "chatter".keep_last(50),
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
    talk("50 samples", &mut talker, &mut listener, |_, listener| listener.seen.len() == 50);
    assert_eq!(listener.seen, sent);
    assert_eq!(subscription.counters().received, 50);
    assert_eq!(subscription.counters().lost, 0);
}

/// What is small does not wait until what is large, and was published before it, has arrived.
#[test]
fn a_small_sample_overtakes_a_large_one_of_another_topic() {
    const ROUNDS: usize = 5;
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", ());
    let mut listener = side(&domain, "listener", Heard::new());
    let large = talker.node.publisher::<msg::UInt8MultiArray>("large".keep_all()).unwrap();
    let small = talker.node.publisher::<msg::String>("small").unwrap();
    let hear_large = |heard: &mut Heard, _: Sample<msg::UInt8MultiArray>| heard.push("large".into());
    listener.events.subscribe(&listener.node, "large".keep_all(), hear_large).unwrap();
    let hear_small = |heard: &mut Heard, sample: Sample<msg::String>| heard.push(sample.message.data);
    listener.events.subscribe(&listener.node, "small", hear_small).unwrap();
    talk("match", &mut talker, &mut listener, |_, _| large.matched() == 1 && small.matched() == 1);
    let image = msg::UInt8MultiArray { data: vec![7; 10_000_000], ..Default::default() };
    for round in 1..=ROUNDS {
        assert!(large.publish(&image));
        assert!(small.publish(&text("small")));
        talk("both", &mut talker, &mut listener, |_, listener| listener.seen.len() == 2 * round);
    }
    assert_eq!(listener.seen, ["small", "large"].repeat(ROUNDS));
}

#[test]
fn ends_of_different_parts_of_a_topic_do_not_wait_for_each_other() {
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", ());
    let mut listener = side(&domain, "listener", Heard::new());
    let publisher = talker.node.publisher::<msg::String>("chatter".part("answers")).unwrap();
    let subscribe = |topic| {
        let hear = |heard: &mut Heard, sample: Sample<msg::String>| heard.push(sample.message.data);
        listener.events.subscribe::<msg::String>(&listener.node, topic, hear).unwrap()
    };
    let (part, all) = (subscribe("chatter".part("commands")), subscribe("chatter".into()));
    talk("all who want it", &mut talker, &mut listener, |talker, _| {
        let known = talker.node.context().graph().subscriptions("/chatter").len();
        known == 2 && publisher.reaches_everyone() && all.matched() == 1
    });
    assert_eq!((publisher.matched(), part.matched()), (1, 0));
    publisher.publish(&text("answer"));
    talk("the answer", &mut talker, &mut listener, |_, listener| !listener.seen.is_empty());
    assert_eq!(all.counters().received, 1);
}

#[test]
fn a_late_joiner_gets_the_last_sample_only() {
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", ());
    let publisher = talker.node.publisher::<msg::String>("map".latched()).unwrap();
    for i in 0..5 {
        publisher.publish(&text(format!("map {i}")));
    }
    let mut listener = side(&domain, "listener", Heard::new());
    listener
        .events
        .subscribe::<msg::String>(&listener.node, "map".latched(), |heard: &mut Heard, sample| {
            heard.push(sample.message.data);
        })
        .unwrap();
    talk("the latched sample", &mut talker, &mut listener, |_, listener| !listener.seen.is_empty());
    publisher.publish(&text("map 5"));
    talk("the next sample", &mut talker, &mut listener, |_, listener| {
        listener.seen.last().is_some_and(|last| last == "map 5")
    });
    assert_eq!(listener.seen, ["map 4", "map 5"]);
}

#[test]
fn a_volatile_subscription_hears_nothing_from_before_its_time() {
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", ());
    let publisher = talker.node.publisher::<msg::String>("map".latched().keep_last(8)).unwrap();
    publisher.publish(&text("old"));
    let mut listener = side(&domain, "listener", Heard::new());
    let subscription = listener
        .events
        .subscribe::<msg::String>(&listener.node, "map", |heard: &mut Heard, sample| {
            heard.push(sample.message.data);
        })
        .unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1 && subscription.matched() == 1);
    publisher.publish(&text("new"));
    talk("the new sample", &mut talker, &mut listener, |_, listener| {
        listener.seen.last().is_some_and(|last| last == "new")
    });
    assert_eq!(listener.seen, ["new"]);
}

#[test]
fn nodes_of_one_context_hear_each_other() {
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", Heard::new());
    let other = talker.node.context().node_in("listener", "/elsewhere").unwrap();
    let publisher = talker.node.publisher::<msg::String>("/chatter").unwrap();
    talker
        .events
        .subscribe::<msg::String>(&other, "/chatter", |heard: &mut Heard, sample| {
            heard.push(sample.message.data);
        })
        .unwrap();
    let mut idle = side(&domain, "idle", ());
    talk("match", &mut talker, &mut idle, |_, _| publisher.matched() == 1);
    publisher.publish(&text("inside"));
    talk("the sample", &mut talker, &mut idle, |talker, _| !talker.seen.is_empty());
    assert_eq!(talker.seen, ["inside"]);
}

#[test]
fn a_megabyte_arrives_whole() {
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", ());
    let mut listener = side(&domain, "listener", Vec::<Vec<u8>>::new());
    let publisher = talker.node.publisher::<msg::UInt8MultiArray>("image").unwrap();
    listener
        .events
        .subscribe::<msg::UInt8MultiArray>(&listener.node, "image", |got: &mut Vec<Vec<u8>>, sample| {
            got.push(sample.message.data);
        })
        .unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1);
    let data: Vec<u8> = (0..1_000_003u32).map(|i| ((i * 31) >> 3) as u8).collect();
    publisher.publish(&msg::UInt8MultiArray { data: data.clone(), ..Default::default() });
    talk("1 MB", &mut talker, &mut listener, |_, listener| !listener.seen.is_empty());
    assert!(listener.seen[0] == data, "1 MB arrived changed");
}

#[test]
fn undecodable_samples_are_counted_and_dropped() {
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", ());
    let mut listener = side(&domain, "listener", Heard::new());
    let publisher = talker.node.raw_publisher("chatter", ("std_msgs/msg/String", "")).unwrap();
    let subscription = listener
        .events
        .subscribe::<msg::String>(&listener.node, "chatter", |heard: &mut Heard, sample| {
            heard.push(sample.message.data);
        })
        .unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1);
    publisher.publish(vec![0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, b'x']);
    publisher.publish(vec![0, 1, 0, 0, 3, 0, 0, 0, 0xff, 0xfe, 0]);
    publisher.publish(rosless_wire::cdr::to_payload(&text("good")));
    talk("the good sample", &mut talker, &mut listener, |_, listener| !listener.seen.is_empty());
    assert_eq!(listener.seen, ["good"]);
    assert_eq!(subscription.counters().undecodable, 2);
    assert_eq!(subscription.counters().received, 1);
}

#[test]
fn incompatible_quality_of_service_is_reported_by_topic_and_policy() {
    type Problems = Vec<(String, &'static str)>;
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", Problems::new());
    let mut listener = side(&domain, "listener", Problems::new());
    for side in [&talker, &listener] {
        side.events.on_incompatible_qos(|problems: &mut Problems, problem| {
            problems.push((problem.topic.clone(), problem.policy));
        });
    }
    let publisher = talker.node.publisher::<msg::String>("scan".sensor_data()).unwrap();
    listener.events.subscribe::<msg::String>(&listener.node, "scan", |_, _| {}).unwrap();
    talk("both complaints", &mut talker, &mut listener, |talker, listener| {
        !talker.seen.is_empty() && !listener.seen.is_empty()
    });
    assert_eq!(talker.seen[0], ("/scan".to_owned(), "RELIABILITY"));
    assert_eq!(listener.seen[0], ("/scan".to_owned(), "RELIABILITY"));
    assert_eq!(publisher.matched(), 0);
}

#[test]
fn samples_that_found_no_room_are_counted() {
    const SENT: usize = 1000;
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", ());
    let mut listener = side(&domain, "listener", Heard::new());
    let publisher = talker.node.publisher::<msg::String>("chatter".keep_last(1000)).unwrap();
    let keep = |heard: &mut Heard, sample: Sample<msg::String>| heard.push(sample.message.data);
    let subscription = listener.events.subscribe(&listener.node, "chatter", keep).unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1 && subscription.matched() == 1);
    publisher.publish(&text("first"));
    talk("the first", &mut talker, &mut listener, |_, listener| !listener.seen.is_empty());
    // The listener does not look while these come.
    for number in 1..SENT {
        publisher.publish(&text(format!("{number}")));
    }
    assert!(publisher.wait_acknowledged(Duration::from_secs(20)));
    let last = format!("{}", SENT - 1);
    talk("the last", &mut talker, &mut listener, |_, listener| listener.seen.last() == Some(&last));
    let (heard, lost) = (listener.seen.len(), subscription.counters().lost as usize);
    assert!(lost > 0, "all {heard} found room");
    assert_eq!(heard + lost, SENT);
}

/// As `ros2 topic pub --once` and its like do it: ask, and make the subscription for the answer afterwards.
#[test]
fn an_answer_waits_for_an_asker_that_listens_after_it_has_asked() {
    let domain = DomainLease::acquire();
    let mut system = side(&domain, "system", 0);
    let answers = system.node.publisher::<msg::String>("answers").unwrap();
    let answer = answers.clone();
    let asked = move |questions: &mut usize, sample: Sample<msg::String>| {
        *questions += 1;
        answer.publish_for(sample.info.publisher.prefix(), &text(sample.message.data));
    };
    system.events.subscribe(&system.node, "questions", asked).unwrap();
    let mut asker = side(&domain, "asker", Heard::new());
    let questions = asker.node.publisher::<msg::String>("questions").unwrap();
    talk("match", &mut system, &mut asker, |_, _| questions.matched() == 1);
    questions.publish(&text("first"));
    questions.publish(&text("second"));
    talk("both asked", &mut system, &mut asker, |system, _| system.seen == 2);
    assert_eq!(answers.matched(), 0, "answered before anybody listens");
    let heard = |heard: &mut Heard, sample: Sample<msg::String>| heard.push(sample.message.data);
    asker.events.subscribe(&asker.node, "answers", heard).unwrap();
    talk("both answered", &mut system, &mut asker, |_, asker| asker.seen.len() == 2);
    assert_eq!(asker.seen, ["first", "second"]);
    // Who listens gets an answer once.
    questions.publish(&text("third"));
    talk("answered", &mut system, &mut asker, |_, asker| asker.seen.len() == 3);
    assert_eq!(asker.seen[2], "third");
}

/// What a subscription delivers of `sent` samples that came while it did not look.
fn after_a_pause(publisher_qos: Qos, qos: Qos, sent: usize) -> Heard {
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", ());
    let mut listener = side(&domain, "listener", Heard::new());
    let publisher = talker.node.publisher::<msg::String>(("chatter", publisher_qos)).unwrap();
    let keep = |heard: &mut Heard, sample: Sample<msg::String>| heard.push(sample.message.data);
    let subscription = listener.events.subscribe(&listener.node, ("chatter", qos), keep).unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1 && subscription.matched() == 1);
    publisher.publish(&text("first"));
    talk("the first", &mut talker, &mut listener, |_, listener| !listener.seen.is_empty());
    for number in 1..=sent {
        publisher.publish(&text(format!("{number}")));
    }
    assert!(publisher.wait_acknowledged(Duration::from_secs(20)));
    let last = format!("{sent}");
    talk("the last", &mut talker, &mut listener, |_, listener| listener.seen.last() == Some(&last));
    let heard = listener.seen.split_off(1);
    assert_eq!(subscription.counters().lost as usize, sent - heard.len());
    heard
}

#[test]
fn a_subscription_delivers_the_newest_up_to_its_depth_after_a_pause() {
    let sender = Qos::default().keep_last(1000);
    assert_eq!(after_a_pause(sender, Qos::default().keep_last(1), 30), ["30"]);
    assert_eq!(after_a_pause(sender, Qos::clock(), 30), ["30"]);
    assert_eq!(after_a_pause(sender, Qos::default().keep_last(3), 30), ["28", "29", "30"]);
    let deep: Heard = (201..=800).map(|number| number.to_string()).collect();
    assert_eq!(after_a_pause(sender, Qos::default().keep_last(600), 800), deep);
}

#[test]
fn what_comes_during_a_slow_callback_is_one_sample_at_depth_one() {
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", ());
    let mut listener = side(&domain, "listener", Heard::new());
    let publisher = talker.node.publisher::<msg::String>("chatter".keep_last(100)).unwrap();
    let sender = talker.node.publisher::<msg::String>("chatter".keep_last(100)).unwrap();
    let subscription = listener
        .events
        .subscribe(&listener.node, "chatter".keep_last(1), move |heard: &mut Heard, sample| {
            let message: msg::String = sample.message;
            if message.data == "slow" {
                for number in 1..=20 {
                    sender.publish(&text(format!("{number}")));
                }
                assert!(sender.wait_acknowledged(Duration::from_secs(20)));
            }
            heard.push(message.data);
        })
        .unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1 && subscription.matched() == 2);
    publisher.publish(&text("slow"));
    talk("the last", &mut talker, &mut listener, |_, listener| listener.seen.len() > 1);
    talker.observe(MOMENT);
    listener.observe(MOMENT);
    assert_eq!(listener.seen, ["slow", "20"]);
}

#[test]
fn nothing_is_lost_between_those_who_keep_all_however_long_the_listener_pauses() {
    const SENT: usize = 12_000;
    let domain = DomainLease::acquire();
    let mut talker = side(&domain, "talker", 0);
    let mut listener = side(&domain, "listener", Vec::<usize>::new());
    let publisher = talker.node.publisher::<msg::String>("chatter".keep_all()).unwrap();
    let keep = |heard: &mut Vec<usize>, sample: Sample<msg::String>| {
        heard.push(sample.message.data.parse().unwrap())
    };
    let subscription = listener.events.subscribe(&listener.node, "chatter".keep_all(), keep).unwrap();
    talk("match", &mut talker, &mut listener, |_, _| publisher.matched() == 1 && subscription.matched() == 1);
    // The listener does not look: what it has no room for stays with the publisher, which refuses more in the end.
    let mut sent = 0;
    let deadline = std::time::Instant::now() + Duration::from_secs(2);
    while sent < SENT && std::time::Instant::now() < deadline {
        match publisher.publish(&text(sent.to_string())) {
            true => sent += 1,
            false => talker.observe(MOMENT),
        }
    }
    assert!(sent > 10_000, "only {sent} samples found room");
    talk("everything", &mut talker, &mut listener, |talker, listener| {
        while sent < SENT && publisher.publish(&text(sent.to_string())) {
            sent += 1;
        }
        talker.observe(MOMENT);
        listener.seen.len() == SENT
    });
    assert!(listener.seen.iter().copied().eq(0..SENT), "out of order");
    assert_eq!(subscription.counters().lost, 0);
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
    let mut listener = side(&domain, "listener", Vec::new());
    let subscription = listener
        .events
        .subscribe::<msg::Int32>(&listener.node, "keyed", |heard: &mut Vec<_>, sample| {
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
    let matched = listener.events.run_until(&mut listener.seen, patience, |_| subscription.matched() == 1);
    assert!(matched.unwrap(), "the keyed writer is not matched");
    // That it is matched does not tell that the writer has found it, too.
    let deadline = std::time::Instant::now() + patience;
    while listener.seen.is_empty() {
        assert!(std::time::Instant::now() < deadline, "nothing was heard");
        writer.write(Number { data: 1 }, None).unwrap();
        let pause = Duration::from_millis(100);
        listener.events.run_until(&mut listener.seen, pause, |heard| !heard.is_empty()).unwrap();
    }
    writer.dispose(&1, None).unwrap();
    writer.write(Number { data: 2 }, None).unwrap();
    let heard = listener.events.run_until(&mut listener.seen, patience, |heard| heard.ends_with(&[2]));
    assert!(heard.unwrap(), "{:?}", listener.seen);
    listener.seen.dedup();
    assert_eq!(listener.seen, [1, 2]);
    assert_eq!(subscription.counters().undecodable, 0);
}
