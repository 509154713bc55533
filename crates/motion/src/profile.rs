//! Speed over time along a path: ramp up, cruise, ramp down.

/// How a move leaves or reaches standstill. Where it overlaps with a neighbour it does so softly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ramp {
    /// Acceleration next to standstill.
    pub soft: f64,
    /// Length of path next to standstill on which `soft` applies.
    pub soft_length: f64,
    /// Acceleration on the rest.
    pub full: f64,
}

impl Ramp {
    /// The same acceleration all along.
    pub fn even(acceleration: f64) -> Self {
        Self { soft: acceleration, soft_length: 0.0, full: acceleration }
    }

    /// Speed where the soft part ends.
    fn knee(&self) -> f64 {
        (2.0 * self.soft * self.soft_length).sqrt()
    }

    /// Way from standstill to `speed`.
    fn way(&self, speed: f64) -> f64 {
        let soft_speed = speed.min(self.knee());
        soft_speed * soft_speed / (2.0 * self.soft)
            + (speed * speed - soft_speed * soft_speed) / (2.0 * self.full)
    }

    /// Seconds of the soft and the full part from standstill to `speed`.
    fn times(&self, speed: f64) -> (f64, f64) {
        let soft_speed = speed.min(self.knee());
        (soft_speed / self.soft, (speed - soft_speed) / self.full)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Phase {
    duration: f64,
    acceleration: f64,
}

/// A trapezoid whose ramps may begin and end softly. Units are the path's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    length: f64,
    speed: f64,
    /// Soft and full ramp up, cruise, full and soft ramp down.
    phases: [Phase; 5],
}

/// Place, speed and acceleration along the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Along {
    pub s: f64,
    pub speed: f64,
    pub acceleration: f64,
}

impl Profile {
    /// No way to go, for so many seconds.
    pub fn standstill(duration: f64) -> Self {
        let mut phases = [Phase::default(); 5];
        phases[2].duration = duration;
        Self { length: 0.0, speed: 0.0, phases }
    }

    /// As fast as the limits allow.
    pub fn fastest(length: f64, speed: f64, up: Ramp, down: Ramp) -> Self {
        if length <= 0.0 {
            return Self::standstill(0.0);
        }
        let fits = |speed: f64| up.way(speed) + down.way(speed) <= length;
        let mut peak = speed;
        if !fits(speed) {
            // The ramps meet before the speed is reached; their ways grow with it, so halving the interval finds where.
            let (mut low, mut high) = (0.0, speed);
            for _ in 0..60 {
                let middle = (low + high) / 2.0;
                if fits(middle) { low = middle } else { high = middle }
            }
            peak = low;
        }
        let (up_soft, up_full) = up.times(peak);
        let (down_soft, down_full) = down.times(peak);
        let cruise = ((length - up.way(peak) - down.way(peak)) / peak).max(0.0);
        let phase = |duration, acceleration| Phase { duration, acceleration };
        Self {
            length,
            speed: peak,
            phases: [
                phase(up_soft, up.soft),
                phase(up_full, up.full),
                phase(cruise, 0.0),
                phase(down_full, -down.full),
                phase(down_soft, -down.soft),
            ],
        }
    }

    /// In exactly `duration` seconds, with `ramp` of the time (at most half) for each ramp. The ramps are soft all along.
    pub fn timed(length: f64, duration: f64, ramp: f64) -> Self {
        if length <= 0.0 {
            return Self::standstill(duration);
        }
        let ramp_time = duration * ramp;
        let speed = length / (duration - ramp_time);
        let soft = Phase { duration: ramp_time, acceleration: speed / ramp_time };
        let cruise = Phase { duration: duration - 2.0 * ramp_time, acceleration: 0.0 };
        let none = Phase::default();
        Self {
            length,
            speed,
            phases: [soft, none, cruise, none, Phase { acceleration: -soft.acceleration, ..soft }],
        }
    }

    pub fn duration(&self) -> f64 {
        self.phases.iter().map(|phase| phase.duration).sum()
    }

