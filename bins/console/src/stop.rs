//! STOP: for everybody, at once, whatever it takes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rosless_wire::std_msgs::msg::Float32MultiArray;
use serde_json::json;

use crate::app::App;

const PATIENCE: Duration = Duration::from_secs(5);
/// STOP_MOTION of the motion primitives.
const STOP_MOTION: u8 = 66;
pub(crate) const PRIMITIVES: [&str; 2] =
    ["industrial_robot_motion_interfaces/msg/MotionPrimitive", "control_msgs/msg/MotionPrimitive"];
const MECHANISMS: [&str; 2] = ["mecha_control/action/DaizaCmd", "mecha_control/action/HinaCmd"];

impl App {
    /// Stops all that moves on the graph: what is held is let go, motion queues are told STOP_MOTION, mechanisms get the goal
    /// STOP, an arm stays where it is. Recordings go on.
    pub(crate) fn stop_everything(&mut self, by: &str) -> Vec<String> {
        for release in self.holds.release_all(None) {
            self.act(release);
        }
        self.stop_benches();
        let graph = self.graph();
        let mut told = Vec::new();
        let own = self.context.gid().prefix();
        let topics: Vec<_> = graph
            .endpoints()
            .filter(|e| e.gid.prefix() != own && PRIMITIVES.contains(&e.type_name().as_str()))
            .filter_map(|e| match e.role() {
                Some(rosless_graph::graph::Role::Subscription(topic)) => Some((topic, e.type_name())),
                _ => None,
            })
            .collect();
        for (topic, ty) in topics {
            if told.contains(&topic) {
                continue;
            }
            let name = topic.clone();
            let done =
                Box::new(move |app: &mut App, result: Result<_, String>| app.stopped(&name, result.err()));
            if self.publish(&topic, &ty, &json!({"type": STOP_MOTION}), done).is_ok() {
                told.push(topic);
            }
        }
        for (action, types) in graph.actions() {
            let Some(ty) = types.iter().find(|ty| MECHANISMS.contains(&ty.as_str())) else { continue };
            let goal = json!({"goal_id": {"uuid": goal_id()}, "goal": {"command": 0}});
            let (service, ty) = (format!("{action}/_action/send_goal"), format!("{ty}_SendGoal"));
            let name = action.clone();
            let done =
                Box::new(move |app: &mut App, result: Result<_, String>| app.stopped(&name, result.err()));
            if self.call(&service, &ty, &goal, PATIENCE, done).is_ok() {
                told.push(action);
            }
        }
        let arms: Vec<String> = graph
            .topics()
            .into_keys()
            .filter_map(|topic| topic.strip_suffix("/arm_ang_angv").map(str::to_owned))
            .filter(|namespace| !graph.subscriptions(&format!("{namespace}/ang_debug")).is_empty())
            .collect();
        for namespace in arms {
            told.push(format!("{namespace}/ang_debug"));
            self.hold_arm(&namespace);
        }
        log::warn!(target: self.node.logger(), "STOP by {by}: {}", if told.is_empty() { "nobody to tell".to_owned() } else { told.join(", ") });
        told
    }

    fn stopped(&mut self, whom: &str, error: Option<String>) {
        if let Some(error) = error {
            log::error!(target: self.node.logger(), "STOP did not reach {whom}: {error}");
            let text = format!("STOP did not reach {whom}: {error}");
            self.tell_pages(&json!({"op": "notice", "level": "error", "text": text}));
        }
    }

    /// Sends an arm to where it is.
    fn hold_arm(&mut self, namespace: &str) {
        let target = format!("{namespace}/ang_debug");
        let mut done = false;
        let state = format!("{namespace}/arm_ang_angv");
        let subscribed =
            self.handle.subscribe::<Float32MultiArray>(&self.node, &state, move |app: &mut App, sample| {
                if std::mem::replace(&mut done, true) {
                    return;
                }
                let angles: Vec<f32> = sample.message.data.iter().take(6).copied().collect();
                let name = target.clone();
                let told = Box::new(move |app: &mut App, result: Result<_, String>| {
                    app.stopped(&name, result.err())
                });
                let sent =
                    app.publish(&target, "std_msgs/msg/Float32MultiArray", &json!({"data": angles}), told);
                if sent.is_err() {
                    app.stopped(&target, Some("its type is not known".to_owned()));
                }
            });
        match subscribed {
            Ok(subscription) => {
                self.handle.once(PATIENCE, move |_| subscription.close());
            }
            Err(error) => self.stopped(&state, Some(error.to_string())),
        }
    }
}

/// Unique enough for a goal: the time in nanoseconds and the process.
fn goal_id() -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let mut id = now.to_le_bytes();
    id[12..].copy_from_slice(&std::process::id().to_le_bytes());
    id.to_vec()
}
