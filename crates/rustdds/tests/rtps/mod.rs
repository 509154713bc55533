//! Messages of every kind of submessage, with values that programs get wrong.

use rustdds::{DomainParticipant, RTPSEntity};

use crate::{
    common::{
        wire::{number, Invented, Packet, LIVELINESS, PARTICIPANTS, PUBLICATIONS, SUBSCRIPTIONS},
        Reader, Writer,
    },
    Random,
};

const WIDE: [i64; 12] =
    [0, 1, 2, -1, i64::MAX, i64::MIN, 1 << 32, (1 << 32) - 1, -1 << 32, 1 << 62, (1 << 62) + 1, 1 << 31];
const LONG: [u32; 14] = [
    0,
    1,
    2,
    255,
    256,
    257,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ff00,
    0xffff_fffe,
    u32::MAX,
    0xf000_0000,
];
const SHORT: [u16; 10] = [0, 1, 2, 3, 4, 255, 256, 0x7fff, 0x8000, u16::MAX];
const BYTE: [u8; 6] = [0, 1, 0x7f, 0x80, 0xfe, 0xff];

/// Every submessage kind of RTPS 2.5 and DDS Security, some that do not exist, and more often those with state.
const KINDS: [u8; 34] = [
    0x01, 0x06, 0x06, 0x06, 0x07, 0x07, 0x07, 0x08, 0x08, 0x09, 0x0c, 0x0d, 0x0e, 0x0e, 0x0f, 0x12, 0x12,
    0x12, 0x13, 0x13, 0x15, 0x15, 0x15, 0x15, 0x16, 0x16, 0x16, 0x00, 0x30, 0x31, 0x32, 0x33, 0x34, 0x80,
];

/// Parameters that discovery and inline QoS know.
const PARAMETERS: [u16; 40] = [
    0x00, 0x02, 0x04, 0x05, 0x06, 0x07, 0x0b, 0x0d, 0x0e, 0x0f, 0x11, 0x15, 0x16, 0x1a, 0x1b, 0x1d, 0x1e,
    0x1f, 0x21, 0x23, 0x25, 0x27, 0x29, 0x2b, 0x2c, 0x2f, 0x30, 0x31, 0x32, 0x33, 0x35, 0x40, 0x41, 0x50,
    0x58, 0x59, 0x5a, 0x62, 0x70, 0x71,
];

pub(crate) struct Forger {
    prefixes: Vec<[u8; 12]>,
    own: [u8; 12],
    entities: Vec<[u8; 4]>,
    invented: Invented,
    count: i32,
    next: i64,
    /// How many samples with nothing wrong it has made, of those that are read in one go.
    pub(crate) plain: usize,
}

impl Forger {
    pub(crate) fn new(
        victim: &DomainParticipant,
        writers: &[Writer],
        readers: &[Reader],
        invented: Invented,
    ) -> Self {
        let guids =
            writers.iter().map(|writer| writer.guid()).chain(readers.iter().map(|reader| reader.guid()));
        let mut entities: Vec<[u8; 4]> = guids.map(|guid| entity(&guid.to_bytes())).collect();
        for (writer, reader) in [PARTICIPANTS, PUBLICATIONS, SUBSCRIPTIONS, LIVELINESS] {
            entities.extend([writer, reader]);
        }
        for number in 1..=3 {
            entities.extend([super::writer_id(number), super::reader_id(number)]);
        }
        entities.push([0; 4]);
        let own: [u8; 12] = victim.guid().to_bytes()[..12].try_into().expect("12 bytes");
        Self {
            prefixes: vec![invented.prefix, invented.prefix, invented.prefix, own],
            own,
            entities,
            invented,
            count: 0,
            next: 1,
            plain: 0,
        }
    }

    pub(crate) fn message(&mut self, random: &mut Random) -> Vec<u8> {
        let prefix = match random.below(16) {
            0 => Invented::new(random.next() as u32, 9).prefix,
            _ => *random.pick(&self.prefixes),
        };
        if random.below(64) == 0 {
            return self.discovery(random);
        }
        if random.below(4) == 0 {
            return self.plain(random);
        }
        let mut message = Packet::new(&prefix).0;
        if random.below(2) == 0 {
            message = Packet(message).to(&self.own).0;
        }
        for _ in 0..=random.below(6) {
            self.submessage(&mut message, random);
        }
        if random.below(16) == 0 {
            let at = random.below(message.len());
            message[at] = random.next() as u8;
        }
        if random.below(16) == 0 {
            message.truncate(20 + random.below(message.len() - 19));
        }
        message
    }

