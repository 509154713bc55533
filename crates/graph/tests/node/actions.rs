//! Actions between participants: feedback, results, cancelling, rejection, two clients at once, forgotten results.

use std::{cell::RefCell, rc::Rc, time::Duration};

use crate::peer::{Here, PATIENCE, Peer};
use rosless_graph::{
    EventLoop, Node, Qos,
    action::{ActionClient, CancelResponse, GoalHandle, GoalId, GoalResponse, GoalState, GoalUpdate},
};
use rosless_tests::DomainLease;
use rosless_wire::{
    action_msgs::{msg::GoalStatusArray, srv::CancelGoalResponse},
    example_interfaces::action::{Fibonacci, FibonacciFeedback, FibonacciGoal, FibonacciResult},
};

/// Orders that mean something else than a number of steps.
const REJECTED: i32 = -1;
const GIVEN_UP: i32 = -2;
const ABORTED: i32 = -3;
const UNSTOPPABLE: i32 = 1000;
const DONE_WHEN_CANCELED: i32 = 1002;
/// How long the server under test remembers results.
const RESULT_TIMEOUT: Duration = Duration::from_millis(300);

/// Computes a number per tick for every goal it has.
fn fibonacci(
    events: &EventLoop<Vec<(GoalHandle<Fibonacci>, Vec<i32>)>>,
    node: &Node,
) -> Vec<(GoalHandle<Fibonacci>, Vec<i32>)> {
    type App = Vec<(GoalHandle<Fibonacci>, Vec<i32>)>;
    events
        .action_server_with::<Fibonacci>(
            node,
            "fibonacci",
            RESULT_TIMEOUT,
            |_, _, goal| match goal.order {
                REJECTED => GoalResponse::Reject,
                order if order % 2 == 0 => GoalResponse::Execute,
                _ => GoalResponse::Defer,
            },
            |app: &mut App, goal| {
                if goal.state() == GoalState::Accepted && goal.goal().order > 0 {
                    goal.execute().unwrap();
                }
                if goal.goal().order != GIVEN_UP {
                    app.push((goal, vec![0, 1]));
                }
            },
            |app, goal| match goal.goal().order {
                UNSTOPPABLE => CancelResponse::Reject,
                DONE_WHEN_CANCELED => {
                    goal.succeed(FibonacciResult::default()).unwrap();
                    app.retain(|(known, _)| known.id() != goal.id());
                    CancelResponse::Accept
                }
                _ => CancelResponse::Accept,
            },
        )
        .unwrap();
    events.timer(Duration::from_millis(10), |app: &mut App| {
        app.retain_mut(|(goal, sequence)| {
            let result = FibonacciResult { sequence: sequence.clone() };
            let order = goal.goal().order;
            if goal.is_canceling() {
                goal.canceled(result).unwrap();
            } else if order == ABORTED {
                goal.execute().unwrap();
                goal.abort(result).unwrap();
            } else if sequence.len() as i32 > order {
                goal.succeed(result).unwrap();
            } else {
                let next = sequence[sequence.len() - 2].wrapping_add(sequence[sequence.len() - 1]);
                sequence.push(next);
                goal.publish_feedback(FibonacciFeedback { sequence: sequence.clone() });
                return true;
            }
            false
        });
    });
    Vec::new()
}

type Updates = Rc<RefCell<Vec<GoalUpdate<Fibonacci>>>>;

struct Asker {
    here: Here,
    client: ActionClient<Fibonacci, ()>,
}

impl Asker {
    fn new(domain: &DomainLease, name: &str) -> Self {
        let here = Here::new(domain, name);
        let client = here.events.action_client::<Fibonacci>(&here.node, "fibonacci").unwrap();
        here.until("the action server", || client.is_ready());
        Self { here, client }
    }

    fn send(&self, order: i32) -> (GoalId, Updates) {
        let updates = Updates::default();
        let sink = updates.clone();
        let goal = FibonacciGoal { order };
        let id =
            self.client.send_goal(goal, PATIENCE, PATIENCE, move |(), update| sink.borrow_mut().push(update));
        (id, updates)
    }

