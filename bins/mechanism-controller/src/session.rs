//! What all commands share: a node of their own, the controller's status, and waiting with a deadline.

use std::time::Duration;

use rosless_cli::{Failure, Result};
use rosless_graph::{Gid, TopicQos, config::Settings, monotonic};
use rosless_mechanism::status::{NODE, Status, TOPIC};
use rosless_wire::std_msgs::msg::String as Text;

/// Whoever is there is discovered within this time.
const FIRST_LOOK: Duration = Duration::from_millis(700);
/// A controller that was discovered has told its status within this time.
const SECOND_LOOK: Duration = Duration::from_secs(3);

/// The state of a command: the controller's last status, and what the command itself collects.
#[derive(Debug, Default)]
pub(crate) struct App<T> {
    pub(crate) seen: Option<Status>,
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
pub(crate) type Session<T> = rosless_cli::Session<App<T>>;

/// Joins the graph and listens to the controller.
pub(crate) fn open<T: Default>(settings: &Settings) -> Result<Session<T>> {
    let session = Session::join_as(settings, "mechanism_command", App::default())?;
    let topic = format!("{NODE}/{TOPIC}");
    session.event_loop.subscribe::<Text>(&session.node, topic.latched(), |app, sample| {
        match Status::from_json(&sample.message.data) {
            Ok(seen) => {
                app.seen = Some(seen);
                app.heard_at = monotonic();
                let before = app.controller.replace(sample.info.publisher);
                app.restarted |= before.is_some_and(|before| before != sample.info.publisher);
            }
            Err(error) => log::warn!("a status that cannot be read: {error}"),
        }
    })?;
    Ok(session)
}

/// Waits for the controller's status and for `ready`.
pub(crate) fn find<T>(session: &Session<T>, timeout: Duration, ready: impl Fn() -> bool) -> Result<Status> {
    session.wait(timeout, |app| app.seen.is_some() && ready())?;
    let seen = session.with(|app| app.seen.clone());
    seen.filter(|_| ready()).ok_or_else(|| {
        Failure::nobody(format!(
            "no mechanism controller on domain {} in namespace {} within {:.0} s; start one with `mechanism-controller run`{}",
            session.domain(),
            session.node.namespace(),
            timeout.as_secs_f64(),
            session.elsewhere(NODE)
        ))
    })
}

/// The controller's status if there is a controller; does not wait long for one that is not there.
pub(crate) fn look<T>(session: &Session<T>) -> Result<Option<Status>> {
    if !session.wait(FIRST_LOOK, |app| app.seen.is_some())? {
        let topic = session.node.resolve_topic(&format!("{NODE}/{TOPIC}"))?;
        if !session.graph().publishers(&topic).is_empty() {
            session.wait(SECOND_LOOK, |app| app.seen.is_some())?;
        }
    }
    Ok(session.with(|app| app.seen.clone()))
}
