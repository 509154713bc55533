//! What pages say and hear: JSON, one object per message.

use std::{collections::BTreeSet, time::Duration};

use rosless_graph::monotonic;
use rosless_mechanism::single::Actuator;
use rosless_schema::{Arity, BaseType, DynamicMessage, Element, MessageType};
use rosless_web::{ClientId, Message, Role};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    app::{App, Speech},
    operators::{system_of_node, systems_of_topic},
    parameters,
    service_calls::Answer,
    topics::{Kind, Listener, Pace},
    types::Missing,
};

/// Something that changes the world.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    Publish { topic: String, r#type: String, value: Value },
    Parameter { node: String, name: String, value: Value, r#type: u8 },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Wish {
    /// It lives.
    Beat,
    /// The graph, now and whenever it changes.
    Graph,
    Subscribe {
        sub: u32,
        topic: String,
        r#type: Option<String>,
        #[serde(default)]
        period: u64,
        /// So many of the last samples are kept for whoever listens later.
        #[serde(default)]
        keep: u16,
    },
    Unsubscribe {
        sub: u32,
    },
    /// How often these topics are published, once a second.
    Measure {
        topics: Vec<(String, String)>,
    },
    Publish {
        topic: String,
        r#type: String,
        #[serde(default)]
        value: Value,
    },
    Call {
        service: String,
        r#type: String,
        #[serde(default)]
        value: Value,
        timeout: Option<f64>,
    },
    Parameters {
        node: String,
    },
    SetParameter {
        node: String,
        name: String,
        value: Value,
        r#type: u8,
    },
    /// What a type consists of, with the values it has by default.
    Define {
        r#type: String,
    },
    /// Goes on as long as it is repeated.
    Hold {
        key: String,
        act: Act,
        release: Act,
    },
    Release {
        key: String,
    },
    Operate {
        systems: Vec<String>,
        #[serde(default)]
        take: bool,
    },
    Resign {
        system: Option<String>,
    },
    Stop,
    Counters,
    /// Single actuators of the mechanism in this namespace: what is told and sensed, until the page leaves.
    Bench {
        space: String,
    },
    LeaveBench {
        space: String,
    },
    /// Moves one of them.
    Actuate {
        space: String,
        actuator: Actuator,
    },
    /// Recordings of sessions on this machine.
    Takes,
    /// What `rosless doctor` says here and now.
    Doctor,
}

#[derive(Debug, Deserialize)]
struct Asked {
    id: Option<u64>,
    #[serde(flatten)]
    wish: Wish,
}

/// Subscriptions of one page.
const MOST_SUBSCRIPTIONS: usize = 256;
const LONGEST_CALL: f64 = 120.0;
/// How often a thread that works is looked at.
const LOOKING: Duration = Duration::from_millis(50);
const SESSION_COMMAND: &str = "rosless_msgs/srv/SessionCommand";

/// Services that only look.
fn only_looks(ty: &str) -> bool {
    let name = ty.rsplit('/').next().unwrap_or_default();
    let package = ty.split('/').next().unwrap_or_default();
    match package {
        "rcl_interfaces" | "lifecycle_msgs" => {
            ["Get", "List", "Describe"].iter().any(|p| name.starts_with(p))
        }
        "type_description_interfaces" => true,
        "robot3_18c1054" => name.starts_with("Get"),
        // Plans and moves nothing.
        "rosless_msgs" => name == "PlanMotion",
        _ => name.ends_with("_GetResult"),
    }
}

impl App {
    /// Tells a new page who it is.
    pub(crate) fn page_came(&mut self, id: ClientId, role: Role) {
        let settings = &self.context.settings().environment;
        let welcome = json!({
            "op": "welcome", "you": id.0, "operator": role == Role::Operator, "domain": settings.domain_id,
            "node": self.node.full_name(), "version": env!("CARGO_PKG_VERSION"),
        });
        self.answer(id, welcome.to_string());
        if let Some(told) = &self.last_session {
            self.answer(id, told.to_string());
        }
        self.tell_operators();
    }

    pub(crate) fn page_says(&mut self, id: ClientId, message: &Message) {
        match message {
            Message::Text(text) => self.page_text(id, text),
            Message::Binary(_) => {
                self.answer(id, json!({"op": "answer", "error": "text is expected"}).to_string())
            }
        }
    }

    pub(crate) fn page_text(&mut self, id: ClientId, text: &str) {
        if !self.peers.contains_key(&id) {
            return;
        }
        let asked: Asked = match serde_json::from_str(text) {
            Ok(asked) => asked,
            Err(error) => {
                let error = format!("not understood: {error}");
                return self.answer(id, json!({"op": "answer", "error": error}).to_string());
            }
        };
        let number = asked.id;
        match self.wish(id, number, asked.wish) {
            Ok(Some(value)) => self.done(id, number, Ok(value)),
            Ok(None) => {}
            // The definition is asked for, and what was said is read again then.
            Err(Missing::Ask(source)) => self.ask_for_type(&source, Some((id, text.to_owned()))),
            Err(Missing::Unknown(error)) => self.done(id, number, Err(error)),
        }
    }

