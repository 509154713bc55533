//! `--kind natnet`: OptiTrack Motive as a controlled system.

mod check;
mod convert;
mod wire;

use std::time::Duration;

use rosless_engine::{Engine as _, Wall};
use rosless_graph::{
    Handle, Publisher, TopicQos as _,
    lifecycle::{CallbackReturn, LifecyclePublisher},
    now,
    parameters::Descriptor,
};
use rosless_natnet::{Description, Frame, Input, Link, Output, Status, Take};
use rosless_protocol::node::ControlledNode;
use rosless_wire::{
    builtin_interfaces::msg::Time,
    diagnostic_msgs::msg::{DiagnosticArray, DiagnosticStatus, KeyValue},
    geometry_msgs::msg::WrenchStamped,
    mocap4r2_msgs::msg::{Markers, RigidBodies},
    sensor_msgs::msg::PointCloud,
    std_msgs::msg::Header,
};

use crate::{App, Arguments};

pub(crate) use check::check;
use convert::Up;
use wire::Wire;

const FRAME_ID: &str = "frame_id";
const UP_AXIS: &str = "up_axis";
const CONTROL_TAKE: &str = "control_take";
const REQUIRE_FRAMES: &str = "require_frames";
const DIAGNOSING: Duration = Duration::from_secs(1);

/// The driver of one system.
#[derive(Debug)]
pub(crate) struct Driver {
    wire: Wire,
    topics: Option<Topics>,
    diagnostics: Publisher<DiagnosticArray>,
    frame_id: String,
    up: Up,
    /// A take of ours is being recorded, or may be.
    taking: bool,
    /// Frames have come before.
    streamed: bool,
    /// Frames at the last diagnosis.
    diagnosed: u64,
    /// Datagrams that could not be read, when that was last said.
    told_malformed: u64,
}

#[derive(Debug)]
struct Topics {
    markers: LifecyclePublisher<Markers>,
    rigid_bodies: LifecyclePublisher<RigidBodies>,
    force_plates: LifecyclePublisher<WrenchStamped>,
    analog: LifecyclePublisher<PointCloud>,
}

impl Driver {
    /// Begins to look for the server.
    pub(crate) fn new(
        handle: &Handle<App>,
        number: usize,
        system: &ControlledNode<App>,
        arguments: &Arguments,
    ) -> rosless_cli::Result<Self> {
        let node = system.node();
        let text = "The frame that positions are in; force plates have frames below it.";
        node.declare_parameter(Descriptor::new(FRAME_ID).description(text), "mocap".to_owned())?;
        let text = "The axis that points up in what the server streams, y or z; y is turned into z.";
        node.declare_parameter(Descriptor::new(UP_AXIS).description(text), "y".to_owned())?;
        let text = "Start and stop the recording of a take, named as the session, with the system.";
        node.declare_parameter(Descriptor::new(CONTROL_TAKE).description(text), false)?;
        let text = "An activation fails while the server sends no frames.";
        node.declare_parameter(Descriptor::new(REQUIRE_FRAMES).description(text), true)?;
        let server = arguments.server.as_deref().unwrap_or("127.0.0.1");
        let wire = Wire::open(server, arguments.interface, node.name())?;
        let me = system.clone();
        let (of, own) = (handle.clone(), system.clone());
        wire.attach(
            handle,
            move |app: &mut App| Some(&mut Self::of(app, number)?.wire),
            move |app, output| {
                if let Some(driver) = Self::of(app, number) {
                    driver.act(&of, &own, output);
                }
            },
        )?;
        handle.timer(DIAGNOSING, move |app| {
            if let Some(driver) = Self::of(app, number) {
                driver.diagnose(&me, true);
            }
        });
        Ok(Self {
            wire,
            topics: None,
            diagnostics: node.publisher("/diagnostics")?,
            frame_id: String::new(),
            up: Up::Y,
            taking: false,
            streamed: false,
            diagnosed: 0,
            told_malformed: 0,
        })
    }

    fn of(app: &mut App, number: usize) -> Option<&mut Self> {
        app.stations.get_mut(number)?.natnet.as_deref_mut()
    }

    /// Reads the parameters and opens the topics.
    pub(crate) fn configure(&mut self, system: &ControlledNode<App>) -> Result<(), String> {
        let node = system.node();
        let words = |error: rosless_graph::Error| error.to_string();
        self.frame_id = node.parameter(FRAME_ID).unwrap_or_default();
        let up: String = node.parameter(UP_AXIS).unwrap_or_default();
        self.up = match up.as_str() {
            "y" => Up::Y,
            "z" => Up::Z,
            other => return Err(format!("parameter {UP_AXIS} is {other:?}: it must be y or z")),
        };
        self.topics = Some(Topics {
            markers: system.publisher("markers".keep_last(1000)).map_err(words)?,
            rigid_bodies: system.publisher("rigid_bodies".keep_last(1000)).map_err(words)?,
            force_plates: system.publisher("force_plates".keep_last(1000)).map_err(words)?,
            analog: system.publisher("analog".keep_last(1000)).map_err(words)?,
        });
        Ok(())
    }

