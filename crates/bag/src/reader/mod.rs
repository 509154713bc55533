//! Reads recordings: folders of rosbag2, single files, finished or not.

mod mcap_file;
#[cfg(feature = "sqlite3")]
mod sqlite_file;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

pub use mcap_file::Attachment;
use mcap_file::McapFile;

use crate::{Error, METADATA, Message, Metadata, Result, Topic, metadata::FileSummary};

/// Which messages are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Full names; nothing: all.
    pub topics: Option<BTreeSet<String>>,
    /// Not before this log time.
    pub start: u64,
    /// Before this log time; nothing: to the end.
    pub end: Option<u64>,
}

impl Filter {
    fn admits(&self, time: u64) -> bool {
        time >= self.start && self.end.is_none_or(|end| time < end)
    }

    fn wants(&self, topic: &Topic) -> bool {
        self.topics.as_ref().is_none_or(|topics| topics.contains(&topic.name))
    }
}

/// What one part knows of itself.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    /// Of the part's topics: the bag's.
    topics: Vec<usize>,
    storage: Storage,
}

#[derive(Debug)]
enum Storage {
    Mcap(McapFile),
    #[cfg(feature = "sqlite3")]
    Sqlite(sqlite_file::SqliteFile),
}

/// What a storage tells before its messages are read.
#[derive(Clone, Debug, Default)]
struct Contents {
    topics: Vec<Topic>,
    counts: Vec<u64>,
    /// First and last log time.
    times: Option<(u64, u64)>,
}

impl Contents {
    fn count(&mut self, topic: usize, time: u64) {
        self.counts[topic] += 1;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
    }
}

type Stream = Box<dyn Iterator<Item = Result<(usize, Message)>>>;

impl Storage {
    fn open(path: &Path) -> Result<Self> {
        match path.extension().and_then(|extension| extension.to_str()) {
            #[cfg(feature = "sqlite3")]
            Some("db3") => Ok(Self::Sqlite(sqlite_file::SqliteFile::open(path)?)),
            #[cfg(not(feature = "sqlite3"))]
            Some("db3") => Err(Error::feature(&format!("{}: rosbag2 sqlite3", path.display()), "sqlite3")),
            Some("zstd") => Err(Error::format(
                path,
                "it is compressed as a whole file: unpack it with `zstd -d` and take the name out of metadata.yaml",
            )),
            _ => Ok(Self::Mcap(McapFile::open(path)?)),
        }
    }

    fn contents(&self) -> &Contents {
        match self {
            Self::Mcap(file) => &file.contents,
            #[cfg(feature = "sqlite3")]
            Self::Sqlite(file) => &file.contents,
        }
    }

    fn messages(&self, filter: &Filter) -> Result<Stream> {
        match self {
            Self::Mcap(file) => Ok(Box::new(file.messages(filter)?)),
            #[cfg(feature = "sqlite3")]
            Self::Sqlite(file) => Ok(Box::new(file.messages(filter)?)),
        }
    }
}

/// A recording that is read.
#[derive(Debug)]
pub struct Bag {
    /// As it was given.
    pub path: PathBuf,
    /// What the folder says, or what the file would; counts and times are the files' own.
    pub metadata: Metadata,
    /// The topics; messages name them by their index.
    pub topics: Vec<Topic>,
    /// How many messages each has.
    pub counts: Vec<u64>,
    /// What is not as it should be, in words.
    pub remarks: Vec<String>,
    parts: Vec<Part>,
}

impl Bag {
    /// Opens a folder or one file.
    ///
    /// # Errors
    /// When there is nothing to read, or this build lacks a feature that it needs.
    pub fn open(path: &Path) -> Result<Self> {
        let mut remarks = Vec::new();
        let (mut metadata, files) =
            if path.is_dir() { Self::folder(path, &mut remarks)? } else { (None, vec![path.to_owned()]) };
        if files.is_empty() {
            return Err(Error::format(
                path,
                "there is no recording here: no metadata.yaml, no .mcap, no .db3",
            ));
        }
        if metadata.as_ref().is_some_and(|metadata| !metadata.compression_mode.is_empty()) {
            return Err(Error::format(
                path,
                "messages compressed one by one cannot be read; convert it with rosbag2",
            ));
        }
        let (mut topics, mut counts): (Vec<Topic>, Vec<u64>) = Default::default();
        let (mut parts, mut summaries) = (Vec::new(), Vec::new());
        for file in files {
            let storage = Storage::open(&file)?;
            let contents = storage.contents();
            let of_bag = |topic: &Topic| {
                let same = |known: &Topic| (&known.name, &known.ty) == (&topic.name, &topic.ty);
                topics.iter().position(same).unwrap_or_else(|| {
                    topics.push(topic.clone());
                    counts.push(0);
                    topics.len() - 1
                })
            };
            let mapping: Vec<usize> = contents.topics.iter().map(of_bag).collect();
            mapping.iter().zip(&contents.counts).for_each(|(topic, count)| counts[*topic] += count);
            let (first, last) = contents.times.unwrap_or_default();
            summaries.push(FileSummary {
                path: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                start: first,
                duration: last - first,
                message_count: contents.counts.iter().sum(),
            });
            if let Storage::Mcap(mcap) = &storage
                && let Some(remark) = &mcap.remark
            {
                remarks.push(format!("{}: {remark}", file.display()));
            }
            parts.push(Part { path: file, topics: mapping, storage });
        }
        let mut metadata = metadata.take().unwrap_or_default();
        if metadata.storage.is_empty() {
            let sqlite = parts[0].path.extension().is_some_and(|extension| extension == "db3");
            metadata.storage = if sqlite { "sqlite3" } else { "mcap" }.to_owned();
        }
        let times = || summaries.iter().filter(|file| file.message_count > 0);
        metadata.start = times().map(|file| file.start).min().unwrap_or(0);
        let end = times().map(|file| file.start + file.duration).max().unwrap_or(0);
        metadata.duration = end - metadata.start;
        metadata.message_count = counts.iter().sum();
        metadata.files = summaries;
        Ok(Self { path: path.to_owned(), metadata, topics, counts, remarks, parts })
    }

