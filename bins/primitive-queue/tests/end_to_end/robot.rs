//! The robot as data: its description, its frames, other robots, other drivers; and what can be asked of it beyond moving.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use rosless_graph::{Qos, TopicQos, action::GoalState, action::GoalUpdate};
use rosless_kinematics::{Joints, builtin, urdf};
use rosless_motion::{RawPrimitive, messages::to_control, messages::to_industrial, primitive::code};
use rosless_wire::{
    builtin_interfaces::msg::Duration,
    control_msgs::{
        action::{FollowJointTrajectory, FollowJointTrajectoryGoal},
        msg::MotionPrimitiveSequence,
    },
    geometry_msgs::msg::{Quaternion, Transform, TransformStamped, Vector3},
    industrial_robot_motion_interfaces::msg::MotionPrimitive,
    rosless_msgs::srv::{PlanMotion, PlanMotionRequest},
    std_msgs::msg::{self, Header},
    tf2_msgs::msg::TFMessage,
    trajectory_msgs::msg::{JointTrajectory, JointTrajectoryPoint},
    visualization_msgs::msg::MarkerArray,
};

use crate::rig::{NODE, PATIENCE, Rig, blended, hand, helper, home, lin, long_ptp, ptp, robot};

#[test]
fn viewers_get_the_description_the_frames_and_the_path() {
    let mut rig = Rig::new(&["robot:=ur10e", "tf_prefix:=left_"]);
    let (description, frames, markers) = (
        Rc::new(RefCell::new(String::new())),
        Rc::new(RefCell::new(BTreeMap::<String, String>::new())),
        Rc::new(RefCell::new(Vec::<(String, usize)>::new())),
    );
    let heard = description.clone();
    let on_description = move |_: &mut _, sample: rosless_graph::Sample<msg::String>| {
        heard.replace(sample.message.data);
    };
    rig.events.subscribe(&rig.node, "/robot_description".latched(), on_description).unwrap();
    for topic in ["/tf", "/tf_static"] {
        let heard = frames.clone();
        let qos = if topic == "/tf" { Qos::default() } else { Qos::latched() };
        let on_frames = move |_: &mut _, sample: rosless_graph::Sample<TFMessage>| {
            let named =
                sample.message.transforms.into_iter().map(|one| (one.child_frame_id, one.header.frame_id));
            heard.borrow_mut().extend(named);
        };
        rig.events.subscribe(&rig.node, (topic, qos), on_frames).unwrap();
    }
    let heard = markers.clone();
    let on_markers = move |_: &mut _, sample: rosless_graph::Sample<MarkerArray>| {
        let shown = sample.message.markers.into_iter().map(|one| (one.ns, one.points.len()));
        heard.borrow_mut().extend(shown);
    };
    rig.events.subscribe(&rig.node, format!("{NODE}/markers").latched(), on_markers).unwrap();
    rig.until("the description is there", |_| !description.borrow().is_empty());
    let ask = urdf::Ask { base: Some("left_base"), tool: None, acceleration: 1.0, jerk: 1.0 };
    let read = urdf::robot(&description.borrow(), &ask).unwrap();
    assert_eq!(read.joint_names[0], "left_shoulder_pan_joint");
    rig.until("all frames are told", |_| frames.borrow().len() == 8);
    let mut at = "left_tool0".to_owned();
    let mut way = 0;
    while let Some(parent) = frames.borrow().get(&at) {
        (at, way) = (parent.clone(), way + 1);
    }
    assert_eq!((at.as_str(), way), ("left_base_link", 8));
    let home = builtin::robot("ur10e").unwrap().home;
    rig.until("the joints are told", |seen| {
        seen.joints
            .last()
            .is_some_and(|joints| joints.name == read.joint_names && joints.position == home.as_slice())
    });
    rig.send(&RawPrimitive {
        joint_positions: (home + Joints::repeat(0.2)).as_slice().to_vec(),
        ..long_ptp()
    });
    rig.until("the path is shown", |_| {
        markers.borrow().iter().any(|(ns, count)| ns == "planned_path" && *count > 50)
    });
}

