//! `rosless bag record`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::net::UnixStream,
    path::PathBuf,
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::Args;
use regex_lite::Regex;
use rosless_bag::{
    BagOptions, Compression, Metadata, Recorder, RecorderOptions, Ring, StorageKind, WriteOptions,
};
use rosless_cli::session::FOREVER;
use rosless_graph::{Handle, Node, Qos};
use rosless_recorder::{Names, Selection, Subject, Tape, TopicReport, Types, read_overrides};
use rosless_wire::rosbag2_interfaces::srv;
use serde_json::json;
use signal_hook::consts::SIGUSR1;

use super::{bytes, human, keys::Keys, progress::Progress, span};
use crate::{
    Environment,
    commands::names,
    failure::{Failure, Result},
    output::{self, err, out},
    session::{Session, absolute},
};

#[derive(Args, Debug)]
pub(crate) struct Record {
    /// Topics to record
    #[arg(value_name = "TOPIC", add = names::topics())]
    topics_: Vec<String>,
    /// The same, as newer ros2 has it
    #[arg(long = "topics", value_name = "TOPIC", num_args = 1.., add = names::topics())]
    topics: Vec<String>,
    /// Services, by the calls they tell of; all when none is named
    #[arg(long, value_name = "SERVICE", num_args = 0.., add = names::services())]
    services: Option<Vec<String>>,
    /// Actions: goals, results, feedback and status; all when none is named
    #[arg(long, value_name = "ACTION", num_args = 0.., add = names::actions())]
    actions: Option<Vec<String>>,
    /// All topics, services and actions
    #[arg(short, long)]
    all: bool,
    /// All topics
    #[arg(long)]
    all_topics: bool,
    /// All services
    #[arg(long)]
    all_services: bool,
    /// All actions
    #[arg(long)]
    all_actions: bool,
    /// What has this regular expression in its name
    #[arg(short = 'e', long, value_name = "REGEX")]
    regex: Option<String>,
    /// Nothing that has this regular expression in its name
    #[arg(short = 'x', long, alias = "exclude-regex", value_name = "REGEX")]
    exclude: Option<String>,
    /// Not these topics
    #[arg(long, value_name = "TOPIC", num_args = 1..)]
    exclude_topics: Vec<String>,
    /// Not these services
    #[arg(long, value_name = "SERVICE", num_args = 1..)]
    exclude_services: Vec<String>,
    /// Not these actions
    #[arg(long, value_name = "ACTION", num_args = 1..)]
    exclude_actions: Vec<String>,
    /// Topics with a part that begins with an underscore too, where all are recorded
    #[arg(long)]
    include_hidden_topics: bool,
    /// Only what is there now; topics that appear later are left out
    #[arg(long)]
    no_discovery: bool,
    /// Accepted because ros2 has it: news of the graph come by themselves
    #[arg(short = 'p', long, hide = true, value_name = "MS")]
    polling_interval: Option<u64>,
    /// Folder to write; it must not exist (rosbag2_DATE if not given)
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// mcap, or sqlite3 where it was built in
    #[arg(short, long, default_value = "mcap")]
    storage: StorageKind,
    /// How chunks are packed: none, lz4, or zstd where it was built in
    #[arg(long, alias = "compression-format", default_value = "none", value_name = "FORMAT")]
    compression: Compression,
    /// Begin a new part when one has so many bytes
    #[arg(short = 'b', long, value_parser = bytes, value_name = "BYTES")]
    max_bag_size: Option<u64>,
    /// Begin a new part after so long
    #[arg(short = 'd', long, value_parser = span, value_name = "SECONDS")]
    max_bag_duration: Option<Duration>,
    /// So many bytes may wait for the disk; what comes beyond is dropped and counted
    #[arg(long, alias = "cache-size", value_parser = bytes, default_value = "100M", value_name = "BYTES")]
    max_cache_size: u64,
    /// Keep messages in memory, and write them on `~/snapshot` or the key s
    #[arg(long)]
    snapshot_mode: bool,
    /// Of a snapshot: so long before the trigger, as far as --max-cache-size reaches
    #[arg(long, value_parser = span, value_name = "SECONDS")]
    before: Option<Duration>,
    /// Of a snapshot: so long after the trigger
    #[arg(long, value_parser = span, value_name = "SECONDS", default_value = "0")]
    after: Duration,
    /// Begin paused; `~/resume` or the space bar goes on
    #[arg(long)]
    start_paused: bool,
    /// End after so long
    #[arg(long, value_parser = span, value_name = "SECONDS")]
    duration: Option<Duration>,
    /// YAML with what is to be asked of topics instead of what their publishers offer
    #[arg(long, value_name = "FILE")]
    qos_profile_overrides_path: Option<PathBuf>,
    /// Text for the metadata: KEY=VALUE
    #[arg(long, value_name = "KEY=VALUE", num_args = 1..)]
    custom_data: Vec<String>,
    /// Name of the node whose services steer the recording
    #[arg(long, default_value = "rosbag2_recorder", value_name = "NAME")]
    node_name: String,
    /// Do not listen to keys
    #[arg(long)]
    disable_keyboard_controls: bool,
}

