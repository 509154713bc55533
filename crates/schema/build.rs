//! Writes the tables of all definitions below `idl/` and `distributions/` so that they travel inside the binary.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "cargo reads it")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let idl = manifest.join("../../idl");
    let distributions = manifest.join("distributions");
    for folder in [&idl, &distributions] {
        println!("cargo:rerun-if-changed={}", folder.display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded.rs"), table(&idl)).expect("OUT_DIR is writable");
    let mut variants = String::from("[\n");
    for distribution in sorted_entries(&distributions) {
        let name = distribution.file_name().expect("listed").to_string_lossy();
        writeln!(variants, "({name:?}, &{}),", table(&distribution)).expect("memory");
    }
    variants.push(']');
    fs::write(out.join("distributions.rs"), variants).expect("OUT_DIR is writable");
}

/// The definitions of the packages in a folder, as an array of `("package/kind/Name", text)`.
fn table(folder: &Path) -> String {
    let mut table = String::from("[\n");
    for package in sorted_entries(folder) {
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
    table
}

fn sorted_entries(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(dir).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default();
    entries.sort();
    entries
}
