//! Which throws can be caught at all: a bound that knows nothing of how the planner searches.
//!
//! A catch needs an instant of the flight and six joint angles and speeds which the joints can have by then, with the
//! ball inside the catch box, coming in within the judge's cones, and the arm clear of the floor and of itself.
//! All instants and angles together are a box in seven dimensions. The box is halved again and again; a part is struck
//! out when no point of it can be a catch, by what its middle is like and how much that can change within the part
//! (first derivatives with a bound on the second ones). What is struck out is proven. When nothing is left, **no arm with these
//! limits can catch the ball**, however it is planned; when the middle of some part is a catch, one exists.
//!
//! Left out, and in the arm's favour: what happens before and after that instant, apart from the joints' limits of speed
//! and acceleration. So a catch that exists at its instant may still have no way there or away that is clear of the floor.

use std::{cmp::Ordering, collections::BinaryHeap};

use nalgebra::Vector3;

use crate::{
    Ball, GRAVITY, Joints, Links, Move, Robot, Waypoint,
    clearance::{FINGERTIPS, Gaps},
    judge::{ALONG_APPROACH, ALONG_FINGERS, CATCH_BOX, judge},
    kinematics::Chain,
    profile::Reach,
};

/// What is known of a throw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Feasibility {
    /// A catch exists: then, with these angles and speeds.
    Possible {
        /// Seconds after the release.
        flight: f64,
        /// Angles at that instant.
        angles: Joints,
        /// Speeds at that instant.
        speeds: Joints,
    },
    /// Proven: there is none.
    Impossible(Obstacle),
    /// Neither was found within the effort. Such throws count as possible.
    Open,
}

impl Feasibility {
    /// Nothing proves that it cannot be caught.
    pub fn possible(&self) -> bool {
        !matches!(self, Self::Impossible(_))
    }
}

/// The weakest demand that no instant of the flight meets, each together with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// The ball never is where a hand can be.
    OutOfReach,
    /// The hand can be there, but not in time at these limits.
    TooLate,
    /// Only with the arm in the floor or in itself.
    NoRoom,
    /// Only with the ball coming in across the hand or from the fingertips.
    WrongWay,
}

impl Obstacle {
    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfReach => "out of reach",
            Self::TooLate => "too late at these limits",
            Self::NoRoom => "only through the floor or the arm itself",
            Self::WrongWay => "only across the hand or from the fingertips",
        }
    }
}

/// An arm at rest and a ball.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The arm.
    pub robot: &'a Robot,
    /// Its posture, at rest.
    pub angles: Joints,
    /// Seconds after the release when it can set off.
    pub sets_off: f64,
    /// The ball.
    pub ball: Ball,
}

/// A part of all instants and angles: the middle and half the width in each dimension.
#[derive(Debug, Clone, Copy)]
struct Part {
    flight: f64,
    half: f64,
    angles: Joints,
    halves: Joints,
    /// How far its middle is from a catch, m, and a little for its size: small parts come first.
    off: f64,
    /// Where to halve it next.
    cut: Cut,
}

#[derive(Debug, Clone, Copy)]
enum Cut {
    Flight,
    Joint(usize),
}

/// The most promising part is looked at first.
impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        other.off.total_cmp(&self.off)
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

/// What a catch has to meet; each includes the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Demands {
    Position,
    InTime,
    Clear,
    All,
}

/// The wrist's place is settled to this much (m) before the hand's attitude is taken apart. Where the arm hardly gets there
/// a small one is quicker, where the hand hardly turns in time a large one: each gets half of the effort.
const PLACED: [f64; 2] = [0.4, 0.05];
/// So many planes of the judge's cone are tried.
const PLANES: u32 = 3;
/// So many parts are looked at in the order of their promise.
const PROMISING: u32 = 20_000;
/// The flight is taken apart into slices of this length first, s.
const SLICE: f64 = 0.02;

enum Found {
    Catch(Part, Joints),
    Nothing,
    TooMuch,
}

