//! Dynamic messages from and to CDR payloads (XCDR1, with the 4-byte encapsulation header).

use std::sync::Arc;

use thiserror::Error;

use crate::definition::{Arity, BaseType, Primitive};
use crate::layout::{Element, MessageType, ValueType};
use crate::value::{DynamicMessage, Value};

const HEADER: usize = 4;
const BIG_ENDIAN: [u8; 2] = [0, 0];
const LITTLE_ENDIAN: [u8; 2] = [0, 1];

/// Why a payload is not a message of the type it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// It is too short to be one.
    #[error("the payload has {0} bytes, too few for an encapsulation header")]
    NoHeader(usize),
    /// It is encoded in another way.
    #[error("encapsulation {0:#04x}{1:02x} is not plain CDR")]
    Encapsulation(u8, u8),
    /// It ends too early.
    #[error("field '{field}' ends behind the payload")]
    Truncated {
        /// Where.
        field: String,
    },
    /// A value that the type does not have.
    #[error("field '{field}': {message}")]
    Invalid {
        /// Where.
        field: String,
        /// What is wrong with it.
        message: String,
    },
}

impl DynamicMessage {
    /// Decodes a payload in either byte order. Bytes behind the message are ignored, as some vendors send them.
    pub fn from_payload(ty: &Arc<MessageType>, payload: &[u8]) -> Result<Self, DecodeError> {
        let Some((header, body)) = payload.split_at_checked(HEADER) else {
            return Err(DecodeError::NoHeader(payload.len()));
        };
        let big_endian = match [header[0], header[1]] {
            BIG_ENDIAN => true,
            LITTLE_ENDIAN => false,
            [high, low] => return Err(DecodeError::Encapsulation(high, low)),
        };
        Decoder { body, at: 0, big_endian }.message(ty)
    }

    /// Encodes as little-endian CDR with header, padded to a multiple of 4.
    pub fn to_payload(&self) -> Vec<u8> {
        let mut encoder = Encoder { bytes: vec![0, 1, 0, 0] };
        encoder.message(self);
        encoder.align(4);
        encoder.bytes
    }
}

struct Decoder<'a> {
    body: &'a [u8],
    at: usize,
    big_endian: bool,
}

/// A failure inside a value; the field's name is added where it is known.
enum Failure {
    Truncated,
    Invalid(String),
    Inner(DecodeError),
}

impl Failure {
    fn in_field(self, name: &str) -> DecodeError {
        let join = |inner: String| format!("{name}.{inner}");
        match self {
            Failure::Truncated => DecodeError::Truncated { field: name.to_owned() },
            Failure::Invalid(message) => DecodeError::Invalid { field: name.to_owned(), message },
            Failure::Inner(DecodeError::Truncated { field }) => DecodeError::Truncated { field: join(field) },
            Failure::Inner(DecodeError::Invalid { field, message }) => {
                DecodeError::Invalid { field: join(field), message }
            }
            Failure::Inner(other) => other,
        }
    }
}

