//! A peer of bytes: says what the script has it say, when it has it say it, with no DDS of its own behind it.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use rosless_tests::eventually;
use rustdds::{DomainParticipant, RTPSEntity};
use socket2::SockRef;

pub const DATA: u8 = 0x15;
pub const DATA_FRAG: u8 = 0x16;
pub const HEARTBEAT: u8 = 0x07;
pub const ACKNACK: u8 = 0x06;
pub const GAP: u8 = 0x08;
pub const NACK_FRAG: u8 = 0x12;
const INFO_DST: u8 = 0x0e;
pub const FINAL: u8 = 2;

pub const FAST_DDS: [u8; 2] = [0x01, 0x0f];
pub const CYCLONE: [u8; 2] = [0x01, 0x10];
pub const OURS: [u8; 2] = [0x01, 0x12];

pub const SPDP_WRITER: [u8; 4] = [0, 1, 0, 0xc2];
pub const PUBLICATIONS_WRITER: [u8; 4] = [0, 0, 3, 0xc2];
pub const PUBLICATIONS_READER: [u8; 4] = [0, 0, 3, 0xc7];
pub const SUBSCRIPTIONS_WRITER: [u8; 4] = [0, 0, 4, 0xc2];
pub const SUBSCRIPTIONS_READER: [u8; 4] = [0, 0, 4, 0xc7];
pub const ANYBODY: [u8; 4] = [0; 4];

/// A submessage that was received.
#[derive(Debug, Clone)]
pub struct Heard {
    pub id: u8,
    pub flags: u8,
    pub body: Vec<u8>,
}

impl Heard {
    pub fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.body[at..at + 4].try_into().expect("four bytes"))
    }

    fn number(&self, at: usize) -> i64 {
        (i64::from(self.word(at)) << 32) | i64::from(self.word(at + 4))
    }

    /// The reader that this is from or for.
    pub fn reader(&self) -> [u8; 4] {
        let at = if matches!(self.id, DATA | DATA_FRAG) { 4 } else { 0 };
        self.body[at..at + 4].try_into().expect("four bytes")
    }

    /// The writer that this is from or for.
    pub fn writer(&self) -> [u8; 4] {
        let at = if matches!(self.id, DATA | DATA_FRAG) { 8 } else { 4 };
        self.body[at..at + 4].try_into().expect("four bytes")
    }

    pub fn is(&self, id: u8, writer: [u8; 4]) -> bool {
        self.id == id && self.writer() == writer
    }

    pub fn sequence(&self) -> i64 {
        self.number(if matches!(self.id, DATA | DATA_FRAG) { 12 } else { 8 })
    }

    /// Base and number of bits of an ACKNACK.
    pub fn asked(&self) -> (i64, u32) {
        (self.number(8), self.word(16))
    }

    pub fn last_sequence(&self) -> i64 {
        self.number(16)
    }

    pub fn is_final(&self) -> bool {
        self.flags & FINAL != 0
    }
}

pub fn number(value: i64) -> Vec<u8> {
    [((value >> 32) as i32).to_le_bytes(), (value as u32).to_le_bytes()].concat()
}

fn parameter(id: u16, value: &[u8]) -> Vec<u8> {
    let mut padded = value.to_vec();
    padded.resize(padded.len().next_multiple_of(4), 0);
    [&id.to_le_bytes()[..], &(padded.len() as u16).to_le_bytes(), &padded].concat()
}

fn text(value: &str) -> Vec<u8> {
    [&(value.len() as u32 + 1).to_le_bytes()[..], value.as_bytes(), &[0]].concat()
}

fn locator(socket: &UdpSocket) -> Vec<u8> {
    let port = u32::from(socket.local_addr().expect("address").port());
    [&1i32.to_le_bytes()[..], &port.to_le_bytes(), &[0; 12], &[127, 0, 0, 1]].concat()
}

/// An endpoint that the peer announces.
#[derive(Clone, Copy)]
pub struct Announced<'a> {
    pub entity: [u8; 4],
    pub topic: &'a str,
    pub reliable: bool,
}

pub struct ScriptedPeer {
    pub prefix: [u8; 12],
    /// Of the participant it talks to.
    ours: [u8; 12],
    /// Where ours listens for discovery; user data go to the next port.
    port: u16,
    discovery: UdpSocket,
    user: UdpSocket,
    count: i32,
    /// Makes its announcement longer.
    pub user_data: Vec<u8>,
}

