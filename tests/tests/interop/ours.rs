//! What both ends of a conversation with a foreign peer need.

use std::time::Duration;

/// Foreign discovery alone may take seconds on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// USER_DATA as every ROS endpoint has it.
pub(crate) fn typehash(hash: &str) -> Vec<u8> {
    format!("typehash={hash};").into_bytes()
}
