//! What primitives become for the robot, and how far it is with them.

use std::{collections::VecDeque, time::Duration};

use rosless_kinematics::{Joints, Robot};
use rosless_motion::{Motion, PlanError, Planner, Primitive, RobotEvent, Run, Timing};

use crate::{
    pose,
    program::{Move, NUMBERS, Shape},
};

/// Moves that the robot has at a time.
const WINDOW: usize = 16;
/// Singles that may be under way so that one can blend into the next.
const LOOK_AHEAD: usize = 3;
/// A single with a radius waits this long for the one it blends into, if nothing moves.
const HOLD: Duration = Duration::from_millis(60);
/// And while another one moves, until that is so far.
const HOLD_SHARE: f64 = 0.3;
/// A robot needs at most so many times what we plan, and then some seconds more: its own profile is not ours.
const PATIENCE: (f64, f64) = (3.0, 5.0);
/// Closer than this is where the robot is already, rad.
const NO_WAY: f64 = 1e-7;

/// A planned move.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OneMove {
    number: u64,
    shape: Shape,
    speed: f64,
    acceleration: f64,
    seconds: f64,
    radius: f64,
    /// Seconds that our own plan needs.
    planned: f64,
}

/// Moves that can be driven from where the robot is.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) moves: Vec<OneMove>,
    pub(super) end: Joints,
    pub(super) notes: Vec<(u64, String)>,
    pub(super) preview: Vec<(Joints, bool)>,
}

impl Planned {
    /// Looks at every move with our own kinematics, limits and zones before the robot gets any of them.
    pub(super) fn new(
        planner: &Planner,
        start: &Joints,
        primitives: &[(u64, Primitive)],
    ) -> Result<Self, (usize, PlanError)> {
        let planned = planner.plan(start, primitives, 1.0)?;
        let mut moves = Vec::with_capacity(primitives.len());
        let mut from = *start;
        for run in &planned.runs {
            for (number, begins, ends) in run.times() {
                let Some((_, primitive)) = primitives.iter().find(|(known, _)| *known == number) else {
                    continue;
                };
                let to = run.at(ends).position;
                moves.push(one(planner, run, number, primitive, (begins, ends), (&from, &to)));
                from = to;
            }
        }
        let preview = planned.runs.iter().flat_map(preview).collect();
        let end = planned.runs.last().map_or(*start, Run::end);
        Ok(Self { moves, end, notes: planned.notes, preview })
    }
}

fn preview(run: &Run) -> Vec<(Joints, bool)> {
    const POINTS: u32 = 100;
    let at = |i: u32| run.duration() * f64::from(i) / f64::from(POINTS);
    (0..=POINTS).map(|i| (run.at(at(i)).position, run.is_blending(at(i)))).collect()
}

fn one(
    planner: &Planner,
    run: &Run,
    number: u64,
    primitive: &Primitive,
    (begins, ends): (f64, f64),
    (from, to): (&Joints, &Joints),
) -> OneMove {
    let six = |joints: &Joints| std::array::from_fn(|i| joints[i]);
    let limits = &planner.robot.limits.0;
    let least =
        |of: fn(&rosless_kinematics::JointLimit) -> f64| limits.iter().map(of).fold(f64::INFINITY, f64::min);
    let (is_joints, shape) = match &primitive.motion {
        Motion::Joint { target } => (true, Shape::Joints(six(target))),
        // The controller knows its arm to a tenth of a millimetre and we do not; which posture is our decision.
        Motion::JointPose { goal } => (true, Shape::JointsFor(pose::to_numbers(goal), six(to))),
        Motion::Linear { goal } => (false, Shape::Line(pose::to_numbers(goal))),
        Motion::LinearJoints { target } => (false, Shape::LineToJoints(six(target))),
        Motion::Circular { goal, via } => (false, Shape::Arc(pose::to_numbers(via), pose::to_numbers(goal))),
    };
    let along = Along::new(&planner.robot, run, (begins, ends));
    let (fastest, strongest) = match is_joints {
        // Where the hand was the limit, the joints get what that left them.
        true if along.hand_speed > 0.95 * planner.hand.velocity => {
            (along.joint_speed, least(|limit| limit.acceleration))
        }
        true => (least(|limit| limit.velocity), least(|limit| limit.acceleration)),
        false => (planner.hand.velocity, planner.hand.acceleration),
    };
    let (speed, acceleration, seconds) = match primitive.timing {
        Timing::Limits { velocity, acceleration } => {
            (velocity.min(fastest), acceleration.min(strongest), 0.0)
        }
        // `movec` has no time: the speed for which ramps and the rest take that long.
        Timing::MoveTime(seconds) if matches!(shape, Shape::Arc(..)) => {
            let (a, length) = (strongest, along.length);
            let inside = (a * seconds).powi(2) - 4.0 * a * length;
            let speed =
                if inside > 0.0 { (a * seconds - inside.sqrt()) / 2.0 } else { 2.0 * length / seconds };
            (speed.clamp(1e-4, fastest), a, 0.0)
        }
        Timing::MoveTime(seconds) => (fastest, strongest, seconds),
    };
    let stays = (to - from).amax() < NO_WAY;
    OneMove {
        number,
        shape: if stays { Shape::Stay } else { shape },
        speed,
        acceleration,
        seconds,
        radius: if stays { 0.0 } else { primitive.blend_radius },
        planned: ends - begins,
    }
}

