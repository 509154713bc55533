//! Services that Cyclone, Fast DDS and RustDDS peers can use at the same time.
//!
//! The vendors disagree on how a reply finds its request. Cyclone puts 16 bytes (client id, sequence number) in front of
//! the body; Fast DDS leaves the body alone and puts the reply reader's gid and the request's sequence number into
//! inline QoS. The mapping is chosen per peer, from the vendor id in its gid; between our own processes it is Fast's.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    rc::{Rc, Weak},
    time::Duration,
};

use mio::Registry;
use rosless_wire::{
    Message, Service,
    cdr::{self, ByteOrder},
    names,
};
use rustdds::bytes::Bytes;

use crate::{
    Counters, Error, Gid, GidPrefix, Graph, Node, Qos, Result, SampleInfo, Vendor,
    counters::RateLimit,
    event_loop::{Handle, Source, Timer, monotonic},
    introspection::{self, CallId, Introspect, Introspection, Introspector, Step},
    parameters::ParameterValue,
    raw::{Addressing, RawSample, RawWriter, TopicSpec},
    subscription::Inbox,
};

/// Requests and replies that may wait for the event loop.
const BURST: u32 = 1000;
/// How long a reply waits for its asker's reader to be discovered.
const REPLY_PATIENCE: Duration = Duration::from_secs(5);
/// Replies of one service that may wait, and the bytes they may have together: a request costs its sender nothing.
const MAX_WAITING: usize = 1000;
const MAX_WAITING_BYTES: usize = 4 << 20;
/// RTPS's SEQUENCENUMBER_UNKNOWN: a Fast DDS client tells only its reader, the number is that of the sample itself.
const UNKNOWN_SEQUENCE: i64 = (u32::MAX as i64) << 32;

/// Name and hash of a service's request or response type; an empty hash announces none.
pub type TypeAndHash<'a> = (&'a str, &'a str);

/// Name and hash of a message type.
fn type_of<M: Message>() -> TypeAndHash<'static> {
    (M::TYPE_NAME, M::TYPE_HASH)
}

fn specs(
    node: &Node,
    service: &str,
    request: TypeAndHash<'_>,
    response: TypeAndHash<'_>,
    whole: Option<&'static str>,
    qos: Qos,
) -> Result<(TopicSpec, TopicSpec)> {
    let name = node.resolve_service(service)?;
    let request_topic = names::service_request_topic(&name).map_err(Error::name)?;
    let reply_topic = names::service_reply_topic(&name).map_err(Error::name)?;
    let distro = node.context().settings().environment.distro.unwrap_or_default();
    let service_hash = whole.filter(|_| distro.has_service_hashes());
    let spec = |topic, (name, hash): TypeAndHash<'_>| {
        Ok(TopicSpec { service_hash, ..TopicSpec::new(topic, name, hash, qos, BURST)? })
    };
    Ok((spec(request_topic, request)?, spec(reply_topic, response)?))
}

/// Cyclone's 16 bytes in front of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CycloneHeader {
    client: u64,
    sequence: i64,
}

impl CycloneHeader {
    const LENGTH: usize = 16;

    /// Splits a body into header and the rest, which keeps its alignment: 16 is a multiple of 8.
    fn split(body: &Bytes, order: ByteOrder) -> Option<(Self, Bytes)> {
        let (client, rest) = body.split_first_chunk::<8>()?;
        let (sequence, _) = rest.split_first_chunk::<8>()?;
        let header = match order {
            ByteOrder::Little => {
                Self { client: u64::from_le_bytes(*client), sequence: i64::from_le_bytes(*sequence) }
            }
            ByteOrder::Big => {
                Self { client: u64::from_be_bytes(*client), sequence: i64::from_be_bytes(*sequence) }
            }
        };
        Some((header, body.slice(Self::LENGTH..)))
    }

    /// Puts the header into a little-endian payload.
    fn join(self, payload: &[u8]) -> Vec<u8> {
        let (encapsulation, body) = payload.split_at(4);
        [encapsulation, &self.client.to_le_bytes(), &self.sequence.to_le_bytes(), body].concat()
    }
}

/// Whom a reply goes to, in the words of the asker's vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asker {
    Cyclone {
        header: CycloneHeader,
        writer: Gid,
    },
    /// `reader`: the asker's reply reader.
    Fast {
        reader: Gid,
        sequence: i64,
    },
    /// Fast's form from a peer that did not say which reader it listens with.
    Anonymous {
        writer: Gid,
        sequence: i64,
    },
}

