//! One command's presence on the graph: a node, an event loop with the command's state, and waiting with a limit.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    io::{self, IsTerminal as _},
    rc::Rc,
    time::Duration,
};

use rosless_graph::{
    CallError, Completeness, Context, ContextOptions, EventLoop, Graph, Node, Publisher, RawClient,
    RawPublisher, TypeAndHash, config::Settings, parameters::ParameterClient,
};
use rosless_wire::{Message, Service};

use crate::{
    Failure, Result,
    output::{self, stdout_pipe},
};

/// A graph that is not complete by then is looked at as it is.
const LONGEST_DISCOVERY: Duration = Duration::from_secs(4);
/// Somebody who is asked for by name is likely there, and may only be late: its host may be very busy.
const DOUBT: Duration = Duration::from_secs(1);
/// Conditions that depend on the clock are looked at this often.
const TICK: Duration = Duration::from_millis(50);
/// For what ends by other means than a time limit.
pub const FOREVER: Duration = Duration::from_secs(u32::MAX as u64);

/// A command lives for seconds: its node has no services and does not log to `/rosout`.
#[derive(Debug)]
pub struct Session<S: 'static = ()> {
    // Fields are dropped in this order; the loop must go before what it serves.
    /// Runs while the session waits.
    pub event_loop: EventLoop<S>,
    /// The command's node.
    pub node: Node,
    /// What it lives in.
    pub context: Context,
    /// The command's own state, which callbacks get; borrowed while the loop runs.
    state: RefCell<S>,
    spin_time: Option<Duration>,
    completeness: RefCell<Completeness>,
    /// An incomplete graph is complained about once.
    complained: Cell<bool>,
}

