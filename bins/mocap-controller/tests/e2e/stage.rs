//! What every test here starts from: the two programs, and an observer that sees and says what it wants on the wire.

use std::{
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::OnceLock,
    time::Duration,
};

use rosless_graph::RawPublisher;
use rosless_protocol::{
    Dialect,
    controller::{Report, Settings, Targets},
    message,
    node::{ControllerNode, ControllerOptions, Notice, control_qos, environment_qos},
};
use rosless_tests::{Daemon, DomainLease, Rig, Scratch};
use rosless_wire::{
    cdr,
    lifecycle_msgs::{msg::Transition, srv},
    // All dialects have the same bytes.
    mocap_control_msgs::msg::{Control, MocapInfo},
};

/// Long, because tests share the machine; nothing waits longer than it must.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const UNCONFIGURED: u8 = 1;
pub(crate) const INACTIVE: u8 = 2;
pub(crate) const ACTIVE: u8 = 3;
pub(crate) const CONFIGURE: u8 = 1;
pub(crate) const CLEANUP: u8 = 2;
pub(crate) const ACTIVATE: u8 = 3;

fn mocap_system() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT
        .get_or_init(|| rosless_tests::sibling_binary(env!("CARGO_BIN_EXE_mocap-controller"), "mocap-system"))
        .clone()
}

/// A DDS domain with programs in it.
pub(crate) struct Stage {
    lease: DomainLease,
    /// Where this stage's controllers remember sessions.
    state: Scratch,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { lease: DomainLease::acquire(), state: Scratch::make() }
    }

    pub(crate) fn domain(&self) -> u16 {
        self.lease.id()
    }

    fn prepare(&self, program: PathBuf, arguments: &[&str]) -> Command {
        let mut command = self.lease.command(program, arguments);
        command.env("XDG_STATE_HOME", &*self.state);
        command
    }

    /// A running `mocap-system`, ready when this returns.
    pub(crate) fn system(&self, arguments: &[&str]) -> Daemon {
        let daemon = Daemon::spawn(self.mocap_system(arguments));
        daemon.wait_for_line("system ", PATIENCE);
        daemon
    }

    /// `mocap-system`, not started yet.
    pub(crate) fn mocap_system(&self, arguments: &[&str]) -> Command {
        self.prepare(mocap_system(), arguments)
    }

    /// A running `mocap-controller`; one that stays can be asked when this returns.
    pub(crate) fn controller(&self, arguments: &[&str]) -> Daemon {
        let daemon = Daemon::spawn(self.prepare_command(arguments));
        if arguments.contains(&"run") {
            daemon.wait_for_line("controlling dialect", PATIENCE);
        }
        daemon
    }

    pub(crate) fn prepare_command(&self, arguments: &[&str]) -> Command {
        self.prepare(env!("CARGO_BIN_EXE_mocap-controller").into(), arguments)
    }

    /// `mocap-controller` run to its end.
    pub(crate) fn command(&self, arguments: &[&str]) -> Output {
        self.prepare_command(arguments).output().expect("mocap-controller can be run")
    }

    pub(crate) fn observer(&self, dialect: Dialect) -> Observer {
        Observer::new(&self.lease, dialect)
    }
}

/// What an observer saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) infos: Vec<MocapInfo>,
    pub(crate) controls: Vec<Control>,
    pub(crate) reports: Vec<Report>,
}

impl Seen {
    /// Acknowledgements seen, as type and source.
    pub(crate) fn acks(&self) -> Vec<(i8, &str)> {
        let acks = self.controls.iter().filter(|c| matches!(c.control_type, 1 | 3));
        acks.map(|c| (c.control_type, c.system_source.as_str())).collect()
    }
}

/// A node of the test's own.
pub(crate) struct Observer {
    rig: Rig<Seen>,
    control: RawPublisher,
    dialect: Dialect,
}

rosless_tests::extends_rig!(Observer, Seen);

