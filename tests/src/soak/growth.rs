//! Whether a process takes more and more.
//!
//! The first third of a recording is warm-up and counts for nothing: caches fill, histories reach their depth. The last third
//! is compared with the second one:
//!
//! | what | compared | may grow by |
//! |---|---|---|
//! | memory | medians | 3 %, and at least 3 MiB |
//! | descriptors | highest but two | 4 |
//! | threads | highest | nothing |
//! | processor time | mean share of a core | a half, and 1 % of a core |
//!
//! 3 MiB, because caches still fill for minutes: peers that fell silent are remembered for five of them.
//! Medians, because allocators give and take; the highest, because descriptors and threads do neither by themselves, but for files
//! that are open while they are written, and for the up to four sockets that RustDDS has for ways it takes often. Load varies and the machine is shared, so the processor's limit only catches what gets
//! slower and slower.

use std::fmt;

use super::recording::{Moment, Recording, share};

/// Fewer say nothing.
pub const MIN_SAMPLES: usize = 30;

const MEMORY_SHARE: f64 = 0.03;
const MEMORY_BYTES: f64 = 3.0 * 1024.0 * 1024.0;
/// Those of `beaten_paths`, which come and go with who is there.
const DESCRIPTORS: f64 = 4.0;
const CPU_SHARE: f64 = 0.5;
const CPU_CORE: f64 = 0.01;

/// One process taking more of one thing than it did before.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    pub process: String,
    pub of: &'static str,
    pub before: f64,
    pub after: f64,
    pub allowed: f64,
    unit: &'static str,
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, of, before, after, allowed, unit } = self;
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        write!(
            f,
            "{process}: {of} grew from {before:.2} to {after:.2}{unit}; {allowed:.2} would be within noise"
        )
    }
}

impl Recording {
    /// Everything that grew beyond noise.
    ///
    /// # Errors
    /// When the recording is too short to tell.
    pub fn growth(&self) -> Result<Vec<Growth>, String> {
        let count = self.moments.len();
        if count < MIN_SAMPLES {
            return Err(format!("{}: {count} samples say nothing, {MIN_SAMPLES} are needed", self.name));
        }
        let (second, last) = (&self.moments[count / 3..2 * count / 3], &self.moments[2 * count / 3..]);
        let mut grown = Vec::new();
        let mut compare = |of, unit, before: f64, after: f64, allowed: f64| {
            if after > allowed {
                grown.push(Growth { process: self.name.clone(), of, before, after, allowed, unit });
            }
        };

        let memory = |moments: &[Moment]| median(moments.iter().map(|moment| moment.resident_bytes));
        let (before, after) = (memory(second), memory(last));
        let allowed = before + MEMORY_BYTES.max(MEMORY_SHARE * before);
        compare("memory", "MB", before / 1e6, after / 1e6, allowed / 1e6);

        let descriptors = |moments: &[Moment]| lasting(moments.iter().map(|moment| moment.descriptors));
        compare("descriptors", "", descriptors(second), descriptors(last), descriptors(second) + DESCRIPTORS);
        let threads = |moments: &[Moment]| highest(moments.iter().map(|moment| moment.threads));
        compare("threads", "", threads(second), threads(last), threads(second));

        let mean = |moments: &[Moment]| share(&moments[0], &moments[moments.len() - 1]);
        let (before, after) = (mean(second), mean(last));
        let allowed = before * (1.0 + CPU_SHARE) + CPU_CORE;
        compare("processor time", "% of a core", before * 100.0, after * 100.0, allowed * 100.0);
        Ok(grown)
    }
}

/// The highest but two: a file that is open while it is written shows in one look, or in two.
fn lasting(counts: impl Iterator<Item = usize>) -> f64 {
    let mut counts: Vec<_> = counts.collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.get(2).copied().unwrap_or_default() as f64
}

fn highest(counts: impl Iterator<Item = usize>) -> f64 {
    counts.max().unwrap_or(0) as f64
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SECONDS: usize = 120;

    /// Two minutes, a sample a second, of a process that does not grow but is noisy.
    fn steady() -> Recording {
        let moments = (0..SECONDS).map(|second| {
            // Up and down by 400 kB and, every now and then, by 3 MB for a second.
            let noise = 200e3 * ((second * 7) % 5) as f64 - 400e3;
            let burst = if second % 17 == 0 { 3e6 } else { 0.0 };
            Moment {
                at: Duration::from_secs(second as u64),
                resident_bytes: 14e6 + noise + burst,
                descriptors: 20 + second % 2,
                threads: 3,
                cpu: Duration::from_millis(100 * second as u64 + 30 * (second as u64 % 3)),
            }
        });
        Recording { name: "sim-arm".into(), moments: moments.collect() }
    }

    fn changed(change: impl Fn(usize, &mut Moment)) -> Vec<&'static str> {
        let mut recording = steady();
        for (second, moment) in recording.moments.iter_mut().enumerate() {
            change(second, moment);
        }
        recording.growth().unwrap().iter().map(|growth| growth.of).collect()
    }

    #[test]
    fn noise_is_no_growth() {
        assert_eq!(steady().growth().unwrap(), []);
    }

    #[test]
    fn warm_up_is_no_growth() {
        let grown = changed(|second, moment| {
            let warm = second.min(SECONDS / 3);
            moment.resident_bytes += 100e3 * warm as f64;
            moment.descriptors += warm;
            moment.threads += warm;
            moment.cpu += Duration::from_millis(20 * (warm * warm) as u64);
        });
        assert!(grown.is_empty(), "{grown:?}");
    }

    #[test]
    fn getting_less_is_no_growth() {
        let grown = changed(|second, moment| {
            moment.resident_bytes -= 10e3 * second as f64;
            moment.descriptors -= second / 20;
        });
        assert!(grown.is_empty(), "{grown:?}");
    }

    #[test]
    fn a_slow_leak_of_memory_shows() {
        // 80 kB a second is 3.2 MB from one third to the next.
        assert_eq!(changed(|second, moment| moment.resident_bytes += 80e3 * second as f64), ["memory"]);
    }

    #[test]
    fn descriptors_that_are_not_closed_and_one_thread_more_show() {
        // Sockets of beaten paths come and go.
        assert!(changed(|second, moment| moment.descriptors += 4 * (second / 100)).is_empty());
        assert_eq!(changed(|second, moment| moment.descriptors += 5 * (second / 100)), ["descriptors"]);
        assert_eq!(changed(|second, moment| moment.descriptors += second / 7), ["descriptors"]);
        assert_eq!(changed(|second, moment| moment.threads += second / 110), ["threads"]);
    }

    #[test]
    fn work_that_gets_slower_and_slower_shows() {
        let quadratic = |second: usize, moment: &mut Moment| {
            moment.cpu += Duration::from_millis((second * second * 5) as u64);
        };
        assert_eq!(changed(quadratic), ["processor time"]);
    }

    #[test]
    fn growth_says_what_grew_and_by_how_much() {
        let mut recording = steady();
        recording.moments[119].threads = 4;
        let growth = recording.growth().unwrap();
        assert_eq!(
            growth[0].to_string(),
            "sim-arm: threads grew from 3.00 to 4.00; 3.00 would be within noise"
        );
    }

    #[test]
    fn a_short_recording_is_no_proof() {
        let mut recording = steady();
        recording.moments.truncate(MIN_SAMPLES - 1);
        assert!(recording.growth().unwrap_err().contains("29 samples"));
    }
}
