//! What the NatNet driver costs at 360 frames of 200 markers in a second: share of a core, and the way from the packet to a
//! subscriber, beside a program that forwards the same packets over UDP and does nothing else.
//!
//! `cargo bench -p rosless-mocap-system`. The ratio matters; the times are those of the machine.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use std::{
    collections::HashMap,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    process::Command,
    rc::Rc,
    time::{Duration, Instant},
};

use rosless_engine::Engine as _;
use rosless_graph::{TopicQos as _, monotonic, now};
use rosless_natnet::{Scene, Server, ServerInput, ServerOutput};
use rosless_tests::{
    Daemon, Rig, Usage,
    bench::{Figure, effort},
};
use rosless_wire::{
    lifecycle_msgs::{msg::Transition, srv},
    mocap4r2_msgs::msg::{Markers, RigidBodies},
};

const RATE: f64 = 360.0;
const MARKERS: usize = 200;
const BODIES: usize = 10;

struct Bench {
    server: Server,
    sent: HashMap<i32, Instant>,
    ours: Vec<Duration>,
    forwarded: Vec<Duration>,
    bodies: usize,
}

impl Default for Bench {
    fn default() -> Self {
        let scene = Scene { rate: RATE, bodies: BODIES, markers: MARKERS - 4 * BODIES, ..Scene::default() };
        Self { server: Server::new(scene), sent: HashMap::new(), ours: vec![], forwarded: vec![], bodies: 0 }
    }
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of ours, {} forwarded", self.ours.len(), self.forwarded.len())
    }
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--forward-to").skip(1);
    if let Some(to) = arguments.next() {
        return forward(&to);
    }
    let mut rig = Rig::<Bench>::new();
    let socket = Rc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket"));
    socket.set_nonblocking(true).expect("a socket that does not block");
    let server = socket.local_addr().expect("an address");
    let own = std::env::current_exe().expect("this program is somewhere");
    let mut forwarder = Command::new(own);
    forwarder.args(["--forward-to", &server.to_string()]);
    let forwarder = Daemon::spawn(forwarder);
    let line = forwarder.wait_for_line("forwards on ", Rig::<()>::PATIENCE);
    let through: SocketAddr = line.rsplit(' ').next().and_then(|text| text.parse().ok()).expect("an address");

    let receive = socket.clone();
    rig.events
        .watch(receive, move |bench: &mut Bench, socket| {
            let mut buffer = [0; 1 << 16];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                if from == through {
                    bench.arrived(i32::from_le_bytes([buffer[4], buffer[5], buffer[6], buffer[7]]), false);
                } else {
                    bench.server.handle(ServerInput::Datagram { from, bytes: &buffer[..length] }, now());
                }
            }
            true
        })
        .expect("watched");
    rig.events.drive::<Server>(
        |bench: &mut Bench, with| with(&mut bench.server),
        move |bench, output| {
            let ServerOutput::Send(to, datagram) = output else { return };
            if datagram.starts_with(&[7, 0]) {
                let number = i32::from_le_bytes([datagram[4], datagram[5], datagram[6], datagram[7]]);
                bench.sent.insert(number, Instant::now());
                socket.send_to(&datagram, through).expect("sent");
            }
            socket.send_to(&datagram, to).expect("sent");
        },
    );
    rig.events
        .subscribe::<Markers>(&rig.node, "markers".keep_last(1000), |bench: &mut Bench, sample| {
            assert_eq!(sample.message.markers.len(), MARKERS);
            bench.arrived(sample.message.frame_number.cast_signed(), true);
        })
        .expect("subscribed");
    rig.events
        .subscribe::<RigidBodies>(&rig.node, "rigid_bodies".keep_last(1000), |bench: &mut Bench, sample| {
            assert_eq!(sample.message.rigidbodies.len(), BODIES);
            bench.bodies += 1;
        })
        .expect("subscribed");

    let arguments = ["--kind", "natnet", "--server", &server.to_string()];
    let system = Daemon::spawn(rig.domain.command(env!("CARGO_BIN_EXE_mocap-system"), &arguments));
    rig.until("frames are forwarded", |bench| bench.forwarded.len() > 100);
    let transition = Transition { id: 3, label: String::new() };
    let answer =
        rig.call::<srv::ChangeState>("/optitrack/change_state", &srv::ChangeStateRequest { transition });
    assert!(answer.success, "{}", system.output());
    rig.until("frames are published", |bench| bench.ours.len() > 360 && bench.bodies > 360);

    let cpu = |daemon: &Daemon| Usage::of(daemon.pid()).expect("it runs").cpu();
    (rig.seen.ours, rig.seen.forwarded, rig.seen.bodies) = (Vec::new(), Vec::new(), 0);
    let (begin, before) = (monotonic(), [cpu(&system), cpu(&forwarder)]);
    rig.observe(Duration::from_secs(effort(20, 4)));
    let elapsed = (monotonic() - begin).as_secs_f64();
    let share = |daemon, before: Duration| 100.0 * (cpu(daemon) - before).as_secs_f64() / elapsed;
    let shares = [share(&system, before[0]), share(&forwarder, before[1])];
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown");

    let Bench { ours, forwarded, .. } = &mut rig.seen;
    println!(
        "{RATE} frames of {MARKERS} markers and {BODIES} rigid bodies in a second, {elapsed:.0} s, load {load}:"
    );
    println!("                        frames        p50        p99        max   of a core");
    for (name, times, share) in
        [("UDP forwarder", &mut *forwarded, shares[1]), ("driver, over DDS", &mut *ours, shares[0])]
    {
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|part| micros(times, part));
        println!("  {name:<18} {:>9} {p50:>7.0} µs {p99:>7.0} µs {max:>7.0} µs {share:>9.2} %", times.len());
    }
    let note =
        format!("load {load}; p50 {:.0} µs, forwarder {:.0} µs", micros(ours, 0.5), micros(forwarded, 0.5));
    let (p99, beside) = (micros(ours, 0.99), micros(forwarded, 0.99));
    let name = format!("NatNet packet to subscriber, {RATE} Hz × {MARKERS} markers, p99");
    Figure::new("mocap", name, p99, "µs").against("UDP forwarder", beside).note(note).tell();
    let name = format!("NatNet driver, {RATE} Hz × {MARKERS} markers, share of a core");
    Figure::new("mocap", name, shares[0], "%").against("UDP forwarder", shares[1]).at_most(5.0).tell();
}

impl Bench {
    fn arrived(&mut self, number: i32, ours: bool) {
        if let Some(sent) = self.sent.get(&number) {
            if ours { &mut self.ours } else { &mut self.forwarded }.push(sent.elapsed());
        }
    }
}

fn micros(times: &mut [Duration], part: f64) -> f64 {
    times.sort_unstable();
    let at = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
    times.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
}

/// The least that a program between two sockets can do.
fn forward(to: &str) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
    println!("forwards on {}", socket.local_addr().expect("an address"));
    let mut buffer = [0; 1 << 16];
    loop {
        let (length, _) = socket.recv_from(&mut buffer).expect("received");
        socket.send_to(&buffer[..length], to).expect("sent");
    }
}
