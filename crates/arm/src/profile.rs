//! How a joint moves within its speed and acceleration limits: as fast as it can to a resting place, or to a place that
//! it passes at a given instant with a given speed.

use crate::{JointLimit, Joints, Limits, limits::turns};

/// One joint: speed up, cruise, slow down. Also from a moving start, then possibly turning round first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct JointMove {
    start: f64,
    speed: f64,
    /// Where it comes to rest.
    goal: f64,
    /// Duration and acceleration of the phases; the last one brakes after a place that is passed.
    phases: [(f64, f64); 4],
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
        let phases = [
            (rise, direction * a * (peak - speed_along).signum()),
            (cruise, 0.0),
            (fall, -direction * a),
            (0.0, 0.0),
        ];
        Self { start, speed, goal, phases }
    }

    /// At `place` with `pass` rad/s after exactly `time`, then to rest; as near to that as the limits allow.
    /// Also says by how many radians it misses the place.
    fn passing(start: f64, speed: f64, place: f64, pass: f64, time: f64, limit: &JointLimit) -> (Self, f64) {
        let (a, way) = (limit.acceleration, place - start);
        let reach = Reach::new(speed, time, limit);
        let (slowest, fastest) = reach.speeds(way);
        let pass = pass.clamp(slowest.min(fastest), fastest.max(slowest));
        // Cruising at `c` between two ramps covers a way that grows with `c`, in three pieces.
        let (low, high) = (speed.min(pass), speed.max(pass));
        let between = |c: f64| {
            time * c + (pass - speed) * (pass + speed - 2.0 * c) / (2.0 * a) * (pass - speed).signum()
        };
        let cruise = if way > between(high) {
            // time·c − ((c − speed)² + (c − pass)²) / 2a = way
            let b = (speed + pass + a * time) / 2.0;
            b - (b * b - (speed * speed + pass * pass) / 2.0 - a * way).max(0.0).sqrt()
        } else if way < between(low) {
            let b = (speed + pass - a * time) / 2.0;
            b + (b * b - (speed * speed + pass * pass) / 2.0 + a * way).max(0.0).sqrt()
        } else {
            let slope = time - (pass - speed).abs() / a;
            let rest = way - (pass - speed) * (pass + speed) / (2.0 * a) * (pass - speed).signum();
            if slope > 1e-12 { (rest / slope).clamp(low, high) } else { pass }
        };
        let cruise = cruise.clamp(-limit.velocity, limit.velocity);
        let ramps = [(cruise - speed).abs() / a, (pass - cruise).abs() / a];
        let phases = [
            (ramps[0], a * (cruise - speed).signum()),
            ((time - ramps[0] - ramps[1]).max(0.0), 0.0),
            (ramps[1], a * (pass - cruise).signum()),
            (pass.abs() / a, -a * pass.signum()),
        ];
        let mut course = Self { start, speed, goal: 0.0, phases };
        let (there, _) = course.run(time);
        (course.goal, _) = course.run(f64::INFINITY);
        (course, (there - place).abs())
    }

    fn duration(&self) -> f64 {
        self.phases.iter().map(|(time, _)| time).sum()
    }

    /// Angle and speed `time` after the start.
    fn at(&self, time: f64) -> (f64, f64) {
        if time >= self.duration() { (self.goal, 0.0) } else { self.run(time) }
    }

    fn run(&self, time: f64) -> (f64, f64) {
        let (mut angle, mut speed, mut left) = (self.start, self.speed, time.max(0.0));
        for (duration, acceleration) in self.phases {
            let t = left.min(duration);
            angle += (speed + 0.5 * acceleration * t) * t;
            speed += acceleration * t;
            left -= t;
            if left <= 0.0 && t < duration {
                break;
            }
        }
        (angle, speed)
    }
}

/// What one joint can have done after a time: how far it can be, and how fast there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reach {
    speed: f64,
    time: f64,
    velocity: f64,
    acceleration: f64,
    /// Least and greatest way, rad.
    pub(crate) ways: (f64, f64),
}

impl Reach {
    /// From `speed`, after `time`.
    pub(crate) fn new(speed: f64, time: f64, limit: &JointLimit) -> Self {
        let (velocity, acceleration) = (limit.velocity, limit.acceleration);
        let farthest = |speed: f64| {
            let ramp = ((velocity - speed) / acceleration).clamp(0.0, time);
            (speed + 0.5 * acceleration * ramp) * ramp + velocity.max(speed) * (time - ramp)
        };
        Self { speed, time, velocity, acceleration, ways: (-farthest(-speed), farthest(speed)) }
    }

