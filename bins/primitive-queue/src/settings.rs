//! The controller's parameters: their defaults, their rules, and the engine they make.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};

use nalgebra::Isometry3;
use rosless_graph::{
    Node, Result,
    parameters::{Descriptor, ParameterError},
};
use rosless_kinematics::{JOINTS, Joints, Robot, builtin, urdf};
use rosless_motion::{
    Frames, Hardware, MotionLimits, Planner, QueueController, QueueSettings, SimulatedRobot, StateCodes,
    StateOnly, Zone, Zones,
    handshake::{COMMAND_NAMES, STATE_NAMES},
};

/// A robot driver of any kind.
pub type Driver = Box<dyn Hardware>;

/// Drivers that [`Settings::hardware`] knows.
pub const DRIVERS: [&str; 3] = ["simulated", "ur", "state_only"];

/// rad/s² and rad/s³ of a joint whose URDF does not say.
const URDF_ACCELERATION: f64 = 10.0;
const URDF_JERK: f64 = 300.0;

/// Everything that can be set. Read when the node is configured.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "each is described in the table of parameters below")]
pub struct Settings {
    pub name: String,
    pub command_interfaces: Vec<String>,
    pub state_interfaces: Vec<String>,
    pub queue_size: i64,
    pub goal_size: i64,
    pub sequence_timeout: f64,
    pub execution_timeout: f64,
    pub stop_timeout: f64,
    pub profile: String,
    pub look_ahead_blending: bool,
    pub hardware: String,
    pub address: String,
    pub hardware_parameters: Vec<String>,
    pub robot: String,
    pub urdf: String,
    pub base_frame: String,
    pub tool_frame: String,
    pub tool_offset: Vec<f64>,
    pub tf_prefix: String,
    pub frames: Vec<String>,
    pub joint_names: Vec<String>,
    pub initial_joints: Vec<f64>,
    pub joint_lower_limits: Vec<f64>,
    pub joint_upper_limits: Vec<f64>,
    pub joint_velocity_limits: Vec<f64>,
    pub joint_acceleration_limits: Vec<f64>,
    pub joint_jerk_limits: Vec<f64>,
    pub hand_velocity_limit: f64,
    pub hand_acceleration_limit: f64,
    pub hand_jerk_limit: f64,
    pub floor: f64,
    pub zones: Vec<String>,
    pub approximate_mode: String,
    pub epsilon_joint_angle: f64,
    pub epsilon_cart_position: f64,
    pub epsilon_cart_angle: f64,
    pub trajectory_blend_radius: f64,
    pub control_rate: f64,
    pub state_rate: f64,
    pub joint_state_rate: f64,
}

