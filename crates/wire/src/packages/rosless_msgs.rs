//! `rosless_msgs`: what our own programs say to each other.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::macros::messages;

    messages! { "rosless_msgs/msg/";
        /// All systems that a controller knows.
        struct ControllerStatus = "RIHS01_0b40cf2c693fb6d07c2c5bbe579278803e73b403965d7822f3223a5279edeae3" {
            stamp: Time,
            systems: Vec<SystemStatus>,
        }

        /// What a command came to for one system.
        struct SystemResult = "RIHS01_37d3d2a986eb023711186b9ba8a3768138e5c0306a12498a2051ad8eb907a8cd" {
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
            duplicates: u32,
        }

        /// What a controller knows of one system.
        struct SystemStatus = "RIHS01_a1b437286bff5bea8b0b2f0260aa62f239be7cc0614d3fdc938d7ce9bc64c249" {
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
            last_answer: String,
        }
    }
}

/// Services.
pub mod srv {
    use super::msg::SystemResult;
    use crate::builtin_interfaces::msg::Time;
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

        /// Starts or stops systems.
        service SessionCommand = "RIHS01_cd64b0a43a6faa410dcc481f5ba738c0edb284a0b558beffc80fa4c3f5605451" {
            request SessionCommandRequest = "RIHS01_55fc8ed7524b6380a643fa4235a0fcf73383f0319f1c9813814c2ba29fb3b989" {
                session: String,
                all: bool,
                systems: Vec<String>,
                expect: Vec<String>,
                atomic: bool,
                restart: bool,
                timeout: f64,
            }
            response SessionCommandResponse = "RIHS01_21c8276b6e972c92664cf0c1ac7a759db336271bf8dc2bd77e45a4f30bcca3f6" {
                success: bool,
                message: String,
                session: String,
                messages: u32,
                took: f64,
                last_answer_after: f64,
                systems: Vec<SystemResult>,
            }
            event = "RIHS01_dada4ca971b040c05c67bc76ad6a10c78b9aa9792011b014246e466184ef6631"
        }
    }
}
