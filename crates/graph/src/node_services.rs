//! What every node offers without being asked: parameter services, type descriptions, and simulated time.

use std::{
    collections::BTreeMap,
    rc::{Rc, Weak},
    time::Duration,
};

use rosless_schema::Registry;
use rosless_wire::{rosgraph_msgs::msg::Clock, type_description_interfaces::srv::GetTypeDescription};

use crate::{
    Context, Error, Handle, Node, Qos, Result, Subscription, descriptions, introspection, node::NodeInner,
    parameters::START_TYPE_DESCRIPTION_SERVICE, qos_overrides,
};

/// A node and its subscription to `/clock`, while it has one.
struct Tended<S> {
    node: Weak<NodeInner>,
    clock: Option<Subscription<S>>,
}

impl<S: 'static> Handle<S> {
    /// Looks after the context's nodes whenever one of them wants attention.
    pub(crate) fn tend_nodes(&self) {
        let handle = self.clone();
        let mut tended = Vec::new();
        self.after_batch(move |_| {
            let Some(context) =
                handle.context().filter(|context| context.0.nodes_want_attention.replace(false))
            else {
                return;
            };
            let new_nodes = context.0.new_nodes.take();
            for inner in &new_nodes {
                let Some(node) = inner.upgrade().map(Node::from_inner) else { continue };
                if context.0.node_services
                    && let Err(error) = handle.serve_node(&node)
                    && let Ok(core) = handle.core()
                {
                    // Half a node would be taken for a whole one.
                    core.fail(error);
                }
                tended.push(Tended { node: inner.clone(), clock: None });
            }
            if let Some(error) = check_parameters(&context, &new_nodes, |_| true)
                && let Ok(core) = handle.core()
            {
                core.fail(error);
            }
            tended.retain_mut(|tended| handle.tend(tended));
        });
    }

    /// Keeps the subscription to `/clock` as the node's parameter says; `false` when the node is gone.
    fn tend(&self, tended: &mut Tended<S>) -> bool {
        let node = tended.node.upgrade().map(Node::from_inner);
        let alive = node.filter(|node| !node.inner().services.closed.get());
        let wanted = alive.as_ref().is_some_and(|node| node.parameters().use_sim_time());
        match (&alive, tended.clock.take()) {
            (Some(node), None) if wanted => match self.follow_clock(node) {
                Ok(subscription) => tended.clock = Some(subscription),
                Err(error) => log::error!(target: node.logger(), "cannot follow /clock: {error}"),
            },
            (_, Some(subscription)) if wanted => tended.clock = Some(subscription),
            (_, Some(subscription)) => subscription.close(),
            (_, None) => {}
        }
        alive.is_some()
    }

    fn follow_clock(&self, node: &Node) -> Result<Subscription<S>> {
        let inner = node.inner().clone();
        self.subscribe::<Clock>(node, ("/clock", Qos::clock()), move |_, sample| {
            inner.services.sim_time.replace(sample.message.clock);
        })
    }

    fn serve_node(&self, node: &Node) -> Result<()> {
        let mut closers = self.serve_parameters(node)?;
        if node.parameter(START_TYPE_DESCRIPTION_SERVICE) == Ok(true) {
            // Made when somebody asks: most nodes never are.
            let mut registry = None;
            let inner = Rc::downgrade(node.inner());
            let server = self.serve_with::<GetTypeDescription>(
                node,
                "~/get_type_description",
                Qos::services(),
                move |_, request, responder| {
                    let registry = registry.get_or_insert_with(Registry::embedded);
                    let own = inner.upgrade().map(|inner| inner.services.definitions.take());
                    own.unwrap_or_default().into_iter().for_each(|texts| registry.add_definitions(texts));
                    responder.reply(&descriptions::describe(registry, &request));
                },
            )?;
            closers.push(Box::new(|| server.close()));
        }
        node.inner().services.closers.replace(closers);
        Ok(())
    }
}

impl<S: 'static> Handle<S> {
    /// Says that a daemon is ready, when it is: once the loop turns, the parameters that were given have been found to be
    /// right.
    pub fn announce(&self, node: &Node, text: String) {
        let logger = node.logger().to_owned();
        self.once(Duration::ZERO, move |_| log::info!(target: &logger, "{text}"));
    }

    /// What the loop does when it turns first, for those who act before: where `--strict-params` was asked for, a parameter
    /// that none of the nodes made so far declares is refused. Endpoints, and their qualities of service, may still come.
    pub fn check_parameters(&self) -> Result<()> {
        let Some(context) = self.context().filter(|context| context.settings().arguments.strict_parameters)
        else {
            return Ok(());
        };
        let early = |name: &str| !name.starts_with(qos_overrides::PREFIX);
        let refused = check_parameters(&context, &context.0.new_nodes.borrow(), early);
        refused.map_or(Ok(()), Err)
    }
}

/// Parameters that were given from outside and that none of the nodes declares: a slip that would go unnoticed. They are
/// warned about, or are an error where that was asked for.
fn check_parameters(
    context: &Context,
    nodes: &[Weak<NodeInner>],
    concerns: impl Fn(&str) -> bool,
) -> Option<Error> {
    let nodes: Vec<_> = nodes.iter().filter_map(Weak::upgrade).map(Node::from_inner).collect();
    let mut unused: BTreeMap<String, Vec<(&Node, Option<String>)>> = BTreeMap::new();
    let declared = |name: &str| nodes.iter().any(|node| node.parameter_value(name).is_ok());
    for node in &nodes {
        for (name, nearest) in node.parameters().unused() {
            if name != introspection::PARAMETER && concerns(&name) && !declared(&name) {
                unused.entry(name).or_default().push((node, nearest));
            }
        }
    }
    let mut complaints = unused.iter().map(|(name, places)| {
        let names: Vec<_> = places.iter().map(|(node, _)| node.full_name()).collect();
        let has = if name.starts_with(qos_overrides::PREFIX) {
            "has no such publisher, subscription or policy"
        } else {
            "does not declare it"
        };
        let meant = places.iter().find_map(|(_, nearest)| nearest.as_ref());
        let meant = meant.map_or_else(String::new, |nearest| format!("; did you mean '{nearest}'?"));
        format!("parameter '{name}' was given, but {} {has}{meant}", names.join(" or "))
    });
    if context.settings().arguments.strict_parameters {
        return complaints.next().map(|first| Error::Usage(format!("{first} (--strict-params)")));
    }
    complaints.for_each(|complaint| log::warn!("{complaint}"));
    None
}
