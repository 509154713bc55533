//! Messages as comma-separated values, as `ros2 topic echo --csv` prints them.

use crate::definition::Arity;
use crate::layout::ValueType;
use crate::python;
use crate::value::{DynamicMessage, Value};
use crate::yaml::{YamlStyle, list_note, string_note};

impl DynamicMessage {
    /// The values in the order of the definition, without their names. Neither commas in text nor line breaks are
    /// escaped, and an empty beginning gets no comma: ros2 does neither.
    pub fn to_csv(&self, style: YamlStyle) -> String {
        let mut row = String::new();
        for (field, value) in self.fields() {
            let ty = field.value_type();
            let cell = match value {
                Value::Bytes(bytes) if !style.no_arrays => {
                    list(ty, bytes.iter().map(|byte| Value::Uint((*byte).into())), style)
                }
                Value::List(items) if !style.no_arrays => list(ty, items.iter().cloned(), style),
                Value::Bytes(bytes) => list_note(ty, bytes.len()),
                Value::List(items) => list_note(ty, items.len()),
                value => element(ty, value, style),
            };
            join(&mut row, &cell);
        }
        row
    }
}

fn join(row: &mut String, cell: &str) {
    if !row.is_empty() {
        row.push(',');
    }
    row.push_str(cell);
}

fn list(ty: &ValueType, items: impl Iterator<Item = Value>, style: YamlStyle) -> String {
    let mut row = String::new();
    for (index, item) in items.enumerate() {
        if style.truncate.is_some_and(|limit| index >= limit) {
            join(&mut row, "...");
            break;
        }
        join(&mut row, &element(ty, &item, style));
    }
    row
}

fn element(ty: &ValueType, value: &Value, style: YamlStyle) -> String {
    match value {
        Value::Message(message) => message.to_csv(style),
        Value::String(text) if style.no_strings => string_note(text),
        Value::String(text) => match style.truncate.and_then(|limit| text.char_indices().nth(limit)) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.clone(),
        },
        value if ty.arity == Arity::One => python::field(ty, value),
        value => python::element_of(ty, value),
    }
}
