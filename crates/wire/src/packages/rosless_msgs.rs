//! `rosless_msgs`: what our own programs say to each other.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::macros::messages;

    messages! { "rosless_msgs/msg/";
        /// All systems that a controller knows.
        struct ControllerStatus = "RIHS01_ee6e54cfe1406e27dfa286e64bed99d02be8e29f49e51c8c2841073cb3aec333" {
            stamp: Time,
            systems: Vec<SystemStatus>,
        }

        /// What a recorder of sessions is doing.
        struct RecorderStatus = "RIHS01_f9bd1edeea9d93bc2bc9abb125e6f50cbe2872124fd16239c98e74209894c064" {
            stamp: Time,
            recording: bool,
            session: String,
            folder: String,
            systems: Vec<String>,
            topics: u32,
            messages: u64,
            bytes: u64,
            dropped: u64,
            failure: String,
            disk_free: u64,
        }

        /// What a command came to for one system.
        struct SystemResult = "RIHS01_32784028e4c5f61c88082f37095b164786aa2f01963bba38f26c9e8ca1c043a3" {
            name: String,
            success: bool,
            outcome: String,
            explanation: String,
            reason: String,
            session: String,
            attempts: u32,
            answered_after: f64,
            elapsed: f64,
            clock_offset: f64,
            clock_uncertainty: f64,
            simulated_time: bool,
            stamps_apart: f64,
            armed: bool,
            duplicates: u32,
        }

        /// What a controller knows of one system.
        struct SystemStatus = "RIHS01_56c183957aeb4d3d36245c75a09f6ac2897a9c455242ebaf91675517c4165cc2" {
            name: String,
            dialects: Vec<String>,
            state: u8,
            status: String,
            present: bool,
            announced: bool,
            reachable: bool,
            ambiguous: bool,
            unresponsive: bool,
            session: String,
            since: Time,
            topics: Vec<String>,
            ros_version: i8,
            clock_offset: f64,
            clock_uncertainty: f64,
            clock_at_least: f64,
            simulated_time: bool,
            stamps_apart: f64,
            last_answer: String,
            last_elapsed: f64,
        }
    }
}

/// Services.
pub mod srv {
    use super::msg::SystemResult;
    use crate::builtin_interfaces::msg::Time;
    use crate::control_msgs::msg::MotionPrimitive;
    use crate::geometry_msgs::msg::PoseArray;
    use crate::trajectory_msgs::msg::JointTrajectory;
    use crate::macros::services;

    services! { "rosless_msgs/srv/";
        /// Arms a system for a start at an instant of its own clock.
        service ArmStart = "RIHS01_8029081643fffb0282d70351dcca4e4d008603dc91009e77d7d65927344eb357" {
            request ArmStartRequest = "RIHS01_837362edea1a9dfddb45076eb76bce2d91eac296335a6c87aff0976ecfa9f67a" {
                at: Time,
                session: String,
                source: String,
            }
            response ArmStartResponse = "RIHS01_7ba4d60f6086f96cfe40cc3bc1e393f15040752b9e970d8a784862e8aa402466" {
                success: bool,
                message: String,
                stamp: Time,
            }
            event = "RIHS01_85699e994b31124568ac20d8ac1618c2cda7d588263bb073d8a8f86dc2a1cb36"
        }

        /// Looks at a motion before it runs.
        service PlanMotion = "RIHS01_83525399d4fe5e6db2fc3f849d9a46eb245fad2f67d21b420ef26f1659e17ebf" {
            request PlanMotionRequest = "RIHS01_fcae85fe3804ebeafa17f68c75001c1e77fdda169696a8c543ad04d15213a543" {
                motions: Vec<MotionPrimitive>,
                start: Vec<f64>,
            }
            response PlanMotionResponse = "RIHS01_e1834922071917620c02f60e00bb8a9ff8bea7c5fbb9332bc71c05852a950276" {
                feasible: bool,
                impossible: i32,
                reason: String,
                notes: Vec<String>,
                duration: f64,
                length: f64,
                top_speed: f64,
                starts: Vec<f64>,
                ends: Vec<f64>,
                trajectory: JointTrajectory,
                path: PoseArray,
            }
            event = "RIHS01_1386bad0be95733e7b9e5c90653efe8ef7fea0d57b6ad41c5431795b771dd158"
        }

        /// Starts or stops systems.
        service SessionCommand = "RIHS01_c7b7fedf375447d2ecf73cf71f0f81ab23e6dc1d54c5c514a4b2fa08b1337662" {
            request SessionCommandRequest = "RIHS01_b091049b4c86373646f344af759be559abb3ea834acc1e4e97290269f6a1518b" {
                session: String,
                all: bool,
                systems: Vec<String>,
                expect: Vec<String>,
                atomic: bool,
                restart: bool,
                ahead: f64,
                timeout: f64,
            }
            response SessionCommandResponse = "RIHS01_44edf3c4f01788f2ccd807d1bd8766f849809c5469d4e1bfb3aefc0f3fd89835" {
                success: bool,
                message: String,
                session: String,
                messages: u32,
                took: f64,
                last_answer_after: f64,
                spread: f64,
                spread_uncertainty: f64,
                systems: Vec<SystemResult>,
            }
            event = "RIHS01_1d7a1e9b46c9ddb30f02b1523a60a33504c50e74e2203f075cd5b89482194c88"
        }
    }
}
