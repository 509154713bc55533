//! Shell completions and manual pages, made from the command line's own definition.

use std::{path::PathBuf, process::Command};

use clap::Args;
use rosless_cli::{completion, manual};

use crate::{
    cli::Arguments,
    failure::{Failure, Result},
    fleet,
    output::{self, out},
};

/// Makes the Tab key work for every program of the project: `source <(rosless completions bash)`. Names of topics,
/// nodes, services, actions and systems come from the running graph.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// bash, zsh, fish, elvish or powershell
    shell: String,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<()> {
        let mut programs = fleet::programs();
        programs.insert("rosless".to_owned());
        let programs: Vec<_> = programs.iter().map(String::as_str).collect();
        output::raw(&completion::script(&self.shell, &programs)?);
        Ok(())
    }
}

/// The pages of every program of the project; without a folder the first of `rosless` goes to standard output
/// (`rosless man | man -l -`).
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Folder for the pages, such as /usr/local/share/man/man1
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<()> {
        let Some(dir) = &self.dir else {
            output::raw(&manual::page::<Arguments>()?);
            return Ok(());
        };
        manual::write::<Arguments>(dir)?;
        for (name, path) in fleet::installed() {
            let status = Command::new(&path).arg(manual::WRITE_PAGES).arg(dir).status();
            if !status.as_ref().is_ok_and(|status| status.success()) {
                return Err(Failure::new(format!("{name} did not write its manual pages")));
            }
        }
        out!("manual pages written to {}", dir.display());
        Ok(())
    }
}
