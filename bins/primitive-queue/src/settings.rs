//! The controller's parameters: their defaults, their rules, and the engine they make.

use std::{collections::BTreeSet, time::Duration};

use rosless_arm::{Joints, Limits, Robot};
use rosless_graph::{
    Node, Result,
    parameters::{Descriptor, ParameterError},
};
use rosless_motion::{
    Config, Frames, MotionLimits, QueueController, SimulatedRobot, StateCodes,
    handshake::{COMMAND_NAMES, STATE_NAMES},
    primitive::JOINTS,
};

/// Everything that can be set. Read when the node is configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub name: String,
    pub command_interfaces: Vec<String>,
    pub state_interfaces: Vec<String>,
    pub queue_size: i64,
    pub goal_size: i64,
    pub sequence_timeout: f64,
    pub frames: Vec<String>,
    pub state_codes: String,
    pub look_ahead_blending: bool,
    pub joint_names: Vec<String>,
    pub initial_joints: Vec<f64>,
    pub joint_position_limit: f64,
    pub joint_velocity_limit: f64,
    pub joint_acceleration_limit: f64,
    pub hand_velocity_limit: f64,
    pub hand_acceleration_limit: f64,
    pub control_rate: f64,
    pub state_rate: f64,
    pub joint_state_rate: f64,
}

impl Default for Settings {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| format!("motion_primitive/{name}")).collect();
        let (config, hand) = (Config::default(), MotionLimits::default());
        Self {
            name: "motion_primitive".into(),
            command_interfaces: names(&COMMAND_NAMES),
            state_interfaces: names(&STATE_NAMES),
            queue_size: config.queue_size as i64,
            goal_size: config.goal_size as i64,
            sequence_timeout: config.sequence_timeout.as_secs_f64(),
            frames: config.frames.0,
            state_codes: "current".into(),
            look_ahead_blending: true,
            joint_names: (1..=JOINTS).map(|i| format!("joint_{i}")).collect(),
            initial_joints: vec![-0.6, 0.0, 1.4, 0.0, 0.6, 0.0],
            joint_position_limit: 4.0,
            joint_velocity_limit: 3.0,
            joint_acceleration_limit: 15.0,
            hand_velocity_limit: hand.velocity,
            hand_acceleration_limit: hand.acceleration,
            control_rate: 500.0,
            state_rate: 50.0,
            joint_state_rate: 100.0,
        }
    }
}

/// Calls `$each!(field, "description", descriptor => ranged descriptor)` for every parameter.
macro_rules! parameters {
    ($each:ident) => {
        $each! {
            name: "What this controller is called in its own words",
            command_interfaces: "Names of the 25 command values, in order, as ~/interfaces shows them",
            state_interfaces: "Names of the 2 state values, in order, as ~/interfaces shows them",
            queue_size: "Primitives that may wait on the reference topics; 0 cannot be configured",
            goal_size: "Primitives that one action goal may have",
            sequence_timeout: "Seconds after which a sequence that gets nothing more is given up",
            frames: "Frames in which poses may be given; all of them mean the robot's base",
            state_codes: "Numbers on ~/state: current (STOPPING 4, STOPPED 5) or first_generation (STOPPED 4)",
            look_ahead_blending: "Blend single primitives with a blend_radius when the next one is there in time",
            joint_names: "Names of the joints on /joint_states",
            initial_joints: "Where the simulated robot starts, rad",
            joint_position_limit: "Every joint stays within plus and minus this angle, rad",
            joint_velocity_limit: "rad/s",
            joint_acceleration_limit: "rad/s^2",
            hand_velocity_limit: "m/s",
            hand_acceleration_limit: "m/s^2",
            control_rate: "Control cycles per second while the robot moves or something waits, Hz",
            state_rate: "How often ~/state is repeated when it does not change, Hz; 0 for never",
            joint_state_rate: "How often /joint_states is published, Hz; 0 for never",
        }
    };
}

impl Settings {
    /// Declares all parameters on `node`, with these values as defaults.
    pub fn declare(self, node: &Node) -> Result<()> {
        macro_rules! declare {
            ($($field:ident: $description:literal,)*) => {{
                $(node.declare_parameter(
                    Descriptor::new(stringify!($field)).description($description).constraints(WHEN),
                    self.$field,
                )?;)*
            }};
        }
        parameters!(declare);
        Ok(())
    }

    /// The values as they are now.
    pub fn read(node: &Node) -> Result<Self, ParameterError> {
        macro_rules! read {
            ($($field:ident: $description:literal,)*) => {
                Self { $($field: node.parameter(stringify!($field))?,)* }
            };
        }
        Ok(parameters!(read))
    }

    /// Whether `name` is one of these parameters.
    pub fn has(name: &str) -> bool {
        macro_rules! names {
            ($($field:ident: $description:literal,)*) => { [$(stringify!($field),)*] };
        }
        parameters!(names).contains(&name)
    }

