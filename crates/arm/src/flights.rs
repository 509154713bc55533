//! The balls thrown last, so that a closing hand or a refused target can be told which ball it was about.

use std::{collections::VecDeque, time::Duration};

use nalgebra::Vector3;

use crate::Ball;

/// More balls than this are never in the air at once.
const MOST: usize = 16;
/// A hand that is sent to a ball is sent this near to its path, m: anywhere in its catch box.
const ON_PATH: f64 = 0.1;
/// A float32 may put a closing time this long before the release, s.
const EARLY: f64 = 0.02;

/// What became of a ball.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fate {
    InTheAir,
    /// Missed or let go; it flies on.
    Lost,
    /// In the hand: there, in the hand's frame.
    Caught(Vector3<f64>),
    /// The hand let go of it.
    Released,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Flight {
    pub(crate) ball: Ball,
    /// When it was heard of, on the listener's own clock.
    pub(crate) heard: Duration,
    pub(crate) fate: Fate,
}

/// The balls thrown last, the newest at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flights(VecDeque<Flight>);

impl Flights {
    pub(crate) fn thrown(&mut self, ball: Ball, heard: Duration) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Flight { ball, heard, fate: Fate::InTheAir });
    }

    pub(crate) fn newest(&self) -> Option<&Flight> {
        self.0.back()
    }

    /// The hand opens: what it held is no longer there.
    pub(crate) fn release(&mut self) {
        for flight in &mut self.0 {
            if let Fate::Caught(_) = flight.fate {
                flight.fate = Fate::Released;
            }
        }
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&Flight) -> bool) {
        self.0.retain(keep);
    }

    /// Balls whose fate is open.
    fn in_the_air(&mut self) -> impl DoubleEndedIterator<Item = &mut Flight> {
        self.0.iter_mut().filter(|flight| flight.fate == Fate::InTheAir)
    }

    /// Is some ball in the air at `at`?
    pub(crate) fn any_at(&self, at: f64) -> bool {
        self.0.iter().any(|flight| flight.fate == Fate::InTheAir && flight.ball.released <= at)
    }

    /// Of the balls in the air at `at`, the one nearest to `place` then.
    pub(crate) fn nearest(&mut self, place: &Vector3<f64>, at: f64) -> Option<&mut Flight> {
        let distance = |flight: &Flight| (flight.ball.at(at - flight.ball.released).0 - place).norm();
        let released = self.in_the_air().filter(|flight| flight.ball.released <= at);
        released.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The ball that a hand was to catch at `place` or at `at`, as far as these are known: it is lost from now on.
    pub(crate) fn lose(&mut self, place: Option<&Vector3<f64>>, at: Option<f64>) -> Option<Ball> {
        let flies = |ball: &Ball| {
            at.is_none_or(|at| (-EARLY..=ball.landing_time() + 1.0).contains(&(at - ball.released)))
        };
        let mut flying = self.in_the_air().filter(|flight| flies(&flight.ball));
        let lost = match (place, at) {
            (None, None) => None,
            (None, Some(_)) => flying.next_back(),
            (Some(place), at) => {
                let aside = |ball: &Ball| at.map_or(0.0, |at| (ball.at(at - ball.released).0 - place).norm());
                let passing = flying.filter(|flight| match at {
                    Some(_) => aside(&flight.ball) < ON_PATH,
                    None => flight.ball.distance_to(place) < ON_PATH,
                });
                passing.min_by(|a, b| aside(&a.ball).total_cmp(&aside(&b.ball)))
            }
        }?;
        lost.fate = Fate::Lost;
        Some(lost.ball)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thrown(balls: &[Ball]) -> Flights {
        let mut flights = Flights::default();
        balls.iter().for_each(|ball| flights.thrown(*ball, Duration::ZERO));
        flights
    }

    fn ball(released: f64, vx: f64) -> Ball {
        Ball { released, position: Vector3::zeros(), velocity: Vector3::new(vx, 3.0, 2.0) }
    }

    #[test]
    fn a_lost_ball_is_the_one_that_was_meant_and_lost_only_once() {
        let (first, second) = (ball(1.0, 0.0), ball(1.125, 0.5));
        let apex = |ball: &Ball| ball.at(ball.rise_time()).0;
        let close = |ball: &Ball| ball.released + ball.rise_time();
        for at in [None, Some(close(&second))] {
            let mut flights = thrown(&[first, second]);
            assert_eq!(flights.lose(Some(&apex(&second)), at), Some(second));
            assert_eq!(flights.lose(Some(&apex(&second)), at), None);
            assert_eq!(flights.lose(Some(&apex(&first)), None), Some(first));
        }
        // Two throws alike: the instant tells them apart, without it the older one comes first.
        let again = Ball { released: 1.25, ..first };
        assert_eq!(thrown(&[first, again]).lose(Some(&apex(&first)), Some(close(&again))), Some(again));
        assert_eq!(thrown(&[first, again]).lose(Some(&apex(&first)), None), Some(first));
        assert_eq!(thrown(&[ball(9000.0, 0.0), first]).lose(None, Some(9000.3)).unwrap().released, 9000.0);
        assert_eq!(thrown(&[first]).lose(Some(&Vector3::new(5.0, 5.0, 5.0)), None), None);
        assert_eq!(thrown(&[first]).lose(None, None), None, "a malformed target is nobody's");
    }

    #[test]
    fn old_balls_are_forgotten() {
        let mut flights = Flights::default();
        (0..1000).for_each(|k| flights.thrown(ball(f64::from(k), 0.0), Duration::ZERO));
        assert_eq!(flights.0.len(), MOST);
        assert_eq!(flights.newest().unwrap().ball.released, 999.0);
    }
}