impl Decoder<'_> {
    fn message(&mut self, ty: &Arc<MessageType>) -> Result<DynamicMessage, DecodeError> {
        if ty.fields().is_empty() {
            // The placeholder member; its value means nothing.
            self.take(1).map_err(|_| DecodeError::Truncated { field: ty.name().to_owned() })?;
        }
        let mut values = Vec::with_capacity(ty.fields().len());
        for field in ty.fields() {
            values.push(self.field(field.value_type()).map_err(|e| e.in_field(field.name()))?);
        }
        Ok(DynamicMessage::from_values(ty, values))
    }

    fn field(&mut self, ty: &ValueType) -> Result<Value, Failure> {
        let count = match ty.arity {
            Arity::One => return self.element(&ty.element),
            Arity::Array(n) => n as usize,
            Arity::Bounded(_) | Arity::Unbounded => self.u32()? as usize,
        };
        if let Arity::Bounded(bound) = ty.arity
            && count > bound as usize
        {
            return Err(Failure::Invalid(format!("{count} elements, but {ty} allows {bound}")));
        }
        // Nothing is reserved for elements that cannot be there.
        if count > (self.body.len() - self.at) / ty.element.min_size() {
            return Err(Failure::Truncated);
        }
        if ty.packs_into_bytes() {
            return Ok(Value::Bytes(self.take(count)?.to_vec()));
        }
        // A value is larger in memory than on the wire: reserve what the input could pay for, and let real
        // elements earn the rest.
        let affordable = 2 * (self.body.len() - self.at) / size_of::<Value>();
        let mut items = Vec::with_capacity(count.min(affordable));
        for index in 0..count {
            items.push(self.element(&ty.element).map_err(|e| match e {
                Failure::Truncated => Failure::Truncated,
                e => Failure::Inner(e.in_field(&index.to_string())),
            })?);
        }
        Ok(Value::List(items))
    }

    fn element(&mut self, element: &Element) -> Result<Value, Failure> {
        let base = match element {
            Element::Message(ty) => return Ok(Value::Message(self.message(ty).map_err(Failure::Inner)?)),
            Element::Base(base) => base,
        };
        Ok(match base {
            BaseType::Primitive(p) => match p {
                Primitive::Bool => match self.take(1)? {
                    [0] => Value::Bool(false),
                    [1] => Value::Bool(true),
                    other => return Err(Failure::Invalid(format!("{other:?} is not a bool"))),
                },
                Primitive::Byte | Primitive::Char | Primitive::Uint8 => {
                    Value::Uint(self.number::<1>()?[0].into())
                }
                Primitive::Int8 => Value::Int(i8::from_le_bytes(self.number()?).into()),
                Primitive::Int16 => Value::Int(i16::from_le_bytes(self.number()?).into()),
                Primitive::Uint16 => Value::Uint(u16::from_le_bytes(self.number()?).into()),
                Primitive::Int32 => Value::Int(i32::from_le_bytes(self.number()?).into()),
                Primitive::Uint32 => Value::Uint(self.u32()?.into()),
                Primitive::Int64 => Value::Int(i64::from_le_bytes(self.number()?)),
                Primitive::Uint64 => Value::Uint(u64::from_le_bytes(self.number()?)),
                Primitive::Float32 => Value::F32(f32::from_le_bytes(self.number()?)),
                Primitive::Float64 => Value::F64(f64::from_le_bytes(self.number()?)),
            },
            BaseType::String { bound } => Value::String(self.string(*bound)?),
            BaseType::WString { bound } => Value::String(self.wide_string(*bound)?),
            BaseType::Message(name) => return Err(Failure::Invalid(format!("{name} is not resolved"))),
        })
    }

    /// The length counts the NUL at the end; 0 stands for an empty string too.
    fn string(&mut self, bound: Option<u32>) -> Result<String, Failure> {
        let length = self.u32()? as usize;
        let bytes = match self.take(length)? {
            [] => &[],
            [text @ .., 0] => text,
            _ => return Err(Failure::Invalid("the string does not end with NUL".to_owned())),
        };
        check_bound(bytes.len(), bound)?;
        let text =
            std::str::from_utf8(bytes).map_err(|_| Failure::Invalid("the string is not UTF-8".to_owned()))?;
        Ok(text.to_owned())
    }

    /// The length counts UTF-16 units; there is no NUL.
    fn wide_string(&mut self, bound: Option<u32>) -> Result<String, Failure> {
        let length = self.u32()? as usize;
        check_bound(length, bound)?;
        if length > (self.body.len() - self.at) / 2 {
            return Err(Failure::Truncated);
        }
        let big_endian = self.big_endian;
        let units = self.take(2 * length)?.chunks_exact(2).map(|unit| match unit {
            [a, b] if big_endian => u16::from_be_bytes([*a, *b]),
            [a, b] => u16::from_le_bytes([*a, *b]),
            _ => 0,
        });
        char::decode_utf16(units)
            .collect::<Result<String, _>>()
            .map_err(|_| Failure::Invalid("the string is not UTF-16".to_owned()))
    }

    fn u32(&mut self) -> Result<u32, Failure> {
        Ok(u32::from_le_bytes(self.number()?))
    }

    /// The aligned bytes of a number, in little-endian order.
    fn number<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        self.at = self.at.next_multiple_of(N);
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        if self.big_endian {
            bytes.reverse();
        }
        Ok(bytes)
    }

    fn take(&mut self, count: usize) -> Result<&[u8], Failure> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.body.len()).ok_or_else(|| {
            // Alignment may have moved behind the end: later length checks subtract from the end.
            self.at = self.body.len();
            Failure::Truncated
        })?;
        let bytes = &self.body[self.at..end];
        self.at = end;
        Ok(bytes)
    }
}

fn check_bound(length: usize, bound: Option<u32>) -> Result<(), Failure> {
    match bound {
        Some(bound) if length > bound as usize => {
            Err(Failure::Invalid(format!("the string has {length} characters, the bound is {bound}")))
        }
        _ => Ok(()),
    }
}

struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    fn message(&mut self, message: &DynamicMessage) {
        if message.message_type().fields().is_empty() {
            self.bytes.push(0);
        }
        for (field, value) in message.fields() {
            self.field(field.value_type(), value);
        }
    }

    fn field(&mut self, ty: &ValueType, value: &Value) {
        let has_length = matches!(ty.arity, Arity::Bounded(_) | Arity::Unbounded);
        match value {
            Value::Bytes(bytes) => {
                if has_length {
                    self.length(bytes.len());
                }
                self.bytes.extend_from_slice(bytes);
            }
            Value::List(items) => {
                if has_length {
                    self.length(items.len());
                }
                for item in items {
                    self.element(&ty.element, item);
                }
            }
            value => self.element(&ty.element, value),
        }
    }

    fn element(&mut self, element: &Element, value: &Value) {
        let size = element.min_size();
        match value {
            Value::Bool(b) => self.bytes.push(u8::from(*b)),
            // Two's complement: the low bytes are the value in the smaller type.
            Value::Int(i) => self.number(&i.to_le_bytes()[..size.min(8)]),
            Value::Uint(u) => self.number(&u.to_le_bytes()[..size.min(8)]),
            Value::F32(f) => self.number(&f.to_le_bytes()),
            Value::F64(f) => self.number(&f.to_le_bytes()),
            Value::String(text) if matches!(element, Element::Base(BaseType::WString { .. })) => {
                let units: Vec<u16> = text.encode_utf16().collect();
                self.length(units.len());
                self.bytes.extend(units.into_iter().flat_map(u16::to_le_bytes));
            }
            Value::String(text) => {
                self.length(text.len() + 1);
                self.bytes.extend_from_slice(text.as_bytes());
                self.bytes.push(0);
            }
            Value::Message(message) => self.message(message),
            // Lists of lists do not exist in ROS types.
            Value::Bytes(_) | Value::List(_) => {}
        }
    }

    fn length(&mut self, length: usize) {
        self.number(&(length as u32).to_le_bytes());
    }

    fn number(&mut self, little_endian: &[u8]) {
        self.align(little_endian.len());
        self.bytes.extend_from_slice(little_endian);
    }

    fn align(&mut self, to: usize) {
        let padded = HEADER + (self.bytes.len() - HEADER).next_multiple_of(to);
        self.bytes.resize(padded, 0);
    }
}
