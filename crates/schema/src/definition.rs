//! What a `.msg`, `.srv` or `.action` file says, and the structures rosidl implies from it.

use std::fmt;

/// The three kinds of interface; also the folder and the extension of their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A message.
    Msg,
    /// A service: request and response.
    Srv,
    /// An action: goal, result and feedback.
    Action,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Msg, Kind::Srv, Kind::Action];

    /// `msg`, `srv` or `action`.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Msg => "msg",
            Kind::Srv => "srv",
            Kind::Action => "action",
        }
    }

    pub(crate) fn from_str(text: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.as_str() == text)
    }
}

/// Types of a fixed size. `char` is an unsigned 8-bit number and `byte` an octet, as in rosidl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// `bool`
    Bool,
    /// `byte`
    Byte,
    /// `char`
    Char,
    /// `int8`
    Int8,
    /// `uint8`
    Uint8,
    /// `int16`
    Int16,
    /// `uint16`
    Uint16,
    /// `int32`
    Int32,
    /// `uint32`
    Uint32,
    /// `int64`
    Int64,
    /// `uint64`
    Uint64,
    /// `float32`
    Float32,
    /// `float64`
    Float64,
}

/// Every primitive with its name in definition files and its `type_id` in type descriptions.
const PRIMITIVES: [(Primitive, &str, u8); 13] = [
    (Primitive::Bool, "bool", 15),
    (Primitive::Byte, "byte", 16),
    // Before char: rosidl writes `char` as uint8, so that reading the id back must find uint8.
    (Primitive::Uint8, "uint8", 3),
    (Primitive::Char, "char", 3),
    (Primitive::Int8, "int8", 2),
    (Primitive::Int16, "int16", 4),
    (Primitive::Uint16, "uint16", 5),
    (Primitive::Int32, "int32", 6),
    (Primitive::Uint32, "uint32", 7),
    (Primitive::Int64, "int64", 8),
    (Primitive::Uint64, "uint64", 9),
    (Primitive::Float32, "float32", 10),
    (Primitive::Float64, "float64", 11),
];

impl Primitive {
    /// The name in definition files.
    pub fn name(self) -> &'static str {
        PRIMITIVES.iter().find(|p| p.0 == self).map_or("", |p| p.1)
    }

    pub(crate) fn from_name(name: &str) -> Option<Primitive> {
        PRIMITIVES.iter().find(|p| p.1 == name).map(|p| p.0)
    }

    pub(crate) fn type_id(self) -> u8 {
        PRIMITIVES.iter().find(|p| p.0 == self).map_or(0, |p| p.2)
    }

    pub(crate) fn from_type_id(id: u8) -> Option<Primitive> {
        PRIMITIVES.iter().find(|p| p.2 == id).map(|p| p.0)
    }

    /// Size on the wire in bytes, also its alignment.
    pub fn size(self) -> usize {
        use Primitive::*;
        match self {
            Bool | Byte | Char | Int8 | Uint8 => 1,
            Int16 | Uint16 => 2,
            Int32 | Uint32 | Float32 => 4,
            Int64 | Uint64 | Float64 => 8,
        }
    }

    /// The smallest and greatest value of an integer type.
    pub(crate) fn range(self) -> Option<(i128, i128)> {
        use Primitive::*;
        let bits = 8 * self.size() as u32;
        match self {
            Byte | Char | Uint8 | Uint16 | Uint32 | Uint64 => Some((0, (1 << bits) - 1)),
            Int8 | Int16 | Int32 | Int64 => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            Bool | Float32 | Float64 => None,
        }
    }
}

/// The type of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseType {
    /// A number or a truth value.
    Primitive(Primitive),
    /// UTF-8 text of at most `bound` bytes.
    String {
        /// `None` for text of any length.
        bound: Option<u32>,
    },
    /// UTF-16 text of at most `bound` units.
    WString {
        /// `None` for text of any length.
        bound: Option<u32>,
    },
    /// Another structure by its full name, such as `std_msgs/msg/Header`.
    Message(String),
}

impl fmt::Display for BaseType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BaseType::Primitive(p) => f.write_str(p.name()),
            BaseType::String { bound } => write_bounded(f, "string", *bound),
            BaseType::WString { bound } => write_bounded(f, "wstring", *bound),
            BaseType::Message(name) => f.write_str(name),
        }
    }
}

fn write_bounded(f: &mut fmt::Formatter<'_>, name: &str, bound: Option<u32>) -> fmt::Result {
    match bound {
        Some(bound) => write!(f, "{name}<={bound}"),
        None => f.write_str(name),
    }
}

/// How many elements a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// One element: no array.
    One,
    /// `[N]`
    Array(u32),
    /// `[<=N]`
    Bounded(u32),
    /// `[]`
    Unbounded,
}

impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arity::One => Ok(()),
            Arity::Array(n) => write!(f, "[{n}]"),
            Arity::Bounded(n) => write!(f, "[<={n}]"),
            Arity::Unbounded => f.write_str("[]"),
        }
    }
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldType {
    /// Of what.
    pub base: BaseType,
    /// How many.
    pub arity: Arity,
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.base, self.arity)
    }
}

