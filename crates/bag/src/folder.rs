//! Writes a folder as rosbag2 has it: parts and `metadata.yaml`.

use std::{
    collections::{BTreeMap, VecDeque},
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;

#[cfg(feature = "sqlite3")]
use crate::sqlite::SqliteWriter;
use crate::{
    Bag, Error, FileSummary, METADATA, McapWriter, Message, Metadata, Result, Topic, TopicSummary,
    WriteOptions, safe_file::sync_folder,
};

/// In what kind of files messages are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StorageKind {
    /// What rosbag2 writes today.
    #[default]
    Mcap,
    /// What rosbag2 wrote up to Humble. Needs the cargo feature `sqlite3`.
    Sqlite3,
}

impl std::str::FromStr for StorageKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "mcap" => Ok(Self::Mcap),
            "sqlite3" if cfg!(feature = "sqlite3") => Ok(Self::Sqlite3),
            "sqlite3" => Err(Error::feature("rosbag2 sqlite3", "sqlite3")),
            other => Err(Error::Usage(format!("no storage {other:?}: choose mcap or sqlite3"))),
        }
    }
}

/// How a folder is written.
#[derive(Clone, Debug, Default)]
pub struct BagOptions {
    /// Of the parts.
    pub write: WriteOptions,
    /// Of the parts.
    pub storage: StorageKind,
    /// A part that has so many bytes is the last but one.
    pub max_size: Option<u64>,
    /// The same with time.
    pub max_duration: Option<Duration>,
    /// What the metadata says of the distribution.
    pub ros_distro: String,
    /// Free text for the metadata.
    pub custom: BTreeMap<String, String>,
}

/// What did not get into the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// Came, and found no room because the disk was too slow, or full.
    pub dropped: u64,
    /// Never came: gaps in the numbers of its publishers.
    pub lost: u64,
}

/// Of a latched topic so much is repeated in every part.
const LATCHED_BYTES: usize = 16 << 20;
const LATCHED_COUNT: u64 = 1000;

#[derive(Debug)]
struct TopicState {
    topic: Topic,
    /// Its number in the part under way.
    id: Option<u16>,
    count: u64,
    loss: Loss,
    /// Taken, and then refused by a full disk.
    unwritten: u64,
    /// What late joiners would get, so what every part begins with.
    latched: VecDeque<Message>,
    depth: usize,
}

impl TopicState {
    /// Its number in the part, which knows it from then on.
    fn announce(&mut self, part: &mut PartWriter) -> Result<u16> {
        match self.id {
            Some(id) => Ok(id),
            None => Ok(*self.id.insert(part.add_topic(&self.topic)?)),
        }
    }
}

#[derive(Debug)]
enum PartWriter {
    Mcap(Box<McapWriter>),
    #[cfg(feature = "sqlite3")]
    Sqlite(Box<SqliteWriter>),
}

impl PartWriter {
    fn add_topic(&mut self, topic: &Topic) -> Result<u16> {
        match self {
            Self::Mcap(part) => part.add_topic(topic),
            #[cfg(feature = "sqlite3")]
            Self::Sqlite(part) => part.add_topic(topic),
        }
    }

    fn write(&mut self, id: u16, message: &Message) -> Result<()> {
        match self {
            Self::Mcap(part) => part.write(id, message),
            #[cfg(feature = "sqlite3")]
            Self::Sqlite(part) => part.write(id, message),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Mcap(part) => part.flush(),
            #[cfg(feature = "sqlite3")]
            Self::Sqlite(part) => part.flush(),
        }
    }

    fn size(&self) -> u64 {
        match self {
            Self::Mcap(part) => part.size(),
            #[cfg(feature = "sqlite3")]
            Self::Sqlite(part) => part.size(),
        }
    }

    /// See [`McapWriter::unwritten`]; a database takes a message or refuses it at once.
    fn unwritten(&self, id: u16) -> u64 {
        match self {
            Self::Mcap(part) => part.unwritten(id),
            #[cfg(feature = "sqlite3")]
            Self::Sqlite(_) => 0,
        }
    }

