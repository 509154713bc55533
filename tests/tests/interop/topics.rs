//! Publishing and subscribing in both directions.

use rosless_graph::{Sample, Subscription, TopicQos};
use rosless_tests::{DomainLease, ForeignPeer, Rig, Vendor};
use rosless_wire::{
    Message, cdr, names,
    std_msgs::msg::{String as Text, UInt8MultiArray},
};

use crate::ours::typehash;

/// Keeps all: a burst must not be cut by the depth of whoever reads it.
const RELIABLE: &str = "reliable,volatile,0";
const LATCHED: &str = "reliable,transient_local,1";
const MEGABYTE: usize = 1_000_000;

fn text(data: &str) -> Text {
    Text { data: data.into() }
}

fn dds_type<M: Message>() -> String {
    names::type_to_dds(M::TYPE_NAME).expect("wire types have valid names")
}

fn for_each_vendor(test: impl Fn(&DomainLease, Vendor)) {
    for vendor in Vendor::ALL {
        test(&DomainLease::acquire(), vendor);
    }
}

#[test]
fn what_we_publish_arrives() {
    for_each_vendor(|domain, vendor| {
        let Some(mut peer) = vendor.start(domain.id()) else { return };
        let mut ours = Rig::beside(domain, "talker", ());
        let publisher = ours.node.publisher::<Text>("chatter".keep_all()).unwrap();
        peer.reader("r", "rt/chatter", &dds_type::<Text>(), RELIABLE, &typehash(Text::TYPE_HASH));
        ours.until("both sides matched", |()| publisher.matched() == 1 && peer.matched("r") == 1);
        // Lengths that leave every possible remainder, because payloads are padded to 4.
        let sent: Vec<_> = (0..50).map(|i| text(&"x".repeat(i))).collect();
        for message in &sent {
            assert!(publisher.publish(message));
        }
        ours.until("50 samples", |()| peer.samples("r").len() == sent.len());
        let got: Vec<Text> =
            peer.samples("r").iter().map(|s| cdr::from_payload(&s.payload).unwrap()).collect();
        assert_eq!(got, sent, "{vendor:?}");
    });
}

type Texts = Vec<Text>;

/// A listener of ours to `chatter` that has met a writer of the vendor's, `w`.
fn listener(domain: &DomainLease, vendor: Vendor) -> Option<(Rig<Texts>, Subscription<Texts>, ForeignPeer)> {
    let mut peer = vendor.start(domain.id())?;
    let mut ours = Rig::beside(domain, "listener", Vec::<Text>::new());
    let heard = |heard: &mut Vec<Text>, sample: Sample<Text>| heard.push(sample.message);
    let subscription = ours.events.subscribe(&ours.node, "chatter".keep_all(), heard).unwrap();
    peer.writer("w", "rt/chatter", &dds_type::<Text>(), RELIABLE, &typehash(Text::TYPE_HASH));
    ours.until("both sides matched", |_| subscription.matched() == 1 && peer.matched("w") == 1);
    Some((ours, subscription, peer))
}

#[test]
fn what_they_publish_arrives() {
    for_each_vendor(|domain, vendor| {
        let Some((mut ours, subscription, mut peer)) = listener(domain, vendor) else { return };
        let sent: Vec<_> = (0..50).map(|i| text(&"y".repeat(i))).collect();
        for message in &sent {
            peer.write("w", &cdr::to_payload(message));
        }
        ours.until("50 samples", |heard| heard.len() == sent.len());
        assert_eq!(ours.seen, sent, "{vendor:?}");
        assert_eq!(subscription.counters().undecodable, 0);
    });
}

#[test]
fn late_joiners_get_what_was_latched() {
    for_each_vendor(|domain, vendor| {
        let Some(mut peer) = vendor.start(domain.id()) else { return };
        let mut ours = Rig::beside(domain, "latch", Vec::<Text>::new());
        let publisher = ours.node.publisher::<Text>("from_us".latched()).unwrap();
        publisher.publish(&text("old"));
        publisher.publish(&text("newest"));
        peer.writer("w", "rt/from_them", &dds_type::<Text>(), LATCHED, &typehash(Text::TYPE_HASH));
        peer.write("w", &cdr::to_payload(&text("theirs")));
        peer.reader("r", "rt/from_us", &dds_type::<Text>(), LATCHED, &typehash(Text::TYPE_HASH));
        let heard = |heard: &mut Vec<Text>, sample: Sample<Text>| heard.push(sample.message);
        ours.events.subscribe(&ours.node, "from_them".latched(), heard).unwrap();
        ours.until("both late joiners served", |heard| !heard.is_empty() && !peer.samples("r").is_empty());
        assert_eq!(ours.seen, [text("theirs")], "{vendor:?}");
        let got: Vec<Text> =
            peer.samples("r").iter().map(|s| cdr::from_payload(&s.payload).unwrap()).collect();
        assert_eq!(got, [text("newest")], "{vendor:?}");
    });
}

