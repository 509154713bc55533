//! `service_msgs`: service introspection.

/// Messages.
pub mod msg {
    use crate::builtin_interfaces::msg::Time;
    use crate::macros::messages;

    messages! { "service_msgs/msg/";
        /// Tells which step of which service call an event records.
        struct ServiceEventInfo = "RIHS01_41bcbbe07a75c9b52bc96bfd5c24d7f0fc0a08c0cb7921b3373c5732345a6f45" {
            event_type: u8,
            stamp: Time,
            client_gid: [u8; 16],
            sequence_number: i64,
        } const {
            REQUEST_SENT: u8 = 0,
            REQUEST_RECEIVED: u8 = 1,
            RESPONSE_SENT: u8 = 2,
            RESPONSE_RECEIVED: u8 = 3,
        }
    }
}