/// How often losses are noted and the progress is told.
const TICK: Duration = Duration::from_millis(250);

/// A recording that can be stopped and begun again by its services.
struct App {
    recorder: Option<Rc<Recorder>>,
    folder: PathBuf,
    options: RecorderOptions,
    tape: Option<Tape<App>>,
    /// What each folder came to.
    ended: Vec<(PathBuf, Metadata)>,
    failures: Vec<String>,
    /// What became of the topics of the last folder.
    reports: Vec<TopicReport>,
    told: bool,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

impl App {
    fn begin(&mut self, folder: PathBuf) -> Result<(), String> {
        // One that the disk ended is over; its failure is told at the end.
        if self.recorder.as_ref().is_some_and(|recorder| recorder.status().failure.is_some()) {
            drop(self.end());
        }
        if self.recorder.is_some() {
            return Err("a recording is under way".into());
        }
        let recorder = Rc::new(Recorder::start(&folder, self.options.clone()).map_err(|e| e.to_string())?);
        if let Some(tape) = &self.tape {
            tape.attach(&recorder, |_| true);
        }
        self.folder = folder;
        self.recorder = Some(recorder);
        self.told = false;
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let recorder = self.recorder.take().ok_or("no recording is under way")?;
        if let Some(tape) = &self.tape {
            tape.settle();
            tape.report_losses();
            self.reports = tape.reports();
            tape.detach();
        }
        let recorder = Rc::into_inner(recorder).ok_or("the recording is in use")?;
        match recorder.finish() {
            Ok(metadata) => {
                self.ended.push((self.folder.clone(), metadata));
                Ok(())
            }
            Err(error) => {
                self.failures.push(error.to_string());
                Err(error.to_string())
            }
        }
    }

    fn with(&self, act: impl FnOnce(&Recorder)) -> bool {
        self.recorder.as_deref().map(act).is_some()
    }

    fn pause(&self, paused: bool) {
        if let Some(tape) = &self.tape {
            tape.set_paused(paused);
            log::info!("{}", if paused { "Pausing recording." } else { "Resuming recording." });
        }
    }
}

impl Record {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let selection = Rc::new(self.selection()?);
        let options = self.options(environment)?;
        let overrides = match &self.qos_profile_overrides_path {
            None => BTreeMap::new(),
            Some(path) => {
                let text = fs::read_to_string(path)
                    .map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
                read_overrides(&text).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?
            }
        };
        let folder = self.output.clone().unwrap_or_else(default_folder);
        let distro = environment.settings.environment.distro.unwrap_or_default();
        let types = Types::new(distro.name(), &environment.global.idl).map_err(Failure::usage)?;
        let app = App {
            recorder: None,
            folder: folder.clone(),
            options,
            tape: None,
            ended: Vec::new(),
            failures: Vec::new(),
            reports: Vec::new(),
            told: false,
        };
        let session = Session::join(&environment.settings, &self.node_name, app)?;
        let adapt = move |topic: &str, qos: Qos| overrides.get(topic).map_or(qos, |change| change(qos));
        let tape = Tape::new(&session.event_loop, &session.node, types, adapt);
        tape.set_paused(self.start_paused);
        session.with(|app| {
            app.tape = Some(tape.clone());
            app.begin(folder.clone()).map_err(Failure::new)
        })?;
        serve(&session.event_loop, &session.node, self.snapshot_mode)?;
        split_on_signal(&session.event_loop)?;
        let keys = self.keys(&session.event_loop)?;
        log::info!("Recording to {}", folder.display());
        if keys.are_there() {
            let snapshot = if self.snapshot_mode { ", s writes a snapshot" } else { "" };
            err!("Press SPACE to pause and resume, n for a new part{snapshot}, Ctrl-C to end");
        }