impl Asker {
    /// Who asked, and the request without the vendor's header.
    fn of(sample: RawSample) -> Option<(Self, Bytes)> {
        let SampleInfo { publisher: writer, sequence_number: sequence, .. } = sample.info;
        if writer.vendor() == Vendor::Cyclone {
            let (header, body) = CycloneHeader::split(&sample.body, sample.order)?;
            return Some((Self::Cyclone { header, writer }, body));
        }
        let asker = match sample.related {
            Some((reader, _)) => Self::Fast { reader, sequence },
            None => Self::Anonymous { writer, sequence },
        };
        Some((asker, sample.body))
    }

    /// The matched readers a reply must be written to; empty while the asker's reader is not known yet.
    fn readers(&self, reply_writer: &Gid, graph: &Graph) -> Vec<Gid> {
        match self {
            Self::Fast { reader, .. } => {
                Vec::from_iter(graph.is_matched(reply_writer, reader).then_some(*reader))
            }
            Self::Cyclone { writer, .. } | Self::Anonymous { writer, .. } => {
                let tag = |gid: &Gid| graph.endpoint(gid).and_then(|endpoint| endpoint.service_tag.as_ref());
                let (prefix, asked) = (writer.prefix(), tag(writer));
                let neighbours = graph.matched(reply_writer).filter(|reader| reader.prefix() == prefix);
                neighbours.filter(|reader| asked.is_none() || tag(reader) == asked).copied().collect()
            }
        }
    }

    /// The call as its client knows it.
    fn call(&self) -> CallId {
        let mut client = [0; 16];
        match self {
            Self::Cyclone { header, .. } => {
                client[..8].copy_from_slice(&header.client.to_le_bytes());
                CallId { client, sequence: header.sequence }
            }
            Self::Fast { reader: gid, sequence } | Self::Anonymous { writer: gid, sequence } => {
                CallId { client: gid.0, sequence: *sequence }
            }
        }
    }

    fn reply(&self, payload: &[u8]) -> (Vec<u8>, Option<(Gid, i64)>) {
        match self {
            Self::Cyclone { header, .. } => (header.join(payload), None),
            Self::Fast { reader: gid, sequence } | Self::Anonymous { writer: gid, sequence } => {
                (payload.to_vec(), Some((*gid, *sequence)))
            }
        }
    }
}

#[derive(Debug)]
struct WaitingReply {
    asker: Asker,
    /// The participant whose request it answers, whatever reader that named.
    from: GidPrefix,
    payload: Vec<u8>,
    until: Duration,
}

/// Replies whose asker's reader is not known yet, by participant and oldest first.
#[derive(Debug, Default)]
struct Waiting {
    replies: BTreeMap<GidPrefix, VecDeque<WaitingReply>>,
    count: usize,
    bytes: usize,
}

impl Waiting {
    /// Keeps `reply`; returns how many others had to go. The participant with the most replies loses, so that one that
    /// floods costs nobody else an answer.
    fn push(&mut self, reply: WaitingReply) -> u64 {
        self.count += 1;
        self.bytes += reply.payload.len();
        self.replies.entry(reply.from).or_default().push_back(reply);
        let mut dropped = 0;
        while self.count > MAX_WAITING || self.bytes > MAX_WAITING_BYTES {
            let Some(most) = self.replies.values_mut().max_by_key(|replies| replies.len()) else { break };
            let Some(oldest) = most.pop_front() else { break };
            self.count -= 1;
            self.bytes -= oldest.payload.len();
            dropped += 1;
            self.replies.retain(|_, replies| !replies.is_empty());
        }
        dropped
    }

    fn next_deadline(&self) -> Option<Duration> {
        self.replies.values().filter_map(|replies| Some(replies.front()?.until)).min()
    }
}

struct Replies {
    writer: RawWriter,
    node: Node,
    name: String,
    waiting: RefCell<Waiting>,
    /// Has [`retry`](Self::retry) called after a time, on the event loop.
    retry_after: Box<dyn Fn(Duration)>,
    retry_is_due: Cell<bool>,
    unanswered: Cell<u64>,
    complaint: RateLimit,
}

