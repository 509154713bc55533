//! The node visualizer: joint states, transforms and robot model for viewers, and the verdict.

use std::time::Duration;

use anyhow::Result;
use rosless_arm::{Closing, HandState, JOINT_NAMES, Malformed, Scene, Verdict, model};
use rosless_graph::{Client, Context, EventLoop, Node, Publisher, Qos, console, monotonic};
use rosless_wire::{
    builtin_interfaces::msg::Time,
    geometry_msgs::msg::{Quaternion, Transform, TransformStamped, Vector3},
    robot3_18c1054::{
        msg::HandClose,
        srv::{GetHandState, GetHandStateRequest},
    },
    sensor_msgs::msg::JointState,
    std_msgs::msg::{Float32MultiArray, Header, String as Text},
    tf2_msgs::msg::TFMessage,
};

use crate::{clock::wall, run::App, settings, verdict::Verdicts};

/// How long the arm may take to say where its hand is.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct VisualizerNode {
    node: Node,
    scene: Scene,
    joints: Publisher<JointState>,
    tf: Publisher<TFMessage>,
    publish_tf: bool,
    period: Duration,
    /// On the monotonic clock.
    next_show: Duration,
    verdicts: Verdicts,
    arm: Client<GetHandState, App>,
    /// Kept because a latched sample lives as long as its publisher.
    _description: Publisher<Text>,
}

type Update = fn(&mut Scene, &[f32]) -> Result<(), Malformed>;

impl VisualizerNode {
    pub(crate) fn new(context: &Context, event_loop: &EventLoop<App>, with_tf: bool) -> Result<Self> {
        let node = context.node("visualizer")?;
        let inputs: [(&str, Qos, Update); 5] = [
            ("shooter_state", Qos::latched(), Scene::launcher_moved),
            ("ball_initial_state", Qos::default(), Scene::ball_thrown),
            ("arm_ang_angv", Qos::latched(), Scene::arm_moved),
            // Launchers and arms that do not latch.
            ("shooter_state", Qos::default(), Scene::launcher_moved),
            ("arm_ang_angv", Qos::default(), Scene::arm_moved),
        ];
        for (topic, qos, update) in inputs {
            event_loop.subscribe::<Float32MultiArray>(&node, topic, qos, move |app, sample| {
                if let Some(visualizer) = &mut app.visualizer
                    && let Err(reason) = update(&mut visualizer.scene, &sample.message.data)
                {
                    log::warn!(target: visualizer.node.logger(), "/{topic} ignored: {reason}");
                }
            })?;
        }
        event_loop.subscribe::<HandClose>(&node, "hand_close", Qos::default(), |app, sample| {
            if let Some(visualizer) = &mut app.visualizer {
                visualizer.hand_moved(&sample.message);
            }
        })?;
        event_loop.engine_deadline(
            |app| app.visualizer.as_ref().map(|visualizer| visualizer.next_show),
            |app, monotonic| {
                let now = app.clock.now();
                if let Some(visualizer) = &mut app.visualizer {
                    visualizer.show(now);
                    // On the grid of its period, but not several times at once after a delay.
                    visualizer.next_show = (visualizer.next_show + visualizer.period).max(monotonic);
                }
            },
        );
        settings::declare_visualizer(&node, with_tf)?;
        let (period, publish_tf) = settings::visualizer(&node)?;
        event_loop.on_parameter_change(&node, |app, _| {
            if let Some(visualizer) = &mut app.visualizer {
                match settings::visualizer(&visualizer.node) {
                    Ok((period, publish_tf)) => {
                        (visualizer.period, visualizer.publish_tf) = (period, publish_tf);
                        visualizer.next_show = monotonic();
                    }
                    Err(error) => log::error!(target: visualizer.node.logger(), "{error}"),
                }
            }
        });
        let description = node.publisher::<Text>("robot_description", Qos::latched())?;
        description.publish(&Text { data: model::urdf() });
        Ok(Self {
            scene: Scene::default(),
            joints: node.publisher("joint_states", Qos::default())?,
            tf: node.publisher("/tf", Qos::default().depth(100))?,
            publish_tf,
            period,
            next_show: monotonic(),
            verdicts: Verdicts::new(&node)?,
            arm: event_loop.client(&node, "get_hand_state")?,
            _description: description,
            node,
        })
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// A new arm begins with an open hand.
    pub(crate) fn arm_restarted(&mut self) {
        self.scene.hand_moved(false, 0.0);
    }

    fn hand_moved(&mut self, hand: &HandClose) {
        let Some(closing) = self.scene.hand_moved(hand.close, hand.time_stamp) else { return };
        self.arm.call(&GetHandStateRequest::default(), PATIENCE, move |app, answer| {
            let seen = app.clock.now();
            let Some(visualizer) = &mut app.visualizer else { return };
            let logger = visualizer.node.logger();
            match answer.map(|a| HandState::from_array(&a.hand_state)) {
                Ok(Ok(hand)) => visualizer.judge(&closing, &hand, seen),
                Ok(Err(reason)) => log::warn!(target: logger, "no verdict: /get_hand_state gave a {reason}"),
                Err(reason) => log::warn!(target: logger, "no verdict: {reason}"),
            }
        });
    }

    fn judge(&mut self, closing: &Closing, hand: &HandState, seen: Duration) {
        let verdict = self.scene.judge(closing, hand, seen.as_secs_f64());
        print_verdict(&verdict);
        self.verdicts.judged(&verdict);
        match verdict.miss {
            None => log::info!(target: self.node.logger(), "ball catch : success"),
            Some(reason) => log::info!(target: self.node.logger(), "ball catch : miss, {reason}"),
        }
    }

    fn show(&self, now: Duration) {
        let positions = self.scene.joint_positions(now);
        let stamp = stamp(wall());
        self.joints.publish(&JointState {
            header: Header { stamp: stamp.clone(), frame_id: String::new() },
            name: JOINT_NAMES.map(String::from).to_vec(),
            position: positions.to_vec(),
            ..Default::default()
        });
        if self.publish_tf {
            let transforms = model::frames(&positions).map(|frame| transform(&frame, &stamp)).to_vec();
            self.tf.publish(&TFMessage { transforms });
        }
    }
}

fn stamp(since_epoch: Duration) -> Time {
    Time { sec: since_epoch.as_secs() as i32, nanosec: since_epoch.subsec_nanos() }
}

fn transform(frame: &model::Frame, stamp: &Time) -> TransformStamped {
    let (translation, rotation) = (frame.pose.translation.vector, frame.pose.rotation);
    TransformStamped {
        header: Header { stamp: stamp.clone(), frame_id: frame.parent.into() },
        child_frame_id: frame.child.into(),
        transform: Transform {
            translation: Vector3 { x: translation.x, y: translation.y, z: translation.z },
            rotation: Quaternion { x: rotation.i, y: rotation.j, z: rotation.k, w: rotation.w },
        },
    }
}

/// The block people look for in the terminal.
fn print_verdict(verdict: &Verdict) {
    let line = "-".repeat(45);
    let [x, y, z]: [f64; 3] = verdict.relative_position.into();
    let outcome = match verdict.miss {
        None => "success".to_owned(),
        Some(reason) => format!("miss\n  {reason}"),
    };
    console::print_line(&format!(
        "{line}\nball's relative position from hand :\n[[{x:+.6}]\n [{y:+.6}]\n [{z:+.6}]]\nball catch : {outcome}\n{line}"
    ));
}
