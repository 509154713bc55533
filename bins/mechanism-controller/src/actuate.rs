//! The debug controller: one actuator at a time, straight to the mechanism, with its live state.

use std::{rc::Rc, time::Duration};

use clap::{Subcommand, ValueEnum};
use rosless_cli::{Failure, Result, args::within, err, exit, out, output};
use rosless_graph::{Gid, TopicQos, config::Settings, monotonic, parameters::ParameterValue};
use rosless_mechanism::{
    self as mechanism, Profile,
    doll::{Guide, Lift},
    engine::Which,
    messages::{Dialect, Document, Nucleo},
    settings::Spec,
    single::{self, Bench, Outputs, Wish},
    sources::{Arrival, Kind, Sources},
    status::NODE,
};
use serde_json::json;

use crate::{
    identify::Publishers,
    session::{Session, look, open},
};

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
pub(crate) struct Arguments {
    /// The hardware: `document` or `nucleo`; what the controller drives unless given, and `document` without one.
    #[arg(long, global = true)]
    profile: Option<Profile>,
    /// Move although an interlock says no, or the controller is at work.
    #[arg(long, global = true)]
    force: bool,
    /// Seconds to wait for the mechanism's sensors, and then for the movement to end.
    #[arg(long, default_value = "5", value_parser = rosless_cli::args::seconds, global = true)]
    timeout: Duration,
    /// Ctrl-C and --timeout leave the actuator on its way; without this they hold it where the hardware can.
    #[arg(long, global = true)]
    keep_going: bool,
}

/// What the mechanism tells, if it is one mechanism.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    bench: Bench,
    publishers: Publishers,
    sources: Sources,
    refused: Option<String>,
}

pub(crate) fn run(settings: &Settings, actuator: &Actuator, options: &Arguments) -> Result<()> {
    let session = open::<Seen>(settings)?;
    let controllers = look(&session)?.map(|seen| seen.profile);
    let actuator_of: single::Actuator = (*actuator).into();
    // Before anything is published: a second publisher of the outputs ends what runs.
    refuse_while_running(&session, actuator_of.which(), options)?;
    let profile = options.profile.or(controllers).unwrap_or_default();
    let params = match controllers == Some(profile) {
        true => tuned(&session, profile, options)?,
        false => mechanism::Settings::defaults(profile),
    };
    match profile {
        Profile::Document => run_as::<Document>(&session, actuator_of, options, params),
        Profile::Nucleo => run_as::<Nucleo>(&session, actuator_of, options, params),
    }
}

/// The controller's own angles, tolerance and value of a lift at rest: the defaults may be another robot's.
fn tuned(session: &Session<Seen>, profile: Profile, options: &Arguments) -> Result<mechanism::Settings> {
    let mut params = mechanism::Settings::defaults(profile);
    let names: Vec<_> = mechanism::Settings::TABLE.iter().map(|spec| spec.name.to_owned()).collect();
    match session.answered(|done| session.parameters(NODE).get(names, options.timeout, done)) {
        Ok(values) => {
            let double = |(spec, value): (&Spec, ParameterValue)| match value {
                ParameterValue::Double(value) => Some((spec.name, value)),
                _ => None,
            };
            let values = mechanism::Settings::TABLE.iter().zip(values).filter_map(double);
            params.set_all(values).map_err(|error| Failure::new(format!("the controller's {error}")))?;
        }
        Err(failure) if failure.is_interruption() => return Err(failure),
        Err(failure) if !options.force => {
            let why = "the controller does not tell its parameters";
            return Err(Failure::new(format!("{why}: {failure}; --force moves by the defaults")));
        }
        Err(_) => err!("warning: the controller does not tell its parameters: the defaults count"),
    }
    Ok(params)
}

fn refuse_while_running(session: &Session<Seen>, which: Which, options: &Arguments) -> Result<()> {
    let controller = session.with(|app| app.seen.clone());
    let part = controller.as_ref().map(|seen| seen.part(which));
    match part.filter(|part| part.running && !options.force) {
        Some(part) => Err(Failure::new(format!(
            "the controller runs {} on {}: wait for its end, or end it with `mechanism-controller stop`; --force moves anyway",
            part.sequence(),
            which.name()
        ))),
        None => Ok(()),
    }
}

