//! The client: everything between datagrams and frames with the time of their capture.

use std::{
    collections::VecDeque,
    fmt,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use rosless_engine::{Engine, Now, Wall};

use crate::{
    Body, Clock, Counts, Description, Frame, Hello, Message, Model, Relation, Reply, ServerInfo, Stream,
    Version, sequence::Sequence,
};

/// Nothing for so long is silence. It must be noticed within a second.
const SILENCE: Duration = Duration::from_millis(600);
/// How often a server that does not stream to us is greeted.
const GREETING: Duration = Duration::from_millis(500);
const ECHO: Duration = Duration::from_millis(250);
/// The first echoes come quickly, so that frames have the right time soon.
const FIRST_ECHO: Duration = Duration::from_millis(20);
const FIRST_ECHOES: u32 = 10;
/// Servers forget unicast clients that say nothing.
const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// Descriptions are not asked for more often, however often frames say that they changed.
const DESCRIBING: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_millis(500);
const TRIES: u8 = 3;
/// Echoes whose answer may still come.
const OUTSTANDING: usize = 16;
/// A capture is not older when its frame comes; a time that says so is not related to ours.
const OLDEST: i64 = 5_000_000_000;
/// What kinds of descriptions are asked for: some servers want none named, others say nothing unless they are.
const WANTED: [Option<u32>; 3] = [None, Some(0x1f), Some(0x03)];

/// Whom to connect to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where Motive runs.
    pub server: Ipv4Addr,
    /// What the client calls itself.
    pub name: String,
}

/// What happens to a client.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// A datagram came.
    Datagram {
        /// Who sent it.
        from: IpAddr,
        /// What is in it.
        bytes: &'a [u8],
        /// Whether it came where commands are answered; frames of a multicast stream come elsewhere.
        over_commands: bool,
    },
    /// Something could not be sent, and why.
    Unsent(String),
    /// A take is to begin or to end.
    Take(Take),
    /// One frame is wanted over the way that commands take: it comes also where multicast does not.
    AskForFrame,
}

/// What is wanted of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// With the name of the take.
    Start(String),
    /// The one that runs.
    Stop,
}

/// What a client wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// To the server's command port.
    Send(Vec<u8>),
    /// Frames come from there now.
    Listen(Stream),
    /// A frame, and when it was captured by our wall clock.
    Frame(Box<Frame>, Wall),
    /// The descriptions are there, or others than before.
    Described(Vec<Description>),
    /// How it stands with the server has changed.
    Link(Link),
    /// What became of the last [`Take`]: its name, or the reason why not.
    Taken(Result<String, String>),
    /// For the log.
    Warn(String),
}

/// How it stands with the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// It never answered.
    #[default]
    Searching,
    /// It answers, and speaks a version that is not spoken here.
    Unsupported(Version),
    /// It answers; the first frame is awaited.
    Connected,
    /// It answers, and frames come.
    Streaming,
    /// It answers, and sends no frames.
    Quiet,
    /// It answered once, and does no more.
    Lost,
}

impl Link {
    /// Whether frames come.
    pub fn is_streaming(self) -> bool {
        self == Self::Streaming
    }

    fn answers(self) -> bool {
        matches!(self, Self::Connected | Self::Streaming | Self::Quiet)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Searching => f.write_str("no answer yet: is Motive running, is streaming enabled, is the address right?"),
            Self::Unsupported(version) => {
                write!(f, "the server speaks NatNet {version}: only 3.x and 4.x can be read")
            }
            Self::Connected => f.write_str("connected, no frame yet"),
            Self::Streaming => f.write_str("streaming"),
            Self::Quiet => f.write_str("the server answers and sends no frames: streaming disabled, capture paused, or frames blocked on the way"),
            Self::Lost => f.write_str("the server does not answer any more: Motive closed, or a cable pulled"),
        }
    }
}