impl Replies {
    fn send(&self, reply: WaitingReply) {
        let readers = reply.asker.readers(&self.writer.gid, &self.node.context().graph());
        if readers.is_empty() {
            let dropped = self.waiting.borrow_mut().push(reply);
            self.gave_up(dropped, &"too many askers have no reader for their answer");
            return self.schedule_retry();
        }
        let (payload, related) = reply.asker.reply(&reply.payload);
        for reader in readers {
            let written = self.writer.write(payload.clone(), Addressing { only: Some(reader), related });
            if written.is_none() {
                self.gave_up(1, &format_args!("{reader} does not read"));
            }
        }
    }

    fn gave_up(&self, count: u64, reason: &dyn std::fmt::Display) {
        self.unanswered.set(self.unanswered.get() + count);
        if count > 0 && self.complaint.may_speak() {
            let (name, total) = (&self.name, self.unanswered.get());
            log::warn!(target: self.node.logger(), "{name}: a reply was dropped: {reason} ({total} such replies so far)");
        }
    }

    fn schedule_retry(&self) {
        let deadline = self.waiting.borrow().next_deadline();
        if let Some(deadline) = deadline.filter(|_| !self.retry_is_due.replace(true)) {
            (self.retry_after)(deadline.saturating_sub(monotonic()));
        }
    }

    /// Sends what waited for a reader that is known now, and gives up on what waited too long.
    fn retry(&self) {
        let now = monotonic();
        let mut late = 0;
        for reply in self.waiting.take().replies.into_values().flatten() {
            if reply.until > now {
                self.send(reply);
            } else {
                late += 1;
            }
        }
        self.gave_up(late, &"an asker left before it was answered, or never had a reader");
    }
}

impl std::fmt::Debug for Replies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replies").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The way back to one asker. Answer now or keep it and answer later; the reply reaches only the asker.
#[must_use = "a request without a reply leaves the asker waiting"]
pub struct Responder<T: Service> {
    asker: Asker,
    from: GidPrefix,
    replies: Rc<Replies>,
    introspector: Rc<Introspector<T>>,
}

impl<T: Service> std::fmt::Debug for Responder<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Responder").field(&self.asker).finish()
    }
}

impl<T: Service> Responder<T> {
    pub fn reply(self, response: &T::Response) {
        let (asker, from, payload) = (self.asker, self.from, cdr::to_payload(response));
        self.introspector.tell(Step::ResponseSent(response), asker.call());
        self.replies.send(WaitingReply { asker, from, payload, until: monotonic() + REPLY_PATIENCE });
    }

    /// The participant that asked.
    pub fn asker(&self) -> GidPrefix {
        self.from
    }
}

/// A service on an event loop. Dropping this handle changes nothing; [`close`](Self::close) ends the service.
pub struct Server<S> {
    inbox: Rc<Inbox>,
    replies: Rc<Replies>,
    introspector: Rc<dyn Introspect>,
    handle: Handle<S>,
    token: usize,
}

impl<S> std::fmt::Debug for Server<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Server").field(&self.inbox).finish()
    }
}

impl<S: 'static> Server<S> {
    /// The full name of the service.
    pub fn name(&self) -> &str {
        &self.inbox.name
    }

    pub fn counters(&self) -> Counters {
        Counters { unanswered: self.replies.unanswered.get(), ..self.inbox.counters() }
    }

    /// Publishes the requests that come in and the responses that go out on `<service>/_service_event`, or no longer.
    pub fn configure_introspection(&self, state: Introspection) -> Result<()> {
        self.introspector.configure(state)
    }

    /// Ends the service; peers see it vanish. Replies still owed can be given.
    pub fn close(self) {
        if let Ok(core) = self.handle.core() {
            core.remove_source(self.token);
        }
    }
}

struct ServerSource<F> {
    inbox: Rc<Inbox>,
    replies: Rc<Replies>,
    callback: RefCell<F>,
}

impl<S, F: FnMut(&mut S, RawSample, &ServerParts<'_>)> Source<S> for ServerSource<F> {
    fn ready(&self, app: &mut S) -> bool {
        let parts = ServerParts { inbox: &self.inbox, replies: &self.replies };
        self.inbox.take(|sample| (self.callback.borrow_mut())(app, sample, &parts))
    }

    fn graph_changed(&self, _app: &mut S, _graph: &Graph) {
        self.replies.retry();
    }

    fn deregister(&self, registry: &Registry) -> io::Result<()> {
        self.inbox.deregister(registry)
    }
}

struct ServerParts<'a> {
    inbox: &'a Rc<Inbox>,
    replies: &'a Rc<Replies>,
}

