//! A node of the test's own beside the programs under test, on a domain of their own.

use std::{
    cell::RefCell,
    fmt::Debug,
    rc::Rc,
    time::{Duration, Instant},
};

use rosless_graph::{CallError, Context, ContextOptions, EventLoop, Node, parameters::NamedValue};
use rosless_wire::{Service, rcl_interfaces::msg::SetParametersResult};

use crate::DomainLease;

type Answer<S, R> = Box<dyn FnOnce(&mut S, Result<R, CallError>)>;

/// What a daemon test starts from: `seen` is what the test's callbacks note. Fields are dropped in this order.
///
/// ```ignore
/// let mut rig = Rig::<Vec<String>>::new();
/// let _daemon = Daemon::spawn(rig.domain.command(env!("CARGO_BIN_EXE_talker"), &["run"]));
/// rig.events.subscribe::<Text>(&rig.node, "chatter", |seen, s| seen.push(s.message.data)).unwrap();
/// rig.until("the talker talks", |seen| !seen.is_empty());
/// ```
#[derive(Debug)]
pub struct Rig<S: 'static = ()> {
    pub events: EventLoop<S>,
    pub seen: S,
    pub node: Node,
    pub domain: DomainLease,
}

impl<S: Default + 'static> Rig<S> {
    /// On a domain of its own.
    pub fn new() -> Self {
        Self::on(DomainLease::acquire(), "observer")
    }

    /// With a node of that name.
    pub fn on(domain: DomainLease, node: &str) -> Self {
        Self::beside(&domain, node, S::default())
    }
}

impl<S: Default + 'static> Default for Rig<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: 'static> Rig<S> {
    /// Long, because the machine may be busy with other tests; nothing waits that long when all is well.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    /// Conditions that no event announces are looked at again.
    const LOOK: Duration = Duration::from_millis(5);

    /// Beside others on their domain, with something seen before.
    pub fn beside(domain: &DomainLease, node: &str, seen: S) -> Self {
        Self::joining(domain, ContextOptions::for_domain(domain.id()), node, seen)
    }

    /// Joined in a way of its own.
    pub fn joining(domain: &DomainLease, options: ContextOptions, node: &str, seen: S) -> Self {
        let context = Context::new(options).expect("the domain can be joined");
        let node = context.node(node).expect("a valid name");
        let events = EventLoop::new(&context).expect("one loop");
        Self { events, seen, node, domain: domain.clone() }
    }

    /// Runs the event loop until `done`, which may look at others, too.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&S) -> bool)
    where
        S: Debug,
    {
        let deadline = Instant::now() + Self::PATIENCE;
        while !self.events.run_until(&mut self.seen, Self::LOOK, |seen| done(seen)).expect("the loop runs") {
            assert!(
                Instant::now() < deadline,
                "not within {:?}: {what}; seen {:?}",
                Self::PATIENCE,
                self.seen
            );
        }
    }

    /// Runs the event loop for a while.
    pub fn observe(&mut self, duration: Duration) {
        self.events.run_for(&mut self.seen, duration).expect("the loop runs");
    }

    /// Waits for the answer to what `ask` asks: it gets the callback to ask with.
    #[track_caller]
    fn answered<R: 'static>(&mut self, what: &str, ask: impl FnOnce(&Self, Answer<S, R>)) -> R
    where
        S: Debug,
    {
        let answer = Rc::new(RefCell::new(None));
        let slot = answer.clone();
        ask(self, Box::new(move |_, result| *slot.borrow_mut() = Some(result)));
        self.until(what, |_| answer.borrow().is_some());
        answer.take().expect("an answer").unwrap_or_else(|error: CallError| panic!("{error}"))
    }

    /// Calls a service and waits for the answer.
    #[track_caller]
    pub fn call<T: Service + 'static>(&mut self, service: &str, request: &T::Request) -> T::Response
    where
        S: Debug,
    {
        let client = self.events.client::<T>(&self.node, service).expect("a valid service");
        let response = self.answered(service, |_, done| client.call(request, Self::PATIENCE, done));
        client.close();
        response
    }

    /// Sets parameters of another node; what it says to each.
    #[track_caller]
    pub fn set_parameters(&mut self, of: &str, values: &[NamedValue]) -> Vec<SetParametersResult>
    where
        S: Debug,
    {
        self.answered(of, |rig, done| {
            let parameters = rig.events.parameters_of(&rig.node, of);
            parameters.set(values, Self::PATIENCE, done).expect("a valid node");
        })
    }
}

/// Lets a test's own fixture be used like the [`Rig`] in its field `rig`.
#[macro_export]
macro_rules! extends_rig {
    ($fixture:ty, $seen:ty) => {
        impl std::ops::Deref for $fixture {
            type Target = $crate::Rig<$seen>;

            fn deref(&self) -> &Self::Target {
                &self.rig
            }
        }

        impl std::ops::DerefMut for $fixture {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.rig
            }
        }
    };
}
