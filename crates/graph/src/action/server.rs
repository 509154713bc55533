//! The serving end of an action.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use rosless_wire::{
    Action,
    action::{FeedbackMessage, GetResult, GetResultResponse, SendGoal, SendGoalResponse},
    action_msgs::{
        msg::{GoalStatus, GoalStatusArray},
        srv::{CancelGoal, CancelGoalResponse},
    },
};

use super::{
    CancelCode, GoalError, GoalEvent, GoalId, GoalInfo, GoalState, Goals, RESULT_TIMEOUT, ResultAnswer,
    messages::nanoseconds,
};
use crate::{GidPrefix, Handle, Introspection, Node, Publisher, Qos, Responder, Result, Server, monotonic};

/// What an application says to a goal that is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalResponse {
    /// It is not taken.
    Reject,
    /// Take it; it counts as executing from now on.
    Execute,
    /// Take it; it counts as executing once [`GoalHandle::execute`] is called.
    Defer,
}

/// What an application says to a request to cancel a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelResponse {
    /// It goes on.
    Reject,
    /// The goal is canceling from now on; the application ends it with [`GoalHandle::canceled`] when it is done.
    Accept,
}

struct Inner<A: Action> {
    node: Node,
    name: String,
    goals: RefCell<Goals<A::Result, Responder<GetResult<A>>>>,
    /// The goals that are not over, as their handles see them.
    active: RefCell<Vec<(GoalId, std::rc::Weak<GoalData<A>>)>>,
    feedback: Publisher<FeedbackMessage<A>>,
    status: Publisher<GoalStatusArray>,
    /// The status topic is behind; when to try (again) to bring it up to date.
    status_due: Cell<Option<Duration>>,
}

/// When the status found no room.
const STATUS_RETRY: Duration = Duration::from_millis(5);

impl<A: Action> Inner<A> {
    /// Several changes in a row make one sample: the topic keeps the last one only.
    fn status_changed(&self) {
        self.status_due.set(Some(Duration::ZERO));
    }

    fn publish_status(&self, now: Duration) {
        if self.status_due.get().is_none_or(|due| now < due) {
            return;
        }
        let status =
            |(info, state): (GoalInfo, GoalState)| GoalStatus { goal_info: info.into(), status: state.id() };
        let status_list = self.goals.borrow().statuses().map(status).collect();
        let published = self.status.publish(&GoalStatusArray { status_list });
        self.status_due.set((!published).then(|| now + STATUS_RETRY));
    }

    fn next_deadline(&self) -> Option<Duration> {
        [self.status_due.get(), self.goals.borrow().next_deadline()].into_iter().flatten().min()
    }

    fn turn(&self, now: Duration) {
        if self.goals.borrow_mut().expire(now) {
            self.status_changed();
        }
        self.publish_status(now);
    }

    fn handle(&self, id: GoalId) -> Option<GoalHandle<A>> {
        let active = self.active.borrow();
        active.iter().find(|(known, _)| *known == id)?.1.upgrade().map(GoalHandle)
    }

    fn end(&self, id: GoalId, event: GoalEvent, result: A::Result) -> Result<(), GoalError> {
        let waiting = self.goals.borrow_mut().end(id, event, result.clone(), monotonic())?;
        let status = self.goals.borrow().state(id).id();
        self.active.borrow_mut().retain(|(known, _)| *known != id);
        self.status_changed();
        let response = GetResultResponse { status, result };
        for responder in waiting {
            responder.reply(&response);
        }
        Ok(())
    }
}

struct GoalData<A: Action> {
    id: GoalId,
    goal: A::Goal,
    /// Its feedback subscription may be younger than its goal.
    asker: GidPrefix,
    server: Rc<Inner<A>>,
}

impl<A: Action> Drop for GoalData<A> {
    fn drop(&mut self) {
        let state = self.server.goals.borrow().state(self.id);
        let event = match state {
            GoalState::Canceling => GoalEvent::Canceled,
            GoalState::Executing => GoalEvent::Abort,
            // Only goals that execute can be aborted.
            GoalState::Accepted if self.server.goals.borrow_mut().execute(self.id).is_ok() => {
                GoalEvent::Abort
            }
            _ => return,
        };
        let node = &self.server.node;
        log::warn!(target: node.logger(), "{}: goal {} was given up while {state}", self.server.name, self.id);
        if let Err(error) = self.server.end(self.id, event, A::Result::default()) {
            log::error!(target: node.logger(), "{}: {error}", self.server.name);
        }
    }
}

