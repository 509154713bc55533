//! Peers that have only just met. What Fast DDS 2.14 does then is played by a scripted peer: it answers no request for
//! a HEARTBEAT but one of base 0, and sends before it has said what it has.

mod common;

use std::{
    net::{Ipv4Addr, UdpSocket},
    time::{Duration, Instant},
};

use common::{
    best_effort, local, peer, reader, reliable, resident,
    scripted::{
        Announced, Heard, ScriptedPeer, ACKNACK, ANYBODY, CYCLONE, DATA, FAST_DDS, GAP, HEARTBEAT, OURS,
        PUBLICATIONS_READER, PUBLICATIONS_WRITER, SUBSCRIPTIONS_READER, SUBSCRIPTIONS_WRITER,
    },
    take, write, writer, SOON,
};
use rosless_tests::{eventually, eventually_some, DomainLease};
use rustdds::{
    bytes::Bytes, policy, DomainParticipantStatusEvent as Event, QosPolicyBuilder, RTPSEntity, StatusEvented,
    WriteOptionsBuilder, GUID,
};

const THEIR_WRITER: [u8; 4] = [0, 0, 0x12, 3];
const THEIR_READER: [u8; 4] = [0, 0, 0x13, 4];
const SAMPLE: &[u8] = b"\0\x01\0\0once";

/// Fast DDS's writers: a HEARTBEAT at once for an ACKNACK of base 0, the samples for one that asks for them, and nothing
/// for any other within the time that these tests have.
fn answer_as_fast_dds(peer: &mut ScriptedPeer, heard: &Heard, endpoint: Announced) {
    if heard.id != ACKNACK {
        return;
    }
    let (to_discovery, sample) = match heard.writer() {
        PUBLICATIONS_WRITER => (true, peer.announcement(1, endpoint)),
        THEIR_WRITER => (false, peer.data(ANYBODY, THEIR_WRITER, 1, SAMPLE)),
        _ => return,
    };
    let answer = match heard.asked() {
        (0, 0) if !heard.is_final() => peer.heartbeat(heard.writer(), 1, 1),
        (1, 1..) => sample,
        _ => return,
    };
    if to_discovery {
        peer.say_to_discovery(&[answer]);
    } else {
        peer.say(&[answer]);
    }
}

/// Stock: asks with base 1 and count 0, which Fast DDS does not answer.
#[test]
fn fast_dds_is_asked_as_it_wants_to_be_asked() {
    let lease = DomainLease::acquire();
    let ours = local(lease.id()).build().expect("participant");
    let sink = reader(&ours, "t", &reliable(10));
    let mut peer = ScriptedPeer::new(&ours, FAST_DDS);
    let endpoint = Announced { entity: THEIR_WRITER, topic: "t", reliable: true };
    eventually("the sample comes", SOON, || {
        peer.announce_itself();
        for heard in peer.listen() {
            if heard.id == ACKNACK {
                let count = heard.word(heard.body.len() - 4);
                assert!(count > 0, "Fast DDS takes count 0 for a repetition");
            }
            answer_as_fast_dds(&mut peer, &heard, endpoint);
        }
        take(&sink) == [b"once"[..].to_vec()]
    });
}

