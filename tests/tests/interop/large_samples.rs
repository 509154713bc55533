//! Samples that are much larger than a datagram and than a receive socket, in both directions.
//!
//! `ROSLESS_LARGE=20` sends that many of each size.

use std::time::{Duration, Instant};

use rosless_graph::{Sample, TopicQos};
use rosless_tests::{DomainLease, Rig, Vendor};
use rosless_wire::{Message, names, std_msgs::msg::UInt8MultiArray as Blob};

use crate::ours::{PATIENCE, typehash};

const SIZES: [usize; 3] = [100_000, 1_000_000, 10_000_000];
const RELIABLE: &str = "reliable,volatile,0";

fn samples() -> usize {
    std::env::var("ROSLESS_LARGE").ok().and_then(|samples| samples.parse().ok()).unwrap_or(3)
}

fn dds_type() -> String {
    names::type_to_dds(Blob::TYPE_NAME).expect("a valid name")
}

fn report(case: &str, size: usize, took: Duration) {
    let megabytes = (size * samples()) as f64 / 1e6;
    println!(
        "{case}: {} x {size} bytes in {took:.2?}, {:.0} MB/s",
        samples(),
        megabytes / took.as_secs_f64()
    );
}

#[test]
fn large_samples_reach_them() {
    for (vendor, domain, mut peer) in Vendor::each() {
        let mut ours = Rig::beside(&domain, "heavy", ());
        let publisher = ours.node.publisher::<Blob>("blob".keep_all()).unwrap();
        peer.reader("r", "rt/blob", &dds_type(), RELIABLE, &typehash(Blob::TYPE_HASH));
        ours.until("matched", |()| peer.matched("r") == 1 && publisher.matched() == 1);
        let mut arrived = 0;
        for size in SIZES {
            let began = Instant::now();
            for _ in 0..samples() {
                publisher.publish(&Blob { data: vec![7; size], ..Default::default() });
                arrived += 1;
                ours.until("the sample is there", |()| peer.samples("r").len() == arrived);
            }
            report(&format!("ours to {vendor:?}"), size, began.elapsed());
            assert!(peer.samples("r")[arrived - 1].length >= size);
        }
    }
}

#[test]
fn large_samples_reach_us() {
    for (vendor, domain, mut peer) in Vendor::each() {
        let mut ours = Rig::beside(&domain, "heavy", Vec::<usize>::new());
        let heard = |heard: &mut Vec<usize>, sample: Sample<Blob>| heard.push(sample.message.data.len());
        ours.events.subscribe(&ours.node, "blob".keep_all(), heard).unwrap();
        peer.writer("w", "rt/blob", &dds_type(), RELIABLE, &typehash(Blob::TYPE_HASH));
        ours.until("matched", |_| peer.matched("w") == 1);
        for size in SIZES {
            let began = Instant::now();
            ours.seen.clear();
            for count in 1..=samples() {
                peer.write_zeros("w", size);
                ours.until("the sample is there", |heard| heard.len() == count);
            }
            report(&format!("{vendor:?} to ours"), size, began.elapsed());
            assert!(ours.seen.iter().all(|heard| *heard == size), "{vendor:?}");
        }
    }
}

/// What to compare with: the vendors among themselves, over the same sockets.
#[test]
fn large_samples_between_vendors() {
    if std::env::var("ROSLESS_LARGE").is_err() {
        return;
    }
    for (from, to) in [(Vendor::Cyclone, Vendor::FastDds), (Vendor::FastDds, Vendor::Cyclone)] {
        let domain = DomainLease::acquire();
        let (Some(mut writer), Some(mut reader)) = (from.start(domain.id()), to.start(domain.id())) else {
            return;
        };
        writer.writer("w", "rt/blob", &dds_type(), RELIABLE, &typehash(Blob::TYPE_HASH));
        reader.reader("r", "rt/blob", &dds_type(), RELIABLE, &typehash(Blob::TYPE_HASH));
        writer.wait_matched("w", 1);
        reader.wait_matched("r", 1);
        // A volatile reader hears what is written once it is matched for good.
        rosless_tests::eventually("a first sample", PATIENCE, || {
            writer.write_zeros("w", 4);
            std::thread::sleep(Duration::from_millis(100));
            !reader.samples("r").is_empty()
        });
        let before = reader.samples("r").len();
        let mut arrived = before;
        for size in SIZES {
            let began = Instant::now();
            for _ in 0..samples() {
                writer.write_zeros("w", size);
                arrived += 1;
                let deadline = Instant::now() + PATIENCE;
                while reader.samples("r").len() < arrived {
                    assert!(
                        Instant::now() < deadline,
                        "{from:?} to {to:?}: a sample of {size} bytes is missing"
                    );
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            report(&format!("{from:?} to {to:?}"), size, began.elapsed());
        }
    }
}
