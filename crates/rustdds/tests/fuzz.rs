//! Damaged messages of real peers are thrown at a running participant: it must not crash, hang or grow, and must still
//! work afterwards.
//!
//! `ROSLESS_FUZZ_PACKETS` sets how many (default 120 000), `ROSLESS_FUZZ_SEED` where the random numbers start.
#![cfg(target_os = "linux")]

mod common;

use std::{
    net::{Ipv4Addr, UdpSocket},
    path::Path,
    time::Duration,
};

use common::{exchange, local, peer, reader, reliable, resident, writer};
use rosless_tests::{eventually, DomainLease};
use rustdds::RTPSEntity;

const ALLOWANCE: u64 = 96 * 1024 * 1024;
/// As many as fit into the receiver's socket buffer.
const BURST: usize = 48;

/// Enough randomness to damage packets, and the same on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
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

/// Bytes that wait in the receive buffers of these UDP ports.
fn waiting(ports: [u16; 2]) -> u64 {
    let table = std::fs::read_to_string("/proc/net/udp").expect("socket table");
    let of_port = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let port = u16::from_str_radix(fields.get(1)?.split_once(':')?.1, 16).ok()?;
        let queue = u64::from_str_radix(fields.get(4)?.split_once(':')?.1, 16).ok()?;
        ports.contains(&port).then_some(queue)
    };
    table.lines().skip(1).filter_map(of_port).sum()
}

#[test]
fn damaged_messages_do_no_harm() {
    let setting =
        |name, default| std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default);
    let packets: usize = setting("ROSLESS_FUZZ_PACKETS", 120_000);
    let mut random = Random(setting("ROSLESS_FUZZ_SEED", 88_172_645_463_325_252) as u64);

    let lease = DomainLease::acquire();
    let victim = local(lease.id()).build().expect("participant");
    let down = writer(&victim, "down", &reliable(10));
    let up = reader(&victim, "up", &reliable(10));
    let echo = peer("echo", lease.id());
    exchange("echo before", &down, &up);

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut seeds: Vec<_> = std::iter::repeat_n(messages_of(down.guid().to_bytes()), 20).flatten().collect();
    for capture in ["cyclone_pubcustom", "cyclone_startup", "fast_pubcustom", "fast_service"] {
        let capture = std::fs::read(folder.join(capture).with_extension("pcap")).expect("capture");
        let found = messages(&capture);
        assert!(found.len() > 20, "{} messages in a capture", found.len());
        seeds.extend(found);
    }

    // Ours is participant 0, so the peer is 1.
    let base = 7400 + 250 * lease.id();
    let ports = [base + 12, base + 13];
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    let before = resident(echo.pid());
    let prefix = down.guid().to_bytes();
    for sent in (0..packets).step_by(BURST) {
        for _ in 0..BURST {
            let packet = damaged(&seeds, &prefix[..12], &mut random);
            socket.send_to(&packet, (Ipv4Addr::LOCALHOST, *random.pick(&ports))).expect("sent");
        }
        // It takes much less than the pause between two polls.
        let drained = || (0..100).any(|_| waiting(ports) == 0);
        eventually(&format!("the peer reads on after {sent} packets"), Duration::from_secs(20), drained);
    }
    let after = resident(echo.pid());
    assert!(after < before + ALLOWANCE, "memory went from {before} to {after} bytes");

    // The victim has been slandered, so somebody new asks.
    let newcomer = local(lease.id()).build().expect("participant");
    let down = writer(&newcomer, "down", &reliable(10));
    let up = reader(&newcomer, "up", &reliable(10));
    exchange("echo after", &down, &up);
    println!("{packets} packets, memory from {before} to {after} bytes");
}