    /// An announcement, with one of its bytes or words wrong.
    fn discovery(&mut self, random: &mut Random) -> Vec<u8> {
        self.next += 1;
        let somebody = Invented::new(random.below(2000) as u32, self.invented.port);
        let id = *random.pick(&self.entities);
        let mut message = match random.below(3) {
            0 => somebody.announcement(self.next).0,
            1 => somebody.endpoint(id, "up", &[7; 100], self.next).0,
            _ => self.invented.endpoint(id, "down", &[], self.next).0,
        };
        for _ in 0..random.below(3) {
            let at = (24 + random.below(message.len() - 28)) & !3;
            match random.below(3) {
                0 => message[at..at + 4].copy_from_slice(&random.pick(&LONG).to_le_bytes()),
                1 => message[at..at + 2].copy_from_slice(&random.pick(&SHORT).to_le_bytes()),
                _ => message[at] = *random.pick(&BYTE),
            }
        }
        message
    }

    /// What most datagrams are, and what is read in one go: a sample for all readers of its writer, perhaps with its time before
    /// it and a HEARTBEAT behind it. In every other one something is wrong.
    fn plain(&mut self, random: &mut Random) -> Vec<u8> {
        let writer = match random.below(8) {
            0 => *random.pick(&self.entities),
            number => super::writer_id(1 + number as u32 % 3),
        };
        let mut packet = Packet::new(&self.invented.prefix);
        if random.below(2) == 0 {
            packet = packet.add(0x09, 0, &[&random.next().to_le_bytes()]);
        }
        self.next += 1;
        let length = if random.below(8) == 0 { random.below(200) } else { 4 * random.below(50) };
        let content = std::iter::repeat_with(|| random.next() as u8).take(length);
        let payload: Vec<u8> = [0, 1, 0, 0].into_iter().chain(content).collect();
        packet = packet.data([0; 4], writer, self.next, &payload);
        if random.below(2) == 0 {
            self.count = self.count.wrapping_add(1);
            // What is gone is not waited for, so that this one comes through.
            let [first, last] = [self.next; 2].map(number);
            let is_final = 2 * random.below(2) as u8;
            packet =
                packet.add(0x07, is_final, &[&[0; 4], &writer, &first, &last, &self.count.to_le_bytes()]);
        }
        let mut message = packet.0;
        if random.below(2) == 0 {
            self.plain += 1;
            return message;
        }
        // The payload is mostly longer than all the rest, and anything may be in it.
        let at = match random.below(3) {
            0 => random.below(message.len()),
            1 => random.below(72),
            _ => message.len() - 1 - random.below(40),
        };
        let at = at.min(message.len() - 4);
        match random.below(6) {
            0 => message[at & !3..][..4].copy_from_slice(&random.pick(&LONG).to_le_bytes()),
            1 => message[at & !1..][..2].copy_from_slice(&random.pick(&SHORT).to_le_bytes()),
            2 => message[at] = random.next() as u8,
            3 => message[at] ^= 1 << random.below(8),
            4 => message.truncate(at.max(20)),
            _ => message.extend(vec![0; 1 + random.below(40)]),
        }
        message
    }

