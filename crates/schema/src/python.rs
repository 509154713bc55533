//! Values as Python prints them: what `ros2 topic pub`, `ros2 service call`, `ros2 topic echo --field` and type
//! descriptions show.

use std::fmt::{Debug, LowerExp, Write as _};

use crate::definition::{Arity, BaseType, Literal, Primitive};
use crate::layout::{Element, ValueType};
use crate::numpy;
use crate::value::{DynamicMessage, Value};

/// `repr(float)`: the shortest digits that read back to the same value, with an exponent from 1e16 and below 1e-4.
pub fn float(value: f64) -> String {
    shortest(value, value)
}

/// The digits are those of `number`, which is `value` as an `f64` or an `f32`.
fn shortest(value: f64, number: impl LowerExp + Debug) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".to_owned() } else { "-inf".to_owned() };
    }
    let scientific = format!("{number:e}");
    let exponent = scientific.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok()).unwrap_or(0);
    if (-4..16).contains(&exponent) {
        return format!("{number:?}");
    }
    let mantissa = scientific.split_once('e').map_or("", |(m, _)| m);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// `repr(str)`.
pub fn string(text: &str) -> String {
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

/// `repr(bytes)`.
pub fn bytes(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut out = format!("b{quote}");
    for byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'\\' => out.push_str("\\\\"),
            byte if char::from(*byte) == quote => push(&mut out, format_args!("\\{quote}")),
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => push(&mut out, format_args!("\\x{byte:02x}")),
        }
    }
    out.push(quote);
    out
}

/// `repr` of a message: `std_msgs.msg.String(data='hi')`.
pub(crate) fn message(message: &DynamicMessage, out: &mut String) {
    out.push_str(&message.message_type().name().replace('/', "."));
    out.push('(');
    for (index, (field, value)) in message.fields().enumerate() {
        let _ = write!(out, "{}{}=", if index > 0 { ", " } else { "" }, field.name());
        match dtype(field.value_type()) {
            Some((_, dtype)) if is_fixed(field.value_type()) => out.push_str(&numpy::repr(value, dtype)),
            _ => list_or_element(field.value_type(), value, out),
        }
    }
    out.push(')');
}

/// `str` of a field's value, as `ros2 topic echo --field` prints it: text without quotes, sequences of numbers as
/// `array.array`, fixed-size arrays of numbers as numpy shows them.
pub(crate) fn field(ty: &ValueType, value: &Value) -> String {
    if let Value::String(text) = value {
        return text.clone();
    }
    match dtype(ty) {
        Some(_) if is_fixed(ty) => return numpy::str(value),
        Some((code, _)) if ty.arity != Arity::One => {
            let mut items = String::new();
            list_or_element(ty, value, &mut items);
            return if items == "[]" {
                format!("array('{code}')")
            } else {
                format!("array('{code}', {items})")
            };
        }
        _ => {}
    }
    let mut out = String::new();
    list_or_element(ty, value, &mut out);
    out
}

/// `str` of one element of a list; numpy shows a float32 with its own shortest digits, Python widens it.
pub(crate) fn element_of(ty: &ValueType, value: &Value) -> String {
    match value {
        Value::F32(f) if is_fixed(ty) => shortest(f64::from(*f), f),
        value => field(&ty.one(), value),
    }
}

fn is_fixed(ty: &ValueType) -> bool {
    matches!(ty.arity, Arity::Array(_))
}

/// The type code of `array.array` and the dtype of numpy, for what Python holds as one of these.
fn dtype(ty: &ValueType) -> Option<(char, &'static str)> {
    let Element::Base(BaseType::Primitive(primitive)) = &ty.element else { return None };
    Some(match primitive {
        Primitive::Bool | Primitive::Byte => return None,
        Primitive::Float32 => ('f', "float32"),
        Primitive::Float64 => ('d', "float64"),
        Primitive::Int8 => ('b', "int8"),
        Primitive::Uint8 | Primitive::Char => ('B', "uint8"),
        Primitive::Int16 => ('h', "int16"),
        Primitive::Uint16 => ('H', "uint16"),
        Primitive::Int32 => ('i', "int32"),
        Primitive::Uint32 => ('I', "uint32"),
        Primitive::Int64 => ('q', "int64"),
        Primitive::Uint64 => ('Q', "uint64"),
    })
}

fn list_or_element(ty: &ValueType, value: &Value, out: &mut String) {
    match value {
        Value::Bytes(bytes) => {
            let octets = ty.is(Primitive::Byte);
            list(bytes, out, |b, out| if octets { out.push_str(&self::bytes(&[*b])) } else { push(out, b) });
        }
        Value::List(items) => list(items, out, |v, out| element(ty, v, out)),
        value => element(ty, value, out),
    }
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

fn element(ty: &ValueType, value: &Value, out: &mut String) {
    match value {
        Value::Bool(b) => out.push_str(boolean(*b)),
        Value::Int(i) => push(out, i),
        Value::Uint(u) => match (&ty.element, u8::try_from(*u)) {
            (Element::Base(BaseType::Primitive(Primitive::Byte)), Ok(byte)) => out.push_str(&bytes(&[byte])),
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
    fn bytes_print_as_in_python() {
        assert_eq!(bytes(b"\0\x01A\n\t\r\\ ~\x7f\xff"), r"b'\x00\x01A\n\t\r\\ ~\x7f\xff'");
        assert_eq!(bytes(b"it's"), "b\"it's\"");
        assert_eq!(bytes(b"'\""), "b'\\'\"'");
    }

    #[test]
    fn lists_in_defaults_are_tuples() {
        let list = |n: usize| Literal::List(vec![Literal::Int(1); n]);
        assert_eq!(literal(&list(2)), "(1, 1)");
        assert_eq!(literal(&list(1)), "(1,)");
        assert_eq!(literal(&list(0)), "()");
    }
}
