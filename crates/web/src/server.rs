//! Many clients on a listening socket. Whoever owns the loop tells when sockets are ready.

use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    rc::Rc,
    time::Duration,
};

use crate::{
    Limits, Response,
    connection::{Connection, Event, Stream},
    outbox::Outgoing,
};

/// A client as long as it is there; never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// What became of clients and messages so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections that came in.
    pub accepted: u64,
    /// Connections that made room for others, or found none.
    pub crowded: u64,
    /// Data messages that were dropped because their client was slow.
    pub dropped: u64,
}

#[derive(Debug)]
struct Client {
    stream: Rc<TcpStream>,
    connection: Connection,
}

/// The clients of one listening socket.
#[derive(Debug)]
pub struct Server {
    limits: Limits,
    clients: BTreeMap<ClientId, Client>,
    next: u64,
    counters: Counters,
    /// Clients of which more is to be read although no readiness will tell of it.
    unfinished: Vec<ClientId>,
}

/// How much is read at once.
const CHUNK: usize = 16 * 1024;

impl Server {
    /// Without clients.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            clients: BTreeMap::new(),
            next: 0,
            counters: Counters::default(),
            unfinished: Vec::new(),
        }
    }

    /// A socket that listens on `address` and never blocks.
    ///
    /// # Errors
    /// When the address is taken or not this machine's.
    pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// Takes in everybody who waits at the door. Their sockets are to be watched for reading and writing. Who had to make
    /// room is told in `events`.
    pub fn accept(
        &mut self,
        listener: &TcpListener,
        now: Duration,
        events: &mut Vec<(ClientId, Event)>,
    ) -> Vec<(ClientId, Rc<TcpStream>)> {
        let mut came = Vec::new();
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => {
                    if error.kind() != io::ErrorKind::WouldBlock {
                        log::warn!("a connection cannot be accepted: {error}");
                    }
                    return came;
                }
            };
            self.counters.accepted += 1;
            if self.clients.len() >= self.limits.clients && !self.make_room(events) {
                self.counters.crowded += 1;
                let full = Response::text(503, "too many connections; close some");
                let _ = stream
                    .set_nonblocking(true)
                    .and_then(|()| (&stream).write(&full.encode(true, true, None)));
                continue;
            }
            // Small messages are worth sending at once.
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_err() {
                continue;
            }
            self.next += 1;
            let (id, stream) = (ClientId(self.next), Rc::new(stream));
            let connection = Connection::new(self.limits, now);
            self.clients.insert(id, Client { stream: stream.clone(), connection });
            came.push((id, stream));
        }
    }

    /// Ends the oldest connection that is no WebSocket.
    fn make_room(&mut self, events: &mut Vec<(ClientId, Event)>) -> bool {
        let oldest =
            self.clients.iter().find(|(_, client)| !client.connection.is_socket()).map(|(id, _)| *id);
        if let Some(id) = oldest {
            self.counters.crowded += 1;
            self.cut_off(id, "others needed its place", events);
        }
        oldest.is_some()
    }

    /// Reads what a client sent; `false`: it is gone, and its socket need not be watched any longer.
    pub fn ready(&mut self, id: ClientId, now: Duration, events: &mut Vec<(ClientId, Event)>) -> bool {
        let Some(client) = self.clients.get_mut(&id) else { return false };
        let mut buffer = [0; CHUNK];
        let mut taken = 0;
        let mut own = Vec::new();
        let ended = loop {
            match (&*client.stream).read(&mut buffer) {
                Ok(0) => break true,
                Ok(length) => {
                    client.connection.receive(&buffer[..length], now, &mut own);
                    taken += length;
                    if taken >= self.limits.turn {
                        self.unfinished.push(id);
                        break false;
                    }
                    // A request is answered before more is read.
                    if !own.is_empty() && !client.connection.is_socket() {
                        self.unfinished.push(id);
                        break false;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break true,
            }
        };
        events.extend(own.into_iter().map(|event| (id, event)));
        if ended {
            self.cut_off(id, "gone", events);
        }
        self.write(id, now, events);
        self.clients.contains_key(&id)
    }

    /// Clients that are to be [`ready`](Self::ready) again without being asked, once others had their turn.
    pub fn take_unfinished(&mut self) -> Vec<ClientId> {
        std::mem::take(&mut self.unfinished)
    }

    fn cut_off(&mut self, id: ClientId, why: &'static str, events: &mut Vec<(ClientId, Event)>) {
        if let Some(mut client) = self.clients.remove(&id) {
            let mut own = Vec::new();
            client.connection.end(why, &mut own);
            let _ = (&*client.stream).write(client.connection.output());
            // The loop's watch of the socket ends with this, too.
            let _ = client.stream.shutdown(Shutdown::Both);
            self.counters.dropped += client.connection.dropped();
            events.extend(own.into_iter().map(|event| (id, event)));
        }
    }

    /// Does something with a client's connection and sends what comes of it.
    fn with(
        &mut self,
        id: ClientId,
        now: Duration,
        events: &mut Vec<(ClientId, Event)>,
        act: impl FnOnce(&mut Connection, &mut Vec<Event>),
    ) {
        if let Some(client) = self.clients.get_mut(&id) {
            let mut own = Vec::new();
            act(&mut client.connection, &mut own);
            events.extend(own.into_iter().map(|event| (id, event)));
            self.write(id, now, events);
        }
    }

    /// Answers a request; see [`Connection::respond`].
    pub fn respond(
        &mut self,
        id: ClientId,
        response: &Response,
        now: Duration,
        events: &mut Vec<(ClientId, Event)>,
    ) {
        self.with(id, now, events, |connection, own| connection.respond(response, now, own));
    }

    /// Answers a request with what is read bit by bit; see [`Connection::respond_with`].
    pub fn respond_with(
        &mut self,
        id: ClientId,
        stream: Stream,
        now: Duration,
        events: &mut Vec<(ClientId, Event)>,
    ) {
        self.with(id, now, events, |connection, own| connection.respond_with(stream, own));
    }

    /// Makes a client a WebSocket; see [`Connection::upgrade`].
    pub fn upgrade(
        &mut self,
        id: ClientId,
        protocol: Option<&str>,
        now: Duration,
        events: &mut Vec<(ClientId, Event)>,
    ) -> bool {
        let mut done = false;
        self.with(id, now, events, |connection, own| done = connection.upgrade(protocol, now, own));
        done
    }

    /// Has something for a client; it goes with the next [`flush`](Self::flush).
    pub fn send(&mut self, id: ClientId, message: Outgoing, events: &mut Vec<(ClientId, Event)>) {
        if let Some(client) = self.clients.get_mut(&id) {
            let mut own = Vec::new();
            client.connection.send(message, &mut own);
            events.extend(own.into_iter().map(|event| (id, event)));
        }
    }

    /// Ends a client's connection.
    pub fn end(
        &mut self,
        id: ClientId,
        why: &'static str,
        now: Duration,
        events: &mut Vec<(ClientId, Event)>,
    ) {
        self.with(id, now, events, |connection, own| connection.end(why, own));
    }

    /// Writes what waits, as far as clients take it.
    pub fn flush(&mut self, now: Duration, events: &mut Vec<(ClientId, Event)>) {
        for id in self.clients.keys().copied().collect::<Vec<_>>() {
            self.write(id, now, events);
        }
    }

    fn write(&mut self, id: ClientId, now: Duration, events: &mut Vec<(ClientId, Event)>) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let mut written = 0;
        let failed = loop {
            let bytes = client.connection.output();
            if bytes.is_empty() {
                break false;
            }
            if written >= self.limits.turn {
                self.unfinished.push(id);
                break false;
            }
            match (&*client.stream).write(bytes) {
                Ok(length) => {
                    client.connection.wrote(length, now);
                    written += length;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break true,
            }
        };
        if failed || client.connection.is_finished() {
            self.cut_off(id, "gone", events);
        }
    }

    /// Looks at the clock for everybody; once a second is enough.
    pub fn tick(&mut self, now: Duration, events: &mut Vec<(ClientId, Event)>) {
        for id in self.clients.keys().copied().collect::<Vec<_>>() {
            let Some(client) = self.clients.get_mut(&id) else { continue };
            let mut own = Vec::new();
            let lost = client.connection.tick(now, &mut own);
            events.extend(own.into_iter().map(|event| (id, event)));
            match lost {
                true => self.cut_off(id, "it takes nothing", events),
                false => self.write(id, now, events),
            }
        }
    }

    /// Connections now.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Whether nobody is connected.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// What became of clients and messages.
    pub fn counters(&self) -> Counters {
        let dropped: u64 = self.clients.values().map(|client| client.connection.dropped()).sum();
        Counters { dropped: self.counters.dropped + dropped, ..self.counters }
    }
}
