//! One MCAP file: by its indexes where it has them, else by looking at all of it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque},
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use mcap::records::Record;

use super::{Contents, Filter};
use crate::{
    Definition, Error, Message, Result, Topic,
    compression::decompress,
    qos,
    record::{HEAD, MAGIC, op},
};

/// Footer and magic.
const END: u64 = 29 + 8;
/// Messages outside of chunks are read in pieces of about this.
const PIECE: u64 = 1 << 20;

/// A file inside a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Nanoseconds since 1970.
    pub time: u64,
    /// Its name.
    pub name: String,
    /// What it is.
    pub media_type: String,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// Records that lie together.
#[derive(Clone, Debug)]
struct Segment {
    /// First and last log time.
    times: (u64, u64),
    /// Where the packed records begin, and how many bytes they are.
    place: u64,
    length: u64,
    compression: String,
    size: u64,
    /// Where the checksum is; messages outside of chunks have none.
    crc: Option<u64>,
    /// Cut records are read as far as they go.
    whole: bool,
}

#[derive(Debug)]
pub(super) struct McapFile {
    file: Arc<File>,
    path: PathBuf,
    size: u64,
    pub(super) contents: Contents,
    /// Of the file's channels: the topic.
    channels: HashMap<u16, usize>,
    schemas: HashMap<u16, (String, Definition)>,
    segments: Vec<Segment>,
    /// Where metadata and attachment records are, and how long.
    metadata: Vec<(u64, u64)>,
    attachments: Vec<(u64, u64)>,
    /// What is not as it should be.
    pub(super) remark: Option<String>,
}

