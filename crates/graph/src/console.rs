//! Log records as ROS people know them on the console: format, colours and severities of rcutils.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    str::FromStr,
    time::Duration,
};

use crate::config::UsageError;

/// Severity of a log record, numbered as in `rcl_interfaces/msg/Log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Severity {
    /// For whoever looks for a fault.
    Debug = 10,
    /// As it should be.
    Info = 20,
    /// Something is odd, and the work goes on.
    Warn = 30,
    /// Something asked for did not happen.
    Error = 40,
    /// The process ends.
    Fatal = 50,
}

impl Severity {
    const NAMES: [(&'static str, Self); 5] = [
        ("DEBUG", Self::Debug),
        ("INFO", Self::Info),
        ("WARN", Self::Warn),
        ("ERROR", Self::Error),
        ("FATAL", Self::Fatal),
    ];

    /// The number in `rcl_interfaces/msg/Log`.
    pub fn id(self) -> u8 {
        self as u8
    }

    fn colour(self) -> &'static str {
        match self {
            Self::Debug => "\x1b[32m",
            Self::Info => "\x1b[0m",
            Self::Warn => "\x1b[33m",
            Self::Error | Self::Fatal => "\x1b[31m",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES.iter().find(|(_, s)| s == self).map_or("", |(name, _)| name))
    }
}

impl FromStr for Severity {
    type Err = UsageError;

    fn from_str(name: &str) -> Result<Self, UsageError> {
        let found = Self::NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, s)| *s);
        found.ok_or_else(|| {
            UsageError::new(format!("unknown log level '{name}': use DEBUG, INFO, WARN, ERROR or FATAL"))
        })
    }
}

impl From<log::Level> for Severity {
    fn from(level: log::Level) -> Self {
        match level {
            log::Level::Error => Self::Error,
            log::Level::Warn => Self::Warn,
            log::Level::Info => Self::Info,
            log::Level::Debug | log::Level::Trace => Self::Debug,
        }
    }
}

/// One log record, before it is formatted for the console or put into a `rcl_interfaces/msg/Log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    /// How urgent it is.
    pub severity: Severity,
    /// Since the Unix epoch.
    pub stamp: Duration,
    /// The logger's name: a node's full name with dots.
    pub name: &'a str,
    /// What is said.
    pub message: &'a str,
    /// Where in the source it is said.
    pub file: &'a str,
    /// In which function.
    pub function: &'a str,
    /// In which line.
    pub line: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Severity,
    Name,
    Message,
    Time,
    Nanoseconds,
    DateTime,
    Function,
    File,
    ShortFile,
    Line,
}

/// How records look on the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleFormat {
    parts: Vec<Part>,
    coloured: bool,
}

impl ConsoleFormat {
    /// rcutils' own default.
    pub const DEFAULT: &'static str = "[{severity}] [{time}] [{name}]: {message}";

