//! Routes: published as the original does, and followed to their phases.

use std::{cell::Cell, rc::Rc, time::Duration};

use rosless_graph::TopicQos;
use rosless_mechanism::messages::Document;
use rosless_tests::words;
use rosless_wire::{
    geometry_msgs::msg::PoseStamped,
    mecha_control::msg::{MechaState, PointAndMechaStateArray},
    nav_msgs::msg::Odometry,
};

use crate::rig::Rig;

#[test]
fn a_point_whose_phases_take_too_long_halts_the_route_and_the_place_may_come_from_odometry() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Document>(&[], &[]);
    let at_origin = |rig: &Rig, topic: &str| {
        let publisher = rig.node.publisher::<Odometry>(topic.sensor_data()).expect("publisher");
        rig.events.timer(Duration::from_millis(50), move |_| {
            let mut odometry = Odometry::default();
            odometry.pose.pose.position.x = 0.02;
            odometry.pose.pose.orientation.w = 1.0;
            publisher.publish(&odometry);
        })
    };
    // Nobody presses the wall switches: the doll's collect waits for half a minute.
    let _publisher = rig.start(&["route", "publish", "0,0:hina=collect", "9,9", "--rate", "5"]);
    let odom = at_origin(&rig, "odom");
    let follower = rig.start(&["route", "follow", "--from", "odom", "--timeout", "2"]);
    rig.until_line(&follower, "point 1 reached: 0.00, 0.00: hina collect");
    rig.until_line(&follower, "waits for wall switches 1 and 2");
    rig.finish(follower).fails(1, "the phases of point 1 have not ended within 2 s: the route is halted");
    rig.until_status("what it began is stopped", |s| s["hina"]["ended"]["outcome"] == "stopped");

    odom.cancel();
    let _other = at_origin(&rig, "elsewhere");
    let follow = ["route", "follow", "--from", "odom", "--topic", "elsewhere", "--timeout", "30"];
    let follower = rig.start(&follow);
    rig.until_line(&follower, "point 1 reached");
    follower.signal("INT");
    rig.finish(follower).fails(130, "hina: stopped");
}

/// A robot whose place the test chooses.
fn robot(rig: &Rig) -> Rc<Cell<(f64, f64)>> {
    let place = Rc::new(Cell::new((-1.0, 0.0)));
    let (publisher, told) =
        (rig.node.publisher::<PoseStamped>("pose".sensor_data()).expect("publisher"), place.clone());
    rig.events.timer(Duration::from_millis(50), move |_| {
        let mut pose = PoseStamped::default();
        (pose.pose.position.x, pose.pose.position.y) = told.get();
        pose.pose.orientation.w = 1.0;
        publisher.publish(&pose);
    });
    place
}

#[test]
fn a_route_is_published_as_the_original_does_and_its_phases_run_as_the_points_are_reached() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Document>(&[], &[]);
    rig.events
        .subscribe::<PointAndMechaStateArray>(&rig.node, "point_command", |seen, sample| {
            let points = sample.message.points.iter();
            seen.notes = points.map(|p| format!("{} {} {}", p.x, p.y, p.command.daiza_state)).collect();
        })
        .expect("subscription");
    let publisher = rig.start(&["route", "publish"]);
    rig.until("the original's route", |seen| seen.notes == ["0 0 0", "0 1 0", "1.2 1 1", "1.2 2 0"]);

    let place = robot(&rig);
    let follower = rig.start(&["route", "follow"]);
    rig.until_line(&follower, "a route of 4 points");
    // The third point first: nothing.
    place.set((1.2, 1.0));
    rig.observe(Duration::from_millis(500));
    assert!(rig.seen.pedestal.is_empty());
    for (to, line) in [
        ((0.0, 0.0), "point 1 passed"),
        ((0.0, 1.0), "point 2 passed"),
        ((1.2, 1.0), "point 3 reached: 1.20, 1.00: daiza deploy"),
    ] {
        place.set(to);
        rig.until_line(&follower, line);
    }
    rig.until_line(&follower, "daiza: deploy done");
    assert_eq!(rig.seen.cylinders(), ["0001", "1111"]);
    assert!(rig.seen.doll.is_empty(), "0 is no command in a route, for the doll neither");
    place.set((1.2, 2.0));
    let done = rig.finish(follower).ok();
    assert!(done.contains("the route is done"), "{done}");
    drop(publisher);
}

#[test]
fn a_route_whose_phase_fails_or_whose_follower_leaves_stops() {
    let (mut rig, _dummy, _controller) = Rig::whole::<Document>(&["--fault", "stuck-lift"], &[]);
    let place = robot(&rig);
    let _publisher = rig.start(&["route", "publish", "0,0:daiza=collect", "1,0", "--rate", "5"]);
    let follower = rig.start(&["route", "follow"]);
    rig.until_line(&follower, "a route of 2 points");
    place.set((0.0, 0.0));
    rig.finish(follower).fails(1, "the phases of point 1 failed: the route is halted");

    let _second =
        rig.start(&words("route publish 2,0:hina=stow 3,0 --rate 5 --ros-args -r point_command:=other"));
    let follower = rig.start(&["route", "follow", "--ros-args", "-r", "point_command:=other"]);
    rig.until_line(&follower, "a route of 2 points");
    rig.run(&["goal", "hina", "POS_CARRY"]).ok();
    rig.mecha_state.publish(&MechaState { daiza_state: 255, hina_state: 0, bonbori_state: false });
    rig.until("the lift is told to go down", |seen| seen.doll.last().is_some_and(|a| a.positions[0] == 0.0));
    rig.run(&["stop"]).ok();
    place.set((2.0, 0.0));
    rig.until_line(&follower, "hina: stow");
    follower.signal("INT");
    let ended = rig.finish(follower);
    assert!(!ended.status.success(), "{}", ended.output);
    rig.until_status("nothing runs", |s| s["hina"]["running"] == false);
    rig.run(&["route", "publish", "here"]).fails(2, "is no point");
}
