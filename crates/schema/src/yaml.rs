//! Messages as YAML text, byte for byte as `ros2 topic echo` prints them (PyYAML's rules).
//!
//! One difference: text with the line separators U+0085, U+2028 or U+2029 is escaped, because PyYAML's raw form
//! does not read back to the same text.

use crate::definition::{Arity, Primitive};
use crate::layout::ValueType;
use crate::python;
use crate::pyyaml::{self, Plain};
use crate::value::{DynamicMessage, Value};

/// How [`DynamicMessage::to_yaml`] and [`DynamicMessage::to_csv`] write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct YamlStyle {
    /// Longest string and list that is shown in full; `ros2 topic echo` uses 128 unless told otherwise.
    pub truncate: Option<usize>,
    /// Replaces lists by their type and length (`--no-arr`).
    pub no_arrays: bool,
    /// Replaces strings by their length (`--no-str`).
    pub no_strings: bool,
    /// All on one line (`--flow-style`).
    pub flow: bool,
}

impl DynamicMessage {
    /// The message as YAML, ending with a newline.
    pub fn to_yaml(&self, style: YamlStyle) -> String {
        let mut writer = Writer { style, out: String::new() };
        if style.flow || self.message_type().fields().is_empty() {
            writer.flow_message(self, 2);
            writer.out.push('\n');
        } else {
            writer.block_message(self, 0, true);
        }
        writer.out
    }
}

struct Writer {
    style: YamlStyle,
    out: String,
}

/// A list as it is shown: in full, its beginning, or only a note about it.
enum Shown<T> {
    Items { items: T, cut: bool },
    Note(String),
}

impl Writer {
    /// Fields below each other; `on_new_line` is false for the first field behind a `- `.
    fn block_message(&mut self, message: &DynamicMessage, indent: usize, on_new_line: bool) {
        for (index, (field, value)) in message.fields().enumerate() {
            if on_new_line || index > 0 {
                self.indent(indent);
            }
            self.text(field.name(), indent, false);
            self.out.push(':');
            let ty = field.value_type();
            match value {
                Value::Message(inner) if !inner.message_type().fields().is_empty() => {
                    self.out.push('\n');
                    self.block_message(inner, indent + 2, true);
                }
                Value::Bytes(_) | Value::List(_) if !self.is_inline(ty, value) => {
                    self.out.push('\n');
                    self.block_list(ty, value, indent);
                }
                value => {
                    self.out.push(' ');
                    self.inline(ty, value, indent + 2);
                    self.out.push('\n');
                }
            }
        }
    }

    /// Empty lists and notes about lists stand behind their name.
    fn is_inline(&self, ty: &ValueType, value: &Value) -> bool {
        match value {
            Value::Bytes(bytes) => {
                matches!(self.shown(ty, bytes), Shown::Items { items: [], cut: false } | Shown::Note(_))
            }
            Value::List(list) => {
                matches!(self.shown(ty, list), Shown::Items { items: [], cut: false } | Shown::Note(_))
            }
            _ => true,
        }
    }

    fn block_list(&mut self, ty: &ValueType, value: &Value, indent: usize) {
        let cut = match value {
            Value::Bytes(bytes) => {
                let Shown::Items { items, cut } = self.shown(ty, bytes) else { return };
                for byte in items {
                    self.indent(indent);
                    self.out.push_str("- ");
                    self.element(ty, &Value::Uint((*byte).into()), indent + 2, false);
                    self.out.push('\n');
                }
                cut
            }
            Value::List(list) => {
                let Shown::Items { items, cut } = self.shown(ty, list) else { return };
                for item in items {
                    self.indent(indent);
                    self.out.push_str("- ");
                    match item {
                        Value::Message(inner) if !inner.message_type().fields().is_empty() => {
                            self.block_message(inner, indent + 2, false);
                        }
                        item => {
                            self.element(ty, item, indent + 2, false);
                            self.out.push('\n');
                        }
                    }
                }
                cut
            }
            _ => false,
        };
        if cut {
            self.indent(indent);
            self.out.push_str("- '...'\n");
        }
    }

    /// Everything on one line, but text with line breaks continues at an indent as deep as its nesting.
    fn flow_message(&mut self, message: &DynamicMessage, indent: usize) {
        self.out.push('{');
        for (index, (field, value)) in message.fields().enumerate() {
            self.out.push_str(if index > 0 { ", " } else { "" });
            self.text(field.name(), indent, true);
            self.out.push_str(": ");
            self.inline(field.value_type(), value, indent + 2);
        }
        self.out.push('}');
    }

    /// A value on one line; lists in brackets.
    fn inline(&mut self, ty: &ValueType, value: &Value, indent: usize) {
        match value {
            Value::Bytes(bytes) => match self.shown(ty, bytes) {
                Shown::Note(note) => self.text(&note, indent, self.style.flow),
                Shown::Items { items, cut } => {
                    self.flow_list(items.iter().map(|b| Value::Uint((*b).into())), ty, cut, indent)
                }
            },
            Value::List(list) => match self.shown(ty, list) {
                Shown::Note(note) => self.text(&note, indent, self.style.flow),
                Shown::Items { items, cut } => self.flow_list(items.iter(), ty, cut, indent),
            },
            value => self.element(ty, value, indent, self.style.flow),
        }
    }

