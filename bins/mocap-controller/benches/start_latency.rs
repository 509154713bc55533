//! From START to the last acknowledgement, for fleets of growing size, and with packets lost on the way; and what it takes
//! that many processes are there.
//!
//! `cargo bench -p rosless-mocap-controller`; `ROSLESS_BENCH_ROUNDS=200` for steadier figures.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use std::{
    collections::BTreeMap,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
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

fn fleet(domain: u16, size: usize, processes: usize) -> Fleet {
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
            .stderr(Stdio::null())
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
    let fleet = fleet(lease.id(), size, size.min(PROCESSES));
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

fn lossy(loss: &str) {
    let rounds = rounds().max(effort(200, 20));
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
    let name = |what: &str| format!("START with {loss} % loss, 10 systems, {what}");
    // What is lost has to be told of, asked for and sent again, perhaps more than once; without loss there is no such limit.
    let limited = |figure: Figure, limit: f64| if loss == "0" { figure } else { figure.at_most(limit) };
    let figure = Figure::new("protocol", name("all confirmed, p50"), percentile(&times, 50), "ms");
    limited(figure, 15.0).tell();
    let worst = name(&format!("all confirmed, worst of {rounds}"));
    limited(Figure::new("protocol", worst, times[times.len() - 1], "ms"), 150.0).tell();
    let note = format!("p95 {:.1} ms", percentile(&answers, 95));
    Figure::new("protocol", name("an answer, p50"), percentile(&answers, 50), "ms").note(note).tell();
}

/// What it takes that so many processes are on one host, each of which is to know all others: from their start on, and then
/// while nothing happens.
fn presence(size: usize) {
    let (meeting, idle) = effort((20, 10), (8, 4));
    let lease = DomainLease::acquire();
    let before = datagrams();
    let fleet = fleet(lease.id(), size, size);
    let pids = || fleet.0.iter().map(Child::id);
    thread::sleep(Duration::from_secs(meeting));
    let (met, processor) = (datagrams() - before, processor_time(pids()).as_secs_f64());
    thread::sleep(Duration::from_secs(idle));
    let per_second = (datagrams() - before - met) as f64 / idle as f64;
    let idle_processor = (processor_time(pids()).as_secs_f64() - processor) / idle as f64;
    let usage: Vec<_> = pids().filter_map(|pid| Usage::of(pid).ok()).collect();
    assert_eq!(usage.len(), size, "all are still there");
    let memory = usage.iter().map(|usage| usage.resident_bytes as f64 / 1e6).sum::<f64>() / size as f64;
    let descriptors = usage.iter().map(|usage| usage.descriptors).max().unwrap_or(0);
    println!(
        "{size:>8} {met:>10} {processor:>12.2} {per_second:>14.0} {:>10.3} {memory:>8.1} {descriptors:>12}",
        100.0 * idle_processor / size as f64
    );
    let name = |what: &str| format!("{size} processes, {what}");
    let first = format!("in the first {meeting} s, {processor:.2} s of processor time");
    Figure::new("protocol", name("datagrams to meet"), met as f64, "").note(first).tell();
    let share = format!("{:.3} % of a core each", 100.0 * idle_processor / size as f64);
    let figure = Figure::new("protocol", name("datagrams while idle"), per_second, "/s").note(share);
    figure.at_most(1000.0).tell();
    let figure = Figure::new("protocol", name("memory each"), memory, "MB");
    figure.note(format!("{descriptors} descriptors at most")).tell();
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
        for size in effort(vec![10, 40, 100], vec![10]) {
            presence(size);
        }
        return;
    }
    if !in_own_network("growing", 0) {
        println!(
            "not in a network of its own (that takes root, unshare, ip and nft): others' datagrams count, too"
        );
        return growing_fleets();
    }
    println!();
    println!(
        "10 systems, {} rounds, packets lost; all confirmed means: acknowledged and seen active",
        rounds()
    );
    println!(
        "{:>6} {:>12} {:>8} {:>18} {:>8} {:>8} {:>13} {:>13}",
        "lost %", "all: p50 ms", "max ms", "one answer: p50", "p95", "max ms", "START again", "by state only"
    );
    for loss in [0, 5] {
        assert!(in_own_network("lossy", loss), "measured with a loss of {loss} %");
    }
    println!();
    println!(
        "{:>8} {:>10} {:>12} {:>14} {:>10} {:>8} {:>12}",
        "processes", "datagrams", "processor s", "idle: per s", "% of core", "MB each", "descriptors"
    );
    assert!(in_own_network("presence", 0), "measured with many processes");
}
