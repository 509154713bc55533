//! What can be wrong with a recording.

use std::{fmt, io, path::Path};

/// Why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "fields are named in the text of each")]
pub enum Error {
    /// The disk is full, or what this user may have of it.
    #[error("{path}: the disk is full: {error}")]
    DiskFull { path: String, error: io::Error },
    /// The system refused a file.
    #[error("{path}: {error}")]
    File { path: String, error: io::Error },
    /// The file is not what it should be.
    #[error("{path}: {what}")]
    Format { path: String, what: String },
    /// A chunk cannot be packed or unpacked.
    #[error("{0}")]
    Packing(String),
    /// This build lacks what is needed.
    #[error(
        "{what} needs the cargo feature `{feature}`, which this build lacks: build with --features {feature}"
    )]
    Feature { what: String, feature: &'static str },
    /// There is nobody left who writes.
    #[error("{0}")]
    Ended(&'static str),
    /// It was asked for the wrong way.
    #[error("{0}")]
    Usage(String),
}

/// What reading and writing return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |error| match crate::safe_file::is_full(&error) {
            true => Self::DiskFull { path, error },
            false => Self::File { path, error },
        }
    }

    pub(crate) fn format(path: &Path, what: impl fmt::Display) -> Self {
        Self::Format { path: path.display().to_string(), what: what.to_string() }
    }

    pub(crate) fn packing(what: impl fmt::Display) -> Self {
        Self::Packing(what.to_string())
    }

    pub(crate) fn feature(what: &str, feature: &'static str) -> Self {
        Self::Feature { what: what.to_owned(), feature }
    }
}