    /// `format` as in `RCUTILS_CONSOLE_OUTPUT_FORMAT`: `{severity}`, `{name}`, `{message}`, `{time}`,
    /// `{time_as_nanoseconds}`, `{date_time_with_ms}`, `{function_name}`, `{file_name}`, `{short_file_name}`,
    /// `{line_number}`, and the escapes `\n`, `\t`, `\\`, `\x1b` …; what is none of these stays as it is.
    pub fn new(format: &str, coloured: bool) -> Self {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = format;
        while let Some(c) = rest.chars().next() {
            let token = match c {
                '{' => rest.find('}').and_then(|end| Some((part(&rest[1..end])?, end + 1))),
                _ => None,
            };
            if let Some((part, length)) = token {
                if !text.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                }
                parts.push(part);
                rest = &rest[length..];
            } else if let Some((escaped, length)) = escape(rest) {
                text.push(escaped);
                rest = &rest[length..];
            } else {
                text.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Self { parts, coloured }
    }

    /// Obeys `RCUTILS_CONSOLE_OUTPUT_FORMAT` and `RCUTILS_COLORIZED_OUTPUT` (0, 1, or empty: colour on a terminal).
    pub fn parse(variable: impl Fn(&str) -> Option<String>, on_terminal: bool) -> Result<Self, UsageError> {
        let get = |name: &str| variable(name).filter(|value| !value.is_empty());
        let coloured = match get("RCUTILS_COLORIZED_OUTPUT").as_deref() {
            None => on_terminal,
            Some("0") => false,
            Some("1") => true,
            Some(other) => {
                let message = format!("RCUTILS_COLORIZED_OUTPUT='{other}' is not usable: expected 0 or 1");
                return Err(UsageError::new(message));
            }
        };
        let format = get("RCUTILS_CONSOLE_OUTPUT_FORMAT");
        Ok(Self::new(format.as_deref().unwrap_or(Self::DEFAULT), coloured))
    }

    /// The record as one entry for the console, without the newline at its end.
    pub fn format(&self, record: &Record<'_>) -> String {
        let mut out = String::with_capacity(64 + record.message.len());
        if self.coloured {
            out.push_str(record.severity.colour());
        }
        let seconds = record.stamp.as_secs();
        for part in &self.parts {
            // Writing into a String cannot fail.
            let _ = match part {
                Part::Text(text) => out.write_str(text),
                Part::Severity => write!(out, "{}", record.severity),
                Part::Name => out.write_str(record.name),
                // Names and texts from the network are in it: they must not steer the terminal.
                Part::Message => out.write_str(&visible(record.message)),
                Part::Time => write!(out, "{seconds:010}.{:09}", record.stamp.subsec_nanos()),
                Part::Nanoseconds => write!(out, "{:019}", record.stamp.as_nanos()),
                Part::DateTime => out.write_str(&utc_date_time(record.stamp)),
                Part::Function => out.write_str(record.function),
                Part::File => out.write_str(record.file),
                Part::ShortFile => out.write_str(record.file.rsplit('/').next().unwrap_or_default()),
                Part::Line => write!(out, "{}", record.line),
            };
        }
        if self.coloured {
            out.push_str("\x1b[0m");
        }
        out
    }
}

impl Default for ConsoleFormat {
    fn default() -> Self {
        Self::new(Self::DEFAULT, false)
    }
}

/// Text with its control characters made visible, but for the ends of lines and tabs.
fn visible(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if steers(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(shown).collect())
}

fn part(token: &str) -> Option<Part> {
    Some(match token {
        "severity" => Part::Severity,
        "name" => Part::Name,
        "message" => Part::Message,
        "time" => Part::Time,
        "time_as_nanoseconds" => Part::Nanoseconds,
        "date_time_with_ms" => Part::DateTime,
        "function_name" => Part::Function,
        "file_name" => Part::File,
        "short_file_name" => Part::ShortFile,
        "line_number" => Part::Line,
        _ => return None,
    })
}

/// The character an escape sequence at the start of `text` stands for, and the sequence's length.
fn escape(text: &str) -> Option<(char, usize)> {
    let rest = text.strip_prefix('\\')?;
    let simple = match rest.chars().next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'v' => '\x0b',
        '\\' => '\\',
        '\'' => '\'',
        '"' => '"',
        'x' => {
            let code = u8::from_str_radix(rest.get(1..3)?, 16).ok()?;
            return Some((char::from(code), 4));
        }
        _ => return None,
    };
    Some((simple, 2))
}

