//! The console beside real nodes: Foxglove clients that are not ours, who may come in, and who may command.

mod access;
mod browser;
mod foxglove;
mod operating;
mod robots;

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use rosless_tests::{Daemon, DomainLease, eventually_some};
use serde_json::Value;
use tungstenite::{WebSocket, client::IntoClientRequest as _, http::HeaderValue};

const PATIENCE: Duration = Duration::from_secs(60);

/// A running console.
struct Console {
    daemon: Daemon,
    /// `127.0.0.1:port`.
    host: String,
}

impl Console {
    fn start(domain: &DomainLease, arguments: &[&str]) -> Self {
        let port: &[_] = if arguments.contains(&"--port") { &[] } else { &["--port", "0"] };
        let arguments = [port, arguments].concat();
        let daemon = Daemon::spawn(domain.command(env!("CARGO_BIN_EXE_rosless-console"), &arguments));
        let line = daemon.wait_for_line("http://", PATIENCE);
        let host = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
        let host = host.trim().replace("THIS-MACHINE", "127.0.0.1");
        Self { daemon, host }
    }

    /// Status and body of an answer to these lines.
    fn ask(&self, path: &str, fields: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let host = if fields.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.host) };
        let text = format!("GET {path} HTTP/1.1\r\n{host}{fields}Connection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, answer)
    }

    fn page(&self) -> Page {
        self.try_page("", None).expect("let in")
    }

    fn try_page(&self, query: &str, origin: Option<&str>) -> Result<Page, tungstenite::Error> {
        let mut request = format!("ws://{}/{query}", self.host).into_client_request()?;
        request
            .headers_mut()
            .insert("Sec-WebSocket-Protocol", HeaderValue::from_static("rosless.console.v1"));
        if let Some(origin) = origin {
            request.headers_mut().insert("Origin", HeaderValue::from_str(origin).expect("text"));
        }
        let stream = TcpStream::connect(&self.host)?;
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        match tungstenite::client::client_with_config(request, stream, None) {
            Ok((socket, _)) => Ok(Page { socket, next: 0 }),
            Err(tungstenite::HandshakeError::Failure(error)) => Err(error),
            Err(tungstenite::HandshakeError::Interrupted(_)) => panic!("the handshake took too long"),
        }
    }
}

/// What a page of the console is, without a browser.
struct Page {
    socket: WebSocket<TcpStream>,
    next: u64,
}

impl Page {
    fn say(&mut self, mut message: Value) -> u64 {
        self.next += 1;
        message["id"] = self.next.into();
        self.socket.send(tungstenite::Message::text(message.to_string())).expect("sent");
        self.next
    }

    /// The next message that `pick` takes.
    fn hear<T>(&mut self, what: &str, mut pick: impl FnMut(&Value) -> Option<T>) -> T {
        eventually_some(what, PATIENCE, || match self.socket.read() {
            Ok(tungstenite::Message::Text(text)) => pick(&serde_json::from_str(&text).expect("JSON")),
            Err(tungstenite::Error::Io(_)) | Ok(_) => None,
            Err(error) => panic!("{what}: {error}"),
        })
    }

    /// Asks and waits for the answer.
    fn ask(&mut self, message: Value) -> Result<Value, String> {
        let what = message.to_string();
        let id = self.say(message);
        self.hear(&what, |m| {
            (m["op"] == "answer" && m["id"] == id).then(|| match m.get("ok") {
                Some(value) => Ok(value.clone()),
                None => Err(m["error"].as_str().unwrap_or_default().to_owned()),
            })
        })
    }
}
