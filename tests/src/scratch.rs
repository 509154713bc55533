//! Folders of tests.

#![allow(clippy::print_stdout, reason = "a test prints for people")]

use std::{
    fs,
    io::ErrorKind,
    ops::Deref,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A new folder that is nobody else's, among the temporary files; gone with all that is in it when it is dropped.
///
/// A name is not enough for that: domains and process ids come back, and on a machine with several network or process
/// namespaces they are there more than once.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// # Panics
    /// Where no folder can be made.
    pub fn make() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("rosless-test-{}-{count}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Self(path),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }

    /// That of this process: gone soon after it, however it ends.
    ///
    /// # Panics
    /// Where nobody can be found to sweep it up.
    pub fn of_process() -> &'static Path {
        // Nothing is dropped when a process ends, but its pipes are closed.
        static OWN: LazyLock<(Scratch, Child)> = LazyLock::new(|| {
            let folder = Scratch::make();
            let mut sweeper = Command::new("sh");
            sweeper.args(["-c", "trap '' INT TERM HUP; read -r _; exec rm -rf -- \"$0\""]).arg(&folder.0);
            sweeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            (folder, sweeper.spawn().expect("there is a shell"))
        });
        &OWN.0
    }

    /// A file in it with this text.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        self
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_has_left_is_not_ours_and_nothing_of_ours_is_left() {
        let first = Scratch::make();
        let file = first.file("a", "b");
        // Of a process that had this number before.
        let (start, count) = first.to_str().unwrap().rsplit_once('-').unwrap();
        let count: usize = count.parse().unwrap();
        let left = PathBuf::from(format!("{start}-{}", count + 1));
        // Another test of this process may have taken it meanwhile: then it is not ours either.
        let is_left = fs::create_dir(&left).is_ok();
        let second = Scratch::make();
        assert!(*second != *first && *second != *left);
        drop((first, second));
        assert!(!file.parent().unwrap().exists());
        if is_left {
            fs::remove_dir(&left).unwrap();
        }
    }

    #[test]
    fn the_folder_of_a_process_goes_with_it() {
        const OTHER: &str = "ROSLESS_TEST_TELLS_ITS_FOLDER";
        if std::env::var_os(OTHER).is_some() {
            let folder = Scratch::of_process();
            fs::write(folder.join("key"), "secret").unwrap();
            println!("\nfolder {}", folder.display());
            std::process::abort();
        }
        let mut other = Command::new(std::env::current_exe().unwrap());
        other.args(["--exact", "scratch::tests::the_folder_of_a_process_goes_with_it", "--nocapture"]);
        let output = String::from_utf8(other.env(OTHER, "1").output().unwrap().stdout).unwrap();
        let folder = output.lines().find_map(|line| line.strip_prefix("folder ")).expect("it was told");
        crate::eventually("it is swept up", std::time::Duration::from_secs(20), || {
            !Path::new(folder).exists()
        });
    }
}