impl McapFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::file(path))?;
        let size = file.metadata().map_err(Error::file(path))?.len();
        let mut this = Self::unread(Arc::new(file), path.to_owned(), size);
        let magic = this.bytes(0, MAGIC.len() as u64);
        if magic.as_deref().ok() != Some(MAGIC) {
            return Err(Error::format(path, "this is no MCAP file: its first bytes are not MCAP's"));
        }
        if !this.by_summary() {
            this.scan()?;
        }
        this.segments.sort_by_key(|segment| segment.times);
        Ok(this)
    }

    fn unread(file: Arc<File>, path: PathBuf, size: u64) -> Self {
        Self {
            file,
            path,
            size,
            contents: Contents::default(),
            channels: HashMap::new(),
            schemas: HashMap::new(),
            segments: Vec::new(),
            metadata: Vec::new(),
            attachments: Vec::new(),
            remark: None,
        }
    }

    fn bytes(&self, place: u64, length: u64) -> io::Result<Vec<u8>> {
        if place.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, place)?;
        Ok(bytes)
    }

    /// Opcode and length of the record here, if it begins inside the file.
    fn head(&self, place: u64) -> Option<(u8, u64)> {
        let head = self.bytes(place, HEAD as u64).ok()?;
        Some((head[0], u64::from_le_bytes(head[1..].try_into().ok()?)))
    }

    /// Takes everything from the summary; `false` when there is none that can be used.
    fn by_summary(&mut self) -> bool {
        let footer = self.size.checked_sub(END).and_then(|place| Some((place, self.bytes(place, END).ok()?)));
        let Some((place, footer)) = footer else { return false };
        let starts = |bytes: &[u8]| bytes[0] == op::FOOTER && bytes.ends_with(MAGIC);
        let start = u64::from_le_bytes(footer[9..17].try_into().unwrap_or_default());
        if !starts(&footer) || start == 0 || start >= place {
            return false;
        }
        let Ok(summary) = self.bytes(start, place - start) else { return false };
        let mut statistics = None;
        let read = each_record(&summary, |opcode, body| {
            match mcap::parse_record(opcode, body).map_err(|error| error.to_string())? {
                Record::Statistics(found) => statistics = Some(found),
                Record::ChunkIndex(index) => {
                    let place = index.compressed_data_offset().map_err(|error| error.to_string())?;
                    self.segments.push(Segment {
                        times: (index.message_start_time, index.message_end_time),
                        place,
                        length: index.compressed_size,
                        compression: index.compression,
                        size: index.uncompressed_size,
                        crc: index.chunk_start_offset.checked_add(HEAD as u64 + 24),
                        whole: true,
                    });
                }
                Record::MetadataIndex(index) => self.metadata.push((index.offset, index.length)),
                Record::AttachmentIndex(index) => self.attachments.push((index.offset, index.length)),
                other => self.know(other),
            }
            Ok(())
        });
        let complete = statistics.as_ref().is_some_and(|statistics| {
            statistics.chunk_count as usize == self.segments.len()
                && (statistics.message_count == 0 || !self.segments.is_empty())
        });
        let Some(statistics) = statistics.filter(|_| read.is_ok() && complete) else {
            *self = Self::unread(self.file.clone(), std::mem::take(&mut self.path), self.size);
            return false;
        };
        for (channel, count) in statistics.channel_message_counts {
            if let Some(topic) = self.channels.get(&channel) {
                self.contents.counts[*topic] += count;
            }
        }
        if statistics.message_count > 0 {
            self.contents.times = Some((
                statistics.message_start_time,
                statistics.message_end_time.max(statistics.message_start_time),
            ));
        }
        true
    }

    /// Looks at every record: of files without indexes, unfinished and cut ones.
    fn scan(&mut self) -> Result<()> {
        let mut place = MAGIC.len() as u64;
        let mut ended = false;
        while let Some((opcode, length)) = self.head(place) {
            let body = place + HEAD as u64;
            let fits = body.checked_add(length).is_some_and(|end| end <= self.size);
            match opcode {
                op::DATA_END => {
                    ended = true;
                    break;
                }
                0 => break,
                op::CHUNK => {
                    let available = length.min(self.size - body);
                    self.scan_chunk(body, available, fits)?;
                }
                _ if !fits => break,
                op::MESSAGE => self.scan_message(place, length)?,
                op::SCHEMA | op::CHANNEL => {
                    let bytes = self.bytes(body, length).map_err(Error::file(&self.path))?;
                    if let Ok(record) = mcap::parse_record(opcode, &bytes) {
                        self.know(record);
                    }
                }
                op::METADATA => self.metadata.push((place, length + HEAD as u64)),
                op::ATTACHMENT => self.attachments.push((place, length + HEAD as u64)),
                _ => {}
            }
            if !fits {
                break;
            }
            place = body + length;
        }
        let what = if ended { "it has no index" } else { "it ends in the middle" };
        self.remark = Some(format!("{what}: `rosless bag recover` writes one that is whole"));
        Ok(())
    }

    fn scan_chunk(&mut self, body: u64, length: u64, whole: bool) -> Result<()> {
        let mut fields = Fields { file: &self.file, place: body, end: body + length };
        let Some((first, last, size, compression, packed)) = fields.chunk() else { return Ok(()) };
        let place = fields.place;
        let packed = packed.min(body + length - place);
        let (times, crc) = ((first, last), Some(body + 24));
        let mut segment = Segment { times, place, length: packed, compression, size, crc, whole };
        let (mut messages, mut found) = (Vec::new(), Vec::new());
        let records = self.load(&segment);
        let records = match records {
            Ok(records) => records,
            Err(error @ Error::Feature { .. }) => return Err(error),
            // Found again, and told, when messages are read.
            Err(_) => {
                self.segments.push(segment);
                return Ok(());
            }
        };
        let read = each_record(&records, |opcode, body| {
            match opcode {
                op::MESSAGE if body.len() >= 22 => messages.push(message_head(body)),
                op::SCHEMA | op::CHANNEL => found.push((opcode, body.to_vec())),
                _ => {}
            }
            Ok(())
        });
        segment.whole &= read.is_ok();
        for (opcode, body) in found {
            if let Ok(record) = mcap::parse_record(opcode, &body) {
                self.know(record);
            }
        }
        if !segment.whole {
            // What the head of a chunk that was cut says may never have come.
            segment.times = messages.iter().fold((u64::MAX, 0), |(a, b), (_, t)| (a.min(*t), b.max(*t)));
        }
        for (channel, time) in messages {
            if let Some(topic) = self.channels.get(&channel) {
                self.contents.count(*topic, time);
            }
        }
        self.segments.push(segment);
        Ok(())
    }

    fn scan_message(&mut self, place: u64, length: u64) -> Result<()> {
        if length < 22 {
            return Ok(());
        }
        let body = self.bytes(place + HEAD as u64, 22).map_err(Error::file(&self.path))?;
        let (channel, time) = message_head(&body);
        if let Some(topic) = self.channels.get(&channel) {
            self.contents.count(*topic, time);
        }
        let length = length + HEAD as u64;
        match self.segments.last_mut() {
            Some(last) if last.place + last.length == place && last.length < PIECE && last.size == 0 => {
                last.length += length;
                last.times = (last.times.0.min(time), last.times.1.max(time));
            }
            _ => self.segments.push(Segment {
                times: (time, time),
                place,
                length,
                compression: String::new(),
                size: 0,
                crc: None,
                whole: false,
            }),
        }
        Ok(())
    }

    /// Learns schemas and channels.
    fn know(&mut self, record: Record<'_>) {
        match record {
            Record::Schema { header, data } => {
                let text = String::from_utf8_lossy(&data).into_owned();
                let definition = Definition { encoding: header.encoding, text };
                self.schemas.insert(header.id, (header.name, definition));
            }
            Record::Channel(channel) if !self.channels.contains_key(&channel.id) => {
                let (ty, definition) = self.schemas.get(&channel.schema_id).cloned().unwrap_or_default();
                let text = |key: &str| channel.metadata.get(key).cloned().unwrap_or_default();
                self.channels.insert(channel.id, self.contents.topics.len());
                self.contents.counts.push(0);
                self.contents.topics.push(Topic {
                    ty,
                    definition,
                    type_hash: text("topic_type_hash"),
                    qos: qos::from_text(&text("offered_qos_profiles")),
                    name: channel.topic,
                    encoding: channel.message_encoding,
                });
            }
            _ => {}
        }
    }

    fn load(&self, segment: &Segment) -> Result<Vec<u8>> {
        load(&self.file, self.size, &self.path, segment)
    }

    pub(super) fn compression(&self) -> BTreeSet<String> {
        self.segments.iter().map(|segment| segment.compression.clone()).collect()
    }

    pub(super) fn notes(&self) -> Vec<(String, BTreeMap<String, String>)> {
        let read = |(place, length): &(u64, u64)| {
            let bytes = self.bytes(place + HEAD as u64, length.checked_sub(HEAD as u64)?).ok()?;
            match mcap::parse_record(op::METADATA, &bytes).ok()? {
                Record::Metadata(metadata) => Some((metadata.name, metadata.metadata)),
                _ => None,
            }
        };
        self.metadata.iter().filter_map(read).collect()
    }

    pub(super) fn attachments(&self) -> Vec<Attachment> {
        let read = |(place, length): &(u64, u64)| {
            let bytes = self.bytes(place + HEAD as u64, length.checked_sub(HEAD as u64)?).ok()?;
            attachment(&bytes)
        };
        self.attachments.iter().filter_map(read).collect()
    }

    pub(super) fn messages(&self, filter: &Filter) -> Result<Messages> {
        let admitted = |segment: &&Segment| {
            segment.times.1 >= filter.start && filter.end.is_none_or(|end| segment.times.0 < end)
        };
        let wanted = self.channels.iter().filter(|(_, topic)| filter.wants(&self.contents.topics[**topic]));
        Ok(Messages {
            file: self.file.clone(),
            size: self.size,
            path: self.path.clone(),
            channels: wanted.map(|(id, topic)| (*id, *topic)).collect(),
            filter: filter.clone(),
            segments: self.segments.iter().filter(admitted).cloned().collect(),
            waiting: BinaryHeap::new(),
            loaded: Vec::new(),
            count: 0,
        })
    }
}

