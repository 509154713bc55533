//! The queue with a simulated robot behind it, driven in simulated time.

use std::{collections::BTreeMap, time::Duration};

use proptest::{num, prelude::*};
use rosless_kinematics::{Joints, Robot, builtin};
use rosless_motion::{
    Event, ExecutionState, Fault, FaultKind, GoalOutcome, Hardware, MotionLimits, Output, Planner, Progress,
    QueueController, QueueSettings, RawPose, RawPrimitive, Refusal, SimulatedRobot, StateOnly,
    primitive::code,
};

const CYCLE: Duration = Duration::from_millis(4);
const GOAL: [u8; 16] = [7; 16];
const ACCELERATION: f64 = 15.0;

fn ready() -> Joints {
    Joints::new(-0.6, 0.0, 1.4, 0.0, 0.6, 0.0)
}

fn robot() -> Robot {
    builtin::robot("sim_arm").unwrap()
}

/// Who sends, unless it matters.
const ME: u128 = 1;

struct Rig {
    controller: QueueController<SimulatedRobot>,
    now: Duration,
    seen: Vec<Output>,
}

impl Rig {
    fn new(settings: QueueSettings) -> Self {
        let robot = SimulatedRobot::new(Planner::new(robot(), MotionLimits::default()), ready());
        let mut controller = QueueController::new(settings, robot).expect("queue has room");
        controller.activate(Duration::ZERO).unwrap();
        let mut rig = Self { controller, now: Duration::ZERO, seen: Vec::new() };
        rig.step();
        rig
    }

    fn send(&mut self, raw: &RawPrimitive) -> Vec<Output> {
        self.send_as(ME, raw)
    }

    fn send_as(&mut self, source: u128, raw: &RawPrimitive) -> Vec<Output> {
        let before = self.seen.len();
        self.controller.reference(raw, source, self.now);
        self.drain();
        self.seen[before..].to_vec()
    }

    fn step(&mut self) {
        self.now += CYCLE;
        self.controller.update(self.now);
        self.drain();
    }

    fn drain(&mut self) {
        self.seen.extend(std::iter::from_fn(|| self.controller.poll_output()));
    }

    fn steps(&mut self, count: usize) {
        (0..count).for_each(|_| self.step());
    }

    #[track_caller]
    fn run_until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        for _ in 0..50_000 {
            if done(self) {
                return;
            }
            self.step();
        }
        panic!("never {what}; state {:?}, outputs {:?}", self.controller.state(), self.seen);
    }

    fn idle(&self) -> bool {
        self.controller.queue_depth() == 0
            && !matches!(self.controller.state(), ExecutionState::Executing | ExecutionState::Stopping)
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        self.seen.iter().filter_map(|output| match output {
            Output::Event(event) => Some(event),
            _ => None,
        })
    }

    fn progress(&self) -> impl Iterator<Item = &Progress> {
        self.events()
            .filter_map(|event| if let Event::Progress(progress) = event { Some(progress) } else { None })
    }

    fn started(&self) -> Vec<u64> {
        self.progress()
            .filter_map(|progress| match progress {
                Progress::Started { id } => Some(*id),
                Progress::Blended { next, .. } => Some(*next),
                _ => None,
            })
            .collect()
    }

    fn count(&self, wanted: impl Fn(&Progress) -> bool) -> usize {
        self.progress().filter(|progress| wanted(progress)).count()
    }

    fn warnings(&self) -> Vec<String> {
        let warnings = |event: &Event| match event {
            Event::Accepted { warnings, .. } => warnings.clone(),
            _ => Vec::new(),
        };
        self.events().flat_map(warnings).collect()
    }

    fn states(&self) -> Vec<ExecutionState> {
        let state = |output: &Output| if let Output::State(state) = output { Some(*state) } else { None };
        self.seen.iter().filter_map(state).collect()
    }

    fn refusals(&self) -> Vec<String> {
        let reason = |event: &Event| match event {
            Event::Refused { reason } => Some(reason.to_string()),
            _ => None,
        };
        self.events().filter_map(reason).collect()
    }

    fn joints(&self) -> Joints {
        self.controller.hardware().state_at(self.now).position
    }
}

fn helper(kind: i16) -> RawPrimitive {
    RawPrimitive { kind, ..Default::default() }
}

fn timing() -> Vec<(String, f64)> {
    vec![("velocity".into(), 1.0), ("acceleration".into(), 5.0)]
}

