//! What a running process takes from the machine, read from `/proc`.

use std::{fs, io, str::FromStr, time::Duration};

/// Memory, descriptors, threads and processor time of one process at one moment.
#[derive(Debug, Clone)]
pub struct Usage {
    pub resident_bytes: u64,
    pub descriptors: usize,
    pub threads: Vec<ThreadUsage>,
}

/// What the scheduler knows of one thread, to the nanosecond (the ticks of `/proc/PID/stat` are 10 ms long).
#[derive(Debug, Clone)]
pub struct ThreadUsage {
    pub id: u32,
    pub name: String,
    pub cpu: Duration,
    /// How often it was given the processor: for an idle thread, how often something woke it.
    pub turns: u64,
}

impl Usage {
    /// Looks at process `pid`.
    ///
    /// # Errors
    /// When there is no such process, or it is another user's.
    pub fn of(pid: u32) -> io::Result<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let kilobytes = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok())
            .ok_or_else(|| io::Error::other(format!("process {pid} has ended")))?;
        let mut threads = Vec::new();
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            let task = task?;
            // A thread may end while we look.
            let (Ok(schedstat), Ok(name)) = (
                fs::read_to_string(task.path().join("schedstat")),
                fs::read_to_string(task.path().join("comm")),
            ) else {
                continue;
            };
            let mut numbers = schedstat.split_whitespace().map(u64::from_str);
            // Time on the processor, time waiting for it, turns.
            if let (Some(Ok(cpu)), Some(Ok(_)), Some(Ok(turns))) =
                (numbers.next(), numbers.next(), numbers.next())
            {
                let id = task.file_name().to_string_lossy().parse().map_err(io::Error::other)?;
                let (name, cpu) = (name.trim().to_owned(), Duration::from_nanos(cpu));
                threads.push(ThreadUsage { id, name, cpu, turns });
            }
        }
        threads.sort_by_key(|thread| thread.id);
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))?.count();
        Ok(Self { resident_bytes: kilobytes * 1024, descriptors, threads })
    }

    /// Processor time of all its living threads.
    pub fn cpu(&self) -> Duration {
        self.threads.iter().map(|thread| thread.cpu).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{hint::black_box, process, sync::mpsc, thread};

    #[test]
    fn sees_threads_descriptors_and_work_of_a_process() {
        let before = Usage::of(process::id()).unwrap();
        assert!(before.resident_bytes > 100_000, "{before:?}");
        let file = fs::File::open("/proc/self/status").unwrap();
        let (stop, stopped) = mpsc::channel::<()>();
        let (worked, has_worked) = mpsc::channel();
        let worker = thread::Builder::new()
            .name("worker".into())
            .spawn(move || {
                black_box((0..20_000_000u64).fold(1, |a, b| black_box(a ^ b)));
                worked.send(()).unwrap();
                let _ = stopped.recv();
            })
            .unwrap();
        has_worked.recv().unwrap();
        let after = Usage::of(process::id()).unwrap();
        let seen = after.threads.iter().find(|thread| thread.name == "worker").expect("the thread is listed");
        assert!(seen.cpu > Duration::from_millis(1) && seen.turns > 0, "{seen:?}");
        assert!(after.cpu() >= seen.cpu);
        assert!(after.descriptors >= 1);
        drop((file, stop));
        worker.join().unwrap();
    }

    #[test]
    fn a_process_that_is_gone_is_an_error() {
        let mut child = process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(Usage::of(child.id()).is_err());
    }
}
