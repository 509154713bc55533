//! A motion from standstill to standstill, while it is driven: extended, stopped, slowed down.

use rosless_kinematics::Joints;

use crate::{
    carrier::NO_WAY,
    law::{Along, Law, Section},
    limits::SHARES,
    path::{Body, Joined, Path, Piece},
    plan::{JointState, PlanError, Planner},
    primitive::{LONGEST, Primitive, Timing},
};

/// A hand slowed to less than this share of what was asked for is at a singularity.
const SLOWEST_SHARE: f64 = 0.02;
/// A slowdown that is worth a word.
const NOTED_SHARE: f64 = 0.97;
/// Rounds in which the moves of one motion are brought to the times asked for.
const TIMING_ROUNDS: usize = 5;

/// What happened on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// The first move of a motion begins.
    Started(u64),
    /// Blended over into the second before the first was at its target.
    Blended(u64, u64),
    /// At its target, or past the blend that stands for it.
    Finished(u64),
}

/// A motion from standstill to standstill through one or several moves.
#[derive(Debug, Clone)]
pub struct Run {
    path: Path,
    law: Law,
    /// Where the sections begin.
    from: f64,
    sections: Vec<Section>,
    /// What is told at which place; all is told when the end is reached.
    marks: Vec<(f64, Passed)>,
    told: usize,
    /// The radius within which the next move may be joined.
    radius: f64,
    /// The share of the speed it was planned for.
    pace: f64,
}

impl Run {
    pub(crate) fn new(
        planner: &Planner,
        mut path: Path,
        pace: f64,
        notes: &mut Vec<(u64, String)>,
    ) -> Result<Self, PlanError> {
        path.sample(&planner.robot, &planner.bounds());
        planner.keeps_out(&path, 0.0)?;
        let (law, sections) = timed(planner, &mut path, pace, notes)?;
        // Written so that NaN is too long as well.
        if !(0.0..=LONGEST).contains(&law.end()) {
            return Err(PlanError::TooLong(law.end()));
        }
        for piece in path.pieces.iter().filter(|piece| !piece.is_blend && piece.move_time.is_none()) {
            let share = piece.worst_share(SHARES[0]);
            if piece.is_cartesian() && share < SLOWEST_SHARE {
                return Err(PlanError::TooSlow { share: 100.0 * share });
            }
            if share < NOTED_SHARE {
                let percent = 100.0 * share;
                notes.push((
                    piece.id,
                    format!("slows to {percent:.0} % of the wanted speed where joints or hand allow no more"),
                ));
            }
        }
        let mut run = Self { path, law, from: 0.0, sections, marks: Vec::new(), told: 0, radius: 0.0, pace };
        run.mark(0);
        Ok(run)
    }

    /// Stays where it is.
    pub(crate) fn dwell(joints: Joints, id: u64, primitive: &Primitive) -> Self {
        let seconds = match primitive.timing {
            Timing::MoveTime(seconds) => seconds,
            Timing::Limits { .. } => 0.0,
        };
        Self {
            path: Path::from(joints),
            law: Law::standstill(0.0, seconds),
            from: 0.0,
            sections: Vec::new(),
            marks: vec![(0.0, Passed::Started(id)), (0.0, Passed::Finished(id))],
            told: 0,
            radius: 0.0,
            pace: 1.0,
        }
    }

    /// Writes down what is told where, from piece `first` on.
    fn mark(&mut self, first: usize) {
        for (i, piece) in self.path.pieces.iter().enumerate().skip(first) {
            if piece.is_blend {
                let before = self.path.pieces[i - 1].id;
                self.marks.push((piece.start, Passed::Blended(before, piece.id)));
                self.marks.push((piece.start + piece.length, Passed::Finished(before)));
            } else if i == 0 {
                self.marks.push((f64::NEG_INFINITY, Passed::Started(piece.id)));
            }
        }
        if let Some(last) = self.path.pieces.last() {
            self.marks.push((self.path.end(), Passed::Finished(last.id)));
        }
    }

    /// Seconds from its beginning to its end, as planned now.
    pub fn duration(&self) -> f64 {
        self.law.end()
    }

    /// Where it ends.
    pub fn end(&self) -> Joints {
        self.path.end_joints()
    }

    /// The joints `t` seconds after its beginning.
    pub fn at(&self, t: f64) -> JointState {
        let along = self.law.at(t);
        let point = self.path.at(along.s);
        JointState {
            position: point.joints,
            velocity: point.slope * along.speed,
            acceleration: point.bend * (along.speed * along.speed) + point.slope * along.acceleration,
        }
    }