fn run_as<D: Dialect>(
    session: &Session<Seen>,
    actuator: single::Actuator,
    options: &Arguments,
    params: mechanism::Settings,
) -> Result<()> {
    let (node, event_loop, which) = (&session.node, &session.event_loop, actuator.which());
    let params = Rc::new(params);
    let topic = if which == Which::Pedestal { "daiza_clamp" } else { "hina_dastpan" };
    let publisher = node.publisher::<D::Actuators>(topic)?;
    // Two publishers, or a stand-in beside a robot, tell nothing that an interlock may rely on.
    let admit = |context: rosless_graph::Context, late: Duration, of: Which| {
        move |seen: &mut Seen, publisher: Gid| {
            let (mut source, ask) = seen.publishers.identify(publisher, &context.graph(), monotonic());
            // Not worth a question: the controller asks those that are not called like a stand-in.
            if ask.is_some() {
                seen.publishers.answered(publisher, false);
                source.kind = Kind::Hardware;
            }
            let judged =
                seen.sources.judge(Arrival { which: of, source: &source, stamps: None }, late, monotonic());
            seen.refused = judged.as_ref().err().filter(|_| of == which).map(ToString::to_string);
            judged.is_ok()
        }
    };
    let (with, late) = (params.clone(), Duration::from_secs_f64(params.sensor_timeout));
    let admitted = admit(session.context.clone(), late, Which::Pedestal);
    event_loop.subscribe::<D::Sensors>(node, "daiza_state".best_effort(), move |app, sample| {
        if admitted(&mut app.own, sample.info.publisher)
            && let Ok(sensors) = D::PROFILE.read_pedestal_sensors(&sample.message.into())
        {
            app.own.bench.sense_pedestal(sensors, &with, monotonic());
        }
    })?;
    let admitted = admit(session.context.clone(), late, Which::Doll);
    event_loop.subscribe::<D::Sensors>(node, "hina_state".best_effort(), move |app, sample| {
        if admitted(&mut app.own, sample.info.publisher)
            && let Ok(sensors) = D::PROFILE.read_doll_sensors(&sample.message.into())
        {
            app.own.bench.sense_doll(sensors, monotonic());
        }
    })?;
    let (own, with) = (publisher.gid(), params.clone());
    event_loop.subscribe::<D::Actuators>(node, topic.best_effort(), move |app, sample| {
        let arrays = sample.message.into();
        if sample.info.publisher == own {
        } else if which == Which::Pedestal {
            let command = D::PROFILE.read_pedestal_command(&arrays);
            command.into_iter().for_each(|command| app.own.bench.tell_pedestal(command, monotonic()));
        } else if let Ok(command) = D::PROFILE.read_doll_command(&arrays, &with) {
            app.own.bench.tell_doll(command);
        }
    })?;
    if !session.wait(options.timeout, |app| app.own.bench.senses(which) && publisher.matched() > 0)? {
        let missing = match session.with(|app| (app.own.bench.senses(which), app.own.refused.clone())) {
            (true, _) => format!("nobody listens on {topic}"),
            (false, Some(reason)) => format!("the last sensor sample was refused: {reason}"),
            (false, None) => format!("no valid sensor data was seen (profile {})", D::PROFILE.name()),
        };
        let (domain, seconds) = (session.domain(), options.timeout.as_secs_f64());
        return Err(Failure::nobody(format!(
            "no mechanism on domain {domain} within {seconds:.0} s: {missing}"
        )));
    }
    // A controller must know what was moved behind its back.
    session.settle(publisher.raw())?;

    refuse_while_running(session, which, options)?;
    let controller = session.with(|app| app.seen.clone());
    let is_told = controller.as_ref().is_some_and(|seen| match which {
        Which::Pedestal => seen.outputs.daiza.is_some(),
        Which::Doll => seen.outputs.hina.is_some(),
    });
    let patience = options.timeout + Duration::from_secs_f64(params.settle);
    if !session.wait(patience, |app| is_told || app.own.bench.rests(which, &params, monotonic()))?
        && !options.force
    {
        return Err(Failure::new(format!("{} does not come to rest; --force moves anyway", which.name())));
    }
    let told = controller.as_ref().map(|seen| seen.outputs).unwrap_or_default();
    let trust = controller.as_ref().map(|seen| &seen.trust);
    let wish = Wish { actuator, told: &told, trust, force: options.force };
    let moved = session.with(|app| app.own.bench.plan(&wish, &params, monotonic()));
    let moved = moved.map_err(|refusal| Failure::new(refusal.to_string()))?;
    if D::PROFILE == Profile::Nucleo
        && which == Which::Doll
        && !is_told
        && session.with(|app| app.own.bench.guesses_guide())
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
    let waited = session.wait(options.timeout, |app| {
        let line = app.own.bench.line(which);
        if line != shown && !output::is_json() {
            out!("{line}");
        }
        shown = line;
        app.own.bench.arrived(&moved)
    });
    let (done, interrupted) = match waited {
        Err(failure) if failure.is_interruption() => (false, true),
        waited => (waited?, false),
    };
    // A lift that has arrived stands still, and so does what has not, unless it was asked to go on.
    let rest =
        session.with(|app| app.own.bench.rest(&moved, &params)).filter(|_| done || !options.keep_going);
    if let Some(rest) = &rest {
        send(rest);
    }
    publisher.wait_acknowledged(Duration::from_secs(1));
    if output::is_json() {
        let sensed = session.with(|app| match which {
            Which::Pedestal => json!(app.own.bench.pedestal),
            Which::Doll => json!(app.own.bench.doll),
        });
        output::json_line(&json!({ "arrived": done, "mechanism": which.name(), "sensed": sensed }));
    }
    if done {
        return Ok(());
    }
    let goes_on = session.with(|app| app.own.bench.goes_on(&moved, &params));
    let what = match (options.keep_going, goes_on) {
        (true, _) => "it goes on".to_owned(),
        (false, Some(what)) => what,
        (false, None) => "held".to_owned(),
    };
    let seconds = options.timeout.as_secs_f64();
    let failure = match interrupted {
        true => Failure { code: exit::INTERRUPTED, message: format!("interrupted: {what}") },
        false => Failure::new(format!("not arrived within {seconds} s: {what}")),
    };
    Err(failure.told_in_json())
}
