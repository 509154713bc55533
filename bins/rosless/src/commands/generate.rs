//! Shell completions and manual pages, made from the command line's own definition.

use std::{fs, io, path::PathBuf};

use clap::Args;
use rosless_cli::completion;

use crate::{
    cli::Cli,
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
        let daemons = fleet::everything().into_iter().map(|program| program.run);
        let mut programs: Vec<_> = daemons.chain(["rosless".to_owned()]).collect();
        programs.sort();
        programs.dedup();
        let programs: Vec<_> = programs.iter().map(String::as_str).collect();
        output::raw(&completion::script(&self.shell, &programs)?);
        Ok(())
    }
}

/// One page per command; without a folder the first page goes to standard output (`rosless man | man -l -`).
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// Folder for the pages, such as /usr/local/share/man/man1
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<()> {
        let failed = |error: io::Error| Failure::new(format!("cannot write the manual pages: {error}"));
        let Some(dir) = &self.dir else {
            let mut page = Vec::new();
            clap_mangen::Man::new(rosless_cli::command::<Cli>()).render(&mut page).map_err(failed)?;
            output::raw(&String::from_utf8_lossy(&page));
            return Ok(());
        };
        fs::create_dir_all(dir).map_err(failed)?;
        clap_mangen::generate_to(rosless_cli::command::<Cli>(), dir).map_err(failed)?;
        out!("manual pages written to {}", dir.display());
        Ok(())
    }
}