fn ptp(by: f64) -> RawPrimitive {
    let target = ready() + Joints::new(by, by / 2.0, -by, 0.0, by / 3.0, 0.0);
    RawPrimitive {
        kind: code::LINEAR_JOINT_FIRST_GENERATION,
        arguments: timing(),
        joint_positions: target.as_slice().to_vec(),
        ..Default::default()
    }
}

fn hand(by: [f64; 3]) -> RawPose {
    let pose = robot().forward(&ready());
    let (t, q) = (pose.translation.vector, pose.rotation.coords);
    RawPose {
        frame_id: "base".into(),
        position: [t.x + by[0], t.y + by[1], t.z + by[2]],
        orientation: [q.x, q.y, q.z, q.w],
    }
}

fn lin(by: [f64; 3]) -> RawPrimitive {
    RawPrimitive {
        kind: code::LINEAR_CARTESIAN,
        arguments: slow(),
        poses: vec![hand(by)],
        ..Default::default()
    }
}

fn slow() -> Vec<(String, f64)> {
    vec![("velocity".into(), 0.2), ("acceleration".into(), 1.0)]
}

fn circ(goal: [f64; 3], via: [f64; 3]) -> RawPrimitive {
    RawPrimitive {
        kind: code::CIRCULAR_CARTESIAN,
        arguments: slow(),
        poses: vec![hand(goal), hand(via)],
        ..Default::default()
    }
}

fn blended(raw: RawPrimitive, radius: f64) -> RawPrimitive {
    RawPrimitive { blend_radius: radius, ..raw }
}

/// The published example: 5 singles, a sequence of 5, a sequence of 2, 2 singles, with their markers 18 messages.
fn example() -> Vec<RawPrimitive> {
    let five = |radius: f64| {
        vec![
            blended(ptp(0.2), radius),
            blended(ptp(0.0), radius),
            blended(lin([0.05, 0.0, 0.0]), radius),
            blended(lin([0.05, 0.05, 0.0]), radius),
            circ([0.0, 0.05, 0.0], [0.025, 0.075, 0.0]),
        ]
    };
    let start = helper(code::MOTION_SEQUENCE_START);
    let end = helper(code::MOTION_SEQUENCE_END);
    let mut all = five(0.0);
    all.push(start.clone());
    all.extend(five(0.01));
    all.push(end.clone());
    all.extend([start, blended(ptp(0.1), 0.01), ptp(-0.1), end, ptp(0.2), ptp(0.0)]);
    all
}

#[test]
fn a_burst_of_18_messages_is_executed_in_order() {
    let mut rig = Rig::new(QueueSettings { queue_size: 20, ..Default::default() });
    let messages = example();
    assert_eq!(messages.len(), 18);
    for raw in &messages {
        rig.send(raw);
    }
    rig.run_until("done", Rig::idle);
    assert_eq!(rig.refusals(), [""; 0]);
    let moves: Vec<u64> =
        messages.iter().zip(0..).filter(|(raw, _)| raw.kind < 66).map(|(_, id)| id).collect();
    assert_eq!(rig.started(), moves);
    assert_eq!(rig.count(|p| matches!(p, Progress::Finished { .. })), moves.len());
    assert_eq!(rig.controller.state(), ExecutionState::Success);
    // Only inside the sequences did it blend: 4 and 1 inner corners.
    assert_eq!(rig.count(|p| matches!(p, Progress::Blended { .. })), 5);
}

#[test]
fn the_eleventh_waiting_primitive_is_refused_by_name() {
    let mut rig = Rig::new(QueueSettings::default());
    rig.send(&ptp(1.0));
    rig.steps(3);
    assert_eq!(rig.controller.queue_depth(), 0, "the robot has it");
    for i in 0..11 {
        rig.send(&ptp(0.01 * f64::from(i)));
    }
    assert_eq!(rig.refusals(), ["the queue is full (10 primitives)"]);
    rig.run_until("done", Rig::idle);
    assert_eq!(rig.started().len(), 11);
}

#[test]
fn stop_clears_everything_and_commands_are_refused_until_reset() {
    let mut rig = Rig::new(QueueSettings::default());
    for by in [1.0, 0.5, 0.2, 0.1] {
        rig.send(&ptp(by));
    }
    rig.steps(20);
    rig.send(&helper(code::STOP_MOTION));
    assert_eq!(rig.controller.queue_depth(), 0);
    rig.run_until("stopped", |b| b.controller.state() == ExecutionState::Stopped);
    let rest = rig.joints();
    rig.send(&ptp(0.3));
    assert_eq!(rig.refusals(), [Refusal::Stopped.to_string()]);
    rig.steps(100);
    assert_eq!(rig.joints(), rest, "nothing follows");
    assert_eq!(rig.started(), [0]);
    rig.send(&helper(code::RESET_STOP));
    rig.send(&ptp(0.3));
    rig.run_until("done", |b| b.controller.state() == ExecutionState::Success);
}

