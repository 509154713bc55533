//! Figures of benchmarks: how a benchmark tells one, and how `cargo bench-all` gathers them into tables.
//!
//! A benchmark prints its own table for people; [`Figure::tell`] adds one line of JSON per figure when it runs under the
//! gatherer, so that no figure is copied by hand.

mod ddsperf;
mod document;
mod figure;
mod machine;
#[cfg(feature = "scenario")]
mod ping_pong;
mod table;

pub use ddsperf::{ddsperf, ddsperf_round_trip};
pub use document::{Document, Unmarked};
pub use figure::{Baseline, Figure, Gathered, Limit, Of, Target, Verdict};
pub use machine::{describe, keep_apart};
#[cfg(feature = "scenario")]
pub use ping_pong::PingPong;
pub use table::{overview, section};

/// Set by the gatherer: print lines of JSON, too.
pub const GATHER: &str = "ROSLESS_BENCH_GATHER";
/// Short runs with rough figures.
pub const QUICK: &str = "ROSLESS_BENCH_QUICK";

/// `full`, or `quick` when a short run is asked for by [`QUICK`].
pub fn effort<T>(full: T, quick: T) -> T {
    if std::env::var_os(QUICK).is_some() { quick } else { full }
}