    /// The moves in it with the seconds at which they begin and end (in the middle of a blend).
    pub fn times(&self) -> Vec<(u64, f64, f64)> {
        let mut times: Vec<(u64, f64, f64)> = Vec::new();
        for piece in &self.path.pieces {
            if piece.is_blend {
                let middle = self.law.time_at(piece.start + piece.length / 2.0);
                if let Some(last) = times.last_mut() {
                    last.2 = middle;
                }
                times.push((piece.id, middle, self.law.end()));
            } else if times.is_empty() {
                times.push((piece.id, 0.0, self.law.end()));
            }
        }
        if let (true, Some((_, Passed::Started(id)))) = (times.is_empty(), self.marks.first()) {
            times.push((*id, 0.0, self.law.end()));
        }
        times
    }

    /// Whether the place at `t` is inside a blend.
    pub fn is_blending(&self, t: f64) -> bool {
        self.path.piece_at(self.law.at(t).s).is_some_and(|piece| piece.is_blend)
    }

    /// The next thing that has happened by `t` and was not told.
    pub fn pass(&mut self, t: f64) -> Option<Passed> {
        let (place, passed) = *self.marks.get(self.told)?;
        let is_last = self.told + 1 == self.marks.len();
        let here = self.law.at(t).s;
        let reached = here >= place - NO_WAY && (!is_last || t >= self.law.end());
        reached.then(|| {
            self.told += 1;
            passed
        })
    }

    /// Whether everything has happened.
    pub fn is_over(&self) -> bool {
        self.told == self.marks.len()
    }

    pub(crate) fn set_radius(&mut self, radius: f64) {
        self.radius = radius;
    }

    /// The radius within which the next move may be joined.
    pub fn open_radius(&self) -> f64 {
        self.radius
    }

    /// The share of the speed it was planned for.
    pub fn pace(&self) -> f64 {
        self.pace
    }

    /// Goes on into `primitive` without a stop, if there is still time and room for a blend: false if not. What has been
    /// driven by `t` stays as it was.
    ///
    /// # Errors
    /// When the primitive itself is impossible.
    pub fn extend(
        &mut self,
        planner: &Planner,
        id: u64,
        primitive: &Primitive,
        t: f64,
    ) -> Result<bool, PlanError> {
        if self.radius <= 0.0 || self.is_over() || self.path.pieces.is_empty() {
            return Ok(false);
        }
        // The sooner the new plan begins, the more room it has: speeding up ends at once, slowing down is waited for.
        let now = self.law.at(t);
        let eased = self.law.eased(t, self.section_at(now.s).0.jerk).filter(|_| t < self.law.end());
        let (before, even, from) = match eased {
            Some(eased) if now.acceleration > 0.0 => {
                let from = (eased.last(), eased.end_speed());
                let even = eased.end();
                (eased, even, from)
            }
            Some(_) if now.speed > 0.0 => (self.law.clone(), t, (now.s, now.speed)),
            _ => match self.law.next_even(t) {
                Some(even) => {
                    let then = self.law.at(even);
                    (self.law.clone(), even, (then.s, then.speed))
                }
                None => return Ok(false),
            },
        };
        let body = Body::new(&planner.robot, &self.path.end_joints(), primitive, self.path.pace())?;
        if body.length() < NO_WAY {
            return Ok(false);
        }
        let mut path = self.path.clone();
        let pieces = path.pieces.len();
        if !matches!(
            path.join(&planner.robot, &planner.hand, id, body, self.radius, from.0),
            Joined::Smoothly { .. }
        ) {
            return Ok(false);
        }
        path.sample(&planner.robot, &planner.bounds());
        planner.keeps_out(&path, from.0)?;
        let Some((law, sections)) = planner.law(&path, from.0, from.1, self.pace) else { return Ok(false) };
        if law.end().is_nan() || law.end() > LONGEST {
            return Err(PlanError::TooLong(law.end()));
        }
        let law = before.then(even, &law);
        if !planner.allows(&path, &law, t) {
            return Ok(false);
        }
        self.law = law;
        (self.path, self.sections, self.from) = (path, sections, from.0);
        // The old end is none any more.
        self.marks.pop();
        self.mark(pieces);
        self.radius = primitive.blend_radius;
        Ok(true)
    }

    /// Forgets what has been driven by `t`, so that a motion that is extended again and again does not grow.
    pub fn forget(&mut self, t: f64) {
        let here = self.law.at(t).s;
        self.path.forget_before(here);
        self.law.forget(t);
        self.marks.drain(..self.told);
        self.told = 0;
    }

    /// The limits at `s` itself, and where they end.
    fn section_at(&self, s: f64) -> (Section, f64) {
        let mut end = self.from;
        let here = self.sections.iter().find(|section| {
            end += section.length;
            end > s + NO_WAY
        });
        let still = Section { length: 0.0, velocity: 0.0, acceleration: 1.0, jerk: 1.0 };
        (here.or(self.sections.last()).copied().unwrap_or(still), end)
    }

