//! `metadata.yaml`, which makes a folder a bag of rosbag2.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _},
    path::Path,
};

use serde::Serialize;
use serde_yaml_ng::Value;

use crate::{
    Error, Result,
    qos::{self, QosProfile},
};

/// The file's name.
pub const METADATA: &str = "metadata.yaml";
/// The version written: QoS as words, type hashes, ROS distribution.
const VERSION: u64 = 9;
/// More is not read: the largest bags have some hundred kilobytes.
const LARGEST: u64 = 64 << 20;

/// What rosbag2 writes of one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicSummary {
    /// Full name.
    pub name: String,
    /// `pkg/msg/Type`.
    pub ty: String,
    /// Always `cdr`.
    pub serialization_format: String,
    /// What its publishers offered.
    pub qos: Vec<QosProfile>,
    /// RIHS01 hash, or nothing.
    pub type_hash: String,
    /// In all parts.
    pub message_count: u64,
}

/// What rosbag2 writes of one part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// Its name in the folder.
    pub path: String,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// In nanoseconds.
    pub duration: u64,
    /// How many messages it has.
    pub message_count: u64,
}

/// What is known of a bag without reading its messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// `mcap` or `sqlite3`.
    pub storage: String,
    /// Of the file format.
    pub version: u64,
    /// The parts in their order.
    pub files: Vec<FileSummary>,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// In nanoseconds.
    pub duration: u64,
    /// In all parts.
    pub message_count: u64,
    /// The topics.
    pub topics: Vec<TopicSummary>,
    /// `zstd` or nothing.
    pub compression_format: String,
    /// `file`, `message` or nothing.
    pub compression_mode: String,
    /// Free text under keys; what was dropped is here.
    pub custom: BTreeMap<String, String>,
    /// Where it was recorded.
    pub ros_distro: String,
}

#[derive(Serialize)]
struct Outer<'a> {
    rosbag2_bagfile_information: Yaml<'a>,
}

#[derive(Serialize)]
struct Yaml<'a> {
    version: u64,
    storage_identifier: &'a str,
    duration: Nanoseconds,
    starting_time: Since,
    message_count: u64,
    topics_with_message_count: Vec<TopicYaml<'a>>,
    compression_format: &'a str,
    compression_mode: &'a str,
    relative_file_paths: Vec<&'a str>,
    files: Vec<FileYaml<'a>>,
    custom_data: Option<&'a BTreeMap<String, String>>,
    ros_distro: &'a str,
}

#[derive(Serialize)]
struct Nanoseconds {
    nanoseconds: u64,
}

#[derive(Serialize)]
struct Since {
    nanoseconds_since_epoch: u64,
}

#[derive(Serialize)]
struct TopicYaml<'a> {
    topic_metadata: TopicInner<'a>,
    message_count: u64,
}

#[derive(Serialize)]
struct TopicInner<'a> {
    name: &'a str,
    r#type: &'a str,
    serialization_format: &'a str,
    offered_qos_profiles: &'a [QosProfile],
    type_description_hash: &'a str,
}

#[derive(Serialize)]
struct FileYaml<'a> {
    path: &'a str,
    starting_time: Since,
    duration: Nanoseconds,
    message_count: u64,
}

