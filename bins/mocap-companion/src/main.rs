//! What stands beside a motion-capture system: markers to try things with, their display, and a robot's ground truth.

#![forbid(unsafe_code)]

mod ground_truth;
mod visual;

use std::{process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};
use rosless_cli::Result;
use rosless_companions::column_of_markers;
use rosless_graph::{Context, EventLoop, Node, config::Settings};

/// Companions of a motion-capture system: nodes without ROS, with the topics, services and parameters of the originals.
#[derive(Debug, Parser)]
#[command(name = "mocap-companion", version, after_help = rosless_cli::EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Publish ten markers on `markers` every second
    Markers,
    /// Show `markers` and `rigid_bodies` as shapes on `visualization_marker` and `visualization_marker_rb`
    Visualise,
    /// Broadcast where the robot truly is: the first of `rigid_bodies` as a transform
    GroundTruth,
    /// Tell a running ground truth where the robot is now: at the origin, or at a pose
    SetOrigin {
        /// x y z in metres, roll pitch yaw in radians; nothing: the robot is at the origin
        #[arg(num_args = 6, allow_negative_numbers = true, value_names = ["X", "Y", "Z", "ROLL", "PITCH", "YAW"])]
        pose: Vec<f64>,
        /// Node that broadcasts the ground truth
        #[arg(long, default_value = ground_truth::NODE)]
        node: String,
    },
}

fn main() -> ExitCode {
    rosless_cli::main(run)
}

fn run(arguments: Arguments, settings: Settings) -> Result<()> {
    match arguments.command {
        Command::Markers => serve(settings, "mocap4r2_marker_publisher", (), markers),
        Command::Visualise => serve(settings, "marker_visualizer", Default::default(), visual::install),
        Command::GroundTruth => serve(settings, ground_truth::NODE, None, ground_truth::install),
        Command::SetOrigin { pose, node } => ground_truth::set_origin(&settings, &node, &pose),
    }
}

/// Runs one companion until it is told to end.
fn serve<S: 'static>(
    settings: Settings,
    name: &str,
    mut state: S,
    install: fn(&EventLoop<S>, &Node, &mut S) -> Result<()>,
) -> Result<()> {
    let context = Context::new(settings)?;
    let event_loop = EventLoop::new(&context)?;
    let node = context.node(name)?;
    install(&event_loop, &node, &mut state)?;
    event_loop.announce(&node, format!("{} is ready", node.full_name()));
    Ok(event_loop.run(&mut state)?)
}

fn markers(event_loop: &EventLoop<()>, node: &Node, (): &mut ()) -> Result<()> {
    let publisher = node.publisher("markers")?;
    let column = column_of_markers();
    event_loop.timer(Duration::from_secs(1), move |()| {
        publisher.publish(&column);
    });
    Ok(())
}
