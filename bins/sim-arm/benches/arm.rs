//! How fast the arm thinks and how punctual it is. Prints tables; `cargo bench -p rosless-sim-arm`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use rosless_arm::{
    ArmController, ArmInput, ArmOutput, ArmSettings, Control, Joints, Limits, Planner, Robot, Seeded,
    Strategy,
    evaluate::{Setup, Throw, Trial, evaluate},
};
use rosless_graph::{Context, ContextOptions, EventLoop, monotonic};
use rosless_tests::{
    DomainLease,
    bench::{Figure, effort},
};

fn main() {
    speed();
    allocations();
    jitter();
}

fn per_second(label: &str, runs: u32, mut act: impl FnMut()) {
    let started = Instant::now();
    (0..runs).for_each(|_| act());
    let rate = f64::from(runs) / started.elapsed().as_secs_f64();
    println!("{label:<44} {rate:>14.0} /s");
    Figure::new("arm", label, rate, "/s").tell();
}

fn speed() {
    println!("{:<44} {:>17}", "operation", "rate");
    let robot = Robot::default();
    let mut random = Seeded(1);
    let joints = Joints::from_fn(|_, _| random.range(-3.0, 3.0));
    let (position, rotation) = robot.hand_frame(&joints);
    let home = Joints::zeros();
    per_second("forward kinematics", 1_000_000, || {
        let _ = black_box(robot.hand_frame(black_box(&joints)));
    });
    per_second("inverse kinematics, all branches", 200_000, || {
        let _ = black_box(robot.inverse_frame(black_box(&position), &rotation, &home));
    });
    per_second("fastest of all branches", 100_000, || {
        let _ = black_box(robot.fastest_move(black_box(&position), &rotation, &home, &home));
    });
    let (mut arm, mut now) = moving_arm();
    per_second("control step (PD)", 1_000_000, || step(&mut arm, &mut now));
    for (what, limits) in [
        ("default limits", Limits::default()),
        ("3.14 rad/s, 15 rad/s²", Limits::uniform(4.0, std::f64::consts::PI, 15.0)),
    ] {
        planning(what, limits);
        catches(what, limits);
    }
}

fn best(limits: Limits) -> Setup {
    let mut setup = Setup::default();
    (setup.planner.strategy, setup.arm.control) = (Strategy::Best, Control::Timed);
    (setup.arm.robot.limits, setup.planner.robot.limits) = (limits, limits);
    setup
}

/// How many throws are planned per second, those that are let go included.
fn planning(what: &str, limits: Limits) {
    let (setup, mut random) = (best(limits), Seeded(1));
    let balls: Vec<_> = (0..effort(200, 50))
        .map(|_| Throw::random(&mut random))
        .map(|throw| throw.launcher.release(throw.speed, 0.0).to_array())
        .collect();
    let mut next = balls.iter().cycle();
    per_second(&format!("throws planned, {what}"), balls.len() as u32, || {
        let ball = next.next().expect("at least one");
        let _ = black_box(Planner::new(setup.planner).throw(ball, Duration::ZERO));
    });
}

/// The catch table: caught, not proven impossible, proven impossible. `ROSLESS_ARM_THROWS` throws, each with a proof of
/// up to `ROSLESS_ARM_EFFORT` parts.
fn catches(what: &str, limits: Limits) {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse().ok());
    let throws = number("ROSLESS_ARM_THROWS").unwrap_or(effort(300, 40));
    let parts = number("ROSLESS_ARM_EFFORT").unwrap_or(effort(600_000, 30_000));
    let report = evaluate(&best(limits), Trial { throws, seed: 1, effort: parts }, drop);
    let total = &report.total;
    println!(
        "\n{what}: {} of {throws} caught, bound {} ({} of it open), impossible {:?}",
        total.caught, total.possible, total.open, total.impossible
    );
    let share = 100.0 * f64::from(total.caught) / f64::from(total.possible);
    let note = format!(
        "{} caught, bound {} ({} open), {} proven impossible",
        total.caught,
        total.possible,
        total.open,
        throws - total.possible
    );
    let aim = if limits == Limits::default() { 98.0 } else { 95.0 };
    Figure::new("arm", format!("caught of the bound, {what}"), share, "%").note(note).at_least(aim).tell();
    let error = report.worst_close_error * 1e3;
    Figure::new("arm", format!("hand beside its planned instant, {what}, worst"), error, "ms")
        .at_most(1.0)
        .tell();
}

