//! A node with a lifecycle that others can look at and change.

use std::{cell::RefCell, rc::Rc};

use rosless_wire::{
    Message,
    lifecycle_msgs::{msg, srv},
};

use super::{CallbackReturn, NotAvailable, Request, State, StateMachine, TRANSITIONS, Transition};
use crate::{Handle, Node, Publisher, Result, Topic, TopicQos};

/// What the node's own code is asked to do in a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Make what needs parameters; say nothing yet.
    Configure,
    /// Give back what `Configure` made.
    CleanUp,
    /// Begin.
    Activate,
    /// Pause, so that `Activate` can follow.
    Deactivate,
    /// With the state the node comes from.
    Shutdown(State),
    /// A callback answered with an error: tidy up. Success leads to unconfigured, anything else to finalized.
    /// With the state the node came from before the callback that failed.
    Error(State),
}

type Callback<S> = RefCell<Box<dyn FnMut(&mut S, Step) -> CallbackReturn>>;

/// What is to be done when a transition has its answer.
type Then<S> = Box<dyn FnOnce(&mut S, bool)>;

struct Inner<S> {
    node: Node,
    /// Shared with the node's publishers.
    machine: Rc<StateMachine>,
    callback: Callback<S>,
    /// Who waits for an answer that is pending.
    then: RefCell<Option<Then<S>>>,
    events: Publisher<msg::TransitionEvent>,
}

/// A managed node: its state machine, the five services and `~/transition_event`. Cheap to clone.
pub struct LifecycleNode<S>(Rc<Inner<S>>);

impl<S> Clone for LifecycleNode<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> std::fmt::Debug for LifecycleNode<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LifecycleNode").field("node", &self.0.node).field("state", &self.state()).finish()
    }
}

impl<S> LifecycleNode<S> {
    /// The node that is managed.
    pub fn node(&self) -> &Node {
        &self.0.node
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.0.machine.state()
    }

    /// A publisher that is silent unless the node is active.
    pub fn publisher<'t, M: Message>(&self, topic: impl Into<Topic<'t>>) -> Result<LifecyclePublisher<M>> {
        let publisher = self.0.node.publisher(topic)?;
        Ok(LifecyclePublisher { publisher, machine: self.0.machine.clone() })
    }

    /// Makes a transition from within the process, as if the service had asked for it.
    ///
    /// # Errors
    /// When the state does not offer the transition, or when a callback of this node is running.
    pub fn trigger(&self, app: &mut S, request: Request<'_>) -> Result<CallbackReturn, NotAvailable> {
        // The machine refuses to begin another transition while a callback runs, so it is never borrowed twice.
        let callback = |state, from| (self.0.callback.borrow_mut())(app, step(state, from));
        self.0.machine.run(request, callback, |transition| self.0.announce(transition))
    }

    /// The same, and tells `then` whether it succeeded: now, or when a pending answer is told. What is not available is
    /// logged.
    pub fn trigger_then(&self, app: &mut S, request: Request<'_>, then: impl FnOnce(&mut S, bool) + 'static) {
        match self.trigger(app, request) {
            Ok(CallbackReturn::Pending) => drop(self.0.then.replace(Some(Box::new(then)))),
            Ok(answer) => then(app, answer == CallbackReturn::Success),
            Err(error) => {
                log::warn!(target: self.node().logger(), "{error}");
                then(app, false);
            }
        }
    }

    /// Tells the answer that was [pending](CallbackReturn::Pending). Without one nothing happens.
    pub fn finish(&self, app: &mut S, answer: CallbackReturn) {
        let callback = |state, from| (self.0.callback.borrow_mut())(app, step(state, from));
        let waited = self.0.machine.resume(answer, callback, |transition| self.0.announce(transition));
        if waited
            && answer != CallbackReturn::Pending
            && let Some(then) = self.0.then.take()
        {
            then(app, answer == CallbackReturn::Success);
        }
    }
}

fn step(state: State, from: State) -> Step {
    match state {
        State::Configuring => Step::Configure,
        State::CleaningUp => Step::CleanUp,
        State::Activating => Step::Activate,
        State::Deactivating => Step::Deactivate,
        State::ShuttingDown => Step::Shutdown(from),
        _ => Step::Error(from),
    }
}

