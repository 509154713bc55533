//! What `ros2 security` makes, without ROS: keystores whose enclaves every RMW can use.
//!
//! | what | where |
//! |---|---|
//! | who may do what, in names of ROS | [`policy`] |
//! | the same in DDS's words, as the middleware reads it | [`permissions`] |
//! | folders, keys, certificates and signatures (feature `signing`, which links OpenSSL) | `Keystore` |
//!
//! The first two are text in, text out; time is an argument.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(feature = "signing")]
mod check;
#[cfg(feature = "signing")]
mod keystore;
pub mod permissions;
pub mod policy;
#[cfg(feature = "signing")]
mod signing;

#[cfg(feature = "signing")]
pub use check::{Finding, Level};
#[cfg(feature = "signing")]
pub use keystore::{Error, Keystore};
