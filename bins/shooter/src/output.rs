//! What people and scripts asked for, on stdout.

use std::io::{self, Write};

use anyhow::{Context as _, Result};

/// Writes to stdout. A reader that has left has seen enough; anything else, like a full disk, is an error.
pub(crate) fn answer(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to stdout"),
    }
}
