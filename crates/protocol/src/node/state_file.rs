//! The memory of sessions on disk, shared by all controllers of one user and domain.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::controller::Memory;

/// More than any memory has: a larger file is not ours.
const MAX_BYTES: u64 = 4 << 20;

/// One domain's sessions in a folder. Written whole and renamed into place, so that a reader never sees half of it.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    /// What this controller knew when it last read or wrote.
    last: Memory,
}

impl StateFile {
    /// The file of `domain` in `folder`, which is made if need be, and what is in it.
    ///
    /// # Errors
    /// When the folder cannot be made or the file cannot be read.
    pub fn open(folder: &Path, domain: u16) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("sessions-{domain}.json"));
        let last = read(&path)?;
        Ok(Self { path, last })
    }

    /// What was in the file when it was opened or last written.
    pub fn memory(&self) -> &Memory {
        &self.last
    }

    /// Writes down what has changed since.
    ///
    /// # Errors
    /// When the file cannot be written; what was in it stays.
    pub fn keep(&mut self, memory: &Memory) -> io::Result<()> {
        let before = std::mem::replace(&mut self.last, memory.clone());
        self.update(|file| file.apply(&before, memory))
    }

    /// A session name that nobody had before, also if two ask at the same moment.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn next_take(&mut self) -> io::Result<String> {
        let mut take = String::new();
        self.update(|file| take = file.next_take())?;
        Ok(take)
    }

    fn update(&mut self, change: impl FnOnce(&mut Memory)) -> io::Result<()> {
        // The lock is a file of its own, because the one that is locked must not be replaced.
        let lock = File::create(self.path.with_extension("lock"))?;
        lock.lock()?;
        let mut memory = read(&self.path)?;
        change(&mut memory);
        let new = self.path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec_pretty(&memory)?)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)
    }
}

/// A file that is not there, or not ours, knows nothing.
fn read(path: &Path) -> io::Result<Memory> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Memory::default()),
        Err(error) => return Err(error),
        Ok(metadata) if metadata.len() > MAX_BYTES => {
            log::warn!("{} is too large to be a memory of sessions: it is begun anew", path.display());
            return Ok(Memory::default());
        }
        Ok(_) => {}
    }
    Ok(serde_json::from_slice(&fs::read(path)?).unwrap_or_else(|error| {
        log::warn!("{} is no memory of sessions ({error}): it is begun anew", path.display());
        Memory::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::sessions::Remembered;

    #[test]
    fn what_is_kept_is_read_by_the_next_and_broken_files_are_begun_anew() {
        let folder = std::env::temp_dir().join(format!("rosless-state-{}", std::process::id()));
        let mut file = StateFile::open(&folder, 7).unwrap();
        let mut memory = file.memory().clone();
        let line = Remembered {
            session: "s".into(),
            since: 5,
            process: "ab".into(),
            dialect: "mocap".into(),
            namespace: "/".into(),
        };
        memory.systems.insert("/a".into(), line);
        file.keep(&memory).unwrap();
        assert_eq!(file.next_take().unwrap(), "take_001");
        let mut again = StateFile::open(&folder, 7).unwrap();
        assert_eq!(again.memory().systems, memory.systems);
        assert_eq!(
            (again.next_take().unwrap(), file.next_take().unwrap()),
            ("take_002".into(), "take_003".into())
        );
        assert!(StateFile::open(&folder, 8).unwrap().memory().systems.is_empty(), "each domain has its own");
        fs::write(folder.join("sessions-7.json"), "{\"systems\": 5").unwrap();
        assert_eq!(StateFile::open(&folder, 7).unwrap().memory(), &Memory::default());
        fs::remove_dir_all(folder).unwrap();
    }
}
