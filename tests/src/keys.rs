//! Keystores for whoever is to be secured and is no ROS node.

use std::path::{Path, PathBuf};

use chrono::Utc;
use rosless_keystore::{Keystore, permissions::governance_xml};

use crate::Scratch;

/// A keystore for one domain in which topics need no permission: theirs have no names that ROS would give them.
///
/// # Panics
/// When it cannot be made: what is to be secured cannot go on without it.
pub fn keystore_for_any_topic(root: &Path, domain: u16, enclaves: &[&str], is_signed_only: bool) -> Keystore {
    let keystore = Keystore::create(root, domain, Utc::now()).expect("a keystore can be made");
    let mut governance = governance_xml(domain);
    for access in ["read", "write"] {
        let element = |value| format!("<enable_{access}_access_control>{value}<");
        governance = governance.replace(&element("true"), &element("false"));
    }
    if is_signed_only {
        governance = governance.replace("ENCRYPT", "SIGN");
    }
    keystore.set_governance(&governance).expect("the authority's key is there");
    for enclave in enclaves {
        keystore.create_enclave(enclave, domain, Utc::now()).expect("an enclave can be made");
    }
    keystore
}

/// Tells processes that a test starts where its keystores are.
const KEYS: &str = "ROSLESS_TEST_KEYS";

/// Where the keystores of this process and of those that it starts are, and how the latter are told.
pub fn keystores() -> (&'static str, PathBuf) {
    (KEYS, std::env::var_os(KEYS).map_or_else(|| Scratch::of_process().join("keys"), PathBuf::from))
}

/// The folder of an enclave for this domain, the same one in all processes of a test.
///
/// # Panics
/// As above.
pub fn enclave(domain: u16) -> PathBuf {
    let root = keystores().1.join(domain.to_string());
    if !root.exists() {
        keystore_for_any_topic(&root, domain, &["/test"], false);
    }
    root.join("enclaves/test")
}