/// Why a call brought no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("service {0} has no server")]
    NoServer(String),
    #[error("service {0} did not answer in time")]
    Timeout(String),
    #[error("the server of {0} left before it answered")]
    ServerGone(String),
    #[error("the answer of {service} cannot be decoded: {reason}")]
    Undecodable { service: String, reason: String },
    #[error("the request to {0} found no room in the send queue")]
    Congested(String),
}

type ReplyCallback<S> = Box<dyn FnOnce(&mut S, Result<RawSample, CallError>)>;

struct Call<S> {
    payload: Vec<u8>,
    callback: ReplyCallback<S>,
    timer: Timer<S>,
    /// Request readers the request was sent to; empty: not sent yet.
    servers: BTreeSet<Gid>,
}

struct ClientInner<S> {
    inbox: Rc<Inbox>,
    writer: RawWriter,
    node: Node,
    handle: Handle<S>,
    token: Cell<usize>,
    cyclone_id: u64,
    next_call: Cell<u64>,
    calls: RefCell<BTreeMap<u64, Call<S>>>,
    /// Sequence number of a request in Fast's form to its call.
    sent: RefCell<BTreeMap<i64, u64>>,
}

/// Calls one service. Cheap to clone.
pub struct Client<T: Service, S> {
    raw: RawClient<S>,
    introspector: Rc<Introspector<T>>,
}

impl<T: Service, S> Clone for Client<T, S> {
    fn clone(&self) -> Self {
        Self { raw: self.raw.clone(), introspector: self.introspector.clone() }
    }
}

impl<T: Service, S> std::fmt::Debug for Client<T, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(&self.raw.0.inbox).finish()
    }
}

impl<T: Service + 'static, S: 'static> Client<T, S> {
    /// The full name of the service.
    pub fn service(&self) -> &str {
        self.raw.service()
    }

    /// Whether a server is there, with both its request reader and its reply writer.
    pub fn is_ready(&self) -> bool {
        self.raw.is_ready()
    }

    /// Calls the service; the callback gets the response, or the reason why there is none within `timeout`. A server
    /// that is not there yet is waited for.
    pub fn call(
        &self,
        request: &T::Request,
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<T::Response, CallError>) + 'static,
    ) {
        let inbox = self.raw.0.inbox.clone();
        let introspector = self.introspector.clone();
        let call = CallId { client: inbox.gid.0, sequence: self.raw.0.next_call.get() as i64 };
        introspector.tell(Step::RequestSent(request), call);
        self.raw.send(cdr::to_payload(request), timeout, move |app, reply| {
            let response: Result<T::Response, _> = reply.and_then(|reply| {
                cdr::from_body(&reply.body, reply.order).map_err(|error| {
                    inbox.undecodable(Some(reply.info.publisher), &error);
                    CallError::Undecodable { service: inbox.name.clone(), reason: error.to_string() }
                })
            });
            if let Ok(response) = &response {
                inbox.delivered();
                introspector.tell(Step::ResponseReceived(response), call);
            }
            callback(app, response);
        });
    }

    /// Publishes the requests that go out and the responses that come in on `<service>/_service_event`, or no longer.
    pub fn configure_introspection(&self, state: Introspection) -> Result<()> {
        self.introspector.configure(state)
    }

    /// Calls that wait for their response.
    pub fn pending(&self) -> usize {
        self.raw.0.calls.borrow().len()
    }

    pub fn counters(&self) -> Counters {
        self.raw.0.inbox.counters()
    }

    /// Ends the client; calls under way are forgotten.
    pub fn close(self) {
        self.raw.close();
    }
}

/// Calls a service whose type is known only at run time, with payloads that are encoded already. Cheap to clone.
pub struct RawClient<S>(Rc<ClientInner<S>>);

impl<S> Clone for RawClient<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> std::fmt::Debug for RawClient<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RawClient").field(&self.0.inbox).finish()
    }
}

