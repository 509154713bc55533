//! Samples of one process over time.

use std::{io, time::Duration};

use crate::Usage;

/// What a process took at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// Since the recording began.
    pub at: Duration,
    pub resident_bytes: f64,
    pub descriptors: usize,
    pub threads: usize,
    /// Processor time since the process began.
    pub cpu: Duration,
}

/// One process, watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recording {
    pub name: String,
    pub moments: Vec<Moment>,
}

impl Recording {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), moments: Vec::new() }
    }

    /// Adds what process `pid` takes now.
    ///
    /// # Errors
    /// When there is no such process.
    pub fn sample(&mut self, pid: u32, at: Duration) -> io::Result<()> {
        let usage = Usage::of(pid)?;
        self.moments.push(Moment {
            at,
            resident_bytes: usage.resident_bytes as f64,
            descriptors: usage.descriptors,
            threads: usage.threads.len(),
            cpu: usage.cpu(),
        });
        Ok(())
    }

    /// Time and share of a core since the moment before, for all but the first.
    pub fn shares(&self) -> impl Iterator<Item = (Duration, f64)> {
        self.moments.windows(2).map(|pair| (pair[1].at, share(&pair[0], &pair[1])))
    }
}

/// Share of a core between two moments.
pub(super) fn share(from: &Moment, to: &Moment) -> f64 {
    // Threads that ended take their time with them.
    to.cpu.saturating_sub(from.cpu).as_secs_f64() / to.at.saturating_sub(from.at).as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Daemon, example};
    use std::{process::Command, thread, time::Instant};

    #[test]
    fn a_process_that_leaks_is_told_from_one_that_does_not() {
        let program = example("leak");
        let mut watched = ["nothing", "memory", "descriptors", "threads"].map(|what| {
            let mut command = Command::new(&program);
            command.arg(what);
            let process = Daemon::spawn(command);
            process.wait_for_line("up", Duration::from_secs(10));
            (process, Recording::new(what))
        });
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(6) {
            for (process, recording) in &mut watched {
                recording.sample(process.pid(), begin.elapsed()).expect("it runs until killed");
            }
            thread::sleep(Duration::from_millis(50));
        }
        for (_, recording) in &watched {
            let grown: Vec<_> = recording.growth().unwrap().iter().map(|growth| growth.of).collect();
            let expected = if recording.name == "nothing" { vec![] } else { vec![recording.name.as_str()] };
            assert_eq!(grown, expected, "of the process that leaks {}", recording.name);
        }
    }
}
