//! The sockets of a NatNet client on the event loop.

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, ToSocketAddrs as _, UdpSocket},
    rc::Rc,
};

use rosless_cli::{Failure, Result};
use rosless_engine::Engine as _;
use rosless_graph::{Handle, now};
use rosless_natnet::{Client, Input, Message, Output, Settings, Stream, Version};
use socket2::{Domain, Protocol, Socket, Type};

const COMMAND_PORT: u16 = 1510;
/// Frames of a moment in which we do not run.
const RECEIVE_BUFFER: usize = 1 << 21;
/// Whoever floods us gets no more at once; what is left comes with the next datagram.
const BATCH: usize = 256;

/// A client and its sockets.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) client: Client,
    pub(crate) server: SocketAddrV4,
    interface: Option<Ipv4Addr>,
    commands: Rc<UdpSocket>,
    data: Option<(Rc<UdpSocket>, Ipv4Addr, Ipv4Addr)>,
}

impl Wire {
    /// # Errors
    /// When the server has no address, or this machine no socket.
    pub(crate) fn open(server: &str, interface: Option<Ipv4Addr>, name: &str) -> Result<Self> {
        let server = resolve(server)?;
        let local = SocketAddrV4::new(interface.unwrap_or(Ipv4Addr::UNSPECIFIED), 0);
        let commands = bind(local, false)
            .map_err(|error| Failure::new(format!("cannot open a socket on {}: {error}", local.ip())))?;
        let settings = Settings { server: *server.ip(), name: name.to_owned() };
        Ok(Self { client: Client::new(settings), server, interface, commands: Rc::new(commands), data: None })
    }

    /// Puts the client on the event loop: `wire` says where it is, `act` does what is not a socket's business.
    pub(crate) fn attach<S: 'static>(
        &self,
        handle: &Handle<S>,
        wire: impl Fn(&mut S) -> Option<&mut Self> + Copy + 'static,
        mut act: impl FnMut(&mut S, Output) + 'static,
    ) -> Result<()> {
        watch(handle, &self.commands, true, wire)?;
        let loop_ = handle.clone();
        handle.drive::<Client>(
            move |app, with| {
                if let Some(wire) = wire(app) {
                    with(&mut wire.client);
                }
            },
            move |app, output| match output {
                Output::Send(datagram) => {
                    if let Some(wire) = wire(app) {
                        wire.send(&datagram);
                    }
                }
                Output::Listen(stream) => {
                    let Some(own) = wire(app) else { return };
                    let opened = own.listen(stream).map_err(|error| Failure::new(error.to_string()));
                    let watched = opened.and_then(|socket| match socket {
                        Some(socket) => watch(&loop_, &socket, false, wire),
                        None => Ok(()),
                    });
                    if let Err(error) = watched {
                        own.unsent(format!("cannot listen to {stream}: {error}"));
                    }
                }
                output => act(app, output),
            },
        );
        Ok(())
    }

    fn unsent(&mut self, why: String) {
        self.client.handle(Input::Unsent(why), now());
    }

    fn send(&mut self, datagram: &[u8]) {
        if let Err(error) = self.commands.send_to(datagram, self.server)
            && error.kind() != ErrorKind::WouldBlock
        {
            self.unsent(format!("cannot send to {}: {error}", self.server));
        }
    }

    /// Says goodbye, and before that, what is given: nobody waits for answers.
    pub(crate) fn leave(&mut self, last: Option<&str>) {
        let last = last.map(|text| Message::Request(text.to_owned()));
        for message in last.into_iter().chain([Message::Disconnect]) {
            self.send(&message.encode(Version::NEWEST));
        }
    }

    /// The address of ours that the server is reached from.
    pub(crate) fn local(&self) -> io::Result<Ipv4Addr> {
        if let Some(interface) = self.interface {
            return Ok(interface);
        }
        let probe = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        probe.connect(self.server)?;
        match probe.local_addr()?.ip() {
            IpAddr::V4(local) => Ok(local),
            IpAddr::V6(_) => Ok(Ipv4Addr::UNSPECIFIED),
        }
    }

    /// A socket for the stream, unless frames come where commands are answered.
    fn listen(&mut self, stream: Stream) -> io::Result<Option<Rc<UdpSocket>>> {
        if let Some((old, group, interface)) = self.data.take()
            && let Err(error) = old.leave_multicast_v4(&group, &interface)
        {
            log::debug!("{group} was left already: {error}");
        }
        let Stream::Multicast(group, port) = stream else { return Ok(None) };
        let interface = self.local()?;
        let socket = Rc::new(bind(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port), true)?);
        socket.join_multicast_v4(&group, &interface)?;
        self.data = Some((socket.clone(), group, interface));
        Ok(Some(socket))
    }
}

/// An address or a name, with or without a port.
pub(crate) fn resolve(server: &str) -> Result<SocketAddrV4> {
    if let Ok(address) = server.parse::<SocketAddrV4>() {
        return Ok(address);
    }
    let (host, port) = match server.rsplit_once(':') {
        Some((host, port)) => {
            let port =
                port.parse().map_err(|_| Failure::usage(format!("--server {server}: no port: {port}")))?;
            (host, port)
        }
        None => (server, COMMAND_PORT),
    };
    let found = (host, port).to_socket_addrs();
    let found = found.map_err(|error| Failure::nobody(format!("--server {server}: no address: {error}")))?;
    let found = found.into_iter().find_map(|address| match address {
        SocketAddr::V4(address) => Some(address),
        SocketAddr::V6(_) => None,
    });
    found.ok_or_else(|| {
        Failure::nobody(format!("--server {server}: no IPv4 address, and NatNet has no other"))
    })
}

fn bind(local: SocketAddrV4, shared: bool) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    // Several programs of a machine may listen to one group.
    socket.set_reuse_address(shared)?;
    // The kernel gives what it may; that is no reason not to start.
    if let Err(error) = socket.set_recv_buffer_size(RECEIVE_BUFFER) {
        log::debug!("a small receive buffer: {error}");
    }
    socket.bind(&local.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn watch<S: 'static>(
    handle: &Handle<S>,
    socket: &Rc<UdpSocket>,
    over_commands: bool,
    wire: impl Fn(&mut S) -> Option<&mut Wire> + 'static,
) -> Result<()> {
    let mut buffer = vec![0; 1 << 16];
    Ok(handle.watch(socket.clone(), move |app, socket| {
        for _ in 0..BATCH {
            match socket.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    let Some(wire) = wire(app) else { return false };
                    let (from, bytes) = (from.ip(), &buffer[..length]);
                    wire.client.handle(Input::Datagram { from, bytes, over_commands }, now());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let current = |wire: &mut Wire| wire.data.as_ref().is_some_and(|(data, ..)| Rc::ptr_eq(data, socket));
        over_commands || wire(app).is_some_and(current)
    })?)
}
