//! A controller that is running already: it knows everybody, so a command that asks it need not get to know them first.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc, time::Duration};

use rosless_cli::{Failure, Result, Session, session::absolute};
use rosless_graph::{
    Graph, TopicQos,
    graph::{Endpoint, EndpointKind},
};
use rosless_protocol::controller::{Ask, Targets};
use rosless_wire::{
    Service as _,
    rosless_msgs::{
        msg::ControllerStatus,
        srv::{SessionCommand, SessionCommandRequest, SessionCommandResponse},
    },
};

use crate::Scope;

/// How long a controller may take for what it has at hand.
const AT_HAND: Duration = Duration::from_secs(5);

/// The full name of a running controller.
#[derive(Clone, Debug)]
pub(crate) struct Running(String);

impl Running {
    /// The controller that would be asked in this scope.
    pub(crate) fn find(graph: &Graph, scope: &Scope) -> Option<Self> {
        if scope.direct {
            return None;
        }
        let namespace = scope.namespace.as_deref().map(absolute).filter(|n| n != "/").unwrap_or_default();
        let node = format!("{namespace}/{}", scope.dialect.names().controller_node);
        let running = Self::named(node);
        let serves = running.servers(graph).next().is_some();
        serves.then_some(running)
    }

    /// Looked for by its bytes on the wire: this is asked after every change of a graph that may be large.
    fn servers<'a>(&self, graph: &'a Graph) -> impl Iterator<Item = &'a Endpoint> {
        let topic = format!("rq{}/startRequest", self.0);
        graph.endpoints().filter(move |endpoint| {
            endpoint.kind == EndpointKind::Reader
                && *endpoint.dds_topic == *topic
                && endpoint.type_name().starts_with(SessionCommand::TYPE_NAME)
        })
    }

    /// The one of this full name.
    pub(crate) fn named(node: String) -> Self {
        Self(node)
    }

    /// How many processes there are of this name.
    pub(crate) fn processes(&self, graph: &Graph) -> usize {
        self.servers(graph).map(|endpoint| endpoint.gid.prefix()).collect::<BTreeSet<_>>().len()
    }

    /// Two controllers of one name would both obey.
    fn check(&self, graph: &Graph) -> Result<()> {
        let processes = self.processes(graph);
        if processes > 1 {
            return Err(Failure::new(format!(
                "{processes} controllers are called {}: end all but one, or ask the systems themselves with --direct",
                self.0
            )));
        }
        Ok(())
    }

    /// Has it start or stop systems.
    pub(crate) fn ask<S>(
        &self,
        session: &Session<S>,
        ask: &Ask,
        ahead: Option<Duration>,
        limit: Duration,
    ) -> Result<SessionCommandResponse> {
        self.check(&session.graph())?;
        let (all, systems) = match &ask.targets {
            Targets::All => (true, Vec::new()),
            Targets::Named(names) => (false, names.clone()),
        };
        let request = SessionCommandRequest {
            session: ask.session.clone(),
            all,
            systems,
            expect: ask.expect.clone(),
            atomic: ask.atomic,
            restart: ask.restart,
            ahead: ahead.map_or(0.0, |ahead| ahead.as_secs_f64()),
            timeout: limit.as_secs_f64(),
        };
        // Stopping first, or stopping again, has a time of its own.
        let patience = limit * 3 + ahead.unwrap_or_default() + AT_HAND;
        session.call::<SessionCommand>(&format!("{}/{}", self.0, ask.command.verb()), &request, patience)
    }

    /// What it knows.
    pub(crate) fn status<S>(&self, session: &Session<S>) -> Result<Option<ControllerStatus>> {
        let latest = Rc::new(RefCell::new(None));
        let slot = latest.clone();
        let topic = format!("{}/status", self.0);
        let subscription = session.event_loop.subscribe::<ControllerStatus>(
            &session.node,
            topic.latched(),
            move |_, sample| {
                *slot.borrow_mut() = Some(sample.message);
            },
        )?;
        session.run_until(AT_HAND, || latest.borrow().is_some())?;
        subscription.close();
        Ok(latest.take())
    }
}
