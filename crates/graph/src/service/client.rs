//! The asking end: calls out, each answered once or given up with the reason.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    time::Duration,
};

use rosless_wire::{Message as _, Service, cdr};

use crate::{
    Counters, Gid, GidPrefix, Graph, Node, Qos, Result, SampleInfo, Vendor,
    event_loop::{Handle, Source, Timer, monotonic},
    introspection::{CallId, Introspect, Introspection, Introspector, Step},
    raw::{Addressing, RawSample, RawWriter, TopicSpec},
    subscription::Inbox,
};

use super::{
    TypeAndHash,
    matching::{CycloneHeader, UNKNOWN_SEQUENCE},
    specs, type_of,
};

/// Why a call brought no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "fields are named in the text of each")]
pub enum CallError {
    /// Nobody served it until the time was up.
    #[error("service {0} has no server")]
    NoServer(String),
    /// A server was asked and said nothing.
    #[error("service {0} did not answer in time")]
    Timeout(String),
    /// Every server that was asked left the graph.
    #[error("the server of {0} left before it answered")]
    ServerGone(String),
    /// An answer came that is none of this type.
    #[error("the answer of {service} cannot be decoded: {reason}")]
    Undecodable { service: String, reason: String },
    /// The servers are slower than the requests.
    #[error("the request to {0} found no room in the send queue")]
    Congested(String),
}

/// A response, and what its way tells of the server's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply<T> {
    /// What was answered.
    pub message: T,
    /// Who answered, and when by its own clock.
    pub info: SampleInfo,
    /// When the request went out, on our monotonic clock: the answer was written after that.
    pub sent: Duration,
}

type ReplyCallback<S> = Box<dyn FnOnce(&mut S, Result<Reply<RawSample>, CallError>)>;

struct Call<S> {
    payload: Vec<u8>,
    callback: ReplyCallback<S>,
    timer: Timer<S>,
    /// Request readers the request was sent to; empty: not sent yet.
    servers: BTreeSet<Gid>,
    sent: Duration,
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
        self.ask(request, timeout, move |app, reply| callback(app, reply.map(|reply| reply.message)));
    }

    /// Like [`call`](Self::call), and tells when request and response were written.
    pub fn ask(
        &self,
        request: &T::Request,
        timeout: Duration,
        callback: impl FnOnce(&mut S, Result<Reply<T::Response>, CallError>) + 'static,
    ) {
        let inbox = self.raw.0.inbox.clone();
        let introspector = self.introspector.clone();
        let call = CallId { client: inbox.gid.0, sequence: self.raw.0.next_call.get() as i64 };
        introspector.tell(Step::RequestSent(request), call);
        self.raw.send(cdr::to_payload(request), timeout, move |app, reply| {
            let response: Result<Reply<T::Response>, _> = reply.and_then(|Reply { message, info, sent }| {
                let decoded = cdr::from_body(&message.body, message.order).map_err(|error| {
                    inbox.undecodable(Some(info.publisher), &error);
                    CallError::Undecodable { service: inbox.name.clone(), reason: error.to_string() }
                });
                Ok(Reply { message: decoded?, info, sent })
            });
            if let Ok(response) = &response {
                inbox.delivered();
                introspector.tell(Step::ResponseReceived(&response.message), call);
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

    /// What became of the replies.
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
            let payload = reply.map(|reply| reply.message.payload());
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
        callback: impl FnOnce(&mut S, Result<Reply<RawSample>, CallError>) + 'static,
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
        let (servers, sent) = (BTreeSet::new(), Duration::ZERO);
        let call = Call { payload, callback: Box::new(callback), timer, servers, sent };
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
            servers.iter().partition(|server| graph.vendor(server) == Vendor::Cyclone);
        // Where both kinds serve the same name, each gets its own form and the first answer counts.
        call.sent = monotonic();
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
            if let Some(sequence) =
                self.writer.write(call.payload.clone(), Addressing { only, related, ..Addressing::default() })
            {
                self.sent.borrow_mut().insert(sequence, id);
                written = true;
            }
        }
        for only in addressees(&cyclone) {
            let header = CycloneHeader { client: self.cyclone_id, sequence: id as i64 };
            let payload = header.join(&call.payload);
            written |= self.writer.write(payload, Addressing { only, ..Addressing::default() }).is_some();
        }
        if written {
            call.servers = servers;
        }
    }

    /// Which call a reply belongs to, and the reply without the vendor's header.
    fn matching_call(&self, mut sample: RawSample) -> Option<(u64, RawSample)> {
        if self.node.context().graph().vendor(&sample.info.publisher) == Vendor::Cyclone {
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
        let sent = call.sent;
        (call.callback)(app, result.map(|message| Reply { info: message.info, message, sent }));
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
}
impl<S: 'static> Handle<S> {
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
        node.know(T::Request::DEFINITIONS);
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
    ) -> Result<RawClient<S>> {
        self.client_of(node, specs(node, service, request, response, None, Qos::services())?)
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
        let token = self.core()?.add_source(&inbox.gid, source);
        inner.token.set(token);
        Ok(RawClient(inner))
    }
}
