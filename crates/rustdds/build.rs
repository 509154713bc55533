//! Takes the source of the pinned RustDDS release from where cargo unpacked it, adds the modules of `patches/new`,
//! applies `patches/*.patch` in order and leaves the result in OUT_DIR, from where `src/lib.rs` includes it.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=patches");
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={}", error.to_string().replace('\n', " | "));
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<()> {
    let out = PathBuf::from(variable("OUT_DIR")?).join("rustdds");
    if out.exists() {
        fs::remove_dir_all(&out).map_err(|e| format!("cannot clear {}: {e}", out.display()))?;
    }
    copy(&upstream_source()?, &out.join("src"))?;

    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("patches");
    let modules = folder.join("new");
    if modules.is_dir() {
        copy(&modules, &out.join("src"))?;
    }
    let mut patches = fs::read_dir(&folder)
        .map_err(|e| format!("cannot list {}: {e}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    patches.retain(|path| path.extension().is_some_and(|extension| extension == "patch"));
    patches.sort();
    for patch in patches {
        apply(&patch, &out)?;
    }

    let root = out.join("src/lib.rs");
    fs::write(&root, without_inner_attributes(&read(&root)?)?)?;
    Ok(())
}

/// The `src` folder of the pinned release. It is an optional dependency that is never compiled: cargo downloads and
/// verifies it like any other, and `cargo metadata` tells where it is.
fn upstream_source() -> Result<PathBuf> {
    // What `cargo fetch` or an earlier build brought is enough; the network is the second choice.
    let metadata = metadata(&["--offline"]).or_else(|offline| {
        metadata(&[]).map_err(|online| {
            format!(
                "cannot get the source of RustDDS. Run `cargo fetch` once with network access, then build again. \
                 Without network: {offline}. With network: {online}"
            )
        })
    })?;
    let metadata: serde_json::Value = serde_json::from_slice(&metadata)?;
    let manifest = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "rustdds" && package["source"].is_string())
        .and_then(|package| package["manifest_path"].as_str())
        .ok_or(
            "`cargo metadata` does not list the package rustdds; is the dependency `upstream` in Cargo.toml?",
        )?;
    Ok(Path::new(manifest).with_file_name("src"))
}

fn metadata(extra: &[&str]) -> std::result::Result<Vec<u8>, String> {
    let variable = |name| variable(name).map_err(|e| e.to_string());
    let output = Command::new(variable("CARGO")?)
        .args(["metadata", "--format-version", "1", "--features", "upstream"])
        .args(["--filter-platform", &variable("TARGET")?])
        .args(extra)
        .current_dir(variable("CARGO_MANIFEST_DIR")?)
        .output()
        .map_err(|e| format!("cannot run `cargo metadata`: {e}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Applies one patch file, which may touch several files, to the tree at `root`.
fn apply(patch_file: &Path, root: &Path) -> Result<()> {
    let name = patch_file.display();
    let text = read(patch_file)?;
    // What precedes the first file is the header for people.
    for part in text.split("\ndiff --git ").skip(1) {
        let diff = part.find("--- ").map(|start| &part[start..]).ok_or(format!("{name}: no `---` line"))?;
        let diff = format!("{}\n", diff.trim_end_matches('\n')); // the split took the last line's end
        let patch = diffy::Patch::from_str(&diff).map_err(|e| format!("{name}: {e}"))?;
        let file = patch
            .modified()
            .and_then(|path| path.strip_prefix("b/"))
            .ok_or(format!("{name}: the `+++` line must name a file as b/…"))?;
        let target = root.join(file);
        let patched = diffy::apply(&read(&target)?, &patch)
            .map_err(|e| format!("{name} does not apply to {file} of the pinned RustDDS: {e}"))?;
        fs::write(&target, patched).map_err(|e| format!("cannot write {}: {e}", target.display()))?;
    }
    Ok(())
}

/// Removes inner documentation and inner attributes, which an included file must not have, from the file's beginning,
/// the only place where they can be.
fn without_inner_attributes(source: &str) -> Result<String> {
    let mut rest = source;
    let mut kept = String::new();
    loop {
        let start = rest.len() - rest.trim_start().len();
        let (blank, code) = rest.split_at(start);
        let item = if code.starts_with("//") {
            code.find('\n').map_or(code.len(), |end| end + 1)
        } else if code.starts_with("/*") {
            code.find("*/").ok_or("lib.rs of RustDDS: a comment does not end")? + 2
        } else if code.starts_with("#![") {
            attribute_length(code).ok_or("lib.rs of RustDDS: an inner attribute does not end")?
        } else {
            kept.push_str(rest);
            return Ok(kept);
        };
        kept.push_str(blank);
        if !["//!", "/*!", "#!["].iter().any(|inner| code.starts_with(inner)) {
            kept.push_str(&code[..item]);
        }
        rest = &code[item..];
    }
}

/// Length of the attribute that `code` starts with; brackets in strings and line comments do not count.
fn attribute_length(code: &str) -> Option<usize> {
    let mut depth = 0;
    let mut chars = code.char_indices();
    while let Some((index, character)) = chars.next() {
        match character {
            '[' => depth += 1,
            ']' if depth == 1 => return Some(index + 1),
            ']' => depth -= 1,
            '"' => while !matches!(chars.next()?.1, '"') {},
            '/' if code[index..].starts_with("//") => while chars.next()?.1 != '\n' {},
            _ => {}
        }
    }
    None
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let context = |e| format!("cannot copy {} to {}: {e}", from.display(), to.display());
    fs::create_dir_all(to).map_err(context)?;
    for entry in fs::read_dir(from).map_err(context)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            // Not fs::copy: a read-only registry must not make the copy read-only.
            fs::write(&target, fs::read(entry.path())?).map_err(context)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    Ok(fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?)
}

fn variable(name: &str) -> Result<String> {
    Ok(env::var(name).map_err(|e| format!("cargo sets {name} for build scripts: {e}"))?)
}
