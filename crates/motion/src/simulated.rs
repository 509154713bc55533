//! A robot that plans and executes what it is told, and is where it should be at any time asked.

use std::{collections::VecDeque, time::Duration};

use rosless_arm::{Joints, Robot};

use crate::{
    handshake::{CommandInterfaces, ExecutionState, Hardware, RobotEvent, StateInterfaces},
    primitive::{Command, Primitive},
    segment::{Blended, JointState, MotionLimits, PlanError, Segment},
    timeline::{Passed, Timeline},
};

/// Segments the robot has at a time, the one that runs and the one it may blend into: more would only delay a refusal.
const LOOK_AHEAD: usize = 2;

/// Every joint slows down at its limit: the shortest way to a standstill, and never further than the planned motion
/// would have gone.
#[derive(Debug, Clone, Copy)]
struct Braking {
    from: JointState,
    since: Duration,
}

impl Braking {
    fn at(&self, robot: &Robot, now: Duration) -> JointState {
        let t = now.saturating_sub(self.since).as_secs_f64();
        let mut state = self.from;
        for (i, limit) in robot.limits.0.iter().enumerate() {
            let speed = self.from.velocity[i];
            let stop = speed.abs() / limit.acceleration;
            let braking = t.min(stop);
            let deceleration = -limit.acceleration * speed.signum();
            state.position[i] += speed * braking + deceleration * braking * braking / 2.0;
            let moving = t < stop;
            state.velocity[i] = if moving { speed + deceleration * t } else { 0.0 };
            state.acceleration[i] = if moving { deceleration } else { 0.0 };
        }
        state
    }

    fn end(&self, robot: &Robot) -> Duration {
        let seconds = robot
            .limits
            .0
            .iter()
            .zip(self.from.velocity.iter())
            .map(|(limit, v)| v.abs() / limit.acceleration);
        self.since + Duration::from_secs_f64(seconds.fold(0.0, f64::max))
    }
}

/// A robot behind the [`Hardware`] handshake. Singles with a blend radius blend into the next one if it comes in time.
#[derive(Debug)]
pub struct SimulatedRobot {
    robot: Robot,
    hand: MotionLimits,
    look_ahead_blending: bool,
    status: ExecutionState,
    timeline: Timeline,
    braking: Option<Braking>,
    /// Primitives since SEQUENCE_START.
    building: Option<Vec<(u64, Primitive)>>,
    /// A command that failed to plan while an earlier one still moves.
    failed: Option<(u64, String)>,
    taken: u64,
    events: VecDeque<RobotEvent>,
}

impl SimulatedRobot {
    pub fn new(robot: Robot, hand: MotionLimits, joints: Joints) -> Self {
        Self {
            robot,
            hand,
            look_ahead_blending: true,
            status: ExecutionState::Idle,
            timeline: Timeline::resting_at(joints),
            braking: None,
            building: None,
            failed: None,
            taken: 0,
            events: VecDeque::with_capacity(64),
        }
    }

    /// Whether single primitives blend when the next one is there in time.
    pub fn set_look_ahead_blending(&mut self, on: bool) {
        self.look_ahead_blending = on;
    }

    pub fn robot(&self) -> &Robot {
        &self.robot
    }

    /// Joint angles, speeds and accelerations at `now`.
    pub fn joints(&self, now: Duration) -> JointState {
        match &self.braking {
            Some(braking) => braking.at(&self.robot, now),
            None => self.timeline.at(now),
        }
    }

    fn single(&mut self, id: u64, primitive: &Primitive, now: Duration) {
        let only_if_blending = |radius: f64| if self.look_ahead_blending { radius } else { 0.0 };
        let ends = Blended {
            start: only_if_blending(self.timeline.open_radius(now)),
            end: only_if_blending(primitive.blend_radius),
        };
        let blend = ends.start > 0.0;
        let start = self.timeline.end_joints();
        match Segment::plan(&self.robot, &self.hand, &start, primitive, ends) {
            Ok(segment) => self.place(id, segment, blend, now),
            Err(error) => self.fail(id, error.to_string()),
        }
    }

