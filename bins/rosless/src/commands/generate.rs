//! Shell completions and manual pages, made from the command line's own definition.

use std::{fs, io, path::PathBuf};

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::{
    cli::Cli,
    failure::{Failure, Result},
    output::{self, out},
};

/// For example: `rosless completions bash > ~/.local/share/bash-completion/completions/rosless`
#[derive(Args, Debug)]
pub(crate) struct Completions {
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "rosless", &mut script);
        output::text(format_args!("{}", String::from_utf8_lossy(&script)));
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
            clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(failed)?;
            output::text(format_args!("{}", String::from_utf8_lossy(&page)));
            return Ok(());
        };
        fs::create_dir_all(dir).map_err(failed)?;
        clap_mangen::generate_to(Cli::command(), dir).map_err(failed)?;
        out!("manual pages written to {}", dir.display());
        Ok(())
    }
}
