//! `nucleo_agent`: what the microcontroller's agent speaks.

/// Messages.
pub mod msg {
    use crate::std_msgs::msg::Header;
    use crate::macros::messages;

    messages! { "nucleo_agent/msg/";
        /// Wanted motor positions (radians), motor ends (true: extended) and cylinders.
        struct ActuatorCommands = "RIHS01_95515f327df887fbbfa853cfbed934695ccb50ccf38e9c8b40ffbac4c7e2c9bd" {
            motor_positions: Vec<f64>,
            motor_expand: Vec<bool>,
            cylinder_states: Vec<bool>,
        }

        /// Rotation and speed of the three odometer wheels.
        struct OdometerData = "RIHS01_a7064be65ab59a8317a36f2f0a6365408f46e1c6969c53db4a34a8f761b80ebe" {
            header: Header,
            rotation: [f64; 3],
            angular_vel: [f64; 3],
        }

        /// Measured angles (radians), limit switches (true: pressed) and cylinders.
        struct SensorStates = "RIHS01_e983255e9f8c7a1a7c763cd618b8b46411f669dd2bcaf40fae914483b21e2e8d" {
            potentiometer_angles: Vec<f64>,
            limit_switch_states: Vec<bool>,
            cylinder_states: Vec<bool>,
        }
    }
}
