//! MCAP's records as bytes. Reading is the `mcap` crate's; it cannot write into a file that must be whole at all times.

use std::collections::BTreeMap;

/// The first and the last bytes of every file.
pub(crate) const MAGIC: &[u8; 8] = b"\x89MCAP0\r\n";
/// Opcode and length.
pub(crate) const HEAD: usize = 9;
/// What readers skip: the format leaves opcodes from here on to applications.
pub(crate) const PRIVATE: u8 = 0x80;

pub(crate) mod op {
    pub(crate) const HEADER: u8 = 0x01;
    pub(crate) const FOOTER: u8 = 0x02;
    pub(crate) const SCHEMA: u8 = 0x03;
    pub(crate) const CHANNEL: u8 = 0x04;
    pub(crate) const MESSAGE: u8 = 0x05;
    pub(crate) const CHUNK: u8 = 0x06;
    pub(crate) const MESSAGE_INDEX: u8 = 0x07;
    pub(crate) const CHUNK_INDEX: u8 = 0x08;
    pub(crate) const ATTACHMENT: u8 = 0x09;
    pub(crate) const ATTACHMENT_INDEX: u8 = 0x0A;
    pub(crate) const STATISTICS: u8 = 0x0B;
    pub(crate) const METADATA: u8 = 0x0C;
    pub(crate) const METADATA_INDEX: u8 = 0x0D;
    pub(crate) const SUMMARY_OFFSET: u8 = 0x0E;
    pub(crate) const DATA_END: u8 = 0x0F;
}

/// Opcode and length of a record.
pub(crate) fn head(opcode: u8, length: u64) -> [u8; HEAD] {
    let mut head = [opcode; HEAD];
    head[1..].copy_from_slice(&length.to_le_bytes());
    head
}

/// Appends one record; `body` writes what comes after its length.
pub(crate) fn put(out: &mut Vec<u8>, opcode: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(head(opcode, 0));
    body(out);
    let length = (out.len() - start - HEAD) as u64;
    out[start + 1..start + HEAD].copy_from_slice(&length.to_le_bytes());
}

/// Little-endian fields as the format has them.
pub(crate) trait Fields {
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
    fn text(&mut self, text: &str);
    /// With its length in bytes in front.
    fn sized(&mut self, body: impl FnOnce(&mut Self));
    fn texts(&mut self, map: &BTreeMap<String, String>);
}

impl Fields for Vec<u8> {
    fn u16(&mut self, value: u16) {
        self.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.extend(value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.extend(value.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.sized(|out| out.extend(text.as_bytes()));
    }

    fn sized(&mut self, body: impl FnOnce(&mut Self)) {
        let start = self.len();
        self.u32(0);
        body(self);
        // Nothing that is written has four gigabytes: schemas, names and maps of a recording.
        let length = u32::try_from(self.len() - start - 4).unwrap_or(u32::MAX);
        self[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }

    fn texts(&mut self, map: &BTreeMap<String, String>) {
        self.sized(|out| {
            for (key, value) in map {
                out.text(key);
                out.text(value);
            }
        });
    }
}

pub(crate) fn header(out: &mut Vec<u8>, library: &str) {
    put(out, op::HEADER, |out| {
        out.text("ros2");
        out.text(library);
    });
}

pub(crate) fn schema(out: &mut Vec<u8>, id: u16, name: &str, encoding: &str, text: &str) {
    put(out, op::SCHEMA, |out| {
        out.u16(id);
        out.text(name);
        out.text(encoding);
        out.text(text);
    });
}

pub(crate) fn channel(
    out: &mut Vec<u8>,
    id: u16,
    schema: u16,
    topic: &str,
    encoding: &str,
    metadata: &BTreeMap<String, String>,
) {
    put(out, op::CHANNEL, |out| {
        out.u16(id);
        out.u16(schema);
        out.text(topic);
        out.text(encoding);
        out.texts(metadata);
    });
}

/// In one go: this is the path of every message.
pub(crate) fn message(
    out: &mut Vec<u8>,
    channel: u16,
    sequence: u32,
    log_time: u64,
    publish_time: u64,
    data: &[u8],
) {
    let mut head = [0; HEAD + 22];
    head[0] = op::MESSAGE;
    head[1..9].copy_from_slice(&(22 + data.len() as u64).to_le_bytes());
    head[9..11].copy_from_slice(&channel.to_le_bytes());
    head[11..15].copy_from_slice(&sequence.to_le_bytes());
    head[15..23].copy_from_slice(&log_time.to_le_bytes());
    head[23..31].copy_from_slice(&publish_time.to_le_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(data);
}

pub(crate) fn message_index(out: &mut Vec<u8>, channel: u16, entries: &[(u64, u64)]) {
    put(out, op::MESSAGE_INDEX, |out| {
        out.u16(channel);
        out.sized(|out| {
            for (time, offset) in entries {
                out.u64(*time);
                out.u64(*offset);
            }
        });
    });
}

pub(crate) fn metadata(out: &mut Vec<u8>, name: &str, entries: &BTreeMap<String, String>) {
    put(out, op::METADATA, |out| {
        out.text(name);
        out.texts(entries);
    });
}

pub(crate) fn attachment(out: &mut Vec<u8>, time: u64, name: &str, media_type: &str, data: &[u8]) {
    put(out, op::ATTACHMENT, |out| {
        let start = out.len();
        out.u64(time);
        out.u64(time);
        out.text(name);
        out.text(media_type);
        out.u64(data.len() as u64);
        out.extend(data);
        let crc = crc32fast::hash(&out[start..]);
        out.u32(crc);
    });
}

/// Without a checksum of the data: it would be wrong after each flush.
pub(crate) fn data_end(out: &mut Vec<u8>) {
    put(out, op::DATA_END, |out| out.u32(0));
}

/// The footer and the magic behind it; `summary` holds what the checksum is made of.
pub(crate) fn end(out: &mut Vec<u8>, summary_start: u64, offsets_start: u64, summary: &[u8]) {
    let start = out.len();
    put(out, op::FOOTER, |out| {
        out.u64(summary_start);
        out.u64(offsets_start);
        out.u32(0);
    });
    if summary_start > 0 {
        let crc_at = out.len() - 4;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(summary);
        hasher.update(&out[start..crc_at]);
        out[crc_at..].copy_from_slice(&hasher.finalize().to_le_bytes());
    }
    out.extend(MAGIC);
}
