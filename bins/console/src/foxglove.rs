//! Foxglove clients on the graph.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read as _,
    path::{Component, Path, PathBuf},
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rosless_foxglove::{
    Advertised, Catalogue, Request, ServiceType, Told, Wrong,
    message::{self, Level, Uses},
};
use rosless_graph::{
    Graph, Subscription,
    graph::{EndpointKind, Role as EndRole},
};
use rosless_schema::DynamicMessage;
use rosless_web::{ClientId, Message, Role};
use serde_json::{Value, json};

use crate::{
    app::{App, Speech},
    operators::systems_of_topic,
    topics::{Kind, Listener},
    types::{Missing, Source},
};

const CALL_PATIENCE: Duration = Duration::from_secs(30);
/// Larger files are not handed out.
const MOST_ASSET: u64 = 32 * 1024 * 1024;

/// What all Foxglove clients share.
pub(crate) struct FoxgloveServer {
    catalogue: Catalogue,
    packages: Vec<PathBuf>,
    session: String,
    /// Changes of parameters, once somebody wants to hear of them.
    pub(crate) parameter_events: Option<Subscription<App>>,
}

impl FoxgloveServer {
    pub(crate) fn new(mut packages: Vec<PathBuf>) -> Self {
        let prefixes = std::env::var_os("AMENT_PREFIX_PATH").unwrap_or_default();
        packages.extend(
            std::env::split_paths(&prefixes).filter(|p| !p.as_os_str().is_empty()).map(|p| p.join("share")),
        );
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Self { catalogue: Catalogue::default(), packages, session: now.to_string(), parameter_events: None }
    }

    /// The file behind `package://name/path`, wherever packages lie.
    fn asset(&self, uri: &str) -> Result<Vec<u8>, String> {
        let path = uri.strip_prefix("package://").ok_or("only package:// is served")?;
        let relative = Path::new(path);
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err("this is not a path within a package".to_owned());
        }
        let found = self.packages.iter().find_map(|folder| {
            let folder = folder.canonicalize().ok()?;
            // Links that lead out of the folder are not followed.
            folder
                .join(relative)
                .canonicalize()
                .ok()
                .filter(|file| file.starts_with(&folder) && file.is_file())
        });
        let file =
            found.ok_or_else(|| format!("{uri} is not here; say with --package-path where packages lie"))?;
        let mut bytes = Vec::new();
        let read = fs::File::open(&file).and_then(|file| file.take(MOST_ASSET + 1).read_to_end(&mut bytes));
        match read {
            Ok(length) if length as u64 <= MOST_ASSET => Ok(bytes),
            Ok(_) => Err(format!("{uri} is larger than {MOST_ASSET} bytes")),
            Err(error) => Err(format!("{uri}: {error}")),
        }
    }
}

impl App {
    pub(crate) fn foxglove_session(&mut self, id: ClientId) -> Option<&mut rosless_foxglove::Session> {
        match &mut self.peers.get_mut(&id)?.speech {
            Speech::Foxglove(session) => Some(session),
            Speech::Page { .. } => None,
        }
    }

    pub(crate) fn foxglove_clients(&self) -> Vec<ClientId> {
        let is = |speech: &Speech| matches!(speech, Speech::Foxglove(_));
        self.peers.iter().filter(|(_, peer)| is(&peer.speech)).map(|(id, _)| *id).collect()
    }

    pub(crate) fn foxglove_came(&mut self, id: ClientId, role: Role) {
        let capabilities: Vec<_> = message::CAPABILITIES
            .into_iter()
            .filter(|c| role == Role::Operator || !matches!(*c, "clientPublish" | "services"))
            .collect();
        let domain = self.context.settings().environment.domain_id;
        let metadata = json!({"ROS_DOMAIN_ID": domain.to_string()});
        let info = message::server_info("rosless", &self.foxglove.session, &capabilities, &metadata);
        self.answer(id, info);
        // The newcomer gets all; the others what is new since they last heard.
        let told = self.update_catalogue();
        for other in self.foxglove_clients().into_iter().filter(|other| *other != id) {
            self.foxglove_tell(other, &told);
        }
        self.foxglove_tell(id, &self.foxglove.catalogue.introduction());
    }

