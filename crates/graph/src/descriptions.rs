//! Types told from node to node: what `get_type_description` answers, and how such an answer is read.

use rosless_schema::{
    FieldDescription, FieldTypeDescription, IndividualTypeDescription, Registry, TypeDescription,
};
use rosless_wire::{
    cdr::BoundError,
    type_description_interfaces::{
        msg,
        srv::{GetTypeDescriptionRequest, GetTypeDescriptionResponse},
    },
};

use crate::graph::{Endpoint, Graph};

/// The service that can describe an endpoint's type, if its node offers that.
pub fn service(graph: &Graph, endpoint: &Endpoint) -> Option<String> {
    let service = format!("{}/get_type_description", graph.node_of(&endpoint.gid)?);
    graph.services().contains_key(&service).then_some(service)
}

/// The question for the version of a type that has this hash.
pub fn question(name: &str, hash: &str) -> GetTypeDescriptionRequest {
    GetTypeDescriptionRequest {
        type_name: name.to_owned(),
        type_hash: hash.to_owned(),
        include_type_sources: false,
    }
}

/// What was answered to [`question`], as a registry of its own: that version may differ from the one known here.
///
/// # Errors
/// Why the answer is of no use.
pub fn read(answer: GetTypeDescriptionResponse, name: &str, hash: &str) -> Result<Registry, String> {
    if !answer.successful {
        return Err(answer.failure_reason);
    }
    let description = TypeDescription {
        type_description: known(answer.type_description.type_description),
        referenced_type_descriptions: answer
            .type_description
            .referenced_type_descriptions
            .into_iter()
            .map(known)
            .collect(),
    };
    if description.rihs01() != hash {
        return Err(format!("the description it gives of {name} does not have hash {hash}"));
    }
    let mut registry = Registry::new();
    registry.add_description(&description).map_err(|error| error.to_string())?;
    Ok(registry)
}

fn known(told: msg::IndividualTypeDescription) -> IndividualTypeDescription {
    let field = |field: msg::Field| {
        let ty = FieldTypeDescription {
            type_id: field.r#type.type_id,
            capacity: field.r#type.capacity,
            string_capacity: field.r#type.string_capacity,
            nested_type_name: field.r#type.nested_type_name.into_inner(),
        };
        FieldDescription { name: field.name, ty, default_value: field.default_value }
    };
    IndividualTypeDescription {
        type_name: told.type_name.into_inner(),
        fields: told.fields.into_iter().map(field).collect(),
    }
}

/// Answers `get_type_description`.
pub(crate) fn describe(
    registry: &Registry,
    request: &GetTypeDescriptionRequest,
) -> GetTypeDescriptionResponse {
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
    let field = |field: FieldDescription| {
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
    fn what_is_told_is_read_as_what_it_was_and_nothing_else_passes() {
        let (name, hash) = (TransitionEvent::TYPE_NAME, TransitionEvent::TYPE_HASH);
        let registry = read(ask(name, hash), name, hash).unwrap();
        assert_eq!(registry.type_hash(name).unwrap(), hash);
        let other = read(ask(name, hash), name, "RIHS01_00").unwrap_err();
        assert!(other.ends_with("does not have hash RIHS01_00"), "{other}");
        let unknown = read(ask("nobody_msgs/msg/Nothing", ""), "nobody_msgs/msg/Nothing", "").unwrap_err();
        assert!(unknown.contains("is not known to this node"), "{unknown}");
    }

    #[test]
    fn unknown_types_and_other_versions_are_refused_with_a_reason() {
        assert!(ask("nobody_msgs/msg/Nothing", "").failure_reason.contains("nobody_msgs/msg/Nothing"));
        let answer = ask(TransitionEvent::TYPE_NAME, "RIHS01_00");
        assert!(!answer.successful && answer.failure_reason.contains(TransitionEvent::TYPE_HASH));
    }
}
