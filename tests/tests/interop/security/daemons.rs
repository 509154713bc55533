//! Daemons and commands under `Enforce`, with the policy that is shipped.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use rosless_tests::{Daemon, DomainLease, Scratch, secured_binaries};

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/policies/lab.policy.xml");

/// The programs, and the keystore that `rosless security` makes of the policy.
struct Shop {
    domain: DomainLease,
    programs: PathBuf,
    keys: PathBuf,
    _folder: Scratch,
}

impl Shop {
    fn new(programs: &[&str]) -> Self {
        let programs = secured_binaries(programs);
        let domain = DomainLease::acquire();
        let folder = Scratch::make();
        let shop = Self { domain, programs, keys: folder.join("keys"), _folder: folder };
        let keys = shop.keys.to_str().unwrap();
        shop.works(None, &["rosless", "security", "generate_artifacts", "-k", keys, "-p", POLICY]);
        shop
    }

    fn command(&self, enclave: Option<&str>, line: &[&str]) -> Command {
        let mut command = self.domain.command(self.programs.join(line[0]), &line[1..]);
        if let Some(enclave) = enclave {
            command.args(["--enclave", enclave]).env("ROS_SECURITY_ENABLE", "true");
            command.env("ROS_SECURITY_STRATEGY", "Enforce").env("ROS_SECURITY_KEYSTORE", &self.keys);
        }
        command
    }

    fn run(&self, enclave: Option<&str>, line: &[&str]) -> (Output, String) {
        let output = self.command(enclave, line).output().expect("it can be started");
        let said = [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat();
        (output, said)
    }

    /// What it prints.
    #[track_caller]
    fn works(&self, enclave: Option<&str>, line: &[&str]) -> String {
        let (output, said) = self.run(enclave, line);
        assert!(output.status.success(), "{enclave:?} {line:?}: {said}");
        said
    }

    /// An observer gets one line, which says which permission is missing.
    #[track_caller]
    fn is_for_the_operator(&self, line: &[&str], topic: &str) {
        let (output, said) = self.run(Some("/observer"), line);
        let told: Vec<_> = said.lines().collect();
        let reason =
            format!("error: cannot write topic {topic}: the permissions of the enclave do not allow it;");
        assert!(!output.status.success(), "{line:?}: {said}");
        assert!(told.len() == 1 && told[0].starts_with(&reason), "{line:?}: {said}");
        self.works(Some("/operator"), line);
    }

    fn daemon(&self, enclave: &str, line: &[&str]) -> Daemon {
        Daemon::spawn(self.command(Some(enclave), line))
    }
}

const SYSTEM: &str = "mocap4r2_dummy_driver_node";

#[test]
fn the_operator_starts_a_capture_and_an_observer_may_only_look() {
    let shop = Shop::new(&["rosless", "mocap-system", "mocap-controller", "session-recorder"]);
    let takes = shop.keys.join("takes");
    let daemons = [
        shop.daemon("/capture/system", &["mocap-system"]),
        shop.daemon("/capture/controller", &["mocap-controller", "run"]),
        shop.daemon("/capture/recorder", &["session-recorder", "--dir", takes.to_str().unwrap()]),
    ];
    shop.is_for_the_operator(&["mocap-controller", "start", SYSTEM, "--discovery", "20"], "rt/mocap_control");
    let observer = Some("/observer");
    let state = shop.works(observer, &["rosless", "lifecycle", "get", &format!("/{SYSTEM}")]);
    assert!(state.contains("active"), "{state}");
    let seen = shop.works(observer, &["rosless", "node", "list"]);
    for node in [SYSTEM, "mocap_controller", "session_recorder"] {
        assert!(seen.contains(node), "{seen}");
    }
    // Whoever has no enclave sees nobody, only that there is somebody.
    let (_, outside) = shop.run(None, &["rosless", "node", "list"]);
    assert!(!outside.contains(SYSTEM), "{outside}");
    let checked = shop.works(None, &["rosless", "security", "doctor", shop.keys.to_str().unwrap()]);
    for enclave in ["/capture/system", "/capture/controller", "/capture/recorder"] {
        let peer = format!("OK   somebody in {enclave} (RustDDS (rosless)): secured");
        assert!(checked.contains(&peer), "{checked}");
    }
    for daemon in daemons {
        assert!(!daemon.output().contains("[ERROR]"), "{}", daemon.output());
    }
}

#[test]
fn arm_robot_and_mechanism_move_for_the_operator_only() {
    let programs =
        ["rosless", "sim-arm", "shooter", "primitive-queue", "mechanism-controller", "dummy-mechanism"];
    let shop = Shop::new(&programs);
    let daemons = [
        shop.daemon("/arm/arm", &["sim-arm", "run", "--strategy", "best"]),
        shop.daemon("/arm/shooter", &["shooter", "run"]),
        shop.daemon("/motion/queue", &["primitive-queue", "run"]),
        shop.daemon("/mechanism/mechanism", &["dummy-mechanism", "run", "--auto"]),
        shop.daemon("/mechanism/controller", &["mechanism-controller", "run"]),
    ];
    let square = concat!(env!("CARGO_MANIFEST_DIR"), "/../bins/primitive-queue/examples/square.yaml");
    for (line, topic) in [
        (&["shooter", "aim", "0", "-1", "0", "0.9", "--timeout", "20"][..], "rt/shooter_state_input"),
        (&["shooter", "fire", "4", "--timeout", "20"], "rt/shoot_value"),
        (&["mechanism-controller", "prepare"], "rt/mecha_state"),
        (&["primitive-queue", "send", square], "rt/motion_primitive_controller/reference"),
    ] {
        shop.is_for_the_operator(line, topic);
    }
    for daemon in daemons {
        assert!(!daemon.output().contains("[ERROR]"), "{}", daemon.output());
    }
}

#[test]
fn companions_and_console_have_what_they_need_and_no_more() {
    let shop = Shop::new(&["rosless", "mocap-companion", "rosless-console"]);
    let daemons = [
        shop.daemon("/companion/markers", &["mocap-companion", "markers"]),
        shop.daemon("/companion/visualise", &["mocap-companion", "visualise"]),
        shop.daemon("/companion/ground_truth", &["mocap-companion", "ground-truth"]),
        shop.daemon("/console", &["rosless-console", "--port", "0"]),
    ];
    for (daemon, line) in daemons.iter().zip(["is ready", "is ready", "is ready", "serving pages"]) {
        daemon.wait_for_line(line, crate::ours::PATIENCE);
    }
    let once = ["rosless", "topic", "echo", "--once", "--timeout", "20"];
    for topic in ["/markers", "/visualization_marker"] {
        let shown = shop.works(Some("/observer"), &[&once[..], &[topic]].concat());
        assert!(shown.contains("markers:"), "{shown}");
    }
    // What is not theirs is refused at the start.
    for (enclave, command) in [("/companion/markers", "visualise"), ("/companion/visualise", "ground-truth")]
    {
        let (output, said) = shop.run(Some(enclave), &["mocap-companion", command]);
        assert!(!output.status.success() && said.contains("the permissions of the enclave"), "{said}");
    }
    for daemon in &daemons {
        assert!(!daemon.output().contains("[ERROR]"), "{}", daemon.output());
    }
    // Nobody has told where on the robot the rigid body sits: it is asked, and says so.
    let (_, said) = shop.run(Some("/operator"), &["mocap-companion", "set-origin"]);
    assert!(said.contains("the origin was not set"), "{said}");
}
