//! Calls and messages to others, of any type.

use std::time::Duration;

use rosless_graph::{CallError, RawClient, monotonic};
use rosless_schema::{DynamicMessage, Stamp};
use serde_json::Value;

use crate::{
    app::App,
    types::{Known, Missing},
};

/// Clients and publishers that are kept for the next time; making one takes longer than using it.
const MOST_KEPT: usize = 128;
/// A publisher that was not used for this long goes: others ask who publishes what, and a mechanism does nothing while two do.
const UNUSED: Duration = Duration::from_secs(5);
/// How long a new publisher waits for those who are there to listen.
const MATCHING: Duration = Duration::from_secs(3);
const LOOKING: Duration = Duration::from_millis(20);

/// What happens with an answer in values.
pub(crate) type Answer = Box<dyn FnOnce(&mut App, Result<Value, String>)>;
type RawAnswer = Box<dyn FnOnce(&mut App, Result<Vec<u8>, CallError>)>;

impl App {
    fn stamp(&self) -> Stamp {
        let now = self.node.now();
        Stamp { sec: now.sec, nanosec: now.nanosec }
    }

    /// A message from its values.
    pub(crate) fn message(&self, known: &Known, value: &Value) -> Result<Vec<u8>, String> {
        let text = if value.is_null() { "{}".to_owned() } else { value.to_string() };
        let message = DynamicMessage::from_json(&known.ty, &text, Some(self.stamp()));
        message.map(|message| message.to_payload()).map_err(|error| format!("{}: {error}", known.name))
    }

    /// Calls a service with encoded bytes.
    pub(crate) fn call_raw(
        &mut self,
        service: &str,
        ty: &str,
        payload: Vec<u8>,
        timeout: Duration,
        done: RawAnswer,
    ) -> Result<(), Missing> {
        let [request, response] = self.types.service(&self.graph(), service, ty)?;
        let client = self.service_client(service, ty, &request, &response).map_err(Missing::Unknown)?;
        client.call(payload, timeout, done);
        Ok(())
    }

    fn service_client(
        &mut self,
        service: &str,
        ty: &str,
        request: &Known,
        response: &Known,
    ) -> Result<RawClient<App>, String> {
        let key = (service.to_owned(), ty.to_owned());
        if let Some(client) = self.clients.get(&key) {
            return Ok(client.clone());
        }
        if self.clients.len() >= MOST_KEPT
            && let Some((_, oldest)) = self.clients.pop_first()
        {
            oldest.close();
        }
        let types = (
            (request.name.as_str(), request.hash.as_str()),
            (response.name.as_str(), response.hash.as_str()),
        );
        let client = self.handle.raw_client(&self.node, service, types.0, types.1);
        let client = client.map_err(|error| error.to_string())?;
        self.clients.insert(key, client.clone());
        Ok(client)
    }

    /// Calls a service with values; the answer comes as values.
    pub(crate) fn call(
        &mut self,
        service: &str,
        ty: &str,
        value: &Value,
        timeout: Duration,
        done: Answer,
    ) -> Result<(), Missing> {
        let [request, response] = self.types.service(&self.graph(), service, ty)?;
        let payload = self.message(&request, value).map_err(Missing::Unknown)?;
        let client = self.service_client(service, ty, &request, &response).map_err(Missing::Unknown)?;
        client.call(payload, timeout, move |app, answer| {
            let answer = answer.map_err(|error| error.to_string()).and_then(|payload| {
                let message = DynamicMessage::from_payload(&response.ty, &payload)
                    .map_err(|error| error.to_string())?;
                serde_json::to_value(&message).map_err(|error| error.to_string())
            });
            done(app, answer);
        });
        Ok(())
    }

    /// Publishes values; how many listen is told when they have been reached.
    pub(crate) fn publish(
        &mut self,
        topic: &str,
        ty: &str,
        value: &Value,
        done: Answer,
    ) -> Result<(), Missing> {
        let known = self.topic_type(topic, ty)?;
        let payload = self.message(&known, value).map_err(Missing::Unknown)?;
        self.publish_raw(topic, &known, payload, done).map_err(Missing::Unknown)
    }

    /// The same with encoded bytes.
    pub(crate) fn publish_raw(
        &mut self,
        topic: &str,
        known: &Known,
        payload: Vec<u8>,
        done: Answer,
    ) -> Result<(), String> {
        let key = (topic.to_owned(), known.name.clone());
        if !self.publishers.contains_key(&key) {
            if self.publishers.len() >= MOST_KEPT {
                self.publishers.pop_first();
            }
            let publisher = self.node.raw_publisher(topic, (&known.name, &known.hash));
            let publisher = publisher.map_err(|error| error.to_string())?;
            self.publishers.insert(key.clone(), (publisher, monotonic()));
        }
        self.publish_when_heard(key, payload, Duration::ZERO, done);
        Ok(())
    }

    fn publish_when_heard(
        &mut self,
        key: (String, String),
        payload: Vec<u8>,
        waited: Duration,
        done: Answer,
    ) {
        let Some((publisher, used)) = self.publishers.get_mut(&key) else {
            return done(self, Err("given up".to_owned()));
        };
        *used = monotonic();
        let (own, graph) = (self.context.gid().prefix(), self.context.graph());
        let listening = graph.subscriptions(&key.0).iter().filter(|s| s.gid.prefix() != own).count();
        // A page that shows this topic makes us one of its listeners: we do not count.
        let ours = graph.subscriptions(&key.0).iter().filter(|s| s.gid.prefix() == own).count();
        let matched = publisher.matched().saturating_sub(ours);
        if matched < listening && waited < MATCHING {
            self.handle
                .once(LOOKING, move |app| app.publish_when_heard(key, payload, waited + LOOKING, done));
            return;
        }
        let sent = publisher.publish(payload);
        let answer = if sent {
            Ok(serde_json::json!({"listeners": matched}))
        } else {
            Err("the send queue is full".to_owned())
        };
        done(self, answer);
    }

    /// Lets go of publishers that nobody used lately, but of none by which STOP would be told.
    pub(crate) fn forget_publishers(&mut self, now: Duration) {
        let stops = |ty: &String| crate::stop::PRIMITIVES.contains(&ty.as_str());
        self.publishers.retain(|(_, ty), (_, used)| stops(ty) || now < *used + UNUSED);
    }
}
