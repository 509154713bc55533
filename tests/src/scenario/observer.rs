//! The test's own node: only what it hears counts.

use std::{
    cell::{Ref, RefCell},
    rc::Rc,
    time::{Duration, Instant},
};

use rosless_graph::{Context, ContextOptions, EventLoop, Node, Publisher, Sample, Subscription, Topic};
use rosless_wire::{Message, Service};

use super::Role;

/// For whatever takes a moment, on a machine that is busy with other tests. Nothing waits longer than it must.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Conditions that no sample changes are looked at this often.
const TICK: Duration = Duration::from_millis(20);

/// A node in the test's process.
#[derive(Debug)]
pub struct Observer {
    pub context: Context,
    pub node: Node,
    pub event_loop: EventLoop<()>,
}

/// What a topic said, oldest first.
#[derive(Debug)]
pub struct Heard<M> {
    samples: Rc<RefCell<Vec<Sample<M>>>>,
    subscription: Subscription<()>,
}

impl<M> Heard<M> {
    pub fn samples(&self) -> Ref<'_, Vec<Sample<M>>> {
        self.samples.borrow()
    }

    pub fn len(&self) -> usize {
        self.samples.borrow().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn clear(&self) {
        self.samples.borrow_mut().clear();
    }

    /// Tells how many there are, also from inside callbacks.
    pub fn counter(&self) -> impl Fn() -> usize + 'static
    where
        M: 'static,
    {
        let samples = self.samples.clone();
        move || samples.borrow().len()
    }

    /// How many publishers it has.
    pub fn publishers(&self) -> usize {
        self.subscription.matched()
    }

    /// Messages that were published reliably and never came, decoded wrongly, or were of another type.
    pub fn faults(&self) -> u64 {
        let counters = self.subscription.counters();
        counters.undecodable + counters.wrong_type + counters.lost
    }
}

impl Observer {
    /// # Panics
    /// When the graph cannot be joined.
    pub fn join(options: ContextOptions) -> Self {
        let context = Context::new(options).expect("the observer can join");
        let node = context.node("observer").expect("the name is right");
        let event_loop = EventLoop::new(&context).expect("there are descriptors left");
        event_loop.timer(TICK, |()| {});
        Self { context, node, event_loop }
    }

    /// Runs until the condition holds; how long it took.
    ///
    /// # Panics
    /// With `what` when it does not hold in time.
    #[track_caller]
    pub fn wait(&self, what: &str, timeout: Duration, mut condition: impl FnMut() -> bool) -> Duration {
        let began = Instant::now();
        let held = self.event_loop.run_until(&mut (), timeout, |()| condition());
        assert!(held.expect("the event loop runs"), "not within {timeout:?}: {what}");
        began.elapsed()
    }

    /// Tries something until it works; how long that took.
    ///
    /// # Panics
    /// With the last reason when it does not work in time.
    #[track_caller]
    pub fn recover(
        &self,
        what: &str,
        timeout: Duration,
        mut attempt: impl FnMut() -> Result<(), String>,
    ) -> Duration {
        let began = Instant::now();
        while let Err(reason) = attempt() {
            assert!(began.elapsed() < timeout, "not within {timeout:?}: {what}: {reason}");
            self.linger(TICK);
        }
        began.elapsed()
    }

    /// Lets things happen that should not.
    pub fn linger(&self, duration: Duration) {
        self.event_loop.run_for(&mut (), duration).expect("the event loop runs");
    }

    /// Waits until all nodes of these daemons are on the graph; how long it took.
    #[track_caller]
    pub fn wait_for_nodes(&self, roles: &[Role]) -> Duration {
        let missing = || -> Vec<&str> {
            let graph = self.context.graph();
            let names = roles.iter().flat_map(|role| role.nodes()).map(String::as_str);
            names.filter(|name| !graph.has_node(name)).collect()
        };
        let began = Instant::now();
        let held = self.event_loop.run_until(&mut (), PATIENCE, |()| missing().is_empty());
        let nameless = || {
            let graph = self.context.graph();
            let endpoints: Vec<_> = graph.endpoints().collect();
            endpoints.iter().filter(|endpoint| graph.node_of(&endpoint.gid).is_none()).count()
        };
        assert!(
            held.expect("the event loop runs"),
            "not within {PATIENCE:?}: the nodes {:?}; {} endpoints belong to no node",
            missing(),
            nameless()
        );
        began.elapsed()
    }

    /// Whether any node of this daemon is on the graph.
    pub fn sees(&self, role: Role) -> bool {
        let graph = self.context.graph();
        role.nodes().iter().any(|name| graph.has_node(name))
    }

    /// Keeps everything that a topic says from now on.
    pub fn hear<'t, M: Message>(&self, topic: impl Into<Topic<'t>>) -> Heard<M> {
        let samples = Rc::new(RefCell::new(Vec::new()));
        let kept = samples.clone();
        let subscription = self
            .event_loop
            .subscribe::<M>(&self.node, topic, move |(), sample| kept.borrow_mut().push(sample))
            .expect("the topic's name is right");
        Heard { samples, subscription }
    }

    pub fn publisher<'t, M: Message>(&self, topic: impl Into<Topic<'t>>) -> Publisher<M> {
        self.node.publisher(topic).expect("the topic's name is right")
    }

    /// Calls a service; the error as text.
    ///
    /// # Errors
    /// When there was no answer within `timeout`.
    pub fn call<T: Service + 'static>(
        &self,
        service: &str,
        request: &T::Request,
        timeout: Duration,
    ) -> Result<T::Response, String> {
        let client = self.event_loop.client::<T>(&self.node, service).expect("the service's name is right");
        let answer = Rc::new(RefCell::new(None));
        let slot = answer.clone();
        client.call(request, timeout, move |(), response| *slot.borrow_mut() = Some(response));
        self.wait(service, timeout + PATIENCE, || answer.borrow().is_some());
        client.close();
        let answer = answer.borrow_mut().take().expect("there is an answer");
        answer.map_err(|error| format!("{service}: {error}"))
    }
}
