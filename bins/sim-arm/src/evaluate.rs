//! `sim-arm evaluate`: throws in simulated time, as a table, as JSON and as a picture.

use std::time::Instant;

use anyhow::{Context as _, Result};
use rosless_arm::{
    Limits,
    evaluate::{Report, Setup, Tally, evaluate},
    planner::Search,
};
use serde_json::{Value, json};

use crate::{EvaluateArgs, plot};

pub(crate) fn run(args: &EvaluateArgs) -> Result<()> {
    let mut setup = Setup { latency: args.latency / 1e3, ..Setup::default() };
    setup.arm.control = args.behaviour.control();
    setup.planner.strategy = args.behaviour.strategy();
    let limits = Limits::uniform(4.0, args.max_velocity, args.max_acceleration);
    (setup.arm.robot.limits, setup.planner.robot.limits) = (limits, limits);
    let search = if args.exhaustive { Search::Exhaustive } else { Search::Online };

    let started = Instant::now();
    let report = evaluate(&setup, args.throws, args.seed, search);
    let seconds = started.elapsed().as_secs_f64();
    if let Some(path) = &args.plot {
        let svg = plot::svg(&setup, &report);
        std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        println!("{}", as_json(&report, args));
    } else {
        print_table(&report, args, seconds);
    }
    Ok(())
}

fn print_table(report: &Report, args: &EvaluateArgs, seconds: f64) {
    let behaviour = &args.behaviour;
    println!(
        "{} throws, seed {}, strategy {:?}, control {:?}, limits {} rad/s and {} rad/s²\n",
        args.throws,
        args.seed,
        behaviour.strategy(),
        behaviour.control(),
        args.max_velocity,
        args.max_acceleration,
    );
    println!(
        "{:<38} {:>7} {:>9} {:>7} {:>16}",
        "highest point", "throws", "feasible", "caught", "of feasible"
    );
    for (region, tally) in &report.regions {
        print_row(region.label(), tally);
    }
    print_row("all", &report.total);
    if !report.total.reasons.is_empty() {
        println!("\nnot caught because:");
        for (reason, count) in &report.total.reasons {
            println!("  {count:>6}  {reason}");
        }
    }
    println!("\nlargest error of the closing instant: {:.6} ms", report.worst_close_error * 1e3);
    println!("{:.1} throws/s ({seconds:.2} s)", f64::from(args.throws) / seconds);
}

fn print_row(label: &str, tally: &Tally) {
    let share = |part: u32, whole: u32| {
        if whole == 0 { "-".into() } else { format!("{:.1} %", 100.0 * f64::from(part) / f64::from(whole)) }
    };
    println!(
        "{label:<38} {:>7} {:>9} {:>7} {:>16}",
        tally.throws,
        share(tally.feasible, tally.throws),
        share(tally.caught, tally.throws),
        format!(
            "{} ({}/{})",
            share(tally.caught_of_feasible, tally.feasible),
            tally.caught_of_feasible,
            tally.feasible
        ),
    );
}

fn as_json(report: &Report, args: &EvaluateArgs) -> Value {
    let tally = |t: &Tally| {
        json!({
            "throws": t.throws,
            "feasible": t.feasible,
            "caught": t.caught,
            "caught_of_feasible": t.caught_of_feasible,
            "reasons": t.reasons,
        })
    };
    let regions: serde_json::Map<String, Value> =
        report.regions.iter().map(|(region, t)| (format!("{region:?}"), tally(t))).collect();
    json!({
        "throws": args.throws,
        "seed": args.seed,
        "strategy": format!("{:?}", args.behaviour.strategy()),
        "control": format!("{:?}", args.behaviour.control()),
        "regions": regions,
        "total": tally(&report.total),
        "worst_close_error_s": report.worst_close_error,
    })
}
