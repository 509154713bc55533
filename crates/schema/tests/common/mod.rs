//! Random messages of any type.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng, SeedableRng as _};
use rosless_schema::{Arity, BaseType, DynamicMessage, Element, MessageType, Primitive, ValueType};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A message whose values are arbitrary within its type; the same seed gives the same message.
pub(crate) fn random_message(ty: &Arc<MessageType>, seed: u64) -> DynamicMessage {
    let json = message(ty, &mut StdRng::seed_from_u64(seed)).to_string();
    DynamicMessage::from_json(ty, &json, None).unwrap_or_else(|e| panic!("{}: {e}\n{json}", ty.name()))
}

fn message(ty: &MessageType, rng: &mut StdRng) -> Json {
    ty.fields().iter().map(|f| (f.name().to_owned(), field(f.value_type(), rng))).collect()
}

fn field(ty: &ValueType, rng: &mut StdRng) -> Json {
    let count = match ty.arity {
        Arity::One => return element(&ty.element, rng),
        Arity::Array(n) => n,
        Arity::Bounded(n) => rng.random_range(0..=n.min(3)),
        Arity::Unbounded => rng.random_range(0..4),
    };
    (0..count).map(|_| element(&ty.element, rng)).collect()
}

fn element(element: &Element, rng: &mut StdRng) -> Json {
    match element {
        Element::Message(ty) => message(ty, rng),
        Element::Base(BaseType::Primitive(p)) => match p {
            Primitive::Bool => json!(rng.random::<bool>()),
            Primitive::Byte | Primitive::Char | Primitive::Uint8 => json!(rng.random::<u8>()),
            Primitive::Int8 => json!(rng.random::<i8>()),
            Primitive::Int16 => json!(rng.random::<i16>()),
            Primitive::Uint16 => json!(rng.random::<u16>()),
            Primitive::Int32 => json!(rng.random::<i32>()),
            Primitive::Uint32 => json!(rng.random::<u32>()),
            Primitive::Int64 => json!(rng.random::<i64>()),
            Primitive::Uint64 => json!(rng.random::<u64>()),
            Primitive::Float32 => json!(finite(f64::from(f32::from_bits(rng.random())))),
            Primitive::Float64 => json!(finite(f64::from_bits(rng.random()))),
        },
        Element::Base(BaseType::String { bound } | BaseType::WString { bound }) => {
            json!(text(bound.unwrap_or(u32::MAX) as usize, rng))
        }
        Element::Base(BaseType::Message(name)) => panic!("{name} is not resolved"),
    }
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { -0.5 }
}

/// Text full of what quoting rules trip over.
fn text(bound: usize, rng: &mut StdRng) -> String {
    let single =
        "a07.e-:#'\"\\\n\t\r éぼ😀\u{85}\u{2028}\u{feff}\u{7f}{}[],&*!|>%@`?~".chars().map(String::from);
    let longer = [": ", " #", "yes", "null", "true", ".nan", "0x1", "1e3", "2001-01-01", "---", "..."];
    let pieces: Vec<_> = single.chain(longer.map(String::from)).collect();
    let mut text = String::new();
    for _ in 0..rng.random_range(0..8) {
        let piece = pieces.choose(rng).expect("not empty");
        if text.len() + piece.len() <= bound {
            text.push_str(piece);
        }
    }
    text
}
