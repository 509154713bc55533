//! A robot moves along a square without stopping at its corners.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rosless_graph::{
    TopicQos,
    action::{ActionClient, GoalState, GoalUpdate},
};
use rosless_wire::{
    control_msgs::action::{ExecuteMotionPrimitiveSequence, ExecuteMotionPrimitiveSequenceGoal},
    sensor_msgs::msg::JointState,
};

use crate::scenario::{Heard, Observer, PATIENCE, Role};

/// What was seen of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    pub primitives: usize,
    /// Indices of primitives in the order of the feedback, repetitions left out.
    pub feedback: Vec<u8>,
    /// The slowest the robot was between two corners: length of its joint speeds, rad/s.
    pub slowest: f64,
    pub took: Duration,
}

/// A controller of motion primitives.
#[derive(Debug)]
pub struct Robot<'a> {
    observer: &'a Observer,
    client: ActionClient<ExecuteMotionPrimitiveSequence, ()>,
    joints: Heard<JointState>,
}

#[derive(Debug, Default)]
struct Progress {
    /// Index and how many joint states had been heard by then.
    feedback: Vec<(u8, usize)>,
    end: Option<Result<(), String>>,
}

/// A sequence under way.
#[derive(Debug)]
pub struct Goal(Rc<RefCell<Progress>>);

impl Goal {
    /// Index of the primitive that the robot executes.
    pub fn current(&self) -> u8 {
        self.0.borrow().feedback.last().map_or(0, |(index, _)| *index)
    }

    pub fn is_over(&self) -> bool {
        self.0.borrow().end.is_some()
    }

    /// # Errors
    /// When it did not succeed, or is not over.
    pub fn outcome(&self) -> Result<(), String> {
        self.0.borrow().end.clone().unwrap_or_else(|| Err("it is not over".to_owned()))
    }
}

impl<'a> Robot<'a> {
    pub fn new(observer: &'a Observer) -> Self {
        let action = format!("{}/motion_sequence", Role::Motion.nodes()[0]);
        Self {
            observer,
            client: observer.event_loop.action_client(&observer.node, &action).expect("the name is right"),
            joints: observer.hear("/joint_states".keep_last(1000)),
        }
    }

    /// Waits for the controller.
    #[track_caller]
    pub fn wait_ready(&self) -> Duration {
        self.observer.wait("the motion controller", PATIENCE, || self.client.is_ready())
    }

    /// Sends the goal, which must be accepted within `answer`, and does not wait for its end.
    #[track_caller]
    pub fn begin_square(&self, answer: Duration) -> Goal {
        self.wait_ready();
        self.joints.clear();
        let goal = Goal(Rc::default());
        let (progress, heard) = (goal.0.clone(), self.joints.counter());
        self.client.send_goal(square(), answer, PATIENCE, move |(), update| {
            let mut progress = progress.borrow_mut();
            match update {
                GoalUpdate::Feedback(feedback) => {
                    let index = feedback.current_primitive_index;
                    if progress.feedback.last().is_none_or(|(last, _)| *last != index) {
                        progress.feedback.push((index, heard()));
                    }
                }
                GoalUpdate::Ended(GoalState::Succeeded, result) if result.error_code == 0 => {
                    progress.end = Some(Ok(()));
                }
                GoalUpdate::Ended(state, result) => {
                    progress.end = Some(Err(format!("the sequence ended as {state:?} with {result:?}")));
                }
                GoalUpdate::Rejected => progress.end = Some(Err("the sequence was refused".to_owned())),
                GoalUpdate::Failed(error) => progress.end = Some(Err(error.to_string())),
                GoalUpdate::Accepted(_) | GoalUpdate::Status(_) => {}
            }
        });
        goal
    }

    /// Moves along the square to the end.
    ///
    /// # Errors
    /// When the goal was not accepted within `answer`, failed or was lost.
    pub fn try_square(&self, answer: Duration) -> Result<Moved, String> {
        let goal = self.begin_square(answer);
        let took = self.observer.wait("the end of the sequence", 2 * PATIENCE, || goal.is_over());
        goal.outcome()?;
        let feedback = &goal.0.borrow().feedback;
        Ok(Moved {
            primitives: square().trajectory.motions.len(),
            slowest: self.slowest(feedback),
            feedback: feedback.iter().map(|(index, _)| *index).collect(),
            took,
        })
    }

    /// Between the first and the last corner; the arm's joints are on the same topic.
    fn slowest(&self, feedback: &[(u8, usize)]) -> f64 {
        let passed = |index: usize| {
            feedback.iter().find(|(current, _)| usize::from(*current) >= index).map_or(0, |(_, heard)| *heard)
        };
        let graph = self.observer.context.graph();
        let samples = self.joints.samples();
        let (from, to) = (passed(2), passed(square().trajectory.motions.len() - 1).min(samples.len()));
        let ours = samples.get(from..to).unwrap_or_default().iter().filter(|sample| {
            let node = graph.node_of(&sample.info.publisher);
            node.is_some_and(|node| node.to_string() == Role::Motion.nodes()[0])
        });
        ours.map(|s| s.message.velocity.iter().map(|v| v * v).sum::<f64>().sqrt())
            .fold(f64::INFINITY, f64::min)
    }

    /// Moves along the square.
    ///
    /// # Panics
    /// When it did not succeed.
    #[track_caller]
    pub fn square(&self) -> Moved {
        self.try_square(PATIENCE).unwrap_or_else(|reason| panic!("{reason}"))
    }
}

fn square() -> ExecuteMotionPrimitiveSequenceGoal {
    let trajectory = serde_json::from_str(include_str!("../../../../bins/rosless/square.json"));
    ExecuteMotionPrimitiveSequenceGoal { trajectory: trajectory.expect("a goal as the demo has it") }
}
