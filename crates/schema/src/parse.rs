//! The parser of `.msg`, `.srv` and `.action` files.
//!
//! It accepts what rosidl accepts and is stricter only where rosidl would silently change a value (a quoted
//! string that holds `#` or `=`, a quote that never closes).

use std::collections::HashSet;

use thiserror::Error;

use crate::definition::{
    Arity, BaseType, Constant, Definition, Field, FieldType, Kind, Literal, Primitive, Structure,
};

/// Longest definition file read; the longest real ones have a few hundred lines.
pub(crate) const MAX_TEXT: usize = 1 << 20;

const SEPARATOR: &str = "---";

/// No sentence of ours is longer; words of the file that it quotes may be.
const LONGEST_MESSAGE: usize = 400;

/// What is wrong in a definition file, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ParseError {
    /// As the caller named it.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// The text of one definition, and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Message, service or action.
    pub kind: Kind,
    /// The package it belongs to.
    pub package: &'a str,
    /// Its name in that package.
    pub name: &'a str,
    /// What errors call it.
    pub file: &'a str,
    /// What the file says.
    pub text: &'a str,
}

/// Parses the text of the definition `package/kind/name`.
pub fn parse(Source { kind, package, name, file, text }: Source<'_>) -> Result<Definition, ParseError> {
    let top = |message: String| ParseError { file: file.to_owned(), line: 1, column: 1, message };
    if text.len() > MAX_TEXT {
        return Err(top(format!("the file has {} bytes; the limit is {MAX_TEXT}", text.len())));
    }
    if !is_lower_snake(package) {
        return Err(top(format!(
            "package name '{package}' is not valid: use lower case letters, digits and single underscores"
        )));
    }
    if !is_camel(name) {
        return Err(top(format!(
            "type name '{name}' is not valid: start with an upper case letter, then letters and digits only"
        )));
    }

    let full_name = format!("{package}/{}/{name}", kind.as_str());
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut sections: Vec<Vec<Line<'_>>> = vec![Vec::new()];
    let mut count = 0;
    for (index, raw) in text.lines().enumerate() {
        let line = Line { file, number: index + 1, text: raw.trim_end() };
        count = index + 1;
        if line.text == SEPARATOR {
            sections.push(Vec::new());
        } else if let Some(section) = sections.last_mut() {
            section.push(line);
        }
    }
    let parts: &[&str] = match kind {
        Kind::Msg => &[""],
        Kind::Srv => &["_Request", "_Response"],
        Kind::Action => &["_Goal", "_Result", "_Feedback"],
    };
    if sections.len() != parts.len() {
        let message = format!(
            "a .{} file has {} line(s) '{SEPARATOR}', this one has {}{}",
            kind.as_str(),
            parts.len() - 1,
            sections.len() - 1,
            match kind {
                Kind::Msg => "; a service belongs into a .srv file, an action into a .action file",
                Kind::Srv => ": write the request, then '---', then the response",
                Kind::Action => ": write the goal, '---', the result, '---', the feedback",
            }
        );
        return Err(ParseError { line: count.max(1), ..top(message) });
    }

    let mut structures = sections
        .iter()
        .zip(parts)
        .map(|(lines, suffix)| parse_structure(package, format!("{full_name}{suffix}"), lines))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter();
    let mut next = || structures.next().ok_or_else(|| top("the file has too few parts".to_owned()));
    Ok(match kind {
        Kind::Msg => Definition::Message(next()?),
        Kind::Srv => Definition::Service { name: full_name, request: next()?, response: next()? },
        Kind::Action => {
            Definition::Action { name: full_name, goal: next()?, result: next()?, feedback: next()? }
        }
    })
}

struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl Line<'_> {
    /// An error at `part`, which is a slice of this line.
    fn error(&self, part: &str, message: impl Into<String>) -> ParseError {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let column = 1 + self.text.char_indices().take_while(|(i, _)| *i < offset).count();
        // A file may hold anything: no message takes pages, or steers a terminal.
        let shown = message
            .into()
            .chars()
            .take(LONGEST_MESSAGE)
            .flat_map(|c| match c.is_control() {
                true => c.escape_default().collect::<Vec<_>>(),
                false => vec![c],
            })
            .collect();
        ParseError { file: self.file.to_owned(), line: self.number, column, message: shown }
    }
}

