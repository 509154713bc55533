//! `rosless bag convert`, `cut` and `recover`: a recording read and written anew.

use std::{
    collections::{BTreeSet, HashMap},
    iter::Peekable,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use rosless_bag::{Bag, BagOptions, BagWriter, Compression, Filter, Message, StorageKind, WriteOptions};

use super::{bytes, failed, human, open, progress::Progress, span};
use crate::{
    failure::{Failure, Result},
    output::{self, err},
    session::absolute,
};

/// How what is written looks.
#[derive(Args, Debug)]
pub(crate) struct Target {
    /// Folder to write; it must not exist
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// mcap, or sqlite3 where it was built in
    #[arg(short, long, default_value = "mcap")]
    storage: StorageKind,
    /// How chunks are packed: none, lz4, or zstd where it was built in
    #[arg(long, default_value = "none", value_name = "FORMAT")]
    compression: Compression,
    /// Begin a new part when one has so many bytes
    #[arg(short = 'b', long, value_parser = bytes, value_name = "BYTES")]
    max_bag_size: Option<u64>,
    /// Begin a new part after so long
    #[arg(short = 'd', long, value_parser = span, value_name = "SECONDS")]
    max_bag_duration: Option<Duration>,
}

/// Which topics.
#[derive(Args, Debug)]
pub(crate) struct Topics {
    /// Only these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    topics: Vec<String>,
    /// Not these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    exclude_topics: Vec<String>,
}

impl Topics {
    fn filter(&self, bags: &[Bag]) -> Filter {
        let full =
            |names: &[String]| -> BTreeSet<String> { names.iter().map(|name| absolute(name)).collect() };
        let (wanted, excluded) = (full(&self.topics), full(&self.exclude_topics));
        let all = bags.iter().flat_map(|bag| &bag.topics).map(|topic| topic.name.clone());
        let topics =
            all.filter(|name| (wanted.is_empty() || wanted.contains(name)) && !excluded.contains(name));
        Filter { topics: Some(topics.collect()), ..Filter::default() }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Convert {
    /// Recordings to read; several become one, in the order of time
    #[arg(required = true, value_name = "BAG")]
    input: Vec<PathBuf>,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    topics: Topics,
}

#[derive(Args, Debug)]
pub(crate) struct Cut {
    /// Recording to read
    #[arg(value_name = "BAG")]
    input: PathBuf,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    topics: Topics,
    /// From so long after its beginning
    #[arg(long, value_parser = span, default_value = "0", value_name = "SECONDS")]
    start: Duration,
    /// Up to so long after its beginning
    #[arg(long, value_parser = span, value_name = "SECONDS", conflicts_with = "duration")]
    end: Option<Duration>,
    /// So long
    #[arg(long, value_parser = span, value_name = "SECONDS")]
    duration: Option<Duration>,
}

#[derive(Args, Debug)]
pub(crate) struct Recover {
    /// Recording to read: a folder, or one file
    #[arg(value_name = "BAG")]
    input: PathBuf,
    #[command(flatten)]
    target: Target,
}

impl Convert {
    pub(crate) fn run(self) -> Result<()> {
        let bags = self.input.iter().map(|path| open(path)).collect::<Result<Vec<_>>>()?;
        let filter = self.topics.filter(&bags);
        self.target.write(&bags, &filter, false)
    }
}

impl Cut {
    pub(crate) fn run(self) -> Result<()> {
        let bags = [open(&self.input)?];
        let start = bags[0].metadata.start;
        let after = |span: Duration| start.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
        let end = self.end.or_else(|| Some(self.start + self.duration?)).map(after);
        if end.is_some_and(|end| end <= after(self.start)) {
            return Err(Failure::usage("the end of the piece is not after its start"));
        }
        let filter = Filter { start: after(self.start), end, ..self.topics.filter(&bags) };
        // What late joiners would have got belongs to the beginning of the piece.
        self.target.write(&bags, &filter, true)
    }
}

impl Recover {
    pub(crate) fn run(self) -> Result<()> {
        let bags = [Bag::open(&self.input).map_err(failed)?];
        if bags[0].messages(&Filter::default()).all(|item| item.is_err()) {
            let nothing = format!("{}: there is no message in it that can be read", self.input.display());
            return Err(Failure::new(nothing));
        }
        self.target.write(&bags, &Filter::default(), false)
    }
}

impl Target {
    /// Reads all in the order of time and writes it; what cannot be read is told and left out.
    fn write(&self, bags: &[Bag], filter: &Filter, with_latched: bool) -> Result<()> {
        let options = BagOptions {
            write: WriteOptions { compression: self.compression, ..Default::default() },
            storage: self.storage,
            max_size: self.max_bag_size,
            max_duration: self.max_bag_duration,
            ros_distro: bags[0].metadata.ros_distro.clone(),
            custom: bags[0].metadata.custom.clone(),
        };
        let mut writer = BagWriter::create(&self.output, options).map_err(failed)?;
        let mut topics = HashMap::new();
        for (number, bag) in bags.iter().enumerate() {
            for (index, topic) in bag.topics.iter().enumerate() {
                if filter.topics.as_ref().is_none_or(|topics| topics.contains(&topic.name)) {
                    topics.insert((number, index), writer.add_topic(topic.clone()));
                }
            }
        }
        if with_latched {
            for (topic, message) in latched_before(&bags[0], filter) {
                if let Some(topic) = topics.get(&(0, topic)) {
                    writer.write(*topic, Message { log_time: filter.start, ..message }).map_err(failed)?;
                }
            }
        }
        let mut progress = Progress::new(false);
        let (start, end) = (filter.start.max(bags[0].metadata.start), filter.end);
        let end = end
            .unwrap_or(bags.iter().map(|bag| bag.metadata.start + bag.metadata.duration).max().unwrap_or(0));
        let (mut broken, mut count, mut size) = (0_u64, 0, 0);
        let mut streams: Vec<Peekable<_>> = bags.iter().map(|bag| bag.messages(filter).peekable()).collect();
        while let Some((number, item)) = earliest(&mut streams) {
            match item {
                Ok((topic, message)) => {
                    count += 1;
                    size += message.data.len() as u64;
                    let done = message.log_time.saturating_sub(start) as f64
                        / end.saturating_sub(start).max(1) as f64;
                    if let Some(topic) = topics.get(&(number, topic)) {
                        writer.write(*topic, message).map_err(failed)?;
                    }
                    progress.tell(count, size, Some(done), "");
                }
                Err(error) => {
                    broken += 1;
                    progress.end();
                    err!("WARNING: {error}");
                }
            }
        }
        progress.end();
        for (bag, note) in bags.iter().flat_map(|bag| bag.notes().into_iter().map(move |note| (bag, note))) {
            log::debug!("{}: {}", bag.path.display(), note.0);
            writer.note(&note.0, &note.1).map_err(failed)?;
        }
        for file in bags.iter().flat_map(Bag::attachments) {
            writer.attach(file.time, &file.name, &file.media_type, &file.data).map_err(failed)?;
        }
        let metadata = writer.finish().map_err(failed)?;
        let json = serde_json::json!({"folder": self.output, "messages": metadata.message_count,
            "bytes": size, "parts": metadata.files.len(), "broken": broken});
        output::answer(&json, || {
            let lost = match broken {
                0 => String::new(),
                1 => "; 1 chunk could not be read".to_owned(),
                many => format!("; {many} chunks could not be read"),
            };
            format!(
                "Wrote {} messages ({}) to {}{lost}",
                metadata.message_count,
                human(size),
                shown(&self.output)
            )
        });
        Ok(())
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

type Item = rosless_bag::Result<(usize, Message)>;

/// The next of all, and whose it is; what cannot be read comes at once.
fn earliest<I: Iterator<Item = Item>>(streams: &mut [Peekable<I>]) -> Option<(usize, Item)> {
    let time = |item: &Item| item.as_ref().map_or(0, |(_, message)| message.log_time);
    let next =
        streams.iter_mut().enumerate().filter_map(|(n, stream)| Some((time(stream.peek()?), n))).min()?.1;
    Some((next, streams[next].next()?))
}

/// The last messages of latched topics before the piece.
pub(super) fn latched_before(bag: &Bag, filter: &Filter) -> Vec<(usize, Message)> {
    let latched = bag.topics.iter().filter(|topic| topic.is_latched()).map(|topic| topic.name.clone());
    let wanted = |name: &String| filter.topics.as_ref().is_none_or(|topics| topics.contains(name));
    let topics: BTreeSet<String> = latched.filter(wanted).collect();
    if topics.is_empty() || filter.start <= bag.metadata.start {
        return Vec::new();
    }
    let before = Filter { topics: Some(topics), start: 0, end: Some(filter.start) };
    let mut last: HashMap<usize, std::collections::VecDeque<Message>> = HashMap::new();
    for (topic, message) in bag.messages(&before).filter_map(std::result::Result::ok) {
        let depth = bag.topics[topic].qos.iter().map(|qos| qos.depth).max().unwrap_or(1).clamp(1, 1000);
        let kept = last.entry(topic).or_default();
        kept.push_back(message);
        if kept.len() as u64 > depth {
            kept.pop_front();
        }
    }
    let mut all: Vec<_> = last
        .into_iter()
        .flat_map(|(topic, kept)| kept.into_iter().map(move |message| (topic, message)))
        .collect();
    all.sort_by_key(|(_, message)| message.log_time);
    all
}
