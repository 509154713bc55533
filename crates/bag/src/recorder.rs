//! Writes on a thread of its own, so that a slow disk never stalls who receives.

use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crate::{BagOptions, BagWriter, Error, Loss, Message, Metadata, Result, Topic};

/// How a recorder works.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// Of the folder.
    pub bag: BagOptions,
    /// So many bytes may wait for the disk; what comes beyond is dropped, and counted.
    pub cache: usize,
    /// What is written counts after so long at most.
    pub flush: Duration,
    /// Keep messages in memory and write them on [`Recorder::snapshot`] only.
    pub snapshot: Option<Ring>,
    /// Go on in a folder that exists.
    pub resume: bool,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self {
            bag: BagOptions::default(),
            cache: 100 << 20,
            flush: Duration::from_secs(1),
            snapshot: None,
            resume: false,
        }
    }
}

/// What is kept in memory for a snapshot; in bytes it is [`RecorderOptions::cache`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Ring {
    /// Not longer than this before the trigger.
    pub before: Option<Duration>,
    /// And so long after it.
    pub after: Duration,
}

/// How it goes.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Written so far.
    pub messages: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Found no room.
    pub dropped: u64,
    /// Bytes that wait for the disk, or in memory for a snapshot.
    pub waiting: usize,
    /// The part under way.
    pub part: PathBuf,
    /// How many parts there are.
    pub parts: usize,
    /// Why nothing is written any more.
    pub failure: Option<String>,
}

#[derive(Debug)]
enum Item {
    Topic(Topic),
    Message(usize, Message),
    Lost(usize, u64),
    Split(u64),
    Snapshot(u64),
    Note(String, BTreeMap<String, String>),
    Attach { time: u64, name: String, media_type: String, data: Vec<u8> },
    Finish,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<Item>,
    /// Of the messages in `items`, and of those being written.
    bytes: usize,
    /// Per topic.
    dropped: Vec<u64>,
    status: Status,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    cache: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writer wakes by itself this often, and at once when so much waits.
const PATIENCE: Duration = Duration::from_millis(50);
const IMPATIENCE: usize = 1 << 20;
/// What a message takes beside its bytes.
const OVERHEAD: usize = 64;

/// A recording under way. Dropped without [`finish`](Self::finish) it keeps what was flushed.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    before: BTreeMap<String, u64>,
    thread: Option<JoinHandle<Result<Metadata>>>,
}

