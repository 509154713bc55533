//! The daemon: a thin driver of the model.

use std::{
    io::{IsTerminal, Read, Stdin},
    time::Duration,
};

use rosless_cli::{Result, err};
use rosless_graph::{
    Context, EventLoop, Node, Publisher, TopicQos,
    config::Settings,
    monotonic,
    parameters::{Declared, Descriptor, NamedValue, ParameterValue, Table},
};
use rosless_mechanism::{
    self as mechanism, Profile,
    messages::{Dialect, Document, Nucleo},
    model::{Fault, Model, Speeds, Switch},
    sources::STAND_IN_PARAMETER,
};
use rosless_wire::{
    sensor_msgs::msg::JointState,
    std_msgs::msg::{Bool, Header},
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::getpgrp,
    termios::tcgetpgrp,
};

use crate::{NODE, Run};

/// The values of a switch parameter.
pub(crate) const PRESSED: &str = "pressed";
pub(crate) const RELEASED: &str = "released";
pub(crate) const AUTO: &str = "auto";
pub(crate) const FAULTS: &str = "faults";
/// The potentiometer: degrees by hand, or [`AUTO`].
pub(crate) const POTENTIOMETER: &str = "potentiometer";
/// Whether the scene is played.
pub(crate) const SCENE: &str = "scene";
/// Angles beyond this are no angles of a potentiometer.
pub(crate) const WIDEST: f64 = 360.0;
/// What a key turns the potentiometer by, in degrees.
const TURN: f64 = 10.0;

pub(crate) fn switch_parameter(switch: Switch) -> String {
    format!("switch.{}", switch.name())
}

struct Dummy<D: Dialect> {
    model: Model,
    params: mechanism::Settings,
    node: Node,
    hands: Declared<Hands>,
    pedestal: Publisher<D::Sensors>,
    /// Where everything truly is, for people who look.
    positions: Publisher<JointState>,
    doll: Publisher<D::Sensors>,
    /// What was last told about commands that make no sense, so that a stream of them is told once.
    complaint: String,
}

pub(crate) fn run(settings: Settings, options: &Run) -> Result<()> {
    match options.profile {
        Profile::Document => run_as::<Document>(settings, options),
        Profile::Nucleo => run_as::<Nucleo>(settings, options),
    }
}

fn run_as<D: Dialect>(settings: Settings, options: &Run) -> Result<()> {
    let context = Context::new(settings)?;
    let node = context.node(NODE)?;
    let event_loop = EventLoop::<Dummy<D>>::new(&context)?;
    let speeds = Speeds { cylinder: options.stroke, tilt: options.tilt_speed, lift: options.lift_time };
    let text = "This is no mechanism: a controller that has seen one does not listen to this node";
    node.declare_parameter(Descriptor::new(STAND_IN_PARAMETER).description(text).read_only(), true)?;
    let by_hand = Hands {
        switches: [None; Switch::ALL.len()],
        faults: options.faults.clone(),
        potentiometer: None,
        scene: options.auto,
    };
    let mut dummy = Dummy::<D> {
        hands: node.declare_table(by_hand)?,
        model: Model::new(speeds, options.auto, monotonic()),
        params: mechanism::Settings::defaults(D::PROFILE),
        pedestal: node.publisher("daiza_state")?,
        positions: node.publisher("~/positions".sensor_data())?,
        doll: node.publisher("hina_state")?,
        node: node.clone(),
        complaint: String::new(),
    };
    dummy.follow_parameters();
    event_loop.on_parameter_change(&node, |dummy: &mut Dummy<D>, _| dummy.follow_parameters());

    event_loop.subscribe::<D::Actuators>(&node, "daiza_clamp", |dummy, sample| {
        match D::PROFILE.read_pedestal_command(&sample.message.into()) {
            Ok(command) => dummy.model.command_pedestal(command, monotonic()),
            Err(reason) => dummy.complain(format!("daiza_clamp ignored: {reason}")),
        }
    })?;
    event_loop.subscribe::<D::Actuators>(&node, "hina_dastpan", |dummy, sample| {
        match D::PROFILE.read_doll_command(&sample.message.into(), &dummy.params) {
            Ok(command) => dummy.model.command_doll(&command, monotonic()),
            Err(reason) => dummy.complain(format!("hina_dastpan ignored: {reason}")),
        }
    })?;
    event_loop.subscribe::<Bool>(&node, "bonbori_msg", |dummy, sample| {
        let light = if sample.message.data { "shines" } else { "is dark" };
        log::info!(target: dummy.node.logger(), "the lantern {light}");
    })?;
    event_loop.timer(Duration::from_secs_f64(1.0 / options.rate), Dummy::publish);
    if std::io::stdin().is_terminal() {
        err!("{KEYS}");
        event_loop.watch(std::io::stdin(), Dummy::keys)?;
    }
    let scene = if dummy.model.plays_scene() { "automatic scene" } else { "switches by hand" };
    let profile = D::PROFILE.name();
    event_loop.announce(
        &node,
        format!("simulating the mechanism: profile {profile}, {scene}, {} Hz", options.rate),
    );
    event_loop.run(&mut dummy)?;
    Ok(())
}

