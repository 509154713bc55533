//! Runs the stacks in turns and prints tables: `cargo run --release --bin compare [TURNS]` in this folder; five minutes with
//! three turns.
#![forbid(unsafe_code)]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

const STACKS: [(&str, &str); 3] = [("ours", "rosless"), ("ros2_client", "ros2-client"), ("dust", "dust_dds")];
const SIZES: [(usize, usize); 3] = [(100, 2000), (10_000, 1000), (1_000_000, 50)];
/// Idle processes settle for this long and are then watched for that long.
const IDLE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(20));

/// Ended with its test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program(stack: &str) -> PathBuf {
    std::env::current_exe().expect("this program is somewhere").with_file_name(stack)
}

fn start(stack: &str, arguments: &[String]) -> Process {
    let mut command = Command::new(program(stack));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
    Process(command.spawn().unwrap_or_else(|error| panic!("{stack}: {error}; build with `cargo build --release`")))
}

/// Nanoseconds that all threads of a process have run.
fn run_time(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).map(|tasks| tasks.flatten().collect()).unwrap_or(Vec::new());
    let of = |path: PathBuf| fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok();
    tasks.into_iter().filter_map(|task| of(task.path())).sum()
}

/// What a conversation of two processes came to; nothing when they never met.
fn converse(pinger: &str, ponger: &str, domain: usize, size: usize, rounds: usize) -> Option<BTreeMap<String, f64>> {
    let pong = start(ponger, &["pong".into(), domain.to_string()]);
    // So that meeting means the newcomer's way in.
    thread::sleep(Duration::from_secs(2));
    let mut ping = start(pinger, &["ping".into(), domain.to_string(), size.to_string(), rounds.to_string()]);
    let (pong_pid, ping_pid) = (pong.0.id(), ping.0.id());
    let mut figures = BTreeMap::new();
    let mut at_begin = 0;
    for line in BufReader::new(ping.0.stdout.take().expect("piped")).lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("begin", _)) => at_begin = run_time(pong_pid) + run_time(ping_pid),
            Some(("end", _)) => {
                let spent = (run_time(pong_pid) + run_time(ping_pid)).saturating_sub(at_begin);
                figures.insert("cpu_us".to_owned(), spent as f64 / 1e3 / rounds as f64);
            }
            Some((key, value)) => {
                figures.insert(key.to_owned(), value.parse().unwrap_or(f64::NAN));
            }
            None => {}
        }
    }
    figures.contains_key("p50_us").then_some(figures)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn row(name: &str, cells: impl IntoIterator<Item = String>) {
    println!("| {name} | {} |", cells.into_iter().collect::<Vec<_>>().join(" | "));
}

fn head(first: &str) {
    row(first, STACKS.map(|(_, name)| name.to_owned()));
    println!("|---|{}", "---|".repeat(STACKS.len()));
}

fn main() {
    let turns = std::env::args().nth(1).map_or(3, |turns| turns.parse().expect("a number of turns"));
    let mut domain = 20;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load {}, {turns} turns, medians; in brackets × rosless\n", load.split(' ').next().unwrap_or_default());

    head("round trip, two processes");
    for (size, rounds) in SIZES {
        let mut heard: BTreeMap<&str, Vec<BTreeMap<String, f64>>> = BTreeMap::new();
        for _ in 0..turns {
            for (stack, _) in STACKS {
                domain = 20 + (domain + 1) % 60;
                heard.entry(stack).or_default().extend(converse(stack, stack, domain, size, rounds));
            }
        }
        let figure = |stack: &str, key: &str| {
            median(heard[stack].iter().filter_map(|figures| figures.get(key).copied()).collect())
        };
        for (key, what) in [
            ("p50_us", "µs, median"),
            ("p99_us", "µs, 99 of 100"),
            ("cpu_us", "processor µs, both sides"),
            ("lost", "answers lost"),
            ("met_ms", "ms from start to first answer"),
        ] {
            let ours = figure("ours", key);
            row(&format!("{size} B: {what}"), STACKS.map(|(stack, _)| {
                let met = heard[stack].len();
                let value = figure(stack, key);
                if figure(stack, "p50_us").is_nan() {
                    return "no answer within 2 s".to_owned();
                }
                let ratio = if stack == "ours" || ours == 0.0 { String::new() } else { format!(" ({:.2} ×)", value / ours) };
                let absent = if met < turns { format!(", {met} of {turns} met") } else { String::new() };
                format!("{value:.1}{ratio}{absent}")
            }));
        }
    }

    println!();
    head("an idle node");
    let idle = STACKS.map(|(stack, _)| {
        domain = 20 + (domain + 1) % 60;
        let process = start(stack, &["idle".into(), domain.to_string()]);
        let pid = process.0.id();
        thread::sleep(IDLE.0);
        let before = run_time(pid);
        thread::sleep(IDLE.1);
        let cpu = (run_time(pid) - before) as f64 / IDLE.1.as_nanos() as f64 * 100.0;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let of = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap_or_default();
            line.split_whitespace().nth(1).unwrap_or_default().parse::<f64>().unwrap_or(f64::NAN)
        };
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        let size = fs::metadata(program(stack)).map_or(0, |file| file.len());
        [
            format!("{cpu:.3} %"),
            format!("{:.1} MB", of("VmRSS") / 1024.0),
            format!("{}", of("Threads")),
            format!("{descriptors}"),
            format!("{:.1} MB", size as f64 / 1e6),
        ]
    });
    for (at, what) in ["of a core", "memory", "threads", "descriptors", "the program on disk"].into_iter().enumerate() {
        row(what, idle.each_ref().map(|column| column[at].clone()));
    }

    println!();
    head("who answers whom, 100 B, µs");
    for (pinger, name) in STACKS {
        row(&format!("{name} asks"), STACKS.map(|(ponger, _)| {
            domain = 20 + (domain + 1) % 60;
            match converse(pinger, ponger, domain, 100, 500) {
                Some(figures) => format!("{:.0}", figures["p50_us"]),
                None => "never met in 20 s".to_owned(),
            }
        }));
    }
}
