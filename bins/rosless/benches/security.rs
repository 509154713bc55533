//! What DDS Security costs: round trip, throughput, start and memory, open, signed and encrypted, in turns; and Cyclone's
//! own measuring program with the same keystore.
//!
//! `cargo bench --workspace --features security --bench security`. The ratios matter; the times are those of the machine.

#![allow(clippy::print_stdout, reason = "a benchmark prints for people")]

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rosless_graph::{
    Context, ContextOptions, EventLoop, Node, Sample, TopicQos,
    config::{Security, Strategy},
};
use rosless_tests::{
    Daemon, DomainLease, Scratch, Usage,
    bench::{Figure, PingPong, ddsperf, ddsperf_round_trip, effort, keep_apart},
    keystore_for_any_topic,
};
use rosless_wire::std_msgs::msg::String as Text;

/// Rounds per turn.
const PLAYED: PingPong = PingPong { text: 88, warm_up: 300, rounds: 3000 };
const PATIENCE: Duration = Duration::from_secs(60);
const CYCLONE_PLUGINS: &str = "/usr/lib/x86_64-linux-gnu/libddsc0debian";

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Open,
    Signed,
    Encrypted,
}

const MODES: [(Mode, &str); 3] =
    [(Mode::Open, "open"), (Mode::Signed, "signed"), (Mode::Encrypted, "encrypted")];

/// A domain, and its keystore unless it is open.
struct Lab {
    mode: Mode,
    domain: DomainLease,
    root: PathBuf,
    _folder: Scratch,
}

impl Lab {
    fn new(mode: Mode) -> Self {
        let domain = DomainLease::acquire();
        let folder = Scratch::make();
        let root = folder.join("keys");
        if mode != Mode::Open {
            keystore_for_any_topic(&root, domain.id(), &["/a", "/b"], mode == Mode::Signed);
        }
        Self { mode, domain, root, _folder: folder }
    }

    /// A participant in the enclave of that name.
    fn context(&self, node: &str) -> Context {
        let mut options = ContextOptions::for_domain(self.domain.id());
        options.settings.arguments.enclave = format!("/{node}");
        options.settings.environment.security = (self.mode != Mode::Open).then(|| Security {
            strategy: Strategy::Enforce,
            keystore: Some(self.root.clone()),
            enclave_override: None,
        });
        Context::new(options).expect("loopback is there")
    }

    fn join<S: 'static>(&self, node: &str) -> (EventLoop<S>, Node) {
        let context = self.context(node);
        (
            EventLoop::new(&context).expect("descriptors are left"),
            context.node(node).expect("the name is valid"),
        )
    }

    /// A program in the enclave `/a`.
    fn environment(&self, command: &mut Command) {
        command.env("ROS_DOMAIN_ID", self.domain.id().to_string());
        command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        if self.mode != Mode::Open {
            command.env("ROS_SECURITY_ENABLE", "true").env("ROS_SECURITY_STRATEGY", "Enforce");
            command.env("ROS_SECURITY_KEYSTORE", &self.root).env("ROS_SECURITY_ENCLAVE_OVERRIDE", "/a");
        }
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "--node") {
        return node();
    }
    // On a thread of its own: what follows is not bound to a core.
    thread::spawn(round_trips).join().expect("it measures");
    for (size, count) in [(1_000, effort(20_000, 2_000)), (1_000_000, effort(200, 20))] {
        throughput(size, count);
    }
    starts(effort(10, 3));
    memory();
}

fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort();
    times[((times.len() - 1) as f64 * share) as usize]
}

/// One figure for each mode, beside that of the open one.
fn tell(what: &str, unit: &str, values: [f64; 3]) {
    println!("{what}:");
    for ((_, name), value) in MODES.iter().zip(values) {
        println!("  {name:<10} {value:>10.1} {unit}  {:.2} of open", value / values[0]);
        if *name != "open" {
            Figure::new("security", format!("{what}, {name}"), value, unit).against("open", values[0]).tell();
        }
    }
}

fn round_trips() {
    keep_apart(0);
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..effort(3, 1) {
        for ((mode, _), times) in MODES.iter().zip(&mut times) {
            let lab = Lab::new(*mode);
            times.extend(PLAYED.play(|node| lab.context(node), ["a", "b"]));
        }
    }
    let median = times.map(|mut times| quantile(&mut times, 0.5).as_secs_f64() * 1e6);
    tell("round trip of 88 characters, median", "µs", median);
    for (place, (mode, name)) in MODES.iter().enumerate() {
        let what = format!("round trip, {name}, beside Cyclone's");
        match cyclones_round_trip(&Lab::new(*mode)) {
            Some(cyclone) => {
                println!(
                    "  Cyclone's ddsperf, {name}: {cyclone:.1} µs, ours {:.2} of it",
                    median[place] / cyclone
                );
                Figure::new("security", what, median[place], "µs")
                    .against("Cyclone's ddsperf", cyclone)
                    .tell();
            }
            None => {
                println!("  Cyclone's ddsperf, {name}: it said nothing (Debian package cyclonedds-tools)");
                Figure::not_measured("security", what, "ddsperf said nothing").tell();
            }
        }
    }
}

