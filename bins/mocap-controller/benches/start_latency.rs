//! From START to the last acknowledgement, for fleets of growing size, and with packets lost on the way; and what it takes
//! that many processes are there.
//!
//! `cargo bench -p rosless-mocap-controller`; `ROSLESS_BENCH_ROUNDS=200` for steadier figures.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rosless_graph::{Context, ContextOptions, EventLoop};
use rosless_protocol::{
    Dialect,
    controller::{Outcome, Proof, Report, Settings, Targets},
    message,
    node::{ControllerNode, ControllerOptions, Notice},
};
use rosless_tests::{
    DomainLease, Usage,
    bench::{Figure, effort},
    sibling_binary,
};

const PATIENCE: Duration = Duration::from_secs(60);
/// Nodes beyond this many share processes.
const PROCESSES: usize = 10;
/// How many of a hundred packets are lost.
const LOSSES: [u32; 2] = [0, 5];

/// Systems that end with the measurement.
struct Fleet(Vec<Child>);

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn fleet(domain: u16, size: usize, processes: usize, messages: impl Fn() -> Stdio) -> Fleet {
    let program = match std::env::var_os("ROSLESS_BENCH_SYSTEM") {
        Some(built) => built.into(),
        None => sibling_binary(env!("CARGO_BIN_EXE_mocap-controller"), "mocap-system"),
    };
    let children = (0..processes).map(|n| {
        Command::new(&program)
            .args(["--kind", "auxiliary", "--name", &format!("rig_{n}")])
            .args(["--count", &(size / processes).to_string()])
            .env("ROS_DOMAIN_ID", domain.to_string())
            .env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
            .stderr(messages())
            .spawn()
            .expect("mocap-system can be started")
    });
    Fleet(children.collect())
}