#[test]
fn a_megabyte_goes_both_ways() {
    for_each_vendor(|domain, vendor| {
        let Some(mut peer) = vendor.start(domain.id()) else { return };
        let mut ours = Rig::beside(domain, "heavy", Vec::<usize>::new());
        let hash = typehash(UInt8MultiArray::TYPE_HASH);
        let publisher = ours.node.publisher::<UInt8MultiArray>("from_us").unwrap();
        let heard =
            |heard: &mut Vec<usize>, sample: Sample<UInt8MultiArray>| heard.push(sample.message.data.len());
        ours.events.subscribe(&ours.node, "from_them", heard).unwrap();
        peer.reader("r", "rt/from_us", &dds_type::<UInt8MultiArray>(), RELIABLE, &hash);
        peer.writer("w", "rt/from_them", &dds_type::<UInt8MultiArray>(), RELIABLE, &hash);
        ours.until("matched", |_| {
            peer.matched("r") == 1 && peer.matched("w") == 1 && publisher.matched() == 1
        });
        for extra in 0..3 {
            publisher.publish(&UInt8MultiArray { data: vec![7; MEGABYTE + extra], ..Default::default() });
            peer.write_zeros("w", MEGABYTE + extra);
        }
        ours.until("three of each", |heard| heard.len() == 3 && peer.samples("r").len() == 3);
        assert_eq!(ours.seen, [MEGABYTE, MEGABYTE + 1, MEGABYTE + 2], "{vendor:?}");
        for sample in peer.samples("r") {
            assert!(sample.length >= MEGABYTE, "{vendor:?} got {} bytes", sample.length);
        }
    });
}

#[test]
fn garbage_is_counted_and_the_next_sample_is_heard() {
    for_each_vendor(|domain, vendor| {
        let Some((mut ours, subscription, mut peer)) = listener(domain, vendor) else { return };
        peer.write("w", &[0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        peer.write("w", &[0, 1, 0, 0, 2, 0, 0, 0, 0xc3, 0]);
        peer.write("w", &cdr::to_payload(&text("fine")));
        ours.until("the good one", |heard| !heard.is_empty());
        assert_eq!(ours.seen, [text("fine")], "{vendor:?}");
        assert_eq!(subscription.counters().undecodable, 2, "{vendor:?}");
    });
}

#[test]
fn a_ros_peer_that_keeps_to_localhost_is_reached_at_its_own_address() {
    let domain = DomainLease::acquire();
    let Some(mut peer) = Vendor::start_cyclone_for_localhost_range(domain.id()) else { return };
    let mut ours = Rig::beside(&domain, "neighbour", Vec::<Text>::new());
    let publisher = ours.node.publisher::<Text>("from_us").unwrap();
    let heard = |heard: &mut Vec<Text>, sample: Sample<Text>| heard.push(sample.message);
    let subscription = ours.events.subscribe(&ours.node, "from_them", heard).unwrap();
    peer.reader("r", "rt/from_us", &dds_type::<Text>(), RELIABLE, &typehash(Text::TYPE_HASH));
    peer.writer("w", "rt/from_them", &dds_type::<Text>(), RELIABLE, &typehash(Text::TYPE_HASH));
    ours.until("matched", |_| {
        publisher.matched() == 1
            && subscription.matched() == 1
            && peer.matched("r") == 1
            && peer.matched("w") == 1
    });
    publisher.publish(&text("to them"));
    peer.write("w", &cdr::to_payload(&text("to us")));
    ours.until("both heard", |heard| !heard.is_empty() && !peer.samples("r").is_empty());
    assert_eq!(ours.seen, [text("to us")]);
}
