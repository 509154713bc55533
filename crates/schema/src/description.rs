//! Type descriptions as `type_description_interfaces` defines them, and their RIHS01 hash.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::definition::{Arity, BaseType, Field, FieldType, Literal, Primitive, Structure};
use crate::python;

/// The member rosidl puts into a structure that has none.
const PLACEHOLDER: &str = "structure_needs_at_least_one_member";

const NESTED: u8 = 1;
const STRING: u8 = 17;
const WSTRING: u8 = 18;
const BOUNDED_STRING: u8 = 21;
const BOUNDED_WSTRING: u8 = 22;
/// Ids of arrays, bounded and unbounded sequences are the element's id plus one, two or three times this.
const CONTAINER_STEP: u8 = 48;

/// A type and every type it needs; same names and order of fields as `type_description_interfaces`, so that it
/// converts to and from that message through serde.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeDescription {
    /// The type itself.
    pub type_description: IndividualTypeDescription,
    /// Sorted by name.
    pub referenced_type_descriptions: Vec<IndividualTypeDescription>,
}

/// One type, without those it refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndividualTypeDescription {
    /// `pkg/msg/Type`.
    pub type_name: String,
    /// In the order of the wire.
    pub fields: Vec<FieldDescription>,
}

/// A field of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldDescription {
    /// As the definition has it.
    pub name: String,
    /// What it holds.
    #[serde(rename = "type")]
    pub ty: FieldTypeDescription,
    /// As Python prints the value; not part of the hash.
    pub default_value: String,
}

/// The type of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldTypeDescription {
    /// A number of `type_description_interfaces/msg/FieldType`.
    pub type_id: u8,
    /// Elements of an array, or the most of a bounded sequence; else 0.
    pub capacity: u64,
    /// The longest of a bounded string; else 0.
    pub string_capacity: u64,
    /// Of a message; else empty.
    pub nested_type_name: String,
}

impl TypeDescription {
    /// `RIHS01_` and 64 hex digits: SHA-256 over the description as Python's `json.dumps` writes it, without
    /// default values.
    pub fn rihs01(&self) -> String {
        let mut json = String::from("{\"type_description\": ");
        self.type_description.write_canonical(&mut json);
        json.push_str(", \"referenced_type_descriptions\": [");
        for (index, referenced) in self.referenced_type_descriptions.iter().enumerate() {
            json.push_str(if index > 0 { ", " } else { "" });
            referenced.write_canonical(&mut json);
        }
        json.push_str("]}");
        let mut hash = String::from("RIHS01_");
        for byte in Sha256::digest(json.as_bytes()) {
            let _ = write!(hash, "{byte:02x}");
        }
        hash
    }
}

impl IndividualTypeDescription {
    pub(crate) fn of(structure: &Structure) -> Self {
        let mut fields: Vec<_> = structure.fields.iter().map(FieldDescription::of).collect();
        if fields.is_empty() {
            fields.push(FieldDescription {
                name: PLACEHOLDER.to_owned(),
                ty: FieldTypeDescription { type_id: Primitive::Uint8.type_id(), ..Default::default() },
                default_value: String::new(),
            });
        }
        Self { type_name: structure.name.clone(), fields }
    }

    /// The structure that is described, or what is wrong with the description.
    pub(crate) fn to_structure(&self) -> Result<Structure, String> {
        let is_placeholder = |f: &FieldDescription| f.name == PLACEHOLDER;
        let fields = self
            .fields
            .iter()
            .filter(|f| !is_placeholder(f))
            .map(|f| {
                let ty = f.ty.to_field_type().map_err(|e| format!("field '{}': {e}", f.name))?;
                Ok(Field { name: f.name.clone(), ty, default: None })
            })
            .collect::<Result<Vec<_>, String>>()?;
        Ok(Structure { name: self.type_name.clone(), fields, constants: Vec::new() })
    }

    fn write_canonical(&self, json: &mut String) {
        let _ = write!(json, "{{\"type_name\": {}, \"fields\": [", json_string(&self.type_name));
        for (index, field) in self.fields.iter().enumerate() {
            let _ = write!(
                json,
                "{}{{\"name\": {}, \"type\": {{\"type_id\": {}, \"capacity\": {}, \"string_capacity\": {}, \
                 \"nested_type_name\": {}}}}}",
                if index > 0 { ", " } else { "" },
                json_string(&field.name),
                field.ty.type_id,
                field.ty.capacity,
                field.ty.string_capacity,
                json_string(&field.ty.nested_type_name),
            );
        }
        json.push_str("]}");
    }
}

impl FieldDescription {
    fn of(field: &Field) -> Self {
        Self {
            name: field.name.clone(),
            ty: FieldTypeDescription::of(&field.ty),
            default_value: match &field.default {
                // rosidl carries text as it is, without the quotes Python's repr would add.
                Some(Literal::String(text)) => text.clone(),
                Some(literal) => python::literal(literal),
                None => String::new(),
            },
        }
    }
}

impl FieldTypeDescription {
    fn of(ty: &FieldType) -> Self {
        let (base_id, string_capacity, nested_type_name) = match &ty.base {
            BaseType::Primitive(p) => (p.type_id(), 0, String::new()),
            BaseType::String { bound: None } => (STRING, 0, String::new()),
            BaseType::WString { bound: None } => (WSTRING, 0, String::new()),
            BaseType::String { bound: Some(n) } => (BOUNDED_STRING, u64::from(*n), String::new()),
            BaseType::WString { bound: Some(n) } => (BOUNDED_WSTRING, u64::from(*n), String::new()),
            BaseType::Message(name) => (NESTED, 0, name.clone()),
        };
        let (container, capacity) = match ty.arity {
            Arity::One => (0, 0),
            Arity::Array(n) => (1, u64::from(n)),
            Arity::Bounded(n) => (2, u64::from(n)),
            Arity::Unbounded => (3, 0),
        };
        Self { type_id: base_id + container * CONTAINER_STEP, capacity, string_capacity, nested_type_name }
    }

    fn to_field_type(&self) -> Result<FieldType, String> {
        let size = |n: u64| match u32::try_from(n) {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(format!("{n} is not a size")),
        };
        // Base ids run from 1, so that the step before an exact multiple still belongs to the lower container.
        let container = self.type_id.saturating_sub(1) / CONTAINER_STEP;
        let arity = match container {
            0 => Arity::One,
            1 => Arity::Array(size(self.capacity)?),
            2 => Arity::Bounded(size(self.capacity)?),
            _ => Arity::Unbounded,
        };
        let base = match self.type_id - container * CONTAINER_STEP {
            NESTED => BaseType::Message(self.nested_type_name.clone()),
            STRING => BaseType::String { bound: None },
            WSTRING => BaseType::WString { bound: None },
            BOUNDED_STRING => BaseType::String { bound: Some(size(self.string_capacity)?) },
            BOUNDED_WSTRING => BaseType::WString { bound: Some(size(self.string_capacity)?) },
            id => BaseType::Primitive(
                Primitive::from_type_id(id)
                    .ok_or_else(|| format!("type_id {} is not supported", self.type_id))?,
            ),
        };
        Ok(FieldType { base, arity })
    }
}

/// A JSON string with everything outside ASCII escaped, as Python's `ensure_ascii` does.
fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
    out
}