/// What is left of a part, seen from its middle.
#[derive(Debug, Clone, Copy)]
struct Left {
    low: Joints,
    high: Joints,
    flight: (f64, f64),
}

impl Left {
    fn of(part: &Part) -> Self {
        Self { low: -part.halves, high: part.halves, flight: (-part.half, part.half) }
    }

    /// Cuts away where something that must not be above 0 is: it is `value` in the middle, changes by `slope` with each
    /// joint and by `drift` with the time, and by `unknown` at the most for all other reasons. `None`: nothing is left.
    fn cut(mut self, value: f64, slope: &Joints, drift: f64, unknown: f64) -> Option<Self> {
        let least = |slope: f64, low: f64, high: f64| (slope * low).min(slope * high);
        let mut sum = value - unknown + least(drift, self.flight.0, self.flight.1);
        (0..6).for_each(|i| sum += least(slope[i], self.low[i], self.high[i]));
        if sum > 0.0 {
            return None;
        }
        // What one of them may be when all others do their best.
        let cut = |slope: f64, low: &mut f64, high: &mut f64| {
            if slope.abs() > 1e-9 {
                let bound = (least(slope, *low, *high) - sum) / slope;
                if slope > 0.0 { *high = high.min(bound) } else { *low = low.max(bound) }
            }
        };
        (0..6).for_each(|i| cut(slope[i], &mut self.low[i], &mut self.high[i]));
        cut(drift, &mut self.flight.0, &mut self.flight.1);
        Some(self)
    }

    /// What is left in one or the other.
    fn or(&self, other: &Self) -> Self {
        Self {
            low: self.low.inf(&other.low),
            high: self.high.sup(&other.high),
            flight: (self.flight.0.min(other.flight.0), self.flight.1.max(other.flight.1)),
        }
    }

    fn apply(&self, part: &Part) -> Part {
        let (low, high) = self.flight;
        Part {
            angles: part.angles + (self.low + self.high) / 2.0,
            halves: ((self.high - self.low) / 2.0).map(|h| h.max(0.0)),
            flight: part.flight + (low + high) / 2.0,
            half: ((high - low) / 2.0).max(0.0),
            ..*part
        }
    }
}

