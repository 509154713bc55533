//! A simulated mechanism: cylinders that take a second, a tilt and a lift that move, switches, faults, and a scene that
//! presses switches as the real one would.

use std::{fmt, str::FromStr, time::Duration};

use crate::{
    Time,
    doll::{self, Lift},
    engine::Which,
    pedestal::{self, Cylinders},
    settings::secs,
};

/// How fast things move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speeds {
    /// Seconds of a cylinder's stroke.
    pub cylinder: f64,
    /// Degrees per second.
    pub tilt: f64,
    /// Seconds of the lift's whole way.
    pub lift: f64,
}

impl Default for Speeds {
    fn default() -> Self {
        Self { cylinder: 1.0, tilt: 90.0, lift: 2.0 }
    }
}

/// A switch that can be pressed by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Switch {
    /// The pedestal stands in the clamp.
    Pedestal,
    /// The lift's upper end.
    Up,
    /// Its lower end.
    Down,
    /// The wall, on one side.
    Wall1,
    /// The wall, on the other side.
    Wall2,
    /// The tray at 180°.
    Stowed,
}

impl Switch {
    /// All, with their names.
    pub const ALL: [(Self, &str); 6] = [
        (Self::Pedestal, "pedestal"),
        (Self::Up, "up"),
        (Self::Down, "down"),
        (Self::Wall1, "wall1"),
        (Self::Wall2, "wall2"),
        (Self::Stowed, "stowed"),
    ];

    /// As commands and parameters call it.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|(_, name)| *name == text);
        known.map(|(switch, _)| *switch).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|(_, name)| *name).collect();
            format!("unknown switch {text:?}: use one of {}", names.join(", "))
        })
    }
}

/// Something that is broken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The switch always reads this value.
    StuckSwitch(Switch, bool),
    /// Cylinder 0…3 takes this many times as long.
    SlowCylinder(usize, f64),
    /// Cylinder 0…3 does not move.
    StuckCylinder(usize),
    /// The cylinder's sensor never changes.
    DeadCylinderSensor(usize),
    /// The tray does not tilt.
    StuckTilt,
    /// The lift does not move.
    StuckLift,
    /// No sensor messages of this mechanism.
    LostSensors(Which),
}

/// As it is written on the command line.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::StuckSwitch(switch, value) => {
                write!(f, "stuck-switch:{}={}", switch.name(), u8::from(value))
            }
            Self::SlowCylinder(index, factor) => write!(f, "slow-cylinder:{}={factor}", index + 1),
            Self::StuckCylinder(index) => write!(f, "stuck-cylinder:{}", index + 1),
            Self::DeadCylinderSensor(index) => write!(f, "dead-sensor:{}", index + 1),
            Self::StuckTilt => f.write_str("stuck-tilt"),
            Self::StuckLift => f.write_str("stuck-lift"),
            Self::LostSensors(which) => write!(f, "lost:{}", which.name()),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    /// `stuck-switch:wall1=0`, `slow-cylinder:4=3.5`, `stuck-cylinder:1`, `dead-sensor:2`, `stuck-tilt`, `stuck-lift`, `lost:daiza`, `lost:hina`.
    fn from_str(text: &str) -> Result<Self, String> {
        let help = || {
            format!(
                "unknown fault {text:?}: use stuck-switch:NAME=0|1, slow-cylinder:1-4=FACTOR, stuck-cylinder:1-4, \
                 dead-sensor:1-4, stuck-tilt, stuck-lift, lost:daiza or lost:hina"
            )
        };
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let (what, value) = rest.split_once('=').unwrap_or((rest, ""));
        let cylinder = || match what.parse() {
            Ok(number @ 1..=4) => Ok(number - 1),
            _ => Err(help()),
        };
        match (kind, what, value) {
            ("stuck-switch", name, "0" | "1") => Ok(Self::StuckSwitch(name.parse()?, value == "1")),
            ("slow-cylinder", _, factor) => match factor.parse::<f64>() {
                Ok(factor) if (1.0..=1000.0).contains(&factor) => Ok(Self::SlowCylinder(cylinder()?, factor)),
                _ => Err(help()),
            },
            ("stuck-cylinder", _, "") => Ok(Self::StuckCylinder(cylinder()?)),
            ("dead-sensor", _, "") => Ok(Self::DeadCylinderSensor(cylinder()?)),
            ("stuck-tilt", "", "") => Ok(Self::StuckTilt),
            ("stuck-lift", "", "") => Ok(Self::StuckLift),
            ("lost", "daiza", "") => Ok(Self::LostSensors(Which::Pedestal)),
            ("lost", "hina", "") => Ok(Self::LostSensors(Which::Doll)),
            _ => Err(help()),
        }
    }
}

/// How long the scene's people and wheels take for each thing they do.
const SCENE_PACE: Duration = Duration::from_secs(1);

/// Where the robot is relative to the pedestal, in the automatic scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PedestalScene {
    Away,
    Present,
    Carried,
    Left,
}

