//! Clients that mean harm at the real program: refused, memory bounded, the others go on.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use rosless_tests::{DomainLease, Usage, eventually};
use serde_json::json;

use crate::{Console, PATIENCE};

const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: rosless.console.v1\r\n\r\n";

fn connect(console: &Console, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(&console.host).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    // Who is thrown out cannot write any more.
    let _ = stream.write_all(bytes);
    stream
}

/// A WebSocket whose handshake is over, for frames made by hand.
fn socket(console: &Console) -> TcpStream {
    let request = format!("GET /ws HTTP/1.1\r\nHost: {}\r\n{UPGRADE}", console.host);
    let mut stream = connect(console, request.as_bytes());
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a handshake");
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    stream
}

/// Everything until the other side ends it.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

#[test]
fn harm_is_refused_and_the_others_go_on() {
    let console = Console::start(&DomainLease::acquire(), &[]);
    let mut page = console.page();
    let memory = || Usage::of(console.daemon.pid()).expect("it runs").resident_bytes / 1_000_000;
    let before = memory();

    for path in [
        "/../Cargo.toml",
        "/%2e%2e/etc/passwd",
        "/takes/../../etc/passwd",
        "/takes/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/takes//etc/passwd",
        "/takes/.hidden",
        "/takes/nobody.tar",
    ] {
        let (status, text) = console.ask(path, "");
        assert!(status == 400 || status == 404, "{path}: {status}");
        assert!(!text.contains("root:") && !text.contains("[package]"), "{path}");
    }

    // A frame with a length beyond all memory, one that is no UTF-8, one without a mask, one that never ends.
    for (frame, code) in [
        (&[0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0][..], 1009_u16),
        (&[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe], 1007),
        (&[0x81, 0x01, b'x'], 1002),
    ] {
        let mut stream = socket(&console);
        stream.write_all(frame).expect("it reads");
        let answer = rest(stream);
        let close = answer.windows(4).any(|w| w[0] == 0x88 && w[2..] == code.to_be_bytes());
        assert!(close, "{code}: {answer:?}");
    }
    let mut partial = socket(&console);
    partial.write_all(&[0x82, 0xfe, 0xff, 0xff, 0, 0]).expect("it reads");

    // Heads byte by byte are given up after ten seconds, while a thousand others come and go.
    let mut loris = connect(&console, b"GET / HTTP/1.1\r\nHost: ");
    let crowd: Vec<_> = (0..600).map(|_| connect(&console, b"GET / HTTP/1.1\r\nX: ")).collect();
    assert_eq!(
        page.ask(json!({"op": "counters"})).unwrap()["connections"].as_u64().map(|n| n <= 128),
        Some(true)
    );
    drop(crowd);
    let crowd: Vec<_> = (0..400).map(|_| connect(&console, b"\x00\x16\x03\x01\r\n\r\n")).collect();
    assert!(page.ask(json!({"op": "stop"})).is_ok(), "STOP goes through");
    drop(crowd);
    eventually("the slow one is ended", PATIENCE, || {
        std::thread::sleep(Duration::from_millis(100));
        loris.write_all(b"x").is_err()
    });

    // Who floods with wishes and reads nothing is closed; others are answered meanwhile.
    let mut flood = socket(&console);
    let wish = br#"{"id":1,"op":"define","type":"sensor_msgs/msg/PointCloud2"}"#;
    let frame = [&[0x81, 0x80 | wish.len() as u8, 0, 0, 0, 0][..], wish].concat().repeat(500);
    flood.set_write_timeout(Some(Duration::from_secs(1))).expect("a timeout");
    for _ in 0..200 {
        if flood.write_all(&frame).is_err() {
            break;
        }
    }
    assert!(page.ask(json!({"op": "counters"})).is_ok());
    let after = memory();
    assert!(after < before + 40, "{before} MB before, {after} MB after");
    drop(partial);
}
