//! One sample between two that have only just met, as with `ros2 topic pub --once`: whoever comes first, it arrives.
//!
//! `ROSLESS_ONCE=200` repeats each case that often.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rosless_graph::{Qos, Sample};
use rosless_tests::{DomainLease, Rig, Vendor};
use rosless_wire::{Message, cdr, names, std_msgs::msg::String as Text};

use crate::ours::typehash;

/// What `ros2 topic pub --once` waits before it leaves.
const KEEP_ALIVE: Duration = Duration::from_millis(100);

pub(crate) fn rounds() -> usize {
    std::env::var("ROSLESS_ONCE").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(2)
}

/// What took longer than it should is said at once, with the time of day, so that it can be found in a capture.
fn noted(domain: &DomainLease, round: usize, took: Duration) -> Duration {
    if took > Duration::from_millis(300) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
        println!("slow: domain {}, round {round} took {took:.1?}, ended at {now:.3}", domain.id());
    }
    took
}

fn text(round: usize) -> Text {
    Text { data: format!("once {round}") }
}

fn dds_type() -> String {
    names::type_to_dds(Text::TYPE_NAME).expect("a valid name")
}

/// The quality of service in our words and in theirs.
fn kinds() -> [(Qos, &'static str); 2] {
    [
        (Qos::default().keep_all(), "reliable,volatile,0"),
        (Qos::default().best_effort().keep_last(10), "best_effort,volatile,10"),
    ]
}

fn for_each(case: &str, test: impl Fn(&DomainLease, Vendor, Qos, &str) -> Option<Vec<Duration>>) {
    for vendor in Vendor::ALL {
        for (qos, theirs) in kinds() {
            let Some(mut times) = test(&DomainLease::acquire(), vendor, qos, theirs) else { continue };
            times.sort();
            let [median, worst] = [times[times.len() / 2], times[times.len() - 1]];
            println!(
                "{case}, {vendor:?}, {theirs}: {} of {} arrived, median {median:.1?}, worst {worst:.1?}",
                times.len(),
                rounds()
            );
        }
    }
}

#[test]
fn our_new_publisher_reaches_their_subscription() {
    for_each("ours publishes and leaves", |domain, vendor, qos, theirs| {
        let mut peer = vendor.start(domain.id())?;
        peer.reader("r", "rt/chatter", &dds_type(), theirs, &typehash(Text::TYPE_HASH));
        let round = |round| {
            let began = Instant::now();
            let mut ours = Rig::beside(domain, "talker", ());
            let publisher = ours.node.publisher::<Text>(("chatter", qos)).unwrap();
            ours.until("matched", |()| publisher.matched() == 1);
            publisher.publish(&text(round));
            let matched = began.elapsed();
            ours.until("the sample is there", |()| peer.samples("r").len() > round);
            let samples = peer.samples("r");
            assert_eq!(cdr::from_payload::<Text>(&samples[round].payload), Ok(text(round)), "{vendor:?}");
            noted(domain, round, matched)
        };
        Some((0..rounds()).map(round).collect())
    });
}

#[test]
fn their_new_publisher_reaches_our_subscription() {
    for_each("theirs publishes and leaves", |domain, vendor, qos, theirs| {
        let mut ours = Rig::beside(domain, "listener", Vec::<Text>::new());
        let heard = |heard: &mut Vec<Text>, sample: Sample<Text>| heard.push(sample.message);
        ours.events.subscribe(&ours.node, ("chatter", qos), heard).unwrap();
        let mut times = Vec::new();
        for round in 0..rounds() {
            let mut peer = vendor.start(domain.id())?;
            let began = Instant::now();
            peer.writer("w", "rt/chatter", &dds_type(), theirs, &typehash(Text::TYPE_HASH));
            ours.until("they are matched", |_| peer.matched("w") == 1);
            peer.write("w", &cdr::to_payload(&text(round)));
            let until = Instant::now() + KEEP_ALIVE;
            ours.until("they have left", |_| Instant::now() > until);
            times.push(noted(domain, round, began.elapsed().saturating_sub(KEEP_ALIVE)));
            drop(peer);
            ours.until("the sample is there", |heard| heard.len() > round);
            assert_eq!(ours.seen[round], text(round), "{vendor:?}");
        }
        Some(times)
    });
}

#[test]
fn our_publisher_reaches_their_new_subscription() {
    for_each("theirs subscribes later", |domain, vendor, qos, theirs| {
        let mut ours = Rig::beside(domain, "talker", ());
        let publisher = ours.node.publisher::<Text>(("chatter", qos)).unwrap();
        let mut times = Vec::new();
        for round in 0..rounds() {
            let mut peer = vendor.start(domain.id())?;
            let began = Instant::now();
            peer.reader("r", "rt/chatter", &dds_type(), theirs, &typehash(Text::TYPE_HASH));
            ours.until("matched", |()| publisher.matched() == 1);
            publisher.publish(&text(round));
            ours.until("the sample is there", |()| peer.samples("r").len() == 1);
            times.push(noted(domain, round, began.elapsed()));
            peer.delete("r");
            ours.until("it has left", |()| publisher.matched() == 0);
        }
        Some(times)
    });
}

#[test]
fn their_publisher_reaches_our_new_subscription() {
    for_each("ours subscribes later", |domain, vendor, qos, theirs| {
        let mut peer = vendor.start(domain.id())?;
        peer.writer("w", "rt/chatter", &dds_type(), theirs, &typehash(Text::TYPE_HASH));
        let mut round = |round| {
            peer.wait_matched("w", 0);
            let began = Instant::now();
            let mut ours = Rig::beside(domain, "listener", Vec::<Text>::new());
            let heard = |heard: &mut Vec<Text>, sample: Sample<Text>| heard.push(sample.message);
            ours.events.subscribe(&ours.node, ("chatter", qos), heard).unwrap();
            ours.until("they are matched", |_| peer.matched("w") == 1);
            peer.write("w", &cdr::to_payload(&text(round)));
            ours.until("the sample is there", |heard| !heard.is_empty());
            assert_eq!(ours.seen, [text(round)], "{vendor:?}");
            noted(domain, round, began.elapsed())
        };
        Some((0..rounds()).map(&mut round).collect())
    });
}
