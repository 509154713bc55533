//! The companions as users meet them: processes on a DDS domain of their own.

use std::{process::Command, time::Duration};

use rosless_graph::{Context, ContextOptions, EventLoop, Node, Qos};
use rosless_tests::{Daemon, DomainLease};
use rosless_wire::{
    geometry_msgs::msg::{Point, Pose, Quaternion, TransformStamped},
    mocap4r2_marker_viz_srvs::srv::{SetMarkerColor, SetMarkerColorRequest},
    mocap4r2_msgs::msg::{Markers, RigidBodies, RigidBody},
    std_msgs::msg::{ColorRGBA, Header, Int32},
    tf2_msgs::msg::TFMessage,
    visualization_msgs::msg::{Marker as Shape, MarkerArray},
};

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Default)]
struct Seen {
    columns: Vec<Markers>,
    spheres: Vec<MarkerArray>,
    arrows: Vec<MarkerArray>,
    truth: Vec<TransformStamped>,
    answered: bool,
}

struct Stage {
    domain: DomainLease,
    event_loop: EventLoop<Seen>,
    node: Node,
    seen: Seen,
}

impl Stage {
    fn new() -> Self {
        let domain = DomainLease::acquire();
        let context = Context::new(ContextOptions::for_domain(domain.id())).unwrap();
        let (node, event_loop) = (context.node("observer").unwrap(), EventLoop::new(&context).unwrap());
        Self { domain, event_loop, node, seen: Seen::default() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.domain.command(env!("CARGO_BIN_EXE_mocap-companion"), arguments)
    }

    fn companion(&self, arguments: &[&str]) -> Daemon {
        let daemon = Daemon::spawn(self.command(arguments));
        daemon.wait_for_line("is ready", PATIENCE);
        daemon
    }

    #[track_caller]
    fn until(&mut self, what: &str, mut condition: impl FnMut(&Seen) -> bool) {
        let done = self.event_loop.run_until(&mut self.seen, PATIENCE, |seen| condition(seen)).unwrap();
        assert!(done, "not within {PATIENCE:?}: {what}");
    }
}

fn body_at(x: f64, y: f64) -> RigidBodies {
    let orientation = Quaternion { w: 1.0, ..Quaternion::default() };
    let pose = Pose { position: Point { x, y, z: 0.5 }, orientation };
    let body = RigidBody { pose, ..RigidBody::default() };
    RigidBodies { rigidbodies: vec![body], ..RigidBodies::default() }
}

#[test]
fn published_markers_and_bodies_are_displayed_and_colours_can_be_set() {
    let mut stage = Stage::new();
    let _display = stage.companion(&["visualise", "--ros-args", "-p", "marker_lifetime:=0.5"]);
    let qos = Qos::default().depth(1000);
    let (events, node) = (&stage.event_loop, &stage.node);
    events
        .subscribe::<MarkerArray>(node, "visualization_marker", qos, |s, m| s.spheres.push(m.message))
        .unwrap();
    events
        .subscribe::<MarkerArray>(node, "visualization_marker_rb", qos, |s, m| s.arrows.push(m.message))
        .unwrap();
    events.subscribe::<Markers>(node, "markers", Qos::default(), |s, m| s.columns.push(m.message)).unwrap();
    let bodies = node.publisher::<RigidBodies>("rigid_bodies", qos).unwrap();
    let again = bodies.clone();
    events.timer(Duration::from_millis(100), move |_| {
        again.publish(&body_at(1.0, 2.0));
    });
    let _markers = stage.companion(&["markers"]);
    stage.until("markers, spheres and arrows", |seen| {
        !seen.columns.is_empty() && !seen.spheres.is_empty() && !seen.arrows.is_empty()
    });
    let (column, spheres) = (&stage.seen.columns[0], &stage.seen.spheres[0].markers);
    assert_eq!((column.markers.len(), spheres.len()), (10, 10));
    assert_eq!((spheres[3].id, spheres[3].r#type, spheres[3].color.g), (3, Shape::SPHERE, 1.0));
    assert_eq!((spheres[3].lifetime.sec, spheres[3].lifetime.nanosec), (0, 500_000_000));
    let arrow = &stage.seen.arrows[0].markers[0];
    assert_eq!((arrow.r#type, arrow.pose.position.x, arrow.pose.position.y), (Shape::ARROW, -2.0, 1.0));

    let client = stage.event_loop.client::<SetMarkerColor>(&stage.node, "set_marker_color").unwrap();
    let red = ColorRGBA { r: 1.0, g: 0.0, b: 0.0, a: 1.0 };
    let request = SetMarkerColorRequest { id: Int32 { data: 3 }, color: red.clone() };
    client.call(&request, PATIENCE, |seen, answer| seen.answered = answer.is_ok());
    stage.until("the colour is set", |seen| seen.answered);
    stage.until("marker 3 is red and the others are not", |seen| {
        let newest = &seen.spheres.last().unwrap().markers;
        newest[3].color == red && newest[4].color.r == 0.0
    });
}

#[test]
fn the_ground_truth_follows_the_body_and_its_origin_can_be_set() {
    let mut stage = Stage::new();
    let early = stage.command(&["set-origin"]).output().unwrap();
    let text = String::from_utf8_lossy(&early.stderr).into_owned();
    assert!(!early.status.success() && text.contains("mocap-companion ground-truth"), "{text}");

    let truth = stage.companion(&["ground-truth", "--ros-args", "-p", "root_frame:=map"]);
    let early = stage.command(&["set-origin"]).output().unwrap();
    let text = String::from_utf8_lossy(&early.stderr).into_owned();
    assert!(!early.status.success() && text.contains("Pose still not valid setting origin"), "{text}");

    let (events, node) = (&stage.event_loop, &stage.node);
    let frames = node.publisher::<TFMessage>("/tf_static", Qos::latched()).unwrap();
    let mut mount = TransformStamped {
        header: Header { frame_id: "base_footprint".into(), ..Header::default() },
        child_frame_id: "base_mocap".into(),
        ..TransformStamped::default()
    };
    (mount.transform.translation.z, mount.transform.rotation.w) = (0.5, 1.0);
    frames.publish(&TFMessage { transforms: vec![mount] });
    let bodies = node.publisher::<RigidBodies>("rigid_bodies", Qos::sensor_data()).unwrap();
    events.timer(Duration::from_millis(50), move |_| {
        // A frame without a body crashed the original.
        bodies.publish(&RigidBodies::default());
        bodies.publish(&body_at(3.0, 4.0));
    });
    events
        .subscribe::<TFMessage>(node, "/tf", Qos::default().depth(100), |s, m| {
            s.truth.extend(m.message.transforms)
        })
        .unwrap();
    stage.until("the ground truth", |seen| !seen.truth.is_empty());
    let first = &stage.seen.truth[0];
    assert_eq!((first.header.frame_id.as_str(), first.child_frame_id.as_str()), ("map", "base_footprint_gt"));
    let place = &first.transform.translation;
    assert_eq!((place.x, place.y, place.z), (3.0, 4.0, 0.0));

    for (arguments, wanted) in
        [(&["set-origin"][..], (0.0, 0.0)), (&["set-origin", "1", "-2", "0", "0", "0", "0.5"], (1.0, -2.0))]
    {
        // The observer feeds the ground truth, so it must go on while the command runs.
        let mut command = Daemon::spawn(stage.command(arguments));
        stage.until("the robot is where it is said to be", |seen| {
            let place = &seen.truth.last().unwrap().transform.translation;
            (place.x - wanted.0).abs() < 1e-9 && (place.y - wanted.1).abs() < 1e-9
        });
        assert!(command.wait(PATIENCE).success(), "{}", command.output());
    }
    drop(truth);
}
