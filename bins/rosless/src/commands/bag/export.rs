//! `rosless bag export`.

use std::{
    collections::{BTreeSet, HashMap, hash_map::Entry},
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use rosless_bag::{Bag, Filter, csv::Table};
use rosless_schema::{DynamicMessage, MessageType, Registry};
use serde_json::json;

use super::{open, progress::Progress};
use crate::{
    Environment,
    failure::{Failure, Result},
    output::{self, err},
    session::absolute,
};

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One file per topic, every field a column; topics named in capture sessions as the original application had it
    Csv,
    /// One line per message: topic, type, times, value
    Json,
}

#[derive(Args, Debug)]
pub(crate) struct Export {
    /// What to write
    format: Format,
    /// Recording to read
    #[arg(value_name = "BAG")]
    input: PathBuf,
    /// Folder for csv, file for json; json goes to standard output without it
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Only these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    topics: Vec<String>,
    /// sensor_msgs/msg/Imu as all others, not as `t,ax,ay,az` without titles
    #[arg(long)]
    full: bool,
}

impl Export {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let bag = open(&self.input)?;
        let types = types(&bag, &environment.registry()?);
        let topics: BTreeSet<String> = self.topics.iter().map(|name| absolute(name)).collect();
        let filter = Filter { topics: Some(topics).filter(|topics| !topics.is_empty()), ..Filter::default() };
        match self.format {
            Format::Csv => self.csv(&bag, &types, &filter),
            Format::Json => self.json(&bag, &types, &filter),
        }
    }

    fn csv(&self, bag: &Bag, types: &[Option<Arc<MessageType>>], filter: &Filter) -> Result<()> {
        let folder = self.output.clone().unwrap_or_else(|| PathBuf::from("."));
        let broken = |path: &Path| {
            let path = path.display().to_string();
            move |error: std::io::Error| Failure::new(format!("{path}: {error}"))
        };
        fs::create_dir_all(&folder).map_err(broken(&folder))?;
        let mut files: HashMap<usize, (PathBuf, Table, BufWriter<File>)> = HashMap::new();
        let (mut progress, mut count) = (Progress::new(false), 0);
        let mut undecodable = 0_u64;
        for item in bag.messages(filter) {
            let Ok((topic, message)) = item.map_err(|error| err!("WARNING: {error}")) else { continue };
            let Some(ty) = &types[topic] else { continue };
            let (path, table, file) = match files.entry(topic) {
                Entry::Occupied(open) => open.into_mut(),
                Entry::Vacant(new) => {
                    let name = bag.topics[topic].name.trim_start_matches('/').replace('/', "_");
                    let path = folder.join(format!("{name}.csv"));
                    let table = Table::new(ty, &bag.topics[topic].ty, !self.full);
                    let mut file = BufWriter::new(File::create(&path).map_err(broken(&path))?);
                    if let Some(titles) = table.titles() {
                        writeln!(file, "{titles}").map_err(broken(&path))?;
                    }
                    new.insert((path, table, file))
                }
            };
            match table.row(message.log_time, &message.data) {
                Ok(row) => writeln!(file, "{row}").map_err(broken(path))?,
                Err(_) => undecodable += 1,
            }
            count += 1;
            progress.tell(count, 0, Some(count as f64 / bag.metadata.message_count.max(1) as f64), "");
        }
        progress.end();
        let mut paths = Vec::new();
        for (path, _, mut file) in files.into_values() {
            file.flush().map_err(broken(&path))?;
            paths.push(path);
        }
        paths.sort();
        if undecodable > 0 {
            err!("WARNING: {undecodable} messages could not be decoded");
        }
        output::answer(&json!({"messages": count, "files": paths, "undecodable": undecodable}), || {
            let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            format!("Wrote {count} messages to {}", names.join(", "))
        });
        Ok(())
    }

    fn json(&self, bag: &Bag, types: &[Option<Arc<MessageType>>], filter: &Filter) -> Result<()> {
        let broken = |error: std::io::Error| Failure::new(format!("cannot write: {error}"));
        let mut file =
            self.output.as_ref().map(File::create).transpose().map_err(broken)?.map(BufWriter::new);
        let (mut progress, mut count) = (Progress::new(file.is_none()), 0);
        for item in bag.messages(filter) {
            if output::closed() {
                break;
            }
            let Ok((index, message)) = item.map_err(|error| err!("WARNING: {error}")) else { continue };
            let topic = &bag.topics[index];
            let value =
                types[index].as_ref().and_then(|ty| DynamicMessage::from_payload(ty, &message.data).ok());
            let line = json!({"topic": topic.name, "type": topic.ty, "log_time": message.log_time,
                "publish_time": message.publish_time, "sequence": message.sequence, "message": value});
            match &mut file {
                Some(file) => writeln!(file, "{line}").map_err(broken)?,
                None => output::json_line(&line),
            }
            count += 1;
            progress.tell(count, 0, Some(count as f64 / bag.metadata.message_count.max(1) as f64), "");
        }
        progress.end();
        file.map_or(Ok(()), |mut file| file.flush()).map_err(broken)
    }
}

/// The topics' types: by the definitions in the recording, else by those known here.
pub(super) fn types(bag: &Bag, registry: &Registry) -> Vec<Option<Arc<MessageType>>> {
    let of = |topic: &rosless_bag::Topic| {
        let inside = topic.definition.message_type(&topic.ty);
        inside.or_else(|inside| registry.message_type(&topic.ty).map_err(|_| inside)).map_err(|error| {
            err!("WARNING: {} cannot be decoded: {error}; give its definition with --idl DIR", topic.name);
        })
    };
    bag.topics.iter().map(|topic| of(topic).ok()).collect()
}
