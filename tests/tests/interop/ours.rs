//! Our side of a conversation with a foreign peer.

use std::time::{Duration, Instant};

use rosless_graph::{Context, ContextOptions, EventLoop, Node};
use rosless_tests::DomainLease;

/// Foreign discovery alone may take seconds on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A node with its event loop and the test's state.
pub(crate) struct Ours<S: 'static> {
    pub(crate) state: S,
    pub(crate) event_loop: EventLoop<S>,
    pub(crate) node: Node,
}

impl<S: 'static> Ours<S> {
    pub(crate) fn new(domain: &DomainLease, name: &str, state: S) -> Self {
        Self::with(ContextOptions::for_domain(domain.id()), name, state)
    }

    pub(crate) fn with(options: ContextOptions, name: &str, state: S) -> Self {
        let context = Context::new(options).expect("joins the domain");
        let node = context.node(name).expect("makes a node");
        let event_loop = EventLoop::new(&context).expect("makes an event loop");
        Self { state, event_loop, node }
    }

    /// Runs our event loop until `done`, which may look at our state and at foreign peers.
    #[track_caller]
    pub(crate) fn run_until(&mut self, what: &str, mut done: impl FnMut(&mut S) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done(&mut self.state) {
            assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
            self.event_loop.run_for(&mut self.state, Duration::from_millis(2)).expect("the loop runs");
        }
    }

    pub(crate) fn prefix(&self) -> [u8; 12] {
        self.node.context().gid().prefix().0
    }
}

/// USER_DATA as every ROS endpoint has it.
pub(crate) fn typehash(hash: &str) -> Vec<u8> {
    format!("typehash={hash};").into_bytes()
}
