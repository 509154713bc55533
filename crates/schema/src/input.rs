//! Messages from text: YAML as `ros2 topic pub` and `ros2 service call` take it, and JSON.
//!
//! One visitor serves every serde format. What the text leaves out takes the default of the definition.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use thiserror::Error;

use crate::definition::{Arity, BaseType, Primitive};
use crate::layout::{Element, MessageType, ValueType};
use crate::pyyaml::{self, Plain};
use crate::value::{DynamicMessage, Value};

/// A point in time for the words `now` and `auto`, as in `builtin_interfaces/msg/Time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Since the Unix epoch.
    pub sec: i32,
    /// Since the second.
    pub nanosec: u32,
}

/// Why text is not a message; names the field and what it takes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InputError(String);

impl DynamicMessage {
    /// Reads YAML such as `{header: auto, data: [1, 2]}`; empty text is a message of defaults.
    ///
    /// `now` is what `now` for a time and `auto` for a header stand for; without it they are errors. Read the text
    /// again for every message of a series, so that each has its own time.
    pub fn from_yaml(ty: &Arc<MessageType>, text: &str, now: Option<Stamp>) -> Result<Self, InputError> {
        let blank = |line: &str| line.trim_start().is_empty() || line.trim_start().starts_with('#');
        if text.lines().all(blank) {
            return Ok(Self::new(ty));
        }
        read(ty, now, serde_yaml_ng::Deserializer::from_str(text)).map_err(|e| InputError(e.to_string()))
    }

    /// Reads a JSON object. Floats may also be the strings `NaN`, `Infinity` and `-Infinity`.
    pub fn from_json(ty: &Arc<MessageType>, text: &str, now: Option<Stamp>) -> Result<Self, InputError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        read(ty, now, &mut deserializer)
            .and_then(|message| deserializer.end().map(|()| message))
            .map_err(|e| InputError(e.to_string()))
    }
}

fn read<'de, D: Deserializer<'de>>(
    ty: &Arc<MessageType>,
    now: Option<Stamp>,
    deserializer: D,
) -> Result<DynamicMessage, D::Error> {
    let top = ValueType { element: Element::Message(Arc::clone(ty)), arity: Arity::One };
    let path = Path { outer: None, name: Name::Top };
    match (Seed { ty: &top, whole: true, path, now }).deserialize(deserializer)? {
        Value::Message(message) => Ok(message),
        other => Err(D::Error::custom(format!("{other:?} is not a message"))),
    }
}

/// Where in the message the reader is: the names from the inside out.
#[derive(Clone, Copy)]
struct Path<'a> {
    outer: Option<&'a Path<'a>>,
    name: Name<'a>,
}

