//! A test's own node: plays the launcher and listens to everything the arm says.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rosless_arm::{ArmClock, HandState, InitTime, Shooter, evaluate::Throw};
use rosless_graph::{Client, Publisher, TopicQos, monotonic, parameters::ParameterValue};
use rosless_tests::{Daemon, DomainLease};
use rosless_wire::{
    rcl_interfaces::msg::SetParametersResult,
    robot3_18c1054::{
        msg::HandClose,
        srv::{GetHandState, GetHandStateRequest, GetInitTime, GetInitTimeRequest},
    },
    sensor_msgs::msg::JointState,
    std_msgs::msg::{Float32, Float32MultiArray, String as Text},
};

pub(crate) const PATIENCE: Duration = rosless_tests::Rig::<()>::PATIENCE;

/// Starts `sim-arm run` in the test's domain.
pub(crate) fn sim_arm(domain: &DomainLease, args: &[&str]) -> Daemon {
    Daemon::spawn(domain.command(env!("CARGO_BIN_EXE_sim-arm"), &[&["run"], args].concat()))
}

#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) arm_states: Vec<Vec<f32>>,
    pub(crate) hands: Vec<HandClose>,
    pub(crate) reserves: Vec<f32>,
    pub(crate) targets: Vec<Vec<f32>>,
    pub(crate) verdicts: Vec<serde_json::Value>,
    pub(crate) joints: Option<JointState>,
    pub(crate) joint_samples: usize,
}

pub(crate) struct Rig {
    rig: rosless_tests::Rig<Heard>,
    balls: Publisher<Float32MultiArray>,
    launcher: Publisher<Float32MultiArray>,
    angles: Publisher<Float32MultiArray>,
    closings: Publisher<Float32>,
    hand_client: Client<GetHandState, Heard>,
    clock_client: Client<GetInitTime, Heard>,
}

impl Rig {
    pub(crate) fn new(domain: &DomainLease) -> Self {
        let rig = rosless_tests::Rig::<Heard>::on(domain.clone(), "probe");
        let (events, node) = (&rig.events, &rig.node);
        events
            .subscribe::<Float32MultiArray>(node, "arm_ang_angv".latched(), |h, s| {
                h.arm_states.push(s.message.data);
            })
            .unwrap();
        events.subscribe::<HandClose>(node, "hand_close", |h, s| h.hands.push(s.message)).unwrap();
        events
            .subscribe::<Float32>(node, "hand_close_reserve", |h, s| h.reserves.push(s.message.data))
            .unwrap();
        events
            .subscribe::<Float32MultiArray>(node, "target_arm_state", |h, s| {
                h.targets.push(s.message.data);
            })
            .unwrap();
        events
            .subscribe::<Text>(node, "catch_verdict", |h, s| {
                h.verdicts.push(serde_json::from_str(&s.message.data).expect("verdicts are JSON"));
            })
            .unwrap();
        events
            .subscribe::<JointState>(node, "joint_states", |h, s| {
                h.joints = Some(s.message);
                h.joint_samples += 1;
            })
            .unwrap();
        Self {
            balls: node.publisher("ball_initial_state").unwrap(),
            launcher: node.publisher("shooter_state".latched()).unwrap(),
            angles: node.publisher("ang_debug").unwrap(),
            closings: node.publisher("hand_close_reserve").unwrap(),
            hand_client: events.client(node, "get_hand_state").unwrap(),
            clock_client: events.client(node, "get_init_time").unwrap(),
            rig,
        }
    }

    /// Among so many nodes that listen to throws, all there.
    #[track_caller]
    pub(crate) fn among(domain: &DomainLease, ball_listeners: usize) -> Self {
        let mut rig = Self::new(domain);
        rig.wait_for_nodes(ball_listeners);
        rig
    }

    /// Waits until so many nodes (the arm, planners and viewers) listen to throws, the arm listens to angles and answers, and its posture is known.
    #[track_caller]
    pub(crate) fn wait_for_nodes(&mut self, ball_listeners: usize) {
        let (balls, angles, closings) = (self.balls.clone(), self.angles.clone(), self.closings.clone());
        let (hand, clock) = (self.hand_client.clone(), self.clock_client.clone());
        self.until("all nodes are there", |h| {
            balls.matched() >= ball_listeners
                && angles.matched() > 0
                && closings.matched() > 1
                && hand.is_ready()
                && clock.is_ready()
                && !h.arm_states.is_empty()
                && (ball_listeners < 3 || h.joint_samples > 0)
        });
    }

