//! What the tests of every crate share: a DDS domain of their own, waiting with a deadline, and child processes that never outlive a test.
#![allow(missing_docs, reason = "tools of our own tests: what is not plain from its name has a sentence")]

pub mod bench;
mod binary;
#[cfg(feature = "browser")]
mod browser;
mod clients;
mod domain;
mod foreign;
mod hosts;
mod json_page;
mod judge;
#[cfg(feature = "security")]
mod keys;
mod process;
#[cfg(feature = "scenario")]
mod rig;
#[cfg(feature = "scenario")]
pub mod scenario;
mod scratch;
pub mod soak;
mod ur;
mod usage;
mod wait;

#[cfg(feature = "security")]
pub use binary::secured_binaries;
pub use binary::{example, sibling_binary};
#[cfg(feature = "browser")]
pub use browser::Browser;
pub use clients::FoxgloveClient;
pub use domain::DomainLease;
pub use foreign::{ForeignEndpoint, ForeignPeer, ForeignSample, Vendor};
pub use hosts::TwoHosts;
pub use json_page::assert_documented;
pub use judge::{BagJudge, NatnetJudge};
#[cfg(feature = "security")]
pub use keys::{enclave, keystore_for_any_topic, keystores};
pub use process::{Daemon, words};
#[cfg(feature = "scenario")]
pub use rig::Rig;
pub use scratch::Scratch;
pub use ur::{SimUr, ur_rtde_reads};
pub use usage::{ThreadUsage, Usage};
pub use wait::{eventually, eventually_some};
