//! What a sample looks like to the application.

mod common;

use common::{exchange, local, reader, reliable, take, writer, SOON};
use rosless_tests::{eventually, eventually_some, DomainLease};
use rustdds::{
    bytes::Bytes, dds::result::WriteError, policy, QosPolicyBuilder, RepresentationIdentifier,
    SampleIdentity, SequenceNumber, Timestamp, WriteOptionsBuilder, GUID,
};

/// Stock: nothing arrives, because a localhost-only participant does not reach itself.
#[test]
fn readers_and_writers_of_one_local_participant_meet() {
    let lease = DomainLease::acquire();
    let participant = local(lease.id()).build().expect("participant");
    let writer = writer(&participant, "t", &reliable(10));
    let reader = reader(&participant, "t", &reliable(10));
    exchange("sample to the same participant", &writer, &reader);
}

/// Stock: the fragmented ones (from 70 001 bytes on) come and go unpadded, which Cyclone DDS 0.10 does not accept.
#[test]
fn payloads_of_any_length_arrive_in_order_and_padded() {
    let lease = DomainLease::acquire();
    let ends =
        [local(lease.id()).build().expect("participant"), local(lease.id()).build().expect("participant")];
    let writer = writer(&ends[0], "t", &reliable(1000));
    let reader = reader(&ends[1], "t", &reliable(1000));
    exchange("first sample", &writer, &reader);

    let lengths: Vec<usize> = (1..40).chain([1399, 1401, 70_001, 200_003]).collect();
    for &length in &lengths {
        common::write(&writer, vec![length as u8; length]);
    }
    let mut got = Vec::new();
    eventually("all lengths arrive", SOON, || {
        got.extend(take(&reader).into_iter().filter(|sample| !sample.starts_with(b"first")));
        got.len() == lengths.len()
    });
    for (sample, length) in got.iter().zip(lengths) {
        assert_eq!(sample.len(), length.next_multiple_of(4));
        assert!(sample[..length].iter().all(|&byte| byte == length as u8), "content of {length} bytes");
    }
}

/// The identity that Fast DDS services put into inline QoS goes out and comes in, together with writer and number.
#[test]
fn raw_samples_carry_identities_and_reach_one_reader_only() {
    let lease = DomainLease::acquire();
    let ends = [(); 3].map(|()| local(lease.id()).build().expect("participant"));
    let writer = writer(&ends[0], "t", &reliable(10));
    let asked = reader(&ends[1], "t", &reliable(10));
    let other = reader(&ends[2], "t", &reliable(10));
    exchange("asked reader matches", &writer, &asked);
    exchange("other reader matches", &writer, &other);
    take(&asked);

    let related =
        SampleIdentity { writer_guid: GUID::from_bytes([7; 16]), sequence_number: SequenceNumber::UNKNOWN };
    let now = Timestamp::now();
    let options = WriteOptionsBuilder::new()
        .related_sample_identity(related)
        .source_timestamp(now)
        .to_single_reader(asked.guid())
        .build();
    let written = writer.try_write_with_options(Bytes::from_static(b"reply..."), options).expect("accepted");

    let raw = eventually_some("reply arrives", SOON, || {
        asked.drain_read_notifications();
        std::iter::from_fn(|| asked.try_take_raw()).find(|raw| raw.payload.value == b"reply..."[..])
    });
    assert_eq!(raw.identity, written);
    assert_eq!(raw.related_sample_identity, Some(related));
    assert_eq!(raw.source_timestamp, Some(now));
    assert_eq!(raw.payload.representation_identifier, RepresentationIdentifier::CDR_LE);

    // The other reader is told that there is nothing for it, and goes on.
    exchange("later sample to the other reader", &writer, &other);
    common::write(&writer, "end.");
    let mut seen = Vec::new();
    eventually("end arrives", SOON, || {
        seen.extend(take(&other));
        seen.contains(&Bytes::from_static(b"end."))
    });
    assert!(!seen.contains(&Bytes::from_static(b"reply...")));
}

