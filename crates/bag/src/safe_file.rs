//! A growing MCAP file that is whole at every instant, also if the process is killed in the middle of a write.
//!
//! ```text
//! │ magic │ records that count … │ hiding record: what waits for the next flush, then room │ DataEnd │ Footer │ magic │
//!                                ▲ visible                       ▲ end                     ▲ tail
//! ```
//!
//! What is written goes into the content of one private record, which readers skip. A flush puts the next hiding record
//! behind what waits and then overwrites the nine bytes at `visible` with those of the first record that waited: one
//! small write inside one page of memory, which a signal cannot cut in two, and inside one sector, which the loss of power
//! cannot. What such a write makes count is on the disk before it.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FallocateFlags, fallocate},
    io::Errno,
};

use crate::record::{self, HEAD, PRIVATE};

/// DataEnd, footer and magic.
const TAIL: u64 = 13 + 29 + 8;
/// What a disk writes whole or not at all; pages of the kernel's memory are multiples of it.
const SECTOR: u64 = 512;
/// Room is made in steps of an eighth of the file, between these.
const STEP: (u64, u64) = if cfg!(test) { (64 << 10, 1 << 20) } else { (4 << 20, 64 << 20) };

/// What lies below: a file, or in tests a disk whose power is cut.
pub(crate) trait Disk {
    fn write_at(&mut self, bytes: &[u8], place: u64) -> io::Result<()>;
    /// Makes sure that there is room up to `size`.
    fn reserve(&mut self, from: u64, size: u64) -> io::Result<()>;
    fn set_len(&mut self, size: u64) -> io::Result<()>;
    /// Returns when everything before it would outlive the loss of power.
    fn sync(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn write_at(&mut self, bytes: &[u8], place: u64) -> io::Result<()> {
        self.write_all_at(bytes, place)
    }

    fn reserve(&mut self, from: u64, size: u64) -> io::Result<()> {
        match fallocate(&*self, FallocateFlags::KEEP_SIZE, from, size - from) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn set_len(&mut self, size: u64) -> io::Result<()> {
        Self::set_len(self, size)
    }

    fn sync(&mut self) -> io::Result<()> {
        // With the length, but without the times.
        self.sync_data()
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct SafeFile<D = File> {
    file: D,
    path: PathBuf,
    /// Everything before counts; the hiding record begins here.
    visible: u64,
    /// The first bytes of what waits; in their place is the hiding record's head.
    withheld: Vec<u8>,
    /// Behind what waits.
    end: u64,
    /// The file's length, tail included.
    size: u64,
    /// Whether flushes reach the disk itself: what power loss leaves.
    durable: bool,
}

impl SafeFile {
    /// Creates the file, whole from the moment it has its name; `start` is the magic and the first records.
    pub(crate) fn create(path: &Path, start: &[u8], durable: bool) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let unnamed = path.with_file_name(format!(".{name}.new"));
        let file = File::options().read(true).write(true).create_new(true).open(&unnamed)?;
        let this = Self::begin(file, path, start, durable)?;
        fs::rename(unnamed, path)?;
        if durable {
            sync_folder(path)?;
        }
        Ok(this)
    }
}

/// Makes sure that power loss leaves the name of a file or folder.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

impl<D: Disk> SafeFile<D> {
    fn begin(mut file: D, path: &Path, start: &[u8], durable: bool) -> io::Result<Self> {
        file.write_at(start, 0)?;
        let mut this = Self {
            file,
            path: path.to_owned(),
            visible: start.len() as u64,
            withheld: Vec::new(),
            end: start.len() as u64,
            size: 0,
            durable,
        };
        if straddles(this.end) {
            this.file.write_at(&record::head(PRIVATE, 0), this.end)?;
            this.end += HEAD as u64;
            this.visible = this.end;
        }
        this.make_room(0)?;
        Ok(this)
    }

    /// Where the next bytes go.
    pub(crate) fn position(&self) -> u64 {
        self.end
    }

    /// Takes whole records; they count after the next [`flush`](Self::flush). `keep` bytes of room are left over.
    pub(crate) fn append(&mut self, records: &[u8], keep: u64) -> io::Result<()> {
        let needed = records.len() as u64 + keep + 2 * HEAD as u64;
        if self.end + needed > self.size - TAIL {
            self.make_room(needed)?;
        }
        let missing = (HEAD - self.withheld.len()).min(records.len());
        let (withheld, rest) = records.split_at(missing);
        self.file.write_at(rest, self.end + missing as u64)?;
        self.withheld.extend(withheld);
        self.end += records.len() as u64;
        Ok(())
    }

    /// Makes what was appended count.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.end == self.visible {
            return Ok(());
        }
        let mut next = self.end;
        let mut heads = Vec::new();
        if straddles(next) {
            heads.extend(record::head(PRIVATE, 0));
            next += HEAD as u64;
        }
        heads.extend(record::head(PRIVATE, self.size - TAIL - next - HEAD as u64));
        self.file.write_at(&heads, self.end)?;
        self.sync()?;
        self.file.write_at(&self.withheld, self.visible)?;
        self.withheld.clear();
        (self.visible, self.end) = (next, next);
        self.sync()
    }

    /// Ends the file with its last records: the data's end, summary, footer and magic.
    pub(crate) fn finish(mut self, last: &[u8]) -> io::Result<u64> {
        self.flush()?;
        self.append(last, 0)?;
        self.sync()?;
        // From here on there are two ends: whoever reads from the front finds this one, from the back the old one, which
        // knows of no index.
        self.file.write_at(&self.withheld, self.visible)?;
        self.sync()?;
        self.file.set_len(self.end)?;
        self.sync()?;
        Ok(self.end)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.durable { self.file.sync() } else { Ok(()) }
    }

    /// Moves the tail back, so that `needed` bytes and some more fit in front of it.
    fn make_room(&mut self, needed: u64) -> io::Result<()> {
        let least = (self.end + needed + TAIL).next_multiple_of(SECTOR);
        let generous = least + (self.size / 8).clamp(STEP.0, STEP.1).next_multiple_of(SECTOR);
        // On a disk that is full this fails, with nothing changed and the old room left for the end of the file.
        let size = match self.file.reserve(self.size, generous) {
            Ok(()) => generous,
            Err(error) if is_full(&error) => self.file.reserve(self.size, least).map(|()| least)?,
            Err(error) => return Err(error),
        };
        let mut tail = Vec::with_capacity(TAIL as usize);
        record::data_end(&mut tail);
        record::end(&mut tail, 0, 0, &[]);
        let hidden = size - TAIL - self.visible - HEAD as u64;
        self.file.write_at(&tail, size - TAIL)?;
        // The new end must be there before something points to it.
        self.sync()?;
        self.file.write_at(&record::head(PRIVATE, hidden), self.visible)?;
        self.size = size;
        // And nothing may be written over the old end before that.
        self.sync()
    }

    /// The file's name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether a record's head here would lie in two sectors.
fn straddles(position: u64) -> bool {
    position % SECTOR > SECTOR - HEAD as u64
}

/// Whether the disk, or what this user may have of it, is used up.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Operation {
        Write(u64, Vec<u8>),
        Length(u64),
        Sync,
    }

