//! The node that tells where a robot truly is, and the command that tells it where that was.

use std::time::Duration;

use rosless_cli::{Failure, Result, Session, exit, output};
use rosless_companions::{GroundTruth, pose_from};
use rosless_graph::{EventLoop, Node, TopicQos, config::Settings, parameters::Descriptor};
use rosless_wire::{
    mocap4r2_msgs::msg::RigidBodies,
    mocap4r2_robot_gt_msgs::srv::{SetGTOrigin, SetGTOriginRequest, SetGTOriginResponse},
    tf2_msgs::msg::TFMessage,
};

pub(crate) const NODE: &str = "mocap4r2_gt";
const SERVICE: &str = "set_get_origin";
const TIMEOUT: Duration = Duration::from_secs(5);

/// None until its parameters are read.
type App = Option<GroundTruth>;

pub(crate) fn install(event_loop: &EventLoop<App>, node: &Node, app: &mut App) -> Result<()> {
    *app = Some(declare(node)?);
    for topic in ["/tf".keep_last(100), "/tf_static".keep_last(100).transient_local()] {
        let me = node.clone();
        event_loop.subscribe::<TFMessage>(node, topic, move |app, sample| {
            let Some(truth) = app.as_mut().filter(|truth| !truth.is_valid()) else { return };
            truth.transforms(&sample.message);
            if truth.is_valid() {
                log::info!(target: me.logger(), "it is known where on the robot the rigid body sits");
            }
        })?;
    }
    let broadcast = node.publisher::<TFMessage>("/tf".keep_last(100))?;
    event_loop.subscribe::<RigidBodies>(node, "rigid_bodies".sensor_data(), move |app, sample| {
        if let Some(transform) = app.as_mut().and_then(|truth| truth.bodies(&sample.message)) {
            broadcast.publish(&TFMessage { transforms: vec![transform] });
        }
    })?;
    let me = node.clone();
    event_loop.serve::<SetGTOrigin>(node, &format!("~/{SERVICE}"), move |app, request, responder| {
        let pose = (!request.current_is_origin).then_some(&request.origin_pose);
        let done = app.as_mut().map_or(Err("not ready"), |truth| truth.set_origin(pose));
        if let Err(reason) = done {
            log::error!(target: me.logger(), "{reason}");
        }
        let error_msg = done.err().unwrap_or_default().to_owned();
        responder.reply(&SetGTOriginResponse { success: done.is_ok(), error_msg });
    })?;
    Ok(())
}

fn declare(node: &Node) -> Result<GroundTruth> {
    let frame = |name: &str, text: &str, default: &str| -> Result<String> {
        let descriptor = Descriptor::new(name).description(text).read_only();
        Ok(node.declare_parameter(descriptor, default.to_owned())?)
    };
    let root = frame("root_frame", "Frame the ground truth is told in.", "odom")?;
    let robot =
        frame("robot_frame", "Frame of the robot; the ground truth is this with _gt.", "base_footprint")?;
    let mocap = frame("mocap_frame", "Frame of the robot's rigid body.", "base_mocap")?;
    let name = "init_mocap4r2_xyzrpy";
    let text = "x, y, z, roll, pitch, yaw of the cameras' origin in the root frame.";
    let place: Vec<f64> =
        node.declare_parameter(Descriptor::new(name).description(text).read_only(), vec![0.0; 6])?;
    let place = <[f64; 6]>::try_from(place).ok().filter(|place| place.iter().all(|value| value.is_finite()));
    let place = place.ok_or_else(|| Failure::usage(format!("{name} must be six finite numbers: {text}")))?;
    Ok(GroundTruth::new(&root, &robot, &mocap, place))
}

pub(crate) fn set_origin(settings: &Settings, node: &str, pose: &[f64]) -> Result<()> {
    let request = match <[f64; 6]>::try_from(pose) {
        Ok(pose) => SetGTOriginRequest { current_is_origin: false, origin_pose: pose_from(pose) },
        Err(_) => SetGTOriginRequest { current_is_origin: true, ..Default::default() },
    };
    let hand = Session::join_as(settings, "set_gt_cli", ())?;
    let service = rosless_cli::session::absolute(&format!("{node}/{SERVICE}"));
    let answer = hand.call::<SetGTOrigin>(&service, &request, TIMEOUT).map_err(|failure| match failure.code {
        exit::NOBODY => Failure::nobody(format!(
            "nobody serves {service} on domain {}; start `mocap-companion ground-truth`, or name its node with --node",
            hand.domain()
        )),
        _ => failure,
    })?;
    if !answer.success {
        return Err(Failure::new(format!("the origin was not set: {}", answer.error_msg)));
    }
    if output::is_json() {
        output::json_line(&serde_json::json!({"node": node, "success": true}));
    } else {
        rosless_cli::out!("the origin is set");
    }
    Ok(())
}
