//! Standard output that survives `| head`.

use std::{
    fmt::Arguments,
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
};

/// `println!` that does not panic when the reader has left.
macro_rules! out {
    () => { $crate::output::text(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::output::text(format_args!("{}\n", format_args!($($arg)*))) };
}
pub(crate) use out;

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether nobody reads any more: time to leave.
pub(crate) fn closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Writes text as it is.
pub(crate) fn text(text: Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    if stdout.write_fmt(text).and_then(|()| stdout.flush()).is_err() {
        CLOSED.store(true, Ordering::Relaxed);
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
