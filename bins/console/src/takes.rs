//! Recordings of sessions in a folder: the list, and their files for download.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use rosless_web::{Response, Stream};
use serde_json::{Value, json};

/// Newer ones beyond this are not listed.
const MOST_LISTED: usize = 200;
/// Files of one take; a take of many hours has a hundred.
const MOST_FILES: usize = 10_000;
/// A manifest beyond this is not read into the list.
const MOST_MANIFEST: u64 = 4 << 20;
const BLOCK: u64 = 512;

/// Where takes are on this machine.
#[derive(Debug)]
pub(crate) struct Takes(PathBuf);

impl Takes {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self(dir)
    }

    /// All takes, the newest first, and where they are.
    pub(crate) fn list(&self) -> Value {
        let entries = fs::read_dir(&self.0).into_iter().flatten().filter_map(Result::ok);
        let mut takes: Vec<_> = entries
            .filter(|entry| entry.file_type().is_ok_and(|ty| ty.is_dir()))
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok().filter(|name| is_plain(name))?;
                let manifest = manifest(&entry.path())?;
                Some((manifest["started"].as_i64().unwrap_or(0), name, entry.path(), manifest))
            })
            .collect();
        takes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| b.1.cmp(&a.1)));
        let count = takes.len();
        takes.truncate(MOST_LISTED);
        let takes: Vec<_> = takes
            .into_iter()
            .map(|(_, name, path, manifest)| {
                let files: Vec<_> = files(&path)
                    .into_iter()
                    .map(|(name, _, size)| json!({"name": name, "size": size}))
                    .collect();
                json!({"name": name, "files": files, "manifest": manifest})
            })
            .collect();
        let dir = fs::canonicalize(&self.0).unwrap_or_else(|_| self.0.clone());
        json!({"dir": dir.display().to_string(), "count": count, "takes": takes})
    }

    /// A file of a take, or the whole of it as `NAME.tar`; `path` begins after `/takes/`.
    pub(crate) fn open(&self, path: &str) -> Option<Stream> {
        if !path.split('/').all(is_plain) {
            return None;
        }
        if let Some(name) = path.strip_suffix(".tar").filter(|name| !name.contains('/')) {
            let folder = self.inside(name).filter(|folder| folder.is_dir())?;
            manifest(&folder)?;
            return archive(name, files(&folder));
        }
        let (take, _) = path.split_once('/')?;
        // Only what a recorder made is given away.
        manifest(&self.inside(take)?)?;
        let file = File::open(self.inside(path)?).ok()?;
        let data = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let media = match path.rsplit('.').next() {
            Some("json") => "application/json",
            Some("csv" | "yaml") => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        };
        let name = path.rsplit('/').next().unwrap_or_default();
        let (head, length) = (download(media, name), data.len());
        Some(Stream { head, length, source: Box::new(file.take(length)) })
    }

    /// What a path leads to, if that lies in the folder: links out of it are not followed.
    fn inside(&self, path: &str) -> Option<PathBuf> {
        let root = fs::canonicalize(&self.0).ok()?;
        let found = fs::canonicalize(root.join(path)).ok()?;
        (found.starts_with(&root) && found != root).then_some(found)
    }
}

/// A name that is one, and not hidden.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && !name.contains(['/', '\\'])
        && !name.contains(char::is_control)
}

fn download(media: &str, name: &str) -> Response {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    Response::bytes(media, "").with("Content-Disposition", format!("attachment; filename=\"{plain}\""))
}

fn manifest(folder: &Path) -> Option<Value> {
    let path = folder.join("manifest.json");
    let data = fs::symlink_metadata(&path).ok()?;
    if !data.is_file() {
        return None;
    }
    if data.len() > MOST_MANIFEST {
        return Some(json!({}));
    }
    Some(serde_json::from_slice(&fs::read(path).ok()?).unwrap_or_else(|_| json!({})))
}

/// Files below a folder by their names there, in order.
fn files(folder: &Path) -> Vec<(String, PathBuf, u64)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), folder.to_owned())];
    while let Some((prefix, dir)) = open.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
            let Some(name) = entry.file_name().into_string().ok().filter(|name| is_plain(name)) else {
                continue;
            };
            let name = format!("{prefix}{name}");
            // Links are neither: their own kind is asked for.
            let Ok(data) = entry.metadata() else { continue };
            if data.is_dir() && name.matches('/').count() < 4 {
                open.push((format!("{name}/"), entry.path()));
            } else if data.is_file() && found.len() < MOST_FILES {
                found.push((name, entry.path(), data.len()));
            }
        }
    }
    found.sort();
    found
}

