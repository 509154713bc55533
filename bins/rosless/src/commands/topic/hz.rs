//! `rosless topic hz`.

use std::{collections::VecDeque, time::Duration};

use clap::Args;
use rosless_graph::{Sample, monotonic};
use serde_json::json;

use super::{
    Source,
    measure::{Measurement, Meter},
};
use crate::{
    Environment,
    failure::Result,
    output::{self, out},
};

#[derive(Args, Debug)]
pub(crate) struct Hz {
    #[command(flatten)]
    measurement: Measurement,
    /// Look at the last N intervals
    #[arg(short, long, value_name = "N", default_value_t = 10_000)]
    window: usize,
    /// Accepted because ros2 has it: intervals are always those of this machine's clock
    #[arg(long, hide = true)]
    wall_time: bool,
}

/// The last intervals between messages, in seconds.
#[derive(Debug, Default)]
struct Intervals {
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
    fn arrived(&mut self, _: &Source, _: &Sample<Vec<u8>>) -> Result<()> {
        self.add(monotonic());
        Ok(())
    }

    fn print(&self, environment: &Environment) -> bool {
        let rate = self.rate();
        if let Some(rate) = &rate {
            print(environment, rate);
        }
        rate.is_some()
    }
}

impl Hz {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let intervals = Intervals { window: self.window, ..Default::default() };
        self.measurement.run(environment, intervals)
    }
}

fn print(environment: &Environment, Rate { rate, min, max, deviation, window }: &Rate) {
    match environment.json() {
        true => output::json_line(
            &json!({"rate": rate, "min": min, "max": max, "std_dev": deviation, "window": window}),
        ),
        false => out!(
            "average rate: {rate:.3}\n\tmin: {min:.3}s max: {max:.3}s std dev: {deviation:.5}s window: {window}"
        ),
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
