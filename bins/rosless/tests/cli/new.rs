//! `rosless new`, and what is looked at of a node whose types nobody else knows.

use std::{fs, path::PathBuf, process::Command};

use rosless_tests::{Daemon, DomainLease, Scratch, sibling_binary};

use crate::world::SOON;

const ROSLESS: &str = env!("CARGO_BIN_EXE_rosless");

/// Exit code, and what was said on standard error.
fn new(arguments: &[&str], into: &Scratch) -> (Option<i32>, String) {
    let output =
        Command::new(ROSLESS).arg("new").args(arguments).arg("--into").arg(&**into).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_new_crate_is_the_template_under_its_name_and_depends_on_these_sources() {
    let scratch = Scratch::make();
    assert_eq!(new(&["range_finder"], &scratch), (Some(0), String::new()));
    let read = |file: &str| fs::read_to_string(scratch.join("range_finder").join(file)).unwrap();
    let manifest = read("Cargo.toml");
    assert!(
        manifest.contains("name = \"range_finder\"") && manifest.contains("crates/graph\" }"),
        "{manifest}"
    );
    assert!(read("src/lib.rs").contains("use range_finder_interfaces::"));
    read("interfaces/range_finder_interfaces/action/Sweep.action");
    read("Cargo.lock");

    let (code, said) = new(&["range_finder"], &scratch);
    assert!(code == Some(2) && said.contains("is there already"), "{said}");
    let (code, said) = new(&["Range-Finder"], &scratch);
    assert!(code == Some(2) && said.contains("use lower case letters"), "{said}");
    let (code, said) = new(&["other", "--source", "/nowhere"], &scratch);
    assert!(code == Some(2) && said.contains("/nowhere does not hold the sources"), "{said}");
    assert!(!scratch.join("other").exists(), "it wrote before it refused");
}

/// Everything below the graph is built once more for it: minutes, so it is asked for by name.
#[test]
fn a_new_crate_builds_and_passes_its_own_test() {
    if std::env::var_os("ROSLESS_NEW_BUILDS").is_none() {
        return;
    }
    let scratch = Scratch::make();
    assert_eq!(new(&["range_finder"], &scratch), (Some(0), String::new()));
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    let target = PathBuf::from(ROSLESS).ancestors().nth(2).unwrap().join("new");
    cargo.args(["test", "--quiet"]).current_dir(scratch.join("range_finder")).env("CARGO_TARGET_DIR", target);
    assert!(cargo.status().unwrap().success());
}

#[test]
fn a_node_tells_of_types_that_nobody_else_knows() {
    let domain = DomainLease::acquire();
    let program = sibling_binary(ROSLESS, "my_node");
    let _node = Daemon::spawn(domain.command(program, &["--ros-args", "-p", "rate:=20.0"]));
    let run = |arguments: &[&str]| {
        let output = domain.command(ROSLESS, arguments).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    let patience = SOON.as_secs().to_string();
    for transition in ["configure", "activate"] {
        run(&["lifecycle", "set", "/my_node", transition]);
    }
    let reading = run(&["topic", "echo", "--once", "--timeout", &patience, "/my_node/reading"]);
    assert!(reading.contains("distance: 2.0\nquality: 0\n"), "{reading}");
    let calibrate = ["/my_node/calibrate", "my_node_interfaces/srv/Calibrate", "{distance: 1.5}"];
    // The ends of a service are met in either order.
    for _ in 0..10 {
        let calibrated = run(&[&["service", "call"], &calibrate[..]].concat());
        assert!(calibrated.contains("offset=-0.5"), "{calibrated}");
    }
    let sweep =
        ["/my_node/sweep", "my_node_interfaces/action/Sweep", "{start: -0.5, end: 0.5, readings: 10}"];
    let swept = run(&[&["action", "send_goal", "--feedback"], &sweep[..]].concat());
    assert!(swept.contains("done: 10") && swept.contains("SUCCEEDED"), "{swept}");
}
