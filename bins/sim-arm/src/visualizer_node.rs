//! The node visualizer: joint states, transforms and robot model for viewers, and the verdict.

use std::{fmt::Display, time::Duration};

use rosless_arm::{Ball, CatchVerdict, ClockNews, HandState, JOINT_NAMES, Judged, Malformed, Scene, model};
use rosless_cli::{Failure, Result};
use rosless_graph::{
    Client, Context, EventLoop, Gid, Node, Publisher, Sample, SampleInfo, Topic, TopicQos, lines, monotonic,
};
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

use crate::{
    clock::{since_epoch, wall},
    daemon::App,
    listening,
    markers::Markers,
    settings,
    verdict::Verdicts,
};

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
    markers: Markers,
    /// The hand's last message: from whom, and its number.
    last_hand: Option<(Gid, i64)>,
    arm: Client<GetHandState, App>,
    /// Kept because a latched sample lives as long as its publisher.
    _description: Publisher<Text>,
}

/// The last argument is the arm's time.
type Update = fn(&mut Scene, &[f32], &SampleInfo, Duration) -> Result<(), Malformed>;

fn launcher_moved(scene: &mut Scene, data: &[f32], _: &SampleInfo, _: Duration) -> Result<(), Malformed> {
    scene.launcher_moved(data)
}

fn ball_thrown(scene: &mut Scene, data: &[f32], _: &SampleInfo, _: Duration) -> Result<(), Malformed> {
    scene.ball_thrown(data, monotonic())
}

fn arm_moved(scene: &mut Scene, data: &[f32], info: &SampleInfo, now: Duration) -> Result<(), Malformed> {
    scene.arm_moved(data, info.source_stamp.map(since_epoch), now)
}

