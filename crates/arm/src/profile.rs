//! The fastest move of each joint to a resting place, within its speed and acceleration limits.

use crate::{JointLimit, Joints, Limits, limits::turns};

/// One joint: speed up, cruise, slow down. Also from a moving start, then possibly turning round first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct JointMove {
    start: f64,
    speed: f64,
    goal: f64,
    /// Duration and acceleration of the three phases.
    phases: [(f64, f64); 3],
}

impl JointMove {
    fn new(start: f64, speed: f64, goal: f64, limit: &JointLimit) -> Self {
        let a = limit.acceleration;
        let stop = start + speed * speed.abs() / (2.0 * a);
        let direction = if goal >= stop { 1.0 } else { -1.0 };
        let (distance, speed_along) = (direction * (goal - start), direction * speed);
        let peak = (a * distance + 0.5 * speed_along * speed_along).max(0.0).sqrt().min(limit.velocity);
        let (rise, fall) = ((peak - speed_along).abs() / a, peak / a);
        let cruise_way = distance - 0.5 * (speed_along + peak) * rise - 0.5 * peak * fall;
        let cruise = if peak > 0.0 { (cruise_way / peak).max(0.0) } else { 0.0 };
        let phases =
            [(rise, direction * a * (peak - speed_along).signum()), (cruise, 0.0), (fall, -direction * a)];
        Self { start, speed, goal, phases }
    }

    fn duration(&self) -> f64 {
        self.phases.iter().map(|(time, _)| time).sum()
    }

    /// Angle and speed `time` after the start.
    fn at(&self, time: f64) -> (f64, f64) {
        let (mut angle, mut speed, mut left) = (self.start, self.speed, time.max(0.0));
        for (duration, acceleration) in self.phases {
            let t = left.min(duration);
            angle += (speed + 0.5 * acceleration * t) * t;
            speed += acceleration * t;
            left -= t;
            if left <= 0.0 && t < duration {
                return (angle, speed);
            }
        }
        (self.goal, 0.0)
    }
}

/// All six joints on their way to rest, each as fast as it can.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Move {
    joints: [JointMove; 6],
}

impl Move {
    /// From the given angles and speeds to rest at `goal`.
    pub fn new(angles: &Joints, speeds: &Joints, goal: &Joints, limits: &Limits) -> Self {
        Self { joints: std::array::from_fn(|i| JointMove::new(angles[i], speeds[i], goal[i], &limits.0[i])) }
    }

    /// Seconds until the last joint rests.
    pub fn duration(&self) -> f64 {
        self.joints.iter().map(JointMove::duration).fold(0.0, f64::max)
    }

    /// Angles and speeds `time` seconds after the start.
    pub fn at(&self, time: f64) -> (Joints, Joints) {
        let states = self.joints.map(|j| j.at(time));
        (Joints::from_fn(|i, _| states[i].0), Joints::from_fn(|i, _| states[i].1))
    }

    pub fn goal(&self) -> Joints {
        Joints::from_fn(|i, _| self.joints[i].goal)
    }

    /// As [`Move::new`], but each joint may end any number of full turns away, inside its range, if that is faster.
    pub(crate) fn shortest(angles: &Joints, speeds: &Joints, goal: &Joints, limits: &Limits) -> Self {
        let joints = std::array::from_fn(|i| {
            let limit = &limits.0[i];
            turns(goal[i])
                .filter(|a| (limit.min..=limit.max).contains(a))
                .map(|a| JointMove::new(angles[i], speeds[i], a, limit))
                .min_by(|a, b| a.duration().total_cmp(&b.duration()))
                .unwrap_or_else(|| JointMove::new(angles[i], speeds[i], goal[i], limit))
        });
        Self { joints }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: JointLimit = JointLimit { min: -4.0, max: 4.0, velocity: 10.0, acceleration: 100.0 };

    #[test]
    fn short_moves_are_triangles_and_long_ones_cruise() {
        // 0.5·a·(T/2)² twice
        assert!((JointMove::new(0.0, 0.0, 0.25, &LIMIT).duration() - 0.1).abs() < 1e-12);
        // 0.1 s up and 0.1 s down cover 1 rad, the rest goes at 10 rad/s
        assert!((JointMove::new(-1.0, 0.0, 2.0, &LIMIT).duration() - 0.4).abs() < 1e-12);
        assert_eq!(JointMove::new(1.0, 0.0, 1.0, &LIMIT).duration(), 0.0);
    }

    proptest! {
        #[test]
        fn moves_end_at_rest_within_limits(start in -3.0f64..3.0, speed in -10.0f64..10.0, goal in -3.0f64..3.0) {
            let m = JointMove::new(start, speed, goal, &LIMIT);
            let end = m.duration();
            prop_assert_eq!(m.at(end + 1e-9), (goal, 0.0));
            // Continuous into the end, and never too fast on the way.
            let (just_before, slow) = m.at(end - 1e-9);
            prop_assert!((just_before - goal).abs() < 1e-6 && slow.abs() < 1e-6);
            for k in 0..=100 {
                prop_assert!(m.at(end * k as f64 / 100.0).1.abs() <= LIMIT.velocity + 1e-9);
            }
        }

        #[test]
        fn continuing_from_the_middle_of_a_move_does_not_change_it(
            start in -3.0f64..3.0, speed in -10.0f64..10.0, goal in -3.0f64..3.0, part in 0.0f64..1.0,
        ) {
            let whole = JointMove::new(start, speed, goal, &LIMIT);
            let t = whole.duration() * part;
            let (angle, v) = whole.at(t);
            let rest = JointMove::new(angle, v, goal, &LIMIT);
            prop_assert!((t + rest.duration() - whole.duration()).abs() < 1e-6);
        }
    }
}
