//! The command line of the motion primitive controller.

#![forbid(unsafe_code)]

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use primitive_queue::{
    NODE_NAME,
    commands::Client,
    daemon, plot,
    settings::{DRIVERS, Settings},
};
use rosless_cli::{Failure, Result, args::seconds, output};
use rosless_graph::config;
use rosless_kinematics::builtin;
use rosless_motion::Program;

/// Executes motion primitives (PTP, LIN, CIRC, POLYLINE) with a six-axis robot, and talks to such a controller.
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

#[derive(Debug, Args)]
struct RobotArguments {
    /// A robot that is built in
    #[arg(long, default_value = "ur5e", value_parser = builtin::NAMES, value_name = "NAME")]
    robot: String,
    /// A robot from a URDF: the six turning joints of its arm
    #[arg(long, value_name = "FILE")]
    urdf: Option<PathBuf>,
}

impl RobotArguments {
    fn settings(self) -> Settings {
        let urdf = self.urdf.map(|path| path.display().to_string()).unwrap_or_default();
        Settings { robot: self.robot, urdf, ..Settings::default() }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Be the controller: a lifecycle node with ~/reference, ~/state, actions, joint_states and /tf
    Run {
        /// Stay unconfigured until somebody asks for the lifecycle transitions
        #[arg(long)]
        no_autostart: bool,
        #[command(flatten)]
        robot: RobotArguments,
        /// The robot driver
        #[arg(long, default_value = DRIVERS[0], value_parser = DRIVERS, value_name = "NAME")]
        hardware: String,
        /// The robot's IP address, for drivers that need one
        #[arg(long, default_value = "", hide_default_value = true, value_name = "IP")]
        address: String,
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
        #[arg(long, value_delimiter = ',', num_args = 1, allow_hyphen_values = true, value_name = "RAD,…")]
        from: Option<Vec<f64>>,
        #[command(flatten)]
        robot: RobotArguments,
    },
    /// Ask a controller how long a file of moves would take and what speaks against it; nothing moves
    Plan {
        #[arg(value_name = "FILE.yaml")]
        file: PathBuf,
        #[command(flatten)]
        target: Target,
    },
    /// Hold the robot on its path
    Pause {
        #[command(flatten)]
        target: Target,
    },
    /// Go on after a pause
    Resume {
        #[command(flatten)]
        target: Target,
    },
    /// Set the share of the speed with which the robot moves
    Speed {
        /// 0 to 100
        #[arg(value_name = "PERCENT", value_parser = percent)]
        percent: f64,
        #[command(flatten)]
        target: Target,
    },
}

fn percent(text: &str) -> std::result::Result<f64, String> {
    text.parse().ok().filter(|value| (0.0..=100.0).contains(value)).ok_or_else(|| "give 0 to 100".to_owned())
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
        Command::Run { no_autostart, robot, hardware, address } => {
            let defaults = Settings { hardware, address, ..robot.settings() };
            return daemon::run(settings, defaults, !no_autostart);
        }
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
        Command::Plan { file, target } => connect(&target)?.plan(&read(&file)?)?,
        Command::Pause { target } => connect(&target)?.hold("pause")?,
        Command::Resume { target } => connect(&target)?.hold("resume")?,
        Command::Speed { percent, target } => connect(&target)?.speed(percent / 100.0)?,
        Command::Plot { file, output: path, from, robot } => {
            let program = read(&file)?;
            let mut robot = robot.settings();
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
