//! Cyclone's own measuring program, which most of our figures stand beside.

use std::{
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use super::keep_apart;
use crate::DomainLease;

const ON_LOOPBACK: &str = r#"<CycloneDDS><Domain>
    <General><Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
    <Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="127.0.0.1"/></Peers></Discovery>
    </Domain></CycloneDDS>"#;

/// `ddsperf` of the Debian package cyclonedds-tools in this mode, on loopback alone, for so long.
pub fn ddsperf(domain: &DomainLease, time: Duration, mode: &[&str]) -> Command {
    let mut command = Command::new("ddsperf");
    command
        .args(["-i", &domain.id().to_string(), "-D", &time.as_secs().to_string()])
        .args(mode)
        .env("CYCLONEDDS_URI", ON_LOOPBACK)
        .stderr(Stdio::null());
    command
}

/// The median of Cyclone's own ping-pong, by the `ddsperf` of the two modes. `None` where it says nothing.
pub fn ddsperf_round_trip(mut pong: Command, mut ping: Command) -> Option<Duration> {
    let answer = || {
        keep_apart(1);
        pong.stdout(Stdio::null()).spawn()
    };
    let mut pong = thread::scope(|scope| scope.spawn(answer).join()).ok()?.ok()?;
    let output = ping.output();
    pong.wait().ok()?;
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    // A line a second: `… 50% 14.421us 90% …`; the last one has the warm-up behind it.
    let median: f64 =
        text.lines().rev().find_map(|line| line.split_once("50% ")?.1.split_once("us")?.0.parse().ok())?;
    // It prints half of the round trip as "latency"; ours is the whole one.
    Some(Duration::from_secs_f64(2e-6 * median.max(0.0)))
}
