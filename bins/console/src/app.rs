//! The program's state, and what happens to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::TcpListener,
    path::PathBuf,
    rc::Rc,
    time::Duration,
};

use rosless_cli::Result;
use rosless_graph::{
    Context, EventLoop, Graph, Handle, Node, RawClient, RawPublisher, Subscription, monotonic,
};
use rosless_schema::Registry;
use rosless_web::{Access, ClientId, Event, Limits, Outgoing, Request, Response, Role, Server};
use serde_json::{Value, json};

use crate::{
    assets,
    foxglove::FoxgloveServer,
    graph_view,
    holds::Holds,
    operators::Operators,
    takes::Takes,
    talk::Act,
    topics::Topic,
    types::{Source, Types},
    workbench::OpenBench,
};

/// The console's own subprotocol.
pub(crate) const PROTOCOL: &str = "rosless.console.v1";
/// The node's name.
const NODE: &str = "rosless_console";
/// How often clients are looked at.
const TICK: Duration = Duration::from_secs(1);
/// A graph that changes all the time is told this often.
const GRAPH_PERIOD: Duration = Duration::from_millis(400);

/// How a client speaks.
#[derive(Debug)]
pub(crate) enum Speech {
    /// A page of the console.
    Page {
        /// It wants to know of changes of the graph.
        graph: bool,
        /// Rates of these topics.
        measured: BTreeSet<(String, String)>,
    },
    Foxglove(rosless_foxglove::Session),
}

/// Somebody with a WebSocket.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) role: Role,
    pub(crate) speech: Speech,
    /// For other people: who operates.
    pub(crate) name: String,
}

/// Everything.
pub(crate) struct App {
    pub(crate) handle: Handle<App>,
    pub(crate) context: Context,
    pub(crate) node: Node,
    access: Access,
    server: Server,
    events: Vec<(ClientId, Event)>,
    pub(crate) peers: BTreeMap<ClientId, Peer>,
    pub(crate) types: Types,
    /// Definitions that are being asked for, and what waits for them.
    pub(crate) asked: BTreeMap<Source, Vec<(ClientId, String)>>,
    pub(crate) topics: BTreeMap<(String, String), Topic>,
    /// With when they were used last.
    pub(crate) publishers: BTreeMap<(String, String), (RawPublisher, Duration)>,
    pub(crate) clients: BTreeMap<(String, String), RawClient<App>>,
    pub(crate) operators: Operators,
    pub(crate) holds: Holds<Act>,
    pub(crate) foxglove: FoxgloveServer,
    /// Mechanisms whose single actuators somebody looks at, by namespace.
    pub(crate) benches: BTreeMap<String, OpenBench>,
    pub(crate) takes: Takes,
    /// What the last command to systems came to, for pages that come later.
    pub(crate) last_session: Option<Value>,
    /// Subscriptions that have done what they were made for.
    pub(crate) finished: Vec<Subscription<App>>,
    next_tick: Duration,
    /// When the changed graph is to be told.
    graph_due: Option<Duration>,
    graph_told: Duration,
    again: bool,
}

/// Runs until a signal comes.
pub(crate) fn run(
    context: &Context,
    listener: TcpListener,
    access: Access,
    registry: Registry,
    packages: Vec<PathBuf>,
    takes: Takes,
) -> Result<()> {
    let node = context.node(NODE)?;
    let event_loop = EventLoop::<App>::new(context)?;
    let mut app = App {
        handle: event_loop.handle(),
        context: context.clone(),
        node: node.clone(),
        access,
        server: Server::new(Limits::default()),
        events: Vec::new(),
        peers: BTreeMap::new(),
        types: Types::new(registry),
        asked: BTreeMap::new(),
        topics: BTreeMap::new(),
        publishers: BTreeMap::new(),
        clients: BTreeMap::new(),
        operators: Operators::default(),
        holds: Holds::default(),
        foxglove: FoxgloveServer::new(packages),
        benches: BTreeMap::new(),
        takes,
        last_session: None,
        finished: Vec::new(),
        next_tick: Duration::ZERO,
        graph_due: None,
        graph_told: Duration::ZERO,
        again: false,
    };
    event_loop.watch(listener, |app: &mut App, listener| {
        app.accept(listener);
        true
    })?;
    event_loop.after_batch(App::settle);
    event_loop.on_graph_change(|app: &mut App, _| app.graph_changed());
    event_loop.engine_deadline(|app: &mut App| app.next_deadline(), App::wake);
    event_loop.announce(&node, "serving pages and Foxglove clients".to_owned());
    Ok(event_loop.run(&mut app)?)
}