impl Recorder {
    /// Creates the folder and begins.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn start(folder: &Path, options: RecorderOptions) -> Result<Self> {
        let bag = match options.resume && folder.exists() {
            true => BagWriter::resume(folder, options.bag.clone())?,
            false => BagWriter::create(folder, options.bag.clone())?,
        };
        let before = bag.per_topic();
        let state = State {
            status: Status { part: bag.current(), parts: 1, ..Status::default() },
            ..State::default()
        };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new(), cache: options.cache.max(1) });
        let mut writer = Writer {
            shared: shared.clone(),
            bag,
            topics: Vec::new(),
            losses: Vec::new(),
            ring: options.snapshot,
            kept: VecDeque::new(),
            kept_bytes: 0,
            until: None,
            flush: options.flush,
            failure: None,
        };
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(move || writer.run());
        Ok(Self { shared, before, thread: Some(thread.map_err(Error::file(folder))?) })
    }

    /// How many messages of each topic were there before this recorder went on with the folder.
    pub fn before(&self) -> &BTreeMap<String, u64> {
        &self.before
    }

    /// Makes a topic known; the number is for [`push`](Self::push).
    pub fn add_topic(&self, topic: Topic) -> usize {
        let mut state = self.shared.lock();
        state.items.push_back(Item::Topic(topic));
        state.dropped.push(0);
        state.dropped.len() - 1
    }

    /// Takes a message and returns at once; `false` when there was no room for it.
    pub fn push(&self, topic: usize, message: Message) -> bool {
        let size = message.data.len() + OVERHEAD;
        let mut state = self.shared.lock();
        if state.bytes + size > self.shared.cache || state.status.failure.is_some() {
            state.status.dropped += 1;
            if let Some(dropped) = state.dropped.get_mut(topic) {
                *dropped += 1;
            }
            return false;
        }
        let before = state.bytes;
        state.bytes += size;
        state.items.push_back(Item::Message(topic, message));
        let urgent = before / IMPATIENCE != state.bytes / IMPATIENCE;
        drop(state);
        if urgent {
            self.shared.wake.notify_one();
        }
        true
    }

    fn command(&self, item: Item) {
        self.shared.lock().items.push_back(item);
        self.shared.wake.notify_one();
    }

    /// How many messages of a topic never came, in all.
    pub fn set_lost(&self, topic: usize, lost: u64) {
        self.command(Item::Lost(topic, lost));
    }

    /// Begins a new part.
    pub fn split(&self, now: u64) {
        self.command(Item::Split(now));
    }

    /// Writes what is in memory, and what comes for a while after `now`.
    pub fn snapshot(&self, now: u64) {
        self.command(Item::Snapshot(now));
    }

    /// Adds free text under keys.
    pub fn note(&self, name: &str, entries: BTreeMap<String, String>) {
        self.command(Item::Note(name.to_owned(), entries));
    }

    /// Adds a file.
    pub fn attach(&self, time: u64, name: &str, media_type: &str, data: Vec<u8>) {
        self.command(Item::Attach { time, name: name.to_owned(), media_type: media_type.to_owned(), data });
    }

    /// How it goes.
    pub fn status(&self) -> Status {
        let state = self.shared.lock();
        Status { waiting: state.bytes, ..state.status.clone() }
    }

    /// What found no room, per topic.
    pub fn dropped(&self) -> Vec<u64> {
        self.shared.lock().dropped.clone()
    }

    /// Writes what waits, ends the files, and says what is in them.
    ///
    /// # Errors
    /// Why not everything was written.
    pub fn finish(mut self) -> Result<Metadata> {
        self.command(Item::Finish);
        let ended = self.thread.take().map(JoinHandle::join);
        ended
            .and_then(std::result::Result::ok)
            .unwrap_or(Err(Error::Ended("the thread that writes the recording has broken")))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.command(Item::Finish);
            // What went wrong was told by the status.
            drop(thread.join());
        }
    }
}

struct Writer {
    shared: Arc<Shared>,
    bag: BagWriter,
    /// Of the recorder's topics: the bag's.
    topics: Vec<usize>,
    losses: Vec<Loss>,
    ring: Option<Ring>,
    kept: VecDeque<(usize, Message)>,
    kept_bytes: usize,
    /// A snapshot under way takes messages up to this log time.
    until: Option<u64>,
    flush: Duration,
    failure: Option<Error>,
}

impl Writer {
    fn run(&mut self) -> Result<Metadata> {
        let mut flushed = Instant::now();
        loop {
            let items = self.next(flushed);
            let mut finish = false;
            let mut done = 0;
            for item in items {
                if let Item::Message(_, message) = &item {
                    done += message.data.len() + OVERHEAD;
                }
                finish |= matches!(item, Item::Finish);
                let taken = self.take(item);
                self.check(taken);
                if done >= IMPATIENCE {
                    self.release(std::mem::take(&mut done));
                }
            }
            if finish || flushed.elapsed() >= self.flush {
                // From here to here: what comes while the disk is slow belongs to the next second.
                flushed = Instant::now();
                self.note_losses();
                let written = if self.failure.is_none() && !finish { self.bag.flush() } else { Ok(()) };
                self.check(written);
            }
            self.release(done);
            if finish {
                let ended = self.bag.finish();
                return match self.failure.take() {
                    Some(failure) => Err(failure),
                    None => ended,
                };
            }
        }
    }