/// Cyclone's measuring program in an enclave of the lab.
fn secured_ddsperf(lab: &Lab, enclave: &str, time: Duration, mode: &[&str]) -> Command {
    let mut command = ddsperf(&lab.domain, time, mode);
    let open = command.get_envs().find(|(name, _)| *name == "CYCLONEDDS_URI").and_then(|(_, value)| value);
    let open = open.and_then(|value| value.to_str()).expect("ddsperf is configured").to_owned();
    if lab.mode != Mode::Open {
        let secured = format!("{}</Domain></CycloneDDS>", cyclones_security(lab, enclave));
        command.env("CYCLONEDDS_URI", open.replace("</Domain></CycloneDDS>", &secured));
    }
    command
}

/// The median of Cyclone's own ping-pong of 100 bytes, in µs.
fn cyclones_round_trip(lab: &Lab) -> Option<f64> {
    let run = |enclave: &str, mode: &[&str]| secured_ddsperf(lab, enclave, Duration::from_secs(6), mode);
    ddsperf_round_trip(run("a", &["pong"]), run("b", &["ping", "size", "100"]))
        .map(|time| time.as_secs_f64() * 1e6)
}

/// MB/s that Cyclone's listener gets, and MB that it takes for itself.
fn cyclones_flow(lab: &Lab, size: usize) -> Option<(f64, f64)> {
    let run = |enclave: &str, mode: &[&str]| secured_ddsperf(lab, enclave, Duration::from_secs(8), mode);
    // Looked for first: a missing program would fail the benchmark instead of leaving a gap in the table.
    run("a", &["help"]).stdout(Stdio::null()).status().ok()?;
    let mut listener = Daemon::spawn(run("a", &["sub"]));
    let mut talker = Daemon::spawn(run("b", &["pub", "size", &size.to_string()]));
    // `[PID] SECONDS  size BYTES total SAMPLES lost …`
    let lines = |listener: &Daemon| {
        listener.filter_map(|line| {
            let (time, rest) = line.split_once("] ")?.1.trim_start().split_once(' ')?;
            let total = rest.split_once(" total ")?.1.split_once(' ')?.0;
            Some((time.parse::<f64>().ok()?, total.parse::<f64>().ok()? * size as f64 / 1e6))
        })
    };
    let mut memory = 0;
    while listener.try_wait().is_none() {
        memory = Usage::of(listener.pid()).map_or(memory, |usage| usage.resident_bytes.max(memory));
        thread::sleep(Duration::from_millis(100));
    }
    talker.wait(PATIENCE);
    let lines = lines(&listener);
    let ((began, before), (ended, after)) = (*lines.first()?, *lines.last()?);
    (ended > began).then(|| ((after - before) / (ended - began), memory as f64 / 1e6))
}

fn cyclones_security(lab: &Lab, enclave: &str) -> String {
    let file = |name: &str| format!("file:{}/enclaves/{enclave}/{name}", lab.root.display());
    let library = |name: &str, function: &str| {
        let path = format!("{CYCLONE_PLUGINS}/libdds_security_{name}.so");
        format!(
            r#"<Library path="{path}" initFunction="init_{function}" finalizeFunction="finalize_{function}"/>"#
        )
    };
    format!(
        "<Security><Authentication>{}<IdentityCertificate>{}</IdentityCertificate><IdentityCA>{}</IdentityCA>\
         <PrivateKey>{}</PrivateKey></Authentication><AccessControl>{}<Governance>{}</Governance>\
         <PermissionsCA>{}</PermissionsCA><Permissions>{}</Permissions></AccessControl><Cryptographic>{}\
         </Cryptographic></Security>",
        library("auth", "authentication"),
        file("cert.pem"),
        file("identity_ca.cert.pem"),
        file("key.pem"),
        library("ac", "access_control"),
        file("governance.p7s"),
        file("permissions_ca.cert.pem"),
        file("permissions.p7s"),
        library("crypto", "crypto"),
    )
}

