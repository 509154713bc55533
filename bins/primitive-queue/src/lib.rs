//! A motion primitive controller with a simulated robot behind it, and the commands that talk to one.
//!
//! ```text
//!  ~/reference ──────────────┐                                    ┌─► ~/state, ~/queue, ~/events, ~/interfaces
//!  ~/reference_control_msgs ─┼─ intake ─► QueueController ────────┤
//!  ~/motion_sequence ────────┤            (rosless-motion)        └─► /joint_states, action feedback and results
//!  ~/execute_motion ─────────┤                                    ┌─► robot_description, joint_states, /tf, ~/markers
//!  ~/follow_joint_trajectory ┘  ~/plan ─► Planner, moves nothing ─┘
//! ```
//!
//! | module | question it answers |
//! |---|---|
//! | [`daemon`] | when does the engine turn, and when is it there? |
//! | `running`, `endpoints` | which topics, services and actions are there, and who is told what? |
//! | `asking` | what can be asked beside moving? |
//! | `ur` | where are the sockets of a UR robot? |
//! | [`settings`] | what can be set, and is it sensible? |
//! | `follow` | how does a trajectory become primitives, and how near do they stay? |
//! | `view` | what does a viewer see? |
//! | [`commands`] | how does a command line talk to a controller? |
//! | [`plot`] | what would the robot do? |

#![forbid(unsafe_code)]

mod asking;
pub mod commands;
pub mod daemon;
mod endpoints;
mod follow;
pub mod plot;
mod running;
pub mod settings;
mod ur;
mod view;

/// The node's name unless it is remapped, as in the original.
pub const NODE_NAME: &str = "motion_primitive_controller";
