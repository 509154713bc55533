//! Standard output that survives `| head` and tells of a full disk; standard error that survives anything. What comes from
//! the network cannot steer the terminal: control characters leave this module as text.

use std::{
    borrow::Cow,
    fmt::{Arguments, Write as _},
    fs::File,
    io::{self, ErrorKind, IsTerminal as _, Write},
    os::{fd::AsFd as _, unix::fs::FileTypeExt as _},
    sync::atomic::{AtomicBool, Ordering},
};

use rosless_graph::lines::eprint_line;

/// `println!` that does not panic when the reader has left.
#[macro_export]
macro_rules! out {
    () => { $crate::output::text(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::output::text(format_args!("{}\n", format_args!($($arg)*))) };
}
/// `eprintln!` that does not panic.
#[macro_export]
macro_rules! err {
    ($($arg:tt)*) => { $crate::output::error(&format!($($arg)*)) };
}
pub use crate::{err, out};

static JSON: AtomicBool = AtomicBool::new(false);
static CLOSED: AtomicBool = AtomicBool::new(false);
static FAILED: AtomicBool = AtomicBool::new(false);

/// Whether `--json` was given.
pub fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

pub(crate) fn set_json(json: bool) {
    JSON.store(json, Ordering::Relaxed);
}

/// Whether nothing can be printed any more: time to leave.
pub fn closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Whether something was lost that somebody wanted to have; a reader that left wanted no more.
pub fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Nobody reads what will be printed.
pub(crate) fn close() {
    CLOSED.store(true, Ordering::Relaxed);
}

/// Standard output if it is a pipe. Watched by an event loop, it becomes ready when its reader leaves and at no other time.
pub(crate) fn stdout_pipe() -> Option<File> {
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
    stdout.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()).then_some(stdout)
}

/// Text with its control characters made visible, but for the ends of lines and tabs.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_all(text, |c| c.is_control() && c != '\n' && c != '\t')
}

/// Text for one cell or line: no control character at all.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape_all(text, char::is_control)
}

fn escape_all(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_bad(c) {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Writes text, with control characters made visible.
pub fn text(text: Arguments<'_>) {
    match text.as_str() {
        Some(text) => raw(&escape(text)),
        None => raw(&escape(&text.to_string())),
    }
}

/// Writes our own text as it is: the terminal obeys it.
pub fn raw(text: &str) {
    if let Err(error) = written(io::stdout().lock(), text) {
        note(&error);
    }
}

/// Remembers why standard output takes no more.
pub(crate) fn note(error: &io::Error) {
    close();
    if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) {
        eprint_line(&format!("error: cannot write to stdout: {error}"));
    }
}

fn written(mut output: impl Write, text: &str) -> io::Result<()> {
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// A line for standard error.
pub fn error(text: &str) {
    eprint_line(&escape(text));
}

/// A question on standard error, where an answer can be typed behind it.
pub fn prompt(text: &str) {
    // Who cannot see the question does not answer it.
    let _ = written(io::stderr().lock(), &escape(text));
}

/// A document for programs, readable for people.
pub fn json(value: &impl serde::Serialize) {
    raw(&json_text(serde_json::to_string_pretty(value)));
}

/// One of many documents: a line of its own.
pub fn json_line(value: &impl serde::Serialize) {
    raw(&json_text(serde_json::to_string(value)));
}

/// JSON with the control characters that it allows, escaped as it escapes the others.
pub(crate) fn json_text(json: serde_json::Result<String>) -> String {
    let mut text = json.unwrap_or_default();
    if text.contains(|c: char| c.is_control() && c > '\x20') {
        let plain = std::mem::take(&mut text);
        for c in plain.chars() {
            match c.is_control() && c > '\x20' {
                true => write!(text, "\\u{:04x}", u32::from(c)).expect("a String takes all"),
                false => text.push(c),
            }
        }
    }
    text.push('\n');
    text
}

/// One answer: a line of JSON where it was asked for, else text for people.
pub fn answer(json: &impl serde::Serialize, text: impl FnOnce() -> String) {
    match is_json() {
        true => json_line(json),
        false => match text() {
            // No words are no line, either.
            text if text.is_empty() => {}
            text => out!("{text}"),
        },
    }
}

/// Whether standard output is a terminal for people.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Columns and lines; a terminal that does not tell is taken for the usual one.
pub fn terminal_size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

/// Colours by their ANSI numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Colour {
    /// What is well.
    Green = 32,
    /// What wants a look.
    Yellow = 33,
    /// What is wrong.
    Red = 31,
}

/// The text in colour on a terminal, unless NO_COLOR is set, and as it is elsewhere; for [`raw`].
pub fn coloured(colour: Colour, text: &str) -> String {
    let wanted = is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted { format!("\x1b[{}m{}\x1b[0m", colour as u8, escape(text)) } else { escape(text).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_left_is_told_from_a_full_disk() {
        let (reader, writer) = io::pipe().unwrap();
        written(&writer, "x").unwrap();
        drop(reader);
        assert_eq!(written(&writer, "x").unwrap_err().kind(), ErrorKind::BrokenPipe);
        let full = File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(written(full, "x").unwrap_err().kind(), ErrorKind::StorageFull);
    }

    #[test]
    fn foreign_text_cannot_steer_the_terminal() {
        let text = "\x1b[31m größe\u{9b}2J\r\x07\ttab\n";
        assert_eq!(escape(text), "\\u{1b}[31m größe\\u{9b}2J\\r\\u{7}\ttab\n");
        assert_eq!(escape_line("two\nlines"), r"two\nlines");
        assert!(matches!(escape("plain\n"), Cow::Borrowed(_)));
        assert_eq!(
            json_text(serde_json::to_string(&("\x1b", "\u{9b}", "\x7f", "ö"))),
            "[\"\\u001b\",\"\\u009b\",\"\\u007f\",\"ö\"]\n"
        );
    }
}
