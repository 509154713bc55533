//! Manual pages, made from the command line's own definition.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::Path,
};

use clap::CommandFactory;

use crate::{Failure, Result, program::command};

/// The word after which any program writes its pages into a folder and ends; `rosless man DIR` says it to all of them.
pub const WRITE_PAGES: &str = "__man";

/// The folder into which this program was told to write its pages.
pub(crate) fn folder(arguments: &[OsString]) -> Option<&OsStr> {
    match arguments {
        [_, word, folder] if word == WRITE_PAGES => Some(folder),
        _ => None,
    }
}

/// The first page, for `man -l -`.
///
/// # Errors
/// When it cannot be put together.
pub fn page<C: CommandFactory>() -> Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command::<C>()).render(&mut page).map_err(failed)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// One page per command.
///
/// # Errors
/// When they cannot be written.
pub fn write<C: CommandFactory>(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(command::<C>(), folder).map_err(failed)
}

fn failed(error: io::Error) -> Failure {
    Failure::new(format!("cannot write the manual pages: {error}"))
}