    fn flow_list<V: std::borrow::Borrow<Value>>(
        &mut self,
        items: impl Iterator<Item = V>,
        ty: &ValueType,
        cut: bool,
        indent: usize,
    ) {
        self.out.push('[');
        let mut separator = "";
        for item in items {
            self.out.push_str(separator);
            self.element(ty, item.borrow(), indent + 2, true);
            separator = ", ";
        }
        if cut {
            self.out.push_str(separator);
            self.out.push_str("'...'");
        }
        self.out.push(']');
    }

    fn element(&mut self, ty: &ValueType, value: &Value, indent: usize, flow: bool) {
        match value {
            Value::Bool(b) => self.out.push_str(if *b { "true" } else { "false" }),
            Value::Int(i) => self.out.push_str(&i.to_string()),
            // Python holds a `byte` as bytes, shown as the character with that code.
            Value::Uint(u) if ty.is(Primitive::Byte) => {
                let c = char::from(u8::try_from(*u).unwrap_or_default());
                self.text(c.encode_utf8(&mut [0; 4]), indent, flow);
            }
            Value::Uint(u) => self.out.push_str(&u.to_string()),
            Value::F32(f) => self.out.push_str(&yaml_float(f64::from(*f))),
            Value::F64(f) => self.out.push_str(&yaml_float(*f)),
            Value::String(text) if self.style.no_strings => {
                self.text(&string_note(text), indent, flow);
            }
            Value::String(text) => match self.style.truncate.and_then(|n| text.char_indices().nth(n)) {
                Some((end, _)) => self.text(&format!("{}...", &text[..end]), indent, flow),
                None => self.text(text, indent, flow),
            },
            Value::Message(message) => self.flow_message(message, indent),
            // Lists of lists do not exist in ROS types.
            Value::Bytes(_) | Value::List(_) => {}
        }
    }

    fn shown<'v, T>(&self, ty: &ValueType, items: &'v [T]) -> Shown<&'v [T]> {
        if self.style.no_arrays {
            return Shown::Note(list_note(ty, items.len()));
        }
        match self.style.truncate {
            Some(limit) if items.len() > limit => Shown::Items { items: &items[..limit], cut: true },
            _ => Shown::Items { items, cut: false },
        }
    }

    fn indent(&mut self, indent: usize) {
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// A string: plain where that reads back as the same string, else in single quotes, else in double quotes.
    fn text(&mut self, text: &str, indent: usize, flow: bool) {
        let allowed = analyze(text);
        let plain = if flow { allowed.flow_plain } else { allowed.block_plain };
        if plain && pyyaml::resolve(text) == Plain::Text {
            self.out.push_str(text);
        } else if allowed.single_quoted {
            self.single_quoted(text, indent);
        } else {
            self.double_quoted(text);
        }
    }

    /// A line break inside quotes is written as an empty line, because a single one would fold into a space.
    fn single_quoted(&mut self, text: &str, indent: usize) {
        self.out.push('\'');
        let mut in_breaks = false;
        for c in text.chars() {
            if c == '\n' {
                self.out.push_str(if in_breaks { "\n" } else { "\n\n" });
                in_breaks = true;
                continue;
            }
            if in_breaks {
                self.indent(indent);
                in_breaks = false;
            }
            if c == '\'' {
                self.out.push('\'');
            }
            self.out.push(c);
        }
        if in_breaks {
            self.indent(indent);
        }
        self.out.push('\'');
    }

    fn double_quoted(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            let short = match c {
                '\0' => "\\0",
                '\u{7}' => "\\a",
                '\u{8}' => "\\b",
                '\t' => "\\t",
                '\n' => "\\n",
                '\u{b}' => "\\v",
                '\u{c}' => "\\f",
                '\r' => "\\r",
                '\u{1b}' => "\\e",
                '"' => "\\\"",
                '\\' => "\\\\",
                '\u{85}' => "\\N",
                '\u{2028}' => "\\L",
                '\u{2029}' => "\\P",
                _ => "",
            };
            match (short, u32::from(c)) {
                ("", 0x20..=0x7e | 0xa0..=0xd7ff | 0xe000..=0xfffd) if c != '\u{feff}' => self.out.push(c),
                ("", code @ ..=0xff) => self.out.push_str(&format!("\\x{code:02X}")),
                ("", code @ ..=0xffff) => self.out.push_str(&format!("\\u{code:04X}")),
                ("", code) => self.out.push_str(&format!("\\U{code:08X}")),
                (short, _) => self.out.push_str(short),
            }
        }
        self.out.push('"');
    }
}