impl<S: 'static> RawClient<S> {
    /// The full name of the service.
    pub fn service(&self) -> &str {
        &self.0.inbox.name
    }

    /// Whether a server is there, with both its request reader and its reply writer.
    pub fn is_ready(&self) -> bool {
        !self.0.servers(&self.0.node.context().graph()).is_empty()
    }

    /// See [`Client::call`]. Request and response are payloads: encapsulation header first, the request little-endian.
    pub fn call(
        &self,
        mut request: Vec<u8>,
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<Vec<u8>, CallError>) + 'static,
    ) {
        request.resize(request.len().max(4).next_multiple_of(4), 0);
        let inbox = self.0.inbox.clone();
        self.send(request, timeout, move |app, reply| {
            let payload = reply.map(|reply| reply.payload());
            if payload.is_ok() {
                inbox.delivered();
            }
            callback(app, payload);
        });
    }

    fn send(
        &self,
        payload: Vec<u8>,
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<RawSample, CallError>) + 'static,
    ) {
        let inner = &self.0;
        let id = inner.next_call.get();
        inner.next_call.set(id + 1);
        let client = Rc::downgrade(inner);
        let timer = inner.handle.once(timeout, move |app| {
            if let Some(client) = client.upgrade() {
                client.expire(app, id);
            }
        });
        let call = Call { payload, callback: Box::new(callback), timer, servers: BTreeSet::new() };
        inner.calls.borrow_mut().insert(id, call);
        inner.send(id, &inner.node.context().graph());
    }

    /// Ends the client; calls under way are forgotten.
    pub fn close(self) {
        self.0.calls.borrow_mut().clear();
        if let Ok(core) = self.0.handle.core() {
            core.remove_source(self.0.token.get());
        }
    }
}

impl<S: 'static> ClientInner<S> {
    /// Request readers whose participant's reply writer we hear too.
    fn servers(&self, graph: &Graph) -> BTreeSet<Gid> {
        let answering: BTreeSet<GidPrefix> = graph.matched(&self.inbox.gid).map(Gid::prefix).collect();
        graph
            .matched(&self.writer.gid)
            .filter(|reader| answering.contains(&reader.prefix()))
            .copied()
            .collect()
    }

    /// Sends the request in the form of whoever serves it.
    fn send(&self, id: u64, graph: &Graph) {
        let servers = self.servers(graph);
        let mut calls = self.calls.borrow_mut();
        let Some(call) = calls.get_mut(&id) else { return };
        let (cyclone, others): (Vec<Gid>, Vec<Gid>) =
            servers.iter().partition(|server| server.vendor() == Vendor::Cyclone);
        // Where both kinds serve the same name, each gets its own form and the first answer counts.
        let mixed = !cyclone.is_empty() && !others.is_empty();
        let addressees = |kind: &[Gid]| -> Vec<Option<Gid>> {
            match kind {
                [] => vec![],
                _ if mixed => kind.iter().copied().map(Some).collect(),
                _ => vec![None],
            }
        };
        let mut written = false;
        for only in addressees(&others) {
            let related = Some((self.inbox.gid, UNKNOWN_SEQUENCE));
            if let Some(sequence) = self.writer.write(call.payload.clone(), Addressing { only, related }) {
                self.sent.borrow_mut().insert(sequence, id);
                written = true;
            }
        }
        for only in addressees(&cyclone) {
            let header = CycloneHeader { client: self.cyclone_id, sequence: id as i64 };
            let payload = header.join(&call.payload);
            written |= self.writer.write(payload, Addressing { only, related: None }).is_some();
        }
        if written {
            call.servers = servers;
        }
    }

    /// Which call a reply belongs to, and the reply without the vendor's header.
    fn matching_call(&self, mut sample: RawSample) -> Option<(u64, RawSample)> {
        if sample.info.publisher.vendor() == Vendor::Cyclone {
            let (header, body) = CycloneHeader::split(&sample.body, sample.order)?;
            let id = u64::try_from(header.sequence).ok()?;
            sample.body = body;
            return (header.client == self.cyclone_id).then_some((id, sample));
        }
        let (gid, sequence) = sample.related?;
        // Fast names our reader; others, as the specification has it, our writer.
        let ours = gid == self.inbox.gid || gid == self.writer.gid;
        ours.then(|| Some((*self.sent.borrow().get(&sequence)?, sample)))?
    }

    fn finish(&self, app: &mut S, id: u64, result: Result<RawSample, CallError>) {
        let Some(call) = self.calls.borrow_mut().remove(&id) else { return };
        self.sent.borrow_mut().retain(|_, call| *call != id);
        call.timer.cancel();
        (call.callback)(app, result);
    }

    fn expire(&self, app: &mut S, id: u64) {
        let name = self.inbox.name.clone();
        let sent = self.calls.borrow().get(&id).map(|call| !call.servers.is_empty());
        let Some(sent) = sent else { return };
        let error = if sent {
            CallError::Timeout(name)
        } else if self.servers(&self.node.context().graph()).is_empty() {
            CallError::NoServer(name)
        } else {
            CallError::Congested(name)
        };
        self.finish(app, id, Err(error));
    }
}