#[derive(Clone, Copy)]
enum Name<'a> {
    Top,
    Field(&'a str),
    Index(usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_nested = self.outer.is_some_and(|o| !matches!(o.name, Name::Top));
        if let (true, Some(outer)) = (is_nested, self.outer) {
            write!(f, "{outer}{}", if matches!(self.name, Name::Field(_)) { "." } else { "" })?;
        }
        match self.name {
            Name::Top => f.write_str("the message"),
            Name::Field(name) => f.write_str(name),
            Name::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Reads one value of a known type.
struct Seed<'a> {
    ty: &'a ValueType,
    /// False for the elements of a list.
    whole: bool,
    path: Path<'a>,
    now: Option<Stamp>,
}

impl Seed<'_> {
    fn is_list(&self) -> bool {
        self.whole && self.ty.arity != Arity::One
    }

    fn primitive(&self) -> Option<Primitive> {
        match &self.ty.element {
            Element::Base(BaseType::Primitive(p)) if !self.is_list() => Some(*p),
            _ => None,
        }
    }

    fn is_message(&self, name: &str) -> bool {
        !self.is_list() && matches!(&self.ty.element, Element::Message(ty) if ty.name() == name)
    }

    fn number<E: serde::de::Error>(self, value: i128) -> Result<Value, E> {
        match self.primitive() {
            Some(Primitive::Float32) => Ok(Value::F32(value as f32)),
            Some(Primitive::Float64) => Ok(Value::F64(value as f64)),
            Some(Primitive::Bool) if value == 0 || value == 1 => Ok(Value::Bool(value == 1)),
            Some(p) => match p.range() {
                Some((min, max)) if (min..=max).contains(&value) => Ok(match i64::try_from(value) {
                    Ok(signed) if min < 0 => Value::Int(signed),
                    _ => Value::Uint(u64::try_from(value).unwrap_or_default()),
                }),
                Some((min, max)) => Err(E::custom(format!(
                    "{value} does not fit {}: {} takes whole numbers from {min} to {max}",
                    self.path,
                    p.name()
                ))),
                None => Err(self.wrong(value)),
            },
            None => Err(self.wrong(value)),
        }
    }

    fn float<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        match self.primitive() {
            Some(Primitive::Float64) => Ok(Value::F64(value)),
            Some(Primitive::Float32) if value.is_finite() && !(value as f32).is_finite() => {
                Err(E::custom(format!("{value:e} does not fit {}: it is too large for float32", self.path)))
            }
            Some(Primitive::Float32) => Ok(Value::F32(value as f32)),
            _ => Err(self.wrong(value)),
        }
    }

    fn wrong<E: serde::de::Error>(&self, value: impl fmt::Display) -> E {
        E::custom(format!("{value} is not valid, expected {}", Expected(self)))
    }

    /// `auto` for a header and `now` for a time.
    fn stamped<E: serde::de::Error>(&self, ty: &Arc<MessageType>) -> Result<DynamicMessage, E> {
        let now = self.now.ok_or_else(|| {
            E::custom(format!("{}: 'now' and 'auto' cannot be used here; write the time", self.path))
        })?;
        let mut values: Vec<Value> = DynamicMessage::new(ty).fields().map(|(_, v)| v.clone()).collect();
        for (field, value) in ty.fields().iter().zip(&mut values) {
            match (field.name(), &*value) {
                ("sec", Value::Int(_)) => *value = Value::Int(now.sec.into()),
                ("nanosec", Value::Uint(_)) => *value = Value::Uint(now.nanosec.into()),
                ("stamp", Value::Message(stamp)) => {
                    *value = Value::Message(self.stamped(stamp.message_type())?);
                }
                _ => {}
            }
        }
        Ok(DynamicMessage::from_values(ty, values))
    }
}

