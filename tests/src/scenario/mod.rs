//! Whole systems under test: daemons as real processes, and an observer that sees what they do on the wire.
//!
//! ```no_run
//! use std::time::Duration;
//! use rosless_tests::scenario::{Report, Role, System};
//!
//! let mut report = Report::new("the arm is killed");
//! let mut system = System::start();
//! let observer = system.observer();
//! observer.wait_for_nodes(&Role::ALL);
//! system.kill(Role::Arm);
//! system.launch(Role::Arm);
//! let took = observer.wait_for_nodes(&[Role::Arm]);
//! report.took("the arm is back", took);
//! system.end();
//! ```

pub mod acts;
mod observer;
mod report;
mod system;

pub use observer::{Heard, Observer, PATIENCE};
pub use report::Report;
pub use system::{Role, System};