#[test]
fn a_pose_in_any_frame_of_tf_is_brought_to_the_base() {
    let mut rig = Rig::new(&[]);
    let tf = rig.node.publisher::<TFMessage>("/tf").unwrap();
    let goal = hand([0.05, 0.0, 0.0]);
    // A table that stands upside down over the root: its x is the root's, which looks against the base's.
    let table = TransformStamped {
        header: Header { frame_id: "base_link".into(), ..Header::default() },
        child_frame_id: "table".into(),
        transform: Transform {
            translation: Vector3 { x: 0.0, y: 0.0, z: 1.0 },
            rotation: Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 },
        },
    };
    let [x, y, z] = goal.position;
    let pose = rosless_motion::RawPose {
        frame_id: "table".into(),
        position: [-x, -y, z - 1.0],
        // The half turn around z between base_link and base, before the orientation.
        orientation: {
            let [qx, qy, qz, qw] = goal.orientation;
            [-qy, qx, qw, -qz]
        },
    };
    let mut refused = 0;
    // The controller may know the frame a moment after the first message.
    rig.wait("it is accepted", |rig| {
        tf.publish(&TFMessage { transforms: vec![table.clone()] });
        rig.send(&RawPrimitive { poses: vec![pose.clone()], ..lin([0.0; 3]) });
        rig.until("it is answered", |seen| seen.count("refused") + seen.count("accepted") > refused);
        refused = rig.seen.count("refused");
        rig.seen.count("accepted") > 0
    });
    rig.until("it is done", |seen| seen.count("finished") == 1);
    let before = rig.seen.joints.len();
    rig.until("joint states follow", |seen| seen.joints.len() > before + 2);
    let there = robot().forward(&rig.seen.position().unwrap()).translation.vector;
    let off = there.iter().zip(goal.position).map(|(is, should)| (is - should).abs()).fold(0.0, f64::max);
    assert!(off < 1e-6, "{there:?} instead of {:?}", goal.position);
}

#[test]
fn a_plan_tells_time_and_reasons_and_moves_nothing() {
    let mut rig = Rig::new(&["zones:=['the press: 0.25 -2 -2 2 2 2']"]);
    let service = format!("{NODE}/plan");
    let as_control = |moves: &[RawPrimitive]| moves.iter().map(to_control).collect::<Vec<_>>();
    let good = [blended(lin([0.05, 0.0, 0.0]), 0.01), lin([0.05, 0.05, 0.0])];
    let request = PlanMotionRequest { motions: as_control(&good), start: vec![] };
    let answer = rig.call::<PlanMotion>(&service, &request);
    assert!(answer.feasible, "{}", answer.reason);
    assert!(
        answer.duration > 0.2 && (answer.length - 0.1).abs() < 0.02,
        "{} s {} m",
        answer.duration,
        answer.length
    );
    assert_eq!((answer.starts.len(), answer.trajectory.points.len()), (2, answer.path.poses.len()));
    assert_eq!(answer.trajectory.joint_names, robot().joint_names);
    let aside = (home() + Joints::new(-1.5, 0.0, 0.0, 0.0, 0.0, 0.0)).as_slice().to_vec();
    for (moves, index, expected) in [
        (vec![lin([0.05, 0.0, 0.0]), crate::rig::unreachable()], 1, "cannot be followed beyond"),
        (
            vec![RawPrimitive { kind: 0, joint_positions: vec![9.0; 6], ..ptp(0.0) }],
            0,
            "joint 1 would be at 9.000 rad",
        ),
        (vec![RawPrimitive { kind: 0, joint_positions: aside, ..ptp(0.0) }], 0, "would enter the press"),
    ] {
        let request = PlanMotionRequest { motions: as_control(&moves), start: vec![] };
        let answer = rig.call::<PlanMotion>(&service, &request);
        assert_eq!((answer.feasible, answer.impossible), (false, index), "{}", answer.reason);
        assert!(answer.reason.contains(expected), "{}", answer.reason);
    }
    assert_eq!(rig.seen.count("started"), 0);
    assert!(rig.seen.joints.iter().all(|joints| joints.position == home().as_slice()));
}

#[test]
fn pause_holds_the_robot_and_the_speed_can_be_changed() {
    let mut rig = Rig::new(&[]);
    rig.send(&long_ptp());
    let fastest = |joints: &rosless_wire::sensor_msgs::msg::JointState| {
        joints.velocity.iter().fold(0.0_f64, |a, b| a.max(b.abs()))
    };
    rig.until("it moves", |seen| seen.joints.last().is_some_and(|joints| fastest(joints) > 0.1));
    assert_eq!(rig.cli(&["pause"]).status.code(), Some(0));
    rig.until("it stands", |seen| seen.joints.last().is_some_and(|joints| fastest(joints) == 0.0));
    assert!(rig.seen.state_is("EXECUTING") && rig.seen.queue.as_ref().is_some_and(|queue| queue.paused));
    assert_eq!(rig.cli(&["speed", "50"]).status.code(), Some(0));
    assert_eq!(rig.cli(&["resume"]).status.code(), Some(0));
    rig.until("it goes on to its end", |seen| seen.count("finished") == 1);
    rig.until("its speed is told", |seen| seen.queue.as_ref().is_some_and(|queue| queue.speed == 0.5));
    assert_eq!(rig.cli(&["speed", "150"]).status.code(), Some(2));
}

