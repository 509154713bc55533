//! What this layer costs: round trip and service call in the same run as our RustDDS without this layer, which uses its own
//! thread, as the RustDDS of crates.io, as raw UDP and as Cyclone, with each side on a core of its own and with both on one;
//! two nodes of one process; what spinning gives and takes; and an idle node.
//!
//! `cargo bench -p rosless-graph`; `cargo bench -p rosless-graph -- --idle` for the idle node only.
//! The ratios matter; the times are those of the machine.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use std::{
    net::{IpAddr, Ipv4Addr, UdpSocket},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use mio::{Events, Interest, Poll, Token};
use rosless_graph::{Context, ContextOptions, EventLoop, Node};
use rosless_tests::{
    Daemon, DomainLease, TwoHosts, Usage,
    bench::{self, Figure, PingPong, effort},
};
use rosless_wire::{
    example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse},
    std_msgs::msg,
};
use rustix::time::{ClockId, clock_gettime};

const WARM_UP: usize = 300;
const TEXT: usize = 88;
/// Rounds per turn.
const ROUNDS: usize = 3000;
const PLAYED: PingPong = PingPong { text: TEXT, warm_up: WARM_UP, rounds: ROUNDS };
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a loop asks for events before it sleeps, where it does: longer than a sample is under way.
const SPIN: Duration = Duration::from_micros(50);
const NO_SPIN: Duration = Duration::ZERO;
const THREADED: &str = "our RustDDS with its own thread";
const STOCK: &str = "RustDDS 0.15.1";

fn main() {
    let asked = |option: &str| std::env::args().any(|argument| argument == option);
    if asked("--idle-node") {
        return idle_node();
    }
    if asked("--one-core") {
        return round_trips(", one core");
    }
    if let Some(rounds) = std::env::args().skip_while(|argument| argument != "--only-ours").nth(1) {
        our_round_trips(rounds.parse().expect("a number of rounds"), NO_SPIN);
        return;
    }
    if !asked("--idle") {
        // On a thread of its own: what follows is not bound to a core.
        thread::spawn(|| round_trips("")).join().expect("it measures");
        thread::spawn(spinning).join().expect("it measures");
        on_one_core();
        count_instructions();
    }
    measure_idle_nodes(Duration::from_secs(effort(30, 10)));
}

/// The round trips once more, all of both sides on one core: what they cost without waiting for other cores to wake up.
fn on_one_core() {
    let own = std::env::current_exe().expect("this program is somewhere");
    let mut pinned = Command::new("taskset");
    if !pinned.args(["-c", "0"]).arg(own).arg("--one-core").status().is_ok_and(|status| status.success()) {
        Figure::not_measured("graph", "round trips, one core", "taskset does not work here").tell();
    }
}

/// What a round trip costs on both sides together, counted by valgrind: the same on a busy machine.
fn count_instructions() {
    let counted = |rounds: usize| -> Option<f64> {
        let own = std::env::current_exe().ok()?;
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(own);
        let output = valgrind.args(["--only-ours", &rounds.to_string()]).output().ok()?;
        // `==123== Collected : 456`
        let text = String::from_utf8(output.stderr).ok()?;
        text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
    };
    let name = "instructions of a topic round trip, both sides";
    // Joining, meeting and leaving cost the same with few rounds as with many.
    const FEW: usize = 1000;
    match counted(FEW).zip(counted(FEW + ROUNDS)) {
        Some((few, many)) => {
            let each = (many - few) / ROUNDS as f64;
            println!("{name}: {each:.0}");
            Figure::new("graph", name, each, "").tell();
        }
        None => Figure::not_measured("graph", name, "valgrind does not work here").tell(),
    }
}

