//! The node as others meet it, over DDS.

use std::{
    cell::RefCell,
    process::{Child, Command},
    rc::Rc,
    time::Duration,
};

use my_node::my_node_interfaces::{
    action::{Sweep, SweepGoal, SweepResult},
    msg::Reading,
    srv::{Calibrate, CalibrateRequest},
};
use rosless_graph::{
    Context, ContextOptions, EventLoop, Node, Sample,
    action::{GoalState, GoalUpdate},
};
use rosless_wire::{Message, Service, lifecycle_msgs};

const PATIENCE: Duration = Duration::from_secs(20);

/// What the test has heard.
#[derive(Default)]
struct Heard {
    readings: Vec<Reading>,
    feedback: usize,
    ended: Option<(GoalState, SweepResult)>,
}

/// The program, ended with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A domain of this host that other processes hardly use at the same time.
fn domain() -> u16 {
    1 + (std::process::id() % 100) as u16
}

fn call<T: Service>(
    event_loop: &EventLoop<Heard>,
    node: &Node,
    name: &str,
    request: &T::Request,
) -> T::Response {
    let answer = Rc::new(RefCell::new(None));
    let client = event_loop.client::<T>(node, name).unwrap();
    let told = answer.clone();
    client.call(request, PATIENCE, move |_, result| *told.borrow_mut() = Some(result));
    event_loop.run_until(&mut Heard::default(), PATIENCE, |_| answer.borrow().is_some()).unwrap();
    answer.take().expect("no answer").unwrap()
}

#[test]
fn the_node_is_configured_activated_heard_calibrated_and_swept() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_my_node"));
    program
        .env("ROS_DOMAIN_ID", domain().to_string())
        .env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        .args(["--ros-args", "-p", "rate:=50.0"]);
    let _program = Program(program.spawn().unwrap());

    let context = Context::new(ContextOptions::for_domain(domain())).unwrap();
    let node = context.node("test").unwrap();
    let event_loop = EventLoop::<Heard>::new(&context).unwrap();
    let hear = |heard: &mut Heard, sample: Sample<Reading>| heard.readings.push(sample.message);
    event_loop.subscribe::<Reading>(&node, "/my_node/reading", hear).unwrap();
    let mut heard = Heard::default();

    // configure, activate
    for id in [1, 3] {
        let transition = lifecycle_msgs::msg::Transition { id, ..Default::default() };
        let request = lifecycle_msgs::srv::ChangeStateRequest { transition };
        let answer =
            call::<lifecycle_msgs::srv::ChangeState>(&event_loop, &node, "/my_node/change_state", &request);
        assert!(answer.success, "transition {id}");
    }
    event_loop.run_until(&mut heard, PATIENCE, |heard| heard.readings.len() >= 3).unwrap();
    assert_eq!(heard.readings[0].distance, 2.0);
    assert_eq!(heard.readings[0].quality, Reading::GOOD);

    let request = CalibrateRequest { distance: 1.5 };
    let answer = call::<Calibrate>(&event_loop, &node, "/my_node/calibrate", &request);
    assert!(answer.success && answer.offset == -0.5, "{answer:?}");

    let client = event_loop.action_client::<Sweep>(&node, "/my_node/sweep").unwrap();
    let goal = SweepGoal { start: -0.5, end: 0.5, ..SweepGoal::default() };
    assert_eq!(goal.readings, 10, "the definition's default");
    client.send_goal(goal, PATIENCE, PATIENCE, |heard, update| match update {
        GoalUpdate::Feedback(_) => heard.feedback += 1,
        GoalUpdate::Ended(state, result) => heard.ended = Some((state, result)),
        GoalUpdate::Rejected | GoalUpdate::Failed(_) => panic!("{update:?}"),
        _ => {}
    });
    event_loop.run_until(&mut heard, PATIENCE, |heard| heard.ended.is_some()).unwrap();
    let (state, result) = heard.ended.unwrap();
    assert_eq!(state, GoalState::Succeeded);
    assert!((1.5..1.51).contains(&result.nearest.distance), "{result:?}");
    assert_eq!(heard.feedback, 10);
}

#[test]
fn the_types_have_the_names_that_ros_gives_them() {
    assert_eq!(Reading::TYPE_NAME, "my_node_interfaces/msg/Reading");
    assert_eq!(Calibrate::TYPE_NAME, "my_node_interfaces/srv/Calibrate");
    assert!(Reading::TYPE_HASH.starts_with("RIHS01_"));
}
