//! Segments one after the other on a time axis, overlapping where they blend.
//!
//! Every segment is planned from standstill to standstill between its exact targets. Where two overlap, their ways are
//! added: while one ramps down towards the corner the other already ramps up away from it. Inside the radius both have
//! half the acceleration and the overlap never exceeds either soft ramp, so the sum keeps every joint limit, and the
//! corner is cut by no more than the radius.

use std::{collections::VecDeque, time::Duration};

use rosless_arm::{Joints, Robot};

use crate::segment::{JointState, Segment};

/// Points at which an overlap is checked against the radius.
const CHECKS: usize = 12;
/// Shorter than this, an overlap is not worth the name.
const MIN_OVERLAP: f64 = 1e-3;

/// A segment and when it runs.
#[derive(Debug, Clone)]
struct Placed {
    id: u64,
    segment: Segment,
    placed: Duration,
    start: Duration,
    end: Duration,
    reported_start: bool,
    blends: bool,
}

/// What happened on the time axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    Started(u64),
    /// Blended over into the second before the first was at its target.
    Blended(u64, u64),
    Finished(u64),
}

/// The planned future of the robot.
#[derive(Debug, Clone)]
pub struct Timeline {
    rest: Joints,
    placed: VecDeque<Placed>,
}

impl Timeline {
    pub fn resting_at(joints: Joints) -> Self {
        Self { rest: joints, placed: VecDeque::new() }
    }

    /// Where the last planned segment ends: the start of the next.
    pub fn end_joints(&self) -> Joints {
        self.placed.back().map_or(self.rest, |last| last.segment.end())
    }

    /// Segments that have not ended.
    pub fn len(&self) -> usize {
        self.placed.len()
    }

    pub fn is_empty(&self) -> bool {
        self.placed.is_empty()
    }

    /// When the last segment ends.
    pub fn end(&self) -> Option<Duration> {
        self.placed.back().map(|last| last.end)
    }

    /// The radius within which a segment added now could blend with the last one; 0 if it comes too late.
    pub fn open_radius(&self, now: Duration) -> f64 {
        let open = |last: &&Placed| last.end.saturating_sub(now).as_secs_f64() > MIN_OVERLAP;
        self.placed.back().filter(open).map_or(0.0, |last| last.segment.blend_radius())
    }

    /// Adds a segment behind the last one, overlapping it by up to its blend radius if `blend`.
    pub fn push(&mut self, robot: &Robot, id: u64, segment: Segment, blend: bool, now: Duration) {
        let (mut start, mut blends) = (now, false);
        if let Some(last) = self.placed.back() {
            start = last.end.max(now);
            if blend && last.end > now {
                // What has not happened yet is all that can still overlap.
                let open = last.end.saturating_sub(now.max(last.start)).as_secs_f64();
                let overlap = overlap(robot, &last.segment, &segment).min(open);
                if overlap > MIN_OVERLAP {
                    start = last.end.saturating_sub(Duration::from_secs_f64(overlap));
                    blends = true;
                }
            }
        }
        let end = start + Duration::from_secs_f64(segment.duration());
        self.placed.push_back(Placed { id, segment, placed: now, start, end, reported_start: false, blends });
    }

    /// The joints at `now`. Segments that have ended must have been passed with [`Timeline::pass`].
    pub fn at(&self, now: Duration) -> JointState {
        let mut state = JointState::resting(self.rest);
        for placed in self.placed.iter().take_while(|placed| placed.start <= now) {
            let moving = placed.segment.at((now - placed.start).as_secs_f64());
            state.position += moving.position - placed.segment.start();
            state.velocity += moving.velocity;
            state.acceleration += moving.acceleration;
        }
        state
    }

    /// The radius within which the last segment may blend into one that is still to come.
    pub fn last_radius(&self) -> f64 {
        self.placed.back().map_or(0.0, |last| last.segment.blend_radius())
    }

    /// Takes the next thing that has happened by `now`, in order of time; ended segments are forgotten.
    pub fn pass(&mut self, now: Duration) -> Option<Passed> {
        let first_end = self.placed.front().filter(|first| first.reported_start).map(|first| first.end);
        let unstarted = self.placed.iter().position(|placed| !placed.reported_start);
        if let Some(i) = unstarted.filter(|&i| self.placed[i].start <= now) {
            // Two at the same instant: first the end of the old, then the start of the new.
            if first_end.is_none_or(|end| self.placed[i].start < end) {
                self.placed[i].reported_start = true;
                let id = self.placed[i].id;
                let before =
                    i.checked_sub(1).filter(|_| self.placed[i].blends).map(|before| self.placed[before].id);
                return Some(before.map_or(Passed::Started(id), |before| Passed::Blended(before, id)));
            }
        }
        // Nothing ends in the instant it was placed, so that whoever looks has seen that something ran.
        if first_end.is_some_and(|end| end <= now && self.placed[0].placed < now) {
            let ended = self.placed.pop_front()?;
            self.rest = ended.segment.end();
            return Some(Passed::Finished(ended.id));
        }
        None
    }
}

