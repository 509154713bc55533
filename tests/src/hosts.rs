//! Two hosts on one machine: network namespaces joined by a virtual cable.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

use std::{
    fs::{self, File},
    os::fd::AsFd as _,
    panic::resume_unwind,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Two network namespaces with one cable between them, gone when dropped.
#[derive(Debug)]
pub struct TwoHosts {
    names: [String; 2],
}

impl TwoHosts {
    /// The addresses of the two hosts.
    pub const ADDRESSES: [&str; 2] = ["10.211.7.1", "10.211.7.2"];

    /// Lays the cable. `None`, with the reason printed, where namespaces may not be made (only root may).
    ///
    /// # Panics
    /// Under `CI=true` instead, so that nothing is skipped in silence.
    pub fn new() -> Option<Self> {
        let hosts = Self::without_addresses()?;
        for (host, address) in Self::ADDRESSES.iter().enumerate() {
            hosts.ip(host, &format!("addr add {address}/24 dev eth0"));
        }
        Some(hosts)
    }

    /// The same before anybody has given the hosts their addresses; IPv6 is off.
    pub fn without_addresses() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let tag = format!("rl{}x{number}", std::process::id());
        let hosts = Self { names: [format!("{tag}a"), format!("{tag}b")] };
        if let Err(reason) = hosts.build() {
            let line = format!("cannot make network namespaces: {reason}");
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{line}");
            eprintln!("SKIPPED: {line}");
            return None;
        }
        Some(hosts)
    }

    fn build(&self) -> Result<(), String> {
        let [a, b] = &self.names;
        run(&format!("ip netns add {a}"))?;
        run(&format!("ip netns add {b}"))?;
        for name in &self.names {
            run(&format!("ip netns exec {name} sysctl -qw net.ipv6.conf.default.disable_ipv6=1"))?;
            run(&format!("ip -n {name} link set lo up"))?;
        }
        self.lay("eth0")
    }

    /// A cable between two interfaces that are up, named alike on both hosts.
    fn lay(&self, interface: &str) -> Result<(), String> {
        let [a, b] = &self.names;
        run(&format!("ip -n {a} link add {interface} type veth peer name {interface} netns {b}"))?;
        for name in &self.names {
            run(&format!("ip -n {name} link set {interface} up"))?;
        }
        Ok(())
    }

    /// Another cable, or one that was taken away: `ip(0, "link del eth0")`.
    pub fn lay_cable(&self, interface: &str) {
        self.lay(interface).unwrap_or_else(|reason| panic!("{interface}: {reason}"));
    }

    /// Lets both hosts have addresses of IPv6; each gets one of its link by itself.
    pub fn allow_ipv6(&self, interface: &str) {
        for name in &self.names {
            must(&format!("ip netns exec {name} sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=0"));
        }
    }

    /// What `/etc/hosts` says on host 0 or 1. To be said before the first program is started there; may change later.
    pub fn names(&self, host: usize, lines: &str) {
        // `ip netns exec` lays the files of this folder over those of /etc.
        let folder = self.etc(host);
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("hosts"), lines));
        written.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }

    fn etc(&self, host: usize) -> PathBuf {
        Path::new("/etc/netns").join(&self.names[host])
    }

    /// `ip WORDS` on host 0 or 1.
    pub fn ip(&self, host: usize, words: &str) {
        must(&format!("ip -n {} {words}", self.names[host]));
    }

    /// `program`, to be started on host 0 or 1.
    pub fn command(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[host], program]);
        command
    }

    /// Runs `work` on a thread of its own that lives on host 0 or 1, with all threads and sockets it makes.
    pub fn run_on<T: Send>(&self, host: usize, work: impl FnOnce() -> T + Send) -> T {
        let work = || {
            let path = format!("/run/netns/{}", self.names[host]);
            let namespace = File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                .unwrap_or_else(|error| panic!("cannot enter {path}: {error}"));
            work()
        };
        thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Each host loses this share of the UDP datagrams that arrive.
    pub fn lose_percent(&self, percent: u32) {
        for name in &self.names {
            must(&format!("ip netns exec {name} nft add table inet loss"));
            must(&format!(
                "ip netns exec {name} nft add chain inet loss in {{ type filter hook input priority 0 ; }}"
            ));
            must(&format!(
                "ip netns exec {name} nft add rule inet loss in iifname eth0 meta l4proto udp numgen random mod 100 < {percent} drop"
            ));
        }
    }

    /// As on many wireless networks and in clouds.
    pub fn forbid_multicast(&self) {
        for name in &self.names {
            must(&format!("ip -n {name} link set eth0 multicast off"));
        }
    }

    pub fn unplug(&self) {
        must(&format!("ip -n {} link set eth0 down", self.names[0]));
    }

    pub fn plug_in(&self) {
        must(&format!("ip -n {} link set eth0 up", self.names[0]));
    }
}

impl Drop for TwoHosts {
    fn drop(&mut self) {
        for (host, name) in self.names.iter().enumerate() {
            let _ = fs::remove_dir_all(self.etc(host));
            // The cable goes with its ends.
            let _ = run(&format!("ip netns del {name}"));
        }
    }
}

fn must(line: &str) {
    run(line).unwrap_or_else(|reason| panic!("{line}: {reason}"));
}

fn run(line: &str) -> Result<(), String> {
    let mut words = line.split(' ');
    let output =
        Command::new(words.next().unwrap_or_default()).args(words).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
