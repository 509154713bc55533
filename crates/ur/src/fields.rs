//! The fields of RTDE: names and types, as the manufacturer's guide lists them.

use crate::rtde::Type;

use Type::{Bool, Double, Int32, Uint8, Uint32, Uint64, Vector3d, Vector6Int32, Vector6d};

#[rustfmt::skip]
const OUTPUTS: &[(&str, Type)] = &[
    ("timestamp", Double),
    ("target_q", Vector6d), ("target_qd", Vector6d), ("target_qdd", Vector6d), ("target_current", Vector6d), ("target_moment", Vector6d),
    ("actual_q", Vector6d), ("actual_qd", Vector6d), ("actual_current", Vector6d), ("actual_current_window", Vector6d),
    ("joint_control_output", Vector6d),
    ("actual_TCP_pose", Vector6d), ("actual_TCP_speed", Vector6d), ("actual_TCP_force", Vector6d),
    ("target_TCP_pose", Vector6d), ("target_TCP_speed", Vector6d),
    ("actual_digital_input_bits", Uint64), ("joint_temperatures", Vector6d), ("actual_execution_time", Double),
    ("robot_mode", Int32), ("joint_mode", Vector6Int32), ("safety_mode", Int32), ("safety_status", Int32),
    ("actual_tool_accelerometer", Vector3d), ("speed_scaling", Double), ("target_speed_fraction", Double),
    ("actual_momentum", Double), ("actual_main_voltage", Double), ("actual_robot_voltage", Double), ("actual_robot_current", Double),
    ("actual_joint_voltage", Vector6d), ("actual_digital_output_bits", Uint64), ("runtime_state", Uint32),
    ("elbow_position", Vector3d), ("elbow_velocity", Vector3d),
    ("robot_status_bits", Uint32), ("safety_status_bits", Uint32), ("analog_io_types", Uint32),
    ("standard_analog_input0", Double), ("standard_analog_input1", Double),
    ("standard_analog_output0", Double), ("standard_analog_output1", Double), ("io_current", Double),
    ("euromap67_input_bits", Uint32), ("euromap67_output_bits", Uint32), ("euromap67_24V_voltage", Double), ("euromap67_24V_current", Double),
    ("tool_mode", Uint32), ("tool_analog_input_types", Uint32), ("tool_analog_input0", Double), ("tool_analog_input1", Double),
    ("tool_output_voltage", Int32), ("tool_output_current", Double), ("tool_temperature", Double), ("tcp_force_scalar", Double),
    ("output_bit_registers0_to_31", Uint32), ("output_bit_registers32_to_63", Uint32),
    ("input_bit_registers0_to_31", Uint32), ("input_bit_registers32_to_63", Uint32),
    ("tool_output_mode", Uint8), ("tool_digital_output0_mode", Uint8), ("tool_digital_output1_mode", Uint8),
    ("payload", Double), ("payload_cog", Vector3d), ("payload_inertia", Vector6d), ("script_control_line", Uint32),
    ("ft_raw_wrench", Vector6d), ("joint_position_deviation_ratio", Double), ("collision_detection_ratio", Double),
    ("time_scale_source", Int32), ("tcp_offset", Vector6d),
];

#[rustfmt::skip]
const INPUTS: &[(&str, Type)] = &[
    ("speed_slider_mask", Uint32), ("speed_slider_fraction", Double),
    ("standard_digital_output_mask", Uint8), ("standard_digital_output", Uint8),
    ("configurable_digital_output_mask", Uint8), ("configurable_digital_output", Uint8),
    ("tool_digital_output_mask", Uint8), ("tool_digital_output", Uint8),
    ("standard_analog_output_mask", Uint8), ("standard_analog_output_type", Uint8),
    ("standard_analog_output_0", Double), ("standard_analog_output_1", Double),
    ("input_bit_registers0_to_31", Uint32), ("input_bit_registers32_to_63", Uint32),
    ("external_force_torque", Vector6d),
];

/// General purpose registers, `name` with a number behind it.
fn register(name: &str, direction: &str) -> Option<Type> {
    let rest = name.strip_prefix(direction)?;
    let numbered = |kind: &str| rest.strip_prefix(kind)?.parse::<u8>().ok();
    match (numbered("_bit_register_"), numbered("_int_register_"), numbered("_double_register_")) {
        (Some(64..=127), _, _) => Some(Bool),
        (_, Some(0..=47), _) => Some(Int32),
        (_, _, Some(0..=47)) => Some(Double),
        _ => None,
    }
}

fn find(table: &[(&str, Type)], name: &str) -> Option<Type> {
    table.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// The type of a field that a controller sends.
pub fn output(name: &str) -> Option<Type> {
    find(OUTPUTS, name).or_else(|| register(name, "output")).or_else(|| register(name, "input"))
}

/// The type of a field that a controller takes.
pub fn input(name: &str) -> Option<Type> {
    find(INPUTS, name).or_else(|| register(name, "input"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_have_numbers_and_nothing_else_is_a_field() {
        assert_eq!(output("actual_q"), Some(Vector6d));
        assert_eq!(output("output_int_register_47"), Some(Int32));
        assert_eq!(output("output_bit_register_64"), Some(Bool));
        assert_eq!(output("output_bit_register_63"), None);
        assert_eq!(input("input_double_register_24"), Some(Double));
        assert_eq!(input("actual_q"), None);
        assert_eq!(output("nonsense"), None);
    }
}
