//! `builtin_interfaces`: time and duration.

/// Messages.
pub mod msg {
    use crate::macros::messages;

    messages! { "builtin_interfaces/msg/";
        /// A signed span of time; nanosec always counts towards the future.
        struct Duration = "RIHS01_e8d009f659816f758b75334ee1a9ca5b5c0b859843261f14c7f937349599d93b" {
            sec: i32,
            nanosec: u32,
        }

        /// A point in time since the epoch of the clock that made it.
        struct Time = "RIHS01_b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197" {
            sec: i32,
            nanosec: u32,
        }
    }
}
