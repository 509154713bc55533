//! Actions: long-running goals with feedback, cancelling and results.

mod client;
mod goal;
mod goals;
mod messages;
mod server;

pub use client::{ActionClient, GoalUpdate};
pub use goal::{GoalEvent, GoalId, GoalState};
pub use goals::{CancelCode, GoalError, GoalInfo, Goals, RESULT_TIMEOUT, ResultAnswer};
pub use server::{ActionServer, CancelResponse, GoalHandle, GoalResponse};
