//! What the build script makes of `idl/` is what was written by hand: names, hashes, defaults, bytes.

#[path = "../../../crates/schema/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;

use rosless_schema::{DynamicMessage, Registry};
use rosless_wire::registry::{Visitor, visit_all};
use rosless_wire::{Action, Message, Service, cdr};

const VALUES_PER_TYPE: u64 = 10;

/// A type as functions, so that the comparison compiles once.
struct Row {
    hash: &'static str,
    default: Vec<u8>,
    /// Decodes and encodes again.
    recode: fn(&[u8]) -> Result<Vec<u8>, cdr::Error>,
    definitions: usize,
}

#[derive(Default)]
struct Table {
    messages: BTreeMap<&'static str, Row>,
    others: BTreeMap<&'static str, &'static str>,
}

impl Visitor for Table {
    fn message<M: Message>(&mut self) {
        let row = Row {
            hash: M::TYPE_HASH,
            default: cdr::to_payload(&M::default()),
            recode: |payload| cdr::from_payload::<M>(payload).map(|value| cdr::to_payload(&value)),
            definitions: M::DEFINITIONS.len(),
        };
        self.messages.insert(M::TYPE_NAME, row);
    }

    fn service<S: Service>(&mut self) {
        self.others.insert(S::TYPE_NAME, S::TYPE_HASH);
        self.service_parts::<S>();
    }

    fn action<A: Action>(&mut self) {
        self.others.insert(A::TYPE_NAME, A::TYPE_HASH);
        self.action_parts::<A>();
    }
}

#[test]
fn types_made_of_definitions_are_those_written_by_hand() {
    let (mut made, mut written) = (Table::default(), Table::default());
    rosless_generated::visit_all(&mut made);
    visit_all(&mut written);
    assert_eq!(made.others, written.others, "services and actions");
    assert!(made.messages.keys().eq(written.messages.keys()), "messages");
    assert!(made.messages.len() > 500, "{} messages", made.messages.len());

    let registry = Registry::embedded();
    for ((name, made), written) in made.messages.iter().zip(written.messages.values()) {
        assert_eq!(made.hash, written.hash, "{name}");
        assert_eq!(made.default, written.default, "default of {name}");
        assert!(made.definitions > 0 && written.definitions == 0, "{name}: what its node must tell of it");
        let ty = registry.message_type(name).unwrap();
        for seed in 0..VALUES_PER_TYPE {
            let payload = common::random_message(&ty, seed).to_payload();
            assert_eq!((made.recode)(&payload).as_ref(), Ok(&payload), "{name}");
            // Cut and overlong ones are refused alike.
            for end in [payload.len() / 2, payload.len().saturating_sub(4)] {
                assert_eq!((made.recode)(&payload[..end]), (written.recode)(&payload[..end]), "{name}");
            }
            assert_eq!((written.recode)(&payload).as_ref(), Ok(&payload), "{name}");
        }
    }
}

#[test]
fn constants_are_taken_over() {
    use rosless_generated::{control_msgs::msg::MotionPrimitive, exotic::exotic_msgs::msg::Everything};
    assert_eq!(MotionPrimitive::CIRCULAR_CARTESIAN, 51);
    assert_eq!((Everything::NAME, Everything::LIMIT, Everything::YES), ("const", f64::INFINITY, true));
    assert_eq!((Everything::BIG, Everything::SMALL), (u64::MAX, 1.0));
}

#[test]
fn types_of_any_form_agree_with_their_definitions() {
    use rosless_generated::exotic::exotic_msgs as own;
    let mut made = Table::default();
    own::msg::visit(&mut made);
    own::srv::visit(&mut made);
    own::action::visit(&mut made);
    let mut registry = Registry::embedded();
    registry.add_definitions(own::DEFINITIONS);
    for (name, made) in &made.messages {
        assert_eq!(made.hash, registry.type_hash(name).unwrap(), "{name}");
        let ty = registry.message_type(name).unwrap();
        assert_eq!(made.default, DynamicMessage::new(&ty).to_payload(), "default of {name}");
        for seed in 0..VALUES_PER_TYPE {
            let payload = common::random_message(&ty, seed).to_payload();
            assert_eq!((made.recode)(&payload).as_ref(), Ok(&payload), "{name}");
            // As much as is missing is missed, and nothing is allocated for what never came.
            for end in 4..payload.len().min(200) {
                let _ = (made.recode)(&payload[..end]);
            }
        }
    }
    for (name, hash) in &made.others {
        assert_eq!(*hash, registry.type_hash(name).unwrap(), "{name}");
    }
    assert!(made.messages.contains_key("exotic_msgs/action/Do_FeedbackMessage"));
}

#[test]
fn readable_forms_name_fields_as_the_definition_does() {
    let value = rosless_generated::exotic::exotic_msgs::msg::Everything::default();
    let json = serde_json::to_value(&value).unwrap();
    assert_eq!((&json["type"], &json["many"][39]["label"]), (&(-1).into(), &"x".into()));
    assert_eq!(
        serde_json::from_value::<rosless_generated::exotic::exotic_msgs::msg::Everything>(json).unwrap(),
        value
    );
}