/// Stock can only refuse at once if peers are told so, by a max_blocking_time of zero.
#[test]
fn writing_can_refuse_instead_of_waiting() {
    let lease = DomainLease::acquire();
    let patient = QosPolicyBuilder::new()
        .reliability(policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_secs(3600) })
        .durability(policy::Durability::Volatile)
        .history(policy::History::KeepAll)
        .resource_limits(policy::ResourceLimits {
            max_samples: 5,
            max_instances: 1,
            max_samples_per_instance: 5,
        })
        .build();
    let participant = local(lease.id()).build().expect("participant");
    let down = writer(&participant, "down", &patient);
    let up = reader(&participant, "up", &reliable(10));
    let peer = common::peer("echo", lease.id());
    exchange("echo", &down, &up);
    peer.signal("STOP");
    // A write that waited would wait for an hour.
    let refused = (0..20).find_map(|_| {
        down.try_write_with_options(Bytes::from_static(b"full"), WriteOptionsBuilder::new().build()).err()
    });
    assert!(matches!(refused, Some(WriteError::WouldBlock { data }) if data == b"full"[..]));
}

/// A wake-up that gets lost would leave samples lying.
#[test]
fn nothing_lies_without_a_wake_up() {
    const SAMPLES: u32 = 5000;
    let qos = reliable(SAMPLES as i32);
    let lease = DomainLease::acquire();
    let ends =
        [local(lease.id()).build().expect("participant"), local(lease.id()).build().expect("participant")];
    let writer = writer(&ends[0], "t", &qos);
    let mut reader = reader(&ends[1], "t", &qos);
    exchange("first sample", &writer, &reader);

    let mut poll = mio1::Poll::new().expect("poll");
    poll.registry().register(&mut reader, mio1::Token(0), mio1::Interest::READABLE).expect("registered");
    let mut events = mio1::Events::with_capacity(1);
    let mut next = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..SAMPLES {
                common::write(&writer, number.to_le_bytes().to_vec());
            }
        });
        while next < SAMPLES {
            poll.poll(&mut events, Some(SOON)).expect("poll");
            assert!(!events.is_empty(), "{next} of {SAMPLES} taken, no wake-up for the rest");
            reader.drain_read_notifications();
            while let Some(sample) = reader.try_take_raw() {
                if sample.payload.value.len() == 4 {
                    assert_eq!(sample.payload.value[..], next.to_le_bytes());
                    next += 1;
                }
            }
        }
    });
}

/// Stock keeps the last 2000 samples after they were taken, here 60 MB.
#[test]
fn what_was_taken_is_not_kept() {
    for durability in [policy::Durability::Volatile, policy::Durability::TransientLocal] {
        let lease = DomainLease::acquire();
        let participant = local(lease.id()).build().expect("participant");
        let qos = |depth| {
            QosPolicyBuilder::new()
                .reliable(rustdds::Duration::from_millis(100))
                .durability(durability)
                .history(policy::History::KeepLast { depth })
                .build()
        };
        let writer = writer(&participant, "t", &qos(10));
        let reader = reader(&participant, "t", &qos(2000));
        exchange("first sample", &writer, &reader);
        let before = common::resident(std::process::id());
        for number in 0..600_u32 {
            common::write(&writer, number.to_le_bytes().repeat(25_000));
            let raw = eventually_some("the sample arrives", SOON, || {
                reader.drain_read_notifications();
                std::iter::from_fn(|| reader.try_take_raw()).find(|raw| raw.payload.value.len() == 100_000)
            });
            assert_eq!(raw.payload.value[..4], number.to_le_bytes());
        }
        let grown = common::resident(std::process::id()).saturating_sub(before);
        assert!(grown < 30_000_000, "{durability:?}: {grown} bytes more");
    }
}

/// They share a cache: what one has taken is still there for the other.
#[test]
fn two_readers_in_one_process_both_get_everything() {
    let lease = DomainLease::acquire();
    let participant = local(lease.id()).build().expect("participant");
    let writer = writer(&participant, "t", &reliable(100));
    let readers = [(); 2].map(|()| reader(&participant, "t", &reliable(100)));
    readers.iter().for_each(|reader| exchange("first sample", &writer, reader));
    for number in 0..100_u8 {
        common::write(&writer, vec![number; 4]);
    }
    for reader in readers {
        let mut numbers = Vec::new();
        eventually("all numbers arrive", SOON, || {
            reader.drain_read_notifications();
            let taken = std::iter::from_fn(|| reader.try_take_raw()).map(|raw| raw.payload.value);
            numbers.extend(taken.filter(|value| value.len() == 4).map(|value| value[0]));
            numbers.len() >= 100
        });
        assert!(numbers.into_iter().eq(0..100));
    }
}