/// Degrees by hand, or nothing for [`AUTO`].
fn potentiometer(value: &ParameterValue) -> Result<Option<f64>, String> {
    let degrees = match value {
        ParameterValue::String(how) if how == AUTO => return Ok(None),
        ParameterValue::Double(degrees) => *degrees,
        ParameterValue::Integer(degrees) => *degrees as f64,
        _ => f64::NAN,
    };
    match degrees.abs() <= WIDEST {
        true => Ok(Some(degrees)),
        false => Err(format!("{POTENTIOMETER} is {AUTO} or degrees from -{WIDEST} to {WIDEST}")),
    }
}

/// What hands, faults and the scene do: the node's parameters.
#[derive(Clone, Debug)]
struct Hands {
    switches: [Option<bool>; Switch::ALL.len()],
    faults: Vec<String>,
    potentiometer: Option<f64>,
    scene: bool,
}

impl Table for Hands {
    fn rows(&self) -> Vec<(Descriptor, ParameterValue)> {
        let switch = |(switch, name): (Switch, &str)| {
            let text = format!(
                "Switch {name}: {PRESSED} or {RELEASED} by hand, or {AUTO}: as mechanics and scene have it"
            );
            let how = match self.switches[switch as usize] {
                Some(true) => PRESSED,
                Some(false) => RELEASED,
                None => AUTO,
            };
            (Descriptor::new(switch_parameter(switch)).description(text), how.into())
        };
        let described = |name: &str, text: &str| Descriptor::new(name).description(text);
        let faults = "What is broken, e.g. stuck-switch:wall1=0, slow-cylinder:4=3.5, lost:hina";
        let potentiometer = "What the potentiometer says: degrees by hand, or auto: as the tray is";
        let scene = "Play the scene: pedestal and wall switches are pressed as they would be on the field";
        let held = self.potentiometer.map_or_else(|| AUTO.into(), ParameterValue::Double);
        let others = [
            (described(FAULTS, faults), self.faults.clone().into()),
            (described(POTENTIOMETER, potentiometer).dynamic_typing(), held),
            (described(SCENE, scene), self.scene.into()),
        ];
        Switch::ALL.into_iter().map(switch).chain(others).collect()
    }

    fn take(&mut self, values: &[NamedValue]) -> Result<(), String> {
        for (name, value) in values {
            let switch = name.strip_prefix("switch.").and_then(|name| name.parse::<Switch>().ok());
            match (name.as_str(), value, switch) {
                (_, ParameterValue::String(how), Some(switch)) => {
                    self.switches[switch as usize] = match how.as_str() {
                        PRESSED => Some(true),
                        RELEASED => Some(false),
                        AUTO => None,
                        how => return Err(format!("{name} is {PRESSED}, {RELEASED} or {AUTO}, not {how:?}")),
                    };
                }
                (FAULTS, ParameterValue::StringArray(faults), _) => {
                    faults.iter().try_for_each(|fault| fault.parse::<Fault>().map(drop))?;
                    self.faults.clone_from(faults);
                }
                (POTENTIOMETER, value, _) => self.potentiometer = potentiometer(value)?,
                (SCENE, ParameterValue::Bool(play), _) => self.scene = *play,
                _ => {}
            }
        }
        Ok(())
    }
}

const KEYS: &str = "Keys (then Enter): p pedestal, u up, d down, 1 wall1, 2 wall2, s stowed: toggle a switch by hand; \
                    + - turn the potentiometer by hand; g scene on or off; a all automatic again, ? show the state";

