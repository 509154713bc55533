//! A NatNet server without cameras, to try `mocap-system --kind natnet` and other clients at a desk.

#![forbid(unsafe_code)]

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, SocketAddrV4, UdpSocket},
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use rosless_cli::{Failure, Result, args::seconds, out};
use rosless_engine::{Engine as _, Now};
use rosless_graph::config::Settings;
use rosless_natnet::{Scene, Server, ServerInfo, ServerInput, ServerOutput, Stream, Version};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::SockRef;

/// Speaks NatNet as Motive does, with bodies that go round in circles.
#[derive(Debug, Parser)]
#[command(name = "sim-natnet", version, after_help = rosless_cli::EXIT_CODES)]
struct Arguments {
    /// The address to serve on
    #[arg(long, default_value = "127.0.0.1")]
    address: Ipv4Addr,
    /// The port for commands; 0 for any, which is printed
    #[arg(long, default_value_t = 1510)]
    port: u16,
    /// Send frames to this multicast group instead of to each client
    #[arg(long, value_name = "GROUP[:PORT]", value_parser = group)]
    multicast: Option<SocketAddrV4>,
    /// The version to speak: 3.0 to 4.2; others to see how clients take it
    #[arg(long, default_value = "4.1", value_parser = version)]
    natnet: Version,
    /// Frames in a second
    #[arg(long, default_value_t = 120.0)]
    rate: f64,
    /// Rigid bodies of four markers
    #[arg(long, default_value_t = 2)]
    bodies: usize,
    /// Markers that belong to nothing
    #[arg(long, default_value_t = 4)]
    markers: usize,
    /// A skeleton as well
    #[arg(long)]
    skeleton: bool,
    /// A force plate and an analog device as well
    #[arg(long)]
    analog: bool,
    /// Answer, and send no frames
    #[arg(long)]
    silent: bool,
    /// Every so many-th frame is lost
    #[arg(long, default_value_t = 0, value_name = "N")]
    lose_every: u32,
    /// Every so many-th frame is sent after the next
    #[arg(long, default_value_t = 0, value_name = "N")]
    swap_every: u32,
    /// Commands that begin so are refused, such as StartRecording
    #[arg(long, value_name = "COMMAND")]
    refuse: Vec<String>,
    /// One more rigid body after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    add_body_after: Option<Duration>,
}

fn group(text: &str) -> std::result::Result<SocketAddrV4, String> {
    let with_port = text.parse().or_else(|_| text.parse().map(|group| SocketAddrV4::new(group, 1511)));
    let found: std::result::Result<SocketAddrV4, _> = with_port;
    found
        .ok()
        .filter(|group| group.ip().is_multicast())
        .ok_or_else(|| "expected such as 239.255.42.99:1511".to_owned())
}

fn version(text: &str) -> std::result::Result<Version, String> {
    let parsed =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parsed.map(|(major, minor)| Version::new(major, minor)).ok_or_else(|| "expected such as 4.1".to_owned())
}

fn main() -> ExitCode {
    rosless_cli::main(run)
}

fn run(arguments: Arguments, _: Settings) -> Result<()> {
    let defaults = Scene::default();
    let stream =
        arguments.multicast.map_or(Stream::Unicast, |group| Stream::Multicast(*group.ip(), group.port()));
    let scene = Scene {
        info: ServerInfo { natnet: arguments.natnet, stream, ..defaults.info },
        rate: arguments.rate,
        bodies: arguments.bodies,
        markers: arguments.markers,
        skeleton: arguments.skeleton,
        analog: arguments.analog,
        silent: arguments.silent,
        lose_every: arguments.lose_every,
        swap_every: arguments.swap_every,
        refuse: arguments.refuse,
        ..defaults
    };
    let local = SocketAddrV4::new(arguments.address, arguments.port);
    let refuse = |error| Failure::new(format!("cannot serve on {local}: {error}"));
    let socket = UdpSocket::bind(local).map_err(refuse)?;
    socket.set_nonblocking(true).map_err(refuse)?;
    SockRef::from(&socket).set_multicast_if_v4(&arguments.address).map_err(refuse)?;
    out!("serves NatNet {} on {}, {stream}", arguments.natnet, socket.local_addr().map_err(refuse)?);

    let begin = Instant::now();
    let mut server = Server::new(scene);
    let mut add = arguments.add_body_after;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let time = begin.elapsed();
        if add.take_if(|due| *due <= time).is_some() {
            server.handle(ServerInput::AddBody, Now::after(time));
        }
        server.wake(Now::after(time));
        while let Some(output) = server.poll_output() {
            let sent = match output {
                ServerOutput::Send(to, datagram) => socket.send_to(&datagram, to),
                ServerOutput::Multicast(datagram) => match arguments.multicast {
                    Some(group) => socket.send_to(&datagram, group),
                    None => Ok(0),
                },
                ServerOutput::Note(text) => {
                    out!("{text}");
                    Ok(0)
                }
            };
            if let Err(error) = sent {
                log::debug!("not sent: {error}");
            }
        }
        let wait = server.next_deadline().unwrap_or_default().saturating_sub(begin.elapsed());
        // A socket's own time-out is as coarse as the kernel's ticks.
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait.min(Duration::from_millis(999)).as_nanos() as _ };
        if let Err(error) = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&timeout)) {
            log::debug!("cannot wait: {error}");
        }
        match socket.recv_from(&mut buffer) {
            Ok((length, from)) => {
                let bytes = &buffer[..length];
                server.handle(ServerInput::Datagram { from, bytes }, Now::after(begin.elapsed()));
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // A client has left, and its machine says so.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(Failure::new(format!("cannot serve any more: {error}"))),
        }
    }
}
