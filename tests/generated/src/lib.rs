//! The types of `idl/`, made by `rosless_schema` instead of written by hand.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/idl.rs"));

/// What `idl/` has no example of.
pub mod exotic {
    include!(concat!(env!("OUT_DIR"), "/interfaces.rs"));
}
