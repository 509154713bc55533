//! What a command costs over DDS. Prints a table, asserts nothing.
//!
//! `cargo bench -p rosless-primitive-queue`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use std::{
    process::Command,
    time::{Duration, Instant},
};

use rosless_graph::{Context, ContextOptions, EventLoop, Publisher, TopicQos};
use rosless_motion::messages::to_industrial;
use rosless_motion::{RawPrimitive, primitive::code};
use rosless_tests::{
    Daemon, DomainLease,
    bench::{Figure, effort},
};
use rosless_wire::{industrial_robot_motion_interfaces::msg::MotionPrimitive, std_msgs::msg};

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100]
}

#[derive(Default)]
struct Heard {
    answers: u64,
    ready: bool,
}

struct Dds {
    publisher: Publisher<MotionPrimitive>,
    events: EventLoop<Heard>,
    heard: Heard,
    _daemon: Daemon,
    _lease: DomainLease,
}

impl Dds {
    fn start() -> Self {
        let lease = DomainLease::acquire();
        let mut command = Command::new(env!("CARGO_BIN_EXE_primitive-queue"));
        command
            .arg("run")
            .env("ROS_DOMAIN_ID", lease.id().to_string())
            .env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        let daemon = Daemon::spawn(command);
        let context = Context::new(ContextOptions::for_domain(lease.id())).expect("the domain can be joined");
        let node = context.node("bench").expect("a good name");
        let events = EventLoop::new(&context).expect("an event loop");
        let topic = |name: &str| format!("/motion_primitive_controller/{name}");
        events
            .subscribe::<msg::String>(&node, topic("events").keep_last(1000), |heard: &mut Heard, _| {
                heard.answers += 1;
            })
            .expect("a good topic");
        events
            .subscribe::<msg::String>(&node, topic("queue").latched(), |heard, _| heard.ready = true)
            .expect("a good topic");
        let publisher = node.publisher(topic("reference").keep_last(1000)).expect("a good topic");
        let mut dds = Self { publisher, events, heard: Heard::default(), _daemon: daemon, _lease: lease };
        let matched = dds.publisher.clone();
        dds.run(|heard| heard.ready && matched.matched() == 1);
        dds
    }

    fn run(&mut self, done: impl FnMut(&mut Heard) -> bool) {
        let in_time = self.events.run_until(&mut self.heard, Duration::from_secs(30), done);
        assert!(in_time.expect("not interrupted"), "the controller does not answer");
    }
}

/// RESET_STOP of a robot that is not stopped changes nothing, so it measures the way and not the motion.
fn main() {
    let mut dds = Dds::start();
    let message = to_industrial(&RawPrimitive { kind: code::RESET_STOP, ..RawPrimitive::default() });
    let mut trips: Vec<f64> = (0..effort(500, 100))
        .map(|_| {
            let (begin, before) = (Instant::now(), dds.heard.answers);
            dds.publisher.publish(&message);
            dds.run(|heard| heard.answers > before);
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    trips.sort_by(f64::total_cmp);
    let (total, window) = (effort(5000, 1000), 200);
    let (begin, before, publisher) = (Instant::now(), dds.heard.answers, dds.publisher.clone());
    let mut sent = 0;
    dds.run(|heard| {
        while sent < total && sent - (heard.answers - before) < window && publisher.publish(&message) {
            sent += 1;
        }
        heard.answers - before == total
    });
    let rate = total as f64 / begin.elapsed().as_secs_f64();
    println!("\n| commands over DDS, two processes on loopback | |\n|---|---:|");
    println!("| command to answer, p50 | {:.2} ms |", percentile(&trips, 50));
    println!("| command to answer, p99 | {:.2} ms |", percentile(&trips, 99));
    println!("| commands answered per second, {window} under way | {rate:.0} |");
    for (what, percent) in [("p50", 50), ("p99", 99)] {
        let name = format!("command to answer over DDS, {what}");
        Figure::new("motion over DDS", name, percentile(&trips, percent), "ms").tell();
    }
    let name = format!("commands answered, {window} under way");
    Figure::new("motion over DDS", name, rate, "/s").tell();
}