/// What there is to tell.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// How it stands with the server.
    pub link: Link,
    /// How the server introduced itself.
    pub server: Option<ServerInfo>,
    /// What came, and what did not.
    pub counts: Counts,
    /// Datagrams of the server that could not be read.
    pub malformed: u64,
    /// What was wrong with the last of them.
    pub last_malformed: Option<crate::Malformed>,
    /// Datagrams that others sent.
    pub foreign: u64,
    /// Who sent the last frame among them.
    pub foreign_frames: Option<IpAddr>,
    /// Frames whose capture could not be dated; they have the time of their arrival.
    pub undated: u64,
    /// How the server's clock is related to ours, once that is known.
    pub clock: Option<Relation>,
    /// Nanoseconds to add to the server's clock for ours, wall time.
    pub offset: Option<i64>,
    /// Nanoseconds from the last capture to its arrival here.
    pub latency: Option<i64>,
    /// Frames say that the server records.
    pub recording: bool,
    /// Frames are those of a recording that is played or edited.
    pub editing: bool,
    /// A frame came over the way that commands take.
    pub frame_on_request: bool,
    /// Why the last datagram could not be sent.
    pub unsent: Option<String>,
}

/// A command and what becomes of it.
#[derive(Clone, Debug)]
struct Order {
    text: String,
    tries: u8,
    due: Duration,
    /// What frames say of the recording when it was obeyed.
    recording: Option<bool>,
    /// A take fails or succeeds with it.
    take: bool,
}

/// A client of one server. [`Engine`] says how it is driven.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    status: Status,
    sequence: Sequence,
    clock: Clock,
    model: Model,
    outputs: VecDeque<Output>,
    started: bool,
    greet: Duration,
    echo: Duration,
    keep_alive: Duration,
    describe: Option<Duration>,
    /// When descriptions last came.
    described: Option<Duration>,
    /// How often descriptions were asked for since they last came.
    asked: usize,
    heard: Duration,
    framed: Duration,
    echoes: VecDeque<Duration>,
    echoed: u32,
    orders: VecDeque<Order>,
    take: Option<String>,
    /// Answers to commands that were repeated may still come: so many, until then.
    stale: (u8, Duration),
}

