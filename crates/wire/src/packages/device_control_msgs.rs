//! `device_control_msgs`: START/STOP protocol, device dialect.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::macros::messages;

    messages! { "device_control_msgs/msg/";
        /// Asks devices to start or stop a session, or acknowledges that.
        struct Control = "RIHS01_75240589e4ac20316fb3aaaccf34c048c35f46aad413eeb9bde8337554d725af" {
            control_type: i8,
            stamp: Time,
            device_source: String,
            session_id: String,
            device_systems: Vec<String>,
        } const {
            START: i8 = 0,
            ACK_START: i8 = 1,
            STOP: i8 = 2,
            ACK_STOP: i8 = 3,
        }

        /// A device presents itself and its topics.
        struct DeviceInfo = "RIHS01_a180b87453b0ce8b8fd75ec7c89af67a628823a5b42bc425b2c1d06f6f4ded94" {
            device_source: String,
            ros_version_source: i8,
            topics: Vec<String>,
        } const {
            ROS2: i8 = 0,
            ROS1: i8 = 1,
        }
    }
}