    fn submessage(&mut self, message: &mut Vec<u8>, random: &mut Random) {
        let kind = *random.pick(&KINDS);
        let flags = match random.below(4) {
            0 => random.next() as u8,
            1 => 1 | (random.next() as u8 & 0x0e),
            _ if kind == 0x15 => 5,
            _ => 1,
        };
        let start = message.len();
        message.extend([kind, flags, 0, 0]);
        let reader = *random.pick(&self.entities);
        let writer = *random.pick(&self.entities);
        match kind {
            0x06 => {
                message.extend([reader, writer].concat());
                self.numbers(message, random, true);
                self.count(message, random);
            }
            0x07 => {
                message.extend([reader, writer].concat());
                self.wide(message, random);
                self.wide(message, random);
                self.count(message, random);
            }
            0x08 => {
                message.extend([reader, writer].concat());
                self.wide(message, random);
                self.numbers(message, random, true);
            }
            0x12 => {
                message.extend([reader, writer].concat());
                self.wide(message, random);
                self.numbers(message, random, false);
                self.count(message, random);
            }
            0x13 => {
                message.extend([reader, writer].concat());
                self.wide(message, random);
                message.extend(random.pick(&LONG).to_le_bytes());
                self.count(message, random);
            }
            0x15 => {
                message.extend(0u16.to_le_bytes());
                message.extend(self.or_edge(16, random).to_le_bytes());
                message.extend([reader, writer].concat());
                self.wide(message, random);
                if flags & 2 != 0 || random.below(8) == 0 {
                    self.parameters(message, random);
                }
                self.payload(message, random);
            }
            0x16 => {
                message.extend(0u16.to_le_bytes());
                message.extend(self.or_edge(28, random).to_le_bytes());
                message.extend([reader, writer].concat());
                self.wide(message, random);
                let plausible = random.below(2) == 0;
                let start = if plausible { 1 + random.below(8) as u32 } else { *random.pick(&LONG) };
                message.extend(start.to_le_bytes());
                message.extend(self.or_edge(1, random).to_le_bytes());
                message.extend(self.or_edge(64, random).to_le_bytes());
                let size = if plausible { 512 } else { *random.pick(&LONG) };
                message.extend(size.to_le_bytes());
                if flags & 2 != 0 {
                    self.parameters(message, random);
                }
                message.extend(vec![0; *random.pick(&[0, 1, 4, 63, 64, 65, 256])]);
            }
            0x09 => message.extend((*random.pick(&WIDE)).to_le_bytes()),
            0x0c => {
                message.extend([0, 0, 0, 0, 2, 3, 1, 0x12]);
                message.extend(random.pick(&self.prefixes));
            }
            0x0e => message.extend(if random.below(3) == 0 { [0; 12] } else { self.own }),
            0x0d | 0x0f => {
                let locators = random.below(4) as u32;
                message
                    .extend(if random.below(4) == 0 { *random.pick(&LONG) } else { locators }.to_le_bytes());
                for _ in 0..locators {
                    let port = u32::from(self.invented.port);
                    message.extend(1u32.to_le_bytes());
                    message
                        .extend(if random.below(4) == 0 { *random.pick(&LONG) } else { port }.to_le_bytes());
                    message.extend([0; 12]);
                    message.extend([127, 0, 0, 1]);
                }
            }
            _ => self.payload(message, random),
        }
        let length = (message.len() - start - 4) as u16;
        let length = if random.below(24) == 0 { *random.pick(&SHORT) } else { length };
        message[start + 2..start + 4].copy_from_slice(&length.to_le_bytes());
    }

    fn or_edge(&self, usual: u16, random: &mut Random) -> u16 {
        if random.below(3) == 0 {
            *random.pick(&SHORT)
        } else {
            usual
        }
    }

    /// A sequence number: the next ones, or one that overflows something.
    fn wide(&mut self, message: &mut Vec<u8>, random: &mut Random) {
        let value = match random.below(4) {
            0 => *random.pick(&WIDE),
            1 => {
                self.next += 1;
                self.next
            }
            _ => random.below(300) as i64,
        };
        message.extend(number(value));
    }

    fn numbers(&mut self, message: &mut Vec<u8>, random: &mut Random, wide: bool) {
        if wide {
            self.wide(message, random);
        } else {
            let base = if random.below(2) == 0 { random.below(100) as u32 } else { *random.pick(&LONG) };
            message.extend(base.to_le_bytes());
        }
        let bits = if random.below(3) == 0 { *random.pick(&LONG) } else { random.below(257) as u32 };
        message.extend(bits.to_le_bytes());
        let words = if random.below(8) == 0 { random.below(9) } else { bits.min(256).div_ceil(32) as usize };
        for _ in 0..words {
            message.extend(if random.below(2) == 0 { u32::MAX } else { random.next() as u32 }.to_le_bytes());
        }
    }

    fn count(&mut self, message: &mut Vec<u8>, random: &mut Random) {
        self.count = self.count.wrapping_add(1);
        let count = if random.below(8) == 0 { *random.pick(&LONG) as i32 } else { self.count };
        message.extend(count.to_le_bytes());
    }

    fn parameters(&self, message: &mut Vec<u8>, random: &mut Random) {
        for _ in 0..random.below(6) {
            let mut length = 4 * random.below(8) as u16;
            message.extend(random.pick(&PARAMETERS).to_le_bytes());
            message.extend(if random.below(6) == 0 { *random.pick(&SHORT) } else { length }.to_le_bytes());
            while length > 0 {
                message.extend(
                    if random.below(2) == 0 { *random.pick(&LONG) } else { random.next() as u32 }
                        .to_le_bytes(),
                );
                length -= 4;
            }
        }
        if random.below(8) != 0 {
            message.extend([1, 0, 0, 0]);
        }
    }

    fn payload(&self, message: &mut Vec<u8>, random: &mut Random) {
        match random.below(4) {
            0 => {}
            1 => message.extend([0, 1, 0, 0, 4, 0, 0, 0, b'a', b'b', b'c', 0]),
            2 => {
                let length = 1 + random.below(40);
                message.extend(std::iter::repeat_with(|| random.next() as u8).take(length));
            }
            _ => {
                message.extend([0, *random.pick(&[2, 3]), 0, 0]);
                self.parameters(message, random);
            }
        }
    }
}

fn entity(guid: &[u8; 16]) -> [u8; 4] {
    guid[12..].try_into().expect("4 bytes")
}
