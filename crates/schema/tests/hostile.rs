//! Whatever arrives, nothing panics, and memory stays within a small multiple of the input.
//! `ROSLESS_FUZZ_CASES` sets the number of cases per property.

mod common;

use std::env;
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use proptest::sample::Index;
use rosless_schema::{
    Comments, DynamicMessage, Kind, MessageType, Registry, Source, TypeDescription, YamlStyle, parse,
};

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::embedded);

static STRUCTURES: LazyLock<Vec<Arc<MessageType>>> = LazyLock::new(|| {
    let structures = REGISTRY.names().into_iter().flat_map(|n| REGISTRY.definition(n).unwrap().structures());
    structures.map(|s| REGISTRY.message_type(&s.name).unwrap()).collect()
});

fn config() -> ProptestConfig {
    let cases = env::var("ROSLESS_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// One change of a text or payload.
#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Length(Index, u32),
    Repeat(Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let word = prop_oneof![
        Just(b"[".to_vec()),
        Just(b"[<=".to_vec()),
        Just(b"string<=".to_vec()),
        Just(b"\n---\n".to_vec()),
        Just(b"= '".to_vec()),
        Just(b"#\"".to_vec()),
        Just("é\u{2028}".as_bytes().to_vec()),
        Just(b"99999999999999999999999999999999999999999999".to_vec()),
        proptest::collection::vec(any::<u8>(), 1..9),
    ];
    let length = prop_oneof![Just(u32::MAX), Just(0x7fff_ffff), Just(0), 0_u32..300, any::<u32>()];
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(i, b)| Change::Set(i, b)),
        (any::<Index>(), word).prop_map(|(i, w)| Change::Insert(i, w)),
        (any::<Index>(), 1_usize..40).prop_map(|(i, n)| Change::Remove(i, n)),
        (any::<Index>(), length).prop_map(|(i, n)| Change::Length(i, n)),
        (any::<Index>(), 1_usize..60).prop_map(|(i, n)| Change::Repeat(i, n)),
    ]
}

fn apply(bytes: &mut Vec<u8>, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Set(at, byte) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Change::Insert(at, word) => {
                let at = at.index(bytes.len() + 1);
                bytes.splice(at..at, word.iter().copied());
            }
            Change::Remove(at, count) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes.drain(at..(at + count).min(bytes.len()));
            }
            Change::Length(at, value) if bytes.len() >= 8 => {
                let at = at.index(bytes.len() / 4) * 4;
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
            Change::Repeat(at, count) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                let piece = bytes[at..(at + count).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {}
        }
    }
}

