//! `mechanism-controller`: the sequence controller daemon and the commands that talk to it.

#![forbid(unsafe_code)]

mod actuate;
mod command;
mod daemon;
mod session;
mod status;
mod tables;
mod watch;

use std::{process::ExitCode, time::Duration};

use clap::{Parser, Subcommand, ValueEnum};
use rosless_graph::config;
use rosless_mechanism::{Profile, engine::Which};

/// The daemon's node name, as in the original.
const NODE: &str = "sequence_controller";

/// Runs the sequences of the pedestal (daiza), the doll (hina) and the lantern (bonbori), without ROS.
///
/// `run` starts the controller; the other commands talk to a running one and wait for the outcome. ROS arguments
/// (--ros-args …) and ROS_DOMAIN_ID are honoured.
#[derive(Debug, Parser)]
#[command(name = "mechanism-controller", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  mechanism-controller run                          the controller, document profile
  mechanism-controller run --ros-args -p hina.deploy_angle:=-15.0
  mechanism-controller deploy                       both mechanisms, waits until they are there
  mechanism-controller collect daiza --json         only the pedestal, outcome as JSON
  mechanism-controller goal hina UP_AND_CARRY       one command of the action hina_cmd, with its feedback
  mechanism-controller actuate tilt 45              one actuator, for debugging
  mechanism-controller watch                        what it does and waits for, live

Exit codes: 0 done, 1 refused or failed (the reason is printed), 2 wrong usage, 3 nobody there, 130 interrupted.";

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
    /// Stop what runs, at once.
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
    },
    /// Move one actuator directly, for debugging: the others keep their places, interlocks hold.
    Actuate {
        #[command(subcommand)]
        actuator: actuate::Actuator,
        #[command(flatten)]
        options: actuate::Options,
    },
    /// Show what the controller does, waits for and senses, live.
    Watch {
        /// Show it once and end.
        #[arg(long)]
        once: bool,
        #[command(flatten)]
        wait: Wait,
    },
    /// Drive the sequences by keyboard: a letter and Enter.
    Keys(Wait),
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
}

#[derive(Clone, Copy, Debug, clap::Args)]
struct Wait {
    /// Seconds to wait for a controller to be found.
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    find: f64,
    /// Seconds to wait for the outcome.
    #[arg(long, default_value_t = 60.0, value_parser = seconds)]
    timeout: f64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=86_400.0).contains(&value) => Ok(value),
        _ => Err("give seconds between 0 and 86400".to_owned()),
    }
}

impl Wait {
    fn find(&self) -> Duration {
        Duration::from_secs_f64(self.find)
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.timeout)
    }
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
    let (settings, args) = config::settings_or_exit();
    let result = match Cli::parse_from(args).command {
        Command::Run { profile } => daemon::run(settings, profile).map(|()| ExitCode::SUCCESS),
        Command::Prepare(phase) => command::phase(settings, 0, &phase),
        Command::Deploy(phase) => command::phase(settings, 1, &phase),
        Command::Collect(phase) => command::phase(settings, 2, &phase),
        Command::Place(phase) => command::phase(settings, 3, &phase),
        Command::Stow(phase) => command::phase(settings, 4, &phase),
        Command::Stop(wait) => command::stop(settings, wait),
        Command::Bonbori { light, wait } => command::bonbori(settings, light == Light::On, wait),
        Command::Goal { mechanism, command, wait } => command::goal(settings, mechanism, &command, wait),
        Command::Actuate { actuator, options } => actuate::run(settings, &actuator, &options),
        Command::Watch { once, wait } => watch::run(settings, once, wait),
        Command::Keys(wait) => command::keys(settings, wait),
        Command::Sequences => {
            print!("{}", tables::all());
            Ok(ExitCode::SUCCESS)
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        let code = error.downcast_ref::<rosless_graph::Error>().map(rosless_graph::Error::exit_code);
        let code = code.or_else(|| error.downcast_ref::<session::NobodyThere>().map(|_| 3));
        ExitCode::from(code.unwrap_or(1))
    })
}
