//! UR robots: the simulated controller in a process of its own, and a client that is not ours, PyPI's `ur_rtde`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{
    io::Write as _,
    path::Path,
    process::{ChildStdin, Command},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use serde_json::Value;

use crate::{Daemon, foreign::python_with, sibling_binary};

const PATIENCE: Duration = Duration::from_secs(60);

/// A running `sim-ur`.
#[derive(Debug)]
pub struct SimUr {
    process: Daemon,
    keys: ChildStdin,
    pub address: String,
}

impl SimUr {
    /// On an address of its own: a controller's ports are what they are. `own` is as for [`sibling_binary`].
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(own: &str, arguments: &[&str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let (pid, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let address = format!("127.{}.{}.{count}", 1 + pid % 250, pid / 250 % 250);
        let mut command = Command::new(sibling_binary(own, "sim-ur"));
        command.args(["--bind", &address]).args(arguments);
        let (process, keys) = Daemon::spawn_with_stdin(command);
        process.wait_for_line("RTDE 30004", PATIENCE);
        Self { process, keys, address }
    }

    /// Somebody does something at the robot.
    ///
    /// # Panics
    /// When it does not understand it.
    pub fn say(&mut self, text: &str) {
        writeln!(self.keys, "{text}").expect("it listens");
        self.process.wait_for_line(&format!("done: {text}"), PATIENCE);
    }
}

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