fn round_trips(place: &str) {
    bench::keep_apart(0);
    // In turns, so that a busy machine is busy for all.
    let (mut raw, mut threaded, mut stock) = (vec![], vec![], Some(vec![]));
    let (mut ours, mut within, mut calls) = (vec![], vec![], vec![]);
    let turns = effort(3, 1);
    for _ in 0..turns {
        raw.extend(raw_round_trips());
        threaded.extend(threaded_round_trips().expect("they meet and lose nothing"));
        stock = stock.zip(stock_round_trips()).map(|(before, now)| [before, now].concat());
        ours.extend(our_round_trips(ROUNDS, NO_SPIN));
        within.extend(our_round_trips_within());
        calls.extend(our_calls());
    }
    println!("round trip of {TEXT} characters over loopback{place}, median of {}:", turns * ROUNDS);
    for (share, name) in [(0.5, "beside raw UDP"), (0.99, "p99"), (0.999, "p99.9")] {
        let [ours, raw] = [&mut ours, &mut raw].map(|times| micros(quantile(times, share)));
        println!("  p{:<4} raw UDP    {raw:>7.1} µs, ours {ours:.1} µs", share * 100.0);
        let figure = Figure::new("graph", format!("topic round trip{place}, {name}"), ours, "µs");
        let figure = figure.against("raw UDP", raw);
        // On one core there is nobody to wake, so that what is left is what DDS does beside sending.
        if place.is_empty() && share == 0.5 { figure.ratio_at_most(1.5) } else { figure }.tell();
    }
    let (threaded, ours, within) = (median(threaded), median(ours), median(within));
    println!("  with its thread  {:>7.1} µs", micros(threaded));
    for (what, time) in [("topic, ours", ours), ("service, ours", median(calls))] {
        let name = format!("{} round trip{place}, median", what.trim_end_matches(", ours"));
        let figure = Figure::new("graph", name, micros(time), "µs").against(THREADED, micros(threaded));
        figure.ratio_at_most(1.0).tell();
        println!(
            "  {what:<16} {:>7.1} µs  {:.2} of that with its thread",
            micros(time),
            time.as_secs_f64() / threaded.as_secs_f64()
        );
    }
    let compared_with_stock = format!("topic round trip{place}, beside {STOCK} of crates.io");
    match stock.map(median) {
        Some(stock) => {
            println!("  {STOCK}   {:>7.1} µs", micros(stock));
            let figure = Figure::new("graph", compared_with_stock, micros(ours), "µs");
            figure.against(STOCK, micros(stock)).tell();
        }
        None => {
            let reason = "its participants did not meet, or lost a text";
            println!("  {STOCK}: {reason}");
            Figure::not_measured("graph", compared_with_stock, reason).tell();
        }
    }
    println!("  within a process {:>7.1} µs", micros(within));
    let name = format!("topic round trip{place}, two nodes of one process");
    let figure = Figure::new("graph", name, micros(within), "µs");
    figure.against("of two participants", micros(ours)).ratio_at_most(1.0).tell();
    let compared_with_cyclone = format!("topic round trip{place}, beside Cyclone's");
    match ddsperf() {
        Some(cyclone) => {
            println!(
                "  Cyclone's ddsperf {:>6.1} µs  ours {:.1} of it",
                micros(cyclone),
                ours.as_secs_f64() / cyclone.as_secs_f64()
            );
            let figure = Figure::new("graph", compared_with_cyclone, micros(ours), "µs");
            figure.against("Cyclone's ddsperf", micros(cyclone)).ratio_at_most(1.0).tell();
        }
        None => {
            let reason = "ddsperf is not there (Debian package cyclonedds-tools)";
            println!("  {reason}");
            Figure::not_measured("graph", compared_with_cyclone, reason).tell();
        }
    }
}

/// The round trip with each side on a core of its own, spinning and not, and what both take of a core meanwhile.
fn spinning() {
    let name = format!("topic round trip, spinning {} µs, median", SPIN.as_micros());
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Figure::not_measured("graph", name, "it takes two cores").tell();
    }
    bench::keep_apart(0);
    // Joining, meeting and leaving cost the same with few rounds as with many.
    let played = |rounds: usize, spin: Duration| {
        let before = processor_time();
        let times = our_round_trips(rounds, spin);
        (processor_time() - before, times)
    };
    let measured = |spin: Duration| {
        let ((few, short), (many, long)) = (played(ROUNDS / 10, spin), played(ROUNDS * 3, spin));
        let took = long.iter().sum::<Duration>().saturating_sub(short.iter().sum());
        let share = 100.0 * many.saturating_sub(few).as_secs_f64() / took.as_secs_f64();
        (micros(median(long)), share)
    };
    let ((asleep, little), (awake, much)) = (measured(NO_SPIN), measured(SPIN));
    println!("spinning {} µs: {awake:.1} µs and {much:.0} % of a core, both sides", SPIN.as_micros());
    println!("  without        {asleep:.1} µs and {little:.0} %");
    let note = format!("both sides take {much:.0} % of a core meanwhile, {little:.0} % without");
    Figure::new("graph", name, awake, "µs").against("without", asleep).note(note).tell();
}