#[test]
fn stop_while_idle_is_harmless_and_reset_may_come_before_standstill() {
    let mut rig = Rig::new(QueueSettings::default());
    rig.send(&helper(code::STOP_MOTION));
    rig.send(&helper(code::RESET_STOP));
    rig.steps(2);
    assert_eq!(rig.controller.state(), ExecutionState::Idle);
    rig.send(&ptp(1.0));
    rig.steps(50);
    rig.send(&helper(code::STOP_MOTION));
    rig.send(&helper(code::RESET_STOP));
    rig.run_until("idle again", |b| b.controller.state() == ExecutionState::Idle);
    rig.send(&ptp(0.0));
    rig.run_until("done", |b| b.controller.state() == ExecutionState::Success);
    assert_eq!(rig.refusals(), [""; 0]);
}

#[test]
fn odd_orders_of_markers_have_a_defined_result() {
    let mut rig = Rig::new(QueueSettings { sequence_timeout: Duration::from_secs(1), ..Default::default() });
    let (start, end) = (helper(code::MOTION_SEQUENCE_START), helper(code::MOTION_SEQUENCE_END));
    rig.send(&end);
    assert_eq!(rig.refusals().last().unwrap(), &Refusal::NoSequence.to_string());
    rig.send(&start);
    rig.send(&end);
    assert_eq!(rig.refusals().last().unwrap(), &Refusal::EmptySequence.to_string());
    rig.send(&start);
    rig.send(&start);
    assert_eq!(rig.refusals().last().unwrap(), &Refusal::SequenceOpen.to_string());
    rig.send(&ptp(0.2));
    rig.send(&end);
    rig.run_until("the sequence is done despite the second start", |b| {
        b.controller.state() == ExecutionState::Success
    });
    // A hole in a sequence makes it another motion than the one wanted.
    rig.send(&start);
    rig.send(&ptp(0.1));
    rig.send(&RawPrimitive { joint_positions: vec![], ..ptp(0.1) });
    rig.send(&end);
    rig.send(&start);
    rig.send(&ptp(0.1));
    let before = rig.started().len();
    rig.steps(300);
    assert_eq!(rig.controller.queue_depth(), 0, "the open sequence was given up");
    let abandoned = rig
        .progress()
        .any(|e| matches!(e, Progress::Discarded { reason, .. } if reason.contains("not closed in time")));
    assert!(abandoned);
    assert_eq!(rig.started().len(), before, "nothing of it moved");
}

#[test]
fn error_locks_the_queue_until_stop_and_reset() {
    let mut rig = Rig::new(QueueSettings::default());
    rig.send(&lin([3.0, 0.0, 0.0]));
    rig.send(&ptp(0.1));
    rig.run_until("error", |b| b.controller.state() == ExecutionState::Error);
    rig.send(&ptp(0.1));
    rig.send(&helper(code::RESET_STOP));
    assert_eq!(rig.refusals(), [Refusal::RobotError.to_string(), Refusal::RobotError.to_string()]);
    assert_eq!(rig.controller.state(), ExecutionState::Error);
    rig.send(&helper(code::STOP_MOTION));
    rig.run_until("stopped", |b| b.controller.state() == ExecutionState::Stopped);
    rig.send(&helper(code::RESET_STOP));
    rig.send(&ptp(0.1));
    rig.run_until("done", |b| b.controller.state() == ExecutionState::Success);
}

#[test]
fn every_primitive_ends_once_also_when_the_robot_fails() {
    let mut rig = Rig::new(QueueSettings::default());
    for raw in [helper(code::MOTION_SEQUENCE_START), ptp(0.1), lin([3.0, 0.0, 0.0]), ptp(0.0)] {
        rig.send(&raw);
    }
    rig.send(&helper(code::MOTION_SEQUENCE_END));
    rig.send(&ptp(0.2));
    rig.run_until("error", |b| b.controller.state() == ExecutionState::Error);
    rig.send(&helper(code::STOP_MOTION));
    rig.run_until("stopped", |b| b.controller.state() == ExecutionState::Stopped);
    let mut ends = BTreeMap::<u64, Vec<&str>>::new();
    for progress in rig.progress() {
        match progress {
            Progress::Finished { id } => ends.entry(*id).or_default().push("finished"),
            Progress::Failed { id, .. } => ends.entry(*id).or_default().push("failed"),
            Progress::Discarded { id, .. } => ends.entry(*id).or_default().push("discarded"),
            _ => {}
        }
    }
    let expected = [(1, "discarded"), (2, "failed"), (3, "discarded"), (5, "discarded")];
    assert_eq!(ends, expected.into_iter().map(|(id, end)| (id, vec![end])).collect());
}