    /// The arm's start, as its service tells it.
    #[track_caller]
    pub(crate) fn arm_start(&mut self) -> Duration {
        let a = self.call::<GetInitTime>("get_init_time", &GetInitTimeRequest::default());
        let (year, month, day, lower) = (a.year, a.month, a.day, a.lower);
        let time = InitTime { year, month, day, hour: a.hour, minute: a.minute, second: a.second, lower };
        time.start().expect("a possible time")
    }

    /// Sets a parameter of arm_controller.
    #[track_caller]
    pub(crate) fn set_parameter(
        &mut self,
        name: &str,
        value: impl Into<ParameterValue>,
    ) -> SetParametersResult {
        self.set_parameters("arm_controller", &[(name.into(), value.into())]).remove(0)
    }

    #[track_caller]
    pub(crate) fn hand_state(&mut self) -> (Vec<f32>, HandState) {
        let array = self.call::<GetHandState>("get_hand_state", &GetHandStateRequest::default()).hand_state;
        let state = HandState::from_array(&array).unwrap();
        (array, state)
    }

    /// Throws a ball now, as the launcher would. Returns its array.
    #[track_caller]
    pub(crate) fn throw(&mut self, throw: &Throw) -> [f32; 7] {
        let start = self.arm_start();
        let mut clock = ArmClock::default();
        clock.learn(start, wall(), monotonic());
        let mut shooter = Shooter::default();
        shooter.aim(&throw.launcher.to_array()).unwrap();
        let ball = shooter.fire(throw.speed as f32, clock.now(monotonic())).unwrap().to_array();
        self.throw_ball(&ball);
        ball
    }

    pub(crate) fn throw_ball(&self, ball: &[f32]) {
        self.balls.publish(&Float32MultiArray { data: ball.to_vec(), ..Default::default() });
    }

    /// Tells the arm to close its hand shortly.
    #[track_caller]
    pub(crate) fn close_hand(&mut self) {
        let since_start = wall().saturating_sub(self.arm_start());
        self.closings.publish(&Float32 { data: since_start.as_secs_f32() + 0.1 });
    }

    /// Throws, and waits for the verdict on it.
    #[track_caller]
    pub(crate) fn throw_and_judge(&mut self, throw: &Throw) -> serde_json::Value {
        let [released, ..] = self.throw(throw);
        self.verdict_on(released)
    }

    /// Waits for the verdict on the ball released then.
    #[track_caller]
    pub(crate) fn verdict_on(&mut self, released: f32) -> serde_json::Value {
        let find =
            |h: &Heard| h.verdicts.iter().find(|v| v["released"].as_f64() == Some(released.into())).cloned();
        self.until("the throw is judged", |h| find(h).is_some());
        find(&self.seen).unwrap()
    }

    pub(crate) fn move_launcher(&self, data: [f32; 4]) {
        self.launcher.publish(&Float32MultiArray { data: data.to_vec(), ..Default::default() });
    }

    pub(crate) fn send_angles(&self, data: &[f32]) {
        self.angles.publish(&Float32MultiArray { data: data.to_vec(), ..Default::default() });
    }

    /// Moves the arm through /ang_debug and waits until it rests there.
    #[track_caller]
    pub(crate) fn move_arm(&mut self, angles: [f32; 6]) {
        self.send_angles(&angles);
        self.until("the arm rests at the angles", |h| rests_at(h, &angles));
    }

    /// Waits until the arm rests, wherever.
    #[track_caller]
    pub(crate) fn until_at_rest(&mut self) {
        self.until("the arm rests", |h| {
            h.arm_states.last().is_some_and(|s| s[6..].iter().all(|v| *v == 0.0))
        });
    }

    /// The published position of a joint.
    pub(crate) fn joint(&self, name: &str) -> Option<f64> {
        let joints = self.seen.joints.as_ref()?;
        joints.position.get(joints.name.iter().position(|n| n == name)?).copied()
    }
}

rosless_tests::extends_rig!(Rig, Heard);

fn rests_at(heard: &Heard, angles: &[f32; 6]) -> bool {
    heard.arm_states.last().is_some_and(|state| {
        let near = state.iter().zip(angles).all(|(a, b)| (a - b).abs() < 1e-3);
        near && state[6..].iter().all(|v| *v == 0.0)
    })
}

pub(crate) fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}