struct ClientSource<S>(Rc<ClientInner<S>>);

/// Nobody will answer calls under way any more. Their callbacks may own the client, and through it the whole context,
/// which would never leave the network then.
impl<S> Drop for ClientSource<S> {
    fn drop(&mut self) {
        drop(self.0.calls.take());
    }
}

impl<S: 'static> Source<S> for ClientSource<S> {
    fn ready(&self, app: &mut S) -> bool {
        let Self(client) = self;
        client.inbox.take(|sample| {
            // Replies to other clients and late ones are nobody's fault.
            if let Some((id, reply)) = client.matching_call(sample) {
                client.finish(app, id, Ok(reply));
            }
        })
    }

    fn graph_changed(&self, app: &mut S, graph: &Graph) {
        let Self(client) = self;
        let (unsent, sent): (Vec<u64>, Vec<u64>) = {
            let calls = client.calls.borrow();
            calls.keys().partition(|id| calls[id].servers.is_empty())
        };
        for id in unsent {
            client.send(id, graph);
        }
        for id in sent {
            let abandoned = client.calls.borrow().get(&id).is_some_and(|call| {
                call.servers.iter().all(|server| !graph.is_matched(&client.writer.gid, server))
            });
            if abandoned {
                client.finish(app, id, Err(CallError::ServerGone(client.inbox.name.clone())));
            }
        }
    }

    fn deregister(&self, registry: &Registry) -> io::Result<()> {
        self.0.inbox.deregister(registry)
    }
}

impl Node {
    /// What the parameters given from outside say about introspection.
    fn introspection(&self) -> Result<Introspection> {
        let given = self.context().settings().arguments.parameters.for_node(&self.full_name());
        match given.get(introspection::PARAMETER) {
            // `off` is a boolean to YAML.
            None | Some(ParameterValue::Bool(false)) => Ok(Introspection::Off),
            Some(ParameterValue::String(text)) => text.parse().map_err(Error::name),
            Some(other) => Err(Error::name(format!("{}: {other:?} is no text", introspection::PARAMETER))),
        }
    }
}

