//! `rosless topic`.

mod bw;
mod delay;
mod echo;
mod hz;
mod measure;
mod publish;

use std::time::Duration;

pub(super) use echo::Echo;

use clap::{Args, Subcommand};
use rosless_graph::{
    Graph, Node, Sample,
    graph::Endpoint,
    qos::{Durability, History, Liveliness, Reliability},
};
use rosless_schema::{DynamicMessage, Filter};
use serde_json::{Value, json};

use super::{Named, joined, list, names, remark_empty};
use crate::{
    Environment,
    failure::{Failure, Result},
    output::{self, err, out},
    session::{Session, absolute, is_hidden},
    types::{self, KnownType},
};

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List the topics on the graph
    List(List),
    /// Print a topic's type, publishers and subscriptions
    Info(Info),
    /// Print the messages of a topic
    Echo(Echo),
    /// Publish a message, once or many times
    Pub(publish::Publish),
    /// Print how often messages come
    Hz(hz::Hz),
    /// Print how many bytes come per second
    Bw(bw::Bandwidth),
    /// Print how old messages with a header are when they come
    Delay(delay::Delay),
    /// Print a topic's type
    Type {
        #[arg(add = names::topics())]
        topic_name: String,
    },
    /// List the topics of a type
    Find {
        topic_type: String,
        /// Print only how many there are
        #[arg(short, long)]
        count_topics: bool,
        /// Look at hidden topics too
        #[arg(long)]
        include_hidden_topics: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct List {
    /// Show the types too
    #[arg(short = 't', long)]
    show_types: bool,
    /// Print only how many there are
    #[arg(short, long)]
    count_topics: bool,
    /// Show topics with a part that begins with an underscore too
    #[arg(long)]
    include_hidden_topics: bool,
    /// Show how many publish and subscribe
    #[arg(short, long)]
    verbose: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Info {
    #[arg(add = names::topics())]
    topic_name: String,
    /// Show node, type hash, gid and quality of service of every endpoint
    #[arg(short, long)]
    verbose: bool,
}

impl Command {
    pub(crate) fn run(self, environment: &Environment) -> Result<()> {
        match self {
            Self::List(list) => list.run(environment),
            Self::Info(info) => info.run(environment),
            Self::Echo(echo) => echo.run(environment),
            Self::Pub(publish) => publish.run(environment),
            Self::Hz(hz) => hz.run(environment),
            Self::Bw(bandwidth) => bandwidth.run(environment),
            Self::Delay(delay) => delay.run(environment),
            Self::Type { topic_name } => {
                let topic = absolute(&topic_name);
                let session = environment.join()?;
                let graph = session.look_for(|graph| graph.topics().contains_key(&topic))?;
                let types = graph.topics().remove(&topic).ok_or_else(|| unknown(&graph, &topic))?;
                match environment.json() {
                    true => output::json(&types),
                    false => types.iter().for_each(|ty| out!("{ty}")),
                }
                Ok(())
            }
            Self::Find { topic_type, count_topics, include_hidden_topics } => {
                let mut topics = visible(&*environment.join()?.whole_graph()?, include_hidden_topics);
                topics.retain(|_, types| types.contains(&topic_type));
                list(environment, &topics, false, count_topics);
                Ok(())
            }
        }
    }
}

pub(super) fn visible(graph: &Graph, include_hidden: bool) -> Named {
    let mut topics = graph.topics();
    topics.retain(|name, _| include_hidden || !is_hidden(name));
    topics
}

fn unknown(graph: &Graph, topic: &str) -> Failure {
    let topics = graph.topics();
    Failure::unknown("topic", topic, topics.keys().map(String::as_str))
}

impl List {
    fn run(&self, environment: &Environment) -> Result<()> {
        let graph = environment.join()?.whole_graph()?;
        remark_empty(environment, &graph);
        let topics = visible(&graph, self.include_hidden_topics);
        if !self.verbose || environment.json() {
            list(environment, &topics, self.show_types, self.count_topics);
            return Ok(());
        }
        for (title, word) in [("Published", "publisher"), ("Subscribed", "subscriber")] {
            out!("{title} topics:");
            for (topic, types) in &topics {
                let count = match word {
                    "publisher" => graph.publishers(topic).len(),
                    _ => graph.subscriptions(topic).len(),
                };
                if count > 0 {
                    let plural = if count > 1 { "s" } else { "" };
                    out!(" * {topic} [{}] {count} {word}{plural}", joined(types));
                }
            }
            out!();
        }
        Ok(())
    }
}

impl Info {
    fn run(&self, environment: &Environment) -> Result<()> {
        let topic = absolute(&self.topic_name);
        let graph = environment.join()?.whole_graph()?;
        let types = graph.topics().remove(&topic).ok_or_else(|| unknown(&graph, &topic))?;
        let (publishers, subscriptions) = (graph.publishers(&topic), graph.subscriptions(&topic));
        if environment.json() {
            let all = |endpoints: &[&Endpoint]| -> Vec<Value> {
                endpoints.iter().map(|e| endpoint_json(&graph, e)).collect()
            };
            output::json(&json!({"topic": topic, "types": types, "publishers": all(&publishers),
                "subscriptions": all(&subscriptions)}));
            return Ok(());
        }
        match types.first() {
            Some(only) if types.len() == 1 => out!("Type: {only}"),
            _ => out!("Type: [{}]", types.iter().map(|t| format!("'{t}'")).collect::<Vec<_>>().join(", ")),
        }
        let blank = || {
            if self.verbose {
                out!()
            }
        };
        blank();
        for (title, kind, endpoints) in
            [("Publisher", "PUBLISHER", &publishers), ("Subscription", "SUBSCRIPTION", &subscriptions)]
        {
            out!("{title} count: {}", endpoints.len());
            blank();
            if self.verbose {
                endpoints.iter().for_each(|endpoint| describe_endpoint(&graph, endpoint, kind));
            }
        }
        Ok(())
    }
}

/// What ros2 calls a node that it does not know.
const UNKNOWN_NODE: &str = "_NODE_NAME_UNKNOWN_";

/// Name and namespace of the endpoint's node.
fn owner(graph: &Graph, endpoint: &Endpoint) -> (String, String) {
    graph.node_of(&endpoint.gid).map_or_else(
        || (UNKNOWN_NODE.to_owned(), "_NODE_NAMESPACE_UNKNOWN_".to_owned()),
        |node| (node.name, node.namespace),
    )
}

pub(super) fn describe_endpoint(graph: &Graph, endpoint: &Endpoint, kind: &str) {
    let (name, namespace) = owner(graph, endpoint);
    out!("Node name: {name}");
    out!("Node namespace: {namespace}");
    out!("Topic type: {}", endpoint.type_name());
    out!("Topic type hash: {}", endpoint.type_hash.as_deref().unwrap_or("INVALID"));
    out!("Endpoint type: {kind}");
    out!("GID: {}", endpoint.gid);
    out!("QoS profile:");
    for (policy, value) in policies(endpoint) {
        out!("  {policy}: {value}");
    }
    out!();
}

fn policies(endpoint: &Endpoint) -> [(&'static str, String); 7] {
    let qos = &endpoint.qos;
    let duration = |duration: Option<Duration>| {
        duration.map_or_else(|| "Infinite".to_owned(), |d| format!("{} nanoseconds", d.as_nanos()))
    };
    let reliability = match qos.reliability {
        Reliability::Reliable => "RELIABLE",
        Reliability::BestEffort => "BEST_EFFORT",
    };
    let durability = match qos.durability {
        Durability::Volatile => "VOLATILE",
        Durability::TransientLocal => "TRANSIENT_LOCAL",
    };
    let liveliness = match qos.liveliness {
        Liveliness::Automatic => "AUTOMATIC",
        Liveliness::ManualByTopic => "MANUAL_BY_TOPIC",
    };
    let history = match qos.history {
        History::KeepLast(depth) => format!("KEEP_LAST ({depth})"),
        History::KeepAll => "KEEP_ALL".to_owned(),
        History::Unknown => "UNKNOWN".to_owned(),
    };
    [
        ("Reliability", reliability.to_owned()),
        ("History (Depth)", history),
        ("Durability", durability.to_owned()),
        ("Lifespan", duration(qos.lifespan)),
        ("Deadline", duration(qos.deadline)),
        ("Liveliness", liveliness.to_owned()),
        ("Liveliness lease duration", duration(qos.liveliness_lease)),
    ]
}

pub(super) fn endpoint_json(graph: &Graph, endpoint: &Endpoint) -> Value {
    let (name, namespace) = owner(graph, endpoint);
    let node = (name != UNKNOWN_NODE).then_some((name, namespace));
    let qos = &endpoint.qos;
    let (history, depth) = match qos.history {
        History::KeepLast(depth) => (Some("keep_last"), Some(depth)),
        History::KeepAll => (Some("keep_all"), None),
        History::Unknown => (None, None),
    };
    let nanoseconds = |duration: Option<Duration>| duration.map(|duration| duration.as_nanos() as u64);
    json!({
        "node": node.as_ref().map(|(name, _)| name),
        "namespace": node.as_ref().map(|(_, namespace)| namespace),
        "type": endpoint.type_name(),
        "type_hash": endpoint.type_hash.as_deref(),
        "gid": endpoint.gid.to_string(),
        "qos": {
            "reliability": if qos.reliability == Reliability::Reliable { "reliable" } else { "best_effort" },
            "durability": if qos.durability == Durability::Volatile { "volatile" } else { "transient_local" },
            "history": history,
            "depth": depth,
            "lifespan_ns": nanoseconds(qos.lifespan),
            "deadline_ns": nanoseconds(qos.deadline),
            "liveliness": if qos.liveliness == Liveliness::Automatic { "automatic" } else { "manual_by_topic" },
            "liveliness_lease_ns": nanoseconds(qos.liveliness_lease),
        },
    })
}

/// What the topic is called on which a service's calls are told.
const SERVICE_EVENT: &str = "/_service_event";

/// How long a simulation may take to say what time it is; one that has not begun says 0.
const FIRST_TIME: Duration = Duration::from_secs(2);

#[derive(Args, Debug)]
struct SimTime {
    /// Take times from /clock instead of this machine's clock
    #[arg(short = 's', long)]
    use_sim_time: bool,
}

impl SimTime {
    /// Joins with a node that has this time, by a name of its own or a hidden one.
    fn join(&self, environment: &Environment, node: Option<&str>) -> Result<Session> {
        let mut settings = environment.settings.clone();
        if self.use_sim_time {
            settings.arguments.parameters.set("/**", "use_sim_time", true.into())?;
        }
        let session = match node {
            Some(name) => Session::join(&settings, name, ())?.spin_time(environment.global.spin_time),
            None => environment.join_with(&settings)?,
        };
        if self.use_sim_time {
            let is_told = |graph: &Graph| !graph.publishers("/clock").is_empty();
            if is_told(&*session.discover(is_told)?) {
                session.run_until(FIRST_TIME, || time(&session.node) > Duration::ZERO)?;
            } else {
                err!("WARNING: nobody publishes /clock: simulated time stands still");
            }
        }
        Ok(session)
    }
}

/// Whether a message passes `--filter`.
fn accepts(filter: Option<&Filter>, message: &DynamicMessage) -> Result<bool> {
    filter
        .map_or(Ok(true), |filter| filter.accepts(message))
        .map_err(|why| Failure::new(format!("--filter: {why}")))
}

/// What a node's clock says, as a duration since its epoch.
fn time(node: &Node) -> Duration {
    let now = node.now();
    Duration::new(u64::try_from(now.sec).unwrap_or_default(), now.nanosec)
}

/// A topic somebody publishes, looked up for `echo` and what measures.
struct Source {
    topic: String,
    known: KnownType,
    /// The publishers found; none yet when the user named the type.
    publishers: Vec<Endpoint>,
}

impl Source {
    fn message(&self, sample: &Sample<Vec<u8>>) -> Result<DynamicMessage> {
        DynamicMessage::from_payload(&self.known.ty, &sample.message)
            .map_err(|error| Failure::new(format!("a message cannot be decoded: {error}")))
    }

    /// Looks the topic up; where its type is neither named nor known, waits for it as long as `patience`.
    fn find(
        environment: &Environment,
        session: &Session,
        topic: &str,
        ty: Option<&str>,
        patience: Duration,
    ) -> Result<Self> {
        let topic = absolute(topic);
        let registry = environment.registry()?;
        let wanted = ty.map(|ty| registry.full_name(ty).unwrap_or_else(|_| ty.to_owned()));
        // With its publisher comes the publisher's node, which may have to describe the type.
        let complete = |graph: &Graph| {
            let publishers = graph.publishers(&topic);
            !publishers.is_empty() && publishers.iter().all(|p| graph.node_of(&p.gid).is_some())
        };
        let mut graph =
            if wanted.is_some() { session.discover(complete)? } else { session.look_for(complete)? };
        if graph.publishers(&topic).is_empty() {
            err!("WARNING: topic [{topic}] does not appear to be published yet");
        }
        if wanted.is_none() && !graph.topics().contains_key(&topic) && patience > Duration::ZERO {
            session
                .run_until(patience, || session.graph().topics().contains_key(&topic) || output::closed())?;
            graph = session.discover(|graph| complete(graph) || !graph.topics().contains_key(&topic))?;
        }
        let publishers = graph.publishers(&topic);
        let types = graph.topics().remove(&topic).unwrap_or_default();
        let name = match (wanted, types.len()) {
            (Some(wanted), 0) => wanted,
            (Some(wanted), _) if types.contains(&wanted) => wanted,
            (Some(wanted), _) => {
                return Err(Failure::new(format!("{topic} carries {}, not {wanted}", joined(&types))));
            }
            (None, 0) if patience > Duration::ZERO => return Err(unknown(&graph, &topic)),
            (None, 0) if topic.ends_with(SERVICE_EVENT) => {
                let service = topic.trim_end_matches(SERVICE_EVENT);
                return Err(Failure::nobody(format!(
                    "Nobody tells of the calls of {service}: is introspection on? In programs of ours \
                     `--ros-args -p service_introspection:=contents` turns it on, in those of ROS 2 their code does\n\
                     To wait for it, name the type: `rosless service echo {service} TYPE`"
                )));
            }
            (None, 0) => {
                let unknown = unknown(&graph, &topic);
                return Err(Failure::nobody(format!(
                    "Could not determine the type for the passed topic. {}\n\
                     To wait for it, name the type: `rosless topic echo {topic} TYPE`",
                    unknown.message
                )));
            }
            (None, 1) => types.first().cloned().unwrap_or_default(),
            (None, _) => {
                return Err(Failure::new(format!(
                    "Cannot echo topic '{topic}', as it contains more than one type: [{}]; name one of them",
                    joined(&types)
                )));
            }
        };
        let publishers: Vec<_> = publishers.into_iter().filter(|p| p.type_name() == name).collect();
        let known = types::resolve(&registry, session, &name, &publishers)?;
        let publishers = publishers.into_iter().cloned().collect();
        Ok(Self { topic, known, publishers })
    }
}
