//! `rosless bag record` beside a subscription whose callback does nothing, each in a process of its own, and how far
//! `rosless bag play` is from the recorded intervals.
//!
//! `cargo bench -p rosless-rosless --bench recording`

#![allow(clippy::print_stdout, reason = "a benchmark prints for people")]

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant, SystemTime},
};

use rosless_bag::{Bag, Filter};
use rosless_graph::{Context, ContextOptions, EventLoop, Node, TopicQos};
use rosless_tests::{
    Daemon, DomainLease, Scratch, Usage,
    bench::{Figure, effort},
    eventually,
};
use rosless_wire::{Message as _, std_msgs::msg::UInt8MultiArray};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);
const ROSLESS: &str = env!("CARGO_BIN_EXE_rosless");

/// What is published: so many topics, bytes of a message, messages a second on each; 0 is as fast as they are taken.
#[derive(Clone, Copy)]
struct Load {
    topics: usize,
    size: usize,
    hz: u64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |index: usize| arguments[index].parse::<u64>().expect("a number");
    let load = || Load { topics: number(3) as usize, size: number(4) as usize, hz: number(5) };
    match arguments.get(1).map(String::as_str) {
        Some("--talk") => talk(number(2) as u16, load()),
        Some("--listen") => listen(number(2) as u16, load()),
        _ => measure(),
    }
}

fn join<S: 'static>(domain: u16, node: &str) -> (EventLoop<S>, Node) {
    let context = Context::new(ContextOptions::for_domain(domain)).expect("loopback is there");
    (EventLoop::new(&context).expect("descriptors are left"), context.node(node).expect("the name is valid"))
}

fn talk(domain: u16, load: Load) {
    let (event_loop, node) = join::<()>(domain, "talker");
    let publisher = |n| node.publisher::<UInt8MultiArray>(format!("t{n}").keep_all()).unwrap();
    let publishers: Vec<_> = (0..load.topics).map(publisher).collect();
    let begin = Instant::now();
    while publishers.iter().any(|publisher| publisher.matched() == 0) && begin.elapsed() < PATIENCE {
        event_loop.run_for(&mut (), Duration::from_millis(10)).unwrap();
    }
    // The layout and the lengths are in front of the bytes.
    let sample = UInt8MultiArray { data: vec![7; load.size - 20], ..Default::default() };
    if load.hz > 0 {
        event_loop.timer(Duration::from_secs(1) / load.hz as u32, move |()| {
            for publisher in &publishers {
                publisher.publish(&sample);
            }
        });
        return event_loop.run(&mut ()).unwrap();
    }
    let burst = (64_000 / load.size).max(1);
    loop {
        let full = publishers.iter().any(|publisher| (0..burst).any(|_| !publisher.publish(&sample)));
        let turn = if full { Duration::from_millis(1) } else { Duration::ZERO };
        event_loop.run_for(&mut (), turn).unwrap();
    }
}

/// Says ten times a second how many have come.
fn listen(domain: u16, load: Load) {
    let (event_loop, node) = join::<u64>(domain, "listener");
    for n in 0..load.topics {
        let (topic, ty) = (format!("t{n}"), UInt8MultiArray::TYPE_NAME);
        event_loop
            .subscribe_raw(&node, topic.keep_last(1000), (ty, ""), |count: &mut u64, _| *count += 1)
            .unwrap();
    }
    event_loop.timer(Duration::from_millis(100), |count| println!("heard {} {count}", nanos()));
    event_loop.run(&mut 0).unwrap();
}

fn nanos() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

fn own(domain: &DomainLease, mode: &str, load: Load) -> Daemon {
    let mut command = Command::new(std::env::current_exe().expect("this program is somewhere"));
    let Load { topics, size, hz } = load;
    command.arg(mode).arg(domain.id().to_string()).args([topics, size, hz as usize].map(|n| n.to_string()));
    Daemon::spawn(command)
}

/// Messages a second, microseconds of processor for a message, share of a core in percent.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    rate: f64,
    each: f64,
    share: f64,
    lost: u64,
}

fn cost(messages: u64, seconds: f64, cpu: Duration, lost: u64) -> Cost {
    Cost {
        rate: messages as f64 / seconds,
        each: cpu.as_secs_f64() * 1e6 / messages.max(1) as f64,
        share: cpu.as_secs_f64() / seconds * 100.0,
        lost,
    }
}

fn cpu(daemon: &Daemon) -> Duration {
    Usage::of(daemon.pid()).expect("it still runs").cpu()
}