fn parse_structure(package: &str, name: String, lines: &[Line<'_>]) -> Result<Structure, ParseError> {
    let mut structure = Structure { name, fields: Vec::new(), constants: Vec::new() };
    let mut names = HashSet::new();
    for line in lines {
        let body = line.text.trim_start();
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        let (type_text, rest) = body.split_at(body.find([' ', '\t', '#']).unwrap_or(body.len()));
        let rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with('#') {
            return Err(line.error(
                body,
                format!("a name must follow the type '{type_text}': write '{type_text} some_field'"),
            ));
        }
        let name_end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_end);
        let value = after.trim_start();

        if let Some(value) = value.strip_prefix('=') {
            let constant = parse_constant(line, type_text, name, value.trim_start())?;
            if !names.insert(name) {
                return Err(line.error(name, format!("'{name}' is defined twice; rename one of them")));
            }
            structure.constants.push(constant);
            continue;
        }
        if name.is_empty() || (!value.is_empty() && !value.starts_with('#') && value.len() == after.len()) {
            let word = rest.split_whitespace().next().unwrap_or(rest);
            return Err(line.error(rest, format!("'{word}' is not a field name: {FIELD_RULE}")));
        }
        if !is_lower_snake(name) {
            return Err(line.error(name, format!("field name '{name}' is not valid: {FIELD_RULE}")));
        }
        if !names.insert(name) {
            return Err(line.error(name, format!("'{name}' is defined twice; rename one of them")));
        }
        let ty = parse_type(line, type_text, package)?;
        let value = without_comment(value);
        let default = if value.is_empty() { None } else { Some(parse_default(line, &ty, value)?) };
        structure.fields.push(Field { name: name.to_owned(), ty, default });
    }
    Ok(structure)
}

const FIELD_RULE: &str =
    "use lower case letters, digits and single underscores, start with a letter, end without an underscore";

fn parse_constant(line: &Line<'_>, type_text: &str, name: &str, value: &str) -> Result<Constant, ParseError> {
    let ty = match type_text {
        "string" => BaseType::String { bound: None },
        "wstring" => BaseType::WString { bound: None },
        _ => match Primitive::from_name(type_text) {
            Some(p) => BaseType::Primitive(p),
            None => {
                return Err(line.error(
                    type_text,
                    format!("a constant cannot have the type '{type_text}': use a primitive type or string"),
                ));
            }
        },
    };
    if !is_upper(name) {
        return Err(line.error(
            name,
            format!(
                "constant name '{name}' is not valid: use upper case letters, digits and single underscores, \
                 start with a letter, end without an underscore"
            ),
        ));
    }
    let value = without_comment(value);
    let is_text = !matches!(ty, BaseType::Primitive(_));
    if value.is_empty() && !is_text {
        return Err(line.error(value, format!("constant '{name}' has no value: write '{name}=…'")));
    }
    let value = parse_element(line, &ty, value)?;
    Ok(Constant { name: name.to_owned(), ty, value })
}

fn parse_type(line: &Line<'_>, text: &str, package: &str) -> Result<FieldType, ParseError> {
    let Some(inner) = text.strip_suffix(']') else {
        return Ok(FieldType { base: parse_base(line, text, package)?, arity: Arity::One });
    };
    let Some(open) = inner.rfind('[') else {
        return Err(line.error(text, format!("'{text}' ends with ']' but has no '['")));
    };
    let (base, size) = (&inner[..open], &inner[open + 1..]);
    let base = parse_base(line, base, package)?;
    let arity = match (size, size.strip_prefix("<=")) {
        ("", _) => Arity::Unbounded,
        (_, Some(bound)) => Arity::Bounded(parse_size(line, bound, "a bounded sequence", "int32[<=4]")?),
        (_, None) => Arity::Array(parse_size(line, size, "an array", "int32[4]")?),
    };
    Ok(FieldType { base, arity })
}

