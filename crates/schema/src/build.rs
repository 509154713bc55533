//! For build scripts: `.msg`, `.srv` and `.action` files of a crate become Rust types of that crate.
//!
//! In `build.rs`:
//!
//! ```no_run
//! rosless_schema::build::interfaces_or_exit(&["interfaces"]);
//! ```
//!
//! and in `src/lib.rs`, with `interfaces/my_interfaces/msg/Reading.msg` there:
//!
//! ```ignore
//! include!(concat!(env!("OUT_DIR"), "/interfaces.rs"));
//! use my_interfaces::msg::Reading;
//! ```
//!
//! The types are what those of `rosless_wire` are: same traits, same bytes, same hashes as rosidl gives them. A crate that
//! does this has `rosless-wire` among its dependencies and `rosless-schema` among its build dependencies.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::registry::{Registry, SchemaError};
use crate::rust;

/// Writes `interfaces.rs` into cargo's `OUT_DIR`: the types of all definitions below the folders, each of which is a package,
/// holds packages or is a ROS prefix ([`Registry::load_dir`]). Cargo runs the script again when a file changes.
///
/// What is wrong is told as cargo shows it, with file and line, and ends the build.
pub fn interfaces_or_exit(folders: &[impl AsRef<Path>]) {
    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    let result = match out {
        Some(out) => interfaces(folders, &out.join("interfaces.rs")),
        None => Err(SchemaError::File {
            path: "OUT_DIR".to_owned(),
            message: "not set; call this from a build script".to_owned(),
        }),
    };
    let mut stdout = io::stdout().lock();
    for folder in folders {
        // A closed pipe: cargo has gone, and nobody is left to tell.
        let _ = writeln!(stdout, "cargo::rerun-if-changed={}", folder.as_ref().display());
    }
    if let Err(error) = result {
        let _ = writeln!(stdout, "cargo::error={}", error.to_string().replace('\n', " "));
        drop(stdout);
        std::process::exit(1);
    }
}

fn interfaces(folders: &[impl AsRef<Path>], file: &Path) -> Result<(), SchemaError> {
    let mut own = Registry::new();
    for folder in folders {
        own.load_dir(folder.as_ref())?;
    }
    let text = rust::generate(&own)?;
    fs::write(file, text)
        .map_err(|e| SchemaError::File { path: file.display().to_string(), message: e.to_string() })
}