#[test]
fn deactivation_stops_and_forgets() {
    let mut rig = Rig::new(QueueSettings::default());
    rig.send(&ptp(1.0));
    rig.send(&ptp(0.0));
    rig.steps(20);
    rig.controller.deactivate(rig.now);
    rig.run_until("stopped", |b| b.controller.state() == ExecutionState::Stopped);
    rig.send(&ptp(0.1));
    assert_eq!(rig.refusals(), [Refusal::NotActive.to_string()]);
    rig.controller.activate(rig.now).unwrap();
    let rest = rig.joints();
    rig.steps(200);
    assert_eq!(rig.joints(), rest, "nothing of before is executed");
    rig.send(&ptp(0.1));
    rig.run_until("done", |b| b.controller.state() == ExecutionState::Success);
}

fn outcome(rig: &Rig) -> Option<&GoalOutcome> {
    rig.seen.iter().rev().find_map(|output| match output {
        Output::GoalDone { goal: GOAL, outcome } => Some(outcome),
        _ => None,
    })
}

#[test]
fn a_goal_gives_feedback_and_succeeds() {
    let mut rig = Rig::new(QueueSettings::default());
    let goal = [blended(ptp(0.2), 0.01), blended(lin([0.02, 0.0, 0.0]), 0.005), ptp(0.0)];
    rig.controller.offer_goal(GOAL, &goal).unwrap();
    assert_eq!(rig.controller.offer_goal([1; 16], &goal), Err(Refusal::GoalActive));
    rig.send(&ptp(0.1));
    assert_eq!(rig.refusals(), [Refusal::GoalActive.to_string()]);
    rig.run_until("goal done", |b| outcome(b).is_some());
    assert_eq!(outcome(&rig), Some(&GoalOutcome::Succeeded));
    let indices: Vec<_> = rig
        .seen
        .iter()
        .filter_map(|o| if let Output::Feedback { index, .. } = o { Some(*index) } else { None })
        .collect();
    assert_eq!(indices, [0, 1, 2]);
}

#[test]
fn goals_are_rejected_for_the_listed_reasons() {
    let mut rig = Rig::new(QueueSettings { goal_size: 3, ..Default::default() });
    let refused =
        |rig: &mut Rig, goal: &[RawPrimitive]| rig.controller.offer_goal(GOAL, goal).unwrap_err().to_string();
    assert_eq!(refused(&mut rig, &[]), "the sequence is empty");
    assert!(
        refused(&mut rig, &[ptp(0.1), RawPrimitive { kind: 7, ..ptp(0.1) }])
            .starts_with("primitive 1: unknown motion type 7")
    );
    assert!(refused(&mut rig, &[helper(code::STOP_MOTION)]).contains("helper type 66"));
    assert!(refused(&mut rig, &vec![ptp(0.1); 4]).contains("more than a goal may have"));
    rig.controller.deactivate(rig.now);
    assert_eq!(refused(&mut rig, &[ptp(0.1)]), Refusal::NotActive.to_string());
}

#[test]
fn cancel_stops_and_the_next_goal_is_welcome() {
    let mut rig = Rig::new(QueueSettings::default());
    rig.controller.offer_goal(GOAL, &[ptp(1.0), ptp(0.0)]).unwrap();
    rig.steps(40);
    assert!(!rig.controller.cancel_goal([9; 16], rig.now), "not that goal");
    assert!(rig.controller.cancel_goal(GOAL, rig.now));
    rig.run_until("canceled", |b| outcome(b).is_some());
    assert_eq!(outcome(&rig), Some(&GoalOutcome::Canceled));
    rig.steps(2);
    assert_eq!(rig.controller.state(), ExecutionState::Idle);
    rig.controller.offer_goal([1; 16], &[ptp(0.0)]).unwrap();
}

#[test]
fn a_goal_the_robot_cannot_do_is_aborted_with_the_reason_and_the_next_one_works() {
    let mut rig = Rig::new(QueueSettings::default());
    rig.controller.offer_goal(GOAL, &[lin([3.0, 0.0, 0.0])]).unwrap();
    rig.run_until("aborted", |b| outcome(b).is_some());
    assert!(
        matches!(outcome(&rig), Some(GoalOutcome::Aborted(text)) if text.contains("cannot be followed beyond"))
    );
    assert_eq!(rig.states(), [ExecutionState::Error, ExecutionState::Stopped, ExecutionState::Idle]);
    // Whoever hears of the end may send the next one at once.
    rig.controller.offer_goal(GOAL, &[ptp(0.1)]).unwrap();
    rig.run_until("succeeded", |b| outcome(b) == Some(&GoalOutcome::Succeeded));
}

