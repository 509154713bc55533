//! The controller as a managed node.

use rosless_graph::lifecycle::State;
use rosless_wire::lifecycle_msgs::{msg::Transition, srv};

use crate::rig::{NODE, PATIENCE, Rig, long_ptp, ptp};

fn change(rig: &mut Rig, label: &str) -> bool {
    let transition = Transition { id: 0, label: label.into() };
    rig.call::<srv::ChangeState>(&format!("{NODE}/change_state"), &srv::ChangeStateRequest { transition })
        .success
}

fn state(rig: &mut Rig) -> u8 {
    rig.call::<srv::GetState>(&format!("{NODE}/get_state"), &srv::GetStateRequest::default()).current_state.id
}

fn set_queue_size(rig: &mut Rig, size: i64) -> (bool, String) {
    let result = rig.set_parameters(NODE, &[("queue_size".into(), size.into())]).remove(0);
    (result.successful, result.reason)
}

#[test]
fn configuring_fails_until_the_parameters_are_right() {
    let mut rig = Rig::with(&["run", "--no-autostart", "--ros-args", "-p", "queue_size:=0"]);
    assert_eq!(state(&mut rig), State::Unconfigured.id());
    assert!(!change(&mut rig, "configure"));
    assert_eq!(state(&mut rig), State::Unconfigured.id());
    rig.daemon.wait_for_line("cannot be configured: queue_size is 0", PATIENCE);
    assert!(rig.seen.queue.is_none(), "nothing is there before configure");

    assert!(set_queue_size(&mut rig, 3).0);
    assert!(change(&mut rig, "configure"));
    rig.until("topics are there", |seen| seen.queue.as_ref().is_some_and(|queue| queue.size == 3));
    let (successful, reason) = set_queue_size(&mut rig, 5);
    assert!(!successful && reason.contains("clean up first"), "{reason}");

    rig.wait("the reader listens", |rig| rig.reference.matched() == 1);
    rig.send(&ptp(0.1));
    rig.until("an inactive controller refuses", |seen| seen.count("refused") == 1);
    assert_eq!(rig.seen.reasons("refused"), ["the controller is not active: activate it first"]);
    assert!(change(&mut rig, "activate"));
    rig.send(&ptp(0.1));
    rig.until("an active one obeys", |seen| seen.count("finished") == 1);

    assert!(change(&mut rig, "deactivate") && change(&mut rig, "cleanup"));
    rig.wait("topics are gone", |rig| rig.reference.matched() == 0);
    assert_eq!(state(&mut rig), State::Unconfigured.id());
    assert!(change(&mut rig, "configure") && change(&mut rig, "activate"));
    rig.wait("and come again", |rig| rig.reference.matched() == 1);
    rig.send(&ptp(0.1));
    rig.until("it works as before", |seen| seen.count("finished") == 2);
}

#[test]
fn bad_parameters_end_an_automatic_start() {
    let mut rig = Rig::with(&["run", "--ros-args", "-p", "initial_joints:=[0.0, 0.0]"]);
    assert_eq!(rig.daemon.wait(PATIENCE).code(), Some(1));
    rig.daemon.wait_for_line("cannot be configured: initial_joints has 2 values, it needs 6", PATIENCE);
}

#[test]
fn deactivation_stops_the_robot_and_forgets_the_queue() {
    let mut rig = Rig::new(&[]);
    rig.send(&long_ptp());
    (0..5).for_each(|n| rig.send(&ptp(0.1 * f64::from(n))));
    rig.until("it moves", |seen| seen.count("started") == 1 && seen.count("accepted") == 6);
    assert!(change(&mut rig, "deactivate"));
    rig.until("it stands", |seen| seen.state_is("STOPPED") && seen.count("discarded") == 6);
    assert_eq!(rig.seen.depth(), 0);
    assert!(change(&mut rig, "activate"));
    rig.until("it is ready", |seen| seen.state_is("IDLE"));
    rig.send(&ptp(0.0));
    rig.until("the new command is the only one", |seen| seen.count("finished") == 1);
    assert_eq!(rig.seen.begun().len(), 2, "{:?}", rig.seen.events);
}

#[test]
fn who_is_not_configured_or_shut_down_for_good_is_told_apart() {
    let mut rig = Rig::with(&["run", "--no-autostart"]);
    for (transition, advice) in [
        ("", "rosless lifecycle set /motion_primitive_controller configure"),
        ("shutdown", "was shut down for good"),
    ] {
        assert!(transition.is_empty() || change(&mut rig, transition));
        let output = rig.cli(&["state", "--timeout", "2"]);
        assert_eq!(output.status.code(), Some(3));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(advice), "{told}");
    }
}

#[test]
fn it_names_its_topic_in_any_namespace() {
    let rig = Rig::with(&["run", "--ros-args", "-r", "__ns:=/cell/events"]);
    let name = "active: /cell/events/motion_primitive_controller/reference takes";
    rig.daemon.wait_for_line(name, PATIENCE);
}

#[test]
fn it_leaves_on_a_signal() {
    let mut rig = Rig::new(&[]);
    rig.daemon.signal("TERM");
    assert_eq!(rig.daemon.wait(PATIENCE).code(), Some(0));
    rig.wait("peers see it go", |rig| !rig.node.context().graph().has_node(NODE));
}