    fn metadata(&mut self, metadata: &str) -> Result<()> {
        match self {
            Self::Mcap(part) => part.metadata(
                "rosbag2",
                &BTreeMap::from([("serialized_metadata".to_owned(), metadata.to_owned())]),
            ),
            #[cfg(feature = "sqlite3")]
            Self::Sqlite(part) => part.metadata(metadata),
        }
    }

    /// Only MCAP has room for it.
    fn note(&mut self, name: &str, entries: &BTreeMap<String, String>) -> Result<()> {
        match self {
            Self::Mcap(part) => part.metadata(name, entries),
            #[cfg(feature = "sqlite3")]
            Self::Sqlite(_) => Ok(()),
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Mcap(part) => part.finish().map(drop),
            #[cfg(feature = "sqlite3")]
            Self::Sqlite(part) => part.finish(),
        }
    }
}

/// A bag under way. Dropped without [`finish`](Self::finish) it keeps what was flushed.
#[derive(Debug)]
pub struct BagWriter {
    folder: PathBuf,
    options: BagOptions,
    topics: Vec<TopicState>,
    part: Option<PartWriter>,
    number: u64,
    /// Parts that are done, and the one under way at the end.
    files: Vec<FileSummary>,
    /// Bytes of the messages written.
    bytes: u64,
}

impl BagWriter {
    /// Creates the folder and its first part.
    ///
    /// # Errors
    /// When the folder exists, or cannot be made.
    pub fn create(folder: &Path, options: BagOptions) -> Result<Self> {
        if folder.exists() {
            return Err(Error::Usage(format!("{} exists already; choose another name", folder.display())));
        }
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        if options.write.durable {
            sync_folder(folder).map_err(Error::file(folder))?;
        }
        let mut this = Self::at(folder, options);
        this.open_part()?;
        Ok(this)
    }

