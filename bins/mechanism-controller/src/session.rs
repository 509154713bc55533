//! What all commands share: a node of their own, the controller's status, and waiting with a deadline.

use std::time::Duration;

use rosless_graph::{Context, EventLoop, Node, Qos, config::Settings};
use rosless_wire::diagnostic_msgs::msg::DiagnosticArray;

use crate::{
    NODE,
    status::{self, Seen},
};

/// No controller, or no mechanism, was found in time.
#[derive(Debug)]
pub(crate) struct NobodyThere(pub(crate) String);

impl std::fmt::Display for NobodyThere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NobodyThere {}

/// The state of a command: the controller's last status, and what the command itself collects.
#[derive(Debug, Default)]
pub(crate) struct App<T> {
    pub(crate) seen: Option<Seen>,
    pub(crate) own: T,
}

/// A command's connection to the graph.
#[derive(Debug)]
pub(crate) struct Session<T: 'static> {
    pub(crate) event_loop: EventLoop<App<T>>,
    pub(crate) node: Node,
    domain: u16,
}

impl<T: 'static> Session<T> {
    pub(crate) fn new(settings: Settings) -> anyhow::Result<Self> {
        let domain = settings.environment.domain_id;
        let context = Context::new(settings)?;
        let node = context.node(&format!("mechanism_command_{}", std::process::id()))?;
        let event_loop = EventLoop::<App<T>>::new(&context)?;
        let topic = format!("{NODE}/{}", status::TOPIC);
        event_loop.subscribe::<DiagnosticArray>(&node, &topic, Qos::latched(), |app, sample| {
            app.seen = Seen::read(&sample.message).or(app.seen.take());
        })?;
        Ok(Self { event_loop, node, domain })
    }

    /// Waits for the controller's status and for `ready`.
    pub(crate) fn find(
        &self,
        app: &mut App<T>,
        timeout: Duration,
        ready: impl Fn() -> bool,
    ) -> anyhow::Result<Seen> {
        self.event_loop.run_until(app, timeout, |app| app.seen.is_some() && ready())?;
        match app.seen.clone() {
            Some(seen) if ready() => Ok(seen),
            _ => Err(NobodyThere(format!(
                "no mechanism controller on domain {} within {:.0} s; start one with `mechanism-controller run`",
                self.domain,
                timeout.as_secs_f64()
            ))
            .into()),
        }
    }

    pub(crate) fn domain(&self) -> u16 {
        self.domain
    }
}
