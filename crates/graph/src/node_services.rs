//! What every node offers without being asked: parameter services, type descriptions, and simulated time.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    rc::{Rc, Weak},
};

use rosless_schema::{IndividualTypeDescription, Registry, TypeDescription};
use rosless_wire::{
    cdr::BoundError,
    rosgraph_msgs::msg::Clock,
    type_description_interfaces::{
        msg,
        srv::{GetTypeDescription, GetTypeDescriptionRequest, GetTypeDescriptionResponse},
    },
};

use crate::{
    Context, Error, Handle, Node, Qos, Result, Subscription, introspection, node::NodeInner,
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
            if let Some(error) = check_parameters(&context, &new_nodes)
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
        self.subscribe::<Clock>(node, "/clock", Qos::clock(), move |_, sample| {
            inner.services.sim_time.replace(sample.message.clock);
        })
    }

    fn serve_node(&self, node: &Node) -> Result<()> {
        let mut closers = self.serve_parameters(node)?;
        if node.parameter(START_TYPE_DESCRIPTION_SERVICE) == Ok(true) {
            // Made when somebody asks: most nodes never are.
            let registry = Rc::new(OnceCell::new());
            let server = self.serve_with::<GetTypeDescription>(
                node,
                "~/get_type_description",
                Qos::services(),
                move |_, request, responder| {
                    responder.reply(&describe(registry.get_or_init(Registry::embedded), &request));
                },
            )?;
            closers.push(Box::new(|| server.close()));
        }
        node.inner().services.closers.replace(closers);
        Ok(())
    }
}

/// Parameters that were given from outside and that none of the nodes declares: a slip that would go unnoticed. They are
/// warned about, or are an error where that was asked for.
fn check_parameters(context: &Context, nodes: &[Weak<NodeInner>]) -> Option<Error> {
    let nodes: Vec<_> = nodes.iter().filter_map(Weak::upgrade).map(Node::from_inner).collect();
    let mut unused: BTreeMap<String, Vec<(&Node, Option<String>)>> = BTreeMap::new();
    let declared = |name: &str| nodes.iter().any(|node| node.parameter_value(name).is_ok());
    for node in &nodes {
        for (name, nearest) in node.parameters().unused() {
            if name != introspection::PARAMETER && !declared(&name) {
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

/// Answers `get_type_description`.
fn describe(registry: &Registry, request: &GetTypeDescriptionRequest) -> GetTypeDescriptionResponse {
    let fail = |failure_reason: String| GetTypeDescriptionResponse { failure_reason, ..Default::default() };
    let name = &request.type_name;
    let description = match registry.description(name) {
        Ok(description) => description,
        Err(error) => return fail(format!("type '{name}' is not known to this node: {error}")),
    };
    let hash = description.rihs01();
    if !request.type_hash.is_empty() && request.type_hash != hash {
        return fail(format!("this node knows type '{name}' with hash {hash}, not {}", request.type_hash));
    }
    let names = [&description.type_description].into_iter().chain(&description.referenced_type_descriptions);
    let source = |name: &str| {
        let (kind, text) = registry.source(name)?;
        let (type_name, encoding) = (name.to_owned(), kind.as_str().to_owned());
        Some(msg::TypeSource { type_name, encoding, raw_file_contents: text.to_owned() })
    };
    let wanted = |_: &&IndividualTypeDescription| request.include_type_sources;
    let type_sources = names.filter(wanted).filter_map(|individual| source(&individual.type_name)).collect();
    match message(description) {
        Ok(type_description) => GetTypeDescriptionResponse {
            successful: true,
            type_description,
            type_sources,
            ..Default::default()
        },
        Err(error) => fail(format!("the description of '{name}' does not fit into the message: {error}")),
    }
}

fn message(description: TypeDescription) -> Result<msg::TypeDescription, BoundError> {
    let referenced = description.referenced_type_descriptions.into_iter().map(individual);
    Ok(msg::TypeDescription {
        type_description: individual(description.type_description)?,
        referenced_type_descriptions: referenced.collect::<Result<_, _>>()?,
    })
}

fn individual(description: IndividualTypeDescription) -> Result<msg::IndividualTypeDescription, BoundError> {
    let field = |field: rosless_schema::FieldDescription| {
        let r#type = msg::FieldType {
            type_id: field.ty.type_id,
            capacity: field.ty.capacity,
            string_capacity: field.ty.string_capacity,
            nested_type_name: field.ty.nested_type_name.try_into()?,
        };
        Ok(msg::Field { name: field.name, r#type, default_value: field.default_value })
    };
    Ok(msg::IndividualTypeDescription {
        type_name: description.type_name.try_into()?,
        fields: description.fields.into_iter().map(field).collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests {
    use rosless_wire::{Message, lifecycle_msgs::msg::TransitionEvent};

    use super::*;

    fn ask(type_name: &str, type_hash: &str) -> GetTypeDescriptionResponse {
        let (type_name, type_hash) = (type_name.to_owned(), type_hash.to_owned());
        describe(
            &Registry::embedded(),
            &GetTypeDescriptionRequest { type_name, type_hash, include_type_sources: true },
        )
    }

    #[test]
    fn a_known_type_is_described_with_everything_it_refers_to() {
        let answer = ask(TransitionEvent::TYPE_NAME, TransitionEvent::TYPE_HASH);
        assert!(answer.successful, "{}", answer.failure_reason);
        let names: Vec<_> =
            answer.type_description.referenced_type_descriptions.iter().map(|d| &*d.type_name).collect();
        assert_eq!(names, ["lifecycle_msgs/msg/State", "lifecycle_msgs/msg/Transition"]);
        assert_eq!(answer.type_sources.len(), 3);
        assert_eq!(answer.type_sources[0].encoding, "msg");
        assert!(answer.type_sources[0].raw_file_contents.contains("start_state"));
    }

    #[test]
    fn unknown_types_and_other_versions_are_refused_with_a_reason() {
        assert!(ask("nobody_msgs/msg/Nothing", "").failure_reason.contains("nobody_msgs/msg/Nothing"));
        let answer = ask(TransitionEvent::TYPE_NAME, "RIHS01_00");
        assert!(!answer.successful && answer.failure_reason.contains(TransitionEvent::TYPE_HASH));
    }
}
