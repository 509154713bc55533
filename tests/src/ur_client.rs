//! A client of UR controllers that is not ours: PyPI's `ur_rtde`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{path::Path, process::Command};

use serde_json::Value;

use crate::foreign::python_with;

/// What `ur_rtde` reads from the controller at `address`. `None` when it cannot be set up on this machine: the reason is
/// printed in one line.
///
/// # Panics
/// When it fails, and under `CI=true` when it cannot be set up.
pub fn ur_rtde_reads(address: &str) -> Option<Value> {
    let python = match python_with("ur_rtde", &["ur_rtde"], "import rtde_receive") {
        Ok(python) => python,
        Err(reason) => {
            let line = format!("cannot set up PyPI's ur_rtde: {reason:#}");
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{line}");
            eprintln!("SKIPPED: {line}");
            return None;
        }
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/ur_rtde_client.py");
    let output = Command::new(python).arg(script).arg(address).output().expect("it was tried before");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    // The library talks on stdout, too.
    let json = text.lines().rev().find(|line| line.starts_with('{')).expect("one JSON document");
    Some(serde_json::from_str(json).expect("one JSON document"))
}
