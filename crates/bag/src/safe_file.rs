//! A growing MCAP file that is whole at every instant, also if the process is killed in the middle of a write.
//!
//! ```text
//! │ magic │ records that count … │ hiding record: what waits for the next flush, then room │ DataEnd │ Footer │ magic │
//!                                ▲ visible                       ▲ end                     ▲ tail
//! ```
//!
//! What is written goes into the content of one private record, which readers skip. A flush puts the next hiding record
//! behind what waits and then overwrites the nine bytes at `visible` with those of the first record that waited: one
//! small write inside one page of memory, which a signal cannot cut in two.

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
/// Unit in which the kernel copies what is written.
const PAGE: u64 = 4096;
/// Room is made in steps of this.
const STEP: u64 = 4 << 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct SafeFile {
    file: File,
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
        file.write_all_at(start, 0)?;
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
            this.file.write_all_at(&record::head(PRIVATE, 0), this.end)?;
            this.end += HEAD as u64;
            this.visible = this.end;
        }
        this.make_room(0)?;
        fs::rename(unnamed, path)?;
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
        self.file.write_all_at(rest, self.end + missing as u64)?;
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
        self.file.write_all_at(&heads, self.end)?;
        self.sync()?;
        self.file.write_all_at(&self.withheld, self.visible)?;
        self.withheld.clear();
        (self.visible, self.end) = (next, next);
        self.sync()
    }

    /// Ends the file with its last records: the data's end, summary, footer and magic.
    pub(crate) fn finish(mut self, last: &[u8]) -> io::Result<u64> {
        self.flush()?;
        self.append(last, 0)?;
        self.sync()?;
        // From here on the file ends with the footer that knows the summary; who reads by it need not pass the hidden part.
        self.file.set_len(self.end)?;
        self.file.write_all_at(&self.withheld, self.visible)?;
        if self.durable {
            self.file.sync_all()?;
        }
        Ok(self.end)
    }

    fn sync(&self) -> io::Result<()> {
        if self.durable { self.file.sync_data() } else { Ok(()) }
    }

    /// Moves the tail back, so that `needed` bytes and some more fit in front of it.
    fn make_room(&mut self, needed: u64) -> io::Result<()> {
        let size = (self.end + needed + TAIL + STEP).next_multiple_of(PAGE);
        // On a disk that is full this fails, with nothing changed and the old room left for the end of the file.
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.size, size - self.size) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        let mut tail = Vec::with_capacity(TAIL as usize);
        record::data_end(&mut tail);
        record::end(&mut tail, 0, 0, &[]);
        let hidden = size - TAIL - self.visible - HEAD as u64;
        self.file.write_all_at(&tail, size - TAIL)?;
        self.file.write_all_at(&record::head(PRIVATE, hidden), self.visible)?;
        self.size = size;
        Ok(())
    }

    /// The file's name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether a record's head here would lie in two pages.
fn straddles(position: u64) -> bool {
    position % PAGE > PAGE - HEAD as u64
}

/// Whether the disk, or what this user may have of it, is used up.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
