//! A second process' worth of node: a context and an event loop on a thread of their own, and calls to it that wait.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use rosless_graph::{Context, ContextOptions, EventLoop, Node, config::Settings};
use rosless_tests::DomainLease;
use rosless_wire::Service;

/// Long enough for a loaded machine; nothing waits for it when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A node on another thread, alive until dropped.
pub(crate) struct Peer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    /// Starts a node with the ROS arguments `args`; `setup` registers what it does and makes its state.
    pub(crate) fn start<S: 'static>(
        domain: &DomainLease,
        name: &'static str,
        args: &str,
        setup: impl FnOnce(&EventLoop<S>, &Node) -> S + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let options = options(domain, args);
        let thread = std::thread::spawn(move || {
            let context = Context::new(options).unwrap();
            let events = EventLoop::new(&context).unwrap();
            let node = context.node(name).unwrap();
            let mut app = setup(&events, &node);
            while !stopped.load(Ordering::Relaxed) {
                events.run_for(&mut app, Duration::from_millis(20)).unwrap();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let result = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(result.is_some_and(|result| result.is_ok()), "the peer panicked");
        }
    }
}

/// Options for a context in the test's domain, as if the process had been started with `--ros-args` and `args`.
pub(crate) fn options(domain: &DomainLease, args: &str) -> ContextOptions {
    let args = ["test", "--ros-args"].into_iter().chain(args.split_whitespace()).map(str::to_owned);
    let (settings, _) = Settings::new(args, |_| None, |path| std::fs::read_to_string(path)).unwrap();
    let mut options = ContextOptions::for_domain(domain.id());
    options.settings.arguments = settings.arguments;
    options
}

/// The test's own end.
pub(crate) struct Here {
    pub(crate) events: EventLoop<()>,
    pub(crate) node: Node,
}

impl Here {
    pub(crate) fn new(domain: &DomainLease, name: &str) -> Self {
        let context = Context::new(ContextOptions::for_domain(domain.id())).unwrap();
        let events = EventLoop::new(&context).unwrap();
        Self { node: context.node(name).unwrap(), events }
    }

    /// Runs the event loop until the condition holds.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut done: impl FnMut() -> bool) {
        assert!(self.events.run_until(&mut (), PATIENCE, |()| done()).unwrap(), "gave up waiting: {what}");
    }

    /// Calls a service and waits for the answer.
    #[track_caller]
    pub(crate) fn call<T: Service>(&self, service: &str, request: T::Request) -> T::Response {
        let client = self.events.client::<T>(&self.node, service).unwrap();
        let answer = Rc::new(RefCell::new(None));
        let slot = answer.clone();
        client.call(&request, PATIENCE, move |(), result| *slot.borrow_mut() = Some(result));
        self.until(service, || answer.borrow().is_some());
        client.close();
        answer.take().unwrap().unwrap()
    }

    /// Collects what is published on a topic.
    pub(crate) fn collect<'t, M: rosless_wire::Message>(
        &self,
        topic: impl Into<rosless_graph::Topic<'t>>,
    ) -> Rc<RefCell<Vec<M>>> {
        let topic = topic.into();
        let heard = Rc::new(RefCell::new(Vec::new()));
        let sink = heard.clone();
        let keep =
            move |(): &mut (), sample: rosless_graph::Sample<M>| sink.borrow_mut().push(sample.message);
        let subscription = self.events.subscribe::<M>(&self.node, topic, keep).unwrap();
        self.until(topic.name, || subscription.matched() > 0);
        heard
    }
}
