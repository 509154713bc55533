//! `rosless topic delay`.

use std::{collections::VecDeque, time::UNIX_EPOCH};

use clap::Args;
use rosless_graph::Sample;
use rosless_schema::{DynamicMessage, Value};
use serde_json::json;

use super::{
    Source,
    measure::{Measurement, Meter},
};
use crate::{
    Environment,
    failure::{Failure, Result},
    output::{self, out},
};

#[derive(Args, Debug)]
pub(crate) struct Delay {
    #[command(flatten)]
    measurement: Measurement,
    /// Look at the last N messages
    #[arg(short, long, value_name = "N", default_value_t = 10_000)]
    window: usize,
}

/// Seconds from the stamp in the header until the message came.
#[derive(Debug)]
struct Delays {
    window: usize,
    seconds: VecDeque<f64>,
}

fn stamp(message: &DynamicMessage) -> Option<f64> {
    let part = |path: &str| match message.get(path)? {
        Value::Int(value) => Some(*value as f64),
        Value::Uint(value) => Some(*value as f64),
        _ => None,
    };
    Some(part("header.stamp.sec")? + part("header.stamp.nanosec")? * 1e-9)
}

impl Meter for Delays {
    fn arrived(&mut self, source: &Source, sample: &Sample<Vec<u8>>) -> Result<()> {
        let message = DynamicMessage::from_payload(&source.known.ty, &sample.message)
            .map_err(|error| Failure::new(format!("a message cannot be decoded: {error}")))?;
        let stamp = stamp(&message).ok_or_else(|| {
            Failure::new(format!("msg does not have header: {} has no stamp to compare", source.known.name()))
        })?;
        let received = sample.info.reception_stamp.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.seconds.push_back(received.as_secs_f64() - stamp);
        while self.seconds.len() > self.window.max(1) {
            self.seconds.pop_front();
        }
        Ok(())
    }

    fn print(&self, environment: &Environment) -> bool {
        let count = self.seconds.len();
        let all = || self.seconds.iter().copied();
        let mean = all().sum::<f64>() / count as f64;
        let deviation = (all().map(|s| (s - mean).powi(2)).sum::<f64>() / count as f64).sqrt();
        let (min, max) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        match (count, environment.json()) {
            (0, _) => return false,
            (_, true) => output::json_line(
                &json!({"delay": mean, "min": min, "max": max, "std_dev": deviation, "window": count}),
            ),
            _ => out!(
                "average delay: {mean:.3}\n\tmin: {min:.3}s max: {max:.3}s std dev: {deviation:.5}s window: {count}"
            ),
        }
        true
    }
}

impl Delay {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        self.measurement.run(environment, Delays { window: self.window, seconds: VecDeque::new() })
    }
}
