//! `rosless bag info`.

use std::path::PathBuf;

use chrono::{DateTime, Local};
use clap::Args;
use rosless_bag::{Bag, Topic};
use serde_json::{Value, json};

use super::{human, open};
use crate::{
    Environment,
    failure::Result,
    output::{self, out},
};

#[derive(Args, Debug)]
pub(crate) struct Info {
    /// Folder of a recording, or one file of it
    bag_path: PathBuf,
    /// Print only the names of the topics
    #[arg(short, long)]
    topic_name: bool,
    /// Also print quality of service, type hashes, notes and attachments
    #[arg(short, long)]
    verbose: bool,
    /// Accepted because ros2 has it: the storage is found
    #[arg(short, long, hide = true)]
    storage: Option<String>,
}

impl Info {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let bag = open(&self.bag_path)?;
        if environment.json() {
            output::json(&as_json(&bag));
        } else if self.topic_name {
            bag.topics.iter().for_each(|topic| out!("{}", topic.name));
        } else {
            self.print(&bag);
        }
        Ok(())
    }

    fn print(&self, bag: &Bag) {
        let metadata = &bag.metadata;
        let files: Vec<_> = metadata.files.iter().map(|file| file.path.as_str()).collect();
        let line = |title: &str, value: &str| out!("{title:<19}{value}");
        out!();
        line("Files:", files.first().unwrap_or(&""));
        files.iter().skip(1).for_each(|file| line("", file));
        line("Bag size:", &human(bag.size()));
        line("Storage id:", &metadata.storage);
        line("ROS Distro:", if metadata.ros_distro.is_empty() { "unknown" } else { &metadata.ros_distro });
        line("Duration:", &format!("{}s", decimal(metadata.duration)));
        let end = metadata.start + metadata.duration;
        line("Start:", &format!("{} ({})", date(metadata.start), decimal(metadata.start)));
        line("End:", &format!("{} ({})", date(end), decimal(end)));
        line("Messages:", &metadata.message_count.to_string());
        let (services, topics): (Vec<_>, Vec<_>) = bag
            .topics
            .iter()
            .zip(&bag.counts)
            .partition(|(topic, _)| topic.name.ends_with("/_service_event"));
        let shown = |(topic, count): &(&Topic, &u64)| {
            format!(
                "Topic: {} | Type: {} | Count: {count} | Serialization Format: {}",
                topic.name, topic.ty, topic.encoding
            )
        };
        line("Topic information:", &topics.first().map(shown).unwrap_or_default());
        topics.iter().skip(1).for_each(|topic| line("", &shown(topic)));
        line("Service:", &services.len().to_string());
        let service = |(topic, count): &(&Topic, &u64)| {
            let name = topic.name.trim_end_matches("/_service_event");
            let ty = topic.ty.trim_end_matches("_Event");
            format!(
                "Service: {name} | Type: {ty} | Event Count: {count} | Serialization Format: {}",
                topic.encoding
            )
        };
        line("Service information:", &services.first().map(service).unwrap_or_default());
        services.iter().skip(1).for_each(|entry| line("", &service(entry)));
        if self.verbose {
            for topic in &bag.topics {
                for qos in &topic.qos {
                    out!(
                        "{}: {}, {}, {} {}, {}",
                        topic.name,
                        qos.reliability,
                        qos.durability,
                        qos.history,
                        qos.depth,
                        topic.type_hash
                    );
                }
            }
            let packed: Vec<_> =
                bag.compression().into_iter().map(|n| if n.is_empty() { "none".into() } else { n }).collect();
            out!("Compression: {}", packed.join(", "));
            for (name, entries) in bag.notes() {
                entries.iter().for_each(|(key, value)| out!("{name}: {key}: {value}"));
            }
            bag.attachments()
                .iter()
                .for_each(|file| out!("Attachment: {} ({})", file.name, human(file.data.len() as u64)));
        }
    }
}

fn decimal(nanoseconds: u64) -> String {
    format!("{}.{:09}", nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000)
}

fn date(nanoseconds: u64) -> String {
    let time = DateTime::from_timestamp_nanos(i64::try_from(nanoseconds).unwrap_or(i64::MAX));
    time.with_timezone(&Local).format("%b %e %Y %H:%M:%S%.9f").to_string()
}

fn as_json(bag: &Bag) -> Value {
    let topics: Vec<Value> = bag
        .topics
        .iter()
        .zip(&bag.counts)
        .map(|(topic, count)| {
            json!({"name": topic.name, "type": topic.ty, "count": count, "serialization_format": topic.encoding,
                "type_hash": topic.type_hash, "qos": topic.qos})
        })
        .collect();
    let files: Vec<Value> = bag
        .metadata
        .files
        .iter()
        .map(|file| json!({"path": file.path, "start": file.start, "duration": file.duration, "messages": file.message_count}))
        .collect();
    let metadata = &bag.metadata;
    json!({"path": bag.path, "storage": metadata.storage, "size": bag.size(), "start": metadata.start,
        "duration": metadata.duration, "messages": metadata.message_count, "ros_distro": metadata.ros_distro,
        "files": files, "topics": topics, "custom_data": metadata.custom, "remarks": bag.remarks})
}
