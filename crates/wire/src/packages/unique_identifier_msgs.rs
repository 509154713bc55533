//! `unique_identifier_msgs`: UUIDs.

/// Messages.
pub mod msg {
    use crate::macros::messages;

    messages! { "unique_identifier_msgs/msg/";
        /// A universally unique identifier.
        struct UUID = "RIHS01_1b8e8aca958cbea28fe6ef60bf6c19b683c97a9ef60bb34752067d0f2f7ab437" {
            uuid: [u8; 16],
        }
    }
}
