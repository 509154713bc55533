//! Long runs: what processes take from the machine over time, whether it grows, and a picture of it.

mod growth;
mod plot;
mod recording;

pub use growth::{Growth, MIN_SAMPLES};
pub use plot::plot;
pub use recording::{Moment, Recording};
