//! Frames and the transforms between them, as they were heard.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion};
use rosless_wire::{builtin_interfaces::msg::Time, geometry_msgs::msg::TransformStamped};

/// More frames than any robot has: what comes beyond them is not kept.
const MOST_FRAMES: usize = 10_000;

/// A frame below another.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) parent: String,
    pub(super) pose: Isometry3<f64>,
    /// The latest stamp, in seconds; nothing for what never moves.
    pub(super) stamp: Option<f64>,
    /// Who said so last.
    pub(super) publisher: String,
    pub(super) count: u64,
    first: Duration,
    last: Duration,
    delay_sum: f64,
    pub(super) delay_max: f64,
}

impl Link {
    /// Per second, over the time in which it was heard.
    pub(super) fn rate(&self) -> Option<f64> {
        let seconds = self.last.saturating_sub(self.first).as_secs_f64();
        (self.count > 1 && seconds > 0.0).then(|| (self.count - 1) as f64 / seconds)
    }

    /// How old it was on average when it came.
    pub(super) fn delay(&self) -> f64 {
        self.delay_sum / self.count as f64
    }
}

/// When and from whom something came.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) publisher: String,
    pub(super) is_static: bool,
    /// On the clock that only goes forward.
    pub(super) at: Duration,
    /// On the clock of stamps, in seconds.
    pub(super) now: f64,
}

/// Where a frame is in another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Between {
    pub(super) pose: Isometry3<f64>,
    /// Of the oldest transform on the way; nothing where nothing moves.
    pub(super) stamp: Option<f64>,
}

/// All frames by name.
#[derive(Debug, Default)]
pub(super) struct Tree {
    links: BTreeMap<String, Link>,
    /// Frames that somebody placed below two others.
    pub(super) disputed: BTreeSet<String>,
    /// Transforms that were none.
    pub(super) refused: u64,
}

fn seconds(time: &Time) -> f64 {
    f64::from(time.sec) + f64::from(time.nanosec) * 1e-9
}

fn pose(transform: &TransformStamped) -> Option<Isometry3<f64>> {
    let (t, r) = (&transform.transform.translation, &transform.transform.rotation);
    let rotation = Quaternion::new(r.w, r.x, r.y, r.z);
    let sound = [t.x, t.y, t.z].iter().all(|x| x.is_finite()) && (0.5..2.0).contains(&rotation.norm());
    sound.then(|| {
        let translation = Translation3::new(t.x, t.y, t.z);
        Isometry3::from_parts(translation, UnitQuaternion::from_quaternion(rotation))
    })
}

impl Tree {
    pub(super) fn take(&mut self, transform: &TransformStamped, heard: &Heard) {
        let name = |text: &str| text.trim_start_matches('/').to_owned();
        let (parent, child) = (name(&transform.header.frame_id), name(&transform.child_frame_id));
        let full = self.links.len() >= MOST_FRAMES && !self.links.contains_key(&child);
        let pose =
            pose(transform).filter(|_| !full && !parent.is_empty() && !child.is_empty() && parent != child);
        let Some(pose) = pose else {
            self.refused += 1;
            return;
        };
        let stamp = (!heard.is_static).then(|| seconds(&transform.header.stamp));
        let delay = stamp.map_or(0.0, |stamp| heard.now - stamp);
        let before = self.links.get(&child);
        if before.is_some_and(|before| before.parent != parent) {
            self.disputed.insert(child.clone());
        }
        let link = Link {
            parent,
            pose,
            stamp,
            publisher: heard.publisher.clone(),
            count: before.map_or(0, |before| before.count) + 1,
            first: before.map_or(heard.at, |before| before.first),
            last: heard.at,
            delay_sum: before.map_or(0.0, |before| before.delay_sum) + delay,
            delay_max: before.map_or(delay, |before| before.delay_max.max(delay)),
        };
        self.links.insert(child, link);
    }

