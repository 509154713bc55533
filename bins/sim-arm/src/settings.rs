//! The nodes' ROS parameters: declared with ranges and descriptions, read back into the settings of the engines.

use std::{cell::Cell, rc::Rc, time::Duration};

use rosless_arm::{ArmSettings, Control, Gains, Limits, PlannerSettings, Strategy};
use rosless_graph::{
    Node, Result,
    parameters::{Descriptor, ParameterError, ParameterValue},
};

use crate::BehaviourArguments;

const MAX_VELOCITY: &str = "max_velocity";
const MAX_ACCELERATION: &str = "max_acceleration";

fn declare(node: &Node, name: &str, default: f64, from: f64, to: f64, description: &str) -> Result<()> {
    let descriptor = Descriptor::new(name).description(description).double_range(from, to, 0.0);
    node.declare_parameter(descriptor, default).map(drop)
}

/// Declares a parameter that is one of a few words.
fn declare_choice(
    node: &Node,
    name: &'static str,
    default: &str,
    choices: &'static [&'static str],
    description: &str,
) -> Result<()> {
    node.validate_parameters(move |values| {
        let wrong = |(given, value): &&(String, ParameterValue)| {
            given == name && !choices.iter().any(|choice| *value == ParameterValue::from(*choice))
        };
        match values.iter().find(wrong) {
            Some(_) => Err(format!("{name} must be one of: {}", choices.join(", "))),
            None => Ok(()),
        }
    });
    let descriptor = Descriptor::new(name).description(description).constraints(choices.join(", "));
    node.declare_parameter(descriptor, default.to_owned()).map(drop)
}

fn declare_limits(node: &Node) -> Result<()> {
    declare(node, MAX_VELOCITY, 10.0, 0.01, 1000.0, "Greatest speed of every joint, rad/s")?;
    declare(node, MAX_ACCELERATION, 100.0, 0.01, 1e5, "Greatest acceleration of every joint, rad/s²")
}

fn limits(node: &Node) -> Result<Limits, ParameterError> {
    Ok(Limits::uniform(4.0, node.parameter(MAX_VELOCITY)?, node.parameter(MAX_ACCELERATION)?))
}

fn duration(name: &str, seconds: f64) -> Result<Duration, ParameterError> {
    let refused =
        |error| ParameterError::Refused(format!("parameter '{name}': {seconds} s is no duration: {error}"));
    let duration = Duration::try_from_secs_f64(seconds).map_err(refused)?;
    if duration.is_zero() {
        return Err(ParameterError::Refused(format!("parameter '{name}': a period of 0 s")));
    }
    Ok(duration)
}

/// Declares arm_controller's parameters.
pub(crate) fn declare_arm(node: &Node, behaviour: &BehaviourArguments) -> Result<CurrentGains> {
    let Gains { p, d, near, fast } = Gains::default();
    let control = behaviour.control_name();
    declare_choice(node, "control", control, &["pd", "timed"], "How the arm moves to a target")?;
    declare(node, "p_gain", p, 1.0, 1e4, "PD control: rad/s² per rad")?;
    declare(node, "d_gain", d, 0.5, 1e3, "PD control: rad/s² per rad/s")?;
    declare(node, "near", near, 0.01, 100.0, "Below this sum of joint errors (rad) both gains act")?;
    declare(node, "fast", fast, 0.1, 100.0, "Farther away and at least this fast (rad/s) neither gain acts")?;
    declare(node, "period", 0.1, 0.001, 1.0, "Control period and period of /arm_ang_angv, s")?;
    declare(node, "hold", 3.0, 0.1, 600.0, "How long the hand stays closed, s")?;
    declare_limits(node)?;
    let current = CurrentGains::default();
    let gains = current.clone();
    node.validate_parameters(move |values| {
        let mut wanted = gains.get();
        for (name, value) in values {
            match (name.as_str(), value) {
                ("p_gain", ParameterValue::Double(p)) => wanted.p = *p,
                ("d_gain", ParameterValue::Double(d)) => wanted.d = *d,
                _ => {}
            }
        }
        wanted.check()
    });
    Ok(current)
}

/// The gains in force: a new one must fit the one that stays.
pub(crate) type CurrentGains = Rc<Cell<Gains>>;

/// Reads arm_controller's parameters.
pub(crate) fn arm(node: &Node, current: &CurrentGains) -> Result<ArmSettings, ParameterError> {
    let seconds = |name: &str| duration(name, node.parameter(name)?);
    let mut settings = ArmSettings {
        control: if node.parameter::<String>("control")? == "timed" { Control::Timed } else { Control::Pd },
        gains: Gains {
            p: node.parameter("p_gain")?,
            d: node.parameter("d_gain")?,
            near: node.parameter("near")?,
            fast: node.parameter("fast")?,
        },
        period: seconds("period")?,
        hold: seconds("hold")?,
        ..ArmSettings::default()
    };
    settings.robot.limits = limits(node)?;
    settings.gains.check().map_err(ParameterError::Refused)?;
    current.set(settings.gains);
    Ok(settings)
}

/// Declares ball_initial_to_arm_target's parameters.
pub(crate) fn declare_planner(node: &Node, behaviour: &BehaviourArguments) -> Result<()> {
    let strategy = behaviour.strategy_name();
    declare_choice(node, "strategy", strategy, &["apex", "best"], "Where to catch")?;
    let PlannerSettings { reserve, planning_time, regrip, .. } = PlannerSettings::default();
    let description = "Time to spare (s) with which best is content at the highest point";
    declare(node, "reserve", reserve, 0.0, 1.0, description)?;
    let description = "Time (s) that best looks for a catch at the most";
    declare(node, "planning_time", planning_time, 0.0, 1.0, description)?;
    let description = "Time (s) from one catch until the hand can catch again";
    declare(node, "regrip", regrip, 0.15, 60.0, description)?;
    declare_limits(node)
}

/// Reads ball_initial_to_arm_target's parameters.
pub(crate) fn planner(node: &Node) -> Result<PlannerSettings, ParameterError> {
    let strategy =
        if node.parameter::<String>("strategy")? == "best" { Strategy::Best } else { Strategy::Apex };
    let (reserve, planning_time) = (node.parameter("reserve")?, node.parameter("planning_time")?);
    let regrip = node.parameter("regrip")?;
    let mut settings =
        PlannerSettings { strategy, reserve, planning_time, regrip, ..PlannerSettings::default() };
    settings.robot.limits = limits(node)?;
    Ok(settings)
}

/// Declares visualizer's parameters.
pub(crate) fn declare_visualizer(node: &Node, with_tf: bool) -> Result<()> {
    declare(node, "rate", 10.0, 0.1, 1000.0, "How often /joint_states and /tf are published, Hz")?;
    let publish_tf =
        Descriptor::new("publish_tf").description("Publish /tf; off when a robot_state_publisher does");
    node.declare_parameter(publish_tf, with_tf).map(drop)
}

/// Reads visualizer's parameters: its period and whether it publishes transforms.
pub(crate) fn visualizer(node: &Node) -> Result<(Duration, bool), ParameterError> {
    let rate: f64 = node.parameter("rate")?;
    Ok((duration("rate", 1.0 / rate)?, node.parameter("publish_tf")?))
}
