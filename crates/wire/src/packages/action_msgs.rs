//! `action_msgs`: what all action servers share.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::unique_identifier_msgs::msg::UUID;
    use crate::macros::messages;

    messages! { "action_msgs/msg/";
        /// Identity of a goal and the time at which its server accepted it.
        struct GoalInfo = "RIHS01_6398fe763154554353930716b225947f93b672f0fb2e49fdd01bb7a7e37933e9" {
            goal_id: UUID,
            stamp: Time,
        }

        /// Where one goal stands in the action state machine.
        struct GoalStatus = "RIHS01_32f4cfd717735d17657e1178f24431c1ce996c878c515230f6c5b3476819dbb9" {
            goal_info: GoalInfo,
            status: i8,
        } const {
            STATUS_UNKNOWN: i8 = 0,
            STATUS_ACCEPTED: i8 = 1,
            STATUS_EXECUTING: i8 = 2,
            STATUS_CANCELING: i8 = 3,
            STATUS_SUCCEEDED: i8 = 4,
            STATUS_CANCELED: i8 = 5,
            STATUS_ABORTED: i8 = 6,
        }

        /// All goals a server still knows, published on `<action>/_action/status`.
        struct GoalStatusArray = "RIHS01_6c1684b00f177d37438febe6e709fc4e2b0d4248dca4854946f9ed8b30cda83e" {
            status_list: Vec<GoalStatus>,
        }
    }
}

/// Services.
pub mod srv {
    use crate::action_msgs::msg::GoalInfo;
    use crate::macros::services;

    services! { "action_msgs/srv/";
        /// Cancels one goal (by id), all goals up to a stamp, or all goals (id and stamp zero).
        service CancelGoal = "RIHS01_573d8b0a534451d7bc2ac8c5ffde8ac14b8593b7001175d0cd6516dcbeb8689a" {
            request CancelGoalRequest = "RIHS01_3d3c84653c1f96918086887e1dcb236faec88b81a5b14fd4cf4840065bcdf8af" {
                goal_info: GoalInfo,
            }
            response CancelGoalResponse = "RIHS01_35e682cf3f510e83c70a82a4aac888496dedee56773bf9d8e5e0aa81f9e1c960" {
                return_code: i8,
                goals_canceling: Vec<GoalInfo>,
            } const {
                ERROR_NONE: i8 = 0,
                ERROR_REJECTED: i8 = 1,
                ERROR_UNKNOWN_GOAL_ID: i8 = 2,
                ERROR_GOAL_TERMINATED: i8 = 3,
            }
            event = "RIHS01_178f81615ce6be41ad328211d7a56b08b00e73f41f0b8aec256b2f3ff97a5e7e"
        }
    }
}
