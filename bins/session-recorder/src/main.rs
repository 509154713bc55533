//! Follows capture sessions of all three dialects and records each as one take.

#![forbid(unsafe_code)]

mod take;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    path::PathBuf,
    process::ExitCode,
    rc::Rc,
    time::Duration,
};

use clap::Parser;
use rosless_bag::Compression;
use rosless_cli::{Failure, Result};
use rosless_graph::{
    Context, EventLoop, Graph, Handle, Node, Publisher, TopicQos, config::Settings as Ros, monotonic, now,
    parameters::Descriptor,
};
use rosless_protocol::{
    Dialect,
    controller::{Level, Settings, System},
    message::{Kind, State},
    name::SystemId,
    node::{ControllerNode, ControllerOptions, Notice},
};
use rosless_recorder::{
    Tape, Types,
    session::{ClockOffset, Follower, Input, Output, Seen},
};
use rosless_wire::rosless_msgs::msg::RecorderStatus;
use take::Take;

/// Follows capture sessions and records each as one take: a folder that `rosless bag`, `ros2 bag` and Foxglove open.
#[derive(Debug, Parser)]
#[command(name = "session-recorder", version, after_help = rosless_cli::EXIT_CODES)]
struct Arguments {
    /// Folder in which takes are written, each in one of its own: SESSION_TIME
    #[arg(long, default_value = "takes", value_name = "DIR")]
    dir: PathBuf,
    /// How chunks are packed: none, lz4, or zstd where it was built in
    #[arg(long, default_value = "none", value_name = "FORMAT")]
    compression: Compression,
    /// Also write TAKE/SYSTEM/TOPIC.csv at the end, as the original control application did
    #[arg(long)]
    csv: bool,
    /// More definitions: a package, a folder of packages, or a ROS prefix; may be repeated
    #[arg(long, value_name = "DIR")]
    idl: Vec<PathBuf>,
}

const NODE: &str = "session_recorder";
/// How often systems and the recording are looked at.
const TICK: Duration = Duration::from_millis(200);
/// How often systems are asked for their state.
const STATES: Duration = Duration::from_secs(2);
/// How often the manifest of a take under way is written.
const MANIFEST: Duration = Duration::from_secs(1);
/// How often the disk is looked at while nothing is recorded.
const DISK: Duration = Duration::from_secs(10);

struct App {
    follower: Follower,
    take: Option<Take>,
    /// Topics of the session under way and those that are always recorded.
    chosen: Rc<RefCell<BTreeSet<String>>>,
    last_manifest: Duration,
    told: bool,
    /// START was heard: what it names must not wait for the next look.
    urgent: bool,
}

fn main() -> ExitCode {
    rosless_cli::main(run)
}

fn run(arguments: Arguments, ros: Ros) -> Result<()> {
    let distro = ros.environment.distro.unwrap_or_default().name();
    let types = Types::new(distro, &arguments.idl).map_err(Failure::usage)?;
    let context = Context::new(ros)?;
    let node = context.node(NODE)?;
    let event_loop = EventLoop::new(&context)?;
    declare(&node)?;
    let follower = match take::unfinished(&arguments.dir) {
        Some((folder, manifest)) => {
            log::info!(target: node.logger(), "going on with the take in {}", folder.display());
            Follower::resume(manifest)
        }
        None => Follower::default(),
    };
    // A recorder that comes in the middle of a session must ask who is active; nobody says so by himself.
    let settings = Settings { poll_period: Some(STATES), ..Settings::default() };
    let options =
        ControllerOptions { dialects: Dialect::ALL.to_vec(), settings, ..ControllerOptions::default() };
    let logger = node.logger().to_owned();
    let controller = ControllerNode::new(&event_loop, &node, options, move |app: &mut App, notice| {
        let wall = now().wall;
        match notice {
            Notice::Message(message) => match message.kind {
                Kind::Start => {
                    let (session, systems) = (message.session.clone(), message.systems.clone());
                    app.follower.handle(Input::Start { session, systems }, wall);
                    app.urgent = true;
                }
                Kind::Stop => app.follower.handle(Input::Stop, wall),
                Kind::AckStart | Kind::AckStop => {
                    let (system, start) = (message.source.clone(), message.kind == Kind::AckStart);
                    let (session, stamp) = (message.session.clone(), message.stamp.0);
                    app.follower.handle(Input::Ack { system, start, session, stamp }, wall);
                }
                _ => {}
            },
            Notice::Event(event) if event.level() == Level::Error => {
                log::warn!(target: &logger, "{event}");
                app.follower.handle(Input::Failure(event.to_string()), wall);
            }
            _ => {}
        }
    })?;
    let tape = Tape::new(&event_loop, &node, types, |_, qos| qos);
    drive(&event_loop, &node, &controller, &tape, arguments)?;
    event_loop.announce(&node, format!("waiting for START in all dialects as {}", node.full_name()));
    let mut app = App {
        follower,
        take: None,
        chosen: Rc::default(),
        last_manifest: Duration::ZERO,
        told: false,
        urgent: false,
    };
    let ended = event_loop.run(&mut app);
    // Whoever ends the recorder does not end the session: a new one goes on with the take.
    tape.settle();
    tape.detach();
    if let Some(take) = app.take.take() {
        take.leave(app.follower.manifest());
    }
    Ok(ended?)
}