/// Drives up to the pedestal once the arm is deployed, to the wall once the tray is down, and away again.
#[derive(Debug)]
struct Scene {
    pedestal: PedestalScene,
    pedestal_since: Time,
    at_wall_since: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Cylinder {
    commanded: bool,
    /// 0 contracted … 1 extended.
    position: f64,
    sensed: bool,
}

/// The whole mechanism. Starts as the document says: cylinders in, tray at 180°, lift up.
#[derive(Debug)]
pub struct Model {
    speeds: Speeds,
    cylinders: [Cylinder; 4],
    tilt: f64,
    tilt_target: f64,
    /// 0 down … 1 up.
    height: f64,
    lift: Lift,
    latches: [bool; 2],
    /// Pressed by hand, in the order of [`Switch::ALL`]; `None` follows the mechanics.
    by_hand: [Option<bool>; 6],
    /// What the potentiometer is held at.
    potentiometer: Option<f64>,
    scene: Option<Scene>,
    faults: Vec<Fault>,
    at: Time,
}

impl Scene {
    fn new(now: Time) -> Self {
        Self { pedestal: PedestalScene::Away, pedestal_since: now, at_wall_since: None }
    }
}

impl Model {
    /// A mechanism as the document says that it starts; `automatic` plays the scene.
    pub fn new(speeds: Speeds, automatic: bool, now: Time) -> Self {
        Self {
            speeds,
            cylinders: [Cylinder { commanded: false, position: 0.0, sensed: false }; 4],
            tilt: 180.0,
            tilt_target: 180.0,
            height: 1.0,
            lift: Lift::Hold,
            latches: [false; 2],
            by_hand: [None; 6],
            potentiometer: None,
            scene: automatic.then_some(Scene::new(now)),
            faults: Vec::new(),
            at: now,
        }
    }

    /// Breaks something more.
    pub fn add_fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Repairs everything.
    pub fn clear_faults(&mut self) {
        self.faults.clear();
    }

    /// What is broken.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Holds a switch pressed or released; `None` leaves it to mechanics and scene again.
    pub fn press(&mut self, switch: Switch, pressed: Option<bool>) {
        self.by_hand[switch as usize] = pressed;
    }

    /// Holds the potentiometer at an angle, wherever the tray is; `None` lets it follow the tray again.
    pub fn hold_potentiometer(&mut self, degrees: Option<f64>) {
        self.potentiometer = degrees;
    }

    /// Plays the scene from its beginning, or leaves switches to mechanics and hands.
    pub fn play_scene(&mut self, automatic: bool) {
        if automatic != self.scene.is_some() {
            self.scene = automatic.then_some(Scene::new(self.at));
        }
    }

    /// Whether the scene is played.
    pub fn plays_scene(&self) -> bool {
        self.scene.is_some()
    }

    /// The pedestal is told.
    pub fn command_pedestal(&mut self, cylinders: Cylinders, now: Time) {
        self.advance(now);
        for (cylinder, commanded) in self.cylinders.iter_mut().zip(cylinders) {
            cylinder.commanded = commanded;
        }
    }

