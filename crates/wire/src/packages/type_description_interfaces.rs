//! `type_description_interfaces`: descriptions of types.

/// Messages.
pub mod msg {
    use crate::cdr::BoundedString;
    use crate::macros::messages;

    messages! { "type_description_interfaces/msg/";
        /// One field of a described type.
        struct Field = "RIHS01_c0b01379cd4226281285ccaf6be46653968f855f7c5e41614ff5d7a854efef7c" {
            name: String,
            r#type: FieldType,
            default_value: String,
        }

        /// Type of a field: a code, and the sizes or name that complete it.
        struct FieldType = "RIHS01_a70b6dd919645a03a3586f7f821defbc886ea3e531a1d95cc0f380a3973ccaa6" {
            type_id: u8,
            capacity: u64,
            string_capacity: u64,
            nested_type_name: BoundedString<255>,
        } const {
            FIELD_TYPE_NOT_SET: u8 = 0,
            FIELD_TYPE_NESTED_TYPE: u8 = 1,
            FIELD_TYPE_INT8: u8 = 2,
            FIELD_TYPE_UINT8: u8 = 3,
            FIELD_TYPE_INT16: u8 = 4,
            FIELD_TYPE_UINT16: u8 = 5,
            FIELD_TYPE_INT32: u8 = 6,
            FIELD_TYPE_UINT32: u8 = 7,
            FIELD_TYPE_INT64: u8 = 8,
            FIELD_TYPE_UINT64: u8 = 9,
            FIELD_TYPE_FLOAT: u8 = 10,
            FIELD_TYPE_DOUBLE: u8 = 11,
            FIELD_TYPE_LONG_DOUBLE: u8 = 12,
            FIELD_TYPE_CHAR: u8 = 13,
            FIELD_TYPE_WCHAR: u8 = 14,
            FIELD_TYPE_BOOLEAN: u8 = 15,
            FIELD_TYPE_BYTE: u8 = 16,
            FIELD_TYPE_STRING: u8 = 17,
            FIELD_TYPE_WSTRING: u8 = 18,
            FIELD_TYPE_FIXED_STRING: u8 = 19,
            FIELD_TYPE_FIXED_WSTRING: u8 = 20,
            FIELD_TYPE_BOUNDED_STRING: u8 = 21,
            FIELD_TYPE_BOUNDED_WSTRING: u8 = 22,
            FIELD_TYPE_NESTED_TYPE_ARRAY: u8 = 49,
            FIELD_TYPE_INT8_ARRAY: u8 = 50,
            FIELD_TYPE_UINT8_ARRAY: u8 = 51,
            FIELD_TYPE_INT16_ARRAY: u8 = 52,
            FIELD_TYPE_UINT16_ARRAY: u8 = 53,
            FIELD_TYPE_INT32_ARRAY: u8 = 54,
            FIELD_TYPE_UINT32_ARRAY: u8 = 55,
            FIELD_TYPE_INT64_ARRAY: u8 = 56,
            FIELD_TYPE_UINT64_ARRAY: u8 = 57,
            FIELD_TYPE_FLOAT_ARRAY: u8 = 58,
            FIELD_TYPE_DOUBLE_ARRAY: u8 = 59,
            FIELD_TYPE_LONG_DOUBLE_ARRAY: u8 = 60,
            FIELD_TYPE_CHAR_ARRAY: u8 = 61,
            FIELD_TYPE_WCHAR_ARRAY: u8 = 62,
            FIELD_TYPE_BOOLEAN_ARRAY: u8 = 63,
            FIELD_TYPE_BYTE_ARRAY: u8 = 64,
            FIELD_TYPE_STRING_ARRAY: u8 = 65,
            FIELD_TYPE_WSTRING_ARRAY: u8 = 66,
            FIELD_TYPE_FIXED_STRING_ARRAY: u8 = 67,
            FIELD_TYPE_FIXED_WSTRING_ARRAY: u8 = 68,
            FIELD_TYPE_BOUNDED_STRING_ARRAY: u8 = 69,
            FIELD_TYPE_BOUNDED_WSTRING_ARRAY: u8 = 70,
            FIELD_TYPE_NESTED_TYPE_BOUNDED_SEQUENCE: u8 = 97,
            FIELD_TYPE_INT8_BOUNDED_SEQUENCE: u8 = 98,
            FIELD_TYPE_UINT8_BOUNDED_SEQUENCE: u8 = 99,
            FIELD_TYPE_INT16_BOUNDED_SEQUENCE: u8 = 100,
            FIELD_TYPE_UINT16_BOUNDED_SEQUENCE: u8 = 101,
            FIELD_TYPE_INT32_BOUNDED_SEQUENCE: u8 = 102,
            FIELD_TYPE_UINT32_BOUNDED_SEQUENCE: u8 = 103,
            FIELD_TYPE_INT64_BOUNDED_SEQUENCE: u8 = 104,
            FIELD_TYPE_UINT64_BOUNDED_SEQUENCE: u8 = 105,
            FIELD_TYPE_FLOAT_BOUNDED_SEQUENCE: u8 = 106,
            FIELD_TYPE_DOUBLE_BOUNDED_SEQUENCE: u8 = 107,
            FIELD_TYPE_LONG_DOUBLE_BOUNDED_SEQUENCE: u8 = 108,
            FIELD_TYPE_CHAR_BOUNDED_SEQUENCE: u8 = 109,
            FIELD_TYPE_WCHAR_BOUNDED_SEQUENCE: u8 = 110,
            FIELD_TYPE_BOOLEAN_BOUNDED_SEQUENCE: u8 = 111,
            FIELD_TYPE_BYTE_BOUNDED_SEQUENCE: u8 = 112,
            FIELD_TYPE_STRING_BOUNDED_SEQUENCE: u8 = 113,
            FIELD_TYPE_WSTRING_BOUNDED_SEQUENCE: u8 = 114,
            FIELD_TYPE_FIXED_STRING_BOUNDED_SEQUENCE: u8 = 115,
            FIELD_TYPE_FIXED_WSTRING_BOUNDED_SEQUENCE: u8 = 116,
            FIELD_TYPE_BOUNDED_STRING_BOUNDED_SEQUENCE: u8 = 117,
            FIELD_TYPE_BOUNDED_WSTRING_BOUNDED_SEQUENCE: u8 = 118,
            FIELD_TYPE_NESTED_TYPE_UNBOUNDED_SEQUENCE: u8 = 145,
            FIELD_TYPE_INT8_UNBOUNDED_SEQUENCE: u8 = 146,
            FIELD_TYPE_UINT8_UNBOUNDED_SEQUENCE: u8 = 147,
            FIELD_TYPE_INT16_UNBOUNDED_SEQUENCE: u8 = 148,
            FIELD_TYPE_UINT16_UNBOUNDED_SEQUENCE: u8 = 149,
            FIELD_TYPE_INT32_UNBOUNDED_SEQUENCE: u8 = 150,
            FIELD_TYPE_UINT32_UNBOUNDED_SEQUENCE: u8 = 151,
            FIELD_TYPE_INT64_UNBOUNDED_SEQUENCE: u8 = 152,
            FIELD_TYPE_UINT64_UNBOUNDED_SEQUENCE: u8 = 153,
            FIELD_TYPE_FLOAT_UNBOUNDED_SEQUENCE: u8 = 154,
            FIELD_TYPE_DOUBLE_UNBOUNDED_SEQUENCE: u8 = 155,
            FIELD_TYPE_LONG_DOUBLE_UNBOUNDED_SEQUENCE: u8 = 156,
            FIELD_TYPE_CHAR_UNBOUNDED_SEQUENCE: u8 = 157,
            FIELD_TYPE_WCHAR_UNBOUNDED_SEQUENCE: u8 = 158,
            FIELD_TYPE_BOOLEAN_UNBOUNDED_SEQUENCE: u8 = 159,
            FIELD_TYPE_BYTE_UNBOUNDED_SEQUENCE: u8 = 160,
            FIELD_TYPE_STRING_UNBOUNDED_SEQUENCE: u8 = 161,
            FIELD_TYPE_WSTRING_UNBOUNDED_SEQUENCE: u8 = 162,
            FIELD_TYPE_FIXED_STRING_UNBOUNDED_SEQUENCE: u8 = 163,
            FIELD_TYPE_FIXED_WSTRING_UNBOUNDED_SEQUENCE: u8 = 164,
            FIELD_TYPE_BOUNDED_STRING_UNBOUNDED_SEQUENCE: u8 = 165,
            FIELD_TYPE_BOUNDED_WSTRING_UNBOUNDED_SEQUENCE: u8 = 166,
        }

        /// Name and fields of one type.
        struct IndividualTypeDescription = "RIHS01_55c827d86c3c141bdd318fe6c22e11190e4d3b37c8f4f9751a084aa05ce96560" {
            type_name: BoundedString<255>,
            fields: Vec<Field>,
        }

        /// One named text.
        struct KeyValue = "RIHS01_274fe56bf14f33c7512e34c646a37579ee36779f745f049a9760763e817f0c42" {
            key: String,
            value: String,
        }

        /// A type with every type it refers to, sorted by name.
        struct TypeDescription = "RIHS01_739f2508c9fa3a6f330913ff5b9d25fb74159a077da71e1087f51a60c12a080b" {
            type_description: IndividualTypeDescription,
            referenced_type_descriptions: Vec<IndividualTypeDescription>,
        }

        /// The text a type was generated from.
        struct TypeSource = "RIHS01_faeaec7596c04ecf5b6e99ad225e4c7cbb997ad5435f793526fb3984d011aae5" {
            type_name: String,
            encoding: String,
            raw_file_contents: String,
        }
    }
}

/// Services.
pub mod srv {
    use crate::type_description_interfaces::msg::{KeyValue, TypeDescription, TypeSource};
    use crate::macros::services;

    services! { "type_description_interfaces/srv/";
        /// Asks a node for the description of a type it uses.
        service GetTypeDescription = "RIHS01_69b9c19c1021405984cc60dbbb1edceb147a6538b411d812ba6afabeed962cd5" {
            request GetTypeDescriptionRequest = "RIHS01_470f56ccbcf13d55c78c8b735fb12da03e639e5acded994426c89d94778d9e28" {
                type_name: String,
                type_hash: String,
                include_type_sources: bool = true,
            }
            response GetTypeDescriptionResponse = "RIHS01_648c49d976240861a482f961c5621ddd0d2135d8cce6f297a76d4f6376d93b75" {
                successful: bool,
                failure_reason: String,
                type_description: TypeDescription,
                type_sources: Vec<TypeSource>,
                extra_information: Vec<KeyValue>,
            }
            event = "RIHS01_491e3350e7a0b11918fb16a523cf01a22d76fdaa53c43b52164fea14aabb5612"
        }
    }
}
