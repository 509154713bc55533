//! Single packets that ask for absurd amounts of memory or work, as from a matched writer or from a participant that
//! was just announced.

#![cfg_attr(
    feature = "security",
    allow(dead_code, unused_imports, reason = "what strangers can do only without it is not there with it")
)]

mod common;

use std::{
    net::{Ipv4Addr, UdpSocket},
    time::{Duration, Instant},
};

use common::{
    best_effort, exchange, local, peer, ports, reader, reliable, resident, take, threads, waiting,
    wire::{
        number, reader_id, writer_id, Invented, Packet, LIVELINESS, PARTICIPANTS, PUBLICATIONS, SUBSCRIPTIONS,
    },
    writer, Writer, SOON,
};
use rosless_tests::{eventually, Daemon, DomainLease};
use rustdds::{
    DomainParticipant, DomainParticipantStatusEvent as Event, QosPolicies, RTPSEntity, StatusEvented, GUID,
};

const ALLOWANCE: u64 = 48 * 1024 * 1024;

/// A participant, its echoing peer in another process, and the means to forge packets from the one to the other.
struct Attack {
    lease: DomainLease,
    _participant: DomainParticipant,
    down: Writer,
    up: common::Reader,
    echo: Daemon,
    memory: u64,
    threads: u64,
    socket: UdpSocket,
}

impl Attack {
    fn prepare() -> Self {
        Self::on("echo", &reliable(10))
    }

    fn on(role: &str, qos: &QosPolicies) -> Self {
        let lease = DomainLease::acquire();
        let participant = local(lease.id()).build().expect("participant");
        let down = writer(&participant, "down", qos);
        let up = reader(&participant, "up", &reliable(10));
        let echo = peer(role, lease.id());
        exchange("echo before", &down, &up);
        let (memory, threads) = (resident(echo.pid()), threads(echo.pid()));
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
        Self { lease, _participant: participant, down, up, echo, memory, threads, socket }
    }

    /// A message of our participant.
    fn packet(&self) -> Packet {
        Packet::new(&self.down.guid().to_bytes()[..12])
    }

    fn writer_id(&self) -> [u8; 4] {
        self.down.guid().to_bytes()[12..].try_into().expect("4 bytes")
    }

    /// Sends it to the peer's port for user data; ours is participant 0, so it is 1.
    fn send(&self, packet: Packet) {
        let port = ports(self.lease.id(), 1)[1];
        self.socket.send_to(&packet.0, (Ipv4Addr::LOCALHOST, port)).expect("sent");
    }

    /// The same, after the peer has read what was sent before.
    fn send_in_turn(&self, packet: Packet) {
        let ports = ports(self.lease.id(), 1);
        eventually("the peer reads on", SOON, || (0..1000).any(|_| waiting(ports) == 0));
        self.send(packet);
    }

    fn stranger(&self, number: u32) -> Invented {
        Invented::new(number, self.socket.local_addr().expect("bound").port())
    }

    /// The peer's memory is checked first and all the time, because an undefended one takes gigabytes per second.
    #[track_caller]
    fn peer_is_well(&self) {
        let mark = common::padded(format!("after {:?}", rustdds::Timestamp::now()));
        eventually("echo after", SOON, || {
            let now = resident(self.echo.pid());
            assert!(now < self.memory + ALLOWANCE, "memory went from {} to {now} bytes", self.memory);
            let _ = self.down.write(mark.clone(), Some(rustdds::Timestamp::now()));
            std::thread::sleep(Duration::from_millis(20));
            take(&self.up).contains(&mark)
        });
        assert!(resident(self.echo.pid()) < self.memory + ALLOWANCE);
        assert_eq!(threads(self.echo.pid()), self.threads, "a thread has ended");
    }
}

/// Stock: collects 2^62 missing numbers until memory is exhausted.
#[test]
fn heartbeat_of_an_endless_writer() {
    let attack = Attack::prepare();
    for (count, last) in [(1_000_000, 1 << 62), (1_000_001, i64::MAX), (1_000_002, i64::MIN)] {
        attack.send(attack.packet().heartbeat(attack.writer_id(), 1, last, count));
    }
    attack.peer_is_well();
}