fn parse_base(line: &Line<'_>, text: &str, package: &str) -> Result<BaseType, ParseError> {
    if let Some(primitive) = Primitive::from_name(text) {
        return Ok(BaseType::Primitive(primitive));
    }
    match text {
        "string" => return Ok(BaseType::String { bound: None }),
        "wstring" => return Ok(BaseType::WString { bound: None }),
        "time" | "duration" => {
            let name = if text == "time" { "Time" } else { "Duration" };
            return Err(line.error(text, format!("'{text}' is a ROS 1 type: use builtin_interfaces/{name}")));
        }
        _ => {}
    }
    if let Some(bound) = text.strip_prefix("string<=") {
        return Ok(BaseType::String {
            bound: Some(parse_size(line, bound, "a bounded string", "string<=8")?),
        });
    }
    if let Some(bound) = text.strip_prefix("wstring<=") {
        return Ok(BaseType::WString {
            bound: Some(parse_size(line, bound, "a bounded string", "wstring<=8")?),
        });
    }

    let (package, name) = match text.split('/').collect::<Vec<_>>()[..] {
        [name] => (package, name),
        [package, name] => (package, name),
        [package, "msg", name] => {
            return Err(line.error(text, format!("write '{package}/{name}', without '/msg/'")));
        }
        _ => return Err(line.error(text, format!("'{text}' is not a type: write 'package/Type'"))),
    };
    if !is_lower_snake(package) {
        return Err(line.error(
            text,
            format!(
                "'{package}' is not a package name: use lower case letters, digits and single underscores"
            ),
        ));
    }
    if !is_camel(name) {
        let hint = if name.starts_with(|c: char| c.is_ascii_lowercase()) && package != name {
            ": no primitive type has this name, and message types start with an upper case letter"
        } else {
            ": start with an upper case letter, then letters and digits only"
        };
        return Err(line.error(text, format!("'{name}' is not a type name{hint}")));
    }
    Ok(BaseType::Message(format!("{package}/msg/{name}")))
}

fn parse_size(line: &Line<'_>, text: &str, what: &str, example: &str) -> Result<u32, ParseError> {
    match text.parse::<u32>() {
        Ok(size) if size > 0 => Ok(size),
        _ => Err(line.error(
            text,
            format!("the size of {what} must be a whole number from 1 to {}, as in '{example}'", u32::MAX),
        )),
    }
}

/// Cuts a trailing comment and white space, but not a `#` inside a quoted value.
fn without_comment(value: &str) -> &str {
    let quotes_count = value.starts_with(['"', '\'', '[']);
    let mut quote = None;
    let mut escaped = false;
    for (index, c) in value.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if c == '#' => return value[..index].trim_end(),
            None if quotes_count && (c == '"' || c == '\'') => quote = Some(c),
            None => {}
        }
    }
    value.trim_end()
}

fn parse_default(line: &Line<'_>, ty: &FieldType, value: &str) -> Result<Literal, ParseError> {
    if let BaseType::Message(name) = &ty.base {
        return Err(line
            .error(value, format!("a field of type {name} cannot have a default value: remove '{value}'")));
    }
    if ty.arity == Arity::One {
        return parse_element(line, &ty.base, value);
    }
    let Some(inner) = value.strip_prefix('[').and_then(|v| v.strip_suffix(']')) else {
        return Err(line.error(value, format!("the default value of {ty} must be a list, as in '[1, 2]'")));
    };
    let elements = split_elements(inner)
        .into_iter()
        .map(|element| parse_element(line, &ty.base, element))
        .collect::<Result<Vec<_>, _>>()?;
    let fits = match ty.arity {
        Arity::Array(n) => elements.len() as u64 == u64::from(n),
        Arity::Bounded(n) => elements.len() as u64 <= u64::from(n),
        Arity::One | Arity::Unbounded => true,
    };
    if !fits {
        return Err(line.error(value, format!("{} elements do not fit {ty}", elements.len())));
    }
    Ok(Literal::List(elements))
}

/// Splits at commas outside quotes.
fn split_elements(inner: &str) -> Vec<&str> {
    let mut elements = Vec::new();
    let (mut start, mut quote, mut escaped) = (0, None, false);
    for (index, c) in inner.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if (c == '"' || c == '\'') && inner[start..index].trim().is_empty() => quote = Some(c),
            None if c == ',' => {
                elements.push(inner[start..index].trim());
                start = index + 1;
            }
            None => {}
        }
    }
    let last = inner[start..].trim();
    if !last.is_empty() {
        elements.push(last);
    }
    elements
}

