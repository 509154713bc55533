//! Standard output, which may be a full disk or a reader that has left.

use std::{
    fs::File,
    io::{self, Write},
    os::{fd::AsFd, unix::fs::FileTypeExt},
};

use crate::client::Failure;

/// Writes what was asked for. `false` when the reader has left, as `head` does: there is nobody to tell any more.
///
/// # Errors
/// When it cannot be written, as on a full disk.
pub fn answer(text: &str) -> Result<bool, Failure> {
    written(io::stdout().lock(), text)
}

/// Standard output if it is a pipe. Watched, it becomes ready when its reader leaves and at no other time.
pub fn pipe() -> Option<File> {
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
    stdout.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()).then_some(stdout)
}

fn written(mut output: impl Write, text: &str) -> Result<bool, Failure> {
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure { code: 1, message: format!("cannot write to stdout: {error}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_left_is_no_failure_but_a_full_disk_is() {
        let (reader, writer) = io::pipe().unwrap();
        assert_eq!(written(&writer, "x").ok(), Some(true));
        drop(reader);
        assert_eq!(written(&writer, "x").ok(), Some(false));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let failure = written(full, "x").unwrap_err();
        assert_eq!(failure.code, 1);
        assert!(failure.message.starts_with("cannot write to stdout: "), "{failure}");
    }
}