    fn foxglove_tell(&mut self, id: ClientId, told: &[Told]) {
        for told in told {
            let Some(text) = self.foxglove_session(id).map(|session| session.words(told).to_owned()) else {
                return;
            };
            self.answer(id, text);
        }
    }

    fn update_catalogue(&mut self) -> Vec<Told> {
        let graph = self.graph();
        let own = self.context.gid().prefix();
        let topics: BTreeSet<_> = graph
            .endpoints()
            .filter(|e| e.kind == EndpointKind::Writer && e.gid.prefix() != own)
            .filter_map(|e| match e.role()? {
                EndRole::Publisher(topic) => Some((topic, e.type_name())),
                _ => None,
            })
            .collect();
        let services: BTreeSet<_> = graph
            .services()
            .into_iter()
            .filter(|(name, _)| !name.contains("/_"))
            .flat_map(|(name, types)| types.into_iter().map(move |ty| (name.clone(), ty)))
            .collect();
        let mut unknown = Vec::<Source>::new();
        let asked = RefCell::new(&mut unknown);
        let note = |missing| {
            if let Missing::Ask(source) = missing {
                asked.borrow_mut().push(source);
            }
        };
        let (types, catalogue) = (&self.types, &mut self.foxglove.catalogue);
        let told = catalogue.update(
            &topics,
            &services,
            |topic, ty| {
                let endpoints: Vec<_> =
                    graph.endpoints().filter(|e| e.ros_name() == topic && e.type_name() == ty).collect();
                types.find(&graph, ty, &endpoints).map(|known| known.definition.clone()).map_err(note).ok()
            },
            |service, ty| {
                let [request, response] = types.service(&graph, service, ty).map_err(note).ok()?;
                Some(ServiceType {
                    name: ty.to_owned(),
                    request: request.definition.clone(),
                    response: response.definition.clone(),
                })
            },
        );
        unknown.iter().for_each(|source| self.ask_for_type(source, None));
        told
    }

    pub(crate) fn foxglove_graph_changed(&mut self) {
        let clients = self.foxglove_clients();
        if clients.is_empty() {
            return;
        }
        let told = self.update_catalogue();
        for id in clients {
            self.foxglove_tell(id, &told);
            let listened = self.foxglove_session(id).map_or_else(BTreeSet::new, |session| session.listened());
            for channel in listened {
                if self.foxglove.catalogue.channel(channel).is_none() {
                    self.forget_listener(|l| l.client == id && l.kind == Kind::Foxglove { channel });
                }
            }
            self.tell_connections(id);
        }
    }

    /// Who is connected to what, if the client wants to know.
    fn tell_connections(&mut self, id: ClientId) {
        let graph = self.graph();
        let (published, subscribed, served) = connections(&graph);
        let Some(session) = self.foxglove_session(id) else { return };
        let Some(before) = &mut session.graph else { return };
        let names = |uses: &[&Uses]| -> BTreeSet<String> {
            uses.iter().flat_map(|uses| uses.iter().map(|(name, _)| name.clone())).collect()
        };
        let now = (names(&[&published, &subscribed]), names(&[&served]));
        let removed = |before: &BTreeSet<String>, now: &BTreeSet<String>| -> Vec<String> {
            before.difference(now).cloned().collect()
        };
        let (topics, services) = (removed(&before.0, &now.0), removed(&before.1, &now.1));
        *before = now;
        self.answer(id, message::graph_update(&published, &subscribed, &served, (&topics, &services)));
    }

    /// Once a second, as long as somebody listens.
    pub(crate) fn foxglove_time(&mut self) {
        let now = self.node.now();
        let nanoseconds = u64::try_from(now.sec).unwrap_or(0) * 1_000_000_000 + u64::from(now.nanosec);
        for id in self.foxglove_clients() {
            self.data_bytes(id, message::time(nanoseconds));
        }
    }

    pub(crate) fn remark(&mut self, id: ClientId, text: &str) {
        self.answer(id, message::status(Level::Error, text, None));
    }

    pub(crate) fn foxglove_says(&mut self, id: ClientId, said: &Message) {
        let request = match said {
            Message::Text(text) => Request::text(text),
            Message::Binary(bytes) => Request::binary(bytes),
        };
        match request {
            Ok(request) => self.foxglove_wish(id, request),
            Err(Wrong(text)) => self.remark(id, &text),
        }
    }

