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
    /// Ok when every move comes to rest, within two minutes at the most, whatever the period.
    pub fn check(&self) -> Result<(), String> {
        let Self { p, d, near, fast } = *self;
        let (least, most) = (0.5 * p.sqrt(), 5.0 * p);
        if !(p > 0.0 && near > 0.0 && fast > 0.0) {
            Err(format!("p_gain {p}, near {near} and fast {fast} must be above 0: the arm would not arrive"))
        } else if d < least {
            Err(format!(
                "d_gain {d} is too small for p_gain {p}: the arm would swing for ever, {least:.1} is the least"
            ))
        } else if d > most {
            Err(format!(
                "d_gain {d} is too large for p_gain {p}: the arm would creep for minutes, {most:.1} is the most"
            ))
        } else {
            Ok(())
        }
    }

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

/// Steps that slow a joint down are this short, s.
const FINE: f64 = 1e-3;
/// However long the period, gains are chosen at least this often, s.
const LONGEST_STEP: f64 = 0.1;

/// One period of control. Gains are chosen at the start of each step and held; a step is the whole period, unless the
/// period or the gains are too large for that to be stable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PdStep {
    angles: Joints,
    speeds: Joints,
    goal: Joints,
    gains: Gains,
    step: f64,
}

impl PdStep {
    pub(crate) fn new(angles: Joints, speeds: Joints, goal: Joints, gains: &Gains, period: f64) -> Self {
        // Well within what a Runge–Kutta step can follow; a division by 0 gives no bound.
        let step = period.min(LONGEST_STEP).min(1.0 / gains.p.sqrt()).min(2.0 / gains.d);
        Self { angles, speeds, goal, gains: *gains, step }
    }

    pub(crate) fn goal(&self) -> Joints {
        self.goal
    }

    /// Angles and speeds `time` into the period.
    pub(crate) fn at(&self, time: f64, limits: &Limits) -> (Joints, Joints) {
        let (mut angles, mut speeds, mut left) = (self.angles, self.speeds, time);
        loop {
            (angles, speeds) = self.run(angles, speeds, left.min(self.step), limits);
            left -= self.step;
            if left <= 1e-9 {
                return (angles, speeds);
            }
        }
    }

    /// The fastest a joint may approach its goal from `error` away without running past it: what the gains let it
    /// brake from in time, and its greatest deceleration.
    fn approach(&self, error: f64, acceleration: f64) -> f64 {
        let Gains { p, d, .. } = self.gains;
        let rate = d / 2.0 - (d * d / 4.0 - p).max(0.0).sqrt();
        let gentle = acceleration / rate;
        let error = error.abs();
        if rate * error <= gentle {
            rate * error
        } else {
            (gentle * gentle + 2.0 * acceleration * (error - gentle / rate)).sqrt()
        }
    }

    /// One step with the gains chosen at its start. Where full steps would run past a goal, or into a limit, it is cut into
    /// short ones that slow the joints down in time.
    fn run(&self, q: Joints, v: Joints, h: f64, limits: &Limits) -> (Joints, Joints) {
        let gains = self.gains.select(&(q - self.goal), &v, self.step);
        let calm = gains.1 > 0.0
            && (0..6).all(|i| {
                let (error, limit) = (self.goal[i] - q[i], &limits.0[i]);
                let towards = v[i] * error.signum();
                (gains.0 * error).abs() + (gains.1 * v[i]).abs() <= limit.acceleration
                    && (-1e-9..=self.approach(error, limit.acceleration) + 1e-9).contains(&towards)
            });
        if calm {
            return self.runge_kutta(q, v, h, gains, limits);
        }
        let steps = (h / FINE).ceil().max(1.0);
        let (mut q, mut v) = (q, v);
        for _ in 0..steps as u32 {
            let before = v;
            (q, v) = self.runge_kutta(q, v, h / steps, gains, limits);
            for i in 0..6 {
                let (error, most) = (self.goal[i] - q[i], limits.0[i].acceleration * h / steps);
                let side = error.signum();
                let allowed = self.approach(error, limits.0[i].acceleration);
                if v[i] * side > allowed {
                    v[i] = side * allowed.max((before[i] * side - most).max(0.0));
                }
            }
        }
        (q, v)
    }

