//! Structures with all names resolved: what a decoder walks along.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::definition::{Arity, BaseType, Literal, Primitive};
use crate::registry::{Registry, SchemaError};
use crate::value::{DynamicMessage, Value};

/// Deepest nesting of messages in messages; the deepest real types have about six levels.
pub(crate) const MAX_DEPTH: usize = 32;
/// Most bytes a type may need before any sequence or string is filled: bounds the size of a default value.
const MAX_FIXED_SIZE: usize = 4 << 20;

/// A message type ready to decode, read or build messages of.
#[derive(Debug)]
pub struct MessageType {
    name: String,
    fields: Vec<TypedField>,
    /// Fewest bytes a value takes on the wire, padding not counted; at least 1.
    min_size: usize,
}

/// One field of a [`MessageType`].
#[derive(Debug)]
pub struct TypedField {
    name: String,
    ty: ValueType,
    default: Option<Literal>,
}

/// The resolved type of a field.
#[derive(Clone, Debug)]
pub struct ValueType {
    /// Of what.
    pub element: Element,
    /// How many.
    pub arity: Arity,
}

/// What a field holds one or many of.
#[derive(Clone, Debug)]
pub enum Element {
    /// A primitive or a string.
    Base(BaseType),
    /// Another message.
    Message(Arc<MessageType>),
}

impl MessageType {
    /// `pkg/msg/Type`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Fewest bytes a value takes.
    pub(crate) fn min_size(&self) -> usize {
        self.min_size
    }

    /// In the order of the wire.
    pub fn fields(&self) -> &[TypedField] {
        &self.fields
    }
}

impl TypedField {
    /// As the definition has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    pub fn value_type(&self) -> &ValueType {
        &self.ty
    }

    /// The default of the definition, or zero, empty, false.
    pub(crate) fn default_value(&self) -> Value {
        match &self.default {
            Some(literal) => from_literal(&self.ty, literal),
            None => self.ty.zero(),
        }
    }
}

impl ValueType {
    pub(crate) fn is(&self, primitive: Primitive) -> bool {
        matches!(&self.element, Element::Base(BaseType::Primitive(p)) if *p == primitive)
    }

    /// Whether many of it are kept as [`Value::Bytes`].
    pub(crate) fn packs_into_bytes(&self) -> bool {
        self.is(Primitive::Uint8) || self.is(Primitive::Byte) || self.is(Primitive::Char)
    }

    /// The same type, one of it.
    pub(crate) fn one(&self) -> ValueType {
        ValueType { element: self.element.clone(), arity: Arity::One }
    }

    fn zero(&self) -> Value {
        let count = match self.arity {
            Arity::One => return self.element.zero(),
            Arity::Array(n) => n as usize,
            Arity::Bounded(_) | Arity::Unbounded => 0,
        };
        if self.packs_into_bytes() {
            Value::Bytes(vec![0; count])
        } else {
            Value::List(vec![self.element.zero(); count])
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.element {
            Element::Base(base) => write!(f, "{base}{}", self.arity),
            Element::Message(message) => write!(f, "{}{}", message.name, self.arity),
        }
    }
}

impl Element {
    fn zero(&self) -> Value {
        match self {
            Element::Base(BaseType::Primitive(p)) => match p {
                Primitive::Bool => Value::Bool(false),
                Primitive::Float32 => Value::F32(0.0),
                Primitive::Float64 => Value::F64(0.0),
                Primitive::Int8 | Primitive::Int16 | Primitive::Int32 | Primitive::Int64 => Value::Int(0),
                _ => Value::Uint(0),
            },
            Element::Base(_) => Value::String(String::new()),
            Element::Message(ty) => Value::Message(DynamicMessage::new(ty)),
        }
    }

    pub(crate) fn min_size(&self) -> usize {
        match self {
            Element::Base(BaseType::Primitive(p)) => p.size(),
            Element::Base(_) => 4,
            Element::Message(ty) => ty.min_size,
        }
    }
}

/// The parser has checked the literal against the type already.
fn from_literal(ty: &ValueType, literal: &Literal) -> Value {
    match literal {
        Literal::Bool(b) => Value::Bool(*b),
        Literal::Int(i) => match ty.element.zero() {
            Value::Uint(_) => Value::Uint(u64::try_from(*i).unwrap_or_default()),
            _ => Value::Int(i64::try_from(*i).unwrap_or_default()),
        },
        Literal::Float(f) if ty.is(Primitive::Float32) => Value::F32(*f as f32),
        Literal::Float(f) => Value::F64(*f),
        Literal::String(s) => Value::String(s.clone()),
        Literal::List(list) if ty.packs_into_bytes() => {
            let byte = |l: &Literal| match l {
                Literal::Int(i) => u8::try_from(*i).unwrap_or_default(),
                _ => 0,
            };
            Value::Bytes(list.iter().map(byte).collect())
        }
        Literal::List(list) => {
            let one = ty.one();
            Value::List(list.iter().map(|l| from_literal(&one, l)).collect())
        }
    }
}

/// Resolves one type and all it contains; every structure once, however often it is used.
pub(crate) struct Resolver<'a> {
    registry: &'a Registry,
    done: HashMap<String, Arc<MessageType>>,
    path: Vec<String>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(registry: &'a Registry) -> Self {
        Self { registry, done: HashMap::new(), path: Vec::new() }
    }

    pub(crate) fn resolve(&mut self, name: &str) -> Result<Arc<MessageType>, SchemaError> {
        if let Some(done) = self.done.get(name) {
            return Ok(Arc::clone(done));
        }
        let invalid = |message: String| SchemaError::Invalid { name: name.to_owned(), field: None, message };
        if self.path.iter().any(|p| p == name) {
            return Err(invalid(
                "the type contains itself; use an id or a sequence of another type".to_owned(),
            ));
        }
        if self.path.len() >= MAX_DEPTH {
            return Err(invalid(format!("types are nested more than {MAX_DEPTH} deep")));
        }
        self.path.push(name.to_owned());
        let structure = self.registry.structure(name)?;
        let mut fields = Vec::with_capacity(structure.fields.len());
        let mut min_size = 0_usize;
        for field in &structure.fields {
            let element = match &field.ty.base {
                BaseType::Message(nested) => Element::Message(self.resolve(nested)?),
                base => Element::Base(base.clone()),
            };
            min_size = min_size.saturating_add(match field.ty.arity {
                Arity::One => element.min_size(),
                Arity::Array(n) => element.min_size().saturating_mul(n as usize),
                Arity::Bounded(_) | Arity::Unbounded => 4,
            });
            if min_size > MAX_FIXED_SIZE {
                let field = field.name.clone();
                let message = format!(
                    "field '{field}' makes every message larger than {MAX_FIXED_SIZE} bytes; use a sequence"
                );
                return Err(SchemaError::Invalid { name: name.to_owned(), field: Some(field), message });
            }
            let ty = ValueType { element, arity: field.ty.arity };
            fields.push(TypedField { name: field.name.clone(), ty, default: field.default.clone() });
        }
        self.path.pop();
        // A structure without fields is one byte on the wire.
        let ty = Arc::new(MessageType { name: name.to_owned(), fields, min_size: min_size.max(1) });
        self.done.insert(name.to_owned(), Arc::clone(&ty));
        Ok(ty)
    }
}