impl VisualizerNode {
    pub(crate) fn new(context: &Context, event_loop: &EventLoop<App>, with_tf: bool) -> Result<Self> {
        let node = context.node("visualizer")?;
        let inputs: [(Topic<'static>, Update); 3] = [
            ("shooter_state".into(), launcher_moved),
            ("ball_initial_state".into(), ball_thrown),
            // Deep, because the report of the instant the hand closed must not be lost to later ones.
            ("arm_ang_angv".keep_last(100), arm_moved),
        ];
        for (topic, update) in inputs {
            let hear = move |app: &mut App, sample: Sample<Float32MultiArray>| {
                let now = app.clock.now();
                if topic.name == "ball_initial_state"
                    && let (Some(visualizer), Ok(ball)) =
                        (&app.visualizer, Ball::from_array(&sample.message.data))
                {
                    visualizer.markers.flight(&ball);
                }
                if let Some(visualizer) = &mut app.visualizer
                    && let Err(reason) =
                        update(&mut visualizer.scene, &sample.message.data, &sample.info, now)
                {
                    log::warn!(target: visualizer.node.logger(), "{} ignored: {reason}", topic.name);
                }
            };
            match topic.name {
                // A throw of long ago is none.
                "ball_initial_state" => drop(event_loop.subscribe(&node, topic, hear)?),
                _ => listening::subscribe(context, event_loop, &node, topic, hear)?,
            }
        }
        // After the arm's states: of what arrives together, the topic subscribed to first is read first.
        let hear = |app: &mut App, sample: Sample<HandClose>| {
            if let Some(visualizer) = &mut app.visualizer {
                visualizer.hand_moved(&sample.message, &sample.info);
            }
        };
        listening::subscribe(context, event_loop, &node, "hand_close", hear)?;
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
        let (period, publish_tf) = settings::visualizer(&node).map_err(Failure::usage)?;
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
        let description = node.publisher::<Text>("robot_description".latched())?;
        description.publish(&Text { data: model::urdf() });
        Ok(Self {
            scene: Scene::default(),
            joints: node.publisher("joint_states")?,
            tf: node.publisher("/tf".keep_last(100))?,
            publish_tf,
            period,
            next_show: monotonic(),
            verdicts: Verdicts::new(&node)?,
            markers: Markers::new(&node)?,
            last_hand: None,
            arm: event_loop.client(&node, "get_hand_state")?,
            _description: description,
            node,
        })
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// `arm_time` tells what an instant of this process's clock is on the arm's.
    pub(crate) fn clock_changed(&mut self, news: ClockNews, arm_time: &dyn Fn(Duration) -> f64) {
        self.scene.forget_strange_balls(arm_time);
        if news == ClockNews::Restarted {
            self.scene.arm_restarted();
        }
    }

    fn hand_moved(&mut self, hand: &HandClose, info: &SampleInfo) {
        // Two subscriptions, for arms that latch and for arms that do not, hear the same of those that do.
        let heard =
            self.last_hand.is_some_and(|(arm, last)| arm == info.publisher && last >= info.sequence_number);
        if heard {
            return;
        }
        self.last_hand = Some((info.publisher, info.sequence_number));
        if !self.scene.hand_moved(hand.close, hand.time_stamp) {
            return;
        }
        let (at, sent) = (f64::from(hand.time_stamp), info.source_stamp.map(since_epoch));
        if self.judge_by_report(at, sent) {
            return;
        }
        // An arm that does not report the instant its hand closes, or whose report is late: ask it.
        self.arm.call(&GetHandStateRequest::default(), PATIENCE, move |app, answer| {
            let seen = app.clock.now().as_secs_f64();
            let Some(visualizer) = &mut app.visualizer else { return };
            if visualizer.judge_by_report(at, sent) {
                return;
            }
            match answer.map(|a| HandState::from_array(&a.hand_state)) {
                Ok(Ok(hand)) => match visualizer.scene.judge_later(at, &hand, seen) {
                    Some(judged) => visualizer.tell(&judged, at),
                    None => {
                        let late = 1e3 * (seen - at);
                        visualizer
                            .give_up(at, &format!("too late to tell, {late:.0} ms after the hand closed"));
                    }
                },
                Ok(Err(reason)) => visualizer.give_up(at, &format!("get_hand_state gave a {reason}")),
                Err(reason) => visualizer.give_up(at, &reason),
            }
        });
    }

    fn judge_by_report(&mut self, at: f64, sent: Option<Duration>) -> bool {
        let Some(hand) = sent.and_then(|sent| self.scene.hand_at_closing(sent)) else { return false };
        if let Some(judged) = self.scene.judge(at, &hand) {
            self.tell(&judged, at);
        }
        true
    }

    fn tell(&mut self, judged: &Judged, at: f64) {
        self.markers.verdict(judged, &judged.ball.at(at - judged.ball.released).0);
        print_verdict(judged);
        self.verdicts.tell(&CatchVerdict::judged(judged));
        match judged.verdict.miss {
            None => log::info!(target: self.node.logger(), "ball catch : success"),
            Some(reason) => log::info!(target: self.node.logger(), "ball catch : miss, {reason}"),
        }
    }

    fn give_up(&mut self, at: f64, reason: &dyn Display) {
        log::warn!(target: self.node.logger(), "no verdict: {reason}");
        if let Some(ball) = self.scene.unjudged(at) {
            self.verdicts.tell(&CatchVerdict::unknown(ball.released, reason));
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
fn print_verdict(judged: &Judged) {
    let verdict = &judged.verdict;
    let line = "-".repeat(45);
    let [x, y, z]: [f64; 3] = verdict.relative_position.into();
    let outcome = match verdict.miss {
        None => "success".to_owned(),
        Some(reason) => format!("miss\n  {reason}"),
    };
    lines::print_line(&format!(
        "{line}\nball's relative position from hand :\n[[{x:+.6}]\n [{y:+.6}]\n [{z:+.6}]]\nball catch : {outcome}\n{line}"
    ));
}
