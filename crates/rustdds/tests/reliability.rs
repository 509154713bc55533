//! Reliable writers and readers that do not keep up.

mod common;

use common::{exchange, local, peer, reader, reliable, take, writer, SOON};
use rosless_tests::{eventually, DomainLease};
use rustdds::{bytes::Bytes, policy, QosPolicyBuilder, Timestamp};

/// Stock: the 8193rd write waits for the dead reader and fails, and the healthy one starves.
#[test]
fn killed_reader_does_not_starve_a_healthy_one() {
    let lease = DomainLease::acquire();
    let ends =
        [local(lease.id()).build().expect("participant"), local(lease.id()).build().expect("participant")];
    let writer = writer(&ends[0], "down", &reliable(10));
    let up = reader(&ends[0], "up", &reliable(10));
    let healthy = reader(&ends[1], "down", &reliable(10));
    let victim = peer("echo", lease.id());
    exchange("victim echoes", &writer, &up);
    exchange("healthy reader hears", &writer, &healthy);
    victim.signal("KILL");

    for number in 0..9_000u32 {
        let sample = Bytes::copy_from_slice(&number.to_le_bytes());
        writer.write(sample, Some(Timestamp::now())).unwrap_or_else(|e| panic!("write {number}: {e}"));
    }
    exchange("healthy reader still hears", &writer, &healthy);
}

/// Stock: the late joiner gets all that the stopped reader has not acknowledged.
#[test]
fn late_joiner_gets_the_last_samples() {
    let qos = QosPolicyBuilder::new()
        .reliability(policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) })
        .durability(policy::Durability::TransientLocal)
        .history(policy::History::KeepLast { depth: 3 })
        .build();
    let lease = DomainLease::acquire();
    let end = || local(lease.id()).build().expect("participant");
    let ours = end();
    let writer = writer(&ours, "down", &qos);
    let up = reader(&ours, "up", &reliable(10));
    let stopped = peer("echo", lease.id());
    exchange("peer echoes", &writer, &up);
    stopped.signal("STOP");

    for number in 0..50u32 {
        writer.write(Bytes::copy_from_slice(&number.to_le_bytes()), None).expect("accepted");
    }
    let until_the_newest = |reader: &_| {
        let mut got: Vec<Bytes> = Vec::new();
        eventually("the newest sample arrives", SOON, || {
            got.extend(take(reader));
            got.last().is_some_and(|last| last[..] == 49u32.to_le_bytes())
        });
        got
    };
    // Who is met while the last of them still wait to be sent gets those as well; who comes after this one does not.
    let other = end();
    until_the_newest(&reader(&other, "down", &qos));
    let sent_again = ours.repairs().sent_again();
    let theirs = end();
    let got = until_the_newest(&reader(&theirs, "down", &qos));
    let expected: Vec<Bytes> = (47..50u32).map(|n| Bytes::copy_from_slice(&n.to_le_bytes())).collect();
    assert_eq!(got, expected);
    assert_eq!(ours.repairs().sent_again(), sent_again, "what a late joiner gets is sent for the first time");
    assert_eq!(theirs.repairs().asked(), 0);
}