impl App {
    pub(crate) fn graph(&self) -> Rc<Graph> {
        self.context.graph()
    }

    fn accept(&mut self, listener: &TcpListener) {
        let came = self.server.accept(listener, monotonic(), &mut self.events);
        for (id, stream) in came {
            let ready = move |app: &mut App, _: &mut _| app.server.ready(id, monotonic(), &mut app.events);
            if let Err(error) = self.handle.watch_both_ways(stream, ready) {
                log::warn!(target: self.node.logger(), "a client cannot be served: {error}");
                self.server.end(id, "no room", monotonic(), &mut self.events);
            }
        }
    }

    /// After every batch: does what clients asked for, and sends what there is for them.
    fn settle(&mut self) {
        self.finished.drain(..).for_each(Subscription::close);
        loop {
            while !self.events.is_empty() {
                for (id, event) in std::mem::take(&mut self.events) {
                    self.happened(id, event);
                }
            }
            self.server.flush(monotonic(), &mut self.events);
            if self.events.is_empty() {
                break;
            }
        }
        let unfinished = self.server.take_unfinished();
        self.again = !unfinished.is_empty();
        for id in unfinished {
            self.server.ready(id, monotonic(), &mut self.events);
            self.again |= !self.events.is_empty();
        }
    }

    fn happened(&mut self, id: ClientId, event: Event) {
        match event {
            Event::Request(request) => self.asked_for(id, &request),
            Event::Message(message) => match self.peers.get(&id).map(|peer| &peer.speech) {
                Some(Speech::Page { .. }) => self.page_says(id, &message),
                Some(Speech::Foxglove(_)) => self.foxglove_says(id, &message),
                None => {}
            },
            Event::Closed(_) => self.gone(id),
        }
    }

    fn asked_for(&mut self, id: ClientId, request: &Request) {
        let now = monotonic();
        let role = match self.access.judge(request) {
            Ok(role) => role,
            Err(refusal) => {
                let response = Response::text(refusal.status(), refusal.text());
                return self.server.respond(id, &response, now, &mut self.events);
            }
        };
        if !request.is_upgrade() {
            if let Some(path) = request.path.strip_prefix("/takes/")
                && let Some(stream) = self.takes.open(path)
            {
                return self.server.respond_with(id, stream, now, &mut self.events);
            }
            let response = match self.access.cookie(request) {
                // The token does not stay in the address line.
                Some(cookie) if assets::PAGES.contains(&request.path.as_str()) => {
                    let here = request.path.clone();
                    Response::text(303, "welcome").with("Location", here).with("Set-Cookie", cookie)
                }
                _ => assets::response(request),
            };
            return self.server.respond(id, &response, now, &mut self.events);
        }
        let offered = || request.words("sec-websocket-protocol");
        if let Some(protocol) = rosless_foxglove::choose(offered()) {
            if self.server.upgrade(id, Some(protocol), now, &mut self.events) {
                let speech = Speech::Foxglove(rosless_foxglove::Session::new(protocol));
                self.peers.insert(id, Peer { role, speech, name: format!("Foxglove client {}", id.0) });
                self.foxglove_came(id, role);
            }
        } else if offered().any(|word| word == PROTOCOL) {
            if self.server.upgrade(id, Some(PROTOCOL), now, &mut self.events) {
                let speech = Speech::Page { graph: false, measured: BTreeSet::new() };
                self.peers.insert(id, Peer { role, speech, name: format!("browser {}", id.0) });
                self.page_came(id, role);
            }
        } else {
            let spoken = format!("{PROTOCOL}, {}", rosless_foxglove::SUBPROTOCOLS.join(", "));
            let response = Response::text(400, &format!("no subprotocol in common; spoken here: {spoken}"));
            self.server.respond(id, &response, now, &mut self.events);
        }
    }