/// Whether keys can be read without waiting. A terminal belongs to the foreground: reading it from the background would
/// stop the process, and what was typed there is for the shell.
fn can_read(terminal: &Stdin) -> bool {
    let foreground = tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp());
    let mut ready = [PollFd::new(terminal, PollFlags::IN)];
    foreground && poll(&mut ready, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

impl<D: Dialect> Dummy<D> {
    fn publish(&mut self) {
        self.model.advance(monotonic());
        if let Some(sensors) = self.model.pedestal_sensors() {
            self.pedestal.publish(&D::PROFILE.pedestal_sensors(&sensors).into());
        }
        if let Some(sensors) = self.model.doll_sensors() {
            self.doll.publish(&D::PROFILE.doll_sensors(&sensors).into());
        }
        if self.positions.matched() > 0 {
            let name = ["cylinder_1", "cylinder_2", "cylinder_3", "cylinder_4", "tilt", "lift"];
            let mut position = self.model.cylinder_positions().to_vec();
            position.extend([self.model.tilt().to_radians(), self.model.height()]);
            let header = Header { stamp: self.node.now(), ..Header::default() };
            let name = name.map(str::to_owned).to_vec();
            self.positions.publish(&JointState { header, name, position, ..JointState::default() });
        }
    }

    fn complain(&mut self, complaint: String) {
        if complaint != self.complaint {
            log::warn!(target: self.node.logger(), "{complaint}");
            self.complaint = complaint;
        }
    }

    /// Brings the model in line with the parameters, which are the one place where hands and faults are kept.
    fn follow_parameters(&mut self) {
        let hands = self.hands.read();
        for ((switch, _), pressed) in Switch::ALL.into_iter().zip(hands.switches) {
            self.model.press(switch, pressed);
        }
        let faults: Vec<Fault> = hands.faults.iter().filter_map(|fault| fault.parse().ok()).collect();
        if faults != self.model.faults() {
            self.model.clear_faults();
            faults.iter().for_each(|fault| self.model.add_fault(*fault));
            let faults = if hands.faults.is_empty() { "none".to_owned() } else { hands.faults.join(", ") };
            log::warn!(target: self.node.logger(), "faults: {faults}");
        }
        self.model.hold_potentiometer(hands.potentiometer);
        if hands.scene != self.model.plays_scene() {
            self.model.play_scene(hands.scene);
            let scene = if hands.scene { "automatic scene" } else { "switches by hand" };
            log::info!(target: self.node.logger(), "{scene}");
        }
    }

    fn keys(&mut self, stdin: &mut Stdin) -> bool {
        // A terminal gives one line at a time, and tells of the others only once.
        while can_read(stdin) {
            let mut typed = [0; 256];
            match stdin.read(&mut typed) {
                Ok(0) => return false,
                Ok(length) => self.obey(&typed[..length]),
                // The terminal is somebody else's at the moment, or for good: whoever types will tell.
                Err(_) => break,
            }
        }
        true
    }

    fn obey(&mut self, typed: &[u8]) {
        for key in typed.iter().map(|byte| char::from(*byte)) {
            let switch = match key {
                'p' => Switch::Pedestal,
                'u' => Switch::Up,
                'd' => Switch::Down,
                '1' => Switch::Wall1,
                '2' => Switch::Wall2,
                's' => Switch::Stowed,
                'a' => {
                    Switch::ALL.iter().for_each(|(switch, _)| self.turn(*switch, AUTO));
                    self.set(POTENTIOMETER, AUTO.into());
                    continue;
                }
                '+' | '-' => {
                    let now = self.model.doll_sensors().map_or(self.model.tilt(), |sensors| sensors.tilt);
                    let turned = now + if key == '+' { TURN } else { -TURN };
                    self.set(POTENTIOMETER, turned.clamp(-WIDEST, WIDEST).into());
                    continue;
                }
                'g' => {
                    self.set(SCENE, (!self.model.plays_scene()).into());
                    continue;
                }
                '?' => {
                    self.show();
                    continue;
                }
                _ if key.is_whitespace() => continue,
                _ => {
                    err!("{KEYS}");
                    continue;
                }
            };
            self.turn(switch, if self.model.switch(switch) { RELEASED } else { PRESSED });
        }
    }

    fn set(&mut self, name: &str, value: ParameterValue) {
        let text = match &value {
            ParameterValue::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
            ParameterValue::Double(degrees) => format!("{degrees:.1}°"),
            _ => AUTO.to_owned(),
        };
        match self.node.set_parameter(name, value) {
            Ok(()) => {
                // Before the next key, which may depend on it.
                self.follow_parameters();
                err!("{name}: {text}");
            }
            Err(error) => err!("{name}: {error}"),
        }
    }

    fn turn(&mut self, switch: Switch, how: &str) {
        match self.node.set_parameter(&switch_parameter(switch), how) {
            Ok(()) => err!("{}: {how}", switch.name()),
            Err(error) => err!("{}: {error}", switch.name()),
        }
    }

    fn show(&self) {
        let pressed: Vec<_> = Switch::ALL
            .iter()
            .filter(|(switch, _)| self.model.switch(*switch))
            .map(|(_, name)| *name)
            .collect();
        let cylinders = self.model.cylinder_positions().map(|p| format!("{:.0} %", p * 100.0)).join(", ");
        err!(
            "cylinders {cylinders}; tilt {:.1}°, lift {:.0} %; pressed: {}",
            self.model.tilt(),
            self.model.height() * 100.0,
            if pressed.is_empty() { "none".to_owned() } else { pressed.join(", ") }
        );
    }
}