impl Observer {
    pub(crate) fn new(lease: &DomainLease, dialect: Dialect) -> Self {
        let rig = Rig::<Seen>::on(lease.clone(), "observer");
        let (events, node, names) = (&rig.events, &rig.node, dialect.names());
        events
            .subscribe_raw(
                node,
                (names.environment_topic, environment_qos()),
                (names.info_type, ""),
                |seen: &mut Seen, s| {
                    seen.infos.extend(cdr::from_payload::<MocapInfo>(&s.message));
                },
            )
            .unwrap();
        events
            .subscribe_raw(node, (names.control_topic, control_qos()), (names.control_type, ""), |seen, s| {
                seen.controls.extend(cdr::from_payload::<Control>(&s.message));
            })
            .unwrap();
        let control =
            node.raw_publisher((names.control_topic, control_qos()), (names.control_type, "")).unwrap();
        Self { rig, control, dialect }
    }

    /// Lets things happen that should not.
    pub(crate) fn linger(&mut self, millis: u64) {
        self.observe(Duration::from_millis(millis));
    }

    /// Waits until so many systems hear what we publish. We hear ourselves too.
    #[track_caller]
    pub(crate) fn until_heard_by(&mut self, systems: usize) {
        let control = self.control.clone();
        self.until("the systems' control subscriptions match", |_| control.matched() > systems);
    }

    /// Announces a system that is no node: as a bridge does.
    pub(crate) fn announce(&mut self, info: &MocapInfo) -> RawPublisher {
        let names = self.dialect.names();
        let hash = <MocapInfo as rosless_wire::Message>::TYPE_HASH;
        let publisher = self
            .node
            .raw_publisher((names.environment_topic, environment_qos()), (names.info_type, hash))
            .unwrap();
        assert!(publisher.publish(cdr::to_payload(info)));
        publisher
    }

    pub(crate) fn say(&mut self, control_type: i8, session: &str, systems: &[&str]) {
        let stamp = self.node.now();
        let message = Control {
            control_type,
            stamp,
            system_source: "observer".into(),
            capture_session_id: session.into(),
            capture_systems: systems.iter().map(ToString::to_string).collect(),
        };
        self.say_raw(cdr::to_payload(&message));
    }

    /// ACK_START in the name of a system.
    pub(crate) fn acknowledge(&mut self, system: &str) {
        let stamp = self.node.now();
        let message = Control { control_type: 1, stamp, system_source: system.into(), ..Control::default() };
        self.say_raw(cdr::to_payload(&message));
    }

    /// `mocap-controller` run to its end while this node goes on: one that falls silent might be a system.
    #[track_caller]
    pub(crate) fn command(&mut self, stage: &Stage, arguments: &[&str]) -> Output {
        let mut command = stage.prepare_command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("mocap-controller can be run");
        self.until("the command ends", |_| child.try_wait().expect("a child").is_some());
        child.wait_with_output().expect("it has ended")
    }

    pub(crate) fn say_raw(&mut self, payload: Vec<u8>) {
        assert!(self.control.publish(payload));
    }

    #[track_caller]
    pub(crate) fn state(&mut self, system: &str) -> u8 {
        self.call::<srv::GetState>(&format!("/{system}/get_state"), &Default::default()).current_state.id
    }

    #[track_caller]
    pub(crate) fn change(&mut self, system: &str, id: u8) -> bool {
        let request = srv::ChangeStateRequest { transition: Transition { id, label: String::new() } };
        self.call::<srv::ChangeState>(&format!("/{system}/change_state"), &request).success
    }

    /// The library's controller in this process.
    pub(crate) fn controller(&mut self) -> ControllerNode<Seen> {
        self.controller_with(Settings::default())
    }

    pub(crate) fn controller_with(&mut self, settings: Settings) -> ControllerNode<Seen> {
        let node = self.node.context().node(self.dialect.names().controller_node).unwrap();
        let options = ControllerOptions { settings, ..ControllerOptions::of(self.dialect) };
        ControllerNode::new(&self.events, &node, options, |seen: &mut Seen, notice| {
            if let Notice::Finished(report) = notice {
                seen.reports.push(report.clone());
            }
        })
        .unwrap()
    }

    /// Runs a request of the library's controller to its end.
    #[track_caller]
    pub(crate) fn request(
        &mut self,
        controller: &ControllerNode<Seen>,
        command: message::Command,
        session: &str,
        targets: Targets,
    ) -> Report {
        self.seen.reports.clear();
        controller.request(command, session, targets).unwrap();
        self.until("the request ends", |seen| !seen.reports.is_empty());
        self.seen.reports.remove(0)
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