impl<S: 'static> Session<S> {
    /// Joins the graph with a node of that name; one that begins with an underscore is hidden.
    ///
    /// # Errors
    /// When the domain cannot be joined.
    pub fn join(settings: &Settings, node: &str, state: S) -> Result<Self> {
        let mut settings = settings.clone();
        settings.arguments.rosout_logs = false;
        let context = Context::new(ContextOptions { node_services: false, ..settings.into() })?;
        let node = context.node(node)?;
        let event_loop = EventLoop::new(&context)?;
        event_loop.timer(TICK, |_| {});
        let completeness = RefCell::new(context.completeness());
        let (state, complained) = (RefCell::new(state), Cell::new(false));
        Ok(Self { event_loop, node, context, state, spin_time: None, completeness, complained })
    }

    /// Like [`Session::join`], with a node named after the command and this process: two may run at the same time.
    ///
    /// # Errors
    /// When the domain cannot be joined.
    pub fn join_as(settings: &Settings, command: &str, state: S) -> Result<Self> {
        Self::join(settings, &format!("{command}_{}", std::process::id()), state)
    }

    /// Look at the graph for exactly this long, where it is looked at as a whole.
    #[must_use]
    pub fn spin_time(mut self, spin_time: Option<Duration>) -> Self {
        self.spin_time = spin_time;
        self
    }

    /// Looks at the command's state, or changes it. Callbacks and conditions get it as their argument instead.
    ///
    /// # Panics
    /// Inside another call of this session.
    pub fn with<T>(&self, act: impl FnOnce(&mut S) -> T) -> T {
        act(&mut self.state.borrow_mut())
    }

    /// Who is there.
    pub fn graph(&self) -> Rc<Graph> {
        self.context.graph()
    }

    /// The DDS domain.
    pub fn domain(&self) -> u16 {
        self.context.settings().environment.domain_id
    }

    /// Runs until `done`, at most for `timeout`; `false` when the time was up.
    ///
    /// # Errors
    /// When a signal came first.
    pub fn wait(&self, timeout: Duration, done: impl FnMut(&mut S) -> bool) -> Result<bool> {
        Ok(self.event_loop.run_until(&mut self.state.borrow_mut(), timeout, done)?)
    }

    /// Like [`Session::wait`], for what does not depend on the state.
    ///
    /// # Errors
    /// When a signal came first.
    pub fn run_until(&self, timeout: Duration, mut done: impl FnMut() -> bool) -> Result<bool> {
        self.wait(timeout, |_| done())
    }

    /// Runs until `done`, the time is up, nobody reads any more, or Ctrl-C, which is how one stops watching.
    ///
    /// # Errors
    /// When the loop breaks.
    pub fn watch(&self, duration: Option<Duration>, mut done: impl FnMut(&mut S) -> bool) -> Result<()> {
        // `head` may have enough long before there is something to print.
        if let Some(pipe) = stdout_pipe() {
            self.event_loop.watch(pipe, |_, _| {
                output::close();
                false
            })?;
        }
        match self.wait(duration.unwrap_or(FOREVER), |state| done(state) || output::closed()) {
            Err(failure) if failure.is_interruption() => Ok(()),
            other => other.map(drop),
        }
    }

    /// Asks the person at the terminal; nothing but a line that begins with `y` means yes. `None` where nobody sits there.
    ///
    /// # Errors
    /// When a signal came first.
    pub fn confirm(&self, question: &str) -> Result<Option<bool>> {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return Ok(None);
        }
        output::prompt(&format!("{question} [y/N] "));
        let line = Rc::new(RefCell::new(None));
        let slot = line.clone();
        self.event_loop.watch(stdin, move |_, stdin| {
            let mut text = String::new();
            // What cannot be read is no yes.
            let _ = stdin.read_line(&mut text);
            slot.replace(Some(text));
            false
        })?;
        self.run_until(FOREVER, || line.borrow().is_some())?;
        let line = line.take().unwrap_or_default();
        Ok(Some(line.trim_start().to_lowercase().starts_with('y')))
    }

    /// Gives discovery a moment, so that what is published next reaches everyone who listens now.
    ///
    /// # Errors
    /// When a signal came first.
    pub fn settle(&self, publisher: &RawPublisher) -> Result<()> {
        Ok(self.event_loop.settle(&mut self.state.borrow_mut(), publisher)?)
    }

    /// Publishes one sample to everyone who listens now. Whether somebody does is asked before, by waiting for it.
    ///
    /// # Errors
    /// When a signal came first.
    pub fn publish_once<M: Message>(&self, publisher: &Publisher<M>, message: &M) -> Result<()> {
        self.settle(publisher.raw())?;
        publisher.publish(message);
        Ok(())
    }

    /// Runs until the graph has what is looked for, or is complete without it.
    ///
    /// # Errors
    /// When a signal came first.
    pub fn discover(&self, mut found: impl FnMut(&Graph) -> bool) -> Result<Rc<Graph>> {
        let ended = match self.spin_time {
            Some(exactly) => self.run_until(exactly, || found(&self.graph()))?,
            None => self.look_around(LONGEST_DISCOVERY, found)?,
        };
        let outstanding = self.completeness.borrow().outstanding();
        if !ended && outstanding > 0 && !self.complained.replace(true) {
            output::error(&format!(
                "WARNING: {outstanding} DDS participants have not told all they have: what follows may be incomplete"
            ));
        }
        Ok(self.graph())
    }

    /// Like [`Session::discover`], for what was asked for by name: before it is not there a moment more is given.
    ///
    /// # Errors
    /// When a signal came first.
    pub fn look_for(&self, found: impl Fn(&Graph) -> bool) -> Result<Rc<Graph>> {
        if !found(&*self.discover(&found)?) && self.spin_time.is_none() {
            self.run_until(DOUBT, || found(&self.graph()))?;
        }
        Ok(self.graph())
    }

    /// Runs until the graph has what is looked for or everybody has been heard; `false` when `longest` was over before.
    pub(crate) fn look_around(
        &self,
        longest: Duration,
        mut found: impl FnMut(&Graph) -> bool,
    ) -> Result<bool> {
        self.run_until(longest, || found(&self.graph()) || self.completeness.borrow_mut().is_complete())
    }

    /// The whole graph: runs until everybody has been heard, or for the spin time.
    ///
    /// # Errors
    /// When a signal came first.
    pub fn whole_graph(&self) -> Result<Rc<Graph>> {
        self.discover(|_| false)
    }

    /// Waits for a node.
    ///
    /// # Errors
    /// When there is none of that name, with the names that come near.
    pub fn find_node(&self, name: &str) -> Result<String> {
        let name = absolute(name);
        let graph = self.look_for(|graph| graph.has_node(&name))?;
        if graph.has_node(&name) {
            return Ok(name);
        }
        let known: Vec<_> = graph.nodes().iter().map(ToString::to_string).collect();
        Err(Failure::unknown("node", &name, known.iter().map(String::as_str)))
    }

    /// Waits for a node, or for a service of it: a node behind a bridge is known by its services alone.
    ///
    /// # Errors
    /// As [`find_node`](Self::find_node).
    pub fn find_node_offering(&self, name: &str, service: &str) -> Result<String> {
        let node = absolute(name);
        let service = format!("{node}/{service}");
        let there = |graph: &Graph| graph.has_node(&node) || graph.services().contains_key(&service);
        if there(&*self.discover(there)?) { Ok(node) } else { self.find_node(name) }
    }

    /// What to say when no node of that name is in this namespace: where else one is.
    pub fn elsewhere(&self, node: &str) -> String {
        let (graph, own) = (self.graph(), self.node.namespace());
        let namespaces: BTreeSet<_> =
            graph.nodes().into_iter().filter(|n| n.name == node && n.namespace != own).collect();
        let known: Vec<_> = namespaces.iter().map(|node| format!("--namespace {}", node.namespace)).collect();
        if known.is_empty() {
            String::new()
        } else {
            format!("; there is one elsewhere: {}", known.join(" or "))
        }
    }

    /// Calls a service and waits for the answer.
    ///
    /// # Errors
    /// When there is none in time; [`crate::exit::NOBODY`] when there is no server.
    pub fn call<T: Service + 'static>(
        &self,
        service: &str,
        request: &T::Request,
        timeout: Duration,
    ) -> Result<T::Response> {
        let client = self.event_loop.client::<T>(&self.node, service)?;
        let answer = self.answered(|done| {
            client.call(request, timeout, done);
            Ok(())
        });
        client.close();
        answer
    }

    /// The parameters of another node; see [`Session::answered`].
    pub fn parameters(&self, of: &str) -> ParameterClient<S> {
        self.event_loop.parameters_of(&self.node, of)
    }

    /// A client of a service whose types are known only at run time.
    ///
    /// # Errors
    /// When its endpoints cannot be made.
    pub fn raw_client(&self, service: &str, types: [TypeAndHash<'_>; 2]) -> Result<RawClient<S>> {
        Ok(self.event_loop.raw_client(&self.node, service, types[0], types[1])?)
    }

    /// Calls with a payload and waits for the answer's.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub fn call_raw(&self, client: &RawClient<S>, request: Vec<u8>, timeout: Duration) -> Result<Vec<u8>> {
        self.answered(|done| {
            client.call(request, timeout, done);
            Ok(())
        })
    }

    /// Waits for the answer to what `ask` asks: it gets the callback to ask with. The call itself keeps the time: it always
    /// ends with an answer or an error.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub fn answered<R: 'static>(
        &self,
        ask: impl FnOnce(Box<dyn FnOnce(&mut S, Result<R, CallError>)>) -> rosless_graph::Result<()>,
    ) -> Result<R> {
        let answer = Rc::new(RefCell::new(None));
        let slot = answer.clone();
        ask(Box::new(move |_, response| *slot.borrow_mut() = Some(response)))?;
        self.run_until(FOREVER, || answer.borrow().is_some())?;
        let answer = answer.borrow_mut().take();
        Ok(answer.ok_or_else(|| Failure::new("the call did not end"))??)
    }
}

/// Names on the command line may lack their first slash, as in ROS.
pub fn absolute(name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { format!("/{name}") }
}

/// Names with a part that begins with `_` are shown only on request.
pub fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::is_hidden;

    #[test]
    fn names_with_an_underscore_in_front_of_a_part_are_hidden() {
        // The last is one of those on which Lyrical moves buffers.
        for name in ["/_ros2cli_1", "/add/_service_event", "/image/_buf/0123456789abcdef"] {
            assert!(is_hidden(name), "{name}");
        }
        assert!(!is_hidden("/image_buf/raw_"));
    }
}
