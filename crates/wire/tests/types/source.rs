//! Where test values come from: golden JSON or chance. Either answers what a type's own `Deserialize` asks for.
//! One deserializer for both, because each costs the compiler a copy of every type.

use rand::Rng;
use rand::rngs::SmallRng;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// A source of one value.
pub(crate) enum Source<'a> {
    /// JSON in which floats that JSON cannot write are strings.
    Golden(&'a Value),
    /// Anything; sequences have at most `max_len` elements.
    Random { rng: &'a mut SmallRng, max_len: usize },
}

fn golden_float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if ["NaN", "Infinity", "-Infinity"].contains(&text.as_str()) => text.parse().ok(),
        _ => None,
    }
}

fn unexpected(value: &Value) -> Error {
    serde::de::Error::custom(format!("{value} does not fit"))
}

macro_rules! integers {
    ($($deserialize:ident $visit:ident $type:ty)*) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(match self {
                Source::Golden(value) => {
                    let number = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
                    number.and_then(|n| <$type>::try_from(n).ok()).ok_or_else(|| unexpected(value))?
                }
                Source::Random { rng, .. } => rng.random(),
            })
        }
    )*};
}

impl<'de> Deserializer<'de> for Source<'_> {
    type Error = Error;

    integers! {
        deserialize_u8 visit_u8 u8
        deserialize_i8 visit_i8 i8
        deserialize_u16 visit_u16 u16
        deserialize_i16 visit_i16 i16
        deserialize_u32 visit_u32 u32
        deserialize_i32 visit_i32 i32
        deserialize_u64 visit_u64 u64
        deserialize_i64 visit_i64 i64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(match self {
            Source::Golden(value) => value.as_bool().ok_or_else(|| unexpected(value))?,
            Source::Random { rng, .. } => rng.random(),
        })
    }

    // All bit patterns, so that NaN, infinities and subnormal numbers occur.
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f32(match self {
            Source::Golden(value) => golden_float(value).ok_or_else(|| unexpected(value))? as f32,
            Source::Random { rng, .. } => f32::from_bits(rng.random()),
        })
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(match self {
            Source::Golden(value) => golden_float(value).ok_or_else(|| unexpected(value))?,
            Source::Random { rng, .. } => f64::from_bits(rng.random()),
        })
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Source::Golden(value) => visitor.visit_str(value.as_str().ok_or_else(|| unexpected(value))?),
            Source::Random { rng, .. } => {
                let alphabet = ['a', 'z', '_', '/', ' ', 'é', '字', '🤖'];
                let len = rng.random_range(0..10);
                visitor.visit_string((0..len).map(|_| alphabet[rng.random_range(0..8)]).collect())
            }
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut source = self;
        let len = match &mut source {
            Source::Golden(value) => value.as_array().map_or(0, Vec::len),
            Source::Random { rng, max_len } => rng.random_range(0..=*max_len),
        };
        source.deserialize_tuple(len, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        match &self {
            Source::Golden(value) if value.as_array().map(Vec::len) != Some(len) => Err(unexpected(value)),
            _ => visitor.visit_seq(Elements { source: self, at: 0, len }),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self {
            Source::Golden(value) if value.as_object().map(|o| o.len()) != Some(fields.len()) => {
                Err(unexpected(value))
            }
            _ => visitor.visit_map(Fields { source: self, fields, at: 0 }),
        }
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        Err(serde::de::Error::invalid_type(serde::de::Unexpected::Other("no ROS type"), &visitor))
    }

    forward_to_deserialize_any! {
        i128 u128 char str bytes byte_buf option unit unit_struct newtype_struct tuple_struct map enum identifier
        ignored_any
    }
}

struct Elements<'a> {
    source: Source<'a>,
    at: usize,
    len: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if self.at == self.len {
            return Ok(None);
        }
        self.at += 1;
        seed.deserialize(match &mut self.source {
            Source::Golden(value) => Source::Golden(&value[self.at - 1]),
            Source::Random { rng, max_len } => Source::Random { rng, max_len: *max_len },
        })
        .map(Some)
    }
}

struct Fields<'a> {
    source: Source<'a>,
    fields: &'static [&'static str],
    at: usize,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(field) = self.fields.get(self.at) else { return Ok(None) };
        let name: StrDeserializer<'_, Error> = field.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let field = self.fields[self.at];
        self.at += 1;
        seed.deserialize(match &mut self.source {
            Source::Golden(value) => Source::Golden(&value[field]),
            Source::Random { rng, max_len } => Source::Random { rng, max_len: *max_len },
        })
    }
}
