//! Messages whose type is known only at run time.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::layout::{MessageType, TypedField, ValueType};
use crate::python;

/// A message of a [`MessageType`]. It always fits its type: it is made by decoding, by reading text that was
/// checked, or with default values.
#[derive(Clone, Debug)]
pub struct DynamicMessage {
    ty: Arc<MessageType>,
    values: Vec<Value>,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `bool`.
    Bool(bool),
    /// Signed integers of every size.
    Int(i64),
    /// Unsigned integers of every size, `byte` and `char`.
    Uint(u64),
    /// `float32`.
    F32(f32),
    /// `float64`.
    F64(f64),
    /// `string` and `wstring`.
    String(String),
    /// Arrays and sequences of `uint8`, `byte` and `char`.
    Bytes(Vec<u8>),
    /// All other arrays and sequences.
    List(Vec<Value>),
    /// Another message.
    Message(DynamicMessage),
}

impl DynamicMessage {
    /// A message with the default values of its definition.
    pub fn new(ty: &Arc<MessageType>) -> Self {
        let values = ty.fields().iter().map(TypedField::default_value).collect();
        Self { ty: Arc::clone(ty), values }
    }

    /// The caller has made one fitting value per field.
    pub(crate) fn from_values(ty: &Arc<MessageType>, values: Vec<Value>) -> Self {
        Self { ty: Arc::clone(ty), values }
    }

    /// Its type.
    pub fn message_type(&self) -> &Arc<MessageType> {
        &self.ty
    }

    /// Fields and their values in the order of the definition.
    pub fn fields(&self) -> impl Iterator<Item = (&TypedField, &Value)> {
        self.ty.fields().iter().zip(&self.values)
    }

    /// The value at a path such as `header.stamp.sec` or `points.0.x`; nothing if there is none. Elements of
    /// [`Value::Bytes`] cannot be addressed.
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.typed(path).map(|(_, value)| value)
    }

    /// What [`get`](Self::get) finds, as Python's `str` shows it and `ros2 topic echo --field` prints it.
    pub fn get_python(&self, path: &str) -> Option<String> {
        self.typed(path).map(|(ty, value)| python::field(&ty, value))
    }

    fn typed(&self, path: &str) -> Option<(ValueType, &Value)> {
        let mut parts = path.split('.');
        let (mut ty, mut current) = self.field(parts.next()?)?;
        for part in parts {
            (ty, current) = match current {
                Value::Message(message) => message.field(part)?,
                Value::List(items) => (ty.one(), items.get(part.parse::<usize>().ok()?)?),
                _ => return None,
            };
        }
        Some((ty, current))
    }

    fn field(&self, name: &str) -> Option<(ValueType, &Value)> {
        let (field, value) = self.fields().find(|(field, _)| field.name() == name)?;
        Some((field.value_type().clone(), value))
    }

    /// The message as Python's `repr` shows it: `std_msgs.msg.String(data='hi')`.
    pub fn to_python(&self) -> String {
        let mut out = String::new();
        python::message(self, &mut out);
        out
    }
}

impl PartialEq for DynamicMessage {
    fn eq(&self, other: &Self) -> bool {
        self.ty.name() == other.ty.name() && self.values == other.values
    }
}

/// A map of the fields; floats that are not finite become the strings `NaN`, `Infinity` and `-Infinity`, because
/// JSON has no numbers for them.
impl Serialize for DynamicMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.values.len()))?;
        for (field, value) in self.fields() {
            map.serialize_entry(field.name(), value)?;
        }
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Bool(b) => serializer.serialize_bool(*b),
            Value::Int(i) => serializer.serialize_i64(*i),
            Value::Uint(u) => serializer.serialize_u64(*u),
            // Widened, so that the same digits appear as in `ros2 topic echo`.
            Value::F32(f) => serialize_float(f64::from(*f), serializer),
            Value::F64(f) => serialize_float(*f, serializer),
            Value::String(s) => serializer.serialize_str(s),
            Value::Bytes(bytes) => serializer.collect_seq(bytes),
            Value::List(items) => serializer.collect_seq(items),
            Value::Message(message) => message.serialize(serializer),
        }
    }
}

fn serialize_float<S: Serializer>(value: f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(value)
    } else if value.is_nan() {
        serializer.serialize_str("NaN")
    } else {
        serializer.serialize_str(if value > 0.0 { "Infinity" } else { "-Infinity" })
    }
}