/// UDP datagrams sent in this network namespace so far: of this benchmark only, if the namespace is its own.
fn datagrams() -> u64 {
    let counters = std::fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    let mut udp = counters.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = (udp.next().unwrap_or_default(), udp.next().unwrap_or_default());
    let mut pairs = names.split(' ').zip(values.split(' '));
    pairs.find(|(name, _)| *name == "OutDatagrams").and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// Processor time that these processes have used, with all of their threads.
fn processor_time(pids: impl Iterator<Item = u32>) -> Duration {
    pids.filter_map(|pid| Usage::of(pid).ok()).map(|usage| usage.cpu()).sum()
}

/// What was measured with a fleet.
struct Measured {
    starts: Vec<Report>,
    /// Sent for the STARTs.
    datagrams: u64,
    /// Of controller and systems, for STARTs and STOPs.
    processor: Duration,
}

/// `rounds` STARTs, each followed by a STOP.
fn measure(size: usize, rounds: usize) -> Measured {
    let lease = DomainLease::acquire();
    let fleet = fleet(lease.id(), size, size.min(PROCESSES), Stdio::null);
    let pids = || fleet.0.iter().map(Child::id).chain([std::process::id()]);
    let context = Context::new(ContextOptions::for_domain(lease.id())).expect("a DDS participant");
    let node = context.node("mocap_controller").expect("a node");
    let event_loop = EventLoop::new(&context).expect("an event loop");
    let settings = Settings { deadline: PATIENCE, settle: Duration::ZERO, ..Settings::default() };
    let options = ControllerOptions { settings, ..ControllerOptions::of(Dialect::Mocap) };
    let collect = |reports: &mut Vec<Report>, notice: Notice<'_>| {
        if let Notice::Finished(report) = notice {
            reports.push(report.clone());
        }
    };
    let controller = ControllerNode::new(&event_loop, &node, options, collect).expect("a controller");
    let mut reports = Vec::new();
    let reachable =
        || controller.with_systems(|all| all.values().filter(|s| s.announced() && s.reachable()).count());
    let met = event_loop.run_until(&mut reports, PATIENCE, |_| reachable() == size).expect("the loop runs");
    assert!(met, "only {} of {size} systems met", reachable());
    let (mut starts, mut sent) = (Vec::new(), 0);
    let idle = processor_time(pids());
    for _ in 0..rounds {
        for command in [message::Command::Start, message::Command::Stop] {
            reports.clear();
            let before = datagrams();
            controller.request(command, "bench", Targets::All).expect("a good request");
            event_loop.run_until(&mut reports, PATIENCE, |r| !r.is_empty()).expect("the loop runs");
            let report = reports.pop().expect("every request ends");
            assert!(report.is_success(), "{report:?}");
            if command == message::Command::Start {
                starts.push(report);
                sent += datagrams() - before;
            }
        }
    }
    Measured { starts, datagrams: sent, processor: processor_time(pids()) - idle }
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

fn millis(reports: &[Report], time: impl Fn(&Report) -> Option<Duration>) -> Vec<f64> {
    let mut times: Vec<_> = reports.iter().filter_map(time).map(|d| d.as_secs_f64() * 1e3).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn rounds() -> usize {
    std::env::var("ROSLESS_BENCH_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or_else(|| effort(30, 10))
}

fn growing_fleets() {
    println!("START to last acknowledgement, {} rounds each, all on one host", rounds());
    println!(
        "{:>8} {:>10} {:>10} {:>15} {:>20} {:>21} {:>20}",
        "systems",
        "p50 ms",
        "p99 ms",
        "p50 µs/system",
        "messages/system",
        "datagrams/system",
        "processor µs/system"
    );
    let (mut per_system, mut processor_per_system) = (BTreeMap::new(), BTreeMap::new());
    for size in [1, 10, 50, 100] {
        let Measured { starts: reports, datagrams, processor } = measure(size, rounds());
        let times = millis(&reports, |r| r.last_answer_after);
        let published: u32 = reports.iter().map(|r| r.messages).sum();
        let answers: usize =
            reports.iter().flat_map(|r| r.results.values()).filter(|r| r.answered_after.is_some()).count();
        let each = |count: f64| count / (reports.len() * size) as f64;
        let p50 = percentile(&times, 50);
        per_system.insert(size, p50 / size as f64);
        // A command is a START or a STOP.
        let processor = each(processor.as_secs_f64() * 1e6 / 2.0);
        processor_per_system.insert(size, processor);
        println!(
            "{size:>8} {p50:>10.2} {:>10.2} {:>15.0} {:>20.2} {:>21.1} {processor:>20.0}",
            percentile(&times, 99),
            p50 * 1e3 / size as f64,
            each(f64::from(published) + answers as f64),
            each(datagrams as f64),
        );
        let name = |what: &str| format!("START to last acknowledgement, {size} systems, {what}");
        let note = format!(
            "per system {:.2} messages, {:.1} datagrams",
            each(f64::from(published) + answers as f64),
            each(datagrams as f64)
        );
        Figure::new("protocol", name("p50"), p50, "ms").note(note).tell();
        Figure::new("protocol", name("p99"), percentile(&times, 99), "ms").tell();
    }
    // Linear growth; a fifth is left to the noise of a machine with fewer cores than processes. What it costs does not
    // depend on who else wants the processor.
    for size in [50, 100] {
        println!("time per system, {size} systems to 10: {:.2}", per_system[&size] / per_system[&10]);
        let name = |what: &str| format!("START, each of {size} systems, {what}");
        let figure = Figure::new("protocol", name("p50"), per_system[&size], "ms");
        figure.against("of 10 systems", per_system[&10]).ratio_at_most(1.2).tell();
        let figure = Figure::new("protocol", name("processor time"), processor_per_system[&size], "µs");
        figure.against("of 10 systems", processor_per_system[&10]).ratio_at_most(1.2).tell();
    }
}

/// What is measured with a share of packets lost, and the limit of each with loss.
fn name_with_loss(loss: &str, what: &str) -> String {
    format!("START with {loss} % loss, 10 systems, {what}")
}
const CONFIRMED: (&str, f64) = ("all confirmed, p50", 15.0);
const WORST: (&str, f64) = ("all confirmed, worst of", 150.0);
const ANSWERED: &str = "an answer, p50";

/// Of how many STARTs the worst is told.
fn lossy_rounds() -> usize {
    rounds().max(effort(200, 20))
}

/// What is lost has to be told of, asked for and sent again, perhaps more than once; without loss there is no such limit.
fn limited(loss: &str, figure: Figure, limit: f64) -> Figure {
    if loss == "0" { figure } else { figure.at_most(limit) }
}

fn lossy(loss: &str) {
    let rounds = lossy_rounds();
    let Measured { starts: reports, .. } = measure(10, rounds);
    let times = millis(&reports, |r| Some(r.took));
    let results = || reports.iter().flat_map(|r| r.results.values());
    let mut answers: Vec<_> =
        results().filter_map(|r| r.answered_after).map(|d| d.as_secs_f64() * 1e3).collect();
    answers.sort_by(f64::total_cmp);
    let lost = results().filter(|r| r.outcome == Outcome::Done(Proof::StateOnly)).count();
    let again = results().filter(|r| r.attempts > 1).count();
    println!(
        "{loss:>6} {:>12.1} {:>8.1} {:>18.1} {:>8.1} {:>8.1} {again:>13} {lost:>13}",
        percentile(&times, 50),
        times[times.len() - 1],
        percentile(&answers, 50),
        percentile(&answers, 95),
        answers[answers.len() - 1],
    );
    let name = |what: &str| name_with_loss(loss, what);
    let figure = Figure::new("protocol", name(CONFIRMED.0), percentile(&times, 50), "ms");
    limited(loss, figure, CONFIRMED.1).tell();
    let worst = Figure::new("protocol", name(&format!("{} {rounds}", WORST.0)), times[times.len() - 1], "ms");
    limited(loss, worst, WORST.1).tell();
    let note = format!("p95 {:.1} ms", percentile(&answers, 95));
    Figure::new("protocol", name(ANSWERED), percentile(&answers, 50), "ms").note(note).tell();
}

/// How many processes are there at once.
fn crowds() -> Vec<usize> {
    effort(vec![10, 40, 100], vec![10, 40])
}

/// The rows of [`presence`], in the order in which they are told; those with a limit at this size have it.
fn presence_targets(size: usize) -> [(String, Option<f64>); 5] {
    let name = |what: &str| format!("{size} processes, {what}");
    [
        // Half of the 102 582 that it took when work on the data path began.
        (name("datagrams to meet"), (size == 40).then_some(51_291.0)),
        (name("start to ready, the last"), None),
        (name("datagrams while idle"), Some(1000.0)),
        (name("memory each"), None),
        (name("descriptors each, at most"), None),
    ]
}

fn per_participant(sizes: &[usize]) -> Option<(String, [usize; 2])> {
    let (few, many) = (*sizes.first()?, *sizes.last()?);
    let name = format!("memory per remote participant, from {few} to {many} processes");
    (few < many).then_some((name, [few, many]))
}
const PER_PARTICIPANT: f64 = 40.0;

/// A pipe for the messages of a fleet, and when each system said that it is ready: what others may ask of it, it answers.
fn readiness() -> (impl Fn() -> Stdio, mpsc::Receiver<Instant>) {
    let (reader, writer) = io::pipe().expect("descriptors are left");
    let (ready, told) = mpsc::channel();
    // Until the last of the fleet has ended: nobody waits for room in the pipe.
    thread::spawn(move || {
        for line in BufReader::new(reader).lines().map_while(Result::ok) {
            if line.ends_with("is inactive") {
                let _ = ready.send(Instant::now());
            }
        }
    });
    (move || writer.try_clone().expect("descriptors are left").into(), told)
}

/// What it takes that so many processes are on one host, each of which is to know all others: from their start on, and then
/// while nothing happens. Returns the resident memory of one in bytes.
fn presence(size: usize) -> f64 {
    let (meeting, idle) = effort((20, 10), (8, 4));
    let lease = DomainLease::acquire();
    let (messages, ready) = readiness();
    let (before, began) = (datagrams(), Instant::now());
    let fleet = fleet(lease.id(), size, size, messages);
    let started = Instant::now();
    let pids = || fleet.0.iter().map(Child::id);
    let up = (0..size).map(|n| {
        let left = PATIENCE.saturating_sub(began.elapsed());
        let up = ready.recv_timeout(left).unwrap_or_else(|_| panic!("only {n} of {size} are ready"));
        (up - began).as_secs_f64() * 1e3
    });
    let up: Vec<f64> = up.collect();
    let (first_up, all_up) = (up[0], up[size - 1]);
    thread::sleep(Duration::from_secs(meeting).saturating_sub(started.elapsed()));
    let (met, processor) = (datagrams() - before, processor_time(pids()).as_secs_f64());
    thread::sleep(Duration::from_secs(idle));
    let per_second = (datagrams() - before - met) as f64 / idle as f64;
    let idle_processor = (processor_time(pids()).as_secs_f64() - processor) / idle as f64;
    let usage: Vec<_> = pids().filter_map(|pid| Usage::of(pid).ok()).collect();
    assert_eq!(usage.len(), size, "all are still there");
    let memory = usage.iter().map(|usage| usage.resident_bytes as f64).sum::<f64>() / size as f64;
    let descriptors = usage.iter().map(|usage| usage.descriptors).max().unwrap_or(0);
    println!(
        "{size:>8} {met:>10} {processor:>12.2} {all_up:>9.0} {per_second:>14.0} {:>10.3} {:>8.1} {descriptors:>12}",
        100.0 * idle_processor / size as f64,
        memory / 1e6
    );
    let first = format!("in the first {meeting} s, {processor:.2} s of processor time");
    let share = format!("{:.3} % of a core each", 100.0 * idle_processor / size as f64);
    let measured = [
        (met as f64, "", first),
        (all_up, "ms", format!("all started at once; the first after {first_up:.0} ms")),
        (per_second, "/s", share),
        (memory / 1e6, "MB", String::new()),
        (descriptors as f64, "", "142 when work on the data path began".to_owned()),
    ];
    for ((name, limit), (value, unit, note)) in presence_targets(size).into_iter().zip(measured) {
        let figure = Figure::new("protocol", name, value, unit).note(note);
        match limit {
            Some(limit) => figure.at_most(limit),
            None => figure,
        }
        .tell();
    }
    memory
}

fn presences() {
    let sizes = crowds();
    let memory: BTreeMap<_, _> = sizes.iter().map(|size| (*size, presence(*size))).collect();
    if let Some((name, [few, many])) = per_participant(&sizes) {
        let each = (memory[&many] - memory[&few]) / (many - few) as f64 / 1e3;
        println!("{name}: {each:.1} kB");
        Figure::new("protocol", name, each, "kB").at_most(PER_PARTICIPANT).tell();
    }
}

/// The rows that need a network of their own, where there is none.
fn tell_what_is_missing(reason: &str) {
    let missing = |name: String| Figure::not_measured("protocol", name, reason);
    for loss in LOSSES.map(|loss| loss.to_string()) {
        let name = |what: &str| name_with_loss(&loss, what);
        limited(&loss, missing(name(CONFIRMED.0)), CONFIRMED.1).tell();
        limited(&loss, missing(name(&format!("{} {}", WORST.0, lossy_rounds()))), WORST.1).tell();
        missing(name(ANSWERED)).tell();
    }
    for (name, limit) in crowds().into_iter().flat_map(presence_targets) {
        match limit {
            Some(limit) => missing(name).at_most(limit),
            None => missing(name),
        }
        .tell();
    }
    if let Some((name, _)) = per_participant(&crowds()) {
        missing(name).at_most(PER_PARTICIPANT).tell();
    }
}

/// Starts this program again in a network of its own, whose loopback drops some of a hundred packets. `false` where
/// that is not possible.
fn in_own_network(role: &str, loss: u32) -> bool {
    let own = std::env::current_exe().expect("this program has a path");
    let system = sibling_binary(env!("CARGO_BIN_EXE_mocap-controller"), "mocap-system");
    let script = format!(
        "ip link set lo up && nft add table inet loss && \
         nft add chain inet loss in '{{ type filter hook input priority 0; }}' && \
         nft add rule inet loss in meta l4proto udp numgen random mod 100 '<' {loss} drop && \
         exec \"$0\" {role} {loss}"
    );
    let status = Command::new("unshare")
        .args(["--net", "sh", "-c", &script])
        .arg(own)
        .env("ROSLESS_BENCH_SYSTEM", system)
        .status();
    status.is_ok_and(|status| status.success())
}

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    let after = |role: &str| arguments.iter().skip_while(|a| *a != role).nth(1);
    if after("growing").is_some() {
        return growing_fleets();
    }
    if let Some(loss) = after("lossy") {
        return lossy(loss);
    }
    if after("presence").is_some() {
        return presences();
    }
    if after("probe").is_some() {
        return;
    }
    if !in_own_network("probe", 0) {
        println!(
            "not in a network of its own (that takes root, unshare, ip and nft): others' datagrams count, too"
        );
        growing_fleets();
        return tell_what_is_missing("a network of its own takes root, unshare, ip and nft");
    }
    assert!(in_own_network("growing", 0), "measured with growing fleets");
    println!();
    println!(
        "10 systems, {} rounds, packets lost; all confirmed means: acknowledged and seen active",
        lossy_rounds()
    );
    println!(
        "{:>6} {:>12} {:>8} {:>18} {:>8} {:>8} {:>13} {:>13}",
        "lost %", "all: p50 ms", "max ms", "one answer: p50", "p95", "max ms", "START again", "by state only"
    );
    for loss in LOSSES {
        assert!(in_own_network("lossy", loss), "measured with a loss of {loss} %");
    }
    println!();
    println!(
        "{:>8} {:>10} {:>12} {:>9} {:>14} {:>10} {:>8} {:>12}",
        "processes",
        "datagrams",
        "processor s",
        "ready ms",
        "idle: per s",
        "% of core",
        "MB each",
        "descriptors"
    );
    assert!(in_own_network("presence", 0), "measured with many processes");
}
