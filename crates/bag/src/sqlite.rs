//! Writes rosbag2's sqlite3 files, schema version 4.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, params};

use crate::{Error, Message, Result, Topic, qos};

const TABLES: &str = "
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL,
    offered_qos_profiles TEXT NOT NULL, type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL,
    encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
";

/// A database under way.
#[derive(Debug)]
pub(crate) struct SqliteWriter {
    database: Connection,
    path: PathBuf,
    topics: u16,
    types: BTreeSet<String>,
    size: u64,
    in_transaction: bool,
}

pub(crate) fn failed(path: &Path) -> impl Fn(rusqlite::Error) -> Error {
    let path = path.to_owned();
    move |error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => {
            Error::file(&path)(std::io::Error::new(std::io::ErrorKind::StorageFull, error))
        }
        _ => Error::format(&path, error),
    }
}

impl SqliteWriter {
    pub(crate) fn create(path: &Path, ros_distro: &str) -> Result<Self> {
        let failed = failed(path);
        let database = Connection::open(path).map_err(&failed)?;
        database.execute_batch(TABLES).map_err(&failed)?;
        database.execute("INSERT INTO schema VALUES (4, ?)", [ros_distro]).map_err(&failed)?;
        let types = BTreeSet::new();
        Ok(Self { database, path: path.to_owned(), topics: 0, types, size: 0, in_transaction: false })
    }

    fn begin(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.in_transaction, true) {
            self.database.execute_batch("BEGIN").map_err(failed(&self.path))?;
        }
        Ok(())
    }

    pub(crate) fn add_topic(&mut self, topic: &Topic) -> Result<u16> {
        let too_many = || Error::format(&self.path, "more than 65535 topics do not fit into one file");
        self.topics = self.topics.checked_add(1).ok_or_else(too_many)?;
        self.begin()?;
        let Topic { name, ty, encoding, definition, type_hash, qos } = topic;
        let offered = qos::to_text(qos);
        self.database
            .execute(
                "INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?)",
                params![self.topics, name, ty, encoding, offered, type_hash],
            )
            .map_err(failed(&self.path))?;
        if !definition.text.is_empty() && self.types.insert(ty.clone()) {
            self.database
                .execute(
                    "INSERT INTO message_definitions (topic_type, encoding, encoded_message_definition, \
                     type_description_hash) VALUES (?, ?, ?, ?)",
                    params![ty, definition.encoding, definition.text, type_hash],
                )
                .map_err(failed(&self.path))?;
        }
        Ok(self.topics)
    }

    pub(crate) fn write(&mut self, topic: u16, message: &Message) -> Result<()> {
        self.begin()?;
        let time = i64::try_from(message.log_time).unwrap_or(i64::MAX);
        self.database
            .prepare_cached("INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)")
            .and_then(|mut insert| insert.execute(params![topic, time, message.data]))
            .map_err(failed(&self.path))?;
        self.size += message.data.len() as u64;
        Ok(())
    }

    pub(crate) fn metadata(&mut self, metadata: &str) -> Result<()> {
        self.begin()?;
        self.database
            .execute("INSERT OR REPLACE INTO metadata VALUES (1, 9, ?)", [metadata])
            .map_err(failed(&self.path))?;
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        if std::mem::take(&mut self.in_transaction) {
            self.database.execute_batch("COMMIT").map_err(failed(&self.path))?;
        }
        Ok(())
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Into one file, as rosbag2 leaves it.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.database.execute_batch("PRAGMA journal_mode = DELETE").map_err(failed(&self.path))
    }
}
