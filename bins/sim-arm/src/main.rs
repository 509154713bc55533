//! The ball-catching arm: its three nodes, and throws in simulated time.
#![forbid(unsafe_code)]

mod arm_node;
mod clock;
mod daemon;
mod evaluate;
mod listening;
mod markers;
mod plot;
mod settings;
mod target_node;
mod verdict;
mod visualizer_node;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand, ValueEnum};
use rosless_arm::{Control, Strategy};
use rosless_cli::{args::within, output};
use rosless_graph::{Context, config::Settings};

/// A simulated six-axis arm that catches balls thrown by `shooter`.
///
/// `sim-arm run` is the arm: the ROS nodes arm_controller, ball_initial_to_arm_target and visualizer.
/// `sim-arm evaluate` throws many balls in simulated time, without a network, and counts.
#[derive(Parser, Debug)]
#[command(name = "sim-arm", version, before_long_help = EXAMPLES, after_help = rosless_cli::EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  sim-arm run                               all nodes, documented behaviour
  sim-arm run --strategy best               catch wherever the flight allows it
  sim-arm run --nodes visualizer            only the viewer's side
  sim-arm evaluate --throws 1000            how many of 1000 random throws are caught
  sim-arm evaluate --strategy best --plot throws.svg
  sim-arm urdf > arm.urdf                   the scene's robot model

Then, in another terminal: shooter run & shooter aim 0 -1 0 0.9; shooter fire 4.0

RViz: sim-arm rviz > arm.rviz && rviz2 -d arm.rviz. Foxglove: add /robot_description and /catch_markers, fixed frame `world`.";

#[derive(Subcommand, Debug)]
enum Command {
    /// Run the arm until Ctrl-C.
    Run(RunArguments),
    /// Throw random balls in simulated time and print what is caught, by region, and why the rest is not.
    Evaluate(EvaluateArguments),
    /// Print the scene's robot model.
    Urdf,
    /// Print a configuration for RViz: model, transforms and markers.
    Rviz,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum NodeName {
    ArmController,
    BallInitialToArmTarget,
    Visualizer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StrategyArg {
    /// Always at the highest point of the flight, as documented
    Apex,
    /// At the highest point if the arm can be there in time, else anywhere on the flight, hand moving if it must
    Best,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ControlArg {
    /// PD control with switched gains, as documented
    Pd,
    /// The fastest move that the speed and acceleration limits allow
    Timed,
}

#[derive(Args, Debug, Clone, Copy)]
struct BehaviourArguments {
    /// Where to catch
    #[arg(long, value_enum, default_value = "apex")]
    strategy: StrategyArg,
    /// How to move there [default: pd with apex, timed with best]
    #[arg(long, value_enum)]
    control: Option<ControlArg>,
}

impl BehaviourArguments {
    fn strategy(&self) -> Strategy {
        match self.strategy {
            StrategyArg::Apex => Strategy::Apex,
            StrategyArg::Best => Strategy::Best,
        }
    }

    fn control(&self) -> Control {
        match (self.control, self.strategy) {
            (Some(ControlArg::Pd), _) | (None, StrategyArg::Apex) => Control::Pd,
            (Some(ControlArg::Timed), _) | (None, StrategyArg::Best) => Control::Timed,
        }
    }

    /// As options and parameters spell it.
    fn strategy_name(&self) -> &'static str {
        match self.strategy() {
            Strategy::Apex => "apex",
            Strategy::Best => "best",
        }
    }

    fn control_name(&self) -> &'static str {
        match self.control() {
            Control::Pd => "pd",
            Control::Timed => "timed",
        }
    }
}

#[derive(Args, Debug)]
struct RunArguments {
    #[command(flatten)]
    behaviour: BehaviourArguments,
    /// Which nodes to run in this process
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["arm_controller", "ball_initial_to_arm_target", "visualizer"])]
    nodes: Vec<NodeName>,
    /// Do not publish /tf, because a robot_state_publisher does
    #[arg(long)]
    no_tf: bool,
}

#[derive(Args, Debug)]
struct EvaluateArguments {
    #[command(flatten)]
    behaviour: BehaviourArguments,
    /// How many balls to throw
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    throws: u32,
    /// The same seed throws the same balls
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Time from a release until the arm knows of it, ms
    #[arg(long, default_value_t = 0.0, value_parser = |text: &str| within(text, 0.0, 60_000.0))]
    latency: f64,
    /// Greatest joint speed, rad/s
    #[arg(long, default_value_t = 10.0, value_parser = |text: &str| within(text, 0.01, 1000.0))]
    max_velocity: f64,
    /// Greatest joint acceleration, rad/s²
    #[arg(long, default_value_t = 100.0, value_parser = |text: &str| within(text, 0.01, 1e5))]
    max_acceleration: f64,
    /// Try thirty times harder to prove that a throw which was not caught cannot be caught (some seconds for each)
    #[arg(long)]
    exhaustive: bool,
    /// Draw the throws into an SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

fn main() -> ExitCode {
    rosless_cli::main(|arguments: Arguments, settings: Settings| {
        match &arguments.command {
            Command::Run(args) => daemon::run(&Context::new(settings)?, args)?,
            Command::Evaluate(args) => evaluate::run(args)?,
            Command::Rviz => output::raw(include_str!("../arm.rviz")),
            Command::Urdf => output::raw(&rosless_arm::model::urdf()),
        }
        Ok(())
    })
}
