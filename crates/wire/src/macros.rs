//! The macros that tie a struct to its ROS name, hash and field order: for the packages of this crate, and for those that
//! `rosless_schema::build` makes of somebody's own definitions.

/// Implements `Cdr` field by field. An empty struct is one zero byte on the wire.
#[doc(hidden)]
#[macro_export]
macro_rules! cdr_struct {
    ($name:ty $(where $param:ident: $bound:path)? {}) => {
        impl$(<$param: $bound>)? $crate::cdr::Cdr for $name {
            const MIN_SIZE: usize = 1;

            fn end(&self, at: usize) -> usize {
                at + 1
            }

            fn encode(&self, encoder: &mut $crate::cdr::Encoder) {
                encoder.put(&[0]);
            }

            fn decode(decoder: &mut $crate::cdr::Decoder<'_>) -> ::std::result::Result<Self, $crate::cdr::Error> {
                decoder.take(1)?;
                ::std::result::Result::Ok(<Self as ::std::default::Default>::default())
            }
        }
    };
    (
        $name:ty $(where $param:ident: $bound:path)? { $($field:ident: $ty:ty),+ $(,)? }
        $($marker:ident: $value:expr)?
    ) => {
        impl$(<$param: $bound>)? $crate::cdr::Cdr for $name {
            const MIN_SIZE: usize = 0 $(+ <$ty as $crate::cdr::Cdr>::MIN_SIZE)+;

            fn end(&self, at: usize) -> usize {
                $(let at = $crate::cdr::Cdr::end(&self.$field, at);)+
                at
            }

            fn encode(&self, encoder: &mut $crate::cdr::Encoder) {
                $($crate::cdr::Cdr::encode(&self.$field, encoder);)+
            }

            fn decode(decoder: &mut $crate::cdr::Decoder<'_>) -> ::std::result::Result<Self, $crate::cdr::Error> {
                ::std::result::Result::Ok(Self { $($field: $crate::cdr::Cdr::decode(decoder)?,)+ $($marker: $value)? })
            }
        }
    };
}

