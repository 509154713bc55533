//! Writes the table of all definitions below `idl/` so that they travel inside the binary.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "cargo reads it")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let idl = manifest.join("../../idl");
    println!("cargo:rerun-if-changed={}", idl.display());

    let mut table = String::from("[\n");
    for package in sorted_entries(&idl) {
        for kind in ["msg", "srv", "action"] {
            for file in sorted_entries(&package.join(kind)) {
                if file.extension().is_some_and(|e| e == kind) {
                    let name = file.file_stem().expect("has an extension").to_string_lossy();
                    let package = package.file_name().expect("listed").to_string_lossy();
                    let path = file.canonicalize().expect("listed");
                    writeln!(table, "(\"{package}/{kind}/{name}\", include_str!({path:?})),")
                        .expect("memory");
                }
            }
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded.rs"), table).expect("OUT_DIR is writable");
}

fn sorted_entries(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(dir).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default();
    entries.sort();
    entries
}
