//! The node as a program. It takes what every ROS node takes: `--ros-args -r __ns:=/lab -p rate:=20.0`, `ROS_DOMAIN_ID`, …
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let (settings, _arguments) = rosless_graph::config::settings_or_exit();
    match my_node::run(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::error!("{error}");
            ExitCode::FAILURE
        }
    }
}
