//! `mocap_control_msgs`: START/STOP protocol, mocap dialect.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::macros::messages;

    messages! { "mocap_control_msgs/msg/";
        /// Asks capture systems to start or stop a session, or acknowledges that.
        struct Control = "RIHS01_21789c29b81f0357ea156e5fca88750de651dcefcb41be247e75763e57cfee00" {
            control_type: i8,
            stamp: Time,
            system_source: String,
            capture_session_id: String,
            capture_systems: Vec<String>,
        } const {
            START: i8 = 0,
            ACK_START: i8 = 1,
            STOP: i8 = 2,
            ACK_STOP: i8 = 3,
        }

        /// A capture system presents itself and its topics.
        struct MocapInfo = "RIHS01_b4edd7d53650a07870f9b5a8ac874cdf8300b6aab315aa301a0dcd5d30475507" {
            system_source: String,
            ros_version_source: i8,
            topics: Vec<String>,
        } const {
            ROS2: i8 = 0,
            ROS1: i8 = 1,
        }
    }
}
