//! Arguments that many commands have, with one rule for each kind.

use std::time::Duration;

use clap::Args;
use rosless_graph::config::Settings;

use crate::{Failure, Result};

// What every command of every program understands. No doc comment: clap would take it for the program's description.
#[derive(Args, Debug)]
pub(crate) struct Shared {
    /// Print JSON, failures too: one document, or one per line where there are many
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Take no parameter (`-p`, `--params-file`) that no node declares; without it that is a warning
    // Taken out with the ROS arguments, before clap sees it; here for `--help` and completion.
    #[arg(long = "strict-params", global = true)]
    _strict_params: bool,

    /// The enclave, such as /lab/arm: whose files of ROS_SECURITY_KEYSTORE are used when ROS_SECURITY_ENABLE=true
    #[arg(long = "enclave", global = true, value_name = "ENCLAVE")]
    _enclave: Option<String>,
}

// What every command of a daemon understands; no doc comment here either.
#[derive(Args, Debug)]
pub(crate) struct Loop {
    /// Before the event loop sleeps, it asks again and again for so long: faster answers for a busier core
    /// [default: ROSLESS_SPIN_US, else 0]
    #[arg(long, global = true, value_name = "MICROSECONDS")]
    pub(crate) spin: Option<u64>,
}

/// For programs whose commands look for a node that may be one of many.
#[derive(Args, Clone, Debug, Default)]
pub struct Namespace {
    /// The namespace, such as /r1: what `--ros-args -r __ns:=/r1` says, in a word
    #[arg(long, global = true, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
}

impl Namespace {
    /// Puts all nodes of the program there.
    ///
    /// # Errors
    /// When it is no namespace.
    pub fn apply(&self, settings: &mut Settings) -> Result<()> {
        if let Some(namespace) = &self.namespace {
            let rule = format!("__ns:=/{}", namespace.trim_start_matches('/'));
            settings.arguments.remaps.insert(0, rule.parse().map_err(Failure::usage)?);
        }
        Ok(())
    }
}

/// As long as anybody waits for anything: a year.
const LONGEST: f64 = 31_536_000.0;

/// Seconds with a fraction, from 0 to a year.
///
/// # Errors
/// What is expected, for people.
pub fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let parsed = text.parse().ok().filter(|seconds| (0.0..=LONGEST).contains(seconds));
    parsed
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("expected seconds from 0 to {LONGEST} (a year), such as 2 or 0.5"))
}

/// A rate in hertz, as the period it means.
///
/// # Errors
/// What is expected, for people.
pub fn hertz(text: &str) -> std::result::Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .filter(|rate| *rate > 0.0)
        .and_then(|rate| Duration::try_from_secs_f64(1.0 / rate).ok())
        .ok_or_else(|| "expected a rate in hertz above 0".to_owned())
}

/// A number from `min` to `max`.
///
/// # Errors
/// What is expected, for people.
pub fn within(text: &str, min: f64, max: f64) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| format!("must be a number from {min} to {max}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rule_for_durations() {
        for (text, expected) in [("0", 0), ("0.5", 500), ("1e3", 1_000_000), ("31536000", 31_536_000_000)] {
            assert_eq!(seconds(text), Ok(Duration::from_millis(expected)), "{text}");
        }
        for text in ["", "x", "-1", "NaN", "inf", "31536001", "1e300"] {
            assert!(seconds(text).unwrap_err().contains("from 0 to 31536000"), "{text}");
        }
        assert_eq!(hertz("4"), Ok(Duration::from_millis(250)));
        assert!(hertz("0").is_err() && hertz("nan").is_err() && hertz("1e-300").is_err());
        assert_eq!(within("2", 1.0, 2.0), Ok(2.0));
        assert!(within("NaN", 1.0, 2.0).is_err());
    }
}