fn listened(load: Load, watched: Duration) -> Cost {
    let domain = DomainLease::acquire();
    let listener = own(&domain, "--listen", load);
    let _talker = own(&domain, "--talk", load);
    let last = || {
        let line = listener.find_map_last(|line| line.strip_prefix("heard ").map(str::to_owned));
        let numbers = line.and_then(|line| {
            let (time, count) = line.split_once(' ')?;
            Some((time.parse::<u64>().ok()?, count.parse::<u64>().ok()?))
        });
        numbers.unwrap_or_default()
    };
    eventually("data comes", PATIENCE, || last().1 > 10);
    std::thread::sleep(Duration::from_millis(500));
    let ((began, before), cpu_before) = (last(), cpu(&listener));
    std::thread::sleep(watched);
    let ((ended, after), cpu_after) = (last(), cpu(&listener));
    cost(after - before, (ended - began) as f64 / 1e9, cpu_after - cpu_before, 0)
}

fn recorded(load: Load, watched: Duration, folder: &Path) -> Cost {
    let _ = fs::remove_dir_all(folder);
    let domain = DomainLease::acquire();
    let name = folder.display().to_string();
    let mut recorder = Daemon::spawn(
        domain
            .command(ROSLESS, &["bag", "record", "-e", "^/t[0-9]+$", "-o", &name, "--max-cache-size", "1G"]),
    );
    recorder.wait_for_line("Recording to", PATIENCE);
    let _talker = own(&domain, "--talk", load);
    eventually("all topics are subscribed to", PATIENCE, || {
        recorder.filter_map(|line| line.contains("Subscribed").then_some(())).len() == load.topics
    });
    std::thread::sleep(Duration::from_millis(1000));
    let (began, cpu_before) = (nanos(), cpu(&recorder));
    std::thread::sleep(watched);
    let (ended, cpu_after) = (nanos(), cpu(&recorder));
    recorder.signal("INT");
    let status = recorder.wait(PATIENCE);
    assert!(status.success(), "{}", recorder.output());
    let bag = Bag::open(folder).expect("a recording");
    let window = Filter { start: began, end: Some(ended), ..Filter::default() };
    let messages = bag.messages(&window).filter(Result::is_ok).count() as u64;
    let losses = |text: &str| {
        let loss: Value = serde_json::from_str(text).unwrap_or_default();
        loss["dropped"].as_u64().unwrap_or(0) + loss["lost"].as_u64().unwrap_or(0)
    };
    let notes = bag.notes();
    let lost = notes.iter().filter(|(name, _)| name == "rosless_losses");
    let lost = lost.flat_map(|(_, topics)| topics.values()).map(|text| losses(text)).sum();
    cost(messages, (ended - began) as f64 / 1e9, cpu_after - cpu_before, lost)
}

fn measure() {
    let watched = Duration::from_secs(effort(6, 2));
    let scratch = Scratch::make();
    let folder = scratch.join("bag");
    for (what, load, limit) in [
        ("1 kB as fast as it comes", Load { topics: 1, size: 1000, hz: 0 }, Some(1.3)),
        ("1 MB as fast as it comes", Load { topics: 1, size: 1_000_000, hz: 0 }, None),
        ("10 topics, 1 kB at 1 kHz", Load { topics: 10, size: 1000, hz: 1000 }, None),
    ] {
        let (heard, kept) = (listened(load, watched), recorded(load, watched, &folder));
        let speed = kept.rate * load.size as f64 / 1e6;
        let note = format!("{:.0} messages/s, {speed:.0} MB/s, {} lost or dropped", kept.rate, kept.lost);
        println!(
            "{what}: {note}; heard {:.0}/s; processor {:.1} µs each, {:.1} µs heard only",
            heard.rate, kept.each, heard.each
        );
        let rate = Figure::new("bag", format!("record {what}"), speed, "MB/s");
        rate.against("a callback that does nothing", heard.rate * load.size as f64 / 1e6).note(note).tell();
        let each = Figure::new("bag", format!("record {what}, processor for each"), kept.each, "µs")
            .against("a callback that does nothing", heard.each);
        limit.map_or(each.clone(), |limit| each.ratio_at_most(limit)).tell();
        if load.hz > 0 {
            Figure::new("bag", format!("record {what}, share of a core"), kept.share, "%")
                .against("a callback that does nothing", heard.share)
                .tell();
        }
    }
    deviation(&folder);
}

/// Plays what was recorded last, which has ten topics at 1 kHz.
fn deviation(folder: &Path) {
    let domain = DomainLease::acquire();
    let played = domain
        .command(
            ROSLESS,
            &["bag", "play", &folder.display().to_string(), "--json", "--playback-duration", "3"],
        )
        .output()
        .expect("rosless runs");
    let told: Value = serde_json::from_slice(&played.stdout).expect("JSON");
    let at = |name: &str| told["timing_error_ms"][name].as_f64().unwrap_or(f64::NAN);
    println!("play: {} messages, off by {:.3} ms, p99 {:.3} ms", told["messages"], at("p50"), at("p99"));
    let note = format!("{} messages, 10 topics at 1 kHz", told["messages"]);
    Figure::new("bag", "play, after the recorded instant, p50", at("p50"), "ms").note(note.clone()).tell();
    Figure::new("bag", "play, after the recorded instant, p99", at("p99"), "ms").note(note).tell();
}