#[test]
fn streamed_primitives_blend_all_the_way() {
    let mut rig = Rig::new(QueueSettings::default());
    let corners = [[0.05, 0.0, 0.0], [0.05, 0.05, 0.0], [0.0, 0.05, 0.0], [0.0, 0.0, 0.0]];
    let total = 200;
    let mut sent = 0;
    while sent < total {
        if rig.controller.queue_depth() < 5 {
            rig.send(&blended(lin(corners[sent % 4]), 0.01));
            sent += 1;
        }
        rig.step();
    }
    rig.run_until("done", Rig::idle);
    assert_eq!(rig.started(), (0..total as u64).collect::<Vec<_>>());
    assert_eq!(rig.count(|p| matches!(p, Progress::Blended { .. })), total - 1);
}

#[test]
fn the_last_blend_radius_of_a_sequence_is_taken_as_none_with_a_word_about_it() {
    let mut rig = Rig::new(QueueSettings::default());
    for raw in [helper(100), blended(ptp(0.2), 0.01), blended(ptp(0.0), 0.01), helper(101)] {
        rig.send(&raw);
    }
    assert_eq!(rig.refusals(), [""; 0]);
    assert!(rig.warnings()[0].contains("blend_radius 0.01 m of the last primitive is taken as 0"));
    rig.run_until("done", |b| b.controller.state() == ExecutionState::Success);
    rig.controller.offer_goal(GOAL, &[blended(ptp(0.2), 0.01), blended(ptp(0.1), 0.01)]).unwrap();
    rig.run_until("done", |b| outcome(b) == Some(&GoalOutcome::Succeeded));
}

#[test]
fn a_sequence_may_be_longer_than_the_queue_and_counts_as_one() {
    let mut rig = Rig::new(QueueSettings { queue_size: 3, ..QueueSettings::default() });
    rig.send(&helper(100));
    for i in 0..40 {
        rig.send(&blended(ptp(if i % 2 == 0 { 0.1 } else { 0.0 }), 0.005));
    }
    assert_eq!(rig.controller.queue_depth(), 1);
    rig.send(&helper(101));
    rig.send(&ptp(0.2));
    rig.send(&ptp(0.1));
    assert_eq!(rig.refusals(), [""; 0]);
    rig.send(&ptp(0.0));
    assert_eq!(rig.refusals(), ["the queue is full (3 primitives)"]);
    rig.run_until("done", Rig::idle);
    assert_eq!(rig.count(|p| matches!(p, Progress::Finished { .. })), 42);
}

#[test]
fn a_sequence_belongs_to_its_publisher() {
    let mut rig = Rig::new(QueueSettings::default());
    let (one, other) = (1, 2);
    rig.send_as(one, &helper(100));
    rig.send_as(one, &ptp(0.2));
    // What another sends is executed, and what another sends wrong does no harm.
    rig.send_as(other, &ptp(0.1));
    rig.send_as(other, &RawPrimitive { joint_positions: vec![], ..ptp(0.1) });
    rig.run_until("the other's is done", |b| b.controller.state() == ExecutionState::Success);
    assert_eq!(rig.started(), [2]);
    rig.send_as(other, &helper(100));
    rig.send_as(other, &ptp(0.3));
    rig.send_as(one, &ptp(0.0));
    rig.send_as(one, &helper(101));
    rig.run_until("mine is done", |b| b.started().len() == 3 && b.idle_but_for_open());
    assert_eq!(rig.started(), [2, 1, 5]);
    // Who leaves takes what is open along.
    rig.controller.publisher_left(other);
    rig.drain();
    assert_eq!(rig.controller.queue_depth(), 0);
    let left = |p: &Progress| matches!(p, Progress::Discarded { reason, .. } if reason.contains("its publisher left"));
    assert_eq!(rig.count(left), 2);
    rig.send_as(other, &helper(101));
    assert_eq!(rig.refusals().last().unwrap(), &Refusal::NoSequence.to_string());
}

impl Rig {
    fn idle_but_for_open(&self) -> bool {
        self.controller.state() == ExecutionState::Success
    }
}

