//! Lines that are printed whoever reads them, or does not.

use std::{
    io::{self, Write},
    os::fd::AsFd,
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Prints a line to standard output, as `println!` does; see [`eprint_line`].
pub fn print_line(text: &str) {
    static LOST: AtomicU64 = AtomicU64::new(0);
    write_line(io::stdout().lock(), text, &LOST);
}

/// Prints a line to standard error, as `eprintln!` does, but goes on when it cannot: a disk that is full, a reader that
/// has left and a reader that has stopped reading must not stop a daemon. A slow reader is waited for, but once it takes
/// nothing for a second, no longer. Lines that nobody took are counted, and the next one that gets through says how many
/// there were.
pub fn eprint_line(text: &str) {
    static LOST: AtomicU64 = AtomicU64::new(0);
    write_line(io::stderr().lock(), text, &LOST);
}

/// A pipe that says it is writable has room for this much (`PIPE_BUF`).
const NEVER_BLOCKS: usize = 4096;

fn write_line(mut output: impl Write + AsFd, text: &str, lost: &AtomicU64) {
    let missing = lost.swap(0, Ordering::Relaxed);
    let notice =
        if missing > 0 { format!("({missing} lines could not be printed)\n") } else { String::new() };
    let line = format!("{notice}{text}\n");
    let patience = if missing > 0 { 0 } else { 1 };
    for part in line.as_bytes().chunks(NEVER_BLOCKS) {
        if !is_writable(&output, patience) || output.write_all(part).and_then(|()| output.flush()).is_err() {
            lost.fetch_add(missing + 1, Ordering::Relaxed);
            return;
        }
    }
}

fn is_writable(output: &impl AsFd, seconds: i64) -> bool {
    let mut fds = [PollFd::new(output, PollFlags::OUT)];
    poll(&mut fds, Some(&Timespec { tv_sec: seconds, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn lines_that_cannot_be_printed_are_counted_and_nothing_waits_for_ever() {
        let (reader, writer) = io::pipe().unwrap();
        let lost = AtomicU64::new(0);
        let line = "x".repeat(NEVER_BLOCKS - 1);
        // More than any pipe holds: writing without asking would wait here for ever.
        for _ in 0..1024 {
            write_line(&writer, &line, &lost);
        }
        let count = lost.load(Ordering::Relaxed);
        assert!((1..1024).contains(&count), "{count} lines lost");
        let mut reader = io::BufReader::new(reader);
        let mut heard = String::new();
        for _ in count..1024 {
            io::BufRead::read_line(&mut reader, &mut heard).unwrap();
        }
        write_line(&writer, "hello again", &lost);
        heard.clear();
        io::BufRead::read_line(&mut reader, &mut heard).unwrap();
        assert_eq!(heard, format!("({count} lines could not be printed)\n"));
        heard.clear();
        io::BufRead::read_line(&mut reader, &mut heard).unwrap();
        assert_eq!(heard, "hello again\n");
        assert_eq!(lost.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_slow_reader_gets_every_line() {
        let (reader, writer) = io::pipe().unwrap();
        let lost = AtomicU64::new(0);
        // A reader that begins only when the pipe is full.
        let full = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            let heard = scope.spawn(|| {
                full.wait();
                io::BufRead::lines(io::BufReader::new(reader)).count()
            });
            let line = "x".repeat(NEVER_BLOCKS - 1);
            let mut written = 0;
            while is_writable(&writer, 0) {
                write_line(&writer, &line, &lost);
                written += 1;
            }
            full.wait();
            for _ in 0..100 {
                write_line(&writer, &line, &lost);
            }
            drop(writer);
            assert_eq!(heard.join().unwrap(), written + 100);
        });
        assert_eq!(lost.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_full_disk_is_no_reason_to_stop() {
        let lost = AtomicU64::new(0);
        write_line(File::options().write(true).open("/dev/full").unwrap(), "x", &lost);
        assert_eq!(lost.load(Ordering::Relaxed), 1);
    }
}
