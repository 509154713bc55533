//! A six-axis arm that catches thrown balls: kinematics, limits, motion, ballistics and judgement.
//!
//! Nothing here does I/O or reads a clock, so every question ("can this throw be caught?") has a
//! repeatable answer. World axes: **y up**, x to the right, z from the launcher towards the arm's front;
//! right-handed, metres, radians, seconds.
//!
//! ```
//! use std::time::Duration;
//! use rosless_arm::Shooter;
//!
//! let mut launcher = Shooter::default();
//! launcher.aim(&[0.0, -1.0, 0.0, 0.9]).unwrap(); // x, z, heading, elevation
//! let ball = launcher.fire(4.0, Duration::ZERO).unwrap();
//! let (highest, _) = ball.at(ball.landing_time() / 2.0);
//! assert!((0.4..0.6).contains(&highest.y));
//! ```
//!
//! | part | question it answers |
//! |---|---|
//! | [`Robot`] | where is the hand, which joint angles put it there, how fast does it move |
//! | [`Limits`], [`Move`] | what may the joints do, and how soon can they be somewhere |
//! | [`Ball`], [`Launcher`] | where does a thrown ball fly |
//! | [`judge`] | was it caught |
//! | [`Planner`] | where and when to catch it |
//! | [`Shooter`], [`ArmController`], [`Scene`] | the state machines behind the nodes |
//! | [`verdict`] | what the arm tells of a throw, and which one is mine |
//! | [`ArmClock`] | what time is it for the arm |
//! | [`model`] | the scene's URDF and transforms |
//! | [`evaluate`] | all of it in simulated time, over many throws |
#![forbid(unsafe_code)]

pub mod ballistics;
pub mod bound;
pub mod clearance;
pub mod clock;
mod controller;
mod course;
pub mod evaluate;
mod flights;
mod inverse;
pub mod judge;
mod kinematics;
pub mod layout;
mod limits;
pub mod model;
mod pd;
pub mod planner;
mod profile;
mod random;
pub mod scene;
mod search;
pub mod shooter;
pub mod verdict;

pub use ballistics::{Ball, GRAVITY, Launcher};
pub use clearance::Touch;
pub use clock::{ArmClock, ClockNews, InitTime};
pub use controller::{ArmController, ArmInput, ArmOutput, ArmSettings, Control, LetGo, Refusal};
pub use inverse::{Branch, Solutions, Unreachable};
pub use judge::{Miss, Verdict};
pub use kinematics::{HandState, Jacobian, Joints, Links, Robot};
pub use layout::Malformed;
pub use limits::{JointLimit, LimitViolation, Limits};
pub use nalgebra::Vector3;
pub use pd::Gains;
pub use planner::{Catch, NoCatch, Planner, PlannerSettings, Strategy};
pub use profile::{Move, Waypoint};
pub use random::Seeded;
pub use scene::{JOINT_NAMES, Judged, Scene};
pub use shooter::{Shooter, ThrowRefused};
pub use verdict::{CatchVerdict, ThrowWatch};
