//! How the server's clock runs beside ours.
//!
//! Each echo says: between our `sent` and our `received` the server's clock showed so many nanoseconds. That is a hard
//! bound, however unequal the two ways were. The bounds of a minute are carried to the present with the measured drift, each
//! widened by what the drift is not known, and intersected: what is left is the offset and its uncertainty.

use std::{collections::VecDeque, time::Duration};

/// Echoes that are kept: a minute of them.
const KEPT: usize = 240;
/// Two quartz clocks differ by no more, unless one of them is being slewed.
const UNKNOWN_DRIFT: f64 = 200e-6;
const LARGEST_DRIFT: f64 = 1000e-6;
/// Drift changes with temperature.
const WANDER: f64 = 1e-6;
/// Over less than this, delays say more than drift.
const LEAST_SPAN: i64 = 5_000_000_000;

#[derive(Clone, Copy, Debug)]
struct Echo {
    server: i64,
    local: i64,
    /// Half of the way there and back.
    half: i64,
}

/// What is known of the server's clock. Times are nanoseconds: of the server since its zero, of ours since that of the
/// monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    server: i64,
    local: i64,
    /// By how much our clock runs faster than the server's; 1e-6 is one microsecond in a second.
    pub drift: f64,
    drift_uncertainty: f64,
    /// In nanoseconds, at the last echo.
    pub uncertainty: i64,
}

impl Relation {
    /// Our time when the server's clock showed `server`, and how far that may be off.
    pub fn local(&self, server: i64) -> (i64, i64) {
        let since = server.saturating_sub(self.server) as f64;
        let local = self.local.saturating_add((since * (1.0 + self.drift)) as i64);
        (local, self.uncertainty.saturating_add((since.abs() * self.drift_uncertainty) as i64))
    }
}

/// The relation of a server's clock to ours, from echoes.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    echoes: VecDeque<Echo>,
    relation: Option<Relation>,
}

impl Clock {
    /// The relation, once there was an echo.
    pub fn relation(&self) -> Option<Relation> {
        self.relation
    }

    /// The server's clock showed `server` nanoseconds between `sent` and `received` of ours. `true` when that cannot be the
    /// clock that was related before: it was set, or the server is another.
    pub fn echo(&mut self, sent: Duration, received: Duration, server: i64) -> bool {
        // Servers may say anything; sums of a few of these fit.
        const FARTHEST: i64 = i64::MAX / 8;
        let server = server.clamp(-FARTHEST, FARTHEST);
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(FARTHEST).min(FARTHEST);
        let half = nanos(received.saturating_sub(sent)) / 2;
        let echo = Echo { server, local: nanos(sent) + half, half };
        let stepped = self.relation.is_some_and(|relation| {
            let (local, uncertainty) = relation.local(server);
            local.abs_diff(echo.local) > (half + uncertainty).unsigned_abs() + 50_000_000
        });
        if stepped {
            self.echoes.clear();
        }
        self.echoes.push_back(echo);
        if self.echoes.len() > KEPT {
            self.echoes.pop_front();
        }
        self.relate();
        stepped
    }

    /// Drift between the quickest echo of the older and that of the newer half.
    fn drift(&self) -> (f64, f64) {
        let quickest = |echoes: &mut dyn Iterator<Item = &Echo>| echoes.min_by_key(|echo| echo.half).copied();
        let middle = self.echoes.len() / 2;
        let older = quickest(&mut self.echoes.iter().take(middle));
        let newer = quickest(&mut self.echoes.iter().skip(middle));
        let (Some(older), Some(newer)) = (older, newer) else { return (0.0, UNKNOWN_DRIFT) };
        let span = newer.server - older.server;
        if span < LEAST_SPAN {
            return (0.0, UNKNOWN_DRIFT);
        }
        let drift = (newer.local - older.local - span) as f64 / span as f64;
        let uncertainty = (newer.half + older.half) as f64 / span as f64 + WANDER;
        if uncertainty < UNKNOWN_DRIFT && drift.abs() < LARGEST_DRIFT {
            (drift, uncertainty)
        } else {
            (0.0, UNKNOWN_DRIFT)
        }
    }

