//! What all commands share: a node of their own, the controller's status, and waiting with a deadline.

use std::time::Duration;

use rosless_graph::{Context, EventLoop, Gid, Node, Qos, config::Settings, monotonic};
use rosless_wire::diagnostic_msgs::msg::DiagnosticArray;

use crate::{
    NODE,
    status::{self, Seen},
};

/// Whoever is there is discovered within this time.
const FIRST_LOOK: Duration = Duration::from_millis(700);
/// A controller that was discovered has told its status within this time.
const SECOND_LOOK: Duration = Duration::from_secs(3);

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
    /// Who told it, and when.
    controller: Option<Gid>,
    heard_at: Duration,
    /// Another controller than before has told its status.
    pub(crate) restarted: bool,
    pub(crate) own: T,
}

impl<T> App<T> {
    /// How long the controller has said nothing.
    pub(crate) fn silence(&self) -> Duration {
        monotonic().saturating_sub(self.heard_at)
    }
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
            if let Some(seen) = Seen::read(&sample.message) {
                app.seen = Some(seen);
                app.heard_at = monotonic();
                let before = app.controller.replace(sample.info.publisher);
                app.restarted |= before.is_some_and(|before| before != sample.info.publisher);
            }
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

    /// The controller's status if there is a controller; does not wait long for one that is not there.
    pub(crate) fn look(&self, app: &mut App<T>) -> anyhow::Result<Option<Seen>> {
        if !self.event_loop.run_until(app, FIRST_LOOK, |app| app.seen.is_some())? {
            let topic = self.node.resolve_topic(&format!("{NODE}/{}", status::TOPIC))?;
            if !self.node.context().graph().publishers(&topic).is_empty() {
                self.event_loop.run_until(app, SECOND_LOOK, |app| app.seen.is_some())?;
            }
        }
        Ok(app.seen.clone())
    }

    pub(crate) fn domain(&self) -> u16 {
        self.domain
    }
}
