//! What the console costs: idle beside the daemons of `rosless up`, with ten clients on twenty topics beside a bare
//! tungstenite echo, its first page, and its size.
//!
//! `cargo bench -p rosless-console` takes about a minute and a half.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rosless_tests::{
    Daemon, DomainLease, Rig, Usage,
    bench::{Figure, effort},
    sibling_binary,
};
use rosless_wire::sensor_msgs::msg::JointState;
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client::IntoClientRequest as _, http::HeaderValue};

const GROUP: &str = "console";
const OWN: &str = env!("CARGO_BIN_EXE_rosless-console");
const PATIENCE: Duration = Duration::from_secs(60);
const CLIENTS: usize = 10;
const TOPICS: usize = 20;
const PERIOD: Duration = Duration::from_millis(10);

fn main() {
    size();
    first_page();
    idle();
    clients();
}

fn console(domain: &DomainLease) -> (Daemon, String) {
    let daemon = Daemon::spawn(domain.command(OWN, &["--port", "0"]));
    let line = daemon.wait_for_line("http://", PATIENCE);
    let host = line.split("http://").nth(1).expect("an address").trim().to_owned();
    (daemon, host)
}

/// The file, beside that of a program that does little more than be a node.
fn size() {
    let other = sibling_binary(OWN, "dummy-mechanism");
    let bytes = |path: &std::path::Path| std::fs::metadata(path).expect("it was built").len() as f64 / 1e6;
    let (own, other) = (bytes(OWN.as_ref()), bytes(&other));
    println!("binary: {own:.2} MB, dummy-mechanism {other:.2} MB");
    Figure::new(GROUP, "binary beyond that of dummy-mechanism", own - other, "MB")
        .at_most(2.0)
        .note(format!("{own:.1} MB, with all pages"))
        .tell();
}

/// Every byte that a browser gets for /capture, heads included.
fn first_page() {
    let domain = DomainLease::acquire();
    let (_console, host) = console(&domain);
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&host).expect("it listens");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
        )
        .expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("answered");
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{path}");
        answer.len()
    };
    let parts = "/capture /style.css /app.js /link.js /ui.js /icon.svg /capture.js /plot.js /takes.js";
    let sum: usize = parts.split(' ').map(get).sum();
    println!("first page: {:.1} kB over the wire", sum as f64 / 1e3);
    Figure::new(GROUP, "first page over the wire", sum as f64 / 1e3, "kB").at_most(150.0).tell();
}

/// Beside the daemons of `rosless up`, with nobody connected.
fn idle() {
    let roster: Vec<Value> =
        serde_json::from_str(include_str!("../../rosless/roster.json")).expect("the roster");
    let domain = DomainLease::acquire();
    let daemons: Vec<_> = roster
        .iter()
        .map(|member| {
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            let arguments: Vec<_> = member["args"].as_array().expect("a list").iter().map(text).collect();
            let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
            Daemon::spawn(domain.command(sibling_binary(OWN, &text(&member["run"])), &arguments))
        })
        .collect();
    let (console, _) = console(&domain);
    thread::sleep(Duration::from_secs(effort(6, 4)));
    let watched = Duration::from_secs(effort(30, 10));
    let before = Usage::of(console.pid()).expect("it runs");
    let begin = Instant::now();
    thread::sleep(watched);
    let after = Usage::of(console.pid()).expect("it runs");
    let share = 100.0 * (after.cpu() - before.cpu()).as_secs_f64() / begin.elapsed().as_secs_f64();
    let memory = after.resident_bytes as f64 / 1e6;
    println!("idle beside {} daemons: {share:.3} % of a core, {memory:.1} MB", daemons.len());
    let note = format!("{} threads", after.threads.len());
    Figure::new(GROUP, "idle beside the daemons of `up`, share of a core", share, "%")
        .at_most(0.3)
        .note(note)
        .tell();
    Figure::new(GROUP, "idle beside the daemons of `up`, resident memory", memory, "MB").at_most(25.0).tell();
}

