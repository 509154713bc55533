//! What a viewer sees: launcher, ball, arm and hand at any instant, and the verdict when the hand closes.

use std::{collections::VecDeque, time::Duration};

use nalgebra::Vector3;

use crate::{
    Ball, HandState, Joints, Launcher, Malformed, Robot, Verdict,
    flights::{Fate, Flight, Flights},
    judge::judge,
    layout::arm_state_from_array,
};

/// Names of the published joint positions, in order.
pub const JOINT_NAMES: [&str; 15] = [
    "hand_1",
    "hand_2",
    "shooter_x",
    "shooter_z",
    "shooter_roll",
    "shooter_pitch",
    "ball_x",
    "ball_y",
    "ball_z",
    "joint_1",
    "joint_2",
    "joint_3",
    "joint_4",
    "joint_5",
    "joint_6",
];

/// Finger angle of the open hand; closed is 0.
const OPEN: f64 = 0.8;
/// Reports that are farther apart than this are not joined.
const BETWEEN_REPORTS: Duration = Duration::from_millis(120);
/// The ball's joints reach this far; a missed ball flies to that edge.
const EDGE: f64 = 10.0;

/// An arm reports its state this shortly before it says that the hand has closed, s.
const TOGETHER: f64 = 0.02;
/// The hand is judged by what the arm says of it this long after it closed at most, s.
const SOON: f64 = 0.02;
/// A ball is heard of within this time of its release, s; clocks that are nearer to each other are the same.
const HEARD_WITHIN: f64 = 0.2;
/// So many reports may arrive between two of the hand.
const MOST_REPORTS: usize = 256;

/// The scene. Times are since the arm's start, where nothing else is said.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    launcher: Launcher,
    flights: Flights,
    /// The last two postures that were told, and when they were heard of.
    postures: [Option<Posture>; 2],
    /// The arm's last reports, each with the arm's own wall clock when it was sent.
    reports: VecDeque<(Duration, Joints, Joints)>,
    closed: bool,
}

/// What was told of the arm.
#[derive(Debug, Clone, Copy)]
struct Posture {
    heard: Duration,
    angles: Joints,
    speeds: Joints,
}

/// A judgement, and which ball it is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The ball.
    pub ball: Ball,
    /// What was found.
    pub verdict: Verdict,
}

impl Scene {
    /// The launcher's state.
    pub fn launcher_moved(&mut self, data: &[f32]) -> Result<(), Malformed> {
        self.launcher = Launcher::from_array(data)?;
        Ok(())
    }

    /// A ball was thrown; the viewer `heard` of it then, on its own monotonic clock.
    pub fn ball_thrown(&mut self, data: &[f32], heard: Duration) -> Result<(), Malformed> {
        self.flights.thrown(Ball::from_array(data)?, heard);
        Ok(())
    }

    /// The arm's state, `heard` now. `sent` is the sender's wall clock, if it said so.
    pub fn arm_moved(
        &mut self,
        data: &[f32],
        sent: Option<Duration>,
        heard: Duration,
    ) -> Result<(), Malformed> {
        let (angles, speeds) = arm_state_from_array(data)?;
        self.postures = [self.postures[1], Some(Posture { heard, angles, speeds })];
        if let Some(sent) = sent {
            if self.reports.len() == MOST_REPORTS {
                self.reports.pop_front();
            }
            self.reports.push_back((sent, angles, speeds));
        }
        Ok(())
    }

    /// The hand closed or opened at `at`. `true`: it closed and there is a ball to judge it by.
    pub fn hand_moved(&mut self, closed: bool, at: f32) -> bool {
        self.closed = closed;
        if !closed {
            self.flights.release();
        }
        closed && at.is_finite() && self.flights.any_at(at.into())
    }

    /// A new arm begins with an open hand.
    pub fn arm_restarted(&mut self) {
        self.closed = false;
        self.flights.release();
    }

    /// Forgets balls that were thrown by another clock than the arm's.
    /// `arm_time` tells what an instant of the viewer's monotonic clock is on the arm's.
    pub fn forget_strange_balls(&mut self, arm_time: impl Fn(Duration) -> f64) {
        self.flights.retain(|f| (f.ball.released - arm_time(f.heard)).abs() < HEARD_WITHIN);
    }

