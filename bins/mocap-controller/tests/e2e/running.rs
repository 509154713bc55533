//! Beside a controller that is running: what it sees of others, and how commands go through it.

use std::{cell::RefCell, rc::Rc};

use rosless_protocol::{
    Dialect,
    controller::Targets,
    node::{ControllerNode, ControllerOptions, Notice},
};
use rosless_wire::mocap_control_msgs::msg::MocapInfo;

use crate::stage::{PATIENCE, Seen, Stage, text};

#[test]
fn commands_go_through_a_running_controller_and_it_tells_who_is_frozen() {
    let stage = Stage::new();
    let _good = stage.system(&["--kind", "auxiliary", "--name", "good"]);
    let frozen = stage.system(&["--kind", "auxiliary", "--name", "frozen"]);
    let daemon = stage.controller(&["run"]);
    for system in ["good", "frozen"] {
        daemon.wait_for_line(&format!("[{system}] is inactive"), PATIENCE);
    }
    let output = stage.command(&["start", "good", "--session", "s1", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    rosless_tests::assert_documented("mocap-controller start", &report);
    assert!(output.status.success(), "{output:?}");
    daemon.wait_for_line("good started: acknowledged", PATIENCE);
    assert!(!daemon.output().contains("sends START"), "nobody else did");
    assert_eq!(text(&stage.command(&["status"]).stdout), "frozen\tREADY\ngood\tACTIVE\n");
    frozen.signal("STOP");
    daemon.wait_for_line("[frozen] does not answer", PATIENCE);
    assert_eq!(text(&stage.command(&["status"]).stdout), "frozen\tERROR\ngood\tACTIVE\n");
    let output = stage.command(&["start", "--all", "--session", "s1", "--timeout", "2"]);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("Error starting frozen: no acknowledgement and no answer"), "{errors}");
    frozen.signal("CONT");
    // Two of one name would both obey.
    let twin = stage.controller(&["run"]);
    twin.wait_for_line("[good] is active", PATIENCE);
    for daemon in [&daemon, &twin] {
        let line = daemon.wait_for_line("another controller has the same name", PATIENCE);
        assert!(line.starts_with("[ERROR]"), "{line}");
    }
    // Refused by the command, which saw both, or by the one that it asked.
    let output = stage.command(&["stop", "good"]);
    let errors = text(&output.stderr);
    let refused = ["2 controllers are called /mocap_controller", "another controller has the same name"];
    assert!(refused.iter().any(|why| errors.contains(why)), "{errors}");
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let output = stage.command(&["stop", "good", "--direct"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn whose_data_is_looked_at_are_all_known_also_beside_a_running_controller() {
    let stage = Stage::new();
    let names = ["one", "two", "three", "four"];
    let _systems = names.map(|name| stage.system(&["--kind", "auxiliary", "--name", name]));
    let daemon = stage.controller(&["run"]);
    for name in names {
        daemon.wait_for_line(&format!("[{name}] is inactive"), PATIENCE);
    }
    let output = stage.command(&["start", "--all", "--check-data", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["systems"].as_array().unwrap().len(), names.len(), "{report}");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_running_controller_keeps_an_appointment() {
    let stage = Stage::new();
    let one = stage.system(&["--kind", "auxiliary", "--name", "one"]);
    let daemon = stage.controller(&["run"]);
    daemon.wait_for_line("[one] is inactive", PATIENCE);
    let output = stage.command(&["start", "one", "--session", "s", "--at", "+0.5s", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    rosless_tests::assert_documented("mocap-controller start --at", &report);
    assert!(output.status.success(), "{report}");
    assert_eq!(report["scheduled"]["armed"], serde_json::json!(["one"]), "{report}");
    daemon.wait_for_line("one started: acknowledged", PATIENCE);
    assert!(stage.command(&["stop", "one"]).status.success());
    // Whoever asked may leave: the appointment is the controller's.
    let mut leaver = stage.controller(&["start", "one", "--session", "late", "--at", "+3s"]);
    one.wait_for_line("armed for session \"late\"", PATIENCE);
    leaver.signal("INT");
    leaver.wait_for_line("the running controller goes on with the start", PATIENCE);
    assert_eq!(leaver.wait(PATIENCE).code(), Some(130));
    one.wait_for_line("session \"late\" requested", PATIENCE);
}

#[test]
fn somebody_elses_start_is_watched_like_ours() {
    let stage = Stage::new();
    let _broken = stage.system(&["--kind", "auxiliary", "--name", "broken", "--fail-activate"]);
    let _good = stage.system(&["--kind", "auxiliary", "--name", "good", "--dialect", "device"]);
    let options = ["run", "--ros-args", "-p", "answer_period:=1.0"];
    let daemon = stage.controller(&options);
    for system in ["broken", "good"] {
        daemon.wait_for_line(&format!("[{system}] is inactive"), PATIENCE);
    }
    let mut observer = stage.observer(Dialect::Mocap);
    observer.until_heard_by(2);
    observer.say(0, "theirs", &[]);
    let line = daemon.wait_for_line("[broken] did not answer the START of", PATIENCE);
    assert!(
        line.starts_with("[ERROR]") && line.contains(r#"for session "theirs": it is inactive"#),
        "{line}"
    );
    let mut device = stage.observer(Dialect::Device);
    device.until_heard_by(2);
    device.say(0, "others", &[]);
    daemon.wait_for_line("[good] inactive -> active", PATIENCE);
    assert!(!daemon.output().contains("[good] did not answer"), "{}", daemon.output());
}

#[test]
fn a_system_behind_a_bridge_is_there_as_long_as_the_bridge() {
    let stage = Stage::new();
    let daemon = stage.controller(&["run"]);
    daemon.wait_for_line("controlling dialect auto", PATIENCE);
    let mut bridge = stage.observer(Dialect::Mocap);
    let info =
        MocapInfo { system_source: "/old_cam".into(), ros_version_source: 1, topics: vec!["data".into()] };
    let announcement = bridge.announce(&info);
    bridge.until_heard_by(1);
    let mut start = stage.prepare_command(&["start", "old_cam", "--session", "s1"]).spawn().unwrap();
    bridge.until("the START arrives", |seen| seen.controls.iter().any(|c| c.control_type == 0));
    let asked = bridge.seen.controls.iter().find(|c| c.control_type == 0).unwrap();
    assert_eq!(asked.capture_systems, ["/old_cam"], "by the name it goes by");
    bridge.acknowledge("/old_cam");
    bridge.until("the command ends", |_| start.try_wait().unwrap().is_some());
    assert!(start.wait().unwrap().success());
    daemon.wait_for_line("old_cam started: acknowledged, no lifecycle service to confirm", PATIENCE);
    drop((announcement, bridge));
    let line = daemon.wait_for_line(r#"[old_cam] left while session "s1" was running"#, PATIENCE);
    assert!(line.starts_with("[ERROR]"), "{line}");
}

#[test]
fn a_library_controller_may_be_asked_from_any_of_its_callbacks() {
    let stage = Stage::new();
    let _one = stage.system(&["--kind", "auxiliary", "--name", "one"]);
    let _two = stage.system(&["--kind", "auxiliary", "--name", "two"]);
    let mut observer = stage.observer(Dialect::Mocap);
    let slot: Rc<RefCell<Option<ControllerNode<Seen>>>> = Rc::default();
    let (me, asked) = (slot.clone(), Rc::new(RefCell::new(Vec::new())));
    let requests = asked.clone();
    let node = observer.node.context().node("library").unwrap();
    let controller = ControllerNode::new(
        &observer.events,
        &node,
        ControllerOptions::of(Dialect::Mocap),
        move |seen: &mut Seen, notice| {
            let Some(controller) = me.borrow().clone() else { return };
            let mut requests = requests.borrow_mut();
            let named = |name: &str| Targets::Named(vec![name.to_owned()]);
            // From an event, from a message and from a report; two of them at the same time.
            match notice {
                Notice::Event(_) if requests.is_empty() => {
                    requests.push(controller.start("s", named("one")).unwrap())
                }
                Notice::Message(_) if requests.len() == 1 => {
                    requests.push(controller.start("s", named("two")).unwrap())
                }
                Notice::Finished(report) => {
                    if seen.reports.is_empty() {
                        requests.push(controller.stop(Targets::All).unwrap());
                    }
                    seen.reports.push(report.clone());
                }
                _ => {}
            }
        },
    )
    .unwrap();
    slot.replace(Some(controller));
    observer.until("three reports", |seen| seen.reports.len() == 3);
    let asked = asked.borrow();
    let mut reported: Vec<_> = observer.seen.reports.iter().map(|report| report.request).collect();
    reported.sort_unstable();
    assert_eq!(reported, *asked, "each has its own report");
}
