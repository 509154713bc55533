//! Definitions as Rust types: the text that `rosless_wire`'s macros turn into what is written by hand for `idl/`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::definition::{
    Arity, BaseType, Constant, Definition, Field, FieldType, Kind, Literal, Primitive, Structure,
};
use crate::parse::ParseError;
use crate::registry::{Registry, SchemaError};

/// Arrays up to this length have a default value and a serde form of their own.
const SHORT_ARRAY: u32 = 32;

/// Most bytes of a structure without its sequences and strings: values are moved over the stack, several at a time.
const LARGEST: usize = 128 << 10;

/// The services and messages an action implies: name in the trait `Action`, suffix of the type.
const IMPLIED: [(&str, &str); 9] = [
    ("SEND_GOAL", "_SendGoal"),
    ("SEND_GOAL_REQUEST", "_SendGoal_Request"),
    ("SEND_GOAL_RESPONSE", "_SendGoal_Response"),
    ("SEND_GOAL_EVENT", "_SendGoal_Event"),
    ("GET_RESULT", "_GetResult"),
    ("GET_RESULT_REQUEST", "_GetResult_Request"),
    ("GET_RESULT_RESPONSE", "_GetResult_Response"),
    ("GET_RESULT_EVENT", "_GetResult_Event"),
    ("FEEDBACK_MESSAGE", "_FeedbackMessage"),
];

/// Words of Rust.
const KEYWORDS: &str = " abstract as async await become box break const continue crate do dyn else enum extern false final \
    fn for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true \
    try type typeof unsafe unsized use virtual where while yield ";

/// Whether Rust keeps this word for itself.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.split(' ').any(|keyword| keyword == word)
}

/// Writes Rust modules (`pub mod package { pub mod msg { … } }`) with the types of all `own` definitions. Types of other
/// packages are those of `rosless_wire`.
///
/// # Errors
/// A definition that does not parse, contains a type nobody knows, or has no Rust form.
pub fn generate(own: &Registry) -> Result<String, SchemaError> {
    let mut all = Registry::embedded();
    all.add_registry(own);
    let generator = Generator { own, all: &all };
    let mut packages: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for name in own.names() {
        let [package, kind, _] = name.split('/').collect::<Vec<_>>()[..] else { continue };
        packages.entry(package).or_default().entry(kind).or_default().push(name);
    }
    let mut out = String::from("// Made from interface definitions by rosless_schema.\n");
    for (package, kinds) in packages {
        generator.package(&mut out, package, &kinds)?;
    }
    Ok(out)
}

struct Generator<'a> {
    own: &'a Registry,
    all: &'a Registry,
}