#[test]
fn activation_does_not_lift_a_users_stop() {
    let mut rig = Rig::new(QueueSettings::default());
    rig.send(&helper(code::STOP_MOTION));
    rig.steps(3);
    rig.controller.deactivate(rig.now);
    rig.controller.activate(rig.now).unwrap();
    rig.steps(3);
    rig.send(&ptp(0.1));
    assert_eq!(rig.refusals(), [Refusal::Stopped.to_string()]);
    rig.send(&helper(code::RESET_STOP));
    rig.send(&ptp(0.1));
    rig.run_until("done", |b| b.controller.state() == ExecutionState::Success);
}

#[test]
fn the_first_generation_needs_no_reset_after_a_stop() {
    let mut rig = Rig::new(QueueSettings { latching_stop: false, ..QueueSettings::default() });
    rig.send(&ptp(1.0));
    rig.steps(40);
    rig.send(&helper(code::STOP_MOTION));
    rig.run_until("idle again", |b| b.controller.state() == ExecutionState::Idle);
    rig.send(&ptp(0.1));
    rig.run_until("done", |b| b.controller.state() == ExecutionState::Success);
    assert_eq!(rig.refusals(), [""; 0]);
}

#[test]
fn a_polyline_is_one_message_and_one_motion() {
    let mut rig = Rig::new(QueueSettings::default());
    let poses = vec![hand([0.05, 0.0, 0.0]), hand([0.05, 0.05, 0.0]), hand([0.0, 0.05, 0.0])];
    rig.send(&blended(RawPrimitive { kind: code::POLYLINE, poses, ..lin([0.0; 3]) }, 0.01));
    rig.run_until("done", Rig::idle);
    assert_eq!(rig.count(|p| matches!(p, Progress::Blended { .. })), 2, "{:?}", rig.seen);
    let goal = [
        ptp(0.0),
        RawPrimitive {
            kind: code::POLYLINE,
            poses: vec![hand([0.03, 0.0, 0.0]), hand([0.0; 3])],
            ..lin([0.0; 3])
        },
    ];
    rig.controller.offer_goal(GOAL, &goal).unwrap();
    rig.run_until("done", |b| outcome(b) == Some(&GoalOutcome::Succeeded));
    let last = rig
        .seen
        .iter()
        .rev()
        .find_map(|o| if let Output::Feedback { index, .. } = o { Some(*index) } else { None });
    assert_eq!(last, Some(1), "feedback counts the primitives of the goal");
}

/// Runs a driver that has only its two state values until nothing is left to do; returns what was told.
fn with_state_only(moves: &[RawPrimitive], settings: QueueSettings) -> Vec<Output> {
    let mut controller = QueueController::new(settings, StateOnly::new(0.02)).unwrap();
    controller.activate(Duration::ZERO).unwrap();
    let (mut now, mut sent, mut seen) = (Duration::ZERO, 0, Vec::new());
    for _ in 0..1_000_000 {
        now += CYCLE;
        if sent < moves.len() && controller.queue_depth() < 10 {
            controller.reference(&moves[sent], ME, now);
            sent += 1;
        }
        controller.update(now);
        seen.extend(std::iter::from_fn(|| controller.poll_output()));
        if sent == moves.len() && !controller.is_busy() {
            return seen;
        }
    }
    panic!("never done");
}

#[test]
fn the_progress_of_a_driver_that_knows_only_its_state_is_derived() {
    let mut moves = vec![ptp(0.1); 1000];
    moves.extend([helper(100), ptp(0.1), ptp(0.2), ptp(0.3), helper(101)]);
    let seen = with_state_only(&moves, QueueSettings::default());
    let count = |wanted: fn(&Progress) -> bool| {
        seen.iter().filter(|o| matches!(o, Output::Event(Event::Progress(p)) if wanted(p))).count()
    };
    assert_eq!(count(|p| matches!(p, Progress::Started { .. })), 1003);
    assert_eq!(count(|p| matches!(p, Progress::Finished { .. })), 1003);
}

#[test]
fn a_fault_while_idle_is_seen_and_named_and_goes_away() {
    let mut controller = QueueController::new(QueueSettings::default(), StateOnly::new(0.1)).unwrap();
    controller.activate(Duration::ZERO).unwrap();
    assert_eq!(controller.idle_poll(), Some(Duration::from_millis(50)));
    controller.update(CYCLE);
    let fault = Fault { kind: FaultKind::ProtectiveStop, text: "axis 2".into() };
    controller.hardware_mut().set_fault(Some(fault.clone()));
    controller.update(CYCLE * 2);
    let seen: Vec<Output> = std::iter::from_fn(|| controller.poll_output()).collect();
    assert!(seen.contains(&Output::Fault(Some(fault))), "{seen:?}");
    assert_eq!(controller.state(), ExecutionState::Error);
    controller.reference(&ptp(0.1), ME, CYCLE * 2);
    let refused = std::iter::from_fn(|| controller.poll_output()).find_map(|o| {
        if let Output::Event(Event::Refused { reason }) = o { Some(reason.to_string()) } else { None }
    });
    assert_eq!(refused.as_deref(), Some("the robot has a fault: protective stop: axis 2"));
    controller.hardware_mut().set_fault(None);
    controller.update(CYCLE * 3);
    assert!(std::iter::from_fn(|| controller.poll_output()).any(|o| o == Output::Fault(None)));
    assert_eq!(controller.state(), ExecutionState::Idle);
}

