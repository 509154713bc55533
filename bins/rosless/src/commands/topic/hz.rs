//! `rosless topic hz`.

use std::{collections::VecDeque, time::Duration};

use clap::Args;
use rosless_graph::Sample;
use rosless_schema::Filter;
use serde_json::json;

use super::{
    Source, accepts,
    measure::{Figures, Measurement, Meter},
};
use crate::{Environment, failure::Result};

#[derive(Args, Debug)]
pub(crate) struct Hz {
    #[command(flatten)]
    measurement: Measurement,
    /// Look at the last N intervals
    #[arg(short, long, value_name = "N", default_value_t = 10_000)]
    window: usize,
    /// Intervals are those of this machine's clock, also with --use-sim-time
    #[arg(long)]
    wall_time: bool,
    /// Count only messages for which this holds, such as `m.data > 3`
    #[arg(long, value_name = "CONDITION", value_parser = Filter::parse)]
    filter: Option<Filter>,
}

/// The last intervals between messages, in seconds.
#[derive(Clone, Debug, Default)]
struct Intervals {
    filter: Option<Filter>,
    window: usize,
    last: Option<Duration>,
    seconds: VecDeque<f64>,
}

#[derive(Debug, PartialEq)]
struct Rate {
    rate: f64,
    min: f64,
    max: f64,
    deviation: f64,
    window: usize,
}

impl Intervals {
    fn add(&mut self, now: Duration) {
        if let Some(last) = self.last.replace(now) {
            self.seconds.push_back((now.saturating_sub(last)).as_secs_f64());
            // One interval less than messages, as ros2 counts.
            while self.seconds.len() > self.window.max(2) - 1 {
                self.seconds.pop_front();
            }
        }
    }

    fn rate(&self) -> Option<Rate> {
        let count = self.seconds.len();
        let mean = self.seconds.iter().sum::<f64>() / count as f64;
        let variance = self.seconds.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / count as f64;
        (count > 0 && mean > 0.0).then(|| Rate {
            rate: 1.0 / mean,
            min: self.seconds.iter().copied().fold(f64::INFINITY, f64::min),
            max: self.seconds.iter().copied().fold(0.0, f64::max),
            deviation: variance.sqrt(),
            window: count + 1,
        })
    }
}

impl Meter for Intervals {
    const TITLES: &'static [&'static str] = &["rate", "min_delta", "max_delta", "std_dev", "window"];

    fn arrived(&mut self, source: &Source, sample: &Sample<Vec<u8>>, now: Duration) -> Result<()> {
        if self.filter.is_none() || accepts(self.filter.as_ref(), &source.message(sample)?)? {
            self.add(now);
        }
        Ok(())
    }

    fn figures(&self, _: Duration) -> Option<Figures> {
        let Rate { rate, min, max, deviation, window } = self.rate()?;
        Some(Figures {
            json: json!({"rate": rate, "min": min, "max": max, "std_dev": deviation, "window": window}),
            text: format!(
                "average rate: {rate:.3}\n\tmin: {min:.3}s max: {max:.3}s std dev: {deviation:.5}s window: {window}"
            ),
            cells: vec![
                format!("{rate:.3}"),
                format!("{min:.3}"),
                format!("{max:.3}"),
                format!("{deviation:.5}"),
                window.to_string(),
            ],
        })
    }
}

impl Hz {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let intervals = Intervals { window: self.window, filter: self.filter, ..Default::default() };
        self.measurement.run(environment, intervals, self.wall_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_window() {
        let mut intervals = Intervals { window: 3, ..Default::default() };
        assert_eq!(intervals.rate(), None);
        for milliseconds in [0, 5000, 5100, 5400] {
            intervals.add(Duration::from_millis(milliseconds));
        }
        let rate = intervals.rate().unwrap();
        assert_eq!(
            (rate.window, format!("{:.3} {:.3} {:.3}", rate.rate, rate.min, rate.max)),
            (3, "5.000 0.100 0.300".into())
        );
        assert!((rate.deviation - 0.1).abs() < 1e-9);
    }
}
