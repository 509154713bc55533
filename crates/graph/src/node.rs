//! A ROS node: a name on the graph that owns endpoints.

use std::{
    cell::{Cell, RefCell},
    rc::{Rc, Weak},
    time::SystemTime,
};

use rosless_engine::Wall;
use rosless_wire::{Definitions, Message, builtin_interfaces::msg::Time};

use crate::{
    Context, Error, Gid, Publisher, RawPublisher, Result, Topic, TypeAndHash,
    graph::Endpoint,
    logging,
    names::{EndpointKind, NodeIdentity},
    parameters::{NodeParameters, ParameterStore},
    qos_overrides::Side,
    raw::TopicSpec,
};

pub(crate) type NodeId = u64;

/// A node. Cheap to clone; it stays on the graph until the last clone and the last of its endpoints are gone.
#[derive(Clone, Debug)]
pub struct Node(
    Rc<NodeInner>,
    #[expect(dead_code, reason = "held for what its drop ends")] Option<Rc<Owner>>,
);

#[derive(Debug)]
pub(crate) struct NodeInner {
    context: Context,
    id: NodeId,
    identity: NodeIdentity,
    logger: String,
    parameters: Rc<NodeParameters>,
    /// By how many nanoseconds its clock is ahead of the machine's.
    ahead: Rc<Cell<i64>>,
    pub(crate) services: NodeServices,
}

/// What every node offers by itself, see [`crate::node_services`].
#[derive(Default)]
pub(crate) struct NodeServices {
    /// End the services.
    pub(crate) closers: RefCell<Vec<Box<dyn FnOnce()>>>,
    /// What `/clock` said last.
    pub(crate) sim_time: RefCell<Time>,
    pub(crate) closed: Cell<bool>,
    /// Of its endpoints' types, as far as not everybody knows them, and not yet looked at by who describes them.
    pub(crate) definitions: RefCell<Vec<Definitions>>,
}

impl std::fmt::Debug for NodeServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeServices").field("closed", &self.closed).finish_non_exhaustive()
    }
}

/// The application's share in a node. The services every node has by itself hold the node without it, so that they
/// end, and the node with them, when the application has let go.
#[derive(Debug)]
struct Owner(Weak<NodeInner>);

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(node) = self.0.upgrade() {
            node.services.closed.set(true);
            node.parameters.close();
            node.services.closers.take().into_iter().for_each(|close| close());
            node.context.0.nodes_want_attention.set(true);
        }
    }
}

impl Drop for NodeInner {
    fn drop(&mut self) {
        logging::remove_logger(&self.logger);
        self.context.0.remove_node(self.id);
    }
}

impl Node {
    pub(crate) fn new(context: &Context, identity: NodeIdentity) -> Result<Self> {
        let id = context.0.add_node(&identity)?;
        let logger = identity.logger();
        logging::add_logger(&logger);
        let overrides = context.settings().arguments.parameters.for_node(&identity.fully_qualified());
        let inner = Rc::new(NodeInner {
            context: context.clone(),
            id,
            identity,
            logger,
            parameters: Rc::new(NodeParameters::new(ParameterStore::new(overrides))),
            ahead: context.0.ahead_of(id),
            services: NodeServices::default(),
        });
        let owner = Rc::new(Owner(Rc::downgrade(&inner)));
        let node = Self(inner, Some(owner));
        node.declare_own_parameters()?;
        context.0.new_nodes.borrow_mut().push(Rc::downgrade(&node.0));
        node.wants_attention();
        Ok(node)
    }

    /// The same node without the application's share in it.
    pub(crate) fn unowned(&self) -> Self {
        Self(self.0.clone(), None)
    }

    pub(crate) fn from_inner(inner: Rc<NodeInner>) -> Self {
        Self(inner, None)
    }

    pub(crate) fn inner(&self) -> &Rc<NodeInner> {
        &self.0
    }

    pub(crate) fn parameters(&self) -> &Rc<NodeParameters> {
        &self.0.parameters
    }

