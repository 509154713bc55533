//! Runs every benchmark of the workspace and gathers the figures: `cargo bench-all`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints for people")]
#![forbid(unsafe_code)]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use rosless_tests::bench::{self, Document, Figure, Gathered, Verdict};

const HELP: &str = "\
Runs every benchmark of the workspace, prints one table of all figures and writes it into docs/benchmarks.md.

Usage: cargo bench-all [OPTIONS]

Options:
  --quick            short runs with rough figures; nothing is written unless --output is given
  --package PACKAGE  only this package's benchmarks (repeatable); nothing is written unless --output is given
  --output FILE      fill this page instead of docs/benchmarks.md; it must have the same markers
  --help             this text

The exit code is 0 when every benchmark ran to its end, whether or not its targets are met.";

#[derive(Debug, Default)]
struct Options {
    quick: bool,
    packages: Vec<String>,
    output: Option<PathBuf>,
}

fn options() -> Result<Option<Options>> {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value; see --help"));
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--package" | "-p" => options.packages.push(value()?),
            "--output" => options.output = Some(value()?.into()),
            "--help" | "-h" => return Ok(None),
            other => bail!("unknown option {other}; see --help"),
        }
    }
    Ok(Some(options))
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("this package lies in the workspace")?;
    build(options, root)?;
    let (begin, load) = (Instant::now(), fs::read_to_string("/proc/loadavg").unwrap_or_default());
    let (figures, broken, ended_well) = gather(cargo_bench(options, root))?;
    println!("\n{}", bench::overview(&figures));
    let targets = figures.iter().filter(|figure| figure.verdict() != Verdict::NoTarget).count();
    let missed = figures.iter().filter(|figure| figure.verdict() == Verdict::Missed).count();
    println!(
        "{} figures in {:.0} s, {missed} of {targets} targets missed",
        figures.len(),
        begin.elapsed().as_secs_f64()
    );
    let in_full = !options.quick && options.packages.is_empty();
    if let Some(page) = options.output.clone().or_else(|| in_full.then(|| root.join("docs/benchmarks.md"))) {
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        write(&page, &figures, &bench::describe(&load, &manifest))?;
        println!("written to {}", page.display());
    }
    if !broken.is_empty() {
        bail!("figures that cannot be read:\n{}", broken.join("\n"));
    }
    if !ended_well {
        bail!("a benchmark failed; its messages are above");
    }
    Ok(())
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

fn cargo_bench(options: &Options, root: &Path) -> Command {
    let mut command = cargo(root);
    command.args(["bench", "--quiet", "--no-fail-fast"]).env(bench::GATHER, "1");
    if options.quick {
        command.env(bench::QUICK, "1");
    }
    if options.packages.is_empty() {
        command.arg("--workspace");
    }
    for package in &options.packages {
        command.args(["--package", package]);
    }
    command
}

/// Before the first measurement, because the compiler would be measured with it.
fn build(options: &Options, root: &Path) -> Result<()> {
    eprintln!("building the benchmarks …");
    // Then the programs they start, as `rosless_tests::sibling_binary` would build them.
    let mut programs = cargo(root);
    programs.args(["build", "--release", "--quiet", "--workspace", "--bins", "--example", "controller"]);
    for command in [cargo_bench(options, root).arg("--no-run"), &mut programs] {
        if !command.status()?.success() {
            bail!("the benchmarks cannot be built");
        }
    }
    Ok(())
}

/// Runs the benchmarks, shows what they print, keeps their figures and what cannot be read as one.
fn gather(mut command: Command) -> Result<(Vec<Figure>, Vec<String>, bool)> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cargo cannot be started")?;
    let (mut figures, mut broken) = (Vec::new(), Vec::new());
    for line in BufReader::new(child.stdout.take().context("stdout is piped")?).lines() {
        match Gathered::from_line(&line?) {
            Gathered::Text(text) => println!("{text}"),
            Gathered::Figure(figure) => figures.push(*figure),
            Gathered::Broken(what) => broken.push(what),
        }
    }
    Ok((figures, broken, child.wait()?.success()))
}

fn write(page: &Path, figures: &[Figure], machine: &str) -> Result<()> {
    let text = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    let mut document = Document::new(text);
    let with_target = figures.iter().filter(|figure| figure.verdict() != Verdict::NoTarget);
    document.fill("machine", machine)?;
    document.fill("targets", &bench::overview(with_target))?;
    let mut groups: Vec<&str> = figures.iter().map(|figure| figure.group.as_str()).collect();
    groups.dedup();
    for group in groups {
        document.fill(group, &bench::section(figures.iter().filter(|figure| figure.group == group)))?;
    }
    fs::write(page, document.text()).with_context(|| format!("cannot write {}", page.display()))
}