impl Question<'_> {
    /// Decides, looking at `effort` parts at the most.
    pub fn decide(&self, effort: u32) -> Feasibility {
        match self.search(Demands::All, effort) {
            Found::Catch(Part { flight, angles, .. }, speeds) => {
                Feasibility::Possible { flight, angles, speeds }
            }
            Found::TooMuch => Feasibility::Open,
            Found::Nothing => {
                let nothing = |demands| matches!(self.search(demands, effort), Found::Nothing);
                Feasibility::Impossible(if nothing(Demands::Position) {
                    Obstacle::OutOfReach
                } else if nothing(Demands::InTime) {
                    Obstacle::TooLate
                } else if nothing(Demands::Clear) {
                    Obstacle::NoRoom
                } else {
                    Obstacle::WrongWay
                })
            }
        }
    }

    fn search(&self, demands: Demands, effort: u32) -> Found {
        let mut answers =
            PLACED.into_iter().map(|placed| self.search_with(demands, effort.div_ceil(2), placed));
        answers.find(|found| !matches!(found, Found::TooMuch)).unwrap_or(Found::TooMuch)
    }

    fn search_with(&self, demands: Demands, effort: u32, placed: f64) -> Found {
        let (first, last) = (self.sets_off.max(0.0), self.ball.landing_time());
        if last <= first {
            return Found::Nothing;
        }
        let slices = ((last - first) / SLICE).ceil().max(1.0);
        let half = (last - first) / slices / 2.0;
        let mut parts = BinaryHeap::with_capacity(256);
        for k in 0..slices as u32 {
            let flight = first + half * f64::from(2 * k + 1);
            let halves = Joints::repeat(100.0);
            let whole = Part { flight, half, angles: self.angles, halves, off: 0.0, cut: Cut::Joint(0) };
            parts.extend(self.within_reach(whole, demands));
        }
        // The most promising parts first, as long as a catch is to be found; then one after the other, which needs no room.
        let promising = effort.min(PROMISING);
        for _ in 0..promising {
            let Some(part) = parts.pop() else { return Found::Nothing };
            for (part, caught) in self.halves(&part, demands, placed) {
                match caught {
                    Some(speeds) => return Found::Catch(part, speeds),
                    None => parts.push(part),
                }
            }
        }
        let mut parts = parts.into_vec();
        for _ in promising..effort {
            let Some(part) = parts.pop() else { return Found::Nothing };
            for (part, caught) in self.halves(&part, demands, placed) {
                match caught {
                    Some(speeds) => return Found::Catch(part, speeds),
                    None => parts.push(part),
                }
            }
        }
        if parts.is_empty() { Found::Nothing } else { Found::TooMuch }
    }

    /// What is left of a part's two halves, each with the speeds that make its middle a catch.
    fn halves(
        &self,
        part: &Part,
        demands: Demands,
        placed: f64,
    ) -> impl Iterator<Item = (Part, Option<Joints>)> {
        let halves = self.split(part).into_iter();
        halves.filter_map(move |half| self.examine(self.within_reach(half, demands)?, demands, placed))
    }

    /// Cuts away the angles that the joints cannot have by the end of the part.
    fn within_reach(&self, part: Part, demands: Demands) -> Option<Part> {
        let (mut angles, mut halves) = (part.angles, part.halves);
        let time = part.flight + part.half - self.sets_off;
        for i in 0..6 {
            let limit = &self.robot.limits.0[i];
            let (mut low, mut high) =
                ((angles[i] - halves[i]).max(limit.min), (angles[i] + halves[i]).min(limit.max));
            if demands > Demands::Position {
                let (back, forth) = Reach::new(0.0, time, limit).ways;
                (low, high) = (low.max(self.angles[i] + back), high.min(self.angles[i] + forth));
            }
            if low > high {
                return None;
            }
            (angles[i], halves[i]) = ((low + high) / 2.0, (high - low) / 2.0);
        }
        Some(Part { angles, halves, ..part })
    }

    fn split(&self, part: &Part) -> [Part; 2] {
        [-1.0, 1.0].map(|side| {
            let mut half = *part;
            match part.cut {
                Cut::Flight => {
                    half.half /= 2.0;
                    half.flight += side * half.half;
                }
                Cut::Joint(i) => {
                    half.halves[i] /= 2.0;
                    half.angles[i] += side * half.halves[i];
                }
            }
            half
        })
    }

    /// `None`: no point of the part is a catch. With speeds: its middle is one.
    fn examine(&self, mut part: Part, demands: Demands, placed: f64) -> Option<(Part, Option<Joints>)> {
        let links = &self.robot.links;
        let (h, dt) = (part.halves, part.half);
        let (ball, velocity) = self.ball.at(part.flight);
        let chain = self.robot.chain(&part.angles);
        let [_, _, elbow, wrist, ..] = chain.origins;
        let speed = velocity.norm() + GRAVITY * dt;
        let travel = speed * dt;

        // The ball is so far from the wrist, whatever the hand's attitude.
        let [width, height, depth] = CATCH_BOX;
        let farthest = width.hypot(links.hand + height).hypot(depth);
        let nearest = links.hand - height;
        let (to_elbow, to_wrist) = ((ball - elbow).norm(), (ball - wrist).norm());
        let elbow_moves = links.upper * h[0] + travel;
        if to_elbow - elbow_moves > links.fore + farthest || to_elbow + elbow_moves < links.fore - farthest {
            return None;
        }
        let wrist_moves = (links.upper + links.fore) * h[0] + links.fore * (h[1] + h[2]) + travel;
        if to_wrist - wrist_moves > farthest || to_wrist + wrist_moves < nearest {
            return None;
        }

        let swing = |i: usize| chain.axes[i].cross(&(wrist - chain.origins[i]));
        let apart = (ball - wrist) / to_wrist.max(1e-9);
        let bent = 0.5 * (links.upper + links.fore) * h[0] * (h[0] + 2.0 * (h[1] + h[2]))
            + 0.5 * links.fore * (h[1] + h[2]) * (h[1] + h[2])
            + travel * (h[0] + h[1] + h[2]);
        if to_wrist > farthest {
            // Distances are convex: along the line to the ball, the way there shrinks no faster than this.
            let slopes: f64 = (0..3).map(|i| swing(i).dot(&apart).abs() * h[i]).sum();
            let closer = slopes + apart.dot(&velocity).abs() * dt + 0.5 * GRAVITY * dt * dt + bent;
            if to_wrist - closer > farthest {
                return None;
            }
        }
        if wrist_moves > placed {
            let weigh = |i: usize| (swing(i).norm() + 0.2 * h[0].min(1.0)) * h[i];
            let joint = (0..3).max_by(|a, b| weigh(*a).total_cmp(&weigh(*b))).unwrap_or(0);
            part.cut = if travel > weigh(joint) { Cut::Flight } else { Cut::Joint(joint) };
            part.off = (to_wrist - farthest).max(nearest - to_wrist).max(0.0) + 0.02 * h.sum();
            if (0..3).all(|i| h[i] > 0.0) || travel > 0.0 {
                return Some((part, None));
            }
        }

        // The ball seen from the wrist, in the hand's frame, and how far that can change.
        let seen = chain.rotation.tr_mul(&(ball - wrist));
        let after: [f64; 6] = std::array::from_fn(|i| (i + 1..6).map(|j| h[j]).sum());
        let turn: f64 = h.iter().sum();
        let lever = |i: usize| match i {
            0 => (ball.y - links.base).hypot(ball.z) + travel,
            1 | 2 => to_elbow + elbow_moves,
            _ => to_wrist + wrist_moves,
        };
        let curved: f64 = (0..6).map(|i| 0.5 * lever(i) * h[i] * (h[i] + 2.0 * after[i])).sum();
        let unknown = curved + travel * turn + 0.5 * GRAVITY * dt * dt;
        let inside_frame = |v: Vector3<f64>| chain.rotation.tr_mul(&v);
        let slopes: [Vector3<f64>; 6] =
            std::array::from_fn(|i| -inside_frame(chain.axes[i].cross(&(ball - chain.origins[i]))));
        let flies = inside_frame(velocity);
        let from_centre = seen - Vector3::y() * links.hand;
        let outside = from_centre.abs() - Vector3::from(CATCH_BOX);
        // Along each axis of the box, and straight from the box to the ball: how far outside it is and must not be.
        let nearest = Vector3::from_fn(|k, _| from_centre[k].clamp(-CATCH_BOX[k], CATCH_BOX[k]));
        let beyond = from_centre - nearest;
        let mut left = Left::of(&part);
        let mut directions = [None; 4];
        for k in 0..3 {
            let side = Vector3::ith(k, from_centre[k].signum());
            directions[k] = Some((side, outside[k]));
        }
        directions[3] = beyond.try_normalize(1e-9).map(|way| (way, beyond.norm()));
        for (way, far) in directions.into_iter().flatten() {
            let slope = Joints::from_fn(|i, _| way.dot(&slopes[i]));
            left = left.cut(far, &slope, way.dot(&flies), unknown)?;
        }
        // Whatever leaves most open is halved next: where the ball is, or which way it comes.
        let weigh = |i: usize| {
            let curved = 0.5 * lever(i) * h[i] * (turn - after[i] + 0.0).max(after[i]);
            let slope = chain.axes[i].cross(&(ball - chain.origins[i])).norm();
            let turned = 0.1 * chain.axes[i].cross(&velocity).norm() / speed;
            (slope + turned) * h[i] + curved
        };
        let joint = (0..6).max_by(|a, b| weigh(*a).total_cmp(&weigh(*b))).unwrap_or(0);
        part.cut = if travel > weigh(joint) { Cut::Flight } else { Cut::Joint(joint) };
        part.off = outside.max();
        let inside = part.off < 0.0;
        let gaps = (demands >= Demands::Clear).then(|| chain.gaps(&part.angles));
        if let Some(gaps) = &gaps {
            if !self.room_is_left(gaps, &h) {
                return None;
            }
            part.off = gaps.iter().fold(part.off, |off, gap| off.max(-gap));
        }
        if demands < Demands::All {
            // Whether anything is left is all that is asked, and a middle that meets the demands answers it.
            let in_time = demands == Demands::Position || self.in_time(&part).is_some();
            part.off += 0.02 * turn;
            let met = inside && in_time && gaps.is_none_or(|gaps| gaps.iter().all(|gap| *gap >= 0.0));
            return Some(if met { (part, Some(Joints::zeros())) } else { (left.apply(&part), None) });
        }

        // The speeds the joints can have there, and what the ball's velocity then is, seen from the hand.
        let time = part.flight + dt - self.sets_off;
        let (mut low, mut high) = (Joints::zeros(), Joints::zeros());
        for i in 0..6 {
            let reach = Reach::new(0.0, time, &self.robot.limits.0[i]);
            let way = part.angles[i] - self.angles[i];
            low[i] = reach.speeds((way - h[i]).max(reach.ways.0)).0;
            high[i] = reach.speeds((way + h[i]).min(reach.ways.1)).1;
        }
        let levers = chain.levers().map(inside_frame);
        let approach = Approach::new(&chain, &levers, &velocity, &h, dt, (&low, &high), links);
        if !approach.is_met() {
            return None;
        }
        // It comes in along z one way or the other.
        left = match [1.0, -1.0].map(|side| approach.enters(left, side)) {
            [None, None] => return None,
            [Some(one), None] | [None, Some(one)] => one,
            [Some(one), Some(other)] => one.or(&other),
        };
        if !self.can_stop(&part, &low, &high) {
            return None;
        }
        part.off = part.off.max(0.1 * cone_missed(&approach.middle)) + 0.02 * turn;
        let clear = gaps.is_some_and(|gaps| gaps.iter().all(|gap| *gap >= 0.0));
        match (inside && clear).then(|| self.caught(&part, &levers)).flatten() {
            Some(speeds) => Some((part, Some(speeds))),
            None => Some((left.apply(&part), None)),
        }
    }

    /// Can a posture within `halves` of one that leaves these gaps touch nothing?
    fn room_is_left(&self, gaps: &Gaps, halves: &Joints) -> bool {
        let (links, h) = (&self.robot.links, halves);
        let wrist = (links.upper + links.fore) * h[0] + links.fore * (h[1] + h[2]);
        let tips = wrist + (links.hand + FINGERTIPS) * h.sum();
        let lifts = [links.upper * h[0], wrist, tips, 0.25 * h[2], 0.17 * (h[3] + h[4] + h[5])];
        (0..8).all(|k| gaps[k] + lifts.get(k).unwrap_or(&tips) >= 0.0)
    }

    /// Can the arm be clear of everything shortly afterwards? It cannot stop at once.
    fn can_stop(&self, part: &Part, low: &Joints, high: &Joints) -> bool {
        let limits = &self.robot.limits.0;
        [0.25, 0.5].into_iter().all(|share| {
            let (mut angles, mut halves) = (part.angles, part.halves);
            for i in 0..6 {
                let later = share * limits[i].velocity / limits[i].acceleration;
                angles[i] += (low[i] + high[i]) / 2.0 * later;
                halves[i] += (high[i] - low[i]) / 2.0 * later + 0.5 * limits[i].acceleration * later * later;
            }
            self.room_is_left(&self.robot.chain(&angles).gaps(&angles), &halves)
        })
    }

    /// The ranges of speed at the part's middle, if the joints can be there by then.
    fn in_time(&self, part: &Part) -> Option<[(f64, f64); 6]> {
        let mut ranges = [(0.0, 0.0); 6];
        for (i, range) in ranges.iter_mut().enumerate() {
            let reach = Reach::new(0.0, part.flight - self.sets_off, &self.robot.limits.0[i]);
            let way = part.angles[i] - self.angles[i];
            if !(reach.ways.0..=reach.ways.1).contains(&way) {
                return None;
            }
            *range = reach.speeds(way);
        }
        Some(ranges)
    }

    /// Speeds with which the part's middle is a catch, if some are found.
    fn caught(&self, part: &Part, levers: &[Vector3<f64>; 6]) -> Option<Joints> {
        let ranges = self.in_time(part)?;
        let (position, velocity) = self.ball.at(part.flight);
        let towards = |axis: usize, sign: f64| {
            Joints::from_fn(|i, _| if levers[i][axis] * sign > 0.0 { ranges[i].0 } else { ranges[i].1 })
        };
        let slow = Joints::from_fn(|i, _| 0.0_f64.clamp(ranges[i].0, ranges[i].1.max(ranges[i].0)));
        let tries =
            [slow, towards(2, 1.0), towards(2, -1.0), towards(1, 1.0), towards(0, 1.0), towards(0, -1.0)];
        tries.into_iter().find(|speeds| {
            judge(&self.robot.hand_state(&part.angles, speeds), &position, &velocity).caught() && {
                let time = part.flight - self.sets_off;
                let catch = Waypoint { angles: part.angles, speeds: *speeds, time };
                let (course, _) = Move::passing(&self.angles, &Joints::zeros(), &catch, &self.robot.limits);
                self.robot.way_is_clear(&course).is_ok()
            }
        })
    }
}