fn message_head(body: &[u8]) -> (u16, u64) {
    let channel = u16::from_le_bytes(body[..2].try_into().unwrap_or_default());
    (channel, u64::from_le_bytes(body[6..14].try_into().unwrap_or_default()))
}

/// The `mcap` crate's own reading of attachments trusts their lengths.
fn attachment(body: &[u8]) -> Option<Attachment> {
    let (time, rest) = body.split_first_chunk::<8>()?;
    let (_, rest) = rest.split_first_chunk::<8>()?;
    let text = |bytes| -> Option<(String, _)> {
        let (length, rest): (&[u8; 4], &[u8]) = <[u8]>::split_first_chunk::<4>(bytes)?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some((String::from_utf8_lossy(text).into_owned(), rest))
    };
    let (name, rest) = text(rest)?;
    let (media_type, rest) = text(rest)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let data = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?.to_vec();
    Some(Attachment { time: u64::from_le_bytes(*time), name, media_type, data })
}

/// Hands on every record; an error is the first that does not fit, or that `act` complains of.
fn each_record(mut bytes: &[u8], mut act: impl FnMut(u8, &[u8]) -> Result<(), String>) -> Result<(), String> {
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or("a record is cut")?;
        let length = u64::from_le_bytes(head[1..].try_into().unwrap_or_default());
        let length = usize::try_from(length).map_err(|_| "a record is too long")?;
        let (body, rest) = rest.split_at_checked(length).ok_or("a record is cut")?;
        act(head[0], body)?;
        bytes = rest;
    }
    Ok(())
}

