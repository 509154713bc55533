//! A thousand systems in one controller: how long until all are known, until all their states are, until all are started
//! and stopped, and what that takes in memory.
//!
//! `cargo bench -p rosless-mocap-controller --bench many_systems`; `ROSLESS_BENCH_SYSTEMS=200` for fewer of them.
//! The systems are as light as systems can be, five processes of them: a node, a control subscription, an announcement
//! and a state service each; those of a process answer through one publisher. So the figures are the controller's.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use std::{
    process::{Child, Command},
    time::{Duration, Instant},
};

use rosless_graph::{Context, ContextOptions, EventLoop, RawPublisher, TopicQos};
use rosless_protocol::{
    Dialect,
    controller::{Outcome, Proof, Report, Settings, System, Targets},
    message,
    node::{ControllerNode, ControllerOptions, Notice, control_qos, environment_qos},
};
use rosless_tests::{
    DomainLease,
    bench::{Figure, effort},
};
use rosless_wire::{
    Message as _, cdr,
    lifecycle_msgs::{msg::State, srv},
    mocap_control_msgs::msg::{Control, MocapInfo},
};

const PATIENCE: Duration = Duration::from_secs(300);
const PROCESSES: usize = 5;

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

/// One process of systems, until it is killed.
fn systems(domain: u16, process: usize, count: usize) {
    let mut options = ContextOptions::for_domain(domain);
    options.node_services = false;
    options.settings.arguments.rosout_logs = false;
    let context = Context::new(options).expect("a DDS participant");
    let event_loop = EventLoop::new(&context).expect("an event loop");
    let names = Dialect::Mocap.names();
    let mut active = vec![false; count];
    let mut kept: Vec<RawPublisher> = Vec::new();
    let first = context.node(&format!("rig_{process}")).expect("a node");
    // One for all: else every system's publisher would be matched with every system's subscription, a million pairs.
    let answers = first
        .publisher::<Control>((names.control_topic, control_qos().keep_last(1000)))
        .expect("a publisher");
    for number in 0..count {
        let node = context.node(&format!("system_{process}_{number}")).expect("a node");
        let (me, answers) = (node.clone(), answers.clone());
        event_loop
            .subscribe::<Control>(
                &node,
                (names.control_topic, control_qos()).room(2048),
                move |active: &mut Vec<bool>, sample| {
                    let Control { control_type, capture_systems, .. } = sample.message;
                    let meant =
                        capture_systems.is_empty() || capture_systems.iter().any(|name| name == me.name());
                    if meant && matches!(control_type, Control::START | Control::STOP) {
                        active[number] = control_type == Control::START;
                        answers.publish(&Control {
                            control_type: control_type + 1,
                            stamp: me.now(),
                            system_source: me.name().to_owned(),
                            ..Control::default()
                        });
                    }
                },
            )
            .expect("a subscription");
        event_loop
            .serve::<srv::GetState>(&node, "~/get_state", move |active: &mut Vec<bool>, _, responder| {
                let id =
                    if active[number] { State::PRIMARY_STATE_ACTIVE } else { State::PRIMARY_STATE_INACTIVE };
                responder.reply(&srv::GetStateResponse { current_state: State { id, label: String::new() } });
            })
            .expect("a service");
        let info = MocapInfo {
            system_source: node.name().to_owned(),
            topics: vec!["data".into()],
            ..MocapInfo::default()
        };
        let hash = MocapInfo::TYPE_HASH;
        let announcement = node
            .raw_publisher((names.environment_topic, environment_qos()), (names.info_type, hash))
            .expect("a publisher");
        announcement.publish(cdr::to_payload(&info));
        kept.push(announcement);
    }
    event_loop.run(&mut active).expect("the loop runs");
}

/// Resident memory now and at its highest, in MB.
fn memory() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(f64::NAN)
    };
    (kilobytes("VmRSS") / 1024.0, kilobytes("VmHWM") / 1024.0)
}