    pub(super) fn links(&self) -> impl Iterator<Item = (&String, &Link)> {
        self.links.iter()
    }

    /// Every frame that was named.
    pub(super) fn frames(&self) -> BTreeSet<&str> {
        self.links.iter().flat_map(|(child, link)| [child.as_str(), link.parent.as_str()]).collect()
    }

    /// From a frame up to its root: every frame on the way, with where the first is in it.
    fn way_up(&self, frame: &str) -> Vec<(String, Between)> {
        let mut way = vec![(frame.to_owned(), Between { pose: Isometry3::identity(), stamp: None })];
        // A circle is left after one round.
        while way.len() <= self.links.len()
            && let Some((at, below)) = way.last()
            && let Some(link) = self.links.get(at)
        {
            let stamp = [below.stamp, link.stamp].into_iter().flatten().reduce(f64::min);
            way.push((link.parent.clone(), Between { pose: link.pose * below.pose, stamp }));
        }
        way
    }

    /// Where `target` is in `source`, as `tf2_echo source target` says it.
    ///
    /// # Errors
    /// Why there is no way from one to the other.
    pub(super) fn between(&self, source: &str, target: &str) -> Result<Between, String> {
        let frames = self.frames();
        for frame in [source, target] {
            if !frames.contains(frame) {
                let known = if frames.is_empty() {
                    "no frame".to_owned()
                } else {
                    frames.into_iter().collect::<Vec<_>>().join(", ")
                };
                return Err(format!("frame \"{frame}\" does not exist; there is {known}"));
            }
        }
        let (up, down) = (self.way_up(source), self.way_up(target));
        let common = up.iter().find_map(|(frame, of_source)| {
            let of_target = down.iter().find(|(other, _)| other == frame)?;
            Some((of_source, &of_target.1))
        });
        let (of_source, of_target) = common.ok_or_else(|| {
            let root = |way: &[(String, Between)]| way.last().map(|(frame, _)| frame.clone()).unwrap_or_default();
            format!(
                "\"{source}\" and \"{target}\" are in two trees that are not connected: below \"{}\" and below \"{}\"",
                root(&up),
                root(&down)
            )
        })?;
        let stamp = [of_source.stamp, of_target.stamp].into_iter().flatten().reduce(f64::min);
        Ok(Between { pose: of_source.pose.inverse() * of_target.pose, stamp })
    }

