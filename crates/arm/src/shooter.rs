//! The launcher's controller: checks what it is told, aims, and releases balls.

use std::time::Duration;

use crate::{Ball, Launcher, Malformed, layout::next_wire_time};

/// Speed of a throw without a speed, m/s.
pub const DEFAULT_SPEED: f64 = 5.0;
/// Faster than any throw that stays in the scene by far.
pub const MAX_SPEED: f64 = 100.0;

/// Why a throw was refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ThrowRefused {
    /// No number.
    #[error("speed {0} m/s is not a finite number")]
    NotFinite(f32),
    /// It would not leave the launcher.
    #[error("speed {0} m/s is not above 0: the ball would stay in the launcher")]
    NotPositive(f32),
    /// Faster than [`MAX_SPEED`].
    #[error("speed {0} m/s is above {MAX_SPEED} m/s, faster than any launcher of this size")]
    TooFast(f32),
}

/// The launcher as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shooter {
    launcher: Launcher,
}

impl Shooter {
    /// Where it stands.
    pub fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Moves the launcher, each value into its range. On an error nothing changes.
    pub fn aim(&mut self, data: &[f32]) -> Result<&Launcher, Malformed> {
        self.launcher = Launcher::from_array(data)?;
        Ok(&self.launcher)
    }

    /// Releases a ball at the first instant from `now` (since the arm's start) that the wire can say exactly.
    pub fn fire(&self, speed: f32, now: Duration) -> Result<Ball, ThrowRefused> {
        if !speed.is_finite() {
            Err(ThrowRefused::NotFinite(speed))
        } else if speed <= 0.0 {
            Err(ThrowRefused::NotPositive(speed))
        } else if f64::from(speed) > MAX_SPEED {
            Err(ThrowRefused::TooFast(speed))
        } else {
            Ok(self.launcher.release(speed.into(), next_wire_time(now.as_secs_f64())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_changes_nothing() {
        let mut shooter = Shooter::default();
        shooter.aim(&[0.5, -2.0, 0.1, 0.9]).unwrap();
        let before = shooter;
        assert!(shooter.aim(&[0.0, 0.0, 0.0]).is_err());
        assert!(shooter.aim(&[f32::NAN, 0.0, 0.0, 0.0]).is_err());
        assert_eq!(shooter, before);
    }

    #[test]
    fn impossible_speeds_are_refused() {
        let shooter = Shooter::default();
        for speed in [f32::NAN, f32::INFINITY, 0.0, -3.0, 101.0] {
            assert!(shooter.fire(speed, Duration::ZERO).is_err(), "{speed}");
        }
    }

    #[test]
    fn a_ball_released_after_three_days_is_the_same_for_everyone() {
        let now = Duration::from_secs_f64(3.0 * 86400.0 + 0.123_456);
        let ball = Shooter::default().fire(4.0, now).unwrap();
        assert_eq!(Ball::from_array(&ball.to_array()).unwrap().released, ball.released);
        assert!(ball.released >= now.as_secs_f64() && ball.released - now.as_secs_f64() < 0.05);
    }
}
