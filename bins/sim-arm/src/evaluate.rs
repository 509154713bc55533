//! `sim-arm evaluate`: throws in simulated time, as a table, as JSON and as a picture.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Write as _},
    path::PathBuf,
    time::Instant,
};

use rosless_arm::{
    Limits,
    evaluate::{Report, Setup, Tally, evaluate},
    planner::Search,
};
use rosless_cli::{Failure, Result, output};
use serde_json::{Value, json};

use crate::{EvaluateArgs, plot};

pub(crate) fn run(args: &EvaluateArgs) -> Result<()> {
    let mut setup = Setup { latency: args.latency / 1e3, ..Setup::default() };
    setup.arm.control = args.behaviour.control();
    setup.planner.strategy = args.behaviour.strategy();
    let limits = Limits::uniform(4.0, args.max_velocity, args.max_acceleration);
    (setup.arm.robot.limits, setup.planner.robot.limits) = (limits, limits);
    let search = if args.exhaustive { Search::Exhaustive } else { Search::Online };

    // Before the work, so that a wrong path does not cost minutes.
    let failed =
        |path: &PathBuf, error: io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let open = |path| Ok::<_, Failure>((path, File::create(path).map_err(|error| failed(path, error))?));
    let plot = args.plot.as_ref().map(open).transpose()?;
    let mut records = Vec::new();
    let started = Instant::now();
    let report = evaluate(&setup, args.throws, args.seed, search, |record| {
        if plot.is_some() && records.len() < plot::MOST_FLIGHTS {
            records.push(record);
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    if let Some((path, mut file)) = plot {
        let written = file.write_all(plot::svg(&setup, &records).as_bytes());
        written.map_err(|error| failed(path, error))?;
    }
    match output::is_json() {
        true => output::json_line(&as_json(&report, args)),
        false => output::text(format_args!("{}", table(&report, args, seconds))),
    }
    Ok(())
}

fn table(report: &Report, args: &EvaluateArgs, seconds: f64) -> String {
    let behaviour = &args.behaviour;
    let mut text = format!(
        "{} throws, seed {}, strategy {}, control {}, limits {} rad/s and {} rad/s²\n\n",
        args.throws,
        args.seed,
        behaviour.strategy_name(),
        behaviour.control_name(),
        args.max_velocity,
        args.max_acceleration,
    );
    text += &format!(
        "{:<38} {:>7} {:>9} {:>7} {:>18}\n",
        "highest point", "throws", "feasible", "caught", "of feasible"
    );
    for (region, tally) in &report.regions {
        text += &row(region.label(), tally);
    }
    text += &row("all", &report.total);
    if !report.total.reasons.is_empty() {
        text += "\nnot caught because:\n";
        for (reason, count) in &report.total.reasons {
            let _ = writeln!(text, "  {count:>6}  {reason}");
        }
    }
    let _ = writeln!(
        text,
        "\nlargest error of the closing instant: {:.6} ms\n{:.1} throws/s ({seconds:.2} s)",
        report.worst_close_error * 1e3,
        f64::from(args.throws) / seconds
    );
    text
}

fn row(label: &str, tally: &Tally) -> String {
    let share = |part: u32, whole: u32| {
        if whole == 0 { "-".into() } else { format!("{:.1} %", 100.0 * f64::from(part) / f64::from(whole)) }
    };
    format!(
        "{label:<38} {:>7} {:>9} {:>7} {:>18}\n",
        tally.throws,
        share(tally.feasible, tally.throws),
        share(tally.caught, tally.throws),
        format!(
            "{} ({}/{})",
            share(tally.caught_of_feasible, tally.feasible),
            tally.caught_of_feasible,
            tally.feasible
        ),
    )
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
        report.regions.iter().map(|(region, t)| (region.name().to_owned(), tally(t))).collect();
    json!({
        "throws": args.throws,
        "seed": args.seed,
        "strategy": args.behaviour.strategy_name(),
        "control": args.behaviour.control_name(),
        "regions": regions,
        "total": tally(&report.total),
        "worst_close_error_s": report.worst_close_error,
    })
}
