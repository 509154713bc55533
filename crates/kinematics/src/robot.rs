//! A robot: its geometry, its names and its limits.

use nalgebra::{Isometry3, Vector3};

use crate::{
    JOINTS,
    analytic::{Postures, Solver},
    chain::{Chain, Joints},
    limits::{LimitViolation, Limits},
    numeric,
};

/// A closed form is taken at its word only if it is this near: axes may be parallel to seven digits and no more.
const TRUSTED: f64 = 1e-6;

/// Joint angles closer than this are the same posture, rad.
const NEARBY: f64 = 0.3;

/// A six-axis robot.
#[derive(Debug, Clone, PartialEq)]
pub struct Robot {
    /// What it is called.
    pub name: String,
    /// Its geometry.
    pub chain: Chain,
    /// What its joints may do.
    pub limits: Limits,
    /// The joints' names, from the base to the tool.
    pub joint_names: [String; JOINTS],
    /// The names of the frames behind the joints.
    pub link_names: [String; JOINTS],
    /// The root of its frames.
    pub root_frame: String,
    /// The frame in which its poses are meant; z points up.
    pub base_frame: String,
    /// `base_frame` seen from `root_frame`.
    pub base_in_root: Isometry3<f64>,
    /// The tool's frame.
    pub tool_frame: String,
    /// Joint angles to begin with, far from every singularity.
    pub home: Joints,
    /// The URDF it came from, if it did.
    pub urdf: Option<String>,
    /// The closed form of its inverse, if its geometry has one ([`Solver::for_chain`]).
    pub solver: Option<Solver>,
}

/// Why no joint angles put the tool where it should be.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Unreachable {
    /// The arm is too short, or too long to fold.
    #[error(
        "the pose is out of reach: it is {distance:.3} m from the shoulder and the stretched arm has {reach:.3} m"
    )]
    Far {
        /// From the second joint to the tool.
        distance: f64,
        /// What the arm has.
        reach: f64,
    },
    /// Nothing is found although the place is near enough.
    #[error("no posture of the arm puts the tool there with that orientation")]
    NoPosture,
    /// Every posture breaks a joint limit.
    #[error("every posture for it breaks a limit; in the nearest one {0}")]
    Limit(LimitViolation),
}

impl Robot {
    /// Moves the tool by `offset` in its own frame; the closed form does not care.
    pub fn set_tool(&mut self, offset: &Isometry3<f64>) {
        self.chain = self.chain.with_tool(offset);
    }

    /// The tool's pose.
    pub fn forward(&self, joints: &Joints) -> Isometry3<f64> {
        self.chain.forward(joints)
    }

    /// All postures for a pose, without regard to limits. Without a closed form it is the one near `near`.
    pub fn postures(&self, pose: &Isometry3<f64>, near: &Joints) -> Vec<Joints> {
        match &self.solver {
            Some(solver) => solver.solve(&self.chain, pose, near, f64::INFINITY).as_slice().to_vec(),
            None => numeric::solve(&self.chain, pose, near).into_iter().collect(),
        }
    }

    /// The joint angles for `pose` that are nearest to `near` (the joint with the longest way counts) and inside the
    /// limits.
    ///
    /// # Errors
    /// Says why there are none.
    pub fn inverse(&self, pose: &Isometry3<f64>, near: &Joints) -> Result<Joints, Unreachable> {
        self.inverse_within(pose, near, f64::INFINITY)
    }

    /// The same for a pose on a path, where `near` is a good guess: other postures are looked at only if there is none
    /// nearby.
    ///
    /// # Errors
    /// Says why there are none.
    pub fn inverse_along(&self, pose: &Isometry3<f64>, near: &Joints) -> Result<Joints, Unreachable> {
        self.inverse_within(pose, near, NEARBY).or_else(|_| self.inverse(pose, near))
    }

    fn inverse_within(
        &self,
        pose: &Isometry3<f64>,
        near: &Joints,
        within: f64,
    ) -> Result<Joints, Unreachable> {
        let postures: Option<Postures> =
            self.solver.map(|solver| solver.solve(&self.chain, pose, near, within));
        let numeric = match &self.solver {
            None => numeric::solve(&self.chain, pose, near),
            Some(_) => None,
        };
        let found = postures.as_ref().map_or(&[][..], Postures::as_slice).iter().chain(&numeric);
        let mut best: Option<(f64, Joints)> = None;
        let mut outside: Option<(f64, LimitViolation)> = None;
        for posture in found {
            let turned = self.nearest_turn(posture, near);
            let way = (turned - near).amax();
            match self.limits.check(&turned) {
                Ok(()) if best.is_none_or(|(shortest, _)| way < shortest) => best = Some((way, turned)),
                Err(violation) if outside.is_none_or(|(shortest, _)| way < shortest) => {
                    outside = Some((way, violation));
                }
                _ => {}
            }
        }
        match (best, outside) {
            (Some((_, joints)), _) => self.exact(pose, joints).ok_or(Unreachable::NoPosture),
            (None, Some((_, violation))) => Err(Unreachable::Limit(violation)),
            (None, None) => Err(self.out_of_reach(pose)),
        }
    }

    /// A full turn more or less, where that is nearer and allowed.
    fn nearest_turn(&self, posture: &Joints, near: &Joints) -> Joints {
        let turn = std::f64::consts::TAU;
        Joints::from_fn(|i, _| {
            let limit = &self.limits.0[i];
            let angle = posture[i] + turn * ((near[i] - posture[i]) / turn).round();
            if angle > limit.upper && angle - turn >= limit.lower {
                angle - turn
            } else if angle < limit.lower && angle + turn <= limit.upper {
                angle + turn
            } else {
                angle
            }
        })
    }

    /// The same angles, polished if the geometry is not quite what the closed form takes it for.
    fn exact(&self, pose: &Isometry3<f64>, joints: Joints) -> Option<Joints> {
        let carried = self.chain.carried(&joints);
        let place = carried.apply(&self.chain.tool.translation.vector);
        let ahead = carried.turn * (self.chain.tool.rotation * Vector3::x());
        let off = (place - pose.translation.vector).norm().max((ahead - pose.rotation * Vector3::x()).norm());
        if off < TRUSTED { Some(joints) } else { numeric::solve(&self.chain, pose, &joints) }
    }

    /// From the second joint, past every axis, to the tool: no further than this, at most.
    fn out_of_reach(&self, pose: &Isometry3<f64>) -> Unreachable {
        let skeleton = self.chain.skeleton(&Joints::zeros());
        let shoulder = self.chain.axes[1].point;
        let reach: f64 = skeleton[1..].windows(2).map(|pair| (pair[1] - pair[0]).norm()).sum();
        let distance = (pose.translation.vector - shoulder).norm();
        if distance > reach { Unreachable::Far { distance, reach } } else { Unreachable::NoPosture }
    }

    /// How near the arm is to a singularity: the smallest singular value of its Jacobian, 0 in it.
    pub fn manipulability(&self, joints: &Joints) -> f64 {
        self.chain.jacobian(joints).singular_values().min()
    }
}
