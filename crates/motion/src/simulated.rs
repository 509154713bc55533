//! A robot that plans and executes what it is told, and is where it should be at any time asked.

use std::{collections::VecDeque, time::Duration};

use rosless_kinematics::Joints;

use crate::{
    handshake::{CommandInterfaces, ExecutionState, StateInterfaces},
    hardware::{Capabilities, Hardware, RobotEvent},
    plan::{JointState, Passed, Planner, Run},
    primitive::{Command, Primitive},
};

/// Moves the robot has at a time, the one that runs and the one it may blend into: more would only delay a refusal.
const LOOK_AHEAD: usize = 2;
/// Slower than this is a pause.
const SLOWEST: f64 = 0.01;

/// A robot behind the [`Hardware`] handshake. Singles with a blend radius blend into the next one if it comes in time.
#[derive(Debug)]
pub struct SimulatedRobot {
    planner: Planner,
    look_ahead_blending: bool,
    status: ExecutionState,
    /// What is to be driven; the first since `since`.
    runs: VecDeque<Run>,
    since: Duration,
    /// When the last command was taken: nothing ends in that instant.
    placed: Duration,
    rest: Joints,
    /// Moves taken and not finished.
    open: usize,
    /// The share of the speed that is wanted.
    speed: f64,
    paused: bool,
    stopping: bool,
    /// Primitives since SEQUENCE_START.
    building: Option<Vec<(u64, Primitive)>>,
    /// A command that failed to plan while an earlier one still moves.
    failed: Option<(u64, String)>,
    taken: u64,
    events: VecDeque<RobotEvent>,
}

