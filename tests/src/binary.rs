//! Programs of other packages that a test needs besides its own.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Builds the binary `name` of this workspace (nothing to do when it is fresh) and returns its path.
///
/// Cargo builds only the binaries of the package under test; `own` is one of those, from `env!("CARGO_BIN_EXE_…")`, and
/// tells target directory and profile.
///
/// # Panics
/// When it cannot be built: a test cannot go on without it.
pub fn sibling_binary(own: &str, name: &str) -> PathBuf {
    let folder = Path::new(own).parent().expect("a binary lies in a folder");
    let target = folder.parent().expect("a profile's folder lies in the target directory");
    build(target, folder, &["--bin", name]);
    folder.join(name)
}

/// Builds the example `name` of this package and returns its path, for tests that need a program of their own.
///
/// # Panics
/// When it cannot be built.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its file");
    let folder = test.ancestors().nth(2).expect("tests lie in target/<profile>/deps");
    let target = folder.parent().expect("a profile's folder lies in the target directory");
    build(target, folder, &["--example", name]);
    folder.join("examples").join(name)
}

/// Builds these binaries and returns the folder they lie in.
///
/// # Panics
/// When they cannot be built.
#[cfg(feature = "scenario")]
pub(crate) fn binaries(names: &[&str]) -> PathBuf {
    binaries_with(names, &[])
}

/// Builds these binaries with DDS Security and returns the folder they lie in: one of their own, because those without it
/// have the same names.
///
/// # Panics
/// When they cannot be built.
#[cfg(feature = "security")]
pub fn secured_binaries(names: &[&str]) -> PathBuf {
    // Tests of one process would put their links into each other's way.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = binaries_with(names, &["--features", "security"]);
    let own = folder.join("secured");
    std::fs::create_dir_all(&own).expect("the target directory can be written");
    for name in names {
        let link = own.join(name);
        let _ = std::fs::remove_file(&link);
        std::fs::hard_link(folder.join(name), link).expect("the target directory can be written");
    }
    own
}

#[cfg(feature = "scenario")]
fn binaries_with(names: &[&str], features: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its file");
    let folder = test.ancestors().nth(2).expect("tests lie in target/<profile>/deps");
    let target = folder.parent().expect("a profile's folder lies in the target directory");
    let names = names.iter().flat_map(|name| ["--bin", name]);
    build(target, folder, &features.iter().copied().chain(names).collect::<Vec<_>>());
    folder.to_owned()
}

fn build(target: &Path, folder: &Path, what: &[&str]) {
    let mut build = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    // Of the whole workspace, because one package alone would have features of its own, and everything below it is built again.
    // And with an example, because cargo chooses other features where nothing needs dev-dependencies, as tests do.
    build.args(["build", "--quiet", "--workspace", "--example", "controller"]);
    build.args(what).arg("--target-dir").arg(target);
    if folder.file_name().is_some_and(|profile| profile == "release") {
        build.arg("--release");
    }
    let output = build.output().expect("cargo can be started");
    assert!(output.status.success(), "cannot build {what:?}:\n{}", String::from_utf8_lossy(&output.stderr));
}