/// One struct with everything a message needs.
#[doc(hidden)]
#[macro_export]
macro_rules! message {
    (
        @common [$($definitions:path)?] $name:ident, $type_name:expr, $hash:literal, $fields:tt
        { $($const:ident: $const_ty:ty = $value:expr),* $(,)? }
    ) => {
        $crate::macros::cdr_struct!($name $fields);

        impl $crate::Message for $name {
            const TYPE_NAME: &'static str = $type_name;
            const TYPE_HASH: &'static str = $hash;
            $(const DEFINITIONS: $crate::Definitions = $definitions;)?
        }

        $crate::macros::constants!($name $($const: $const_ty = $value),*);
    };
    // An empty struct has an octet in binary forms and nothing in readable ones.
    ($definitions:tt $(#[$attr:meta])* $name:ident, $type_name:expr, $hash:literal, {} $consts:tt) => {
        $(#[$attr])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct $name {}

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                $crate::macros::serialize_empty(stringify!($name), serializer)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> ::std::result::Result<Self, D::Error> {
                $crate::macros::deserialize_empty(deserializer).map(|()| $name {})
            }
        }

        $crate::macros::message!(@common $definitions $name, $type_name, $hash, {} $consts);
    };
    (
        $definitions:tt $(#[$attr:meta])* $name:ident, $type_name:expr, $hash:literal,
        { $($(#[$field_attr:meta])* $field:ident: $ty:ty $(= $default:expr)?),+ $(,)? } $consts:tt
    ) => {
        $(#[$attr])*
        #[derive(Debug, Clone, PartialEq, $crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(crate = "rosless_wire::serde")]
        #[allow(missing_docs, reason = "idl/ says what each field and constant means")]
        pub struct $name {
            $($(#[$field_attr])* pub $field: $ty,)+
        }

        impl ::std::default::Default for $name {
            fn default() -> Self {
                $name { $($field: $crate::macros::default_value!($($default)?),)+ }
            }
        }

        $crate::macros::message!(@common $definitions $name, $type_name, $hash, { $($field: $ty),+ } $consts);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! constants {
    ($name:ident) => {};
    ($name:ident $($const:ident: $const_ty:ty = $value:expr),+) => {
        #[allow(missing_docs, reason = "idl/ says what each field and constant means")]
        impl $name {
            $(pub const $const: $const_ty = $value;)+
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! default_value {
    () => {
        ::std::default::Default::default()
    };
    ($value:expr) => {
        $value
    };
}

/// The messages of one package: `struct Name = "hash" { fields } const { constants }`.
#[doc(hidden)]
#[macro_export]
macro_rules! messages {
    ($prefix:literal; $($rest:tt)*) => {
        $crate::macros::messages! { [] $prefix; $($rest)* }
    };
    ($definitions:tt $prefix:literal; $(
        $(#[$attr:meta])* struct $name:ident = $hash:literal { $($field:tt)* } $(const { $($const:tt)* })?
    )*) => {
        $($crate::macros::message!(
            $definitions $(#[$attr])* $name, concat!($prefix, stringify!($name)), $hash, { $($field)* } { $($($const)*)? }
        );)*

        /// Shows every type of this module to the visitor.
        pub fn visit(visitor: &mut impl $crate::registry::Visitor) {
            $(visitor.message::<$name>();)*
        }
    };
}

/// The services of one package: name, hash, then request, response and the event's hash.
#[doc(hidden)]
#[macro_export]
macro_rules! services {
    ($prefix:literal; $($rest:tt)*) => {
        $crate::macros::services! { [] $prefix; $($rest)* }
    };
    ($definitions:tt $prefix:literal; $(
        $(#[$attr:meta])*
        service $name:ident = $hash:literal {
            request $request:ident = $request_hash:literal { $($request_field:tt)* }
                $(const { $($request_const:tt)* })?
            response $response:ident = $response_hash:literal { $($response_field:tt)* }
                $(const { $($response_const:tt)* })?
            event = $event_hash:literal
        }
    )*) => {
        $(
            $(#[$attr])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
            pub struct $name;

            impl $crate::Service for $name {
                type Request = $request;
                type Response = $response;
                const TYPE_NAME: &'static str = concat!($prefix, stringify!($name));
                const TYPE_HASH: &'static str = $hash;
                const EVENT: $crate::TypeInfo =
                    $crate::TypeInfo { name: concat!($prefix, stringify!($name), "_Event"), hash: $event_hash };
            }

            $crate::macros::message!(
                $definitions #[doc = concat!("Request of [`", stringify!($name), "`].")]
                $request, concat!($prefix, stringify!($name), "_Request"), $request_hash,
                { $($request_field)* } { $($($request_const)*)? }
            );
            $crate::macros::message!(
                $definitions #[doc = concat!("Response of [`", stringify!($name), "`].")]
                $response, concat!($prefix, stringify!($name), "_Response"), $response_hash,
                { $($response_field)* } { $($($response_const)*)? }
            );
        )*

        /// Shows every type of this module to the visitor.
        pub fn visit(visitor: &mut impl $crate::registry::Visitor) {
            $(visitor.service::<$name>();)*
        }
    };
}

/// The actions of one package: name, hash, then goal, result, feedback and the hashes of what they imply.
#[doc(hidden)]
#[macro_export]
macro_rules! actions {
    ($prefix:literal; $($rest:tt)*) => {
        $crate::macros::actions! { [] $prefix; $($rest)* }
    };
    ($definitions:tt $prefix:literal; $(
        $(#[$attr:meta])*
        action $name:ident = $hash:literal {
            goal $goal:ident = $goal_hash:literal { $($goal_field:tt)* }
                $(const { $($goal_const:tt)* })?
            result $result:ident = $result_hash:literal { $($result_field:tt)* }
                $(const { $($result_const:tt)* })?
            feedback $feedback:ident = $feedback_hash:literal { $($feedback_field:tt)* }
                $(const { $($feedback_const:tt)* })?
            implied { $($info:ident $suffix:literal = $info_hash:literal)* }
        }
    )*) => {
        $(
            $(#[$attr])*
            #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
            pub struct $name;

            impl $crate::Action for $name {
                type Goal = $goal;
                type Result = $result;
                type Feedback = $feedback;
                const TYPE_NAME: &'static str = concat!($prefix, stringify!($name));
                const TYPE_HASH: &'static str = $hash;
                $(const $info: $crate::TypeInfo =
                    $crate::TypeInfo { name: concat!($prefix, stringify!($name), $suffix), hash: $info_hash };)*
            }

            $crate::macros::message!(
                $definitions #[doc = concat!("Goal of [`", stringify!($name), "`].")]
                $goal, concat!($prefix, stringify!($name), "_Goal"), $goal_hash,
                { $($goal_field)* } { $($($goal_const)*)? }
            );
            $crate::macros::message!(
                $definitions #[doc = concat!("Result of [`", stringify!($name), "`].")]
                $result, concat!($prefix, stringify!($name), "_Result"), $result_hash,
                { $($result_field)* } { $($($result_const)*)? }
            );
            $crate::macros::message!(
                $definitions #[doc = concat!("Feedback of [`", stringify!($name), "`].")]
                $feedback, concat!($prefix, stringify!($name), "_Feedback"), $feedback_hash,
                { $($feedback_field)* } { $($($feedback_const)*)? }
            );
        )*

        /// Shows every type of this module to the visitor.
        pub fn visit(visitor: &mut impl $crate::registry::Visitor) {
            $(visitor.action::<$name>();)*
        }
    };
}

/// Declares the package modules and the walk over all of them in one go, so that none can be forgotten.
macro_rules! packages {
    ($($package:ident { $($kind:ident)+ })+) => {
        $(pub mod $package;)+

        pub(crate) fn visit_packages(visitor: &mut impl $crate::registry::Visitor) {
            $($($package::$kind::visit(visitor);)+)+
        }
    };
}

pub(crate) use packages;
pub use {actions, cdr_struct, constants, default_value, message, messages, services};

/// Serializes an empty struct: one octet in binary forms, as every middleware sends it.
pub fn serialize_empty<S: serde::Serializer>(name: &'static str, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        serde::ser::SerializeStruct::end(serializer.serialize_struct(name, 0)?)
    } else {
        serializer.serialize_u8(0)
    }
}

/// The way back from [`serialize_empty`].
pub fn deserialize_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    #[derive(serde::Deserialize)]
    struct Readable {}

    if deserializer.is_human_readable() {
        serde::Deserialize::deserialize(deserializer).map(|Readable {}| ())
    } else {
        serde::Deserialize::deserialize(deserializer).map(|_: u8| ())
    }
}
