//! `tf2_msgs`: transforms between frames.

/// Messages.
pub mod msg {
    use crate::geometry_msgs::msg::TransformStamped;
    use crate::macros::messages;

    messages! { "tf2_msgs/msg/";
        /// Why a transform was not found.
        struct TF2Error = "RIHS01_db2485e7d6a0ec75bf087e058ee45df682acc3a621ca7780503d10aac141809a" {
            error: u8,
            error_string: String,
        } const {
            NO_ERROR: u8 = 0,
            LOOKUP_ERROR: u8 = 1,
            CONNECTIVITY_ERROR: u8 = 2,
            EXTRAPOLATION_ERROR: u8 = 3,
            INVALID_ARGUMENT_ERROR: u8 = 4,
            TIMEOUT_ERROR: u8 = 5,
            TRANSFORM_ERROR: u8 = 6,
        }

        /// Transforms as published on /tf and /tf_static.
        struct TFMessage = "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087" {
            transforms: Vec<TransformStamped>,
        }
    }
}

/// Services.
pub mod srv {
    use crate::macros::services;

    services! { "tf2_msgs/srv/";
        /// Asks for the tree of frames as YAML.
        service FrameGraph = "RIHS01_0d1fbc6222c018ba5f33822904a2fdd4063705289956d3fdde07cd8c50fe8067" {
            request FrameGraphRequest = "RIHS01_4cc565da6b64726d0b0be1ce20f3a3a695679b841a79abfca2fcdc94f562b08d" {}
            response FrameGraphResponse = "RIHS01_e33d5473ce0fac04c66203779f2b719a9de0f8388b248852d3a47a019e62e36d" {
                frame_yaml: String,
            }
            event = "RIHS01_97e5494f0af64046abdb3f1fc91a91f0a3ac7f1132dcfe32f350601227daa817"
        }
    }
}

/// Actions.
pub mod action {
    use crate::builtin_interfaces::msg::{Duration, Time};
    use crate::geometry_msgs::msg::TransformStamped;
    use crate::tf2_msgs::msg::TF2Error;
    use crate::macros::actions;

    actions! { "tf2_msgs/action/";
        /// Waits for a transform; advanced asks for it between two times through a fixed frame.
        action LookupTransform = "RIHS01_0b8adf6bc0b5958879e3265b41a457e03558fe523890a81252c70eba97a82c5d" {
            goal LookupTransformGoal = "RIHS01_815efc294ad17c813c6043cdde781ff55810d49da02ed07f9237dcd20e88d498" {
                target_frame: String,
                source_frame: String,
                source_time: Time,
                timeout: Duration,
                target_time: Time,
                fixed_frame: String,
                advanced: bool,
            }
            result LookupTransformResult = "RIHS01_061d4423af5352ff5314c8effef8faab133991a78f1b2bcd1fecabad80871225" {
                transform: TransformStamped,
                error: TF2Error,
            }
            feedback LookupTransformFeedback = "RIHS01_2da0b02f990f04404ab8c98a2a68cf5bbc773ae747f96911f2d55499cfb51542" {}
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_4646ff5706c86b04d0a1098d329951a9731a7517e16702905de6073cc72c8530"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_eb1312eb7aab35e35c71bb87c2ba3a94747c5a6544ea32bb2b32b0f75775b8ca"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_c1ada93304793c08813657255e7bde2e40e2114aa634b702c3f8d4b72ae098bc"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_5ab93d3d6c35b56390325099cb088c73bae176a39123f2f6dfe119582436acc5"
                GET_RESULT "_GetResult" = "RIHS01_3cd1715751899e3167b5aec3e4ac194f7da9e8493a77285f9f6a4c914f5e8b24"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_148f9bdc01f98922d6fb2072cb64468b89c57c7825d9d83b932c183deaa4697d"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_954de3efc36b164c4d21116abdbdcc52746e454fd9c169b55d9cfd89e83d299d"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_3260115e0f6a676d621f191f85a72a0c82f9fcb1483965c1fbaaab0b1d651a9e"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_10cb89922dcb103e95c185d43e8a5efa3d38db996f733151a2f3e2ac133f4839"
            }
        }
    }
}
