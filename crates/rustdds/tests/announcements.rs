//! What participants say about themselves, and to whom.

mod common;
#[path = "../patches/new/network/left_behind.rs"]
#[allow(clippy::wrong_self_convention, reason = "it says who is to be told")]
mod left_behind;
#[path = "../patches/new/rtps/repetitions.rs"]
mod repetitions;

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    time::{Duration, Instant},
};

use common::{
    exchange, local, reader, reliable,
    scripted::{ScriptedPeer, CYCLONE, DATA, OURS, SPDP_WRITER, SUBSCRIPTIONS_READER, SUBSCRIPTIONS_WRITER},
    take, write, writer, Reader, SOON,
};
use left_behind::LeftBehind;
use repetitions::Repetitions;
use rosless_tests::{eventually, eventually_some, DomainLease};
use rustdds::{
    policy::History, DomainParticipant, DomainParticipantBuilder, DomainParticipantStatusEvent as Event,
    LostReason, QosPolicies, RTPSEntity, StatusEvented,
};
use socket2::{Domain, Socket, Type};

/// Stock has no way to send USER_DATA, and keeps HISTORY to itself.
#[test]
fn user_data_and_history_are_seen_as_they_were_set() {
    let lease = DomainLease::acquire();
    let watcher = local(lease.id()).build().expect("participant");
    let events = watcher.status_listener();
    let speaker = local(lease.id()).user_data("enclave=/;").lease_duration(Duration::from_secs(7));
    let speaker = speaker.build().expect("participant");
    let written = writer(&speaker, "t", &reliable(10).with_user_data("typehash=RIHS01_1;"));
    let read = reader(&speaker, "u", &reliable(10).with_user_data("typehash=RIHS01_22;"));

    let (mut participant, mut of_writer, mut of_reader) = (None, None, None);
    eventually_some("all three are announced", SOON, || {
        while let Some(event) = events.try_recv_status() {
            match event {
                Event::ParticipantDiscovered { dpd } if dpd.guid == speaker.guid() => participant = Some(dpd),
                Event::WriterDetected { writer } if writer.guid == written.guid() => of_writer = Some(writer),
                Event::ReaderDetected { reader } if reader.guid == read.guid() => of_reader = Some(reader),
                _ => {}
            }
        }
        (participant.is_some() && of_writer.is_some() && of_reader.is_some()).then_some(())
    });
    let (participant, of_writer, of_reader) = (participant.unwrap(), of_writer.unwrap(), of_reader.unwrap());
    assert_eq!(participant.user_data, b"enclave=/;");
    assert_eq!(participant.lease_duration, Some(rustdds::Duration::from_secs(7)));
    assert_eq!(participant.vendor_id.as_bytes(), [1, 0x12]);
    assert_eq!(of_writer.user_data, b"typehash=RIHS01_1;");
    assert_eq!(of_reader.user_data, b"typehash=RIHS01_22;");
    let depth_10 = Some(rustdds::policy::History::KeepLast { depth: 10 });
    assert_eq!((of_writer.qos.history(), of_reader.qos.history()), (depth_10, depth_10));
    assert_eq!((&*of_writer.topic_name, &*of_writer.type_name), ("t", common::TYPE));
}

/// Stock has no initial peers: without multicast and without probing the loopback interface nobody is found.
#[test]
fn initial_peer_is_found_without_multicast() {
    let lease = DomainLease::acquire();
    // The loopback interface has no multicast here, and neither end probes it.
    let silent = || local(lease.id()).same_host_loopback(false);
    let named = silent().build().expect("participant");
    let naming = silent().initial_peers([(Ipv4Addr::LOCALHOST, 0).into()]).build().expect("participant");
    let reader = reader(&named, "t", &reliable(10));
    let writer = writer(&naming, "t", &reliable(10));
    exchange("sample between initial peers", &writer, &reader);
}

#[test]
fn dropped_participant_says_goodbye() {
    let lease = DomainLease::acquire();
    let watcher = local(lease.id()).build().expect("participant");
    let events = watcher.status_listener();
    let leaving = local(lease.id()).build().expect("participant");
    let guid = leaving.guid();
    let next = |wanted: &dyn Fn(&Event) -> bool| {
        eventually_some("event", SOON, || {
            std::iter::from_fn(|| events.try_recv_status()).find(|event| wanted(event))
        })
    };
    next(&|event| matches!(event, Event::ParticipantDiscovered { dpd } if dpd.guid == guid));
    drop(leaving);
    let lost = next(&|event| matches!(event, Event::ParticipantLost { id, .. } if *id == guid.prefix));
    assert!(matches!(lost, Event::ParticipantLost { reason: LostReason::Disposed, .. }), "{lost:?}");
}

