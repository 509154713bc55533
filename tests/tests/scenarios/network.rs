//! Networks that lose packets, and networks without multicast. The hosts are network namespaces: only root can make them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rosless_tests::{
    Daemon, TwoHosts,
    scenario::{
        PATIENCE, Report, Role, System,
        acts::{Capture, Launch, Range, Robot},
    },
};
use rosless_wire::mocap_control_msgs::msg::Control;

const SQUARES: usize = 2;
const SQUARE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bins/primitive-queue/examples/square.yaml");

/// How often systems are started and stopped; `ROSLESS_ROUNDS` asks for more.
fn rounds() -> usize {
    std::env::var("ROSLESS_ROUNDS").map_or(20, |text| text.parse().expect("ROSLESS_ROUNDS is a number"))
}

/// The observer lives with the controllers, what they control is at the other end of the cable.
fn host_of(role: Role) -> usize {
    match role {
        Role::Controller | Role::Shooter | Role::Mechanism => 0,
        Role::Mocap | Role::Imu | Role::Arm | Role::Motion | Role::StandIn => 1,
    }
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort();
    let seconds = |time: Duration| time.as_secs_f64();
    format!("median {:.2} s, worst {:.2} s", seconds(times[times.len() / 2]), seconds(times[times.len() - 1]))
}

#[test]
fn five_percent_loss_costs_time_and_nothing_else() {
    let Some(hosts) = TwoHosts::new().map(Arc::new) else { return };
    hosts.lose_percent(5);
    hosts.run_on(0, || {
        let mut report = Report::new("5 % of all packets lost");
        let mut system = System::on_hosts(&hosts, host_of);
        let roles = [Role::Controller, Role::Mocap, Role::Imu, Role::Motion];
        roles.into_iter().for_each(|role| system.launch(role));
        let observer = system.observer();
        let capture = Capture::listen(&observer);
        report.took("all nodes discovered", observer.wait_for_nodes(&roles));
        observer.wait("both systems announce themselves", PATIENCE, || capture.announced().len() == 2);

        let (mut starts, mut stops, mut repeated) = (Vec::new(), Vec::new(), 0);
        let rounds = rounds();
        for _ in 0..rounds {
            starts.push(capture.start());
            repeated += capture.senders(Control::START).len().saturating_sub(1);
            stops.push(capture.stop());
            repeated += capture.senders(Control::STOP).len().saturating_sub(1);
        }
        report.row(&format!("{rounds} starts, none missed"), summary(starts));
        report.row(&format!("{rounds} stops, none missed"), summary(stops));
        report.row("repeated by the controller", repeated.to_string());
        assert_eq!(capture.controls.faults(), 0, "a control message was lost");

        let robot = Robot::new(&observer);
        let mut squares = Vec::new();
        for _ in 0..SQUARES {
            let moved = robot.square();
            assert_eq!(moved.feedback, [0, 1, 2, 3, 4, 5]);
            squares.push(moved.took);
        }
        report.row(&format!("{SQUARES} squares as one goal each"), summary(squares));
        // Primitive by primitive, never more than the queue holds.
        let mut command = system.command(Role::Controller, "primitive-queue");
        command.args(["send", SQUARE]);
        let began = Instant::now();
        let mut sender = Daemon::spawn(command);
        let status = sender.wait(2 * PATIENCE);
        assert!(status.success(), "{status}: {}", sender.output());
        sender.wait_for_line("2 primitives executed", PATIENCE);
        report.took("a square, primitive by primitive", began.elapsed());
        system.end();
    });
}

#[test]
fn named_peers_replace_multicast() {
    let Some(hosts) = TwoHosts::new().map(Arc::new) else { return };
    hosts.forbid_multicast();
    hosts.run_on(0, || {
        let mut report = Report::new("no multicast, ROS_STATIC_PEERS");
        let mut system = System::on_hosts(&hosts, host_of);
        system.set_static_peers(&TwoHosts::ADDRESSES);
        let began = Instant::now();
        Role::ALL.into_iter().for_each(|role| system.launch(role));
        let observer = system.observer();
        observer.wait_for_nodes(&Role::ALL);
        report.took("all nodes discovered", began.elapsed());
        let capture = Capture::listen(&observer);
        observer.wait("both systems announce themselves", PATIENCE, || capture.announced().len() == 2);
        report.took("systems started", capture.start());
        report.took("systems stopped", capture.stop());
        let verdict = Range::new(&observer).throw(Launch::EASY);
        report.took("a throw and its verdict", verdict.took);
        report.took("a square", Robot::new(&observer).square().took);
        system.end();
    });
}