impl Client {
    /// A client that greets the server as soon as it is woken.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            status: Status::default(),
            sequence: Sequence::default(),
            clock: Clock::default(),
            model: Model::default(),
            outputs: VecDeque::new(),
            started: false,
            greet: Duration::ZERO,
            echo: Duration::ZERO,
            keep_alive: Duration::ZERO,
            describe: None,
            described: None,
            asked: 0,
            heard: Duration::ZERO,
            framed: Duration::ZERO,
            echoes: VecDeque::new(),
            echoed: 0,
            orders: VecDeque::new(),
            take: None,
            stale: (0, Duration::ZERO),
        }
    }

    /// The names of what is in frames.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What there is to tell.
    pub fn status(&self, now: Now) -> Status {
        let clock = self.clock.relation();
        let offset = clock.map(|relation| self.wall(relation.local(0).0, now).0);
        Status { counts: self.sequence.counts, clock, offset, ..self.status.clone() }
    }

    /// How it stands with the server.
    pub fn link(&self) -> Link {
        self.status.link
    }

    fn version(&self) -> Version {
        self.status.server.as_ref().map_or(Version::NEWEST, |server| server.natnet.min(Version::NEWEST))
    }

    fn send(&mut self, message: &Message) {
        self.outputs.push_back(Output::Send(message.encode(Version::NEWEST)));
    }

    fn turn(&mut self, link: Link) {
        if self.status.link != link {
            self.status.link = link;
            self.outputs.push_back(Output::Link(link));
        }
    }

    /// A time of our monotonic clock on the wall.
    fn wall(&self, local: i64, now: Now) -> Wall {
        let mono = i64::try_from(now.mono.as_nanos()).unwrap_or(i64::MAX);
        Wall(now.wall.0.saturating_sub(mono.saturating_sub(local)))
    }

    fn server_nanos(&self, ticks: u64) -> Option<i64> {
        let frequency = self.status.server.as_ref()?.frequency;
        let nanos = (u128::from(ticks) * 1_000_000_000).checked_div(frequency.into())?;
        i64::try_from(nanos).ok()
    }

    fn message(&mut self, message: Message, over_commands: bool, now: Now) {
        self.heard = now.mono;
        match message {
            Message::ServerInfo(info) => self.introduced(info, now),
            // Without an introduction nobody knows how to read them.
            Message::Frame(_) | Message::Model(_) if !self.is_readable() => {}
            Message::Frame(_) if over_commands && !self.is_unicast() => self.status.frame_on_request = true,
            Message::Frame(frame) => self.frame(frame, now),
            Message::Model(descriptions) => {
                self.model = Model::new(&descriptions);
                (self.described, self.asked, self.describe) = (Some(now.mono), 0, None);
                self.outputs.push_back(Output::Described(descriptions));
            }
            Message::EchoResponse { sent, received } => self.echoed(sent, received, now),
            Message::Response(Reply::Code(0)) => self.answered(Ok(()), now),
            Message::Response(Reply::Code(code)) => {
                self.answered(Err(format!("the server refuses it (code {code})")), now);
            }
            Message::Response(Reply::Text(text)) => {
                self.answered(Err(format!("the server says {:?}", shorten(&text))), now);
            }
            Message::Unrecognized => {
                self.answered(Err("the server does not know this command".to_owned()), now)
            }
            Message::Text(text) => {
                self.outputs.push_back(Output::Warn(format!("the server says {:?}", shorten(&text))));
            }
            _ => {}
        }
    }

    fn introduced(&mut self, info: ServerInfo, now: Now) {
        if !info.natnet.is_supported() {
            let version = info.natnet;
            self.status.server = Some(info);
            return self.turn(Link::Unsupported(version));
        }
        let new = self.status.server.as_ref() != Some(&info);
        if new {
            if self.status.server.as_ref().is_some_and(|before| before.frequency != info.frequency) {
                (self.clock, self.echoed) = (Clock::default(), 0);
            }
            if !info.natnet.is_known() && info.stream == Stream::Unicast {
                // It can be asked to speak as we know it; if it does not, we read what we can.
                let newest = Version::NEWEST;
                self.order(format!("Bitstream,{}.{}", newest.major, newest.minor), None, false);
                self.next_order(now);
            }
        }
        // Also where it was elsewhere in between: interfaces and switches forget who listens.
        if new || !self.status.link.answers() {
            self.outputs.push_back(Output::Listen(info.stream));
        }
        self.status.server = Some(info);
        if !self.status.link.answers() {
            self.framed = now.mono;
            self.turn(Link::Connected);
        }
        if new || self.described.is_none() {
            self.describe = self.describe.or(Some(now.mono));
        }
    }

    fn frame(&mut self, frame: Box<Frame>, now: Now) {
        if !self.sequence.arrive(frame.number) {
            return;
        }
        self.framed = now.mono;
        self.turn(Link::Streaming);
        (self.status.recording, self.status.editing) = (frame.is_recording(), frame.is_editing());
        // The frame that says so may be lost; a body without a description says it, too.
        let strange = |body: &Body| !self.model.knows(body.id);
        if self.describe.is_none() && (frame.models_changed() || frame.rigid_bodies.iter().any(strange)) {
            self.describe = Some(self.described.map_or(now.mono, |last| now.mono.max(last + DESCRIBING)));
        }
        let stamp = self.captured(&frame, now);
        self.outputs.push_back(Output::Frame(frame, stamp));
    }

    /// When a frame was captured; without a related clock, when it came.
    fn captured(&mut self, frame: &Frame, now: Now) -> Wall {
        let ticks = [frame.exposed, frame.received, frame.sent].into_iter().find(|ticks| *ticks != 0);
        let dated = self.clock.relation().zip(ticks.and_then(|ticks| self.server_nanos(ticks)));
        let dated = dated.and_then(|(relation, server)| {
            let (local, uncertainty) = relation.local(server);
            let age = i64::try_from(now.mono.as_nanos()).ok()?.saturating_sub(local);
            (-uncertainty.saturating_add(1_000_000)..OLDEST).contains(&age).then_some((local, age))
        });
        match dated {
            Some((local, age)) => {
                self.status.latency = Some(age);
                self.wall(local, now)
            }
            None => {
                self.status.undated += 1;
                now.wall
            }
        }
    }

    fn echoed(&mut self, sent: u64, received: u64, now: Now) {
        let Some(at) = self.echoes.iter().position(|echo| echo.as_nanos() == u128::from(sent)) else {
            return;
        };
        let sent = self.echoes.remove(at).unwrap_or_default();
        let Some(server) = self.server_nanos(received) else { return };
        self.echoed += 1;
        if self.clock.echo(sent, now.mono, server) {
            self.sequence.restart();
            self.describe = Some(now.mono);
            self.outputs
                .push_back(Output::Warn("the server's clock began anew: it was restarted".to_owned()));
        }
    }

    fn order(&mut self, text: String, recording: Option<bool>, take: bool) {
        self.orders.push_back(Order { text, tries: 0, due: Duration::ZERO, recording, take });
    }

    /// Sends the first order if it was not sent yet.
    fn next_order(&mut self, now: Now) {
        if let Some(order) = self.orders.front_mut().filter(|order| order.tries == 0) {
            (order.tries, order.due) = (1, now.mono + PATIENCE);
            let request = Message::Request(order.text.clone());
            self.send(&request);
        }
    }

    fn answered(&mut self, result: Result<(), String>, now: Now) {
        if self.stale.0 > 0 && now.mono < self.stale.1 {
            self.stale.0 -= 1;
            return;
        }
        let Some(order) = self.orders.pop_front() else { return };
        // Answers have no number. Of the repetitions each has one, and they must not count for the next order.
        self.stale = (order.tries.saturating_sub(1), now.mono + PATIENCE);
        // A repetition is refused where the first was obeyed and its answer lost; frames know better.
        let obeyed = order.tries > 1 && order.recording == Some(self.status.recording);
        match result {
            Err(reason) if !obeyed => self.failed(&order, &reason),
            _ if order.take && !self.orders.iter().any(|order| order.take) => {
                let name = self.take.take().unwrap_or_default();
                self.outputs.push_back(Output::Taken(Ok(name)));
            }
            _ => {}
        }
        self.next_order(now);
    }

    fn failed(&mut self, order: &Order, reason: &str) {
        let Order { text, .. } = order;
        if !order.take {
            return self.outputs.push_back(Output::Warn(format!("{text}: {reason}")));
        }
        self.orders.retain(|order| !order.take);
        self.take = None;
        let hint = match &self.status {
            Status { editing: true, .. } => "; Motive is in edit mode and records in live mode only",
            // Whose take it is nobody knows: it was obeyed and the answer lost, or somebody else has begun one.
            Status { recording: true, .. } => "; frames say that Motive is recording",
            _ => "",
        };
        self.outputs.push_back(Output::Taken(Err(format!("{text}: {reason}{hint}"))));
    }

    fn begin(&mut self, take: Take, now: Now) {
        let refuse = |why: &str| Output::Taken(Err(why.to_owned()));
        if self.orders.iter().any(|order| order.take) {
            return self.outputs.push_back(refuse("another take is being started or stopped"));
        }
        if !self.status.link.answers() {
            let text = format!("no take without a server: {}", self.status.link);
            return self.outputs.push_back(refuse(&text));
        }
        match take {
            Take::Start(session) => {
                let name = take_name(&session);
                self.order(format!("SetRecordTakeName,{name}"), None, true);
                self.order("StartRecording".to_owned(), Some(true), true);
                self.take = Some(name);
            }
            Take::Stop => self.order("StopRecording".to_owned(), Some(false), true),
        }
        self.next_order(now);
    }

    fn greet(&mut self, now: Now) {
        let own = |text: &str| text.parse().unwrap_or(0);
        let program =
            Version::new(own(env!("CARGO_PKG_VERSION_MAJOR")), own(env!("CARGO_PKG_VERSION_MINOR")));
        let hello = Hello { name: self.settings.name.clone(), program, natnet: Version::NEWEST };
        self.send(&Message::Connect(Some(hello)));
        self.greet = now.mono + GREETING;
    }

    fn is_readable(&self) -> bool {
        self.status.server.as_ref().is_some_and(|server| server.natnet.is_supported())
    }

    fn is_unicast(&self) -> bool {
        self.status.server.as_ref().is_some_and(|server| server.stream == Stream::Unicast)
    }

    fn is_greeting(&self) -> bool {
        !self.status.link.is_streaming()
    }
}