fn parse_element(line: &Line<'_>, ty: &BaseType, text: &str) -> Result<Literal, ParseError> {
    let bad = |expected: &str| line.error(text, format!("'{text}' is not a value of {ty}: {expected}"));
    match ty {
        BaseType::Primitive(Primitive::Bool) => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(Literal::Bool(true)),
            "false" | "0" => Ok(Literal::Bool(false)),
            _ => Err(bad("write true or false")),
        },
        BaseType::Primitive(p @ (Primitive::Float32 | Primitive::Float64)) => {
            let value: f64 =
                text.replace('_', "").parse().map_err(|_| bad("write a number such as 1.5 or -2e3"))?;
            if *p == Primitive::Float32 && value.is_finite() && !(value as f32).is_finite() {
                return Err(bad("it is too large"));
            }
            Ok(Literal::Float(value))
        }
        BaseType::Primitive(p) => {
            let (min, max) = p.range().unwrap_or_default();
            match parse_int(text) {
                Some(value) if (min..=max).contains(&value) => Ok(Literal::Int(value)),
                _ => Err(bad(&format!("write a whole number from {min} to {max}"))),
            }
        }
        BaseType::String { bound } | BaseType::WString { bound } => {
            let value = match text.chars().next() {
                Some(quote @ ('"' | '\'')) => unquote(text, quote).ok_or_else(|| {
                    bad(&format!("close it with {quote} and write {quote} inside as \\{quote}"))
                })?,
                _ => unescape(text),
            };
            let length = match ty {
                BaseType::WString { .. } => value.encode_utf16().count(),
                _ => value.len(),
            };
            match bound {
                Some(bound) if length > *bound as usize => {
                    Err(bad(&format!("it has {length} characters, the bound is {bound}")))
                }
                _ => Ok(Literal::String(value)),
            }
        }
        BaseType::Message(_) => Err(bad("messages have no literal values")),
    }
}

fn parse_int(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.replace('_', "");
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = [("0x", 16), ("0o", 8), ("0b", 2)]
        .iter()
        .find_map(|(prefix, radix)| Some((*radix, lower.strip_prefix(prefix)?)))
        .unwrap_or((10, &lower));
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -value } else { value })
}

/// The text between two equal quotes, or nothing when they do not match.
fn unquote(text: &str, quote: char) -> Option<String> {
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut escaped = false;
    for c in inner.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return None,
            _ => {}
        }
    }
    (!escaped).then(|| unescape(inner))
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let hex = || u8::from_str_radix(after.get(1..3)?, 16).ok();
        let (c, used) = match after.chars().next() {
            Some('n') => ('\n', 1),
            Some('t') => ('\t', 1),
            Some('r') => ('\r', 1),
            Some(c @ ('\\' | '\'' | '"')) => (c, 1),
            Some('x') if hex().is_some() => (hex().map_or('\\', char::from), 3),
            // Not an escape: the backslash is meant.
            _ => ('\\', 0),
        };
        out.push(c);
        rest = &after[used..];
    }
    out.push_str(rest);
    out
}

/// The rule for packages and fields: `[a-z][a-z0-9_]*`, no `__`, no `_` at the end.
pub(crate) fn is_lower_snake(name: &str) -> bool {
    is_snake(name, |c| c.is_ascii_lowercase())
}

fn is_upper(name: &str) -> bool {
    is_snake(name, |c| c.is_ascii_uppercase())
}

fn is_snake(name: &str, letter: impl Fn(char) -> bool) -> bool {
    name.starts_with(&letter)
        && name.chars().all(|c| letter(c) || c.is_ascii_digit() || c == '_')
        && !name.contains("__")
        && !name.ends_with('_')
}