impl Generator<'_> {
    fn package(
        &self,
        out: &mut String,
        package: &str,
        kinds: &BTreeMap<&str, Vec<&str>>,
    ) -> Result<(), SchemaError> {
        push(out, 0, format_args!("#[doc = \"Types of the package `{package}`.\"]"));
        // A program may use some of them only.
        push(
            out,
            0,
            format_args!("#[allow(dead_code, unreachable_pub, unused_qualifications, clippy::all)]"),
        );
        let module = identifier(package).map_err(|message| invalid(package, None, message))?;
        push(out, 0, format_args!("pub mod {module} {{"));
        push(out, 1, format_args!("/// The definitions, told to whoever asks a node for its types."));
        push(out, 1, format_args!("pub const DEFINITIONS: ::rosless_wire::Definitions = &["));
        for name in self.known_with(package)? {
            if let Some((_, text)) = self.own.source(&name) {
                push(out, 2, format_args!("({name:?}, {text:?}),"));
            }
        }
        push(out, 1, format_args!("];"));
        for (kind, names) in kinds {
            self.check_names(names)?;
            let macro_name = match Kind::from_str(kind) {
                Some(Kind::Srv) => "services",
                Some(Kind::Action) => "actions",
                _ => "messages",
            };
            push(out, 1, format_args!("#[doc = \"Of the folder `{kind}`.\"]"));
            push(out, 1, format_args!("pub mod {kind} {{"));
            push(
                out,
                2,
                format_args!(
                    "::rosless_wire::macros::{macro_name}! {{ [super::DEFINITIONS] \"{package}/{kind}/\";"
                ),
            );
            for name in names {
                self.definition(out, name)?;
            }
            push(out, 2, format_args!("}}"));
            push(out, 1, format_args!("}}"));
        }
        push(out, 0, format_args!("}}"));
        Ok(())
    }

    /// The own definitions of a package and all own ones they contain.
    fn known_with(&self, package: &str) -> Result<Vec<String>, SchemaError> {
        let of_package = |name: &&str| name.split('/').next() == Some(package);
        let mut pending: Vec<String> =
            self.own.names().into_iter().filter(of_package).map(str::to_owned).collect();
        let mut known = std::collections::BTreeSet::new();
        while let Some(name) = pending.pop() {
            if !known.insert(name.clone()) {
                continue;
            }
            for structure in self.all.definition(&name)?.structures() {
                for field in &self.all.structure(&structure.name)?.fields {
                    if let BaseType::Message(nested) = &field.ty.base
                        && self.own.source(nested).is_some()
                    {
                        pending.push(nested.clone());
                    }
                }
            }
        }
        Ok(known.into_iter().collect())
    }

    fn definition(&self, out: &mut String, name: &str) -> Result<(), SchemaError> {
        let definition = self.all.definition(name)?;
        let short = identifier(name.rsplit('/').next().unwrap_or(name))
            .map_err(|message| invalid(name, None, message))?;
        let text = self.own.source(name).map_or("", |(_, text)| text);
        push(out, 3, format_args!("#[doc = {:?}]", format!("`{name}`:\n\n```text\n{text}\n```")));
        let hash = |suffix: &str| self.all.type_hash(&format!("{name}{suffix}"));
        match definition {
            Definition::Message(_) => {
                self.structure(out, 3, &format!("struct {short}"), name)?;
            }
            Definition::Service { .. } => {
                push(out, 3, format_args!("service {short} = {:?} {{", hash("")?));
                for (part, suffix) in [("request", "Request"), ("response", "Response")] {
                    self.structure(out, 4, &format!("{part} {short}{suffix}"), &format!("{name}_{suffix}"))?;
                }
                push(out, 4, format_args!("event = {:?}", hash("_Event")?));
                push(out, 3, format_args!("}}"));
            }
            Definition::Action { .. } => {
                push(out, 3, format_args!("action {short} = {:?} {{", hash("")?));
                for (part, suffix) in [("goal", "Goal"), ("result", "Result"), ("feedback", "Feedback")] {
                    self.structure(out, 4, &format!("{part} {short}{suffix}"), &format!("{name}_{suffix}"))?;
                }
                push(out, 4, format_args!("implied {{"));
                for (constant, suffix) in IMPLIED {
                    push(out, 5, format_args!("{constant} {suffix:?} = {:?}", hash(suffix)?));
                }
                push(out, 4, format_args!("}}"));
                push(out, 3, format_args!("}}"));
            }
        }
        Ok(())
    }

    /// Rust has one name for each part of a service or action, which another definition may have as well.
    fn check_names(&self, names: &[&str]) -> Result<(), SchemaError> {
        let mut taken = BTreeMap::new();
        for name in names {
            let short = name.rsplit('/').next().unwrap_or(name);
            let parts: &[&str] = match self.all.definition(name)? {
                Definition::Message(_) => &[""],
                Definition::Service { .. } => &["", "Request", "Response"],
                Definition::Action { .. } => &["", "Goal", "Result", "Feedback"],
            };
            for part in parts {
                let rust = format!("{short}{part}");
                if let Some(other) = taken.insert(rust.clone(), name) {
                    let message =
                        format!("the Rust type '{rust}' is that of {other}, too; rename one of them");
                    return Err(self.error_at(name, 1, message));
                }
            }
        }
        Ok(())
    }

    fn error_at(&self, name: &str, line: usize, message: String) -> SchemaError {
        let file = self.all.path(name).unwrap_or(name).to_owned();
        ParseError { file, line, column: 1, message }.into()
    }

    /// The same with the line to look at: that of the field that it speaks of, or of the first that brings it.
    fn located(&self, structure: &Structure, error: SchemaError) -> SchemaError {
        let (wrong, field, message) = match &error {
            SchemaError::Invalid { name, field, message } if *name == structure.name => {
                (name, field.as_deref(), message.clone())
            }
            SchemaError::Invalid { name, .. } | SchemaError::Missing { name, .. } => {
                (name, None, error.to_string())
            }
            SchemaError::Unknown { name, suggestion } => {
                let needed_by = structure.name.clone();
                let meant =
                    suggestion.as_ref().map(|name| format!("; did you mean '{name}'?")).unwrap_or_default();
                (name, None, format!("{}{meant}", SchemaError::Missing { name: name.clone(), needed_by }))
            }
            SchemaError::Parse(_) | SchemaError::File { .. } => return error,
        };
        let has = |field: &&Field, is_it: &dyn Fn(&str) -> bool| match &field.ty.base {
            BaseType::Message(nested) => is_it(nested),
            _ => false,
        };
        let first = |is_it: &dyn Fn(&str) -> bool| structure.fields.iter().find(|field| has(field, is_it));
        let brings = || {
            first(&|nested| nested == wrong)
                .or_else(|| first(&|nested| self.all.message_type(nested).is_err()))
        };
        let field = field.or_else(|| Some(brings()?.name.as_str()));
        let (name, suffix) = file_of(&structure.name);
        let text = self.own.source(name).map_or("", |(_, text)| text);
        let line = field.and_then(|field| line_of(text, suffix, field)).unwrap_or(1);
        self.error_at(name, line, message)
    }

    /// `head = "hash" { fields } const { constants }`
    fn structure(&self, out: &mut String, depth: usize, head: &str, name: &str) -> Result<(), SchemaError> {
        let structure = self.all.structure(name)?;
        let size = self.all.message_type(name).map_err(|error| self.located(&structure, error))?.min_size();
        if size > LARGEST {
            let largest = structure.fields.iter().max_by_key(|field| match field.ty.arity {
                Arity::Array(n) => n,
                _ => 1,
            });
            let field = largest.map(|field| field.name.as_str()).unwrap_or_default();
            let message =
                format!("field '{field}' makes every value larger than {LARGEST} bytes; use a sequence");
            return Err(self.located(&structure, invalid(name, Some(field), message)));
        }
        push(out, depth, format_args!("{head} = {:?} {{", self.all.type_hash(name)?));
        for field in &structure.fields {
            self.field(out, depth + 1, &structure, field).map_err(|error| self.located(&structure, error))?;
        }
        if structure.constants.is_empty() {
            push(out, depth, format_args!("}}"));
        } else {
            push(out, depth, format_args!("}} const {{"));
            for constant in &structure.constants {
                let (ty, value) = constant_text(constant);
                push(out, depth + 1, format_args!("{}: {ty} = {value},", constant.name));
            }
            push(out, depth, format_args!("}}"));
        }
        Ok(())
    }

    fn field(
        &self,
        out: &mut String,
        depth: usize,
        structure: &Structure,
        Field { name, ty, default }: &Field,
    ) -> Result<(), SchemaError> {
        let element = self.element(&ty.base, structure, name)?;
        let rust = match ty.arity {
            Arity::One => element,
            Arity::Array(n) => format!("[{element}; {n}]"),
            Arity::Bounded(n) => format!("::rosless_wire::cdr::BoundedVec<{element}, {n}>"),
            Arity::Unbounded => format!("::std::vec::Vec<{element}>"),
        };
        let default = match (default, ty.arity) {
            (Some(literal), _) => format!(" = {}", default_text(ty, literal)),
            (None, Arity::Array(n)) if n > SHORT_ARRAY => {
                " = ::std::array::from_fn(|_| ::std::default::Default::default())".to_owned()
            }
            (None, _) => String::new(),
        };
        if matches!(ty.arity, Arity::Array(n) if n > SHORT_ARRAY) {
            push(out, depth, format_args!("#[serde(with = \"rosless_wire::cdr::array\")]"));
        }
        let name = identifier(name).map_err(|message| invalid(&structure.name, Some(name), message))?;
        push(out, depth, format_args!("{name}: {rust}{default},"));
        Ok(())
    }

    fn element(&self, base: &BaseType, structure: &Structure, field: &str) -> Result<String, SchemaError> {
        Ok(match base {
            BaseType::Primitive(primitive) => primitive_name(*primitive).to_owned(),
            BaseType::String { bound: None } => "::std::string::String".to_owned(),
            BaseType::String { bound: Some(bound) } => format!("::rosless_wire::cdr::BoundedString<{bound}>"),
            BaseType::WString { .. } => {
                let message = format!(
                    "field '{field}' is a wstring, whose bytes ROS middlewares do not agree on; use string, which holds \
                     UTF-8"
                );
                return Err(invalid(&structure.name, Some(field), message));
            }
            BaseType::Message(nested) => {
                let parts: Result<Vec<_>, _> = nested.split('/').map(identifier).collect();
                let path = parts.map_err(|message| invalid(nested, None, message))?.join("::");
                if self.own.source(nested).is_some() {
                    format!("super::super::{path}")
                } else if self.all.message_type(nested).is_ok() {
                    format!("::rosless_wire::{path}")
                } else {
                    return Err(SchemaError::Missing {
                        name: nested.clone(),
                        needed_by: structure.name.clone(),
                    });
                }
            }
        })
    }
}