/// Uses everything a definition gives.
fn use_definition(registry: &Registry, name: &str) {
    let _ = registry.type_hash(name);
    let _ = registry.show(name, Comments::All);
    if let Ok(ty) = registry.message_type(name) {
        let message = DynamicMessage::new(&ty);
        let decoded = DynamicMessage::from_payload(&ty, &message.to_payload()).expect("own bytes");
        assert_eq!(decoded.to_payload(), message.to_payload());
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn mutated_definitions_never_panic(which: Index, changes in proptest::collection::vec(change(), 0..6)) {
        let names = REGISTRY.names();
        let (_, source) = REGISTRY.source(names[which.index(names.len())]).unwrap();
        let mut bytes = source.as_bytes().to_vec();
        apply(&mut bytes, &changes);
        let text = String::from_utf8_lossy(&bytes);
        for kind in Kind::ALL {
            let source = Source { kind, package: "pkg", name: "Type", file: "Type.x", text: &text };
            if let Err(error) = parse(source) {
                prop_assert!(error.line >= 1 && error.line <= text.lines().count().max(1), "{error}");
                continue;
            }
            let mut registry = Registry::embedded();
            registry.add_source(source);
            use_definition(&registry, &format!("pkg/{}/Type", kind.as_str()));
        }
    }

    #[test]
    fn mutated_payloads_never_panic_or_over_allocate(
        which: Index,
        seed: u64,
        changes in proptest::collection::vec(change(), 0..4),
        big_endian: bool,
    ) {
        let ty = &STRUCTURES[which.index(STRUCTURES.len())];
        let mut payload = common::random_message(ty, seed).to_payload();
        apply(&mut payload, &changes);
        if big_endian && payload.len() > 1 {
            payload[1] = 0;
        }
        let mut decoded = None;
        let cost = allocation_counter::measure(|| decoded = Some(DynamicMessage::from_payload(ty, &payload)));
        let limit = 64 * payload.len() as u64 + 4096;
        prop_assert!(cost.bytes_max <= limit, "{} bytes for {} of {}", cost.bytes_max, payload.len(), ty.name());
        if let Some(Ok(message)) = decoded {
            let again = DynamicMessage::from_payload(ty, &message.to_payload()).unwrap();
            prop_assert_eq!(again.to_payload(), message.to_payload());
        }
    }

    #[test]
    fn truncated_payloads_are_errors_or_values(which: Index, seed: u64, cut: Index) {
        let ty = &STRUCTURES[which.index(STRUCTURES.len())];
        let payload = common::random_message(ty, seed).to_payload();
        let cut = cut.index(payload.len());
        // The last three bytes may be padding.
        if let Ok(message) = DynamicMessage::from_payload(ty, &payload[..cut]) {
            prop_assert_eq!(message.to_payload(), payload);
        }
    }

    #[test]
    fn text_reads_back_to_the_same_message(which: Index, seed: u64) {
        let ty = &STRUCTURES[which.index(STRUCTURES.len())];
        let message = common::random_message(ty, seed);
        for flow in [false, true] {
            let text = message.to_yaml(YamlStyle { flow, ..YamlStyle::default() });
            let read = DynamicMessage::from_yaml(ty, &text, None);
            prop_assert_eq!(read.as_ref(), Ok(&message), "{}", text);
        }
    }

    #[test]
    fn mutated_input_text_never_panics(
        which: Index,
        seed: u64,
        changes in proptest::collection::vec(change(), 1..5),
    ) {
        let ty = &STRUCTURES[which.index(STRUCTURES.len())];
        let message = common::random_message(ty, seed);
        let mut bytes = message.to_yaml(YamlStyle { flow: seed % 2 == 0, ..YamlStyle::default() }).into_bytes();
        apply(&mut bytes, &changes);
        if let Ok(read) = DynamicMessage::from_yaml(ty, &String::from_utf8_lossy(&bytes), None) {
            let decoded = DynamicMessage::from_payload(ty, &read.to_payload()).unwrap();
            prop_assert_eq!(decoded.to_payload(), read.to_payload());
        }
    }

    #[test]
    fn mutated_descriptions_never_panic(
        which: Index,
        fields in proptest::collection::vec((any::<Index>(), any::<u8>(), any::<u64>(), any::<Index>()), 0..4),
    ) {
        let ty = &STRUCTURES[which.index(STRUCTURES.len())];
        let mut description = REGISTRY.description(ty.name()).unwrap();
        let names: Vec<String> = all_types(&mut description).map(|t| t.type_name.clone()).collect();
        for (field, type_id, capacity, nested) in &fields {
            let mut all: Vec<_> = all_types(&mut description).flat_map(|t| &mut t.fields).collect();
            let index = field.index(all.len());
            all[index].ty.type_id = *type_id;
            all[index].ty.capacity = capacity % 5;
            all[index].ty.string_capacity = capacity >> 40;
            all[index].ty.nested_type_name = names[nested.index(names.len())].clone();
        }
        let mut registry = Registry::new();
        if registry.add_description(&description).is_ok() {
            if fields.is_empty() {
                prop_assert_eq!(registry.type_hash(ty.name()).unwrap(), REGISTRY.type_hash(ty.name()).unwrap());
            }
            for name in &names {
                use_definition(&registry, name);
            }
        }
    }
}

fn all_types(
    description: &mut TypeDescription,
) -> impl Iterator<Item = &mut rosless_schema::IndividualTypeDescription> {
    std::iter::once(&mut description.type_description).chain(&mut description.referenced_type_descriptions)
}
