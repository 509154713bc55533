//! Many samples: how many megabytes a second go from one process to another over loopback in large ones and how many small ones
//! do, and what they cost in processor time, beside Cyclone's `ddsperf` in the same run; and how long a small sample waits
//! behind large ones.
//!
//! `cargo bench -p rosless-graph --bench large_data`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use rosless_graph::{Context, ContextOptions, EventLoop, Node, TopicQos};
use rosless_tests::{
    Daemon, DomainLease, Usage,
    bench::{self, Figure, effort},
    eventually_some,
};
use rosless_wire::std_msgs::msg::{UInt8MultiArray, UInt64};

const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a sample, with layout and lengths.
const SMALL: usize = 100;
const LARGE: [usize; 2] = [1_000_000, 10_000_000];
/// In front of the bytes of a sample: encapsulation, layout and lengths.
const FRONT: usize = 16;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |index: usize| arguments[index].parse::<u64>().expect("a number");
    match arguments.get(1).map(String::as_str) {
        Some("--talk") => talk(number(2) as u16, number(3) as usize),
        Some("--listen") => listen(number(2) as u16),
        _ => measure(Duration::from_secs(effort(6, 2))),
    }
}

fn join<S: 'static>(domain: u16, node: &str) -> (EventLoop<S>, Node) {
    let context = Context::new(ContextOptions::for_domain(domain)).expect("loopback is there");
    (EventLoop::new(&context).expect("descriptors are left"), context.node(node).expect("the name is valid"))
}

/// Publishes as fast as there is room, and every millisecond a small sample with the time.
fn talk(domain: u16, size: usize) {
    let (event_loop, node) = join::<()>(domain, "talker");
    let large = node.publisher::<UInt8MultiArray>("large".keep_all()).unwrap();
    let small = node.publisher::<UInt64>("small").unwrap();
    let begin = Instant::now();
    while (large.matched() == 0 || small.matched() == 0) && begin.elapsed() < PATIENCE {
        event_loop.run_for(&mut (), Duration::from_millis(10)).unwrap();
    }
    event_loop.timer(Duration::from_millis(1), move |()| {
        small.publish(&UInt64 { data: nanos() });
    });
    let sample = UInt8MultiArray { data: vec![7; size - FRONT], ..Default::default() };
    // A turn of the loop for each large sample, and for a datagram's worth of small ones.
    let burst = (64_000 / size).max(1);
    let wait = if size == SMALL { Duration::from_micros(50) } else { Duration::from_millis(1) };
    loop {
        let full = (0..burst).any(|_| !large.publish(&sample));
        // Room comes with an acknowledgement, which is handled at once; this only bounds the wait for it.
        let turn = if full { wait } else { Duration::ZERO };
        event_loop.run_for(&mut (), turn).unwrap();
    }
}

#[derive(Default)]
struct Heard {
    samples: usize,
    /// How long the small samples took, in nanoseconds.
    small: Vec<u64>,
}

/// Says each half second what has come since it began.
fn listen(domain: u16) {
    let (event_loop, node) = join::<Heard>(domain, "listener");
    event_loop
        .subscribe::<UInt8MultiArray>(&node, "large".keep_all(), |heard: &mut Heard, _| {
            heard.samples += 1;
        })
        .unwrap();
    event_loop
        .subscribe::<UInt64>(&node, "small", |heard: &mut Heard, sample| {
            heard.small.push(nanos().saturating_sub(sample.message.data));
        })
        .unwrap();
    event_loop.timer(Duration::from_millis(500), |heard| {
        let small = &mut heard.small;
        small.sort_unstable();
        let at = |share: f64| small.get((small.len() as f64 * share) as usize).copied().unwrap_or(0);
        println!("heard {} {} {} {}", nanos(), heard.samples, at(0.5), at(0.99));
    });
    event_loop.run(&mut Heard::default()).unwrap();
}

/// The time of a clock that both processes have.
fn nanos() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

struct Flow {
    samples_per_second: f64,
    /// Of both processes, in seconds for a sample.
    cpu: f64,
    /// What a small sample takes beside them, in milliseconds: the median and p99.
    beside: [f64; 2],
}

const CYCLONE: &str = "Cyclone's ddsperf";
const NO_CYCLONE: &str = "ddsperf is not there (Debian package cyclonedds-tools)";

/// Ours beside Cyclone's, where that is there.
fn tell(figure: Figure, theirs: Option<f64>) {
    match theirs {
        Some(theirs) => figure.against(CYCLONE, theirs).tell(),
        None => figure.note(NO_CYCLONE).tell(),
    }
}