    /// The hand as it was when it closed, from the report that the arm sent together with that message.
    /// `None` from arms that send none, or when it has not arrived.
    pub fn hand_at_closing(&self, sent: Duration) -> Option<HandState> {
        let report = self.reports.iter().filter(|(at, ..)| *at <= sent).max_by_key(|(at, ..)| *at);
        let (_, angles, speeds) = report.filter(|(at, ..)| (sent - *at).as_secs_f64() < TOGETHER)?;
        Some(Robot::default().hand_state(angles, speeds))
    }

    /// Judges a hand that closed at `at` and was in the state `hand` then. A caught ball moves with the hand from then on.
    pub fn judge(&mut self, at: f64, hand: &HandState) -> Option<Judged> {
        let flight = self.flights.nearest(&hand.position, at)?;
        let ball = flight.ball;
        let (position, velocity) = ball.at(at - ball.released);
        let verdict = judge(hand, &position, &velocity);
        flight.fate = if verdict.caught() { Fate::Caught(verdict.relative_position) } else { Fate::Lost };
        Some(Judged { ball, verdict })
    }

    /// As [`Scene::judge`], by a state of the hand at `seen`, a little after it closed. The hand must not have moved
    /// far since, so a state that is too old or from another clock gives `None`, and [`Scene::unjudged`] the ball.
    pub fn judge_later(&mut self, at: f64, hand: &HandState, seen: f64) -> Option<Judged> {
        let since = seen - at;
        if since.abs() > SOON {
            return None;
        }
        let position = hand.position - hand.velocity * since.max(0.0);
        self.judge(at, &HandState { position, ..*hand })
    }

    /// The ball that a hand which closed at `at` was probably meant for, if nobody can say more. It is not judged again.
    pub fn unjudged(&mut self, at: f64) -> Option<Ball> {
        self.flights.lose(None, Some(at))
    }

    /// Where the launcher stands.
    pub fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Where the ball thrown last is at `now`: in the air, in the hand or, when it has left the scene or the hand, on the
    /// launcher again.
    pub fn ball_position(&self, now: Duration) -> Vector3<f64> {
        let on_launcher = Vector3::new(self.launcher.x, 0.0, self.launcher.z);
        match self.flights.newest() {
            None | Some(Flight { fate: Fate::Released, .. }) => on_launcher,
            Some(Flight { fate: Fate::Caught(place), .. }) => {
                let (position, rotation) = Robot::default().hand_frame(&self.angles_at(now));
                position + rotation * place
            }
            Some(Flight { ball, .. }) => {
                let flight = (now.as_secs_f64() - ball.released).max(0.0);
                if flight < leaves_scene(ball) { ball.at(flight).0 } else { on_launcher }
            }
        }
    }

    /// The arm's angles at `now`: between two reports it moves smoothly from one to the other, a report's time late.
    pub fn angles_at(&self, now: Duration) -> Joints {
        match self.postures {
            [Some(from), Some(to)] if now < to.heard + BETWEEN_REPORTS => {
                let span = to.heard.saturating_sub(from.heard).min(BETWEEN_REPORTS).as_secs_f64().max(1e-6);
                let s = (now.saturating_sub(to.heard).as_secs_f64() / span).min(1.0);
                let (s2, s3) = (s * s, s * s * s);
                from.angles * (2.0 * s3 - 3.0 * s2 + 1.0)
                    + from.speeds * ((s3 - 2.0 * s2 + s) * span)
                    + to.angles * (3.0 * s2 - 2.0 * s3)
                    + to.speeds * ((s3 - s2) * span)
            }
            [_, Some(last)] => last.angles,
            _ => Joints::zeros(),
        }
    }

    /// The positions of [`JOINT_NAMES`] at `now`.
    pub fn joint_positions(&self, now: Duration) -> [f64; 15] {
        let finger = if self.closed { 0.0 } else { OPEN };
        let Launcher { x, z, phi, psi } = self.launcher;
        let ball = self.ball_position(now);
        let q = self.angles_at(now);
        [finger, finger, x, z, phi, psi, ball.x, ball.y, ball.z, q[0], q[1], q[2], q[3], q[4], q[5]]
    }
}

