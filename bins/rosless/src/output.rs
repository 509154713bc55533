//! Standard output that survives `| head` and tells of a full disk; standard error that survives anything.

use std::{
    fmt::Arguments,
    io::{self, ErrorKind, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use rosless_graph::console::eprint_line;

/// `println!` that does not panic when the reader has left.
macro_rules! out {
    () => { $crate::output::text(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::output::text(format_args!("{}\n", format_args!($($arg)*))) };
}
pub(crate) use out;

/// `eprintln!` that does not panic.
macro_rules! err {
    ($($arg:tt)*) => { rosless_graph::console::eprint_line(&format!($($arg)*)) };
}
pub(crate) use err;

static CLOSED: AtomicBool = AtomicBool::new(false);
static FAILED: AtomicBool = AtomicBool::new(false);

/// Whether nothing can be printed any more: time to leave.
pub(crate) fn closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Whether something was lost that somebody wanted to have; a reader that left wanted no more.
pub(crate) fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Writes text as it is.
pub(crate) fn text(text: Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    let Err(error) = stdout.write_fmt(text).and_then(|()| stdout.flush()) else { return };
    CLOSED.store(true, Ordering::Relaxed);
    if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) {
        eprint_line(&format!("cannot write to standard output: {error}"));
    }
}

/// A document for programs, readable for people.
pub(crate) fn json(value: &impl serde::Serialize) {
    out!("{}", serde_json::to_string_pretty(value).unwrap_or_default());
}

/// One of many documents: a line of its own.
pub(crate) fn json_line(value: &impl serde::Serialize) {
    out!("{}", serde_json::to_string(value).unwrap_or_default());
}
