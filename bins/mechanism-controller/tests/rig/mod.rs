//! Controller, stand-in and an observer on a DDS domain of their own.

use std::{
    process::{ChildStdin, Command, ExitStatus},
    sync::OnceLock,
    time::Duration,
};

use rosless_graph::{Context, ContextOptions, EventLoop, Node, Publisher, Qos, config::DiscoveryRange};
use rosless_mechanism::{messages::Dialect, profile::ActuatorArrays};
use rosless_tests::{Daemon, DomainLease, sibling_binary};
use rosless_wire::{mecha_control::msg::MechaState, std_msgs::msg::Bool};

const CONTROLLER: &str = env!("CARGO_BIN_EXE_mechanism-controller");
/// Generous, because the machine may be busy; nothing waits this long when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Outputs of the controller as they arrived.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub(crate) pedestal: Vec<ActuatorArrays>,
    pub(crate) doll: Vec<ActuatorArrays>,
    pub(crate) lantern: Vec<bool>,
    /// What a test's own callbacks note.
    pub(crate) notes: Vec<String>,
}

impl Observed {
    /// Pedestal outputs as digits, repeats left out.
    pub(crate) fn cylinders(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .pedestal
            .iter()
            .map(|a| a.cylinders.iter().map(|c| if *c { '1' } else { '0' }).collect())
            .collect();
        all.dedup();
        all
    }

    /// Doll positions, repeats left out.
    pub(crate) fn positions(&self) -> Vec<Vec<f64>> {
        let mut all: Vec<_> = self.doll.iter().map(|a| a.positions.clone()).collect();
        all.dedup();
        all
    }
}

/// What a finished command printed and how it ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
}

impl Finished {
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert!(self.status.success(), "ended with {}:\n{}", self.status, self.output);
        self.output
    }

    #[track_caller]
    pub(crate) fn fails(self, code: i32, reason: &str) {
        assert_eq!(self.status.code(), Some(code), "{}", self.output);
        assert!(self.output.contains(reason), "not {reason:?} in:\n{}", self.output);
    }
}

pub(crate) struct Rig {
    pub(crate) event_loop: EventLoop<Observed>,
    pub(crate) node: Node,
    pub(crate) observed: Observed,
    pub(crate) mecha_state: Publisher<MechaState>,
    lease: DomainLease,
}

impl Rig {
    pub(crate) fn new<D: Dialect>() -> Self {
        let lease = DomainLease::acquire();
        let mut options = ContextOptions::for_domain(lease.id());
        options.settings.environment.discovery_range = DiscoveryRange::Localhost;
        let context = Context::new(options).expect("the domain can be joined");
        let node = context.node("observer").expect("a valid name");
        let event_loop = EventLoop::new(&context).expect("one loop");
        let all = Qos::default().keep_all();
        event_loop
            .subscribe::<D::Actuators>(&node, "daiza_clamp", all, |seen: &mut Observed, sample| {
                seen.pedestal.push(sample.message.into());
            })
            .expect("subscription");
        event_loop
            .subscribe::<D::Actuators>(&node, "hina_dastpan", all, |seen, sample| {
                seen.doll.push(sample.message.into())
            })
            .expect("subscription");
        event_loop
            .subscribe::<Bool>(&node, "bonbori_msg", all, |seen, sample| {
                seen.lantern.push(sample.message.data)
            })
            .expect("subscription");
        let mecha_state = node.publisher("mecha_state", Qos::default()).expect("publisher");
        Self { event_loop, node, observed: Observed::default(), mecha_state, lease }
    }

    pub(crate) fn domain(&self) -> u16 {
        self.lease.id()
    }

    fn prepare(&self, mut command: Command) -> Command {
        command
            .env("ROS_DOMAIN_ID", self.lease.id().to_string())
            .env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
            .env_remove("ROS_STATIC_PEERS");
        command
    }

    fn spawn(&self, program: &str, args: &[&str]) -> Daemon {
        let mut command = Command::new(program);
        command.args(args);
        Daemon::spawn(self.prepare(command))
    }

