//! What the systems publish, and when.

use rosless_graph::TopicQos;
use rosless_protocol::Dialect;
use rosless_tests::words;
use rosless_wire::{
    mocap4r2_msgs::msg::{Markers, RigidBodies},
    sensor_msgs::msg::Imu,
};

use crate::stage::{ACTIVE, INACTIVE, Observer, Stage, text};

use std::{cell::RefCell, rc::Rc};

fn collect<M: rosless_wire::Message>(observer: &Observer, topic: &str) -> Rc<RefCell<Vec<M>>> {
    let samples = Rc::new(RefCell::new(Vec::new()));
    let sink = samples.clone();
    let subscribed =
        observer.events.subscribe::<M>(&observer.node, topic.keep_last(100), move |_, sample| {
            sink.borrow_mut().push(sample.message);
        });
    subscribed.unwrap();
    samples
}

#[test]
fn the_dummy_driver_publishes_frames_only_while_active_and_counts_on() {
    let stage = Stage::new();
    let _system = stage.system(&["--kind", "dummy", "--name", "cam", "--dialect", "mocap4r2"]);
    let mut observer = stage.observer(Dialect::Mocap4r2);
    let (markers, bodies) =
        (collect::<Markers>(&observer, "markers"), collect::<RigidBodies>(&observer, "rigid_bodies"));
    observer.until_heard_by(1);
    observer.until("its announcement", |seen| !seen.infos.is_empty());
    assert_eq!(observer.seen.infos[0].topics, ["markers", "rigid_bodies"]);
    let mut last = 0;
    for round in 1..=2 {
        observer.say(0, "s", &[]);
        observer.until("frames come", |_| markers.borrow().len() >= 10 && bodies.borrow().len() >= 10);
        observer.say(2, "", &[]);
        observer.until("the stop is acknowledged", |seen| seen.acks().len() == 2 * round);
        observer.linger(100);
        let frames: Vec<u32> = markers.borrow().iter().map(|m| m.frame_number).collect();
        assert!(frames.windows(2).all(|w| w[1] == w[0] + 1), "none is lost: {frames:?}");
        assert!(frames[0] > last, "frame numbers go on after a stop: {last}, {frames:?}");
        last = *frames.last().unwrap();
        observer.linger(200);
        assert_eq!(markers.borrow().len(), frames.len(), "silent while inactive");
        let (frame, body) = (markers.borrow()[0].clone(), bodies.borrow()[0].clone());
        assert_eq!((frame.header.frame_id.as_str(), frame.markers.len()), ("mocap", 3));
        assert_eq!(frame.markers[2].translation.y, -0.1);
        assert_eq!(
            (body.rigidbodies[0].rigid_body_name.as_str(), body.rigidbodies[0].pose.orientation.w),
            ("rigid_body_0", 1.0)
        );
        markers.borrow_mut().clear();
        bodies.borrow_mut().clear();
    }
}

#[test]
fn the_example_device_publishes_imu_data_while_active() {
    let stage = Stage::new();
    let _system = stage.system(&["--kind", "imu"]);
    let mut observer = stage.observer(Dialect::Device);
    let imu = collect::<Imu>(&observer, "mocap_imu_data");
    observer.until("its announcement", |seen| !seen.infos.is_empty());
    assert_eq!(observer.seen.infos[0].system_source, "controlled_device_example");
    assert_eq!(observer.seen.infos[0].topics, ["mocap_imu_data"]);
    assert_eq!(observer.state("controlled_device_example"), INACTIVE);
    assert_eq!(
        text(&stage.command(&["--dialect", "device", "status"]).stdout),
        "controlled_device_example\tREADY\n"
    );
    assert!(observer.command(&stage, &["--dialect", "device", "start", "--all"]).status.success());
    assert_eq!(observer.state("controlled_device_example"), ACTIVE);
    observer.until("data comes", |_| imu.borrow().len() >= 10);
    let stamps: Vec<_> = imu.borrow().iter().map(|m| (m.header.stamp.sec, m.header.stamp.nanosec)).collect();
    assert!(stamps.is_sorted() && stamps[0].0 > 1_600_000_000, "{stamps:?}");
    assert_eq!((imu.borrow()[0].header.frame_id.as_str(), imu.borrow()[0].linear_acceleration.x), ("", 0.0));
}

#[test]
fn an_auxiliary_system_takes_its_topics_from_a_parameter_file() {
    let folder = rosless_tests::Scratch::make();
    let yaml =
        "example_device_1:\n  ros__parameters:\n    topics: [system1/sensor2, system1, system1/sensor1]\n";
    let file = folder.file("aux.yaml", yaml);
    let stage = Stage::new();
    let path = file.to_str().unwrap();
    let system = stage
        .system(&words(&format!("--kind auxiliary --name example_device_1 --ros-args --params-file {path}")));
    let mut observer = stage.observer(Dialect::Mocap);
    observer.until_heard_by(1);
    observer.until("its announcement", |seen| !seen.infos.is_empty());
    assert_eq!(observer.seen.infos[0].topics, ["system1", "system1/sensor1", "system1/sensor2"]);
    observer.say(0, "s", &[]);
    system.wait_for_line("System [example_device_1] started with topics:", crate::stage::PATIENCE);
    system.wait_for_line("  - [system1/sensor2]", crate::stage::PATIENCE);
    observer.say(2, "", &[]);
    system.wait_for_line("System [example_device_1] stopped", crate::stage::PATIENCE);
}
