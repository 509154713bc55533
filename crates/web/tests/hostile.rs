//! What clients do that mean harm, or are broken: refused, memory bounded, the others go on.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use proptest::prelude::*;
use rosless_web::{ClientId, Connection, Event, Limits, Message, Outgoing, Response, Server};

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A frame as clients send it, masked with zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..126 => bytes.push(0x80 | length as u8),
        length @ 126..65536 => {
            bytes.push(0x80 | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
        length => {
            bytes.push(0x80 | 127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

/// A WebSocket without a socket below it, and what its handshake was answered.
fn socket(limits: Limits) -> Connection {
    let mut connection = Connection::new(limits, seconds(0));
    let mut events = Vec::new();
    connection.receive(UPGRADE.as_bytes(), seconds(0), &mut events);
    assert!(matches!(events[..], [Event::Request(_)]));
    assert!(connection.upgrade(Some("x"), seconds(0), &mut Vec::new()));
    let answer = take(&mut connection);
    assert!(
        answer.starts_with(b"HTTP/1.1 101")
            && String::from_utf8_lossy(&answer).contains("Sec-WebSocket-Protocol: x\r\n")
    );
    connection
}

fn take(connection: &mut Connection) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let bytes = connection.output().to_vec();
        if bytes.is_empty() {
            return all;
        }
        connection.wrote(bytes.len(), seconds(0));
        all.extend(bytes);
    }
}

fn receive(connection: &mut Connection, bytes: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    connection.receive(bytes, seconds(1), &mut events);
    events
}

#[test]
fn messages_are_the_same_however_they_are_cut() {
    let bytes = [
        frame(0x81, b"hello"),
        frame(0x01, "ä".as_bytes()),
        frame(0x89, b""),
        frame(0x80, b"!"),
        frame(0x82, &[7; 70_000]),
    ]
    .concat();
    let expected = [
        Event::Message(Message::Text("hello".to_owned())),
        Event::Message(Message::Text("ä!".to_owned())),
        Event::Message(Message::Binary(vec![7; 70_000].into())),
    ];
    for size in [1, 2, 3, 7, 1000, bytes.len()] {
        let mut connection = socket(Limits::default());
        let events: Vec<_> = bytes.chunks(size).flat_map(|chunk| receive(&mut connection, chunk)).collect();
        assert_eq!(events, expected, "in pieces of {size}");
        assert_eq!(take(&mut connection), [0x8a, 0], "the ping is answered");
    }
}

#[test]
fn what_breaks_the_protocol_is_closed_with_its_code() {
    let limits = Limits { message: 1000, ..Limits::default() };
    let huge = |length: u64| [&[0x82, 0xff][..], &length.to_be_bytes(), &[0; 4]].concat();
    let fragments = [frame(0x02, &[0; 600]), frame(0x00, &[0; 600])].concat();
    let unmasked = [0x81, 1, b'x'].to_vec();
    for (what, bytes, code) in [
        ("a length beyond all memory", huge(u64::MAX / 2), 1009_u16),
        ("a length beyond the limit", huge(1001), 1009),
        ("fragments beyond the limit", fragments, 1009),
        ("a text that is not UTF-8", frame(0x81, &[0xff, 0xfe]), 1007),
        ("a frame without a mask", unmasked, 1002),
        ("a reserved bit", frame(0xf1, b"x"), 1002),
        ("an unknown opcode", frame(0x83, b"x"), 1002),
        ("a continuation of nothing", frame(0x80, b"x"), 1002),
        ("a long ping", frame(0x89, &[0; 200]), 1002),
    ] {
        let mut connection = socket(limits);
        let events = receive(&mut connection, &bytes);
        assert!(matches!(events[..], [Event::Closed(_)]), "{what}: {events:?}");
        let answer = take(&mut connection);
        assert_eq!((answer[0], &answer[2..4]), (0x88, &code.to_be_bytes()[..]), "{what}");
        assert!(connection.is_finished(), "{what}");
        assert_eq!(receive(&mut connection, &frame(0x81, b"late")), [], "{what}");
    }
}

#[test]
fn a_slow_client_loses_the_oldest_data_and_no_answer() {
    let limits = Limits { data: 300_000, answers: 200_000, ..Limits::default() };
    let mut connection = socket(limits);
    let mut events = Vec::new();
    for number in 0..100_u8 {
        connection.send(Outgoing::Data(vec![number; 10_000].into()), &mut events);
        connection.send(Outgoing::AnswerText(format!("answer {number}")), &mut events);
    }
    assert_eq!(events, []);
    let bytes = take(&mut connection);
    let text = String::from_utf8_lossy(&bytes);
    assert!((0..100).all(|number| text.contains(&format!("answer {number}"))), "every answer is there");
    assert_eq!(connection.dropped(), 70);
    assert!(
        bytes.windows(10_000).any(|w| w == [99; 10_000]) && !bytes.windows(10_000).any(|w| w == [20; 10_000])
    );
    for _ in 0..30 {
        connection.send(Outgoing::Answer(vec![1; 10_000].into()), &mut events);
    }
    assert_eq!(events, [Event::Closed("it does not take its answers")]);
}

#[test]
fn silence_and_slowness_have_an_end() {
    let limits = Limits::default();
    let mut loris = Connection::new(limits, seconds(0));
    for (second, byte) in "GET / HTTP/1.1\r\nX: ".bytes().cycle().take(30).enumerate() {
        loris.receive(&[byte], seconds(second as u64), &mut Vec::new());
        loris.tick(seconds(second as u64), &mut Vec::new());
    }
    assert!(String::from_utf8_lossy(&take(&mut loris)).starts_with("HTTP/1.1 408"));
    assert!(loris.is_finished());

    let mut idle = Connection::new(limits, seconds(0));
    let mut events = Vec::new();
    idle.tick(seconds(11), &mut events);
    assert_eq!(events, [Event::Closed("idle")]);

    let mut silent = socket(limits);
    events.clear();
    silent.tick(seconds(6), &mut events);
    assert_eq!(take(&mut silent), [0x89, 0], "it is pinged");
    silent.tick(seconds(16), &mut events);
    assert_eq!(events, [Event::Closed("nothing was heard of it")]);

    let mut stalled = socket(limits);
    events.clear();
    stalled.send(Outgoing::Data(vec![0; 1000].into()), &mut events);
    stalled.tick(seconds(1), &mut events);
    assert!(stalled.tick(seconds(17), &mut events), "it is cut off");
}

#[test]
fn pipelined_requests_are_answered_one_by_one() {
    let mut connection = Connection::new(Limits::default(), seconds(0));
    let mut events = Vec::new();
    connection.receive(
        "GET /a HTTP/1.1\r\nHost: h\r\n\r\nHEAD /b HTTP/1.1\r\nHost: h\r\n\r\n".as_bytes(),
        seconds(0),
        &mut events,
    );
    for path in ["/a", "/b"] {
        let Some(Event::Request(request)) = events.pop() else { panic!("{path}: {events:?}") };
        assert_eq!((request.path.as_str(), events.len()), (path, 0));
        connection.respond(&Response::text(200, path), seconds(0), &mut events);
    }
    let text = String::from_utf8(take(&mut connection)).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 2);
    assert!(text.contains("\r\n\r\n/a\n") && !text.contains("\n/b"), "a HEAD has no body: {text}");
}

/// A server on a free port, turned by hand.
struct Rig {
    server: Server,
    listener: TcpListener,
    watched: Vec<ClientId>,
    now: Duration,
}

impl Rig {
    fn new(limits: Limits) -> Self {
        let listener = Server::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        Self { server: Server::new(limits), listener, watched: Vec::new(), now: seconds(0) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.listener.local_addr().unwrap()).unwrap();
        stream.set_read_timeout(Some(seconds(20))).unwrap();
        stream
    }

    /// One turn of the loop; requests become WebSockets, messages are echoed.
    fn turn(&mut self) {
        let mut events = Vec::new();
        let came = self.server.accept(&self.listener, self.now, &mut events);
        self.watched.extend(came.into_iter().map(|(id, _)| id));
        for id in self.watched.clone() {
            self.server.ready(id, self.now, &mut events);
        }
        let again = self.server.take_unfinished();
        for id in again {
            self.server.ready(id, self.now, &mut events);
        }
        while let Some((id, event)) = events.pop() {
            match event {
                Event::Request(request) if request.is_upgrade() => {
                    self.server.upgrade(id, None, self.now, &mut events);
                }
                Event::Request(_) => {
                    self.server.respond(id, &Response::text(200, "fine"), self.now, &mut events)
                }
                Event::Message(Message::Binary(bytes)) => {
                    self.server.send(id, Outgoing::Answer(bytes), &mut events)
                }
                Event::Message(Message::Text(text)) => {
                    self.server.send(id, Outgoing::AnswerText(text), &mut events)
                }
                Event::Closed(_) => self.watched.retain(|watched| *watched != id),
            }
        }
        self.server.flush(self.now, &mut events);
        self.server.tick(self.now, &mut events);
    }

    fn socket(&mut self) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(UPGRADE.as_bytes()).unwrap();
        while !self.read(&mut stream, 4096).starts_with(b"HTTP/1.1 101") {}
        stream
    }

    /// Turns until something can be read.
    fn read(&mut self, stream: &mut TcpStream, most: usize) -> Vec<u8> {
        stream.set_nonblocking(true).unwrap();
        let mut buffer = vec![0; most];
        for _ in 0..2000 {
            self.turn();
            match stream.read(&mut buffer) {
                Ok(length) => {
                    buffer.truncate(length);
                    stream.set_nonblocking(false).unwrap();
                    return buffer;
                }
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        panic!("nothing came");
    }
}

#[test]
fn a_thousand_connections_leave_room_for_those_that_are_in() {
    let mut rig = Rig::new(Limits { clients: 50, ..Limits::default() });
    let mut inside = rig.socket();
    let mut crowd = Vec::new();
    for _ in 0..1000 {
        let mut stream = rig.connect();
        let _ = stream.write_all(b"GET / HT");
        crowd.push(stream);
        rig.turn();
        assert!(rig.server.len() <= 50);
    }
    inside.write_all(&frame(0x82, b"still here")).unwrap();
    assert_eq!(rig.read(&mut inside, 100), [&[0x82, 10][..], b"still here"].concat());
    let mut newcomer = rig.connect();
    newcomer.write_all(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    assert!(
        rig.read(&mut newcomer, 100).starts_with(b"HTTP/1.1 200"),
        "a newcomer takes the oldest one's place"
    );
    assert!(rig.server.counters().crowded >= 950);
    // Where every place is a WebSocket's, newcomers are told so.
    let sockets: Vec<_> = (0..49).map(|_| rig.socket()).collect();
    let mut late = rig.connect();
    assert!(rig.read(&mut late, 100).starts_with(b"HTTP/1.1 503"));
    drop((sockets, crowd));
}

#[test]
fn who_floods_gets_its_turn_and_no_more() {
    let limits = Limits { turn: 32 * 1024, silence: seconds(60), ..Limits::default() };
    let mut rig = Rig::new(limits);
    let mut flood = rig.socket();
    let mut calm = rig.socket();
    flood.set_nonblocking(true).unwrap();
    let bytes = frame(0x82, &[1; 100]).repeat(1000);
    let mut rest = &bytes[..];
    // Whole frames, however much of them is taken at once.
    let mut pour = |flood: &mut TcpStream| match flood.write(rest) {
        Ok(length) => {
            rest = if length == rest.len() { &bytes } else { &rest[length..] };
            true
        }
        Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
    };
    for _ in 0..20 {
        pour(&mut flood);
        calm.write_all(&frame(0x81, b"x")).unwrap();
        assert_eq!(rig.read(&mut calm, 100), [0x81, 1, b'x']);
    }
    // It reads nothing, so its answers pile up until it is closed, and it does not take that either.
    for _ in 0..20_000 {
        if !pour(&mut flood) {
            break;
        }
        rig.turn();
        rig.now += Duration::from_millis(2);
    }
    assert_eq!(rig.server.len(), 1, "only the calm one is left");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_break_a_connection(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8), upgraded: bool) {
        let limits = Limits { message: 4096, ..Limits::default() };
        let mut connection = if upgraded { socket(limits) } else { Connection::new(limits, seconds(0)) };
        for piece in pieces {
            for event in receive(&mut connection, &piece) {
                if let Event::Request(_) = event {
                    connection.respond(&Response::text(200, "x"), seconds(0), &mut Vec::new());
                }
            }
            prop_assert!(take(&mut connection).len() < 100_000);
        }
    }
}