/// What this process has used so far, with all of its threads, also those that have ended.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

/// The median round trip of Cyclone's own ping-pong, 100 bytes over loopback.
fn ddsperf() -> Option<Duration> {
    let domain = DomainLease::acquire();
    let command = |mode: &[&str]| bench::ddsperf(&domain, Duration::from_secs(4), mode);
    bench::ddsperf_round_trip(command(&["pong"]), command(&["ping", "size", "100"]))
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn median(mut times: Vec<Duration>) -> Duration {
    quantile(&mut times, 0.5)
}

fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort();
    times[(times.len() as f64 * share) as usize]
}

/// The same bytes with nothing around them: no system that uses UDP and blocking calls can be faster.
fn raw_round_trips() -> Vec<Duration> {
    let socket = || {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback is there");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout is set");
        socket
    };
    let (ours, theirs) = (socket(), socket());
    ours.connect(theirs.local_addr().expect("it is bound")).expect("loopback is there");
    theirs.connect(ours.local_addr().expect("it is bound")).expect("loopback is there");
    let all = WARM_UP + ROUNDS + 1;
    // An RTPS header, a time stamp, a sample and a HEARTBEAT around the text.
    let datagram = [b'x'; 20 + 12 + 24 + 8 + TEXT + 32];
    thread::scope(|scope| {
        scope.spawn(|| {
            bench::keep_apart(1);
            let mut buffer = [0; 2000];
            for _ in 0..all {
                let length = theirs.recv(&mut buffer).expect("the other side asks");
                theirs.send(&buffer[..length]).expect("sent");
            }
        });
        let mut buffer = [0; 2000];
        let round = |_| {
            ours.send(&datagram).expect("sent");
            ours.recv(&mut buffer).expect("the other side answers");
            Instant::now()
        };
        PLAYED.settled(&(0..all).map(round).collect::<Vec<_>>())
    })
}

fn text() -> String {
    "x".repeat(TEXT)
}

fn join<S: 'static>(domain: u16, node: &str) -> (EventLoop<S>, Node) {
    let context = Context::new(ContextOptions::for_domain(domain)).expect("loopback is there");
    (EventLoop::new(&context).expect("descriptors are left"), context.node(node).expect("the name is valid"))
}

/// Runs `echo` on a thread of its own while `ask` measures.
fn with_echo<T>(echo: impl FnOnce(u16) + Send, ask: impl FnOnce(u16) -> T) -> T {
    let domain = DomainLease::acquire();
    thread::scope(|scope| {
        scope.spawn(|| {
            bench::keep_apart(1);
            echo(domain.id());
        });
        ask(domain.id())
    })
}

fn our_round_trips(rounds: usize, spin: Duration) -> Vec<Duration> {
    let domain = DomainLease::acquire();
    let join = |_: &str| {
        let mut options = ContextOptions::for_domain(domain.id());
        options.settings.environment.spin = spin;
        Context::new(options).expect("loopback is there")
    };
    PingPong { rounds, ..PLAYED }.play(join, ["echo", "asker"])
}

/// Between two nodes of one participant.
fn our_round_trips_within() -> Vec<Duration> {
    let domain = DomainLease::acquire();
    let context = Context::new(ContextOptions::for_domain(domain.id())).expect("loopback is there");
    PLAYED.play_within(&context, ["echo", "asker"])
}

