//! A synthetic server: what Motive says on the network, without cameras. For tests, and to try drivers at a desk.

use std::{
    collections::{BTreeMap, VecDeque},
    f32::consts::TAU,
    net::SocketAddr,
    time::Duration,
};

use rosless_engine::{Engine, Now};

use crate::{
    Analog, Body, BodyDescription, Description, Frame, LabeledMarker, MarkerSet, Message, Reply, ServerInfo,
    Skeleton, Version, model::BodyMarker,
};

/// Clients that say nothing for so long are forgotten.
const FORGET: Duration = Duration::from_secs(5);
/// More than a laboratory has; others are not served.
const MOST_CLIENTS: usize = 64;
const MARKERS_PER_BODY: usize = 4;

/// What is to be captured, and how the server behaves.
#[derive(Clone, Debug)]
pub struct Scene {
    /// How it introduces itself.
    pub info: ServerInfo,
    /// Frames in a second.
    pub rate: f64,
    /// Rigid bodies with four markers each, named `body_1` and so on.
    pub bodies: usize,
    /// Markers that belong to nothing.
    pub markers: usize,
    /// One skeleton of three bones.
    pub skeleton: bool,
    /// One force plate and one device of two channels.
    pub analog: bool,
    /// From the exposure to the datagram.
    pub latency: Duration,
    /// What its clock shows at our zero.
    pub clock: Duration,
    /// By how much its clock is fast.
    pub drift: f64,
    /// It answers, and sends nothing else.
    pub silent: bool,
    /// Every so many-th frame is not sent; 0: none.
    pub lose_every: u32,
    /// Every so many-th frame is sent after the next; 0: none.
    pub swap_every: u32,
    /// Commands that begin so are refused.
    pub refuse: Vec<String>,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            info: ServerInfo {
                name: "sim-natnet".to_owned(),
                program: Version::new(0, 1),
                natnet: Version::V4_1,
                frequency: 10_000_000,
                stream: Default::default(),
            },
            rate: 120.0,
            bodies: 2,
            markers: 4,
            skeleton: false,
            analog: false,
            latency: Duration::from_millis(5),
            clock: Duration::from_secs(1000),
            drift: 0.0,
            silent: false,
            lose_every: 0,
            swap_every: 0,
            refuse: Vec::new(),
        }
    }
}

impl Scene {
    fn ticks(&self, mono: Duration) -> u64 {
        let seconds = self.clock.as_secs_f64() + mono.as_secs_f64() * (1.0 + self.drift);
        (seconds * self.info.frequency as f64) as u64
    }

    /// What is to be captured, described.
    pub fn model(&self) -> Message {
        Message::Model(self.descriptions())
    }

    fn descriptions(&self) -> Vec<Description> {
        let mut all = Vec::new();
        for number in 1..=self.bodies {
            let name = format!("body_{number}");
            let markers: Vec<_> = (1..=MARKERS_PER_BODY).map(|marker| format!("Marker{marker}")).collect();
            let marker = |(index, name): (usize, &String)| BodyMarker {
                position: corner(index),
                label: 0,
                name: name.clone(),
            };
            let body = BodyDescription {
                name: name.clone(),
                id: id(number),
                parent: -1,
                offset: [0.0; 3],
                rotation: [0.0, 0.0, 0.0, 1.0],
                markers: markers.iter().enumerate().map(marker).collect(),
            };
            all.push(Description::MarkerSet { name, markers });
            all.push(Description::RigidBody(body));
        }
        if self.skeleton {
            let bone = |(id, (name, parent)): (i32, (&str, i32))| BodyDescription {
                name: name.to_owned(),
                id,
                parent,
                rotation: [0.0, 0.0, 0.0, 1.0],
                ..BodyDescription::default()
            };
            let bones = (1..).zip([("Hip", 0), ("Ab", 1), ("Chest", 2)]).map(bone).collect();
            all.push(Description::Skeleton { name: "Anna".to_owned(), id: SKELETON, bones });
        }
        if self.analog {
            let channels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            all.push(Description::ForcePlate {
                id: 1,
                serial: "FP0001".to_owned(),
                size: [0.5, 0.5],
                origin: [0.0, 0.0, -0.04],
                calibration: vec![0.0; 144],
                corners: [0.25, 0.0, 0.25, -0.25, 0.0, 0.25, -0.25, 0.0, -0.25, 0.25, 0.0, -0.25],
                kinds: [2, 0],
                channels: channels(&["Fx", "Fy", "Fz", "Mx", "My", "Mz"]),
            });
            all.push(Description::Device {
                id: 2,
                name: "NI-DAQ".to_owned(),
                serial: "0002".to_owned(),
                kinds: [1, 0],
                channels: channels(&["emg", "trigger"]),
            });
        }
        all
    }

