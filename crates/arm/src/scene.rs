//! What a viewer sees: launcher, ball, arm and hand at any instant, and the verdict when the hand closes.

use std::time::Duration;

use nalgebra::Vector3;

use crate::{
    Ball, HandState, Joints, Launcher, Malformed, Verdict, judge::judge, layout::arm_state_from_array,
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
/// The ball's joints reach this far; a missed ball stays at the edge.
const EDGE: f64 = 10.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum BallState {
    OnLauncher,
    Thrown(Ball),
    Caught(Vector3<f64>),
}

/// The scene. Times are since the arm's start.
#[derive(Debug, Clone)]
pub struct Scene {
    launcher: Launcher,
    ball: BallState,
    angles: Joints,
    closed: bool,
}

/// A closed hand waiting for the hand's state, then for judgement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closing {
    pub ball: Ball,
    /// When the hand closed.
    pub at: f64,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            launcher: Launcher::default(),
            ball: BallState::OnLauncher,
            angles: Joints::zeros(),
            closed: false,
        }
    }
}

impl Scene {
    pub fn launcher_moved(&mut self, data: &[f32]) -> Result<(), Malformed> {
        self.launcher = Launcher::from_array(data)?;
        Ok(())
    }

    pub fn ball_thrown(&mut self, data: &[f32]) -> Result<(), Malformed> {
        self.ball = BallState::Thrown(Ball::from_array(data)?);
        Ok(())
    }

    pub fn arm_moved(&mut self, data: &[f32]) -> Result<(), Malformed> {
        self.angles = arm_state_from_array(data)?.0;
        Ok(())
    }

    /// The hand closed or opened at `at`. With a ball in flight a closing hand must be judged.
    pub fn hand_moved(&mut self, closed: bool, at: f32) -> Option<Closing> {
        self.closed = closed;
        match self.ball {
            BallState::Thrown(ball) if closed && at.is_finite() => Some(Closing { ball, at: at.into() }),
            _ => None,
        }
    }

    /// Judges a closing. `hand` is its state at `seen`, a little after the hand closed.
    /// A caught ball stops, unless another one has been thrown since.
    pub fn judge(&mut self, closing: &Closing, hand: &HandState, seen: f64) -> Verdict {
        let mut hand = *hand;
        // Answers take a millisecond; the hand is judged where it was when it closed.
        hand.position -= hand.velocity * (seen - closing.at).clamp(0.0, 0.1);
        let (position, velocity) = closing.ball.at(closing.at - closing.ball.released);
        let verdict = judge(&hand, &position, &velocity);
        if verdict.caught() && self.ball == BallState::Thrown(closing.ball) {
            self.ball = BallState::Caught(position);
        }
        verdict
    }

    pub fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Where the ball is at `now`.
    pub fn ball_position(&self, now: Duration) -> Vector3<f64> {
        match &self.ball {
            BallState::OnLauncher => Vector3::new(self.launcher.x, 0.0, self.launcher.z),
            BallState::Caught(position) => *position,
            BallState::Thrown(ball) => {
                let flight = (now.as_secs_f64() - ball.released).max(0.0);
                ball.at(flight.min(leaves_scene(ball))).0
            }
        }
    }

    /// The positions of [`JOINT_NAMES`] at `now`.
    pub fn joint_positions(&self, now: Duration) -> [f64; 15] {
        let finger = if self.closed { 0.0 } else { OPEN };
        let Launcher { x, z, phi, psi } = self.launcher;
        let ball = self.ball_position(now);
        let q = &self.angles;
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

    #[test]
    fn a_missed_ball_flies_on_to_the_edge_of_the_scene() {
        let mut scene = Scene::default();
        let mut shooter = Shooter::default();
        shooter.aim(&[0.0, -1.0, 0.0, 0.9]).unwrap();
        let ball = shooter.fire(4.0, Duration::from_secs(1)).unwrap();
        scene.ball_thrown(&ball.to_array()).unwrap();
        assert_eq!(at(&scene, 0.5), at(&scene, 1.0), "not released yet");
        assert!(at(&scene, 2.0).y < at(&scene, 1.5).y);
        assert!((at(&scene, 1e6).y + 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_caught_ball_stops_until_the_next_throw() {
        let mut scene = Scene::default();
        let robot = Robot::default();
        let hand = robot.hand_state(&Joints::zeros(), &Joints::zeros());
        let ball =
            Ball { released: 1.0, position: hand.position - Vector3::z(), velocity: Vector3::z() * 10.0 };
        scene.ball_thrown(&ball.to_array()).unwrap();
        assert_eq!(scene.hand_moved(false, 1.05), None);
        let closing = scene.hand_moved(true, 1.1).unwrap();
        let verdict = scene.judge(&closing, &hand, 1.102);
        assert!(verdict.caught(), "{verdict:?}");
        assert_eq!(at(&scene, 1.2), at(&scene, 99.0));
        assert!((at(&scene, 1.2) - hand.position).norm() < 0.05);
        assert_eq!(scene.hand_moved(true, 4.0), None, "no ball in flight, nothing to judge");
        scene.ball_thrown(&ball.to_array()).unwrap();
        assert_ne!(at(&scene, 1.2), at(&scene, 1.3));
    }
}
