//! Foxglove clients that are not ours: npm's `@foxglove/ws-protocol`, and one with the types of PyPI's `foxglove-websocket`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::foreign::{in_shared_folder, run};

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoxgloveClient {
    Npm,
    PyPi,
}

impl FoxgloveClient {
    pub const ALL: [Self; 2] = [Self::Npm, Self::PyPi];

    /// Lets it do one of everything at `url`; what it prints about it. `None` when it cannot be set up on this machine: the
    /// reason is printed in one line.
    ///
    /// # Panics
    /// When it fails, and under `CI=true` when it cannot be set up.
    pub fn visit(self, url: &str, protocol: &str) -> Option<Value> {
        let mut command = match self.command() {
            Ok(command) => command,
            Err(reason) => {
                let line = format!("cannot set up the {self:?} Foxglove client: {reason:#}");
                assert!(std::env::var("CI").as_deref() != Ok("true"), "{line}");
                eprintln!("SKIPPED: {line}");
                return None;
            }
        };
        let output = command.args([url, protocol]).output().expect("it was tried before");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{self:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        Some(serde_json::from_str(&text).expect("one JSON document"))
    }

    fn command(self) -> Result<Command> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        match self {
            Self::Npm => {
                let modules = in_shared_folder(node_modules)?;
                let mut command = Command::new("node");
                command.arg(sources.join("foxglove_client.mjs")).env("MODULES", modules);
                Ok(command)
            }
            Self::PyPi => {
                let mut command = Command::new(in_shared_folder(python)?);
                command.arg(sources.join("foxglove_client.py"));
                Ok(command)
            }
        }
    }
}

fn node_modules(folder: &Path) -> Result<PathBuf> {
    let home = folder.join("npm");
    if !home.join("node_modules/@foxglove/ws-protocol").exists() || !home.join("node_modules/ws").exists() {
        std::fs::create_dir_all(&home)?;
        run(Command::new("npm")
            .args(["install", "--silent", "--no-save", "@foxglove/ws-protocol", "ws"])
            .current_dir(&home))
        .context("Node.js with npm is needed")?;
    }
    Ok(home)
}

fn python(folder: &Path) -> Result<PathBuf> {
    let python = folder.join("foxglove-venv/bin/python");
    let works =
        || run(Command::new(&python).args(["-c", "import foxglove_websocket.types, websockets"])).is_ok();
    if !works() {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder.join("foxglove-venv")))?;
        run(Command::new(&python).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "foxglove-websocket",
            "websockets",
        ]))?;
        ensure!(works(), "the PyPI package foxglove-websocket is installed but cannot be imported");
    }
    Ok(python)
}