/// What a seed takes, for error messages.
struct Expected<'a>(&'a Seed<'a>);

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seed = self.0;
        if seed.is_list() {
            write!(f, "a list ({})", seed.ty)?;
        } else if let Element::Message(ty) = &seed.ty.element {
            let names: Vec<_> = ty.fields().iter().map(|field| field.name()).collect();
            write!(f, "a mapping with the fields of {} ({})", ty.name(), names.join(", "))?;
        } else {
            write!(f, "{}", seed.ty.one())?;
        }
        write!(f, " for {}", seed.path)
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match &self.ty.element {
            // Asking for text keeps plain scalars such as 007 or yes as they are written.
            Element::Base(BaseType::String { .. } | BaseType::WString { .. }) if !self.is_list() => {
                deserializer.deserialize_str(self)
            }
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Expected(self))
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        match self.primitive() {
            Some(Primitive::Bool) => Ok(Value::Bool(value)),
            _ => Err(self.wrong(value)),
        }
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.number(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.number(value.into())
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Value, E> {
        self.number(value)
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Value, E> {
        self.number(i128::try_from(value).unwrap_or(i128::MAX))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.float(value)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        if self.is_list() {
            return Err(self.wrong(format_args!("'{text}'")));
        }
        match &self.ty.element {
            Element::Message(ty)
                if (text == "now" && self.is_message("builtin_interfaces/msg/Time"))
                    || (text == "auto" && self.is_message("std_msgs/msg/Header")) =>
            {
                Ok(Value::Message(self.stamped(ty)?))
            }
            Element::Message(_) => Err(self.wrong(format_args!("'{text}'"))),
            Element::Base(BaseType::Primitive(p)) => {
                let mut chars = text.chars();
                match (p, text, chars.next(), chars.next()) {
                    // As `ros2 topic echo` shows a byte: the character with its code.
                    (Primitive::Byte, _, Some(c), None) if u32::from(c) < 256 => {
                        Ok(Value::Uint(u32::from(c).into()))
                    }
                    (Primitive::Bool, "yes" | "Yes" | "YES" | "on" | "On" | "ON", ..) => {
                        Ok(Value::Bool(true))
                    }
                    (Primitive::Bool, "no" | "No" | "NO" | "off" | "Off" | "OFF", ..) => {
                        Ok(Value::Bool(false))
                    }
                    (Primitive::Bool, ..) => Err(self.wrong(format_args!("'{text}'"))),
                    // Numbers that YAML 1.2 does not know: 010, 1_000, 12:30.
                    _ => match (pyyaml::resolve(text), p, text.parse::<f64>(), text.parse::<i128>()) {
                        (Plain::Int(Some(value)), ..) => self.number(value),
                        (Plain::Float(value), Primitive::Float32 | Primitive::Float64, ..)
                        | (_, Primitive::Float32 | Primitive::Float64, Ok(value), _) => self.float(value),
                        (.., Ok(value)) => self.number(value),
                        _ => Err(self.wrong(format_args!("'{text}'"))),
                    },
                }
            }
            Element::Base(base) => {
                let (length, bound) = match base {
                    BaseType::WString { bound } => (text.encode_utf16().count(), bound),
                    BaseType::String { bound } => (text.len(), bound),
                    _ => return Err(self.wrong(format_args!("'{text}'"))),
                };
                if text.contains('\0') {
                    return Err(E::custom(format!("{}: text must not contain NUL", self.path)));
                }
                match bound {
                    Some(bound) if length > *bound as usize => {
                        Err(E::custom(format!("{}: {length} characters do not fit {base}", self.path)))
                    }
                    _ => Ok(Value::String(text.to_owned())),
                }
            }
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        if !self.is_list() {
            return Err(self.wrong("a list"));
        }
        let limit = match self.ty.arity {
            Arity::Array(n) | Arity::Bounded(n) => n as usize,
            Arity::One | Arity::Unbounded => u32::MAX as usize,
        };
        let packed = self.ty.packs_into_bytes();
        let (mut bytes, mut items) = (Vec::new(), Vec::new());
        loop {
            let count = bytes.len() + items.len();
            let path = Path { outer: Some(&self.path), name: Name::Index(count) };
            if count == limit {
                let mut extra = 0_usize;
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    extra += 1;
                }
                if extra > 0 {
                    return Err(A::Error::custom(format!(
                        "{}: {} elements do not fit {}",
                        self.path,
                        count + extra,
                        self.ty
                    )));
                }
                break;
            }
            match seq.next_element_seed(Seed { ty: self.ty, whole: false, path, now: self.now })? {
                Some(Value::Uint(byte)) if packed => bytes.push(byte as u8),
                Some(item) => items.push(item),
                None if matches!(self.ty.arity, Arity::Array(_)) => {
                    return Err(A::Error::custom(format!(
                        "{}: {count} elements are too few for {}",
                        self.path, self.ty
                    )));
                }
                None => break,
            }
        }
        Ok(if packed { Value::Bytes(bytes) } else { Value::List(items) })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let ty = match &self.ty.element {
            Element::Message(ty) if !self.is_list() => ty,
            _ => return Err(self.wrong("a mapping")),
        };
        let mut values: Vec<Option<Value>> = vec![None; ty.fields().len()];
        while let Some(key) = map.next_key::<String>()? {
            let Some(index) = ty.fields().iter().position(|f| f.name() == key) else {
                let names: Vec<_> = ty.fields().iter().map(|f| f.name()).collect();
                let path = Path { outer: Some(&self.path), name: Name::Field(&key) };
                return Err(A::Error::custom(format!(
                    "unknown field '{path}'; {} has: {}",
                    ty.name(),
                    if names.is_empty() { "no fields".to_owned() } else { names.join(", ") }
                )));
            };
            let field = &ty.fields()[index];
            let path = Path { outer: Some(&self.path), name: Name::Field(field.name()) };
            if values[index].is_some() {
                return Err(A::Error::custom(format!("field '{path}' is given twice")));
            }
            let seed = Seed { ty: field.value_type(), whole: true, path, now: self.now };
            values[index] = Some(map.next_value_seed(seed)?);
        }
        let values = values.into_iter().zip(ty.fields()).map(|(v, f)| v.unwrap_or_else(|| f.default_value()));
        Ok(Value::Message(DynamicMessage::from_values(ty, values.collect())))
    }
}
