//! The ten kinds of parameter value.

use std::fmt;

/// The type of a parameter, numbered as in `rcl_interfaces/msg/ParameterType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
#[expect(missing_docs, reason = "named as in the message")]
pub enum ParameterType {
    #[default]
    NotSet = 0,
    Bool = 1,
    Integer = 2,
    Double = 3,
    String = 4,
    ByteArray = 5,
    BoolArray = 6,
    IntegerArray = 7,
    DoubleArray = 8,
    StringArray = 9,
}

impl ParameterType {
    /// The number on the wire.
    pub fn id(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for ParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSet => "not set",
            Self::Bool => "bool",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::String => "string",
            Self::ByteArray => "byte_array",
            Self::BoolArray => "bool_array",
            Self::IntegerArray => "integer_array",
            Self::DoubleArray => "double_array",
            Self::StringArray => "string_array",
        })
    }
}

/// A parameter's value; its type is what is stored in it.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(missing_docs, reason = "named as the types are")]
pub enum ParameterValue {
    #[default]
    NotSet,
    Bool(bool),
    Integer(i64),
    Double(f64),
    String(String),
    ByteArray(Vec<u8>),
    BoolArray(Vec<bool>),
    IntegerArray(Vec<i64>),
    DoubleArray(Vec<f64>),
    StringArray(Vec<String>),
}

impl ParameterValue {
    /// Its type.
    pub fn kind(&self) -> ParameterType {
        match self {
            Self::NotSet => ParameterType::NotSet,
            Self::Bool(_) => ParameterType::Bool,
            Self::Integer(_) => ParameterType::Integer,
            Self::Double(_) => ParameterType::Double,
            Self::String(_) => ParameterType::String,
            Self::ByteArray(_) => ParameterType::ByteArray,
            Self::BoolArray(_) => ParameterType::BoolArray,
            Self::IntegerArray(_) => ParameterType::IntegerArray,
            Self::DoubleArray(_) => ParameterType::DoubleArray,
            Self::StringArray(_) => ParameterType::StringArray,
        }
    }
}

/// The value alone, for people.
impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSet => f.write_str("not set"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value}"),
            Self::String(value) => write!(f, "{value:?}"),
            Self::ByteArray(values) => write!(f, "{values:?}"),
            Self::BoolArray(values) => write!(f, "{values:?}"),
            Self::IntegerArray(values) => write!(f, "{values:?}"),
            Self::DoubleArray(values) => write!(f, "{values:?}"),
            Self::StringArray(values) => write!(f, "{values:?}"),
        }
    }
}

/// A Rust type that a parameter can be declared with and read as.
pub trait ParameterKind: Sized {
    /// What a parameter of it is declared as.
    const TYPE: ParameterType;
    /// For the wire, and for those who do not know the type.
    fn into_value(self) -> ParameterValue;
    /// The value, when it is of this type.
    fn from_value(value: &ParameterValue) -> Option<Self>;
}

macro_rules! kinds {
    ($($rust:ty => $variant:ident),* $(,)?) => {$(
        impl ParameterKind for $rust {
            const TYPE: ParameterType = ParameterType::$variant;
            fn into_value(self) -> ParameterValue {
                ParameterValue::$variant(self)
            }
            fn from_value(value: &ParameterValue) -> Option<Self> {
                match value {
                    ParameterValue::$variant(v) => Some(v.clone()),
                    _ => None,
                }
            }
        }
        impl From<$rust> for ParameterValue {
            fn from(value: $rust) -> Self {
                value.into_value()
            }
        }
    )*};
}
kinds! {
    bool => Bool,
    i64 => Integer,
    f64 => Double,
    String => String,
    Vec<u8> => ByteArray,
    Vec<bool> => BoolArray,
    Vec<i64> => IntegerArray,
    Vec<f64> => DoubleArray,
    Vec<String> => StringArray,
}

impl From<&str> for ParameterValue {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}