/// The definition that a structure is part of, and which part.
fn file_of(structure: &str) -> (&str, &str) {
    let start = structure.rfind('/').map_or(0, |slash| slash + 1);
    let end = structure[start..].find('_').map_or(structure.len(), |at| start + at);
    structure.split_at(end)
}

/// The line of a field in its part of a definition.
fn line_of(text: &str, part: &str, field: &str) -> Option<usize> {
    let section = match part {
        "_Response" | "_Result" => 1,
        "_Feedback" => 2,
        _ => 0,
    };
    let mut separators = 0;
    let names_it = |line: &str| {
        let name = line.split_whitespace().nth(1)?;
        name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().map(|name| name == field)
    };
    text.lines()
        .position(|line| {
            separators += usize::from(line.trim_end() == "---");
            separators == section && names_it(line) == Some(true)
        })
        .map(|index| index + 1)
}

fn push(out: &mut String, depth: usize, line: std::fmt::Arguments<'_>) {
    // Into memory: it cannot fail.
    let _ = writeln!(out, "{:1$}{line}", "", 4 * depth);
}

fn invalid(name: &str, field: Option<&str>, message: String) -> SchemaError {
    SchemaError::Invalid { name: name.to_owned(), field: field.map(str::to_owned), message }
}

/// A name of a definition as Rust writes it, or why that cannot be.
fn identifier(name: &str) -> Result<String, String> {
    match name {
        "self" | "super" | "crate" | "Self" => {
            Err(format!("'{name}' cannot be a name in Rust; choose another"))
        }
        _ if is_keyword(name) => Ok(format!("r#{name}")),
        _ => Ok(name.to_owned()),
    }
}