/// A value written in a definition file; already checked against its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A truth value.
    Bool(bool),
    /// An integer of any size.
    Int(i128),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    String(String),
    /// What an array holds.
    List(Vec<Literal>),
}

/// A field of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// As the file has it.
    pub name: String,
    /// What it holds.
    pub ty: FieldType,
    /// What it holds unless it is set; zero, empty or false when the file does not say.
    pub default: Option<Literal>,
}

/// A constant of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// As the file has it.
    pub name: String,
    /// What it is.
    pub ty: BaseType,
    /// Its value.
    pub value: Literal,
}

/// One structure: a message, or a part of a service or action.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// `pkg/msg/Type`, `pkg/srv/Type_Request`, …
    pub name: String,
    /// In the order of the file, which is that of the wire.
    pub fields: Vec<Field>,
    /// In the order of the file.
    pub constants: Vec<Constant>,
}

/// A parsed file.
#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    /// Of a `.msg` file.
    Message(Structure),
    /// Of a `.srv` file.
    Service {
        /// `pkg/srv/Type`.
        name: String,
        /// What is asked.
        request: Structure,
        /// What is answered.
        response: Structure,
    },
    /// Of an `.action` file.
    Action {
        /// `pkg/action/Type`.
        name: String,
        /// What is wanted.
        goal: Structure,
        /// What came of it.
        result: Structure,
        /// How it gets on.
        feedback: Structure,
    },
}

impl Definition {
    /// `pkg/msg/Type`, `pkg/srv/Type` or `pkg/action/Type`.
    pub fn name(&self) -> &str {
        match self {
            Definition::Message(m) => &m.name,
            Definition::Service { name, .. } | Definition::Action { name, .. } => name,
        }
    }

    /// Every structure that exists because of this file. For a service: the service itself (whose fields are
    /// its parts, as rosidl describes it), request, response and event; for an action its six parts, two
    /// services and the action itself.
    pub fn structures(&self) -> Vec<Structure> {
        match self {
            Definition::Message(m) => vec![m.clone()],
            Definition::Service { name, request, response } => {
                service(name, request.clone(), response.clone())
            }
            Definition::Action { name, goal, result, feedback } => {
                let part = |suffix: &str| format!("{name}_{suffix}");
                let id = || field("goal_id", nested("unique_identifier_msgs/msg/UUID"));
                let stamp = nested("builtin_interfaces/msg/Time");
                let primitive = |p| FieldType { base: BaseType::Primitive(p), arity: Arity::One };

                let mut all = vec![
                    structure(
                        name.clone(),
                        vec![
                            field("goal", nested(&goal.name)),
                            field("result", nested(&result.name)),
                            field("feedback", nested(&feedback.name)),
                            field("send_goal_service", nested(&part("SendGoal"))),
                            field("get_result_service", nested(&part("GetResult"))),
                            field("feedback_message", nested(&part("FeedbackMessage"))),
                        ],
                    ),
                    goal.clone(),
                    result.clone(),
                    feedback.clone(),
                    structure(part("FeedbackMessage"), vec![id(), field("feedback", nested(&feedback.name))]),
                ];
                all.extend(service(
                    &part("SendGoal"),
                    structure(part("SendGoal_Request"), vec![id(), field("goal", nested(&goal.name))]),
                    structure(
                        part("SendGoal_Response"),
                        vec![field("accepted", primitive(Primitive::Bool)), field("stamp", stamp)],
                    ),
                ));
                all.extend(service(
                    &part("GetResult"),
                    structure(part("GetResult_Request"), vec![id()]),
                    structure(
                        part("GetResult_Response"),
                        vec![
                            field("status", primitive(Primitive::Int8)),
                            field("result", nested(&result.name)),
                        ],
                    ),
                ));
                all
            }
        }
    }
}

fn service(name: &str, request: Structure, response: Structure) -> Vec<Structure> {
    let event = format!("{name}_Event");
    let at_most_one = |name: &str| FieldType { arity: Arity::Bounded(1), ..nested(name) };
    vec![
        structure(
            name.to_owned(),
            vec![
                field("request_message", nested(&request.name)),
                field("response_message", nested(&response.name)),
                field("event_message", nested(&event)),
            ],
        ),
        structure(
            event,
            vec![
                field("info", nested("service_msgs/msg/ServiceEventInfo")),
                field("request", at_most_one(&request.name)),
                field("response", at_most_one(&response.name)),
            ],
        ),
        request,
        response,
    ]
}

fn structure(name: String, fields: Vec<Field>) -> Structure {
    Structure { name, fields, constants: Vec::new() }
}

fn field(name: &str, ty: FieldType) -> Field {
    Field { name: name.to_owned(), ty, default: None }
}

fn nested(name: &str) -> FieldType {
    FieldType { base: BaseType::Message(name.to_owned()), arity: Arity::One }
}