    /// Goes on in a folder that was recorded before, with a new part.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub fn resume(folder: &Path, options: BagOptions) -> Result<Self> {
        let before = Bag::open(folder)?;
        let mut this = Self::at(folder, options);
        this.number = before.metadata.files.len() as u64;
        while this.part_path().exists() {
            this.number += 1;
        }
        this.files = before.metadata.files.clone();
        for (topic, count) in before.topics.iter().zip(&before.counts) {
            let index = this.add_topic(topic.clone());
            this.topics[index].count = *count;
        }
        this.open_part()?;
        Ok(this)
    }

    /// How many messages of each topic there are.
    pub(crate) fn per_topic(&self) -> BTreeMap<String, u64> {
        self.topics.iter().map(|known| (known.topic.name.clone(), known.count)).collect()
    }

    fn at(folder: &Path, options: BagOptions) -> Self {
        let folder = folder.to_owned();
        Self { folder, options, topics: Vec::new(), part: None, number: 0, files: Vec::new(), bytes: 0 }
    }

    fn part_path(&self) -> PathBuf {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        let extension = match self.options.storage {
            StorageKind::Mcap => "mcap",
            StorageKind::Sqlite3 => "db3",
        };
        self.folder.join(format!("{name}_{}.{extension}", self.number))
    }

    fn open_part(&mut self) -> Result<()> {
        let path = self.part_path();
        let mut part = match self.options.storage {
            StorageKind::Mcap => PartWriter::Mcap(Box::new(McapWriter::create(&path, self.options.write)?)),
            #[cfg(feature = "sqlite3")]
            StorageKind::Sqlite3 => {
                PartWriter::Sqlite(Box::new(SqliteWriter::create(&path, &self.options.ros_distro)?))
            }
            #[cfg(not(feature = "sqlite3"))]
            StorageKind::Sqlite3 => return Err(Error::feature("rosbag2 sqlite3", "sqlite3")),
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.files.push(FileSummary { path: name, ..Default::default() });
        self.topics.iter_mut().for_each(|topic| topic.id = None);
        part.metadata(&self.metadata().record())?;
        part.flush()?;
        self.part = Some(part);
        self.write_metadata()
    }

    /// Makes a topic known; the number is for [`write`](Self::write). A topic known already keeps its number.
    pub fn add_topic(&mut self, topic: Topic) -> usize {
        let same = |known: &TopicState| (&known.topic.name, &known.topic.ty) == (&topic.name, &topic.ty);
        if let Some(known) = self.topics.iter().position(same) {
            return known;
        }
        let depths = topic.qos.iter().filter(|qos| qos.is_latched()).map(|qos| match &*qos.history {
            "keep_last" => qos.depth,
            _ => LATCHED_COUNT,
        });
        let depth = depths.max().unwrap_or(0).min(LATCHED_COUNT) as usize;
        let latched = VecDeque::new();
        self.topics.push(TopicState {
            topic,
            id: None,
            count: 0,
            loss: Loss::default(),
            unwritten: 0,
            latched,
            depth,
        });
        self.topics.len() - 1
    }

    /// Takes a message, into a new part where it is time for one.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write(&mut self, topic: usize, message: Message) -> Result<()> {
        let is_due = self.files.last().is_some_and(|file| {
            let long = self.options.max_duration.is_some_and(|longest| {
                u128::from(message.log_time.saturating_sub(file.start)) >= longest.as_nanos()
            });
            let large =
                self.options.max_size.zip(self.part.as_ref()).is_some_and(|(m, part)| part.size() >= m);
            file.message_count > 0 && (long || large)
        });
        if is_due {
            self.split(message.log_time)?;
        }
        self.put(topic, &message)?;
        self.remember(topic, message);
        Ok(())
    }

    /// Takes note of a message that is not written; of a latched topic it belongs to what the next part begins with.
    pub fn remember(&mut self, topic: usize, message: Message) {
        let state = &mut self.topics[topic];
        if state.depth > 0 {
            state.latched.push_back(message);
            let mut held: usize = state.latched.iter().map(|message| message.data.len()).sum();
            while state.latched.len() > state.depth || held > LATCHED_BYTES {
                held -= state.latched.pop_front().map_or(held, |message| message.data.len());
            }
        }
    }

    fn put(&mut self, topic: usize, message: &Message) -> Result<()> {
        let part = self.part.as_mut().ok_or(Error::Ended("the recording is closed"))?;
        let state = &mut self.topics[topic];
        let id = state.announce(part)?;
        let written = part.write(id, message);
        if written.is_err() && part.unwritten(id) == 0 {
            return written;
        }
        // One that was taken with a chunk that the disk refused is counted, and taken off with that chunk.
        state.count += 1;
        self.bytes += message.data.len() as u64;
        if let Some(file) = self.files.last_mut() {
            let end = (file.start + file.duration).max(message.log_time);
            file.start =
                if file.message_count == 0 { message.log_time } else { file.start.min(message.log_time) };
            file.duration = end.max(file.start) - file.start;
            file.message_count += 1;
        }
        written
    }

    /// Ends this part and begins the next, which repeats what late joiners of latched topics would get.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn split(&mut self, now: u64) -> Result<()> {
        self.close_part()?;
        self.number += 1;
        self.open_part()?;
        self.repeat_latched(now)
    }

    /// Writes what late joiners of latched topics would get.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn repeat_latched(&mut self, now: u64) -> Result<()> {
        for topic in 0..self.topics.len() {
            let latched = std::mem::take(&mut self.topics[topic].latched);
            for message in &latched {
                self.put(topic, &Message { log_time: now, ..message.clone() })?;
            }
            self.topics[topic].latched = latched;
        }
        Ok(())
    }

    /// Says what did not get into the recording of a topic so far.
    pub fn set_loss(&mut self, topic: usize, loss: Loss) {
        if let Some(state) = self.topics.get_mut(topic) {
            state.loss = loss;
        }
    }

    /// Adds a file; only MCAP has room for it.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn attach(&mut self, time: u64, name: &str, media_type: &str, data: &[u8]) -> Result<()> {
        match &mut self.part {
            Some(PartWriter::Mcap(part)) => part.attach(time, name, media_type, data),
            _ => Ok(()),
        }
    }

    /// Adds free text under keys to the part under way; only MCAP has room for it.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn note(&mut self, name: &str, entries: &BTreeMap<String, String>) -> Result<()> {
        self.part.as_mut().map_or(Ok(()), |part| part.note(name, entries))
    }

    /// Makes everything written so far count, whatever happens to the process.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn flush(&mut self) -> Result<()> {
        if let Some(part) = &mut self.part {
            // Topics that nobody spoke on belong to the recording, too.
            for state in &mut self.topics {
                state.announce(part)?;
            }
            part.flush()?;
        }
        self.write_metadata()
    }

    fn write_metadata(&self) -> Result<()> {
        let written = self.metadata().write(&self.folder, self.options.write.durable);
        written.map_err(Error::file(&self.folder.join(METADATA)))
    }

    fn close_part(&mut self) -> Result<()> {
        let Some(mut part) = self.part.take() else { return Ok(()) };
        let announced = self.topics.iter_mut().try_for_each(|state| state.announce(&mut part).map(drop));
        let flushed = announced.and_then(|()| part.flush());
        for state in &mut self.topics {
            // What a full disk did not take is not in the file, though it was counted.
            let unwritten = state.id.map_or(0, |id| part.unwritten(id));
            state.unwritten += unwritten;
            state.count -= unwritten.min(state.count);
            if let Some(file) = self.files.last_mut() {
                file.message_count -= unwritten.min(file.message_count);
            }
        }
        let losses = self.losses();
        let told = match losses.is_empty() {
            true => Ok(()),
            false => part.note("rosless_losses", &losses),
        };
        let told = told.and_then(|()| part.metadata(&self.metadata().record()));
        let finished = part.finish();
        flushed.and(told).and(finished)
    }

    fn losses(&self) -> BTreeMap<String, String> {
        let with_loss =
            self.topics.iter().filter(|state| state.loss != Loss::default() || state.unwritten > 0);
        with_loss
            .map(|state| {
                let Loss { dropped, lost } = state.loss;
                let dropped = dropped + state.unwritten;
                (state.topic.name.clone(), json!({"dropped": dropped, "lost": lost}).to_string())
            })
            .collect()
    }

    /// Ends the bag.
    ///
    /// # Errors
    /// When the disk does not take it; what was flushed stays.
    pub fn finish(&mut self) -> Result<Metadata> {
        let closed = self.close_part();
        let metadata = self.metadata();
        let written = metadata.write(&self.folder, self.options.write.durable);
        closed?;
        written.map_err(Error::file(&self.folder.join(METADATA)))?;
        Ok(metadata)
    }

    /// What `metadata.yaml` says now.
    pub fn metadata(&self) -> Metadata {
        let with_messages = || self.files.iter().filter(|file| file.message_count > 0);
        let start = with_messages().map(|file| file.start).min().unwrap_or(0);
        let end = with_messages().map(|file| file.start + file.duration).max().unwrap_or(0);
        let mut custom = self.options.custom.clone();
        let losses = self.losses();
        if !losses.is_empty() {
            custom.insert("losses".into(), serde_json::to_string(&losses).unwrap_or_default());
        }
        Metadata {
            storage: match self.options.storage {
                StorageKind::Mcap => "mcap",
                StorageKind::Sqlite3 => "sqlite3",
            }
            .to_owned(),
            version: 9,
            files: self.files.clone(),
            start,
            duration: end - start,
            message_count: self.files.iter().map(|file| file.message_count).sum(),
            topics: self
                .topics
                .iter()
                .map(|state| TopicSummary {
                    name: state.topic.name.clone(),
                    ty: state.topic.ty.clone(),
                    serialization_format: state.topic.encoding.clone(),
                    qos: state.topic.qos.clone(),
                    type_hash: state.topic.type_hash.clone(),
                    message_count: state.count,
                })
                .collect(),
            custom,
            ros_distro: self.options.ros_distro.clone(),
            ..Default::default()
        }
    }

    /// Messages written so far, in all parts, and how many parts there are.
    pub fn counts(&self) -> (u64, usize) {
        (self.files.iter().map(|file| file.message_count).sum(), self.files.len())
    }

    /// Bytes of the messages written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The part under way.
    pub fn current(&self) -> PathBuf {
        self.part_path()
    }
}

/// Writes a file beside a bag so that whoever reads it sees the old one or the new one.
///
/// # Errors
/// When the system refuses it.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    crate::metadata::replace(path, bytes, false)
}