fn primitive_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "bool",
        Primitive::Byte | Primitive::Char | Primitive::Uint8 => "u8",
        Primitive::Int8 => "i8",
        Primitive::Uint16 => "u16",
        Primitive::Int16 => "i16",
        Primitive::Uint32 => "u32",
        Primitive::Int32 => "i32",
        Primitive::Uint64 => "u64",
        Primitive::Int64 => "i64",
        Primitive::Float32 => "f32",
        Primitive::Float64 => "f64",
    }
}

fn constant_text(constant: &Constant) -> (&'static str, String) {
    match &constant.ty {
        BaseType::Primitive(primitive) => {
            (primitive_name(*primitive), literal_text(&constant.ty, &constant.value))
        }
        // A constant cannot be made on the heap.
        _ => match &constant.value {
            Literal::String(text) => ("&'static str", format!("{text:?}")),
            _ => ("&'static str", "\"\"".to_owned()),
        },
    }
}

fn default_text(ty: &FieldType, literal: &Literal) -> String {
    let Literal::List(items) = literal else { return literal_text(&ty.base, literal) };
    let items: Vec<_> = items.iter().map(|item| literal_text(&ty.base, item)).collect();
    let items = items.join(", ");
    match ty.arity {
        Arity::Bounded(_) => {
            format!(
                "::rosless_wire::cdr::BoundedVec::try_from(::std::vec![{items}]).expect(\"the definition was checked\")"
            )
        }
        Arity::Unbounded => format!("::std::vec![{items}]"),
        _ => format!("[{items}]"),
    }
}