/// Seconds after its release when the ball reaches the scene's edge, at the latest when it has fallen that deep.
fn leaves_scene(ball: &Ball) -> f64 {
    let fall = Ball { position: ball.position + Vector3::y() * EDGE, ..*ball }.landing_time();
    let sideways = |p: f64, v: f64| if v == 0.0 { f64::INFINITY } else { (EDGE * v.signum() - p) / v };
    let (p, v) = (ball.position, ball.velocity);
    fall.min(sideways(p.x, v.x)).min(sideways(p.z, v.z)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Robot, Shooter};

    fn at(scene: &Scene, seconds: f64) -> Vector3<f64> {
        scene.ball_position(Duration::from_secs_f64(seconds))
    }

    #[test]
    fn the_ball_rests_on_the_launcher_and_follows_it() {
        let mut scene = Scene::default();
        assert_eq!(at(&scene, 5.0), Vector3::new(0.0, 0.0, -1.0));
        scene.launcher_moved(&[2.0, -3.0, 0.1, 0.2]).unwrap();
        let names = |name| JOINT_NAMES.iter().position(|n| *n == name).unwrap();
        let positions = scene.joint_positions(Duration::ZERO);
        assert_eq!(positions[names("ball_x")], 2.0);
        assert_eq!(positions[names("ball_z")], -3.0);
        assert_eq!(positions[names("hand_1")], 0.8);
    }

    fn thrown(scene: &mut Scene, ball: &Ball) {
        scene.ball_thrown(&ball.to_array(), Duration::from_secs_f64(ball.released)).unwrap();
    }

    /// A ball that is in the hand of an arm at home 0.1 s after its release, and that hand.
    fn into_the_hand(released: f64) -> (Ball, HandState) {
        let hand = Robot::default().hand_state(&Joints::zeros(), &Joints::zeros());
        let ball = Ball { released, position: hand.position - Vector3::z(), velocity: Vector3::z() * 10.0 };
        (ball, hand)
    }

    #[test]
    fn a_missed_ball_flies_on_to_the_edge_of_the_scene_and_another_lies_on_the_launcher() {
        let mut scene = Scene::default();
        let mut shooter = Shooter::default();
        shooter.aim(&[0.0, -1.0, 0.0, 0.9]).unwrap();
        let ball = shooter.fire(4.0, Duration::from_secs(1)).unwrap();
        thrown(&mut scene, &ball);
        assert_eq!(at(&scene, 0.5), at(&scene, 1.0), "not released yet");
        assert!(at(&scene, 2.0).y < at(&scene, 1.5).y);
        assert!(at(&scene, 2.7).y < -5.0);
        scene.launcher_moved(&[0.5, -2.0, 0.0, 0.9]).unwrap();
        assert_eq!(at(&scene, 10.0), Vector3::new(0.5, 0.0, -2.0), "and follows it");
    }

    #[test]
    fn a_caught_ball_moves_with_the_hand_until_it_opens() {
        let mut scene = Scene::default();
        let (ball, hand) = into_the_hand(1.0);
        thrown(&mut scene, &ball);
        assert!(!scene.hand_moved(false, 1.05));
        assert!(scene.hand_moved(true, 1.1));
        let judged = scene.judge(1.1, &hand).unwrap();
        assert!(judged.verdict.caught() && judged.ball == ball, "{judged:?}");
        assert_eq!(at(&scene, 1.2), at(&scene, 99.0));
        assert!((at(&scene, 1.2) - hand.position).norm() < 0.05);
        assert!(!scene.hand_moved(true, 4.0), "no ball in flight, nothing to judge");
        let mut elsewhere = [0.0; 12];
        elsewhere[0] = 0.5;
        scene.arm_moved(&elsewhere, None, Duration::from_secs(2)).unwrap();
        let moved = Robot::default().hand_frame(&Joints::new(0.5, 0.0, 0.0, 0.0, 0.0, 0.0)).0;
        assert!((at(&scene, 3.0) - moved).norm() < 0.05, "it is where the hand is");
        scene.hand_moved(false, 4.1);
        assert_eq!(at(&scene, 4.2), Vector3::new(0.0, 0.0, -1.0), "another one lies on the launcher");
        thrown(&mut scene, &ball);
        assert_ne!(at(&scene, 1.2), at(&scene, 1.3));
    }

    #[test]
    fn an_earlier_ball_is_caught_while_a_later_one_flies_elsewhere() {
        let mut scene = Scene::default();
        let (first, hand) = into_the_hand(1.0);
        let later = Ball { released: 1.05, position: Vector3::new(5.0, 0.0, -5.0), ..first };
        thrown(&mut scene, &first);
        thrown(&mut scene, &later);
        let judged = scene.judge(1.1, &hand).unwrap();
        assert!(judged.verdict.caught() && judged.ball == first, "{judged:?}");
        assert_ne!(at(&scene, 1.2), at(&scene, 1.3), "the later one flies on");
        assert_eq!(scene.judge(1.15, &hand).unwrap().ball.released, f64::from(later.to_array()[0]));
        assert_eq!(scene.judge(1.2, &hand), None, "every ball is judged once");
    }

    #[test]
    fn the_hand_is_judged_where_it_was_when_it_closed() {
        let mut scene = Scene::default();
        let (ball, _) = into_the_hand(1.0);
        thrown(&mut scene, &ball);
        let sent = Duration::from_millis;
        let report = |q1: f32| [q1, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        // Reports before, at and after the closing; a viewer that was late finds all of them at once.
        for (millis, q1) in [(5_000, 0.5), (5_100, 1.0), (5_200, 0.0)] {
            scene.arm_moved(&report(q1), Some(sent(millis)), sent(millis)).unwrap();
        }
        let hand = scene.hand_at_closing(sent(5_101)).unwrap();
        let joints = Joints::new(1.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        assert!((hand.position - Robot::default().hand_frame(&joints).0).norm() < 1e-6);
        assert!(!scene.judge(1.1, &hand).unwrap().verdict.caught());
        assert_eq!(scene.hand_at_closing(sent(5_090)), None, "the nearest report is too old");
        assert_eq!(scene.hand_at_closing(sent(4_999)), None);
    }

    #[test]
    fn between_two_reports_the_arm_moves_smoothly() {
        let mut scene = Scene::default();
        let at = Duration::from_millis;
        for (millis, q, v) in [(1000, 0.0, 0.0), (1100, 0.2, 2.0), (1200, 0.4, 0.0)] {
            let mut report = [0.0; 12];
            (report[0], report[6]) = (q, v);
            scene.arm_moved(&report, None, at(millis)).unwrap();
        }
        let seen: Vec<f64> = (0..=12).map(|k| scene.angles_at(at(1200 + 10 * k))[0]).collect();
        assert!(
            seen.is_sorted() && (seen[0] - 0.2).abs() < 1e-6 && (seen[12] - 0.4).abs() < 1e-6,
            "{seen:?}"
        );
        assert!(seen.windows(2).all(|w| w[1] - w[0] < 0.05), "no jump: {seen:?}");
    }

    #[test]
    fn a_hand_seen_too_late_or_on_a_stale_clock_is_not_judged() {
        let (ball, hand) = into_the_hand(1.0);
        for (seen, judged) in
            [(1.1, true), (1.115, true), (1.095, true), (1.13, false), (9.0, false), (0.2, false)]
        {
            let mut scene = Scene::default();
            thrown(&mut scene, &ball);
            assert_eq!(scene.judge_later(1.1, &hand, seen).is_some(), judged, "seen at {seen}");
            assert_eq!(scene.unjudged(1.1).is_some(), !judged);
        }
    }

    #[test]
    fn balls_of_another_clock_are_forgotten_when_the_arm_is_found_again() {
        let mut scene = Scene::default();
        let (old, _) = into_the_hand(40.0);
        scene.ball_thrown(&old.to_array(), Duration::from_secs(50)).unwrap();
        scene.hand_moved(true, 40.1);
        assert!(at(&scene, 40.5).z > 0.0);
        // The new arm started when the viewer's clock showed 60 s.
        let arm_time = |monotonic: Duration| monotonic.as_secs_f64() - 60.0;
        scene.forget_strange_balls(arm_time);
        scene.arm_restarted();
        assert_eq!(at(&scene, 40.5), Vector3::new(0.0, 0.0, -1.0), "back on the launcher");
        assert_eq!(scene.joint_positions(Duration::ZERO)[0], OPEN);
        // A throw on the new clock that was heard of before the clock.
        let (new, _) = into_the_hand(1.5);
        scene.ball_thrown(&new.to_array(), Duration::from_millis(61_501)).unwrap();
        scene.forget_strange_balls(arm_time);
        assert!(at(&scene, 1.6).z > -0.5);
    }
}