#[test]
fn a_fault_of_the_robot_in_a_goal_is_not_stopped_and_reset_by_the_controller() {
    let mut controller = QueueController::new(QueueSettings::default(), StateOnly::new(0.5)).unwrap();
    controller.activate(Duration::ZERO).unwrap();
    controller.update(CYCLE);
    controller.offer_goal(GOAL, &[ptp(0.1)]).unwrap();
    (2..10).for_each(|i| controller.update(CYCLE * i));
    assert_eq!(controller.commands(), 1, "the goal is with the robot");
    let fault = Fault { kind: FaultKind::ProtectiveStop, text: "axis 2".into() };
    controller.hardware_mut().set_fault(Some(fault));
    (10..20).for_each(|i| controller.update(CYCLE * i));
    let aborted = |output| matches!(output, Output::GoalDone { outcome: GoalOutcome::Aborted(_), .. });
    assert!(std::iter::from_fn(|| controller.poll_output()).any(aborted));
    assert_eq!(controller.commands(), 1, "what it needs, people decide");
}

/// A robot that never ends what it has begun.
struct Stuck(ExecutionState);

impl Hardware for Stuck {
    fn write(&mut self, commands: &mut rosless_motion::CommandInterfaces, _: Duration) {
        self.0 = match commands.take() {
            Some(Ok(rosless_motion::Command::Stop)) => ExecutionState::Stopping,
            _ => ExecutionState::Executing,
        };
    }

    fn read(&mut self, _: Duration) -> rosless_motion::StateInterfaces {
        rosless_motion::StateInterfaces { status: self.0, ready: self.0 == ExecutionState::Idle }
    }
}

#[test]
fn a_robot_that_never_ends_is_given_up() {
    let settings = QueueSettings {
        execution_timeout: Duration::from_secs(2),
        stop_timeout: Duration::from_secs(1),
        ..QueueSettings::default()
    };
    let mut controller = QueueController::new(settings, Stuck(ExecutionState::Idle)).unwrap();
    controller.activate(Duration::ZERO).unwrap();
    controller.update(Duration::ZERO);
    controller.offer_goal(GOAL, &[ptp(0.1)]).unwrap();
    let mut ended = None;
    for i in 1..2000u32 {
        controller.update(CYCLE * i);
        for output in std::iter::from_fn(|| controller.poll_output()) {
            if let Output::GoalDone { outcome, .. } = output {
                ended = Some((CYCLE * i, outcome));
            }
        }
    }
    let (when, outcome) = ended.expect("the goal ends");
    assert!(when > Duration::from_secs(2) && when < Duration::from_secs(3));
    assert!(
        matches!(outcome, GoalOutcome::Aborted(reason) if reason.contains("has finished nothing for 2 s"))
    );
    let fault = controller.fault().expect("it does not stop either").to_string();
    assert!(fault.contains("still moves after 1 s"), "{fault}");
}

#[derive(Debug, Clone)]
enum Act {
    Send(RawPrimitive),
    Goal(Vec<RawPrimitive>),
    Cancel,
    Active(bool),
    Wait(usize),
}

fn any_primitive() -> impl Strategy<Value = RawPrimitive> {
    prop_oneof![
        4 => (-1.0f64..1.0, 0.0f64..0.03).prop_map(|(by, radius)| blended(ptp(by), radius)),
        3 => (prop::array::uniform3(-0.06f64..0.06), 0.0f64..0.02).prop_map(|(by, radius)| blended(lin(by), radius)),
        1 => prop::array::uniform3(-0.06f64..0.06).prop_map(|by| circ(by, [0.01, 0.03, 0.0])),
        1 => any::<f64>().prop_map(ptp),
        1 => Just(lin([4.0, 0.0, 0.0])),
        2 => prop::sample::select(vec![66i16, 67, 100, 101, 7, 0]).prop_map(helper),
    ]
}

