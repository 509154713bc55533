//! One client without its socket: bytes in, events and bytes out.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use bytes::Bytes;
use tungstenite::{
    Error, WebSocket,
    error::CapacityError,
    handshake::derive_accept_key,
    protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
};

use crate::{
    Limits, Request, Response,
    http::Head,
    outbox::{Outbox, Outgoing},
};

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Valid UTF-8.
    Text(String),
    /// Anything.
    Binary(Bytes),
}

/// What a client did.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// It asks; answer with [`Connection::respond`] or [`Connection::upgrade`] before anything else of it is read.
    Request(Request),
    /// It sent a message over its WebSocket.
    Message(Message),
    /// It is gone, or will be as soon as it has what waits for it.
    Closed(&'static str),
}

/// The two ends of what would be a socket.
#[derive(Debug, Default)]
struct Pipe {
    input: Vec<u8>,
    read: usize,
    output: Vec<u8>,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.input[self.read..];
        if rest.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.read += length;
        if self.read == self.input.len() {
            self.input.clear();
            self.read = 0;
        }
        Ok(length)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
enum State {
    /// A head of a request is being read.
    Head,
    /// A request waits for its answer.
    Asked(Box<Request>),
    Socket(Box<WebSocket<Pipe>>),
    /// Nothing more is read, and the end comes when everything is sent.
    Closing,
}

/// An answer whose content is read as the client takes it: nobody waits for a disk with all of it in memory.
pub struct Stream {
    /// Status and fields; a body of its own is not sent.
    pub head: Response,
    /// Bytes that it has; what is missing in the end ends the connection, so that the client sees that it is not whole.
    pub length: u64,
    /// Where they come from; must not block for long.
    pub source: Box<dyn Read>,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("length", &self.length).finish_non_exhaustive()
    }
}

/// Messages are turned into bytes while less than this waits to be sent: what is bytes can no longer be dropped.
const IN_FLIGHT: usize = 64 * 1024;
/// A WebSocket's own buffers; small, because there are many of them.
const BUFFER: usize = 4 * 1024;

/// One client.
#[derive(Debug)]
pub struct Connection {
    limits: Limits,
    state: State,
    /// What came and is no message yet, of a client that is no WebSocket.
    input: Vec<u8>,
    output: Vec<u8>,
    sent: usize,
    /// What follows the output, and whether there was something: whoever loads a file may take its time.
    stream: Option<Stream>,
    loads: bool,
    outbox: Outbox,
    /// When it was last heard, when its head began, when it last took something: on the driver's clock.
    heard: Duration,
    began: Duration,
    took: Duration,
    pinged: bool,
}

impl Connection {
    /// A client that has just come.
    pub fn new(limits: Limits, now: Duration) -> Self {
        Self {
            limits,
            state: State::Head,
            input: Vec::new(),
            output: Vec::new(),
            sent: 0,
            stream: None,
            loads: false,
            outbox: Outbox::default(),
            heard: now,
            began: now,
            took: now,
            pinged: false,
        }
    }

    /// Takes what the client sent; what it means is added to `events`.
    pub fn receive(&mut self, bytes: &[u8], now: Duration, events: &mut Vec<Event>) {
        self.heard = now;
        self.pinged = false;
        match &mut self.state {
            State::Closing => {}
            State::Socket(socket) => {
                socket.get_mut().input.extend_from_slice(bytes);
                self.read_messages(events);
            }
            State::Head | State::Asked(_) => {
                if self.input.is_empty() && !bytes.is_empty() {
                    self.began = now;
                }
                self.input.extend_from_slice(bytes);
                if matches!(self.state, State::Head) {
                    self.read_head(events);
                } else if self.input.len() > self.limits.head {
                    self.refuse(431, "one request at a time", events);
                }
            }
        }
    }

    fn read_head(&mut self, events: &mut Vec<Event>) {
        if self.input.is_empty() {
            return;
        }
        match Request::parse(&self.input, &self.limits) {
            Head::Incomplete => {}
            Head::Refused(status, text) => self.refuse(status, text, events),
            Head::Complete(request, length) => {
                self.input.drain(..length);
                self.state = State::Asked(Box::new(request.clone()));
                events.push(Event::Request(request));
            }
        }
    }

    fn refuse(&mut self, status: u16, text: &'static str, events: &mut Vec<Event>) {
        self.output.extend(Response::text(status, text).encode(true, true, None));
        self.close(text, events);
    }

    fn close(&mut self, why: &'static str, events: &mut Vec<Event>) {
        if !self.is_closing() {
            self.state = State::Closing;
            self.input = Vec::new();
            events.push(Event::Closed(why));
        }
    }

    /// Answers the request; the next one, if it is there already, is added to `events`.
    pub fn respond(&mut self, response: &Response, now: Duration, events: &mut Vec<Event>) {
        let State::Asked(request) = &self.state else { return };
        let close = request.wants_close() || response.status >= 400;
        self.output.extend(response.encode(request.method != "HEAD", close, None));
        self.began = now;
        if close {
            self.close("answered", events);
        } else {
            self.state = State::Head;
            self.read_head(events);
        }
    }