    /// One classical Runge–Kutta step, limits applied.
    fn runge_kutta(
        &self,
        q: Joints,
        v: Joints,
        h: f64,
        (p, d): (f64, f64),
        limits: &Limits,
    ) -> (Joints, Joints) {
        let speed_of =
            |v: &Joints| Joints::from_fn(|i, _| v[i].clamp(-limits.0[i].velocity, limits.0[i].velocity));
        let push = |q: &Joints, v: &Joints| {
            let wanted = (self.goal - q) * p - v * d;
            Joints::from_fn(|i, _| wanted[i].clamp(-limits.0[i].acceleration, limits.0[i].acceleration))
        };
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

    /// Every joint, however far, with default and with weak motors.
    #[test]
    fn long_moves_approach_monotonously_and_do_not_overshoot() {
        for limits in [Limits::default(), Limits::uniform(4.0, std::f64::consts::PI, 15.0)] {
            for goal in [
                Joints::new(3.0, 0.0, 0.0, 0.0, 0.0, 0.0),
                Joints::new(0.0, 0.0, 0.0, 0.0, 0.0, 3.9),
                Joints::new(1.0, -2.0, 3.0, 0.1, 0.0, -3.9),
                Joints::repeat(1.5),
            ] {
                let steps = run(goal, &Gains::default(), &limits, 80);
                for i in 0..6 {
                    let errors: Vec<f64> =
                        steps.iter().map(|(q, _)| (goal[i] - q[i]) * goal[i].signum()).collect();
                    assert!(
                        errors.is_sorted_by(|a, b| *a >= *b - 1e-9),
                        "joint {i} to {}: {errors:?}",
                        goal[i]
                    );
                    assert!(errors.iter().all(|e| *e > -1e-3), "joint {i} runs past {}: {errors:?}", goal[i]);
                    assert!(errors.last().unwrap().abs() < 0.01, "joint {i} arrives: {errors:?}");
                }
            }
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

    /// Seconds until everything is within 1e-4, or `None` after two minutes.
    fn arrives(goal: &Joints, gains: &Gains, period: f64) -> Option<f64> {
        let limits = Limits::default();
        let mut state = (Joints::zeros(), Joints::zeros());
        (1..=(120.0 / period) as u32).find_map(|k| {
            state = PdStep::new(state.0, state.1, *goal, gains, period).at(period, &limits);
            let there = (state.0 - goal).amax() <= 1e-4 && state.1.amax() <= 1e-4;
            there.then_some(f64::from(k) * period)
        })
    }

    #[test]
    fn long_periods_and_stiff_gains_come_to_rest() {
        let goal = Joints::new(1.0, -2.0, 3.0, 0.1, 0.0, -3.9);
        for period in [0.001, 0.03, 0.1, 0.2, 0.4, 1.0] {
            for (p, d) in
                [(64.0, 16.0), (1e4, 200.0), (1e4, 1e3), (1e4, 50.0), (1.0, 0.5), (1.0, 5.0), (64.0, 320.0)]
            {
                let gains = Gains { p, d, ..Gains::default() };
                assert_eq!(gains.check(), Ok(()));
                assert!(arrives(&goal, &gains, period).is_some(), "p {p}, d {d}, period {period}");
            }
        }
    }

    #[test]
    fn gains_that_never_settle_are_refused_with_the_reason() {
        for (p, d, reason) in [
            (1e4, 1.0, "swing for ever, 50.0"),
            (64.0, 0.0, "4.0 is the least"),
            (1.0, 100.0, "creep"),
            (0.0, 16.0, "above 0"),
        ] {
            let refused = Gains { p, d, ..Gains::default() }.check().unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
        assert!(Gains { near: 0.0, ..Gains::default() }.check().is_err());
        assert!(Gains { fast: f64::NAN, ..Gains::default() }.check().is_err());
    }

    proptest! {
        #[test]
        fn gains_that_settle_do_so_at_any_period(
            goal in prop::array::uniform6(-4.0f64..4.0),
            period in 0.005f64..1.0,
            stiffness in 1.0f64..100.0,
            damping in 0.0f64..1.0,
            near in 0.01f64..5.0,
            fast in 0.1f64..10.0,
        ) {
            let p = stiffness * stiffness;
            let gains = Gains { p, d: 0.5 * stiffness * (10.0 * stiffness).powf(damping), near, fast };
            prop_assert_eq!(gains.check(), Ok(()));
            prop_assert!(arrives(&goal.into(), &gains, period).is_some(), "{gains:?}");
        }

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