    fn foxglove_wish(&mut self, id: ClientId, request: Request) {
        match request {
            Request::Subscribe(subscriptions) => {
                for subscription in subscriptions {
                    let channel = subscription.channel_id;
                    let Some(found) = self.foxglove.catalogue.channel(channel).cloned() else {
                        self.remark(id, &format!("there is no channel {channel}"));
                        continue;
                    };
                    let Some(session) = self.foxglove_session(id) else { return };
                    match session.subscribe(subscription) {
                        Err(Wrong(text)) => self.remark(id, &text),
                        Ok(false) => {}
                        Ok(true) => {
                            let listener = Listener { client: id, kind: Kind::Foxglove { channel } };
                            if self.listen(&found.topic, &found.schema_name, listener).is_err() {
                                self.remark(id, &format!("{} cannot be listened to", found.topic));
                            }
                        }
                    }
                }
            }
            Request::Unsubscribe(ids) => {
                for subscription in ids {
                    let channel =
                        self.foxglove_session(id).and_then(|session| session.unsubscribe(subscription));
                    if let Some(channel) = channel {
                        self.forget_listener(|l| l.client == id && l.kind == Kind::Foxglove { channel });
                    }
                }
            }
            Request::Advertise(channels) => {
                for channel in channels {
                    if let Err(text) = self.foxglove_advertise(id, channel) {
                        self.remark(id, &text);
                    }
                }
            }
            Request::Unadvertise(channels) => {
                for channel in channels {
                    if let Some(session) = self.foxglove_session(id) {
                        session.unadvertise(channel);
                    }
                }
            }
            Request::Publish { channel, payload } => {
                if let Err(text) = self.foxglove_publish(id, channel, payload) {
                    self.remark(id, &text);
                }
            }
            Request::Call { service, call, encoding, payload } => {
                if let Err(text) = self.foxglove_call(id, service, call, &encoding, payload) {
                    self.answer(id, message::call_failure(service, call, &text));
                }
            }
            Request::GetParameters { names, id: number } => self.foxglove_parameters(id, names, number),
            Request::SetParameters { parameters, id: number } => self.foxglove_set(id, parameters, number),
            Request::SubscribeParameters(names) => {
                if let Some(session) = self.foxglove_session(id) {
                    session.parameters.extend(names);
                }
                self.follow_parameters();
            }
            Request::UnsubscribeParameters(names) => {
                if let Some(session) = self.foxglove_session(id) {
                    session.parameters.retain(|name| !names.contains(name));
                }
            }
            Request::SubscribeGraph => {
                if let Some(session) = self.foxglove_session(id) {
                    session.graph = Some(Default::default());
                }
                self.tell_connections(id);
            }
            Request::UnsubscribeGraph => {
                if let Some(session) = self.foxglove_session(id) {
                    session.graph = None;
                }
            }
            Request::FetchAsset { uri, id: number } => {
                let file = self.foxglove.asset(&uri);
                let bytes = message::asset(number, file.as_deref().map_err(String::as_str));
                self.answer_bytes(id, bytes);
            }
        }
    }

    fn foxglove_advertise(&mut self, id: ClientId, channel: Advertised) -> Result<(), String> {
        if !matches!(channel.encoding.as_str(), "cdr" | "json") {
            return Err(format!(
                "{}: messages are taken as cdr or json, not as {}",
                channel.topic, channel.encoding
            ));
        }
        self.foxglove_type(&channel)?;
        let session = self.foxglove_session(id).ok_or("gone")?;
        session.advertise(channel).map_err(|Wrong(text)| text)
    }

    fn foxglove_type(&self, channel: &Advertised) -> Result<Rc<crate::types::Known>, String> {
        let name = match channel.schema_name.matches('/').count() {
            1 => channel.schema_name.replacen('/', "/msg/", 1),
            _ => channel.schema_name.clone(),
        };
        self.topic_type(&channel.topic, &name)
            .map_err(|_| format!("{}: the type {name} is not known here", channel.topic))
    }