/// The ball's velocity seen from the hand, anywhere in a part: linear in angles, time and speeds, but for a little.
struct Approach {
    /// In the middle of all of them.
    middle: Vector3<f64>,
    /// How it changes with each joint's angle, with the time, and with each joint's speed (the other way round).
    turns: [Vector3<f64>; 6],
    falls: Vector3<f64>,
    levers: [Vector3<f64>; 6],
    /// How each lever changes with the angles of the joints after it.
    bends: [[Vector3<f64>; 6]; 6],
    halves: Joints,
    /// Half the range of each joint's speed.
    spread: Joints,
    /// All else, m/s.
    unknown: f64,
    half: f64,
}

impl Approach {
    fn new(
        chain: &Chain,
        levers: &[Vector3<f64>; 6],
        velocity: &Vector3<f64>,
        halves: &Joints,
        half: f64,
        (low, high): (&Joints, &Joints),
        links: &Links,
    ) -> Self {
        let inside = |v: &Vector3<f64>| chain.rotation.tr_mul(v);
        let (axes, flies) = (chain.axes.map(|axis| inside(&axis)), inside(velocity));
        let (speeds, spread) = ((low + high) / 2.0, (high - low) / 2.0);
        let mut bends = [[Vector3::zeros(); 6]; 6];
        let mut turns = axes.map(|axis| -axis.cross(&flies));
        let mut middle = flies;
        let turn = halves.sum();
        let mut unknown = 0.5 * (velocity.norm() + GRAVITY * half) * turn * turn + GRAVITY * half * turn;
        for i in 0..6 {
            middle -= levers[i] * speeds[i];
            let mut after = 0.0;
            for j in i + 1..6 {
                bends[i][j] = axes[i].cross(&levers[j]) - axes[j].cross(&levers[i]);
                turns[j] -= bends[i][j] * speeds[i];
                after += halves[j];
            }
            // A lever is made of links, which turn with the joints: no second derivative is longer than they are together.
            let arm = match i {
                0 => links.upper + links.fore + links.hand,
                1 | 2 => links.fore + links.hand,
                _ => links.hand,
            };
            unknown += 0.5 * low[i].abs().max(high[i].abs()) * arm * after * after;
        }
        let falls = -GRAVITY * inside(&Vector3::y());
        Self { middle, turns, falls, levers: *levers, bends, halves: *halves, spread, unknown, half }
    }

