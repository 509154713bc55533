//! The answering end: requests in, replies to whoever asked.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, VecDeque},
    rc::{Rc, Weak},
    time::Duration,
};

use rosless_wire::{Message as _, Service, cdr};

use crate::{
    Counters, GidPrefix, Graph, Node, Qos, Result,
    counters::Throttle,
    event_loop::{Handle, Source, monotonic},
    introspection::{Introspect, Introspection, Introspector, Step},
    raw::{Addressing, RawSample, RawWriter},
    subscription::Inbox,
};

use super::{matching::Asker, specs, type_of};

/// How long a reply waits for its asker's reader to be discovered.
const REPLY_PATIENCE: Duration = Duration::from_secs(5);
/// Replies of one service that may wait, and the bytes they may have together: a request costs its sender nothing.
const MAX_WAITING: usize = 1000;
const MAX_WAITING_BYTES: usize = 4 << 20;

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
    complaint: Throttle,
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
            let to = Addressing { only: Some(reader), related, ..Addressing::default() };
            let written = self.writer.write(payload.clone(), to);
            if written.is_none() {
                self.gave_up(1, &format_args!("{reader} does not read"));
            }
        }
    }

    fn gave_up(&self, count: u64, reason: &dyn std::fmt::Display) {
        self.unanswered.set(self.unanswered.get() + count);
        let all = &self.node.context().0.counters;
        all.set(Counters { unanswered: all.get().unanswered + count, ..all.get() });
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
    /// Answers; the asker is whoever sent the request.
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

    /// What became of the requests.
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
}

struct ServerParts<'a> {
    inbox: &'a Rc<Inbox>,
    replies: &'a Rc<Replies>,
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
        node.know(T::Request::DEFINITIONS);
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
                complaint: Throttle::default(),
            }
        });
        let introspector = Rc::new(Introspector::<T>::new(&node.unowned(), &inbox.name));
        let calls = introspector.clone();
        let callback = move |app: &mut S, sample: RawSample, parts: &ServerParts<'_>| {
            let (publisher, order) = (sample.info.publisher, sample.order);
            let vendor = parts.replies.node.context().graph().vendor(&publisher);
            let Some((asker, body)) = Asker::of(sample, vendor) else {
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
        let token = self.core()?.add_source(&inbox.gid, source);
        Ok(Server { inbox, replies, introspector, handle: self.clone(), token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gid;

    #[test]
    fn who_floods_loses_its_own_replies_and_nobody_elses() {
        let mut waiting = Waiting::default();
        let reply = |from: u8, length: usize| WaitingReply {
            asker: Asker::Anonymous { writer: Gid([0x12; 16]), sequence: 1 },
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
}