impl Default for Settings {
    fn default() -> Self {
        let names = |names: &[&str]| names.iter().map(|name| format!("motion_primitive/{name}")).collect();
        let (config, hand) = (QueueSettings::default(), MotionLimits::default());
        Self {
            name: "motion_primitive".into(),
            command_interfaces: names(&COMMAND_NAMES),
            state_interfaces: names(&STATE_NAMES),
            queue_size: config.queue_size as i64,
            goal_size: config.goal_size as i64,
            sequence_timeout: config.sequence_timeout.as_secs_f64(),
            execution_timeout: config.execution_timeout.as_secs_f64(),
            stop_timeout: config.stop_timeout.as_secs_f64(),
            profile: "current".into(),
            look_ahead_blending: true,
            hardware: DRIVERS[0].into(),
            address: String::new(),
            hardware_parameters: Vec::new(),
            robot: "ur5e".into(),
            urdf: String::new(),
            base_frame: String::new(),
            tool_frame: String::new(),
            tool_offset: Vec::new(),
            tf_prefix: String::new(),
            frames: vec!["world".into()],
            joint_names: Vec::new(),
            initial_joints: Vec::new(),
            joint_lower_limits: Vec::new(),
            joint_upper_limits: Vec::new(),
            joint_velocity_limits: Vec::new(),
            joint_acceleration_limits: Vec::new(),
            joint_jerk_limits: Vec::new(),
            hand_velocity_limit: hand.velocity,
            hand_acceleration_limit: hand.acceleration,
            hand_jerk_limit: hand.jerk,
            floor: f64::NEG_INFINITY,
            zones: Vec::new(),
            approximate_mode: "RDP_PTP".into(),
            epsilon_joint_angle: 0.001,
            epsilon_cart_position: 0.0005,
            epsilon_cart_angle: 0.005,
            trajectory_blend_radius: 0.02,
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
            queue_size: "Primitives that may wait on the reference topics, a sequence counting as one; 0 cannot be configured",
            goal_size: "Primitives that one action goal or one sequence may have",
            sequence_timeout: "Seconds after which a sequence that gets nothing more is given up",
            execution_timeout: "Seconds for which a robot may execute without finishing anything",
            stop_timeout: "Seconds that a robot may need to stop",
            profile: "current (STOPPING 4, STOPPED 5, a stop holds until RESET_STOP) or first_generation (STOPPED 4, no RESET_STOP needed)",
            look_ahead_blending: "Blend single primitives with a blend_radius when the next one is there in time",
            hardware: "The robot driver: simulated, ur or state_only",
            address: "The robot's IP address, for drivers that need one",
            hardware_parameters: "The driver's own parameters, as name=value",
            robot: "ur3e, ur5e, ur10e, ur16e, ur20 or sim_arm; not used with a urdf",
            urdf: "File with a URDF whose six turning joints are the robot",
            base_frame: "The frame that poses are meant in; empty for the robot's own (a URDF's root link)",
            tool_frame: "The frame that is moved; empty for the robot's own (a URDF's last link)",
            tool_offset: "A tool mounted there: x, y, z in m, and optionally a quaternion x, y, z, w",
            tf_prefix: "Goes before the names of all frames and joints",
            frames: "More names for the robot's root frame",
            joint_names: "Names of the joints on joint_states; empty for the robot's own",
            initial_joints: "Where the simulated robot starts, rad; empty for its home",
            joint_lower_limits: "Smallest angles, rad; empty for the robot's own",
            joint_upper_limits: "Largest angles, rad; empty for the robot's own",
            joint_velocity_limits: "rad/s; empty for the robot's own",
            joint_acceleration_limits: "rad/s^2; empty for the robot's own",
            joint_jerk_limits: "rad/s^3; empty for the robot's own",
            hand_velocity_limit: "m/s",
            hand_acceleration_limit: "m/s^2, in all directions together",
            hand_jerk_limit: "m/s^3",
            floor: "Height in the base frame below which no part of the arm may go, m; -inf for none",
            zones: "Boxes that no part of the arm may enter, as \"name: x y z x y z\" (two corners in the base frame, m)",
            approximate_mode: "What a trajectory becomes: RDP_PTP or RDP_LIN",
            epsilon_joint_angle: "How far RDP_PTP may leave a trajectory, rad",
            epsilon_cart_position: "How far RDP_LIN may leave a trajectory, m",
            epsilon_cart_angle: "How far RDP_LIN may turn away from a trajectory, rad",
            trajectory_blend_radius: "Greatest blend radius of the primitives that a trajectory becomes, m",
            control_rate: "Control cycles per second while the robot moves or something waits, Hz",
            state_rate: "How often ~/state is repeated when it does not change, Hz; 0 for never",
            joint_state_rate: "How often joint_states and /tf are published, Hz; 0 for never",
        }
    };
}

impl Settings {
    /// Declares all parameters on `node`, with these values as defaults.
    ///
    /// # Errors
    /// When an override has the wrong type.
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
    ///
    /// # Errors
    /// When one is not declared.
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

    /// The numbers on `~/state`.
    ///
    /// # Errors
    /// When there is no such profile.
    pub fn state_codes(&self) -> Result<StateCodes, String> {
        match self.profile.as_str() {
            "current" => Ok(StateCodes::Current),
            "first_generation" => Ok(StateCodes::FirstGeneration),
            other => Err(format!("profile is \"{other}\"; it must be current or first_generation")),
        }
    }