    /// The frame with this number: bodies go round, marker by marker.
    pub fn frame(&self, number: i32) -> Frame {
        let seconds = f64::from(number) / self.rate;
        let angle = (seconds.rem_euclid(10.0) / 10.0) as f32 * TAU;
        let place = |ring: f32, height: f32| [ring * angle.cos(), height, ring * angle.sin()];
        let mut frame = Frame { number, timestamp: seconds, ..Frame::default() };
        for number in 1..=self.bodies {
            let center = place(number as f32, 1.0);
            let body = Body {
                id: id(number),
                position: center,
                orientation: [0.0, (angle / 2.0).sin(), 0.0, (angle / 2.0).cos()],
                error: 0.0002,
                flags: 1,
            };
            frame.rigid_bodies.push(body);
            let mut markers = Vec::new();
            for index in 0..MARKERS_PER_BODY {
                let [x, y, z] = corner(index);
                let position = [center[0] + x, center[1] + y, center[2] + z];
                markers.push(position);
                let id = id(number) << 16 | id(index + 1);
                frame.markers.push(LabeledMarker {
                    id,
                    position,
                    size: 0.014,
                    flags: 0x0a,
                    residual: 0.0003,
                });
            }
            frame.marker_sets.push(MarkerSet { name: format!("body_{number}"), markers });
        }
        for number in 0..self.markers {
            let position = place(0.1 * number as f32, 0.5);
            frame.markers.push(LabeledMarker {
                id: id(number + 1),
                position,
                size: 0.01,
                flags: 0x12,
                residual: 0.0005,
            });
            frame.other_markers.push(position);
        }
        if self.skeleton {
            let bone = |bone: i32| Body {
                id: SKELETON << 16 | bone,
                position: place(0.2, 0.9 + 0.2 * bone as f32),
                orientation: [0.0, 0.0, 0.0, 1.0],
                error: 0.001,
                flags: 1,
            };
            frame.skeletons.push(Skeleton { id: SKELETON, bones: (1..=3).map(bone).collect() });
        }
        if self.analog {
            let plate =
                [1.0, 2.0, -700.0, 0.1, 0.2, 0.3].map(|value: f32| vec![value - 1.0, value, value + 1.0]);
            frame.force_plates.push(Analog { id: 1, channels: plate.into() });
            frame.devices.push(Analog { id: 2, channels: vec![vec![0.5, 0.25], vec![5.0, 0.0]] });
        }
        frame
    }
}

const SKELETON: i32 = 77;

fn id(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn corner(index: usize) -> [f32; 3] {
    [[0.05, 0.0, 0.0], [-0.05, 0.0, 0.0], [0.0, 0.05, 0.0], [0.0, 0.0, 0.07]][index % 4]
}

/// What happens to a server.
#[derive(Clone, Debug)]
pub enum ServerInput<'a> {
    /// A datagram came.
    Datagram {
        /// Who sent it.
        from: SocketAddr,
        /// What is in it.
        bytes: &'a [u8],
    },
    /// One more rigid body, while it streams.
    AddBody,
}

/// What a server wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerOutput {
    /// To this client.
    Send(SocketAddr, Vec<u8>),
    /// To the multicast group.
    Multicast(Vec<u8>),
    /// For the log.
    Note(String),
}

/// A synthetic server. [`Engine`] says how it is driven.
#[derive(Debug)]
pub struct Server {
    scene: Scene,
    number: i32,
    next: Option<Duration>,
    clients: BTreeMap<SocketAddr, (Duration, Version)>,
    held: Option<Frame>,
    changed: bool,
    take: String,
    recording: bool,
    outputs: VecDeque<ServerOutput>,
}

impl Server {
    /// A server that begins to capture when it is woken.
    pub fn new(scene: Scene) -> Self {
        Self {
            scene,
            number: 0,
            next: None,
            clients: BTreeMap::new(),
            held: None,
            changed: false,
            take: String::new(),
            recording: false,
            outputs: VecDeque::new(),
        }
    }

    /// The take that is being recorded.
    pub fn recording(&self) -> Option<&str> {
        self.recording.then_some(self.take.as_str())
    }

