//! A system that can be started and stopped by the protocol: a lifecycle node with the protocol's topics.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};

use rosless_graph::{
    Error, GidPrefix, Handle, Node, RawPublisher, Result, Topic,
    lifecycle::{CallbackReturn, LifecycleNode, LifecyclePublisher, Request, State, Step},
    now,
};
use rosless_wire::{
    Message,
    builtin_interfaces::msg::Time,
    rosless_msgs::srv::{ArmStart, ArmStartRequest, ArmStartResponse},
};

use super::wire::{self, Part};
use rosless_engine::{Engine as _, Wall};

use crate::{
    controlled::{Controlled, Input, Output},
    controller::Participant,
    dialect::Dialect,
    message::{Announcement, Command, Control, Kind},
    name::SystemId,
};

/// How a controlled node behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// One for a system of one dialect, several for a bridge between worlds.
    pub dialects: Vec<Dialect>,
    /// How long a START or STOP is slept over: to rehearse slow systems.
    pub delay: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { dialects: vec![Dialect::default()], delay: Duration::ZERO }
    }
}

/// What the system's own code is asked or told.
#[derive(Clone, Copy, Debug)]
pub enum Hook<'a> {
    /// A lifecycle transition: the answer decides whether it succeeds. Activation and deactivation may be
    /// [pending](CallbackReturn::Pending) until [`ControlledNode::finish`].
    Lifecycle(Step),
    /// `control_start`: activated and acknowledged by this START. The answer does not matter.
    Start(&'a Control),
    /// `control_stop`: deactivated and acknowledged by this STOP. The answer does not matter.
    Stop(&'a Control),
}

type HookFn<S> = Box<dyn FnMut(&mut S, &ControlledNode<S>, Hook<'_>) -> CallbackReturn>;

struct Inner<S> {
    handle: Handle<S>,
    node: Node,
    lifecycle: RefCell<Option<LifecycleNode<S>>>,
    engine: RefCell<Controlled>,
    acknowledgements: BTreeMap<Dialect, RawPublisher>,
    /// Made anew for every announcement, so that late joiners get only the latest.
    announcements: RefCell<Vec<RawPublisher>>,
    topics: RefCell<BTreeSet<String>>,
    hook: RefCell<HookFn<S>>,
    options: Options,
    /// Who spoke last: real controllers send before they listen, so an answer may have to wait for them.
    asker: Cell<Option<GidPrefix>>,
}

/// A controlled system. Cheap to clone.
pub struct ControlledNode<S>(Rc<Inner<S>>);

impl<S> Clone for ControlledNode<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> std::fmt::Debug for ControlledNode<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlledNode").field("node", &self.0.node).finish_non_exhaustive()
    }
}