/// Each message at each client, as values in JSON and as bytes for Foxglove, beside a bare echo of messages of that size.
fn clients() {
    for (name, foxglove) in [("values for pages", false), ("bytes for Foxglove", true)] {
        let (ours, rate, size, dropped) = console_per_message(foxglove);
        let echo = echo_per_message(rate / CLIENTS as f64, size);
        println!(
            "{CLIENTS} clients, {TOPICS} topics, {name}: {rate:.0} messages/s of {size} bytes, {ours:.2} µs each, bare echo {echo:.2} µs, ratio {:.2}; {dropped} dropped",
            ours / echo
        );
        Figure::new(
            GROUP,
            format!("{CLIENTS} clients on {TOPICS} topics, {name}, processor per message"),
            ours,
            "µs",
        )
        .against("tungstenite echo", echo)
        .ratio_at_most(3.0)
        .note(format!("{rate:.0} messages/s of {size} bytes"))
        .tell();
    }
}

fn connect(host: &str, protocol: &'static str) -> WebSocket<TcpStream> {
    let mut request = format!("ws://{host}/").into_client_request().expect("an address");
    request.headers_mut().insert("Sec-WebSocket-Protocol", HeaderValue::from_static(protocol));
    let stream = TcpStream::connect(host).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
    tungstenite::client(request, stream).expect("let in").0
}

/// Microseconds of the console's processor time for each message at a client; messages per second, their size, and how
/// many were dropped.
fn console_per_message(foxglove: bool) -> (f64, f64, usize, u64) {
    let mut rig = Rig::<()>::on(DomainLease::acquire(), "source");
    let topics: Vec<_> = (0..TOPICS)
        .map(|n| rig.node.publisher::<JointState>(&format!("/joints_{n}")).expect("publisher"))
        .collect();
    let joints = JointState {
        name: (1..=6).map(|n| format!("joint_{n}")).collect(),
        position: vec![0.123_456_789; 6],
        velocity: vec![-1.5; 6],
        effort: vec![12.25; 6],
        ..JointState::default()
    };
    rig.events.timer(PERIOD, move |()| {
        for topic in &topics {
            topic.publish(&joints);
        }
    });
    let (console, host) = console(&rig.domain);
    rig.observe(Duration::from_secs(3));
    let (counted, size) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let ended = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (host, counted, size, ended) = (host.clone(), counted.clone(), size.clone(), ended.clone());
            thread::spawn(move || client(&host, foxglove, &counted, &size, &ended))
        })
        .collect();
    rig.observe(Duration::from_secs(3));
    let before =
        (Usage::of(console.pid()).expect("it runs").cpu(), counted.load(Ordering::Relaxed), Instant::now());
    rig.observe(Duration::from_secs(effort(12, 5)));
    let cpu = Usage::of(console.pid()).expect("it runs").cpu() - before.0;
    let messages = counted.load(Ordering::Relaxed) - before.1;
    let seconds = before.2.elapsed().as_secs_f64();
    ended.store(true, Ordering::Relaxed);
    let dropped = threads.into_iter().map(|t| t.join().expect("a client ended well")).max().unwrap_or(0);
    assert!(messages > 0, "nothing came");
    let rate = messages as f64 / seconds;
    (cpu.as_secs_f64() * 1e6 / messages as f64, rate, size.load(Ordering::Relaxed) as usize, dropped)
}