/// The session's name as that of a file on Windows, and as a part of a command: without what either would take for more.
fn take_name(session: &str) -> String {
    let replace = |c: char| if c.is_control() || r#"<>:"/\|?*,"#.contains(c) { '_' } else { c };
    let name: String = session.chars().map(replace).take(100).collect();
    let name = name.trim().trim_end_matches('.');
    if name.is_empty() { "take".to_owned() } else { name.to_owned() }
}

fn shorten(text: &str) -> String {
    text.chars().take(200).collect()
}

impl Engine for Client {
    type Input<'a> = Input<'a>;
    type Output = Output;

    fn handle(&mut self, input: Input<'_>, now: Now) {
        match input {
            Input::Datagram { from, bytes, .. } if from != IpAddr::V4(self.settings.server) => {
                self.status.foreign += 1;
                if let Some([7, 0]) = bytes.first_chunk() {
                    self.status.foreign_frames = Some(from);
                }
            }
            Input::Datagram { bytes, over_commands, .. } => match Message::decode(bytes, self.version()) {
                Ok(message) => {
                    self.status.unsent = None;
                    self.message(message, over_commands, now);
                }
                Err(malformed) => {
                    self.status.malformed += 1;
                    self.status.last_malformed = Some(malformed);
                }
            },
            Input::Unsent(why) => self.status.unsent = Some(why),
            Input::Take(take) => self.begin(take, now),
            Input::AskForFrame => self.send(&Message::RequestFrame),
        }
        self.wake(now);
    }

