//! How a long job goes: one line, in place on a terminal, now and then elsewhere.

use std::{
    io::{self, IsTerminal as _},
    time::{Duration, Instant},
};

use super::human;
use crate::output::{self, err};

/// How often it is told on a terminal, and elsewhere.
const IN_PLACE: Duration = Duration::from_millis(250);
const ELSEWHERE: Duration = Duration::from_secs(10);

/// A line with messages, bytes, their rate and the time left.
#[derive(Debug)]
pub(crate) struct Progress {
    started: Instant,
    told: Instant,
    terminal: bool,
    shown: bool,
    quiet: bool,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let now = Instant::now();
        let terminal = io::stderr().is_terminal();
        Self { started: now, told: now, terminal, shown: false, quiet: quiet || output::is_json() }
    }

    /// Tells, if it is time to; `done` is the share that is done, where that is known.
    pub(crate) fn tell(&mut self, messages: u64, bytes: u64, done: Option<f64>, more: &str) {
        let period = if self.terminal { IN_PLACE } else { ELSEWHERE };
        if self.told.elapsed() >= period {
            self.tell_now(messages, bytes, done, more);
        }
    }

    /// Tells at once.
    pub(crate) fn tell_now(&mut self, messages: u64, bytes: u64, done: Option<f64>, more: &str) {
        if self.quiet {
            return;
        }
        self.told = Instant::now();
        let line = line(messages, bytes, self.started.elapsed(), done, more);
        if self.terminal {
            self.shown = true;
            // Back to its beginning: what is printed next takes its place.
            eprint(&format!("\r\x1b[K{}\r", output::escape_line(&line)));
        } else {
            err!("{line}");
        }
    }

    /// Leaves the line for what is printed next.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.shown) {
            eprint("\r\x1b[K");
        }
    }
}

fn eprint(text: &str) {
    // A terminal that has gone needs no line.
    let _ = io::Write::write_all(&mut io::stderr(), text.as_bytes());
}

fn line(messages: u64, bytes: u64, elapsed: Duration, done: Option<f64>, more: &str) -> String {
    let seconds = elapsed.as_secs_f64().max(0.001);
    let rate = human((bytes as f64 / seconds) as u64);
    let mut line = format!("{messages} messages, {}, {rate}/s", human(bytes));
    if let Some(done) = done.filter(|done| *done > 0.0) {
        let left = (seconds / done - seconds).max(0.0);
        line += &format!(", {:.0} %, {left:.0} s left", done.min(1.0) * 100.0);
    }
    if more.is_empty() { line } else { format!("{line}, {more}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_how_much_how_fast_and_how_long() {
        let told = line(100, 2 << 20, Duration::from_secs(2), Some(0.25), "3 dropped");
        assert_eq!(told, "100 messages, 2.0 MiB, 1.0 MiB/s, 25 %, 6 s left, 3 dropped");
        assert_eq!(line(0, 0, Duration::ZERO, None, ""), "0 messages, 0 B, 0 B/s");
    }
}
