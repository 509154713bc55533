//! The node shooter_controller_simple.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rosless_arm::{ArmClock, ClockNews, InitTime, Launcher, Shooter, shooter::DEFAULT_SPEED};
use rosless_cli::Result;
use rosless_graph::{Client, Context, EventLoop, Node, Publisher, TopicQos, monotonic};
use rosless_wire::{
    robot3_18c1054::srv::{GetInitTime, GetInitTimeRequest, GetInitTimeResponse},
    sensor_msgs::msg::JointState,
    std_msgs::msg::{Bool, Float32, Float32MultiArray},
};

/// How long a throw waits for the arm to say what time it is.
const CLOCK_PATIENCE: Duration = Duration::from_millis(300);

struct App {
    node: Node,
    shooter: Shooter,
    clock: ArmClock,
    arm: Client<GetInitTime, App>,
    state: Publisher<Float32MultiArray>,
    ball: Publisher<Float32MultiArray>,
    /// Nobody has aimed it yet: a viewer may remember how a launcher stood that was here before.
    new: bool,
}

/// How long a new launcher listens for how the one before it stood.
const MEMORY: Duration = Duration::from_secs(1);
/// The launcher's joints as a viewer tells them: x, z, phi, psi.
const JOINTS: [&str; 4] = ["shooter_x", "shooter_z", "shooter_roll", "shooter_pitch"];

/// Runs the launcher until it is told to stop.
pub(crate) fn run(context: &Context) -> Result<()> {
    let node = context.node("shooter_controller_simple")?;
    let event_loop = EventLoop::<App>::new(context)?;
    let mut app = App {
        shooter: Shooter::default(),
        clock: ArmClock::default(),
        arm: event_loop.client(&node, "get_init_time")?,
        // Latched, so that a viewer started later shows where the launcher stands.
        state: node.publisher("shooter_state".latched())?,
        ball: node.publisher("ball_initial_state")?,
        node: node.clone(),
        new: true,
    };
    event_loop.subscribe::<Float32MultiArray>(&node, "shooter_state_input", |app, sample| {
        app.aim(&sample.message.data);
    })?;
    event_loop.subscribe::<Float32>(&node, "shoot_value", |app, sample| {
        app.request_throw(sample.message.data);
    })?;
    event_loop.subscribe::<Bool>(&node, "shoot_bool", |app, sample| {
        if sample.message.data {
            app.request_throw(DEFAULT_SPEED as f32);
        }
    })?;
    event_loop.subscribe::<JointState>(&node, "joint_states", |app, sample| {
        app.remember(&sample.message);
    })?;
    event_loop.once(MEMORY, |app| app.settle());
    let (aim, throw) = (node.resolve_topic("shooter_state_input")?, node.resolve_topic("shoot_value")?);
    event_loop.announce(&node, format!("launcher ready: aim on {aim}, throw with {throw}"));
    Ok(event_loop.run(&mut app)?)
}

fn array(data: &[f32]) -> Float32MultiArray {
    Float32MultiArray { data: data.to_vec(), ..Default::default() }
}

impl App {
    fn publish_state(&self) {
        self.state.publish(&array(&self.shooter.launcher().to_array()));
    }

    /// From now on this launcher stands where it says.
    fn settle(&mut self) {
        if std::mem::take(&mut self.new) {
            self.publish_state();
        }
    }

    /// A viewer goes on showing a launcher that is gone: a new one takes its place.
    fn remember(&mut self, joints: &JointState) {
        let position =
            |name: &&str| Some(*joints.position.get(joints.name.iter().position(|n| n == name)?)? as f32);
        let told: Vec<f32> = JOINTS.iter().filter_map(position).collect();
        if self.new && told.len() == JOINTS.len() && self.shooter.aim(&told).is_ok() {
            if *self.shooter.launcher() != Launcher::default() {
                log::info!(target: self.node.logger(), "keeps the aim of the launcher that was here before: {told:?}");
            }
            self.settle();
        }
    }

    fn aim(&mut self, data: &[f32]) {
        match self.shooter.aim(data) {
            Ok(launcher) => {
                self.new = false;
                let [x, z, phi, psi] = launcher.to_array();
                log::info!(target: self.node.logger(), "aims from x {x}, z {z}, heading {phi}, elevation {psi}");
                self.publish_state();
            }
            Err(reason) => log::warn!(target: self.node.logger(), "aim refused: {reason}"),
        }
    }

    /// Asks the arm for its clock first: it may have been restarted since the last throw.
    fn request_throw(&mut self, speed: f32) {
        self.settle();
        if !self.arm.is_ready() {
            if !self.clock.is_known() {
                let logger = self.node.logger();
                log::warn!(target: logger, "no arm_controller: release times count from this process's start");
            }
            return self.throw(speed);
        }
        self.arm.call(&GetInitTimeRequest::default(), CLOCK_PATIENCE, move |app, answer| {
            match answer {
                Ok(answer) => app.learn_clock(&answer),
                Err(error) => log::warn!(target: app.node.logger(), "arm time may be wrong: {error}"),
            }
            app.throw(speed);
        });
    }

    fn learn_clock(&mut self, answer: &GetInitTimeResponse) {
        let &GetInitTimeResponse { year, month, day, hour, minute, second, lower } = answer;
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        match (InitTime { year, month, day, hour, minute, second, lower }).start() {
            Some(start) => {
                if self.clock.learn(start, wall, monotonic()) == ClockNews::Restarted {
                    log::info!(target: self.node.logger(), "the arm was restarted, using its new clock");
                }
            }
            None => log::warn!(target: self.node.logger(), "get_init_time gave an impossible time, ignored"),
        }
    }

    fn throw(&mut self, speed: f32) {
        match self.shooter.fire(speed, self.clock.now(monotonic())) {
            Ok(ball) => {
                self.ball.publish(&array(&ball.to_array()));
                log::info!(target: self.node.logger(), "threw at {speed} m/s, t = {:.3} s", ball.released);
            }
            Err(reason) => log::warn!(target: self.node.logger(), "throw refused: {reason}"),
        }
    }
}
