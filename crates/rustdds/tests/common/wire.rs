//! RTPS messages by hand, for participants that do not behave.

/// A message of the participant with this GUID prefix, made of the submessages added to it.
#[derive(Clone)]
pub struct Packet(pub Vec<u8>);

impl Packet {
    pub fn new(prefix: &[u8]) -> Self {
        Self([b"RTPS\x02\x03\x01\x12", prefix].concat())
    }

    pub fn add(mut self, id: u8, flags: u8, body: &[&[u8]]) -> Self {
        let body = body.concat();
        self.0.extend([id, flags | 1]);
        self.0.extend((body.len() as u16).to_le_bytes());
        self.0.extend(body);
        self
    }

    pub fn to(self, prefix: &[u8]) -> Self {
        self.add(0x0e, 0, &[prefix])
    }

    pub fn data(self, reader: [u8; 4], writer: [u8; 4], sn: i64, payload: &[u8]) -> Self {
        self.add(0x15, 4, &[&[0, 0, 16, 0], &reader, &writer, &number(sn), payload])
    }

    /// One fragment of a sample of `size` bytes.
    pub fn data_frag(self, writer: [u8; 4], sn: i64, fragment: u32, fragment_size: u16, size: u32) -> Self {
        let content = vec![0; fragment_size.into()];
        self.add(
            0x16,
            0,
            &[
                &[0, 0, 28, 0, 0, 0, 0, 0],
                &writer,
                &number(sn),
                &fragment.to_le_bytes(),
                &1u16.to_le_bytes(),
                &fragment_size.to_le_bytes(),
                &size.to_le_bytes(),
                &content,
            ],
        )
    }

    pub fn heartbeat(self, writer: [u8; 4], first: i64, last: i64, count: i32) -> Self {
        self.add(0x07, 0, &[&[0; 4], &writer, &number(first), &number(last), &count.to_le_bytes()])
    }

    /// Says, in the words of a built-in writer, that the participant or endpoint `guid` is gone.
    pub fn disposal(self, (writer, reader): ([u8; 4], [u8; 4]), sn: i64, guid: &[u8]) -> Self {
        let key = if writer == PARTICIPANTS.0 { 0x50 } else { 0x5a };
        let disposed = [parameter(0x71, &[0, 0, 0, 3]), vec![1, 0, 0, 0]].concat();
        let payload = parameter_list(&[parameter(key, guid)]);
        self.add(0x15, 0x02 | 0x08, &[&[0, 0, 16, 0], &reader, &writer, &number(sn), &disposed, &payload])
    }

    pub fn gap(self, writer: [u8; 4], start: i64, end: i64) -> Self {
        self.add(0x08, 0, &[&[0; 4], &writer, &number(start), &number(end), &[0; 4]])
    }

    pub fn acknack(self, reader: [u8; 4], writer: [u8; 4], base: i64, count: i32) -> Self {
        self.add(0x06, 0, &[&reader, &writer, &number(base), &[0; 4], &count.to_le_bytes()])
    }

    /// Asks for the 256 fragments from `base` on.
    pub fn nack_frag(self, reader: [u8; 4], writer: [u8; 4], sn: i64, base: u32, count: i32) -> Self {
        let set = [&base.to_le_bytes(), &256u32.to_le_bytes()[..], &[0xff; 32]].concat();
        self.add(0x12, 0, &[&reader, &writer, &number(sn), &set, &count.to_le_bytes()])
    }
}

pub fn number(value: i64) -> Vec<u8> {
    [((value >> 32) as i32).to_le_bytes(), (value as u32).to_le_bytes()].concat()
}

/// Entity ids of the built-in endpoints: writer and reader of participants, publications, subscriptions, liveliness.
pub const PARTICIPANTS: ([u8; 4], [u8; 4]) = ([0, 1, 0, 0xc2], [0, 1, 0, 0xc7]);
pub const PUBLICATIONS: ([u8; 4], [u8; 4]) = ([0, 0, 3, 0xc2], [0, 0, 3, 0xc7]);
pub const SUBSCRIPTIONS: ([u8; 4], [u8; 4]) = ([0, 0, 4, 0xc2], [0, 0, 4, 0xc7]);
pub const LIVELINESS: ([u8; 4], [u8; 4]) = ([0, 2, 0, 0xc2], [0, 2, 0, 0xc7]);

fn parameter(id: u16, value: &[u8]) -> Vec<u8> {
    let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
    let length = (value.len() + padding.len()) as u16;
    [&id.to_le_bytes(), &length.to_le_bytes(), value, &padding].concat()
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u32 + 1).to_le_bytes(), text.as_bytes(), &[0]].concat()
}

fn parameter_list(parameters: &[Vec<u8>]) -> Vec<u8> {
    [&[0, 3, 0, 0], &*parameters.concat(), &[1, 0, 0, 0]].concat()
}

fn locator(port: u16) -> Vec<u8> {
    [&1i32.to_le_bytes(), &u32::from(port).to_le_bytes()[..], &[0; 12], &[127, 0, 0, 1]].concat()
}

/// A participant that does not exist, at a port of this host.
#[derive(Clone, Copy)]
pub struct Invented {
    pub prefix: [u8; 12],
    pub port: u16,
    pub lease: i32,
}

impl Invented {
    pub fn new(number: u32, port: u16) -> Self {
        let mut prefix = [0x66; 12];
        prefix[8..].copy_from_slice(&number.to_be_bytes());
        Self { prefix, port, lease: 1_000_000 }
    }

    pub fn announcement(&self, sn: i64) -> Packet {
        let parameters = [
            parameter(0x15, &[2, 3]),
            parameter(0x16, &[1, 0x12]),
            parameter(0x50, &[&self.prefix[..], &[0, 0, 1, 0xc1]].concat()),
            parameter(0x32, &locator(self.port)),
            parameter(0x31, &locator(self.port)),
            parameter(0x02, &[self.lease.to_le_bytes(), [0; 4]].concat()),
            parameter(0x58, &0xc3fu32.to_le_bytes()),
        ];
        let (writer, reader) = PARTICIPANTS;
        Packet::new(&self.prefix).data(reader, writer, sn, &parameter_list(&parameters))
    }

    /// Announces the reliable endpoint `id` on a topic of the tests; `sn` counts from 1 for writers and for readers.
    pub fn endpoint(&self, id: [u8; 4], topic: &str, user_data: &[u8], sn: i64) -> Packet {
        let is_writer = id[3] & 0x04 == 0;
        let parameters = [
            parameter(0x5a, &[&self.prefix[..], &id].concat()),
            parameter(0x50, &[&self.prefix[..], &[0, 0, 1, 0xc1]].concat()),
            parameter(0x05, &string(topic)),
            parameter(0x07, &string(super::TYPE)),
            parameter(0x2f, &locator(self.port)),
            parameter(0x1a, &[2u32.to_le_bytes(), [0; 4], [0; 4]].concat()),
            parameter(0x1d, &0u32.to_le_bytes()),
            parameter(0x2c, &[&(user_data.len() as u32).to_le_bytes(), user_data].concat()),
        ];
        let (writer, reader) = if is_writer { PUBLICATIONS } else { SUBSCRIPTIONS };
        Packet::new(&self.prefix).data(reader, writer, sn, &parameter_list(&parameters))
    }
}

/// A user-defined writer or reader without key.
pub fn writer_id(number: u32) -> [u8; 4] {
    [(number >> 16) as u8, (number >> 8) as u8, number as u8, 0x03]
}

pub fn reader_id(number: u32) -> [u8; 4] {
    [(number >> 16) as u8, (number >> 8) as u8, number as u8, 0x04]
}
