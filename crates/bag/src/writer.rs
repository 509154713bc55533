//! Writes one MCAP file as rosbag2's mcap plugin does.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use crate::{
    Compression, Error, Message, Result, Topic, qos,
    record::{self, Fields as _, HEAD, MAGIC, op},
    safe_file::SafeFile,
};

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// Of the chunks.
    pub compression: Compression,
    /// A chunk ends when it has so many bytes before compression.
    pub chunk_size: usize,
    /// Whether flushes wait for the disk, so that power loss costs no more than a kill does.
    pub durable: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { compression: Compression::None, chunk_size: 768 << 10, durable: true }
    }
}

/// Before a chunk's records: its head, times, size, checksum, compression and length.
const CHUNK_FIELDS: usize = HEAD + 8 + 8 + 8 + 4;
/// A little more than footer, statistics' fixed part and summary offsets need.
const END: usize = 512;

#[derive(Debug)]
struct Channel {
    count: u64,
    /// Taken, and then not by the disk.
    unwritten: u64,
    /// Of the messages in this chunk: log time and place.
    index: Vec<(u64, u64)>,
}

/// An MCAP file under way. Dropped without [`finish`](Self::finish) it keeps what was flushed.
#[derive(Debug)]
pub struct McapWriter {
    file: SafeFile,
    options: WriteOptions,
    channels: Vec<Channel>,
    schemas: HashMap<(String, String), u16>,
    /// The chunk under way, from its head on; empty when there is none.
    chunk: Vec<u8>,
    times: Option<(u64, u64)>,
    chunks: u32,
    metadata_count: u32,
    attachment_count: u32,
    message_count: u64,
    all_times: Option<(u64, u64)>,
    summary: Summary,
    /// Schemas and channels that are in no chunk of the file yet.
    undefined: Vec<u8>,
    defined: Defined,
}

/// How much of the summary's schemas and channels is in the file: how many of each, and how many bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Defined {
    schemas: (usize, usize),
    channels: (usize, usize),
}

/// The records of the summary as they will be written, one group per kind.
#[derive(Debug, Default)]
struct Summary {
    schemas: Vec<u8>,
    channels: Vec<u8>,
    chunks: Vec<u8>,
    attachments: Vec<u8>,
    metadata: Vec<u8>,
}

fn widen(times: Option<(u64, u64)>, time: u64) -> (u64, u64) {
    times.map_or((time, time), |(first, last)| (first.min(time), last.max(time)))
}

impl McapWriter {
    /// Creates the file; it is a whole file from the first moment.
    ///
    /// # Errors
    /// When it cannot be created, or compression needs a feature that this build lacks.
    pub fn create(path: &Path, options: WriteOptions) -> Result<Self> {
        options.compression.check()?;
        let mut start = MAGIC.to_vec();
        record::header(&mut start, concat!("rosless ", env!("CARGO_PKG_VERSION")));
        let file = SafeFile::create(path, &start, options.durable).map_err(Error::file(path))?;
        Ok(Self {
            file,
            options,
            channels: Vec::new(),
            schemas: HashMap::new(),
            chunk: Vec::new(),
            times: None,
            chunks: 0,
            metadata_count: 0,
            attachment_count: 0,
            message_count: 0,
            all_times: None,
            summary: Summary::default(),
            undefined: Vec::new(),
            defined: Defined::default(),
        })
    }

    /// Makes a topic known; the number is for [`write`](Self::write).
    ///
    /// # Errors
    /// When there are more topics than the format allows.
    pub fn add_topic(&mut self, topic: &Topic) -> Result<u16> {
        let too_many = || Error::format(self.file.path(), "more than 65535 topics do not fit into one file");
        let id = u16::try_from(self.channels.len() + 1).map_err(|_| too_many())?;
        let key = (topic.ty.clone(), topic.definition.text.clone());
        let known = self.schemas.len();
        let schema = match self.schemas.get(&key) {
            Some(schema) => *schema,
            None => {
                let schema = u16::try_from(known + 1).map_err(|_| too_many())?;
                let mut bytes = Vec::new();
                record::schema(&mut bytes, schema, &key.0, &topic.definition.encoding, &key.1);
                self.schemas.insert(key, schema);
                self.open_chunk().extend(&bytes);
                self.undefined.extend(&bytes);
                self.summary.schemas.extend(bytes);
                schema
            }
        };
        let metadata = BTreeMap::from([
            ("offered_qos_profiles".to_owned(), qos::to_text(&topic.qos)),
            ("topic_type_hash".to_owned(), topic.type_hash.clone()),
        ]);
        let mut bytes = Vec::new();
        record::channel(&mut bytes, id, schema, &topic.name, &topic.encoding, &metadata);
        self.open_chunk().extend(&bytes);
        self.undefined.extend(&bytes);
        self.summary.channels.extend(bytes);
        self.channels.push(Channel { count: 0, unwritten: 0, index: Vec::new() });
        Ok(id)
    }

