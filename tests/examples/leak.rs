//! A process that takes more and more of one thing (`memory`, `descriptors`, `threads`), or of nothing.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]
#![forbid(unsafe_code)]

use std::{fs::File, hint::black_box, thread, time::Duration};

const ROUND: Duration = Duration::from_millis(20);

fn main() {
    let leak = std::env::args().nth(1).unwrap_or_default();
    let (mut memory, mut files) = (Vec::new(), Vec::new());
    println!("up");
    for round in 0u32.. {
        let passing = vec![1u8; 100_000];
        black_box(&passing);
        match leak.as_str() {
            "memory" => memory.push(passing),
            "descriptors" if round.is_multiple_of(10) => files.extend(File::open("/dev/null")),
            "threads" if round.is_multiple_of(50) => drop(thread::spawn(|| {
                loop {
                    thread::park();
                }
            })),
            _ => {}
        }
        thread::sleep(ROUND);
    }
}