/// All of it as one tape archive, read as it is sent.
fn archive(take: &str, files: Vec<(String, PathBuf, u64)>) -> Option<Stream> {
    let mut parts: Vec<Part> = Vec::new();
    let mut length = 2 * BLOCK;
    for (name, path, size) in files {
        let mut header = tar::Header::new_ustar();
        // A name that is too long for the format is left out, rather than cut.
        if header.set_path(format!("{take}/{name}")).is_err() {
            continue;
        }
        let modified = fs::metadata(&path).and_then(|data| data.modified()).ok();
        let seconds = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map_or(0, |at| at.as_secs());
        header.set_size(size);
        header.set_mode(0o644);
        header.set_mtime(seconds);
        header.set_cksum();
        length += BLOCK + size.next_multiple_of(BLOCK);
        parts.push(Part { header: header.as_bytes().to_vec(), path, size });
    }
    (!parts.is_empty()).then(|| Stream {
        head: download("application/x-tar", &format!("{take}.tar")),
        length,
        source: Box::new(Archive { parts: parts.into_iter(), now: Box::new(io::empty()), ended: false }),
    })
}

struct Part {
    header: Vec<u8>,
    path: PathBuf,
    size: u64,
}

/// Files one after the other; each is opened when its turn comes. One that grows meanwhile is cut at the size it had, one that
/// has shrunk is filled up.
struct Archive {
    parts: std::vec::IntoIter<Part>,
    now: Box<dyn Read>,
    ended: bool,
}

impl Read for Archive {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.now.read(buffer)?;
            if length > 0 || self.ended || buffer.is_empty() {
                return Ok(length);
            }
            self.now = match self.parts.next() {
                Some(part) => {
                    let file = File::open(&part.path)?;
                    let padded = part.size.next_multiple_of(BLOCK);
                    let body = file.take(part.size).chain(io::repeat(0)).take(padded);
                    Box::new(io::Cursor::new(part.header).chain(body))
                }
                None => {
                    self.ended = true;
                    Box::new(io::repeat(0).take(2 * BLOCK))
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use rosless_tests::Scratch;

    use super::*;

    fn one_take() -> Scratch {
        let folder = Scratch::make();
        fs::create_dir_all(folder.join("takes/one/cam")).unwrap();
        folder.file("secret", "x");
        folder.file("takes/one/manifest.json", r#"{"session":"one","started":5}"#);
        fs::write(folder.join("takes/one/one_0.mcap"), vec![7; 1300]).unwrap();
        folder.file("takes/one/cam/imu.csv", "1,2\n");
        folder
    }

    #[test]
    fn takes_are_listed_and_packed() {
        let folder = one_take();
        let takes = Takes::new(folder.join("takes"));
        fs::create_dir(folder.join("takes/no_take")).unwrap();
        let list = takes.list();
        assert_eq!((&list["count"], &list["takes"][0]["name"]), (&json!(1), &json!("one")));
        assert_eq!(list["takes"][0]["files"][0], json!({"name": "cam/imu.csv", "size": 4}));
        let stream = takes.open("one.tar").unwrap();
        let mut bytes = Vec::new();
        let mut source = stream.source;
        source.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, stream.length);
        let mut unpacked = tar::Archive::new(&bytes[..]);
        let found: Vec<_> = unpacked
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut content = Vec::new();
                entry.read_to_end(&mut content).unwrap();
                (entry.path().unwrap().display().to_string(), content.len())
            })
            .collect();
        let expected = [("one/cam/imu.csv", 4), ("one/manifest.json", 29), ("one/one_0.mcap", 1300)]
            .map(|(n, l)| (n.to_owned(), l));
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_else_is_given_away() {
        let folder = one_take();
        let takes = Takes::new(folder.join("takes"));
        std::os::unix::fs::symlink(folder.join("secret"), folder.join("takes/one/link")).unwrap();
        std::os::unix::fs::symlink(&*folder, folder.join("takes/out")).unwrap();
        fs::write(folder.join("takes/one/.hidden"), "x").unwrap();
        for path in [
            "",
            "one",
            "one/",
            "one/link",
            "one/.hidden",
            "../secret",
            "one/../../secret",
            "out/secret",
            "out.tar",
            "nobody.tar",
            "one/cam",
            "/etc/passwd",
            "one/nothing",
        ] {
            assert!(takes.open(path).is_none(), "{path}");
        }
        assert!(takes.open("one/one_0.mcap").is_some());
        let names = takes.list()["takes"][0]["files"].to_string();
        assert!(!names.contains("link") && !names.contains("hidden"), "{names}");
    }
}
