//! The debug controller: one actuator at a time, straight to the mechanism, with its live state.

use std::{rc::Rc, time::Duration};

use clap::{Subcommand, ValueEnum};
use rosless_cli::{Failure, Result, args::within, err, out, output};
use rosless_graph::{Qos, config::Settings, monotonic};
use rosless_mechanism::{
    Params, Profile,
    doll::{Guide, Lift},
    engine::Which,
    messages::{Dialect, Document, Nucleo},
    single::{self, Bench, Outputs},
};
use serde_json::json;

use crate::session::{Session, look, open};

#[derive(Clone, Copy, Debug, Subcommand)]
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

fn angle(text: &str) -> std::result::Result<f64, String> {
    within(text, -45.0, 185.0)
}

impl From<Actuator> for single::Actuator {
    fn from(actuator: Actuator) -> Self {
        match actuator {
            Actuator::Cylinder { number, to } => Self::Cylinder { number, out: to == InOut::Out },
            Actuator::Tilt { degrees } => Self::Tilt { degrees },
            Actuator::Lift { to: LiftTo::Up } => Self::Lift(Lift::Up),
            Actuator::Lift { to: LiftTo::Down } => Self::Lift(Lift::Down),
            Actuator::Lift { to: LiftTo::Hold } => Self::Lift(Lift::Hold),
            Actuator::Guide { to } => Self::Guide(if to == InOut::Out { Guide::Out } else { Guide::In }),
            Actuator::Latch { number } => Self::Latch { number },
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The hardware: `document` or `nucleo`; what the controller drives unless given, and `document` without one.
    #[arg(long, global = true)]
    profile: Option<Profile>,
    /// Move although an interlock says no, or the controller is at work.
    #[arg(long, global = true)]
    force: bool,
    /// Seconds to wait for the mechanism's sensors, and then for the movement to end.
    #[arg(long, default_value = "5", value_parser = rosless_cli::args::seconds, global = true)]
    timeout: Duration,
}

pub(crate) fn run(settings: &Settings, actuator: &Actuator, options: &Options) -> Result<()> {
    let session = open::<Bench>(settings)?;
    let controllers = look(&session)?.map(|seen| seen.profile);
    match options.profile.or(controllers).unwrap_or_default() {
        Profile::Document => run_as::<Document>(&session, (*actuator).into(), options),
        Profile::Nucleo => run_as::<Nucleo>(&session, (*actuator).into(), options),
    }
}

fn run_as<D: Dialect>(session: &Session<Bench>, actuator: single::Actuator, options: &Options) -> Result<()> {
    let (node, event_loop, which) = (&session.node, &session.event_loop, actuator.which());
    let params = Rc::new(Params::defaults(D::PROFILE));
    let topic = if which == Which::Pedestal { "daiza_clamp" } else { "hina_dastpan" };
    let publisher = node.publisher::<D::Actuators>(topic, Qos::default())?;
    let with = params.clone();
    event_loop.subscribe::<D::Sensors>(node, "daiza_state", Qos::default(), move |app, sample| {
        if let Ok(sensors) = D::PROFILE.read_pedestal_sensors(&sample.message.into()) {
            app.own.sense_pedestal(sensors, &with, monotonic());
        }
    })?;
    event_loop.subscribe::<D::Sensors>(node, "hina_state", Qos::default(), |app, sample| {
        if let Ok(sensors) = D::PROFILE.read_doll_sensors(&sample.message.into()) {
            app.own.sense_doll(sensors, monotonic());
        }
    })?;
    let (own, with) = (publisher.gid(), params.clone());
    event_loop.subscribe::<D::Actuators>(node, topic, Qos::default(), move |app, sample| {
        let arrays = sample.message.into();
        if sample.info.publisher == own {
        } else if which == Which::Pedestal {
            let command = D::PROFILE.read_pedestal_command(&arrays);
            command.into_iter().for_each(|command| app.own.tell_pedestal(command, monotonic()));
        } else if let Ok(command) = D::PROFILE.read_doll_command(&arrays, &with) {
            app.own.tell_doll(command);
        }
    })?;
    if !session.wait(options.timeout, |app| app.own.senses(which) && publisher.matched() > 0)? {
        let missing = match session.with(|app| app.own.senses(which)) {
            true => format!("nobody listens on {topic}"),
            false => format!("no valid sensor data was seen (profile {})", D::PROFILE.name()),
        };
        let (domain, seconds) = (session.domain(), options.timeout.as_secs_f64());
        return Err(Failure::nobody(format!(
            "no mechanism on domain {domain} within {seconds:.0} s: {missing}"
        )));
    }
    // A controller must know what was moved behind its back.
    session.settle(publisher.raw())?;

    let controller = session.with(|app| app.seen.clone());
    let part = controller.as_ref().map(|seen| seen.part(which));
    if let Some(part) = part.filter(|part| part.running && !options.force) {
        return Err(Failure::new(format!(
            "the controller runs {} on {}: wait for its end, or end it with `mechanism-controller stop`; --force moves anyway",
            part.sequence(),
            which.name()
        )));
    }
    let told = controller.map(|seen| seen.outputs).unwrap_or_default();
    let is_told = if which == Which::Pedestal { told.daiza.is_some() } else { told.hina.is_some() };
    let patience = options.timeout + Duration::from_secs_f64(params.settle);
    if !session.wait(patience, |app| is_told || app.own.rests(which, &params, monotonic()))? && !options.force
    {
        return Err(Failure::new(format!("{} does not come to rest; --force moves anyway", which.name())));
    }
    let moved = session.with(|app| app.own.plan(actuator, &told, options.force, &params, monotonic()));
    let moved = moved.map_err(|refusal| Failure::new(refusal.to_string()))?;
    if D::PROFILE == Profile::Nucleo
        && which == Which::Doll
        && !is_told
        && session.with(|app| app.own.guesses_guide())
        && !matches!(actuator, single::Actuator::Guide(_))
    {
        err!("note: nobody tells where the guide was sent; it is sent out");
    }
    if let Some(reason) = &moved.overridden {
        err!("warning: interlock overridden: {reason}");
    }
    let send = |outputs: &Outputs| {
        publisher.publish(&match outputs {
            Outputs::Pedestal(command) => D::PROFILE.pedestal_command(command).into(),
            Outputs::Doll(command) => D::PROFILE.doll_command(command, &params).into(),
        })
    };
    send(&moved.outputs);
    let mut shown = String::new();
    let done = session.wait(options.timeout, |app| {
        let line = app.own.line(which);
        if line != shown && !output::is_json() {
            out!("{line}");
        }
        shown = line;
        app.own.arrived(&moved)
    })?;
    if let Some(relaxed) = &moved.relaxed {
        send(relaxed);
    }
    publisher.wait_acknowledged(Duration::from_secs(1));
    if output::is_json() {
        let sensed = session.with(|app| match which {
            Which::Pedestal => json!(app.own.pedestal),
            Which::Doll => json!(app.own.doll),
        });
        output::json_line(&json!({ "arrived": done, "mechanism": which.name(), "sensed": sensed }));
    }
    match done {
        true => Ok(()),
        false => {
            let seconds = options.timeout.as_secs_f64();
            Err(Failure::new(format!("not arrived within {seconds} s")).told_in_json())
        }
    }
}
