//! The sides of a conversation, which run in turns on one thread.

use std::time::{Duration, Instant};

use rosless_graph::ContextOptions;
use rosless_tests::{DomainLease, Rig};

/// One turn.
pub(crate) const MOMENT: Duration = Duration::from_millis(2);

/// Without the services every node has by itself, the endpoints are those the test made.
pub(crate) fn side<S: 'static>(domain: &DomainLease, node: &str, seen: S) -> Rig<S> {
    let options = ContextOptions { node_services: false, ..ContextOptions::for_domain(domain.id()) };
    Rig::joining(domain, options, node, seen)
}

/// Lets two sides run in turns until `done`.
#[track_caller]
pub(crate) fn talk<A: 'static, B: 'static>(
    what: &str,
    a: &mut Rig<A>,
    b: &mut Rig<B>,
    mut done: impl FnMut(&mut Rig<A>, &mut Rig<B>) -> bool,
) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done(a, b) {
        assert!(Instant::now() < deadline, "not in time: {what}");
        a.observe(MOMENT);
        b.observe(MOMENT);
    }
}
