//! Places that no part of the robot may enter: below the floor, and inside boxes.

use nalgebra::Vector3;
use rosless_kinematics::{Joints, Robot};

/// A box with its sides along the axes of the robot's base.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    /// What people call it.
    pub name: String,
    /// The corner with the smallest coordinates, m.
    pub min: Vector3<f64>,
    /// The corner with the largest, m.
    pub max: Vector3<f64>,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Zones {
    /// Height of the floor in the robot's base frame, m.
    pub floor: Option<f64>,
    /// Boxes.
    pub boxes: Vec<Zone>,
}

impl Zone {
    /// Reads `name: x y z x y z`: two opposite corners.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("\"{text}\" is no zone; write \"name: x y z x y z\", two opposite corners in metres");
        let (name, corners) = text.split_once(':').ok_or_else(wrong)?;
        let values: Vec<f64> = corners
            .split([' ', ','])
            .filter(|word| !word.is_empty())
            .map(|word| word.parse().ok().filter(|value: &f64| value.is_finite()))
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        let [a, b, c, d, e, f] = values[..] else { return Err(wrong()) };
        let (one, other) = (Vector3::new(a, b, c), Vector3::new(d, e, f));
        Ok(Self { name: name.trim().to_owned(), min: one.inf(&other), max: one.sup(&other) })
    }

    /// Whether the straight line between two places goes through it.
    fn touches(&self, from: &Vector3<f64>, to: &Vector3<f64>) -> bool {
        let way = to - from;
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for axis in 0..3 {
            if way[axis].abs() < 1e-12 {
                if from[axis] < self.min[axis] || from[axis] > self.max[axis] {
                    return false;
                }
                continue;
            }
            let (a, b) =
                ((self.min[axis] - from[axis]) / way[axis], (self.max[axis] - from[axis]) / way[axis]);
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        }
        enter <= leave
    }
}

impl Zones {
    /// Whether there is nothing to keep out of.
    pub fn is_empty(&self) -> bool {
        self.floor.is_none() && self.boxes.is_empty()
    }

    /// The zone that the arm's skeleton enters at these joint angles.
    pub fn entered(&self, robot: &Robot, joints: &Joints) -> Option<&str> {
        let skeleton = robot.chain.skeleton(joints);
        // Base and first joint stand where they stand.
        if let Some(floor) = self.floor
            && skeleton[2..].iter().any(|point| point.z < floor)
        {
            return Some("the floor");
        }
        let touched = |zone: &&Zone| skeleton[1..].windows(2).any(|pair| zone.touches(&pair[0], &pair[1]));
        self.boxes.iter().find(touched).map(|zone| zone.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rosless_kinematics::builtin;

    #[test]
    fn an_arm_that_reaches_into_a_box_or_below_the_floor_is_seen() {
        let robot = builtin::robot("ur5e").unwrap();
        let stretched = Joints::zeros();
        let zone = Zone::parse("the press: -0.6 -1 0 -0.5 1 0.3").unwrap();
        let zones = Zones { floor: Some(0.0), boxes: vec![zone] };
        assert_eq!(zones.entered(&robot, &stretched), Some("the press"));
        assert_eq!(zones.entered(&robot, &Joints::new(0.0, 1.0, 0.0, 0.0, 0.0, 0.0)), Some("the floor"));
        assert_eq!(zones.entered(&robot, &robot.home), None);
    }

    #[test]
    fn a_zone_is_two_corners_in_any_order() {
        let zone = Zone::parse("x: 1, 2, 3, -1, 5, 0").unwrap();
        assert_eq!((zone.min, zone.max), (Vector3::new(-1.0, 2.0, 0.0), Vector3::new(1.0, 5.0, 3.0)));
        for text in ["", "x", "x: 1 2 3", "x: 1 2 3 4 5 nan", "x: 1 2 3 4 5 6 7"] {
            assert!(Zone::parse(text).unwrap_err().contains("is no zone"), "{text}");
        }
    }
}
