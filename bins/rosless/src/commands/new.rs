//! `rosless new`: a crate with a node, a test and interfaces of its own, ready to build.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use rosless_schema::is_keyword;
use serde_json::json;

use crate::{
    Environment,
    failure::{Failure, Result},
    output,
};

/// Make a crate with a node of your own: messages, a service, an action, parameters, a lifecycle and a test.
///
/// Its `.msg`, `.srv` and `.action` files become Rust types when it is built.
#[derive(Args, Debug)]
pub(crate) struct New {
    /// Name of the node, its crate and its folder: lower case letters, digits and single underscores
    name: String,
    /// Make the folder here instead of in the current directory
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    into: PathBuf,
    /// The sources of rosless: a folder, or the URL of a git repository. Found by themselves where this program lies in
    /// them, or is run in them
    #[arg(long, value_name = "PATH|URL")]
    source: Option<String>,
}

/// What the template is called, everywhere in it.
const TEMPLATE: &str = "my_node";

/// Files of the template, which is a member of this workspace, so that it is known to build and to pass.
macro_rules! template {
    ($($file:literal)*) => {
        [$(($file, include_str!(concat!("../../../../templates/node/", $file)))),*]
    };
}
const FILES: [(&str, &str); 9] = template!(
    "README.md" "build.rs" "src/lib.rs" "src/main.rs" "src/sensor.rs" "tests/node.rs"
    "interfaces/my_node_interfaces/msg/Reading.msg" "interfaces/my_node_interfaces/srv/Calibrate.srv"
    "interfaces/my_node_interfaces/action/Sweep.action"
);

impl New {
    pub(crate) fn run(&self, _: &Environment) -> Result<()> {
        check_name(&self.name)?;
        let source = self.source()?;
        let here = self.into == Path::new(".");
        let folder = if here { PathBuf::from(&self.name) } else { self.into.join(&self.name) };
        if folder.exists() {
            return Err(Failure::usage(format!(
                "{} is there already; choose another name, or another place with --into",
                folder.display()
            )));
        }
        let write = |file: &str, text: &str| {
            let path = folder.join(file.replace(TEMPLATE, &self.name));
            let parent = path.parent().unwrap_or(&folder);
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&path, text))
                .map_err(|error| Failure::new(format!("{}: {error}", path.display())))
        };
        for (file, text) in FILES {
            write(file, &text.replace(TEMPLATE, &self.name))?;
        }
        write("Cargo.toml", &self.manifest(&source))?;
        write(".gitignore", "/target\n")?;
        // The versions that rosless was tested with.
        if let Source::Folder(sources) = &source
            && let Ok(lock) = fs::read_to_string(sources.join("Cargo.lock"))
        {
            write("Cargo.lock", &lock)?;
        }
        let folder = folder.display();
        output::answer(
            &json!({"name": self.name, "folder": folder.to_string(), "source": source.dependency("graph")}),
            || {
                format!(
                    "made {folder}: a managed node with a topic, a service, an action and a test\n\n  \
                     cd {folder}\n  cargo test\n  cargo run\n\n\
                     and in another shell, while it runs:\n\n  \
                     rosless lifecycle set /{0} configure && rosless lifecycle set /{0} activate\n  \
                     rosless topic echo /{0}/reading\n  \
                     rosless action send_goal -f /{0}/sweep {0}_interfaces/action/Sweep '{{start: -0.5, end: 0.5, readings: 10}}'",
                    self.name
                )
            },
        );
        Ok(())
    }

    fn source(&self) -> Result<Source> {
        match &self.source {
            Some(url) if url.contains("://") || url.starts_with("git@") => Ok(Source::Git(url.clone())),
            Some(folder) => {
                let found = fs::canonicalize(folder).ok().filter(|folder| holds_rosless(folder));
                found.map(Source::Folder).ok_or_else(|| {
                    Failure::usage(format!(
                        "{folder} does not hold the sources of rosless (crates/graph, crates/wire)"
                    ))
                })
            }
            None => {
                let places = [std::env::current_exe().ok(), std::env::current_dir().ok()];
                places
                    .iter()
                    .flatten()
                    .flat_map(|place| place.ancestors())
                    .find(|folder| holds_rosless(folder))
                    .map(|folder| Source::Folder(folder.to_owned()))
                    .ok_or_else(|| {
                        Failure::usage(
                            "the sources of rosless are not around; say where they are with --source PATH|URL",
                        )
                    })
            }
        }
    }

    fn manifest(&self, source: &Source) -> String {
        let [graph, wire, schema] = ["graph", "wire", "schema"].map(|part| source.dependency(part));
        let (name, rust) = (&self.name, env!("CARGO_PKG_RUST_VERSION"));
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\nrust-version = \"{rust}\"\n\n\
             [dependencies]\nlog = \"0.4\"\nrosless-graph = {graph}\nrosless-wire = {wire}\n\n\
             [build-dependencies]\nrosless-schema = {schema}\n\n\
             # A workspace of its own, wherever the folder is; take this out to make it a member of yours.\n[workspace]\n"
        )
    }
}

/// Where the crates come from.
enum Source {
    Folder(PathBuf),
    Git(String),
}

impl Source {
    /// What stands behind `rosless-graph =`.
    fn dependency(&self, part: &str) -> String {
        match self {
            Source::Folder(folder) => {
                format!("{{ path = {:?} }}", folder.join("crates").join(part).display().to_string())
            }
            Source::Git(url) => format!("{{ git = {url:?} }}"),
        }
    }
}

fn holds_rosless(folder: &Path) -> bool {
    ["graph", "wire", "schema"]
        .iter()
        .all(|part| folder.join("crates").join(part).join("Cargo.toml").is_file())
}

/// The name becomes a crate, a ROS node and part of a ROS package, whose rules are the strictest.
fn check_name(name: &str) -> Result<()> {
    let snake = name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('_')
        && !name.contains("__")
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    // Names of crates that the template uses, and words that cargo refuses.
    let taken =
        ["test", "core", "std", "alloc", "log", "rosless_graph", "rosless_wire", "build", "deps", "examples"];
    if snake && !taken.contains(&name) && !is_keyword(name) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "'{name}' cannot be a node, a crate and a package at once; use lower case letters, digits and single underscores, \
         such as `range_finder`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_ros_cargo_or_rust_refuse_are_refused_before_anything_is_written() {
        for good in ["range_finder", "a", "node2"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "2nodes", "Node", "my-node", "my__node", "node_", "match", "log", "../x", "ü"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_file_of_the_template_is_named() {
        fn files(folder: &Path, found: &mut Vec<String>, root: &Path) {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    files(&entry, found, root);
                } else {
                    found.push(entry.strip_prefix(root).unwrap().display().to_string());
                }
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates/node");
        let mut found = Vec::new();
        files(&root, &mut found, &root);
        found.retain(|file| file != "Cargo.toml");
        found.sort();
        let mut named: Vec<_> = FILES.map(|(file, _)| file.to_owned()).to_vec();
        named.sort();
        assert_eq!(found, named);
    }
}
