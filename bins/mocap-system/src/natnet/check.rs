//! `--check`: why there are no data, one line for each thing that must be right.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, UdpSocket},
    time::Duration,
};

use rosless_cli::{Failure, Result, exit, out, output};
use rosless_engine::Engine as _;
use rosless_graph::{Context, EventLoop, config::Settings, now};
use rosless_natnet::{Description, Input, Link, Message, Output, Status, Stream, Version};

use serde_json::json;

use super::{summary, wire::Wire};
use crate::Arguments;

/// How long each thing is waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// Frames are watched for so long, so that loss and rate are worth telling.
const WATCHING: Duration = Duration::from_secs(2);

struct Looking {
    wire: Wire,
    described: Option<Vec<Description>>,
}

/// What was found out about one thing.
struct Finding {
    what: &'static str,
    /// The exit code that it alone would mean.
    code: u8,
    text: String,
}

struct Report {
    server: String,
    findings: Vec<Finding>,
}

impl Report {
    fn say(&mut self, what: &'static str, code: u8, text: impl Into<String>) {
        let finding = Finding { what, code, text: text.into() };
        if !output::is_json() {
            let word = if code == exit::DONE { "ok" } else { "FAILED" };
            out!("{:<8} {word:<6} {}", finding.what, finding.text);
        }
        self.findings.push(finding);
    }

    /// The worst that was found: nobody there goes first.
    fn end(self) -> Result<()> {
        let code = self.findings.iter().map(|finding| finding.code).max().unwrap_or(exit::DONE);
        if output::is_json() {
            let checks = self.findings.iter().map(|Finding { what, code, text }| {
                json!({"check": what, "ok": *code == exit::DONE, "text": text})
            });
            let checks: Vec<_> = checks.collect();
            output::json_line(
                &json!({"server": self.server, "success": code == exit::DONE, "checks": checks}),
            );
        }
        if code == exit::DONE { Ok(()) } else { Err(Failure { code, message: String::new() }) }
    }
}