fn throughput(size: usize, count: usize) {
    let mut rates = [0.0; 3];
    for ((mode, _), rate) in MODES.iter().zip(&mut rates) {
        let lab = Lab::new(*mode);
        let seconds = thread::scope(|scope| {
            scope.spawn(|| {
                let (event_loop, node) = lab.join::<()>("a");
                let publisher = node.publisher::<Text>("bulk".keep_all()).unwrap();
                event_loop.run_until(&mut (), PATIENCE, |()| publisher.matched() == 1).unwrap();
                let message = Text { data: "x".repeat(size) };
                let burst = (64_000 / size).max(1);
                let mut said = 0;
                while said < count {
                    let room =
                        (0..burst.min(count - said)).take_while(|_| publisher.publish(&message)).count();
                    said += room;
                    let turn = if room < burst { Duration::from_millis(1) } else { Duration::ZERO };
                    event_loop.run_for(&mut (), turn).unwrap();
                }
                publisher.wait_acknowledged(PATIENCE);
            });
            let (event_loop, node) = lab.join::<Vec<Instant>>("b");
            let _subscription = event_loop
                .subscribe(&node, "bulk".keep_all(), |heard: &mut Vec<_>, _: Sample<Text>| {
                    heard.push(Instant::now());
                })
                .unwrap();
            let mut heard = Vec::new();
            event_loop.run_until(&mut heard, PATIENCE, |heard| heard.len() >= count).unwrap();
            assert_eq!(heard.len(), count, "all are heard");
            (heard[count - 1] - heard[0]).as_secs_f64()
        });
        *rate = (count - 1) as f64 * size as f64 / seconds / 1e6;
    }
    let what = format!("throughput, messages of {size} bytes");
    tell(&what, "MB/s", rates);
    for ((mode, name), rate) in MODES.iter().zip(rates) {
        let what = format!("{what}, {name}, beside Cyclone's");
        match cyclones_flow(&Lab::new(*mode), size) {
            Some((cyclone, memory)) => {
                println!(
                    "  Cyclone's ddsperf, {name}: {cyclone:.1} MB/s, ours {:.2} of it; its listener took {memory:.1} MB",
                    rate / cyclone
                );
                Figure::new("security", what, rate, "MB/s").against("Cyclone's ddsperf", cyclone).tell();
            }
            None => {
                println!("  Cyclone's ddsperf, {name}: it said nothing (Debian package cyclonedds-tools)");
                Figure::not_measured("security", what, "ddsperf said nothing").tell();
            }
        }
    }
}

/// From the call that joins the domain until both ends of a topic are matched.
fn starts(turns: usize) {
    let mut times: [Vec<Duration>; 3] = Default::default();
    for ((mode, _), times) in MODES.iter().zip(&mut times) {
        let lab = Lab::new(*mode);
        let (there, node) = lab.join::<()>("a");
        let publisher = node.publisher::<Text>("chatter").unwrap();
        for _ in 0..turns {
            let begin = Instant::now();
            let (event_loop, node) = lab.join::<()>("b");
            let subscription = event_loop.subscribe::<Text>(&node, "chatter", |(), _| {}).unwrap();
            while publisher.matched() != 1 || subscription.matched() != 1 {
                assert!(begin.elapsed() < PATIENCE, "they meet");
                for one in [&there, &event_loop] {
                    one.run_for(&mut (), Duration::from_millis(1)).unwrap();
                }
            }
            times.push(begin.elapsed());
            drop((subscription, event_loop, node));
            there.run_until(&mut (), PATIENCE, |()| publisher.matched() == 0).unwrap();
        }
    }
    let worst = times.each_mut().map(|times| quantile(times, 1.0).as_secs_f64() * 1e3);
    tell(
        "joining and meeting, median",
        "ms",
        times.map(|mut times| quantile(&mut times, 0.5).as_secs_f64() * 1e3),
    );
    tell("joining and meeting, worst", "ms", worst);
}

/// A node that is only there.
fn node() {
    let (settings, _arguments) = rosless_graph::config::settings_or_exit();
    let context = Context::new(settings).unwrap();
    let node = context.node("idle").unwrap();
    let event_loop = EventLoop::<()>::new(&context).unwrap();
    let _publisher = node.publisher::<Text>("chatter").unwrap();
    println!("up");
    event_loop.run(&mut ()).unwrap();
}

fn memory() {
    let megabytes = MODES.map(|(mode, _)| {
        let lab = Lab::new(mode);
        let mut command = Command::new(std::env::current_exe().expect("this program is somewhere"));
        command.arg("--node");
        lab.environment(&mut command);
        let daemon = Daemon::spawn(command);
        daemon.wait_for_line("up", PATIENCE);
        // With somebody met, so that keys are there.
        let (event_loop, node) = lab.join::<()>("b");
        let subscription = event_loop.subscribe::<Text>(&node, "chatter", |(), _| {}).unwrap();
        event_loop.run_until(&mut (), PATIENCE, |()| subscription.matched() == 1).unwrap();
        Usage::of(daemon.pid()).expect("the node still runs").resident_bytes as f64 / 1e6
    });
    tell("resident memory of a node that has met one", "MB", megabytes);
}
