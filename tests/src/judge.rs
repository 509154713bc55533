//! Readers and writers of recordings that are not ours, from PyPI: `mcap`, `mcap-ros2-support`, `rosbags`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::foreign::python_with;

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
        static PYTHON: OnceLock<std::result::Result<PathBuf, String>> = OnceLock::new();
        let python = PYTHON.get_or_init(|| {
            python_with(
                "bag-venv",
                &["mcap", "mcap-ros2-support", "rosbags"],
                "import mcap.reader, mcap_ros2.decoder, rosbags.rosbag2",
            )
            .map_err(|error| format!("{error:#}"))
        });
        match python {
            Ok(python) => Some(Self { python: python.clone() }),
            Err(reason) => {
                let line = format!("cannot set up the readers of recordings: {reason}");
                assert!(std::env::var("CI").as_deref() != Ok("true"), "{line}");
                eprintln!("SKIPPED: {line}");
                None
            }
        }
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
