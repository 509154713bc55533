//! `mechanism-controller`: the sequence controller daemon and the commands that talk to it.

#![forbid(unsafe_code)]

mod actuate;
mod brake;
mod commands;
mod daemon;
mod identify;
mod keys;
mod phase;
mod route;
mod session;
mod tables;
mod watch;

use std::{process::ExitCode, time::Duration};

use clap::{Parser, Subcommand, ValueEnum};
use rosless_cli::{
    Result,
    args::{Namespace, seconds},
    output,
};
use rosless_graph::config::Settings;
use rosless_mechanism::{Profile, engine::Which};

/// Runs the sequences of the pedestal (daiza), the doll (hina) and the lantern (bonbori), without ROS.
///
/// `run` starts the controller; the other commands talk to a running one and wait for the outcome.
#[derive(Debug, Parser)]
#[command(name = "mechanism-controller", version, before_long_help = EXAMPLES, after_help = rosless_cli::EXIT_CODES)]
struct Arguments {
    #[command(flatten)]
    namespace: Namespace,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  mechanism-controller run                          the controller, document profile
  mechanism-controller run --ros-args -p hina.deploy_angle:=-15.0
  mechanism-controller deploy                       both mechanisms, waits until they are there
  mechanism-controller collect daiza --json         only the pedestal, outcome as JSON
  mechanism-controller deploy --namespace /r1       the robot in that namespace
  mechanism-controller goal hina UP_AND_CARRY       one command of the action hina_cmd, with its feedback
  mechanism-controller actuate tilt 45              one actuator, for debugging
  mechanism-controller route follow                 run a route's phases as the robot reaches its points
  mechanism-controller watch                        what it does and waits for, live";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the controller until Ctrl-C.
    Run {
        /// The hardware: `document` (package mecha_control, degrees, 1 = extended) or `nucleo` (package nucleo_agent,
        /// radians, 1 = clamped).
        #[arg(long, default_value = "document")]
        profile: Profile,
    },
    /// Doll: upright and down, ready to be deployed.
    Prepare(Phase),
    /// Pedestal: lower the arm, open clamp and guide. Doll: tilt to scoop.
    Deploy(Phase),
    /// Pedestal: tilt the small pedestal, clamp, lift; needs the pedestal switch. Doll: waits for both wall switches, then
    /// upright and up.
    Collect(Phase),
    /// Pedestal: lower and open. Doll: tilt, wait, upright, light the lantern; needs the upper switch.
    Place(Phase),
    /// Pedestal: clamp and lift. Doll: up and folded back.
    Stow(Phase),
    /// Stop what runs, at once. Says what the hardware cannot stop, and fails when the lift goes on.
    Stop(Wait),
    /// Switch the lantern.
    Bonbori {
        #[arg(value_enum)]
        light: Light,
        #[command(flatten)]
        wait: Wait,
    },
    /// Send one command of the actions daiza_cmd or hina_cmd, by name (READY, EXPAND_AND_PLACE, …) or number.
    Goal {
        #[arg(value_enum)]
        mechanism: Mechanism,
        command: String,
        #[command(flatten)]
        wait: Wait,
        /// Ctrl-C and --timeout leave the goal alone; without this they cancel it.
        #[arg(long)]
        keep_going: bool,
    },
    /// Move one actuator directly, for debugging: the others keep their places, interlocks hold.
    Actuate {
        #[command(subcommand)]
        actuator: actuate::Actuator,
        #[command(flatten)]
        options: actuate::Arguments,
    },
    /// Show what the controller does, waits for and senses, live.
    Watch {
        /// Show it once and end.
        #[arg(long)]
        once: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Drive the sequences by keyboard: single keys that act at once; Space or Esc stops, and so does leaving.
    Keys(Wait),
    /// Publish a route, or run a route's phases as its points are reached.
    #[command(subcommand)]
    Route(route::Route),
    /// Print the step tables.
    Sequences,
}

#[derive(Clone, Debug, clap::Args)]
struct Phase {
    /// Which mechanism.
    #[arg(value_enum, default_value = "both")]
    mechanism: Mechanisms,
    #[command(flatten)]
    wait: Wait,
    /// Run it although it is reached.
    #[arg(long)]
    again: bool,
    /// Ctrl-C and --timeout leave running what this command has begun; without this they stop it.
    #[arg(long)]
    keep_going: bool,
}

#[derive(Clone, Copy, Debug, clap::Args)]
struct Wait {
    /// Seconds to wait for a controller to be found.
    #[arg(long, default_value = "5", value_parser = seconds)]
    find: Duration,
    /// Seconds to wait for the outcome.
    #[arg(long, default_value = "60", value_parser = seconds)]
    timeout: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mechanisms {
    Daiza,
    Hina,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mechanism {
    Daiza,
    Hina,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Light {
    On,
    Off,
}

impl Mechanisms {
    fn includes(self, which: Which) -> bool {
        match self {
            Self::Both => true,
            Self::Daiza => which == Which::Pedestal,
            Self::Hina => which == Which::Doll,
        }
    }
}

fn main() -> ExitCode {
    rosless_cli::main(run)
}

fn run(arguments: Arguments, mut settings: Settings) -> Result<()> {
    arguments.namespace.apply(&mut settings)?;
    match arguments.command {
        Command::Run { profile } => daemon::run(settings, profile),
        Command::Prepare(phase) => phase::run(&settings, 0, &phase),
        Command::Deploy(phase) => phase::run(&settings, 1, &phase),
        Command::Collect(phase) => phase::run(&settings, 2, &phase),
        Command::Place(phase) => phase::run(&settings, 3, &phase),
        Command::Stow(phase) => phase::run(&settings, 4, &phase),
        Command::Stop(wait) => commands::stop(&settings, wait),
        Command::Bonbori { light, wait } => commands::bonbori(&settings, light == Light::On, wait),
        Command::Goal { mechanism, command, wait, keep_going } => {
            commands::goal(&settings, mechanism, &command, wait, keep_going)
        }
        Command::Actuate { actuator, options } => actuate::run(&settings, &actuator, &options),
        Command::Watch { once, wait } => watch::run(&settings, once, wait),
        Command::Route(route) => route::run(&settings, &route),
        Command::Keys(wait) => keys::run(&settings, wait),
        Command::Sequences => {
            match output::is_json() {
                true => output::json(&tables::json()),
                false => output::text(format_args!("{}", tables::all())),
            }
            Ok(())
        }
    }
}
