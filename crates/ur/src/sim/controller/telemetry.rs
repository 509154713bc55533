//! RTDE: what a client wants to hear of, and every value of it.

use std::time::Duration;

use rosless_kinematics::Joints;

use super::{Controller, ports::RtdeClient};
use crate::{
    fields,
    modes::{RobotMode, SafetyMode},
    pose,
    rtde::{self, Reply, Request, Type, Value},
};

impl Controller {
    /// False when the client is not understood.
    pub(super) fn rtde(&mut self, id: u32, client: &mut RtdeClient, bytes: &[u8]) -> bool {
        client.packages.push(bytes);
        loop {
            let request = match client.packages.next_package() {
                Ok(None) => return true,
                Ok(Some((kind, content))) => Request::decode(kind, content),
                Err(_) => return false,
            };
            let Ok(request) = request else { return false };
            let reply = match request {
                Request::Version(version) => Reply::Version(version == rtde::VERSION),
                Request::Controller => Reply::Controller(self.version),
                Request::Outputs { frequency, names } => {
                    let kinds: Vec<Option<Type>> = names.iter().map(|name| fields::output(name)).collect();
                    let found: Option<Vec<Type>> = kinds.iter().copied().collect();
                    client.recipe = found.map(|kinds| names.into_iter().zip(kinds).collect());
                    let frequency = if frequency.is_finite() { frequency.clamp(1.0, 500.0) } else { 500.0 };
                    client.period = Duration::from_secs_f64(1.0 / frequency);
                    let name = |kind: &Option<Type>| kind.map_or("NOT_FOUND", Type::name).to_owned();
                    Reply::Outputs {
                        recipe: u8::from(client.recipe.is_some()),
                        types: kinds.iter().map(name).collect(),
                    }
                }
                Request::Inputs(names) => {
                    let kinds: Vec<Option<Type>> = names.iter().map(|name| fields::input(name)).collect();
                    let found: Option<Vec<Type>> = kinds.iter().copied().collect();
                    let recipe = match found {
                        Some(kinds) if client.inputs.len() < 100 => {
                            client.inputs.push(names.into_iter().zip(kinds).collect());
                            client.inputs.len() as u8
                        }
                        _ => 0,
                    };
                    let name = |kind: &Option<Type>| kind.map_or("NOT_FOUND", Type::name).to_owned();
                    Reply::Inputs { recipe, types: kinds.iter().map(name).collect() }
                }
                Request::Start => {
                    client.streaming = client.recipe.is_some();
                    client.next = self.body.now;
                    Reply::Start(client.streaming)
                }
                Request::Pause => {
                    client.streaming = false;
                    Reply::Pause(true)
                }
                Request::Data { recipe, payload } => {
                    let Some(recipe) = usize::from(recipe).checked_sub(1).and_then(|i| client.inputs.get(i))
                    else {
                        return false;
                    };
                    let kinds: Vec<Type> = recipe.iter().map(|(_, kind)| *kind).collect();
                    let Ok(values) = rtde::values(&kinds, &payload) else { return false };
                    let value = |wanted: &str| {
                        recipe
                            .iter()
                            .zip(&values)
                            .find(|((name, _), _)| name == wanted)
                            .map(|(_, value)| *value)
                    };
                    if let (Some(Value::Uint32(1..)), Some(Value::Double(share))) =
                        (value("speed_slider_mask"), value("speed_slider_fraction"))
                        && share.is_finite()
                    {
                        self.slider = share.clamp(0.0, 1.0);
                        self.set_speed();
                    }
                    continue;
                }
                Request::Text(_) => continue,
            };
            self.send(id, reply.encode());
        }
    }

    pub(super) fn value(&self, name: &str, kind: Type) -> Value {
        let state = self.body.state();
        let six = |joints: &Joints| Value::Vector6d(std::array::from_fn(|i| joints[i]));
        let moving = self.may_move();
        let speed = || {
            let jacobian = self.body.planner.robot.chain.jacobian(&state.position);
            let twist = jacobian * state.velocity;
            Value::Vector6d(std::array::from_fn(|i| twist[i]))
        };
        match name {
            "timestamp" => Value::Double(self.body.now.as_secs_f64()),
            "actual_q" | "target_q" => six(&state.position),
            "actual_qd" | "target_qd" => six(&state.velocity),
            "target_qdd" => six(&state.acceleration),
            "actual_TCP_pose" | "target_TCP_pose" => {
                Value::Vector6d(pose::to_numbers(&self.body.hand(&state.position)))
            }
            "actual_TCP_speed" | "target_TCP_speed" => speed(),
            "tcp_offset" => Value::Vector6d(pose::to_numbers(&self.body.tool)),
            "robot_mode" => Value::Int32(self.mode.number()),
            "joint_mode" => Value::Vector6Int32([if moving { 253 } else { 239 }; 6]),
            "safety_mode" | "safety_status" => Value::Int32(self.safety.number()),
            "runtime_state" => Value::Uint32(self.runtime().number()),
            "speed_scaling" => Value::Double(if moving { self.slider } else { 0.0 }),
            "target_speed_fraction" => Value::Double(self.slider),
            "joint_temperatures" => Value::Vector6d([28.0; 6]),
            "actual_main_voltage" | "actual_robot_voltage" => Value::Double(48.0),
            "actual_joint_voltage" => Value::Vector6d([48.0; 6]),
            "actual_tool_accelerometer" => Value::Vector3d([0.0, 0.0, -9.81]),
            "payload" => Value::Double(self.body.payload.0),
            "payload_cog" => Value::Vector3d(self.body.payload.1),
            "robot_status_bits" => {
                let powered = !matches!(self.mode, RobotMode::PowerOff);
                Value::Uint32(u32::from(powered) | u32::from(self.machine.is_some()) << 1 | 1 << 3)
            }
            "safety_status_bits" => {
                let stopped = !self.safety.allows_motion();
                let emergency = self.safety == SafetyMode::RobotEmergencyStop;
                Value::Uint32(
                    u32::from(self.safety == SafetyMode::Normal)
                        | u32::from(self.safety == SafetyMode::Reduced) << 1
                        | u32::from(self.safety == SafetyMode::ProtectiveStop) << 2
                        | u32::from(self.safety == SafetyMode::SafeguardStop) << 4
                        | u32::from(emergency) << 6
                        | u32::from(emergency) << 7
                        | u32::from(stopped) << 10,
                )
            }
            _ => Value::zero(kind),
        }
    }
}