    fn place(&mut self, id: u64, segment: Segment, blend: bool, now: Duration) {
        if segment.speed_share() < 1.0 {
            let percent = 100.0 * segment.speed_share();
            self.events
                .push_back(RobotEvent::Note(id, format!("slowed to {percent:.0} % by the joint limits")));
        }
        self.timeline.push(&self.robot, id, segment, blend, now);
        self.status = ExecutionState::Executing;
    }

    /// The whole sequence is planned before any of it moves.
    fn sequence(&mut self, end_id: u64, primitives: &[(u64, Primitive)], now: Duration) {
        let mut start = self.timeline.end_joints();
        let mut segments = Vec::with_capacity(primitives.len());
        for (i, (id, primitive)) in primitives.iter().enumerate() {
            let before = i.checked_sub(1).map_or(0.0, |before| primitives[before].1.blend_radius);
            let ends = Blended { start: before, end: primitive.blend_radius };
            let planned = Segment::plan(&self.robot, &self.hand, &start, primitive, ends)
                .and_then(|segment| blend_fits(&segment, before, primitive.blend_radius).map(|()| segment));
            match planned {
                Ok(segment) => {
                    start = segment.end();
                    segments.push((*id, segment));
                }
                Err(error) => return self.fail(*id, format!("primitive {i} of the sequence: {error}")),
            }
        }
        if segments.is_empty() {
            return self.fail(end_id, "the sequence is empty".into());
        }
        for (i, (id, segment)) in segments.into_iter().enumerate() {
            self.place(id, segment, i > 0, now);
        }
    }

    fn fail(&mut self, id: u64, reason: String) {
        self.failed = Some((id, reason));
    }

    fn stop(&mut self, now: Duration) {
        self.building = None;
        self.failed = None;
        // A second STOP while braking must not start over.
        if self.braking.is_none() {
            self.braking = Some(Braking { from: self.joints(now), since: now });
        }
        self.status = ExecutionState::Stopping;
    }

    fn reset(&mut self, now: Duration) {
        if self.status == ExecutionState::Stopped {
            self.timeline = Timeline::resting_at(self.joints(now).position);
            self.braking = None;
            self.status = ExecutionState::Idle;
        }
    }

    fn ready(&self) -> bool {
        let stopped =
            matches!(self.status, ExecutionState::Error | ExecutionState::Stopping | ExecutionState::Stopped);
        let blends = self.look_ahead_blending && self.timeline.last_radius() > 0.0;
        let room = self.timeline.is_empty() || (blends && self.timeline.len() < LOOK_AHEAD);
        !stopped && self.failed.is_none() && room
    }
}

/// Two blends on one move must leave something of it between them.
fn blend_fits(segment: &Segment, before: f64, radius: f64) -> Result<(), PlanError> {
    let length = segment.hand_length();
    if before > length {
        return Err(PlanError::BlendAfter { radius: before, length });
    }
    if before + radius > length && radius > 0.0 {
        return Err(PlanError::BlendBefore { radius, length });
    }
    Ok(())
}

impl Hardware for SimulatedRobot {
    fn write(&mut self, commands: &mut CommandInterfaces, now: Duration) {
        let Some(command) = commands.take() else { return };
        let id = self.taken;
        self.taken += 1;
        match (command, self.status) {
            (Ok(Command::Stop), _) => self.stop(now),
            (Ok(Command::ResetStop), _) => self.reset(now),
            (_, ExecutionState::Error | ExecutionState::Stopping | ExecutionState::Stopped) => {}
            (Ok(Command::SequenceStart), _) => self.building = Some(Vec::new()),
            (Ok(Command::SequenceEnd), _) => match self.building.take() {
                Some(primitives) => self.sequence(id, &primitives, now),
                None => self.fail(id, "sequence end without a start".into()),
            },
            (Ok(Command::Move(primitive)), _) => match &mut self.building {
                Some(primitives) => primitives.push((id, primitive)),
                None => self.single(id, &primitive, now),
            },
            (Err(missing), _) => self.fail(id, format!("command value {missing} is missing")),
        }
    }