    pub(crate) fn clean_up(&mut self) {
        self.topics = None;
    }

    pub(crate) fn activate(&mut self, system: &ControlledNode<App>) -> CallbackReturn {
        let (node, link) = (system.node(), self.wire.client.link());
        let parameter = |name| node.parameter(name).unwrap_or(false);
        if parameter(REQUIRE_FRAMES) && !link.is_streaming() {
            log::error!(target: node.logger(), "cannot activate without frames of {}: {link}", self.wire.server);
            return CallbackReturn::Failure;
        }
        if !parameter(CONTROL_TAKE) {
            return CallbackReturn::Success;
        }
        // Whoever asks the lifecycle directly names no session.
        let session = system.session().unwrap_or_else(|| format!("take_{}", node.now().sec));
        self.taking = true;
        self.wire.client.handle(Input::Take(Take::Start(session)), now());
        CallbackReturn::Pending
    }

    pub(crate) fn deactivate(&mut self, system: &ControlledNode<App>) -> CallbackReturn {
        if !self.taking {
            return CallbackReturn::Success;
        }
        // Whoever cannot reach Motive any more must be able to stop without it.
        if !system.node().parameter(CONTROL_TAKE).unwrap_or(false) {
            self.taking = false;
            log::warn!(target: system.node().logger(), "{CONTROL_TAKE} was set to false: the take may go on in Motive");
            return CallbackReturn::Success;
        }
        self.wire.client.handle(Input::Take(Take::Stop), now());
        CallbackReturn::Pending
    }

    /// The process ends, or the system for good: a take of ours does not go on.
    pub(crate) fn leave(&mut self) {
        let last = std::mem::take(&mut self.taking).then_some("StopRecording");
        self.wire.leave(last);
    }

    fn act(&mut self, handle: &Handle<App>, system: &ControlledNode<App>, output: Output) {
        let logger = system.node().logger();
        match output {
            Output::Frame(frame, stamp) => self.publish(&frame, stamp, system),
            Output::Link(link) => {
                let server = self.wire.server;
                match link {
                    Link::Streaming if std::mem::replace(&mut self.streamed, true) => {
                        let lost = self.wire.client.status(now()).counts.lost;
                        log::info!(target: logger, "{server}: streaming again, {lost} frames lost so far");
                    }
                    Link::Searching | Link::Connected | Link::Streaming => {
                        log::info!(target: logger, "{server}: {link}");
                    }
                    Link::Unsupported(_) | Link::Quiet | Link::Lost => {
                        log::error!(target: logger, "{server}: {link}");
                    }
                }
                self.diagnose(system, false);
            }
            Output::Described(descriptions) => {
                log::info!(target: logger, "captured: {}", summary(&descriptions));
            }
            Output::Taken(result) => {
                // While the system is inactive or being activated the take is one that was to begin.
                let starting = system.state() == rosless_graph::lifecycle::State::Activating;
                let answer = match &result {
                    Ok(name) if starting => {
                        log::info!(target: logger, "take {name:?} is being recorded");
                        CallbackReturn::Success
                    }
                    Ok(_) => {
                        log::info!(target: logger, "the take has ended");
                        CallbackReturn::Success
                    }
                    Err(reason) => {
                        log::error!(target: logger, "{reason}");
                        CallbackReturn::Failure
                    }
                };
                self.taking = starting == result.is_ok();
                let system = system.clone();
                handle.once(Duration::ZERO, move |app| system.finish(app, answer));
            }
            Output::Warn(text) => log::warn!(target: logger, "{text}"),
            Output::Send(_) | Output::Listen(_) => {}
        }
    }

    fn publish(&self, frame: &Frame, stamp: Wall, system: &ControlledNode<App>) {
        let Some(topics) = &self.topics else { return };
        if system.state() != rosless_graph::lifecycle::State::Active {
            return;
        }
        let (sec, nanosec) = stamp.to_stamp();
        let header = Header { stamp: Time { sec, nanosec }, frame_id: self.frame_id.clone() };
        let model = self.wire.client.model();
        if topics.markers.inner().matched() > 0 {
            topics.markers.publish(&convert::markers(frame, model, self.up, header.clone()));
        }
        if topics.rigid_bodies.inner().matched() > 0 {
            topics.rigid_bodies.publish(&convert::rigid_bodies(frame, model, self.up, header.clone()));
        }
        if topics.force_plates.inner().matched() > 0 {
            for wrench in convert::wrenches(frame, model, &header) {
                topics.force_plates.publish(&wrench);
            }
        }
        let has_analog = !frame.force_plates.is_empty() || !frame.devices.is_empty();
        if has_analog && topics.analog.inner().matched() > 0 {
            topics.analog.publish(&convert::analog(frame, model, header));
        }
    }

