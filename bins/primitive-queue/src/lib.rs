//! A motion primitive controller with a simulated robot behind it, and the commands that talk to one.
//!
//! ```text
//!  ~/reference ──────────────┐                                    ┌─► ~/state, ~/queue, ~/events, ~/interfaces
//!  ~/reference_control_msgs ─┼─ intake ─► QueueController ────────┤
//!  ~/motion_sequence ────────┤            (rosless-motion)        └─► /joint_states, action feedback and results
//!  ~/execute_motion ─────────┘
//! ```
//!
//! | module | question it answers |
//! |---|---|
//! | [`daemon`] | when is which topic there, and when does the engine turn? |
//! | [`settings`] | what can be set, and is it sensible? |
//! | [`commands`] | how does a command line talk to a controller? |
//! | [`plot`] | what would the robot do? |

#![forbid(unsafe_code)]

pub mod commands;
pub mod daemon;
pub mod plot;
pub mod settings;

/// The node's name unless it is remapped, as in the original.
pub const NODE_NAME: &str = "motion_primitive_controller";