/// Stock: stores 2^62 numbers as irrelevant.
#[test]
fn gap_without_an_end() {
    let attack = Attack::prepare();
    for base in [1 << 62, i64::MAX] {
        let body = [&[0; 4][..], &attack.writer_id(), &number(1_000_000), &number(base), &0u32.to_le_bytes()];
        attack.send(attack.packet().add(0x08, 0, &body));
    }
    attack.peer_is_well();
}

/// Stock: takes and zeroes 4 GiB per packet, also for writers it has never heard of.
#[test]
fn fragment_of_a_giant_sample() {
    let attack = Attack::prepare();
    let stranger = [9, 9, 9, 3];
    for (writer, sequence) in [(attack.writer_id(), 900_000), (stranger, 1), (stranger, 2)] {
        for size in [u32::MAX, 200 << 20] {
            let sequence = sequence + i64::from(size & 1);
            attack.send(attack.packet().data_frag(writer, sequence, 1, 1024, size));
        }
    }
    attack.peer_is_well();
}

/// Stock: collects the numbers of all missing fragments for each HEARTBEAT, 2.8 GB of them.
#[test]
fn fragments_of_one_byte() {
    let attack = Attack::prepare();
    let writer = attack.writer_id();
    for size in [256 << 20, 1 << 20] {
        let sn = 1000 + i64::from(size);
        attack.send(attack.packet().data_frag(writer, sn, 1, 1, size));
        for count in 0..5 {
            attack.send(attack.packet().heartbeat(writer, sn, sn, 1_000_000 + size as i32 + count));
        }
    }
    attack.peer_is_well();
}

/// Stock: each writer of each participant may have 256 MiB waiting, for good.
#[test]
fn fragments_of_many_writers() {
    const WRITERS: u32 = 320;
    // Two fragments in each page of a sample make it resident.
    const SAMPLE: u32 = 1 << 20;
    let attack = Attack::prepare();
    let stranger = attack.stranger(1);
    attack.send_in_turn(stranger.announcement(1));
    for number in 1..=WRITERS {
        attack.send_in_turn(stranger.endpoint(writer_id(number), "down", &[], number.into()));
    }
    let matched = attack.stranger(1).prefix;
    let send_round = |sn: i64| {
        for number in 1..=WRITERS {
            // Samples of 200 MB take address space, samples of 1 MB are filled.
            attack.send_in_turn(Packet::new(&matched).data_frag(
                writer_id(number),
                sn + 1,
                1,
                1024,
                200 << 20,
            ));
            for fragment in (1..SAMPLE / 1024).step_by(64) {
                attack.send(Packet::new(&matched).data_frag(writer_id(number), sn, fragment, 1024, SAMPLE));
            }
        }
    };
    for round in 0..3 {
        send_round(1 + 2 * round);
        let status = std::fs::read_to_string(format!("/proc/{}/status", attack.echo.pid())).expect("it runs");
        let size = status.lines().find(|line| line.starts_with("VmSize:")).expect("VmSize");
        let kib: u64 = size.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
        assert!(kib < 4 << 20, "{kib} kB of address space");
        attack.peer_is_well();
    }
}

/// Stock: number 0, or numbers near 2^32, end the event loop thread; others take a byte of memory for each eight up to
/// the highest.
#[test]
fn nack_frag_of_fragments_that_no_sample_has() {
    let attack = Attack::prepare();
    let stranger = attack.stranger(2);
    attack.send_in_turn(stranger.announcement(1));
    let mut count = 0;
    for (writer, reader) in [PUBLICATIONS, SUBSCRIPTIONS, LIVELINESS, PARTICIPANTS] {
        for sn in [1, 2, 0, -1, i64::MAX, i64::MIN] {
            for base in [0, 1, 2, u32::MAX, u32::MAX - 255, u32::MAX - 256, 0xf000_0000, 0x8000_0000] {
                count += 1;
                for prefix in [&stranger.prefix, &attack.down.guid().to_bytes()[..12]] {
                    attack.send_in_turn(Packet::new(prefix).nack_frag(reader, writer, sn, base, count));
                }
            }
        }
    }
    attack.peer_is_well();
}