/// A request that comes before the peer knows who asks is lost. Stock: asks once.
#[test]
fn a_writer_that_does_not_answer_is_asked_again() {
    for vendor in [FAST_DDS, CYCLONE] {
        let lease = DomainLease::acquire();
        let ours = local(lease.id()).build().expect("participant");
        let _sink = reader(&ours, "t", &reliable(10));
        let mut peer = ScriptedPeer::new(&ours, vendor);
        let endpoint = Announced { entity: THEIR_WRITER, topic: "t", reliable: true };
        let announcement = peer.announcement(1, endpoint);
        let heartbeat = peer.heartbeat(PUBLICATIONS_WRITER, 1, 1);
        peer.meet();
        peer.say_to_discovery(&[announcement, heartbeat]);
        let mut requests = 0;
        eventually("three requests", SOON, || {
            let asks = |heard: &Heard| heard.is(ACKNACK, THEIR_WRITER) && !heard.is_final();
            requests += peer.listen().into_iter().filter(asks).count();
            requests >= 3
        });
        // One that has spoken is not asked any more.
        let heartbeat = peer.heartbeat(THEIR_WRITER, 1, 0);
        peer.say(&[heartbeat]);
        let answered = |heard: &Heard| heard.is(ACKNACK, THEIR_WRITER) && heard.is_final();
        eventually("the heartbeat is answered", SOON, || peer.listen().iter().any(answered));
        let until = Instant::now() + Duration::from_millis(500);
        while Instant::now() < until {
            assert!(!peer.listen().iter().any(|heard| heard.is(ACKNACK, THEIR_WRITER)));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Fast DDS sends as soon as it knows our reader, also when we do not know its writer. Stock: lost.
#[test]
fn samples_that_come_before_their_writer_is_known_are_kept_for_it() {
    for reliability in [false, true] {
        let lease = DomainLease::acquire();
        let ours = local(lease.id()).build().expect("participant");
        let qos = if reliability { reliable(10) } else { best_effort() };
        let sink = reader(&ours, "t", &qos);
        let mut peer = ScriptedPeer::new(&ours, FAST_DDS);
        peer.meet();
        let sample = peer.data(ANYBODY, THEIR_WRITER, 1, SAMPLE);
        let heartbeat = peer.heartbeat(THEIR_WRITER, 1, 1);
        peer.say(&[sample, heartbeat]);
        let endpoint = Announced { entity: THEIR_WRITER, topic: "t", reliable: reliability };
        let announcement = peer.announcement(1, endpoint);
        let heartbeat = peer.heartbeat(PUBLICATIONS_WRITER, 1, 1);
        peer.say_to_discovery(&[announcement, heartbeat]);
        // The writer itself says nothing more, and has left when it is asked.
        eventually("the sample comes", SOON, || take(&sink) == [b"once"[..].to_vec()]);
    }
}

/// The ACKNACK of a reader that is not known yet is the proof that it knows us, once it is known.
#[test]
fn acknowledgements_that_come_before_their_reader_is_known_are_kept_for_it() {
    let lease = DomainLease::acquire();
    let ours = local(lease.id()).build().expect("participant");
    let events = ours.status_listener();
    let source = writer(&ours, "t", &reliable(10));
    let mut peer = ScriptedPeer::new(&ours, FAST_DDS);
    let guid = rustdds::RTPSEntity::guid(&source).to_bytes();
    let our_writer = guid[12..].try_into().expect("entity id");
    peer.meet();
    let acknack = peer.acknack(THEIR_READER, our_writer, 1);
    peer.say(&[acknack]);
    let announcement = peer.announcement(1, Announced { entity: THEIR_READER, topic: "t", reliable: true });
    let heartbeat = peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, 1);
    peer.say_to_discovery(&[announcement, heartbeat]);
    eventually("the match", SOON, || {
        std::iter::from_fn(|| events.try_recv_status()).any(|event| is_match(&event))
    });
}

/// That our writer is matched with the peer's reader.
fn is_match(event: &Event) -> bool {
    matches!(event, Event::RemoteReaderMatched { remote_reader, .. }
        if remote_reader.to_bytes()[12..] == THEIR_READER)
}

/// Stock: a reader of best effort counts as matched when it is discovered, and misses what is written then.
#[test]
fn a_reader_of_best_effort_is_matched_when_its_participant_knows_the_writer() {
    let lease = DomainLease::acquire();
    let ours = local(lease.id()).build().expect("participant");
    let events = ours.status_listener();
    let _source = writer(&ours, "t", &reliable(10));
    let mut peer = ScriptedPeer::new(&ours, FAST_DDS);
    peer.meet();
    let announcement = peer.announcement(1, Announced { entity: THEIR_READER, topic: "t", reliable: false });
    let heartbeat = peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, 1);
    peer.say_to_discovery(&[announcement, heartbeat]);

    let mut log = Vec::new();
    let last = eventually_some("our announcement of the writer", SOON, || {
        while let Some(event) = events.try_recv_status() {
            log.push(event);
        }
        let last = |heard: &Heard| heard.is(HEARTBEAT, PUBLICATIONS_WRITER).then(|| heard.last_sequence());
        let last = peer.listen().iter().rev().find_map(last).filter(|last| *last > 0);
        let found = |event: &Event| matches!(event, Event::ReaderDetected { reader } if reader.guid.to_bytes()[12..] == THEIR_READER);
        last.filter(|_| log.iter().any(found))
    });
    assert!(!log.iter().any(is_match), "nothing shows yet that the peer has heard of us");
    let acknack = peer.acknack(PUBLICATIONS_READER, PUBLICATIONS_WRITER, last + 1);
    peer.say_to_discovery(&[acknack]);
    let acknowledged = Instant::now();
    eventually("the match", SOON, || {
        std::iter::from_fn(|| events.try_recv_status()).any(|event| is_match(&event))
    });
    // Without any proof it would have been reported 2 s after it was found.
    assert!(acknowledged.elapsed() < Duration::from_secs(1), "the proof was not taken for one");
}

/// Whatever is sent in whatever name, only so much of it is kept.
#[test]
fn strangers_do_not_fill_the_memory() {
    let lease = DomainLease::acquire();
    let echo = peer("echo", lease.id());
    let before = resident(echo.pid());
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    let port = 7400 + 250 * lease.id() + 11;
    let mut datagram = b"RTPS\x02\x03\x01\x0f".to_vec();
    datagram.extend([9; 12]);
    datagram.extend([0x15, 5, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 1, 0, 0, 0]);
    datagram.resize(60_000, 0);
    for round in 0..4000u32 {
        // A participant each for eight writers.
        datagram[16..20].copy_from_slice(&(round / 8).to_le_bytes());
        datagram[32] = round as u8;
        socket.send_to(&datagram, (Ipv4Addr::LOCALHOST, port)).expect("sent");
        if round % 3 == 0 {
            std::thread::yield_now();
        }
    }
    let ours = local(lease.id()).build().expect("participant");
    let (down, up) = (writer(&ours, "down", &reliable(10)), reader(&ours, "up", &reliable(10)));
    common::exchange("echo after", &down, &up);
    let after = resident(echo.pid());
    // Of 240 MB; 1 MB of it is kept of strangers, the rest is what receiving needs for a while.
    assert!(after < before + 32 * 1024 * 1024, "memory went from {before} to {after} bytes");
}

/// A newcomer that wants to know everybody need not guess when it does.
#[test]
fn it_is_told_when_all_endpoints_of_a_participant_are_known() {
    let lease = DomainLease::acquire();
    let ours = local(lease.id()).build().expect("participant");
    let events = ours.status_listener();
    let mut peer = ScriptedPeer::new(&ours, FAST_DDS);
    peer.meet();
    // Two readers are announced and one of them comes; there are no writers.
    let first = peer.announcement(1, Announced { entity: THEIR_READER, topic: "t", reliable: true });
    let second = peer.announcement(2, Announced { entity: [0, 0, 0x14, 4], topic: "u", reliable: true });
    let heartbeats = [peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, 2), peer.heartbeat(PUBLICATIONS_WRITER, 1, 0)];
    peer.say_to_discovery(&[first, heartbeats[0].clone(), heartbeats[1].clone()]);
    let mut found = 0;
    let mut complete = || {
        std::iter::from_fn(|| events.try_recv_status()).any(|event| match event {
            Event::ReaderDetected { reader } => {
                found += usize::from(reader.guid.to_bytes()[..12] == peer.prefix);
                false
            }
            Event::EndpointsComplete { participant } if participant.as_ref() == peer.prefix => {
                assert_eq!(found, 2);
                true
            }
            _ => false,
        })
    };
    eventually("the missing announcement is asked for", SOON, || {
        let asks = |heard: &Heard| heard.is(ACKNACK, SUBSCRIPTIONS_WRITER) && heard.asked().0 == 2;
        assert!(!complete());
        peer.listen().iter().any(asks)
    });
    peer.say_to_discovery(&[second]);
    eventually("all are known", SOON, complete);
}