    /// Everything that was asked of it, in order.
    #[derive(Clone, Debug, Default)]
    struct Log(Rc<RefCell<Vec<Operation>>>);

    impl Disk for Log {
        fn write_at(&mut self, bytes: &[u8], place: u64) -> io::Result<()> {
            self.0.borrow_mut().push(Operation::Write(place, bytes.to_vec()));
            Ok(())
        }

        fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn set_len(&mut self, size: u64) -> io::Result<()> {
            self.0.borrow_mut().push(Operation::Length(size));
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            self.0.borrow_mut().push(Operation::Sync);
            Ok(())
        }
    }

    impl Operation {
        /// Puts those of its sectors into the image that `reaches` says. A file is never longer than what reached it: file
        /// systems that deserve the name write a length after the data it covers.
        fn apply(&self, image: &mut Vec<u8>, mut reaches: impl FnMut() -> bool) {
            let (place, bytes) = match self {
                Self::Write(place, bytes) => (place, bytes),
                Self::Length(size) if reaches() => return image.resize(*size as usize, 0),
                Self::Length(_) | Self::Sync => return,
            };
            let mut at = *place as usize;
            let end = at + bytes.len();
            while at < end {
                let next = (at + 1).next_multiple_of(SECTOR as usize).min(end);
                if reaches() {
                    image.resize(image.len().max(next), 0);
                    image[at..next].copy_from_slice(&bytes[at - *place as usize..next - *place as usize]);
                }
                at = next;
            }
        }
    }