/// The rule for types: `[A-Z][A-Za-z0-9]*`.
pub(crate) fn is_camel(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(kind: Kind, name: &str, text: &str) -> Result<Definition, ParseError> {
        let file = &format!("{name}.{}", kind.as_str());
        parse(Source { kind, package: "pkg", name, file, text })
    }

    fn message(text: &str) -> Result<Structure, ParseError> {
        match parsed(Kind::Msg, "Type", text)? {
            Definition::Message(m) => Ok(m),
            other => panic!("a .msg file gave {other:?}"),
        }
    }

    fn default_of(text: &str) -> Option<Literal> {
        message(text).unwrap().fields.remove(0).default
    }

    #[test]
    fn fields_of_every_form() {
        let m = message(
            "# about\n\nbool a\nstring<=5 b\nwstring c  # why\nint32[] d\n\tfloat64[3] e\nchar[<=4] f\n\
             string<=5[<=2] g\nstd_msgs/Header h\nLocal[] i\r\nwstring<=7 j# tight\n",
        )
        .unwrap();
        let shown: Vec<_> = m.fields.iter().map(|f| format!("{} {}", f.ty, f.name)).collect();
        assert_eq!(
            shown,
            [
                "bool a",
                "string<=5 b",
                "wstring c",
                "int32[] d",
                "float64[3] e",
                "char[<=4] f",
                "string<=5[<=2] g",
                "std_msgs/msg/Header h",
                "pkg/msg/Local[] i",
                "wstring<=7 j"
            ]
        );
    }

    #[test]
    fn constants_of_every_form() {
        let m = message(
            "uint8 A=1\nint8 B = -128 # low\nuint8 C=0xFf\nbool D=True\nfloat32 E=-1.5e3\nstring F=it's plain # c\n\
             string G=\"a # b = 'c' \\\"d\\\"\"\nstring H=' spaced '\nbyte I=255\nint64 J=-9223372036854775808\n\
             string K=\nuint16 L=0b11\nfloat64 M=inf\n",
        )
        .unwrap();
        let values: Vec<_> = m.constants.into_iter().map(|c| c.value).collect();
        let text = |s: &str| Literal::String(s.to_owned());
        assert_eq!(
            values,
            [
                Literal::Int(1),
                Literal::Int(-128),
                Literal::Int(255),
                Literal::Bool(true),
                Literal::Float(-1500.0),
                text("it's plain"),
                text("a # b = 'c' \"d\""),
                text(" spaced "),
                Literal::Int(255),
                Literal::Int(i64::MIN.into()),
                text(""),
                Literal::Int(3),
                Literal::Float(f64::INFINITY),
            ]
        );
    }

    #[test]
    fn defaults_of_every_form() {
        let text = |s: &str| Literal::String(s.to_owned());
        assert_eq!(default_of("int32 a 7"), Some(Literal::Int(7)));
        assert_eq!(default_of("int32 a   # none"), None);
        assert_eq!(default_of("bool a false"), Some(Literal::Bool(false)));
        assert_eq!(default_of("string a \"x=1 # y\""), Some(text("x=1 # y")));
        assert_eq!(default_of("string a plain words"), Some(text("plain words")));
        assert_eq!(
            default_of("float64[2] a [1, -2.5]  # pair"),
            Some(Literal::List(vec![Literal::Float(1.0), Literal::Float(-2.5)]))
        );
        assert_eq!(
            default_of("string[<=3] a ['x, y', \"#\", z]"),
            Some(Literal::List(vec![text("x, y"), text("#"), text("z")]))
        );
        assert_eq!(default_of("uint8[] a []"), Some(Literal::List(vec![])));
    }

    #[test]
    fn services_and_actions_have_their_parts() {
        let Definition::Service { request, response, .. } =
            parsed(Kind::Srv, "Do", "int32 a\n---\n# nothing\n").unwrap()
        else {
            panic!("not a service")
        };
        assert_eq!((request.name.as_str(), request.fields.len()), ("pkg/srv/Do_Request", 1));
        assert_eq!((response.name.as_str(), response.fields.len()), ("pkg/srv/Do_Response", 0));
        let Definition::Action { goal, result, feedback, .. } =
            parsed(Kind::Action, "Go", "---\nbool ok\n---\nint8 a\nint8 b\n").unwrap()
        else {
            panic!("not an action")
        };
        assert_eq!([goal.fields.len(), result.fields.len(), feedback.fields.len()], [0, 1, 2]);
    }

    #[test]
    fn errors_name_the_place_and_the_remedy() {
        let table = [
            ("int32", "1:1: a name must follow the type 'int32'"),
            ("int32 a\nint32 # b", "2:1: a name must follow"),
            ("int32 Bad", "1:7: field name 'Bad' is not valid: use lower case"),
            ("int32 a__b", "1:7: field name 'a__b'"),
            ("int32 a_", "1:7: field name 'a_'"),
            ("int32 a-b", "1:7: 'a-b' is not a field name"),
            ("int32 é", "1:7: 'é' is not a field name"),
            ("int32 a\nbool a", "2:6: 'a' is defined twice"),
            ("int32 lower=1", "1:7: constant name 'lower' is not valid: use upper case"),
            ("int32 A__B=1", "1:7: constant name 'A__B'"),
            ("std_msgs/Header A=1", "1:1: a constant cannot have the type"),
            ("string<=4 A=x", "1:1: a constant cannot have the type 'string<=4'"),
            ("uint8 A=256", "1:9: '256' is not a value of uint8: write a whole number from 0 to 255"),
            ("uint8 A=-1", "from 0 to 255"),
            ("int8 A=", "1:8: constant 'A' has no value"),
            ("bool a maybe", "1:8: 'maybe' is not a value of bool: write true or false"),
            ("float32 a 1e39", "it is too large"),
            ("float64 a x", "write a number"),
            ("string<=2 a abc", "it has 3 characters, the bound is 2"),
            ("string a 'open", "close it with '"),
            ("string a 'in'side'", "write ' inside as \\'"),
            ("int32[2] a [1]", "1:12: 1 elements do not fit int32[2]"),
            ("int32[<=1] a [1,2]", "2 elements do not fit int32[<=1]"),
            ("int32[] a 1", "must be a list"),
            ("int32[] a [1,,2]", "'' is not a value of int32"),
            ("int32[0] a", "1:7: the size of an array must be a whole number from 1"),
            ("int32[<=x] a", "1:9: the size of a bounded sequence"),
            ("int32[99999999999] a", "the size of an array"),
            ("string<= a", "the size of a bounded string"),
            ("int32] a", "has no '['"),
            ("time a", "use builtin_interfaces/Time"),
            ("in32 a", "1:1: 'in32' is not a type name: no primitive type has this name"),
            ("std_msgs/msg/Header a", "1:1: write 'std_msgs/Header', without '/msg/'"),
            ("a/b/c/D e", "write 'package/Type'"),
            ("Std/Header a", "'Std' is not a package name"),
            ("std_msgs/Header a 1", "cannot have a default value"),
            ("  int32   Bad", "1:11: field name"),
            ("int32 a\n---\nint32 b", "3:1: a .msg file has 0 line(s) '---', this one has 1"),
        ];
        for (text, expected) in table {
            let error = message(text).expect_err(text).to_string();
            assert!(error.starts_with("Type.msg:"), "{error}");
            assert!(error.contains(expected), "{text:?} gave: {error}\nexpected: {expected}");
        }
        let service = |text| parsed(Kind::Srv, "Do", text).unwrap_err().to_string();
        assert!(service("int32 a").contains("write the request, then '---', then the response"));
        let wrong_name = parsed(Kind::Msg, "lower", "").unwrap_err().to_string();
        assert!(wrong_name.contains("start with an upper case letter"), "{wrong_name}");
        let source = Source { kind: Kind::Msg, package: "Pkg", name: "Type", file: "Type.msg", text: "" };
        let wrong_package = parse(source).unwrap_err().to_string();
        assert!(wrong_package.contains("package name 'Pkg'"), "{wrong_package}");
        let long = message(&format!("int8 {}\u{1b}[2J", "a_".repeat(100_000))).unwrap_err().to_string();
        assert!(long.len() < 600 && !long.contains('\u{1b}'), "{} bytes: {long}", long.len());
        let huge = "#".repeat(MAX_TEXT + 1);
        assert!(message(&huge).unwrap_err().message.contains("the limit is"));
    }
}
