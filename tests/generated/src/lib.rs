//! Definitions that `idl/` has no example of, as somebody's own crate makes its types.
#![forbid(unsafe_code)]

include!(concat!(env!("OUT_DIR"), "/interfaces.rs"));
