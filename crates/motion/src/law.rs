//! Place over time along a path: ramps whose acceleration grows and falls at a limited jerk, section by section.
//!
//! A section has one set of limits. Speeds at the borders come from one pass backwards (what can still be braked) and one
//! forwards (what can be reached); inside, the law ramps to the highest speed that fits and down again. At a border the
//! acceleration is zero, so no limit of a section is ever exceeded in another.

/// What a section of a path allows. Units are the path's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Section {
    /// Of the section.
    pub length: f64,
    /// Greatest speed.
    pub velocity: f64,
    /// Greatest acceleration; 0 where the speed must not change.
    pub acceleration: f64,
    /// Greatest jerk.
    pub jerk: f64,
}

/// Constant jerk from a moment on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Phase {
    begin: f64,
    s: f64,
    speed: f64,
    acceleration: f64,
    jerk: f64,
}

/// Place, speed, acceleration and jerk along the path.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Along {
    /// Place.
    pub s: f64,
    /// Its first derivative.
    pub speed: f64,
    /// Its second derivative.
    pub acceleration: f64,
    /// Its third derivative.
    pub jerk: f64,
}

/// A law of motion. It ends in standstill.
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    phases: Vec<Phase>,
    end: f64,
    last: f64,
}

const HALVINGS: usize = 45;

/// Seconds of the ramp between two speeds, from and to acceleration zero.
fn ramp_time(from: f64, to: f64, section: &Section) -> f64 {
    let change = (to - from).abs();
    let Section { acceleration: a, jerk: j, .. } = *section;
    if change * j >= a * a { change / a + a / j } else { 2.0 * (change / j).sqrt() }
}

/// The way of that ramp.
fn ramp_way(from: f64, to: f64, section: &Section) -> f64 {
    // It is symmetric, so the mean speed is the mean of both ends.
    if from == to { 0.0 } else { (from + to) / 2.0 * ramp_time(from, to, section) }
}

