//! Judges that are not ours, from PyPI: readers and writers of recordings (`mcap`, `mcap-ros2-support`, `rosbags`), a
//! doctor of them (`pymcap-cli`), and a client of NatNet (`natnet`).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::foreign::python_with;

type Found = std::result::Result<PathBuf, String>;

fn look_for(venv: &str, packages: &[&str], proof: &str) -> Found {
    python_with(venv, packages, proof).map_err(|error| format!("{error:#}"))
}

/// The Python to judge with; a judge that cannot be had is told in one line, and under `CI=true` is a failure.
fn had(what: &str, python: &Found) -> Option<PathBuf> {
    match python {
        Ok(python) => Some(python.clone()),
        Err(reason) => {
            let line = format!("cannot set up {what}: {reason}");
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{line}");
            eprintln!("SKIPPED: {line}");
            None
        }
    }
}

/// Runs `tests/peers/bag_judge.py`.
#[derive(Debug, Clone)]
pub struct BagJudge {
    python: PathBuf,
}

impl BagJudge {
    /// `None` when the packages cannot be had on this machine: the reason is printed in one line.
    ///
    /// # Panics
    /// Under `CI=true` a judge that cannot be had is a failure, so that nothing is skipped in silence.
    pub fn find() -> Option<Self> {
        static PYTHON: OnceLock<Found> = OnceLock::new();
        let packages = ["mcap", "mcap-ros2-support", "rosbags", "pymcap-cli"];
        let proof = "import mcap.reader, mcap_ros2.decoder, rosbags.rosbag2, pymcap_cli.doctor";
        let python = PYTHON.get_or_init(|| look_for("bag-venv", &packages, proof));
        had("the readers of recordings", python).map(|python| Self { python })
    }

    /// What the judge says, one JSON value per line.
    ///
    /// # Errors
    /// When it cannot read what it was given.
    pub fn ask(&self, verb: &str, path: &Path, more: &[&str]) -> Result<Vec<Value>> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/bag_judge.py");
        let output = Command::new(&self.python).arg(script).arg(verb).arg(path).args(more).output()?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("{verb} {}: {}", path.display(), errors.trim().lines().last().unwrap_or("no output"));
        }
        let lines = String::from_utf8(output.stdout)?;
        lines.lines().map(|line| serde_json::from_str(line).with_context(|| line.to_owned())).collect()
    }
}

/// Runs `tests/peers/natnet_judge.py`: PyPI's `natnet` as a client of a server.
#[derive(Debug, Clone)]
pub struct NatnetJudge {
    python: PathBuf,
}

impl NatnetJudge {
    /// As [`BagJudge::find`].
    ///
    /// # Panics
    /// Under `CI=true` when it cannot be had.
    pub fn find() -> Option<Self> {
        static PYTHON: OnceLock<Found> = OnceLock::new();
        let python = PYTHON.get_or_init(|| look_for("natnet-venv", &["natnet==0.3.0"], "import natnet"));
        had("the NatNet client of PyPI", python).map(|python| Self { python })
    }

    /// What it read from the server on that port of this machine: so many frames, and descriptions if wanted.
    ///
    /// # Errors
    /// When it could not read them.
    pub fn ask(&self, port: u16, frames: usize, descriptions: bool) -> Result<Value> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/natnet_judge.py");
        let mut command = Command::new(&self.python);
        command.arg(script).arg(port.to_string()).arg(frames.to_string());
        command.args(descriptions.then_some("--descriptions"));
        let output = command.output()?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        serde_json::from_slice(&output.stdout).context("one JSON document")
    }
}
