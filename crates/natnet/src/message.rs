//! One datagram.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddrV4},
};

use crate::{
    Frame,
    bytes::{Malformed, Reader, Result, Writer, until_zero},
    model::Description,
};

/// A version of NatNet, or of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 4 of 4.1.
    pub major: u8,
    /// 1 of 4.1.
    pub minor: u8,
    /// Of programs, mostly.
    pub build: u8,
    /// Of programs, mostly.
    pub revision: u8,
}

impl Version {
    /// The oldest that is read here.
    pub const V3_0: Self = Self::new(3, 0);
    /// From here on sections carry their sizes.
    pub const V4_1: Self = Self::new(4, 1);
    /// The last one whose layout is known here.
    pub const NEWEST: Self = Self::new(4, 2);

    /// Without build and revision.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor, build: 0, revision: 0 }
    }

    /// Whether packets of this version can be read at all.
    pub fn is_supported(self) -> bool {
        matches!(self.major, 3 | 4)
    }

    /// Whether its layout is known, or taken to be that of [`NEWEST`](Self::NEWEST).
    pub fn is_known(self) -> bool {
        self.is_supported() && (self.major, self.minor) <= (Self::NEWEST.major, Self::NEWEST.minor)
    }

    /// Sections of frames and descriptions with their sizes; assets; precise time.
    pub(crate) fn has_sizes(self) -> bool {
        (self.major, self.minor) >= (4, 1)
    }

    pub(crate) fn has_rotations(self) -> bool {
        (self.major, self.minor) >= (4, 2)
    }

    fn read(reader: &mut Reader<'_>, what: &'static str) -> Result<Self> {
        let [major, minor, build, revision] = reader.array(what)?;
        Ok(Self { major, minor, build, revision })
    }

    fn write(self, writer: &mut Writer) {
        writer.put([self.major, self.minor, self.build, self.revision]);
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        match (self.build, self.revision) {
            (0, 0) => Ok(()),
            (build, 0) => write!(f, ".{build}"),
            (build, revision) => write!(f, ".{build}.{revision}"),
        }
    }
}

/// How a client introduces itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// Of the program.
    pub name: String,
    /// Its version.
    pub program: Version,
    /// The newest version of the packets that it reads.
    pub natnet: Version,
}

/// How a server introduces itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// Of the program: Motive.
    pub name: String,
    /// Its version.
    pub program: Version,
    /// The version of the packets that follow.
    pub natnet: Version,
    /// Ticks per second of its clock.
    pub frequency: u64,
    /// Where its frames go.
    pub stream: Stream,
}

/// Where frames go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stream {
    /// To everybody who connects, where he connects from.
    #[default]
    Unicast,
    /// To whoever joins the group.
    Multicast(Ipv4Addr, u16),
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unicast => f.write_str("unicast"),
            Self::Multicast(group, port) => write!(f, "multicast to {}", SocketAddrV4::new(*group, *port)),
        }
    }
}

/// What a server answers a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// 0 where it was obeyed.
    Code(i32),
    /// In words.
    Text(String),
}

/// One datagram.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A client greets.
    Connect(Option<Hello>),
    /// A server's answer to that.
    ServerInfo(ServerInfo),
    /// A command, in words.
    Request(String),
    /// A server's answer to a command.
    Response(Reply),
    /// With the kinds that are wanted, one bit each, where the client says so.
    RequestModel(Option<u32>),
    /// What there is to be captured.
    Model(Vec<Description>),
    /// One frame is wanted.
    RequestFrame,
    /// What was captured.
    Frame(Box<Frame>),
    /// Something for whoever reads it.
    Text(String),
    /// A client leaves.
    Disconnect,
    /// A client is still there.
    KeepAlive,
    /// A client asks for the server's time.
    EchoRequest {
        /// The client's time, in units of its own.
        sent: u64,
    },
    /// A server's answer to that.
    EchoResponse {
        /// As it was in the request.
        sent: u64,
        /// Ticks of the server's clock.
        received: u64,
    },
    /// A client looks for servers.
    Discovery(Option<Hello>),
    /// The server does not know the request.
    Unrecognized,
    /// Of a kind that is not known here.
    Other(u16),
}