        let (following, wanted) = (tape.clone(), selection.clone());
        session.event_loop.on_graph_change(move |_, graph| {
            // Topics that appear later are found here.
            following.follow(graph, |topic| wanted.wants(topic));
        });
        tape.follow(&session.graph(), |topic| selection.wants(topic));
        if self.no_discovery {
            let graph = session.whole_graph()?;
            let present: BTreeSet<String> = graph.topics().into_keys().collect();
            tape.follow(&graph, |topic| selection.wants(topic));
            let (following, wanted) = (tape.clone(), selection.clone());
            session.event_loop.on_graph_change(move |_, graph| {
                following.follow(graph, |topic| present.contains(topic) && wanted.wants(topic));
            });
        }
        let mut progress = Progress::new(false);
        let (following, context) = (tape.clone(), session.context.clone());
        let wanted = selection.clone();
        session.event_loop.timer(TICK, move |app: &mut App| {
            following.follow(&context.graph(), |topic| {
                following.topics().iter().any(|t| t == topic) && wanted.wants(topic)
            });
            following.report_losses();
            app.with(|recorder| {
                let status = recorder.status();
                let paused = if following.is_paused() { "paused, " } else { "" };
                let more = format!("{paused}{} topics, {} dropped", following.topics().len(), status.dropped);
                progress.tell(status.messages, status.bytes, None, &more);
            });
            let failure = app.recorder.as_ref().and_then(|recorder| recorder.status().failure);
            if let Some(failure) = failure.filter(|_| !std::mem::replace(&mut app.told, true)) {
                log::error!("nothing is recorded any more: {failure}");
            }
        });
        session.watch(Some(self.duration.unwrap_or(FOREVER)), |_| false)?;
        drop(keys);
        self.finish(environment, &session, &selection)
    }

    fn finish(&self, environment: &Environment, session: &Session<App>, selection: &Selection) -> Result<()> {
        let graph = session.graph();
        session.with(|app| {
            if app.recorder.is_some() {
                drop(app.end())
            }
        });
        let reports = session.with(|app| std::mem::take(&mut app.reports));
        let (ended, failures) =
            session.with(|app| (std::mem::take(&mut app.ended), std::mem::take(&mut app.failures)));
        for missing in selection.missing(reports.iter().map(|report| report.name.as_str())) {
            let (name, why) = match missing {
                Subject::Topic(name) if graph.topics().contains_key(name) => (name, "nobody published it"),
                Subject::Service(name) if graph.services().contains_key(name) => (
                    name,
                    "it does not tell of its calls: its node needs `-p service_introspection:=contents`",
                ),
                Subject::Topic(name) | Subject::Service(name) | Subject::Action(name) => {
                    (name, "it never appeared")
                }
            };
            err!("WARNING: {name} is not in the recording: {why}");
        }
        for (folder, metadata) in &ended {
            if environment.json() {
                let topics: Vec<_> = reports
                    .iter()
                    .map(|r| json!({"name": r.name, "type": r.ty, "messages": r.messages, "lost": r.lost, "dropped": r.dropped}))
                    .collect();
                output::json_line(&json!({"folder": folder, "messages": metadata.message_count,
                    "parts": metadata.files.len(), "duration": metadata.duration as f64 / 1e9, "topics": topics}));
                continue;
            }
            let sizes = metadata.files.iter().filter_map(|file| fs::metadata(folder.join(&file.path)).ok());
            let bytes: u64 = sizes.map(|size| size.len()).sum();
            out!(
                "Recorded {} messages of {} topics in {} part{} ({}) to {}",
                metadata.message_count,
                metadata.topics.len(),
                metadata.files.len(),
                if metadata.files.len() == 1 { "" } else { "s" },
                human(bytes),
                folder.display()
            );
            for report in reports.iter().filter(|report| report.lost + report.dropped > 0) {
                err!("WARNING: {}: {} messages lost, {} dropped", report.name, report.lost, report.dropped);
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(Failure::new(failures.join("; "))) }
    }

    fn selection(&self) -> Result<Selection> {
        let full =
            |names: &[String]| -> BTreeSet<String> { names.iter().map(|name| absolute(name)).collect() };
        let names = |all: bool, given: &Option<Vec<String>>| match given {
            Some(given) if !given.is_empty() && !all => Names::These(full(given)),
            given if all || given.is_some() => Names::All,
            _ => Names::default(),
        };
        let regex = |text: &Option<String>| {
            text.as_deref()
                .map(Regex::new)
                .transpose()
                .map_err(|error| Failure::usage(format!("no expression: {error}")))
        };
        let topics = [&*self.topics_, &*self.topics].concat();
        let selection = Selection {
            topics: names(self.all || self.all_topics, &Some(topics).filter(|topics| !topics.is_empty())),
            services: names(self.all || self.all_services, &self.services),
            actions: names(self.all || self.all_actions, &self.actions),
            regex: regex(&self.regex)?,
            exclude: regex(&self.exclude)?,
            excluded: full(
                &[&*self.exclude_topics, &*self.exclude_services, &*self.exclude_actions].concat(),
            ),
            hidden: self.include_hidden_topics,
        };
        let nothing = Names::default();
        let is_empty =
            [&selection.topics, &selection.services, &selection.actions].iter().all(|n| **n == nothing);
        if is_empty && selection.regex.is_none() {
            return Err(Failure::usage(
                "say what to record: topics by name, --all, --regex, --services or --actions",
            ));
        }
        Ok(selection)
    }

    fn options(&self, environment: &Environment) -> Result<RecorderOptions> {
        let custom = self.custom_data.iter().map(|pair| {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| Failure::usage(format!("{pair:?} is not KEY=VALUE")))?;
            Ok((key.to_owned(), value.to_owned()))
        });
        let distro = environment.settings.environment.distro.unwrap_or_default();
        Ok(RecorderOptions {
            bag: BagOptions {
                write: WriteOptions { compression: self.compression, ..Default::default() },
                storage: self.storage,
                max_size: self.max_bag_size.filter(|size| *size > 0),
                max_duration: self.max_bag_duration.filter(|duration| !duration.is_zero()),
                ros_distro: distro.name().to_owned(),
                custom: custom.collect::<Result<_>>()?,
            },
            cache: usize::try_from(self.max_cache_size).unwrap_or(usize::MAX),
            snapshot: self.snapshot_mode.then_some(Ring { before: self.before, after: self.after }),
            ..Default::default()
        })
    }