    /// What is on the disk when power is lost after `count` operations: all that was there at the last sync, and of what
    /// was written since any sectors.
    fn after_power_loss(operations: &[Operation], count: usize, dice: &mut impl FnMut() -> usize) -> Vec<u8> {
        let operations = &operations[..count];
        let synced = operations.iter().rposition(|o| matches!(o, Operation::Sync)).map_or(0, |at| at + 1);
        let mut image = Vec::new();
        operations[..synced].iter().for_each(|operation| operation.apply(&mut image, || true));
        for operation in &operations[synced..] {
            operation.apply(&mut image, || dice().is_multiple_of(2));
        }
        image
    }

    fn numbers(image: &[u8]) -> Vec<u64> {
        let messages = mcap::MessageStream::new(image).expect("a whole file");
        messages.map(|message| message.expect("whole").log_time).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// The judge is the `mcap` crate, which refuses what is cut or does not end as a file must.
        #[test]
        fn power_loss_leaves_a_whole_file_with_all_that_was_flushed(
            sizes in prop::collection::vec(0_usize..3000, 1..60),
            large in 0_usize..60,
            flush_every in 1_usize..7,
            seed in any::<u64>(),
        ) {
            let log = Log::default();
            let mut start = record::MAGIC.to_vec();
            record::header(&mut start, "test");
            let mut file = SafeFile::begin(log.clone(), Path::new("test"), &start, true).unwrap();
            let mut first = Vec::new();
            record::schema(&mut first, 1, "a/msg/B", "ros2msg", "");
            record::channel(&mut first, 1, 1, "/a", "cdr", &Default::default());
            file.append(&first, 0).unwrap();
            // After so many operations so many messages must be there.
            let mut promised = vec![(log.0.borrow().len(), 0)];
            for (n, size) in sizes.iter().enumerate() {
                let mut message = Vec::new();
                // One of them makes the file grow.
                let size = if n == large { 100 << 10 } else { *size };
                record::message(&mut message, 1, n as u32, n as u64, 0, &vec![7; size]);
                file.append(&message, 100).unwrap();
                if n % flush_every == 0 {
                    file.flush().unwrap();
                    promised.push((log.0.borrow().len(), n as u64 + 1));
                }
            }
            let mut last = Vec::new();
            record::data_end(&mut last);
            record::end(&mut last, 0, 0, &[]);
            file.finish(&last).unwrap();
            let operations = log.0.borrow();
            promised.push((operations.len(), sizes.len() as u64));
            let mut state = seed | 1;
            let mut dice = move || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 33) as usize
            };
            let begun = promised[0].0;
            for round in 0..40 {
                // The end has the most steps in the least time.
                let count = if round < 10 { operations.len() - round } else { begun + dice() % (operations.len() - begun) };
                let image = after_power_loss(&operations, count.max(begun), &mut dice);
                let read = numbers(&image);
                let least = promised.iter().rfind(|(at, _)| *at <= count).map_or(0, |(_, least)| *least);
                prop_assert!(read.len() as u64 >= least, "{} of {least} after {count} operations", read.len());
                prop_assert_eq!(&read, &(0..read.len() as u64).collect::<Vec<_>>());
            }
        }
    }
}