#[test]
fn a_trajectory_becomes_primitives_and_its_deviation_is_measured() {
    for mode in ["RDP_PTP", "RDP_LIN"] {
        let mut rig = Rig::new(&[&format!("approximate_mode:={mode}")]);
        let count = Rc::new(RefCell::new(0));
        let heard = count.clone();
        let on_primitives = move |_: &mut _, sample: rosless_graph::Sample<MotionPrimitiveSequence>| {
            heard.replace(sample.message.motions.len());
        };
        let topic = format!("{NODE}/approximated_motion_primitives");
        rig.events.subscribe(&rig.node, topic.latched(), on_primitives).unwrap();
        let action = format!("{NODE}/follow_joint_trajectory");
        let client = rig.events.action_client::<FollowJointTrajectory>(&rig.node, &action).unwrap();
        rig.wait("the action server is there", |_| client.is_ready());
        let points = (0..=100)
            .map(|i| {
                let t = f64::from(i) / 100.0;
                let joints =
                    home() + Joints::new(0.3 * t, 0.1 * (3.0 * t).sin(), -0.2 * t * t, 0.0, 0.1 * t, 0.0);
                let seconds = 2.0 * t;
                JointTrajectoryPoint {
                    positions: joints.as_slice().to_vec(),
                    time_from_start: Duration {
                        sec: seconds as i32,
                        nanosec: (seconds.fract() * 1e9) as u32,
                    },
                    ..JointTrajectoryPoint::default()
                }
            })
            .collect();
        let trajectory = JointTrajectory {
            joint_names: robot().joint_names.to_vec(),
            points,
            ..JointTrajectory::default()
        };
        let goal = FollowJointTrajectoryGoal { trajectory: trajectory.clone(), ..Default::default() };
        let ended = Rc::new(RefCell::new(None));
        let heard = ended.clone();
        client.send_goal(goal, PATIENCE, PATIENCE, move |_, update| {
            if let GoalUpdate::Ended(state, result) = update {
                heard.replace(Some((state, result)));
            }
        });
        rig.until("it ends", |_| ended.borrow().is_some());
        let (state, result) = ended.borrow_mut().take().unwrap();
        assert_eq!((state, result.error_code), (GoalState::Succeeded, 0), "{}", result.error_string);
        assert!(result.error_string.contains("greatest deviation 0.00"), "{}", result.error_string);
        rig.until("the primitives are told", |_| (2..60).contains(&*count.borrow()));
        // Joints of another robot are no joints of this one.
        let other = JointTrajectory { joint_names: vec!["a".into(); 6], ..trajectory };
        let heard = ended.clone();
        let goal = FollowJointTrajectoryGoal { trajectory: other, ..Default::default() };
        client.send_goal(goal, PATIENCE, PATIENCE, move |_, update| {
            if update == GoalUpdate::Rejected {
                heard.replace(Some((GoalState::Aborted, Default::default())));
            }
        });
        rig.until("it is rejected", |seen| ended.borrow().is_some() && seen.count("goal_rejected") == 1);
        assert!(rig.seen.reasons("goal_rejected")[0].contains("not for those of this robot"));
    }
}

#[test]
fn a_driver_that_knows_only_its_state_executes_a_program() {
    let rig = Rig::new(&["hardware:=state_only", "hardware_parameters:=['seconds=0.02']"]);
    let file = format!("{}/examples/original.yaml", env!("CARGO_MANIFEST_DIR"));
    let sent = rig.cli(&["send", "--timeout", "20", &file]);
    let told = String::from_utf8_lossy(&[&sent.stdout[..], &sent.stderr[..]].concat()).into_owned();
    assert_eq!(sent.status.code(), Some(0), "{told}");
    assert!(told.contains("14 primitives executed"), "{told}");
}

#[test]
fn a_sequence_goes_with_its_publisher() {
    let mut rig = Rig::new(&[]);
    let topic = format!("{NODE}/reference");
    let other = rig.node.publisher::<MotionPrimitive>(topic.keep_last(10)).unwrap();
    rig.wait("both are known", |_| other.matched() == 1);
    other.publish(&to_industrial(&helper(code::MOTION_SEQUENCE_START)));
    other.publish(&to_industrial(&ptp(0.2)));
    rig.until("its beginning is accepted", |seen| seen.count("accepted") == 2);
    rig.send(&ptp(0.1));
    rig.until("what others send is executed", |seen| seen.count("finished") == 1);
    drop(other);
    rig.until("it is forgotten", |seen| seen.count("discarded") == 2 && seen.depth() == 0);
    assert!(rig.seen.reasons("discarded")[0].contains("its publisher left"));
}
