//! Hostile messages are thrown at a running participant: it must not crash, hang or grow, and must still work
//! afterwards. Some are damaged messages of real peers, others are made of every kind of submessage with values that
//! programs get wrong.
//!
//! `ROSLESS_FUZZ_PACKETS` sets how many of the first (default 60 000), `ROSLESS_RTPS_PACKETS` how many of the second
//! (default 2 000 000), `ROSLESS_FUZZ_SEED` where the random numbers start. With `ROSLESS_FUZZ_CYCLONE=1` the first are thrown
//! at Cyclone DDS, too, and what comes of it is printed.
#![cfg(target_os = "linux")]

mod common;
mod rtps;

use std::{
    net::{Ipv4Addr, UdpSocket},
    path::Path,
    time::{Duration, Instant},
};

use common::{
    best_effort, exchange, local, peer, reader, reliable, resident, take, waiting,
    wire::{reader_id, writer_id, Invented},
    writer,
};
use rosless_tests::{eventually, DomainLease, Vendor};
use rtps::Forger;
use rustdds::{bytes::Bytes, feeding, RTPSEntity, Timestamp};

const ALLOWANCE: u64 = 96 * 1024 * 1024;
/// As many as fit into the receiver's socket buffer.
const BURST: usize = 48;

/// Enough randomness to damage packets, and the same on every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The RTPS messages of a capture: Ethernet, IPv4, UDP, one datagram per record.
fn messages(capture: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut rest = &capture[24..];
    while let Some((header, behind)) = rest.split_first_chunk::<16>() {
        let length = u32::from_le_bytes(header[8..12].try_into().expect("4 bytes")) as usize;
        let (frame, next) = behind.split_at(length.min(behind.len()));
        found.extend(frame.get(42..).filter(|payload| payload.starts_with(b"RTPS")).map(<[u8]>::to_vec));
        rest = next;
    }
    found
}

/// Messages that concern the matched writer `guid`: one of each kind that carries numbers to get wrong.
fn messages_of(guid: [u8; 16]) -> Vec<Vec<u8>> {
    let writer: [u8; 4] = guid[12..].try_into().expect("4 bytes");
    let number = |value: u32| [[0; 4], value.to_le_bytes()].concat();
    let bodies: [(u8, Vec<Vec<u8>>); 6] = [
        (0x15, vec![vec![0, 0, 16, 0, 0, 0, 0, 0], writer.into(), number(9), vec![0, 1, 0, 0, 1, 2, 3, 4]]),
        (
            0x16,
            vec![
                vec![0, 0, 28, 0, 0, 0, 0, 0],
                writer.into(),
                number(9),
                vec![1, 0, 0, 0, 1, 0, 16, 0, 64, 0, 0, 0],
                vec![0; 16],
            ],
        ),
        (0x07, vec![vec![0; 4], writer.into(), number(1), number(9), vec![200, 0, 0, 0]]),
        (0x08, vec![vec![0; 4], writer.into(), number(3), number(5), vec![32, 0, 0, 0, 0, 0, 0, 0x80]]),
        (0x13, vec![vec![0; 4], writer.into(), number(9), vec![4, 0, 0, 0, 1, 0, 0, 0]]),
        (
            0x06,
            vec![vec![0, 0, 0, 4], vec![0, 0, 1, 3], number(1), vec![32, 0, 0, 0, 0, 0, 0, 0x80, 9, 0, 0, 0]],
        ),
    ];
    bodies
        .into_iter()
        .map(|(id, body)| {
            let flags = if id == 0x15 { 5 } else { 1 };
            let body = body.concat();
            let length = (body.len() as u16).to_le_bytes();
            [b"RTPS\x02\x03\x01\x12", &guid[..12], &[id, flags], &length, &body].concat()
        })
        .collect()
}

/// Values that programs get wrong.
const EDGES: [u32; 8] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0xffff, 0x0001_0000, 0xffff_fff0];

