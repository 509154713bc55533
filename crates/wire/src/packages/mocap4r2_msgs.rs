//! `mocap4r2_msgs`: markers and rigid bodies of a capture system.

/// Messages.
pub mod msg {
    use crate::geometry_msgs::msg::{Point, Pose};
    use crate::std_msgs::msg::Header;
    use crate::macros::messages;

    messages! { "mocap4r2_msgs/msg/";
        /// Sensors of an inertial system and their condition.
        struct ImusInfo = "RIHS01_532cba15d4d622a0b479ad4d659ec94939194e5051f595446def3b0fc6761b24" {
            sensor_ids: Vec<String>,
            battery_level: f32,
            temperature: f32,
        }

        /// One tracked marker, named, numbered or both.
        struct Marker = "RIHS01_0cadb14b00eb93dfd5d1b774f04f13efc0c2e08a3bee1abbaef9f67f6b10b943" {
            id_type: i8,
            marker_index: i32,
            marker_name: String,
            translation: Point,
        } const {
            USE_NAME: i8 = 0,
            USE_INDEX: i8 = 1,
            USE_BOTH: i8 = 2,
        }

        /// All markers of one frame.
        struct Markers = "RIHS01_36a59e85fa0dcebed1f0a91d748ca17e259b187f779e725af5c6701e8a03054a" {
            header: Header,
            frame_number: u32,
            markers: Vec<Marker>,
        }

        /// All rigid bodies of one frame.
        struct RigidBodies = "RIHS01_1f2d74f2a1706c59639a2349b7be91e9e4d751fad6fc3048c59d8f1f0576ea70" {
            header: Header,
            frame_number: u32,
            rigidbodies: Vec<RigidBody>,
        }

        /// One rigid body with the markers on it.
        struct RigidBody = "RIHS01_7a1bca552c93a8da4f09083ef4327410b6687a95fe14db29292c4619166f5e66" {
            rigid_body_name: String,
            markers: Vec<Marker>,
            pose: Pose,
        }
    }
}