/// Seconds that `next` may begin before `last` ends.
fn overlap(robot: &Robot, last: &Segment, next: &Segment) -> f64 {
    let radius = last.blend_radius();
    let corner = robot.hand_frame(&last.end()).0;
    let from_corner = |joints: &Joints| (robot.hand_frame(joints).0 - corner).norm();
    let mut seconds = last.profile().soft_end().min(next.profile().soft_start());
    let both_cartesian = last.is_cartesian() && next.is_cartesian();
    let fastest = last.profile().speed().max(next.profile().speed()) * (1.0 + 1e-3);
    let fits = |seconds: f64| {
        (0..=CHECKS).all(|i| {
            let t = seconds * i as f64 / CHECKS as f64;
            let (a, b) = (last.at(last.duration() - seconds + t), next.at(t));
            let joints = a.position + b.position - next.start();
            let slow_enough = !both_cartesian
                || robot.hand_state(&joints, &(a.velocity + b.velocity)).velocity.norm() <= fastest;
            from_corner(&joints) <= radius && from_corner(&b.position) <= radius && slow_enough
        })
    };
    while seconds > MIN_OVERLAP && !fits(seconds) {
        seconds *= 0.9;
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        primitive::Primitive,
        segment::{
            Blended, MotionLimits,
            tests::{limits, lin, moved, ptp, ready, robot},
        },
    };
    use proptest::prelude::*;

    /// Plans all primitives as one blended motion from `ready()`.
    fn blended(primitives: &[Primitive]) -> (Timeline, Vec<Joints>) {
        let mut timeline = Timeline::resting_at(ready());
        let mut corners = Vec::new();
        for (i, primitive) in primitives.iter().enumerate() {
            let start = timeline.end_joints();
            let ends = Blended {
                start: if i > 0 { primitives[i - 1].blend_radius } else { 0.0 },
                end: primitive.blend_radius,
            };
            let segment = Segment::plan(&robot(), &MotionLimits::default(), &start, primitive, ends).unwrap();
            corners.push(segment.end());
            timeline.push(&robot(), i as u64, segment, i > 0, Duration::ZERO);
        }
        (timeline, corners)
    }

    struct Trace {
        fastest_share: f64,
        hardest_share: f64,
        /// Per corner: nearest distance of the hand, and its speed there.
        corners: Vec<(f64, f64)>,
        duration: f64,
        events: Vec<Passed>,
    }

    /// Walks the whole motion in small steps, checking continuity on the way.
    fn walk(mut timeline: Timeline, corners: &[Joints]) -> Trace {
        let robot = robot();
        let end = timeline.end().unwrap();
        let dt = 1e-3;
        let steps = (end.as_secs_f64() / dt).ceil() as usize + 1;
        let places: Vec<_> = corners.iter().map(|joints| robot.hand_frame(joints).0).collect();
        let mut trace = Trace {
            fastest_share: 0.0,
            hardest_share: 0.0,
            corners: vec![(f64::INFINITY, 0.0); corners.len()],
            duration: end.as_secs_f64(),
            events: Vec::new(),
        };
        let mut last: Option<JointState> = None;
        for i in 0..=steps {
            let now = Duration::from_secs_f64(i as f64 * dt);
            trace.events.extend(std::iter::from_fn(|| timeline.pass(now)));
            let state = timeline.at(now);
            for (joint, limit) in robot.limits.0.iter().enumerate() {
                trace.fastest_share = trace.fastest_share.max(state.velocity[joint].abs() / limit.velocity);
                trace.hardest_share =
                    trace.hardest_share.max(state.acceleration[joint].abs() / limit.acceleration);
                if let Some(last) = &last {
                    let step = (state.position[joint] - last.position[joint]).abs();
                    assert!(step <= limit.velocity * dt * 1.001, "joint {joint} jumps by {step} at {i} ms");
                    let change = (state.velocity[joint] - last.velocity[joint]).abs();
                    assert!(
                        change <= limit.acceleration * dt * 1.01,
                        "joint {joint} changes speed by {change} at {i} ms"
                    );
                }
            }
            let hand = robot.hand_state(&state.position, &state.velocity);
            for (place, nearest) in places.iter().zip(&mut trace.corners) {
                let distance = (hand.position - place).norm();
                if distance < nearest.0 {
                    *nearest = (distance, hand.velocity.norm());
                }
            }
            last = Some(state);
        }
        assert!((last.unwrap().position - corners.last().unwrap()).amax() < 1e-9, "arrives");
        trace
    }

    fn square(radius: f64) -> Vec<Primitive> {
        let start = robot().forward(&ready());
        let corners = [[0.06, 0.0, 0.0], [0.06, 0.06, 0.0], [0.0, 0.06, 0.0]];
        let mut path: Vec<_> = corners.iter().map(|by| lin(moved(&start, *by), limits(0.2, 1.0))).collect();
        for primitive in &mut path[..2] {
            primitive.blend_radius = radius;
        }
        path
    }

    #[test]
    fn blended_corners_are_passed_at_speed_and_inside_the_radius() {
        let (timeline, corners) = blended(&square(0.02));
        let trace = walk(timeline, &corners);
        for (distance, speed) in &trace.corners[..2] {
            assert!(*distance <= 0.02 && *distance > 1e-4, "cut by {distance}");
            assert!(*speed > 0.02, "speed {speed} at the corner");
        }
        assert!(trace.fastest_share <= 1.0 && trace.hardest_share <= 1.0);
        let (stops, _) = blended(&square(0.0));
        let stopping = stops.end().unwrap().as_secs_f64();
        assert!(trace.duration < 0.9 * stopping, "{} s against {stopping} s", trace.duration);
        assert_eq!(
            trace.events,
            [
                Passed::Started(0),
                Passed::Blended(0, 1),
                Passed::Finished(0),
                Passed::Blended(1, 2),
                Passed::Finished(1),
                Passed::Finished(2)
            ]
        );
    }

    #[test]
    fn without_a_radius_the_hand_stops_at_every_corner() {
        let (timeline, corners) = blended(&square(0.0));
        let trace = walk(timeline, &corners);
        for (distance, speed) in &trace.corners {
            assert!(*distance < 1e-4 && *speed < 2e-3, "{distance} m, {speed} m/s");
        }
        assert_eq!(trace.events[1], Passed::Finished(0));
    }

    #[test]
    fn a_segment_that_comes_late_blends_with_what_is_left() {
        let path = square(0.02);
        let ends = Blended { start: 0.0, end: 0.02 };
        let first = Segment::plan(&robot(), &MotionLimits::default(), &ready(), &path[0], ends).unwrap();
        let mut timeline = Timeline::resting_at(ready());
        let duration = first.duration();
        timeline.push(&robot(), 0, first, false, Duration::ZERO);
        let late = Duration::from_secs_f64(duration - 0.02);
        assert_eq!(timeline.open_radius(late), 0.02);
        let start = timeline.end_joints();
        let ends = Blended { start: 0.02, end: 0.0 };
        let second = Segment::plan(&robot(), &MotionLimits::default(), &start, &path[1], ends).unwrap();
        timeline.push(&robot(), 1, second, true, late);
        let corners = [start, timeline.end_joints()];
        let trace = walk(timeline, &corners);
        assert!(trace.hardest_share <= 1.0 && trace.corners[0].1 > 1e-3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(120))]
        #[test]
        fn any_blended_sequence_keeps_the_limits_and_the_radius(
            moves in prop::collection::vec((prop::array::uniform6(-0.5f64..0.5), any::<bool>(), 0.0f64..0.05), 2..6),
            velocity in 0.1f64..5.0, acceleration in 0.5f64..30.0) {
            let robot = robot();
            let mut joints = ready();
            let mut primitives = Vec::new();
            for (by, straight, radius) in moves {
                let target = ready() + Joints::from_column_slice(&by);
                let mut primitive = if straight {
                    lin(robot.forward(&target), limits(velocity, acceleration))
                } else {
                    ptp(target, limits(velocity, acceleration))
                };
                primitive.blend_radius = radius;
                if let Ok(segment) = Segment::plan(&robot, &MotionLimits::default(), &joints, &primitive, Blended::default()) {
                    joints = segment.end();
                    primitives.push(primitive);
                }
            }
            prop_assume!(!primitives.is_empty());
            primitives.last_mut().unwrap().blend_radius = 0.0;
            let radii: Vec<_> = primitives.iter().map(|p| p.blend_radius).collect();
            let (timeline, corners) = blended(&primitives);
            let trace = walk(timeline, &corners);
            prop_assert!(trace.fastest_share <= 1.0 && trace.hardest_share <= 1.0, "{} {}", trace.fastest_share, trace.hardest_share);
            for ((distance, _), radius) in trace.corners.iter().zip(radii) {
                // One sample per millisecond may step over the corner itself.
                prop_assert!(*distance <= radius + 2e-3, "corner cut by {distance} m with radius {radius} m");
            }
        }
    }
}
