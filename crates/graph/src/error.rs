use std::io;

/// What can go wrong when a node or one of its parts is made. Samples that go wrong later are counted, not errors.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "fields are named in the text of each")]
pub enum Error {
    /// An argument, an environment variable or a name the user gave is wrong: exit with code 2.
    #[error("{0}")]
    Usage(String),
    /// The program declares a parameter twice, or without name or type.
    #[error("{0}")]
    Parameter(String),
    /// RustDDS refused to make something, with its reason.
    #[error("cannot {what}: {reason}{}", advice(reason))]
    Dds { what: String, reason: String },
    /// The system refused something the process lives by: a socket, a signal, a file.
    #[error("{what}: {source}{}", advice(&source.to_string()))]
    Io { what: &'static str, source: io::Error },
    /// Something was to be registered with a loop that is gone.
    #[error("the event loop has ended")]
    LoopEnded,
    /// A second loop was asked for.
    #[error(
        "the context has an event loop already, and can have only one; register callbacks with that one's handle"
    )]
    LoopExists,
    /// A signal or a stop request ended the loop before the awaited condition held.
    #[error("interrupted")]
    Interrupted,
}

/// What to do about it, where that is not plain from the reason.
fn advice(reason: &str) -> &'static str {
    // RustDDS gives reasons as text only.
    if reason.contains("Too many open files") {
        "; raise the limit with `ulimit -n`, or LimitNOFILE= under systemd"
    } else if reason == NOT_PERMITTED {
        "; add it to the policy, and sign that with `rosless security create_permission`"
    } else {
        ""
    }
}

const NOT_PERMITTED: &str = "the permissions of the enclave do not allow it";

/// What fallible functions here return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn dds(what: impl Into<String>) -> impl FnOnce(rustdds::dds::CreateError) -> Self {
        let what = what.into();
        move |error| {
            let reason = error.to_string();
            // The topic is named already.
            let denied = reason.starts_with("Not allowed by security: Not allowed to create");
            Self::Dds { what, reason: if denied { NOT_PERMITTED.to_owned() } else { reason } }
        }
    }

    pub(crate) fn name(error: impl std::fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }

    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
