//! What goes wrong, and what the user is told.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use rosless_protocol::{Dialect, node::environment_qos};
use rosless_tests::words;
use rosless_wire::{
    cdr,
    mocap_control_msgs::msg::{Control, MocapInfo},
};

use crate::stage::{ACTIVE, INACTIVE, Observer, PATIENCE, Stage, text};

#[test]
fn a_killed_system_is_named_and_the_others_are_unaffected() {
    let stage = Stage::new();
    let victim = stage.system(&["--kind", "auxiliary", "--name", "victim"]);
    let _survivor = stage.system(&["--kind", "auxiliary", "--name", "survivor"]);
    let daemon = stage.controller(&["run"]);
    for system in ["victim", "survivor"] {
        daemon.wait_for_line(&format!("[{system}] is inactive"), PATIENCE);
    }
    let output = stage.command(&["start", "--all", "--session", "s1"]);
    assert!(output.status.success(), "{output:?}");
    daemon.wait_for_line("[victim] inactive -> active", PATIENCE);
    victim.signal("KILL");
    // Its lease is ten seconds; a state that is not answered is noticed sooner.
    daemon.wait_for_line(
        r#"[victim] does not answer on /victim/get_state while session "s1" is running"#,
        PATIENCE,
    );
    daemon.wait_for_line(r#"[victim] left while session "s1" was running"#, PATIENCE);
    let status = text(&stage.command(&["status"]).stdout);
    assert_eq!(status, "survivor\tACTIVE\n");
    let output = stage.command(&["stop", "survivor"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_system_restarted_before_its_lease_ends_is_missed_in_the_session() {
    let stage = Stage::new();
    let victim = stage.system(&["--kind", "auxiliary", "--name", "victim"]);
    let daemon = stage.controller(&["run"]);
    daemon.wait_for_line("[victim] is inactive", PATIENCE);
    assert!(stage.command(&["start", "victim", "--session", "s1", "--direct"]).status.success());
    for line in ["[victim] inactive -> active", "[victim] start elapsed", r#"sends START session "s1""#] {
        daemon.wait_for_line(line, PATIENCE);
    }
    victim.signal("KILL");
    let again = stage.system(&["--kind", "auxiliary", "--name", "victim", "--topics", "more"]);
    let line = daemon.wait_for_line(r#"[victim] left while session "s1" was running"#, PATIENCE);
    assert!(line.starts_with("[ERROR]"), "{line}");
    daemon.wait_for_line(r#"[victim] joined with topics ["more"]"#, PATIENCE);
    let mut observer = stage.observer(Dialect::Mocap);
    let answer = observer
        .call::<rosless_wire::std_srvs::srv::Trigger>("/mocap_controller/start_all", &Default::default());
    assert!(answer.success, "{}", answer.message);
    again.wait_for_line("session \"default_session\"", PATIENCE);
    assert!(observer.change("victim", 4), "deactivated behind the controller's back");
    let line = daemon.wait_for_line(
        r#"[victim] left session "default_session" without being told to: it is inactive"#,
        PATIENCE,
    );
    assert!(line.starts_with("[ERROR]"), "{line}");
}

#[test]
fn two_systems_of_one_name_are_no_success() {
    let stage = Stage::new();
    let first = stage.system(&["--kind", "auxiliary", "--name", "cam"]);
    let second = stage.system(&["--kind", "auxiliary", "--name", "cam"]);
    for (command, done) in [("start", "System [cam] started"), ("stop", "System [cam] stopped")] {
        // On a busy machine one of them may not be discovered in time.
        rosless_tests::eventually(&format!("{command} notices both"), PATIENCE, || {
            let output = stage.command(&[command, "cam"]);
            let noticed = text(&output.stderr).contains("cam: two systems are called /cam");
            assert!(!noticed || output.status.code() == Some(1), "{output:?}");
            noticed
        });
        first.wait_for_line(done, PATIENCE);
        second.wait_for_line(done, PATIENCE);
    }
}

#[test]
fn a_short_timeout_is_enough_for_a_system_that_is_there() {
    let stage = Stage::new();
    let _system = stage.system(&["--kind", "auxiliary", "--name", "cam"]);
    for arguments in [&["start", "cam"][..], &["stop"], &["start", "--all"], &["stop", "cam"]] {
        // On a busy machine discovery alone may take as long.
        rosless_tests::eventually(&format!("{arguments:?} succeeds"), PATIENCE, || {
            let mut command = stage.prepare_command(arguments);
            command.args(["--timeout", "1.2"]).output().unwrap().status.success()
        });
    }
}

#[test]
fn a_controller_restarted_in_a_session_recovers_the_picture() {
    let stage = Stage::new();
    let _system = stage.system(&["--kind", "auxiliary", "--name", "cam", "--topics", "data"]);
    let daemon = stage.controller(&["run"]);
    daemon.wait_for_line("[cam] is inactive", PATIENCE);
    assert!(stage.command(&["start", "cam"]).status.success());
    daemon.wait_for_line("[cam] inactive -> active", PATIENCE);
    daemon.signal("KILL");
    drop(daemon);
    let daemon = stage.controller(&["run"]);
    daemon.wait_for_line(r#"[cam] joined with topics ["data"]"#, PATIENCE);
    daemon.wait_for_line("[cam] is active", PATIENCE);
    let mut observer = stage.observer(Dialect::Mocap);
    let trigger = observer
        .call::<rosless_wire::std_srvs::srv::Trigger>("/mocap_controller/stop_all", &Default::default());
    assert!(trigger.success, "{}", trigger.message);
    assert_eq!(observer.state("cam"), INACTIVE);
    let trigger = observer
        .call::<rosless_wire::std_srvs::srv::Trigger>("/mocap_controller/start_all", &Default::default());
    assert!(trigger.success, "{}", trigger.message);
    assert_eq!(observer.state("cam"), ACTIVE);
}

#[test]
fn every_failure_is_named_with_reason_and_remedy() {
    let stage = Stage::new();
    let _raw = stage.system(&["--kind", "auxiliary", "--name", "raw", "--unconfigured"]);
    let broken = stage.system(&["--kind", "auxiliary", "--name", "broken", "--fail-activate"]);
    let _good = stage.system(&["--kind", "auxiliary", "--name", "good"]);
    let fails = |arguments: &[&str], code: i32, parts: &[&str]| {
        let output = stage.command(arguments);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        for part in parts {
            assert!(errors.contains(part), "{arguments:?}: {part:?} is not in {errors}");
        }
        text(&output.stdout)
    };
    let out = fails(
        &["start", "good", "broken", "nobody"],
        1,
        &[
            "Error starting broken: configured but not active",
            "'activation fails because of --fail-activate' (its log, ",
            "nobody not in detected Control System",
        ],
    );
    assert!(out.starts_with("good started: acknowledged after "), "{out}");
    broken.wait_for_line("is not acknowledged", PATIENCE);
    let output = stage.command(&["start", "good"]);
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(0), "good already started: it is active in session \"cli_session\"\n")
    );

    // A system that was never configured has not announced itself; one that was and is not any more has.
    let mut observer = stage.observer(Dialect::Mocap);
    fails(&["start", "raw"], 1, &["Unable to start raw: not configured yet"]);
    let status = text(&stage.command(&["status"]).stdout);
    assert_eq!(status, "broken\tREADY\ngood\tACTIVE\nraw\tNOT YET AVAILABLE\n");
    assert!(observer.change("good", 4) && observer.change("good", 2), "deactivate, clean up");
    fails(
        &["start", "good"],
        1,
        &["Unable to start good: not configured yet", "ros2 lifecycle set /good configure"],
    );

    let long = "x".repeat(65_536);
    fails(&["start", ""], 2, &["empty"]);
    fails(&["start", &long], 2, &["it is too long"]);
    fails(&["start", "two words"], 2, &["is not valid"]);
    fails(&["start"], 2, &["--all"]);
    fails(&["status", "--dialect", "vicon"], 2, &["no dialect"]);
    let nobody = Stage::new();
    // Somebody is in this domain of the machine, and nobody in that one.
    let output = nobody.command(&["status", "--wait", "1"]);
    let hint =
        format!("this is domain {}, and on this machine there is somebody in domain ", nobody.domain());
    let errors = text(&output.stderr);
    let named =
        errors.lines().find_map(|line| line.strip_prefix(&*hint)?.split_once(": ")).map(|(list, _)| list);
    let here = stage.domain().to_string();
    let told = named.is_some_and(|list| list.split(", ").any(|domain| domain == here));
    // The kernel gives ports from domain 102 on to anybody.
    assert!(told || stage.domain() > 101, "{errors}");
    let output = nobody.command(&["start", "--all", "--discovery", "1"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no system announced itself"), "{output:?}");
}

#[test]
fn a_slow_system_gets_the_time_it_was_given() {
    let stage = Stage::new();
    let _slow = stage.system(&["--kind", "auxiliary", "--name", "slow", "--delay", "3"]);
    let output = stage.command(&["start", "slow", "--timeout", "30"]);
    assert!(text(&output.stdout).starts_with("slow started: acknowledged after 3"), "{output:?}");
    let output = stage.command(&["stop", "slow", "--timeout", "30"]);
    assert!(text(&output.stdout).starts_with("slow stopped: acknowledged after 3"), "{output:?}");
    let output = stage.command(&["start", "slow", "--timeout", "2.5"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr);
    let expected =
        "Error starting slow: still inactive and no acknowledgement: its activation failed or takes longer";
    assert!(errors.contains(expected), "{errors}");
}

#[test]
fn a_system_that_listens_elsewhere_is_called_unreachable() {
    let stage = Stage::new();
    let _deaf = stage.system(&words("--kind auxiliary --name deaf --ros-args -r mocap_control:=elsewhere"));
    let output = stage.command(&["start", "deaf", "--timeout", "5", "--discovery", "1"]);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("its mocap_control subscription is not matched"), "{errors}");
}

#[test]
fn hostile_samples_lose_nothing() {
    let stage = Stage::new();
    let system = stage.system(&["--kind", "auxiliary", "--name", "cam"]);
    let daemon = stage.controller(&["run"]);
    daemon.wait_for_line("[cam] is inactive", PATIENCE);
    let mut observer = stage.observer(Dialect::Mocap);
    observer.until_heard_by(2);
    let long = "x".repeat(65_536);
    let message = |source: &str, kind: i8| Control {
        control_type: kind,
        system_source: source.into(),
        capture_session_id: long.clone(),
        capture_systems: vec![long.clone(), String::new()],
        ..Control::default()
    };
    observer.say_raw(cdr::to_payload(&message(&long, 0)));
    observer.say_raw(cdr::to_payload(&message(&long, 1)));
    observer.say_raw(cdr::to_payload(&message("", 1)));
    observer.say_raw(cdr::to_payload(&message("\u{1b}[2J", 3)));
    // Not UTF-8: the source's letters are overwritten; then cut short; then lengths beyond the end.
    let mut invalid = cdr::to_payload(&message("observer", 0));
    let letters = invalid.windows(8).position(|w| w == b"observer").unwrap();
    invalid[letters..letters + 8].fill(0xff);
    observer.say_raw(invalid.clone());
    observer.say_raw(invalid[..21].to_vec());
    let mut endless = cdr::to_payload(&message("observer", 0));
    endless[letters - 4..letters].fill(0xff);
    observer.say_raw(endless);
    let names = Dialect::Mocap.names();
    let qos = environment_qos();
    let environment =
        observer.node.raw_publisher((names.environment_topic, qos), (names.info_type, "")).unwrap();
    let info = MocapInfo { system_source: long.clone(), ..MocapInfo::default() };
    environment.publish(cdr::to_payload(&info));
    daemon.wait_for_line("it is too long", PATIENCE);
    daemon.wait_for_line("bad source: system name '' is not valid", PATIENCE);
    system.wait_for_line("such samples so far", PATIENCE);

    observer.say(0, "after the storm", &[]);
    observer.until("the system obeys as ever", |seen| seen.acks().contains(&(1, "cam")));
    daemon.wait_for_line("[cam] inactive -> active", PATIENCE);
    assert_eq!(text(&stage.command(&["status"]).stdout), "cam\tACTIVE\n");
}

#[test]
fn wrong_clocks_and_slow_systems_are_told_apart() {
    let stage = Stage::new();
    let _ahead = stage.system(&["--kind", "auxiliary", "--name", "ahead", "--clock-offset", "0.5"]);
    let _behind = stage.system(&["--kind", "auxiliary", "--name", "behind", "--clock-offset", "-0.5"]);
    let _slow = stage.system(&["--kind", "auxiliary", "--name", "slow", "--delay", "0.4"]);
    let output = stage.command(&["start", "--all", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    rosless_tests::assert_documented("mocap-controller start", &report);
    let status: serde_json::Value =
        serde_json::from_slice(&stage.command(&["status", "--json"]).stdout).unwrap();
    rosless_tests::assert_documented("mocap-controller status", &status);
    let find = |name: &str, field: &str| {
        let system = report["systems"].as_array().unwrap().iter().find(|s| s["name"] == name).unwrap();
        system[field].as_f64().unwrap_or_else(|| panic!("{name} has no {field}: {system}"))
    };
    for (name, truth) in [("ahead", 500.0), ("behind", -500.0), ("slow", 0.0)] {
        let (offset, uncertainty) = (find(name, "clock_offset_ms"), find(name, "clock_uncertainty_ms"));
        assert!(
            (offset - truth).abs() <= uncertainty + 0.001,
            "{name}: {offset} ± {uncertainty} is not {truth}"
        );
    }
    assert!(find("slow", "answered_after_ms") >= 400.0);
    let errors = text(&output.stderr);
    let line = |name: &str| {
        errors.lines().find(|l| l.contains(&format!("[{name}] start elapsed"))).map(str::to_owned)
    };
    for name in ["ahead", "behind"] {
        assert!(line(name).is_some_and(|l| l.starts_with("[ERROR]")), "{errors}");
    }
    assert_eq!(line("slow"), None, "a slow activation is no wrong clock");
}

#[test]
fn watch_shows_the_session_while_it_runs() {
    let stage = Stage::new();
    let _system = stage.system(&["--kind", "auxiliary", "--name", "cam", "--topics", "data"]);
    let watch = stage.controller(&["watch"]);
    watch.wait_for_line("cam     inactive", PATIENCE);
    let mut observer: Observer = stage.observer(Dialect::Mocap);
    observer.until_heard_by(2);
    observer.say(0, "take_7", &["cam"]);
    observer.until("the acknowledgement", |seen| seen.acks() == [(1, "cam")]);
    let line = watch.wait_for_line("take_7", PATIENCE);
    assert!(line.contains("active") && line.contains("data") && line.contains("start"), "{line}");
}

#[test]
fn watch_ends_with_its_reader() {
    let stage = Stage::new();
    let _system = stage.system(&["--kind", "auxiliary", "--name", "cam"]);
    let mut watch = stage.prepare_command(&["watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("inactive")));
    drop(lines);
    let ended = rosless_tests::eventually_some("watch ends", PATIENCE, || watch.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn the_tab_key_names_the_systems() {
    let stage = Stage::new();
    let _system = stage.system(&["--kind", "auxiliary", "--name", "cam"]);
    // A shell asks this way; on a busy machine discovery may take longer than one press of the key waits.
    rosless_tests::eventually("the system is offered", PATIENCE, || {
        let mut shell = stage.prepare_command(&["--", "mocap-controller", "start", "ca"]);
        let offered = shell.env("COMPLETE", "fish").output().expect("it can be run");
        text(&offered.stdout).lines().any(|line| line == "cam")
    });
}

#[test]
fn without_a_verb_there_is_help() {
    let output = Stage::new().command(&[]);
    assert!(
        output.status.success() && text(&output.stdout).contains("Usage: mocap-controller"),
        "{output:?}"
    );
}

#[test]
fn what_needs_no_stopping_is_told_with_its_state() {
    let stage = Stage::new();
    let _system = stage.system(&["--kind", "auxiliary", "--name", "cam"]);
    let mut observer = stage.observer(Dialect::Mocap);
    assert!(observer.change("cam", 2), "cleaned up");
    let output = observer.command(&stage, &["stop"]);
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(0), "cam not active (unconfigured)\n")
    );
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let stage = Stage::new();
    let _system = stage.system(&["--kind", "auxiliary", "--name", "cam"]);
    for arguments in [&["status"][..], &["status", "--json"], &["start", "cam"], &["watch", "--for", "20"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
        let output = stage.prepare_command(arguments).stdout(full).output().expect("it can be run");
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {errors}");
        assert!(errors.contains("cannot write to stdout"), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_stop_of_all_is_no_success_where_somebody_may_have_been_missed() {
    let stage = Stage::new();
    let _good = stage.system(&["--kind", "auxiliary", "--name", "good"]);
    let started = stage.command(&["start", "good"]);
    assert!(started.status.success(), "{started:?}");
    // Somebody announces something that nobody can read: a system, for all one knows.
    let observer = stage.observer(Dialect::Mocap);
    let names = Dialect::Mocap.names();
    let environment = observer
        .node
        .raw_publisher((names.environment_topic, environment_qos()), (names.info_type, ""))
        .unwrap();
    assert!(environment.publish(vec![0, 1, 0, 0, 255, 255, 255, 255]));
    for arguments in [["stop", "--all", "--json"], ["start", "--all", "--json"]] {
        let output = stage.command(&arguments);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            report["systems"][0]["success"], true,
            "those that were heard are told all the same: {report}"
        );
        assert_eq!((&report["complete"], &report["success"]), (&false.into(), &false.into()), "{report}");
        let errors = text(&output.stderr);
        let who = observer
            .node
            .context()
            .gid()
            .prefix()
            .0
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>();
        assert!(errors.contains(&who) && errors.contains("announced nothing that can be read"), "{errors}");
        assert!(errors.contains("Name those you mean"), "{errors}");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
    let output = stage.command(&["stop", "good", "--json"]);
    assert!(output.status.success(), "who is named is not everybody: {output:?}");
}
