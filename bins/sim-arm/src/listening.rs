//! Hears a topic whether or not its publishers keep their last sample for those who come late.
//!
//! One that keeps it tells it only to a reader that asks for it; one that does not is not heard by such a reader, and
//! warns of it. So the second reader is there as long as somebody keeps samples.

use std::{cell::RefCell, rc::Rc};

use rosless_graph::{
    Context, EventLoop, Graph, Node, Result, Sample, Subscription, Topic, TopicQos, graph::EndpointKind,
    qos::Durability,
};
use rosless_wire::Message;

use crate::daemon::App;

/// `hear` gets what keepers publish twice, while both readers are there.
pub(crate) fn subscribe<M: Message>(
    context: &Context,
    events: &EventLoop<App>,
    node: &Node,
    topic: impl Into<Topic<'static>>,
    hear: impl FnMut(&mut App, Sample<M>) + Clone + 'static,
) -> Result<()> {
    let topic = topic.into();
    let name = node.resolve_topic(topic.name)?;
    let kept = move |graph: &Graph| {
        graph.endpoints().any(|other| {
            other.kind == EndpointKind::Writer
                && other.qos.durability == Durability::TransientLocal
                && other.ros_name() == name
        })
    };
    let (handle, node) = (events.handle(), node.clone());
    handle.subscribe::<M>(&node, topic, hear.clone())?;
    let latecomer: Rc<RefCell<Option<Subscription<App>>>> = Rc::default();
    let follow = move |graph: &Graph| {
        let mut latecomer = latecomer.borrow_mut();
        if !kept(graph) {
            latecomer.take().into_iter().for_each(Subscription::close);
        } else if latecomer.is_none() {
            match handle.subscribe::<M>(&node, topic.transient_local(), hear.clone()) {
                Ok(reader) => *latecomer = Some(reader),
                Err(error) => log::error!(target: node.logger(), "{}: {error}", topic.name),
            }
        }
    };
    follow(&context.graph());
    events.on_graph_change(move |_, graph| follow(graph));
    Ok(())
}
