//! A participant outlives what happens to ordinary processes. Stock: deaf for ever after each of these.

mod common;

use std::time::Duration;

use common::{exchange, local, peer, reader, reliable, writer};
use rosless_tests::{eventually, DomainLease};

/// State letter of the process, e.g. T when stopped.
fn state(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("process runs");
    stat.rsplit(") ").next().and_then(|rest| rest.get(..1)).expect("state").to_owned()
}

#[test]
fn stopped_and_continued_participant_goes_on() {
    let lease = DomainLease::acquire();
    let participant = local(lease.id()).build().expect("participant");
    let down = writer(&participant, "down", &reliable(10));
    let up = reader(&participant, "up", &reliable(10));
    let echo = peer("echo", lease.id());
    exchange("echo before", &down, &up);

    for _ in 0..3 {
        echo.signal("STOP");
        eventually("peer is stopped", Duration::from_secs(5), || state(echo.pid()) == "T");
        echo.signal("CONT");
        eventually("peer runs", Duration::from_secs(5), || state(echo.pid()) != "T");
        exchange("echo after", &down, &up);
    }
}