/// The writer may not have got to the event loop when its first sample does.
#[test]
fn what_is_written_just_after_the_writer_was_made_is_sent() {
    let lease = DomainLease::acquire();
    let ours = local(lease.id()).build().expect("participant");
    let qos = QosPolicyBuilder::new()
        .reliability(policy::Reliability::Reliable { max_blocking_time: rustdds::Duration::from_millis(100) })
        .durability(policy::Durability::TransientLocal)
        .history(policy::History::KeepLast { depth: 1 })
        .build();
    let other = local(lease.id()).build().expect("participant");
    for round in 0..50 {
        let topic = format!("t{round}");
        let source = writer(&ours, &topic, &qos);
        common::write(&source, &b"once"[..]);
        let sink = reader(&other, &topic, &qos);
        eventually("the sample comes", SOON, || take(&sink) == [b"once"[..].to_vec()]);
    }
}

/// Stock does not tell a writer that has nothing from one that is slow.
#[test]
fn it_is_told_which_writers_have_no_history() {
    let lease = DomainLease::acquire();
    let theirs = local(lease.id()).build().expect("participant");
    let lasting = QosPolicyBuilder::new().durability(policy::Durability::TransientLocal).build();
    let lasting = reliable(1).modify_by(&lasting);
    let silent = writer(&theirs, "t", &lasting);
    let told = writer(&theirs, "t", &lasting);
    write(&told, &b"once"[..]);
    let ours = local(lease.id()).build().expect("participant");
    let events = ours.status_listener();
    let sink = reader(&ours, "t", &lasting);
    let (mut empty, mut heard) = (Vec::new(), Vec::new());
    eventually("both have been heard", SOON, || {
        while let Some(event) = events.try_recv_status() {
            if let Event::RemoteWriterEmpty { local_reader, remote_writer } = event {
                assert_eq!(local_reader, sink.guid());
                empty.push(remote_writer);
            }
        }
        heard.extend(take(&sink));
        !empty.is_empty() && !heard.is_empty()
    });
    assert_eq!(empty, [silent.guid()]);
}

