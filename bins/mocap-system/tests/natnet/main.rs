//! `mocap-system --kind natnet` against the synthetic server, as others on the graph see it, and the synthetic server as a
//! client sees it that is not ours.

mod check;
mod driver;
mod judge;
mod take;

use std::time::Duration;

use rosless_natnet::{Scene, ServerInfo, Stream, Version};
use rosless_tests::{Daemon, DomainLease, Rig};

const PATIENCE: Duration = Rig::<()>::PATIENCE;

/// A synthetic server on a port of its own.
struct Server {
    daemon: Daemon,
    port: u16,
}

impl Server {
    fn start(domain: &DomainLease, arguments: &[&str]) -> Self {
        Self::on(domain, 0, arguments)
    }

    fn on(domain: &DomainLease, port: u16, arguments: &[&str]) -> Self {
        let port = port.to_string();
        let all = [&["--port", port.as_str()], arguments].concat();
        let daemon = Daemon::spawn(domain.command(env!("CARGO_BIN_EXE_sim-natnet"), &all));
        let line = daemon.wait_for_line("serves NatNet", PATIENCE);
        let port =
            line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split(',').next()).expect("an address");
        let port = port.parse().expect("a port");
        Self { daemon, port }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

fn system(domain: &DomainLease, server: &str, more: &[&str]) -> Daemon {
    let arguments = [&["--kind", "natnet", "--server", server], more].concat();
    Daemon::spawn(domain.command(env!("CARGO_BIN_EXE_mocap-system"), &arguments))
}

/// What the synthetic server captures with these options.
fn scene(version: Version, skeleton: bool, analog: bool) -> Scene {
    let defaults = Scene::default();
    let info = ServerInfo { natnet: version, stream: Stream::Unicast, ..defaults.info.clone() };
    Scene { info, skeleton, analog, ..defaults }
}