    pub fn state_codes(&self) -> Result<StateCodes, String> {
        match self.state_codes.as_str() {
            "current" => Ok(StateCodes::Current),
            "first_generation" => Ok(StateCodes::FirstGeneration),
            other => Err(format!("state_codes is \"{other}\"; it must be current or first_generation")),
        }
    }

    pub fn control_period(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.control_rate)
    }

    /// The engine with its simulated robot, or what is wrong with the parameters.
    pub fn controller(&self) -> Result<QueueController<SimulatedRobot>, String> {
        self.check()?;
        let robot = Robot {
            limits: Limits::uniform(
                self.joint_position_limit,
                self.joint_velocity_limit,
                self.joint_acceleration_limit,
            ),
            ..Robot::default()
        };
        let joints = Joints::from_column_slice(&self.initial_joints);
        robot.limits.check(&joints).map_err(|violation| format!("initial_joints: {violation}"))?;
        let hand =
            MotionLimits { velocity: self.hand_velocity_limit, acceleration: self.hand_acceleration_limit };
        let mut robot = SimulatedRobot::new(robot, hand, joints);
        robot.set_look_ahead_blending(self.look_ahead_blending);
        let config = Config {
            queue_size: usize::try_from(self.queue_size).unwrap_or(0),
            goal_size: usize::try_from(self.goal_size).unwrap_or(0),
            sequence_timeout: Duration::from_secs_f64(self.sequence_timeout),
            frames: Frames(self.frames.clone()),
        };
        QueueController::new(config, robot).ok_or_else(|| {
            format!("queue_size is {}; the queue must have room for 1 or more", self.queue_size)
        })
    }

    fn check(&self) -> Result<(), String> {
        if self.name.is_empty() {
            return Err("name is empty".into());
        }
        names("command_interfaces", &self.command_interfaces, COMMAND_NAMES.len())?;
        names("state_interfaces", &self.state_interfaces, STATE_NAMES.len())?;
        names("joint_names", &self.joint_names, JOINTS)?;
        if self.initial_joints.len() != JOINTS {
            return Err(format!(
                "initial_joints has {} values, it needs {JOINTS}",
                self.initial_joints.len()
            ));
        }
        if self.goal_size < 1 {
            return Err(format!("goal_size is {}; it must be 1 or more", self.goal_size));
        }
        self.state_codes()?;
        for (name, value, range) in [
            ("sequence_timeout", self.sequence_timeout, 0.01..=86_400.0),
            ("joint_position_limit", self.joint_position_limit, 0.01..=4.0),
            ("joint_velocity_limit", self.joint_velocity_limit, 1e-3..=100.0),
            ("joint_acceleration_limit", self.joint_acceleration_limit, 1e-3..=1e4),
            ("hand_velocity_limit", self.hand_velocity_limit, 1e-3..=100.0),
            ("hand_acceleration_limit", self.hand_acceleration_limit, 1e-3..=1e4),
            ("control_rate", self.control_rate, 1.0..=1000.0),
            ("state_rate", self.state_rate, 0.0..=1000.0),
            ("joint_state_rate", self.joint_state_rate, 0.0..=1000.0),
        ] {
            if !range.contains(&value) {
                return Err(format!("{name} is {value}, outside {}…{}", range.start(), range.end()));
            }
        }
        Ok(())
    }
}

const WHEN: &str = "read when the node is configured";

fn names(parameter: &str, names: &[String], count: usize) -> Result<(), String> {
    let distinct: BTreeSet<&String> = names.iter().filter(|name| !name.is_empty()).collect();
    if names.len() != count || distinct.len() != count {
        let found = names.len();
        return Err(format!("{parameter} needs exactly {count} different names, it has {found}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_make_a_controller() {
        assert!(Settings::default().controller().is_ok());
    }

    #[test]
    fn each_bad_value_is_named() {
        type Spoil = fn(&mut Settings);
        let table: [(&str, Spoil); 11] = [
            ("queue_size is 0", |s| s.queue_size = 0),
            ("queue_size is -3", |s| s.queue_size = -3),
            ("goal_size is 0", |s| s.goal_size = 0),
            ("name is empty", |s| s.name.clear()),
            ("command_interfaces needs exactly 25", |s| s.command_interfaces.truncate(24)),
            ("command_interfaces needs exactly 25", |s| {
                s.command_interfaces[3] = s.command_interfaces[4].clone()
            }),
            ("state_interfaces needs exactly 2", |s| s.state_interfaces.clear()),
            ("initial_joints has 5", |s| s.initial_joints.truncate(5)),
            ("initial_joints: joint_2", |s| s.initial_joints[1] = 5.0),
            ("state_codes is \"new\"", |s| s.state_codes = "new".into()),
            ("control_rate is NaN", |s| s.control_rate = f64::NAN),
        ];
        for (expected, spoil) in table {
            let mut settings = Settings::default();
            spoil(&mut settings);
            let reason = settings.controller().map(drop).expect_err(expected);
            assert!(reason.contains(expected), "{reason:?} should contain {expected:?}");
        }
    }
}
