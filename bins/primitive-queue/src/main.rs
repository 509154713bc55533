//! The command line of the motion primitive controller.

#![forbid(unsafe_code)]

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use primitive_queue::{
    NODE_NAME,
    client::{Client, Failure},
    daemon, plot,
    program::Program,
    settings::Settings,
};
use rosless_graph::{
    config,
    console::{answer, eprint_line},
};

/// Executes motion primitives (PTP, LIN, CIRC) with a simulated six-axis robot, and talks to such a controller.
#[derive(Debug, Parser)]
#[command(
    name = "primitive-queue",
    version,
    after_help = "\
Try it, in two terminals:
  primitive-queue run
  primitive-queue send examples/square.yaml

Exit codes:
  0  done
  1  refused, failed, or could not be configured
  2  wrong usage, or a file that is wrong
  3  no controller, no answer, or restarted meanwhile
  130  interrupted

Also understands --ros-args (-p queue_size:=20, -r __ns:=/cell, --params-file, …) and ROS_DOMAIN_ID and its kin."
)]
struct Arguments {
    /// For scripts: one JSON object per line on stdout
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Args)]
struct Target {
    /// The controller's node, with its namespace if it has one
    #[arg(long, default_value = NODE_NAME, value_name = "NODE")]
    controller: String,
    /// Seconds to wait for the controller and for each of its answers
    #[arg(long, default_value_t = 5.0, value_parser = seconds, value_name = "SECONDS")]
    timeout: f64,
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
        duration: Option<f64>,
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

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if (0.01..=86_400.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("must be between 0.01 and 86400".into())
    }
}

fn main() -> ExitCode {
    let (settings, rest) = config::settings_or_exit();
    let arguments = Arguments::parse_from(rest);
    run(settings, arguments).unwrap_or_else(|failure| {
        eprint_line(&format!("error: {failure}"));
        ExitCode::from(failure.code)
    })
}

fn run(settings: config::Settings, arguments: Arguments) -> Result<ExitCode, Failure> {
    let json = arguments.json;
    let connect = |target: &Target| {
        Client::connect(settings.clone(), &target.controller, Duration::from_secs_f64(target.timeout), json)
    };
    match arguments.command {
        Command::Run { .. } if json => {
            return Err(usage("run has nothing to print as JSON; see ~/events, or 'watch --json'".into()));
        }
        Command::Run { no_autostart } => return Ok(daemon::run(settings, !no_autostart)?),
        Command::Send { file, action, target } => {
            let program = read(&file)?;
            let mut client = connect(&target)?;
            if action { client.send_goal(&program)? } else { client.send(&program)? }
        }
        Command::Stop { target } => connect(&target)?.stop()?,
        Command::Reset { target } => connect(&target)?.reset()?,
        Command::State { target } => connect(&target)?.state()?,
        Command::Inspect { target } => connect(&target)?.inspect()?,
        Command::Watch { duration, target } => {
            connect(&target)?.watch(duration.map(Duration::from_secs_f64))?
        }
        Command::Plot { file, output: path, from } => {
            let program = read(&file)?;
            let mut robot = Settings::default();
            robot.initial_joints = from.unwrap_or(robot.initial_joints);
            let plot = plot::Plot::simulate(&program, &robot).map_err(usage)?;
            let svg = plot.svg(&file.display().to_string());
            let text = match path {
                Some(path) => {
                    std::fs::write(&path, svg)
                        .map_err(|error| failed(format!("{}: {error}", path.display())))?;
                    if json { format!("{}\n", plot.summary_json()) } else { plot.summary() + "\n" }
                }
                None => svg,
            };
            answer(&text)?;
            if let Some(problem) = plot.problem {
                return Err(failed(problem));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(file: &std::path::Path) -> Result<Program, Failure> {
    let text =
        std::fs::read_to_string(file).map_err(|error| usage(format!("{}: {error}", file.display())))?;
    Program::parse(&text).map_err(|reason| usage(format!("{}: {reason}", file.display())))
}

fn usage(message: String) -> Failure {
    Failure { code: 2, message }
}

fn failed(message: String) -> Failure {
    Failure { code: 1, message }
}