    /// Follows a goal to its end.
    #[track_caller]
    fn end(&self, updates: &Updates) -> (GoalState, Vec<i32>) {
        let ended = || match updates.borrow().last() {
            Some(GoalUpdate::Ended(state, result)) => Some((*state, result.sequence.clone())),
            Some(GoalUpdate::Failed(error)) => panic!("{error}"),
            _ => None,
        };
        self.here.until("the result", || ended().is_some());
        ended().unwrap()
    }

    fn cancel(&self, id: GoalId) -> CancelGoalResponse {
        let answer = Rc::new(RefCell::new(None));
        let slot = answer.clone();
        self.client.cancel(id, PATIENCE, move |(), result| *slot.borrow_mut() = Some(result));
        self.here.until("the answer to the cancel request", || answer.borrow().is_some());
        answer.take().unwrap().unwrap()
    }
}

fn is_accepted(updates: &Updates) -> bool {
    matches!(updates.borrow().first(), Some(GoalUpdate::Accepted(_)))
}

#[test]
fn a_goal_runs_with_feedback_to_its_result() {
    let domain = DomainLease::acquire();
    let _server = Peer::start(&domain, "server", "", fibonacci);
    let asker = Asker::new(&domain, "asker");
    let status = asker.here.collect::<GoalStatusArray>(("/fibonacci/_action/status", Qos::action_status()));
    for order in [6, 7] {
        let (id, updates) = asker.send(order);
        let (state, sequence) = asker.end(&updates);
        assert_eq!((state, &sequence[..7]), (GoalState::Succeeded, &[0, 1, 1, 2, 3, 5, 8][..]));
        assert!(is_accepted(&updates));
        let feedback: Vec<_> = updates
            .borrow()
            .iter()
            .filter_map(|update| match update {
                GoalUpdate::Feedback(feedback) => Some(feedback.sequence.clone()),
                _ => None,
            })
            .collect();
        assert!(feedback.windows(2).all(|pair| pair[0].len() < pair[1].len()), "in order");
        assert!(feedback.len() >= 3, "{feedback:?}");
        assert!(updates.borrow().contains(&GoalUpdate::Status(GoalState::Executing)));
        let succeeded = |array: &GoalStatusArray| {
            array
                .status_list
                .iter()
                .any(|s| s.goal_info.goal_id.uuid == id.0 && s.status == GoalState::Succeeded.id())
        };
        asker.here.until("the published status", || status.borrow().last().is_some_and(succeeded));
    }
}

#[test]
fn goals_are_rejected_aborted_and_given_up() {
    let domain = DomainLease::acquire();
    let _server = Peer::start(&domain, "server", "", fibonacci);
    let asker = Asker::new(&domain, "asker");
    let (_, updates) = asker.send(REJECTED);
    asker.here.until("the rejection", || *updates.borrow() == [GoalUpdate::Rejected]);
    assert_eq!(asker.end(&asker.send(ABORTED).1).0, GoalState::Aborted);
    assert_eq!(asker.end(&asker.send(GIVEN_UP).1), (GoalState::Aborted, vec![]));
}