    /// Waits for something to do, at most until the next flush.
    fn next(&self, flushed: Instant) -> VecDeque<Item> {
        let mut state = self.shared.lock();
        let is_urgent = |state: &State| {
            state.bytes >= IMPATIENCE
                || state.items.back().is_some_and(|item| !matches!(item, Item::Message(..) | Item::Topic(_)))
        };
        if !is_urgent(&state) {
            let patience =
                PATIENCE.min(self.flush.saturating_sub(flushed.elapsed()).max(Duration::from_millis(1)));
            state = self.shared.wake.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::take(&mut state.items)
    }

    fn release(&self, bytes: usize) {
        let (messages, parts) = self.bag.counts();
        let mut state = self.shared.lock();
        state.bytes -= bytes.min(state.bytes);
        state.status.bytes = self.bag.bytes();
        state.status.messages = messages;
        state.status.parts = parts;
        state.status.part = self.bag.current();
    }

    /// The first failure ends the recording, properly where that is possible.
    fn check(&mut self, result: Result<()>) {
        if let Err(error) = result
            && self.failure.is_none()
        {
            let ended = self.bag.finish().err().map_or_else(String::new, |e| format!("; {e}"));
            self.shared.lock().status.failure = Some(format!("{error}{ended}"));
            self.failure = Some(error);
        }
    }

    fn note_losses(&mut self) {
        let dropped = self.shared.lock().dropped.clone();
        for ((loss, topic), dropped) in self.losses.iter_mut().zip(&self.topics).zip(dropped) {
            loss.dropped = dropped;
            self.bag.set_loss(*topic, *loss);
        }
    }

    fn take(&mut self, item: Item) -> Result<()> {
        if self.failure.is_some() {
            if let Item::Message(topic, _) = item {
                let mut state = self.shared.lock();
                state.status.dropped += 1;
                if let Some(dropped) = state.dropped.get_mut(topic) {
                    *dropped += 1;
                }
            }
            return Ok(());
        }
        match item {
            Item::Topic(topic) => {
                self.topics.push(self.bag.add_topic(topic));
                self.losses.push(Loss::default());
                Ok(())
            }
            Item::Message(topic, message) if self.ring.is_none() => {
                self.bag.write(self.topics[topic], message)
            }
            Item::Message(topic, message) => self.keep(topic, message),
            Item::Lost(topic, lost) => {
                if let Some(loss) = self.losses.get_mut(topic) {
                    loss.lost = lost;
                }
                Ok(())
            }
            Item::Split(now) => self.bag.split(now),
            Item::Snapshot(now) => self.release_kept(now),
            Item::Note(name, entries) => self.bag.note(&name, &entries),
            Item::Attach { time, name, media_type, data } => self.bag.attach(time, &name, &media_type, &data),
            Item::Finish => Ok(()),
        }
    }

    /// Into memory, or into the file while a snapshot is under way.
    fn keep(&mut self, topic: usize, message: Message) -> Result<()> {
        if let Some(until) = self.until {
            if message.log_time <= until {
                return self.bag.write(self.topics[topic], message);
            }
            self.until = None;
            self.bag.flush()?;
        }
        let now = message.log_time;
        self.kept_bytes += message.data.len() + OVERHEAD;
        self.kept.push_back((topic, message));
        let before = self.ring.and_then(|ring| ring.before);
        while let Some((_, oldest)) = self.kept.front()
            && (self.kept_bytes > self.shared.cache
                || before.is_some_and(|before| {
                    u128::from(now.saturating_sub(oldest.log_time)) > before.as_nanos()
                }))
        {
            self.kept_bytes -= oldest.data.len() + OVERHEAD;
            if let Some((topic, message)) = self.kept.pop_front() {
                // Of latched topics it still counts for whoever joins now.
                self.bag.remember(self.topics[topic], message);
            }
        }
        Ok(())
    }

    /// Each snapshot is a part of its own.
    fn release_kept(&mut self, now: u64) -> Result<()> {
        let Some(ring) = self.ring else { return Ok(()) };
        let oldest = ring.before.map_or(0, |before| now.saturating_sub(before.as_nanos() as u64));
        let first = self.kept.front().map_or(now, |(_, message)| message.log_time.max(oldest).min(now));
        // One that is over ends with the first message after it, and there was none.
        self.until = self.until.filter(|until| *until >= now);
        match (self.bag.counts().0 > 0, self.until) {
            (_, Some(_)) => {}
            (true, None) => self.bag.split(first)?,
            (false, None) => self.bag.repeat_latched(first)?,
        }
        self.kept_bytes = 0;
        for (topic, message) in std::mem::take(&mut self.kept) {
            if message.log_time >= oldest {
                self.bag.write(self.topics[topic], message)?;
            }
        }
        self.until = Some(now.saturating_add(ring.after.as_nanos() as u64));
        self.bag.flush()
    }
}
