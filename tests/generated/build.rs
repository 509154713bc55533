//! Makes Rust types of all of `idl/`, as the build script of any crate makes its own.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use rosless_schema::{Registry, Source, generate};

/// Refused, because ROS middlewares disagree on the bytes of wide strings.
const WITHOUT_RUST_TYPE: &str = "example_interfaces/msg/WString";

fn main() {
    let embedded = Registry::embedded();
    let mut own = Registry::new();
    let mut modules = BTreeSet::new();
    for full_name in embedded.names().into_iter().filter(|name| *name != WITHOUT_RUST_TYPE) {
        let (kind, text) = embedded.source(full_name).expect("listed");
        let [package, folder, name] = full_name.split('/').collect::<Vec<_>>()[..] else {
            panic!("{full_name}")
        };
        own.add_source(Source { kind, package, name, file: full_name, text });
        modules.insert(format!("{package}::{folder}"));
    }
    let mut text = generate(&own).expect("all of idl/ has a Rust form");
    text.push_str("/// Shows every type to the visitor.\npub fn visit_all(visitor: &mut impl rosless_wire::registry::Visitor) {\n");
    for module in modules {
        writeln!(text, "    {module}::visit(visitor);").expect("memory");
    }
    text.push_str("}\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("idl.rs"), text).expect("OUT_DIR is writable");
    // And what idl/ has no example of, the usual way.
    rosless_schema::build::interfaces_or_exit(&["exotic"]);
}
