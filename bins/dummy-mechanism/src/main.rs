//! `dummy-mechanism`: the mechanism's stand-in. It moves as the real one does and its switches can be pressed by hand.

#![forbid(unsafe_code)]

mod commands;
mod daemon;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rosless_cli::args::within;
use rosless_graph::config::Settings;
use rosless_mechanism::{
    Profile,
    model::{Fault, Switch},
};

/// The name other programs find the stand-in by.
const NODE: &str = "dummy_mechanism";

/// Simulates the mechanism over DDS: pedestal, doll and lantern, without hardware and without ROS.
///
/// Subscribes daiza_clamp, hina_dastpan and bonbori_msg, publishes daiza_state and hina_state at 30 Hz. Cylinders take a
/// second, tilt and lift move, switches follow the motion or your hand.
#[derive(Debug, Parser)]
#[command(name = "dummy-mechanism", version, before_long_help = EXAMPLES, after_help = rosless_cli::EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  dummy-mechanism run --auto                      play the scene: switches are pressed as they would be on the field
  dummy-mechanism run --fault slow-cylinder:4=5   try the controller's timeouts
  dummy-mechanism press wall1                     hold a switch of a running stand-in pressed
  dummy-mechanism auto wall1                      let it follow the mechanics again
  dummy-mechanism fault lost:hina                 break something while it runs";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the stand-in until Ctrl-C.
    Run(Run),
    /// Hold a switch pressed: pedestal, up, down, wall1, wall2 or stowed.
    Press { switch: Switch },
    /// Hold a switch released.
    Release { switch: Switch },
    /// Let a switch follow mechanics and scene again.
    Auto { switch: Switch },
    /// Break something more: stuck-switch:NAME=0|1, slow-cylinder:1-4=FACTOR, stuck-cylinder:1-4, dead-sensor:1-4, stuck-tilt, stuck-lift, lost:daiza, lost:hina.
    Fault {
        #[arg(value_parser = check_fault)]
        fault: String,
    },
    /// Repair everything.
    Repair,
}

/// Kept as text, because text is what the node's parameter holds.
fn check_fault(text: &str) -> Result<String, String> {
    text.parse::<Fault>().map(|_| text.to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    within(text, 0.1, 1000.0)
}

fn duration(text: &str) -> Result<f64, String> {
    within(text, 0.01, 60.0)
}

fn speed(text: &str) -> Result<f64, String> {
    within(text, 0.1, 10_000.0)
}

#[derive(Debug, clap::Args)]
struct Run {
    /// Messages, polarity and units: `document` or `nucleo` (the action-era robot).
    #[arg(long, default_value = "document")]
    profile: Profile,
    /// Press pedestal and wall switches as the scene on the field would.
    #[arg(long)]
    auto: bool,
    /// Publications per second, 0.1 to 1000.
    #[arg(long, default_value_t = 30.0, value_parser = rate)]
    rate: f64,
    /// Start with something broken; may be given more than once. See `dummy-mechanism fault --help`.
    #[arg(long = "fault", value_parser = check_fault)]
    faults: Vec<String>,
    /// Seconds of a cylinder's stroke, 0.01 to 60.
    #[arg(long, default_value_t = 1.0, value_parser = duration)]
    stroke: f64,
    /// Tilt speed in degrees per second, 0.1 to 10000.
    #[arg(long, default_value_t = 90.0, value_parser = speed)]
    tilt_speed: f64,
    /// Seconds of the lift's whole way, 0.01 to 60.
    #[arg(long, default_value_t = 2.0, value_parser = duration)]
    lift_time: f64,
}

fn main() -> ExitCode {
    rosless_cli::main(run_command)
}

fn run_command(cli: Cli, settings: Settings) -> rosless_cli::Result<()> {
    match cli.command {
        Command::Run(options) => daemon::run(settings, &options),
        Command::Press { switch } => commands::set_switch(&settings, switch, daemon::PRESSED),
        Command::Release { switch } => commands::set_switch(&settings, switch, daemon::RELEASED),
        Command::Auto { switch } => commands::set_switch(&settings, switch, daemon::AUTO),
        Command::Fault { fault } => commands::add_fault(&settings, &fault),
        Command::Repair => commands::repair(&settings),
    }
}
