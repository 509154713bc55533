//! Log records as ROS people know them on the console, and lines that no reader can stop.

mod format;
mod levels;
mod lines;

pub use format::{ConsoleFormat, Record, Severity};
pub use levels::LoggerLevels;
pub use lines::{eprint_line, print_line};