    fn read(&mut self, now: Duration) -> StateInterfaces {
        if let Some(braking) = &self.braking {
            if self.status == ExecutionState::Stopping && now >= braking.end(&self.robot) {
                self.timeline = Timeline::resting_at(braking.at(&self.robot, now).position);
                self.status = ExecutionState::Stopped;
            }
        } else {
            while let Some(passed) = self.timeline.pass(now) {
                self.events.push_back(match passed {
                    Passed::Started(id) => RobotEvent::Started(id),
                    Passed::Blended(from, to) => RobotEvent::Blended(from, to),
                    Passed::Finished(id) => RobotEvent::Finished(id),
                });
            }
            if self.timeline.is_empty() {
                if self.status == ExecutionState::Executing {
                    self.status = ExecutionState::Success;
                }
                if let Some((id, reason)) = self.failed.take() {
                    self.events.push_back(RobotEvent::Failed(id, reason));
                    self.status = ExecutionState::Error;
                }
            }
        }
        StateInterfaces { status: self.status, ready: self.ready() }
    }

    fn poll_event(&mut self) -> Option<RobotEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::Timing;
    use crate::segment::tests::{limits, lin, moved, ptp, ready, robot};

    const CYCLE: Duration = Duration::from_millis(2);

    struct Bench {
        robot: SimulatedRobot,
        now: Duration,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                robot: SimulatedRobot::new(robot(), MotionLimits::default(), ready()),
                now: Duration::ZERO,
            }
        }

        fn send(&mut self, command: Command) {
            let mut interfaces = CommandInterfaces::default();
            interfaces.set(&command);
            self.robot.write(&mut interfaces, self.now);
            assert!(!interfaces.is_set(), "the robot takes the command");
        }

        fn step(&mut self) -> StateInterfaces {
            self.now += CYCLE;
            self.robot.read(self.now)
        }

        fn run_until(&mut self, status: ExecutionState) {
            for _ in 0..20_000 {
                if self.step().status == status {
                    return;
                }
            }
            panic!("never {status:?}, still {:?}", self.robot.status);
        }

        fn events(&mut self) -> Vec<RobotEvent> {
            std::iter::from_fn(|| self.robot.poll_event()).collect()
        }
    }

    fn near() -> Joints {
        ready() + Joints::new(0.3, 0.1, -0.2, 0.0, 0.1, 0.2)
    }

    fn go(target: Joints, blend_radius: f64) -> Command {
        Command::Move(Primitive { blend_radius, ..ptp(target, limits(1.0, 4.0)) })
    }

    #[test]
    fn a_single_primitive_goes_from_idle_over_executing_to_success() {
        let mut bench = Bench::new();
        assert_eq!(bench.step(), StateInterfaces { status: ExecutionState::Idle, ready: true });
        bench.send(go(near(), 0.0));
        assert_eq!(bench.step().status, ExecutionState::Executing);
        bench.run_until(ExecutionState::Success);
        assert!((bench.robot.joints(bench.now).position - near()).amax() < 1e-9);
        assert_eq!(bench.events(), [RobotEvent::Started(0), RobotEvent::Finished(0)]);
    }

    #[test]
    fn a_streamed_primitive_blends_only_with_a_radius() {
        for (radius, blends) in [(0.03, true), (0.0, false)] {
            let mut bench = Bench::new();
            bench.send(go(near(), radius));
            bench.step();
            bench.send(go(ready(), 0.0));
            bench.run_until(ExecutionState::Success);
            let events = bench.events();
            assert_eq!(events.contains(&RobotEvent::Blended(0, 1)), blends, "{events:?}");
        }
    }

    #[test]
    fn it_is_ready_for_a_second_only_to_blend_into_it() {
        for (radius, look_ahead, ready_for_another) in
            [(0.03, true, true), (0.0, true, false), (0.03, false, false)]
        {
            let mut bench = Bench::new();
            bench.robot.set_look_ahead_blending(look_ahead);
            bench.send(go(near(), radius));
            assert_eq!(bench.step().ready, ready_for_another, "radius {radius}, look-ahead {look_ahead}");
            bench.run_until(ExecutionState::Success);
            assert!(bench.step().ready);
        }
    }

    #[test]
    fn a_move_to_where_it_is_is_seen_to_run() {
        let mut bench = Bench::new();
        bench.step();
        bench.send(go(ready(), 0.0));
        assert_eq!(bench.robot.read(bench.now).status, ExecutionState::Executing);
        assert_eq!(bench.step().status, ExecutionState::Success);
        assert_eq!(bench.events(), [RobotEvent::Started(0), RobotEvent::Finished(0)]);

        bench.send(Command::Move(ptp(ready(), Timing::MoveTime(1.0))));
        let begin = bench.now;
        bench.run_until(ExecutionState::Success);
        assert_eq!(bench.now - begin, Duration::from_secs(1));
    }

    #[test]
    fn stop_brakes_inside_the_limits_and_nothing_follows() {
        let mut bench = Bench::new();
        bench.send(Command::SequenceStart);
        bench.send(go(near(), 0.02));
        bench.send(go(ready(), 0.0));
        bench.send(Command::SequenceEnd);
        for _ in 0..100 {
            bench.step();
        }
        let before = bench.robot.joints(bench.now);
        assert!(before.velocity.amax() > 0.1, "moving");
        bench.send(Command::Stop);
        let mut last = before;
        while bench.step().status != ExecutionState::Stopped {
            let state = bench.robot.joints(bench.now);
            assert!(state.acceleration.amax() <= 15.0 + 1e-9);
            assert!((state.position - last.position).amax() <= 3.0 * CYCLE.as_secs_f64() + 1e-9);
            last = state;
        }
        let rest = bench.robot.joints(bench.now);
        assert_eq!(rest.velocity.amax(), 0.0);
        bench.send(go(near(), 0.0));
        for _ in 0..200 {
            assert_eq!(bench.step(), StateInterfaces { status: ExecutionState::Stopped, ready: false });
        }
        assert_eq!(bench.robot.joints(bench.now).position, rest.position);
        bench.send(Command::ResetStop);
        assert_eq!(bench.step(), StateInterfaces { status: ExecutionState::Idle, ready: true });
        bench.send(go(near(), 0.0));
        bench.run_until(ExecutionState::Success);
    }

    #[test]
    fn an_unreachable_target_is_an_error_and_stop_recovers() {
        let mut bench = Bench::new();
        bench.send(Command::Move(lin(moved(&robot().forward(&ready()), [3.0, 0.0, 0.0]), limits(0.1, 1.0))));
        bench.run_until(ExecutionState::Error);
        let events = bench.events();
        assert!(
            matches!(&events[..], [RobotEvent::Failed(0, reason)] if reason.contains("cannot be reached")),
            "{events:?}"
        );
        assert!(!bench.step().ready);
        bench.send(Command::Stop);
        bench.run_until(ExecutionState::Stopped);
        bench.send(Command::ResetStop);
        bench.send(go(near(), 0.0));
        bench.run_until(ExecutionState::Success);
    }

    #[test]
    fn a_sequence_that_cannot_be_done_does_not_begin() {
        let mut bench = Bench::new();
        let before = bench.robot.joints(bench.now).position;
        bench.send(Command::SequenceStart);
        bench.send(go(near(), 5.0));
        bench.send(go(ready(), 0.0));
        bench.send(Command::SequenceEnd);
        bench.run_until(ExecutionState::Error);
        assert_eq!(bench.robot.joints(bench.now).position, before);
        let events = bench.events();
        assert!(
            matches!(&events[..], [RobotEvent::Failed(1, reason)] if reason.contains("blend_radius 5 m")),
            "{events:?}"
        );
    }
}