/// Any positive number there is, and more often one that makes a sensible figure.
fn any_figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        2 => num::f64::POSITIVE | num::f64::SUBNORMAL,
        1 => Just(f64::from_bits(1)),
        5 => (-8.0f64..6.0).prop_map(|digits| 10f64.powf(digits)),
    ]
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => any_primitive().prop_map(Act::Send),
        2 => prop::collection::vec(any_primitive(), 0..4).prop_map(Act::Goal),
        1 => Just(Act::Cancel),
        1 => any::<bool>().prop_map(Act::Active),
        4 => (1usize..150).prop_map(Act::Wait),
    ]
}

proptest! {
    #[test]
    fn no_timing_kills_the_controller(velocity in any_figure(), acceleration in any_figure(), move_time in any_figure()) {
        let mut rig = Rig::new(QueueSettings::default());
        let limits = vec![("velocity".into(), velocity), ("acceleration".into(), acceleration)];
        for arguments in [limits, vec![("move_time".into(), move_time)]] {
            for raw in [ptp(0.3), lin([0.02, 0.0, 0.0]), circ([0.04, 0.0, 0.0], [0.02, 0.02, 0.0])] {
                rig.send(&RawPrimitive { arguments: arguments.clone(), ..raw });
                rig.steps(2);
                // Some take hours: what is left of them is not waited for.
                rig.send(&helper(code::STOP_MOTION));
                rig.run_until("stopped", |b| b.controller.state() == ExecutionState::Stopped);
                rig.send(&helper(code::RESET_STOP));
            }
        }
        prop_assert!(rig.joints().iter().all(|angle| angle.is_finite()));
    }

    #[test]
    fn a_tiny_acceleration_is_refused(acceleration in num::f64::POSITIVE | num::f64::SUBNORMAL) {
        prop_assume!(acceleration < 1e-6);
        let mut rig = Rig::new(QueueSettings::default());
        let arguments = vec![("velocity".into(), 1.0), ("acceleration".into(), acceleration)];
        rig.send(&RawPrimitive { arguments, ..ptp(0.3) });
        prop_assert_eq!(rig.refusals().len(), 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Whatever comes in whatever order: the joints never jump or break a limit, every accepted primitive has exactly
    /// one end, and every accepted goal, too.
    #[test]
    fn no_order_of_inputs_breaks_the_rules(acts in prop::collection::vec(any_act(), 1..40)) {
        let mut rig = Rig::new(QueueSettings { sequence_timeout: Duration::from_millis(500), ..Default::default() });
        let mut goals = 0;
        let mut last = rig.joints();
        let check = |rig: &Rig, last: &mut Joints| {
            let state = rig.controller.hardware().state_at(rig.now);
            prop_assert!((state.position - *last).amax() <= 3.0 * CYCLE.as_secs_f64() + 1e-9, "jump");
            prop_assert!(state.acceleration.amax() <= ACCELERATION + 1e-9, "acceleration {}", state.acceleration.amax());
            *last = state.position;
            Ok(())
        };
        for act in acts {
            match act {
                Act::Send(raw) => { rig.send(&raw); }
                Act::Goal(list) => goals += usize::from(rig.controller.offer_goal(GOAL, &list).is_ok()),
                Act::Cancel => { rig.controller.cancel_goal(GOAL, rig.now); }
                Act::Active(true) => rig.controller.activate(rig.now).unwrap(),
                Act::Active(false) => rig.controller.deactivate(rig.now),
                Act::Wait(cycles) => for _ in 0..cycles { rig.step(); check(&rig, &mut last)?; },
            }
        }
        for _ in 0..60_000 {
            rig.step();
            check(&rig, &mut last)?;
            if rig.idle() { break; }
        }
        rig.steps(2);
        prop_assert!(rig.idle(), "it comes to rest");
        let mut ends: BTreeMap<u64, usize> = BTreeMap::new();
        for event in rig.events() {
            match event {
                Event::Accepted { id, .. } => { ends.entry(*id).or_default(); }
                Event::Progress(Progress::Finished { id } | Progress::Discarded { id, .. } | Progress::Failed { id, .. }) => *ends.entry(*id).or_default() += 1,
                _ => {}
            }
        }
        let moved: Vec<_> = rig.progress().filter_map(|e| if let Progress::Started { id } = e { Some(*id) } else { None }).collect();
        for id in &moved {
            prop_assert_eq!(ends.get(id).copied(), Some(1), "primitive {} ends once", id);
        }
        let done = rig.seen.iter().filter(|o| matches!(o, Output::GoalDone { .. })).count();
        prop_assert_eq!(done, goals);
    }
}