fn our_calls() -> Vec<Duration> {
    struct Asker {
        client: Option<rosless_graph::Client<AddTwoInts, Asker>>,
        stamps: Vec<Instant>,
    }
    fn ask(asker: &mut Asker) {
        let last = asker.stamps.len() > WARM_UP + ROUNDS;
        let request = AddTwoIntsRequest { a: i64::from(last), b: 0 };
        let client = asker.client.clone().expect("set before the first call");
        client.call(&request, PATIENCE, |asker, answer| {
            answer.expect("the server answers");
            asker.stamps.push(Instant::now());
            if asker.stamps.len() < WARM_UP + ROUNDS + 3 {
                ask(asker);
            }
        });
    }
    let serve = |domain| {
        let (event_loop, node) = join::<bool>(domain, "server");
        event_loop
            .serve::<AddTwoInts>(&node, "add", |done, request, responder| {
                *done = request.a == 1;
                responder.reply(&AddTwoIntsResponse { sum: 0 });
            })
            .unwrap();
        event_loop.run_until(&mut false, PATIENCE, |done| *done).unwrap();
        event_loop.run_for(&mut false, Duration::from_millis(200)).unwrap();
    };
    with_echo(serve, |domain| {
        let (event_loop, node) = join::<Asker>(domain, "asker");
        let client = event_loop.client::<AddTwoInts>(&node, "add").unwrap();
        let mut asker = Asker { client: Some(client), stamps: vec![] };
        ask(&mut asker);
        assert!(
            event_loop
                .run_until(&mut asker, PATIENCE, |asker| asker.stamps.len() > WARM_UP + ROUNDS + 1)
                .unwrap()
        );
        asker.client = None;
        PLAYED.settled(&asker.stamps)
    })
}

/// The same conversation without this crate, by a RustDDS. `None` where its participants do not meet or lose a text.
macro_rules! bare_round_trips {
    ($name:ident, $rustdds:ident) => {
        fn $name() -> Option<Vec<Duration>> {
            use $rustdds::{
                CDRDeserializerAdapter, CDRSerializerAdapter, DomainParticipant, DomainParticipantBuilder,
                QosPolicies, QosPolicyBuilder, Timestamp, TopicKind,
                no_key::{DataWriter, SimpleDataReader},
                policy::{History, Reliability},
            };

            struct Bare {
                reader: SimpleDataReader<String, CDRDeserializerAdapter<String>>,
                writer: DataWriter<String, CDRSerializerAdapter<String>>,
                poll: Poll,
                _participant: DomainParticipant,
            }

            impl Bare {
                fn join(domain: u16, reads: &str, writes: &str) -> Self {
                    let max_blocking_time = $rustdds::Duration::from_millis(100);
                    let qos = QosPolicyBuilder::new()
                        .reliability(Reliability::Reliable { max_blocking_time })
                        .history(History::KeepLast { depth: 10 })
                        .build();
                    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
                    let participant =
                        DomainParticipantBuilder::new(domain).with_only_networks([loopback]).build().unwrap();
                    let topic = |name: &str| {
                        participant.create_topic(name.into(), "Text".into(), &qos, TopicKind::NoKey).unwrap()
                    };
                    let none = QosPolicies::qos_none();
                    let subscriber = participant.create_subscriber(&none).unwrap();
                    let (heard, said) = (topic(reads), topic(writes));
                    let mut reader =
                        subscriber.create_simple_datareader_no_key(&heard, Some(qos.clone())).unwrap();
                    let publisher = participant.create_publisher(&none).unwrap();
                    let writer = publisher.create_datawriter_no_key(&said, Some(qos.clone())).unwrap();
                    let poll = Poll::new().unwrap();
                    poll.registry().register(&mut reader, Token(0), Interest::READABLE).unwrap();
                    Self { reader, writer, poll, _participant: participant }
                }

                /// What is refused is missed where it does not come.
                fn write(&self, text: String) {
                    let _ = self.writer.write(text, Some(Timestamp::now()));
                }

                /// Hands every text that comes to `heard` until it returns `false`. `None` when none comes any more.
                fn run(&mut self, mut heard: impl FnMut(&Self, String) -> bool) -> Option<()> {
                    let mut events = Events::with_capacity(8);
                    let deadline = Instant::now() + PATIENCE;
                    while Instant::now() < deadline {
                        self.poll.poll(&mut events, Some(Duration::from_millis(20))).unwrap();
                        self.reader.drain_read_notifications();
                        while let Ok(Some(sample)) = self.reader.try_take_one() {
                            if !heard(self, sample.into_value()) {
                                return Some(());
                            }
                        }
                    }
                    None
                }
            }

            let echo = |domain| {
                let mut bare = Bare::join(domain, "ping", "pong");
                let ended = bare.run(|bare, text| {
                    let go_on = !text.is_empty();
                    bare.write(text);
                    go_on
                });
                if ended.is_some() {
                    let _ = bare.writer.wait_for_acknowledgments(PATIENCE);
                }
            };
            with_echo(echo, |domain| {
                let mut bare = Bare::join(domain, "pong", "ping");
                // RustDDS tells about matches in three places; asking until somebody answers is simpler.
                let mut events = Events::with_capacity(8);
                let deadline = Instant::now() + PATIENCE;
                while !matches!(bare.reader.try_take_one(), Ok(Some(_))) {
                    if Instant::now() > deadline {
                        return None;
                    }
                    bare.write("anybody?".into());
                    bare.poll.poll(&mut events, Some(Duration::from_millis(100))).unwrap();
                    bare.reader.drain_read_notifications();
                }
                bare.write(text());
                let mut stamps = Vec::new();
                bare.run(|bare, answer| {
                    if answer == "anybody?" {
                        return true;
                    }
                    stamps.push(Instant::now());
                    let last = stamps.len() > WARM_UP + ROUNDS;
                    bare.write(if last { String::new() } else { text() });
                    !answer.is_empty()
                })?;
                Some(PLAYED.settled(&stamps))
            })
        }
    };
}

