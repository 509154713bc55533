//! `rosless topic pub`.

use std::time::Duration;

use clap::Args;
use rosless_graph::{Qos, RawPublisher, monotonic};
use rosless_schema::{DynamicMessage, Stamp};

use super::SimTime;
use crate::{
    Environment,
    cli::{hertz, seconds},
    commands::{joined, names, read_stdin},
    failure::{Failure, Result},
    output::{self, err, out},
    qos::QosArguments,
    session::{FOREVER, Session, absolute},
    types::{self, KnownType},
};

#[derive(Args, Debug)]
pub(crate) struct Publish {
    #[arg(add = names::topics())]
    topic_name: String,
    message_type: String,
    /// The message as YAML, such as "{data: hi}"; what is left out has its default. `header: auto` and `stamp: now`
    /// are filled in for every message
    #[arg(default_value = "{}")]
    values: String,
    /// Read the message from standard input instead
    #[arg(long, conflicts_with = "values")]
    stdin: bool,
    /// How often per second
    #[arg(short, long, value_name = "HZ", value_parser = hertz, default_value = "1", allow_hyphen_values = true)]
    rate: Duration,
    /// Print every Nth message; 0 for none
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    print: u64,
    /// Publish one message and leave
    #[arg(short = '1', long, conflicts_with = "times")]
    once: bool,
    /// Publish this many messages and leave; 0 for no end
    #[arg(short, long, value_name = "N")]
    times: Option<u64>,
    /// Wait for this many subscriptions first; by default 1 with --once and --times, else 0
    #[arg(short, long, value_name = "N")]
    wait_matching_subscriptions: Option<usize>,
    /// Give up waiting for subscriptions after this long; exit code 3 [default: 30 with --once and --times]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    max_wait_time_secs: Option<Duration>,
    /// Stay this long after the last message
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "0.1", allow_negative_numbers = true)]
    keep_alive: Duration,
    /// Name of the publishing node
    #[arg(short, long)]
    node_name: Option<String>,
    #[command(flatten)]
    qos: QosArguments,
    #[command(flatten)]
    sim_time: SimTime,
}

const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How long a message waits for somebody to take it.
const NOBODY_COMES: Duration = Duration::from_secs(30);
const ACKNOWLEDGED: Duration = Duration::from_secs(2);

impl Publish {
    pub(crate) fn run(mut self, environment: &Environment) -> Result<()> {
        if self.stdin {
            self.values = read_stdin()?;
        }
        let session = self.sim_time.join(environment, self.node_name.as_deref())?;
        let topic = absolute(&self.topic_name);
        let known = self.resolve_type(environment, &session, &topic)?;
        // What cannot be read is refused before anybody sees a publisher.
        self.message(&session, &known)?;
        let (ty, hash) = known.name_and_hash();
        let publisher = session.node.raw_publisher((&topic, self.qos.apply(Qos::default())), (ty, hash))?;
        let limit = if self.once { Some(1) } else { self.times.filter(|times| *times > 0) };
        self.await_subscriptions(&session, &publisher, limit)?;
        let ended = self.publish(environment, &session, &publisher, &known, limit);
        match ended {
            Err(interrupted) if interrupted.code == 130 && limit.is_none() => Ok(()),
            other => other,
        }
    }

    /// The type named, checked against what others use on the topic.
    fn resolve_type(&self, environment: &Environment, session: &Session, topic: &str) -> Result<KnownType> {
        let registry = environment.registry()?;
        let name = registry.full_name(&self.message_type).unwrap_or_else(|_| self.message_type.clone());
        let graph = session.discover(|graph| !graph.subscriptions(topic).is_empty())?;
        let types = graph.topics().remove(topic).unwrap_or_default();
        if !types.is_empty() && !types.contains(&name) {
            return Err(Failure::new(format!("{topic} carries {}, not {name}", joined(&types))));
        }
        let mut endpoints = graph.subscriptions(topic);
        endpoints.extend(graph.publishers(topic));
        endpoints.retain(|endpoint| endpoint.type_name() == name);
        types::resolve(&registry, session, &name, &endpoints)
    }

    fn message(&self, session: &Session, known: &KnownType) -> Result<DynamicMessage> {
        let now = session.node.now();
        let stamp = Stamp { sec: now.sec, nanosec: now.nanosec };
        DynamicMessage::from_yaml(&known.ty, &self.values, Some(stamp))
            .map_err(|error| Failure::usage(format!("{}: {error}", known.name())))
    }

    fn await_subscriptions(
        &self,
        session: &Session,
        publisher: &RawPublisher,
        limit: Option<u64>,
    ) -> Result<()> {
        let wanted = self.wait_matching_subscriptions.unwrap_or(usize::from(limit.is_some()));
        let mut ask = monotonic();
        // Without a limit it is there for whoever comes; whoever publishes once wants to know that nobody listens.
        let patience = if limit.is_some() && self.wait_matching_subscriptions.is_none() {
            NOBODY_COMES
        } else {
            FOREVER
        };
        let found = session.run_until(self.max_wait_time_secs.unwrap_or(patience), || {
            let matched = publisher.matched();
            if matched < wanted && monotonic() >= ask {
                ask += ASK_AGAIN;
                err!("Waiting for at least {wanted} matching subscription(s)...");
            }
            matched >= wanted
        })?;
        if !found {
            return Err(Failure::nobody(format!(
                "Timed out waiting for subscribers: Expected {wanted} subscribers but only got {} subscribers\n\
                 Is the name right (`rosless topic info {}`)? To wait longer: --max-wait-time-secs; to publish to nobody: -w 0",
                publisher.matched(),
                publisher.topic()
            )));
        }
        if limit.is_some() {
            session.settle(publisher)?;
        }
        // Who says how many to wait for knows.
        if publisher.matched() == 0 && self.wait_matching_subscriptions.is_none() {
            err!("WARNING: nobody subscribes to {} yet; wait for it with -w 1", publisher.topic());
        }
        Ok(())
    }

    fn publish(
        &self,
        environment: &Environment,
        session: &Session,
        publisher: &RawPublisher,
        known: &KnownType,
        limit: Option<u64>,
    ) -> Result<()> {
        if !environment.json() {
            out!("publisher: beginning loop");
        }
        let (mut due, mut count) = (monotonic(), 0);
        while limit.is_none_or(|limit| count < limit) && !output::closed() {
            session.run_until(due.saturating_sub(monotonic()), || false)?;
            due += self.rate;
            let message = self.message(session, known)?;
            count += 1;
            if self.print > 0 && count % self.print == 0 {
                match environment.json() {
                    true => output::json_line(&message),
                    false => out!("publishing #{count}: {}\n", message.to_python()),
                }
            }
            if !publisher.publish(message.to_payload()) {
                err!("WARNING: message #{count} was dropped: subscriptions are too slow");
            }
        }
        session.run_until(self.keep_alive, || false)?;
        if !publisher.wait_acknowledged(ACKNOWLEDGED) {
            return Err(Failure::new("not every reliable subscription confirmed the messages"));
        }
        Ok(())
    }
}