    /// Tells how it is; `regular` once a second, else because something changed.
    fn diagnose(&mut self, system: &ControlledNode<App>, regular: bool) {
        let (status, node) = (self.wire.client.status(now()), system.node());
        let rate = status.counts.frames.saturating_sub(self.diagnosed);
        if regular {
            self.diagnosed = status.counts.frames;
        }
        if status.malformed > self.told_malformed && regular {
            let what = status.last_malformed.map(|malformed| malformed.to_string()).unwrap_or_default();
            let (count, all) = (status.malformed - self.told_malformed, status.malformed);
            log::warn!(target: node.logger(), "{count} datagrams could not be read, {all} in all; the last: {what}");
            self.told_malformed = status.malformed;
        }
        let active = system.state() == rosless_graph::lifecycle::State::Active;
        let (level, message) = health(&status, active);
        let status = DiagnosticStatus {
            level,
            name: format!("{}: natnet", node.name()),
            message,
            hardware_id: self.wire.server.to_string(),
            values: values(&status, rate),
        };
        let header = Header { stamp: node.now(), ..Header::default() };
        self.diagnostics.publish(&DiagnosticArray { header, status: vec![status] });
    }
}

fn health(status: &Status, active: bool) -> (u8, String) {
    let link = status.link.to_string();
    match status.link {
        Link::Streaming if status.clock.is_none() => {
            let why = "streaming; stamps are those of arrival: the server answers no echo request";
            (DiagnosticStatus::WARN, why.to_owned())
        }
        Link::Streaming => (DiagnosticStatus::OK, link),
        Link::Searching | Link::Connected if !active => (DiagnosticStatus::WARN, link),
        _ => (DiagnosticStatus::ERROR, link),
    }
}

fn values(status: &Status, rate: u64) -> Vec<KeyValue> {
    let seconds = |nanos: i64| format!("{:.6}", nanos as f64 / 1e9);
    let mut values = vec![
        ("frames", status.counts.frames.to_string()),
        ("frames in the last second", rate.to_string()),
        ("lost", status.counts.lost.to_string()),
        ("out of order", status.counts.late.to_string()),
        ("repeated", status.counts.repeated.to_string()),
        ("restarts", status.counts.restarts.to_string()),
        ("unreadable datagrams", status.malformed.to_string()),
        ("datagrams of others", status.foreign.to_string()),
        ("stamped with their arrival", status.undated.to_string()),
        ("recording", status.recording.to_string()),
    ];
    if let Some(server) = &status.server {
        values.push(("server", format!("{} {}", server.name, server.program)));
        values.push(("version", format!("NatNet {}", server.natnet)));
        values.push(("stream", server.stream.to_string()));
    }
    if let (Some(clock), Some(offset)) = (status.clock, status.offset) {
        values.push(("clock offset (s)", seconds(offset)));
        values.push(("clock uncertainty (s)", seconds(clock.uncertainty)));
        values.push(("clock drift (ppm)", format!("{:.2}", clock.drift * 1e6)));
    }
    if let Some(latency) = status.latency {
        values.push(("capture to arrival (s)", seconds(latency)));
    }
    if let Some(unsent) = &status.unsent {
        values.push(("network", unsent.clone()));
    }
    values.into_iter().map(|(key, value)| KeyValue { key: key.to_owned(), value }).collect()
}

/// What is captured, in a line.
fn summary(descriptions: &[Description]) -> String {
    let count =
        |is: fn(&Description) -> bool| descriptions.iter().filter(|description| is(description)).count();
    let counts = [
        (count(|d| matches!(d, Description::RigidBody(_))), "rigid body", "rigid bodies"),
        (count(|d| matches!(d, Description::Skeleton { .. })), "skeleton", "skeletons"),
        (count(|d| matches!(d, Description::Asset { .. })), "trained marker set", "trained marker sets"),
        (count(|d| matches!(d, Description::ForcePlate { .. })), "force plate", "force plates"),
        (count(|d| matches!(d, Description::Device { .. })), "device", "devices"),
        (count(|d| matches!(d, Description::Camera { .. })), "camera", "cameras"),
    ];
    let there = counts.iter().filter_map(|(count, one, many)| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    });
    let there = there.collect::<Vec<_>>().join(", ");
    if there.is_empty() { "nothing has a name".to_owned() } else { there }
}