    /// A controller that is up and seen by the observer; quick settling, because the stand-in is quick.
    pub(crate) fn controller(&mut self, args: &[&str]) -> Daemon {
        let mut all = vec!["run"];
        all.extend(args);
        all.extend(["--ros-args", "--log-level", "debug", "-p", "daiza.settle:=0.2"]);
        let daemon = self.spawn(CONTROLLER, &all);
        daemon.wait_for_line("ready: profile", PATIENCE);
        let publisher = self.mecha_state.clone();
        let before = 0;
        self.until("the controller is seen", move |_| publisher.matched() > before);
        daemon
    }

    /// A stand-in that moves five times as fast as the real thing.
    pub(crate) fn dummy(&self, args: &[&str]) -> Daemon {
        let mut all = vec!["run", "--stroke", "0.2", "--tilt-speed", "450", "--lift-time", "0.4"];
        all.extend(args);
        let daemon = self.spawn(dummy_program(), &all);
        daemon.wait_for_line("simulating the mechanism", PATIENCE);
        daemon
    }

    /// Starts a command of the controller's command line.
    pub(crate) fn start(&self, args: &[&str]) -> Daemon {
        self.spawn(CONTROLLER, args)
    }

    /// Starts a command that is typed to.
    pub(crate) fn start_with_stdin(&self, args: &[&str]) -> (Daemon, ChildStdin) {
        let mut command = Command::new(CONTROLLER);
        command.args(args);
        Daemon::spawn_with_stdin(self.prepare(command))
    }

    /// A shell with job control on a terminal of its own that is typed to; it knows the two programs as $CONTROLLER and $DUMMY.
    pub(crate) fn terminal(&self) -> (Daemon, ChildStdin) {
        let mut command = Command::new("script");
        command.args(["-qfc", "bash --norc --noprofile -i", "/dev/null"]);
        command.env("CONTROLLER", CONTROLLER).env("DUMMY", dummy_program());
        Daemon::spawn_with_stdin(self.prepare(command))
    }

    /// Runs a command to its end while observing.
    #[track_caller]
    pub(crate) fn run(&mut self, args: &[&str]) -> Finished {
        let daemon = self.start(args);
        self.finish(daemon)
    }

    /// Runs a command of the stand-in's command line.
    #[track_caller]
    pub(crate) fn hand(&mut self, args: &[&str]) -> Finished {
        let daemon = self.spawn(dummy_program(), args);
        self.finish(daemon)
    }

    #[track_caller]
    pub(crate) fn finish(&mut self, mut daemon: Daemon) -> Finished {
        let mut status = None;
        self.until("the command ends", |_| {
            status = daemon.try_wait();
            status.is_some()
        });
        // A beat for the collector to read the last line, and for the last outputs to arrive.
        self.observe(Duration::from_millis(100));
        Finished { status: status.expect("has ended"), output: daemon.output() }
    }

    pub(crate) fn observe(&mut self, duration: Duration) {
        self.event_loop.run_for(&mut self.observed, duration).expect("the loop runs");
    }

    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, mut condition: impl FnMut(&Observed) -> bool) {
        let event_loop = &self.event_loop;
        // A tick lets conditions that no event announces be looked at again.
        let tick = event_loop.timer(Duration::from_millis(20), |_| {});
        let held = event_loop
            .run_until(&mut self.observed, PATIENCE, |seen| condition(seen))
            .expect("the loop runs");
        tick.cancel();
        assert!(held, "not within {PATIENCE:?}: {what}; observed {:?}", self.observed);
    }

    /// The controller's state as `watch --json` tells it.
    #[track_caller]
    pub(crate) fn status(&mut self) -> serde_json::Value {
        let output = self.run(&["watch", "--once", "--json"]).ok();
        let line = output.lines().find(|line| line.starts_with('{')).expect("a line of JSON");
        let status = serde_json::from_str(line).expect("valid JSON");
        rosless_tests::assert_documented("mechanism-controller watch", &status);
        status
    }

    /// Asks for the state until `condition` holds.
    #[track_caller]
    pub(crate) fn until_status(&mut self, what: &str, condition: impl Fn(&serde_json::Value) -> bool) {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let status = self.status();
            if condition(&status) {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "not within {PATIENCE:?}: {what}; last {status}");
        }
    }
}

fn dummy_program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = sibling_binary(CONTROLLER, "dummy-mechanism");
        path.to_str().expect("a path in UTF-8").to_owned()
    })
}