    fn wake(&mut self, now: Now) {
        let time = now.mono;
        if !self.started {
            self.started = true;
            (self.greet, self.heard, self.framed) = (time, time, time);
        }
        let silent = |since: Duration| time.saturating_sub(since) >= SILENCE;
        if self.status.link.answers() && silent(self.framed) {
            self.turn(if silent(self.heard) { Link::Lost } else { Link::Quiet });
        }
        if self.is_greeting() && self.greet <= time {
            self.greet(now);
        }
        if !self.is_readable() {
            return;
        }
        if self.echo <= time {
            self.echo = time + if self.echoed < FIRST_ECHOES { FIRST_ECHO } else { ECHO };
            if self.echoes.len() == OUTSTANDING {
                self.echoes.pop_front();
            }
            self.echoes.push_back(time);
            self.send(&Message::EchoRequest { sent: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) });
        }
        if self.is_unicast() && self.keep_alive <= time {
            self.keep_alive = time + KEEP_ALIVE;
            self.send(&Message::KeepAlive);
        }
        if self.describe.is_some_and(|due| due <= time) {
            self.send(&Message::RequestModel(WANTED[self.asked % WANTED.len()]));
            self.asked += 1;
            self.describe = Some(time + PATIENCE);
        }
        if let Some(order) = self.orders.front_mut().filter(|order| order.tries > 0 && order.due <= time) {
            if order.tries < TRIES {
                order.tries += 1;
                order.due = time + PATIENCE;
                let request = Message::Request(order.text.clone());
                self.send(&request);
            } else if let Some(order) = self.orders.pop_front() {
                let waited = PATIENCE * u32::from(TRIES);
                self.stale = (TRIES, time + PATIENCE);
                self.failed(&order, &format!("no answer within {:.1} s", waited.as_secs_f64()));
                self.next_order(now);
            }
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn next_deadline(&self) -> Option<Duration> {
        if !self.started {
            return Some(Duration::ZERO);
        }
        let answering = self.is_readable();
        let silence = match self.status.link {
            Link::Connected | Link::Streaming => Some(self.framed + SILENCE),
            Link::Quiet => Some(self.heard + SILENCE),
            _ => None,
        };
        let order = self.orders.front().map(|order| order.due);
        [
            silence,
            self.is_greeting().then_some(self.greet),
            answering.then_some(self.echo),
            (answering && self.is_unicast()).then_some(self.keep_alive),
            self.describe.filter(|_| answering),
            order,
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