impl<S: 'static> ControlledNode<S> {
    /// Makes `node` a controlled system. It is unconfigured until [`configure`](Self::configure) or the lifecycle
    /// services configure it; then it announces itself.
    pub fn new(
        handle: &Handle<S>,
        node: &Node,
        mut options: Options,
        hook: impl FnMut(&mut S, &Self, Hook<'_>) -> CallbackReturn + 'static,
    ) -> Result<Self> {
        // A dialect named twice is spoken once.
        options.dialects.sort_unstable();
        options.dialects.dedup();
        let id = SystemId::resolve(node.namespace(), node.name()).map_err(|e| Error::Usage(e.to_string()))?;
        let mut acknowledgements = BTreeMap::new();
        for dialect in &options.dialects {
            let topic = dialect.names().control_topic;
            acknowledgements.insert(*dialect, wire::control_publisher(node, *dialect, topic, Part::Answers)?);
        }
        let this = Self(Rc::new(Inner {
            handle: handle.clone(),
            node: node.clone(),
            lifecycle: RefCell::default(),
            engine: RefCell::new(Controlled::new(id)),
            acknowledgements,
            announcements: RefCell::default(),
            topics: RefCell::default(),
            hook: RefCell::new(Box::new(hook)),
            options,
            asker: Cell::default(),
        }));
        // Weak, because the lifecycle is ours: a ring of owners would outlive the event loop, and with it the node.
        let me = Rc::downgrade(&this.0);
        let lifecycle = handle.lifecycle(node, move |app, step| {
            me.upgrade().map_or(CallbackReturn::Failure, |me| Self(me).step(app, step))
        })?;
        this.0.lifecycle.replace(Some(lifecycle));
        for dialect in this.0.options.dialects.clone() {
            let me = this.clone();
            let topic = (dialect.names().control_topic, Part::Commands);
            wire::subscribe_control(handle, node, dialect, topic, move |_, message, info| {
                // Acknowledgements of systems of other makes come on the same topic.
                if matches!(message.kind, Kind::Start | Kind::Stop) {
                    me.0.asker.set(Some(info.publisher.prefix()));
                }
                me.put(Input::Control(dialect, message));
            })?;
        }
        let me = this.clone();
        handle.serve::<ArmStart>(node, "~/arm", move |_, request, responder| {
            let answer = me.arm(request, responder.asker());
            responder.reply(&answer);
        })?;
        let me = this.clone();
        handle.on_graph_change(move |_, graph| {
            let by = me.0.engine.borrow().armed_by();
            let lost = by.filter(|by| !graph.endpoints().any(|endpoint| endpoint.gid.prefix().0 == by.0));
            if let Some(participant) = lost {
                me.put(Input::Lost(participant));
            }
        });
        let (engine, me) = (this.clone(), this.clone());
        handle.drive(
            move |_, with: &mut dyn FnMut(&mut Controlled)| with(&mut engine.0.engine.borrow_mut()),
            move |app, output| me.act(app, output),
        );
        Ok(this)
    }

    /// The node that is controlled, for endpoints beside those of the protocol.
    pub fn node(&self) -> &Node {
        &self.0.node
    }

    /// The lifecycle state.
    pub fn state(&self) -> State {
        self.lifecycle().state()
    }

    /// Makes a transition from within, e.g. the CONFIGURE that most systems begin with.
    pub fn trigger(&self, app: &mut S, request: Request<'_>) -> bool {
        match self.lifecycle().trigger(app, request) {
            Ok(answer) => answer == CallbackReturn::Success,
            Err(error) => {
                log::warn!(target: self.0.node.logger(), "{error}");
                false
            }
        }
    }

    /// Tells the answer to a transition that was [pending](CallbackReturn::Pending). Not from within a hook, and from within
    /// what an engine wants done only by a timer: this mutates an engine that may have been drained already.
    pub fn finish(&self, app: &mut S, answer: CallbackReturn) {
        self.lifecycle().finish(app, answer);
    }

    /// The session of the START, or STOP, that is being obeyed; `None` when the lifecycle was asked directly.
    pub fn session(&self) -> Option<String> {
        self.0.engine.try_borrow().ok()?.obeying().map(|message| message.session.clone())
    }

    /// Configures the system, whereupon it announces itself.
    pub fn configure(&self, app: &mut S) -> bool {
        self.trigger(app, Request::CONFIGURE)
    }

    /// A publisher of the system's data: silent unless active, and listed in the announcement by this very name.
    pub fn publisher<'t, M: Message>(&self, topic: impl Into<Topic<'t>>) -> Result<LifecyclePublisher<M>> {
        let topic = topic.into();
        let publisher = self.lifecycle().publisher(topic)?;
        self.0.topics.borrow_mut().insert(topic.name.to_owned());
        Ok(publisher)
    }

    /// Announces these topics instead of those of the system's own publishers.
    pub fn set_topics(&self, topics: impl IntoIterator<Item = String>) {
        self.0.topics.replace(topics.into_iter().collect());
    }

    /// The topics that are announced, sorted.
    pub fn topics(&self) -> Vec<String> {
        self.0.topics.borrow().iter().cloned().collect()
    }

    /// The time this system puts into stamps.
    pub fn stamp(&self) -> Time {
        self.0.node.now()
    }

    fn wall(&self) -> Wall {
        let Time { sec, nanosec } = self.stamp();
        Wall::from_stamp(sec, nanosec)
    }

    fn lifecycle(&self) -> LifecycleNode<S> {
        self.0.lifecycle.borrow().clone().expect("set before anything can call")
    }

    fn step(&self, app: &mut S, step: Step) -> CallbackReturn {
        let answer = match self.call(app, Hook::Lifecycle(step)) {
            CallbackReturn::Pending if !matches!(step, Step::Activate | Step::Deactivate) => {
                log::error!(target: self.0.node.logger(), "only activation and deactivation can wait for an answer");
                CallbackReturn::Failure
            }
            answer => answer,
        };
        if step == Step::Configure
            && answer == CallbackReturn::Success
            && let Err(error) = self.announce()
        {
            log::error!(target: self.0.node.logger(), "cannot announce the system: {error}");
            return CallbackReturn::Failure;
        }
        answer
    }

    fn call(&self, app: &mut S, hook: Hook<'_>) -> CallbackReturn {
        match self.0.hook.try_borrow_mut() {
            Ok(mut own_code) => own_code(app, self, hook),
            Err(_) => {
                log::error!(target: self.0.node.logger(), "a hook cannot trigger transitions: use a timer for that");
                CallbackReturn::Failure
            }
        }
    }

    fn announce(&self) -> Result<()> {
        let announcement =
            Announcement { source: self.0.node.name().to_owned(), ros_version: 0, topics: self.topics() };
        let payload = wire::announcement_payload(&announcement);
        self.0.announcements.borrow_mut().clear();
        for dialect in &self.0.options.dialects {
            let topic = dialect.names().environment_topic;
            let publisher = wire::environment_publisher(&self.0.node, *dialect, topic)?;
            publisher.publish(payload.clone());
            self.0.announcements.borrow_mut().push(publisher);
        }
        Ok(())
    }

    fn put(&self, input: Input) {
        let state = Input::State(self.state().id().into());
        let now = rosless_engine::Now { wall: self.wall(), ..now() };
        let mut engine = self.0.engine.borrow_mut();
        engine.handle(state, now);
        engine.handle(input, now);
    }

    /// An appointment to start at an instant of our clock.
    fn arm(&self, request: ArmStartRequest, asker: GidPrefix) -> ArmStartResponse {
        let ArmStartRequest { at, session, source } = request;
        let stamp = Wall::from_stamp(at.sec, at.nanosec);
        let message = Control {
            kind: Kind::Start,
            stamp,
            source: source.clone(),
            session: session.clone(),
            systems: Vec::new(),
        };
        let now = rosless_engine::Now { wall: self.wall(), ..now() };
        let dialect = self.0.options.dialects.first().copied().unwrap_or_default();
        let mut engine = self.0.engine.borrow_mut();
        engine.handle(Input::State(self.state().id().into()), now);
        let armed = engine.arm(Participant(asker.0), dialect, message, now);
        match &armed {
            Ok(()) => {
                self.0.asker.set(Some(asker));
                log::info!(target: self.0.node.logger(), "armed for session {session:?} by {source:?}");
            }
            Err(reason) => log::warn!(target: self.0.node.logger(), "not armed: {reason}"),
        }
        let message = armed.as_ref().err().cloned().unwrap_or_default();
        ArmStartResponse { success: armed.is_ok(), message, stamp: self.stamp() }
    }

    /// Does what the engine wants done.
    fn act(&self, app: &mut S, output: Output) {
        match output {
            Output::Transition(command) if self.0.options.delay.is_zero() => self.transition(app, command),
            Output::Transition(command) => {
                let me = self.clone();
                self.0.handle.once(self.0.options.delay, move |app| me.transition(app, command));
            }
            Output::Publish(dialect, message) => {
                if let Some(publisher) = self.0.acknowledgements.get(&dialect) {
                    let payload = wire::control_payload(&message);
                    match self.0.asker.get() {
                        Some(asker) => publisher.publish_for(asker, payload),
                        None => publisher.publish(payload),
                    };
                }
            }
            Output::Hook(command, message) => {
                let hook = match command {
                    Command::Start => Hook::Start(&message),
                    Command::Stop => Hook::Stop(&message),
                };
                self.call(app, hook);
            }
            Output::Warn(text) => log::warn!(target: self.0.node.logger(), "{text}"),
            Output::Error(text) => log::error!(target: self.0.node.logger(), "{text}"),
        }
    }

    fn transition(&self, app: &mut S, command: Command) {
        let request = match command {
            Command::Start => Request::ACTIVATE,
            Command::Stop => Request::DEACTIVATE,
        };
        let me = self.clone();
        let finished = move |_: &mut S, succeeded| me.put(Input::Finished { succeeded });
        self.lifecycle().trigger_then(app, request, finished);
    }
}
