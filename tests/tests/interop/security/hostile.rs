//! Strangers who send what a handshake begins with, and garbage in the names of others.

use std::{
    net::{Ipv4Addr, UdpSocket},
    time::{Duration, Instant},
};

use rosless_tests::Vendor;
use rosless_wire::{Message, names, std_msgs::msg::String as Text};

use super::{Lab, Speaker, turn_until};
use crate::ours::{PATIENCE, typehash};

type Prefix = [u8; 12];

/// The port at which the `number`-th participant of a domain and host is announced to.
fn port(lab: &Lab, number: u16) -> u16 {
    7410 + 250 * lab.domain.id() + 2 * number
}

/// The first announcement that comes from none of the `known`, as it is on the wire.
fn announcement(socket: &UdpSocket, known: &[Prefix]) -> (Prefix, Vec<u8>) {
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut buffer = [0; 65536];
    while Instant::now() < deadline {
        let Ok(length) = socket.recv(&mut buffer) else { continue };
        let prefix: Prefix = buffer[8..20].try_into().unwrap();
        // Fast DDS begins with a datagram that has nothing but locators for its own processes; who is secured tells its token.
        let has_token = buffer[..length].windows(8).any(|bytes| bytes == b"DDS:Auth");
        if has_token && buffer.starts_with(b"RTPS") && !known.contains(&prefix) {
            return (prefix, buffer[..length].to_vec());
        }
    }
    panic!("nobody was announced within {PATIENCE:?}");
}

/// The same announcement of another participant.
fn renamed(packet: &[u8], from: Prefix, to: Prefix) -> Vec<u8> {
    let mut packet = packet.to_vec();
    for at in 0..packet.len() - 11 {
        if packet[at..at + 12] == from {
            packet[at..at + 12].copy_from_slice(&to);
        }
    }
    packet
}

fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn thousands_who_begin_a_handshake_keep_nobody_out_and_fill_no_memory() {
    const STRANGERS: u32 = 3000;
    const ALLOWANCE: u64 = 64 << 20;
    let lab = Lab::new(&["/a", "/b", "/late"]);
    let mut a = Speaker::new(lab.options("/a"), "a");
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port(&lab, 5))).unwrap();
    let mut b = Speaker::new(lab.options("/b"), "b");
    let talker = a.talker();
    let listener = b.listen();
    turn_until("a and b met", &mut [&mut a, &mut b], |_| talker.matched() == 1 && listener.matched() == 1);
    let (victim, packet) = announcement(&socket, &[]);
    let before = resident();
    for stranger in 0..STRANGERS {
        let mut prefix = [0x80 | (stranger % 128) as u8; 12];
        prefix[8..].copy_from_slice(&stranger.to_be_bytes());
        socket.send_to(&renamed(&packet, victim, prefix), (Ipv4Addr::LOCALHOST, port(&lab, 0))).unwrap();
        if stranger % 16 == 0 {
            a.turn();
            b.turn();
        }
    }
    let mut late = Speaker::new(lab.options("/late"), "late");
    let heard = late.listen();
    turn_until("the newcomer is met", &mut [&mut a, &mut b, &mut late], |_| {
        talker.matched() == 2 && heard.matched() == 1
    });
    assert!(talker.publish(&Text { data: "still here".into() }));
    turn_until("both heard", &mut [&mut a, &mut b, &mut late], |speakers| {
        !speakers[1].heard.is_empty() && !speakers[2].heard.is_empty()
    });
    let more = resident().saturating_sub(before);
    assert!(more < ALLOWANCE, "{STRANGERS} strangers took {} MB", more >> 20);
}

/// A message of a handshake without any content, in the words of `from`, as the answer to message `number` of `to`.
fn handshake(from: Prefix, to: Prefix, number: u32, step: &str) -> Vec<u8> {
    const PARTICIPANT: [u8; 4] = [0, 0, 1, 0xc1];
    const WRITER: [u8; 4] = [0, 2, 1, 0xc3];
    const READER: [u8; 4] = [0, 2, 1, 0xc4];
    let guid = |prefix: Prefix| [&prefix[..], &PARTICIPANT].concat();
    let text = |text: &str| {
        let mut bytes = [&(text.len() as u32 + 1).to_le_bytes(), text.as_bytes(), &[0]].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let identity =
        |prefix: Prefix, number: u32| [guid(prefix), u64::from(number).to_le_bytes().to_vec()].concat();
    let nothing = 0u32.to_le_bytes();
    let payload = [
        &[0u8, 1, 0, 0][..],
        &identity(from, 1000 + number),
        &identity(to, number),
        &guid(to),
        &[0; 32],
        &text("dds.sec.auth"),
        &1u32.to_le_bytes(),
        &text(&format!("DDS:Auth:PKI-DH:1.0+{step}")),
        &nothing,
        &nothing,
    ]
    .concat();
    let submessage = |id: u8, flags: u8, body: &[u8]| {
        [&[id, flags | 1], &(body.len() as u16).to_le_bytes()[..], body].concat()
    };
    let number = [[0; 4], (1000 + number).to_le_bytes()].concat();
    let data = [&[0u8, 0, 16, 0][..], &READER, &WRITER, &number, &payload].concat();
    [&b"RTPS\x02\x03\x01\x12"[..], &from, &submessage(0x0e, 0, &to), &submessage(0x15, 4, &data)].concat()
}

#[test]
fn what_strangers_say_of_a_handshake_keeps_nobody_out() {
    for _ in 0..4 {
        let lab = Lab::new(&["/ours", "/theirs"]);
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port(&lab, 1))).unwrap();
        let Some(mut peer) = lab.peer(Vendor::FastDds, "/theirs") else { return };
        let dds_type = names::type_to_dds(Text::TYPE_NAME).unwrap();
        peer.reader("r", "rt/chatter", &dds_type, "reliable,volatile,0", &typehash(Text::TYPE_HASH));
        let (theirs, packet) = announcement(&socket, &[]);
        // While it sleeps, others speak for it.
        peer.signal("STOP");
        drop(socket);
        let mut ours = Speaker::new(lab.options("/ours"), "ours");
        let us = ours.node.context().gid().prefix().0;
        let talker = ours.talker();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline {
            // We are whichever participant is free: the peer is number 0, if it was the first.
            for at in 0..4 {
                let to = (Ipv4Addr::LOCALHOST, port(&lab, at));
                socket.send_to(&packet, to).unwrap();
                for number in 0..8 {
                    for step in ["Req", "Reply", "Final"] {
                        socket.send_to(&handshake(theirs, us, number, step), to).unwrap();
                    }
                }
            }
            ours.turn();
        }
        peer.signal("CONT");
        turn_until("the one whose name was taken is met", &mut [&mut ours], |_| {
            talker.matched() == 1 && peer.matched("r") == 1
        });
    }
}