    /// Least and greatest speed with which the joint can be `way` away from its start just then.
    pub(crate) fn speeds(&self, way: f64) -> (f64, f64) {
        (self.slowest(way, self.speed), -self.slowest(-way, -self.speed))
    }

    fn slowest(&self, way: f64, speed: f64) -> f64 {
        let Self { time, velocity, acceleration: a, .. } = *self;
        // Forward at full power first, then back at full power for the rest.
        let back = ((speed * time + 0.5 * a * time * time - way).max(0.0) / a).sqrt().min(time);
        let peak = speed + a * (time - back);
        let slowest = if peak <= velocity {
            peak - a * back
        } else {
            let cruised = time * velocity - (velocity - speed) * (velocity - speed) / (2.0 * a);
            velocity - (2.0 * a * (cruised - way).max(0.0)).sqrt()
        };
        slowest.clamp(-velocity, velocity)
    }
}

/// What all six joints pass on their way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waypoint {
    /// Where they are then.
    pub angles: Joints,
    /// How fast they are then.
    pub speeds: Joints,
    /// Seconds after the start.
    pub time: f64,
}

/// All six joints on their way to rest, each as fast as it can or through a place at a given instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Move {
    joints: [JointMove; 6],
}

impl Move {
    /// From the given angles and speeds to rest at `goal`.
    pub fn new(angles: &Joints, speeds: &Joints, goal: &Joints, limits: &Limits) -> Self {
        Self { joints: std::array::from_fn(|i| JointMove::new(angles[i], speeds[i], goal[i], &limits.0[i])) }
    }

    /// From the given angles and speeds through `by`, then to rest. Where the limits do not allow that, as near to it as
    /// they do; also says how many radians the worst joint is off.
    pub fn passing(angles: &Joints, speeds: &Joints, by: &Waypoint, limits: &Limits) -> (Self, f64) {
        let Waypoint { angles: place, speeds: pass, time } = by;
        let mut off = 0.0_f64;
        let joints = std::array::from_fn(|i| {
            let (course, missed) =
                JointMove::passing(angles[i], speeds[i], place[i], pass[i], *time, &limits.0[i]);
            off = off.max(missed);
            course
        });
        (Self { joints }, off)
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

    /// Where it comes to rest.
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

        #[test]
        fn a_place_is_passed_at_its_instant_with_its_speed_wherever_that_can_be(
            start in -1.0f64..1.0, speed in -9.0f64..9.0, time in 0.01f64..0.8,
            ups in prop::collection::vec(-100.0f64..100.0, 1..6),
        ) {
            // Any way of driving within the limits ends in a place that can be passed.
            let (mut q, mut v) = (start, speed);
            let step = time / ups.len() as f64 / 50.0;
            for a in &ups {
                for _ in 0..50 {
                    let a = a.clamp((-10.0 - v) / step, (10.0 - v) / step);
                    q += v * step + 0.5 * a * step * step;
                    v += a * step;
                }
            }
            let reach = Reach::new(speed, time, &LIMIT);
            prop_assert!(reach.ways.0 - 1e-9 <= q - start && q - start <= reach.ways.1 + 1e-9);
            let (slowest, fastest) = reach.speeds(q - start);
            prop_assert!(slowest - 1e-6 <= v && v <= fastest + 1e-6, "{slowest} {v} {fastest}");
            let (m, off) = JointMove::passing(start, speed, q, v, time, &LIMIT);
            prop_assert!(off < 1e-6, "{off} rad off");
            let (angle, pass) = m.run(time);
            prop_assert!((angle - q).abs() < 1e-6 && (pass - v).abs() < 1e-5, "{angle} {pass}, wanted {q} {v}");
            let end = m.duration();
            prop_assert!((m.at(end).0 - m.at(end - 1e-9).0).abs() < 1e-6 && m.at(end - 1e-9).1.abs() < 1e-6);
            let mut before = m.at(0.0).1;
            for k in 1..=100 {
                let v = m.at(end * k as f64 / 100.0).1;
                prop_assert!(v.abs() <= LIMIT.velocity + 1e-9);
                prop_assert!((v - before).abs() <= LIMIT.acceleration * end / 100.0 + 1e-6);
                before = v;
            }
        }
    }
}
