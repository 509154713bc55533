//! `rosgraph_msgs`: simulated time.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::macros::messages;

    messages! { "rosgraph_msgs/msg/";
        /// The simulated time.
        struct Clock = "RIHS01_692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564" {
            clock: Time,
        }
    }
}
