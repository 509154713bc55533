//! Sessions: which one a system is in, who belongs to it, and what happens when one of them is missing.

use std::io::Write as _;

use rosless_tests::Daemon;

use crate::stage::{PATIENCE, Stage, text};

const AUXILIARY: [&str; 3] = ["--kind", "auxiliary", "--name"];

fn named<'a>(name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&AUXILIARY[..], &[name], more].concat()
}

#[test]
fn a_session_is_known_to_the_next_command_and_not_mixed_with_another() {
    let stage = Stage::new();
    let first = stage.system(&named("first", &[]));
    let second = stage.system(&named("second", &[]));
    let output = stage.command(&["start", "first", "--session", "auto"]);
    assert!(output.status.success(), "{output:?}");
    first.wait_for_line(r#"session "take_001""#, PATIENCE);
    // Another process, which knows it from the file.
    let output = stage.command(&["start", "--all", "--session", "take_9"]);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let both = r#"Error starting first: it is in session "take_001", not in "take_9": stop it first"#;
    assert!(errors.contains(both), "{errors}");
    assert!(errors.contains("Error starting second: not started, because others"), "{errors}");
    assert!(!second.output().contains("take_9"));
    let output = stage.command(&["start", "--all", "--session", "auto", "--restart"]);
    assert!(output.status.success(), "{output:?}");
    for system in [&first, &second] {
        system.wait_for_line(r#"session "take_002""#, PATIENCE);
    }
    assert!(first.output().contains("System [first] stopped"));
    let output = stage.command(&["stop", "--all"]);
    assert!(output.status.success(), "{output:?}");
    // A session that has ended is in nobody's way.
    let output = stage.command(&["start", "first", "--session", "take_9"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_stop_reaches_a_system_whose_activation_has_not_begun() {
    let stage = Stage::new();
    let lazy = stage.system(&named("lazy", &["--delay", "3"]));
    let mut start =
        stage.prepare_command(&["start", "lazy", "--session", "s", "--timeout", "2"]).spawn().unwrap();
    assert_eq!(start.wait().unwrap().code(), Some(1), "it takes longer than that");
    let output = stage.command(&["stop", "lazy"]);
    assert!(output.status.success(), "{output:?}");
    lazy.wait_for_line("System [lazy] started", PATIENCE);
    lazy.wait_for_line("System [lazy] stopped", PATIENCE);
}

#[test]
fn all_or_none_and_who_is_expected() {
    let stage = Stage::new();
    let good = stage.system(&["--kind", "imu", "--dialect", "mocap", "--name", "good"]);
    let _broken = stage.system(&named("broken", &["--fail-activate"]));
    let fails = |arguments: &[&str], parts: &[&str]| {
        let output = stage.command(arguments);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {errors}");
        parts
            .iter()
            .for_each(|part| assert!(errors.contains(part), "{arguments:?}: {part:?} is not in {errors}"));
    };
    fails(
        &["start", "--expect", "good,camera", "--discovery", "1"],
        &["camera not in detected", "Error starting good: not started, because others are missing"],
    );
    assert!(!good.output().contains("started"), "{}", good.output());
    fails(
        &["start", "--all", "--atomic"],
        &["Error starting broken: ", "Error starting good: started, and stopped again because others failed"],
    );
    good.wait_for_line("System [good] stopped", PATIENCE);
    // Data is looked at where it is asked for.
    let output = stage.command(&["start", "good", "--check-data", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    rosless_tests::assert_documented("mocap-controller start --check-data", &report);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(report["data"][0]["topic"], "/mocap_imu_data");
    let folder = rosless_tests::Scratch::make();
    let roster = folder.file("roster.yaml", "systems: [good]\ntopics: {mocap_imu_data: 10000}\n");
    fails(
        &["start", "--expect", roster.to_str().unwrap()],
        &["/mocap_imu_data: ", "at least 10000.0 Hz are needed"],
    );
}

#[test]
fn who_interrupts_a_start_is_told_who_is_running() {
    let stage = Stage::new();
    let quick = stage.system(&named("quick", &[]));
    let _lazy = stage.system(&named("lazy", &["--delay", "20"]));
    let mut start = stage.controller(&["start", "quick", "lazy", "--timeout", "25"]);
    quick.wait_for_line("System [quick] started", PATIENCE);
    start.wait_for_line("sending START again to lazy", PATIENCE);
    start.signal("INT");
    assert_eq!(start.wait(PATIENCE).code(), Some(130));
    start.wait_for_line(
        "interrupted: quick running already, lazy may still start; stop with: mocap-controller stop quick lazy",
        PATIENCE,
    );
}

#[test]
fn who_interrupts_at_a_terminal_is_asked_whether_to_stop_them() {
    let stage = Stage::new();
    let quick = stage.system(&named("quick", &[]));
    let _lazy = stage.system(&named("lazy", &["--delay", "20"]));
    let start = ["start", "quick", "lazy", "--timeout", "25"];
    let (mut start, mut keyboard) = Daemon::spawn_at_terminal(stage.prepare_command(&start));
    quick.wait_for_line("System [quick] started", PATIENCE);
    start.wait_for_line("sending START again to lazy", PATIENCE);
    start.signal("INT");
    start.wait_for_line("interrupted: quick running already", PATIENCE);
    keyboard.write_all(b"y\n").unwrap();
    start.wait_for_line("quick stopped: acknowledged", PATIENCE);
    assert_eq!(start.wait(PATIENCE).code(), Some(130));
    quick.wait_for_line("System [quick] stopped", PATIENCE);

    // A second Ctrl-C leaves things as they are.
    let start = ["start", "quick", "lazy", "--timeout", "25"];
    let (mut start, _keyboard) = Daemon::spawn_at_terminal(stage.prepare_command(&start));
    start.wait_for_line("sending START again to lazy", PATIENCE);
    start.signal("INT");
    start.wait_for_line("interrupted: quick running already", PATIENCE);
    start.signal("INT");
    assert_eq!(start.wait(PATIENCE).code(), Some(130));
    assert!(text(&stage.command(&["status"]).stdout).contains("quick\tACTIVE"));
}

#[test]
fn a_scheduled_start_happens_at_the_instant_and_a_controller_that_leaves_disarms() {
    let stage = Stage::new();
    let one = stage.system(&named("one", &[]));
    let two = stage.system(&named("two", &[]));
    let output = stage.command(&["--json", "start", "--all", "--session", "s", "--at", "+1s"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{report}");
    rosless_tests::assert_documented("mocap-controller start --at", &report);
    assert_eq!(report["scheduled"]["armed"], serde_json::json!(["one", "two"]), "{report}");
    assert_eq!(report["messages"], 0, "both start by themselves: {report}");
    assert!(report["scheduled"]["spread_ms"].as_f64().is_some(), "{report}");
    for system in [&one, &two] {
        system.wait_for_line(r#"session "s" requested"#, PATIENCE);
    }
    assert!(stage.command(&["stop", "--all"]).status.success());

    let leaver = stage.controller(&["start", "one", "--session", "late", "--at", "+60s"]);
    one.wait_for_line("armed for session \"late\"", PATIENCE);
    leaver.signal("INT");
    one.wait_for_line("disarmed, session \"late\" is not started", PATIENCE);
}
