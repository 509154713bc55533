//! `mocap4r2_control_msgs`: START/STOP protocol, mocap4r2 dialect.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::macros::messages;

    messages! { "mocap4r2_control_msgs/msg/";
        /// Asks capture systems to start or stop a session, or acknowledges that.
        struct Control = "RIHS01_21a44c9c2e2cba55e8dca402e94da6fd36986b4e98056576354be9d4ff0c7cfa" {
            control_type: i8,
            stamp: Time,
            mocap4r2_source: String,
            session_id: String,
            mocap4r2_systems: Vec<String>,
        } const {
            START: i8 = 0,
            ACK_START: i8 = 1,
            STOP: i8 = 2,
            ACK_STOP: i8 = 3,
        }

        /// A capture system presents itself and its topics.
        struct MocapInfo = "RIHS01_e4377dea0a163a7e1ae86e487913d23bb17963eea96b849a9b3e7ba8309f0fd2" {
            mocap4r2_source: String,
            ros_version_source: i8,
            topics: Vec<String>,
        } const {
            ROS2: i8 = 0,
            ROS1: i8 = 1,
        }
    }
}