/// What a stretch of a plan has.
struct Along {
    /// Metres of the hand.
    length: f64,
    /// Greatest speed of the hand and of any joint.
    hand_speed: f64,
    joint_speed: f64,
}

impl Along {
    fn new(robot: &Robot, run: &Run, (begins, ends): (f64, f64)) -> Self {
        const POINTS: u32 = 40;
        let step = (ends - begins) / f64::from(POINTS);
        let mut along = Self { length: 0.0, hand_speed: 0.0, joint_speed: 0.0 };
        let mut last = robot.chain.place(&run.at(begins).position);
        for i in 1..=POINTS {
            let state = run.at(begins + step * f64::from(i));
            let place = robot.chain.place(&state.position);
            let way = (place - last).norm();
            along.length += way;
            along.hand_speed = along.hand_speed.max(if step > 0.0 { way / step } else { 0.0 });
            along.joint_speed = along.joint_speed.max(state.velocity.amax());
            last = place;
        }
        along.joint_speed = along.joint_speed.max(1e-3);
        along
    }
}

#[derive(Debug)]
struct Sent {
    number: u64,
    planned: f64,
    /// It was sent with a radius.
    blends: bool,
    started: bool,
    /// The robot is at the blend into the next.
    passing: bool,
}

/// What the robot has to do.
#[derive(Debug, Default)]
pub(super) struct Moves {
    waiting: VecDeque<(OneMove, Duration)>,
    sent: VecDeque<Sent>,
    end: Option<Joints>,
    /// Seconds at full speed that the first of those that were sent has taken so far.
    worked: f64,
}

impl Moves {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.sent.is_empty()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Where the last of them ends.
    pub(super) fn end(&self) -> Option<Joints> {
        self.end.filter(|_| !self.is_empty())
    }

    /// Whether another single or sequence may come.
    pub(super) fn has_room(&self) -> bool {
        let blends = self.waiting.back().is_some_and(|(last, _)| last.radius > 0.0);
        self.is_empty() || (blends && self.waiting.len() + self.sent.len() < LOOK_AHEAD)
    }

    pub(super) fn add(&mut self, moves: Vec<OneMove>, end: Joints, now: Duration) {
        self.waiting.extend(moves.into_iter().map(|one| (one, now)));
        self.end = Some(end);
    }

    /// The next move for the robot, if it is time; `all`: nothing more will follow what there is.
    pub(super) fn next_to_send(&mut self, now: Duration, all: bool, epoch: i32) -> Option<Move> {
        let (one, since) = self.waiting.front()?;
        let has_next = self.waiting.len() > 1;
        let held = match self.sent.front() {
            None => now.saturating_sub(*since) < HOLD,
            Some(first) => self.sent.len() > 1 || self.worked < HOLD_SHARE * first.planned,
        };
        if self.sent.len() >= WINDOW || (one.radius > 0.0 && !has_next && !all && held) {
            return None;
        }
        let radius = if has_next { one.radius } else { 0.0 };
        let (one, _) = self.waiting.pop_front()?;
        if self.sent.is_empty() {
            self.worked = 0.0;
        }
        self.sent.push_back(Sent {
            number: one.number,
            planned: one.planned,
            blends: radius > 0.0,
            started: false,
            passing: false,
        });
        Some(Move {
            id: (one.number % NUMBERS) as u32,
            epoch,
            shape: one.shape,
            speed: one.speed,
            acceleration: one.acceleration,
            seconds: one.seconds,
            radius,
        })
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.sent.iter().position(|sent| sent.number % NUMBERS == u64::from(id))
    }

    /// The robot begins a move. False if it has no such move.
    pub(super) fn started(&mut self, id: u32, events: &mut VecDeque<RobotEvent>) -> bool {
        let Some(place) = self.place(id) else { return false };
        let number = self.sent[place].number;
        let before = self.sent.drain(..place).rfind(|sent| sent.passing);
        match before {
            Some(before) => {
                events.push_back(RobotEvent::Blended(before.number, number));
                events.push_back(RobotEvent::Finished(before.number));
            }
            None => events.push_back(RobotEvent::Started(number)),
        }
        self.worked = 0.0;
        if let Some(first) = self.sent.front_mut() {
            first.started = true;
        }
        true
    }

    /// The robot has driven a move, or as far as its blend. False if it has no such move.
    pub(super) fn done(&mut self, id: u32, events: &mut VecDeque<RobotEvent>) -> bool {
        let Some(sent) =
            self.sent.front_mut().filter(|sent| sent.started && sent.number % NUMBERS == u64::from(id))
        else {
            return false;
        };
        if sent.blends {
            sent.passing = true;
        } else {
            events.push_back(RobotEvent::Finished(sent.number));
            self.sent.pop_front();
        }
        self.worked = 0.0;
        true
    }

    /// The robot has worked for so many seconds at full speed. The number of the move that takes too long, and what was
    /// planned for it.
    pub(super) fn worked(&mut self, seconds: f64) -> Option<(u64, f64)> {
        let first = self.sent.front()?;
        self.worked += seconds;
        let (factor, more) = PATIENCE;
        (self.worked > factor * first.planned + more).then_some((first.number, first.planned))
    }
}
