//! The controller's sockets: one poll, no thread.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, Read, Write},
    net::{IpAddr, SocketAddr},
    os::fd::AsRawFd,
    time::Instant,
};

use mio::{
    Events, Interest, Poll, Token,
    net::{TcpListener, TcpStream},
    unix::SourceFd,
};
use rosless_cli::out;
use rosless_engine::Engine as _;
use rosless_ur::{
    lines::Lines,
    sim::{Controller, Input, Output, Port},
};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

const STDIN: Token = Token(0);
/// Listeners have the tokens from here on, clients those from `CLIENTS` on.
const LISTENERS: usize = 1;
const CLIENTS: usize = 16;
/// A client that does not read what it asked for is let go.
const MOST_UNSENT: usize = 1 << 20;

struct Client {
    stream: TcpStream,
    /// A connection that the program asked for is not there at once.
    connecting: bool,
    unsent: VecDeque<u8>,
}

/// The controller on its ports.
pub(crate) struct Ports {
    controller: Controller,
    bind: IpAddr,
    poll: Poll,
    start: Instant,
    listeners: Vec<(TcpListener, Port)>,
    clients: BTreeMap<u32, Client>,
    next: u32,
    typed: Lines,
}

impl Ports {
    pub(crate) fn open(
        controller: Controller,
        bind: IpAddr,
        [rtde, dashboard, script]: [u16; 3],
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let primary = script.saturating_sub(1);
        let wanted = [
            (rtde, Port::Rtde),
            (dashboard, Port::Dashboard),
            (script, Port::Script),
            (primary, Port::Script),
        ];
        let mut listeners = Vec::new();
        for (i, (number, port)) in wanted.into_iter().enumerate() {
            let address = SocketAddr::new(bind, number);
            let mut listener = TcpListener::bind(address).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
            })?;
            poll.registry().register(&mut listener, Token(LISTENERS + i), Interest::READABLE)?;
            listeners.push((listener, port));
        }
        // A file and /dev/null cannot be watched, and have nothing to say.
        let _ = poll.registry().register(&mut SourceFd(&io::stdin().as_raw_fd()), STDIN, Interest::READABLE);
        Ok(Self {
            controller,
            bind,
            poll,
            start: Instant::now(),
            listeners,
            clients: BTreeMap::new(),
            next: 0,
            typed: Lines::default(),
        })
    }

    fn tell(&mut self, input: Input<'_>) {
        let now = self.start.elapsed();
        self.controller.handle(input, now.into());
    }

    pub(crate) fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(64);
        loop {
            self.drain();
            let now = self.start.elapsed();
            let timeout = self.controller.next_deadline().map(|due| due.saturating_sub(now));
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            let ready: Vec<usize> = events.iter().map(|event| event.token().0).collect();
            for token in ready {
                match token {
                    0 => self.typed(),
                    CLIENTS.. => self.ready((token - CLIENTS) as u32),
                    listener => self.accept(listener - LISTENERS),
                }
            }
            let now = self.start.elapsed();
            if self.controller.next_deadline().is_some_and(|due| due <= now) {
                self.controller.wake(now.into());
            }
        }
    }

    fn typed(&mut self) {
        let mut bytes = [0; 1024];
        match io::stdin().read(&mut bytes) {
            Ok(0) | Err(_) => {
                let _ = self.poll.registry().deregister(&mut SourceFd(&io::stdin().as_raw_fd()));
            }
            Ok(count) => {
                self.typed.push(&bytes[..count]);
                while let Ok(Some(line)) = self.typed.next_line() {
                    match line.trim() {
                        "" => {}
                        "help" => out!("{}", crate::help()),
                        text => {
                            self.tell(Input::Said(text));
                            out!("done: {text}");
                        }
                    }
                }
            }
        }
    }

    fn accept(&mut self, index: usize) {
        loop {
            let (listener, port) = &self.listeners[index];
            let port = *port;
            match listener.accept() {
                Ok((stream, _)) => {
                    let id = self.next;
                    self.next += 1;
                    if self.add(id, stream, false).is_ok() {
                        self.tell(Input::Opened { client: id, port: Some(port) });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return out!("a client cannot be taken: {error}"),
            }
        }
    }

    fn add(&mut self, id: u32, mut stream: TcpStream, connecting: bool) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, Token(CLIENTS + id as usize), both)?;
        let _ = stream.set_nodelay(true);
        self.clients.insert(id, Client { stream, connecting, unsent: VecDeque::new() });
        Ok(())
    }

    fn ready(&mut self, id: u32) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.connecting {
            match client.stream.take_error().map(|error| error.is_none()) {
                Ok(true) if client.stream.peer_addr().is_ok() => {
                    client.connecting = false;
                    self.tell(Input::Opened { client: id, port: None });
                }
                Ok(true) => return,
                _ => return self.gone(id),
            }
        }
        if !self.flush(id) {
            return self.gone(id);
        }
        let mut bytes = [0; 16 * 1024];
        while let Some(client) = self.clients.get_mut(&id) {
            match client.stream.read(&mut bytes) {
                Ok(0) => return self.gone(id),
                Ok(count) => self.tell(Input::Received { client: id, bytes: &bytes[..count] }),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.gone(id),
            }
        }
    }

    fn gone(&mut self, id: u32) {
        self.clients.remove(&id);
        self.tell(Input::Closed { client: id });
    }

    /// False when nobody takes it.
    fn flush(&mut self, id: u32) -> bool {
        let Some(client) = self.clients.get_mut(&id).filter(|client| !client.connecting) else { return true };
        while !client.unsent.is_empty() {
            match client.stream.write(client.unsent.make_contiguous()) {
                Ok(count) => drop(client.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        client.unsent.len() < MOST_UNSENT
    }

    fn drain(&mut self) {
        while let Some(output) = self.controller.poll_output() {
            match output {
                Output::Send { client, bytes } => {
                    if let Some(known) = self.clients.get_mut(&client) {
                        known.unsent.extend(bytes);
                    }
                    if !self.flush(client) {
                        self.gone(client);
                    }
                }
                Output::Close { client } => drop(self.clients.remove(&client)),
                Output::Connect { client, host, port } => {
                    let added = self.connect(&host, port).and_then(|stream| self.add(client, stream, true));
                    if let Err(error) = added {
                        out!("the program cannot reach {host}:{port}: {error}");
                        self.tell(Input::Closed { client });
                    }
                }
                Output::Log(text) => out!("{text}"),
            }
        }
    }

    /// From the address of the controller, as a robot would.
    fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let wrong = |error| io::Error::new(io::ErrorKind::InvalidInput, format!("{error}"));
        let to = SocketAddr::new(host.parse().map_err(wrong)?, port);
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::new(self.bind, 0).into())?;
        match socket.connect(&to.into()) {
            // A connection that is on its way is none that failed.
            Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
            _ => Ok(TcpStream::from_std(socket.into())),
        }
    }
}