fn damaged(seeds: &[Vec<u8>], victim: &[u8], random: &mut Random) -> Vec<u8> {
    let mut packet = random.pick(seeds).clone();
    if random.below(2) == 0 {
        packet[8..20].copy_from_slice(victim);
    }
    for _ in 0..=random.below(4) {
        let at = random.below(packet.len());
        match random.below(8) {
            0..=2 => packet[at] = random.next() as u8,
            3 => packet[at] ^= 1 << random.below(8),
            4 | 5 => {
                let at = at & !3;
                let edge = random.pick(&EDGES).to_le_bytes();
                let room = packet.len() - at;
                packet[at..][..room.min(4)].copy_from_slice(&edge[..room.min(4)]);
            }
            6 => packet.truncate(at.max(21)),
            _ => {
                let other = random.pick(seeds);
                packet.extend_from_slice(&other[20 + random.below(other.len() - 20)..]);
                packet.truncate(1400);
            }
        }
    }
    packet
}

/// Both tests have participants in this process, and one of them counts threads.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Threads of RustDDS in this process.
fn dds_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("own threads").flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("RustDDS")).count()
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Throws damaged messages at the second participant of the domain, in the name of the first, which has the writer.
fn throw_damaged_messages(domain: u16, writer: [u8; 16], packets: usize) {
    let mut random = Random(setting("ROSLESS_FUZZ_SEED", 88_172_645_463_325_252) as u64);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut seeds: Vec<_> = std::iter::repeat_n(messages_of(writer), 20).flatten().collect();
    for capture in ["cyclone_pubcustom", "cyclone_startup", "fast_pubcustom", "fast_service"] {
        let capture = std::fs::read(folder.join(capture).with_extension("pcap")).expect("capture");
        let found = messages(&capture);
        assert!(found.len() > 20, "{} messages in a capture", found.len());
        seeds.extend(found);
    }

    // Ours is participant 0, so the peer is 1.
    let base = 7400 + 250 * domain;
    let ports = [base + 12, base + 13];
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    for sent in (0..packets).step_by(BURST) {
        for _ in 0..BURST {
            let packet = damaged(&seeds, &writer[..12], &mut random);
            socket.send_to(&packet, (Ipv4Addr::LOCALHOST, *random.pick(&ports))).expect("sent");
        }
        // It takes much less than the pause between two polls.
        let drained = || (0..100).any(|_| waiting(ports) == 0);
        eventually(&format!("the peer reads on after {sent} packets"), Duration::from_secs(20), drained);
    }
}

#[test]
fn damaged_messages_do_no_harm() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let packets = setting("ROSLESS_FUZZ_PACKETS", 60_000);
    let lease = DomainLease::acquire();
    let victim = local(lease.id()).build().expect("participant");
    let down = writer(&victim, "down", &reliable(10));
    let up = reader(&victim, "up", &reliable(10));
    let echo = peer("echo", lease.id());
    exchange("echo before", &down, &up);
    let before = resident(echo.pid());
    throw_damaged_messages(lease.id(), down.guid().to_bytes(), packets);
    let after = resident(echo.pid());
    assert!(after < before + ALLOWANCE, "memory went from {before} to {after} bytes");

    // The victim has been slandered, so somebody new asks.
    let newcomer = local(lease.id()).build().expect("participant");
    let down = writer(&newcomer, "down", &reliable(10));
    let up = reader(&newcomer, "up", &reliable(10));
    exchange("echo after", &down, &up);
    println!("{packets} packets, memory from {before} to {after} bytes");
}