/// A parameter of a discovery message, padded.
fn parameter(id: u16, value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    value.resize(value.len().next_multiple_of(4), 0);
    [&id.to_le_bytes()[..], &(value.len() as u16).to_le_bytes(), &value].concat()
}

fn string(text: &str) -> Vec<u8> {
    let mut bytes = [&(text.len() as u32 + 1).to_le_bytes()[..], text.as_bytes(), b"\0"].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Stock announces each topic beside its endpoints, and says so with bits 27 and 28, of which 27 is an endpoint of DDS
/// Security; RTPS has 28 and 29 for it.
#[test]
fn topics_are_announced_by_their_endpoints_alone() {
    let lease = DomainLease::acquire();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    socket.set_read_timeout(Some(SOON)).expect("a time-out");
    let peer = socket.local_addr().expect("an address");
    let _speaker = local(lease.id()).initial_peers([peer]).build().expect("participant");
    let mut packet = [0; 65_536];
    let length = socket.recv(&mut packet).expect("an announcement");
    let head = [&0x0058u16.to_le_bytes()[..], &4u16.to_le_bytes()].concat();
    let at = packet[..length].windows(4).position(|bytes| bytes == head).expect("a set of endpoints") + 4;
    let set = u32::from_le_bytes(packet[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(set >> 26, 0b1000, "others may tell us: {set:#x}");
}

/// Stock says that it keeps nothing.
#[test]
fn an_endpoint_that_keeps_all_says_that_there_is_no_limit() {
    let lease = DomainLease::acquire();
    let speaker = local(lease.id()).build().expect("participant");
    let mut peer = ScriptedPeer::new(&speaker, [1, 0x10]);
    peer.meet();
    let keeps_all = QosPolicies::builder().history(History::KeepAll).build();
    let _reader = reader(&speaker, "t", &keeps_all);
    // PID_HISTORY, KEEP_ALL, LENGTH_UNLIMITED.
    let said = parameter(0x0040, &[1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    eventually("its history is announced", SOON, || {
        let asks = peer.nack(SUBSCRIPTIONS_READER, SUBSCRIPTIONS_WRITER, 1, 1);
        peer.say_to_discovery(&[asks]);
        peer.listen().iter().any(|heard| heard.body.windows(said.len()).any(|bytes| bytes == said))
    });
}

/// Stock does not know a reader whose content filter it cannot read. Newer ROS distributions have filtered feedback and
/// keyed endpoints.
#[test]
fn readers_with_content_filters_and_with_keys_are_seen() {
    let lease = DomainLease::acquire();
    let watcher = local(lease.id()).build().expect("participant");
    let events = watcher.status_listener();
    // Without endpoints of its own, so the numbers of what it announces are ours to use.
    let speaker = local(lease.id()).build().expect("participant");
    let prefix = &speaker.guid().to_bytes()[..12];
    let names = ["filtered", "rt/feedback", "DDSSQL", "goal_id.uuid = &hex(00)"].map(string).concat();
    let filters = [
        ([0, 0, 0x10, 0x04], [names.clone(), 0u32.to_le_bytes().to_vec()].concat()),
        ([0, 0, 0x11, 0x07], [names, 1u32.to_le_bytes().to_vec(), string("5")].concat()),
        ([0, 0, 0x12, 0x04], vec![0xff; 8]),
    ];
    let announce = |number: usize, entity: [u8; 4], filter: &[u8]| {
        let list = [
            parameter(0x005a, &[prefix, &entity].concat()),
            parameter(0x0005, &string("rt/feedback")),
            parameter(0x0007, &string("pkg::action::dds_::Act_FeedbackMessage_")),
            parameter(0x001a, &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            parameter(0x0035, filter),
            parameter(0x0001, &[]),
        ];
        let number = [0i32.to_le_bytes(), (number as u32).to_le_bytes()].concat();
        let head: &[u8] = &[0, 0, 16, 0, 0, 0, 4, 0xc7, 0, 0, 4, 0xc2];
        let body = [head, &number, &[0, 3, 0, 0], &list.concat()].concat();
        let length = (body.len() as u16).to_le_bytes();
        let packet = [b"RTPS\x02\x03\x01\x12", prefix, &[0x15, 5], &length, &body].concat();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
        socket.send_to(&packet, (Ipv4Addr::LOCALHOST, 7410 + 250 * lease.id())).expect("sent");
    };
    let mut seen = BTreeSet::new();
    eventually_some("all three are known", SOON, || {
        for (index, (entity, filter)) in filters.iter().enumerate() {
            announce(index + 1, *entity, filter);
        }
        while let Some(event) = events.try_recv_status() {
            match event {
                Event::ReaderDetected { reader } if reader.topic_name == "rt/feedback" => {
                    seen.insert(reader.guid);
                }
                _ => {}
            }
        }
        (seen.len() == filters.len()).then_some(())
    });
}

/// Stock says nothing for the first tenth of a second, half of the time until it repeats itself. On a busy machine some
/// of the newcomers may be late.
#[test]
fn newcomer_is_heard_long_before_it_repeats_itself() {
    let lease = DomainLease::acquire();
    let mut times = Vec::new();
    let is_early = (0..10).any(|_| {
        // Another one each time: the last newcomer's goodbye is not the next one's announcement.
        let watcher = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback is there");
        watcher.set_read_timeout(Some(SOON)).expect("a timeout is set");
        let _newcomer = local(lease.id())
            .initial_peers([watcher.local_addr().expect("it is bound")])
            .build()
            .expect("participant");
        let began = Instant::now();
        let heard = || {
            watcher.recv(&mut [0; 2000]).expect("an announcement");
            began.elapsed()
        };
        let (first, second) = (heard(), heard());
        times.push((first, second));
        first < second / 4
    });
    assert!(is_early, "{times:?}");
}

/// A socket of the group in which announcements of this domain are made, on loopback.
fn on_loopback(domain: u16) -> (UdpSocket, SocketAddr) {
    let group = Ipv4Addr::new(239, 255, 0, 1);
    let port = 7400 + 250 * domain;
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).expect("socket");
    socket.set_reuse_address(true).expect("shared");
    socket.set_reuse_port(true).expect("shared");
    socket.bind(&SocketAddr::from((group, port)).into()).expect("bound");
    socket.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST).expect("joined");
    socket.set_nonblocking(true).expect("it does not wait");
    (socket.into(), (group, port).into())
}

/// A participant that keeps to this host, and announces itself four times in this time.
fn of_this_host(domain: u16, lease: Duration) -> DomainParticipant {
    let builder = DomainParticipantBuilder::new(domain).with_this_host_and([]).lease_duration(lease);
    builder.build().expect("participant")
}

/// How often ours was announced to that peer alone, since the last time.
fn announced_to(peer: &ScriptedPeer) -> usize {
    peer.listen().iter().filter(|heard| heard.is(DATA, SPDP_WRITER)).count()
}

/// Before: to each participant of the host by unicast, a hundred among a hundred of them.
#[test]
fn whoever_of_our_kind_is_heard_by_multicast_on_loopback_is_announced_to_there() {
    let lease = DomainLease::acquire();
    let ours = of_this_host(lease.id(), Duration::from_secs(2));
    let (group, address) = on_loopback(lease.id());
    let own = ours.guid().to_bytes()[..12].to_vec();
    let announced_in_group = || {
        let mut buffer = [0; 2000];
        let mut count = 0;
        while let Ok(length) = group.recv(&mut buffer) {
            count += usize::from(length > 20 && buffer[8..20] == own[..]);
        }
        count
    };
    // Both take part in the group and show that they hear us; of the other kind we do not know what it makes of it.
    let mut peers = [OURS, CYCLONE].map(|vendor| ScriptedPeer::new(&ours, vendor));
    let show_up = |peers: &mut [ScriptedPeer; 2]| {
        for peer in peers {
            let acknack = peer.acknack(SUBSCRIPTIONS_READER, SUBSCRIPTIONS_WRITER, 1);
            peer.say_to_discovery(&[acknack]);
            peer.announce_itself_to(address);
        }
    };
    for peer in &peers {
        peer.meet();
    }
    eventually("one of ours is told in the group, others by unicast as well", SOON, || {
        show_up(&mut peers);
        let _ = (announced_in_group(), peers.each_ref().map(announced_to));
        let (mut in_group, mut to_each) = (0, [0; 2]);
        // Until ours has announced itself twice.
        eventually("an announcement", SOON, || {
            show_up(&mut peers);
            in_group += announced_in_group();
            for (count, peer) in to_each.iter_mut().zip(&peers) {
                *count += announced_to(peer);
            }
            in_group >= 2
        });
        to_each[0] == 0 && to_each[1] > 0
    });
}

/// Before: to each of them in a datagram of its own.
#[test]
fn what_nearly_all_participants_of_a_host_read_is_sent_once_on_loopback() {
    let lease = DomainLease::acquire();
    let join = || of_this_host(lease.id(), Duration::from_secs(2));
    let qos = reliable(100);
    let ours = join();
    let (group, _) = on_loopback(lease.id());
    let writer = writer(&ours, "t", &qos);
    let own = ours.guid().to_bytes()[..12].to_vec();
    // Samples of users' writers, which have no key: an INFO_TS comes first.
    let heard_in_group = || {
        let mut buffer = [0; 2000];
        let mut count = 0;
        while let Ok(length) = group.recv(&mut buffer) {
            let is_sample = length > 52 && buffer[32] == DATA && buffer[47] == 0x03;
            count += usize::from(is_sample && buffer[8..20] == own[..]);
        }
        count
    };
    let joined: Vec<_> = std::iter::repeat_with(join).take(3).collect();
    let mut readers: Vec<_> = joined.iter().map(|participant| reader(participant, "t", &qos)).collect();
    let mut number = 0_u64;
    let mut sent_to_all = |readers: &[Reader], samples: usize| {
        let _ = heard_in_group();
        for _ in 0..samples {
            number += 1;
            write(&writer, number.to_le_bytes().to_vec());
            for reader in readers {
                let mut heard = Vec::new();
                eventually("it arrives", SOON, || {
                    heard.extend(take(reader));
                    heard.last().is_some_and(|last| last[..] == number.to_le_bytes())
                });
            }
        }
        heard_in_group()
    };
    for reader in &readers {
        let mut heard = Vec::new();
        eventually("they meet", SOON, || {
            write(&writer, vec![0; 8]);
            heard.extend(take(reader));
            !heard.is_empty()
        });
    }
    eventually("all of them have been heard in the group, and each sample goes there once", SOON, || {
        sent_to_all(&readers, 10) == 10
    });
    // Two are told one by one, and the third that is left is not told at all.
    readers.pop();
    eventually("it goes to each of two", SOON, || sent_to_all(&readers, 10) == 0);
}

/// What is heard on loopback is known to those who speak there. Others would send data to the group, and on a host without
/// a network nobody would hear it.
#[test]
fn multicast_on_loopback_is_not_announced() {
    const MULTICAST_LOCATORS: [u16; 2] = [0x33, 0x48];
    let lease = DomainLease::acquire();
    let ours = of_this_host(lease.id(), Duration::from_secs(2));
    let peer = ScriptedPeer::new(&ours, CYCLONE);
    let announcement = eventually_some("an announcement", SOON, || {
        peer.announce_itself();
        peer.listen().into_iter().find(|heard| heard.is(DATA, SPDP_WRITER))
    });
    let mut parameters = &announcement.body[24..];
    let mut ids = BTreeSet::new();
    while let [a, b, c, d, ..] = *parameters {
        let (id, length) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        ids.insert(id);
        if id == 1 {
            break;
        }
        parameters = &parameters[4 + usize::from(length)..];
    }
    assert!(ids.contains(&0x32), "it has unicast locators: {ids:x?}");
    assert!(MULTICAST_LOCATORS.iter().all(|id| !ids.contains(id)), "{ids:x?}");
}

/// Before: everybody was told again of everybody who had heard of somebody new.
#[test]
fn newcomers_are_answered_and_nobody_else_is() {
    let lease = DomainLease::acquire();
    // It does not announce itself again while this lasts, but for the first three times.
    let ours = of_this_host(lease.id(), 100 * SOON);
    let (group, _) = on_loopback(lease.id());
    let mut known = ScriptedPeer::new(&ours, CYCLONE);
    known.meet();
    let acknack = known.acknack(SUBSCRIPTIONS_READER, SUBSCRIPTIONS_WRITER, 1);
    known.say_to_discovery(&[acknack]);
    let mut rounds = 0;
    eventually("the first announcements", SOON, || {
        while group.recv(&mut [0; 2000]).is_ok() {
            rounds += 1;
        }
        rounds >= 3 || announced_to(&known) >= 3
    });
    let _ = announced_to(&known);
    // Whose announcement is shorter than ours may not be answered with ours alone.
    let mut newcomer = ScriptedPeer::new(&ours, OURS);
    newcomer.user_data = vec![b'x'; 1000];
    eventually("an answer", SOON, || {
        newcomer.announce_itself();
        announced_to(&newcomer) > 0
    });
    assert_eq!(announced_to(&known), 0);
    assert!(group.recv(&mut [0; 2000]).is_err(), "nor in the group");
}

/// Before: each of them was looked at as if it were the first; among a hundred participants that was a hundredth of a core,
/// in each.
#[test]
fn what_is_announced_again_is_looked_at_until_it_is_no_news() {
    let (repetitions, mut last, start) = (Repetitions::default(), None, Instant::now());
    let mut looks_at = |said: &str, millis: &[u64]| -> Vec<bool> {
        let at = millis.iter().map(|millis| start + Duration::from_millis(*millis));
        at.map(|now| !repetitions.is_repeated(&mut last, said, now)).collect()
    };
    // As long as it is news each of them counts, and one after that: what it asks for may have been refused before.
    assert_eq!(
        looks_at("here I am", &[0, 300, 900, 2500, 5000, 7500]),
        [true, true, true, true, false, false]
    );
    assert_eq!(looks_at("here I am now", &[10_000, 12_500, 15_000]), [true, true, false]);
    assert_eq!(looks_at("here I am", &[20_000, 40_000, 60_000]), [true, true, false]);
}

#[test]
fn who_says_nothing_new_is_still_there() {
    let lease = DomainLease::acquire();
    let ours = of_this_host(lease.id(), 100 * SOON);
    let events = ours.status_listener();
    let other = of_this_host(lease.id(), Duration::from_secs(2));
    let (group, _) = on_loopback(lease.id());
    let (its, mut announced, mut buffer) = (other.guid().to_bytes()[..12].to_vec(), 0, [0; 2000]);
    // Four in each lease.
    eventually("it announces itself", 4 * SOON, || {
        while let Ok(length) = group.recv(&mut buffer) {
            announced += usize::from(length > 20 && buffer[8..20] == its[..]);
        }
        announced >= 12
    });
    let mut found = 0;
    while let Some(event) = events.try_recv_status() {
        match event {
            Event::ParticipantDiscovered { dpd } if dpd.guid == other.guid() => found += 1,
            Event::ParticipantLost { reason, .. } => panic!("it was lost: {reason:?}"),
            _ => {}
        }
    }
    assert_eq!(found, 1);
}

#[test]
fn who_comes_back_right_after_its_goodbye_is_found_although_it_says_nothing_new() {
    let lease = DomainLease::acquire();
    let ours = of_this_host(lease.id(), 100 * SOON);
    let events = ours.status_listener();
    let mut peer = ScriptedPeer::new(&ours, OURS);
    peer.meet();
    let acknack = peer.acknack(SUBSCRIPTIONS_READER, SUBSCRIPTIONS_WRITER, 1);
    peer.say_to_discovery(&[acknack]);
    // Until nothing is new in it.
    let met = Instant::now();
    eventually("it is well known", SOON, || {
        peer.announce_itself();
        met.elapsed() > Duration::from_millis(2500)
    });
    // What comes at once would be taken for the same datagram once more.
    let last = Instant::now();
    eventually("a pause", SOON, || last.elapsed() > Duration::from_millis(100));
    while events.try_recv_status().is_some() {}
    peer.say_goodbye();
    peer.say_to_discovery(&[peer.announcement_of_itself(3)]);
    let mut seen = Vec::new();
    eventually("it is lost and found", SOON, || {
        while let Some(event) = events.try_recv_status() {
            match event {
                Event::ParticipantDiscovered { .. } => seen.push("found"),
                Event::ParticipantLost { .. } => seen.push("lost"),
                _ => {}
            }
        }
        seen.len() >= 2
    });
    assert_eq!(seen, ["lost", "found"]);
}

/// Once without an address, where nobody hears it, and again when there is one, although the stranger was heard before.
#[test]
fn who_cannot_have_heard_our_goodbye_is_told_again() {
    let mut left_behind = LeftBehind::default();
    assert_eq!(left_behind.to_be_told([1].into_iter(), false, |_| false), [1]);
    assert_eq!(left_behind.to_be_told([].into_iter(), true, |_| true), [1]);
    assert!(left_behind.to_be_told([].into_iter(), true, |_| true).is_empty());

    assert_eq!(left_behind.to_be_told([2].into_iter(), false, |heard_elsewhere| heard_elsewhere == 2), [2]);
    assert!(left_behind.to_be_told([].into_iter(), true, |_| true).is_empty());

    left_behind.to_be_told([3].into_iter(), false, |_| false);
    left_behind.retain(|_| false);
    assert!(left_behind.to_be_told([].into_iter(), true, |_| false).is_empty(), "it has left");
}