/// What stands for a list of this type with `--no-arr`.
pub(crate) fn list_note(ty: &ValueType, length: usize) -> String {
    let element = python_name(ty);
    match ty.arity {
        Arity::Array(n) => format!("<array type: {element}[{n}]>"),
        Arity::Bounded(n) => format!("<sequence type: {element}[{n}], length: {length}>"),
        _ => format!("<sequence type: {element}, length: {length}>"),
    }
}

/// What stands for a string with `--no-str`.
pub(crate) fn string_note(text: &str) -> String {
    format!("<string length: <{}>>", text.chars().count())
}

/// Text as a YAML scalar in block style; `indent` is that of lines that continue it.
pub fn yaml_text(text: &str, indent: usize) -> String {
    let mut writer = Writer { style: YamlStyle::default(), out: String::new() };
    writer.text(text, indent, false);
    writer.out
}

/// Type names in the notes about lists are those of IDL.
fn python_name(ty: &ValueType) -> String {
    use crate::definition::BaseType;
    use crate::layout::Element;
    match &ty.element {
        Element::Base(BaseType::Primitive(p)) => match p {
            Primitive::Bool => "boolean",
            Primitive::Byte => "octet",
            Primitive::Char => "uint8",
            Primitive::Float32 => "float",
            Primitive::Float64 => "double",
            other => other.name(),
        }
        .to_owned(),
        Element::Base(BaseType::WString { .. }) => "wstring".to_owned(),
        Element::Base(_) => "string".to_owned(),
        Element::Message(message) => message.name().to_owned(),
    }
}

/// A number as a YAML scalar that is read as a float again.
pub fn yaml_float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = python::float(value);
    // YAML 1.1 wants a point in every float.
    if text.contains('.') { text } else { text.replacen('e', ".0e", 1) }
}

struct Allowed {
    flow_plain: bool,
    block_plain: bool,
    single_quoted: bool,
}

/// Which styles can carry this text: the rules of PyYAML's emitter.
fn analyze(text: &str) -> Allowed {
    if text.is_empty() {
        return Allowed { flow_plain: false, block_plain: true, single_quoted: true };
    }
    let is_space = |c: Option<&char>| c.is_none_or(|c| matches!(c, '\0' | ' ' | '\t' | '\r' | '\n'));
    let chars: Vec<char> = text.chars().collect();
    let marker = text.starts_with("---") || text.starts_with("...");
    let (mut block_indicator, mut flow_indicator) = (marker, marker);
    let (mut line_break, mut special, mut break_space, mut space_break) = (false, false, false, false);
    for (index, &c) in chars.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|i| chars.get(i));
        let before_space = is_space(chars.get(index + 1));
        match c {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
            | '`'
                if index == 0 =>
            {
                block_indicator = true;
                flow_indicator = true;
            }
            '?' | ':' if index == 0 => {
                flow_indicator = true;
                block_indicator |= before_space;
            }
            '-' if index == 0 && before_space => {
                block_indicator = true;
                flow_indicator = true;
            }
            ',' | '?' | '[' | ']' | '{' | '}' => flow_indicator = true,
            ':' => {
                flow_indicator = true;
                block_indicator |= before_space;
            }
            '#' if is_space(previous) => {
                block_indicator = true;
                flow_indicator = true;
            }
            _ => {}
        }
        line_break |= c == '\n';
        special |= !matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10fffe}')
            || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}');
        break_space |= c == ' ' && previous == Some(&'\n');
        space_break |= c == '\n' && previous == Some(&' ');
    }
    let edge = |c: Option<&char>| c.is_some_and(|c| matches!(c, ' ' | '\n'));
    let no_plain =
        edge(chars.first()) || edge(chars.last()) || break_space || space_break || special || line_break;
    Allowed {
        flow_plain: !no_plain && !flow_indicator,
        block_plain: !no_plain && !block_indicator,
        single_quoted: !(break_space || space_break || special),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, flow: bool) -> String {
        let mut writer = Writer { style: YamlStyle::default(), out: String::new() };
        writer.text(text, if flow { 4 } else { 2 }, flow);
        writer.out
    }

    /// The table holds texts and what `yaml.dump(…, allow_unicode=True, width=sys.maxsize)` made of them.
    #[test]
    fn strings_are_quoted_as_pyyaml_does() {
        let table: Vec<[String; 3]> =
            serde_json::from_str(include_str!("../tests/data/pyyaml_scalars.json")).unwrap();
        for [text, block, flow] in &table {
            assert_eq!(shown(text, false), *block, "block style of {text:?}");
            assert_eq!(shown(text, true), *flow, "flow style of {text:?}");
        }
    }

    #[test]
    fn floats_have_a_point() {
        let table = [
            (1e16, "1.0e+16"),
            (1.5e-7, "1.5e-07"),
            (0.1, "0.1"),
            (f64::NAN, ".nan"),
            (f64::NEG_INFINITY, "-.inf"),
        ];
        for (value, expected) in table {
            assert_eq!(yaml_float(value), expected);
        }
    }
}