    /// Greatest speed that is really reached.
    pub fn speed(&self) -> f64 {
        self.speed
    }

    /// Seconds of cruise, as a range of time.
    pub fn cruise(&self) -> std::ops::Range<f64> {
        let start = self.phases[0].duration + self.phases[1].duration;
        start..start + self.phases[2].duration
    }

    /// Seconds at the start during which the motion is soft enough to overlap with another.
    pub fn soft_start(&self) -> f64 {
        self.phases[0].duration
    }

    /// Seconds at the end during which the motion is soft enough to overlap with another.
    pub fn soft_end(&self) -> f64 {
        self.phases[4].duration
    }

    /// State at `t` seconds; before the start and after the end the path's ends, at rest.
    pub fn at(&self, t: f64) -> Along {
        let mut now = Along { s: 0.0, speed: 0.0, acceleration: 0.0 };
        if t <= 0.0 {
            return now;
        }
        let mut left = t;
        for phase in &self.phases {
            let dt = left.min(phase.duration);
            now.s += now.speed * dt + phase.acceleration * dt * dt / 2.0;
            now.speed += phase.acceleration * dt;
            if left < phase.duration {
                now.acceleration = phase.acceleration;
                return now;
            }
            left -= dt;
        }
        Along { s: self.length, speed: 0.0, acceleration: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_path_is_a_trapezoid() {
        let profile = Profile::fastest(10.0, 2.0, Ramp::even(1.0), Ramp::even(1.0));
        assert_eq!((profile.duration(), profile.cruise()), (7.0, 2.0..5.0));
        assert_eq!(profile.at(3.5).speed, 2.0);
    }

    #[test]
    fn a_short_path_is_a_triangle() {
        let profile = Profile::fastest(1.0, 10.0, Ramp::even(1.0), Ramp::even(1.0));
        assert!(
            (profile.duration() - 2.0).abs() < 1e-9 && profile.cruise().end - profile.cruise().start < 1e-9
        );
    }

    #[test]
    fn a_soft_end_is_soft_only_where_it_must_be() {
        let soft = Ramp { soft: 0.5, soft_length: 0.25, full: 1.0 };
        let profile = Profile::fastest(10.0, 2.0, Ramp::even(1.0), soft);
        // The knee is at sqrt(2 * 0.5 * 0.25) = 0.5, one second of soft ramp below it.
        assert!((profile.soft_end() - 1.0).abs() < 1e-12);
        let knee = profile.at(profile.duration() - 1.0);
        assert!((knee.speed - 0.5).abs() < 1e-12 && (10.0 - knee.s - 0.25).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn it_is_continuous_and_arrives(length in 1e-6f64..10.0, speed in 1e-3f64..5.0, up in 0.01f64..20.0, down in 0.01f64..20.0, soft_length in 0.0f64..1.0) {
            let ramp = Ramp { soft: down / 2.0, soft_length, full: down };
            let profile = Profile::fastest(length, speed, Ramp::even(up), ramp);
            let end = profile.duration();
            let mut last = profile.at(0.0);
            let steps = 1000;
            for i in 1..=steps {
                let now = profile.at(end * f64::from(i) / f64::from(steps));
                let dt = end / f64::from(steps);
                prop_assert!(now.s >= last.s - 1e-12);
                prop_assert!(now.speed <= speed * (1.0 + 1e-9));
                prop_assert!((now.s - last.s) <= speed * dt * (1.0 + 1e-6) + 1e-12);
                prop_assert!((now.speed - last.speed).abs() <= up.max(down) * dt * (1.0 + 1e-6) + 1e-9);
                last = now;
            }
            prop_assert!((last.s - length).abs() <= 1e-9 * length.max(1.0));
        }

        #[test]
        fn a_timed_profile_takes_its_time(length in 1e-6f64..10.0, duration in 0.01f64..60.0) {
            let profile = Profile::timed(length, duration, 0.25);
            prop_assert!((profile.duration() - duration).abs() < 1e-9);
            prop_assert!((profile.at(duration / 2.0).s - length / 2.0).abs() < 1e-9);
        }
    }
}
