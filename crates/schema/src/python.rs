//! Values as Python prints them: what `ros2 topic echo`, `ros2 service call` and type descriptions show.

use std::fmt::Write as _;

use crate::definition::{Arity, BaseType, Literal, Primitive};
use crate::layout::{Element, ValueType};
use crate::value::{DynamicMessage, Value};

/// `repr(float)`: the shortest digits that read back to the same value, with an exponent from 1e16 and below 1e-4.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".to_owned() } else { "-inf".to_owned() };
    }
    let scientific = format!("{value:e}");
    let exponent = scientific.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
    if (-4..16).contains(&exponent) {
        return format!("{value:?}");
    }
    let mantissa = scientific.split_once('e').map_or("", |(m, _)| m);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// `repr(str)`.
pub(crate) fn string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() || matches!(c, '\u{a0}' | '\u{ad}') => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{3000}' | '\u{2000}'..='\u{200f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

fn boolean(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// `repr` of a default value; rosidl carries lists as tuples.
pub(crate) fn literal(literal: &Literal) -> String {
    match literal {
        Literal::Bool(b) => boolean(*b).to_owned(),
        Literal::Int(i) => i.to_string(),
        Literal::Float(f) => float(*f),
        Literal::String(s) => string(s),
        Literal::List(list) => {
            let inner: Vec<_> = list.iter().map(self::literal).collect();
            format!("({}{})", inner.join(", "), if inner.len() == 1 { "," } else { "" })
        }
    }
}

/// `repr` of a message: `std_msgs.msg.String(data='hi')`. Fixed-size arrays are shown as plain lists.
pub(crate) fn message(message: &DynamicMessage, out: &mut String) {
    out.push_str(&message.message_type().name().replace('/', "."));
    out.push('(');
    for (index, (field, value)) in message.fields().enumerate() {
        let _ = write!(out, "{}{}=", if index > 0 { ", " } else { "" }, field.name());
        match (field.value_type().arity, value) {
            (Arity::One, value) => element(field.value_type(), value, out),
            (_, Value::Bytes(bytes)) => {
                let octets = field.value_type().is(Primitive::Byte);
                list(bytes, out, |b, out| if octets { octet(*b, out) } else { push(out, b) });
            }
            (_, Value::List(items)) => list(items, out, |v, out| element(field.value_type(), v, out)),
            (_, value) => element(field.value_type(), value, out),
        }
    }
    out.push(')');
}

fn list<T>(items: &[T], out: &mut String, mut each: impl FnMut(&T, &mut String)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        each(item, out);
    }
    out.push(']');
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}");
}

/// `repr(bytes)` of one byte.
fn octet(byte: u8, out: &mut String) {
    match byte {
        b'\n' => out.push_str("b'\\n'"),
        b'\r' => out.push_str("b'\\r'"),
        b'\t' => out.push_str("b'\\t'"),
        b'\\' => out.push_str("b'\\\\'"),
        b'\'' => out.push_str("b\"'\""),
        b' '..=b'~' => push(out, format_args!("b'{}'", char::from(byte))),
        _ => push(out, format_args!("b'\\x{byte:02x}'")),
    }
}

fn element(ty: &ValueType, value: &Value, out: &mut String) {
    match value {
        Value::Bool(b) => out.push_str(boolean(*b)),
        Value::Int(i) => push(out, i),
        Value::Uint(u) => match (&ty.element, u8::try_from(*u)) {
            (Element::Base(BaseType::Primitive(Primitive::Byte)), Ok(byte)) => octet(byte, out),
            _ => push(out, u),
        },
        Value::F32(f) => out.push_str(&float(f64::from(*f))),
        Value::F64(f) => out.push_str(&float(*f)),
        Value::String(s) => out.push_str(&string(s)),
        Value::Message(m) => message(m, out),
        Value::Bytes(_) | Value::List(_) => out.push_str("[]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_python() {
        let table = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (f64::from(0.1_f32), "0.10000000149011612"),
            (1e16, "1e+16"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5e-324"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, expected) in table {
            assert_eq!(float(value), expected);
        }
    }

    #[test]
    fn strings_print_as_in_python() {
        assert_eq!(string("it's"), "\"it's\"");
        assert_eq!(string("'\""), "'\\'\"'");
        assert_eq!(string("a\n\u{1}é"), "'a\\n\\x01é'");
    }

    #[test]
    fn lists_in_defaults_are_tuples() {
        let list = |n: usize| Literal::List(vec![Literal::Int(1); n]);
        assert_eq!(literal(&list(2)), "(1, 1)");
        assert_eq!(literal(&list(1)), "(1,)");
        assert_eq!(literal(&list(0)), "()");
    }
}
