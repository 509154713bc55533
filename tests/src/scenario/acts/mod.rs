//! What the daemons are asked to do, and how it is seen that they did it. Each act goes through daemons that are already
//! there, and can be repeated.

mod capture;
mod mechanism;
mod motion;
mod throws;

pub use capture::Capture;
pub use mechanism::Mechanism;
pub use motion::{Goal, Moved, Robot};
pub use throws::{Launch, Range, Verdict};
