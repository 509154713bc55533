//! Parameters as `rcl_interfaces` carries them.

use rosless_wire::{cdr::BoundedVec, rcl_interfaces::msg};

use super::{Change, Descriptor, NamedValue, ParameterError, ParameterValue, Range};

impl From<ParameterValue> for msg::ParameterValue {
    fn from(value: ParameterValue) -> Self {
        let mut message = Self { r#type: value.kind().id(), ..Self::default() };
        match value {
            ParameterValue::NotSet => {}
            ParameterValue::Bool(v) => message.bool_value = v,
            ParameterValue::Integer(v) => message.integer_value = v,
            ParameterValue::Double(v) => message.double_value = v,
            ParameterValue::String(v) => message.string_value = v,
            ParameterValue::ByteArray(v) => message.byte_array_value = v,
            ParameterValue::BoolArray(v) => message.bool_array_value = v,
            ParameterValue::IntegerArray(v) => message.integer_array_value = v,
            ParameterValue::DoubleArray(v) => message.double_array_value = v,
            ParameterValue::StringArray(v) => message.string_array_value = v,
        }
        message
    }
}

impl From<msg::ParameterValue> for ParameterValue {
    /// A type that nobody defined counts as not set.
    fn from(message: msg::ParameterValue) -> Self {
        match message.r#type {
            1 => Self::Bool(message.bool_value),
            2 => Self::Integer(message.integer_value),
            3 => Self::Double(message.double_value),
            4 => Self::String(message.string_value),
            5 => Self::ByteArray(message.byte_array_value),
            6 => Self::BoolArray(message.bool_array_value),
            7 => Self::IntegerArray(message.integer_array_value),
            8 => Self::DoubleArray(message.double_array_value),
            9 => Self::StringArray(message.string_array_value),
            _ => Self::NotSet,
        }
    }
}

pub(crate) fn named(message: msg::Parameter) -> NamedValue {
    (message.name, message.value.into())
}

pub(crate) fn parameters(values: &[NamedValue]) -> Vec<msg::Parameter> {
    let message =
        |(name, value): &NamedValue| msg::Parameter { name: name.clone(), value: value.clone().into() };
    values.iter().map(message).collect()
}

impl From<Descriptor> for msg::ParameterDescriptor {
    fn from(descriptor: Descriptor) -> Self {
        let mut message = Self {
            name: descriptor.name,
            r#type: descriptor.kind.id(),
            description: descriptor.description,
            additional_constraints: descriptor.additional_constraints,
            read_only: descriptor.read_only,
            dynamic_typing: descriptor.dynamic_typing,
            ..Self::default()
        };
        match descriptor.range {
            None => {}
            Some(Range::Integer { from, to, step }) => {
                message.integer_range =
                    BoundedVec::one(msg::IntegerRange { from_value: from, to_value: to, step });
            }
            Some(Range::Double { from, to, step }) => {
                let range = msg::FloatingPointRange { from_value: from, to_value: to, step };
                message.floating_point_range = BoundedVec::one(range);
            }
        }
        message
    }
}

impl From<&Change> for msg::ParameterEvent {
    /// Stamp and node are the publisher's to fill in.
    fn from(change: &Change) -> Self {
        Self {
            new_parameters: parameters(&change.new),
            changed_parameters: parameters(&change.changed),
            deleted_parameters: parameters(&change.deleted),
            ..Self::default()
        }
    }
}

pub(crate) fn set_result<T>(result: &Result<T, ParameterError>) -> msg::SetParametersResult {
    let reason = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
    msg::SetParametersResult { successful: result.is_ok(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::ParameterType;

    #[test]
    fn values_survive_the_way_through_the_message() {
        for value in [
            ParameterValue::NotSet,
            true.into(),
            (-5i64).into(),
            2.5.into(),
            "text".into(),
            vec![1u8, 2].into(),
            vec![true, false].into(),
            vec![1i64, -1].into(),
            vec![0.5, 1.5].into(),
            vec!["a".to_owned()].into(),
        ] {
            let message = msg::ParameterValue::from(value.clone());
            assert_eq!(message.r#type, value.kind().id());
            assert_eq!(ParameterValue::from(message), value);
        }
        let unknown = msg::ParameterValue { r#type: 77, bool_value: true, ..Default::default() };
        assert_eq!(ParameterValue::from(unknown), ParameterValue::NotSet);
    }

    #[test]
    fn descriptors_carry_their_range() {
        let descriptor =
            Descriptor { kind: ParameterType::Integer, ..Descriptor::new("a").integer_range(1, 9, 2) };
        let message = msg::ParameterDescriptor::from(descriptor);
        assert_eq!(
            (message.r#type, message.integer_range[0].to_value, message.integer_range[0].step),
            (2, 9, 2)
        );
        assert!(message.floating_point_range.is_empty());
    }
}