/// For comparison: fails where Cyclone ends or reads no more.
#[test]
fn the_same_damaged_messages_reach_cyclone() {
    if setting("ROSLESS_FUZZ_CYCLONE", 0) == 0 {
        println!("not run: it takes ROSLESS_FUZZ_CYCLONE=1");
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let packets = setting("ROSLESS_FUZZ_PACKETS", 60_000);
    let lease = DomainLease::acquire();
    let victim = local(lease.id()).build().expect("participant");
    let down = writer(&victim, "down", &reliable(10));
    let mut cyclone = Vendor::Cyclone.start(lease.id()).expect("Cyclone from PyPI");
    cyclone.reader("down", "down", common::TYPE, "reliable,volatile,10", &[]);
    cyclone.wait_matched("down", 1);
    let before = resident(cyclone.pid());
    throw_damaged_messages(lease.id(), down.guid().to_bytes(), packets);
    let after = resident(cyclone.pid());
    println!("Cyclone: {packets} packets, memory from {before} to {after} bytes");
}

/// As from a matched peer, from one that slanders another, and from strangers; without a network, because that would
/// be most of the work.
#[test]
fn submessages_with_any_values_do_no_harm() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    const BATCH: usize = 2048;
    const CHECK_EVERY: usize = 500_000;
    const PRINT_EVERY: usize = 10_000_000;
    let packets = setting("ROSLESS_RTPS_PACKETS", 2_000_000);
    let mut random = Random(setting("ROSLESS_FUZZ_SEED", 88_172_645_463_325_252) as u64);

    feeding::enable();
    let lease = DomainLease::acquire();
    let victim = local(lease.id()).build().expect("participant");
    let ours = [writer(&victim, "up", &reliable(100)), writer(&victim, "quick", &best_effort())];
    let theirs = [reader(&victim, "down", &reliable(100)), reader(&victim, "quick", &best_effort())];
    let echo = || {
        let newcomer = local(lease.id()).build().expect("participant");
        let (down, up) = (writer(&newcomer, "down", &reliable(10)), reader(&newcomer, "up", &reliable(10)));
        let mark = common::padded(format!("after {:?}", Timestamp::now()));
        eventually("a newcomer is answered", Duration::from_secs(30), || {
            let _ = down.write(mark.clone(), Some(Timestamp::now()));
            std::thread::sleep(Duration::from_millis(10));
            for sample in take(&theirs[0]) {
                let _ = ours[0].write(sample, Some(Timestamp::now()));
            }
            take(&up).contains(&mark)
        });
    };
    echo();

    let sink = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    let invented = Invented::new(1, sink.local_addr().expect("bound").port());
    let mut matching = vec![invented.announcement(1)];
    for (number, topic) in ["up", "down", "quick"].into_iter().enumerate() {
        let number = number as u32 + 1;
        matching.push(invented.endpoint(writer_id(number), topic, &[], number.into()));
        matching.push(invented.endpoint(reader_id(number), topic, &[], number.into()));
    }
    let mut forger = Forger::new(&victim, &ours, &theirs, invented);
    let feed = |packets: Vec<Vec<u8>>| {
        let packets = packets.into_iter().map(Bytes::from).collect();
        assert!(feeding::feed(&victim, packets), "the event loop has ended");
    };
    let own = std::process::id();
    let (memory, threads_before, start) = (resident(own), dds_threads(), Instant::now());
    let mut heard = 0;
    for sent in (0..packets).step_by(BATCH) {
        if sent % (8 * BATCH) == 0 {
            feed(matching.iter().map(|packet| packet.0.clone()).collect());
            // A sample in fragments, for those who ask for them.
            let _ = ours[0].write(Bytes::from(vec![0; 20_000]), Some(Timestamp::now()));
        }
        feed((0..BATCH).map(|_| forger.message(&mut random)).collect());
        heard += theirs.iter().map(|reader| take(reader).len()).sum::<usize>();
        if sent % CHECK_EVERY < BATCH {
            let now = resident(own);
            assert!(
                now < memory + ALLOWANCE,
                "memory went from {memory} to {now} bytes after {sent} packets"
            );
            echo();
        }
        if sent > 0 && sent % PRINT_EVERY < BATCH {
            println!("{sent} messages, memory {} MB", resident(own) >> 20);
        }
    }
    echo();
    let (after, took) = (resident(own), start.elapsed());
    assert!(after < memory + ALLOWANCE, "memory went from {memory} to {after} bytes");
    assert_eq!(dds_threads(), threads_before, "a thread has ended");
    let plain = forger.plain;
    assert!(heard > 0 || packets < BATCH, "of {plain} samples with nothing wrong none has come through");
    println!("{packets} messages, {plain} samples with nothing wrong, {heard} came through, in {took:.0?}");
    println!("memory from {memory} to {after} bytes");
}