    /// Cuts away where the velocity along `way` is above 0.
    fn cut(&self, left: Left, way: &Vector3<f64>) -> Option<Left> {
        let slope = Joints::from_fn(|j, _| way.dot(&self.turns[j]));
        let mut unknown = way.norm() * self.unknown;
        for i in 0..6 {
            let bent: f64 = (i + 1..6).map(|j| way.dot(&self.bends[i][j]).abs() * self.halves[j]).sum();
            unknown += (way.dot(&self.levers[i]).abs() + bent) * self.spread[i];
        }
        left.cut(way.dot(&self.middle), &slope, way.dot(&self.falls), unknown)
    }

    /// What is left when the ball comes in along z (`side` 1) or against it (-1).
    fn enters(&self, left: Left, side: f64) -> Option<Left> {
        // Within the cone around z and not from the fingertips is above this plane.
        let fingers = Vector3::new(0.0, -1.0, side * ALONG_FINGERS / ALONG_APPROACH);
        let mut left = self.cut(left, &fingers)?;
        // The cone is where all of its tangent planes are met: the plane is looked for that is met least.
        let steepness = ALONG_APPROACH / (1.0 - ALONG_APPROACH * ALONG_APPROACH).sqrt();
        let mut at = self.middle;
        for step in 0..PLANES {
            let aside = Vector3::new(at.x, at.y, 0.0).try_normalize(1e-9).unwrap_or_else(Vector3::x);
            let edge = aside * steepness - Vector3::z() * side;
            left = self.cut(left, &edge)?;
            // Towards the velocity that is farthest on the good side of it.
            let mut best = self.middle;
            for i in 0..6 {
                best += self.levers[i] * (self.spread[i] * edge.dot(&self.levers[i]).signum());
                let slope = edge.dot(&self.turns[i]);
                best += self.turns[i] * if slope > 0.0 { left.low[i] } else { left.high[i] };
            }
            best -= self.falls * (self.half * edge.dot(&self.falls).signum());
            at += (best - at) * (2.0 / f64::from(step + 3));
        }
        Some(left)
    }