    fn gone(&mut self, id: ClientId) {
        if self.peers.remove(&id).is_none() {
            return;
        }
        for release in self.holds.release_all(Some(id)) {
            self.act(release);
        }
        self.leave_benches(id, None);
        self.forget_listener(|listener| listener.client == id);
        if self.operators.release(id, None) {
            self.tell_operators();
        }
    }

    /// An answer, or news that must not be lost.
    pub(crate) fn answer(&mut self, id: ClientId, text: String) {
        self.server.send(id, Outgoing::AnswerText(text), &mut self.events);
    }

    pub(crate) fn answer_bytes(&mut self, id: ClientId, bytes: Vec<u8>) {
        self.server.send(id, Outgoing::Answer(bytes.into()), &mut self.events);
    }

    pub(crate) fn data(&mut self, id: ClientId, text: String) {
        self.server.send(id, Outgoing::DataText(text), &mut self.events);
    }

    pub(crate) fn data_bytes(&mut self, id: ClientId, bytes: Vec<u8>) {
        self.server.send(id, Outgoing::Data(bytes.into()), &mut self.events);
    }

    /// To everybody with a page.
    pub(crate) fn tell_pages(&mut self, message: &Value) {
        let text = message.to_string();
        let pages = self.peers.iter().filter(|(_, peer)| matches!(peer.speech, Speech::Page { .. }));
        for id in pages.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.answer(id, text.clone());
        }
    }

    pub(crate) fn tell_operators(&mut self) {
        let who: serde_json::Map<_, _> = self
            .operators
            .iter()
            .map(|(system, id)| {
                let name = self.peers.get(&id).map_or("somebody", |peer| &peer.name);
                (system.to_owned(), json!({"id": id.0, "name": name}))
            })
            .collect();
        self.tell_pages(&json!({"op": "operators", "operators": who}));
    }

    fn graph_changed(&mut self) {
        self.adapt_topics();
        let due = (self.graph_told + GRAPH_PERIOD).max(monotonic());
        self.graph_due.get_or_insert(due);
    }

    /// Types that were not known before are; whoever waits for them hears of it.
    pub(crate) fn types_changed(&mut self) {
        self.graph_due.get_or_insert(monotonic());
    }

    fn tell_graph(&mut self) {
        let wants = |peer: &Peer| matches!(peer.speech, Speech::Page { graph: true, .. });
        let pages: Vec<_> = self.peers.iter().filter(|(_, peer)| wants(peer)).map(|(id, _)| *id).collect();
        if !pages.is_empty() {
            let text = graph_view::snapshot(&self.graph(), &self.node.full_name()).to_string();
            for id in pages {
                self.answer(id, text.clone());
            }
        }
        self.foxglove_graph_changed();
    }

    fn next_deadline(&mut self) -> Option<Duration> {
        let tick = (!self.server.is_empty() || !self.publishers.is_empty()).then_some(self.next_tick);
        let again = self.again.then_some(Duration::ZERO);
        let deadlines = [tick, again, self.holds.next_deadline(), self.graph_due, self.topics_deadline()];
        deadlines.into_iter().flatten().min()
    }

    fn wake(&mut self, now: Duration) {
        for release in self.holds.expired(now) {
            self.act(release);
        }
        self.send_late(now);
        if self.graph_due.is_some_and(|due| due <= now) {
            self.graph_due = None;
            self.graph_told = now;
            self.tell_graph();
        }
        if self.next_tick <= now {
            self.next_tick = now + TICK;
            self.server.tick(now, &mut self.events);
            self.forget_publishers(now);
            self.tell_rates(now);
            self.foxglove_time();
        }
    }

    /// Connections and dropped messages, for people.
    pub(crate) fn counters(&self) -> Value {
        let counters = self.server.counters();
        json!({"connections": self.server.len(), "crowded": counters.crowded, "dropped": counters.dropped})
    }
}
