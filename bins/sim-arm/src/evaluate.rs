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
    evaluate::{Report, Setup, Tally, Trial, evaluate},
};
use rosless_cli::{Failure, Result, output};
use serde_json::{Value, json};

use crate::{EvaluateArguments, plot};

pub(crate) fn run(args: &EvaluateArguments) -> Result<()> {
    let mut setup = Setup { latency: args.latency / 1e3, ..Setup::default() };
    setup.arm.control = args.behaviour.control();
    setup.planner.strategy = args.behaviour.strategy();
    let limits = Limits::uniform(4.0, args.max_velocity, args.max_acceleration);
    (setup.arm.robot.limits, setup.planner.robot.limits) = (limits, limits);
    let effort = if args.exhaustive { 3_000_000 } else { 100_000 };

    // Before the work, so that a wrong path does not cost minutes.
    let failed =
        |path: &PathBuf, error: io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let open = |path| Ok::<_, Failure>((path, File::create(path).map_err(|error| failed(path, error))?));
    let plot = args.plot.as_ref().map(open).transpose()?;
    let mut records = Vec::new();
    let started = Instant::now();
    let report = evaluate(&setup, Trial { throws: args.throws, seed: args.seed, effort }, |record| {
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

fn table(report: &Report, args: &EvaluateArguments, seconds: f64) -> String {
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
        "{:<38} {:>7} {:>7} {:>7} {:>8} {:>11}\n",
        "highest point", "throws", "caught", "bound", "of bound", "impossible"
    );
    for (region, tally) in &report.regions {
        text += &row(region.label(), tally);
    }
    text += &row("all", &report.total);
    let total = &report.total;
    for (title, reasons) in [
        ("proven impossible", &total.impossible),
        ("not caught, as the planner or the arm says", &total.reasons),
    ] {
        if !reasons.is_empty() {
            let _ = writeln!(text, "\n{title}:");
            for (reason, count) in reasons {
                let _ = writeln!(text, "  {count:>6}  {reason}");
            }
        }
    }
    if total.open > 0 {
        let _ = writeln!(
            text,
            "\n{} throws are in the bound because neither a catch nor a proof against one was found",
            total.open
        );
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
    let Tally { throws, caught, possible, .. } = *tally;
    let share = match possible {
        0 => "-".into(),
        _ => format!("{:.1} %", 100.0 * f64::from(caught) / f64::from(possible)),
    };
    format!("{label:<38} {throws:>7} {caught:>7} {possible:>7} {share:>8} {:>11}\n", throws - possible)
}

fn as_json(report: &Report, args: &EvaluateArguments) -> Value {
    let tally = |t: &Tally| {
        json!({
            "throws": t.throws,
            "caught": t.caught,
            "bound": t.possible,
            "open": t.open,
            "impossible": t.impossible,
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