    /// What is captured.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    fn message(&mut self, message: Message, from: SocketAddr, now: Now) {
        let natnet = self.scene.info.natnet;
        let version = self.clients.get(&from).map_or(natnet, |client| client.1);
        let answer = match message {
            Message::Connect(_) => {
                if self.clients.len() < MOST_CLIENTS {
                    self.clients.insert(from, (now.mono, natnet));
                }
                Message::ServerInfo(self.scene.info.clone())
            }
            Message::Discovery(_) => Message::ServerInfo(self.scene.info.clone()),
            Message::RequestModel(_) => self.scene.model(),
            Message::RequestFrame => Message::Frame(Box::new(self.capture(self.number, now))),
            Message::EchoRequest { sent } => {
                Message::EchoResponse { sent, received: self.scene.ticks(now.mono) }
            }
            Message::Request(command) => self.command(&command, from),
            Message::Disconnect => {
                self.clients.remove(&from);
                return;
            }
            Message::KeepAlive => return,
            _ => Message::Unrecognized,
        };
        if let Some(client) = self.clients.get_mut(&from) {
            client.0 = now.mono;
        }
        self.outputs.push_back(ServerOutput::Send(from, answer.encode(version)));
    }

    fn command(&mut self, command: &str, from: SocketAddr) -> Message {
        if self.scene.refuse.iter().any(|refused| command.starts_with(refused.as_str())) {
            return Message::Response(Reply::Code(1));
        }
        let (verb, rest) = command.split_once(',').unwrap_or((command, ""));
        match verb {
            "SetRecordTakeName" => rest.clone_into(&mut self.take),
            "StartRecording" => {
                self.recording = true;
                self.outputs.push_back(ServerOutput::Note(format!("records take {:?}", self.take)));
            }
            "StopRecording" => {
                self.recording = false;
                self.outputs.push_back(ServerOutput::Note(format!("ends take {:?}", self.take)));
            }
            "Bitstream" => {
                let mut parts = rest.split('.').map(|part| part.parse().unwrap_or(0));
                let version = Version::new(parts.next().unwrap_or(0), parts.next().unwrap_or(0));
                match self.clients.get_mut(&from) {
                    Some(client) if version.is_known() => client.1 = version,
                    _ => return Message::Response(Reply::Code(1)),
                }
            }
            "LiveMode" => {}
            _ => return Message::Unrecognized,
        }
        Message::Response(Reply::Code(0))
    }

    fn capture(&self, number: i32, now: Now) -> Frame {
        let ticks = |back| self.scene.ticks(now.mono.saturating_sub(back));
        Frame {
            exposed: ticks(self.scene.latency),
            received: ticks(self.scene.latency / 2),
            sent: ticks(Duration::ZERO),
            flags: u16::from(self.recording) | u16::from(self.changed) << 1,
            ..self.scene.frame(number)
        }
    }

    fn stream(&mut self, now: Now) {
        self.number = self.number.wrapping_add(1);
        let frame = self.capture(self.number, now);
        self.changed = false;
        let nth = |every: u32| every > 0 && self.number.unsigned_abs().is_multiple_of(every);
        if nth(self.scene.lose_every) {
            return;
        }
        if nth(self.scene.swap_every) {
            self.held = Some(frame);
            return;
        }
        let held = self.held.take();
        for frame in [Some(frame), held].into_iter().flatten() {
            self.send(&Message::Frame(Box::new(frame)));
        }
    }

    fn send(&mut self, frame: &Message) {
        match self.scene.info.stream {
            crate::Stream::Unicast => {
                for (client, (_, version)) in &self.clients {
                    self.outputs.push_back(ServerOutput::Send(*client, frame.encode(*version)));
                }
            }
            crate::Stream::Multicast(..) => {
                self.outputs.push_back(ServerOutput::Multicast(frame.encode(self.scene.info.natnet)));
            }
        }
    }
}

impl Engine for Server {
    type Input<'a> = ServerInput<'a>;
    type Output = ServerOutput;

    fn handle(&mut self, input: ServerInput<'_>, now: Now) {
        match input {
            ServerInput::Datagram { from, bytes } => {
                if let Some(client) = self.clients.get_mut(&from) {
                    client.0 = now.mono;
                }
                if let Ok(message) = Message::decode(bytes, self.scene.info.natnet) {
                    self.message(message, from, now);
                }
            }
            ServerInput::AddBody => {
                self.scene.bodies += 1;
                self.changed = true;
            }
        }
    }

    fn wake(&mut self, now: Now) {
        let due = self.next.get_or_insert(now.mono);
        if *due > now.mono {
            return;
        }
        let period = Duration::from_secs_f64(1.0 / self.scene.rate.clamp(0.1, 10_000.0));
        // Whoever was held up catches up, within reason.
        *due = (*due + period).max(now.mono.saturating_sub(period * 20));
        self.clients.retain(|_, (heard, _)| now.mono.saturating_sub(*heard) < FORGET);
        if !self.scene.silent {
            self.stream(now);
        }
    }

    fn poll_output(&mut self) -> Option<ServerOutput> {
        self.outputs.pop_front()
    }

    fn next_deadline(&self) -> Option<Duration> {
        Some(self.next.unwrap_or_default())
    }
}