impl Metadata {
    fn yaml(&self) -> Yaml<'_> {
        Yaml {
            version: VERSION,
            storage_identifier: &self.storage,
            duration: Nanoseconds { nanoseconds: self.duration },
            starting_time: Since { nanoseconds_since_epoch: self.start },
            message_count: self.message_count,
            topics_with_message_count: self
                .topics
                .iter()
                .map(|topic| TopicYaml {
                    topic_metadata: TopicInner {
                        name: &topic.name,
                        r#type: &topic.ty,
                        serialization_format: &topic.serialization_format,
                        offered_qos_profiles: &topic.qos,
                        type_description_hash: &topic.type_hash,
                    },
                    message_count: topic.message_count,
                })
                .collect(),
            compression_format: &self.compression_format,
            compression_mode: &self.compression_mode,
            relative_file_paths: self.files.iter().map(|file| &*file.path).collect(),
            files: self
                .files
                .iter()
                .map(|file| FileYaml {
                    path: &file.path,
                    starting_time: Since { nanoseconds_since_epoch: file.start },
                    duration: Nanoseconds { nanoseconds: file.duration },
                    message_count: file.message_count,
                })
                .collect(),
            custom_data: Some(&self.custom).filter(|custom| !custom.is_empty()),
            ros_distro: &self.ros_distro,
        }
    }

    /// As MCAP's metadata record holds it.
    pub(crate) fn record(&self) -> String {
        serde_yaml_ng::to_string(&self.yaml()).unwrap_or_default()
    }

    /// Replaces the folder's file in one step.
    pub(crate) fn write(&self, folder: &Path, durable: bool) -> io::Result<()> {
        let text = serde_yaml_ng::to_string(&Outer { rosbag2_bagfile_information: self.yaml() });
        replace(&folder.join(METADATA), text.map_err(io::Error::other)?.as_bytes(), durable)
    }

    /// Reads a folder's file.
    ///
    /// # Errors
    /// When there is none or it makes no sense.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(METADATA);
        let mut text = String::new();
        fs::File::open(&path)
            .and_then(|file| file.take(LARGEST).read_to_string(&mut text))
            .map_err(Error::file(&path))?;
        let value: Value = serde_yaml_ng::from_str(&text).map_err(|error| Error::format(&path, error))?;
        let inner = value
            .get("rosbag2_bagfile_information")
            .ok_or_else(|| Error::format(&path, "there is no rosbag2_bagfile_information in it"))?;
        Ok(Self::parse(inner))
    }

    fn parse(value: &Value) -> Self {
        let text = |value: &Value, key: &str| -> String {
            value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let number = |value: &Value, keys: &[&str]| -> u64 {
            let found = keys.iter().try_fold(value, |value, key| value.get(key));
            found.and_then(Value::as_u64).unwrap_or(0)
        };
        let list = |key: &str| value.get(key).and_then(Value::as_sequence).cloned().unwrap_or_default();
        let start = ["starting_time", "nanoseconds_since_epoch"];
        let files = list("relative_file_paths").into_iter().filter_map(|path| {
            let path = path.as_str()?.to_owned();
            let details = list("files");
            let known = details.iter().find(|file| text(file, "path") == path);
            Some(FileSummary {
                start: known.map_or(0, |file| number(file, &start)),
                duration: known.map_or(0, |file| number(file, &["duration", "nanoseconds"])),
                message_count: known.map_or(0, |file| number(file, &["message_count"])),
                path,
            })
        });
        let topics = list("topics_with_message_count").into_iter().filter_map(|topic| {
            let inner = topic.get("topic_metadata")?;
            Some(TopicSummary {
                name: text(inner, "name"),
                ty: text(inner, "type"),
                serialization_format: text(inner, "serialization_format"),
                qos: inner.get("offered_qos_profiles").map(qos::from_value).unwrap_or_default(),
                type_hash: text(inner, "type_description_hash"),
                message_count: number(&topic, &["message_count"]),
            })
        });
        let custom = value.get("custom_data").and_then(Value::as_mapping).into_iter().flatten();
        Self {
            storage: text(value, "storage_identifier"),
            version: number(value, &["version"]),
            files: files.collect(),
            start: number(value, &start),
            duration: number(value, &["duration", "nanoseconds"]),
            message_count: number(value, &["message_count"]),
            topics: topics.collect(),
            compression_format: text(value, "compression_format"),
            compression_mode: text(value, "compression_mode").to_lowercase().replace("none", ""),
            custom: custom
                .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value.as_str()?.to_owned())))
                .collect(),
            ros_distro: text(value, "ros_distro"),
        }
    }
}

/// Writes a file so that whoever reads it sees the old one or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.new"));
    fs::write(&new, bytes)?;
    if durable {
        fs::File::open(&new)?.sync_all()?;
    }
    fs::rename(new, path)?;
    if durable { crate::safe_file::sync_folder(path) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let metadata = Metadata {
            storage: "mcap".into(),
            version: 9,
            files: vec![FileSummary { path: "a_0.mcap".into(), start: 5, duration: 7, message_count: 2 }],
            start: 5,
            duration: 7,
            message_count: 2,
            topics: vec![TopicSummary {
                name: "/yes".into(),
                ty: "std_msgs/msg/String".into(),
                serialization_format: "cdr".into(),
                qos: vec![QosProfile::default()],
                type_hash: "RIHS01_00".into(),
                message_count: 2,
            }],
            custom: BTreeMap::from([("rosless".into(), "{\"a\": 1}".into())]),
            ros_distro: "jazzy".into(),
            ..Default::default()
        };
        let value: Value = serde_yaml_ng::from_str(&metadata.record()).unwrap();
        assert_eq!(Metadata::parse(&value), metadata);
    }

    #[test]
    fn a_file_of_an_older_version_or_of_nonsense_is_read_as_far_as_it_goes() {
        let old = "version: 4\nstorage_identifier: sqlite3\nrelative_file_paths: [x_0.db3]\ncompression_mode: \"\"\n\
                   topics_with_message_count:\n  - topic_metadata: {name: /a, type: std_msgs/msg/Int8, \
                   serialization_format: cdr, offered_qos_profiles: \"- history: 3\\n  depth: 0\"}\n    message_count: 3\n";
        let read = Metadata::parse(&serde_yaml_ng::from_str(old).unwrap());
        assert_eq!((read.topics[0].qos[0].history.as_str(), read.topics[0].message_count), ("unknown", 3));
        assert_eq!(read.files[0].path, "x_0.db3");
        for nonsense in ["[]", "3", "{files: 3, topics_with_message_count: [1, {topic_metadata: 3}]}"] {
            Metadata::parse(&serde_yaml_ng::from_str(nonsense).unwrap());
        }
    }
}
