//! The daemons of a whole system.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, OnceLock},
    time::Duration,
};

use rosless_graph::{ContextOptions, config::Environment};

use super::Observer;
use crate::{Daemon, DomainLease, TwoHosts, binary};

/// For a daemon that was asked to leave: it disposes its endpoints first.
const FAREWELL: Duration = Duration::from_secs(10);
/// Namespaces have their domains to themselves.
const DOMAIN_OF_HOSTS: u16 = 7;

/// One daemon of a whole system, by what it does there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Controller,
    Mocap,
    Imu,
    Arm,
    Shooter,
    Motion,
    Mechanism,
    StandIn,
}

impl Role {
    /// Everybody.
    pub const ALL: [Self; 8] = [
        Self::Controller,
        Self::Mocap,
        Self::Imu,
        Self::Arm,
        Self::Shooter,
        Self::Motion,
        Self::Mechanism,
        Self::StandIn,
    ];

    /// Seconds that the IMU's clock is ahead.
    pub const IMU_CLOCK_OFFSET: f64 = 0.25;

    /// Its line of the roster, which the demo tells the same story with.
    fn member(self) -> &'static Member {
        static ROSTER: OnceLock<Vec<Member>> = OnceLock::new();
        let roster = ROSTER.get_or_init(|| {
            let text = include_str!("../../../bins/rosless/roster.json");
            serde_json::from_str(text).expect("the roster can be read")
        });
        let name = match self {
            Self::Controller => "controller",
            Self::Mocap => "mocap",
            Self::Imu => "imu",
            Self::Arm => "arm",
            Self::Shooter => "shooter",
            Self::Motion => "motion",
            Self::Mechanism => "mechanism",
            Self::StandIn => "stand-in",
        };
        roster.iter().find(|member| member.name == name).expect("everybody is on the roster")
    }

    /// The name of its executable.
    pub fn program(self) -> &'static str {
        &self.member().run
    }

    fn arguments(self) -> impl Iterator<Item = &'static String> {
        self.member().args.iter().chain(&self.member().story)
    }

    /// Its nodes, by full name.
    pub fn nodes(self) -> &'static [String] {
        &self.member().nodes
    }
}

/// One line of `bins/rosless/roster.json`.
#[derive(Debug, serde::Deserialize)]
struct Member {
    name: String,
    run: String,
    args: Vec<String>,
    story: Vec<String>,
    nodes: Vec<String>,
}

/// Where daemons run.
#[derive(Debug)]
enum Place {
    /// On this machine, in a domain of their own.
    Here(DomainLease),
    /// On one of two hosts each.
    Hosts(Arc<TwoHosts>, fn(Role) -> usize),
}

/// Daemons that work together. Dropping it kills those that run.
#[derive(Debug)]
pub struct System {
    place: Place,
    /// Addresses to look at for daemons that multicast does not reach.
    static_peers: Vec<String>,
    wrapper: Vec<String>,
    daemons: BTreeMap<Role, Daemon>,
}

impl System {
    /// All daemons, on this machine.
    pub fn start() -> Self {
        let mut system = Self::new();
        Role::ALL.into_iter().for_each(|role| system.launch(role));
        system
    }

    /// Nobody yet, on this machine.
    pub fn new() -> Self {
        Self::at(Place::Here(DomainLease::acquire()))
    }

    /// Nobody yet, on two hosts; `host_of` says who goes where.
    pub fn on_hosts(hosts: &Arc<TwoHosts>, host_of: fn(Role) -> usize) -> Self {
        Self::at(Place::Hosts(hosts.clone(), host_of))
    }

    fn at(place: Place) -> Self {
        Self { place, static_peers: Vec::new(), wrapper: Vec::new(), daemons: BTreeMap::new() }
    }

    /// Whoever joins from now on looks for others at these addresses.
    pub fn set_static_peers(&mut self, peers: &[&str]) {
        self.static_peers = peers.iter().map(ToString::to_string).collect();
    }

