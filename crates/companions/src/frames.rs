//! The tree of frames, as far as `/tf` and `/tf_static` told of it.

use std::collections::HashMap;

use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion};
use rosless_wire::{
    geometry_msgs::msg::{Point, Pose, Quaternion as WireQuaternion, Transform, Vector3},
    tf2_msgs::msg::TFMessage,
};

/// No robot has more; whoever sends more does not get more memory.
const MOST_FRAMES: usize = 4096;
/// A longer way to the root is a circle.
const LONGEST_WAY: usize = 256;

/// The newest transform of every frame to its parent.
#[derive(Debug, Default)]
pub struct Frames {
    parents: HashMap<String, (String, Isometry3<f64>)>,
}

impl Frames {
    /// Takes what a message tells; transforms that are none (not finite, no rotation) are left out and counted.
    pub fn learn(&mut self, message: &TFMessage) -> usize {
        let mut refused = 0;
        for stamped in &message.transforms {
            let (child, parent) = (frame(&stamped.child_frame_id), frame(&stamped.header.frame_id));
            let full = self.parents.len() >= MOST_FRAMES && !self.parents.contains_key(child);
            match isometry(&stamped.transform.translation, &stamped.transform.rotation) {
                Some(transform) if !full && child != parent => {
                    self.parents.insert(child.to_owned(), (parent.to_owned(), transform));
                }
                _ => refused += 1,
            }
        }
        refused
    }

    /// Where `of` is, seen from `seen_from`; None while the tree does not join them.
    pub fn lookup(&self, seen_from: &str, of: &str) -> Option<Isometry3<f64>> {
        let (root, from_root) = self.way_from_root(frame(seen_from))?;
        let (other_root, to_frame) = self.way_from_root(frame(of))?;
        (root == other_root).then(|| from_root.inverse() * to_frame)
    }

    fn way_from_root<'a>(&'a self, mut name: &'a str) -> Option<(&'a str, Isometry3<f64>)> {
        let mut way = Isometry3::identity();
        for _ in 0..LONGEST_WAY {
            let Some((parent, transform)) = self.parents.get(name) else { return Some((name, way)) };
            way = transform * way;
            name = parent;
        }
        None
    }
}

/// Old publishers still write a leading slash.
fn frame(name: &str) -> &str {
    name.strip_prefix('/').unwrap_or(name)
}

fn isometry(place: &Vector3, turn: &WireQuaternion) -> Option<Isometry3<f64>> {
    let turn = Quaternion::new(turn.w, turn.x, turn.y, turn.z);
    let finite = [place.x, place.y, place.z].iter().all(|value| value.is_finite());
    let turn =
        UnitQuaternion::try_new(turn, 1e-6).filter(|turn| turn.coords.iter().all(|c| c.is_finite()))?;
    finite.then(|| Isometry3::from_parts(Translation3::new(place.x, place.y, place.z), turn))
}

/// None if the pose is none: not finite, or without a rotation.
pub(crate) fn from_pose(pose: &Pose) -> Option<Isometry3<f64>> {
    let Point { x, y, z } = pose.position;
    isometry(&Vector3 { x, y, z }, &pose.orientation)
}

/// The pose at x, y, z turned by roll, pitch and yaw in radians.
pub fn pose_from([x, y, z, roll, pitch, yaw]: [f64; 6]) -> Pose {
    let transform = to_transform(&from_xyzrpy([x, y, z, roll, pitch, yaw]));
    Pose { position: Point { x, y, z }, orientation: transform.rotation }
}

pub(crate) fn from_xyzrpy([x, y, z, roll, pitch, yaw]: [f64; 6]) -> Isometry3<f64> {
    Isometry3::from_parts(Translation3::new(x, y, z), UnitQuaternion::from_euler_angles(roll, pitch, yaw))
}

pub(crate) fn to_transform(isometry: &Isometry3<f64>) -> Transform {
    let (place, turn) = (isometry.translation.vector, isometry.rotation.coords);
    Transform {
        translation: Vector3 { x: place.x, y: place.y, z: place.z },
        rotation: WireQuaternion { x: turn.x, y: turn.y, z: turn.z, w: turn.w },
    }
}

#[cfg(test)]
pub(crate) fn told(parent: &str, child: &str, place: [f64; 6]) -> TFMessage {
    use rosless_wire::{geometry_msgs::msg::TransformStamped, std_msgs::msg::Header};
    let header = Header { frame_id: parent.to_owned(), ..Header::default() };
    let transform = to_transform(&from_xyzrpy(place));
    TFMessage { transforms: vec![TransformStamped { header, child_frame_id: child.to_owned(), transform }] }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use super::*;

    #[test]
    fn frames_are_found_up_and_down_the_tree_and_not_across_trees() {
        let mut frames = Frames::default();
        frames.learn(&told("/base", "mast", [0.0, 0.0, 1.0, 0.0, 0.0, FRAC_PI_2]));
        frames.learn(&told("mast", "mocap", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
        frames.learn(&told("base", "foot", [0.0, 2.0, 0.0, 0.0, 0.0, 0.0]));
        let foot = frames.lookup("mocap", "foot").unwrap().translation.vector;
        assert!((foot - nalgebra::Vector3::new(1.0, 0.0, -1.0)).norm() < 1e-9, "{foot}");
        assert!(frames.lookup("mocap", "elsewhere").is_none());
    }

    #[test]
    fn hostile_transforms_neither_enter_nor_hang() {
        let mut frames = Frames::default();
        let mut bad = told("a", "b", [0.0; 6]);
        bad.transforms[0].transform.rotation = WireQuaternion { x: 0.0, y: 0.0, z: 0.0, w: 0.0 };
        assert_eq!(frames.learn(&bad), 1);
        assert_eq!(frames.learn(&told("a", "b", [f64::NAN, 0.0, 0.0, 0.0, 0.0, 0.0])), 1);
        bad.transforms[0].transform.rotation.w = f64::INFINITY;
        assert_eq!(frames.learn(&bad), 1);
        frames.learn(&told("a", "b", [0.0; 6]));
        frames.learn(&told("b", "a", [0.0; 6]));
        assert!(frames.lookup("a", "b").is_none(), "a circle has no root");
        for number in 0..2 * MOST_FRAMES {
            frames.learn(&told("root", &format!("frame{number}"), [0.0; 6]));
        }
        assert_eq!(frames.parents.len(), MOST_FRAMES);
    }
}
