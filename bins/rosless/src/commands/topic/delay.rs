//! `rosless topic delay`.

use std::{
    collections::VecDeque,
    time::{Duration, UNIX_EPOCH},
};

use clap::Args;
use rosless_graph::Sample;
use rosless_schema::{DynamicMessage, Value};
use serde_json::json;

use super::{
    Source,
    measure::{Figures, Measurement, Meter},
};
use crate::{
    Environment,
    failure::{Failure, Result},
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
#[derive(Clone, Debug)]
struct Delays {
    window: usize,
    simulated: bool,
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
    const TITLES: &'static [&'static str] = &["delay", "min", "max", "std_dev", "window"];

    fn arrived(&mut self, source: &Source, sample: &Sample<Vec<u8>>, now: Duration) -> Result<()> {
        let stamp = stamp(&source.message(sample)?).ok_or_else(|| {
            Failure::new(format!("msg does not have header: {} has no stamp to compare", source.known.name()))
        })?;
        let received = sample.info.reception_stamp.duration_since(UNIX_EPOCH).unwrap_or_default();
        let received = if self.simulated { now } else { received };
        self.seconds.push_back(received.as_secs_f64() - stamp);
        while self.seconds.len() > self.window.max(1) {
            self.seconds.pop_front();
        }
        Ok(())
    }

    fn figures(&self, _: Duration) -> Option<Figures> {
        let count = Some(self.seconds.len()).filter(|count| *count > 0)?;
        let all = || self.seconds.iter().copied();
        let mean = all().sum::<f64>() / count as f64;
        let deviation = (all().map(|s| (s - mean).powi(2)).sum::<f64>() / count as f64).sqrt();
        let (min, max) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        Some(Figures {
            json: json!({"delay": mean, "min": min, "max": max, "std_dev": deviation, "window": count}),
            text: format!(
                "average delay: {mean:.3}\n\tmin: {min:.3}s max: {max:.3}s std dev: {deviation:.5}s window: {count}"
            ),
            cells: vec![
                format!("{mean:.3}"),
                format!("{min:.3}"),
                format!("{max:.3}"),
                format!("{deviation:.5}"),
                count.to_string(),
            ],
        })
    }
}

impl Delay {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let simulated = self.measurement.is_simulated();
        let delays = Delays { window: self.window, simulated, seconds: VecDeque::new() };
        self.measurement.run(environment, delays, false)
    }
}
