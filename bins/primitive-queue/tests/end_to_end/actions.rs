//! Both actions: results, feedback, rejection, cancelling, aborting, and clients that die.

use rosless_graph::action::{ActionClient, GoalId, GoalState, GoalUpdate};
use rosless_motion::RawPrimitive;
use rosless_motion::messages::{to_control, to_industrial};
use rosless_tests::{Daemon, Scratch, Usage};
use rosless_wire::{
    Action,
    control_msgs::{
        action::{ExecuteMotionPrimitiveSequence, ExecuteMotionPrimitiveSequenceGoal},
        msg::MotionPrimitiveSequence,
    },
    industrial_robot_motion_interfaces::{
        action::{ExecuteMotion, ExecuteMotionGoal},
        msg::MotionSequence,
    },
};
use std::{cell::RefCell, rc::Rc, time::Instant};

use crate::rig::{NODE, PATIENCE, Rig, Seen, blended, command, lin, long_ptp, ptp, unreachable};

type Updates<A> = Rc<RefCell<Vec<GoalUpdate<A>>>>;

struct Goal<A: Action> {
    id: GoalId,
    updates: Updates<A>,
}

impl<A: Action> Goal<A> {
    fn ended(&self) -> Option<(GoalState, A::Result)> {
        self.updates.borrow().iter().find_map(|update| match update {
            GoalUpdate::Ended(state, result) => Some((*state, result.clone())),
            GoalUpdate::Failed(error) => panic!("the server does not answer: {error}"),
            _ => None,
        })
    }

    fn has(&self, wanted: impl Fn(&GoalUpdate<A>) -> bool) -> bool {
        self.updates.borrow().iter().any(wanted)
    }
}

fn client<A: Action>(rig: &mut Rig, name: &str) -> ActionClient<A, Seen> {
    let client = rig.events.action_client::<A>(&rig.node, &format!("{NODE}/{name}")).unwrap();
    rig.wait("the action server is there", |_| client.is_ready());
    client
}

fn offer<A: Action>(client: &ActionClient<A, Seen>, goal: A::Goal) -> Goal<A> {
    let updates = Updates::<A>::default();
    let heard = updates.clone();
    let id = client.send_goal(goal, PATIENCE, PATIENCE, move |_, update| heard.borrow_mut().push(update));
    Goal { id, updates }
}

fn control(moves: &[RawPrimitive]) -> ExecuteMotionPrimitiveSequenceGoal {
    let motions = moves.iter().map(to_control).collect();
    ExecuteMotionPrimitiveSequenceGoal { trajectory: MotionPrimitiveSequence { motions } }
}

/// A PTP with the code that a signed and an unsigned byte both have room for.
fn joint_move(by: f64) -> RawPrimitive {
    RawPrimitive { kind: 0, ..ptp(by) }
}

#[test]
fn goals_of_both_actions_succeed_with_feedback() {
    let mut rig = Rig::new(&[]);
    let moves = [blended(joint_move(0.2), 0.01), blended(lin([0.0, 0.02, 0.0]), 0.005), joint_move(0.0)];

    let new = client::<ExecuteMotionPrimitiveSequence>(&mut rig, "motion_sequence");
    let goal = offer(&new, control(&moves));
    rig.wait("it ends", |_| goal.ended().is_some());
    let (state, result) = goal.ended().unwrap();
    assert_eq!(
        (state, result.error_code, result.error_string.as_str()),
        (GoalState::Succeeded, 0, "Motion primitives executed successfully")
    );
    let indices: Vec<u8> = goal
        .updates
        .borrow()
        .iter()
        .filter_map(|update| match update {
            GoalUpdate::Feedback(feedback) => Some(feedback.current_primitive_index),
            _ => None,
        })
        .collect();
    assert_eq!(indices, [0, 1, 2]);

    let old = client::<ExecuteMotion>(&mut rig, "execute_motion");
    let trajectory = MotionSequence { motions: vec![to_industrial(&ptp(0.1))] };
    let goal = offer(&old, ExecuteMotionGoal { trajectory });
    rig.wait("it ends", |_| goal.ended().is_some());
    let (state, result) = goal.ended().unwrap();
    assert_eq!((state, result.error_code), (GoalState::Succeeded, 0));
    assert_eq!(rig.seen.count("goal_succeeded"), 2);
}

