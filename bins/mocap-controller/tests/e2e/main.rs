//! The daemons as users meet them: real processes on a DDS domain of their own, watched from inside the test.

mod clocks;
mod faults;
mod fleet;
mod foreign;
mod kinds;
mod running;
mod scenario;
mod sessions;
mod stage;
