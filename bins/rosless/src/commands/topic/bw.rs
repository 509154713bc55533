//! `rosless topic bw`.

use std::{collections::VecDeque, time::Duration};

use clap::Args;
use rosless_graph::Sample;
use serde_json::json;

use super::{
    Source,
    measure::{Figures, Measurement, Meter},
};
use crate::{Environment, failure::Result};

#[derive(Args, Debug)]
pub(crate) struct Bandwidth {
    #[command(flatten)]
    measurement: Measurement,
    /// Look at the last N messages
    #[arg(short, long, value_name = "N", default_value_t = 100)]
    window: usize,
}

/// When the last messages came, and their sizes in bytes.
#[derive(Clone, Debug)]
struct Sizes {
    window: usize,
    messages: VecDeque<(Duration, usize)>,
}

impl Sizes {
    fn add(&mut self, now: Duration, size: usize) {
        self.messages.push_back((now, size));
        while self.messages.len() > self.window.max(2) {
            self.messages.pop_front();
        }
    }

    /// Bytes per second from the first message of the window until now.
    fn rate(&self, now: Duration) -> Option<f64> {
        let (first, _) = self.messages.front().filter(|_| self.messages.len() > 1)?;
        let total: usize = self.messages.iter().map(|(_, size)| size).sum();
        let seconds = now.saturating_sub(*first).as_secs_f64();
        (seconds > 0.0).then(|| total as f64 / seconds)
    }
}

/// All figures of a line in the unit that fits its rate, as ros2 does.
fn in_units_of(rate: f64, bytes: f64) -> String {
    match rate {
        rate if rate < 1e3 => format!("{bytes:.0} B"),
        rate if rate < 1e6 => format!("{:.2} KB", bytes / 1e3),
        _ => format!("{:.2} MB", bytes / 1e6),
    }
}

impl Meter for Sizes {
    const TITLES: &'static [&'static str] = &["bandwidth", "messages", "mean", "min", "max"];

    fn welcome(topic: &str) -> Option<String> {
        Some(format!("Subscribed to [{topic}]"))
    }

    fn arrived(&mut self, _: &Source, sample: &Sample<Vec<u8>>, now: Duration) -> Result<()> {
        self.add(now, sample.message.len());
        Ok(())
    }

    fn figures(&self, now: Duration) -> Option<Figures> {
        let rate = self.rate(now)?;
        let sizes = || self.messages.iter().map(|(_, size)| *size);
        let count = self.messages.len();
        let mean = sizes().sum::<usize>() as f64 / count as f64;
        let (min, max) = (sizes().min().unwrap_or_default(), sizes().max().unwrap_or_default());
        let json = json!({"bytes_per_second": rate, "messages": count, "mean": mean, "min": min, "max": max});
        let [bandwidth, mean, min, max] =
            [rate, mean, min as f64, max as f64].map(|bytes| in_units_of(rate, bytes));
        let text =
            format!("{bandwidth}/s from {count} messages\n\tMessage size mean: {mean} min: {min} max: {max}");
        Some(Figures { json, text, cells: vec![format!("{bandwidth}/s"), count.to_string(), mean, min, max] })
    }
}

impl Bandwidth {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        let sizes = Sizes { window: self.window, messages: VecDeque::new() };
        self.measurement.run(environment, sizes, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_window() {
        let mut sizes = Sizes { window: 3, messages: VecDeque::new() };
        for (second, size) in [(0, 9_000), (1, 1_000), (2, 2_000), (3, 3_000)] {
            sizes.add(Duration::from_secs(second), size);
        }
        assert_eq!(sizes.rate(Duration::from_secs(4)), Some(2_000.0));
        assert_eq!(in_units_of(2_000.0, 2_000.0), "2.00 KB");
        assert_eq!(in_units_of(900.0, 12.4), "12 B");
    }
}