#[test]
fn one_goal_at_a_time_and_every_rejection_has_its_reason() {
    let mut rig = Rig::new(&[]);
    let client = client::<ExecuteMotionPrimitiveSequence>(&mut rig, "motion_sequence");
    let first = offer(&client, control(&[RawPrimitive { kind: 0, ..long_ptp() }]));
    rig.wait("it moves", |_| first.has(|update| matches!(update, GoalUpdate::Feedback(_))));
    let bad_goals = [
        vec![joint_move(0.1)],
        vec![],
        vec![RawPrimitive { joint_positions: vec![0.0; 5], ..joint_move(0.1) }],
    ];
    for moves in &bad_goals {
        let goal = offer(&client, control(moves));
        rig.wait("it is rejected", |_| goal.has(|update| *update == GoalUpdate::Rejected));
    }
    rig.until("the reasons are told", |seen| seen.count("goal_rejected") == 3);
    assert_eq!(rig.seen.reasons("goal_rejected"), ["an action goal is being executed"; 3]);

    // The topic is locked as well while a goal has the robot.
    rig.send(&ptp(0.3));
    rig.until("it is refused", |seen| seen.count("refused") == 1);
    assert_eq!(rig.seen.reasons("refused"), ["an action goal is being executed"]);

    client.cancel(first.id, PATIENCE, |_, answer| assert_eq!(answer.unwrap().goals_canceling.len(), 1));
    rig.wait("it is canceled", |_| first.ended().is_some());
    assert_eq!(first.ended().unwrap().0, GoalState::Canceled);
    rig.until("the robot is ready again", |seen| seen.state_is("IDLE"));
    assert!(rig.seen.states.contains(&5), "it stood in between: {:?}", rig.seen.states);

    for (moves, reason) in bad_goals[1..]
        .iter()
        .zip(["the sequence is empty", "primitive 0: PTP and LIN to joints need exactly 6"])
    {
        let goal = offer(&client, control(moves));
        rig.wait("it is rejected", |_| goal.has(|update| *update == GoalUpdate::Rejected));
        rig.until("the reason is told", |seen| {
            seen.reasons("goal_rejected").last().is_some_and(|told| told.starts_with(reason))
        });
    }
    let next = offer(&client, control(&bad_goals[0]));
    rig.until("the next goal works", |_| next.ended().is_some());
    assert_eq!(next.ended().unwrap().0, GoalState::Succeeded);
}

#[test]
fn a_goal_the_robot_cannot_do_is_aborted_with_the_reason() {
    let mut rig = Rig::new(&[]);
    let client = client::<ExecuteMotionPrimitiveSequence>(&mut rig, "motion_sequence");
    let goal = offer(&client, control(&[joint_move(0.1), unreachable()]));
    rig.wait("it ends", |_| goal.ended().is_some());
    let (state, result) = goal.ended().unwrap();
    assert_eq!((state, result.error_code), (GoalState::Aborted, -1));
    assert!(result.error_string.contains("cannot be followed beyond"), "{}", result.error_string);
    assert_eq!(rig.seen.count("started"), 0, "a sequence that cannot be done does not begin");
    rig.until("the robot recovers by itself", |seen| seen.state_is("IDLE") && seen.states.last() == Some(&0));
    assert_eq!(rig.seen.states, [0, 3, 5, 0]);
    let line = rig.daemon.wait_for_line("cannot be executed", PATIENCE);
    assert!(!line.contains("STOP_MOTION"), "nobody has to do anything: {line}");
    let next = offer(&client, control(&[joint_move(0.1)]));
    rig.until("the next goal works", |_| next.ended().is_some());
    assert_eq!(next.ended().unwrap().0, GoalState::Succeeded);
}

#[test]
fn a_client_that_dies_does_not_lock_the_controller() {
    let mut rig = Rig::new(&[]);
    let folder = Scratch::make();
    let file = folder.file("move.yaml", "- {ptp: [-0.2, 0, 1.4, 0, 0.6, 0], move_time: 2}");
    let path = file.to_str().unwrap();
    let mut doomed = Daemon::spawn(command(&rig.domain, &["send", "--action", path]));
    rig.until("its goal moves the robot", |seen| seen.count("started") == 1);
    doomed.signal("KILL");
    doomed.wait(PATIENCE);
    rig.until("the goal goes on to its end", |seen| seen.count("goal_succeeded") == 1);
    let again = rig.cli(&["send", "--action", path]);
    assert!(again.status.success(), "{again:?}");
}

#[test]
fn a_flood_of_goals_fills_neither_the_log_nor_the_memory() {
    const GOALS: usize = 6000;
    // As many as the client keeps for a server that is behind.
    const AT_ONCE: usize = 8;
    let mut rig = Rig::new(&[]);
    let client = client::<ExecuteMotionPrimitiveSequence>(&mut rig, "motion_sequence");
    let memory = Usage::of(rig.daemon.pid()).unwrap().resident_bytes;
    let (start, answered) = (Instant::now(), Rc::new(RefCell::new(0)));
    let mut sent = 0;
    while sent < GOALS {
        for _ in 0..AT_ONCE {
            let answered = answered.clone();
            client.send_goal(control(&[]), PATIENCE, PATIENCE, move |_, update| {
                assert_eq!(update, GoalUpdate::Rejected);
                *answered.borrow_mut() += 1;
            });
            sent += 1;
        }
        rig.until("each goal is answered", |_| *answered.borrow() == sent);
        rig.seen.events.clear();
    }
    let took = start.elapsed().as_secs_f64();
    // The last of those left out are told with the next that is not.
    let shown =
        rig.daemon.filter_map(|line| line.contains("rejected: the sequence is empty").then_some(())).len();
    assert!(shown < 300 + (30.0 * took) as usize, "{shown} lines in {took} s");
    assert!(shown < GOALS / 2, "nothing was left out in {took} s");
    let now = Usage::of(rig.daemon.pid()).unwrap().resident_bytes;
    assert!(now < memory + (32 << 20), "memory went from {memory} to {now} bytes");
    let next = offer(&client, control(&[joint_move(0.1)]));
    rig.until("the next goal works", |_| next.ended().is_some());
    assert_eq!(next.ended().unwrap().0, GoalState::Succeeded);
}
