//! One take on disk: a rosbag2 folder with its manifest.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    rc::Rc,
};

use rosless_bag::{
    Bag, BagOptions, Compression, Filter, Recorder, RecorderOptions, WriteOptions, csv::Table, replace_file,
};
use rosless_graph::now;
use rosless_recorder::session::Manifest;
use rosless_wire::rosless_msgs::msg::RecorderStatus;

const MANIFEST: &str = "manifest.json";

/// A take under way.
#[derive(Debug)]
pub(crate) struct Take {
    folder: PathBuf,
    session: String,
    recorder: Rc<Recorder>,
}

/// The take that an earlier recorder left open, if there is one.
pub(crate) fn unfinished(dir: &Path) -> Option<(PathBuf, Manifest)> {
    let folders = fs::read_dir(dir).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let open = folders.filter_map(|folder| {
        let manifest: Manifest = serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()?;
        manifest.stopped.is_none().then_some((folder, manifest))
    });
    open.max_by_key(|(_, manifest)| manifest.started)
}

/// Bytes left for takes in this folder, which may not be there yet; 0 where that is not known.
pub(crate) fn free(dir: &Path) -> u64 {
    let known = |path: &Path| rustix::fs::statvfs(path).ok();
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    dir.ancestors().find_map(known).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// The session's name as a folder may have it.
fn safe(session: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = session.chars().take(100).map(plain).collect();
    if name.trim_matches('.').is_empty() { "session".to_owned() } else { name }
}

impl Take {
    pub(crate) fn open(
        dir: &Path,
        session: &str,
        resume: bool,
        compression: Compression,
        distro: &str,
    ) -> Result<Self, String> {
        let before = unfinished(dir).filter(|_| resume).map(|(folder, _)| folder);
        let time = chrono::Local::now().format("%Y-%m-%d_%H-%M-%S");
        let folder = before.unwrap_or_else(|| {
            let name = format!("{}_{time}", safe(session));
            let numbered = (2..).map(|number| format!("{name}_{number}"));
            let mut names = std::iter::once(name.clone()).chain(numbered).map(|name| dir.join(name));
            names.find(|folder| !folder.exists()).unwrap_or_else(|| dir.join(&name))
        });
        let options = RecorderOptions {
            bag: BagOptions {
                write: WriteOptions { compression, ..Default::default() },
                ros_distro: distro.to_owned(),
                custom: BTreeMap::from([("session".to_owned(), session.to_owned())]),
                ..Default::default()
            },
            resume,
            ..Default::default()
        };
        let recorder = Recorder::start(&folder, options).map_err(|error| error.to_string())?;
        Ok(Self { folder, session: session.to_owned(), recorder: Rc::new(recorder) })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn recorder(&self) -> &Rc<Recorder> {
        &self.recorder
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.recorder.status().failure
    }

    pub(crate) fn status(&self) -> RecorderStatus {
        let status = self.recorder.status();
        RecorderStatus {
            recording: status.failure.is_none(),
            session: self.session.clone(),
            folder: self.folder.display().to_string(),
            messages: status.messages,
            bytes: status.bytes,
            dropped: status.dropped,
            failure: status.failure.unwrap_or_default(),
            ..RecorderStatus::default()
        }
    }

    /// Beside the recording, replaced in one step.
    pub(crate) fn write_manifest(&self, manifest: &Manifest) {
        let text = serde_json::to_string_pretty(manifest).unwrap_or_default();
        if let Err(error) = replace_file(&self.folder.join(MANIFEST), text.as_bytes()) {
            log::warn!("{}: {error}", self.folder.join(MANIFEST).display());
        }
    }

    /// Leaves the take open for the next recorder.
    pub(crate) fn leave(self, manifest: Option<&Manifest>) {
        if let Some(manifest) = manifest {
            self.write_manifest(manifest);
        }
        if let Some(recorder) = Rc::into_inner(self.recorder)
            && let Err(error) = recorder.finish()
        {
            log::error!("{}: {error}", self.folder.display());
        }
    }

    /// Ends it, with the manifest beside it and in it; how many messages it has.
    pub(crate) fn close(self, manifest: &Manifest, csv: bool) -> Result<u64, String> {
        self.write_manifest(manifest);
        let text = serde_json::to_string(manifest).unwrap_or_default();
        let time = u64::try_from(now().wall.0).unwrap_or(0);
        self.recorder.attach(time, MANIFEST, "application/json", text.clone().into_bytes());
        let entries =
            BTreeMap::from([("session".to_owned(), manifest.session.clone()), ("manifest".to_owned(), text)]);
        self.recorder.note("rosless_session", entries);
        let recorder = Rc::into_inner(self.recorder).ok_or("the recording is in use")?;
        let metadata = recorder.finish().map_err(|error| error.to_string())?;
        if csv {
            // Long takes take long; START of the next one must not wait for it.
            let (folder, manifest) = (self.folder.clone(), manifest.clone());
            let work = move || {
                if let Err(error) = export(&folder, &manifest) {
                    log::error!("{}: {error}", folder.display());
                }
            };
            std::thread::Builder::new().name("csv".into()).spawn(work).map_err(|error| error.to_string())?;
        }
        Ok(metadata.message_count)
    }
}

/// `<take>/<system>/<topic with / → _>.csv` of what the systems announced.
fn export(folder: &Path, manifest: &Manifest) -> Result<(), String> {
    let bag = Bag::open(folder).map_err(|error| error.to_string())?;
    let mut files: HashMap<usize, (Table, BufWriter<File>)> = HashMap::new();
    for (index, topic) in bag.topics.iter().enumerate() {
        let Some((system, _)) = manifest.systems.iter().find(|(_, entry)| entry.topics.contains(&topic.name))
        else {
            continue;
        };
        let Ok(ty) = topic.definition.message_type(&topic.ty) else { continue };
        let out = folder.join(safe(system.trim_start_matches('/')));
        fs::create_dir_all(&out).map_err(|error| error.to_string())?;
        let name = safe(&topic.name.trim_start_matches('/').replace('/', "_"));
        let mut file =
            BufWriter::new(File::create(out.join(format!("{name}.csv"))).map_err(|e| e.to_string())?);
        let table = Table::new(&ty, &topic.ty, true);
        if let Some(titles) = table.titles() {
            writeln!(file, "{titles}").map_err(|error| error.to_string())?;
        }
        files.insert(index, (table, file));
    }
    for (topic, message) in bag.messages(&Filter::default()).filter_map(Result::ok) {
        if let Some((table, file)) = files.get_mut(&topic)
            && let Ok(row) = table.row(message.log_time, &message.data)
        {
            writeln!(file, "{row}").map_err(|error| error.to_string())?;
        }
    }
    files.into_values().try_for_each(|(_, mut file)| file.flush()).map_err(|error| error.to_string())
}
