//! A test's own node: plays the launcher and listens to everything the arm says.

use std::{
    process::Command,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rosless_arm::{ArmClock, HandState, InitTime, Shooter, evaluate::Throw};
use rosless_graph::{Client, Context, ContextOptions, EventLoop, Node, Publisher, Qos, monotonic};
use rosless_tests::{Daemon, DomainLease};
use rosless_wire::{
    rcl_interfaces::{
        msg::{Parameter, ParameterType, ParameterValue, SetParametersResult},
        srv::{SetParameters, SetParametersRequest},
    },
    robot3_18c1054::{
        msg::HandClose,
        srv::{GetHandState, GetHandStateRequest, GetInitTime, GetInitTimeRequest},
    },
    sensor_msgs::msg::JointState,
    std_msgs::msg::{Float32, Float32MultiArray, String as Text},
};

/// Long, because the machine may be busy with other tests; nothing waits that long when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Starts `sim-arm run` in the test's domain.
pub(crate) fn sim_arm(domain: &DomainLease, args: &[&str]) -> Daemon {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sim-arm"));
    command.arg("run").args(args);
    command.env("ROS_DOMAIN_ID", domain.id().to_string());
    command.env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST");
    Daemon::spawn(command)
}

#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) arm_states: Vec<Vec<f32>>,
    pub(crate) hands: Vec<HandClose>,
    pub(crate) reserves: Vec<f32>,
    pub(crate) targets: Vec<Vec<f32>>,
    pub(crate) verdicts: Vec<serde_json::Value>,
    pub(crate) joints: Option<JointState>,
    pub(crate) joint_samples: usize,
    hand_state: Option<Vec<f32>>,
    start: Option<Duration>,
    parameter_set: Option<SetParametersResult>,
}

pub(crate) struct Probe {
    pub(crate) heard: Heard,
    event_loop: EventLoop<Heard>,
    balls: Publisher<Float32MultiArray>,
    launcher: Publisher<Float32MultiArray>,
    angles: Publisher<Float32MultiArray>,
    closings: Publisher<Float32>,
    hand_client: Client<GetHandState, Heard>,
    clock_client: Client<GetInitTime, Heard>,
    parameter_client: Client<SetParameters, Heard>,
    _node: Node,
}

impl Probe {
    pub(crate) fn new(domain: &DomainLease) -> Self {
        let context = Context::new(ContextOptions::for_domain(domain.id())).unwrap();
        let node = context.node("probe").unwrap();
        let event_loop = EventLoop::<Heard>::new(&context).unwrap();
        let qos = Qos::default();
        event_loop
            .subscribe::<Float32MultiArray>(&node, "arm_ang_angv", Qos::latched(), |h, s| {
                h.arm_states.push(s.message.data);
            })
            .unwrap();
        event_loop.subscribe::<HandClose>(&node, "hand_close", qos, |h, s| h.hands.push(s.message)).unwrap();
        event_loop
            .subscribe::<Float32>(&node, "hand_close_reserve", qos, |h, s| h.reserves.push(s.message.data))
            .unwrap();
        event_loop
            .subscribe::<Float32MultiArray>(&node, "target_arm_state", qos, |h, s| {
                h.targets.push(s.message.data);
            })
            .unwrap();
        event_loop
            .subscribe::<Text>(&node, "catch_verdict", qos, |h, s| {
                h.verdicts.push(serde_json::from_str(&s.message.data).expect("verdicts are JSON"));
            })
            .unwrap();
        event_loop
            .subscribe::<JointState>(&node, "joint_states", qos, |h, s| {
                h.joints = Some(s.message);
                h.joint_samples += 1;
            })
            .unwrap();
        Self {
            heard: Heard::default(),
            balls: node.publisher("ball_initial_state", qos).unwrap(),
            launcher: node.publisher("shooter_state", Qos::latched()).unwrap(),
            angles: node.publisher("ang_debug", qos).unwrap(),
            closings: node.publisher("hand_close_reserve", qos).unwrap(),
            hand_client: event_loop.client(&node, "get_hand_state").unwrap(),
            clock_client: event_loop.client(&node, "get_init_time").unwrap(),
            parameter_client: event_loop.client(&node, "arm_controller/set_parameters").unwrap(),
            event_loop,
            _node: node,
        }
    }

    /// Listens until `done`.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&Heard) -> bool) {
        let ok = self.event_loop.run_until(&mut self.heard, PATIENCE, |h| done(h)).unwrap();
        assert!(ok, "not within {PATIENCE:?}: {what}");
    }

    pub(crate) fn listen_for(&mut self, time: Duration) {
        self.event_loop.run_for(&mut self.heard, time).unwrap();
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
        self.heard.start = None;
        self.clock_client.call(&GetInitTimeRequest::default(), PATIENCE, |h, answer| {
            let a = answer.expect("get_init_time answers");
            let (year, month, day) = (a.year, a.month, a.day);
            let time = InitTime {
                year,
                month,
                day,
                hour: a.hour,
                minute: a.minute,
                second: a.second,
                lower: a.lower,
            };
            h.start = Some(time.start().expect("a possible time"));
        });
        self.until("get_init_time answers", |h| h.start.is_some());
        self.heard.start.unwrap()
    }

    /// Sets a parameter of arm_controller.
    #[track_caller]
    pub(crate) fn set_parameter(&mut self, name: &str, value: ParameterValue) -> SetParametersResult {
        self.heard.parameter_set = None;
        let request = SetParametersRequest { parameters: vec![Parameter { name: name.into(), value }] };
        self.parameter_client.call(&request, PATIENCE, |h, answer| {
            h.parameter_set = answer.expect("set_parameters answers").results.pop();
        });
        self.until("set_parameters answers", |h| h.parameter_set.is_some());
        self.heard.parameter_set.take().unwrap()
    }

    #[track_caller]
    pub(crate) fn hand_state(&mut self) -> (Vec<f32>, HandState) {
        self.heard.hand_state = None;
        self.hand_client.call(&GetHandStateRequest::default(), PATIENCE, |h, answer| {
            h.hand_state = Some(answer.expect("get_hand_state answers").hand_state);
        });
        self.until("get_hand_state answers", |h| h.hand_state.is_some());
        let array = self.heard.hand_state.clone().unwrap();
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
        find(&self.heard).unwrap()
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
        let joints = self.heard.joints.as_ref()?;
        joints.position.get(joints.name.iter().position(|n| n == name)?).copied()
    }
}

fn rests_at(heard: &Heard, angles: &[f32; 6]) -> bool {
    heard.arm_states.last().is_some_and(|state| {
        let near = state.iter().zip(angles).all(|(a, b)| (a - b).abs() < 1e-3);
        near && state[6..].iter().all(|v| *v == 0.0)
    })
}

pub(crate) fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

pub(crate) fn double(value: f64) -> ParameterValue {
    ParameterValue { r#type: ParameterType::PARAMETER_DOUBLE, double_value: value, ..Default::default() }
}

pub(crate) fn text(value: &str) -> ParameterValue {
    ParameterValue {
        r#type: ParameterType::PARAMETER_STRING,
        string_value: value.into(),
        ..Default::default()
    }
}
