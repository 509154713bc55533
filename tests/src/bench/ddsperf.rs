//! Cyclone's own measuring program, which most of our figures stand beside.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

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
