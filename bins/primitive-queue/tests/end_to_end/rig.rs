//! A controller process and a peer that sends to it and hears everything it tells.

use std::{
    ops::{Deref, DerefMut},
    process::{Command, Output},
    time::{Duration, Instant},
};

use rosless_graph::{Handle, Node, Publisher, TopicQos};
use rosless_kinematics::{Joints, Robot, builtin};
use rosless_motion::{QueueStatus, RawPose, RawPrimitive, messages::to_industrial, primitive::code};
use rosless_tests::{Daemon, DomainLease};
use rosless_wire::{
    industrial_robot_motion_interfaces::msg::MotionPrimitive,
    sensor_msgs::msg::JointState,
    std_msgs::msg::{self, Int8},
};
use serde_json::Value;

pub(crate) const PATIENCE: Duration = rosless_tests::Rig::<()>::PATIENCE;
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_primitive-queue");
pub(crate) const NODE: &str = "/motion_primitive_controller";

/// Everything the controller has told.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) states: Vec<i8>,
    pub(crate) events: Vec<Value>,
    pub(crate) queue: Option<QueueStatus>,
    pub(crate) joints: Vec<JointState>,
}

impl Seen {
    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["event"] == name)
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.named(name).count()
    }

    /// Ids in the order in which the robot began them.
    pub(crate) fn begun(&self) -> Vec<u64> {
        let begun = self.events.iter().filter_map(|event| match event["event"].as_str()? {
            "started" => event["id"].as_u64(),
            "blended" => event["next"].as_u64(),
            _ => None,
        });
        begun.collect()
    }

    pub(crate) fn reasons<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        self.named(name).filter_map(|event| event["reason"].as_str()).collect()
    }

    /// Sequence numbers of the samples that were answered with `name`, in order.
    pub(crate) fn sequence_numbers(&self, name: &str) -> Vec<u64> {
        self.named(name).filter_map(|event| event["sequence"].as_u64()).collect()
    }

    pub(crate) fn state_is(&self, name: &str) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.state.name() == name)
    }

    pub(crate) fn depth(&self) -> usize {
        self.queue.as_ref().map_or(usize::MAX, |queue| queue.depth)
    }

    pub(crate) fn position(&self) -> Option<Joints> {
        self.joints.last().map(|joints| Joints::from_column_slice(&joints.position))
    }
}

/// Fields are dropped in this order.
pub(crate) struct Rig {
    pub(crate) reference: Publisher<MotionPrimitive>,
    pub(crate) daemon: Daemon,
    rig: rosless_tests::Rig<Seen>,
}

pub(crate) fn command(lease: &DomainLease, arguments: &[&str]) -> Command {
    lease.command(PROGRAM, arguments)
}

impl Rig {
    /// A controller that is active, with the given parameters (`queue_size:=20`).
    pub(crate) fn new(parameters: &[&str]) -> Self {
        let mut arguments = vec!["run", "--ros-args"];
        arguments.extend(parameters.iter().flat_map(|parameter| ["-p", parameter]));
        let mut rig = Self::with(&arguments);
        rig.until("the controller is there", |seen| {
            seen.queue.as_ref().is_some_and(|queue| queue.active) && !seen.states.is_empty()
        });
        // Both of its readers: the answer to the first command would show the reliable one only.
        rig.wait("its reader listens", |rig| rig.reference.matched() == 1);
        rig
    }

    /// A controller started with these arguments; nothing is waited for.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let rig = rosless_tests::Rig::<Seen>::new();
        let daemon = Daemon::spawn(command(&rig.domain, arguments));
        listen(&rig.events, &rig.node);
        let reference = rig.node.publisher(format!("{NODE}/reference").keep_last(100)).unwrap();
        Self { reference, daemon, rig }
    }

    pub(crate) fn send(&self, raw: &RawPrimitive) {
        assert!(self.reference.publish(&to_industrial(raw)), "the publisher has room");
    }

    /// Runs the event loop until `done`.
    #[track_caller]
    pub(crate) fn wait(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done(self) {
            assert!(
                Instant::now() < deadline,
                "not within {PATIENCE:?}: {what}; events {:?}",
                self.seen.events
            );
            self.observe(Duration::from_millis(20));
        }
    }

    /// Runs a command of the program to its end.
    pub(crate) fn cli(&self, arguments: &[&str]) -> Output {
        command(&self.domain, arguments).output().unwrap()
    }
}

