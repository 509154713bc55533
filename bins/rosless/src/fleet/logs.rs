//! What a daemon says, kept on disk: one file that grows, and a few that were put aside.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// A file for lines that never takes more room than it was given.
#[derive(Debug)]
pub(crate) struct Rotating {
    path: PathBuf,
    limit: u64,
    keep: u32,
    file: Option<File>,
    size: u64,
}

/// `arm.log`, `arm.log.1`, …: the higher, the older.
fn aside(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

impl Rotating {
    pub(crate) fn new(path: PathBuf, limit: u64, keep: u32) -> Self {
        Self { path, limit, keep, file: None, size: 0 }
    }

    /// # Errors
    /// When the disk does not take it; the next line tries again.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        if self.size >= self.limit {
            self.put_aside()?;
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => {
                if let Some(folder) = self.path.parent() {
                    fs::create_dir_all(folder)?;
                }
                let file = File::options().append(true).create(true).open(&self.path)?;
                self.size = file.metadata()?.len();
                file
            }
        };
        file.write_all(format!("{line}\n").as_bytes())?;
        self.size += line.len() as u64 + 1;
        self.file = Some(file);
        Ok(())
    }

    fn put_aside(&mut self) -> io::Result<()> {
        self.file = None;
        self.size = 0;
        for number in (1..self.keep).rev() {
            match fs::rename(aside(&self.path, number), aside(&self.path, number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, aside(&self.path, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_lines_make_room_for_new_ones() {
        let folder = rosless_tests::Scratch::make();
        let path = folder.join("deep/arm.log");
        let mut log = Rotating::new(path.clone(), 40, 2);
        for number in 0..20 {
            log.line(&format!("line {number:04}")).unwrap();
        }
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        let all = text(&aside(&path, 2)) + &text(&aside(&path, 1)) + &text(&path);
        let expected: String = (8..20).map(|number| format!("line {number:04}\n")).collect();
        assert_eq!(all, expected, "the newest, whole and in order");
        assert!(!aside(&path, 3).exists());
        // Another life goes on in the same file.
        drop(log);
        Rotating::new(path.clone(), 1000, 2).line("again").unwrap();
        assert!(text(&path).ends_with("line 0019\nagain\n"));
    }
}
