//! Messages as rows of comma-separated values.

use std::{fmt::Write as _, sync::Arc};

use rosless_schema::{Arity, DynamicMessage, Element, MessageType, Value, ValueType};

/// The one type that the original control application could write, and how: no titles, seconds and acceleration.
pub const IMU: &str = "sensor_msgs/msg/Imu";
/// A fixed array that is longer than this is one cell.
const LONGEST: u32 = 36;

/// How the messages of one type become rows.
#[derive(Debug)]
pub struct Table {
    ty: Arc<MessageType>,
    is_imu: bool,
}

impl Table {
    /// `name` is the topic's type; `original` asks for the form of the original control application where it had one.
    pub fn new(ty: &Arc<MessageType>, name: &str, original: bool) -> Self {
        Self { ty: ty.clone(), is_imu: original && name == IMU }
    }

    /// The line of titles; nothing where the original had none.
    pub fn titles(&self) -> Option<String> {
        if self.is_imu {
            return None;
        }
        let mut titles = vec!["log_time".to_owned()];
        columns(&self.ty, "", &mut titles);
        Some(titles.iter().map(|title| quoted(title)).collect::<Vec<_>>().join(","))
    }

    /// One message as a line.
    ///
    /// # Errors
    /// When the bytes are not a message of the type.
    pub fn row(&self, log_time: u64, data: &[u8]) -> Result<String, rosless_schema::DecodeError> {
        let message = DynamicMessage::from_payload(&self.ty, data)?;
        if self.is_imu {
            return Ok(imu(&message));
        }
        let mut row = format!("{}.{:09}", log_time / 1_000_000_000, log_time % 1_000_000_000);
        cells(&message, &mut row);
        Ok(row)
    }
}

/// `t,ax,ay,az` with ten decimals.
fn imu(message: &DynamicMessage) -> String {
    let number = |path: &str| match message.get(path) {
        Some(Value::F64(value)) => *value,
        Some(Value::Int(value)) => *value as f64,
        Some(Value::Uint(value)) => *value as f64,
        _ => 0.0,
    };
    let stamp = number("header.stamp.sec") + number("header.stamp.nanosec") * 1e-9;
    let [x, y, z] = ["x", "y", "z"].map(|axis| number(&format!("linear_acceleration.{axis}")));
    format!("{stamp:.10},{x:.10},{y:.10},{z:.10}")
}

/// How many cells a field has: sequences have one, whatever their length.
fn expanded(ty: &ValueType) -> Option<u32> {
    match ty.arity {
        Arity::One => Some(1),
        Arity::Array(length) if length <= LONGEST => Some(length),
        _ => None,
    }
}

fn columns(ty: &MessageType, prefix: &str, titles: &mut Vec<String>) {
    for field in ty.fields() {
        let (name, ty) = (format!("{prefix}{}", field.name()), field.value_type());
        let Some(count) = expanded(ty) else {
            titles.push(name);
            continue;
        };
        for index in 0..count {
            let name = if ty.arity == Arity::One { name.clone() } else { format!("{name}[{index}]") };
            match &ty.element {
                Element::Message(nested) => columns(nested, &format!("{name}."), titles),
                _ => titles.push(name),
            }
        }
    }
}

fn cells(message: &DynamicMessage, row: &mut String) {
    for (field, value) in message.fields() {
        match (expanded(field.value_type()), value) {
            (Some(_), Value::List(items)) => items.iter().for_each(|item| cell(item, row)),
            (Some(_), Value::Bytes(bytes)) => {
                bytes.iter().for_each(|byte| cell(&Value::Uint((*byte).into()), row))
            }
            (_, value) => cell(value, row),
        }
    }
}

fn cell(value: &Value, row: &mut String) {
    if let Value::Message(message) = value {
        return cells(message, row);
    }
    row.push(',');
    match value {
        Value::Bool(value) => row.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => write!(row, "{value}").expect("a String takes all"),
        Value::Uint(value) => write!(row, "{value}").expect("a String takes all"),
        Value::F32(value) => write!(row, "{value:?}").expect("a String takes all"),
        Value::F64(value) => write!(row, "{value:?}").expect("a String takes all"),
        Value::String(text) => row.push_str(&quoted(text)),
        other => row.push_str(&quoted(&serde_json::to_string(other).unwrap_or_default())),
    }
}

/// As RFC 4180 has it.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rosless_schema::Registry;

    use super::*;

    fn table(ty: &str, yaml: &str, original: bool) -> (Option<String>, String) {
        let ty = Registry::embedded().message_type(ty).unwrap();
        let table = Table::new(&ty, ty.name(), original);
        let data = DynamicMessage::from_yaml(&ty, yaml, None).unwrap().to_payload();
        (table.titles(), table.row(1_500_000_000, &data).unwrap())
    }

    #[test]
    fn imu_is_as_the_original_wrote_it() {
        let yaml =
            "{header: {stamp: {sec: 12, nanosec: 345678901}}, linear_acceleration: {x: 0.1, y: -9.81, z: 1}}";
        let (titles, row) = table(IMU, yaml, true);
        assert_eq!((titles, row.as_str()), (None, "12.3456789010,0.1000000000,-9.8100000000,1.0000000000"));
        let (titles, row) = table(IMU, yaml, false);
        assert_eq!(titles.unwrap().split(',').count(), row.split(',').count());
    }

    #[test]
    fn every_field_has_its_column_and_text_cannot_break_a_row() {
        let (titles, row) = table("std_msgs/msg/String", "{data: \"a,\\\"b\\\"\\nc\"}", true);
        assert_eq!(
            (titles.as_deref(), row.as_str()),
            (Some("log_time,data"), "1.500000000,\"a,\"\"b\"\"\nc\"")
        );
        let yaml = "{name: [a, b], position: [1.5], velocity: []}";
        let (titles, row) = table("sensor_msgs/msg/JointState", yaml, true);
        let expected =
            "log_time,header.stamp.sec,header.stamp.nanosec,header.frame_id,name,position,velocity,effort";
        assert_eq!(titles.as_deref(), Some(expected));
        assert_eq!(row, "1.500000000,0,0,,\"[\"\"a\"\",\"\"b\"\"]\",[1.5],[],[]");
        let (titles, row) = table("geometry_msgs/msg/TwistWithCovariance", "{}", true);
        assert_eq!((titles.unwrap().split(',').count(), row.split(',').count()), (43, 43));
    }
}