fn moving_arm() -> (ArmController, Duration) {
    let mut arm = ArmController::new(ArmSettings::default());
    arm.handle(ArmInput::Angles(&[1.0; 6]), Duration::ZERO);
    while arm.poll_output().is_some() {}
    (arm, Duration::ZERO)
}

/// One control period; the arm is sent back and forth so that it never rests.
fn step(arm: &mut ArmController, now: &mut Duration) {
    match arm.next_deadline() {
        Some(deadline) => {
            *now = deadline;
            arm.advance(deadline);
        }
        None => {
            let goal = if arm.state_at(*now).0[0] > 0.0 { -1.0 } else { 1.0 };
            arm.handle(ArmInput::Angles(&[goal; 6]), *now);
        }
    }
    while let Some(output) = arm.poll_output() {
        black_box(output);
    }
}

fn allocations() {
    let (mut arm, mut now) = moving_arm();
    let steps = 10_000;
    let info = allocation_counter::measure(|| (0..steps).for_each(|_| step(&mut arm, &mut now)));
    println!("\nallocations in {steps} control steps: {}", info.count_total);
    let name = format!("allocations in {steps} control steps");
    Figure::new("arm", name, info.count_total as f64, "").at_most(0.0).tell();
}

/// Lateness of one kind of event, in order of arrival.
#[derive(Default)]
struct Lateness(Vec<Duration>);

impl Lateness {
    fn print(&mut self, label: &str) {
        self.0.sort();
        let at = |share: f64| {
            let index = ((self.0.len() - 1) as f64 * share) as usize;
            self.0[index].as_secs_f64() * 1e3
        };
        let [p50, p99, max] = [at(0.5), at(0.99), at(1.0)];
        println!("{label:<30} {:>7} {p50:>9.3} ms {p99:>9.3} ms {max:>9.3} ms", self.0.len());
        for (what, value) in [("p50", p50), ("p99", p99), ("max", max)] {
            Figure::new("arm", format!("lateness, {label}, {what}"), value, "ms").tell();
        }
    }
}

struct App {
    arm: ArmController,
    ticks: Lateness,
    hands: Lateness,
}

/// The controller on a real event loop in real time: how late are its 0.1 s ticks and its hand?
fn jitter() {
    let domain = DomainLease::acquire();
    let context = Context::new(ContextOptions::for_domain(domain.id())).expect("DDS starts");
    let event_loop = EventLoop::<App>::new(&context).expect("an event loop");
    let settings = ArmSettings { hold: Duration::from_millis(50), ..ArmSettings::default() };
    let mut app =
        App { arm: ArmController::new(settings), ticks: Lateness::default(), hands: Lateness::default() };
    event_loop.engine_deadline(
        |app| app.arm.next_deadline(),
        |app, now| {
            let due = app.arm.next_deadline().unwrap_or(now);
            app.arm.advance(now);
            while let Some(output) = app.arm.poll_output() {
                match output {
                    ArmOutput::State(_) => app.ticks.0.push(now.saturating_sub(due)),
                    ArmOutput::Hand { at, .. } => app.hands.0.push(now.saturating_sub(at)),
                    _ => {}
                }
            }
        },
    );
    // A new target starts a new period, so they come seldom.
    let swing = |app: &mut App| {
        let goal = if app.arm.state_at(monotonic()).0[0] > 0.0 { -1.0 } else { 1.0 };
        app.arm.handle(ArmInput::Angles(&[goal; 6]), monotonic());
    };
    swing(&mut app);
    event_loop.timer(Duration::from_millis(1301), swing);
    event_loop.timer(Duration::from_millis(97), |app| {
        let now = monotonic();
        if !app.arm.closed() {
            app.arm.handle(ArmInput::CloseAt((now + Duration::from_millis(31)).as_secs_f32()), now);
        }
    });
    event_loop.run_for(&mut app, Duration::from_secs(effort(10, 3))).expect("not interrupted");
    println!("\n{:<30} {:>7} {:>12} {:>12} {:>12}", "lateness", "events", "p50", "p99", "max");
    app.ticks.print("control tick, every 0.1 s");
    app.hands.print("hand, at its instant");
}