    /// Takes a message of a topic added before.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write(&mut self, topic: u16, message: &Message) -> Result<()> {
        let Message { log_time, publish_time, sequence, data } = message;
        let start = self.chunk_start();
        let chunk = self.open_chunk();
        let at = (chunk.len() - start) as u64;
        record::message(chunk, topic, *sequence, *log_time, *publish_time, data);
        let full = chunk.len() >= self.options.chunk_size;
        self.times = Some(widen(self.times, *log_time));
        if let Some(channel) = self.channels.get_mut(usize::from(topic).wrapping_sub(1)) {
            channel.index.push((*log_time, at));
        }
        if full { self.close_chunk() } else { Ok(()) }
    }

    /// Bytes of the file so far.
    pub fn size(&self) -> u64 {
        self.file.position() + self.chunk.len() as u64
    }

    /// Makes everything written so far count, whatever happens to the process.
    ///
    /// # Errors
    /// When the disk does not take it; what was flushed before stays.
    pub fn flush(&mut self) -> Result<()> {
        self.close_chunk()?;
        let flushed = self.file.flush();
        flushed.map_err(Error::file(self.file.path()))
    }

    /// Messages of a topic that were taken and that the disk then refused.
    pub(crate) fn unwritten(&self, topic: u16) -> u64 {
        self.channels.get(usize::from(topic).wrapping_sub(1)).map_or(0, |channel| channel.unwritten)
    }

    /// Adds free text under keys.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn metadata(&mut self, name: &str, entries: &BTreeMap<String, String>) -> Result<()> {
        self.close_chunk()?;
        let mut bytes = Vec::new();
        record::metadata(&mut bytes, name, entries);
        let place = self.append(&bytes)?;
        self.metadata_count += 1;
        record::put(&mut self.summary.metadata, op::METADATA_INDEX, |out| {
            out.u64(place);
            out.u64(bytes.len() as u64);
            out.text(name);
        });
        Ok(())
    }

    /// Adds a file.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn attach(&mut self, time: u64, name: &str, media_type: &str, data: &[u8]) -> Result<()> {
        self.close_chunk()?;
        let mut bytes = Vec::new();
        record::attachment(&mut bytes, time, name, media_type, data);
        let place = self.append(&bytes)?;
        self.attachment_count += 1;
        record::put(&mut self.summary.attachments, op::ATTACHMENT_INDEX, |out| {
            out.u64(place);
            out.u64(bytes.len() as u64);
            out.u64(time);
            out.u64(time);
            out.u64(data.len() as u64);
            out.text(name);
            out.text(media_type);
        });
        Ok(())
    }

    /// Ends the file with indexes and statistics; its length.
    ///
    /// # Errors
    /// When the disk does not take it; the file is whole all the same, without indexes.
    pub fn finish(mut self) -> Result<u64> {
        // What no longer fits is lost; the rest deserves its indexes.
        let flushed = self.flush();
        // What is said at the end must have been said before.
        self.summary.schemas.truncate(self.defined.schemas.1);
        self.summary.channels.truncate(self.defined.channels.1);
        let mut last = Vec::new();
        record::data_end(&mut last);
        let base = self.file.position();
        let summary_start = last.len();
        let mut statistics = Vec::new();
        self.statistics(&mut statistics);
        let Summary { schemas, channels, chunks, attachments, metadata } = &self.summary;
        let mut offsets = Vec::new();
        for (opcode, group) in [
            (op::SCHEMA, schemas),
            (op::CHANNEL, channels),
            (op::STATISTICS, &statistics),
            (op::CHUNK_INDEX, chunks),
            (op::ATTACHMENT_INDEX, attachments),
            (op::METADATA_INDEX, metadata),
        ] {
            if group.is_empty() {
                continue;
            }
            record::put(&mut offsets, op::SUMMARY_OFFSET, |out| {
                out.push(opcode);
                out.u64(base + last.len() as u64);
                out.u64(group.len() as u64);
            });
            last.extend(group);
        }
        let offsets_start = last.len();
        last.extend(offsets);
        let summary = last[summary_start..].to_vec();
        record::end(&mut last, base + summary_start as u64, base + offsets_start as u64, &summary);
        let path = self.file.path().to_owned();
        let size = self.file.finish(&last).map_err(Error::file(&path))?;
        flushed.map(|()| size)
    }

    fn statistics(&self, out: &mut Vec<u8>) {
        let (first, last) = self.all_times.unwrap_or_default();
        record::put(out, op::STATISTICS, |out| {
            out.u64(self.message_count);
            out.u16(u16::try_from(self.defined.schemas.0).unwrap_or(u16::MAX));
            out.u32(self.defined.channels.0 as u32);
            out.u32(self.attachment_count);
            out.u32(self.metadata_count);
            out.u32(self.chunks);
            out.u64(first);
            out.u64(last);
            out.sized(|out| {
                // As other writers do: who said nothing is not in this table.
                for (id, channel) in (1..).zip(&self.channels).filter(|(_, channel)| channel.count > 0) {
                    out.u16(id);
                    out.u64(channel.count);
                }
            });
        });
    }

    fn chunk_start(&self) -> usize {
        CHUNK_FIELDS + 4 + self.options.compression.name().len() + 8
    }

    /// The chunk under way; its fields are filled in when it ends.
    fn open_chunk(&mut self) -> &mut Vec<u8> {
        let start = self.chunk_start();
        if self.chunk.is_empty() {
            self.chunk.resize(start, 0);
            // Those of a chunk that the disk refused come again.
            self.chunk.extend(&self.undefined);
        }
        &mut self.chunk
    }

    fn close_chunk(&mut self) -> Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let start = self.chunk_start();
        let name = self.options.compression.name();
        let mut chunk = std::mem::take(&mut self.chunk);
        let (plain_size, crc) = (chunk.len() - start, crc32fast::hash(&chunk[start..]));
        let packed = match self.options.compression {
            Compression::None => None,
            packing => Some(packing.compress(&chunk[start..])?.into_owned()),
        };
        if let Some(packed) = packed {
            chunk.truncate(start);
            chunk.extend(packed);
        }
        let (first, last) = self.times.take().unwrap_or_default();
        let packed_size = (chunk.len() - start) as u64;
        let mut fields = Vec::with_capacity(start);
        fields.extend(record::head(op::CHUNK, (chunk.len() - HEAD) as u64));
        fields.u64(first);
        fields.u64(last);
        fields.u64(plain_size as u64);
        fields.u32(crc);
        fields.text(name);
        fields.u64(packed_size);
        chunk[..start].copy_from_slice(&fields);
        let chunk_length = chunk.len() as u64;

        let base = self.file.position() + chunk_length;
        let (mut indexes, mut places) = (Vec::new(), Vec::new());
        for (id, channel) in (1_u16..).zip(&self.channels) {
            if !channel.index.is_empty() {
                places.push((id, base + indexes.len() as u64));
                record::message_index(&mut indexes, id, &channel.index);
            }
        }
        chunk.extend(&indexes);
        let written = self.append(&chunk);
        // A chunk that the disk did not take is lost: the room its messages had is for those that come.
        for channel in &mut self.channels {
            let count = channel.index.len() as u64;
            channel.index.clear();
            match written.is_ok() {
                true => {
                    (channel.count, self.message_count) = (channel.count + count, self.message_count + count)
                }
                false => channel.unwritten += count,
            }
        }
        chunk.clear();
        self.chunk = chunk;
        let place = written?;
        self.undefined.clear();
        self.defined = Defined {
            schemas: (self.schemas.len(), self.summary.schemas.len()),
            channels: (self.channels.len(), self.summary.channels.len()),
        };
        if !places.is_empty() {
            self.all_times = Some(widen(Some(widen(self.all_times, first)), last));
        }
        self.chunks += 1;
        record::put(&mut self.summary.chunks, op::CHUNK_INDEX, |out| {
            out.u64(first);
            out.u64(last);
            out.u64(place);
            out.u64(chunk_length);
            out.sized(|out| {
                for (id, place) in &places {
                    out.u16(*id);
                    out.u64(*place);
                }
            });
            out.u64(indexes.len() as u64);
            out.text(name);
            out.u64(packed_size);
            out.u64(plain_size as u64);
        });
        Ok(())
    }

    /// Where the bytes begin in the file.
    fn append(&mut self, records: &[u8]) -> Result<u64> {
        let place = self.file.position();
        if records.is_empty() {
            return Ok(place);
        }
        let Summary { schemas, channels, chunks, attachments, metadata } = &self.summary;
        let groups = [schemas, channels, chunks, attachments, metadata];
        let keep = groups.iter().map(|group| group.len()).sum::<usize>() + END + 10 * self.channels.len();
        let appended = self.file.append(records, keep as u64);
        appended.map_err(Error::file(self.file.path()))?;
        Ok(place)
    }
}
