//! The originals' own acceptance test, in every dialect.

use std::{collections::BTreeMap, sync::Arc};

use rosless_graph::{
    graph::EndpointKind,
    qos::{Durability, Reliability},
};
use rosless_protocol::{Dialect, controller::Targets, message::Command};

use crate::stage::{
    ACTIVATE, ACTIVE, CLEANUP, CONFIGURE, INACTIVE, Observer, PATIENCE, Stage, UNCONFIGURED, text,
};

fn upstream_scenario(dialect: Dialect, one: &str, two: &str) {
    let stage = Stage::new();
    let name = dialect.to_string();
    let options = |system| {
        ["--kind", "auxiliary", "--topics", "data", "--unconfigured", "--dialect", &name, "--name", system]
    };
    let (first, second) = (stage.system(&options(one)), stage.system(&options(two)));
    let mut observer = stage.observer(dialect);
    let controller = observer.controller();
    assert_eq!((observer.state(one), observer.state(two)), (UNCONFIGURED, UNCONFIGURED));
    assert_eq!(observer.seen.infos, [], "nobody announces itself before it is configured");

    assert!(observer.change(one, CONFIGURE) && observer.change(two, CONFIGURE));
    observer.until("both announce themselves", |seen| seen.infos.len() >= 2);
    for info in &observer.seen.infos {
        assert_eq!((info.ros_version_source, &info.topics[..]), (0, &["data".to_owned()][..]));
    }
    assert_eq!((observer.state(one), observer.state(two)), (INACTIVE, INACTIVE));

    let report = observer.request(&controller, Command::Start, "session_1", Targets::All);
    assert!(report.is_success(), "{report:?}");
    assert_eq!((observer.state(one), observer.state(two)), (ACTIVE, ACTIVE));
    for system in [&first, &second] {
        system.wait_for_line(r#"session "session_1""#, PATIENCE);
    }
    let acks = observer.seen.controls.iter().filter(|c| c.control_type == 1).cloned().collect::<Vec<_>>();
    assert_eq!(acks.len(), 2);
    for ack in acks {
        assert!(ack.system_source == one || ack.system_source == two);
        assert_eq!((ack.capture_session_id.as_str(), ack.capture_systems.len()), ("", 0));
        let asked = observer.seen.controls.iter().find(|c| c.control_type == 0).unwrap().stamp.clone();
        let now = observer.node.now();
        let order = |t: &rosless_wire::builtin_interfaces::msg::Time| (t.sec, t.nanosec);
        assert!(order(&asked) <= order(&ack.stamp) && order(&ack.stamp) <= order(&now));
    }

    assert!(observer.request(&controller, Command::Stop, "", Targets::All).is_success());
    assert_eq!((observer.state(one), observer.state(two)), (INACTIVE, INACTIVE));
    let only = Targets::Named(vec![one.to_owned()]);
    assert!(observer.request(&controller, Command::Start, "session_2", only).is_success());
    assert_eq!((observer.state(one), observer.state(two)), (ACTIVE, INACTIVE));
    first.wait_for_line(r#"session "session_2""#, PATIENCE);
    assert!(observer.request(&controller, Command::Stop, "", Targets::All).is_success());
    assert_eq!((observer.state(one), observer.state(two)), (INACTIVE, INACTIVE));
    assert!(!second.output().contains("session_2"));

    assert_eq!(observer.seen.infos.len(), 2);
    late_observer_gets(&stage, dialect, 2);
    // Repeated configuration must not leave repeated announcements behind.
    assert!(observer.change(one, CLEANUP) && observer.change(one, CONFIGURE));
    observer.until("the new announcement", |seen| seen.infos.len() >= 3);
    late_observer_gets(&stage, dialect, 2);
}

fn late_observer_gets(stage: &Stage, dialect: Dialect, infos: usize) {
    let mut late: Observer = stage.observer(dialect);
    late.until("the late observer's announcements", |seen| seen.infos.len() >= infos);
    late.linger(300);
    assert_eq!(late.seen.infos.len(), infos, "{:?}", late.seen.infos);
}

#[test]
fn upstream_scenario_in_the_mocap_dialect() {
    upstream_scenario(Dialect::Mocap, "mocap_system_1", "mocap_system_2");
}

#[test]
fn upstream_scenario_in_the_device_dialect() {
    upstream_scenario(Dialect::Device, "device_system_1", "device_system_2");
}

#[test]
fn upstream_scenario_in_the_mocap4r2_dialect() {
    upstream_scenario(Dialect::Mocap4r2, "mocap4r2_1", "mocap4r2_2");
}

#[test]
fn wire_rules_of_a_controlled_system() {
    let stage = Stage::new();
    let system = stage.system(&["--kind", "auxiliary", "--name", "cam", "--topics", "b,a,b"]);
    let mut observer = stage.observer(Dialect::Mocap);
    observer.until_heard_by(1);
    observer.until("its announcement", |seen| !seen.infos.is_empty());
    assert_eq!(observer.seen.infos[0].topics, ["a", "b"], "sorted, once each, without the protocol's own");

    let (volatile, latched) = (Durability::Volatile, Durability::TransientLocal);
    // Systems are not sent what other systems answer.
    let expected = [
        ("/mocap_control", EndpointKind::Reader, volatile, Some("commands")),
        ("/mocap_control", EndpointKind::Writer, volatile, Some("answers")),
        ("/mocap_environment", EndpointKind::Writer, latched, None),
    ];
    let expected = expected.map(|(topic, kind, durability, part)| {
        ((topic.to_owned(), kind), (Reliability::Reliable, durability, part.map(Arc::from)))
    });
    let expected = BTreeMap::from(expected);
    // History is not announced: DDS leaves it to each side.
    let context = observer.node.context().clone();
    observer.until("its endpoints with their quality of service", |_| {
        let graph = context.graph();
        let endpoints = graph.endpoints_of("/cam").into_iter().map(|(_, endpoint)| endpoint);
        let of_protocol = endpoints.filter(|e| e.type_name().starts_with("mocap_control_msgs"));
        let seen = of_protocol
            .map(|e| ((e.ros_name(), e.kind), (e.qos.reliability, e.qos.durability, e.part.clone())));
        seen.collect::<BTreeMap<_, _>>() == expected
    });

    for others in [&["nobody"][..], &[""], &["/lab/cam"]] {
        observer.say(0, "s", others);
    }
    observer.say(2, "s", &[]);
    observer.say(77, "s", &[]);
    assert_eq!(observer.state("cam"), INACTIVE, "not meant, nothing to stop, unknown type");
    assert_eq!(observer.seen.acks(), []);

    // ROS 1 spells names with a slash.
    observer.say(0, "slashed", &["/cam"]);
    observer.until("the acknowledgement", |seen| seen.acks() == [(1, "cam")]);
    system.wait_for_line(r#"session "slashed""#, PATIENCE);
    observer.say(0, "again", &["cam"]);
    system.wait_for_line("Activation requested in state active: already active", PATIENCE);
    assert_eq!(observer.state("cam"), ACTIVE);
    observer.say(2, "", &["other"]);
    assert_eq!(observer.state("cam"), ACTIVE, "a STOP may name its systems too");
    observer.say(2, "", &["cam"]);
    observer.until("the second acknowledgement", |seen| seen.acks() == [(1, "cam"), (3, "cam")]);
    assert_eq!(observer.state("cam"), INACTIVE);

    assert!(observer.change("cam", ACTIVATE), "the lifecycle works beside the protocol");
    assert_eq!(observer.state("cam"), ACTIVE);
    assert_eq!(observer.seen.acks().len(), 2, "and acknowledges nothing");
}

#[test]
fn a_dialect_named_twice_is_spoken_once() {
    let stage = Stage::new();
    let system = stage.system(&["--kind", "auxiliary", "--name", "cam", "--dialect", "mocap,device,mocap"]);
    late_observer_gets(&stage, Dialect::Mocap, 1);
    late_observer_gets(&stage, Dialect::Device, 1);
    let mut observer = stage.observer(Dialect::Mocap);
    observer.until_heard_by(1);
    observer.say(0, "once", &[]);
    observer.until("the acknowledgement", |seen| !seen.acks().is_empty());
    system.wait_for_line(r#"session "once""#, PATIENCE);
    assert!(!system.output().contains("Activation requested"), "one START, heard once");
}

#[test]
fn systems_that_would_share_a_name_are_refused() {
    let stage = Stage::new();
    let options = ["--kind", "auxiliary", "--count", "2", "--ros-args", "-r", "__node:=cam"];
    let output = stage.mocap_system(&options).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("two of the systems would be called /cam"), "{errors}");
    let renamed = stage.system(
        &options[..3].iter().chain(&["1", "--ros-args", "-r", "__node:=cam"]).copied().collect::<Vec<_>>(),
    );
    renamed.wait_for_line("[cam]: system cam is inactive", PATIENCE);
}

#[test]
fn systems_of_one_name_in_two_namespaces() {
    let stage = Stage::new();
    let options = |namespace| ["--kind", "auxiliary", "--name", "cam", "--ros-args", "-r", namespace];
    let _left = stage.system(&options("__ns:=/left"));
    let _right = stage.system(&options("__ns:=/right"));
    let output = stage.command(&["start", "/left/cam"]);
    assert!(output.status.success(), "{output:?}");
    let mut observer = stage.observer(Dialect::Mocap);
    assert_eq!((observer.state("left/cam"), observer.state("right/cam")), (ACTIVE, INACTIVE));
    let output = stage.command(&["start", "cam"]);
    assert!(output.status.success(), "a bare name means both: {output:?}");
    assert_eq!((observer.state("left/cam"), observer.state("right/cam")), (ACTIVE, ACTIVE));
}

#[test]
fn a_controller_kept_to_a_namespace_leaves_the_others_alone() {
    let stage = Stage::new();
    let options = |namespace| ["--kind", "auxiliary", "--name", "cam", "--ros-args", "-r", namespace];
    let _left = stage.system(&options("__ns:=/left"));
    let _right = stage.system(&options("__ns:=/right"));
    let output = stage.command(&["--namespace", "left", "status"]);
    assert_eq!(text(&output.stdout), "/left/cam\tREADY\n", "{output:?}");
    let output = stage.command(&["--namespace", "left", "start", "--all"]);
    assert!(output.status.success(), "{output:?}");
    let mut observer = stage.observer(Dialect::Mocap);
    assert_eq!((observer.state("left/cam"), observer.state("right/cam")), (ACTIVE, INACTIVE));
}

#[test]
fn who_asks_in_the_wrong_dialect_is_told_the_right_one() {
    let stage = Stage::new();
    let _cam = stage.system(&["--kind", "auxiliary", "--name", "cam", "--dialect", "mocap4r2"]);
    for command in [&["--dialect", "device", "status"][..], &["--dialect", "device", "start", "cam"]] {
        let output = stage.command(command);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{command:?}: {errors}");
        let hint = "somebody speaks mocap4r2 on mocap4r2_environment: leave out --dialect device";
        assert!(errors.contains(hint), "{command:?}: {errors}");
    }
}
