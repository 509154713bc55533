//! What checking, planning and the control cycle cost. Prints tables, asserts nothing.
//!
//! `cargo bench -p rosless-motion`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use rosless_kinematics::{Joints, builtin};
use rosless_motion::{
    Checked, Command, Frames, MotionLimits, Planner, Primitive, QueueController, QueueSettings, RawPose,
    RawPrimitive, SimulatedRobot, check, primitive::code,
};

use rosless_tests::bench::{Figure, effort};

/// rad/s³ or m/s³: reached in a microsecond.
const WITHOUT: f64 = 1e8;

/// 500 Hz.
const CYCLE: Duration = Duration::from_millis(2);

/// The arm that the figures before jerk limits were measured with.
fn planner() -> Planner {
    Planner::new(builtin::robot("sim_arm").expect("built in"), MotionLimits::default())
}

fn home() -> Joints {
    planner().robot.home
}

fn controller(settings: QueueSettings) -> QueueController<SimulatedRobot> {
    let robot = SimulatedRobot::new(planner(), home());
    let mut controller = QueueController::new(settings, robot).expect("the queue has room");
    controller.activate(Duration::ZERO).expect("a simulated robot is always ready");
    controller.update(Duration::ZERO);
    controller
}

fn figures(velocity: f64, acceleration: f64) -> Vec<(String, f64)> {
    vec![("velocity".into(), velocity), ("acceleration".into(), acceleration)]
}

fn ptp(by: f64) -> RawPrimitive {
    let target = home() + Joints::new(by, by / 2.0, -by, 0.0, by / 3.0, 0.0);
    RawPrimitive {
        kind: code::LINEAR_JOINT,
        blend_radius: 0.005,
        arguments: figures(2.0, 12.0),
        poses: Vec::new(),
        joint_positions: target.as_slice().to_vec(),
    }
}

fn hand(by: [f64; 3]) -> RawPose {
    let pose = planner().robot.forward(&home());
    let (t, q) = (pose.translation.vector, pose.rotation.coords);
    RawPose {
        frame_id: "base".into(),
        position: [t.x + by[0], t.y + by[1], t.z + by[2]],
        orientation: [q.x, q.y, q.z, q.w],
    }
}

fn lin(by: [f64; 3]) -> RawPrimitive {
    RawPrimitive {
        kind: code::LINEAR_CARTESIAN,
        blend_radius: 0.0,
        arguments: figures(0.3, 2.0),
        poses: vec![hand(by)],
        joint_positions: Vec::new(),
    }
}

