//! A controlled system: driver for OptiTrack Motive; to rehearse with, dummy mocap driver, example device, or stand-in for
//! a system without a driver.

#![forbid(unsafe_code)]

mod kinds;
mod natnet;

use std::{collections::BTreeSet, net::Ipv4Addr, process::ExitCode, time::Duration};

use clap::{Parser, ValueEnum, builder::NonEmptyStringValueParser};
use kinds::Station;
use rosless_cli::{Failure, Result, args::seconds};
use rosless_graph::{Context, EventLoop, config::Settings, parameters::Descriptor};
use rosless_protocol::{
    Dialect,
    node::{ControlledNode, Options},
};

const CLOCK_OFFSET: &str = "clock_offset";

/// What the system does while it is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Mocap driver: `markers` and `rigid_bodies` every 30 ms while subscribed
    Dummy,
    /// Example device: zero IMU data on `mocap_imu_data` every 30 ms
    Imu,
    /// OptiTrack Motive at --server: NatNet 3.x or 4.x, unicast or multicast
    Natnet,
    /// Stand-in for a system that has no driver of its own: announces topics, publishes nothing
    Auxiliary,
}

impl Kind {
    fn default_name(self) -> &'static str {
        match self {
            Self::Dummy => "mocap4r2_dummy_driver_node",
            Self::Natnet => "optitrack",
            Self::Imu => "controlled_device_example",
            Self::Auxiliary => "default",
        }
    }

    fn default_dialect(self) -> Dialect {
        if self == Self::Imu { Dialect::Device } else { Dialect::Mocap }
    }
}

/// A system that the START/STOP control protocol starts and stops: a lifecycle node without ROS.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mocap-system",
    version,
    after_help = rosless_cli::EXIT_CODES
)]
pub(crate) struct Arguments {
    /// What it does while active
    #[arg(long, value_enum, default_value = "dummy")]
    pub(crate) kind: Kind,
    /// Names on the wire: mocap, device or mocap4r2; several with commas [default: device for imu, else mocap]
    #[arg(long, value_delimiter = ',', env = "ROSLESS_DIALECT")]
    dialect: Vec<Dialect>,
    /// Node name, which is also the name of the system [default: as in the originals]
    #[arg(long)]
    name: Option<String>,
    /// So many systems in one process, numbered NAME_1, NAME_2, …
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=200))]
    count: u16,
    /// Motive's address or name, with its command port if that is not 1510
    #[arg(long, required_if_eq("kind", "natnet"), value_name = "ADDRESS[:PORT]")]
    pub(crate) server: Option<String>,
    /// This machine's address in Motive's network [default: the one that the server is reached from]
    #[arg(long, requires = "server", value_name = "ADDRESS")]
    pub(crate) interface: Option<Ipv4Addr>,
    /// Look what is missing between Motive and us, say it and end
    #[arg(long, requires = "server")]
    check: bool,
    /// Topics an auxiliary system announces; its parameter `topics` goes first
    #[arg(long, value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub(crate) topics: Vec<String>,
    /// Stay unconfigured until somebody configures it
    #[arg(long)]
    unconfigured: bool,
    /// Every activation fails
    #[arg(long)]
    pub(crate) fail_activate: bool,
    /// Seconds its clock is ahead (or, negative, behind); its parameter `clock_offset` can be set while it runs
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, value_name = "SECONDS")]
    clock_offset: f64,
    /// Seconds it takes to obey a START or STOP
    #[arg(long, default_value = "0", value_parser = seconds, value_name = "SECONDS")]
    delay: Duration,
}

/// The state of the process: what each of its systems does at the moment.
#[derive(Debug, Default)]
pub(crate) struct App {
    stations: Vec<Station>,
}

fn main() -> ExitCode {
    rosless_cli::main(run)
}

fn run(arguments: Arguments, settings: Settings) -> Result<()> {
    if arguments.server.is_some() && arguments.kind != Kind::Natnet {
        return Err(Failure::usage("--server is for --kind natnet"));
    }
    if arguments.check {
        return natnet::check(&arguments, settings);
    }
    let context = Context::new(settings)?;
    let event_loop = EventLoop::new(&context)?;
    let mut app = App::default();
    let base = arguments.name.clone().unwrap_or_else(|| arguments.kind.default_name().to_owned());
    let dialects = match &arguments.dialect[..] {
        [] => vec![arguments.kind.default_dialect()],
        given => given.to_vec(),
    };
    let options = Options { dialects, delay: arguments.delay };
    let mut names = BTreeSet::new();
    for number in 0..usize::from(arguments.count) {
        let name = if arguments.count == 1 { base.clone() } else { format!("{base}_{}", number + 1) };
        let node = context.node(&name)?;
        let name = node.full_name();
        if !names.insert(name.clone()) {
            return Err(Failure::usage(format!(
                "two of the systems would be called {name}: rename them one by one, e.g. -r {base}_1:__node:=NAME"
            )));
        }
        let hook = kinds::hook(&event_loop, number, arguments.clone());
        let system = ControlledNode::new(&event_loop, &node, options.clone(), hook)?;
        follow_clock_offset(&event_loop, &system, arguments.clock_offset)?;
        app.stations.push(Station::default());
        kinds::prepare(&event_loop, number, &mut app.stations[number], &system, &arguments)?;
        if !arguments.unconfigured && !system.configure(&mut app) {
            return Err(Failure::new(format!("system {name} could not be configured")));
        }
        event_loop.announce(&node, format!("system {} is {}", node.name(), system.state().label()));
    }
    let ended = event_loop.run(&mut app);
    app.stations.iter_mut().filter_map(|station| station.natnet.as_mut()).for_each(|natnet| natnet.leave());
    Ok(ended?)
}

/// The parameter that sets the system's clock, also in the middle of a session.
fn follow_clock_offset(
    event_loop: &EventLoop<App>,
    system: &ControlledNode<App>,
    default: f64,
) -> Result<()> {
    let text = "Seconds that the clock of the system is ahead, or, negative, behind.";
    let descriptor = Descriptor::new(CLOCK_OFFSET).description(text).double_range(-1e9, 1e9, 0.0);
    system.node().declare_parameter(descriptor, default)?;
    let me = system.clone();
    let follow = move || {
        let seconds: f64 = me.node().parameter(CLOCK_OFFSET).unwrap_or_default();
        me.node().set_clock_offset((seconds * 1e9) as i64);
    };
    follow();
    event_loop.on_parameter_change(system.node(), move |_, _| follow());
    Ok(())
}
