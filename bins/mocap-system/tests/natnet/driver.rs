//! What is published, and what becomes of it when the server or the cable goes.

use std::time::SystemTime;

use rosless_engine::Wall;
use rosless_graph::TopicQos as _;
use rosless_natnet::Version;
use rosless_tests::{DomainLease, Rig};
use rosless_wire::{
    diagnostic_msgs::msg::{DiagnosticArray, DiagnosticStatus},
    geometry_msgs::msg::WrenchStamped,
    lifecycle_msgs::{msg::Transition, srv},
    mocap4r2_msgs::msg::{Markers, RigidBodies},
    sensor_msgs::msg::PointCloud,
};

use crate::{PATIENCE, Server, scene, system};

#[derive(Debug, Default)]
struct Heard {
    /// With the nanoseconds from its stamp to its arrival.
    markers: Vec<(Markers, i64)>,
    bodies: Vec<RigidBodies>,
    wrenches: Vec<WrenchStamped>,
    analog: Vec<PointCloud>,
    diagnostics: Vec<DiagnosticStatus>,
}

fn rig(domain: &DomainLease) -> Rig<Heard> {
    let rig = Rig::<Heard>::on(domain.clone(), "observer");
    let (events, node) = (&rig.events, &rig.node);
    let age = |markers: &Markers| {
        let stamp = Wall::from_stamp(markers.header.stamp.sec, markers.header.stamp.nanosec);
        Wall::from(SystemTime::now()).since(stamp)
    };
    let hear =
        move |heard: &mut Heard, markers: Markers| heard.markers.push((markers.clone(), age(&markers)));
    events
        .subscribe::<Markers>(node, "markers".keep_last(1000), move |heard, s| hear(heard, s.message))
        .unwrap();
    events
        .subscribe::<RigidBodies>(node, "rigid_bodies".keep_last(1000), |heard, s| {
            heard.bodies.push(s.message)
        })
        .unwrap();
    events
        .subscribe::<WrenchStamped>(node, "force_plates".keep_last(1000), |heard, s| {
            heard.wrenches.push(s.message)
        })
        .unwrap();
    events
        .subscribe::<PointCloud>(node, "analog".keep_last(1000), |heard, s| heard.analog.push(s.message))
        .unwrap();
    let diagnosed = |heard: &mut Heard, array: DiagnosticArray| heard.diagnostics.extend(array.status);
    events
        .subscribe::<DiagnosticArray>(node, "/diagnostics".keep_last(1000), move |heard, s| {
            diagnosed(heard, s.message)
        })
        .unwrap();
    rig
}

fn is_level(level: u8) -> impl Fn(&Heard) -> bool {
    move |heard| heard.diagnostics.last().is_some_and(|status| status.level == level)
}

fn value(heard: &Heard, key: &str) -> Option<f64> {
    let status = heard.diagnostics.last()?;
    status.values.iter().find(|value| value.key == key)?.value.parse().ok()
}

fn activate(rig: &mut Rig<Heard>) {
    rig.until("frames come", is_level(DiagnosticStatus::OK));
    let transition = Transition { id: 3, label: String::new() };
    let answer =
        rig.call::<srv::ChangeState>("/optitrack/change_state", &srv::ChangeStateRequest { transition });
    assert!(answer.success);
}

#[test]
fn frames_are_published_z_up_with_names_and_the_time_of_capture() {
    for stream in [&[][..], &["--multicast", "239.255.42.96:15613"]] {
        let domain = DomainLease::acquire();
        let server = Server::start(&domain, &[&["--skeleton", "--analog"], stream].concat());
        let _system = system(&domain, &server.address(), &[]);
        let mut rig = rig(&domain);
        activate(&mut rig);
        rig.until("everything is published", |heard| {
            heard.markers.len() > 50
                && heard.bodies.len() > 50
                && !heard.wrenches.is_empty()
                && !heard.analog.is_empty()
        });
        let scene = scene(Version::V4_1, true, true);
        let uncertainty = value(&rig.seen, "clock uncertainty (s)").expect("the clocks are related") * 1e9;
        for (markers, age) in &rig.seen.markers {
            let expected = scene.frame(markers.frame_number as i32);
            assert_eq!(markers.header.frame_id, "mocap");
            for (seen, sent) in markers.markers.iter().zip(&expected.markers) {
                let [x, y, z] = sent.position.map(f64::from);
                let place = &seen.translation;
                assert_eq!((place.x, place.y, place.z), (x, -z, y));
            }
            // The server says that it exposed 5 ms before it sent; a stamp of arrival would be younger.
            assert!(*age as f64 > 5e6 - uncertainty - 1e6, "{age} ± {uncertainty}");
        }
        let names: Vec<_> =
            rig.seen.bodies[0].rigidbodies.iter().map(|b| b.rigid_body_name.clone()).collect();
        assert_eq!(names, ["body_1", "body_2", "Anna/Hip", "Anna/Ab", "Anna/Chest"]);
        assert_eq!(rig.seen.wrenches[0].header.frame_id, "mocap/force_plate_FP0001");
        assert_eq!(rig.seen.analog[0].channels.len(), 8);
        assert_eq!(value(&rig.seen, "lost"), Some(0.0));
    }
}

#[test]
fn a_server_that_hangs_or_is_started_again_is_an_error_and_mends_itself() {
    let domain = DomainLease::acquire();
    let server = Server::start(&domain, &["--lose-every", "40", "--swap-every", "27"]);
    let system = system(&domain, &server.address(), &[]);
    let mut rig = rig(&domain);
    activate(&mut rig);
    rig.until("loss and disorder are told", |heard| {
        value(heard, "lost") > Some(1.0) && value(heard, "out of order") > Some(1.0)
    });

    // As a pulled cable: nothing comes, nothing is refused.
    server.daemon.signal("STOP");
    rig.until("silence is an error", is_level(DiagnosticStatus::ERROR));
    system.wait_for_line("the server does not answer any more", PATIENCE);
    server.daemon.signal("CONT");
    rig.until("frames come again", is_level(DiagnosticStatus::OK));

    let Server { daemon, port } = server;
    drop(daemon);
    rig.until("its end is an error", is_level(DiagnosticStatus::ERROR));
    let _server = Server::on(&domain, port, &["--bodies", "3", "--add-body-after", "4"]);
    rig.until("a new server is found", is_level(DiagnosticStatus::OK));
    system.wait_for_line("clock began anew", PATIENCE);
    let has = |heard: &Heard, name: &str| {
        let last = heard.bodies.last().map(|bodies| &bodies.rigidbodies);
        last.is_some_and(|bodies| bodies.iter().any(|body| body.rigid_body_name == name))
    };
    rig.until("bodies have their names", |heard| has(heard, "body_3"));
    rig.until("one that is added while frames come has its name, too", |heard| has(heard, "body_4"));
}

#[test]
fn without_frames_the_system_does_not_become_active() {
    let domain = DomainLease::acquire();
    let server = Server::start(&domain, &["--silent"]);
    let system = system(&domain, &server.address(), &[]);
    let mut rig = rig(&domain);
    rig.until("it is connected", |heard| {
        heard.diagnostics.iter().any(|status| status.message.contains("sends no frames"))
    });
    let transition = Transition { id: 3, label: String::new() };
    let answer =
        rig.call::<srv::ChangeState>("/optitrack/change_state", &srv::ChangeStateRequest { transition });
    assert!(!answer.success);
    system.wait_for_line("cannot activate without frames of 127.0.0.1", PATIENCE);
}
