//! From a hand pose to a move of the joints: which posture, and is the way there clear?

use nalgebra::{Matrix3, Vector3, Vector6};

use crate::{HandState, Joints, Move, Robot, Unreachable, Waypoint, clearance::Touch, limits::turns};

/// How often a move is looked at for what it would touch, s.
const LOOK: f64 = 0.01;
/// Hands slower than this rest, m/s and 1/s.
const RESTING: f64 = 5e-4;
/// Joints damped by this (m, squared) where the arm is nearly singular.
const DAMPING: f64 = 1e-8;

impl HandState {
    /// Is it a pose to rest at?
    pub fn rests(&self) -> bool {
        self.velocity.amax() <= RESTING && self.rotation_rate.amax() <= RESTING
    }

    /// Linear and angular velocity together.
    fn twist(&self) -> Vector6<f64> {
        let spin = self.rotation_rate * self.rotation.transpose();
        let [x, y, z] = [spin[(2, 1)], spin[(0, 2)], spin[(1, 0)]];
        let v = &self.velocity;
        Vector6::new(v.x, v.y, v.z, x, y, z)
    }
}

impl Robot {
    /// Of all postures that put the hand at a pose, the move to the one reached soonest from a moving start.
    pub fn fastest_move(
        &self,
        position: &Vector3<f64>,
        rotation: &Matrix3<f64>,
        angles: &Joints,
        speeds: &Joints,
    ) -> Result<Move, Unreachable> {
        let solutions = self.inverse_frame(position, rotation, angles)?;
        let course = |goal: &Joints| Move::shortest(angles, speeds, goal, &self.limits);
        // Postures that touch something only when there is no other.
        let touches = |goal: &Joints| if self.clearance(&course(goal).goal()).is_ok() { 0.0 } else { 1e3 };
        let goal = solutions.best_by(|goal| course(goal).duration() + touches(goal))?;
        Ok(course(&goal))
    }

    /// The move that brings the hand to `hand`: to rest there as soon as possible or, for a moving hand, to be just there
    /// after `time` and to brake afterwards. What cannot be reached in time is come as near to as possible.
    ///
    /// # Errors
    /// When no posture puts the hand there.
    pub fn course(
        &self,
        hand: &HandState,
        angles: &Joints,
        speeds: &Joints,
        time: f64,
    ) -> Result<Move, Unreachable> {
        if hand.rests() {
            return self.fastest_move(&hand.position, &hand.rotation, angles, speeds);
        }
        let (solutions, twist) = (self.inverse_frame(&hand.position, &hand.rotation, angles)?, hand.twist());
        let mut best: Option<(f64, Move)> = None;
        for branch in solutions.iter().filter(|branch| branch.limits.is_ok()) {
            let pass = self.speeds_for(&branch.joints, &twist);
            let mut place = branch.joints;
            for i in 0..6 {
                let limit = &self.limits.0[i];
                // Full turns are free; of those in range the one nearest to where the joint drifts.
                let drift = angles[i] + 0.5 * (speeds[i] + pass[i]) * time;
                let in_range = turns(place[i]).filter(|a| (limit.min..=limit.max).contains(a));
                if let Some(turn) = in_range.min_by(|a, b| (a - drift).abs().total_cmp(&(b - drift).abs())) {
                    place[i] = turn;
                }
            }
            let (course, off) =
                Move::passing(angles, speeds, &Waypoint { angles: place, speeds: pass, time }, &self.limits);
            let end = course.goal();
            let beyond = (end - self.limits.clamp(&end)).amax();
            let (_, passed) = course.at(time);
            // Place before speed, and a posture that touches something last.
            let touches = if self.clearance(&place).is_ok() { 0.0 } else { 1e3 };
            let cost = touches + 10.0 * (off + beyond) + 0.01 * (passed - pass).amax();
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, course));
            }
        }
        match best {
            Some((_, course)) => Ok(course),
            None => self.fastest_move(&hand.position, &hand.rotation, angles, speeds),
        }
    }

    /// Joint speeds for a hand's velocity; near a singular posture the nearest there are.
    fn speeds_for(&self, joints: &Joints, twist: &Vector6<f64>) -> Joints {
        self.joint_speeds(joints, twist).unwrap_or_else(|| {
            let jacobian = self.jacobian(joints);
            let normal = jacobian.tr_mul(&jacobian) + nalgebra::Matrix6::identity() * DAMPING;
            normal.cholesky().map_or_else(Joints::zeros, |c| c.solve(&jacobian.tr_mul(twist)))
        })
    }

    /// Ok when a move touches neither the floor nor the arm itself.
    ///
    /// # Errors
    /// With what it touches first.
    pub fn way_is_clear(&self, course: &Move) -> Result<(), Touch> {
        let looks = (course.duration() / LOOK).ceil().min(1e4) as u32;
        (1..=looks).try_for_each(|k| self.clearance(&course.at(LOOK * f64::from(k)).0))
    }
}