    /// The doll is told.
    pub fn command_doll(&mut self, command: &doll::Command, now: Time) {
        self.advance(now);
        self.tilt_target = command.tilt.clamp(-60.0, 180.0);
        self.lift = command.lift;
        self.latches = command.latches;
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// Moves everything on to `now`.
    pub fn advance(&mut self, now: Time) {
        let dt = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        for index in 0..4 {
            let slow = self.faults.iter().find_map(|fault| match *fault {
                Fault::SlowCylinder(i, factor) if i == index => Some(factor),
                _ => None,
            });
            let stuck = self.has(Fault::StuckCylinder(index));
            let dead = self.has(Fault::DeadCylinderSensor(index));
            let cylinder = &mut self.cylinders[index];
            let end = f64::from(u8::from(cylinder.commanded));
            let stroke = if stuck { 0.0 } else { dt / (self.speeds.cylinder * slow.unwrap_or(1.0)) };
            cylinder.position = towards(cylinder.position, end, stroke);
            // Reported at its new place only after arrival, like the real firmware does.
            if cylinder.position == end && !dead {
                cylinder.sensed = cylinder.commanded;
            }
        }
        if !self.has(Fault::StuckTilt) {
            self.tilt = towards(self.tilt, self.tilt_target, self.speeds.tilt * dt);
        }
        if !self.has(Fault::StuckLift) {
            let end = match self.lift {
                Lift::Up => 1.0,
                Lift::Down => 0.0,
                Lift::Hold => self.height,
            };
            self.height = towards(self.height, end, dt / self.speeds.lift);
        }
        self.advance_scene();
    }

    fn advance_scene(&mut self) {
        let [right, left, _, arm] = self.cylinders.map(|c| c.position);
        let (lowered, open) = (arm == 1.0, right == 1.0 && left == 1.0);
        let (raised, clamped) = (arm == 0.0, right == 0.0 && left == 0.0);
        let scooping = self.tilt < 0.0 && self.height == 0.0;
        let now = self.at;
        let Some(scene) = &mut self.scene else { return };
        let paced = now.saturating_sub(scene.pedestal_since) >= SCENE_PACE;
        let next = match scene.pedestal {
            PedestalScene::Away if lowered && open && paced => PedestalScene::Present,
            PedestalScene::Present if clamped && raised => PedestalScene::Carried,
            PedestalScene::Carried if lowered && open && paced => PedestalScene::Left,
            PedestalScene::Left if raised => PedestalScene::Away,
            // The pace counts from the moment in which the arm is ready.
            PedestalScene::Away | PedestalScene::Carried if !(lowered && open) => {
                scene.pedestal_since = now;
                scene.pedestal
            }
            same => same,
        };
        if next != scene.pedestal {
            scene.pedestal = next;
            scene.pedestal_since = now;
        }
        if !scooping {
            // Once the tray has left the floor the robot drives away from the wall.
            if self.height > 0.0 {
                scene.at_wall_since = None;
            }
        } else if scene.at_wall_since.is_none() {
            scene.at_wall_since = Some(now);
        }
    }

    /// The mechanics' and the scene's own idea of a switch.
    fn mechanical(&self, switch: Switch) -> bool {
        let at_wall_for = |pace: Duration| {
            let since = self.scene.as_ref().and_then(|s| s.at_wall_since);
            since.is_some_and(|since| self.at.saturating_sub(since) >= pace)
        };
        match switch {
            Switch::Pedestal => self
                .scene
                .as_ref()
                .is_some_and(|s| matches!(s.pedestal, PedestalScene::Present | PedestalScene::Carried)),
            Switch::Up => self.height >= 1.0,
            Switch::Down => self.height <= 0.0,
            Switch::Wall1 => at_wall_for(SCENE_PACE),
            Switch::Wall2 => at_wall_for(SCENE_PACE + secs(0.5)),
            Switch::Stowed => self.tilt >= 179.0,
        }
    }

    /// What the switch reads: a stuck switch beats the hand, the hand beats the mechanics.
    pub fn switch(&self, switch: Switch) -> bool {
        let stuck = self.faults.iter().find_map(|fault| match *fault {
            Fault::StuckSwitch(s, value) if s == switch => Some(value),
            _ => None,
        });
        stuck.or(self.by_hand[switch as usize]).unwrap_or_else(|| self.mechanical(switch))
    }

    /// `None` when the sensors are lost.
    pub fn pedestal_sensors(&self) -> Option<pedestal::Sensors> {
        (!self.has(Fault::LostSensors(Which::Pedestal))).then(|| pedestal::Sensors {
            pedestal: self.switch(Switch::Pedestal),
            cylinders: self.cylinders.map(|c| c.sensed),
        })
    }

    /// `None` when the sensors are lost.
    pub fn doll_sensors(&self) -> Option<doll::Sensors> {
        (!self.has(Fault::LostSensors(Which::Doll))).then(|| doll::Sensors {
            up: self.switch(Switch::Up),
            down: self.switch(Switch::Down),
            walls: [self.switch(Switch::Wall1), self.switch(Switch::Wall2)],
            stowed: self.switch(Switch::Stowed),
            tilt: self.potentiometer.unwrap_or(self.tilt),
            latches: self.latches,
        })
    }

    /// Positions of the four cylinders, 0 contracted … 1 extended.
    pub fn cylinder_positions(&self) -> [f64; 4] {
        self.cylinders.map(|c| c.position)
    }

    /// Height of the lift, 0 down … 1 up.
    pub fn height(&self) -> f64 {
        self.height
    }

    /// The tray's true angle in degrees.
    pub fn tilt(&self) -> f64 {
        self.tilt
    }
}

fn towards(from: f64, to: f64, most: f64) -> f64 {
    from + (to - from).clamp(-most, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_written_as_text() {
        for (text, fault) in [
            ("stuck-switch:wall1=0", Fault::StuckSwitch(Switch::Wall1, false)),
            ("slow-cylinder:4=3.5", Fault::SlowCylinder(3, 3.5)),
            ("stuck-cylinder:1", Fault::StuckCylinder(0)),
            ("dead-sensor:2", Fault::DeadCylinderSensor(1)),
            ("stuck-tilt", Fault::StuckTilt),
            ("stuck-lift", Fault::StuckLift),
            ("lost:daiza", Fault::LostSensors(Which::Pedestal)),
            ("lost:hina", Fault::LostSensors(Which::Doll)),
        ] {
            assert_eq!(text.parse(), Ok(fault));
            assert_eq!(fault.to_string(), text, "told as it was written");
        }
        for text in [
            "",
            "lost",
            "stuck-switch:nose=1",
            "slow-cylinder:5=2",
            "slow-cylinder:1=NaN",
            "stuck-cylinder:0",
        ] {
            assert!(text.parse::<Fault>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_cylinder_is_reported_only_after_its_stroke() {
        let mut model = Model::new(Speeds::default(), false, Time::ZERO);
        model.command_pedestal([false, false, false, true], Time::ZERO);
        model.advance(secs(0.99));
        assert!(!model.pedestal_sensors().expect("no fault").cylinders[3]);
        model.advance(secs(1.0));
        assert!(model.pedestal_sensors().expect("no fault").cylinders[3]);
    }
}