    /// Answers the request with what the stream has; the connection ends with it.
    pub fn respond_with(&mut self, stream: Stream, events: &mut Vec<Event>) {
        let State::Asked(request) = &self.state else { return };
        self.output.extend(stream.head.encode(false, true, Some(stream.length)));
        self.stream = (request.method != "HEAD").then_some(stream);
        self.loads = true;
        self.close("answered", events);
    }

    /// Takes more of the stream, if there is one.
    fn read_stream(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        let room = IN_FLIGHT.saturating_sub(self.output.len() - self.sent) as u64;
        let before = self.output.len();
        let read = (&mut stream.source).take(room.min(stream.length)).read_to_end(&mut self.output);
        stream.length -= (self.output.len() - before) as u64;
        let ended = room > 0 && self.output.len() == before;
        if ended || read.is_err() || stream.length == 0 {
            self.stream = None;
        }
    }

    /// Answers the request with a WebSocket that speaks `protocol`; `false`, and an error to the client, if it did not ask
    /// for one rightly.
    pub fn upgrade(&mut self, protocol: Option<&str>, now: Duration, events: &mut Vec<Event>) -> bool {
        let State::Asked(request) = &self.state else { return false };
        let key = request.field("sec-websocket-key").unwrap_or_default().to_owned();
        let right = request.is_upgrade()
            && request.method == "GET"
            && request.field("sec-websocket-version") == Some("13")
            && key.len() == 24;
        if !right {
            let response = Response::text(426, "a WebSocket of version 13 is expected here");
            self.respond(&response.with("Sec-WebSocket-Version", "13"), now, events);
            return false;
        }
        let protocol = protocol.map_or_else(String::new, |p| format!("Sec-WebSocket-Protocol: {p}\r\n"));
        let accept = derive_accept_key(key.as_bytes());
        self.output.extend_from_slice(
            format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: {accept}\r\n{protocol}\r\n"
            )
            .as_bytes(),
        );
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(0)
            .max_message_size(Some(self.limits.message))
            .max_frame_size(Some(self.limits.message));
        let pipe = Pipe { input: std::mem::take(&mut self.input), ..Pipe::default() };
        self.state = State::Socket(Box::new(WebSocket::from_raw_socket(pipe, Role::Server, Some(config))));
        self.took = now;
        self.read_messages(events);
        true
    }

    fn read_messages(&mut self, events: &mut Vec<Event>) {
        let State::Socket(socket) = &mut self.state else { return };
        let end = loop {
            match socket.read() {
                Ok(tungstenite::Message::Text(text)) => {
                    events.push(Event::Message(Message::Text(text.as_str().to_owned())));
                }
                Ok(tungstenite::Message::Binary(bytes)) => {
                    events.push(Event::Message(Message::Binary(bytes)))
                }
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => break None,
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                    break Some(("closed by the client", None));
                }
                Err(Error::Capacity(CapacityError::MessageTooLong { .. })) => {
                    break Some(("a message is too long", Some(CloseCode::Size)));
                }
                Err(Error::Utf8(_)) => break Some(("a text is not UTF-8", Some(CloseCode::Invalid))),
                Err(_) => break Some(("what came is not WebSocket", Some(CloseCode::Protocol))),
            }
        };
        if let Some((why, code)) = end {
            self.close_socket(why, code, events);
        } else {
            // Pongs are written by reading.
            self.output.append(&mut socket.get_mut().output);
        }
    }

    fn close_socket(&mut self, why: &'static str, code: Option<CloseCode>, events: &mut Vec<Event>) {
        if let State::Socket(socket) = &mut self.state {
            if let Some(code) = code {
                // A client that is gone cannot be told.
                let _ = socket.close(Some(CloseFrame { code, reason: why.into() }));
                let _ = socket.flush();
            }
            self.output.append(&mut socket.get_mut().output);
        }
        self.close(why, events);
    }

    /// Ends the connection; a WebSocket is told why.
    pub fn end(&mut self, why: &'static str, events: &mut Vec<Event>) {
        self.close_socket(why, Some(CloseCode::Policy), events);
    }

    /// Has something for the client, once it is a WebSocket.
    pub fn send(&mut self, message: Outgoing, events: &mut Vec<Event>) {
        if self.is_socket() && !self.outbox.push(message, self.limits.data, self.limits.answers) {
            self.end("it does not take its answers", events);
        }
    }

    /// The bytes to be written to the client next.
    pub fn output(&mut self) -> &[u8] {
        if let State::Socket(socket) = &mut self.state {
            while self.output.len() - self.sent < IN_FLIGHT
                && let Some(message) = self.outbox.pop()
            {
                let message = match message {
                    Outgoing::Data(bytes) | Outgoing::Answer(bytes) => tungstenite::Message::Binary(bytes),
                    Outgoing::DataText(text) | Outgoing::AnswerText(text) => {
                        tungstenite::Message::Text(text.into())
                    }
                };
                // The pipe takes everything; a socket that is being closed by its client takes nothing any more.
                let _ = socket.write(message);
                self.output.append(&mut socket.get_mut().output);
            }
        }
        self.read_stream();
        &self.output[self.sent..]
    }

    /// So many bytes of [`output`](Self::output) were written.
    pub fn wrote(&mut self, bytes: usize, now: Duration) {
        self.sent += bytes;
        if bytes > 0 {
            self.took = now;
        }
        if self.sent >= self.output.len() {
            self.output.clear();
            self.sent = 0;
            self.output.shrink_to(IN_FLIGHT);
        } else if self.sent >= IN_FLIGHT {
            // A client that never takes all of it must not make us keep what it took.
            self.output.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Whether everything was sent and nothing more will be.
    pub fn is_finished(&self) -> bool {
        self.is_closing() && self.sent >= self.output.len() && self.stream.is_none()
    }

    fn is_closing(&self) -> bool {
        matches!(self.state, State::Closing)
    }

    /// Whether it has become a WebSocket.
    pub fn is_socket(&self) -> bool {
        matches!(self.state, State::Socket(_))
    }

    /// Data messages that were dropped because the client was slow.
    pub fn dropped(&self) -> u64 {
        self.outbox.dropped
    }

    /// Looks at the clock: pings who is silent, ends who is silent for too long, too slow with its request, or takes
    /// nothing. `true`: it is to be cut off at once.
    pub fn tick(&mut self, now: Duration, events: &mut Vec<Event>) -> bool {
        let waits = self.sent < self.output.len() || !self.outbox.is_empty() || self.stream.is_some();
        if waits && now.saturating_sub(self.took) > self.limits.stall {
            self.close("it takes nothing", events);
            return true;
        }
        if !waits {
            self.took = now;
        }
        match &mut self.state {
            State::Closing => waits && !self.loads && now.saturating_sub(self.heard) > self.limits.stall,
            State::Head | State::Asked(_) if now.saturating_sub(self.began) > self.limits.request => {
                if self.input.is_empty() {
                    self.close("idle", events);
                } else {
                    self.refuse(408, "the request took too long", events);
                }
                false
            }
            State::Socket(_) if now.saturating_sub(self.heard) > self.limits.silence => {
                self.end("nothing was heard of it", events);
                false
            }
            State::Socket(socket) if !self.pinged && now.saturating_sub(self.heard) > self.limits.ping => {
                self.pinged = true;
                let _ = socket.write(tungstenite::Message::Ping(Bytes::new()));
                self.output.append(&mut socket.get_mut().output);
                false
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn asked(text: &str) -> Connection {
        let mut connection = Connection::new(Limits::default(), NOW);
        connection.receive(text.as_bytes(), NOW, &mut Vec::new());
        connection
    }

    #[test]
    fn a_client_that_is_always_a_little_behind_costs_no_more_memory() {
        let mut connection = asked(
            "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        );
        assert!(connection.upgrade(None, NOW, &mut Vec::new()));
        for _ in 0..1000 {
            connection.send(Outgoing::Data(vec![0; 10_000].into()), &mut Vec::new());
            let length = connection.output().len();
            connection.wrote(length - 1, NOW);
        }
        assert!(connection.output.len() < 4 * IN_FLIGHT, "{} bytes are kept", connection.output.len());
    }

    #[test]
    fn a_file_is_read_as_it_is_taken() {
        let content: Vec<u8> = (0..1_000_000_u32).map(|i| i as u8).collect();
        let mut connection = asked("GET /f HTTP/1.1\r\nHost: h\r\n\r\n");
        let mut events = Vec::new();
        let stream = |length, content| Stream {
            head: Response::bytes("x/y", ""),
            length,
            source: Box::new(io::Cursor::new(content)),
        };
        connection.respond_with(stream(content.len() as u64, content.clone()), &mut events);
        assert_eq!(events, [Event::Closed("answered")]);
        let mut got = Vec::new();
        // Long after a request would have been given up.
        for second in 1..1000 {
            let some = connection.output().to_vec();
            assert!(connection.output.len() <= 2 * IN_FLIGHT && !connection.is_finished() || some.is_empty());
            let some = &some[..some.len().min(10_000)];
            got.extend_from_slice(some);
            connection.wrote(some.len(), Duration::from_secs(second));
            if connection.is_finished() {
                break;
            }
            assert!(!connection.tick(Duration::from_secs(second), &mut events));
        }
        assert!(connection.is_finished());
        let head = String::from_utf8_lossy(&got[..got.len() - content.len()]).into_owned();
        assert!(head.contains("Content-Length: 1000000\r\n") && head.contains("Connection: close"), "{head}");
        assert!(got.ends_with(&content));
        let mut short = asked("GET /f HTTP/1.1\r\nHost: h\r\n\r\n");
        short.respond_with(stream(100, vec![1; 10]), &mut events);
        let length = short.output().len();
        short.wrote(length, NOW);
        assert!(short.output().is_empty() && short.is_finished(), "what is missing ends it");
    }
}