fn client(host: &str, foxglove: bool, counted: &AtomicU64, size: &AtomicU64, ended: &AtomicBool) -> u64 {
    let mut socket = connect(host, if foxglove { "foxglove.sdk.v1" } else { "rosless.console.v1" });
    let say = |socket: &mut WebSocket<TcpStream>, text: Value| {
        socket.send(Message::text(text.to_string())).expect("sent");
    };
    if !foxglove {
        for n in 0..TOPICS {
            say(
                &mut socket,
                json!({"op": "subscribe", "id": n, "sub": n, "topic": format!("/joints_{n}"), "type": "sensor_msgs/msg/JointState", "period": 0}),
            );
        }
    }
    let (mut asked, mut next) = (false, 0);
    loop {
        match socket.read() {
            Ok(Message::Binary(bytes)) => {
                if bytes.first() == Some(&1) {
                    counted.fetch_add(1, Ordering::Relaxed);
                    size.store(bytes.len() as u64, Ordering::Relaxed);
                }
            }
            Ok(Message::Text(text)) if text.starts_with("{\"op\":\"message\"") => {
                counted.fetch_add(1, Ordering::Relaxed);
                size.store(text.len() as u64, Ordering::Relaxed);
            }
            Ok(Message::Text(text)) => {
                let message: Value = serde_json::from_str(&text).unwrap_or_default();
                if message["op"] == "advertise" {
                    let mut subscriptions = Vec::new();
                    for channel in message["channels"].as_array().into_iter().flatten() {
                        if channel["topic"].as_str().is_some_and(|topic| topic.starts_with("/joints_")) {
                            next += 1;
                            subscriptions.push(json!({"id": next, "channelId": channel["id"]}));
                        }
                    }
                    say(&mut socket, json!({"op": "subscribe", "subscriptions": subscriptions}));
                }
                if message["op"] == "answer" && message["id"] == 9999 {
                    return message["ok"]["dropped"].as_u64().unwrap_or(0);
                }
            }
            Ok(_) => {}
            Err(tungstenite::Error::Io(_)) => {}
            Err(error) => panic!("{error}"),
        }
        if ended.load(Ordering::Relaxed) && !asked {
            if foxglove {
                return 0;
            }
            asked = true;
            say(&mut socket, json!({"op": "counters", "id": 9999}));
        }
    }
}

/// Microseconds of processor time for each message that a bare server of tungstenite takes and sends back, at this rate for
/// each client.
fn echo_per_message(rate: f64, size: usize) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let servers = thread::spawn(move || {
        let serve = |stream: TcpStream| {
            stream.set_nodelay(true).expect("it is TCP");
            let thread = thread::Builder::new().name("echo".into());
            thread.spawn(move || {
                let mut socket = tungstenite::accept(stream).expect("a handshake");
                while let Ok(message) = socket.read() {
                    if message.is_close() || socket.send(message).is_err() {
                        break;
                    }
                }
            })
        };
        (0..CLIENTS)
            .map(|_| serve(listener.accept().expect("a client").0).expect("a thread"))
            .collect::<Vec<_>>()
    });
    let ended = Arc::new(AtomicBool::new(false));
    let counted = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (ended, counted) = (ended.clone(), counted.clone());
            thread::spawn(move || {
                let stream = TcpStream::connect(address).expect("it listens");
                stream.set_nodelay(true).expect("it is TCP");
                let (mut socket, _) =
                    tungstenite::client(format!("ws://{address}/"), stream).expect("a handshake");
                let text = "x".repeat(size);
                let (begin, mut sent) = (Instant::now(), 0.0);
                while !ended.load(Ordering::Relaxed) {
                    // As many topics come at once.
                    for _ in 0..TOPICS {
                        socket.send(Message::text(text.as_str())).expect("sent");
                    }
                    for _ in 0..TOPICS {
                        socket.read().expect("sent back");
                    }
                    counted.fetch_add(TOPICS as u64, Ordering::Relaxed);
                    sent += TOPICS as f64;
                    let due = Duration::from_secs_f64(sent / rate.max(1.0));
                    thread::sleep(due.saturating_sub(begin.elapsed()));
                }
            })
        })
        .collect();
    let _threads = servers.join().expect("all are there");
    let echo = || -> Duration {
        let usage = Usage::of(std::process::id()).expect("it runs");
        usage.threads.iter().filter(|thread| thread.name == "echo").map(|thread| thread.cpu).sum()
    };
    thread::sleep(Duration::from_secs(1));
    let before = (echo(), counted.load(Ordering::Relaxed));
    thread::sleep(Duration::from_secs(effort(8, 4)));
    let (cpu, messages) = (echo() - before.0, counted.load(Ordering::Relaxed) - before.1);
    ended.store(true, Ordering::Relaxed);
    clients.into_iter().for_each(|client| client.join().expect("it ended well"));
    cpu.as_secs_f64() * 1e6 / messages.max(1) as f64
}