impl Deref for Rig {
    type Target = rosless_tests::Rig<Seen>;

    fn deref(&self) -> &rosless_tests::Rig<Seen> {
        &self.rig
    }
}

impl DerefMut for Rig {
    fn deref_mut(&mut self) -> &mut rosless_tests::Rig<Seen> {
        &mut self.rig
    }
}

fn listen(events: &Handle<Seen>, node: &Node) {
    let topic = |name: &str| format!("{NODE}/{name}");
    events
        .subscribe::<Int8>(node, topic("state").keep_last(1000), |seen: &mut Seen, sample| {
            if seen.states.last() != Some(&sample.message.data) {
                seen.states.push(sample.message.data);
            }
        })
        .unwrap();
    events
        .subscribe::<msg::String>(node, topic("events").keep_last(1000), |seen, sample| {
            seen.events.push(serde_json::from_str(&sample.message.data).unwrap());
        })
        .unwrap();
    events
        .subscribe::<msg::String>(node, topic("queue").latched(), |seen, sample| {
            seen.queue = Some(serde_json::from_str(&sample.message.data).unwrap());
        })
        .unwrap();
    events
        .subscribe::<JointState>(node, "/joint_states".keep_last(1000), |seen, sample| {
            seen.joints.push(sample.message)
        })
        .unwrap();
}

/// Where the simulated robot starts.
pub(crate) fn home() -> Joints {
    robot().home
}

/// The robot that a controller has unless it is told otherwise.
pub(crate) fn robot() -> Robot {
    builtin::robot("ur5e").unwrap()
}

/// Parameters of a robot that is in a hurry.
pub(crate) const FAST: [&str; 3] = [
    "joint_velocity_limits:=[6.0, 6.0, 6.0, 6.0, 6.0, 6.0]",
    "joint_acceleration_limits:=[60.0, 60.0, 60.0, 60.0, 60.0, 60.0]",
    "joint_jerk_limits:=[3000.0, 3000.0, 3000.0, 3000.0, 3000.0, 3000.0]",
];

pub(crate) fn helper(kind: i16) -> RawPrimitive {
    RawPrimitive { kind, ..RawPrimitive::default() }
}

fn figures(velocity: f64, acceleration: f64) -> Vec<(String, f64)> {
    vec![("velocity".into(), velocity), ("acceleration".into(), acceleration)]
}

/// To `home` moved by `by` in some joints, with the first generation's code.
pub(crate) fn ptp(by: f64) -> RawPrimitive {
    let target = home() + Joints::new(by, by / 2.0, -by, 0.0, by / 3.0, 0.0);
    RawPrimitive {
        kind: code::LINEAR_JOINT_FIRST_GENERATION,
        arguments: figures(2.0, 12.0),
        joint_positions: target.as_slice().to_vec(),
        ..RawPrimitive::default()
    }
}

/// A slow one, to have time.
pub(crate) fn long_ptp() -> RawPrimitive {
    RawPrimitive { arguments: vec![("move_time".into(), 4.0)], ..ptp(0.8) }
}

pub(crate) fn hand(by: [f64; 3]) -> RawPose {
    let pose = robot().forward(&home());
    let (t, q) = (pose.translation.vector, pose.rotation.coords);
    RawPose {
        frame_id: "base".into(),
        position: [t.x + by[0], t.y + by[1], t.z + by[2]],
        orientation: [q.x, q.y, q.z, q.w],
    }
}

pub(crate) fn lin(by: [f64; 3]) -> RawPrimitive {
    RawPrimitive {
        kind: code::LINEAR_CARTESIAN,
        arguments: figures(0.5, 4.0),
        poses: vec![hand(by)],
        ..RawPrimitive::default()
    }
}

pub(crate) fn circ(goal: [f64; 3], via: [f64; 3]) -> RawPrimitive {
    RawPrimitive { kind: code::CIRCULAR_CARTESIAN, poses: vec![hand(goal), hand(via)], ..lin(goal) }
}

pub(crate) fn blended(raw: RawPrimitive, blend_radius: f64) -> RawPrimitive {
    RawPrimitive { blend_radius, ..raw }
}

/// A target outside the robot's reach.
pub(crate) fn unreachable() -> RawPrimitive {
    lin([3.0, 0.0, 0.0])
}