fn kinds() -> [(&'static str, RawPrimitive); 3] {
    let poses = vec![hand([0.08, 0.0, 0.0]), hand([0.04, 0.04, 0.0])];
    let circ = RawPrimitive { kind: code::CIRCULAR_CARTESIAN, poses, ..lin([0.0; 3]) };
    [("PTP", ptp(0.3)), ("LIN, 0.1 m", lin([0.08, 0.06, 0.0])), ("CIRC, 0.13 m", circ)]
}

fn checked(raw: &RawPrimitive) -> Primitive {
    match check(raw, &Frames::default()) {
        Ok(Checked { command: Command::Move(primitive), .. }) => primitive,
        other => panic!("{other:?}"),
    }
}

/// Time this thread has had the processor: on a busy machine the clock on the wall measures the others as well.
fn busy() -> Duration {
    let nanoseconds = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(since_start, Duration::from_nanos)
}

/// Where there is no such file.
fn since_start() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// Calls per second, from as many calls as fit into a third of a second.
fn rate(mut act: impl FnMut()) -> f64 {
    let begin = busy();
    let mut calls = 0u32;
    loop {
        act();
        calls += 1;
        // Asking for the time is not free.
        if calls.is_power_of_two() || calls.is_multiple_of(64) {
            let spent = busy() - begin;
            if spent > Duration::from_millis(effort(300, 100)) {
                return f64::from(calls) / spent.as_secs_f64();
            }
        }
    }
}

fn checking_and_planning() {
    let (planner, home) = (planner(), home());
    let mut jerky = planner.clone();
    jerky.hand.jerk = WITHOUT;
    jerky.robot.limits.0.iter_mut().for_each(|joint| joint.jerk = WITHOUT);
    println!(
        "| primitive | checked per second | planned per second | without limits of jerk | time, of without |\n|---|---:|---:|---:|---:|"
    );
    for (name, raw) in kinds() {
        let frames = Frames::default();
        let checks = rate(|| drop(black_box(check(black_box(&raw), &frames))));
        let primitive = checked(&raw);
        let plans = |planner: &Planner| {
            rate(|| {
                let plan = planner.plan(&home, &[(0, *black_box(&primitive))], 1.0);
                drop(black_box(plan.expect("it can be planned")));
            })
        };
        let (with, without) = (plans(&planner), plans(&jerky));
        println!("| {name} | {checks:.0} | {with:.0} | {without:.0} | {:.2} × |", without / with);
        Figure::new("motion", format!("{name}, checked"), checks, "/s").tell();
        Figure::new("motion", format!("{name}, planned"), 1e6 / with, "µs")
            .against("without limits of jerk", 1e6 / without)
            .ratio_at_most(1.5)
            .note(format!("{with:.0} per second"))
            .tell();
    }
}

/// Hands a sequence of `count` moves to a fresh controller and runs it until all is planned.
fn plan_sequence(count: usize) {
    let mut controller = controller(QueueSettings { goal_size: count, ..QueueSettings::default() });
    let moves: Vec<RawPrimitive> = (0..count)
        .map(|i| RawPrimitive {
            blend_radius: if i + 1 < count { 0.005 } else { 0.0 },
            ..ptp(if i % 2 == 0 { 0.2 } else { -0.2 })
        })
        .collect();
    controller.offer_goal([1; 16], &moves).expect("a good goal");
    while controller.queue_depth() > 0 {
        controller.update(Duration::from_millis(1));
    }
}

fn linearity() {
    println!("\n| primitives in one sequence | µs each | against the first row |\n|---:|---:|---:|");
    let mut first = None;
    for count in [10, 100, 1000, 10_000] {
        let each = 1e6 / (rate(|| plan_sequence(count)) * count as f64);
        let first = *first.get_or_insert(each);
        let figure = Figure::new("motion", format!("planning, each of {count}"), each, "µs");
        // Linear cost; a fifth is left to caches and noise.
        let figure = if count > 10 { figure.against("of 10", first).ratio_at_most(1.2) } else { figure };
        figure.tell();
        println!("| {count} | {each:.1} | {:.2} × |", each / first);
    }
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100]
}

fn control_cycle() {
    let mut controller = controller(QueueSettings::default());
    let mut now = Duration::ZERO;
    let (mut costs, mut sent, mut quiet, mut allocations) = (Vec::new(), 0, 0u64, 0u64);
    for _ in 0..effort(100_000, 20_000) {
        now += CYCLE;
        while controller.queue_depth() < 8 {
            sent += 1;
            controller.reference(&ptp(if sent % 2 == 0 { 0.2 } else { -0.2 }), 1, now);
            while controller.poll_output().is_some() {}
        }
        let commands = controller.commands();
        let begin = Instant::now();
        let counted = allocation_counter::measure(|| {
            controller.update(now);
            black_box(controller.hardware().state_at(now));
        });
        costs.push(begin.elapsed().as_secs_f64() * 1e6);
        let mut told = false;
        while controller.poll_output().is_some() {
            told = true;
        }
        // A cycle that hands a primitive over plans it, and an event carries its text: the others only move.
        if !told && controller.commands() == commands {
            quiet += 1;
            allocations += counted.count_total;
        }
    }
    costs.sort_by(f64::total_cmp);
    println!("\n| control cycle, streaming blended PTP | |\n|---|---:|");
    println!("| cycles | {} |", costs.len());
    println!("| p50 | {:.2} µs |", percentile(&costs, 50));
    println!("| p99 | {:.2} µs |", percentile(&costs, 99));
    println!("| p99.9 (a primitive is planned) | {:.2} µs |", costs[costs.len() * 999 / 1000]);
    let share = percentile(&costs, 99) / (CYCLE.as_secs_f64() * 1e6);
    println!("| p99 as a share of the 2 ms cycle | {:.2} % |", 100.0 * share);
    println!("| allocations in the {quiet} cycles that only move | {allocations} |");
    for (what, cost) in [("p50", percentile(&costs, 50)), ("p99", percentile(&costs, 99))] {
        let note = format!("{:.2} % of a 2 ms cycle", 100.0 * cost / (CYCLE.as_secs_f64() * 1e6));
        Figure::new("motion", format!("control cycle, {what}"), cost, "µs").note(note).tell();
    }
    let name = format!("allocations in {quiet} cycles that only move");
    Figure::new("motion", name, allocations as f64, "").at_most(0.0).tell();
}

fn main() {
    checking_and_planning();
    linearity();
    control_cycle();
}