impl Message {
    /// Reads a datagram; frames and descriptions as they are in `version`.
    ///
    /// # Errors
    /// With the field that does not fit.
    pub fn decode(datagram: &[u8], version: Version) -> std::result::Result<Self, Malformed> {
        let mut reader = Reader::new(datagram);
        let kind = reader.u16("kind of the message")?;
        // Servers differ in whether it is right; the datagram's own length is.
        reader.u16("length of the message")?;
        let r = &mut reader;
        Ok(match kind {
            0 => Self::Connect(Hello::read(r)?),
            1 => Self::ServerInfo(ServerInfo::read(r)?),
            2 => Self::Request(until_zero(r.rest())),
            3 if r.rest().len() == 4 => Self::Response(Reply::Code(r.i32("response")?)),
            3 => Self::Response(Reply::Text(until_zero(r.rest()))),
            4 => Self::RequestModel(r.u32("kinds").ok()),
            5 => Self::Model(Description::read_all(r, version)?),
            6 => Self::RequestFrame,
            7 => Self::Frame(Box::new(Frame::read(r, version)?)),
            8 => Self::Text(until_zero(r.rest())),
            9 => Self::Disconnect,
            10 => Self::KeepAlive,
            12 => Self::EchoRequest { sent: r.u64("time of the client")? },
            13 => Self::EchoResponse { sent: r.u64("time of the client")?, received: r.u64("ticks")? },
            14 => Self::Discovery(Hello::read(r)?),
            100 => Self::Unrecognized,
            other => Self::Other(other),
        })
    }

    /// Writes a datagram. Text is cut where the protocol cannot carry more.
    pub fn encode(&self, version: Version) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u16(self.kind());
        writer.u16(0);
        let w = &mut writer;
        match self {
            Self::Connect(hello) | Self::Discovery(hello) => {
                if let Some(Hello { name, program, natnet }) = hello {
                    w.name(name);
                    program.write(w);
                    natnet.write(w);
                }
            }
            Self::ServerInfo(info) => info.write(w),
            Self::Request(text) | Self::Response(Reply::Text(text)) | Self::Text(text) => {
                w.0.extend(text.bytes().filter(|byte| *byte != 0).take(usize::from(u16::MAX) / 2));
                w.put([0]);
            }
            Self::Response(Reply::Code(code)) => w.i32(*code),
            Self::RequestModel(kinds) => kinds.iter().for_each(|kinds| w.u32(*kinds)),
            Self::Model(descriptions) => Description::write_all(descriptions, w, version),
            Self::Frame(frame) => frame.write(w, version),
            Self::EchoRequest { sent } => w.u64(*sent),
            Self::EchoResponse { sent, received } => {
                w.u64(*sent);
                w.u64(*received);
            }
            Self::RequestFrame | Self::Disconnect | Self::KeepAlive | Self::Unrecognized | Self::Other(_) => {
            }
        }
        let length = u16::try_from(writer.0.len() - 4).unwrap_or(u16::MAX);
        writer.0[2..4].copy_from_slice(&length.to_le_bytes());
        writer.0
    }

    fn kind(&self) -> u16 {
        match self {
            Self::Connect(_) => 0,
            Self::ServerInfo(_) => 1,
            Self::Request(_) => 2,
            Self::Response(_) => 3,
            Self::RequestModel(_) => 4,
            Self::Model(_) => 5,
            Self::RequestFrame => 6,
            Self::Frame(_) => 7,
            Self::Text(_) => 8,
            Self::Disconnect => 9,
            Self::KeepAlive => 10,
            Self::EchoRequest { .. } => 12,
            Self::EchoResponse { .. } => 13,
            Self::Discovery(_) => 14,
            Self::Unrecognized => 100,
            Self::Other(kind) => *kind,
        }
    }
}

impl Hello {
    /// `None` for the short greetings that many clients send.
    fn read(reader: &mut Reader<'_>) -> Result<Option<Self>> {
        if reader.rest().len() < 264 {
            return Ok(None);
        }
        let name = until_zero(reader.bytes(crate::bytes::NAME, "name")?);
        let program = Version::read(reader, "version of the program")?;
        Ok(Some(Self { name, program, natnet: Version::read(reader, "version of NatNet")? }))
    }
}

impl ServerInfo {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        // Motive leaves what was there before behind the zero.
        let name = until_zero(reader.bytes(crate::bytes::NAME, "name")?);
        let program = Version::read(reader, "version of the program")?;
        let natnet = Version::read(reader, "version of NatNet")?;
        if natnet.major < 3 {
            return Ok(Self { name, program, natnet, ..Self::default() });
        }
        let frequency = reader.u64("frequency of the clock")?;
        let port = reader.u16("port of the data")?;
        let multicast = reader.u8("kind of the stream")? != 0;
        let group = Ipv4Addr::from(reader.array::<4>("multicast group")?);
        let stream = if multicast { Stream::Multicast(group, port) } else { Stream::Unicast };
        Ok(Self { name, program, natnet, frequency, stream })
    }

    fn write(&self, writer: &mut Writer) {
        writer.name(&self.name);
        self.program.write(writer);
        self.natnet.write(writer);
        let (group, port, multicast) = match self.stream {
            Stream::Unicast => (Ipv4Addr::UNSPECIFIED, 1511, 0),
            Stream::Multicast(group, port) => (group, port, 1),
        };
        writer.u64(self.frequency);
        writer.u16(port);
        writer.put([multicast]);
        writer.put(group.octets());
    }
}