/// A forged announcement makes us talk to whomever it names: not with more bytes than it has itself.
#[test]
fn announcement_with_the_address_of_somebody_else() {
    let attack = Attack::prepare();
    let victim = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    victim.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    let port = victim.local_addr().expect("bound").port();
    let mut sent = 0;
    for number in 10..15 {
        let announcement = Invented::new(number, port).announcement(1);
        sent += announcement.0.len();
        attack.send(announcement);
    }
    // Announcements and HEARTBEATs are repeated, so wait for some rounds of them.
    let end = Instant::now() + Duration::from_secs(6);
    let mut received = 0;
    let mut buffer = [0; 65536];
    while Instant::now() < end {
        received += victim.recv(&mut buffer).unwrap_or(0);
    }
    println!("{sent} bytes made it send {received} bytes to a third party");
    assert!(received <= sent, "{received} bytes for {sent}");
    attack.peer_is_well();
}

/// A reply address for each of thousands is not heeded.
#[test]
fn reply_to_thousands_of_addresses() {
    let attack = Attack::prepare();
    let victim = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    victim.set_read_timeout(Some(Duration::from_millis(500))).expect("set");
    let port = u32::from(victim.local_addr().expect("bound").port());
    let locator = [&1i32.to_le_bytes(), &port.to_le_bytes()[..], &[0; 12], &[127, 0, 0, 1]].concat();
    let locators = locator.repeat(2000);
    let reply_to = attack.packet().add(0x0f, 0, &[&2000u32.to_le_bytes(), &locators]);
    attack.send(reply_to.heartbeat(attack.writer_id(), 1, 1 << 40, 1_000_000));
    let mut buffer = [0; 65536];
    let answers = std::iter::from_fn(|| victim.recv(&mut buffer).ok()).count();
    assert!(answers < 20, "{answers} answers to one packet");
    attack.peer_is_well();
}

/// What somebody says in the writer's name is put right by what the writer says next, however far it was from the truth.
#[test]
fn samples_from_the_far_future() {
    let attack = Attack::prepare();
    for (count, sn) in [(1_000_000, 1 << 40), (1_000_001, i64::MAX - 1)] {
        let writer = attack.writer_id();
        attack.send(attack.packet().heartbeat(writer, sn, sn, count));
        attack.send(attack.packet().data([0; 4], writer, sn, &[0, 1, 0, 0, 1, 2, 3, 4]));
        attack.send_in_turn(attack.packet().heartbeat(writer, sn + 1, sn, count + 10));
        attack.peer_is_well();
    }
}

/// The same without HEARTBEATs, which nobody sends to readers of best effort.
#[test]
fn gap_in_the_name_of_a_writer_of_best_effort() {
    let attack = Attack::on("echo-best-effort", &best_effort());
    for end in [1 << 40, i64::MAX] {
        attack.send(attack.packet().gap(attack.writer_id(), 1, end));
        attack.peer_is_well();
    }
}

/// One GAP marks thousands of numbers: not for each of hundreds of writers.
#[test]
fn gaps_of_many_writers() {
    let attack = Attack::prepare();
    let stranger = attack.stranger(1);
    attack.send_in_turn(stranger.announcement(1));
    for number in 1..=256 {
        let packet = stranger.endpoint(writer_id(number), "down", &[], number.into());
        attack.send_in_turn(packet.gap(writer_id(number), 2, i64::MAX));
        attack.send_in_turn(Packet::new(&stranger.prefix).gap(writer_id(number), 2, i64::MAX));
    }
    attack.peer_is_well();
}

/// Announcements behind one that is missing are not kept for ever.
#[test]
fn announcements_that_wait_for_one_that_never_comes() {
    let attack = Attack::prepare();
    for stranger in (1..=6).map(|number| attack.stranger(number)) {
        attack.send_in_turn(stranger.announcement(1));
        for sn in 2..7000 {
            let packet = stranger.endpoint(writer_id(1), "elsewhere", &[0; 1600], sn);
            if sn % 32 == 0 {
                attack.send_in_turn(packet);
            } else {
                attack.send(packet);
            }
        }
    }
    attack.peer_is_well();
}

