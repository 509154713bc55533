//! Parameters of other nodes, as JSON.

use std::time::Duration;

use rosless_graph::parameters::ParameterValue;
use serde_json::{Value, json};

use crate::app::App;

pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// As JSON; bytes are numbers.
pub(crate) fn to_json(value: &ParameterValue) -> Value {
    match value {
        ParameterValue::NotSet => Value::Null,
        ParameterValue::Bool(v) => json!(v),
        ParameterValue::Integer(v) => json!(v),
        ParameterValue::Double(v) => json!(v),
        ParameterValue::String(v) => json!(v),
        ParameterValue::ByteArray(v) => json!(v),
        ParameterValue::BoolArray(v) => json!(v),
        ParameterValue::IntegerArray(v) => json!(v),
        ParameterValue::DoubleArray(v) => json!(v),
        ParameterValue::StringArray(v) => json!(v),
    }
}

/// From JSON; `like` says which of the ten types, where JSON leaves it open (1 may be an integer or a double).
pub(crate) fn from_json(value: &Value, like: u8) -> Result<ParameterValue, String> {
    let wrong = || format!("{value} is no value of this parameter");
    let list = |value: &Value| value.as_array().cloned().ok_or_else(wrong);
    fn all<T>(
        values: Vec<Value>,
        one: impl Fn(&Value) -> Option<T>,
        wrong: impl Fn() -> String,
    ) -> Result<Vec<T>, String> {
        values.iter().map(|value| one(value).ok_or_else(&wrong)).collect()
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Ok(match like {
        1 => ParameterValue::Bool(value.as_bool().ok_or_else(wrong)?),
        2 => ParameterValue::Integer(value.as_i64().ok_or_else(wrong)?),
        3 => ParameterValue::Double(value.as_f64().ok_or_else(wrong)?),
        4 => ParameterValue::String(text(value).ok_or_else(wrong)?),
        5 => ParameterValue::ByteArray(all(list(value)?, |v| u8::try_from(v.as_u64()?).ok(), wrong)?),
        6 => ParameterValue::BoolArray(all(list(value)?, Value::as_bool, wrong)?),
        7 => ParameterValue::IntegerArray(all(list(value)?, Value::as_i64, wrong)?),
        8 => ParameterValue::DoubleArray(all(list(value)?, Value::as_f64, wrong)?),
        9 => ParameterValue::StringArray(all(list(value)?, text, wrong)?),
        _ => match value {
            Value::Null => ParameterValue::NotSet,
            Value::Bool(v) => ParameterValue::Bool(*v),
            Value::Number(n) if n.is_i64() => ParameterValue::Integer(n.as_i64().ok_or_else(wrong)?),
            Value::Number(n) => ParameterValue::Double(n.as_f64().ok_or_else(wrong)?),
            Value::String(v) => ParameterValue::String(v.clone()),
            Value::Array(values) if values.iter().all(Value::is_boolean) => from_json(value, 6)?,
            Value::Array(values) if values.iter().all(Value::is_i64) => from_json(value, 7)?,
            Value::Array(values) if values.iter().all(Value::is_number) => from_json(value, 8)?,
            Value::Array(_) => from_json(value, 9)?,
            Value::Object(_) => return Err(wrong()),
        },
    })
}

/// What happens with the answer.
pub(crate) type Done<T> = Box<dyn FnOnce(&mut App, Result<T, String>)>;

impl App {
    /// All parameters of a node with values and what they may be.
    pub(crate) fn list_parameters(&mut self, node: &str, done: Done<Vec<Value>>) {
        let of = node.to_owned();
        let client = self.handle.parameters_of(&self.node, node);
        let listed = client.list(Vec::new(), PATIENCE, move |app: &mut App, names| match names {
            Err(error) => done(app, Err(error.to_string())),
            Ok(names) => app.read_parameters(&of, names, true, done),
        });
        if let Err(error) = listed {
            log::warn!(target: self.node.logger(), "{node}: {error}");
        }
    }

    /// The values of some parameters.
    pub(crate) fn read_parameters(
        &mut self,
        node: &str,
        names: Vec<String>,
        described: bool,
        done: Done<Vec<Value>>,
    ) {
        let (of, asked) = (node.to_owned(), names.clone());
        let client = self.handle.parameters_of(&self.node, node);
        let read = client.get(names, PATIENCE, move |app: &mut App, values| {
            let values = match values {
                Err(error) => return done(app, Err(error.to_string())),
                Ok(values) => values,
            };
            let found: Vec<_> = asked
                .iter()
                .zip(&values)
                .map(
                    |(name, value)| json!({"name": name, "value": to_json(value), "type": value.kind().id()}),
                )
                .collect();
            if !described || found.is_empty() {
                return done(app, Ok(found));
            }
            let client = app.handle.parameters_of(&app.node, &of);
            let described = client.describe(asked, PATIENCE, move |app: &mut App, descriptors| {
                let mut found = found;
                for (parameter, descriptor) in found.iter_mut().zip(descriptors.unwrap_or_default()) {
                    parameter["description"] = descriptor.description.clone().into();
                    parameter["constraints"] = descriptor.additional_constraints.clone().into();
                    parameter["read_only"] = descriptor.read_only.into();
                    let float = descriptor
                        .floating_point_range
                        .first()
                        .map(|r| json!([r.from_value, r.to_value, r.step]));
                    let integer =
                        descriptor.integer_range.first().map(|r| json!([r.from_value, r.to_value, r.step]));
                    parameter["range"] = float.or(integer).unwrap_or(Value::Null);
                }
                done(app, Ok(found));
            });
            if let Err(error) = described {
                log::warn!(target: app.node.logger(), "{of}: {error}");
            }
        });
        if let Err(error) = read {
            log::warn!(target: self.node.logger(), "{node}: {error}");
        }
    }

    /// Sets one.
    pub(crate) fn set_parameter(&mut self, node: &str, name: &str, value: ParameterValue, done: Done<()>) {
        let client = self.handle.parameters_of(&self.node, node);
        let set = client.set(&[(name.to_owned(), value)], PATIENCE, move |app: &mut App, results| {
            let result = match results.as_deref() {
                Err(error) => Err(error.to_string()),
                Ok([result]) if result.successful => Ok(()),
                Ok([result]) if !result.reason.is_empty() => Err(result.reason.clone()),
                Ok(_) => Err("refused without a reason".to_owned()),
            };
            done(app, result);
        });
        if let Err(error) = set {
            log::warn!(target: self.node.logger(), "{node}: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_type() {
        for (value, like, expected) in [
            (json!(1), 3, ParameterValue::Double(1.0)),
            (json!(1), 2, ParameterValue::Integer(1)),
            (json!(1), 0, ParameterValue::Integer(1)),
            (json!(1.5), 0, ParameterValue::Double(1.5)),
            (json!(["a"]), 9, ParameterValue::StringArray(vec!["a".into()])),
            (json!([1, 2.5]), 0, ParameterValue::DoubleArray(vec![1.0, 2.5])),
            (json!([]), 8, ParameterValue::DoubleArray(vec![])),
        ] {
            assert_eq!(from_json(&value, like), Ok(expected), "{value} {like}");
        }
        for (value, like) in
            [(json!("x"), 2), (json!(1.5), 2), (json!([1, "a"]), 7), (json!({}), 0), (json!(300), 5)]
        {
            assert!(from_json(&value, like).is_err(), "{value} {like}");
        }
        assert_eq!(to_json(&ParameterValue::BoolArray(vec![true])), json!([true]));
    }
}
