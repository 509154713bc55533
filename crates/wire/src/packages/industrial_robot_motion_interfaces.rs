//! `industrial_robot_motion_interfaces`: motion primitives, first generation.

/// Messages.
pub mod msg {
    use crate::geometry_msgs::msg::PoseStamped;
    use crate::macros::messages;

    messages! { "industrial_robot_motion_interfaces/msg/";
        /// A named figure of a primitive: velocity, acceleration or move_time.
        struct MotionArgument = "RIHS01_0cbc15c40dac0c0bd41582d1d97a7998ce7dd6880a5a3af6df271cd00c130575" {
            argument_name: String,
            argument_value: f64,
        }

        /// One move. Controllers of this generation also take 10 as LINEAR_JOINT, because 0 is what an unset type reads.
        struct MotionPrimitive = "RIHS01_a1cea211084017656f9a3cde742de41e30604b522f4f23c821466115dfac8323" {
            r#type: u8,
            blend_radius: f64,
            additional_arguments: Vec<MotionArgument>,
            poses: Vec<PoseStamped>,
            joint_positions: Vec<f64>,
        } const {
            LINEAR_JOINT: u8 = 0,
            LINEAR_CARTESIAN: u8 = 50,
            CIRCULAR_CARTESIAN: u8 = 51,
        }

        /// Moves to be done one after the other.
        struct MotionSequence = "RIHS01_ccb060e351f70eaeb2c1dd1f746407287bff86bad417e9adadae0a8325558ce2" {
            motions: Vec<MotionPrimitive>,
        }
    }
}

/// Actions.
pub mod action {
    use crate::industrial_robot_motion_interfaces::msg::MotionSequence;
    use crate::macros::actions;

    actions! { "industrial_robot_motion_interfaces/action/";
        /// Runs a sequence of motion primitives.
        action ExecuteMotion = "RIHS01_1b2889eee0703fa90f010aca6462ae62a634b36062deda1a311070e80b45e70d" {
            goal ExecuteMotionGoal = "RIHS01_fd56ab02fe84e02e0d0afa95ecdc95b4685017439617f4a53c5fb89cb37eb816" {
                trajectory: MotionSequence,
            }
            result ExecuteMotionResult = "RIHS01_c968db9871588f2c023b3f188e568178d98ec6e441f072b5ebdb88d64d89ff30" {
                error_code: i32,
                error_string: String,
            } const {
                SUCCESSFUL: i32 = 0,
                INVALID_GOAL: i32 = -1,
                OLD_HEADER_TIMESTAMP: i32 = -3,
            }
            feedback ExecuteMotionFeedback = "RIHS01_0e6eb87c46cf210ed18d7044fd60445777a747aea303200bf65a608f93f6af5e" {
                current_primitive_index: u8,
            }
            implied {
                SEND_GOAL "_SendGoal" = "RIHS01_099e088f2d64e6eeb4a56d82c74ff1fdec777135da0403ce5910c19261e8720a"
                SEND_GOAL_REQUEST "_SendGoal_Request" = "RIHS01_e554149d7862e693dc4e95e39b8838ae01b7269f827d424ce65fc6c6611972a1"
                SEND_GOAL_RESPONSE "_SendGoal_Response" = "RIHS01_7fbfe0ee69e3a7b39f9b08c61d82a911c821bc3a8f8932229474f1de3db584f3"
                SEND_GOAL_EVENT "_SendGoal_Event" = "RIHS01_5f28e405670b62ae359bdc4a583a15bc685fce5c5ff36bba516ac48c4951e2a6"
                GET_RESULT "_GetResult" = "RIHS01_84557ed8d17fba1e75c16040361e34c7f8aeb888cd921faf3963313901cb1476"
                GET_RESULT_REQUEST "_GetResult_Request" = "RIHS01_59b6d8b1825d371b7dfcae87d4113decc22cc8290eed0b4800eedd30012c1139"
                GET_RESULT_RESPONSE "_GetResult_Response" = "RIHS01_734f352f28f684d3bcfef7ff3fab805569f1faa1e3abb4012cc982a561b52c33"
                GET_RESULT_EVENT "_GetResult_Event" = "RIHS01_8e4248961e01a8c0dd0be0bd4d8b0a90adceb226f3b7364c52b5a0cab059b7af"
                FEEDBACK_MESSAGE "_FeedbackMessage" = "RIHS01_145c0bf193c2a8b6cc515d4d01b80e0f3a843586bee4318fb2b7b0e0a67d6e34"
            }
        }
    }
}
