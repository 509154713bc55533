//! The asking end of an action.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::{Rc, Weak},
    time::Duration,
};

use rosless_wire::{
    Action,
    action::{FeedbackMessage, GetResult, GetResultRequest, SendGoal, SendGoalRequest},
    action_msgs::{
        msg::{GoalInfo, GoalStatusArray},
        srv::{CancelGoal, CancelGoalRequest, CancelGoalResponse},
    },
    builtin_interfaces::msg::Time,
};

use super::{GoalId, GoalState};
use crate::{CallError, Client, Handle, Introspection, Node, Qos, Result, Subscription};

/// What a client hears about its goal, in this order; after `Rejected`, `Ended` and `Failed` there is nothing more.
#[derive(Debug, Clone, PartialEq)]
pub enum GoalUpdate<A: Action> {
    /// The server took the goal, at this time of its clock.
    Accepted(Time),
    /// The server did not take the goal.
    Rejected,
    /// How far it is.
    Feedback(A::Feedback),
    /// The goal's state as the server publishes it.
    Status(GoalState),
    /// How the goal ended.
    Ended(GoalState, A::Result),
    /// The server did not answer: to the goal, or with the result.
    Failed(CallError),
}

type Callback<A, S> = Rc<RefCell<dyn FnMut(&mut S, GoalUpdate<A>)>>;

struct Goal<A: Action, S> {
    callback: Callback<A, S>,
    accepted: Cell<bool>,
    state: Cell<GoalState>,
}

struct Inner<A: Action, S> {
    name: String,
    send_goal: Client<SendGoal<A>, S>,
    cancel_goal: Client<CancelGoal, S>,
    get_result: Client<GetResult<A>, S>,
    goals: RefCell<BTreeMap<GoalId, Rc<Goal<A, S>>>>,
    subscriptions: RefCell<Vec<Subscription<S>>>,
}

/// Forgets the goals when the event loop ends: their callbacks may own the client.
struct Goals<A: Action, S>(Weak<Inner<A, S>>);

impl<A: Action, S> Drop for Goals<A, S> {
    fn drop(&mut self) {
        if let Some(inner) = self.0.upgrade() {
            drop(inner.goals.take());
        }
    }
}

/// A client of one action. Cheap to clone.
pub struct ActionClient<A: Action, S>(Rc<Inner<A, S>>);

impl<A: Action, S> Clone for ActionClient<A, S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<A: Action, S> std::fmt::Debug for ActionClient<A, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActionClient").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl<A: Action, S: 'static> Inner<A, S> {
    fn goal(&self, id: GoalId) -> Option<Rc<Goal<A, S>>> {
        self.goals.borrow().get(&id).cloned()
    }

    /// The last word about a goal.
    fn end(&self, app: &mut S, id: GoalId, update: GoalUpdate<A>) {
        let goal = self.goals.borrow_mut().remove(&id);
        if let Some(goal) = goal {
            (goal.callback.borrow_mut())(app, update);
        }
    }

    fn feedback(&self, app: &mut S, message: FeedbackMessage<A>) {
        // Feedback on the goals of other clients comes here, too.
        if let Some(goal) = self.goal(message.goal_id.into()) {
            (goal.callback.borrow_mut())(app, GoalUpdate::Feedback(message.feedback));
        }
    }

    fn status(&self, app: &mut S, message: &GoalStatusArray) {
        for status in &message.status_list {
            let state = GoalState::from_id(status.status);
            if let Some(goal) = self.goal(GoalId(status.goal_info.goal_id.uuid))
                && goal.state.replace(state) != state
                && goal.accepted.get()
            {
                (goal.callback.borrow_mut())(app, GoalUpdate::Status(state));
            }
        }
    }
}