fn declare(node: &Node) -> Result<()> {
    let topics =
        Descriptor::new("topics").description("Topics to record beside those that systems announce.");
    node.declare_parameter(topics, vec!["/tf".to_owned(), "/tf_static".to_owned(), "/rosout".to_owned()])?;
    let excluded = Descriptor::new("exclude_topics").description("Topics not to record, announced or not.");
    node.declare_parameter(excluded, Vec::<String>::new())?;
    Ok(())
}

fn parameter(node: &Node, name: &str) -> BTreeSet<String> {
    let names: Vec<String> = node.parameter(name).unwrap_or_default();
    names.iter().map(|name| rosless_cli::session::absolute(name)).collect()
}

/// What is recorded of every session, and what of none.
struct Always {
    names: BTreeSet<String>,
    excluded: BTreeSet<String>,
}

impl Always {
    fn now(node: &Node, graph: &Graph) -> Self {
        let protocol =
            Dialect::ALL.map(|dialect| [dialect.names().control_topic, dialect.names().environment_topic]);
        let is_protocol =
            |topic: &String| protocol.iter().flatten().any(|name| topic.rsplit('/').next() == Some(name));
        let mut names = parameter(node, "topics");
        names.extend(graph.topics().into_keys().filter(is_protocol));
        Self { names, excluded: parameter(node, "exclude_topics") }
    }

    fn with<'a>(&self, more: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
        let mut names = self.names.clone();
        names.extend(more.map(str::to_owned));
        names.retain(|name| !self.excluded.contains(name));
        names
    }
}

fn seen(id: &SystemId, system: &System) -> Seen {
    let namespace = id.as_str().rsplit_once('/').map_or("", |(namespace, _)| namespace);
    let full =
        |topic: &String| if topic.starts_with('/') { topic.clone() } else { format!("{namespace}/{topic}") };
    let state = system.state.and_then(std::result::Result::ok);
    let offset = system.offset_at(monotonic());
    Seen {
        name: id.as_str().to_owned(),
        state: state.map_or_else(String::new, |state| state.to_string()),
        active: system.present() && state == Some(State::Active),
        session: system.session().filter(|_| system.present()).map(str::to_owned),
        topics: system.topics.iter().map(full).collect(),
        offset: offset.map(|o| ClockOffset { nanoseconds: o.nanos, uncertainty: o.uncertainty }),
    }
}

