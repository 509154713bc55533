//! Commands from other vendors' DDS, as a ROS 2 node would send them.

use rosless_kinematics::Joints;
use rosless_motion::messages::to_industrial;
use rosless_motion::primitive::code;
use rosless_tests::Vendor;
use rosless_wire::{Message, cdr, industrial_robot_motion_interfaces::msg::MotionPrimitive};

use crate::rig::{NODE, Rig, helper, home, ptp, robot};

const TOPIC: &str = "rt/motion_primitive_controller/reference";
const TYPE: &str = "industrial_robot_motion_interfaces::msg::dds_::MotionPrimitive_";

fn served(vendor: Vendor) {
    let mut rig = Rig::new(&[]);
    let Some(mut peer) = vendor.start(rig.domain.id()) else { return };
    let user_data = format!("typehash={};", MotionPrimitive::TYPE_HASH);
    let command = cdr::to_payload(&to_industrial(&ptp(0.1)));
    let knock = cdr::to_payload(&to_industrial(&helper(code::RESET_STOP)));

    peer.writer("reliable", TOPIC, TYPE, "reliable,volatile,10", user_data.as_bytes());
    peer.wait_matched("reliable", 1);
    (0..3).for_each(|_| peer.write("reliable", &command));
    rig.until("three commands are executed", |seen| seen.count("finished") == 3);
    assert_eq!(rig.seen.sequence_numbers("accepted"), [1, 2, 3]);

    peer.writer("hasty", TOPIC, TYPE, "best_effort,volatile,10", user_data.as_bytes());
    peer.wait_matched("hasty", 1);
    // What best effort sends before it is known is lost: knock until it is heard.
    rig.wait("the controller knows the publisher", |rig| {
        peer.write("hasty", &knock);
        rig.seen.count("obeyed") > 0
    });
    peer.write("hasty", &command);
    rig.until("its command is executed once", |seen| seen.count("finished") == 4);
    assert_eq!(rig.seen.count("accepted"), 4);
}

#[test]
fn cyclone_publishers_are_served() {
    served(Vendor::Cyclone);
}

#[test]
fn fast_dds_publishers_are_served() {
    served(Vendor::FastDds);
}

/// All 18 messages of the original's client, from a publisher that leaves while the robot is at the first ones.
#[test]
fn the_originals_client_is_served_although_it_leaves_at_once() {
    let mut rig = Rig::new(&[]);
    let Some(played) = Vendor::play("original_client.py", rig.domain.id(), &[]) else { return };
    assert!(played.status.success(), "{played:?}");
    rig.until("all are answered", |seen| seen.count("accepted") + seen.count("refused") == 18);
    assert_eq!(rig.seen.sequence_numbers("accepted"), (1..=18).collect::<Vec<_>>());
    assert!(rig.seen.count("finished") < 14, "it has left before the robot is done");
    rig.until("all 14 moves are finished", |seen| seen.count("finished") == 14);
    let moves: Vec<u64> = (0..18).filter(|id| ![5, 11, 12, 15].contains(id)).collect();
    assert_eq!(rig.seen.begun(), moves);
    assert_eq!((rig.seen.count("discarded"), rig.seen.count("failed")), (0, 0));
    rig.until("the robot says so", |seen| seen.states.last() == Some(&2) && seen.depth() == 0);
    let end = Joints::from([-1.57, -1.6, 1.6, -0.7, 0.7, 0.2]);
    rig.until("the joints are there", |seen| seen.position().is_some_and(|at| (at - end).amax() < 1e-9));
}

/// As a motion planner drives a joint trajectory controller.
#[test]
fn a_foreign_client_follows_a_trajectory() {
    let mut rig = Rig::new(&[]);
    let (robot, home) = (robot(), home());
    let joints = robot.joint_names.iter().zip(home.iter()).map(|(name, angle)| format!("{name}={angle}"));
    let arguments: Vec<_> =
        std::iter::once(format!("{NODE}/follow_joint_trajectory")).chain(joints).collect();
    let Some(played) = Vendor::play("trajectory_client.py", rig.domain.id(), &arguments) else { return };
    assert!(played.status.success(), "{played:?}");
    let told: serde_json::Value = serde_json::from_slice(&played.stdout).unwrap();
    // 4 is the action protocol's SUCCEEDED.
    assert_eq!(
        (&told["accepted"], &told["status"], &told["error_code"]),
        (&true.into(), &4.into(), &0.into()),
        "{told:#}"
    );
    assert!(told["error_string"].as_str().unwrap().contains("greatest deviation 0.00"), "{told:#}");
    let target =
        Joints::from_iterator(robot.joint_names.iter().map(|name| told["target"][name].as_f64().unwrap()));
    rig.until("the joints are there", |seen| seen.position().is_some_and(|at| (at - target).amax() < 1e-3));
}