impl<A: Action, S: 'static> ActionClient<A, S> {
    /// The full name of the action.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether all three services of a server are there.
    pub fn is_ready(&self) -> bool {
        let inner = &self.0;
        inner.send_goal.is_ready() && inner.cancel_goal.is_ready() && inner.get_result.is_ready()
    }

    /// Publishes what the client sends through the action's three services and gets from them on their `_service_event`
    /// topics, or no longer.
    pub fn configure_introspection(&self, state: Introspection) -> Result<()> {
        let inner = &self.0;
        inner.send_goal.configure_introspection(state)?;
        inner.cancel_goal.configure_introspection(state)?;
        inner.get_result.configure_introspection(state)
    }

    /// Offers a goal and follows it to its end: `callback` gets every update. The server must answer within
    /// `answer_timeout`, and the goal must end within `result_timeout` after that. A server that is not there yet is
    /// waited for.
    pub fn send_goal(
        &self,
        goal: A::Goal,
        answer_timeout: Duration,
        result_timeout: Duration,
        callback: impl FnMut(&mut S, GoalUpdate<A>) + 'static,
    ) -> GoalId {
        let id = GoalId::random();
        let entry = Goal {
            callback: Rc::new(RefCell::new(callback)),
            accepted: Cell::new(false),
            state: Cell::new(GoalState::Unknown),
        };
        self.0.goals.borrow_mut().insert(id, Rc::new(entry));
        let request = SendGoalRequest { goal_id: id.into(), goal };
        let this = self.clone();
        self.0.send_goal.call(&request, answer_timeout, move |app, answer| match answer {
            Err(error) => this.0.end(app, id, GoalUpdate::Failed(error)),
            Ok(answer) if !answer.accepted => this.0.end(app, id, GoalUpdate::Rejected),
            Ok(answer) => {
                this.await_result(id, result_timeout);
                if let Some(goal) = this.0.goal(id) {
                    goal.accepted.set(true);
                    (goal.callback.borrow_mut())(app, GoalUpdate::Accepted(answer.stamp));
                    // The status may have overtaken the answer.
                    if goal.state.get() != GoalState::Unknown {
                        (goal.callback.borrow_mut())(app, GoalUpdate::Status(goal.state.get()));
                    }
                }
            }
        });
        id
    }

    fn await_result(&self, id: GoalId, timeout: Duration) {
        let this = self.clone();
        self.0.get_result.call(&GetResultRequest::new(id.into()), timeout, move |app, answer| {
            let update = match answer {
                Ok(answer) => GoalUpdate::Ended(GoalState::from_id(answer.status), answer.result),
                Err(error) => GoalUpdate::Failed(error),
            };
            this.0.end(app, id, update);
        });
    }

    /// Asks for the result of any goal, also of another client's, as long as the server keeps it. A server that does
    /// not know the goal answers with [`GoalState::Unknown`].
    pub fn get_result(
        &self,
        id: GoalId,
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<(GoalState, A::Result), CallError>) + 'static,
    ) {
        self.0.get_result.call(&GetResultRequest::new(id.into()), timeout, move |app, answer| {
            callback(app, answer.map(|answer| (GoalState::from_id(answer.status), answer.result)));
        });
    }

    /// Asks the server to cancel a goal.
    pub fn cancel(
        &self,
        id: GoalId,
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<CancelGoalResponse, CallError>) + 'static,
    ) {
        self.cancel_many(GoalInfo { goal_id: id.into(), stamp: Time::default() }, timeout, callback);
    }

    /// Asks the server to cancel the goals that `which` means; all of them with [`GoalInfo::default`].
    pub fn cancel_many(
        &self,
        which: GoalInfo,
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<CancelGoalResponse, CallError>) + 'static,
    ) {
        self.0.cancel_goal.call(&CancelGoalRequest { goal_info: which }, timeout, callback);
    }

    /// Ends the client; its goals go on without it and are not heard of any more.
    pub fn close(self) {
        self.0.goals.borrow_mut().clear();
        self.0.subscriptions.take().into_iter().for_each(Subscription::close);
        self.0.send_goal.clone().close();
        self.0.cancel_goal.clone().close();
        self.0.get_result.clone().close();
    }
}

impl<S: 'static> Handle<S> {
    /// A client of the action `name`.
    pub fn action_client<A: Action>(&self, node: &Node, name: &str) -> Result<ActionClient<A, S>> {
        let name = node.resolve_topic(name)?;
        let part = |part: &str| format!("{name}/_action/{part}");
        let inner = Rc::new(Inner {
            send_goal: self.client(node, &part("send_goal"))?,
            cancel_goal: self.client(node, &part("cancel_goal"))?,
            get_result: self.client(node, &part("get_result"))?,
            goals: RefCell::default(),
            subscriptions: RefCell::default(),
            name: name.clone(),
        });
        let goals = Goals(Rc::downgrade(&inner));
        let feedback =
            self.subscribe::<FeedbackMessage<A>>(node, &part("feedback"), move |app, sample| {
                if let Some(inner) = goals.0.upgrade() {
                    inner.feedback(app, sample.message);
                }
            })?;
        let this = Rc::downgrade(&inner);
        let status = self.subscribe::<GoalStatusArray>(
            node,
            (&part("status"), Qos::action_status()),
            move |app, sample| {
                if let Some(inner) = this.upgrade() {
                    inner.status(app, &sample.message);
                }
            },
        )?;
        inner.subscriptions.replace(vec![feedback, status]);
        Ok(ActionClient(inner))
    }
}