fn literal_text(ty: &BaseType, literal: &Literal) -> String {
    match (ty, literal) {
        (BaseType::Primitive(primitive), Literal::Float(value)) => float_text(*primitive, *value),
        (BaseType::Primitive(primitive @ (Primitive::Float32 | Primitive::Float64)), Literal::Int(value)) => {
            float_text(*primitive, *value as f64)
        }
        (BaseType::String { bound: Some(_) }, Literal::String(text)) => {
            format!(
                "::rosless_wire::cdr::BoundedString::try_from({text:?}).expect(\"the definition was checked\")"
            )
        }
        (_, Literal::String(text)) => format!("::std::string::String::from({text:?})"),
        (_, Literal::Bool(value)) => value.to_string(),
        (_, Literal::Int(value)) => value.to_string(),
        (_, Literal::Float(value)) => format!("{value:?}"),
        (_, Literal::List(_)) => "::std::default::Default::default()".to_owned(),
    }
}

fn float_text(primitive: Primitive, value: f64) -> String {
    let ty = primitive_name(primitive);
    match value {
        _ if value.is_nan() => format!("{ty}::NAN"),
        f64::INFINITY => format!("{ty}::INFINITY"),
        f64::NEG_INFINITY => format!("{ty}::NEG_INFINITY"),
        // Written with all its digits and read by the compiler as the nearest number of that type.
        _ => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::Source;

    fn made(text: &str) -> Result<String, String> {
        let mut own = Registry::new();
        let source = Source { kind: Kind::Msg, package: "own_msgs", name: "Own", file: "msg/Own.msg", text };
        own.add_source(source);
        generate(&own).map_err(|error| error.to_string())
    }

    #[test]
    fn types_of_other_packages_are_those_of_wire() {
        let text = made("Header header\ngeometry_msgs/Point[] points\nint8 type -1\n").unwrap();
        assert!(text.contains("header: ::rosless_wire::std_msgs::msg::Header,"), "{text}");
        assert!(
            text.contains("points: ::std::vec::Vec<::rosless_wire::geometry_msgs::msg::Point>,"),
            "{text}"
        );
        assert!(text.contains("r#type: i8 = -1,"), "{text}");
    }

    #[test]
    fn what_has_no_rust_form_is_refused_with_the_reason() {
        for (text, reason) in [
            ("# why\nwstring text\n", "msg/Own.msg:2:1: field 'text' is a wstring"),
            ("int8 self\n", "msg/Own.msg:1:1: 'self' cannot be a name in Rust"),
            (
                "int8 a\nother_msgs/Thing thing\n",
                "msg/Own.msg:2:1: 'other_msgs/msg/Thing', which own_msgs/msg/Own contains, is not known",
            ),
            ("int8\n", "msg/Own.msg:1:"),
            ("int8 a\nOwn[] more\n", "msg/Own.msg:2:1: the type contains itself"),
            ("int8 a\nuint8[4294967295] all\n", "msg/Own.msg:2:1: field 'all' makes every message larger"),
            (
                "int8 a\nint8 b\nstring[40000] texts # many\n",
                "msg/Own.msg:3:1: field 'texts' makes every value larger",
            ),
        ] {
            let error = made(text).unwrap_err();
            assert!(error.starts_with("msg/Own.msg:") && error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn what_two_definitions_cannot_be_in_rust_at_a_time_is_refused_where_it_stands() {
        let of = |definitions: &[(Kind, &str, &str)]| {
            let mut own = Registry::new();
            for (kind, name, text) in definitions {
                let file = &format!("{}/{name}", kind.as_str());
                own.add_source(Source { kind: *kind, package: "own_msgs", name, file, text });
            }
            generate(&own).unwrap_err().to_string()
        };
        let error = of(&[(Kind::Srv, "Get", "---\n"), (Kind::Srv, "GetRequest", "---\n")]);
        assert_eq!(
            error,
            "srv/GetRequest:1:1: the Rust type 'GetRequest' is that of own_msgs/srv/Get, too; rename one of them"
        );
        // The second of two fields of that name, in a type that comes back to itself by another one.
        let error = of(&[
            (Kind::Srv, "Get", "int8 a\n---\n\nA a\n"),
            (Kind::Msg, "A", "B b"),
            (Kind::Msg, "B", "int8 c\nA a"),
        ]);
        assert_eq!(error, "msg/A:1:1: the type contains itself; use an id or a sequence of another type");
        // What is wrong is called like the beginning of what is not.
        let error = of(&[(Kind::Msg, "Own", "O o\nother_msgs/Thing thing\n"), (Kind::Msg, "O", "int8 a\n")]);
        assert!(error.starts_with("msg/Own:2:1: 'other_msgs/msg/Thing', which"), "{error}");
    }
}