/// Looks at everything between the cameras and us.
///
/// # Errors
/// With an exit code of the table, once everything has been told.
pub(crate) fn check(arguments: &Arguments, settings: Settings) -> Result<()> {
    let server = arguments.server.as_deref().unwrap_or("127.0.0.1");
    let wire = Wire::open(server, arguments.interface, "rosless --check")?;
    let address = wire.server;
    let mut report = Report { server: address.to_string(), findings: Vec::new() };
    match wire.local() {
        Ok(local) => report.say("route", exit::DONE, format!("{address} is reached from {local}")),
        Err(error) => {
            let text = format!("no route to {address} ({error}): wrong subnet, or a cable is not plugged in");
            report.say("route", exit::NOBODY, text);
            return report.end();
        }
    }
    let refused = is_refused(&wire);
    let context = Context::new(settings)?;
    let events = EventLoop::new(&context)?;
    let mut looking = Looking { wire, described: None };
    looking.wire.attach(
        &events,
        |looking: &mut Looking| Some(&mut looking.wire),
        |looking, output| {
            if let Output::Described(descriptions) = output {
                looking.described = Some(descriptions);
            }
        },
    )?;
    // Conditions that no event announces are looked at again.
    events.timer(Duration::from_millis(50), |_| {});
    let answered = |looking: &mut Looking| looking.wire.client.status(now()).server.is_some();
    events.run_until(&mut looking, PATIENCE, answered)?;
    let Some(info) = looking.wire.client.status(now()).server else {
        let status = looking.wire.client.status(now());
        let text = match (refused, status.unsent) {
            (true, _) => format!(
                "{address} refuses: the computer is there, and nobody listens on that port; is Motive running, and streaming enabled in it?"
            ),
            (false, Some(why)) => why,
            (false, None) => format!(
                "no answer of {address}: is the computer on, the address that of its streaming interface, streaming enabled in Motive, and UDP port {} open in its firewall?",
                address.port()
            ),
        };
        report.say("server", exit::NOBODY, text);
        return report.end();
    };
    report.say("server", exit::DONE, format!("{} {} answers", info.name, info.program));
    let version = info.natnet;
    match version {
        _ if !version.is_supported() => {
            report.say("version", exit::FAILED, Link::Unsupported(version).to_string());
            return report.end();
        }
        _ if !version.is_known() => {
            let text = format!("NatNet {version} is newer than {}, and read as that", Version::NEWEST);
            report.say("version", exit::DONE, text);
        }
        _ => report.say("version", exit::DONE, format!("NatNet {version}")),
    }

    events.run_until(&mut looking, PATIENCE, |looking| looking.described.is_some())?;
    match &looking.described {
        Some(descriptions) => report.say("model", exit::DONE, summary(descriptions)),
        None => {
            report.say("model", exit::FAILED, "no descriptions: things will have numbers instead of names")
        }
    }

    let framed = |looking: &mut Looking| looking.wire.client.link().is_streaming();
    if !events.run_until(&mut looking, PATIENCE, framed)? {
        looking.wire.client.handle(Input::AskForFrame, now());
        let came = |looking: &mut Looking| looking.wire.client.status(now()).frame_on_request;
        events.run_until(&mut looking, Duration::from_secs(1), came)?;
        report.say("stream", exit::FAILED, silence(&looking.wire.client.status(now()), &info.stream));
    } else {
        let before = looking.wire.client.status(now()).counts;
        let begin = now().mono;
        events.run_for(&mut looking, WATCHING)?;
        let status = looking.wire.client.status(now());
        let (frames, lost) =
            (status.counts.frames - before.frames, status.counts.lost.saturating_sub(before.lost));
        let rate = frames as f64 / (now().mono - begin).as_secs_f64();
        report.say(
            "stream",
            exit::DONE,
            format!("{}, {rate:.0} frames in a second, {lost} of {} lost", info.stream, frames + lost),
        );
    }
    let status = looking.wire.client.status(now());
    match status.clock {
        Some(clock) => {
            let text = format!("related to ours within {:.3} ms", clock.uncertainty as f64 / 1e6);
            report.say("clock", exit::DONE, text);
        }
        None => report.say("clock", exit::FAILED, "no echo: stamps will be those of arrival"),
    }
    looking.wire.leave(None);
    report.end()
}

/// Why no frames come from a server that answers.
fn silence(status: &Status, stream: &Stream) -> String {
    let paused = "is streaming enabled, and the capture live or playing?";
    match (status, stream) {
        (Status { malformed: 1.., last_malformed: Some(what), .. }, _) => {
            format!("datagrams come and cannot be read ({what}): another version than the server says")
        }
        (Status { foreign_frames: Some(from), .. }, _) => {
            format!(
                "frames come from {from} instead: use --server {from}, or set that address as Motive's interface"
            )
        }
        (Status { unsent: Some(why), .. }, _) => why.clone(),
        (Status { frame_on_request: true, .. }, _) => format!(
            "the server has frames, and {stream} does not reach us: a switch, a wireless network or a firewall blocks it; set Motive to unicast, or allow UDP from the server"
        ),
        (_, Stream::Multicast(group, port)) => format!(
            "no frame on {}: {paused} If so, multicast is blocked by a switch, a firewall or a router: try unicast",
            std::net::SocketAddrV4::new(*group, *port)
        ),
        (_, Stream::Unicast) => format!("no frame: {paused} If so, a firewall blocks UDP from the server"),
    }
}

/// Whether the server's machine says that nobody listens. Only a connected socket is told.
fn is_refused(wire: &Wire) -> bool {
    let ask = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect(wire.server)?;
        socket.set_read_timeout(Some(Duration::from_millis(300)))?;
        socket.send(&Message::KeepAlive.encode(Version::NEWEST))?;
        socket.recv(&mut [0; 64])
    };
    ask().is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}