    fn relate(&mut self) {
        let Some(newest) = self.echoes.back().copied() else { return };
        let (drift, drift_uncertainty) = self.drift();
        let (mut low, mut high) = (newest.local - newest.half, newest.local + newest.half);
        let mut kept = 0;
        for echo in self.echoes.iter().rev() {
            let since = (newest.server - echo.server) as f64;
            let local = echo.local + (since * (1.0 + drift)) as i64;
            let reach = echo.half + (since.abs() * drift_uncertainty) as i64;
            let (lower, higher) = (low.max(local - reach), high.min(local + reach));
            // Older ones say otherwise: the drift has changed since, and they are worth nothing.
            if lower > higher {
                break;
            }
            (low, high) = (lower, higher);
            kept += 1;
        }
        self.echoes.drain(..self.echoes.len() - kept);
        self.relation = Some(Relation {
            server: newest.server,
            local: low + (high - low) / 2,
            drift,
            drift_uncertainty,
            uncertainty: (high - low) / 2,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Delays of any size and asymmetry, clocks that drift: the truth is always inside the bounds.
        #[test]
        fn the_truth_is_within_the_uncertainty(
            drift in -150e-6..150e-6_f64,
            offset in 0_i64..1_000_000_000_000,
            delays in prop::collection::vec((20_000_u64..3_000_000, 20_000_u64..3_000_000), 2..400),
        ) {
            // Local time of what the server's clock shows.
            let truth = |server: i64| ((server - offset) as f64 * (1.0 + drift)) as i64 + 7_000_000_000;
            let mut clock = Clock::default();
            for (number, (there, back)) in (0..).zip(&delays) {
                let server = offset + number * 250_000_000;
                let arrived = u64::try_from(truth(server)).unwrap();
                let (sent, received) = (arrived - there, arrived + back);
                prop_assert!(!clock.echo(Duration::from_nanos(sent), Duration::from_nanos(received), server));
                let (local, uncertainty) = clock.relation().unwrap().local(server + 100_000_000);
                let error = local.abs_diff(truth(server + 100_000_000));
                prop_assert!(error <= uncertainty.unsigned_abs() + 2, "{error} of {uncertainty}");
            }
        }

        #[test]
        fn no_echo_does_harm(echoes in prop::collection::vec((any::<u64>(), any::<u64>(), any::<i64>()), 0..50)) {
            let mut clock = Clock::default();
            for (sent, received, server) in echoes {
                clock.echo(Duration::from_nanos(sent), Duration::from_nanos(received), server);
                clock.relation().unwrap().local(server);
            }
        }
    }

    #[test]
    fn drift_is_followed_and_narrows_the_uncertainty() {
        let mut clock = Clock::default();
        let mut widest = 0;
        for number in 0..400_i64 {
            let server = number * 250_000_000;
            let arrived = (server as f64 * 1.00008) as u64 + 1_000_000_000;
            // Every eighth is quick.
            let delay = if number % 8 == 0 { 60_000 } else { 2_000_000 };
            clock.echo(Duration::from_nanos(arrived - delay), Duration::from_nanos(arrived + delay), server);
            if number == 20 {
                widest = clock.relation().unwrap().uncertainty;
            }
        }
        let relation = clock.relation().unwrap();
        assert!((relation.drift - 80e-6).abs() < 1e-6, "{relation:?}");
        assert!(relation.uncertainty < 80_000 && relation.uncertainty < widest, "{widest} {relation:?}");
    }

    #[test]
    fn a_clock_that_starts_anew_is_noticed_and_related_at_once() {
        let mut clock = Clock::default();
        let at = Duration::from_millis;
        for number in 0..20 {
            assert!(!clock.echo(
                at(100 * number),
                at(100 * number + 1),
                1_000_000_000_000 + 100_000_000 * number as i64
            ));
        }
        assert!(clock.echo(at(3000), at(3001), 5_000_000));
        assert_eq!(clock.relation().unwrap().local(5_000_000).0, 3_000_500_000);
    }
}
