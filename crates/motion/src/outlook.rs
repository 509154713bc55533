//! A look at a motion before it runs: how long, where, and what speaks against it.

use nalgebra::Isometry3;
use rosless_kinematics::Joints;

use crate::{
    frames::Frames,
    plan::{JointState, Planner},
    primitive::{Command, Primitive, RawPrimitive, Refusal, check},
};

/// Instants at which a motion is shown, at most.
const MOST_SAMPLES: f64 = 2000.0;
/// Seconds between two instants, at least.
const STEP: f64 = 0.02;

/// What would happen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outlook {
    /// The first primitive that is impossible, from 0, and why.
    pub impossible: Option<(usize, String)>,
    /// What is possible but not quite as asked for.
    pub notes: Vec<String>,
    /// Seconds of all of it.
    pub duration: f64,
    /// Metres of the hand.
    pub length: f64,
    /// The hand's greatest speed, m/s.
    pub top_speed: f64,
    /// Seconds at which each primitive begins and ends; between blended ones in the middle of the blend.
    pub times: Vec<(f64, f64)>,
    /// The robot at even instants: seconds, joints, hand.
    pub samples: Vec<(f64, JointState, Isometry3<f64>)>,
}

/// Plans `primitives` as one blended motion from `start`, and moves nothing.
pub fn look(planner: &Planner, frames: &Frames, start: &Joints, primitives: &[RawPrimitive]) -> Outlook {
    let mut outlook = Outlook::default();
    // A message may mean several moves: each knows whose it is.
    let mut moves: Vec<(u64, Primitive)> = Vec::with_capacity(primitives.len());
    for (index, raw) in primitives.iter().enumerate() {
        let impossible = match check(raw, frames) {
            Ok(checked) => {
                let id = index as u64;
                outlook
                    .notes
                    .extend(checked.warnings.into_iter().map(|text| format!("primitive {index}: {text}")));
                moves.extend(checked.before.into_iter().map(|one| (id, one)));
                match checked.command {
                    Command::Move(one) => {
                        moves.push((id, one));
                        continue;
                    }
                    _ => Refusal::HelperInGoal(raw.kind),
                }
            }
            Err(reason) => reason,
        };
        return Outlook { impossible: Some((index, impossible.to_string())), ..outlook };
    }
    if moves.is_empty() {
        return Outlook { impossible: Some((0, Refusal::EmptySequence.to_string())), ..outlook };
    }
    let planned = match planner.plan(start, &moves, 1.0) {
        Ok(planned) => planned,
        Err((place, error)) => {
            let index = usize::try_from(moves[place].0).unwrap_or(0);
            return Outlook { impossible: Some((index, error.to_string())), ..outlook };
        }
    };
    outlook.notes.extend(planned.notes.iter().map(|(id, text)| format!("primitive {id}: {text}")));
    outlook.duration = planned.duration();
    outlook.times = vec![(f64::INFINITY, 0.0); primitives.len()];
    let mut before = 0.0;
    for run in &planned.runs {
        for (id, begin, end) in run.times() {
            if let Some(times) = usize::try_from(id).ok().and_then(|i| outlook.times.get_mut(i)) {
                *times = (times.0.min(before + begin), times.1.max(before + end));
            }
        }
        before += run.duration();
    }
    let steps = (outlook.duration / STEP).ceil().clamp(1.0, MOST_SAMPLES);
    let mut last: Option<Isometry3<f64>> = None;
    for i in 0..=steps as usize {
        let time = outlook.duration * i as f64 / steps;
        let Some(state) = planned.at(time) else { break };
        let hand = planner.robot.forward(&state.position);
        let motion = planner.robot.chain.motion(&state.position, &state.velocity, &state.acceleration);
        outlook.top_speed = outlook.top_speed.max(motion.velocity.norm());
        outlook.length += last.map_or(0.0, |last| (hand.translation.vector - last.translation.vector).norm());
        last = Some(hand);
        outlook.samples.push((time, state, hand));
    }
    outlook
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        RawPose,
        primitive::code,
        testing::{planner, ready},
    };

    fn lin(by: [f64; 3]) -> RawPrimitive {
        let pose = planner().robot.forward(&ready());
        let (t, q) = (pose.translation.vector, pose.rotation.coords);
        let position = [t.x + by[0], t.y + by[1], t.z + by[2]];
        let pose = RawPose { frame_id: "base".into(), position, orientation: [q.x, q.y, q.z, q.w] };
        RawPrimitive {
            kind: code::LINEAR_CARTESIAN,
            arguments: vec![("velocity".into(), 0.1), ("acceleration".into(), 1.0)],
            poses: vec![pose],
            blend_radius: 0.01,
            ..RawPrimitive::default()
        }
    }

    #[test]
    fn it_tells_time_way_and_speed() {
        let moves = [lin([0.05, 0.0, 0.0]), lin([0.05, 0.05, 0.0])];
        let outlook = look(&planner(), &Frames::default(), &ready(), &moves);
        assert_eq!(outlook.impossible, None);
        assert!((outlook.length - 0.1).abs() < 0.01, "{}", outlook.length);
        assert!((0.09..=0.1001).contains(&outlook.top_speed), "{}", outlook.top_speed);
        assert_eq!(outlook.times[0].1, outlook.times[1].0);
        assert_eq!(outlook.times[1].1, outlook.duration);
        assert_eq!(outlook.samples.last().unwrap().0, outlook.duration);
    }

    #[test]
    fn it_tells_what_speaks_against_it() {
        let far =
            look(&planner(), &Frames::default(), &ready(), &[lin([0.05, 0.0, 0.0]), lin([5.0, 0.0, 0.0])]);
        assert!(
            matches!(&far.impossible, Some((1, reason)) if reason.contains("cannot be followed")),
            "{far:?}"
        );
        let odd = look(
            &planner(),
            &Frames::default(),
            &ready(),
            &[RawPrimitive { kind: 66, ..RawPrimitive::default() }],
        );
        assert!(matches!(&odd.impossible, Some((0, reason)) if reason.contains("helper type 66")));
        assert!(look(&planner(), &Frames::default(), &ready(), &[]).impossible.is_some());
    }
}
