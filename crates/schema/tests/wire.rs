//! Every Rust type of `rosless-wire` answers to its definition in `idl/`: name, hash, defaults, layout.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints for people")]

mod common;

use std::collections::BTreeSet;

use rosless_schema::{Definition, DynamicMessage, Registry};
use rosless_wire::registry::{Visitor, visit_all};
use rosless_wire::{Action, Message, Service, TypeInfo, cdr};

/// Definitions no Rust type stands for: ROS middlewares disagree on the bytes of wide strings.
const WITHOUT_WIRE_TYPE: [&str; 1] = ["example_interfaces/msg/WString"];

const VALUES_PER_TYPE: u64 = 20;

struct Checker {
    registry: Registry,
    seen: BTreeSet<&'static str>,
    failures: Vec<String>,
}

impl Checker {
    fn hash(&mut self, name: &'static str, hash: &str) {
        match self.registry.type_hash(name) {
            Ok(expected) if expected == hash => {}
            Ok(expected) => self.failures.push(format!("{name}: hash is {hash}, idl/ gives {expected}")),
            Err(error) => self.failures.push(format!("{name}: {error}")),
        }
        self.seen.insert(name);
    }

    fn info(&mut self, info: TypeInfo) {
        self.hash(info.name, info.hash);
    }

    /// Bytes and values agree in both directions, for default and for random values.
    fn layout<M: Message>(&self) -> Result<(), String> {
        let ty = self.registry.message_type(M::TYPE_NAME).map_err(|e| e.to_string())?;
        let default = DynamicMessage::new(&ty);
        if cdr::to_payload(&M::default()) != default.to_payload() {
            return Err(format!("default is {:?}, by the definition {}", M::default(), default.to_python()));
        }
        for seed in 0..VALUES_PER_TYPE {
            let dynamic = common::random_message(&ty, seed);
            let payload = dynamic.to_payload();
            let typed: M =
                cdr::from_payload(&payload).map_err(|e| format!("{e}: {}", dynamic.to_python()))?;
            let json = |e: serde_json::Error| e.to_string();
            let (by_type, by_schema) =
                (serde_json::to_value(&typed).map_err(json)?, serde_json::to_value(&dynamic).map_err(json)?);
            if by_type != by_schema {
                return Err(format!("decoded as {by_type}, by the definition {by_schema}"));
            }
            if cdr::to_payload(&typed) != payload {
                return Err(format!("encodes to other bytes: {}", dynamic.to_python()));
            }
            let big_endian = cdr::to_bytes(&typed, cdr::ByteOrder::Big);
            let from_big = DynamicMessage::from_payload(&ty, &big_endian).map_err(|e| e.to_string())?;
            if from_big.to_payload() != payload {
                return Err(format!("big-endian bytes decode to {}", from_big.to_python()));
            }
        }
        Ok(())
    }
}

impl Visitor for Checker {
    fn message<M: Message>(&mut self) {
        self.hash(M::TYPE_NAME, M::TYPE_HASH);
        if let Err(error) = self.layout::<M>() {
            self.failures.push(format!("{}: {error}", M::TYPE_NAME));
        }
    }

    fn service<S: Service>(&mut self) {
        self.hash(S::TYPE_NAME, S::TYPE_HASH);
        self.info(S::EVENT);
        self.message::<S::Request>();
        self.message::<S::Response>();
        self.message::<rosless_wire::service::Event<S>>();
    }

    fn action<A: Action>(&mut self) {
        self.hash(A::TYPE_NAME, A::TYPE_HASH);
        for info in [
            A::SEND_GOAL,
            A::SEND_GOAL_REQUEST,
            A::SEND_GOAL_RESPONSE,
            A::SEND_GOAL_EVENT,
            A::GET_RESULT,
            A::GET_RESULT_REQUEST,
            A::GET_RESULT_RESPONSE,
            A::GET_RESULT_EVENT,
            A::FEEDBACK_MESSAGE,
        ] {
            self.info(info);
        }
        self.message::<A::Goal>();
        self.message::<A::Result>();
        self.message::<A::Feedback>();
        self.message::<rosless_wire::action::FeedbackMessage<A>>();
        self.service::<rosless_wire::action::SendGoal<A>>();
        self.service::<rosless_wire::action::GetResult<A>>();
    }
}

#[test]
fn every_wire_type_agrees_with_its_definition() {
    let mut checker = Checker { registry: Registry::embedded(), seen: BTreeSet::new(), failures: Vec::new() };
    visit_all(&mut checker);
    println!("{} wire types", checker.seen.len());
    assert!(checker.failures.is_empty(), "{}", checker.failures.join("\n"));

    let defined: BTreeSet<String> = checker
        .registry
        .names()
        .into_iter()
        .flat_map(|name| checker.registry.definition(name).map(Definition::structures).unwrap())
        .map(|structure| structure.name)
        .collect();
    let missing: Vec<_> = defined.iter().filter(|name| !checker.seen.contains(name.as_str())).collect();
    assert_eq!(missing, WITHOUT_WIRE_TYPE, "definitions in idl/ without a wire type");
}