    fn foxglove_publish(&mut self, id: ClientId, channel: u32, payload: Vec<u8>) -> Result<(), String> {
        let session = self.foxglove_session(id).ok_or("gone")?;
        let channel = session
            .advertised(channel)
            .cloned()
            .ok_or_else(|| format!("channel {channel} was not advertised"))?;
        let systems = systems_of_topic(&self.graph(), &self.node.full_name(), &channel.topic);
        self.permit(id, &systems).map_err(words)?;
        let known = self.foxglove_type(&channel)?;
        let payload = self.foxglove_payload(&known, &channel.encoding, payload)?;
        let topic = channel.topic.clone();
        let done = Box::new(move |app: &mut App, result: Result<Value, String>| {
            if let Err(error) = result {
                app.remark(id, &format!("{topic}: {error}"));
            }
        });
        self.publish_raw(&channel.topic, &known, payload, done)
    }

    /// Little-endian bytes that are a message of this type.
    fn foxglove_payload(
        &self,
        known: &crate::types::Known,
        encoding: &str,
        payload: Vec<u8>,
    ) -> Result<Vec<u8>, String> {
        if encoding == "json" {
            let value = serde_json::from_slice(&payload).map_err(|error| error.to_string())?;
            return self.message(known, &value);
        }
        match DynamicMessage::from_payload(&known.ty, &payload) {
            Ok(_) if payload.get(1) == Some(&1) => Ok(payload),
            Ok(message) => Ok(message.to_payload()),
            Err(error) => Err(format!("this is not a {}: {error}", known.name)),
        }
    }

    fn foxglove_call(
        &mut self,
        id: ClientId,
        number: u32,
        call: u32,
        encoding: &str,
        payload: Vec<u8>,
    ) -> Result<(), String> {
        if !matches!(encoding, "cdr" | "json") {
            return Err(format!("requests are taken as cdr or json, not as {encoding}"));
        }
        let service = self.foxglove.catalogue.service(number).cloned().ok_or("there is no such service")?;
        let systems = self.systems_of_service(&service.name);
        self.permit(id, &systems).map_err(words)?;
        let [request, response] =
            self.types.service(&self.graph(), &service.name, &service.ty.name).map_err(words)?;
        let payload = self.foxglove_payload(&request, encoding, payload)?;
        let encoding = encoding.to_owned();
        let done = Box::new(move |app: &mut App, answer: Result<Vec<u8>, rosless_graph::CallError>| {
            let answer = answer.map_err(|error| error.to_string()).and_then(|bytes| {
                if encoding == "cdr" {
                    return Ok(bytes);
                }
                let message =
                    DynamicMessage::from_payload(&response.ty, &bytes).map_err(|error| error.to_string())?;
                serde_json::to_vec(&message).map_err(|error| error.to_string())
            });
            match answer {
                Ok(bytes) => app.answer_bytes(id, message::call_response(number, call, &encoding, &bytes)),
                Err(error) => app.answer(id, message::call_failure(number, call, &error)),
            }
        });
        self.call_raw(&service.name, &service.ty.name, payload, CALL_PATIENCE, done).map_err(words)
    }
}

pub(crate) fn words(missing: Missing) -> String {
    match missing {
        Missing::Unknown(text) => text,
        Missing::Ask(source) => {
            format!("the definition of {} is being asked for; try again", source.type_name)
        }
    }
}

fn connections(graph: &Graph) -> (Uses, Uses, Uses) {
    let mut all = [BTreeMap::<String, BTreeSet<String>>::new(), BTreeMap::new(), BTreeMap::new()];
    for endpoint in graph.endpoints() {
        let (kind, name) = match endpoint.role() {
            Some(EndRole::Publisher(name)) => (0, name),
            Some(EndRole::Subscription(name)) => (1, name),
            Some(EndRole::Server(name)) => (2, name),
            _ => continue,
        };
        let node =
            graph.node_of(&endpoint.gid).map_or_else(|| endpoint.gid.to_string(), |node| node.to_string());
        all[kind].entry(name).or_default().insert(node);
    }
    let list = |uses: BTreeMap<String, BTreeSet<String>>| {
        uses.into_iter().map(|(name, ids)| (name, ids.into_iter().collect())).collect()
    };
    let [published, subscribed, served] = all;
    (list(published), list(subscribed), list(served))
}