/// An answer to somebody whose reader has not been reported yet goes to others now and to it later. Its reader may be
/// known to the writer by now, which must not serve it twice.
#[test]
fn what_is_for_others_does_not_reach_a_reader_that_is_being_met() {
    let lease = DomainLease::acquire();
    let (ours, other) =
        (local(lease.id()).build().expect("participant"), local(lease.id()).build().expect("participant"));
    let (source, sink) = (writer(&ours, "t", &reliable(10)), reader(&other, "t", &reliable(10)));
    common::exchange("they meet", &source, &sink);
    let our_writer = source.guid().to_bytes()[12..].try_into().expect("entity id");
    let mut peer = ScriptedPeer::new(&ours, FAST_DDS);
    peer.meet();
    let announcement = peer.announcement(1, Announced { entity: THEIR_READER, topic: "t", reliable: true });
    let heartbeat = peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, 1);
    peer.say_to_discovery(&[announcement, heartbeat]);
    eventually("our writer knows its reader", SOON, || {
        peer.listen().iter().any(|heard| heard.is(HEARTBEAT, our_writer))
    });
    let guid = [&peer.prefix[..], &THEIR_READER].concat();
    let asker = GUID::from_bytes(guid.try_into().expect("sixteen bytes"));
    let say = |text: &'static str, to: WriteOptionsBuilder| {
        let written = source.write_with_options(Bytes::from(text), to.build());
        i64::from(written.expect("room").sequence_number)
    };
    let kept = say("kept", WriteOptionsBuilder::new().not_to(asker.prefix));
    let only = say("only", WriteOptionsBuilder::new().to_single_reader(asker));
    let last = say("last", WriteOptionsBuilder::new());
    let (mut samples, mut gaps) = (Vec::new(), Vec::new());
    eventually("it hears what it is to hear, and that there is no more", SOON, || {
        let request = peer.nack(THEIR_READER, our_writer, kept, 3);
        peer.say(&[request]);
        for heard in peer.listen() {
            match heard.id {
                DATA if heard.writer() == our_writer => samples.push(heard.sequence()),
                GAP if heard.writer() == our_writer => gaps.push(heard.sequence()),
                _ => {}
            }
        }
        gaps.iter().any(|gap| *gap <= kept) && [only, last].iter().all(|number| samples.contains(number))
    });
    assert!(!samples.contains(&kept), "{samples:?}");
    let mut heard = Vec::new();
    eventually("the other hears the rest", SOON, || {
        heard.extend(take(&sink));
        heard.ends_with(&[Bytes::from("last")])
    });
    assert!(heard.ends_with(&[Bytes::from("kept"), Bytes::from("last")]), "{heard:?}");
}

