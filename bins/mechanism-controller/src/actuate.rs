//! The debug controller: one actuator at a time, straight to the mechanism, with its live state.

use std::{process::ExitCode, time::Duration};

use anyhow::{bail, ensure};
use clap::{Subcommand, ValueEnum};
use rosless_graph::{Qos, config::Settings, monotonic};
use rosless_mechanism::{
    Params, Profile,
    doll::{self, Doll, Guide, Lift},
    messages::{Dialect, Document, Nucleo},
    pedestal::{self, Cylinders, Pedestal},
    sequence::{Mechanism, View},
};
use serde_json::json;

use crate::session::{App, NobodyThere, Session};

#[derive(Debug, Subcommand)]
pub(crate) enum Actuator {
    /// Cylinder 1 (right clamp), 2 (left clamp), 3 (small pedestal) or 4 (arm).
    Cylinder {
        #[arg(value_parser = clap::value_parser!(u8).range(1..=4))]
        number: u8,
        #[arg(value_enum)]
        to: InOut,
    },
    /// The tray's tilt in degrees: 180 stowed, 90 upright, below 0 scooping.
    #[command(allow_negative_numbers = true)]
    Tilt {
        #[arg(value_parser = angle)]
        degrees: f64,
    },
    /// The lift.
    Lift {
        #[arg(value_enum)]
        to: LiftTo,
    },
    /// The guide servos (profile nucleo).
    Guide {
        #[arg(value_enum)]
        to: InOut,
    },
    /// Fire latch 1 or 2 (profile nucleo).
    Latch {
        #[arg(value_parser = clap::value_parser!(u8).range(1..=2))]
        number: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InOut {
    In,
    Out,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LiftTo {
    Up,
    Down,
    Hold,
}

fn angle(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(degrees) if (-45.0..=185.0).contains(&degrees) => Ok(degrees),
        _ => Err("give degrees between -45 and 185".to_owned()),
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The hardware: `document` or `nucleo`.
    #[arg(long, default_value = "document", global = true)]
    profile: Profile,
    /// Move although an interlock says no.
    #[arg(long, global = true)]
    force: bool,
    /// Seconds to wait for the mechanism's sensors, and then for the movement to end.
    #[arg(long, default_value_t = 5.0, value_parser = crate::seconds, global = true)]
    timeout: f64,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

/// The last sensor samples.
#[derive(Debug, Default)]
struct Sensed {
    pedestal: Option<pedestal::Sensors>,
    doll: Option<doll::Sensors>,
}

pub(crate) fn run(settings: Settings, actuator: &Actuator, options: &Options) -> anyhow::Result<ExitCode> {
    match options.profile {
        Profile::Document => run_as::<Document>(settings, actuator, options),
        Profile::Nucleo => run_as::<Nucleo>(settings, actuator, options),
    }
}

fn run_as<D: Dialect>(
    settings: Settings,
    actuator: &Actuator,
    options: &Options,
) -> anyhow::Result<ExitCode> {
    let session = Session::<Sensed>::new(settings)?;
    let (node, event_loop) = (&session.node, &session.event_loop);
    event_loop.subscribe::<D::Sensors>(node, "daiza_state", Qos::default(), |app, sample| {
        app.own.pedestal = D::PROFILE.read_pedestal_sensors(&sample.message.into()).ok().or(app.own.pedestal);
    })?;
    event_loop.subscribe::<D::Sensors>(node, "hina_state", Qos::default(), |app, sample| {
        app.own.doll = D::PROFILE.read_doll_sensors(&sample.message.into()).ok().or(app.own.doll);
    })?;
    let for_pedestal = matches!(actuator, Actuator::Cylinder { .. });
    let topic = if for_pedestal { "daiza_clamp" } else { "hina_dastpan" };
    let publisher = node.publisher::<D::Actuators>(topic, Qos::default())?;
    let timeout = Duration::from_secs_f64(options.timeout);
    let mut app = App::default();
    let sensed =
        |app: &App<Sensed>| if for_pedestal { app.own.pedestal.is_some() } else { app.own.doll.is_some() };
    let found = event_loop.run_until(&mut app, timeout, |app| sensed(app) && publisher.matched() > 0)?;
    if !found {
        let message = format!(
            "no mechanism on domain {} within {:.0} s: {}",
            session.domain(),
            options.timeout,
            if sensed(&app) {
                format!("nobody listens on {topic}")
            } else {
                "no valid sensor data was seen".to_owned()
            }
        );
        return Err(NobodyThere(message).into());
    }
    // A controller must know what was moved behind its back.
    event_loop.settle(&mut app, publisher.raw())?;

    let params = Params::defaults(D::PROFILE);
    let now = monotonic();
    let arrived: Box<dyn Fn(&Sensed) -> bool> =
        if let (true, Some(sensors)) = (for_pedestal, app.own.pedestal) {
            let next = pedestal_command(actuator, sensors.cylinders);
            let view = View::<Pedestal> {
                sensors: &sensors,
                command: &sensors.cylinders,
                history: &pedestal::History::default(),
                params: &params,
                now,
            };
            obey(Pedestal::interlock(&view, &next), options.force)?;
            publisher.publish(&D::PROFILE.pedestal_command(&next).into());
            Box::new(move |sensed| sensed.pedestal.is_some_and(|s| s.cylinders == next))
        } else if let Some(sensors) = app.own.doll {
            let Ok(rest) = Doll::resting(&sensors, None, &(), &params, now) else {
                bail!("the doll does not rest")
            };
            let next = doll_command(actuator, rest, D::PROFILE)?;
            let view = View::<Doll> { sensors: &sensors, command: &rest, history: &(), params: &params, now };
            obey(Doll::interlock(&view, &next), options.force)?;
            publisher.publish(&D::PROFILE.doll_command(&next, &params).into());
            let tolerance = params.tolerance;
            Box::new(move |sensed| {
                sensed.doll.is_some_and(|s| {
                    let lift = next.lift == Lift::Hold || s.end() == Some(next.lift);
                    let latches = (0..2).all(|i| !next.latches[i] || s.latches[i]);
                    lift && latches && (s.tilt - next.tilt).abs() <= tolerance
                })
            })
        } else {
            bail!("the mechanism's sensors are gone");
        };

    let mut shown = String::new();
    let done = event_loop.run_until(&mut app, timeout, |app| {
        let line = state_line(&app.own, for_pedestal);
        if line != shown && !options.json {
            println!("{line}");
        }
        shown = line;
        arrived(&app.own)
    })?;
    if let (true, Actuator::Latch { .. }, Some(sensors)) = (done, actuator, app.own.doll)
        && let Ok(rest) = Doll::resting(&sensors, None, &(), &params, now)
    {
        // A latch's solenoid must not stay under current.
        publisher.publish(&D::PROFILE.doll_command(&rest, &params).into());
    }
    publisher.wait_acknowledged(Duration::from_secs(1));
    if options.json {
        println!("{}", json!({ "arrived": done, "state": shown }));
    } else if !done {
        println!("not arrived within {:.0} s", options.timeout);
    }
    Ok(if done { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn obey(interlock: Result<(), String>, force: bool) -> anyhow::Result<()> {
    match interlock {
        Err(reason) if !force => bail!("interlock: {reason}; --force moves anyway"),
        Err(reason) => {
            eprintln!("warning: interlock overridden: {reason}");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn pedestal_command(actuator: &Actuator, mut cylinders: Cylinders) -> Cylinders {
    if let Actuator::Cylinder { number, to } = actuator {
        cylinders[usize::from(number - 1)] = *to == InOut::Out;
    }
    cylinders
}

fn doll_command(
    actuator: &Actuator,
    mut command: doll::Command,
    profile: Profile,
) -> anyhow::Result<doll::Command> {
    match actuator {
        Actuator::Cylinder { .. } => {}
        Actuator::Tilt { degrees } => command.tilt = *degrees,
        Actuator::Lift { to } => {
            ensure!(*to != LiftTo::Hold || profile.lift_holds(), "this hardware's lift cannot stop half-way");
            command.lift = match to {
                LiftTo::Up => Lift::Up,
                LiftTo::Down => Lift::Down,
                LiftTo::Hold => Lift::Hold,
            };
        }
        Actuator::Guide { to } => {
            ensure!(profile == Profile::Nucleo, "only the profile nucleo has guide servos");
            command.guide = if *to == InOut::Out { Guide::Out } else { Guide::In };
        }
        Actuator::Latch { number } => {
            ensure!(profile == Profile::Nucleo, "only the profile nucleo has latches");
            command.latches[usize::from(number - 1)] = true;
        }
    }
    Ok(command)
}

fn state_line(sensed: &Sensed, for_pedestal: bool) -> String {
    let bit = |bit: bool| if bit { '1' } else { '0' };
    match (for_pedestal, sensed.pedestal, sensed.doll) {
        (true, Some(s), _) => {
            let cylinders: String = s.cylinders.map(bit).iter().collect();
            format!("cylinders {cylinders}  pedestal {}", bit(s.pedestal))
        }
        (false, _, Some(s)) => format!(
            "tilt {:6.1}°  up {} down {} walls {}{} stowed {}  latches {}{}",
            s.tilt,
            bit(s.up),
            bit(s.down),
            bit(s.walls[0]),
            bit(s.walls[1]),
            bit(s.stowed),
            bit(s.latches[0]),
            bit(s.latches[1])
        ),
        _ => String::new(),
    }
}