impl ScriptedPeer {
    /// A peer for that participant.
    pub fn new(ours: &DomainParticipant, vendor: [u8; 2]) -> Self {
        let socket = || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("socket");
            socket.set_nonblocking(true).expect("socket does not wait");
            // Who speaks to a group speaks on loopback.
            let on_loopback = SockRef::from(&socket).set_multicast_if_v4(&Ipv4Addr::LOCALHOST);
            on_loopback.expect("loopback is there");
            socket
        };
        let (discovery, user) = (socket(), socket());
        let unique = user.local_addr().expect("address").port().to_le_bytes();
        let prefix = [vendor[0], vendor[1], 7, 7, 7, 7, 7, 7, 7, 7, unique[0], unique[1]];
        let port = 7410 + 250 * ours.domain_id() + 2 * ours.participant_id();
        let ours = ours.guid().to_bytes()[..12].try_into().expect("twelve bytes");
        Self { prefix, ours, port, discovery, user, count: 0, user_data: vec![] }
    }

    fn guid(&self, entity: [u8; 4]) -> Vec<u8> {
        [&self.prefix[..], &entity].concat()
    }

    fn to_discovery(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    fn to_user(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port + 1).into()
    }

    /// One datagram of submessages: id, flags without endianness, body. Answers name whom they answer, as everybody's do.
    pub fn send(&self, to: SocketAddr, submessages: &[(u8, u8, Vec<u8>)]) {
        let mut datagram = [b"RTPS\x02\x03", &self.prefix[..2], &self.prefix].concat();
        let answers = submessages.iter().any(|(id, ..)| matches!(*id, ACKNACK | NACK_FRAG));
        let destination = answers.then(|| (INFO_DST, 0, self.ours.to_vec()));
        for (id, flags, body) in destination.iter().chain(submessages) {
            datagram.extend([*id, flags | 1]);
            datagram.extend((body.len() as u16).to_le_bytes());
            datagram.extend(body);
        }
        self.user.send_to(&datagram, to).expect("sent");
    }

    pub fn data(&self, reader: [u8; 4], writer: [u8; 4], sequence: i64, payload: &[u8]) -> (u8, u8, Vec<u8>) {
        let body = [&[0, 0, 16, 0][..], &reader, &writer, &number(sequence), payload].concat();
        (DATA, 4, body)
    }

    pub fn heartbeat(&mut self, writer: [u8; 4], first: i64, last: i64) -> (u8, u8, Vec<u8>) {
        self.count += 1;
        let body = [&ANYBODY[..], &writer, &number(first), &number(last), &self.count.to_le_bytes()].concat();
        (HEARTBEAT, 0, body)
    }

    /// Acknowledges everything before `base`.
    pub fn acknack(&mut self, reader: [u8; 4], writer: [u8; 4], base: i64) -> (u8, u8, Vec<u8>) {
        self.count += 1;
        let body = [&reader[..], &writer, &number(base), &[0; 4], &self.count.to_le_bytes()].concat();
        (ACKNACK, FINAL, body)
    }

    /// Wants to know what the writer has.
    pub fn question(&mut self, reader: [u8; 4], writer: [u8; 4]) -> (u8, u8, Vec<u8>) {
        let (id, _, body) = self.acknack(reader, writer, 1);
        (id, 0, body)
    }

    /// Acknowledges everything before `base` and asks for so many samples from there on.
    pub fn nack(&mut self, reader: [u8; 4], writer: [u8; 4], base: i64, samples: u32) -> (u8, u8, Vec<u8>) {
        self.count += 1;
        let set = [samples, u32::MAX << (32 - samples)].map(u32::to_le_bytes).concat();
        let body = [&reader[..], &writer, &number(base), &set, &self.count.to_le_bytes()].concat();
        (ACKNACK, FINAL, body)
    }

    pub fn say(&self, submessages: &[(u8, u8, Vec<u8>)]) {
        self.send(self.to_user(), submessages);
    }

    pub fn say_to_discovery(&self, submessages: &[(u8, u8, Vec<u8>)]) {
        self.send(self.to_discovery(), submessages);
    }

    fn parameters(&self, list: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut payload = vec![0, 3, 0, 0];
        for (id, value) in list {
            payload.extend(parameter(*id, value));
        }
        payload.extend(parameter(1, &[]));
        payload
    }

    /// SPDP: that the peer exists.
    pub fn announce_itself(&self) {
        self.announce_itself_to(self.to_discovery());
    }

    pub fn announce_itself_to(&self, address: SocketAddr) {
        self.send(address, &[self.announcement_of_itself(1)]);
    }

    /// Those of Fast DDS all have the same number.
    pub fn announcement_of_itself(&self, sequence: i64) -> (u8, u8, Vec<u8>) {
        let payload = self.parameters(&[
            (0x15, vec![2, 3]),
            (0x16, self.prefix[..2].to_vec()),
            (0x50, self.guid([0, 0, 1, 0xc1])),
            (0x32, locator(&self.discovery)),
            (0x31, locator(&self.user)),
            (0x02, [20u32.to_le_bytes(), [0; 4]].concat()),
            (0x58, 0x3fu32.to_le_bytes().to_vec()),
            (0x2c, [&(self.user_data.len() as u32).to_le_bytes()[..], &self.user_data].concat()),
        ]);
        self.data(ANYBODY, SPDP_WRITER, sequence, &payload)
    }

    /// SPDP: that the peer leaves.
    pub fn say_goodbye(&self) {
        let disposed = [parameter(0x71, &[0, 0, 0, 3]), parameter(1, &[])].concat();
        let key = self.parameters(&[(0x50, self.guid([0, 0, 1, 0xc1]))]);
        let body = [&[0, 0, 16, 0][..], &ANYBODY, &SPDP_WRITER, &number(2), &disposed, &key].concat();
        self.say_to_discovery(&[(DATA, 2 | 8, body)]);
    }

    /// Announces itself, again and again as everybody does, until ours asks for its endpoints.
    pub fn meet(&self) {
        eventually("ours asks the peer for its endpoints", super::SOON, || {
            self.announce_itself();
            self.listen().iter().any(|heard| heard.is(ACKNACK, PUBLICATIONS_WRITER))
        });
    }

    fn sedp(&self, endpoint: Announced) -> Vec<u8> {
        let reliability = [1 + u32::from(endpoint.reliable), 0, 0x1999_9999].map(u32::to_le_bytes).concat();
        self.parameters(&[
            (0x5a, self.guid(endpoint.entity)),
            (0x50, self.guid([0, 0, 1, 0xc1])),
            (0x05, text(endpoint.topic)),
            (0x07, text(super::TYPE)),
            (0x1a, reliability),
            (0x1d, vec![0; 4]),
            (0x2f, locator(&self.user)),
        ])
    }

    /// SEDP: that the peer has an endpoint; the submessage, to be sent to discovery.
    pub fn announcement(&self, sequence: i64, endpoint: Announced) -> (u8, u8, Vec<u8>) {
        let is_reader = endpoint.entity[3] & 0x0f == 4;
        let (writer, reader) = if is_reader {
            (SUBSCRIPTIONS_WRITER, SUBSCRIPTIONS_READER)
        } else {
            (PUBLICATIONS_WRITER, PUBLICATIONS_READER)
        };
        self.data(reader, writer, sequence, &self.sedp(endpoint))
    }

    /// What has come since the last time, from both sockets.
    pub fn listen(&self) -> Vec<Heard> {
        self.listen_by_datagram().concat()
    }

    pub fn listen_by_datagram(&self) -> Vec<Vec<Heard>> {
        let mut heard = Vec::new();
        let mut buffer = vec![0; 65_536];
        for socket in [&self.discovery, &self.user] {
            while let Ok(length) = socket.recv(&mut buffer) {
                heard.push(self.submessages(&buffer[..length]));
            }
        }
        heard
    }

    /// The submessages of a datagram that are for this peer.
    fn submessages(&self, datagram: &[u8]) -> Vec<Heard> {
        let mut rest = &datagram[20..];
        let (mut heard, mut for_us) = (Vec::new(), true);
        while let [id, flags, low, high, ..] = *rest {
            // Zero: up to the end of the datagram.
            let length = match usize::from(u16::from_le_bytes([low, high])) {
                0 => rest.len() - 4,
                length => length,
            };
            let body = rest[4..4 + length].to_vec();
            rest = &rest[4 + length..];
            if id == INFO_DST {
                for_us = body == self.prefix;
            } else if for_us && matches!(id, DATA | DATA_FRAG | HEARTBEAT | ACKNACK | NACK_FRAG | GAP) {
                heard.push(Heard { id, flags, body });
            }
        }
        heard
    }
}