/// Before: the first ACKNACK of a reader was answered whatever it said, and one to a built-in writer without samples never.
#[test]
fn a_reader_of_our_kind_gets_a_heartbeat_if_it_asks_for_one() {
    let lease = DomainLease::acquire();
    let ours = local(lease.id()).build().expect("participant");
    let events = ours.status_listener();
    let source = writer(&ours, "t", &reliable(10));
    let our_writer = source.guid().to_bytes()[12..].try_into().expect("entity id");
    let mut peer = ScriptedPeer::new(&ours, OURS);
    peer.meet();
    let announcement = peer.announcement(1, Announced { entity: THEIR_READER, topic: "t", reliable: true });
    let heartbeat = peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, 1);
    peer.say_to_discovery(&[announcement, heartbeat]);
    eventually("the writer tells everybody what it has", SOON, || {
        peer.listen().iter().any(|heard| heard.is(HEARTBEAT, our_writer) && heard.reader() == ANYBODY)
    });
    // That was heard, and is answered.
    let acknack = peer.acknack(THEIR_READER, our_writer, 1);
    peer.say(&[acknack]);
    eventually("the reader is known", SOON, || {
        std::iter::from_fn(|| events.try_recv_status())
            .any(|event| matches!(event, Event::RemoteReaderMatched { .. }))
    });
    let told = |peer: &ScriptedPeer, writer: [u8; 4]| {
        peer.listen().iter().any(|heard| heard.is(HEARTBEAT, writer) && heard.reader() != ANYBODY)
    };
    assert!(!told(&peer, our_writer), "it was not asked");

    let question = peer.question(THEIR_READER, our_writer);
    peer.say(&[question]);
    eventually("the answer", SOON, || told(&peer, our_writer));
    // Ours has no readers to tell of.
    let question = peer.question(SUBSCRIPTIONS_READER, SUBSCRIPTIONS_WRITER);
    peer.say_to_discovery(&[question]);
    eventually("the answer of a writer that has nothing", SOON, || told(&peer, SUBSCRIPTIONS_WRITER));
}

/// Before: a datagram for each.
#[test]
fn what_many_writers_say_to_a_participant_comes_in_one_datagram() {
    const WRITERS: u8 = 10;
    let lease = DomainLease::acquire();
    let ours = local(lease.id()).build().expect("participant");
    let sources: Vec<_> = (0..WRITERS).map(|n| writer(&ours, &format!("t{n}"), &reliable(10))).collect();
    let mut peer = ScriptedPeer::new(&ours, OURS);
    peer.meet();
    let reader = |n: u8| [0, 0, 0x20 + n, 4];
    for n in 0..WRITERS {
        let topic = format!("t{n}");
        let endpoint = Announced { entity: reader(n), topic: &topic, reliable: true };
        let announcement = peer.announcement(i64::from(n) + 1, endpoint);
        peer.say_to_discovery(&[announcement]);
    }
    // All are asked in one datagram, again and again until all know who asks.
    eventually("all answer in one datagram", SOON, || {
        let ask = |(n, source): (u8, &_)| {
            let writer = RTPSEntity::guid(source).to_bytes()[12..].try_into().expect("entity id");
            peer.question(reader(n), writer)
        };
        let questions: Vec<_> = (0..WRITERS).zip(&sources).map(ask).collect();
        peer.say(&questions);
        let heartbeats = |heard: &[Heard]| heard.iter().filter(|heard| heard.id == HEARTBEAT).count();
        peer.listen_by_datagram().iter().any(|heard| heartbeats(heard) == usize::from(WRITERS))
    });
}

/// Before: every tenth of a second, however busy it was.
#[test]
fn a_newcomer_that_does_not_answer_is_told_ever_more_slowly() {
    let lease = DomainLease::acquire();
    let ours = local(lease.id()).build().expect("participant");
    let source = writer(&ours, "t", &reliable(10));
    let our_writer = source.guid().to_bytes()[12..].try_into().expect("entity id");
    let mut peer = ScriptedPeer::new(&ours, CYCLONE);
    peer.meet();
    let announcement = peer.announcement(1, Announced { entity: THEIR_READER, topic: "t", reliable: true });
    let heartbeat = peer.heartbeat(SUBSCRIPTIONS_WRITER, 1, 1);
    // It shows that it is there, or it would be told no more than it said.
    let acknack = peer.acknack(PUBLICATIONS_READER, PUBLICATIONS_WRITER, 1);
    peer.say_to_discovery(&[announcement, heartbeat, acknack]);
    let mut times = Vec::new();
    eventually("seven heartbeats", SOON, || {
        let heard = peer.listen();
        times.extend(heard.iter().filter(|heard| heard.is(HEARTBEAT, our_writer)).map(|_| Instant::now()));
        times.len() >= 7
    });
    // The second may come late, because nothing was written that it could follow.
    assert!(times[6] - times[1] > Duration::from_secs(2), "{times:?}");
}
