//! The command line of the motion primitive controller.

#![forbid(unsafe_code)]

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use primitive_queue::{NODE_NAME, commands::Client, daemon, plot, settings::Settings};
use rosless_cli::{Failure, Result, args::seconds, output};
use rosless_graph::config;
use rosless_motion::Program;

/// Executes motion primitives (PTP, LIN, CIRC) with a simulated six-axis robot, and talks to such a controller.
#[derive(Debug, Parser)]
#[command(
    name = "primitive-queue",
    version,
    before_long_help = "\
Try it, in two terminals:
  primitive-queue run
  primitive-queue send examples/square.yaml",
    after_help = rosless_cli::EXIT_CODES
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct Target {
    /// The controller's node, with its namespace if it has one
    #[arg(long, default_value = NODE_NAME, value_name = "NODE")]
    controller: String,
    /// Seconds to wait for the controller and for each of its answers
    #[arg(long, default_value = "5", value_parser = seconds, value_name = "SECONDS")]
    timeout: Duration,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Be the controller: a lifecycle node with ~/reference, ~/state, two actions and /joint_states
    Run {
        /// Stay unconfigured until somebody asks for the lifecycle transitions
        #[arg(long)]
        no_autostart: bool,
    },
    /// Send a file of moves and wait until the robot has done them
    Send {
        #[arg(value_name = "FILE.yaml")]
        file: PathBuf,
        /// As one action goal, that is one blended motion; Ctrl-C cancels it
        #[arg(long)]
        action: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Stop the robot at once and empty the queue
    Stop {
        #[command(flatten)]
        target: Target,
    },
    /// Make a stopped robot ready again
    Reset {
        #[command(flatten)]
        target: Target,
    },
    /// Show the robot's state and the queue
    State {
        #[command(flatten)]
        target: Target,
    },
    /// Show the 25 command values the robot was given last and its 2 state values
    Inspect {
        #[command(flatten)]
        target: Target,
    },
    /// Show what happens to each primitive
    Watch {
        /// End after so many seconds
        #[arg(long = "for", value_parser = seconds, value_name = "SECONDS")]
        duration: Option<Duration>,
        #[command(flatten)]
        target: Target,
    },
    /// Draw path and speed of a file of moves as SVG, without any network
    Plot {
        #[arg(value_name = "FILE.yaml")]
        file: PathBuf,
        /// Where the drawing goes; stdout without it
        #[arg(long, short, value_name = "FILE.svg")]
        output: Option<PathBuf>,
        /// Joint angles to start from: six numbers with commas
        #[arg(long, value_delimiter = ',', num_args = 6, allow_hyphen_values = true, value_name = "RAD")]
        from: Option<Vec<f64>>,
    },
}

fn main() -> ExitCode {
    rosless_cli::main(run)
}

fn run(arguments: Arguments, settings: config::Settings) -> Result<()> {
    let connect = |target: &Target| Client::connect(&settings, &target.controller, target.timeout);
    match arguments.command {
        Command::Run { .. } if output::is_json() => {
            return Err(Failure::usage("run has nothing to print as JSON; see ~/events, or 'watch --json'"));
        }
        Command::Run { no_autostart } => return daemon::run(settings, !no_autostart),
        Command::Send { file, action, target } => {
            let program = read(&file)?;
            let client = connect(&target)?;
            if action { client.send_goal(&program)? } else { client.send(&program)? }
        }
        Command::Stop { target } => connect(&target)?.stop()?,
        Command::Reset { target } => connect(&target)?.reset()?,
        Command::State { target } => connect(&target)?.state()?,
        Command::Inspect { target } => connect(&target)?.inspect()?,
        Command::Watch { duration, target } => connect(&target)?.watch(duration)?,
        Command::Plot { file, output: path, from } => {
            let program = read(&file)?;
            let mut robot = Settings::default();
            robot.initial_joints = from.unwrap_or(robot.initial_joints);
            let plot = plot::Plot::simulate(&program, &robot).map_err(Failure::usage)?;
            let svg = plot.svg(&file.display().to_string());
            match path {
                Some(path) => {
                    std::fs::write(&path, svg)
                        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
                    output::answer(&plot.summary_json(), || plot.summary());
                }
                None => output::raw(&svg),
            }
            if let Some(problem) = plot.problem {
                return Err(Failure::new(problem));
            }
        }
    }
    Ok(())
}

fn read(file: &std::path::Path) -> Result<Program> {
    let wrong = |reason: &dyn std::fmt::Display| Failure::usage(format!("{}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
    Program::parse(&text).map_err(|reason| wrong(&reason))
}
