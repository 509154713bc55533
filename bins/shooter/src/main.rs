//! The ball launcher: a node that takes aim and throws, and commands for people without ROS.
#![forbid(unsafe_code)]

mod commands;
mod node;

use std::{process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use rosless_graph::{Context, config};

/// Throws balls at the arm.
///
/// `shooter run` is the launcher itself, the ROS node shooter_controller_simple. `shooter aim` and `shooter fire`
/// talk to a running launcher, yours or any other on the network.
#[derive(Parser, Debug)]
#[command(name = "shooter", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  shooter run &                     start the launcher
  shooter aim 0 -1 0 0.9            1 m in front of the arm, straight ahead, 0.9 rad upwards
  shooter fire 4.0                  throw at 4 m/s
  shooter fire 4.0 --verdict        throw, and wait whether it is caught (exit code 3: not caught)

The same from ROS:
  ros2 topic pub --once /shooter_state_input std_msgs/msg/Float32MultiArray '{data: [0, -1, 0, 0.9]}'
  ros2 topic pub --once /shoot_value std_msgs/msg/Float32 '{data: 4.0}'

ROS arguments (--ros-args …) and variables (ROS_DOMAIN_ID, …) work as everywhere.

Exit codes: 0 done, 1 nobody answered or judged, 2 wrong usage, 3 not caught (with --verdict).";

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
        client: ClientArgs,
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
        client: ClientArgs,
    },
}

#[derive(Args, Debug, Clone, Copy)]
struct ClientArgs {
    /// How long to wait for the launcher, s
    #[arg(long, default_value = "5", value_parser = seconds)]
    timeout: Duration,
    /// Print the answer as one line of JSON
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))?;
    if !(0.0..=86_400.0).contains(&value) {
        return Err("must be from 0 to 86400 s, a day".into());
    }
    Ok(Duration::from_secs_f64(value))
}

fn main() -> ExitCode {
    let (settings, args) = config::settings_or_exit();
    let cli = Cli::parse_from(args);
    let result = match &cli.command {
        Command::Run => Context::new(settings).map_err(Into::into).and_then(|context| node::run(&context)),
        Command::Aim { x, z, phi, psi, client } => commands::aim(settings, [*x, *z, *phi, *psi], client),
        Command::Fire { speed, verdict, client } => commands::fire(settings, *speed, *verdict, client),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