    /// Lets the event loop look after its nodes before it waits again.
    pub(crate) fn wants_attention(&self) {
        self.0.context.0.nodes_want_attention.set(true);
    }

    /// The time for stamps: the system's clock, or what `/clock` said last when `use_sim_time` is set.
    pub fn now(&self) -> Time {
        if self.0.parameters.use_sim_time() {
            return self.0.services.sim_time.borrow().clone();
        }
        let (sec, nanosec) = self.wall().to_stamp();
        Time { sec, nanosec }
    }

    /// The machine's clock as this node sees it, also where `use_sim_time` is set.
    pub fn wall(&self) -> Wall {
        Wall(Wall::from(SystemTime::now()).0.saturating_add(self.0.ahead.get()))
    }

    /// From now on the node lives on a machine whose clock is so many nanoseconds ahead: in what [`now`](Self::now) says,
    /// and in the time stamps that DDS and `/rosout` put on what it says. To rehearse wrong clocks.
    pub fn set_clock_offset(&self, nanos: i64) {
        self.0.ahead.set(nanos);
    }

    pub(crate) fn ahead(&self) -> &Rc<Cell<i64>> {
        &self.0.ahead
    }

    /// What it lives in.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// Its names and remapping rules.
    pub fn identity(&self) -> &NodeIdentity {
        &self.0.identity
    }

    /// Without its namespace, after remapping.
    pub fn name(&self) -> &str {
        self.0.identity.name()
    }

    /// `/` or `/a/b`.
    pub fn namespace(&self) -> &str {
        self.0.identity.namespace()
    }

    /// `/namespace/name`.
    pub fn full_name(&self) -> String {
        self.0.identity.fully_qualified()
    }

    /// The target for log records of this node: `log::info!(target: node.logger(), "…")`.
    pub fn logger(&self) -> &str {
        &self.0.logger
    }

    /// Publishes `M` on `topic`.
    pub fn publisher<'t, M: Message>(&self, topic: impl Into<Topic<'t>>) -> Result<Publisher<M>> {
        Publisher::new(self, topic.into())
    }

    /// Publishes encoded payloads of a type known only at run time. An empty hash announces none.
    pub fn raw_publisher<'t>(
        &self,
        topic: impl Into<Topic<'t>>,
        ty: TypeAndHash<'_>,
    ) -> Result<RawPublisher> {
        RawPublisher::new(self, self.topic_spec(Side::Publisher, topic.into(), ty)?)
    }

    /// The full name of a topic of this node after remapping.
    pub fn resolve_topic(&self, topic: &str) -> Result<String> {
        self.resolve(EndpointKind::Topic, topic)
    }

    /// The full name of a service of this node after remapping.
    pub fn resolve_service(&self, service: &str) -> Result<String> {
        self.resolve(EndpointKind::Service, service)
    }

    fn resolve(&self, kind: EndpointKind, name: &str) -> Result<String> {
        self.0.identity.resolve(kind, name).map_err(Error::name)
    }

    /// What an end of a topic is about; its quality of service is what was given from outside, or else the topic's.
    pub(crate) fn topic_spec(
        &self,
        side: Side,
        Topic { name, qos, room, part }: Topic<'_>,
        (type_name, type_hash): TypeAndHash<'_>,
    ) -> Result<TopicSpec> {
        let topic = self.resolve_topic(name)?;
        let qos = self.override_qos(&topic, side, qos)?;
        Ok(TopicSpec { burst: room, part, ..TopicSpec::topic(&topic, type_name, type_hash, qos)? })
    }

    /// From now on the node can describe these types to whoever asks.
    pub(crate) fn know(&self, definitions: Definitions) {
        let mut known = self.0.services.definitions.borrow_mut();
        if !definitions.is_empty() && !known.contains(&definitions) {
            known.push(definitions);
        }
    }

    pub(crate) fn endpoint_added(&self, endpoint: Endpoint) {
        self.0.context.0.endpoint_added(self.0.id, endpoint);
    }

    pub(crate) fn endpoint_removed(&self, gid: &Gid) {
        self.0.context.0.endpoint_removed(self.0.id, gid);
    }
}
