//! The sink of the `log` macros: the console in ROS's format, and `/rosout`.
//!
//! `log` allows one sink per process. Records for `/rosout` wait in a queue of the thread that logged them, until the
//! event loop of that thread publishes them: no lock is needed, and DDS threads never publish.

mod levels;

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    io::IsTerminal,
    sync::atomic::{AtomicBool, Ordering},
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use rosless_wire::{builtin_interfaces::msg::Time, rcl_interfaces::msg::Log};

use crate::{
    Throttle,
    config::{RosArguments, UsageError},
    console::{ConsoleFormat, Record, Severity},
    lines::eprint_line,
};
use levels::LoggerLevels;

/// More records than this between two turns of the event loop go to the console only.
const QUEUE: usize = 1000;
/// Records that one line of code may log at once, and the time between two of them after that: what strangers cause must
/// not fill disks.
const BURST: u32 = 200;
const INTERVAL: Duration = Duration::from_millis(50);
/// What RustDDS calls an error when a peer leaves before its answer is sent, or before it is looked at.
const ORDINARY_DDS_ERRORS: [&str; 2] =
    ["Data is meant for the single reader", "Participant was updated, but DB does not have it"];

thread_local! {
    static RECORDS: RefCell<VecDeque<LoggedRecord>> = const { RefCell::new(VecDeque::new()) };
    /// The loggers of this thread's nodes. Records of other targets (module paths) speak for the first.
    static LOGGERS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

static SINK: OnceLock<Sink> = OnceLock::new();
static DDS_IS_LEAVING: AtomicBool = AtomicBool::new(false);

/// A record on its way to `/rosout`.
#[derive(Debug)]
pub(crate) struct LoggedRecord {
    severity: Severity,
    stamp: Duration,
    pub(crate) logger: String,
    message: String,
    file: String,
    function: String,
    line: u32,
}

impl From<LoggedRecord> for Log {
    fn from(record: LoggedRecord) -> Self {
        Self {
            stamp: Time { sec: record.stamp.as_secs() as i32, nanosec: record.stamp.subsec_nanos() },
            level: record.severity.id(),
            name: record.logger,
            msg: record.message,
            file: record.file,
            function: record.function,
            line: record.line,
        }
    }
}

#[derive(Debug)]
struct Sink {
    format: ConsoleFormat,
    levels: LoggerLevels,
    console: bool,
    rosout: bool,
    /// By file and line.
    limits: Mutex<HashMap<(String, u32), Throttle>>,
}

/// Installs the sink, once per process. A program or test that brought its own keeps it.
pub(crate) fn install(arguments: &RosArguments) -> Result<(), UsageError> {
    let format = ConsoleFormat::parse(|name| std::env::var(name).ok(), std::io::stderr().is_terminal())?;
    let sink = SINK.get_or_init(|| Sink {
        format,
        levels: LoggerLevels::from(arguments),
        console: arguments.console_logs,
        rosout: arguments.rosout_logs,
        limits: Mutex::default(),
    });
    if log::set_logger(sink).is_ok() {
        log::set_max_level(match sink.levels.lowest() {
            Severity::Debug => log::LevelFilter::Debug,
            Severity::Info => log::LevelFilter::Info,
            Severity::Warn => log::LevelFilter::Warn,
            Severity::Error | Severity::Fatal => log::LevelFilter::Error,
        });
    }
    Ok(())
}

/// From now on RustDDS only reports what happens to everybody who leaves.
pub(crate) fn dds_is_leaving() {
    DDS_IS_LEAVING.store(true, Ordering::Relaxed);
}

pub(crate) fn dds_is_joining() {
    DDS_IS_LEAVING.store(false, Ordering::Relaxed);
}

pub(crate) fn add_logger(logger: &str) {
    LOGGERS.with_borrow_mut(|loggers| loggers.push(logger.to_owned()));
}

pub(crate) fn remove_logger(logger: &str) {
    // A thread that ends takes its list along before its nodes.
    let _ = LOGGERS.try_with(|loggers| {
        let mut loggers = loggers.borrow_mut();
        if let Some(index) = loggers.iter().position(|known| known == logger) {
            loggers.remove(index);
        }
    });
}

/// What was logged on this thread since the last time.
pub(crate) fn take_records() -> VecDeque<LoggedRecord> {
    RECORDS.take()
}

/// The node a record speaks for.
fn logger_of(target: &str) -> String {
    let find = |loggers: &RefCell<Vec<String>>| {
        let loggers = loggers.borrow();
        // Targets with a node's name in front ("node.part") are loggers of their own, as in ROS.
        let known = loggers.iter().any(|logger| {
            target.strip_prefix(logger.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        if known { None } else { loggers.first().cloned() }
    };
    LOGGERS.try_with(find).ok().flatten().unwrap_or_else(|| target.to_owned())
}

impl Sink {
    fn admit(&self, record: &log::Record<'_>) -> Option<u64> {
        let place = (record.file().unwrap_or_default().to_owned(), record.line().unwrap_or_default());
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.entry(place).or_insert_with(|| Throttle::new(INTERVAL, BURST)).admit(Instant::now())
    }
}

impl log::Log for Sink {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        if is_dds(metadata.target()) {
            // RustDDS warns about the ordinary; what matters to users is reported by this crate in ROS's words. A node's
            // own debug records would drown in those of RustDDS, so these must be asked for by name.
            let asked_for = self.levels.named("rustdds") == Some(Severity::Debug);
            return asked_for
                || (metadata.level() == log::Level::Error && !DDS_IS_LEAVING.load(Ordering::Relaxed));
        }
        metadata.level() < log::Level::Trace
    }

    fn log(&self, record: &log::Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let severity = Severity::from(record.level());
        let dds = is_dds(record.target());
        let logger = if dds { "rustdds".to_owned() } else { logger_of(record.target()) };
        if !self.levels.is_enabled(&logger, severity) {
            return;
        }
        let left_out = match severity {
            // Whoever asks for these wants all of them.
            Severity::Debug => 0,
            _ => match self.admit(record) {
                Some(left_out) => left_out,
                None => return,
            },
        };
        let mut message = record.args().to_string();
        if left_out > 0 {
            message += &format!(" ({left_out} more records of this kind were left out)");
        }
        if dds && ORDINARY_DDS_ERRORS.iter().any(|ordinary| message.starts_with(ordinary)) {
            return;
        }
        let record = LoggedRecord {
            severity,
            stamp: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(),
            logger,
            message,
            file: record.file().unwrap_or_default().to_owned(),
            function: record.module_path().unwrap_or_default().to_owned(),
            line: record.line().unwrap_or_default(),
        };
        if self.console {
            let line = self.format.format(&Record {
                severity,
                stamp: record.stamp,
                name: &record.logger,
                message: &record.message,
                file: &record.file,
                function: &record.function,
                line: record.line,
            });
            eprint_line(&line);
        }
        if self.rosout && !dds {
            let _ = RECORDS.try_with(|records| {
                let mut records = records.borrow_mut();
                if records.len() < QUEUE {
                    records.push_back(record);
                }
            });
        }
    }

    fn flush(&self) {}
}

fn is_dds(target: &str) -> bool {
    target == "rustdds" || target.starts_with("rustdds::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_speak_for_their_node() {
        add_logger("robot.arm");
        add_logger("helper");
        assert_eq!(logger_of("helper"), "helper");
        assert_eq!(logger_of("helper.planner"), "helper.planner");
        assert_eq!(logger_of("some_crate::module"), "robot.arm");
        remove_logger("robot.arm");
        assert_eq!(logger_of("some_crate::module"), "helper");
        remove_logger("helper");
        assert_eq!(logger_of("some_crate::module"), "some_crate::module");
    }
}
