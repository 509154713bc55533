//! The ball launcher: a node that takes aim and throws, and commands for people without ROS.
#![forbid(unsafe_code)]

mod commands;
mod daemon;

use std::{process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use rosless_cli::{Result, args::seconds};
use rosless_graph::{Context, config::Settings};

/// Throws balls at the arm.
///
/// `shooter run` is the launcher itself, the ROS node shooter_controller_simple. `shooter aim` and `shooter fire`
/// talk to a running launcher, yours or any other on the network.
#[derive(Parser, Debug)]
#[command(name = "shooter", version, before_long_help = EXAMPLES, after_help = rosless_cli::EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  shooter run &                     start the launcher
  shooter aim 0 -1 0 0.9            1 m in front of the arm, straight ahead, 0.9 rad upwards
  shooter fire 4.0                  throw at 4 m/s
  shooter fire 4.0 --verdict        throw, and wait whether it is caught (exit code 1: not caught)

The same from ROS:
  ros2 topic pub --once /shooter_state_input std_msgs/msg/Float32MultiArray '{data: [0, -1, 0, 0.9]}'
  ros2 topic pub --once /shoot_value std_msgs/msg/Float32 '{data: 4.0}'";

#[derive(Subcommand, Debug)]
enum Command {
    /// Run the launcher until Ctrl-C.
    Run,
    /// Move the launcher. Values beyond a range are moved to its edge.
    #[command(allow_negative_numbers = true)]
    Aim {
        /// Sideways position, m: -10 … 10
        x: f32,
        /// Distance, m: -10 … 0 (the arm stands at 0)
        z: f32,
        /// Heading about the vertical, rad: -2 … 2, 0 is towards the arm
        phi: f32,
        /// Elevation, rad: 0 … 1.55
        psi: f32,
        #[command(flatten)]
        client: ClientArguments,
    },
    /// Throw a ball.
    #[command(allow_negative_numbers = true)]
    Fire {
        /// Initial speed, m/s: above 0, at most 100
        speed: f32,
        /// Wait until the catch is judged
        #[arg(long)]
        verdict: bool,
        #[command(flatten)]
        client: ClientArguments,
    },
}

#[derive(Args, Debug, Clone, Copy)]
struct ClientArguments {
    /// How long to wait for the launcher, and then for the verdict, s
    #[arg(long, default_value = "5", value_parser = seconds)]
    timeout: Duration,
}

fn main() -> ExitCode {
    rosless_cli::main(run)
}

fn run(arguments: Arguments, settings: Settings) -> Result<()> {
    match &arguments.command {
        Command::Run => daemon::run(&Context::new(settings)?),
        Command::Aim { x, z, phi, psi, client } => commands::aim(&settings, [*x, *z, *phi, *psi], client),
        Command::Fire { speed, verdict, client } => commands::fire(&settings, *speed, *verdict, client),
    }
}
