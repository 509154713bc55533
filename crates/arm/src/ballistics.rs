//! The launcher and the ball: a point on a parabola.

use nalgebra::{Matrix3, Vector3};

/// Gravity along −y, m/s².
pub const GRAVITY: f64 = 9.8;

/// A ball in free flight, as it was released.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ball {
    /// When it was released, seconds since the arm's start.
    pub released: f64,
    /// Where it was released, m.
    pub position: Vector3<f64>,
    /// How fast it was released, m/s.
    pub velocity: Vector3<f64>,
}

impl Ball {
    /// Position and velocity `time` seconds after the release.
    pub fn at(&self, time: f64) -> (Vector3<f64>, Vector3<f64>) {
        let fall = Vector3::new(0.0, -GRAVITY * time, 0.0);
        (self.position + (self.velocity + fall / 2.0) * time, self.velocity + fall)
    }

    /// Seconds from the release to the highest point; 0 for a ball that only falls.
    pub fn rise_time(&self) -> f64 {
        (self.velocity.y / GRAVITY).max(0.0)
    }

    /// Seconds from the release until the ball comes down to y = 0.
    pub fn landing_time(&self) -> f64 {
        let (v, height) = (self.velocity.y, self.position.y.max(0.0));
        ((v + (v * v + 2.0 * GRAVITY * height).sqrt()) / GRAVITY).max(0.0)
    }

    /// How near its path comes to a point at the point's height; above the highest point, at the highest point.
    pub(crate) fn distance_to(&self, point: &Vector3<f64>) -> f64 {
        let v = self.velocity.y;
        let root = (v * v - 2.0 * GRAVITY * (point.y - self.position.y)).max(0.0).sqrt();
        let [up, down] = [v - root, v + root].map(|s| (self.at((s / GRAVITY).max(0.0)).0 - point).norm());
        up.min(down)
    }
}

/// The upright hand that lets a ball with this velocity in: y up, z along the ball's way over the ground.
pub fn upright_hand(velocity: &Vector3<f64>) -> Matrix3<f64> {
    let ground = Vector3::new(velocity.x, 0.0, velocity.z);
    let z = ground.try_normalize(0.0).unwrap_or_else(Vector3::z);
    Matrix3::from_columns(&[Vector3::y().cross(&z), Vector3::y(), z])
}

/// Where the launcher stands and points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Launcher {
    /// Sideways, m.
    pub x: f64,
    /// Distance from the arm, m; negative is before it.
    pub z: f64,
    /// Heading about y, 0 towards +z.
    pub phi: f64,
    /// Elevation.
    pub psi: f64,
}

impl Default for Launcher {
    fn default() -> Self {
        Self { x: 0.0, z: -1.0, phi: 0.0, psi: 0.0 }
    }
}

impl Launcher {
    /// Smallest and largest x, z, phi, psi.
    pub const RANGES: [(f64, f64); 4] = [(-10.0, 10.0), (-10.0, 0.0), (-2.0, 2.0), (0.0, 1.55)];

    /// The ball as it leaves the launcher at `speed`.
    pub fn release(&self, speed: f64, released: f64) -> Ball {
        let ((sin_phi, cos_phi), (sin_psi, cos_psi)) = (self.phi.sin_cos(), self.psi.sin_cos());
        Ball {
            released,
            position: Vector3::new(self.x, 0.0, self.z),
            velocity: Vector3::new(sin_phi * cos_psi, sin_psi, cos_phi * cos_psi) * speed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throws_match_the_reference() {
        let table = [
            ([0.0, -1.0, 0.0, 0.9], 4.0, [0.0, 3.133308, 2.486440], 0.319725, [0.0, 0.500899, -0.205022]),
            ([0.0, -1.0, 0.0, 0.85], 4.4, [0.0, 3.305634, 2.903926], 0.337310, [0.0, 0.557511, -0.020478]),
            ([0.1, -1.0, 0.0, 0.9], 4.2, [0.0, 3.289973, 2.610762], 0.335712, [0.1, 0.552241, -0.123537]),
            (
                [0.0, -1.0, 0.1, 0.9],
                4.4,
                [0.273053, 3.446638, 2.721420],
                0.351698,
                [0.096032, 0.606088, -0.042883],
            ),
            (
                [-0.2, -1.2, 0.2, 0.9],
                4.6,
                [0.568076, 3.603304, 2.802408],
                0.367684,
                [0.008873, 0.662439, -0.169599],
            ),
            ([0.0, -1.0, 0.0, 0.0], 5.0, [0.0, 0.0, 5.0], 0.0, [0.0, 0.0, -1.0]),
            ([0.0, -1.0, 0.0, 1.2], 3.4, [0.0, 3.168933, 1.232016], 0.323360, [0.0, 0.512354, -0.601615]),
            (
                [0.0, -2.0, 0.1, 0.6],
                6.0,
                [0.494376, 3.387855, 4.927274],
                0.345699,
                [0.170906, 0.585590, -0.296644],
            ),
        ];
        for ([x, z, phi, psi], speed, velocity, rise, apex) in table {
            let ball = Launcher { x, z, phi, psi }.release(speed, 0.0);
            assert!((ball.velocity - Vector3::from(velocity)).amax() < 1e-6);
            assert!((ball.rise_time() - rise).abs() < 1e-6);
            assert!((ball.at(ball.rise_time()).0 - Vector3::from(apex)).amax() < 2e-6);
            assert!((ball.landing_time() - 2.0 * rise).abs() < 2e-6);
        }
    }

    #[test]
    fn falling_balls_have_no_rise() {
        let ball = Ball { released: 0.0, position: Vector3::y(), velocity: Vector3::new(0.0, -2.0, 0.0) };
        assert_eq!(ball.rise_time(), 0.0);
        assert!(ball.at(ball.landing_time()).0.y.abs() < 1e-12);
    }

    #[test]
    fn the_hand_faces_the_ball_and_stays_a_rotation() {
        for velocity in
            [Vector3::new(0.3, 3.0, 2.0), Vector3::new(-1.0, 0.0, 0.0), Vector3::y(), Vector3::zeros()]
        {
            let hand = upright_hand(&velocity);
            assert!((hand.determinant() - 1.0).abs() < 1e-12);
            assert_eq!(hand.column(1), Vector3::y());
            assert!(velocity.dot(&hand.column(2)) >= 0.0 && velocity.dot(&hand.column(0)).abs() < 1e-12);
        }
    }
}