    fn done(&mut self, id: ClientId, number: Option<u64>, result: Result<Value, String>) {
        let answer = match result {
            Ok(value) => json!({"op": "answer", "id": number, "ok": value}),
            Err(error) => json!({"op": "answer", "id": number, "error": error}),
        };
        self.answer(id, answer.to_string());
    }

    /// Whether this client may command these machines now. It operates them from then on.
    pub(crate) fn permit(&mut self, id: ClientId, systems: &[String]) -> Result<(), Missing> {
        if self.peers.get(&id).is_none_or(|peer| peer.role < Role::Operator) {
            return Err(Missing::Unknown("only looking is allowed here, and STOP".to_owned()));
        }
        match self.operators.claim(systems, id, false) {
            Ok(changed) => {
                if changed {
                    self.tell_operators();
                }
                Ok(())
            }
            Err((system, holder)) => {
                let name = self.peers.get(&holder).map_or("somebody", |peer| &peer.name);
                Err(Missing::Unknown(format!("{system} is operated by {name}: take over first")))
            }
        }
    }

    /// Answers later.
    fn later(id: ClientId, number: Option<u64>) -> Answer {
        Box::new(move |app, result| app.done(id, number, result))
    }

    /// The same, and every page hears what a command to systems came to, also one that comes later.
    fn told_to_all(service: String, answer: Answer) -> Answer {
        Box::new(move |app, result| {
            if let Ok(value) = &result {
                let told = json!({"op": "session_result", "service": service, "result": value,
                    "at": crate::topics::milliseconds(std::time::SystemTime::now())});
                app.tell_pages(&told);
                app.last_session = Some(told);
            }
            answer(app, result);
        })
    }

    /// Looks at this machine, which takes a while and is done beside the rest, and at the graph.
    fn examine(&mut self, done: Answer) {
        let environment = self.context.settings().environment.clone();
        let (tell, hear) = std::sync::mpsc::channel();
        let work = move || {
            let mut findings = vec![rosless_doctor::settings(&environment)];
            rosless_doctor::machine(&environment, |new| findings.extend(new));
            findings.extend(rosless_doctor::daemons(environment.domain_id));
            let _ = tell.send(findings);
        };
        match std::thread::Builder::new().name("doctor".into()).spawn(work) {
            Ok(_) => self.examined(hear, done),
            Err(error) => done(self, Err(error.to_string())),
        }
    }

    fn examined(&mut self, hear: std::sync::mpsc::Receiver<Vec<rosless_doctor::Finding>>, done: Answer) {
        match hear.try_recv() {
            Err(std::sync::mpsc::TryRecvError::Empty) => {
                self.handle.once(LOOKING, move |app| app.examined(hear, done));
            }
            Err(error) => done(self, Err(error.to_string())),
            Ok(mut findings) => {
                findings.extend(rosless_doctor::graph(&self.graph(), self.context.gid().prefix()));
                done(self, serde_json::to_value(findings).map_err(|error| error.to_string()));
            }
        }
    }

