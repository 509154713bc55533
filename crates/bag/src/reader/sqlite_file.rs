//! One sqlite3 file of rosbag2, of any of its versions.

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, params};

use super::{Contents, Filter};
use crate::{Definition, Message, Result, Topic, qos, sqlite::failed};

#[derive(Debug)]
pub(super) struct SqliteFile {
    path: PathBuf,
    pub(super) contents: Contents,
    /// Of the topics: their numbers in the file.
    ids: Vec<i64>,
}

/// So many rows are read at once.
const ROWS: usize = 500;

fn connect(path: &Path) -> Result<Connection> {
    // A database that was not closed has a journal, which only somebody who may write can read.
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .or_else(|_| Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY))
        .map_err(failed(path))
}

impl SqliteFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let database = connect(path)?;
        let failed = failed(path);
        let mut definitions = HashMap::new();
        // Since Iron.
        if let Ok(mut query) = database
            .prepare("SELECT topic_type, encoding, encoded_message_definition FROM message_definitions")
        {
            let rows = query.query_map([], |row| {
                Ok((row.get::<_, String>(0)?, Definition { encoding: row.get(1)?, text: row.get(2)? }))
            });
            definitions = rows.and_then(Iterator::collect).map_err(&failed)?;
        }
        let mut this = Self { path: path.to_owned(), contents: Contents::default(), ids: Vec::new() };
        // Columns were added over the years.
        let mut query = database.prepare("SELECT * FROM topics ORDER BY id").map_err(&failed)?;
        let mut rows = query.query([]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let text = |name: &str| row.get::<_, String>(name).unwrap_or_default();
            let ty = text("type");
            this.ids.push(row.get("id").map_err(&failed)?);
            this.contents.counts.push(0);
            this.contents.topics.push(Topic {
                name: text("name"),
                definition: definitions.get(&ty).cloned().unwrap_or_default(),
                ty,
                encoding: text("serialization_format"),
                type_hash: text("type_description_hash"),
                qos: qos::from_text(&text("offered_qos_profiles")),
            });
        }
        let mut query = database
            .prepare(
                "SELECT topic_id, COUNT(*), MIN(timestamp), MAX(timestamp) FROM messages GROUP BY topic_id",
            )
            .map_err(&failed)?;
        let rows = query.query_map([], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
        });
        for row in rows.map_err(&failed)? {
            let (id, count, first, last) = row.map_err(&failed)?;
            if let Some(topic) = this.ids.iter().position(|known| *known == id) {
                this.contents.counts[topic] = count.cast_unsigned();
                let (first, last) = (time(first), time(last));
                let (a, b) = this.contents.times.unwrap_or((first, last));
                this.contents.times = Some((a.min(first), b.max(last)));
            }
        }
        Ok(this)
    }

    pub(super) fn messages(&self, filter: &Filter) -> Result<Rows> {
        let wanted =
            |(topic, id): (usize, &i64)| filter.wants(&self.contents.topics[topic]).then_some((*id, topic));
        Ok(Rows {
            database: connect(&self.path)?,
            path: self.path.clone(),
            topics: self.ids.iter().enumerate().filter_map(wanted).collect(),
            after: (i64::try_from(filter.start).unwrap_or(i64::MAX), -1),
            end: filter.end.and_then(|end| i64::try_from(end).ok()).unwrap_or(i64::MAX),
            waiting: VecDeque::new(),
            done: false,
        })
    }
}

fn time(nanoseconds: i64) -> u64 {
    u64::try_from(nanoseconds).unwrap_or(0)
}

/// The messages in the order of their time.
#[derive(Debug)]
pub(super) struct Rows {
    database: Connection,
    path: PathBuf,
    topics: HashMap<i64, usize>,
    /// Time and number of the last row read.
    after: (i64, i64),
    end: i64,
    waiting: VecDeque<(usize, Message)>,
    done: bool,
}

impl Rows {
    fn read(&mut self) -> rusqlite::Result<()> {
        let mut query = self.database.prepare_cached(
            "SELECT id, topic_id, timestamp, data FROM messages WHERE (timestamp, id) > (?1, ?2) AND timestamp < ?3 \
             ORDER BY timestamp, id LIMIT ?4",
        )?;
        let mut rows = query.query(params![self.after.0, self.after.1, self.end, ROWS as i64])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            self.after = (row.get(2)?, row.get(0)?);
            if let Some(topic) = self.topics.get(&row.get(1)?) {
                let log_time = time(self.after.0);
                let message = Message { log_time, publish_time: log_time, sequence: 0, data: row.get(3)? };
                self.waiting.push_back((*topic, message));
            }
        }
        self.done = count < ROWS;
        Ok(())
    }
}

impl Iterator for Rows {
    type Item = Result<(usize, Message)>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.waiting.is_empty() && !self.done {
            if let Err(error) = self.read() {
                self.done = true;
                return Some(Err(failed(&self.path)(error)));
            }
        }
        self.waiting.pop_front().map(Ok)
    }
}
