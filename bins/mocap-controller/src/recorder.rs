//! Whether a recorder of sessions is there, and what it writes.

use std::{cell::RefCell, rc::Rc, time::Duration};

use rosless_cli::{Result, Session, err};
use rosless_graph::TopicQos;
use rosless_wire::{Message as _, rosless_msgs::msg::RecorderStatus};
use serde_json::{Value, json};

/// A latched status that does not come within this will not come.
const AT_HAND: Duration = Duration::from_secs(2);

/// The recorder's node and what it says, if one is on the graph.
pub(crate) fn find<S>(session: &Session<S>) -> Result<Option<(String, RecorderStatus)>> {
    let graph = session.graph();
    let is_recorder = |types: &std::collections::BTreeSet<String>| types.contains(RecorderStatus::TYPE_NAME);
    let topics = graph.topics().into_iter().filter(|(_, types)| is_recorder(types));
    let Some((topic, _)) = topics.into_iter().find(|(topic, _)| !graph.publishers(topic).is_empty()) else {
        return Ok(None);
    };
    let latest = Rc::new(RefCell::new(None));
    let slot = latest.clone();
    let (event_loop, node) = (&session.event_loop, &session.node);
    let subscription = event_loop.subscribe::<RecorderStatus>(node, topic.latched(), move |_, sample| {
        *slot.borrow_mut() = Some(sample.message);
    })?;
    session.run_until(AT_HAND, || latest.borrow().is_some())?;
    subscription.close();
    let name = topic.trim_end_matches("/status").to_owned();
    Ok(latest.take().map(|status| (name, status)))
}

/// One line for people, beside what scripts read.
pub(crate) fn tell(name: &str, status: &RecorderStatus) {
    let RecorderStatus { session, folder, messages, topics, failure, .. } = status;
    match (status.recording, failure.is_empty()) {
        (_, false) => err!("recorder {name}: session {session:?} is not recorded any more: {failure}"),
        (true, _) => err!(
            "recorder {name}: writes session {session:?} to {folder} ({topics} topics, {messages} messages)"
        ),
        _ => err!("recorder {name}: waits for a session"),
    }
}

/// The same for scripts.
pub(crate) fn json(found: Option<&(String, RecorderStatus)>) -> Value {
    found.map_or(Value::Null, |(name, status)| {
        json!({"node": name, "recording": status.recording, "session": status.session, "folder": status.folder,
            "systems": status.systems, "topics": status.topics, "messages": status.messages, "bytes": status.bytes,
            "dropped": status.dropped, "failure": status.failure})
    })
}