    /// Frames below each other, each with what `tell` says of it.
    pub(super) fn draw(&self, tell: impl Fn(&Link) -> String) -> String {
        let mut below: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (child, link) in &self.links {
            below.entry(&link.parent).or_default().push(child);
        }
        let mut text = String::new();
        let mut drawn = BTreeSet::new();
        let roots: Vec<_> =
            self.frames().into_iter().filter(|frame| !self.links.contains_key(*frame)).collect();
        // Depth first, without calling itself: a chain may be as long as there are frames.
        let mut open: Vec<(&str, String, bool)> =
            roots.into_iter().rev().map(|root| (root, String::new(), true)).collect();
        while let Some((frame, indent, last)) = open.pop() {
            drawn.insert(frame);
            let link = self.links.get(frame);
            let branch = if link.is_none() {
                ""
            } else if last {
                "└─ "
            } else {
                "├─ "
            };
            text += &format!(
                "{indent}{branch}{frame}{}\n",
                link.map_or_else(String::new, |link| format!("  {}", tell(link)))
            );
            let gap = if link.is_none() {
                ""
            } else if last {
                "   "
            } else {
                "│  "
            };
            let children = below.get(frame).map(Vec::as_slice).unwrap_or_default();
            for (index, child) in children.iter().enumerate().rev() {
                open.push((child, format!("{indent}{gap}"), index + 1 == children.len()));
            }
        }
        for (child, link) in self.links.iter().filter(|(child, _)| !drawn.contains(child.as_str())) {
            text += &format!("{child}  is in a circle: its parent is {}\n", link.parent);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transform(parent: &str, child: &str, x: f64, yaw: f64, stamp: i32) -> TransformStamped {
        let mut transform = TransformStamped { child_frame_id: child.into(), ..Default::default() };
        transform.header.frame_id = parent.into();
        transform.header.stamp.sec = stamp;
        transform.transform.translation.x = x;
        transform.transform.rotation.z = (yaw / 2.0).sin();
        transform.transform.rotation.w = (yaw / 2.0).cos();
        transform
    }

    fn heard(seconds: u64, is_static: bool) -> Heard {
        Heard { publisher: "/n".into(), is_static, at: Duration::from_secs(seconds), now: 100.5 }
    }

    #[test]
    fn a_frame_is_found_in_any_other() {
        let mut tree = Tree::default();
        tree.take(&transform("map", "base", 1.0, std::f64::consts::FRAC_PI_2, 100), &heard(0, false));
        tree.take(&transform("base", "hand", 2.0, 0.0, 99), &heard(0, false));
        tree.take(&transform("/map", "/post", 5.0, 0.0, 0), &heard(0, true));
        let hand = tree.between("map", "hand").unwrap();
        assert!((hand.pose.translation.vector - nalgebra::Vector3::new(1.0, 2.0, 0.0)).norm() < 1e-12);
        assert_eq!(hand.stamp, Some(99.0));
        let back = tree.between("hand", "post").unwrap();
        assert!((back.pose.translation.vector - nalgebra::Vector3::new(-2.0, -4.0, 0.0)).norm() < 1e-12);
        assert_eq!(tree.between("map", "post").unwrap().stamp, None);
        assert_eq!(
            tree.between("map", "foot").unwrap_err(),
            "frame \"foot\" does not exist; there is base, hand, map, post"
        );
        tree.take(&transform("odom", "wheel", 0.0, 0.0, 0), &heard(0, true));
        assert!(tree.between("wheel", "hand").unwrap_err().ends_with("below \"odom\" and below \"map\""));
        assert_eq!(
            tree.draw(|link| format!("[{}]", link.publisher)),
            "map\n├─ base  [/n]\n│  └─ hand  [/n]\n└─ post  [/n]\nodom\n└─ wheel  [/n]\n"
        );
    }

    #[test]
    fn rates_and_delays_are_kept_and_disputes_seen() {
        let mut tree = Tree::default();
        for second in 0..5 {
            tree.take(&transform("a", "b", 0.0, 0.0, 100), &heard(second, false));
        }
        let (_, link) = tree.links().next().unwrap();
        assert_eq!((link.rate(), link.delay(), link.delay_max), (Some(1.0), 0.5, 0.5));
        tree.take(&transform("c", "b", 0.0, 0.0, 100), &heard(9, false));
        assert!(tree.disputed.contains("b"));
    }

    #[test]
    fn nonsense_is_refused_and_circles_end() {
        let mut tree = Tree::default();
        let mut bad = transform("a", "b", f64::NAN, 0.0, 0);
        tree.take(&bad, &heard(0, false));
        bad = transform("a", "b", 0.0, 0.0, 0);
        bad.transform.rotation.w = 0.0;
        tree.take(&bad, &heard(0, false));
        tree.take(&transform("a", "a", 0.0, 0.0, 0), &heard(0, false));
        tree.take(&transform("", "a", 0.0, 0.0, 0), &heard(0, false));
        assert_eq!((tree.refused, tree.frames().len()), (4, 0));
        tree.take(&transform("a", "b", 0.0, 0.0, 0), &heard(0, false));
        tree.take(&transform("b", "a", 0.0, 0.0, 0), &heard(0, false));
        assert!(tree.between("a", "b").is_ok());
        assert!(tree.draw(|_| String::new()).contains("a  is in a circle: its parent is b"));
    }
}