#[test]
fn goals_are_canceled_by_name_all_together_or_not_at_all() {
    let domain = DomainLease::acquire();
    let _server = Peer::start(&domain, "server", "", fibonacci);
    let asker = Asker::new(&domain, "asker");
    let (first, first_updates) = asker.send(500);
    let (stubborn, stubborn_updates) = asker.send(UNSTOPPABLE);
    let (_, third_updates) = asker.send(502);
    let all = [&first_updates, &stubborn_updates, &third_updates];
    asker.here.until("the goals to be accepted", || all.iter().all(|updates| is_accepted(updates)));

    assert_eq!(asker.cancel(GoalId([9; 16])).return_code, CancelGoalResponse::ERROR_UNKNOWN_GOAL_ID);
    assert_eq!(asker.cancel(stubborn).return_code, CancelGoalResponse::ERROR_REJECTED);
    let answer = asker.cancel(first);
    assert_eq!(answer.return_code, CancelGoalResponse::ERROR_NONE);
    assert_eq!(answer.goals_canceling[0].goal_id.uuid, first.0);
    assert_eq!(asker.end(&first_updates).0, GoalState::Canceled);
    assert_eq!(asker.cancel(first).return_code, CancelGoalResponse::ERROR_GOAL_TERMINATED);

    let answer = asker.cancel(GoalId::ZERO);
    assert_eq!((answer.return_code, answer.goals_canceling.len()), (CancelGoalResponse::ERROR_NONE, 1));
    let (state, sequence) = asker.end(&third_updates);
    assert_eq!(state, GoalState::Canceled);
    assert!(sequence.len() < 502);
    assert!(!stubborn_updates.borrow().iter().any(|update| matches!(update, GoalUpdate::Ended(..))));
}

#[test]
fn a_goal_that_ends_while_it_is_asked_to_stop_is_not_canceled() {
    let domain = DomainLease::acquire();
    let _server = Peer::start(&domain, "server", "", fibonacci);
    let asker = Asker::new(&domain, "asker");
    let (id, updates) = asker.send(DONE_WHEN_CANCELED);
    asker.here.until("the goal to be accepted", || is_accepted(&updates));
    let answer = asker.cancel(id);
    assert_eq!((answer.return_code, answer.goals_canceling.len()), (CancelGoalResponse::ERROR_REJECTED, 0));
    assert_eq!(asker.end(&updates).0, GoalState::Succeeded);
}

#[test]
fn two_clients_hear_about_their_own_goals_only() {
    let domain = DomainLease::acquire();
    let _server = Peer::start(&domain, "server", "", fibonacci);
    let (a, b) = (Asker::new(&domain, "a"), Asker::new(&domain, "b"));
    let (_, for_a) = a.send(10);
    let (id, for_b) = b.send(20);
    assert_eq!(a.end(&for_a).1.len(), 11);
    assert_eq!(b.end(&for_b).1.len(), 21);
    let longest = |updates: &Updates| {
        let length = |update: &GoalUpdate<Fibonacci>| match update {
            GoalUpdate::Feedback(feedback) => feedback.sequence.len(),
            _ => 0,
        };
        updates.borrow().iter().map(length).max().unwrap()
    };
    assert!(longest(&for_a) <= 11, "feedback for the other's goal");
    assert!(longest(&for_b) > 11);

    // Anybody may ask for a result, while the server remembers it.
    let answers = Rc::new(RefCell::new(Vec::new()));
    let ask = || {
        let sink = answers.clone();
        a.client.get_result(id, PATIENCE, move |(), answer| sink.borrow_mut().push(answer.unwrap().0));
    };
    ask();
    a.here.until("the other client's result", || answers.borrow().len() == 1);
    assert_eq!(answers.borrow()[0], GoalState::Succeeded);
    a.here.events.run_for(&mut (), RESULT_TIMEOUT + Duration::from_millis(100)).unwrap();
    ask();
    a.here.until("the answer about a forgotten goal", || answers.borrow().len() == 2);
    assert_eq!(answers.borrow()[1], GoalState::Unknown);
}

#[test]
fn a_client_without_a_server_says_so() {
    let domain = DomainLease::acquire();
    let here = Here::new(&domain, "asker");
    let client = here.events.action_client::<Fibonacci>(&here.node, "fibonacci").unwrap();
    let updates = Updates::default();
    let sink = updates.clone();
    let soon = Duration::from_millis(100);
    client
        .send_goal(FibonacciGoal { order: 1 }, soon, soon, move |(), update| sink.borrow_mut().push(update));
    here.until("the failure", || !updates.borrow().is_empty());
    assert!(
        matches!(&updates.borrow()[0], GoalUpdate::Failed(error) if error.to_string().contains("no server"))
    );
}
