//! What `ros2 security` makes, without ROS: keystores whose enclaves every RMW can use.
//!
//! | what | where |
//! |---|---|
//! | who may do what, in names of ROS | [`policy`] |
//! | the same in DDS's words, as the middleware reads it | [`permissions`] |
//! | folders, keys, certificates and signatures (feature `signing`, which links OpenSSL) | `Keystore` |
//!
//! The first two are text in, text out; time is an argument.
//!
//! ```
//! use rosless_keystore::{permissions::governance_xml, policy::{Enclave, Policy}};
//!
//! let policy = Policy { enclaves: vec![Enclave::of_everything("/lab/arm")] };
//! let again = Policy::parse(&policy.to_xml(), |_| Err("nothing is included".to_owned())).unwrap();
//! assert_eq!(again, policy);
//! assert!(governance_xml(3).contains("<id>3</id>"));
//! ```
#![forbid(unsafe_code)]

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