impl<S> Inner<S> {
    fn announce(&self, transition: Transition) {
        log::debug!(target: self.node.logger(), "{}: {} -> {}", transition.label, transition.start, transition.goal);
        let stamp = self.node.now();
        let timestamp =
            u64::try_from(stamp.sec).unwrap_or_default() * 1_000_000_000 + u64::from(stamp.nanosec);
        let msg::TransitionDescription { transition, start_state, goal_state } = transition.into();
        self.events.publish(&msg::TransitionEvent { timestamp, transition, start_state, goal_state });
    }
}

/// A publisher of a managed node.
pub struct LifecyclePublisher<M> {
    publisher: Publisher<M>,
    machine: Rc<StateMachine>,
}

impl<M> Clone for LifecyclePublisher<M> {
    fn clone(&self) -> Self {
        Self { publisher: self.publisher.clone(), machine: self.machine.clone() }
    }
}

impl<M> std::fmt::Debug for LifecyclePublisher<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LifecyclePublisher").field("publisher", &self.publisher).finish_non_exhaustive()
    }
}

impl<M: Message> LifecyclePublisher<M> {
    /// Publishes when the node is active; `false` when it is not, or when there was no room.
    pub fn publish(&self, message: &M) -> bool {
        self.machine.state() == State::Active && self.publisher.publish(message)
    }

    /// The publisher itself, which does not care about the node's state.
    pub fn inner(&self) -> &Publisher<M> {
        &self.publisher
    }
}

impl From<Transition> for msg::TransitionDescription {
    fn from(transition: Transition) -> Self {
        Self {
            transition: msg::Transition { id: transition.id, label: transition.label.to_owned() },
            start_state: transition.start.into(),
            goal_state: transition.goal.into(),
        }
    }
}

impl<S: 'static> Handle<S> {
    /// Gives `node` a lifecycle. It starts unconfigured; `callback` is asked in every transition.
    pub fn lifecycle(
        &self,
        node: &Node,
        callback: impl FnMut(&mut S, Step) -> CallbackReturn + 'static,
    ) -> Result<LifecycleNode<S>> {
        let lifecycle = LifecycleNode(Rc::new(Inner {
            node: node.clone(),
            machine: Rc::default(),
            callback: RefCell::new(Box::new(callback)),
            then: RefCell::default(),
            // Latched: who asks later why a transition failed still hears of it. Ordinary subscriptions get only new ones.
            events: node.publisher("~/transition_event".transient_local())?,
        }));

        let this = lifecycle.clone();
        self.serve::<srv::ChangeState>(node, "~/change_state", move |app, request, responder| {
            let request = Request::new(request.transition.id, &request.transition.label);
            let reply = move |_: &mut S, success| responder.reply(&srv::ChangeStateResponse { success });
            this.trigger_then(app, request, reply);
        })?;
        let this = lifecycle.clone();
        self.serve::<srv::GetState>(node, "~/get_state", move |_, _, responder| {
            responder.reply(&srv::GetStateResponse { current_state: this.state().into() });
        })?;
        self.serve::<srv::GetAvailableStates>(node, "~/get_available_states", |_, _, responder| {
            let available_states = State::ALL.into_iter().map(Into::into).collect();
            responder.reply(&srv::GetAvailableStatesResponse { available_states });
        })?;
        let this = lifecycle.clone();
        let available = move |_: &mut S, _, responder: crate::Responder<srv::GetAvailableTransitions>| {
            let available_transitions = this.0.machine.available().map(Into::into).collect();
            responder.reply(&srv::GetAvailableTransitionsResponse { available_transitions });
        };
        self.serve::<srv::GetAvailableTransitions>(node, "~/get_available_transitions", available)?;
        self.serve::<srv::GetAvailableTransitions>(node, "~/get_transition_graph", |_, _, responder| {
            let available_transitions = TRANSITIONS.into_iter().map(Into::into).collect();
            responder.reply(&srv::GetAvailableTransitionsResponse { available_transitions });
        })?;
        Ok(lifecycle)
    }
}