    /// Time between two control cycles.
    pub fn control_period(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.control_rate)
    }

    /// The robot with its limits, tool and zones.
    ///
    /// # Errors
    /// Says which parameter is wrong.
    pub fn planner(&self) -> Result<Planner, String> {
        let mut robot = self.bare_robot()?;
        if !self.tool_offset.is_empty() {
            robot.set_tool(&offset(&self.tool_offset)?);
        }
        for (name, values, set) in [
            ("joint_lower_limits", &self.joint_lower_limits, (|limit, value| limit.lower = value) as Set),
            ("joint_upper_limits", &self.joint_upper_limits, |limit, value| limit.upper = value),
            ("joint_velocity_limits", &self.joint_velocity_limits, |limit, value| limit.velocity = value),
            ("joint_acceleration_limits", &self.joint_acceleration_limits, |limit, value| {
                limit.acceleration = value;
            }),
            ("joint_jerk_limits", &self.joint_jerk_limits, |limit, value| limit.jerk = value),
        ] {
            let Some(values) = six(name, values)? else { continue };
            robot.limits.0.iter_mut().zip(values.iter()).for_each(|(limit, value)| set(limit, *value));
        }
        for (i, limit) in robot.limits.0.iter().enumerate() {
            let joint = i + 1;
            if !(limit.lower < limit.upper && limit.upper - limit.lower < 1e3) {
                return Err(format!(
                    "joint {joint} may be between {} and {} rad: that is no range",
                    limit.lower, limit.upper
                ));
            }
            for (what, value) in
                [("velocity", limit.velocity), ("acceleration", limit.acceleration), ("jerk", limit.jerk)]
            {
                if !(1e-3..=1e6).contains(&value) {
                    return Err(format!(
                        "the {what} limit of joint {joint} is {value}, outside 0.001…1000000"
                    ));
                }
            }
        }
        if let [_, ..] = &self.joint_names[..] {
            names("joint_names", &self.joint_names, JOINTS)?;
            robot.joint_names = std::array::from_fn(|i| self.joint_names[i].clone());
        }
        let zones = self.zones.iter().map(|zone| Zone::parse(zone)).collect::<Result<Vec<_>, _>>()?;
        let hand = MotionLimits {
            velocity: self.hand_velocity_limit,
            acceleration: self.hand_acceleration_limit,
            jerk: self.hand_jerk_limit,
        };
        let floor = self.floor.is_finite().then_some(self.floor);
        Ok(Planner { robot, hand, zones: Zones { floor, boxes: zones } })
    }

    fn bare_robot(&self) -> Result<Robot, String> {
        if self.urdf.is_empty() {
            let robot = builtin::robot(&self.robot);
            let mut robot = robot.ok_or_else(|| {
                format!("robot is \"{}\"; built in are {}", self.robot, builtin::NAMES.join(", "))
            })?;
            if !self.tool_frame.is_empty() {
                robot.tool_frame.clone_from(&self.tool_frame);
            }
            if !self.base_frame.is_empty() && self.base_frame != robot.base_frame {
                return Err(format!(
                    "base_frame is \"{}\"; that of {} is {}",
                    self.base_frame, robot.name, robot.base_frame
                ));
            }
            return Ok(robot);
        }
        let text =
            std::fs::read_to_string(&self.urdf).map_err(|error| format!("urdf {}: {error}", self.urdf))?;
        let named = |name: &String| (!name.is_empty()).then_some(name.clone());
        let (base, tool) = (named(&self.base_frame), named(&self.tool_frame));
        let ask = urdf::Ask {
            base: base.as_deref(),
            tool: tool.as_deref(),
            acceleration: URDF_ACCELERATION,
            jerk: URDF_JERK,
        };
        urdf::robot(&text, &ask).map_err(|error| format!("urdf {}: {error}", self.urdf))
    }

    /// The simulated robot. `start` is what whoever chose its first joint angles calls them.
    ///
    /// # Errors
    /// Says which parameter is wrong.
    pub fn simulated(&self, start: &str) -> Result<SimulatedRobot, String> {
        let planner = self.planner()?;
        let joints = six(start, &self.initial_joints)?.unwrap_or(planner.robot.home);
        planner.robot.limits.check(&joints).map_err(|violation| format!("{start}: {violation}"))?;
        let mut robot = SimulatedRobot::new(planner, joints);
        robot.set_look_ahead_blending(self.look_ahead_blending);
        Ok(robot)
    }

    /// The driver, connected.
    ///
    /// # Errors
    /// When there is none of that name, or its robot does not answer.
    pub fn driver(&self) -> Result<Driver, String> {
        let driver: Driver = match self.hardware.as_str() {
            "simulated" => Box::new(self.simulated("initial_joints")?),
            "ur" => Box::new(self.ur()?),
            "state_only" => Box::new(StateOnly::new(0.5)),
            other => return Err(format!("hardware is \"{other}\"; there are {}", DRIVERS.join(", "))),
        };
        self.connected(driver)
    }

    /// The driver of a UR robot, not connected; its sockets are `ur::Wires`.
    ///
    /// # Errors
    /// Says which parameter is wrong.
    pub fn ur(&self) -> Result<rosless_ur::Driver, String> {
        let tool = match &self.tool_offset[..] {
            [] => Isometry3::identity(),
            values => offset(values)?,
        };
        Ok(rosless_ur::Driver::new(self.planner()?, tool))
    }

    /// A driver for [`Settings::hardware`] `ur` that somebody else can feed, and the same as any driver.
    ///
    /// # Errors
    /// As [`Settings::driver`].
    pub fn shared_ur(&self) -> Result<(Rc<RefCell<rosless_ur::Driver>>, Driver), String> {
        let shared = Rc::new(RefCell::new(self.ur()?));
        let driver = self.connected(Box::new(shared.clone()))?;
        Ok((shared, driver))
    }

    fn connected(&self, mut driver: Driver) -> Result<Driver, String> {
        let mut parameters = BTreeMap::new();
        for text in &self.hardware_parameters {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| format!("hardware_parameters: \"{text}\" is not name=value"))?;
            parameters.insert(name.to_owned(), value.to_owned());
        }
        if !self.address.is_empty() {
            parameters.insert("address".to_owned(), self.address.clone());
        }
        driver.connect(&parameters).map_err(|fault| format!("hardware {}: {fault}", self.hardware))?;
        Ok(driver)
    }

    /// The engine around `driver`, or what is wrong with the parameters.
    ///
    /// # Errors
    /// Names the first parameter that makes no controller.
    pub fn controller<H: Hardware>(&self, driver: H) -> Result<QueueController<H>, String> {
        self.check()?;
        let robot = self.bare_robot()?;
        let name = |frame: &str| format!("{}{frame}", self.tf_prefix);
        let (root, base) = (name(&robot.root_frame), name(&robot.base_frame));
        let mut frames = Frames::new(&base);
        if root != base {
            frames.set(&root, &base, robot.base_in_root);
        }
        for other in &self.frames {
            frames.set(other, &root, Isometry3::identity());
        }
        let config = QueueSettings {
            queue_size: usize::try_from(self.queue_size).unwrap_or(0),
            goal_size: usize::try_from(self.goal_size).unwrap_or(0),
            sequence_timeout: Duration::from_secs_f64(self.sequence_timeout),
            latching_stop: self.state_codes()? == StateCodes::Current,
            execution_timeout: Duration::from_secs_f64(self.execution_timeout),
            stop_timeout: Duration::from_secs_f64(self.stop_timeout),
            frames,
        };
        QueueController::new(config, driver).ok_or_else(|| {
            format!("queue_size is {}; the queue must have room for 1 or more", self.queue_size)
        })
    }

    fn check(&self) -> Result<(), String> {
        if self.name.is_empty() {
            return Err("name is empty".into());
        }
        names("command_interfaces", &self.command_interfaces, COMMAND_NAMES.len())?;
        names("state_interfaces", &self.state_interfaces, STATE_NAMES.len())?;
        if self.goal_size < 1 {
            return Err(format!("goal_size is {}; it must be 1 or more", self.goal_size));
        }
        self.state_codes()?;
        if !["RDP_PTP", "RDP_LIN"].contains(&self.approximate_mode.as_str()) {
            return Err(format!(
                "approximate_mode is \"{}\"; it must be RDP_PTP or RDP_LIN",
                self.approximate_mode
            ));
        }
        for (name, value, range) in [
            ("sequence_timeout", self.sequence_timeout, 0.01..=86_400.0),
            ("execution_timeout", self.execution_timeout, 0.1..=86_400.0),
            ("stop_timeout", self.stop_timeout, 0.1..=86_400.0),
            ("hand_velocity_limit", self.hand_velocity_limit, 1e-3..=100.0),
            ("hand_acceleration_limit", self.hand_acceleration_limit, 1e-3..=1e4),
            ("hand_jerk_limit", self.hand_jerk_limit, 1e-2..=1e6),
            ("epsilon_joint_angle", self.epsilon_joint_angle, 0.0..=1.0),
            ("epsilon_cart_position", self.epsilon_cart_position, 0.0..=1.0),
            ("epsilon_cart_angle", self.epsilon_cart_angle, 0.0..=1.0),
            ("trajectory_blend_radius", self.trajectory_blend_radius, 0.0..=1.0),
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

type Set = fn(&mut rosless_kinematics::JointLimit, f64);

const WHEN: &str = "read when the node is configured";

/// Six values, or none.
fn six(name: &str, values: &[f64]) -> Result<Option<Joints>, String> {
    match values.len() {
        0 => Ok(None),
        JOINTS => Ok(Some(Joints::from_column_slice(values))),
        other => Err(format!("{name} has {other} values, it needs {JOINTS} or none")),
    }
}

fn offset(values: &[f64]) -> Result<Isometry3<f64>, String> {
    let (place, rotation) = match *values {
        [x, y, z] => ([x, y, z], [0.0, 0.0, 0.0, 1.0]),
        [x, y, z, qx, qy, qz, qw] => ([x, y, z], [qx, qy, qz, qw]),
        _ => return Err(format!("tool_offset has {} values, it needs 3 or 7", values.len())),
    };
    let mut frames = Frames::new("flange");
    let is_pose = frames.set_raw("flange", "tool", place, rotation);
    if !is_pose {
        return Err(
            "tool_offset is no pose: its numbers must be finite and its quaternion of length 1".into()
        );
    }
    frames.to_base("tool")
}

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

    fn controller(settings: &Settings) -> Result<(), String> {
        settings.controller(settings.driver()?).map(drop)
    }

    #[test]
    fn the_defaults_make_a_controller_and_so_does_every_robot() {
        for robot in builtin::NAMES {
            controller(&Settings { robot: robot.into(), ..Settings::default() }).unwrap();
        }
    }

    #[test]
    fn each_bad_value_is_named() {
        type Spoil = fn(&mut Settings);
        let table: [(&str, Spoil); 22] = [
            ("queue_size is 0", |s| s.queue_size = 0),
            ("queue_size is -3", |s| s.queue_size = -3),
            ("goal_size is 0", |s| s.goal_size = 0),
            ("name is empty", |s| s.name.clear()),
            ("command_interfaces needs exactly 25", |s| s.command_interfaces.truncate(24)),
            ("command_interfaces needs exactly 25", |s| {
                s.command_interfaces[3] = s.command_interfaces[4].clone()
            }),
            ("state_interfaces needs exactly 2", |s| s.state_interfaces.clear()),
            ("initial_joints has 5", |s| s.initial_joints = vec![0.0; 5]),
            ("initial_joints: joint 2", |s| s.initial_joints = vec![0.0, 7.0, 0.0, 0.0, 0.0, 0.0]),
            ("profile is \"new\"", |s| s.profile = "new".into()),
            ("control_rate is NaN", |s| s.control_rate = f64::NAN),
            ("robot is \"ur6\"; built in are ur3e", |s| s.robot = "ur6".into()),
            ("urdf /nowhere", |s| s.urdf = "/nowhere".into()),
            ("hardware is \"real\"; there are simulated", |s| s.hardware = "real".into()),
            ("give the robot's IP address", |s| s.hardware = "ur".into()),
            ("no parameter \"address\"", |s| s.address = "192.0.2.1".into()),
            ("no parameter \"ip\"", |s| s.hardware_parameters = vec!["ip=1".into()]),
            ("joint_jerk_limits has 1 values", |s| s.joint_jerk_limits = vec![1.0]),
            ("jerk limit of joint 3 is -1", |s| s.joint_jerk_limits = vec![1.0, 1.0, -1.0, 1.0, 1.0, 1.0]),
            ("joint 1 may be between 9 and", |s| s.joint_lower_limits = vec![9.0; 6]),
            ("tool_offset has 2", |s| s.tool_offset = vec![0.0; 2]),
            ("is no zone", |s| s.zones = vec!["x".into()]),
        ];
        for (expected, spoil) in table {
            let mut settings = Settings::default();
            spoil(&mut settings);
            let reason = controller(&settings).expect_err(expected);
            assert!(reason.contains(expected), "{reason:?} should contain {expected:?}");
        }
    }

    #[test]
    fn a_tool_is_mounted_and_a_urdf_is_a_robot() {
        let plain = Settings::default().planner().unwrap().robot;
        let settings = Settings { tool_offset: vec![0.0, 0.0, 0.1], ..Settings::default() };
        let longer = settings.planner().unwrap().robot;
        let apart =
            plain.forward(&plain.home).translation.vector - longer.forward(&plain.home).translation.vector;
        assert!((apart.norm() - 0.1).abs() < 1e-9);
        let folder = rosless_tests::Scratch::make();
        let file = folder.file("robot.urdf", &rosless_kinematics::describe::urdf(&plain, ""));
        let settings =
            Settings { urdf: file.display().to_string(), base_frame: "base".into(), ..Settings::default() };
        let read = settings.planner().unwrap().robot;
        assert!(
            (read.forward(&plain.home).translation.vector - plain.forward(&plain.home).translation.vector)
                .norm()
                < 1e-6
        );
    }
}