    /// Can it meet the judge's cones at all?
    fn is_met(&self) -> bool {
        let mut range = self.falls.abs() * self.half;
        range.add_scalar_mut(self.unknown);
        for i in 0..6 {
            range += self.turns[i].abs() * self.halves[i] + self.levers[i].abs() * self.spread[i];
            for j in i + 1..6 {
                range += self.bends[i][j].abs() * (self.spread[i] * self.halves[j]);
            }
        }
        cone_is_met(&self.middle, &range)
    }
}

/// How far a velocity is outside the judge's cones, as a share of it.
fn cone_missed(velocity: &Vector3<f64>) -> f64 {
    let way = velocity.try_normalize(1e-9).unwrap_or_else(Vector3::z);
    (ALONG_APPROACH - way.z.abs()).max(ALONG_FINGERS - way.y)
}

/// Can a velocity within `range` of `middle` meet the judge's cones?
fn cone_is_met(middle: &Vector3<f64>, range: &Vector3<f64>) -> bool {
    let least = (middle.abs() - range).map(|v| v.max(0.0));
    let most = middle.abs() + range;
    let highest = middle.y + range.y;
    let across =
        (1.0 - ALONG_APPROACH * ALONG_APPROACH).sqrt() * most.z >= ALONG_APPROACH * least.x.hypot(least.y);
    let fingers =
        (1.0 - ALONG_FINGERS * ALONG_FINGERS).sqrt() * -highest <= -ALONG_FINGERS * most.x.hypot(most.z);
    across && fingers
}
