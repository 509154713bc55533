//! The project's daemons as child processes: found or built, started, watched, ended.

mod child;
mod domain;

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use rosless_graph::console::eprint_line;
use serde::Deserialize;

pub(crate) use child::{Child, LineSink, become_child, stop_all, wait, wait_any};
pub(crate) use domain::DomainLease;

use crate::failure::{Failure, Result};

/// One daemon to run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    /// What logs and `--only` call it.
    pub(crate) name: String,
    /// The program: one of ours by its name, or any other by its path.
    pub(crate) run: String,
    #[serde(default)]
    pub(crate) args: Vec<String>,
}

impl Program {
    fn new(name: &str, run: &str, args: &[&str]) -> Self {
        let args = args.iter().map(ToString::to_string).collect();
        Self { name: name.to_owned(), run: run.to_owned(), args }
    }

    fn is_ours(&self) -> bool {
        !self.run.contains('/')
    }
}

/// Every daemon of the project with what it works with.
pub(crate) fn everything() -> Vec<Program> {
    vec![
        Program::new("controller", "mocap-controller", &["run"]),
        Program::new("mocap", "mocap-system", &["--kind", "dummy"]),
        Program::new("imu", "mocap-system", &["--kind", "imu", "--dialect", "mocap,device"]),
        Program::new("arm", "sim-arm", &["run", "--strategy", "best"]),
        Program::new("shooter", "shooter", &["run"]),
        Program::new("motion", "primitive-queue", &["run"]),
        Program::new("mechanism", "mechanism-controller", &["run"]),
        Program::new("stand-in", "dummy-mechanism", &["run", "--auto"]),
    ]
}

/// Where the executables are.
#[derive(Debug)]
pub(crate) struct Executables(PathBuf);

impl Executables {
    /// Finds the programs beside this one; builds those that are not there, where this is a checkout with cargo.
    pub(crate) fn find(programs: &[Program]) -> Result<Self> {
        let failed = |error| Failure::new(format!("cannot find this program's own file: {error}"));
        let own = env::current_exe().map_err(failed)?;
        let folder = own.parent().unwrap_or(Path::new("/")).to_owned();
        let missing = || -> BTreeSet<&str> {
            let names = programs.iter().filter(|p| p.is_ours()).map(|p| p.run.as_str());
            names.filter(|name| !folder.join(name).is_file()).collect()
        };
        let absent = missing();
        if !absent.is_empty() {
            build(&folder, &absent)?;
        }
        let absent: Vec<_> = missing().into_iter().collect();
        match absent.is_empty() {
            true => Ok(Self(folder)),
            false => Err(Failure::new(format!(
                "{} not found beside {}; install them in the same folder, or run from a checkout with cargo",
                absent.join(", "),
                own.display()
            ))),
        }
    }

    fn path(&self, program: &Program) -> PathBuf {
        if program.is_ours() { self.0.join(&program.run) } else { PathBuf::from(&program.run) }
    }

    /// Starts a program in a domain of this machine. Every line it prints goes to `lines`.
    pub(crate) fn start(
        &self,
        program: &Program,
        domain: u16,
        range: &str,
        lines: LineSink,
    ) -> Result<Child> {
        let mut command = Command::new(self.path(program));
        command
            .args(&program.args)
            .env("ROS_DOMAIN_ID", domain.to_string())
            .env("ROS_AUTOMATIC_DISCOVERY_RANGE", range);
        Child::start(&program.name, &command, lines)
    }
}

/// Builds packages of the workspace this program was built in, with the same profile and into the same folder.
fn build(folder: &Path, binaries: &BTreeSet<&str>) -> Result<()> {
    let Some(workspace) = workspace() else { return Ok(()) };
    let list = binaries.iter().copied().collect::<Vec<_>>().join(", ");
    eprint_line(&format!("building {list} ..."));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("build").current_dir(&workspace);
    if folder.file_name().is_some_and(|profile| profile == "release") {
        command.arg("--release");
    }
    if let Some(target) = folder.parent() {
        command.arg("--target-dir").arg(target);
    }
    for binary in binaries {
        command.arg("--package").arg(format!("rosless-{binary}"));
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("cargo build of {list} failed ({status})"))),
        Err(error) => Err(Failure::new(format!("cannot run cargo to build {list}: {error}"))),
    }
}

/// The workspace: above the working directory, or where this program was compiled.
fn workspace() -> Option<PathBuf> {
    let is_ours = |folder: &Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.contains("[workspace]") && folder.join("bins/rosless").is_dir()
    };
    let here = env::current_dir().unwrap_or_default();
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().chain(compiled.ancestors()).find(|folder| is_ours(folder)).map(Path::to_owned)
}