/// A goal that was taken. Cheap to clone; when the last clone is dropped before the goal ended, it is aborted.
pub struct GoalHandle<A: Action>(Rc<GoalData<A>>);

impl<A: Action> Clone for GoalHandle<A> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<A: Action> std::fmt::Debug for GoalHandle<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GoalHandle").field("id", &self.0.id).field("state", &self.state()).finish()
    }
}

impl<A: Action> GoalHandle<A> {
    /// Which goal it is.
    pub fn id(&self) -> GoalId {
        self.0.id
    }

    /// What the client wants.
    pub fn goal(&self) -> &A::Goal {
        &self.0.goal
    }

    /// Where it stands.
    pub fn state(&self) -> GoalState {
        self.0.server.goals.borrow().state(self.0.id)
    }

    /// Whether somebody asked for the goal to be canceled and the application agreed.
    pub fn is_canceling(&self) -> bool {
        self.state() == GoalState::Canceling
    }

    /// Begins a goal that was deferred.
    pub fn execute(&self) -> Result<(), GoalError> {
        self.0.server.goals.borrow_mut().execute(self.0.id)?;
        self.0.server.status_changed();
        Ok(())
    }

    /// Tells everybody how far the goal is; `false` when there was no room.
    pub fn publish_feedback(&self, feedback: A::Feedback) -> bool {
        let message = FeedbackMessage { goal_id: self.0.id.into(), feedback };
        self.0.server.feedback.publish_for(self.0.asker, &message)
    }

    /// Ends the goal as done.
    pub fn succeed(&self, result: A::Result) -> Result<(), GoalError> {
        self.0.server.end(self.0.id, GoalEvent::Succeed, result)
    }

    /// Ends the goal as failed.
    pub fn abort(&self, result: A::Result) -> Result<(), GoalError> {
        self.0.server.end(self.0.id, GoalEvent::Abort, result)
    }

    /// Ends a goal that is canceling.
    pub fn canceled(&self, result: A::Result) -> Result<(), GoalError> {
        self.0.server.end(self.0.id, GoalEvent::Canceled, result)
    }
}

/// An action server on an event loop. Dropping it changes nothing; [`close`](Self::close) ends the service.
pub struct ActionServer<A: Action, S> {
    inner: Rc<Inner<A>>,
    servers: Vec<Server<S>>,
}

impl<A: Action, S> std::fmt::Debug for ActionServer<A, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActionServer").field("name", &self.inner.name).finish_non_exhaustive()
    }
}

impl<A: Action, S: 'static> ActionServer<A, S> {
    /// The full name of the action.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Publishes what goes through the action's three services on their `_service_event` topics, or no longer.
    pub fn configure_introspection(&self, state: Introspection) -> Result<()> {
        self.servers.iter().try_for_each(|server| server.configure_introspection(state))
    }

    /// Ends the service; peers see it vanish.
    pub fn close(self) {
        self.servers.into_iter().for_each(Server::close);
    }
}

