//! All goals of one action server: who may cancel what, who waits for which result, and when it is forgotten.

use std::{collections::VecDeque, time::Duration};

use super::goal::{GoalEvent, GoalId, GoalState};

/// How long a result can be asked for after the goal ended, unless told otherwise: rcl's default.
pub const RESULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Askers remembered per goal; a client that asks again and again only pushes out its own earlier questions.
const MAX_WAITING: usize = 256;

/// A goal with the time it was accepted at, in nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoalInfo {
    /// Which goal.
    pub id: GoalId,
    /// When it was accepted, in nanoseconds since 1970.
    pub stamp: i64,
}

/// The answer to a cancel request, numbered as in `action_msgs/srv/CancelGoal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum CancelCode {
    /// At least one goal is being canceled.
    None = 0,
    /// The server does not want to.
    Rejected = 1,
    /// There is no such goal.
    UnknownGoal = 2,
    /// The goal has ended already.
    GoalTerminated = 3,
}

impl CancelCode {
    /// Its number on the wire.
    pub fn id(self) -> i8 {
        self as i8
    }
}

/// Why a goal could not be moved on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "fields are named in the text of each")]
pub enum GoalError {
    /// It never was, or its result was kept long enough.
    #[error("goal {0} is not known (any more)")]
    Unknown(GoalId),
    /// Its id is taken.
    #[error("goal {0} exists already")]
    Duplicate(GoalId),
    /// Its state does not lead there.
    #[error("goal {id} is {state}: {event:?} is not possible")]
    Impossible { id: GoalId, state: GoalState, event: GoalEvent },
}

/// What to do with a request for a result.
#[derive(Debug, PartialEq, Eq)]
pub enum ResultAnswer<'a, R, W> {
    /// The goal has ended: answer now.
    Ready(W, GoalState, &'a R),
    /// The asker is remembered until the goal ends.
    Waiting,
    /// Never heard of, or forgotten: answer with status unknown.
    Unknown(W),
}

#[derive(Debug)]
struct Goal<R, W> {
    info: GoalInfo,
    state: GoalState,
    waiting: VecDeque<W>,
    ended: Option<(R, Duration)>,
}

/// The goals of one server; `R` is a result, `W` an asker who waits for one.
#[derive(Debug)]
pub struct Goals<R, W> {
    goals: Vec<Goal<R, W>>,
    result_timeout: Duration,
}

impl<R, W> Default for Goals<R, W> {
    fn default() -> Self {
        Self::new(RESULT_TIMEOUT)
    }
}

impl<R, W> Goals<R, W> {
    /// No goals yet; results are kept for `result_timeout`.
    pub fn new(result_timeout: Duration) -> Self {
        Self { goals: Vec::new(), result_timeout }
    }

    fn find(&mut self, id: GoalId) -> Result<&mut Goal<R, W>, GoalError> {
        self.goals.iter_mut().find(|goal| goal.info.id == id).ok_or(GoalError::Unknown(id))
    }

    /// Where a goal stands; [`GoalState::Unknown`] when it was forgotten.
    pub fn state(&self, id: GoalId) -> GoalState {
        self.goals.iter().find(|goal| goal.info.id == id).map_or(GoalState::Unknown, |goal| goal.state)
    }

    /// Takes a new goal in.
    pub fn accept(&mut self, info: GoalInfo) -> Result<(), GoalError> {
        if self.state(info.id) != GoalState::Unknown {
            return Err(GoalError::Duplicate(info.id));
        }
        self.goals.push(Goal { info, state: GoalState::Accepted, waiting: VecDeque::new(), ended: None });
        Ok(())
    }

    fn apply(goal: &mut Goal<R, W>, event: GoalEvent) -> Result<(), GoalError> {
        let (id, state) = (goal.info.id, goal.state);
        goal.state = state.after(event).ok_or(GoalError::Impossible { id, state, event })?;
        Ok(())
    }

    /// The server begins with a goal.
    pub fn execute(&mut self, id: GoalId) -> Result<(), GoalError> {
        self.find(id).and_then(|goal| Self::apply(goal, GoalEvent::Execute))
    }

    /// The server agreed to cancel the goal; the work itself may take its time to stop.
    pub fn cancel(&mut self, id: GoalId) -> Result<(), GoalError> {
        self.find(id).and_then(|goal| Self::apply(goal, GoalEvent::Cancel))
    }

    /// Ends the goal by `event` (succeed, abort or canceled) and returns everybody who waits for its result.
    pub fn end(
        &mut self,
        id: GoalId,
        event: GoalEvent,
        result: R,
        now: Duration,
    ) -> Result<Vec<W>, GoalError> {
        let goal = self.find(id)?;
        if !goal.state.after(event).is_some_and(GoalState::is_terminal) {
            return Err(GoalError::Impossible { id, state: goal.state, event });
        }
        Self::apply(goal, event)?;
        goal.ended = Some((result, now));
        Ok(goal.waiting.drain(..).collect())
    }

