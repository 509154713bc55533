//! PD control of the joints with switched gains: gentle near the goal, bold far from it, hands off when fast.

use crate::{Joints, Limits};

/// Gains and the thresholds that switch them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gains {
    /// rad/s² per rad of error.
    pub p: f64,
    /// rad/s² per rad/s; 16 with p = 64 is critically damped.
    pub d: f64,
    /// Below this sum of all joints' errors (rad) both gains act.
    pub near: f64,
    /// Farther away, with any joint at least this fast (rad/s), neither gain acts.
    pub fast: f64,
}

impl Default for Gains {
    fn default() -> Self {
        Self { p: 64.0, d: 16.0, near: 1.2, fast: 2.5 }
    }
}

impl Gains {
    /// The gains (p, d) to hold for the next `period` seconds: one choice for the whole arm.
    ///
    /// Both gains act near the goal, and also when some joint would otherwise run past its goal within the period:
    /// without that a long move at a coarse period swings to and fro for ever.
    pub fn select(&self, error: &Joints, speeds: &Joints, period: f64) -> (f64, f64) {
        let runs_past = |(e, v): (&f64, &f64)| e * v > 0.0 || (v * period).abs() > e.abs();
        if error.lp_norm(1) < self.near || error.iter().zip(speeds.iter()).any(runs_past) {
            (self.p, self.d)
        } else if speeds.amax() >= self.fast {
            (0.0, 0.0)
        } else {
            (self.p, 0.0)
        }
    }
}

/// One period of control: gains are chosen at its start and held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PdStep {
    angles: Joints,
    speeds: Joints,
    goal: Joints,
    p: f64,
    d: f64,
}

impl PdStep {
    pub(crate) fn new(angles: Joints, speeds: Joints, goal: Joints, gains: &Gains, period: f64) -> Self {
        let (p, d) = gains.select(&(angles - goal), &speeds, period);
        Self { angles, speeds, goal, p, d }
    }

    pub(crate) fn goal(&self) -> Joints {
        self.goal
    }

    /// Angles and speeds `time` into the period: one classical Runge–Kutta step, limits applied.
    pub(crate) fn at(&self, time: f64, limits: &Limits) -> (Joints, Joints) {
        let speed_of =
            |v: &Joints| Joints::from_fn(|i, _| v[i].clamp(-limits.0[i].velocity, limits.0[i].velocity));
        let push = |q: &Joints, v: &Joints| {
            let wanted = (self.goal - q) * self.p - v * self.d;
            Joints::from_fn(|i, _| wanted[i].clamp(-limits.0[i].acceleration, limits.0[i].acceleration))
        };
        let (q, v, h) = (self.angles, self.speeds, time);
        let (q1, v1) = (speed_of(&v), push(&q, &v));
        let (q2, v2) = (speed_of(&(v + v1 * (h / 2.0))), push(&(q + q1 * (h / 2.0)), &(v + v1 * (h / 2.0))));
        let (q3, v3) = (speed_of(&(v + v2 * (h / 2.0))), push(&(q + q2 * (h / 2.0)), &(v + v2 * (h / 2.0))));
        let (q4, v4) = (speed_of(&(v + v3 * h)), push(&(q + q3 * h), &(v + v3 * h)));
        let angles = q + (q1 + q2 * 2.0 + q3 * 2.0 + q4) * (h / 6.0);
        let speeds = speed_of(&(v + (v1 + v2 * 2.0 + v3 * 2.0 + v4) * (h / 6.0)));
        // A joint driven against its end stop stands still there.
        let stopped = limits.clamp(&angles);
        (stopped, Joints::from_fn(|i, _| if stopped[i] == angles[i] { speeds[i] } else { 0.0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(goal: Joints, gains: &Gains, limits: &Limits, steps: usize) -> Vec<(Joints, Joints)> {
        let mut state = (Joints::zeros(), Joints::zeros());
        std::iter::repeat_with(|| {
            state = PdStep::new(state.0, state.1, goal, gains, 0.1).at(0.1, limits);
            state
        })
        .take(steps)
        .collect()
    }

    #[test]
    fn one_radian_of_joint_1_matches_the_reference() {
        let goal = Joints::new(1.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        let steps = run(goal, &Gains::default(), &Limits::default(), 7);
        let angles = [0.2005, 0.4818, 0.6949, 0.8301, 0.9088, 0.9523, 0.9755];
        for ((got, _), want) in steps.iter().zip(angles) {
            assert!((got[0] - want).abs() < 6e-5, "{} is not {want}", got[0]);
        }
        for ((_, got), want) in steps.iter().zip([2.782, 2.513, 1.703, 1.026]) {
            assert!((got[0] - want).abs() < 6e-4, "{} is not {want}", got[0]);
        }
    }

    #[test]
    fn gains_follow_all_joints() {
        let gains = Gains::default();
        let joint = |i: usize, value: f64| Joints::from_fn(|k, _| if k == i { value } else { 0.0 });
        for i in 0..6 {
            let (near, far, slow, fast) = (joint(i, 1.19), joint(i, 1.2), joint(i, -2.49), joint(i, -2.5));
            assert_eq!(gains.select(&near, &fast, 0.1), (64.0, 16.0));
            assert_eq!(gains.select(&far, &slow, 0.1), (64.0, 0.0));
            assert_eq!(gains.select(&far, &fast, 0.1), (0.0, 0.0));
            assert_eq!(gains.select(&far, &-fast, 0.1), (64.0, 16.0), "going the wrong way");
            assert_eq!(gains.select(&far, &(fast * 5.0), 0.1), (64.0, 16.0), "about to run past");
        }
        assert_eq!(gains.select(&Joints::repeat(0.3), &Joints::zeros(), 0.1), (64.0, 0.0), "errors add up");
    }

    proptest! {
        #[test]
        fn every_move_stays_within_limits_and_arrives(goal in prop::array::uniform6(-4.0f64..4.0)) {
            let (goal, limits) = (Joints::from(goal), Limits::default());
            let steps = run(goal, &Gains::default(), &limits, 60);
            prop_assert!(steps.iter().all(|(q, v)| limits.check(q).is_ok() && v.amax() <= 10.0));
            let error = (steps.last().unwrap().0 - goal).amax();
            prop_assert!(error < 1e-4, "{error} rad off after 6 s");
        }
    }
}
