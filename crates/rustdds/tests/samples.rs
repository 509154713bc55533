//! What a sample looks like to the application.

#[path = "../patches/new/network/beaten_paths.rs"]
mod beaten_paths;
mod common;

use std::{collections::BTreeSet, process::Command};

use common::{
    exchange, local, reader, reliable,
    scripted::{Announced, ScriptedPeer, ANYBODY, CYCLONE, PUBLICATIONS_WRITER},
    take, writer, SOON,
};
use rosless_tests::{eventually, eventually_some, DomainLease};
use rustdds::{
    bytes::Bytes, dds::result::WriteError, policy, DomainParticipantStatusEvent, QosPolicyBuilder,
    RepresentationIdentifier, SampleIdentity, SequenceNumber, StatusEvented, Timestamp, WriteOptionsBuilder,
    GUID,
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

/// Small ones are written, and read, in one go. Where there are debug assertions each is compared with what the long way makes
/// of it, and an event loop that sees a difference ends.
#[test]
fn samples_of_any_small_length_arrive_as_they_were_written_with_a_time_or_without() {
    const GROUPS: usize = 150;
    // As many as a reader of the last ten can lie waiting.
    const AT_ONCE: usize = 8;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    for qos in [reliable(10), common::best_effort()] {
        let lease = DomainLease::acquire();
        let ends = [(); 2].map(|()| local(lease.id()).build().expect("participant"));
        let (writer, reader) = (writer(&ends[0], "t", &qos), reader(&ends[1], "t", &qos));
        exchange("first sample", &writer, &reader);
        let settled = || take(&reader).iter().any(|sample| sample == "settled.");
        common::write(&writer, "settled.");
        eventually("what came before is gone", SOON, settled);
        for group in 0..GROUPS {
            let samples: Vec<(Bytes, Option<Timestamp>)> = (0..1 + random(AT_ONCE))
                .map(|_| {
                    // Those that need no padding most often.
                    let length = if random(4) == 0 { random(2001) } else { 4 * random(501) };
                    let payload = std::iter::repeat_with(|| random(256) as u8).take(length).collect();
                    (payload, (random(2) == 0).then(Timestamp::now))
                })
                .collect();
            for (payload, time) in &samples {
                writer.write(payload.clone(), *time).expect("sample is accepted");
            }
            let mut heard = Vec::new();
            eventually(&format!("all of group {group}"), SOON, || {
                reader.drain_read_notifications();
                heard.extend(std::iter::from_fn(|| reader.try_take_raw()));
                heard.len() >= samples.len()
            });
            assert_eq!(heard.len(), samples.len());
            for (heard, (payload, time)) in heard.iter().zip(&samples) {
                let (content, padding) = heard.payload.value.split_at(payload.len());
                assert_eq!((content, heard.source_timestamp), (&payload[..], *time));
                assert!(padding.len() < 4, "{} bytes behind {}", padding.len(), payload.len());
            }
        }
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

/// Without patch 0251 none of them can be taken.
#[test]
fn what_was_acknowledged_is_taken_also_when_its_writer_is_gone() {
    const SAMPLES: u32 = 500;
    let lease = DomainLease::acquire();
    let [talker, listener] = [(); 2].map(|()| local(lease.id()).build().expect("participant"));
    let writer = writer(&talker, "t", &common::keep_all(1000));
    let reader = reader(&listener, "t", &common::keep_all(1000));
    exchange("first sample", &writer, &reader);
    for number in 0..SAMPLES {
        common::write(&writer, number.to_le_bytes().to_vec());
    }
    assert!(writer.wait_for_acknowledgments(SOON).expect("no fault"), "all of them came");
    drop(writer);
    drop(talker);
    eventually("it is known that the talker has left", SOON, || {
        let mut events = std::iter::from_fn(|| listener.status_listener().try_recv_status());
        events.any(|event| matches!(event, DomainParticipantStatusEvent::ParticipantLost { .. }))
    });
    let numbers: Vec<[u8; 4]> =
        take(&reader).iter().filter_map(|sample| sample[..].try_into().ok()).collect();
    assert_eq!(numbers.len(), SAMPLES as usize);
    assert!(numbers.into_iter().map(u32::from_le_bytes).eq(0..SAMPLES));
}

/// A command must not come without the one before it.
#[test]
fn what_waits_for_a_missing_sample_goes_with_its_writer() {
    const WRITER: [u8; 4] = [0, 1, 1, 3];
    let lease = DomainLease::acquire();
    let participant = local(lease.id()).build().expect("participant");
    let reader = reader(&participant, "t", &common::keep_all(1000));
    let mut peer = ScriptedPeer::new(&participant, CYCLONE);
    peer.meet();
    let announced = peer.announcement(1, Announced { entity: WRITER, topic: "t", reliable: true });
    let heartbeat = peer.heartbeat(PUBLICATIONS_WRITER, 1, 1);
    peer.say_to_discovery(&[announced, heartbeat]);
    let sample = |number: u8| peer.data(ANYBODY, WRITER, number.into(), &[0, 1, 0, 0, number, 0, 0, 0]);
    let (first, third) = (sample(1), sample(3));
    eventually("the first one comes", SOON, || {
        peer.say(&[first.clone(), third.clone()]);
        take(&reader).iter().any(|sample| sample[0] == 1)
    });
    let lost = || {
        let mut events = std::iter::from_fn(|| participant.status_listener().try_recv_status());
        events.any(|event| matches!(event, DomainParticipantStatusEvent::ParticipantLost { .. }))
    };
    peer.say_goodbye();
    eventually("it is known that the peer has left", SOON, lost);
    assert!(take(&reader).is_empty(), "the second was never sent");
}

/// Without patch 0252: 7 MB more.
#[test]
fn what_a_best_effort_reader_has_missed_takes_no_memory() {
    const WRITERS: u8 = 20;
    const SAMPLES: i64 = 8000;
    const ALONE: &str = "ROSLESS_TEST_ALONE";
    // In a process of its own, because what other tests take would count.
    if std::env::var_os(ALONE).is_none() {
        let mut command = Command::new(std::env::current_exe().expect("a test knows its file"));
        command.args(["--exact", "what_a_best_effort_reader_has_missed_takes_no_memory"]).env(ALONE, "1");
        assert!(command.status().expect("it can be started").success());
        return;
    }
    let lease = DomainLease::acquire();
    let participant = local(lease.id()).build().expect("participant");
    let reader = reader(&participant, "t", &common::best_effort());
    let mut peer = ScriptedPeer::new(&participant, CYCLONE);
    peer.meet();
    let writer = |number: u8| [0, 1, number, 3];
    let mut announced: Vec<_> = (0..WRITERS)
        .map(|number| Announced { entity: writer(number), topic: "t", reliable: false })
        .zip(1..)
        .map(|(endpoint, sequence)| peer.announcement(sequence, endpoint))
        .collect();
    announced.push(peer.heartbeat(PUBLICATIONS_WRITER, 1, WRITERS.into()));
    peer.say_to_discovery(&announced);
    // One of each, with the writer's number in it, and the sample's.
    let say = |sequence: i64| {
        let payload =
            |number: u8| [&[0, 1, 0, 0, number, 0, 0, 0][..], &(sequence as u32).to_le_bytes()].concat();
        let samples =
            (0..WRITERS).map(|number| peer.data(ANYBODY, writer(number), sequence, &payload(number)));
        peer.say(&samples.collect::<Vec<_>>());
    };
    let mut sequence = 1000; // what came before that is missing
    let mut heard = BTreeSet::new();
    eventually("every writer is heard", SOON, || {
        sequence += 1;
        say(sequence);
        heard.extend(take(&reader).iter().map(|sample| sample[0]));
        heard.len() == usize::from(WRITERS)
    });
    let before = common::resident(std::process::id());
    for round in 0..SAMPLES / 100 {
        let last = 2000 + 100 * round + 99;
        (last - 99..=last).for_each(say);
        eventually("the last one comes", SOON, || {
            let has_come = take(&reader).iter().any(|sample| sample[4..8] == (last as u32).to_le_bytes());
            if !has_come {
                say(last); // the socket may have been full
            }
            has_come
        });
    }
    let grown = common::resident(std::process::id()).saturating_sub(before);
    assert!(grown < 3_000_000, "{grown} bytes more");
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

/// Whoever is sent most of what there is gets a socket, which shows in the port that it comes from.
mod beaten_paths_are_found {
    use std::{
        collections::BTreeSet,
        net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
        time::{Duration, Instant},
    };

    use super::{beaten_paths::BeatenPaths, SOON};

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn listener() -> (UdpSocket, SocketAddr) {
        let socket = UdpSocket::bind((LOOPBACK, 0)).expect("loopback is there");
        socket.set_read_timeout(Some(SOON)).expect("a timeout is set");
        let address = socket.local_addr().expect("it is bound");
        (socket, address)
    }

    /// Sends as the participant does; whether it went by a socket of its own.
    fn send(paths: &mut BeatenPaths, any: &UdpSocket, to: SocketAddr, datagram: &[u8]) -> bool {
        let is_beaten = paths.send(to, datagram);
        if !is_beaten {
            any.send_to(datagram, to).expect("sent");
            paths.went_elsewhere(to);
        }
        is_beaten
    }

    #[test]
    fn and_nothing_is_lost_or_overtaken_on_the_way() {
        let ((listener, to), (any, _)) = (listener(), listener());
        let mut paths = BeatenPaths::new(LOOPBACK, 0);
        let mut senders = BTreeSet::new();
        for number in 0..1000_u32 {
            send(&mut paths, &any, to, &number.to_le_bytes());
            let mut buffer = [0; 8];
            let (length, from) = listener.recv_from(&mut buffer).expect("it arrives");
            assert_eq!(buffer[..length], number.to_le_bytes());
            senders.insert(from.port());
        }
        let own = any.local_addr().expect("it is bound").port();
        assert_eq!(senders, paths.ports().into_iter().chain([own]).collect());
        assert_eq!(senders.len(), 2);
    }

    /// The kernel tells a connected socket that nobody is there, and does not send what it is given then.
    #[test]
    fn and_left_when_the_peer_is_gone() {
        let ((heard, to), (any, _)) = (listener(), listener());
        let mut paths = BeatenPaths::new(LOOPBACK, 0);
        while !send(&mut paths, &any, to, b"again") {}
        drop(heard);
        while send(&mut paths, &any, to, b"nobody") {}
        assert!(paths.ports().is_empty());
        let returned = UdpSocket::bind(to).expect("the port is free");
        returned.set_read_timeout(Some(SOON)).expect("a timeout is set");
        for _ in 0..500 {
            send(&mut paths, &any, to, b"back");
            let mut buffer = [0; 8];
            let (length, _) = returned.recv_from(&mut buffer).expect("each one arrives");
            assert_eq!(&buffer[..length], b"back");
        }
        assert_eq!(paths.ports().len(), 1);
    }

    #[test]
    fn but_not_for_each_of_many_nor_for_ever() {
        let (any, _) = listener();
        let listeners: Vec<_> = std::iter::repeat_with(listener).take(20).collect();
        let mut paths = BeatenPaths::new(LOOPBACK, 0);
        for _ in 0..2000 {
            for (_, to) in &listeners {
                assert!(!send(&mut paths, &any, *to, b"to all"));
            }
        }
        for (_, to) in &listeners[..6] {
            for _ in 0..2000 {
                send(&mut paths, &any, *to, b"to some");
            }
        }
        assert_eq!(paths.ports().len(), 4, "and no more than these");
        let later = |seconds| Instant::now() + Duration::from_secs(seconds);
        paths.sweep(later(21));
        assert!(send(&mut paths, &any, listeners[0].1, b"still"));
        paths.sweep(later(42));
        assert_eq!(paths.ports().len(), 1, "the one that was used");
        paths.sweep(later(63));
        assert!(paths.ports().is_empty());
    }
}