    /// Somebody asks for the result of a goal.
    pub fn request_result(&mut self, id: GoalId, asker: W) -> ResultAnswer<'_, R, W> {
        match self.find(id) {
            Err(_) => ResultAnswer::Unknown(asker),
            Ok(goal) => match &goal.ended {
                Some((result, _)) => ResultAnswer::Ready(asker, goal.state, result),
                None => {
                    if goal.waiting.len() == MAX_WAITING {
                        goal.waiting.pop_front();
                    }
                    goal.waiting.push_back(asker);
                    ResultAnswer::Waiting
                }
            },
        }
    }

    /// The goals a cancel request means, before the server is asked about each.
    ///
    /// | goal id | stamp | meaning |
    /// |---|---|---|
    /// | zero | zero | all goals |
    /// | zero | given | goals accepted at or before the stamp |
    /// | given | zero | that goal |
    /// | given | given | that goal, and those accepted at or before the stamp |
    pub fn cancel_candidates(&self, request: GoalInfo) -> (CancelCode, Vec<GoalInfo>) {
        let cancelable = |goal: &&Goal<R, W>| goal.state.after(GoalEvent::Cancel).is_some();
        if request.id != GoalId::ZERO && request.stamp == 0 {
            return match self.goals.iter().find(|goal| goal.info.id == request.id) {
                None => (CancelCode::UnknownGoal, Vec::new()),
                Some(goal) if cancelable(&goal) => (CancelCode::None, vec![goal.info]),
                Some(_) => (CancelCode::GoalTerminated, Vec::new()),
            };
        }
        let until = if request.stamp == 0 { i64::MAX } else { request.stamp };
        let meant = |goal: &&Goal<R, W>| goal.info.stamp <= until || goal.info.id == request.id;
        let goals = self.goals.iter().filter(cancelable).filter(meant).map(|goal| goal.info);
        (CancelCode::None, goals.collect())
    }

    /// Every goal that is not forgotten yet: the content of the status topic.
    pub fn statuses(&self) -> impl Iterator<Item = (GoalInfo, GoalState)> + '_ {
        self.goals.iter().map(|goal| (goal.info, goal.state))
    }

    /// Forgets goals whose result was kept long enough; true when there were any.
    pub fn expire(&mut self, now: Duration) -> bool {
        let before = self.goals.len();
        let timeout = self.result_timeout;
        self.goals.retain(|goal| goal.ended.as_ref().is_none_or(|(_, at)| now < at.saturating_add(timeout)));
        self.goals.len() < before
    }

    /// When [`Self::expire`] has something to do next.
    pub fn next_deadline(&self) -> Option<Duration> {
        let ended = self.goals.iter().filter_map(|goal| goal.ended.as_ref());
        ended.map(|(_, at)| at.saturating_add(self.result_timeout)).min()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Table = Goals<&'static str, u32>;

    fn id(n: u8) -> GoalId {
        GoalId([n; 16])
    }

    fn info(n: u8, stamp: i64) -> GoalInfo {
        GoalInfo { id: id(n), stamp }
    }

    fn seconds(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    /// Goals 1 to 4, accepted at 10, 20, 30, 40; 2 executes, 3 is canceling, 4 has ended.
    fn table() -> Table {
        let mut goals = Table::default();
        for n in 1..=4 {
            goals.accept(info(n, i64::from(n) * 10)).unwrap();
        }
        for n in 2..=4 {
            goals.execute(id(n)).unwrap();
        }
        goals.cancel(id(3)).unwrap();
        goals.end(id(4), GoalEvent::Succeed, "done", seconds(1)).unwrap();
        goals
    }

    #[test]
    fn events_move_a_goal_only_along_the_edges_of_rcl() {
        use {GoalEvent::*, GoalState as S};
        let edges = [
            (S::Accepted, Execute, S::Executing),
            (S::Accepted, Cancel, S::Canceling),
            (S::Executing, Cancel, S::Canceling),
            (S::Executing, Succeed, S::Succeeded),
            (S::Executing, Abort, S::Aborted),
            (S::Canceling, Succeed, S::Succeeded),
            (S::Canceling, Abort, S::Aborted),
            (S::Canceling, Canceled, S::Canceled),
        ];
        for state in (0..=7).map(S::from_id) {
            for event in [Execute, Cancel, Succeed, Abort, Canceled] {
                let expected =
                    edges.iter().find(|(s, e, _)| (*s, *e) == (state, event)).map(|(_, _, to)| *to);
                assert_eq!(state.after(event), expected, "{state} {event:?}");
            }
        }
    }

    #[test]
    fn cancel_requests_mean_what_rcl_says() {
        let goals = table();
        let ids = |id: GoalId, stamp| {
            let (code, found) = goals.cancel_candidates(GoalInfo { id, stamp });
            (code, found.iter().map(|g| g.id.0[0]).collect::<Vec<_>>())
        };
        assert_eq!(ids(GoalId::ZERO, 0), (CancelCode::None, vec![1, 2]));
        assert_eq!(ids(GoalId::ZERO, 15), (CancelCode::None, vec![1]));
        assert_eq!(ids(GoalId::ZERO, 10), (CancelCode::None, vec![1]));
        assert_eq!(ids(GoalId::ZERO, 5), (CancelCode::None, vec![]));
        assert_eq!(ids(id(2), 0), (CancelCode::None, vec![2]));
        assert_eq!(ids(id(2), 15), (CancelCode::None, vec![1, 2]));
        assert_eq!(ids(id(3), 0), (CancelCode::GoalTerminated, vec![]));
        assert_eq!(ids(id(4), 0), (CancelCode::GoalTerminated, vec![]));
        assert_eq!(ids(id(9), 0), (CancelCode::UnknownGoal, vec![]));
        assert_eq!(ids(id(9), 25), (CancelCode::None, vec![1, 2]));
    }

    #[test]
    fn a_result_is_given_to_those_who_wait_and_to_those_who_come_in_time() {
        let mut goals = table();
        assert_eq!(goals.request_result(id(2), 7), ResultAnswer::Waiting);
        assert_eq!(goals.request_result(id(2), 8), ResultAnswer::Waiting);
        assert_eq!(goals.end(id(2), GoalEvent::Abort, "failed", seconds(5)), Ok(vec![7, 8]));
        assert_eq!(goals.request_result(id(2), 9), ResultAnswer::Ready(9, GoalState::Aborted, &"failed"));
        assert_eq!(goals.request_result(id(9), 1), ResultAnswer::Unknown(1));

        assert_eq!(goals.next_deadline(), Some(seconds(11)));
        assert!(!goals.expire(seconds(11) - Duration::from_nanos(1)));
        assert!(goals.expire(seconds(11)));
        assert_eq!(goals.request_result(id(4), 1), ResultAnswer::Unknown(1));
        assert_eq!(goals.next_deadline(), Some(seconds(15)));
        assert!(goals.expire(seconds(15)));
        assert_eq!(goals.next_deadline(), None);
        assert_eq!(goals.statuses().count(), 2);
    }

    #[test]
    fn the_impossible_is_refused_by_name() {
        let mut goals = table();
        assert_eq!(goals.accept(info(1, 99)), Err(GoalError::Duplicate(id(1))));
        assert_eq!(goals.execute(id(9)), Err(GoalError::Unknown(id(9))));
        let error = goals.end(id(1), GoalEvent::Succeed, "x", seconds(0)).unwrap_err().to_string();
        assert!(error.contains("accepted") && error.contains("Succeed"), "{error}");
        assert!(goals.end(id(2), GoalEvent::Cancel, "x", seconds(0)).is_err());
        assert_eq!(goals.state(id(2)), GoalState::Executing);
    }

    #[test]
    fn askers_are_bounded() {
        let mut goals = table();
        for asker in 0..1000 {
            goals.request_result(id(1), asker);
        }
        goals.execute(id(1)).unwrap();
        let told = goals.end(id(1), GoalEvent::Succeed, "x", seconds(0)).unwrap();
        assert_eq!((told.len(), told.last()), (MAX_WAITING, Some(&999)));
    }

    #[test]
    fn goal_ids_are_version_4_uuids() {
        let (a, b) = (GoalId::random(), GoalId::random());
        assert_ne!(a, b);
        let text = a.to_string();
        assert_eq!((text.len(), text.as_bytes()[14]), (36, b'4'));
        assert!(b"89ab".contains(&text.as_bytes()[19]));
    }

    proptest! {
        #[test]
        fn terminal_states_are_final_and_results_are_there_exactly_then(
            steps in proptest::collection::vec((1u8..4, 0u8..7), 0..60)
        ) {
            let mut goals = Goals::<u32, u32>::default();
            for (n, step) in steps {
                let before = goals.state(id(n));
                let _ = match step {
                    0 => goals.accept(info(n, 1)),
                    1 => goals.execute(id(n)),
                    2 => goals.cancel(id(n)),
                    3 => goals.end(id(n), GoalEvent::Succeed, 0, seconds(0)).map(drop),
                    4 => goals.end(id(n), GoalEvent::Abort, 0, seconds(0)).map(drop),
                    5 => goals.end(id(n), GoalEvent::Canceled, 0, seconds(0)).map(drop),
                    _ => Ok(()),
                };
                if before.is_terminal() {
                    prop_assert_eq!(goals.state(id(n)), before);
                }
                let ready = matches!(goals.request_result(id(n), 0), ResultAnswer::Ready(..));
                prop_assert_eq!(ready, goals.state(id(n)).is_terminal());
            }
        }
    }
}
