//! The debug controller: one actuator at a time, straight to the mechanism, with its live state.

use std::{process::ExitCode, rc::Rc, time::Duration};

use anyhow::{bail, ensure};
use clap::{Subcommand, ValueEnum};
use rosless_graph::{Qos, config::Settings, monotonic};
use rosless_mechanism::{
    Params, Profile, Time,
    doll::{self, Doll, Guide, Lift},
    engine::Which,
    messages::{Dialect, Document, Nucleo},
    pedestal::{self, Cylinders, Pedestal},
    sequence::{Mechanism, View},
};
use serde_json::json;

use crate::{
    session::{App, NobodyThere, Session},
    status::{read_doll_outputs, read_pedestal_outputs},
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

fn angle(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(degrees) if (-45.0..=185.0).contains(&degrees) => Ok(degrees),
        _ => Err("give degrees between -45 and 185".to_owned()),
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
    #[arg(long, default_value_t = 5.0, value_parser = crate::seconds, global = true)]
    timeout: f64,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

/// What the mechanism told, and what others told it.
#[derive(Debug, Default)]
struct Sensed {
    pedestal: Option<pedestal::Sensors>,
    pedestal_told: Option<Cylinders>,
    pedestal_history: pedestal::History,
    doll: Option<doll::Sensors>,
    doll_told: Option<doll::Command>,
    /// Where the doll has stood, and since when.
    doll_stands: Option<(doll::Sensors, Time)>,
}

impl Sensed {
    fn sense_pedestal(&mut self, sensors: pedestal::Sensors, params: &Params) {
        let (before, told) = (self.pedestal.replace(sensors), self.pedestal_told);
        let history = &mut self.pedestal_history;
        Pedestal::note_sensors(history, before.as_ref(), &sensors, told.as_ref(), params, monotonic());
    }

    fn tell_pedestal(&mut self, command: Cylinders) {
        let before = self.pedestal_told.replace(command);
        Pedestal::note_command(&mut self.pedestal_history, before.as_ref(), &command, monotonic());
    }

    fn sense_doll(&mut self, sensors: doll::Sensors) {
        self.doll = Some(sensors);
        let stands = self.doll_stands.is_some_and(|(stood, _)| {
            (stood.tilt - sensors.tilt).abs() < STILL && stood.end() == sensors.end()
        });
        if !stands {
            self.doll_stands = Some((sensors, monotonic()));
        }
    }

    /// Outputs that move no cylinder, once it is known that none is under way.
    fn pedestal_rest(&self, params: &Params) -> Option<Cylinders> {
        let (sensors, told) = (self.pedestal.as_ref()?, self.pedestal_told.as_ref());
        Pedestal::resting(sensors, told, &self.pedestal_history, params, monotonic()).ok()
    }

    fn doll_rest(&self, params: &Params) -> Option<doll::Command> {
        let (sensors, (_, since)) = (self.doll.as_ref()?, self.doll_stands?);
        let quiet = monotonic().saturating_sub(since).as_secs_f64() >= params.settle;
        let rest = || {
            let history = doll::History::default();
            Doll::resting(sensors, None, &history, params, monotonic()).ok()
        };
        self.doll_told.or_else(|| if quiet { rest() } else { None })
    }
}

/// A tilt that changes less, in degrees, stands.
const STILL: f64 = 1.0;

pub(crate) fn run(settings: Settings, actuator: &Actuator, options: &Options) -> anyhow::Result<ExitCode> {
    let session = Session::<Sensed>::new(settings)?;
    let mut app = App::default();
    let controllers = session.look(&mut app)?.and_then(|seen| seen.profile.parse().ok());
    match options.profile.or(controllers).unwrap_or_default() {
        Profile::Document => run_as::<Document>(&session, app, actuator, options),
        Profile::Nucleo => run_as::<Nucleo>(&session, app, actuator, options),
    }
}

fn run_as<D: Dialect>(
    session: &Session<Sensed>,
    mut app: App<Sensed>,
    actuator: &Actuator,
    options: &Options,
) -> anyhow::Result<ExitCode> {
    let (node, event_loop) = (&session.node, &session.event_loop);
    let params = Rc::new(Params::defaults(D::PROFILE));
    let for_pedestal = matches!(actuator, Actuator::Cylinder { .. });
    let topic = if for_pedestal { "daiza_clamp" } else { "hina_dastpan" };
    let publisher = node.publisher::<D::Actuators>(topic, Qos::default())?;
    let with = params.clone();
    event_loop.subscribe::<D::Sensors>(node, "daiza_state", Qos::default(), move |app, sample| {
        if let Ok(sensors) = D::PROFILE.read_pedestal_sensors(&sample.message.into()) {
            app.own.sense_pedestal(sensors, &with);
        }
    })?;
    event_loop.subscribe::<D::Sensors>(node, "hina_state", Qos::default(), |app, sample| {
        if let Ok(sensors) = D::PROFILE.read_doll_sensors(&sample.message.into()) {
            app.own.sense_doll(sensors);
        }
    })?;
    let (own, with) = (publisher.gid(), params.clone());
    event_loop.subscribe::<D::Actuators>(node, topic, Qos::default(), move |app, sample| {
        let arrays = sample.message.into();
        if sample.info.publisher == own {
        } else if for_pedestal {
            D::PROFILE.read_pedestal_command(&arrays).into_iter().for_each(|c| app.own.tell_pedestal(c));
        } else if let Ok(command) = D::PROFILE.read_doll_command(&arrays, &with) {
            app.own.doll_told = Some(command);
        }
    })?;
    let timeout = Duration::from_secs_f64(options.timeout);
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
                format!("no valid sensor data was seen (profile {})", D::PROFILE.name())
            }
        );
        return Err(NobodyThere(message).into());
    }
    // A controller must know what was moved behind its back.
    event_loop.settle(&mut app, publisher.raw())?;

    let which = if for_pedestal { Which::Pedestal } else { Which::Doll };
    let controllers = app.seen.as_ref().map(|seen| seen.part(which));
    if let Some(part) = controllers.filter(|part| part.running && !options.force) {
        bail!(
            "the controller runs {} on {}: wait for its end, or end it with `mechanism-controller stop`; --force moves anyway",
            part.sequence,
            which.name()
        );
    }
    // What the others were told is what keeps them where they are, or on their way.
    let outputs = controllers.map_or("", |part| part.outputs.as_str());
    let (pedestal_told, doll_told) = (read_pedestal_outputs(outputs), read_doll_outputs(outputs));
    let patience = timeout + Duration::from_secs_f64(params.settle);
    let rested = event_loop.run_until(&mut app, patience, |app| {
        if for_pedestal {
            pedestal_told.is_some() || app.own.pedestal_rest(&params).is_some()
        } else {
            doll_told.is_some() || app.own.doll_rest(&params).is_some()
        }
    })?;
    ensure!(rested || options.force, "{} does not come to rest; --force moves anyway", which.name());

    let now = monotonic();
    let mut relaxed = None;
    let arrived: Box<dyn Fn(&Sensed) -> bool> = if let (Actuator::Cylinder { number, to }, Some(sensors)) =
        (actuator, app.own.pedestal)
    {
        let told = pedestal_told.or_else(|| app.own.pedestal_rest(&params)).unwrap_or(sensors.cylinders);
        let (index, out) = (usize::from(number - 1), *to == InOut::Out);
        let mut next = told;
        next[index] = out;
        let history = &app.own.pedestal_history;
        let view = View::<Pedestal> { sensors: &sensors, command: &told, history, params: &params, now };
        obey(Pedestal::interlock(&view, &next), options.force)?;
        publisher.publish(&D::PROFILE.pedestal_command(&next).into());
        Box::new(move |sensed| sensed.pedestal.is_some_and(|s| s.cylinders[index] == out))
    } else if let Some(sensors) = app.own.doll {
        let told = doll_told.or_else(|| app.own.doll_rest(&params));
        let history = doll::History::default();
        let Some(told) = told.or_else(|| Doll::resting(&sensors, None, &history, &params, now).ok()) else {
            bail!("the doll does not rest")
        };
        if D::PROFILE == Profile::Nucleo
            && doll_told.or(app.own.doll_told).is_none()
            && !matches!(actuator, Actuator::Guide { .. })
        {
            eprintln!("note: nobody tells where the guide was sent; it is sent out");
        }
        let next = doll_command(actuator, told, D::PROFILE)?;
        let view =
            View::<Doll> { sensors: &sensors, command: &told, history: &history, params: &params, now };
        obey(Doll::interlock(&view, &next), options.force)?;
        publisher.publish(&D::PROFILE.doll_command(&next, &params).into());
        relaxed = (next.latches != [false; 2]).then_some(doll::Command { latches: [false; 2], ..next });
        let (actuator, tolerance) = (*actuator, params.tolerance);
        Box::new(move |sensed| {
            sensed.doll.is_some_and(|s| match actuator {
                Actuator::Tilt { degrees } => (s.tilt - degrees).abs() <= tolerance,
                Actuator::Lift { .. } => next.lift == Lift::Hold || s.end() == Some(next.lift),
                Actuator::Latch { .. } => (0..2).all(|i| !next.latches[i] || s.latches[i]),
                // The guide has no sensor.
                Actuator::Guide { .. } | Actuator::Cylinder { .. } => true,
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
    if let Some(relaxed) = relaxed {
        // A latch's solenoid must not stay under current.
        publisher.publish(&D::PROFILE.doll_command(&relaxed, &params).into());
    }
    publisher.wait_acknowledged(Duration::from_secs(1));
    if options.json {
        println!("{}", json!({ "arrived": done, "state": shown }));
    } else if !done {
        println!("not arrived within {} s", options.timeout);
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