    /// Does what is wished for: the answer, or nothing if it comes later.
    fn wish(&mut self, id: ClientId, number: Option<u64>, wish: Wish) -> Result<Option<Value>, Missing> {
        match wish {
            Wish::Beat => self.data(
                id,
                json!({"op": "beat", "t": crate::topics::milliseconds(std::time::SystemTime::now())})
                    .to_string(),
            ),
            Wish::Graph => {
                if let Some(Speech::Page { graph, .. }) = self.peers.get_mut(&id).map(|peer| &mut peer.speech)
                {
                    *graph = true;
                }
                let snapshot = crate::graph_view::snapshot(&self.graph(), &self.node.full_name());
                self.answer(id, snapshot.to_string());
            }
            Wish::Subscribe { sub, topic, r#type, period, keep } => {
                let ty = r#type.map_or_else(|| self.type_of_topic(&topic), Ok).map_err(Missing::Unknown)?;
                let own = self.topics.values().flat_map(|t| &t.listeners).filter(|l| l.client == id).count();
                if own >= MOST_SUBSCRIPTIONS {
                    return Err(Missing::Unknown(format!(
                        "{MOST_SUBSCRIPTIONS} subscriptions are all that one page gets"
                    )));
                }
                let period = Duration::from_millis(period.min(60_000));
                let kind = Kind::Page { sub, period, keep: keep.into(), pace: Pace::default() };
                self.forget_listener(|l| {
                    l.client == id && matches!(l.kind, Kind::Page { sub: s, .. } if s == sub)
                });
                self.listen(&topic, &ty, Listener { client: id, kind })?;
                return Ok(Some(json!({"type": ty})));
            }
            Wish::Unsubscribe { sub } => {
                self.forget_listener(|l| {
                    l.client == id && matches!(l.kind, Kind::Page { sub: s, .. } if s == sub)
                });
            }
            Wish::Measure { topics } => {
                let topics: BTreeSet<_> = topics.into_iter().take(MOST_SUBSCRIPTIONS).collect();
                self.forget_listener(|l| l.client == id && l.kind == Kind::Rate);
                for (topic, ty) in &topics {
                    match self.listen(topic, ty, Listener { client: id, kind: Kind::Rate }) {
                        Err(Missing::Ask(source)) => self.ask_for_type(&source, None),
                        Err(Missing::Unknown(_)) | Ok(()) => {}
                    }
                }
                if let Some(Speech::Page { measured, .. }) =
                    self.peers.get_mut(&id).map(|peer| &mut peer.speech)
                {
                    *measured = topics;
                }
            }
            Wish::Publish { topic, r#type, value } => {
                self.permit(id, &systems_of_topic(&self.graph(), &self.node.full_name(), &topic))?;
                self.publish(&topic, &r#type, &value, Self::later(id, number))?;
                return Ok(None);
            }
            Wish::Call { service, r#type, value, timeout } => {
                if !only_looks(&r#type) {
                    let systems = self.systems_of_service(&service);
                    self.permit(id, &systems)?;
                }
                let timeout = timeout.filter(|t| t.is_finite()).unwrap_or(10.0).clamp(0.1, LONGEST_CALL);
                let timeout = Duration::from_secs_f64(timeout);
                let mut answer = Self::later(id, number);
                if r#type == SESSION_COMMAND {
                    answer = Self::told_to_all(service.clone(), answer);
                }
                self.call(&service, &r#type, &value, timeout, answer)?;
                return Ok(None);
            }
            Wish::Parameters { node } => {
                self.list_parameters(
                    &node,
                    Box::new(move |app, found| app.done(id, number, found.map(Value::from))),
                );
                return Ok(None);
            }
            Wish::SetParameter { node, name, value, r#type } => {
                self.permit(id, &[system_of_node(&node)])?;
                let value = parameters::from_json(&value, r#type).map_err(Missing::Unknown)?;
                let done = Box::new(move |app: &mut App, result: Result<(), String>| {
                    app.done(id, number, result.map(|()| json!(true)));
                });
                self.set_parameter(&node, &name, value, done);
                return Ok(None);
            }
            Wish::Define { r#type } => return self.define(&r#type).map(Some),
            Wish::Hold { key, act, release } => {
                let systems = self.systems_of(&act);
                self.permit(id, &systems)?;
                if self.holds.hold(id, &key, release, monotonic()) {
                    self.act(act);
                }
            }
            Wish::Release { key } => {
                if let Some(release) = self.holds.release(id, &key) {
                    self.act(release);
                }
            }
            Wish::Operate { systems, take } => {
                if self.peers.get(&id).is_none_or(|peer| peer.role < Role::Operator) {
                    return Err(Missing::Unknown("only looking is allowed here, and STOP".to_owned()));
                }
                if take {
                    self.end_holds_of_others(id);
                    self.stop_benches();
                }
                let claimed = self.operators.claim(&systems, id, take);
                self.tell_operators();
                claimed.map_err(|(system, _)| {
                    Missing::Unknown(format!("{system} is operated by somebody else"))
                })?;
            }
            Wish::Resign { system } => {
                self.operators.release(id, system.as_deref());
                self.tell_operators();
            }
            Wish::Stop => {
                let name = self.peers.get(&id).map_or_else(String::new, |peer| peer.name.clone());
                let told = self.stop_everything(&name);
                self.tell_pages(&json!({"op": "stopped", "by": name, "told": told}));
                return Ok(Some(json!({"told": told})));
            }
            Wish::Counters => return Ok(Some(self.counters())),
            Wish::Bench { space } => self.open_bench(id, &space).map_err(Missing::Unknown)?,
            Wish::LeaveBench { space } => self.leave_benches(id, Some(&space)),
            Wish::Actuate { space, actuator } => {
                self.permit(id, &[system_of_node(&format!("{space}/sequence_controller"))])?;
                self.actuate(id, &space, actuator, Self::later(id, number));
                return Ok(None);
            }
            Wish::Takes => return Ok(Some(self.takes.list())),
            Wish::Doctor => {
                self.examine(Self::later(id, number));
                return Ok(None);
            }
        }
        Ok(number.map(|_| json!(true)))
    }

    fn end_holds_of_others(&mut self, id: ClientId) {
        let others: Vec<_> = self.peers.keys().copied().filter(|other| *other != id).collect();
        for release in
            others.into_iter().flat_map(|other| self.holds.release_all(Some(other))).collect::<Vec<_>>()
        {
            self.act(release);
        }
    }

    /// The machines that serve a service.
    pub(crate) fn systems_of_service(&self, service: &str) -> Vec<String> {
        let graph = self.graph();
        let nodes = graph.endpoints().filter_map(|e| match e.role() {
            Some(rosless_graph::graph::Role::Server(name)) if name == service => graph.node_of(&e.gid),
            _ => None,
        });
        let systems: BTreeSet<_> = nodes.map(|node| system_of_node(&node.to_string())).collect();
        systems.into_iter().collect()
    }

    fn systems_of(&self, act: &Act) -> Vec<String> {
        match act {
            Act::Publish { topic, .. } => systems_of_topic(&self.graph(), &self.node.full_name(), topic),
            Act::Parameter { node, .. } => vec![system_of_node(node)],
        }
    }

    /// Does something that nobody waits for.
    pub(crate) fn act(&mut self, act: Act) {
        let failed = |app: &mut App, what: &str, error: String| {
            app.tell_pages(&json!({"op": "notice", "level": "error", "text": format!("{what}: {error}")}));
        };
        match act {
            Act::Publish { topic, r#type, value } => {
                let name = topic.clone();
                let done = Box::new(move |app: &mut App, result: Result<Value, String>| {
                    if let Err(error) = result {
                        failed(app, &name, error);
                    }
                });
                if let Err(missing) = self.publish(&topic, &r#type, &value, done) {
                    failed(self, &topic, format!("{missing:?}"));
                }
            }
            Act::Parameter { node, name, value, r#type } => match parameters::from_json(&value, r#type) {
                Ok(value) => {
                    let of = format!("{node} {name}");
                    let done = Box::new(move |app: &mut App, result: Result<(), String>| {
                        if let Err(error) = result {
                            failed(app, &of, error);
                        }
                    });
                    self.set_parameter(&node, &name, value, done);
                }
                Err(error) => failed(self, &name, error),
            },
        }
    }

    /// A type's fields, for a form.
    fn define(&self, name: &str) -> Result<Value, Missing> {
        let graph = self.graph();
        let endpoints: Vec<_> = graph.endpoints().filter(|e| e.type_name() == name).collect();
        let known = self
            .types
            .find(&graph, name, &endpoints)
            .or_else(|missing| self.types.local(name).ok_or(missing))?;
        let value = serde_json::to_value(DynamicMessage::new(&known.ty)).unwrap_or(Value::Null);
        Ok(json!({"type": name, "fields": fields(&known.ty), "value": value, "definition": known.definition}))
    }
}

fn fields(ty: &MessageType) -> Value {
    let field = |name: &str, element: &Element, arity: Arity| {
        let (kind, inner) = match element {
            Element::Base(BaseType::Message(name)) => (name.clone(), Value::Null),
            Element::Base(base) => (base.to_string(), Value::Null),
            Element::Message(inner) => (inner.name().to_owned(), fields(inner)),
        };
        json!({"name": name, "type": kind, "arity": arity.to_string(), "fields": inner})
    };
    ty.fields().iter().map(|f| field(f.name(), &f.value_type().element, f.value_type().arity)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_needs_no_operator() {
        for ty in [
            "rcl_interfaces/srv/GetParameters",
            "lifecycle_msgs/srv/GetState",
            "mecha_control/action/DaizaCmd_GetResult",
            "rosless_msgs/srv/PlanMotion",
        ] {
            assert!(only_looks(ty), "{ty}");
        }
        for ty in [
            "rcl_interfaces/srv/SetParameters",
            "lifecycle_msgs/srv/ChangeState",
            "std_srvs/srv/Trigger",
            "x/srv/GetReady",
        ] {
            assert!(!only_looks(ty), "{ty}");
        }
    }

    #[test]
    fn wishes_are_read_and_nonsense_is_refused() {
        for text in [
            r#"{"op":"beat"}"#,
            r#"{"id":1,"op":"subscribe","sub":3,"topic":"/a","type":null,"period":50}"#,
            r#"{"op":"hold","key":"k","act":{"publish":{"topic":"/a","type":"t","value":{}}},"release":{"parameter":{"node":"/n","name":"p","value":1,"type":2}}}"#,
            r#"{"op":"stop","id":9}"#,
        ] {
            assert!(serde_json::from_str::<Asked>(text).is_ok(), "{text}");
        }
        for text in ["", "{}", r#"{"op":"explode"}"#, r#"{"op":"subscribe","sub":-1,"topic":"/a"}"#] {
            assert!(serde_json::from_str::<Asked>(text).is_err(), "{text}");
        }
    }
}
