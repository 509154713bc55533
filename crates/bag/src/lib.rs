//! Recordings: MCAP files and rosbag2 folders, written so that they are whole at every instant, and read.
//!
//! No DDS here, and no clock: whoever records says when a message came.
//!
//! | want | use |
//! |---|---|
//! | one file | [`McapWriter`] |
//! | a folder as rosbag2 has it, in parts | [`BagWriter`] |
//! | the same off the receiving path, with bounded memory | [`Recorder`] |
//! | read any of them, also unfinished ones | [`Bag`] |
//! | definitions of types as files carry them | [`Definition`] |
//!
//! ```
//! use rosless_bag::{Bag, BagOptions, BagWriter, Definition, Filter, Message, Topic};
//! use rosless_schema::Registry;
//!
//! # let scratch = rosless_tests::Scratch::make();
//! let folder = scratch.join("example");
//! let ty = "std_msgs/msg/String";
//! let definition = Definition::of(&Registry::embedded(), ty).expect("built in");
//! let mut writer = BagWriter::create(&folder, BagOptions::default())?;
//! let topic = writer.add_topic(Topic {
//!     name: "/chatter".into(), ty: ty.into(), encoding: "cdr".into(), definition, ..Topic::default()
//! });
//! writer.write(topic, Message { log_time: 1, data: vec![0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], ..Message::default() })?;
//! writer.finish()?;
//! assert_eq!(Bag::open(&folder)?.messages(&Filter::default()).count(), 1);
//! # Ok::<(), rosless_bag::Error>(())
//! ```
#![forbid(unsafe_code)]

mod compression;
pub mod csv;
mod definition;
mod error;
mod folder;
mod metadata;
mod model;
mod qos;
mod reader;
mod record;
mod recorder;
mod safe_file;
#[cfg(feature = "sqlite3")]
mod sqlite;
mod writer;

pub use compression::Compression;
pub use definition::Definition;
pub use error::{Error, Result};
pub use folder::{BagOptions, BagWriter, Loss, StorageKind, replace_file};
pub use metadata::{FileSummary, METADATA, Metadata, TopicSummary};
pub use model::{Message, Topic};
pub use qos::{QosProfile, Span};
pub use reader::{Attachment, Bag, Filter};
pub use recorder::{Recorder, RecorderOptions, Ring, Status};
pub use writer::{McapWriter, WriteOptions};
