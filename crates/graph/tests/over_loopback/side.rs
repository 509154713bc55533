//! One side of a conversation: a context with its node, event loop and state.

use std::time::{Duration, Instant};

use rosless_graph::{Context, ContextOptions, EventLoop, Node};
use rosless_tests::DomainLease;

pub(crate) struct Side<S: 'static> {
    pub(crate) state: S,
    pub(crate) event_loop: EventLoop<S>,
    pub(crate) node: Node,
}

impl<S: 'static> Side<S> {
    pub(crate) fn new(domain: &DomainLease, node: &str, state: S) -> Self {
        // Without the services every node has by itself, the endpoints are those the test made.
        let options = ContextOptions { node_services: false, ..ContextOptions::for_domain(domain.id()) };
        let context = Context::new(options).unwrap();
        let node = context.node(node).unwrap();
        let event_loop = EventLoop::new(&context).unwrap();
        Self { state, event_loop, node }
    }

    /// Runs this side for a moment.
    pub(crate) fn turn(&mut self) {
        self.event_loop.run_for(&mut self.state, Duration::from_millis(2)).unwrap();
    }
}

/// Lets two sides run in turns on this thread until `done`.
#[track_caller]
pub(crate) fn talk<A: 'static, B: 'static>(
    what: &str,
    a: &mut Side<A>,
    b: &mut Side<B>,
    mut done: impl FnMut(&mut Side<A>, &mut Side<B>) -> bool,
) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done(a, b) {
        assert!(Instant::now() < deadline, "not in time: {what}");
        a.turn();
        b.turn();
    }
}