impl<S: 'static> Handle<S> {
    /// Serves `service`. The callback gets each request and the way back to its asker.
    pub fn serve<T: Service + 'static>(
        &self,
        node: &Node,
        service: &str,
        callback: impl FnMut(&mut S, T::Request, Responder<T>) + 'static,
    ) -> Result<Server<S>> {
        let server = self.serve_with::<T>(node, service, Qos::services(), callback)?;
        server.configure_introspection(node.introspection()?)?;
        Ok(server)
    }

    /// Serves `service` with another quality of service than usual.
    pub fn serve_with<T: Service + 'static>(
        &self,
        node: &Node,
        service: &str,
        qos: Qos,
        mut callback: impl FnMut(&mut S, T::Request, Responder<T>) + 'static,
    ) -> Result<Server<S>> {
        let (request, response) = (type_of::<T::Request>(), type_of::<T::Response>());
        let (request, reply) = specs(node, service, request, response, Some(T::TYPE_HASH), qos)?;
        // The writer first: a client that sees our reader may ask at once.
        let writer = RawWriter::new(node, reply)?;
        let inbox = Rc::new(Inbox::new(node, request, false)?);
        let handle = self.clone();
        let replies = Rc::new_cyclic(|this: &Weak<Replies>| {
            let this = this.clone();
            let retry_after = move |delay| {
                let this = this.clone();
                handle.once(delay, move |_| {
                    if let Some(replies) = this.upgrade() {
                        replies.retry_is_due.set(false);
                        replies.retry();
                        replies.schedule_retry();
                    }
                });
            };
            Replies {
                writer,
                node: node.clone(),
                name: inbox.name.clone(),
                waiting: RefCell::default(),
                retry_after: Box::new(retry_after),
                retry_is_due: Cell::new(false),
                unanswered: Cell::new(0),
                complaint: RateLimit::default(),
            }
        });
        let introspector = Rc::new(Introspector::<T>::new(&node.unowned(), &inbox.name));
        let calls = introspector.clone();
        let callback = move |app: &mut S, sample: RawSample, parts: &ServerParts<'_>| {
            let (publisher, order) = (sample.info.publisher, sample.order);
            let Some((asker, body)) = Asker::of(sample) else {
                return parts.inbox.undecodable(Some(publisher), &"the request is shorter than its header");
            };
            match cdr::from_body::<T::Request>(&body, order) {
                Ok(request) => {
                    parts.inbox.delivered();
                    let (replies, introspector) = (parts.replies.clone(), calls.clone());
                    introspector.tell(Step::RequestReceived(&request), asker.call());
                    let from = publisher.prefix();
                    callback(app, request, Responder { asker, from, replies, introspector });
                }
                Err(error) => parts.inbox.undecodable(Some(publisher), &error),
            }
        };
        let source = Rc::new(ServerSource {
            inbox: inbox.clone(),
            replies: replies.clone(),
            callback: RefCell::new(callback),
        });
        let token = self.core()?.add_source(&mut inbox.reader.borrow_mut().dds, |_| source)?;
        Ok(Server { inbox, replies, introspector, handle: self.clone(), token })
    }

    /// A client of `service`.
    pub fn client<T: Service + 'static>(&self, node: &Node, service: &str) -> Result<Client<T, S>> {
        self.client_with(node, service, Qos::services())
    }

    /// A client of `service` with another quality of service than usual.
    pub fn client_with<T: Service + 'static>(
        &self,
        node: &Node,
        service: &str,
        qos: Qos,
    ) -> Result<Client<T, S>> {
        let (request, response) = (type_of::<T::Request>(), type_of::<T::Response>());
        let raw = self.client_of(node, specs(node, service, request, response, Some(T::TYPE_HASH), qos)?)?;
        let introspector = Rc::new(Introspector::new(node, raw.service()));
        Ok(Client { raw, introspector })
    }

    /// A client of a service whose request and response types are known only at run time.
    pub fn raw_client(
        &self,
        node: &Node,
        service: &str,
        request: TypeAndHash<'_>,
        response: TypeAndHash<'_>,
        qos: Qos,
    ) -> Result<RawClient<S>> {
        self.client_of(node, specs(node, service, request, response, None, qos)?)
    }

    fn client_of(&self, node: &Node, (request, reply): (TopicSpec, TopicSpec)) -> Result<RawClient<S>> {
        // The reader first: a server that sees our writer may answer at once.
        let inbox = Rc::new(Inbox::new(node, reply, false)?);
        let writer = RawWriter::new(node, request)?;
        let mut id = [0; 8];
        id.copy_from_slice(&writer.gid.0[8..]);
        let inner = Rc::new(ClientInner {
            // The participant's last random bytes and the writer's number: unique on the network.
            cyclone_id: u64::from_le_bytes(id),
            inbox: inbox.clone(),
            writer,
            node: node.clone(),
            handle: self.clone(),
            token: Cell::new(0),
            next_call: Cell::new(1),
            calls: RefCell::default(),
            sent: RefCell::default(),
        });
        let source = Rc::new(ClientSource(inner.clone()));
        let token = self.core()?.add_source(&mut inbox.reader.borrow_mut().dds, |_| source)?;
        inner.token.set(token);
        Ok(RawClient(inner))
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    fn gid(hex: &str) -> Gid {
        Gid(bytes(hex).try_into().unwrap())
    }

    /// A sample as RustDDS hands it over: the payload's header is taken off.
    fn sample(payload: &str, writer: &str, related: Option<(Gid, i64)>) -> RawSample {
        RawSample {
            body: Bytes::from(bytes(payload)).slice(4..),
            order: ByteOrder::Little,
            info: SampleInfo {
                source_stamp: None,
                reception_stamp: SystemTime::UNIX_EPOCH,
                publisher: gid(writer),
                sequence_number: 1,
            },
            related,
        }
    }

    // AddTwoInts 2 + 3, as captured between rclcpp processes on each vendor's middleware.
    const BODY: &str = "02000000000000000300000000000000";
    const RESPONSE: &str = "000100000500000000000000";

    #[test]
    fn cyclone_gets_its_sixteen_bytes_back_in_front_of_the_reply() {
        let request = "0001000011ef9c8620bced46010000000000000002000000000000000300000000000000";
        let reply = "0001000011ef9c8620bced4601000000000000000500000000000000";
        let (asker, body) = Asker::of(sample(request, "0110b0d5ed6ad64313519b7800001703", None)).unwrap();
        assert_eq!(body, bytes(BODY));
        assert_eq!(asker.reply(&bytes(RESPONSE)), (bytes(reply), None));
    }

    #[test]
    fn fast_dds_gets_its_reader_and_the_number_of_its_request_in_inline_qos() {
        let reader = gid("010f7f01345b7ebc0000000000001404");
        let request = format!("00010000{BODY}");
        let related = Some((reader, UNKNOWN_SEQUENCE));
        let (asker, body) = Asker::of(sample(&request, "010f7f01345b7ebc0000000000001503", related)).unwrap();
        assert_eq!(body, bytes(BODY));
        assert_eq!(asker.reply(&bytes(RESPONSE)), (bytes(RESPONSE), Some((reader, 1))));
    }

    #[test]
    fn a_cyclone_request_without_its_header_is_refused() {
        assert_eq!(Asker::of(sample("0001000011ef9c86", "0110b0d5ed6ad64313519b7800001703", None)), None);
    }

    #[test]
    fn a_big_endian_cyclone_header_is_answered_in_little_endian() {
        let header = CycloneHeader { client: 0x0102_0304_0506_0708, sequence: 9 };
        let big = [&header.client.to_be_bytes()[..], &header.sequence.to_be_bytes(), b"body"].concat();
        let (read, rest) = CycloneHeader::split(&Bytes::from(big), ByteOrder::Big).unwrap();
        assert_eq!((read, &rest[..]), (header, &b"body"[..]));
        assert_eq!(
            CycloneHeader::split(&Bytes::from(header.join(b"\0\x01\0\0body")).slice(4..), ByteOrder::Little),
            Some((header, rest))
        );
    }

    #[test]
    fn who_floods_loses_its_own_replies_and_nobody_elses() {
        let mut waiting = Waiting::default();
        let reply = |from: u8, length: usize| WaitingReply {
            asker: Asker::Anonymous { writer: gid("01120000000000000000000000000103"), sequence: 1 },
            from: GidPrefix([from; 12]),
            payload: vec![0; length],
            until: Duration::from_secs(u64::from(from)),
        };
        assert_eq!(waiting.push(reply(1, 100)), 0);
        let dropped: u64 = (0..150_000).map(|_| waiting.push(reply(2, 100))).sum();
        assert_eq!((waiting.count, dropped), (MAX_WAITING, 150_001 - MAX_WAITING as u64));
        assert_eq!(waiting.replies[&GidPrefix([1; 12])].len(), 1);
        assert_eq!(waiting.next_deadline(), Some(Duration::from_secs(1)));
        let before = waiting.count as u64;
        let dropped: u64 = (0..100).map(|_| waiting.push(reply(2, 1 << 20))).sum();
        assert_eq!(waiting.count as u64, before + 100 - dropped, "every reply waits or was counted");
        assert!(waiting.bytes <= MAX_WAITING_BYTES, "{}", waiting.bytes);
        assert_eq!(waiting.replies[&GidPrefix([1; 12])].len(), 1);
    }

    fn endpoint(gid: Gid, tag: Option<&str>) -> crate::graph::Endpoint {
        crate::graph::Endpoint {
            gid,
            kind: crate::graph::EndpointKind::Reader,
            dds_topic: "rr/addReply".into(),
            dds_type: "pkg::srv::dds_::Add_Response_".into(),
            type_hash: None,
            qos: Qos::services(),
            service_tag: tag.map(str::to_owned),
        }
    }

    #[test]
    fn a_cyclone_reply_goes_to_the_asking_client_only() {
        let writer = gid("01120000000000000000000000000103");
        let asking = gid("0110b0d5ed6ad64313519b7800001703");
        let its_reader = gid("0110b0d5ed6ad64313519b7800001804");
        let neighbour = gid("0110b0d5ed6ad64313519b7800001904");
        let stranger = gid("0110ffffffffffffffffffff00001804");
        let mut graph = Graph::default();
        for reader in [its_reader, neighbour, stranger] {
            graph.add_match(writer, reader);
        }
        let asker = Asker::Cyclone { header: CycloneHeader { client: 1, sequence: 1 }, writer: asking };
        // Without client ids all clients of the participant get it; they sort it out by the header.
        assert_eq!(asker.readers(&writer, &graph), [its_reader, neighbour]);
        graph.add_endpoint(endpoint(asking, Some("one")));
        graph.add_endpoint(endpoint(its_reader, Some("one")));
        graph.add_endpoint(endpoint(neighbour, Some("two")));
        assert_eq!(asker.readers(&writer, &graph), [its_reader]);
    }
}
