//! One command's presence on the graph: a hidden node, an event loop, and waiting with a limit.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use rosless_graph::{
    CallError, Completeness, Context, ContextOptions, EventLoop, Graph, Node, Qos, RawClient, RawPublisher,
    TypeAndHash, config::Settings,
};
use rosless_wire::Service;

use crate::{
    failure::{Failure, Result},
    output::err,
};

/// A graph that is not complete by then is looked at as it is.
const LONGEST_DISCOVERY: Duration = Duration::from_secs(4);
const TICK: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) context: Context,
    pub(crate) node: Node,
    pub(crate) event_loop: EventLoop<()>,
    /// `--spin-time`.
    spin_time: Option<Duration>,
    completeness: RefCell<Completeness>,
    /// An incomplete graph is complained about once.
    complained: Cell<bool>,
}

impl Session {
    /// Joins the graph with a hidden node; `node` is its name where others are meant to see it.
    pub(crate) fn join(
        settings: &Settings,
        spin_time: Option<Duration>,
        node: Option<&str>,
        handle_signals: bool,
    ) -> Result<Self> {
        let mut settings = settings.clone();
        settings.arguments.rosout_logs = false;
        let options = ContextOptions { settings, handle_signals, node_services: false };
        let context = Context::new(options)?;
        let own_name = format!("_rosless_{}", std::process::id());
        let node = context.node(node.unwrap_or(&own_name))?;
        let event_loop = EventLoop::new(&context)?;
        // Conditions that depend on the clock are looked at this often.
        event_loop.timer(TICK, |()| {});
        let completeness = RefCell::new(context.completeness());
        Ok(Self { context, node, event_loop, spin_time, completeness, complained: Cell::new(false) })
    }

    pub(crate) fn graph(&self) -> Rc<Graph> {
        self.context.graph()
    }

    /// Runs until `done`, at most for `timeout`; `false` when the time was up.
    pub(crate) fn run_until(&self, timeout: Duration, mut done: impl FnMut() -> bool) -> Result<bool> {
        Ok(self.event_loop.run_until(&mut (), timeout, |()| done())?)
    }

    /// Gives discovery a moment, so that what is published next reaches everyone who listens now.
    pub(crate) fn settle(&self, publisher: &RawPublisher) -> Result<()> {
        Ok(self.event_loop.settle(&mut (), publisher)?)
    }

    /// Runs until the graph has what is looked for, or is complete without it.
    pub(crate) fn discover(&self, mut found: impl FnMut(&Graph) -> bool) -> Result<Rc<Graph>> {
        let complete = || self.completeness.borrow_mut().is_complete();
        let ended = self.run_until(self.spin_time.unwrap_or(LONGEST_DISCOVERY), || {
            found(&self.graph()) || (self.spin_time.is_none() && complete())
        })?;
        let outstanding = self.completeness.borrow().outstanding();
        if !ended && outstanding > 0 && !self.complained.replace(true) {
            err!(
                "WARNING: {outstanding} DDS participants have not told all they have: what follows may be incomplete"
            );
        }
        Ok(self.graph())
    }

    /// The whole graph: runs until everybody has been heard, or for `--spin-time`.
    pub(crate) fn whole_graph(&self) -> Result<Rc<Graph>> {
        self.discover(|_| false)
    }

    /// Waits for a node.
    ///
    /// # Errors
    /// When there is none of that name, with the names that come near.
    pub(crate) fn find_node(&self, name: &str) -> Result<String> {
        let name = absolute(name);
        let graph = self.discover(|graph| graph.has_node(&name))?;
        if graph.has_node(&name) {
            return Ok(name);
        }
        let known: Vec<_> = graph.nodes().iter().map(ToString::to_string).collect();
        Err(Failure::unknown("node", &name, known.iter().map(String::as_str)))
    }

    /// Calls a service and waits for the answer.
    pub(crate) fn call<T: Service + 'static>(
        &self,
        service: &str,
        request: &T::Request,
        timeout: Duration,
    ) -> Result<T::Response> {
        let client = self.event_loop.client::<T>(&self.node, service)?;
        let answer = Rc::new(RefCell::new(None));
        let slot = answer.clone();
        client.call(request, timeout, move |(), response| *slot.borrow_mut() = Some(response));
        self.answer(&answer, timeout)
    }

    /// A client of a service whose types are known only at run time.
    pub(crate) fn raw_client(&self, service: &str, types: [TypeAndHash<'_>; 2]) -> Result<RawClient<()>> {
        Ok(self.event_loop.raw_client(&self.node, service, types[0], types[1], Qos::services())?)
    }

    /// Calls with a payload and waits for the answer's.
    pub(crate) fn call_raw(
        &self,
        client: &RawClient<()>,
        request: Vec<u8>,
        timeout: Duration,
    ) -> Result<Vec<u8>> {
        let answer = Rc::new(RefCell::new(None));
        let slot = answer.clone();
        client.call(request, timeout, move |(), response| *slot.borrow_mut() = Some(response));
        self.answer(&answer, timeout)
    }

    fn answer<R>(&self, slot: &RefCell<Option<Result<R, CallError>>>, timeout: Duration) -> Result<R> {
        // The call itself ends at the timeout; the extra second lets its own error come first.
        self.run_until(timeout + Duration::from_secs(1), || slot.borrow().is_some())?;
        let answer = slot.borrow_mut().take();
        Ok(answer.ok_or_else(|| Failure::new("the call did not end in time"))??)
    }
}

/// Names on the command line may lack their first slash, as in ROS.
pub(crate) fn absolute(name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { format!("/{name}") }
}

/// Names with a part that begins with `_` are shown only on request.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('_'))
}