impl<S: 'static> Handle<S> {
    /// Serves the action `name`; results can be asked for until ten seconds after a goal ended.
    ///
    /// `offered` says whether a goal is taken. `accepted` gets the handle of a goal that was; it must be kept until the
    /// goal ends, because a goal whose last handle is dropped is aborted. `cancel` says whether a goal is canceled;
    /// when it agrees, the goal is canceling as soon as it has returned, and the application ends it when it is done.
    pub fn action_server<A: Action>(
        &self,
        node: &Node,
        name: &str,
        offered: impl FnMut(&mut S, GoalId, &A::Goal) -> GoalResponse + 'static,
        accepted: impl FnMut(&mut S, GoalHandle<A>) + 'static,
        cancel: impl FnMut(&mut S, &GoalHandle<A>) -> CancelResponse + 'static,
    ) -> Result<ActionServer<A, S>> {
        self.action_server_with(node, name, RESULT_TIMEOUT, offered, accepted, cancel)
    }

    /// Serves an action and keeps results for `result_timeout`, see [`action_server`](Self::action_server).
    pub fn action_server_with<A: Action>(
        &self,
        node: &Node,
        name: &str,
        result_timeout: Duration,
        mut offered: impl FnMut(&mut S, GoalId, &A::Goal) -> GoalResponse + 'static,
        mut accepted: impl FnMut(&mut S, GoalHandle<A>) + 'static,
        mut cancel: impl FnMut(&mut S, &GoalHandle<A>) -> CancelResponse + 'static,
    ) -> Result<ActionServer<A, S>> {
        let name = node.resolve_topic(name)?;
        let part = |part: &str| format!("{name}/_action/{part}");
        let inner = Rc::new(Inner {
            node: node.clone(),
            goals: RefCell::new(Goals::new(result_timeout)),
            active: RefCell::default(),
            feedback: node.publisher(&part("feedback"))?,
            status: node.publisher((&part("status"), Qos::action_status()))?,
            status_due: Cell::new(Some(Duration::ZERO)),
            name: name.clone(),
        });

        let this = inner.clone();
        let send_goal =
            self.serve::<SendGoal<A>>(node, &part("send_goal"), move |app, request, responder| {
                let stamp = this.node.now();
                let info = GoalInfo { id: request.goal_id.into(), stamp: nanoseconds(stamp.clone()) };
                // A number that is taken says that this is a repeated or a forged goal.
                let known = this.goals.borrow().state(info.id) != GoalState::Unknown;
                let answer = if known { GoalResponse::Reject } else { offered(app, info.id, &request.goal) };
                let taken = answer != GoalResponse::Reject && this.goals.borrow_mut().accept(info).is_ok();
                let asker = responder.asker();
                responder.reply(&SendGoalResponse::new(taken, stamp));
                if !taken {
                    return;
                }
                let data = Rc::new(GoalData { id: info.id, goal: request.goal, asker, server: this.clone() });
                this.active.borrow_mut().push((info.id, Rc::downgrade(&data)));
                this.status_changed();
                let goal = GoalHandle(data);
                if answer == GoalResponse::Execute
                    && let Err(error) = goal.execute()
                {
                    log::error!(target: this.node.logger(), "{}: {error}", this.name);
                }
                accepted(app, goal);
            })?;

        let this = inner.clone();
        let cancel_goal =
            self.serve::<CancelGoal>(node, &part("cancel_goal"), move |app, request, responder| {
                let (mut code, candidates) = this.goals.borrow().cancel_candidates(request.goal_info.into());
                let agreed = |info: &GoalInfo| {
                    let goal = this.handle(info.id)?;
                    let agreed = cancel(app, &goal) == CancelResponse::Accept;
                    let canceling = agreed && this.goals.borrow_mut().cancel(info.id).is_ok();
                    canceling.then_some(goal)
                };
                // The handles are kept until the answer is out: the last one may end its goal.
                let asked = !candidates.is_empty();
                let canceling: Vec<_> = candidates.iter().map(agreed).collect();
                let agreed = candidates.iter().zip(&canceling).filter(|(_, goal)| goal.is_some());
                let goals_canceling: Vec<_> = agreed.map(|(info, _)| (*info).into()).collect();
                if asked && goals_canceling.is_empty() {
                    code = CancelCode::Rejected;
                }
                let changed = !goals_canceling.is_empty();
                responder.reply(&CancelGoalResponse { return_code: code.id(), goals_canceling });
                if changed {
                    this.status_changed();
                }
            })?;

        let this = inner.clone();
        let get_result =
            self.serve::<GetResult<A>>(node, &part("get_result"), move |_, request, responder| {
                let mut goals = this.goals.borrow_mut();
                match goals.request_result(request.goal_id.into(), responder) {
                    ResultAnswer::Waiting => {}
                    ResultAnswer::Ready(responder, state, result) => {
                        responder.reply(&GetResultResponse { status: state.id(), result: result.clone() });
                    }
                    ResultAnswer::Unknown(responder) => responder.reply(&GetResultResponse::default()),
                }
            })?;

        let (next, due, batch) = (Rc::downgrade(&inner), Rc::downgrade(&inner), Rc::downgrade(&inner));
        self.engine_deadline(
            move |_| next.upgrade()?.next_deadline(),
            move |_, now| {
                if let Some(inner) = due.upgrade() {
                    inner.turn(now);
                }
            },
        );
        self.after_batch(move |_| {
            if let Some(inner) = batch.upgrade() {
                inner.publish_status(monotonic());
            }
        });
        Ok(ActionServer { inner, servers: vec![send_goal, cancel_goal, get_result] })
    }
}
