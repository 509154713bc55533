//! What people with a viewer see: the robot's description, its frames, and what it is going to do.

use nalgebra::{Isometry3, Vector3};
use rosless_graph::{Node, Publisher, Result, TopicQos};
use rosless_kinematics::{Joints, Robot, describe};
use rosless_wire::{
    builtin_interfaces::msg::Time,
    geometry_msgs::msg::{Point, Pose, Quaternion, Transform, TransformStamped, Vector3 as Vector3Msg},
    std_msgs::msg::{self, ColorRGBA, Header},
    tf2_msgs::msg::TFMessage,
    visualization_msgs::msg::{Marker, MarkerArray},
};

/// Colours of the planned path and of its blends.
const PATH: ColorRGBA = ColorRGBA { r: 0.1, g: 0.6, b: 1.0, a: 1.0 };
const BLEND: ColorRGBA = ColorRGBA { r: 1.0, g: 0.5, b: 0.0, a: 1.0 };
/// Width of the path, m.
const WIDTH: f64 = 0.004;

/// The topics of the view.
#[derive(Debug)]
pub(crate) struct View {
    robot: Robot,
    prefix: String,
    description: Publisher<msg::String>,
    tf: Publisher<TFMessage>,
    tf_static: Publisher<TFMessage>,
    markers: Publisher<MarkerArray>,
}

fn point(place: &Vector3<f64>) -> Point {
    Point { x: place.x, y: place.y, z: place.z }
}

/// A pose as a message.
pub(crate) fn pose(pose: &Isometry3<f64>) -> Pose {
    let q = pose.rotation.coords;
    Pose {
        position: point(&pose.translation.vector),
        orientation: Quaternion { x: q.x, y: q.y, z: q.z, w: q.w },
    }
}

impl View {
    /// Opens the topics and tells what never changes.
    pub(crate) fn new(node: &Node, robot: Robot, prefix: &str) -> Result<Self> {
        let view = Self {
            robot,
            prefix: prefix.to_owned(),
            description: node.publisher("robot_description".latched())?,
            tf: node.publisher("/tf".keep_last(100))?,
            tf_static: node.publisher("/tf_static".latched())?,
            markers: node.publisher("~/markers".latched())?,
        };
        view.description.publish(&msg::String { data: describe::urdf(&view.robot, prefix) });
        view.tf_static
            .publish(&TFMessage { transforms: view.transforms(&view.robot.home, &node.now(), true) });
        Ok(view)
    }

    /// The name of the frame that poses are meant in.
    pub(crate) fn base_frame(&self) -> String {
        format!("{}{}", self.prefix, self.robot.base_frame)
    }

    /// The frames that stay (base and tool), or those that move.
    fn transforms(&self, joints: &Joints, stamp: &Time, fixed: bool) -> Vec<TransformStamped> {
        let frames = describe::frames(&self.robot, joints, &self.prefix);
        let last = frames.len() - 1;
        let base = usize::from(self.robot.base_frame != self.robot.root_frame);
        let is_fixed = |i: usize| i < base || i == last;
        let stamped = |(parent, child, place): (String, String, Isometry3<f64>)| {
            let (t, q) = (place.translation.vector, place.rotation.coords);
            TransformStamped {
                header: Header { stamp: stamp.clone(), frame_id: parent },
                child_frame_id: child,
                transform: Transform {
                    translation: Vector3Msg { x: t.x, y: t.y, z: t.z },
                    rotation: Quaternion { x: q.x, y: q.y, z: q.z, w: q.w },
                },
            }
        };
        frames
            .into_iter()
            .enumerate()
            .filter(|(i, _)| is_fixed(*i) == fixed)
            .map(|(_, frame)| stamped(frame))
            .collect()
    }

    /// Tells where the links are.
    pub(crate) fn publish_frames(&self, joints: &Joints, stamp: &Time) {
        self.tf.publish(&TFMessage { transforms: self.transforms(joints, stamp, false) });
    }

    /// Shows what the robot is going to do: its path, and in another colour its blends.
    pub(crate) fn publish_path(&self, preview: &[(Joints, bool)], stamp: Time) {
        let header = Header { stamp, frame_id: self.base_frame() };
        let places: Vec<(Point, bool)> =
            preview.iter().map(|(joints, blend)| (point(&self.robot.chain.place(joints)), *blend)).collect();
        let marker = |id: i32, ns: &str, kind: i32, points: Vec<Point>, color: ColorRGBA| Marker {
            header: header.clone(),
            ns: ns.to_owned(),
            id,
            r#type: kind,
            action: if points.len() > 1 { Marker::ADD } else { Marker::DELETE },
            pose: Pose { orientation: Quaternion { w: 1.0, ..Quaternion::default() }, ..Pose::default() },
            scale: Vector3Msg { x: WIDTH, y: WIDTH, z: WIDTH },
            color,
            points,
            ..Marker::default()
        };
        let blends = places
            .windows(2)
            .filter(|pair| pair[0].1 && pair[1].1)
            .flat_map(|pair| [pair[0].0.clone(), pair[1].0.clone()])
            .collect();
        let path = places.into_iter().map(|(place, _)| place).collect();
        let markers = vec![
            marker(0, "planned_path", Marker::LINE_STRIP, path, PATH),
            marker(0, "blends", Marker::LINE_LIST, blends, BLEND),
        ];
        self.markers.publish(&MarkerArray { markers });
    }
}
