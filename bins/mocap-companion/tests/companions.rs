//! The companions as users meet them: processes on a DDS domain of their own.

use std::{process::Command, time::Duration};

use rosless_graph::TopicQos;
use rosless_tests::{Daemon, Rig};
use rosless_wire::{
    geometry_msgs::msg::{Point, Pose, Quaternion, TransformStamped},
    mocap4r2_marker_viz_srvs::srv::{SetMarkerColor, SetMarkerColorRequest},
    mocap4r2_msgs::msg::{Markers, RigidBodies, RigidBody},
    std_msgs::msg::{ColorRGBA, Header, Int32},
    tf2_msgs::msg::TFMessage,
    visualization_msgs::msg::{Marker as Shape, MarkerArray},
};

const PATIENCE: Duration = Rig::<Seen>::PATIENCE;

#[derive(Debug, Default)]
struct Seen {
    columns: Vec<Markers>,
    spheres: Vec<MarkerArray>,
    arrows: Vec<MarkerArray>,
    truth: Vec<TransformStamped>,
}

fn command(rig: &Rig<Seen>, arguments: &[&str]) -> Command {
    rig.domain.command(env!("CARGO_BIN_EXE_mocap-companion"), arguments)
}

fn companion(rig: &Rig<Seen>, arguments: &[&str]) -> Daemon {
    let daemon = Daemon::spawn(command(rig, arguments));
    daemon.wait_for_line("is ready", PATIENCE);
    daemon
}

fn body_at(x: f64, y: f64) -> RigidBodies {
    let orientation = Quaternion { w: 1.0, ..Quaternion::default() };
    let pose = Pose { position: Point { x, y, z: 0.5 }, orientation };
    let body = RigidBody { pose, ..RigidBody::default() };
    RigidBodies { rigidbodies: vec![body], ..RigidBodies::default() }
}

#[test]
fn published_markers_and_bodies_are_displayed_and_colours_can_be_set() {
    let mut rig = Rig::<Seen>::new();
    let _display = companion(&rig, &["visualise", "--ros-args", "-p", "marker_lifetime:=0.5"]);
    let (events, node) = (&rig.events, &rig.node);
    events
        .subscribe::<MarkerArray>(node, "visualization_marker".keep_last(1000), |s, m| {
            s.spheres.push(m.message)
        })
        .unwrap();
    events
        .subscribe::<MarkerArray>(node, "visualization_marker_rb".keep_last(1000), |s, m| {
            s.arrows.push(m.message)
        })
        .unwrap();
    events.subscribe::<Markers>(node, "markers", |s, m| s.columns.push(m.message)).unwrap();
    let bodies = node.publisher::<RigidBodies>("rigid_bodies".keep_last(1000)).unwrap();
    let again = bodies.clone();
    events.timer(Duration::from_millis(100), move |_| {
        again.publish(&body_at(1.0, 2.0));
    });
    let _markers = companion(&rig, &["markers"]);
    rig.until("markers, spheres and arrows", |seen| {
        !seen.columns.is_empty() && !seen.spheres.is_empty() && !seen.arrows.is_empty()
    });
    let (column, spheres) = (&rig.seen.columns[0], &rig.seen.spheres[0].markers);
    assert_eq!((column.markers.len(), spheres.len()), (10, 10));
    assert_eq!((spheres[3].id, spheres[3].r#type, spheres[3].color.g), (3, Shape::SPHERE, 1.0));
    assert_eq!((spheres[3].lifetime.sec, spheres[3].lifetime.nanosec), (0, 500_000_000));
    let arrow = &rig.seen.arrows[0].markers[0];
    assert_eq!((arrow.r#type, arrow.pose.position.x, arrow.pose.position.y), (Shape::ARROW, -2.0, 1.0));

    let red = ColorRGBA { r: 1.0, g: 0.0, b: 0.0, a: 1.0 };
    let request = SetMarkerColorRequest { id: Int32 { data: 3 }, color: red.clone() };
    rig.call::<SetMarkerColor>("set_marker_color", &request);
    rig.until("marker 3 is red and the others are not", |seen| {
        let newest = &seen.spheres.last().unwrap().markers;
        newest[3].color == red && newest[4].color.r == 0.0
    });
}

#[test]
fn the_ground_truth_follows_the_body_and_its_origin_can_be_set() {
    let mut rig = Rig::<Seen>::new();
    let early = command(&rig, &["set-origin"]).output().unwrap();
    let text = String::from_utf8_lossy(&early.stderr).into_owned();
    assert!(!early.status.success() && text.contains("mocap-companion ground-truth"), "{text}");

    let truth = companion(&rig, &["ground-truth", "--ros-args", "-p", "root_frame:=map"]);
    let early = command(&rig, &["set-origin"]).output().unwrap();
    let text = String::from_utf8_lossy(&early.stderr).into_owned();
    assert!(!early.status.success() && text.contains("Pose still not valid setting origin"), "{text}");

    let (events, node) = (&rig.events, &rig.node);
    let frames = node.publisher::<TFMessage>("/tf_static".latched()).unwrap();
    let mut mount = TransformStamped {
        header: Header { frame_id: "base_footprint".into(), ..Header::default() },
        child_frame_id: "base_mocap".into(),
        ..TransformStamped::default()
    };
    (mount.transform.translation.z, mount.transform.rotation.w) = (0.5, 1.0);
    frames.publish(&TFMessage { transforms: vec![mount] });
    let bodies = node.publisher::<RigidBodies>("rigid_bodies".sensor_data()).unwrap();
    events.timer(Duration::from_millis(50), move |_| {
        // A frame without a body crashed the original.
        bodies.publish(&RigidBodies::default());
        bodies.publish(&body_at(3.0, 4.0));
    });
    events
        .subscribe::<TFMessage>(node, "/tf".keep_last(100), |s, m| s.truth.extend(m.message.transforms))
        .unwrap();
    rig.until("the ground truth", |seen| !seen.truth.is_empty());
    let first = &rig.seen.truth[0];
    assert_eq!((first.header.frame_id.as_str(), first.child_frame_id.as_str()), ("map", "base_footprint_gt"));
    let place = &first.transform.translation;
    assert_eq!((place.x, place.y, place.z), (3.0, 4.0, 0.0));

    for (arguments, wanted) in
        [(&["set-origin"][..], (0.0, 0.0)), (&["set-origin", "1", "-2", "0", "0", "0", "0.5"], (1.0, -2.0))]
    {
        // The observer feeds the ground truth, so it must go on while the command runs.
        let mut command = Daemon::spawn(command(&rig, arguments));
        rig.until("the robot is where it is said to be", |seen| {
            let place = &seen.truth.last().unwrap().transform.translation;
            (place.x - wanted.0).abs() < 1e-9 && (place.y - wanted.1).abs() < 1e-9
        });
        assert!(command.wait(PATIENCE).success(), "{}", command.output());
    }
    drop(truth);
}