    /// The parts in their order: those listed, then those that a recorder had no time to list.
    fn folder(path: &Path, remarks: &mut Vec<String>) -> Result<(Option<Metadata>, Vec<PathBuf>)> {
        let metadata = match Metadata::read(path) {
            Ok(metadata) => Some(metadata),
            Err(Error::File { .. }) => {
                remarks.push(format!("{}: there is no {METADATA}; all files are read", path.display()));
                None
            }
            Err(broken) => {
                remarks.push(format!("{broken}; all files are read"));
                None
            }
        };
        let listed: Vec<PathBuf> = metadata
            .iter()
            .flat_map(|metadata| &metadata.files)
            .filter_map(|file| {
                // Only names of this folder: whoever wrote the list must not choose other files.
                Some(path.join(Path::new(&file.path).file_name()?))
            })
            .collect();
        let (mut files, missing): (Vec<_>, Vec<_>) = listed.into_iter().partition(|file| file.is_file());
        remarks.extend(missing.iter().map(|file| format!("{}: listed and missing", file.display())));
        let entries = fs::read_dir(path).map_err(Error::file(path))?;
        let mut others: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|file| {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                !name.starts_with('.') && (name.ends_with(".mcap") || name.ends_with(".db3"))
            })
            .filter(|file| !files.contains(file))
            .collect();
        others.sort_by_key(|file| {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let number = stem.rsplit('_').next().and_then(|number| number.parse::<u64>().ok());
            (number.unwrap_or(0), stem)
        });
        files.extend(others);
        Ok((metadata, files))
    }

    /// The messages in the order in which they came, part by part, with their topic's index. What cannot be read comes as
    /// an error in its place, and the rest after it.
    pub fn messages(&self, filter: &Filter) -> impl Iterator<Item = Result<(usize, Message)>> + use<'_> {
        let filter = filter.clone();
        self.parts.iter().flat_map(move |part| -> Stream {
            match part.storage.messages(&filter) {
                Ok(stream) => {
                    let topics = part.topics.clone();
                    Box::new(stream.map(move |item| item.map(|(topic, message)| (topics[topic], message))))
                }
                Err(error) => Box::new(std::iter::once(Err(error))),
            }
        })
    }

    /// Free text under keys: what MCAP's metadata records hold, those of rosbag2 left out.
    pub fn notes(&self) -> Vec<(String, BTreeMap<String, String>)> {
        let parts = self.parts.iter().flat_map(|part| match &part.storage {
            Storage::Mcap(file) => file.notes(),
            #[cfg(feature = "sqlite3")]
            Storage::Sqlite(_) => Vec::new(),
        });
        parts.filter(|(name, _)| name != "rosbag2").collect()
    }

    /// The files attached to it.
    pub fn attachments(&self) -> Vec<Attachment> {
        let parts = self.parts.iter().flat_map(|part| match &part.storage {
            Storage::Mcap(file) => file.attachments(),
            #[cfg(feature = "sqlite3")]
            Storage::Sqlite(_) => Vec::new(),
        });
        parts.collect()
    }

    /// Bytes on disk.
    pub fn size(&self) -> u64 {
        self.parts.iter().filter_map(|part| fs::metadata(&part.path).ok()).map(|file| file.len()).sum()
    }

    /// Names of the parts' compression, such as `lz4`.
    pub fn compression(&self) -> BTreeSet<String> {
        let parts = self.parts.iter().flat_map(|part| match &part.storage {
            Storage::Mcap(file) => file.compression(),
            #[cfg(feature = "sqlite3")]
            Storage::Sqlite(_) => BTreeSet::new(),
        });
        parts.collect()
    }
}