    /// Those launched from now on are started by this program, which gets their command line after these words.
    pub fn set_wrapper(&mut self, words: &[&str]) {
        self.wrapper = words.iter().map(ToString::to_string).collect();
    }

    /// The DDS domain.
    pub fn domain(&self) -> u16 {
        match &self.place {
            Place::Here(lease) => lease.id(),
            Place::Hosts(..) => DOMAIN_OF_HOSTS,
        }
    }

    /// A node of the test's own among them. On two hosts it is on the host that this thread has entered.
    pub fn observer(&self) -> Observer {
        let mut options = ContextOptions::for_domain(self.domain());
        if let Place::Hosts(..) = self.place {
            options.settings.environment = Environment {
                domain_id: self.domain(),
                static_peers: self.static_peers.clone(),
                ..Default::default()
            };
        }
        Observer::join(options)
    }

    /// Starts one; whoever played the role before is killed.
    pub fn launch(&mut self, role: Role) {
        self.launch_with(role, &[]);
    }

    /// Starts one with more arguments.
    pub fn launch_with(&mut self, role: Role, arguments: &[&str]) {
        let mut command = self.command(role, role.program());
        command.args(role.arguments()).args(arguments);
        self.daemons.insert(role, Daemon::spawn(command));
    }

    /// One of our programs, to be run where `role` is.
    pub fn command(&self, role: Role, program: &str) -> Command {
        let program = executable(program).to_string_lossy().into_owned();
        let words: Vec<_> = self.wrapper.iter().chain([&program]).map(String::as_str).collect();
        let mut command = match &self.place {
            Place::Here(_) => Command::new(words[0]),
            Place::Hosts(hosts, host_of) => hosts.command(host_of(role), words[0]),
        };
        command.args(&words[1..]);
        command.env("ROS_DOMAIN_ID", self.domain().to_string()).env_remove("ROSLESS_DIALECT");
        if let Place::Here(_) = self.place {
            command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
        }
        if !self.static_peers.is_empty() {
            command.env("ROS_STATIC_PEERS", self.static_peers.join(";"));
        }
        command
    }

    /// Who plays the role.
    ///
    /// # Panics
    /// When nobody was launched for it.
    #[track_caller]
    pub fn daemon(&self, role: Role) -> &Daemon {
        self.daemons.get(&role).unwrap_or_else(|| panic!("{role:?} was not launched"))
    }

    /// Everybody who was launched and not killed.
    pub fn daemons(&self) -> impl Iterator<Item = (Role, &Daemon)> {
        self.daemons.iter().map(|(role, daemon)| (*role, daemon))
    }

    /// Ends one without warning, as SIGKILL does; it is gone when this returns.
    #[track_caller]
    pub fn kill(&mut self, role: Role) {
        assert!(self.daemons.remove(&role).is_some(), "{role:?} was not launched");
    }

    /// # Panics
    /// When one has ended by itself.
    #[track_caller]
    pub fn assert_all_run(&mut self) {
        for (role, daemon) in &mut self.daemons {
            if let Some(status) = daemon.try_wait() {
                panic!("{role:?} has ended by itself ({status}):\n{}", daemon.output());
            }
        }
    }

    /// Asks everybody to leave, as Ctrl-C does.
    ///
    /// # Panics
    /// When one does not leave in time or not with exit code 0.
    #[track_caller]
    pub fn end(mut self) {
        self.assert_all_run();
        for daemon in self.daemons.values() {
            daemon.signal("INT");
        }
        for (role, daemon) in &mut self.daemons {
            let status = daemon.wait(FAREWELL);
            assert!(status.success(), "{role:?} left with {status}:\n{}", daemon.output());
        }
    }
}

impl Default for System {
    fn default() -> Self {
        Self::new()
    }
}

/// The path of one of our programs, all of them built on first use.
fn executable(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        // People look at the system with `rosless`.
        let names: Vec<_> = Role::ALL.map(Role::program).into_iter().chain(["rosless"]).collect();
        binary::binaries(&names)
    });
    Path::new(folder).join(name)
}
