//! The memory of sessions on disk, shared by all controllers of one user and domain.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use crate::controller::Memory;

/// More than any memory has: a larger file is not ours.
const MAX_BYTES: u64 = 4 << 20;

/// One domain's sessions in a folder. Written whole and renamed into place, so that a reader never sees half of it; and
/// twice, so that no number of a take is given again when one of the two breaks.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    /// What this controller knew when it last read or wrote.
    last: Memory,
}

/// What a file holds.
enum Found {
    Nothing,
    Ours(Memory),
    /// Something else, and why it cannot be ours.
    Broken(String),
}

impl StateFile {
    /// The file of `domain` in `folder`, which is made if need be, and what is in it.
    ///
    /// # Errors
    /// When the folder cannot be made or the file cannot be read.
    pub fn open(folder: &Path, domain: u16) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut file = Self { path: folder.join(format!("sessions-{domain}.json")), last: Memory::default() };
        (file.last, _) = file.read()?;
        Ok(file)
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
    /// When the file cannot be written, or what was broken had the numbers of earlier takes.
    pub fn next_take(&mut self) -> io::Result<String> {
        let mut take = None;
        self.update(|file| take = file.next_take())?;
        take.ok_or_else(|| {
            io::Error::other(format!(
                "the numbers of earlier takes are lost, because {} was broken; name the next one yourself, above all \
                 earlier ones (--session take_042), and the numbers go on from there",
                self.path.display()
            ))
        })
    }

    fn update(&mut self, change: impl FnOnce(&mut Memory)) -> io::Result<()> {
        // The lock is a file of its own, because the one that is locked must not be replaced.
        let lock = File::create(self.path.with_extension("lock"))?;
        lock.lock()?;
        let (mut memory, broken) = self.read()?;
        broken.iter().try_for_each(|path| set_aside(path))?;
        change(&mut memory);
        // The copy first: what is in the file that counts is then in both.
        let text = serde_json::to_vec_pretty(&memory)?;
        let new = self.path.with_extension("new");
        for path in [self.copy(), self.path.clone()] {
            let mut file = File::create(&new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&new, path)?;
        }
        Ok(())
    }

    fn copy(&self) -> PathBuf {
        self.path.with_extension("copy.json")
    }

    /// What is remembered, and which of the two files are not ours.
    fn read(&self) -> io::Result<(Memory, Vec<PathBuf>)> {
        let paths = [self.path.clone(), self.copy()];
        let [file, copy] = [look(&paths[0])?, look(&paths[1])?];
        let mut broken = Vec::new();
        for (path, found) in paths.iter().zip([&file, &copy]) {
            if let Found::Broken(why) = found {
                log::warn!("{} is no memory of sessions ({why}): it will be set aside", path.display());
                broken.push(path.clone());
            }
        }
        let memory = match (file, copy) {
            (Found::Ours(mut file), Found::Ours(copy)) => {
                file.count_all(&copy);
                file
            }
            (Found::Ours(memory), _) | (_, Found::Ours(memory)) => memory,
            _ => Memory { takes_lost: !broken.is_empty(), ..Memory::default() },
        };
        Ok((memory, broken))
    }
}

fn look(path: &Path) -> io::Result<Found> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
        Ok(metadata) if metadata.len() > MAX_BYTES => return Ok(Found::Broken("it is too large".into())),
        Ok(_) => {}
    }
    Ok(match serde_json::from_slice(&fs::read(path)?) {
        Ok(memory) => Found::Ours(memory),
        Err(error) => Found::Broken(error.to_string()),
    })
}

/// Keeps a broken file for whoever wants to look at it.
fn set_aside(path: &Path) -> io::Result<()> {
    let name = |n: u32| path.with_extension(format!("broken-{n}"));
    let free = (1..u32::MAX).map(name).find(|free| !free.exists()).unwrap_or_else(|| name(0));
    log::warn!("{} is now {}", path.display(), free.display());
    fs::rename(path, free)
}

#[cfg(test)]
mod tests {
    use rosless_tests::Scratch;

    use super::*;
    use crate::controller::sessions::Remembered;

    struct Folder(Scratch);

    impl Folder {
        fn new() -> Self {
            Self(Scratch::make())
        }

        fn open(&self) -> StateFile {
            StateFile::open(&self.0, 7).unwrap()
        }

        fn spoil(&self, file: &str) {
            fs::write(self.0.join(file), "{\"systems\": 5").unwrap();
        }

        fn has(&self, file: &str) -> bool {
            self.0.join(file).exists()
        }
    }

    fn with(session: &str) -> Memory {
        let line = Remembered {
            session: session.into(),
            since: 5,
            process: "ab".into(),
            dialect: "mocap".into(),
            namespace: "/".into(),
        };
        let mut memory = Memory::default();
        memory.note(&crate::name::SystemId::resolve("/", "a").unwrap(), Some(line));
        memory
    }

    #[test]
    fn what_is_kept_is_read_by_the_next() {
        let folder = Folder::new();
        let mut file = folder.open();
        let memory = with("s");
        file.keep(&memory).unwrap();
        assert_eq!(file.next_take().unwrap(), "take_001");
        let mut again = folder.open();
        assert_eq!(again.memory().systems, memory.systems);
        assert_eq!(
            (again.next_take().unwrap(), file.next_take().unwrap()),
            ("take_002".into(), "take_003".into())
        );
        let other = StateFile::open(&folder.0, 8).unwrap();
        assert!(other.memory().systems.is_empty(), "each domain has its own");
    }

    #[test]
    fn no_number_is_given_again_when_one_of_the_two_files_breaks_or_vanishes() {
        let folder = Folder::new();
        let mut file = folder.open();
        file.keep(&with("s")).unwrap();
        assert_eq!(file.next_take().unwrap(), "take_001");
        folder.spoil("sessions-7.json");
        assert_eq!(
            folder.open().memory().systems,
            with("s").systems,
            "who is in which session is known, too"
        );
        assert_eq!(folder.open().next_take().unwrap(), "take_002");
        assert!(folder.has("sessions-7.broken-1"), "it is kept for whoever wants to look at it");
        folder.spoil("sessions-7.copy.json");
        assert_eq!(folder.open().next_take().unwrap(), "take_003");
        fs::remove_file(folder.0.join("sessions-7.json")).unwrap();
        assert_eq!(folder.open().next_take().unwrap(), "take_004");
        fs::write(folder.0.join("sessions-7.json"), "{}").unwrap();
        assert_eq!(folder.open().next_take().unwrap(), "take_005");
    }

    #[test]
    fn where_both_are_broken_takes_are_numbered_only_above_one_that_was_named() {
        let folder = Folder::new();
        folder.open().next_take().unwrap();
        for file in ["sessions-7.json", "sessions-7.copy.json"] {
            folder.spoil(file);
        }
        for _ in 0..2 {
            let refused = folder.open().next_take().unwrap_err().to_string();
            assert!(refused.contains("name the next one yourself"), "{refused}");
        }
        let mut file = folder.open();
        let mut memory = file.memory().clone();
        memory.apply(&Memory::default(), &with("take_041"));
        file.keep(&memory).unwrap();
        assert_eq!(folder.open().next_take().unwrap(), "take_042");
    }
}