bare_round_trips!(threaded_round_trips, rustdds);
bare_round_trips!(stock_round_trips, stock_rustdds);

/// A node as every daemon has one: nothing to do but be there.
fn idle_node() {
    let (settings, _arguments) = rosless_graph::config::settings_or_exit();
    let context = Context::new(settings).unwrap();
    let node = context.node("idle").unwrap();
    let event_loop = EventLoop::<()>::new(&context).unwrap();
    let _publisher = node.publisher::<msg::String>("chatter").unwrap();
    event_loop.subscribe::<msg::String>(&node, "chatter", |_, _| {}).unwrap();
    println!("up");
    event_loop.run(&mut ()).unwrap();
}

/// The cost of a node alone, once on loopback and once on a network of its own, watched at the same time.
fn measure_idle_nodes(watched: Duration) {
    // Announcements are more frequent in the first seconds.
    const SETTLE: Duration = Duration::from_secs(8);
    let domain = DomainLease::acquire();
    let own = std::env::current_exe().unwrap();
    let start = |mut command: Command, range: &str| {
        command
            .arg("--idle-node")
            .env("ROS_DOMAIN_ID", domain.id().to_string())
            .env("ROS_AUTOMATIC_DISCOVERY_RANGE", range);
        let node = Daemon::spawn(command);
        node.wait_for_line("up", PATIENCE);
        node
    };
    let mut nodes = vec![("LOCALHOST", start(Command::new(&own), "LOCALHOST"))];
    // Multicast on the host's real interface would be heard by its neighbours.
    let hosts = TwoHosts::new();
    if let Some(hosts) = &hosts {
        nodes.push(("SUBNET", start(hosts.command(0, own.to_str().unwrap()), "SUBNET")));
    } else {
        Figure::not_measured("graph", "idle node, SUBNET", "network namespaces need root").tell();
    }
    thread::sleep(SETTLE);
    let look = |node: &Daemon| (Instant::now(), Usage::of(node.pid()).expect("the node still runs"));
    let before: Vec<_> = nodes.iter().map(|(_, node)| look(node)).collect();
    thread::sleep(watched);
    for ((range, node), (begin, before)) in nodes.iter().zip(before) {
        let (end, after) = look(node);
        let seconds = (end - begin).as_secs_f64();
        let percent = |cpu: Duration| 100.0 * cpu.as_secs_f64() / seconds;
        println!("idle node, {range}, watched for {seconds:.0} s after {} s:", SETTLE.as_secs());
        let (cpu, memory) = (percent(after.cpu() - before.cpu()), after.resident_bytes as f64 / 1e6);
        println!("  CPU      {cpu:.4} % of a core");
        println!("  RSS      {memory:.1} MB");
        let name = |what: &str| format!("idle node, {range}, {what}");
        Figure::new("graph", name("share of a core"), cpu, "%").at_most(0.05).tell();
        let threads = format!("{} threads", after.threads.len());
        Figure::new("graph", name("resident memory"), memory, "MB").at_most(12.0).note(threads).tell();
        println!("  threads  {}", after.threads.len());
        for thread in &after.threads {
            let then = before.threads.iter().find(|then| then.id == thread.id);
            let (cpu, turns) = then.map_or((Duration::ZERO, 0), |then| (then.cpu, then.turns));
            println!(
                "    {:<16} {:.4} %, wakes {:.1} times a second",
                thread.name,
                percent(thread.cpu - cpu),
                (thread.turns - turns) as f64 / seconds
            );
        }
    }
}