fn measure(watched: Duration) {
    small_samples(watched);
    let mut cost = Vec::new();
    for size in LARGE {
        let megabytes = size as f64 / 1e6;
        let what = format!("{megabytes} MB samples");
        let ours = our_flow(size, watched);
        let theirs = cyclone_flow(size, watched);
        let rate = |flow: &Flow| flow.samples_per_second * megabytes;
        let cpu = |flow: &Flow| flow.cpu * 1e3 / megabytes;
        println!("{what}: {:.0} MB/s, {:.2} ms of processor for a MB", rate(&ours), cpu(&ours));
        if let Some(theirs) = &theirs {
            println!("  Cyclone {:.0} MB/s, {:.2} ms", rate(theirs), cpu(theirs));
        }
        tell(Figure::new("large data", what.clone(), rate(&ours), "MB/s"), theirs.as_ref().map(rate));
        let name = format!("{what}, processor time for a MB");
        tell(Figure::new("large data", name, cpu(&ours), "ms"), theirs.as_ref().map(cpu));
        // Who waits longer than one of them takes stood in line behind it.
        let [p50, p99] = ours.beside;
        let one = 1e3 / ours.samples_per_second;
        println!("  a small sample beside them takes {p50:.2} ms, p99 {p99:.2} ms; one of them {one:.2} ms");
        let figure = Figure::new("large data", format!("a small sample beside {what}, p99"), p99, "ms");
        let figure = figure.against("one of them", one).note(format!("p50 {p50:.2} ms"));
        if size == LARGE[1] { figure.ratio_at_most(1.0) } else { figure }.tell();
        cost.push(cpu(&ours));
    }
    // Work with all fragments for each of them would make this ten.
    println!("processor time for a MB, 10 MB samples to 1 MB samples: {:.2}", cost[1] / cost[0]);
    let name = "10 MB samples, processor time for a MB, beside 1 MB samples";
    let figure = Figure::new("large data", name, cost[1], "ms").against("1 MB samples", cost[0]);
    figure.ratio_at_most(2.0).tell();
}

/// As many small ones as there is room for, reliable and KEEP_ALL.
fn small_samples(watched: Duration) {
    let (ours, theirs) = (our_flow(SMALL, watched), cyclone_flow(SMALL, watched));
    let what = format!("samples of {SMALL} bytes, reliable, KEEP_ALL");
    println!("{what}: {:.0} a second, {:.2} µs of processor each", ours.samples_per_second, ours.cpu * 1e6);
    if let Some(theirs) = &theirs {
        println!("  Cyclone {:.0} a second, {:.2} µs", theirs.samples_per_second, theirs.cpu * 1e6);
    }
    let rate = Figure::new("graph", what.clone(), ours.samples_per_second, "/s");
    tell(rate, theirs.as_ref().map(|flow| flow.samples_per_second));
    let cpu = Figure::new("graph", format!("{what}, processor time for each"), ours.cpu * 1e6, "µs");
    tell(cpu, theirs.as_ref().map(|flow| flow.cpu * 1e6));
}

fn our_flow(size: usize, watched: Duration) -> Flow {
    let domain = DomainLease::acquire();
    let own = std::env::current_exe().expect("this program is somewhere");
    let start = |mode: &str, more: &[String]| {
        let mut command = Command::new(&own);
        command.arg(mode).arg(domain.id().to_string()).args(more);
        Daemon::spawn(command)
    };
    let listener = start("--listen", &[]);
    let talker = start("--talk", &[size.to_string()]);
    let last = || {
        let line = listener.find_map_last(|line| line.strip_prefix("heard ").map(str::to_owned))?;
        let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        <[u64; 4]>::try_from(numbers).ok()
    };
    let until = |done: &dyn Fn([u64; 4]) -> bool| {
        eventually_some("enough has come", PATIENCE + watched, || last().filter(|numbers| done(*numbers)))
    };
    let cpu = || [&talker, &listener].map(|daemon| Usage::of(daemon.pid()).expect("it still runs").cpu());
    let [began, before, ..] = until(&|[_, samples, ..]| samples > 2);
    let cpu_before = cpu();
    let [ended, after, p50, p99] = until(&|[now, ..]| now > began + watched.as_nanos() as u64);
    let spent: Duration = cpu().iter().zip(cpu_before).map(|(after, before)| *after - before).sum();
    let samples = (after - before) as f64;
    Flow {
        samples_per_second: samples / ((ended - began) as f64 / 1e9),
        cpu: spent.as_secs_f64() / samples,
        beside: [p50, p99].map(|nanos| nanos as f64 / 1e6),
    }
}

/// The same by Cyclone's own program, which prints the rate each second.
fn cyclone_flow(size: usize, watched: Duration) -> Option<Flow> {
    let domain = DomainLease::acquire();
    let start = |mode: &[&str]| bench::ddsperf(&domain, watched + Duration::from_secs(4), mode);
    // Looked for first: a missing program would fail the benchmark instead of leaving a gap in the table.
    start(&["help"]).stdout(Stdio::null()).status().ok()?;
    let mut listener = Daemon::spawn(start(&["sub"]));
    let mut talker = Daemon::spawn(start(&["pub", "size", &size.to_string()]));
    std::thread::sleep(watched + Duration::from_secs(3));
    let cpu: Duration = [&talker, &listener]
        .map(|daemon| Usage::of(daemon.pid()).map_or(Duration::ZERO, |u| u.cpu()))
        .iter()
        .sum();
    // `[PID] SECONDS  size BYTES total SAMPLES lost …`
    let lines = listener.filter_map(|line| {
        let (time, rest) = line.split_once("] ")?.1.trim_start().split_once(' ')?;
        let total = rest.split_once(" total ")?.1.split_once(' ')?.0;
        Some((time.parse::<f64>().ok()?, total.parse::<f64>().ok()?))
    });
    talker.wait(PATIENCE);
    listener.wait(PATIENCE);
    let ((began, before), (ended, after)) = (*lines.first()?, *lines.last()?);
    Some(Flow {
        samples_per_second: (after - before) / (ended - began),
        cpu: cpu.as_secs_f64() / after,
        beside: [f64::NAN; 2],
    })
}