impl SimulatedRobot {
    /// Standing at these joint angles.
    pub fn new(planner: Planner, joints: Joints) -> Self {
        Self {
            planner,
            look_ahead_blending: true,
            status: ExecutionState::Idle,
            runs: VecDeque::new(),
            since: Duration::ZERO,
            placed: Duration::ZERO,
            rest: joints,
            open: 0,
            speed: 1.0,
            paused: false,
            stopping: false,
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

    /// What it plans with.
    pub fn planner(&self) -> &Planner {
        &self.planner
    }

    /// Seconds of the first motion at `now`.
    fn seconds(&self, now: Duration) -> f64 {
        now.saturating_sub(self.since).as_secs_f64()
    }

    /// Where it is at `now`, whatever has been read so far.
    pub fn state_at(&self, now: Duration) -> JointState {
        let mut t = self.seconds(now);
        for (i, run) in self.runs.iter().enumerate() {
            if t < run.duration() || i + 1 == self.runs.len() || self.paused || self.stopping {
                return run.at(t);
            }
            t -= run.duration();
        }
        JointState::resting(self.rest)
    }

    /// Where the last planned motion ends.
    fn end(&self) -> Joints {
        self.runs.back().map_or(self.rest, Run::end)
    }

    fn single(&mut self, id: u64, primitive: &Primitive, now: Duration) {
        if self.look_ahead_blending && self.runs.len() == 1 && !self.paused {
            let t = self.seconds(now);
            let run = &mut self.runs[0];
            match run.extend(&self.planner, id, primitive, t) {
                Ok(true) => {
                    run.forget(t);
                    self.open += 1;
                    return;
                }
                Ok(false) => {}
                Err(error) => return self.fail(id, error.to_string()),
            }
        }
        self.sequence(id, &[(id, *primitive)], now);
    }

    /// The whole sequence is planned before any of it moves.
    fn sequence(&mut self, end_id: u64, primitives: &[(u64, Primitive)], now: Duration) {
        if primitives.is_empty() {
            return self.fail(end_id, "the sequence is empty".into());
        }
        match self.planner.plan(&self.end(), primitives, self.speed.max(SLOWEST)) {
            Ok(planned) => {
                for (id, note) in planned.notes {
                    self.events.push_back(RobotEvent::Note(id, note));
                }
                if self.runs.is_empty() {
                    self.since = now;
                }
                self.runs.extend(planned.runs);
                self.open += primitives.len();
                self.placed = now;
                self.status = ExecutionState::Executing;
                if (self.paused || self.speed < SLOWEST) && self.runs.len() == 1 {
                    self.runs[0].stop(0.0);
                }
            }
            Err((index, error)) => {
                let id = primitives[index].0;
                let text = match primitives.len() {
                    1 => error.to_string(),
                    _ => format!("primitive {index} of the sequence: {error}"),
                };
                self.fail(id, text);
            }
        }
    }

    fn fail(&mut self, id: u64, reason: String) {
        self.failed = Some((id, reason));
    }

    fn stop(&mut self, now: Duration) {
        self.building = None;
        self.failed = None;
        self.open = 0;
        self.settle(now);
        // A second STOP while braking must not start over.
        if !self.stopping {
            self.runs.truncate(1);
            let t = self.seconds(now);
            if let Some(run) = self.runs.front_mut() {
                run.stop(t);
            }
            self.stopping = true;
        }
        self.status = ExecutionState::Stopping;
    }

    fn reset(&mut self) {
        if self.status == ExecutionState::Stopped {
            self.stopping = false;
            self.paused = false;
            self.status = ExecutionState::Idle;
        }
    }

    fn ready(&self) -> bool {
        let stopped =
            matches!(self.status, ExecutionState::Error | ExecutionState::Stopping | ExecutionState::Stopped);
        let blends =
            self.look_ahead_blending && self.runs.back().is_some_and(|last| last.open_radius() > 0.0);
        let room = self.runs.is_empty() || (blends && self.open < LOOK_AHEAD && !self.paused);
        !stopped && self.failed.is_none() && room
    }

    /// Tells what has happened by `now` and forgets what is over.
    fn settle(&mut self, now: Duration) {
        while let Some(run) = self.runs.front_mut() {
            let t = now.saturating_sub(self.since).as_secs_f64();
            if !self.stopping {
                let mut told = None;
                // Nothing ends in the instant it was placed, so that whoever looks has seen that something ran.
                while (told != Some(true) || self.placed < now)
                    && let Some(passed) = run.pass(t)
                {
                    told = Some(true);
                    self.events.push_back(match passed {
                        Passed::Started(id) => RobotEvent::Started(id),
                        Passed::Blended(from, to) => RobotEvent::Blended(from, to),
                        Passed::Finished(id) => {
                            self.open = self.open.saturating_sub(1);
                            RobotEvent::Finished(id)
                        }
                    });
                }
                if run.is_over() {
                    self.since += Duration::from_secs_f64(run.duration());
                    self.rest = run.end();
                    self.runs.pop_front();
                    continue;
                }
                // A change of speed waits while the robot slows down, and a pause ends where it stands.
                let wanted = self.speed;
                if self.paused || wanted < SLOWEST {
                    return;
                }
                if run.stands(t) && t > 0.0 || run.pace() != wanted {
                    run.set_pace(&self.planner, t, wanted);
                }
            } else if run.stands(t) {
                self.rest = run.at(t).position;
                self.runs.clear();
            }
            return;
        }
    }
}

impl Hardware for SimulatedRobot {
    fn capabilities(&self) -> Capabilities {
        Capabilities { events: true, joints: true, pause: true, speed: true }
    }

    fn write(&mut self, commands: &mut CommandInterfaces, now: Duration) {
        let Some(command) = commands.take() else { return };
        let id = self.taken;
        self.taken += 1;
        match (command, self.status) {
            (Ok(Command::Stop), _) => self.stop(now),
            (Ok(Command::ResetStop), _) => self.reset(),
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
        self.settle(now);
        if self.runs.is_empty() {
            match self.status {
                ExecutionState::Stopping => self.status = ExecutionState::Stopped,
                ExecutionState::Executing => self.status = ExecutionState::Success,
                _ => {}
            }
            if !self.stopping
                && let Some((id, reason)) = self.failed.take()
            {
                self.events.push_back(RobotEvent::Failed(id, reason));
                self.status = ExecutionState::Error;
            }
        }
        StateInterfaces { status: self.status, ready: self.ready() }
    }

    fn poll_event(&mut self) -> Option<RobotEvent> {
        self.events.pop_front()
    }

    fn joints(&self, now: Duration) -> Option<JointState> {
        Some(self.state_at(now))
    }

    fn preview(&self) -> Vec<(Joints, bool)> {
        const POINTS: u32 = 100;
        let points = |run: &Run| {
            let at = |i: u32| run.duration() * f64::from(i) / f64::from(POINTS);
            (0..=POINTS).map(|i| (run.at(at(i)).position, run.is_blending(at(i)))).collect::<Vec<_>>()
        };
        self.runs.iter().flat_map(points).collect()
    }

    fn pause(&mut self, now: Duration) -> bool {
        if !self.paused {
            self.settle(now);
            self.paused = true;
            let t = self.seconds(now);
            if let Some(run) = self.runs.front_mut().filter(|_| !self.stopping) {
                run.stop(t);
            }
        }
        true
    }

    fn resume(&mut self, now: Duration) -> bool {
        self.paused = false;
        self.settle(now);
        true
    }

    fn set_speed(&mut self, share: f64, now: Duration) -> bool {
        let share = share.clamp(0.0, 1.0);
        let was_moving = self.speed >= SLOWEST;
        self.speed = share;
        let t = self.seconds(now);
        if share < SLOWEST
            && was_moving
            && let Some(run) = self.runs.front_mut().filter(|_| !self.stopping && !self.paused)
        {
            run.stop(t);
        }
        self.settle(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::Timing;
    use crate::testing::{limits, lin, moved, planner, ptp, ready};

    const CYCLE: Duration = Duration::from_millis(2);

    struct Rig {
        robot: SimulatedRobot,
        now: Duration,
    }

    impl Rig {
        fn new() -> Self {
            Self { robot: SimulatedRobot::new(planner(), ready()), now: Duration::ZERO }
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
        let mut rig = Rig::new();
        assert_eq!(rig.step(), StateInterfaces { status: ExecutionState::Idle, ready: true });
        rig.send(go(near(), 0.0));
        assert_eq!(rig.step().status, ExecutionState::Executing);
        rig.run_until(ExecutionState::Success);
        assert!((rig.robot.state_at(rig.now).position - near()).amax() < 1e-9);
        assert_eq!(rig.events(), [RobotEvent::Started(0), RobotEvent::Finished(0)]);
    }

    #[test]
    fn a_streamed_primitive_blends_only_with_a_radius() {
        for (radius, blends) in [(0.03, true), (0.0, false)] {
            let mut rig = Rig::new();
            rig.send(go(near(), radius));
            rig.step();
            rig.send(go(ready(), 0.0));
            rig.run_until(ExecutionState::Success);
            let events = rig.events();
            assert_eq!(events.contains(&RobotEvent::Blended(0, 1)), blends, "{events:?}");
        }
    }

    #[test]
    fn it_is_ready_for_a_second_only_to_blend_into_it() {
        for (radius, look_ahead, ready_for_another) in
            [(0.03, true, true), (0.0, true, false), (0.03, false, false)]
        {
            let mut rig = Rig::new();
            rig.robot.set_look_ahead_blending(look_ahead);
            rig.send(go(near(), radius));
            assert_eq!(rig.step().ready, ready_for_another, "radius {radius}, look-ahead {look_ahead}");
            rig.run_until(ExecutionState::Success);
            assert!(rig.step().ready);
        }
    }

    #[test]
    fn a_move_to_where_it_is_is_seen_to_run() {
        let mut rig = Rig::new();
        rig.step();
        rig.send(go(ready(), 0.0));
        assert_eq!(rig.robot.read(rig.now).status, ExecutionState::Executing);
        assert_eq!(rig.step().status, ExecutionState::Success);
        assert_eq!(rig.events(), [RobotEvent::Started(0), RobotEvent::Finished(0)]);

        rig.send(Command::Move(ptp(ready(), Timing::MoveTime(1.0))));
        let begin = rig.now;
        rig.run_until(ExecutionState::Success);
        assert_eq!(rig.now - begin, Duration::from_secs(1));
    }

    #[test]
    fn stop_brakes_inside_the_limits_and_nothing_follows() {
        let mut rig = Rig::new();
        rig.send(Command::SequenceStart);
        rig.send(go(near(), 0.02));
        rig.send(go(ready(), 0.0));
        rig.send(Command::SequenceEnd);
        for _ in 0..100 {
            rig.step();
        }
        let before = rig.robot.state_at(rig.now);
        assert!(before.velocity.amax() > 0.1, "moving");
        rig.send(Command::Stop);
        let mut last = before;
        while rig.step().status != ExecutionState::Stopped {
            let state = rig.robot.state_at(rig.now);
            assert!(state.acceleration.amax() <= 15.0 + 1e-9);
            assert!((state.position - last.position).amax() <= 3.0 * CYCLE.as_secs_f64() + 1e-9);
            last = state;
        }
        let rest = rig.robot.state_at(rig.now);
        assert_eq!(rest.velocity.amax(), 0.0);
        rig.send(go(near(), 0.0));
        for _ in 0..200 {
            assert_eq!(rig.step(), StateInterfaces { status: ExecutionState::Stopped, ready: false });
        }
        assert_eq!(rig.robot.state_at(rig.now).position, rest.position);
        rig.send(Command::ResetStop);
        assert_eq!(rig.step(), StateInterfaces { status: ExecutionState::Idle, ready: true });
        rig.send(go(near(), 0.0));
        rig.run_until(ExecutionState::Success);
    }

    #[test]
    fn an_unreachable_target_is_an_error_and_stop_recovers() {
        let mut rig = Rig::new();
        rig.send(Command::Move(lin(
            moved(&planner().robot.forward(&ready()), [3.0, 0.0, 0.0]),
            limits(0.1, 1.0),
        )));
        rig.run_until(ExecutionState::Error);
        let events = rig.events();
        assert!(
            matches!(&events[..], [RobotEvent::Failed(0, reason)] if reason.contains("cannot be followed beyond")),
            "{events:?}"
        );
        assert!(!rig.step().ready);
        rig.send(Command::Stop);
        rig.run_until(ExecutionState::Stopped);
        rig.send(Command::ResetStop);
        rig.send(go(near(), 0.0));
        rig.run_until(ExecutionState::Success);
    }

    #[test]
    fn a_sequence_that_cannot_be_done_does_not_begin() {
        let mut rig = Rig::new();
        let before = rig.robot.state_at(rig.now).position;
        rig.send(Command::SequenceStart);
        rig.send(go(near(), 0.01));
        rig.send(go(Joints::repeat(100.0), 0.0));
        rig.send(Command::SequenceEnd);
        rig.run_until(ExecutionState::Error);
        assert_eq!(rig.robot.state_at(rig.now).position, before);
        let events = rig.events();
        assert!(
            matches!(&events[..], [RobotEvent::Failed(2, reason)] if reason.contains("primitive 1 of the sequence: the target")),
            "{events:?}"
        );
    }

    #[test]
    fn a_radius_that_is_too_large_is_reduced_with_a_note() {
        let mut rig = Rig::new();
        rig.send(Command::SequenceStart);
        rig.send(go(near(), 5.0));
        rig.send(go(ready(), 0.0));
        rig.send(Command::SequenceEnd);
        rig.run_until(ExecutionState::Success);
        let events = rig.events();
        let note = |event: &RobotEvent| matches!(event, RobotEvent::Note(1, text) if text.contains("blend_radius 5 m is more"));
        assert!(events.iter().any(note), "{events:?}");
        assert!(events.contains(&RobotEvent::Blended(1, 2)), "{events:?}");
    }

    /// Drives to `near` with something happening on the way; the limits hold all the time.
    fn disturbed(mut act: impl FnMut(&mut SimulatedRobot, usize, Duration)) -> usize {
        let mut rig = Rig::new();
        rig.send(go(near(), 0.0));
        let limits = rig.robot.planner().robot.limits.0;
        let mut last = rig.robot.state_at(rig.now);
        for i in 0..20_000 {
            act(&mut rig.robot, i, rig.now);
            let status = rig.step().status;
            let state = rig.robot.state_at(rig.now);
            for (joint, limit) in limits.iter().enumerate() {
                assert!(state.velocity[joint].abs() <= limit.velocity * 1.001);
                assert!(state.acceleration[joint].abs() <= limit.acceleration * 1.001);
                let jerk = (state.acceleration[joint] - last.acceleration[joint]).abs() / CYCLE.as_secs_f64();
                assert!(jerk <= limit.jerk * 1.01, "joint {joint}: {jerk} at {i}");
            }
            last = state;
            if status == ExecutionState::Success {
                assert!((state.position - near()).amax() < 1e-9);
                return i;
            }
        }
        panic!("never done");
    }

    #[test]
    fn pause_stands_on_the_path_and_resume_goes_on() {
        let usual = disturbed(|_, _, _| {});
        let mut held = None;
        let paused = disturbed(|robot, i, now| match i {
            60 => assert!(robot.pause(now)),
            500 => {
                held = Some(robot.state_at(now));
                assert!(robot.resume(now));
            }
            _ => {}
        });
        let held = held.unwrap();
        assert_eq!(held.velocity.amax(), 0.0);
        // On the straight way of the joints.
        let share = (held.position - ready()).component_div(&(near() - ready()));
        assert!((share[0] - share[1]).abs() < 1e-9 && (0.05..0.95).contains(&share[0]), "{share:?}");
        assert!(paused > usual + 400, "{paused} against {usual}");
    }

    #[test]
    fn the_speed_can_be_changed_at_any_time() {
        let usual = disturbed(|_, _, _| {});
        for at in [0, 20, 50, 90, 130, 160] {
            let slower = disturbed(|robot, i, now| {
                if i == at {
                    assert!(robot.set_speed(0.25, now));
                }
            });
            assert!(slower > usual || at > 120, "{slower} against {usual} from {at} on");
            let again = disturbed(|robot, i, now| match i {
                _ if i == at => drop(robot.set_speed(0.0, now)),
                _ if i == at + 200 => drop(robot.set_speed(1.0, now)),
                _ => {}
            });
            assert!(again > usual || at > 120, "{again} against {usual} from {at} on");
        }
    }
}