/// The largest value in `low..=high` for which `fits`; `low` is taken to fit.
fn largest(low: f64, high: f64, fits: impl Fn(f64) -> bool) -> f64 {
    if high <= low || fits(high) {
        return high.max(low);
    }
    let (mut low, mut high) = (low, high);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

/// The highest speed up to `most` that can be had at the end of a section (or at its beginning, seen backwards).
fn reached(from: f64, most: f64, section: &Section) -> f64 {
    if most <= from {
        return most;
    }
    if section.acceleration <= 0.0 {
        return from;
    }
    largest(from, most, |to| ramp_way(from, to, section) <= section.length)
}

impl Law {
    /// Stands still at `s` for so many seconds.
    pub fn standstill(s: f64, duration: f64) -> Self {
        Self { phases: Vec::new(), end: duration, last: s }
    }

    /// The fastest law from `speed` at `s` to standstill at the end of the last section; `None` when the way is too short
    /// to slow down.
    pub fn fastest(s: f64, speed: f64, sections: &[Section]) -> Option<Self> {
        let n = sections.len();
        let mut borders = vec![0.0; n + 1];
        for (i, pair) in sections.windows(2).enumerate() {
            borders[i + 1] = pair[0].velocity.min(pair[1].velocity);
        }
        borders[0] = sections.first().map_or(0.0, |first| first.velocity);
        for i in (0..n).rev() {
            borders[i] = reached(borders[i + 1], borders[i], &sections[i]);
        }
        if speed > borders[0] * (1.0 + 1e-9) + 1e-12 {
            return None;
        }
        borders[0] = speed;
        for i in 0..n {
            borders[i + 1] = reached(borders[i], borders[i + 1], &sections[i]);
        }
        let mut law = Self { phases: Vec::with_capacity(7 * n), end: 0.0, last: s };
        for (i, section) in sections.iter().enumerate() {
            law.section(section, borders[i], borders[i + 1]);
        }
        Some(law)
    }

    fn section(&mut self, section: &Section, from: f64, to: f64) {
        let begin = self.last;
        let low = from.max(to);
        let ways = |peak: f64| ramp_way(from, peak, section) + ramp_way(peak, to, section);
        let peak = if section.acceleration > 0.0 {
            largest(low, section.velocity.max(low), |peak| ways(peak) <= section.length)
        } else {
            low
        };
        self.ramp(from, peak, section);
        let cruise = section.length - ways(peak);
        if peak > 0.0 && cruise > 0.0 {
            self.hold(peak, 0.0, 0.0, cruise / peak);
        }
        self.ramp(peak, to, section);
        // Rounding must not add up over many sections.
        self.last = begin + section.length;
    }

    fn ramp(&mut self, from: f64, to: f64, section: &Section) {
        let change = to - from;
        if change == 0.0 {
            return;
        }
        let Section { acceleration: a, jerk: j, .. } = *section;
        let (grow, hold) = if change.abs() * j >= a * a {
            (a / j, change.abs() / a - a / j)
        } else {
            ((change.abs() / j).sqrt(), 0.0)
        };
        let (jerk, top) = (j * change.signum(), j * grow * change.signum());
        let mut speed = from;
        self.hold(speed, 0.0, jerk, grow);
        speed += top * grow / 2.0;
        if hold > 0.0 {
            self.hold(speed, top, 0.0, hold);
            speed += top * hold;
        }
        self.hold(speed, top, -jerk, grow);
    }

    /// One phase of `duration` seconds.
    fn hold(&mut self, speed: f64, acceleration: f64, jerk: f64, duration: f64) {
        self.phases.push(Phase { begin: self.end, s: self.last, speed, acceleration, jerk });
        self.last += duration * (speed + duration * (acceleration / 2.0 + duration * jerk / 6.0));
        self.end += duration;
    }

    /// When it stands.
    pub fn end(&self) -> f64 {
        self.end
    }

    /// Where it stands then.
    pub fn last(&self) -> f64 {
        self.last
    }

    /// Place and motion at `t` seconds; before the start and after the end at rest.
    pub fn at(&self, t: f64) -> Along {
        let Some(first) = self.phases.first() else { return Along { s: self.last, ..Along::default() } };
        if t <= first.begin {
            return Along { s: first.s, speed: first.speed, ..Along::default() };
        }
        if t >= self.end {
            return Along { s: self.last, ..Along::default() };
        }
        let phase = &self.phases[self.phases.partition_point(|phase| phase.begin <= t) - 1];
        let dt = t - phase.begin;
        let Phase { s, speed, acceleration, jerk, .. } = *phase;
        Along {
            s: s + dt * (speed + dt * (acceleration / 2.0 + dt * jerk / 6.0)),
            speed: speed + dt * (acceleration + dt * jerk / 2.0),
            acceleration: acceleration + dt * jerk,
            jerk,
        }
    }

    /// The greatest speed it has.
    pub fn top_speed(&self) -> f64 {
        self.phases.iter().fold(0.0, |top, phase| phase.speed.max(top))
    }

    /// When it first is at `s`.
    pub fn time_at(&self, s: f64) -> f64 {
        let behind = self.phases.partition_point(|phase| phase.s <= s);
        let begin = behind.checked_sub(1).map_or(0.0, |i| self.phases[i].begin);
        let end = self.phases.get(behind).map_or(self.end, |phase| phase.begin);
        if s >= self.last {
            return self.end;
        }
        largest(begin, end, |t| self.at(t).s <= s)
    }

    /// The same in so many times the time: slower, never faster.
    #[must_use]
    pub fn stretched(mut self, by: f64) -> Self {
        for phase in &mut self.phases {
            phase.begin *= by;
            phase.speed /= by;
            phase.acceleration /= by * by;
            phase.jerk /= by * by * by;
        }
        self.end *= by;
        self
    }

    /// The next moment from `t` on at which it neither speeds up nor slows down, if that comes before it slows down for
    /// good.
    pub fn next_even(&self, t: f64) -> Option<f64> {
        const EVEN: f64 = 1e-9;
        let now = self.at(t);
        if t >= self.end {
            return None;
        }
        if now.acceleration.abs() < EVEN && now.jerk == 0.0 && now.speed > 0.0 {
            return Some(t);
        }
        let ahead = self.phases.partition_point(|phase| phase.begin <= t);
        self.phases[ahead..].iter().find(|phase| phase.acceleration.abs() < EVEN).map(|phase| phase.begin)
    }

    /// Forgets what was before `t`.
    pub(crate) fn forget(&mut self, t: f64) {
        let now = self.phases.partition_point(|phase| phase.begin <= t).saturating_sub(1);
        self.phases.drain(..now);
    }

    /// This law until `t`, then `next`, which begins there.
    #[must_use]
    pub fn then(mut self, t: f64, next: &Self) -> Self {
        self.phases.truncate(self.phases.partition_point(|phase| phase.begin < t));
        self.phases.extend(next.phases.iter().map(|phase| Phase { begin: phase.begin + t, ..*phase }));
        Self { phases: self.phases, end: t + next.end, last: next.last }
    }

    /// Brakes at once from the motion `now` to standstill, within the limits of `section`. `None` where the acceleration
    /// cannot come back to zero before the speed does.
    pub(crate) fn braking(now: &Along, section: &Section) -> Option<Self> {
        let mut braking = Self { phases: Vec::with_capacity(3), end: 0.0, last: now.s };
        if now.speed <= 0.0 {
            return Some(braking);
        }
        let Section { acceleration: most, jerk, .. } = *section;
        let peak = (jerk * now.speed + now.acceleration * now.acceleration / 2.0).sqrt();
        if now.acceleration < 0.0 && peak <= -now.acceleration {
            return None;
        }
        let most = most.max(-now.acceleration);
        let (down, hold) = if peak > most {
            // What growing and falling take of the speed is not left for the even part.
            let ramps = (2.0 * most * most - now.acceleration * now.acceleration) / (2.0 * jerk);
            (most, (now.speed - ramps) / most)
        } else {
            (peak, 0.0)
        };
        let grow = (now.acceleration + down) / jerk;
        let mut speed = now.speed;
        braking.hold(speed, now.acceleration, -jerk, grow);
        speed += grow * (now.acceleration - jerk * grow / 2.0);
        if hold > 0.0 {
            braking.hold(speed, -down, 0.0, hold);
            speed -= down * hold;
        }
        braking.hold(speed, -down, jerk, down / jerk);
        Some(braking)
    }

    /// Stops speeding up from `t` on, at this jerk; `None` while it slows down. The state at the end of that is even.
    pub fn eased(&self, t: f64, jerk: f64) -> Option<Self> {
        const EVEN: f64 = 1e-9;
        let now = self.at(t);
        if now.acceleration < -EVEN || (now.acceleration.abs() <= EVEN && now.jerk < 0.0) {
            return None;
        }
        let mut easing = Self { phases: Vec::with_capacity(1), end: 0.0, last: now.s };
        if now.acceleration > EVEN {
            easing.hold(now.speed, now.acceleration, -jerk, now.acceleration / jerk);
        }
        Some(self.clone().then(t, &easing))
    }

    /// The speed with which an eased law ends: it is no standstill.
    pub(crate) fn end_speed(&self) -> f64 {
        self.phases.last().map_or(0.0, |phase| {
            let dt = self.end - phase.begin;
            phase.speed + dt * (phase.acceleration + dt * phase.jerk / 2.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn section() -> impl Strategy<Value = Section> {
        (1e-3f64..2.0, 0.01f64..3.0, 0.05f64..20.0, 0.5f64..500.0).prop_map(
            |(length, velocity, acceleration, jerk)| Section { length, velocity, acceleration, jerk },
        )
    }

    fn inside(law: &Law, sections: &[Section]) -> Result<(), TestCaseError> {
        let (mut last, steps) = (law.at(0.0), 4000);
        let dt = law.end() / f64::from(steps);
        for i in 1..=steps {
            let now = law.at(dt * f64::from(i));
            let mut from = 0.0;
            let at = sections.iter().find(|section| {
                from += section.length;
                now.s < from - 1e-9
            });
            if let Some(section) = at {
                prop_assert!(now.speed <= section.velocity * (1.0 + 1e-6) + 1e-9, "{now:?} in {section:?}");
                prop_assert!(
                    now.acceleration.abs() <= section.acceleration * (1.0 + 1e-6) + 1e-6,
                    "{now:?} in {section:?}"
                );
                prop_assert!(now.jerk.abs() <= section.jerk * (1.0 + 1e-9), "{now:?} in {section:?}");
            }
            let most = sections.iter().fold(0.0, |most: f64, section| most.max(section.jerk));
            prop_assert!((now.acceleration - last.acceleration).abs() <= most * dt * (1.0 + 1e-6) + 1e-6);
            prop_assert!(now.s >= last.s - 1e-9);
            last = now;
        }
        prop_assert!(last.speed.abs() < 1e-6);
        Ok(())
    }

    proptest! {
        #[test]
        fn every_law_keeps_the_limits_of_each_section_and_arrives(sections in prop::collection::vec(section(), 1..6)) {
            let law = Law::fastest(0.0, 0.0, &sections).unwrap();
            inside(&law, &sections)?;
            let length: f64 = sections.iter().map(|section| section.length).sum();
            prop_assert!((law.last() - length).abs() < 1e-9);
            let half = law.time_at(length / 2.0);
            prop_assert!((law.at(half).s - length / 2.0).abs() < 1e-6);
        }

        #[test]
        fn a_stop_at_any_time_is_jerk_limited_and_ends_in_standstill(section in section(), share in 0.0f64..1.0) {
            let law = Law::fastest(0.0, 0.0, &[section]).unwrap();
            let t = law.end() * share;
            // Where it cannot be braked sooner, it is ending already.
            let Some(braking) = Law::braking(&law.at(t), &section) else { return Ok(()) };
            let stopped = law.clone().then(t, &braking);
            inside(&stopped, &[Section { length: 1e9, ..section }])?;
            prop_assert!(stopped.end() <= law.end() + 1e-9 && stopped.last() <= law.last() + 1e-9);
        }

        #[test]
        fn easing_keeps_the_limits_and_ends_even(section in section(), share in 0.0f64..1.0) {
            let law = Law::fastest(0.0, 0.0, &[section]).unwrap();
            if let Some(eased) = law.eased(law.end() * share, section.jerk) {
                let end = eased.at(eased.end() - 1e-9);
                prop_assert!(end.acceleration.abs() < 1e-3 && end.speed <= section.velocity * (1.0 + 1e-6) + 1e-9);
                prop_assert!((eased.end_speed() - end.speed).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_long_section_has_seven_phases_and_the_textbook_time() {
        let section = Section { length: 10.0, velocity: 2.0, acceleration: 1.0, jerk: 4.0 };
        let law = Law::fastest(0.0, 0.0, &[section]).unwrap();
        // v/a + a/j for each ramp's time, and the way at the mean speed.
        let ramp = 2.0 / 1.0 + 1.0 / 4.0;
        assert!((law.end() - (2.0 * ramp + (10.0 - 2.0 * ramp) / 2.0)).abs() < 1e-9);
        assert_eq!(law.top_speed(), 2.0);
        assert!((law.clone().stretched(2.0).end() - 2.0 * law.end()).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_braked_is_said() {
        let section = Section { length: 0.1, velocity: 2.0, acceleration: 1.0, jerk: 10.0 };
        assert!(Law::fastest(0.0, 1.5, &[section]).is_none());
    }
}