/// Looks, asks the follower, and does what it says.
fn drive(
    handle: &Handle<App>,
    node: &Node,
    controller: &ControllerNode<App>,
    tape: &Tape<App>,
    arguments: Arguments,
) -> Result<()> {
    let status: Publisher<RecorderStatus> = node.publisher("~/status".latched())?;
    let (tape, node, controller) = (tape.clone(), node.clone(), controller.clone());
    let last = RefCell::new(None);
    // When to look again, and what was found.
    let disk = Cell::new((Duration::ZERO, 0));
    let arguments = Rc::new(arguments);
    let act = move |app: &mut App| {
        let systems: Vec<Seen> =
            controller.with_systems(|systems| systems.iter().map(|(id, s)| seen(id, s)).collect());
        let graph = node.context().graph();
        let always = Always::now(&node, &graph);
        // What any system announced is subscribed to all the time, so that a take begins with its first message.
        let warm = always.with(systems.iter().flat_map(|seen| &seen.topics).map(String::as_str));
        tape.follow(&graph, |topic| warm.contains(topic));
        app.follower.handle(Input::Systems(systems), now().wall);
        app.chosen.replace(always.with(app.follower.topics()));
        tape.refresh();
        while let Some(output) = app.follower.poll_output() {
            obey(app, output, &tape, &node, &arguments);
        }
        if let Some(take) = &app.take {
            tape.report_losses();
            let failure = take.failure();
            if monotonic() >= app.last_manifest + MANIFEST
                && let Some(manifest) = app.follower.manifest()
            {
                app.last_manifest = monotonic();
                let mut manifest = manifest.clone();
                manifest.set_topics(&tape.reports());
                take.write_manifest(&manifest);
            }
            if let Some(failure) = failure.filter(|_| !std::mem::replace(&mut app.told, true)) {
                log::error!(target: node.logger(), "nothing is recorded any more: {failure}");
                app.follower.handle(Input::Failure(format!("not recorded: {failure}")), now().wall);
            }
        }
        let mut report = app.take.as_ref().map(Take::status).unwrap_or_default();
        report.topics = u32::try_from(tape.reports().len()).unwrap_or(u32::MAX);
        report.systems =
            app.follower.manifest().map(|m| m.systems.keys().cloned().collect()).unwrap_or_default();
        // Others write to the disk, too: that alone is not worth a message all the time.
        let pause = if report.recording { MANIFEST } else { DISK };
        if monotonic() >= disk.get().0 {
            disk.set((monotonic() + pause, take::free(&arguments.dir)));
        }
        report.disk_free = disk.get().1;
        if last.borrow().as_ref() != Some(&report) {
            last.replace(Some(report.clone()));
            status.publish(&RecorderStatus { stamp: node.now(), ..report });
        }
    };
    let act = Rc::new(act);
    let again = act.clone();
    handle.timer(TICK, move |app| act(app));
    handle.after_batch(move |app: &mut App| {
        if std::mem::take(&mut app.urgent) || app.follower.has_output() {
            again(app);
        }
    });
    Ok(())
}

fn obey(app: &mut App, output: Output, tape: &Tape<App>, node: &Node, arguments: &Arguments) {
    match output {
        Output::Open { session, resume } => {
            let distro = node.context().settings().environment.distro.unwrap_or_default().name();
            match Take::open(&arguments.dir, &session, resume, arguments.compression, distro) {
                Ok(take) => {
                    log::info!(target: node.logger(), "session {session:?}: recording to {}", take.folder().display());
                    let chosen = app.chosen.clone();
                    tape.attach(take.recorder(), move |topic| chosen.borrow().contains(topic));
                    if resume {
                        app.follower.recount(take.recorder().before());
                    }
                    app.told = false;
                    app.take = Some(take);
                }
                Err(error) => {
                    log::error!(target: node.logger(), "session {session:?} is not recorded: {error}");
                    app.follower.handle(Input::Failure(format!("not recorded: {error}")), now().wall);
                }
            }
        }
        Output::Close(mut manifest) => {
            tape.settle();
            tape.report_losses();
            manifest.set_topics(&tape.reports());
            tape.detach();
            if let Some(take) = app.take.take() {
                let folder = take.folder().to_owned();
                match take.close(&manifest, arguments.csv) {
                    Ok(messages) => log::info!(
                        target: node.logger(),
                        "session {:?}: {messages} messages in {}",
                        manifest.session,
                        folder.display()
                    ),
                    Err(error) => log::error!(target: node.logger(), "{}: {error}", folder.display()),
                }
            }
        }
        Output::Outside(system) => log::warn!(
            target: node.logger(),
            "{system} is active and no START was heard for it: it is outside of any session, and its data are not recorded"
        ),
    }
}
