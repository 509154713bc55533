//! Controller, stand-in and an observer on a DDS domain of their own.

use std::{
    process::{ChildStdin, ExitStatus},
    sync::OnceLock,
    time::Duration,
};

use rosless_graph::{Publisher, TopicQos};
use rosless_mechanism::{messages::Dialect, profile::ActuatorArrays};
use rosless_tests::{Daemon, sibling_binary};
use rosless_wire::{mecha_control::msg::MechaState, std_msgs::msg::Bool};

const CONTROLLER: &str = env!("CARGO_BIN_EXE_mechanism-controller");
pub(crate) const PATIENCE: Duration = rosless_tests::Rig::<()>::PATIENCE;

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
    rig: rosless_tests::Rig<Observed>,
    pub(crate) mecha_state: Publisher<MechaState>,
}

impl Rig {
    pub(crate) fn new<D: Dialect>() -> Self {
        let rig = rosless_tests::Rig::<Observed>::new();
        let (events, node) = (&rig.events, &rig.node);
        events
            .subscribe::<D::Actuators>(node, "daiza_clamp".keep_all(), |seen, sample| {
                seen.pedestal.push(sample.message.into());
            })
            .expect("subscription");
        events
            .subscribe::<D::Actuators>(node, "hina_dastpan".keep_all(), |seen, sample| {
                seen.doll.push(sample.message.into())
            })
            .expect("subscription");
        events
            .subscribe::<Bool>(node, "bonbori_msg".keep_all(), |seen, sample| {
                seen.lantern.push(sample.message.data)
            })
            .expect("subscription");
        let mecha_state = node.publisher("mecha_state").expect("publisher");
        Self { rig, mecha_state }
    }

    /// With a stand-in.
    pub(crate) fn with_dummy<D: Dialect>(args: &[&str]) -> (Self, Daemon) {
        let rig = Self::new::<D>();
        let dummy = rig.dummy(args);
        (rig, dummy)
    }

    /// With a stand-in and a controller.
    pub(crate) fn whole<D: Dialect>(dummy: &[&str], controller: &[&str]) -> (Self, Daemon, Daemon) {
        let (mut rig, dummy) = Self::with_dummy::<D>(dummy);
        let controller = rig.controller(controller);
        (rig, dummy, controller)
    }

    fn spawn(&self, program: &str, args: &[&str]) -> Daemon {
        Daemon::spawn(self.domain.command(program, args))
    }

    /// A controller that is up and seen by the observer; quick settling, because the stand-in is quick.
    pub(crate) fn controller(&mut self, args: &[&str]) -> Daemon {
        let mut all = vec!["run"];
        all.extend(args);
        all.extend(["--ros-args", "--log-level", "debug", "-p", "daiza.settle:=0.2"]);
        let daemon = self.spawn(CONTROLLER, &all);
        daemon.wait_for_line("ready: profile", PATIENCE);
        let publisher = self.mecha_state.clone();
        self.until("the controller is seen", move |_| publisher.matched() > 0);
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

    /// Waits for a line of a program that hears the observer, who must go on meanwhile.
    #[track_caller]
    pub(crate) fn until_line(&mut self, daemon: &Daemon, text: &str) {
        self.until(text, |_| daemon.output().contains(text));
    }

    /// Starts a command of the controller's command line.
    pub(crate) fn start(&self, args: &[&str]) -> Daemon {
        self.spawn(CONTROLLER, args)
    }

    /// Starts a command that is typed to.
    pub(crate) fn start_with_stdin(&self, args: &[&str]) -> (Daemon, ChildStdin) {
        Daemon::spawn_with_stdin(self.domain.command(CONTROLLER, args))
    }

    /// A shell with job control on a terminal of its own that is typed to; it knows the two programs as $CONTROLLER and $DUMMY.
    pub(crate) fn terminal(&self) -> (Daemon, ChildStdin) {
        let shell = ["-qfc", "bash --norc --noprofile -i", "/dev/null"];
        let mut command = self.domain.command("script", &shell);
        command.env("CONTROLLER", CONTROLLER).env("DUMMY", dummy_program());
        Daemon::spawn_with_stdin(command)
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

rosless_tests::extends_rig!(Rig, Observed);

fn dummy_program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = sibling_binary(CONTROLLER, "dummy-mechanism");
        path.to_str().expect("a path in UTF-8").to_owned()
    })
}
