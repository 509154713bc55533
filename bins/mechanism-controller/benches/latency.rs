//! How quick the controller is: command to first output over DDS, precision of its waits, and the engine alone.
//!
//! `cargo bench -p rosless-mechanism-controller`; the observer plays a mechanism whose sensors follow at once.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]

#[path = "../tests/end_to_end/rig.rs"]
#[allow(dead_code)]
mod rig;

use std::time::{Duration, Instant};

use rig::{Observed, Rig};
use rosless_graph::Publisher;
use rosless_mechanism::{
    self as mechanism, Engine, Input, Profile, Time, doll, messages::Document, pedestal,
};
use rosless_tests::bench::{Figure, effort};
use rosless_wire::mecha_control::msg::{MechaState, SensorStates};

const LEAVE_ALONE: u8 = 255;

fn main() {
    let (samples, commands) = engine_rates();
    Figure::new("mechanism", "sensor sample while a step waits", samples, "/s").tell();
    Figure::new("mechanism", "phase command to its first output, engine alone", commands, "/s").tell();
    println!("engine alone                                      per second");
    println!("  sensor sample while a step waits            {samples:>14.0}");
    println!("  phase command to its first output           {commands:>14.0}\n");

    let mut rig = Rig::new::<Document>();
    let _controller = rig.controller(&[]);
    let sensors = rig.node.publisher::<SensorStates>("daiza_state").expect("publisher");
    let matched = sensors.clone();
    rig.until("the sensors are matched", move |_| matched.matched() > 0);
    mirror(&rig, sensors);
    // The controller learns that nothing moves.
    rig.observe(Duration::from_millis(500));

    let rounds = effort(100, 20);
    let lantern: Vec<_> = (0..rounds).map(|round| lantern_latency(&mut rig, round % 2 == 0)).collect();
    let mut commands = Vec::new();
    let mut gaps = Vec::new();
    for round in 0..rounds {
        let (latency, gap) = phase_latency(&mut rig, if round % 2 == 0 { 1 } else { 4 });
        commands.push(latency);
        gaps.push(gap);
    }
    let lantern = Spread::of(lantern);
    let commands = Spread::of(commands);
    let gaps = Spread::of(gaps);
    let figure = |name: &str, spread: &Spread| {
        let note = format!("p99 {:.2} ms, max {:.2} ms", millis(spread.p99), millis(spread.max));
        Figure::new("mechanism", format!("{name}, p50"), millis(spread.p50), "ms").note(note)
    };
    figure("/mecha_state to bonbori_msg", &lantern).tell();
    let first = figure("/mecha_state to first /daiza_clamp", &commands);
    first.against("bonbori_msg", millis(lantern.p50)).tell();
    figure("wait of 200 ms, deviation", &gaps).tell();
    println!("over DDS, {rounds:>3} rounds                             p50        p99        max");
    lantern.print("/mecha_state to bonbori_msg");
    commands.print("/mecha_state to first /daiza_clamp");
    println!(
        "  ratio of the two                        {:>7.2}",
        commands.p50.as_secs_f64() / lantern.p50.as_secs_f64()
    );
    gaps.print("wait of 200 ms, deviation");
    println!("  deviation relative to the wait          {:>7.4}", gaps.p50.as_secs_f64() / 0.2);
}

/// Sensors at 100 Hz that show the last command.
fn mirror(rig: &Rig, sensors: Publisher<SensorStates>) {
    rig.events.timer(Duration::from_millis(10), move |seen: &mut Observed| {
        let cylinder_states = seen.pedestal.last().map_or_else(|| vec![false; 4], |a| a.cylinders.clone());
        sensors.publish(&SensorStates {
            limit_switch_states: vec![true],
            cylinder_states,
            ..Default::default()
        });
    });
}

fn lantern_latency(rig: &mut Rig, bonbori_state: bool) -> Duration {
    rig.seen.lantern.clear();
    let begin = Instant::now();
    rig.mecha_state.publish(&MechaState { daiza_state: LEAVE_ALONE, hina_state: LEAVE_ALONE, bonbori_state });
    rig.until("the lantern answers", |seen| !seen.lantern.is_empty());
    begin.elapsed()
}

/// Time to the first output, and by how much the second one missed the settle time.
fn phase_latency(rig: &mut Rig, daiza_state: u8) -> (Duration, Duration) {
    let known = rig.seen.pedestal.len();
    let begin = Instant::now();
    rig.mecha_state.publish(&MechaState { daiza_state, hina_state: LEAVE_ALONE, bonbori_state: false });
    rig.until("the first output", |seen| seen.pedestal.len() > known);
    let first = Instant::now();
    let sent = rig.seen.pedestal[known].clone();
    rig.until("the second output", |seen| seen.pedestal.iter().skip(known).any(|a| *a != sent));
    let gap = first.elapsed();
    // The sequence ends a settle time after its last output.
    rig.observe(Duration::from_millis(300));
    (first - begin, gap.abs_diff(Duration::from_millis(200)))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

struct Spread {
    p50: Duration,
    p99: Duration,
    max: Duration,
}

impl Spread {
    fn of(mut all: Vec<Duration>) -> Self {
        all.sort();
        let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize];
        Self { p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }

    fn print(&self, what: &str) {
        let [p50, p99, max] = [self.p50, self.p99, self.max].map(millis);
        println!("  {what:38} {p50:>7.2} ms {p99:>7.2} ms {max:>7.2} ms");
    }
}

/// Sensor samples handled per second while a step waits, and commands per second.
fn engine_rates() -> (f64, f64) {
    let mut engine = Engine::new(mechanism::Settings::defaults(Profile::Document));
    let mut now = Time::ZERO;
    let waiting = doll::Sensors { up: true, tilt: 180.0, stowed: true, ..doll::Sensors::default() };
    engine.handle(Input::DollSensors(Ok(waiting)), now);
    engine.handle(Input::MechaState { pedestal: LEAVE_ALONE, doll: 2, lantern: false }, now);
    let count = 1_000_000;
    let begin = Instant::now();
    for _ in 0..count {
        now += Duration::from_nanos(100);
        engine.handle(Input::DollSensors(Ok(waiting)), now);
        while let Some(output) = engine.poll_output() {
            std::hint::black_box(output);
        }
        std::hint::black_box(engine.next_deadline(now));
    }
    let samples = f64::from(count) / begin.elapsed().as_secs_f64();

    let mut params = mechanism::Settings::defaults(Profile::Document);
    params.set("daiza.settle", 0.0).expect("in range");
    let mut engine = Engine::new(params);
    let count = 100_000;
    let begin = Instant::now();
    for round in 0..count {
        now += Duration::from_millis(1);
        engine.handle(Input::PedestalSensors(Ok(pedestal::Sensors::default())), now);
        let phase = if round % 2 == 0 { 1 } else { 4 };
        engine.handle(Input::MechaState { pedestal: phase, doll: LEAVE_ALONE, lantern: false }, now);
        while let Some(output) = engine.poll_output() {
            std::hint::black_box(output);
        }
    }
    (samples, f64::from(count) / begin.elapsed().as_secs_f64())
}
