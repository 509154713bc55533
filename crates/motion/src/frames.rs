//! Which way a frame stands to the robot's base: what `/tf` and `/tf_static` tell, kept as a tree.

use std::collections::HashMap;

use nalgebra::{Isometry3, Translation3, UnitQuaternion};

/// Frames remembered; whatever else the network says is forgotten.
const MOST_FRAMES: usize = 4096;
/// A way up the tree that is longer than this goes round in circles.
const LONGEST_WAY: usize = 200;

/// The frames that poses may be given in.
#[derive(Debug, Clone, PartialEq)]
pub struct Frames {
    /// The frame that everything is brought to.
    base: String,
    /// The parent of each frame, and the frame seen from there.
    parents: HashMap<String, (String, Isometry3<f64>)>,
}

impl Default for Frames {
    fn default() -> Self {
        Self::new("base")
    }
}

fn plain(frame: &str) -> &str {
    frame.strip_prefix('/').unwrap_or(frame)
}

impl Frames {
    /// No frame but `base` itself.
    pub fn new(base: &str) -> Self {
        Self { base: plain(base).to_owned(), parents: HashMap::new() }
    }

    /// `child` stands in `parent` as `pose` says. The base itself may be a child. False when it cannot be remembered.
    pub fn set(&mut self, parent: &str, child: &str, pose: Isometry3<f64>) -> bool {
        let (parent, child) = (plain(parent), plain(child));
        let is_finite =
            pose.translation.vector.iter().chain(pose.rotation.coords.iter()).all(|v| v.is_finite());
        let has_room = self.parents.len() < MOST_FRAMES || self.parents.contains_key(child);
        if !is_finite || !has_room || parent == child || child.is_empty() {
            return false;
        }
        match self.parents.get_mut(child) {
            // Most news is where a known frame has moved to.
            Some(known) if known.0 == parent => known.1 = pose,
            _ => drop(self.parents.insert(child.to_owned(), (parent.to_owned(), pose))),
        }
        true
    }

    /// The same from the figures of a message; a quaternion that says nothing is refused.
    pub fn set_raw(&mut self, parent: &str, child: &str, position: [f64; 3], orientation: [f64; 4]) -> bool {
        let [x, y, z] = position;
        let [qx, qy, qz, qw] = orientation;
        let rotation = nalgebra::Quaternion::new(qw, qx, qy, qz);
        let off = (rotation.norm() - 1.0).abs();
        if off.is_nan() || off >= 0.05 {
            return false;
        }
        let rotation = UnitQuaternion::from_quaternion(rotation);
        self.set(parent, child, Isometry3::from_parts(Translation3::new(x, y, z), rotation))
    }

    /// From `frame` up to its root: each ancestor, and `frame` seen from it.
    fn way_up(&self, frame: &str) -> Vec<(String, Isometry3<f64>)> {
        let mut way = vec![(frame.to_owned(), Isometry3::identity())];
        while let Some((parent, pose)) = way.last().and_then(|(frame, _)| self.parents.get(frame))
            && way.len() < LONGEST_WAY
        {
            let seen = pose * way[way.len() - 1].1;
            way.push((parent.clone(), seen));
        }
        way
    }

    /// Brings a pose in `frame` to the base. The empty frame is the base.
    ///
    /// # Errors
    /// Says what is missing, in words that follow "and".
    pub fn to_base(&self, frame: &str) -> Result<Isometry3<f64>, String> {
        let frame = plain(frame);
        if frame.is_empty() || frame == self.base {
            return Ok(Isometry3::identity());
        }
        let (from, base) = (self.way_up(frame), self.way_up(&self.base));
        for (ancestor, seen) in &from {
            if let Some((_, base)) = base.iter().find(|(name, _)| name == ancestor) {
                return Ok(base.inverse() * seen);
            }
        }
        let root =
            |way: &[(String, Isometry3<f64>)]| way.last().map_or(String::new(), |(name, _)| name.clone());
        if from.len() == 1 {
            return Err(format!("nothing on /tf tells where that is from \"{}\"", self.base));
        }
        Err(format!(
            "/tf knows it below \"{}\" only, while \"{}\" is below \"{}\"",
            root(&from),
            self.base,
            root(&base)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Vector3;

    fn shifted(x: f64) -> Isometry3<f64> {
        Isometry3::translation(x, 0.0, 0.0)
    }

    #[test]
    fn a_pose_is_brought_to_the_base_over_a_common_ancestor() {
        let mut frames = Frames::new("base");
        let turned = Isometry3::new(Vector3::zeros(), Vector3::z() * std::f64::consts::PI);
        assert!(frames.set("base_link", "base", turned));
        assert!(frames.set("world", "base_link", shifted(1.0)));
        assert!(frames.set("/world", "/table", shifted(3.0)));
        assert!(frames.set("table", "part", shifted(0.5)));
        let place = frames.to_base("part").unwrap().translation.vector;
        assert!((place - Vector3::new(-2.5, 0.0, 0.0)).norm() < 1e-12, "{place:?}");
        assert_eq!(frames.to_base(""), Ok(Isometry3::identity()));
        assert!(frames.to_base("moon").unwrap_err().contains("nothing on /tf"));
        frames.set("mars", "moon", shifted(1.0));
        assert!(frames.to_base("moon").unwrap_err().contains("below \"mars\" only"));
    }

    #[test]
    fn circles_nonsense_and_floods_do_no_harm() {
        let mut frames = Frames::new("base");
        assert!(frames.set("a", "b", shifted(1.0)) && frames.set("b", "a", shifted(1.0)));
        assert!(frames.to_base("a").is_err());
        assert!(
            !frames.set_raw("a", "c", [0.0; 3], [0.0; 4])
                && !frames.set_raw("a", "c", [f64::NAN; 3], [0.0, 0.0, 0.0, 1.0])
        );
        for i in 0..2 * MOST_FRAMES {
            frames.set("world", &format!("f{i}"), shifted(0.0));
        }
        assert_eq!(frames.parents.len(), MOST_FRAMES);
    }
}