/// `2023-11-14 22:13:20.123`, in UTC: a daemon's log should not change its hours with the season.
fn utc_date_time(stamp: Duration) -> String {
    // Days are counted from 0000-03-01, so that the leap day is the last of its year; 400 years have 146097 days.
    let days = stamp.as_secs() / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let second = stamp.as_secs() % 86_400;
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:03}",
        second / 3_600,
        second / 60 % 60,
        second % 60,
        stamp.subsec_millis()
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RECORD: Record<'static> = Record {
        severity: Severity::Info,
        stamp: Duration::new(1_700_000_000, 123_456_789),
        name: "ns.node",
        message: "text",
        file: "src/a/main.rs",
        function: "run",
        line: 7,
    };

    #[test]
    fn the_default_is_the_ros_console_format() {
        let line = ConsoleFormat::default().format(&RECORD);
        assert_eq!(line, "[INFO] [1700000000.123456789] [ns.node]: text");
    }

    #[test]
    fn every_token_and_escape_is_replaced_and_the_rest_is_kept() {
        let format = r"{severity}|{name}|{message}|{time_as_nanoseconds}|{date_time_with_ms}|{function_name}|{file_name}|{short_file_name}|{line_number}|{unknown}|{|\t\x41\q";
        assert_eq!(
            ConsoleFormat::new(format, false).format(&RECORD),
            "INFO|ns.node|text|1700000000123456789|2023-11-14 22:13:20.123|run|src/a/main.rs|main.rs|7|{unknown}|{|\tA\\q"
        );
    }

    #[test]
    fn colours_follow_severity_and_end_with_a_reset() {
        let format = ConsoleFormat::new("{severity}", true);
        for (severity, line) in [
            (Severity::Debug, "\x1b[32mDEBUG\x1b[0m"),
            (Severity::Info, "\x1b[0mINFO\x1b[0m"),
            (Severity::Warn, "\x1b[33mWARN\x1b[0m"),
            (Severity::Error, "\x1b[31mERROR\x1b[0m"),
            (Severity::Fatal, "\x1b[31mFATAL\x1b[0m"),
        ] {
            assert_eq!(format.format(&Record { severity, ..RECORD }), line);
        }
    }

    #[test]
    fn the_environment_decides_about_colour_and_format() {
        let parse = |colour: &'static str, terminal| {
            let format = ConsoleFormat::parse(
                |name| Some(if name == "RCUTILS_COLORIZED_OUTPUT" { colour } else { "{message}" }.to_owned()),
                terminal,
            )?;
            Ok::<_, UsageError>(format.format(&RECORD))
        };
        assert_eq!(parse("", true).unwrap(), "\x1b[0mtext\x1b[0m");
        assert_eq!(parse("", false).unwrap(), "text");
        assert_eq!(parse("0", true).unwrap(), "text");
        assert_eq!(parse("1", false).unwrap(), "\x1b[0mtext\x1b[0m");
        assert!(parse("on", false).unwrap_err().to_string().contains("RCUTILS_COLORIZED_OUTPUT='on'"));
    }

    #[test]
    fn dates_are_right_around_leap_days_and_centuries() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00:00.000"),
            (951_782_399, "2000-02-28 23:59:59.000"),
            (951_782_400, "2000-02-29 00:00:00.000"),
            (951_868_800, "2000-03-01 00:00:00.000"),
            (1_735_689_599, "2024-12-31 23:59:59.000"),
            (4_107_542_400, "2100-03-01 00:00:00.000"),
        ] {
            assert_eq!(utc_date_time(Duration::from_secs(seconds)), date);
        }
    }

    #[test]
    fn a_logged_text_cannot_steer_the_terminal() {
        let record = Record { message: "cam\x1b[2J\u{9b}1m\r\ttwo\nlines", ..RECORD };
        let line = ConsoleFormat::new("{message}", false).format(&record);
        assert_eq!(line, "cam\\u{1b}[2J\\u{9b}1m\\r\ttwo\nlines");
    }

    proptest! {
        #[test]
        fn any_format_is_usable(format in "\\PC*", message in "\\PC*") {
            let line = ConsoleFormat::new(&format, false).format(&Record { message: &message, ..RECORD });
            if format.contains("{message}") {
                prop_assert!(line.contains(&message));
            }
        }
    }
}