/// An endpoint has one topic at a time.
#[test]
fn endpoint_that_changes_its_topic() {
    let attack = Attack::prepare();
    let stranger = attack.stranger(1);
    attack.send_in_turn(stranger.announcement(1));
    for sn in 1..30_000 {
        let topic = format!("{sn}{}", "x".repeat(1000));
        let packet = stranger.endpoint(writer_id(1), &topic, &[], sn);
        if sn % 16 == 0 {
            attack.send_in_turn(packet);
        } else {
            attack.send(packet);
        }
    }
    attack.peer_is_well();
}

fn participant_guid(invented: &Invented) -> GUID {
    GUID::from_bytes([&invented.prefix[..], &[0, 0, 1, 0xc1]].concat().try_into().expect("16 bytes"))
}

/// A participant speaks for itself and its endpoints only; nobody else speaks for us.
#[cfg(not(feature = "security"))] // with it, strangers are not let in
#[test]
fn goodbyes_of_others() {
    let lease = DomainLease::acquire();
    // The first one has the first ports.
    let victim = local(lease.id()).build().expect("participant");
    let own = (writer(&victim, "own", &reliable(10)), reader(&victim, "own", &reliable(10)));
    let other = local(lease.id()).build().expect("participant");
    let down = writer(&other, "down", &reliable(10));
    let up = reader(&other, "up", &reliable(10));
    let ours = (writer(&victim, "up", &reliable(10)), reader(&victim, "down", &reliable(10)));
    exchange("before, up", &ours.0, &up);
    exchange("before, down", &down, &ours.1);
    exchange("before, own", &own.0, &own.1);

    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    let stranger = Invented::new(1, socket.local_addr().expect("bound").port());
    let ports = ports(lease.id(), 0);
    let send = |packet: Packet| {
        eventually("it reads on", SOON, || (0..1000).any(|_| waiting(ports) == 0));
        socket.send_to(&packet.0, (Ipv4Addr::LOCALHOST, ports[0])).expect("sent");
    };
    let participant = |participant: &DomainParticipant| participant.guid().to_bytes();
    let liar = || Packet::new(&stranger.prefix);
    let events = victim.status_listener();
    while events.try_recv_status().is_some() {}
    send(stranger.announcement(1));
    let mut stolen = stranger.endpoint(writer_id(1), "stolen", &[], 2);
    let at = stolen.0.windows(4).position(|id| id == writer_id(1)).expect("the key") - 12;
    stolen.0[at..at + 16].copy_from_slice(&down.guid().to_bytes());
    send(liar().disposal(PUBLICATIONS, 1, &down.guid().to_bytes()));
    send(stolen);
    send(stranger.endpoint(writer_id(2), "mine", &[], 3));
    send(liar().disposal(SUBSCRIPTIONS, 1, &up.guid().to_bytes()));
    send(stranger.endpoint(reader_id(2), "mine", &[], 2));
    for gone in [participant(&other), participant(&victim)] {
        send(liar().disposal(PARTICIPANTS, 2, &gone));
        // In our own name, in the header or behind it.
        let info_source = [&[0, 0, 0, 0, 2, 3, 1, 0x12], &participant(&victim)[..12]].concat();
        for slander in [Packet::new(&participant(&victim)[..12]), liar().add(0x0c, 0, &[&info_source])] {
            let to_us = slander.to(&participant(&victim)[..12]);
            send(to_us.clone().disposal(PARTICIPANTS, 1_000_000, &gone));
            let mine = own.1.guid().to_bytes();
            send(to_us.clone().heartbeat(SUBSCRIPTIONS.0, 1_000_000, 1_000_000, 1_000_000));
            send(to_us.disposal(SUBSCRIPTIONS, 1_000_000, &mine));
        }
    }
    let mut heard = Vec::new();
    let mut wait_for = |what: &str, wanted: &dyn Fn(&Event) -> bool| {
        eventually(what, SOON, || {
            heard.extend(std::iter::from_fn(|| events.try_recv_status()));
            heard.iter().any(wanted)
        });
    };
    wait_for(
        "its writer",
        &|event| matches!(event, Event::WriterDetected { writer } if writer.topic_name == "mine"),
    );
    wait_for(
        "its reader",
        &|event| matches!(event, Event::ReaderDetected { reader } if reader.topic_name == "mine"),
    );
    send(liar().disposal(PARTICIPANTS, 3, &participant_guid(&stranger).to_bytes()));
    let its = participant_guid(&stranger).prefix;
    wait_for("its goodbye", &|event| matches!(event, Event::ParticipantLost { id, .. } if *id == its));
    for event in &heard {
        match event {
            Event::ParticipantLost { id, .. } => assert_eq!(*id, its, "{event:?}"),
            Event::WriterLost { guid, .. } | Event::ReaderLost { guid, .. } => {
                assert_eq!(guid.prefix, its, "{event:?}");
            }
            Event::WriterDetected { writer } => assert_ne!(writer.topic_name, "stolen"),
            _ => {}
        }
    }
    exchange("after, up", &ours.0, &up);
    exchange("after, down", &down, &ours.1);
    exchange("after, own", &own.0, &own.1);
}