fn measure(size: usize) {
    let lease = DomainLease::acquire();
    let own = std::env::current_exe().expect("this program has a path");
    let began = Instant::now();
    let children = (0..PROCESSES).map(|process| {
        let arguments =
            ["systems".into(), lease.id().to_string(), process.to_string(), (size / PROCESSES).to_string()];
        Command::new(&own).args(arguments).spawn().expect("this program can be started again")
    });
    let _fleet = Fleet(children.collect());
    let context = Context::new(ContextOptions::for_domain(lease.id())).expect("a DDS participant");
    let node = context.node("mocap_controller").expect("a node");
    let event_loop = EventLoop::new(&context).expect("an event loop");
    event_loop.timer(Duration::from_millis(20), |_| {});
    let empty = memory().0;
    let settings = Settings {
        deadline: PATIENCE,
        settle: Duration::ZERO,
        state_timeout: Duration::from_secs(30),
        ..Settings::default()
    };
    let options = ControllerOptions { settings, ..ControllerOptions::of(Dialect::Mocap) };
    let collect = |reports: &mut Vec<Report>, notice: Notice<'_>| {
        if let Notice::Finished(report) = notice {
            reports.push(report.clone());
        }
    };
    let controller = ControllerNode::new(&event_loop, &node, options, collect).expect("a controller");
    let mut reports = Vec::new();
    let count = |which: &dyn Fn(&System) -> bool| {
        controller.with_systems(|all| all.values().filter(|s| which(s)).count())
    };
    let reachable = || count(&|s: &System| s.announced() && s.reachable());
    let met = event_loop.run_until(&mut reports, PATIENCE, |_| reachable() == size).expect("the loop runs");
    assert!(met, "only {} of {size} systems met", reachable());
    let mut rows = vec![("all known and reachable, from the first process on", began.elapsed())];
    let asked = Instant::now();
    controller.refresh();
    let answered = || count(&|s: &System| matches!(s.state, Some(Ok(_))));
    let all = event_loop.run_until(&mut reports, PATIENCE, |_| answered() == size).expect("the loop runs");
    assert!(all, "only {} of {size} states", answered());
    rows.push(("status of all", asked.elapsed()));
    for command in [message::Command::Start, message::Command::Stop] {
        reports.clear();
        let asked = Instant::now();
        controller.request(command, "bench", Targets::All).expect("a good request");
        event_loop.run_until(&mut reports, PATIENCE, |r| !r.is_empty()).expect("the loop runs");
        let report = reports.pop().expect("every request ends");
        assert!(report.is_success() && report.results.len() == size, "{:?}", report.failures().next());
        let last = report.last_answer_after.expect("all answered");
        let start = command == message::Command::Start;
        let by_state =
            report.results.values().filter(|r| r.outcome != Outcome::Done(Proof::Acknowledged)).count();
        println!("{size:>5} systems: {} messages, {by_state} acknowledgements not heard", report.messages);
        rows.push((
            if start { "START to last acknowledgement" } else { "STOP to last acknowledgement" },
            last,
        ));
        rows.push((
            if start { "start of all, confirmed" } else { "stop of all, confirmed" },
            asked.elapsed(),
        ));
    }
    let (now, most) = memory();
    for (what, took) in rows {
        println!("{size:>5} systems: {what}: {:.0} ms", took.as_secs_f64() * 1e3);
        let figure =
            Figure::new("protocol", format!("{size} systems, {what}"), took.as_secs_f64() * 1e3, "ms");
        figure.tell();
    }
    println!("{size:>5} systems: memory {now:.1} MB, at most {most:.1} MB, {empty:.1} MB before");
    let note =
        format!("{:.0} kB per system; at its highest {most:.0} MB", (now - empty) * 1024.0 / size as f64);
    Figure::new("protocol", format!("{size} systems, memory of the controller"), now, "MB").note(note).tell();
}

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|a| a == "systems") {
        let number = |n: usize| arguments[at + n].parse::<usize>().expect("a number");
        return systems(number(1) as u16, number(2), number(3));
    }
    let asked = std::env::var("ROSLESS_BENCH_SYSTEMS").ok().and_then(|n| n.parse().ok());
    let sizes = asked.map_or_else(|| effort(vec![100, 1000], vec![100]), |size: usize| vec![size]);
    for size in sizes {
        measure(size / PROCESSES * PROCESSES);
    }
}
