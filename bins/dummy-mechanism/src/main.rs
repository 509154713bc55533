//! `dummy-mechanism`: the mechanism's stand-in. It moves as the real one does and its switches can be pressed by hand.

#![forbid(unsafe_code)]

mod commands;
mod daemon;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rosless_cli::args::{Namespace, within};
use rosless_graph::config::Settings;
use rosless_mechanism::{
    Profile,
    model::{Fault, Switch},
    sources::STAND_IN_NODE as NODE,
};

/// Simulates the mechanism over DDS: pedestal, doll and lantern, without hardware and without ROS.
///
/// Subscribes daiza_clamp, hina_dastpan and bonbori_msg, publishes daiza_state and hina_state at 30 Hz. Cylinders take a
/// second, tilt and lift move, switches follow the motion or your hand.
#[derive(Debug, Parser)]
#[command(name = "dummy-mechanism", version, before_long_help = EXAMPLES, after_help = rosless_cli::EXIT_CODES)]
struct Arguments {
    #[command(flatten)]
    namespace: Namespace,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  dummy-mechanism run --auto                      play the scene: switches are pressed as they would be on the field
  dummy-mechanism run --fault slow-cylinder:4=5   try the controller's timeouts
  dummy-mechanism press wall1                     hold a switch of a running stand-in pressed
  dummy-mechanism auto wall1                      let it follow the mechanics again
  dummy-mechanism pot 45                          hold the potentiometer at 45°, wherever the tray is
  dummy-mechanism scene on                        play the scene from now on
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
    /// Hold the potentiometer at an angle in degrees, or let it follow the tray again: auto.
    #[command(allow_negative_numbers = true)]
    Pot {
        #[arg(value_parser = potentiometer)]
        angle: Potentiometer,
    },
    /// Play the scene from its beginning, or leave the switches to mechanics and hands.
    Scene {
        #[arg(value_enum)]
        play: OnOff,
    },
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

/// Where the potentiometer is held; nowhere when it follows the tray.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Potentiometer(Option<f64>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum OnOff {
    On,
    Off,
}

fn potentiometer(text: &str) -> Result<Potentiometer, String> {
    match text {
        "auto" => Ok(Potentiometer(None)),
        degrees => match within(degrees, -daemon::WIDEST, daemon::WIDEST) {
            Ok(degrees) => Ok(Potentiometer(Some(degrees))),
            Err(error) => Err(format!("auto, or {error}")),
        },
    }
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
#[command(args_override_self = true)]
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

fn run_command(arguments: Arguments, mut settings: Settings) -> rosless_cli::Result<()> {
    arguments.namespace.apply(&mut settings)?;
    match arguments.command {
        Command::Run(options) => daemon::run(settings, &options),
        Command::Press { switch } => commands::set_switch(&settings, switch, daemon::PRESSED),
        Command::Release { switch } => commands::set_switch(&settings, switch, daemon::RELEASED),
        Command::Auto { switch } => commands::set_switch(&settings, switch, daemon::AUTO),
        Command::Pot { angle } => commands::hold_potentiometer(&settings, angle.0),
        Command::Scene { play } => commands::play_scene(&settings, play == OnOff::On),
        Command::Fault { fault } => commands::add_fault(&settings, &fault),
        Command::Repair => commands::repair(&settings),
    }
}