fn load(file: &File, size: u64, path: &Path, segment: &Segment) -> Result<Vec<u8>> {
    let fits = segment.place.checked_add(segment.length).is_some_and(|end| end <= size);
    if !fits {
        return Err(Error::format(path, "an index names a chunk beyond the end"));
    }
    let mut packed = vec![0; segment.length as usize];
    file.read_exact_at(&mut packed, segment.place).map_err(Error::file(path))?;
    if segment.size == 0 && segment.compression.is_empty() {
        return Ok(packed);
    }
    let plain = decompress(&segment.compression, &packed, segment.size, segment.whole);
    let plain = plain.map_err(|error| match error {
        Error::Packing(what) => {
            Error::format(path, format!("the chunk at byte {} is broken: {what}", segment.place))
        }
        other => other,
    })?;
    let mut crc = [0; 4];
    if let Some(place) = segment.crc.filter(|_| segment.whole) {
        file.read_exact_at(&mut crc, place).map_err(Error::file(path))?;
    }
    if crc != [0; 4] && crc32fast::hash(&plain).to_le_bytes() != crc {
        let what = format!("the chunk at byte {} is broken: its checksum is wrong", segment.place);
        return Err(Error::format(path, what));
    }
    Ok(plain.into_owned())
}

/// Reads the fields of a chunk's beginning.
struct Fields<'a> {
    file: &'a File,
    place: u64,
    end: u64,
}

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        (self.place + N as u64 <= self.end).then_some(())?;
        self.file.read_exact_at(&mut bytes, self.place).ok()?;
        self.place += N as u64;
        Some(bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn chunk(&mut self) -> Option<(u64, u64, u64, String, u64)> {
        let (first, last, size) = (self.u64()?, self.u64()?, self.u64()?);
        let (_crc, length) = (self.take::<4>()?, u32::from_le_bytes(self.take()?));
        let mut name = vec![0; usize::try_from(length).ok().filter(|length| *length < 64)?];
        self.file.read_exact_at(&mut name, self.place).ok()?;
        self.place += u64::from(length);
        let packed = self.u64()?;
        Some((first, last, size, String::from_utf8(name).ok()?, packed))
    }
}

/// The messages of a file in the order of their log time.
#[derive(Debug)]
pub(super) struct Messages {
    file: Arc<File>,
    size: u64,
    path: PathBuf,
    channels: HashMap<u16, usize>,
    filter: Filter,
    segments: VecDeque<Segment>,
    /// Log time, place in the file, where it is in `loaded`.
    waiting: BinaryHeap<Reverse<(u64, u64, usize)>>,
    loaded: Vec<Option<(usize, Message)>>,
    count: u64,
}

impl Messages {
    fn load(&mut self, segment: &Segment) -> Result<()> {
        let records = load(&self.file, self.size, &self.path, segment)?;
        let read = each_record(&records, |opcode, body| {
            if opcode != op::MESSAGE || body.len() < 22 {
                return Ok(());
            }
            let (channel, log_time) = message_head(body);
            let Some(topic) = self.channels.get(&channel) else { return Ok(()) };
            if self.filter.admits(log_time) {
                let message = Message {
                    log_time,
                    publish_time: u64::from_le_bytes(body[14..22].try_into().unwrap_or_default()),
                    sequence: u32::from_le_bytes(body[2..6].try_into().unwrap_or_default()),
                    data: body[22..].to_vec(),
                };
                self.waiting.push(Reverse((log_time, self.count, self.loaded.len())));
                self.loaded.push(Some((*topic, message)));
                self.count += 1;
            }
            Ok(())
        });
        match read {
            Err(what) if segment.whole => Err(Error::format(
                &self.path,
                format!("the chunk at byte {} is broken: {what}", segment.place),
            )),
            _ => Ok(()),
        }
    }
}

impl Iterator for Messages {
    type Item = Result<(usize, Message)>;

    fn next(&mut self) -> Option<Self::Item> {
        // Chunks may overlap: what begins before the next message may hold one that comes before it.
        while let Some(next) = self.segments.front()
            && self.waiting.peek().is_none_or(|Reverse((time, ..))| next.times.0 <= *time)
        {
            if self.waiting.is_empty() {
                self.loaded.clear();
            }
            let segment = self.segments.pop_front()?;
            if let Err(error) = self.load(&segment) {
                return Some(Err(error));
            }
        }
        let Reverse((_, _, index)) = self.waiting.pop()?;
        self.loaded[index].take().map(Ok)
    }
}
