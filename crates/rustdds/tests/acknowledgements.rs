//! What readers answer to heartbeats.

mod common;

use std::net::{Ipv4Addr, UdpSocket};

use common::{local, reader, reliable, take, write, writer, SOON};
use rosless_tests::{eventually, DomainLease};
use rustdds::{bytes::Bytes, RTPSEntity};

const READERS: usize = 40;
const ACKNACK: u8 = 0x06;

/// Ids of the submessages of a packet whose numbers are little-endian.
fn submessages(packet: &[u8]) -> Vec<u8> {
    let mut rest = &packet[20..];
    let mut ids = Vec::new();
    while let [id, _, low, high, ..] = rest {
        ids.push(*id);
        rest = &rest[4 + usize::from(u16::from_le_bytes([*low, *high]))..];
    }
    ids
}

/// Stock: as many datagrams as readers.
#[test]
fn all_readers_of_a_participant_answer_in_one_datagram() {
    let lease = DomainLease::acquire();
    let ends =
        [local(lease.id()).build().expect("participant"), local(lease.id()).build().expect("participant")];
    let writer = writer(&ends[0], "t", &reliable(10));
    let readers: Vec<_> = (0..READERS).map(|_| reader(&ends[1], "t", &reliable(10))).collect();
    let mut heard = [false; READERS];
    eventually("every reader hears the writer", SOON, || {
        write(&writer, Bytes::from_static(b"hear"));
        for (reader, heard) in readers.iter().zip(&mut heard) {
            *heard |= !take(reader).is_empty();
        }
        heard.iter().all(|&heard| heard)
    });

    // A heartbeat as if from the writer, that wants the answers sent to us instead.
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
    socket.set_read_timeout(Some(SOON)).expect("timeout");
    let own_port = u32::from(socket.local_addr().expect("address").port());
    let guid = writer.guid().to_bytes();
    // One locator of kind UDPv4, and no multicast ones: RustDDS reads a word for those in any case.
    let locator = [&1i32.to_le_bytes()[..], &own_port.to_le_bytes(), &[0; 12], &[127, 0, 0, 1]].concat();
    let reply_to = [&1u32.to_le_bytes()[..], &locator, &[0; 4]];
    let (first, last) = ([0, 0, 0, 0, 1, 0, 0, 0], [0; 8]);
    let heartbeat = [&[0; 4][..], &guid[12..], &first, &last, &1_000_000i32.to_le_bytes()];
    let mut packet = [b"RTPS\x02\x03\x01\x12", &guid[..12]].concat();
    for (id, body) in [(0x0f, reply_to.concat()), (0x07, heartbeat.concat())] {
        packet.extend([id, 1]);
        packet.extend((body.len() as u16).to_le_bytes());
        packet.extend(body);
    }
    // The participant of the readers was the second on this host.
    let port = 7400 + 250 * lease.id() + 11 + 2;
    socket.send_to(&packet, (Ipv4Addr::LOCALHOST, port)).expect("sent");

    let mut answer = [0; 2000];
    let length = socket.recv(&mut answer).expect("an answer");
    let acknacks = submessages(&answer[..length]).into_iter().filter(|id| *id == ACKNACK).count();
    assert_eq!(acknacks, READERS);
}
