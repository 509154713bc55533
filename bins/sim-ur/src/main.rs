//! A simulated controller of Universal Robots on real ports.
#![forbid(unsafe_code)]

mod ports;

use std::{net::IpAddr, process::ExitCode};

use clap::{Parser, builder::PossibleValuesParser};
use rosless_cli::{Failure, Result, out, output};
use rosless_kinematics::{JOINTS, Joints, builtin};
use rosless_motion::{MotionLimits, Planner};
use rosless_ur::{
    rtde::SoftwareVersion,
    sim::{Controller, Options, controller::pendant::COMMANDS},
};

/// A simulated controller of a UR robot: RTDE on port 30004, dashboard on 29999, scripts on 30001 and 30002.
///
/// What happens at the robot is typed: `protective stop`, `unlock`, `slider 0.5`, `cut`; `help` shows all of it.
#[derive(Debug, Parser)]
#[command(
    name = "sim-ur",
    version,
    before_long_help = "\
Try it, in three terminals:
  sim-ur
  primitive-queue run --hardware ur --robot ur5e --address 127.0.0.1
  primitive-queue send examples/demo.yaml",
    after_help = rosless_cli::EXIT_CODES
)]
struct Arguments {
    /// Which robot it is
    #[arg(long, default_value = "ur5e", value_parser = PossibleValuesParser::new(robots()), value_name = "NAME")]
    robot: String,
    /// The address it listens on, and calls from
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    bind: IpAddr,
    #[arg(long, default_value = "30004", value_name = "PORT")]
    rtde_port: u16,
    #[arg(long, default_value = "29999", value_name = "PORT")]
    dashboard_port: u16,
    /// For scripts; the one before it is another
    #[arg(long, default_value = "30002", value_name = "PORT")]
    script_port: u16,
    /// The controller's software; the e-series begins with 5
    #[arg(long, value_name = "VERSION", value_parser = software)]
    software: Option<SoftwareVersion>,
    /// Control is at the pendant
    #[arg(long)]
    local: bool,
    /// The arm is not powered
    #[arg(long)]
    power_off: bool,
    /// Where the joints are: six numbers with commas
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_name = "RAD,…")]
    joints: Option<Vec<f64>>,
}

fn robots() -> Vec<&'static str> {
    builtin::NAMES.into_iter().filter(|name| name.starts_with("ur")).collect()
}

fn software(text: &str) -> std::result::Result<SoftwareVersion, String> {
    let numbers: Option<Vec<u32>> = text.split('.').map(|number| number.parse().ok()).collect();
    match numbers.as_deref() {
        Some([major, minor]) => Ok(SoftwareVersion { major: *major, minor: *minor, ..Default::default() }),
        Some([major, minor, bugfix]) => {
            Ok(SoftwareVersion { major: *major, minor: *minor, bugfix: *bugfix, build: 0 })
        }
        _ => Err("give it as 5.12.0".into()),
    }
}

fn main() -> ExitCode {
    rosless_cli::main(|arguments: Arguments, _| run(&arguments))
}

fn run(arguments: &Arguments) -> Result<()> {
    if output::is_json() {
        return Err(Failure::usage("sim-ur has nothing to print as JSON"));
    }
    let unknown = || Failure::usage(format!("there is no robot {}", arguments.robot));
    let robot = builtin::robot(&arguments.robot).ok_or_else(unknown)?;
    let joints = match arguments.joints.as_deref() {
        None => robot.home,
        Some(joints) if joints.len() == JOINTS => Joints::from_column_slice(joints),
        Some(joints) => {
            return Err(Failure::usage(format!("--joints needs {JOINTS} numbers, it has {}", joints.len())));
        }
    };
    robot.limits.check(&joints).map_err(|violation| Failure::usage(format!("--joints: {violation}")))?;
    let cb3 = ["ur3", "ur5", "ur10"].contains(&arguments.robot.as_str());
    let version = arguments.software.unwrap_or(match cb3 {
        true => SoftwareVersion { major: 3, minor: 15, bugfix: 8, build: 0 },
        false => SoftwareVersion { major: 5, minor: 12, bugfix: 0, build: 0 },
    });
    // The arm may do what its joints can; the speed of the hand is the client's business.
    let hand = MotionLimits { velocity: 3.0, acceleration: 30.0, jerk: 600.0 };
    let controller = Controller::new(Options {
        planner: Planner::new(robot, hand),
        joints,
        version,
        remote: !arguments.local,
        powered: !arguments.power_off,
    });
    let mut ports = ports::Ports::open(
        controller,
        arguments.bind,
        [arguments.rtde_port, arguments.dashboard_port, arguments.script_port],
    )
    .map_err(|error| Failure::new(error.to_string()))?;
    out!(
        "{} with software {version} on {}: RTDE {}, dashboard {}, scripts {}",
        arguments.robot,
        arguments.bind,
        arguments.rtde_port,
        arguments.dashboard_port,
        arguments.script_port
    );
    ports.run().map_err(|error| Failure::new(error.to_string()))
}

/// What can be typed.
fn help() -> String {
    let line = |(command, meaning): &(&str, &str)| format!("{command:16} {meaning}");
    COMMANDS.iter().map(line).collect::<Vec<_>>().join("\n")
}