    /// The law that brakes from `t` on without leaving the section it is in then.
    fn braked(&self, t: f64) -> Option<Law> {
        let now = self.law.at(t);
        let (section, end) = self.section_at(now.s);
        let stopped = if now.acceleration > 1e-9 {
            let eased = self.law.eased(t, section.jerk)?;
            let at = Along { s: eased.last(), speed: eased.end_speed(), ..Along::default() };
            let begin = eased.end();
            eased.then(begin, &Law::braking(&at, &section)?)
        } else {
            self.law.clone().then(t, &Law::braking(&now, &section)?)
        };
        (stopped.last() <= end + NO_WAY).then_some(stopped)
    }

    /// Brakes along its path from `t` on: at once if it comes to a stand before other limits begin, else as soon as it does
    /// after that. Where it is ending already, it ends.
    pub fn stop(&mut self, t: f64) {
        if t >= self.law.end() {
            return;
        }
        let mut at = t;
        loop {
            if let Some(stopped) = self.braked(at) {
                self.law = stopped;
                return;
            }
            let (_, border) = self.section_at(self.law.at(at).s);
            let next = self.law.time_at(border);
            if border >= self.path.end() - NO_WAY || next <= at {
                return;
            }
            at = next;
        }
    }

    /// Whether it stands at `t`, at its end or where it was stopped.
    pub fn stands(&self, t: f64) -> bool {
        t >= self.law.end()
    }

    /// Goes on at `pace` from where it is at `t`; false when that has to wait because it is slowing down.
    pub fn set_pace(&mut self, planner: &Planner, t: f64, pace: f64) -> bool {
        let now = self.law.at(t);
        if self.path.pieces.is_empty() || now.s >= self.path.end() - NO_WAY {
            self.pace = pace;
            return true;
        }
        let Some(eased) = self.law.eased(t, self.section_at(now.s).0.jerk) else { return false };
        let (at, speed, s) = if now.acceleration.abs() > 1e-9 {
            (eased.end(), eased.end_speed(), eased.last())
        } else {
            (t, now.speed, now.s)
        };
        let Some((law, sections)) = planner.law(&self.path, s, speed, pace) else { return false };
        self.law = eased.then(at, &law);
        (self.sections, self.from, self.pace) = (sections, s, pace);
        true
    }
}

/// The law of a path whose moves may have been given their times.
fn timed(
    planner: &Planner,
    path: &mut Path,
    pace: f64,
    notes: &mut Vec<(u64, String)>,
) -> Result<(Law, Vec<Section>), PlanError> {
    let fastest = |path: &Path| planner.law(path, 0.0, 0.0, pace).ok_or(PlanError::TooLong(f64::INFINITY));
    if let [only] = &mut path.pieces[..]
        && let Some(asked) = only.move_time
    {
        let asked = asked / pace;
        let mut found = fastest(path)?;
        if found.0.end() > asked {
            path.pieces[0].nominal.velocity = f64::INFINITY;
            found = fastest(path)?;
        }
        let needed = found.0.end();
        if needed > asked * (1.0 + 1e-9) {
            return Err(PlanError::MoveTime { asked, needed });
        }
        return Ok((found.0.stretched((asked / needed).max(1.0)), found.1));
    }
    let mut found = fastest(path)?;
    if path.pieces.iter().all(|piece| piece.move_time.is_none()) {
        return Ok(found);
    }
    let share = |law: &Law, path: &Path, i: usize| {
        let middle = |piece: Option<&Piece>, otherwise: f64| {
            piece.map_or(otherwise, |piece| law.time_at(piece.start + piece.length / 2.0))
        };
        middle(path.pieces.get(i + 1), law.end()) - middle(i.checked_sub(1).map(|i| &path.pieces[i]), 0.0)
    };
    for _ in 0..TIMING_ROUNDS {
        let mut changed = false;
        for i in 0..path.pieces.len() {
            let Some(asked) = path.pieces[i].move_time else { continue };
            let ratio = share(&found.0, path, i) / (asked / pace);
            if (ratio - 1.0).abs() > 2e-3 {
                path.pieces[i].nominal.velocity *= ratio.clamp(0.3, 4.0);
                changed = true;
            }
        }
        if !changed {
            break;
        }
        found = fastest(path)?;
    }
    for i in 0..path.pieces.len() {
        let Some(asked) = path.pieces[i].move_time.map(|asked| asked / pace) else { continue };
        let takes = share(&found.0, path, i);
        if takes > asked * 1.02 {
            notes.push((
                path.pieces[i].id,
                format!("takes {takes:.3} s of the blended motion instead of {asked:.3} s"),
            ));
        }
    }
    Ok(found)
}
