//! `rosless bag`.

mod export;
mod info;
mod keys;
mod play;
mod progress;
mod record;
mod rewrite;

use std::{path::Path, time::Duration};

use clap::Subcommand;
use rosless_bag::Bag;

use crate::{
    Environment,
    failure::{Failure, Result},
    output::err,
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Record topics into a folder that ros2 bag, Foxglove and others open
    Record(Box<record::Record>),
    /// Print what is in a recording
    Info(info::Info),
    /// Publish a recording as it was
    Play(Box<play::Play>),
    /// Write recordings anew: other storage, compression or topics, several into one
    Convert(rewrite::Convert),
    /// Write a piece of a recording
    Cut(rewrite::Cut),
    /// Write what can be read of a recording that was not finished, or is broken
    #[command(alias = "reindex")]
    Recover(rewrite::Recover),
    /// Write the messages as text
    Export(export::Export),
}

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        match self {
            Self::Record(record) => record.run(environment),
            Self::Info(info) => info.run(environment),
            Self::Play(play) => play.run(environment),
            Self::Convert(convert) => convert.run(),
            Self::Cut(cut) => cut.run(),
            Self::Recover(recover) => recover.run(),
            Self::Export(export) => export.run(environment),
        }
    }
}

fn failed(error: rosless_bag::Error) -> Failure {
    match error {
        rosless_bag::Error::Usage(what) => Failure::usage(what),
        other => Failure::new(other.to_string()),
    }
}

/// Opens a recording and says what is not as it should be with it.
fn open(path: &Path) -> Result<Bag> {
    let bag = Bag::open(path).map_err(failed)?;
    bag.remarks.iter().for_each(|remark| err!("WARNING: {remark}"));
    Ok(bag)
}

/// `10s`, `500ms`, `2m`, or a number of seconds.
fn span(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => match text.strip_suffix('m') {
            Some(number) => (number, 60.0),
            None => (text.strip_suffix('s').unwrap_or(text), 1.0),
        },
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * unit);
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "expected a time such as 10s, 500ms or 2.5".to_owned())
}

/// `100`, `64k`, `1.5M`, `2G`: bytes.
fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim_end_matches(['B', 'b']).trim_end_matches('i');
    let unit = match text.chars().next_back() {
        Some('k' | 'K') => 1_u64 << 10,
        Some('M') => 1 << 20,
        Some('G') => 1 << 30,
        _ => 1,
    };
    let number = text.trim_end_matches(['k', 'K', 'M', 'G']).parse::<f64>().ok();
    number
        .filter(|number| number.is_finite() && *number >= 0.0)
        .map(|number| (number * unit as f64) as u64)
        .ok_or_else(|| "expected bytes such as 1000000, 64k, 100M or 2G".to_owned())
}

/// As people read it.
fn human(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = (bytes.max(1).ilog2() / 10).min(4);
    let value = bytes as f64 / 1024_f64.powi(power as i32);
    if power == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[power as usize]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_read_as_people_write_them() {
        let spans = ["10s", "500ms", "2.5", "2m"].map(|text| span(text).unwrap().as_millis());
        assert_eq!(spans, [10_000, 500, 2500, 120_000]);
        assert_eq!(
            ["100", "64k", "1.5MiB", "2G"].map(|text| bytes(text).unwrap()),
            [100, 65_536, 1_572_864, 2 << 30]
        );
        assert!(
            span("soon").is_err() && span("-1").is_err() && bytes("-1").is_err() && bytes("NaN").is_err()
        );
        assert_eq!([0, 1023, 1536, 3 << 30].map(human), ["0 B", "1023 B", "1.5 KiB", "3.0 GiB"]);
    }
}