    fn keys(&self, handle: &Handle<App>) -> Result<Keys> {
        let snapshots = self.snapshot_mode;
        Keys::watch(handle, !self.disable_keyboard_controls, move |app: &mut App, key| match key {
            b' ' => app.pause(!app.tape.as_ref().is_some_and(Tape::is_paused)),
            b'n' => drop(app.with(|recorder| recorder.split(now()))),
            b's' if snapshots => drop(app.with(|recorder| recorder.snapshot(now()))),
            _ => {}
        })
    }
}

/// As rosbag2 names it.
fn default_folder() -> PathBuf {
    PathBuf::from(chrono::Local::now().format("rosbag2_%Y_%m_%d-%H_%M_%S").to_string())
}

/// rosbag2's services on the recorder's node.
fn serve(handle: &Handle<App>, node: &Node, snapshots: bool) -> Result<()> {
    handle.serve::<srv::Pause>(node, "~/pause", |app: &mut App, _, responder| {
        app.pause(true);
        responder.reply(&srv::PauseResponse::default());
    })?;
    handle.serve::<srv::Resume>(node, "~/resume", |app: &mut App, _, responder| {
        app.pause(false);
        responder.reply(&srv::ResumeResponse::default());
    })?;
    handle.serve::<srv::IsPaused>(node, "~/is_paused", |app: &mut App, _, responder| {
        responder.reply(&srv::IsPausedResponse { paused: app.tape.as_ref().is_some_and(Tape::is_paused) });
    })?;
    handle.serve::<srv::SplitBagfile>(node, "~/split_bagfile", |app: &mut App, _, responder| {
        app.with(|recorder| recorder.split(now()));
        responder.reply(&srv::SplitBagfileResponse::default());
    })?;
    handle.serve::<srv::Snapshot>(node, "~/snapshot", move |app: &mut App, _, responder| {
        let success = snapshots && app.with(|recorder| recorder.snapshot(now()));
        responder.reply(&srv::SnapshotResponse { success });
    })?;
    handle.serve::<srv::Record>(node, "~/record", |app: &mut App, request, responder| {
        let begun = app.begin(if request.uri.is_empty() { default_folder() } else { request.uri.into() });
        let error_string = begun.err().unwrap_or_default();
        responder
            .reply(&srv::RecordResponse { return_code: i32::from(!error_string.is_empty()), error_string });
    })?;
    handle.serve::<srv::Stop>(node, "~/stop", |app: &mut App, _, responder| {
        let error_string = app.end().err().unwrap_or_default();
        responder
            .reply(&srv::StopResponse { return_code: i32::from(!error_string.is_empty()), error_string });
    })?;
    Ok(())
}

/// SIGUSR1 begins a new part.
fn split_on_signal(handle: &Handle<App>) -> Result<()> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot listen to SIGUSR1: {error}"));
    let (reader, writer) = UnixStream::pair().map_err(failed)?;
    reader.set_nonblocking(true).map_err(failed)?;
    signal_hook::low_level::pipe::register(SIGUSR1, writer).map_err(failed)?;
    handle.watch(reader, |app: &mut App, reader| {
        while std::io::Read::read(reader, &mut [0; 64]).is_ok_and(|count| count > 0) {}
        app.with(|recorder| recorder.split(now()));
        true
    })?;
    Ok(())
}