/// Endpoints of participants that have left by the time they are heard of are forgotten, and it is said.
#[cfg(not(feature = "security"))] // with it, strangers are not let in
#[test]
fn endpoints_of_nobody() {
    let lease = DomainLease::acquire();
    let victim = local(lease.id()).build().expect("participant");
    let _reader = reader(&victim, "down", &reliable(10));
    let events = victim.status_listener();
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    let ports = ports(lease.id(), 0);
    let send = |packet: &Packet| {
        eventually("it reads on", SOON, || (0..1000).any(|_| waiting(ports) == 0));
        socket.send_to(&packet.0, (Ipv4Addr::LOCALHOST, ports[0])).expect("sent");
    };
    // Whether the last that was heard of each is that it is lost.
    let mut is_lost = std::collections::BTreeMap::new();
    let mut hear = || {
        for event in std::iter::from_fn(|| events.try_recv_status()) {
            match event {
                Event::ParticipantDiscovered { dpd } => is_lost.insert(dpd.guid.prefix, false),
                Event::WriterDetected { writer } => is_lost.insert(writer.guid.prefix, false),
                Event::ParticipantLost { id, .. } => is_lost.insert(id, true),
                _ => None,
            };
        }
        is_lost.clone()
    };
    let own = victim.guid().prefix;
    // The first datagrams after its birth come too early for it, and nobody says this one twice.
    eventually("it hears itself", SOON, || hear().contains_key(&own));
    for number in 0..20 {
        let nobody = Invented::new(number, socket.local_addr().expect("bound").port());
        let guid = participant_guid(&nobody);
        send(&nobody.announcement(1));
        eventually("a participant", SOON, || hear().contains_key(&guid.prefix));
        // What it says of its writer is read after what it says of itself, more often than not.
        let mut leaving = Packet::new(&nobody.prefix).disposal(PARTICIPANTS, 2, &guid.to_bytes());
        leaving.0.extend(&nobody.endpoint(writer_id(1), "down", &[], 1).0[20..]);
        send(&leaving);
    }
    eventually("all are lost", Duration::from_secs(40), || {
        hear().into_iter().all(|(prefix, is_lost)| is_lost || prefix == own)
    });
}

/// Who is a member has keys, and speaks for itself all the same.
#[cfg(feature = "security")]
#[test]
fn a_member_cannot_dispose_what_belongs_to_another() {
    let lease = DomainLease::acquire();
    let [speaker, liar, listener] = [(); 3].map(|()| local(lease.id()).build().expect("participant"));
    let down = writer(&speaker, "down", &reliable(10));
    let lie = writer(&liar, "down", &reliable(10));
    let up = reader(&listener, "down", &reliable(10));
    exchange("the speaker", &down, &up);
    exchange("the liar", &lie, &up);
    rustdds::feeding::dispose_in_the_name_of(lie.guid(), down.guid());
    drop(lie);
    // What the liar announces behind that has come, and so has that.
    let later = reader(&listener, "later", &reliable(10));
    exchange("the liar again", &writer(&liar, "later", &reliable(10)), &later);
    exchange("the speaker still", &down, &up);
}
